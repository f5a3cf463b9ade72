//! The shapes that SEP-3279 gives 2026-12-01.

use serde::{Deserialize, Serialize};

use crate::{
    RawJson,
    bounded::Bounded,
    model::{Audience, Format, Selector},
    v2025,
};

/// The most variants of a tool that are read; each audience has at most two.
pub(crate) const MOST_VARIANTS: usize = 1_000;

/// The most outputs of a result that are read.
pub(crate) const MOST_OUTPUTS: usize = 1_000;

/// `outputVariants` of a `Tool`.
pub(crate) type Variants = Bounded<RawJson, MOST_VARIANTS>;

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
    pub(crate) requested_outputs: Option<Bounded<Selector, MOST_OUTPUTS>>,
}

/// `ToolResultOutput`, both members of the union in one: raw values cannot be read through a tag.
///
/// `R` is raw JSON: borrowed where a result is read, and owned where one is written.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "R: Deserialize<'de>"))]
pub(crate) struct ToolResultOutput<R> {
    pub(crate) audience: Audience,
    pub(crate) format: Format,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<v2025::Blocks>,
    #[serde(
        default = "v2025::none",
        deserialize_with = "v2025::present",
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) structured_content: Option<R>,
}

/// `CallToolResult`.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CallToolResult<R> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) result_type: Option<String>,
    #[serde(default = "v2025::none", skip_serializing_if = "Option::is_none")]
    pub(crate) outputs: Option<Bounded<R, MOST_OUTPUTS>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) is_error: Option<bool>,
    #[serde(rename = "_meta", default = "v2025::none", skip_serializing_if = "Option::is_none")]
    pub(crate) meta: Option<R>,
}
