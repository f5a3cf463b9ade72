//! The server that every client of the benchmark speaks to: its answers are written before the first question, so that what is measured
//! is the client.
//!
//! `usher-bench-server` speaks the handshake era over standard input and output and has one tool, `rows`, whose result is a list of
//! `count` records with an `outputSchema`. Deliberately absent: everything else, and any JSON library on the way of an answer.

use std::{
    collections::HashMap,
    fmt::Write as _,
    fs::File,
    io::{BufRead as _, IoSlice, Write as _},
};

use serde::Deserialize;
use serde_json::value::RawValue;

/// The sizes that are ready.
const COUNTS: [usize; 3] = [1, 1_000, 100_000];

const TOOLS: &str = r#"{"tools":[{"name":"rows","description":"Gives records.","inputSchema":{"type":"object","properties":{"count":{"type":"integer"}},"required":["count"]},"annotations":{"readOnlyHint":true},"outputSchema":{"type":"object","properties":{"rows":{"type":"array","items":{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string"},"city":{"type":"string"},"amount":{"type":"number","minimum":0},"active":{"type":"boolean"}},"required":["id","name","city","amount","active"],"additionalProperties":false}}},"required":["rows"]}}]}}
"#;

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
    // Standard output by itself looks for the ends of lines in all that it is given.
    #[cfg(unix)]
    let mut out = File::from(std::os::fd::AsFd::as_fd(&std::io::stdout()).try_clone_to_owned()?);
    #[cfg(windows)]
    let mut out =
        File::from(std::os::windows::io::AsHandle::as_handle(&std::io::stdout()).try_clone_to_owned()?);
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
                    r#"{{"protocolVersion":"{version}","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"bench","version":"1"}}}}}}
"#
                );
                Ok(greeting.as_str())
            }
            "ping" => Ok("{}}\n"),
            "tools/list" => Ok(TOOLS),
            "tools/call" => usize::try_from(count)
                .ok()
                .and_then(|it| results.get(&it))
                .map(String::as_str)
                .ok_or("unknown count"),
            _ => Err("method not found"),
        };
        let (head, body) = match answer {
            Ok(result) => (format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#), result),
            Err(why) => (
                format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"{why}"}}}}"#),
                "\n",
            ),
        };
        write_at_once(&mut out, head.as_bytes(), body.as_bytes())?;
    }
    Ok(())
}

/// Writes both without a copy of the second, in one piece if the pipe takes it.
fn write_at_once(out: &mut File, head: &[u8], body: &[u8]) -> std::io::Result<()> {
    let written = out.write_vectored(&[IoSlice::new(head), IoSlice::new(body)])?;
    out.write_all(head.get(written..).unwrap_or_default())?;
    out.write_all(&body[written.saturating_sub(head.len())..])
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
        r#"{{"content":[{{"type":"text","text":"{count} customers"}}],"structuredContent":{{"rows":[{rows}]}}}}}}
"#
    )
}
