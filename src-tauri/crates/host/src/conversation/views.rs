//! App Views: what is handed to their frames, and what they may ask for.
//!
//! The page carries messages; every request of a View is checked and answered here, and what crosses to it is projected here (rule H28).

use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use usher_engine::{
    Consumer, Origin,
    ledger::LedgerEntry,
    routing::{Door, Source},
};
use usher_protocol::{
    RawJson, UI_EXTENSION,
    codec::{self},
    common::{BlockKind, ContentBlock},
    jsonrpc::ErrorObject,
    model::{Selector, Tool},
};

use super::{
    CallOrder, CallRecord, CallState, DoorKind, DoorRecord, Host, HostError, HostEvent, ItemBody, live::Live,
    lock,
};
use crate::app_view::{
    bridge::{self, ViewRequest},
    csp::{self, SANDBOX},
    projection,
    rate::{Admission, Lane, Limiter},
    registry::{HostLabel, LiveView, Registry, Served},
    resource::{self, Permissions},
};

/// Which pages may embed a View: the application's own.
const FRAME_ANCESTORS: &str = "tauri: http://tauri.localhost https://tauri.localhost";

/// The Views that are open.
#[derive(Default)]
pub(super) struct Views {
    registry: Registry,
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
    /// Parameters of `ui/notifications/tool-result`, if the result is there.
    pub result: Option<RawJson>,
    /// `hostCapabilities.sandbox`.
    pub capabilities: Value,
    /// The server's name.
    pub server_name: String,
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
        let document = self.document(&live, &call).await?;
        let (document, _) = resource::read(&view.resource_uri, &document, None).map_err(|error| {
            HostError::new(
                format!("The View cannot be shown: {error}"),
                "The result is kept.",
                "Report it to the server's authors.",
            )
        })?;
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
            call_id: call.id.clone(),
            generation: 0,
            html: Arc::from(document.html.as_str()),
            headers: granted.response_headers(permissions, FRAME_ANCESTORS),
            csp: granted.clone(),
            limiter: Limiter::default(),
        };
        lock(&self.0.views)
            .registry
            .open(label, live_view)
            .map_err(|error| HostError::new(error.to_string(), "", "Try again."))?;
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
            input: json!({"arguments": call.arguments.to_value()}).into(),
            result: self.view_result(&call).await,
            capabilities: granted.capabilities(permissions, EGRESS),
            server_name: call.server_name.clone(),
        })
    }

    /// What the View receives of a call's result: the parts that routing delivered to it, and nothing else (rules H28, H29).
    async fn view_result(&self, call: &CallRecord) -> Option<RawJson> {
        let to_view = |source: &Source| {
            call.deliveries.iter().find(|it| it.to == Consumer::View && it.source == *source)
        };
        if let Some(whole) = to_view(&Source::LegacyResult) {
            return self.payload(&whole.handle).await.ok();
        }
        let output = to_view(&Source::Output(Selector::ui()))?;
        let value = self.payload(&output.handle).await.ok()?;
        let meta = match to_view(&Source::ExtensionMeta(UI_EXTENSION.to_owned())) {
            Some(meta) => self.payload(&meta.handle).await.ok(),
            None => None,
        };
        let is_error = call.state == CallState::ToolError;
        projection::selected_output(&value, is_error, meta.as_ref()).ok().map(|it| it.0)
    }

    async fn find_call(&self, call_id: &str) -> Result<(Arc<Live>, CallRecord), HostError> {
        let row = self.store().call(call_id).await?.ok_or_else(|| HostError::unknown("call"))?;
        let live = self.live(&row.conversation_id).await?;
        let call =
            live.with(|it| it.calls.get(call_id).cloned()).ok_or_else(|| HostError::unknown("call"))?;
        Ok((live, call))
    }

    /// The declaration of a call's tool as it was then, so that a View of an earlier run can be shown without its server.
    async fn tool_of(&self, call: &CallRecord) -> Result<Tool, HostError> {
        let handle = call
            .view
            .as_ref()
            .and_then(|it| it.tool_handle.clone())
            .ok_or_else(|| HostError::unknown("tool"))?;
        let raw = self.payload(&handle).await?;
        let revision = call.revision.ok_or_else(|| HostError::unknown("tool"))?;
        let list =
            RawJson::parse(format!(r#"{{"tools":[{raw}]}}"#)).map_err(|_| HostError::unknown("tool"))?;
        let (page, _) = codec::decode_tools(revision, &list).map_err(|_| HostError::unknown("tool"))?;
        page.tools.into_iter().next().ok_or_else(|| HostError::unknown("tool"))
    }

    /// The result of `resources/read` for a View: recorded at the first reading, so that history shows what was shown.
    async fn document(&self, live: &Arc<Live>, call: &CallRecord) -> Result<RawJson, HostError> {
        let view = call.view.clone().ok_or_else(|| HostError::unknown("View"))?;
        if let Some(handle) = &view.resource_handle {
            return self.payload(handle).await;
        }
        let refused = |why: String| {
            HostError::new(
                format!("The View's document {} could not be read: {why}.", view.resource_uri),
                "The result is kept.",
                "Start the server and open the View again.",
            )
        };
        let server =
            self.server(&call.server_id).ok_or_else(|| refused("its server was removed".to_owned()))?;
        let (connection, _) = server.connection().map_err(|error| refused(error.to_string()))?;
        let read = connection.read_resource(&view.resource_uri).await;
        let raw = read.map_err(|error| refused(server.without_secrets(error).to_string()))?;
        let handle =
            self.keep_payload(live, &call.id, None, &format!("the document {}", view.resource_uri), &raw);
        self.change_call(live, &call.id, |call| {
            if let Some(view) = &mut call.view {
                view.resource_handle = Some(handle);
            }
        })
        .await;
        Ok(raw)
    }

    /// Tells the open View of a call that its result is there, or that none will come.
    pub(super) async fn tell_view(&self, call: &CallRecord) {
        let view_id = {
            let views = lock(&self.0.views);
            views.registry.all().find(|it| it.call_id == call.id).map(|it| it.view_id.clone())
        };
        let Some(view_id) = view_id else { return };
        let (method, params) = match self.view_result(call).await {
            Some(result) => ("ui/notifications/tool-result", result.get().to_owned()),
            None => ("ui/notifications/tool-cancelled", json!({"reason": call.state.word()}).to_string()),
        };
        self.tell(HostEvent::ViewMessage { view_id, method: method.to_owned(), params });
    }

    /// The document of an open View, for the scheme that serves it.
    pub fn view_document(&self, method: &str, host: &str, path: &str) -> Served {
        lock(&self.0.views).registry.serve(method, host, path)
    }

    /// Whether an open View may show a nested frame at an address.
    pub fn is_frame_allowed(&self, scheme: &str, host: &str, port: u16) -> bool {
        lock(&self.0.views).registry.all().any(|it| it.csp.allows_frame(scheme, host, port))
    }

    /// A View is gone.
    pub fn close_view(&self, view_id: &str) {
        lock(&self.0.views).registry.close(view_id);
    }

    /// Checks and answers a request of a View.
    ///
    /// # Errors
    /// There is no such View.
    pub async fn view_request(
        &self,
        view_id: &str,
        method: &str,
        params: &str,
    ) -> Result<ViewReply, HostError> {
        let (server_id, call_id) = {
            let views = lock(&self.0.views);
            let view = views.registry.get(view_id).ok_or_else(|| HostError::unknown("View"))?;
            (view.server_id.clone(), view.call_id.clone())
        };
        let (live, call) = self.find_call(&call_id).await?;
        let tools: Vec<Tool> = match self.server(&server_id) {
            Some(server) => server.tools().iter().map(|it| Tool::clone(&it.tool)).collect(),
            None => Vec::new(),
        };
        let params = if params.is_empty() { None } else { RawJson::parse(params).ok() };
        let request = match bridge::check(method, params.as_ref(), &tools) {
            Ok(request) => request,
            Err(error) => return Ok(ViewReply::Error(error)),
        };
        if let Err(error) = self.admit(view_id, request.lane()).await {
            return Ok(ViewReply::Error(error));
        }
        let lane = request.lane();
        let reply = self.serve_view(&live, &call, &tools, request).await;
        if lane == Lane::Server
            && let Some(view) = lock(&self.0.views).registry.get_mut(view_id)
        {
            view.limiter.finish();
        }
        Ok(match reply {
            Ok(result) => ViewReply::Result(result),
            Err(error) => ViewReply::Error(error),
        })
    }

    async fn admit(&self, view_id: &str, lane: Lane) -> Result<(), ErrorObject> {
        let now = u64::try_from(self.now_ms()).unwrap_or_default();
        let admission = {
            let mut views = lock(&self.0.views);
            let view = views.registry.get_mut(view_id).ok_or_else(Admission::refusal)?;
            view.limiter.admit(lane, now)
        };
        match admission {
            Admission::Now => Ok(()),
            Admission::After(wait) => {
                tokio::time::sleep(std::time::Duration::from_millis(wait)).await;
                Ok(())
            }
            Admission::Refused => Err(Admission::refusal()),
        }
    }

    async fn serve_view(
        &self,
        live: &Arc<Live>,
        call: &CallRecord,
        tools: &[Tool],
        request: ViewRequest,
    ) -> Result<RawJson, ErrorObject> {
        let empty = || Ok(json!({}).into());
        match request {
            ViewRequest::CallTool { name, arguments, .. } => {
                self.call_for_view(live, call, name, arguments).await
            }
            ViewRequest::ListTools => Ok(projection::tools_list(tools)),
            ViewRequest::ReadResource { uri } => {
                let connection = self.connection_for_view(call)?;
                connection.read_resource(&uri).await.map_err(|error| unreachable_server(&error.in_short()))
            }
            ViewRequest::ListResources { .. } => {
                let connection = self.connection_for_view(call)?;
                let pages = connection
                    .list_resources()
                    .await
                    .map_err(|error| unreachable_server(&error.in_short()))?;
                Ok(all_resources(&pages))
            }
            ViewRequest::ListResourceTemplates { .. } | ViewRequest::ListPrompts { .. } => {
                let what = "this host does not pass this list on";
                Err(ErrorObject::new(ErrorObject::METHOD_NOT_FOUND, what))
            }
            // The address is good, and nothing is opened here. With this answer the window asks the user, shows the whole
            // address and whose View asks, and opens it with a command of its own; a refusal it answers itself.
            ViewRequest::OpenLink { .. } | ViewRequest::Ping => empty(),
            // The window has shown the user these very words and passes them on only after a yes (X5).
            ViewRequest::Message { content } => {
                let text = words(&content);
                self.open_view_door(live, call, DoorKind::ViewMessage, "a View's message", text).await;
                empty()
            }
            ViewRequest::UpdateModelContext { content, structured } => {
                let mut text = words(&content);
                if let Some(value) = structured {
                    text = [text.as_str(), value.get()]
                        .iter()
                        .filter(|it| !it.is_empty())
                        .copied()
                        .collect::<Vec<_>>()
                        .join("\n");
                }
                self.open_view_door(live, call, DoorKind::ViewContext, "what a View keeps as context", text)
                    .await;
                empty()
            }
            // Inline is what the host offers; the answer names the mode that is shown.
            ViewRequest::DisplayMode(_) => Ok(json!({"mode": "inline"}).into()),
            ViewRequest::Log { level, data } => {
                tracing::debug!(level, data = data.get(), "a View says");
                empty()
            }
            ViewRequest::SizeChanged { .. } => empty(),
        }
    }

    fn connection_for_view(&self, call: &CallRecord) -> Result<crate::connection::Connection, ErrorObject> {
        let server = self.server(&call.server_id).ok_or_else(|| unreachable_server("it was removed"))?;
        server.connection().map(|it| it.0).map_err(|error| unreachable_server(&error.in_short()))
    }

    async fn call_for_view(
        &self,
        live: &Arc<Live>,
        call: &CallRecord,
        name: String,
        arguments: RawJson,
    ) -> Result<RawJson, ErrorObject> {
        let order = CallOrder {
            server_id: call.server_id.clone(),
            tool: name,
            arguments,
            origin: Origin::View,
            model_call: None,
            cancel: CancellationToken::new(),
        };
        let end = self.run_call(live, order).await;
        match (&end.record.state, self.view_result(&end.record).await) {
            (CallState::Done | CallState::ToolError, Some(result)) => Ok(result),
            (CallState::Failed { what, .. }, _) => {
                Err(unreachable_server(end.heard.as_ref().unwrap_or(what)))
            }
            (CallState::Refused, _) => Err(ErrorObject::new(-32000, "the user did not allow this call")),
            (state, _) => Err(ErrorObject::new(-32000, format!("the call ended as {}", state.word()))),
        }
    }

    /// Lets into the model's context what a View says, marked as such (X5): with the next message, never by a turn of its own. The
    /// last context of a View replaces the one before.
    async fn open_view_door(
        &self,
        live: &Arc<Live>,
        call: &CallRecord,
        kind: DoorKind,
        what: &str,
        text: String,
    ) {
        if kind == DoorKind::ViewContext {
            let old = live.with(|it| {
                let is_old = |item: &&super::ItemRecord| {
                    matches!(&item.body, ItemBody::Door(door) if door.kind == kind && door.call_id == call.id)
                };
                it.items.iter().find(is_old).map(|it| it.id.clone())
            });
            if let Some(old) = old {
                self.close_door(live, &old, "the View took it back");
            }
            if text.is_empty() {
                return;
            }
        }
        let label = format!("{what}, {}, call {}", call.tool, call.number);
        let bytes = text.len() as u64;
        self.record(
            live,
            Some(&call.id),
            LedgerEntry::DoorOpened {
                to: Consumer::Model,
                what: label.clone(),
                bytes,
                door: Door::UserAction("you allowed what the View says, marked as its words".to_owned()),
                handle: None,
            },
        );
        let door =
            DoorRecord { kind, call_id: call.id.clone(), selector: Some(Selector::ui()), label, bytes };
        let _kept = self.add_item(live, ItemBody::Door(door), text).await;
    }
}

fn words(blocks: &[ContentBlock]) -> String {
    let texts = blocks.iter().filter_map(|it| match &it.kind {
        BlockKind::Text(text) => Some(text.as_str()),
        BlockKind::Image(_)
        | BlockKind::Audio(_)
        | BlockKind::Link(_)
        | BlockKind::Embedded(_)
        | BlockKind::Unknown(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The pages of a list as one, so that a View need not turn them.
fn all_resources(pages: &[RawJson]) -> RawJson {
    #[derive(serde::Deserialize, serde::Serialize, Default)]
    struct Page {
        #[serde(default)]
        resources: Vec<RawJson>,
    }
    let resources = pages.iter().filter_map(|it| it.to::<Page>().ok()).flat_map(|it| it.resources).collect();
    RawJson::of(&Page { resources }).unwrap_or_else(|_| json!({"resources": []}).into())
}

fn unreachable_server(why: &str) -> ErrorObject {
    ErrorObject::new(-32000, why)
}

/// 128 random bits; a View's address must not be guessed by another View.
fn random_label() -> u128 {
    uuid::Uuid::new_v4().as_u128()
}
