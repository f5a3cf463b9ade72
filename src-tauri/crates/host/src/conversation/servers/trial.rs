//! Trying a server apart from the one that runs: it is started, asked what it offers, and ended.
//!
//! Deliberately absent: keeping anything but a sign-in that was renewed. A trial uses a sign-in that there is, and begins none.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use usher_protocol::Revision;

use super::{STDERR_TAIL, StoredSpec, sign_in::Keeper};
use crate::{
    connection::{
        Authorization, AuthorizationSettings, Browser, Connection, ConnectionEvent, ConnectionOptions,
        EventReceiver, Offers, ServerSpec, Visit, Visited, events,
    },
    conversation::{Host, HostError},
};

/// How long after its end a server's last words are waited for.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What came of a trial.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trial {
    /// Whether the server can be used.
    pub ok: bool,
    /// What happened.
    pub what: String,
    /// What is safe.
    pub safe: String,
    /// What to do.
    pub todo: String,
    /// The revision that was found.
    pub revision: Option<Revision>,
    /// What it calls itself.
    pub server_info: Option<String>,
    /// How many tools can be used.
    pub tools: usize,
    /// How the revision was found.
    pub steps: Vec<String>,
    /// The last lines of stderr.
    pub stderr_tail: Vec<String>,
}

/// Nobody, because a trial sends nobody anywhere.
struct Nobody;

impl Browser for Nobody {
    fn may_open<'a>(&'a self, _visit: &'a Visit) -> BoxFuture<'a, bool> {
        Box::pin(async { false })
    }

    fn open_browser<'a>(&'a self, _url: &'a str) -> BoxFuture<'a, Result<Visited, String>> {
        Box::pin(async { Err("a trial opens no browser".to_owned()) })
    }
}

impl Host {
    /// Starts a server as it would be saved, asks what it offers, and ends it. `id` is the server whose kept secrets it may use.
    /// Dropping the future ends it as well.
    pub async fn test_server(&self, id: Option<&str>, name: &str, spec: &StoredSpec) -> Trial {
        const SAFE: &str = "The server that was started for this has ended, and nothing was changed.";
        let filled = match self.filled(id.unwrap_or_default(), name, spec).await {
            Ok(filled) => filled,
            Err(it) => {
                let (what, safe) = (format!("{}.", it.what), "Nothing was started.".to_owned());
                return Trial { what, safe, todo: it.todo, ..Trial::default() };
            }
        };
        let authorization = match &filled.spec {
            ServerSpec::Http(http) => {
                // What is renewed is kept: many refresh tokens are good once, and the next start would have a spent one.
                let keeper = Arc::new(Keeper(self.store().clone()));
                let settings =
                    AuthorizationSettings { begins_none: true, ..AuthorizationSettings::default() };
                Authorization::new(&http.url, settings, keeper, Arc::new(Nobody)).ok()
            }
            ServerSpec::Stdio(_) => None,
        };
        let options = ConnectionOptions {
            authorization,
            offers: Offers::default(),
            pinned: spec.pinned,
            remembered: None,
            ..self.connection_options()
        };
        let (sender, receiver) = events();
        let mut told = Told::default();
        let asked = async {
            let opened = Box::pin(Connection::open(&filled.spec, &options, sender)).await;
            Box::pin(look(opened)).await
        };
        let mut trial = {
            let mut following = std::pin::pin!(told.follow(receiver));
            let mut asked = std::pin::pin!(asked);
            let mut heard = false;
            let trial = loop {
                tokio::select! {
                    trial = &mut asked => break trial,
                    () = &mut following, if !heard => heard = true,
                }
            };
            // What it said last may still be on its way; something that never ends must not hold the answer up.
            if !heard {
                let _late = tokio::time::timeout(LAST_WORDS, following).await;
            }
            trial
        };
        trial.safe = SAFE.to_owned();
        trial.steps = told.steps;
        trial.stderr_tail = told.stderr.into();
        for text in [&mut trial.what, &mut trial.todo]
            .into_iter()
            .chain(&mut trial.steps)
            .chain(&mut trial.stderr_tail)
        {
            *text = filled.hidden.scrub(std::mem::take(text));
        }
        trial
    }

    /// The same for a server as it is stored.
    ///
    /// # Errors
    /// There is no such server.
    pub async fn test_stored_server(&self, id: &str) -> Result<Trial, HostError> {
        let (name, spec) = self.server_spec(id)?;
        Ok(self.test_server(Some(id), &name, &spec).await)
    }
}

/// Asks an open line what it offers, and closes it.
async fn look(opened: Result<Connection, crate::connection::ConnectError>) -> Trial {
    let connection = match opened {
        Ok(connection) => connection,
        Err(error) => {
            let what = crate::conversation::call::sentence(&error.to_string());
            return Trial { what, todo: error.todo(), ..Trial::default() };
        }
    };
    let greeting = connection.greeting().clone();
    let listed = connection.list_tools().await;
    connection.close().await;
    let version = greeting.server_version.as_deref().unwrap_or_default();
    let server_info = greeting.server_name.as_ref().map(|it| format!("{it} {version}").trim().to_owned());
    let who = server_info.clone().unwrap_or_else(|| "The server".to_owned());
    let trial = Trial { ok: true, revision: Some(greeting.revision), server_info, ..Trial::default() };
    match listed {
        Ok((page, _)) => {
            let tools = page.tools.len();
            let plural = if tools == 1 { "" } else { "s" };
            let refused = match page.rejected.len() {
                0 => String::new(),
                many => format!(" {many} declarations were refused."),
            };
            let what = format!("{who} answers and offers {tools} tool{plural}.{refused}");
            Trial { what, todo: "Save it to use it.".to_owned(), tools, ..trial }
        }
        // A server without tools is still a server.
        Err(error) => {
            let what = format!("{who} answers, and could not list its tools: {error}.");
            Trial { what, todo: error.todo().to_owned(), ..trial }
        }
    }
}

/// What was told during a trial.
#[derive(Default)]
struct Told {
    steps: Vec<String>,
    stderr: VecDeque<String>,
}

impl Told {
    /// Listens until nobody tells any more.
    async fn follow(&mut self, mut events: EventReceiver) {
        while let Some(event) = events.next().await {
            match event {
                ConnectionEvent::Negotiated(step) => self.steps.push(step.text),
                ConnectionEvent::SignIn { text } | ConnectionEvent::Defect { text } => self.steps.push(text),
                ConnectionEvent::Stderr { text } => {
                    self.stderr.push_back(text);
                    if self.stderr.len() > STDERR_TAIL {
                        self.stderr.pop_front();
                    }
                }
                // A trial shows how it went, not every line.
                _ => {}
            }
        }
    }
}
