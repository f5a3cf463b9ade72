//! Usher: a desktop chat host for MCP that routes every tool result to its audience.

pub mod api;
#[cfg(feature = "desktop")]
pub mod desktop;
