//! Payloads: how they are shown, read in pieces, saved, and let through a door by the user.

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use usher_engine::{
    Consumer,
    ledger::LedgerEntry,
    routing::{Delivery, Door, Source},
};
use usher_protocol::{
    RawJson,
    common::{BlockKind, ContentBlock, ResourceBody},
    model::{Payload, Tool},
};

use super::{
    CallRecord, ColumnRecord, DoorKind, DoorRecord, ExchangeRecord, Host, HostError, ItemBody, Shown,
    SpanRecord,
    live::{StoredShare, exchange_of},
    lock,
};
use crate::payload::{
    JsonChildren, Media, Shape, Sort, TableIndex, TableRows, classify, decode_base64, identify,
    json_children, numbered, safe_name,
};

/// How many bytes of payloads are held in memory, and how many of tables. The last of each is held whatever its size; what is not held
/// is read from disk again.
const HELD_BYTES: usize = 16 << 20;
/// The largest piece of media that is decoded, in bytes.
const LARGEST_MEDIA: usize = 256 << 20;

/// Payloads and tables that were used lately.
#[derive(Default)]
pub(super) struct PayloadCache {
    values: Held<RawJson>,
    tables: Held<Arc<TableIndex>>,
}

impl PayloadCache {
    pub(super) fn put(&mut self, handle: &str, value: RawJson) {
        let bytes = value.bytes();
        self.make_room(bytes);
        self.values.put(handle, value, bytes);
    }

    /// Lets go of what a value of this size is going to displace, so that the two are not held at once while the new one is looked at.
    pub(super) fn make_room(&mut self, bytes: usize) {
        for handle in self.values.make_room(bytes) {
            // A table holds the value that it is made of.
            self.tables.remove(&handle);
        }
    }

    /// What is deleted is not to be had any more.
    pub(super) fn forget(&mut self, handle: &str) {
        self.values.remove(handle);
        self.tables.remove(handle);
    }

    fn put_table(&mut self, handle: &str, table: Arc<TableIndex>) {
        let bytes = table.bytes();
        self.tables.make_room(bytes);
        self.tables.put(handle, table, bytes);
    }
}

/// Values with their size in bytes, the one that was used last at the end.
struct Held<T> {
    all: VecDeque<(String, T, usize)>,
    bytes: usize,
}

impl<T> Default for Held<T> {
    fn default() -> Self {
        Self { all: VecDeque::new(), bytes: 0 }
    }
}

impl<T: Clone> Held<T> {
    fn put(&mut self, handle: &str, value: T, bytes: usize) {
        self.bytes += bytes;
        self.all.push_back((handle.to_owned(), value, bytes));
    }

    /// Lets go of the oldest until something of this size fits, or nothing is left; tells whose they were.
    fn make_room(&mut self, bytes: usize) -> Vec<String> {
        let mut gone = Vec::new();
        while self.bytes.saturating_add(bytes) > HELD_BYTES
            && let Some((handle, _, size)) = self.all.pop_front()
        {
            self.bytes -= size;
            gone.push(handle);
        }
        gone
    }

    fn remove(&mut self, handle: &str) {
        let bytes = &mut self.bytes;
        self.all.retain(|it| {
            let stays = it.0 != handle;
            *bytes -= if stays { 0 } else { it.2 };
            stays
        });
    }

    fn get(&mut self, handle: &str) -> Option<T> {
        let place = self.all.iter().rposition(|it| it.0 == handle)?;
        let used = self.all.remove(place)?;
        let value = used.1.clone();
        self.all.push_back(used);
        Some(value)
    }
}

/// A slice of a payload's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PayloadSlice {
    /// The size of the whole, in bytes.
    pub total: usize,
    /// The text, from its start.
    pub text: String,
    /// What this is, for people.
    pub label: String,
}

/// The exact bytes of a request to a model.
#[derive(Debug, Clone)]
pub struct ExchangeBytes {
    /// The request.
    pub exchange: ExchangeRecord,
    /// Its body, which is JSON and so UTF-8.
    pub body: String,
    /// Where each byte comes from.
    pub spans: Vec<SpanRecord>,
    /// Headers that are safe to show.
    pub headers: Vec<(String, String)>,
}

/// What a file is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaveFormat {
    /// A table as comma-separated values.
    Csv,
    /// The value, or the rows that match, as JSON.
    Json,
    /// A piece of media as it is, by its place among the blocks.
    File(usize),
}

impl Host {
    /// Decides how a delivery is shown, off the threads that answer the window.
    pub(super) async fn present(
        &self,
        tool: &Tool,
        delivery: &Delivery,
        raw: &RawJson,
        handle: &str,
    ) -> Shown {
        let (handle, bytes) = (handle.to_owned(), raw.bytes() as u64);
        if matches!(delivery.payload, Payload::Content(_)) {
            return Shown::Blocks { handle };
        }
        let schema = match &delivery.source {
            Source::Output(selector) => tool.variant(selector).and_then(|it| it.schema.clone()),
            Source::LegacyStructured
            | Source::LegacyContent
            | Source::LegacyResult
            | Source::ExtensionMeta(_)
            | Source::ViewAnswer => None,
        };
        let value = raw.clone();
        let shape = tokio::task::spawn_blocking(move || classify(&value, schema.as_ref()))
            .await
            .unwrap_or(Shape::Json);
        match shape {
            Shape::Table(table) => {
                let columns = table.columns().iter();
                let columns = columns
                    .map(|it| ColumnRecord {
                        key: it.key.clone(),
                        title: it.title.clone(),
                        numeric: it.numeric,
                    })
                    .collect();
                let rows = table.len() as u64;
                lock(&self.0.payloads).put_table(&handle, Arc::from(table));
                Shown::Table { handle, columns, rows, bytes }
            }
            Shape::Properties => Shown::Properties { handle, bytes },
            Shape::Json => Shown::Json { handle, bytes },
        }
    }

    /// A payload, from memory or disk.
    ///
    /// # Errors
    /// It is not there, or the disk cannot be read.
    pub async fn payload(&self, handle: &str) -> Result<RawJson, HostError> {
        if let Some(value) = lock(&self.0.payloads).values.get(handle) {
            return Ok(value);
        }
        if let Some(value) = lock(&self.0.fetched).value(handle) {
            return Ok(value);
        }
        if let Some(value) = lock(&self.0.questions).value(handle) {
            return Ok(value);
        }
        let bytes = self.store().payload_bytes(handle).await?.ok_or_else(|| HostError::unknown("output"))?;
        let text = String::from_utf8(bytes.to_vec()).map_err(|_| HostError::unknown("output"))?;
        let value = RawJson::parse(text).map_err(|_| HostError::unknown("output"))?;
        lock(&self.0.payloads).put(handle, value.clone());
        Ok(value)
    }

    pub(super) fn forget_payloads(&self) {
        *lock(&self.0.payloads) = PayloadCache::default();
    }

    /// The blocks of a content payload.
    ///
    /// # Errors
    /// It is not there.
    pub async fn blocks(&self, handle: &str) -> Result<Vec<ContentBlock>, HostError> {
        self.payload(handle).await?.to().map_err(|_| HostError::unknown("output"))
    }

    async fn table(&self, handle: &str) -> Result<Arc<TableIndex>, HostError> {
        if let Some(table) = lock(&self.0.payloads).tables.get(handle) {
            return Ok(table);
        }
        let value = self.payload(handle).await?;
        let shape = tokio::task::spawn_blocking(move || classify(&value, None)).await.unwrap_or(Shape::Json);
        let Shape::Table(table) = shape else { return Err(HostError::unknown("table")) };
        let table: Arc<TableIndex> = Arc::from(table);
        lock(&self.0.payloads).put_table(handle, Arc::clone(&table));
        Ok(table)
    }

    /// Rows of a table, sorted and filtered.
    ///
    /// # Errors
    /// It is not there.
    pub async fn table_window(
        &self,
        handle: &str,
        sort: Option<Sort>,
        filter: String,
        offset: usize,
        limit: usize,
    ) -> Result<TableRows, HostError> {
        let table = self.table(handle).await?;
        blocking(move || table.window(sort.as_ref(), &filter, offset, limit)).await
    }

    /// Children of a JSON value.
    ///
    /// # Errors
    /// There is nothing at the pointer.
    pub async fn json_children(
        &self,
        handle: &str,
        pointer: String,
        offset: usize,
        limit: usize,
    ) -> Result<JsonChildren, HostError> {
        let value = self.payload(handle).await?;
        blocking(move || json_children(value.get(), &pointer, offset, limit)).await?.map_err(|error| {
            HostError::new(
                format!("The value cannot be opened: {error}."),
                "It is kept whole.",
                "Save it as a file.",
            )
        })
    }

    /// The text of a payload, from its start.
    ///
    /// # Errors
    /// It is not there.
    pub async fn payload_text(&self, handle: &str, limit: usize) -> Result<PayloadSlice, HostError> {
        let row = self.store().payload(handle).await?;
        let value = self.payload(handle).await?;
        let text = value.get();
        Ok(PayloadSlice {
            total: text.len(),
            text: text[..text.floor_char_boundary(limit)].to_owned(),
            label: row.map(|it| it.label).unwrap_or_default(),
        })
    }

    /// An output as text, for the clipboard.
    ///
    /// # Errors
    /// It is not there, or is no table.
    pub async fn copy_output(
        &self,
        handle: &str,
        format: SaveFormat,
        sort: Option<Sort>,
        filter: String,
    ) -> Result<String, HostError> {
        match format {
            SaveFormat::Csv => {
                let table = self.table(handle).await?;
                blocking(move || table.to_csv(sort.as_ref(), &filter)).await
            }
            SaveFormat::Json if filter.trim().is_empty() && sort.is_none() => {
                Ok(self.payload(handle).await?.get().to_owned())
            }
            SaveFormat::Json => {
                let table = self.table(handle).await?;
                blocking(move || table.to_json(sort.as_ref(), &filter)).await
            }
            SaveFormat::File(_) => Err(HostError::unknown("text")),
        }
    }

    /// Writes an output to a folder under a name that is not taken. Answers where.
    ///
    /// # Errors
    /// It is not there, or the folder cannot be written.
    pub async fn save_output(
        &self,
        folder: &Path,
        handle: &str,
        format: SaveFormat,
        sort: Option<Sort>,
        filter: String,
    ) -> Result<(PathBuf, u64), HostError> {
        let (name, bytes) = match format {
            SaveFormat::Csv | SaveFormat::Json => {
                let row = self.store().payload(handle).await?;
                let label = row.map(|it| it.label).unwrap_or_default();
                let ending = if format == SaveFormat::Csv { "csv" } else { "json" };
                let name = safe_name(&format!("{}.{ending}", label.replace([' ', '/'], "-")), "output");
                (name, self.copy_output(handle, format, sort, filter).await?.into_bytes())
            }
            SaveFormat::File(index) => {
                let (_, bytes, name) = self.media(handle, index).await?;
                (name, bytes.to_vec())
            }
        };
        let size = bytes.len() as u64;
        let path = write_new(folder, &name, bytes).await?;
        Ok((path, size))
    }

    /// Writes a text into a folder, under a name that is free there.
    ///
    /// # Errors
    /// The disk refuses.
    pub async fn save_text(
        &self,
        folder: &Path,
        name: &str,
        text: String,
    ) -> Result<(PathBuf, u64), HostError> {
        let size = text.len() as u64;
        let path = write_new(folder, &safe_name(name, "report"), text.into_bytes()).await?;
        Ok((path, size))
    }

    /// A piece of media among the blocks of a payload: what it is, its bytes and a name for it.
    ///
    /// # Errors
    /// It is not there, is not base64, or is too large.
    pub async fn media(&self, handle: &str, index: usize) -> Result<(Media, Bytes, String), HostError> {
        let block =
            self.blocks(handle).await?.into_iter().nth(index).ok_or_else(|| HostError::unknown("block"))?;
        let (data, declared, name) = match block.kind {
            BlockKind::Image(it) => (it.data, Some(it.mime), "picture".to_owned()),
            BlockKind::Audio(it) => (it.data, Some(it.mime), "sound".to_owned()),
            BlockKind::Embedded(it) => match it.body {
                ResourceBody::Blob(data) => (data, it.mime, safe_name(&it.uri, "file")),
                ResourceBody::Text(text) => {
                    let media = identify(text.as_bytes(), it.mime.as_deref());
                    return Ok((media, Bytes::from(text), safe_name(&it.uri, "file.txt")));
                }
            },
            BlockKind::Text(_) | BlockKind::Link(_) | BlockKind::Unknown(_) => {
                return Err(HostError::unknown("file"));
            }
        };
        blocking(move || {
            let bytes = decode_base64(&data, LARGEST_MEDIA).map_err(|error| {
                HostError::new(
                    format!("This cannot be shown: {error}."),
                    "It is kept as it came.",
                    "Save the result as JSON to look at it.",
                )
            })?;
            let media = identify(&bytes, declared.as_deref());
            Ok((media, Bytes::from(bytes), name))
        })
        .await?
    }

    /// Shows an output to the model: the user's own action, recorded as such (rule H25). The model reads it with the next message.
    ///
    /// # Errors
    /// The output is not one that the user was shown.
    pub async fn show_the_model(&self, conversation_id: &str, handle: &str) -> Result<(), HostError> {
        let live = self.live(conversation_id).await?;
        let found = live.with(|it| {
            it.calls.values().find_map(|call| {
                let delivery =
                    call.deliveries.iter().find(|it| it.to == Consumer::User && it.handle == handle)?;
                // What a View answered has its own way, on which it is marked as the View's words (X5).
                let is_shown = delivery.source != Source::ViewAnswer;
                is_shown.then(|| (call.clone(), delivery.source.clone()))
            })
        });
        let (call, source) = found.ok_or_else(|| HostError::unknown("output"))?;
        let raw = self.payload(handle).await?;
        let text = match (&source, raw.to::<Vec<ContentBlock>>()) {
            (Source::Output(selector), Ok(blocks))
                if selector.format == usher_protocol::model::Format::Content =>
            {
                words(&blocks)
            }
            (Source::LegacyContent, Ok(blocks)) => words(&blocks),
            _ => raw.get().to_owned(),
        };
        let label = format!("{} of {}, call {}", source.name(), call.tool, call.number);
        let bytes = text.len() as u64;
        let body = ItemBody::Door(DoorRecord {
            kind: DoorKind::ShownToModel,
            call_id: call.id.clone(),
            view_id: None,
            selector: source.selector().cloned(),
            label: label.clone(),
            bytes,
            pictures: None,
        });
        self.record(
            &live,
            Some(&call.id),
            LedgerEntry::DoorOpened {
                to: Consumer::Model,
                what: label,
                bytes,
                door: Door::UserAction("you chose to show it to the model".to_owned()),
                handle: Some(handle.to_owned()),
            },
        );
        self.add_item(&live, body, text).await?;
        Ok(())
    }

    /// The exact bytes of a request to a model.
    ///
    /// # Errors
    /// It is not there.
    pub async fn exchange_body(&self, exchange_id: &str) -> Result<ExchangeBytes, HostError> {
        let (row, body) =
            self.store().exchange_body(exchange_id).await?.ok_or_else(|| HostError::unknown("request"))?;
        let stored: StoredShare = serde_json::from_str(&row.spans).unwrap_or_default();
        let headers = serde_json::from_str(&row.headers).unwrap_or_default();
        let body = String::from_utf8_lossy(&body).into_owned();
        Ok(ExchangeBytes { exchange: exchange_of(row), body, spans: stored.spans, headers })
    }

    /// Reads a linked resource because the user asked, and shows it in the call that linked it.
    ///
    /// # Errors
    /// The server is not connected or refuses.
    pub async fn read_resource(
        &self,
        conversation_id: &str,
        call_id: &str,
        uri: &str,
    ) -> Result<(), HostError> {
        let live = self.live(conversation_id).await?;
        let call: CallRecord =
            live.with(|it| it.calls.get(call_id).cloned()).ok_or_else(|| HostError::unknown("call"))?;
        let refused = |why: String| {
            HostError::new(
                format!("{uri} could not be read: {why}."),
                "Nothing was changed.",
                "Check the server and try again.",
            )
        };
        let server = self.server(&call.server_id).ok_or_else(|| HostError::unknown("server"))?;
        let (connection, _) = server.connection().map_err(|error| refused(error.to_string()))?;
        let read = connection.read_resource(uri).await;
        let raw = read.map_err(|error| refused(server.without_secrets(error).to_string()))?;
        let blocks = contents(&raw).map_err(|error| refused(error.to_string()))?;
        let payload = RawJson::of(&blocks).map_err(|error| refused(error.to_string()))?;
        let handle = self.keep_payload(&live, call_id, None, &format!("the resource {uri}"), &payload);
        self.record(
            &live,
            Some(call_id),
            LedgerEntry::DoorOpened {
                to: Consumer::User,
                what: format!("the resource {uri}"),
                bytes: payload.bytes() as u64,
                door: Door::UserAction("you asked to read it".to_owned()),
                handle: Some(handle.clone()),
            },
        );
        self.change_call(&live, call_id, |call| call.shown.push(Shown::Blocks { handle })).await;
        Ok(())
    }
}

/// The contents of a read resource as blocks, so that they are shown as any other.
pub(super) fn contents(result: &RawJson) -> Result<Vec<ContentBlock>, serde_json::Error> {
    #[derive(serde::Deserialize)]
    struct Wire {
        contents: Vec<RawJson>,
    }
    let block = |it: &RawJson| {
        let raw = RawJson::parse(format!(r#"{{"type":"resource","resource":{it}}}"#));
        ContentBlock::from_raw(&raw.unwrap_or_else(|_| it.clone()))
    };
    Ok(result.to::<Wire>()?.contents.iter().map(block).collect())
}

/// What of some blocks can be read as words. Media shown to the model by hand are named, not sent.
pub(super) fn words(blocks: &[ContentBlock]) -> String {
    let word = |block: &ContentBlock| match &block.kind {
        BlockKind::Text(text) => text.clone(),
        BlockKind::Embedded(it) => match &it.body {
            ResourceBody::Text(text) => text.clone(),
            ResourceBody::Blob(data) => {
                format!("[{} {}, {} bytes of base64]", it.uri, it.mime.as_deref().unwrap_or(""), data.len())
            }
        },
        BlockKind::Link(it) => format!("[link {} {}]", it.name, it.uri),
        BlockKind::Image(it) => format!("[picture {}, {} bytes of base64]", it.mime, it.data.len()),
        BlockKind::Audio(it) => format!("[sound {}, {} bytes of base64]", it.mime, it.data.len()),
        BlockKind::Unknown(raw) => raw.get().to_owned(),
    };
    blocks.iter().map(word).collect::<Vec<_>>().join("\n")
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, HostError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        HostError::new(format!("The work was stopped: {error}."), "Nothing was changed.", "Try again.")
    })
}

/// Writes a file under a name that is not taken: `name`, `name (2)`, …
pub(super) async fn write_new(folder: &Path, name: &str, bytes: Vec<u8>) -> Result<PathBuf, HostError> {
    let (folder, name) = (folder.to_owned(), name.to_owned());
    blocking(move || {
        use std::io::Write;
        let refused = |error: std::io::Error| {
            HostError::new(
                format!("The file could not be written to {}: {error}.", folder.display()),
                "The output is kept in Usher.",
                "Make room or check the folder, and try again.",
            )
        };
        std::fs::create_dir_all(&folder).map_err(refused)?;
        for n in 1..10_000 {
            let path = folder.join(numbered(&name, n));
            match std::fs::File::create_new(&path) {
                Ok(mut file) => {
                    file.write_all(&bytes).map_err(refused)?;
                    return Ok(path);
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(refused(error)),
            }
        }
        Err(HostError::new(
            "Every name for the file is taken.",
            "The output is kept in Usher.",
            "Tidy the folder and try again.",
        ))
    })
    .await?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_large_value_displaces_goes_before_it_comes_and_takes_its_table_along() {
        let records = |bytes: usize| {
            let text = format!(r#"[{{"a":"{}"}}]"#, "x".repeat(bytes));
            RawJson::parse(text).unwrap()
        };
        let mut cache = PayloadCache::default();
        let (small, large) = (records(10), records(HELD_BYTES / 2));
        for (handle, value) in [("small", &small), ("large", &large)] {
            cache.put(handle, value.clone());
            let Shape::Table(table) = classify(value, None) else { panic!("no table") };
            cache.put_table(handle, Arc::from(table));
        }
        assert!(cache.values.get("small").is_some() && cache.values.get("large").is_some());
        cache.make_room(HELD_BYTES / 2);
        assert!(cache.values.get("large").is_none() && cache.tables.get("large").is_none());
        cache.put("larger than all", records(2 * HELD_BYTES));
        assert!(cache.values.get("larger than all").is_some(), "the last is held whatever its size");
        assert_eq!(cache.values.all.len(), 1);
        assert_eq!(cache.tables.bytes, cache.tables.all.iter().map(|it| it.2).sum::<usize>());
    }
}
