//! What the user allows for good. It lasts across restarts and is withdrawn here, in one place.

use rusqlite::params;

use super::{Store, StoreError, Written, open::Migration};

pub(super) const MIGRATIONS: &[Migration] = &[Migration {
    version: 1,
    sql: "CREATE TABLE approval (
            server_id TEXT NOT NULL, tool TEXT NOT NULL, rule TEXT NOT NULL, definition_hash TEXT,
            PRIMARY KEY (server_id, tool)
          ) STRICT, WITHOUT ROWID;",
}];

/// An approval that stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// The server.
    pub server_id: String,
    /// The tool; `None` for every tool of the server.
    pub tool: Option<String>,
    /// The rule's name, opaque here.
    pub rule: String,
    /// A hash of the declaration that was approved, so that a changed one asks again.
    pub definition_hash: Option<String>,
}

impl Store {
    /// Keeps an approval, in place of the one for the same server and tool.
    pub fn put_approval(&self, row: Approval) -> Written {
        self.write(move |connection| {
            connection
                .execute(
                    "INSERT INTO approval (server_id, tool, rule, definition_hash) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT (server_id, tool) DO UPDATE SET rule = excluded.rule, definition_hash = excluded.definition_hash",
                    params![row.server_id, row.tool.as_deref().unwrap_or(""), row.rule, row.definition_hash],
                )
                .map(drop)
        })
    }

    /// Withdraws what stands for a tool, or, without a tool, everything that stands for the server and its tools.
    pub fn delete_approval(&self, server_id: impl Into<String>, tool: Option<String>) -> Written {
        let server_id = server_id.into();
        self.write(move |connection| {
            connection
                .execute(
                    "DELETE FROM approval WHERE server_id = ?1 AND (?2 IS NULL OR tool = ?2)",
                    params![server_id, tool],
                )
                .map(drop)
        })
    }

    /// Every approval.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn approvals(&self) -> Result<Vec<Approval>, StoreError> {
        self.read(|connection| {
            let mut query = connection.prepare(
                "SELECT server_id, tool, rule, definition_hash FROM approval ORDER BY server_id, tool",
            )?;
            query
                .query_map([], |row| {
                    let tool: String = row.get(1)?;
                    Ok(Approval {
                        server_id: row.get(0)?,
                        tool: (!tool.is_empty()).then_some(tool),
                        rule: row.get(2)?,
                        definition_hash: row.get(3)?,
                    })
                })?
                .collect()
        })
        .await
    }
}
