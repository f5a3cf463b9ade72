//! The View bench for the window: its form is a fixture of the host, with values as text.
//!
//! Deliberately absent: judgements and projections, which are the host's.

use usher_engine::{contract::arguments, validation::Verdict};
use usher_host::conversation::{
    Answerer, BenchVerdict, Ending, FIXTURE_VERSION, Failing, Fault, Fixture, Launch, News, Policy, Surround,
    ViewOutcome, output_schema,
};
use usher_protocol::{
    RawJson,
    model::{Contract, Selector, Tool},
};

use super::{
    ApiError, Usher, access,
    answers::refuse,
    types::{
        BenchAnswer, BenchContext, BenchFailing, BenchFault, BenchForm, BenchJudgement, BenchNews,
        BenchOutcome, BenchTool, BenchVariant, BenchVerdictView, ProblemView, ViewLaunch,
    },
};

impl Usher {
    /// The tools of a server that have a View.
    pub(super) fn tools_for_bench(&self, server_id: &str) -> Vec<BenchTool> {
        let servers = self.host.server_statuses();
        let server = servers.iter().find(|it| it.id == server_id);
        server.iter().flat_map(|it| &it.tools).filter_map(|it| bench_tool(&it.tool)).collect()
    }
}

fn bench_tool(tool: &Tool) -> Option<BenchTool> {
    let resource_uri = tool.ui.as_ref()?.resource_uri.clone()?;
    Some(BenchTool {
        name: tool.name.clone(),
        title: tool.title.clone(),
        resource_uri,
        input_schema_json: tool.input_schema.get().to_owned(),
        example_json: arguments::normal(tool).ok().map(|it| it.get().to_owned()),
        variants: variants(tool),
    })
}

fn variants(tool: &Tool) -> Vec<BenchVariant> {
    let schema_json = |it: Option<&RawJson>| it.map(|it| it.get().to_owned());
    match &tool.contract {
        Contract::Legacy { .. } => vec![BenchVariant {
            title: "the whole result, as this revision sends it".to_owned(),
            schema_json: schema_json(output_schema(tool)),
            why_not: None,
            whole: true,
        }],
        Contract::Variants(variants) => {
            let view = |it: &usher_protocol::model::OutputVariant| BenchVariant {
                title: it.selector.to_string(),
                schema_json: schema_json(it.schema.as_ref()),
                why_not: (it.selector != Selector::ui())
                    .then(|| "it is made for others than Views".to_owned()),
                whole: false,
            };
            // What can be written comes first.
            let (ours, others): (Vec<_>, Vec<_>) =
                variants.iter().map(view).partition(|it| it.why_not.is_none());
            ours.into_iter().chain(others).collect()
        }
    }
}

/// Reads a form as a fixture.
pub(crate) fn fixture(form: BenchForm) -> Result<Fixture, ApiError> {
    let input = value(&form.input_json, "input")?;
    if !input.is_object() {
        return Err(refuse("The input is not an object.", "Write the tool's arguments as a JSON object."));
    }
    let outcome = match form.outcome {
        BenchOutcome::Waiting => Ending::Waiting,
        BenchOutcome::Result { json } => Ending::Result(value(&json, "output")?),
        BenchOutcome::Error { json } if json.trim().is_empty() => Ending::Error(None),
        BenchOutcome::Error { json } => Ending::Error(Some(value(&json, "output")?)),
        BenchOutcome::Cancelled { reason } => Ending::Cancelled(reason),
    };
    let answers = form.answers.into_iter().map(|it| {
        let answer = value(&it.json, &format!("answer of {}", it.tool))?;
        Ok::<_, ApiError>((it.tool, answer))
    });
    let fault = |it: BenchFault| Fault {
        method: it.method,
        delay_ms: it.delay_ms,
        fail: it.fail.map(|it| Failing { code: it.code, message: it.message }),
    };
    let BenchContext { theme, locale, time_zone, display_mode, width, height, touch, safe_area } =
        form.context;
    Ok(Fixture {
        usher_view_fixture: FIXTURE_VERSION,
        server: form.server,
        tool: form.tool,
        input,
        outcome,
        calls: if form.from_fixture { Answerer::Fixture } else { Answerer::Server },
        answers: answers.collect::<Result<_, ApiError>>()?,
        faults: form.faults.into_iter().map(fault).collect(),
        csp: if form.relaxed { Policy::Relaxed } else { Policy::Strict },
        context: Surround { theme, locale, time_zone, display_mode, width, height, touch, safe_area },
    })
}

fn value(text: &str, which: &str) -> Result<RawJson, ApiError> {
    RawJson::parse(text.trim())
        .map_err(|error| refuse(format!("The {which} is not JSON: {error}."), "Correct it."))
}

/// A fixture as a form.
pub(crate) fn form(fixture: Fixture) -> BenchForm {
    let fault = |it: Fault| BenchFault {
        method: it.method,
        delay_ms: it.delay_ms,
        fail: it.fail.map(|it| BenchFailing { code: it.code, message: it.message }),
    };
    let Surround { theme, locale, time_zone, display_mode, width, height, touch, safe_area } =
        fixture.context;
    BenchForm {
        server: fixture.server,
        tool: fixture.tool,
        input_json: fixture.input.get().to_owned(),
        outcome: match fixture.outcome {
            Ending::Waiting => BenchOutcome::Waiting,
            Ending::Result(value) => BenchOutcome::Result { json: value.get().to_owned() },
            Ending::Error(value) => {
                BenchOutcome::Error { json: value.map(|it| it.get().to_owned()).unwrap_or_default() }
            }
            Ending::Cancelled(reason) => BenchOutcome::Cancelled { reason },
        },
        from_fixture: fixture.calls == Answerer::Fixture,
        answers: fixture
            .answers
            .into_iter()
            .map(|(tool, value)| BenchAnswer { tool, json: value.get().to_owned() })
            .collect(),
        faults: fixture.faults.into_iter().map(fault).collect(),
        relaxed: fixture.csp == Policy::Relaxed,
        context: BenchContext { theme, locale, time_zone, display_mode, width, height, touch, safe_area },
    }
}

/// What the window needs to start a View, on the bench or in a conversation.
pub(super) fn launch(launch: Launch) -> ViewLaunch {
    let (result, cancelled) = match launch.outcome {
        Some(ViewOutcome::Result(result)) => (Some(result), None),
        Some(ViewOutcome::Cancelled(reason)) => (None, Some(reason)),
        None => (None, None),
    };
    ViewLaunch {
        view_id: launch.view_id,
        url: launch.url,
        origin: launch.origin,
        sandbox: launch.sandbox.to_owned(),
        allow: launch.allow,
        prefers_border: launch.prefers_border,
        tool_json: launch.tool.get().to_owned(),
        input_json: launch.input.map(|it| it.get().to_owned()),
        pieces_json: launch.pieces.iter().map(|it| it.get().to_owned()).collect(),
        result_json: result.map(|it| it.get().to_owned()),
        cancelled,
        sandbox_capabilities_json: launch.capabilities.to_string(),
        wishes: access::states(launch.wishes),
        rejected: access::rejected(launch.rejected),
        server_name: launch.server_name,
        can_sample: launch.can_sample,
        takes_pictures: launch.takes_pictures,
    }
}

pub(super) fn verdict(it: BenchVerdict) -> BenchVerdictView {
    BenchVerdictView { input: judgement(it.input), output: judgement(it.output) }
}

fn judgement(it: Verdict) -> BenchJudgement {
    match it {
        Verdict::Fits => BenchJudgement::Fits,
        Verdict::Violates { problems, more } => {
            let view = |it: usher_engine::validation::Problem| ProblemView {
                pointer: it.pointer,
                message: it.message,
            };
            BenchJudgement::Violates { problems: problems.into_iter().map(view).collect(), more }
        }
        Verdict::NotChecked(why) => BenchJudgement::NotChecked { why: why.to_string() },
    }
}

pub(super) fn news(it: News) -> BenchNews {
    match it {
        News::Same => BenchNews::Same,
        News::Changed { file } => BenchNews::Changed { file },
        News::Unknown(why) => BenchNews::Unknown { why },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_the_fixture_it_was_made_of() {
        let text = r#"{"usherViewFixture":1,"server":"S","tool":"t","input":{"n":12345678901234567890},"outcome":{"error":{"a":1.10}},"calls":"fixture","answers":{"r":[]},"faults":[{"method":"*","delayMs":5}],"csp":"relaxed","context":{"theme":"dark","width":390,"touch":true,"safeArea":[1,2,3,4]}}"#;
        let read = Fixture::read(text).unwrap();
        assert_eq!(fixture(form(read.clone())).unwrap(), read);
        let bare = Fixture::of("t");
        assert_eq!(fixture(form(bare.clone())).unwrap(), bare);
    }

    #[test]
    fn a_form_that_is_no_fixture_says_which_text_is_wrong() {
        let of = |change: fn(&mut BenchForm)| {
            let mut it = form(Fixture::of("t"));
            change(&mut it);
            fixture(it).unwrap_err().what
        };
        assert_eq!(of(|it| it.input_json = "[]".to_owned()), "The input is not an object.");
        assert!(
            of(|it| it.outcome = BenchOutcome::Result { json: "{".to_owned() })
                .starts_with("The output is not JSON: ")
        );
        let answer =
            |it: &mut BenchForm| it.answers = vec![BenchAnswer { tool: "r".to_owned(), json: String::new() }];
        assert!(of(answer).starts_with("The answer of r is not JSON: "));
    }
}
