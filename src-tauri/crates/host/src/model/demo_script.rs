//! How the demo model writes a script: it reads the declared interface line by line and calls what fits.
//!
//! The interface is the text that any model is given. Deliberately absent: a TypeScript parser; what is not in the plain form of a
//! declaration is passed over.

use serde_json::{Map, Value, json};

use super::demo::{SentFunction, SentTool};

/// The tools that an interface declares, named `server__tool`.
pub(super) fn declared(interface: &str) -> Vec<SentTool> {
    let mut tools: Vec<SentTool> = Vec::new();
    let (mut server, mut comment) = (String::new(), String::new());
    // Members stand in a tool's arguments until its result begins.
    let (mut is_in_tools, mut is_in_arguments) = (false, false);
    for line in interface.lines() {
        let text = line.trim();
        let depth = line.len() - line.trim_start().len();
        if let Some(rest) = text.strip_prefix("/**") {
            comment = rest.trim_end_matches("*/").trim().to_owned();
        } else if text.starts_with('*') {
            if !comment.is_empty() {
                comment.push(' ');
            }
            comment.push_str(text.trim_start_matches('*').trim_start_matches('/').trim());
        } else if text.starts_with("declare const tools") {
            is_in_tools = true;
        } else if !is_in_tools {
            comment.clear();
        } else if depth == 2 && text.ends_with('{') {
            server = identifier(text).to_owned();
            comment.clear();
        } else if depth == 4 && text.contains("(args") {
            is_in_arguments = text.ends_with('{');
            let name = format!("{server}__{}", identifier(text));
            let parameters = json!({"type": "object", "properties": {}, "required": []});
            tools.push(SentTool {
                function: SentFunction { name, description: std::mem::take(&mut comment), parameters },
            });
        } else if depth == 6
            && let Some((key, kind)) = text.split_once(": ")
            && let Some(tool) = tools.last_mut().filter(|_| is_in_arguments)
        {
            let must = !key.ends_with('?');
            let key = key.trim_end_matches('?').trim_matches('"');
            tool.function.parameters["properties"][key] = schema(kind.trim_end_matches(';'));
            if let Some(required) = tool.function.parameters["required"].as_array_mut().filter(|_| must) {
                required.push(Value::from(key));
            }
            comment.clear();
        } else if depth == 4 {
            is_in_arguments = false;
        }
    }
    tools
}

/// A script that makes the calls and returns what they give.
pub(super) fn code(calls: &[(String, Value)]) -> String {
    let call = |(name, arguments): &(String, Value)| {
        let (server, tool) = name.split_once("__").unwrap_or(("", name));
        format!("tools.{server}.{tool}({arguments})")
    };
    match calls {
        [one] => format!("return await {};", call(one)),
        several => format!(
            "return await Promise.all([\n  {},\n]);",
            several.iter().map(call).collect::<Vec<_>>().join(",\n  ")
        ),
    }
}

fn identifier(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$').next().unwrap_or_default()
}

fn schema(kind: &str) -> Value {
    let members: Vec<&str> = kind.split(" | ").filter(|it| *it != "null").collect();
    let literals: Vec<Value> = members
        .iter()
        .filter(|it| it.starts_with('"'))
        .filter_map(|it| serde_json::from_str(it).ok())
        .collect();
    if !literals.is_empty() && literals.len() == members.len() {
        return json!({ "enum": literals });
    }
    match members.first().copied().unwrap_or_default() {
        "string" => json!({"type": "string"}),
        "Integer" | "number" => json!({"type": "number"}),
        "boolean" => json!({"type": "boolean"}),
        it if it.ends_with("[]") => json!({"type": "array", "items": schema(it.trim_end_matches("[]"))}),
        _ => Value::Object(Map::from_iter([("type".to_owned(), json!("object"))])),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_declared_interface_is_read_and_called() {
        let interface = r#"Runs a program.
type Integer = number | bigint;
declare function sleep(ms: number): Promise<void>;
declare const tools: {
  my_shop: {
    /**
     * Finds customers.
     */
    search_customers(args: {
      /** A part of the name. */
      query: string;
      limit?: Integer;
      region?: "north" | "south" | null;
    }): Promise<{
      rows: string[];
    }>;
    now(args?: Record<string, unknown>): Promise<unknown>;
  };
};
"#;
        let tools = declared(interface);
        let lines: String = tools
            .iter()
            .map(|it| {
                format!("{} | {} | {}\n", it.function.name, it.function.description, it.function.parameters)
            })
            .collect();
        expect![[r#"
            my_shop__search_customers | Finds customers.  | {"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"number"},"region":{"enum":["north","south"]}},"required":["query"]}
            my_shop__now |  | {"type":"object","properties":{},"required":[]}
        "#]].assert_eq(&lines);
        let calls = [
            ("my_shop__search_customers".to_owned(), json!({"query": "Globex"})),
            ("my_shop__now".to_owned(), json!({})),
        ];
        expect![[r#"
            return await tools.my_shop.search_customers({"query":"Globex"});
            return await Promise.all([
              tools.my_shop.search_customers({"query":"Globex"}),
              tools.my_shop.now({}),
            ]);"#]]
        .assert_eq(&format!("{}\n{}", code(&calls[..1]), code(&calls)));
    }
}
