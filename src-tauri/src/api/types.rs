//! What the window is told and what it may ask: the view model, exported to TypeScript.
//!
//! Text that explains (why a variant was asked for, why an output was withheld) is written by the engine and arrives here as text, so
//! that the window and the command line say the same. Deliberately absent: payloads. Big values and media go by handle.

#![expect(missing_docs, reason = "fields are named for what they are; what needs saying is said")]

use serde::{Deserialize, Serialize};
use ts_rs::TS;

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
    /// Text to append to an assistant item that is streaming.
    /// `offset` is where it begins in the item's text, in UTF-16 units, so that text which is there already is not doubled.
    TextAppended { conversation_id: String, item_id: String, offset: u32, text: String },
    /// The turn moved on.
    TurnChanged { conversation_id: String, turn: TurnView },
    /// New ledger rows, in order.
    LedgerAppended { conversation_id: String, rows: Vec<LedgerRow> },
    /// A request body was recorded, or its outcome is known now.
    ExchangeChanged { conversation_id: String, exchange: ExchangeView },
    /// A script wrote something or ended.
    ScriptOutput { run_id: String, line: ScriptLine },
    /// The list of models changed.
    ModelsChanged { models: Vec<ModelView> },
    /// The settings changed.
    SettingsChanged { settings: Settings },
    /// Something to tell the user.
    NoticeRaised { notice: NoticeView },
    /// A notice is no longer true.
    NoticeCleared { notice_id: String },
    /// The host asks a live View to show something, such as a fresh result.
    ViewMessage { view_id: String, message_json: String },
}

/// A server and its state.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ServerView {
    pub id: String,
    pub name: String,
    /// The command line, for people.
    pub command: String,
    pub enabled: bool,
    pub state: ServerState,
    /// The negotiated revision.
    pub revision: Option<String>,
    /// What the server calls itself.
    pub server_info: Option<String>,
    /// How the revision was found, one step a line.
    pub negotiation: Vec<String>,
    pub tools: Vec<ToolView>,
    /// Declarations that were refused.
    pub rejected_tools: Vec<RejectedToolView>,
    /// The last lines of stderr, oldest first.
    pub stderr_tail: Vec<String>,
    /// Lines on stdout that were not messages, counted.
    pub noise_lines: u32,
}

/// Where a server's connection stands.
#[derive(Debug, Clone, Serialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[ts(export)]
pub enum ServerState {
    Off,
    Starting,
    Ready,
    /// It ended and is started again.
    Restarting {
        attempt: u32,
    },
    /// It cannot be used; says what happened and what to do.
    Failed {
        what: String,
        todo: String,
    },
}

/// A tool of a server.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ToolView {
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    /// What the server says about its effects; hints only.
    pub read_only: bool,
    pub destructive: bool,
    pub visible_to_model: bool,
    pub visible_to_view: bool,
    pub has_view: bool,
    /// The declared variants; empty for a tool of an earlier revision.
    pub variants: Vec<VariantView>,
    /// Whether the declaration has the shape of an earlier revision.
    pub legacy: bool,
    /// Defects of the declaration that do not stop its use.
    pub defects: Vec<RuleText>,
    pub input_schema_json: String,
    /// The approval that stands for it.
    pub approval: ApprovalRule,
    /// The local policy for results of earlier revisions.
    pub legacy_policy: LegacyPolicyView,
}

/// A declared variant.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct VariantView {
    pub chip: AudienceChip,
    pub has_schema: bool,
}

/// A tool declaration that was refused.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct RejectedToolView {
    pub name: String,
    pub rule: Option<String>,
    pub why: String,
}

/// A rule's number and what it says here.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct RuleText {
    pub rule: Option<String>,
    pub text: String,
}

/// An audience and a format, with the colour that they have everywhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
#[ts(export)]
pub struct AudienceChip {
    /// As on the wire, such as `assistant` or `io.modelcontextprotocol/ui`.
    pub audience: String,
    /// `content` or `structured`.
    pub format: String,
    pub color: AudienceColor,
}

/// The four audiences that have a colour and an icon, and the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum AudienceColor {
    Assistant,
    User,
    Programmatic,
    View,
    Other,
}

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

/// Something of a result that the user is shown.
#[derive(Debug, Clone, Serialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[ts(export)]
pub enum ShownOutput {
    Blocks {
        handle: String,
        blocks: Vec<BlockView>,
    },
    /// A list of records.
    Table {
        handle: String,
        columns: Vec<ColumnView>,
        #[ts(type = "number")]
        rows: u64,
        #[ts(type = "number")]
        bytes: u64,
    },
    /// An object, shown as a property view.
    Properties {
        handle: String,
        #[ts(type = "number")]
        bytes: u64,
    },
    /// Any other value, shown in the inspector.
    Json {
        handle: String,
        #[ts(type = "number")]
        bytes: u64,
    },
}

/// A column of a table.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ColumnView {
    pub key: String,
    /// A title from the schema, or the key.
    pub title: String,
    /// Whether most values are numbers, so that they are set to the right.
    pub numeric: bool,
}

/// A content block that the user is shown.
#[derive(Debug, Clone, Serialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[ts(export)]
pub enum BlockView {
    Text {
        text: String,
    },
    /// `url` serves the bytes.
    Image {
        url: String,
        mime: String,
        #[ts(type = "number")]
        bytes: u64,
    },
    Audio {
        url: String,
        mime: String,
        #[ts(type = "number")]
        bytes: u64,
    },
    Video {
        url: String,
        mime: String,
        #[ts(type = "number")]
        bytes: u64,
    },
    File {
        handle: String,
        index: u32,
        name: String,
        mime: String,
        #[ts(type = "number")]
        bytes: u64,
    },
    /// Read only when the user asks.
    Link {
        uri: String,
        name: String,
        description: Option<String>,
        mime: Option<String>,
        #[ts(type = "number | null")]
        size: Option<u64>,
    },
    /// A resource's text.
    ResourceText {
        uri: String,
        mime: Option<String>,
        text: String,
    },
    /// A block whose type is unknown, as it came.
    Unknown {
        json: String,
    },
}

/// A View that belongs to a call.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ViewSlot {
    pub resource_uri: String,
    /// Whether it can be opened now (its HTML and input are there).
    pub can_open: bool,
    /// Why not, for people.
    pub why_not: Option<String>,
    /// Whether the call is of an earlier run of the application, so that it opens only when the user asks.
    pub from_history: bool,
}

/// A fact about routing.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct LedgerRow {
    #[ts(type = "number")]
    pub seq: u64,
    #[ts(type = "number")]
    pub at_ms: i64,
    pub call_id: Option<String>,
    pub icon: LedgerIcon,
    pub text: String,
    /// What stands at the right: bytes, a count, a rule.
    pub detail: String,
    pub rule: Option<String>,
    pub color: Option<AudienceColor>,
    /// More about why, one reason a line.
    pub reasons: Vec<String>,
    /// Opens the very bytes.
    pub handle: Option<String>,
}

/// What kind of fact a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum LedgerIcon {
    Asked,
    Came,
    Fits,
    Defect,
    Withheld,
    Delivered,
    Policy,
    Door,
    Sent,
    Note,
}

/// A request that was sent to a model.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ExchangeView {
    pub id: String,
    #[ts(type = "number")]
    pub at_ms: i64,
    pub model: String,
    pub url: String,
    #[ts(type = "number")]
    pub bytes: u64,
    pub sha256: String,
    pub attempts: u32,
    pub outcome: String,
    /// Estimated tokens of the request.
    #[ts(type = "number")]
    pub tokens: u64,
    /// The model's context size in tokens, if known.
    #[ts(type = "number | null")]
    pub context_tokens: Option<u64>,
    /// Bytes by source, in the order of the body.
    pub share: Vec<SourceShare>,
    /// Bytes of results that routing kept out of the model's context so far.
    #[ts(type = "number")]
    pub kept_out_bytes: u64,
}

/// How much of a body comes from where.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct SourceShare {
    pub source: SourceKind,
    pub label: String,
    #[ts(type = "number")]
    pub bytes: u64,
}

/// Where a span of a request body comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum SourceKind {
    /// Keys and punctuation of the provider's format.
    Envelope,
    /// The host's own words.
    Host,
    Tools,
    Messages,
    Results,
}

/// The exact bytes of a request body.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ExchangeBody {
    pub exchange: ExchangeView,
    pub body: String,
    pub spans: Vec<BodySpan>,
    /// Request headers that are safe to show.
    pub headers: Vec<(String, String)>,
}

/// A part of a body and its source.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct BodySpan {
    /// UTF-16 offsets into `body`, so that the window can cut it.
    pub start: u32,
    pub end: u32,
    pub source: SourceKind,
    /// Which message, tool, call or output.
    pub label: String,
    pub item_id: Option<String>,
}

/// A model that can be chosen.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ModelView {
    pub id: String,
    /// Such as `llama3.2`.
    pub name: String,
    /// Such as `Ollama`.
    pub provider: String,
    /// Whether it only matches words to tools.
    pub is_demo: bool,
    #[ts(type = "number | null")]
    pub context_tokens: Option<u64>,
    pub takes_images: bool,
    pub base_url: String,
    pub has_key: bool,
}

/// What the user chose.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq, TS)]
#[ts(export)]
pub struct Settings {
    pub theme: Theme,
    /// Send nothing when a tool's fallback is all that is wanted.
    pub omit_fallback_selection: bool,
    /// Do not ask for structured variants that declare no schema (rule H18).
    pub decline_schemaless: bool,
    pub tour_done: bool,
}

/// Light, dark, or what the system says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum Theme {
    System,
    Light,
    Dark,
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

/// How results of earlier revisions reach the model (product policy, not contract).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum LegacyPolicyView {
    /// `content`; `structuredContent` only when content has nothing usable.
    ContentFirst,
    /// `structuredContent` in place of `content` where there is one.
    StructuredFirst,
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

/// A line that a script wrote, or its end.
#[derive(Debug, Clone, Serialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[ts(export)]
pub enum ScriptLine {
    Log {
        level: String,
        text: String,
    },
    /// A call that it makes.
    Call {
        call_id: String,
        text: String,
    },
    /// What it returned, as JSON.
    Returned {
        json: String,
    },
    Failed {
        message: String,
    },
    Stopped {
        why: String,
    },
}

/// A window into a table.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct TableWindow {
    /// Rows after filtering.
    #[ts(type = "number")]
    pub matching: u64,
    #[ts(type = "number")]
    pub total: u64,
    #[ts(type = "number")]
    pub offset: u64,
    /// One list of cells a row, in the order of the columns.
    pub rows: Vec<Vec<Cell>>,
}

/// A table's cell: the exact text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[ts(export)]
pub enum Cell {
    /// The record has no such key.
    Absent,
    Null,
    Text {
        text: String,
    },
    Number {
        text: String,
    },
    Bool {
        value: bool,
    },
    /// An object or array, abridged; `pointer` opens it in the inspector.
    Nested {
        text: String,
        pointer: String,
    },
}

/// How a table is sorted.
#[derive(Debug, Clone, Deserialize, TS)]
#[ts(export)]
pub struct SortBy {
    pub column: String,
    pub descending: bool,
}

/// The children of a JSON value, for the inspector.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct JsonChildren {
    pub pointer: String,
    /// `object`, `array` or the scalar's type.
    pub kind: String,
    #[ts(type = "number")]
    pub count: u64,
    #[ts(type = "number")]
    pub offset: u64,
    pub children: Vec<JsonChild>,
}

/// A child of a JSON value.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct JsonChild {
    pub key: String,
    pub pointer: String,
    /// `object`, `array`, `string`, `number`, `boolean`, `null`.
    pub kind: String,
    /// The exact text of a scalar (a string without quotes, cut when very long), or an abridgement.
    pub text: String,
    /// How many children it has itself.
    #[ts(type = "number")]
    pub count: u64,
}

/// A slice of a payload's text.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct PayloadText {
    #[ts(type = "number")]
    pub total_bytes: u64,
    pub text: String,
    /// Whether `text` is all of it.
    pub whole: bool,
    /// What this is and where it went, in one sentence.
    pub label: String,
}

/// A line of the wire.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct WireLine {
    #[ts(type = "number")]
    pub seq: u64,
    #[ts(type = "number")]
    pub at_ms: i64,
    pub server_id: String,
    pub channel: WireChannel,
    /// The method or what kind of line it is.
    pub title: String,
    /// Cut when very long.
    pub text: String,
    #[ts(type = "number")]
    pub bytes: u64,
}

/// Where a line was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum WireChannel {
    ToServer,
    FromServer,
    Stderr,
    /// On stdout, but not a message.
    Noise,
    /// The host's own remark, such as a fallback to an earlier revision.
    Host,
}

/// What the window needs to start a View.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ViewLaunch {
    pub view_id: String,
    /// The frame's address, an origin of its own.
    pub url: String,
    /// The frame's exact origin, to compare messages with.
    pub origin: String,
    /// The frame's `sandbox` tokens.
    pub sandbox: String,
    /// The frame's `allow` attribute.
    pub allow: String,
    pub prefers_border: bool,
    /// `toolInfo.tool`, projected for the View.
    pub tool_json: String,
    /// `ui/notifications/tool-input` parameters.
    pub input_json: String,
    /// `ui/notifications/tool-result` parameters; absent while the call runs.
    pub result_json: Option<String>,
    /// What was granted, as `hostCapabilities.sandbox`.
    pub sandbox_capabilities_json: String,
    pub server_name: String,
}

/// An answer to a request of a View.
#[derive(Debug, Clone, Serialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[ts(export)]
pub enum ViewAnswer {
    Result { json: String },
    Error { code: i32, message: String },
}

/// What the "test" button of a provider found.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ProviderTest {
    pub ok: bool,
    pub what: String,
    pub todo: String,
    /// The names of the models that the endpoint lists.
    pub models: Vec<String>,
}

/// An endpoint found on this machine.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct LocalEndpoint {
    /// Such as `Ollama`.
    pub name: String,
    pub base_url: String,
    pub models: Vec<String>,
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

/// A file that was written for the user.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct SavedFile {
    pub path: String,
    #[ts(type = "number")]
    pub bytes: u64,
}
