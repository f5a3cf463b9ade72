//! `usher check`: whether a server keeps its contract, for a terminal, for programs and for CI; and one pasted result without a server.

mod table;

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{IsTerminal, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use clap::Args;
use serde::Serialize;
use tokio_util::sync::CancellationToken;
use usher_engine::contract::{Check, Finding, Level, arguments, pasted};
use usher_host::{
    connection::{ConnectionOptions, ServerSpec},
    contract::{self, AskArguments, CheckError, CheckOptions, Given, OnProgress, Progress, Verdict},
};
use usher_protocol::{RawJson, Revision, model::Tool};

use crate::api::{contract::Whole, junit};

use super::{
    Global,
    given::GivenServer,
    session::{Exit, Failure, Place, Session},
    terminal::{Paint, clean, clean_line, err, out},
};

/// Check whether a server keeps the contract that it declares
///
/// Each tool is called with the examples, defaults and enumerations of its own schema. A tool that warns by its
/// annotations or its name is not called; the report says so, and it is no pass.
#[derive(Debug, Args)]
#[command(
    override_usage = "usher check [OPTIONS] SERVER\n       usher check [OPTIONS] --url URL\n       usher check [OPTIONS] -- CMD [ARG]...\n       usher check --result FILE --schema FILE"
)]
pub(super) struct Options {
    /// A configured server
    #[arg(conflicts_with_all = ["command", "url", "result"])]
    server: Option<String>,
    #[command(flatten)]
    given: GivenServer,
    /// The newest revision that is offered, or the one by which a result is read; otherwise the newest that there is
    #[arg(long, value_name = "REVISION")]
    revision: Option<Revision>,
    /// Check only this tool; may be given more than once
    #[arg(long, value_name = "TOOL")]
    tool: Vec<String>,
    /// The arguments of a call that gives something
    #[arg(long, value_name = "TOOL=JSON")]
    args: Vec<String>,
    /// The arguments of a call that finds nothing
    #[arg(long, value_name = "TOOL=JSON")]
    empty_args: Vec<String>,
    /// The arguments of a call that fails
    #[arg(long, value_name = "TOOL=JSON")]
    error_args: Vec<String>,
    /// Call this tool although it warns; '*' for all of them
    #[arg(long, value_name = "TOOL")]
    allow: Vec<String>,
    /// How long one call may take
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    timeout: u64,
    /// Let recommendations decide the exit code as well
    #[arg(long)]
    strict: bool,
    /// Never ask for arguments
    #[arg(long)]
    no_ask: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write a JUnit report for CI; also when the check cannot be made or is interrupted
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Validate this result, or a whole response, instead of a server; '-' for standard input
    #[arg(long, value_name = "FILE", requires = "schema", conflicts_with_all = ["command", "url"])]
    result: Option<PathBuf>,
    /// The schema that the result should fit
    #[arg(long, value_name = "FILE", requires = "result")]
    schema: Option<PathBuf>,
}

/// How long a check that was interrupted may take to end by itself.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is written of a check, and how the command ends.
struct Written {
    text: String,
    junit: String,
    exit: Exit,
}

/// Checks it.
pub(super) async fn run(options: Options, global: &Global) -> Result<Exit, Failure> {
    let given = given(&options)?;
    // One that cannot be written is told before anything is called, and an old report is not left for a new one.
    let mut junit = options.junit.as_deref().map(File::create).transpose()?;
    let made = match (&options.result, &options.schema) {
        (Some(result), Some(schema)) => paste(result, schema, &options),
        _ => of_server(&options, given, global).await,
    };
    // CI reads why there is no report where it looks for one; programs are told by whoever ends the command.
    let (text, xml) = match &made {
        Ok(written) => (written.text.clone(), written.junit.clone()),
        Err(Failure { text, .. }) => (String::new(), junit::failed(text)),
    };
    if let Some(file) = &mut junit {
        file.write(&xml)?;
    }
    out(&text);
    match made?.exit {
        Exit::Interrupted => Err(Failure::new(Exit::Interrupted, "Interrupted.")),
        exit => Ok(exit),
    }
}

async fn of_server(
    options: &Options,
    given: BTreeMap<String, Given>,
    global: &Global,
) -> Result<Written, Failure> {
    let Means { spec, connection, session } = means(options, global).await?;
    let stop = CancellationToken::new();
    let checking = CheckOptions {
        connection: ConnectionOptions { newest: options.revision.unwrap_or(Revision::NEWEST), ..connection },
        stop: stop.clone(),
        only: options.tool.iter().cloned().collect(),
        given,
        allowed: options.allow.iter().cloned().collect::<BTreeSet<_>>(),
        timeout: Duration::from_secs(options.timeout.max(1)),
        ask: can_ask(options).then(asking),
        progress: std::io::stderr().is_terminal().then(telling),
    };
    let mut checked = None;
    let check = async { checked = Some(contract::check(&spec, &checking).await) };
    let followed = match session {
        // Whoever has to sign in for it is asked, as by any other command.
        Some(mut session) => {
            let followed = session.follow(check, |_| stop.cancel(), |_| {}).await;
            session.close().await;
            followed
        }
        None => until_interrupted(check, &stop).await,
    };
    let report = match (checked, &followed) {
        // What was found before an interruption is told, too.
        (Some(Ok(report)), _) => report,
        (Some(Err(error)), Ok(())) => return Err(refused(&error)),
        (Some(Err(_)) | None, _) => return Err(Failure::new(Exit::Interrupted, "Interrupted.")),
    };
    let exit = match followed {
        Err(Failure { exit, .. }) => exit,
        Ok(()) if report.is_broken(options.strict) => Exit::Broken,
        Ok(()) => Exit::Fine,
    };
    let junit = junit::text(&report, options.strict);
    let whole = Whole::of(report, &checking.only);
    let text = if options.json { json(&whole)? } else { table::text(&whole, Paint::of_stdout(false)) };
    Ok(Written { text, junit, exit })
}

/// Carries a check out. A first interruption lets it report what it has; a second one, or a server that says nothing, ends it.
async fn until_interrupted(check: impl Future<Output = ()>, stop: &CancellationToken) -> Result<(), Failure> {
    let mut check = Box::pin(check);
    tokio::select! {
        // Before the check begins, so that no interruption is missed.
        biased;
        interrupted = tokio::signal::ctrl_c() => drop(interrupted),
        () = &mut check => return Ok(()),
    }
    err("\nStopping. Press Ctrl-C again to end at once.\n");
    stop.cancel();
    tokio::select! {
        () = &mut check => {}
        interrupted = tokio::signal::ctrl_c() => drop(interrupted),
        () = tokio::time::sleep(PATIENCE) => {}
    }
    Err(Failure::new(Exit::Interrupted, "Interrupted."))
}

/// Why nothing was called.
pub(super) fn refused(error: &CheckError) -> Failure {
    let exit = match error {
        CheckError::NotConnected(_) => Exit::Unreachable,
        CheckError::NoSuchTool { .. } => Exit::Usage,
    };
    Failure::new(exit, format!("{error}\n{}", error.todo()))
}

/// Tells a terminal how far it is.
fn telling() -> OnProgress {
    Arc::new(|it| err(&how_far(&it)))
}

fn how_far(Progress { done, of, tool }: &Progress) -> String {
    format!("Tool {} of {of}: {}\n", done + 1, clean_line(tool))
}

/// A file that is open.
struct File<'a> {
    path: &'a Path,
    file: std::fs::File,
}

impl<'a> File<'a> {
    fn create(path: &'a Path) -> Result<Self, Failure> {
        let file = std::fs::File::create(path).map_err(|error| unwritten(path, &error))?;
        Ok(Self { path, file })
    }

    fn write(&mut self, text: &str) -> Result<(), Failure> {
        self.file.write_all(text.as_bytes()).map_err(|error| unwritten(self.path, &error))
    }
}

fn unwritten(path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("{} could not be written: {error}.", path.display()))
}

fn json<T: Serialize>(value: &T) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value);
    text.map(|it| it + "\n").map_err(|error| Failure::new(Exit::Broken, error.to_string()))
}

/// The server that the command line means, how the host behaves towards it, and the host that knows it.
struct Means {
    spec: ServerSpec,
    connection: ConnectionOptions,
    session: Option<Session>,
}

async fn means(options: &Options, global: &Global) -> Result<Means, Failure> {
    if !options.given.is_none() {
        let (spec, connection) = (options.given.apart()?, ConnectionOptions::default());
        return Ok(Means { spec, connection, session: None });
    }
    let Some(name) = &options.server else {
        return Err(Failure::usage("Name a server, or give --url URL, or a command after --."));
    };
    configured(name, global).await
}

/// A configured server, as the window would check it: one of its own is started beside whatever runs, signed in as that is.
async fn configured(name: &str, global: &Global) -> Result<Means, Failure> {
    let session = Session::open_quietly(Place::Folder(global.data.clone())).await?;
    let found = match session.find(name) {
        Ok(found) => session.host.server_apart(&found.id).await.map_err(Failure::from),
        Err(failure) => Err(failure),
    };
    match found {
        // A check offers nothing that a server could ask the person for, and learns the era anew.
        Ok((spec, connection)) => {
            let offers = ConnectionOptions::default().offers;
            let connection = ConnectionOptions { remembered: None, offers, ..connection };
            Ok(Means { spec, connection, session: Some(session) })
        }
        Err(failure) => {
            session.close().await;
            Err(failure)
        }
    }
}

fn given(options: &Options) -> Result<BTreeMap<String, Given>, Failure> {
    let mut all: BTreeMap<String, Given> = BTreeMap::new();
    type Set = fn(&mut Given, RawJson);
    let sets: [(&[String], &str, Set); 3] = [
        (&options.args, "--args", |it, value| it.normal = Some(value)),
        (&options.empty_args, "--empty-args", |it, value| it.empty = Some(value)),
        (&options.error_args, "--error-args", |it, value| it.failing = Some(value)),
    ];
    for (texts, option, set) in sets {
        for text in texts {
            let (tool, value) = tool_json(option, text)?;
            set(all.entry(tool).or_default(), value);
        }
    }
    Ok(all)
}

/// Reads `TOOL=JSON`, and says where it goes wrong.
pub(super) fn tool_json(option: &str, text: &str) -> Result<(String, RawJson), Failure> {
    let example = "'search={\"query\": \"Globex\"}'";
    let Some((tool, json)) = text.split_once('=') else {
        return Err(Failure::usage(format!("{option} is not TOOL=JSON, such as {example}.")));
    };
    let wrong = |why: &str| {
        Failure::usage(format!("{option} for {tool} is {why}. It is TOOL=JSON, such as {example}."))
    };
    let value = RawJson::parse(json).map_err(|error| wrong(&format!("not JSON: {error}")))?;
    if value.is_object() { Ok((tool.to_owned(), value)) } else { Err(wrong("JSON, and not an object")) }
}

fn can_ask(options: &Options) -> bool {
    !options.no_ask && !options.json && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks the person at the terminal; an empty line skips the tool.
fn asking() -> AskArguments {
    Arc::new(|tool: Tool, why: String| {
        Box::pin(async move {
            let read = tokio::task::spawn_blocking(move || question(&tool, &why)).await;
            read.ok().flatten()
        })
    })
}

fn question(tool: &Tool, why: &str) -> Option<RawJson> {
    let name = clean_line(&tool.name);
    err(&format!("{name}: {}.\n{}\n", clean_line(why), clean(tool.input_schema.get())));
    loop {
        err(&format!("Arguments for {name} as JSON, or nothing to skip it: "));
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            return None;
        }
        match RawJson::parse(line.trim()) {
            Ok(value) if value.is_object() && arguments::fits(tool, &value) => return Some(value),
            Ok(value) if value.is_object() => err("That does not fit the tool's input schema.\n"),
            Ok(_) | Err(_) => err("That is not a JSON object.\n"),
        }
    }
}

/// What was pasted, judged.
#[derive(Debug, Serialize)]
struct Pasted {
    shape: pasted::Shape,
    revision: Revision,
    dialect: String,
    looked: Vec<&'static str>,
    findings: Vec<Finding>,
    notes: Vec<String>,
}

fn paste(result: &Path, schema: &Path, options: &Options) -> Result<Written, Failure> {
    let pasted::Pasted { shape, revision, dialect, judgement, notes } =
        pasted::judge(&read(result)?, &read(schema)?, options.revision);
    let broken = judgement.findings.iter().any(|it| options.strict || it.level == Level::Broken);
    let looked: Vec<Check> = judgement.looked.iter().copied().collect();
    let name = result.display().to_string();
    let verdicts = Verdict::list(&looked, judgement.clone());
    let junit = junit::pasted(&name, &verdicts, &notes, options.strict);
    let pasted = Pasted {
        shape,
        revision,
        dialect,
        looked: looked.iter().map(|it| it.id()).collect(),
        findings: judgement.findings,
        notes,
    };
    let text = if options.json { json(&pasted)? } else { table::pasted(&pasted, Paint::of_stdout(false)) };
    Ok(Written { text, junit, exit: if broken { Exit::Broken } else { Exit::Fine } })
}

fn read(path: &Path) -> Result<RawJson, Failure> {
    let text = if path == Path::new("-") {
        std::io::read_to_string(std::io::stdin())
    } else {
        std::fs::read_to_string(path)
    };
    let name = path.display();
    let text = text.map_err(|error| Failure::usage(format!("{name} could not be read: {error}.")))?;
    RawJson::parse(text.trim()).map_err(|error| Failure::usage(format!("{name} is not JSON: {error}.")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_told_which_tool_is_checked() {
        let told = how_far(&Progress { done: 1, of: 3, tool: "list\u{1b}\nevents".to_owned() });
        assert_eq!(told, "Tool 2 of 3: list\u{fffd} events\n");
    }
}
