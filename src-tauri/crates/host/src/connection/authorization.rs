//! Who asks: signing in at servers that want to know (2026-07-28 basic/authorization, and its forms since 2025-03-26).
//!
//! rmcp speaks OAuth; this module decides. It refuses what the specification says to refuse and rmcp lets pass, keeps what was handed out
//! under the authorization server that it came from, renews it, and sees to it that of many requests that are refused one leads to a
//! sign-in and the others wait for it. Deliberately absent: the window in which the person agrees, and the place where credentials are
//! kept; both are given ([`Browser`], [`CredentialKeeper`]).

mod error;
mod kept;
mod redirect;
mod sign_in;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use futures::{
    FutureExt as _,
    future::{BoxFuture, Shared, WeakShared},
};
use rmcp::transport::auth::WWWAuthenticateParams;
use tokio::sync::{OnceCell, watch};
use url::Url;

pub use self::{
    error::AuthorizationError,
    kept::{CredentialKeeper, SecretText},
};
use self::{
    kept::{Kept, Tokens},
    sign_in::Prepared,
};
use super::{error::HttpFailure, event::EventSender};

/// How often one request may lead to a sign-in for more scopes (2026-07-28 basic/authorization, "Step-Up Authorization Flow").
const MAX_STEP_UPS: u32 = 2;
/// How often one request is made at most.
const MAX_TRIES: u32 = 6;

/// How the host signs in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorizationSettings {
    /// What the host is called where it registers (RFC 7591).
    pub client_name: String,
    /// A client that somebody registered before, and gave for this server.
    pub client: Option<GivenClient>,
    /// Where the host's own description is published, which is then its identifier (Client ID Metadata Documents).
    pub client_metadata_url: Option<String>,
    /// Where the browser comes back to.
    pub redirect: Redirect,
    /// What is asked for if the server does not say what it wants.
    pub scopes: Vec<String>,
    /// Whether an authorization server may live at a private address although the server's own address does not show that it does.
    pub private_network: bool,
    /// How long the person may take.
    pub patience: Duration,
    /// Whether only a sign-in that there is may be used and renewed. Nobody is sent anywhere then, and the host does not register.
    pub begins_none: bool,
}

impl Default for AuthorizationSettings {
    fn default() -> Self {
        Self {
            client_name: "Usher".to_owned(),
            client: None,
            client_metadata_url: None,
            redirect: Redirect::AnyPort,
            scopes: Vec::new(),
            private_network: false,
            patience: Duration::from_mins(10),
            begins_none: false,
        }
    }
}

/// A client that was registered by hand. It is never shown to another authorization server than its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenClient {
    /// Its identifier.
    pub client_id: String,
    /// Its secret, if it has one.
    pub client_secret: Option<SecretText>,
    /// The authorization server that knows it. If absent, the first one that it is used at.
    pub issuer: Option<String>,
}

/// Where the browser comes back to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Redirect {
    /// A port of this computer that is free; the same one as last time if that is possible.
    AnyPort,
    /// This port of this computer.
    Port(u16),
    /// This address. Then [`Browser::open_browser`] has to say where the browser was sent.
    Elsewhere(String),
}

/// A visit of the person's browser to an authorization server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visit {
    /// The address of the server that is signed in for.
    pub server: String,
    /// Who signs the person in. Untrusted: the server names it.
    pub issuer: String,
    /// The whole address that is to be opened. To be shown before anything is opened.
    pub url: String,
    /// What is asked for.
    pub scopes: Vec<String>,
    /// Whether the server published nothing about signing in, so that the addresses are those that 2025-03-26 has for that case.
    pub guessed: bool,
    /// Whether the person is signed in already, and the server wants more.
    pub step_up: bool,
}

/// Whoever sits in front of the browser.
pub trait Browser: Send + Sync {
    /// Asks the person whether a page may be opened, showing which server wants it, who signs in, and the whole address. Dropping the
    /// future withdraws the question.
    fn may_open<'a>(&'a self, visit: &'a Visit) -> BoxFuture<'a, bool>;

    /// Opens an address, which the person has agreed to.
    ///
    /// # Errors
    /// It cannot be opened; says why.
    fn open_browser<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Visited, String>>;
}

/// What is known of a page that was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Visited {
    /// The browser goes its own way, and comes back to the host's port.
    Outside,
    /// This is the address that it was sent to, such as one that the person copied from a browser on another computer.
    RedirectedTo(String),
}

/// The host's standing at one server: what it was handed out, and how it gets it. Cheap to clone; all clones share one sign-in.
#[derive(Clone)]
pub struct Authorization(Arc<Inner>);

struct Inner {
    server: Url,
    settings: AuthorizationSettings,
    kept: Kept,
    browser: Arc<dyn Browser>,
    /// Counts what was handed out.
    generation: watch::Sender<u64>,
    held: Mutex<Held>,
    /// What is kept was read, or why not.
    loaded: OnceCell<Result<(), String>>,
    prepared: tokio::sync::Mutex<Option<Prepared>>,
}

type Running<T> = Shared<BoxFuture<'static, T>>;

#[derive(Default)]
struct Held {
    current: Option<Current>,
    /// Where the current token came from, if the server has not accepted it yet.
    untested: Option<Origin>,
    signing_in: Option<WeakShared<BoxFuture<'static, Result<(), AuthorizationError>>>>,
    renewing: Option<WeakShared<BoxFuture<'static, Result<bool, AuthorizationError>>>>,
}

#[derive(Clone)]
struct Current {
    issuer: String,
    tokens: Tokens,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    SignIn,
    Renewal,
}

/// What a server that refused wants.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Demand {
    challenge: Option<String>,
    /// What is missing, if the server knows who asks and wants more.
    step_up: Option<Vec<String>>,
}

impl Authorization {
    /// Nothing happens before a server refuses, but for what is kept being used.
    ///
    /// # Errors
    /// The server's address is none.
    pub fn new(
        server: &str,
        settings: AuthorizationSettings,
        keeper: Arc<dyn CredentialKeeper>,
        browser: Arc<dyn Browser>,
    ) -> Result<Self, url::ParseError> {
        let mut server = Url::parse(server)?;
        server.set_fragment(None);
        // A user name in the address is a credential, and no part of what the server is called.
        let _has_none = server.set_username("").and_then(|()| server.set_password(None));
        let kept = Kept::new(keeper, server.to_string());
        Ok(Self(Arc::new(Inner {
            server,
            settings,
            kept,
            browser,
            generation: watch::Sender::new(0),
            held: Mutex::default(),
            loaded: OnceCell::new(),
            prepared: tokio::sync::Mutex::default(),
        })))
    }

    /// The authorization server that the person is signed in at.
    pub async fn signed_in_at(&self) -> Option<String> {
        self.0.load().await;
        let held = self.0.held();
        held.current.as_ref().filter(|it| it.tokens.access_token.is_some()).map(|it| it.issuer.clone())
    }

    /// The same, as far as it was read already.
    pub fn known_issuer(&self) -> Option<String> {
        let held = self.0.held();
        held.current.as_ref().filter(|it| it.tokens.access_token.is_some()).map(|it| it.issuer.clone())
    }

    /// Whether a sign-in is under way.
    pub fn is_signing_in(&self) -> bool {
        self.0.held().signing_in.as_ref().and_then(WeakShared::upgrade).is_some()
    }

    /// Forgets what was handed out, and that the host was registered. The authorization server is not told.
    ///
    /// # Errors
    /// It cannot be taken from where it is kept.
    pub async fn sign_out(&self) -> Result<(), String> {
        self.0.load().await;
        let current = {
            let mut held = self.0.held();
            // What comes next is not what the server refused.
            held.untested = None;
            held.current.take()
        };
        *self.0.prepared.lock().await = None;
        self.0.generation.send_modify(|it| *it += 1);
        match current {
            Some(current) => self.0.kept.forget(&current.issuer).await,
            None => Ok(()),
        }
    }

    /// The token that a request carries now. Renews one that is at its end.
    pub(super) async fn bearer(&self) -> Option<String> {
        self.0.load().await;
        let stale = self.0.held().current.as_ref().is_some_and(|it| {
            it.tokens.access_token.is_some() && it.tokens.refresh_token.is_some() && it.tokens.is_stale(now())
        });
        if stale {
            // If it fails, the server says what it thinks of the old one.
            let _failed = self.0.renewed().await;
        }
        let held = self.0.held();
        held.current.as_ref()?.tokens.access_token.as_ref().map(|it| it.reveal().to_owned())
    }

    /// Notes that the server took a request.
    pub(super) fn accepted(&self) {
        self.0.held().untested = None;
    }

    /// How often something was handed out until now.
    pub(super) fn generation(&self) -> u64 {
        *self.0.generation.borrow()
    }

    /// Waits until something else was handed out.
    pub(super) async fn changed_since(&self, generation: u64) {
        let mut changes = self.0.generation.subscribe();
        let _gone = changes.wait_for(|it| *it > generation).await;
    }

    /// Takes what is secret out of a text that somebody else wrote.
    pub(super) fn scrubbed(&self, text: String) -> String {
        let held = self.0.held();
        let Some(tokens) = held.current.as_ref().map(|it| &it.tokens) else { return text };
        [&tokens.access_token, &tokens.refresh_token]
            .into_iter()
            .flatten()
            .filter(|it| !it.reveal().is_empty())
            .fold(text, |text, it| text.replace(it.reveal(), "[secret]"))
    }

    fn demand(&self, failure: &HttpFailure) -> Option<Demand> {
        let challenge = failure.challenge.clone().filter(|it| !it.is_empty());
        match failure.status {
            Some(401) => Some(Demand { challenge, step_up: None }),
            Some(403) => {
                let read = WWWAuthenticateParams::parse(challenge.as_deref()?, &self.0.server);
                let wanted = || read.scope.iter().flat_map(|it| it.split_whitespace()).map(str::to_owned);
                read.is_insufficient_scope().then(|| Demand { challenge, step_up: Some(wanted().collect()) })
            }
            _ => None,
        }
    }

    /// Signs in, or waits for whoever does.
    async fn sign_in(&self, demand: Demand, events: &EventSender) -> Result<(), AuthorizationError> {
        let running: Running<_> = {
            let mut held = self.0.held();
            match held.signing_in.as_ref().and_then(WeakShared::upgrade) {
                Some(running) => running,
                None => {
                    let running =
                        sign_in::sign_in(Arc::clone(&self.0), demand, events.clone()).boxed().shared();
                    held.signing_in = running.downgrade();
                    running
                }
            }
        };
        running.await
    }
}

impl fmt::Debug for Authorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorization").field("server", &self.0.server.as_str()).finish_non_exhaustive()
    }
}

impl Inner {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what is kept, once.
    async fn load(&self) {
        self.loaded
            .get_or_init(|| async {
                let Some(issuer) = self.kept.current_issuer().await? else { return Ok(()) };
                if let Some(tokens) = self.kept.tokens(&issuer).await? {
                    self.held().current = Some(Current { issuer, tokens });
                }
                Ok(())
            })
            .await;
    }

    /// Renews what was handed out, or waits for whoever does. Tells whether there is something new.
    async fn renewed(self: &Arc<Self>) -> Result<bool, AuthorizationError> {
        let running: Running<_> = {
            let mut held = self.held();
            match held.renewing.as_ref().and_then(WeakShared::upgrade) {
                Some(running) => running,
                None => {
                    let running = sign_in::renewed(Arc::clone(self)).boxed().shared();
                    held.renewing = running.downgrade();
                    running
                }
            }
        };
        running.await
    }

    /// Puts into use what was handed out.
    fn install(&self, current: Current, origin: Origin) {
        let mut held = self.held();
        held.current = Some(current);
        held.untested = Some(origin);
        drop(held);
        self.generation.send_modify(|it| *it += 1);
    }
}

/// The tries of one request.
pub(super) struct Tries<'a> {
    authorization: Option<&'a Authorization>,
    events: &'a EventSender,
    /// What was handed out when the request was last made.
    seen: u64,
    tries: u32,
    step_ups: u32,
}

impl<'a> Tries<'a> {
    pub(super) fn new(authorization: Option<&'a Authorization>, events: &'a EventSender) -> Self {
        Self { authorization, events, seen: 0, tries: 0, step_ups: 0 }
    }

    /// To be said before each try.
    pub(super) fn begin(&mut self) {
        self.tries += 1;
        self.seen = self.authorization.map_or(0, Authorization::generation);
    }

    /// Does what a refusal asks for. Tells whether it is worth trying again; if not, the refusal is about something else.
    pub(super) async fn again(&mut self, failure: &HttpFailure) -> Result<bool, AuthorizationError> {
        let Some(authorization) = self.authorization else { return Ok(false) };
        let Some(demand) = authorization.demand(failure) else { return Ok(false) };
        let scopes = demand.step_up.clone().unwrap_or_default();
        if self.tries >= MAX_TRIES {
            return Err(AuthorizationError::StillRefused { scopes });
        }
        // Somebody else signed in while this request was under way.
        if authorization.generation() > self.seen {
            return Ok(true);
        }
        if demand.step_up.is_some() {
            self.step_ups += 1;
            if self.step_ups > MAX_STEP_UPS {
                return Err(AuthorizationError::StillRefused { scopes });
            }
        }
        authorization.sign_in(demand, self.events).await.map(|()| true)
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
