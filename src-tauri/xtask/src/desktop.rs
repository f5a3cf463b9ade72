//! Builds the application with its window.

use std::path::PathBuf;

use crate::{
    packages,
    process::{cargo, run},
    target, ui,
};

/// The target folder of builds with the window. It is apart, so that a headless build does not undo it and the other way round.
pub(crate) fn folder() -> PathBuf {
    target().join("desktop")
}

/// Builds the page and the application, and gives the path of the program.
///
/// # Errors
/// When something that is needed is missing, or a build fails.
pub(crate) fn build(yes: bool) -> anyhow::Result<PathBuf> {
    packages::ensure(&[packages::BUILD, packages::WINDOW], yes)?;
    ui::ensure_modules(yes)?;
    ui::build()?;
    let folder = folder();
    run(cargo().args(["build", "--package", "usher", "--features", "desktop", "--target-dir"]).arg(&folder))?;
    Ok(folder.join("debug").join(format!("usher{}", std::env::consts::EXE_SUFFIX)))
}
