//! Servers, their tools, and the chips that name an audience.

use serde::Serialize;
use ts_rs::TS;

use super::{ApprovalRule, LegacyPolicyView, SignInView};

/// A server and its state.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ServerView {
    pub id: String,
    pub name: String,
    /// How it is reached: `stdio` or `http`.
    pub launch: String,
    /// The command line or the address, for people.
    pub command: String,
    pub enabled: bool,
    pub state: ServerState,
    /// The negotiated revision.
    pub revision: Option<String>,
    /// The one revision that is tried, if the person chose one.
    pub pinned_revision: Option<String>,
    /// An earlier revision that the server names itself, when it offers tools that the negotiated one refuses (rule H09).
    pub offers_earlier: Option<String>,
    /// How the host is signed in; only for a server over HTTP.
    pub sign_in: Option<SignInView>,
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
