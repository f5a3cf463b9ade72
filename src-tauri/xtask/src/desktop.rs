//! Builds the application with its window: the product, and beside it the one that can be driven as a host under test.

use std::{fs, path::PathBuf, process::Command};

use anyhow::Context as _;

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
    prepare(yes)?;
    ui::build()?;
    run(&mut in_folder("build", "desktop"))?;
    Ok(folder().join("debug").join(program()))
}

/// Builds the test build and gives the path of its program, which is kept apart from the product's. The page is built anew, and of
/// the program only what knows the window.
///
/// Build the product after it: the two share a folder, and the last one built lies where the product is looked for.
///
/// # Errors
/// As [`build`].
pub(crate) fn build_for_tests(yes: bool) -> anyhow::Result<PathBuf> {
    prepare(yes)?;
    ui::build_for_tests(&test_page())?;
    run(&mut for_tests("build"))?;
    let kept = test_folder().join(program());
    let built = folder().join("debug").join(program());
    fs::copy(&built, &kept).with_context(|| format!("{} to {}", built.display(), kept.display()))?;
    Ok(kept)
}

/// Cargo on the program of the test build.
pub(crate) fn for_tests(what: &str) -> Command {
    let mut command = in_folder(what, "desktop,host-test");
    // What Tauri's configuration says otherwise: which page is put into the program.
    let page = test_page().display().to_string().replace('\\', "/");
    command.env("TAURI_CONFIG", format!(r#"{{"build":{{"frontendDist":"{page}"}}}}"#));
    command
}

fn prepare(yes: bool) -> anyhow::Result<()> {
    packages::ensure(&[packages::BUILD, packages::WINDOW], yes)?;
    ui::ensure_modules(yes)
}

fn in_folder(what: &str, features: &str) -> Command {
    let mut command = cargo();
    command.args([what, "--package", "usher", "--features", features, "--target-dir"]).arg(folder());
    command
}

fn test_folder() -> PathBuf {
    folder().join("test")
}

fn test_page() -> PathBuf {
    test_folder().join("page")
}

fn program() -> String {
    format!("usher{}", std::env::consts::EXE_SUFFIX)
}
