//! One client's messages over one line, whatever carries them: calls go on beside each other, and answers leave in the order in which
//! they are done.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{broadcast::error::RecvError, mpsc::Sender},
    task::JoinHandle,
};
use usher_protocol::jsonrpc::{ErrorObject, Message, NotAMessage};

use crate::{batch, interference::Turn, peer::Peer, server::Server};

/// What a connection gives to whatever carries it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// A line on the way to an answer, or beside it, without its end.
    Line(Vec<u8>),
    /// The answer to a request: the last line that belongs to it.
    Answer {
        /// The line, without its end.
        line: Vec<u8>,
        /// The code, if the request was refused.
        code: Option<i64>,
    },
    /// The process ends here, without an answer.
    Crash,
}

impl Frame {
    /// The frame of a message.
    pub fn of(message: &Message) -> Self {
        let line = message.to_line().into_bytes();
        match message {
            Message::Response { .. } => Self::Answer { line, code: None },
            Message::Error { error, .. } => Self::Answer { line, code: Some(error.code) },
            Message::Request { .. } | Message::Notification { .. } => Self::Line(line),
        }
    }
}

/// One client.
pub struct Connection {
    server: Arc<Server>,
    out: Sender<Frame>,
    peer: Arc<Peer>,
    changes: Option<JoinHandle<()>>,
    is_first: bool,
}

impl Connection {
    /// A connection that has not heard anything yet. What it says goes to `out`. Must be made within a tokio runtime.
    pub fn new(server: Arc<Server>, out: Sender<Frame>) -> Self {
        let peer = Arc::new(Peer::default());
        let changes = tell_changes(&server, &peer, out.clone());
        Self { server, out, peer, changes, is_first: true }
    }

    /// Says what a server says unasked when it starts: nothing, unless something interferes.
    pub async fn start(&self) {
        for frame in self.server.interference().at_start() {
            send(&self.out, frame).await;
        }
    }

    /// Takes one line. Calls go on after this returns; every other request is answered before.
    pub async fn receive(&mut self, line: &str) {
        let is_first = std::mem::replace(&mut self.is_first, false);
        if batch::is_batch(&self.peer, line) {
            return batch::take(&self.server, &self.peer, line, &self.out).await;
        }
        let refuse = |code, message| Message::Error { id: None, error: ErrorObject::new(code, message) };
        match Message::parse(line) {
            Ok(message) => {
                if let Message::Request { id, method, .. } = &message {
                    match self.server.interference().on_request(method, is_first) {
                        Turn::Go => {}
                        Turn::Silence => return,
                        Turn::Answer(result) => {
                            return self.say(Message::Response { id: id.clone(), result }).await;
                        }
                        Turn::Crash => return send(&self.out, Frame::Crash).await,
                    }
                }
                self.peer.take(&self.server, message, &self.out).await;
            }
            Err(NotAMessage::NotJson(why)) => self.say(refuse(ErrorObject::PARSE_ERROR, why)).await,
            Err(NotAMessage::NotRpc) => {
                let why = "the line is not a JSON-RPC 2.0 message".to_owned();
                self.say(refuse(ErrorObject::INVALID_REQUEST, why)).await;
            }
        }
    }

    /// Lets running calls end, for as long as `grace`; then stops them.
    pub async fn finish(self, grace: Duration) {
        if let Some(changes) = self.changes {
            changes.abort();
        }
        self.peer.finish(grace).await;
    }

    async fn say(&self, message: Message) {
        send(&self.out, Frame::of(&message)).await;
    }
}

/// Tells a client of the handshake what changes, until the task is stopped or nobody listens.
pub(crate) fn tell_changes(
    server: &Arc<Server>,
    peer: &Arc<Peer>,
    out: Sender<Frame>,
) -> Option<JoinHandle<()>> {
    let mut changes = server.changes()?;
    let peer = Arc::downgrade(peer);
    Some(tokio::spawn(async move {
        loop {
            let change = match changes.recv().await {
                Ok(change) => change,
                Err(RecvError::Lagged(_)) => continue,
                Err(RecvError::Closed) => break,
            };
            let Some(peer) = peer.upgrade() else { break };
            if peer.wants(&change) && out.send(Frame::of(&change.notification(None))).await.is_err() {
                break;
            }
        }
    }))
}

pub(crate) async fn send(out: &Sender<Frame>, frame: Frame) {
    // Nobody listens any more: the carrier is ending, and so is the connection.
    let _ = out.send(frame).await;
}
