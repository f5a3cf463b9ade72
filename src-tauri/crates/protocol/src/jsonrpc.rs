//! JSON-RPC 2.0 messages, read without touching what they carry.

use std::fmt;

use bytestring::ByteString;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, IgnoredAny, Unexpected, Visitor},
};
use serde_json::{Value, value::RawValue};

use crate::RawJson;

/// A request's identifier: a number or a string, kept as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
pub enum Id {
    /// A number.
    Number(i64),
    /// A string.
    Text(String),
}

/// Not derived: the derived form first builds a tree of whatever stands there, and a peer can make that tree fill the memory.
impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrText;
        impl Visitor<'_> for NumberOrText {
            type Value = Id;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number or a string")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Id, E> {
                Ok(Id::Number(number))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Id, E> {
                i64::try_from(number)
                    .map(Id::Number)
                    .map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Id, E> {
                Ok(Id::Text(text.to_owned()))
            }

            fn visit_string<E: de::Error>(self, text: String) -> Result<Id, E> {
                Ok(Id::Text(text))
            }
        }
        deserializer.deserialize_any(NumberOrText)
    }
}

/// A message of either side.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// Asks for something.
    Request {
        /// Names the request.
        id: Id,
        /// What is asked.
        method: String,
        /// With what.
        params: Option<RawJson>,
    },
    /// Tells something.
    Notification {
        /// What is told.
        method: String,
        /// With what.
        params: Option<RawJson>,
    },
    /// Answers a request.
    Response {
        /// The request.
        id: Id,
        /// The answer.
        result: RawJson,
    },
    /// Refuses a request, or reports one that could not be read.
    Error {
        /// The request, unless it could not be read.
        id: Option<Id>,
        /// Why.
        error: ErrorObject,
    },
}

/// Why a request was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct ErrorObject {
    /// A JSON-RPC or MCP error code.
    pub code: i64,
    /// What happened, for people.
    pub message: String,
    /// Details.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<RawJson>,
}

impl ErrorObject {
    /// Invalid parameters.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The method does not exist.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The text is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// The message is not a request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// The server failed.
    pub const INTERNAL: i64 = -32603;
    /// The revision is not implemented; `data.supported` lists those that are (2026-07-28 basic, "Error Codes").
    pub const UNSUPPORTED_REVISION: i64 = -32022;

    /// An error without details.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Adds details.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data.into());
        self
    }
}

/// Why a line is not a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAMessage {
    /// The line is not JSON.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// The line is JSON, but not a JSON-RPC message.
    #[error("JSON, but not a JSON-RPC message")]
    NotRpc,
}

/// `R` is raw JSON: borrowed from the line where one is read, and owned where one is written.
#[derive(Serialize, Deserialize)]
struct Wire<R> {
    #[serde(default)]
    jsonrpc: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<Option<Id>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    method: Option<String>,
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    params: Option<R>,
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    result: Option<R>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<ErrorObject>,
}

fn none<R>() -> Option<R> {
    None
}

impl Message {
    /// Reads one message.
    ///
    /// # Errors
    /// The text is not JSON, or not a JSON-RPC 2.0 message.
    pub fn parse(text: &str) -> Result<Self, NotAMessage> {
        Self::read(&ByteString::from(text))
    }

    /// Reads one message, whose raw parts share the line's text.
    ///
    /// # Errors
    /// The text is not JSON, or not a JSON-RPC 2.0 message.
    pub fn read(line: &ByteString) -> Result<Self, NotAMessage> {
        let text = line.trim();
        // A line that starts with a date is a number to a lazy reader; only objects are messages.
        if !text.starts_with('{') {
            return Err(NotAMessage::NotJson(
                serde_json::from_str::<IgnoredAny>(text)
                    .err()
                    .map_or_else(|| "not an object".to_owned(), |error| error.to_string()),
            ));
        }
        let wire: Wire<&RawValue> = serde_json::from_str(text).map_err(|error| {
            if error.is_data() { NotAMessage::NotRpc } else { NotAMessage::NotJson(error.to_string()) }
        })?;
        if wire.jsonrpc != "2.0" {
            return Err(NotAMessage::NotRpc);
        }
        let own = |it: Option<&RawValue>| it.map(|it| RawJson::within(line, it));
        match (wire.method, wire.id.flatten(), own(wire.result), wire.error) {
            (Some(method), Some(id), _, _) => Ok(Self::Request { id, method, params: own(wire.params) }),
            (Some(method), None, _, _) => Ok(Self::Notification { method, params: own(wire.params) }),
            (None, id, _, Some(error)) => Ok(Self::Error { id, error }),
            (None, Some(id), Some(result), None) => Ok(Self::Response { id, result }),
            (None, _, _, None) => Err(NotAMessage::NotRpc),
        }
    }

    /// Writes it on one line, without the line's end.
    pub fn to_line(&self) -> String {
        let mut wire = Wire {
            jsonrpc: "2.0".to_owned(),
            id: None,
            method: None,
            params: None,
            result: None,
            error: None,
        };
        match self.clone() {
            Self::Request { id, method, params } => {
                (wire.id, wire.method, wire.params) = (Some(Some(id)), Some(method), params);
            }
            Self::Notification { method, params } => (wire.method, wire.params) = (Some(method), params),
            Self::Response { id, result } => (wire.id, wire.result) = (Some(Some(id)), Some(result)),
            Self::Error { id, error } => (wire.id, wire.error) = (Some(id), Some(error)),
        }
        // Strings and raw JSON always write.
        let line = serde_json::to_string(&wire).unwrap_or_default();
        // A raw value may have been pretty-printed by its author; a message is one line.
        if line.contains(['\n', '\r']) { line.replace(['\n', '\r'], " ") } else { line }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_reads_and_writes_back() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"a"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1.0}}"#,
            r#"{"jsonrpc":"2.0","id":"x","result":{"n":9007199254740993}}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#,
        ] {
            assert_eq!(Message::parse(line).unwrap().to_line(), line);
        }
    }

    #[test]
    fn an_identifier_is_a_whole_number_or_a_string() {
        for (text, id) in [
            ("7", Some(Id::Number(7))),
            ("-9223372036854775808", Some(Id::Number(i64::MIN))),
            ("\"7\"", Some(Id::Text("7".to_owned()))),
            ("\"\\u0037\"", Some(Id::Text("7".to_owned()))),
            ("9223372036854775808", None),
            ("1.0", None),
            ("true", None),
            ("[1]", None),
            ("{}", None),
        ] {
            assert_eq!(serde_json::from_str::<Id>(text).ok(), id, "{text}");
        }
    }

    #[test]
    fn noise_is_not_a_message() {
        for line in ["2025-06-09 started", "Listening…", "[]", "{\"a\":1}", "{", "null", ""] {
            assert!(Message::parse(line).is_err(), "{line}");
        }
    }
}
