//! Runs programs from the root of the project, and says so first.

use std::{
    ffi::OsStr,
    io::{self, BufRead as _, BufReader, Write as _},
    process::{Command, Stdio},
};

use anyhow::{Context as _, bail};

/// Writes a line for the person at the terminal.
pub(crate) fn say(text: &str) {
    // A closed terminal is no reason to stop working.
    drop(writeln!(io::stdout(), "{text}"));
    drop(io::stdout().flush());
}

/// A program to run from the root of the project.
pub(crate) fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(crate::root());
    command
}

/// Runs cargo, the one that runs this. It decides anew about colours and its own variables.
pub(crate) fn cargo() -> Command {
    program(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs it to its end.
///
/// # Errors
/// When it cannot be started or reports failure.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    say(&format!("\n$ {}", shown(command)));
    let status = command.status().with_context(|| format!("{} cannot be started", name(command)))?;
    if !status.success() {
        bail!("{} failed ({status})", shown(command));
    }
    Ok(())
}

/// Runs it, shows its output and gives it back as well, with whether it succeeded.
///
/// # Errors
/// When it cannot be started.
pub(crate) fn run_and_read(command: &mut Command) -> anyhow::Result<(bool, String)> {
    say(&format!("\n$ {}", shown(command)));
    command.stdout(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("{} cannot be started", name(command)))?;
    let mut text = String::new();
    if let Some(output) = child.stdout.take() {
        let mut reader = BufReader::new(output);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 {
            let read = String::from_utf8_lossy(&line);
            say(read.trim_end());
            text.push_str(&read);
            line.clear();
        }
    }
    Ok((child.wait()?.success(), text))
}

/// Whether the program is there and answers.
pub(crate) fn answers(name: &str, args: &[&str]) -> Option<String> {
    let output = program(name).args(args).stderr(Stdio::null()).stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Asks a question whose answer is no unless it is yes.
pub(crate) fn confirm(question: &str, yes: bool) -> anyhow::Result<()> {
    if yes {
        return Ok(());
    }
    say(&format!("{question} [y/N]"));
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    if !matches!(answer.trim(), "y" | "Y" | "yes") {
        bail!("stopped, nothing was installed");
    }
    Ok(())
}

fn shown(command: &Command) -> String {
    let args = command.get_args().map(|arg| arg.to_string_lossy().into_owned());
    let words: Vec<String> = std::iter::once(name(command)).chain(args).collect();
    words.join(" ")
}

fn name(command: &Command) -> String {
    std::path::Path::new(command.get_program())
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}
