//! Requests that a server answers with questions of its own (2026-07-28 basic/patterns/mrtr).
//!
//! The request is repeated with the answers and with the server's state, byte for byte, until the server has what it needs.
//! Deliberately absent: the state's meaning, which is the server's alone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use usher_protocol::{RawJson, jsonrpc::ErrorObject};

/// How often a request is repeated at most. A server may always want one more thing.
pub(super) const MAX_ROUNDS: u32 = 16;

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
        assert!(matches!(kind(r#"{"resultType":"task"}"#), Round::Unknown(_)));
        assert!(matches!(kind(r#"{"resultType":"input_required"}"#), Round::Unknown(_)));
    }
}
