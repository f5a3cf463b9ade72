//! The shapes of 2025-03-26, 2025-06-18 and 2025-11-25.

use serde::{Deserialize, Deserializer, Serialize};

use crate::{bounded::Bounded, common::ContentBlock};

/// The most blocks of a `content` that are read.
pub(crate) const MOST_BLOCKS: usize = 100_000;

/// `content`.
pub(crate) type Blocks = Bounded<ContentBlock, MOST_BLOCKS>;

/// `CallToolResult`, with the discriminator that 2026-07-28 adds.
///
/// `R` is raw JSON: borrowed where a result is read, and owned where one is written.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "R: Deserialize<'de>"))]
pub(crate) struct CallToolResult<R> {
    // Read under 2026-07-28 only, whatever stands in it before.
    #[serde(default = "none", skip_serializing)]
    pub(crate) result_type: Option<R>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<Blocks>,
    // `Some(null)` is a value, so the option is read by presence.
    #[serde(default = "none", deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub(crate) structured_content: Option<R>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) is_error: Option<bool>,
    #[serde(rename = "_meta", default = "none", skip_serializing_if = "Option::is_none")]
    pub(crate) meta: Option<R>,
}

/// Reads a field that may be `null`: present is `Some`, whatever the value.
pub(crate) fn present<'de, R: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<R>, D::Error> {
    R::deserialize(deserializer).map(Some)
}

/// A field that is absent.
pub(crate) fn none<T>() -> Option<T> {
    None
}
