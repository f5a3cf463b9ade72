//! What the tests stand on: a scripted model that checks every request it is sent, canaries, a host on a stage, the source tree read as
//! text, and the real window.
//!
//! Deliberately absent: anything that decides about audiences. A test that shared the product's own decisions could not find them wrong.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "this crate is used by tests only, and a panic is how a test fails"
)]

pub mod audience_client;
pub mod authorized;
pub mod canaries;
pub mod canary_server;
pub mod disk;
pub mod host_interface;
pub mod http;
pub mod invariants;
pub mod lookups;
pub mod peers;
pub mod scripted_model;
pub mod scripted_server;
pub mod stage;
pub mod tiny_client;
pub mod tree;
pub mod window;
