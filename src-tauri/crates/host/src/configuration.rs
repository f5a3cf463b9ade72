//! Servers as other programs write them down: Claude Desktop, Cursor, VS Code and `.mcp.json` files.
//!
//! A file becomes a list of what would run, for a person to look at before anything does. Placeholders such as `${env:TOKEN}` stay as
//! they are until a server starts, so that no secret is copied. Deliberately absent: starting anything, and keeping what was chosen.

mod expand;
mod export;
mod known;
mod read;
mod secret;

pub use self::{
    expand::{Missing, Values, expand, inputs_of, variables_of},
    export::export,
    known::{Program, known_files},
    read::{Unreadable, read},
    secret::{
        address_without_secrets, arguments_without_secrets, is_secret_name, looks_secret, placeholder,
        without_secrets,
    },
};

/// A server that a file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configured {
    /// The name that the file gives it.
    pub name: String,
    /// How it is reached. Texts may have placeholders.
    pub launch: Launch,
    /// Whether the file turned it off.
    pub enabled: bool,
    /// What was read otherwise than it is written, or not at all; for people.
    pub remarks: Vec<String>,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Launch {
    /// A program that is started.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables that are set for it.
        env: Vec<(String, String)>,
        /// Where it runs.
        cwd: Option<String>,
    },
    /// An address.
    Http {
        /// The endpoint.
        url: String,
        /// Sent with every request.
        headers: Vec<(String, String)>,
    },
}

/// Something that a file leaves for the person to say (VS Code's `inputs`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// The name in `${input:…}`.
    pub id: String,
    /// What to ask.
    pub description: String,
    /// Whether it is a secret.
    pub password: bool,
    /// What it is if nothing is said.
    pub default: Option<String>,
    /// What may be chosen, if it is a choice.
    pub options: Vec<String>,
}

/// What a file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Configuration {
    /// The servers, in the file's order.
    pub servers: Vec<Configured>,
    /// What must be said before some of them can start.
    pub inputs: Vec<Input>,
    /// Entries that could not be used, and why.
    pub skipped: Vec<(String, String)>,
}
