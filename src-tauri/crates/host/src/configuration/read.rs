//! From a file's text to what it says. Every dialect is read the same way, because people copy from one into another.

use std::path::Path;

use jsonc_parser::ParseOptions;
use serde_json::{Map, Value};

use super::{Configuration, Configured, Input, Launch};

/// JSON with comments and trailing commas; what else is tolerated elsewhere is a mistake here.
const DIALECT: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// A file is not a list of servers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It is not JSON, even with comments and trailing commas allowed.
    #[error("it is not JSON: {why}")]
    NotJson {
        /// Where and why.
        why: String,
    },
    /// It is JSON of another kind.
    #[error("it is JSON, but {kind} and no object with \"mcpServers\" or \"servers\"")]
    NotAnObject {
        /// What it is.
        kind: &'static str,
    },
    /// It is JSON, and names no servers.
    #[error("it has no \"mcpServers\" or \"servers\"")]
    NoServers,
}

/// Reads a file. One entry that cannot be used never costs the others.
///
/// # Errors
/// The text is not JSON, or names no servers at all.
pub fn read(text: &str) -> Result<Configuration, Unreadable> {
    let text = text.trim_start_matches('\u{feff}');
    let value: Value = jsonc_parser::parse_to_serde_value(text, &DIALECT)
        .map_err(|error| Unreadable::NotJson { why: error.to_string() })?;
    let kind = match &value {
        Value::Object(_) => "an object",
        Value::Array(_) => "a list",
        Value::String(_) => "a text",
        Value::Number(_) => "a number",
        Value::Bool(_) => "true or false",
        Value::Null if text.trim().is_empty() => {
            return Err(Unreadable::NotJson { why: "it is empty".to_owned() });
        }
        Value::Null => "null",
    };
    let Value::Object(root) = value else { return Err(Unreadable::NotAnObject { kind }) };
    // VS Code's settings.json keeps the whole under "mcp".
    let inner = root.get("mcp").and_then(Value::as_object).unwrap_or(&root);
    let servers =
        ["mcpServers", "servers", "context_servers"].iter().find_map(|it| inner.get(*it)?.as_object());
    let single = servers.is_none() && (inner.contains_key("command") || inner.contains_key("url"));
    let mut read = Configuration { inputs: inputs(inner), ..Configuration::default() };
    if single {
        read.take("server", inner);
        return Ok(read);
    }
    // A fragment that was copied out of a file: {"name": {"command": …}}.
    let is_fragment = |it: &&Map<String, Value>| {
        !it.is_empty() && it.values().all(|it| it.get("command").or(it.get("url")).is_some())
    };
    let servers = servers.or_else(|| Some(inner).filter(is_fragment)).ok_or(Unreadable::NoServers)?;
    for (name, entry) in servers {
        match entry {
            Value::Object(entry) => read.take(name, entry),
            _ => read.skipped.push((name.clone(), "it is not an object".to_owned())),
        }
    }
    Ok(read)
}

impl Configuration {
    fn take(&mut self, name: &str, entry: &Map<String, Value>) {
        match configured(name, entry) {
            Ok(server) => self.servers.push(server),
            Err(why) => self.skipped.push((name.to_owned(), why)),
        }
    }
}

fn configured(name: &str, entry: &Map<String, Value>) -> Result<Configured, String> {
    let mut remarks = Vec::new();
    let url = ["url", "serverUrl", "httpUrl"].iter().find_map(|it| entry.get(*it)?.as_str());
    let launch = match (entry.get("command"), url) {
        (Some(command), _) => stdio(command, entry, &mut remarks)?,
        (None, Some(url)) => {
            if entry.get("type").and_then(Value::as_str) == Some("sse") {
                remarks.push(
                    "it names the transport of 2024-11-05, which is tried after Streamable HTTP".to_owned(),
                );
            }
            Launch::Http {
                url: url.to_owned(),
                headers: pairs(entry, &["headers", "http_headers"], &mut remarks),
            }
        }
        (None, None) => return Err("it has neither a command nor a url".to_owned()),
    };
    if entry.contains_key("envFile") {
        remarks.push("its envFile is not read; set the variables here".to_owned());
    }
    let is = |key: &str| entry.get(key).and_then(Value::as_bool);
    let enabled = !is("disabled").unwrap_or(false) && is("enabled").unwrap_or(true);
    Ok(Configured { name: name.to_owned(), launch, enabled, remarks })
}

fn stdio(command: &Value, entry: &Map<String, Value>, remarks: &mut Vec<String>) -> Result<Launch, String> {
    let mut args = match entry.get("args") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(args)) => {
            args.iter().map(|it| plain(it).ok_or("an argument is not text")).collect::<Result<_, _>>()?
        }
        Some(Value::String(args)) => {
            remarks.push("its args are one text, split as a shell would".to_owned());
            shlex::split(args).ok_or("its args have an open quote")?
        }
        Some(_) => return Err("its args are not a list".to_owned()),
    };
    let command = match command {
        Value::String(command) => command.trim().to_owned(),
        // Zed writes {"path": …, "args": […]}, others a list.
        Value::Object(inner) => {
            let path = inner.get("path").and_then(Value::as_str).ok_or("its command has no path")?;
            args.extend(inner.get("args").and_then(Value::as_array).into_iter().flatten().filter_map(plain));
            path.to_owned()
        }
        Value::Array(words) => {
            let mut words = words.iter().filter_map(plain);
            let first = words.next().ok_or("its command is empty")?;
            args.splice(0..0, words);
            first
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => return Err("its command is not text".to_owned()),
    };
    if command.is_empty() {
        return Err("its command is empty".to_owned());
    }
    let (command, args) = split(command, args, remarks)?;
    let cwd = entry.get("cwd").and_then(Value::as_str).map(str::to_owned);
    Ok(Launch::Stdio { command, args, env: pairs(entry, &["env"], remarks), cwd })
}

/// A command that is a whole line is split as a shell would, unless it is a file whose name has blanks.
fn split(
    command: String,
    args: Vec<String>,
    remarks: &mut Vec<String>,
) -> Result<(String, Vec<String>), String> {
    if !command.contains(char::is_whitespace) || Path::new(&command).exists() {
        return Ok((command, args));
    }
    // A backslash is a folder's border on Windows and an escape in a shell.
    let words = if command.contains('\\') && !command.contains('"') {
        return Ok((command, args));
    } else {
        shlex::split(&command).ok_or("its command has an open quote")?
    };
    let mut words = words.into_iter();
    let first = words.next().ok_or("its command is empty")?;
    remarks.push("its command is a whole line, split as a shell would; no shell runs".to_owned());
    Ok((first, words.chain(args).collect()))
}

fn pairs(entry: &Map<String, Value>, keys: &[&str], remarks: &mut Vec<String>) -> Vec<(String, String)> {
    let all = keys.iter().filter_map(|it| entry.get(*it)?.as_object()).flatten();
    let pair = |(name, value): (&String, &Value)| match plain(value) {
        Some(text) => Some((name.clone(), text)),
        None => {
            remarks.push(format!("{name} has no value that can be set"));
            None
        }
    };
    all.filter_map(pair).collect()
}

/// Numbers and switches are written as text by those who mean text.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn inputs(root: &Map<String, Value>) -> Vec<Input> {
    let all = root.get("inputs").and_then(Value::as_array).into_iter().flatten();
    let input = |it: &Value| {
        let text = |key: &str| it.get(key).and_then(Value::as_str).map(str::to_owned);
        let id = text("id")?;
        Some(Input {
            description: text("description").unwrap_or_else(|| id.clone()),
            password: it.get("password").and_then(Value::as_bool).unwrap_or(false),
            default: text("default"),
            options: it
                .get("options")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(plain)
                .collect(),
            id,
        })
    };
    all.filter_map(input).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, expected: Expect) {
        let read = read(text).unwrap();
        let mut shown = String::new();
        for server in &read.servers {
            let state = if server.enabled { "" } else { " (off)" };
            shown += &format!("{}{state}: {:?}\n", server.name, server.launch);
            server.remarks.iter().for_each(|it| shown += &format!("  {it}\n"));
        }
        read.inputs.iter().for_each(|it| shown += &format!("{it:?}\n"));
        read.skipped.iter().for_each(|(name, why)| shown += &format!("skipped {name}: {why}\n"));
        expected.assert_eq(&shown);
    }

    #[test]
    fn claude_desktop_and_mcp_json() {
        check(
            r#"{"mcpServers": {
                "files": {"command": "npx", "args": ["-y", "server-filesystem", "/tmp"], "env": {"LEVEL": 3}},
                "remote": {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${TOKEN:-none}"}},
                "broken": {"args": []}, "odd": 1
            }}"#,
            expect![[r#"
                files: Stdio { command: "npx", args: ["-y", "server-filesystem", "/tmp"], env: [("LEVEL", "3")], cwd: None }
                remote: Http { url: "https://example.com/mcp", headers: [("Authorization", "Bearer ${TOKEN:-none}")] }
                skipped broken: it has neither a command nor a url
                skipped odd: it is not an object
            "#]],
        );
    }

    #[test]
    fn vs_code_with_comments_trailing_commas_and_inputs() {
        check(
            r#"{
                // What the team uses.
                "inputs": [{"type": "promptString", "id": "key", "description": "API key", "password": true},],
                "servers": {
                    "api": {"type": "stdio", "command": "uvx", "args": ["api",], "env": {"KEY": "${input:key}"}, "envFile": ".env"}, /* more */
                    "old": {"type": "sse", "url": "http://localhost:1/sse", "disabled": true},
                },
            }"#,
            expect![[r#"
                api: Stdio { command: "uvx", args: ["api"], env: [("KEY", "${input:key}")], cwd: None }
                  its envFile is not read; set the variables here
                old (off): Http { url: "http://localhost:1/sse", headers: [] }
                  it names the transport of 2024-11-05, which is tried after Streamable HTTP
                Input { id: "key", description: "API key", password: true, default: None, options: [] }
            "#]],
        );
    }

    #[test]
    fn a_command_that_is_a_line() {
        check(
            r#"{"mcpServers": {
                "line": {"command": "npx -y 'my server' --flag", "args": ["x"]},
                "list": {"command": ["node", "a.js"]},
                "zed": {"command": {"path": "deno", "args": ["run"]}},
                "windows": {"command": "C:\\Program Files\\node.exe"},
                "open": {"command": "npx 'oops"}
            }}"#,
            expect![[r#"
                line: Stdio { command: "npx", args: ["-y", "my server", "--flag", "x"], env: [], cwd: None }
                  its command is a whole line, split as a shell would; no shell runs
                list: Stdio { command: "node", args: ["a.js"], env: [], cwd: None }
                zed: Stdio { command: "deno", args: ["run"], env: [], cwd: None }
                windows: Stdio { command: "C:\\Program Files\\node.exe", args: [], env: [], cwd: None }
                skipped open: its command has an open quote
            "#]],
        );
    }

    #[test]
    fn fragments_and_files_without_servers() {
        check(
            r#"{"everything": {"command": "npx"}}"#,
            expect![[r#"
            everything: Stdio { command: "npx", args: [], env: [], cwd: None }
        "#]],
        );
        check(
            r#"{"command": "npx"}"#,
            expect![[r#"
            server: Stdio { command: "npx", args: [], env: [], cwd: None }
        "#]],
        );
        assert_eq!(read("{}"), Err(Unreadable::NoServers));
        assert!(matches!(read("servers:"), Err(Unreadable::NotJson { .. })));
        assert!(matches!(read(""), Err(Unreadable::NotJson { .. })));
        assert_eq!(read("[]"), Err(Unreadable::NotAnObject { kind: "a list" }));
        assert!(matches!(read(&"[".repeat(100_000)), Err(Unreadable::NotJson { .. })));
    }
}
