//! The one program under a name that these tests can start, with one command more: a host that is killed while it works.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some("host-to-be-killed") {
        usher_tests::stage::run_until_killed(arguments.collect());
        return ExitCode::SUCCESS;
    }
    usher::run()
}
