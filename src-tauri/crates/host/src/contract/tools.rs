//! The calls of one tool: normal, empty and failing, and what else its revision has.

use usher_engine::{
    contract::{
        Case, Check, Finding, Judgement, Legacy, Level, Wire, arguments,
        legacy::{self, output_schema},
        outputs::{self, Asked},
    },
    declaration,
    validation::{Compiled, SchemaCache},
};
use usher_protocol::{
    RawJson, Rule,
    codec::WireDiagnostic,
    model::{Audience, CallOutcome, Format, OutcomeBody, Selector, Tool},
};

use super::{
    Called, Given, ToolReport, Verdict, Want,
    run::{Answered, Came, Run, Stop, tool_checks},
};

/// One tool under check.
struct Subject<'a> {
    tool: &'a Tool,
    given: Given,
    judgement: Judgement,
    called: Vec<Called>,
    wants: Vec<Want>,
    notes: Vec<String>,
}

impl Subject<'_> {
    /// Notes what a case is called with.
    fn call(&mut self, case: Case, arguments: &RawJson) {
        if !self.called.iter().any(|it| it.case == case) {
            self.called.push(Called { case, arguments: arguments.clone() });
        }
    }
}

/// What a tool is called with.
struct Plan {
    normal: RawJson,
    empty: Option<RawJson>,
    failing: Option<RawJson>,
}

impl Run<'_> {
    /// Checks a tool. `earlier` is its declaration under an earlier revision.
    pub(super) async fn tool(
        &mut self,
        tool: &Tool,
        told: &[WireDiagnostic],
        earlier: Option<&Tool>,
    ) -> ToolReport {
        let given = self.options.given.get(&tool.name).cloned().unwrap_or_default();
        let mut subject = Subject {
            tool,
            given,
            judgement: Judgement::default(),
            called: Vec::new(),
            wants: Vec::new(),
            notes: Vec::new(),
        };
        for it in told.iter().filter(|it| it.rule.is_none()) {
            let w7 = Check::Wire(Wire::W7);
            subject.judgement.put(Finding::of(w7, Level::Broken, Case::Declaration, &it.message));
        }
        let has_variants = self.revision().has_output_variants();
        let usable = if has_variants {
            subject.judgement.add(outputs::declaration(tool, &self.negotiated(), told));
            if let Some(earlier) = earlier {
                let title = format!("declaration of {} under the earlier revision", tool.name);
                let seen = self.keep(title, None, earlier.raw.get());
                subject.judgement.add(outputs::projected_declaration(tool, earlier).seen_in(seen));
            }
            declaration::check(tool, &self.negotiated()).map(|it| it.variants)
        } else {
            subject.judgement.add(legacy::declaration(tool));
            Ok(Vec::new())
        };
        let declaration = self.keep(format!("declaration of {}", tool.name), None, tool.raw.get());
        let judged = std::mem::take(&mut subject.judgement);
        subject.judgement = judged.seen_in(declaration);
        let calls = self.calls;
        let plan = match &usable {
            Ok(_) => self.plan(&mut subject).await,
            Err(_) => Err("its declaration cannot be used".to_owned()),
        };
        let skipped = match plan {
            Err(why) => Some(why),
            Ok(plan) => {
                let selectors: Vec<Selector> =
                    usable.unwrap_or_default().into_iter().map(|it| it.selector).collect();
                let ended = if has_variants {
                    self.with_variants(&mut subject, &plan, &selectors, earlier).await
                } else {
                    self.without_variants(&mut subject, &plan).await
                };
                subject.notes.extend(ended.err().map(|Stop(why)| format!("it was not called again: {why}")));
                None
            }
        };
        let Subject { mut judgement, called, wants, notes, .. } = subject;
        judgement.fold();
        ToolReport {
            name: tool.name.clone(),
            calls: self.calls - calls,
            skipped,
            called,
            wants,
            notes,
            verdicts: Verdict::list(&tool_checks(self.revision()), judgement),
        }
    }

    /// What the tool is called with, or why it is not.
    async fn plan(&self, subject: &mut Subject<'_>) -> Result<Plan, String> {
        let tool = subject.tool;
        let is_allowed = ["*", &tool.name].iter().any(|it| self.options.allowed.contains(*it));
        if let Some(why) = arguments::warning(tool).filter(|_| !is_allowed) {
            subject.wants.push(Want::Allow);
            return Err(format!("{why}; it is called if you allow it"));
        }
        let normal = match &subject.given.normal {
            Some(given) => given.clone(),
            None => match arguments::normal(tool) {
                Ok(made) => made,
                Err(lacks) => {
                    let asked = match &self.options.ask {
                        Some(ask) => ask(tool.clone(), lacks.to_string()).await,
                        None => None,
                    };
                    let Some(asked) = asked else {
                        subject.wants.push(Want::Normal);
                        return Err(format!("{lacks}, so its arguments must be given"));
                    };
                    asked
                }
            },
        };
        let empty = subject.given.empty.clone().or_else(|| arguments::empty(tool, &normal));
        let failing = subject.given.failing.clone().or_else(|| arguments::failing(tool, &normal));
        if empty.is_none() {
            subject.wants.push(Want::Empty);
            subject.notes.push("no arguments are known that find nothing".to_owned());
        }
        if failing.is_none() {
            subject.wants.push(Want::Failing);
            subject.notes.push("no arguments are known that fail".to_owned());
        }
        Ok(Plan { normal, empty, failing })
    }

    async fn with_variants(
        &mut self,
        subject: &mut Subject<'_>,
        plan: &Plan,
        all: &[Selector],
        earlier: Option<&Tool>,
    ) -> Result<(), Stop> {
        let mut schemas = SchemaCache::default();
        let (fallback, _) = self.outputs(subject, &mut schemas, Case::Fallback, &plan.normal, None).await?;
        match &fallback {
            Came::Result(it) if !it.is_error => {}
            Came::Result(it) => subject.notes.push(format!("the normal call failed: {}", said(it))),
            Came::Refused { code, message } => {
                subject.notes.push(format!("the normal call was refused: {message} ({code})"));
            }
        }
        let is_answered = matches!(fallback, Came::Result(_));
        let mut selections: Vec<&[Selector]> = all.iter().map(std::slice::from_ref).collect();
        if all.len() > 1 {
            selections.push(all);
        }
        for requested in selections {
            let (came, evidence) =
                self.outputs(subject, &mut schemas, Case::Normal, &plan.normal, Some(requested)).await?;
            if let (Came::Refused { code, message }, true) = (&came, is_answered) {
                let names: Vec<String> = requested.iter().map(ToString::to_string).collect();
                let text = format!("{} is declared, and was refused: {message} ({code})", names.join(", "));
                let found = Finding::of(Check::Server(Rule::S04), Level::Broken, Case::Normal, text);
                subject.judgement.put(Finding { evidence: Some(evidence), ..found });
            }
        }
        if let Some(empty) = &plan.empty {
            self.outputs(subject, &mut schemas, Case::Empty, empty, Some(all)).await?;
        }
        if let Some(failing) = &plan.failing {
            let (came, _) = self.outputs(subject, &mut schemas, Case::Failing, failing, Some(all)).await?;
            match came {
                Came::Result(it) if !it.is_error => {
                    subject.notes.push("the call that should fail did not".to_owned())
                }
                Came::Result(_) => {}
                // Where no output can be made, an error of the protocol is right.
                Came::Refused { .. } => subject.judgement.look(Check::Server(Rule::S10)),
            }
        }
        self.refusals(subject, &plan.normal).await?;
        if let Some(earlier) = earlier {
            self.projections(subject, plan, earlier).await?;
        }
        Ok(())
    }

    async fn outputs(
        &mut self,
        subject: &mut Subject<'_>,
        schemas: &mut SchemaCache,
        case: Case,
        arguments: &RawJson,
        requested: Option<&[Selector]>,
    ) -> Result<(Came, u32), Stop> {
        // A call without a selection has the arguments of the normal one.
        subject.call(if case == Case::Fallback { Case::Normal } else { case }, arguments);
        let Answered { came, evidence, took } =
            self.call(subject.tool, arguments, requested, case, false).await?;
        if case == Case::Fallback {
            self.cancel_one(subject.tool, arguments, took).await;
        }
        if let Came::Result(outcome) = &came {
            let negotiated = self.negotiated();
            let case = if outcome.is_error { Case::Failing } else { case };
            let asked = Asked {
                tool: subject.tool,
                revision: self.revision(),
                requested,
                negotiated: &negotiated,
                case,
            };
            subject.judgement.add(outputs::result(asked, outcome, schemas).seen_in(evidence));
        }
        Ok((came, evidence))
    }

    /// Makes selections that must be refused (S06).
    async fn refusals(&mut self, subject: &mut Subject<'_>, arguments: &RawJson) -> Result<(), Stop> {
        let core = [
            Selector::PROGRAMMATIC,
            Selector::USER_STRUCTURED,
            Selector::USER_CONTENT,
            Selector::ASSISTANT_STRUCTURED,
        ];
        let undeclared = core.into_iter().find(|it| subject.tool.variant(it).is_none());
        let stranger = Selector {
            audience: Audience::Extension("dev.usher.check/nobody".to_owned()),
            format: Format::Structured,
        };
        let twice = vec![Selector::ASSISTANT_CONTENT, Selector::ASSISTANT_CONTENT];
        let wrong = undeclared
            .map(|it| (format!("{it}, which the tool does not declare,"), vec![it]))
            .into_iter()
            .chain([
                (format!("{stranger}, whose extension was not negotiated,"), vec![stranger]),
                ("assistant/content twice".to_owned(), twice),
            ]);
        for (what, requested) in wrong {
            let Answered { came, evidence, .. } =
                self.call(subject.tool, arguments, Some(&requested), Case::Refusal, false).await?;
            let came = match came {
                Came::Result(_) => Ok(()),
                Came::Refused { code, message } => Err((code, message)),
            };
            subject.judgement.add(outputs::refusal(&what, &came).seen_in(evidence));
        }
        Ok(())
    }

    async fn projections(
        &mut self,
        subject: &mut Subject<'_>,
        plan: &Plan,
        earlier: &Tool,
    ) -> Result<(), Stop> {
        let schema = output_schema(earlier).map(Compiled::new);
        for arguments in
            [Some(&plan.normal), plan.empty.as_ref(), plan.failing.as_ref()].into_iter().flatten()
        {
            let Answered { came, evidence, .. } =
                self.call(earlier, arguments, None, Case::Projection, true).await?;
            if let Came::Result(outcome) = came {
                let found = outputs::projected_result(&outcome, schema.as_ref());
                subject.judgement.add(found.seen_in(evidence));
            }
        }
        Ok(())
    }

    async fn without_variants(&mut self, subject: &mut Subject<'_>, plan: &Plan) -> Result<(), Stop> {
        let tool = subject.tool;
        // What a schema of the whole result says of the payload is known already (L7).
        let is_envelope = subject.judgement.finds(Check::Legacy(Legacy::L7));
        let schema = output_schema(tool).filter(|_| !is_envelope).map(Compiled::new);
        let mut values = Vec::new();
        let mut last = 0;
        let cases = [
            (Case::Normal, Some(&plan.normal)),
            (Case::Empty, plan.empty.as_ref()),
            (Case::Failing, plan.failing.as_ref()),
        ];
        for (case, arguments) in cases {
            let Some(arguments) = arguments else { continue };
            subject.call(case, arguments);
            let Answered { came, evidence, took } = self.call(tool, arguments, None, case, false).await?;
            last = evidence;
            if case == Case::Normal {
                self.cancel_one(tool, arguments, took).await;
            }
            match came {
                Came::Result(outcome) => {
                    let case = classify(case, &outcome, subject);
                    subject.judgement.add(legacy::result(case, &outcome, schema.as_ref()).seen_in(evidence));
                    if let OutcomeBody::Legacy { structured: Some(value), .. } = &outcome.body {
                        values.push((case, value.clone()));
                    }
                }
                Came::Refused { code, message } => {
                    let fits = arguments::fits(tool, arguments);
                    subject.judgement.add(legacy::refusal(case, code, &message, fits).seen_in(evidence));
                }
            }
        }
        subject.judgement.add(legacy::stable(&values).seen_in(last));
        Ok(())
    }
}

/// What a call turned out to be.
fn classify(case: Case, outcome: &CallOutcome, subject: &mut Subject<'_>) -> Case {
    if outcome.is_error {
        subject.judgement.add(legacy::failed_properly());
        if case == Case::Normal {
            subject.notes.push(format!("the normal call failed: {}", said(outcome)));
        }
        return Case::Failing;
    }
    if case == Case::Failing {
        subject.notes.push("the call that should fail did not".to_owned());
        return Case::Normal;
    }
    case
}

/// The start of what an error says.
fn said(outcome: &CallOutcome) -> String {
    const LONGEST: usize = 160;
    let text = outcome.raw.get();
    text[..text.floor_char_boundary(LONGEST)].to_owned()
}
