//! How results of earlier revisions reach the model: the user's choice by tool.

use rusqlite::params;

use super::{Store, StoreError, Written, open::Migration};

pub(super) const MIGRATIONS: &[Migration] = &[Migration {
    version: 1,
    sql: "CREATE TABLE legacy_policy (
            server_id TEXT NOT NULL, tool TEXT NOT NULL, policy TEXT NOT NULL, PRIMARY KEY (server_id, tool)
          ) STRICT, WITHOUT ROWID;",
}];

/// A choice that differs from the default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LegacyPolicy {
    /// The server.
    pub server_id: String,
    /// The tool.
    pub tool: String,
    /// The policy's name, opaque here.
    pub policy: String,
}

impl Store {
    /// Keeps a choice, in place of the one for the same tool.
    pub fn put_legacy_policy(&self, row: LegacyPolicy) -> Written {
        self.write(move |connection| {
            connection
                .execute(
                    "INSERT INTO legacy_policy (server_id, tool, policy) VALUES (?1, ?2, ?3)
                     ON CONFLICT (server_id, tool) DO UPDATE SET policy = excluded.policy",
                    params![row.server_id, row.tool, row.policy],
                )
                .map(drop)
        })
    }

    /// Every choice.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn legacy_policies(&self) -> Result<Vec<LegacyPolicy>, StoreError> {
        self.read(|connection| {
            let mut query = connection
                .prepare("SELECT server_id, tool, policy FROM legacy_policy ORDER BY server_id, tool")?;
            query
                .query_map([], |row| {
                    Ok(LegacyPolicy { server_id: row.get(0)?, tool: row.get(1)?, policy: row.get(2)? })
                })?
                .collect()
        })
        .await
    }
}
