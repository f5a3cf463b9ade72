//! What Views wish for beyond their own pages, and what was answered.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// One thing that a View wishes for.
#[derive(Debug, Clone, Serialize, Deserialize, TS)]
#[ts(export)]
pub struct WishView {
    pub kind: WishKindName,
    /// The whole origin, or the name of the feature.
    pub what: String,
}

/// What a domain is wanted for; or that it is a feature of this computer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum WishKindName {
    Connect,
    Resource,
    Frame,
    BaseUri,
    Permission,
}

/// How a wish of an open View stands.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct WishStateView {
    pub wish: WishView,
    pub state: WishStateName,
}

/// Whether the View has it. What was allowed since it was opened is there when it starts again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "snake_case")]
#[ts(export)]
pub enum WishStateName {
    Granted,
    Allowed,
    Open,
    Refused,
}

/// A domain that a View declares and that is never granted.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct RejectedView {
    /// The list that it stands in, such as `connectDomains`.
    pub list: String,
    /// It, as the server wrote it.
    pub entry: String,
    /// Why, for people.
    pub why: String,
}

/// What was answered for the Views of a server.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct ViewAnswers {
    pub allowed: Vec<WishView>,
    pub refused: Vec<WishView>,
}

/// Requests of the web view to one address that did not pass.
#[derive(Debug, Clone, Serialize, TS)]
#[ts(export)]
pub struct RefusedTarget {
    pub host: String,
    pub port: u16,
    /// Why the last of them did not pass, for people.
    pub why: String,
    pub times: u32,
}
