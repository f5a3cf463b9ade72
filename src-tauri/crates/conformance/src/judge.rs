//! Judges one run of a client: what it sent, and what it says that each consumer received.
//!
//! It shares no code with the host's own selection and routing, so that it can find them wrong. Deliberately absent: input and output.

use serde_json::{Value, json};
use usher_protocol::{
    Rule,
    model::{Audience, Selector},
};

use crate::{
    Check, ScenarioResult, Status,
    mock::Sent,
    plan::{Consumer, Expected, Kind, Place, Planned, Situation, Spoil, all_variants, canary, stranger},
};

/// What a run of a client left behind.
pub(crate) struct Ran {
    pub(crate) sent: Vec<Sent>,
    pub(crate) reported: Vec<Delivery>,
    /// Why the client says that it cannot do what it was asked for.
    pub(crate) declined: Option<String>,
    /// How it ended, if not well.
    pub(crate) trouble: Option<String>,
}

/// A delivery that a client reports.
#[derive(Debug, Clone)]
pub(crate) struct Delivery {
    pub(crate) consumer: Consumer,
    pub(crate) data: String,
    /// Whether the payload fits the schema of its own variant, if the client says.
    pub(crate) valid: Option<bool>,
}

/// A call as it was sent.
struct Call<'a> {
    tool: &'a str,
    params: &'a Value,
    /// The selectors that can be read.
    requested: Option<Vec<Selector>>,
    /// Why what was sent in their place cannot be.
    unreadable: Option<String>,
}

/// Judges a run; `seed` is that of its canaries.
pub(crate) fn judge(result: &mut ScenarioResult, situation: &Situation, ran: &Ran, seed: &str) {
    if let Some(why) = &ran.declined {
        result.skipped = Some(format!("the client declined: {why}"));
        return;
    }
    let revision = situation.revisions.first().copied();
    let details = json!({"revision": revision, "mode": situation.mode});
    let listed = ran.sent.iter().any(|it| it.method == "tools/list");
    if !listed && revision.is_some_and(|it| !it.has_output_variants()) {
        let why = ran.trouble.as_deref().unwrap_or("it listed nothing");
        result.skipped = Some(format!("the client does not speak this revision ({why})"));
        return;
    }
    let trouble = (!listed).then(|| match &ran.trouble {
        Some(why) => format!("the client never listed the tools: {why}"),
        None => "the client never listed the tools".to_owned(),
    });
    let about = "The client lists the tools; without their declarations it cannot know what to ask for.";
    result.checks.push(Check::plain("listed", about, trouble, details.clone()));
    if !listed {
        return;
    }
    let calls: Vec<Call<'_>> =
        ran.sent.iter().filter(|it| it.method == "tools/call").map(|it| Call::of(&it.params)).collect();
    let about = "The client does what it was asked for and ends well.";
    result.checks.push(Check::plain("ended", about, ran.trouble.clone(), details.clone()));
    for planned in &situation.calls {
        expected(result, situation, planned, &calls, &details);
    }
    manners(result, situation, &calls, &details);
    deliveries(result, situation, ran, seed, &details);
}

impl<'a> Call<'a> {
    fn of(params: &'a Value) -> Self {
        let mut unreadable = None;
        let requested = params.get("requestedOutputs").map(|sent| {
            if !sent.is_array() {
                unreadable = Some(format!("is not an array: {}", start(sent)));
            }
            let mut selectors = Vec::new();
            for (at, item) in sent.as_array().into_iter().flatten().enumerate() {
                match serde_json::from_value::<Selector>(item.clone()) {
                    Ok(it) => selectors.push(it),
                    Err(_) if unreadable.is_some() => {}
                    Err(_) if !item.is_object() => {
                        let example = r#"{"audience": "assistant", "format": "content"}"#;
                        let what = start(item);
                        unreadable = Some(format!("at /{at} is not an object such as {example}: {what}"));
                    }
                    Err(error) => unreadable = Some(format!("at /{at} is wrong, {error}: {}", start(item))),
                }
            }
            selectors
        });
        Self { tool: params["name"].as_str().unwrap_or_default(), params, requested, unreadable }
    }

    /// Whether the selection is as it should be.
    fn fits(&self, expected: &Expected) -> bool {
        self.unreadable.is_none() && expected.fits(self.requested.as_deref())
    }

    /// What was sent, for people.
    fn words(&self) -> String {
        match &self.unreadable {
            Some(why) => format!("requestedOutputs that cannot be read: what stands {why}"),
            None => words(self.requested.as_deref()),
        }
    }
}

/// Whether a call was made as it should be, and no other of that tool.
fn expected(
    result: &mut ScenarioResult,
    situation: &Situation,
    planned: &Planned,
    calls: &[Call<'_>],
    details: &Value,
) {
    let tool = planned.tool;
    let made: Vec<&Call<'_>> = calls.iter().filter(|it| it.tool == tool).collect();
    // As it came, so that what cannot be read is there, too.
    let sent: Vec<Option<&Value>> = made.iter().map(|it| it.params.get("requestedOutputs")).collect();
    let expected = planned.expected.words();
    let details = json!({"tool": tool, "expected": expected, "sent": sent, "run": details});
    if made.is_empty() {
        let (about, must) = match &planned.expected {
            Expected::NotCalled | Expected::AtMost(_) => ("A tool that cannot be used is not called.", false),
            Expected::Exactly(_) | Expected::Fallback | Expected::NoSelection => {
                ("The tool is called.", true)
            }
        };
        let check = match planned.rule {
            Some(rule) if !must => Check::of(rule, Status::Success, None, details),
            Some(_) | None => {
                let trouble = must.then(|| format!("{tool} was not called"));
                Check::plain("called", about, trouble, details)
            }
        };
        return result.checks.push(check);
    }
    // A tool may be called for several consumers, each with its own selection.
    let all: Vec<&Planned> = situation.calls.iter().filter(|it| it.tool == tool).collect();
    let is_made = made.iter().any(|it| it.fits(&planned.expected));
    let is_known = |call: &&Call<'_>| all.iter().any(|it| call.fits(&it.expected));
    let fits = is_made && made.iter().all(is_known);
    let said: Vec<String> = made.iter().map(|it| it.words()).collect();
    let trouble = (!fits).then(|| format!("{tool}: expected {expected}, sent {}", said.join("; ")));
    let about = "requestedOutputs is what the consumers of the call take, the tool declares and both sides negotiated.";
    let status = if trouble.is_some() { Status::Failure } else { Status::Success };
    result.checks.push(match planned.rule {
        Some(rule) => Check::of(rule, status, trouble, details),
        None => Check::plain("requested-outputs", about, trouble, details),
    });
}

impl Expected {
    /// Whether a selection is as it should be. The order of selectors means nothing.
    fn fits(&self, requested: Option<&[Selector]>) -> bool {
        let same = |it: &[Selector], other: &[Selector]| {
            it.len() == other.len() && it.iter().all(|selector| other.contains(selector))
        };
        match (self, requested) {
            (Self::Exactly(selectors), Some(sent)) => same(selectors, sent),
            (Self::Fallback, Some(sent)) => same(&[Selector::ASSISTANT_CONTENT], sent),
            (Self::Fallback | Self::NoSelection | Self::AtMost(_), None) => true,
            (Self::AtMost(selectors), Some(sent)) => sent.iter().all(|it| selectors.contains(it)),
            (Self::Exactly(_), None) | (Self::NoSelection, Some(_)) | (Self::NotCalled, _) => false,
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Exactly(selectors) => words(Some(selectors)),
            Self::Fallback => "assistant/content, or no selection".to_owned(),
            Self::NoSelection => words(None),
            Self::AtMost(selectors) => format!("no call, or nothing beyond {}", words(Some(selectors))),
            Self::NotCalled => "no call".to_owned(),
        }
    }
}

fn words(requested: Option<&[Selector]>) -> String {
    requested.map_or_else(
        || "no selection".to_owned(),
        |it| format!("[{}]", it.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    )
}

/// The start of what a client sent.
fn start(value: &Value) -> String {
    const LONGEST: usize = 80;
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// What holds for every call (H10 to H14).
fn manners(result: &mut ScenarioResult, situation: &Situation, calls: &[Call<'_>], details: &Value) {
    let has_outputs = situation.revisions.iter().all(|it| it.has_output_variants());
    let mut check = |rule: Rule, looked: bool, trouble: Option<String>| {
        let status = if trouble.is_some() { Status::Failure } else { Status::Success };
        if looked {
            result.checks.push(Check::of(rule, status, trouble, details.clone()));
        }
    };
    if !has_outputs {
        let found = calls.iter().find(|it| holds_key(it.params, "requestedOutputs"));
        let trouble = found.map(|it| format!("{}: requestedOutputs was sent", it.tool));
        return check(Rule::H10, !calls.is_empty(), trouble);
    }
    let selected: Vec<(&Call<'_>, &Vec<Selector>)> =
        calls.iter().filter_map(|it| it.requested.as_ref().map(|sent| (it, sent))).collect();
    let declares = |tool: &str, selector: &Selector| {
        let known = situation.tools.iter().find(|it| it.name == tool);
        known.is_some_and(|it| it.variants.contains(selector))
    };
    let find = |is_wrong: &dyn Fn(&str, &[Selector], usize) -> bool| {
        selected.iter().find_map(|(call, sent)| {
            let at = (0..sent.len()).find(|at| is_wrong(call.tool, sent, *at))?;
            Some(format!("{}: {}", call.tool, sent[at]))
        })
    };
    let is_core = |it: &Selector| !matches!(it.audience, Audience::Extension(_));
    let looked = !selected.is_empty();
    check(Rule::H11, looked, find(&|tool, sent, at| is_core(&sent[at]) && !declares(tool, &sent[at])));
    check(Rule::H12, looked, find(&|_, sent, at| !is_core(&sent[at]) && sent[at] != Selector::ui()));
    check(Rule::H13, looked, find(&|_, sent, at| sent[..at].contains(&sent[at])));
    let slipped = calls.iter().find(|it| holds_key(&it.params["arguments"], "requestedOutputs"));
    let trouble = slipped.map(|it| format!("{}: requestedOutputs stands in the arguments", it.tool));
    check(Rule::H14, !calls.is_empty(), trouble);
}

fn holds_key(value: &Value, key: &str) -> bool {
    match value {
        Value::Object(fields) => fields.iter().any(|(name, it)| name == key || holds_key(it, key)),
        Value::Array(items) => items.iter().any(|it| holds_key(it, key)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Where each canary went (H19, H21 to H28, H31).
fn deliveries(result: &mut ScenarioResult, situation: &Situation, ran: &Ran, seed: &str, details: &Value) {
    let reached: Vec<Place> = Consumer::ALL
        .into_iter()
        .flat_map(|consumer| places(situation, consumer))
        .filter(|place| receives(ran, place, seed))
        .collect();
    if ran.reported.is_empty() && routes(situation) {
        result.skipped = Some("the client reported no deliveries, so routing was not measured".to_owned());
        return;
    }
    for place in &situation.must {
        let trouble = (!reached.contains(place)).then(|| format!("{} did not arrive", place.words()));
        let about = "An output that was asked for reaches the consumer that it was made for.";
        let details = json!({"consumer": place.consumer.name(), "run": details});
        result.checks.push(Check::plain("delivered", about, trouble, details));
    }
    if ran.reported.is_empty() {
        return;
    }
    if situation.spoil == Spoil::Lure {
        let arrived = situation.may.iter().any(|it| reached.contains(it));
        let trouble = (!arrived).then(|| "nothing of the result arrived anywhere".to_owned());
        let about = "A result of an earlier revision is read in that revision's shape.";
        result.checks.push(Check::plain("legacy-read", about, trouble, details.clone()));
    }
    let is_stray = |it: &&Place| !situation.must.contains(it) && !situation.may.contains(it);
    let strays: Vec<&Place> = reached.iter().filter(is_stray).collect();
    for rule in rules(situation) {
        let found: Vec<String> = strays
            .iter()
            .filter(|it| broken(situation, it) == rule)
            .map(|it| format!("{} arrived", it.words()))
            .collect();
        let trouble = (!found.is_empty()).then(|| found.join("; "));
        let status = if trouble.is_some() { Status::Failure } else { Status::Success };
        result.checks.push(Check::of(rule, status, trouble, details.clone()));
    }
    if situation.spoil == Spoil::Swapped {
        validity(result, ran, seed, details);
    }
}

/// Whether the scenario is about who receives what.
fn routes(situation: &Situation) -> bool {
    !situation.must.is_empty() || situation.spoil == Spoil::Lure
}

/// The rules by which something may not arrive.
fn rules(situation: &Situation) -> Vec<Rule> {
    match situation.spoil {
        Spoil::Unrequested => vec![Rule::H19, Rule::H26],
        Spoil::Lure => vec![Rule::H31],
        Spoil::Nothing | Spoil::NoFallback | Spoil::NoVariants | Spoil::Stranger | Spoil::Swapped => {
            vec![Rule::H22, Rule::H23, Rule::H25, Rule::H28]
        }
    }
}

/// The rule that something breaks by arriving there.
fn broken(situation: &Situation, stray: &Place) -> Rule {
    let Kind::Output(selector) = &stray.kind else {
        return if stray.kind == Kind::Lure { Rule::H31 } else { Rule::H26 };
    };
    match (situation.spoil, stray.consumer, &selector.audience) {
        (Spoil::Unrequested, _, _) => Rule::H19,
        (Spoil::Lure, _, _) => Rule::H31,
        (_, Consumer::View, _) => Rule::H28,
        (_, Consumer::Assistant, Audience::User) => Rule::H22,
        (_, Consumer::Assistant | Consumer::User, Audience::Programmatic) => Rule::H23,
        (_, Consumer::Assistant | Consumer::User | Consumer::Programmatic, _) => Rule::H25,
    }
}

/// Every canary that a consumer could receive.
fn places(situation: &Situation, consumer: Consumer) -> Vec<Place> {
    let kinds = || {
        let outputs = all_variants().into_iter().chain([stranger()]).map(Kind::Output);
        outputs.chain([Kind::Meta, Kind::UiMeta, Kind::Lure])
    };
    let of = |tool: &'static str| kinds().map(move |kind| Place { consumer, tool, kind });
    situation.tools.iter().flat_map(|it| of(it.name)).collect()
}

fn receives(ran: &Ran, place: &Place, seed: &str) -> bool {
    let canary = canary(place.tool, &place.kind, seed);
    ran.reported.iter().any(|it| it.consumer == place.consumer && it.data.contains(&canary))
}

impl Place {
    fn words(&self) -> String {
        format!("{} of {} at the consumer {}", self.kind.word(), self.tool, self.consumer.name())
    }
}

/// Whether the client judges each payload by its own schema (H34, and H04 for what it should).
fn validity(result: &mut ScenarioResult, ran: &Ran, seed: &str, details: &Value) {
    let says = |tool: &str, selector: Selector| {
        let canary = canary(tool, &Kind::Output(selector), seed);
        let of = ran.reported.iter().filter(|it| it.data.contains(&canary));
        of.filter_map(|it| it.valid).collect::<Vec<bool>>()
    };
    let own = [says("report", Selector::PROGRAMMATIC), says("report", Selector::ui())].concat();
    let swapped = says("swapped", Selector::ui());
    if own.is_empty() {
        result.skipped = Some("the client did not say which payloads fit their schemas".to_owned());
    } else {
        let foreign = own.contains(&false);
        let trouble = foreign.then(|| "a payload that fits its own schema was called invalid".to_owned());
        let status = if foreign { Status::Failure } else { Status::Success };
        result.checks.push(Check::of(Rule::H34, status, trouble, details.clone()));
    }
    let arrived = ran
        .reported
        .iter()
        .any(|it| it.data.contains(&canary("swapped", &Kind::Output(Selector::ui()), seed)));
    let (status, trouble) = if swapped.contains(&true) {
        let text = "a View's payload that fits the programmatic schema, and not its own, was called valid";
        (Status::Failure, Some(text.to_owned()))
    } else if swapped.is_empty() && own.is_empty() {
        // A client that says nothing of any payload may have checked them all.
        return;
    } else if arrived && swapped.is_empty() {
        let text =
            "a View's payload that does not fit its schema was delivered, and nothing is said about that";
        (Status::Warning, Some(text.to_owned()))
    } else {
        (Status::Success, None)
    };
    result.checks.push(Check::of(Rule::H04, status, trouble, details.clone()));
}
