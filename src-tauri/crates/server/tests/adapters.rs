//! One server, written once, as clients of each revision meet it on a line.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering::Relaxed},
};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines};
use usher_server::{
    AnyTool, Call, Change, Failure, Question, Server, ToolBuilder,
    protocol::{
        Revision,
        common::ContentBlock,
        model::{Selector, UiLink},
    },
    stdio,
};

/// A client that writes lines and reads lines.
struct Client {
    to: DuplexStream,
    from: Lines<BufReader<DuplexStream>>,
    revision: Revision,
    capabilities: Value,
}

impl Client {
    /// Begins to speak to a server, under a revision.
    async fn meet(server: &Arc<Server>, revision: Revision, capabilities: Value) -> Self {
        let (to, stdin) = tokio::io::duplex(1 << 16);
        let (stdout, from) = tokio::io::duplex(1 << 16);
        tokio::spawn(stdio::serve(server.clone(), stdin, stdout));
        let mut client = Self { to, from: BufReader::new(from).lines(), revision, capabilities };
        if revision.has_handshake() {
            let capabilities = client.capabilities.clone();
            let hello = json!({"protocolVersion": revision, "capabilities": capabilities,
                "clientInfo": {"name": "test", "version": "1"}});
            client
                .write(&json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello}))
                .await;
            let answer = client.read().await;
            assert_eq!(answer["result"]["protocolVersion"], json!(revision));
        }
        client
    }

    async fn write(&mut self, message: &Value) {
        self.to.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn read(&mut self) -> Value {
        serde_json::from_str(&self.from.next_line().await.unwrap().unwrap()).unwrap()
    }

    async fn ask(&mut self, id: u32, method: &str, mut params: Value) {
        if self.revision.has_request_meta() {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.revision,
                "io.modelcontextprotocol/clientCapabilities": self.capabilities,
            });
        }
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
    }

    /// The answer to a request.
    async fn get(&mut self, id: u32, method: &str, params: Value) -> Value {
        self.ask(id, method, params).await;
        let answer = self.read().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer.get("result").or_else(|| answer.get("error")).unwrap().clone()
    }
}

fn sum() -> Box<dyn AnyTool> {
    ToolBuilder::new("sum", "Adds up")
        .content(Selector::ASSISTANT_CONTENT, |it: &u32| vec![ContentBlock::text(format!("It is {it}."))])
        .structured(Selector::ASSISTANT_STRUCTURED, json!({"type": "object"}), |it| {
            Ok(json!({"sum": it}).into())
        })
        .structured(Selector::PROGRAMMATIC, json!({"type": "integer"}), |it| Ok(json!(it).into()))
        .handler(|_: Call| async { Ok(7) })
        .unwrap()
}

#[tokio::test]
async fn k02_a_mirror_is_made_for_revisions_that_recommend_it_only() {
    let server = Arc::new(Server::new("t", "1").tool(sum()));
    let call = json!({"name": "sum", "arguments": {},
        "requestedOutputs": [{"audience": "assistant", "format": "structured"}]});
    for revision in Revision::ALL {
        let mut client = Client::meet(&server, revision, json!({})).await;
        let result = client.get(1, "tools/call", call.clone()).await;
        if revision.has_output_variants() {
            let outputs =
                json!([{"audience": "assistant", "format": "structured", "structuredContent": {"sum": 7}}]);
            assert_eq!(result["outputs"], outputs);
            assert!(result.get("content").is_none());
        } else {
            let mut content = vec![json!({"type": "text", "text": "It is 7."})];
            if revision.has_structured_content() {
                content.push(json!({"type": "text", "text": r#"{"sum":7}"#}));
                assert_eq!(result["structuredContent"], json!({"sum": 7}));
            }
            assert_eq!(result["content"], json!(content), "{revision}");
        }
    }
}

#[tokio::test]
async fn k03_one_declaration_has_the_shape_of_each_revision() {
    let server = Arc::new(Server::new("t", "1").tool(sum()));
    for revision in Revision::ALL {
        let mut client = Client::meet(&server, revision, json!({})).await;
        let listed = client.get(1, "tools/list", json!({})).await;
        let tool = &listed["tools"][0];
        assert_eq!(tool.get("outputVariants").is_some(), revision.has_output_variants(), "{revision}");
        let expected = revision.has_structured_content().then(|| json!({"type": "object"}));
        assert_eq!(tool.get("outputSchema").cloned(), expected, "{revision}");
    }
}

/// As the README says to move a tool that had `content`, one `outputSchema`, and data for an App in `structuredContent`.
#[tokio::test]
async fn k04_a_tool_that_moved_gives_old_clients_what_it_gave() {
    let for_model = json!({"type": "object", "properties": {"matches": {"type": "integer"}}});
    let for_view = json!({"type": "object", "properties": {"rows": {"type": "array"}}});
    let moved = ToolBuilder::new("find", "Finds")
        .content(Selector::ASSISTANT_CONTENT, |it: &Vec<u32>| vec![ContentBlock::text(format!("{it:?}"))])
        .structured(Selector::ASSISTANT_STRUCTURED, for_model.clone(), |it| {
            Ok(json!({"matches": it.len()}).into())
        })
        .structured(Selector::ui(), for_view, |it| Ok(json!({"rows": it}).into()))
        .handler(|_: Call| async { Ok(vec![1, 2]) })
        .unwrap();
    let server = Arc::new(Server::new("t", "1").tool(moved));
    let views =
        json!({"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}});
    let mut old = Client::meet(&server, Revision::V2025_11_25, views.clone()).await;
    assert_eq!(old.get(1, "tools/list", json!({})).await["tools"][0]["outputSchema"], for_model);
    let result = old.get(2, "tools/call", json!({"name": "find", "arguments": {}})).await;
    assert_eq!(result["structuredContent"], json!({"matches": 2}));
    assert!(!result.to_string().contains("rows"), "{result}");
    let mut new = Client::meet(&server, Revision::NEWEST, views).await;
    let asked = json!({"name": "find", "arguments": {},
        "requestedOutputs": [{"audience": "io.modelcontextprotocol/ui", "format": "structured"}]});
    let outputs = new.get(1, "tools/call", asked).await["outputs"].clone();
    assert_eq!(outputs[0]["structuredContent"], json!({"rows": [1, 2]}));
}

/// A tool may keep what it gave to Views of earlier revisions. It is read there and nowhere else, and replaces what is for the model.
#[tokio::test]
async fn k04_a_tool_may_keep_what_its_old_views_read() {
    let before = json!({"type": "object", "properties": {"rows": {"type": "array"}}});
    let ran = Arc::new(AtomicU32::new(0));
    let runs = ran.clone();
    let moved = ToolBuilder::new("find", "Finds")
        .content(Selector::ASSISTANT_CONTENT, |it: &Vec<u32>| vec![ContentBlock::text(format!("{it:?}"))])
        .structured(Selector::ASSISTANT_STRUCTURED, json!({"type": "object"}), |it| {
            Ok(json!({"matches": it.len()}).into())
        })
        .structured_before(before.clone(), |it| Ok(json!({"rows": it}).into()))
        .handler(move |_: Call| {
            runs.fetch_add(1, Relaxed);
            async { Ok(vec![1, 2]) }
        })
        .unwrap();
    let server = Arc::new(Server::new("t", "1").tool(moved));
    for revision in Revision::ALL {
        let mut client = Client::meet(&server, revision, json!({})).await;
        let tool = client.get(1, "tools/list", json!({})).await["tools"][0].clone();
        let call = json!({"name": "find", "arguments": {},
            "requestedOutputs": [{"audience": "assistant", "format": "structured"}]});
        let result = client.get(2, "tools/call", call).await;
        let is_kept = revision.has_structured_content() && !revision.has_output_variants();
        assert_eq!(tool.get("outputSchema"), is_kept.then_some(&before), "{revision}");
        assert_eq!(
            result.get("structuredContent"),
            is_kept.then_some(&json!({"rows": [1, 2]})),
            "{revision}"
        );
        assert_eq!(result.to_string().contains("rows"), is_kept, "{revision}: {result}");
        assert_eq!(result.to_string().contains("matches"), revision.has_output_variants(), "{result}");
    }
    assert_eq!(ran.load(Relaxed), u32::try_from(Revision::ALL.len()).unwrap(), "it runs once for a call");
    // It is checked as any other before it leaves, and when it is declared.
    let wrong = |schema: Value| {
        ToolBuilder::new("t", "T")
            .content(Selector::ASSISTANT_CONTENT, |(): &()| Vec::new())
            .structured_before(schema, |()| Ok(json!(1).into()))
            .handler(|_: Call| async { Ok(()) })
    };
    assert!(wrong(json!({"type": "nothing"})).is_err());
    let server = Arc::new(Server::new("t", "1").tool(wrong(json!({"type": "object"})).unwrap()));
    let mut client = Client::meet(&server, Revision::V2025_11_25, json!({})).await;
    assert_eq!(client.get(1, "tools/call", json!({"name": "t", "arguments": {}})).await["code"], -32603);
}

/// A tool for Views alone is not listed to a client without them, which might offer it to its model (X7). By its name it is still
/// there, and gives what every tool gives.
#[tokio::test]
async fn x7_a_tool_for_views_alone_is_listed_to_clients_that_have_views() {
    let refresh = |name: &str, visible_to_model| {
        ToolBuilder::new(name, "Refreshes")
            .view(UiLink { resource_uri: None, visible_to_model, visible_to_app: true })
            .content(Selector::ASSISTANT_CONTENT, |(): &()| vec![ContentBlock::text("fresh")])
            .structured(Selector::ui(), json!({"type": "object"}), |()| Ok(json!({"rows": []}).into()))
            .handler(|_: Call| async { Ok(()) })
            .unwrap()
    };
    let server = Arc::new(Server::new("t", "1").tool(refresh("own", false)).tool(refresh("both", true)));
    let views = |types: Value| json!({"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": types}}});
    for revision in Revision::ALL {
        for (capabilities, expected) in [
            (views(json!(["text/html;profile=mcp-app"])), &["own", "both"][..]),
            (views(json!(["text/html"])), &["both"]),
            (json!({}), &["both"]),
        ] {
            let mut client = Client::meet(&server, revision, capabilities).await;
            let listed = client.get(1, "tools/list", json!({})).await;
            let names = listed["tools"].as_array().unwrap().iter().filter_map(|it| it["name"].as_str());
            assert_eq!(names.collect::<Vec<_>>(), expected, "{revision}");
            let called = client.get(2, "tools/call", json!({"name": "own", "arguments": {}})).await;
            assert!(called.to_string().contains("fresh") && !called.to_string().contains("rows"), "{called}");
        }
    }
}

#[tokio::test]
async fn a_batch_is_answered_as_one_where_there_are_batches() {
    let server = Arc::new(Server::new("t", "1").tool(sum()));
    let batch = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/x"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "sum", "arguments": {}}},
    ]);
    let mut client = Client::meet(&server, Revision::V2025_03_26, json!({})).await;
    client.write(&batch).await;
    let ids: Vec<Value> = client.read().await.as_array().unwrap().iter().map(|it| it["id"].clone()).collect();
    assert_eq!(ids, [1, 2]);
    let mut client = Client::meet(&server, Revision::V2025_06_18, json!({})).await;
    client.write(&batch).await;
    assert_eq!(client.read().await["error"]["code"], -32700);
}

/// A tool that asks twice, and counts how often it ran.
fn curious(ran: &Arc<AtomicU32>) -> Box<dyn AnyTool> {
    let ran = ran.clone();
    ToolBuilder::new("curious", "Asks")
        .content(Selector::ASSISTANT_CONTENT, |it: &String| vec![ContentBlock::text(it)])
        .handler(move |call: Call| {
            ran.fetch_add(1, Relaxed);
            async move {
                let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
                let first = call.ask("first", &Question::form("Your name?", &schema)).await?;
                let second = call.ask("second", &Question::form("Your friend's?", &schema)).await?;
                if second["action"] == "decline" {
                    return Err(Failure::of("Without a friend there is nothing to say."));
                }
                Ok(format!("{} and {}", first["content"]["name"], second["content"]["name"]))
            }
        })
        .unwrap()
}

fn named(name: &str) -> Value {
    json!({"action": "accept", "content": {"name": name}})
}

#[tokio::test]
async fn a_handler_asks_in_the_way_of_the_revision() {
    let ran = Arc::new(AtomicU32::new(0));
    let server = Arc::new(Server::new("t", "1").tool(curious(&ran)));
    let able = json!({"elicitation": {}});
    // Under the handshake the questions are requests, and the handler waits.
    let mut client = Client::meet(&server, Revision::V2025_11_25, able.clone()).await;
    client.ask(1, "tools/call", json!({"name": "curious", "arguments": {}})).await;
    for name in ["Ada", "Bob"] {
        let question = client.read().await;
        assert_eq!(question["method"], "elicitation/create");
        client.write(&json!({"jsonrpc": "2.0", "id": question["id"], "result": named(name)})).await;
    }
    let answer = client.read().await;
    assert_eq!(answer["result"]["content"][0]["text"], r#""Ada" and "Bob""#);
    assert_eq!(ran.swap(0, Relaxed), 1);
    // Since then the call is repeated with the answers, from whichever process answers it.
    let mut params = json!({"name": "curious", "arguments": {}});
    for (id, (key, name)) in (1..).zip([("first", "Ada"), ("second", "Bob")]) {
        let mut client = Client::meet(&server, Revision::NEWEST, able.clone()).await;
        let asked = client.get(id, "tools/call", params.clone()).await;
        assert_eq!(asked["resultType"], "input_required");
        assert_eq!(asked["inputRequests"].as_object().unwrap().keys().collect::<Vec<_>>(), [key]);
        params["requestState"] = asked["requestState"].clone();
        params["inputResponses"] = json!({key: named(name)});
    }
    let mut client = Client::meet(&server, Revision::NEWEST, able).await;
    let result = client.get(3, "tools/call", params).await;
    assert_eq!(result["outputs"][0]["content"][0]["text"], r#""Ada" and "Bob""#);
    assert_eq!(ran.load(Relaxed), 3);
}

#[tokio::test]
async fn who_cannot_be_asked_is_told_so() {
    let server = Arc::new(Server::new("t", "1").tool(curious(&Arc::default())));
    let call = json!({"name": "curious", "arguments": {}});
    let mut client = Client::meet(&server, Revision::NEWEST, json!({})).await;
    let refused = client.get(1, "tools/call", call.clone()).await;
    assert_eq!(refused["code"], -32021);
    assert_eq!(refused["data"]["requiredCapabilities"], json!({"elicitation": {}}));
    let mut client = Client::meet(&server, Revision::V2025_06_18, json!({})).await;
    assert_eq!(client.get(1, "tools/call", call).await["isError"], true);
}

#[tokio::test]
async fn a_handler_that_panics_costs_its_own_call_only() {
    let broken = ToolBuilder::new("broken", "Breaks")
        .content(Selector::ASSISTANT_CONTENT, |(): &()| Vec::new())
        .handler(|call: Call| async move {
            assert_eq!(call.arguments.get(), "fine");
            Ok(())
        })
        .unwrap();
    let server = Arc::new(Server::new("t", "1").tool(broken).tool(sum()));
    let mut client = Client::meet(&server, Revision::NEWEST, json!({})).await;
    assert_eq!(client.get(1, "tools/call", json!({"name": "broken", "arguments": {}})).await["code"], -32603);
    assert!(
        client.get(2, "tools/call", json!({"name": "sum", "arguments": {}})).await.get("outputs").is_some()
    );
}

#[tokio::test]
async fn changes_are_told_in_the_way_of_the_revision() {
    let server = Arc::new(Server::new("t", "1").tool(sum()).announces_changes());
    let mut old = Client::meet(&server, Revision::V2025_03_26, json!({})).await;
    let mut new = Client::meet(&server, Revision::NEWEST, json!({})).await;
    new.ask(1, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}})).await;
    assert_eq!(new.read().await["method"], "notifications/subscriptions/acknowledged");
    server.changed(Change::Prompts);
    server.changed(Change::Tools);
    // The server has no prompts, so nobody can have asked for their list.
    let told = new.read().await;
    assert_eq!(told["method"], "notifications/tools/list_changed");
    assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    let methods = [old.read().await, old.read().await].map(|it| it["method"].clone());
    assert_eq!(methods, ["notifications/prompts/list_changed", "notifications/tools/list_changed"]);
}
