//! Runs programs from the root of the project, and says so first.

use std::{
    ffi::OsStr,
    io::{self, BufRead as _, BufReader, Write as _},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, anyhow, bail};

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

/// How long the commands of a layer may take together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    layer: &'static str,
    span: Duration,
    end: Instant,
}

impl Limit {
    /// A limit that runs from now on.
    pub(crate) fn from_now(layer: &'static str, span: Duration) -> Self {
        Self { layer, span, end: Instant::now() + span }
    }

    /// What is told when it is reached.
    fn reached(&self, command: &str) -> anyhow::Error {
        anyhow!(
            "the layer {} took longer than its {} seconds; what still ran was ended: {command}",
            self.layer,
            self.span.as_secs()
        )
    }
}

/// Runs it to its end, or ends it with all that it started when the limit is reached.
///
/// # Errors
/// When it cannot be started, reports failure, or reaches the limit.
pub(crate) fn run_within(command: &mut Command, limit: Limit) -> anyhow::Result<()> {
    let mut group = Group::start(command)?;
    match group.end_by(limit.end, Duration::from_millis(50), || {})? {
        Some(status) if status.success() => Ok(()),
        Some(status) => bail!("{} failed ({status})", shown(command)),
        None => Err(limit.reached(&shown(command))),
    }
}

/// Runs it, shows its output and gives it to `see` as well, also what came before a limit was reached. Answers whether it succeeded.
///
/// # Errors
/// When it cannot be started, or reaches the limit.
pub(crate) fn run_and_read(
    command: &mut Command,
    limit: Limit,
    see: impl FnOnce(bool, &str),
) -> anyhow::Result<()> {
    let mut group = Group::start(command.stdout(Stdio::piped()))?;
    let (sender, lines) = mpsc::channel::<String>();
    if let Some(output) = group.child.stdout.take() {
        // Its own thread, which may outlive this: a process that got away can hold the pipe open for ever.
        thread::spawn(move || {
            let mut reader = BufReader::new(output);
            let mut line = Vec::new();
            while reader.read_until(b'\n', &mut line).is_ok_and(|it| it > 0) {
                if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    break;
                }
                line.clear();
            }
        });
    }
    let mut text = String::new();
    let mut keep = |line: String| {
        say(line.trim_end());
        text.push_str(&line);
    };
    let ended = group.end_by(limit.end, Duration::ZERO, || {
        if let Ok(line) = lines.recv_timeout(Duration::from_millis(50)) {
            keep(line);
        }
    })?;
    // What it wrote last is on its way; the pipe's end is not waited for, since it may never come.
    while let Ok(line) = lines.recv_timeout(LAST_WORDS) {
        keep(line);
    }
    match ended {
        Some(status) => see(status.success(), &text),
        None => {
            see(true, &text);
            return Err(limit.reached(&shown(command)));
        }
    }
    Ok(())
}

/// How long after the end of a program a line of it may take.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A program in a process group of its own, with a guard that ends the group should this process be killed or interrupted: the
/// terminal's Ctrl-C reaches only the group in front. (On Windows there is the program alone, and no guard.)
struct Group {
    child: Child,
    guard: Option<Child>,
}

impl Group {
    fn start(command: &mut Command) -> anyhow::Result<Self> {
        say(&format!("\n$ {}", shown(command)));
        own_group(command);
        let child = command.spawn().with_context(|| format!("{} cannot be started", name(command)))?;
        let guard = guard(child.id());
        Ok(Self { child, guard })
    }

    /// Waits until it ends, doing `meanwhile` between two looks. `None` when it had to be ended.
    fn end_by(
        &mut self,
        end: Instant,
        pause: Duration,
        mut meanwhile: impl FnMut(),
    ) -> anyhow::Result<Option<ExitStatus>> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            if Instant::now() >= end {
                end_group(self.child.id());
                self.child.kill().ok();
                self.child.wait()?;
                return Ok(None);
            }
            meanwhile();
            thread::sleep(pause);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(mut guard) = self.guard.take() {
            // A line tells it that there is nothing to end any more.
            if let Some(mut input) = guard.stdin.take() {
                drop(writeln!(input));
            }
            guard.wait().ok();
        }
    }
}

#[cfg(unix)]
fn own_group(command: &mut Command) {
    std::os::unix::process::CommandExt::process_group(command, 0);
}

#[cfg(not(unix))]
fn own_group(_command: &mut Command) {}

#[cfg(unix)]
fn guard(group: u32) -> Option<Child> {
    let mut shell = Command::new("sh");
    shell.args(["-c", "read -r _ || kill -s KILL -- \"-$1\"", "sh", &group.to_string()]);
    shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    own_group(&mut shell);
    shell.spawn().ok()
}

#[cfg(not(unix))]
fn guard(_group: u32) -> Option<Child> {
    None
}

#[cfg(unix)]
fn end_group(group: u32) {
    answers("sh", &["-c", "kill -s KILL -- \"-$1\"", "sh", &group.to_string()]);
}

#[cfg(not(unix))]
fn end_group(group: u32) {
    answers("taskkill", &["/T", "/F", "/PID", &group.to_string()]);
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
        bail!(
            "stopped, nothing was installed. Install it by hand, or answer every question with yes: give --yes after the command"
        );
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = program("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn an_orphan_that_holds_the_output_is_not_waited_for() {
        let mut read = None;
        let limit = Limit::from_now("headless", Duration::from_secs(60));
        let began = Instant::now();
        run_and_read(&mut shell("echo said; sleep 20 & exit 3"), limit, |succeeded, text| {
            read = Some((succeeded, text.to_owned()));
        })
        .unwrap();
        assert_eq!(read, Some((false, "said\n".to_owned())));
        assert!(began.elapsed() < Duration::from_secs(20), "it waited for the orphan");
    }

    #[test]
    fn a_layer_that_hangs_is_ended_with_all_that_it_started_and_named() {
        let mut read = String::new();
        let limit = Limit::from_now("window", Duration::from_millis(300));
        let hangs = "sleep 600 & echo $!; wait";
        let error =
            run_and_read(&mut shell(hangs), limit, |_, text| read = text.trim().to_owned()).unwrap_err();
        assert!(error.to_string().contains("the layer window took longer"), "{error}");
        // A process that has ended and that nobody took note of yet is gone, too.
        let gone = format!("! kill -0 {read} 2>/dev/null || grep -q '^State:.*Z' /proc/{read}/status");
        let end = Instant::now() + Duration::from_secs(30);
        while !shell(&gone).status().unwrap().success() {
            assert!(Instant::now() < end, "the process {read} is still there");
            thread::sleep(Duration::from_millis(20));
        }
        let error = run_within(&mut shell("sleep 600"), limit).unwrap_err();
        assert!(error.to_string().contains("the layer window took longer"), "{error}");
    }
}
