//! The key with which Tauri knows the messages of its page, written to a file: in a test build alone (feature `host-test`).
//!
//! A test hands it to a hostile View, as if it had leaked, and so looks at the layers behind it. Deliberately absent: anything that
//! makes a door wider; whoever has the key meets the same isolation frame, access list and commands as in the product.

use std::env;

use anyhow::Context as _;
use tauri::App;

/// Names the file. Without it nothing is written.
const FILE: &str = "USHER_TEST_KEY_FILE";

/// Writes the key down, when a test asks for it.
///
/// # Errors
/// When the file cannot be written.
pub(super) fn write_down(app: &App) -> anyhow::Result<()> {
    let Some(file) = env::var_os(FILE) else { return Ok(()) };
    std::fs::write(&file, app.invoke_key()).with_context(|| format!("{FILE}: {}", file.display()))
}
