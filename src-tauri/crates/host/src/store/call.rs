//! Tool calls and what became of them.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{Store, StoreError, Written, open::Migration};

pub(super) const MIGRATIONS: &[Migration] = &[Migration {
    version: 1,
    sql: "CREATE TABLE call (
            id TEXT NOT NULL PRIMARY KEY,
            conversation_id TEXT NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
            item_id TEXT REFERENCES item (id) ON DELETE CASCADE,
            number INTEGER NOT NULL, running INTEGER NOT NULL, state TEXT NOT NULL, record TEXT NOT NULL
          ) STRICT;
          CREATE INDEX call_conversation ON call (conversation_id, number);
          CREATE INDEX call_item ON call (item_id);
          CREATE INDEX call_running ON call (running) WHERE running = 1;",
}];

const COLUMNS: &str = "id, conversation_id, item_id, number, running, state, record";

/// A tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRow {
    /// Its id.
    pub id: String,
    /// The conversation.
    pub conversation_id: String,
    /// The entry that shows it; it must be stored before.
    pub item_id: Option<String>,
    /// Its number in the conversation, from 1.
    pub number: i64,
    /// Whether it runs or waits for the user, so that an end of the application interrupts it.
    pub running: bool,
    /// The state's name, opaque here.
    pub state: String,
    /// All that is known of it, as JSON.
    pub record: String,
}

impl Store {
    /// Adds a call or replaces the one with its id.
    pub fn put_call(&self, row: CallRow) -> Written {
        self.write(move |connection| {
            connection
                .execute(
                    "INSERT INTO call (id, conversation_id, item_id, number, running, state, record)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                     ON CONFLICT (id) DO UPDATE SET item_id = excluded.item_id, number = excluded.number,
                       running = excluded.running, state = excluded.state, record = excluded.record",
                    params![
                        row.id,
                        row.conversation_id,
                        row.item_id,
                        row.number,
                        row.running,
                        row.state,
                        row.record
                    ],
                )
                .map(drop)
        })
    }

    /// The calls of a conversation, by number.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn calls(&self, conversation_id: impl Into<String>) -> Result<Vec<CallRow>, StoreError> {
        let conversation_id = conversation_id.into();
        self.read(move |connection| {
            let mut query = connection.prepare(&format!(
                "SELECT {COLUMNS} FROM call WHERE conversation_id = ?1 ORDER BY number, rowid"
            ))?;
            query.query_map([conversation_id], row_of)?.collect()
        })
        .await
    }

    /// A call.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn call(&self, id: impl Into<String>) -> Result<Option<CallRow>, StoreError> {
        let id = id.into();
        self.read(move |connection| {
            connection
                .query_row(&format!("SELECT {COLUMNS} FROM call WHERE id = ?1"), [id], row_of)
                .optional()
        })
        .await
    }
}

/// The calls that are marked as running.
pub(super) fn unsettled(connection: &Connection) -> rusqlite::Result<Vec<CallRow>> {
    let mut query = connection.prepare(&format!(
        "SELECT {COLUMNS} FROM call WHERE running = 1 ORDER BY conversation_id, number, rowid"
    ))?;
    query.query_map([], row_of)?.collect()
}

fn row_of(row: &Row<'_>) -> rusqlite::Result<CallRow> {
    Ok(CallRow {
        id: row.get(0)?,
        conversation_id: row.get(1)?,
        item_id: row.get(2)?,
        number: row.get(3)?,
        running: row.get(4)?,
        state: row.get(5)?,
        record: row.get(6)?,
    })
}
