//! The transport that rmcp is given: raw parameters go out, raw results stay with whoever asked.
//!
//! rmcp reads results into types that drop what they do not know (`outputs`, `outputVariants`), and numbers into 64 bits. So a request
//! carries its parameters as text beside the typed request, and its answer never enters rmcp: rmcp is told only *that* it came, and
//! keeps numbering, per-request `_meta` and lifecycle. Deliberately absent: streams and processes.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
};

use rmcp::{
    ErrorData, RoleClient, Service,
    model::{
        ClientConfig, ClientRequest, CustomResult, ErrorCode, GetExtensions, GetMeta, JsonRpcMessage,
        RequestId, RequestMetaObject, ServerResult,
    },
    service::{NotificationContext, RequestContext, RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use usher_protocol::{
    RawJson,
    jsonrpc::{Id, Message},
};

use super::{
    Progress,
    wire::{Answered, Outgoing, Reply, Wire},
};

/// What travels beside a request, untouched by rmcp.
#[derive(Clone)]
pub(super) struct Beside {
    params: RawJson,
    slot: Arc<Mutex<Slot>>,
}

enum Slot {
    /// Not sent yet.
    Queued { reply: oneshot::Sender<Reply>, progress: Option<mpsc::Sender<Progress>> },
    /// Sent under this identifier.
    Sent(i64),
    /// Given up before it was sent.
    Abandoned,
}

impl Beside {
    pub(super) fn new(
        params: RawJson,
        reply: oneshot::Sender<Reply>,
        progress: Option<mpsc::Sender<Progress>>,
    ) -> Self {
        Self { params, slot: Arc::new(Mutex::new(Slot::Queued { reply, progress })) }
    }

    fn replace(&self, slot: Slot) -> Slot {
        std::mem::replace(&mut *self.slot.lock().unwrap_or_else(PoisonError::into_inner), slot)
    }

    /// Gives the request up, sent or not.
    pub(super) fn abandon(&self, wire: &Wire, reason: &str) {
        match self.replace(Slot::Abandoned) {
            Slot::Sent(id) => wire.abandon(id, reason),
            Slot::Queued { .. } | Slot::Abandoned => {}
        }
    }
}

/// Carries rmcp's messages over a [`Wire`].
pub(super) struct RawTransport {
    wire: Arc<Wire>,
    answered: Answered,
    /// Requests that were given up before they were sent.
    unsent: mpsc::UnboundedSender<i64>,
    unsent_ids: Answered,
}

impl RawTransport {
    pub(super) fn new(wire: Arc<Wire>, answered: Answered) -> Self {
        let (unsent, unsent_ids) = mpsc::unbounded_channel();
        Self { wire, answered, unsent, unsent_ids }
    }

    /// Queues a message and gives back what found no room.
    fn queue(&self, item: TxJsonRpcMessage<RoleClient>) -> Result<Option<Outgoing>, Unsendable> {
        let message = match item {
            JsonRpcMessage::Request(request) => {
                let RequestId::Number(id) = request.id else {
                    return Err(Unsendable("its identifier is text"));
                };
                let method = request.request.method().to_owned();
                let Some(beside) = request.request.extensions().get::<Beside>() else {
                    return Err(Unsendable("it has no raw parameters"));
                };
                let Slot::Queued { reply, progress } = beside.replace(Slot::Sent(id)) else {
                    beside.replace(Slot::Abandoned);
                    let _gone = self.unsent.send(id);
                    return Ok(None);
                };
                let meta = meta(&request.request, id);
                let params =
                    with_meta(&beside.params, &meta).ok_or(Unsendable("its parameters are not an object"))?;
                self.wire.expect_through_rmcp(id, &method, reply, progress);
                Message::Request { id: Id::Number(id), method, params: Some(params) }
            }
            // The wire itself cancels and answers, so rmcp has nothing else to say.
            JsonRpcMessage::Response(_) | JsonRpcMessage::Notification(_) | JsonRpcMessage::Error(_) => {
                return Ok(None);
            }
        };
        Ok(self.wire.queue(message).err())
    }
}

fn meta(request: &ClientRequest, id: i64) -> RequestMetaObject {
    let mut meta = request.get_meta().clone();
    // The same number, so that progress finds its request without a second table.
    meta.set_progress_token(rmcp::model::ProgressToken(RequestId::Number(id)));
    meta
}

/// Adds `_meta` to an object without reading it: digits and the order of keys stay.
fn with_meta(params: &RawJson, meta: &RequestMetaObject) -> Option<RawJson> {
    let inner = params.get().trim().strip_prefix('{')?.strip_suffix('}')?.trim();
    let meta = serde_json::to_string(meta).ok()?;
    let comma = if inner.is_empty() { "" } else { "," };
    RawValue::from_string(format!("{{\"_meta\":{meta}{comma}{inner}}}")).ok().map(RawJson::from)
}

/// rmcp was asked to send something that this transport does not carry.
#[derive(Debug, thiserror::Error)]
#[error("the request cannot be sent: {0}")]
pub(super) struct Unsendable(&'static str);

impl Transport<RoleClient> for RawTransport {
    type Error = Unsendable;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        // Queued before the future is polled, so that requests keep their order.
        let queued = self.queue(item);
        let wire = Arc::clone(&self.wire);
        async move {
            if let Some(outgoing) = queued? {
                wire.send_outgoing(outgoing).await;
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let id = tokio::select! {
            biased;
            Some(id) = self.unsent_ids.recv() => id,
            Some(id) = self.answered.recv() => id,
            () = self.wire.closing().cancelled() => return None,
        };
        let told = ServerResult::CustomResult(CustomResult::new(serde_json::Value::Null));
        Some(JsonRpcMessage::response(told, RequestId::Number(id)))
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.wire.closing().cancel();
        Ok(())
    }
}

/// What rmcp may ask of the host: nothing, because the wire answers servers itself.
pub(super) struct Client(pub(super) ClientConfig);

impl Service<RoleClient> for Client {
    async fn handle_request(
        &self,
        _request: rmcp::model::ServerRequest,
        _context: RequestContext<RoleClient>,
    ) -> Result<rmcp::model::ClientResult, ErrorData> {
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "not offered", None))
    }

    async fn handle_notification(
        &self,
        _notification: rmcp::model::ServerNotification,
        _context: NotificationContext<RoleClient>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn get_info(&self) -> ClientConfig {
        self.0.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meta_is_added_without_reading_the_parameters() {
        let meta = RequestMetaObject::default();
        let check =
            |params: &str| with_meta(&RawJson::parse(params).unwrap(), &meta).map(|it| it.get().to_owned());
        assert_eq!(
            check(r#"{"b":9007199254740993,"a":1.10}"#).unwrap(),
            r#"{"_meta":{},"b":9007199254740993,"a":1.10}"#
        );
        assert_eq!(check(" { } ").unwrap(), r#"{"_meta":{}}"#);
        assert_eq!(check("[1]"), None);
    }
}
