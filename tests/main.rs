//! The integration tests, in one binary: a module tree per layer, chosen by the filter of the test runner.
//!
//! `headless` runs the core against a sample server in a process of its own and a scripted model, and checks the sources (`tidy`).
//! `peers` speaks to programs that nobody here wrote; they are installed by `cargo xtask test --with-peers` and selected with
//! `cargo test -p usher-tests -- peers::`. `survey` writes what the contract checker finds of servers from npm. `window` drives the built
//! application, and `apps` drives it with the official App servers: `cargo xtask test --only apps`.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers as in itself")]

#[path = "e2e/apps.rs"]
mod apps;
mod headless;
mod peers;
mod survey;
#[path = "e2e/window.rs"]
mod window;
