//! Measures a server: its own tools are listed and called, and the engine judges what comes (rules S01 to S12 and S14).
//!
//! A tool is called with what the caller gives or its own declaration offers, and not at all if it warns and was not allowed: the
//! contract checker's way. Deliberately absent: S10 and S13, which need calls that fail and a revision that does not exist; the
//! contract checker makes those.

mod scenarios;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use tokio_util::sync::CancellationToken;
use usher_engine::{
    Extensions,
    contract::{arguments, outputs},
    declaration,
};
use usher_host::{
    connection::{CallError, CallOptions, ConnectError, Connection, ConnectionOptions, ServerSpec, events},
    contract::{CheckError, misnamed},
};
use usher_protocol::{
    RawJson, Revision, UI_EXTENSION,
    codec::{CallRequest, ToolPage, WireDiagnostic, decode_outcome},
    model::{CallOutcome, Selector, Tool},
};

use crate::{Scenario, ScenarioResult};

/// How a server is measured.
#[derive(Clone)]
pub struct Options {
    /// How it is spoken to.
    pub connection: ConnectionOptions,
    /// The scenarios, in the order of the results.
    pub scenarios: Vec<Scenario>,
    /// Only these tools; all of them if empty.
    pub only: BTreeSet<String>,
    /// The arguments that the caller gives for a tool, an object.
    pub given: BTreeMap<String, RawJson>,
    /// The tools that are called although they warn; `*` for all of them.
    pub allowed: BTreeSet<String>,
    /// How long one call may take.
    pub timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connection: ConnectionOptions::default(),
            scenarios: Scenario::ALL.to_vec(),
            only: BTreeSet::new(),
            given: BTreeMap::new(),
            allowed: BTreeSet::new(),
            timeout: Duration::from_secs(30),
        }
    }
}

impl Options {
    /// Every tool that is named anywhere.
    fn named(&self) -> BTreeSet<&str> {
        let allowed = self.allowed.iter().filter(|it| *it != "*");
        self.only.iter().chain(self.given.keys()).chain(allowed).map(String::as_str).collect()
    }
}

/// Measures a server, from its start to its end.
///
/// # Errors
/// It could not be connected, or the options name tools that it does not list; nothing was measured.
pub async fn measure(spec: &ServerSpec, options: &Options) -> Result<Vec<ScenarioResult>, CheckError> {
    let mut run = Run::open(spec, options).await?;
    let page = run.unlisted.is_none().then_some(&run.page);
    if let Some(error) = misnamed(&run.line, page, options.named()) {
        run.line.close().await;
        return Err(error);
    }
    let mut results = Vec::new();
    for scenario in &options.scenarios {
        results.push(Box::pin(run.scenario(*scenario)).await);
    }
    run.line.close().await;
    for earlier in run.earlier.into_iter().flatten() {
        earlier.connection.close().await;
    }
    Ok(results)
}

/// A measurement under way.
struct Run<'a> {
    spec: &'a ServerSpec,
    options: &'a Options,
    line: Connection,
    negotiated: Extensions,
    page: ToolPage,
    /// Why the tools could not be listed.
    unlisted: Option<String>,
    told: Vec<WireDiagnostic>,
    subjects: Vec<Subject>,
    /// The earlier revisions that the server speaks, once somebody wants to know.
    earlier: Option<Vec<Earlier>>,
    /// Calls that were made; several scenarios look at the same one.
    made: BTreeMap<(String, Option<Vec<Selector>>), Came>,
}

/// A tool with what can be done with it.
struct Subject {
    tool: Tool,
    /// What it declares and may.
    variants: Vec<Selector>,
    /// What it is called with, or why it is not.
    arguments: Result<RawJson, String>,
}

/// A line under an earlier revision.
struct Earlier {
    connection: Connection,
    /// The tools by their names, or why they could not be listed.
    tools: Result<BTreeMap<String, Tool>, String>,
}

/// What came of a call.
#[derive(Clone)]
enum Came {
    Result(Arc<CallOutcome>),
    Refused {
        code: i64,
        message: String,
    },
    /// No answer, or none that can be read.
    Lost(String),
}

impl<'a> Run<'a> {
    async fn open(spec: &'a ServerSpec, options: &'a Options) -> Result<Self, ConnectError> {
        let line = connect(spec, options.connection.clone()).await?;
        let has_ui = options.connection.ui_extension && line.greeting().has_extension(UI_EXTENSION);
        let negotiated = outputs::negotiated(has_ui);
        let (listed, unlisted) = match line.list_tools().await {
            Ok(listed) => (listed, None),
            Err(error) => (Default::default(), Some(error.to_string())),
        };
        let (page, told) = listed;
        let wanted = |it: &&Tool| options.only.is_empty() || options.only.contains(&it.name);
        let subjects = page.tools.iter().filter(wanted).map(|tool| Subject {
            tool: tool.clone(),
            variants: declaration::check(tool, &negotiated)
                .map(|it| it.variants.into_iter().map(|it| it.selector).collect())
                .unwrap_or_default(),
            arguments: arguments_of(tool, options),
        });
        let subjects = subjects.collect();
        Ok(Self {
            spec,
            options,
            negotiated,
            subjects,
            page,
            unlisted,
            told,
            line,
            earlier: None,
            made: BTreeMap::new(),
        })
    }

    /// The revision of requests that have a selection.
    fn revision(&self) -> Revision {
        self.line.revision()
    }

    /// Calls a tool under the revision that has outputs, or remembers what came of the same call.
    async fn call(&mut self, at: usize, requested: Option<&[Selector]>) -> Came {
        let Some(Subject { tool, arguments: Ok(arguments), .. }) = self.subjects.get(at) else {
            return Came::Lost("it is not called".to_owned());
        };
        let key = (tool.name.clone(), requested.map(<[Selector]>::to_vec));
        if let Some(came) = self.made.get(&key) {
            return came.clone();
        }
        let came = call(&self.line, &tool.name, arguments, requested, self.options.timeout).await;
        self.made.insert(key, came.clone());
        came
    }

    /// The lines under every earlier revision that the server speaks.
    async fn earlier(&mut self) -> &[Earlier] {
        if self.earlier.is_none() {
            let mut found = Vec::new();
            for revision in Revision::ALL.into_iter().filter(|it| !it.has_output_variants()) {
                let options = ConnectionOptions { newest: revision, ..self.options.connection.clone() };
                // One that is not spoken is answered with another, or not at all.
                let Ok(connection) = connect(self.spec, options).await else { continue };
                if connection.revision() != revision {
                    connection.close().await;
                    continue;
                }
                let by_name =
                    |page: ToolPage| page.tools.into_iter().map(|it| (it.name.clone(), it)).collect();
                let listed = connection.list_tools().await;
                let tools = listed.map(|(page, _)| by_name(page)).map_err(|error| error.to_string());
                found.push(Earlier { connection, tools });
            }
            self.earlier = Some(found);
        }
        self.earlier.as_deref().unwrap_or_default()
    }
}

async fn connect(spec: &ServerSpec, options: ConnectionOptions) -> Result<Connection, ConnectError> {
    let (sender, receiver) = events();
    drop(receiver);
    Connection::open(spec, &options, sender).await
}

async fn call(
    line: &Connection,
    tool: &str,
    arguments: &RawJson,
    requested: Option<&[Selector]>,
    timeout: Duration,
) -> Came {
    let request = CallRequest {
        name: tool.to_owned(),
        arguments: arguments.clone(),
        requested: requested.map(<[Selector]>::to_vec),
    };
    let options = CallOptions { progress: None, cancel: CancellationToken::new(), timeout: Some(timeout) };
    match line.call(&request, options).await {
        Ok(result) => match decode_outcome(line.revision(), &result) {
            Ok((outcome, _)) => Came::Result(Arc::new(outcome)),
            Err(error) => Came::Lost(error.to_string()),
        },
        Err(CallError::Server { code, message, .. }) => Came::Refused { code, message },
        Err(error) => Came::Lost(error.to_string()),
    }
}

fn arguments_of(tool: &Tool, options: &Options) -> Result<RawJson, String> {
    let is_allowed = ["*", &tool.name].iter().any(|it| options.allowed.contains(*it));
    if let Some(why) = arguments::warning(tool).filter(|_| !is_allowed) {
        return Err(format!("{why}; --allow {} lets it be called", tool.name));
    }
    match options.given.get(&tool.name) {
        Some(given) => Ok(given.clone()),
        None => arguments::normal(tool)
            .map_err(|lacks| format!("{lacks}, so --args '{}={{…}}' must give its arguments", tool.name)),
    }
}
