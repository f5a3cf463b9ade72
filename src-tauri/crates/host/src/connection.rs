//! Servers: how they are started, spoken to and ended.
//!
//! A [`Connection`] is one open line to one server, cheap to clone; a [`Supervisor`] keeps one alive over crashes. Results come back as
//! the very text that the server wrote ([`RawJson`]): nothing here reads a payload. Deliberately absent: what to ask a tool for and who
//! receives what comes back (the engine's), and approval (the conversation's).

mod authorization;
mod cache;
mod error;
mod event;
#[doc(hidden)]
pub mod hostile;
mod http;
mod line;
mod logging;
mod opening;
mod probing;
mod process;
mod process_tree;
mod prompts;
mod question;
mod resources;
mod rounds;
mod search_path;
mod spec;
mod subscription;
mod supervisor;
mod tasks;
#[cfg(test)]
mod tests;
mod transport;
#[cfg(unix)]
mod watchdog;
mod wire;

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use rmcp::{
    RoleClient,
    model::{ClientRequest, CustomRequest, RequestMetaObject, ServerPeerInfo},
    service::{Peer, PeerRequestOptions, RunningService, ServiceError, serve_directly_with_ct},
};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use usher_protocol::{
    RawJson, Revision,
    codec::{CallRequest, RejectedTool, ToolPage, WireDiagnostic, decode_tools, encode_call},
};

use self::{
    authorization::Tries,
    http::Mirrors,
    opening::{LinkEnd, Opener},
    process::Process,
    search_path::SearchPath,
    subscription::Filter,
    transport::{Beside, Client, RawTransport},
    wire::{Answered, Reply, Wire},
};
pub use self::{
    authorization::{
        Authorization, AuthorizationError, AuthorizationSettings, Browser, CredentialKeeper, GivenClient,
        Redirect, SecretText, Visit, Visited,
    },
    error::{CallError, ConnectError, HttpFailure},
    event::{
        ConnectionEvent, Direction, EventReceiver, EventSender, Exit, MAX_LINE_TEXT, NegotiationStep, events,
    },
    logging::LoggingLevel,
    opening::Greeting,
    probing::Oddities,
    prompts::{Completing, Completion, Prompt, PromptArgument},
    question::{Answer, Ask, Elicited, Offers, Question, Root},
    resources::ResourceTemplate,
    search_path::file_of,
    spec::{ConnectionOptions, HttpSpec, PathSource, Remembered, ServerSpec, StdioSpec},
    supervisor::{Launch, NotLaunched, ServerState, Supervisor},
};

/// The most pages of a list that are read.
const MAX_PAGES: usize = 200;

/// A header does not say what the body says (2026-07-28 basic, "Error Codes").
const HEADER_MISMATCH: i64 = -32020;

/// A tool's own report of how far it is (2025-11-25 basic/utilities/progress).
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Progress {
    /// How much is done, in the tool's own measure.
    pub progress: f64,
    /// How much there is, if known.
    #[serde(default)]
    pub total: Option<f64>,
    /// What it does now. Untrusted.
    #[serde(default)]
    pub message: Option<String>,
}

/// What a caller wants of one call, beside its result.
#[derive(Debug, Clone, Default)]
pub struct CallOptions {
    /// Where progress goes. Reports that find no room are skipped: a later one says more.
    pub progress: Option<mpsc::Sender<Progress>>,
    /// Cancels the call; the server is told. Dropping the call's future does the same.
    pub cancel: CancellationToken,
    /// How long the call may take, whatever its progress; [`ConnectionOptions::call_limit`] holds besides.
    pub timeout: Option<Duration>,
}

/// An open line to one server.
#[derive(Clone)]
pub struct Connection(Arc<Inner>, Revision);

struct Inner {
    peer: Peer<RoleClient>,
    /// Ends rmcp's loop when the last clone of the connection is dropped, and with it the process.
    _service: RunningService<RoleClient, Client>,
    wire: Arc<Wire>,
    process: Option<Process>,
    /// What calls repeat in headers, if there are headers.
    mirrors: Option<Arc<Mirrors>>,
    /// What the server is listened to for, if this must be asked.
    wanted: Option<watch::Sender<Filter>>,
    greeting: Greeting,
    options: ConnectionOptions,
    /// From which level on the server is to tell what it does.
    log_level: Mutex<Option<LoggingLevel>>,
}

impl Connection {
    /// Starts a server and finds the revision that both sides speak. Every step is told to `events`.
    ///
    /// # Errors
    /// The server cannot be started, ends, stays silent, or speaks no revision that Usher speaks.
    pub async fn open(
        spec: &ServerSpec,
        options: &ConnectionOptions,
        events: EventSender,
    ) -> Result<Self, ConnectError> {
        match spec {
            ServerSpec::Stdio(spec) => {
                let path = SearchPath::of(&options.path).await;
                let mut opener =
                    ProcessOpener { spec, path, events: events.clone(), offers: options.offers.clone() };
                Self::open_through(&mut opener, options, &events).await
            }
            ServerSpec::Http(spec) => {
                let authorization = options.authorization.clone().filter(|_| !spec.says_who_asks());
                let options = &ConnectionOptions { authorization, ..options.clone() };
                let mut tries = Tries::new(options.authorization.as_ref(), &events);
                loop {
                    tries.begin();
                    match Self::open_over_http(spec, options, &events).await {
                        Err(ConnectError::Http { failure }) => {
                            if !tries.again(&failure).await? {
                                return Err(ConnectError::Http { failure });
                            }
                        }
                        outcome => return outcome,
                    }
                }
            }
        }
    }

    async fn open_over_http(
        spec: &HttpSpec,
        options: &ConnectionOptions,
        events: &EventSender,
    ) -> Result<Self, ConnectError> {
        let mut opener = HttpOpener { spec, options, events: events.clone() };
        let opened = Self::open_through(&mut opener, options, events).await;
        let Err(ConnectError::Http { failure: HttpFailure { status: Some(400 | 404 | 405), .. } }) = opened
        else {
            return opened;
        };
        // A revision of the modern era that was chosen is spoken over Streamable HTTP or not at all.
        if options.pinned.is_some_and(|it| it.has_request_meta()) {
            return opened;
        }
        let text = "The server does not know Streamable HTTP; trying the HTTP with SSE of 2024-11-05.";
        events.step(None, true, text.to_owned());
        let newest = options.newest.min(Revision::NEWEST_WITH_HANDSHAKE);
        let options = &ConnectionOptions { newest, ..options.clone() };
        let mut opener = EventsOpener(HttpOpener { spec, options, events: events.clone() });
        match Self::open_through(&mut opener, options, events).await {
            Err(ConnectError::Http { failure }) if failure.status == Some(401) => {
                Err(ConnectError::Http { failure })
            }
            // What the first attempt said is the better reason, if this one does not succeed either.
            outcome => outcome.or(opened),
        }
    }

    async fn open_through<O: Opener<Link = Link>>(
        opener: &mut O,
        options: &ConnectionOptions,
        events: &EventSender,
    ) -> Result<Self, ConnectError> {
        let (link, greeting) = opening::open(opener, options, events).await?;
        Self::over(link, greeting, options.clone())
    }

    fn over(link: Link, greeting: Greeting, options: ConnectionOptions) -> Result<Self, ConnectError> {
        let unusable = |error: serde_json::Error| ConnectError::BadGreeting {
            method: "initialize",
            why: format!("the host's own description cannot be written: {error}"),
        };
        let version = serde_json::from_value(json!(greeting.revision)).map_err(unusable)?;
        let info = serde_json::from_value(json!({
            "protocolVersion": greeting.revision,
            "clientInfo": options.client_info(),
            "capabilities": options.client_capabilities(greeting.revision),
        }))
        .map_err(unusable)?;
        let capabilities = serde_json::from_value(json!({})).map_err(unusable)?;
        let Link { wire, answered, process, mirrors } = link;
        let wanted = greeting
            .revision
            .has_request_meta()
            .then(|| subscription::listen(&wire, &greeting, options.request_meta(greeting.revision)));
        let service = serve_directly_with_ct(
            Client(info),
            RawTransport::new(Arc::clone(&wire), answered),
            // From this rmcp knows whether each request carries its revision and capabilities in `_meta`.
            Some(ServerPeerInfo::new(version, capabilities)),
            CancellationToken::new(),
        );
        let peer = service.peer().clone();
        let revision = greeting.revision;
        let log_level = Mutex::new(options.log_level);
        let inner =
            Inner { peer, _service: service, wire, process, mirrors, wanted, greeting, options, log_level };
        let connection = Self(Arc::new(inner), revision);
        connection.begin_logging();
        Ok(connection)
    }

    /// The revision that requests are made under. Results are read under the same.
    pub fn revision(&self) -> Revision {
        self.1
    }

    /// The same line, with requests under another revision, if the server named it and both have no handshake (rule H09).
    pub fn under(&self, revision: Revision) -> Option<Self> {
        let free = revision.has_request_meta() && self.1.has_request_meta();
        (free && self.0.greeting.supported.contains(&revision)).then(|| Self(Arc::clone(&self.0), revision))
    }

    /// Whether two handles are of the same line.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// What the server said of itself.
    pub fn greeting(&self) -> &Greeting {
        &self.0.greeting
    }

    /// The last lines of stderr, oldest first.
    pub fn stderr_tail(&self) -> Vec<String> {
        self.0.process.as_ref().map(Process::stderr).unwrap_or_default()
    }

    /// How many lines on stdout were not messages.
    pub fn noise_lines(&self) -> u64 {
        self.0.wire.noise()
    }

    /// Every tool that the server lists, over all pages.
    ///
    /// # Errors
    /// The server refuses, ends, or answers with something that is not a list of tools.
    pub async fn list_tools(&self) -> Result<(ToolPage, Vec<WireDiagnostic>), CallError> {
        let mut all = ToolPage::default();
        let mut defects = Vec::new();
        for result in self.pages("tools/list").await? {
            let (page, more) = decode_tools(self.revision(), &result)?;
            for tool in page.tools {
                match self.0.mirrors.as_ref().map_or(Ok(()), |it| it.learn(&tool.name, &tool.input_schema)) {
                    Ok(()) => all.tools.push(tool),
                    Err(why) => {
                        all.rejected.push(RejectedTool { name: tool.name, rule: None, why, raw: tool.raw })
                    }
                }
            }
            all.rejected.extend(page.rejected);
            defects.extend(more);
        }
        Ok((all, defects))
    }

    /// Calls a tool. Gives the untouched text of the result, to be read by the codec under [`Connection::revision`].
    ///
    /// # Errors
    /// The server refuses or ends, the call is cancelled or takes too long, or its answer is not JSON.
    pub async fn call(&self, call: &CallRequest, options: CallOptions) -> Result<RawJson, CallError> {
        let params = encode_call(self.revision(), call)
            .map_err(|error| CallError::Unwritable { why: error.to_string() })?;
        let limit = self.0.options.call_limit;
        let limit = options.timeout.map_or(limit, |it| it.min(limit));
        let again = (params.clone(), options.progress.clone());
        let result = self.rounds("tools/call", params, limit, options.progress, &options.cancel).await;
        match result {
            // Its headers are others now, so its declaration is too (2026-07-28 basic/transports/streamable-http).
            Err(CallError::Server { code: HEADER_MISMATCH, .. }) if self.0.mirrors.is_some() => {
                self.0.wire.cache().forget("tools/list", None);
                self.list_tools().await?;
                let (params, progress) = again;
                self.rounds("tools/call", params, limit, progress, &options.cancel).await
            }
            result => result,
        }
    }

    /// Asks whether the server is still there (2025-11-25 basic/utilities/ping). Later revisions have no such request.
    ///
    /// # Errors
    /// The server does not answer, or refuses.
    pub async fn ping(&self) -> Result<(), CallError> {
        self.plain_request("ping", json!({})).await.map(drop)
    }

    /// Ends the server: its input is closed, then its process group is signalled. Waits until all of it is gone.
    pub async fn close(&self) -> Exit {
        if let Some(process) = &self.0.process {
            process.wanted();
        }
        self.0.wire.closing().cancel();
        self.closed().await
    }

    /// Waits until the server is gone, by whoever's doing.
    pub async fn closed(&self) -> Exit {
        self.0.wire.closing().cancelled().await;
        match &self.0.process {
            Some(process) => process.ended().await,
            None => Exit { status: "the stream ended".to_owned(), ..Exit::default() },
        }
    }

    async fn pages(&self, method: &'static str) -> Result<Vec<RawJson>, CallError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Page {
            #[serde(default)]
            next_cursor: Option<String>,
        }
        let mut pages = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        let mut params = json!({});
        loop {
            let asked: RawJson = params.into();
            let result = match self.kept(method, &asked) {
                Some(kept) => kept,
                None => {
                    let result = self.plain_request(method, asked.clone()).await?;
                    self.keep(method, &asked, &result);
                    result
                }
            };
            let next = result.to::<Page>().ok().and_then(|it| it.next_cursor);
            pages.push(result);
            let Some(cursor) = next else { return Ok(pages) };
            // A cursor that comes again would never end.
            if pages.len() >= MAX_PAGES || !seen.insert(cursor.clone()) {
                return Err(CallError::Endless { pages: pages.len() });
            }
            params = json!({"cursor": cursor});
        }
    }

    fn kept(&self, method: &str, params: &RawJson) -> Option<RawJson> {
        self.0.wire.cache().get(self.revision(), method, params, Instant::now())
    }

    fn keep(&self, method: &str, params: &RawJson, result: &RawJson) {
        if self.revision().has_result_type() {
            self.0.wire.cache().put(self.revision(), method, params, result, Instant::now());
        }
    }

    fn call_limit(&self) -> Duration {
        self.0.options.call_limit
    }

    async fn plain_request(
        &self,
        method: &'static str,
        params: impl Into<RawJson>,
    ) -> Result<RawJson, CallError> {
        let limit = self.0.options.request_timeout;
        Box::pin(self.request(method, params.into(), limit, None, &CancellationToken::new())).await
    }

    /// Makes a request, again if the server wants to know who asks: it had no effect then. Signing in takes none of the time.
    async fn request(
        &self,
        method: &'static str,
        params: RawJson,
        limit: Duration,
        progress: Option<mpsc::Sender<Progress>>,
        cancel: &CancellationToken,
    ) -> Result<RawJson, CallError> {
        let mut tries = Tries::new(self.0.options.authorization.as_ref(), self.0.wire.events());
        loop {
            tries.begin();
            let outcome = self.request_once(method, params.clone(), limit, progress.clone(), cancel).await;
            let Err(CallError::Http(failure)) = outcome else { return outcome };
            let again = tokio::select! {
                again = tries.again(&failure) => again?,
                () = cancel.cancelled() => return Err(CallError::Cancelled),
                exit = self.closed() => return Err(CallError::Closed { exit }),
            };
            if !again {
                return Err(CallError::Http(failure));
            }
            self.0.wire.cache().clear();
        }
    }

    async fn request_once(
        &self,
        method: &'static str,
        params: RawJson,
        limit: Duration,
        progress: Option<mpsc::Sender<Progress>>,
        cancel: &CancellationToken,
    ) -> Result<RawJson, CallError> {
        if cancel.is_cancelled() {
            return Err(CallError::Cancelled);
        }
        let (reply, answer) = oneshot::channel();
        let beside = Beside::new(params, reply, progress);
        let mut guard = Guard { beside: &beside, wire: &self.0.wire, reason: "the caller went away" };
        let outcome = tokio::select! {
            biased;
            outcome = self.exchange(method, beside.clone(), answer) => outcome,
            () = cancel.cancelled() => {
                guard.reason = "cancelled by the user";
                Err(Ended::Known(CallError::Cancelled))
            }
            () = tokio::time::sleep(limit) => {
                guard.reason = "it took too long";
                Err(Ended::Known(CallError::TimedOut { seconds: limit.as_secs() }))
            }
        };
        drop(guard);
        match outcome {
            Ok(Reply::Result(result)) => Ok(result),
            Ok(Reply::Error(error)) => {
                Err(CallError::Server { code: error.code, message: error.message, data: error.data })
            }
            Ok(Reply::Unreadable(why)) => Err(CallError::Unreadable { why }),
            Ok(Reply::Failed(failure)) => Err(CallError::Http(failure)),
            Err(Ended::Known(error)) => Err(error),
            // How it ended is known a moment after its output did.
            Err(Ended::Closed) => Err(CallError::Closed { exit: self.closed().await }),
        }
    }

    async fn exchange(
        &self,
        method: &'static str,
        beside: Beside,
        mut answer: oneshot::Receiver<Reply>,
    ) -> Result<Reply, Ended> {
        let mut request = CustomRequest::new(method, None);
        request.extensions.insert(beside);
        let request = ClientRequest::CustomRequest(request);
        let mut meta = RequestMetaObject::default();
        if self.1 != self.0.greeting.revision
            && let Ok(version) = serde_json::from_value(json!(self.1))
        {
            meta.set_protocol_version(version);
        }
        self.ask_for_logs(&mut meta);
        let options = PeerRequestOptions::default().with_meta(meta);
        let sent = self.0.peer.send_cancellable_request(request, options).await;
        let told = match sent {
            Ok(mut handle) => tokio::select! {
                biased;
                Ok(reply) = &mut answer => {
                    // rmcp is told of the answer a moment later, and nobody need wait for that.
                    tokio::spawn(handle.rx);
                    return Ok(reply);
                }
                told = &mut handle.rx => told,
            },
            Err(_) => return Err(Ended::Closed),
        };
        // The answer is there before rmcp is told of it, even if rmcp ended in between.
        if let Ok(reply) = answer.try_recv() {
            return Ok(reply);
        }
        match told {
            Ok(Err(ServiceError::TransportSend(error))) => {
                Err(Ended::Known(CallError::Unwritable { why: error.error.to_string() }))
            }
            Ok(Ok(_) | Err(_)) | Err(_) => Err(Ended::Closed),
        }
    }
}

/// Why there is no reply.
enum Ended {
    Known(CallError),
    Closed,
}

/// Gives a request up when its future is dropped or ends without an answer. Does nothing after one.
struct Guard<'a> {
    beside: &'a Beside,
    wire: &'a Wire,
    reason: &'static str,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.beside.abandon(self.wire, self.reason);
    }
}

/// A stream to a server, and its process.
struct Link {
    wire: Arc<Wire>,
    answered: Answered,
    process: Option<Process>,
    mirrors: Option<Arc<Mirrors>>,
}

impl LinkEnd for Link {
    fn wire(&self) -> &Wire {
        &self.wire
    }

    async fn exit(&self) -> Exit {
        match &self.process {
            Some(process) => process.ended().await,
            None => Exit { status: "the stream ended".to_owned(), ..Exit::default() },
        }
    }

    fn stderr(&self) -> Vec<String> {
        self.process.as_ref().map(Process::stderr).unwrap_or_default()
    }
}

struct ProcessOpener<'a> {
    spec: &'a StdioSpec,
    path: SearchPath,
    events: EventSender,
    offers: Offers,
}

impl Opener for ProcessOpener<'_> {
    type Link = Link;

    async fn open(&mut self) -> Result<Link, ConnectError> {
        let closing = CancellationToken::new();
        let (process, stdout, stdin) =
            Process::start(self.spec, &self.path, self.events.clone(), closing.clone())?;
        let (wire, answered) = Wire::start(stdout, stdin, self.events.clone(), self.offers.clone(), closing);
        Ok(Link { wire, answered, process: Some(process), mirrors: None })
    }
}

struct HttpOpener<'a> {
    spec: &'a HttpSpec,
    options: &'a ConnectionOptions,
    events: EventSender,
}

impl Opener for HttpOpener<'_> {
    type Link = Link;

    async fn open(&mut self) -> Result<Link, ConnectError> {
        let mirrors = Arc::new(Mirrors::default());
        let (wire, answered) = http::start(
            self.spec,
            Arc::clone(&mirrors),
            self.options.authorization.clone(),
            self.events.clone(),
            self.options.offers.clone(),
            CancellationToken::new(),
        )?;
        Ok(Link { wire, answered, process: None, mirrors: Some(mirrors) })
    }
}

/// The deprecated transport of the same server.
struct EventsOpener<'a>(HttpOpener<'a>);

impl Opener for EventsOpener<'_> {
    type Link = Link;

    async fn open(&mut self) -> Result<Link, ConnectError> {
        let HttpOpener { spec, options, events } = &self.0;
        let (wire, answered) =
            http::events::start(spec, options, events.clone(), CancellationToken::new()).await?;
        Ok(Link { wire, answered, process: None, mirrors: None })
    }
}
