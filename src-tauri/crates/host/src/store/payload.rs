//! The values that calls brought, whole, for whom they were made, whether delivered or withheld. Read only when someone opens one.

use bytes::Bytes;
use rusqlite::{OptionalExtension, Row, params};

use super::{Store, StoreError, Written, open::Migration};

/// A large value lies in parts, because the database copies a value twice on its way in.
pub(super) const MIGRATIONS: &[Migration] = &[
    Migration {
        version: 1,
        sql: "CREATE TABLE payload (
            row INTEGER PRIMARY KEY, handle TEXT NOT NULL UNIQUE,
            conversation_id TEXT NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
            call_id TEXT, audience TEXT NOT NULL, format TEXT NOT NULL, mime TEXT NOT NULL, label TEXT NOT NULL,
            created_ms INTEGER NOT NULL, size INTEGER NOT NULL, bytes BLOB NOT NULL
          ) STRICT;
          CREATE INDEX payload_conversation ON payload (conversation_id);
          CREATE INDEX payload_call ON payload (call_id);",
    },
    Migration {
        version: 3,
        sql: "CREATE TABLE payload_part (
            row INTEGER PRIMARY KEY, payload INTEGER NOT NULL REFERENCES payload (row) ON DELETE CASCADE,
            bytes BLOB NOT NULL
          ) STRICT;
          CREATE INDEX payload_part_payload ON payload_part (payload);
          INSERT INTO payload_part (payload, bytes) SELECT row, bytes FROM payload ORDER BY row;
          ALTER TABLE payload DROP COLUMN bytes;",
    },
];

/// How large a part is, in bytes.
const PART: usize = 1 << 20;

const COLUMNS: &str = "handle, conversation_id, call_id, audience, format, mime, label, created_ms, size";

/// A payload without its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayloadRow {
    /// What opens it.
    pub handle: String,
    /// The conversation.
    pub conversation_id: String,
    /// The call that brought it.
    pub call_id: Option<String>,
    /// For whom the server made it, as on the wire; empty where it did not say.
    pub audience: String,
    /// `content`, `structured` or another name.
    pub format: String,
    /// The media type of the bytes.
    pub mime: String,
    /// What it is, for people.
    pub label: String,
    /// Milliseconds since 1970.
    pub created_ms: i64,
    /// How many bytes it has.
    pub size: i64,
}

/// A payload to be stored; `size` in the row is taken from the bytes.
#[derive(Debug, Clone)]
pub struct NewPayload {
    /// All but the bytes.
    pub row: PayloadRow,
    /// The bytes, shared with whoever else holds them.
    pub bytes: Bytes,
}

impl Store {
    /// Adds a payload. One with that handle must not be there: payloads do not change.
    pub fn put_payload(&self, payload: NewPayload) -> Written {
        self.write(move |connection| {
            let NewPayload { row, bytes } = &payload;
            connection.execute(
                "INSERT INTO payload (handle, conversation_id, call_id, audience, format, mime, label, created_ms, size)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                params![
                    row.handle,
                    row.conversation_id,
                    row.call_id,
                    row.audience,
                    row.format,
                    row.mime,
                    row.label,
                    row.created_ms,
                    i64::try_from(bytes.len()).unwrap_or(i64::MAX),
                ],
            )?;
            let payload = connection.last_insert_rowid();
            let mut insert =
                connection.prepare("INSERT INTO payload_part (payload, bytes) VALUES (?1, ?2)")?;
            bytes.chunks(PART).try_for_each(|part| insert.execute(params![payload, part]).map(drop))
        })
    }

    /// Removes a payload; nothing when it is not there.
    pub fn delete_payload(&self, handle: impl Into<String>) -> Written {
        let handle = handle.into();
        self.write(move |connection| {
            connection.execute("DELETE FROM payload WHERE handle = ?1", [&handle]).map(drop)
        })
    }

    /// A payload without its bytes.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn payload(&self, handle: impl Into<String>) -> Result<Option<PayloadRow>, StoreError> {
        let handle = handle.into();
        self.read(move |connection| {
            connection
                .query_row(&format!("SELECT {COLUMNS} FROM payload WHERE handle = ?1"), [handle], row_of)
                .optional()
        })
        .await
    }

    /// The payloads of a conversation, without their bytes, oldest first.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn payloads(&self, conversation_id: impl Into<String>) -> Result<Vec<PayloadRow>, StoreError> {
        let conversation_id = conversation_id.into();
        self.read(move |connection| {
            let mut query = connection
                .prepare(&format!("SELECT {COLUMNS} FROM payload WHERE conversation_id = ?1 ORDER BY row"))?;
            query.query_map([conversation_id], row_of)?.collect()
        })
        .await
    }

    /// The bytes of a payload.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn payload_bytes(&self, handle: impl Into<String>) -> Result<Option<Bytes>, StoreError> {
        let handle = handle.into();
        self.read_large(move |connection| {
            // One moment of the database, so that the row and its parts belong together.
            let moment = connection.unchecked_transaction()?;
            let known: Option<(i64, i64)> = moment
                .query_row("SELECT row, size FROM payload WHERE handle = ?1", [handle], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })
                .optional()?;
            let Some((payload, size)) = known else { return Ok(None) };
            let mut bytes = Vec::new();
            // A size that no memory has is that of a damaged row; then the parts say how much there is.
            let _enough = bytes.try_reserve_exact(usize::try_from(size).unwrap_or_default());
            let mut query =
                moment.prepare("SELECT bytes FROM payload_part WHERE payload = ?1 ORDER BY row")?;
            let mut parts = query.query([payload])?;
            while let Some(part) = parts.next()? {
                bytes.extend_from_slice(part.get_ref(0)?.as_blob()?);
            }
            // What is not whole is not the value.
            Ok(i64::try_from(bytes.len()).is_ok_and(|it| it == size).then(|| Bytes::from(bytes)))
        })
        .await
    }
}

fn row_of(row: &Row<'_>) -> rusqlite::Result<PayloadRow> {
    Ok(PayloadRow {
        handle: row.get(0)?,
        conversation_id: row.get(1)?,
        call_id: row.get(2)?,
        audience: row.get(3)?,
        format: row.get(4)?,
        mime: row.get(5)?,
        label: row.get(6)?,
        created_ms: row.get(7)?,
        size: row.get(8)?,
    })
}
