//! Prompts: texts of a server that a person chooses and fills in (server/prompts), and what it suggests while they are typed
//! (server/utilities/completion).
//!
//! Deliberately absent: how they are chosen, and what is done with their messages.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use usher_protocol::RawJson;

use super::{CallError, Connection};

/// A prompt that a server has.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Prompt {
    /// Its name on the wire.
    pub name: String,
    /// Its name for people. Untrusted, as all that follows.
    #[serde(default)]
    pub title: Option<String>,
    /// What it is for.
    #[serde(default)]
    pub description: Option<String>,
    /// What it wants to be told.
    #[serde(default)]
    pub arguments: Vec<PromptArgument>,
}

/// Something that a prompt wants to be told.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PromptArgument {
    /// Its name on the wire.
    pub name: String,
    /// Its name for people. Untrusted, as all that follows.
    #[serde(default)]
    pub title: Option<String>,
    /// What it is.
    #[serde(default)]
    pub description: Option<String>,
    /// Whether the prompt cannot do without.
    #[serde(default)]
    pub required: bool,
}

/// What is being typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completing<'a> {
    /// An argument of a prompt.
    Prompt(&'a str),
    /// A variable of a resource template.
    Resource(&'a str),
}

/// What a server suggests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Completion {
    /// The suggestions, the best first. At most 100. Untrusted.
    pub values: Vec<String>,
    /// How many there are, if the server says so.
    #[serde(default)]
    pub total: Option<u64>,
    /// Whether there are more.
    #[serde(default)]
    pub has_more: bool,
}

/// The most suggestions that are taken (server/utilities/completion).
const MAX_VALUES: usize = 100;

impl Connection {
    /// Every prompt that the server lists. One that cannot be read never costs the others.
    ///
    /// # Errors
    /// The server refuses or ends.
    pub async fn list_prompts(&self) -> Result<Vec<Prompt>, CallError> {
        #[derive(Deserialize)]
        struct Page {
            #[serde(default)]
            prompts: Vec<RawJson>,
        }
        let mut all = Vec::new();
        for page in self.pages("prompts/list").await? {
            let page: Page = page.to().map_err(|error| CallError::Unreadable { why: error.to_string() })?;
            all.extend(page.prompts.iter().filter_map(|it| it.to::<Prompt>().ok()));
        }
        Ok(all)
    }

    /// The result of `prompts/get`, as it came.
    ///
    /// # Errors
    /// The server refuses or ends, or wants an answer that it does not get.
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: &BTreeMap<String, String>,
    ) -> Result<RawJson, CallError> {
        let mut params = json!({"name": name});
        if !arguments.is_empty() {
            params["arguments"] = json!(arguments);
        }
        let limit = self.call_limit();
        self.rounds("prompts/get", params.into(), limit, None, &CancellationToken::new()).await
    }

    /// What the server suggests for an argument, while it is typed.
    ///
    /// # Errors
    /// The server refuses or ends.
    pub async fn complete(
        &self,
        of: Completing<'_>,
        argument: &str,
        typed: &str,
        others: &BTreeMap<String, String>,
    ) -> Result<Completion, CallError> {
        #[derive(Deserialize)]
        struct Answer {
            completion: Completion,
        }
        let reference = match of {
            Completing::Prompt(name) => json!({"type": "ref/prompt", "name": name}),
            Completing::Resource(template) => json!({"type": "ref/resource", "uri": template}),
        };
        let mut params = json!({"ref": reference, "argument": {"name": argument, "value": typed}});
        if !others.is_empty() {
            params["context"] = json!({"arguments": others});
        }
        let result = self.plain_request("completion/complete", params).await?;
        let answer: Answer = result.to().map_err(|error| CallError::Unreadable { why: error.to_string() })?;
        let mut completion = answer.completion;
        completion.values.truncate(MAX_VALUES);
        Ok(completion)
    }
}
