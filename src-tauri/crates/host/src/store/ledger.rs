//! The facts about routing, in the order in which they happened.

use rusqlite::params;

use super::{Store, StoreError, Written, open::Migration};

pub(super) const MIGRATIONS: &[Migration] = &[Migration {
    version: 1,
    sql: "CREATE TABLE ledger (
            seq INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL,
            conversation_id TEXT NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
            call_id TEXT, entry TEXT NOT NULL
          ) STRICT;
          CREATE INDEX ledger_conversation ON ledger (conversation_id, seq);",
}];

/// A fact with its place and time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerRow {
    /// Its place among all facts of this folder.
    pub seq: i64,
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// The conversation.
    pub conversation_id: String,
    /// The call.
    pub call_id: Option<String>,
    /// The fact, as JSON.
    pub entry: String,
}

impl Store {
    /// Adds facts, together or not at all.
    pub fn append_ledger(&self, rows: Vec<LedgerRow>) -> Written {
        self.write(move |connection| {
            let mut insert = connection
                .prepare("INSERT INTO ledger (seq, at_ms, conversation_id, call_id, entry) VALUES (?1, ?2, ?3, ?4, ?5)")?;
            for row in &rows {
                insert.execute(params![row.seq, row.at_ms, row.conversation_id, row.call_id, row.entry])?;
            }
            Ok(())
        })
    }

    /// Puts lines in the place of calls: their facts, their values and their records go. All of it or nothing.
    pub fn fold_calls(&self, call_ids: Vec<String>, lines: Vec<LedgerRow>) -> Written {
        self.write(move |connection| {
            for table in ["ledger WHERE call_id", "payload WHERE call_id", "call WHERE id"] {
                let mut delete = connection.prepare(&format!("DELETE FROM {table} = ?1"))?;
                for call_id in &call_ids {
                    delete.execute([call_id])?;
                }
            }
            let mut put = connection.prepare(
                "INSERT OR REPLACE INTO ledger (seq, at_ms, conversation_id, call_id, entry) VALUES (?1, ?2, ?3, ?4, ?5)",
            )?;
            for row in &lines {
                put.execute(params![row.seq, row.at_ms, row.conversation_id, row.call_id, row.entry])?;
            }
            Ok(())
        })
    }

    /// The facts of a conversation, in order.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn ledger(&self, conversation_id: impl Into<String>) -> Result<Vec<LedgerRow>, StoreError> {
        let conversation_id = conversation_id.into();
        self.read(move |connection| {
            let mut query = connection.prepare(
                "SELECT seq, at_ms, conversation_id, call_id, entry FROM ledger WHERE conversation_id = ?1 ORDER BY seq",
            )?;
            query
                .query_map([conversation_id], |row| {
                    Ok(LedgerRow {
                        seq: row.get(0)?,
                        at_ms: row.get(1)?,
                        conversation_id: row.get(2)?,
                        call_id: row.get(3)?,
                        entry: row.get(4)?,
                    })
                })?
                .collect()
        })
        .await
    }

    /// The seq that the next fact should have: one more than the highest that is kept.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn next_ledger_seq(&self) -> Result<i64, StoreError> {
        self.read(|connection| {
            connection.query_row("SELECT coalesce(max(seq), 0) + 1 FROM ledger", [], |row| row.get(0))
        })
        .await
    }
}
