//! The wire of MCP at every revision that Usher speaks, and the revision-free types that everyone else uses.
//!
//! [`model`] holds the types that the engine and the host work with; [`codec`] turns them into and out of the wire shapes of one
//! [`Revision`], and is the only place that branches on a revision's shapes. [`Rule`] names the requirements that diagnostics cite.
//!
//! Deliberately absent: any decision (what to ask for, who receives what) and any input or output. Those are the engine's and the
//! host's.

mod bounded;
pub mod codec;
pub mod common;
pub mod jsonrpc;
pub mod model;
mod raw;
mod revision;
mod rule;
pub mod scan;
mod v2025;
mod v2026_07;
mod v2026_12;

pub use raw::RawJson;
pub use revision::Revision;
pub use rule::Rule;

/// The identifier of the MCP Apps extension, which is also its audience (SEP-3279, "Give MCP Apps a dedicated audience").
pub const UI_EXTENSION: &str = "io.modelcontextprotocol/ui";

/// The MIME type of an App's HTML resource (MCP Apps 2026-01-26).
pub const UI_MIME: &str = "text/html;profile=mcp-app";
