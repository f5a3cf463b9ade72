//! The revisions of the protocol, and what each has.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A revision of MCP that Usher speaks, oldest first. The order is the order of publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Revision {
    /// 2025-03-26.
    #[serde(rename = "2025-03-26")]
    V2025_03_26,
    /// 2025-06-18: structured content and elicitation.
    #[serde(rename = "2025-06-18")]
    V2025_06_18,
    /// 2025-11-25: the last one that opens with a handshake.
    #[serde(rename = "2025-11-25")]
    V2025_11_25,
    /// 2026-07-28: stateless requests and `server/discover`.
    #[serde(rename = "2026-07-28")]
    V2026_07_28,
    /// 2026-12-01: audience-directed outputs (SEP-3279).
    #[serde(rename = "2026-12-01")]
    V2026_12_01,
}

/// The text is not a revision that Usher knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a protocol revision that Usher speaks: those are {known}", known = Revision::ALL.map(Revision::as_str).join(", "))]
pub struct UnknownRevision(pub String);

impl Revision {
    /// Every revision, oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28, Self::V2026_12_01];

    /// The newest revision.
    pub const NEWEST: Self = Self::V2026_12_01;

    /// The newest revision that opens with the `initialize` handshake.
    pub const NEWEST_WITH_HANDSHAKE: Self = Self::V2025_11_25;

    /// The newest revision whose results have content and structuredContent.
    pub const NEWEST_WITHOUT_VARIANTS: Self = Self::V2026_07_28;

    /// The date that names it on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
            Self::V2026_12_01 => "2026-12-01",
        }
    }

    /// Whether a connection opens with `initialize` (2025-11-25 basic/lifecycle) instead of `server/discover`.
    pub fn has_handshake(self) -> bool {
        self <= Self::V2025_11_25
    }

    /// Whether messages may come several at once, in an array (2025-03-26 basic, "Batching").
    pub fn has_batches(self) -> bool {
        self == Self::V2025_03_26
    }

    /// Whether each request carries its revision and capabilities in `_meta` (2026-07-28 basic, "_meta").
    pub fn has_request_meta(self) -> bool {
        !self.has_handshake()
    }

    /// Whether results carry `resultType` (2026-07-28 basic/patterns/mrtr).
    pub fn has_result_type(self) -> bool {
        self >= Self::V2026_07_28
    }

    /// Whether tools may declare `outputSchema` and results carry `structuredContent` (since 2025-06-18, until outputs replaced it).
    pub fn has_structured_content(self) -> bool {
        self >= Self::V2025_06_18 && !self.has_output_variants()
    }

    /// Whether tools declare `outputVariants`, calls carry `requestedOutputs` and results `outputs` (SEP-3279).
    pub fn has_output_variants(self) -> bool {
        self >= Self::V2026_12_01
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Revision {
    type Err = UnknownRevision;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|it| it.as_str() == text).ok_or_else(|| UnknownRevision(text.to_owned()))
    }
}
