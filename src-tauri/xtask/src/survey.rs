//! `cargo xtask survey`: the contract checker on servers that others wrote. Everything goes below `target/survey`.
//!
//! Deliberately absent: what is pinned and how each server is started; that is data, in `tests/survey`.

use std::fs;

use crate::{
    Options,
    process::{answers, confirm, program, run as run_program, say},
    root, target,
    test::asked_for,
};

/// Installs what is missing, checks every server, and writes the document.
///
/// # Errors
/// When the answer is no, an installation fails, or this system cannot run a program without a network.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let cut_off = answers("unshare", &["--net", "--map-root-user", "--", "true"]);
    anyhow::ensure!(
        cut_off.is_some(),
        "the survey runs servers without a network, for which it needs Linux and unshare"
    );
    let folder = target().join("survey");
    let pins = fs::read_to_string(root().join("tests/survey/package.json"))?;
    let mark = folder.join("installed");
    if !fs::read_to_string(&mark).is_ok_and(|installed| installed == pins) {
        say("The servers of the survey are missing (about 800 MB in target/survey).");
        confirm("Install them from npm?", options.yes())?;
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("package.json"), &pins)?;
        let mut npm = program(if cfg!(windows) { "npm.cmd" } else { "npm" });
        npm.args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]).arg(&folder);
        run_program(&mut npm)?;
        fs::write(mark, pins)?;
    }
    run_program(asked_for("survey::").env("USHER_SURVEY_DIR", folder))?;
    say("docs/contract-survey.md is written anew.");
    Ok(())
}
