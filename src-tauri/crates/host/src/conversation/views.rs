//! App Views: opening and closing them, and what is handed to their frames.
//!
//! The page carries messages. `documents` reads what a View is made of, `requests` answers what it asks for, `told` says what it is told,
//! `consent` asks the user for it, and `doors` lets its words into the conversation.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use usher_protocol::{RawJson, jsonrpc::ErrorObject};

use super::{CallRecord, Host, HostError, live::Live, lock};
use crate::app_view::{
    csp::{self, SANDBOX},
    projection,
    rate::Limiter,
    registry::{HostLabel, LiveView, Registry, Served},
    resource::Permissions,
};

mod consent;
mod documents;
mod doors;
mod files;
mod requests;
mod told;

pub use told::Outcome;

/// Which pages may embed a View: the application's own.
const FRAME_ANCESTORS: &str = "tauri: http://tauri.localhost https://tauri.localhost";

/// How many Views may be open at once. Each is a page with scripts in the window's one web process.
const MOST_OPEN: usize = 48;

/// The Views that are open.
#[derive(Default)]
pub(super) struct Views {
    registry: Registry,
    /// Ends what a View asked for, by the View's id.
    ends: BTreeMap<String, CancellationToken>,
    /// Ends one request, by the View's id and the request's.
    requests: BTreeMap<(String, u32), CancellationToken>,
    /// The newest request of each View.
    newest: BTreeMap<String, u32>,
    /// What was given up before it came.
    given_up: BTreeSet<(String, u32)>,
    /// What Views ask of the user.
    consent: consent::Line,
    /// The newest context that each View wrote.
    written: BTreeMap<String, doors::Written>,
}

impl Views {
    fn close(&mut self, view_id: &str) {
        self.registry.close(view_id);
        if let Some(end) = self.ends.remove(view_id) {
            end.cancel();
        }
        self.newest.remove(view_id);
        self.given_up.retain(|it| it.0 != view_id);
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
    /// Parameters of `ui/notifications/tool-input`.
    pub input: RawJson,
    /// How the call ended, as the View is told; `None` while it runs.
    pub outcome: Option<Outcome>,
    /// `hostCapabilities.sandbox`.
    pub capabilities: Value,
    /// The server's name.
    pub server_name: String,
    /// Whether the View may ask the model, each time with the user's consent.
    pub can_sample: bool,
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

/// The answer to a View.
#[derive(Debug, Clone, PartialEq)]
pub enum ViewReply {
    /// A result.
    Result(RawJson),
    /// An error.
    Error(ErrorObject),
}

/// The window's web view has a proxy that refuses everything; a version that lets granted domains through changes this with it.
const EGRESS: csp::Egress = csp::Egress::Refused;

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
        let (granted, rejected) = csp::grant(&document.meta.csp);
        for entry in &rejected {
            tracing::warn!(
                list = entry.list,
                entry = entry.entry,
                "a domain that a View declares was not granted"
            );
        }
        // Cameras and the like need the user's consent, which a later version asks for; until then none is granted.
        let permissions = Permissions::default();
        let label = HostLabel::new(random_label());
        let view_id = self.new_id();
        let windows = cfg!(windows);
        let live_view = LiveView {
            view_id: view_id.clone(),
            server_id: call.server_id.clone(),
            conversation_id: live.id.clone(),
            call_id: call.id.clone(),
            html: Arc::from(document.html.as_str()),
            headers: granted.response_headers(permissions, FRAME_ANCESTORS),
            csp: granted.clone(),
            limiter: Limiter::default(),
        };
        {
            let mut views = lock(&self.0.views);
            if views.registry.all().count() >= MOST_OPEN {
                return Err(HostError::new(
                    format!("{MOST_OPEN} Views are open, and more would slow the window down."),
                    "The result is kept.",
                    "Stop one of them and open this one again.",
                ));
            }
            let opened = views.registry.open(label, live_view);
            opened.map_err(|error| HostError::new(error.to_string(), "", "Try again."))?;
            views.ends.insert(view_id.clone(), CancellationToken::new());
            views.consent.desk.open(&view_id);
            views.written.insert(view_id.clone(), doors::Written::default());
        }
        let (projected, _) = projection::tool(&tool);
        // Read anew: the call may have ended while the document was read, and from here on an end is told to the View.
        let call = live.with(|it| it.calls.get(call_id).cloned()).unwrap_or(call);
        Ok(Launch {
            view_id,
            url: label.url(windows),
            origin: label.origin(windows),
            sandbox: SANDBOX,
            allow: csp::allow_attribute(permissions),
            prefers_border: document.meta.prefers_border.unwrap_or(true),
            tool: projected,
            input: told::input(&call.arguments),
            outcome: self.outcome_for_view(&call).await,
            capabilities: granted.capabilities(permissions, EGRESS),
            server_name: call.server_name.clone(),
            can_sample: self.may_views_ask_model(&call.server_id),
        })
    }

    async fn find_call(&self, call_id: &str) -> Result<(Arc<Live>, CallRecord), HostError> {
        let row = self.store().call(call_id).await?.ok_or_else(|| HostError::unknown("call"))?;
        let live = self.live(&row.conversation_id).await?;
        let call =
            live.with(|it| it.calls.get(call_id).cloned()).ok_or_else(|| HostError::unknown("call"))?;
        Ok((live, call))
    }

    /// The document of an open View, for the scheme that serves it.
    pub fn view_document(&self, method: &str, host: &str, path: &str) -> Served {
        lock(&self.0.views).registry.serve(method, host, path)
    }

    /// Whether an open View may show a nested frame at an address.
    pub fn is_frame_allowed(&self, scheme: &str, host: &str, port: u16) -> bool {
        lock(&self.0.views).registry.all().any(|it| it.csp.allows_frame(scheme, host, port))
    }

    /// A View is gone: its address answers nothing any more, and what it asked for ends.
    pub fn close_view(&self, view_id: &str) {
        lock(&self.0.views).close(view_id);
    }

    /// The page that held the Views is gone.
    pub fn close_views(&self) {
        lock(&self.0.views).close_all(|_| true);
    }

    pub(super) fn close_views_of(&self, conversation_id: &str) {
        lock(&self.0.views).close_all(|it| it.conversation_id == conversation_id);
    }
}

/// 128 random bits; a View's address must not be guessed by another View.
fn random_label() -> u128 {
    uuid::Uuid::new_v4().as_u128()
}
