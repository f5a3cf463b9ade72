//! Conversations, their turns and items, and what a turn would ask for.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{
    AudienceChip, BroughtMessageView, ExchangeView, LedgerRow, PicturesView, RuleText, ToolCallView,
};

/// Who listens; decides what tools are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum ModeName {
    Chat,
    Data,
    Code,
    Present,
    App,
    Custom,
}

/// A conversation in the list.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ConversationSummary {
    pub id: String,
    pub title: String,
    /// Milliseconds since 1970.
    #[ts(type = "number")]
    pub updated_ms: i64,
    pub message_count: u32,
    pub mode: ModeName,
    pub model_id: String,
    /// Whether the command line began it.
    pub by_command: bool,
    /// Whether a turn runs.
    pub busy: bool,
}

/// A conversation that is open.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ConversationView {
    pub summary: ConversationSummary,
    pub items: Vec<Item>,
    pub turn: TurnView,
    pub ledger: Vec<LedgerRow>,
    pub exchanges: Vec<ExchangeView>,
    /// What was not whole and has been repaired, in sentences.
    pub repairs: Vec<String>,
    /// Custom mode: what each tool is asked for, by `server/tool`.
    pub custom: Vec<CustomChoice>,
}

/// What the turn does now.
#[derive(Debug, Clone, Serialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[ts(export)]
pub enum TurnView {
    Idle,
    /// The request was sent and nothing came yet.
    Waiting,
    Streaming,
    /// Tools run.
    Tools {
        running: u32,
    },
    /// A call waits for the user.
    Approval {
        call_id: String,
    },
    /// The turn ended with an error; `can_retry` says whether sending the same again makes sense.
    Failed {
        what: String,
        safe: String,
        todo: String,
        can_retry: bool,
    },
}

/// One entry of the transcript.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct Item {
    pub id: String,
    #[ts(type = "number")]
    pub seq: u64,
    #[ts(type = "number")]
    pub at_ms: i64,
    pub kind: ItemKind,
}

/// What an entry is.
#[derive(Debug, Clone, Serialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[ts(export)]
pub enum ItemKind {
    User {
        text: String,
    },
    Assistant {
        text: String,
        state: AnswerState,
        model: String,
        usage: Option<UsageView>,
    },
    ToolCall {
        call: Box<ToolCallView>,
    },
    /// The user showed an output to the model, a View sent a message: a recorded door (rule H25).
    Door {
        text: String,
        chip: Option<AudienceChip>,
        #[ts(type = "number")]
        bytes: u64,
        /// Whether a View says it in the user's name, so that an answer of the model may follow.
        is_message: bool,
        /// What the View said, if it was one.
        words: Option<String>,
        /// The pictures that go after them.
        pictures: Option<PicturesView>,
    },
    /// A prompt that the user sent, or a resource that they attached.
    Brought {
        /// Whether it is a prompt.
        prompt: bool,
        /// The prompt's name, or the resource's address.
        name: String,
        server_id: String,
        server_name: String,
        arguments: Vec<(String, String)>,
        messages: Vec<BroughtMessageView>,
        #[ts(type = "number")]
        bytes: u64,
    },
    /// Something the host says.
    Note {
        text: String,
    },
}

/// How far an answer came.
#[derive(Debug, Clone, Serialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[ts(export)]
pub enum AnswerState {
    Streaming,
    Done,
    /// Stopped by the user; what came is kept.
    Stopped,
    /// The stream broke, or the application ended; what came is kept.
    Broken {
        why: String,
    },
    /// The model's own limit ended it.
    CutShort,
}

/// What an answer cost.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct UsageView {
    #[ts(type = "number")]
    pub prompt_tokens: u64,
    #[ts(type = "number")]
    pub answer_tokens: u64,
}

/// The selection that a tool's next call would carry.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct SelectionPreview {
    pub server_id: String,
    pub tool: String,
    /// Whether the tool has the shape of an earlier revision, so that nothing is sent.
    pub legacy: bool,
    pub requested: Vec<AudienceChip>,
    /// One sentence per decision, with the rule where one decided.
    pub reasons: Vec<RuleText>,
    /// Every variant that the tool declares, for the custom choice.
    pub declared: Vec<AudienceChip>,
}

/// What a tool is asked for in Custom mode.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct CustomChoice {
    pub server_id: String,
    pub tool: String,
    /// `audience/format`, such as `user/structured`.
    pub selectors: Vec<String>,
}

/// Something that was found in titles, messages and answers.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct SearchHitView {
    pub conversation_id: String,
    pub title: String,
    /// The message or answer; absent when the title itself was found.
    pub item_id: Option<String>,
    /// The text around what was found.
    pub snippet: String,
}
