//! A call of a tool: who made it, how far it is, and who received what of it.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{AudienceChip, ModeName, RuleText, ShownOutput, ViewSlot};

/// Who asked for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum CallOrigin {
    Model,
    Script,
    View,
    User,
}

/// A tool call and where its result went.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ToolCallView {
    pub call_id: String,
    /// Its number in the conversation, from 1.
    pub number: u32,
    pub server_id: String,
    pub server_name: String,
    pub tool: String,
    /// The call whose View is asked, if the tool is one that a View offers itself.
    pub of_view: Option<String>,
    pub title: Option<String>,
    pub arguments_json: String,
    pub origin: CallOrigin,
    pub state: CallState,
    pub mode: ModeName,
    /// The revision that the call was made under.
    pub revision: Option<String>,
    /// What was asked for; empty under earlier revisions.
    pub requested: Vec<AudienceChip>,
    pub deliveries: Vec<DeliveryView>,
    pub withheld: Vec<WithheldView>,
    pub defects: Vec<RuleText>,
    /// What the user is shown, in order.
    pub shown: Vec<ShownOutput>,
    /// Whether a View belongs to it.
    pub view: Option<ViewSlot>,
    #[ts(type = "number | null")]
    pub elapsed_ms: Option<u64>,
}

/// How far a call came.
#[derive(Debug, Clone, Serialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[ts(export)]
pub enum CallState {
    /// The model writes its arguments, and its View is told of them.
    Writing,
    /// The user is asked; says why.
    AwaitingApproval {
        why: String,
    },
    Running {
        progress: Option<ProgressView>,
    },
    Done,
    /// The tool ran and says that it failed.
    ToolError,
    /// The call itself failed: says what, and what to do.
    Failed {
        what: String,
        todo: String,
    },
    Refused,
    Cancelled,
    /// The application ended while it ran.
    Interrupted,
}

/// A tool's own report of its progress.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ProgressView {
    pub done: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
}

/// Who receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum ConsumerName {
    Model,
    User,
    Script,
    View,
}

/// An output that reached a consumer.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct DeliveryView {
    pub consumer: ConsumerName,
    /// What the server made it for; absent where a policy decided, as under earlier revisions.
    pub chip: Option<AudienceChip>,
    /// What it is in the result, such as `user/structured`, `content` or `_meta io.modelcontextprotocol/ui`.
    pub what: String,
    #[ts(type = "number")]
    pub bytes: u64,
    /// Opens the very bytes.
    pub handle: String,
    /// `contract`, or the policy or user action that opened this door.
    pub door: String,
    /// Whether it fits the schema of its own variant.
    pub verdict: Option<VerdictView>,
    /// How it was presented, for people: `as a table, 37 rows`.
    pub how: String,
}

/// The outcome of a validation.
#[derive(Debug, Clone, Serialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[ts(export)]
pub enum VerdictView {
    Fits,
    /// JSON pointers and what is wrong there.
    Violates {
        problems: Vec<String>,
    },
    /// Not checked; says why.
    NotChecked {
        why: String,
    },
}

/// An output that reached nobody.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct WithheldView {
    /// Absent for metadata and what could not be read.
    pub chip: Option<AudienceChip>,
    /// `result _meta`, `programmatic/structured` …
    pub what: String,
    #[ts(type = "number")]
    pub bytes: u64,
    pub rule: Option<String>,
    pub why: String,
    pub handle: String,
}

/// The approval that stands for a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum ApprovalRule {
    Ask,
    AllowTool,
    AllowServer,
    Never,
}

/// An answer to an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum ApprovalChoice {
    Once,
    Conversation,
    Tool,
    Server,
    Refuse,
    Never,
}
