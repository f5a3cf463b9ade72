//! The one program under a name that these tests can start, with a few commands more: hosts that are killed while they work, a host whose
//! disk is full, a server that says what it was told to say, and a client that does what is wrong.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().as_deref() {
        Some("host-to-be-killed") => usher_tests::stage::run_until_killed(arguments.collect()),
        Some("host-in-a-call") => usher_tests::stage::run_in_a_call(arguments.collect()),
        Some("host-on-a-disk") => usher_tests::disk::run(arguments.collect()),
        Some("scripted-server") => usher_tests::scripted_server::serve(&arguments.next().unwrap_or_default()),
        Some("tiny-client") => usher_tests::tiny_client::run(&arguments.collect::<Vec<_>>()),
        Some(_) | None => return usher::run(),
    }
    ExitCode::SUCCESS
}
