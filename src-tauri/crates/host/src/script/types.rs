//! TypeScript declarations of what a script may call, made from JSON Schemas.
//!
//! Everything in a schema is a server's: descriptions cannot leave their comment, and what is not understood becomes `unknown`.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::{ScriptApi, ScriptTool, names::identifiers};

/// How deep a type is written out; what is deeper is `unknown`.
const MAX_DEPTH: usize = 10;

/// How many schemas of one tool are written out; what comes after is `unknown`.
const MAX_SCHEMAS: usize = 600;

/// The longest comment, in bytes.
const MAX_COMMENT: usize = 2_000;

const HEADER: &str = "\
/** An integer. Within ±(2^53 − 1) it is a number; beyond, it arrives as a bigint and keeps every digit, also when it is passed on. */
type Integer = number | bigint;
/** Waits. The time counts against the script's limit. */
declare function sleep(ms: number): Promise<void>;
declare const console: {
  log(...values: unknown[]): void;
  info(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
  table(rows: unknown): void;
};
";

/// The declarations of a script's world. They are made from the schemas that `api` carries, and from no other variant's (rule H15).
pub fn types(api: &ScriptApi) -> String {
    let mut text = HEADER.to_owned();
    text.push_str("declare const tools: {\n");
    let servers = identifiers(api.servers.iter().map(|it| it.slug.as_str()));
    for (server, identifier) in api.servers.iter().zip(&servers) {
        comment(&mut text, 1, &other_name(&server.slug, identifier));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {identifier}: {{");
        let tools = identifiers(server.tools.iter().map(|it| it.name.as_str()));
        for (tool, identifier) in server.tools.iter().zip(&tools) {
            write_tool(&mut text, tool, identifier);
        }
        text.push_str("  };\n");
    }
    text.push_str("};\n");
    text
}

fn write_tool(text: &mut String, tool: &ScriptTool, identifier: &str) {
    let mut doc = tool.doc.trim().to_owned();
    let other = other_name(&tool.name, identifier);
    if !other.is_empty() {
        if !doc.is_empty() {
            doc.push_str("\n\n");
        }
        doc.push_str(&other);
    }
    comment(text, 2, &doc);
    let input = tool.input_schema.to_value();
    let optional = input.get("required").and_then(Value::as_array).is_none_or(Vec::is_empty);
    let arguments = Writer::new(&input).write(&input, 2);
    let result = tool.output_schema.as_ref().map_or_else(
        || "unknown".to_owned(),
        |schema| {
            let schema = schema.to_value();
            Writer::new(&schema).write(&schema, 2)
        },
    );
    let mark = if optional { "?" } else { "" };
    let _ = writeln!(text, "    {identifier}(args{mark}: {arguments}): Promise<{result}>;");
}

fn other_name(name: &str, identifier: &str) -> String {
    if name == identifier {
        String::new()
    } else {
        format!("Its own name is {}.", literal(&Value::from(name)))
    }
}

/// Writes one tool's schema; `root` is what `$ref` starts from.
struct Writer<'a> {
    root: &'a Value,
    open_refs: Vec<&'a str>,
    depth: usize,
    written: usize,
}

impl<'a> Writer<'a> {
    fn new(root: &'a Value) -> Self {
        Self { root, open_refs: Vec::new(), depth: 0, written: 0 }
    }

    fn write(&mut self, schema: &'a Value, indent: usize) -> String {
        if self.depth >= MAX_DEPTH || self.written >= MAX_SCHEMAS {
            return "unknown".to_owned();
        }
        self.depth += 1;
        self.written += 1;
        let text = match schema {
            Value::Bool(false) => "never".to_owned(),
            Value::Object(schema) => self.write_object_schema(schema, indent),
            _ => "unknown".to_owned(),
        };
        self.depth -= 1;
        text
    }

    fn write_object_schema(&mut self, schema: &'a Map<String, Value>, indent: usize) -> String {
        if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
            return self.write_ref(target, indent);
        }
        if let Some(value) = schema.get("const") {
            return literal(value);
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return union(values.iter().map(literal).collect());
        }
        if let Some(members) = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array) {
            let union = union(members.iter().map(|it| self.write(it, indent)).collect());
            return if schema.contains_key("properties") {
                format!("{} & {}", self.write_properties(schema, indent), parenthesised(union))
            } else {
                union
            };
        }
        if let Some(members) = schema.get("allOf").and_then(Value::as_array) {
            let mut parts: Vec<String> =
                members.iter().map(|it| parenthesised(self.write(it, indent))).collect();
            if schema.contains_key("properties") {
                parts.insert(0, self.write_properties(schema, indent));
            }
            parts.retain(|it| it != "unknown");
            return if parts.is_empty() { "unknown".to_owned() } else { parts.join(" & ") };
        }
        let mut text = match schema.get("type") {
            Some(Value::String(kind)) => self.write_kind(kind, schema, indent),
            Some(Value::Array(kinds)) => union(
                kinds
                    .iter()
                    .filter_map(Value::as_str)
                    .map(|it| self.write_kind(it, schema, indent))
                    .collect(),
            ),
            _ if schema.contains_key("properties") => self.write_properties(schema, indent),
            _ if schema.contains_key("items") => self.write_kind("array", schema, indent),
            _ => "unknown".to_owned(),
        };
        // The keyword of OpenAPI, which servers write although it is not JSON Schema.
        if schema.get("nullable") == Some(&Value::Bool(true)) && text != "unknown" {
            text = union(vec![text, "null".to_owned()]);
        }
        text
    }

    fn write_kind(&mut self, kind: &str, schema: &'a Map<String, Value>, indent: usize) -> String {
        match kind {
            "string" => "string".to_owned(),
            "number" => "number | bigint".to_owned(),
            "integer" => "Integer".to_owned(),
            "boolean" => "boolean".to_owned(),
            "null" => "null".to_owned(),
            "object" => self.write_properties(schema, indent),
            "array" => self.write_array(schema, indent),
            _ => "unknown".to_owned(),
        }
    }

    fn write_array(&mut self, schema: &'a Map<String, Value>, indent: usize) -> String {
        let tuple = schema.get("prefixItems").or_else(|| schema.get("items").filter(|it| it.is_array()));
        if let Some(members) = tuple.and_then(Value::as_array) {
            let members: Vec<String> = members.iter().map(|it| self.write(it, indent)).collect();
            return format!("[{}]", members.join(", "));
        }
        let item = schema.get("items").map_or_else(|| "unknown".to_owned(), |it| self.write(it, indent));
        format!("{}[]", parenthesised(item))
    }

    fn write_properties(&mut self, schema: &'a Map<String, Value>, indent: usize) -> String {
        let properties = schema.get("properties").and_then(Value::as_object);
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .map(|them| them.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let rest = match schema.get("additionalProperties") {
            Some(Value::Bool(false)) => None,
            Some(Value::Bool(true)) => Some("unknown".to_owned()),
            Some(rest) => Some(self.write(rest, indent + 1)),
            None if properties.is_none_or(Map::is_empty) => Some("unknown".to_owned()),
            None => None,
        };
        let properties = match properties {
            Some(them) if !them.is_empty() => them,
            _ => return rest.map_or_else(|| "{}".to_owned(), |it| format!("Record<string, {it}>")),
        };
        let mut text = "{\n".to_owned();
        for (name, property) in properties {
            if let Some(doc) = property.get("description").and_then(Value::as_str) {
                comment(&mut text, indent + 1, doc);
            }
            let mark = if required.contains(&name.as_str()) { "" } else { "?" };
            let name = property_name(name);
            let kind = self.write(property, indent + 1);
            let _ = writeln!(text, "{}{name}{mark}: {kind};", pad(indent + 1));
        }
        if rest.is_some() {
            // An index signature has to admit the types of the named properties, too.
            let _ = writeln!(text, "{}[key: string]: unknown;", pad(indent + 1));
        }
        text.push_str(&pad(indent));
        text.push('}');
        text
    }

    /// Follows a reference within the schema. A reference that is open already would never end.
    fn write_ref(&mut self, target: &'a str, indent: usize) -> String {
        let pointer = target.strip_prefix('#').filter(|it| it.is_empty() || it.starts_with('/'));
        let found = pointer.and_then(|it| self.root.pointer(it));
        let Some(schema) = found.filter(|_| !self.open_refs.contains(&target)) else {
            return "unknown".to_owned();
        };
        self.open_refs.push(target);
        let text = self.write(schema, indent);
        self.open_refs.pop();
        text
    }
}

fn union(mut members: Vec<String>) -> String {
    let mut unique: Vec<String> = Vec::new();
    for member in members.drain(..) {
        if member == "unknown" {
            return member;
        }
        if !unique.contains(&member) {
            unique.push(member);
        }
    }
    if unique.is_empty() { "never".to_owned() } else { unique.join(" | ") }
}

fn parenthesised(text: String) -> String {
    if text.contains(" | ") || text.contains(" & ") { format!("({text})") } else { text }
}

/// A value as a type. Objects and lists have no literal type that is worth its size.
fn literal(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.to_string(),
        // Lines end at these in old readers of JavaScript, within strings too.
        Value::String(_) => value.to_string().replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029"),
        Value::Array(_) | Value::Object(_) => "unknown".to_owned(),
    }
}

fn property_name(name: &str) -> String {
    let plain = name.starts_with(|it: char| it.is_ascii_alphabetic() || matches!(it, '_' | '$'))
        && name.chars().all(|it| it.is_ascii_alphanumeric() || matches!(it, '_' | '$'));
    if plain { name.to_owned() } else { literal(&Value::from(name)) }
}

fn pad(indent: usize) -> String {
    "  ".repeat(indent)
}

/// Writes a doc comment that its text cannot leave.
fn comment(text: &mut String, indent: usize, doc: &str) {
    let doc = doc.trim();
    if doc.is_empty() {
        return;
    }
    let cut = doc.floor_char_boundary(MAX_COMMENT);
    let mut safe: String = doc[..cut]
        .replace("*/", "*\\/")
        .chars()
        .filter(|it| *it == '\n' || !(it.is_control() || matches!(it, '\u{2028}' | '\u{2029}')))
        .collect();
    if cut < doc.len() {
        safe.push('…');
    }
    let pad = pad(indent);
    if safe.contains('\n') {
        let _ = writeln!(text, "{pad}/**");
        for line in safe.lines() {
            let _ = writeln!(text, "{}", format!("{pad} * {line}").trim_end());
        }
        let _ = writeln!(text, "{pad} */");
    } else {
        let _ = writeln!(text, "{pad}/** {safe} */");
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn check(schema: Value, expected: &Expect) {
        expected.assert_eq(&Writer::new(&schema).write(&schema, 0));
    }

    #[test]
    fn objects_arrays_and_unions() {
        check(
            json!({
                "type": "object", "required": ["id", "a b"], "additionalProperties": false,
                "properties": {
                    "id": {"type": "integer", "description": "Which one. */ declare const evil: 1; /*"},
                    "a b": {"type": ["string", "null"]},
                    "kind": {"enum": ["x", 1, null, "\"; evil"]},
                    "always": {"const": "yes"},
                    "list": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "number"}]}},
                    "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "boolean"}]},
                    "map": {"type": "object", "additionalProperties": {"type": "number"}},
                    "maybe": {"type": "string", "nullable": true},
                    "both": {"allOf": [{"type": "object", "properties": {"a": true}}, {"$ref": "#/$defs/b"}]},
                    "odd": {"not": {}}
                },
                "$defs": {"b": {"type": "object", "properties": {"b": {"type": "string"}}}}
            }),
            &expect![[r#"
                {
                  /** Which one. *\/ declare const evil: 1; /* */
                  id: Integer;
                  "a b": string | null;
                  kind?: "x" | 1 | null | "\"; evil";
                  always?: "yes";
                  list?: (string | number | bigint)[];
                  pair?: [string, boolean];
                  map?: Record<string, number | bigint>;
                  maybe?: string | null;
                  both?: {
                    a?: unknown;
                  } & {
                    b?: string;
                  };
                  odd?: unknown;
                }"#]],
        );
    }

    #[test]
    fn recursion_ends() {
        check(
            json!({"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "properties": {
                "next": {"$ref": "#/$defs/node"}, "far": {"$ref": "https://example.com/x"}
            }}}}),
            &expect![[r#"
                {
                  next?: unknown;
                  far?: unknown;
                }"#]],
        );
        let mut deep = json!({"type": "string"});
        for _ in 0..60 {
            deep = json!({"type": "array", "items": deep});
        }
        check(deep, &expect!["unknown[][][][][][][][][][]"]);
    }

    #[test]
    fn a_wide_schema_stays_bounded() {
        // Each level names the next twice: written out it would have 2^30 members.
        let mut defs = Map::new();
        for level in 0..30 {
            let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
            defs.insert(format!("l{level}"), json!({"type": "object", "properties": {"a": next, "b": next}}));
        }
        let schema = json!({"$ref": "#/$defs/l0", "$defs": defs});
        assert!(Writer::new(&schema).write(&schema, 0).len() < 100_000);
    }

    #[test]
    fn the_whole_world() {
        let tool = |name: &str, doc: &str, input: Value, output: Option<Value>| ScriptTool {
            name: name.to_owned(),
            doc: doc.to_owned(),
            input_schema: input.into(),
            output_schema: output.map(Into::into),
        };
        let city =
            json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
        let server = super::super::ScriptServer {
            slug: "my weather".to_owned(),
            tools: vec![
                tool(
                    "get-forecast",
                    "The forecast.\nBy day. */",
                    city,
                    Some(json!({"type": "object", "properties": {"t": {"type": "integer"}}})),
                ),
                tool("now", "", json!({"type": "object"}), None),
            ],
        };
        expect![[r#"
            declare const tools: {
              /** Its own name is "my weather". */
              my_weather: {
                /**
                 * The forecast.
                 * By day. *\/
                 *
                 * Its own name is "get-forecast".
                 */
                get_forecast(args: {
                  city: string;
                }): Promise<{
                  t?: Integer;
                }>;
                now(args?: Record<string, unknown>): Promise<unknown>;
              };
            };
        "#]]
        .assert_eq(types(&ScriptApi { servers: vec![server] }).strip_prefix(HEADER).unwrap());
    }
}
