//! Secrets, such as API keys: in the keyring that the store was given, or in a file beside the database that only its owner may read.
//!
//! The file also names what is in the keyring, so that nobody has to be asked to unlock it to learn that there is a key. Deliberately
//! absent: any way to list or print values.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    fs::{self, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::{
    OpenNotice, StoreError,
    keyring::{Asked, SecretPlace},
};

/// How long a keyring may take, which may ask the person to unlock it.
const PATIENCE: Duration = Duration::from_secs(20);

/// The secrets of one data folder. Calls block: for one write of a small file, and for the keyring.
pub struct Secrets {
    path: PathBuf,
    keyring: Option<Asked>,
    held: Mutex<Held>,
}

struct Held {
    kept: Kept,
    /// What was read from the keyring, so that it is asked once.
    read: BTreeMap<String, String>,
    /// Why the keyring was not used the last time that it was wanted.
    trouble: Option<String>,
}

/// The file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    /// Tells the entries of this folder from those of another in the same keyring.
    folder: String,
    /// The secrets that are here.
    values: BTreeMap<String, String>,
    /// The names of those that are in the keyring.
    in_keyring: BTreeSet<String>,
}

/// Where secrets go now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretsKept {
    /// The keyring that was given.
    pub keyring: Option<String>,
    /// Why it was not used, if it was wanted and could not be.
    pub trouble: Option<String>,
    /// The file.
    pub file: PathBuf,
    /// How many are in the keyring.
    pub in_keyring: usize,
    /// How many are in the file.
    pub in_file: usize,
}

impl Secrets {
    /// Reads the file, if there is one. A file that cannot be understood is moved aside, a file that others may read is closed to them;
    /// both are said. The keyring is not asked yet.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    pub(super) fn open(dir: &Path, place: &SecretPlace) -> Result<(Self, Vec<OpenNotice>), StoreError> {
        let path = dir.join("secrets.json");
        let ours = |error: std::io::Error| StoreError::of_io(&error, &path);
        let mut notices = Vec::new();
        let mut kept = match fs::read(&path) {
            Ok(bytes) => {
                if close_to_others(&path).map_err(ours)? {
                    notices.push(OpenNotice {
                        what: format!("Other users of this computer could read {}.", path.display()),
                        safe: "It is closed to them now.".to_owned(),
                        todo: "If others use this computer, replace the API keys in it.".to_owned(),
                    });
                }
                match read(&bytes) {
                    Some(kept) => kept,
                    None => {
                        let aside = aside(&path);
                        fs::rename(&path, &aside).map_err(ours)?;
                        notices.push(OpenNotice {
                            what: "The file with API keys could not be read.".to_owned(),
                            safe: format!("Nothing was deleted: it was moved to {}.", aside.display()),
                            todo: "Enter the API keys of your models and servers again.".to_owned(),
                        });
                        Kept::default()
                    }
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Kept::default(),
            Err(error) => return Err(ours(error)),
        };
        if kept.folder.is_empty() {
            kept.folder = uuid::Uuid::now_v7().simple().to_string();
        }
        let keyring = match place {
            SecretPlace::File => None,
            SecretPlace::Keyring(keyring) => Some(Asked::new(keyring.clone(), PATIENCE)),
        };
        let held = Held { kept, read: BTreeMap::new(), trouble: None };
        Ok((Self { path, keyring, held: Mutex::new(held) }, notices))
    }

    /// A secret. One that is in a keyring that cannot be read is as good as none; [`Secrets::kept`] says so.
    pub fn get(&self, name: &str) -> Option<String> {
        self.read(name).ok().flatten()
    }

    /// A secret.
    ///
    /// # Errors
    /// It is in a keyring that cannot be read; says why.
    pub fn read(&self, name: &str) -> Result<Option<String>, String> {
        let account = {
            let held = self.held();
            if let Some(value) = held.kept.values.get(name).or_else(|| held.read.get(name)) {
                return Ok(Some(value.clone()));
            }
            if !held.kept.in_keyring.contains(name) {
                return Ok(None);
            }
            account(&held.kept, name)
        };
        let entry = match &self.keyring {
            Some(keyring) => keyring.entry(&account),
            None => Err("it is not used in this run".to_owned()),
        };
        let mut held = self.held();
        held.trouble = entry.as_ref().err().cloned();
        let value = entry?;
        if let Some(value) = &value {
            held.read.insert(name.to_owned(), value.clone());
        }
        Ok(value)
    }

    /// Whether there is such a secret. Asks no keyring.
    pub fn has(&self, name: &str) -> bool {
        let held = self.held();
        held.kept.values.contains_key(name) || held.kept.in_keyring.contains(name)
    }

    /// Keeps a secret, or forgets it. In the keyring or on disk when this returns.
    ///
    /// # Errors
    /// The file cannot be written, or the keyring does not forget the secret; it is as it was.
    pub fn set(&self, name: &str, value: Option<&str>) -> Result<(), StoreError> {
        let (account, was_there) = {
            let held = self.held();
            if value.is_none() && !held.kept.values.contains_key(name) && !held.kept.in_keyring.contains(name)
            {
                return Ok(());
            }
            (account(&held.kept, name), held.kept.in_keyring.contains(name))
        };
        let outcome = match (&self.keyring, value) {
            (Some(keyring), Some(_)) => Some(keyring.keep_entry(&account, value)),
            (Some(keyring), None) if was_there => Some(keyring.keep_entry(&account, None)),
            (Some(_) | None, _) => None,
        };
        let is_in_keyring = value.is_some() && outcome == Some(Ok(()));
        let mut held = self.held();
        if let Some(outcome) = outcome {
            held.trouble = outcome.err();
            // Without its name nobody could ever take it out of the keyring.
            if value.is_none()
                && let Some(why) = &held.trouble
            {
                return Err(StoreError::NotForgotten { why: why.clone() });
            }
        }
        let mut changed = held.kept.clone();
        changed.values.remove(name);
        changed.in_keyring.remove(name);
        if is_in_keyring {
            changed.in_keyring.insert(name.to_owned());
        } else if let Some(value) = value {
            changed.values.insert(name.to_owned(), value.to_owned());
        }
        if changed != held.kept {
            write_whole(&self.path, &changed).map_err(|error| StoreError::of_io(&error, &self.path))?;
        }
        held.kept = changed;
        held.read.remove(name);
        if is_in_keyring && let Some(value) = value {
            held.read.insert(name.to_owned(), value.to_owned());
        }
        Ok(())
    }

    /// Where secrets go. Asks no keyring.
    pub fn kept(&self) -> SecretsKept {
        let held = self.held();
        SecretsKept {
            keyring: self.keyring.as_ref().map(Asked::name),
            trouble: held.trouble.clone(),
            file: self.path.clone(),
            in_keyring: held.kept.in_keyring.len(),
            in_file: held.kept.values.len(),
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").field("path", &self.path).finish_non_exhaustive()
    }
}

/// The first versions wrote names and values, and nothing else.
fn read(bytes: &[u8]) -> Option<Kept> {
    serde_json::from_slice(bytes).ok().or_else(|| {
        let values = serde_json::from_slice(bytes).ok()?;
        Some(Kept { values, ..Kept::default() })
    })
}

fn account(kept: &Kept, name: &str) -> String {
    format!("{name} ({})", kept.folder)
}

/// Writes a new file and renames it over the old one, so that there is always one that is whole.
fn write_whole(path: &Path, kept: &Kept) -> std::io::Result<()> {
    let new = path.with_extension("json.new");
    // A leftover of a write that was cut short may have any mode; a fresh file has ours.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let mut file = options.open(&new)?;
    file.write_all(&serde_json::to_vec_pretty(kept)?)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    #[cfg(unix)]
    if let Some(dir) = path.parent() {
        fs::File::open(dir)?.sync_all()?;
    }
    Ok(())
}

fn aside(path: &Path) -> PathBuf {
    let mut number = 1;
    loop {
        let kept = path.with_extension(format!("json.damaged-{number}"));
        if !kept.exists() {
            return kept;
        }
        number += 1;
    }
}

/// Takes the rights of group and others away. Answers whether they had any.
#[cfg(unix)]
fn close_to_others(path: &Path) -> std::io::Result<bool> {
    use std::os::unix::fs::PermissionsExt;
    let open = fs::metadata(path)?.permissions().mode() & 0o077 != 0;
    if open {
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    }
    Ok(open)
}

#[cfg(not(unix))]
fn close_to_others(_path: &Path) -> std::io::Result<bool> {
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};

    use super::*;
    use crate::store::Keyring;

    /// A keyring that can be locked away.
    #[derive(Default)]
    struct Ring {
        entries: Mutex<BTreeMap<String, String>>,
        gone: Mutex<bool>,
        /// Each act waits for a message.
        hangs: Option<Mutex<mpsc::Receiver<()>>>,
        asked: Mutex<u32>,
    }

    impl Ring {
        fn ask(&self) -> Result<(), String> {
            *self.asked.lock().unwrap() += 1;
            if let Some(hangs) = &self.hangs {
                let _released = hangs.lock().unwrap().recv();
            }
            if *self.gone.lock().unwrap() { Err("it is locked".to_owned()) } else { Ok(()) }
        }
    }

    impl Keyring for Ring {
        fn name(&self) -> String {
            "the test's keyring".to_owned()
        }

        fn entry(&self, account: &str) -> Result<Option<String>, String> {
            self.ask()?;
            Ok(self.entries.lock().unwrap().get(account).cloned())
        }

        fn keep_entry(&self, account: &str, value: Option<&str>) -> Result<(), String> {
            self.ask()?;
            let mut all = self.entries.lock().unwrap();
            match value {
                Some(value) => all.insert(account.to_owned(), value.to_owned()),
                None => all.remove(account),
            };
            Ok(())
        }
    }

    fn open(dir: &Path, ring: &Arc<Ring>) -> Secrets {
        let ring: Arc<dyn Keyring> = Arc::clone(ring) as _;
        Secrets::open(dir, &SecretPlace::Keyring(ring)).unwrap().0
    }

    fn on_disk(dir: &Path) -> String {
        fs::read_to_string(dir.join("secrets.json")).unwrap_or_default()
    }

    #[test]
    fn a_keyring_is_asked_late_and_holds_the_value_alone() {
        let dir = tempfile::tempdir().unwrap();
        let ring = Arc::new(Ring::default());
        let secrets = open(dir.path(), &ring);
        assert_eq!(secrets.get("key"), None);
        assert_eq!(*ring.asked.lock().unwrap(), 0, "nothing was wanted of it yet");
        secrets.set("key", Some("CANARY")).unwrap();
        assert!(!on_disk(dir.path()).contains("CANARY"));
        let again = open(dir.path(), &ring);
        let asked = *ring.asked.lock().unwrap();
        assert!(again.has("key"));
        assert_eq!(*ring.asked.lock().unwrap(), asked, "whether there is one is known without it");
        assert_eq!(again.get("key").as_deref(), Some("CANARY"));
        assert_eq!((again.kept().in_keyring, again.kept().in_file), (1, 0));
        again.set("key", None).unwrap();
        assert!(ring.entries.lock().unwrap().is_empty() && !again.has("key"));
    }

    #[test]
    fn two_folders_in_one_keyring_do_not_meet() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let ring = Arc::new(Ring::default());
        let (first, second) = (open(one.path(), &ring), open(two.path(), &ring));
        first.set("key", Some("1")).unwrap();
        second.set("key", Some("2")).unwrap();
        assert_eq!(open(one.path(), &ring).get("key").as_deref(), Some("1"));
    }

    #[test]
    fn without_a_keyring_the_file_keeps_it_and_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let ring = Arc::new(Ring { gone: Mutex::new(true), ..Ring::default() });
        let secrets = open(dir.path(), &ring);
        secrets.set("key", Some("v")).unwrap();
        let kept = secrets.kept();
        assert_eq!((kept.in_keyring, kept.in_file, kept.trouble.as_deref()), (0, 1, Some("it is locked")));
        *ring.gone.lock().unwrap() = false;
        let again = open(dir.path(), &ring);
        assert_eq!(again.get("key").as_deref(), Some("v"));
        // The next time that it is set, it moves.
        again.set("key", Some("w")).unwrap();
        assert_eq!((again.kept().in_keyring, again.kept().trouble), (1, None));
        assert!(!on_disk(dir.path()).contains("\"w\""));
    }

    #[test]
    fn what_a_keyring_does_not_forget_is_not_said_to_be_gone() {
        let dir = tempfile::tempdir().unwrap();
        let ring = Arc::new(Ring::default());
        let secrets = open(dir.path(), &ring);
        secrets.set("key", Some("v")).unwrap();
        *ring.gone.lock().unwrap() = true;
        let why = "it is locked".to_owned();
        assert_eq!(secrets.set("key", None), Err(StoreError::NotForgotten { why }));
        assert!(secrets.has("key") && open(dir.path(), &ring).has("key"));
        *ring.gone.lock().unwrap() = false;
        secrets.set("key", None).unwrap();
        assert!(ring.entries.lock().unwrap().is_empty() && !secrets.has("key"));
    }

    #[test]
    fn a_keyring_that_hangs_holds_nobody_up() {
        let dir = tempfile::tempdir().unwrap();
        let (go, hangs) = mpsc::channel();
        let ring: Arc<dyn Keyring> = Arc::new(Ring { hangs: Some(Mutex::new(hangs)), ..Ring::default() });
        let mut secrets = Secrets::open(dir.path(), &SecretPlace::File).unwrap().0;
        secrets.keyring = Some(Asked::new(ring, Duration::from_millis(10)));
        for key in ["a", "b", "c"] {
            secrets.set(key, Some("v")).unwrap();
        }
        assert_eq!(secrets.kept().in_file, 3);
        assert_eq!(secrets.kept().trouble.as_deref(), Some("it has not answered for a while"));
        drop(go);
    }

    #[test]
    fn the_file_of_the_first_versions_is_read() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("secrets.json"), r#"{"model m": "k"}"#).unwrap();
        let (secrets, _) = Secrets::open(dir.path(), &SecretPlace::File).unwrap();
        assert_eq!(secrets.get("model m").as_deref(), Some("k"));
        secrets.set("other", Some("x")).unwrap();
        let (again, _) = Secrets::open(dir.path(), &SecretPlace::File).unwrap();
        assert_eq!(again.get("model m").as_deref(), Some("k"));
    }
}
