//! `cargo xtask conformance`: the official conformance suite against the host's connection, and against the server crate; and the
//! scenarios of `usher conformance` against both.
//!
//! It needs a newer Node.js than the page does; both come from npm and stay below `target/conformance`. A scenario in which nothing was
//! checked has failed, whatever the suite says of it.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use anyhow::Context as _;

use crate::{
    Options,
    process::{cargo, confirm, program, say},
    target, ui,
};

/// The suite, and the Node.js that it needs.
const PACKAGES: &[&str] = &["node@22", "@modelcontextprotocol/conformance@0.2.0-alpha.12"];

/// What is run, and how many scenarios of each count.
const SETS: &[(&str, &[&str], usize)] = &[
    ("requirements 2026-07-28", &["--requirements", "2026-07-28"], 32),
    ("requirements 2025-11-25", &["--requirements", "2025-11-25"], 18),
    ("spec 2025-06-18", &["--suite", "all", "--spec-version", "2025-06-18"], 5),
    ("spec 2025-03-26", &["--suite", "all", "--spec-version", "2025-03-26"], 2),
];

/// What is run against the server, and how many scenarios of each count. The tasks extension is not offered.
const SERVER_SETS: &[(&str, &str, usize)] = &[
    ("server, requirements 2026-07-28", "2026-07-28", 37),
    ("server, requirements 2025-11-25", "2025-11-25", 30),
];

/// Not scored, because it came after its release; the host means to pass it.
const BESIDE: &str = "json-schema-2020-12-preservation";

/// Installs the suite and runs every set. `false` when a scenario failed or checked nothing.
///
/// # Errors
/// When the answer is no, or something cannot be installed, built or started.
pub(crate) fn run(options: &Options) -> anyhow::Result<bool> {
    let folder = target().join("conformance");
    ensure(&folder, options.yes())?;
    let built = ["build", "--workspace", "--bin", "usher-conformance-client"];
    crate::process::run(cargo().args(built))?;
    let client = target().join("debug").join("usher-conformance-client");
    let mut lines = Vec::new();
    let mut all_passed = true;
    for (name, args, expected) in SETS {
        let results = folder.join("results").join(name.replace(' ', "-"));
        let mut suite = suite(&folder);
        suite.arg("client").arg("--command").arg(&client).args(*args).arg("-o").arg(&results);
        let outcome = Outcome::of(name, &mut suite, &results)?;
        all_passed &= outcome.passed() == *expected && outcome.failed().is_empty();
        lines.push(format!("{name}: {}/{expected}", outcome.passed()));
        if let Some(beside) = outcome.scenarios.iter().find(|it| it.name == BESIDE) {
            all_passed &= beside.is_passed();
            lines.push(format!(
                "{name}, not scored: {BESIDE} {} passed, {} failed",
                beside.passed, beside.failed
            ));
        }
    }
    let served = Served::start()?;
    for (name, revision, expected) in SERVER_SETS {
        let results = folder.join("results").join(name.replace([' ', ','], "-"));
        let mut suite = suite(&folder);
        suite.args(["server", "--url", &served.url, "--requirements", revision, "-o"]).arg(&results);
        let outcome = Outcome::of(name, &mut suite, &results)?;
        all_passed &= outcome.passed() == *expected && outcome.failed().is_empty();
        lines.push(format!("{name}: {}/{expected}", outcome.passed()));
    }
    drop(served);
    let own: [(&str, &[&str]); 2] =
        [("server", OWN_SERVER), ("client", &["--stdio", "--", "usher-conformance-client"])];
    crate::process::run(cargo().args(["build", "--workspace", "--bin", "usher"]))?;
    for (side, args) in own {
        let results = folder.join("results").join(format!("sep-3279-{side}"));
        let (passed, line) = measured(side, args, &results)?;
        all_passed &= passed;
        lines.push(line);
    }
    say(&format!("\n{}", lines.join("\n")));
    Ok(all_passed)
}

/// The sample server, with arguments that make its larger tools answer at once. Only one of its tools warns, and it changes nothing.
const OWN_SERVER: &[&str] = &[
    "--args",
    "list_events={\"rows\":5}",
    "--args",
    "slow_report={\"seconds\":0,\"steps\":1}",
    "--args",
    "open_ticket={\"subject\":\"The export is slow\",\"priority\":\"high\"}",
    "--allow",
    "open_ticket",
    "--",
    "usher",
    "sample-server",
];

/// Runs the scenarios of audience routing. Whether all passed, and the line that sums them up.
fn measured(side: &str, args: &[&str], results: &Path) -> anyhow::Result<(bool, String)> {
    say(&format!("\n=== SEP-3279 {side} ==="));
    let built = target().join("debug");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(built.clone()).chain(std::env::split_paths(&path));
    let mut usher = program(built.join("usher"));
    usher.env("PATH", std::env::join_paths(folders).unwrap_or(path));
    usher.args(["conformance", side, "--timeout", "120", "--output"]).arg(results).args(args);
    let output = usher.stderr(Stdio::inherit()).output().context("usher cannot be started")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().next_back().unwrap_or_default().to_owned();
    // Scenarios of this sample that are skipped have not passed either.
    let passed = output.status.success() && line.ends_with(": 0 failed, 0 skipped");
    if !passed {
        say(&text);
    }
    Ok((passed, line))
}

/// A server with everything that the suite asks for, until it is dropped.
struct Served {
    url: String,
    child: Child,
}

impl Served {
    fn start() -> anyhow::Result<Self> {
        crate::process::run(cargo().args([
            "build",
            "-p",
            "usher-sample-server",
            "--example",
            "sample-server",
        ]))?;
        let mut server = program(target().join("debug").join("examples").join("sample-server"));
        server.args(["--http", "--conformance-fixtures"]).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = server.spawn().context("the sample server cannot be started")?;
        let mut line = String::new();
        if let Some(stderr) = child.stderr.take() {
            BufReader::new(stderr).read_line(&mut line)?;
        }
        let url = line.split_whitespace().next_back().unwrap_or_default().to_owned();
        anyhow::ensure!(url.starts_with("http://"), "the sample server did not say where it is: {line}");
        Ok(Self { url, child })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ended = self.child.kill().and_then(|()| self.child.wait());
    }
}

fn ensure(folder: &Path, yes: bool) -> anyhow::Result<()> {
    let wanted = format!("{PACKAGES:?}");
    let mark = folder.join("installed");
    if fs::read_to_string(&mark).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    say(
        "The official conformance suite and the Node.js that it needs are missing (about 130 MB in target/conformance).",
    );
    confirm("Install them from npm?", yes)?;
    fs::create_dir_all(folder)?;
    crate::process::run(
        ui::npm().args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(folder).args(PACKAGES),
    )?;
    fs::write(mark, wanted)?;
    Ok(())
}

/// The suite under its own Node.js.
fn suite(folder: &Path) -> Command {
    let programs = folder.join("node_modules").join(".bin");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(programs.clone()).chain(std::env::split_paths(&path));
    let mut suite = program(programs.join(if cfg!(windows) { "conformance.cmd" } else { "conformance" }));
    suite.env("PATH", std::env::join_paths(folders).unwrap_or(path));
    suite
}

struct Scenario {
    name: String,
    passed: usize,
    failed: usize,
    warned: usize,
    scored: bool,
}

impl Scenario {
    fn is_passed(&self) -> bool {
        self.passed > 0 && self.failed == 0 && self.warned == 0
    }
}

/// What a run of the suite said.
struct Outcome {
    scenarios: Vec<Scenario>,
}

impl Outcome {
    /// Runs the suite, and names what failed.
    fn of(name: &str, suite: &mut Command, results: &Path) -> anyhow::Result<Self> {
        say(&format!("\n=== {name} ==="));
        let output = suite.output().context("the suite cannot be started")?;
        let outcome = Self::read(&String::from_utf8_lossy(&output.stdout));
        for failed in outcome.failed() {
            say(&format!("  failed: {failed} (see {})", results.display()));
        }
        Ok(outcome)
    }

    fn read(output: &str) -> Self {
        let summary =
            ["=== SUITE SUMMARY ===", "=== SUMMARY ==="].iter().find_map(|it| output.split_once(it));
        let summary = summary.map_or("", |it| it.1);
        let (summary, beside) = summary.split_once("Not scored").unwrap_or((summary, ""));
        let is_beside = |name: &str| {
            beside.lines().any(|it| it.trim_start_matches([' ', '✓', '✗']).starts_with(&format!("{name} (")))
        };
        let scenario = |line: &str| {
            let (name, counts) = line.strip_prefix(['✓', '✗'])?.trim().split_once(": ")?;
            let count = |word: &str| {
                counts.split(", ").find_map(|it| it.strip_suffix(word)?.trim().parse().ok()).unwrap_or(0)
            };
            Some(Scenario {
                name: name.to_owned(),
                passed: count("passed"),
                failed: count("failed"),
                warned: count("warnings"),
                scored: !is_beside(name),
            })
        };
        Self { scenarios: summary.lines().filter_map(scenario).collect() }
    }

    fn passed(&self) -> usize {
        self.scenarios.iter().filter(|it| it.scored && it.is_passed()).count()
    }

    fn failed(&self) -> Vec<&str> {
        self.scenarios.iter().filter(|it| it.scored && !it.is_passed()).map(|it| it.name.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_that_checked_nothing_has_failed() {
        let outcome = Outcome::read(
            "✓ before: 1 passed, 0 failed\n=== SUITE SUMMARY ===\n\n✓ a: 2 passed, 0 failed\n✓ auth/b: 0 passed, 0 failed\n\
             ✗ c: 1 passed, 0 failed, 1 warnings\n✓ d: 9 passed, 0 failed\n✗ auth/e: 0 passed, 1 failed\n\n\
             Total: 12 passed, 1 failed, 1 warnings\n\nNot scored for 2026-07-28: 2 scenario(s) run.\n  ✗ auth/e (extension)\n  ✓ d (added-after-release)\n",
        );
        assert_eq!((outcome.passed(), outcome.failed()), (1, vec!["auth/b", "c"]));
        assert!(outcome.scenarios.iter().any(|it| it.name == "d" && it.is_passed() && !it.scored));
    }

    #[test]
    fn a_suite_that_did_not_run_has_passed_nothing() {
        assert_eq!(Outcome::read("Error: no such version").passed(), 0);
    }
}
