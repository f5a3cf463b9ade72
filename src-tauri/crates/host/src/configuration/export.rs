//! Servers written down for other programs, without secrets.

use serde_json::{Map, Value, json};

use super::{Configured, Launch};

/// Writes servers as an `mcpServers` file. A value that looks like a secret becomes a placeholder; the second part names what did.
pub fn export(servers: &[Configured]) -> (String, Vec<String>) {
    let mut hidden = Vec::new();
    let mut all = Map::new();
    for server in servers {
        let mut keep = |pairs: &[(String, String)]| -> Map<String, Value> {
            let pair = |(name, value): &(String, String)| {
                if is_secret(name, value) {
                    hidden.push(format!("{}: {name}", server.name));
                    (name.clone(), Value::String(format!("${{env:{}}}", variable(name))))
                } else {
                    (name.clone(), Value::String(value.clone()))
                }
            };
            pairs.iter().map(pair).collect()
        };
        let mut entry = match &server.launch {
            Launch::Stdio { command, args, env, cwd } => {
                let mut entry = json!({"command": command, "args": args});
                if !env.is_empty() {
                    entry["env"] = keep(env).into();
                }
                if let Some(cwd) = cwd {
                    entry["cwd"] = json!(cwd);
                }
                entry
            }
            Launch::Http { url, headers } => {
                let mut entry = json!({"type": "http", "url": url});
                if !headers.is_empty() {
                    entry["headers"] = keep(headers).into();
                }
                entry
            }
        };
        if !server.enabled {
            entry["disabled"] = json!(true);
        }
        all.insert(server.name.clone(), entry);
    }
    (format!("{:#}\n", json!({"mcpServers": all})), hidden)
}

/// Whether a value is to be kept back: one whose name says so and that is not a placeholder already.
fn is_secret(name: &str, value: &str) -> bool {
    const WORDS: [&str; 7] = ["key", "token", "secret", "password", "passwd", "authorization", "cookie"];
    let name = name.to_ascii_lowercase();
    !value.is_empty() && !value.contains("${") && WORDS.iter().any(|it| name.contains(it))
}

fn variable(name: &str) -> String {
    name.chars().map(|it| if it.is_ascii_alphanumeric() { it.to_ascii_uppercase() } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::configuration::read;

    #[test]
    fn what_is_written_can_be_read_again_and_has_no_secrets() {
        let text = r#"{"mcpServers": {
            "a": {"command": "npx", "args": ["x"], "env": {"API_KEY": "sk-1", "LEVEL": "3", "OTHER_TOKEN": "${env:MINE}"}, "disabled": true},
            "b": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer abc"}}
        }}"#;
        let (written, hidden) = export(&read(text).unwrap().servers);
        expect![[r#"
            {
              "mcpServers": {
                "a": {
                  "command": "npx",
                  "args": [
                    "x"
                  ],
                  "env": {
                    "API_KEY": "${env:API_KEY}",
                    "LEVEL": "3",
                    "OTHER_TOKEN": "${env:MINE}"
                  },
                  "disabled": true
                },
                "b": {
                  "type": "http",
                  "url": "https://example.com/mcp",
                  "headers": {
                    "Authorization": "${env:AUTHORIZATION}"
                  }
                }
              }
            }
        "#]]
        .assert_eq(&written);
        assert_eq!(hidden, ["a: API_KEY", "b: Authorization"]);
        assert_eq!(read(&written).unwrap().servers.len(), 2);
    }
}
