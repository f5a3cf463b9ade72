//! `usher tools`: what a server offers, for whom, and what is wrong with its declarations.

use std::fmt::Write;

use clap::Args;
use usher_engine::selection::Consumers;
use usher_host::conversation::{ListedTool, ServerStatus};
use usher_protocol::model::Contract;

use super::{
    Global,
    given::GivenServer,
    session::{Approval, Exit, Failure, Place, Session},
    terminal::{self, Paint, Tone, WIDTH, clean_line, out, wrap},
};

/// List a server's tools and the audiences that they have outputs for
#[derive(Debug, Args)]
#[command(
    override_usage = "usher tools SERVER\n       usher tools --url URL\n       usher tools -- CMD [ARG]..."
)]
pub(super) struct Options {
    /// A configured server
    #[arg(required_unless_present_any = ["command", "url"], conflicts_with_all = ["command", "url"])]
    server: Option<String>,
    #[command(flatten)]
    given: GivenServer,
}

/// Lists them. A refused declaration, or a defect of one, makes the exit code 1.
pub(super) async fn run(options: Options, global: &Global) -> Result<Exit, Failure> {
    let (mut session, id) = open(options.server.as_deref(), &options.given, global, Approval::Ask).await?;
    let status = session.ready(&id).await;
    session.close().await;
    let status = status?;
    out(&text(&status, Paint::of_stdout(false)));
    let broken = !status.rejected.is_empty() || status.tools.iter().any(|it| !it.defects.is_empty());
    Ok(if broken { Exit::Broken } else { Exit::Fine })
}

/// Opens the configured server of that name, or the one that was given. No other is started.
pub(super) async fn open(
    server: Option<&str>,
    given: &GivenServer,
    global: &Global,
    approval: Approval,
) -> Result<(Session, String), Failure> {
    // Everybody can be there, so that a selection is what it would be in the window.
    let consumers = Consumers::WINDOW;
    let Some(name) = server else { return Session::open_with(given, consumers, approval).await };
    Session::open_for(name, Place::Folder(global.data.clone()), consumers, approval).await
}

/// Writes them.
pub(super) fn text(server: &ServerStatus, paint: Paint) -> String {
    let mut text = String::new();
    let revision = server.revision.map_or_else(String::new, |it| it.to_string());
    let name = clean_line(server.server_info.as_deref().unwrap_or(&server.name));
    let _ = writeln!(text, "{}  {revision}", paint.tone(Tone::Strong, &name));
    for listed in &server.tools {
        text += &tool(listed, paint);
    }
    if server.tools.is_empty() {
        text += "  It offers no tools.\n";
    }
    for refused in &server.rejected {
        let rule = refused.rule.map_or_else(String::new, |it| format!("{}: ", it.id()));
        let line = format!("refused {}: {rule}{}", clean_line(&refused.name), clean_line(&refused.why));
        for line in wrap(&line, WIDTH - 2) {
            let _ = writeln!(text, "  {}", paint.tone(Tone::Wrong, &line));
        }
    }
    text
}

fn tool(listed: &ListedTool, paint: Paint) -> String {
    let tool = &listed.tool;
    let mut text = String::new();
    let who = match (tool.is_visible_to_model(), tool.is_visible_to_view()) {
        (true, _) => "",
        (false, true) => "  (only Views may call it)",
        (false, false) => "  (hidden)",
    };
    let _ = writeln!(text, "\n  {}{who}", paint.tone(Tone::Strong, &clean_line(&tool.name)));
    if let Some(description) = &tool.description {
        for line in wrap(&clean_line(description), WIDTH - 4) {
            let _ = writeln!(text, "    {line}");
        }
    }
    match &tool.contract {
        Contract::Variants(variants) => {
            for variant in variants {
                let (word, tone) = terminal::audience(&variant.selector.audience);
                let schema = if variant.schema.is_some() { ", with a schema" } else { "" };
                let mark = paint.tone(tone, &format!("{} {word:<6}", paint.bullet()));
                let _ = writeln!(text, "    {mark} {}{schema}", clean_line(&variant.selector.to_string()));
            }
        }
        Contract::Legacy { output_schema } => {
            let schema =
                if output_schema.is_some() { "with an outputSchema" } else { "without an outputSchema" };
            let _ = writeln!(
                text,
                "    declared as in earlier revisions, {schema}; local policy routes its results"
            );
        }
    }
    for defect in &listed.defects {
        let rule = defect.rule.map_or_else(String::new, |it| format!("{}: ", it.id()));
        for line in wrap(&format!("{rule}{}", clean_line(&defect.text)), WIDTH - 4) {
            let _ = writeln!(text, "    {}", paint.tone(Tone::Wrong, &line));
        }
    }
    text
}
