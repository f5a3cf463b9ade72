//! What can go wrong with the disk, in words for people.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// Why the disk refuses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// No space is left.
    #[error("the disk that holds {} is full", .path.display())]
    Full {
        /// The database.
        path: PathBuf,
    },
    /// Another process holds the database.
    #[error("another program holds {}", .path.display())]
    Locked {
        /// The database.
        path: PathBuf,
    },
    /// The file or its folder cannot be written or read.
    #[error("{} cannot be written: {detail}", .path.display())]
    Unwritable {
        /// The database.
        path: PathBuf,
        /// What SQLite or the system said.
        detail: String,
    },
    /// The file is not whole.
    #[error("{} is damaged: {detail}", .path.display())]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What SQLite said.
        detail: String,
    },
}

/// Why the store could not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The disk refuses.
    #[error("{trouble}")]
    Disk {
        /// Why.
        trouble: Trouble,
        /// Whether the write waits in memory and is tried again; `false` for reads and for writes of a refusing store.
        kept: bool,
    },
    /// Another running copy of the application has the folder.
    #[error("another copy of Usher uses {}", .dir.display())]
    InUse {
        /// The folder.
        dir: PathBuf,
    },
    /// The database was written by a newer version of the application.
    #[error("{} was written by a newer Usher (format {found}, this one knows {known})", .path.display())]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The newest format that this program knows.
        known: i64,
    },
    /// The record that a write belongs to does not exist (any more), such as a deleted conversation.
    #[error("what this belongs to was deleted")]
    Gone,
    /// The record itself cannot be stored.
    #[error("the record cannot be stored: {detail}")]
    Unfit {
        /// What SQLite said.
        detail: String,
    },
    /// The keyring has a secret still that it was to forget.
    #[error("the keyring did not forget a secret: {why}")]
    NotForgotten {
        /// What it says.
        why: String,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// What happened.
    pub fn what(&self) -> String {
        let text = self.to_string();
        let mut letters = text.chars();
        letters
            .next()
            .map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
    }

    /// What is safe.
    pub fn safe(&self) -> &'static str {
        match self {
            Self::Disk { kept: true, .. } => {
                "Nothing is lost while Usher runs: what could not be written is kept in memory and written as soon as that works."
            }
            Self::Disk { kept: false, .. } => {
                "What was stored before is untouched; this one change was not made."
            }
            Self::NotForgotten { .. } => "The secret is where it was, and nobody else has it.",
            Self::InUse { .. } | Self::Newer { .. } => "Nothing was changed.",
            Self::Gone | Self::Unfit { .. } => "Everything else is stored as usual.",
            Self::Closed => "Everything that was confirmed before is on disk.",
        }
    }

    /// What to do.
    pub fn todo(&self) -> &'static str {
        match self {
            Self::Disk { trouble, .. } => trouble.todo(),
            Self::InUse { .. } => "Use the copy that is already open, or close it and start this one again.",
            Self::Newer { .. } => "Start the newer Usher, or choose another data folder.",
            Self::NotForgotten { .. } => "Unlock the keyring and try again.",
            Self::Gone => "Nothing; start a new conversation if the text is still needed.",
            Self::Unfit { .. } => "Please report this: it is a defect of Usher.",
            Self::Closed => "Start Usher again.",
        }
    }

    /// Makes an error of SQLite one of ours. `kept` is only a first guess that the writer corrects.
    pub(super) fn of(error: &rusqlite::Error, path: &Path) -> Self {
        match Trouble::of(error, path) {
            Some(trouble) => Self::Disk { trouble, kept: false },
            None if is_gone(error) => Self::Gone,
            None => Self::Unfit { detail: error.to_string() },
        }
    }

    /// Makes an error of the file system one of ours.
    pub(super) fn of_io(error: &std::io::Error, path: &Path) -> Self {
        let path = path.to_owned();
        let trouble = match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Trouble::Full { path },
            _ => Trouble::Unwritable { path, detail: error.to_string() },
        };
        Self::Disk { trouble, kept: false }
    }
}

impl Trouble {
    /// What to do.
    pub fn todo(&self) -> &'static str {
        match self {
            Self::Full { .. } => "Free some space on that disk. Do not quit Usher before.",
            Self::Locked { .. } => {
                "Close the other program, for example a database browser or a backup. Do not quit Usher before."
            }
            Self::Unwritable { .. } => {
                "Check that the disk is there and that you may write to the folder. Do not quit Usher before."
            }
            Self::Damaged { .. } => {
                "Copy what you still need from the window, then start Usher again: it moves the damaged file aside and keeps it."
            }
        }
    }

    /// Whether an error of SQLite is about the disk and not about the record.
    pub(super) fn of(error: &rusqlite::Error, path: &Path) -> Option<Self> {
        let rusqlite::Error::SqliteFailure(failure, message) = error else { return None };
        let path = path.to_owned();
        let detail = message.clone().unwrap_or_else(|| failure.to_string());
        match failure.code {
            ErrorCode::DiskFull => Some(Self::Full { path }),
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Some(Self::Locked { path }),
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => Some(Self::Damaged { path, detail }),
            ErrorCode::SystemIoFailure
            | ErrorCode::ReadOnly
            | ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied
            | ErrorCode::OutOfMemory
            | ErrorCode::FileLockingProtocolFailed => Some(Self::Unwritable { path, detail }),
            _ => None,
        }
    }
}

fn is_gone(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::QueryReturnedNoRows => true,
        rusqlite::Error::SqliteFailure(failure, _) => {
            failure.extended_code == rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY
        }
        _ => false,
    }
}
