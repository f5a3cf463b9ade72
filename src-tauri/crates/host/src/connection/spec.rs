//! What is known of a server before it is started, and how the host behaves towards it.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use usher_protocol::{Revision, UI_EXTENSION, UI_MIME};

use super::{authorization::Authorization, logging::LoggingLevel, question::Offers, tasks::TASKS_EXTENSION};

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerSpec {
    /// A program that is started, and spoken to over its standard input and output.
    Stdio(StdioSpec),
    /// An address that is spoken to over HTTP.
    Http(HttpSpec),
}

/// A server that is spoken to over its standard input and output (2026-07-28 basic/transports/stdio).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StdioSpec {
    /// A program: a name that is looked up, or a path.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables that are set for it, beside those of the host.
    pub env: Vec<(String, String)>,
    /// Where it runs; the host's own folder if absent.
    pub cwd: Option<PathBuf>,
}

/// A server that is spoken to over Streamable HTTP (2026-07-28 basic/transports/streamable-http), or over the HTTP with SSE that
/// 2024-11-05 had.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HttpSpec {
    /// The address of its one endpoint.
    pub url: String,
    /// Sent with every request, such as a key that the server's owner gave out.
    pub headers: Vec<(String, String)>,
}

impl HttpSpec {
    /// Whether the headers say who asks.
    pub(super) fn says_who_asks(&self) -> bool {
        self.headers.iter().any(|(name, _)| name.trim().eq_ignore_ascii_case("authorization"))
    }
}

impl From<StdioSpec> for ServerSpec {
    fn from(spec: StdioSpec) -> Self {
        Self::Stdio(spec)
    }
}

impl From<HttpSpec> for ServerSpec {
    fn from(spec: HttpSpec) -> Self {
        Self::Http(spec)
    }
}

/// What was found out about a server, so that the next start need not (2026-07-28 basic/versioning, "Era cache"). It is where the asking
/// begins, and never what is believed: a way that fails is left, and another server is asked anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remembered {
    /// The revision that it spoke.
    pub revision: Revision,
    /// What it called itself, with its version.
    #[serde(default)]
    pub server: Option<String>,
}

impl From<Revision> for Remembered {
    fn from(revision: Revision) -> Self {
        Self { revision, server: None }
    }
}

/// How the host behaves towards a server.
#[derive(Debug, Clone)]
pub struct ConnectionOptions {
    /// What the host calls itself.
    pub client_name: String,
    /// Its version.
    pub client_version: String,
    /// Whether the MCP Apps extension is advertised.
    pub ui_extension: bool,
    /// Whether the Tasks extension is advertised, under revisions that have extensions of results.
    pub tasks_extension: bool,
    /// What the host answers to servers.
    pub offers: Offers,
    /// How the host signs in at a server that is spoken to over HTTP and wants to know who asks. Without it such a server cannot be
    /// used, unless its headers say who asks.
    pub authorization: Option<Authorization>,
    /// The newest revision that is offered; earlier ones follow. Lower it to repeat a request under an earlier one (rule H09).
    pub newest: Revision,
    /// The one revision that is tried, whatever the server says of others; `newest` then means nothing.
    pub pinned: Option<Revision>,
    /// What [`super::Greeting::remember`] said last time.
    pub remembered: Option<Remembered>,
    /// How long `server/discover` may stay unanswered before the handshake is tried.
    pub probe_timeout: Duration,
    /// How long the handshake may stay unanswered. Long, because `npx` may be downloading.
    pub handshake_timeout: Duration,
    /// How long requests other than calls may take.
    pub request_timeout: Duration,
    /// How long a call may take at most, whatever its own timeout and progress say.
    pub call_limit: Duration,
    /// How long a call may take at most that the server goes on with as a task.
    pub task_limit: Duration,
    /// How long the host waits before it repeats for the first time a request that the server wants repeated; then longer each time.
    pub repeat_after: Duration,
    /// From which level on the server is to tell what it does; nothing is asked for without one.
    pub log_level: Option<LoggingLevel>,
    /// Where commands are looked up.
    pub path: PathSource,
}

impl Default for ConnectionOptions {
    fn default() -> Self {
        Self {
            client_name: "usher".to_owned(),
            client_version: env!("CARGO_PKG_VERSION").to_owned(),
            ui_extension: true,
            tasks_extension: true,
            offers: Offers::default(),
            authorization: None,
            newest: Revision::NEWEST,
            pinned: None,
            remembered: None,
            probe_timeout: Duration::from_secs(3),
            handshake_timeout: Duration::from_mins(1),
            request_timeout: Duration::from_mins(1),
            call_limit: Duration::from_mins(10),
            task_limit: Duration::from_hours(2),
            repeat_after: Duration::from_millis(500),
            log_level: None,
            path: PathSource::LoginShell,
        }
    }
}

impl ConnectionOptions {
    pub(super) fn client_info(&self) -> Value {
        json!({"name": self.client_name, "title": "Usher", "version": self.client_version})
    }

    /// Exactly what works: what is not advertised may not be asked for.
    pub(super) fn client_capabilities(&self, revision: Revision) -> Value {
        let mut all = self.offers.capabilities(revision);
        let mut extensions = serde_json::Map::new();
        if self.ui_extension {
            extensions.insert(UI_EXTENSION.to_owned(), json!({"mimeTypes": [UI_MIME]}));
        }
        if self.has_tasks(revision) {
            extensions.insert(TASKS_EXTENSION.to_owned(), json!({}));
        }
        if !extensions.is_empty() {
            all.insert("extensions".to_owned(), Value::Object(extensions));
        }
        Value::Object(all)
    }

    /// Whether a server may go on with a call as a task. What 2025-11-25 called tasks was an experiment of another shape.
    pub(super) fn has_tasks(&self, revision: Revision) -> bool {
        self.tasks_extension && revision.has_result_type()
    }

    /// What each request carries under a revision without a handshake (2026-07-28 basic, "_meta").
    pub(super) fn request_meta(&self, revision: Revision) -> Value {
        json!({
            "io.modelcontextprotocol/protocolVersion": revision,
            "io.modelcontextprotocol/clientInfo": self.client_info(),
            "io.modelcontextprotocol/clientCapabilities": self.client_capabilities(revision),
        })
    }
}

/// Where commands are looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathSource {
    /// The `PATH` that a login shell has, then the host's own: an application that was not started from a terminal has a poor one.
    LoginShell,
    /// The host's own.
    Inherited,
    /// This one.
    Given(OsString),
}
