//! The demo model: no weights, no understanding. It matches the words of the last message to the names, descriptions and arguments of the
//! offered tools, calls what fits, and quotes what comes back.
//!
//! It reads the very body that would go to a provider and answers as a provider does, so that everything around it is the real thing.
//! Deliberately absent: knowledge of any particular server.

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use futures::{StreamExt, stream};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{HostText, budget::estimate_tokens, demo_script, demo_words::Words, sse::Chunks};

/// Between two pieces of an answer, so that one sees it stream.
const PAUSE: Duration = Duration::from_millis(14);

/// The most calls that it makes at once.
const MAX_CALLS: usize = 3;

/// What of a request's body the demo reads.
#[derive(Deserialize)]
pub(super) struct Request {
    messages: Vec<Sent>,
    #[serde(default)]
    tools: Vec<SentTool>,
}

#[derive(Deserialize)]
struct Sent {
    role: String,
    #[serde(default)]
    content: Value,
    #[serde(default)]
    tool_call_id: String,
    #[serde(default)]
    tool_calls: Vec<SentCall>,
}

#[derive(Deserialize)]
struct SentCall {
    id: String,
    function: SentName,
}

#[derive(Deserialize)]
struct SentName {
    name: String,
}

#[derive(Deserialize)]
pub(super) struct SentTool {
    pub(super) function: SentFunction,
}

#[derive(Deserialize)]
pub(super) struct SentFunction {
    pub(super) name: String,
    #[serde(default)]
    pub(super) description: String,
    #[serde(default)]
    pub(super) parameters: Value,
}

/// What the demo says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Said {
    Text(String),
    Calls(Vec<(String, Value)>),
}

/// Answers a body as a stream of server-sent events, with small pauses.
pub(super) fn answer(body: &Bytes) -> Chunks {
    let (said, calls_before) = match serde_json::from_slice::<Request>(body) {
        Ok(request) => (say(&request), request.messages.iter().map(|it| it.tool_calls.len()).sum()),
        Err(error) => (Said::Text(format!("The demo model cannot read this request: {error}")), 0),
    };
    let chunks = events(&said, calls_before, estimate_tokens(&String::from_utf8_lossy(body)));
    stream::iter(chunks)
        .then(|it| async move {
            tokio::time::sleep(PAUSE).await;
            Ok(it)
        })
        .boxed()
}

/// What the demo says to a request.
pub(super) fn say(request: &Request) -> Said {
    // Pictures of results come in a user message of their own, which the host heads with its own words.
    let is_pictures =
        |it: &Sent| it.role == "user" && text_of(&it.content).starts_with(&*HostText::ImageHeader.text());
    let spoken = request.messages.iter().rposition(|it| !is_pictures(it));
    match spoken.map(|at| &request.messages[at]) {
        Some(it) if it.role == "tool" => Said::Text(quote(request)),
        Some(it) if it.role == "user" => plan(&text_of(&it.content), &request.tools),
        _ => Said::Text("Ask me something; I am the demo model and match words to tools.".to_owned()),
    }
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|it| it.get("text")?.as_str()).collect::<Vec<_>>().join(" ")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// What fits a message. Where scripts are the only way to call, the calls are written as one.
fn plan(message: &str, tools: &[SentTool]) -> Said {
    let run_script = HostText::RunScriptName.text();
    let Some(script) = tools.iter().find(|it| it.function.name == run_script) else {
        return calls(message, tools);
    };
    let declared = demo_script::declared(&script.function.description);
    match calls(message, &declared) {
        Said::Calls(calls) => {
            let code = demo_script::code(&calls);
            Said::Calls(vec![(run_script.into_owned(), json!({ "code": code }))])
        }
        text @ Said::Text(_) => text,
    }
}

/// The calls that fit a message: at most one for each of its clauses.
fn calls(message: &str, tools: &[SentTool]) -> Said {
    let mut calls: Vec<(String, Value)> = Vec::new();
    let whole = best(message, tools);
    let clauses = Words::clauses(message);
    let found: Vec<_> = clauses.iter().filter_map(|clause| Some((best(clause, tools)?, *clause))).collect();
    let distinct = found
        .iter()
        .enumerate()
        .all(|(at, (tool, _))| found[..at].iter().all(|(it, _)| it.name != tool.name));
    // Clauses count only when each names a tool of its own; "Globex and Initech" is one question.
    if found.len() == clauses.len() && found.len() > 1 && distinct {
        for (tool, clause) in found.into_iter().take(MAX_CALLS) {
            calls.push((tool.name.clone(), arguments(clause, tool)));
        }
    } else if let Some(tool) = whole {
        calls.push((tool.name.clone(), arguments(message, tool)));
    }
    if calls.is_empty() { Said::Text(introduction(tools)) } else { Said::Calls(calls) }
}

fn introduction(tools: &[SentTool]) -> String {
    let own = |it: &SentTool| own_name(&it.function.name).replace(['_', '-'], " ");
    let names: Vec<_> = tools.iter().take(6).map(|it| format!("“{}”", own(it))).collect();
    if names.is_empty() {
        return "I am the demo model. I only match your words to tools, and no tool is switched on. Add a server, or choose a real model."
            .to_owned();
    }
    format!(
        "I am the demo model: I understand nothing and only match your words to tools. Say something close to {}. For real answers, choose another model.",
        names.join(", ")
    )
}

/// The tool whose words fit a message best, if any fits.
fn best<'a>(message: &str, tools: &'a [SentTool]) -> Option<&'a SentFunction> {
    let words = Words::of(message);
    let scored = tools.iter().map(|it| (score(&words, &it.function), &it.function));
    // The first of equals wins, so that the order of the offer decides and not chance.
    scored
        .fold(None, |best: Option<(u32, _)>, (score, tool)| match best {
            Some((top, _)) if top >= score => best,
            _ if score < 3 => best,
            _ => Some((score, tool)),
        })
        .map(|(_, tool)| tool)
}

fn score(words: &Words, tool: &SentFunction) -> u32 {
    let name = Words::of(own_name(&tool.name));
    let description = Words::of(&tool.description);
    let properties = tool.parameters.get("properties").and_then(Value::as_object);
    let keys = Words::of(
        &properties.into_iter().flatten().map(|(key, _)| key.as_str()).collect::<Vec<_>>().join(" "),
    );
    let options = properties
        .into_iter()
        .flatten()
        .flat_map(|(_, it)| it.get("enum").and_then(Value::as_array).into_iter().flatten());
    let options = Words::of(&options.filter_map(Value::as_str).collect::<Vec<_>>().join(" "));
    words.naming(&name) + words.shared(&description) + words.shared(&keys) + words.shared(&options) * 2
}

fn own_name(wire_name: &str) -> &str {
    wire_name.split_once("__").map_or(wire_name, |(_, own)| own)
}

/// Arguments for a tool, taken from a message.
fn arguments(message: &str, tool: &SentFunction) -> Value {
    let about = Words::of(&format!("{} {}", own_name(&tool.name), tool.description));
    let mut texts = Words::subjects(message, &about);
    let mut numbers = Words::numbers(message);
    fill(message, &tool.parameters, &mut texts, &mut numbers)
}

fn fill(
    message: &str,
    schema: &Value,
    texts: &mut Vec<String>,
    numbers: &mut Vec<serde_json::Number>,
) -> Value {
    let mut out = serde_json::Map::new();
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Value::Object(out);
    };
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let is_text = |it: &Value| it.get("type").is_some_and(|it| it == "string") && it.get("enum").is_none();
    let wants_text = required.iter().any(|key| properties.get(*key).is_some_and(is_text));
    let mut may_guess = !wants_text;
    for (key, property) in properties {
        let must = required.contains(&key.as_str());
        let value = if is_text(property) && !must && may_guess && !texts.is_empty() {
            may_guess = false;
            Some(Value::String(texts.remove(0)))
        } else {
            value(message, property, must, texts, numbers)
        };
        out.extend(value.map(|it| (key.clone(), it)));
    }
    Value::Object(out)
}

fn value(
    message: &str,
    schema: &Value,
    must: bool,
    texts: &mut Vec<String>,
    numbers: &mut Vec<serde_json::Number>,
) -> Option<Value> {
    if let Some(options) = schema.get("enum").and_then(Value::as_array) {
        let words = Words::of(message);
        let named = options.iter().find(|it| it.as_str().is_some_and(|it| words.shared(&Words::of(it)) > 0));
        return named.or_else(|| schema.get("default").or(options.first()).filter(|_| must)).cloned();
    }
    if let Some(fixed) = schema.get("const") {
        return must.then(|| fixed.clone());
    }
    let kind = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().find(|it| *it != "null").and_then(Value::as_str),
        Some(it) => it.as_str(),
        None => Some("string"),
    };
    match kind.unwrap_or("string") {
        "integer" | "number" if !numbers.is_empty() => Some(Value::Number(numbers.remove(0))),
        _ if !must => None,
        _ if schema.get("default").is_some() => schema.get("default").cloned(),
        "integer" | "number" => Some(schema.get("minimum").cloned().unwrap_or_else(|| json!(1))),
        "boolean" => Some(json!(true)),
        "object" => Some(fill(message, schema, texts, numbers)),
        "array" => {
            let item = value(message, schema.get("items").unwrap_or(&Value::Null), true, texts, numbers);
            Some(Value::Array(item.into_iter().collect()))
        }
        "null" => Some(Value::Null),
        _ => Some(Value::String(if texts.is_empty() { message.trim().to_owned() } else { texts.remove(0) })),
    }
}

/// A short sentence that quotes the results of the last calls.
fn quote(request: &Request) -> String {
    let calls = request.messages.iter().rev().find(|it| !it.tool_calls.is_empty());
    let names: BTreeMap<&str, &str> = calls
        .into_iter()
        .flat_map(|it| &it.tool_calls)
        .map(|it| (it.id.as_str(), own_name(&it.function.name)))
        .collect();
    let results = request
        .messages
        .iter()
        .rev()
        .take_while(|it| it.tool_calls.is_empty())
        .filter(|it| it.role == "tool");
    let mut parts: Vec<String> = results
        .map(|it| {
            let name = names.get(it.tool_call_id.as_str()).copied().unwrap_or("the tool").replace('_', " ");
            format!("Here is what “{name}” told me:\n\n{}", block_quote(&text_of(&it.content)))
        })
        .collect();
    parts.reverse();
    parts.join("\n\n")
}

/// At most six lines and 420 characters, as a quotation.
fn block_quote(text: &str) -> String {
    let cut: String = text.trim().chars().take(420).collect();
    let lines: Vec<_> = cut.lines().take(6).map(|it| format!("> {it}")).collect();
    let is_cut = cut.len() < text.trim().len() || cut.lines().nth(6).is_some();
    format!("{}{}", lines.join("\n"), if is_cut { " …" } else { "" })
}

/// The answer as server-sent events of the OpenAI Chat format, in small pieces.
pub(super) fn events(said: &Said, calls_before: usize, input_tokens: u64) -> Vec<Bytes> {
    let mut out =
        vec![event(&json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": null}}]}))];
    let mut delta = |delta: Value| out.push(event(&json!({"choices": [{"index": 0, "delta": delta}]})));
    let mut written = 0;
    let finish = match said {
        Said::Text(text) => {
            for piece in Words::pieces(text, 9) {
                written += estimate_tokens(piece);
                delta(json!({"content": piece}));
            }
            "stop"
        }
        Said::Calls(calls) => {
            for (index, (name, arguments)) in calls.iter().enumerate() {
                let id = format!("demo_{}", calls_before + index + 1);
                let function = json!({"name": name, "arguments": ""});
                delta(
                    json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]}),
                );
                for piece in Words::pieces(&arguments.to_string(), 9) {
                    written += estimate_tokens(piece);
                    delta(json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}));
                }
            }
            "tool_calls"
        }
    };
    out.push(event(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})));
    out.push(event(
        &json!({"choices": [], "usage": {"prompt_tokens": input_tokens, "completion_tokens": written}}),
    ));
    out.push(Bytes::from_static(b"data: [DONE]\n\n"));
    out
}

fn event(value: &Value) -> Bytes {
    format!("data: {value}\n\n").into()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn tool(name: &str, description: &str, parameters: Value) -> Value {
        json!({"type": "function", "function": {"name": name, "description": description, "parameters": parameters}})
    }

    fn tools() -> Value {
        let text =
            |key: &str| json!({"type": "object", "properties": {key: {"type": "string"}}, "required": [key]});
        json!([
            tool("shop__search_customers", "Finds customers by name.", text("query")),
            tool(
                "art__make_images",
                "Draws two images.",
                json!({"type": "object", "properties": {"prompt": {"type": "string"}, "count": {"type": "integer", "minimum": 1}}, "required": ["prompt"]})
            ),
            tool(
                "slow__slow_report",
                "Writes a report, slowly.",
                json!({"type": "object", "properties": {"seconds": {"type": "integer"}, "format": {"enum": ["short", "long"]}}})
            ),
            tool(
                "log__list_events",
                "Events of a day.",
                json!({"type": "object", "properties": {"limit": {"type": "integer", "default": 20}}, "required": ["limit"]})
            ),
            tool(
                "desk__create_ticket",
                "Opens a ticket.",
                json!({"type": "object", "properties": {"title": {"type": "string"}, "urgent": {"type": "boolean"}, "level": {"enum": ["low", "high"]}}, "required": ["title", "urgent", "level"]})
            ),
        ])
    }

    fn check(message: &str, expected: Expect) {
        let body = json!({"messages": [{"role": "system", "content": "x"}, {"role": "user", "content": message}], "tools": tools()});
        let text = match say(&serde_json::from_value(body).unwrap()) {
            Said::Text(text) => format!("{text}\n"),
            Said::Calls(calls) => {
                calls.iter().map(|(name, arguments)| format!("{name} {arguments}\n")).collect()
            }
        };
        expected.assert_eq(&text);
    }

    #[test]
    fn words_find_tools_and_fill_arguments() {
        check(
            "Find customers like Globex",
            expect![[r#"
            shop__search_customers {"query":"Globex"}
        "#]],
        );
        check(
            "Which customer is called \"Initech Ltd\"?",
            expect![[r#"
            shop__search_customers {"query":"Initech Ltd"}
        "#]],
        );
        check(
            "show me the clients named Globex and Initech",
            expect![[r#"
            shop__search_customers {"query":"Globex and Initech"}
        "#]],
        );
        check(
            "Draw 3 pictures of a red fox in snow",
            expect![[r#"
            art__make_images {"prompt":"a red fox in snow","count":3}
        "#]],
        );
        check(
            "make an image of a lighthouse",
            expect![[r#"
            art__make_images {"prompt":"a lighthouse"}
        "#]],
        );
        check(
            "run the slow report, the long one, for 5 seconds",
            expect![[r#"
            slow__slow_report {"seconds":5,"format":"long"}
        "#]],
        );
        check(
            "what events were there?",
            expect![[r#"
            log__list_events {"limit":20}
        "#]],
        );
        check(
            "open a high ticket about the printer on floor 2",
            expect![[r#"
            desk__create_ticket {"title":"the printer on floor 2","urgent":true,"level":"high"}
        "#]],
        );
    }

    #[test]
    fn a_thing_says_more_than_a_verb() {
        let tool = |name: &str, description: &str| json!({"type": "function", "function": {"name": name, "description": description}});
        let tools = json!([
            tool("s__show_dashboard", "Every customer, with revenue."),
            tool("s__list_events", "Lists the events of the month."),
            tool("s__search_customers", "Finds customers by a part of their name."),
        ]);
        for (message, expected) in [
            ("Show me the customers of Globex", "s__search_customers"),
            ("show the dashboard", "s__show_dashboard"),
            ("show this month's events", "s__list_events"),
        ] {
            let body = json!({"messages": [{"role": "user", "content": message}], "tools": tools});
            let Said::Calls(calls) = say(&serde_json::from_value(body).unwrap()) else { panic!("{message}") };
            assert_eq!(calls[0].0, expected, "{message}");
        }
    }

    #[test]
    fn clauses_that_name_different_tools_are_called_at_once() {
        check(
            "search customers for Globex and make an image of a castle",
            expect![[r#"
            shop__search_customers {"query":"Globex"}
            art__make_images {"prompt":"a castle"}
        "#]],
        );
    }

    #[test]
    fn what_fits_nothing_is_not_called() {
        check(
            "Hi",
            expect![[r#"
            I am the demo model: I understand nothing and only match your words to tools. Say something close to “search customers”, “make images”, “slow report”, “list events”, “create ticket”. For real answers, choose another model.
        "#]],
        );
        check(
            "What is the meaning of life?",
            expect![[r#"
            I am the demo model: I understand nothing and only match your words to tools. Say something close to “search customers”, “make images”, “slow report”, “list events”, “create ticket”. For real answers, choose another model.
        "#]],
        );
    }

    #[test]
    fn where_only_scripts_call_it_writes_one() {
        let interface = "The interface:\ndeclare const tools: {\n  shop: {\n    search_customers(args: {\n      query: string;\n    }): Promise<unknown>;\n  };\n};";
        let tools = json!([tool("run_script", interface, json!({}))]);
        let body =
            json!({"messages": [{"role": "user", "content": "find customers like Globex"}], "tools": tools});
        let code = json!({"code": "return await tools.shop.search_customers({\"query\":\"Globex\"});"});
        assert_eq!(
            say(&serde_json::from_value(body).unwrap()),
            Said::Calls(vec![("run_script".to_owned(), code)])
        );
    }

    #[test]
    fn results_are_quoted_in_the_order_of_the_calls() {
        let body = json!({"messages": [
            {"role": "user", "content": "customers Globex"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "shop__search_customers", "arguments": "{}"}},
                {"id": "b", "type": "function", "function": {"name": "art__make_images", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "a", "content": "37 customers"},
            {"role": "tool", "tool_call_id": "b", "content": "line 1\nline 2"},
            {"role": "user", "content": [{"type": "text", "text": "Images from the result of tool call b"}]},
        ]});
        let Said::Text(text) = say(&serde_json::from_value(body).unwrap()) else { panic!("not text") };
        expect![[r#"
            Here is what “search customers” told me:

            > 37 customers

            Here is what “make images” told me:

            > line 1
            > line 2"#]]
        .assert_eq(&text);
    }
}
