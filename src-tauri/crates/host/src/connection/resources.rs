//! Resources: what a server has to be read (server/resources), and being told when it changes.
//!
//! Deliberately absent: what is done with their contents.

use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use usher_protocol::RawJson;

use super::{CallError, Connection};

/// A family of resources that a server can make, named by a URI template (RFC 6570).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceTemplate {
    /// The template.
    pub uri_template: String,
    /// Its name. Untrusted, as all that follows.
    pub name: String,
    /// Its name for people.
    #[serde(default)]
    pub title: Option<String>,
    /// What it is.
    #[serde(default)]
    pub description: Option<String>,
    /// The media type of all of them.
    #[serde(default)]
    pub mime_type: Option<String>,
}

impl Connection {
    /// Every page of a list, as it came.
    ///
    /// # Errors
    /// The server refuses or ends.
    pub async fn list_pages(&self, method: &'static str) -> Result<Vec<RawJson>, CallError> {
        self.pages(method).await
    }

    /// Every page of `resources/list`, as it came.
    ///
    /// # Errors
    /// The server refuses or ends.
    pub async fn list_resources(&self) -> Result<Vec<RawJson>, CallError> {
        self.pages("resources/list").await
    }

    /// Every template that the server lists. One that cannot be read never costs the others.
    ///
    /// # Errors
    /// The server refuses or ends.
    pub async fn list_resource_templates(&self) -> Result<Vec<ResourceTemplate>, CallError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Page {
            #[serde(default)]
            resource_templates: Vec<RawJson>,
        }
        let mut all = Vec::new();
        for page in self.pages("resources/templates/list").await? {
            let page: Page = page.to().map_err(|error| CallError::Unreadable { why: error.to_string() })?;
            all.extend(page.resource_templates.iter().filter_map(|it| it.to::<ResourceTemplate>().ok()));
        }
        Ok(all)
    }

    /// The result of `resources/read`, as it came.
    ///
    /// # Errors
    /// The server refuses or ends, or wants an answer that it does not get.
    pub async fn read_resource(&self, uri: &str) -> Result<RawJson, CallError> {
        const METHOD: &str = "resources/read";
        let params: RawJson = json!({"uri": uri}).into();
        if let Some(kept) = self.kept(METHOD, &params) {
            return Ok(kept);
        }
        let limit = self.call_limit();
        let (result, rounds) =
            Box::pin(self.counted_rounds(METHOD, params.clone(), limit, None, &CancellationToken::new()))
                .await?;
        // What depends on the person's input is not kept (server/utilities/caching).
        if rounds == 1 {
            self.keep(METHOD, &params, &result);
        }
        Ok(result)
    }

    /// The same, asked of the server also where an earlier answer may still be used.
    ///
    /// # Errors
    /// As [`Connection::read_resource`].
    pub async fn read_resource_anew(&self, uri: &str) -> Result<RawJson, CallError> {
        self.0.wire.cache().forget("resources/read", Some(&json!({"uri": uri}).into()));
        self.read_resource(uri).await
    }

    /// Asks to be told when a resource changes; [`super::ConnectionEvent::ResourceUpdated`] says so then.
    ///
    /// # Errors
    /// The server refuses or ends.
    pub async fn subscribe(&self, uri: &str) -> Result<(), CallError> {
        if self.revision().has_request_meta() {
            self.listen_to(|filter| filter.resources.insert(uri.to_owned()));
            return Ok(());
        }
        self.plain_request("resources/subscribe", json!({"uri": uri})).await.map(drop)
    }

    /// Asks not to be told any more.
    ///
    /// # Errors
    /// The server refuses or ends.
    pub async fn unsubscribe(&self, uri: &str) -> Result<(), CallError> {
        if self.revision().has_request_meta() {
            self.listen_to(|filter| filter.resources.remove(uri));
            return Ok(());
        }
        self.plain_request("resources/unsubscribe", json!({"uri": uri})).await.map(drop)
    }
}
