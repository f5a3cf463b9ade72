//! Hears when a program looks up a name. The C library reads `/etc/hosts` for each name before it asks anybody, so the program is given
//! a file of its own in that place, and the kernel tells when it is opened. No network is needed.
//!
//! Deliberately absent: which name it was. A program that shall look up none is heard with the first.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use nix::{
    errno::Errno,
    sys::inotify::{AddWatchFlags, InitFlags, Inotify},
};
use tempfile::TempDir;

/// Starts the program that is its first argument, in a mount table of its own. One name is looked up before, so that whoever listens
/// knows that they hear.
const START: &str = r#"#!/bin/sh
exec unshare --user --map-root-user --mount sh -c 'mount --bind "$0" /etc/hosts && { getent hosts control.invalid; exec "$@"; }' "HOSTS" "PROGRAM" "$@"
"#;

/// Listens to one program.
pub struct Lookups {
    folder: TempDir,
    heard: Inotify,
}

impl Lookups {
    /// Begins to listen.
    ///
    /// # Errors
    /// When the system does not tell of files that are opened.
    pub fn listen() -> anyhow::Result<Self> {
        let folder = TempDir::new()?;
        let hosts = folder.path().join("hosts");
        fs::write(&hosts, "127.0.0.1 localhost\n")?;
        let heard = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC)?;
        heard.add_watch(&hosts, AddWatchFlags::IN_OPEN)?;
        Ok(Self { folder, heard })
    }

    /// A program that starts another one where it is heard. It needs `unshare`, and a system that lets everybody have name spaces.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn around(&self, program: &Path) -> anyhow::Result<PathBuf> {
        let start = self.folder.path().join("start");
        let text = START
            .replace("HOSTS", &self.folder.path().join("hosts").display().to_string())
            .replace("PROGRAM", &program.display().to_string());
        fs::write(&start, text)?;
        fs::set_permissions(&start, fs::Permissions::from_mode(0o755))?;
        Ok(start)
    }

    /// How many look-ups began since this was asked last.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn count(&self) -> anyhow::Result<usize> {
        match self.heard.read_events() {
            Ok(all) => Ok(all.len()),
            Err(Errno::EAGAIN) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }
}
