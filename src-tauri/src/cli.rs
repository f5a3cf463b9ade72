//! The command line: what it accepts, and how results become exit codes.
//!
//! Exit codes: 0 fine, 1 the server broke its contract or the tool failed, 2 usage, 3 could not connect. Deliberately absent: work of
//! its own; each command asks the same core as the window.

use std::{io::Write, process::ExitCode};

use clap::{Parser, Subcommand};
use usher_engine::selection::Consumers;

use crate::api::{Usher, UsherOptions};

/// A chat host for MCP that routes every tool result to its audience. Without a command it opens the window.
#[derive(Debug, Parser)]
#[command(name = "usher", version)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the sample tools over standard input and output
    SampleServer(usher_sample_server::Options),
}

/// Runs what the command line says.
pub(crate) fn run() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return complain(&format!("Usher could not start: {error}"), 1),
    };
    match arguments.command {
        None => window(&runtime),
        Some(Command::SampleServer(options)) => {
            let served = runtime.block_on(usher_sample_server::serve(options, tokio::io::stdin(), tokio::io::stdout()));
            // The thread that reads standard input cannot be interrupted, so the process ends by hand.
            match served {
                Ok(()) => std::process::exit(0),
                Err(error) => {
                    let _shown = writeln!(std::io::stderr(), "usher sample-server: {error}");
                    std::process::exit(70);
                }
            }
        }
    }
}

pub(crate) fn complain(text: &str, code: u8) -> ExitCode {
    // Without standard error there is nobody to tell.
    let _shown = writeln!(std::io::stderr(), "{text}");
    ExitCode::from(code)
}

/// What the core is opened with here.
fn options(consumers: Consumers) -> UsherOptions {
    let own_program = std::env::current_exe().map(|it| it.display().to_string()).unwrap_or_else(|_| "usher".to_owned());
    UsherOptions { data_dir: None, consumers, own_program }
}

#[cfg(feature = "desktop")]
fn window(runtime: &tokio::runtime::Runtime) -> ExitCode {
    let opened = runtime.block_on(Usher::open(options(Consumers::WINDOW)));
    let shown = match opened {
        Ok(usher) => crate::desktop::run(runtime.handle().clone(), std::sync::Arc::new(usher)),
        Err(error) => {
            let _shown = writeln!(std::io::stderr(), "{error}");
            crate::desktop::show_failure(&error)
        }
    };
    match shown {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&format!("{error:#}"), 3),
    }
}

#[cfg(not(feature = "desktop"))]
fn window(_runtime: &tokio::runtime::Runtime) -> ExitCode {
    complain("This build of Usher has no window. Build it with `--features desktop`, or give a command; see `usher --help`.", 2)
}
