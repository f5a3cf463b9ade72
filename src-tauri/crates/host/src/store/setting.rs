//! What the user chose: a value by key, opaque here.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, params};

use super::{Store, StoreError, Written, open::Migration};

pub(super) const MIGRATIONS: &[Migration] = &[Migration {
    version: 1,
    sql: "CREATE TABLE setting (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;",
}];

impl Store {
    /// Keeps a setting.
    pub fn put_setting(&self, key: impl Into<String>, value: impl Into<String>) -> Written {
        let (key, value) = (key.into(), value.into());
        self.write(move |connection| {
            connection
                .execute(
                    "INSERT INTO setting (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
                    params![key, value],
                )
                .map(drop)
        })
    }

    /// Forgets a setting.
    pub fn delete_setting(&self, key: impl Into<String>) -> Written {
        let key = key.into();
        self.write(move |connection| {
            connection.execute("DELETE FROM setting WHERE key = ?1", [&key]).map(drop)
        })
    }

    /// A setting.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn setting(&self, key: impl Into<String>) -> Result<Option<String>, StoreError> {
        let key = key.into();
        self.read(move |connection| {
            connection
                .query_row("SELECT value FROM setting WHERE key = ?1", [key], |row| row.get(0))
                .optional()
        })
        .await
    }

    /// Every setting.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn settings(&self) -> Result<BTreeMap<String, String>, StoreError> {
        self.read(|connection| {
            let mut query = connection.prepare("SELECT key, value FROM setting")?;
            query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })
        .await
    }
}
