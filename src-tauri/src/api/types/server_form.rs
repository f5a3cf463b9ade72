//! Adding and changing servers, trying them, and lists of servers that other programs keep.
//!
//! Deliberately absent: the value of a secret. It goes from the window to the core and never back.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// What the form of a server holds.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct ServerForm {
    pub name: String,
    pub launch: LaunchForm,
    /// The one revision that is tried; absent for automatic negotiation.
    pub pinned_revision: Option<String>,
}

/// How a server is reached. Texts may hold `${env:NAME}` and the like, which are filled in when it starts.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[ts(export)]
pub enum LaunchForm {
    Stdio {
        command: String,
        args: Vec<String>,
        env: Vec<FormPair>,
        /// Where it runs; the host's own folder if absent.
        cwd: Option<String>,
    },
    Http {
        url: String,
        headers: Vec<FormPair>,
    },
}

/// A variable or a header. The value of a secret never comes to the window: no value and `secret` means "kept as it is".
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct FormPair {
    pub name: String,
    pub value: Option<String>,
    pub secret: bool,
}

/// What came of trying a server apart from the one that runs.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ServerTest {
    pub ok: bool,
    pub what: String,
    pub safe: String,
    pub todo: String,
    pub revision: Option<String>,
    pub server_info: Option<String>,
    pub tools: u32,
    /// How the revision was found, one step a line.
    pub steps: Vec<String>,
    /// The last lines of stderr, oldest first.
    pub stderr_tail: Vec<String>,
}

/// A list of servers that another program keeps on this computer.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct KnownConfiguration {
    pub program: String,
    pub path: String,
    pub servers: u32,
    /// Why it cannot be read.
    pub problem: Option<String>,
}

/// Where a list of servers comes from.
#[derive(Debug, Clone, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[ts(export)]
pub enum ConfigurationSource {
    Path { path: String },
    Text { text: String },
}

/// What a list of servers would bring, before anything of it is kept or runs.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ImportReview {
    pub source: String,
    /// Names the very text that was read; given back with the import, so that a file that changed in between is not taken over.
    pub digest: String,
    pub servers: Vec<ImportEntry>,
    pub inputs: Vec<ImportInput>,
    pub skipped: Vec<SkippedEntry>,
}

/// A server of a list.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ImportEntry {
    /// Its name in the list, by which it is chosen.
    pub key: String,
    /// The name that it would have here.
    pub name: String,
    pub launch: LaunchForm,
    /// Exactly what would run or be asked: placeholders visible, the value of a secret never.
    pub runs: String,
    /// Whether the list has it turned on.
    pub enabled: bool,
    /// What was read otherwise than it is written, or not at all.
    pub remarks: Vec<String>,
    /// Whether a server of this name is here already.
    pub taken: bool,
    /// The environment's variables that it needs and that are not set here.
    pub missing: Vec<String>,
}

/// Something that a list leaves for the person to say.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ImportInput {
    pub id: String,
    pub description: String,
    /// Whether it is a secret.
    pub password: bool,
    pub default: Option<String>,
    /// What may be chosen, if it is a choice.
    pub options: Vec<String>,
    /// The keys of the servers that need it.
    pub used_by: Vec<String>,
}

/// An entry that cannot be used, and why.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct SkippedEntry {
    pub name: String,
    pub why: String,
}

/// A server of a list that the person chose.
#[derive(Debug, Clone, Deserialize, TS)]
#[ts(export)]
pub struct ImportChoice {
    pub key: String,
    pub name: String,
    /// Whether it starts. One that does not is only kept.
    pub enabled: bool,
}

/// The servers as an `mcpServers` file without secrets.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ExportedServers {
    pub text: String,
    /// What was left out or replaced.
    pub remarks: Vec<String>,
}

/// How the host stands at a server over HTTP that wants to know who asks.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct SignInView {
    /// The authorization server that the person is signed in at.
    pub signed_in_at: Option<String>,
    /// Whether a sign-in is under way.
    pub waiting: bool,
}
