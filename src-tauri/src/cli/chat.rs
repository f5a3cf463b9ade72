//! `usher chat`: messages to a model with the tools of the servers; its answers stream to standard output, results to standard error.

use clap::Args;
use usher_engine::selection::Consumers;
use usher_host::{
    conversation::{
        CallRecord, FailureKind, Host, HostEvent, Opened, ServerPhase, Told, TurnFailure, TurnState,
    },
    model::ToolChoice,
};

use super::{
    Global,
    call::{ModeName, judge},
    demo::ended,
    given::GivenServer,
    report::Report,
    session::{Approval, Exit, Failure, Place, Session},
    terminal::{Paint, clean, err, out},
};

/// Send messages to a model, one after the other, with the tools of the servers
#[derive(Debug, Args)]
pub(super) struct Options {
    /// The messages; each is answered before the next is sent
    #[arg(required = true, value_name = "MESSAGE")]
    messages: Vec<String>,
    /// The model, by its name or id; `demo` needs no key and no network
    #[arg(long)]
    model: Option<String>,
    /// Who listens; this decides which outputs are asked for
    #[arg(long, value_enum, default_value_t = ModeName::Chat)]
    mode: ModeName,
    /// The model must call a tool before it answers
    #[arg(long)]
    require_tool: bool,
    /// Allow every call that the model makes
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    given: GivenServer,
}

/// Sends them. A tool that failed or a server that broke its contract makes the exit code 1, whatever the model made of it.
pub(super) async fn run(options: Options, global: &Global) -> Result<Exit, Failure> {
    let approval = Approval::of(options.yes);
    // A terminal has no frame for Views, so nothing is asked for them.
    let mut session = if options.given.is_none() {
        Session::open(Place::Folder(global.data.clone()), Consumers::TERMINAL, approval).await?
    } else {
        Session::open_with(&options.given, Consumers::TERMINAL, approval).await?.0
    };
    let talked = talk(&mut session, &options).await;
    session.close().await;
    talked
}

async fn talk(session: &mut Session, options: &Options) -> Result<Exit, Failure> {
    if options.mode == ModeName::Custom {
        return Err(Failure::usage("Custom choices are made in the window. Choose another mode."));
    }
    if options.messages.iter().any(|it| it.trim().is_empty()) {
        return Err(Failure::usage("A message is empty. Write something in it."));
    }
    let model = model(session, options.model.as_deref())?;
    if !options.given.is_none() {
        for status in session.host.server_statuses() {
            session.ready(&status.id).await?;
        }
    }
    for server in session.all_ready().await? {
        if let ServerPhase::Failed(what, todo) = &server.state {
            err(&clean(&format!("{}: {} {}\n", server.name, what, todo)));
        }
    }
    let conversation = session.host.create_conversation(Some(options.mode.mode()), model).await?.id;
    let choice = if options.require_tool { ToolChoice::Required } else { ToolChoice::Auto };
    let mut shown = 0;
    let mut broken = false;
    for message in &options.messages {
        let opened = say(session, &conversation, message, choice).await?;
        shown = results(&session.host, &opened, shown).await;
        broken = opened.calls.values().any(is_broken);
        if let TurnState::Failed(failure) = &opened.turn {
            return Err(turn_failed(failure));
        }
    }
    Ok(match (broken, session.refused_unasked()) {
        (true, _) => Exit::Broken,
        (false, true) => Exit::Usage,
        (false, false) => Exit::Fine,
    })
}

/// Whether a call failed by its tool or its server. What the model did wrong was told to it and is none of theirs.
fn is_broken(call: &CallRecord) -> bool {
    let by_model =
        matches!(call.told, Told::BadArguments(_) | Told::UnreadableArguments { .. } | Told::UnknownTool);
    !by_model && judge(call) == Exit::Broken
}

fn turn_failed(failure: &TurnFailure) -> Failure {
    let exit = match failure.kind {
        FailureKind::Request => Exit::Usage,
        FailureKind::Unreached => Exit::Unreachable,
        FailureKind::Answer => Exit::Broken,
    };
    Failure::new(exit, format!("{} {} {}", failure.what, failure.safe, failure.todo))
}

fn model(session: &Session, wanted: Option<&str>) -> Result<Option<String>, Failure> {
    let Some(wanted) = wanted else { return Ok(None) };
    let all = session.host.models();
    let found = all.iter().find(|it| it.id == wanted || it.name.eq_ignore_ascii_case(wanted));
    found.map(|it| Some(it.id.clone())).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|it| it.name.as_str()).collect();
        Failure::usage(format!("There is no model {wanted:?}. There are: {}.", names.join(", ")))
    })
}

async fn say(
    session: &mut Session,
    conversation: &str,
    message: &str,
    choice: ToolChoice,
) -> Result<Opened, Failure> {
    let host = session.host.clone();
    let work = async {
        host.send_message(conversation, message, choice).await?;
        ended(&host, conversation).await
    };
    let stopped = conversation.to_owned();
    let stop = |host: &Host| {
        let (host, conversation) = (host.clone(), stopped.clone());
        tokio::spawn(async move { host.stop_turn(&conversation).await });
    };
    let mut wrote = false;
    let opened = session.follow(work, stop, |event| {
        if let HostEvent::Text { text, .. } = event {
            wrote = true;
            out(&clean(&text));
        }
    });
    let opened = opened.await;
    if wrote {
        out("\n");
    }
    Ok(opened??)
}

/// Writes the calls of a turn, each audience apart. Answers how many calls there are now.
async fn results(host: &Host, opened: &Opened, shown: usize) -> usize {
    let exchange = opened.exchanges.last().map(|it| it.id.clone());
    let mut calls: Vec<_> = opened.calls.values().collect();
    calls.sort_by_key(|it| it.number);
    for call in calls.iter().skip(shown) {
        let report = Report::gather(host, call, exchange.as_deref()).await;
        err(&format!("\n{}", report.text(Paint::of_stderr())));
    }
    calls.len()
}
