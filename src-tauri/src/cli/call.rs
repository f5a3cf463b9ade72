//! `usher call`: one call of a tool, by hand, and what each audience would get of its result.

use std::time::Instant;

use clap::{Args, ValueEnum};
use serde::Serialize;
use usher_engine::routing::{Delivery, Door, Notice, Routing, payload_json};
use usher_engine::{Consumer, Mode, validation::Verdict};
use usher_host::conversation::{CallEnd, CallRecord, CallState, CustomChoice, Host, HostEvent};
use usher_protocol::{RawJson, model::Selector};

use super::{
    Global,
    given::GivenServer,
    report::Report,
    session::{Approval, Exit, Failure, Session},
    terminal::{Paint, clean_line, err, out},
    timing::Stopwatch,
    tools,
};

/// Call a tool and print its result for each audience
#[derive(Debug, Args)]
#[command(
    override_usage = "usher call [OPTIONS] SERVER TOOL\n       usher call [OPTIONS] TOOL --url URL\n       usher call [OPTIONS] TOOL -- CMD [ARG]..."
)]
pub(super) struct Options {
    /// A configured server and its tool; only the tool if a server is given
    #[arg(required = true, num_args = 1..=2, value_name = "SERVER TOOL")]
    names: Vec<String>,
    /// The arguments, as a JSON object
    #[arg(long, value_name = "JSON", default_value = "{}")]
    args: String,
    /// Who listens; this decides which outputs are asked for
    #[arg(long, value_enum, default_value_t = ModeName::Chat)]
    mode: ModeName,
    /// Ask for exactly these outputs, such as user/structured (mode custom); may be given more than once
    #[arg(long, value_name = "AUDIENCE/FORMAT")]
    ask: Vec<Selector>,
    /// Print JSON; every number keeps its digits
    #[arg(long)]
    json: bool,
    /// Call without asking
    #[arg(long)]
    yes: bool,
    /// Call this many times over one connection, and print the last result or the timing
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    repeat: u32,
    /// Print what the calls cost in place of what they brought; with --json for machines
    #[arg(long)]
    timing: bool,
    #[command(flatten)]
    given: GivenServer,
}

/// The modes, by the words of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ModeName {
    /// The model reads prose; the user sees tables, media and Views
    Chat,
    /// The model reads structured data
    Data,
    /// Scripts get data
    Code,
    /// The user sees the result
    Present,
    /// The View gets its data
    App,
    /// Exactly what --ask says
    Custom,
}

impl ModeName {
    /// As the engine has it.
    pub(super) fn mode(self) -> Mode {
        match self {
            Self::Chat => Mode::Chat,
            Self::Data => Mode::Data,
            Self::Code => Mode::Code,
            Self::Present => Mode::Present,
            Self::App => Mode::App,
            Self::Custom => Mode::Custom,
        }
    }
}

/// Calls it.
pub(super) async fn run(options: Options, global: &Global) -> Result<Exit, Failure> {
    let (server, tool) = match (options.names.as_slice(), options.given.is_none()) {
        ([server, tool], true) => (Some(server.as_str()), tool.as_str()),
        ([tool], false) => (None, tool.as_str()),
        ([_], true) => {
            return Err(Failure::usage(
                "Name the server and the tool, or give a server with --url or after --.",
            ));
        }
        _ => return Err(Failure::usage("With a server that is given, name only the tool.")),
    };
    let wrong = match RawJson::parse(options.args.clone()) {
        Ok(args) if args.is_object() => None,
        Ok(_) => Some("it is JSON of another kind".to_owned()),
        Err(error) => Some(error.to_string()),
    };
    if let Some(why) = wrong {
        return Err(Failure::usage(format!(
            "--args is not a JSON object: {why}. Write it as '{{\"name\": \"value\"}}'."
        )));
    }
    let mode = match (options.mode, options.ask.is_empty()) {
        (ModeName::Custom, true) => return Err(Failure::usage("Mode custom needs --ask.")),
        (ModeName::Chat | ModeName::Custom, false) => Mode::Custom,
        (_, false) => return Err(Failure::usage("--ask chooses the outputs itself; leave --mode out.")),
        (mode, true) => mode.mode(),
    };
    let (mut session, id) = tools::open(server, &options.given, global, Approval::of(options.yes)).await?;
    let called = call(&mut session, &id, tool, mode, &options).await;
    let printed = match called {
        Ok((_, Some(stopwatch))) => print_timing(stopwatch, &options),
        Ok((end, None)) => print(&session.host, &end, &options).await,
        Err(failure) => Err(failure),
    };
    session.close().await;
    printed
}

async fn call(
    session: &mut Session,
    server_id: &str,
    tool: &str,
    mode: Mode,
    options: &Options,
) -> Result<(CallEnd, Option<Stopwatch>), Failure> {
    let status = session.ready(server_id).await?;
    if let Some(refused) = status.rejected.iter().find(|it| it.name == tool) {
        let rule = refused.rule.map_or_else(String::new, |it| format!("{}: ", it.id()));
        return Err(Failure::new(
            Exit::Broken,
            format!("The declaration of {tool} was refused. {rule}{}", refused.why),
        ));
    }
    if !status.tools.iter().any(|it| it.tool.name == tool) {
        let names: Vec<&str> = status.tools.iter().map(|it| it.tool.name.as_str()).collect();
        return Err(Failure::usage(format!(
            "{} has no tool {tool:?}. It has: {}.",
            status.name,
            names.join(", ")
        )));
    }
    let host = session.host.clone();
    let conversation = host.create_conversation(Some(mode), None).await?.id;
    // A call by hand has no model that waits; here everybody's output is asked for that a model's call in this mode would ask for.
    let selectors = if options.ask.is_empty() {
        let previews = host.preview_selection(&conversation).await?;
        let of_tool = previews.into_iter().find(|it| it.server_id == server_id && it.tool.name == tool);
        of_tool.and_then(|it| it.selection.ok()).map(|it| it.expected).unwrap_or_default()
    } else {
        options.ask.clone()
    };
    if !selectors.is_empty() {
        let choice = CustomChoice { server_id: server_id.to_owned(), tool: tool.to_owned(), selectors };
        let custom = Some(Mode::Custom);
        host.configure_conversation(&conversation, None, custom, None, Some(vec![choice])).await?;
    }
    let mut stopwatch = options.timing.then(Stopwatch::new);
    let mut end = one_call(session, &conversation, server_id, tool, &options.args).await?;
    for _ in 1..options.repeat {
        if judge(&end.record) != Exit::Fine {
            break;
        }
        drop(end);
        // The first call pays for what the later ones find ready: threads, compiled schemas, files.
        if let Some(stopwatch) = &mut stopwatch {
            let sent = Instant::now();
            if host.ping(server_id).await.is_ok() {
                stopwatch.take_ping(sent);
            }
        }
        end = one_call(session, &conversation, server_id, tool, &options.args).await?;
        if let Some(stopwatch) = &mut stopwatch {
            stopwatch.take(&end);
        }
    }
    if let Some(stopwatch) = stopwatch.as_mut().filter(|_| options.repeat == 1) {
        stopwatch.take(&end);
    }
    end.record.mode = mode;
    // A call that went wrong is shown and not timed.
    let stopwatch = stopwatch.filter(|_| judge(&end.record) == Exit::Fine);
    Ok((end, stopwatch))
}

async fn one_call(
    session: &mut Session,
    conversation: &str,
    server_id: &str,
    tool: &str,
    arguments: &str,
) -> Result<CallEnd, Failure> {
    let host = session.host.clone();
    let call_id = std::cell::RefCell::new(None);
    let work = host.call_tool(conversation, server_id, tool, arguments);
    let stop = |host: &Host| {
        if let Some(id) = call_id.borrow().as_deref() {
            host.cancel_call(id);
        }
    };
    let end = session
        .follow(work, stop, |event| {
            if let HostEvent::Item { call: Some(call), .. } = event {
                progress(&call);
                *call_id.borrow_mut() = Some(call.id.clone());
            }
        })
        .await??;
    Ok(end)
}

fn print_timing(stopwatch: Stopwatch, options: &Options) -> Result<Exit, Failure> {
    let Some(timing) = stopwatch.read() else {
        return Err(Failure::new(Exit::Broken, "No call brought a result, so there is nothing to time."));
    };
    if options.json {
        let json = serde_json::to_string(&timing);
        out(&format!("{}\n", json.map_err(|error| Failure::new(Exit::Broken, error.to_string()))?));
    } else {
        out(&timing.text());
    }
    Ok(Exit::Fine)
}

fn progress(call: &CallRecord) {
    if let CallState::Running(Some(progress)) = &call.state {
        let total = progress.total.map_or_else(String::new, |it| format!(" of {it}"));
        let message =
            progress.message.as_deref().map_or_else(String::new, |it| format!(" {}", clean_line(it)));
        err(&format!("progress: {}{total}{message}\n", progress.done));
    }
}

async fn print(host: &Host, end: &CallEnd, options: &Options) -> Result<Exit, Failure> {
    let for_model = host.for_model(end, end.record.mode);
    let text = if options.json {
        let json = serde_json::to_string(&Machine::of(end, for_model.as_ref()));
        format!("{}\n", json.map_err(|error| Failure::new(Exit::Broken, error.to_string()))?)
    } else {
        let mut report = Report::gather(host, &end.record, None).await;
        if let Some(routing) = &for_model {
            report.add_for_model(routing);
        }
        report.text(Paint::of_stdout(false))
    };
    out(&text);
    Ok(judge(&end.record))
}

/// What a call's end means for the exit code.
pub(super) fn judge(call: &CallRecord) -> Exit {
    let violates = |it: &Option<Verdict>| matches!(it, Some(Verdict::Violates { .. }));
    match &call.state {
        CallState::Done
            if call.defects.is_empty() && !call.deliveries.iter().any(|it| violates(&it.verdict)) =>
        {
            Exit::Fine
        }
        // Without a selection nothing was sent: what was asked for does not exist.
        CallState::Failed { .. } if call.revision.is_none() => Exit::Usage,
        CallState::Refused => Exit::Usage,
        CallState::Cancelled | CallState::Interrupted => Exit::Interrupted,
        CallState::Done
        | CallState::ToolError
        | CallState::Failed { .. }
        | CallState::Writing
        | CallState::AwaitingApproval(_)
        | CallState::Running(_) => Exit::Broken,
    }
}

/// A call for machines. Payloads are the text that came, so that nothing is lost on the way.
#[derive(Debug, Serialize)]
struct Machine<'a> {
    tool: &'a str,
    server: &'a str,
    mode: Mode,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    revision: Option<String>,
    requested: Option<Vec<String>>,
    deliveries: Vec<MachineDelivery>,
    /// What a model would get of a result of an earlier revision; absent where the outputs name their audiences.
    #[serde(rename = "forModel", skip_serializing_if = "Option::is_none")]
    for_model: Option<MachineForModel>,
    withheld: Vec<MachineWithheld<'a>>,
    defects: Vec<MachineDefect<'a>>,
}

#[derive(Debug, Serialize)]
struct MachineDelivery {
    /// Who gets it: `model`, `user`, `script` or `view`.
    to: Consumer,
    /// What the server made it for; `null` under earlier revisions, which name no audience.
    audience: Option<String>,
    source: String,
    door: String,
    bytes: u64,
    verdict: Option<String>,
    payload: RawJson,
}

#[derive(Debug, Serialize)]
struct MachineForModel {
    deliveries: Vec<MachineDelivery>,
    /// What the model is told in place of an output.
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<Notice>,
}

impl MachineForModel {
    fn of(routing: &Routing) -> Self {
        let delivery = |it: &Delivery| MachineDelivery {
            to: it.to,
            audience: None,
            source: it.source.name(),
            door: door_name(&it.door),
            bytes: it.bytes as u64,
            verdict: None,
            payload: payload_json(&it.payload),
        };
        Self { deliveries: routing.deliveries.iter().map(delivery).collect(), notice: routing.notice }
    }
}

fn door_name(door: &Door) -> String {
    match door {
        Door::Contract => "contract".to_owned(),
        Door::Policy(name) | Door::UserAction(name) => name.clone(),
    }
}

#[derive(Debug, Serialize)]
struct MachineWithheld<'a> {
    what: &'a str,
    rule: Option<&'static str>,
    why: &'a str,
    bytes: u64,
}

#[derive(Debug, Serialize)]
struct MachineDefect<'a> {
    rule: Option<&'static str>,
    text: &'a str,
}

impl<'a> Machine<'a> {
    fn of(end: &'a CallEnd, for_model: Option<&Routing>) -> Self {
        let call = &end.record;
        let deliveries = call.deliveries.iter().zip(&end.payloads).map(|(it, payload)| MachineDelivery {
            to: it.to,
            audience: it.source.selector().map(|it| it.audience.to_string()),
            source: it.source.name(),
            door: door_name(&it.door),
            bytes: it.bytes,
            verdict: it.verdict.as_ref().map(Verdict::line),
            payload: payload_json(payload),
        });
        // What is withheld reaches nobody, and a program that reads this is somebody: it learns what and why.
        let withheld = call.withheld.iter().map(|it| MachineWithheld {
            what: &it.what,
            rule: it.rule.map(|it| it.id()),
            why: &it.why,
            bytes: it.bytes,
        });
        Self {
            tool: &call.tool,
            server: &call.server_name,
            mode: call.mode,
            state: call.state.word(),
            error: if let CallState::Failed { what, .. } = &call.state { Some(what) } else { None },
            revision: call.revision.map(|it| it.to_string()),
            requested: call.requested.as_ref().map(|it| it.iter().map(ToString::to_string).collect()),
            deliveries: deliveries.collect(),
            for_model: for_model.map(MachineForModel::of),
            withheld: withheld.collect(),
            defects: call
                .defects
                .iter()
                .map(|it| MachineDefect { rule: it.rule.map(|it| it.id()), text: &it.text })
                .collect(),
        }
    }
}
