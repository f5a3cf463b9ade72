//! Questions to the client in the middle of a request: one way to ask, whatever the revision.
//!
//! Under revisions with a handshake the question is a request of the server, and the handler waits. Since then a request that needs
//! answers ends with `input_required`, and the client repeats it with them (2026-07-28 basic/patterns/mrtr): the handler runs again from
//! its start, and what was answered before is in the signed state that the client brings back. What a handler does before its last
//! question may therefore be done more than once.

use serde_json::{Map, Value, json};
use usher_protocol::jsonrpc::ErrorObject;

/// What a client may be able to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    /// Forms for the person.
    Elicitation,
    /// Words of the client's model.
    Sampling,
    /// The folders that the client works on.
    Roots,
}

impl Capability {
    /// Its name in the client's capabilities.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Elicitation => "elicitation",
            Self::Sampling => "sampling",
            Self::Roots => "roots",
        }
    }

    /// The error for a client that did not declare it (2026-07-28 basic, "Error Codes").
    pub(crate) fn missing(self) -> ErrorObject {
        let message = format!("this needs the client capability {}, which was not declared", self.as_str());
        ErrorObject::new(MISSING_CAPABILITY, message)
            .with_data(json!({"requiredCapabilities": {self.as_str(): {}}}))
    }
}

/// The code for a capability that a client did not declare.
pub(crate) const MISSING_CAPABILITY: i64 = -32021;

/// A question to the client.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    capability: Capability,
    params: Value,
}

impl Question {
    /// Asks the person to fill in a form. The schema is an object of plain values (2025-06-18 client/elicitation).
    pub fn form(message: &str, requested_schema: &Value) -> Self {
        let params = json!({"message": message, "requestedSchema": requested_schema});
        Self { capability: Capability::Elicitation, params }
    }

    /// Asks the client's model for at most `max_tokens` of an answer to a text.
    pub fn sampling(text: &str, max_tokens: u32) -> Self {
        let message = json!({"role": "user", "content": {"type": "text", "text": text}});
        Self {
            capability: Capability::Sampling,
            params: json!({"messages": [message], "maxTokens": max_tokens}),
        }
    }

    /// Asks for the folders that the client works on.
    pub fn roots() -> Self {
        Self { capability: Capability::Roots, params: json!({}) }
    }

    /// What the client must be able to do.
    pub fn capability(&self) -> Capability {
        self.capability
    }

    pub(crate) fn method(&self) -> &'static str {
        match self.capability {
            Capability::Elicitation => "elicitation/create",
            Capability::Sampling => "sampling/createMessage",
            Capability::Roots => "roots/list",
        }
    }

    pub(crate) fn params(&self) -> &Value {
        &self.params
    }

    /// Its place in `inputRequests`.
    pub(crate) fn to_input_request(&self) -> Value {
        json!({"method": self.method(), "params": self.params})
    }

    /// Whether an answer has the shape of one, and a form that was filled in conforms to its schema.
    pub(crate) fn is_answered_by(&self, answer: &Value) -> bool {
        match self.capability {
            Capability::Elicitation => match answer.get("action").and_then(Value::as_str) {
                Some("accept") => answer.get("content").is_some_and(|content| {
                    let schema = &self.params["requestedSchema"];
                    content.is_object()
                        && jsonschema::validator_for(schema).is_ok_and(|it| it.is_valid(content))
                }),
                Some("decline" | "cancel") => true,
                Some(_) | None => false,
            },
            Capability::Sampling => answer.get("content").is_some_and(|it| it.is_object() || it.is_array()),
            Capability::Roots => answer.get("roots").is_some_and(Value::is_array),
        }
    }
}

/// A result that asks instead of answering.
pub(crate) fn input_required(requests: Map<String, Value>, state: String) -> Value {
    json!({"resultType": "input_required", "inputRequests": requests, "requestState": state})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_checked_before_a_handler_sees_it() {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        let form = Question::form("How many?", &schema);
        for (answer, is_one) in [
            (json!({"action": "accept", "content": {"n": 3}}), true),
            (json!({"action": "accept", "content": {"n": "3"}}), false),
            (json!({"action": "accept"}), false),
            (json!({"action": "decline"}), true),
            (json!({"action": "perhaps"}), false),
            (json!(7), false),
            (Value::Null, false),
        ] {
            assert_eq!(form.is_answered_by(&answer), is_one, "{answer}");
        }
        assert!(Question::roots().is_answered_by(&json!({"roots": []})));
        assert!(!Question::sampling("x", 1).is_answered_by(&json!({"content": "text"})));
    }
}
