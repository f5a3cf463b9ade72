//! Usher: a desktop chat host for MCP that routes every tool result to its audience.

pub mod api;
mod cli;
#[cfg(feature = "desktop")]
pub mod desktop;
pub mod egress;
mod keyring;

/// Runs the program as its arguments say: the window, or a command.
pub fn run() -> std::process::ExitCode {
    cli::run()
}
