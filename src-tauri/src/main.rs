//! The one program: the window, and the same core for terminals.

use std::process::ExitCode;

fn main() -> ExitCode {
    usher::run()
}
