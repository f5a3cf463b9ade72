//! `usher servers`: the configured servers, each connected or with what keeps it from that; and changing which there are.

mod change;
mod lists;

use std::fmt::Write;

use clap::{Args, Subcommand};
use usher_engine::selection::Consumers;
use usher_host::{
    conversation::{ServerPhase, ServerStatus},
    store::SecretsKept,
};

use super::{
    Global,
    session::{Approval, Exit, Failure, Place, Session},
    terminal::{Paint, Tone, WIDTH, clean_line, clip, out, wrap},
};

/// List the configured servers, connected; or add, change, import and export them
#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(subcommand)]
    act: Option<Act>,
}

#[derive(Debug, Subcommand)]
enum Act {
    Add(change::Add),
    /// Remove a server, with what was approved and kept for it
    Remove {
        /// Its name
        name: String,
    },
    /// Turn a server on
    Enable {
        /// Its name
        name: String,
    },
    /// Turn a server off
    Disable {
        /// Its name
        name: String,
    },
    /// Start a server apart, ask what it offers, and end it
    Test {
        /// Its name
        name: String,
    },
    /// Speak only one revision with a server, or `auto`
    Pin {
        /// Its name
        name: String,
        /// The revision, or `auto`
        revision: String,
    },
    Import(lists::Import),
    Export(lists::Export),
    /// Sign in at a server over HTTP
    SignIn {
        /// Its name
        name: String,
    },
    /// Forget what a sign-in at a server brought
    SignOut {
        /// Its name
        name: String,
    },
}

/// Does what is said, or lists them. A server that is on and cannot be connected to makes the exit code 3.
pub(super) async fn run(options: Options, global: &Global) -> Result<Exit, Failure> {
    match options.act {
        None => list(global).await,
        Some(Act::Add(options)) => change::add(options, global).await,
        Some(Act::Remove { name }) => change::remove(&name, global).await,
        Some(Act::Enable { name }) => change::enable(&name, true, global).await,
        Some(Act::Disable { name }) => change::enable(&name, false, global).await,
        Some(Act::Test { name }) => change::test(&name, global).await,
        Some(Act::Pin { name, revision }) => change::pin(&name, &revision, global).await,
        Some(Act::Import(options)) => lists::import(options, global).await,
        Some(Act::Export(options)) => lists::export(options, global).await,
        Some(Act::SignIn { name }) => change::sign_in(&name, global).await,
        Some(Act::SignOut { name }) => change::sign_out(&name, global).await,
    }
}

async fn list(global: &Global) -> Result<Exit, Failure> {
    let place = Place::Folder(global.data.clone());
    let mut session = Session::open(place, Consumers::TERMINAL, Approval::Ask).await?;
    let listed = session.all_ready().await;
    let kept = session.host.secrets_kept();
    session.close().await;
    let listed = listed?;
    out(&text(&listed, Paint::of_stdout(false)));
    if kept.in_keyring + kept.in_file > 0 {
        out(&secrets(&kept));
    }
    let failed = listed.iter().any(|it| it.enabled && it.state != ServerPhase::Ready);
    Ok(if failed { Exit::Unreachable } else { Exit::Fine })
}

/// Where secrets are kept, and why not in the keyring if they are not.
fn secrets(kept: &SecretsKept) -> String {
    let file = format!("{}, which only you may read", kept.file.display());
    let text = match (&kept.keyring, kept.in_keyring, kept.in_file) {
        (Some(keyring), _, 0) => format!("Secrets are kept in {keyring}."),
        (Some(keyring), 0, _) => match &kept.trouble {
            Some(why) => format!(
                "Secrets are kept in {file}: {keyring} could not be used ({why}). It is tried again for new ones."
            ),
            None => format!("Secrets are kept in {file}: {keyring} is tried first for new ones."),
        },
        (Some(keyring), _, _) => format!("Secrets are kept in {keyring}, and some in {file}."),
        (None, _, _) => format!("Secrets are kept in {file}."),
    };
    wrap(&clean_line(&text), WIDTH).join("\n") + "\n"
}

/// Writes them.
pub(super) fn text(servers: &[ServerStatus], paint: Paint) -> String {
    if servers.is_empty() {
        return "No server is configured. Add one with `usher servers add NAME -- COMMAND`, or see what one\noffers with `usher tools -- COMMAND`.\n"
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
        let _ = writeln!(text, "  {}", clip(&clean_line(&server.spec.line()), WIDTH - 2));
        if let ServerPhase::Failed(what, todo) = &server.state {
            for line in wrap(&format!("{}\n{}", super::terminal::clean(what), todo), WIDTH - 2) {
                let _ = writeln!(text, "  {}", paint.tone(Tone::Wrong, &line));
            }
        }
        if let Some(earlier) = server.offers_earlier {
            let line = format!(
                "It also speaks {earlier}, under which these can be used: usher servers pin {} {earlier}",
                clean_line(&server.name)
            );
            wrap(&line, WIDTH - 2).iter().for_each(|line| {
                let _ = writeln!(text, "  {line}");
            });
        }
        for refused in &server.rejected {
            let line = format!("refused {}: {}", clean_line(&refused.name), clean_line(&refused.why));
            let _ = writeln!(text, "  {}", paint.tone(Tone::Wrong, &clip(&line, WIDTH - 2)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_the_keyring_when_a_secret_is_kept_holds_at_the_next_run() {
        let said = |trouble: Option<&str>| {
            let kept = SecretsKept {
                keyring: Some("the keyring".to_owned()),
                trouble: trouble.map(str::to_owned),
                file: "/data/secrets.json".into(),
                in_keyring: 0,
                in_file: 1,
            };
            secrets(&kept).replace('\n', " ")
        };
        let file = "Secrets are kept in /data/secrets.json, which only you may read: the keyring";
        assert_eq!(
            said(Some("no bus")),
            format!("{file} could not be used (no bus). It is tried again for new ones. ")
        );
        assert_eq!(said(None), format!("{file} is tried first for new ones. "));
    }
}
