//! Results and declarations that broke other hosts, from public reports: each stands for a kind, and says what the model and the user
//! get here.

use expect_test::{Expect, expect};
use serde_json::json;
use usher_engine::{Mode, routing::LegacyPolicy};
use usher_protocol::Revision;
use usher_tests::{
    scripted_model::{ScriptedModel, call, say},
    scripted_server::Script,
    stage::{SERVER, Setting, Stage, bodies, ledger, the_call},
};

mod hosts;
mod table;

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
        .filter(|it| {
            !it.contains("called without a selection")
                && !it.starts_with("allowed:")
                && !it.contains(" came:")
        })
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
    check(
        "{}",
        r#"{"content":[],"isError":false,"structuredContent":{"id":4021,"unit":7,"lat":10.5,"lon":-3.25}}"#,
        expect![[r#"
        done
        model: {"id":4021,"unit":7,"lat":10.5,"lon":-3.25}
        user: 
        {"id":4021,"unit":7,"lat":10.5,"lon":-3.25}
        structuredContent not validated: no schema is declared
        structuredContent to the model, as JSON
        structuredContent to you, as properties"#]],
    )
    .await;
    check(
        "{}",
        r#"{"content":[],"structuredContent":{"failures":[2],"summary":{"ok":0},"flag":false,"none":[]}}"#,
        expect![[r#"
        done
        model: {"failures":[2],"summary":{"ok":0},"flag":false,"none":[]}
        user: 
        {"failures":[2],"summary":{"ok":0},"flag":false,"none":[]}
        structuredContent not validated: no schema is declared
        structuredContent to the model, as JSON
        structuredContent to you, as properties"#]],
    )
    .await;
    check(
        "{}",
        r#"{"structuredContent":null,"content":[]}"#,
        expect![[r#"
        done
        model: null
        user: 
        null
        structuredContent not validated: no schema is declared
        structuredContent to the model, as JSON
        structuredContent to you, as JSON"#]],
    )
    .await;
}

#[tokio::test]
async fn text_beside_structured_content_is_not_lost() {
    check(
        "{}",
        r#"{"content":[{"type":"text","text":"The body of the document."}],"structuredContent":{"pages":3}}"#,
        expect![[r#"
        done
        model: The body of the document.
        user: 
        {"pages":3}
        content to the model, one block
        structuredContent not validated: no schema is declared
        structuredContent to you, as properties
        content is a lossy summary: structuredContent has one more value"#]],
    )
    .await;
    check(
        "{}",
        r#"{"content":[{"type":"text","text":"IMPORTANT INSTRUCTION\n\n---\n{\"results\":[1]}"}],"structuredContent":{"results":[1]}}"#,
        expect![[r#"
            done
            model: IMPORTANT INSTRUCTION

            ---
            {"results":[1]}
            user: 
            {"results":[1]}
            content to the model, one block
            structuredContent not validated: no schema is declared
            structuredContent to you, as properties"#]],
    )
    .await;
}

#[tokio::test]
async fn an_error_says_what_it_says() {
    let strict = r#"{"outputSchema":{"type":"object","properties":{"answer":{"type":"integer"}},"required":["answer"],"additionalProperties":false}}"#;
    check(strict, r#"{"isError":true,"content":[{"type":"text","text":"database connection refused"}],"structuredContent":{"answer":42}}"#, expect![[r#"
        tool_error
        model: The tool reported an error:
        database connection refused
        user: 
        {"answer":42}
        [{"type":"text","text":"database connection refused"}]
        content to the model, one block
        structuredContent not validated: an error need not fit the schema of a success
        structuredContent to you, as properties
        content to you, in the transcript"#]]).await;
    check(strict, r#"{"isError":true,"content":[{"type":"text","text":"no such key"}],"structuredContent":{"error":{"code":"E404"}}}"#, expect![[r#"
        tool_error
        model: The tool reported an error:
        no such key
        user: 
        {"error":{"code":"E404"}}
        [{"type":"text","text":"no such key"}]
        content to the model, one block
        structuredContent not validated: an error need not fit the schema of a success
        structuredContent to you, as properties
        content to you, in the transcript"#]]).await;
}

#[tokio::test]
async fn a_result_that_is_none_is_not_reported_as_success_with_nothing() {
    check(
        "{}",
        r#"{"anything":"else"}"#,
        expect![[r#"
        done
        model: The tool finished and returned nothing.
        user: 
        {"anything":"else"}
        the whole result to you, as properties
        the result has neither content nor structuredContent
        the model is told that the tool gave it nothing"#]],
    )
    .await;
    check(
        "{}",
        r#"{"content":[]}"#,
        expect![[r#"
        done
        model: The tool finished and returned nothing.
        user: 
        {"content":[]}
        the whole result to you, as properties
        the result has neither content nor structuredContent
        the model is told that the tool gave it nothing"#]],
    )
    .await;
}

#[tokio::test]
async fn any_dialect_of_schema_lets_the_call_proceed() {
    let value = r#"{"content":[{"type":"text","text":"ok"}],"structuredContent":{"when":"2026-06-18T11:08:56.483Z"}}"#;
    let draft_07 = r#"{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"when":{"type":"string"}}}"#;
    let draft_2020 = r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"when":true}}"#;
    let unknown = "{\"$schema\":\"http://json-schema.org/draft\u{2011}07/schema#\",\"type\":\"object\"}";
    let declare = |schema: &str| format!(r#"{{"outputSchema":{schema}}}"#);
    check(
        &declare(draft_07),
        value,
        expect![[r#"
        done
        model: ok
        user: 
        {"when":"2026-06-18T11:08:56.483Z"}
        content to the model, one block
        structuredContent fits its schema
        structuredContent to you, as properties
        content is a lossy summary: structuredContent has one more value"#]],
    )
    .await;
    check(
        &declare(draft_2020),
        value,
        expect![[r#"
        done
        model: ok
        user: 
        {"when":"2026-06-18T11:08:56.483Z"}
        content to the model, one block
        structuredContent fits its schema
        structuredContent to you, as properties
        content is a lossy summary: structuredContent has one more value"#]],
    )
    .await;
    check(
        &declare(unknown),
        value,
        expect![[r#"
        done
        model: ok
        user: 
        {"when":"2026-06-18T11:08:56.483Z"}
        content to the model, one block
        structuredContent not validated: the dialect http://json-schema.org/draft‑07/schema# is not known
        structuredContent to you, as properties
        content is a lossy summary: structuredContent has one more value"#]],
    )
    .await;
    let wrong = r##"{"outputSchema":{"$defs":{"DateTime":{"type":"object"}},"type":"object","properties":{"when":{"allOf":[{"$ref":"#/$defs/DateTime"}]}}}}"##;
    check(
        wrong,
        value,
        expect![[r#"
        done
        model: ok
        user: 
        {"when":"2026-06-18T11:08:56.483Z"}
        content to the model, one block
        structuredContent does not fit its schema at /when: "2026-06-18T11:08:56.483Z" is not of type "object"
        structuredContent to you, as properties
        content is a lossy summary: structuredContent has one more value"#]],
    )
    .await;
    check(
        r#"{"outputSchema":{"type":"object","required":["items"]}}"#,
        value,
        expect![[r#"
        done
        model: ok
        user: 
        {"when":"2026-06-18T11:08:56.483Z"}
        content to the model, one block
        structuredContent does not fit its schema: "items" is a required property
        structuredContent to you, as properties
        content is a lossy summary: structuredContent has one more value"#]],
    )
    .await;
}

#[tokio::test]
async fn numbers_keep_their_digits_in_both_directions() {
    check(
        "{}",
        r#"{"content":[],"structuredContent":{"id":1915883588174806058,"more":[9007199254740993,-7108510333361982070,1.0,1e2]}}"#,
        expect![[r#"
            done
            model: {"id":1915883588174806058,"more":[9007199254740993,-7108510333361982070,1.0,1e2]}
            user: 
            {"id":1915883588174806058,"more":[9007199254740993,-7108510333361982070,1.0,1e2]}
            structuredContent not validated: no schema is declared
            structuredContent to the model, as JSON
            structuredContent to you, as properties"#]],
    )
    .await;
    // Arguments too.
    let folder = tempfile::tempdir().unwrap();
    let script = Script::new(Revision::V2025_11_25.as_str()).tool("get", "{}", r#"{"content":[]}"#);
    let stage = Stage::open(&Setting::with(vec![script.cast(SERVER, CHILD, folder.path())])).await;
    stage.ready(SERVER).await;
    let wrote = r#"{"id": 2574604874062343519, "share": 1.0}"#;
    let model =
        ScriptedModel::start([usher_tests::scripted_model::call_with_text("get", wrote), say(["Done."])])
            .await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    stage.turn(&conversation, "Get it.").await;
    model.assert_orderly();
    let sent = stage.host.wire_lines(Some(SERVER), 0, 1_000);
    let line = sent.iter().find(|it| it.title == "tools/call").unwrap();
    assert!(line.text.contains("2574604874062343519") && line.text.contains("1.0"), "{}", line.text);
    // And in a script, where a number of the language would lose them.
    let (returned, _) =
        stage.script(&conversation, "return await tools.sample.get({id: 2574604874062343519n})").await;
    let sent = stage.host.wire_lines(Some(SERVER), 0, 1_000);
    let line = sent.iter().rfind(|it| it.title == "tools/call").unwrap();
    assert!(line.text.contains("2574604874062343519"), "{returned:?} {}", line.text);
}

#[tokio::test]
async fn a_picture_is_a_picture_for_the_user_and_never_text_for_the_model() {
    let image = format!(r#"{{"type":"image","data":"{PIXEL}","mimeType":"image/png"}}"#);
    check(
        "{}",
        &format!(r#"{{"content":[{image}],"structuredContent":{{"ok":true}}}}"#),
        expect![[r#"
        done
        model: [an image of this result is in the next message]
        user: 
        {"ok":true}
        [{"type":"image","data":"PIXEL","mimeType":"image/png"}]
        content to the model, one block
        structuredContent not validated: no schema is declared
        structuredContent to you, as properties
        content to you, in the transcript"#]],
    )
    .await;
    check(
        "{}",
        &format!(r#"{{"content":[{image}]}}"#),
        expect![[r#"
        done
        model: [an image of this result is in the next message]
        user: 
        [{"type":"image","data":"PIXEL","mimeType":"image/png"}]
        content to the model, one block
        content to you, in the transcript"#]],
    )
    .await;
}

#[tokio::test]
async fn resources_links_and_unknown_blocks_are_shown_and_named() {
    check(
        "{}",
        r#"{"content":[{"type":"resource","resource":{"uri":"file:///a.txt","mimeType":"text/plain","text":"Hello"}}]}"#,
        expect![[r#"
            done
            model: Resource file:///a.txt of type text/plain:
            Hello
            user: 
            [{"type":"resource","resource":{"uri":"file:///a.txt","mimeType":"text/plain","text":"Hello"}}]
            content to the model, one block
            content to you, in the transcript"#]],
    )
    .await;
    check(
        "{}",
        r#"{"content":[{"type":"resource","resource":{"uri":"file:///a.pdf","mimeType":"application/pdf","blob":"JVBERi0="}}]}"#,
        expect![[r#"
            done
            model: [resource application/pdf 5 bytes not sent: this model does not take it; the user can see it]
            user: 
            [{"type":"resource","resource":{"uri":"file:///a.pdf","mimeType":"application/pdf","blob":"JVBERi0="}}]
            content to the model, one block
            content to you, in the transcript"#]],
    )
    .await;
    check(
        "{}",
        r#"{"content":[{"type":"resource_link","uri":"file:///a","name":"a"}]}"#,
        expect![[r#"
        done
        model: {"type":"resource_link","uri":"file:///a","name":"a"}
        user: 
        [{"type":"resource_link","uri":"file:///a","name":"a"}]
        content to the model, one block
        content to you, in the transcript"#]],
    )
    .await;
    check(
        "{}",
        r#"{"content":[{"type":"hologram","data":"x"},{"type":"text","text":"beside it"}]}"#,
        expect![[r#"
        done
        model: [a block of unknown type, 30 bytes, not sent]

        beside it
        user: 
        [{"type":"hologram","data":"x"},{"type":"text","text":"beside it"}]
        content to the model, 2 blocks
        content to you, in the transcript"#]],
    )
    .await;
}

#[tokio::test]
async fn blocks_for_the_user_alone_stay_with_the_user_and_the_model_has_its_result() {
    check(
        "{}",
        r#"{"content":[{"type":"text","text":"for you","annotations":{"audience":["user"]}}]}"#,
        expect![[r#"
            done
            model: The output was shown to the user. It is not repeated here.
            user: 
            [{"type":"text","text":"for you","annotations":{"audience":["user"]}}]
            content to you, in the transcript
            the model is told that the output was shown to you"#]],
    )
    .await;
    check(
        "{}",
        r#"{"content":[{"type":"text","text":"for you","annotations":{"audience":["user"]}},{"type":"text","text":"for the model","annotations":{"audience":["assistant"]}},{"type":"text","text":"for both","annotations":{"audience":["user","assistant"]}}]}"#,
        expect![[r#"
            done
            model: for the model

            for both
            user: 
            [{"type":"text","text":"for you","annotations":{"audience":["user"]}},{"type":"text","text":"for the model","annotations":{"audience":["assistant"]}},{"type":"text","text":"for both","annotations":{"audience":["user","assistant"]}}]
            content to the model, 2 blocks
            content to you, in the transcript"#]],
    )
    .await;
}

/// A summary without the rows, a mirror of them, and a text that says something else.
#[tokio::test]
async fn halves_of_a_result_that_do_not_say_the_same_are_told_and_can_be_turned_round_for_the_tool() {
    let rows = r#"{"chats":[{"id":"c-1","name":"Ada"},{"id":"c-2","name":"Bo"}],"total":2}"#;
    let result = |text: &str| json!({"content": [{"type": "text", "text": text}]}).to_string();
    let with = |text: &str| result(text).replace("]}", &format!("],\"structuredContent\":{rows}}}"));
    check(
        "{}",
        &with("Retrieved 2 chats."),
        expect![[r#"
            done
            model: Retrieved 2 chats.
            user: 
            {"chats":[{"id":"c-1","name":"Ada"},{"id":"c-2","name":"Bo"}],"total":2}
            content to the model, one block
            structuredContent not validated: no schema is declared
            structuredContent to you, as a table, 2 rows
            content is a lossy summary: structuredContent has 4 more values"#]],
    )
    .await;
    check(
        "{}",
        &with(rows),
        expect![[r#"
            done
            model: {"chats":[{"id":"c-1","name":"Ada"},{"id":"c-2","name":"Bo"}],"total":2}
            user: 
            {"chats":[{"id":"c-1","name":"Ada"},{"id":"c-2","name":"Bo"}],"total":2}
            content to the model, one block
            structuredContent not validated: no schema is declared
            structuredContent to you, as a table, 2 rows"#]],
    )
    .await;
    check(
        "{}",
        &with(r#"{"chats":[],"total":3}"#),
        expect![[r#"
            done
            model: {"chats":[],"total":3}
            user: 
            {"chats":[{"id":"c-1","name":"Ada"},{"id":"c-2","name":"Bo"}],"total":2}
            content to the model, one block
            structuredContent not validated: no schema is declared
            structuredContent to you, as a table, 2 rows
            content and structuredContent differ in 3 places"#]],
    )
    .await;
    // The user turns it round for this tool, and the model reads the rows.
    let folder = tempfile::tempdir().unwrap();
    let script = Script::new(Revision::V2025_11_25.as_str()).tool("chats", "{}", &with("Retrieved 2 chats."));
    let stage = Stage::open(&Setting::with(vec![script.cast(SERVER, CHILD, folder.path())])).await;
    stage.ready(SERVER).await;
    stage.host.set_legacy_policy(SERVER, "chats", LegacyPolicy::StructuredFirst).await.unwrap();
    let model = ScriptedModel::start([call([("chats", json!({}))]), say(["Done."])]).await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    stage.turn(&conversation, "Call it.").await;
    assert_eq!(model.received()[1].last_results(), [rows]);
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
        (
            "union",
            r#"{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{},"b":{}}}"#,
        ),
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
    expect![[r#"
        sample__files_read_all_92672a94
        sample__with_space_7540a434
        sample__aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa_b43c430e
        sample___n_c_d__b7f6ac15
        sample__1st
        sample__union
        sample__boolean
        sample__items
        sample__no-type"#]]
    .assert_eq(&model.received()[0].offered().join("\n"));
    let states: Vec<String> = opened
        .calls
        .values()
        .map(|it| format!("{} {}", it.tool.replace(&long, "aaa…"), it.state.word()))
        .collect();
    let mut states = states;
    states.sort();
    expect![[r#"
        1st done
        aaa… done
        boolean done
        files.read/all done
        items done
        no-type done
        union failed
        with space done
        ünïcödé done"#]]
    .assert_eq(&states.join("\n"));
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

/// More declarations than a model has room for: as many as fit are offered, and the ledger says so.
#[tokio::test]
async fn too_many_tools_for_a_model_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let result = r#"{"content":[{"type":"text","text":"ok"}]}"#;
    let described = json!({"description": "It does what it does. ".repeat(150)}).to_string();
    let mut script = Script::new(Revision::V2025_11_25.as_str());
    for number in 0..118 {
        script = script.tool(&format!("tool_{number}"), &described, result);
    }
    let stage = Stage::open(&Setting::with(vec![script.cast(SERVER, CHILD, folder.path())])).await;
    stage.ready(SERVER).await;
    let model = ScriptedModel::choosing(|_| Some(say(["Hi."]))).await;
    let conversation = stage.small_conversation(&model, 8_192).await;
    stage.turn(&conversation, "Hi").await;
    model.assert_orderly();
    let sent: Vec<String> = model
        .received()
        .iter()
        .map(|it| format!("{} tools, {} kB", it.offered().len(), it.body.len() / 1000))
        .collect();
    let opened = stage.opened(&conversation).await;
    expect![[r#"
        None
        3 tools, 10 kB
        the request was shortened to fit the model"#]]
    .assert_eq(&format!(
        "{:?}\n{}\n{}",
        stage.failure(&conversation).await,
        sent.join("\n"),
        ledger(&opened).join("\n")
    ));
}

#[tokio::test]
async fn h05_an_error_is_shown_unvalidated() {
    let stage = Stage::open(&Setting::sample(CHILD, &[""; 0])).await;
    stage.ready(SERVER).await;
    let model =
        ScriptedModel::start([call([("open_ticket", json!({"subject": "x"}))]), say(["Done."])]).await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    let opened = stage.turn(&conversation, "Open a ticket.").await;
    let record = the_call(&opened);
    assert_eq!(record.state.word(), "tool_error");
    let verdicts: Vec<String> = record
        .deliveries
        .iter()
        .filter_map(|it| {
            it.verdict.as_ref().map(|verdict| format!("{}: {}", it.source.name(), verdict.line()))
        })
        .collect();
    expect!["user/structured: not validated: an error need not fit the schema of a success"]
        .assert_eq(&verdicts.join("\n"));
}
