//! Watches children that read: ends those that hang, keeps what they failed on, and sums up.

use std::{
    fmt::Write as _,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    time::{Duration, Instant},
};

use anyhow::Context as _;

use crate::{
    Target,
    make::{Size, case},
    measure::Extent,
};

/// How long a case may work on a processor.
pub const SLOWEST: Duration = Duration::from_secs(2);

/// How much memory a process may hold while it reads a case, the case itself included, in bytes.
pub const HUNGRIEST: usize = 1 << 30;

/// How long a case may take by the clock on the wall, on a machine that others use too. A case that waits for ever is found by it.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long one child reads before the next one begins afresh.
const SPAN: Duration = Duration::from_secs(60);

/// What to do.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Who reads; they take turns.
    pub targets: Vec<Target>,
    /// How long altogether.
    pub span: Duration,
    /// Where the cases come from.
    pub seed: u64,
    /// Where cases that failed are kept.
    pub folder: PathBuf,
}

/// A case with its cost or its failure.
#[derive(Debug, Clone)]
struct Worst<T> {
    value: T,
    target: Target,
    what: String,
}

#[derive(Default)]
struct Sum {
    cases: u64,
    extent: Extent,
    slowest: Option<Worst<Duration>>,
    hungriest: Option<Worst<usize>>,
    failures: Vec<String>,
}

/// Carries a plan out, and writes what it finds. `false` if a case failed.
///
/// # Errors
/// A child cannot be started.
pub fn watch(plan: &Plan) -> anyhow::Result<bool> {
    let began = Instant::now();
    let mut sum = Sum::default();
    let mut next: Vec<u64> = vec![0; plan.targets.len()];
    let mut turn = 0;
    while began.elapsed() < plan.span {
        let place = turn % plan.targets.len();
        let target = plan.targets[place];
        let left = plan.span.saturating_sub(began.elapsed());
        let per_turn = SPAN.min(plan.span / u32::try_from(plan.targets.len()).unwrap_or(1));
        let from = next[place];
        next[place] = turn_of(plan, target, from, left.min(per_turn), &mut sum)?;
        sum.cases += next[place] - from;
        say(&format!("{} read {} cases, {} failed so far", target.name(), next[place], sum.failures.len()))?;
        turn += 1;
    }
    say(&closing(plan, &sum, began.elapsed()))?;
    Ok(sum.failures.is_empty())
}

fn say(text: &str) -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "{text}").context("nobody listens")
}

fn closing(plan: &Plan, sum: &Sum, took: Duration) -> String {
    let mut text = String::new();
    for failure in &sum.failures {
        let _infallible = writeln!(text, "FAILED {failure}");
    }
    let targets: Vec<&str> = plan.targets.iter().map(|it| it.name()).collect();
    let slowest = sum.slowest.as_ref().map_or_else(String::new, |it| {
        format!("{} ms ({}: {})", it.value.as_millis(), it.target.name(), it.what)
    });
    let hungriest = sum
        .hungriest
        .as_ref()
        .map_or_else(String::new, |it| format!("{} MiB ({}: {})", it.value >> 20, it.target.name(), it.what));
    let Extent { depth, line, digits, bytes } = sum.extent;
    let _infallible = write!(
        text,
        "fuzz: {} failures in {} cases of {} in {:.1} minutes (seed {}); deepest nesting {depth}, longest line {line} bytes, \
         largest number {digits} digits, largest case {bytes} bytes; slowest case {slowest}; peak memory {hungriest}",
        sum.failures.len(),
        sum.cases,
        targets.join(", "),
        took.as_secs_f64() / 60.0,
        plan.seed,
    );
    text
}

/// Lets a child read from a number on. Gives the number to go on with.
fn turn_of(plan: &Plan, target: Target, from: u64, span: Duration, sum: &mut Sum) -> anyhow::Result<u64> {
    let end = Instant::now() + span;
    let mut from = from;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(from);
        }
        let (next, failure) = one_child(plan, target, from, left, sum)?;
        from = next;
        if let Some(why) = failure {
            let case = case(target, plan.seed, next, Size::Any);
            let file = plan.folder.join(format!("{}-{}-{next}", target.name(), plan.seed));
            keep(&file, &case.bytes)?;
            let failure = format!(
                "{}: {why} at case {next} ({}), kept as {}",
                target.name(),
                case.what,
                file.display()
            );
            say(&format!("FAILED {failure}"))?;
            sum.failures.push(failure);
            from = next + 1;
        }
    }
}

fn keep(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(file, bytes).with_context(|| format!("{} cannot be written", file.display()))
}

fn one_child(
    plan: &Plan,
    target: Target,
    from: u64,
    span: Duration,
    sum: &mut Sum,
) -> anyhow::Result<(u64, Option<String>)> {
    let mut child = start(plan, target, from, span)?;
    let lines = lines_of(&mut child)?;
    let mut at = from;
    let failure = loop {
        match lines.recv_timeout(PATIENCE) {
            Ok(line) => {
                let (kind, rest) = line.split_at_checked(2).unwrap_or((line.as_str(), ""));
                match kind {
                    "> " => at = rest.parse().unwrap_or(at),
                    "= " => note(target, plan, rest, sum)?,
                    "! " => {
                        at = rest.parse().unwrap_or(at);
                        break None;
                    }
                    _ => {}
                }
            }
            Err(RecvTimeoutError::Timeout) => break Some(format!("it took more than {PATIENCE:?}")),
            Err(RecvTimeoutError::Disconnected) => break Some("the process ended".to_owned()),
        }
    };
    if failure.is_some() {
        drop(child.kill());
    }
    let status = child.wait()?;
    Ok((at, failure.map(|it| format!("{it} ({status})"))))
}

fn start(plan: &Plan, target: Target, from: u64, span: Duration) -> anyhow::Result<Child> {
    let numbers = [plan.seed, from, span.as_secs().max(1)].map(|it| it.to_string());
    Command::new(std::env::current_exe()?)
        .args(["work", target.name()])
        .args(numbers)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("the reader cannot be started")
}

fn lines_of(child: &mut Child) -> anyhow::Result<mpsc::Receiver<String>> {
    let output = child.stdout.take().context("the reader has no output")?;
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    Ok(lines)
}

/// Takes what a child says of a case: number, microseconds, bytes of memory, the extent so far, and what it was.
fn note(target: Target, plan: &Plan, line: &str, sum: &mut Sum) -> anyhow::Result<()> {
    let mut words = line.splitn(8, ' ');
    let mut number = || words.next().and_then(|it| it.parse::<usize>().ok()).unwrap_or(0);
    let at = number();
    let took = Duration::from_micros(u64::try_from(number()).unwrap_or(0));
    let held = number();
    let extent = Extent { depth: number(), line: number(), digits: number(), bytes: number() };
    let what = words.next().unwrap_or_default().to_owned();
    sum.extent = sum.extent.max(extent);
    let mut why = Vec::new();
    if took > SLOWEST {
        why.push(format!("{} ms", took.as_millis()));
    }
    if held > HUNGRIEST {
        why.push(format!("{} MiB", held >> 20));
    }
    if !why.is_empty() {
        let number = u64::try_from(at).unwrap_or(0);
        let file = plan.folder.join(format!("{}-{}-{number}", target.name(), plan.seed));
        keep(&file, &case(target, plan.seed, number, Size::Any).bytes)?;
        let failure = format!(
            "{}: {} at case {number} ({what}), kept as {}",
            target.name(),
            why.join(", "),
            file.display()
        );
        say(&format!("FAILED {failure}"))?;
        sum.failures.push(failure);
    }
    if sum.slowest.as_ref().is_none_or(|it| took > it.value) {
        sum.slowest = Some(Worst { value: took, target, what: what.clone() });
    }
    if sum.hungriest.as_ref().is_none_or(|it| held > it.value) {
        sum.hungriest = Some(Worst { value: held, target, what });
    }
    Ok(())
}
