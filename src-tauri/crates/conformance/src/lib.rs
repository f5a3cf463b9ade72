//! Whether a server or a client conforms to audience routing (SEP-3279), measured from outside: a scenario for each case of the
//! proposal's own test plan, P01 to P15, in the style of the official conformance suite.
//!
//! [`server`] calls a server's own tools and lets the engine judge what comes. [`client`] starts the client under test once for each
//! situation, against a mock server, and judges what it sent and what it says that each consumer received. What could not be measured
//! is skipped with the reason, and is no pass. `docs/conformance.md` is the contract with those who are measured.
//!
//! Deliberately absent: the host's conversation, and every judgement that the engine makes already.

mod check;
pub mod client;
mod judge;
mod mock;
mod plan;
mod scenario;
pub mod server;

pub use check::{Check, Outcome, ScenarioResult, Side, SpecReference, Status, summary};
pub use scenario::Scenario;
