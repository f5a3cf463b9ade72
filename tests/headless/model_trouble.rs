//! A model endpoint that refuses, stalls, breaks off or talks nonsense: one clear message, nothing lost, and the conversation goes on.

use std::time::Duration;

use expect_test::{Expect, expect};
use serde_json::json;
use usher_engine::Mode;
use usher_host::conversation::{CallState, Channel, HostEvent, ItemBody, TurnState};
use usher_tests::{
    scripted_model::{
        Answer, Gate, ScriptedModel, call, call_unknown, call_with_text, half_event, refuse, say, stall,
    },
    stage::{SERVER, Setting, Stage, the_call, within},
};

use super::CHILD;

/// A turn that the model spoils, and one after it.
async fn check(spoilt: Answer, expected: Expect) {
    let mut setting = Setting::sample(CHILD, &[""; 0]);
    setting.patience.stall = Duration::from_secs(2);
    let stage = Stage::open(&setting).await;
    stage.ready(SERVER).await;
    let mut first = Some(spoilt);
    let model = ScriptedModel::choosing(move |_| first.take().or_else(|| Some(say(["I am back."])))).await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    stage.turn(&conversation, "Hello").await;
    let failure = stage.failure(&conversation).await.unwrap_or_else(|| "no failure".to_owned());
    let failures = stage
        .events()
        .iter()
        .filter(|it| matches!(it, HostEvent::Turn { turn: TurnState::Failed(_), .. }))
        .count();
    assert!(failures <= 1, "one message, not {failures}");
    let kept: Vec<String> = texts(&stage, &conversation).await;
    stage.turn(&conversation, "Again").await;
    assert_eq!(stage.failure(&conversation).await, None);
    model.assert_orderly();
    let port = model.base_url();
    let port = port.rsplit(':').next().unwrap().trim_end_matches("/v1");
    expected.assert_eq(&format!("{}\nkept: {}", failure.replace(port, "PORT"), kept.join(" | ")));
    let last = texts(&stage, &conversation).await;
    assert_eq!(last.last().map(String::as_str), Some("I am back."));
}

async fn texts(stage: &Stage, conversation: &str) -> Vec<String> {
    let opened = stage.opened(conversation).await;
    opened
        .items
        .iter()
        .filter(|it| matches!(it.body, ItemBody::User | ItemBody::Assistant(_)) && !it.text.is_empty())
        .map(|it| it.text.clone())
        .collect()
}

#[tokio::test]
async fn refusals_say_what_to_do() {
    check(refuse(401, r#"{"error":{"message":"Incorrect API key provided"}}"#), expect![[r#"
        The provider at http://127.0.0.1:PORT/v1/chat/completions did not accept the key (401): Incorrect API key provided. Your message is saved, and so is every result so far. Enter the provider's key again in the settings.
        kept: Hello"#]]).await;
    check(refuse(404, r#"{"error":{"message":"model not found"}}"#), expect![[r#"
        The provider at http://127.0.0.1:PORT/v1/chat/completions does not know the model "scripted-1" or the address: model not found. Your message is saved, and so is every result so far. Choose a model that the provider lists (the test button shows them), or add /v1 to the address.
        kept: Hello"#]]).await;
    check(refuse(429, r#"{"error":{"message":"slow down"}}"#), expect![[r#"
        The provider takes no more requests at the moment: slow down. Your message is saved, and so is every result so far. Wait a little and try again.
        kept: Hello"#]]).await;
    check(refuse(500, "<html>oops</html>"), expect![[r#"
        The provider answered with status 500: <html>oops</html>. Your message is saved, and so is every result so far. Try again.
        kept: Hello"#]]).await;
    let named = r#"{"error":{"message":"Invalid 'tools[1].function.name'"}}"#;
    check(refuse(400, named), expect![[r#"
        The provider refused the request (400): Invalid 'tools[1].function.name'. Your message is saved, and so is every result so far. Switch off the tool sample__show_dashboard, or look at its schema in the list of the server's tools.
        kept: Hello"#]]).await;
}

#[tokio::test]
async fn silence_is_ended_and_what_came_is_kept() {
    check(stall(), expect![[r#"
        The provider sent nothing for 2 seconds. What arrived is kept. A call that was not complete was not made. Try again. A large local model may need longer for its first word.
        kept: Hello"#]]).await;
    check(Answer::new().text(["Once upon", " a time"]).silence(), expect![[r#"
        The provider sent nothing for 2 seconds. What arrived is kept. A call that was not complete was not made. Try again. A large local model may need longer for its first word.
        kept: Hello | Once upon a time"#]]).await;
}

#[tokio::test]
async fn half_an_answer_is_kept_and_not_taken_for_a_whole_one() {
    check(half_event("Half of"), expect![[r#"
        The answer was cut off before it was complete (unexpected EOF during chunk size line). What arrived is kept. A call that was not complete was not made. Try again.
        kept: Hello | Half of"#]]).await;
    check(Answer::new().text(["No end"]), expect![[r#"
        The answer was cut off before it was complete. What arrived is kept. A call that was not complete was not made. Try again.
        kept: Hello | No end"#]]).await;
    check(
        Answer::new().text(["Odd "]).bytes(b"data: {nonsense}\n\n").text(["but whole"]).finish("stop"),
        expect![[r#"
        no failure
        kept: Hello | Odd but whole"#]],
    )
    .await;
    check(Answer::new().text(["One"]).bytes(b"data: {\"error\":{\"message\":\"overloaded\"}}\n\n"), expect![[r#"
        The provider reported an error while it answered: overloaded. What arrived is kept. A call that was not complete was not made. Try again.
        kept: Hello | One"#]]).await;
}

/// A turn in which the model calls something that cannot be called; the model is told, and answers.
async fn told(wrong: Answer, expected: Expect) {
    let stage = Stage::open(&Setting::sample(CHILD, &[""; 0])).await;
    stage.ready(SERVER).await;
    let model = ScriptedModel::start([wrong, say(["I see."])]).await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    stage.turn(&conversation, "Hello").await;
    assert_eq!(stage.failure(&conversation).await, None);
    model.assert_orderly();
    let sent = stage.host.wire_lines(Some(SERVER), 0, 10_000);
    assert!(!sent.iter().any(|it| it.title == "tools/call"), "nothing was called");
    expected.assert_eq(&model.received()[1].last_results().join("\n"));
}

#[tokio::test]
async fn calls_that_cannot_be_made_are_told_to_the_model_and_not_made() {
    told(
        call_unknown("sample__no_such_tool"),
        expect!["No tool of this name was offered. Nothing was called."],
    )
    .await;
    told(
        call_with_text("search_customers", r#"{"query": "Glo"#),
        expect!["The arguments were not one JSON object, so the tool was not called."],
    )
    .await;
    told(
        call_with_text("search_customers", r#"["Globex"]"#),
        expect!["The arguments were not one JSON object, so the tool was not called."],
    )
    .await;
    told(
        call([("search_customers", json!({"query": 7}))]),
        expect![[r#"
        The arguments do not fit the tool's input schema, so the tool was not called:
        /query: 7 is not of type "string""#]],
    )
    .await;
    // An app-only tool is not one that the model may call, even if it guesses the name.
    told(
        call_unknown("sample__refresh_dashboard"),
        expect!["No tool of this name was offered. Nothing was called."],
    )
    .await;
}

#[tokio::test]
async fn h14_a_selection_that_the_model_writes_is_an_argument_and_selects_nothing() {
    let stage = Stage::open(&Setting::sample(CHILD, &[""; 0])).await;
    stage.ready(SERVER).await;
    let written =
        json!({"prompt": "the sea", "requestedOutputs": [{"audience": "user", "format": "content"}]});
    let model = ScriptedModel::start([call([("make_images", written.clone())]), say(["Done."])]).await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    let opened = stage.turn(&conversation, "Draw.").await;
    assert_eq!(stage.failure(&conversation).await, None);
    // The arguments fit the tool's schema, so that the call is made.
    assert_eq!(the_call(&opened).state, CallState::Done);
    let lines = stage.host.wire_lines(Some(SERVER), 0, 10_000);
    let sent = lines.iter().find(|it| it.title == "tools/call" && it.channel == Channel::ToServer).unwrap();
    let sent: serde_json::Value = serde_json::from_str(&sent.text).unwrap();
    assert_eq!(sent["params"]["arguments"], written);
    expect![[r#"[{"audience":"assistant","format":"content"},{"audience":"user","format":"content"}]"#]]
        .assert_eq(&sent["params"]["requestedOutputs"].to_string());
    // Neither does the model learn of what was selected, nor is it offered the choice.
    model.assert_orderly();
    let mut told = model.received()[1].json.clone();
    for message in told["messages"].as_array_mut().unwrap() {
        message.as_object_mut().unwrap().remove("tool_calls");
    }
    assert!(!told.to_string().contains("requestedOutputs"), "{told}");
}

#[tokio::test]
async fn a_call_that_the_output_limit_cut_is_not_made() {
    let stage = Stage::open(&Setting::sample(CHILD, &[""; 0])).await;
    stage.ready(SERVER).await;
    let cut = call_with_text("search_customers", r#"{"query": "Globex"}"#).ending("length");
    let model = ScriptedModel::choosing({
        let mut answers = vec![say(["I see."]), say(["I see."]), cut];
        move |_| answers.pop()
    })
    .await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    stage.turn(&conversation, "Hello").await;
    stage.turn(&conversation, "Again").await;
    model.assert_orderly();
    let sent = stage.host.wire_lines(Some(SERVER), 0, 10_000);
    assert!(!sent.iter().any(|it| it.title == "tools/call"), "a call that may be incomplete is not made");
}

#[tokio::test]
async fn a_stopped_answer_keeps_what_came_and_the_conversation_goes_on() {
    let stage = Stage::open(&Setting::sample(CHILD, &[""; 0])).await;
    stage.ready(SERVER).await;
    let gate = Gate::default();
    let long = Answer::new().text(["The first part."]).gate(&gate).text([" Never seen."]).finish("stop");
    let model = ScriptedModel::start([long, say(["Yes."])]).await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    stage.host.send_message(&conversation, "Tell me.", Default::default()).await.unwrap();
    stage
        .told(|event| match event {
            HostEvent::Text { text, .. } if text.contains("first part") => Some(()),
            _ => None,
        })
        .await;
    stage.host.stop_turn(&conversation).await;
    within(model.dropped(0)).await;
    stage.ended(&conversation).await;
    assert_eq!(stage.failure(&conversation).await, None, "stopping is not a failure");
    let texts = texts(&stage, &conversation).await;
    assert_eq!(texts, ["Tell me.", "The first part."]);
    stage.turn(&conversation, "Go on?").await;
    assert_eq!(stage.failure(&conversation).await, None);
    model.assert_orderly();
}

#[tokio::test]
async fn a_turn_stopped_in_the_middle_of_a_call_leaves_an_orderly_history() {
    let stage = Stage::open(&Setting::sample(CHILD, &["--hang"])).await;
    stage.ready(SERVER).await;
    let model =
        ScriptedModel::start([call([("search_customers", json!({"query": "Globex"}))]), say(["Yes."])]).await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    stage.host.send_message(&conversation, "Search.", Default::default()).await.unwrap();
    stage.running_call().await;
    stage.host.stop_turn(&conversation).await;
    stage.ended(&conversation).await;
    assert_eq!(model.received().len(), 1, "the model is not asked again");
    stage.turn(&conversation, "Are you there?").await;
    model.assert_orderly();
}

#[tokio::test]
async fn parallel_calls_and_conversations_never_cross() {
    let stage = Stage::open(&Setting::sample(CHILD, &[""; 0])).await;
    stage.ready(SERVER).await;
    // Each conversation asks for its own number of rows, slow and fast calls mixed, the same tool twice.
    let model = ScriptedModel::choosing(|request| {
        let messages = request.json["messages"].as_array()?;
        if messages.last()?["role"] == "tool" {
            return Some(say(["Done."]));
        }
        let rows: u32 = messages.last()?["content"].as_str()?.parse().ok()?;
        Some(call([
            ("slow_report", json!({"seconds": 1, "steps": rows})),
            ("list_events", json!({"rows": rows})),
            ("list_events", json!({"rows": rows + 100})),
        ]))
    })
    .await;
    let mut conversations = Vec::new();
    for rows in [3, 5, 7] {
        let conversation = stage.conversation(Mode::Chat, &model).await;
        stage.host.send_message(&conversation, &rows.to_string(), Default::default()).await.unwrap();
        conversations.push((conversation, rows));
    }
    for (conversation, _) in &conversations {
        stage.ended(conversation).await;
        assert_eq!(stage.failure(conversation).await, None);
    }
    model.assert_orderly();
    let finished: Vec<_> = model.received().into_iter().filter(|it| !it.last_results().is_empty()).collect();
    assert_eq!(finished.len(), 3);
    for request in finished {
        let messages = request.json["messages"].as_array().unwrap();
        let rows: u32 = messages
            .iter()
            .find(|it| it["role"] == "user")
            .and_then(|it| it["content"].as_str())
            .and_then(|it| it.parse().ok())
            .unwrap();
        let result = |slot: usize| {
            let id = messages.iter().find_map(|it| it["tool_calls"][slot]["id"].as_str()).unwrap();
            let found = messages.iter().find(|it| it["tool_call_id"] == *id).unwrap();
            usher_tests::scripted_model::text_of(&found["content"])
        };
        assert!(result(0).contains(&format!("in {rows} steps")), "{}", result(0));
        assert!(result(1).contains(&format!("{rows} ")), "{}", result(1));
        assert!(result(2).contains(&format!("{} ", rows + 100)), "{}", result(2));
    }
}
