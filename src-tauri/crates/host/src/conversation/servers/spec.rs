//! How a server is reached, as it is stored: everything but the values of secrets.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use usher_protocol::Revision;

use crate::configuration::{self, Launch};

/// How a server is reached, as it is stored. Texts may hold placeholders, which are filled in each time it starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Row")]
pub struct StoredSpec {
    /// The program or the address.
    #[serde(flatten)]
    pub launch: StoredLaunch,
    /// Whether it is the sample server of this very program, whose path may change between versions.
    pub built_in: bool,
    /// The one revision that is tried; absent for automatic negotiation.
    pub pinned: Option<Revision>,
    /// What `${workspaceFolder}` stands for: the folder of the file that it was imported from.
    pub folder: Option<PathBuf>,
    /// The inputs that its list says are no secrets. What is said for them may be shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plain_inputs: Vec<String>,
}

/// The program or the address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StoredLaunch {
    /// A program that is started.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables that are set for it.
        env: Vec<StoredPair>,
        /// Where it runs.
        cwd: Option<String>,
    },
    /// An address.
    Http {
        /// The endpoint.
        url: String,
        /// Sent with every request.
        headers: Vec<StoredPair>,
    },
}

/// A variable or a header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredPair {
    /// Its name.
    pub name: String,
    /// Its value. Absent if it is kept among the secrets; given together with `secret`, it is to be put there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Whether the value is a secret.
    #[serde(default)]
    pub secret: bool,
}

impl StoredPair {
    /// A value that anybody may see.
    pub fn plain(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: Some(value.into()), secret: false }
    }

    /// A value that is kept among the secrets.
    pub fn secret(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: Some(value.into()), secret: true }
    }
}

impl StoredSpec {
    /// A program that is started.
    pub fn stdio(command: impl Into<String>, args: Vec<String>) -> Self {
        Self::of(StoredLaunch::Stdio { command: command.into(), args, env: Vec::new(), cwd: None })
    }

    /// An address.
    pub fn http(url: impl Into<String>) -> Self {
        Self::of(StoredLaunch::Http { url: url.into(), headers: Vec::new() })
    }

    /// The sample server of this program.
    pub fn built_in(args: Vec<String>) -> Self {
        Self { built_in: true, ..Self::stdio("usher", args) }
    }

    /// A program or an address, negotiated automatically.
    pub fn of(launch: StoredLaunch) -> Self {
        Self { launch, built_in: false, pinned: None, folder: None, plain_inputs: Vec::new() }
    }

    /// What runs or is asked, on one line for people, without the values of secrets and of variables.
    pub fn line(&self) -> String {
        match &self.launch {
            StoredLaunch::Stdio { command, args, .. } => {
                let args = configuration::arguments_without_secrets(args, |_| "[secret]".to_owned());
                let command = if self.built_in { "usher" } else { command };
                let words: Vec<String> =
                    std::iter::once(command).chain(args.iter().map(String::as_str)).map(quoted).collect();
                words.join(" ")
            }
            StoredLaunch::Http { url, .. } => {
                configuration::address_without_secrets(url, |_| "[secret]".to_owned())
            }
        }
    }
}

impl StoredLaunch {
    /// The variables or the headers.
    pub fn pairs(&self) -> &[StoredPair] {
        match self {
            Self::Stdio { env, .. } => env,
            Self::Http { headers, .. } => headers,
        }
    }

    /// The variables or the headers.
    pub(super) fn pairs_mut(&mut self) -> &mut Vec<StoredPair> {
        match self {
            Self::Stdio { env, .. } => env,
            Self::Http { headers, .. } => headers,
        }
    }

    /// What a pair is called in the place for secrets.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Stdio { .. } => "variable",
            Self::Http { .. } => "header",
        }
    }

    /// With every value, for filling in. A secret comes from the caller, and is left out if there is none.
    pub(super) fn with_values(&self, secret: impl Fn(&StoredPair) -> Option<String>) -> Launch {
        let pairs = |all: &[StoredPair]| {
            let value = |it: &StoredPair| it.value.clone().or_else(|| secret(it));
            all.iter().filter_map(|it| Some((it.name.clone(), value(it)?))).collect()
        };
        match self {
            Self::Stdio { command, args, env, cwd } => Launch::Stdio {
                command: command.clone(),
                args: args.clone(),
                env: pairs(env),
                cwd: cwd.clone(),
            },
            Self::Http { url, headers } => Launch::Http { url: url.clone(), headers: pairs(headers) },
        }
    }
}

/// A word of a command line as a form can read it back.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| !c.is_whitespace() && !matches!(c, '"' | '\'' | '\\');
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A row as any version wrote it. The first ones knew only programs, and had variables as pairs of texts.
#[derive(Deserialize)]
struct Row {
    #[serde(default)]
    kind: Kind,
    #[serde(default)]
    command: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: Vec<RowPair>,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default)]
    url: String,
    #[serde(default)]
    headers: Vec<RowPair>,
    #[serde(default)]
    built_in: bool,
    #[serde(default)]
    pinned: Option<String>,
    #[serde(default)]
    folder: Option<PathBuf>,
    #[serde(default)]
    plain_inputs: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    #[default]
    Stdio,
    Http,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RowPair {
    Old(String, String),
    Now(StoredPair),
}

impl From<Row> for StoredSpec {
    fn from(row: Row) -> Self {
        let pairs = |all: Vec<RowPair>| {
            let pair = |it| match it {
                RowPair::Old(name, value) => StoredPair::plain(name, value),
                RowPair::Now(pair) => pair,
            };
            all.into_iter().map(pair).collect()
        };
        let launch = match row.kind {
            Kind::Stdio => StoredLaunch::Stdio {
                command: row.command,
                args: row.args,
                env: pairs(row.env),
                cwd: row.cwd,
            },
            Kind::Http => StoredLaunch::Http { url: row.url, headers: pairs(row.headers) },
        };
        // A revision of a newer Usher is none here; then what both speak is found as ever.
        let pinned = row.pinned.and_then(|it| it.parse().ok());
        let Row { built_in, folder, plain_inputs, .. } = row;
        Self { launch, built_in, pinned, folder, plain_inputs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_earlier_versions_are_read() {
        let old = r#"{"command":"npx","args":["-y","x"],"env":[["LEVEL","3"]]}"#;
        let read: StoredSpec = serde_json::from_str(old).unwrap();
        let launch = StoredLaunch::Stdio {
            command: "npx".to_owned(),
            args: vec!["-y".to_owned(), "x".to_owned()],
            env: vec![StoredPair::plain("LEVEL", "3")],
            cwd: None,
        };
        assert_eq!(read, StoredSpec::of(launch));
        let sample = r#"{"command":"","args":["sample-server"],"env":[],"built_in":true}"#;
        let read: StoredSpec = serde_json::from_str(sample).unwrap();
        assert!(read.built_in && read.line() == "usher sample-server");
    }

    #[test]
    fn what_is_written_is_read_again() {
        let headers = vec![StoredPair { name: "Authorization".to_owned(), value: None, secret: true }];
        let mut spec = StoredSpec::of(StoredLaunch::Http { url: "https://a.test/mcp".to_owned(), headers });
        spec.pinned = Some(Revision::NEWEST_WITH_HANDSHAKE);
        spec.folder = Some(PathBuf::from("/home/ada/project"));
        spec.plain_inputs = vec!["level".to_owned()];
        let text = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<StoredSpec>(&text).unwrap(), spec);
        let newer = text.replace(spec.pinned.unwrap().as_str(), "2099-01-01");
        assert_eq!(serde_json::from_str::<StoredSpec>(&newer).unwrap().pinned, None);
    }
}
