//! Models, preferences, and what is found when a provider is tried.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

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
