//! One client's messages, whatever carries them: each call is a task of its own, and answers leave in the order in which they are done.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde::Deserialize;
use serde_json::json;
use tokio::{sync::mpsc::Sender, task::JoinHandle};
use usher_protocol::{
    RawJson,
    jsonrpc::{ErrorObject, Id, Message, NotAMessage},
};

use crate::{
    misbehave,
    negotiation::{Client, RequestMeta},
    server::Server,
};

/// What a connection gives to whatever carries it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// A line, without its end.
    Line(Vec<u8>),
    /// The process ends here, without an answer.
    Crash,
}

type Calls = Arc<Mutex<HashMap<Id, JoinHandle<()>>>>;

/// One client.
pub struct Connection {
    server: Arc<Server>,
    out: Sender<Frame>,
    handshake: Option<Client>,
    calls: Calls,
    is_first: bool,
}

impl Connection {
    /// A connection that has not heard anything yet. What it says goes to `out`.
    pub fn new(server: Arc<Server>, out: Sender<Frame>) -> Self {
        Self { server, out, handshake: None, calls: Calls::default(), is_first: true }
    }

    /// Says what a server says unasked when it starts: nothing, unless the options ask for noise.
    pub async fn start(&self) {
        for frame in misbehave::noise(&self.server.options.wire) {
            send(&self.out, frame).await;
        }
    }

    /// Takes one line. Calls go on after this returns; every other request is answered before.
    pub async fn receive(&mut self, line: &str) {
        let is_first = std::mem::replace(&mut self.is_first, false);
        let refuse = |code, message| Message::Error { id: None, error: ErrorObject::new(code, message) };
        match Message::parse(line) {
            Ok(Message::Request { id, method, params }) => {
                if is_first && self.server.options.era.exit_on_unknown && method != "initialize" {
                    send(&self.out, Frame::Crash).await;
                } else {
                    self.request(id, &method, params).await;
                }
            }
            Ok(Message::Notification { method, params }) => self.notification(&method, params.as_ref()),
            // The server asks nothing, so no answer is for it.
            Ok(Message::Response { .. } | Message::Error { .. }) => {}
            Err(NotAMessage::NotJson(why)) => self.say(refuse(ErrorObject::PARSE_ERROR, why)).await,
            Err(NotAMessage::NotRpc) => {
                let why = "the line is not a JSON-RPC 2.0 message".to_owned();
                self.say(refuse(ErrorObject::INVALID_REQUEST, why)).await;
            }
        }
    }

    /// Lets running calls end, for as long as `grace`; then stops them.
    pub async fn finish(self, grace: Duration) {
        let calls: Vec<_> = self.lock().drain().map(|it| it.1).collect();
        let aborts: Vec<_> = calls.iter().map(JoinHandle::abort_handle).collect();
        let all = async {
            for call in calls {
                // A call that panicked has nothing more to say.
                let _ = call.await;
            }
        };
        let _ = tokio::time::timeout(grace, all).await;
        aborts.iter().for_each(tokio::task::AbortHandle::abort);
    }

    async fn request(&mut self, id: Id, method: &str, params: Option<RawJson>) {
        let quirks = &self.server.options.era;
        if method == "server/discover" && quirks.discover_silent {
            return;
        }
        if method == "server/discover" && quirks.discover_empty {
            return self.answer(id, Ok(json!({}).into())).await;
        }
        if method == "initialize" {
            let opened = self.server.spoken.initialize(params.as_ref());
            let result = opened.map(|(client, result)| {
                self.handshake = Some(client);
                result.into()
            });
            return self.answer(id, result).await;
        }
        let (client, meta) = match self.client(method, params.as_ref()) {
            Ok(client) => client,
            Err(error) => return self.answer(id, Err(error)).await,
        };
        let params = params.unwrap_or_else(|| json!({}).into());
        if method == "tools/call" {
            return self.call(id, client, meta, params).await;
        }
        let result = self.server.answer(client, method, &params);
        self.answer(id, result).await;
    }

    /// Whom the request comes from: what it says itself goes before the handshake.
    fn client(&self, method: &str, params: Option<&RawJson>) -> Result<(Client, RequestMeta), ErrorObject> {
        let meta = RequestMeta::read(params)?;
        // A server of the handshake alone knows neither `_meta` nor the method that came with it.
        let is_old = self.server.spoken.stateless().is_empty();
        match self.handshake {
            Some(client) if is_old || !meta.is_stateless() => Ok((client, meta)),
            None if is_old => {
                let message = format!("{method} before initialize");
                Err(ErrorObject::new(ErrorObject::METHOD_NOT_FOUND, message))
            }
            Some(_) | None => Ok((self.server.spoken.client(&meta)?, meta)),
        }
    }

    async fn call(&self, id: Id, client: Client, meta: RequestMeta, params: RawJson) {
        if self.lock().contains_key(&id) {
            let error = ErrorObject::new(ErrorObject::INVALID_REQUEST, "a call with this id is running");
            return self.answer(id, Err(error)).await;
        }
        let (server, out, calls) = (self.server.clone(), self.out.clone(), self.calls.clone());
        let progress = Progress { token: meta.progress_token, out: out.clone() };
        let name = id.clone();
        // Locked until the task is known, so that a call that ends at once finds itself here.
        let mut running = self.lock();
        let task = tokio::spawn(async move {
            let result = server.call(client, &params, progress).await;
            let frames = misbehave::frames(&server.options.wire, answer(id.clone(), result));
            tokio::time::sleep(Duration::from_millis(server.options.wire.delay_ms)).await;
            for frame in frames {
                send(&out, frame).await;
            }
            calls.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        });
        running.insert(name, task);
    }

    fn notification(&self, method: &str, params: Option<&RawJson>) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Cancelled {
            request_id: Id,
        }
        if method != "notifications/cancelled" || self.server.options.wire.late {
            return;
        }
        if let Some(cancelled) = params.and_then(|it| it.to::<Cancelled>().ok()) {
            let call = self.lock().remove(&cancelled.request_id);
            call.iter().for_each(JoinHandle::abort);
        }
    }

    async fn answer(&self, id: Id, result: Result<RawJson, ErrorObject>) {
        self.say(answer(id, result)).await;
    }

    async fn say(&self, message: Message) {
        send(&self.out, Frame::Line(message.to_line().into_bytes())).await;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Id, JoinHandle<()>>> {
        // The map is whole after every statement, so a panic elsewhere does not spoil it.
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tells how far a call is, to a client that asked to know.
pub(crate) struct Progress {
    token: Option<RawJson>,
    out: Sender<Frame>,
}

impl Progress {
    #[cfg(test)]
    pub(crate) fn nobody() -> Self {
        Self { token: None, out: tokio::sync::mpsc::channel(1).0 }
    }

    /// Sends `notifications/progress`, if the request carried a token.
    pub(crate) async fn tell(&self, done: u32, total: u32, message: String) {
        let Some(token) = &self.token else { return };
        let params = json!({"progressToken": token, "progress": done, "total": total, "message": message});
        let told = Message::Notification {
            method: "notifications/progress".to_owned(),
            params: Some(params.into()),
        };
        send(&self.out, Frame::Line(told.to_line().into_bytes())).await;
    }
}

fn answer(id: Id, result: Result<RawJson, ErrorObject>) -> Message {
    match result {
        Ok(result) => Message::Response { id, result },
        Err(error) => Message::Error { id: Some(id), error },
    }
}

async fn send(out: &Sender<Frame>, frame: Frame) {
    // Nobody listens any more: the carrier is ending, and so is the connection.
    let _ = out.send(frame).await;
}
