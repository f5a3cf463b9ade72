//! The sample server: a small MCP server with real data, one result for each audience, and switches to misbehave.
//!
//! It is written with the server crate as any other server would be: `tools`, `resources` and `prompts` are what it offers, `misbehave` is what
//! its switches spoil on the way out. [`serve`] carries it over a pair of streams or over HTTP, as the options say.
//!
//! Deliberately absent: any knowledge of the host, and any branch on a revision. Nothing here is a secret or a real person: every record
//! was made up for this server.

mod data;
mod fixtures;
mod misbehave;
mod options;
mod prompts;
mod resources;
mod serve;
mod tools;

pub use options::{DeclarationDefects, EraQuirks, Options, OutputDefects, WireDefects};
pub use serve::{ServeError, serve};
