//! Builds the application with its window.

use std::path::PathBuf;

use crate::{
    packages,
    process::{cargo, run},
    target, ui,
};

/// Builds the page and the application, in a target folder of its own so that the headless build is not built anew each time.
/// Gives the path of the program.
///
/// # Errors
/// When something that is needed is missing, or a build fails.
pub(crate) fn build(yes: bool) -> anyhow::Result<PathBuf> {
    packages::ensure(&[packages::BUILD, packages::WINDOW], yes)?;
    ui::ensure_modules(yes)?;
    ui::build()?;
    let folder = target().join("desktop");
    run(cargo().args(["build", "--package", "usher", "--features", "desktop", "--target-dir"]).arg(&folder))?;
    Ok(folder.join("debug").join(format!("usher{}", std::env::consts::EXE_SUFFIX)))
}
