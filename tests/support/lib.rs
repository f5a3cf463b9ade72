//! Test support.

pub mod window;
