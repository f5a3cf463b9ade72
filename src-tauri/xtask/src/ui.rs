//! The page of the window: its node modules and its build.

use std::{fs, path::Path, process::Command, time::SystemTime};

use anyhow::{Context as _, bail};

use crate::{
    process::{answers, confirm, program, run, say},
    root,
};

/// The oldest Node.js that the build tool takes.
const NODE: (u32, u32) = (20, 19);

/// npm in the folder of the page.
pub(crate) fn npm() -> Command {
    let mut command = program(if cfg!(windows) { "npm.cmd" } else { "npm" });
    command.current_dir(root().join("ui"));
    command
}

/// Installs the node modules that the lock file names, when it changed since the last time.
///
/// # Errors
/// When Node.js is missing or too old, the answer is no, or the installation fails.
pub(crate) fn ensure_modules(yes: bool) -> anyhow::Result<()> {
    let version =
        answers("node", &["--version"]).context("Node.js is missing; install version 20.19 or later")?;
    let mut numbers = version.trim_start_matches('v').split('.').map_while(|part| part.parse::<u32>().ok());
    if (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) < NODE {
        bail!("Node.js {version} is too old; install version {}.{} or later", NODE.0, NODE.1);
    }
    let lock = fs::read(root().join("ui/package-lock.json")).context("ui/package-lock.json")?;
    let mark = root().join("ui/node_modules/.usher-lock");
    if fs::read(&mark).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    say("The libraries of the window are missing or changed. `npm ci` puts them into ui/node_modules.");
    confirm("Install them?", yes)?;
    run(npm().args(["ci", "--no-audit", "--no-fund"]))?;
    fs::write(mark, lock)?;
    Ok(())
}

/// Builds the page when one of its sources is newer than the last build.
///
/// # Errors
/// When the build fails.
pub(crate) fn build() -> anyhow::Result<()> {
    build_into(&root().join("ui/dist"), &[])
}

/// Builds the page that can be driven as a host under test (`ui/src/host-test.ts`) into a folder of its own.
///
/// # Errors
/// When the build fails.
pub(crate) fn build_for_tests(folder: &Path) -> anyhow::Result<()> {
    build_into(folder, &["--mode", "host-test"])
}

fn build_into(folder: &Path, options: &[&str]) -> anyhow::Result<()> {
    let ui = root().join("ui");
    let built = fs::metadata(folder.join("index.html")).and_then(|data| data.modified()).ok();
    let sources = [
        "src",
        "public",
        "index.html",
        "package-lock.json",
        "svelte.config.js",
        "tsconfig.json",
        "vite.config.ts",
    ];
    let mut newest = SystemTime::UNIX_EPOCH;
    for source in sources {
        newest = newest.max(newest_change(&ui.join(source))?);
    }
    if built.is_some_and(|built| built > newest) {
        return Ok(());
    }
    run(npm().args(["run", "build", "--", "--outDir"]).arg(folder).args(options))
}

/// When the file, or the youngest file below the folder, was changed. A path that is not there never was.
fn newest_change(path: &Path) -> anyhow::Result<SystemTime> {
    let Ok(data) = fs::metadata(path) else { return Ok(SystemTime::UNIX_EPOCH) };
    let mut newest = data.modified()?;
    if data.is_dir() {
        for entry in fs::read_dir(path)? {
            newest = newest.max(newest_change(&entry?.path())?);
        }
    }
    Ok(newest)
}
