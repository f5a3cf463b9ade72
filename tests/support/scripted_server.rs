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

/// What a tool declares that has the View of [`Script::view`].
pub const LINK: &str = r#"{"_meta":{"ui":{"resourceUri":"ui://a/b"}}}"#;

/// The answer to `resources/read` that brings the page of [`LINK`].
pub fn document(html: &str) -> String {
    document_with(html, None)
}

/// As [`document`], with what stands in `_meta.ui`.
pub fn document_with(html: &str, ui: Option<&Value>) -> String {
    let mut page = json!({"uri": "ui://a/b", "mimeType": "text/html;profile=mcp-app", "text": html});
    if let Some(ui) = ui {
        page["_meta"] = json!({"ui": ui});
    }
    json!({"contents": [page]}).to_string()
}

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
    /// What tools ask before they answer with the text of what they were told, by the name of the tool: methods and parameters.
    pub asks: BTreeMap<String, Vec<(String, Box<RawValue>)>>,
    /// Tools that report progress without end, and never answer.
    pub drips: Vec<String>,
    /// Methods, or methods and what they name, that are never answered.
    #[serde(default)]
    pub silent: Vec<String>,
    /// Notifications that are sent before a tool's result, by the name of the tool.
    #[serde(default)]
    pub tells: BTreeMap<String, Vec<String>>,
    /// The results of other methods, in order; the last one again and again.
    pub methods: BTreeMap<String, Vec<Box<RawValue>>>,
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

    /// Adds a tool that asks and answers with what it was told.
    #[must_use]
    pub fn asking(mut self, name: &str, asks: &[(&str, &str)]) -> Self {
        self.declare(name, "{}");
        let asks = asks.iter().map(|it| (it.0.to_owned(), RawValue::from_string(one_line(it.1)).unwrap()));
        self.asks.insert(name.to_owned(), asks.collect());
        self
    }

    /// Adds a tool that reports progress without end.
    #[must_use]
    pub fn dripping(mut self, name: &str) -> Self {
        self.declare(name, "{}");
        self.drips.push(name.to_owned());
        self
    }

    /// Sends notifications before the results of a tool that is declared apart.
    #[must_use]
    pub fn telling(mut self, tool: &str, methods: &[&str]) -> Self {
        self.tells.insert(tool.to_owned(), methods.iter().map(|it| (*it).to_owned()).collect());
        self
    }

    /// Adds the results of a method.
    #[must_use]
    pub fn method(mut self, name: &str, results: &[&str]) -> Self {
        let results = results.iter().map(|it| RawValue::from_string(one_line(it)).unwrap()).collect();
        self.methods.insert(name.to_owned(), results);
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

    /// Adds the page of the tools that declare [`LINK`], with what stands in its `_meta.ui`.
    #[must_use]
    pub fn view(self, html: &str, ui: Option<&Value>) -> Self {
        self.answering("resources/read ui://a/b", &document_with(html, ui))
    }

    /// Never answers a method, or one that names something: `resources/read a:b`.
    #[must_use]
    pub fn silent(mut self, request: &str) -> Self {
        self.silent.push(request.to_owned());
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
    let mut script: Script = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let mut lines = std::io::stdin().lock().lines().map_while(Result::ok);
    while let Some(line) = lines.next() {
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        let Some(id) = message.get("id").filter(|_| message.get("method").is_some()) else { continue };
        let tool = message["params"]["name"].as_str().unwrap_or_default();
        let is_call = message["method"] == "tools/call";
        if is_call && script.drips.iter().any(|it| it == tool) {
            let token = message["params"]["_meta"]["progressToken"].clone();
            std::thread::spawn(move || drip(&token));
            continue;
        }
        if script.silent.contains(&request_of(&message)) {
            continue;
        }
        for method in script.tells.get(tool).filter(|_| is_call).into_iter().flatten() {
            say(&json!({"jsonrpc": "2.0", "method": method}).to_string());
        }
        let answer = if is_call && script.asks.contains_key(tool) {
            Ok(ask(&script, tool, &message, &mut lines))
        } else {
            respond(&mut script, &message)
        };
        let answer = match answer {
            Ok(result) => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#),
            Err((code, text)) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}}).to_string()
            }
        };
        if !say(&answer) {
            return;
        }
    }
}

fn say(line: &str) -> bool {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).is_ok()
}

/// Tells progress until nobody listens.
fn drip(token: &Value) {
    for progress in 1.. {
        let params = json!({"progressToken": token, "progress": progress});
        let told = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
        if !say(&told.to_string()) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Asks what a tool wants to know, in the way of the revision, and gives a result that says what it was told.
fn ask(script: &Script, tool: &str, message: &Value, lines: &mut impl Iterator<Item = String>) -> String {
    let asks = &script.asks[tool];
    if script.revision.as_str() >= "2026" {
        let Some(told) = message["params"].get("inputResponses") else {
            let requests: Vec<String> = (1..)
                .zip(asks)
                .map(|(n, it)| format!(r#""q{n}":{{"method":{},"params":{}}}"#, json!(it.0), it.1.get()))
                .collect();
            return format!(
                r#"{{"resultType":"input_required","inputRequests":{{{}}}}}"#,
                requests.join(",")
            );
        };
        let content = json!([{"type": "text", "text": told.to_string()}]);
        return json!({"resultType": "complete", "content": content}).to_string();
    }
    let mut told = serde_json::Map::new();
    for (n, (method, params)) in (1..).zip(asks) {
        let id = format!("q{n}");
        say(&format!(
            r#"{{"jsonrpc":"2.0","id":"{id}","method":{},"params":{}}}"#,
            json!(method),
            params.get()
        ));
        let answer = lines.find_map(|line| {
            let message: Value = serde_json::from_str(&line).ok()?;
            (message["id"] == id.as_str()).then_some(message)
        });
        let Some(answer) = answer else { break };
        told.insert(id, answer.get("result").unwrap_or(&answer["error"]).clone());
    }
    json!({"content": [{"type": "text", "text": Value::Object(told).to_string()}]}).to_string()
}

/// The method and what it names: `resources/read a:b`.
fn request_of(message: &Value) -> String {
    let params = &message["params"];
    let named = [&params["name"], &params["uri"]].into_iter().find_map(Value::as_str).unwrap_or_default();
    format!("{} {named}", message["method"].as_str().unwrap_or_default())
}

fn respond(script: &mut Script, message: &Value) -> Result<String, (i64, String)> {
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
    if let Some(answer) = script.answers.get(&request_of(message)).or_else(|| script.answers.get(method)) {
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
        other => match script.methods.get_mut(other) {
            Some(results) if results.len() > 1 => Ok(results.remove(0).get().to_owned()),
            Some(results) if results.len() == 1 => Ok(results[0].get().to_owned()),
            Some(_) | None => Err((-32601, format!("no method {other}"))),
        },
    }
}
