//! Usher as the window sees it: the host's events in order, and its answers to the window's commands.

use std::{
    collections::{BTreeMap, VecDeque},
    ffi::OsString,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::mpsc;
use usher_engine::selection::Consumers;
use usher_host::{
    app_view::resource::Permissions,
    connection::{ConnectionOptions, Offers},
    conversation::{Host, HostError, HostEvent, HostOptions, Surroundings},
    store::{SecretPlace, StoreOptions},
};

use super::{
    ApiError, BatchSink, PageLoss, WindowHost, access, asked,
    serve::Served,
    types::{BenchStart, ConversationSummary, NoticeView, Snapshot, UiBatch, UiEvent},
    view,
};

/// How many events are kept for a page that comes back after a gap.
const KEPT_EVENTS: usize = 4_096;
/// How long events are gathered into one batch: a frame.
const FRAME: Duration = Duration::from_millis(16);
/// How long the window may take to end its Views when it closes; each has a second to put its things away.
const LEAVE: Duration = Duration::from_millis(1_200);

/// What everything behind the window is opened with.
pub struct UsherOptions {
    /// Where data is kept; the system's place for it by default.
    pub data_dir: Option<PathBuf>,
    /// Who can receive outputs here.
    pub consumers: Consumers,
    /// This program.
    pub own_program: String,
    /// Whether the command line opens it.
    pub by_command: bool,
    /// Whether a person is there who can be asked for what a server wants to know.
    pub can_ask: bool,
    /// Whether servers that are on are started.
    pub starts_servers: bool,
    /// Where secrets are kept.
    pub secrets: SecretPlace,
    /// Whether the folder is gone when this ends. Then secrets are in it too, and nothing waits for the disk.
    pub passing: bool,
    /// Where fixtures of the bench are kept that have a name, if not in the data folder.
    pub fixtures: Option<PathBuf>,
}

impl UsherOptions {
    /// The folder of the user's data: `USHER_DATA_DIR`, or the system's place for application data.
    pub fn folder(&self) -> PathBuf {
        let named = self.data_dir.clone().or_else(|| std::env::var_os("USHER_DATA_DIR").map(PathBuf::from));
        named.unwrap_or_else(|| dirs::data_local_dir().unwrap_or_else(std::env::temp_dir).join("usher"))
    }

    /// As the host takes them.
    pub fn host_options(&self) -> HostOptions {
        HostOptions {
            data_dir: self.folder(),
            own_program: self.own_program.clone(),
            by_command: self.by_command,
            consumers: self.consumers,
            connection: ConnectionOptions {
                // Where nobody can be asked, a server hears that it need not ask. Folders need no question, and only the window
                // shows what a model is sent and writes.
                offers: Offers {
                    forms: self.can_ask,
                    urls: self.can_ask,
                    sampling: !self.by_command,
                    roots: true,
                    questions: None,
                },
                ..ConnectionOptions::default()
            },
            store: match self.passing {
                true => StoreOptions { lasting: false, ..StoreOptions::default() },
                false => StoreOptions { secrets: self.secrets.clone(), ..StoreOptions::default() },
            },
            surroundings: self.surroundings(),
            patience: usher_host::model::Patience::default(),
            clock: Arc::new(now_ms),
            ids: Arc::new(|| uuid::Uuid::now_v7().to_string()),
        }
    }
}

impl UsherOptions {
    fn surroundings(&self) -> Surroundings {
        Surroundings {
            home: dirs::home_dir(),
            config: dirs::config_dir(),
            downloads: Some(super::answers::downloads()),
            // A window is in no folder; a command is where it was typed.
            project: std::env::current_dir().ok().filter(|_| self.by_command),
            started_in: std::env::current_dir().ok(),
            fixtures: self.fixtures.clone(),
            env: Arc::new(|| {
                let text = |(name, value): (OsString, OsString)| {
                    Some((name.into_string().ok()?, value.into_string().ok()?))
                };
                std::env::vars_os().filter_map(text).collect()
            }),
            open: Arc::new(|url| open::that_detached(url).map_err(|error| error.to_string())),
            starts_servers: self.starts_servers,
        }
    }
}

fn now_ms() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

/// Everything behind the window.
pub struct Usher {
    pub(super) host: Host,
    board: Arc<Mutex<Board>>,
    pub(super) checks: Arc<super::contract::Checks>,
    /// What the window is opened for, if it is for the bench.
    pub(super) bench: Option<BenchStart>,
}

/// What a page that subscribes is told, and the events since.
#[derive(Default)]
struct Board {
    next_seq: u64,
    tail: VecDeque<UiEvent>,
    sink: Option<BatchSink>,
    conversations: BTreeMap<String, ConversationSummary>,
    notices: BTreeMap<String, NoticeView>,
}

impl Usher {
    /// Opens the data folder and starts the servers in the background.
    ///
    /// # Errors
    /// The data folder cannot be used, or another Usher uses it.
    pub async fn open(options: UsherOptions) -> Result<Self, ApiError> {
        let (host, events) = Host::open(options.host_options()).await?;
        let board = Board::default();
        let board = Arc::new(Mutex::new(board));
        for summary in host.conversations().await? {
            lock(&board).conversations.insert(summary.id.clone(), view::summary(summary));
        }
        tokio::spawn(pump(host.clone(), events, Arc::clone(&board)));
        Ok(Self { host, board, checks: Arc::default(), bench: None })
    }

    /// The same, with a window that opens on the bench.
    pub fn on_the_bench(self, bench: BenchStart) -> Self {
        Self { bench: Some(bench), ..self }
    }

    /// The host, for the command line.
    pub fn host(&self) -> &Host {
        &self.host
    }

    pub(super) fn tell(&self, event: UiEvent) {
        lock(&self.board).push(vec![event]);
    }
}

fn lock(board: &Mutex<Board>) -> MutexGuard<'_, Board> {
    board.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Board {
    fn push(&mut self, events: Vec<UiEvent>) {
        for event in &events {
            self.note(event);
        }
        let batch = UiBatch { first_seq: self.next_seq, events };
        self.next_seq += batch.events.len() as u64;
        if self.sink.as_ref().is_some_and(|sink| !sink(&batch)) {
            self.sink = None;
        }
        self.tail.extend(batch.events);
        while self.tail.len() > KEPT_EVENTS {
            self.tail.pop_front();
        }
    }

    /// Keeps what a snapshot says up to date.
    fn note(&mut self, event: &UiEvent) {
        match event {
            UiEvent::ConversationChanged { summary } => {
                self.conversations.insert(summary.id.clone(), summary.clone());
            }
            UiEvent::ConversationRemoved { conversation_id } => {
                self.conversations.remove(conversation_id);
            }
            UiEvent::NoticeRaised { notice } => {
                self.notices.insert(notice.id.clone(), notice.clone());
            }
            UiEvent::NoticeCleared { notice_id } => {
                self.notices.remove(notice_id);
            }
            UiEvent::ServerChanged { .. }
            | UiEvent::ServerRemoved { .. }
            | UiEvent::ItemChanged { .. }
            | UiEvent::ItemRemoved { .. }
            | UiEvent::TextAppended { .. }
            | UiEvent::TurnChanged { .. }
            | UiEvent::LedgerAppended { .. }
            | UiEvent::LedgerFolded { .. }
            | UiEvent::ExchangeChanged { .. }
            | UiEvent::ScriptOutput { .. }
            | UiEvent::ModelsChanged { .. }
            | UiEvent::PromptsChanged { .. }
            | UiEvent::ResourcesChanged { .. }
            | UiEvent::ResourceUpdated { .. }
            | UiEvent::SettingsChanged { .. }
            | UiEvent::QuestionAsked { .. }
            | UiEvent::QuestionGone { .. }
            | UiEvent::ViewEnded { .. }
            | UiEvent::ViewAccessChanged { .. }
            | UiEvent::ViewMessage { .. }
            | UiEvent::WindowCloses => {}
        }
    }
}

/// Takes the host's events to the window, in order, a frame at a time.
async fn pump(host: Host, mut events: mpsc::UnboundedReceiver<HostEvent>, board: Arc<Mutex<Board>>) {
    let mut gathered = Vec::new();
    while events.recv_many(&mut gathered, 1_024).await > 0 {
        let mut batch: Vec<UiEvent> = Vec::new();
        for event in gathered.drain(..) {
            append(&mut batch, event_view(&host, event).await);
        }
        lock(&board).push(batch);
        tokio::time::sleep(FRAME).await;
    }
}

/// Adds an event; what continues the one before is joined to it.
fn append(batch: &mut Vec<UiEvent>, event: UiEvent) {
    match (batch.last_mut(), event) {
        (
            Some(UiEvent::TextAppended { item_id: last, text: so_far, .. }),
            UiEvent::TextAppended { item_id, text, .. },
        ) if *last == item_id => so_far.push_str(&text),
        (
            Some(UiEvent::LedgerAppended { conversation_id: last, rows: so_far }),
            UiEvent::LedgerAppended { conversation_id, rows },
        ) if *last == conversation_id => so_far.extend(rows),
        (_, event) => batch.push(event),
    }
}

async fn event_view(host: &Host, event: HostEvent) -> UiEvent {
    match event {
        HostEvent::Server(status) => UiEvent::ServerChanged { server: view::server(host, *status) },
        HostEvent::ServerRemoved(server_id) => UiEvent::ServerRemoved { server_id },
        HostEvent::Conversation(summary) => UiEvent::ConversationChanged { summary: view::summary(summary) },
        HostEvent::ConversationRemoved(conversation_id) => UiEvent::ConversationRemoved { conversation_id },
        HostEvent::Item { conversation_id, item, call } => {
            UiEvent::ItemChanged { conversation_id, item: view::item(host, item, call.map(|it| *it)).await }
        }
        HostEvent::ItemRemoved { conversation_id, item_id } => {
            UiEvent::ItemRemoved { conversation_id, item_id }
        }
        HostEvent::Text { conversation_id, item_id, offset, text } => {
            let offset = u32::try_from(offset).unwrap_or(u32::MAX);
            UiEvent::TextAppended { conversation_id, item_id, offset, text }
        }

        HostEvent::Turn { conversation_id, turn } => {
            UiEvent::TurnChanged { conversation_id, turn: view::turn(turn) }
        }
        HostEvent::Ledger { conversation_id, row } => {
            UiEvent::LedgerAppended { conversation_id, rows: vec![view::ledger(row)] }
        }
        HostEvent::LedgerFolded { conversation_id, call_ids, rows } => UiEvent::LedgerFolded {
            conversation_id,
            call_ids,
            rows: rows.into_iter().map(view::ledger).collect(),
        },
        HostEvent::Exchange { conversation_id, exchange } => {
            UiEvent::ExchangeChanged { conversation_id, exchange: view::exchange(*exchange) }
        }
        HostEvent::Script { run_id, line } => UiEvent::ScriptOutput { run_id, line: view::script_line(line) },
        HostEvent::Models(models) => {
            UiEvent::ModelsChanged { models: models.into_iter().map(view::model).collect() }
        }
        HostEvent::PromptsChanged(server_id) => UiEvent::PromptsChanged { server_id },
        HostEvent::ResourcesChanged(server_id) => UiEvent::ResourcesChanged { server_id },
        HostEvent::ResourceUpdated { server_id, uri } => UiEvent::ResourceUpdated { server_id, uri },
        HostEvent::Question(question) => UiEvent::QuestionAsked { question: asked::question(*question) },
        HostEvent::QuestionGone(question_id) => UiEvent::QuestionGone { question_id },
        HostEvent::Notice(notice) => UiEvent::NoticeRaised { notice: view::notice(notice) },
        HostEvent::NoticeCleared(notice_id) => UiEvent::NoticeCleared { notice_id },
        HostEvent::ViewMessage { view_id, method, params } => {
            let method = serde_json::Value::from(method);
            UiEvent::ViewMessage {
                view_id,
                message_json: format!(r#"{{"method":{method},"params":{params}}}"#),
            }
        }
        HostEvent::ViewCall { view_id, call, params } => {
            let message_json = match params {
                Some(params) => format!(r#"{{"id":{call},"method":"tools/call","params":{params}}}"#),
                None => {
                    format!(r#"{{"method":"notifications/cancelled","params":{{"requestId":{call}}}}}"#)
                }
            };
            UiEvent::ViewMessage { view_id, message_json }
        }
        HostEvent::ViewEnded { view_id, why } => UiEvent::ViewEnded { view_id, why },
        HostEvent::ViewAccess { view_id, wishes, starts_again } => {
            UiEvent::ViewAccessChanged { view_id, wishes: access::states(wishes), starts_again }
        }
    }
}

impl From<HostError> for ApiError {
    fn from(error: HostError) -> Self {
        Self { what: error.what, safe: error.safe, todo: error.todo }
    }
}

impl Usher {
    /// Lets the Views that are open put their things away. A page that does not answer is not waited for any longer.
    async fn leave_views(&self) {
        if self.host.open_views() == 0 {
            return;
        }
        lock(&self.board).push(vec![UiEvent::WindowCloses]);
        let gone = async {
            while self.host.open_views() > 0 {
                tokio::time::sleep(FRAME).await;
            }
        };
        if tokio::time::timeout(LEAVE, gone).await.is_err() {
            tracing::warn!("a View did not end in time");
        }
    }
}

impl WindowHost for Usher {
    fn subscribe(&self, since: Option<u64>, sink: BatchSink) -> Snapshot {
        let servers =
            self.host.server_statuses().into_iter().map(|it| view::server(&self.host, it)).collect();
        let models = self.host.models().into_iter().map(view::model).collect();
        if since.is_none() {
            // A page that starts has no Views yet; those of the one before are nobody's.
            self.host.close_views();
        }
        let mut board = lock(&self.board);
        // A page that missed a little gets just that, in front of what comes next; any other starts from the snapshot.
        let first_kept = board.next_seq - board.tail.len() as u64;
        if let Some(since) = since.filter(|it| *it >= first_kept && *it < board.next_seq) {
            let skip = usize::try_from(since - first_kept).unwrap_or(usize::MAX);
            let missed = board.tail.iter().skip(skip).cloned().collect();
            sink(&UiBatch { first_seq: since, events: missed });
        }
        board.sink = Some(sink);
        let mut conversations: Vec<ConversationSummary> = board.conversations.values().cloned().collect();
        conversations.sort_by_key(|it| std::cmp::Reverse(it.updated_ms));
        Snapshot {
            next_seq: board.next_seq,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            data_dir: self.host.data_dir().display().to_string(),
            first_run: self.host.is_first_run(),
            servers,
            conversations,
            models,
            settings: view::settings(self.host.preferences()),
            notices: board.notices.values().cloned().collect(),
            questions: self.host.questions().into_iter().map(asked::question).collect(),
        }
    }

    async fn media(&self, handle: &str, index: u32) -> Option<Served> {
        let index = usize::try_from(index).ok()?;
        let (media, bytes, _) = self.host.media(handle, index).await.ok()?;
        Some(Served::media(&media.mime, bytes))
    }

    fn view_document(&self, host_label: &str, path: &str) -> Option<Served> {
        let served = self.host.view_document("GET", &format!("{host_label}.localhost"), path);
        let mut headers = http::HeaderMap::new();
        for (name, value) in &served.headers {
            headers.insert(*name, http::HeaderValue::from_str(value).ok()?);
        }
        let status = http::StatusCode::from_u16(served.status).ok()?;
        Some(Served { status, headers, body: bytes::Bytes::from(served.body.as_bytes().to_vec()) })
    }

    fn is_view_open(&self, host: &str) -> bool {
        self.host.is_view_open(host)
    }

    fn open_views(&self) -> usize {
        self.host.open_views()
    }

    fn page_lost(&self, loss: PageLoss) {
        self.host.page_lost(loss);
    }

    fn is_navigation_allowed(&self, url: &str) -> bool {
        let Ok(uri) = url.parse::<http::Uri>() else { return false };
        let (Some(scheme), Some(host)) = (uri.scheme_str(), uri.host()) else { return false };
        let port = uri.port_u16().unwrap_or(if scheme == "https" { 443 } else { 80 });
        self.host.is_frame_allowed(scheme, host, port)
    }

    fn granted_features(&self) -> Permissions {
        self.host.granted_features()
    }

    fn gate(&self) -> Host {
        self.host.clone()
    }

    fn web_data_dir(&self) -> PathBuf {
        self.host.data_dir().join("web")
    }

    async fn shut_down(&self) {
        self.leave_views().await;
        self.host.shut_down().await;
    }
}
