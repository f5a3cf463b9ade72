//! `cargo xtask screenshots`: the pictures in `assets/screenshots`, taken from the real window.

use crate::{Options, desktop, process::run as run_program, root, test};

/// Takes them.
///
/// # Errors
/// When something that is needed is missing, a build fails or a picture cannot be taken.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    test::ensure_window_tools(options.yes())?;
    let binary = desktop::build(options.yes())?;
    let mut command = test::asked_for("window::screenshots::");
    command.env("USHER_DESKTOP_BIN", binary).env("USHER_SCREENSHOTS", root().join("assets/screenshots"));
    run_program(&mut command)
}
