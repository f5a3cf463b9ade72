//! What a server tells without being asked: that a list or a resource changed (2026-07-28 basic/patterns/subscriptions).

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use usher_protocol::{
    RawJson,
    jsonrpc::{Id, Message},
};

/// Something that clients may have read is no longer as they read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// A resource, by its address.
    Resource(String),
}

impl Change {
    /// The notification, with `_meta` where a subscription has it.
    pub(crate) fn notification(&self, subscription: Option<&Id>) -> Message {
        let mut params = Map::new();
        let method = match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resources => "notifications/resources/list_changed",
            Self::Resource(uri) => {
                params.insert("uri".to_owned(), json!(uri));
                "notifications/resources/updated"
            }
        };
        if let Some(id) = subscription {
            params.insert("_meta".to_owned(), subscription_meta(id));
        }
        let params = (!params.is_empty()).then(|| RawJson::from(Value::Object(params)));
        Message::Notification { method: method.to_owned(), params }
    }
}

/// The `_meta` of what belongs to a subscription.
pub(crate) fn subscription_meta(id: &Id) -> Value {
    json!({"io.modelcontextprotocol/subscriptionId": id})
}

/// What a client wants to be told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Filter {
    tools_list_changed: bool,
    prompts_list_changed: bool,
    resources_list_changed: bool,
    resource_subscriptions: BTreeSet<String>,
}

impl Filter {
    /// What is told unasked under revisions with a handshake: every list, and the resources that were subscribed to.
    pub(crate) fn lists() -> Self {
        Self {
            tools_list_changed: true,
            prompts_list_changed: true,
            resources_list_changed: true,
            resource_subscriptions: BTreeSet::new(),
        }
    }

    /// Reads the parameters of `subscriptions/listen`.
    pub(crate) fn read(params: &RawJson) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct Params {
            notifications: Filter,
        }
        params.to::<Params>().map(|it| it.notifications)
    }

    /// Leaves out what the server has not got.
    pub(crate) fn honoured(mut self, has_prompts: bool, has_resources: bool) -> Self {
        self.prompts_list_changed &= has_prompts;
        self.resources_list_changed &= has_resources;
        if !has_resources {
            self.resource_subscriptions.clear();
        }
        self
    }

    pub(crate) fn wants(&self, change: &Change) -> bool {
        match change {
            Change::Tools => self.tools_list_changed,
            Change::Prompts => self.prompts_list_changed,
            Change::Resources => self.resources_list_changed,
            Change::Resource(uri) => self.resource_subscriptions.contains(uri),
        }
    }

    pub(crate) fn subscribe(&mut self, uri: String) {
        self.resource_subscriptions.insert(uri);
    }

    pub(crate) fn unsubscribe(&mut self, uri: &str) {
        self.resource_subscriptions.remove(uri);
    }

    /// The first message of a subscription: what of it is honoured.
    pub(crate) fn acknowledgement(&self, id: &Id) -> Message {
        let mut notifications = Map::new();
        for (name, is_on) in [
            ("toolsListChanged", self.tools_list_changed),
            ("promptsListChanged", self.prompts_list_changed),
            ("resourcesListChanged", self.resources_list_changed),
        ] {
            if is_on {
                notifications.insert(name.to_owned(), json!(true));
            }
        }
        if !self.resource_subscriptions.is_empty() {
            notifications.insert("resourceSubscriptions".to_owned(), json!(self.resource_subscriptions));
        }
        let params = json!({"notifications": notifications, "_meta": subscription_meta(id)});
        let method = "notifications/subscriptions/acknowledged".to_owned();
        Message::Notification { method, params: Some(params.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subscription_holds_what_was_asked_for_and_can_be_had() {
        let asked = json!({"notifications": {"toolsListChanged": true, "promptsListChanged": true,
            "resourceSubscriptions": ["a:b"]}});
        let filter = Filter::read(&asked.into()).unwrap().honoured(false, true);
        assert!(filter.wants(&Change::Tools) && filter.wants(&Change::Resource("a:b".to_owned())));
        assert!(!filter.wants(&Change::Prompts) && !filter.wants(&Change::Resources));
        assert!(!filter.wants(&Change::Resource("a:c".to_owned())));
        assert_eq!(
            filter.acknowledgement(&Id::Number(7)).to_line(),
            r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:b"]},"_meta":{"io.modelcontextprotocol/subscriptionId":7}}}"#
        );
    }
}
