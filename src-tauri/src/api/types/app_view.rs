//! Views of the Apps extension.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::{RejectedView, WishStateView};

/// A View that belongs to a call.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ViewSlot {
    pub resource_uri: String,
    /// Whether it can be opened now (its HTML and input are there).
    pub can_open: bool,
    /// Why not, for people; or, of a View that can be opened, why it was ended and waits for the user.
    pub why_not: Option<String>,
    /// Whether the call is of an earlier run of the application, so that it opens only when the user asks.
    pub from_history: bool,
    /// Whether its page was recorded. One that was not is read from its server when the View starts.
    pub page_kept: bool,
    /// Why its page was refused when it was last read, for people.
    pub refused: Option<String>,
}

/// What the window needs to start a View.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ViewLaunch {
    pub view_id: String,
    /// The frame's address, an origin of its own.
    pub url: String,
    /// The frame's exact origin, to compare messages with.
    pub origin: String,
    /// The frame's `sandbox` tokens.
    pub sandbox: String,
    /// The frame's `allow` attribute.
    pub allow: String,
    pub prefers_border: bool,
    /// `toolInfo.tool`, projected for the View.
    pub tool_json: String,
    /// `ui/notifications/tool-input` parameters; absent while the model writes them.
    pub input_json: Option<String>,
    /// `ui/notifications/tool-input-partial` parameters, to be told before the input.
    pub pieces_json: Vec<String>,
    /// `ui/notifications/tool-result` parameters; absent while the call runs, and where none come.
    pub result_json: Option<String>,
    /// Why no result comes, as the View is told; absent while one may.
    pub cancelled: Option<String>,
    /// What was granted, as `hostCapabilities.sandbox`.
    pub sandbox_capabilities_json: String,
    /// What the View wishes for beyond its own page, and how each wish stands.
    pub wishes: Vec<WishStateView>,
    /// The domains that it declares and that are never granted.
    pub rejected: Vec<RejectedView>,
    pub server_name: String,
    /// Whether it may ask the model.
    pub can_sample: bool,
    /// Whether its pictures reach the model that is chosen now.
    pub takes_pictures: bool,
}

/// An answer to a request of a View, or of a View to a call of its own tool.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[ts(export)]
pub enum ViewAnswer {
    Result {
        json: String,
    },
    Error {
        code: i32,
        message: String,
        /// The code is that of the View's own server, and not of the host.
        from_server: bool,
    },
}

/// What is taken of the tools that a View offers itself.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct OwnToolsView {
    pub tools: Vec<OwnToolView>,
    /// What is not taken, a sentence each.
    pub left_out: Vec<String>,
}

/// A tool that a View offers itself, in its words.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct OwnToolView {
    pub name: String,
    pub description: Option<String>,
    pub input_schema_json: String,
    /// A hint, not checked.
    pub read_only: bool,
    /// A hint, not checked.
    pub destructive: bool,
}
