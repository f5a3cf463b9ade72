//! The sample server as a process of its own, for tests of this crate; people run it as a command of the application.

use std::io::Write as _;

use clap::Parser;
use usher_sample_server::{Options, serve};

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    options: Options,
}

fn main() -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let ended = runtime.block_on(serve(Command::parse().options, tokio::io::stdin(), tokio::io::stdout()));
    if let Err(error) = &ended {
        writeln!(std::io::stderr(), "{error}")?;
    }
    // A read of stdin may still be going on, and would hold up an ordinary end.
    std::process::exit(ended.map_or(70, |()| 0));
}
