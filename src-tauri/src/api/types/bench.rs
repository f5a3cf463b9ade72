//! The View bench: what a View is shown with, what is found in it, and what changed.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::ProblemView;

/// A tool whose View can be shown on the bench. Schemas and arguments are JSON as text, with every digit.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct BenchTool {
    pub name: String,
    pub title: Option<String>,
    /// The View's resource.
    pub resource_uri: String,
    pub input_schema_json: String,
    /// Arguments that its declaration offers.
    pub example_json: Option<String>,
    /// What can be written for its View, and what cannot.
    pub variants: Vec<BenchVariant>,
}

/// What a server sends for somebody with a tool's result.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct BenchVariant {
    /// Such as `io.modelcontextprotocol/ui, structured`, or what earlier revisions send.
    pub title: String,
    pub schema_json: Option<String>,
    /// Why no View receives it; absent for the one that is written here.
    pub why_not: Option<String>,
    /// Whether it is a whole result, as revisions before audiences have it.
    pub whole: bool,
}

/// What a View is shown with. Values are JSON as text, with every digit.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct BenchForm {
    /// The server's name, for whoever opens the file.
    pub server: String,
    pub tool: String,
    pub input_json: String,
    pub outcome: BenchOutcome,
    /// Whether the View's calls are answered from `answers`, and not by the server.
    pub from_fixture: bool,
    pub answers: Vec<BenchAnswer>,
    pub faults: Vec<BenchFault>,
    /// Whether the document's content policy is wider than in a conversation.
    pub relaxed: bool,
    pub context: BenchContext,
}

/// How the call of a View ends.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[ts(export)]
pub enum BenchOutcome {
    Waiting,
    Result {
        json: String,
    },
    /// The text may be empty.
    Error {
        json: String,
    },
    Cancelled {
        reason: String,
    },
}

/// What a call of the View is answered with.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct BenchAnswer {
    pub tool: String,
    pub json: String,
}

/// How the host treats requests of a method, or of all methods (`*`).
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct BenchFault {
    pub method: String,
    pub delay_ms: u32,
    /// The error that is answered, if one is.
    pub fail: Option<BenchFailing>,
}

/// An error of the host that is wanted.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct BenchFailing {
    pub code: i32,
    pub message: String,
}

/// What surrounds a View; what is absent is as in the window.
#[derive(Debug, Clone, Default, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct BenchContext {
    pub theme: Option<String>,
    pub locale: Option<String>,
    pub time_zone: Option<String>,
    pub display_mode: Option<String>,
    pub width: Option<u32>,
    pub height: Option<u32>,
    pub touch: bool,
    /// Top, right, bottom, left, in pixels.
    pub safe_area: Option<[u32; 4]>,
}

/// What a value came to.
#[derive(Debug, Clone, Serialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[ts(export)]
pub enum BenchJudgement {
    Fits,
    Violates {
        problems: Vec<ProblemView>,
        /// Whether there are more than are listed.
        more: bool,
    },
    NotChecked {
        why: String,
    },
}

/// What was written, judged by what the tool declares.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct BenchVerdictView {
    pub input: BenchJudgement,
    pub output: BenchJudgement,
}

/// Whether the server gives another document for a View now.
#[derive(Debug, Clone, Serialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[ts(export)]
pub enum BenchNews {
    Same,
    Changed {
        /// The watched file because of which it did.
        file: Option<String>,
    },
    Unknown {
        why: String,
    },
}

/// What `usher view` opened the window for.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct BenchStart {
    pub server_id: String,
    pub form: BenchForm,
    /// Where its fixture was read from.
    pub place: Option<String>,
    /// The files whose changes start the server again.
    pub watched: Vec<String>,
}
