//! Prompts and resources of servers, and what was fetched and waits for the user.

use serde::Serialize;
use ts_rs::TS;

use super::BlockView;

/// The prompts of every connected server.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct PromptListView {
    pub prompts: Vec<PromptView>,
    /// Servers that could not list theirs, each in a sentence.
    pub failed: Vec<String>,
}

/// A prompt. The texts are the server's own.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct PromptView {
    pub server_id: String,
    pub server_name: String,
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub arguments: Vec<PromptArgumentView>,
}

/// Something that a prompt wants to be told.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct PromptArgumentView {
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub required: bool,
}

/// What a server suggests while something is typed.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct CompletionView {
    pub values: Vec<String>,
    /// Whether there are more than these.
    pub has_more: bool,
}

/// A prompt or a resource as it was fetched. The model has nothing of it yet.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct FetchedView {
    pub fetched_id: String,
    pub server_id: String,
    pub server_name: String,
    /// The prompt's name, or the resource's address.
    pub name: String,
    pub description: Option<String>,
    pub messages: Vec<BroughtMessageView>,
    #[ts(type = "number")]
    pub bytes: u64,
}

/// A message of a prompt, or a resource.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct BroughtMessageView {
    /// Whether the model reads it as its own earlier words.
    pub by_assistant: bool,
    /// Opens its blocks.
    pub handle: String,
    pub blocks: Vec<BlockView>,
}

/// What a server has to be read.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ResourceListView {
    pub resources: Vec<ResourceView>,
    pub templates: Vec<ResourceTemplateView>,
    /// Whether the server tells of changes when it is asked to.
    pub can_subscribe: bool,
}

/// A resource. The texts are the server's own.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ResourceView {
    pub uri: String,
    pub name: String,
    pub description: Option<String>,
    pub mime: Option<String>,
    #[ts(type = "number | null")]
    pub size: Option<u64>,
    /// Whether the user asked to be told of changes.
    pub subscribed: bool,
}

/// A family of resources, named by a URI template.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ResourceTemplateView {
    pub template: String,
    pub name: String,
    pub description: Option<String>,
    pub mime: Option<String>,
    /// What is to be filled in.
    pub variables: Vec<String>,
}
