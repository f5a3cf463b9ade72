//! Conversations. Creating and changing are different writes, so that a late change cannot bring a deleted conversation back.

use rusqlite::{OptionalExtension, Row, params};

use super::{Store, StoreError, Written, open::Migration, writer::Care};

pub(super) const MIGRATIONS: &[Migration] = &[
    Migration {
    version: 1,
    sql: "CREATE TABLE conversation (
            row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL, created_ms INTEGER NOT NULL,
            updated_ms INTEGER NOT NULL, mode TEXT NOT NULL, model_id TEXT NOT NULL, custom TEXT NOT NULL
          ) STRICT;
          CREATE INDEX conversation_updated ON conversation (updated_ms);",
    },
    Migration {
        version: 2,
        sql: "ALTER TABLE conversation ADD COLUMN by_command INTEGER NOT NULL DEFAULT 0;",
    },
];

const COLUMNS: &str = "id, title, created_ms, updated_ms, mode, model_id, custom, by_command";

/// A conversation without its items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationRow {
    /// Its id.
    pub id: String,
    /// Its title; searchable, so never made from anything but what the user was shown.
    pub title: String,
    /// Milliseconds since 1970.
    pub created_ms: i64,
    /// Milliseconds since 1970.
    pub updated_ms: i64,
    /// The mode's name.
    pub mode: String,
    /// The model's id.
    pub model_id: String,
    /// The choices of Custom mode, as JSON.
    pub custom: String,
    /// Whether the command line began it.
    pub by_command: bool,
}

/// A conversation in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationHead {
    /// The conversation.
    pub row: ConversationRow,
    /// How many messages of the user and answers it has.
    pub message_count: u32,
}

impl Store {
    /// Adds a conversation. One with that id must not be there.
    pub fn create_conversation(&self, row: ConversationRow) -> Written {
        self.write(move |connection| {
            connection
                .execute(
                    "INSERT INTO conversation (id, title, created_ms, updated_ms, mode, model_id, custom, by_command)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                    params![
                        row.id,
                        row.title,
                        row.created_ms,
                        row.updated_ms,
                        row.mode,
                        row.model_id,
                        row.custom,
                        row.by_command
                    ],
                )
                .map(drop)
        })
    }

    /// Changes a conversation; [`StoreError::Gone`] if it was deleted.
    pub fn update_conversation(&self, row: ConversationRow) -> Written {
        self.write(move |connection| {
            let changed = connection.execute(
                "UPDATE conversation SET title = ?2, created_ms = ?3, updated_ms = ?4, mode = ?5, model_id = ?6, custom = ?7
                 WHERE id = ?1",
                params![row.id, row.title, row.created_ms, row.updated_ms, row.mode, row.model_id, row.custom],
            )?;
            if changed == 0 { Err(rusqlite::Error::QueryReturnedNoRows) } else { Ok(()) }
        })
    }

    /// Deletes a conversation and everything recorded for it. When this is answered no byte of it is left in the database's files
    /// (freed pages are overwritten, the log is emptied); what the disk itself keeps of overwritten blocks is not in our hands.
    pub fn delete_conversation(&self, id: impl Into<String>) -> Written {
        let id = id.into();
        self.queue(Care::Erase, move |connection| {
            connection.execute("DELETE FROM conversation WHERE id = ?1", [&id]).map(drop)
        })
    }

    /// A conversation.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn conversation(&self, id: impl Into<String>) -> Result<Option<ConversationRow>, StoreError> {
        let id = id.into();
        self.read(move |connection| {
            connection
                .query_row(&format!("SELECT {COLUMNS} FROM conversation WHERE id = ?1"), [id], row_of)
                .optional()
        })
        .await
    }

    /// Every conversation, the last changed first. Reads no item, no call and no payload.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn conversations(&self) -> Result<Vec<ConversationHead>, StoreError> {
        self.read(|connection| {
            let mut query = connection.prepare(&format!(
                "SELECT {COLUMNS},
                   (SELECT count(*) FROM item WHERE conversation_id = conversation.id AND kind IN ('user', 'assistant'))
                 FROM conversation ORDER BY updated_ms DESC, row DESC"
            ))?;
            query
                .query_map([], |row| Ok(ConversationHead { row: row_of(row)?, message_count: row.get(8)? }))?
                .collect()
        })
        .await
    }
}

fn row_of(row: &Row<'_>) -> rusqlite::Result<ConversationRow> {
    Ok(ConversationRow {
        id: row.get(0)?,
        title: row.get(1)?,
        created_ms: row.get(2)?,
        updated_ms: row.get(3)?,
        mode: row.get(4)?,
        model_id: row.get(5)?,
        custom: row.get(6)?,
        by_command: row.get(7)?,
    })
}
