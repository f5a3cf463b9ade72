//! The server half of MCP with results for audiences: a tool declares what it can give to whom, its handler computes once, and only
//! what was asked for is projected. One handler serves every revision, over standard input and output and over HTTP.
//!
//! [`ToolBuilder`] declares a tool; a declaration that breaks rule S01 cannot be built (K01). [`Server`] is what it offers, [`stdio`]
//! and [`http`] carry it. Nothing is mirrored into an output that was not asked for (K02), earlier revisions get the projections that
//! the proposal describes from the same handler (K03), and a projection that nobody asked for does not run (K05).
//!
//! Deliberately absent: hosts; authorization, which a proxy in front does; any branch on a revision's shapes outside the protocol's
//! codec and `negotiation`; the tasks extension and elicitation by URL.

mod ask;
mod batch;
mod change;
mod connection;
mod context;
mod declaration;
pub mod http;
mod interference;
mod negotiation;
mod peer;
mod seal;
mod server;
pub mod stdio;
mod tool;

pub use ask::{Capability, Question};
pub use change::Change;
pub use connection::{Connection, Frame};
pub use context::{Call, Level};
pub use declaration::{Declaration, DeclarationError, Variant};
pub use interference::{Interference, Turn};
pub use server::{Prompts, Resources, Server};
pub use stdio::ServeError;
pub use tool::{AnyTool, Failure, Made, Ran, Running, ToolBuilder};
pub use usher_protocol as protocol;

/// The README's example is compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    /// The README shows the example that can be run.
    #[test]
    fn the_readme_shows_the_example() {
        let (_, example) = include_str!("../examples/weather.rs").split_once("\n\n").unwrap();
        assert!(include_str!("../README.md").contains(example));
    }
}
