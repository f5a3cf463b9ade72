//! What is kept of a conversation: its entries, its calls and where their results went.
//!
//! These records are the truth. The window's view and the model's history are both made from them, now and after a restart.

use serde::{Deserialize, Serialize};
use usher_engine::{
    Consumer, Defect, Mode, Origin,
    routing::{Door, Notice, Source},
    validation::Verdict,
};
use usher_protocol::{RawJson, Revision, model::Selector};

/// An entry of a transcript.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemRecord {
    /// Its id.
    pub id: String,
    /// Its place.
    pub seq: i64,
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// What it is.
    pub body: ItemBody,
    /// What the user or the model wrote, or what a door let in.
    pub text: String,
}

/// What an entry is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemBody {
    /// Words of the user.
    User,
    /// Words of the model, and the calls that it made.
    Assistant(Answer),
    /// A call.
    Call {
        /// Which.
        call_id: String,
    },
    /// Something that was let into the model's context (rule H25).
    Door(DoorRecord),
    /// What a server wrote and the user, having seen it, let in: a prompt or a resource.
    Brought(BroughtRecord),
    /// Something that the host says to the user only.
    Note,
}

/// An answer of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The model's name.
    pub model: String,
    /// How far it came.
    pub state: AnswerState,
    /// The calls that it made, in order.
    pub calls: Vec<ModelCall>,
    /// What the provider counted: tokens of the request and of the answer.
    pub usage: Option<(u64, u64)>,
}

/// How far an answer came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerState {
    /// It streams.
    Streaming,
    /// It is whole.
    Done,
    /// The user stopped it.
    Stopped,
    /// It broke off.
    Broken(String),
    /// The model's own limit ended it.
    CutShort,
}

/// A call as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelCall {
    /// Its id on the model's wire.
    pub id: String,
    /// The name that the model used.
    pub wire_name: String,
    /// The arguments, as written.
    pub arguments: String,
    /// Whether the model finished writing them.
    pub complete: bool,
}

/// What a door let in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoorRecord {
    /// Which door.
    pub kind: DoorKind,
    /// The call that it belongs to.
    pub call_id: String,
    /// The View that says it, if it was one.
    #[serde(default)]
    pub view_id: Option<String>,
    /// The output that was shown, if it was one.
    pub selector: Option<Selector>,
    /// For people.
    pub label: String,
    /// Its size in bytes, its pictures included.
    pub bytes: u64,
    /// Opens the pictures of a View, as blocks, if it has some.
    #[serde(default)]
    pub pictures: Option<String>,
}

/// The doors into the model's context (rule H25, X5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DoorKind {
    /// The user chose "show the model".
    ShownToModel,
    /// A View said it.
    ViewMessage,
    /// A View keeps it as context; the last write of a View wins.
    ViewContext,
}

/// A prompt that was sent, or a resource that was attached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BroughtRecord {
    /// The server.
    pub server_id: String,
    /// The server's name when it was fetched.
    pub server_name: String,
    /// Which of the two.
    pub what: BroughtKind,
    /// Its messages, in order; a resource is one.
    pub messages: Vec<BroughtPart>,
    /// Its size in bytes.
    pub bytes: u64,
}

/// What the user let in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BroughtKind {
    /// A prompt that was chosen, with what it was told.
    Prompt {
        /// Its name.
        name: String,
        /// Its arguments.
        arguments: std::collections::BTreeMap<String, String>,
    },
    /// A resource.
    Resource {
        /// Its address.
        uri: String,
    },
}

/// A message of what the user let in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BroughtPart {
    /// Whether it is to be read as the model's words.
    pub by_assistant: bool,
    /// Opens its blocks.
    pub handle: String,
}

impl BroughtRecord {
    /// What it is, for people.
    pub fn label(&self) -> String {
        match &self.what {
            BroughtKind::Prompt { name, .. } => format!("the prompt {name} of {}", self.server_name),
            BroughtKind::Resource { uri } => format!("the resource {uri} of {}", self.server_name),
        }
    }
}

/// A call and where its result went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallRecord {
    /// Its id.
    pub id: String,
    /// The conversation.
    pub conversation_id: String,
    /// The entry that shows it, unless nobody sees it.
    pub item_id: Option<String>,
    /// Its number in the conversation, from 1.
    pub number: u32,
    /// The server; empty for the host's own tool and for one of a View.
    pub server_id: String,
    /// The server's name when the call was made.
    pub server_name: String,
    /// The tool.
    pub tool: String,
    /// Its name for people.
    pub title: Option<String>,
    /// Its arguments.
    pub arguments: RawJson,
    /// Who called.
    pub origin: Origin,
    /// The conversation's mode.
    pub mode: Mode,
    /// The id on the model's wire, if the model called.
    pub model_call: Option<String>,
    /// The call whose View is asked, if the tool is one that a View offers itself.
    #[serde(default)]
    pub of_view: Option<String>,
    /// The revision of the request.
    pub revision: Option<Revision>,
    /// `requestedOutputs` as sent.
    pub requested: Option<Vec<Selector>>,
    /// How far it came.
    pub state: CallState,
    /// Milliseconds since 1970.
    pub started_ms: i64,
    /// Milliseconds since 1970.
    pub ended_ms: Option<i64>,
    /// How long it waited for the user's answer, in milliseconds: that is no time of the tool.
    #[serde(default)]
    pub waited_ms: i64,
    /// What reached consumers.
    pub deliveries: Vec<DeliveryRecord>,
    /// What reached nobody.
    pub withheld: Vec<WithheldRecord>,
    /// What the server did wrong.
    pub defects: Vec<Defect>,
    /// What the user is shown, in order.
    pub shown: Vec<Shown>,
    /// The View that belongs to it.
    pub view: Option<ViewRecord>,
    /// What the model was told.
    pub told: Told,
}

/// How far a call came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// The model writes its arguments.
    Writing,
    /// The user is asked; says why.
    AwaitingApproval(String),
    /// It runs.
    Running(Option<ProgressRecord>),
    /// It ended well.
    Done,
    /// The tool ran and says that it failed.
    ToolError,
    /// The call itself failed.
    Failed {
        /// What happened.
        what: String,
        /// What to do.
        todo: String,
    },
    /// The user did not allow it.
    Refused,
    /// The user stopped it.
    Cancelled,
    /// The application ended while it ran.
    Interrupted,
}

impl CallState {
    /// Whether it may still change.
    pub fn is_open(&self) -> bool {
        match self {
            Self::Writing | Self::AwaitingApproval(_) | Self::Running(_) => true,
            Self::Done
            | Self::ToolError
            | Self::Failed { .. }
            | Self::Refused
            | Self::Cancelled
            | Self::Interrupted => false,
        }
    }

    /// A word for the database.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Writing => "writing",
            Self::AwaitingApproval(_) => "awaiting_approval",
            Self::Running(_) => "running",
            Self::Done => "done",
            Self::ToolError => "tool_error",
            Self::Failed { .. } => "failed",
            Self::Refused => "refused",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }
}

/// A tool's report of its progress.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProgressRecord {
    /// How much is done, in the tool's own measure.
    pub done: f64,
    /// How much there is.
    pub total: Option<f64>,
    /// What it does now. Untrusted.
    pub message: Option<String>,
}

/// A part of a result that reached a consumer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeliveryRecord {
    /// Who.
    pub to: Consumer,
    /// What.
    pub source: Source,
    /// Its size in bytes.
    pub bytes: u64,
    /// Why it may have it.
    pub door: Door,
    /// Whether it fits the schema of its own variant; absent for content.
    pub verdict: Option<Verdict>,
    /// As what.
    pub how: String,
    /// Opens the very bytes.
    pub handle: String,
}

/// A part of a result that reached nobody.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WithheldRecord {
    /// Its selector, if it is an output.
    pub selector: Option<Selector>,
    /// What it is.
    pub what: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// The rule, by its id.
    pub rule: Option<usher_protocol::Rule>,
    /// Why.
    pub why: String,
    /// Opens the very bytes.
    pub handle: String,
}

/// What the user is shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// Content blocks.
    Blocks {
        /// Opens them.
        handle: String,
    },
    /// A list of records.
    Table {
        /// Opens it.
        handle: String,
        /// Its columns.
        columns: Vec<ColumnRecord>,
        /// How many records.
        rows: u64,
        /// Its size.
        bytes: u64,
    },
    /// An object.
    Properties {
        /// Opens it.
        handle: String,
        /// Its size.
        bytes: u64,
    },
    /// Any other value.
    Json {
        /// Opens it.
        handle: String,
        /// Its size.
        bytes: u64,
    },
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnRecord {
    /// The key in each record.
    pub key: String,
    /// Its name for people.
    pub title: String,
    /// Whether most of its values are numbers.
    pub numeric: bool,
}

/// The View of a call: enough to show it again without the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewRecord {
    /// The `ui://` resource.
    pub resource_uri: String,
    /// Opens the recorded `resources/read` result, once it was read.
    pub resource_handle: Option<String>,
    /// Opens the `_meta` that the list of resources had of it, if that counts.
    #[serde(default)]
    pub listed_handle: Option<String>,
    /// Why the document was refused when it was last read.
    #[serde(default)]
    pub refused: Option<String>,
    /// Opens the declaration of the tool, as it came.
    pub tool_handle: Option<String>,
    /// It came up while the model wrote the call's arguments, and may not have them whole: they are not, or the call was never allowed.
    #[serde(default)]
    pub waits_for_input: bool,
}

/// What the model was told about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// Nothing: no model waits for it, or not yet.
    Nothing,
    /// What was delivered to it.
    Outputs,
    /// Something in place of an output.
    Notice(Notice),
    /// The state of the call says it: refused, cancelled, failed, interrupted.
    State,
    /// What is wrong with the arguments that it wrote.
    BadArguments(Vec<String>),
    /// The arguments were not an object, or were cut off.
    UnreadableArguments {
        /// Whether they were cut off.
        cut: bool,
    },
    /// The tool is not one that was offered.
    UnknownTool,
    /// The server's error, in its words.
    ProtocolError(String),
    /// The result could not be read.
    Malformed,
    /// What a script returned and printed.
    Script {
        /// Opens it.
        handle: String,
        /// Whether the script failed.
        failed: bool,
    },
    /// What a View answered to a call of its own tool.
    ViewAnswer {
        /// Opens the words.
        handle: String,
        /// Opens the pictures, as blocks, if there are some.
        #[serde(default)]
        pictures: Option<String>,
        /// Whether the View says that the tool failed.
        failed: bool,
    },
}
