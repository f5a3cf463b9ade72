//! The HTTP client under rmcp's transport: the text of a message goes out as it was written, and what comes is taken past rmcp.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytestring::ByteString;
use futures::{Stream, StreamExt as _, stream::BoxStream};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use reqwest::{RequestBuilder, Response};
use rmcp::{
    model::{
        ClientJsonRpcMessage, ClientRequest, CustomResult, ErrorData, GetExtensions as _, RequestId,
        ServerJsonRpcMessage, ServerResult,
    },
    transport::streamable_http_client::{
        AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient,
        StreamableHttpError, StreamableHttpPostResponse, StreamableHttpResponseLimits,
    },
};
use serde_json::Value;
use sse_stream::{Sse, SseStream};
use tokio::sync::watch;
use usher_protocol::jsonrpc::{Id, Message};

use super::{Authorization, HttpFailure, MAX_LINE, Mirrors, Outgoing, Reply, Wire};
use crate::connection::{
    line::{Sorted, sort},
    wire::number,
};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
pub(super) const JSON: &str = "application/json";
pub(super) const EVENTS: &str = "text/event-stream";

/// How much is kept of a body that is no answer, in bytes.
const MAX_DETAIL: usize = 2_000;

/// What can go wrong below HTTP.
#[derive(Debug, thiserror::Error)]
pub(super) enum RawError {
    /// The way there.
    #[error("{}", with_causes(.0))]
    Reqwest(#[from] reqwest::Error),
    /// A server that floods.
    #[error("the answer has more than {MAX_LINE} bytes")]
    TooBig,
}

type Failed = StreamableHttpError<RawError>;

/// Posts for rmcp's transport.
#[derive(Clone)]
pub(super) struct RawClient {
    http: reqwest::Client,
    wire: Arc<Wire>,
    mirrors: Arc<Mirrors>,
    standing: Arc<watch::Sender<Standing>>,
    authorization: Option<Authorization>,
}

/// The stream beside the requests of a session (2025-11-25 basic/transports, "Listening for Messages from the Server").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// There is no session, so no stream is opened.
    None,
    /// A session began, and its stream is asked for.
    Expected,
    /// The server opened it or refused it.
    Settled,
}

impl RawClient {
    pub(super) fn new(
        wire: Arc<Wire>,
        mirrors: Arc<Mirrors>,
        authorization: Option<Authorization>,
    ) -> Result<Self, reqwest::Error> {
        Ok(Self::over(client()?, wire, mirrors, authorization))
    }

    fn over(
        http: reqwest::Client,
        wire: Arc<Wire>,
        mirrors: Arc<Mirrors>,
        authorization: Option<Authorization>,
    ) -> Self {
        let standing = Arc::new(watch::Sender::new(Standing::None));
        Self { http, wire, mirrors, standing, authorization }
    }

    /// Tells where the stream beside the requests stands.
    pub(super) fn standing(&self) -> watch::Receiver<Standing> {
        self.standing.subscribe()
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, Failed> {
        sent(request, self.authorization.as_ref()).await.map_err(raw)
    }

    /// Takes text that came into the wire. Gives what rmcp is told of it.
    async fn take(&self, text: String, asked: Option<i64>, opening: bool) -> Option<String> {
        let text = ByteString::from(text);
        let mut sorted = sort(&text);
        let told = match &mut sorted {
            Sorted::Messages(messages) => {
                if let Some(asked) = asked {
                    readdress(messages, asked);
                }
                let told = messages.iter().find_map(|it| skeleton(it, opening.then_some(&*text)));
                // Answers that nobody awaits are those of a session that rmcp renewed.
                messages.retain(|it| answered(it).is_none_or(|id| self.wire.awaits(id)));
                if messages.is_empty() {
                    return told;
                }
                told
            }
            Sorted::Noise | Sorted::Broken { .. } => None,
        };
        self.wire.take_sorted(sorted, text).await;
        if let Some(asked) = asked
            && told.is_none()
        {
            self.wire.fail(asked, Reply::Unreadable("the body is not a JSON-RPC answer".to_owned()));
        }
        told
    }

    /// Takes the messages of a stream into the wire; what is left of each event is what resuming needs.
    fn taken(&self, response: Response, opening: bool) -> BoxStream<'static, Result<Sse, SseError>> {
        let client = self.clone();
        events(response)
            .then(move |event| {
                let client = client.clone();
                async move {
                    let mut event = event?;
                    let is_message = matches!(event.event.as_deref(), None | Some("" | "message"));
                    if is_message && let Some(text) = event.data.take().filter(|it| !it.trim().is_empty()) {
                        event.data = client.take(text, None, opening).await;
                    }
                    Ok(event)
                }
            })
            .boxed()
    }

    async fn answer(
        &self,
        message: &ClientJsonRpcMessage,
        response: Response,
        had_session: bool,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let asked = match message {
            ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        let opening = is_opening(message);
        let status = response.status();
        if let Some(error) = refused(status, response.headers()) {
            return Err(error);
        }
        if status == StatusCode::NOT_FOUND && had_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let session = response.headers().get(SESSION).and_then(|it| it.to_str().ok()).map(str::to_owned);
        if opening && session.is_some() {
            self.standing.send_replace(Standing::Expected);
        }
        if status.is_success() && is_type(response.headers(), EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(self.taken(response, opening), session));
        }
        let is_json = is_type(response.headers(), JSON);
        let text = body(response).await?;
        if had_session && is_session_lost(status, &text) {
            return Err(StreamableHttpError::SessionExpired);
        }
        let Some(id) = asked else {
            // Nothing is asked by a notification, so nothing in its answer counts but whether it was taken.
            return if status.is_success() {
                Ok(StreamableHttpPostResponse::Accepted)
            } else {
                Err(HttpStatusError::new(status.as_u16(), None).into())
            };
        };
        if is_json
            && (status.is_success()
                || Message::parse(&text).is_ok_and(|it| matches!(it, Message::Error { .. })))
        {
            let number = if let RequestId::Number(number) = id { Some(number) } else { None };
            let told = self.take(text, number, opening).await;
            let told = told.and_then(|it| serde_json::from_str(&it).ok()).unwrap_or_else(|| nothing_of(id));
            return Ok(StreamableHttpPostResponse::Json(told, session));
        }
        if let RequestId::Number(number) = id {
            let detail = scrubbed(cut(&text), self.authorization.as_ref());
            let failure = HttpFailure { status: Some(status.as_u16()), detail, challenge: None };
            self.wire.fail(number, Reply::Failed(failure));
        }
        // rmcp goes on, so that the handshake can be tried on the same transport.
        let told = ServerJsonRpcMessage::error(ErrorData::internal_error("no answer", None), Some(id));
        Ok(StreamableHttpPostResponse::Json(told, session))
    }
}

impl StreamableHttpClient for RawClient {
    type Error = RawError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let had_session = session_id.is_some();
        let outgoing = outgoing(&message);
        let text = match &outgoing {
            Some(outgoing) => outgoing.line.clone(),
            None => serde_json::to_string(&message).map_err(StreamableHttpError::Deserialize)?,
        };
        let mirrored = outgoing.map(|it| self.mirrors.headers(&it.message)).unwrap_or_default();
        let request = self
            .http
            .post(uri.as_ref())
            .header(header::ACCEPT, "application/json, text/event-stream")
            .header(header::CONTENT_TYPE, JSON);
        let request = with_headers(request, session_id.as_deref(), auth_header, custom_headers);
        let request = mirrored.into_iter().fold(request, |it, (name, value)| it.header(name, value));
        let response = self.send(request.body(text)).await?;
        self.answer(&message, response, had_session).await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
        // This client has limits of its own, which are the same.
        _limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        self.post_message(uri, message, session_id, auth_header, custom_headers).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failed> {
        let request =
            with_headers(self.http.delete(uri.as_ref()), Some(&session_id), auth_header, custom_headers);
        let status = self.send(request).await?.status();
        if status.is_success() { Ok(()) } else { Err(StreamableHttpError::ServerDoesNotSupportDeleteSession) }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failed> {
        let response = loop {
            let generation = self.authorization.as_ref().map_or(0, Authorization::generation);
            let request = self.http.get(uri.as_ref()).header(header::ACCEPT, EVENTS);
            let mut request =
                with_headers(request, session_id.as_deref(), auth_header.clone(), custom_headers.clone());
            if let Some(id) = &last_event_id {
                request = request.header(LAST_EVENT, id);
            }
            let response = self.send(request).await;
            self.standing.send_replace(Standing::Settled);
            let response = response?;
            match &self.authorization {
                // Nobody is asked to sign in for the sake of the stream; it waits for a request that needs it, too.
                Some(authorization) if response.status() == StatusCode::UNAUTHORIZED => {
                    authorization.changed_since(generation).await;
                }
                _ => break response,
            }
        };
        let status = response.status();
        if let Some(error) = refused(status, response.headers()) {
            return Err(error);
        }
        // Servers need not have a stream (2025-11-25 basic/transports, "Listening for Messages from the Server").
        if matches!(
            status,
            StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_FOUND | StatusCode::NOT_IMPLEMENTED
        ) {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        if !status.is_success() {
            return Err(HttpStatusError::new(status.as_u16(), None).into());
        }
        if !is_type(response.headers(), EVENTS) {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        Ok(self.taken(response, false))
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
        _max_sse_event_size: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failed> {
        self.get_stream(uri, session_id, last_event_id, auth_header, custom_headers).await
    }
}

/// Takes a response into a wire as the answer to a message, to the end of its stream if it is one. Nothing is sent.
pub(super) async fn take_answer(
    http: reqwest::Client,
    wire: Arc<Wire>,
    asked: &ClientJsonRpcMessage,
    response: Response,
) {
    let client = RawClient::over(http, wire, Arc::default(), None);
    if let Ok(StreamableHttpPostResponse::Sse(mut events, _)) = client.answer(asked, response, false).await {
        // After an error of the stream rmcp resumes it, with another request.
        while let Some(Ok(_)) = events.next().await {}
    }
}

/// A client that stays at the place that it is given.
pub(super) fn client() -> Result<reqwest::Client, reqwest::Error> {
    // A redirect to another place would carry what was meant for this one.
    let same_place = reqwest::redirect::Policy::custom(|attempt| {
        let first = attempt.previous().first();
        if first.is_some_and(|it| it.origin() == attempt.url().origin()) && attempt.previous().len() < 5 {
            attempt.follow()
        } else {
            attempt.stop()
        }
    });
    reqwest::Client::builder().redirect(same_place).build()
}

/// Sends a request as whoever is signed in.
pub(super) async fn sent(
    request: RequestBuilder,
    authorization: Option<&Authorization>,
) -> Result<Response, reqwest::Error> {
    let Some(authorization) = authorization else { return request.send().await };
    let Some(token) = authorization.bearer().await else { return request.send().await };
    let response = request.bearer_auth(token).send().await?;
    if response.status() != StatusCode::UNAUTHORIZED {
        authorization.accepted();
    }
    Ok(response)
}

/// What an error of rmcp's transport says about the way to the server.
pub(super) fn failure(error: &Failed, authorization: Option<&Authorization>) -> HttpFailure {
    let (status, challenge) = match error {
        StreamableHttpError::AuthRequired(it) => (Some(401), Some(it.www_authenticate_header.clone())),
        StreamableHttpError::InsufficientScope(it) => (Some(403), Some(it.www_authenticate_header.clone())),
        StreamableHttpError::HttpStatus(it) => (Some(it.status), None),
        StreamableHttpError::SessionExpired => {
            let detail = "the server does not know its session, nor the new one that took its place";
            return HttpFailure { status: None, detail: detail.to_owned(), challenge: None };
        }
        _ => (None, None),
    };
    let detail = if status.is_some() && challenge.is_none() { String::new() } else { error.to_string() };
    let challenge = challenge.map(|it| scrubbed(it, authorization));
    HttpFailure { status, detail: scrubbed(cut(&detail), authorization), challenge }
}

/// A server may repeat what it was sent.
fn scrubbed(text: String, authorization: Option<&Authorization>) -> String {
    match authorization {
        Some(authorization) => authorization.scrubbed(text),
        None => text,
    }
}

fn raw(error: reqwest::Error) -> Failed {
    StreamableHttpError::Client(RawError::Reqwest(error))
}

fn outgoing(message: &ClientJsonRpcMessage) -> Option<Outgoing> {
    match message {
        ClientJsonRpcMessage::Request(it) => it.request.extensions().get::<Outgoing>().cloned(),
        ClientJsonRpcMessage::Notification(it) => it.notification.extensions().get::<Outgoing>().cloned(),
        ClientJsonRpcMessage::Response(_) | ClientJsonRpcMessage::Error(_) => None,
    }
}

fn is_opening(message: &ClientJsonRpcMessage) -> bool {
    matches!(
        message,
        ClientJsonRpcMessage::Request(it)
            if matches!(it.request, ClientRequest::InitializeRequest(_) | ClientRequest::DiscoverRequest(_))
    )
}

fn with_headers(
    request: RequestBuilder,
    session: Option<&str>,
    token: Option<String>,
    headers: HashMap<HeaderName, HeaderValue>,
) -> RequestBuilder {
    let mut request = request.headers(headers.into_iter().collect());
    if let Some(session) = session {
        request = request.header(SESSION, session);
    }
    match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    }
}

/// What a server says about who may ask. Where there are several ways, that of tokens counts.
pub(super) fn challenge(headers: &HeaderMap) -> Option<String> {
    let challenges = || headers.get_all(header::WWW_AUTHENTICATE).iter().filter_map(|it| it.to_str().ok());
    let of_bearer = |it: &&str| it.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("bearer"));
    challenges().find(of_bearer).or_else(|| challenges().next()).map(str::to_owned)
}

fn refused(status: StatusCode, headers: &HeaderMap) -> Option<Failed> {
    let challenge = challenge(headers);
    match status {
        StatusCode::UNAUTHORIZED => {
            Some(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge.unwrap_or_default())))
        }
        StatusCode::FORBIDDEN if challenge.is_some() => Some(StreamableHttpError::InsufficientScope(
            InsufficientScopeError::new(challenge.unwrap_or_default(), None),
        )),
        _ => None,
    }
}

/// Whether a server says that it forgot a session with a status other than the one for it, which is 404 (2025-11-25 basic/transports,
/// "Session Management"). Servers that were restarted do, and a client that believes the status alone is stuck for ever.
fn is_session_lost(status: StatusCode, text: &str) -> bool {
    const STATUSES: [StatusCode; 3] =
        [StatusCode::BAD_REQUEST, StatusCode::GONE, StatusCode::SERVICE_UNAVAILABLE];
    const WORDS: [&str; 8] =
        ["not found", "no valid", "invalid", "expired", "unknown", "terminated", "not exist", "missing"];
    let said = cut(text).to_ascii_lowercase();
    STATUSES.contains(&status) && said.contains("session") && WORDS.iter().any(|it| said.contains(it))
}

pub(super) fn is_type(headers: &HeaderMap, wanted: &str) -> bool {
    let given = headers.get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
    given.split(';').next().is_some_and(|it| it.trim().eq_ignore_ascii_case(wanted))
}

/// The whole body, up to the longest line that any transport reads.
async fn body(mut response: Response) -> Result<String, Failed> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(raw)? {
        if bytes.len() + chunk.len() > MAX_LINE {
            return Err(StreamableHttpError::Client(RawError::TooBig));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// The events of a body. One that never ends is given up when it is longer than any line may be.
pub(super) fn events(response: Response) -> impl Stream<Item = Result<Sse, SseError>> + Send + 'static {
    let since = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&since);
    let bytes = response.bytes_stream().map(move |chunk| {
        let chunk = chunk.map_err(RawError::from)?;
        if counted.fetch_add(chunk.len(), Ordering::Relaxed) > MAX_LINE {
            return Err(RawError::TooBig);
        }
        Ok(chunk)
    });
    SseStream::from_bytes_stream(bytes).inspect(move |_| since.store(0, Ordering::Relaxed))
}

/// What rmcp is told of an answer: that it came.
fn nothing_of(id: RequestId) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::response(ServerResult::CustomResult(CustomResult::new(Value::Null)), id)
}

/// What rmcp is told of a message: the answer to an opening as it is, of other answers that they came, of the rest nothing.
fn skeleton(message: &Message, opening: Option<&str>) -> Option<String> {
    match (message, opening) {
        (Message::Response { .. } | Message::Error { .. }, Some(text)) => Some(text.to_owned()),
        (Message::Response { id, .. } | Message::Error { id: Some(id), .. }, None) => {
            serde_json::to_string(&nothing_of(super::typed::rmcp_id(id))).ok()
        }
        (Message::Error { id: None, .. }, None)
        | (Message::Request { .. } | Message::Notification { .. }, _) => None,
    }
}

fn answered(message: &Message) -> Option<i64> {
    match message {
        Message::Response { id, .. } | Message::Error { id: Some(id), .. } => number(id),
        Message::Error { id: None, .. } | Message::Request { .. } | Message::Notification { .. } => None,
    }
}

/// An answer to a POST is of its request, also when an error names none or another (servers write `"id": "server-error"`, or null).
fn readdress(messages: &mut [Message], asked: i64) {
    if let [Message::Error { id, .. }] = messages {
        *id = Some(Id::Number(asked));
    }
}

fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(MAX_DETAIL)].trim().to_owned()
}

fn with_causes(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        text = format!("{text}: {next}");
        cause = next.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_lost_however_the_server_says_it() {
        let refusal = |text: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":"server-error","error":{{"code":-32600,"message":"{text}"}}}}"#)
        };
        for (status, text) in [
            (400, refusal("Bad Request: No valid session ID provided")),
            (400, refusal("Session not found")),
            (410, "session expired".to_owned()),
            (503, "Unknown session".to_owned()),
        ] {
            assert!(is_session_lost(StatusCode::from_u16(status).unwrap(), &text), "{status} {text}");
        }
        for (status, text) in [
            (400, refusal("Invalid params: name is missing")),
            (503, "no healthy upstream".to_owned()),
            (500, "Session not found".to_owned()),
            (200, refusal("Session not found")),
        ] {
            assert!(!is_session_lost(StatusCode::from_u16(status).unwrap(), &text), "{status} {text}");
        }
    }
}
