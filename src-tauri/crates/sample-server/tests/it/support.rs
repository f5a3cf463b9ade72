//! A client that writes lines and reads lines.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use usher_protocol::{Revision, UI_EXTENSION, UI_MIME};
use usher_sample_server::{Options, ServeError, serve};

pub(crate) const NEWEST: Revision = Revision::V2026_12_01;
pub(crate) const EARLIER: [Revision; 4] =
    [Revision::V2025_03_26, Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28];
pub(crate) const ASSISTANT: &str = "assistant/content";
pub(crate) const UI: &str = "io.modelcontextprotocol/ui/structured";

/// Every tool with arguments that make it succeed quickly.
pub(crate) fn tools() -> Vec<(&'static str, Value)> {
    vec![
        ("search_customers", json!({"query": "Globex"})),
        ("show_dashboard", json!({})),
        ("refresh_dashboard", json!({"region": "EMEA"})),
        ("make_images", json!({"prompt": "A sunrise over Puget Sound"})),
        ("list_events", json!({"rows": 3})),
        ("open_ticket", json!({"subject": "The export is slow", "priority": "high"})),
        ("slow_report", json!({"seconds": 0, "steps": 2})),
    ]
}

/// Everything that the server writes while the client writes these lines and then closes its side.
pub(crate) async fn bytes(options: Options, lines: &[String]) -> (Vec<u8>, Result<(), ServeError>) {
    let (mut to, stdin) = tokio::io::duplex(1 << 16);
    let (stdout, mut from) = tokio::io::duplex(1 << 16);
    let text = lines.iter().map(|it| format!("{it}\n")).collect::<String>();
    let write = async move {
        // A server that crashed no longer reads.
        let _ = to.write_all(text.as_bytes()).await;
    };
    let mut read = Vec::new();
    let (ended, (), _) = tokio::join!(serve(options, stdin, stdout), write, from.read_to_end(&mut read));
    (read, ended)
}

/// The messages that the server writes while the client writes these.
pub(crate) async fn exchange(options: Options, messages: &[Value]) -> Vec<Value> {
    let lines: Vec<String> = messages.iter().map(Value::to_string).collect();
    let (read, ended) = bytes(options, &lines).await;
    ended.unwrap();
    String::from_utf8(read).unwrap().lines().map(|it| serde_json::from_str(it).unwrap()).collect()
}

/// The first `count` messages that the server writes after the client wrote these; its side stays open meanwhile.
pub(crate) async fn first(options: Options, messages: &[Value], count: usize) -> Vec<Value> {
    let (mut to, stdin) = tokio::io::duplex(1 << 16);
    let (stdout, from) = tokio::io::duplex(1 << 16);
    let client = async move {
        for message in messages {
            to.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        }
        let mut lines = BufReader::new(from).lines();
        let mut read = Vec::new();
        while read.len() < count {
            read.push(serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap());
        }
        drop(to);
        assert_eq!(lines.next_line().await.unwrap(), None);
        read
    };
    let (ended, read) = tokio::join!(serve(options, stdin, stdout), client);
    ended.unwrap();
    read
}

/// The `_meta` of a request that says its own revision.
pub(crate) fn meta(revision: Revision, has_ui: bool) -> Value {
    let capabilities =
        if has_ui { json!({"extensions": {UI_EXTENSION: {"mimeTypes": [UI_MIME]}}}) } else { json!({}) };
    json!({
        "io.modelcontextprotocol/protocolVersion": revision,
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

/// The handshake's first message.
pub(crate) fn initialize(revision: Revision, has_ui: bool) -> Value {
    let capabilities = meta(revision, has_ui)["io.modelcontextprotocol/clientCapabilities"].clone();
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": revision, "capabilities": capabilities, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": params})
}

/// The answers to requests under a revision, each its `result` or its `error`.
pub(crate) async fn answers(
    options: Options,
    revision: Revision,
    has_ui: bool,
    requests: &[(&str, Value)],
) -> Vec<Value> {
    let mut messages = Vec::new();
    if revision.has_handshake() {
        messages.push(initialize(revision, has_ui));
        messages.push(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    }
    for (id, (method, params)) in requests.iter().enumerate() {
        let mut params = params.clone();
        if revision.has_request_meta() {
            params["_meta"] = meta(revision, has_ui);
        }
        messages.push(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }
    let read = exchange(options, &messages).await;
    let find =
        |id: usize| read.iter().find(|it| it["id"] == json!(id)).unwrap_or_else(|| panic!("{id}: {read:#?}"));
    (0..requests.len())
        .map(|id| find(id).get("result").or_else(|| find(id).get("error")).unwrap().clone())
        .collect()
}

/// The answer to one request.
pub(crate) async fn answer(
    options: Options,
    revision: Revision,
    has_ui: bool,
    method: &str,
    params: Value,
) -> Value {
    answers(options, revision, has_ui, &[(method, params)]).await.remove(0)
}

/// The tools as they are listed.
pub(crate) async fn list(options: Options, revision: Revision, has_ui: bool) -> Vec<Value> {
    let listed = answer(options, revision, has_ui, "tools/list", json!({})).await;
    listed["tools"].as_array().unwrap().clone()
}

/// The parameters of a call that asks for these outputs, by `audience/format`.
pub(crate) fn call(name: &str, arguments: &Value, outputs: &[&str]) -> Value {
    let selector = |it: &&str| {
        let (audience, format) = it.rsplit_once('/').unwrap();
        json!({"audience": audience, "format": format})
    };
    let outputs: Vec<Value> = outputs.iter().map(selector).collect();
    json!({"name": name, "arguments": arguments, "requestedOutputs": outputs})
}

/// A search under the newest revision by a client that knows Views.
pub(crate) async fn search(options: Options, outputs: &[&str]) -> Value {
    let params = call("search_customers", &json!({"query": "Globex"}), outputs);
    answer(options, NEWEST, true, "tools/call", params).await
}

/// The pairs of a result's outputs, or of a tool's variants.
pub(crate) fn pairs(outputs: &Value) -> Vec<String> {
    let pair =
        |it: &Value| format!("{}/{}", it["audience"].as_str().unwrap(), it["format"].as_str().unwrap());
    outputs.as_array().unwrap().iter().map(pair).collect()
}

/// The payload of the output of this pair.
pub(crate) fn payload<'a>(result: &'a Value, wanted: &str) -> &'a Value {
    let at = pairs(&result["outputs"]).iter().position(|it| it == wanted).unwrap();
    let output = &result["outputs"][at];
    output.get("content").or_else(|| output.get("structuredContent")).unwrap()
}

/// Whether a value conforms to a schema.
pub(crate) fn conforms(schema: &Value, value: &Value) -> bool {
    jsonschema::validator_for(schema).unwrap().is_valid(value)
}
