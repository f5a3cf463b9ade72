//! Secrets, such as API keys: a file beside the database that only its owner may read.
//!
//! Deliberately absent: any way to list or print values, and the operating system's keyring, which is to come before this file and to
//! leave it as the place for systems that have none.

use std::{
    collections::BTreeMap,
    fmt,
    fs::{self, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use super::{OpenNotice, StoreError};

/// The secrets of one data folder. Small; calls block for one write of a small file.
pub struct Secrets {
    path: PathBuf,
    values: Mutex<BTreeMap<String, String>>,
}

impl Secrets {
    /// Reads the file, if there is one. A file that cannot be understood is moved aside, a file that others may read is closed to them;
    /// both are said.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    pub(super) fn open(dir: &Path) -> Result<(Self, Vec<OpenNotice>), StoreError> {
        let path = dir.join("secrets.json");
        let ours = |error: std::io::Error| StoreError::of_io(&error, &path);
        let mut notices = Vec::new();
        let values = match fs::read(&path) {
            Ok(bytes) => {
                if close_to_others(&path).map_err(ours)? {
                    notices.push(OpenNotice {
                        what: format!("Other users of this computer could read {}.", path.display()),
                        safe: "It is closed to them now.".to_owned(),
                        todo: "If others use this computer, replace the API keys in it.".to_owned(),
                    });
                }
                match serde_json::from_slice(&bytes) {
                    Ok(values) => values,
                    Err(_) => {
                        let kept = aside(&path);
                        fs::rename(&path, &kept).map_err(ours)?;
                        notices.push(OpenNotice {
                            what: "The file with API keys could not be read.".to_owned(),
                            safe: format!("Nothing was deleted: it was moved to {}.", kept.display()),
                            todo: "Enter the API keys of your models again.".to_owned(),
                        });
                        BTreeMap::new()
                    }
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(ours(error)),
        };
        Ok((Self { path, values: Mutex::new(values) }, notices))
    }

    /// A secret.
    pub fn get(&self, name: &str) -> Option<String> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Whether there is such a secret.
    pub fn has(&self, name: &str) -> bool {
        self.values.lock().unwrap_or_else(PoisonError::into_inner).contains_key(name)
    }

    /// Keeps a secret, or forgets it. On disk when this returns.
    ///
    /// # Errors
    /// The file cannot be written; the secret is as it was.
    pub fn set(&self, name: &str, value: Option<&str>) -> Result<(), StoreError> {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changed = values.clone();
        match value {
            Some(value) => changed.insert(name.to_owned(), value.to_owned()),
            None => changed.remove(name),
        };
        write_whole(&self.path, &changed).map_err(|error| StoreError::of_io(&error, &self.path))?;
        *values = changed;
        Ok(())
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Writes a new file and renames it over the old one, so that there is always one that is whole.
fn write_whole(path: &Path, values: &BTreeMap<String, String>) -> std::io::Result<()> {
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
    file.write_all(&serde_json::to_vec_pretty(values)?)?;
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
