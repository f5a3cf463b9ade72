//! One call, from what it asks for to where its result went.
//!
//! Every caller comes this way: the model, a script, a View and the user. Each step leaves its fact in the ledger.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use usher_engine::{
    Consumer, Defect, Extensions, Mode, Origin,
    ledger::LedgerEntry,
    routing::{self, Routing, RoutingInput, payload_json},
    selection::{Selection, SelectionInput, SelectionPolicy, select},
    validation::{Compiled, Problem, Verdict},
};
use usher_protocol::{
    RawJson,
    codec::{self, CallRequest},
    model::{CallOutcome, Contract, OutcomeBody, Payload, Selector, Tool},
};

use super::{
    ApprovalChoice, CallRecord, CallState, Host, ItemBody, ProgressRecord, Told, TurnState, ViewRecord,
    approval::Standing,
    live::{Live, State},
    lock,
    servers::Server,
};
use crate::connection::{CallError, CallOptions, Connection, Progress};

/// A call to be made.
#[derive(Debug, Clone)]
pub struct CallOrder {
    /// The server.
    pub server_id: String,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: RawJson,
    /// Who calls.
    pub origin: Origin,
    /// The id on the model's wire, if the model calls.
    pub model_call: Option<String>,
    /// Ends the call.
    pub cancel: CancellationToken,
    /// The View that wants to hear how far it is, and the token that it gave.
    pub reports_to: Option<(String, RawJson)>,
}

/// What a program that called hears of a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// In words.
    pub what: String,
    /// The code of the server's own error (JSON-RPC 2.0, "Error object"); none where the host has the word.
    pub code: Option<i64>,
}

/// A call that ended.
#[derive(Debug, Clone)]
pub struct CallEnd {
    /// What is kept of it.
    pub record: CallRecord,
    /// What was delivered, in the order of the record's deliveries.
    pub payloads: Vec<Payload>,
    /// The result as it was read, if one came.
    pub outcome: Option<CallOutcome>,
    /// What a program that called hears instead of the reason that the person reads, where that holds what a server wrote for people alone.
    /// A cancelled call has it only when the user had not answered yet.
    pub heard: Option<Heard>,
    /// From the request on its way to the server, until its result was routed and validated. `None` when no result came.
    pub routed_in: Option<Duration>,
}

impl CallEnd {
    /// What the script that called receives.
    ///
    /// # Errors
    /// There is nothing for it; says why.
    pub fn script_value(&self) -> Result<RawJson, String> {
        let delivered =
            self.record.deliveries.iter().zip(&self.payloads).find(|it| it.0.to == Consumer::Script);
        let value = delivered.map(|it| payload_json(it.1));
        match (&self.record.state, value) {
            (CallState::Done, Some(value)) => Ok(value),
            (CallState::Done, None) => Err(format!("{} returned nothing for scripts", self.record.tool)),
            (CallState::ToolError, value) => {
                let said = value.map_or_else(String::new, |it| format!(": {it}"));
                Err(format!("{} failed{said}", self.record.tool))
            }
            (CallState::Failed { what, .. }, _) => {
                Err(self.heard.as_ref().map_or(what, |it| &it.what).clone())
            }
            (CallState::Refused, _) => Err(format!("the call of {} was not allowed", self.record.tool)),
            (CallState::Cancelled | CallState::Interrupted, _) => {
                Err(format!("the call of {} was stopped", self.record.tool))
            }
            (CallState::Writing | CallState::AwaitingApproval(_) | CallState::Running(_), _) => {
                Err("the call has not ended".to_owned())
            }
        }
    }
}

/// Why a call came to no result.
pub(super) struct Stop {
    pub(super) state: CallState,
    pub(super) told: Told,
    /// What a program that called hears, if it is not what the person reads.
    pub(super) heard: Option<Heard>,
    pub(super) entry: LedgerEntry,
}

/// A result that was read and routed.
pub(super) struct Landed {
    pub(super) tool: Arc<Tool>,
    pub(super) outcome: CallOutcome,
    pub(super) routing: Routing,
    pub(super) verdicts: Vec<Option<Verdict>>,
    routed_in: Duration,
}

impl Host {
    /// Makes a call and waits for its end.
    pub(super) async fn run_call(&self, live: &Arc<Live>, order: CallOrder) -> CallEnd {
        let mut call = self.new_call(live, &order);
        self.show_begun(live, &mut call).await;
        self.run_begun(live, order, call).await
    }

    /// Makes a call that has begun while the model wrote its arguments, now that they are whole.
    pub(super) async fn run_written(&self, live: &Arc<Live>, order: CallOrder, call: CallRecord) -> CallEnd {
        let (arguments, state) = (order.arguments.clone(), CallState::Running(None));
        let call = CallRecord { arguments, state, started_ms: self.now_ms(), ..call };
        self.keep_call(live, &call).await;
        self.run_begun(live, order, call).await
    }

    async fn run_begun(&self, live: &Arc<Live>, mut order: CallOrder, mut call: CallRecord) -> CallEnd {
        order.cancel = order.cancel.child_token();
        live.with(|it| it.cancels.insert(call.id.clone(), order.cancel.clone()));
        let end = self.attempt(live, &order, &mut call).await;
        live.with(|it| it.cancels.remove(&call.id));
        call.ended_ms = Some(self.now_ms());
        let mut heard = None;
        let (payloads, outcome, routed_in) = match end {
            Ok(landed) => {
                call.state = end_state(&landed.outcome);
                let payloads = self.settle(live, &mut call, &landed).await;
                (payloads, Some(landed.outcome), Some(landed.routed_in))
            }
            Err(stop) => {
                (call.state, call.told, heard) = (stop.state, stop.told, stop.heard);
                self.record(live, Some(&call.id), stop.entry);
                (Vec::new(), None, None)
            }
        };
        if matches!((&call.state, &call.told), (CallState::Failed { .. }, Told::Notice(_) | Told::Outputs)) {
            call.told = Told::Malformed;
        }
        if call.model_call.is_none() {
            call.told = Told::Nothing;
        }
        self.keep_call(live, &call).await;
        self.fold_view_calls(live);
        self.tell_view(&call).await;
        CallEnd { record: call, payloads, outcome, heard, routed_in }
    }

    /// What a result of an earlier revision would bring the model if the model had called, in a mode (rule H29).
    ///
    /// A call by hand brings such a result to the user alone. `None` when no result came, or one whose outputs name their audiences.
    pub fn for_model(&self, end: &CallEnd, mode: Mode) -> Option<Routing> {
        let (outcome, revision) = (end.outcome.as_ref()?, end.record.revision?);
        if !matches!(outcome.body, OutcomeBody::Legacy { .. }) {
            return None;
        }
        let selection = Selection {
            revision,
            origin: Origin::Model,
            mode,
            requested: None,
            expected: Vec::new(),
            declared: 0,
            reasons: Vec::new(),
        };
        let set = self.legacy_policy(&end.record.server_id, &end.record.tool);
        let input = RoutingInput {
            selection: &selection,
            negotiated: &Extensions::default(),
            has_view: false,
            legacy: routing::legacy_policy_of(mode, set),
        };
        let mut routing = routing::route(input, outcome);
        routing.deliveries.retain(|it| it.to == Consumer::Model);
        Some(routing)
    }

    /// A record for a call of a server's tool.
    pub(super) fn new_call(&self, live: &Live, order: &CallOrder) -> CallRecord {
        let server = self.server(&order.server_id);
        let title = server.as_ref().and_then(|it| it.tool(&order.tool)).and_then(|it| it.title.clone());
        self.new_record(live, order, server.map_or_else(String::new, |it| it.name.clone()), title)
    }

    /// A record for a call that begins, kept and shown.
    pub(super) async fn begin_record(
        &self,
        live: &Arc<Live>,
        order: &CallOrder,
        server_name: String,
        title: Option<String>,
    ) -> CallRecord {
        let mut call = self.new_record(live, order, server_name, title);
        self.show_begun(live, &mut call).await;
        call
    }

    fn new_record(
        &self,
        live: &Live,
        order: &CallOrder,
        server_name: String,
        title: Option<String>,
    ) -> CallRecord {
        CallRecord {
            id: self.new_id(),
            conversation_id: live.id.clone(),
            item_id: None,
            number: live.with(State::number),
            server_id: order.server_id.clone(),
            server_name,
            tool: order.tool.clone(),
            title,
            arguments: order.arguments.clone(),
            origin: order.origin,
            mode: live.mode(),
            model_call: order.model_call.clone(),
            of_view: None,
            revision: None,
            requested: None,
            state: CallState::Running(None),
            started_ms: self.now_ms(),
            ended_ms: None,
            waited_ms: 0,
            deliveries: Vec::new(),
            withheld: Vec::new(),
            defects: Vec::new(),
            shown: Vec::new(),
            view: None,
            told: Told::Nothing,
        }
    }

    /// Keeps a call that begins and, unless a View calls, shows it.
    pub(super) async fn show_begun(&self, live: &Live, call: &mut CallRecord) {
        self.keep_call(live, call).await;
        // A View may call many times a second; its calls stand in the ledger and not in the transcript.
        if call.origin != Origin::View {
            let body = ItemBody::Call { call_id: call.id.clone() };
            call.item_id = self.add_item(live, body, String::new()).await.ok().map(|it| it.id);
            self.keep_call(live, call).await;
        }
    }

    async fn attempt(
        &self,
        live: &Arc<Live>,
        order: &CallOrder,
        call: &mut CallRecord,
    ) -> Result<Landed, Box<Stop>> {
        let (server, connection, extensions) = self.reach(order).await?;
        let tool = server.tool(&order.tool).ok_or_else(|| unknown_tool(order))?;
        let selection = self.choose(live, order, &connection, &extensions, &tool)?;
        call.revision = Some(selection.revision);
        call.requested.clone_from(&selection.requested);
        self.record(live, Some(&call.id), selected(&server.name, &tool, &selection));
        if order.origin == Origin::Model {
            check_arguments(&tool, &order.arguments)?;
        }
        self.approve(live, order, call, &tool).await?;
        let waits = call.view.as_ref().is_some_and(|it| it.waits_for_input);
        self.record_view(live, call, &tool);
        // What is asked for is shown while the call runs, and so is its View.
        self.keep_call(live, call).await;
        if waits {
            self.tell_input(call);
        }
        let sent = Instant::now();
        let raw = self.send_call(live, order, call, (&server, &connection), &selection).await?;
        lock(&self.0.payloads).make_room(raw.bytes());
        let (outcome, wire_defects) = codec::decode_outcome(selection.revision, &raw).map_err(|error| {
            let what = error.to_string();
            let todo = "Nothing of it reached anybody. Report it to the server's authors, with what came."
                .to_owned();
            Box::new(Stop {
                state: CallState::Failed { what: sentence(&what), todo },
                told: Told::Malformed,
                heard: None,
                entry: LedgerEntry::Failed { what },
            })
        })?;
        self.record(live, Some(&call.id), received(&outcome));
        for defect in wire_defects.into_iter().filter(|it| it.rule.is_none()) {
            call.defects.push(Defect { rule: None, text: defect.message });
        }
        let has_view = tool.ui.as_ref().is_some_and(|it| it.resource_uri.is_some()) && self.consumers().view;
        let legacy =
            routing::legacy_policy_of(live.mode(), self.legacy_policy(&order.server_id, &order.tool));
        let input = RoutingInput { selection: &selection, negotiated: &extensions, has_view, legacy };
        let routing = routing::route(input, &outcome);
        let verdicts = self.validate(&server, &tool, &outcome, &routing).await;
        Ok(Landed { tool, outcome, routing, verdicts, routed_in: sent.elapsed() })
    }

    /// Finds the server and waits until it is connected.
    async fn reach(&self, order: &CallOrder) -> Result<(Arc<Server>, Connection, Extensions), Box<Stop>> {
        let server = self.server(&order.server_id).ok_or_else(|| unknown_tool(order))?;
        tokio::select! {
            ready = self.server_ready(&order.server_id) => ready.map_err(|error| failed(&error))?,
            () = order.cancel.cancelled() => return Err(cancelled()),
        };
        let (connection, extensions) = server.connection().map_err(|error| failed(&error))?;
        Ok((server, connection, extensions))
    }

    fn choose(
        &self,
        live: &Live,
        order: &CallOrder,
        connection: &Connection,
        extensions: &Extensions,
        tool: &Tool,
    ) -> Result<Selection, Box<Stop>> {
        let mut consumers = self.consumers();
        consumers.model = order.origin == Origin::Model;
        select(SelectionInput {
            revision: connection.revision(),
            tool,
            mode: live.mode(),
            origin: order.origin,
            consumers,
            negotiated: extensions,
            policy: &self.selection_policy(live, &order.server_id, &order.tool),
        })
        .map_err(|error| {
            let what = error.to_string();
            let todo = "Nothing was sent. Choose another mode, or other outputs for this tool.".to_owned();
            let entry =
                LedgerEntry::CallRefused { tool: tool.name.clone(), rule: error.rule(), why: what.clone() };
            Box::new(Stop {
                state: CallState::Failed { what: sentence_about(&tool.name, &what), todo },
                told: Told::ProtocolError(what),
                heard: None,
                entry,
            })
        })
    }

    pub(super) fn selection_policy(&self, live: &Live, server_id: &str, tool: &str) -> SelectionPolicy {
        let preferences = self.preferences();
        let custom = live.with(|it| {
            let choice = it.custom.iter().find(|it| it.server_id == server_id && it.tool == tool);
            choice.map(|it| it.selectors.clone())
        });
        SelectionPolicy {
            omit_fallback_selection: preferences.omit_fallback_selection,
            decline_schemaless: preferences.decline_schemaless,
            custom,
        }
    }

    /// Asks the user, unless an answer stands.
    pub(super) async fn approve(
        &self,
        live: &Live,
        order: &CallOrder,
        call: &mut CallRecord,
        tool: &Tool,
    ) -> Result<(), Box<Stop>> {
        let why = match self.standing(&live.id, &order.server_id, tool) {
            Standing::Allowed(by) => {
                self.record(live, Some(&call.id), LedgerEntry::Approved { answer: format!("allowed: {by}") });
                return Ok(());
            }
            Standing::Forbidden => return Err(refused("your settings never allow this tool")),
            Standing::Ask(why) => why,
        };
        if call.item_id.is_none() {
            // Nobody can answer a question that is not shown, whoever's call it is.
            let body = ItemBody::Call { call_id: call.id.clone() };
            call.item_id = self.add_item(live, body, String::new()).await.ok().map(|it| it.id);
        }
        let (sender, answer) = oneshot::channel();
        live.with(|it| it.questions.insert(call.id.clone(), sender));
        call.state = CallState::AwaitingApproval(why);
        self.keep_call(live, call).await;
        if order.origin == Origin::Model {
            self.set_turn(live, TurnState::Approval { call_id: call.id.clone() });
        }
        let asked_ms = self.now_ms();
        let answer = tokio::select! {
            // A yes that comes after the end is a yes to nothing.
            biased;
            () = order.cancel.cancelled() => None,
            answer = answer => answer.ok(),
        };
        call.waited_ms = self.now_ms() - asked_ms;
        live.with(|it| it.questions.remove(&call.id));
        let taken_back = || {
            Box::new(Stop { heard: Some(Heard { what: TAKEN_BACK.to_owned(), code: None }), ..*cancelled() })
        };
        let choice = answer.ok_or_else(taken_back)?;
        let choice = if call.of_view.is_some() { choice.in_conversation() } else { choice };
        if let Err(error) = self.remember(choice, &live.id, &order.server_id, tool).await {
            tracing::warn!(%error, "an approval could not be kept");
        }
        let word = match choice {
            ApprovalChoice::Refuse => return Err(refused("you did not allow this call")),
            ApprovalChoice::Never => return Err(refused("you never allow this tool")),
            ApprovalChoice::Once => "this call",
            ApprovalChoice::Conversation => "this tool in this conversation",
            ApprovalChoice::Tool => "this tool",
            ApprovalChoice::Server => "every tool of this server",
        };
        self.record(live, Some(&call.id), LedgerEntry::Approved { answer: format!("you allowed {word}") });
        call.state = CallState::Running(None);
        self.keep_call(live, call).await;
        if order.origin == Origin::Model {
            self.set_turn(live, TurnState::Tools { running: 1 });
        }
        Ok(())
    }

    /// Answers a call that waits for the user.
    ///
    /// # Errors
    /// No call of that id waits.
    pub fn answer_approval(&self, call_id: &str, choice: ApprovalChoice) -> Result<(), super::HostError> {
        let open: Vec<Arc<Live>> = self.live_map().values().cloned().collect();
        let question = open.iter().find_map(|live| live.with(|it| it.questions.remove(call_id)));
        match question.map(|it| it.send(choice)) {
            Some(Ok(())) => Ok(()),
            Some(Err(_)) | None => Err(super::HostError::unknown("question")),
        }
    }

    /// Cancels one call; the others of the turn go on.
    pub fn cancel_call(&self, call_id: &str) {
        let open: Vec<Arc<Live>> = self.live_map().values().cloned().collect();
        for live in open {
            if let Some(cancel) = live.with(|it| it.cancels.get(call_id).cloned()) {
                cancel.cancel();
            }
        }
    }

    /// The address of the View that a call of a tool would show.
    pub(super) fn view_uri(
        &self,
        tool: &Tool,
        origin: Origin,
        requested: Option<&[Selector]>,
    ) -> Option<String> {
        let waits = self.consumers().view && matches!(origin, Origin::Model | Origin::User);
        let asked = requested.is_some_and(|it| it.contains(&Selector::ui()));
        let legacy = matches!(tool.contract, Contract::Legacy { .. });
        tool.ui.as_ref().and_then(|it| it.resource_uri.clone()).filter(|_| waits && (asked || legacy))
    }

    /// Keeps what a View needs before the call, so that it can come up while the call runs, or before.
    pub(super) fn record_view(&self, live: &Live, call: &mut CallRecord, tool: &Tool) {
        call.view = None;
        let Some(resource_uri) = self.view_uri(tool, call.origin, call.requested.as_deref()) else { return };
        let handle = self.keep_payload(
            live,
            &call.id,
            Some(&Selector::ui()),
            "the declaration of the tool",
            &tool.raw,
        );
        call.view = Some(ViewRecord {
            resource_uri,
            resource_handle: None,
            listed_handle: None,
            refused: None,
            tool_handle: Some(handle),
            waits_for_input: false,
        });
    }

    async fn send_call(
        &self,
        live: &Arc<Live>,
        order: &CallOrder,
        call: &CallRecord,
        (server, connection): (&Server, &Connection),
        selection: &Selection,
    ) -> Result<RawJson, Box<Stop>> {
        let (progress, mut reports) = mpsc::channel::<Progress>(16);
        let request = CallRequest {
            name: order.tool.clone(),
            arguments: order.arguments.clone(),
            requested: selection.requested.clone(),
        };
        let options = CallOptions { progress: Some(progress), cancel: order.cancel.clone(), timeout: None };
        let mut answer = std::pin::pin!(connection.call(&request, options));
        let answer = loop {
            tokio::select! {
                biased;
                answer = &mut answer => break answer,
                Some(report) = reports.recv() => {
                    if let Some((view_id, token)) = &order.reports_to {
                        self.tell_progress(view_id, token, &report);
                    }
                    let progress = ProgressRecord { done: report.progress, total: report.total, message: report.message };
                    let call = CallRecord { state: CallState::Running(Some(progress)), ..call.clone() };
                    self.show_call(live, &call);
                }
            }
        };
        answer.map_err(|error| match server.without_secrets(error) {
            CallError::Server { code, message, .. } => {
                let what = format!("The server refused the call: {message} ({code}).");
                let todo =
                    "The server is still connected. Change what was asked for and try again.".to_owned();
                Box::new(Stop {
                    heard: Some(Heard { what: what.clone(), code: Some(code) }),
                    state: CallState::Failed { what, todo },
                    told: Told::ProtocolError(message.clone()),
                    entry: LedgerEntry::Rejected { code, message },
                })
            }
            CallError::Cancelled => cancelled(),
            other => failed(&other),
        })
    }
}

fn selected(server: &str, tool: &Tool, selection: &Selection) -> LedgerEntry {
    LedgerEntry::Selected {
        tool: format!("{server} / {}", tool.name),
        mode: selection.mode,
        origin: selection.origin,
        revision: selection.revision,
        requested: selection.requested.clone(),
        declared: selection.declared,
        reasons: selection.reasons.clone(),
    }
}

fn received(outcome: &CallOutcome) -> LedgerEntry {
    let outputs = match &outcome.body {
        OutcomeBody::Outputs { parts, unreadable } => {
            let read = parts.iter().map(|it| it.selector.to_string());
            read.chain(unreadable.iter().map(|it| format!("output {} (unreadable)", it.index))).collect()
        }
        OutcomeBody::Legacy { content, structured } => {
            let mut them = vec![format!("content ({} blocks)", content.len())];
            them.extend(structured.as_ref().map(|_| "structuredContent".to_owned()));
            them
        }
    };
    LedgerEntry::Received { bytes: outcome.raw.bytes() as u64, outputs, is_error: outcome.is_error }
}

/// How a call ended whose result could be read. A success without any output is a defect and not a success (rule H27).
fn end_state(outcome: &CallOutcome) -> CallState {
    match &outcome.body {
        OutcomeBody::Outputs { parts, unreadable } if parts.is_empty() && unreadable.is_empty() => {
            CallState::Failed {
                what: "The server answered with an empty list of outputs.".to_owned(),
                todo: "Nothing reached anybody. Report it to the server's authors.".to_owned(),
            }
        }
        OutcomeBody::Outputs { .. } | OutcomeBody::Legacy { .. } if outcome.is_error => CallState::ToolError,
        OutcomeBody::Outputs { .. } | OutcomeBody::Legacy { .. } => CallState::Done,
    }
}

/// Ends a text as a sentence, so that the next one does not run into it.
pub(super) fn sentence(text: &str) -> String {
    let mut text = text.trim().to_owned();
    if let Some(first) = text.get(..1) {
        let upper = first.to_uppercase();
        text.replace_range(..1, &upper);
    }
    if !text.ends_with(['.', '!', '?', '…']) {
        text.push('.');
    }
    text
}

/// The same for a text that may begin with a name, whose letters stay as they are.
fn sentence_about(name: &str, text: &str) -> String {
    let ended = sentence(text);
    let rest = text.trim().strip_prefix(name).filter(|it| it.starts_with(' '));
    match rest.and_then(|_| ended.get(name.len()..)) {
        Some(rest) => format!("{name}{rest}"),
        None => ended,
    }
}

/// Checks what the model wrote against the tool's own schema.
fn check_arguments(tool: &Tool, arguments: &RawJson) -> Result<(), Box<Stop>> {
    match Compiled::new(&tool.input_schema).check(arguments) {
        Verdict::Fits | Verdict::NotChecked(_) => Ok(()),
        Verdict::Violates { problems, .. } => Err(bad_arguments(tool, in_lines(&problems))),
    }
}

/// What is wrong with a value, a line each.
pub(super) fn in_lines(problems: &[Problem]) -> Vec<String> {
    let place = |it: &Problem| if it.pointer.is_empty() { "/".to_owned() } else { it.pointer.clone() };
    problems.iter().map(|it| format!("{}: {}", place(it), it.message)).collect()
}

/// The model wrote arguments that a tool does not take, of a server or of a View.
pub(super) fn bad_arguments(tool: &Tool, problems: Vec<String>) -> Box<Stop> {
    let what = format!("The model wrote arguments that {} does not take: {}", tool.name, problems.join("; "));
    let todo = "Nothing was sent. The model was told and may try again.".to_owned();
    Box::new(Stop {
        state: CallState::Failed { what: sentence(&what), todo },
        told: Told::BadArguments(problems),
        heard: None,
        entry: LedgerEntry::CallRefused { tool: tool.name.clone(), rule: None, why: what },
    })
}

fn unknown_tool(order: &CallOrder) -> Box<Stop> {
    let what = format!("There is no tool named {:?} on this server.", order.tool);
    let todo = "Nothing was sent. Check whether the server still offers it.".to_owned();
    Box::new(Stop {
        state: CallState::Failed { what: sentence(&what), todo },
        told: Told::UnknownTool,
        heard: None,
        entry: LedgerEntry::Failed { what },
    })
}

/// A call that the server gave no answer to. The person reads all that is known, the caller only what the host itself says of it: stderr
/// and pages that a proxy wrote are for people.
fn failed(error: &CallError) -> Box<Stop> {
    let (what, heard) = (error.to_string(), error.in_short());
    Box::new(Stop {
        state: CallState::Failed { what: sentence(&what), todo: error.todo().to_owned() },
        told: Told::ProtocolError(heard.clone()),
        heard: Some(Heard { what: sentence(&heard), code: error.code() }),
        entry: LedgerEntry::Failed { what },
    })
}

/// What a program hears whose call was cancelled before the user answered.
const TAKEN_BACK: &str = "The call was cancelled before the user answered.";

pub(super) fn cancelled() -> Box<Stop> {
    let entry = LedgerEntry::Failed { what: "the call was stopped by you".to_owned() };
    Box::new(Stop { state: CallState::Cancelled, told: Told::State, heard: None, entry })
}

fn refused(answer: &str) -> Box<Stop> {
    let entry = LedgerEntry::Approved { answer: answer.to_owned() };
    Box::new(Stop { state: CallState::Refused, told: Told::State, heard: None, entry })
}
