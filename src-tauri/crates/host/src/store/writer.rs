//! The one thread that writes: in order, many writes to a transaction, and again when the disk refused.

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use rusqlite::Connection;
use tokio::sync::{oneshot, watch};

use super::{Health, StoreError, StoreOptions, Trouble, open};

/// How many writes one transaction takes at most, so that the first of them need not wait for ever.
const GROUP: usize = 512;
/// Streamed text is safe from a kill at once and from a power cut at least this soon.
const SYNC_TEXT: Duration = Duration::from_millis(250);

/// A write that can be run again, since a transaction may be rolled back.
pub(super) type Job = Box<dyn Fn(&Connection) -> rusqlite::Result<()> + Send>;
type Answer = oneshot::Sender<Result<(), StoreError>>;

/// What must be true when a write is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Care {
    /// It survives the end of this process. For pieces of a stream.
    Text,
    /// It survives a power cut.
    Durable,
    /// As `Durable`, and what it deleted is no longer in the log file either.
    Erase,
}

struct Write {
    care: Care,
    keep: bool,
    run: Job,
    answer: Option<Answer>,
}

enum Command {
    Write(Write),
    Close(Answer),
    /// Runs between transactions.
    #[cfg(test)]
    Between(Box<dyn FnOnce(&Connection) + Send>),
}

/// The way to the writing thread, which ends when this is dropped or closed.
pub(super) struct Writer {
    commands: mpsc::Sender<Command>,
}

impl Writer {
    pub(super) fn start(
        connection: Connection,
        dir: &Path,
        options: &StoreOptions,
        health: watch::Sender<Health>,
    ) -> Result<Self, StoreError> {
        let (commands, queue) = mpsc::channel();
        let mut thread = Thread {
            connection,
            path: open::database(dir),
            backlog: VecDeque::new(),
            trouble: None,
            erase: false,
            synced: Instant::now(),
            retry: options.retry,
            lasting: options.lasting,
            health,
        };
        thread::Builder::new()
            .name("usher-write".to_owned())
            .spawn(move || thread.run(&queue))
            .map_err(|error| StoreError::of_io(&error, dir))?;
        Ok(Self { commands })
    }

    pub(super) fn queue(
        &self,
        care: Care,
        keep: bool,
        run: Job,
    ) -> oneshot::Receiver<Result<(), StoreError>> {
        let (answer, result) = oneshot::channel();
        // A closed channel drops the answer with the command, which the caller sees as `Closed`.
        let _ = self.commands.send(Command::Write(Write { care, keep, run, answer: Some(answer) }));
        result
    }

    pub(super) async fn close(&self) -> Result<(), StoreError> {
        let (answer, result) = oneshot::channel();
        if self.commands.send(Command::Close(answer)).is_err() {
            return Ok(());
        }
        result.await.unwrap_or(Ok(()))
    }

    /// Runs something on the writing connection between transactions.
    #[cfg(test)]
    pub(super) fn between(&self, run: impl FnOnce(&Connection) + Send + 'static) {
        let _ = self.commands.send(Command::Between(Box::new(run)));
    }
}

struct Thread {
    connection: Connection,
    path: PathBuf,
    /// What is not on disk yet, oldest first.
    backlog: VecDeque<Write>,
    trouble: Option<Trouble>,
    /// Whether deleted bytes may still stand in the log file.
    erase: bool,
    synced: Instant,
    retry: Duration,
    lasting: bool,
    health: watch::Sender<Health>,
}

impl Thread {
    fn run(&mut self, queue: &mpsc::Receiver<Command>) {
        loop {
            let waits = !self.backlog.is_empty() || self.erase || self.trouble.is_some();
            let first = if waits {
                match queue.recv_timeout(self.retry) {
                    Ok(command) => Some(command),
                    Err(mpsc::RecvTimeoutError::Timeout) => None,
                    Err(mpsc::RecvTimeoutError::Disconnected) => return self.end(),
                }
            } else {
                match queue.recv() {
                    Ok(command) => Some(command),
                    Err(mpsc::RecvError) => return self.end(),
                }
            };
            let mut next = first;
            let mut close = None;
            while let Some(command) = next {
                match command {
                    Command::Write(write) => self.backlog.push_back(write),
                    Command::Close(answer) => close = Some(answer),
                    #[cfg(test)]
                    Command::Between(run) => run(&self.connection),
                }
                next =
                    if self.backlog.len() < GROUP && close.is_none() { queue.try_recv().ok() } else { None };
            }
            self.flush();
            if let Some(answer) = close {
                match self.trouble.clone() {
                    Some(trouble) if !self.backlog.is_empty() => {
                        let _ = answer.send(Err(StoreError::Disk { trouble, kept: true }));
                    }
                    _ => {
                        self.end();
                        let _ = answer.send(Ok(()));
                        return;
                    }
                }
            }
        }
    }

    /// Writes the backlog as far as the disk takes it.
    fn flush(&mut self) {
        let mut trouble = if self.backlog.is_empty() { self.still_refused() } else { None };
        while !self.backlog.is_empty() && trouble.is_none() {
            let count = self.backlog.len().min(GROUP);
            if let Err((done, cause)) = self.group(count) {
                trouble = Some(cause);
                // What stands before the write that failed may still fit; if not, it waits like the rest.
                if done > 0 && self.group(done).is_err() {
                    tracing::debug!("the writes before the one that failed do not fit either");
                }
            }
        }
        if self.erase && trouble.is_none() {
            self.erase = !self.truncate_log();
        }
        let answers = if trouble.is_some() { self.put_off() } else { Vec::new() };
        self.report(trouble.clone());
        // Whoever hears that a write waits finds the health saying so already.
        if let Some(trouble) = trouble {
            for (answer, kept) in answers {
                let _ = answer.send(Err(StoreError::Disk { trouble: trouble.clone(), kept }));
            }
        }
    }

    /// What the disk still refuses when nothing waits for it: then no write but this one would find out that it takes some again.
    fn still_refused(&self) -> Option<Trouble> {
        match self.trouble.as_ref()? {
            // A page that can be written says nothing about the others.
            Trouble::Damaged { .. } => return self.trouble.clone(),
            Trouble::Full { .. } | Trouble::Locked { .. } | Trouble::Unwritable { .. } => {}
        }
        // Writes the first page again as it is.
        let probe = format!("BEGIN IMMEDIATE; PRAGMA user_version = {}; COMMIT", open::newest());
        let error = self.connection.execute_batch(&probe).err()?;
        if !self.connection.is_autocommit() && self.connection.execute_batch("ROLLBACK").is_err() {
            tracing::warn!("a transaction could not be rolled back");
        }
        Trouble::of(&error, &self.path)
    }

    /// Writes the first `count` of the backlog as one transaction and answers them. An error says how many came before the one that
    /// failed; nothing is written then.
    fn group(&mut self, count: usize) -> Result<(), (usize, Trouble)> {
        let durable = self.backlog.iter().take(count).any(|write| write.care != Care::Text);
        let sync = durable || self.synced.elapsed() >= SYNC_TEXT;
        let result = self.transact(count, sync);
        let outcomes = match result {
            Ok(outcomes) => outcomes,
            Err((done, error)) => {
                if !self.connection.is_autocommit() {
                    // When even this fails, the next BEGIN says so.
                    let _ = self.connection.execute_batch("ROLLBACK");
                }
                let trouble = Trouble::of(&error, &self.path).unwrap_or_else(|| Trouble::Unwritable {
                    path: self.path.clone(),
                    detail: error.to_string(),
                });
                return Err((done, trouble));
            }
        };
        if sync {
            self.synced = Instant::now();
        }
        let written: Vec<Write> = self.backlog.drain(..count).collect();
        if written.iter().any(|write| write.care == Care::Erase) {
            self.erase = !self.truncate_log();
        }
        for (write, outcome) in written.into_iter().zip(outcomes) {
            if let Err(error) = &outcome {
                tracing::warn!(%error, "a record was not stored");
            }
            if let Some(answer) = write.answer {
                let _ = answer.send(outcome);
            }
        }
        Ok(())
    }

    fn transact(
        &self,
        count: usize,
        sync: bool,
    ) -> Result<Vec<Result<(), StoreError>>, (usize, rusqlite::Error)> {
        let sql = |sql: &str, done: usize| self.connection.execute_batch(sql).map_err(|error| (done, error));
        let care = match (self.lasting, sync) {
            (true, true) => "PRAGMA synchronous = FULL",
            (true, false) => "PRAGMA synchronous = NORMAL",
            (false, _) => "PRAGMA synchronous = OFF",
        };
        sql(care, 0)?;
        sql("BEGIN IMMEDIATE", 0)?;
        let mut outcomes = Vec::with_capacity(count);
        for (index, write) in self.backlog.iter().take(count).enumerate() {
            sql("SAVEPOINT one", index)?;
            match (write.run)(&self.connection) {
                Ok(()) => outcomes.push(Ok(())),
                Err(error) if Trouble::of(&error, &self.path).is_some() => return Err((index, error)),
                Err(error) => {
                    // A record that cannot be stored must not take its neighbours with it.
                    sql("ROLLBACK TO one", index)?;
                    outcomes.push(Err(StoreError::of(&error, &self.path)));
                }
            }
            sql("RELEASE one", index)?;
        }
        // A failed commit is of nobody in particular, so nothing is said to fit.
        sql("COMMIT", 0)?;
        Ok(outcomes)
    }

    /// Drops what was not to be kept. Answers who waits for what is not on disk, and whether it is kept.
    fn put_off(&mut self) -> Vec<(Answer, bool)> {
        let answers =
            self.backlog.iter_mut().filter_map(|write| Some((write.answer.take()?, write.keep))).collect();
        self.backlog.retain(|write| write.keep);
        answers
    }

    fn report(&mut self, trouble: Option<Trouble>) {
        self.trouble = trouble;
        let now = Health { trouble: self.trouble.clone(), unwritten: self.backlog.len() };
        self.health.send_if_modified(|health| {
            let changed = *health != now;
            *health = now;
            changed
        });
    }

    /// Moves the log into the database and empties it. Answers whether that was possible now.
    fn truncate_log(&self) -> bool {
        let busy =
            self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
        matches!(busy, Ok(0))
    }

    fn end(&mut self) {
        self.flush();
        if !self.truncate_log() {
            tracing::info!("the log was not emptied; the next start does it");
        }
    }
}
