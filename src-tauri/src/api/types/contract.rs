//! Checks of a server's contract: what would be called, how far a check is, and what it came to.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// What a server's tools would be called with.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct CheckPlan {
    /// The revisions that can be asked for, newest first.
    pub revisions: Vec<String>,
    pub tools: Vec<CheckPlanTool>,
}

/// What one tool would be called with. Arguments and schemas are JSON as text, with every digit.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct CheckPlanTool {
    pub name: String,
    pub description: Option<String>,
    pub input_schema_json: String,
    /// Why it is not called unless the user says so.
    pub warning: Option<String>,
    /// Arguments for a call that gives something.
    pub normal_json: Option<String>,
    /// Why there are none.
    pub lacks: Option<String>,
    /// Arguments for a call that finds nothing.
    pub empty_json: Option<String>,
    /// Arguments for a call that fails.
    pub failing_json: Option<String>,
    /// What providers make of the input schema.
    pub providers: Vec<ProviderView>,
}

/// What one provider makes of an input schema.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ProviderView {
    pub name: String,
    pub keywords: Vec<KeywordView>,
    /// Why the schema is rewritten before it is sent.
    pub rewrites: Vec<String>,
    /// What is sent, if it differs from what was declared.
    pub sent_json: Option<String>,
    /// Why the tool cannot be offered at all.
    pub refusal: Option<String>,
}

/// A keyword that a provider does not enforce as it is written.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct KeywordView {
    pub keyword: String,
    pub fate: KeywordFateName,
}

/// What becomes of a keyword: the request is refused, it does not reach the model, or the model reads it and nothing enforces it.
#[derive(Debug, Clone, Copy, Serialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum KeywordFateName {
    Refused,
    Dropped,
    Hint,
}

/// A tool that is to be checked. Arguments that are absent are made from its declaration.
#[derive(Debug, Clone, Deserialize, TS)]
#[ts(export)]
pub struct CheckTool {
    pub name: String,
    /// Whether it is called although it warns.
    pub allowed: bool,
    pub normal_json: Option<String>,
    pub empty_json: Option<String>,
    pub failing_json: Option<String>,
}

/// A check, as it stands.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct CheckView {
    pub id: String,
    pub server_id: String,
    pub server_name: String,
    pub state: CheckState,
}

/// How far a check is.
#[derive(Debug, Clone, Serialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[ts(export)]
pub enum CheckState {
    /// The server is started, or a tool is checked: the `done` of `of` before it are done.
    Running { done: u32, of: u32, tool: Option<String> },
    /// There is a report.
    Done,
    /// The server could not be connected; nothing was checked.
    Failed { what: String, todo: String },
}

/// What a check came to.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct CheckReport {
    /// What the server calls itself.
    pub server: String,
    pub revision: String,
    /// An earlier revision whose projections were checked as well.
    pub projected: Option<String>,
    /// Whether it was stopped before every tool was checked.
    pub stopped: bool,
    pub broken: u32,
    pub advice: u32,
    /// How many tools were not called.
    pub skipped: u32,
    /// First what concerns no tool alone, then each tool.
    pub groups: Vec<CheckGroup>,
}

/// What was found of a tool, or of the server as a whole.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct CheckGroup {
    /// The tool; absent for the server as a whole.
    pub tool: Option<String>,
    pub calls: u32,
    /// Why it was not called.
    pub skipped: Option<String>,
    pub notes: Vec<String>,
    pub findings: Vec<FindingView>,
    /// Requirements that were looked at, and are kept.
    pub kept: Vec<RequirementView>,
    /// Requirements that nothing which was done shows; no pass.
    pub not_checked: Vec<RequirementView>,
}

/// A requirement by its number, and what it says.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct RequirementView {
    pub id: String,
    pub text: String,
}

/// Something that a server does not keep.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct FindingView {
    pub requirement: RequirementView,
    pub level: FindingLevel,
    /// What was looked at, such as `normal call`.
    pub case: String,
    /// The host's rule that found it.
    pub by: Option<String>,
    pub text: String,
    /// A JSON pointer into what was looked at.
    pub pointer: Option<String>,
    /// Every place that does not fit a schema, the first twenty.
    pub problems: Vec<ProblemView>,
    /// What the server's developer does about it.
    pub todo: String,
    /// Opens what was looked at.
    pub evidence: Option<u32>,
}

/// A place that does not fit a schema.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ProblemView {
    pub pointer: String,
    pub message: String,
}

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, Serialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum FindingLevel {
    Broken,
    Advice,
}

/// Something that was looked at, as it came.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct EvidenceView {
    pub title: String,
    pub arguments_json: Option<String>,
    pub text: String,
    #[ts(type = "number")]
    pub bytes: u64,
    /// Whether `text` is all of it.
    pub whole: bool,
}

/// What a pasted result came to.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct PastedView {
    /// What it was taken for, for people.
    pub shape: String,
    /// The revision by which it was read.
    pub revision: String,
    /// The dialect of the schema.
    pub dialect: String,
    pub findings: Vec<FindingView>,
    pub kept: Vec<RequirementView>,
    /// What the verdict does not cover.
    pub notes: Vec<String>,
}
