//! The shapes of 2025-03-26, 2025-06-18 and 2025-11-25.

use serde::{Deserialize, Serialize};

use crate::{RawJson, common::ContentBlock};

/// `Tool`, the fields whose shape depends on the revision.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolContract {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) output_schema: Option<RawJson>,
}

/// `CallToolResult`.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallToolResult {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<Vec<ContentBlock>>,
    // `Some(null)` is a value, so the option is read by presence.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub(crate) structured_content: Option<RawJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) is_error: Option<bool>,
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub(crate) meta: Option<RawJson>,
}

/// Reads a field that may be `null`: present is `Some`, whatever the value.
pub(crate) fn present<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<RawJson>, D::Error> {
    RawJson::deserialize(deserializer).map(Some)
}
