//! `cargo xtask fuzz`: hostile input for the decoder, the codec, the validator and the views of values, for as long as wanted.
//!
//! Deliberately absent: what the input is and who reads it, which is `tests/fuzz`.

use anyhow::Context as _;

use crate::{
    Options,
    process::{cargo, program, run},
    target,
};

/// How long it goes on unless told otherwise, in minutes.
const MINUTES: u64 = 20;

const TARGETS: [&str; 4] = ["decoder", "codec", "validator", "payload"];

/// Builds the fuzzer as fast as the product, with the checks of a development build, and runs it. `false` if a case failed.
pub(crate) fn fuzz(options: &Options) -> anyhow::Result<bool> {
    let number = |name: &str, default: u64| match options.value(name) {
        Some(text) => text.parse().with_context(|| format!("{name} needs a number, not {text}")),
        None => Ok(default),
    };
    let (minutes, seed) = (number("--minutes", MINUTES)?, number("--seed", 1)?);
    let targets = match options.value("--only") {
        Some(only) => vec![only],
        None => TARGETS.to_vec(),
    };
    run(cargo().args(["build", "--quiet", "--profile", "fuzz", "--package", "usher-fuzz"]))?;
    let fuzzer = target().join("fuzz").join(format!("usher-fuzz{}", std::env::consts::EXE_SUFFIX));
    let mut command = program(fuzzer);
    if let Some(file) = options.value("--replay") {
        // The name of a kept case begins with its target.
        let name = std::path::Path::new(file).file_name().and_then(|it| it.to_str()).unwrap_or_default();
        let of = options.value("--only").or_else(|| name.split('-').next()).unwrap_or_default();
        return Ok(command.args(["replay", of, file]).status()?.success());
    }
    let failures = target().join("fuzz-failures");
    command.args(["run", &(minutes * 60).to_string(), &seed.to_string()]).arg(failures).args(targets);
    Ok(command.status()?.success())
}
