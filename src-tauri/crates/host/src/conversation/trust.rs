//! What the person lets each server have: whether it may ask the model, which folders it is told of, and how much it tells.
//!
//! Nothing is given that was not chosen: a server that may not ask the model does not hear that it could. Deliberately absent: approval of
//! calls, which is another thing.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use serde::{Deserialize, Serialize};
use usher_protocol::RawJson;

use super::{Host, HostError, HostEvent, lock, servers::Server};
use crate::{
    connection::{LoggingLevel, Offers, Root},
    store::{Store, StoreError},
};

/// How many folders a server may be told of.
const MOST_ROOTS: usize = 32;

const KEY: &str = "server-trust/";

/// What a server may have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerTrust {
    /// Whether it and its Views may ask the model; the person is asked each time (client/sampling).
    pub asks_model: bool,
    /// The folders that it is told of, as absolute paths (client/roots).
    pub roots: Vec<String>,
    /// From which level on it is to tell what it does (server/utilities/logging).
    pub log_level: Option<LoggingLevel>,
}

impl ServerTrust {
    /// The folders as they go on the wire.
    pub(super) fn wire_roots(&self) -> Vec<Root> {
        let root = |path: &String| {
            let uri = url::Url::from_directory_path(path).ok()?.to_string();
            // As the person chose it: the address of a folder has no slash at its end.
            let uri = uri.strip_suffix('/').filter(|it| !it.ends_with('/')).unwrap_or(&uri).to_owned();
            let name = Path::new(path).file_name().map(|it| it.to_string_lossy().into_owned());
            Some(Root { uri, name })
        };
        self.roots.iter().filter_map(root).collect()
    }
}

/// What each server may have, by its id.
pub(super) type Trust = BTreeMap<String, ServerTrust>;

pub(super) async fn load(store: &Store) -> Result<Trust, StoreError> {
    let of = |(key, value): (String, String)| {
        let trust = serde_json::from_str(&value).ok()?;
        Some((key.strip_prefix(KEY)?.to_owned(), trust))
    };
    Ok(store.settings().await?.into_iter().filter_map(of).collect())
}

impl Host {
    /// What a server may have.
    pub fn server_trust(&self, server_id: &str) -> ServerTrust {
        lock(&self.0.trust).get(server_id).cloned().unwrap_or_default()
    }

    /// Changes what a server may have. It is started again if it must hear of it, and otherwise told.
    ///
    /// # Errors
    /// There is no such server, a folder cannot be told of, or the disk refuses.
    pub async fn set_server_trust(&self, server_id: &str, trust: ServerTrust) -> Result<(), HostError> {
        let server = self.server(server_id).ok_or_else(|| HostError::unknown("server"))?;
        let trust = ServerTrust { roots: checked(&trust.roots)?, ..trust };
        let json = serde_json::to_string(&trust).unwrap_or_default();
        self.store().refusing().put_setting(format!("{KEY}{server_id}"), json).await?;
        let old = lock(&self.0.trust).insert(server_id.to_owned(), trust.clone()).unwrap_or_default();
        if old.asks_model && !trust.asks_model {
            self.end_views_that_ask_model(server_id);
        }
        self.tell(HostEvent::Server(Box::new(server.status())));
        self.apply_trust(&server, &old, &trust).await;
        Ok(())
    }

    async fn apply_trust(&self, server: &Arc<Server>, old: &ServerTrust, new: &ServerTrust) {
        let offers_others = old.asks_model != new.asks_model || old.roots.is_empty() != new.roots.is_empty();
        if offers_others {
            return self.relaunch(server).await;
        }
        let Ok((connection, _)) = server.connection() else { return };
        if old.roots != new.roots {
            connection.tell_roots_changed();
        }
        // A server of the handshake era has no word for silence.
        if old.log_level.is_some() && new.log_level.is_none() && connection.must_be_told_the_level() {
            return self.relaunch(server).await;
        }
        if old.log_level != new.log_level
            && let Err(error) = connection.set_log_level(new.log_level).await
        {
            self.remark(
                &server.id,
                "logging/setLevel",
                format!("the server does not take the level: {}", server.without_secrets(error)),
            );
        }
    }

    /// What of the host's offers a server hears.
    pub(super) fn offers_by_trust(&self, server_id: &str, offers: Offers) -> Offers {
        let trust = self.server_trust(server_id);
        Offers {
            sampling: offers.sampling && trust.asks_model,
            roots: offers.roots && !trust.roots.is_empty(),
            ..offers
        }
    }

    /// Whether the Views of a server may ask the model, as their server may.
    pub(super) fn may_views_ask_model(&self, server_id: &str) -> bool {
        self.0.options.connection.offers.sampling && self.server_trust(server_id).asks_model
    }

    /// Forgets what a server might have, when it is removed.
    pub(super) fn forget_trust(&self, server_id: &str) {
        let old = lock(&self.0.trust).remove(server_id);
        if let Some(old) = old {
            if old.asks_model {
                self.end_views_that_ask_model(server_id);
            }
            self.keep_writing(self.store().delete_setting(format!("{KEY}{server_id}")));
        }
    }

    /// The folders that a server asks for. The person chose them beforehand; that they were told is remarked.
    pub(super) fn roots_for(&self, server_id: &str) -> Vec<Root> {
        let roots = self.server_trust(server_id).wire_roots();
        let text = RawJson::of(&roots).map_or_else(|_| String::new(), |it| it.get().to_owned());
        self.remark(server_id, "roots", format!("the server was told of the folders that you chose: {text}"));
        roots
    }
}

fn checked(paths: &[String]) -> Result<Vec<String>, HostError> {
    let refuse = |what: String, todo: &str| Err(HostError::new(what, "Nothing was changed.", todo));
    let mut checked: Vec<String> = Vec::new();
    for path in paths.iter().map(|it| it.trim()).filter(|it| !it.is_empty()) {
        if !Path::new(path).is_absolute() {
            return refuse(format!("{path:?} is not a whole path."), "Write the path from its root on.");
        }
        if !Path::new(path).is_dir() {
            return refuse(format!("There is no folder {path:?}."), "Choose a folder that is there.");
        }
        if !checked.iter().any(|it| it == path) {
            checked.push(path.to_owned());
        }
    }
    if checked.len() > MOST_ROOTS {
        return refuse(format!("These are more than {MOST_ROOTS} folders."), "Choose fewer.");
    }
    Ok(checked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_told_as_an_address_and_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a b");
        std::fs::create_dir(&path).unwrap();
        let path = path.to_string_lossy().into_owned();
        let roots = checked(&[format!(" {path} "), path.clone(), String::new()]).unwrap();
        assert_eq!(roots, [path]);
        let roots = ServerTrust { roots, ..ServerTrust::default() }.wire_roots();
        assert_eq!(roots[0].name.as_deref(), Some("a b"));
        assert!(roots[0].uri.starts_with("file:///") && roots[0].uri.ends_with("/a%20b"), "{}", roots[0].uri);
        assert!(checked(&["relative".to_owned()]).is_err());
        assert!(checked(&[folder.path().join("gone").to_string_lossy().into_owned()]).is_err());
    }
}
