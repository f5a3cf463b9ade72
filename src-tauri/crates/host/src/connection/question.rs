//! What a server asks while one of the host's own requests waits.
//!
//! Servers of the handshake era send requests of their own; later ones answer `input_required` and are asked again (2026-07-28
//! basic/patterns/mrtr). Both become a [`Question`] for whoever sits in front of the host. Deliberately absent: who answers, and how.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use usher_protocol::{RawJson, Revision, jsonrpc::ErrorObject};

/// What the host offers to answer. Only this is advertised, and only this is asked on.
#[derive(Debug, Clone, Default)]
pub struct Offers {
    /// Forms (2025-06-18 and later client/elicitation).
    pub forms: bool,
    /// Addresses that the person is to visit (2025-11-25 and later client/elicitation, "URL mode").
    pub urls: bool,
    /// Messages that a model is to write for the server (client/sampling; deprecated by 2026-07-28).
    pub sampling: bool,
    /// The folders that the server may work in (client/roots; deprecated by 2026-07-28).
    pub roots: bool,
    /// Where the questions go. Nothing is offered without it.
    pub questions: Option<mpsc::Sender<Question>>,
}

impl Offers {
    /// The client capabilities that say so.
    pub(super) fn capabilities(&self, revision: Revision) -> serde_json::Map<String, Value> {
        let mut all = serde_json::Map::new();
        if self.questions.is_none() {
            return all;
        }
        let mut modes = serde_json::Map::new();
        if self.forms {
            modes.insert("form".to_owned(), json!({}));
        }
        if self.urls {
            modes.insert("url".to_owned(), json!({}));
        }
        if !modes.is_empty() {
            all.insert("elicitation".to_owned(), Value::Object(modes));
        }
        if self.sampling {
            all.insert("sampling".to_owned(), json!({}));
        }
        if self.roots {
            // Later revisions ask whenever they want to know, so that nothing needs to be told.
            let roots = if revision.has_handshake() { json!({"listChanged": true}) } else { json!({}) };
            all.insert("roots".to_owned(), roots);
        }
        all
    }

    /// Asks, and waits for the answer as it goes on the wire. Dropping the future withdraws the question.
    ///
    /// # Errors
    /// The question was not offered to be answered, cannot be read, or nobody is there to answer it.
    pub(super) async fn answer(
        &self,
        method: &str,
        params: Option<&RawJson>,
    ) -> Result<RawJson, ErrorObject> {
        let ask = Ask::read(method, params)?;
        let offered = match &ask {
            Ask::Form { .. } => self.forms,
            Ask::Url { .. } => self.urls,
            Ask::Sample { .. } => self.sampling,
            Ask::Roots => self.roots,
        };
        let Some(questions) = self.questions.as_ref().filter(|_| offered) else {
            return Err(not_offered(method));
        };
        let (answer, answered) = oneshot::channel();
        let gone = |()| ErrorObject::new(ErrorObject::INTERNAL, "nobody is there to answer");
        questions.send(Question { ask, answer }).await.map_err(|_| gone(()))?;
        match answered.await.map_err(|_| gone(()))? {
            Answer::Elicited(elicited) => RawJson::of(&elicited)
                .map_err(|error| ErrorObject::new(ErrorObject::INTERNAL, error.to_string())),
            Answer::Sampled(message) => Ok(message),
            Answer::Roots(roots) => Ok(json!({"roots": roots}).into()),
            Answer::Refused { why } => Err(ErrorObject::new(REFUSED_BY_USER, why)),
            Answer::Unusable { why } => Err(ErrorObject::new(ErrorObject::INVALID_PARAMS, why)),
            Answer::Failed { why } => Err(ErrorObject::new(ErrorObject::INTERNAL, why)),
        }
    }
}

/// The person said no (2025-11-25 client/sampling, "Error Handling").
const REFUSED_BY_USER: i64 = -1;

pub(super) fn not_offered(method: &str) -> ErrorObject {
    ErrorObject::new(ErrorObject::METHOD_NOT_FOUND, format!("{method} is not offered"))
}

/// Whether a method is one of those that servers may ask.
pub(super) fn is_question(method: &str) -> bool {
    matches!(method, "elicitation/create" | "sampling/createMessage" | "roots/list")
}

/// A server's question, and the way back. Dropping it says that nobody answers.
#[derive(Debug)]
pub struct Question {
    /// What is asked. Untrusted.
    pub ask: Ask,
    answer: oneshot::Sender<Answer>,
}

impl Question {
    /// Answers it. A server that no longer waits is no error.
    pub fn answer(self, answer: Answer) {
        let _gone = self.answer.send(answer);
    }

    /// Waits until the server no longer wants an answer.
    pub async fn withdrawn(&mut self) {
        self.answer.closed().await;
    }
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// The person is to fill in a form.
    Form {
        /// Why, in the server's words.
        message: String,
        /// A flat JSON Schema of the answer, as it came.
        schema: RawJson,
    },
    /// The person is to visit an address, outside of the host and of what it can see.
    Url {
        /// Why, in the server's words.
        message: String,
        /// Where.
        url: String,
        /// Names it, under 2025-11-25.
        id: Option<String>,
    },
    /// A model is to write a message.
    Sample {
        /// The parameters of `sampling/createMessage`, as they came.
        params: RawJson,
    },
    /// Which folders the server may work in.
    Roots,
}

impl Ask {
    fn read(method: &str, params: Option<&RawJson>) -> Result<Self, ErrorObject> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Elicitation {
            #[serde(default)]
            mode: Option<String>,
            message: String,
            #[serde(default)]
            requested_schema: Option<RawJson>,
            #[serde(default)]
            url: Option<String>,
            #[serde(default)]
            elicitation_id: Option<String>,
        }
        let invalid = |why: String| ErrorObject::new(ErrorObject::INVALID_PARAMS, why);
        match method {
            "elicitation/create" => {
                let params = params.ok_or_else(|| invalid("elicitation/create has no params".to_owned()))?;
                let read: Elicitation = params.to().map_err(|error| invalid(error.to_string()))?;
                // Without a mode it is a form (2025-11-25 client/elicitation).
                match (read.mode.as_deref().unwrap_or("form"), read.requested_schema, read.url) {
                    ("form", Some(schema), _) => Ok(Self::Form { message: read.message, schema }),
                    ("form", None, _) => Err(invalid("a form needs a requestedSchema".to_owned())),
                    ("url", _, Some(url)) => {
                        Ok(Self::Url { message: read.message, url, id: read.elicitation_id })
                    }
                    ("url", _, None) => Err(invalid("the url is missing".to_owned())),
                    (mode, _, _) => Err(invalid(format!("the mode {mode:?} is not known"))),
                }
            }
            "sampling/createMessage" => {
                let params = params
                    .cloned()
                    .ok_or_else(|| invalid("sampling/createMessage has no params".to_owned()))?;
                Ok(Self::Sample { params })
            }
            "roots/list" => Ok(Self::Roots),
            _ => Err(not_offered(method)),
        }
    }
}

/// What is answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// To a form or an address.
    Elicited(Elicited),
    /// The result of `sampling/createMessage`, as it goes on the wire.
    Sampled(RawJson),
    /// The folders.
    Roots(Vec<Root>),
    /// The person refused to let a model write.
    Refused {
        /// In words that the server may see.
        why: String,
    },
    /// What was asked cannot be answered as it was asked.
    Unusable {
        /// In words that the server may see.
        why: String,
    },
    /// It could not be answered, by nobody's will.
    Failed {
        /// In words that the server may see.
        why: String,
    },
}

/// What the person did (client/elicitation, "Response Actions").
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "action", rename_all = "lowercase")]
pub enum Elicited {
    /// Agreed.
    Accept {
        /// What was filled in; nothing for an address.
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<Value>,
    },
    /// Said no.
    Decline,
    /// Went away without saying either.
    Cancel,
}

impl super::Connection {
    /// Tells a server that hears of folders that they are others now; later revisions ask anew by themselves (client/roots, "Root List
    /// Changes").
    pub fn tell_roots_changed(&self) {
        if !self.revision().has_handshake() || !self.0.options.offers.roots {
            return;
        }
        let method = "notifications/roots/list_changed".to_owned();
        let told = usher_protocol::jsonrpc::Message::Notification { method, params: None };
        if self.0.wire.queue(told).is_err() {
            self.0
                .wire
                .defect("The server does not read its input; it was not told of its folders.".to_owned());
        }
    }
}

/// A folder that a server may work in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Root {
    /// A `file://` address.
    pub uri: String,
    /// Its name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}
