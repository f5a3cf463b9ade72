//! What is known of one client: its handshake, what runs for it, and what it was asked. A request of a revision without a handshake
//! needs none of it, and gets a fresh one where the carrier has no line to hold one.

use std::{
    collections::HashMap,
    panic::AssertUnwindSafe,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
    time::Duration,
};

use futures::FutureExt as _;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{
    sync::{broadcast::error::RecvError, mpsc::Sender, oneshot},
    task::JoinHandle,
};
use usher_protocol::{
    RawJson, Revision,
    jsonrpc::{ErrorObject, Id, Message},
};

use crate::{
    ask::Question,
    change::{Change, Filter, subscription_meta},
    connection::{Frame, send},
    context::{Context, Level, Rounds},
    negotiation::{Client, RequestMeta},
    server::Server,
};

type Answered = Result<RawJson, ErrorObject>;

/// One client.
#[derive(Default)]
pub(crate) struct Peer {
    handshake: Mutex<Option<Client>>,
    running: Mutex<HashMap<Id, Running>>,
    questions: Mutex<HashMap<i64, oneshot::Sender<Answered>>>,
    asked: AtomicI64,
    level: Mutex<Option<Level>>,
    watched: Mutex<Filter>,
}

struct Running {
    task: JoinHandle<()>,
    /// It ends only when it is told to.
    is_subscription: bool,
}

/// Where a request comes from and where its answer goes.
struct Asked {
    id: Id,
    client: Client,
    meta: RequestMeta,
    params: RawJson,
    out: Sender<Frame>,
}

impl Peer {
    /// Takes a message; what it leads to goes to `out`. Calls go on after this returns.
    pub(crate) async fn take(self: &Arc<Self>, server: &Arc<Server>, message: Message, out: &Sender<Frame>) {
        server.interference().on_message(&message);
        match message {
            Message::Request { id, method, params } => {
                self.request(server, id, &method, params, out).await;
            }
            Message::Notification { method, params } => {
                self.notification(server, &method, params.as_ref());
            }
            Message::Response { id, result } => self.answered(Some(id), Ok(result)),
            Message::Error { id, error } => self.answered(id, Err(error)),
        }
    }

    /// Whether the client opened with a handshake.
    pub(crate) fn has_handshake(&self) -> bool {
        lock(&self.handshake).is_some()
    }

    /// The revision that the handshake found.
    pub(crate) fn revision(&self) -> Option<Revision> {
        lock(&self.handshake).map(|it| it.revision)
    }

    /// Whether the client is told of a change without a subscription of its own.
    pub(crate) fn wants(&self, change: &Change) -> bool {
        self.has_handshake() && (Filter::lists().wants(change) || lock(&self.watched).wants(change))
    }

    /// Lets what runs end, for as long as `grace`; then stops it.
    pub(crate) async fn finish(&self, grace: Duration) {
        let (endless, calls): (Vec<_>, Vec<_>) =
            lock(&self.running).drain().map(|it| it.1).partition(|it| it.is_subscription);
        endless.iter().for_each(|it| it.task.abort());
        let aborts: Vec<_> = calls.iter().map(|it| it.task.abort_handle()).collect();
        // Nobody is left to answer.
        lock(&self.questions).clear();
        let all = async {
            for call in calls {
                // A call that was stopped has nothing more to say.
                let _ = call.task.await;
            }
        };
        let _ = tokio::time::timeout(grace, all).await;
        aborts.iter().for_each(tokio::task::AbortHandle::abort);
    }

    /// Stops what runs.
    pub(crate) fn stop(&self) {
        lock(&self.running).drain().for_each(|it| it.1.task.abort());
        lock(&self.questions).clear();
    }

    /// Asks the client, and waits for what it answers. The question is dropped when the caller is.
    pub(crate) async fn ask(&self, question: &Question, out: &Sender<Frame>) -> Result<Value, ErrorObject> {
        let id = self.asked.fetch_add(1, Relaxed);
        let (tell, told) = oneshot::channel();
        lock(&self.questions).insert(id, tell);
        let _forget = Forget { peer: self, id };
        let params = Some(question.params().into());
        let request = Message::Request { id: Id::Number(id), method: question.method().to_owned(), params };
        send(out, Frame::of(&request)).await;
        let gone = || ErrorObject::new(ErrorObject::INTERNAL, "the client has gone");
        told.await.map_err(|_| gone())?.map(|it| it.to_value())
    }

    fn answered(&self, id: Option<Id>, answer: Answered) {
        let Some(Id::Number(id)) = id else { return };
        if let Some(tell) = lock(&self.questions).remove(&id) {
            // Whoever asked may have gone.
            let _ = tell.send(answer);
        }
    }

    async fn request(
        self: &Arc<Self>,
        server: &Arc<Server>,
        id: Id,
        method: &str,
        params: Option<RawJson>,
        out: &Sender<Frame>,
    ) {
        let say = async |id, result| send(out, Frame::of(&answer(id, result))).await;
        let meta = match RequestMeta::read(params.as_ref()) {
            Ok(meta) => meta,
            Err(error) => return say(id, Err(error)).await,
        };
        if method == "initialize" && (server.spoken().is_old() || !meta.is_stateless()) {
            let opened = server.spoken().initialize(params.as_ref(), server.introduction());
            let result = opened.map(|(client, result)| {
                *lock(&self.handshake) = Some(client);
                result.into()
            });
            return say(id, result).await;
        }
        let client = match self.client(server, method, &meta) {
            Ok(client) => client,
            Err(error) => return say(id, Err(error)).await,
        };
        let params = params.unwrap_or_else(|| json!({}).into());
        let asked = Asked { id, client, meta, params, out: out.clone() };
        match method {
            "tools/call" => self.run(server, "tools/call", asked).await,
            "prompts/get" if server.has_prompts() => self.run(server, "prompts/get", asked).await,
            "subscriptions/listen" if client.revision.has_request_meta() && server.changes().is_some() => {
                self.listen(server, asked).await;
            }
            _ => {
                let result = self
                    .own(server, client, method, &asked.params)
                    .unwrap_or_else(|| server.answer(client, method, &asked.params));
                say(asked.id, result).await;
            }
        }
    }

    /// Whom the request comes from: what it says itself goes before the handshake.
    fn client(&self, server: &Server, method: &str, meta: &RequestMeta) -> Result<Client, ErrorObject> {
        // A server of the handshake alone knows neither `_meta` nor the method that came with it.
        let is_old = server.spoken().is_old();
        match *lock(&self.handshake) {
            Some(client) if is_old || !meta.is_stateless() => Ok(client),
            None if is_old => {
                let message = format!("{method} before initialize");
                Err(ErrorObject::new(ErrorObject::METHOD_NOT_FOUND, message))
            }
            Some(_) | None => server.spoken().client(meta),
        }
    }

    /// What only a client with a handshake can change: what it is told.
    fn own(&self, server: &Server, client: Client, method: &str, params: &RawJson) -> Option<Answered> {
        #[derive(Deserialize)]
        struct Params {
            #[serde(default)]
            level: Option<Level>,
            #[serde(default)]
            uri: Option<String>,
        }
        let is_known = match method {
            "logging/setLevel" => server.logs(),
            "resources/subscribe" | "resources/unsubscribe" => {
                server.has_resources() && server.changes().is_some()
            }
            _ => false,
        };
        if !is_known || !client.revision.has_handshake() {
            return None;
        }
        let invalid = |why: String| Some(Err(ErrorObject::new(ErrorObject::INVALID_PARAMS, why)));
        let params = match params.to::<Params>() {
            Ok(params) => params,
            Err(error) => return invalid(format!("the parameters cannot be read: {error}")),
        };
        match (method, params.level, params.uri) {
            ("logging/setLevel", Some(level), _) => *lock(&self.level) = Some(level),
            ("resources/subscribe", _, Some(uri)) => lock(&self.watched).subscribe(uri),
            ("resources/unsubscribe", _, Some(uri)) => lock(&self.watched).unsubscribe(&uri),
            _ => return invalid(format!("{method} lacks a parameter")),
        }
        Some(Ok(json!({}).into()))
    }

    fn context(
        self: &Arc<Self>,
        server: &Server,
        method: &str,
        asked: &Asked,
    ) -> Result<Context, ErrorObject> {
        let level = if asked.client.revision.has_request_meta() {
            asked.meta.log_level
        } else {
            // A client that did not choose gets what is more than a trace.
            Some(lock(&self.level).unwrap_or(Level::Info))
        };
        Ok(Context {
            client: asked.client,
            token: asked.meta.progress_token.clone(),
            level: level.filter(|_| server.logs()),
            out: asked.out.clone(),
            peer: self.clone(),
            rounds: Rounds::read(server.seal(), method, &asked.params)?,
        })
    }

    /// Runs what a request asks for beside everything else, unless a request with its id is running.
    async fn run(self: &Arc<Self>, server: &Arc<Server>, method: &'static str, asked: Asked) {
        if lock(&self.running).contains_key(&asked.id) {
            let error = ErrorObject::new(ErrorObject::INVALID_REQUEST, "a call with this id is running");
            return send(&asked.out, Frame::of(&answer(asked.id, Err(error)))).await;
        }
        let (server, peer, id) = (server.clone(), self.clone(), asked.id.clone());
        // Locked until the task is known, so that a call that ends at once finds itself here.
        let mut running = lock(&self.running);
        let task = tokio::spawn(async move {
            let work = AssertUnwindSafe(peer.work(&server, method, &asked)).catch_unwind();
            // What a handler did not finish must not cost the client its answer.
            let frames = work.await.unwrap_or_else(|_| {
                let error = ErrorObject::new(ErrorObject::INTERNAL, "the handler failed");
                vec![Frame::of(&answer(asked.id.clone(), Err(error)))]
            });
            for frame in frames {
                send(&asked.out, frame).await;
            }
            lock(&peer.running).remove(&asked.id);
        });
        running.insert(id, Running { task, is_subscription: false });
    }

    async fn work(self: &Arc<Self>, server: &Server, method: &str, asked: &Asked) -> Vec<Frame> {
        let result = match self.context(server, method, asked) {
            Ok(context) if method == "tools/call" => server.call(asked.client, &asked.params, context).await,
            Ok(context) => server.prompt(asked.client, &asked.params, context).await,
            Err(error) => Err(error),
        };
        let answer = answer(asked.id.clone(), result);
        if method != "tools/call" {
            return vec![Frame::of(&answer)];
        }
        let frames = server.interference().on_answer(&answer);
        let delay = server.interference().delay();
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        if frames.is_empty() {
            // Only what interferes withholds an answer. A call that came to its end without one would look like a cancelled one.
            return std::future::pending().await;
        }
        frames
    }

    /// Tells what changes until the client cancels (2026-07-28 basic/patterns/subscriptions).
    async fn listen(self: &Arc<Self>, server: &Arc<Server>, asked: Asked) {
        let Asked { id, client, params, out, .. } = asked;
        let filter = match Filter::read(&params) {
            Ok(filter) => filter.honoured(server.has_prompts(), server.has_resources()),
            Err(error) => {
                let why = format!("no notifications to listen for can be read: {error}");
                let error = ErrorObject::new(ErrorObject::INVALID_PARAMS, why);
                return send(&out, Frame::of(&answer(id, Err(error)))).await;
            }
        };
        let Some(mut changes) = server.changes() else { return };
        let (server, name) = (server.clone(), id.clone());
        send(&out, Frame::of(&filter.acknowledgement(&id))).await;
        let task = tokio::spawn(async move {
            loop {
                match changes.recv().await {
                    Ok(change) if filter.wants(&change) => {
                        if out.send(Frame::of(&change.notification(Some(&id)))).await.is_err() {
                            break;
                        }
                    }
                    Ok(_) | Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => {
                        let mut result = server.introduction().seal(client.revision, json!({}), None);
                        result["_meta"] = subscription_meta(&id);
                        return send(&out, Frame::of(&answer(id, Ok(result.into())))).await;
                    }
                }
            }
        });
        let before = lock(&self.running).insert(name, Running { task, is_subscription: true });
        // The same id again: the client replaced its subscription.
        before.iter().for_each(|it| it.task.abort());
    }

    fn notification(&self, server: &Server, method: &str, params: Option<&RawJson>) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Cancelled {
            request_id: Id,
        }
        if method != "notifications/cancelled" || server.interference().ignores_cancellation() {
            return;
        }
        if let Some(cancelled) = params.and_then(|it| it.to::<Cancelled>().ok()) {
            let call = lock(&self.running).remove(&cancelled.request_id);
            call.iter().for_each(|it| it.task.abort());
        }
    }
}

/// Forgets a question that nobody waits for any more.
struct Forget<'a> {
    peer: &'a Peer,
    id: i64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        lock(&self.peer.questions).remove(&self.id);
    }
}

fn answer(id: Id, result: Answered) -> Message {
    match result {
        Ok(result) => Message::Response { id, result },
        Err(error) => Message::Error { id: Some(id), error },
    }
}

fn lock<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each is whole after every statement, so a panic elsewhere does not spoil it.
    it.lock().unwrap_or_else(PoisonError::into_inner)
}
