//! The one integration test binary. A module tree per layer, chosen by the filter of the test runner.

#[path = "e2e/window.rs"]
mod window;
