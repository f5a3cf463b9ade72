//! A host on a stage: a data folder of its own, servers that are real processes, and a scripted model; and what each consumer received,
//! read where that consumer reads it.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use tempfile::TempDir;
use tokio::sync::{mpsc, watch};
use usher_engine::{Mode, ledger::LedgerEntry, selection::Consumers};
use usher_host::{
    connection::{ConnectionOptions, PathSource},
    conversation::{
        Asked, CallRecord, Host, HostEvent, HostOptions, ItemBody, NewModel, Opened, QuestionAnswer,
        QuestionRecord, ScriptLine, ServerStatus, Shown, StoredSpec, Surroundings, TurnState, ViewReply,
    },
    model::{Patience, ToolChoice},
    store::{Approval, ServerRow, Store, StoreOptions},
};

use crate::{
    canaries::forms_in,
    scripted_model::{Answer, ScriptedModel},
};

/// How long anything may take before a test gives up. Only a broken product or machine reaches it.
const LIMIT: Duration = Duration::from_secs(120);

/// The id and name of the server that a stage has.
pub const SERVER: &str = "sample";

/// An id for a request of a View that no other has.
pub fn request_id() -> u32 {
    static LAST: AtomicU32 = AtomicU32::new(0);
    LAST.fetch_add(1, Ordering::Relaxed)
}

/// A server to be configured before the host opens.
#[derive(Debug, Clone)]
pub struct Cast {
    /// Its id, and its name.
    pub id: String,
    /// Its command.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
}

/// What a stage is set with.
#[derive(Debug, Clone)]
pub struct Setting {
    /// The servers.
    pub servers: Vec<Cast>,
    /// Who can receive.
    pub consumers: Consumers,
    /// How servers are spoken to.
    pub connection: ConnectionOptions,
    /// How models are waited for.
    pub patience: Patience,
    /// How the disk is waited for.
    pub store: StoreOptions,
    /// What surrounds the host.
    pub surroundings: Surroundings,
    /// Whether every call of the servers is allowed.
    pub allowed: bool,
}

impl Setting {
    /// The sample server with these switches, everybody there, every call allowed.
    pub fn sample<S: AsRef<str>>(child: &str, switches: &[S]) -> Self {
        let args = std::iter::once("sample-server").chain(switches.iter().map(AsRef::as_ref));
        Self::with(vec![Cast {
            id: SERVER.to_owned(),
            command: child.to_owned(),
            args: args.map(str::to_owned).collect(),
        }])
    }

    /// These servers, everybody there, every call allowed.
    pub fn with(servers: Vec<Cast>) -> Self {
        Self {
            servers,
            consumers: Consumers::WINDOW,
            connection: ConnectionOptions { path: PathSource::Inherited, ..ConnectionOptions::default() },
            patience: Patience {
                attempts: 1,
                pause: Duration::ZERO,
                stall: Duration::from_secs(60),
                ..Patience::default()
            },
            store: StoreOptions::default(),
            surroundings: Surroundings::default(),
            allowed: true,
        }
    }
}

/// A host, and everything that it told.
pub struct Stage {
    /// The host.
    pub host: Host,
    /// What it told so far.
    told: watch::Receiver<Vec<HostEvent>>,
    folder: Folder,
}

enum Folder {
    Own(TempDir),
    Given(PathBuf),
}

impl Stage {
    /// Opens a host on a new data folder.
    pub async fn open(setting: &Setting) -> Self {
        let dir = tempfile::tempdir().unwrap();
        seed(dir.path(), setting).await;
        Self::enter(Folder::Own(dir), setting).await
    }

    /// Opens a host on a given folder that holds nothing yet.
    pub async fn open_in(dir: &Path, setting: &Setting) -> Self {
        seed(dir, setting).await;
        Self::reopen(dir, setting).await
    }

    /// Opens a host on a data folder that is there already.
    pub async fn reopen(dir: &Path, setting: &Setting) -> Self {
        Self::enter(Folder::Given(dir.to_owned()), setting).await
    }

    async fn enter(folder: Folder, setting: &Setting) -> Self {
        let dir = match &folder {
            Folder::Own(dir) => dir.path().to_owned(),
            Folder::Given(dir) => dir.clone(),
        };
        let (host, mut events) = Host::open(options(dir, setting)).await.unwrap();
        let (all, told) = watch::channel(Vec::new());
        tokio::spawn(async move { follow(&mut events, &all).await });
        Self { host, told, folder }
    }

    /// The data folder.
    pub fn dir(&self) -> &Path {
        match &self.folder {
            Folder::Own(dir) => dir.path(),
            Folder::Given(dir) => dir,
        }
    }

    /// Ends the host and keeps its data folder.
    pub async fn close(self) -> Option<TempDir> {
        within(self.host.shut_down()).await;
        match self.folder {
            Folder::Own(dir) => Some(dir),
            Folder::Given(_) => None,
        }
    }

    /// Waits until a server is connected.
    pub async fn ready(&self, server: &str) -> ServerStatus {
        within(self.host.server_ready(server)).await.unwrap()
    }

    /// A conversation with a scripted model.
    pub async fn conversation(&self, mode: Mode, model: &ScriptedModel) -> String {
        self.conversation_of(mode, model, 131_072).await
    }

    /// A conversation with a scripted model whose context has so many tokens.
    pub async fn small_conversation(&self, model: &ScriptedModel, context_tokens: u64) -> String {
        self.conversation_of(Mode::Chat, model, context_tokens).await
    }

    async fn conversation_of(&self, mode: Mode, model: &ScriptedModel, context_tokens: u64) -> String {
        let entry = self
            .host
            .save_model(NewModel {
                provider: "scripted".to_owned(),
                base_url: model.base_url(),
                name: "scripted-1".to_owned(),
                context_tokens: Some(context_tokens),
                takes_images: true,
                ..NewModel::default()
            })
            .await
            .unwrap();
        self.host.create_conversation(Some(mode), Some(entry.id)).await.unwrap().id
    }

    /// Why a new conversation is refused.
    ///
    /// # Panics
    /// If it is not.
    pub async fn conversation_refused(&self, model: &ScriptedModel) -> String {
        let id = self
            .host
            .models()
            .into_iter()
            .find(|it| it.base_url.starts_with(&model.base_url()))
            .map(|it| it.id);
        self.host.create_conversation(Some(Mode::Chat), id).await.unwrap_err().to_string()
    }

    /// Sends a message and waits until the turn has ended.
    pub async fn turn(&self, conversation: &str, text: &str) -> Opened {
        self.host.send_message(conversation, text, ToolChoice::Auto).await.unwrap();
        self.ended(conversation).await
    }

    /// Waits until the turn has ended.
    pub async fn ended(&self, conversation: &str) -> Opened {
        within(self.host.turn_ended(conversation)).await;
        self.opened(conversation).await
    }

    /// The conversation as it stands.
    pub async fn opened(&self, conversation: &str) -> Opened {
        self.host.open_conversation(conversation).await.unwrap()
    }

    /// Waits for something that the host tells.
    pub async fn told<T>(&self, mut find: impl FnMut(&HostEvent) -> Option<T>) -> T {
        let mut told = self.told.clone();
        let mut seen = 0;
        within(async {
            loop {
                let found = {
                    let all = told.borrow_and_update();
                    let found = all[seen..].iter().find_map(&mut find);
                    seen = all.len();
                    found
                };
                if let Some(found) = found {
                    return found;
                }
                told.changed().await.unwrap();
            }
        })
        .await
    }

    /// The question that waits for the user, once there is one.
    pub async fn question(&self) -> QuestionRecord {
        self.told(|_| self.host.questions().into_iter().next()).await
    }

    /// Waits for a question of a View, asserts that it is the only one, and answers it.
    pub async fn answer(&self, answer: QuestionAnswer) -> Asked {
        let question = self.question().await;
        assert_eq!(self.host.questions().len(), 1, "one question stands in the window");
        self.host.answer_question(&question.id, answer).unwrap();
        question.asked
    }

    /// The first call, once it is on the wire.
    pub async fn running_call(&self) -> String {
        let id = self
            .told(|event| match event {
                HostEvent::Item { call: Some(call), .. } => Some(call.id.clone()),
                _ => None,
            })
            .await;
        // The line is on the wire a moment after the call was recorded.
        within(async {
            while !self.host.wire_lines(Some(SERVER), 0, 10_000).iter().any(|it| it.title == "tools/call") {
                tokio::task::yield_now().await;
            }
        })
        .await;
        id
    }

    /// Asks the host as a View does.
    pub async fn ask(&self, view: &str, method: &str, params: &serde_json::Value) -> ViewReply {
        within(self.host.view_request(view, request_id(), method, &params.to_string())).await.unwrap()
    }

    /// How many messages of this title the wire of the server has.
    pub fn on_the_wire(&self, title: &str) -> usize {
        self.host.wire_lines(Some(SERVER), 0, 10_000).iter().filter(|it| it.title == title).count()
    }

    /// Everything that the host told so far.
    pub fn events(&self) -> Vec<HostEvent> {
        self.told.borrow().clone()
    }

    /// Runs a script of the user. Gives what it returned, or how it failed, and what it printed.
    pub async fn script(&self, conversation: &str, source: &str) -> (Result<String, String>, Vec<String>) {
        let run = self.host.run_script(conversation, source.to_owned()).await.unwrap();
        let mut printed = Vec::new();
        let end = self
            .told(|event| match event {
                HostEvent::Script { run_id, line } if *run_id == run => match line {
                    ScriptLine::Log(_, text) => {
                        printed.push(text.clone());
                        None
                    }
                    ScriptLine::Call { .. } => None,
                    ScriptLine::Returned(json) => Some(Ok(json.clone())),
                    ScriptLine::Failed(why) | ScriptLine::Stopped(why) => Some(Err(why.clone())),
                },
                _ => None,
            })
            .await;
        (end, printed)
    }

    /// Everything that the user can see of a conversation: texts, and the payloads that are shown.
    pub async fn user_sees(&self, conversation: &str) -> Vec<u8> {
        let opened = self.opened(conversation).await;
        let mut seen = Vec::new();
        for item in &opened.items {
            if matches!(item.body, ItemBody::User | ItemBody::Assistant(_) | ItemBody::Note) {
                seen.extend_from_slice(item.text.as_bytes());
                seen.push(b'\n');
            }
        }
        for item in &opened.items {
            let ItemBody::Brought(brought) = &item.body else { continue };
            for part in &brought.messages {
                seen.extend_from_slice(self.host.payload(&part.handle).await.unwrap().get().as_bytes());
                seen.push(b'\n');
            }
        }
        for call in opened.calls.values() {
            for shown in &call.shown {
                let (Shown::Blocks { handle }
                | Shown::Table { handle, .. }
                | Shown::Properties { handle, .. }
                | Shown::Json { handle, .. }) = shown;
                seen.extend_from_slice(self.host.payload(handle).await.unwrap().get().as_bytes());
                seen.push(b'\n');
            }
        }
        seen
    }

    /// Everything that crosses to the Views of a conversation: what they are started with, and what they are told.
    pub async fn views_receive(&self, conversation: &str) -> Vec<u8> {
        let mut crossed = String::new();
        for call in self.opened(conversation).await.calls.values().filter(|it| it.view.is_some()) {
            let launch = self.host.open_view(&call.id).await.unwrap();
            crossed.push_str(launch.tool.get());
            crossed.push_str(launch.input.as_ref().expect("the call has its input").get());
            if let Some(result) = launch.result() {
                crossed.push_str(result.get());
            }
        }
        for event in self.events() {
            if let HostEvent::ViewMessage { params, .. } | HostEvent::ViewCall { params: Some(params), .. } =
                event
            {
                crossed.push_str(&params);
            }
        }
        crossed.into_bytes()
    }

    /// What a turn ended with, as the user reads it; none when it ended well.
    pub async fn failure(&self, conversation: &str) -> Option<String> {
        match self.opened(conversation).await.turn {
            TurnState::Failed(it) => Some(format!("{} {} {}", it.what, it.safe, it.todo)),
            TurnState::Idle
            | TurnState::Waiting
            | TurnState::Streaming
            | TurnState::Tools { .. }
            | TurnState::Approval { .. } => None,
        }
    }
}

/// Where the canaries of a sample server may stand, in the order of the proposal's audiences.
pub const PLACES: [&str; 11] = [
    "assistant-content",
    "assistant-structured",
    "user-content",
    "user-structured",
    "programmatic-structured",
    "ui-structured",
    "meta",
    "uimeta",
    "schema-assistant",
    "schema-user",
    "schema-programmatic",
];

/// The canary of a place.
pub fn canary(place: &str, seed: &str) -> String {
    format!("canary-{place}-{seed}")
}

/// Which canaries each consumer received, one consumer a line.
pub fn reach(seed: &str, consumers: &[(&str, &[u8])]) -> String {
    let mut lines = Vec::new();
    for (name, bytes) in consumers {
        let mut found: Vec<String> = Vec::new();
        for place in PLACES {
            for form in forms_in(bytes, &canary(place, seed)) {
                found.push(match form {
                    crate::canaries::Form::Plain => place.to_owned(),
                    other => format!("{place} {other}"),
                });
            }
        }
        let what = if found.is_empty() { "nothing".to_owned() } else { found.join(", ") };
        lines.push(format!("{name}: {what}"));
    }
    lines.join("\n")
}

/// The bodies that a model was sent, one after the other.
pub fn bodies(model: &ScriptedModel) -> Vec<u8> {
    model.received().into_iter().flat_map(|it| it.body).collect()
}

/// The only call of a conversation.
///
/// # Panics
/// If there is another number of calls.
pub fn the_call(opened: &Opened) -> &CallRecord {
    let mut calls = opened.calls.values();
    let first = calls.next().expect("a call");
    assert!(calls.next().is_none(), "there is more than one call");
    first
}

/// The lines of a conversation's ledger, as the debug panel says them, each with its rule.
pub fn ledger(opened: &Opened) -> Vec<String> {
    opened
        .ledger
        .iter()
        .filter(|it| !matches!(it.entry, LedgerEntry::Sent { .. }))
        .map(|it| {
            let line = it.entry.line();
            line.rule.map_or_else(|| line.text.clone(), |rule| format!("{} [{rule}]", line.text))
        })
        .collect()
}

/// The rules that decided against something in a conversation, each once, in the order in which they did.
pub fn rules(opened: &Opened) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for row in &opened.ledger {
        let rule = match &row.entry {
            LedgerEntry::Defect(_) | LedgerEntry::Validated { .. } | LedgerEntry::Withheld { .. } => {
                row.entry.line().rule
            }
            _ => None,
        };
        found.extend(rule.map(|it| it.id().to_owned()).filter(|it| !found.contains(it)));
    }
    found
}

/// A model that calls one tool and then says that it is done.
pub async fn model_that_calls(tool: &'static str, arguments: serde_json::Value) -> ScriptedModel {
    let answers: [Answer; 2] =
        [crate::scripted_model::call([(tool, arguments)]), crate::scripted_model::say(["Done", "."])];
    ScriptedModel::start(answers).await
}

/// Waits for something, within reason.
pub async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(LIMIT, work).await.expect("this takes much too long")
}

async fn follow(events: &mut mpsc::UnboundedReceiver<HostEvent>, all: &watch::Sender<Vec<HostEvent>>) {
    while let Some(event) = events.recv().await {
        all.send_modify(|it| it.push(event));
    }
}

fn options(data_dir: PathBuf, setting: &Setting) -> HostOptions {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_millis());
    let counter = AtomicU64::new(0);
    // Ids of one run must not be those of an earlier one on the same folder.
    let run = uuid::Uuid::now_v7().simple().to_string();
    HostOptions {
        by_command: false,
        data_dir,
        own_program: String::new(),
        consumers: setting.consumers,
        connection: setting.connection.clone(),
        store: setting.store.clone(),
        patience: setting.patience,
        surroundings: setting.surroundings.clone(),
        clock: Arc::new(move || i64::try_from(now()).unwrap_or(i64::MAX)),
        ids: Arc::new(move || format!("{run}-{}", counter.fetch_add(1, Ordering::Relaxed))),
    }
}

/// Sets preferences, servers and approvals, as a user did before.
async fn seed(dir: &Path, setting: &Setting) {
    let store = Store::open(dir, &StoreOptions::default()).unwrap().store;
    store.put_setting("preferences", "{}").await.unwrap();
    store.close().await.unwrap();
    add_servers(dir, setting).await;
}

/// Writes the servers and approvals of a setting into a data folder that nobody has open. No server is started.
pub async fn add_servers(dir: &Path, setting: &Setting) {
    let store = Store::open(dir, &StoreOptions::default()).unwrap().store;
    for (sort, cast) in (0..).zip(&setting.servers) {
        let spec = StoredSpec::stdio(cast.command.clone(), cast.args.clone());
        let row = ServerRow {
            id: cast.id.clone(),
            name: cast.id.clone(),
            spec: serde_json::to_string(&spec).unwrap(),
            enabled: true,
            era: None,
            sort,
        };
        store.put_server(row).await.unwrap();
        if setting.allowed {
            let everything = Approval {
                server_id: cast.id.clone(),
                tool: None,
                rule: "allow".to_owned(),
                definition_hash: None,
            };
            store.put_approval(everything).await.unwrap();
        }
    }
    store.close().await.unwrap();
}

/// What the process to be killed does: opens a host on a folder, asks the model at an address, and prints every piece of text that it
/// was told of, after it was told of it.
///
/// # Panics
/// If it cannot; its parent sees that nothing is printed.
pub fn run_until_killed(arguments: Vec<String>) {
    let [dir, base_url, conversation] =
        arguments.try_into().expect("a folder, an address and a conversation");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async move {
        let setting = Setting::with(Vec::new());
        let (host, mut events) = Host::open(options(PathBuf::from(dir), &setting)).await.unwrap();
        let conversation = if conversation == "new" {
            let new = NewModel { base_url, name: "scripted-1".to_owned(), ..NewModel::default() };
            let model = host.save_model(new).await.unwrap();
            host.create_conversation(Some(Mode::Chat), Some(model.id)).await.unwrap().id
        } else {
            let id = host.models().into_iter().rfind(|it| !it.is_demo).map(|it| it.id);
            let new = NewModel { id, base_url, name: "scripted-1".to_owned(), ..NewModel::default() };
            host.save_model(new).await.unwrap();
            conversation
        };
        let mut out = std::io::stdout();
        writeln!(out, "conversation {conversation}").unwrap();
        host.send_message(&conversation, "Tell me a long story.", ToolChoice::Auto).await.unwrap();
        while let Some(event) = events.recv().await {
            if let HostEvent::Text { text, .. } = event {
                writeln!(out, "shown {}", serde_json::to_string(&text).unwrap()).unwrap();
                out.flush().unwrap();
            }
        }
    });
}

/// What the process to be killed in the middle of a call does: opens a host on an empty folder with the sample server, which hangs, asks
/// the model at an address, and prints the conversation and the call once the call runs.
///
/// # Panics
/// If it cannot; its parent sees that nothing is printed.
pub fn run_in_a_call(arguments: Vec<String>) {
    let [dir, base_url] = arguments.try_into().expect("a folder and an address");
    let own = std::env::current_exe().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async move {
        let setting = Setting::sample(&own.to_string_lossy(), &["--hang"]);
        let stage = Stage::open_in(Path::new(&dir), &setting).await;
        stage.ready(SERVER).await;
        let new = NewModel { base_url, name: "scripted-1".to_owned(), ..NewModel::default() };
        let model = stage.host.save_model(new).await.unwrap();
        let conversation = stage.host.create_conversation(Some(Mode::Chat), Some(model.id)).await.unwrap().id;
        stage.host.send_message(&conversation, "Search.", ToolChoice::Auto).await.unwrap();
        let call = stage.running_call().await;
        let mut out = std::io::stdout();
        writeln!(out, "{conversation} {call}").unwrap();
        out.flush().unwrap();
        std::future::pending::<()>().await;
    });
}
