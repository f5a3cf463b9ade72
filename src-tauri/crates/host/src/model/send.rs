//! The one door through which a request reaches a provider.
//!
//! The HTTP client is private to this module. The very bytes of [`Encoded`] are handed to the [`Recorder`], then sent; a repeated attempt
//! sends the same bytes again and is recorded again. Dropping a stream closes its connection. Deliberately absent: redirects (a request
//! goes where the user said, or nowhere) and anything that changes a body.

use std::{
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use futures::{StreamExt, stream};
use http::{StatusCode, header};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::{
    CallIds, Encoded, Endpoint, ModelError, ModelSpec, Wire, demo,
    error::{provider_text, shorten, tool_index},
    openai::{endpoint_url, headers},
    sse::{Chunks, Events, decode, decode_whole},
    wire::shown,
};

/// The largest error body that is read, in bytes.
const MAX_ERROR_BODY: usize = 64 * 1024;

/// The largest answer that is read whole, in bytes.
const MAX_WHOLE_BODY: usize = 16 * 1024 * 1024;

/// Keeps what was sent. Called from the task that drives the answer, so it must be quick.
pub trait Recorder: Send + Sync {
    /// An attempt is about to be sent; the first is 1. Bytes that cannot be recorded are not sent.
    ///
    /// # Errors
    /// Why it could not be recorded, for people.
    fn sending(&self, request: &Encoded, attempt: u32) -> Result<(), String>;

    /// How an attempt ended. Called once for each that was recorded.
    fn outcome(&self, request: &Encoded, attempt: u32, outcome: &Outcome);
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The answer came whole.
    Completed,
    /// It failed and is tried again.
    Retried(ModelError),
    /// It failed.
    Failed(ModelError),
    /// The answer was dropped before its end.
    Dropped,
}

/// How long to wait and how often to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For a connection.
    pub connect: Duration,
    /// Between two pieces of an answer, and for its first. Local models load for long before their first word.
    pub stall: Duration,
    /// Attempts in all, for a connection that fails or a provider that is busy.
    pub attempts: u32,
    /// Before the second attempt; doubles with each.
    pub pause: Duration,
    /// The longest pause that is waited when a provider asks for one.
    pub longest_pause: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            stall: Duration::from_secs(300),
            attempts: 3,
            pause: Duration::from_millis(500),
            longest_pause: Duration::from_secs(30),
        }
    }
}

/// Sends requests.
#[derive(Debug, Clone)]
pub struct ModelClient {
    client: reqwest::Client,
    /// For addresses of this machine, which no proxy can reach.
    local: reqwest::Client,
    patience: Patience,
}

impl ModelClient {
    /// A client.
    ///
    /// # Errors
    /// The system's certificates cannot be read.
    pub fn new(patience: Patience) -> Result<Self, ModelError> {
        let builder = || {
            reqwest::Client::builder()
                .connect_timeout(patience.connect)
                .redirect(reqwest::redirect::Policy::none())
        };
        let built =
            |it: reqwest::ClientBuilder| it.build().map_err(|it| ModelError::Client { why: reason(&it) });
        Ok(Self { client: built(builder())?, local: built(builder().no_proxy())?, patience })
    }

    /// Records and sends a request, and reads the answer. `ids` names calls to which the provider gives no id.
    ///
    /// The events end after the first error. The answer is complete when they end without one.
    ///
    /// # Errors
    /// No answer began. An error of a busy or unreachable provider comes after the attempts were used up.
    pub async fn stream(
        &self,
        wire: &dyn Wire,
        model: &ModelSpec,
        request: &Encoded,
        recorder: Arc<dyn Recorder>,
        ids: CallIds,
        stop: CancellationToken,
    ) -> Result<Events, ModelError> {
        let mut attempt = 1;
        loop {
            recorder.sending(request, attempt).map_err(|why| ModelError::NotRecorded { why })?;
            let record = Record::open(recorder.clone(), request, attempt);
            let begun = tokio::select! {
                biased;
                () = stop.cancelled() => Err(Failure::last(ModelError::Cancelled)),
                it = self.begin(model, request) => it,
            };
            let failure = match begun {
                Ok(answer) => {
                    let answer =
                        Answer { chunks: until_stopped(answer.chunks, stop), is_stream: answer.is_stream };
                    return match answer.events(wire.decoder(ids)).await {
                        Ok(events) => Ok(recorded(events, record)),
                        Err(error) => {
                            record.close(&Outcome::Failed(error.clone()));
                            Err(error)
                        }
                    };
                }
                Err(failure) => failure,
            };
            let pause = failure.pause(self.patience, attempt);
            let Some(pause) = pause.filter(|_| attempt < self.patience.attempts) else {
                record.close(&Outcome::Failed(failure.error.clone()));
                return Err(failure.error);
            };
            record.close(&Outcome::Retried(failure.error));
            tokio::select! {
                biased;
                () = stop.cancelled() => return Err(ModelError::Cancelled),
                () = sleep(pause) => {}
            }
            attempt += 1;
        }
    }

    /// Reads a resource of an endpoint, for a provider test. Carries the key and nothing else.
    pub(super) async fn get(
        &self,
        endpoint: &Endpoint,
        path: &str,
        limit: Duration,
    ) -> Result<String, ModelError> {
        let url = endpoint_url(endpoint, path)?;
        let mut fields = headers(endpoint)?;
        fields.insert(header::ACCEPT, header::HeaderValue::from_static("application/json"));
        fields.remove(header::CONTENT_TYPE);
        let request = self.for_host(&url).get(url.clone()).headers(fields);
        let read = async {
            let response = request.send().await.map_err(|it| transport(&it, &url))?;
            let status = response.status();
            let body = text(response, MAX_WHOLE_BODY).await;
            if status.is_success() {
                Ok(body)
            } else {
                Err(refusal(status, None, &body, endpoint, &url, "", &[]))
            }
        };
        timeout(limit, read).await.unwrap_or(Err(ModelError::Stalled { seconds: limit.as_secs() }))
    }

    async fn begin(&self, model: &ModelSpec, request: &Encoded) -> Result<Answer, Failure> {
        match &model.endpoint {
            Endpoint::Demo => return Ok(Answer { chunks: demo::answer(&request.body), is_stream: true }),
            Endpoint::Http { .. } => {}
        }
        let sent = self
            .for_host(&request.url)
            .post(request.url.clone())
            .headers(request.headers.clone())
            .body(request.body.clone())
            .send();
        let stall = self.patience.stall;
        let response = timeout(stall, sent)
            .await
            .map_err(|_| Failure::last(ModelError::Stalled { seconds: stall.as_secs() }))?
            .map_err(|it| Failure {
                is_transient: it.is_connect(),
                error: transport(&it, &request.url),
                retry_after: None,
            })?;
        let status = response.status();
        if !status.is_success() {
            let retry_after = retry_after(&response);
            let body = timeout(stall, text(response, MAX_ERROR_BODY)).await.unwrap_or_default();
            let error = refusal(
                status,
                retry_after,
                &body,
                &model.endpoint,
                &request.url,
                &model.name,
                &request.tools,
            );
            let is_transient =
                matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
            return Err(Failure { error, is_transient, retry_after });
        }
        let kind =
            response.headers().get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
        // Some endpoints name no type, or a wrong one, for a stream; only these are certainly none.
        let is_stream = !kind.starts_with("application/json") && !kind.starts_with("text/html");
        let bytes =
            response.bytes_stream().map(|it| it.map_err(|it| ModelError::Cut { why: Some(reason(&it)) }));
        Ok(Answer { chunks: unless_stalled(bytes.boxed(), stall), is_stream })
    }

    fn for_host(&self, url: &Url) -> &reqwest::Client {
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let is_local = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|it| it.is_loopback());
        if is_local { &self.local } else { &self.client }
    }
}

/// An answer that began.
struct Answer {
    chunks: Chunks,
    is_stream: bool,
}

impl Answer {
    async fn events(mut self, decoder: Box<dyn super::StreamDecoder>) -> Result<Events, ModelError> {
        if self.is_stream {
            return Ok(decode(self.chunks, decoder));
        }
        let mut body = Vec::new();
        while let Some(chunk) = self.chunks.next().await {
            body.extend_from_slice(&chunk?);
            if body.len() > MAX_WHOLE_BODY {
                return Err(ModelError::TooLarge { limit: MAX_WHOLE_BODY });
            }
        }
        Ok(decode_whole(&String::from_utf8_lossy(&body), decoder))
    }
}

/// Why no answer began.
struct Failure {
    error: ModelError,
    is_transient: bool,
    retry_after: Option<Duration>,
}

impl Failure {
    fn last(error: ModelError) -> Self {
        Self { error, is_transient: false, retry_after: None }
    }

    /// How long to wait before the next attempt; none when there is to be none.
    fn pause(&self, patience: Patience, attempt: u32) -> Option<Duration> {
        let own = patience.pause.saturating_mul(2u32.saturating_pow(attempt - 1)).min(patience.longest_pause);
        let pause = self.retry_after.unwrap_or(own);
        (self.is_transient && pause <= patience.longest_pause).then_some(pause)
    }
}

/// Tells the recorder exactly once how an attempt ended, also when it is dropped.
struct Record {
    recorder: Arc<dyn Recorder>,
    request: Encoded,
    attempt: u32,
    is_open: bool,
}

impl Record {
    fn open(recorder: Arc<dyn Recorder>, request: &Encoded, attempt: u32) -> Self {
        Self { recorder, request: request.clone(), attempt, is_open: true }
    }

    fn close(mut self, outcome: &Outcome) {
        self.is_open = false;
        self.recorder.outcome(&self.request, self.attempt, outcome);
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if self.is_open {
            self.recorder.outcome(&self.request, self.attempt, &Outcome::Dropped);
        }
    }
}

/// The same events, with their end recorded.
fn recorded(events: Events, record: Record) -> Events {
    stream::unfold((events, Some(record)), |(mut events, mut record)| async move {
        // Without a record an error was already given, and nothing follows it.
        record.as_ref()?;
        match events.next().await {
            Some(Ok(event)) => Some((Ok(event), (events, record))),
            Some(Err(error)) => {
                if let Some(record) = record.take() {
                    record.close(&Outcome::Failed(error.clone()));
                }
                Some((Err(error), (events, None)))
            }
            None => {
                if let Some(record) = record.take() {
                    record.close(&Outcome::Completed);
                }
                None
            }
        }
    })
    .boxed()
}

/// The same bytes, ending with an error when the user stops.
fn until_stopped(chunks: Chunks, stop: CancellationToken) -> Chunks {
    stream::unfold((Some(chunks), stop), |(chunks, stop)| async move {
        let mut chunks = chunks?;
        tokio::select! {
            biased;
            () = stop.cancelled() => Some((Err(ModelError::Cancelled), (None, stop))),
            it = chunks.next() => it.map(|it| (it, (Some(chunks), stop))),
        }
    })
    .boxed()
}

/// The same bytes, ending with an error when none come for too long.
fn unless_stalled(chunks: Chunks, limit: Duration) -> Chunks {
    stream::unfold(Some(chunks), move |chunks| async move {
        let mut chunks = chunks?;
        match timeout(limit, chunks.next()).await {
            Ok(it) => it.map(|it| (it, Some(chunks))),
            Err(_) => Some((Err(ModelError::Stalled { seconds: limit.as_secs() }), None)),
        }
    })
    .boxed()
}

/// Up to `limit` bytes of a body; what can be read of it.
async fn text(response: reqwest::Response, limit: usize) -> String {
    let mut body: Vec<u8> = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Some(Ok(chunk)) = chunks.next().await {
        let chunk: Bytes = chunk;
        let room = limit - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if body.len() == limit {
            break;
        }
    }
    String::from_utf8_lossy(&body).into_owned()
}

fn retry_after(response: &reqwest::Response) -> Option<Duration> {
    let value = response.headers().get(header::RETRY_AFTER)?.to_str().ok()?;
    // A date is allowed as well, but without a clock it cannot be used; then the own pause applies.
    value.trim().parse::<u64>().ok().map(Duration::from_secs)
}

fn transport(error: &reqwest::Error, url: &Url) -> ModelError {
    let why = reason(error);
    let url = shown(url);
    if error.is_connect() && why.to_ascii_lowercase().contains("refused") {
        ModelError::Refused { url }
    } else {
        ModelError::Unreachable { url, why }
    }
}

/// The innermost cause, without addresses, which the caller tells.
fn reason(error: &(dyn std::error::Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    shorten(&innermost.to_string(), 300)
}

fn refusal(
    status: StatusCode,
    retry_after: Option<Duration>,
    body: &str,
    endpoint: &Endpoint,
    url: &Url,
    model: &str,
    tools: &[Arc<str>],
) -> ModelError {
    let key = match endpoint {
        Endpoint::Http { key, .. } => key.as_ref().map(super::Secret::expose),
        Endpoint::Demo => None,
    };
    let text = provider_text(body, key);
    let code = status.as_u16();
    match code {
        401 | 403 => ModelError::Unauthorized { url: shown(url), status: code, text },
        404 => ModelError::NotFound { url: shown(url), model: model.to_owned(), text },
        400 | 413 | 422 => {
            let tool = tool_index(&text).and_then(|it| tools.get(it)).map(ToString::to_string);
            ModelError::Rejected { status: code, text, tool }
        }
        429 => ModelError::RateLimited { retry_after_s: retry_after.map(|it| it.as_secs()), text },
        _ => ModelError::Status { status: code, text },
    }
}

/// A recorder that keeps what it is told, for tests and for the command line.
#[derive(Debug, Default)]
pub struct MemoryRecorder(Mutex<Vec<(Encoded, u32, Option<Outcome>)>>);

impl MemoryRecorder {
    /// Every attempt, in order.
    pub fn attempts(&self) -> Vec<(Encoded, u32, Option<Outcome>)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Recorder for MemoryRecorder {
    fn sending(&self, request: &Encoded, attempt: u32) -> Result<(), String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((request.clone(), attempt, None));
        Ok(())
    }

    fn outcome(&self, _: &Encoded, attempt: u32, outcome: &Outcome) {
        let mut attempts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(it) = attempts.iter_mut().rev().find(|it| it.1 == attempt) {
            it.2 = Some(outcome.clone());
        }
    }
}
