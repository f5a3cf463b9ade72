//! What changes while an author works: the document that a server gives, and the files that a server is made of.
//!
//! Deliberately absent: drawing a View anew, which the window does when it is told that the document is another one; and a service of the
//! system that reports changes, since looking twice a second at a few files costs less than one more dependency.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use tokio_util::sync::CancellationToken;
use usher_protocol::RawJson;

use super::super::{Host, HostError, lock};
use crate::connection::{CallError, Connection};

/// How often files are looked at.
const PAUSE: Duration = Duration::from_millis(500);

/// How many files of the watched paths are looked at.
const MOST_FILES: usize = 2_000;

/// Folders whose files are made from others, and would only be many.
const SKIPPED: [&str; 4] = ["node_modules", ".git", "target", "__pycache__"];

/// What is watched, by the server that is started again.
#[derive(Default)]
pub(in crate::conversation) struct Watches(BTreeMap<String, Watch>);

struct Watch {
    end: CancellationToken,
    /// The file that changed last since a View of the server was started.
    changed: Option<String>,
}

/// What has become of the document of a View.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// The server gives the same.
    Same,
    /// The server gives another one, perhaps because a watched file changed.
    Changed {
        /// That file, from the folder that the watched path stands in.
        file: Option<String>,
    },
    /// It could not be asked; says why.
    Unknown(String),
}

/// The document's resource as the server has it now, and the entry of the list that may say more of it.
pub(super) async fn read_anew(
    connection: &Connection,
    uri: &str,
) -> Result<(RawJson, Option<RawJson>), CallError> {
    use crate::app_view::resource;
    let raw = connection.read_resource_anew(uri).await?;
    if resource::says_ui(&raw) {
        return Ok((raw, None));
    }
    // A server without lists has nothing more to say of it.
    let pages = connection.list_resources().await.unwrap_or_default();
    Ok((raw, resource::listed_meta(uri, &pages)))
}

impl Host {
    /// Starts a server again whenever one of these files, or a file below one of these folders, changes. No path ends it.
    ///
    /// # Errors
    /// There is no such server, or a path is not there.
    pub fn watch_for_bench(&self, server_id: &str, paths: Vec<PathBuf>) -> Result<(), HostError> {
        let server = self.server(server_id).ok_or_else(|| HostError::unknown("server"))?;
        let paths: Vec<PathBuf> = paths.iter().map(|it| self.surroundings().whole(it)).collect();
        for path in &paths {
            if !path.is_absolute() || !path.exists() {
                return Err(HostError::new(
                    format!("{} is no file and no folder.", path.display()),
                    "Nothing more is watched.",
                    "Correct it.",
                ));
            }
        }
        let end = CancellationToken::new();
        let watch = Watch { end: end.clone(), changed: None };
        let before = lock(&self.0.watches).0.insert(server_id.to_owned(), watch);
        if let Some(before) = before {
            before.end.cancel();
        }
        if !paths.is_empty() {
            tokio::spawn(self.clone().watch(server.id.clone(), paths, end));
        }
        Ok(())
    }

    async fn watch(self, server_id: String, paths: Vec<PathBuf>, end: CancellationToken) {
        let mut known = look(&paths).await;
        let mut changing = false;
        loop {
            tokio::select! {
                () = tokio::time::sleep(PAUSE) => {}
                () = end.cancelled() => return,
            }
            let now = look(&paths).await;
            let changed = difference(&known, &now).map(|path| named(path, &paths));
            known = now;
            let is_changing = changed.is_some();
            // A build writes many files one after the other; the first is what it was done for.
            if let Some(file) = changed.filter(|_| !changing) {
                self.note_change(&server_id, &end, file);
            }
            // The server is started when it is done.
            if changing && !is_changing && self.restart_server(&server_id).is_err() {
                return;
            }
            changing = is_changing;
        }
    }

    fn note_change(&self, server_id: &str, end: &CancellationToken, file: String) {
        // Other files may be watched by now.
        if let Some(watch) = lock(&self.0.watches).0.get_mut(server_id).filter(|_| !end.is_cancelled()) {
            watch.changed = Some(file);
        }
    }

    /// The file because of which a server may give another document.
    pub(super) fn changed_file(&self, server_id: &str) -> Option<String> {
        lock(&self.0.watches).0.get(server_id)?.changed.clone()
    }

    /// A View is started with what changed so far.
    pub(super) fn forget_change(&self, server_id: &str) {
        if let Some(watch) = lock(&self.0.watches).0.get_mut(server_id) {
            watch.changed = None;
        }
    }
}

/// A path that is new, other or gone.
fn difference<'a>(before: &'a Seen, now: &'a Seen) -> Option<&'a Path> {
    let other = now.iter().find(|(path, seen)| before.get(*path) != Some(seen));
    let gone = || before.iter().find(|(path, _)| !now.contains_key(*path));
    other.or_else(gone).map(|(path, _)| path.as_path())
}

/// A path as it is told: from the folder that what is watched stands in.
fn named(path: &Path, watched: &[PathBuf]) -> String {
    let short = watched.iter().find_map(|it| path.strip_prefix(it).ok().and(it.parent()));
    let short = short.and_then(|folder| path.strip_prefix(folder).ok());
    short.unwrap_or(path).display().to_string()
}

type Seen = BTreeMap<PathBuf, (Option<SystemTime>, u64)>;

async fn look(paths: &[PathBuf]) -> Seen {
    let paths = paths.to_vec();
    let all = move || {
        let mut seen = Seen::new();
        for path in &paths {
            walk(path, &mut seen);
        }
        seen
    };
    tokio::task::spawn_blocking(all).await.unwrap_or_default()
}

fn walk(path: &Path, seen: &mut Seen) {
    // A link is not followed: it may lead back to where it stands.
    let Ok(about) = path.symlink_metadata() else { return };
    if seen.len() >= MOST_FILES {
        return;
    }
    if !about.is_dir() {
        seen.insert(path.to_owned(), (about.modified().ok(), about.len()));
        return;
    }
    let Ok(entries) = path.read_dir() else { return };
    let is_skipped =
        |path: &Path| path.file_name().and_then(|it| it.to_str()).is_some_and(|it| SKIPPED.contains(&it));
    let mut below: Vec<PathBuf> =
        entries.flatten().map(|it| it.path()).filter(|it| !is_skipped(it)).collect();
    below.sort();
    for path in &below {
        walk(path, seen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_change_is_seen_and_what_is_made_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("src/node_modules")).unwrap();
        std::fs::write(at("src/view.html"), "one").unwrap();
        let paths = [at("src")];
        let first = look(&paths).await;
        assert_eq!(first.keys().collect::<Vec<_>>(), [&at("src/view.html")]);
        std::fs::write(at("src/node_modules/x.js"), "made").unwrap();
        assert_eq!(look(&paths).await, first);
        std::fs::write(at("src/view.html"), "longer").unwrap();
        let second = look(&paths).await;
        assert_eq!(difference(&first, &second), Some(at("src/view.html").as_path()));
        assert_eq!(difference(&second, &Seen::new()), Some(at("src/view.html").as_path()));
        assert_eq!(difference(&second, &second), None);
        let shown = Path::new("src").join("view.html").display().to_string();
        assert_eq!(named(&at("src/view.html"), &paths), shown);
        assert_eq!(named(&at("src/view.html"), &[at("src/view.html")]), "view.html");
        std::fs::remove_file(at("src/view.html")).unwrap();
        assert!(look(&paths).await.is_empty());
    }
}
