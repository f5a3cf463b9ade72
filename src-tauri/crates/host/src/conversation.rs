//! Conversations: the only place that composes servers, models, scripts, Views and the disk.
//!
//! A [`Host`] is everything that runs behind the window. It owns the truth, writes it to disk before it shows it, and tells what changed
//! through [`HostEvent`]s. Deliberately absent: any decision about audiences, which the engine makes, and any drawing.

mod approval;
mod begun;
mod bench;
mod call;
mod doors;
mod event;
mod exchange;
mod fetched;
mod folding;
mod history;
mod live;
mod models;
mod outputs;
mod prompts;
mod questions;
mod record;
mod resources;
mod sampling;
mod scripting;
mod servers;
mod settle;
mod surroundings;
mod template;
mod trust;
mod turn;
mod view_tools;
mod views;

pub use approval::{ApprovalChoice, ApprovalRule};
pub use bench::{
    Answerer, BenchVerdict, Ending, FIXTURE_VERSION, Failing, Fault, Fixture, News, Policy, Surround,
    output_schema,
};
pub use call::{CallEnd, CallOrder, Heard};
pub use event::{
    ExchangeRecord, FailureKind, HostEvent, LedgerRecord, Measure, Notice, NoticeLevel, ScriptLine, Share,
    SourceKind, SpanRecord, Summary, TurnFailure, TurnState,
};
pub use fetched::{Fetched, FetchedPart};
pub use live::{CustomChoice, Opened};
pub use models::{DEMO_MODEL, ModelEntry, NewModel};
pub use outputs::{ExchangeBytes, PayloadSlice, SaveFormat};
pub use prompts::{ListedPrompt, PromptList};
pub use questions::{
    Asked, Choice, Field, FieldKind, QuestionAnswer, QuestionRecord, ViewAsker, ViewFile, ViewFileBody,
    ViewPicture, ViewPictures,
};
pub use record::*;
pub use resources::{ListedResource, ListedTemplate, ResourceList};
pub use sampling::{SampleAnswer, SampleMessage, SampleRequest};
pub use servers::{
    Channel, KnownList, ListChoice, ListReview, ListSource, ListedTool, ReviewedServer, ServerPhase,
    ServerStatus, SignIn, StoredLaunch, StoredPair, StoredSpec, Trial, WireRecord, quoted,
};
pub use surroundings::{Open, Surroundings};
pub use trust::ServerTrust;
pub use turn::Preview;
pub use views::{Launch, Outcome as ViewOutcome, PageLoss, Tunnel, ViewAccess, ViewReply, WishState};

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use usher_engine::{routing::LegacyPolicy, selection::Consumers, validation::SchemaCache};

use self::{
    approval::Approvals, fetched::FetchedShelf, live::Live, models::Models, outputs::PayloadCache,
    questions::Questions, resources::Subscriptions, scripting::Scripts, servers::Server, servers::WireLog,
    views::Views,
};
use crate::{
    connection::ConnectionOptions,
    model::{Endpoint, LocalModels, ModelClient, Patience, Secret},
    store::{Store, StoreError, StoreOptions, Written},
};

/// What a host is opened with.
pub struct HostOptions {
    /// Where data is kept.
    pub data_dir: PathBuf,
    /// This program, which serves the sample server as `sample-server`.
    pub own_program: String,
    /// Whether the command line opened it, so that its conversations can be told from those of the window.
    pub by_command: bool,
    /// Who can receive outputs here.
    pub consumers: Consumers,
    /// How servers are spoken to.
    pub connection: ConnectionOptions,
    /// How the disk is waited for.
    pub store: StoreOptions,
    /// How models are waited for.
    pub patience: Patience,
    /// What surrounds the host on this computer.
    pub surroundings: Surroundings,
    /// Milliseconds since 1970.
    pub clock: Arc<dyn Fn() -> i64 + Send + Sync>,
    /// Gives a fresh id each time.
    pub ids: Arc<dyn Fn() -> String + Send + Sync>,
}

/// What the user chose for the whole application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Preferences {
    /// `system`, `light` or `dark`.
    pub theme: String,
    /// Send no selection when only the fallback is wanted.
    pub omit_fallback_selection: bool,
    /// Do not ask for structured variants that declare no schema (rule H18).
    pub decline_schemaless: bool,
    /// The tour was seen.
    pub tour_done: bool,
}

impl Default for Preferences {
    fn default() -> Self {
        Self {
            theme: "system".to_owned(),
            omit_fallback_selection: false,
            decline_schemaless: false,
            tour_done: false,
        }
    }
}

/// Something that was asked of the host could not be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {safe} {todo}")]
pub struct HostError {
    /// What happened.
    pub what: String,
    /// What is safe.
    pub safe: String,
    /// What to do.
    pub todo: String,
}

impl HostError {
    pub(crate) fn new(what: impl Into<String>, safe: impl Into<String>, todo: impl Into<String>) -> Self {
        Self { what: what.into(), safe: safe.into(), todo: todo.into() }
    }

    /// Why a data folder could not be opened: nothing of this run waits to be written yet, so nobody has to stay for it.
    fn at_open(error: StoreError) -> Self {
        let Self { what, todo, .. } = Self::from(error);
        let todo = todo.trim_end_matches(" Do not quit Usher before.").to_owned();
        Self { what, safe: "Nothing was changed.".to_owned(), todo }
    }

    pub(crate) fn unknown(what: &str) -> Self {
        Self::new(format!("That {what} is not there any more."), "Nothing was changed.", "Choose another.")
    }
}

impl From<StoreError> for HostError {
    fn from(error: StoreError) -> Self {
        Self::new(error.what(), error.safe(), error.todo())
    }
}

/// Everything that runs behind the window; cheap to clone.
#[derive(Clone)]
pub struct Host(Arc<Inner>);

struct Inner {
    options: HostOptions,
    store: Store,
    events: mpsc::UnboundedSender<HostEvent>,
    client: ModelClient,
    first_run: bool,
    opened_ms: i64,
    ledger_seq: Mutex<i64>,
    preferences: Mutex<Preferences>,
    servers: Mutex<BTreeMap<String, Arc<Server>>>,
    wire: Mutex<WireLog>,
    models: Mutex<Models>,
    approvals: Mutex<Approvals>,
    live: Mutex<BTreeMap<String, Arc<Live>>>,
    legacy: Mutex<BTreeMap<(String, String), LegacyPolicy>>,
    schemas: Mutex<SchemaCache>,
    payloads: Mutex<PayloadCache>,
    scripts: Mutex<Scripts>,
    views: Mutex<Views>,
    questions: Mutex<Questions>,
    /// How often the server of a call asked the model during it.
    samples: Mutex<BTreeMap<String, u32>>,
    trust: Mutex<trust::Trust>,
    access: views::grants::Access,
    fetched: Mutex<FetchedShelf>,
    subscriptions: Mutex<Subscriptions>,
    watches: Mutex<bench::Watches>,
}

const PREFERENCES: &str = "preferences";

impl Host {
    /// Opens the data folder, marks what an earlier run left unfinished, and starts the servers in the background.
    ///
    /// # Errors
    /// The data folder cannot be used, or another Usher uses it.
    pub async fn open(options: HostOptions) -> Result<(Self, mpsc::UnboundedReceiver<HostEvent>), HostError> {
        let (dir, store_options) = (options.data_dir.clone(), options.store.clone());
        let opened = tokio::task::spawn_blocking(move || Store::open(&dir, &store_options)).await.map_err(
            |error| {
                HostError::new(format!("The data folder could not be opened: {error}."), "", "Try again.")
            },
        )?;
        let opened = opened.map_err(HostError::at_open)?;
        let client = ModelClient::new(options.patience).map_err(|error| {
            HostError::new(
                error.to_string(),
                "Your conversations are safe.",
                "Check the system's certificates.",
            )
        })?;
        let (events, receiver) = mpsc::unbounded_channel();
        let store = opened.store;
        let preferences: Option<Preferences> =
            store.setting(PREFERENCES).await?.and_then(|it| serde_json::from_str(&it).ok());
        let first_run = preferences.is_none();
        let inner = Inner {
            opened_ms: (options.clock)(),
            ledger_seq: Mutex::new(store.next_ledger_seq().await?),
            preferences: Mutex::new(preferences.unwrap_or_default()),
            models: Mutex::new(Models::load(&store).await?),
            approvals: Mutex::new(Approvals::load(&store).await?),
            legacy: Mutex::new(load_legacy_policies(&store).await?),
            servers: Mutex::default(),
            wire: Mutex::default(),
            live: Mutex::default(),
            schemas: Mutex::default(),
            payloads: Mutex::default(),
            scripts: Mutex::default(),
            views: Mutex::default(),
            questions: Mutex::default(),
            samples: Mutex::default(),
            trust: Mutex::new(trust::load(&store).await?),
            access: views::grants::load(&store).await?,
            fetched: Mutex::default(),
            subscriptions: Mutex::default(),
            watches: Mutex::default(),
            options,
            store,
            events,
            client,
            first_run,
        };
        let host = Self(Arc::new(inner));
        for (n, notice) in opened.notices.into_iter().enumerate() {
            host.notice(format!("open-{n}"), NoticeLevel::Warning, (notice.what, notice.safe, notice.todo));
        }
        host.settle_unfinished().await?;
        host.start_servers().await?;
        tokio::spawn(host.clone().watch_disk());
        Ok((host, receiver))
    }

    async fn start_servers(&self) -> Result<(), HostError> {
        let mut rows = self.store().servers().await?;
        if self.is_first_run() && rows.is_empty() {
            let spec = StoredSpec::built_in(vec!["sample-server".to_owned()]);
            let row = crate::store::ServerRow {
                id: "sample".to_owned(),
                name: "Sample".to_owned(),
                spec: serde_json::to_string(&spec).unwrap_or_default(),
                enabled: true,
                era: None,
                sort: 0,
            };
            self.store().put_server(row.clone()).await?;
            self.save_preferences(Preferences::default()).await?;
            rows.push(row);
        }
        for row in rows {
            self.keep_server(row);
        }
        Ok(())
    }

    /// Says when the disk takes nothing any more, and when it does again.
    async fn watch_disk(self) {
        const ID: &str = "disk";
        const SAFE: &str = "Nothing that you were shown is lost: what was stored is untouched, and what came since waits in memory \
                            and is written as soon as that works.";
        let mut health = self.store().health();
        let mut told = None;
        while health.changed().await.is_ok() {
            let now = health.borrow_and_update().trouble.clone();
            // How much waits changes with every word of an answer; the notice is of the trouble, and one is enough.
            if now == told {
                continue;
            }
            match &now {
                Some(trouble) => {
                    let what = call::sentence(&trouble.to_string());
                    self.notice(ID, NoticeLevel::Error, (what, SAFE.to_owned(), trouble.todo().to_owned()));
                }
                None => self.tell(HostEvent::NoticeCleared(ID.to_owned())),
            }
            told = now;
        }
    }

    /// Stops what runs, ends the servers and closes the data folder.
    pub async fn shut_down(&self) {
        let live: Vec<Arc<Live>> = self.live_map().values().cloned().collect();
        for conversation in &live {
            conversation.stop();
        }
        self.close_views();
        self.stop_scripts();
        self.end_servers().await;
        for conversation in &live {
            conversation.settled().await;
        }
        if let Err(error) = self.store().close().await {
            tracing::error!(%error, "the data folder could not be closed");
        }
    }

    /// What the user chose.
    pub fn preferences(&self) -> Preferences {
        lock(&self.0.preferences).clone()
    }

    /// Keeps what the user chose.
    ///
    /// # Errors
    /// The disk refuses.
    pub async fn save_preferences(&self, preferences: Preferences) -> Result<(), HostError> {
        let json = serde_json::to_string(&preferences).unwrap_or_default();
        self.store().refusing().put_setting(PREFERENCES, json).await?;
        *lock(&self.0.preferences) = preferences;
        Ok(())
    }

    /// Whether the data folder was new.
    pub fn is_first_run(&self) -> bool {
        self.0.first_run
    }

    /// Where data is kept.
    pub fn data_dir(&self) -> &std::path::Path {
        self.store().dir()
    }

    /// Whether something that began then belongs to this run of the application.
    pub fn is_of_this_run(&self, started_ms: i64) -> bool {
        started_ms >= self.0.opened_ms
    }

    /// The names of the models that an endpoint lists.
    ///
    /// # Errors
    /// It does not answer, or not as an endpoint of a model.
    pub async fn list_models(&self, base_url: &str, key: Option<&str>) -> Result<Vec<String>, HostError> {
        let base_url = models::read_address(base_url)?;
        let key = key.filter(|it| !it.trim().is_empty()).map(Secret::new);
        let listed = self.0.client.models(&Endpoint::Http { base_url, key }).await;
        listed.map_err(|error| HostError::new(error.to_string(), error.safe(), error.todo()))
    }

    /// The model endpoints that answer on the usual ports of this machine.
    pub async fn find_local_models(&self) -> Vec<LocalModels> {
        self.0.client.find_local().await
    }

    fn store(&self) -> &Store {
        &self.0.store
    }

    fn now_ms(&self) -> i64 {
        (self.0.options.clock)()
    }

    fn new_id(&self) -> String {
        (self.0.options.ids)()
    }

    fn own_program(&self) -> String {
        self.0.options.own_program.clone()
    }

    fn surroundings(&self) -> &Surroundings {
        &self.0.options.surroundings
    }

    /// Where secrets are kept.
    pub fn secrets_kept(&self) -> crate::store::SecretsKept {
        self.store().secrets().kept()
    }

    /// How servers are spoken to. Without a frame for Views they are told of none (X7).
    fn connection_options(&self) -> ConnectionOptions {
        let options = self.0.options.connection.clone();
        ConnectionOptions { ui_extension: options.ui_extension && self.consumers().view, ..options }
    }

    fn consumers(&self) -> Consumers {
        self.0.options.consumers
    }

    fn tell(&self, event: HostEvent) {
        // Whoever showed it is gone: then nobody misses it.
        let _ = self.0.events.send(event);
    }

    fn notice(
        &self,
        id: impl Into<String>,
        level: NoticeLevel,
        (what, safe, todo): (String, String, String),
    ) {
        self.tell(HostEvent::Notice(Notice { id: id.into(), level, what, safe, todo }));
    }

    /// For writes that the store keeps and repeats by itself; the disk's health is told elsewhere.
    fn keep_writing(&self, written: Written) {
        tokio::spawn(async move {
            if let Err(error) = written.await {
                tracing::warn!(%error, "a write waits");
            }
        });
    }

    fn servers(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Server>>> {
        lock(&self.0.servers)
    }

    fn servers_mut(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Server>>> {
        self.servers()
    }

    fn wire_log(&self) -> MutexGuard<'_, WireLog> {
        lock(&self.0.wire)
    }

    fn live_map(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Live>>> {
        lock(&self.0.live)
    }
}

impl Host {
    /// Chooses how results of earlier revisions reach the model, for one tool.
    ///
    /// # Errors
    /// The disk refuses.
    pub async fn set_legacy_policy(
        &self,
        server_id: &str,
        tool: &str,
        policy: LegacyPolicy,
    ) -> Result<(), HostError> {
        let word = serde_json::to_string(&policy).unwrap_or_default();
        let row = crate::store::LegacyPolicy {
            server_id: server_id.to_owned(),
            tool: tool.to_owned(),
            policy: word,
        };
        self.store().refusing().put_legacy_policy(row).await?;
        lock(&self.0.legacy).insert((server_id.to_owned(), tool.to_owned()), policy);
        if let Some(server) = self.server(server_id) {
            self.tell(HostEvent::Server(Box::new(server.status())));
        }
        Ok(())
    }

    /// The policy that the user set for a tool, if any.
    pub fn legacy_policy(&self, server_id: &str, tool: &str) -> Option<LegacyPolicy> {
        lock(&self.0.legacy).get(&(server_id.to_owned(), tool.to_owned())).copied()
    }
}

async fn load_legacy_policies(store: &Store) -> Result<BTreeMap<(String, String), LegacyPolicy>, StoreError> {
    let rows = store.legacy_policies().await?;
    let read = |row: crate::store::LegacyPolicy| {
        Some(((row.server_id, row.tool), serde_json::from_str(&row.policy).ok()?))
    };
    Ok(rows.into_iter().filter_map(read).collect())
}

/// A panic of another holder leaves data that is still the best there is.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
