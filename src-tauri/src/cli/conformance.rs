//! `usher conformance`: whether a server or a client conforms to audience routing, for those who write one.
//!
//! Deliberately absent: scenarios and judgements, which are the conformance crate's.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{Args, Subcommand};
use serde::Serialize;
use time::{OffsetDateTime, format_description::well_known::Rfc3339};
use usher_conformance::{
    Outcome, Scenario, ScenarioResult, Side,
    client::{self, Over},
    server, summary,
};
use usher_protocol::RawJson;

use super::{
    check::{refused, tool_json},
    given::GivenServer,
    session::{Exit, Failure, own_program},
    terminal::{clean, out},
};

/// Measure a server or a client against the audience-routing proposal (SEP-3279)
///
/// The scenarios are the cases P01 to P15 of the proposal's own test plan; docs/conformance.md describes each.
#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Server(ServerOptions),
    Client(ClientOptions),
    /// Carry a client's lines to the mock server of a scenario
    #[command(hide = true)]
    Bridge {
        /// Where the mock server listens
        address: String,
    },
}

/// What both have.
#[derive(Debug, Args)]
struct Common {
    /// Run only this scenario, by its name or its number, such as P06 or 6; may be given more than once
    #[arg(long, value_name = "NAME")]
    scenario: Vec<Scenario>,
    /// Write checks.json of each scenario below this folder
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// List the scenarios
    #[arg(long)]
    list: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// How long one call, or one run of a client, may take
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    timeout: u64,
}

/// Measure a server: its own tools are listed and called
///
/// Each tool is called with the examples, defaults and enumerations of its own schema, or with --args. A tool that
/// warns by its annotations or its name is not called. A scenario that does not apply is skipped, and is no pass.
#[derive(Debug, Args)]
#[command(
    override_usage = "usher conformance server [OPTIONS] --url URL\n       usher conformance server [OPTIONS] -- CMD [ARG]..."
)]
struct ServerOptions {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    given: GivenServer,
    /// Look only at this tool; may be given more than once
    #[arg(long, value_name = "TOOL")]
    tool: Vec<String>,
    /// The arguments of a tool's calls
    #[arg(long, value_name = "TOOL=JSON")]
    args: Vec<String>,
    /// Call this tool although it warns; '*' for all of them
    #[arg(long, value_name = "TOOL")]
    allow: Vec<String>,
}

/// Measure a client: it is started once for each situation, against a mock server
///
/// The address of the mock server is the last argument; MCP_CONFORMANCE_SCENARIO and MCP_CONFORMANCE_CONTEXT say what
/// to do. What each consumer received is reported as JSON lines, such as {"consumer": "assistant", "data": "…"}, on
/// standard output or in the file that MCP_CONFORMANCE_DELIVERIES names; without reports routing is not measured.
#[derive(Debug, Args)]
#[command(override_usage = "usher conformance client [OPTIONS] -- CMD [ARG]...")]
struct ClientOptions {
    #[command(flatten)]
    common: Common,
    /// Let the client start the server: the command is in MCP_CONFORMANCE_SERVER_COMMAND, as a JSON array
    #[arg(long)]
    stdio: bool,
    /// The command of the client
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,
}

impl Common {
    fn scenarios(&self) -> Vec<Scenario> {
        if self.scenario.is_empty() { Scenario::ALL.to_vec() } else { self.scenario.clone() }
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout.max(1))
    }
}

/// Measures it.
pub(super) async fn run(options: Options) -> Result<Exit, Failure> {
    let measuring = async {
        match options.what {
            What::Server(options) => Box::pin(of_server(options)).await,
            What::Client(options) => Box::pin(of_client(options)).await,
            What::Bridge { address } => bridge(&address).await,
        }
    };
    tokio::select! {
        measured = measuring => measured,
        interrupted = tokio::signal::ctrl_c() => {
            let _heard = interrupted;
            Err(Failure::new(Exit::Interrupted, "Interrupted."))
        }
    }
}

async fn of_server(options: ServerOptions) -> Result<Exit, Failure> {
    if options.common.list {
        list(Scenario::of_server);
        return Ok(Exit::Fine);
    }
    if options.given.is_none() {
        return Err(Failure::usage("Give --url URL, or a server's command after --."));
    }
    let spec = options.given.apart()?;
    let measuring = server::Options {
        scenarios: options.common.scenarios(),
        only: options.tool.iter().cloned().collect(),
        given: given(&options.args)?,
        allowed: options.allow.iter().cloned().collect(),
        timeout: options.common.timeout(),
        ..server::Options::default()
    };
    let results = server::measure(&spec, &measuring).await.map_err(|error| refused(&error))?;
    if let Some(folder) = &options.common.output {
        for result in &results {
            kept(folder, result.write(Side::Server, folder, &now()).map(drop))?;
        }
    }
    report(Side::Server, &results, options.common.json)
}

async fn of_client(options: ClientOptions) -> Result<Exit, Failure> {
    if options.common.list {
        list(Scenario::of_client);
        return Ok(Exit::Fine);
    }
    if options.command.is_empty() {
        return Err(Failure::usage("Give the client's command after --."));
    }
    let over = if options.stdio {
        Over::Stdio(vec![own_program(), "conformance".to_owned(), "bridge".to_owned()])
    } else {
        Over::Http
    };
    let scratch = tempfile::Builder::new().prefix("usher-").tempdir().map_err(|error| {
        Failure::new(Exit::Unreachable, format!("A temporary folder could not be made: {error}."))
    })?;
    let measuring = client::Options {
        command: options.command.clone(),
        scenarios: options.common.scenarios(),
        timeout: options.common.timeout(),
        over,
        seed: uuid::Uuid::now_v7().simple().to_string(),
        scratch: scratch.path().to_owned(),
    };
    let measured = client::measure(&measuring).await.map_err(|error| {
        Failure::new(Exit::Unreachable, format!("{} could not be run: {error}.", options.command.join(" ")))
    })?;
    if let Some(folder) = &options.common.output {
        for it in &measured {
            kept(folder, client::write(it, folder, &now()))?;
        }
    }
    let results: Vec<ScenarioResult> = measured.into_iter().map(|it| it.result).collect();
    report(Side::Client, &results, options.common.json)
}

async fn bridge(address: &str) -> Result<Exit, Failure> {
    let carried = client::bridge(address, tokio::io::stdin(), tokio::io::stdout()).await;
    carried.map_err(|error| Failure::new(Exit::Unreachable, format!("{address}: {error}")))?;
    Ok(Exit::Fine)
}

fn list(of: fn(Scenario) -> &'static str) {
    let lines = Scenario::ALL.iter().map(|it| format!("{:<36} {}\n", it.name(), of(*it)));
    out(&lines.collect::<String>());
}

fn given(texts: &[String]) -> Result<BTreeMap<String, RawJson>, Failure> {
    texts.iter().map(|it| tool_json("--args", it)).collect()
}

fn now() -> String {
    OffsetDateTime::now_utc().format(&Rfc3339).unwrap_or_default()
}

fn kept(folder: &Path, written: std::io::Result<()>) -> Result<(), Failure> {
    written.map_err(|error| Failure::usage(format!("{} could not be written to: {error}.", folder.display())))
}

/// What is printed for programs.
#[derive(Debug, Serialize)]
struct Machine<'a> {
    side: Side,
    passed: usize,
    failed: usize,
    skipped: usize,
    scenarios: Vec<MachineScenario<'a>>,
}

#[derive(Debug, Serialize)]
struct MachineScenario<'a> {
    outcome: Outcome,
    #[serde(flatten)]
    result: &'a ScenarioResult,
}

/// Prints the results. Nothing that failed, and something that passed, is fine.
fn report(side: Side, results: &[ScenarioResult], json: bool) -> Result<Exit, Failure> {
    let count = |outcome| results.iter().filter(|it| it.outcome() == outcome).count();
    let (passed, failed) = (count(Outcome::Passed), count(Outcome::Failed));
    if json {
        let scenarios =
            results.iter().map(|result| MachineScenario { outcome: result.outcome(), result }).collect();
        let machine = Machine { side, passed, failed, skipped: count(Outcome::Skipped), scenarios };
        let text = serde_json::to_string_pretty(&machine);
        out(&(text.map_err(|error| Failure::new(Exit::Broken, error.to_string()))? + "\n"));
    } else {
        out(&clean(&format!("{}\n", summary(side, results))));
    }
    Ok(if failed == 0 && passed > 0 { Exit::Fine } else { Exit::Broken })
}
