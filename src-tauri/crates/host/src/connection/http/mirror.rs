//! Arguments of a call that are repeated in headers (2026-07-28 basic/transports/streamable-http, "Custom Headers from Tool
//! Parameters").
//!
//! A tool marks them with `x-mcp-header` in its input schema. Deliberately absent: the headers that every request has, which rmcp
//! writes.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Mutex, PoisonError},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::{HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::{Map, Value};
use usher_protocol::{RawJson, jsonrpc::Message};

const MARK: &str = "x-mcp-header";

/// An argument, and the header that repeats it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mirror {
    /// The names of the properties from the arguments' root.
    path: Vec<String>,
    header: HeaderName,
}

/// What the tools of a server want to be repeated.
#[derive(Debug, Default)]
pub(in crate::connection) struct Mirrors(Mutex<BTreeMap<String, Vec<Mirror>>>);

impl Mirrors {
    /// Learns from a tool's input schema.
    ///
    /// # Errors
    /// A mark is not allowed where it stands; says which. Such a tool must not be used.
    pub(in crate::connection) fn learn(&self, tool: &str, schema: &RawJson) -> Result<(), String> {
        // Most schemas have none, and reading costs more than looking.
        let mirrors = if schema.get().contains(MARK) { mirrors(&schema.to_value())? } else { Vec::new() };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(tool.to_owned(), mirrors);
        Ok(())
    }

    /// The headers of a message.
    pub(super) fn headers(&self, message: &Message) -> Vec<(HeaderName, HeaderValue)> {
        #[derive(Deserialize)]
        struct Call {
            name: String,
            #[serde(default)]
            arguments: Option<RawJson>,
        }
        let Message::Request { method, params: Some(params), .. } = message else { return Vec::new() };
        if method != "tools/call" {
            return Vec::new();
        }
        let Ok(Call { name, arguments: Some(arguments) }) = params.to::<Call>() else { return Vec::new() };
        let mirrors =
            self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&name).cloned().unwrap_or_default();
        if mirrors.is_empty() {
            return Vec::new();
        }
        let arguments = arguments.to_value();
        let header = |it: Mirror| {
            let value = it.path.iter().try_fold(&arguments, |at, key| at.get(key))?;
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Bool(_) | Value::Number(_) => value.to_string(),
                Value::Null | Value::Array(_) | Value::Object(_) => return None,
            };
            Some((it.header, HeaderValue::try_from(plain(&text)).ok()?))
        };
        mirrors.into_iter().filter_map(header).collect()
    }
}

/// Writes text so that a header can carry it ("Value Encoding").
fn plain(text: &str) -> String {
    let edge = |it: Option<char>| matches!(it, Some(' ' | '\t'));
    let is_wrapped = text.starts_with("=?base64?") && text.ends_with("?=");
    let is_plain = text.chars().all(|it| (' '..='~').contains(&it));
    if is_plain && !is_wrapped && !edge(text.chars().next()) && !edge(text.chars().next_back()) {
        text.to_owned()
    } else {
        format!("=?base64?{}?=", BASE64_STANDARD.encode(text))
    }
}

fn mirrors(schema: &Value) -> Result<Vec<Mirror>, String> {
    let mut found = Vec::new();
    if let Value::Object(schema) = schema {
        collect(schema, true, &mut Vec::new(), &mut found)?;
    }
    let mut seen = HashSet::new();
    for mirror in &found {
        if !seen.insert(mirror.header.clone()) {
            return Err(format!("two properties have the {MARK} {:?}", short(&mirror.header)));
        }
    }
    Ok(found)
}

/// Keywords whose members are data, not schemas.
const DATA: [&str; 5] = ["default", "const", "enum", "examples", "dependentRequired"];
/// Keywords whose members are named schemas.
const NAMED: [&str; 5] = ["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties"];

fn collect(
    schema: &Map<String, Value>,
    on_chain: bool,
    path: &mut Vec<String>,
    found: &mut Vec<Mirror>,
) -> Result<(), String> {
    if let Some(mark) = schema.get(MARK) {
        found.push(mirror(schema, mark, on_chain, path)?);
    }
    for (key, value) in schema {
        if key == "properties" {
            for (name, property) in value.as_object().into_iter().flatten() {
                if let Value::Object(property) = property {
                    path.push(name.clone());
                    collect(property, on_chain, path, found)?;
                    path.pop();
                }
            }
        } else if NAMED.contains(&key.as_str()) {
            value.as_object().into_iter().flatten().try_for_each(|(_, it)| off_chain(it, path, found))?;
        } else if !DATA.contains(&key.as_str()) && key != MARK {
            off_chain(value, path, found)?;
        }
    }
    Ok(())
}

fn off_chain(value: &Value, path: &mut Vec<String>, found: &mut Vec<Mirror>) -> Result<(), String> {
    match value {
        Value::Object(schema) => collect(schema, false, path, found),
        Value::Array(items) => items.iter().try_for_each(|it| off_chain(it, path, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn mirror(
    schema: &Map<String, Value>,
    mark: &Value,
    on_chain: bool,
    path: &[String],
) -> Result<Mirror, String> {
    let place = if path.is_empty() {
        "the schema itself".to_owned()
    } else {
        format!("the property {:?}", path.join("."))
    };
    if path.is_empty() || !on_chain {
        return Err(format!(
            "{place} has an {MARK}, which only a property on a plain path of properties may have"
        ));
    }
    let Some(mark) = mark.as_str() else { return Err(format!("the {MARK} of {place} is not text")) };
    let header = HeaderName::try_from(format!("mcp-param-{mark}"))
        .ok()
        .filter(|_| !mark.is_empty())
        .ok_or_else(|| format!("the {MARK} {mark:?} of {place} cannot be part of a header's name"))?;
    match schema.get("type").and_then(Value::as_str) {
        Some("string" | "integer" | "boolean") => Ok(Mirror { path: path.to_vec(), header }),
        Some(_) | None => {
            Err(format!("{place} has an {MARK}, but is neither a string, an integer nor a boolean"))
        }
    }
}

fn short(header: &HeaderName) -> &str {
    header.as_str().strip_prefix("mcp-param-").unwrap_or(header.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use usher_protocol::jsonrpc::Id;

    use super::*;

    fn headers(schema: &Value, arguments: &Value) -> Vec<String> {
        let all = Mirrors::default();
        all.learn("deploy", &schema.into()).unwrap();
        let params = json!({"name": "deploy", "arguments": arguments});
        let call = Message::Request {
            id: Id::Number(1),
            method: "tools/call".to_owned(),
            params: Some(params.into()),
        };
        all.headers(&call)
            .into_iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect()
    }

    #[test]
    fn marked_arguments_are_repeated() {
        let schema = json!({"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "dry": {"type": "boolean", "x-mcp-header": "Dry"},
            "where": {"type": "object", "properties": {"zone": {"type": "integer", "x-mcp-header": "Zone"}}},
            "note": {"type": "string"},
        }});
        let given = json!({"region": "eu-1", "dry": false, "where": {"zone": 3}, "note": "x"});
        assert_eq!(
            headers(&schema, &given),
            ["mcp-param-region: eu-1", "mcp-param-dry: false", "mcp-param-zone: 3"]
        );
        assert_eq!(headers(&schema, &json!({"region": null})), Vec::<String>::new());
    }

    #[test]
    fn text_that_a_header_cannot_carry_is_wrapped() {
        assert_eq!(plain("plain text"), "plain text");
        assert_eq!(plain(" edge"), "=?base64?IGVkZ2U=?=");
        assert_eq!(plain("Zürich"), "=?base64?WsO8cmljaA==?=");
        assert_eq!(plain("=?base64?eA==?="), "=?base64?PT9iYXNlNjQ/ZUE9PT89?=");
        assert_eq!(plain(""), "");
    }

    #[test]
    fn a_mark_in_the_wrong_place_is_an_error() {
        let check = |schema: Value| mirrors(&schema).unwrap_err();
        assert_eq!(
            check(json!({"properties": {"a": {"type": "number", "x-mcp-header": "A"}}})),
            "the property \"a\" has an x-mcp-header, but is neither a string, an integer nor a boolean"
        );
        assert_eq!(
            check(
                json!({"properties": {"a": {"type": "string", "x-mcp-header": "X"}, "b": {"type": "string", "x-mcp-header": "x"}}})
            ),
            "two properties have the x-mcp-header \"x\""
        );
        assert!(
            check(json!({"properties": {"a": {"type": "string", "x-mcp-header": ""}}}))
                .contains("header's name")
        );
        assert!(
            check(json!({"properties": {"a": {"type": "string", "x-mcp-header": "a b"}}}))
                .contains("header's name")
        );
        assert!(
            check(json!({"properties": {"a": {"type": "string", "x-mcp-header": 1}}})).contains("not text")
        );
        assert!(check(json!({"x-mcp-header": "A"})).contains("the schema itself"));
        assert!(
            check(json!({"properties": {"a": {"items": {"type": "string", "x-mcp-header": "A"}}}}))
                .contains("plain path")
        );
        assert!(
            check(json!({"anyOf": [{"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}]}))
                .contains("plain path")
        );
    }

    #[test]
    fn a_mark_that_is_data_is_none() {
        let schema = json!({"properties": {"a": {"type": "object", "default": {"x-mcp-header": "A"}}}});
        assert_eq!(mirrors(&schema), Ok(Vec::new()));
    }
}
