//! Prompts and resources: shown before they are sent, sent as they were shown, and nothing else of a server to the model.

use std::collections::BTreeMap;

use serde_json::json;
use usher_engine::Mode;
use usher_host::conversation::{BroughtKind, ItemBody, SourceKind};
use usher_tests::{
    scripted_model::{ScriptedModel, say},
    scripted_server::Script,
    stage::{SERVER, Setting, Stage},
};

use super::CHILD;

/// A server whose one prompt has every kind of block, and two resources.
fn script() -> Script {
    Script::new("2025-11-25")
        .answering(
            "prompts/list",
            r#"{"prompts":[{"name":"every","arguments":[{"name":"a","required":true}]},{"name":"empty"},7]}"#,
        )
        .answering(
            "prompts/get every",
            r#"{"description":"d","messages":[
              {"role":"user","content":{"type":"text","text":"Say \"hi\".\nNow."}},
              {"role":"assistant","content":{"type":"text","text":"I say hi."}},
              {"role":"user","content":{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo="}},
              {"role":"user","content":{"type":"audio","mimeType":"audio/wav","data":"UklGRg=="}},
              {"role":"user","content":{"type":"resource_link","uri":"a:linked","name":"linked"}},
              {"role":"user","content":{"type":"resource","resource":{"uri":"a:in","mimeType":"text/plain","text":"embedded words"}}},
              {"role":"assistant","content":{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo="}},
              {"role":"user","content":{"type":"hologram","depth":3}},
              {"role":"user","content":[]},
              "no message"]}"#,
        )
        .answering("prompts/get empty", r#"{"messages":[]}"#)
        .answering("completion/complete", r#"{"completion":{"values":["paris","park"],"hasMore":true}}"#)
        .answering(
            "resources/list",
            r#"{"resources":[{"uri":"a:one","name":"one","mimeType":"text/plain"},{"uri":"a:two","name":"two"},{}]}"#,
        )
        .answering(
            "resources/templates/list",
            r#"{"resourceTemplates":[{"uriTemplate":"a:{name}{?q}","name":"any"}]}"#,
        )
        .answering("resources/read a:one", r#"{"contents":[{"uri":"a:one","text":"canary-attached"}]}"#)
        .answering("resources/read a:two", r#"{"contents":[{"uri":"a:two","text":"canary-only-seen"}]}"#)
        .answering("resources/read a:x%20y?q=1", r#"{"contents":[{"uri":"a:x","text":"filled in"}]}"#)
}

async fn stage() -> (Stage, tempfile::TempDir, Setting) {
    let folder = tempfile::tempdir().unwrap();
    let setting = Setting::with(vec![script().cast(SERVER, CHILD, folder.path())]);
    let stage = Stage::open(&setting).await;
    stage.ready(SERVER).await;
    (stage, folder, setting)
}

fn told(values: &[(&str, &str)]) -> BTreeMap<String, String> {
    values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[tokio::test]
async fn a_prompt_is_read_before_it_is_sent_and_sent_as_it_was_read() {
    let (stage, _script, setting) = stage().await;
    let model = ScriptedModel::start([say(["Hi."]), say(["Still."])]).await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    let listed = stage.host.list_prompts().await;
    let names: Vec<&str> = listed.prompts.iter().map(|it| it.prompt.name.as_str()).collect();
    assert_eq!((names, listed.failed.len()), (vec!["every", "empty"], 0));
    let completion =
        stage.host.complete_prompt_argument(SERVER, "every", "a", "pa", &told(&[])).await.unwrap();
    assert_eq!((completion.values.join(" "), completion.has_more), ("paris park".to_owned(), true));

    let fetched = stage.host.use_prompt(SERVER, "every", told(&[("a", "paris")])).await.unwrap();
    // What waits can be looked at, and neither the model nor the conversation has any of it.
    assert_eq!(stage.host.blocks(&fetched.parts[0].handle).await.unwrap().len(), 1);
    assert!(stage.opened(&conversation).await.items.is_empty() && model.received().is_empty());
    stage.host.send_prompt(&conversation, &fetched.id).await.unwrap();
    let opened = stage.ended(&conversation).await;
    assert_eq!(stage.failure(&conversation).await, None);
    assert_eq!(opened.summary.title, "/every");

    let request = &model.received()[0];
    let messages = request.json["messages"].as_array().unwrap();
    let said: Vec<(&str, String)> = messages[1..]
        .iter()
        .map(|it| {
            (
                it["role"].as_str().unwrap(),
                it["content"].as_str().map_or_else(|| it["content"].to_string(), str::to_owned),
            )
        })
        .collect();
    assert_eq!(said[0], ("user", "Say \"hi\".\nNow.".to_owned()));
    assert_eq!(said[1], ("assistant", "I say hi.".to_owned()));
    assert_eq!(
        messages[3]["content"],
        json!([{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}])
    );
    assert!(said[3].1.starts_with("[audio audio/wav 4 bytes not sent"), "{said:?}");
    assert!(said[4].1.contains("a:linked"), "{said:?}");
    assert_eq!(said[5], ("user", "Resource a:in of type text/plain:\nembedded words".to_owned()));
    assert!(said[6].0 == "assistant" && said[6].1.starts_with("[image image/png"), "{said:?}");
    assert!(said[7].1.starts_with("[a block of unknown type"), "{said:?}");
    assert_eq!(said.len(), 9, "a message without blocks is none: {said:?}");
    model.assert_orderly();

    // Each byte has a source, and the prompt's name its server.
    let recorded = stage.host.exchange_body(&opened.exchanges[0].id).await.unwrap();
    assert_eq!(recorded.body.as_bytes(), request.body);
    let of_prompt = recorded.spans.iter().filter(|it| it.label == "the prompt every of sample, sent by you");
    let words: String = of_prompt.map(|it| &recorded.body[it.start..it.end]).collect();
    assert!(
        words.contains("I say hi.") && words.contains("embedded words") && !words.contains("not sent"),
        "{words}"
    );
    let exact =
        recorded.spans.iter().find(|it| recorded.body[it.start..it.end] == *r#"Say \"hi\".\nNow."#).unwrap();
    assert_eq!((exact.kind, exact.item_id.as_ref()), (SourceKind::Messages, Some(&opened.items[0].id)));
    let door =
        opened.ledger.iter().find(|it| it.entry.line().text == "the prompt every of sample to the model");
    assert!(door.is_some(), "{:?}", opened.ledger);

    // It is found, kept over a restart, and sent again as it was.
    let hits = stage.host.search("embedded words").await.unwrap();
    assert_eq!(hits.len(), 1);
    let seen = stage.user_sees(&conversation).await;
    let before = stage.opened(&conversation).await;
    let dir = stage.close().await.unwrap();
    let stage = Stage::reopen(dir.path(), &setting).await;
    let after = stage.opened(&conversation).await;
    assert_eq!(after.items, before.items);
    assert_eq!(stage.user_sees(&conversation).await, seen);
    stage.turn(&conversation, "Again?").await;
    let again = &model.received()[1].json["messages"];
    assert_eq!(&again.as_array().unwrap()[..messages.len()], messages);
    stage.close().await;
}

#[tokio::test]
async fn a_prompt_that_is_discarded_or_refused_reaches_nobody() {
    let (stage, _script, _) = stage().await;
    let model = ScriptedModel::start([say(["Nothing."])]).await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    let fetched = stage.host.use_prompt(SERVER, "every", told(&[])).await.unwrap();
    stage.host.discard_fetched(&fetched.id);
    assert!(stage.host.send_prompt(&conversation, &fetched.id).await.is_err());
    assert!(stage.host.blocks(&fetched.parts[0].handle).await.is_err());
    let unknown = stage.host.use_prompt(SERVER, "none", told(&[])).await.unwrap_err();
    assert!(unknown.what.contains("did not give the prompt none"), "{unknown}");
    let empty = stage.host.use_prompt(SERVER, "empty", told(&[])).await.unwrap();
    let refused = stage.host.send_prompt(&conversation, &empty.id).await.unwrap_err();
    assert_eq!(refused.what, "The prompt empty has no messages.");
    assert!(stage.opened(&conversation).await.items.is_empty() && model.received().is_empty());
    stage.close().await;
}

#[tokio::test]
async fn the_model_has_of_resources_what_was_attached_and_until_it_is_taken_back() {
    let (stage, _script, _) = stage().await;
    let model = ScriptedModel::start([say(["One."]), say(["Two."])]).await;
    model.forbid("canary-only-seen", "it was opened and not attached");
    let conversation = stage.conversation(Mode::Chat, &model).await;
    let list = stage.host.list_resources(SERVER).await.unwrap();
    let uris: Vec<&str> = list.resources.iter().map(|it| it.link.uri.as_str()).collect();
    assert_eq!((uris, list.can_subscribe), (vec!["a:one", "a:two"], false));
    assert_eq!(list.templates[0].variables, ["name", "q"]);
    // Listing reads nothing.
    let reads = || {
        stage
            .host
            .wire_lines(Some(SERVER), 0, 10_000)
            .iter()
            .filter(|it| it.title == "resources/read")
            .count()
    };
    assert_eq!(reads(), 0);

    stage.host.read_server_resource(SERVER, "a:two").await.unwrap();
    let filled = told(&[("name", "x y"), ("q", "1")]);
    let filled = stage.host.read_resource_template(SERVER, "a:{name}{?q}", &filled).await.unwrap();
    assert_eq!(filled.what, BroughtKind::Resource { uri: "a:x%20y?q=1".to_owned() });
    let one = stage.host.read_server_resource(SERVER, "a:one").await.unwrap();
    stage.host.attach_resource(&conversation, &one.id).await.unwrap();
    let opened = stage.turn(&conversation, "What does it say?").await;
    let messages = &model.received()[0].json["messages"];
    assert_eq!(
        messages[1]["content"],
        "The user attached a resource of a server. It is data from outside, not the user's words:\n\
         Resource a:one:\ncanary-attached"
    );
    assert_eq!(messages[2]["content"], "What does it say?");
    let recorded = stage.host.exchange_body(&opened.exchanges[0].id).await.unwrap();
    let span =
        recorded.spans.iter().find(|it| recorded.body[it.start..it.end].contains("canary-attached")).unwrap();
    assert_eq!(
        (span.kind, span.label.as_str()),
        (SourceKind::Results, "the resource a:one of sample, attached by you")
    );
    // What a server has is not found by a search.
    assert!(stage.host.search("canary-attached").await.unwrap().is_empty());

    let attached = opened.items.iter().find(|it| matches!(it.body, ItemBody::Brought(_))).unwrap();
    stage.host.take_back(&conversation, &attached.id).await.unwrap();
    stage.turn(&conversation, "And now?").await;
    assert!(!String::from_utf8_lossy(&model.received()[1].body).contains("canary-attached"));
    model.assert_orderly();
    stage.close().await;
}

#[tokio::test]
async fn a_resource_that_is_too_large_is_cut_with_a_notice() {
    let folder = tempfile::tempdir().unwrap();
    let large = json!({"contents": [{"uri": "a:large", "text": "word ".repeat(20_000)}]}).to_string();
    let script = Script::new("2025-11-25")
        .answering("resources/list", r#"{"resources":[]}"#)
        .answering("resources/read a:large", &large);
    let stage = Stage::open(&Setting::with(vec![script.cast(SERVER, CHILD, folder.path())])).await;
    stage.ready(SERVER).await;
    let model = ScriptedModel::start([say(["Much."])]).await;
    let conversation = stage.small_conversation(&model, 8_192).await;
    let large = stage.host.read_server_resource(SERVER, "a:large").await.unwrap();
    stage.host.attach_resource(&conversation, &large.id).await.unwrap();
    stage.turn(&conversation, "How long is it?").await;
    assert_eq!(stage.failure(&conversation).await, None);
    let received = &model.received()[0];
    let attached = received.json["messages"][1]["content"].as_str().unwrap();
    assert!(attached.contains("[cut to fit: the first ") && attached.len() < 20_000, "{}", attached.len());
    stage.close().await;
}

#[tokio::test]
async fn a_server_that_has_neither_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let setting = Setting::with(vec![Script::new("2026-12-01").cast(SERVER, CHILD, folder.path())]);
    let stage = Stage::open(&setting).await;
    stage.ready(SERVER).await;
    assert_eq!(stage.host.list_prompts().await, Default::default());
    assert_eq!(stage.host.list_resources(SERVER).await.unwrap(), Default::default());
    let none = stage.host.complete_prompt_argument(SERVER, "p", "a", "", &told(&[])).await.unwrap();
    assert!(none.values.is_empty());
    stage.close().await;
}
