//! A result and a schema that somebody has at hand, judged without a server.

use serde::Serialize;
use serde_json::Value;
use usher_protocol::{
    RawJson, Revision, Rule,
    codec::decode_outcome,
    model::{OutcomeBody, OutputPart, Payload},
};

use super::{Case, Check, Finding, Judgement, Level, Wire, legacy};
use crate::{
    exact,
    validation::{Compiled, Verdict, dialect_name},
};

/// What was pasted, as it was understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// A result with outputs for audiences; each structured one is checked.
    Outputs,
    /// A result with content and structuredContent.
    Legacy,
    /// Any other value, checked as the payload itself.
    Payload,
}

/// What a pasted result came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pasted {
    /// What it was taken for.
    pub shape: Shape,
    /// The revision by which it was read.
    pub revision: Revision,
    /// The dialect of the schema, as a name for people, and whether the schema names it itself.
    pub dialect: String,
    /// Everything that was looked at, and what was found.
    pub judgement: Judgement,
    /// What the verdict does not cover, for people.
    pub notes: Vec<String>,
}

/// Judges a pasted result, or a whole JSON-RPC response that holds one, against a pasted schema of its structured part. Without a
/// revision it is read by the newest one that knows its shape.
pub fn judge(result: &RawJson, schema: &RawJson, revision: Option<Revision>) -> Pasted {
    let mut judgement = Judgement::default();
    legacy::envelope(schema, &mut judgement);
    let is_envelope = !judgement.findings.is_empty();
    let compiled = Compiled::new(schema);
    let result = inner(result);
    let shape = shape_of(&result);
    let revision = revision.unwrap_or(match shape {
        Shape::Outputs => Revision::NEWEST,
        Shape::Legacy | Shape::Payload => Revision::NEWEST_WITHOUT_VARIANTS,
    });
    let mut notes = Vec::new();
    match shape {
        Shape::Payload => legacy::fits(Case::Normal, &result, "", &compiled, &mut judgement),
        Shape::Outputs | Shape::Legacy => match decode_outcome(revision, &result) {
            Err(error) => {
                judgement.find(Check::Wire(Wire::W7), Level::Broken, Case::Normal, None, error.to_string());
            }
            Ok((outcome, told)) => {
                judgement.look(Check::Wire(Wire::W7));
                for it in told {
                    let found = Finding::of(Check::Wire(Wire::W7), Level::Broken, Case::Normal, it.message);
                    judgement.put(found.by(it.rule).at(it.pointer));
                }
                if let OutcomeBody::Outputs { parts, .. } = &outcome.body {
                    for (at, part) in parts.iter().enumerate() {
                        output(at, part, &compiled, &mut judgement);
                    }
                } else {
                    // What a schema of the envelope says of the payload is known already.
                    let schema = (!is_envelope).then_some(&compiled);
                    judgement.add(legacy::result(Case::Normal, &outcome, schema));
                    if !revision.has_structured_content() {
                        notes.push(format!("{revision} has no structuredContent and no outputSchema"));
                    }
                    if outcome.is_error {
                        notes.push("an error need not fit the schema of a success".to_owned());
                    }
                }
            }
        },
    }
    if exact::is_rounded(&result) {
        let text = "a number has more digits than the validator compares; it is quoted with all of them";
        notes.push(text.to_owned());
    }
    Pasted { shape, revision, dialect: dialect_name(schema), judgement, notes }
}

fn shape_of(result: &RawJson) -> Shape {
    let tree = result.to_value();
    let has = |key: &str| tree.get(key).is_some_and(|it| !it.is_null());
    if tree.get("outputs").is_some_and(Value::is_array) {
        Shape::Outputs
    } else if has("structuredContent") || tree.get("content").is_some_and(Value::is_array) {
        Shape::Legacy
    } else {
        Shape::Payload
    }
}

fn output(at: usize, part: &OutputPart, schema: &Compiled, judgement: &mut Judgement) {
    let Payload::Structured(value) = &part.payload else { return };
    let s07 = Check::Server(Rule::S07);
    judgement.look(s07);
    let verdict = schema.check(value);
    let text = format!("{} {}", part.selector, verdict.line());
    let level = match &verdict {
        Verdict::Fits => return,
        Verdict::Violates { .. } => Level::Broken,
        Verdict::NotChecked(_) => Level::Advice,
    };
    let found = Finding::of(s07, level, Case::Normal, text).by(Rule::H04);
    judgement.put(found.places(&format!("/outputs/{at}/structuredContent"), &verdict));
}

/// The result within a whole response, if that is what was pasted.
fn inner(pasted: &RawJson) -> RawJson {
    #[derive(serde::Deserialize)]
    struct Response {
        #[serde(rename = "jsonrpc")]
        _version: String,
        result: RawJson,
    }
    pasted.to::<Response>().map_or_else(|_| pasted.clone(), |it| it.result)
}
