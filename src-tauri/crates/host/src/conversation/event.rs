//! What the host tells whoever shows it.

use usher_engine::ledger::LedgerEntry;

use super::{
    HostError,
    models::ModelEntry,
    questions::QuestionRecord,
    record::{CallRecord, ItemRecord},
    servers::ServerStatus,
    views::WishState,
};
use crate::{app_view::access::Wish, model::ModelError, script::LogLevel};

/// Something changed. Carries the new state whole, so that a reader that missed one is set right by the next.
#[derive(Debug, Clone)]
pub enum HostEvent {
    /// A server is new or changed.
    Server(Box<ServerStatus>),
    /// A server is gone.
    ServerRemoved(String),
    /// A conversation is new or its summary changed.
    Conversation(Summary),
    /// A conversation is gone.
    ConversationRemoved(String),
    /// An entry is new or changed; with its call, if it shows one.
    Item {
        /// The conversation.
        conversation_id: String,
        /// The entry.
        item: ItemRecord,
        /// The call that it shows.
        call: Option<Box<CallRecord>>,
    },
    /// An entry is gone.
    ItemRemoved {
        /// The conversation.
        conversation_id: String,
        /// The entry.
        item_id: String,
    },
    /// Text was appended to an answer, and is on disk.
    Text {
        /// The conversation.
        conversation_id: String,
        /// The entry.
        item_id: String,
        /// How long its text was before, in UTF-16 units: a reader that has read the entry since knows what is new.
        offset: usize,
        /// The text.
        text: String,
    },
    /// The turn moved on.
    Turn {
        /// The conversation.
        conversation_id: String,
        /// Where it stands.
        turn: TurnState,
    },
    /// A fact was recorded.
    Ledger {
        /// The conversation.
        conversation_id: String,
        /// The fact.
        row: LedgerRecord,
    },
    /// Lines stand for calls that are not kept one by one any more.
    LedgerFolded {
        /// The conversation.
        conversation_id: String,
        /// The calls whose facts are gone.
        call_ids: Vec<String>,
        /// The lines, each new or in the place of the one with its number.
        rows: Vec<LedgerRecord>,
    },
    /// A request to a model was recorded, or its outcome is known.
    Exchange {
        /// The conversation.
        conversation_id: String,
        /// The request.
        exchange: Box<ExchangeRecord>,
    },
    /// A script wrote something or ended.
    Script {
        /// The run.
        run_id: String,
        /// What.
        line: ScriptLine,
    },
    /// The list of models changed.
    Models(Vec<ModelEntry>),
    /// A server says that its prompts are others now.
    PromptsChanged(String),
    /// A server says that its resources are others now.
    ResourcesChanged(String),
    /// A resource that was subscribed to has another content now.
    ResourceUpdated {
        /// The server.
        server_id: String,
        /// The resource.
        uri: String,
    },
    /// A server asks the person something.
    Question(Box<QuestionRecord>),
    /// A question no longer waits: it was answered, or taken back.
    QuestionGone(String),
    /// Something to tell the user.
    Notice(Notice),
    /// A notice is no longer true.
    NoticeCleared(String),
    /// A live View is to receive a message: a method and its parameters.
    ViewMessage {
        /// The View.
        view_id: String,
        /// The notification's method.
        method: String,
        /// Its parameters, as JSON.
        params: String,
    },
    /// A live View is called for a tool that it offers itself, or is not waited for any more.
    ViewCall {
        /// The View.
        view_id: String,
        /// Names the call; the answer comes with it.
        call: u32,
        /// The parameters of `tools/call`, as JSON. Without them the call is cancelled.
        params: Option<String>,
    },
    /// A live View was ended; its frame goes at once.
    ViewEnded {
        /// The View.
        view_id: String,
        /// Why, for the user.
        why: String,
    },
    /// What a live View may have is other now.
    ViewAccess {
        /// The View.
        view_id: String,
        /// What it wishes for, and how each wish stands.
        wishes: Vec<(Wish, WishState)>,
        /// The user has just allowed what this View asked for; it is to start again with it.
        starts_again: bool,
    },
}

/// A conversation in the list.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Milliseconds since 1970.
    pub updated_ms: i64,
    /// How many messages it has.
    pub message_count: u32,
    /// Its mode.
    pub mode: usher_engine::Mode,
    /// Its model.
    pub model_id: String,
    /// Whether the command line began it.
    pub by_command: bool,
    /// Whether a turn runs.
    pub busy: bool,
}

/// Where a turn stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnState {
    /// Nothing runs.
    Idle,
    /// The request was sent and nothing came yet.
    Waiting,
    /// The answer streams.
    Streaming,
    /// Calls run.
    Tools {
        /// How many.
        running: u32,
    },
    /// A call waits for the user.
    Approval {
        /// Which.
        call_id: String,
    },
    /// The turn ended with an error.
    Failed(TurnFailure),
}

/// Why a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnFailure {
    /// What happened.
    pub what: String,
    /// What is safe.
    pub safe: String,
    /// What to do.
    pub todo: String,
    /// Whether sending the same again makes sense.
    pub can_retry: bool,
    /// What kind of failure it is, for programs.
    pub kind: FailureKind,
}

/// What kept a turn from its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// What was asked cannot be sent as it is: the message, or the model's settings.
    Request,
    /// The model's endpoint, or the disk, was not reached.
    Unreached,
    /// The endpoint was reached, and no whole answer came of it.
    Answer,
}

impl TurnFailure {
    /// A request to a model that did not end as it should.
    pub(super) fn of_model(error: &ModelError) -> Self {
        let kind = match error {
            ModelError::Encode(_) => FailureKind::Request,
            ModelError::Refused { .. }
            | ModelError::Unreachable { .. }
            | ModelError::NotRecorded { .. }
            | ModelError::Client { .. } => FailureKind::Unreached,
            ModelError::Unauthorized { .. }
            | ModelError::NotFound { .. }
            | ModelError::Rejected { .. }
            | ModelError::RateLimited { .. }
            | ModelError::Status { .. }
            | ModelError::MidStream { .. }
            | ModelError::Stalled { .. }
            | ModelError::Cut { .. }
            | ModelError::NotUnderstood { .. }
            | ModelError::TooLarge { .. }
            | ModelError::Cancelled => FailureKind::Answer,
        };
        let what = super::call::sentence(&error.to_string());
        Self { what, safe: error.safe().to_owned(), todo: error.todo(), can_retry: true, kind }
    }

    /// Something that the host could not do for the turn.
    pub(super) fn of_host(error: HostError, kind: FailureKind) -> Self {
        Self { what: error.what, safe: error.safe, todo: error.todo, can_retry: true, kind }
    }
}

/// A fact with its place in time.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerRecord {
    /// Its place among all facts.
    pub seq: i64,
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// The call that it is about.
    pub call_id: Option<String>,
    /// The fact.
    pub entry: LedgerEntry,
}

/// A request to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ExchangeRecord {
    /// Its id.
    pub id: String,
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// The model's name.
    pub model: String,
    /// Where it was sent.
    pub url: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// The SHA-256 of its body, in hexadecimal.
    pub sha256: String,
    /// How often it was sent.
    pub attempts: u32,
    /// What became of it, for people.
    pub outcome: String,
    /// Estimated tokens, the model's context size and what routing kept out.
    pub measure: Measure,
    /// Bytes by source, in the order of the body.
    pub share: Vec<Share>,
    /// The server that asked the model, if it was none of the conversation's own requests.
    pub asked_by: Option<String>,
}

/// The size of a request beside what it could be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Measure {
    /// Estimated tokens of the request.
    pub tokens: u64,
    /// The model's context size in tokens.
    pub context_tokens: Option<u64>,
    /// Bytes of results that routing kept out of the model's context so far.
    pub kept_out_bytes: u64,
}

/// How much of a body comes from where.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Share {
    /// From where.
    pub kind: SourceKind,
    /// For people.
    pub label: String,
    /// How many bytes.
    pub bytes: u64,
}

/// The kinds of sources of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// Keys and punctuation of the provider's format.
    Envelope,
    /// The host's own words.
    Host,
    /// Declarations of tools.
    Tools,
    /// What the user and the model wrote.
    Messages,
    /// Results of tools, and what doors let in.
    Results,
}

/// A range of a body and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SpanRecord {
    /// Byte offsets.
    pub start: usize,
    /// Byte offsets.
    pub end: usize,
    /// From where.
    pub kind: SourceKind,
    /// For people.
    pub label: String,
    /// The entry that it comes from.
    pub item_id: Option<String>,
}

/// A line of a script.
#[derive(Debug, Clone, PartialEq)]
pub enum ScriptLine {
    /// It printed.
    Log(LogLevel, String),
    /// It calls a tool.
    Call {
        /// The call.
        call_id: String,
        /// For people.
        text: String,
    },
    /// It returned, as JSON.
    Returned(String),
    /// It failed.
    Failed(String),
    /// It was ended.
    Stopped(String),
}

/// Something to tell the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Its id; a later notice with the same id replaces it.
    pub id: String,
    /// How grave it is.
    pub level: NoticeLevel,
    /// What happened.
    pub what: String,
    /// What is safe.
    pub safe: String,
    /// What to do.
    pub todo: String,
}

/// How grave a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeLevel {
    /// Good to know.
    Info,
    /// Something is not as it should be.
    Warning,
    /// Something does not work.
    Error,
}
