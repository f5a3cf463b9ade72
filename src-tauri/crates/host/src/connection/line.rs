//! From the bytes of a stream to messages, noise and answers that cannot be read.
//!
//! Deliberately absent: what a message means. A line that is not a JSON object is never guessed at: it is noise.

use std::fmt;

use bytestring::ByteString;
use serde::{
    Deserialize, Deserializer,
    de::{self, IgnoredAny, SeqAccess, Visitor},
};
use serde_json::value::RawValue;
use tokio::io::{AsyncBufRead, AsyncBufReadExt};
use usher_protocol::jsonrpc::{Id, Message, NotAMessage};

/// The longest line that is read whole, in bytes. Servers send pictures and tables in one line; a fixed wall of a megabyte is too low.
pub(super) const MAX_LINE: usize = 256 * 1024 * 1024;

/// What is kept of a longer line, so that the request that it answers can be found.
const KEPT_OF_LONGER: usize = 64 * 1024;

/// The most messages of one batch, and the most identifiers that are looked for in a line that cannot be read. What a peer repeats costs it
/// two bytes and the host a hundred.
const MAX_BATCH: usize = 10_000;
const MAX_IDS: usize = 64;

/// A line as it was read, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ReadLine {
    pub(super) bytes: Vec<u8>,
    /// How long it really was.
    pub(super) length: usize,
}

impl ReadLine {
    pub(super) fn is_whole(&self) -> bool {
        self.bytes.len() == self.length
    }
}

/// Reads a line of at most `limit` bytes; the rest of a longer one is skipped. `None` is the end of the stream.
pub(super) async fn read_line<R: AsyncBufRead + Unpin>(
    reader: &mut R,
    limit: usize,
) -> std::io::Result<Option<ReadLine>> {
    let mut bytes = Vec::new();
    let mut length = 0;
    loop {
        let available = reader.fill_buf().await?;
        if available.is_empty() {
            return Ok((length > 0).then(|| finish(bytes, length)));
        }
        let end = memchr::memchr(b'\n', available);
        let part = &available[..end.unwrap_or(available.len())];
        length += part.len();
        if length <= limit {
            bytes.extend_from_slice(part);
        } else {
            let room = KEPT_OF_LONGER.min(limit);
            let missing = room.saturating_sub(bytes.len()).min(part.len());
            bytes.extend_from_slice(&part[..missing]);
            bytes.truncate(room);
            bytes.shrink_to_fit();
        }
        let consumed = part.len() + usize::from(end.is_some());
        reader.consume(consumed);
        if end.is_some() {
            return Ok(Some(finish(bytes, length)));
        }
    }
}

fn finish(mut bytes: Vec<u8>, mut length: usize) -> ReadLine {
    if bytes.len() == length && bytes.last() == Some(&b'\r') {
        bytes.pop();
        length -= 1;
    }
    ReadLine { bytes, length }
}

/// What a line turned out to be.
#[derive(Debug, PartialEq)]
pub(super) enum Sorted {
    /// A message, or a batch of them (2025-03-26 basic, "Batching").
    Messages(Vec<Message>),
    /// Not a message, nor meant to be one.
    Noise,
    /// Meant to be a message. It may answer one of these requests, the likeliest first.
    Broken { why: String, ids: Vec<Id> },
}

/// Says what a line is. The raw parts of its messages share its text.
pub(super) fn sort(line: &ByteString) -> Sorted {
    let text = line.trim_start_matches('\u{feff}').trim();
    if text.starts_with('[') {
        return sort_batch(text);
    }
    if !text.starts_with('{') {
        return Sorted::Noise;
    }
    match Message::read(&line.slice_ref(text)) {
        Ok(message) => Sorted::Messages(vec![message]),
        // Pretty-printed objects and log records in JSON start with a brace too.
        Err(_) if !text.contains("\"jsonrpc\"") => Sorted::Noise,
        Err(NotAMessage::NotRpc) => {
            Sorted::Broken { why: "JSON, but not a JSON-RPC 2.0 message".to_owned(), ids: ids_in(text) }
        }
        Err(NotAMessage::NotJson(why)) => {
            Sorted::Broken { why: format!("not JSON: {why}"), ids: ids_in(text) }
        }
    }
}

fn sort_batch(text: &str) -> Sorted {
    // `[INFO] listening` and arrays of something else are noise; they are read no further than that shows.
    match serde_json::from_str::<Batch>(text) {
        Ok(Batch::Whole(messages)) if !messages.is_empty() => Sorted::Messages(messages),
        Ok(Batch::TooLong) => Sorted::Broken {
            why: format!("it is a batch of more than {MAX_BATCH} messages"),
            ids: ids_in(text),
        },
        Ok(Batch::Whole(_)) | Err(_) => Sorted::Noise,
    }
}

enum Batch {
    Whole(Vec<Message>),
    TooLong,
}

impl<'de> Deserialize<'de> for Batch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Messages;
        impl<'de> Visitor<'de> for Messages {
            type Value = Batch;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of messages")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Batch, A::Error> {
                let mut messages = Vec::new();
                while let Some(item) = list.next_element::<&RawValue>()? {
                    messages.push(Message::parse(item.get()).map_err(de::Error::custom)?);
                    if messages.len() == MAX_BATCH {
                        return Ok(match list.next_element::<IgnoredAny>()? {
                            None => Batch::Whole(messages),
                            Some(_) => {
                                while list.next_element::<IgnoredAny>()?.is_some() {}
                                Batch::TooLong
                            }
                        });
                    }
                }
                Ok(Batch::Whole(messages))
            }
        }
        deserializer.deserialize_seq(Messages)
    }
}

/// The values of the keys named `id` in text that is not JSON: those of the outermost object first.
fn ids_in(text: &str) -> Vec<Id> {
    let bytes = text.as_bytes();
    let mut found: Vec<(usize, Id)> = Vec::new();
    let mut depth = 0_usize;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let end = end_of_string(bytes, at);
                if &bytes[at..end.min(bytes.len())] == b"\"id\""
                    && let Some(id) = value_after_colon(text, end)
                {
                    found.push((depth, id));
                    if found.len() == 2 * MAX_IDS {
                        found.sort_by_key(|it| it.0);
                        found.truncate(MAX_IDS);
                    }
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found.sort_by_key(|it| it.0);
    found.into_iter().map(|it| it.1).collect()
}

/// The place after the closing quote of the string that opens at `start`.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn value_after_colon(text: &str, at: usize) -> Option<Id> {
    let rest = text.get(at..)?.trim_start().strip_prefix(':')?.trim_start();
    if let Some(quoted) = rest.strip_prefix('"') {
        return quoted.split_once('"').map(|it| Id::Text(it.0.to_owned()));
    }
    let digits = rest.find(|it: char| !it.is_ascii_digit() && it != '-').unwrap_or(rest.len());
    rest[..digits].parse().ok().map(Id::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_read_bounded() {
        let input = b"one\r\n\ntwo\nlong-long-long\nlast";
        // A tiny buffer, so that lines come in pieces.
        let mut reader = tokio::io::BufReader::with_capacity(3, &input[..]);
        let mut seen = Vec::new();
        while let Some(line) = read_line(&mut reader, 6).await.unwrap() {
            seen.push((String::from_utf8(line.bytes.clone()).unwrap(), line.length, line.is_whole()));
        }
        let expected =
            [("one", 3, true), ("", 0, true), ("two", 3, true), ("long-l", 14, false), ("last", 4, true)];
        assert_eq!(seen, expected.map(|it| (it.0.to_owned(), it.1, it.2)));
    }

    #[test]
    fn noise_is_never_a_message() {
        for line in [
            "2025-06-09 12:00:00 started",
            "╔══ FastMCP ══╗",
            "[INFO] listening",
            "[1, 2]",
            "[]",
            "{",
            "  \"jsonrpc\": \"2.0\",",
            "}",
            "{\"level\":\"info\"}",
            "null",
            "42",
            "\"text\"",
        ] {
            assert_eq!(sort(&line.into()), Sorted::Noise, "{line}");
        }
    }

    #[test]
    fn a_batch_is_split() {
        let line = r#"[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","method":"x"}]"#;
        let Sorted::Messages(messages) = sort(&line.into()) else { panic!("not split") };
        assert_eq!(messages.len(), 2);
    }

    #[test]
    fn a_batch_without_end_is_not_kept() {
        let message = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;
        let batch =
            |length: usize| sort(&format!("[{message}{}]", format!(",{message}").repeat(length - 1)).into());
        assert!(matches!(batch(MAX_BATCH), Sorted::Messages(it) if it.len() == MAX_BATCH));
        let Sorted::Broken { ids, .. } = batch(MAX_BATCH + 1) else { panic!("not broken") };
        assert_eq!(ids.first(), Some(&Id::Number(7)));
        assert_eq!(sort(&format!("[{message},1,{message}]").into()), Sorted::Noise);
    }

    #[test]
    fn identifiers_without_end_are_not_kept_and_the_outermost_wins() {
        let inner = r#"{"id":1},"#.repeat(10 * MAX_IDS);
        let Sorted::Broken { ids, .. } =
            sort(&format!(r#"{{"jsonrpc":"2.0","result":[{inner}],"id":7,x"#).into())
        else {
            panic!("not broken")
        };
        assert_eq!(ids.first(), Some(&Id::Number(7)));
        assert!(ids.len() < 2 * MAX_IDS);
    }

    #[test]
    fn a_broken_answer_names_its_request() {
        let ids = |line: &str| match sort(&line.into()) {
            Sorted::Broken { ids, .. } => ids,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            ids(r#"{"jsonrpc":"2.0","result":{"id":9,"t":"\"id\":8"},"id":7,"x":}"#),
            [7, 9].map(Id::Number)
        );
        assert_eq!(ids(r#"{"jsonrpc":"2.0","id": "a", "result": {"t":"cut"#), [Id::Text("a".to_owned())]);
        assert_eq!(ids(r#"{"jsonrpc":"1.0","id":3,"result":{}}"#), [Id::Number(3)]);
        assert_eq!(ids(r#"{"jsonrpc":"2.0","result":{}}"#), []);
    }
}
