//! From which level on a server tells what it does (2025-11-25 server/utilities/logging; 2026-07-28 basic, "_meta").
//!
//! A server of the handshake era is told once, with `logging/setLevel`; later ones read it from every request, and say nothing where it
//! is absent. Deliberately absent: what is told, which comes as [`super::ConnectionEvent::Log`].

use rmcp::model::RequestMetaObject;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{CallError, Connection};

/// How important a message of a server is (RFC 5424, 6.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the words of RFC 5424")]
pub enum LoggingLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl Connection {
    /// Changes the level. Without one a server of the handshake era goes on as it was told, until it is started again.
    ///
    /// # Errors
    /// A server of the handshake era refuses.
    pub async fn set_log_level(&self, level: Option<LoggingLevel>) -> Result<(), CallError> {
        *self.log_level_slot() = level;
        match level.filter(|_| self.must_be_told_the_level()) {
            Some(level) => self.plain_request("logging/setLevel", json!({"level": level})).await.map(drop),
            None => Ok(()),
        }
    }

    /// Tells a new connection the level that was chosen before.
    pub(super) fn begin_logging(&self) {
        let level = *self.log_level_slot();
        if let Some(level) = level.filter(|_| self.must_be_told_the_level()) {
            self.0.wire.request_unheard("logging/setLevel", json!({"level": level}).into());
        }
    }

    /// Writes the level into a request, under revisions whose servers read it there.
    pub(super) fn ask_for_logs(&self, meta: &mut RequestMetaObject) {
        let level = *self.log_level_slot();
        if self.revision().has_request_meta()
            && let Some(level) = level
            && let Ok(level) = serde_json::from_value(json!(level))
        {
            meta.set_log_level(level);
        }
    }

    /// Whether the server was told a level once, and so tells on until it is started again.
    pub fn must_be_told_the_level(&self) -> bool {
        self.revision().has_handshake() && self.0.greeting.has_capability("logging")
    }

    fn log_level_slot(&self) -> std::sync::MutexGuard<'_, Option<LoggingLevel>> {
        self.0.log_level.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
