//! `cargo xtask bindings`: the TypeScript types in `ui/src/bindings`, written anew from the Rust code.

use crate::process::{cargo, run as run_program};

/// Runs the tests that write them.
///
/// # Errors
/// When those tests fail for another reason.
pub(crate) fn run() -> anyhow::Result<()> {
    let mut command = cargo();
    run_program(command.args(["test", "--package", "usher", "--lib", "api::"]).env("UPDATE_EXPECT", "1"))
}
