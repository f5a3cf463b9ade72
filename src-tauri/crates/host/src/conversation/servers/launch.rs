//! What is started: the stored spec with every placeholder and secret filled in, at the moment in which it starts.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use serde::{Deserialize, Serialize};

use super::{StoredLaunch, StoredPair, StoredSpec, sign_in::SharedStanding};
use crate::{
    configuration::{self, Missing, Values},
    connection::{ConnectionOptions, HttpSpec, Launch, NotLaunched, Remembered, ServerSpec, StdioSpec},
    conversation::{Host, HostError, lock},
    store::ServerRow,
};

/// The values of the secrets of a server's last start.
pub(super) type SharedHidden = Arc<Mutex<Hidden>>;

/// The name of a secret of a server.
pub(super) fn secret_name(server_id: &str, what: &str, name: &str) -> String {
    format!("server {server_id} {what} {name}")
}

/// What a server is started with.
pub(super) struct Filled {
    pub(super) spec: ServerSpec,
    pub(super) hidden: Hidden,
}

/// The values of secrets, to be taken out of texts that somebody else wrote.
#[derive(Clone, Default)]
pub(super) struct Hidden(Vec<String>);

impl Hidden {
    /// What is shorter would take harmless words out of everything.
    const SHORTEST: usize = 4;

    fn add(&mut self, value: &str) {
        // A scheme stands before the secret, as in `Bearer …`; either may be repeated without the other.
        let words = value.split_whitespace().filter(|it| it.len() >= 2 * Self::SHORTEST);
        for text in std::iter::once(value).chain(words) {
            if text.len() >= Self::SHORTEST && !self.0.iter().any(|it| it == text) {
                self.0.push(text.to_owned());
            }
        }
        // The longest first, so that what is left of it is not left standing.
        self.0.sort_by_key(|it| std::cmp::Reverse(it.len()));
    }

    /// A text without them.
    pub(super) fn scrub(&self, text: String) -> String {
        self.0
            .iter()
            .fold(text, |text, it| if text.contains(it) { text.replace(it, "[secret]") } else { text })
    }
}

impl Host {
    /// Says how a server is started, each time that it is.
    pub(super) fn launcher(
        &self,
        row: &ServerRow,
        spec: &StoredSpec,
        standing: &SharedStanding,
        hidden: &SharedHidden,
    ) -> Launch {
        let (host, row, spec) = (Arc::downgrade(&self.0), row.clone(), spec.clone());
        let (standing, hidden) = (Arc::clone(standing), Arc::clone(hidden));
        Arc::new(move || {
            let (host, row, spec) = (host.clone(), row.clone(), spec.clone());
            let (standing, hidden) = (Arc::clone(&standing), Arc::clone(&hidden));
            Box::pin(async move {
                let closing = || NotLaunched { what: "Usher is closing".to_owned(), todo: String::new() };
                let host = host.upgrade().map(Host).ok_or_else(closing)?;
                let filled = host.filled(&row.id, &row.name, &spec).await?;
                *lock(&hidden) = filled.hidden;
                let authorization = match &filled.spec {
                    ServerSpec::Http(http) => {
                        Some(host.authorization_at(&standing, (&row.id, &row.name), &http.url)?)
                    }
                    ServerSpec::Stdio(_) => None,
                };
                let remembered = row.era.as_deref().and_then(|it| Era::read(it, host.now_ms()));
                let options = ConnectionOptions {
                    authorization,
                    remembered,
                    offers: host.offers_to(&row.id, &row.name),
                    log_level: host.server_trust(&row.id).log_level,
                    pinned: spec.pinned,
                    ..host.connection_options()
                };
                Ok((filled.spec, options))
            })
        })
    }

    /// How a server is started now, with every value: for a caller that starts it itself.
    ///
    /// # Errors
    /// There is no such server, or something that it needs is missing.
    pub async fn filled_server(&self, id: &str) -> Result<ServerSpec, HostError> {
        let (name, spec) = self.server_spec(id)?;
        let missing =
            |it: NotLaunched| HostError::new(format!("{}.", it.what), "Nothing was started.", it.todo);
        Ok(self.filled(id, &name, &spec).await.map_err(missing)?.spec)
    }

    /// The same, and how the host behaves towards it: for a check that starts one of its own beside the one that runs.
    ///
    /// # Errors
    /// There is no such server, or something that it needs is missing.
    pub async fn server_apart(&self, id: &str) -> Result<(ServerSpec, ConnectionOptions), HostError> {
        let spec = self.filled_server(id).await?;
        let server = self.server(id).ok_or_else(|| HostError::unknown("server"))?;
        let authorization = match &spec {
            ServerSpec::Http(http) => {
                self.authorization_at(&server.standing, (&server.id, &server.name), &http.url).ok()
            }
            ServerSpec::Stdio(_) => None,
        };
        Ok((spec, ConnectionOptions { authorization, ..self.connection_options() }))
    }

    /// What runs or is asked, with every value. Reads secrets, which may take a moment.
    pub(super) async fn filled(
        &self,
        id: &str,
        name: &str,
        spec: &StoredSpec,
    ) -> Result<Filled, NotLaunched> {
        let (host, owner, stored) = (self.clone(), id.to_owned(), spec.clone());
        let read = tokio::task::spawn_blocking(move || host.fill(&owner, &stored));
        let (filled, hidden) = match read.await {
            Ok(Ok(filled)) => filled,
            Ok(Err(Gap { what, missing })) => {
                let what = format!("{name} was not started: {what}");
                return Err(NotLaunched { what, todo: todo(missing.as_ref()) });
            }
            Err(error) => {
                let what = format!("{name} was not started: its secrets could not be read ({error})");
                return Err(NotLaunched { what, todo: "Start it again.".to_owned() });
            }
        };
        let spec = match filled {
            configuration::Launch::Stdio { command, args, env, cwd } => {
                let command = if spec.built_in { self.own_program() } else { command };
                StdioSpec { command, args, env, cwd: cwd.map(Into::into) }.into()
            }
            configuration::Launch::Http { url, headers } => HttpSpec { url, headers }.into(),
        };
        Ok(Filled { spec, hidden })
    }

    fn fill(&self, id: &str, spec: &StoredSpec) -> Result<(configuration::Launch, Hidden), Gap> {
        let secrets = self.store().secrets();
        let launch = &spec.launch;
        let word = launch.word();
        let mut values: BTreeMap<&str, String> = BTreeMap::new();
        for pair in launch.pairs().iter().filter(|it| it.secret && it.value.is_none()) {
            let name = &pair.name;
            let gap = |why: String| Gap { what: format!("the value of {name} {why}"), missing: None };
            match secrets.read(&secret_name(id, word, name)) {
                Ok(Some(value)) => values.insert(name, value),
                Ok(None) => return Err(gap("is not among the secrets".to_owned())),
                Err(why) => return Err(gap(format!("is in the keyring, which could not be read: {why}"))),
            };
        }
        let whole = launch.with_values(|it| values.get(it.name.as_str()).cloned());
        let mut hidden = Hidden::default();
        let mut inputs = BTreeMap::new();
        for input in configuration::inputs_of(&whole) {
            if let Ok(Some(value)) = secrets.read(&secret_name(id, "input", &input)) {
                if !spec.plain_inputs.contains(&input) {
                    hidden.add(&value);
                }
                inputs.insert(input, value);
            }
        }
        let around = self.surroundings();
        let env = (around.env)();
        // One variable is called like a secret and says only where they are kept, in a word that stands in many a text.
        let is_secret = |name: &str| name != "USHER_SECRETS" && configuration::is_secret_name(name);
        env.iter().filter(|it| is_secret(it.0)).for_each(|it| hidden.add(it.1));
        let values = Values {
            env,
            inputs,
            home: around.home.as_ref().map(|it| it.display().to_string()),
            folder: spec.folder.as_ref().map(|it| it.display().to_string()),
        };
        let filled = configuration::expand(&whole, &values)
            .map_err(|missing| Gap { what: missing.to_string(), missing: Some(missing) })?;
        let pairs = match &filled {
            configuration::Launch::Stdio { env, .. } => env,
            configuration::Launch::Http { headers, .. } => headers,
        };
        for (name, value) in pairs {
            let is_secret = launch.pairs().iter().any(|it| it.secret && it.name == *name);
            if is_secret || configuration::is_secret_name(name) {
                hidden.add(value);
            }
        }
        Ok((filled, hidden))
    }
}

/// What is missing for a start.
struct Gap {
    what: String,
    missing: Option<Missing>,
}

/// What was found out about the revision that a server speaks, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Era {
    #[serde(flatten)]
    found: Remembered,
    /// When it was asked, in milliseconds since 1970.
    at_ms: i64,
}

impl Era {
    /// After so long a server is asked again, in case that it has learned another revision.
    const LIFETIME_MS: i64 = 7 * 24 * 60 * 60 * 1000;

    /// What is still worth something. What earlier versions wrote is not.
    fn read(text: &str, now_ms: i64) -> Option<Remembered> {
        let era: Self = serde_json::from_str(text).ok()?;
        let age = now_ms.checked_sub(era.at_ms)?;
        (0..Self::LIFETIME_MS).contains(&age).then_some(era.found)
    }

    /// What to store after a connection was opened. What was known already keeps its age.
    pub(super) fn next(old: Option<&str>, found: Option<Remembered>, now_ms: i64) -> Option<String> {
        let found = found?;
        let same = old.filter(|it| Self::read(it, now_ms).as_ref() == Some(&found));
        same.map(str::to_owned).or_else(|| serde_json::to_string(&Self { found, at_ms: now_ms }).ok())
    }
}

fn todo(missing: Option<&Missing>) -> String {
    match missing {
        Some(Missing::Variable(name)) => format!(
            "Set {name} where Usher is started, or write the value itself in place of the placeholder."
        ),
        Some(Missing::Input(_)) => {
            "Write the value in place of the placeholder, or import the server again and fill it in."
                .to_owned()
        }
        Some(Missing::Unknown(_)) => "Write what it stands for in its place.".to_owned(),
        None => "Give it to the server again.".to_owned(),
    }
}

impl StoredLaunch {
    /// The names of the secrets that are kept for it.
    pub(super) fn secret_names(&self, server_id: &str) -> Vec<String> {
        let of_pair = |it: &StoredPair| secret_name(server_id, self.word(), &it.name);
        let pairs = self.pairs().iter().filter(|it| it.secret).map(of_pair);
        let whole = self.with_values(|_| None);
        let inputs = configuration::inputs_of(&whole);
        pairs.chain(inputs.iter().map(|it| secret_name(server_id, "input", it))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_taken_out_of_texts() {
        let mut hidden = Hidden::default();
        hidden.add("Bearer t0p-secret");
        hidden.add("abc");
        let text = "sent Bearer t0p-secret and t0p-secret; abc";
        assert_eq!(hidden.scrub(text.to_owned()), "sent [secret] and [secret]; abc");
    }

    #[test]
    fn what_was_found_out_grows_old() {
        let found = Remembered { revision: usher_protocol::Revision::NEWEST_WITH_HANDSHAKE, server: None };
        let text = Era::next(None, Some(found.clone()), 1_000).unwrap();
        assert_eq!(Era::read(&text, 2_000), Some(found.clone()));
        assert_eq!(
            Era::next(Some(&text), Some(found.clone()), 5_000).as_ref(),
            Some(&text),
            "it keeps its age"
        );
        assert_eq!(Era::read(&text, 1_000 + Era::LIFETIME_MS), None);
        assert_eq!(Era::read(&text, 0), None, "the clock went back");
        assert_eq!(Era::read(found.revision.as_str(), 2_000), None);
        assert_eq!(Era::next(Some(&text), None, 5_000), None);
    }
}
