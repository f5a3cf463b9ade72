//! `usher script`: runs a script on the tools of the servers; standard output has what it returns.

use std::{path::PathBuf, sync::Mutex};

use clap::Args;
use tokio::sync::oneshot;
use usher_engine::{Mode, selection::Consumers};
use usher_host::conversation::{Host, HostEvent, ScriptLine};

use super::{
    Global,
    given::GivenServer,
    session::{Approval, Exit, Failure, Place, Session},
    terminal::{clean, clean_line, err, out},
};

/// Run a JavaScript file on the tools: `tools.Server.tool(args)` answers what is made for programs
#[derive(Debug, Args)]
pub(super) struct Options {
    /// The file; `-` reads standard input
    file: PathBuf,
    /// Allow every call that the script makes
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    given: GivenServer,
}

/// Runs it.
pub(super) async fn run(options: Options, global: &Global) -> Result<Exit, Failure> {
    let source = if options.file.as_os_str() == "-" {
        std::io::read_to_string(std::io::stdin())
    } else {
        std::fs::read_to_string(&options.file)
    };
    let source = source
        .map_err(|error| Failure::usage(format!("{} cannot be read: {error}.", options.file.display())))?;
    let approval = Approval::of(options.yes);
    let mut session = if options.given.is_none() {
        Session::open(Place::Folder(global.data.clone()), Consumers::TERMINAL, approval).await?
    } else {
        Session::open_with(&options.given, Consumers::TERMINAL, approval).await?.0
    };
    let ran = carry_out(&mut session, &source, !options.given.is_none()).await;
    session.close().await;
    ran
}

async fn carry_out(session: &mut Session, source: &str, given: bool) -> Result<Exit, Failure> {
    if given {
        for status in session.host.server_statuses() {
            session.ready(&status.id).await?;
        }
    } else {
        session.all_ready().await?;
    }
    let conversation = session.host.create_conversation(Some(Mode::Code), None).await?.id;
    let failed = Mutex::new(false);
    follow(session, &conversation, source, |line| {
        show(line);
        if matches!(line, ScriptLine::Failed(_) | ScriptLine::Stopped(_)) {
            *failed.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = true;
        }
    })
    .await?;
    let failed = failed.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    Ok(if failed { Exit::Broken } else { Exit::Fine })
}

fn show(line: &ScriptLine) {
    match line {
        ScriptLine::Log(level, text) => err(&format!("{}: {}\n", level.as_str(), clean(text))),
        ScriptLine::Call { text, .. } => err(&format!("call: {}\n", clean_line(text))),
        ScriptLine::Returned(json) => out(&format!("{json}\n")),
        ScriptLine::Failed(message) => err(&format!("The script failed: {}\n", clean(message))),
        ScriptLine::Stopped(why) => err(&format!("{}\n", clean(why))),
    }
}

/// Starts a script and follows it to its end.
pub(super) async fn follow(
    session: &mut Session,
    conversation: &str,
    source: &str,
    mut see: impl FnMut(&ScriptLine),
) -> Result<(), Failure> {
    let (end, ended) = oneshot::channel();
    let mut end = Some(end);
    let run_id = session.host.run_script(conversation, source.to_owned()).await?;
    let stopped = run_id.clone();
    let stop = move |host: &Host| host.stop_script(&stopped);
    let followed = session.follow(ended, stop, |event| {
        let HostEvent::Script { run_id: of, line } = event else { return };
        if of != run_id {
            return;
        }
        see(&line);
        if matches!(line, ScriptLine::Returned(_) | ScriptLine::Failed(_) | ScriptLine::Stopped(_))
            && let Some(end) = end.take()
        {
            let _ended = end.send(());
        }
    });
    followed.await?.map_err(|_| Failure::new(Exit::Broken, "The script ended without a word."))
}
