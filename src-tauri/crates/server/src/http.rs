//! Streamable HTTP, both of its kinds at one address: requests that stand alone (2026-07-28 basic/transports/streamable-http), and
//! sessions that open with the handshake (2025-11-25 basic/transports).
//!
//! A server on a person's machine can be reached by every page that the person opens, so requests with a foreign `Host` or `Origin` are
//! refused, and bodies have a limit. Deliberately absent: TLS, authorization and other addresses than the one path; a proxy gives them.

mod answer;
mod gate;
mod mirror;
mod session;

use std::{convert::Infallible, net::SocketAddr, sync::Arc, time::Duration};

use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, mpsc, watch},
};
use usher_protocol::{
    RawJson,
    jsonrpc::{ErrorObject, Id, Message, NotAMessage},
};

use self::{
    answer::{Body, StopOnDrop, empty, refusal, whole},
    gate::Gate,
    session::{Session, Sessions},
};
use crate::{
    batch, connection::Frame, interference::Turn, negotiation::RequestMeta, peer::Peer, server::Server,
    stdio::ServeError,
};

/// How a server is reached over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpOptions {
    /// The one path that is answered.
    pub path: String,
    /// Names, beside those of the loopback, that `Host` and `Origin` may have.
    pub hosts: Vec<String>,
    /// The longest body, in bytes.
    pub max_body: usize,
    /// The most connections at once; more wait.
    pub max_connections: usize,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self { path: "/mcp".to_owned(), hosts: Vec::new(), max_body: 16 << 20, max_connections: 256 }
    }
}

/// The code for headers that do not say what the body says (2026-07-28 basic, "Error Codes").
const HEADER_MISMATCH: i64 = -32020;

/// How long a client may take for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a client may take for a body.
const BODY_TIMEOUT: Duration = Duration::from_mins(1);

/// How many messages may wait for a client that does not read.
const WAITING: usize = 16;

/// Serves clients until the future is dropped.
///
/// # Errors
/// The address cannot be listened at any more, or an interference asks for a crash.
pub async fn serve(
    server: Arc<Server>,
    listener: TcpListener,
    options: HttpOptions,
) -> Result<(), ServeError> {
    let (crash, mut crashed) = watch::channel(false);
    let slots = Arc::new(Semaphore::new(options.max_connections));
    let bound = listener.local_addr()?;
    let carrier = Arc::new(Carrier {
        gate: Gate::new(bound, &options.hosts),
        sessions: Sessions::default(),
        server,
        options,
        crash,
    });
    let mut connections = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            _ = crashed.changed() => return Err(ServeError::Crash),
            Some(_ended) = connections.join_next() => {}
            accepted = accept(&listener, &slots) => {
                let (stream, slot) = accepted?;
                let carrier = carrier.clone();
                connections.spawn(async move {
                    carrier.connection(stream).await;
                    drop(slot);
                });
            }
        }
    }
}

async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> Result<(TcpStream, tokio::sync::OwnedSemaphorePermit), ServeError> {
    let slot = slots.clone().acquire_owned().await.map_err(std::io::Error::other)?;
    loop {
        match listener.accept().await {
            Ok((stream, _peer)) => return Ok((stream, slot)),
            // One client's trouble, or too many open files: others may still come.
            Err(error) if error.kind() != std::io::ErrorKind::InvalidInput => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// The address that clients are given.
pub fn url(bound: SocketAddr, options: &HttpOptions) -> String {
    format!("http://{bound}{}", options.path)
}

struct Carrier {
    server: Arc<Server>,
    gate: Gate,
    sessions: Sessions,
    options: HttpOptions,
    crash: watch::Sender<bool>,
}

impl Carrier {
    async fn connection(self: Arc<Self>, stream: TcpStream) {
        let service = service_fn(|request| {
            let carrier = self.clone();
            async move { Ok::<_, Infallible>(carrier.answer(request).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .serve_connection(TokioIo::new(stream), service);
        // A client that breaks off has nobody to tell.
        let _ = connection.await;
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        if let Err(why) = self.gate.check(request.headers()) {
            return refusal(StatusCode::FORBIDDEN, None, ErrorObject::new(ErrorObject::INVALID_REQUEST, why));
        }
        if request.uri().path() != self.options.path {
            return empty(StatusCode::NOT_FOUND);
        }
        let (head, body) = request.into_parts();
        match head.method {
            Method::POST => match self.read(&head.headers, body).await {
                Ok(text) => self.post(&head.headers, &text).await,
                Err(refused) => *refused,
            },
            Method::GET if !self.is_stateless(&head.headers) => self.sessions.resume(&head.headers),
            Method::DELETE if !self.is_stateless(&head.headers) => self.sessions.end(&head.headers),
            _ => {
                let mut refused = empty(StatusCode::METHOD_NOT_ALLOWED);
                refused.headers_mut().insert(http::header::ALLOW, http::HeaderValue::from_static("POST"));
                refused
            }
        }
    }

    /// Only sessions have a stream of their own and an end.
    fn is_stateless(&self, headers: &HeaderMap) -> bool {
        !headers.contains_key(session::HEADER)
    }

    async fn read(&self, headers: &HeaderMap, body: Incoming) -> Result<String, Box<Response<Body>>> {
        let refuse = |status, code, why: String| Box::new(refusal(status, None, ErrorObject::new(code, why)));
        let kind = mirror::header(headers, "content-type").unwrap_or_default();
        if !kind.split(';').next().is_some_and(|it| it.trim().eq_ignore_ascii_case("application/json")) {
            // A page can post a form to any address, but not JSON.
            let why = "the body must be application/json".to_owned();
            return Err(refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, ErrorObject::INVALID_REQUEST, why));
        }
        let broken = |why: &str| refuse(StatusCode::BAD_REQUEST, ErrorObject::PARSE_ERROR, why.to_owned());
        let collected = Limited::new(body, self.options.max_body).collect();
        let body = tokio::time::timeout(BODY_TIMEOUT, collected)
            .await
            .map_err(|_| broken("the body takes too long"))?
            .map_err(|error| {
                if error.is::<LengthLimitError>() {
                    let why = format!("the body is longer than {} bytes", self.options.max_body);
                    refuse(StatusCode::PAYLOAD_TOO_LARGE, ErrorObject::INVALID_REQUEST, why)
                } else {
                    broken("the body broke off")
                }
            })?;
        String::from_utf8(body.to_bytes().into()).map_err(|_| broken("the body is not UTF-8"))
    }

    async fn post(&self, headers: &HeaderMap, text: &str) -> Response<Body> {
        let session = mirror::header(headers, session::HEADER);
        if let Some(session) = session.as_ref().and_then(|it| self.sessions.find(it))
            && batch::is_batch(session.peer(), text)
        {
            return self.batch(&session, text).await;
        }
        let message = match Message::parse(text) {
            Ok(message) => message,
            Err(why) => {
                let code = match why {
                    NotAMessage::NotJson(_) => ErrorObject::PARSE_ERROR,
                    NotAMessage::NotRpc => ErrorObject::INVALID_REQUEST,
                };
                return bad_request(None, ErrorObject::new(code, format!("the body is {why}")));
            }
        };
        if let Some(session) = session {
            return self.within(headers, &session, message).await;
        }
        match message {
            Message::Request { id, method, params } => {
                let meta = match RequestMeta::read(params.as_ref()) {
                    Ok(meta) => meta,
                    Err(error) => return bad_request(Some(id), error),
                };
                let is_old = self.server.spoken().is_old();
                let message =
                    Message::Request { id: id.clone(), method: method.clone(), params: params.clone() };
                if method == "initialize" && (is_old || !meta.is_stateless()) {
                    return self.open(message).await;
                }
                if is_old {
                    return self.before_handshake(id, &method).await;
                }
                if let Err(error) = self.check(headers, &meta, &method, params.as_ref()) {
                    return bad_request(Some(id), error);
                }
                self.alone(message).await
            }
            // The one that says anything is about a request on a line, and here a request ends with its stream.
            Message::Notification { .. } => empty(StatusCode::ACCEPTED),
            Message::Response { .. } | Message::Error { .. } => {
                let why = "a server asks nothing outside a session, so nothing can be answered";
                bad_request(None, ErrorObject::new(ErrorObject::INVALID_REQUEST, why))
            }
        }
    }

    /// Checks what a request that stands alone says of itself, in its body and in its headers.
    fn check(
        &self,
        headers: &HeaderMap,
        meta: &RequestMeta,
        method: &str,
        params: Option<&RawJson>,
    ) -> Result<(), ErrorObject> {
        if let Err(error) = self.server.spoken().client(meta) {
            // A revision that is not spoken is refused as such only if the header names it, too.
            if error.code == ErrorObject::UNSUPPORTED_REVISION {
                mirror::revision(headers, meta)?;
            }
            return Err(error);
        }
        let declared = |tool: &str| self.server.declaration(tool).map(|it| it.headers.as_slice());
        mirror::check(headers, meta, method, params, declared)
    }

    /// A request that says its own revision.
    async fn alone(&self, message: Message) -> Response<Body> {
        let (out, mut frames) = mpsc::channel(WAITING);
        let peer = Arc::new(Peer::default());
        // Whoever breaks off cancels, before the answer begins and after.
        let stop = StopOnDrop(peer.clone());
        if let Message::Request { method, .. } = &message
            && let Some(answered) = self.interfere(&message, method).await
        {
            return answered;
        }
        peer.take(&self.server, message, &out).await;
        drop(out);
        match answer::first(&mut frames, &self.crash).await {
            Some(Frame::Answer { line, code }) => whole(status(code), line),
            Some(Frame::Line(line)) => answer::events(line, frames, stop, self.crash.clone()),
            Some(Frame::Crash) => answer::never().await,
            None => answer::cancelled(),
        }
    }

    /// What something that interferes makes of a request.
    async fn interfere(&self, message: &Message, method: &str) -> Option<Response<Body>> {
        let Message::Request { id, .. } = message else { return None };
        match self.server.interference().on_request(method, false) {
            Turn::Go => None,
            Turn::Silence => answer::never().await,
            Turn::Answer(result) => {
                let answer = Message::Response { id: id.clone(), result };
                Some(whole(StatusCode::OK, answer.to_line().into_bytes()))
            }
            Turn::Crash => {
                self.crash.send_replace(true);
                answer::never().await
            }
        }
    }

    /// What a server that knows the handshake alone says to anything else.
    async fn before_handshake(&self, id: Id, method: &str) -> Response<Body> {
        let message = Message::Request { id: id.clone(), method: method.to_owned(), params: None };
        if let Some(answered) = self.interfere(&message, method).await {
            return answered;
        }
        let why = format!("{method} before initialize: there is no session");
        bad_request(Some(id), ErrorObject::new(ErrorObject::INVALID_REQUEST, why))
    }

    /// The handshake, which opens a session.
    async fn open(&self, message: Message) -> Response<Body> {
        let (out, mut frames) = mpsc::channel(WAITING);
        let peer = Arc::new(Peer::default());
        peer.take(&self.server, message, &out).await;
        drop(out);
        let Some(Frame::Answer { line, .. }) = answer::first(&mut frames, &self.crash).await else {
            return empty(StatusCode::INTERNAL_SERVER_ERROR);
        };
        let mut response = whole(StatusCode::OK, line);
        if peer.has_handshake() {
            let id = self.sessions.open(&self.server, peer);
            if let Ok(id) = http::HeaderValue::from_str(&id) {
                response.headers_mut().insert(session::HEADER, id);
            }
        }
        response
    }

    /// Several messages within a session.
    async fn batch(&self, session: &Session, text: &str) -> Response<Body> {
        let (out, mut frames) = mpsc::channel(WAITING);
        let (server, peer, text) = (self.server.clone(), session.peer().clone(), text.to_owned());
        // Beside the reading: what one message of the batch says would hold back the next ones for ever.
        tokio::spawn(async move { batch::take(&server, &peer, &text, &out).await });
        match answer::first(&mut frames, &self.crash).await {
            Some(Frame::Answer { line, .. }) => whole(StatusCode::OK, line),
            Some(Frame::Line(line)) => session.events(line, frames, self.crash.clone()),
            Some(Frame::Crash) => answer::never().await,
            None => empty(StatusCode::ACCEPTED),
        }
    }

    /// A message within a session. Its stream may break and be taken up again; only a notification cancels.
    async fn within(&self, headers: &HeaderMap, id: &str, message: Message) -> Response<Body> {
        let Some(session) = self.sessions.find(id) else {
            return refusal(
                StatusCode::NOT_FOUND,
                None,
                ErrorObject::new(ErrorObject::INVALID_REQUEST, "there is no such session; open a new one"),
            );
        };
        let named = mirror::header(headers, mirror::REVISION);
        if let Some(named) = named.filter(|it| !self.server.spoken().is_handshake(it)) {
            let why = format!("{named:?} is no revision of a session here");
            return bad_request(None, ErrorObject::new(ErrorObject::INVALID_REQUEST, why));
        }
        let (out, mut frames) = mpsc::channel(WAITING);
        if let Message::Request { method, .. } = &message {
            if let Some(answered) = self.interfere(&message, method).await {
                return answered;
            }
        } else {
            session.peer().take(&self.server, message, &out).await;
            return empty(StatusCode::ACCEPTED);
        }
        session.peer().take(&self.server, message, &out).await;
        drop(out);
        match answer::first(&mut frames, &self.crash).await {
            Some(Frame::Answer { line, .. }) => whole(StatusCode::OK, line),
            Some(Frame::Line(line)) => session.events(line, frames, self.crash.clone()),
            Some(Frame::Crash) => answer::never().await,
            None => answer::cancelled(),
        }
    }
}

/// The status of an answer to a request that stands alone.
fn status(code: Option<i64>) -> StatusCode {
    match code {
        Some(ErrorObject::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Some(
            ErrorObject::PARSE_ERROR
            | ErrorObject::INVALID_REQUEST
            | ErrorObject::UNSUPPORTED_REVISION
            | HEADER_MISMATCH
            | crate::ask::MISSING_CAPABILITY,
        ) => StatusCode::BAD_REQUEST,
        Some(_) | None => StatusCode::OK,
    }
}

fn bad_request(id: Option<Id>, error: ErrorObject) -> Response<Body> {
    refusal(StatusCode::BAD_REQUEST, id, error)
}
