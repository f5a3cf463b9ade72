//! `usher-fuzz run SECONDS SEED FOLDER TARGET…`, `usher-fuzz replay TARGET FILE`, and `usher-fuzz work …`, which the first one starts.
//! Mostly run by `cargo xtask fuzz`.

use std::{io::Write as _, process::ExitCode, time::Duration};

use anyhow::Context as _;
use usher_fuzz::{
    Target,
    watch::{Plan, watch},
    work::{Order, replay, work},
};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            drop(writeln!(std::io::stderr(), "{error:#}"));
            ExitCode::from(2)
        }
    }
}

fn dispatch(arguments: &[String]) -> anyhow::Result<bool> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["run", seconds, seed, folder, targets @ ..] => {
            let targets = targets.iter().map(|it| named(it)).collect::<Result<_, _>>()?;
            let span = Duration::from_secs(seconds.parse()?);
            watch(&Plan { targets, span, seed: seed.parse()?, folder: folder.into() })
        }
        ["work", target, seed, from, seconds] => {
            let span = Duration::from_secs(seconds.parse()?);
            work(Order { target: named(target)?, seed: seed.parse()?, from: from.parse()?, span })?;
            Ok(true)
        }
        ["replay", target, file] => {
            let told = replay(named(target)?, file)?;
            writeln!(std::io::stdout(), "{told}")?;
            Ok(true)
        }
        _ => anyhow::bail!("run SECONDS SEED FOLDER TARGET… | replay TARGET FILE"),
    }
}

fn named(name: &str) -> anyhow::Result<Target> {
    Target::named(name).with_context(|| format!("{name} is not one of decoder, codec, validator, payload"))
}
