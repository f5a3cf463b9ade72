//! The server that every client of the benchmark speaks to: its answers are written before the first question, so that what is measured
//! is the client.
//!
//! `usher-bench-server` speaks the handshake era over standard input and output and has one tool, `rows`, whose result is a list of
//! `count` records with an `outputSchema`. Deliberately absent: everything else, and any JSON library on the way of an answer.

use std::{
    collections::HashMap,
    fmt::Write as _,
    io::{BufRead as _, Write as _},
};

use serde::Deserialize;
use serde_json::value::RawValue;

/// The sizes that are ready.
const COUNTS: [usize; 3] = [1, 1_000, 100_000];

const TOOLS: &str = r#"{"tools":[{"name":"rows","description":"Gives records.","inputSchema":{"type":"object","properties":{"count":{"type":"integer"}},"required":["count"]},"annotations":{"readOnlyHint":true},"outputSchema":{"type":"object","properties":{"rows":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string"},"city":{"type":"string"},"amount":{"type":"number","minimum":0},"active":{"type":"boolean"}},"required":["id","name","city","amount","active"],"additionalProperties":false}}},"required":["rows"]}}]}"#;

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    method: String,
    #[serde(default)]
    params: Params,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Params {
    protocol_version: Option<String>,
    arguments: HashMap<String, serde_json::Value>,
}

fn main() -> anyhow::Result<()> {
    let results: HashMap<usize, String> = COUNTS.into_iter().map(|it| (it, result(it))).collect();
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let Ok(request) = serde_json::from_str::<Request<'_>>(&line) else { continue };
        let Some(id) = request.id else { continue };
        let count = request.params.arguments.get("count").and_then(serde_json::Value::as_u64).unwrap_or(1);
        let greeting;
        let answer = match request.method.as_str() {
            "initialize" => {
                let version = request.params.protocol_version.unwrap_or_default();
                greeting = format!(
                    r#"{{"protocolVersion":"{version}","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"bench","version":"1"}}}}"#
                );
                Ok(greeting.as_str())
            }
            "ping" => Ok("{}"),
            "tools/list" => Ok(TOOLS),
            "tools/call" => usize::try_from(count)
                .ok()
                .and_then(|it| results.get(&it))
                .map(String::as_str)
                .ok_or("unknown count"),
            _ => Err("method not found"),
        };
        match answer {
            Ok(result) => {
                write!(out, r#"{{"jsonrpc":"2.0","id":{id},"result":"#)?;
                out.write_all(result.as_bytes())?;
                out.write_all(b"}\n")?;
            }
            Err(why) => {
                writeln!(out, r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"{why}"}}}}"#)?
            }
        }
        out.flush()?;
    }
    Ok(())
}

fn result(count: usize) -> String {
    let mut rows = String::new();
    for id in 0..count {
        let comma = if id == 0 { "" } else { "," };
        let _written = write!(
            rows,
            r#"{comma}{{"id":{id},"name":"Customer number {id}","city":"Springfield","amount":{}.{:02},"active":{}}}"#,
            id * 7 % 10_000,
            id % 100,
            id % 3 != 0
        );
    }
    format!(
        r#"{{"content":[{{"type":"text","text":"{count} customers"}}],"structuredContent":{{"rows":[{rows}]}}}}"#
    )
}
