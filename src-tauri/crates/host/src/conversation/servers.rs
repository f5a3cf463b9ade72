//! The configured servers: each is kept alive by its supervisor, its tools are listed and checked, and what crosses its wire is kept for a
//! while.

mod change;
mod import;
mod launch;
mod sign_in;
mod spec;
mod status;
mod trial;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use usher_engine::{Defect, Extensions, declaration};
use usher_protocol::{
    Revision, Rule, UI_EXTENSION,
    codec::{RejectedTool, WireDiagnostic},
    model::Tool,
};

pub(super) use self::status::WireLog;
pub use self::{
    import::{KnownList, ListChoice, ListReview, ListSource, ReviewedServer},
    spec::{StoredLaunch, StoredPair, StoredSpec, quoted},
    status::{Channel, ListedTool, ServerPhase, ServerStatus, SignIn, WireRecord},
    trial::Trial,
};
use self::{
    launch::{Era, SharedHidden},
    sign_in::SharedStanding,
};
use super::{Host, HostEvent};
use crate::{
    connection::{CallError, Connection, ConnectionEvent, Direction, EventReceiver, ServerState, Supervisor},
    store::ServerRow,
};

/// How many lines of stderr a status carries.
const STDERR_TAIL: usize = 20;

/// A configured server, running or not.
pub(super) struct Server {
    pub(super) id: String,
    pub(super) name: String,
    supervisor: Supervisor,
    facts: Mutex<Facts>,
    /// How the host is signed in, if it is a server over HTTP.
    standing: SharedStanding,
    /// What no text of the server may show.
    hidden: SharedHidden,
}

struct Facts {
    row: ServerRow,
    spec: StoredSpec,
    phase: ServerPhase,
    revision: Option<Revision>,
    /// The revisions that the server named.
    supported: Vec<Revision>,
    extensions: Extensions,
    server_info: Option<String>,
    negotiation: Vec<String>,
    tools: Vec<ListedTool>,
    rejected: Vec<RejectedTool>,
    stderr: VecDeque<String>,
    noise: u64,
}

impl Facts {
    /// Under the newest revision a tool without variants is refused; one that the server names itself may have it (rule H09).
    fn offers_earlier(&self) -> Option<Revision> {
        let spoken = self.revision.filter(|it| it.has_output_variants())?;
        let refuses = self.rejected.iter().any(|it| it.rule == Some(Rule::H09));
        self.supported.iter().copied().filter(|it| refuses && *it < spoken).max()
    }
}

impl Server {
    /// The open line and the extensions that were negotiated on it.
    pub(super) fn connection(&self) -> Result<(Connection, Extensions), CallError> {
        let connection = self.supervisor.connection().map_err(|error| self.without_secrets(error))?;
        let extensions = self.facts().extensions.clone();
        Ok((connection, extensions))
    }

    /// Waits until the server is connected and listed, or cannot be.
    pub(super) async fn ready(&self) -> Result<Connection, CallError> {
        self.supervisor.ready().await.map_err(|error| self.without_secrets(error))
    }

    pub(super) fn tool(&self, name: &str) -> Option<Arc<Tool>> {
        self.facts().tools.iter().find(|it| it.tool.name == name).map(|it| Arc::clone(&it.tool))
    }

    pub(super) fn tools(&self) -> Vec<ListedTool> {
        self.facts().tools.clone()
    }

    pub(super) fn extensions(&self) -> Extensions {
        self.facts().extensions.clone()
    }

    pub(super) fn revision(&self) -> Option<Revision> {
        self.facts().revision
    }

    pub(super) fn is_ready(&self) -> bool {
        self.facts().phase == ServerPhase::Ready
    }

    pub(super) fn status(&self) -> ServerStatus {
        let sign_in = self.sign_in();
        let facts = self.facts();
        ServerStatus {
            id: self.id.clone(),
            name: self.name.clone(),
            spec: facts.spec.clone(),
            enabled: facts.row.enabled,
            state: facts.phase.clone(),
            revision: facts.revision,
            offers_earlier: facts.offers_earlier(),
            sign_in,
            server_info: facts.server_info.clone(),
            negotiation: facts.negotiation.clone(),
            tools: facts.tools.clone(),
            rejected: facts.rejected.clone(),
            stderr_tail: facts.stderr.iter().cloned().collect(),
            noise_lines: facts.noise,
        }
    }

    fn sign_in(&self) -> Option<SignIn> {
        match &self.facts().spec.launch {
            StoredLaunch::Stdio { .. } => return None,
            StoredLaunch::Http { .. } => {}
        }
        let authorization = super::lock(&self.standing).authorization();
        Some(authorization.map_or_else(SignIn::default, |it| SignIn {
            signed_in_at: it.known_issuer(),
            waiting: it.is_signing_in(),
        }))
    }

    /// A text of the server without the secrets that it was started with.
    pub(super) fn scrubbed(&self, text: String) -> String {
        super::lock(&self.hidden).scrub(text)
    }

    /// An error of the server without them.
    pub(super) fn without_secrets(&self, error: CallError) -> CallError {
        error.rewritten(|it| self.scrubbed(it))
    }

    fn facts(&self) -> std::sync::MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Host {
    /// Starts to keep a configured server. Returns at once; the server comes up in the background.
    pub(super) fn keep_server(&self, row: ServerRow) -> Arc<Server> {
        let spec = read_spec(&row.spec);
        let (standing, hidden) = (SharedStanding::default(), SharedHidden::default());
        let launcher = self.launcher(&row, &spec, &standing, &hidden);
        let starts = row.enabled && self.surroundings().starts_servers;
        let (supervisor, events) = Supervisor::launch(launcher, starts);
        let phase = if starts { ServerPhase::Starting } else { ServerPhase::Off };
        let server = Arc::new(Server {
            id: row.id.clone(),
            name: row.name.clone(),
            supervisor,
            standing,
            hidden,
            facts: Mutex::new(Facts {
                row,
                spec,
                phase,
                revision: None,
                extensions: Extensions::default(),
                supported: Vec::new(),
                server_info: None,
                negotiation: Vec::new(),
                tools: Vec::new(),
                rejected: Vec::new(),
                stderr: VecDeque::new(),
                noise: 0,
            }),
        });
        self.servers_mut().insert(server.id.clone(), Arc::clone(&server));
        self.tell(HostEvent::Server(Box::new(server.status())));
        tokio::spawn(self.clone().follow_state(Arc::clone(&server)));
        tokio::spawn(self.clone().follow_events(Arc::clone(&server), events));
        server
    }

    /// Starts a server again with what it is to hear of the host now.
    pub(super) async fn relaunch(&self, server: &Arc<Server>) {
        let before = server.supervisor.connection().ok();
        server.supervisor.restart();
        // The supervisor takes the order on its own task; a call that follows at once must not find the old connection.
        let Some(before) = before else { return };
        let mut state = server.supervisor.state();
        let taken = state.wait_for(|it| !it.connection().is_ok_and(|it| it.is_same(&before)));
        let _in_time = tokio::time::timeout(std::time::Duration::from_secs(5), taken).await;
    }

    async fn follow_state(self, server: Arc<Server>) {
        let mut state = server.supervisor.state();
        loop {
            let now = state.borrow_and_update().clone();
            match now {
                ServerState::Off => self.set_phase(&server, ServerPhase::Off),
                ServerState::Starting => self.set_phase(&server, ServerPhase::Starting),
                ServerState::Restarting { attempt, .. } => {
                    self.set_phase(&server, ServerPhase::Restarting(attempt))
                }
                ServerState::Failed { what, todo } => {
                    self.set_phase(&server, ServerPhase::Failed(server.scrubbed(what), server.scrubbed(todo)))
                }
                ServerState::Ready { connection } => self.greet(&server, &connection).await,
            }
            if state.changed().await.is_err() {
                return;
            }
        }
    }

    fn set_phase(&self, server: &Arc<Server>, phase: ServerPhase) {
        server.facts().phase = phase;
        self.tell(HostEvent::Server(Box::new(server.status())));
    }

    /// Takes note of who answered and lists its tools.
    async fn greet(&self, server: &Arc<Server>, connection: &Connection) {
        let greeting = connection.greeting();
        let changed = {
            let mut facts = server.facts();
            facts.revision = Some(greeting.revision);
            facts.supported.clone_from(&greeting.supported);
            facts.negotiation = greeting.steps.iter().map(|it| server.scrubbed(it.clone())).collect();
            let version = greeting.server_version.as_deref().unwrap_or_default();
            facts.server_info =
                greeting.server_name.as_ref().map(|name| format!("{name} {version}").trim().to_owned());
            // Negotiated is what both sides name (X7).
            let has_ui = self.connection_options().ui_extension && greeting.has_extension(UI_EXTENSION);
            facts.extensions = if has_ui { Extensions::ui() } else { Extensions::default() };
            let era = Era::next(facts.row.era.as_deref(), greeting.remember.clone(), self.now_ms());
            let changed = facts.row.era != era;
            facts.row.era = era;
            changed.then(|| facts.row.clone())
        };
        // A server that was changed or removed meanwhile has a row of its own, or none.
        if let Some(row) = changed {
            self.keep_writing(self.store().put_server_era(row.id, row.spec, row.era));
        }
        self.list_tools(server, connection).await;
        self.subscribe_anew(server, connection);
    }

    async fn list_tools(&self, server: &Arc<Server>, connection: &Connection) {
        match connection.list_tools().await {
            Ok((page, defects)) => {
                let extensions = server.extensions();
                let mut rejected = page.rejected;
                let mut tools = Vec::new();
                for tool in page.tools {
                    match declaration::check(&tool, &extensions) {
                        Ok(usable) => {
                            let defects =
                                usable.defects.into_iter().chain(defects_of(&tool, &defects)).collect();
                            tools.push(ListedTool { tool: Arc::new(tool), defects });
                        }
                        Err(defect) => rejected.push(RejectedTool {
                            name: tool.name.clone(),
                            rule: defect.rule,
                            why: defect.text,
                            raw: tool.raw.clone(),
                        }),
                    }
                }
                let mut facts = server.facts();
                facts.tools = tools;
                facts.rejected = rejected;
            }
            Err(error) => {
                // A server without tools answers that it does not know the method; it is still a server.
                let what =
                    format!("{} could not list its tools: {}", server.name, server.without_secrets(error));
                self.remark(&server.id, "tools/list", what);
                let mut facts = server.facts();
                facts.tools.clear();
                facts.rejected.clear();
            }
        }
        // The server may have ended meanwhile; what it is then is told already.
        if server.supervisor.connection().is_ok_and(|it| it.is_same(connection)) {
            self.set_phase(server, ServerPhase::Ready);
        }
    }

    async fn follow_events(self, server: Arc<Server>, mut events: EventReceiver) {
        while let Some(event) = events.next().await {
            let line = |channel, title: &str, text: String, bytes| WireRecord {
                seq: 0,
                at_ms: self.now_ms(),
                server_id: server.id.clone(),
                channel,
                title: title.to_owned(),
                text: server.scrubbed(text),
                bytes,
            };
            match event {
                ConnectionEvent::Line { direction, title, text, bytes } => {
                    let channel = match direction {
                        Direction::ToServer => Channel::ToServer,
                        Direction::FromServer => Channel::FromServer,
                    };
                    self.log(line(channel, &title, text, bytes));
                }
                ConnectionEvent::Noise { text, bytes } => {
                    server.facts().noise += 1;
                    self.log(line(Channel::Noise, "not a message", text, bytes));
                }
                ConnectionEvent::Stderr { text } => {
                    let text = server.scrubbed(text);
                    let mut facts = server.facts();
                    facts.stderr.push_back(text.clone());
                    if facts.stderr.len() > STDERR_TAIL {
                        facts.stderr.pop_front();
                    }
                    drop(facts);
                    let bytes = text.len();
                    self.log(line(Channel::Stderr, "stderr", text, bytes));
                }
                ConnectionEvent::Defect { text } => self.remark(&server.id, "defect", server.scrubbed(text)),
                ConnectionEvent::Negotiated(step) => {
                    let text = server.scrubbed(step.text);
                    server.facts().negotiation.push(text.clone());
                    self.remark(&server.id, "negotiation", text);
                }
                ConnectionEvent::SignIn { text } => {
                    self.remark(&server.id, "sign-in", server.scrubbed(text));
                    self.tell(HostEvent::Server(Box::new(server.status())));
                }
                ConnectionEvent::Dropped { lines } => {
                    self.remark(
                        &server.id,
                        "flood",
                        format!("{lines} lines came faster than they were read and are not shown"),
                    );
                }
                ConnectionEvent::Exited(exit) => {
                    self.remark(&server.id, "exit", format!("the server ended: {}", exit.status));
                    server.facts().negotiation.clear();
                }
                ConnectionEvent::Log { level, logger, text } => {
                    let title = logger.map_or_else(|| level.clone(), |it| format!("{level} · {it}"));
                    self.remark(&server.id, &title, server.scrubbed(text));
                }
                // Prompts and resources are asked for when they are wanted; what is kept of them is forgotten already.
                ConnectionEvent::PromptsChanged => {
                    self.tell_list_changed(&server.id, "notifications/prompts/list_changed");
                    self.tell(HostEvent::PromptsChanged(server.id.clone()));
                }
                ConnectionEvent::ResourcesChanged => {
                    self.tell_list_changed(&server.id, "notifications/resources/list_changed");
                    self.tell(HostEvent::ResourcesChanged(server.id.clone()));
                }
                ConnectionEvent::ResourceUpdated { uri } => {
                    self.tell(HostEvent::ResourceUpdated { server_id: server.id.clone(), uri });
                }
                ConnectionEvent::ToolsChanged => {
                    if let Ok((connection, _)) = server.connection() {
                        self.list_tools(&server, &connection).await;
                        self.tell_list_changed(&server.id, "notifications/tools/list_changed");
                    }
                }
            }
        }
    }

    pub(super) fn remark(&self, server_id: &str, title: &str, text: String) {
        let bytes = text.len();
        self.log(WireRecord {
            seq: 0,
            at_ms: self.now_ms(),
            server_id: server_id.to_owned(),
            channel: Channel::Host,
            title: title.to_owned(),
            text,
            bytes,
        });
    }

    fn log(&self, line: WireRecord) {
        self.wire_log().push(line);
    }

    /// Lines after a sequence number, oldest first.
    pub fn wire_lines(&self, server_id: Option<&str>, after_seq: u64, limit: usize) -> Vec<WireRecord> {
        let log = self.wire_log();
        let wanted = |it: &&WireRecord| it.seq > after_seq;
        let servers = log.servers.iter().filter(|it| server_id.is_none_or(|id| id == it.0));
        let mut found: Vec<WireRecord> =
            servers.flat_map(|it| it.1.0.iter().filter(wanted)).cloned().collect();
        found.sort_by_key(|it| it.seq);
        let skip = found.len().saturating_sub(limit);
        found.into_iter().skip(skip).collect()
    }

    /// Every server, in the order in which they were added.
    pub fn server_statuses(&self) -> Vec<ServerStatus> {
        let place = |server: &Server| server.facts().row.sort;
        let mut all: Vec<(i64, ServerStatus)> =
            self.all_servers().values().map(|it| (place(it), it.status())).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.id.cmp(&b.1.id)));
        all.into_iter().map(|it| it.1).collect()
    }

    /// Waits until a server is connected and its tools are listed.
    ///
    /// # Errors
    /// It is not configured, is off, or cannot be connected to.
    pub async fn server_ready(&self, server_id: &str) -> Result<ServerStatus, CallError> {
        let unknown = || CallError::NotConnected { state: "there is no such server".to_owned() };
        let server = self.server(server_id).ok_or_else(unknown)?;
        server.ready().await?;
        let mut state = server.supervisor.state();
        while !server.is_ready() {
            if let ServerPhase::Failed(what, _) = server.facts().phase.clone() {
                return Err(CallError::NotConnected { state: what });
            }
            tokio::select! {
                _ = state.changed() => {}
                () = tokio::time::sleep(std::time::Duration::from_millis(10)) => {}
            }
        }
        Ok(server.status())
    }

    /// Ends a server and forgets it.
    ///
    /// # Errors
    /// The disk refuses.
    pub async fn remove_server(&self, id: &str) -> Result<(), super::HostError> {
        let gone = self.server(id);
        self.store().refusing().delete_server(id).await?;
        self.forget_server(id).await;
        self.forget_trust(id);
        self.drop_view_access(id);
        if let Some(gone) = gone {
            self.forget_secrets(&gone).await;
        }
        self.tell(HostEvent::ServerRemoved(id.to_owned()));
        Ok(())
    }

    async fn forget_server(&self, id: &str) {
        let gone = self.servers_mut().remove(id);
        if let Some(server) = gone {
            // Turned off first, so that its process ends even while a call still holds the server.
            server.supervisor.enable(false);
            let mut state = server.supervisor.state();
            let _ended = tokio::time::timeout(
                std::time::Duration::from_secs(5),
                state.wait_for(|it| matches!(it, ServerState::Off)),
            )
            .await;
        }
    }

    /// Turns a server on or off.
    ///
    /// # Errors
    /// The disk refuses.
    pub async fn enable_server(&self, id: &str, enabled: bool) -> Result<(), super::HostError> {
        let server = self.server(id).ok_or_else(|| super::HostError::unknown("server"))?;
        let row = {
            let mut facts = server.facts();
            facts.row.enabled = enabled;
            facts.row.clone()
        };
        self.store().refusing().put_server(row).await?;
        if !self.surroundings().starts_servers {
            self.tell(HostEvent::Server(Box::new(server.status())));
            return Ok(());
        }
        self.switch(&server, enabled).await;
        Ok(())
    }

    /// Starts one server for as long as the host is open. It is for a host that starts none by itself; what is kept does not change.
    ///
    /// # Errors
    /// There is no such server.
    pub async fn start_server(&self, id: &str) -> Result<(), super::HostError> {
        let server = self.server(id).ok_or_else(|| super::HostError::unknown("server"))?;
        self.switch(&server, true).await;
        Ok(())
    }

    async fn switch(&self, server: &Server, on: bool) {
        server.supervisor.enable(on);
        // The supervisor takes the order on its own task; a call that follows at once must not find the old state.
        let mut state = server.supervisor.state();
        let taken = state.wait_for(|it| matches!(it, ServerState::Off) != on);
        let _in_time = tokio::time::timeout(std::time::Duration::from_secs(5), taken).await;
        self.tell(HostEvent::Server(Box::new(server.status())));
    }

    /// Asks a server whether it is still there (2025-11-25 basic/utilities/ping).
    ///
    /// # Errors
    /// It is not connected, does not answer, or speaks a revision that has no such request.
    pub async fn ping(&self, id: &str) -> Result<(), CallError> {
        let unknown = || CallError::NotConnected { state: "there is no such server".to_owned() };
        let server = self.server(id).ok_or_else(unknown)?;
        server.connection()?.0.ping().await.map_err(|error| server.without_secrets(error))
    }

    /// Ends a server's process and starts it again.
    ///
    /// # Errors
    /// There is no such server.
    pub fn restart_server(&self, id: &str) -> Result<(), super::HostError> {
        let server = self.server(id).ok_or_else(|| super::HostError::unknown("server"))?;
        server.supervisor.restart();
        Ok(())
    }

    /// Ends every server and waits until all are gone.
    pub(super) async fn end_servers(&self) {
        let ids: Vec<String> = self.servers().keys().cloned().collect();
        futures::future::join_all(ids.iter().map(|id| self.forget_server(id))).await;
    }

    pub(super) fn server(&self, id: &str) -> Option<Arc<Server>> {
        self.servers().get(id).cloned()
    }

    pub(super) fn all_servers(&self) -> BTreeMap<String, Arc<Server>> {
        self.servers().clone()
    }
}

/// A row that cannot be read keeps its place, so that it can be mended or removed.
fn read_spec(text: &str) -> StoredSpec {
    serde_json::from_str(text).unwrap_or_else(|error| {
        tracing::warn!(%error, "how a server is reached cannot be read");
        StoredSpec::stdio("", Vec::new())
    })
}

/// The diagnostics about one tool of a list.
fn defects_of<'a>(tool: &'a Tool, all: &'a [WireDiagnostic]) -> impl Iterator<Item = Defect> + 'a {
    all.iter()
        .filter(|it| it.tool.as_ref() == Some(&tool.name))
        .map(|it| Defect { rule: it.rule, text: it.message.clone() })
}
