//! What was sent to models: the very bytes, and what became of each request.

use bytes::Bytes;
use rusqlite::{OptionalExtension, Row, params};

use super::{Store, StoreError, Written, open::Migration};

/// The blob stands last, so that reading the columns before it does not read it.
pub(super) const MIGRATIONS: &[Migration] = &[Migration {
    version: 1,
    sql: "CREATE TABLE exchange (
            row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
            conversation_id TEXT NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
            at_ms INTEGER NOT NULL, model TEXT NOT NULL, url TEXT NOT NULL, headers TEXT NOT NULL, sha256 TEXT NOT NULL,
            attempts INTEGER NOT NULL, outcome TEXT NOT NULL, usage TEXT, spans TEXT NOT NULL,
            size INTEGER NOT NULL, body BLOB NOT NULL
          ) STRICT;
          CREATE INDEX exchange_conversation ON exchange (conversation_id);",
}];

const COLUMNS: &str =
    "id, conversation_id, at_ms, model, url, headers, sha256, attempts, outcome, usage, spans, size";

/// A request to a model without its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangeRow {
    /// Its id.
    pub id: String,
    /// The conversation.
    pub conversation_id: String,
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// What the provider calls the model.
    pub model: String,
    /// Where it was sent.
    pub url: String,
    /// Headers that are safe to keep (never a key), as JSON.
    pub headers: String,
    /// The SHA-256 of the body, in hex.
    pub sha256: String,
    /// How often it was sent.
    pub attempts: i64,
    /// What became of it, opaque here.
    pub outcome: String,
    /// What it cost, as JSON, if the provider said.
    pub usage: Option<String>,
    /// Which part of the body comes from where, as JSON.
    pub spans: String,
    /// How many bytes the body has.
    pub size: i64,
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangeOutcome {
    /// How often it was sent.
    pub attempts: i64,
    /// What became of it, opaque here.
    pub outcome: String,
    /// What it cost, as JSON, if the provider said.
    pub usage: Option<String>,
}

impl Store {
    /// Adds a request, before it is sent. `size` is taken from the body.
    pub fn put_exchange(&self, row: ExchangeRow, body: Bytes) -> Written {
        self.write(move |connection| {
            connection
                .execute(
                    "INSERT INTO exchange (id, conversation_id, at_ms, model, url, headers, sha256, attempts, outcome, usage,
                       spans, size, body)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, length(?12), ?12)",
                    params![
                        row.id,
                        row.conversation_id,
                        row.at_ms,
                        row.model,
                        row.url,
                        row.headers,
                        row.sha256,
                        row.attempts,
                        row.outcome,
                        row.usage,
                        row.spans,
                        &body[..],
                    ],
                )
                .map(drop)
        })
    }

    /// Says what became of a request; [`StoreError::Gone`] if it is not there.
    pub fn finish_exchange(&self, id: impl Into<String>, outcome: ExchangeOutcome) -> Written {
        let id = id.into();
        self.write(move |connection| {
            let changed = connection.execute(
                "UPDATE exchange SET attempts = ?2, outcome = ?3, usage = ?4 WHERE id = ?1",
                params![id, outcome.attempts, outcome.outcome, outcome.usage],
            )?;
            if changed == 0 { Err(rusqlite::Error::QueryReturnedNoRows) } else { Ok(()) }
        })
    }

    /// The requests of a conversation without their bodies, oldest first.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn exchanges(
        &self,
        conversation_id: impl Into<String>,
    ) -> Result<Vec<ExchangeRow>, StoreError> {
        let conversation_id = conversation_id.into();
        self.read(move |connection| {
            let mut query = connection.prepare(&format!(
                "SELECT {COLUMNS} FROM exchange WHERE conversation_id = ?1 ORDER BY row"
            ))?;
            query.query_map([conversation_id], row_of)?.collect()
        })
        .await
    }

    /// A request with the very bytes of its body.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn exchange_body(
        &self,
        id: impl Into<String>,
    ) -> Result<Option<(ExchangeRow, Bytes)>, StoreError> {
        let id = id.into();
        self.read_large(move |connection| {
            connection
                .query_row(&format!("SELECT {COLUMNS}, body FROM exchange WHERE id = ?1"), [id], |row| {
                    Ok((row_of(row)?, Bytes::from(row.get::<_, Vec<u8>>(12)?)))
                })
                .optional()
        })
        .await
    }
}

fn row_of(row: &Row<'_>) -> rusqlite::Result<ExchangeRow> {
    Ok(ExchangeRow {
        id: row.get(0)?,
        conversation_id: row.get(1)?,
        at_ms: row.get(2)?,
        model: row.get(3)?,
        url: row.get(4)?,
        headers: row.get(5)?,
        sha256: row.get(6)?,
        attempts: row.get(7)?,
        outcome: row.get(8)?,
        usage: row.get(9)?,
        spans: row.get(10)?,
        size: row.get(11)?,
    })
}
