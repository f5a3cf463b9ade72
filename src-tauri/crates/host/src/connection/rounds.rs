//! Requests that a server answers with questions of its own (2026-07-28 basic/patterns/mrtr).
//!
//! The request is repeated with the answers and with the server's state, byte for byte, until the server has what it needs.
//! Deliberately absent: the state's meaning, which is the server's alone.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::pending,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::{broadcast, mpsc};
use tokio_util::sync::CancellationToken;
use usher_protocol::{RawJson, jsonrpc::ErrorObject};

use super::{CallError, Connection, Progress};

/// How often a request is repeated at most. A server may always want one more thing.
pub(super) const MAX_ROUNDS: u32 = 16;

/// The person must visit an address first (2025-11-25 client/elicitation).
const URL_REQUIRED: i64 = -32042;

/// The longest that the host waits before it repeats a request, in first waits.
const LONGEST_PAUSE: u32 = 60;

/// A person at an address takes longer than a server that is not ready, in waits of the latter.
const VISIT: u32 = 4;

/// What a server wants before it goes on.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InputRequired {
    #[serde(default)]
    pub(super) input_requests: BTreeMap<String, InputRequest>,
    /// Kept as JSON text, so that not even an escape changes.
    #[serde(default)]
    request_state: Option<RawJson>,
}

#[derive(Debug, Deserialize)]
pub(super) struct InputRequest {
    pub(super) method: String,
    #[serde(default)]
    pub(super) params: Option<RawJson>,
}

/// What kind of result this is.
#[derive(Debug)]
pub(super) enum Round {
    /// An answer.
    Complete,
    /// More is needed.
    InputRequired(InputRequired),
    /// It goes on as a task, which is asked for its end.
    Task,
    /// Nothing that this revision or its extensions know.
    Unknown(String),
}

/// Looks at `resultType`, which is absent in results of servers that do not write it yet.
pub(super) fn read(result: &RawJson) -> Round {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Kind {
        #[serde(default)]
        result_type: Option<String>,
    }
    match result.to::<Kind>().ok().and_then(|it| it.result_type).as_deref() {
        None | Some("complete") => Round::Complete,
        Some("task") => Round::Task,
        Some("input_required") => match result.to::<InputRequired>() {
            Ok(required) if required.input_requests.is_empty() && required.request_state.is_none() => {
                Round::Unknown("input_required without inputRequests and requestState".to_owned())
            }
            Ok(required) => Round::InputRequired(required),
            Err(error) => Round::Unknown(format!("input_required that cannot be read: {error}")),
        },
        Some(other) => Round::Unknown(format!("the resultType {other:?}")),
    }
}

/// The parameters of the next round: those of the first, the answers, and the state if there is one.
pub(super) fn again(
    first: &RawJson,
    required: &InputRequired,
    answers: &BTreeMap<String, RawJson>,
) -> Result<RawJson, ErrorObject> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct More<'a> {
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        input_responses: &'a BTreeMap<String, RawJson>,
        #[serde(skip_serializing_if = "Option::is_none")]
        request_state: Option<&'a RawJson>,
    }
    let unwritable = |why: String| ErrorObject::new(ErrorObject::INTERNAL, why);
    let more = More { input_responses: answers, request_state: required.request_state.as_ref() };
    let more = serde_json::to_string(&more).map_err(|error| unwritable(error.to_string()))?;
    let inner = |text: &str| text.trim().strip_prefix('{')?.strip_suffix('}').map(|it| it.trim().to_owned());
    let (Some(first), Some(more)) = (inner(first.get()), inner(&more)) else {
        return Err(unwritable("the parameters are not an object".to_owned()));
    };
    let comma = if first.is_empty() || more.is_empty() { "" } else { "," };
    RawValue::from_string(format!("{{{first}{comma}{more}}}"))
        .map(RawJson::from)
        .map_err(|error| unwritable(error.to_string()))
}

impl Connection {
    /// Makes a request that the server may answer with questions of its own, as often as it takes (2026-07-28 basic/patterns/mrtr).
    pub(super) async fn rounds(
        &self,
        method: &'static str,
        first: RawJson,
        limit: Duration,
        progress: Option<mpsc::Sender<Progress>>,
        cancel: &CancellationToken,
    ) -> Result<RawJson, CallError> {
        // The way of a request is deep; on the heap it does not make every caller's future large.
        Box::pin(self.counted_rounds(method, first, limit, progress, cancel)).await.map(|it| it.0)
    }

    /// The same; tells how often the request was made.
    pub(super) async fn counted_rounds(
        &self,
        method: &'static str,
        first: RawJson,
        limit: Duration,
        progress: Option<mpsc::Sender<Progress>>,
        cancel: &CancellationToken,
    ) -> Result<(RawJson, u32), CallError> {
        let mut params = first.clone();
        let mut visited = BTreeSet::new();
        for round in 1..=MAX_ROUNDS {
            let result = match self.request(method, params.clone(), limit, progress.clone(), cancel).await {
                Err(CallError::Server { code, data: Some(data), .. })
                    if code == URL_REQUIRED && self.revision().has_handshake() =>
                {
                    let mut completed = self.0.wire.completed();
                    let awaited = self.visit(&data, &mut visited, cancel).await?;
                    self.pause(round, VISIT, all_of(&mut completed, awaited), cancel).await?;
                    continue;
                }
                result => result?,
            };
            if !self.revision().has_result_type() {
                return Ok((result, round));
            }
            let required = match read(&result) {
                Round::Complete => return Ok((result, round)),
                Round::Task if self.has_tasks() && method == "tools/call" => {
                    let result = self.follow_task(&result, limit, progress, cancel).await?;
                    return Ok((result, round));
                }
                Round::Task => {
                    let why = format!("it is a task, which nobody offered to follow for {method}");
                    return Err(CallError::Unreadable { why });
                }
                Round::Unknown(what) => return Err(CallError::Unreadable { why: format!("it is {what}") }),
                Round::InputRequired(required) => required,
            };
            // A server that asks for nothing is not ready, and no readier at once.
            if required.input_requests.is_empty() {
                self.pause(round, 1, pending(), cancel).await?;
            }
            let answers = tokio::select! {
                answers = self.answers(&required.input_requests) => answers?,
                () = cancel.cancelled() => return Err(CallError::Cancelled),
                exit = self.closed() => return Err(CallError::Closed { exit }),
            };
            params = again(&first, &required, &answers)
                .map_err(|error| CallError::Unwritable { why: error.message })?;
        }
        Err(CallError::TooManyRounds { rounds: MAX_ROUNDS })
    }

    /// Waits before a request is repeated, longer each round and not when something comes `early`.
    async fn pause(
        &self,
        round: u32,
        times: u32,
        early: impl Future<Output = ()>,
        cancel: &CancellationToken,
    ) -> Result<(), CallError> {
        let longer = times.saturating_mul(2_u32.saturating_pow(round.saturating_sub(1))).min(LONGEST_PAUSE);
        tokio::select! {
            () = early => Ok(()),
            () = tokio::time::sleep(self.0.options.repeat_after.saturating_mul(longer)) => Ok(()),
            () = cancel.cancelled() => Err(CallError::Cancelled),
            exit = self.closed() => Err(CallError::Closed { exit }),
        }
    }

    /// Asks for the addresses that the person must visit before the request can succeed (2025-11-25 client/elicitation, "URL
    /// Elicitation Required Error"), each once. Gives the names of what the server may say is done there: the person agrees before
    /// they are there.
    async fn visit(
        &self,
        data: &RawJson,
        visited: &mut BTreeSet<String>,
        cancel: &CancellationToken,
    ) -> Result<BTreeSet<String>, CallError> {
        #[derive(Deserialize)]
        struct Needed {
            elicitations: Vec<RawJson>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Named {
            #[serde(default)]
            elicitation_id: Option<String>,
        }
        const METHOD: &str = "elicitation/create";
        let unanswered = |why: String| CallError::Unanswered { method: METHOD.to_owned(), why };
        let needed: Needed = data.to().map_err(|error| unanswered(error.to_string()))?;
        let mut awaited = BTreeSet::new();
        for asked in &needed.elicitations {
            let id = asked.to::<Named>().ok().and_then(|it| it.elicitation_id);
            awaited.extend(id.clone());
            // The person is there already, and only needs time.
            if id.is_some_and(|it| !visited.insert(it)) {
                continue;
            }
            let answer = tokio::select! {
                answer = self.0.options.offers.answer(METHOD, Some(asked)) => answer,
                () = cancel.cancelled() => return Err(CallError::Cancelled),
                exit = self.closed() => return Err(CallError::Closed { exit }),
            };
            let answer = answer.map_err(|error| unanswered(error.message))?;
            if answer.to_value()["action"] != "accept" {
                return Err(unanswered("the person did not agree".to_owned()));
            }
        }
        Ok(awaited)
    }

    /// What the person, or the host for them, answers to each request.
    pub(super) async fn answers(
        &self,
        requests: &BTreeMap<String, InputRequest>,
    ) -> Result<BTreeMap<String, RawJson>, CallError> {
        let mut answers = BTreeMap::new();
        for (key, asked) in requests {
            let answer = self.0.options.offers.answer(&asked.method, asked.params.as_ref()).await;
            let answer = answer.map_err(|error| CallError::Unanswered {
                method: asked.method.clone(),
                why: error.message,
            })?;
            answers.insert(key.clone(), answer);
        }
        Ok(answers)
    }
}

/// Ends when all of these were said to be done; never if there are none, because nothing is known then.
async fn all_of(completed: &mut broadcast::Receiver<String>, mut awaited: BTreeSet<String>) {
    while !awaited.is_empty() {
        match completed.recv().await {
            Ok(id) if awaited.remove(&id) && awaited.is_empty() => return,
            // Who is told too much at once hears the rest by repeating.
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => break,
        }
    }
    pending().await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn required(text: &str) -> InputRequired {
        match read(&RawJson::parse(text).unwrap()) {
            Round::InputRequired(required) => required,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_round_repeats_the_request_with_the_answers_and_the_very_state() {
        let required = required(
            r#"{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}},"requestState":"\u0041\/x"}"#,
        );
        let first = RawJson::parse(r#"{"name":"t","arguments":{"n":1.10}}"#).unwrap();
        let answers = BTreeMap::from([("a".to_owned(), RawJson::parse(r#"{"roots":[]}"#).unwrap())]);
        assert_eq!(
            again(&first, &required, &answers).unwrap().get(),
            r#"{"name":"t","arguments":{"n":1.10},"inputResponses":{"a":{"roots":[]}},"requestState":"\u0041\/x"}"#
        );
    }

    #[test]
    fn no_state_is_made_up() {
        let required =
            required(r#"{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}"#);
        let params = again(&RawJson::parse("{}").unwrap(), &required, &BTreeMap::new()).unwrap();
        assert_eq!(params.get(), "{}");
    }

    #[test]
    fn a_kind_that_is_not_known_is_no_answer() {
        let kind = |text: &str| read(&RawJson::parse(text).unwrap());
        assert!(matches!(kind(r#"{"content":[]}"#), Round::Complete));
        assert!(matches!(kind(r#"{"resultType":"complete"}"#), Round::Complete));
        assert!(matches!(kind(r#"{"resultType":"task"}"#), Round::Task));
        assert!(matches!(kind(r#"{"resultType":"later"}"#), Round::Unknown(_)));
        assert!(matches!(kind(r#"{"resultType":"input_required"}"#), Round::Unknown(_)));
    }
}
