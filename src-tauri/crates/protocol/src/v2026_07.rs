//! What 2026-07-28 adds to the shape of 2025-11-25: a `resultType` on every result.

use serde::{Deserialize, Serialize};

use crate::v2025;

/// The field that every result has.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Discriminator {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) result_type: Option<String>,
}

/// The value of `resultType` for a final result. Absent means the same.
pub(crate) const COMPLETE: &str = "complete";

/// `CallToolResult`, as a server writes it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallToolResult<R> {
    pub(crate) result_type: &'static str,
    #[serde(flatten)]
    pub(crate) body: v2025::CallToolResult<R>,
}
