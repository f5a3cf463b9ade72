//! What an author writes on the bench, judged as a server's result would be and turned into what crosses to the View: by the revision that
//! the server speaks, and for the View's audience alone.
//!
//! Everything here is pure. Deliberately absent: repairs. What does not fit is said, and crosses all the same, since a View must be seen
//! with wrong data too.

use std::collections::BTreeMap;

use usher_engine::validation::{Compiled, NotChecked, Problem, Verdict};
use usher_protocol::{
    RawJson, Revision, codec,
    model::{Contract, OutcomeBody, Selector, Tool},
};

use super::{
    super::{HostError, views::Outcome},
    fixture::{Ending, Fixture},
};
use crate::app_view::projection;

/// What a fixture's values come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BenchVerdict {
    /// The input, by the tool's input schema.
    pub input: Verdict,
    /// What the call ends with, by the schema of the View's own output, or by that of `structuredContent`. Pointers are into what was
    /// written.
    pub output: Verdict,
}

/// The schema of what a View is given, if one is declared.
pub fn output_schema(tool: &Tool) -> Option<&RawJson> {
    match &tool.contract {
        Contract::Variants(_) => tool.variant(&Selector::ui()).and_then(|it| it.schema.as_ref()),
        Contract::Legacy { output_schema } => output_schema.as_ref(),
    }
}

/// Judges a fixture.
pub(super) fn judge(tool: &Tool, revision: Revision, fixture: &Fixture) -> BenchVerdict {
    let output = match &fixture.outcome {
        Ending::Waiting | Ending::Cancelled(_) => Verdict::NotChecked(NotChecked::NoSchema),
        Ending::Result(value) => output(tool, revision, value, false),
        Ending::Error(Some(value)) => output(tool, revision, value, true),
        Ending::Error(None) => Verdict::NotChecked(NotChecked::IsError),
    };
    BenchVerdict { input: Compiled::new(&tool.input_schema).check(&fixture.input), output }
}

fn output(tool: &Tool, revision: Revision, value: &RawJson, is_error: bool) -> Verdict {
    match &tool.contract {
        Contract::Variants(_) if is_error => Verdict::NotChecked(NotChecked::IsError),
        Contract::Variants(_) => match output_schema(tool) {
            Some(schema) => Compiled::new(schema).check(value),
            None => Verdict::NotChecked(NotChecked::NoSchema),
        },
        Contract::Legacy { output_schema } => whole(revision, value, output_schema.as_ref(), is_error),
    }
}

/// A whole result of a revision without audiences: its own shape, and its structured part by the tool's schema.
fn whole(revision: Revision, value: &RawJson, schema: Option<&RawJson>, is_error: bool) -> Verdict {
    let (outcome, told) = match codec::decode_outcome(revision, value) {
        Ok(read) => read,
        Err(error) => {
            let problem = Problem { pointer: String::new(), message: error.to_string() };
            return Verdict::Violates { problems: vec![problem], more: false };
        }
    };
    let mut problems: Vec<Problem> =
        told.into_iter().map(|it| Problem { pointer: it.pointer, message: it.message }).collect();
    let mut more = false;
    let structured = match &outcome.body {
        OutcomeBody::Legacy { structured, .. } => structured.as_ref(),
        OutcomeBody::Outputs { .. } => None,
    };
    let checked = match (schema, structured) {
        _ if is_error || outcome.is_error => Verdict::NotChecked(NotChecked::IsError),
        (None, _) => Verdict::NotChecked(NotChecked::NoSchema),
        (Some(schema), Some(structured)) => Compiled::new(schema).check(structured),
        (Some(_), None) => {
            let message = "the tool declares outputSchema, and there is no structuredContent".to_owned();
            Verdict::Violates { problems: vec![Problem { pointer: String::new(), message }], more: false }
        }
    };
    match checked {
        Verdict::Violates { problems: found, more: beyond } => {
            let at = if structured.is_some() { "/structuredContent" } else { "" };
            let placed = found.into_iter().map(|it| Problem { pointer: format!("{at}{}", it.pointer), ..it });
            problems.extend(placed);
            more = beyond;
        }
        fine if problems.is_empty() => return fine,
        Verdict::Fits | Verdict::NotChecked(_) => {}
    }
    Verdict::Violates { problems, more }
}

/// How the call ends, as the View is told; `None` while it has not ended.
///
/// # Errors
/// The tool has no output for Views, or what was written cannot be a result at all.
pub(super) fn outcome(tool: &Tool, fixture: &Fixture) -> Result<Option<Outcome>, HostError> {
    Ok(match &fixture.outcome {
        Ending::Waiting => None,
        Ending::Cancelled(reason) => Some(Outcome::Cancelled(reason.clone())),
        Ending::Result(value) => Some(Outcome::Result(result(tool, value, false)?)),
        Ending::Error(Some(value)) => Some(Outcome::Result(result(tool, value, true)?)),
        Ending::Error(None) => Some(Outcome::Result(projection::error_without_output())),
    })
}

/// What a View of a tool receives when the server sends this for it (rules H28, H29).
///
/// # Errors
/// As [`outcome`].
pub(super) fn result(tool: &Tool, value: &RawJson, is_error: bool) -> Result<RawJson, HostError> {
    match &tool.contract {
        Contract::Variants(_) if !projection::is_for_views(tool) => {
            let what =
                format!("{} declares no output for Views, so no View receives anything of it.", tool.name);
            Err(HostError::new(what, "Nothing was sent.", "Declare the variant, or choose another tool."))
        }
        Contract::Variants(_) => {
            let projected = projection::selected_output(value, is_error, None);
            projected.map(|it| it.0).map_err(|error| no_result(&error.to_string()))
        }
        Contract::Legacy { .. } if !value.is_object() => Err(no_result("a result is an object")),
        Contract::Legacy { .. } if is_error => {
            let parts: Result<BTreeMap<String, RawJson>, _> = value.to();
            let mut parts = parts.map_err(|error| no_result(&error.to_string()))?;
            parts.insert("isError".to_owned(), serde_json::json!(true).into());
            RawJson::of(&parts).map_err(|error| no_result(&error.to_string()))
        }
        Contract::Legacy { .. } => Ok(value.clone()),
    }
}

fn no_result(why: &str) -> HostError {
    HostError::new(format!("This cannot be a result: {why}."), "Nothing was sent.", "Correct the output.")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn tool(revision: Revision) -> Tool {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        let declared = json!({"tools": [{
            "name": "t",
            "inputSchema": {"type": "object", "required": ["q"]},
            "outputSchema": schema,
            "outputVariants": [
                {"audience": "assistant", "format": "content"},
                {"audience": "io.modelcontextprotocol/ui", "format": "structured", "schema": schema}
            ],
            "_meta": {"ui": {"resourceUri": "ui://t"}}
        }]});
        codec::decode_tools(revision, &declared.into()).unwrap().0.tools.remove(0)
    }

    fn with(ending: Ending) -> Fixture {
        Fixture { outcome: ending, ..Fixture::of("t") }
    }

    fn raw(value: Value) -> RawJson {
        value.into()
    }

    fn sent(tool: &Tool, ending: Ending) -> String {
        match outcome(tool, &with(ending)) {
            Ok(Some(Outcome::Result(result))) => result.get().to_owned(),
            Ok(Some(Outcome::Cancelled(reason))) => format!("cancelled: {reason}"),
            Ok(None) => "nothing yet".to_owned(),
            Err(error) => error.what,
        }
    }

    fn problems(verdict: &Verdict) -> Vec<String> {
        match verdict {
            Verdict::Violates { problems, .. } => {
                problems.iter().map(|it| format!("{}: {}", it.pointer, it.message)).collect()
            }
            Verdict::Fits => vec!["fits".to_owned()],
            Verdict::NotChecked(why) => vec![why.to_string()],
        }
    }

    #[test]
    fn a_view_gets_what_the_revision_of_its_server_would_bring() {
        let new = tool(Revision::V2026_12_01);
        let value = || raw(json!({"n": 1}));
        assert_eq!(
            sent(&new, Ending::Result(value())),
            r#"{"audience":"io.modelcontextprotocol/ui","format":"structured","content":[],"structuredContent":{"n":1}}"#
        );
        assert!(
            sent(&new, Ending::Error(Some(value())))
                .contains(r#""structuredContent":{"n":1},"isError":true"#)
        );
        assert!(sent(&new, Ending::Error(None)).ends_with(r#""isError":true}"#));
        let old = tool(Revision::V2025_11_25);
        let whole = || raw(json!({"content": [], "structuredContent": {"n": 1}, "_meta": {"x": 1}}));
        assert_eq!(sent(&old, Ending::Result(whole())), whole().get());
        assert!(sent(&old, Ending::Error(Some(whole()))).contains(r#""isError":true"#));
        assert_eq!(
            sent(&old, Ending::Result(raw(json!([])))),
            "This cannot be a result: a result is an object."
        );
        for tool in [&new, &old] {
            assert_eq!(sent(tool, Ending::Cancelled("enough".to_owned())), "cancelled: enough");
            assert_eq!(sent(tool, Ending::Waiting), "nothing yet");
        }
    }

    #[test]
    fn what_is_written_is_judged_by_the_schema_of_its_own_place() {
        let new = tool(Revision::V2026_12_01);
        let verdict = judge(&new, Revision::V2026_12_01, &with(Ending::Result(raw(json!({"n": "1"})))));
        assert!(problems(&verdict.output)[0].starts_with("/n: "), "{:?}", verdict.output);
        assert!(matches!(verdict.input, Verdict::Violates { .. }), "q is missing");
        let old = tool(Revision::V2025_11_25);
        let legacy = |value: Value| {
            problems(&judge(&old, Revision::V2025_11_25, &with(Ending::Result(raw(value)))).output)
        };
        let text = json!([{"type": "text", "text": "x"}]);
        assert!(
            legacy(json!({"content": text, "structuredContent": {"n": "1"}}))[0]
                .starts_with("/structuredContent/n: ")
        );
        assert_eq!(legacy(json!({"content": text, "structuredContent": {"n": 1}})), ["fits"]);
        assert!(legacy(json!({"content": text}))[0].contains("there is no structuredContent"));
        assert_eq!(
            legacy(json!({"content": text, "isError": true})),
            ["an error need not fit the schema of a success"]
        );
    }
}
