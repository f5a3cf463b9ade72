//! `cargo xtask bench`: what a call costs in Usher, in the TypeScript and Python SDKs and in rmcp, against one server in one run.
//!
//! The server's answers are written before the first question. The clients take turns, so that a busy moment of the machine meets
//! all of them; each figure is the median of its turns. Usher's time ends where a result is routed and validated; the SDKs validate
//! too, rmcp does not. Deliberately absent: a verdict that fails a build; times on shared machines are for people to read.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Context as _;

use crate::{
    Options, packages,
    process::{cargo, confirm, program, say},
    target, ui,
};

/// The SDKs that Usher is compared with.
const TYPESCRIPT: &str = "@modelcontextprotocol/sdk@1.32.2";
const PYTHON: &str = "mcp==2.3.0";

/// How many rows a result has, how many calls a turn times, and how many in Python, where the largest takes seconds.
const SIZES: &[(&str, u32, u32)] = &[("1", 300, 300), ("1000", 60, 30), ("100000", 8, 1)];

/// How often each client has its turn.
const TURNS: usize = 3;

/// A client that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Client {
    Usher,
    Rmcp,
    TypeScript,
    Python,
}

const CLIENTS: [Client; 4] = [Client::Usher, Client::Rmcp, Client::TypeScript, Client::Python];

impl Client {
    fn name(self) -> &'static str {
        match self {
            Self::Usher => "Usher",
            Self::Rmcp => "rmcp (no validation)",
            Self::TypeScript => "TypeScript SDK 1.32.2",
            Self::Python => "Python SDK 2.3.0",
        }
    }
}

/// What a turn measured: milliseconds a call and a ping, and MiB at most and before the first call.
#[derive(Debug, Clone, Copy)]
struct Figures {
    call: f64,
    ping: f64,
    peak: f64,
    idle: f64,
    bytes: f64,
}

/// Installs what is compared, builds what is measured, and prints the figures.
///
/// # Errors
/// When the answer is no, or something cannot be installed, built or run.
pub(crate) fn run(options: &Options) -> anyhow::Result<bool> {
    let folder = target().join("bench");
    ensure(&folder, options.yes())?;
    let built = ["usher", "usher-bench-server", "usher-bench-rmcp"].map(|it| ["--bin", it]);
    let packages = ["build", "--release", "-p", "usher", "-p", "usher-tests"];
    crate::process::run(cargo().args(packages).args(built.as_flattened()))?;
    let mut report = String::new();
    for (rows, calls, in_python) in SIZES {
        let mut turns: Vec<Vec<Figures>> = vec![Vec::new(); CLIENTS.len()];
        for turn in 1..=TURNS {
            say(&format!("{rows} rows, turn {turn} of {TURNS}"));
            for (client, figures) in CLIENTS.into_iter().zip(&mut turns) {
                let calls = if client == Client::Python { in_python } else { calls };
                figures.push(measure(&folder, client, rows, *calls)?);
            }
        }
        report += &table(rows, &turns);
    }
    say(&format!("\n{report}"));
    Ok(true)
}

fn table(rows: &str, turns: &[Vec<Figures>]) -> String {
    let middle = |of: &dyn Fn(&Figures) -> f64, turns: &[Figures]| {
        let mut all: Vec<f64> = turns.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let call = |it: &Figures| it.call;
    let known = |client: Client| CLIENTS.iter().position(|it| *it == client).and_then(|it| turns.get(it));
    let typescript = known(Client::TypeScript).map_or(f64::NAN, |it| middle(&call, it));
    let bytes = known(Client::Usher).map_or(f64::NAN, |it| middle(&|it| it.bytes, it));
    let payload = bytes / (1_024.0 * 1_024.0);
    let mut text = format!("{rows} rows, {bytes} bytes a result\n");
    for (client, turns) in CLIENTS.into_iter().zip(turns) {
        let (call, ping) = (middle(&call, turns), middle(&|it| it.ping, turns));
        let (peak, idle) = (middle(&|it| it.peak, turns), middle(&|it| it.idle, turns));
        let _written = write!(
            text,
            "  {:22} {call:9.3} ms a call, {:5.2} of TypeScript; ping {ping:6.3} ms; at most {peak:6.1} MiB, {:6.1} more than before the first call",
            client.name(),
            call / typescript,
            peak - idle,
        );
        // Below a megabyte the program itself is all that there is to see.
        if payload > 1.0 {
            let _written = write!(text, " ({:.1} payloads)", (peak - idle) / payload);
        }
        text.push('\n');
    }
    text
}

fn measure(folder: &Path, client: Client, rows: &str, calls: u32) -> anyhow::Result<Figures> {
    let release = target().join("release");
    let server = release.join(format!("usher-bench-server{}", std::env::consts::EXE_SUFFIX));
    let calls = calls.to_string();
    let mut command = match client {
        Client::Usher => {
            let mut usher = program(release.join(format!("usher{}", std::env::consts::EXE_SUFFIX)));
            let repeat = format!("{}", calls.parse::<u32>()?.saturating_add(1));
            usher.args(["call", "rows", "--yes", "--timing", "--json", "--repeat", &repeat, "--args"]);
            usher.arg(format!("{{\"count\":{rows}}}")).arg("--");
            usher
        }
        Client::Rmcp => {
            let mut rmcp = program(release.join(format!("usher-bench-rmcp{}", std::env::consts::EXE_SUFFIX)));
            rmcp.args([rows, &calls]);
            rmcp
        }
        Client::TypeScript => {
            let mut node = program("node");
            node.arg(folder.join("typescript.mjs")).args([rows, &calls]);
            node
        }
        Client::Python => {
            let mut python = program(python(folder));
            python.arg(crate::root().join("tests/bench/python.py")).args([rows, &calls]);
            python
        }
    };
    command.arg(server);
    let line = read(&mut command)?;
    let field = |name: &str| number(&line, name);
    let call = field("median_ms").with_context(|| format!("{} printed {line:?}", client.name()))?;
    let or_unknown = |name: &str| field(name).unwrap_or(f64::NAN);
    Ok(Figures {
        call,
        ping: or_unknown("ping_ms"),
        peak: or_unknown("peak_rss_mb"),
        idle: or_unknown("idle_rss_mb"),
        bytes: or_unknown("bytes"),
    })
}

fn read(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("{command:?} cannot be started"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "{command:?} ended with {}\n{errors}", output.status);
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A number of a flat JSON object.
fn number(json: &str, name: &str) -> Option<f64> {
    let (_, rest) = json.split_once(&format!("\"{name}\""))?;
    let rest = rest.trim_start().strip_prefix(':')?.trim_start();
    let end = rest.find([',', '}', ' ', '\n']).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

fn python(folder: &Path) -> PathBuf {
    folder.join("python").join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

fn ensure(folder: &Path, yes: bool) -> anyhow::Result<()> {
    fs::create_dir_all(folder)?;
    // Node.js looks for packages beside the program.
    fs::copy(crate::root().join("tests/bench/typescript.mjs"), folder.join("typescript.mjs"))?;
    let wanted = format!("{TYPESCRIPT} {PYTHON}");
    let mark = folder.join("installed");
    if fs::read_to_string(&mark).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    say("The SDKs that Usher is compared with are missing (about 60 MB in target/bench).");
    confirm("Install them from npm and PyPI?", yes)?;
    packages::ensure(&[packages::BUILD, packages::PEERS], yes)?;
    let mut npm = ui::npm();
    npm.args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]);
    crate::process::run(npm.arg(folder).arg(TYPESCRIPT))?;
    crate::process::run(program("python3").args(["-m", "venv"]).arg(folder.join("python")))?;
    crate::process::run(program(python(folder)).args(["-m", "pip", "install", "--quiet", PYTHON]))?;
    fs::write(mark, wanted)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read() {
        let line = r#"{"median_ms":1.25,"ping_ms": 0.2,"peak_rss_mb":null,"bytes":9600000}"#;
        assert_eq!(number(line, "median_ms"), Some(1.25));
        assert_eq!(number(line, "ping_ms"), Some(0.2));
        assert_eq!(number(line, "peak_rss_mb"), None);
        assert_eq!(number(line, "bytes"), Some(9_600_000.0));
    }

    #[test]
    fn the_table_compares_medians() {
        let of = |call| Figures { call, ping: 0.1, peak: 50.0, idle: 20.0, bytes: 10_485_760.0 };
        let turns = [[5.0, 1.0, 3.0], [2.0; 3], [12.0; 3], [60.0; 3]].map(|it| it.map(of).to_vec());
        let text = table("100000", &turns);
        let usher = text.lines().nth(1).unwrap_or_default();
        assert!(usher.contains("3.000 ms a call,  0.25 of TypeScript"), "{text}");
        assert!(usher.ends_with("30.0 more than before the first call (3.0 payloads)"), "{text}");
    }
}
