//! What only a checker of servers does: requests that no server can serve, and a count of what went past the protocol.

use std::time::Duration;

use serde_json::{Value, json};
use usher_protocol::RawJson;

use super::{CallError, Connection, wire::Reply};

/// What came on a stream that should not have. All of it was borne with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Oddities {
    /// Lines that were not messages.
    pub noise: u64,
    /// Lines that were not UTF-8.
    pub not_utf8: u64,
    /// Answers to requests that were not under way, such as those that had been cancelled.
    pub unasked: u64,
}

impl Connection {
    /// What came on this connection that should not have.
    pub fn oddities(&self) -> Oddities {
        let wire = &self.0.wire;
        Oddities { noise: wire.noise(), not_utf8: wire.not_utf8(), unasked: wire.unasked() }
    }

    /// Makes a request with empty parameters, under a revision that need not exist.
    ///
    /// # Errors
    /// As [`Connection::call`]; the interesting answer is mostly [`CallError::Server`].
    pub async fn probe(
        &self,
        method: &'static str,
        revision: Option<&str>,
        limit: Duration,
    ) -> Result<RawJson, CallError> {
        let mut params = json!({});
        if self.revision().has_request_meta() {
            let mut meta = self.0.options.request_meta(self.revision());
            if let (Some(revision), Value::Object(meta)) = (revision, &mut meta) {
                meta.insert("io.modelcontextprotocol/protocolVersion".to_owned(), json!(revision));
            }
            params = json!({"_meta": meta});
        }
        let (id, answer) = self.0.wire.request(method, params.into()).await;
        match tokio::time::timeout(limit, answer).await {
            Ok(Ok(Reply::Result(result))) => Ok(result),
            Ok(Ok(Reply::Error(error))) => {
                Err(CallError::Server { code: error.code, message: error.message, data: error.data })
            }
            Ok(Ok(Reply::Unreadable(why))) => Err(CallError::Unreadable { why }),
            Ok(Ok(Reply::Failed(failure))) => Err(CallError::Http(failure)),
            Ok(Err(_)) => Err(CallError::Closed { exit: self.closed().await }),
            Err(_) => {
                self.0.wire.abandon(id, "it took too long");
                Err(CallError::TimedOut { seconds: limit.as_secs() })
            }
        }
    }
}
