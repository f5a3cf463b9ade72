//! Makes the calls that show whether a server keeps its contract, and gathers what the engine judges of them.
//!
//! A tool is called with what its own declaration offers, or with what the caller gives, and not at all if it warns and was not allowed.
//! What was not looked at is in the [`Report`] with the reason, and is no pass. Deliberately absent: judgements, which are the engine's,
//! and models: it stands on [`crate::connection`] alone.

mod late;
mod report;
mod run;
mod tools;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use futures::future::BoxFuture;
use thiserror::Error;
use tokio_util::sync::CancellationToken;
use usher_protocol::{RawJson, codec::ToolPage, model::Tool};

pub use self::report::{Called, Evidence, Report, Status, ToolReport, Verdict, Want};
use self::run::Run;
use crate::connection::{ConnectError, Connection, ConnectionOptions, ServerSpec};

/// Asks a person for a tool's arguments; the text says what is missing. `None` is no answer.
pub type AskArguments = Arc<dyn Fn(Tool, String) -> BoxFuture<'static, Option<RawJson>> + Send + Sync>;

/// How far a check is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// How many tools are done.
    pub done: usize,
    /// How many there are to do.
    pub of: usize,
    /// The tool that is checked now.
    pub tool: String,
}

/// Is told how far a check is, before each tool.
pub type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;

/// How a server is checked.
#[derive(Clone)]
pub struct CheckOptions {
    /// How it is spoken to; `newest` chooses the revision that is checked.
    pub connection: ConnectionOptions,
    /// Only these tools; all of them if empty.
    pub only: BTreeSet<String>,
    /// The arguments that the caller gives.
    pub given: BTreeMap<String, Given>,
    /// The tools that are called although they warn; `*` for all of them.
    pub allowed: BTreeSet<String>,
    /// How long one call may take.
    pub timeout: Duration,
    /// Who is asked for arguments that a declaration does not offer.
    pub ask: Option<AskArguments>,
    /// Who is told how far it is.
    pub progress: Option<OnProgress>,
    /// Ends the check: the call that is under way is cancelled, and what was found so far is reported.
    pub stop: CancellationToken,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self {
            connection: ConnectionOptions::default(),
            only: BTreeSet::new(),
            given: BTreeMap::new(),
            allowed: BTreeSet::new(),
            timeout: Duration::from_secs(30),
            ask: None,
            progress: None,
            stop: CancellationToken::new(),
        }
    }
}

/// The arguments that a caller gives for one tool, each an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Given {
    /// For a call that gives something.
    pub normal: Option<RawJson>,
    /// For a call that finds nothing.
    pub empty: Option<RawJson>,
    /// For a call that fails.
    pub failing: Option<RawJson>,
}

/// Why a server was not checked. No tool was called.
#[derive(Debug, Error)]
pub enum CheckError {
    /// It could not be connected.
    #[error(transparent)]
    NotConnected(#[from] ConnectError),
    /// The options name tools that the server does not list. A misspelt one would pass without having been looked at.
    #[error("There is no tool {} on this server. It has: {}.", quoted(named), listed(has))]
    NoSuchTool {
        /// The names that are not listed.
        named: Vec<String>,
        /// Those that are.
        has: Vec<String>,
    },
}

impl CheckError {
    /// What to do about it, for people.
    pub fn todo(&self) -> String {
        match self {
            Self::NotConnected(error) => error.todo(),
            Self::NoSuchTool { .. } => "Correct the name. No tool was called.".to_owned(),
        }
    }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|it| format!("{it:?}")).collect::<Vec<_>>().join(", ")
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "no tools".to_owned() } else { names.join(", ") }
}

impl CheckOptions {
    /// Every tool that is named anywhere.
    fn named(&self) -> BTreeSet<&str> {
        let allowed = self.allowed.iter().filter(|it| *it != "*");
        self.only.iter().chain(self.given.keys()).chain(allowed).map(String::as_str).collect()
    }
}

/// The names that a caller gives and that the server does not list. `page` is its list, if that could be read: what stands in a
/// list that came wrong is not known.
pub fn misnamed<'a>(
    line: &Connection,
    page: Option<&ToolPage>,
    named: impl IntoIterator<Item = &'a str>,
) -> Option<CheckError> {
    let has: Vec<String> = match page {
        Some(page) => {
            let refused = page.rejected.iter().map(|it| it.name.clone());
            page.tools.iter().map(|it| it.name.clone()).chain(refused).collect()
        }
        None if line.greeting().has_capability("tools") => return None,
        None => Vec::new(),
    };
    let named = named.into_iter().filter(|it| !has.iter().any(|name| name == it));
    let named: Vec<String> = named.map(str::to_owned).collect();
    (!named.is_empty()).then_some(CheckError::NoSuchTool { named, has })
}

/// Checks a server, from its start to its end.
///
/// # Errors
/// It could not be connected, or the options name a tool that it does not have; nothing was checked.
pub async fn check(spec: &ServerSpec, options: &CheckOptions) -> Result<Report, CheckError> {
    Run::open(spec, options).await?.check().await
}
