//! A server as it stands, and the lines that crossed its wire.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use usher_engine::Defect;
use usher_protocol::{Revision, codec::RejectedTool, model::Tool};

use super::StoredSpec;

/// How many lines of the wire are kept for each server.
const KEPT_LINES: usize = 2_000;
/// How many bytes of lines are kept for each server.
const KEPT_BYTES: usize = 16 << 20;
/// A server as it stands, for whoever shows it.
#[derive(Debug, Clone)]
pub struct ServerStatus {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// How it is started.
    pub spec: StoredSpec,
    /// Whether it is to run.
    pub enabled: bool,
    /// Where its connection stands.
    pub state: ServerPhase,
    /// The negotiated revision.
    pub revision: Option<Revision>,
    /// An earlier revision that the server names itself, when it has tools that the negotiated one refuses (rule H09). It is offered,
    /// and never taken without the person.
    pub offers_earlier: Option<Revision>,
    /// How the host is signed in there; only for a server over HTTP.
    pub sign_in: Option<SignIn>,
    /// What it calls itself.
    pub server_info: Option<String>,
    /// How the revision was found.
    pub negotiation: Vec<String>,
    /// Its tools.
    pub tools: Vec<ListedTool>,
    /// Declarations that were refused.
    pub rejected: Vec<RejectedTool>,
    /// The last lines of stderr.
    pub stderr_tail: Vec<String>,
    /// How many lines on stdout were no messages.
    pub noise_lines: u64,
}

/// How the host is signed in at a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SignIn {
    /// The authorization server.
    pub signed_in_at: Option<String>,
    /// Whether a sign-in is under way.
    pub waiting: bool,
}

/// Where a connection stands, without the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerPhase {
    /// Turned off.
    Off,
    /// Being started.
    Starting,
    /// Connected and listed.
    Ready,
    /// Being started again.
    Restarting(u32),
    /// It cannot be used: what happened and what to do.
    Failed(String, String),
}

/// A tool and what is wrong with its declaration.
#[derive(Debug, Clone)]
pub struct ListedTool {
    /// The tool.
    pub tool: Arc<Tool>,
    /// Defects that do not stop its use.
    pub defects: Vec<Defect>,
}

/// A line of the wire.
#[derive(Debug, Clone)]
pub struct WireRecord {
    /// Its place among the lines of all servers.
    pub seq: u64,
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// The server.
    pub server_id: String,
    /// Where it was seen.
    pub channel: Channel,
    /// The method, or what kind of line it is.
    pub title: String,
    /// The line, cut when very long.
    pub text: String,
    /// Its whole length in bytes.
    pub bytes: usize,
}

/// Where a line was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// To the server.
    ToServer,
    /// From the server.
    FromServer,
    /// On stderr.
    Stderr,
    /// On stdout, but not a message.
    Noise,
    /// The host's own remark.
    Host,
}

/// The lines of all servers, a bounded number of each, so that one that floods does not push out the others'.
#[derive(Default)]
pub(in crate::conversation) struct WireLog {
    pub(super) servers: BTreeMap<String, (VecDeque<WireRecord>, usize)>,
    last: u64,
}

impl WireLog {
    pub(super) fn push(&mut self, mut line: WireRecord) {
        self.last += 1;
        line.seq = self.last;
        let (lines, bytes) = self.servers.entry(line.server_id.clone()).or_default();
        *bytes += line.text.len();
        lines.push_back(line);
        while lines.len() > KEPT_LINES || *bytes > KEPT_BYTES {
            let Some(gone) = lines.pop_front() else { break };
            *bytes -= gone.text.len();
        }
    }
}
