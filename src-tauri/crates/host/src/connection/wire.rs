//! One stream of messages in each direction, and who waits for what.
//!
//! The reader splits a line without reading what it carries, and gives the untouched text to whoever asked. Deliberately absent: what
//! the requests are, and the process at the other end.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
    },
};

use bytestring::ByteString;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::{broadcast, mpsc, oneshot},
};
use tokio_util::sync::CancellationToken;
use usher_protocol::{
    RawJson,
    jsonrpc::{ErrorObject, Id, Message},
};

use super::{
    Progress,
    cache::Cache,
    error::HttpFailure,
    event::{ConnectionEvent, Direction, EventSender, cut},
    line::{MAX_LINE, ReadLine, Sorted, read_line, sort},
    question::{Offers, is_question, not_offered},
};

/// What came for a request.
#[derive(Debug)]
pub(super) enum Reply {
    Result(RawJson),
    Error(ErrorObject),
    Unreadable(String),
    /// No answer, because the way to the server failed.
    Failed(HttpFailure),
}

struct Waiting {
    method: String,
    reply: oneshot::Sender<Reply>,
    /// Whether rmcp waits for the identifier too.
    through_rmcp: bool,
    progress: Option<mpsc::Sender<Progress>>,
}

/// The requests that are under way.
#[derive(Default)]
struct Requests {
    waiting: HashMap<i64, Waiting>,
    closed: bool,
}

/// Both directions of a connection to one server.
pub(super) struct Wire {
    requests: Mutex<Requests>,
    outgoing: mpsc::Sender<Outgoing>,
    answered: mpsc::UnboundedSender<i64>,
    events: EventSender,
    noise: AtomicU64,
    /// The first lines that were no messages.
    noise_head: Mutex<Vec<String>>,
    /// Whether what comes is what was sent.
    echoes: AtomicBool,
    not_utf8: AtomicU64,
    unasked: AtomicU64,
    own_requests: AtomicI64,
    closing: CancellationToken,
    offers: Offers,
    cache: Cache,
    /// The server's own requests that are being answered.
    asked: Mutex<HashMap<Id, CancellationToken>>,
    /// What people did at addresses, as the server says that it is done.
    completed: broadcast::Sender<String>,
}

/// How many of these wait to be heard at most, and how long the name of one may be.
const MAX_COMPLETED: usize = 64;
const MAX_ELICITATION_ID: usize = 1024;

/// How many lines that were no messages are kept to be shown, and how many characters of each.
const KEPT_NOISE: usize = 8;
const MAX_NOISE_LINE: usize = 200;

/// The identifiers of requests that rmcp waits for, as they are answered. Ends with the server's output.
pub(super) type Answered = mpsc::UnboundedReceiver<i64>;

/// A message on its way to the server: what it is, and the very text that is sent.
#[derive(Debug, Clone)]
pub(super) struct Outgoing {
    pub(super) message: Message,
    pub(super) line: String,
}

impl Outgoing {
    /// Whether it ends the handshake (2025-11-25 basic/lifecycle).
    pub(super) fn is_initialized(&self) -> bool {
        matches!(&self.message, Message::Notification { method, .. } if method == "notifications/initialized")
    }
}

/// How many questions of a server may be open at once.
const MAX_ASKED: usize = 16;

/// A request that the host itself numbers; those of rmcp count up from zero.
const FIRST_OWN_ID: i64 = 2_000_000_000;

impl Wire {
    /// Starts to read and write. Both end when `closing` is cancelled; reading also ends with the stream, and cancels `closing`.
    pub(super) fn start<R, W>(
        reader: R,
        writer: W,
        events: EventSender,
        offers: Offers,
        closing: CancellationToken,
    ) -> (Arc<Self>, Answered)
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (wire, answers, lines) = Self::unconnected(events, offers, closing.clone());
        tokio::spawn(write_lines(writer, lines, closing));
        tokio::spawn(Arc::clone(&wire).read_lines(reader));
        (wire, answers)
    }

    /// A wire whose messages somebody else carries: takes what is to be sent from the receiver, and gives what came to
    /// [`Wire::take_sorted`] and [`Wire::fail`].
    pub(super) fn unconnected(
        events: EventSender,
        offers: Offers,
        closing: CancellationToken,
    ) -> (Arc<Self>, Answered, mpsc::Receiver<Outgoing>) {
        let (outgoing, lines) = mpsc::channel(256);
        let (answered, answers) = mpsc::unbounded_channel();
        let wire = Arc::new(Self {
            requests: Mutex::default(),
            outgoing,
            answered,
            events,
            noise: AtomicU64::new(0),
            noise_head: Mutex::default(),
            echoes: AtomicBool::new(false),
            not_utf8: AtomicU64::new(0),
            unasked: AtomicU64::new(0),
            own_requests: AtomicI64::new(1),
            closing,
            offers,
            cache: Cache::default(),
            asked: Mutex::default(),
            completed: broadcast::Sender::new(MAX_COMPLETED),
        });
        (wire, answers, lines)
    }

    /// Cancelled when the connection ends, by either side.
    pub(super) fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// Where it tells what happens.
    pub(super) fn events(&self) -> &EventSender {
        &self.events
    }

    /// The identifiers of what people did at addresses, from now on, as the server says that it is done.
    pub(super) fn completed(&self) -> broadcast::Receiver<String> {
        self.completed.subscribe()
    }

    /// Answers that may be used again.
    pub(super) fn cache(&self) -> &Cache {
        &self.cache
    }

    /// How many lines on stdout were not messages.
    pub(super) fn noise(&self) -> u64 {
        self.noise.load(Ordering::Relaxed)
    }

    /// The first of them, for a person who wants to know why there is no answer.
    pub(super) fn noise_head(&self) -> Vec<String> {
        self.noise_head.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note_noise(&self, text: &str) {
        self.noise.fetch_add(1, Ordering::Relaxed);
        let mut head = self.noise_head.lock().unwrap_or_else(PoisonError::into_inner);
        if head.len() < KEPT_NOISE {
            head.push(text.chars().take(MAX_NOISE_LINE).collect());
        }
    }

    /// Whether the other side sends back what it is sent, as `cat` does.
    pub(super) fn echoes(&self) -> bool {
        self.echoes.load(Ordering::Relaxed)
    }

    /// How many lines were not UTF-8.
    pub(super) fn not_utf8(&self) -> u64 {
        self.not_utf8.load(Ordering::Relaxed)
    }

    /// How many answers came for requests that were not under way.
    pub(super) fn unasked(&self) -> u64 {
        self.unasked.load(Ordering::Relaxed)
    }

    /// Sends a request outside of rmcp: those that find the revision, and those that stay open. Gives its identifier.
    pub(super) async fn request(
        &self,
        method: &'static str,
        params: RawJson,
    ) -> (i64, oneshot::Receiver<Reply>) {
        let (reply, answer) = oneshot::channel();
        let id = FIRST_OWN_ID + self.own_requests.fetch_add(1, Ordering::Relaxed);
        self.expect(id, Waiting { method: method.to_owned(), reply, through_rmcp: false, progress: None });
        self.send(Message::Request { id: Id::Number(id), method: method.to_owned(), params: Some(params) })
            .await;
        (id, answer)
    }

    /// Sends a request whose answer nobody waits for, without waiting for anything.
    pub(super) fn request_unheard(&self, method: &'static str, params: RawJson) {
        let (reply, _nobody) = oneshot::channel();
        let id = FIRST_OWN_ID + self.own_requests.fetch_add(1, Ordering::Relaxed);
        self.expect(id, Waiting { method: method.to_owned(), reply, through_rmcp: false, progress: None });
        let request =
            Message::Request { id: Id::Number(id), method: method.to_owned(), params: Some(params) };
        if self.queue(request).is_err() {
            self.events.defect(format!("The server does not read its input; {method} was not sent."));
        }
    }

    /// Notes that rmcp sends a request now.
    pub(super) fn expect_through_rmcp(
        &self,
        id: i64,
        method: &str,
        reply: oneshot::Sender<Reply>,
        progress: Option<mpsc::Sender<Progress>>,
    ) {
        self.expect(id, Waiting { method: method.to_owned(), reply, through_rmcp: true, progress });
    }

    fn expect(&self, id: i64, waiting: Waiting) {
        self.with(|requests| {
            if !requests.closed {
                requests.waiting.insert(id, waiting);
            }
        });
    }

    /// Writes a message, waiting while the server does not read.
    pub(super) async fn send(&self, message: Message) {
        // If nobody writes any more, the connection is closed, and whoever waits for an answer is told.
        let outgoing = self.outgoing(message);
        self.send_outgoing(outgoing).await;
    }

    /// Queues a message without waiting; gives the line back if the queue is full.
    pub(super) fn queue(&self, message: Message) -> Result<(), Outgoing> {
        match self.outgoing.try_send(self.outgoing(message)) {
            Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => Ok(()),
            Err(mpsc::error::TrySendError::Full(outgoing)) => Err(outgoing),
        }
    }

    /// Writes a message that [`Wire::queue`] gave back.
    pub(super) async fn send_outgoing(&self, outgoing: Outgoing) {
        let _closed = self.outgoing.send(outgoing).await;
    }

    fn outgoing(&self, message: Message) -> Outgoing {
        let line = message.to_line();
        let title = match &message {
            Message::Request { method, .. } | Message::Notification { method, .. } => method.clone(),
            Message::Response { .. } => "result".to_owned(),
            Message::Error { .. } => "error".to_owned(),
        };
        self.events.tell(ConnectionEvent::Line {
            direction: Direction::ToServer,
            title,
            text: cut(&line),
            bytes: line.len(),
        });
        Outgoing { message, line }
    }

    /// Gives up a request: its answer is ignored from now on, and the server is told (2025-11-25 basic/utilities/cancellation).
    pub(super) fn abandon(&self, id: i64, reason: &str) {
        let Some(waiting) = self.with(|requests| requests.waiting.remove(&id)) else { return };
        if waiting.through_rmcp {
            // rmcp forgets the request when it is told of an answer.
            let _gone = self.answered.send(id);
        }
        let params = serde_json::json!({"requestId": id, "reason": reason});
        let told = Message::Notification {
            method: "notifications/cancelled".to_owned(),
            params: Some(params.into()),
        };
        if self.queue(told).is_err() {
            self.events
                .defect("The server does not read its input; it was not told that a request was cancelled.");
        }
    }

    fn with<T>(&self, act: impl FnOnce(&mut Requests) -> T) -> T {
        act(&mut self.requests.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn read_lines<R: AsyncRead + Unpin>(self: Arc<Self>, reader: R) {
        let mut reader = BufReader::with_capacity(256 * 1024, reader);
        loop {
            let line = tokio::select! {
                line = read_line(&mut reader, MAX_LINE) => line,
                () = self.closing.cancelled() => break,
            };
            match line {
                Ok(Some(line)) => self.take_line(line).await,
                Ok(None) => break,
                Err(error) => {
                    self.events.defect(format!("The server's output could not be read: {error}"));
                    break;
                }
            }
        }
        self.end();
    }

    /// Ends the connection: dropping what they wait on tells everyone that no answer comes.
    pub(super) fn end(&self) {
        self.closing.cancel();
        let waiting = self.with(|requests| {
            requests.closed = true;
            std::mem::take(&mut requests.waiting)
        });
        drop(waiting);
    }

    /// Whether an answer to this request is awaited.
    pub(super) fn awaits(&self, id: i64) -> bool {
        self.with(|requests| requests.waiting.contains_key(&id))
    }

    /// Gives a request an end that is not an answer of the server.
    pub(super) fn fail(&self, id: i64, reply: Reply) {
        if let Some(waiting) = self.with(|requests| requests.waiting.remove(&id)) {
            self.finish(id, waiting, reply);
        }
    }

    /// Tells what could not be carried.
    pub(super) fn defect(&self, text: String) {
        self.events.defect(text);
    }

    async fn take_line(self: &Arc<Self>, line: ReadLine) {
        let (length, whole) = (line.length, line.is_whole());
        let text = match String::from_utf8(line.bytes) {
            Ok(text) => ByteString::from(text),
            Err(error) => {
                let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
                self.not_utf8.fetch_add(1, Ordering::Relaxed);
                if whole {
                    self.events.defect(format!(
                        "A line of {length} bytes is not UTF-8; what could not be read became U+FFFD."
                    ));
                }
                text.into()
            }
        };
        if text.trim().is_empty() {
            return;
        }
        let sorted = if whole { sort(&text) } else { too_long(&text, length) };
        self.take(sorted, text, length).await;
    }

    /// Takes what came by other ways than a stream of lines.
    pub(super) async fn take_sorted(self: &Arc<Self>, sorted: Sorted, text: ByteString) {
        let length = text.len();
        self.take(sorted, text, length).await;
    }

    async fn take(self: &Arc<Self>, sorted: Sorted, text: ByteString, length: usize) {
        match sorted {
            Sorted::Messages(messages) => {
                self.events.line(text.len(), || ConnectionEvent::Line {
                    direction: Direction::FromServer,
                    title: messages.iter().map(|it| self.title(it)).collect::<Vec<_>>().join(", "),
                    text: cut(&text),
                    bytes: length,
                });
                for message in messages {
                    self.take_message(message).await;
                }
            }
            Sorted::Noise => {
                self.note_noise(&text);
                self.events.line(text.len(), || ConnectionEvent::Noise { text: cut(&text), bytes: length });
            }
            Sorted::Broken { why, ids } => {
                self.note_noise(&text);
                self.events.tell(ConnectionEvent::Noise { text: cut(&text), bytes: length });
                self.fail_broken(&why, &ids);
            }
        }
    }

    /// A request must not wait for ever because its answer cannot be read.
    fn fail_broken(&self, why: &str, ids: &[Id]) {
        let failed = self.with(|requests| {
            let id = ids.iter().filter_map(number).find(|it| requests.waiting.contains_key(it))?;
            requests.waiting.remove(&id).map(|waiting| (id, waiting))
        });
        let Some((id, waiting)) = failed else {
            self.events.defect(format!("A line that looks like a message was skipped: {why}."));
            return;
        };
        self.events.defect(format!("The answer to {} cannot be read: {why}.", waiting.method));
        self.finish(id, waiting, Reply::Unreadable(why.to_owned()));
    }

    fn title(&self, message: &Message) -> String {
        let method = |id: &Id| {
            let method =
                number(id).and_then(|id| self.with(|it| it.waiting.get(&id).map(|it| it.method.clone())));
            method.unwrap_or_else(|| "nothing asked".to_owned())
        };
        match message {
            Message::Request { method, .. } | Message::Notification { method, .. } => method.clone(),
            Message::Response { id, .. } => format!("result of {}", method(id)),
            Message::Error { id: Some(id), .. } => format!("error of {}", method(id)),
            Message::Error { id: None, .. } => "error".to_owned(),
        }
    }

    async fn take_message(self: &Arc<Self>, message: Message) {
        match message {
            Message::Response { id, result } => self.answer(&id, Reply::Result(result)),
            Message::Error { id: Some(id), error } => self.answer(&id, Reply::Error(error)),
            Message::Error { id: None, error } => {
                self.events.defect(format!("The server reports an error that names no request: {error}."));
            }
            Message::Request { id, method, params } => self.take_request(id, method, params),
            Message::Notification { method, params } => self.notice(&method, params.as_ref()),
        }
    }

    fn answer(&self, id: &Id, reply: Reply) {
        let found = number(id).and_then(|id| self.with(|it| it.waiting.remove(&id)).map(|it| (id, it)));
        match found {
            Some((id, waiting)) => self.finish(id, waiting, reply),
            None => {
                self.unasked.fetch_add(1, Ordering::Relaxed);
                self.events
                    .defect("An answer came for a request that is not under way (late or twice); ignored.");
            }
        }
    }

    fn finish(&self, id: i64, waiting: Waiting, reply: Reply) {
        // First the answer, then the sign that it is there.
        let through_rmcp = waiting.through_rmcp;
        let _abandoned = waiting.reply.send(reply);
        if through_rmcp {
            let _gone = self.answered.send(id);
        }
    }

    /// Answers what a server of the handshake era may ask: `ping`, and what was offered.
    fn take_request(self: &Arc<Self>, id: Id, method: String, params: Option<RawJson>) {
        if method == "ping" {
            let pong = Message::Response { id, result: serde_json::json!({}).into() };
            return self.reply(pong, &method);
        }
        if let Some(own) = self.echoed(&id, &method) {
            self.echoes.store(true, Ordering::Relaxed);
            return self.fail(own, Reply::Unreadable("it is the request itself, sent back".to_owned()));
        }
        if !is_question(&method) {
            self.events.defect(format!("The server asked for {method}, which was not offered; refused."));
            return self.reply(Message::Error { id: Some(id), error: not_offered(&method) }, &method);
        }
        let cancel = self.closing.child_token();
        let asked = |wire: &Self| wire.asked.lock().unwrap_or_else(PoisonError::into_inner).len();
        if asked(self) >= MAX_ASKED {
            self.events.defect(format!("The server asks for more than {MAX_ASKED} things at once; refused."));
            let error = ErrorObject::new(ErrorObject::INTERNAL, "too many questions at once");
            return self.reply(Message::Error { id: Some(id), error }, &method);
        }
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), cancel.clone());
        let wire = Arc::clone(self);
        tokio::spawn(async move {
            let answer = tokio::select! {
                answer = wire.offers.answer(&method, params.as_ref()) => Some(answer),
                // A request that was cancelled is not answered (2025-11-25 basic/utilities/cancellation).
                () = cancel.cancelled() => None,
            };
            wire.asked.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
            match answer {
                Some(Ok(result)) => wire.send(Message::Response { id, result }).await,
                Some(Err(error)) => {
                    wire.events.defect(format!("The server asked for {method}; refused ({error})."));
                    wire.send(Message::Error { id: Some(id), error }).await;
                }
                None => {}
            }
        });
    }

    /// The host's own request that came back as if the server had made it. Only those that open a connection are looked for: no server
    /// has them to make.
    fn echoed(&self, id: &Id, method: &str) -> Option<i64> {
        let opens = matches!(method, "initialize" | "server/discover");
        let id = number(id).filter(|_| opens)?;
        self.with(|it| it.waiting.get(&id).is_some_and(|it| it.method == method)).then_some(id)
    }

    /// A server that asks without reading the answers must not stop the reader for ever.
    fn reply(&self, answer: Message, method: &str) {
        if self.queue(answer).is_err() {
            self.events.defect(format!("The server does not read its input; its {method} was not answered."));
        }
    }

    fn changed(&self, list: &str, event: ConnectionEvent) {
        self.cache.forget(list, None);
        self.events.tell(event);
    }

    fn notice(&self, method: &str, params: Option<&RawJson>) {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct ProgressParams {
            progress_token: Id,
            progress: f64,
            #[serde(default)]
            total: Option<f64>,
            #[serde(default)]
            message: Option<String>,
        }
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct CancelledParams {
            request_id: Id,
        }
        #[derive(serde::Deserialize)]
        struct UpdatedParams {
            uri: String,
        }
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct CompleteParams {
            elicitation_id: String,
        }
        #[derive(serde::Deserialize)]
        struct LogParams {
            level: String,
            #[serde(default)]
            logger: Option<String>,
            data: RawJson,
        }
        match method {
            "notifications/cancelled" => {
                let Some(Ok(params)) = params.map(RawJson::to::<CancelledParams>) else { return };
                let asked =
                    self.asked.lock().unwrap_or_else(PoisonError::into_inner).remove(&params.request_id);
                if let Some(asked) = asked {
                    asked.cancel();
                }
            }
            "notifications/tools/list_changed" => self.changed("tools/list", ConnectionEvent::ToolsChanged),
            "notifications/prompts/list_changed" => {
                self.changed("prompts/list", ConnectionEvent::PromptsChanged)
            }
            "notifications/resources/list_changed" => {
                self.cache.forget("resources/templates/list", None);
                self.changed("resources/list", ConnectionEvent::ResourcesChanged);
            }
            "notifications/resources/updated" => {
                let Some(Ok(params)) = params.map(RawJson::to::<UpdatedParams>) else { return };
                self.cache.forget("resources/read", Some(&serde_json::json!({"uri": params.uri}).into()));
                self.events.tell(ConnectionEvent::ResourceUpdated { uri: params.uri });
            }
            // 2025-11-25 client/elicitation, "Completion Notifications for URL Mode Elicitation".
            "notifications/elicitation/complete" => {
                let Some(Ok(params)) = params.map(RawJson::to::<CompleteParams>) else { return };
                if params.elicitation_id.len() <= MAX_ELICITATION_ID {
                    // Nobody waits most of the time.
                    let _heard = self.completed.send(params.elicitation_id);
                }
            }
            "notifications/message" => {
                let Some(Ok(params)) = params.map(RawJson::to::<LogParams>) else { return };
                let text = cut(params.data.to::<String>().as_deref().unwrap_or(params.data.get()));
                self.events.tell(ConnectionEvent::Log { level: params.level, logger: params.logger, text });
            }
            "notifications/progress" => {
                let Some(Ok(params)) = params.map(RawJson::to::<ProgressParams>) else { return };
                let sender = number(&params.progress_token).and_then(|token| {
                    self.with(|it| it.waiting.get(&token).and_then(|it| it.progress.clone()))
                });
                if let Some(sender) = sender {
                    let ProgressParams { progress, total, message, .. } = params;
                    // Progress is a picture of now: when the reader is slow, the older ones are enough for it.
                    let _full = sender.try_send(Progress { progress, total, message });
                }
            }
            _ => {}
        }
    }
}

fn too_long(start: &ByteString, length: usize) -> Sorted {
    match sort(start) {
        Sorted::Broken { ids, .. } => Sorted::Broken {
            why: format!("it has {length} bytes, more than the {MAX_LINE} that are read"),
            ids,
        },
        Sorted::Messages(_) | Sorted::Noise => Sorted::Noise,
    }
}

/// Requests are numbered; some servers answer with the number as a string.
pub(super) fn number(id: &Id) -> Option<i64> {
    match id {
        Id::Number(number) => Some(*number),
        Id::Text(text) => text.parse().ok(),
    }
}

async fn write_lines<W: AsyncWrite + Unpin>(
    mut writer: W,
    mut lines: mpsc::Receiver<Outgoing>,
    closing: CancellationToken,
) {
    let write = async {
        while let Some(Outgoing { mut line, .. }) = lines.recv().await {
            line.push('\n');
            if writer.write_all(line.as_bytes()).await.is_err() || writer.flush().await.is_err() {
                // The reader sees the end of the server's output and tells everyone.
                break;
            }
        }
    };
    tokio::select! {
        () = write => {}
        () = closing.cancelled() => {}
    }
    // Closing its input asks a server to end (2025-11-25 basic/lifecycle, "Shutdown").
    drop(writer);
}
