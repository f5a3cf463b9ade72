//! Checks of a server's contract, for the window: each runs beside everything else on a server of its own, and is kept until others
//! take its place. The command line shares how a report is written.
//!
//! Deliberately absent: judgements. The engine's are shown as they are.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde::Serialize;
use tokio_util::sync::CancellationToken;
use usher_engine::contract::{Check, Finding, Level, arguments, pasted};
use usher_host::{
    connection::ConnectionOptions,
    contract::{self, CheckOptions, Given, Report, Status, Verdict, Want},
    model::{Fate, Portability, Provider, portability},
};
use usher_protocol::{RawJson, Revision, model::Tool};

use super::{
    ApiError, Usher, junit,
    types::{
        CheckGroup, CheckPlan, CheckPlanTool, CheckReport, CheckState, CheckTool, CheckView, EvidenceView,
        FindingLevel, FindingView, KeywordFateName, KeywordView, PastedView, ProblemView, ProviderView,
        RequirementView, SavedFile,
    },
};

/// How many checks are kept.
const KEPT: usize = 8;

/// The longest that one call may take, in seconds.
const LONGEST_CALL: u32 = 600;

/// A report, and what providers make of the tools' input schemas.
#[derive(Debug, Serialize)]
pub(crate) struct Whole {
    #[serde(flatten)]
    pub(crate) report: Report,
    pub(crate) portability: Vec<ToolPortability>,
}

/// What providers make of one tool's input schema.
#[derive(Debug, Serialize)]
pub(crate) struct ToolPortability {
    pub(crate) tool: String,
    pub(crate) providers: BTreeMap<Provider, Portability>,
}

impl Whole {
    /// Adds what providers make of the tools that were wanted; of all of them if none was named.
    pub(crate) fn of(report: Report, wanted: &BTreeSet<String>) -> Self {
        let is_wanted = |it: &&Tool| wanted.is_empty() || wanted.contains(&it.name);
        let of =
            |it: &Tool| ToolPortability { tool: it.name.clone(), providers: portability(&it.input_schema) };
        let portability = report.declared.iter().filter(is_wanted).map(of).collect();
        Self { report, portability }
    }

    fn text(&self, format: &str) -> Result<String, ApiError> {
        match format {
            "json" => serde_json::to_string_pretty(self).map_err(|error| unreadable(&error.to_string())),
            "junit" => Ok(junit::text(&self.report, false)),
            _ => Err(unreadable(&format!("{format:?} is no format of a report"))),
        }
    }
}

/// The option of `usher check` that gives what is missing for a tool.
pub(crate) fn hint(want: Want, tool: &str) -> String {
    match want {
        Want::Allow => format!("--allow {tool}"),
        Want::Normal => format!("--args '{tool}={{…}}'"),
        Want::Empty => format!("--empty-args '{tool}={{…}}'"),
        Want::Failing => format!("--error-args '{tool}={{…}}'"),
    }
}

/// The checks that run or ran, by id.
#[derive(Default)]
pub(super) struct Checks(Mutex<BTreeMap<String, Kept>>);

struct Kept {
    server_id: String,
    server_name: String,
    state: CheckState,
    report: Option<Arc<Whole>>,
    stop: CancellationToken,
}

impl Checks {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ids grow with time, so the first are the oldest.
    fn put(&self, id: String, kept: Kept) {
        let mut all = self.lock();
        all.insert(id, kept);
        let done: Vec<String> = all
            .iter()
            .filter(|it| !matches!(it.1.state, CheckState::Running { .. }))
            .map(|it| it.0.clone())
            .collect();
        let many = all.len().saturating_sub(KEPT);
        done.iter().take(many).for_each(|id| drop(all.remove(id)));
    }

    fn change(&self, id: &str, change: impl FnOnce(&mut Kept)) {
        if let Some(kept) = self.lock().get_mut(id) {
            change(kept);
        }
    }
}

fn unreadable(why: &str) -> ApiError {
    ApiError {
        what: format!("{why}."),
        safe: "Nothing was called.".to_owned(),
        todo: "Correct it and try again.".to_owned(),
    }
}

fn gone(what: &str) -> ApiError {
    ApiError {
        what: format!("There is no such {what} any more."),
        safe: "Nothing was changed.".to_owned(),
        todo: "Run the check again.".to_owned(),
    }
}

impl Usher {
    /// What the tools of a running server would be called with.
    pub(super) fn planned_check(&self, server_id: &str) -> CheckPlan {
        let revisions = Revision::ALL.iter().rev().map(ToString::to_string).collect();
        let servers = self.host.server_statuses();
        let server = servers.iter().find(|it| it.id == server_id);
        let tools = server.iter().flat_map(|it| &it.tools).map(|it| planned(&it.tool)).collect();
        CheckPlan { revisions, tools }
    }

    /// Starts a check of a configured server, on a process of its own.
    pub(super) async fn begin_check(
        &self,
        server_id: String,
        revision: Option<String>,
        tools: Vec<CheckTool>,
        timeout_seconds: u32,
    ) -> Result<String, ApiError> {
        let statuses = self.host.server_statuses();
        let server = statuses.into_iter().find(|it| it.id == server_id).ok_or_else(|| gone("server"))?;
        let (spec, connection) = self.host.server_apart(&server_id).await?;
        let newest = match revision {
            Some(text) => text.parse::<Revision>().map_err(|error| unreadable(&error.to_string()))?,
            None => Revision::NEWEST,
        };
        let stop = CancellationToken::new();
        let id = uuid::Uuid::now_v7().to_string();
        let (checks, told) = (Arc::clone(&self.checks), id.clone());
        let mut options = CheckOptions {
            // A check offers nothing that a server could ask the user for, and learns the era anew.
            connection: ConnectionOptions {
                newest,
                remembered: None,
                offers: ConnectionOptions::default().offers,
                ..connection
            },
            timeout: Duration::from_secs(timeout_seconds.clamp(1, LONGEST_CALL).into()),
            progress: Some(Arc::new(move |it: contract::Progress| {
                checks.change(&told, |kept| {
                    kept.state =
                        CheckState::Running { done: short(it.done), of: short(it.of), tool: Some(it.tool) };
                });
            })),
            stop: stop.clone(),
            ..CheckOptions::default()
        };
        for tool in tools {
            choose(&mut options, tool)?;
        }
        let state = CheckState::Running { done: 0, of: short(options.only.len()), tool: None };
        let server_name = server.name;
        self.checks.put(id.clone(), Kept { server_id, server_name, state, report: None, stop });
        let (checks, check_id) = (Arc::clone(&self.checks), id.clone());
        tokio::spawn(async move {
            let checked = contract::check(&spec, &options).await;
            checks.change(&check_id, |kept| match checked {
                Ok(report) => {
                    kept.report = Some(Arc::new(Whole::of(report, &options.only)));
                    kept.state = CheckState::Done;
                }
                Err(error) => {
                    kept.state = CheckState::Failed { what: error.to_string(), todo: error.todo() };
                }
            });
        });
        Ok(id)
    }

    /// Every check that is kept, newest first.
    pub(super) fn kept_checks(&self) -> Vec<CheckView> {
        let all = self.checks.lock();
        let view = |(id, it): (&String, &Kept)| CheckView {
            id: id.clone(),
            server_id: it.server_id.clone(),
            server_name: it.server_name.clone(),
            state: it.state.clone(),
        };
        all.iter().rev().map(view).collect()
    }

    pub(super) fn end_check(&self, id: &str) {
        self.checks.change(id, |it| it.stop.cancel());
    }

    fn report(&self, id: &str) -> Result<Arc<Whole>, ApiError> {
        self.checks.lock().get(id).and_then(|it| it.report.clone()).ok_or_else(|| gone("report"))
    }

    pub(super) fn report_view(&self, id: &str) -> Result<CheckReport, ApiError> {
        Ok(report(&self.report(id)?.report))
    }

    pub(super) fn evidence(&self, id: &str, place: u32) -> Result<EvidenceView, ApiError> {
        let whole = self.report(id)?;
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        let found = whole.report.evidence.get(place).ok_or_else(|| gone("answer"))?;
        Ok(EvidenceView {
            title: found.title.clone(),
            arguments_json: found.arguments.as_ref().map(|it| it.get().to_owned()),
            text: found.text.clone(),
            bytes: found.bytes as u64,
            whole: found.text.len() == found.bytes,
        })
    }

    pub(super) fn report_text(&self, id: &str, format: &str) -> Result<String, ApiError> {
        self.report(id)?.text(format)
    }

    pub(super) async fn save_report(&self, id: &str, format: &str) -> Result<SavedFile, ApiError> {
        let whole = self.report(id)?;
        let text = whole.text(format)?;
        let server = whole.report.server.as_deref().unwrap_or("server").replace([' ', '/'], "-");
        let ending = if format == "junit" { "xml" } else { "json" };
        let name = format!("contract-{server}.{ending}");
        let (path, bytes) = self.host.save_text(&super::answers::downloads(), &name, text).await?;
        Ok(SavedFile { path: path.display().to_string(), bytes })
    }
}

/// Takes over what the window chose for a tool.
fn choose(options: &mut CheckOptions, tool: CheckTool) -> Result<(), ApiError> {
    let read = |text: Option<String>, which: &str| match text {
        None => Ok(None),
        Some(text) => match RawJson::parse(text.trim()) {
            Ok(value) if value.is_object() => Ok(Some(value)),
            Ok(_) => Err(unreadable(&format!("The {which} arguments of {} are not an object", tool.name))),
            Err(error) => {
                Err(unreadable(&format!("The {which} arguments of {} are not JSON: {error}", tool.name)))
            }
        },
    };
    let given = Given {
        normal: read(tool.normal_json, "normal")?,
        empty: read(tool.empty_json, "empty")?,
        failing: read(tool.failing_json, "failing")?,
    };
    options.given.insert(tool.name.clone(), given);
    if tool.allowed {
        options.allowed.insert(tool.name.clone());
    }
    options.only.insert(tool.name);
    Ok(())
}

/// Judges what was pasted.
pub(super) fn judge_pasted(
    result: &str,
    schema: &str,
    revision: Option<&str>,
) -> Result<PastedView, ApiError> {
    let read = |text: &str, what: &str| {
        RawJson::parse(text.trim()).map_err(|error| unreadable(&format!("The {what} is not JSON: {error}")))
    };
    let revision = revision.map(str::parse::<Revision>).transpose();
    let revision = revision.map_err(|error| unreadable(&error.to_string()))?;
    let found = pasted::judge(&read(result, "result")?, &read(schema, "schema")?, revision);
    let shape = match found.shape {
        pasted::Shape::Outputs => "a result with outputs for audiences",
        pasted::Shape::Legacy => "a result with content and structuredContent",
        pasted::Shape::Payload => "a payload without a result around it",
    };
    let kept = found.judgement.looked.iter().filter(|it| !found.judgement.finds(**it));
    Ok(PastedView {
        shape: shape.to_owned(),
        revision: found.revision.to_string(),
        dialect: found.dialect,
        kept: kept.map(|it| requirement(*it)).collect(),
        findings: found.judgement.findings.iter().map(finding).collect(),
        notes: found.notes,
    })
}

fn planned(tool: &Tool) -> CheckPlanTool {
    let normal = arguments::normal(tool);
    let made = |it: Option<RawJson>| it.map(|it| it.get().to_owned());
    let base = normal.as_ref().ok();
    CheckPlanTool {
        name: tool.name.clone(),
        description: tool.description.clone(),
        input_schema_json: tool.input_schema.get().to_owned(),
        warning: arguments::warning(tool),
        lacks: normal.as_ref().err().map(ToString::to_string),
        empty_json: made(base.and_then(|it| arguments::empty(tool, it))),
        failing_json: made(base.and_then(|it| arguments::failing(tool, it))),
        normal_json: base.map(|it| it.get().to_owned()),
        providers: portability(&tool.input_schema).into_iter().map(provider).collect(),
    }
}

fn provider((provider, found): (Provider, Portability)) -> ProviderView {
    let keyword = |it: usher_host::model::KeywordFate| KeywordView {
        keyword: it.keyword,
        fate: match it.fate {
            Fate::Refused => KeywordFateName::Refused,
            Fate::Dropped => KeywordFateName::Dropped,
            Fate::Hint => KeywordFateName::Hint,
        },
    };
    ProviderView {
        name: provider.name().to_owned(),
        keywords: found.keywords.into_iter().map(keyword).collect(),
        rewrites: found.rewrites.into_iter().map(str::to_owned).collect(),
        sent_json: found.sent.map(|it| it.get().to_owned()),
        refusal: found.refusal,
    }
}

fn report(report: &Report) -> CheckReport {
    let count = |level| short(report.findings().filter(|it| it.1.level == level).count());
    let version = report.version.as_deref().unwrap_or_default();
    let server = format!("{} {version}", report.server.as_deref().unwrap_or("The server"));
    let whole = group(None, 0, None, &[], &report.whole);
    let tools = report
        .tools
        .iter()
        .map(|it| group(Some(&it.name), it.calls, it.skipped.as_deref(), &it.notes, &it.verdicts));
    CheckReport {
        server: server.trim().to_owned(),
        revision: report.revision.clone(),
        projected: report.projected.clone(),
        stopped: report.stopped,
        broken: count(Level::Broken),
        advice: count(Level::Advice),
        skipped: short(report.tools.iter().filter(|it| it.skipped.is_some()).count()),
        groups: std::iter::once(whole).chain(tools).collect(),
    }
}

fn group(
    tool: Option<&str>,
    calls: u32,
    skipped: Option<&str>,
    notes: &[String],
    verdicts: &[Verdict],
) -> CheckGroup {
    let of = |status: Status| {
        let of_status = verdicts.iter().filter(move |it| it.status == status);
        of_status.map(|it| requirement(it.check)).collect()
    };
    CheckGroup {
        tool: tool.map(str::to_owned),
        calls,
        skipped: skipped.map(str::to_owned),
        notes: notes.to_vec(),
        findings: verdicts.iter().flat_map(|it| &it.findings).map(finding).collect(),
        kept: of(Status::Kept),
        not_checked: of(Status::NotChecked),
    }
}

fn requirement(check: Check) -> RequirementView {
    RequirementView { id: check.id().to_owned(), text: check.text().to_owned() }
}

fn finding(found: &Finding) -> FindingView {
    let problem = |it: &usher_engine::validation::Problem| ProblemView {
        pointer: it.pointer.clone(),
        message: it.message.clone(),
    };
    FindingView {
        requirement: requirement(found.check),
        level: match found.level {
            Level::Broken => FindingLevel::Broken,
            Level::Advice => FindingLevel::Advice,
        },
        case: found.case.name().to_owned(),
        by: found.by.map(|it| it.id().to_owned()),
        text: found.text.clone(),
        pointer: found.pointer.clone(),
        problems: found.problems.iter().map(problem).collect(),
        todo: found.check.remedy().to_owned(),
        evidence: found.evidence,
    }
}

fn short(it: usize) -> u32 {
    u32::try_from(it).unwrap_or(u32::MAX)
}
