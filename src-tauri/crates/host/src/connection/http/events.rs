//! The HTTP with SSE that 2024-11-05 had: one stream of events from the server, and an address for what goes the other way.
//!
//! Old servers have nothing else, and it is tried when the newer transport is refused (2026-07-28 basic/transports/streamable-http,
//! "Backward Compatibility"). Deliberately absent: resuming, which it never had.

use std::sync::Arc;

use bytestring::ByteString;
use futures::StreamExt as _;
use http::header;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use url::Url;
use usher_protocol::jsonrpc::{Id, Message};

use super::{
    Authorization, HttpFailure, Outgoing, Reply, Wire, headers,
    raw::{self, RawError},
};
use crate::connection::{
    error::ConnectError,
    event::EventSender,
    line::sort,
    spec::{ConnectionOptions, HttpSpec},
    wire::Answered,
};

/// Opens the stream, learns where to write, and carries the messages of a wire until either ends.
pub(in crate::connection) async fn start(
    spec: &HttpSpec,
    options: &ConnectionOptions,
    events: EventSender,
    closing: CancellationToken,
) -> Result<(Arc<Wire>, Answered), ConnectError> {
    let unusable = |detail: String| ConnectError::Http {
        failure: HttpFailure { status: None, detail, challenge: None },
    };
    let base = Url::parse(&spec.url).map_err(|error| unusable(format!("not an address: {error}")))?;
    let headers: http::HeaderMap = headers(&spec.headers).map_err(unusable)?.into_iter().collect();
    let client = raw::client().map_err(|error| unusable(error.to_string()))?;
    let request = client.get(base.clone()).headers(headers.clone()).header(header::ACCEPT, raw::EVENTS);
    let authorization = options.authorization.clone();
    let response = raw::sent(request, authorization.as_ref()).await;
    let response = response.map_err(|error| unusable(RawError::from(error).to_string()))?;
    if !response.status().is_success() || !raw::is_type(response.headers(), raw::EVENTS) {
        let status = Some(response.status().as_u16());
        let detail = "there is no stream of events either".to_owned();
        let challenge = raw::challenge(response.headers());
        return Err(ConnectError::Http { failure: HttpFailure { status, detail, challenge } });
    }
    let mut stream = Box::pin(raw::events(response));
    let endpoint = loop {
        match stream.next().await {
            Some(Ok(event)) if event.event.as_deref() == Some("endpoint") => {
                break endpoint(&base, event.data.as_deref().unwrap_or_default()).map_err(unusable)?;
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(unusable(error.to_string())),
            None => return Err(unusable("the stream ended before it said where to write".to_owned())),
        }
    };
    let (wire, answered, mut outgoing) = Wire::unconnected(events, options.offers.clone(), closing);
    let reading = Arc::clone(&wire);
    tokio::spawn(async move {
        loop {
            let event = tokio::select! {
                event = stream.next() => event,
                () = reading.closing().cancelled() => break,
            };
            let Some(Ok(event)) = event else { break };
            if matches!(event.event.as_deref(), None | Some("" | "message"))
                && let Some(text) = event.data
            {
                let text = ByteString::from(text);
                let sorted = sort(&text);
                reading.take_sorted(sorted, text).await;
            }
        }
        reading.end();
    });
    let writing = Arc::clone(&wire);
    tokio::spawn(async move {
        write(&client, &endpoint, &headers, &writing, &mut outgoing, authorization.as_ref()).await;
    });
    Ok((wire, answered))
}

/// Where to write, which must be at the same place: what is sent there may hold keys.
fn endpoint(base: &Url, given: &str) -> Result<Url, String> {
    let endpoint =
        base.join(given.trim()).map_err(|error| format!("its address for messages is none: {error}"))?;
    if endpoint.origin() == base.origin() {
        Ok(endpoint)
    } else {
        Err(format!("it wants messages to go to another place ({})", endpoint.origin().ascii_serialization()))
    }
}

/// One message after the other, so that their order stays.
async fn write(
    client: &reqwest::Client,
    endpoint: &Url,
    headers: &http::HeaderMap,
    wire: &Arc<Wire>,
    outgoing: &mut mpsc::Receiver<Outgoing>,
    authorization: Option<&Authorization>,
) {
    loop {
        let next = tokio::select! {
            next = outgoing.recv() => next,
            () = wire.closing().cancelled() => return,
        };
        let Some(next) = next else { return };
        let request = client
            .post(endpoint.clone())
            .headers(headers.clone())
            .header(header::CONTENT_TYPE, raw::JSON)
            .body(next.line);
        let failure = match raw::sent(request, authorization).await {
            Ok(response) if response.status().is_success() => continue,
            Ok(response) => HttpFailure {
                status: Some(response.status().as_u16()),
                detail: String::new(),
                challenge: raw::challenge(response.headers()),
            },
            Err(error) => {
                HttpFailure { status: None, detail: RawError::from(error).to_string(), challenge: None }
            }
        };
        match next.message {
            Message::Request { id: Id::Number(id), .. } => wire.fail(id, Reply::Failed(failure)),
            Message::Request { .. }
            | Message::Notification { .. }
            | Message::Response { .. }
            | Message::Error { .. } => {
                wire.defect(format!("A message did not reach the server ({failure})."));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_go_to_the_same_place_only() {
        let base = Url::parse("http://localhost:8000/sse").unwrap();
        assert_eq!(endpoint(&base, "/messages?s=1").unwrap().as_str(), "http://localhost:8000/messages?s=1");
        assert_eq!(endpoint(&base, "http://localhost:8000/m").unwrap().as_str(), "http://localhost:8000/m");
        for elsewhere in
            ["http://localhost:8001/m", "https://localhost:8000/m", "//evil.example/m", "file:///etc/x"]
        {
            assert!(endpoint(&base, elsewhere).is_err(), "{elsewhere}");
        }
    }
}
