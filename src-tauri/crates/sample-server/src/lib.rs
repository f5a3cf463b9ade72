//! The sample server: a small MCP server with real data, one result for each audience, and switches to misbehave.
//!
//! [`serve`] speaks line-based JSON-RPC over any pair of streams; [`Server`] and its [`Connection`] know no stream at all, so that
//! another transport can carry the same messages. `tool` is the layer that an author of tools sees: a tool is declared with its
//! variants, its handler computes once, and only the projections that were asked for run.
//!
//! Deliberately absent: any knowledge of the host, and any branch on a revision outside the protocol's codec and `negotiation`.
//! Nothing here is a secret or a real person: every record was made up for this server.

mod connection;
mod data;
mod declaration;
mod misbehave;
mod negotiation;
mod options;
mod resources;
mod server;
mod stdio;
mod tool;
mod tools;

pub use connection::{Connection, Frame};
pub use declaration::DeclarationError;
pub use options::{DeclarationDefects, EraQuirks, Options, OutputDefects, WireDefects};
pub use server::Server;
pub use stdio::{ServeError, serve};
