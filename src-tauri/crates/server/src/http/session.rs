//! Sessions, as revisions with a handshake have them (2025-11-25 basic/transports, "Session Management" and "Resumability").

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use futures::{Stream, stream};
use http::{HeaderMap, Response, StatusCode};
use tokio::{
    sync::{
        mpsc::{self, Receiver},
        watch,
    },
    task::JoinHandle,
};

use super::{
    answer::{Body, empty, event, stream_of},
    mirror::header,
};
use crate::{
    connection::{Frame, tell_changes},
    peer::Peer,
    server::Server,
};

/// The header that names a session.
pub(super) const HEADER: &str = "mcp-session-id";

/// The most sessions; the one that was used least recently makes room.
const MOST_SESSIONS: usize = 256;

/// How many streams that came to their end can still be taken up.
const MOST_STREAMS: usize = 16;

/// How many messages beside the requests wait for a client that does not fetch them.
const MOST_UNFETCHED: usize = 256;

/// The stream beside the requests.
const BESIDE: u64 = 0;

#[derive(Default)]
pub(super) struct Sessions(Mutex<Open>);

#[derive(Default)]
struct Open {
    sessions: HashMap<String, (u64, Arc<Session>)>,
    uses: u64,
}

/// One client with a handshake.
pub(super) struct Session {
    peer: Arc<Peer>,
    streams: Mutex<BTreeMap<u64, Arc<Log>>>,
    /// Tells what changes, and notes it.
    told: Vec<JoinHandle<()>>,
}

impl Sessions {
    /// Begins a session; its name cannot be guessed.
    pub(super) fn open(&self, server: &Arc<Server>, peer: Arc<Peer>) -> String {
        let id = uuid::Uuid::new_v4().to_string();
        let beside = Arc::new(Log::new(MOST_UNFETCHED));
        let (out, frames) = mpsc::channel(super::WAITING);
        let mut told: Vec<_> = tell_changes(server, &peer, out).into_iter().collect();
        told.push(tokio::spawn(note(frames, beside.clone(), None)));
        let streams = Mutex::new(BTreeMap::from([(BESIDE, beside)]));
        let session = Arc::new(Session { peer, streams, told });
        let mut open = lock(&self.0);
        open.uses += 1;
        let used = open.uses;
        open.sessions.insert(id.clone(), (used, session));
        if open.sessions.len() > MOST_SESSIONS {
            let oldest = open.sessions.iter().min_by_key(|it| it.1.0).map(|it| it.0.clone());
            oldest.and_then(|it| open.sessions.remove(&it));
        }
        id
    }

    pub(super) fn find(&self, id: &str) -> Option<Arc<Session>> {
        let mut open = lock(&self.0);
        open.uses += 1;
        let used = open.uses;
        let (last, session) = open.sessions.get_mut(id)?;
        *last = used;
        Some(session.clone())
    }

    /// Ends the session that the headers name.
    pub(super) fn end(&self, headers: &HeaderMap) -> Response<Body> {
        let ended = header(headers, HEADER).and_then(|it| lock(&self.0).sessions.remove(&it));
        empty(if ended.is_some() { StatusCode::NO_CONTENT } else { StatusCode::NOT_FOUND })
    }

    /// The stream beside the requests, or one that broke, from where it broke.
    pub(super) fn resume(&self, headers: &HeaderMap) -> Response<Body> {
        let Some(session) = header(headers, HEADER).and_then(|it| self.find(&it)) else {
            return empty(StatusCode::NOT_FOUND);
        };
        let place = match header(headers, "last-event-id") {
            None => Some((BESIDE, 0)),
            Some(last) => last.split_once('-').and_then(|(stream, seq)| {
                Some((stream.parse().ok()?, seq.parse::<u64>().ok()?.checked_add(1)?))
            }),
        };
        let log = place
            .and_then(|(stream, from)| Some((lock(&session.streams).get(&stream)?.clone(), stream, from)));
        match log {
            Some((log, stream, from)) => stream_of(log.read(stream, from)),
            None => empty(StatusCode::BAD_REQUEST),
        }
    }
}

impl Session {
    pub(super) fn peer(&self) -> &Arc<Peer> {
        &self.peer
    }

    /// Answers with a stream that can be taken up again: what is said goes on when the client breaks off.
    pub(super) fn events(
        &self,
        taken: Vec<u8>,
        frames: Receiver<Frame>,
        crash: watch::Sender<bool>,
    ) -> Response<Body> {
        let log = Arc::new(Log::new(usize::MAX));
        log.push(taken);
        let mut streams = lock(&self.streams);
        let id = streams.last_key_value().map_or(BESIDE, |it| *it.0) + 1;
        streams.insert(id, log.clone());
        let ended: Vec<u64> =
            streams.iter().filter(|it| *it.0 != BESIDE && it.1.is_done()).map(|it| *it.0).collect();
        for old in ended.iter().take(ended.len().saturating_sub(MOST_STREAMS)) {
            streams.remove(old);
        }
        tokio::spawn(note(frames, log.clone(), Some(crash)));
        stream_of(log.read(id, 0))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.told.iter().for_each(JoinHandle::abort);
        self.peer.stop();
        lock(&self.streams).values().for_each(|it| it.finish());
    }
}

/// Notes what is said until nobody says anything any more.
async fn note(mut frames: Receiver<Frame>, log: Arc<Log>, crash: Option<watch::Sender<bool>>) {
    while let Some(frame) = frames.recv().await {
        match frame {
            Frame::Line(line) | Frame::Answer { line, .. } => log.push(line),
            Frame::Crash => {
                if let Some(crash) = &crash {
                    crash.send_replace(true);
                }
            }
        }
    }
    if crash.is_some() {
        log.finish();
    }
}

/// What was said on one stream.
struct Log {
    said: Mutex<Said>,
    /// Changes with each message and at the end.
    grew: watch::Sender<()>,
    most: usize,
}

#[derive(Default)]
struct Said {
    lines: VecDeque<Vec<u8>>,
    /// The number of the first line that is still there.
    first: u64,
    is_done: bool,
}

impl Log {
    fn new(most: usize) -> Self {
        Self { said: Mutex::default(), grew: watch::Sender::new(()), most }
    }

    fn push(&self, line: Vec<u8>) {
        let mut said = lock(&self.said);
        said.lines.push_back(line);
        if said.lines.len() > self.most {
            said.lines.pop_front();
            said.first += 1;
        }
        drop(said);
        self.grew.send_replace(());
    }

    fn finish(&self) {
        lock(&self.said).is_done = true;
        self.grew.send_replace(());
    }

    fn is_done(&self) -> bool {
        lock(&self.said).is_done
    }

    /// The event with this number or the first after it, and the number that follows; `None` if there is none yet.
    fn at(&self, stream: u64, seq: u64) -> Option<(Bytes, u64)> {
        let said = lock(&self.said);
        let seq = seq.max(said.first);
        let line = said.lines.get(usize::try_from(seq - said.first).ok()?)?;
        Some((event(Some(&format!("{stream}-{seq}")), line), seq + 1))
    }

    /// The events from a number on, until the stream is done.
    fn read(self: Arc<Self>, stream: u64, from: u64) -> impl Stream<Item = Bytes> + Send + 'static {
        let grew = self.grew.subscribe();
        stream::unfold((self, from, grew), move |(log, seq, mut grew)| async move {
            loop {
                let is_done = log.is_done();
                if let Some((event, next)) = log.at(stream, seq) {
                    return Some((event, (log, next, grew)));
                }
                if is_done || grew.changed().await.is_err() {
                    return None;
                }
            }
        })
    }
}

fn lock<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each is whole after every statement, so a panic elsewhere does not spoil it.
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use futures::StreamExt as _;

    use super::*;

    #[tokio::test]
    async fn a_stream_is_taken_up_where_it_broke() {
        let log = Arc::new(Log::new(usize::MAX));
        for line in ["a", "b", "c"] {
            log.push(line.into());
        }
        let mut read = Box::pin(log.clone().read(3, 0));
        assert_eq!(read.next().await.unwrap(), "id: 3-0\ndata: a\n\n");
        drop(read);
        log.finish();
        let rest: Vec<_> = log.read(3, 1).collect().await;
        assert_eq!(rest, ["id: 3-1\ndata: b\n\n", "id: 3-2\ndata: c\n\n"]);
    }

    #[tokio::test]
    async fn what_nobody_fetches_is_forgotten() {
        let log = Arc::new(Log::new(2));
        for line in ["a", "b", "c"] {
            log.push(line.into());
        }
        log.finish();
        let rest: Vec<_> = log.read(0, 0).collect().await;
        assert_eq!(rest, ["id: 0-1\ndata: b\n\n", "id: 0-2\ndata: c\n\n"]);
    }
}
