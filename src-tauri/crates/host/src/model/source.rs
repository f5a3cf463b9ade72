//! Where each byte of a request body comes from, and the one writer of bodies.
//!
//! Deliberately absent: any way to write a text without saying its source, and any second serialisation.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;
use usher_protocol::model::Selector;

use super::HostText;

/// Where a span of a request body comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// Keys, punctuation and options of the provider's format, and the model's name.
    Envelope,
    /// The host's own words.
    Host(HostText),
    /// Instructions that the user keeps for the conversation.
    Instructions,
    /// The declaration of an offered tool.
    Tool {
        /// The name that the model sees.
        wire_name: Arc<str>,
        /// Which part of it.
        part: ToolPart,
    },
    /// A message of the user, or what a door opened by the user lets in.
    User {
        /// The item's id.
        item_id: Arc<str>,
        /// How it came into the conversation.
        door: Door,
        /// Which part of it.
        part: MessagePart,
    },
    /// What the model itself wrote earlier.
    Assistant {
        /// The item's id.
        item_id: Arc<str>,
    },
    /// A call that the model made earlier: its id, name and arguments.
    Call {
        /// The call's id.
        call_id: Arc<str>,
        /// Which part of it.
        part: CallPart,
    },
    /// A part of a tool's result.
    Result {
        /// The call's id.
        call_id: Arc<str>,
        /// Which part of it.
        origin: Origin,
    },
}

/// A part of a message that the user wrote or let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MessagePart {
    /// Its words.
    Words,
    /// A picture of it: the type and the bytes.
    Picture,
}

/// A part of a tool's declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ToolPart {
    /// Its name.
    Name,
    /// Its description.
    Description,
    /// The schema of its arguments.
    Schema,
}

/// A part of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallPart {
    /// Its id.
    Id,
    /// The tool's name.
    Name,
    /// Its arguments.
    Arguments,
}

/// How a text came to stand in a user message. All but the first are explicit doors, recorded as such (rule H25).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Door {
    /// The user typed or attached it.
    Typed,
    /// The user chose "show the model" on an output that was not made for it.
    ShownToModel {
        /// The call whose output it is.
        call_id: Arc<str>,
        /// The output.
        selector: Selector,
    },
    /// A View said it in `ui/message` and the user consented (X5).
    ViewMessage {
        /// The call that the View belongs to.
        call_id: Arc<str>,
    },
    /// A View keeps it as context with `ui/update-model-context` and the user consented (X5).
    ViewContext {
        /// The call that the View belongs to.
        call_id: Arc<str>,
    },
    /// A prompt of a server that the user chose, read and sent (server/prompts).
    Prompt {
        /// The server's name.
        server: Arc<str>,
        /// The prompt's name.
        name: Arc<str>,
    },
    /// A resource of a server that the user attached (server/resources).
    Resource {
        /// The server's name.
        server: Arc<str>,
        /// Its address.
        uri: Arc<str>,
    },
}

/// Which part of a result an item was made from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// Block `block` of the assistant/content output.
    AssistantContent {
        /// Its place in the output.
        block: usize,
    },
    /// The assistant/structured output.
    AssistantStructured,
    /// Block `block` of `content`, under an earlier revision, by local policy.
    LegacyContent {
        /// Its place in `content`.
        block: usize,
    },
    /// `structuredContent`, under an earlier revision, by local policy.
    LegacyStructured,
    /// What a script returned or printed (ARCHITECTURE.md, "Scripts").
    Script,
    /// What a View answered to a call of a tool that it offers itself.
    View,
    /// The host's list of what is wrong with arguments, made from the tool's own schema and the model's own values.
    ArgumentErrors,
    /// A protocol error's message, in the server's words.
    ProtocolError,
    /// A block of a prompt or a resource; its [`Door`] says of which.
    Brought {
        /// Its place in the message.
        block: usize,
    },
}

/// A range of a body and its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Byte offsets into the body.
    pub range: Range<usize>,
    /// Where these bytes come from.
    pub source: Source,
}

impl Source {
    /// What it is, for people: the message, tool, call or output.
    pub fn label(&self) -> String {
        match self {
            Self::Envelope => "format".to_owned(),
            Self::Host(text) => text.name().to_owned(),
            Self::Instructions => "your instructions".to_owned(),
            Self::Tool { wire_name, part } => match part {
                ToolPart::Name => format!("tool {wire_name}: name"),
                ToolPart::Description => format!("tool {wire_name}: description"),
                ToolPart::Schema => format!("tool {wire_name}: schema"),
            },
            Self::User { door, part: MessagePart::Picture, item_id } => {
                let words =
                    Self::User { item_id: item_id.clone(), door: door.clone(), part: MessagePart::Words };
                format!("picture, {}", words.label())
            }
            Self::User { door, part: MessagePart::Words, .. } => match door {
                Door::Typed => "your message".to_owned(),
                Door::ShownToModel { call_id, selector } => {
                    format!("shown to the model: {selector} of call {call_id}")
                }
                Door::ViewMessage { call_id } => format!("message of the View of call {call_id}"),
                Door::ViewContext { call_id } => format!("context of the View of call {call_id}"),
                Door::Prompt { server, name } => format!("prompt {name} of {server}, sent by you"),
                Door::Resource { server, uri } => format!("resource {uri} of {server}, attached by you"),
            },
            Self::Assistant { .. } => "the model's answer".to_owned(),
            Self::Call { call_id, part } => match part {
                CallPart::Id => format!("call {call_id}: id"),
                CallPart::Name => format!("call {call_id}: name"),
                CallPart::Arguments => format!("call {call_id}: arguments"),
            },
            Self::Result { call_id, origin } => match origin {
                Origin::AssistantContent { block } => {
                    format!("call {call_id}: assistant/content, block {block}")
                }
                Origin::AssistantStructured => format!("call {call_id}: assistant/structured"),
                Origin::LegacyContent { block } => {
                    format!("call {call_id}: content, block {block}, by policy")
                }
                Origin::LegacyStructured => format!("call {call_id}: structuredContent, by policy"),
                Origin::Script => format!("call {call_id}: what the script returned"),
                Origin::View => format!("call {call_id}: what a View answered"),
                Origin::ArgumentErrors => format!("call {call_id}: what is wrong with its arguments"),
                Origin::ProtocolError => format!("call {call_id}: the server's error"),
                Origin::Brought { block } => format!("block {block} of {call_id}"),
            },
        }
    }
}

/// Writes a JSON body once and records the source of every byte. The spans tile the body.
#[derive(Debug, Default)]
pub struct BodyWriter {
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

impl BodyWriter {
    /// Appends keys and punctuation of the format.
    pub fn envelope(&mut self, json: &str) {
        self.raw(&Source::Envelope, json);
    }

    /// Appends text that is JSON already, unchanged.
    pub fn raw(&mut self, source: &Source, json: &str) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(json.as_bytes());
        self.close(start, source);
    }

    /// Appends a slice of a string, escaped, without quotes. The caller has opened the string with [`Self::envelope`].
    pub fn escaped(&mut self, source: &Source, text: &str) {
        let start = self.bytes.len();
        escape(&mut self.bytes, text);
        self.close(start, source);
    }

    /// Appends a whole string with its quotes; the quotes belong to the envelope.
    pub fn string(&mut self, source: &Source, text: &str) {
        self.envelope("\"");
        self.escaped(source, text);
        self.envelope("\"");
    }

    /// Appends a text of the host's table, escaped, without quotes.
    pub fn host(&mut self, text: &HostText) {
        self.escaped(&Source::Host(text.clone()), &text.text());
    }

    /// The body and its spans.
    pub fn finish(self) -> (Bytes, Vec<Span>) {
        (self.bytes.into(), self.spans)
    }

    fn close(&mut self, start: usize, source: &Source) {
        let end = self.bytes.len();
        if start == end {
            return;
        }
        match self.spans.last_mut() {
            Some(last) if last.source == *source => last.range.end = end,
            _ => self.spans.push(Span { range: start..end, source: source.clone() }),
        }
    }
}

/// Escapes as RFC 8259, 7 demands and no more.
fn escape(out: &mut Vec<u8>, text: &str) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    for &byte in text.as_bytes() {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..0x20 => {
                out.extend_from_slice(b"\\u00");
                out.push(HEX[usize::from(byte >> 4)]);
                out.push(HEX[usize::from(byte & 15)]);
            }
            _ => out.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaping_is_undone_by_a_json_reader() {
        let every: String = (0u32..0x250).chain(0x1F600..0x1F610).filter_map(char::from_u32).collect();
        let mut writer = BodyWriter::default();
        writer.string(&Source::Instructions, &every);
        let (body, _) = writer.finish();
        assert_eq!(serde_json::from_slice::<String>(&body).unwrap(), every);
    }

    #[test]
    fn adjacent_spans_of_one_source_are_one_and_empty_ones_are_none() {
        let mut writer = BodyWriter::default();
        writer.envelope("{");
        writer.envelope("\"a\":");
        writer.string(&Source::Instructions, "");
        writer.envelope("}");
        let (body, spans) = writer.finish();
        assert_eq!(&body[..], br#"{"a":""}"#);
        assert_eq!(spans, [Span { range: 0..8, source: Source::Envelope }]);
    }
}
