//! What was recorded: the ledger, requests to a model with the source of each byte, the wire, and scripts.

use serde::Serialize;
use ts_rs::TS;

use super::{AudienceColor, LegacyPolicyView};

/// A fact about routing.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct LedgerRow {
    #[ts(type = "number")]
    pub seq: u64,
    #[ts(type = "number")]
    pub at_ms: i64,
    pub call_id: Option<String>,
    pub icon: LedgerIcon,
    pub text: String,
    /// What stands at the right: bytes, a count, a rule.
    pub detail: String,
    pub rule: Option<String>,
    pub color: Option<AudienceColor>,
    /// More about why, one reason a line.
    pub reasons: Vec<String>,
    /// Opens the very bytes.
    pub handle: Option<String>,
    /// The policy under which the model read one half of a result whose halves differ; the user may turn it round for the tool.
    pub reads: Option<LegacyPolicyView>,
}

/// What kind of fact a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum LedgerIcon {
    Asked,
    Came,
    Fits,
    Defect,
    Withheld,
    Delivered,
    Policy,
    Door,
    Sent,
    Note,
}

/// A request that was sent to a model.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ExchangeView {
    pub id: String,
    #[ts(type = "number")]
    pub at_ms: i64,
    pub model: String,
    pub url: String,
    #[ts(type = "number")]
    pub bytes: u64,
    pub sha256: String,
    pub attempts: u32,
    pub outcome: String,
    /// Estimated tokens of the request.
    #[ts(type = "number")]
    pub tokens: u64,
    /// The model's context size in tokens, if known.
    #[ts(type = "number | null")]
    pub context_tokens: Option<u64>,
    /// Bytes by source, in the order of the body.
    pub share: Vec<SourceShare>,
    /// Bytes of results that routing kept out of the model's context so far.
    #[ts(type = "number")]
    pub kept_out_bytes: u64,
    /// The server that asked the model, if the request is none of the conversation's own.
    pub asked_by: Option<String>,
}

/// How much of a body comes from where.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct SourceShare {
    pub source: SourceKind,
    pub label: String,
    #[ts(type = "number")]
    pub bytes: u64,
}

/// Where a span of a request body comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum SourceKind {
    /// Keys and punctuation of the provider's format.
    Envelope,
    /// The host's own words.
    Host,
    Tools,
    Messages,
    Results,
}

/// The exact bytes of a request body.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ExchangeBody {
    pub exchange: ExchangeView,
    pub body: String,
    pub spans: Vec<BodySpan>,
    /// Request headers that are safe to show.
    pub headers: Vec<(String, String)>,
}

/// A part of a body and its source.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct BodySpan {
    /// UTF-16 offsets into `body`, so that the window can cut it.
    pub start: u32,
    pub end: u32,
    pub source: SourceKind,
    /// Which message, tool, call or output.
    pub label: String,
    pub item_id: Option<String>,
}

/// A line that a script wrote, or its end.
#[derive(Debug, Clone, Serialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[ts(export)]
pub enum ScriptLine {
    Log {
        level: String,
        text: String,
    },
    /// A call that it makes.
    Call {
        call_id: String,
        text: String,
    },
    /// What it returned, as JSON.
    Returned {
        json: String,
    },
    Failed {
        message: String,
    },
    Stopped {
        why: String,
    },
}

/// A line of the wire.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct WireLine {
    #[ts(type = "number")]
    pub seq: u64,
    #[ts(type = "number")]
    pub at_ms: i64,
    pub server_id: String,
    pub channel: WireChannel,
    /// The method or what kind of line it is.
    pub title: String,
    /// Cut when very long.
    pub text: String,
    #[ts(type = "number")]
    pub bytes: u64,
}

/// Where a line was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum WireChannel {
    ToServer,
    FromServer,
    Stderr,
    /// On stdout, but not a message.
    Noise,
    /// The host's own remark, such as a fallback to an earlier revision.
    Host,
}
