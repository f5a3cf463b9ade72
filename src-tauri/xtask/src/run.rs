//! `cargo xtask run`: from a fresh clone to the open window.

use std::{env, path::Path};

use crate::{
    Options, desktop, packages,
    process::{cargo, program, run as run_program, say},
};

/// Builds and opens the window, or plays the demo in the terminal.
///
/// # Errors
/// When something that is needed is missing, or a build fails.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    if options.has("--terminal") {
        return play_in_terminal(options);
    }
    if !has_display() {
        say("There is no display here (neither DISPLAY nor WAYLAND_DISPLAY is set), so no window can open.");
        say("The same demo conversation follows in the terminal.");
        return play_in_terminal(options);
    }
    let binary = desktop::build(options.yes())?;
    let mut window = program(binary);
    // Without a graphics device the web view's fast path shows an empty window.
    if cfg!(target_os = "linux") && !Path::new("/dev/dri").exists() {
        window.env("WEBKIT_DISABLE_DMABUF_RENDERER", "1");
    }
    run_program(&mut window)
}

fn play_in_terminal(options: &Options) -> anyhow::Result<()> {
    packages::ensure(&[packages::BUILD], options.yes())?;
    run_program(cargo().args(["run", "--quiet", "--package", "usher", "--", "demo"]))
}

fn has_display() -> bool {
    let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    !cfg!(target_os = "linux") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")
}
