//! A result and a schema that somebody has at hand, judged without a server.

use serde::Serialize;
use serde_json::Value;
use usher_protocol::{
    RawJson, Revision,
    codec::decode_outcome,
    model::{OutcomeBody, OutputPart, Payload},
};

use super::{Case, Check, Judgement, Level, Wire, legacy};
use crate::validation::{Compiled, Verdict};

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

/// Judges a pasted result, or a whole JSON-RPC response that holds one, against a pasted schema of its structured part.
pub fn judge(result: &RawJson, schema: &RawJson) -> (Shape, Judgement) {
    let mut judgement = Judgement::default();
    legacy::envelope(schema, &mut judgement);
    let is_envelope = !judgement.findings.is_empty();
    let compiled = Compiled::new(schema);
    let result = inner(result);
    let tree = result.to_value();
    let has = |key: &str| tree.get(key).is_some_and(|it| !it.is_null());
    let shape = if tree.get("outputs").is_some_and(Value::is_array) {
        Shape::Outputs
    } else if has("structuredContent") || tree.get("content").is_some_and(Value::is_array) {
        Shape::Legacy
    } else {
        Shape::Payload
    };
    let revision = match shape {
        Shape::Outputs => Revision::V2026_12_01,
        Shape::Legacy | Shape::Payload => Revision::V2026_07_28,
    };
    match shape {
        Shape::Payload => legacy::fits(Case::Normal, &result, &compiled, &mut judgement),
        Shape::Outputs | Shape::Legacy => match decode_outcome(revision, &result) {
            Err(error) => {
                judgement.find(Check::Wire(Wire::W7), Level::Broken, Case::Normal, None, error.to_string());
            }
            Ok((outcome, told)) => {
                judgement.look(Check::Wire(Wire::W7));
                for it in told {
                    judgement.find(Check::Wire(Wire::W7), Level::Broken, Case::Normal, it.rule, it.message);
                }
                if let OutcomeBody::Outputs { parts, .. } = &outcome.body {
                    parts.iter().for_each(|it| output(it, &compiled, &mut judgement));
                } else {
                    // What a schema of the envelope says of the payload is known already.
                    let schema = (!is_envelope).then_some(&compiled);
                    judgement.add(legacy::result(Case::Normal, &outcome, schema));
                }
            }
        },
    }
    (shape, judgement)
}

fn output(part: &OutputPart, schema: &Compiled, judgement: &mut Judgement) {
    let Payload::Structured(value) = &part.payload else { return };
    let s07 = Check::Server(usher_protocol::Rule::S07);
    judgement.look(s07);
    let verdict = schema.check(value);
    if let Verdict::Violates { .. } = verdict {
        let text = format!("{} {}", part.selector, verdict.line());
        judgement.find(s07, Level::Broken, Case::Normal, Some(usher_protocol::Rule::H04), text);
    }
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
