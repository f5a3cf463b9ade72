//! Servers written down for other programs, without secrets.

use serde_json::{Map, Value, json};

use super::{
    Configured, Launch, looks_secret, placeholder,
    secret::{address_without_secrets, arguments_without_secrets},
};

/// Writes servers as an `mcpServers` file. A value that looks like a secret becomes a placeholder; the second part names what did.
pub fn export(servers: &[Configured]) -> (String, Vec<String>) {
    let mut hidden = Vec::new();
    let mut all = Map::new();
    for server in servers {
        let keep = |pairs: &[(String, String)], hidden: &mut Vec<String>| -> Map<String, Value> {
            let pair = |(name, value): &(String, String)| {
                if looks_secret(name, value) {
                    hidden.push(format!("{}: {name}", server.name));
                    (name.clone(), Value::String(placeholder(name)))
                } else {
                    (name.clone(), Value::String(value.clone()))
                }
            };
            pairs.iter().map(pair).collect()
        };
        let mut entry = match &server.launch {
            Launch::Stdio { command, args, env, cwd } => {
                let shown = arguments_without_secrets(args, placeholder);
                if shown != *args {
                    hidden.push(format!("{}: an argument", server.name));
                }
                let mut entry = json!({"command": command, "args": shown});
                if !env.is_empty() {
                    entry["env"] = keep(env, &mut hidden).into();
                }
                if let Some(cwd) = cwd {
                    entry["cwd"] = json!(cwd);
                }
                entry
            }
            Launch::Http { url, headers } => {
                let shown = address_without_secrets(url, placeholder);
                if shown != *url {
                    hidden.push(format!("{}: the address", server.name));
                }
                let mut entry = json!({"type": "http", "url": shown});
                if !headers.is_empty() {
                    entry["headers"] = keep(headers, &mut hidden).into();
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
