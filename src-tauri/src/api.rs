//! What the window and the command line ask of Usher, without a trace of either.
//!
//! Deliberately absent: Tauri. The desktop and the command line call this; nothing here knows them.

mod access;
mod answers;
mod asked;
pub(crate) mod bench;
mod commands;
pub(crate) mod contract;
mod custom;
pub(crate) mod junit;
mod own_tools;
pub mod serve;
mod server_form;
pub mod types;
mod usher;
mod view;
mod window;

pub use commands::{Command, Commands};
pub use usher::{Usher, UsherOptions};
pub use window::{BatchSink, PageLoss, WindowHost};

use serde::Serialize;

/// An error that the window shows: what happened, what is safe and what to do.
#[derive(Debug, Clone, Serialize, thiserror::Error, ts_rs::TS)]
#[error("{what} {safe} {todo}")]
#[ts(export)]
pub struct ApiError {
    /// What happened.
    pub what: String,
    /// What is safe.
    pub safe: String,
    /// What to do.
    pub todo: String,
}

pub(crate) fn to_json<T: Serialize>(value: &T) -> Result<String, ApiError> {
    serde_json::to_string(value).map_err(|error| ApiError {
        what: format!("The answer could not be written: {error}."),
        safe: "Nothing was changed by this.".to_owned(),
        todo: "Please report it.".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use usher_protocol::{Revision, Rule};

    fn check_binding(name: &str, text: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("ui/src/bindings").join(name);
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            fs::write(&path, text).unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap_or_default(), text, "run with UPDATE_EXPECT=1 to update");
    }

    /// The window says of a rule what the ledger of requirements says.
    #[test]
    fn rules_in_typescript_are_current() {
        let mut text = String::from(
            "// Generated from src-tauri/crates/protocol/src/rule.rs. Do not edit.\n\n\
             /** What each rule of the audience-routing proposal requires, by its number. */\n\
             export const RULES: Readonly<Record<string, string>> = {\n",
        );
        for rule in Rule::ALL {
            let words = serde_json::to_string(rule.text()).unwrap();
            text.push_str(&format!("  {}: {words},\n", rule.id()));
        }
        text.push_str("};\n");
        check_binding("Rules.ts", &text);
    }

    #[test]
    fn revisions_in_typescript_are_current() {
        let names: Vec<String> = Revision::ALL.iter().rev().map(|it| format!("\"{it}\"")).collect();
        let text = format!(
            "// Generated from src-tauri/crates/protocol/src/revision.rs. Do not edit.\n\n\
             /** The revisions of the protocol that Usher speaks, newest first. */\n\
             export const REVISIONS: readonly string[] = [{}];\n",
            names.join(", "),
        );
        check_binding("Revisions.ts", &text);
    }

    /// The committed TypeScript is what the Rust types say.
    #[test]
    fn commands_in_typescript_are_current() {
        let body = super::commands::typescript();
        let names: std::collections::BTreeSet<&str> = body
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| word.starts_with(char::is_uppercase) && !["Array", "Commands"].contains(word))
            .collect();
        let mut text = String::from("// Generated from src-tauri/src/api/commands.rs. Do not edit.\n");
        for name in names {
            text.push_str(&format!("import type {{ {name} }} from \"./{name}\";\n"));
        }
        text.push('\n');
        text.push_str(&body);
        check_binding("Commands.ts", &text);
    }
}
