//! `cargo xtask test`: installs what the tests need and runs them, layer by layer. A failure does not stop the layers after it.

use std::{process::Command, time::Duration};

use anyhow::bail;

use crate::{
    Options, desktop, packages, peers,
    process::{Limit, answers, cargo, confirm, program, run as run_program, run_and_read, run_within, say},
    summary::{self, Layer},
    ui,
};

/// The version of the driver that is known to work with the web view.
const DRIVER: &str = "2.1.0";

/// Runs the layers and tells the result.
///
/// # Errors
/// When there is no such layer. A failure inside a layer is part of the result.
pub(crate) fn run(options: &mut Options) -> anyhow::Result<bool> {
    let yes = options.yes();
    let layers: &[&str] = match options.value("--only") {
        None if options.has("--with-peers") => &["headless", "ui", "window", "peers", "apps"],
        None => &["headless", "ui", "window"],
        Some("headless") => &["headless"],
        Some("ui") => &["ui"],
        Some("window") => &["window"],
        Some("peers") => &["peers"],
        Some("apps") => &["apps"],
        Some(other) => bail!("there is no layer {other}; there are headless, ui, window, peers and apps"),
    };
    let mut results = Vec::new();
    for layer in layers {
        say(&format!("\n=== {layer} ==="));
        results.push(match *layer {
            "headless" => layer_of("headless", |layer| headless(layer, yes)),
            "ui" => layer_of("UI", |layer| page(layer, yes)),
            "window" => layer_of("window", |layer| window(layer, yes)),
            "peers" => layer_of("peers", |layer| with_peers(layer, yes)),
            _ => layer_of("apps", |layer| apps(layer, yes)),
        });
    }
    let (text, passed) = summary::report(results);
    say(&format!("\n{text}"));
    Ok(passed)
}

/// Installs what drives the window.
///
/// # Errors
/// When the answer is no, or the installation fails.
pub(crate) fn ensure_window_tools(yes: bool) -> anyhow::Result<()> {
    packages::ensure(&[packages::WINDOW_TESTS], yes)?;
    if answers("tauri-driver", &["--help"]).is_some() {
        return Ok(());
    }
    say("tauri-driver is missing: it lets tests drive the application.");
    confirm("Build and install it with cargo?", yes)?;
    run_program(cargo().args(["install", "tauri-driver", "--locked", "--version", DRIVER]))
}

/// A layer that cannot even begin has failed, and the others go on.
fn layer_of(name: &'static str, tests: impl FnOnce(&mut Layer) -> anyhow::Result<()>) -> Layer {
    let mut layer = Layer::new(name);
    if let Err(error) = tests(&mut layer) {
        say(&format!("{error:#}"));
        layer.fail(&format!("{error:#}"));
    }
    layer
}

/// A limit for the checks and tests of a layer, in minutes. It is ample, since a first run compiles everything; installing is not
/// counted, because it may wait for an answer.
fn limit(layer: &'static str, minutes: u64) -> Limit {
    Limit::from_now(layer, Duration::from_secs(60 * minutes))
}

fn headless(layer: &mut Layer, yes: bool) -> anyhow::Result<()> {
    packages::ensure(&[packages::BUILD], yes)?;
    let limit = limit("headless", 60);
    layer.check("cargo fmt", run_within(cargo().args(["fmt", "--all", "--check"]), limit));
    let mut clippy = cargo();
    clippy.args(["clippy", "--workspace", "--all-targets", "--quiet", "--", "--deny", "warnings"]);
    layer.check("cargo clippy", run_within(&mut clippy, limit));
    let mut tests = cargo();
    tests.args([
        "test",
        "--workspace",
        "--no-fail-fast",
        "--",
        "--skip",
        "window::",
        "--skip",
        "peers::",
        "--skip",
        "apps::",
    ]);
    cargo_tests(layer, limit, &mut tests)?;
    // The tests wrote the TypeScript of the window's contract anew: what is committed must be that.
    let mut drift = program("git");
    drift.args(["diff", "--exit-code", "--stat", "--", "ui/src/bindings"]);
    layer.check("bindings are current", run_within(&mut drift, limit));
    Ok(())
}

fn page(layer: &mut Layer, yes: bool) -> anyhow::Result<()> {
    ui::ensure_modules(yes)?;
    let limit = limit("ui", 20);
    layer.check("npm run check", run_within(ui::npm().args(["run", "check"]), limit));
    let mut tests = ui::npm();
    tests.args(["test"]).env("NO_COLOR", "1").env_remove("FORCE_COLOR");
    run_and_read(&mut tests, limit, |succeeded, output| layer.count_vitest(succeeded, output))
}

fn window(layer: &mut Layer, yes: bool) -> anyhow::Result<()> {
    ensure_window_tools(yes)?;
    let test_build = desktop::build_for_tests(yes)?;
    let binary = desktop::build(yes)?;
    let limit = limit("window", 60);
    // The code that knows the window is compiled only with it, so its lints and unit tests run here. The test build has all of the
    // product and one file more.
    let mut clippy = desktop::for_tests("clippy");
    clippy.args(["--lib", "--quiet", "--", "--deny", "warnings"]);
    layer.check("cargo clippy (desktop)", run_within(&mut clippy, limit));
    let mut tests = cargo();
    tests.args(["test", "--package", "usher", "--lib", "--features", "desktop", "--target-dir"]);
    cargo_tests(layer, limit, tests.arg(desktop::folder()).arg("desktop::"))?;
    let mut driven = asked_for("window::");
    driven.env("USHER_DESKTOP_BIN", binary).env("USHER_TEST_BUILD", test_build);
    cargo_tests(layer, limit, &mut driven)
}

fn with_peers(layer: &mut Layer, yes: bool) -> anyhow::Result<()> {
    let folder = peers::ensure(yes)?;
    cargo_tests(layer, limit("peers", 60), asked_for("peers::").env("USHER_PEERS_DIR", folder))
}

/// The window, with servers that are cut off from every network.
fn apps(layer: &mut Layer, yes: bool) -> anyhow::Result<()> {
    anyhow::ensure!(
        answers("unshare", &["--net", "--map-root-user", "--", "true"]).is_some(),
        "the App servers run without a network, for which Linux and unshare are needed"
    );
    ensure_window_tools(yes)?;
    let binary = desktop::build(yes)?;
    let folder = peers::ensure_apps(yes)?;
    let mut tests = asked_for("apps::");
    tests.env("USHER_DESKTOP_BIN", binary).env("USHER_PEERS_DIR", folder);
    cargo_tests(layer, limit("apps", 30), &mut tests)
}

/// The integration tests that run only when asked for, one at a time because each takes a window or a model. They are built as the
/// headless layer builds them: a choice of packages has features of its own, and everything would be compiled a second time.
pub(crate) fn asked_for(filter: &str) -> Command {
    let mut command = cargo();
    command.args(["test", "--workspace", "--test", "usher", filter]);
    command.args(["--", "--include-ignored", "--test-threads=1"]);
    command
}

fn cargo_tests(layer: &mut Layer, limit: Limit, command: &mut Command) -> anyhow::Result<()> {
    let command = command.env("CARGO_TERM_COLOR", "never");
    run_and_read(command, limit, |succeeded, output| layer.count_cargo(succeeded, output))
}
