//! Answers: one JSON text, or a stream of events when something is said before the answer.

use std::{convert::Infallible, sync::Arc};

use bytes::Bytes;
use futures::{Stream, StreamExt as _, stream};
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::Frame as BodyFrame;
use tokio::sync::{mpsc::Receiver, watch};
use usher_protocol::jsonrpc::{ErrorObject, Id, Message};

use crate::{connection::Frame, peer::Peer};

/// The body of an answer.
pub(super) type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Stops what runs for a client that has gone.
pub(super) struct StopOnDrop(pub(super) Arc<Peer>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// The first thing that a request leads to; nothing if it was cancelled before.
pub(super) async fn first(frames: &mut Receiver<Frame>, crash: &watch::Sender<bool>) -> Option<Frame> {
    let first = frames.recv().await;
    if first == Some(Frame::Crash) {
        crash.send_replace(true);
    }
    first
}

/// The answer to a request that was cancelled: a stream that ends without it (2025-11-25 basic/utilities/cancellation).
pub(super) fn cancelled() -> Response<Body> {
    stream_of(stream::empty())
}

/// Does not answer.
pub(super) async fn never<T>() -> T {
    std::future::pending().await
}

/// An answer without a body.
pub(super) fn empty(status: StatusCode) -> Response<Body> {
    response(status, Full::default().boxed_unsync())
}

/// A JSON text.
pub(super) fn whole(status: StatusCode, line: Vec<u8>) -> Response<Body> {
    with_type(response(status, Full::from(line).boxed_unsync()), "application/json")
}

/// An error of the protocol.
pub(super) fn refusal(status: StatusCode, id: Option<Id>, error: ErrorObject) -> Response<Body> {
    whole(status, Message::Error { id, error }.to_line().into_bytes())
}

/// A stream of events: one that was already taken, then those that follow until the last of them.
pub(super) fn events(
    taken: Vec<u8>,
    frames: Receiver<Frame>,
    stop: StopOnDrop,
    crash: watch::Sender<bool>,
) -> Response<Body> {
    let rest = stream::unfold((frames, stop, crash), async |(mut frames, stop, crash)| {
        match frames.recv().await? {
            Frame::Line(line) | Frame::Answer { line, .. } => {
                Some((event(None, &line), (frames, stop, crash)))
            }
            Frame::Crash => {
                crash.send_replace(true);
                None
            }
        }
    });
    stream_of(stream::iter([event(None, &taken)]).chain(rest))
}

/// A stream of events that were written elsewhere.
pub(super) fn stream_of(events: impl Stream<Item = Bytes> + Send + 'static) -> Response<Body> {
    let body = StreamBody::new(events.map(|it| Ok(BodyFrame::data(it)))).boxed_unsync();
    let mut response = with_type(response(StatusCode::OK, body), "text/event-stream");
    // A proxy that collects would hold progress back.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// An event, with an id where the stream can be taken up again.
pub(super) fn event(id: Option<&str>, line: &[u8]) -> Bytes {
    let mut text = Vec::with_capacity(line.len() + 32);
    if let Some(id) = id {
        text.extend_from_slice(format!("id: {id}\n").as_bytes());
    }
    text.extend_from_slice(b"data: ");
    text.extend_from_slice(line);
    text.extend_from_slice(b"\n\n");
    text.into()
}

fn response(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    // Results are for the one who asked.
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn with_type(mut response: Response<Body>, kind: &'static str) -> Response<Body> {
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
