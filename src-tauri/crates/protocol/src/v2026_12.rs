//! The shapes that SEP-3279 gives 2026-12-01.

use serde::{Deserialize, Serialize};

use crate::{
    RawJson,
    common::ContentBlock,
    model::{Audience, Format, Selector},
    v2025,
};

/// `Tool`, the fields whose shape depends on the revision.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolContract {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) output_variants: Option<Vec<RawJson>>,
}

/// `ToolResultVariant`.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct ToolResultVariant {
    pub(crate) audience: Audience,
    pub(crate) format: Format,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) schema: Option<RawJson>,
}

/// `CallToolRequestParams`.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallToolRequestParams {
    pub(crate) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) arguments: Option<RawJson>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) requested_outputs: Option<Vec<Selector>>,
}

/// `ToolResultOutput`, both members of the union in one: raw values cannot be read through a tag.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolResultOutput {
    pub(crate) audience: Audience,
    pub(crate) format: Format,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<Vec<ContentBlock>>,
    #[serde(default, deserialize_with = "v2025::present", skip_serializing_if = "Option::is_none")]
    pub(crate) structured_content: Option<RawJson>,
}

/// `CallToolResult`.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallToolResult {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) result_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) outputs: Option<Vec<RawJson>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) is_error: Option<bool>,
    #[serde(rename = "_meta", default, skip_serializing_if = "Option::is_none")]
    pub(crate) meta: Option<RawJson>,
}
