//! App Views: opening and closing them, and what is handed to their frames.
//!
//! The page carries messages. `documents` reads what a View is made of, `requests` answers what it asks for, `told` says what it is told,
//! `consent` asks the user for it, `files` saves what the user agreed to, `doors` lets its words into the conversation, `grants` knows what
//! the user lets Views have, `own_tools` asks a View for what it offers, `passage` their way to the network, and `stopped` which Views were
//! ended from outside, and why.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use usher_protocol::{RawJson, jsonrpc::ErrorObject, model::Tool};

use super::{CallRecord, Host, HostError, bench::Bench, live::Live, lock};
use crate::app_view::{
    access::{self, Wish},
    csp::{self, Mode, RejectedSource, SANDBOX},
    egress::Refusals,
    own_tools::OwnTools,
    projection,
    rate::Limiter,
    registry::{HostLabel, LiveView, Registry, Served},
    resource::ViewResource,
};

mod consent;
mod documents;
mod doors;
mod files;
pub(super) mod grants;
mod own_tools;
mod passage;
mod requests;
mod stopped;
mod told;

pub use grants::{ViewAccess, WishState};
pub(super) use own_tools::{OwnTool, Unanswered, judge};
pub use passage::Tunnel;
pub use stopped::PageLoss;
pub use told::Outcome;
pub(super) use told::{LONGEST_BEGINNING, MAX_ANSWER, in_pieces};

/// How many Views may be open at once. Each is a page with scripts in the window's one web process.
const MOST_OPEN: usize = 48;

/// The Views that are open.
#[derive(Default)]
pub(super) struct Views {
    registry: Registry,
    /// What belongs to an open View, by its id.
    open: BTreeMap<String, Open>,
    /// Ends one request, by the View's id and the request's.
    requests: BTreeMap<(String, u32), CancellationToken>,
    /// The newest request of each View.
    newest: BTreeMap<String, u32>,
    /// What was given up before it came.
    given_up: BTreeSet<(String, u32)>,
    /// The servers for whose Views the user is being asked.
    asking: BTreeSet<String>,
    /// The tunnels that are open.
    tunnels: passage::Tunnels,
    /// The newest call of a View's own tool. No two have the same number, so that no View can answer for another.
    newest_call: u32,
    refusals: Refusals,
    /// What Views ask of the user.
    consent: consent::Line,
    /// The newest context that each View wrote.
    written: BTreeMap<String, doors::Written>,
    /// What those on the bench are shown with, by the View's id.
    benches: BTreeMap<String, Bench>,
    /// Calls whose Views were ended from outside, and why, until they are started again.
    stopped: BTreeMap<String, String>,
    /// What reads files for Views.
    reads: files::Reads,
}

/// What belongs to an open View.
#[derive(Default)]
struct Open {
    /// Ends what it asked for.
    end: CancellationToken,
    /// Held while the user is asked about a call of it: one question at a time.
    asks: Arc<tokio::sync::Mutex<()>>,
    /// The tools that it offers itself.
    tools: OwnTools,
    /// Calls of them that it has not answered, by their number.
    calls: BTreeMap<u32, oneshot::Sender<ViewReply>>,
    /// Held from the question about files of it until they are saved.
    saves: Arc<tokio::sync::Mutex<()>>,
}

impl Views {
    pub(super) fn bench(&self, view_id: &str) -> Option<Bench> {
        self.benches.get(view_id).cloned()
    }

    /// Keeps what a View is shown with for as long as it is open.
    pub(super) fn keep_bench(&mut self, view_id: &str, bench: Bench) {
        if self.registry.get(view_id).is_some() {
            self.benches.insert(view_id.to_owned(), bench);
        }
    }

    fn close(&mut self, view_id: &str) {
        self.registry.close(view_id);
        if let Some(open) = self.open.remove(view_id) {
            open.end.cancel();
        }
        self.newest.remove(view_id);
        self.given_up.retain(|it| it.0 != view_id);
        self.end_tunnels();
        self.benches.remove(view_id);
        self.consent.close(view_id);
        self.written.remove(view_id);
    }

    fn close_all(&mut self, which: impl Fn(&LiveView) -> bool) {
        let ids: Vec<String> =
            self.registry.all().filter(|it| which(it)).map(|it| it.view_id.clone()).collect();
        ids.iter().for_each(|it| self.close(it));
    }
}

/// What a window needs to start a View.
#[derive(Debug, Clone)]
pub struct Launch {
    /// The View.
    pub view_id: String,
    /// The frame's address.
    pub url: String,
    /// The frame's origin.
    pub origin: String,
    /// The frame's `sandbox` tokens.
    pub sandbox: &'static str,
    /// The frame's `allow` attribute.
    pub allow: String,
    /// Whether the View asks for a border.
    pub prefers_border: bool,
    /// The tool's declaration, projected.
    pub tool: RawJson,
    /// Parameters of `ui/notifications/tool-input`; `None` while the model writes them, when they are told as they come, and where
    /// the call never had them whole or was not allowed.
    pub input: Option<RawJson>,
    /// Parameters of `ui/notifications/tool-input-partial`, to be told before the input; on the bench, where no model writes.
    pub pieces: Vec<RawJson>,
    /// How the call ended, as the View is told; `None` while it runs.
    pub outcome: Option<Outcome>,
    /// `hostCapabilities.sandbox`.
    pub capabilities: Value,
    /// What it wishes for beyond its own page, and how each wish stands.
    pub wishes: Vec<(Wish, WishState)>,
    /// The domains that it declares and that are never granted.
    pub rejected: Vec<RejectedSource>,
    /// The server's name.
    pub server_name: String,
    /// Whether the View may ask the model, each time with the user's consent.
    pub can_sample: bool,
    /// Whether pictures of the View reach the model, as it is chosen now.
    pub takes_pictures: bool,
}

impl Launch {
    /// Parameters of `ui/notifications/tool-result`, if the result is there.
    pub fn result(&self) -> Option<&RawJson> {
        match &self.outcome {
            Some(Outcome::Result(result)) => Some(result),
            Some(Outcome::Cancelled(_)) | None => None,
        }
    }
}

/// A document that became an open View.
struct Opened {
    view: LiveView,
    /// What it wishes for beyond its own page, and how each wish stands.
    wishes: Vec<(Wish, WishState)>,
    /// The domains that it declares and that are never granted.
    rejected: Vec<RejectedSource>,
    /// Whether the conversation's model takes pictures.
    takes_pictures: bool,
}

/// The answer to a View.
#[derive(Debug, Clone, PartialEq)]
pub enum ViewReply {
    /// A result.
    Result(RawJson),
    /// An error.
    Error(ErrorObject),
}

impl Host {
    /// Prepares the View of a call: reads its document (from the record, if it was read before), and gives it an origin of its own.
    ///
    /// # Errors
    /// The call has no View, or its document cannot be read or shown.
    pub async fn open_view(&self, call_id: &str) -> Result<Launch, HostError> {
        let (live, call) = self.find_call(call_id).await?;
        let view = call.view.clone().ok_or_else(|| HostError::unknown("View"))?;
        let tool = self.tool_of(&call).await?;
        let document = self.document(&live, &call, &view).await?;
        let label = HostLabel::new(random_label());
        let opened = self.register(label, &live.id, &call, &document, Mode::Strict)?;
        if opened.wishes.iter().any(|it| it.1 == WishState::Open) {
            self.ask_for_views(&call.server_id, &call.server_name);
        }
        // Read anew: the call may have ended while the document was read, and from here on an end is told to the View.
        let call = live.with(|it| it.calls.get(call_id).cloned()).unwrap_or(call);
        let outcome = self.outcome_for_view(&call).await;
        let projected = self.project(&call.server_id, &tool);
        Ok(launch(label, opened, &call, projected, &document, outcome))
    }

    /// Opens a View that is of no call of the conversation. What it declares is not asked about: its author says how strict it is.
    pub(super) fn launch_bench(
        &self,
        live: &Live,
        call: &CallRecord,
        document: &ViewResource,
        mode: Mode,
        shown: (&Tool, Option<Outcome>),
    ) -> Result<Launch, HostError> {
        let label = HostLabel::new(random_label());
        let opened = self.register(label, &live.id, call, document, mode)?;
        let projected = self.project(&call.server_id, shown.0);
        Ok(launch(label, opened, call, projected, document, shown.1))
    }

    /// Makes a document an open View with an origin of its own, with what it is granted of what it wishes for.
    fn register(
        &self,
        label: HostLabel,
        conversation_id: &str,
        call: &CallRecord,
        document: &ViewResource,
        mode: Mode,
    ) -> Result<Opened, HostError> {
        let (grantable, rejected) = csp::grant(&document.meta.csp);
        let takes_pictures = self.takes_pictures(conversation_id);
        let mut views = lock(&self.0.views);
        // Read while the Views are locked: what is taken back from now on finds this one among them.
        let known = self.view_access(&call.server_id);
        let asks_model = self.may_views_ask_model(&call.server_id);
        let (csp, permissions) = access::within(&grantable, document.meta.permissions, &known.allowed);
        let csp = match mode {
            Mode::Strict => csp,
            // Whoever asks for it has all domains that may be granted.
            Mode::Relaxed => grantable.clone(),
        };
        let view = LiveView {
            view_id: self.new_id(),
            server_id: call.server_id.clone(),
            conversation_id: conversation_id.to_owned(),
            call_id: call.id.clone(),
            html: Arc::from(document.html.as_str()),
            wishes: access::wishes(&grantable, document.meta.permissions),
            csp,
            permissions,
            asks_model,
            mode,
            asked: false,
            limiter: Limiter::default(),
        };
        if views.registry.all().count() >= MOST_OPEN {
            return Err(HostError::new(
                format!("{MOST_OPEN} Views are open, and more would slow the window down."),
                "The result is kept.",
                "Stop one of them and open this one again.",
            ));
        }
        let opened = views.registry.open(label, view.clone());
        opened.map_err(|error| HostError::new(error.to_string(), "", "Try again."))?;
        views.open.insert(view.view_id.clone(), Open::default());
        views.consent.desk.open(&view.view_id, conversation_id);
        views.written.insert(view.view_id.clone(), doors::Written::default());
        views.stopped.remove(&call.id);
        let wishes = grants::wish_states(&view, &known);
        Ok(Opened { view, wishes, rejected, takes_pictures })
    }

    async fn find_call(&self, call_id: &str) -> Result<(Arc<Live>, CallRecord), HostError> {
        let row = self.store().call(call_id).await?.ok_or_else(|| HostError::unknown("call"))?;
        let live = self.live(&row.conversation_id).await?;
        let call =
            live.with(|it| it.calls.get(call_id).cloned()).ok_or_else(|| HostError::unknown("call"))?;
        Ok((live, call))
    }

    /// How many Views are open.
    pub fn open_views(&self) -> usize {
        lock(&self.0.views).registry.all().count()
    }

    /// The document of an open View or the page around it, for the scheme that serves them.
    pub fn view_document(&self, method: &str, host: &str, path: &str) -> Served {
        lock(&self.0.views).registry.serve(method, host, path)
    }

    /// Whether a host is that of an open View, so that a frame may go there.
    pub fn is_view_open(&self, host: &str) -> bool {
        lock(&self.0.views).registry.at(host).is_some()
    }

    /// Whether an open View may show a nested frame at an address.
    pub fn is_frame_allowed(&self, scheme: &str, host: &str, port: u16) -> bool {
        lock(&self.0.views).registry.all().any(|it| it.csp.allows_frame(scheme, host, port))
    }

    /// A View is gone: its address answers nothing any more, and what it asked for ends.
    pub fn close_view(&self, view_id: &str) {
        lock(&self.0.views).close(view_id);
    }

    /// The tool as its View is told of it. What that is otherwise than it was declared stands in the Wire tab, for whoever builds the
    /// server.
    fn project(&self, server_id: &str, tool: &Tool) -> RawJson {
        let (projected, remarks) = projection::tool(tool);
        for remark in remarks {
            self.remark(server_id, "View", remark.text);
        }
        projected
    }

    /// The page that held the Views is gone.
    pub fn close_views(&self) {
        lock(&self.0.views).close_all(|_| true);
    }

    pub(super) fn close_views_of(&self, conversation_id: &str) {
        lock(&self.0.views).close_all(|it| it.conversation_id == conversation_id);
    }
}

fn launch(
    label: HostLabel,
    opened: Opened,
    call: &CallRecord,
    tool: RawJson,
    document: &ViewResource,
    outcome: Option<Outcome>,
) -> Launch {
    let windows = cfg!(windows);
    let Opened { view, wishes, rejected, takes_pictures } = opened;
    Launch {
        view_id: view.view_id,
        url: label.url(windows),
        origin: label.origin(windows),
        sandbox: SANDBOX,
        allow: csp::allow_attribute(view.permissions),
        prefers_border: document.meta.prefers_border.unwrap_or(true),
        tool,
        input: (!call.view.as_ref().is_some_and(|it| it.waits_for_input))
            .then(|| told::input(&call.arguments)),
        pieces: Vec::new(),
        outcome,
        capabilities: view.csp.capabilities(view.permissions),
        wishes,
        rejected,
        server_name: call.server_name.clone(),
        can_sample: view.asks_model,
        takes_pictures,
    }
}

/// 128 random bits; a View's address must not be guessed by another View.
fn random_label() -> u128 {
    uuid::Uuid::new_v4().as_u128()
}
