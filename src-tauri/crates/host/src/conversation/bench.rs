//! The View bench: a View of a tool with values that its author writes, and with a host that is as slow, as wrong or as bare as wanted.
//!
//! A View on the bench is a View like any other: its document comes from the server, it has an origin of its own, what it asks passes the
//! same checks, and a call of it is a call of the server, with the usual question. What differs is said in a [`Fixture`].
//! Deliberately absent: a way from the bench into a conversation. Words of a View are answered, and go nowhere.

mod fixture;
mod judge;
mod watch;

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tokio_util::sync::CancellationToken;
use usher_engine::Origin;
use usher_protocol::{RawJson, common::ContentBlock, jsonrpc::ErrorObject, model::Tool};

use self::fixture::Place;
pub(super) use self::watch::Watches;
pub use self::{
    fixture::{Answerer, Ending, Failing, Fault, Fixture, Policy, Surround, VERSION as FIXTURE_VERSION},
    judge::{BenchVerdict, output_schema},
    watch::News,
};
use super::{
    CallRecord, CallState, Host, HostError, HostEvent, Launch, Told,
    live::Live,
    lock,
    servers::Server,
    views::{MAX_ANSWER, Outcome, in_pieces},
};
use crate::app_view::{
    bridge::ViewRequest,
    csp::Mode,
    resource::{self, ViewResource},
    words::Words,
};

/// The longest that an answer is held back, in milliseconds.
const LONGEST_DELAY: u32 = 600_000;

/// A View on the bench.
#[derive(Clone)]
pub(super) struct Bench {
    /// The call that the View would be of. It is kept nowhere, for nobody made it.
    call: CallRecord,
    fixture: Fixture,
    /// What the server gave for its document.
    document: RawJson,
    uri: String,
}

impl Host {
    /// Shows the View of a tool as a fixture says, which is told its input in so many pieces first, as if a model wrote it. The calls that
    /// it makes are recorded in a conversation, which asks for them too.
    ///
    /// # Errors
    /// The server is not there, the tool has no View, its document cannot be shown, or the fixture cannot be sent.
    pub async fn open_bench(
        &self,
        conversation_id: &str,
        server_id: &str,
        fixture: Fixture,
        pieces: u32,
    ) -> Result<Launch, HostError> {
        let live = self.live(conversation_id).await?;
        let (server, tool, uri) = self.bench_tool(server_id, &fixture.tool)?;
        let outcome = sendable(&tool, &fixture)?;
        self.forget_change(server_id);
        let (raw, document) = bench_document(&server, &uri).await?;
        let call = self.bench_call(&live, &server, &tool, &fixture);
        let bench = Bench { call: call.clone(), fixture, document: raw, uri };
        let mode = match bench.fixture.csp {
            Policy::Strict => Mode::Strict,
            Policy::Relaxed => Mode::Relaxed,
        };
        let mut launch = self.launch_bench(&live, &call, &document, mode, (&tool, outcome))?;
        launch.pieces = in_pieces(&call.arguments, pieces);
        lock(&self.0.views).keep_bench(&launch.view_id, bench);
        Ok(launch)
    }

    /// From now on the host answers a View on the bench as another fixture says. What it was told stays.
    ///
    /// # Errors
    /// There is no such View on the bench.
    pub fn change_bench(&self, view_id: &str, fixture: Fixture) -> Result<(), HostError> {
        let mut bench = self.bench(view_id).ok_or_else(|| HostError::unknown("View"))?;
        bench.fixture = fixture;
        lock(&self.0.views).keep_bench(view_id, bench);
        Ok(())
    }

    /// Tells a View on the bench how its call ended, as a fixture says.
    ///
    /// # Errors
    /// There is no such View, its tool is gone, or the fixture does not say how the call ends.
    pub fn end_bench_call(&self, view_id: &str, fixture: Fixture) -> Result<(), HostError> {
        let bench = self.bench(view_id).ok_or_else(|| HostError::unknown("View"))?;
        let (_, tool, _) = self.bench_tool(&bench.call.server_id, &fixture.tool)?;
        let Some(outcome) = sendable(&tool, &fixture)? else {
            return Err(HostError::new(
                "Nothing says how the call ends.",
                "The View still waits.",
                "Choose a result, an error or a cancellation.",
            ));
        };
        let (method, params) = outcome.message();
        self.tell(HostEvent::ViewMessage { view_id: view_id.to_owned(), method: method.to_owned(), params });
        self.change_bench(view_id, fixture)
    }

    /// Judges what a fixture holds by what the tool declares.
    ///
    /// # Errors
    /// The server or the tool is not there.
    pub async fn judge_bench(&self, server_id: &str, fixture: Fixture) -> Result<BenchVerdict, HostError> {
        let (server, tool, _) = self.bench_tool(server_id, &fixture.tool)?;
        let revision = server.revision().ok_or_else(|| HostError::unknown("server"))?;
        // A large value takes a while to walk, and the window waits for other things too.
        let judged = tokio::task::spawn_blocking(move || judge::judge(&tool, revision, &fixture)).await;
        judged.map_err(|error| HostError::new(format!("It was not judged: {error}."), "", "Try again."))
    }

    /// Whether the server gives another document than the one that a View on the bench was started with, and what for.
    pub async fn bench_news(&self, view_id: &str) -> News {
        let Some(bench) = self.bench(view_id) else { return News::Same };
        let unknown = |why: String| News::Unknown(why);
        let Some(server) = self.server(&bench.call.server_id) else {
            return unknown("the server was removed".to_owned());
        };
        let connection = match server.connection() {
            Ok((connection, _)) => connection,
            Err(error) => return unknown(error.in_short()),
        };
        match connection.read_resource_anew(&bench.uri).await {
            Ok(raw) if raw == bench.document => News::Same,
            Ok(_) => News::Changed { file: self.changed_file(&server.id) },
            Err(error) => unknown(server.without_secrets(error).in_short()),
        }
    }

    /// The names of the fixtures in the data folder.
    pub async fn bench_fixtures(&self) -> Vec<String> {
        fixture::names(&self.bench_folder()).await
    }

    /// Opens a fixture by its name in the data folder, or by the path of its file.
    ///
    /// # Errors
    /// There is none there, or it cannot be read.
    pub async fn open_fixture(&self, place: &str) -> Result<Fixture, HostError> {
        Place::of(place, &self.bench_folder(), self.surroundings())?.read().await
    }

    /// Saves a fixture under a name in the data folder, or under a path. Answers where, and its size in bytes.
    ///
    /// # Errors
    /// The name is not one, a file is there that is no fixture, or the disk refuses.
    pub async fn save_fixture(
        &self,
        place: &str,
        fixture: &Fixture,
    ) -> Result<(std::path::PathBuf, u64), HostError> {
        let folder = self.bench_folder();
        let place = Place::of(place, &folder, self.surroundings())?;
        // The folder may be there; whether it can be written is seen when the file is.
        let _made = tokio::fs::create_dir_all(&folder).await;
        place.write(fixture).await
    }

    fn bench_folder(&self) -> std::path::PathBuf {
        self.surroundings().fixtures.clone().unwrap_or_else(|| self.data_dir().join("bench"))
    }

    fn bench(&self, view_id: &str) -> Option<Bench> {
        lock(&self.0.views).bench(view_id)
    }

    fn bench_tool(&self, server_id: &str, tool: &str) -> Result<(Arc<Server>, Arc<Tool>, String), HostError> {
        let server = self.server(server_id).ok_or_else(|| HostError::unknown("server"))?;
        let missing = |why: &str| {
            HostError::new(
                format!("{} {why} {tool:?}.", server.name),
                "Nothing was started.",
                "Start the server, or choose another tool.",
            )
        };
        let found = server.tool(tool).ok_or_else(|| missing("lists no tool"))?;
        let uri = found.ui.as_ref().and_then(|it| it.resource_uri.clone());
        let uri = uri.ok_or_else(|| missing("declares no View for its tool"))?;
        Ok((server, found, uri))
    }

    fn bench_call(&self, live: &Live, server: &Server, tool: &Tool, fixture: &Fixture) -> CallRecord {
        CallRecord {
            id: self.new_id(),
            conversation_id: live.id.clone(),
            item_id: None,
            number: 0,
            server_id: server.id.clone(),
            server_name: server.name.clone(),
            tool: tool.name.clone(),
            title: tool.title.clone(),
            arguments: fixture.input.clone(),
            origin: Origin::User,
            mode: live.mode(),
            model_call: None,
            of_view: None,
            revision: server.revision(),
            requested: None,
            state: CallState::Done,
            started_ms: self.now_ms(),
            ended_ms: None,
            waited_ms: 0,
            deliveries: Vec::new(),
            withheld: Vec::new(),
            defects: Vec::new(),
            shown: Vec::new(),
            view: None,
            told: Told::Nothing,
        }
    }

    /// The call on whose behalf a View on the bench asks; `None` for every other View.
    pub(super) fn bench_asks(&self, view_id: &str) -> Option<CallRecord> {
        self.bench(view_id).map(|it| it.call)
    }

    /// What the bench answers in place of the host, after it held the answer back as long as its fixture says. `None` leaves it to the
    /// host.
    pub(super) async fn bench_answer(
        &self,
        view_id: &str,
        method: &str,
        request: &ViewRequest,
        end: &CancellationToken,
    ) -> Option<Result<RawJson, ErrorObject>> {
        let bench = self.bench(view_id)?;
        if let Some(fault) = bench.fixture.fault(method) {
            let delay = Duration::from_millis(fault.delay_ms.min(LONGEST_DELAY).into());
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                () = end.cancelled() => return Some(Err(refusal("the View does not wait for this any more"))),
            }
            if let Some(fail) = &fault.fail {
                return Some(Err(ErrorObject::new(fail.code.into(), fail.message.clone())));
            }
        }
        match request {
            ViewRequest::CallTool { name, .. } => match bench.fixture.calls {
                Answerer::Server => None,
                Answerer::Fixture => Some(self.answer_of_fixture(&bench, name)),
            },
            ViewRequest::ListTools
            | ViewRequest::List(_)
            | ViewRequest::ReadResource { .. }
            | ViewRequest::Sample { .. }
            | ViewRequest::Ping => None,
            ViewRequest::Message { content } => Some(self.bench_hears(&bench, content, None)),
            // Nothing is to be taken back.
            ViewRequest::UpdateModelContext { content, structured: None } if content.is_empty() => {
                Some(Ok(json!({}).into()))
            }
            ViewRequest::UpdateModelContext { content, structured } => {
                Some(self.bench_hears(&bench, content, structured.as_ref()))
            }
            ViewRequest::OpenLink { .. } | ViewRequest::Download { .. } => Some(Ok(json!({}).into())),
        }
    }

    /// Reads what a View says as the conversation would, and lets nothing of it through.
    fn bench_hears(
        &self,
        bench: &Bench,
        content: &[ContentBlock],
        structured: Option<&RawJson>,
    ) -> Result<RawJson, ErrorObject> {
        let takes_pictures = self.takes_pictures(&bench.call.conversation_id);
        Words::read(content, structured, takes_pictures).map(|it| it.answer())
    }

    fn answer_of_fixture(&self, bench: &Bench, name: &str) -> Result<RawJson, ErrorObject> {
        let Some(value) = bench.fixture.answers.get(name) else {
            return Err(refusal(&format!("the fixture has no answer for {name:?}")));
        };
        let tool = self.server(&bench.call.server_id).and_then(|it| it.tool(name));
        let tool = tool.ok_or_else(|| refusal("the tool is not there any more"))?;
        judge::result(&tool, value, false).map_err(|error| refusal(&error.what))
    }
}

/// How the call ends, if it can be sent to a View.
fn sendable(tool: &Tool, fixture: &Fixture) -> Result<Option<Outcome>, HostError> {
    let outcome = judge::outcome(tool, fixture)?;
    match &outcome {
        Some(Outcome::Result(result)) if result.bytes() > MAX_ANSWER => Err(HostError::new(
            format!("The result has {} bytes; a View is given {MAX_ANSWER} at most.", result.bytes()),
            "Nothing was sent.",
            "Make it smaller.",
        )),
        Some(Outcome::Result(_) | Outcome::Cancelled(_)) | None => Ok(outcome),
    }
}

/// The document of a View as the server gives it now, and what it came as.
async fn bench_document(server: &Server, uri: &str) -> Result<(RawJson, ViewResource), HostError> {
    let refused = |why: String| {
        HostError::new(
            format!("The View's document {uri} cannot be shown: {why}"),
            "What you wrote is kept.",
            "Correct the server, and start the View again.",
        )
    };
    let (connection, _) = server.connection().map_err(|error| refused(format!("{error}.")))?;
    let read = watch::read_anew(&connection, uri).await;
    let (raw, listed) = read.map_err(|error| refused(format!("{}.", server.without_secrets(error))))?;
    let (document, _) =
        resource::read(uri, &raw, listed.as_ref()).map_err(|error| refused(error.to_string()))?;
    Ok((raw, document))
}

fn refusal(why: &str) -> ErrorObject {
    ErrorObject::new(-32000, why)
}
