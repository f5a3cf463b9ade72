//! The configured servers.

use rusqlite::params;

use super::{Store, StoreError, Written, open::Migration};

pub(super) const MIGRATIONS: &[Migration] = &[Migration {
    version: 1,
    sql: "CREATE TABLE server (
            id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL, spec TEXT NOT NULL, enabled INTEGER NOT NULL, era TEXT,
            sort INTEGER NOT NULL
          ) STRICT;",
}];

/// A configured server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerRow {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// How it is started, as JSON.
    pub spec: String,
    /// Whether it is started.
    pub enabled: bool,
    /// What is remembered about the revision that it speaks, as JSON.
    pub era: Option<String>,
    /// Its place in the list.
    pub sort: i64,
}

impl Store {
    /// Adds or replaces a server.
    pub fn put_server(&self, row: ServerRow) -> Written {
        self.write(move |connection| {
            connection
                .execute(
                    "INSERT INTO server (id, name, spec, enabled, era, sort) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                     ON CONFLICT (id) DO UPDATE SET name = excluded.name, spec = excluded.spec, enabled = excluded.enabled,
                       era = excluded.era, sort = excluded.sort",
                    params![row.id, row.name, row.spec, row.enabled, row.era, row.sort],
                )
                .map(drop)
        })
    }

    /// Remembers what was found out about the revision of a server, unless it is reached in another way by now.
    pub fn put_server_era(
        &self,
        id: impl Into<String>,
        spec: impl Into<String>,
        era: Option<String>,
    ) -> Written {
        let (id, spec) = (id.into(), spec.into());
        self.write(move |connection| {
            connection
                .execute("UPDATE server SET era = ?3 WHERE id = ?1 AND spec = ?2", params![id, spec, era])
                .map(drop)
        })
    }

    /// Removes a server with what was approved and chosen for it.
    pub fn delete_server(&self, id: impl Into<String>) -> Written {
        let id = id.into();
        self.write(move |connection| {
            connection.execute("DELETE FROM approval WHERE server_id = ?1", [&id])?;
            connection.execute("DELETE FROM legacy_policy WHERE server_id = ?1", [&id])?;
            connection.execute("DELETE FROM server WHERE id = ?1", [&id]).map(drop)
        })
    }

    /// Every server, in the order of the list.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn servers(&self) -> Result<Vec<ServerRow>, StoreError> {
        self.read(|connection| {
            let mut query = connection
                .prepare("SELECT id, name, spec, enabled, era, sort FROM server ORDER BY sort, id")?;
            query
                .query_map([], |row| {
                    Ok(ServerRow {
                        id: row.get(0)?,
                        name: row.get(1)?,
                        spec: row.get(2)?,
                        enabled: row.get(3)?,
                        era: row.get(4)?,
                        sort: row.get(5)?,
                    })
                })?
                .collect()
        })
        .await
    }
}
