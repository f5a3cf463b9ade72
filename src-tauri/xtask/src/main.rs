//! The developer's whole interface: `cargo xtask <command>`. One file per command, and the steps that they share beside them.
//!
//! Deliberately absent: dependencies (this must build in seconds on a fresh machine) and shell scripts.

mod bench;
mod bindings;
mod conformance;
mod desktop;
mod fuzz;
mod packages;
mod peers;
mod process;
mod run;
mod screenshots;
mod summary;
mod survey;
mod test;
mod ui;

use std::{
    env,
    path::{Path, PathBuf},
    process::ExitCode,
};

const USAGE: &str = "\
cargo xtask <command>

  run [--yes] [--terminal]
      Installs what is missing, builds Usher and opens its window. Without a display, or with
      --terminal, plays the demo conversation in the terminal.
  test [--yes] [--with-peers] [--only headless|ui|window|peers|apps]
      Installs what the tests need and runs them layer by layer. --with-peers adds servers from
      npm, a real language model, and the official App servers in the window.
  conformance [--yes]
      Installs the official conformance suite and runs it against Usher's own connection and server.
  bench [--yes]
      Measures what a call costs in Usher, in the TypeScript and Python SDKs and in rmcp.
  survey [--yes]
      Installs the servers of docs/contract-survey.md from npm, checks each without a network, and
      writes what was found into that document.
  fuzz [--minutes N] [--seed N] [--only decoder|codec|validator|payload] [--replay FILE]
      Gives hostile input to what reads servers, 20 minutes unless told otherwise, and keeps the
      cases that failed under the build folder; --replay reads one of them again.
  screenshots [--yes]
      Takes the pictures in assets/screenshots from the real window.
  bindings
      Writes the TypeScript types and the expected texts anew from the Rust code.

--yes answers every question with yes.";

fn main() -> ExitCode {
    let result = dispatch(&env::args().skip(1).collect::<Vec<_>>());
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            process::say(&format!("\n{error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Runs the command. `false` means that it worked, and found failures.
fn dispatch(args: &[String]) -> anyhow::Result<bool> {
    let Some((command, args)) = args.split_first() else {
        process::say(USAGE);
        return Ok(false);
    };
    let asks_for_help = |it: &String| matches!(it.as_str(), "--help" | "-h" | "help");
    if asks_for_help(command) || args.iter().any(asks_for_help) {
        process::say(USAGE);
        return Ok(true);
    }
    let mut options = Options::read(args)?;
    let known: &[&str] = match command.as_str() {
        "run" => &["--yes", "--terminal"],
        "test" => &["--yes", "--with-peers", "--only"],
        "screenshots" | "conformance" | "bench" | "survey" => &["--yes"],
        "fuzz" => &["--minutes", "--seed", "--only", "--replay"],
        "bindings" => &[],
        _ => anyhow::bail!("{command} is not a command\n\n{USAGE}"),
    };
    options.check(known)?;
    match command.as_str() {
        "run" => run::run(&options).map(|()| true),
        "test" => test::run(&mut options),
        "conformance" => conformance::run(&options),
        "bench" => bench::run(&options),
        "survey" => survey::run(&options).map(|()| true),
        "fuzz" => fuzz::fuzz(&options),
        "screenshots" => screenshots::run(&options).map(|()| true),
        _ => bindings::run().map(|()| true),
    }
}

/// What follows the command.
#[derive(Debug, Default)]
struct Options {
    flags: Vec<String>,
    /// Those flags that say something more, with what they say.
    values: Vec<(String, String)>,
}

impl Options {
    fn read(args: &[String]) -> anyhow::Result<Self> {
        let mut options = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            options.flags.push(arg.clone());
            if ["--only", "--minutes", "--seed", "--replay"].contains(&arg.as_str()) {
                let value = args.next().ok_or_else(|| anyhow::anyhow!("{arg} needs a word behind it"))?;
                options.values.push((arg.clone(), value.clone()));
            }
        }
        Ok(options)
    }

    fn check(&self, known: &[&str]) -> anyhow::Result<()> {
        match self.flags.iter().find(|flag| !known.contains(&flag.as_str())) {
            Some(flag) => anyhow::bail!("{flag} is not an option of this command\n\n{USAGE}"),
            None => Ok(()),
        }
    }

    /// What was said behind a flag, the last time.
    fn value(&self, flag: &str) -> Option<&str> {
        self.values.iter().rev().find(|it| it.0 == flag).map(|it| it.1.as_str())
    }

    fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|given| given == flag)
    }

    fn yes(&self) -> bool {
        self.has("--yes")
    }
}

/// The root of the project.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// The folder for everything that is built.
fn target() -> PathBuf {
    // A relative folder is meant from the root, wherever the tests run.
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(args: &[&str]) -> anyhow::Result<bool> {
        dispatch(&args.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn help_is_an_answer_and_what_is_unknown_is_named() {
        for asked in [&["--help"][..], &["-h"], &["help"], &["test", "--help"], &["nothing", "--help"]] {
            assert!(done(asked).unwrap(), "{asked:?}");
        }
        assert!(!done(&[]).unwrap());
        let said = |args: &[&str]| done(args).unwrap_err().to_string();
        assert!(said(&["foo"]).starts_with("foo is not a command"));
        assert!(said(&["bindings", "--foo"]).starts_with("--foo is not an option of this command"));
    }
}
