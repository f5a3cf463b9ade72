//! Measures a client: it is started once for each situation of a scenario, against a mock server of that situation.
//!
//! As in the official suite the address is the last argument, and the scenario and what to do are in the environment
//! (`MCP_CONFORMANCE_SCENARIO`, `MCP_CONFORMANCE_PROTOCOL_VERSION`, `MCP_CONFORMANCE_CONTEXT`). Beyond it, a client reports what each
//! consumer received, as JSON lines on standard output or in the file that `MCP_CONFORMANCE_DELIVERIES` names; and one that starts its
//! servers itself gets the command in `MCP_CONFORMANCE_SERVER_COMMAND`. Deliberately absent: judgements.

use std::{
    io,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    process::Command,
    task::JoinHandle,
};
use usher_protocol::{RawJson, Revision};
use usher_server::{Server, http, stdio};

use crate::{
    Scenario, ScenarioResult,
    judge::{Delivery, Ran, judge},
    mock::{self, Record},
    plan::{Consumer, Planned, Situation, situations},
};

/// How a client is measured.
#[derive(Debug, Clone)]
pub struct Options {
    /// The client's program and its arguments.
    pub command: Vec<String>,
    /// The scenarios, in the order of the results.
    pub scenarios: Vec<Scenario>,
    /// How long one run may take.
    pub timeout: Duration,
    /// How the mock server is reached.
    pub over: Over,
    /// Letters and digits that are in nothing else: the end of every canary.
    pub seed: String,
    /// A folder of this measurement alone, for what clients report in files.
    pub scratch: PathBuf,
}

/// How the mock server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Over {
    /// Over Streamable HTTP, at the address in the last argument.
    Http,
    /// By a command that the client starts: this one, with an address after it, which must do as [`bridge`] does.
    Stdio(Vec<String>),
}

/// What a scenario came to, with what the client wrote meanwhile.
#[derive(Debug, Clone)]
pub struct Measured {
    /// The scenario and its checks.
    pub result: ScenarioResult,
    /// The client's standard output, over all runs.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: Vec<u8>,
}

/// Measures a client.
///
/// # Errors
/// It cannot be started, or the mock server cannot be.
pub async fn measure(options: &Options) -> io::Result<Vec<Measured>> {
    let mut all = Vec::new();
    for scenario in &options.scenarios {
        let result = ScenarioResult::new(*scenario);
        let mut measured = Measured { result, stdout: Vec::new(), stderr: Vec::new() };
        let situations = situations(*scenario);
        let is_optional = situations.len() > 1;
        for situation in situations {
            let mut of_run = ScenarioResult::new(*scenario);
            run(options, *scenario, &situation, &mut of_run, &mut measured).await?;
            add(&mut measured.result, of_run, situation.revisions.first().copied().filter(|_| is_optional));
        }
        if measured.result.checks.is_empty() && measured.result.skipped.is_none() {
            measured.result.skipped = Some(measured.result.notes.join("; "));
        }
        all.push(measured);
    }
    Ok(all)
}

/// Joins the run under one of several revisions, not all of which a client need speak.
fn add(whole: &mut ScenarioResult, of_run: ScenarioResult, revision: Option<Revision>) {
    match (revision, of_run.skipped) {
        // Nothing was looked at: it is only noted, and costs nothing if another run shows something.
        (Some(revision), Some(why)) if of_run.checks.is_empty() => {
            whole.notes.push(format!("{revision}: {why}"));
        }
        (_, Some(why)) => whole.skipped = Some(why),
        (_, None) => {}
    }
    whole.checks.extend(of_run.checks);
    whole.notes.extend(of_run.notes);
}

async fn run(
    options: &Options,
    scenario: Scenario,
    situation: &Situation,
    result: &mut ScenarioResult,
    measured: &mut Measured,
) -> io::Result<()> {
    let record = Record::default();
    let server = mock::server(situation, &options.seed, record.clone()).map_err(io::Error::other)?;
    let served = Served::start(server, &options.over).await?;
    let deliveries = options.scratch.join("deliveries.jsonl");
    std::fs::write(&deliveries, "")?;
    let newest = situation.revisions.iter().max().copied().unwrap_or(Revision::NEWEST);
    let Some((program, args)) = options.command.split_first() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the client's command is empty"));
    };
    let mut command = Command::new(program);
    command
        .args(args)
        .env("MCP_CONFORMANCE_SCENARIO", scenario.name())
        .env("MCP_CONFORMANCE_PROTOCOL_VERSION", newest.as_str())
        .env("MCP_CONFORMANCE_CONTEXT", context(scenario, situation).to_string())
        .env("MCP_CONFORMANCE_DELIVERIES", &deliveries)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    match &options.over {
        Over::Http => command.arg(&served.address),
        Over::Stdio(bridge) => {
            let start: Vec<&String> = bridge.iter().chain([&served.address]).collect();
            command.env("MCP_CONFORMANCE_SERVER_COMMAND", json!(start).to_string())
        }
    };
    // On Windows a console would open for each run.
    #[cfg(windows)]
    Command::creation_flags(&mut command, 0x0800_0000);
    let child = command.spawn()?;
    let (stdout, stderr, trouble) =
        match tokio::time::timeout(options.timeout, child.wait_with_output()).await {
            Ok(output) => {
                let output = output?;
                let trouble = (!output.status.success()).then(|| {
                    let said = String::from_utf8_lossy(&output.stderr);
                    let last = said.lines().rfind(|it| !it.trim().is_empty());
                    let last = last.map_or_else(String::new, |it| format!(": {it}"));
                    format!("the client ended with {}{last}", output.status)
                });
                (output.stdout, output.stderr, trouble)
            }
            Err(_) => {
                (Vec::new(), Vec::new(), Some(format!("the client took longer than {:?}", options.timeout)))
            }
        };
    let mut said = String::from_utf8_lossy(&stdout).into_owned();
    said.push('\n');
    said.push_str(&String::from_utf8_lossy(&std::fs::read(&deliveries)?));
    let (reported, declined) = read(&said);
    judge(result, situation, &Ran { sent: record.all(), reported, declined, trouble }, &options.seed);
    measured.stdout.extend(stdout);
    measured.stderr.extend(stderr);
    Ok(())
}

/// What the client is told to do.
fn context(scenario: Scenario, situation: &Situation) -> Value {
    let call = |it: &Planned| {
        let outputs = it.outputs.as_ref().map(|it| it.iter().map(ToString::to_string).collect::<Vec<_>>());
        json!({"tool": it.tool, "arguments": {"topic": "sales"}, "caller": it.caller, "outputs": outputs})
    };
    let calls: Vec<Value> = situation.calls.iter().map(call).collect();
    json!({"name": scenario.name(), "mode": situation.mode, "calls": calls})
}

/// The lines of a client that report something; the others are its own.
fn read(said: &str) -> (Vec<Delivery>, Option<String>) {
    #[derive(Deserialize)]
    struct Line {
        consumer: Option<String>,
        data: Option<RawJson>,
        valid: Option<bool>,
        skipped: Option<String>,
    }
    let mut deliveries = Vec::new();
    let mut declined = None;
    for line in said.lines().filter(|it| it.trim_start().starts_with('{')) {
        let Ok(Line { consumer, data, valid, skipped }) = serde_json::from_str(line) else { continue };
        declined = declined.or(skipped);
        if let (Some(consumer), Some(data)) = (consumer.as_deref().and_then(Consumer::named), data) {
            deliveries.push(Delivery { consumer, data: data.get().to_owned(), valid });
        }
    }
    (deliveries, declined)
}

/// A mock server, until it is dropped.
struct Served {
    address: String,
    task: JoinHandle<()>,
}

impl Served {
    async fn start(server: Arc<Server>, over: &Over) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let bound = listener.local_addr()?;
        match over {
            Over::Http => {
                let http = http::HttpOptions::default();
                let address = http::url(bound, &http);
                let task = tokio::spawn(async move {
                    // It ends when nobody is measured any more.
                    let _ended = http::serve(server, listener, http).await;
                });
                Ok(Self { address, task })
            }
            Over::Stdio(_) => {
                let task = tokio::spawn(lines(server, listener));
                Ok(Self { address: bound.to_string(), task })
            }
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Serves whoever connects, one message a line.
async fn lines(server: Arc<Server>, listener: TcpListener) {
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _peer)) = listener.accept().await {
        let server = server.clone();
        connections.spawn(async move {
            let (from, to) = stream.into_split();
            // A client that breaks off has ended.
            let _ended = stdio::serve(server, from, to).await;
        });
    }
}

/// What a client starts to reach the mock server by lines: carries them both ways until either side ends.
///
/// # Errors
/// The address cannot be reached, or a stream fails.
pub async fn bridge(
    address: &str,
    mut stdin: impl AsyncRead + Unpin,
    mut stdout: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let (mut from, mut to) = TcpStream::connect(address).await?.into_split();
    let there = async {
        tokio::io::copy(&mut stdin, &mut to).await?;
        tokio::io::AsyncWriteExt::shutdown(&mut to).await
    };
    let back = tokio::io::copy(&mut from, &mut stdout);
    tokio::pin!(there, back);
    tokio::select! {
        ended = &mut back => ended.map(drop),
        ended = &mut there => {
            ended?;
            back.await.map(drop)
        }
    }
}

/// Writes a scenario's `checks.json`, `stdout.txt` and `stderr.txt` below a folder.
///
/// # Errors
/// The disk refuses.
pub fn write(measured: &Measured, folder: &Path, timestamp: &str) -> io::Result<()> {
    let folder = measured.result.write(crate::Side::Client, folder, timestamp)?;
    std::fs::write(folder.join("stdout.txt"), &measured.stdout)?;
    std::fs::write(folder.join("stderr.txt"), &measured.stderr)
}
