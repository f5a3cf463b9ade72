//! The stream: what the window draws first, and what changes after it.

use serde::Serialize;
use ts_rs::TS;

use super::{
    ConversationSummary, ExchangeView, Item, LedgerRow, ModelView, QuestionView, ScriptLine, ServerView,
    Settings, TurnView, WishStateView,
};

/// Everything the window needs to draw its first frame.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct Snapshot {
    /// The sequence number of the first event that is not part of this snapshot.
    #[ts(type = "number")]
    pub next_seq: u64,
    /// The version of the application.
    pub version: String,
    /// Where data is kept, for people.
    pub data_dir: String,
    /// Whether this is the first start, so that the tour is offered.
    pub first_run: bool,
    /// Every configured server.
    pub servers: Vec<ServerView>,
    /// Every conversation, newest first.
    pub conversations: Vec<ConversationSummary>,
    /// Every model that can be chosen.
    pub models: Vec<ModelView>,
    /// What the user chose.
    pub settings: Settings,
    /// Problems that are still true, such as a database that cannot be written.
    pub notices: Vec<NoticeView>,
    /// What servers ask and nobody has answered, oldest first.
    pub questions: Vec<QuestionView>,
}

/// A batch of events, in order and without gaps.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct UiBatch {
    /// The sequence number of the first event.
    #[ts(type = "number")]
    pub first_seq: u64,
    /// The events.
    pub events: Vec<UiEvent>,
}

/// Something that the window should show.
#[derive(Debug, Clone, Serialize, TS)]
#[serde(tag = "type", rename_all = "snake_case")]
#[ts(export)]
pub enum UiEvent {
    /// A server is new or changed.
    ServerChanged { server: ServerView },
    /// A server is gone.
    ServerRemoved { server_id: String },
    /// A conversation is new or its summary changed.
    ConversationChanged { summary: ConversationSummary },
    /// A conversation is gone.
    ConversationRemoved { conversation_id: String },
    /// An item is new, or replaces the one with its id.
    ItemChanged { conversation_id: String, item: Item },
    /// An item is gone.
    ItemRemoved { conversation_id: String, item_id: String },
    /// Text to append to an assistant item that is streaming.
    /// `offset` is where it begins in the item's text, in UTF-16 units, so that text which is there already is not doubled.
    TextAppended { conversation_id: String, item_id: String, offset: u32, text: String },
    /// The turn moved on.
    TurnChanged { conversation_id: String, turn: TurnView },
    /// New ledger rows, in order.
    LedgerAppended { conversation_id: String, rows: Vec<LedgerRow> },
    /// Rows stand for calls whose own rows are gone; each is new or replaces the one with its number.
    LedgerFolded { conversation_id: String, call_ids: Vec<String>, rows: Vec<LedgerRow> },
    /// A request body was recorded, or its outcome is known now.
    ExchangeChanged { conversation_id: String, exchange: ExchangeView },
    /// A script wrote something or ended.
    ScriptOutput { run_id: String, line: ScriptLine },
    /// The list of models changed.
    ModelsChanged { models: Vec<ModelView> },
    /// A server's prompts are others now.
    PromptsChanged { server_id: String },
    /// A server's resources are others now.
    ResourcesChanged { server_id: String },
    /// A resource that the user wants to be told of has another content now.
    ResourceUpdated { server_id: String, uri: String },
    /// The settings changed.
    SettingsChanged { settings: Settings },
    /// Something to tell the user.
    NoticeRaised { notice: NoticeView },
    /// A server asks the person something.
    QuestionAsked { question: QuestionView },
    /// A question no longer waits.
    QuestionGone { question_id: String },
    /// A notice is no longer true.
    NoticeCleared { notice_id: String },
    /// The host asks a live View to show something, such as a fresh result.
    ViewMessage { view_id: String, message_json: String },
    /// A live View was ended, by the user or because something that it had was taken back; its frame goes at once.
    ViewEnded { view_id: String, why: String },
    /// What a live View may have is other now. `starts_again` says that the user has just allowed what this View asked for.
    ViewAccessChanged { view_id: String, wishes: Vec<WishStateView>, starts_again: bool },
    /// The window closes; Views put their things away, and are closed one by one.
    WindowCloses,
}

/// Something to tell the user.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct NoticeView {
    pub id: String,
    pub level: NoticeLevel,
    /// What happened.
    pub what: String,
    /// What is safe.
    pub safe: String,
    /// What to do.
    pub todo: String,
}

/// How grave it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum NoticeLevel {
    Info,
    Warning,
    Error,
}
