//! Several messages in one array, which the first of the revisions has and no other (2025-03-26 basic, "Batching").

use std::sync::Arc;

use tokio::sync::mpsc::{self, Sender};
use usher_protocol::{
    RawJson,
    jsonrpc::{ErrorObject, Message},
};

use crate::{
    connection::{Frame, send},
    peer::Peer,
    server::Server,
};

/// The most messages of a batch.
const MOST: usize = 1_000;

/// Whether a text is an array and the client may send one.
pub(crate) fn is_batch(peer: &Peer, text: &str) -> bool {
    text.trim_start().starts_with('[') && peer.revision().is_some_and(|it| it.has_batches())
}

/// Takes every message of a batch. The answers go to `out` as one array when all are there; notifications have none.
pub(crate) async fn take(server: &Arc<Server>, peer: &Arc<Peer>, text: &str, out: &Sender<Frame>) {
    let refuse = |code, why: &str| {
        let error = ErrorObject::new(code, why);
        Frame::of(&Message::Error { id: None, error })
    };
    let messages: Vec<RawJson> = match serde_json::from_str(text) {
        Ok(messages) => messages,
        Err(error) => return send(out, refuse(ErrorObject::PARSE_ERROR, &error.to_string())).await,
    };
    if messages.is_empty() || messages.len() > MOST {
        return send(out, refuse(ErrorObject::INVALID_REQUEST, "a batch has 1 to 1000 messages")).await;
    }
    let (to, mut frames) = mpsc::channel(16);
    let beside = out.clone();
    tokio::spawn(async move {
        let mut answers = Vec::new();
        while let Some(frame) = frames.recv().await {
            match frame {
                Frame::Answer { line, .. } => answers.push(line),
                Frame::Line(_) | Frame::Crash => send(&beside, frame).await,
            }
        }
        if !answers.is_empty() {
            let line = [b"[".as_slice(), &answers.join(b",".as_slice()), b"]"].concat();
            send(&beside, Frame::Answer { line, code: None }).await;
        }
    });
    for message in messages {
        match Message::parse(message.get()) {
            Ok(message) => peer.take(server, message, &to).await,
            Err(_) => send(&to, refuse(ErrorObject::INVALID_REQUEST, "not a JSON-RPC 2.0 message")).await,
        }
    }
}
