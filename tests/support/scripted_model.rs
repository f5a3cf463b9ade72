//! A model that says what a test tells it to say, over the OpenAI Chat wire, and checks every request that it is sent.
//!
//! It keeps the very bytes of each body, so that it is a witness against the product's own recorder. It waits for [`Gate`]s that the test
//! opens, never for time. Deliberately absent: any of the product's code.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    task::JoinHandle,
};

use crate::{
    canaries::forms_in,
    http::{HttpRequest, begin_events, end_chunks, gone, read_request, write_chunk, write_whole},
    invariants,
};

/// A place in an answer where the model waits for the test.
#[derive(Debug, Clone)]
pub struct Gate {
    reached: Arc<Semaphore>,
    open: Arc<Semaphore>,
}

impl Default for Gate {
    fn default() -> Self {
        Self { reached: Arc::new(Semaphore::new(0)), open: Arc::new(Semaphore::new(0)) }
    }
}

impl Gate {
    /// Waits until the model has written everything before the gate.
    pub async fn reached(&self) {
        self.reached.acquire().await.unwrap().forget();
    }

    /// Lets the model go on.
    pub fn open(&self) {
        self.open.add_permits(1);
    }

    async fn pass(&self) {
        self.reached.add_permits(1);
        self.open.acquire().await.unwrap().forget();
    }
}

/// A piece of an answer.
#[derive(Debug, Clone)]
enum Step {
    /// Text, in one event.
    Text(String),
    /// A call: the tool's own name, or the name on the wire; its arguments, in pieces of so many bytes.
    Call { tool: String, arguments: String, offered: bool },
    /// The beginning of a call of an offered tool.
    Begin(String),
    /// More of the arguments of the call that began last.
    Arguments(String),
    /// Waits.
    Gate(Gate),
    /// Bytes as they are.
    Bytes(Vec<u8>),
    /// The end: why it stopped, and what it counted.
    Finish(&'static str),
    /// Nothing more, for as long as the connection stands.
    Silence,
    /// The connection breaks.
    Break,
    /// Numbered words, until the host hangs up.
    Words,
}

/// What the model does with one request.
#[derive(Debug, Clone)]
pub struct Answer {
    refusal: Option<(u16, String)>,
    steps: Vec<Step>,
}

/// Text in pieces, and the end.
pub fn say<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Answer {
    Answer::new().text(pieces).finish("stop")
}

/// Calls of offered tools in one message, each by the tool's own name and its arguments.
pub fn call<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Answer {
    let answer = calls.into_iter().fold(Answer::new(), |answer, (tool, arguments)| {
        answer.step(Step::Call { tool: tool.to_owned(), arguments: arguments.to_string(), offered: true })
    });
    answer.finish("tool_calls")
}

/// A call of an offered tool whose arguments come in these parts. The model waits at a gate behind each but the last.
pub fn call_in_parts<'a>(
    tool: &str,
    parts: impl IntoIterator<Item = (&'a str, &'a Gate)>,
    last: &str,
) -> Answer {
    let written = |answer: Answer, text: &str| answer.step(Step::Arguments(text.to_owned()));
    let begun = Answer::new().step(Step::Begin(tool.to_owned()));
    let waiting = parts.into_iter().fold(begun, |answer, (text, gate)| written(answer, text).gate(gate));
    written(waiting, last).finish("tool_calls")
}

/// Calls of tools by their names on the wire, without arguments.
pub fn call_all(wire_names: &[String]) -> Answer {
    let answer = wire_names.iter().fold(Answer::new(), |answer, name| {
        answer.step(Step::Call { tool: name.clone(), arguments: "{}".to_owned(), offered: false })
    });
    answer.finish("tool_calls")
}

/// A call of an offered tool with arguments that need not be JSON.
pub fn call_with_text(tool: &str, arguments: &str) -> Answer {
    let step = Step::Call { tool: tool.to_owned(), arguments: arguments.to_owned(), offered: true };
    Answer::new().step(step).finish("tool_calls")
}

/// A call of a name that was not offered.
pub fn call_unknown(name: &str) -> Answer {
    let step = Step::Call { tool: name.to_owned(), arguments: "{}".to_owned(), offered: false };
    Answer::new().step(step).finish("tool_calls")
}

/// Refuses with a status and a body.
pub fn refuse(status: u16, body: &str) -> Answer {
    Answer { refusal: Some((status, body.to_owned())), steps: Vec::new() }
}

/// Says nothing, for as long as the connection stands.
pub fn stall() -> Answer {
    Answer::new().step(Step::Silence)
}

/// Speaks until the host hangs up: `word 0 `, `word 1 `, …, one event each.
pub fn speak_without_end() -> Answer {
    Answer::new().step(Step::Words)
}

/// Begins to speak and breaks off in the middle of an event.
pub fn half_event(text: &str) -> Answer {
    let half = br#"data: {"id":"x","choices":[{"index":0,"delta":{"cont"#;
    Answer::new().text([text]).step(Step::Bytes(half.to_vec())).step(Step::Break)
}

impl Default for Answer {
    fn default() -> Self {
        Self::new()
    }
}

impl Answer {
    /// An answer without anything.
    pub fn new() -> Self {
        Self { refusal: None, steps: Vec::new() }
    }

    /// Adds text, each piece in an event of its own.
    #[must_use]
    pub fn text<'a>(mut self, pieces: impl IntoIterator<Item = &'a str>) -> Self {
        self.steps.extend(pieces.into_iter().map(|it| Step::Text(it.to_owned())));
        self
    }

    /// Adds a place where the model waits for the test.
    #[must_use]
    pub fn gate(self, gate: &Gate) -> Self {
        self.step(Step::Gate(gate.clone()))
    }

    /// Adds bytes as they are.
    #[must_use]
    pub fn bytes(self, bytes: &[u8]) -> Self {
        self.step(Step::Bytes(bytes.to_vec()))
    }

    /// Adds silence, for as long as the connection stands.
    #[must_use]
    pub fn silence(self) -> Self {
        self.step(Step::Silence)
    }

    /// Adds the end of a whole answer.
    #[must_use]
    pub fn finish(self, reason: &'static str) -> Self {
        self.step(Step::Finish(reason))
    }

    /// The same answer with another reason of its end.
    #[must_use]
    pub fn ending(mut self, reason: &'static str) -> Self {
        for step in &mut self.steps {
            if let Step::Finish(old) = step {
                *old = reason;
            }
        }
        self
    }

    /// Puts another answer's pieces in front.
    #[must_use]
    pub fn after(mut self, first: Self) -> Self {
        self.steps.splice(0..0, first.steps);
        self
    }

    fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }
}

/// A request that the model was sent.
#[derive(Debug, Clone)]
pub struct Received {
    /// The very bytes of its body.
    pub body: Vec<u8>,
    /// The body, read.
    pub json: Value,
    /// Its headers; names in lower case.
    pub headers: Vec<(String, String)>,
    /// Whether the host hung up before the answer was whole.
    pub dropped: bool,
}

impl Received {
    /// The text of the last tool results, in order.
    pub fn last_results(&self) -> Vec<String> {
        let messages = self.json["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let last = messages.iter().rposition(|it| it["role"] == "assistant").map_or(0, |it| it + 1);
        messages[last..].iter().filter(|it| it["role"] == "tool").map(|it| text_of(&it["content"])).collect()
    }

    /// The text of every tool result, in order.
    pub fn results(&self) -> Vec<String> {
        let messages = self.json["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        messages.iter().filter(|it| it["role"] == "tool").map(|it| text_of(&it["content"])).collect()
    }

    /// The names of the tools that it offers.
    pub fn offered(&self) -> Vec<String> {
        invariants::offered(&self.json)
    }
}

/// The text of a message's content, whichever of its forms it has.
pub fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|it| it["text"].as_str()).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

type Choose = dyn FnMut(&Received) -> Option<Answer> + Send;

struct Shared {
    choose: Mutex<Box<Choose>>,
    received: watch::Sender<Vec<Received>>,
    violations: Mutex<Vec<String>>,
    forbidden: Mutex<Vec<(String, String)>>,
}

/// The model, serving until it is dropped.
pub struct ScriptedModel {
    address: std::net::SocketAddr,
    shared: Arc<Shared>,
    serving: JoinHandle<()>,
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl ScriptedModel {
    /// A model that gives these answers to the requests in the order in which they come. One request more is a violation.
    pub async fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        let mut answers: VecDeque<Answer> = answers.into_iter().collect();
        Self::choosing(move |_| answers.pop_front()).await
    }

    /// A model whose answer depends on the request.
    pub async fn choosing(choose: impl FnMut(&Received) -> Option<Answer> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            choose: Mutex::new(Box::new(choose)),
            received: watch::Sender::new(Vec::new()),
            violations: Mutex::default(),
            forbidden: Mutex::default(),
        });
        let serving = tokio::spawn(serve(listener, Arc::clone(&shared)));
        Self { address, shared, serving }
    }

    /// The address before `/chat/completions`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Counts it as a violation when a request holds this string in any form.
    pub fn forbid(&self, canary: impl Into<String>, why: impl Into<String>) {
        lock(&self.shared.forbidden).push((canary.into(), why.into()));
    }

    /// The requests so far.
    pub fn received(&self) -> Vec<Received> {
        self.shared.received.borrow().clone()
    }

    /// Waits for a request; the first is 0.
    pub async fn request(&self, index: usize) -> Received {
        let mut received = self.shared.received.subscribe();
        let all = received.wait_for(|it| it.len() > index).await.unwrap();
        all[index].clone()
    }

    /// Waits until the host hung up on a request before its answer was whole.
    pub async fn dropped(&self, index: usize) {
        let mut received = self.shared.received.subscribe();
        received.wait_for(|it| it.get(index).is_some_and(|it| it.dropped)).await.unwrap();
    }

    /// Everything that was wrong with the requests so far.
    pub fn violations(&self) -> Vec<String> {
        lock(&self.shared.violations).clone()
    }

    /// Fails the test if any request was not what a request must be.
    ///
    /// # Panics
    /// If so.
    pub fn assert_orderly(&self) {
        let violations = self.violations();
        assert!(violations.is_empty(), "the model was sent wrong requests:\n{}", violations.join("\n"));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            // A host that hangs up in the middle is an ordinary thing here.
            let _ = converse(stream, &shared).await;
        });
    }
}

async fn converse(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    let request = read_request(&mut stream).await?;
    if request.method != "POST" || !request.path.ends_with("/chat/completions") {
        return write_whole(&mut stream, 404, "application/json", br#"{"error":{"message":"not found"}}"#)
            .await;
    }
    let (index, received) = take(shared, request);
    let chosen = (lock(&shared.choose))(&received);
    let Some(answer) = chosen else {
        lock(&shared.violations).push(format!("request {index} came, and the script has no answer to it"));
        return write_whole(&mut stream, 500, "application/json", br#"{"error":{"message":"no answer"}}"#)
            .await;
    };
    if let Some((status, body)) = answer.refusal {
        return write_whole(&mut stream, status, "application/json", body.as_bytes()).await;
    }
    let mut writer = Writer { shared, index, received: &received, calls: 0 };
    let outcome = writer.write(&mut stream, answer.steps).await;
    if outcome.is_err() {
        shared.received.send_modify(|it| it[index].dropped = true);
    }
    outcome
}

/// Keeps a request and checks it.
fn take(shared: &Shared, request: HttpRequest) -> (usize, Received) {
    let mut wrong = invariants::violations(&request.body);
    if request.header("content-type") != Some("application/json") {
        wrong.push("the content type is not application/json".to_owned());
    }
    for (canary, why) in lock(&shared.forbidden).iter() {
        for form in forms_in(&request.body, canary) {
            wrong.push(format!("{canary} stands in the body, {form}: {why}"));
        }
    }
    let received = Received {
        json: serde_json::from_slice(&request.body).unwrap_or_default(),
        body: request.body,
        headers: request.headers,
        dropped: false,
    };
    let mut index = 0;
    // The violations are there before anybody who waits for the request looks for them.
    shared.received.send_modify(|all| {
        index = all.len();
        lock(&shared.violations).extend(wrong.into_iter().map(|it| format!("request {index}: {it}")));
        all.push(received.clone());
    });
    (index, received)
}

struct Writer<'a> {
    shared: &'a Shared,
    index: usize,
    received: &'a Received,
    calls: usize,
}

/// How many bytes of a call's arguments stand in one event. Small and odd, so that escapes and characters are cut.
const ARGUMENT_PIECE: usize = 7;

impl Writer<'_> {
    async fn write(&mut self, stream: &mut TcpStream, steps: Vec<Step>) -> io::Result<()> {
        begin_events(stream).await?;
        let mut waiting = steps.into_iter();
        for step in waiting.by_ref() {
            match step {
                Step::Text(text) => self.event(stream, json!({"content": text}), None).await?,
                Step::Call { tool, arguments, offered } => {
                    let name = if offered { self.wire_name(&tool) } else { tool };
                    self.begin_call(stream, &name).await?;
                    let characters: Vec<char> = arguments.chars().collect();
                    for piece in characters.chunks(ARGUMENT_PIECE) {
                        self.arguments(stream, &piece.iter().collect::<String>()).await?;
                    }
                }
                Step::Begin(tool) => self.begin_call(stream, &self.wire_name(&tool)).await?,
                Step::Arguments(text) => self.arguments(stream, &text).await?,
                Step::Gate(gate) => {
                    tokio::select! {
                        () = gate.pass() => {}
                        () = gone(stream) => return Err(io::ErrorKind::BrokenPipe.into()),
                    }
                }
                Step::Bytes(bytes) => write_chunk(stream, &bytes).await?,
                Step::Finish(reason) => {
                    self.event(stream, json!({}), Some(reason)).await?;
                    let usage = json!({"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18});
                    let last = json!({"id": "scripted", "object": "chat.completion.chunk", "choices": [], "usage": usage});
                    write_chunk(stream, format!("data: {last}\n\ndata: [DONE]\n\n").as_bytes()).await?;
                }
                Step::Silence => {
                    gone(stream).await;
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
                Step::Words => {
                    for number in 0_u64.. {
                        self.event(stream, json!({"content": format!("word {number} ")}), None).await?;
                        // The pace of a model; without it a second of speech fills any context.
                        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                    }
                }
                // Chunks without their end: the host must not take this for a whole answer.
                Step::Break => return Ok(()),
            }
        }
        end_chunks(stream).await
    }

    async fn begin_call(&mut self, stream: &mut TcpStream, name: &str) -> io::Result<()> {
        let slot = self.calls;
        self.calls += 1;
        let id = format!("call_{}_{slot}", self.index);
        let begin =
            json!({"index": slot, "id": id, "type": "function", "function": {"name": name, "arguments": ""}});
        self.event(stream, json!({"content": null, "tool_calls": [begin]}), None).await
    }

    async fn arguments(&self, stream: &mut TcpStream, text: &str) -> io::Result<()> {
        let delta = json!({"index": self.calls - 1, "function": {"arguments": text}});
        self.event(stream, json!({"tool_calls": [delta]}), None).await
    }

    /// The name under which a tool was offered. One that was not is the test's mistake or the product's.
    fn wire_name(&self, tool: &str) -> String {
        let ending = format!("__{tool}");
        let found = self.received.offered().into_iter().find(|it| it == tool || it.ends_with(&ending));
        found.unwrap_or_else(|| {
            let offered = self.received.offered().join(", ");
            lock(&self.shared.violations)
                .push(format!("request {}: {tool} is not offered, only: {offered}", self.index));
            tool.to_owned()
        })
    }

    async fn event(&self, stream: &mut TcpStream, delta: Value, finish: Option<&str>) -> io::Result<()> {
        let event = json!({
            "id": "scripted",
            "object": "chat.completion.chunk",
            "model": self.received.json["model"],
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        });
        write_chunk(stream, format!("data: {event}\n\n").as_bytes()).await
    }
}
