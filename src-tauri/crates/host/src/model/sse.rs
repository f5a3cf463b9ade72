//! From the bytes of an answer to its events, whatever the chunks.
//!
//! Lines are handed to the parser one at a time, so that a line that it refuses (a field that is unknown, text that is not UTF-8) costs that
//! line and not the rest of a chunk. Deliberately absent: waiting, stopping and retrying, which are `send`'s.

use std::{
    collections::VecDeque,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures::{
    Stream, StreamExt,
    stream::{self, BoxStream},
};
use sse_stream::{Error, SseStream};

use super::{ModelError, StreamDecoder, StreamEvent, error::shorten};

/// The longest line that is accepted, in bytes.
const MAX_LINE: usize = 16 * 1024 * 1024;

/// The bytes of an answer.
pub(super) type Chunks = BoxStream<'static, Result<Bytes, ModelError>>;

/// The events of an answer. After an error nothing follows.
pub(super) type Events = BoxStream<'static, Result<StreamEvent, ModelError>>;

/// Reads server-sent events.
pub(super) fn decode(chunks: Chunks, decoder: Box<dyn StreamDecoder>) -> Events {
    // An answer may end without the blank line that closes its last event; what then cannot be read was cut.
    let lines = Lines {
        chunks: Some(chunks),
        rest: Bytes::new(),
        line: 0,
        tail: VecDeque::from([Bytes::from_static(b"\n\n")]),
    };
    let state = Decoding {
        events: Box::pin(SseStream::from_bytes_stream(lines)),
        decoder,
        queue: VecDeque::new(),
        ended: false,
    };
    stream::unfold(state, |mut state| async move {
        let next = state.next().await?;
        state.ended |= next.is_err();
        Some((next, state))
    })
    .boxed()
}

struct Decoding<S> {
    events: Pin<Box<S>>,
    decoder: Box<dyn StreamDecoder>,
    queue: VecDeque<StreamEvent>,
    ended: bool,
}

impl<S: Stream<Item = Result<sse_stream::Sse, Error>>> Decoding<S> {
    async fn next(&mut self) -> Option<Result<StreamEvent, ModelError>> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Some(Ok(event));
            }
            if self.ended {
                return None;
            }
            if self.decoder.is_done() {
                self.ended = true;
                match self.decoder.end() {
                    Ok(events) => self.queue.extend(events),
                    Err(error) => return Some(Err(error)),
                }
                continue;
            }
            let events = match self.events.next().await {
                Some(Ok(sse)) => self.decoder.data(sse.data.as_deref().unwrap_or_default()),
                Some(Err(Error::Body(error))) => {
                    // The bytes are a stream of ours, so its errors are too.
                    return Some(Err(error
                        .downcast()
                        .map_or_else(|it| ModelError::Cut { why: Some(it.to_string()) }, |it| *it)));
                }
                Some(Err(
                    error @ (Error::InvalidLine
                    | Error::DuplicatedEventLine
                    | Error::DuplicatedIdLine
                    | Error::DuplicatedRetry
                    | Error::Utf8Parse(_)
                    | Error::IntParse(_)),
                )) => Ok(vec![StreamEvent::Unreadable { head: shorten(&error.to_string(), 200) }]),
                None => {
                    self.ended = true;
                    self.decoder.end()
                }
            };
            match events {
                Ok(events) => self.queue.extend(events),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// Cuts chunks after each line end and adds a tail.
struct Lines {
    chunks: Option<Chunks>,
    rest: Bytes,
    line: usize,
    tail: VecDeque<Bytes>,
}

impl Stream for Lines {
    type Item = Result<Bytes, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if !self.rest.is_empty() {
                let end = self.rest.iter().position(|it| matches!(it, b'\n' | b'\r'));
                let at = end.map_or(self.rest.len(), |it| it + 1);
                self.line = if end.is_some() { 0 } else { self.line + at };
                if self.line > MAX_LINE {
                    return Poll::Ready(Some(Err(ModelError::TooLarge { limit: MAX_LINE })));
                }
                return Poll::Ready(Some(Ok(self.rest.split_to(at))));
            }
            let Some(chunks) = self.chunks.as_mut() else {
                match self.tail.pop_front() {
                    Some(tail) => self.rest = tail,
                    None => return Poll::Ready(None),
                }
                continue;
            };
            match ready!(pin!(chunks).poll_next(cx)) {
                Some(Ok(chunk)) => self.rest = chunk,
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => self.chunks = None,
            }
        }
    }
}

/// A whole answer that came as one JSON value although a stream was asked for.
pub(super) fn decode_whole(body: &str, mut decoder: Box<dyn StreamDecoder>) -> Events {
    let events = decoder.data(body).and_then(|mut events| {
        events.extend(decoder.end()?);
        Ok(events)
    });
    match events {
        Ok(events) => stream::iter(events.into_iter().map(Ok)).boxed(),
        Err(error) => stream::iter([Err(error)]).boxed(),
    }
}
