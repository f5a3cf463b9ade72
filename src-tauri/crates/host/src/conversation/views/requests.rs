//! What a View asks for: checked, admitted, carried out and answered here. What crosses to it is projected (rule H28).

use std::{collections::BTreeMap, sync::Arc};

use serde_json::json;
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;
use usher_engine::Origin;
use usher_protocol::{RawJson, jsonrpc::ErrorObject, model::Tool};

use super::{
    super::{Asked, CallOrder, CallRecord, CallState, Host, HostError, approval::Standing, live::Live, lock},
    ViewReply,
    told::MAX_ANSWER,
};
use crate::{
    app_view::{
        bridge::{self, ViewRequest},
        consent::Kind,
        projection,
        rate::{Admission, Lane},
    },
    connection::{Answer, CallError},
};

/// How many requests are remembered that were given up before they came.
const MOST_GIVEN_UP: usize = 256;

/// A request of a View that is being served.
pub(super) struct Asking<'a> {
    pub(super) view_id: &'a str,
    /// Later requests have greater ones.
    pub(super) request_id: u32,
    pub(super) live: &'a Arc<Live>,
    /// The call that the View shows.
    pub(super) call: &'a CallRecord,
    /// The View does not wait any more.
    pub(super) end: &'a CancellationToken,
}

impl Host {
    /// Checks and answers a request of a View.
    ///
    /// # Errors
    /// There is no such View.
    pub async fn view_request(
        &self,
        view_id: &str,
        request_id: u32,
        method: &str,
        params: &str,
    ) -> Result<ViewReply, HostError> {
        let key = (view_id.to_owned(), request_id);
        let (conversation_id, call_id, end) = {
            let mut views = lock(&self.0.views);
            let end = views.open.get(view_id).ok_or_else(|| HostError::unknown("View"))?.end.child_token();
            let view = views.registry.get(view_id).ok_or_else(|| HostError::unknown("View"))?;
            let found = (view.conversation_id.clone(), view.call_id.clone(), end.clone());
            if views.requests.contains_key(&key) {
                let error = ErrorObject::new(ErrorObject::INVALID_REQUEST, "a request with this id is open");
                return Ok(ViewReply::Error(error));
            }
            if views.given_up.remove(&key) {
                end.cancel();
            }
            let newest = views.newest.entry(view_id.to_owned()).or_default();
            *newest = request_id.max(*newest);
            views.requests.insert(key.clone(), end);
            found
        };
        let answer = self.answer_view(&key, (&conversation_id, &call_id), method, params, &end);
        let reply = Box::pin(answer).await;
        lock(&self.0.views).requests.remove(&key);
        Ok(match reply {
            Ok(result) if result.bytes() > MAX_ANSWER => {
                let bytes = result.bytes();
                let what = format!("the answer has {bytes} bytes; a View is given {MAX_ANSWER} at most");
                ViewReply::Error(ErrorObject::new(-32000, what))
            }
            Ok(result) => ViewReply::Result(result),
            Err(error) => ViewReply::Error(error),
        })
    }

    /// The View does not want the answer to a request any more. What it asked of the server is cancelled there.
    pub fn cancel_view_request(&self, view_id: &str, request_id: u32) {
        let mut views = lock(&self.0.views);
        let key = (view_id.to_owned(), request_id);
        if let Some(end) = views.requests.get(&key) {
            end.cancel();
        } else if views.open.contains_key(view_id)
            && views.newest.get(view_id).is_none_or(|newest| request_id > *newest)
            && views.given_up.len() < MOST_GIVEN_UP
        {
            // A large request may come after the small word that it is not wanted.
            views.given_up.insert(key);
        }
    }

    /// Counts a request first, by its method and its size alone, and reads it when it is admitted.
    async fn answer_view(
        &self,
        key: &(String, u32),
        of: (&str, &str),
        method: &str,
        params: &str,
        end: &CancellationToken,
    ) -> Result<RawJson, ErrorObject> {
        let (view_id, lane) = (&key.0, Lane::of(method));
        self.admit(view_id, (lane, params.len()), end).await?;
        let reply = self.read_and_serve(key, of, method, params, end).await;
        if lane == Lane::Server {
            self.finish(view_id);
        }
        reply
    }

    async fn read_and_serve(
        &self,
        (view_id, request_id): &(String, u32),
        (conversation_id, call_id): (&str, &str),
        method: &str,
        params: &str,
        end: &CancellationToken,
    ) -> Result<RawJson, ErrorObject> {
        let live = self.live(conversation_id).await;
        let live = live.map_err(|error| ErrorObject::new(ErrorObject::INTERNAL, error.what))?;
        let call = self.bench_asks(view_id).or_else(|| live.with(|it| it.calls.get(call_id).cloned()));
        let call = call.ok_or_else(|| ErrorObject::new(ErrorObject::INTERNAL, "the View's call is gone"))?;
        let needs_tools = matches!(method, "tools/call" | "tools/list");
        let tools: Vec<Tool> = match self.server(&call.server_id).filter(|_| needs_tools) {
            Some(server) => server.tools().iter().map(|it| Tool::clone(&it.tool)).collect(),
            None => Vec::new(),
        };
        let params = if params.is_empty() { None } else { RawJson::parse(params).ok() };
        let request = bridge::check(method, params.as_ref(), &tools)?;
        // A call ends by itself, so that its record says how; and what is written into the conversation is written whole.
        let is_dropped = matches!(request, ViewRequest::ReadResource { .. } | ViewRequest::List(_));
        let of = Asking { view_id, request_id: *request_id, live: &live, call: &call, end };
        let work = async {
            match self.bench_answer(view_id, method, &request, end).await {
                Some(answer) => answer,
                None => self.serve_view(&of, &tools, request).await,
            }
        };
        tokio::select! {
            biased;
            reply = work => reply,
            () = end.cancelled(), if is_dropped => Err(gone()),
        }
    }

    /// A request of [`Lane::Server`] that was admitted has ended.
    pub(super) fn finish(&self, view_id: &str) {
        if let Some(view) = lock(&self.0.views).registry.get_mut(view_id) {
            view.limiter.finish();
        }
    }

    pub(super) async fn admit(
        &self,
        view_id: &str,
        (lane, bytes): (Lane, usize),
        end: &CancellationToken,
    ) -> Result<(), ErrorObject> {
        let now = u64::try_from(self.now_ms()).unwrap_or_default();
        let admission = {
            let mut views = lock(&self.0.views);
            let view = views.registry.get_mut(view_id).ok_or_else(Admission::refusal)?;
            view.limiter.admit(lane, bytes, now)
        };
        match admission {
            Admission::Now => Ok(()),
            Admission::After(wait) => tokio::select! {
                () = tokio::time::sleep(std::time::Duration::from_millis(wait)) => Ok(()),
                () = end.cancelled() => {
                    if lane == Lane::Server {
                        self.finish(view_id);
                    }
                    Err(gone())
                }
            },
            Admission::Refused => Err(Admission::refusal()),
        }
    }

    async fn serve_view(
        &self,
        of: &Asking<'_>,
        tools: &[Tool],
        request: ViewRequest,
    ) -> Result<RawJson, ErrorObject> {
        let (view_id, live, call, end) = (of.view_id, of.live, of.call, of.end);
        match request {
            ViewRequest::CallTool { name, arguments, progress_token } => {
                let order = CallOrder {
                    server_id: call.server_id.clone(),
                    tool: name,
                    arguments,
                    origin: Origin::View,
                    model_call: None,
                    cancel: end.clone(),
                    reports_to: progress_token.map(|token| (view_id.to_owned(), token)),
                };
                self.call_for_view(view_id, live, order).await
            }
            ViewRequest::ListTools => Ok(projection::tools_list(tools)),
            ViewRequest::ReadResource { uri } => {
                let connection = self.connection_for_view(call)?;
                connection.read_resource(&uri).await.map_err(|error| server_error(&error))
            }
            ViewRequest::List(list) => {
                let pages = self.connection_for_view(call)?.list_pages(list.method()).await;
                let pages = pages.map_err(|error| server_error(&error))?;
                Ok(all_pages(&pages, list.member()))
            }
            ViewRequest::Ping => Ok(json!({}).into()),
            ViewRequest::OpenLink { url } => Ok(self.open_link_for_view(of, url).await),
            ViewRequest::Message { content } => self.say_for_view(of, &content).await,
            ViewRequest::UpdateModelContext { content, structured } => {
                self.keep_for_view(of, &content, structured.as_ref()).await
            }
            ViewRequest::Download { files } => self.save_for_view(of, files).await,
            ViewRequest::Sample { params } => self.sample_for_view(of, &params).await,
        }
    }

    /// Shows the user the whole address and whose View asks. The yes opens it.
    async fn open_link_for_view(&self, of: &Asking<'_>, url: String) -> RawJson {
        let parsed = url::Url::parse(&url).ok();
        let host = parsed.as_ref().and_then(|it| it.host_str()).unwrap_or_default().to_owned();
        let asked = |view| Asked::ViewLink { view, url, host };
        match self.consents((of.view_id, of.call), Kind::Link, asked, of.end).await {
            true => json!({}).into(),
            false => json!({"isError": true}).into(),
        }
    }

    /// Lets the View ask the model, where the user lets its server (rules of client/sampling).
    async fn sample_for_view(&self, of: &Asking<'_>, params: &RawJson) -> Result<RawJson, ErrorObject> {
        if !self.may_views_ask_model(&of.call.server_id) {
            let what = "the user does not let this server ask the model";
            return Err(ErrorObject::new(ErrorObject::METHOD_NOT_FOUND, what));
        }
        let asked = self.sample_as_view((of.view_id, of.call), of.live, params, of.end).await;
        match asked {
            Answer::Sampled(result) => Ok(result),
            Answer::Unusable { why } => Err(ErrorObject::new(ErrorObject::INVALID_PARAMS, why)),
            Answer::Refused { why } => Err(ErrorObject::new(-1, why)),
            Answer::Failed { why } => Err(ErrorObject::new(ErrorObject::INTERNAL, why)),
            Answer::Elicited(_) | Answer::Roots(_) => Err(gone()),
        }
    }

    pub(super) fn connection_for_view(
        &self,
        call: &CallRecord,
    ) -> Result<crate::connection::Connection, ErrorObject> {
        let server = self.server(&call.server_id).ok_or_else(|| unreachable_server("it was removed"))?;
        server.connection().map(|it| it.0).map_err(|error| unreachable_server(&error.in_short()))
    }

    async fn call_for_view(
        &self,
        view_id: &str,
        live: &Arc<Live>,
        order: CallOrder,
    ) -> Result<RawJson, ErrorObject> {
        // Held until the call has ended, if the user is to be asked about it.
        let turn = self.turn_to_ask(view_id, live, &order).await?;
        let end = self.run_call(live, order).await;
        match (&end.record.state, self.view_result(&end.record).await) {
            (CallState::Done | CallState::ToolError, Some(result)) => Ok(result),
            (CallState::ToolError, None) => Ok(projection::error_without_output()),
            (CallState::Failed { what, .. }, _) => Err(match &end.heard {
                Some(heard) => told_of(heard.code, &heard.what),
                None => unreachable_server(what),
            }),
            (CallState::Refused, _) => {
                if turn.is_some() {
                    self.was_refused(view_id);
                }
                Err(ErrorObject::new(-32000, "the user did not allow this call"))
            }
            // What is heard of a cancelled call is that the user had not answered yet.
            (CallState::Cancelled, _) if end.heard.is_some() => {
                self.was_refused(view_id);
                Err(gone())
            }
            (state, _) => Err(ErrorObject::new(-32000, format!("the call ended as {}", state.word()))),
        }
    }

    fn was_refused(&self, view_id: &str) {
        lock(&self.0.views).consent.desk.was_refused(view_id, self.clock_ms());
    }

    /// Waits until no other call of the View stands before the user, if this one will. A View that was refused something asks nothing
    /// for a while.
    async fn turn_to_ask(
        &self,
        view_id: &str,
        live: &Live,
        order: &CallOrder,
    ) -> Result<Option<OwnedMutexGuard<()>>, ErrorObject> {
        let tool = self.server(&order.server_id).and_then(|it| it.tool(&order.tool));
        let Some(tool) = tool else { return Ok(None) };
        let is_asked = || matches!(self.standing(&live.id, &order.server_id, &tool), Standing::Ask(_));
        if !is_asked() {
            return Ok(None);
        }
        let asks = lock(&self.0.views).open.get(view_id).map(|it| Arc::clone(&it.asks)).ok_or_else(gone)?;
        let turn = tokio::select! {
            turn = asks.lock_owned() => turn,
            () = order.cancel.cancelled() => return Err(gone()),
        };
        // The answer to the one before may have settled this one too.
        if !is_asked() {
            return Ok(None);
        }
        if !lock(&self.0.views).consent.desk.may_ask(view_id, self.clock_ms()) {
            let what = "the user refused what this View asked for; it may ask again later";
            return Err(ErrorObject::new(-32000, what));
        }
        Ok(Some(turn))
    }
}

/// The pages of a list as one, so that a View need not turn them.
fn all_pages(pages: &[RawJson], member: &str) -> RawJson {
    let items = |page: &RawJson| {
        let mut page: BTreeMap<String, RawJson> = page.to().ok()?;
        page.remove(member)?.to::<Vec<RawJson>>().ok()
    };
    let all: Vec<RawJson> = pages.iter().filter_map(items).flatten().collect();
    RawJson::of(&BTreeMap::from([(member, all)])).unwrap_or_else(|_| json!({member: []}).into())
}

pub(super) fn unreachable_server(why: &str) -> ErrorObject {
    ErrorObject::new(-32000, why)
}

/// A failure of a request to the View's own server.
fn server_error(error: &CallError) -> ErrorObject {
    told_of(error.code(), &error.in_short())
}

/// The server's own code is kept and marked as such, so that a View can tell it from a refusal of the host, which has no `data`. What
/// else the server put beside it is left out.
fn told_of(code: Option<i64>, what: &str) -> ErrorObject {
    match code {
        Some(code) => ErrorObject::new(code, what).with_data(json!({"from": "server"})),
        None => unreachable_server(what),
    }
}

/// The answer to a request that nobody waits for.
pub(super) fn gone() -> ErrorObject {
    ErrorObject::new(-32000, "the View does not wait for this any more")
}
