//! What is kept: conversations, calls, payloads, the ledger and what was sent to models, in one SQLite file.
//!
//! One thread writes and commits in groups; two threads read. A write is queued, in order, at the call; the [`Written`] that it answers
//! resolves when it is on disk, so that nothing need be shown before it is kept. When the disk refuses, what could not be written stays
//! in memory in order and is tried again, and [`Store::health`] says so. Each table has its migrations, its row type and its functions in
//! one file. Records hold JSON as text: the store knows no type of the engine.
//!
//! Deliberately absent: any judgement of audiences (only the kinds `user` and `assistant` are ever searchable, see [`search`]), API keys
//! in the database (see [`secret`]), and names of files chosen by a server.

use std::{
    fs::File,
    path::{Path, PathBuf},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use rusqlite::Connection;
use tokio::sync::{oneshot, watch};

pub use approval::Approval;
pub use call::CallRow;
pub use conversation::{ConversationHead, ConversationRow};
pub use error::{StoreError, Trouble};
pub use exchange::{ExchangeOutcome, ExchangeRow};
pub use item::{ItemRow, Unfinished};
pub use keyring::{Keyring, SecretPlace};
pub use ledger::LedgerRow;
pub use legacy_policy::LegacyPolicy;
pub use model::ModelRow;
pub use open::OpenNotice;
pub use payload::{NewPayload, PayloadRow};
pub use search::SearchHit;
pub use secret::{Secrets, SecretsKept};
pub use server::ServerRow;

mod approval;
mod call;
mod conversation;
mod error;
mod exchange;
mod item;
pub mod keyring;
mod ledger;
mod legacy_policy;
mod model;
mod open;
mod payload;
mod reader;
pub mod search;
pub mod secret;
mod server;
mod setting;
#[cfg(test)]
mod tests;
mod writer;

/// How the store waits.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// How long to wait for a lock that another process holds before saying so.
    pub busy: Duration,
    /// How long to wait before writing again what the disk refused.
    pub retry: Duration,
    /// Where secrets are kept.
    pub secrets: SecretPlace,
    /// Whether what is written survives a power cut. Where it need not, no write waits for the disk.
    pub lasting: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            busy: Duration::from_secs(2),
            retry: Duration::from_secs(1),
            secrets: SecretPlace::File,
            lasting: true,
        }
    }
}

/// What opening found.
#[derive(Debug)]
pub struct Opened {
    /// The store, ready.
    pub store: Store,
    /// What was not as it should be and what was done about it.
    pub notices: Vec<OpenNotice>,
}

/// Whether what is shown is also kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Health {
    /// What is wrong now, if anything.
    pub trouble: Option<Trouble>,
    /// How many writes are in memory only, waiting for the disk.
    pub unwritten: usize,
}

/// The open store; cheap to clone.
#[derive(Clone)]
pub struct Store {
    core: Arc<Core>,
    keep: bool,
}

struct Core {
    dir: PathBuf,
    writer: writer::Writer,
    reader: reader::Reader,
    large: reader::Reader,
    secrets: Secrets,
    health: watch::Receiver<Health>,
    /// The exclusive lock on the folder; `None` once closed.
    lock: Mutex<Option<File>>,
}

impl Store {
    /// Opens or makes the store in a folder, and takes the folder for this process. Blocks; call it before the first await or on a
    /// blocking thread.
    ///
    /// A damaged database is moved aside, never deleted, and a fresh one made; [`Opened::notices`] says so.
    ///
    /// # Errors
    /// Another process has the folder; the database was written by a newer version; the folder cannot be written.
    pub fn open(dir: &Path, options: &StoreOptions) -> Result<Opened, StoreError> {
        let mut opening = open::open(dir, options)?;
        let (secrets, more) = Secrets::open(dir, &options.secrets)?;
        opening.notices.extend(more);
        let (health_in, health) = watch::channel(Health::default());
        let reader = reader::Reader::start("usher-read", dir, options)?;
        let large = reader::Reader::start("usher-read-large", dir, options)?;
        let writer = writer::Writer::start(opening.connection, dir, options, health_in)?;
        let lock = Mutex::new(Some(opening.lock));
        let core = Core { dir: dir.to_owned(), writer, reader, large, secrets, health, lock };
        Ok(Opened { store: Self { core: Arc::new(core), keep: true }, notices: opening.notices })
    }

    /// The same store, but a write that the disk refuses is dropped and not kept for later.
    ///
    /// For what the user can simply do again and would otherwise do twice: sending a message, creating a conversation, saving a setting.
    #[must_use]
    pub fn refusing(&self) -> Self {
        Self { core: Arc::clone(&self.core), keep: false }
    }

    /// Where the store is.
    pub fn dir(&self) -> &Path {
        &self.core.dir
    }

    /// API keys and other secrets, which are not in the database.
    pub fn secrets(&self) -> &Secrets {
        &self.core.secrets
    }

    /// Whether what is shown is also kept, now and whenever that changes.
    pub fn health(&self) -> watch::Receiver<Health> {
        self.core.health.clone()
    }

    /// Writes what waits, tidies the file and lets go of the folder. Later writes answer [`StoreError::Closed`].
    ///
    /// # Errors
    /// The disk still refuses; [`Health::unwritten`] says how many writes would be lost. The store stays open then.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.core.writer.close().await?;
        let lock = self.core.lock.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(lock) = lock {
            open::release(&lock);
        }
        Ok(())
    }

    /// Queues a write that must survive a power cut once it is answered.
    fn write(&self, run: impl Fn(&Connection) -> rusqlite::Result<()> + Send + 'static) -> Written {
        self.queue(writer::Care::Durable, run)
    }

    /// Queues a write with a given care.
    fn queue(
        &self,
        care: writer::Care,
        run: impl Fn(&Connection) -> rusqlite::Result<()> + Send + 'static,
    ) -> Written {
        Written(self.core.writer.queue(care, self.keep, Box::new(run)))
    }

    /// Reads small things.
    async fn read<T: Send + 'static>(
        &self,
        run: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.core.reader.read(run).await
    }

    /// Reads what may be large, on a thread of its own, so that lists do not wait for it.
    async fn read_large<T: Send + 'static>(
        &self,
        run: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.core.large.read(run).await
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("dir", &self.core.dir).finish_non_exhaustive()
    }
}

/// Resolves when a queued write is on disk.
///
/// The write is already queued: dropping this neither cancels nor reorders it. An error of [`StoreError::Disk`] with `kept` says that the
/// write waits in memory and will be tried again, so it must not be repeated.
#[must_use = "until this resolves the write may be in memory only"]
#[derive(Debug)]
pub struct Written(oneshot::Receiver<Result<(), StoreError>>);

impl Future for Written {
    type Output = Result<(), StoreError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map(|answer| answer.unwrap_or(Err(StoreError::Closed)))
    }
}
