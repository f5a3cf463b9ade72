//! Scripts of the user and of the model: their calls go the way of every call, and only what they return or print goes on.

use std::{collections::BTreeMap, sync::Arc};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use usher_engine::{
    Consumer, Origin,
    ledger::LedgerEntry,
    routing::Door,
    selection::{SelectionInput, select},
};
use usher_protocol::{
    RawJson,
    model::{Contract, Selector},
};

use super::{
    CallOrder, CallState, Host, HostError, HostEvent, ModelCall, ScriptLine, Told, live::Live, lock,
};
use crate::script::{Limits, LogLevel, ScriptApi, ScriptEvent, ScriptRun, ScriptServer, ScriptTool};

/// The scripts that run, by run.
pub(super) type Scripts = BTreeMap<String, CancellationToken>;

/// How a script ended, and what it printed.
struct ScriptEnd {
    printed: String,
    returned: Result<RawJson, String>,
}

impl Host {
    /// The tools that scripts see, each with the schema of the variant that its calls will ask for (rules H15, H30).
    pub(super) fn script_api(&self, live: &Live) -> ScriptApi {
        let mut servers = Vec::new();
        for server in self.all_servers().into_values().filter(|it| it.is_ready()) {
            let Some(revision) = server.revision() else { continue };
            let negotiated = server.extensions();
            let mut tools = Vec::new();
            for listed in server.tools() {
                let tool = &listed.tool;
                let chosen = select(SelectionInput {
                    revision,
                    tool,
                    mode: live.mode(),
                    origin: Origin::Script,
                    consumers: self.consumers(),
                    negotiated: &negotiated,
                    policy: &self.selection_policy(live, &server.id, &tool.name),
                });
                if chosen.is_err() {
                    continue;
                }
                let output_schema = match &tool.contract {
                    Contract::Legacy { output_schema } => output_schema.clone(),
                    Contract::Variants(_) => {
                        tool.variant(&Selector::PROGRAMMATIC).and_then(|it| it.schema.clone())
                    }
                };
                tools.push(ScriptTool {
                    name: tool.name.clone(),
                    doc: tool.description.clone().unwrap_or_default(),
                    input_schema: tool.input_schema.clone(),
                    output_schema,
                });
            }
            servers.push(ScriptServer { slug: server.name.clone(), tools });
        }
        ScriptApi { servers }
    }

    /// TypeScript declarations of the tools that scripts see.
    ///
    /// # Errors
    /// The conversation is not there.
    pub async fn script_types(&self, conversation_id: &str) -> Result<String, HostError> {
        let live = self.live(conversation_id).await?;
        Ok(crate::script::types(&self.script_api(&live)))
    }

    /// Starts a script of the user. Answers the run's id; lines come as events.
    ///
    /// # Errors
    /// The conversation is not there.
    pub async fn run_script(&self, conversation_id: &str, source: String) -> Result<String, HostError> {
        let live = self.live(conversation_id).await?;
        let (run_id, cancel) = (self.new_id(), CancellationToken::new());
        lock(&self.0.scripts).insert(run_id.clone(), cancel.clone());
        let host = self.clone();
        let id = run_id.clone();
        tokio::spawn(async move {
            host.follow_script(&live, &id, source, &cancel).await;
            lock(&host.0.scripts).remove(&id);
        });
        Ok(run_id)
    }

    /// Stops a script.
    pub fn stop_script(&self, run_id: &str) {
        if let Some(cancel) = lock(&self.0.scripts).get(run_id) {
            cancel.cancel();
        }
    }

    pub(super) fn stop_scripts(&self) {
        lock(&self.0.scripts).values().for_each(CancellationToken::cancel);
    }

    /// Runs a script that the model wrote: it reads what the script returns and prints, and nothing else of its work (rule H25).
    pub(super) async fn run_model_script(
        &self,
        live: &Arc<Live>,
        call: &ModelCall,
        arguments: &RawJson,
        cancel: &CancellationToken,
    ) {
        let mut record = self.host_call(live, call, &call.wire_name).await;
        let source = arguments.to_value().get("code").and_then(|it| it.as_str()).map(str::to_owned);
        let Some(source) = source else {
            let problems = vec!["/code: a string is required".to_owned()];
            let what = "The model wrote no code for its script.".to_owned();
            record.state = CallState::Failed { what, todo: "Nothing ran. The model was told.".to_owned() };
            record.told = Told::BadArguments(problems);
            record.ended_ms = Some(self.now_ms());
            return self.keep_call(live, &record).await;
        };
        let cancel = &cancel.child_token();
        live.with(|it| it.cancels.insert(record.id.clone(), cancel.clone()));
        let end = self.follow_script(live, &record.id, source, cancel).await;
        live.with(|it| it.cancels.remove(&record.id));
        let failed = end.returned.is_err();
        let said = match &end.returned {
            Ok(json) if json.get() == "null" => String::new(),
            Ok(json) => json.get().to_owned(),
            Err(message) => message.clone(),
        };
        let text = [end.printed.trim_end(), &said]
            .iter()
            .filter(|it| !it.is_empty())
            .copied()
            .collect::<Vec<_>>()
            .join("\n");
        let raw = RawJson::of(&text).unwrap_or_else(|_| serde_json::Value::Null.into());
        let handle = self.keep_payload(live, &record.id, None, "what the script returned and printed", &raw);
        self.record(
            live,
            Some(&record.id),
            LedgerEntry::DoorOpened {
                to: Consumer::Model,
                what: "what the script returned and printed".to_owned(),
                bytes: text.len() as u64,
                door: Door::Policy(
                    "in Code mode the model reads what its script returns and prints".to_owned(),
                ),
                handle: Some(handle.clone()),
            },
        );
        record.told = Told::Script { handle, failed };
        record.state = match (failed, cancel.is_cancelled()) {
            (true, true) => CallState::Cancelled,
            (true, false) => CallState::ToolError,
            (false, _) => CallState::Done,
        };
        record.ended_ms = Some(self.now_ms());
        self.keep_call(live, &record).await;
    }

    async fn follow_script(
        &self,
        live: &Arc<Live>,
        run_id: &str,
        source: String,
        cancel: &CancellationToken,
    ) -> ScriptEnd {
        let api = self.script_api(live);
        // The calls of a script end with it, whatever ends it.
        let calls = cancel.child_token();
        let _ended_with_it = calls.clone().drop_guard();
        let (sender, mut events) = mpsc::unbounded_channel();
        let run = Arc::new(ScriptRun::start(source, api, Limits::default(), sender));
        let mut printed = String::new();
        let say = |line| self.tell(HostEvent::Script { run_id: run_id.to_owned(), line });
        loop {
            let event = tokio::select! {
                event = events.recv() => event,
                () = cancel.cancelled() => {
                    run.stop();
                    events.recv().await
                }
            };
            let returned = match event {
                Some(ScriptEvent::Log { level, text }) => {
                    printed.push_str(&text);
                    printed.push('\n');
                    say(ScriptLine::Log(level, text));
                    continue;
                }
                Some(ScriptEvent::Call { id, server, tool, arguments }) => {
                    self.call_for_script(
                        live,
                        run_id,
                        &run,
                        id,
                        (server, tool),
                        arguments,
                        calls.child_token(),
                    );
                    continue;
                }
                Some(ScriptEvent::Returned { json }) => {
                    say(ScriptLine::Returned(json.get().to_owned()));
                    Ok(json)
                }
                Some(ScriptEvent::Failed { message }) => {
                    say(ScriptLine::Failed(message.clone()));
                    Err(message)
                }
                Some(ScriptEvent::Stopped { why }) => {
                    let why = why.told(&Limits::default());
                    say(ScriptLine::Stopped(why.clone()));
                    Err(why)
                }
                None => Err("the script ended without a word".to_owned()),
            };
            return ScriptEnd { printed, returned };
        }
    }

    #[expect(clippy::too_many_arguments, reason = "all of them name the one call")]
    fn call_for_script(
        &self,
        live: &Arc<Live>,
        run_id: &str,
        run: &Arc<ScriptRun>,
        id: u64,
        (server_name, tool): (String, String),
        arguments: RawJson,
        cancel: CancellationToken,
    ) {
        let (host, live, run, run_id) = (self.clone(), Arc::clone(live), Arc::clone(run), run_id.to_owned());
        tokio::spawn(async move {
            let server = host.all_servers().into_values().find(|it| it.name == server_name);
            let Some(server) = server else {
                return run.answer(id, Err(format!("the server {server_name} is not there any more")));
            };
            let order = CallOrder {
                server_id: server.id.clone(),
                tool: tool.clone(),
                arguments,
                origin: Origin::Script,
                model_call: None,
                cancel,
                reports_to: None,
            };
            let text = format!("{server_name}.{tool}");
            host.tell(HostEvent::Script {
                run_id: run_id.clone(),
                line: ScriptLine::Call { call_id: String::new(), text },
            });
            let end = host.run_call(&live, order).await;
            if let Some(policy) = end.record.deliveries.iter().find(|it| it.to == Consumer::Script)
                && let Door::Policy(name) = &policy.door
            {
                let line = ScriptLine::Log(LogLevel::Info, format!("{tool}: {name}"));
                host.tell(HostEvent::Script { run_id, line });
            }
            run.answer(id, end.script_value());
        });
    }
}
