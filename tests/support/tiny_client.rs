//! A client of a hundred lines for the scenarios of `usher conformance`, right or wrong on request. It shares no code with the product.
//!
//! `usher-child tiny-client P06` does what is wrong in P06 when it is run in P06, and is right otherwise; with `quiet` it reports nothing,
//! with `unsaid` not whether a payload fits its schema, with `texts` it asks for outputs by texts in place of objects, and with `crash` it ends badly as soon as it has the list of tools.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

const UI: &str = "io.modelcontextprotocol/ui";

/// Does what the environment says. `fault` is a scenario's number, or nothing.
///
/// # Panics
/// If it cannot; the scenario sees that the client did not end well.
pub fn run(arguments: &[String]) {
    let fault = arguments.first().filter(|it| it.starts_with('P')).cloned().unwrap_or_default();
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap();
    let is_faulty = !fault.is_empty() && scenario.contains(&format!("-{}-", fault.to_lowercase()));
    let context: Value = serde_json::from_str(&std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap()).unwrap();
    let revision = std::env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").unwrap();
    let wire = match std::env::var("MCP_CONFORMANCE_SERVER_COMMAND") {
        Ok(command) => Wire::lines(&serde_json::from_str::<Vec<String>>(&command).unwrap()),
        Err(_) => Wire::Http { url: arguments.last().unwrap().clone(), session: None },
    };
    let fault = if is_faulty { fault } else { String::new() };
    let is = |habit: &str| arguments.first().is_some_and(|it| it == habit);
    let mut client = Client {
        wire,
        revision,
        fault,
        is_quiet: is("quiet"),
        leaves_unsaid: is("unsaid"),
        id: 0,
        asks_by_texts: is("texts"),
    };
    client.open();
    let tools = client.ask("tools/list", json!({}))["tools"].clone();
    assert!(!is("crash"), "the list of tools is too much for this client");
    for planned in context["calls"].as_array().unwrap() {
        let tool = tools.as_array().unwrap().iter().find(|it| it["name"] == planned["tool"]).unwrap();
        client.call(planned, tool);
    }
}

struct Client {
    wire: Wire,
    revision: String,
    /// What it does wrong now.
    fault: String,
    is_quiet: bool,
    leaves_unsaid: bool,
    asks_by_texts: bool,
    id: u64,
}

impl Client {
    fn is_modern(&self) -> bool {
        self.revision.as_str() >= "2026-07"
    }

    fn has_outputs(&self) -> bool {
        self.revision.as_str() >= "2026-12"
    }

    fn wrong(&self, scenario: &str) -> bool {
        self.fault == scenario
    }

    fn capabilities() -> Value {
        json!({"extensions": {UI: {"mimeTypes": ["text/html;profile=mcp-app"]}}})
    }

    fn open(&mut self) {
        if self.is_modern() {
            return;
        }
        let info = json!({"name": "tiny", "version": "1"});
        let params = json!({
            "protocolVersion": self.revision, "capabilities": Self::capabilities(), "clientInfo": info});
        self.ask("initialize", params);
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.wire.send(&told, &self.revision, false);
    }

    fn ask(&mut self, method: &str, mut params: Value) -> Value {
        if self.is_modern() {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.revision,
                "io.modelcontextprotocol/clientInfo": {"name": "tiny", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": Self::capabilities()});
        }
        self.id += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params});
        let answer = self.wire.send(&request, &self.revision, true).unwrap();
        assert!(answer.get("result").is_some(), "{answer}");
        answer["result"].clone()
    }

    fn call(&mut self, planned: &Value, tool: &Value) {
        let mut params = json!({"name": planned["tool"], "arguments": planned["arguments"]});
        let Some(requested) = self.selection(planned, tool) else { return };
        if !requested.is_null() {
            params["requestedOutputs"] = requested.clone();
        }
        if self.asks_by_texts {
            params["requestedOutputs"] = planned["outputs"].clone();
        }
        let result = self.ask("tools/call", params);
        self.deliver(&requested, &result);
    }

    /// What to ask for; nothing if the tool must not be called.
    fn selection(&self, planned: &Value, tool: &Value) -> Option<Value> {
        let declared = tool["outputVariants"].as_array().cloned().unwrap_or_default();
        let pair = |it: &Value| json!({"audience": it["audience"], "format": it["format"]});
        let declared: Vec<Value> = declared.iter().map(pair).collect();
        let wanted: Vec<Value> = planned["outputs"].as_array().into_iter().flatten().map(selector).collect();
        if !self.has_outputs() {
            return Some(if self.wrong("P12") { json!(wanted) } else { Value::Null });
        }
        let fallback = selector(&json!("assistant/content"));
        if !declared.contains(&fallback) {
            return (self.wrong("P07") || self.wrong("P14")).then_some(Value::Null);
        }
        let is_first = planned["tool"] != "refresh";
        let known = |it: &&Value| declared.contains(it) && !it["audience"].as_str().unwrap().contains("dev.");
        Some(match self.fault.as_str() {
            "P01" => json!(declared),
            "P03" => json!([fallback]),
            "P08" if !is_first => Value::Null,
            "P09" if !is_first => json!([selector(&json!(format!("{UI}/structured")))]),
            "P10" => json!(wanted),
            _ if planned["outputs"].is_null() => Value::Null,
            _ => json!(wanted.iter().filter(known).collect::<Vec<_>>()),
        })
    }

    fn report(&self, consumer: &str, data: &Value, valid: Option<bool>) {
        let valid = valid.filter(|_| !self.leaves_unsaid);
        if !self.is_quiet {
            let mut out = std::io::stdout();
            writeln!(out, "{}", json!({"consumer": consumer, "data": data, "valid": valid})).unwrap();
        }
    }

    fn deliver(&self, requested: &Value, result: &Value) {
        if !self.has_outputs() {
            self.report("assistant", &result["content"], None);
            if self.wrong("P13") {
                self.report("user", &result["outputs"], None);
            }
            return;
        }
        if self.wrong("P06") {
            self.report("view", result, None);
        }
        for output in result["outputs"].as_array().unwrap() {
            let pair = json!({"audience": output["audience"], "format": output["format"]});
            let asked = match requested.as_array() {
                Some(asked) => asked.contains(&pair),
                None => pair == selector(&json!("assistant/content")),
            };
            if !asked && !self.wrong("P15") {
                continue;
            }
            let audience = pair["audience"].as_str().unwrap();
            let payload =
                if pair["format"] == "content" { &output["content"] } else { &output["structuredContent"] };
            let foreign = self.wrong("P11");
            let valid = match audience {
                "programmatic" => Some(payload["rows"].is_array()),
                UI => Some(if foreign { payload["rows"].is_array() } else { payload["rows"].is_number() }),
                _ => None,
            };
            if !self.wrong("P05") {
                self.report(audience, payload, valid);
            }
            let is_told = (self.wrong("P02") && audience == "programmatic")
                || ((self.wrong("P04") || self.wrong("P05")) && audience == "user");
            if is_told {
                self.report("assistant", payload, valid);
            }
        }
    }
}

fn selector(text: &Value) -> Value {
    let (audience, format) = text.as_str().unwrap().rsplit_once('/').unwrap();
    json!({"audience": audience, "format": format})
}

/// How the server is reached.
enum Wire {
    Http { url: String, session: Option<String> },
    Lines { child: Child, to: Option<ChildStdin>, from: BufReader<ChildStdout> },
}

impl Wire {
    fn lines(command: &[String]) -> Self {
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, from) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self::Lines { child, to, from }
    }

    /// Sends a message, and waits for its answer if there is to be one.
    fn send(&mut self, message: &Value, revision: &str, is_request: bool) -> Option<Value> {
        match self {
            Self::Lines { to, from, .. } => {
                writeln!(to.as_mut().unwrap(), "{message}").unwrap();
                let mut line = String::new();
                if is_request {
                    from.read_line(&mut line).unwrap();
                }
                is_request.then(|| serde_json::from_str(&line).unwrap())
            }
            Self::Http { url, session } => {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                let sent = runtime.block_on(post(url, session.as_deref(), message, revision));
                *session = sent.0.or(session.take());
                is_request.then(|| serde_json::from_str(&sent.1).unwrap())
            }
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if let Self::Lines { child, to, .. } = self {
            drop(to.take());
            child.wait().unwrap();
        }
    }
}

/// The session that the server names, and the JSON of its answer.
async fn post(url: &str, session: Option<&str>, message: &Value, revision: &str) -> (Option<String>, String) {
    let method = message["method"].as_str().unwrap();
    let mut request = reqwest::Client::new()
        .post(url)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-method", method)
        .body(message.to_string());
    if method != "initialize" {
        request = request.header("mcp-protocol-version", revision);
    }
    if let Some(name) = message["params"]["name"].as_str() {
        request = request.header("mcp-name", name);
    }
    if let Some(session) = session {
        request = request.header("mcp-session-id", session);
    }
    let response = request.send().await.unwrap();
    let session = response.headers().get("mcp-session-id").map(|it| it.to_str().unwrap().to_owned());
    let text = response.text().await.unwrap();
    let event = text.lines().filter_map(|it| it.strip_prefix("data:")).rfind(|it| !it.trim().is_empty());
    (session, event.map_or_else(|| text.clone(), str::to_owned))
}
