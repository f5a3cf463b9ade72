//! A thread that reads with a connection of its own.

use std::{
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
};

use rusqlite::{Connection, OpenFlags};
use tokio::sync::oneshot;

use super::{StoreError, StoreOptions, open};

type Job = Box<dyn FnOnce(&Connection) + Send>;

/// The way to a reading thread, which ends when this is dropped.
pub(super) struct Reader {
    jobs: mpsc::Sender<Job>,
    path: PathBuf,
}

impl Reader {
    /// Opens the connection and starts the thread. The database must be there.
    pub(super) fn start(name: &str, dir: &Path, options: &StoreOptions) -> Result<Self, StoreError> {
        let path = open::database(dir);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&path, flags)
            .and_then(|connection| {
                connection.busy_timeout(options.busy)?;
                connection.execute_batch("PRAGMA query_only = ON")?;
                Ok(connection)
            })
            .map_err(|error| StoreError::of(&error, &path))?;
        let (jobs, queue) = mpsc::channel::<Job>();
        thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                for job in queue {
                    job(&connection);
                }
            })
            .map_err(|error| StoreError::of_io(&error, dir))?;
        Ok(Self { jobs, path })
    }

    /// Runs a query on the thread.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        run: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, result) = oneshot::channel();
        let job: Job = Box::new(move |connection| {
            // Nobody listens when the caller has gone; the result is of no use then.
            let _ = answer.send(run(connection));
        });
        self.jobs.send(job).map_err(|_| StoreError::Closed)?;
        result.await.map_err(|_| StoreError::Closed)?.map_err(|error| StoreError::of(&error, &self.path))
    }
}
