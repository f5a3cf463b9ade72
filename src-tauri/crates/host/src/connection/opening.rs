//! Finding the revision that both sides speak.
//!
//! 2026-07-28 basic/transports/stdio, "Backward Compatibility": `server/discover` first, with the newest revision; an error of the
//! modern era says which revision to use instead; anything else, and silence, means the handshake of 2025-11-25. Each step is told.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tokio::sync::oneshot;
use usher_protocol::{
    RawJson, Revision,
    jsonrpc::{ErrorObject, Message},
};

use super::{
    error::{ConnectError, HttpFailure},
    event::{EventSender, Exit},
    spec::{ConnectionOptions, Remembered},
    wire::{Reply, Wire},
};

/// What a server said of itself when the connection was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    /// The revision that the connection speaks.
    pub revision: Revision,
    /// The revisions that the server named and Usher speaks, oldest first.
    pub supported: Vec<Revision>,
    /// What the server calls itself. For display only (2026-07-28 basic, "_meta").
    pub server_name: Option<String>,
    /// Its version. For display only.
    pub server_version: Option<String>,
    /// What it says about its use. Untrusted.
    pub instructions: Option<String>,
    /// Its capabilities, an object, as they came.
    pub capabilities: RawJson,
    /// Give this to [`ConnectionOptions::remembered`] next time; set when that spares a question, a wait or a start in vain.
    pub remember: Option<Remembered>,
    /// How the revision was found, one sentence a step.
    pub steps: Vec<String>,
}

impl Greeting {
    /// Whether the server advertises an extension.
    pub fn has_extension(&self, id: &str) -> bool {
        #[derive(Deserialize)]
        struct Capabilities {
            #[serde(default)]
            extensions: std::collections::BTreeMap<String, RawJson>,
        }
        self.capabilities.to::<Capabilities>().is_ok_and(|it| it.extensions.contains_key(id))
    }

    /// Whether the server advertises a core capability, such as `resources`.
    pub fn has_capability(&self, name: &str) -> bool {
        self.capabilities
            .to::<std::collections::BTreeMap<String, RawJson>>()
            .is_ok_and(|it| it.contains_key(name))
    }
}

/// The first revision, which servers over HTTP with SSE often still speak.
const OLDEST: &str = "2024-11-05";

/// A fresh stream to the server, for each attempt.
pub(super) trait Opener: Send {
    /// What an attempt holds beside its wire, such as a process.
    type Link: LinkEnd;

    /// Starts the server anew.
    fn open(&mut self) -> impl Future<Output = Result<Self::Link, ConnectError>> + Send;
}

/// One attempt's stream.
pub(super) trait LinkEnd: Send {
    fn wire(&self) -> &Wire;
    /// Waits a moment for the end of the server and says how it was.
    fn exit(&self) -> impl Future<Output = Exit> + Send;
    /// The last lines of stderr.
    fn stderr(&self) -> Vec<String>;
}

fn silent<L: LinkEnd>(link: &L, seconds: u64) -> ConnectError {
    ConnectError::Silent { seconds, stderr: link.stderr(), printed: link.wire().noise_head() }
}

async fn exited<L: LinkEnd>(link: &L) -> ConnectError {
    ConnectError::ExitedAtStart { exit: link.exit().await, printed: link.wire().noise_head() }
}

/// How a probe ended.
enum Probe {
    Modern(Box<Greeting>),
    /// The handshake is to be tried on the same stream.
    Legacy,
    /// Nothing came; the answer may still come.
    Silent(oneshot::Receiver<Reply>),
    /// The stream ended.
    Gone,
}

/// Finds the revision. Gives the stream that speaks it.
pub(super) async fn open<O: Opener>(
    opener: &mut O,
    options: &ConnectionOptions,
    events: &EventSender,
) -> Result<(O::Link, Greeting), ConnectError> {
    let mut opening = Opening { options, events, steps: Vec::new(), refused: false };
    if let Some(pinned) = options.pinned {
        return opening.pinned(opener, pinned).await;
    }
    let mut link = opener.open().await?;
    let remembered = options.remembered.as_ref().filter(|it| it.revision.has_handshake());
    if let Some(Remembered { revision, .. }) = remembered {
        let text = format!("Last time the server spoke {revision}, so the handshake comes first.");
        opening.step(Some(*revision), false, text);
    } else if options.newest.has_handshake() {
        opening.step(
            Some(options.newest),
            false,
            format!("Nothing newer than {} is wanted, so the handshake comes first.", options.newest),
        );
    } else {
        match opening.probe(link.wire()).await? {
            Probe::Modern(greeting) => return Ok((link, opening.settle(*greeting))),
            Probe::Gone => {
                let exit = link.exit().await;
                opening.step(None, true, format!("The server ended when it was asked server/discover ({}); it is started again with the handshake.", exit.status));
                link = opener.open().await?;
            }
            probe @ (Probe::Legacy | Probe::Silent(_)) => {
                let late = if let Probe::Silent(late) = probe { Some(late) } else { None };
                match opening.handshake(&link, late).await {
                    Ok(greeting) => return Ok((link, opening.settle(greeting))),
                    Err(error @ (ConnectError::NoCommonRevision { .. } | ConnectError::Refused { .. })) => {
                        return Err(error);
                    }
                    Err(error) => {
                        let text = format!(
                            "The handshake failed after the probe ({error}); the server is started again and not probed."
                        );
                        opening.step(None, true, text);
                        drop(link);
                        link = opener.open().await?;
                    }
                }
            }
        }
    }
    match opening.handshake(&link, None).await {
        Ok(greeting) => Ok((link, opening.settle(greeting))),
        Err(error) if remembered.is_some() && !options.newest.has_handshake() => {
            opening.step(
                None,
                false,
                format!("The handshake failed ({error}); perhaps the server was updated, so it is probed."),
            );
            drop(link);
            let link = opener.open().await?;
            match opening.probe(link.wire()).await? {
                Probe::Modern(greeting) => Ok((link, opening.settle(*greeting))),
                Probe::Legacy | Probe::Silent(_) | Probe::Gone => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}

struct Opening<'a> {
    options: &'a ConnectionOptions,
    events: &'a EventSender,
    steps: Vec<String>,
    /// Whether the server refused a revision without a handshake that it was asked under.
    refused: bool,
}

impl Opening<'_> {
    fn step(&mut self, revision: Option<Revision>, fallback: bool, text: String) {
        self.steps.push(text.clone());
        self.events.step(revision, fallback, text);
    }

    fn unreachable(failure: HttpFailure) -> ConnectError {
        ConnectError::Http { failure }
    }

    /// The newest revision that may be spoken.
    fn newest(&self) -> Revision {
        self.options.pinned.unwrap_or(self.options.newest)
    }

    /// The revisions without a handshake that may be spoken, newest first.
    fn offers(&self) -> Vec<Revision> {
        let is_offered = |it: &Revision| match self.options.pinned {
            Some(pinned) => *it == pinned,
            None => it.has_request_meta() && *it <= self.options.newest,
        };
        Revision::ALL.into_iter().rev().filter(is_offered).collect()
    }

    /// Speaks one revision, or none.
    async fn pinned<O: Opener>(
        &mut self,
        opener: &mut O,
        pinned: Revision,
    ) -> Result<(O::Link, Greeting), ConnectError> {
        self.step(Some(pinned), false, format!("{pinned} was chosen for this server; no other is tried."));
        let link = opener.open().await?;
        let other = |spoken: Vec<String>| ConnectError::OtherRevision { pinned, spoken };
        if pinned.has_handshake() {
            let greeting = self.handshake(&link, None).await?;
            return if greeting.revision == pinned {
                Ok((link, self.settle(greeting)))
            } else {
                Err(other(vec![greeting.revision.to_string()]))
            };
        }
        let probe = match self.probe(link.wire()).await {
            // There is nothing else to try, so the answer gets the time that a start takes.
            Ok(Probe::Silent(late)) => {
                let limit = self.options.handshake_timeout;
                match tokio::time::timeout(limit, late).await {
                    Ok(Ok(Reply::Result(result))) => self.discovered_late(&result),
                    Ok(Ok(_)) => Ok(Probe::Legacy),
                    Ok(Err(_)) => Ok(Probe::Gone),
                    Err(_) => {
                        return Err(silent(&link, limit.as_secs()));
                    }
                }
            }
            probe => probe,
        };
        match probe {
            Ok(Probe::Modern(greeting)) => Ok((link, self.settle(*greeting))),
            Ok(Probe::Gone) => Err(exited(&link).await),
            Ok(Probe::Legacy | Probe::Silent(_)) => Err(other(Vec::new())),
            Err(ConnectError::NoCommonRevision { supported }) => Err(other(supported)),
            Err(error) => Err(error),
        }
    }

    /// What the next start may begin with: the way that this one ended with, where that was not the first one.
    fn remember(&mut self, greeting: &Greeting) -> Option<Remembered> {
        if self.options.pinned.is_some() || self.offers().first().is_none_or(|it| *it == greeting.revision) {
            return None;
        }
        let was_spared = self.options.remembered.as_ref().is_some_and(|it| it.revision == greeting.revision);
        if !greeting.revision.has_handshake() && !self.refused && !was_spared {
            return None;
        }
        let server = greeting.server_name.as_ref().map(|name| {
            format!("{name} {}", greeting.server_version.as_deref().unwrap_or_default()).trim().to_owned()
        });
        let before = self.options.remembered.as_ref().filter(|it| it.revision.has_handshake());
        if let Some(before) = before
            && before.server.is_some()
            && before.server != server
        {
            let name = |it: &Option<String>| it.clone().unwrap_or_else(|| "nameless".to_owned());
            let text = format!(
                "Last time it was {}, now it is {}; the next start asks again what it speaks.",
                name(&before.server),
                name(&server)
            );
            self.step(None, false, text);
            return None;
        }
        Some(Remembered { revision: greeting.revision, server })
    }

    fn settle(&mut self, mut greeting: Greeting) -> Greeting {
        greeting.remember = self.remember(&greeting);
        let name = greeting.server_name.as_deref().unwrap_or("The server");
        self.step(Some(greeting.revision), false, format!("{name} speaks {}.", greeting.revision));
        greeting.steps = std::mem::take(&mut self.steps);
        greeting
    }

    /// Asks `server/discover` under each revision of the modern era until one is settled.
    async fn probe(&mut self, wire: &Wire) -> Result<Probe, ConnectError> {
        let offers = self.offers();
        let mut left = offers.clone();
        let mut next = left.first().copied();
        // The answer names every revision, so that beginning with an earlier one misses none.
        if let Some(before) =
            self.options.remembered.as_ref().map(|it| it.revision).filter(|it| left.contains(it))
        {
            if next != Some(before) {
                self.step(
                    Some(before),
                    false,
                    format!("Last time the server spoke {before}, so it comes first."),
                );
            }
            next = Some(before);
        }
        while let Some(revision) = next {
            left.retain(|it| *it != revision);
            self.step(Some(revision), false, format!("Asked server/discover under {revision}."));
            let params = json!({"_meta": self.options.request_meta(revision)});
            let (_, mut answer) = wire.request("server/discover", params.into()).await;
            let Ok(reply) = tokio::time::timeout(self.options.probe_timeout, &mut answer).await else {
                let seconds = text_of(self.options.probe_timeout);
                self.step(None, true, format!("No answer within {seconds} s; trying the handshake as well."));
                return Ok(Probe::Silent(answer));
            };
            match reply {
                Err(_) => return Ok(Probe::Gone),
                Ok(Reply::Result(result)) => return self.discovered(&offers, &result),
                Ok(Reply::Unreadable(_)) if wire.echoes() => return Err(ConnectError::Echo),
                Ok(Reply::Unreadable(why)) => {
                    self.step(
                        None,
                        true,
                        format!(
                            "The answer to server/discover cannot be read ({why}); trying the handshake."
                        ),
                    );
                    return Ok(Probe::Legacy);
                }
                Ok(Reply::Error(error)) if error.code == ErrorObject::UNSUPPORTED_REVISION => {
                    self.refused = true;
                    let supported = supported(&error);
                    next = match &supported {
                        // Not said which, so the others are tried.
                        None => left.first().copied(),
                        Some(names) => {
                            left.iter().copied().find(|it| names.iter().any(|name| name == it.as_str()))
                        }
                    };
                    let names = supported.unwrap_or_default();
                    self.step(
                        next,
                        true,
                        format!("The server does not speak {revision}; it speaks {}.", join(&names)),
                    );
                    if next.is_none() {
                        return if speaks_handshake(&names) {
                            Ok(Probe::Legacy)
                        } else {
                            Err(ConnectError::NoCommonRevision { supported: names })
                        };
                    }
                }
                Ok(Reply::Failed(failure)) => {
                    if refuses_all(&failure) {
                        return Err(Self::unreachable(failure));
                    }
                    self.step(
                        None,
                        true,
                        format!("No answer to server/discover ({failure}); trying the handshake."),
                    );
                    return Ok(Probe::Legacy);
                }
                // Recognised errors of the modern era are no sign of an old server.
                Ok(Reply::Error(error)) if matches!(error.code, -32021 | -32020) => {
                    return Err(refused("server/discover", error));
                }
                Ok(Reply::Error(error)) => {
                    self.step(
                        None,
                        true,
                        format!("The server does not know server/discover ({error}); trying the handshake."),
                    );
                    return Ok(Probe::Legacy);
                }
            }
        }
        Ok(Probe::Legacy)
    }

    fn discovered(&mut self, offers: &[Revision], result: &RawJson) -> Result<Probe, ConnectError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Wire {
            supported_versions: Vec<String>,
            #[serde(default)]
            capabilities: Option<RawJson>,
            #[serde(default)]
            instructions: Option<String>,
            #[serde(default)]
            server_info: Option<Implementation>,
            #[serde(rename = "_meta", default)]
            meta: Option<Meta>,
        }
        #[derive(Deserialize)]
        struct Meta {
            #[serde(rename = "io.modelcontextprotocol/serverInfo", default)]
            server_info: Option<Implementation>,
        }
        let wire: Wire = match result.to() {
            Ok(wire) => wire,
            Err(error) => {
                self.step(
                    None,
                    true,
                    format!("The answer to server/discover is not one ({error}); trying the handshake."),
                );
                return Ok(Probe::Legacy);
            }
        };
        let named = |it: &Revision| wire.supported_versions.iter().any(|name| name == it.as_str());
        let Some(revision) = offers.iter().copied().find(named) else {
            if speaks_handshake(&wire.supported_versions) {
                let text =
                    format!("The server speaks {}; trying the handshake.", join(&wire.supported_versions));
                self.step(None, true, text);
                return Ok(Probe::Legacy);
            }
            return Err(ConnectError::NoCommonRevision { supported: wire.supported_versions });
        };
        let server = wire.meta.and_then(|it| it.server_info).or(wire.server_info).unwrap_or_default();
        let supported = Revision::ALL.into_iter().filter(named).collect();
        let greeting = greeting(revision, server, wire.instructions, wire.capabilities);
        Ok(Probe::Modern(Box::new(Greeting { supported, ..greeting })))
    }

    /// The handshake. A late answer to the probe settles it too: both were asked, and the first good answer counts.
    async fn handshake<L: LinkEnd>(
        &mut self,
        link: &L,
        late: Option<oneshot::Receiver<Reply>>,
    ) -> Result<Greeting, ConnectError> {
        let newest = self.newest().min(Revision::NEWEST_WITH_HANDSHAKE);
        self.step(Some(newest), false, format!("Sent initialize, offering {newest}."));
        let params = json!({
            "protocolVersion": newest,
            "capabilities": self.options.client_capabilities(newest),
            "clientInfo": self.options.client_info(),
        });
        let (_, answer) = link.wire().request("initialize", params.into()).await;
        let deadline = tokio::time::sleep(self.options.handshake_timeout);
        tokio::pin!(deadline, answer);
        let mut late = late;
        let reply = loop {
            tokio::select! {
                reply = &mut answer => break reply,
                reply = wait(&mut late), if late.is_some() => {
                    late = None;
                    if let Ok(Reply::Result(result)) = reply
                        && let Probe::Modern(greeting) = self.discovered_late(&result)? {
                        return Ok(*greeting);
                    }
                }
                () = &mut deadline => {
                    let seconds = self.options.handshake_timeout.as_secs();
                    return Err(silent(link, seconds));
                }
            }
        };
        match reply {
            Ok(Reply::Result(result)) => self.initialized(link.wire(), &result).await,
            Ok(Reply::Error(error)) => Err(refused("initialize", error)),
            Ok(Reply::Failed(failure)) => Err(Self::unreachable(failure)),
            Ok(Reply::Unreadable(_)) if link.wire().echoes() => Err(ConnectError::Echo),
            Ok(Reply::Unreadable(why)) => Err(ConnectError::BadGreeting { method: "initialize", why }),
            Err(_) => Err(exited(link).await),
        }
    }

    fn discovered_late(&mut self, result: &RawJson) -> Result<Probe, ConnectError> {
        let offers = self.offers();
        self.step(None, false, "The answer to server/discover came late.".to_owned());
        self.discovered(&offers, result)
    }

    async fn initialized(&mut self, wire: &Wire, result: &RawJson) -> Result<Greeting, ConnectError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Answer {
            protocol_version: String,
            #[serde(default)]
            capabilities: Option<RawJson>,
            #[serde(default)]
            server_info: Option<Implementation>,
            #[serde(default)]
            instructions: Option<String>,
        }
        let answer: Answer = result
            .to()
            .map_err(|error| ConnectError::BadGreeting { method: "initialize", why: error.to_string() })?;
        let mut revision: Option<Revision> = answer.protocol_version.parse().ok();
        if answer.protocol_version == OLDEST {
            // It has nothing that 2025-03-26 reads otherwise.
            revision = Some(Revision::V2025_03_26);
            let text = format!("The server speaks {OLDEST}, which is read as {}.", Revision::V2025_03_26);
            self.step(revision, true, text);
        }
        let Some(revision) = revision.filter(|it| it.has_handshake()) else {
            return Err(ConnectError::NoCommonRevision { supported: vec![answer.protocol_version] });
        };
        if revision < self.newest().min(Revision::NEWEST_WITH_HANDSHAKE) {
            self.step(Some(revision), true, format!("The server answered initialize with {revision}."));
        }
        wire.send(Message::Notification { method: "notifications/initialized".to_owned(), params: None })
            .await;
        let server = answer.server_info.unwrap_or_default();
        Ok(greeting(revision, server, answer.instructions, answer.capabilities))
    }
}

/// Whether a failure would meet the handshake as well, so that trying it says nothing new.
fn refuses_all(failure: &HttpFailure) -> bool {
    matches!(failure.status, None | Some(401 | 403 | 429 | 500..))
}

async fn wait(late: &mut Option<oneshot::Receiver<Reply>>) -> Result<Reply, oneshot::error::RecvError> {
    match late {
        Some(answer) => answer.await,
        None => std::future::pending().await,
    }
}

#[derive(Deserialize, Default)]
struct Implementation {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    version: Option<String>,
}

fn greeting(
    revision: Revision,
    server: Implementation,
    instructions: Option<String>,
    capabilities: Option<RawJson>,
) -> Greeting {
    Greeting {
        revision,
        supported: vec![revision],
        server_name: server.name,
        server_version: server.version,
        instructions,
        capabilities: capabilities.filter(RawJson::is_object).unwrap_or_else(|| json!({}).into()),
        remember: None,
        steps: Vec::new(),
    }
}

fn supported(error: &ErrorObject) -> Option<Vec<String>> {
    #[derive(Deserialize)]
    struct Data {
        supported: Vec<String>,
    }
    error.data.as_ref()?.to::<Data>().ok().map(|it| it.supported)
}

fn speaks_handshake(names: &[String]) -> bool {
    Revision::ALL.into_iter().any(|it| it.has_handshake() && names.iter().any(|name| name == it.as_str()))
}

fn refused(method: &'static str, error: ErrorObject) -> ConnectError {
    ConnectError::Refused { method, code: error.code, message: error.message }
}

fn join(names: &[String]) -> String {
    if names.is_empty() { "revisions that it does not name".to_owned() } else { names.join(", ") }
}

fn text_of(duration: Duration) -> String {
    format!("{:.1}", duration.as_secs_f64())
}
