//! `cargo xtask survey`: the contract checker on servers that others wrote. Everything goes below `target/survey`.
//!
//! Deliberately absent: what is pinned and how each server is started; that is data, in `tests/survey`.

use crate::{
    Options, peers,
    process::{answers, run as run_program, say},
    target,
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
    let missing = "The servers of the survey are missing (about 800 MB in target/survey).";
    peers::install_pinned(&folder, "tests/survey/package.json", missing, &[], options.yes())?;
    run_program(asked_for("survey::").env("USHER_SURVEY_DIR", folder))?;
    say("docs/contract-survey.md is written anew.");
    Ok(())
}
