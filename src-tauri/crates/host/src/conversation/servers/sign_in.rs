//! Signing in at servers over HTTP: the person is asked where they sit, and what is handed out is kept among the secrets.
//!
//! Deliberately absent: OAuth, which the connection speaks, and opening a browser, which the answer to the question does.

use std::sync::{Arc, Mutex, Weak};

use futures::future::BoxFuture;

use super::{Server, StoredLaunch, StoredSpec};
use crate::{
    connection::{
        Authorization, AuthorizationSettings, Browser, CredentialKeeper, NotLaunched, ServerSpec, Visit,
        Visited,
    },
    conversation::{Host, HostError, HostEvent, Inner, lock},
    store::Store,
};

/// How the host stands at one server.
#[derive(Default)]
pub(super) struct Standing {
    /// With the address that it is for.
    authorization: Option<(String, Authorization)>,
    /// The person signed out, and has not signed in since.
    signed_out: bool,
}

/// The same, shared by the server and by what starts it.
pub(super) type SharedStanding = Arc<Mutex<Standing>>;

impl Standing {
    pub(super) fn authorization(&self) -> Option<Authorization> {
        self.authorization.as_ref().map(|it| it.1.clone())
    }
}

/// Keeps credentials among the secrets.
pub(super) struct Keeper(pub(super) Store);

impl CredentialKeeper for Keeper {
    fn credential(&self, name: &str) -> Result<Option<String>, String> {
        self.0.secrets().read(name)
    }

    fn keep_credential(&self, name: &str, value: Option<&str>) -> Result<(), String> {
        self.0.secrets().set(name, value).map_err(|error| error.to_string())
    }
}

/// The person, asked as servers ask them.
struct Person {
    host: Weak<Inner>,
    server_id: String,
    server_name: String,
}

impl Browser for Person {
    fn may_open<'a>(&'a self, visit: &'a Visit) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let Some(host) = self.host.upgrade().map(Host) else { return false };
            host.may_visit(&self.server_id, &self.server_name, reason(visit), &visit.url).await
        })
    }

    fn open_browser<'a>(&'a self, _url: &'a str) -> BoxFuture<'a, Result<Visited, String>> {
        // The answer to the question has opened it.
        Box::pin(async { Ok(Visited::Outside) })
    }
}

/// Why the person is sent there. The names are the server's own; the dialog says so.
fn reason(visit: &Visit) -> String {
    let mut text = if visit.step_up {
        format!(
            "{} wants more than you granted it. You would sign in again at {}.",
            visit.server, visit.issuer
        )
    } else {
        format!("{} wants to know who you are. You would sign in at {}.", visit.server, visit.issuer)
    };
    if !visit.scopes.is_empty() {
        text += &format!(" Usher asks there for: {}.", visit.scopes.join(", "));
    }
    if visit.guessed {
        text += " The server says nothing about where people sign in, so this is the usual place.";
    }
    text
}

impl Host {
    /// How the host stands at an address. One standing serves all lives of the server.
    pub(super) fn authorization_at(
        &self,
        standing: &SharedStanding,
        (id, name): (&str, &str),
        url: &str,
    ) -> Result<Authorization, NotLaunched> {
        let mut standing = lock(standing);
        if standing.signed_out {
            return Err(NotLaunched {
                what: format!("You are signed out of {name}"),
                todo: "Sign in to use it again.".to_owned(),
            });
        }
        if let Some((_, authorization)) = standing.authorization.as_ref().filter(|it| it.0 == url) {
            return Ok(authorization.clone());
        }
        let person =
            Person { host: Arc::downgrade(&self.0), server_id: id.to_owned(), server_name: name.to_owned() };
        let keeper = Arc::new(Keeper(self.store().clone()));
        let settings = AuthorizationSettings::default();
        let authorization =
            Authorization::new(url, settings, keeper, Arc::new(person)).map_err(|error| NotLaunched {
                what: format!("{name} was not started: its address is none ({error})"),
                todo: "Correct the address of the server.".to_owned(),
            })?;
        standing.authorization = Some((url.to_owned(), authorization.clone()));
        Ok(authorization)
    }

    /// Begins the sign-in at a server, or repeats it: what was handed out is forgotten, and the connection is opened anew.
    ///
    /// # Errors
    /// There is no such server, or it is none over HTTP.
    pub async fn sign_in(&self, id: &str) -> Result<(), HostError> {
        let server = self.server(id).ok_or_else(|| HostError::unknown("server"))?;
        self.forget_sign_in(&server).await?;
        lock(&server.standing).signed_out = false;
        server.supervisor.restart();
        Ok(())
    }

    /// Forgets what a sign-in brought, and leaves the server alone until somebody signs in again.
    ///
    /// # Errors
    /// There is no such server, it is none over HTTP, or the credentials cannot be taken from where they are kept.
    pub async fn sign_out(&self, id: &str) -> Result<(), HostError> {
        let server = self.server(id).ok_or_else(|| HostError::unknown("server"))?;
        self.forget_sign_in(&server).await?;
        lock(&server.standing).signed_out = true;
        server.supervisor.restart();
        self.tell(HostEvent::Server(Box::new(server.status())));
        Ok(())
    }

    /// How the host stands at a server over HTTP, also if it was never started in this run: what an earlier run kept is still there.
    pub(super) async fn authorization_of(
        &self,
        server: &Server,
        spec: &StoredSpec,
    ) -> Result<Option<Authorization>, NotLaunched> {
        let StoredLaunch::Http { .. } = &spec.launch else { return Ok(None) };
        let known = lock(&server.standing).authorization();
        if known.is_some() {
            return Ok(known);
        }
        let ServerSpec::Http(http) = self.filled(&server.id, &server.name, spec).await?.spec else {
            return Ok(None);
        };
        let fresh = SharedStanding::default();
        self.authorization_at(&fresh, (&server.id, &server.name), &http.url).map(Some)
    }

    async fn forget_sign_in(&self, server: &Server) -> Result<(), HostError> {
        let spec = server.facts().spec.clone();
        let StoredLaunch::Http { .. } = &spec.launch else {
            let what = format!("{} is a program on this computer.", server.name);
            return Err(HostError::new(what, "Nothing was changed.", "Nobody signs in there."));
        };
        let known = self.authorization_of(server, &spec).await;
        let known = known.map_err(|it| HostError::new(it.what, "Nothing was changed.", it.todo))?;
        let Some(authorization) = known else { return Ok(()) };
        authorization.sign_out().await.map_err(|why| {
            let what =
                format!("What was kept of the sign-in at {} could not be forgotten: {why}.", server.name);
            HostError::new(what, "It is not used any more in this run.", "Try again.")
        })
    }
}
