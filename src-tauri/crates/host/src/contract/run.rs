//! One check of one server: its connection, what holds for the server as a whole, and a call with everything that can come of it.

use std::{collections::BTreeMap, time::Duration};

use tokio::time::Instant;
use usher_engine::{
    Extensions,
    contract::{Case, Check, Finding, Judgement, Level, Wire, outputs},
};
use usher_protocol::{
    RawJson, Revision, Rule, UI_EXTENSION,
    codec::{CallRequest, ToolPage, WireDiagnostic, decode_outcome},
    jsonrpc::ErrorObject,
    model::{CallOutcome, Selector, Tool},
};

use super::{CheckError, CheckOptions, Evidence, Progress, Report, ToolReport, Verdict, misnamed};
use crate::connection::{
    CallError, CallOptions, ConnectError, Connection, ConnectionEvent, Oddities, ServerSpec, events,
};

/// How often a server that ended is started again.
const MOST_RESTARTS: u32 = 5;

/// A revision that nobody speaks.
const NO_REVISION: &str = "1999-12-31";

/// A method that nobody has.
const NO_METHOD: &str = "usher/no-such-method";

pub(super) struct Run<'a> {
    pub(super) spec: &'a ServerSpec,
    pub(super) options: &'a CheckOptions,
    pub(super) connection: Connection,
    restarts: u32,
    before: Oddities,
    /// What concerns no tool alone.
    pub(super) whole: Judgement,
    pub(super) calls: u32,
    /// What was looked at.
    evidence: Vec<Evidence>,
    /// Whether a call was cancelled to see what comes.
    pub(super) is_cancel_tried: bool,
    /// Answers to cancelled calls that were found already.
    pub(super) late: u64,
}

/// What came of a call.
pub(super) enum Came {
    Result(Box<CallOutcome>),
    Refused { code: i64, message: String },
}

/// A call that was answered.
pub(super) struct Answered {
    pub(super) came: Came,
    /// Which evidence it is.
    pub(super) evidence: u32,
    /// How long it took.
    pub(super) took: Duration,
}

/// Why a tool is not called again, for people.
pub(super) struct Stop(pub(super) String);

impl<'a> Run<'a> {
    pub(super) async fn open(spec: &'a ServerSpec, options: &'a CheckOptions) -> Result<Self, ConnectError> {
        let mut whole = Judgement::default();
        let connection = connect(spec, options, &mut whole).await?;
        let before = Oddities::default();
        Ok(Self {
            spec,
            options,
            connection,
            restarts: 0,
            before,
            whole,
            calls: 0,
            evidence: Vec::new(),
            is_cancel_tried: false,
            late: 0,
        })
    }

    pub(super) async fn check(mut self) -> Result<Report, CheckError> {
        let greeting = self.connection.greeting().clone();
        self.unknown_method().await;
        self.unknown_revision().await;
        let mut tools = Vec::new();
        let mut declared = Vec::new();
        let mut projected = None;
        let listed = self.connection.list_tools().await;
        let page = listed.as_ref().ok().map(|it| &it.0);
        if let Some(error) = misnamed(&self.connection, page, self.options.named()) {
            self.connection.close().await;
            return Err(error);
        }
        match listed {
            Ok((page, told)) => {
                let earlier = self.earlier().await;
                projected = earlier.as_ref().map(|it| it.0.to_string());
                declared.clone_from(&page.tools);
                tools = self.tools(page, &told, earlier.map(|it| it.1)).await;
            }
            Err(error) => self.unlisted(&error),
        }
        self.connection.close().await;
        self.stream();
        Ok(Report {
            server: greeting.server_name,
            version: greeting.server_version,
            revision: greeting.revision.to_string(),
            projected,
            whole: Verdict::list(&whole_checks(self.spec, greeting.revision), self.whole),
            declared,
            tools,
            stopped: self.options.stop.is_cancelled(),
            evidence: self.evidence,
        })
    }

    /// Keeps what was looked at.
    pub(super) fn keep(&mut self, title: String, arguments: Option<&RawJson>, text: &str) -> u32 {
        self.evidence.push(Evidence::of(title, arguments, text));
        u32::try_from(self.evidence.len() - 1).unwrap_or(u32::MAX)
    }

    async fn tools(
        &mut self,
        page: ToolPage,
        told: &[WireDiagnostic],
        earlier: Option<BTreeMap<String, Tool>>,
    ) -> Vec<ToolReport> {
        let wanted = |name: &str| self.options.only.is_empty() || self.options.only.contains(name);
        let mut reports = Vec::new();
        for refused in page.rejected.iter().filter(|it| wanted(&it.name)) {
            let mut judgement = Judgement::default();
            // Without variants it is not declared for anybody (S01); anything else is no declaration at all.
            let check = if refused.rule.is_some() { Check::Server(Rule::S01) } else { Check::Wire(Wire::W7) };
            judgement.find(check, Level::Broken, Case::Declaration, refused.rule, &refused.why);
            let seen = self.keep(format!("declaration of {}", refused.name), None, refused.raw.get());
            let judgement = judgement.seen_in(seen);
            reports.push(ToolReport {
                name: refused.name.clone(),
                calls: 0,
                skipped: Some("its declaration cannot be used".to_owned()),
                called: Vec::new(),
                wants: Vec::new(),
                notes: Vec::new(),
                verdicts: Verdict::list(&tool_checks(self.connection.revision()), judgement),
            });
        }
        let listed: Vec<Tool> = page.tools.into_iter().filter(|it| wanted(&it.name)).collect();
        let of = listed.len();
        for (done, tool) in listed.into_iter().enumerate() {
            if self.options.stop.is_cancelled() {
                break;
            }
            if let Some(tell) = &self.options.progress {
                tell(Progress { done, of, tool: tool.name.clone() });
            }
            let earlier = earlier.as_ref().and_then(|it| it.get(&tool.name));
            let of_tool: Vec<WireDiagnostic> =
                told.iter().filter(|it| it.tool.as_deref() == Some(&tool.name)).cloned().collect();
            reports.push(Box::pin(self.tool(&tool, &of_tool, earlier)).await);
        }
        reports
    }

    /// The revision of requests.
    pub(super) fn revision(&self) -> Revision {
        self.connection.revision()
    }

    /// The extensions that both sides advertised.
    pub(super) fn negotiated(&self) -> Extensions {
        let both =
            self.options.connection.ui_extension && self.connection.greeting().has_extension(UI_EXTENSION);
        outputs::negotiated(both)
    }

    /// The newest earlier revision whose requests the same line takes, and the tools under it.
    async fn earlier(&mut self) -> Option<(Revision, BTreeMap<String, Tool>)> {
        if !self.revision().has_output_variants() {
            return None;
        }
        let connection = self.under_earlier()?;
        let (page, _) = connection.list_tools().await.ok()?;
        let tools = page.tools.into_iter().map(|it| (it.name.clone(), it)).collect();
        Some((connection.revision(), tools))
    }

    fn under_earlier(&self) -> Option<Connection> {
        let earlier = Revision::ALL.into_iter().rev().filter(|it| !it.has_output_variants());
        earlier.into_iter().find_map(|it| self.connection.under(it))
    }

    /// Calls a tool. `earlier` calls it under the earlier revision.
    pub(super) async fn call(
        &mut self,
        tool: &Tool,
        arguments: &RawJson,
        requested: Option<&[Selector]>,
        case: Case,
        earlier: bool,
    ) -> Result<Answered, Stop> {
        let connection = if earlier { self.under_earlier() } else { Some(self.connection.clone()) };
        let connection = connection.ok_or_else(|| Stop("the earlier revision is gone".to_owned()))?;
        self.calls += 1;
        let request = CallRequest {
            name: tool.name.clone(),
            arguments: arguments.clone(),
            requested: requested.map(<[Selector]>::to_vec),
        };
        let options = CallOptions {
            progress: None,
            cancel: self.options.stop.child_token(),
            timeout: Some(self.options.timeout),
        };
        let name = &tool.name;
        let title = format!("{} of {name}", case.name());
        let start = Instant::now();
        let answer = connection.call(&request, options).await;
        let took = start.elapsed();
        let (decoded, evidence) = match answer {
            Ok(result) => {
                let evidence = self.keep(title, Some(arguments), result.get());
                (decode_outcome(connection.revision(), &result).map_err(CallError::from), evidence)
            }
            Err(error) => {
                let evidence = self.keep(title, Some(arguments), &error_text(&error));
                (Err(error), evidence)
            }
        };
        match decoded {
            Ok((outcome, told)) => {
                self.whole.look(Check::Wire(Wire::W3));
                self.whole.look(Check::Wire(Wire::W7));
                // What has a rule is found again by routing.
                for it in told.iter().filter(|it| it.rule.is_none()) {
                    let text = format!("{name}: {}", it.message);
                    let found =
                        Finding::of(Check::Wire(Wire::W7), Level::Broken, case, text).at(&*it.pointer);
                    self.whole.put(Finding { evidence: Some(evidence), ..found });
                }
                Ok(Answered { came: Came::Result(Box::new(outcome)), evidence, took })
            }
            Err(CallError::Server { code, message, .. }) => {
                self.whole.look(Check::Wire(Wire::W3));
                Ok(Answered { came: Came::Refused { code, message }, evidence, took })
            }
            Err(error) => Err(self.stopped(name, error, evidence).await),
        }
    }

    /// Notes what a call without a usable answer says of the server.
    async fn stopped(&mut self, name: &str, error: CallError, evidence: u32) -> Stop {
        let found = match &error {
            CallError::Shape(_) => Some((Wire::W7, error.to_string())),
            CallError::TimedOut { .. } => {
                Some((Wire::W3, format!("a call was not answered within {:?}", self.options.timeout)))
            }
            CallError::Http(_) | CallError::TooManyRounds { .. } => Some((Wire::W3, error.to_string())),
            CallError::Closed { exit } => {
                Some((Wire::W4, format!("the server ended during a call ({})", exit.status)))
            }
            // Its line was counted where it came.
            CallError::Unreadable { .. } if self.connection.oddities().noise > 0 => None,
            CallError::Unreadable { .. } => Some((Wire::W7, error.to_string())),
            CallError::Server { .. }
            | CallError::Cancelled
            | CallError::TaskCancelled { .. }
            | CallError::Unanswered { .. }
            | CallError::Endless { .. }
            | CallError::NotConnected { .. }
            | CallError::NotAuthorized(_)
            | CallError::Unwritable { .. } => None,
        };
        if let Some((check, text)) = found {
            let text = format!("{name}: {text}");
            let found = Finding::of(Check::Wire(check), Level::Broken, Case::Process, text);
            self.whole.put(Finding { evidence: Some(evidence), ..found });
        }
        let mut why = error.to_string();
        if matches!(error, CallError::Closed { .. })
            && let Err(error) = self.reopen().await
        {
            why = format!("{why}; it could not be started again ({error})");
        }
        Stop(why)
    }

    /// Starts a server again that ended.
    async fn reopen(&mut self) -> Result<(), String> {
        if self.restarts >= MOST_RESTARTS {
            return Err(format!("it ended {} times", self.restarts + 1));
        }
        self.restarts += 1;
        self.count();
        match connect(self.spec, self.options, &mut self.whole).await {
            Ok(connection) => {
                self.connection = connection;
                Ok(())
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// Asks for what no server has (W6).
    async fn unknown_method(&mut self) {
        let w6 = Check::Wire(Wire::W6);
        self.whole.look(w6);
        // A server of the handshake does not know it, and has met hosts that ask.
        let method = if self.revision().has_handshake() { "server/discover" } else { NO_METHOD };
        let limit = self.options.connection.probe_timeout;
        let text = match self.connection.probe(method, None, limit).await {
            Err(CallError::Server { .. }) => return,
            // A transport may refuse it by its own means.
            Err(CallError::Http(failure)) if failure.status.is_some_and(|it| (400..500).contains(&it)) => {
                return;
            }
            Ok(_) => format!("{method} was answered as if it were known"),
            Err(CallError::TimedOut { .. }) => format!("{method} was not answered"),
            Err(CallError::Closed { exit }) => {
                let again = self.reopen().await;
                let more = again.err().map_or_else(String::new, |it| format!("; {it}"));
                format!("the server ended when it was asked for {method} ({}){more}", exit.status)
            }
            Err(error) => format!("{method}: {error}"),
        };
        self.whole.find(w6, Level::Broken, Case::Process, None, text);
    }

    /// Asks under a revision that does not exist (S13).
    async fn unknown_revision(&mut self) {
        if !self.revision().has_request_meta() {
            return;
        }
        let s13 = Check::Server(Rule::S13);
        self.whole.look(s13);
        let limit = self.options.connection.request_timeout;
        let text = match self.connection.probe("tools/list", Some(NO_REVISION), limit).await {
            Err(CallError::Server { code: ErrorObject::UNSUPPORTED_REVISION, data, .. }) => {
                let data = data.map(|it| it.to_value()).unwrap_or_default();
                if data.get("supported").is_some_and(serde_json::Value::is_array) {
                    return;
                }
                "the refusal of an unknown revision does not say which are supported".to_owned()
            }
            Err(CallError::Server { code, message, .. }) => format!(
                "an unknown revision was refused with {code} ({message}) and not with {}",
                ErrorObject::UNSUPPORTED_REVISION
            ),
            Ok(_) => "a request under an unknown revision was answered".to_owned(),
            Err(error) => format!("a request under an unknown revision: {error}"),
        };
        self.whole.find(s13, Level::Broken, Case::Process, None, text);
    }

    fn unlisted(&mut self, error: &CallError) {
        // A server without tools need not know the method.
        let has_tools = self.connection.greeting().has_capability("tools");
        if has_tools {
            let text = format!("tools/list: {error}");
            self.whole.find(Check::Wire(Wire::W7), Level::Broken, Case::Declaration, None, text);
        }
    }

    fn count(&mut self) {
        let now = self.connection.oddities();
        self.before.noise += now.noise;
        self.before.not_utf8 += now.not_utf8;
        self.before.unasked += now.unasked;
    }

    /// Judges what came on the stream over the whole time (W1, W2).
    fn stream(&mut self) {
        self.count();
        let seen = self.before;
        let unasked = seen.unasked.saturating_sub(self.late);
        if unasked > 0 {
            let text = format!(
                "{unasked} answers came for requests that were not under way: twice, or after they were cancelled"
            );
            self.whole.find(Check::Wire(Wire::W5), Level::Advice, Case::Process, None, text);
        }
        if let ServerSpec::Http(_) = self.spec {
            return;
        }
        for (check, count, what) in [
            (Wire::W1, seen.noise, "on stdout that are no messages or not whole"),
            (Wire::W2, seen.not_utf8, "that are not UTF-8"),
        ] {
            let check = Check::Wire(check);
            self.whole.look(check);
            if count > 0 {
                let lines = if count == 1 { "line" } else { "lines" };
                let text = format!("{count} {lines} {what}");
                self.whole.find(check, Level::Broken, Case::Process, None, text);
            }
        }
        self.whole.look(Check::Wire(Wire::W4));
    }
}

/// An error as the bytes that came, where there are some, or else in words.
fn error_text(error: &CallError) -> String {
    match error {
        CallError::Server { code, message, data } => {
            let error = ErrorObject { code: *code, message: message.clone(), data: data.clone() };
            serde_json::to_string(&error).unwrap_or_default()
        }
        other => other.to_string(),
    }
}

async fn connect(
    spec: &ServerSpec,
    options: &CheckOptions,
    whole: &mut Judgement,
) -> Result<Connection, ConnectError> {
    let (sender, mut receiver) = events();
    let connection = Connection::open(spec, &options.connection, sender).await?;
    while let Some(event) = receiver.try_next() {
        if let ConnectionEvent::Exited(exit) = event
            && !exit.wanted
        {
            let text = format!("the server ended when it was asked for server/discover ({})", exit.status);
            whole.find(Check::Wire(Wire::W6), Level::Broken, Case::Process, None, text);
        }
    }
    Ok(connection)
}

/// What holds for a server as a whole.
fn whole_checks(spec: &ServerSpec, revision: Revision) -> Vec<Check> {
    use Wire::{W1, W2, W3, W4, W5, W6, W7};
    let stdio: &[Wire] = match spec {
        ServerSpec::Stdio(_) => &[W1, W2, W3, W4, W5, W6, W7],
        ServerSpec::Http(_) => &[W3, W6, W7],
    };
    let s13 = revision.has_request_meta().then_some(Check::Server(Rule::S13));
    stdio.iter().map(|it| Check::Wire(*it)).chain(s13).collect()
}

/// What holds for each tool.
pub(super) fn tool_checks(revision: Revision) -> Vec<Check> {
    use Rule::{S01, S02, S03, S04, S05, S06, S07, S08, S09, S10, S11, S12, S14};
    if revision.has_output_variants() {
        let rules = [S01, S02, S03, S04, S05, S06, S07, S08, S09, S10, S11, S12, S14];
        return rules.into_iter().map(Check::Server).collect();
    }
    usher_engine::contract::Legacy::ALL.iter().map(|it| Check::Legacy(*it)).collect()
}
