//! `usher chat`: messages to a model with the tools of the servers; its answers stream to standard output, results to standard error.

use clap::Args;
use usher_engine::selection::Consumers;
use usher_host::{
    conversation::{Host, HostEvent, Opened, ServerPhase, TurnState},
    model::ToolChoice,
};

use super::{
    Global,
    call::ModeName,
    demo::ended,
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
    /// Use this server instead of the configured ones
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,
}

/// Sends them.
pub(super) async fn run(options: Options, global: &Global) -> Result<Exit, Failure> {
    let approval = Approval::of(options.yes);
    // A terminal has no frame for Views, so nothing is asked for them.
    let mut session = if options.command.is_empty() {
        Session::open(Place::Folder(global.data.clone()), Consumers::TERMINAL, approval).await?
    } else {
        Session::open_with(&options.command, Consumers::TERMINAL, approval).await?.0
    };
    let talked = talk(&mut session, &options).await;
    session.close().await;
    talked
}

async fn talk(session: &mut Session, options: &Options) -> Result<Exit, Failure> {
    if options.mode == ModeName::Custom {
        return Err(Failure::usage("Custom choices are made in the window. Choose another mode."));
    }
    let model = model(session, options.model.as_deref())?;
    for server in session.all_ready().await? {
        if let ServerPhase::Failed(what, todo) = &server.state {
            let text = format!("{}: {} {}\n", server.name, what, todo);
            if !options.command.is_empty() {
                return Err(Failure::new(Exit::Unreachable, text.trim_end().to_owned()));
            }
            err(&clean(&text));
        }
    }
    let conversation = session.host.create_conversation(Some(options.mode.mode()), model).await?.id;
    let choice = if options.require_tool { ToolChoice::Required } else { ToolChoice::Auto };
    let mut shown = 0;
    for message in &options.messages {
        let opened = say(session, &conversation, message, choice).await?;
        shown = results(&session.host, &opened, shown).await;
        if let TurnState::Failed(failure) = &opened.turn {
            let text = format!("{} {} {}", failure.what, failure.safe, failure.todo);
            return Err(Failure::new(Exit::Broken, text));
        }
    }
    Ok(Exit::Fine)
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
