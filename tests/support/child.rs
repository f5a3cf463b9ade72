//! The one program under a name that these tests can start, with two commands more: a host that is killed while it works, and a server
//! that says what it was told to say.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("host-to-be-killed") => usher_tests::stage::run_until_killed(arguments.collect()),
        Some("scripted-server") => usher_tests::scripted_server::serve(&arguments.next().unwrap_or_default()),
        Some(_) | None => return usher::run(),
    }
    ExitCode::SUCCESS
}
