//! The command line: what it accepts, and how results become exit codes.
//!
//! Exit codes: 0 fine, 1 the server broke its contract or the tool failed, 2 usage, 3 could not connect (to a server or to the model's endpoint) or open the data folder; 130 when it was interrupted.
//! Deliberately absent: work of its own; each command asks the same core as the window.

mod asking;
mod call;
mod chat;
mod check;
mod conformance;
mod demo;
mod fetch;
mod given;
mod hidden;
mod report;
mod script;
mod servers;
mod session;
mod terminal;
#[cfg(test)]
mod tests;
mod timing;
mod tools;
mod view;

use std::{io::Write, path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};
#[cfg(feature = "desktop")]
use usher_engine::selection::Consumers;

use self::session::{Exit, Failure};

/// A chat host for MCP that routes every tool result to its audience. Without a command it opens the window.
#[derive(Debug, Parser)]
#[command(name = "usher", version, after_help = EXIT_CODES)]
struct Arguments {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Option<Command>,
}

const EXIT_CODES: &str = "Exit codes: 0 fine, 1 the server broke its contract or the tool failed, 2 usage, 3 could not connect (to a server or to the model's endpoint) or open the data folder, 130 interrupted.";

/// What is logged unless `USHER_LOG` says otherwise. What rmcp warns of is told to the user by this program, in its own words.
const LOGGED: &str = "warn,rmcp=off";

/// What every command takes.
#[derive(Debug, Clone, clap::Args)]
struct Global {
    /// Keep data in this folder; otherwise USHER_DATA_DIR, or the system's place for it
    #[arg(long, global = true, value_name = "DIR")]
    data: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Options),
    Servers(Box<servers::Options>),
    Tools(tools::Options),
    Prompts(fetch::PromptOptions),
    Resources(fetch::ResourceOptions),
    Call(call::Options),
    Chat(chat::Options),
    Check(Box<check::Options>),
    Conformance(Box<conformance::Options>),
    Script(script::Options),
    View(view::Options),
    /// Serve the sample tools over standard input and output
    SampleServer(usher_sample_server::Options),
}

/// Runs what the command line says.
pub(crate) fn run() -> ExitCode {
    let arguments = Arguments::parse();
    let gives_back = usher_allocator::give_large_pieces_back();
    // What goes wrong without anybody asking is told where a developer looks; servers and Views never see it.
    let filter = tracing_subscriber::EnvFilter::try_from_env("USHER_LOG").unwrap_or_else(|_| LOGGED.into());
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // Only the first to start it can; a test that runs the program in its own process is second.
    let _first = log.try_init();
    tracing::debug!(gives_back, "large pieces of memory");
    let mut builder = match arguments.command {
        None | Some(Command::SampleServer(_) | Command::View(_)) => {
            tokio::runtime::Builder::new_multi_thread()
        }
        // One command waits for one thing at a time; handing it from thread to thread would only cost.
        Some(_) => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = match builder.enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return complain(&format!("Usher could not start: {error}"), 1),
    };
    let global = arguments.global;
    let ended = match arguments.command {
        None => return window(&runtime, &global),
        Some(Command::View(options)) => return view::run(&runtime, options, &global),
        Some(Command::SampleServer(options)) => return sample_server(&runtime, options),
        Some(Command::Demo(options)) => runtime.block_on(Box::pin(demo::run(options))),
        Some(Command::Servers(options)) => runtime.block_on(Box::pin(servers::run(*options, &global))),
        Some(Command::Tools(options)) => runtime.block_on(Box::pin(tools::run(options, &global))),
        Some(Command::Prompts(options)) => runtime.block_on(Box::pin(fetch::prompts(options, &global))),
        Some(Command::Resources(options)) => runtime.block_on(Box::pin(fetch::resources(options, &global))),
        Some(Command::Call(options)) => runtime.block_on(Box::pin(call::run(options, &global))),
        Some(Command::Chat(options)) => runtime.block_on(Box::pin(chat::run(options, &global))),
        Some(Command::Check(options)) => runtime.block_on(Box::pin(check::run(*options, &global))),
        Some(Command::Conformance(options)) => runtime.block_on(Box::pin(conformance::run(*options))),
        Some(Command::Script(options)) => runtime.block_on(Box::pin(script::run(options, &global))),
    };
    // A thread that reads the terminal for an answer cannot be interrupted and must not keep the process.
    runtime.shutdown_background();
    match ended {
        Ok(exit) => ExitCode::from(exit.code()),
        Err(Failure { exit, text }) => {
            // A program that reads the answer finds there that there is none, whatever the command is.
            if wants_json() {
                let failed = serde_json::json!({"error": &text, "exit": exit.code()});
                terminal::out(&format!("{failed}\n"));
            }
            complain(&terminal::clean(&text), exit.code())
        }
    }
}

/// Whether the command was told to answer in JSON. Words after `--` are those of a server.
fn wants_json() -> bool {
    std::env::args_os().take_while(|it| it != "--").any(|it| it == "--json")
}

fn sample_server(runtime: &tokio::runtime::Runtime, options: usher_sample_server::Options) -> ExitCode {
    let served =
        runtime.block_on(usher_sample_server::serve(options, tokio::io::stdin(), tokio::io::stdout()));
    // The thread that reads standard input cannot be interrupted, so the process ends by hand.
    match served {
        Ok(()) => std::process::exit(0),
        Err(error) => {
            let _shown = writeln!(std::io::stderr(), "usher sample-server: {error}");
            std::process::exit(70);
        }
    }
}

pub(crate) fn complain(text: &str, code: u8) -> ExitCode {
    // Without standard error there is nobody to tell.
    let _shown = writeln!(std::io::stderr(), "{text}");
    ExitCode::from(code)
}

#[cfg(feature = "desktop")]
fn window(runtime: &tokio::runtime::Runtime, global: &Global) -> ExitCode {
    if let Err(error) = crate::desktop::check_display() {
        return complain(&error.to_string(), Exit::Unreachable.code());
    }
    let options = window_options(global.data.clone(), true);
    let opened = runtime.block_on(crate::api::Usher::open(options));
    let shown = match opened {
        Ok(usher) => crate::desktop::run(runtime.handle().clone(), std::sync::Arc::new(usher)),
        Err(error) => {
            let _shown = writeln!(std::io::stderr(), "{error}");
            crate::desktop::show_failure(&error)
        }
    };
    match shown {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&format!("{error:#}"), Exit::Unreachable.code()),
    }
}

#[cfg(feature = "desktop")]
fn window_options(data_dir: Option<PathBuf>, starts_servers: bool) -> crate::api::UsherOptions {
    crate::api::UsherOptions {
        data_dir,
        consumers: Consumers::WINDOW,
        by_command: false,
        can_ask: true,
        starts_servers,
        secrets: crate::keyring::place(),
        passing: false,
        fixtures: None,
        own_program: session::own_program(),
    }
}

#[cfg(not(feature = "desktop"))]
fn window(_runtime: &tokio::runtime::Runtime, _global: &Global) -> ExitCode {
    complain(
        "This build of Usher has no window. Build it with `--features desktop`, or give a command; see `usher --help`.",
        Exit::Usage.code(),
    )
}
