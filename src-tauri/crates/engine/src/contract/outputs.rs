//! The requirements of audience routing for servers, S01 to S14, as far as one declaration or one result shows them.
//!
//! What a host's own rules find in a declaration or a result is taken over and named by its number; only what no host looks at is
//! judged here. Deliberately absent: S13, which needs a request under a revision that does not exist.

use std::collections::BTreeMap;

use serde_json::Value;
use usher_protocol::{
    RawJson, Revision, Rule, UI_EXTENSION,
    codec::WireDiagnostic,
    common::ContentBlock,
    model::{CallOutcome, Contract, Format, OutcomeBody, OutputPart, OutputVariant, Payload, Selector, Tool},
};

use super::{
    Case, Check, Finding, Judgement, Level,
    legacy::{self, is_usable, same, text_of},
};
use crate::{
    Extensions, Mode, Origin, declaration,
    routing::{LegacyPolicy, RoutingInput, Withheld, route},
    selection::Selection,
    validation::{Compiled, SchemaCache, Verdict},
};

/// What a call was made with.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The tool, as it was listed.
    pub tool: &'a Tool,
    /// The revision of the request.
    pub revision: Revision,
    /// The outputs that were asked for, if any were.
    pub requested: Option<&'a [Selector]>,
    /// The extensions that both sides advertised.
    pub negotiated: &'a Extensions,
    /// What the call was for.
    pub case: Case,
}

/// Judges a declaration (S01, S03). `told` is what the codec said of it.
pub fn declaration(tool: &Tool, negotiated: &Extensions, told: &[WireDiagnostic]) -> Judgement {
    let mut judgement = Judgement::default();
    let s01 = Check::Server(Rule::S01);
    judgement.look(s01);
    let mut find = |by: Option<Rule>, text: &str| {
        judgement.put(Finding::of(s01, Level::Broken, Case::Declaration, text).by(by).at("/outputVariants"));
    };
    match declaration::check(tool, negotiated) {
        Ok(usable) => usable.defects.iter().for_each(|it| find(it.rule, &it.text)),
        Err(defect) => find(defect.rule, &defect.text),
    }
    let of_variants = told.iter().filter(|it| it.tool.as_deref() == Some(&tool.name) && it.rule.is_some());
    of_variants.for_each(|it| find(it.rule, &it.message));
    schemas(tool, &mut judgement);
    judgement
}

fn schemas(tool: &Tool, judgement: &mut Judgement) {
    let Contract::Variants(variants) = &tool.contract else { return };
    let s03 = Check::Server(Rule::S03);
    let structured = variants.iter().enumerate().filter(|it| it.1.selector.format == Format::Structured);
    let mut seen: Vec<(&Selector, Value)> = Vec::new();
    for (at, variant) in structured {
        judgement.look(s03);
        let selector = &variant.selector;
        let mut advise = |text: String| {
            let found = Finding::of(s03, Level::Advice, Case::Declaration, text).by(Rule::H18);
            judgement.put(found.at(format!("/outputVariants/{at}/schema")));
        };
        let Some(schema) = &variant.schema else {
            advise(format!("{selector} declares no schema; a host may decline it"));
            continue;
        };
        if let Verdict::NotChecked(why) = Compiled::new(schema).check(&Value::Null.into()) {
            advise(format!("{selector}: {why}"));
        }
        let tree = schema.to_value();
        match seen.iter().find(|(other, known)| *other != selector && same(known, &tree)) {
            Some((other, _)) => {
                advise(format!("{selector} has the very schema of {other}; is it made for its audience?"))
            }
            None => seen.push((selector, tree)),
        }
    }
}

/// Judges a result (S02, S04, S05, S07 to S10, S14).
pub fn result(asked: Asked<'_>, outcome: &CallOutcome, schemas: &mut SchemaCache) -> Judgement {
    let mut judgement = Judgement::default();
    let OutcomeBody::Outputs { parts, .. } = &outcome.body else { return judgement };
    selection(asked, outcome, parts, &mut judgement);
    if !outcome.is_error {
        let expected = |it: &&OutputPart| expected(asked).contains(&it.selector);
        for part in parts.iter().filter(expected) {
            let place = place_of(parts, Some(&part.selector));
            payload(asked, part, &place, schemas, &mut judgement);
        }
        agreement(asked, parts, &mut judgement);
    }
    judgement
}

fn expected(asked: Asked<'_>) -> Vec<Selector> {
    asked.requested.map_or_else(|| vec![Selector::ASSISTANT_CONTENT], <[Selector]>::to_vec)
}

/// What routing finds, by the requirement of the server that it breaks.
fn selection(asked: Asked<'_>, outcome: &CallOutcome, parts: &[OutputPart], judgement: &mut Judgement) {
    let selection = Selection {
        revision: asked.revision,
        origin: Origin::User,
        mode: Mode::Custom,
        requested: asked.requested.map(<[Selector]>::to_vec),
        expected: expected(asked),
        declared: 0,
        reasons: Vec::new(),
    };
    let input = RoutingInput {
        selection: &selection,
        negotiated: asked.negotiated,
        has_view: true,
        legacy: LegacyPolicy::default(),
    };
    let routing = route(input, outcome);
    let exact = match (asked.requested, outcome.is_error) {
        (Some(_), false) => Rule::S04,
        (None, false) => Rule::S05,
        (_, true) => Rule::S10,
    };
    judgement.look(Check::Server(exact));
    judgement.look(Check::Server(Rule::S08));
    judgement.look(Check::Server(Rule::S14));
    let (meta, refused): (Vec<&Withheld>, Vec<&Withheld>) =
        routing.withheld.iter().partition(|it| it.rule == Some(Rule::H26));
    for part in &refused {
        let mirror = part.selector.as_ref().is_some_and(|it| is_mirror(it, &part.raw, parts));
        let rule = if mirror { Rule::S08 } else { exact };
        let found = Finding::of(Check::Server(rule), Level::Broken, asked.case, &part.why).by(part.rule);
        judgement.put(found.at(place_of(parts, part.selector.as_ref())));
    }
    for defect in &routing.defects {
        let is_known = refused.iter().any(|it| defect.text.ends_with(&it.why));
        // Every output is missing from a result that has none; that it has none says it all.
        let is_followed = parts.is_empty() && defect.rule != Some(Rule::H27);
        if !is_known && !is_followed {
            let found = Finding::of(Check::Server(exact), Level::Broken, asked.case, &defect.text);
            judgement.put(found.by(defect.rule).at("/outputs"));
        }
    }
    let missing = |it: &&Selector| !parts.iter().any(|part| part.selector == **it);
    if outcome.is_error && !parts.is_empty() {
        for selector in selection.expected.iter().filter(missing) {
            let text = format!("the error has no output for {selector}, which was asked for");
            judgement
                .put(Finding::of(Check::Server(Rule::S10), Level::Advice, asked.case, text).at("/outputs"));
        }
    }
    metadata(asked, &meta, parts, judgement);
}

/// Where the output of a selector stands in its result.
fn place_of(parts: &[OutputPart], selector: Option<&Selector>) -> String {
    let place = parts.iter().rposition(|it| Some(&it.selector) == selector);
    place.map_or_else(|| "/outputs".to_owned(), |it| format!("/outputs/{it}"))
}

/// Whether an output that nobody asked for repeats a structured one as text.
fn is_mirror(selector: &Selector, raw: &RawJson, parts: &[OutputPart]) -> bool {
    if selector.format != Format::Content {
        return false;
    }
    let blocks: Vec<ContentBlock> = raw.to().unwrap_or_default();
    let texts: Vec<Value> =
        blocks.iter().filter_map(text_of).filter_map(|it| serde_json::from_str(it).ok()).collect();
    parts.iter().any(|part| match &part.payload {
        Payload::Structured(value) => texts.iter().any(|it| same(it, &value.to_value())),
        Payload::Content(_) => false,
    })
}

/// Metadata that no audience receives (S14). An entry may be there for tracing; what repeats an output, or is a secret, may not.
fn metadata(asked: Asked<'_>, meta: &[&Withheld], parts: &[OutputPart], judgement: &mut Judgement) {
    const TRACING: [&str; 3] = ["traceparent", "tracestate", "baggage"];
    for entry in meta {
        let key = entry.what.trim_start_matches("result _meta").trim();
        if TRACING.contains(&key) || key.starts_with("io.modelcontextprotocol/") {
            continue;
        }
        let said = entry.raw.to_value();
        let repeats = parts.iter().find(|it| holds(it, &said));
        let (level, text) = match repeats {
            Some(part) => (Level::Broken, format!("_meta {key} repeats what is in {}", part.selector)),
            None if is_secret(key) || has_secret(&said) => {
                (Level::Broken, format!("_meta {key} looks like a secret, and metadata has no audience"))
            }
            None => (
                Level::Advice,
                format!("_meta {key} reaches nobody; if it is for an audience, it belongs into an output"),
            ),
        };
        let found = Finding::of(Check::Server(Rule::S14), level, asked.case, text).by(Rule::H26);
        judgement.put(found.at(format!("/_meta/{}", key.replace('~', "~0").replace('/', "~1"))));
    }
}

fn is_secret(key: &str) -> bool {
    let key = key.to_lowercase();
    ["password", "passwd", "secret", "apikey", "api_key", "api-key", "token", "credential"]
        .iter()
        .any(|it| key.contains(it))
}

fn has_secret(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.iter().any(|(key, value)| is_secret(key) || has_secret(value)),
        Value::Array(items) => items.iter().any(has_secret),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn holds(part: &OutputPart, said: &Value) -> bool {
    match &part.payload {
        Payload::Structured(value) => (said.is_object() || said.is_array()) && same(&value.to_value(), said),
        Payload::Content(blocks) => {
            said.as_str().is_some_and(|it| it.len() > 20 && blocks.iter().any(|b| text_of(b) == Some(it)))
        }
    }
}

/// Judges one output that was asked for (S02, S07).
fn payload(
    asked: Asked<'_>,
    part: &OutputPart,
    place: &str,
    schemas: &mut SchemaCache,
    judgement: &mut Judgement,
) {
    match &part.payload {
        Payload::Content(blocks) if part.selector == Selector::ASSISTANT_CONTENT => {
            judgement.look(Check::Server(Rule::S02));
            let mut find = |level, text: &str| {
                let found = Finding::of(Check::Server(Rule::S02), level, asked.case, text);
                judgement.put(found.at(format!("{place}/content")));
            };
            if !blocks.iter().any(is_usable) {
                find(Level::Broken, "assistant/content says nothing");
            } else if is_pointer(blocks) {
                find(
                    Level::Advice,
                    "assistant/content seems to point at an output that a model does not get",
                );
            }
        }
        Payload::Content(_) => {}
        Payload::Structured(value) => {
            let variant = asked.tool.variant(&part.selector).and_then(|it| it.schema.as_ref());
            let Some(schema) = variant else { return };
            judgement.look(Check::Server(Rule::S07));
            let verdict = schemas.of(&asked.tool.name, &part.selector, schema).check(value);
            if let Verdict::Violates { .. } = verdict {
                let text = format!("{} {}", part.selector, verdict.line());
                let s07 = Check::Server(Rule::S07);
                let found = Finding::of(s07, Level::Broken, asked.case, text).by(Rule::H04);
                judgement.put(found.places(&format!("{place}/structuredContent"), &verdict));
            }
        }
    }
}

/// Whether all that is said is that something else is to be looked at. Words are guessed at, so this is advice only.
fn is_pointer(blocks: &[ContentBlock]) -> bool {
    const LONGEST: usize = 160;
    const SIGNS: [&str; 6] = [
        "structuredcontent",
        "structured content",
        "structured output",
        "see the table",
        "see the view",
        "see the widget",
    ];
    let texts: Vec<&str> = blocks.iter().filter_map(text_of).collect();
    let all = texts.join(" ").to_lowercase();
    texts.len() == blocks.len() && all.len() <= LONGEST && SIGNS.iter().any(|it| all.contains(it))
}

/// Judges whether outputs tell the same outcome (S09): what one of them calls a failure, none may call a success.
fn agreement(asked: Asked<'_>, parts: &[OutputPart], judgement: &mut Judgement) {
    let says: BTreeMap<&Selector, bool> = parts
        .iter()
        .filter_map(|part| match &part.payload {
            Payload::Structured(value) if value.bytes() < 1 << 20 => {
                Some((&part.selector, says_outcome(&value.to_value())?))
            }
            Payload::Structured(_) | Payload::Content(_) => None,
        })
        .collect();
    if parts.len() < 2 {
        return;
    }
    judgement.look(Check::Server(Rule::S09));
    if let Some((selector, _)) = says.iter().find(|it| !*it.1) {
        let text = format!("{selector} says that the call failed, and the result is not an error");
        let found = Finding::of(Check::Server(Rule::S09), Level::Advice, asked.case, text);
        judgement.put(found.at(place_of(parts, Some(selector))));
    }
}

/// Whether a value calls itself a success or a failure, if it does.
fn says_outcome(value: &Value) -> Option<bool> {
    let word = ["success", "ok"].iter().find_map(|it| value.get(it).and_then(Value::as_bool));
    let status = value.get("status").and_then(Value::as_str).map(str::to_lowercase);
    match (word, status.as_deref()) {
        (Some(word), _) => Some(word),
        (None, Some("error" | "failed" | "failure")) => Some(false),
        (None, Some("ok" | "success")) => Some(true),
        (None, _) => value.get("error").filter(|it| it.is_object() || it.is_string()).map(|_| false),
    }
}

/// Judges the answer to a selection that must be refused (S06): `came` is the error's code and message, or what else came.
pub fn refusal(what: &str, came: &Result<(), (i64, String)>) -> Judgement {
    let s06 = Check::Server(Rule::S06);
    let mut judgement = Judgement::default();
    judgement.look(s06);
    let text = match came {
        Err((usher_protocol::jsonrpc::ErrorObject::INVALID_PARAMS, _)) => return judgement,
        Err((code, message)) => {
            format!("{what} was refused with {code} ({message}) and not as invalid parameters (-32602)")
        }
        Ok(()) => format!("{what} was accepted"),
    };
    judgement.find(s06, Level::Broken, Case::Refusal, Some(Rule::H32), text);
    judgement
}

/// Judges how a declaration is projected to an earlier revision (S11).
pub fn projected_declaration(tool: &Tool, projected: &Tool) -> Judgement {
    let s11 = Check::Server(Rule::S11);
    let mut judgement = Judgement::default();
    judgement.look(s11);
    let mut find = |level, text: String| {
        let found = Finding::of(s11, level, Case::Projection, text).by(Rule::H31);
        judgement.put(found.at("/outputSchema"));
    };
    if projected.raw.to_value().get("outputVariants").is_some() {
        find(Level::Broken, "an earlier revision's declaration has outputVariants".to_owned());
    }
    let Some(schema) = legacy::output_schema(projected) else { return judgement };
    let schema = schema.to_value();
    let Contract::Variants(variants) = &tool.contract else { return judgement };
    let of =
        |variant: &&OutputVariant| variant.schema.as_ref().is_some_and(|it| same(&it.to_value(), &schema));
    let own = tool.variant(&Selector::ASSISTANT_STRUCTURED);
    // What a schema says for people may differ from revision to revision.
    let bare = without_words(&schema);
    let own_schema = own.and_then(|it| it.schema.as_ref());
    if own_schema.is_some_and(|it| same(&without_words(&it.to_value()), &bare)) {
        return judgement;
    }
    match (variants.iter().find(of), own) {
        (Some(other), _) => {
            find(Level::Broken, format!("outputSchema is the schema of {}", other.selector));
        }
        (None, None) => find(
            Level::Broken,
            "outputSchema is declared, and the tool has no assistant/structured to take it from".to_owned(),
        ),
        (None, Some(_)) => {
            find(Level::Advice, "outputSchema is not the schema of assistant/structured".to_owned());
        }
    }
    judgement
}

/// A schema without the title and the description of its root.
fn without_words(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(root) = schema.as_object_mut() {
        root.retain(|key, _| !matches!(key.as_str(), "title" | "description" | "$comment"));
    }
    schema
}

/// Judges how a result is projected to an earlier revision (S12), by the checks of that revision.
pub fn projected_result(outcome: &CallOutcome, schema: Option<&Compiled>) -> Judgement {
    let s12 = Check::Server(Rule::S12);
    let mut judgement = Judgement::default();
    judgement.look(s12);
    if outcome.raw.to_value().get("outputs").is_some() {
        let text = "an earlier revision's result has outputs";
        let found = Finding::of(s12, Level::Broken, Case::Projection, text).by(Rule::H31);
        judgement.put(found.at("/outputs"));
    }
    for found in legacy::result(Case::Projection, outcome, schema).findings {
        let text = format!("{} ({})", found.text, found.check);
        judgement.put(Finding { check: s12, text, ..found });
    }
    judgement
}

/// The extensions that a server advertises, of those that the host does.
pub fn negotiated(has_ui: bool) -> Extensions {
    if has_ui { Extensions::new([UI_EXTENSION]) } else { Extensions::default() }
}
