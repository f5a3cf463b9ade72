//! The seven defects of structured content that produce no error message, in servers of 2025-06-18 and later without audiences.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use usher_protocol::{
    RawJson,
    common::{BlockKind, ContentBlock},
    model::{CallOutcome, Contract, OutcomeBody, Tool},
};

use super::{Case, Check, Judgement, Legacy, Level};
use crate::validation::{Compiled, Verdict};

/// The largest payload whose text is compared with it, in bytes. Comparing costs a tree of each.
const LARGEST_COMPARED: usize = 8 << 20;

/// How many fields with changing types are named.
const MOST_FIELDS: usize = 5;

/// Judges a declaration (L7).
pub fn declaration(tool: &Tool) -> Judgement {
    let mut judgement = Judgement::default();
    if let Some(schema) = output_schema(tool) {
        envelope(schema, &mut judgement);
    }
    judgement
}

/// Judges what a schema describes (L7).
pub(super) fn envelope(schema: &RawJson, judgement: &mut Judgement) {
    judgement.look(Check::Legacy(Legacy::L7));
    let tree = schema.to_value();
    let names = |it: &str| tree["properties"].get(it).is_some();
    let is_result = names("structuredContent") || (names("content") && names("isError"));
    if is_result {
        let text = "outputSchema has the properties of a whole result (content, isError, structuredContent), which structuredContent never has";
        judgement.find(Check::Legacy(Legacy::L7), Level::Broken, Case::Declaration, None, text);
    }
}

/// Judges a result (L1, L2, L4, L5). `schema` is the compiled outputSchema, where one is declared.
pub fn result(case: Case, outcome: &CallOutcome, schema: Option<&Compiled>) -> Judgement {
    let mut judgement = Judgement::default();
    let OutcomeBody::Legacy { content, structured } = &outcome.body else { return judgement };
    present(case, outcome, content, structured.as_ref(), schema.is_some(), &mut judgement);
    let Some(structured) = structured.as_ref().filter(|_| !outcome.is_error) else { return judgement };
    if let Some(schema) = schema {
        fits(case, structured, schema, &mut judgement);
    }
    mirrored(case, content, structured, &mut judgement);
    judgement
}

fn present(
    case: Case,
    outcome: &CallOutcome,
    content: &[ContentBlock],
    structured: Option<&RawJson>,
    has_schema: bool,
    judgement: &mut Judgement,
) {
    let (l1, l4) = (Check::Legacy(Legacy::L1), Check::Legacy(Legacy::L4));
    if has_schema && !outcome.is_error {
        judgement.look(l1);
        if structured.is_none() {
            let text = "an outputSchema is declared, and the result has no structuredContent";
            judgement.find(l1, Level::Broken, case, None, text);
        }
    }
    judgement.look(l4);
    if !content.iter().any(is_usable) {
        let text = match (outcome.is_error, structured) {
            (true, _) => "the call failed, and content does not say why",
            (false, Some(_)) => {
                "content is empty: a client that does not read structuredContent gets nothing"
            }
            (false, None) => "content is empty",
        };
        judgement.find(l4, Level::Broken, case, None, text);
    }
}

/// Judges whether a value fits a schema (L2).
pub(super) fn fits(case: Case, structured: &RawJson, schema: &Compiled, judgement: &mut Judgement) {
    let l2 = Check::Legacy(Legacy::L2);
    judgement.look(l2);
    match schema.check(structured) {
        Verdict::Fits => {}
        verdict @ Verdict::Violates { .. } => {
            judgement.find(l2, Level::Broken, case, None, format!("structuredContent {}", verdict.line()));
        }
        Verdict::NotChecked(why) => {
            judgement.find(l2, Level::Advice, case, None, format!("not validated: {why}"));
        }
    }
}

/// Judges whether text says what data says (L5).
pub(super) fn mirrored(
    case: Case,
    content: &[ContentBlock],
    structured: &RawJson,
    judgement: &mut Judgement,
) {
    let l5 = Check::Legacy(Legacy::L5);
    let texts: Vec<&str> = content.iter().filter_map(text_of).collect();
    // Without any text the missing text is L4's, and a huge payload is not worth two trees.
    if content.is_empty() || structured.bytes() > LARGEST_COMPARED {
        return;
    }
    judgement.look(l5);
    let data = structured.to_value();
    if says(&texts, &data) {
        return;
    }
    let all = texts.concat();
    let text = if leaves_are_in(&data, &all) {
        "the text has the values of structuredContent, but not as its JSON: a program that reads the text must guess"
    } else {
        "the text of content does not carry the data of structuredContent"
    };
    judgement.find(l5, Level::Advice, case, None, text);
}

/// Whether texts are the JSON of a value: one of them, all of them together, or one for each item; also of the only member of an object,
/// as frameworks wrap a value that is no object.
fn says(texts: &[&str], data: &Value) -> bool {
    let is = |text: &str, value: &Value| {
        serde_json::from_str::<Value>(text).is_ok_and(|it| same(&it, value))
            || value.as_str().is_some_and(|it| it == text)
    };
    let one = |value: &Value| {
        texts.iter().any(|it| is(it, value))
            || is(&texts.concat(), value)
            || value.as_array().is_some_and(|items| {
                items.len() == texts.len() && items.iter().zip(texts).all(|(item, text)| is(text, item))
            })
    };
    let only = data.as_object().filter(|it| it.len() == 1).and_then(|it| it.values().next());
    one(data) || only.is_some_and(one)
}

/// Equality that does not tell 1 from 1.0, as JSON does not.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}

fn leaves_are_in(data: &Value, text: &str) -> bool {
    match data {
        Value::Null | Value::Bool(_) => true,
        Value::Number(number) => text.contains(&number.to_string()),
        Value::String(it) => text.contains(it.as_str()),
        Value::Array(items) => items.iter().all(|it| leaves_are_in(it, text)),
        Value::Object(fields) => fields.values().all(|it| leaves_are_in(it, text)),
    }
}

/// Judges an answer that is a JSON-RPC error (L6). `fits_input` says whether the arguments fit the tool's input schema.
pub fn refusal(case: Case, code: i64, message: &str, fits_input: bool) -> Judgement {
    let l6 = Check::Legacy(Legacy::L6);
    let mut judgement = Judgement::default();
    judgement.look(l6);
    // Arguments that do not fit may be refused as a request (2025-06-18 server/tools, "Error Handling").
    if fits_input || code != usher_protocol::jsonrpc::ErrorObject::INVALID_PARAMS {
        let text = format!("a failure came as JSON-RPC error {code} ({message}), which no model reads");
        judgement.find(l6, Level::Advice, case, None, text);
    }
    judgement
}

/// Notes that a failure was a result (L6).
pub fn failed_properly() -> Judgement {
    let mut judgement = Judgement::default();
    judgement.look(Check::Legacy(Legacy::L6));
    judgement
}

/// Judges whether fields keep their types over calls (L3).
pub fn stable(values: &[(Case, RawJson)]) -> Judgement {
    let l3 = Check::Legacy(Legacy::L3);
    let mut judgement = Judgement::default();
    if values.len() < 2 || values.iter().any(|it| it.1.bytes() > LARGEST_COMPARED) {
        return judgement;
    }
    judgement.look(l3);
    let mut known: BTreeMap<String, BTreeMap<&'static str, BTreeSet<Case>>> = BTreeMap::new();
    for (case, value) in values {
        gather(*case, &value.to_value(), &mut String::new(), &mut known);
    }
    let changing: Vec<String> = known
        .iter()
        .filter(|(_, types)| differs_between_cases(types))
        .take(MOST_FIELDS)
        .map(|(path, types)| {
            let each: Vec<String> = types
                .iter()
                .map(|(kind, cases)| {
                    let cases: Vec<&str> = cases.iter().map(|it| it.name()).collect();
                    format!("{kind} in the {}", cases.join(" and the "))
                })
                .collect();
            let path = if path.is_empty() { "the value" } else { path };
            format!("{path} is {}", each.join(", "))
        })
        .collect();
    if !changing.is_empty() {
        judgement.find(l3, Level::Broken, Case::Empty, None, changing.join("; "));
    }
    judgement
}

/// A field that is of several types within one call is a union by design; one that changes from call to call is not.
fn differs_between_cases(types: &BTreeMap<&'static str, BTreeSet<Case>>) -> bool {
    let mut all = types.values();
    let Some(first) = all.next() else { return false };
    all.any(|it| it.is_disjoint(first))
}

fn gather(
    case: Case,
    value: &Value,
    path: &mut String,
    known: &mut BTreeMap<String, BTreeMap<&'static str, BTreeSet<Case>>>,
) {
    let kind = match value {
        // A value that is absent has no type.
        Value::Null => return,
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    known.entry(path.clone()).or_default().entry(kind).or_default().insert(case);
    let length = path.len();
    match value {
        Value::Array(items) => {
            path.push_str("/*");
            items.iter().for_each(|it| gather(case, it, path, known));
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                path.truncate(length);
                path.push('/');
                path.push_str(key);
                gather(case, value, path, known);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    path.truncate(length);
}

/// The schema of structuredContent, if the tool declares one.
pub fn output_schema(tool: &Tool) -> Option<&RawJson> {
    match &tool.contract {
        Contract::Legacy { output_schema } => output_schema.as_ref(),
        Contract::Variants(_) => None,
    }
}

pub(super) fn text_of(block: &ContentBlock) -> Option<&str> {
    match &block.kind {
        BlockKind::Text(text) => Some(text),
        BlockKind::Image(_)
        | BlockKind::Audio(_)
        | BlockKind::Link(_)
        | BlockKind::Embedded(_)
        | BlockKind::Unknown(_) => None,
    }
}

/// Whether a block says anything at all.
pub(super) fn is_usable(block: &ContentBlock) -> bool {
    text_of(block).is_none_or(|it| !it.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_type_that_changes_from_call_to_call_is_found_and_a_union_is_not() {
        let found = |values: &[(Case, Value)]| {
            let values: Vec<_> = values.iter().map(|(case, it)| (*case, RawJson::from(it))).collect();
            stable(&values).findings.into_iter().map(|it| it.text).collect::<Vec<_>>()
        };
        assert_eq!(
            found(&[(Case::Normal, json!({"n": 1})), (Case::Empty, json!({"n": "none"}))]),
            ["/n is a number in the normal call, a text in the empty call"]
        );
        assert!(found(&[(Case::Normal, json!({"n": 1})), (Case::Empty, json!({"n": null}))]).is_empty());
        assert!(found(&[(Case::Normal, json!([1, "a"])), (Case::Empty, json!(["b"]))]).is_empty());
    }
}
