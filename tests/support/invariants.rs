//! What every request to a model must be, whatever the conversation did: checked here without any of the product's own code.

use std::collections::BTreeSet;

use serde_json::Value;

/// Everything that is wrong with the body of a request in the OpenAI Chat format, in sentences. Empty when nothing is.
pub fn violations(body: &[u8]) -> Vec<String> {
    let mut wrong = Vec::new();
    let value: Value = match serde_json::from_slice(body) {
        Ok(value) => value,
        Err(error) => return vec![format!("the body is not JSON: {error}")],
    };
    if value["stream"] != true {
        wrong.push("stream is not true".to_owned());
    }
    if value["model"].as_str().is_none_or(str::is_empty) {
        wrong.push("no model is named".to_owned());
    }
    check_tools(&value, &mut wrong);
    match value["messages"].as_array() {
        Some(messages) if !messages.is_empty() => check_messages(messages, &mut wrong),
        Some(_) | None => wrong.push("there are no messages".to_owned()),
    }
    wrong
}

/// The names of the tools that a request offers.
pub fn offered(body: &Value) -> Vec<String> {
    let tools = body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    tools.iter().filter_map(|it| it["function"]["name"].as_str()).map(str::to_owned).collect()
}

fn check_tools(body: &Value, wrong: &mut Vec<String>) {
    let Some(tools) = body.get("tools") else {
        if body.get("tool_choice").is_some() || body.get("parallel_tool_calls").is_some() {
            wrong.push("a choice of tools without tools".to_owned());
        }
        return;
    };
    if tools.as_array().is_none_or(Vec::is_empty) {
        wrong.push("tools is there and has none".to_owned());
    }
    let mut names = BTreeSet::new();
    for (index, tool) in tools.as_array().into_iter().flatten().enumerate() {
        let function = &tool["function"];
        let name = function["name"].as_str().unwrap_or_default();
        if !is_legal_name(name) {
            wrong.push(format!("tools[{index}] has the illegal name {name:?}"));
        }
        if !names.insert(name) {
            wrong.push(format!("tools[{index}] has the name {name:?} of another"));
        }
        if function["strict"] != false {
            wrong.push(format!("{name} has no strict: false"));
        }
        let schema = &function["parameters"];
        if schema["type"] != "object" || !schema["properties"].is_object() {
            wrong.push(format!("the schema of {name} is not an object with properties"));
        }
        for key in ["oneOf", "anyOf", "allOf", "enum", "not"] {
            if schema.get(key).is_some() {
                wrong.push(format!("the schema of {name} has {key} at its root"));
            }
        }
        // Rule H14: the selection is the host's; the model must not even know of it.
        for word in ["requestedOutputs", "outputVariants"] {
            if tool.to_string().contains(word) {
                wrong.push(format!("{name} tells the model of {word}"));
            }
        }
    }
}

fn check_messages(messages: &[Value], wrong: &mut Vec<String>) {
    let mut all_ids = BTreeSet::new();
    let mut at = 0;
    while let Some(message) = messages.get(at) {
        let place = format!("messages[{at}]");
        at += 1;
        match message["role"].as_str() {
            Some("system") if at == 1 => check_text(&message["content"], &place, wrong),
            Some("system") => wrong.push(format!("{place} is a system message that is not the first")),
            Some("user") => check_text(&message["content"], &place, wrong),
            Some("assistant") => {
                let ids = check_assistant(message, &place, wrong);
                for id in &ids {
                    if !all_ids.insert(id.clone()) {
                        wrong.push(format!("{place} has a call with the id {id} of an earlier one"));
                    }
                }
                at = check_results(messages, at, ids, wrong);
            }
            Some("tool") => {
                let id = &message["tool_call_id"];
                wrong.push(format!("{place} is the result {id}, which answers no call directly before it"));
            }
            other => wrong.push(format!("{place} has the role {other:?}")),
        }
    }
    let last = messages.last().and_then(|it| it["role"].as_str());
    if !matches!(last, Some("user" | "tool")) {
        wrong.push(format!("the last message is of {last:?}, so there is nothing to answer"));
    }
}

fn check_assistant(message: &Value, place: &str, wrong: &mut Vec<String>) -> Vec<String> {
    let calls = message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
    if calls.is_empty() && message["content"].as_str().is_none_or(str::is_empty) {
        wrong.push(format!("{place} says nothing and calls nothing"));
    }
    if calls.is_empty() && message.get("tool_calls").is_some() {
        wrong.push(format!("{place} has an empty list of calls"));
    }
    let mut ids = Vec::new();
    for call in calls {
        let id = call["id"].as_str().unwrap_or_default();
        if id.is_empty() || ids.iter().any(|it| it == id) {
            wrong.push(format!("{place} has a call with the id {id:?}"));
        }
        ids.push(id.to_owned());
        let name = call["function"]["name"].as_str().unwrap_or_default();
        if !is_legal_name(name) {
            wrong.push(format!("{place} calls the illegal name {name:?}"));
        }
        let arguments = call["function"]["arguments"].as_str().map(serde_json::from_str::<Value>);
        if !matches!(arguments, Some(Ok(Value::Object(_)))) {
            wrong.push(format!("{place} calls {name} with arguments that are not an object in a string"));
        }
    }
    ids
}

/// Checks that exactly the results of the calls follow. Gives the place of the first message after them.
fn check_results(messages: &[Value], mut at: usize, ids: Vec<String>, wrong: &mut Vec<String>) -> usize {
    let mut open: BTreeSet<String> = ids.into_iter().collect();
    while let Some(message) = messages.get(at).filter(|it| it["role"] == "tool" && !open.is_empty()) {
        let id = message["tool_call_id"].as_str().unwrap_or_default();
        if !open.remove(id) {
            wrong.push(format!("messages[{at}] is a result of {id:?}, which was not called here or has one"));
        }
        check_text(&message["content"], &format!("messages[{at}]"), wrong);
        if message["content"].as_array().into_iter().flatten().any(|it| it["type"] != "text") {
            wrong.push(format!("messages[{at}] is a result with something else than text"));
        }
        at += 1;
    }
    for id in open {
        wrong.push(format!("the call {id} has no result directly after it"));
    }
    at
}

fn check_text(content: &Value, place: &str, wrong: &mut Vec<String>) {
    let is_part = |it: &Value| match it["type"].as_str() {
        Some("text") => it["text"].is_string(),
        Some("image_url") => {
            it["image_url"]["url"].as_str().is_some_and(|url| url.starts_with("data:image/"))
        }
        Some(_) | None => false,
    };
    let fine = match content {
        Value::String(_) => true,
        Value::Array(parts) => !parts.is_empty() && parts.iter().all(is_part),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    };
    if !fine {
        wrong.push(format!("{place} has content that is neither text nor parts"));
    }
}

/// The rule that every provider accepts.
fn is_legal_name(name: &str) -> bool {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts && name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn check(messages: Value, tools: Value, expected: Expect) {
        let mut body = json!({"model": "m", "stream": true, "messages": messages});
        if !tools.is_null() {
            body["tools"] = tools;
        }
        expected.assert_eq(&violations(body.to_string().as_bytes()).join("\n"));
    }

    fn call(id: &str) -> Value {
        json!({"id": id, "type": "function", "function": {"name": "t", "arguments": "{}"}})
    }

    fn result(id: &str) -> Value {
        json!({"role": "tool", "tool_call_id": id, "content": "done"})
    }

    #[test]
    fn an_orderly_conversation_passes() {
        let user = json!({"role": "user", "content": "hi"});
        let calls = json!({"role": "assistant", "content": null, "tool_calls": [call("a"), call("b")]});
        let tool = json!({"type": "function", "function": {
            "name": "s__t", "strict": false, "parameters": {"type": "object", "properties": {}}}});
        check(json!([user, calls, result("b"), result("a")]), json!([tool]), expect![[""]]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let user = json!({"role": "user", "content": "hi"});
        let calls = json!({"role": "assistant", "content": null, "tool_calls": [call("a"), call("b")]});
        check(
            json!([user, calls, result("a"), user]),
            Value::Null,
            expect!["the call b has no result directly after it"],
        );
        check(
            json!([user, calls, result("a"), result("a"), result("b"), result("c")]),
            Value::Null,
            expect![[r#"
                messages[3] is a result of "a", which was not called here or has one
                messages[5] is the result "c", which answers no call directly before it"#]],
        );
        check(
            json!([user]),
            json!([{"function": {"name": "a b", "parameters": {"type": "object", "anyOf": []}}}]),
            expect![[r#"
                tools[0] has the illegal name "a b"
                a b has no strict: false
                the schema of a b is not an object with properties
                the schema of a b has anyOf at its root"#]],
        );
    }
}
