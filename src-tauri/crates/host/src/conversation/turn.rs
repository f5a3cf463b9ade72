//! A turn: the model is asked, its words are kept and shown as they come, its calls are made, and it is asked again.

use std::{collections::BTreeMap, sync::Arc};

use futures::StreamExt;
use tokio_util::sync::CancellationToken;
use usher_engine::{
    Defect, Mode, Origin,
    ledger::LedgerEntry,
    selection::{Selection, SelectionInput, select},
};
use usher_protocol::{RawJson, model::Tool};

use super::{
    Answer, AnswerState, CallOrder, CallRecord, CallState, FailureKind, Host, HostError, ItemBody, ModelCall,
    Told, TurnFailure, TurnState,
    begun::BegunCalls,
    exchange::Kept,
    live::{Live, is_of_user},
    views::OwnTool,
};
use crate::model::{
    AdaptedSchema, Arguments, Cut, Encoded, Finish, HostText, ModelError, ModelSpec, OfferedTool, OpenAiChat,
    Repair, Reply, StreamEvent, SystemText, ToolChoice, ToolNames, Turn, Wire, fit,
};

/// How often a model may call tools before the user is asked to go on.
const MOST_ROUNDS: usize = 24;
/// How long a title made of the first message is, in characters.
const TITLE: usize = 48;

/// What a tool's next call would ask for.
#[derive(Debug, Clone)]
pub struct Preview {
    /// The server.
    pub server_id: String,
    /// The tool.
    pub tool: Arc<Tool>,
    /// What would be asked for, or why the call could not be made.
    pub selection: Result<Selection, Defect>,
}

/// The tools of a turn.
pub(super) struct Offer {
    tools: Vec<OfferedTool>,
    by_name: BTreeMap<String, Offered>,
    left_out: Vec<String>,
}

struct Offered {
    of: Offerer,
    schema: AdaptedSchema,
}

/// Whose tool it is.
enum Offerer {
    Server(ServerTool),
    View(OwnTool),
}

/// A tool of a server, and what its call would ask for.
pub(super) struct ServerTool {
    pub(super) server_id: String,
    pub(super) tool: Arc<Tool>,
    pub(super) selection: Selection,
}

/// A call as the model wrote it, and its record if it began meanwhile.
struct Written {
    call: ModelCall,
    begun: Option<CallRecord>,
}

impl Offer {
    /// Adds a tool, if a model can be told of its arguments.
    fn add(&mut self, wire_name: &Arc<str>, tool: &Tool, of: Offerer, from: &str) {
        match AdaptedSchema::for_openai(&tool.input_schema) {
            Ok(schema) => {
                let words = tool.description.as_deref();
                self.tools.push(match &of {
                    Offerer::Server(_) => OfferedTool::new(wire_name.clone(), words, schema.sent.clone()),
                    Offerer::View(own) => {
                        let words = format!("{}: {}", own.label, words.unwrap_or("(it says nothing of it)"));
                        OfferedTool::of_view(wire_name.clone(), &words, schema.sent.clone())
                    }
                });
                self.by_name.insert(wire_name.to_string(), Offered { of, schema });
            }
            Err(why) => self.left_out.push(format!("{} of {from} is not offered: {why}", tool.name)),
        }
    }

    /// The server's tool that the model names so, and how its arguments were described.
    pub(super) fn of_server(&self, wire_name: &str) -> Option<(&ServerTool, &AdaptedSchema)> {
        let offered = self.by_name.get(wire_name)?;
        match &offered.of {
            Offerer::Server(it) => Some((it, &offered.schema)),
            Offerer::View(_) => None,
        }
    }
}

impl Host {
    /// Writes a message to disk and starts a turn.
    ///
    /// # Errors
    /// A turn runs already, or the message could not be written; then nothing was sent.
    pub async fn send_message(
        &self,
        conversation_id: &str,
        text: &str,
        choice: ToolChoice,
    ) -> Result<(), HostError> {
        if text.trim().is_empty() {
            return Err(HostError::new(
                "The message is empty.",
                "Nothing was sent.",
                "Write something first.",
            ));
        }
        let live = self.live(conversation_id).await?;
        // A title is made of the user's own words, never of what a tool returned: a server must not name conversations.
        self.say(&live, (ItemBody::User, text.to_owned()), &title_of(text), || {}, choice).await
    }

    /// Writes what the user says to disk and starts a turn. `kept` is done once it is written, and before the turn begins.
    pub(super) async fn say(
        &self,
        live: &Arc<Live>,
        (body, text): (ItemBody, String),
        title: &str,
        kept: impl FnOnce(),
        choice: ToolChoice,
    ) -> Result<(), HostError> {
        let cancel = begin(live)?;
        let first = live.with(|it| !it.items.iter().any(|it| is_of_user(&it.body)));
        if let Err(error) = self.add_item(live, body, text).await {
            live.with(|it| it.cancel = None);
            let safe =
                "Your message was not sent and is still in the composer. Everything before it is as it was.";
            return Err(HostError::new(error.what, safe, error.todo));
        }
        kept();
        if first && live.with(|it| it.row.title == "New conversation") {
            // The message is written; a title that is not is no reason to hold the answer back.
            let title = Some(title.to_owned());
            let titled = self.configure_conversation(&live.id, title, None, None, None).await;
            titled.inspect_err(|error| tracing::warn!(%error, "a title was not written")).ok();
        }
        self.start_turn(Arc::clone(live), cancel, choice);
        Ok(())
    }

    /// Asks the model with what is there: again after a failure, or with what a View said and the user adds nothing to.
    ///
    /// # Errors
    /// A turn runs already.
    pub async fn retry_turn(&self, conversation_id: &str) -> Result<(), HostError> {
        let live = self.live(conversation_id).await?;
        let cancel = begin(&live)?;
        self.start_turn(live, cancel, ToolChoice::Auto);
        Ok(())
    }

    /// Stops a turn; what came is kept.
    pub async fn stop_turn(&self, conversation_id: &str) {
        if let Ok(live) = self.live(conversation_id).await {
            live.stop();
        }
    }

    /// Waits until no turn of the conversation runs.
    pub async fn turn_ended(&self, conversation_id: &str) {
        while let Ok(live) = self.live(conversation_id).await {
            if live.with(|it| it.cancel.is_none()) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }

    /// Calls a tool on the user's behalf, outside any turn.
    ///
    /// # Errors
    /// The conversation is not there, or the arguments are no object.
    pub async fn call_tool(
        &self,
        conversation_id: &str,
        server_id: &str,
        tool: &str,
        arguments: &str,
    ) -> Result<super::CallEnd, HostError> {
        let live = self.live(conversation_id).await?;
        let arguments = RawJson::parse(arguments).ok().filter(RawJson::is_object).ok_or_else(|| {
            HostError::new(
                "The arguments are not a JSON object.",
                "Nothing was sent.",
                "Write them as {\"name\": value}.",
            )
        })?;
        let order = CallOrder {
            server_id: server_id.to_owned(),
            tool: tool.to_owned(),
            arguments,
            origin: Origin::User,
            model_call: None,
            cancel: CancellationToken::new(),
            reports_to: None,
        };
        Ok(self.run_call(&live, order).await)
    }

    /// Runs a turn on a task of its own. Whatever happens to the task, the conversation can go on.
    fn start_turn(&self, live: Arc<Live>, cancel: CancellationToken, choice: ToolChoice) {
        let task = tokio::spawn(self.clone().drive(Arc::clone(&live), cancel, choice));
        let host = self.clone();
        tokio::spawn(async move {
            if let Err(error) = task.await {
                host.end_turn(
                    &live,
                    TurnState::Failed(TurnFailure {
                        what: format!("The answer ended by a defect of Usher: {error}."),
                        safe: "What was written is kept.".to_owned(),
                        todo: "Try again, and please report it.".to_owned(),
                        can_retry: true,
                        kind: FailureKind::Answer,
                    }),
                );
            }
        });
    }

    async fn drive(self, live: Arc<Live>, cancel: CancellationToken, choice: ToolChoice) {
        let end = self.rounds(&live, &cancel, choice).await;
        live.with(|it| it.row.updated_ms = self.now_ms());
        let row = live.with(|it| it.row.clone());
        self.keep_writing(self.store().update_conversation(row));
        self.end_turn(&live, end.err().map_or(TurnState::Idle, TurnState::Failed));
    }

    async fn rounds(
        &self,
        live: &Arc<Live>,
        cancel: &CancellationToken,
        choice: ToolChoice,
    ) -> Result<(), TurnFailure> {
        for round in 0..MOST_ROUNDS {
            self.set_turn(live, TurnState::Waiting);
            let offer = self.offer(live);
            let choice = if round == 0 { choice } else { ToolChoice::Auto };
            let calls = self.answer(live, &offer, choice, cancel).await?;
            if calls.is_empty() {
                return Ok(());
            }
            self.set_turn(live, TurnState::Tools { running: u32::try_from(calls.len()).unwrap_or(u32::MAX) });
            let made = calls.into_iter().map(|it| self.make_call(live, &offer, it, cancel));
            futures::future::join_all(made).await;
            if cancel.is_cancelled() {
                return Ok(());
            }
        }
        Err(TurnFailure {
            what: format!("The model called tools {MOST_ROUNDS} times in a row and has not answered."),
            safe: "Everything so far is kept.".to_owned(),
            todo: "Look at what it did; continue if it should go on.".to_owned(),
            can_retry: true,
            kind: FailureKind::Answer,
        })
    }

    /// The tools that the model is offered. In Code mode that is one: the script.
    fn offer(&self, live: &Live) -> Offer {
        let mut offer = Offer { tools: Vec::new(), by_name: BTreeMap::new(), left_out: Vec::new() };
        if live.mode() == Mode::Code {
            offer.tools.push(OfferedTool::run_script(&crate::script::types(&self.script_api(live))));
            return offer;
        }
        let mut names = ToolNames::default();
        for preview in self.previews(live) {
            let Ok(selection) = preview.selection else { continue };
            if !preview.tool.is_visible_to_model() {
                continue;
            }
            let Some(server) = self.server(&preview.server_id) else { continue };
            let wire_name = names.name(&server.id, &server.name, &preview.tool.name);
            let tool = Arc::clone(&preview.tool);
            let of = ServerTool { server_id: server.id.clone(), tool: preview.tool, selection };
            offer.add(&wire_name, &tool, Offerer::Server(of), &server.name);
        }
        // After all of servers, so that no name of theirs is another because a View is open.
        let (own, left_out) = self.own_tools(live);
        for it in own {
            let wire_name = names.name(&it.call_id, &format!("view {}", it.number), &it.tool.name);
            let (tool, from) = (Arc::clone(&it.tool), it.label.clone());
            offer.add(&wire_name, &tool, Offerer::View(it), &from);
        }
        offer.left_out.extend(left_out);
        offer
    }

    /// What each tool of each connected server would be asked for by the model.
    pub(super) fn previews(&self, live: &Live) -> Vec<Preview> {
        let mut previews = Vec::new();
        for server in self.all_servers().into_values().filter(|it| it.is_ready()) {
            let Some(revision) = server.revision() else { continue };
            let negotiated = server.extensions();
            for listed in server.tools() {
                let selection = select(SelectionInput {
                    revision,
                    tool: &listed.tool,
                    mode: live.mode(),
                    origin: Origin::Model,
                    consumers: self.consumers(),
                    negotiated: &negotiated,
                    policy: &self.selection_policy(live, &server.id, &listed.tool.name),
                })
                .map_err(|error| Defect { rule: error.rule(), text: error.to_string() });
                previews.push(Preview { server_id: server.id.clone(), tool: listed.tool, selection });
            }
        }
        previews
    }

    /// What each tool's next call would ask for.
    ///
    /// # Errors
    /// The conversation is not there.
    pub async fn preview_selection(&self, conversation_id: &str) -> Result<Vec<Preview>, HostError> {
        let live = self.live(conversation_id).await?;
        Ok(self.previews(&live))
    }

    /// Asks the model once, and keeps and shows its words as they come. Answers the calls that it made.
    async fn answer(
        &self,
        live: &Arc<Live>,
        offer: &Offer,
        choice: ToolChoice,
        cancel: &CancellationToken,
    ) -> Result<Vec<Written>, TurnFailure> {
        let model_id = live.with(|it| it.row.model_id.clone());
        let spec =
            self.model_spec(&model_id).await.map_err(|it| TurnFailure::of_host(it, FailureKind::Request))?;
        let encoded = self.encode(live, offer, choice, &spec).await?;
        let record = self.keep_exchange(live, &spec, &encoded, None).await?;
        let body = ItemBody::Assistant(Answer {
            model: spec.name.clone(),
            state: AnswerState::Streaming,
            calls: Vec::new(),
            usage: None,
        });
        let added = self.add_item(live, body, String::new()).await;
        let item = added.map_err(|it| TurnFailure::of_host(it, FailureKind::Unreached))?;
        let mut begun = BegunCalls::default();
        let sent = (&spec, &encoded, record);
        let (reply, error) = self.read_answer(live, offer, sent, &item.id, &mut begun, cancel).await;
        let (state, failure) = outcome(&reply, error, cancel);
        let finished = matches!(state, AnswerState::Done | AnswerState::CutShort);
        let calls: Vec<ModelCall> = reply
            .calls()
            .into_iter()
            .map(|it| ModelCall {
                id: it.id.to_string(),
                wire_name: it.wire_name.to_string(),
                arguments: it.arguments.text().to_owned(),
                complete: finished && !matches!(it.arguments, Arguments::Cut(_)),
            })
            .collect();
        self.close_answer(live, &item.id, |answer| {
            answer.state = state;
            answer.calls.clone_from(&calls);
            answer.usage = reply.usage.map(|it| (it.input_tokens, it.output_tokens));
        })
        .await;
        let written =
            calls.into_iter().enumerate().map(|(slot, call)| Written { call, begun: begun.take(slot) });
        match failure {
            None => Ok(written.collect()),
            Some(failure) => {
                // The calls are kept with what was written of them, and none is made.
                for it in written {
                    self.make_call(live, offer, it, cancel).await;
                }
                Err(failure)
            }
        }
    }

    async fn encode(
        &self,
        live: &Arc<Live>,
        offer: &Offer,
        choice: ToolChoice,
        spec: &ModelSpec,
    ) -> Result<Encoded, TurnFailure> {
        let history = self.history(live).await;
        let system = vec![SystemText::Host(HostText::SystemPrompt)];
        let (turn, repairs) = Turn::assemble(system, history, offer.tools.clone());
        live.with(|it| it.repairs = repairs.iter().map(repair_text).collect());
        let (turn, fitted) = fit(turn.with_tool_choice(choice), spec);
        let mut changes = offer.left_out.clone();
        changes.extend(fitted.cuts.iter().map(cut_text));
        if !changes.is_empty() {
            self.record(live, None, LedgerEntry::Abridged { what: changes });
        }
        if !fitted.fits {
            return Err(TurnFailure {
                what: format!(
                    "The conversation needs about {} tokens, and the model takes {} beside its answer.",
                    fitted.tokens, fitted.room
                ),
                safe: "Your message is kept. Nothing was sent.".to_owned(),
                todo: "Choose a model with a larger context, or shorten the message.".to_owned(),
                can_retry: true,
                kind: FailureKind::Request,
            });
        }
        OpenAiChat.encode(&turn, spec).map_err(|error| TurnFailure::of_model(&error.into()))
    }

    async fn read_answer(
        &self,
        live: &Arc<Live>,
        offer: &Offer,
        (spec, encoded, record): (&ModelSpec, &Encoded, Arc<Kept>),
        item_id: &str,
        begun: &mut BegunCalls,
        cancel: &CancellationToken,
    ) -> (Reply, Option<ModelError>) {
        let mut reply = Reply::default();
        let host = self.clone();
        let ids = Box::new(move || format!("call_{}", host.new_id().replace('-', "")));
        let stream = self.0.client.stream(&OpenAiChat, spec, encoded, record, ids, cancel.clone()).await;
        // What has come since the last write is written at once: the disk sets the pace, not the number of tokens.
        let mut batches = match stream {
            Ok(events) => events.ready_chunks(256),
            Err(error) => return (reply, Some(error)),
        };
        let mut error = None;
        let mut streaming = false;
        while let Some(batch) = batches.next().await {
            let mut text = String::new();
            for event in batch {
                match event {
                    Ok(event) => {
                        reply.apply(&event);
                        self.begin_early(live, offer, begun, &event).await;
                        if let StreamEvent::Text(piece) = event {
                            text.push_str(&piece);
                        }
                    }
                    Err(it) => error = Some(it),
                }
            }
            if !streaming {
                streaming = true;
                self.set_turn(live, TurnState::Streaming);
            }
            if !text.is_empty() {
                self.append_text(live, item_id, &text).await;
            }
            self.tell_beginnings(begun, &reply);
        }
        (reply, error)
    }

    /// Makes one call of the model; each has exactly one result in the end.
    async fn make_call(
        &self,
        live: &Arc<Live>,
        offer: &Offer,
        Written { call, begun }: Written,
        cancel: &CancellationToken,
    ) {
        let call = &call;
        let arguments = match Arguments::read(&call.arguments, call.complete) {
            Arguments::Object(arguments) => arguments,
            Arguments::Cut(_) => {
                let what = "The model's call was cut off before it was complete.";
                return self
                    .decline(live, (call, begun), Told::UnreadableArguments { cut: true }, what)
                    .await;
            }
            Arguments::Malformed(_) => {
                let what = "The model wrote arguments that are not a JSON object.";
                return self
                    .decline(live, (call, begun), Told::UnreadableArguments { cut: false }, what)
                    .await;
            }
        };
        if live.mode() == Mode::Code && call.wire_name == HostText::RunScriptName.text() {
            return self.run_model_script(live, call, &arguments, cancel).await;
        }
        let Some(offered) = offer.by_name.get(&call.wire_name) else {
            let what = format!("The model called {:?}, which was not offered to it.", call.wire_name);
            return self.decline(live, (call, begun), Told::UnknownTool, &what).await;
        };
        let arguments = offered.schema.unwrap_arguments(&arguments);
        let (server_id, tool) = match &offered.of {
            Offerer::View(own) => return self.run_view_tool(live, call, own, arguments, cancel).await,
            Offerer::Server(it) => (it.server_id.clone(), it.tool.name.clone()),
        };
        let order = CallOrder {
            server_id,
            tool,
            arguments,
            origin: Origin::Model,
            model_call: Some(call.id.clone()),
            cancel: cancel.clone(),
            reports_to: None,
        };
        match begun {
            Some(begun) => self.run_written(live, order, begun).await,
            None => self.run_call(live, order).await,
        };
    }

    /// Keeps a call that is not made, with what the model is told instead.
    async fn decline(
        &self,
        live: &Arc<Live>,
        (call, begun): (&ModelCall, Option<CallRecord>),
        told: Told,
        what: &str,
    ) {
        let mut record = match begun {
            Some(begun) => CallRecord { arguments: as_written(call), ..begun },
            None => self.host_call(live, call, &call.wire_name).await,
        };
        record.state = CallState::Failed {
            what: what.to_owned(),
            todo: "Nothing was sent to a server. The model was told and may try again.".to_owned(),
        };
        record.told = told;
        record.ended_ms = Some(self.now_ms());
        let tool = call.wire_name.clone();
        self.record(
            live,
            Some(&record.id),
            LedgerEntry::CallRefused { tool, rule: None, why: what.to_owned() },
        );
        self.keep_call(live, &record).await;
        self.tell_view(&record).await;
    }

    /// A record for a call that no server sees.
    pub(super) async fn host_call(&self, live: &Arc<Live>, call: &ModelCall, tool: &str) -> CallRecord {
        let order = CallOrder {
            server_id: String::new(),
            tool: tool.to_owned(),
            arguments: as_written(call),
            origin: Origin::Model,
            model_call: Some(call.id.clone()),
            cancel: CancellationToken::new(),
            reports_to: None,
        };
        self.begin_record(live, &order, "Usher".to_owned(), None).await
    }
}

/// The arguments, as JSON whatever they are.
fn as_written(call: &ModelCall) -> RawJson {
    let text = &call.arguments;
    RawJson::parse(text.as_str())
        .or_else(|_| RawJson::of(text))
        .unwrap_or_else(|_| serde_json::Value::Null.into())
}

fn begin(live: &Live) -> Result<CancellationToken, HostError> {
    live.with(|it| {
        if it.cancel.is_some() {
            return Err(HostError::new(
                "An answer is being written.",
                "Your message was not sent and is still in the composer.",
                "Wait for the end, or stop it.",
            ));
        }
        let cancel = CancellationToken::new();
        it.cancel = Some(cancel.clone());
        Ok(cancel)
    })
}

fn outcome(
    reply: &Reply,
    error: Option<ModelError>,
    cancel: &CancellationToken,
) -> (AnswerState, Option<TurnFailure>) {
    match error {
        None if reply.finish == Some(Finish::Length) => (AnswerState::CutShort, None),
        None => (AnswerState::Done, None),
        Some(_) if cancel.is_cancelled() => (AnswerState::Stopped, None),
        Some(error) => (AnswerState::Broken(error.to_string()), Some(TurnFailure::of_model(&error))),
    }
}

pub(super) fn title_of(text: &str) -> String {
    let line = text.lines().find(|it| !it.trim().is_empty()).unwrap_or_default().trim();
    match line.char_indices().nth(TITLE) {
        Some((cut, _)) => format!("{}…", line[..cut].trim_end()),
        None => line.to_owned(),
    }
}

fn repair_text(repair: &Repair) -> String {
    match repair {
        Repair::Unanswered { call_id } => {
            format!("The call {call_id} had no result; the model is told that it was interrupted.")
        }
        Repair::Orphan { call_id } => format!("A result for {call_id}, which nobody called, was left out."),
        Repair::Duplicate { call_id } => format!("A second result of {call_id} was left out."),
        Repair::Renamed { call_id, sent_as } => {
            format!("Two calls were both named {call_id}; one is sent as {sent_as}.")
        }
        Repair::Empty { .. } => "An answer that held nothing was left out.".to_owned(),
    }
}

fn cut_text(cut: &Cut) -> String {
    match cut {
        Cut::Result { kept, total, .. } => format!(
            "a result was cut to {kept} of {total} bytes to fit the model; you and scripts have it whole"
        ),
        Cut::Picture { .. } => "a picture was left out to fit the model; you see it".to_owned(),
        Cut::Tool { wire_name } => {
            format!("{wire_name} is not offered, because the declarations need too much room")
        }
        Cut::Messages { count } => format!("the oldest {count} messages were left out to fit the model"),
    }
}
