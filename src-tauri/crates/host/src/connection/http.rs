//! Servers that are spoken to over HTTP.
//!
//! rmcp's transport does what the specification asks of the carrier (2026-07-28 and 2025-11-25 basic/transports): sessions and their
//! renewal, the stream beside the requests, resuming, closing the response stream of what was cancelled. It is given each message
//! without its content; [`raw::RawClient`] below it puts the very text on the way and takes the very text off it, past rmcp, into the
//! [`Wire`]. Deliberately absent: what the messages say, and finding the revision.

pub(super) mod events;
mod mirror;
mod raw;
mod typed;

use std::{collections::HashMap, sync::Arc, time::Duration};

use futures::FutureExt as _;
use http::{HeaderName, HeaderValue};
use rmcp::{
    RoleClient,
    model::{JsonRpcMessage, RequestId},
    transport::{
        StreamableHttpClientTransport, Transport,
        streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError},
    },
};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use usher_protocol::jsonrpc::{Id, Message};

pub(super) use self::mirror::Mirrors;
use self::raw::{RawClient, RawError, Standing};
use super::{
    authorization::Authorization,
    error::{ConnectError, HttpFailure},
    event::EventSender,
    line::MAX_LINE,
    question::Offers,
    spec::HttpSpec,
    wire::{Answered, Outgoing, Reply, Wire},
};

/// How long the first request waits for the stream that stands beside the requests of a session.
const STANDING_STREAM: Duration = Duration::from_secs(2);

/// How many requests may be under way before they have an answer or a stream.
const MAX_REQUESTS: usize = 64;

/// Starts to carry the messages of a wire to a server and back, until `closing` is cancelled.
pub(super) fn start(
    spec: &HttpSpec,
    mirrors: Arc<Mirrors>,
    authorization: Option<Authorization>,
    events: EventSender,
    offers: Offers,
    closing: CancellationToken,
) -> Result<(Arc<Wire>, Answered), ConnectError> {
    let unusable = |why: String| ConnectError::Http {
        failure: HttpFailure { status: None, detail: why, challenge: None },
    };
    let url = url::Url::parse(&spec.url).map_err(|error| unusable(format!("not an address: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(unusable(format!("{} is not http or https", url.scheme())));
    }
    let headers = headers(&spec.headers).map_err(unusable)?;
    let (wire, answered, outgoing) = Wire::unconnected(events, offers, closing);
    let client = RawClient::new(Arc::clone(&wire), mirrors, authorization.clone())
        .map_err(|error| unusable(error.to_string()))?;
    let standing = client.standing();
    let mut config = StreamableHttpClientTransportConfig::with_uri(spec.url.as_str());
    config.custom_headers = headers;
    config.max_concurrent_requests = MAX_REQUESTS;
    config.max_sse_event_size = MAX_LINE;
    config.max_json_response_size = MAX_LINE;
    let transport = StreamableHttpClientTransport::with_client(client, config);
    tokio::spawn(carry(transport, Arc::clone(&wire), outgoing, standing, authorization));
    Ok((wire, answered))
}

/// Takes a response as the answer to a message, as if a server had sent it; for hostile input.
pub(super) async fn take_answer(
    http: reqwest::Client,
    wire: Arc<Wire>,
    asked: Outgoing,
    response: reqwest::Response,
) {
    if let Ok(typed) = typed::message(asked) {
        raw::take_answer(http, wire, &typed, response).await;
    }
}

fn headers(given: &[(String, String)]) -> Result<HashMap<HeaderName, HeaderValue>, String> {
    let header = |(name, value): &(String, String)| {
        let header =
            HeaderName::try_from(name.as_str()).map_err(|_| format!("{name:?} is not a header's name"))?;
        // The value may be a secret; it is not repeated.
        let value = HeaderValue::try_from(value.as_str())
            .map_err(|_| format!("the value of the header {name} has characters that HTTP does not allow"))?;
        Ok((header, value))
    };
    given.iter().map(header).collect()
}

/// Hands messages to rmcp's transport, and notes the requests that end without an answer.
async fn carry(
    mut transport: StreamableHttpClientTransport<RawClient>,
    wire: Arc<Wire>,
    mut outgoing: mpsc::Receiver<Outgoing>,
    mut standing: watch::Receiver<Standing>,
    authorization: Option<Authorization>,
) {
    loop {
        tokio::select! {
            () = wire.closing().cancelled() => break,
            next = outgoing.recv() => {
                let Some(next) = next else { break };
                let is_last_of_handshake = next.is_initialized();
                send(&mut transport, &wire, next, authorization.clone()).await;
                if is_last_of_handshake {
                    // A server may answer on the stream beside the requests, and what it sends before there is one is lost.
                    let settled = standing.wait_for(|it| *it != Standing::Expected);
                    let _slow = tokio::time::timeout(STANDING_STREAM, settled).await;
                }
            }
            told = transport.receive() => match told {
                // The answers themselves went into the wire before rmcp knew of them.
                Some(JsonRpcMessage::Error(error)) => {
                    if let Some(RequestId::Number(id)) = error.id {
                        wire.fail(id, Reply::Failed(HttpFailure {
                            status: None,
                            detail: error.error.message.into_owned(),
                            challenge: None,
                        }));
                    }
                }
                Some(JsonRpcMessage::Response(_) | JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_)) => {}
                None => break,
            },
        }
    }
    // A session is given back (2025-11-25 basic/transports, "Session Management").
    let _given_back = transport.close().await;
    wire.end();
}

async fn send(
    transport: &mut StreamableHttpClientTransport<RawClient>,
    wire: &Arc<Wire>,
    outgoing: Outgoing,
    authorization: Option<Authorization>,
) {
    let id = match &outgoing.message {
        Message::Request { id: Id::Number(id), .. } => Some(*id),
        Message::Request { .. }
        | Message::Notification { .. }
        | Message::Response { .. }
        | Message::Error { .. } => None,
    };
    let typed = match typed::message(outgoing) {
        Ok(typed) => typed,
        Err(why) => {
            wire.defect(format!("A message could not be sent over HTTP: {why}."));
            if let Some(id) = id {
                wire.fail(id, Reply::Unreadable(why));
            }
            return;
        }
    };
    let mut sent = Box::pin(Transport::<RoleClient>::send(transport, typed));
    // Polled once here, so that messages enter rmcp's queue in the order in which they were written.
    let first = futures::poll!(sent.as_mut());
    let wire = Arc::clone(wire);
    let finish = move |outcome: Result<(), StreamableHttpError<RawError>>| {
        let Err(error) = outcome else { return };
        let failure = raw::failure(&error, authorization.as_ref());
        match id {
            Some(id) => wire.fail(id, Reply::Failed(failure)),
            None => wire.defect(format!("A message did not reach the server ({failure}).")),
        }
    };
    match first {
        std::task::Poll::Ready(outcome) => finish(outcome),
        std::task::Poll::Pending => {
            tokio::spawn(sent.map(finish));
        }
    }
}
