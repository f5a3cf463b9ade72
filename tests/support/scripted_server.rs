//! A server that says what a test tells it to say, byte for byte, over standard input and output.
//!
//! It is what the sample server must not be: any declaration and any result, at one revision. Deliberately absent: the product's codecs.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, Write as _},
    path::Path,
};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue};

use crate::stage::Cast;

/// What the server says.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Script {
    /// The one revision that it speaks.
    pub revision: String,
    /// The members of `tools/list`, as text.
    pub tools: Vec<Box<RawValue>>,
    /// The results of calls by the name of the tool, as text.
    pub results: BTreeMap<String, Box<RawValue>>,
    /// The results of other methods, by the method, or by the method and what it names: `prompts/get hello`.
    #[serde(default)]
    pub answers: BTreeMap<String, Box<RawValue>>,
    /// The errors of calls by the name of the tool.
    pub errors: BTreeMap<String, (i64, String)>,
}

impl Script {
    /// A server of a revision that has no tools yet.
    pub fn new(revision: &str) -> Self {
        Self { revision: revision.to_owned(), ..Self::default() }
    }

    /// Adds a tool: the members of its declaration beside its name, and the result of its calls.
    ///
    /// # Panics
    /// If either is not JSON.
    #[must_use]
    pub fn tool(mut self, name: &str, declaration: &str, result: &str) -> Self {
        self.declare(name, declaration);
        self.results.insert(name.to_owned(), RawValue::from_string(one_line(result)).unwrap());
        self
    }

    /// Adds a tool whose calls are refused.
    #[must_use]
    pub fn refusing(mut self, name: &str, declaration: &str, code: i64, message: &str) -> Self {
        self.declare(name, declaration);
        self.errors.insert(name.to_owned(), (code, message.to_owned()));
        self
    }

    /// Adds the result of a method, or of one that names something: `resources/read a:b`. The server then has the capability.
    ///
    /// # Panics
    /// If it is not JSON.
    #[must_use]
    pub fn answering(mut self, request: &str, result: &str) -> Self {
        self.answers.insert(request.to_owned(), RawValue::from_string(one_line(result)).unwrap());
        self
    }

    fn declare(&mut self, name: &str, declaration: &str) {
        let inside = one_line(declaration);
        let inside = inside.trim().strip_prefix('{').and_then(|it| it.strip_suffix('}')).unwrap();
        let comma = if inside.trim().is_empty() { "" } else { "," };
        let schema =
            if inside.contains("\"inputSchema\"") { "" } else { r#","inputSchema":{"type":"object"}"# };
        let text = format!("{{\"name\":{}{schema}{comma}{inside}}}", json!(name));
        self.tools.push(RawValue::from_string(text).unwrap());
    }

    /// Writes the script to a folder and gives the server that speaks it.
    ///
    /// # Panics
    /// If the folder cannot be written.
    pub fn cast(&self, id: &str, child: &str, folder: &Path) -> Cast {
        let path = folder.join(format!("{id}.json"));
        fs::write(&path, serde_json::to_vec(self).unwrap()).unwrap();
        Cast {
            id: id.to_owned(),
            command: child.to_owned(),
            args: vec!["scripted-server".to_owned(), path.to_string_lossy().into_owned()],
        }
    }
}

/// A message is one line; a line's end between values of JSON is a space.
fn one_line(json: &str) -> String {
    json.replace('\n', " ")
}

/// Serves a script until its input ends.
///
/// # Panics
/// If the script cannot be read.
pub fn serve(path: &str) {
    let script: Script = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let mut out = std::io::stdout();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        let Some(id) = message.get("id") else { continue };
        let answer = match respond(&script, &message) {
            Ok(result) => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#),
            Err((code, text)) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}}).to_string()
            }
        };
        if writeln!(out, "{answer}").and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

fn respond(script: &Script, message: &Value) -> Result<String, (i64, String)> {
    // Dates order as texts do.
    let is_modern = script.revision.as_str() >= "2026";
    let tools: Vec<&str> = script.tools.iter().map(|it| it.get()).collect();
    let info = json!({"name": "scripted", "version": "1"});
    let mut capabilities = json!({"tools": {}});
    for (prefix, capability) in
        [("prompts", "prompts"), ("resources", "resources"), ("completion", "completions")]
    {
        if script.answers.keys().any(|it| it.starts_with(prefix)) {
            capabilities[capability] = json!({});
        }
    }
    let method = message["method"].as_str().unwrap_or_default();
    let params = &message["params"];
    let named = [&params["name"], &params["uri"]].into_iter().find_map(Value::as_str).unwrap_or_default();
    if let Some(answer) =
        script.answers.get(&format!("{method} {named}")).or_else(|| script.answers.get(method))
    {
        return Ok(answer.get().to_owned());
    }
    match message["method"].as_str().unwrap_or_default() {
        "server/discover" if is_modern => Ok(json!({
            "resultType": "complete", "supportedVersions": [script.revision], "capabilities": capabilities,
            "serverInfo": info, "ttlMs": 0, "cacheScope": "private",
        })
        .to_string()),
        "initialize" if !is_modern => Ok(json!({
            "protocolVersion": script.revision, "capabilities": capabilities, "serverInfo": info,
        })
        .to_string()),
        "tools/list" if is_modern => Ok(format!(
            r#"{{"resultType":"complete","tools":[{}],"ttlMs":0,"cacheScope":"private"}}"#,
            tools.join(",")
        )),
        "tools/list" => Ok(format!(r#"{{"tools":[{}]}}"#, tools.join(","))),
        "tools/call" => {
            let name = message["params"]["name"].as_str().unwrap_or_default();
            match (script.results.get(name), script.errors.get(name)) {
                (Some(result), _) => Ok(result.get().to_owned()),
                (None, Some(error)) => Err(error.clone()),
                (None, None) => Err((-32602, format!("no tool {name}"))),
            }
        }
        other => Err((-32601, format!("no method {other}"))),
    }
}
