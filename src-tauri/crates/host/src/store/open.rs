//! Opening: the folder's lock, the migrations, and what to do with a file that is not whole.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use rusqlite::Connection;

use super::{
    StoreError, StoreOptions, Trouble, approval, call, conversation, exchange, item, ledger, legacy_policy,
    model, payload, search, server, setting,
};

/// A step from one format of the database to the next.
pub(super) struct Migration {
    /// The format that it leads to, from 1.
    pub(super) version: i64,
    /// What it does.
    pub(super) sql: &'static str,
}

/// Every table's steps. Within a version they run in this order, so that what is referred to comes first.
const TABLES: &[&[Migration]] = &[
    setting::MIGRATIONS,
    server::MIGRATIONS,
    approval::MIGRATIONS,
    legacy_policy::MIGRATIONS,
    model::MIGRATIONS,
    conversation::MIGRATIONS,
    item::MIGRATIONS,
    call::MIGRATIONS,
    payload::MIGRATIONS,
    ledger::MIGRATIONS,
    exchange::MIGRATIONS,
    search::MIGRATIONS,
];

/// A database up to this size is checked whole after an end that was not clean.
const CHECK_LIMIT: u64 = 256 << 20;

/// Something that was not as it should be when the store was opened, in words for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenNotice {
    /// What happened.
    pub what: String,
    /// What is safe.
    pub safe: String,
    /// What to do.
    pub todo: String,
}

pub(super) struct Opening {
    pub(super) connection: Connection,
    pub(super) lock: File,
    pub(super) notices: Vec<OpenNotice>,
}

/// The database's path.
pub(super) fn database(dir: &Path) -> PathBuf {
    dir.join("usher.db")
}

/// The newest format.
pub(super) fn newest() -> i64 {
    TABLES.iter().copied().flatten().map(|step| step.version).max().unwrap_or(0)
}

pub(super) fn open(dir: &Path, options: &StoreOptions) -> Result<Opening, StoreError> {
    make_private_dir(dir).map_err(|error| StoreError::of_io(&error, dir))?;
    let (lock, clean) = take(dir)?;
    let path = database(dir);
    let mut notices = Vec::new();
    let connection = match connect(&path, options, !clean) {
        Ok(connection) => connection,
        Err(StoreError::Disk { trouble: Trouble::Damaged { detail, .. }, .. }) => {
            let kept = move_aside(&path).map_err(|error| StoreError::of_io(&error, &path))?;
            notices.push(OpenNotice {
                what: format!("The file with your conversations was damaged ({detail})."),
                safe: format!("Nothing was deleted: it was moved to {}.", kept.display()),
                todo: "Usher started with an empty file. Restore a backup of the old one, or keep it for repair with the sqlite3 \
                       command `.recover`."
                    .to_owned(),
            });
            connect(&path, options, false)?
        }
        Err(error) => return Err(error),
    };
    mark(&lock, "open\n").map_err(|error| StoreError::of_io(&error, dir))?;
    Ok(Opening { connection, lock, notices })
}

/// Says in the lock file that the end was clean, and lets go of it.
pub(super) fn release(lock: &File) {
    if mark(lock, "").is_err() || lock.unlock().is_err() {
        tracing::info!("the lock file could not be tidied; the next start checks the database");
    }
}

/// Brings a database to a format. Each version is one transaction.
pub(super) fn migrate(connection: &mut Connection, to: i64) -> rusqlite::Result<()> {
    let from: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    for version in from + 1..=to {
        let step = connection.transaction()?;
        for migration in TABLES.iter().copied().flatten().filter(|migration| migration.version == version) {
            step.execute_batch(migration.sql)?;
        }
        step.pragma_update(None, "user_version", version)?;
        step.commit()?;
    }
    Ok(())
}

fn connect(path: &Path, options: &StoreOptions, check: bool) -> Result<Connection, StoreError> {
    let ours = |error: rusqlite::Error| StoreError::of(&error, path);
    let mut connection = Connection::open(path).map_err(ours)?;
    connection.busy_timeout(options.busy).map_err(ours)?;
    let found: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(ours)?;
    let known = newest();
    if found > known {
        return Err(StoreError::Newer { path: path.to_owned(), found, known });
    }
    private_file(path).map_err(|error| StoreError::of_io(&error, path))?;
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL;
             PRAGMA synchronous = FULL;
             PRAGMA fullfsync = ON;
             PRAGMA foreign_keys = ON;
             PRAGMA secure_delete = ON;
             PRAGMA temp_store = MEMORY;
             PRAGMA journal_size_limit = 67108864;",
        )
        .map_err(ours)?;
    if check && fs::metadata(path).is_ok_and(|file| file.len() <= CHECK_LIMIT) {
        let said: String =
            connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(ours)?;
        if said != "ok" {
            return Err(damaged(path, said));
        }
    }
    migrate(&mut connection, known).map_err(|error| match StoreError::of(&error, path) {
        // A step that does not apply means that the file is not what its version says.
        StoreError::Unfit { detail } => damaged(path, detail),
        other => other,
    })?;
    Ok(connection)
}

fn damaged(path: &Path, detail: String) -> StoreError {
    StoreError::Disk { trouble: Trouble::Damaged { path: path.to_owned(), detail }, kept: false }
}

/// Takes the folder for this process. Answers the lock and whether the last end was clean.
fn take(dir: &Path) -> Result<(File, bool), StoreError> {
    let path = dir.join("usher.lock");
    let ours = |error: &std::io::Error| StoreError::of_io(error, &path);
    let mut lock = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(|error| ours(&error))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(StoreError::InUse { dir: dir.to_owned() }),
        Err(TryLockError::Error(error)) => return Err(ours(&error)),
    }
    let mut mark = String::new();
    let clean = lock.read_to_string(&mut mark).is_ok() && mark.is_empty();
    Ok((lock, clean))
}

fn mark(mut lock: &File, text: &str) -> std::io::Result<()> {
    lock.set_len(0)?;
    lock.seek(SeekFrom::Start(0))?;
    lock.write_all(text.as_bytes())
}

/// Renames the database and its companions to the first free name, so that they still belong together.
fn move_aside(path: &Path) -> std::io::Result<PathBuf> {
    let beside = |suffix: &str| PathBuf::from(format!("{}{suffix}", path.display()));
    let mut number = 1;
    while beside(&format!(".damaged-{number}")).exists() {
        number += 1;
    }
    let kept = beside(&format!(".damaged-{number}"));
    for suffix in ["-wal", "-shm"] {
        let companion = beside(suffix);
        if companion.exists() {
            fs::rename(&companion, format!("{}{suffix}", kept.display()))?;
        }
    }
    fs::rename(path, &kept)?;
    Ok(kept)
}

#[cfg(unix)]
fn make_private_dir(dir: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

#[cfg(not(unix))]
fn make_private_dir(dir: &Path) -> std::io::Result<()> {
    fs::create_dir_all(dir)
}

/// Conversations are nobody else's business; SQLite gives its log files the mode of the database.
#[cfg(unix)]
fn private_file(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))
}

#[cfg(not(unix))]
fn private_file(_path: &Path) -> std::io::Result<()> {
    Ok(())
}
