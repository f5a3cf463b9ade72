//! `usher servers`: the configured servers, each connected or with what keeps it from that.

use std::fmt::Write;

use clap::Args;
use usher_engine::selection::Consumers;
use usher_host::conversation::{ServerPhase, ServerStatus};

use super::{
    Global,
    session::{Approval, Exit, Failure, Place, Session},
    terminal::{Paint, Tone, WIDTH, clean_line, clip, out, wrap},
};

/// List the configured servers, connected
#[derive(Debug, Args)]
pub(super) struct Options {}

/// Lists them. A server that is on and cannot be connected to makes the exit code 3.
pub(super) async fn run(_options: Options, global: &Global) -> Result<Exit, Failure> {
    let place = Place::Folder(global.data.clone());
    let mut session = Session::open(place, Consumers::TERMINAL, Approval::Ask).await?;
    let listed = session.all_ready().await;
    session.close().await;
    let listed = listed?;
    out(&text(&listed, Paint::of_stdout(false)));
    let failed = listed.iter().any(|it| it.enabled && it.state != ServerPhase::Ready);
    Ok(if failed { Exit::Unreachable } else { Exit::Fine })
}

/// Writes them.
pub(super) fn text(servers: &[ServerStatus], paint: Paint) -> String {
    if servers.is_empty() {
        return "No server is configured. Open the window to add one, or see what a server offers with\n`usher tools -- COMMAND`.\n"
            .to_owned();
    }
    let mut text = String::new();
    for server in servers {
        let state = match &server.state {
            ServerPhase::Off => "off".to_owned(),
            ServerPhase::Starting => "starting".to_owned(),
            ServerPhase::Ready => "connected".to_owned(),
            ServerPhase::Restarting(attempt) => format!("restarting, attempt {attempt}"),
            ServerPhase::Failed(..) => "failed".to_owned(),
        };
        let revision = server.revision.map_or_else(String::new, |it| format!(", {it}"));
        let tools = match server.tools.len() {
            0 => String::new(),
            1 => ", 1 tool".to_owned(),
            many => format!(", {many} tools"),
        };
        let name = paint.tone(Tone::Strong, &clean_line(&server.name));
        let _ = writeln!(text, "{name}  {state}{revision}{tools}");
        let command = if server.spec.built_in { "usher" } else { server.spec.command.as_str() };
        let words: Vec<&str> =
            std::iter::once(command).chain(server.spec.args.iter().map(String::as_str)).collect();
        let _ = writeln!(text, "  {}", clip(&clean_line(&words.join(" ")), WIDTH - 2));
        if let ServerPhase::Failed(what, todo) = &server.state {
            for line in wrap(&format!("{}\n{}", super::terminal::clean(what), todo), WIDTH - 2) {
                let _ = writeln!(text, "  {}", paint.tone(Tone::Wrong, &line));
            }
        }
        for refused in &server.rejected {
            let line = format!("refused {}: {}", clean_line(&refused.name), clean_line(&refused.why));
            let _ = writeln!(text, "  {}", paint.tone(Tone::Wrong, &clip(&line, WIDTH - 2)));
        }
    }
    text
}
