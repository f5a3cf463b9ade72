//! Results and declarations that broke other hosts, from public reports: each stands for a kind, and says what the model and the user
//! get here.

use expect_test::{Expect, expect};
use serde_json::json;
use usher_engine::Mode;
use usher_protocol::Revision;
use usher_tests::{
    scripted_model::{ScriptedModel, call, say},
    scripted_server::Script,
    stage::{SERVER, Setting, Stage, bodies, ledger, the_call},
};

use super::CHILD;

/// A picture of one pixel.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Declares a tool as in a report, lets the model call it, and says what came of it: its state, what the model read, what the user sees,
/// and what the ledger says of the result.
async fn check(declaration: &str, result: &str, expected: Expect) {
    let folder = tempfile::tempdir().unwrap();
    let script = Script::new(Revision::V2025_11_25.as_str()).tool("reported", declaration, result);
    let stage = Stage::open(&Setting::with(vec![script.cast(SERVER, CHILD, folder.path())])).await;
    let status = stage.ready(SERVER).await;
    assert_eq!(status.rejected, [], "no declaration of a report costs its tool");
    let model = ScriptedModel::start([call([("reported", json!({}))]), say(["Done."])]).await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    let opened = stage.turn(&conversation, "Call it.").await;
    assert_eq!(stage.failure(&conversation).await, None);
    model.assert_orderly();
    let user = String::from_utf8_lossy(&stage.user_sees(&conversation).await).into_owned();
    let user: Vec<&str> = user.lines().filter(|it| !["Call it.", "Done."].contains(it)).collect();
    let facts: Vec<String> = ledger(&opened)
        .into_iter()
        .filter(|it| !it.contains("called without a selection") && !it.starts_with("allowed:") && !it.contains(" came:"))
        .collect();
    expected.assert_eq(
        &format!(
            "{}\nmodel: {}\nuser: {}\n{}",
            the_call(&opened).state.word(),
            model.received()[1].last_results().join("\n"),
            user.join("\n"),
            facts.join("\n")
        )
        .replace(PIXEL, "PIXEL"),
    );
}

#[tokio::test]
async fn structured_content_alone_reaches_the_model_and_the_user() {
    check("{}", r#"{"content":[],"isError":false,"structuredContent":{"id":4021,"unit":7,"lat":10.5,"lon":-3.25}}"#, expect![[""]]).await;
    check("{}", r#"{"content":[],"structuredContent":{"failures":[2],"summary":{"ok":0},"flag":false,"none":[]}}"#, expect![[""]]).await;
    check("{}", r#"{"structuredContent":null,"content":[]}"#, expect![[""]]).await;
}

#[tokio::test]
async fn text_beside_structured_content_is_not_lost() {
    check("{}", r#"{"content":[{"type":"text","text":"The body of the document."}],"structuredContent":{"pages":3}}"#, expect![[""]]).await;
    check(
        "{}",
        r#"{"content":[{"type":"text","text":"IMPORTANT INSTRUCTION\n\n---\n{\"results\":[1]}"}],"structuredContent":{"results":[1]}}"#,
        expect![[""]],
    )
    .await;
}

#[tokio::test]
async fn an_error_says_what_it_says() {
    let strict = r#"{"outputSchema":{"type":"object","properties":{"answer":{"type":"integer"}},"required":["answer"],"additionalProperties":false}}"#;
    check(strict, r#"{"isError":true,"content":[{"type":"text","text":"database connection refused"}],"structuredContent":{"answer":42}}"#, expect![[""]]).await;
    check(strict, r#"{"isError":true,"content":[{"type":"text","text":"no such key"}],"structuredContent":{"error":{"code":"E404"}}}"#, expect![[""]]).await;
}

#[tokio::test]
async fn a_result_that_is_none_is_not_reported_as_success_with_nothing() {
    check("{}", r#"{"anything":"else"}"#, expect![[""]]).await;
    check("{}", r#"{"content":[]}"#, expect![[""]]).await;
}

#[tokio::test]
async fn any_dialect_of_schema_lets_the_call_proceed() {
    let value = r#"{"content":[{"type":"text","text":"ok"}],"structuredContent":{"when":"2026-06-18T11:08:56.483Z"}}"#;
    for schema in [
        r#"{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"when":{"type":"string"}}}"#,
        r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"when":true}}"#,
        "{\"$schema\":\"http://json-schema.org/draft\u{2011}07/schema#\",\"type\":\"object\"}",
    ] {
        check(&format!(r#"{{"outputSchema":{schema}}}"#), value, expect![[""]]).await;
    }
    let wrong = r##"{"outputSchema":{"$defs":{"DateTime":{"type":"object"}},"type":"object","properties":{"when":{"allOf":[{"$ref":"#/$defs/DateTime"}]}}}}"##;
    check(wrong, value, expect![[""]]).await;
    check(r#"{"outputSchema":{"type":"object","required":["items"]}}"#, value, expect![[""]]).await;
}

#[tokio::test]
async fn numbers_keep_their_digits_in_both_directions() {
    check(
        "{}",
        r#"{"content":[],"structuredContent":{"id":1915883588174806058,"more":[9007199254740993,-7108510333361982070,1.0,1e2]}}"#,
        expect![[""]],
    )
    .await;
    // Arguments too.
    let folder = tempfile::tempdir().unwrap();
    let script = Script::new(Revision::V2025_11_25.as_str()).tool("get", "{}", r#"{"content":[]}"#);
    let stage = Stage::open(&Setting::with(vec![script.cast(SERVER, CHILD, folder.path())])).await;
    stage.ready(SERVER).await;
    let wrote = r#"{"id": 2574604874062343519, "share": 1.0}"#;
    let model = ScriptedModel::start([usher_tests::scripted_model::call_with_text("get", wrote), say(["Done."])]).await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    stage.turn(&conversation, "Get it.").await;
    model.assert_orderly();
    let sent = stage.host.wire_lines(Some(SERVER), 0, 1_000);
    let line = sent.iter().find(|it| it.title == "tools/call").unwrap();
    assert!(line.text.contains("2574604874062343519") && line.text.contains("1.0"), "{}", line.text);
    // And in a script, where a number of the language would lose them.
    let (returned, _) = stage.script(&conversation, "return await tools.sample.get({id: 2574604874062343519n})").await;
    let sent = stage.host.wire_lines(Some(SERVER), 0, 1_000);
    let line = sent.iter().rfind(|it| it.title == "tools/call").unwrap();
    assert!(line.text.contains("2574604874062343519"), "{returned:?} {}", line.text);
}

#[tokio::test]
async fn a_picture_is_a_picture_for_the_user_and_never_text_for_the_model() {
    let image = format!(r#"{{"type":"image","data":"{PIXEL}","mimeType":"image/png"}}"#);
    check("{}", &format!(r#"{{"content":[{image}],"structuredContent":{{"ok":true}}}}"#), expect![[""]]).await;
    check("{}", &format!(r#"{{"content":[{image}]}}"#), expect![[""]]).await;
}

#[tokio::test]
async fn resources_links_and_unknown_blocks_are_shown_and_named() {
    check(
        "{}",
        r#"{"content":[{"type":"resource","resource":{"uri":"file:///a.txt","mimeType":"text/plain","text":"Hello"}}]}"#,
        expect![[""]],
    )
    .await;
    check(
        "{}",
        r#"{"content":[{"type":"resource","resource":{"uri":"file:///a.pdf","mimeType":"application/pdf","blob":"JVBERi0="}}]}"#,
        expect![[""]],
    )
    .await;
    check("{}", r#"{"content":[{"type":"resource_link","uri":"file:///a","name":"a"}]}"#, expect![[""]]).await;
    check("{}", r#"{"content":[{"type":"hologram","data":"x"},{"type":"text","text":"beside it"}]}"#, expect![[""]]).await;
}

#[tokio::test]
async fn blocks_for_the_user_alone_stay_with_the_user_and_the_model_has_its_result() {
    check(
        "{}",
        r#"{"content":[{"type":"text","text":"for you","annotations":{"audience":["user"]}}]}"#,
        expect![[""]],
    )
    .await;
    check(
        "{}",
        r#"{"content":[{"type":"text","text":"for you","annotations":{"audience":["user"]}},{"type":"text","text":"for the model","annotations":{"audience":["assistant"]}},{"type":"text","text":"for both","annotations":{"audience":["user","assistant"]}}]}"#,
        expect![[""]],
    )
    .await;
}

/// The names that a model is offered for tools with these names, and that each can be called.
#[tokio::test]
async fn names_and_schemas_that_providers_refuse_are_made_legal_or_left_out_alone() {
    let folder = tempfile::tempdir().unwrap();
    let result = r#"{"content":[{"type":"text","text":"ok"}]}"#;
    let long = "a".repeat(120);
    let mut script = Script::new(Revision::V2025_11_25.as_str());
    for name in ["files.read/all", "with space", long.as_str(), "ünïcödé", "1st"] {
        script = script.tool(name, "{}", result);
    }
    for (name, schema) in [
        ("union", r#"{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{},"b":{}}}"#),
        ("boolean", r#"{"type":"object","properties":{"data":true,"n":{"type":["null","boolean"]}}}"#),
        ("items", r#"{"type":"object","properties":{"list":{"type":"array"},"e":{"enum":[true]}}}"#),
        ("no-type", r#"{"properties":{"a":{"type":"string"}}}"#),
        ("hostile", r#"{"type":7}"#),
    ] {
        script = script.tool(name, &format!(r#"{{"inputSchema":{schema}}}"#), result);
    }
    let stage = Stage::open(&Setting::with(vec![script.cast(SERVER, CHILD, folder.path())])).await;
    stage.ready(SERVER).await;
    let model = ScriptedModel::choosing(|request| {
        let is_first = request.json["messages"].as_array()?.last()?["role"] == "user";
        let offered = request.offered();
        Some(if is_first { usher_tests::scripted_model::call_all(&offered) } else { say(["Done."]) })
    })
    .await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    let opened = stage.turn(&conversation, "Call them all.").await;
    assert_eq!(stage.failure(&conversation).await, None);
    model.assert_orderly();
    expect![[""]].assert_eq(&model.received()[0].offered().join("\n"));
    let states: Vec<String> =
        opened.calls.values().map(|it| format!("{} {}", it.tool.replace(&long, "aaa…"), it.state.word())).collect();
    let mut states = states;
    states.sort();
    expect![[""]].assert_eq(&states.join("\n"));
    assert!(!bodies(&model).is_empty());
}

/// A result larger than any context is cut for the model and kept whole for the user.
#[tokio::test]
async fn a_result_larger_than_the_context_is_cut_for_the_model_alone() {
    let folder = tempfile::tempdir().unwrap();
    let text = "All work and no play. ".repeat(200_000);
    let result = json!({"content": [{"type": "text", "text": text}]}).to_string();
    let script = Script::new(Revision::V2025_11_25.as_str()).tool("read", "{}", &result);
    let stage = Stage::open(&Setting::with(vec![script.cast(SERVER, CHILD, folder.path())])).await;
    stage.ready(SERVER).await;
    let model = ScriptedModel::start([call([("read", json!({}))]), say(["Long."])]).await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    let opened = stage.turn(&conversation, "Read it.").await;
    assert_eq!(stage.failure(&conversation).await, None);
    model.assert_orderly();
    let told = model.received()[1].last_results().join("");
    assert!(told.len() < text.len() / 2 && told.contains("cut to fit"), "{} bytes", told.len());
    let delivery = &the_call(&opened).deliveries[0];
    assert!(stage.host.payload(&delivery.handle).await.unwrap().get().len() > text.len());
}
