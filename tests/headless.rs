//! Tests that need no window, no network and nothing that is not built here.

mod begun;
mod bench;
mod chapter;
mod check;
mod cli;
mod code_mode;
mod conformance;
mod disk;
mod duties;
mod foreign;
mod hostile;
mod http;
mod kept;
mod limits;
mod misbehaviour;
mod model_trouble;
mod plan;
mod prompts;
mod reports;
mod rules;
mod scene;
mod schema;
mod servers;
mod servers_cli;
mod tidy;
mod view_pictures;
mod view_tools;
mod views;
mod views_access;
mod views_consent;
mod views_kept;
mod views_told;
mod views_unruly;

/// The one program, under a name that these tests can start.
pub(crate) const CHILD: &str = env!("CARGO_BIN_EXE_usher-child");
