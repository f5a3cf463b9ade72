//! A request as its handler sees it: the arguments, and the ways to talk while it runs.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::Sender;
use usher_protocol::{
    RawJson,
    jsonrpc::{ErrorObject, Message},
};

use crate::{
    ask::{Capability, Question, input_required},
    connection::{Frame, send},
    negotiation::Client,
    peer::Peer,
    seal::Seal,
    tool::Failure,
};

/// How grave a log message is, least first (RFC 5424, as 2025-11-25 server/utilities/logging has it).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// For those who look for a fault.
    Debug,
    /// Ordinary.
    Info,
    /// Ordinary, but worth a look.
    Notice,
    /// Something may go wrong.
    Warning,
    /// Something went wrong.
    Error,
    /// A part failed.
    Critical,
    /// Somebody must act.
    Alert,
    /// Nothing works.
    Emergency,
}

/// A call of a tool, or a request for a prompt.
pub struct Call {
    /// The arguments, an object, as they came.
    pub arguments: RawJson,
    context: Option<Context>,
}

/// Where a request comes from.
pub(crate) struct Context {
    pub(crate) client: Client,
    pub(crate) token: Option<RawJson>,
    /// The least grave message that the client wants.
    pub(crate) level: Option<Level>,
    pub(crate) out: Sender<Frame>,
    pub(crate) peer: Arc<Peer>,
    pub(crate) rounds: Rounds,
}

/// The answers that a repeated request brought, and what the next state is sealed with.
pub(crate) struct Rounds {
    seal: Seal,
    scope: String,
    answers: Map<String, Value>,
}

impl Rounds {
    /// Reads what a repeated request brings.
    ///
    /// # Errors
    /// The state is not one that was sealed for this request.
    pub(crate) fn read(seal: &Seal, method: &str, params: &RawJson) -> Result<Self, ErrorObject> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Repeated {
            #[serde(default)]
            name: Value,
            #[serde(default)]
            arguments: Value,
            #[serde(default)]
            input_responses: Value,
            #[serde(default)]
            request_state: Option<String>,
        }
        let invalid = |why: String| ErrorObject::new(ErrorObject::INVALID_PARAMS, why);
        let repeated: Repeated =
            params.to().map_err(|error| invalid(format!("the parameters cannot be read: {error}")))?;
        // What was agreed to for one set of arguments was not agreed to for another.
        let scope = format!("{method} {} {}", repeated.name, sorted(&repeated.arguments));
        let mut answers = match repeated.request_state {
            Some(state) => seal.open(&scope, &state).ok_or_else(|| {
                invalid("requestState is not one that was given for this request".to_owned())
            })?,
            None => Map::new(),
        };
        if let Value::Object(new) = repeated.input_responses {
            answers.extend(new);
        }
        Ok(Self { seal: seal.clone(), scope, answers })
    }
}

/// The same value with the keys of its objects in order.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let ordered: BTreeMap<_, _> = object.iter().map(|(key, it)| (key, sorted(it))).collect();
            json!(ordered)
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

impl Call {
    /// A call that nobody listens to, for tests of tools.
    pub fn detached(arguments: &Value) -> Self {
        Self { arguments: arguments.into(), context: None }
    }

    pub(crate) fn new(arguments: RawJson, context: Context) -> Self {
        Self { arguments, context: Some(context) }
    }

    /// Reads the arguments. What cannot be read is an error of the tool, so that a model can correct itself.
    ///
    /// # Errors
    /// They do not have the type's shape.
    pub fn arguments<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        self.arguments.to().map_err(|error| Failure::of(format!("The arguments cannot be read: {error}.")))
    }

    /// Tells how far it is, to a client that asked to know (2025-11-25 basic/utilities/progress).
    pub async fn progress(&self, done: u32, total: u32, message: &str) {
        let Some((context, token)) = self.context.as_ref().and_then(|it| Some((it, it.token.as_ref()?)))
        else {
            return;
        };
        let params = json!({"progressToken": token, "progress": done, "total": total, "message": message});
        context.tell("notifications/progress", params).await;
    }

    /// Tells what happens, to a client that wants messages of this level.
    pub async fn log(&self, level: Level, logger: &str, data: &Value) {
        let wanted = |it: &&Context| it.level.is_some_and(|least| level >= least);
        let Some(context) = self.context.as_ref().filter(wanted) else { return };
        context.tell("notifications/message", json!({"level": level, "logger": logger, "data": data})).await;
    }

    /// Whether the client can be asked.
    pub fn can(&self, capability: Capability) -> bool {
        self.context.as_ref().is_some_and(|it| it.client.offers.has(capability))
    }

    /// Asks the client. The key names the question within the request; the answer is the result that its method has.
    ///
    /// # Errors
    /// The client cannot be asked, did not answer, or will repeat the request with the answer: hand the error on.
    pub async fn ask(&self, key: &str, question: &Question) -> Result<Value, Failure> {
        let answers = self.ask_all(&[(key, question.clone())]).await?;
        Ok(answers.into_iter().next().unwrap_or_default())
    }

    /// Asks the client several questions at once; the answers have the order of the questions.
    ///
    /// # Errors
    /// As of [`Self::ask`].
    pub async fn ask_all(&self, questions: &[(&str, Question)]) -> Result<Vec<Value>, Failure> {
        let nobody = || Failure::of("Nobody can be asked.".to_owned());
        let context = self.context.as_ref().ok_or_else(nobody)?;
        for (_, question) in questions {
            if !context.client.offers.has(question.capability()) {
                return Err(context.refuse(question.capability()));
            }
        }
        if context.client.revision.has_request_meta() {
            return context.rounds.answers(questions);
        }
        let mut answers = Vec::new();
        for (key, question) in questions {
            let answer = context.peer.ask(question, &context.out).await.map_err(|error| {
                Failure::of(format!("The client did not answer {key}: {}.", error.message))
            })?;
            if !question.is_answered_by(&answer) {
                return Err(Failure::of(format!("The client's answer to {key} is not one.")));
            }
            answers.push(answer);
        }
        Ok(answers)
    }
}

impl Context {
    async fn tell(&self, method: &str, params: Value) {
        let told = Message::Notification { method: method.to_owned(), params: Some(params.into()) };
        send(&self.out, Frame::Line(told.to_line().into_bytes())).await;
    }

    fn refuse(&self, capability: Capability) -> Failure {
        if self.client.revision.has_request_meta() {
            return Failure::refused(capability.missing());
        }
        Failure::of(format!("This needs the client capability {}, which it has not.", capability.as_str()))
    }
}

impl Rounds {
    /// The answers, if all are there; otherwise the questions that are still to be asked.
    fn answers(&self, questions: &[(&str, Question)]) -> Result<Vec<Value>, Failure> {
        let given = |(key, question): &(&str, Question)| {
            self.answers.get(*key).filter(|it| question.is_answered_by(it)).cloned()
        };
        let open: Map<String, Value> = questions
            .iter()
            .filter(|it| given(it).is_none())
            .map(|(key, question)| ((*key).to_owned(), question.to_input_request()))
            .collect();
        if open.is_empty() {
            return Ok(questions.iter().filter_map(given).collect());
        }
        // What was not asked for here is not carried on; the client could grow the state without end.
        let mut kept = self.answers.clone();
        kept.retain(|key, _| !open.contains_key(key));
        Err(Failure::asks(input_required(open, self.seal.close(&self.scope, &kept))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(params: &Value) -> Result<Rounds, ErrorObject> {
        Rounds::read(&Seal::new(&[1; 32]), "tools/call", &params.into())
    }

    fn form(property: &str) -> Question {
        let schema =
            json!({"type": "object", "properties": {property: {"type": "string"}}, "required": [property]});
        Question::form("?", &schema)
    }

    #[test]
    fn answers_of_earlier_rounds_are_in_the_state() {
        let mut params = json!({"name": "t", "arguments": {"b": 1, "a": 2}});
        let (first, second) = (("first", form("x")), ("second", form("y")));
        let asked = rounds(&params).unwrap().answers(std::slice::from_ref(&first)).unwrap_err().into_asked();
        assert_eq!(asked["inputRequests"]["first"]["method"], "elicitation/create");
        params["requestState"] = asked["requestState"].clone();
        params["inputResponses"] = json!({"first": {"action": "accept", "content": {"x": "one"}}});
        let round = rounds(&params).unwrap();
        assert_eq!(round.answers(std::slice::from_ref(&first)).unwrap()[0]["content"]["x"], "one");
        let asked = round.answers(std::slice::from_ref(&second)).unwrap_err().into_asked();
        assert_ne!(asked["requestState"], params["requestState"]);
        params["requestState"] = asked["requestState"].clone();
        params["inputResponses"] = json!({"second": {"action": "decline"}});
        // The order of an object's keys is not a difference.
        params["arguments"] = json!({"a": 2, "b": 1});
        let answers = rounds(&params).unwrap().answers(&[first, second]).unwrap();
        assert_eq!((&answers[0]["content"]["x"], &answers[1]["action"]), (&json!("one"), &json!("decline")));
        // What was answered for these arguments was not answered for others.
        params["arguments"] = json!({"a": 2, "b": 2});
        assert_eq!(rounds(&params).err().unwrap().code, ErrorObject::INVALID_PARAMS);
    }

    #[test]
    fn an_answer_that_is_none_is_asked_for_again() {
        for responses in [json!({"other": {}}), json!({"first": 3}), json!([]), json!("x"), Value::Null] {
            let params = json!({"name": "t", "inputResponses": responses});
            let asked = rounds(&params).unwrap().answers(&[("first", form("x"))]).unwrap_err().into_asked();
            assert!(asked["inputRequests"].get("first").is_some());
        }
    }
}
