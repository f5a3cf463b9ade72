//! Tests that need no window, no network and nothing that is not built here.

mod rules;
mod tidy;
