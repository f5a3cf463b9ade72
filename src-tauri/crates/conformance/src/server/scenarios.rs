//! What each scenario asks of a server, and which of the engine's findings it counts.
//!
//! A selection is judged without what nobody asked for, which is P15's; whether payloads fit their schemas is P11's, whatever they are
//! for. So a defect fails the one scenario that is about it.

use serde_json::{Value, json};
use usher_engine::{
    contract::{
        Case, Check as Owed, Finding, Judgement, Level,
        legacy::output_schema,
        outputs::{self, Asked},
    },
    validation::{Compiled, SchemaCache},
};
use usher_host::connection::ConnectionOptions;
use usher_protocol::{
    Rule,
    model::{Audience, CallOutcome, Format, OutcomeBody, Selector, Tool},
};

use super::{Came, Earlier, Run, Subject, call, connect};
use crate::{Check, Scenario, ScenarioResult, Status};

/// What is owed by every call.
const ANSWERED: &str = "A call is answered with a result of the revision's shape.";

/// What is owed before any call.
const LISTED: &str = "The tools can be listed.";

/// What a result is looked at for.
enum Look {
    /// What was asked for.
    Requested(&'static [Rule]),
    /// What was not.
    Unrequested,
}

impl Run<'_> {
    pub(super) async fn scenario(&mut self, scenario: Scenario) -> ScenarioResult {
        let mut result = ScenarioResult::new(scenario);
        if !self.revision().has_output_variants() {
            let spoken = self.revision();
            result.skipped = Some(format!("the server speaks {spoken}, which has no outputs for audiences"));
            return result;
        }
        if let Some(why) = &self.unlisted {
            if self.line.greeting().has_capability("tools") {
                let details = json!({"revision": self.revision()});
                result.checks.push(Check::plain("listed", LISTED, Some(why.clone()), details));
            } else {
                result.skipped = Some(format!("the server offers no tools: {why}"));
            }
            return result;
        }
        if self.page.tools.is_empty() && self.page.rejected.is_empty() {
            result.skipped = Some("the server lists no tools".to_owned());
            return result;
        }
        let ui = Selector::ui();
        let content = Selector::ASSISTANT_CONTENT;
        let for_model = |it: &Subject| it.tool.is_visible_to_model();
        let for_view = |it: &Subject| !it.tool.is_visible_to_model() && it.tool.is_visible_to_view();
        match scenario {
            Scenario::P01 => {
                let selections = [Some(vec![content]), None];
                self.outputs(&mut result, "no tool for models", for_model, &selections).await;
            }
            Scenario::P02 => self.one(&mut result, Selector::PROGRAMMATIC).await,
            Scenario::P03 => self.one(&mut result, Selector::ASSISTANT_STRUCTURED).await,
            Scenario::P04 => self.one(&mut result, Selector::USER_CONTENT).await,
            Scenario::P05 => self.one(&mut result, Selector::USER_STRUCTURED).await,
            Scenario::P06 => {
                let none =
                    "no tool for models declares an output for a View, or the extension was not negotiated";
                self.outputs(&mut result, none, for_model, &[Some(vec![content, ui])]).await;
            }
            Scenario::P08 => {
                let none = "no tool for Views only declares an output for a View";
                self.outputs(&mut result, none, for_view, &[Some(vec![ui])]).await;
            }
            Scenario::P09 => self.outputs(&mut result, "no tool is for Views only", for_view, &[None]).await,
            Scenario::P07 | Scenario::P14 => self.declarations(&mut result),
            Scenario::P10 => self.refusals(&mut result).await,
            Scenario::P11 => self.schemas(&mut result).await,
            Scenario::P12 | Scenario::P13 => self.earlier_revisions(&mut result).await,
            Scenario::P15 => self.unrequested(&mut result).await,
        }
        result
    }

    /// One output alone, of every tool that declares it.
    async fn one(&mut self, result: &mut ScenarioResult, selector: Selector) {
        let none = format!("no tool declares {selector}");
        self.outputs(result, &none, |_| true, &[Some(vec![selector])]).await;
    }

    /// Selections that are answered exactly, of every tool that they are possible for.
    async fn outputs(
        &mut self,
        result: &mut ScenarioResult,
        none: &str,
        applies: impl Fn(&Subject) -> bool,
        selections: &[Option<Vec<Selector>>],
    ) {
        const RULES: &[Rule] = &[Rule::S02, Rule::S04, Rule::S05, Rule::S09];
        let declares = |it: &Subject| {
            selections.iter().flatten().flatten().all(|selector| it.variants.contains(selector))
        };
        let at = self.places(|it| !it.variants.is_empty() && applies(it) && declares(it));
        for index in &at {
            for requested in selections {
                self.look(result, *index, requested.as_deref(), &Look::Requested(RULES)).await;
            }
        }
        conclude(result, &at, none);
    }

    /// Each structured output by its own schema (P11).
    async fn schemas(&mut self, result: &mut ScenarioResult) {
        let at = self.places(|it| it.variants.iter().any(|it| it.format == Format::Structured));
        for index in &at {
            let structured: Vec<Selector> = self.subjects[*index]
                .variants
                .iter()
                .filter(|it| it.format == Format::Structured)
                .cloned()
                .collect();
            for selector in &structured {
                let alone = std::slice::from_ref(selector);
                self.look(result, *index, Some(alone), &Look::Requested(&[Rule::S07])).await;
            }
            if structured.len() > 1 {
                self.look(result, *index, Some(&structured), &Look::Requested(&[Rule::S07])).await;
            }
        }
        conclude(result, &at, "no tool declares structured data");
    }

    /// What nobody asked for, in every kind of call (P15).
    async fn unrequested(&mut self, result: &mut ScenarioResult) {
        let at = self.places(|it| !it.variants.is_empty());
        for index in &at {
            let all = self.subjects[*index].variants.clone();
            self.look(result, *index, None, &Look::Unrequested).await;
            for selector in &all {
                let alone = std::slice::from_ref(selector);
                self.look(result, *index, Some(alone), &Look::Unrequested).await;
            }
            if all.len() > 1 {
                self.look(result, *index, Some(&all), &Look::Unrequested).await;
            }
        }
        conclude(result, &at, "no tool can be called");
    }

    fn places(&self, applies: impl Fn(&Subject) -> bool) -> Vec<usize> {
        let found = self.subjects.iter().enumerate().filter(|(_, it)| applies(it));
        found.map(|(index, _)| index).collect()
    }

    /// Makes one call and counts the findings that it is made for.
    async fn look(
        &mut self,
        result: &mut ScenarioResult,
        at: usize,
        requested: Option<&[Selector]>,
        look: &Look,
    ) {
        let came = self.call(at, requested).await;
        let subject = &self.subjects[at];
        let tool = &subject.tool;
        let details = json!({"tool": tool.name, "requestedOutputs": requested});
        if let Err(why) = &subject.arguments {
            return note(result, format!("{} was not called: {why}", tool.name));
        }
        let outcome = match came {
            Came::Result(outcome) if !outcome.is_error => outcome,
            Came::Result(_) => {
                return self.without_result(result, at, requested, look, "failed", false).await;
            }
            Came::Refused { code, message } => {
                let how = format!("was refused: {message} ({code})");
                return self.without_result(result, at, requested, look, &how, true).await;
            }
            Came::Lost(why) => {
                let text = Some(format!("{}: {why}", tool.name));
                return result.checks.push(Check::plain("answered", ANSWERED, text, details));
            }
        };
        let asked = Asked {
            tool,
            revision: self.revision(),
            requested,
            negotiated: &self.negotiated,
            case: if requested.is_some() { Case::Normal } else { Case::Fallback },
        };
        let mut schemas = SchemaCache::default();
        let own = outputs::result(asked, &without_extras(&outcome, requested), &mut schemas);
        let judgement = match look {
            Look::Requested(rules) => only(own, rules),
            Look::Unrequested => {
                let mut whole = outputs::result(asked, &outcome, &mut schemas);
                whole.findings.retain(|it| !own.findings.iter().any(|own| own.text == it.text));
                only(whole, &[Rule::S04, Rule::S05, Rule::S08, Rule::S14])
            }
        };
        // Several selections may break the same requirement in the same words.
        let called = format!("{} ({})", tool.name, asked_for(requested));
        result.checks.extend(checks(&judgement, &called, &details));
    }

    /// Counts a call that gave no outputs. That is the arguments' matter, unless the same call with another selection gives some: then
    /// the selection was not answered.
    async fn without_result(
        &self,
        result: &mut ScenarioResult,
        at: usize,
        requested: Option<&[Selector]>,
        look: &Look,
        how: &str,
        is_refused: bool,
    ) {
        let Subject { tool, arguments: Ok(arguments), .. } = &self.subjects[at] else { return };
        let content = [Selector::ASSISTANT_CONTENT];
        let mut answered = None;
        for other in [None, Some(content.as_slice())].into_iter().filter(|it| *it != requested) {
            // Made anew: a call that succeeded once may fail the second time whatever is asked for.
            let came = call(&self.line, &tool.name, arguments, other, self.options.timeout).await;
            if let Came::Result(outcome) = came
                && (is_refused || !outcome.is_error)
            {
                answered = Some(other);
                break;
            }
        }
        let Some(other) = answered else {
            return note(result, format!("{} {how}; give it other arguments", tool.name));
        };
        let (asked, other) = (asked_for(requested), asked_for(other));
        let text = format!("{}: {asked} {how}, and {other} was answered", tool.name);
        // What is not given is not judged for what it holds.
        let Look::Requested([Rule::S02, ..]) = look else { return note(result, text) };
        let rule = if requested.is_some() { Rule::S04 } else { Rule::S05 };
        let details = json!({"tool": tool.name, "requestedOutputs": requested});
        result.checks.push(Check::of(rule, Status::Failure, Some(text), details));
    }

    /// Every declaration: whether it has variants at all (P14), and whether they may be so (P07).
    fn declarations(&self, result: &mut ScenarioResult) {
        let is_wanted = |name: &str| self.options.only.is_empty() || self.options.only.contains(name);
        let of_p14 = result.scenario == Scenario::P14;
        for refused in self.page.rejected.iter().filter(|it| is_wanted(&it.name)) {
            if (refused.rule == Some(Rule::H09)) == of_p14 {
                let text = Some(format!("{}: {}", refused.name, refused.why));
                let details = json!({"tool": refused.name, "declaration": refused.raw.to_value()});
                result.checks.push(Check::of(Rule::S01, Status::Failure, text, details));
            }
        }
        for subject in &self.subjects {
            let judgement = if of_p14 {
                let mut has_variants = Judgement::default();
                has_variants.look(Owed::Server(Rule::S01));
                has_variants
            } else {
                outputs::declaration(&subject.tool, &self.negotiated, &self.told)
            };
            let details = json!({"tool": subject.tool.name});
            result.checks.extend(checks(&judgement, &subject.tool.name, &details));
        }
        if result.checks.is_empty() {
            // All of them failed the other scenario.
            result.skipped = Some("no declaration is left to look at".to_owned());
        }
    }

    /// Selections that must be refused (P10).
    async fn refusals(&mut self, result: &mut ScenarioResult) {
        let at = self.places(|it| !it.variants.is_empty());
        for index in &at {
            let subject = &self.subjects[*index];
            if let Err(why) = &subject.arguments {
                note(result, format!("{} was not called: {why}", subject.tool.name));
                continue;
            }
            for (what, requested) in wrong_selections(subject) {
                let came = self.call(*index, Some(&requested)).await;
                self.refused(result, *index, &what, &requested, came);
            }
        }
        if self.negotiated.admits(&Audience::ui()) {
            self.unnegotiated(result, &at).await;
        }
        conclude(result, &at, "no tool can be called");
    }

    /// The View's output, asked for by a client that did not offer the extension.
    async fn unnegotiated(&self, result: &mut ScenarioResult, at: &[usize]) {
        let options = ConnectionOptions { ui_extension: false, ..self.options.connection.clone() };
        let Ok(line) = connect(self.spec, options).await else {
            return note(result, "a client without the Apps extension was not let in".to_owned());
        };
        // Headers of later calls follow from the declarations.
        let listed = line.list_tools().await;
        let ui = [Selector::ui()];
        for index in at.iter().filter(|it| listed.is_ok() && self.subjects[**it].variants.contains(&ui[0])) {
            let subject = &self.subjects[*index];
            let Ok(arguments) = &subject.arguments else { continue };
            let came = call(&line, &subject.tool.name, arguments, Some(&ui), self.options.timeout).await;
            let what = format!("{}, whose extension the client did not offer,", ui[0]);
            self.refused(result, *index, &what, &ui, came);
        }
        line.close().await;
    }

    fn refused(
        &self,
        result: &mut ScenarioResult,
        at: usize,
        what: &str,
        requested: &[Selector],
        came: Came,
    ) {
        let tool = &self.subjects[at].tool.name;
        let details = json!({"tool": tool, "requestedOutputs": requested});
        let came = match came {
            Came::Result(_) => Ok(()),
            Came::Refused { code, message } => Err((code, message)),
            Came::Lost(why) => Err((0, why)),
        };
        result.checks.extend(checks(&outputs::refusal(what, &came), tool, &details));
    }

    /// The same tools under every earlier revision: the shape of results (P12), or what is made of outputs for it (P13).
    async fn earlier_revisions(&mut self, result: &mut ScenarioResult) {
        self.earlier().await;
        let earlier = self.earlier.as_deref().unwrap_or_default();
        for line in earlier {
            let revision = line.connection.revision();
            let tools = match &line.tools {
                Ok(tools) => tools,
                Err(why) => {
                    let text = Some(format!("under {revision}: {why}"));
                    let details = json!({"revision": revision});
                    result.checks.push(Check::plain("listed", LISTED, text, details));
                    continue;
                }
            };
            for subject in &self.subjects {
                match tools.get(&subject.tool.name) {
                    Some(projected) => self.under_earlier(result, line, subject, projected).await,
                    None => note(result, format!("{} is not listed under {revision}", subject.tool.name)),
                }
            }
        }
        if earlier.is_empty() {
            result.skipped = Some("the server speaks no earlier revision".to_owned());
        } else if result.checks.is_empty() {
            result.skipped = Some(format!("no tool could be called: {}", result.notes.join("; ")));
        }
    }

    /// One tool under an earlier revision.
    async fn under_earlier(
        &self,
        result: &mut ScenarioResult,
        line: &Earlier,
        subject: &Subject,
        projected: &Tool,
    ) {
        let (name, revision) = (&subject.tool.name, line.connection.revision());
        let details = json!({"tool": name, "revision": revision});
        let of_p13 = result.scenario == Scenario::P13;
        if of_p13 {
            let judgement = outputs::projected_declaration(&subject.tool, projected);
            result.checks.extend(checks(&judgement, name, &details));
        }
        let arguments = match &subject.arguments {
            Ok(arguments) => arguments,
            Err(why) => return note(result, format!("{name} was not called: {why}")),
        };
        let came = call(&line.connection, name, arguments, None, self.options.timeout).await;
        let how = match &came {
            Came::Result(outcome) => {
                let schema = output_schema(projected).map(Compiled::new);
                let judgement = outputs::projected_result(outcome, schema.as_ref());
                result.checks.extend(checks(&half(judgement, of_p13), name, &details));
                outcome.is_error.then(|| "failed".to_owned())
            }
            Came::Refused { code, message } => Some(format!("was refused: {message} ({code})")),
            Came::Lost(why) => {
                let text = Some(format!("{name} under {revision}: {why}"));
                return result.checks.push(Check::plain("answered", ANSWERED, text, details));
            }
        };
        let Some(how) = how else { return };
        let text = format!("{name} under {revision} {how}");
        // The arguments' matter, unless the newest revision takes them. Asked anew: a second call may fail under any revision.
        match call(&self.line, name, arguments, None, self.options.timeout).await {
            Came::Result(outcome) if !outcome.is_error => {
                let text = Some(format!("{text}, and under {} it gave a result", self.revision()));
                result.checks.push(Check::plain("answered", ANSWERED, text, details));
            }
            Came::Result(_) | Came::Refused { .. } | Came::Lost(_) => note(result, text),
        }
    }
}

/// What is owed under an earlier revision by the shape alone (P12), or beyond it (P13).
fn half(mut judgement: Judgement, beyond: bool) -> Judgement {
    judgement.findings.retain(|it| (it.by == Some(Rule::H31)) != beyond);
    judgement
}

/// Selections that no server may answer with outputs.
fn wrong_selections(subject: &Subject) -> Vec<(String, Vec<Selector>)> {
    let core = [
        Selector::PROGRAMMATIC,
        Selector::USER_STRUCTURED,
        Selector::USER_CONTENT,
        Selector::ASSISTANT_STRUCTURED,
    ];
    let undeclared = core.into_iter().find(|it| subject.tool.variant(it).is_none());
    let stranger = Selector {
        audience: Audience::Extension("dev.usher.conformance/nobody".to_owned()),
        format: Format::Structured,
    };
    let content = Selector::ASSISTANT_CONTENT;
    undeclared
        .map(|it| (format!("{it}, which the tool does not declare,"), vec![content.clone(), it]))
        .into_iter()
        .chain([
            (format!("{stranger}, whose extension was not negotiated,"), vec![content.clone(), stranger]),
            ("assistant/content twice".to_owned(), vec![content.clone(), content]),
        ])
        .collect()
}

/// A result without outputs that nobody asked for and without metadata.
fn without_extras(outcome: &CallOutcome, requested: Option<&[Selector]>) -> CallOutcome {
    let fallback = [Selector::ASSISTANT_CONTENT];
    let wanted = requested.unwrap_or(&fallback);
    let body = match &outcome.body {
        OutcomeBody::Outputs { parts, unreadable } => OutcomeBody::Outputs {
            parts: parts.iter().filter(|it| wanted.contains(&it.selector)).cloned().collect(),
            unreadable: unreadable.clone(),
        },
        legacy @ OutcomeBody::Legacy { .. } => legacy.clone(),
    };
    CallOutcome { body, meta: None, ..outcome.clone() }
}

/// What concerns some requirements.
fn only(mut judgement: Judgement, rules: &[Rule]) -> Judgement {
    let is_meant = |it: &Owed| matches!(it, Owed::Server(rule) if rules.contains(rule));
    judgement.looked.retain(is_meant);
    judgement.findings.retain(|it| is_meant(&it.check));
    judgement
}

/// A check for each requirement that was looked at.
fn checks(judgement: &Judgement, tool: &str, details: &Value) -> Vec<Check> {
    let rules = judgement.looked.iter().filter_map(|it| match it {
        Owed::Server(rule) => Some(*rule),
        Owed::Legacy(_) | Owed::Wire(_) => None,
    });
    let of = |rule: Rule| {
        let found: Vec<&Finding> =
            judgement.findings.iter().filter(|it| it.check == Owed::Server(rule)).collect();
        let status = match found.iter().map(|it| it.level).max() {
            Some(Level::Broken) => Status::Failure,
            Some(Level::Advice) => Status::Warning,
            None => Status::Success,
        };
        let texts: Vec<&str> = found.iter().map(|it| it.text.as_str()).collect();
        let trouble = (!texts.is_empty()).then(|| format!("{tool}: {}", texts.join("; ")));
        Check::of(rule, status, trouble, details.clone())
    };
    rules.map(of).collect()
}

/// Says why nothing was checked, if nothing was.
fn conclude(result: &mut ScenarioResult, at: &[usize], none: &str) {
    if at.is_empty() {
        result.skipped = Some(none.to_owned());
    } else if result.checks.is_empty() {
        result.skipped = Some(result.notes.join("; "));
    }
}

fn note(result: &mut ScenarioResult, text: String) {
    if !result.notes.contains(&text) {
        result.notes.push(text);
    }
}

fn asked_for(requested: Option<&[Selector]>) -> String {
    let names = |it: &[Selector]| it.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    requested.map_or_else(|| "no selection".to_owned(), names)
}
