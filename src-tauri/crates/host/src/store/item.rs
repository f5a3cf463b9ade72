//! The entries of a conversation. Text that streams in is kept in pieces, so that each costs what it weighs, and joined at the end.

use rusqlite::{Connection, Row, params};

use super::{CallRow, Store, StoreError, Written, call, open::Migration, writer::Care};

pub(super) const MIGRATIONS: &[Migration] = &[Migration {
    version: 1,
    sql: "CREATE TABLE item (
            row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
            conversation_id TEXT NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
            seq INTEGER NOT NULL, at_ms INTEGER NOT NULL, kind TEXT NOT NULL, streaming INTEGER NOT NULL,
            body TEXT NOT NULL, text TEXT NOT NULL
          ) STRICT;
          CREATE INDEX item_conversation ON item (conversation_id, seq, kind);
          CREATE INDEX item_streaming ON item (streaming) WHERE streaming = 1;
          CREATE TABLE piece (
            n INTEGER PRIMARY KEY, item_id TEXT NOT NULL REFERENCES item (id) ON DELETE CASCADE, text TEXT NOT NULL
          ) STRICT;
          CREATE INDEX piece_item ON piece (item_id, n);",
}];

const COLUMNS: &str = "id, conversation_id, seq, at_ms, kind, streaming, body, text";

/// An entry of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemRow {
    /// Its id.
    pub id: String,
    /// The conversation.
    pub conversation_id: String,
    /// Its place.
    pub seq: i64,
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// `user`, `assistant` or another name. The text of these two is searchable; no other kind's is.
    pub kind: String,
    /// Whether text is still being appended.
    pub streaming: bool,
    /// Everything but the text, as JSON.
    pub body: String,
    /// The text, including what was appended.
    pub text: String,
}

/// What an earlier run of the application left unfinished.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unfinished {
    /// Answers whose stream did not end. Close each with [`Store::close_item`].
    pub items: Vec<ItemRow>,
    /// Calls that ran or waited for the user. Settle each with [`Store::put_call`].
    pub calls: Vec<CallRow>,
}

impl Store {
    /// Adds an item, or replaces the one with its id; the given text replaces what was appended.
    pub fn put_item(&self, row: ItemRow) -> Written {
        self.write(move |connection| {
            connection.execute("DELETE FROM piece WHERE item_id = ?1", [&row.id])?;
            connection
                .execute(
                    "INSERT INTO item (id, conversation_id, seq, at_ms, kind, streaming, body, text)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
                     ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, at_ms = excluded.at_ms, kind = excluded.kind,
                       streaming = excluded.streaming, body = excluded.body, text = excluded.text",
                    params![
                        row.id,
                        row.conversation_id,
                        row.seq,
                        row.at_ms,
                        row.kind,
                        row.streaming,
                        row.body,
                        row.text
                    ],
                )
                .map(drop)
        })
    }

    /// Appends to the text of an item. Cheap: the cost is that of the piece, not of the text so far. Once answered the piece survives the
    /// end of the process, and a power cut a quarter of a second later, so show it then.
    pub fn append_text(&self, item_id: impl Into<String>, text: impl Into<String>) -> Written {
        let (item_id, text) = (item_id.into(), text.into());
        self.queue(Care::Text, move |connection| {
            connection
                .execute("INSERT INTO piece (item_id, text) VALUES (?1, ?2)", params![item_id, text])
                .map(drop)
        })
    }

    /// Replaces an item's body and nothing else; [`StoreError::Gone`] if the item is not there.
    pub fn put_item_body(&self, item_id: impl Into<String>, body: impl Into<String>) -> Written {
        let (item_id, body) = (item_id.into(), body.into());
        self.write(move |connection| {
            let changed =
                connection.execute("UPDATE item SET body = ?2 WHERE id = ?1", params![item_id, body])?;
            if changed == 0 { Err(rusqlite::Error::QueryReturnedNoRows) } else { Ok(()) }
        })
    }

    /// Ends the stream of an item: joins what was appended, replaces the body; [`StoreError::Gone`] if the item is not there.
    pub fn close_item(&self, item_id: impl Into<String>, body: impl Into<String>) -> Written {
        let (item_id, body) = (item_id.into(), body.into());
        self.write(move |connection| {
            let text = appended(connection, &item_id)?;
            let changed = connection.execute(
                "UPDATE item SET text = text || ?2, body = ?3, streaming = 0 WHERE id = ?1",
                params![item_id, text, body],
            )?;
            if changed == 0 {
                return Err(rusqlite::Error::QueryReturnedNoRows);
            }
            connection.execute("DELETE FROM piece WHERE item_id = ?1", [&item_id]).map(drop)
        })
    }

    /// Removes an item, for example a failed answer that is tried again.
    pub fn delete_item(&self, item_id: impl Into<String>) -> Written {
        let item_id = item_id.into();
        self.write(move |connection| {
            connection.execute("DELETE FROM item WHERE id = ?1", [&item_id]).map(drop)
        })
    }

    /// The items of a conversation, in order.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn items(&self, conversation_id: impl Into<String>) -> Result<Vec<ItemRow>, StoreError> {
        let conversation_id = conversation_id.into();
        self.read(move |connection| {
            select(connection, "conversation_id = ?1 ORDER BY seq, row", [conversation_id])
        })
        .await
    }

    /// What an earlier run left unfinished: ask once, after opening.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn unfinished(&self) -> Result<Unfinished, StoreError> {
        self.read(|connection| {
            Ok(Unfinished {
                items: select(connection, "streaming = 1 ORDER BY conversation_id, seq, row", [])?,
                calls: call::unsettled(connection)?,
            })
        })
        .await
    }
}

fn select(
    connection: &Connection,
    rest: &str,
    params: impl rusqlite::Params,
) -> rusqlite::Result<Vec<ItemRow>> {
    let mut query = connection.prepare(&format!("SELECT {COLUMNS} FROM item WHERE {rest}"))?;
    let mut rows: Vec<ItemRow> = query.query_map(params, row_of)?.collect::<rusqlite::Result<_>>()?;
    for row in rows.iter_mut().filter(|row| row.streaming) {
        row.text.push_str(&appended(connection, &row.id)?);
    }
    Ok(rows)
}

fn appended(connection: &Connection, item_id: &str) -> rusqlite::Result<String> {
    let mut query = connection.prepare("SELECT text FROM piece WHERE item_id = ?1 ORDER BY n")?;
    query.query_map([item_id], |row| row.get::<_, String>(0))?.collect()
}

fn row_of(row: &Row<'_>) -> rusqlite::Result<ItemRow> {
    Ok(ItemRow {
        id: row.get(0)?,
        conversation_id: row.get(1)?,
        seq: row.get(2)?,
        at_ms: row.get(3)?,
        kind: row.get(4)?,
        streaming: row.get(5)?,
        body: row.get(6)?,
        text: row.get(7)?,
    })
}
