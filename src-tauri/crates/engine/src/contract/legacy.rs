//! The seven defects of structured content that produce no error message, in servers of 2025-06-18 and later without audiences.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use usher_protocol::{
    RawJson,
    common::{BlockKind, ContentBlock},
    model::{CallOutcome, Contract, OutcomeBody, Tool},
};

use super::{Case, Check, Finding, Judgement, Legacy, Level};
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
        let found = Finding::of(Check::Legacy(Legacy::L7), Level::Broken, Case::Declaration, text);
        judgement.put(found.at("/outputSchema/properties"));
    }
}

/// Judges a result (L1, L2, L4, L5). `schema` is the compiled outputSchema, where one is declared.
pub fn result(case: Case, outcome: &CallOutcome, schema: Option<&Compiled>) -> Judgement {
    let mut judgement = Judgement::default();
    let OutcomeBody::Legacy { content, structured } = &outcome.body else { return judgement };
    present(case, outcome, content, structured.as_ref(), schema.is_some(), &mut judgement);
    let Some(structured) = structured.as_ref().filter(|_| !outcome.is_error) else { return judgement };
    if let Some(schema) = schema {
        fits(case, structured, "/structuredContent", schema, &mut judgement);
    }
    mirrored(case, outcome, content, structured, &mut judgement);
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
            judgement.put(Finding::of(l1, Level::Broken, case, text).at("/structuredContent"));
        }
    }
    judgement.look(l4);
    if content.iter().any(is_usable) {
        return;
    }
    let (level, text) = match (outcome.is_error, structured) {
        (true, _) => (Level::Broken, "the call failed, and content does not say why"),
        // An empty text says all that there is, of an empty file for example.
        (false, Some(it)) if !content.is_empty() && is_blank(&it.to_value()) => return,
        (false, Some(_)) => {
            (Level::Broken, "content is empty: a client that does not read structuredContent gets nothing")
        }
        (false, None) if !content.is_empty() && case == Case::Empty => return,
        (false, None) => (Level::Advice, "content is empty: nobody learns anything from this call"),
    };
    judgement.put(Finding::of(l4, level, case, text).at("/content"));
}

/// Judges whether a value fits a schema (L2). `base` points at the value within what was looked at.
pub(super) fn fits(
    case: Case,
    structured: &RawJson,
    base: &str,
    schema: &Compiled,
    judgement: &mut Judgement,
) {
    let l2 = Check::Legacy(Legacy::L2);
    judgement.look(l2);
    match schema.check(structured) {
        Verdict::Fits => {}
        verdict @ Verdict::Violates { .. } => {
            let what = if base.is_empty() { "the value" } else { "structuredContent" };
            let text = format!("{what} {}", verdict.line());
            judgement.put(Finding::of(l2, Level::Broken, case, text).places(base, &verdict));
        }
        Verdict::NotChecked(why) => {
            let text = format!("not validated: {why}");
            judgement.put(Finding::of(l2, Level::Advice, case, text).at(base));
        }
    }
}

/// Judges whether text says what data says (L5).
fn mirrored(
    case: Case,
    outcome: &CallOutcome,
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
    if says(&texts, &data) || is_content(outcome, &data) {
        return;
    }
    let all = texts.concat();
    let text = if has_words(&data) && leaves_are_in(&data, &all) {
        "the text has the values of structuredContent, but not as its JSON: a program that reads the text must guess"
    } else {
        "the text of content does not carry the data of structuredContent"
    };
    judgement.put(Finding::of(l5, Level::Advice, case, text).at("/content"));
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

/// Whether data are the blocks of content themselves: a picture is there as a picture, and needs no text.
fn is_content(outcome: &CallOutcome, data: &Value) -> bool {
    let result = outcome.raw.to_value();
    let Some(content) = result.get("content") else { return false };
    let only = data.as_object().filter(|it| it.len() == 1).and_then(|it| it.values().next());
    [Some(data), only].into_iter().flatten().any(|it| same(it, content))
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

/// Whether a value says nothing.
fn is_blank(data: &Value) -> bool {
    match data {
        Value::Null => true,
        Value::Bool(_) | Value::Number(_) => false,
        Value::String(it) => it.trim().is_empty(),
        Value::Array(items) => items.iter().all(is_blank),
        Value::Object(fields) => fields.values().all(is_blank),
    }
}

/// Whether a value holds a number or a text that is not blank, by which one could see that it was told.
fn has_words(data: &Value) -> bool {
    match data {
        Value::Null | Value::Bool(_) => false,
        Value::Number(_) => true,
        Value::String(it) => !it.trim().is_empty(),
        Value::Array(items) => items.iter().any(has_words),
        Value::Object(fields) => fields.values().any(has_words),
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
        judgement.put(Finding::of(l6, Level::Advice, case, text).at("/code"));
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
        let first = known.iter().find(|it| differs_between_cases(it.1)).map_or("", |it| it.0);
        let place = format!("/structuredContent{}", first.replace("/*", "/0"));
        judgement.put(Finding::of(l3, Level::Broken, Case::Empty, changing.join("; ")).at(place));
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
    use usher_protocol::Revision;

    use super::*;

    fn found(result: Value, case: Case) -> Vec<String> {
        let (outcome, _) =
            usher_protocol::codec::decode_outcome(Revision::NEWEST_WITHOUT_VARIANTS, &result.into()).unwrap();
        super::result(case, &outcome, None).findings.iter().map(|it| it.check.id().to_owned()).collect()
    }

    /// What published servers answer, and is no defect.
    #[test]
    fn an_empty_file_and_a_picture_are_no_defects() {
        let empty = json!({"content": [{"type": "text", "text": ""}], "structuredContent": {"content": ""}});
        assert!(found(empty, Case::Empty).is_empty());
        let picture = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
        let shown = json!({"content": [picture], "structuredContent": {"content": [picture]}});
        assert!(found(shown, Case::Normal).is_empty());
        let said = json!({"content": [{"type": "text", "text": "Done."}], "structuredContent": {"n": 7}});
        assert_eq!(found(said, Case::Normal), ["L5"]);
        let hidden = json!({"content": [{"type": "text", "text": ""}], "structuredContent": {"n": 7}});
        assert_eq!(found(hidden, Case::Normal), ["L4", "L5"]);
    }

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
