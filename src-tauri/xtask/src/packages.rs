//! The Debian packages that building and testing need, each with its reason.
//!
//! Deliberately absent: other systems. There the list is shown, and what it stands for is installed by hand.

use crate::process::{answers, confirm, program, run, say};

/// A package and why it is needed.
pub(crate) type Package = (&'static str, &'static str);

/// For everything that is compiled.
pub(crate) const BUILD: &[Package] = &[
    ("build-essential", "the C compiler: SQLite and the JavaScript engine are built from source"),
    ("pkg-config", "finds the libraries below"),
];

/// For the window.
pub(crate) const WINDOW: &[Package] = &[
    ("libwebkit2gtk-4.1-dev", "the web view that draws the window"),
    ("librsvg2-dev", "draws the icons"),
    ("gstreamer1.0-plugins-base", "plays sound in the window"),
    ("gstreamer1.0-plugins-good", "plays sound in the window"),
];

/// For tests in the window.
pub(crate) const WINDOW_TESTS: &[Package] =
    &[("webkit2gtk-driver", "lets tests drive the web view"), ("xvfb", "a display without a screen")];

/// For the language model that tests use.
pub(crate) const PEERS: &[Package] = &[("python3-venv", "installs llama.cpp in a folder of its own")];

/// Installs what is missing. Says what and why, and asks first.
///
/// # Errors
/// When the answer is no, or the installation fails.
pub(crate) fn ensure(wanted: &[&[Package]], yes: bool) -> anyhow::Result<()> {
    if !cfg!(target_os = "linux") {
        return Ok(());
    }
    let wanted = wanted.iter().copied().flatten();
    if answers("dpkg-query", &["--version"]).is_none() {
        say("This is not Debian or Ubuntu. If the build fails, install what these packages stand for:");
        wanted.for_each(|(name, reason)| say(&format!("  {name:28} {reason}")));
        return Ok(());
    }
    let missing: Vec<&Package> = wanted.filter(|(name, _)| !is_installed(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    say("These Debian packages are missing:");
    for (name, reason) in &missing {
        say(&format!("  {name:28} {reason}"));
    }
    let names = missing.iter().map(|(name, _)| *name);
    let root = answers("id", &["-u"]).as_deref() == Some("0");
    confirm(&format!("Install them{}?", if root { "" } else { " with sudo" }), yes)?;
    let apt = |args: &[&str]| {
        let mut command = if root { program("apt-get") } else { program("sudo") };
        if !root {
            // sudo passes no environment on.
            command.args(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]);
        }
        command.args(args).env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    run(&mut apt(&["update"]))?;
    run(apt(&["install", "--yes", "--no-install-recommends"]).args(names))
}

fn is_installed(name: &str) -> bool {
    answers("dpkg-query", &["--show", "--showformat=${db:Status-Status}", name]).as_deref()
        == Some("installed")
}
