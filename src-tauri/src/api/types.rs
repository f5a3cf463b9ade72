//! What the window is told and what it may ask: the view model, exported to TypeScript.
//!
//! Text that explains (why a variant was asked for, why an output was withheld) is written by the engine and arrives here as text, so
//! that the window and the command line say the same. Deliberately absent: payloads. Big values and media go by handle.

#![expect(missing_docs, reason = "fields are named for what they are; what needs saying is said")]

mod access;
mod app_view;
mod bench;
mod call;
mod contract;
mod conversation;
mod event;
mod output;
mod prompt;
mod question;
mod record;
mod server;
mod server_form;
mod setting;

pub use access::{
    RefusedTarget, RejectedView, ViewAnswers, WishKindName, WishStateName, WishStateView, WishView,
};
pub use app_view::{OwnToolView, OwnToolsView, ViewAnswer, ViewLaunch, ViewSlot};
pub use bench::{
    BenchAnswer, BenchContext, BenchFailing, BenchFault, BenchForm, BenchJudgement, BenchNews, BenchOutcome,
    BenchStart, BenchTool, BenchVariant, BenchVerdictView,
};
pub use call::{
    ApprovalChoice, ApprovalRule, CallOrigin, CallState, ConsumerName, DeliveryView, ProgressView,
    ToolCallView, VerdictView, WithheldView,
};
pub use contract::{
    CheckGroup, CheckPlan, CheckPlanTool, CheckReport, CheckState, CheckTool, CheckView, EvidenceView,
    FindingLevel, FindingView, KeywordFateName, KeywordView, PastedView, ProblemView, ProviderView,
    RequirementView,
};
pub use conversation::{
    AnswerState, ConversationSummary, ConversationView, CustomChoice, Item, ItemKind, ModeName,
    SearchHitView, SelectionPreview, TurnView, UsageView,
};
pub use event::{NoticeLevel, NoticeView, Snapshot, UiBatch, UiEvent};
pub use output::{
    BlockView, Cell, ColumnView, JsonChild, JsonChildren, PayloadText, PicturesView, SavedFile, ShownOutput,
    SortBy, TableWindow,
};
pub use prompt::{
    BroughtMessageView, CompletionView, FetchedView, PromptArgumentView, PromptListView, PromptView,
    ResourceListView, ResourceTemplateView, ResourceView,
};
pub use question::{
    AskedView, ChoiceView, FieldInput, FieldView, LogLevelName, QuestionAction, QuestionView,
    SampleAnswerView, SampleMessageView, SampleRequestView, ServerTrustView, ViewFileView, ViewPictureView,
};
pub use record::{
    BodySpan, ExchangeBody, ExchangeView, LedgerIcon, LedgerRow, ScriptLine, SourceKind, SourceShare,
    WireChannel, WireLine,
};
pub use server::{
    AudienceChip, AudienceColor, RejectedToolView, RuleText, ServerState, ServerView, ToolView, VariantView,
};
pub use server_form::{
    ConfigurationSource, ExportedServers, FormPair, ImportChoice, ImportEntry, ImportInput, ImportReview,
    KnownConfiguration, LaunchForm, ServerForm, ServerTest, SignInView, SkippedEntry,
};
pub use setting::{LegacyPolicyView, LocalEndpoint, ModelView, ProviderTest, Settings, Theme};
