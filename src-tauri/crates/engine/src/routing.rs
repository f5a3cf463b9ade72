//! Who receives what of a result: audience × selection × local policy → deliveries, and what was withheld from everyone.
//!
//! Deliberately absent: the text that a model finally reads. Encoders make that from what is delivered to it here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use usher_protocol::{
    RawJson, Rule, UI_EXTENSION,
    model::{Audience, CallOutcome, OutcomeBody, OutputPart, Payload, Selector},
};

use crate::{Consumer, Defect, Extensions, Mode, Origin, routing_legacy, selection::Selection};

/// Where the parts of a result go.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Routing {
    /// What reaches a consumer.
    pub deliveries: Vec<Delivery>,
    /// What reaches nobody.
    pub withheld: Vec<Withheld>,
    /// What the server did wrong.
    pub defects: Vec<Defect>,
    /// What the model is told when nothing was delivered to it. `None` when something was, or when no model waits.
    pub notice: Option<Notice>,
}

/// A part of a result that reaches a consumer.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivery {
    /// Who receives it.
    pub to: Consumer,
    /// What it is.
    pub source: Source,
    /// What it holds.
    pub payload: Payload,
    /// Its size in bytes as it came.
    pub bytes: usize,
    /// Why this consumer may have it.
    pub door: Door,
}

/// A part of a result.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// An output for an audience.
    Output(Selector),
    /// The extension's own entry of result-level `_meta`.
    ExtensionMeta(String),
    /// Blocks of `content` of an earlier revision.
    LegacyContent,
    /// `structuredContent` of an earlier revision.
    LegacyStructured,
    /// The whole result of an earlier revision.
    LegacyResult,
    /// What a View answers to a call of a tool that it offers itself: its own words, and no output of its server (X5).
    ViewAnswer,
}

/// Why a consumer may have a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Door {
    /// The server made it for this consumer.
    Contract,
    /// A product policy, named.
    Policy(String),
    /// The user's own action, named (rule H25).
    UserAction(String),
}

/// A part that reaches nobody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withheld {
    /// Its selector, if it is an output.
    pub selector: Option<Selector>,
    /// What it is, for people.
    pub what: String,
    /// It, as it came.
    pub raw: RawJson,
    /// The rule that withholds it, if a numbered one.
    pub rule: Option<Rule>,
    /// Why.
    pub why: String,
}

/// What a model is told in place of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notice {
    /// The output was shown to the user.
    ShownToUser,
    /// The output went to the View.
    GivenToView,
    /// The call succeeded and gave the model nothing, which is the server's defect.
    NothingForModel,
    /// The call failed, and no error for the model came.
    FailedWithoutText,
}

/// How results of earlier revisions reach the model: product policy, changeable per tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LegacyPolicy {
    /// `content`; `structuredContent` only when content has nothing usable.
    #[default]
    ContentFirst,
    /// `structuredContent` in place of text where there is one; media stay.
    StructuredFirst,
}

/// What routing depends on beside the result.
#[derive(Debug, Clone, Copy)]
pub struct RoutingInput<'a> {
    /// What was asked for.
    pub selection: &'a Selection,
    /// The extensions that both sides advertised.
    pub negotiated: &'a Extensions,
    /// Whether the called tool has a View that is there.
    pub has_view: bool,
    /// The policy for earlier revisions.
    pub legacy: LegacyPolicy,
}

/// Routes a result (rules H01-H03, H16, H19-H29, H31, H34).
pub fn route(input: RoutingInput<'_>, outcome: &CallOutcome) -> Routing {
    match &outcome.body {
        OutcomeBody::Legacy { content, structured } => {
            routing_legacy::route(input, outcome, content, structured.as_ref())
        }
        OutcomeBody::Outputs { parts, unreadable } => {
            let mut routing = Routing::default();
            for part in unreadable {
                routing.withheld.push(Withheld {
                    selector: None,
                    what: format!("output {}", part.index),
                    raw: part.raw.clone(),
                    rule: Some(Rule::H19),
                    why: part.why.clone(),
                });
                routing.defects.push(Defect::of(Rule::H19, format!("output {}: {}", part.index, part.why)));
            }
            route_outputs(input, outcome, parts, &mut routing);
            route_meta(outcome, &mut routing);
            routing.notice = notice(input, outcome.is_error, &routing);
            routing
        }
    }
}

fn route_outputs(
    input: RoutingInput<'_>,
    outcome: &CallOutcome,
    parts: &[OutputPart],
    routing: &mut Routing,
) {
    let mut came: BTreeMap<&Selector, usize> = BTreeMap::new();
    for part in parts {
        let count = came.entry(&part.selector).or_default();
        *count += 1;
        match refusal(input, part, *count) {
            Some((rule, why)) => withhold(part, rule, why, routing),
            None => deliver(input, part, routing),
        }
    }
    if parts.is_empty() && routing.withheld.is_empty() {
        routing.defects.push(Defect::of(Rule::H27, "the result has an empty outputs array"));
    }
    let missing = input.selection.expected.iter().filter(|it| !came.contains_key(it));
    for selector in missing.filter(|_| !outcome.is_error) {
        let rule = if input.selection.requested.is_some() { Rule::H19 } else { Rule::H16 };
        routing.defects.push(Defect::of(rule, format!("{selector} was asked for and did not come")));
    }
}

/// Why a part must reach nobody. Only its audience and format are looked at, never what it holds (rule H02).
fn refusal(input: RoutingInput<'_>, part: &OutputPart, count: usize) -> Option<(Rule, String)> {
    let selector = &part.selector;
    if !input.negotiated.admits(&selector.audience) {
        return Some((Rule::H01, format!("{} is not an audience of this connection", selector.audience)));
    }
    if !selector.is_permitted() {
        return Some((Rule::H03, format!("{selector} is not a pair that exists")));
    }
    if !input.selection.expected.contains(selector) {
        let rule = if input.selection.requested.is_some() { Rule::H19 } else { Rule::H16 };
        return Some((rule, format!("{selector} was not asked for")));
    }
    if count > 1 {
        return Some((Rule::H19, format!("{selector} came more than once; the first is used")));
    }
    None
}

fn withhold(part: &OutputPart, rule: Rule, why: String, routing: &mut Routing) {
    routing.defects.push(Defect::of(rule, why.clone()));
    routing.withheld.push(Withheld {
        selector: Some(part.selector.clone()),
        what: part.selector.to_string(),
        raw: payload_json(&part.payload),
        rule: Some(rule),
        why,
    });
}

fn deliver(input: RoutingInput<'_>, part: &OutputPart, routing: &mut Routing) {
    let (to, door) = match (&part.selector.audience, input.selection.origin) {
        (Audience::Assistant, Origin::User) => (
            Consumer::User,
            Door::UserAction("you called the tool yourself; no model waits for the result".to_owned()),
        ),
        (Audience::Assistant, Origin::Model | Origin::Script | Origin::View) => {
            (Consumer::Model, Door::Contract)
        }
        (Audience::User, _) => (Consumer::User, Door::Contract),
        (Audience::Programmatic, Origin::User) => (
            Consumer::User,
            Door::UserAction("you asked for the programmatic output and called the tool yourself".to_owned()),
        ),
        (Audience::Programmatic, Origin::Script) => (Consumer::Script, Door::Contract),
        (Audience::Programmatic, Origin::Model | Origin::View) => {
            // It was asked for and came, but no program logic waits: it is not told or shown to anybody else instead (rule H23).
            routing.withheld.push(Withheld {
                selector: Some(part.selector.clone()),
                what: part.selector.to_string(),
                raw: payload_json(&part.payload),
                rule: Some(Rule::H23),
                why: "no program waits for it".to_owned(),
            });
            return;
        }
        (Audience::Extension(_), _) => (Consumer::View, Door::Contract),
    };
    routing.deliveries.push(Delivery {
        to,
        source: Source::Output(part.selector.clone()),
        payload: part.payload.clone(),
        bytes: part.bytes,
        door,
    });
}

/// Result-level `_meta` has no audience (rule H26). The extension's own entry goes with the output of the extension; whoever wrote it
/// said so by its key. Everything else reaches nobody.
fn route_meta(outcome: &CallOutcome, routing: &mut Routing) {
    let Some(meta) = &outcome.meta else { return };
    let entries: BTreeMap<String, Box<RawValue>> = match meta.to() {
        Ok(entries) => entries,
        Err(_) => {
            routing.withheld.push(withheld_meta("result _meta".to_owned(), meta.clone()));
            return;
        }
    };
    let view_waits = routing.deliveries.iter().any(|it| it.source == Source::Output(Selector::ui()));
    for (key, value) in entries {
        // The core names the server in every result, for display only (2026-07-28 basic, "_meta").
        if key == "io.modelcontextprotocol/serverInfo" {
            continue;
        }
        let raw = RawJson::from(value);
        if key == UI_EXTENSION && view_waits {
            routing.deliveries.push(Delivery {
                to: Consumer::View,
                source: Source::ExtensionMeta(key),
                bytes: raw.bytes(),
                payload: Payload::Structured(raw),
                door: Door::Policy("the extension's own _meta entry goes with its output".to_owned()),
            });
        } else {
            routing.withheld.push(withheld_meta(format!("result _meta {key}"), raw));
        }
    }
}

pub(crate) fn withheld_meta(what: String, raw: RawJson) -> Withheld {
    let why = "metadata of a result has no audience".to_owned();
    Withheld { selector: None, what, raw, rule: Some(Rule::H26), why }
}

/// What the model is told when nothing was delivered to it; it waits for a result of each of its calls.
pub(crate) fn notice(input: RoutingInput<'_>, is_error: bool, routing: &Routing) -> Option<Notice> {
    let reached = |to: Consumer| routing.deliveries.iter().any(|it| it.to == to);
    if input.selection.origin != Origin::Model || reached(Consumer::Model) {
        return None;
    }
    // A result that is nothing is shown as it came, but that is no output that was meant for the user.
    let shown =
        routing.deliveries.iter().any(|it| it.to == Consumer::User && it.source != Source::LegacyResult);
    let model_was_asked_for = input.selection.expected.iter().any(|it| it.audience == Audience::Assistant);
    Some(if is_error {
        Notice::FailedWithoutText
    } else if shown && !model_was_asked_for {
        Notice::ShownToUser
    } else if reached(Consumer::View) && !model_was_asked_for {
        Notice::GivenToView
    } else {
        Notice::NothingForModel
    })
}

/// A payload as JSON text, for what is kept and shown but delivered to nobody.
pub fn payload_json(payload: &Payload) -> RawJson {
    match payload {
        Payload::Structured(raw) => raw.clone(),
        Payload::Content(blocks) => RawJson::of(blocks).unwrap_or_else(|_| Value::Null.into()),
    }
}

impl Notice {
    /// The notice for the ledger.
    pub fn line(self) -> &'static str {
        match self {
            Self::ShownToUser => "the model is told that the output was shown to you",
            Self::GivenToView => "the model is told that the output went to the View",
            Self::NothingForModel => "the model is told that the tool gave it nothing",
            Self::FailedWithoutText => "the model is told that the tool failed without saying why",
        }
    }
}

impl Source {
    /// What it is, for people.
    pub fn name(&self) -> String {
        match self {
            Self::Output(selector) => selector.to_string(),
            Self::ExtensionMeta(key) => format!("_meta {key}"),
            Self::LegacyContent => "content".to_owned(),
            Self::LegacyStructured => "structuredContent".to_owned(),
            Self::LegacyResult => "the whole result".to_owned(),
            Self::ViewAnswer => "what the View answered".to_owned(),
        }
    }

    /// The selector, if it is an output for an audience.
    pub fn selector(&self) -> Option<&Selector> {
        match self {
            Self::Output(selector) => Some(selector),
            Self::ExtensionMeta(_)
            | Self::LegacyContent
            | Self::LegacyStructured
            | Self::LegacyResult
            | Self::ViewAnswer => None,
        }
    }
}

/// The policy that a mode implies where the user has set none for the tool.
pub fn legacy_policy_of(mode: Mode, set: Option<LegacyPolicy>) -> LegacyPolicy {
    set.unwrap_or(match mode {
        Mode::Data => LegacyPolicy::StructuredFirst,
        Mode::Chat | Mode::Code | Mode::Present | Mode::App | Mode::Custom => LegacyPolicy::ContentFirst,
    })
}
