//! The way in for hostile input: bytes take the path that a server's output takes, without a server.
//!
//! Hidden, and no part of the interface: the decoder of lines, the wire and the HTTP client are private, and a fuzzer must reach them
//! all together. Deliberately absent: anything that a product could want.

use std::{pin::Pin, sync::Arc};

use bytes::Bytes;
use futures::stream;
use serde_json::json;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::mpsc,
};
use tokio_util::sync::CancellationToken;

use super::{
    Oddities,
    event::{EventReceiver, events},
    http,
    question::{Answer, Offers, Question},
    wire::{Reply, Wire},
};

/// The identifiers of the requests that wait for answers, from this one up.
pub const FIRST_ID: i64 = 2_000_000_001;

/// How many requests wait for answers.
pub const REQUESTS: usize = 4;

/// How a server of Streamable HTTP labels what it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// One JSON body.
    Json,
    /// A stream of events.
    Events,
}

/// What came of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Taken {
    /// What should not have come.
    pub oddities: Oddities,
    /// How many of the requests have an answer, of whatever kind.
    pub answered: usize,
    /// How many things were told.
    pub told: usize,
}

/// A reader that gives what it has in pieces of these lengths, over and over.
struct Pieces {
    bytes: Bytes,
    lengths: Vec<usize>,
    turn: usize,
}

impl Pieces {
    fn next(&mut self, most: usize) -> Bytes {
        let length = self.lengths.get(self.turn % self.lengths.len().max(1)).copied().unwrap_or(usize::MAX);
        self.turn += 1;
        self.bytes.split_to(length.max(1).min(most).min(self.bytes.len()))
    }
}

impl AsyncRead for Pieces {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        let piece = self.next(buffer.remaining());
        buffer.put_slice(&piece);
        std::task::Poll::Ready(Ok(()))
    }
}

/// Reads bytes as the standard output of a server, in pieces of these lengths, from one that reads what it is told or one that does not.
pub async fn take_output(bytes: Bytes, lengths: Vec<usize>, server_reads: bool) -> Taken {
    let (near, _far) = tokio::io::duplex(64);
    let writer: Box<dyn AsyncWrite + Send + Unpin> =
        if server_reads { Box::new(tokio::io::sink()) } else { Box::new(near) };
    let (sender, receiver) = events();
    let closing = CancellationToken::new();
    let reader = Pieces { bytes, lengths, turn: 0 };
    // The requests must wait before the first byte is read; the reader is a task that runs when this one waits.
    let (reading, gate) = tokio::io::duplex(1);
    let reader = tokio::io::AsyncReadExt::chain(reading, reader);
    let (wire, _answered) = Wire::start(reader, writer, sender, offers(), closing.clone());
    let answers = ask(&wire).await;
    let told = tokio::spawn(drain(receiver));
    drop(gate);
    closing.cancelled().await;
    taken(wire, answers, told).await
}

/// Reads bytes as the body of a response, in pieces of these lengths.
pub async fn take_body(http: &reqwest::Client, bytes: Bytes, lengths: Vec<usize>, body: Body) -> Taken {
    let (sender, receiver) = events();
    let (wire, _answered, mut outgoing) = Wire::unconnected(sender, offers(), CancellationToken::new());
    let answers = ask(&wire).await;
    let told = tokio::spawn(drain(receiver));
    let mut pieces = Pieces { bytes, lengths, turn: 0 };
    let pieces = std::iter::from_fn(move || {
        Some(pieces.next(usize::MAX)).filter(|it| !it.is_empty()).map(Ok::<_, std::io::Error>)
    });
    let kind = match body {
        Body::Json => "application/json",
        Body::Events => "text/event-stream",
    };
    let response = ::http::Response::builder()
        .header(::http::header::CONTENT_TYPE, kind)
        .body(reqwest::Body::wrap_stream(stream::iter(pieces)));
    if let (Some(asked), Ok(response)) = (outgoing.recv().await, response) {
        let sent = tokio::spawn(async move { while outgoing.recv().await.is_some() {} });
        http::take_answer(http.clone(), Arc::clone(&wire), asked, response.into()).await;
        sent.abort();
    }
    wire.end();
    taken(wire, answers, told).await
}

type Answers = Vec<tokio::sync::oneshot::Receiver<Reply>>;

async fn ask(wire: &Wire) -> Answers {
    let mut answers = Vec::new();
    for method in ["tools/list", "tools/call", "resources/read", "server/discover"] {
        answers.push(wire.request(method, json!({}).into()).await.1);
    }
    answers
}

async fn taken(wire: Arc<Wire>, answers: Answers, told: tokio::task::JoinHandle<usize>) -> Taken {
    let oddities = Oddities { noise: wire.noise(), not_utf8: wire.not_utf8(), unasked: wire.unasked() };
    drop(wire);
    let answered = answers.into_iter().filter_map(|mut it| it.try_recv().ok()).count();
    Taken { oddities, answered, told: told.await.unwrap_or_default() }
}

/// Everything is offered, and every question refused.
fn offers() -> Offers {
    let (questions, mut asked) = mpsc::channel::<Question>(4);
    tokio::spawn(async move {
        while let Some(question) = asked.recv().await {
            question.answer(Answer::Refused { why: "no".to_owned() });
        }
    });
    Offers { forms: true, urls: true, sampling: true, roots: true, questions: Some(questions) }
}

async fn drain(mut told: EventReceiver) -> usize {
    let mut count = 0;
    while told.next().await.is_some() {
        count += 1;
    }
    count
}
