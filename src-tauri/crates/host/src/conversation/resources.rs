//! Resources: what a server has to be read, reading one because the user asked, and being told when it changes (server/resources).
//!
//! Nothing is read before the user asks for it. Deliberately absent: attaching, which is an action of its own; see `fetched`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::Deserialize;
use usher_protocol::{RawJson, common::ResourceLink};

use super::{
    BroughtKind, Fetched, Host, HostError, lock, outputs::contents, prompts::complete, servers::Server,
    template,
};
use crate::connection::{CallError, Completing, Completion, Connection, ResourceTemplate};

/// What a server has to be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceList {
    /// Single resources.
    pub resources: Vec<ListedResource>,
    /// Families of them.
    pub templates: Vec<ListedTemplate>,
    /// Whether the server tells of changes when it is asked to.
    pub can_subscribe: bool,
}

/// A resource that a server lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedResource {
    /// The resource. Untrusted.
    pub link: ResourceLink,
    /// Whether the user asked to be told of changes.
    pub subscribed: bool,
}

/// A family of resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedTemplate {
    /// The template. Untrusted.
    pub template: ResourceTemplate,
    /// What is to be filled in, in its order.
    pub variables: Vec<String>,
}

/// The resources of which the user asked to be told, by server. They hold over reconnections and end with the program.
pub(super) type Subscriptions = BTreeMap<String, BTreeSet<String>>;

impl Host {
    /// What a server has to be read. A server without resources has an empty list.
    ///
    /// # Errors
    /// It is not connected, or refuses.
    pub async fn list_resources(&self, server_id: &str) -> Result<ResourceList, HostError> {
        let (server, connection) = self.connected(server_id)?;
        let refused = |error: CallError| {
            HostError::new(
                format!("{} could not list its resources: {}.", server.name, server.without_secrets(error)),
                "Nothing was read.",
                "Try again, or look at the wire tab.",
            )
        };
        if !connection.greeting().has_capability("resources") {
            return Ok(ResourceList::default());
        }
        let pages = connection.list_resources().await.map_err(refused)?;
        let templates = match connection.list_resource_templates().await {
            Ok(templates) => templates,
            // A server without templates need not know the method.
            Err(CallError::Server { .. }) => Vec::new(),
            Err(error) => return Err(refused(error)),
        };
        let subscribed = lock(&self.0.subscriptions).get(server_id).cloned().unwrap_or_default();
        let resources = links(&pages).map(|link| {
            let subscribed = subscribed.contains(&link.uri);
            ListedResource { link, subscribed }
        });
        let listed = |template: ResourceTemplate| ListedTemplate {
            variables: template::variables(&template.uri_template),
            template,
        };
        Ok(ResourceList {
            resources: resources.collect(),
            templates: templates.into_iter().map(listed).collect(),
            can_subscribe: tells_of_changes(&connection),
        })
    }

    /// What a server suggests for a variable of a template.
    ///
    /// # Errors
    /// The server is not connected, or refuses.
    pub async fn complete_resource_variable(
        &self,
        server_id: &str,
        template: &str,
        variable: &str,
        typed: &str,
        others: &BTreeMap<String, String>,
    ) -> Result<Completion, HostError> {
        let (server, connection) = self.connected(server_id)?;
        complete((&server, &connection), Completing::Resource(template), variable, typed, others).await
    }

    /// Reads a resource because the user asked, for them to look at. The model does not have it by this.
    ///
    /// # Errors
    /// The server is not connected, refuses, or answers with something else.
    pub async fn read_server_resource(&self, server_id: &str, uri: &str) -> Result<Arc<Fetched>, HostError> {
        let (server, connection) = self.connected(server_id)?;
        let refused = |why: String| {
            HostError::new(
                format!("{uri} could not be read: {why}."),
                "Nothing was changed, and the model has nothing of it.",
                "Check the server and try again.",
            )
        };
        let read = connection.read_resource(uri).await;
        let raw = read.map_err(|error| refused(server.without_secrets(error).to_string()))?;
        let blocks = contents(&raw).map_err(|error| refused(error.to_string()))?;
        let what = BroughtKind::Resource { uri: uri.to_owned() };
        self.shelve(&server, what, None, vec![(false, blocks)]).map_err(|error| refused(error.to_string()))
    }

    /// Reads the resource that a template names with these values.
    ///
    /// # Errors
    /// As [`Self::read_server_resource`]; also when the template cannot be read.
    pub async fn read_resource_template(
        &self,
        server_id: &str,
        uri_template: &str,
        values: &BTreeMap<String, String>,
    ) -> Result<Arc<Fetched>, HostError> {
        let uri = template::expand(uri_template, values).ok_or_else(|| {
            HostError::new(
                format!("The template {uri_template} cannot be filled in: it is not one of RFC 6570."),
                "Nothing was read.",
                "Report it to the server's authors.",
            )
        })?;
        self.read_server_resource(server_id, &uri).await
    }

    /// Asks a server to tell of changes of a resource, or not to any more.
    ///
    /// # Errors
    /// The server is not connected, or refuses.
    pub async fn subscribe_resource(
        &self,
        server_id: &str,
        uri: &str,
        wanted: bool,
    ) -> Result<(), HostError> {
        let (server, connection) = self.connected(server_id)?;
        let asked = if wanted { connection.subscribe(uri).await } else { connection.unsubscribe(uri).await };
        asked.map_err(|error| {
            HostError::new(
                format!(
                    "{} does not change what it tells about {uri}: {}.",
                    server.name,
                    server.without_secrets(error)
                ),
                "Nothing was changed.",
                "Read it again when you want to know.",
            )
        })?;
        let mut all = lock(&self.0.subscriptions);
        let of_server = all.entry(server_id.to_owned()).or_default();
        if wanted {
            of_server.insert(uri.to_owned());
        } else {
            of_server.remove(uri);
        }
        Ok(())
    }

    /// Asks a server that came back to tell again what it told before. Returns at once.
    pub(super) fn subscribe_anew(&self, server: &Arc<Server>, connection: &Connection) {
        let wanted = lock(&self.0.subscriptions).get(&server.id).cloned().unwrap_or_default();
        if wanted.is_empty() || !tells_of_changes(connection) {
            return;
        }
        let (host, server, connection) = (self.clone(), Arc::clone(server), connection.clone());
        tokio::spawn(async move {
            for uri in wanted {
                if let Err(error) = connection.subscribe(&uri).await {
                    let text = format!("changes of {uri} are not told any more: {error}");
                    host.remark(&server.id, "resources", server.scrubbed(text));
                }
            }
        });
    }
}

/// Whether a server says that one can subscribe to its resources.
fn tells_of_changes(connection: &Connection) -> bool {
    connection.greeting().capabilities.to_value()["resources"]["subscribe"] == true
}

/// The resources of some pages. One that cannot be read never costs the others.
fn links(pages: &[RawJson]) -> impl Iterator<Item = ResourceLink> {
    #[derive(Deserialize)]
    struct Page {
        #[serde(default)]
        resources: Vec<RawJson>,
    }
    let raw = pages.iter().filter_map(|it| it.to::<Page>().ok()).flat_map(|it| it.resources);
    raw.filter_map(|it| it.to::<ResourceLink>().ok())
}
