//! Reports about what stands around a result: lists of tools, the life of servers, what travels to the window, and Views beside scripts.

use std::{path::Path, time::Duration};

use serde_json::{Value, json, value::RawValue};
use usher_engine::Mode;
use usher_host::conversation::{Channel, HostEvent, ServerPhase};
use usher_protocol::{
    Revision,
    model::{Audience, Selector},
};
use usher_tests::{
    canaries::fresh_seed,
    scripted_model::{Answer, ScriptedModel, call, call_all, say},
    scripted_server::Script,
    stage::{Cast, SERVER, Setting, Stage, model_that_calls, reach, the_call, within},
};

use super::super::CHILD;

const OLD: Revision = Revision::V2025_11_25;

async fn stage_of(script: &Script, folder: &Path) -> Stage {
    Stage::open(&Setting::with(vec![script.cast(SERVER, CHILD, folder)])).await
}

/// How often a method was sent to the server.
fn sent(stage: &Stage, method: &str) -> usize {
    let lines = stage.host.wire_lines(Some(SERVER), 0, 10_000);
    lines.iter().filter(|it| it.channel == Channel::ToServer && it.title == method).count()
}

/// A schema that is `true`, types that are lists, and members of the list that are no tools at all.
#[tokio::test]
async fn a_declaration_that_cannot_be_used_costs_itself_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let result = r#"{"content":[{"type":"text","text":"ok"}]}"#;
    let odd = r#"{"inputSchema":{"type":"object","properties":{"data":true,"flag":{"type":["null","boolean"]}}},"outputSchema":{"type":"object","properties":{"data":true}}}"#;
    let mut script = Script::new(OLD.as_str()).tool("first", "{}", result).tool("odd", odd, result);
    for broken in
        ["7", "null", r#"{"description":"it has no name"}"#, r#"{"name":["no","text"],"inputSchema":{}}"#]
    {
        script.tools.insert(1, RawValue::from_string(broken.to_owned()).unwrap());
    }
    let stage = stage_of(&script, folder.path()).await;
    let status = stage.ready(SERVER).await;
    let names: Vec<&str> = status.tools.iter().map(|it| it.tool.name.as_str()).collect();
    assert_eq!(names, ["first", "odd"]);
    assert_eq!(status.rejected.len(), 4, "what was refused is shown: {:?}", status.rejected);
    let model = ScriptedModel::choosing(|request| {
        let is_first = request.json["messages"].as_array()?.last()?["role"] == "user";
        Some(if is_first { call_all(&request.offered()) } else { say(["Done."]) })
    })
    .await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    let opened = stage.turn(&conversation, "Call them.").await;
    assert_eq!(stage.failure(&conversation).await, None);
    assert!(opened.calls.len() == 2 && opened.calls.values().all(|it| it.state.word() == "done"));
}

/// A value that does not fit is the tool's, not the wire's: nothing is counted, restarted, cut off or withheld.
#[tokio::test]
async fn values_that_do_not_fit_are_no_failures_of_their_server() {
    const CALLS: usize = 6;
    let folder = tempfile::tempdir().unwrap();
    let schema =
        r#"{"outputSchema":{"type":"object","properties":{"items":{"type":"array"}},"required":["items"]}}"#;
    let result =
        r#"{"content":[{"type":"text","text":"what can be used"}],"structuredContent":{"items":"none"}}"#;
    let stage = stage_of(&Script::new(OLD.as_str()).tool("list", schema, result), folder.path()).await;
    stage.ready(SERVER).await;
    let again = (0..CALLS).map(|_| call([("list", json!({}))]));
    let model = ScriptedModel::start(again.chain([say(["Done."])]).collect::<Vec<Answer>>()).await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    let opened = stage.turn(&conversation, "List them.").await;
    assert_eq!(stage.failure(&conversation).await, None);
    assert_eq!(opened.calls.len(), CALLS);
    assert!(opened.calls.values().all(|it| it.state.word() == "done"));
    assert_eq!(model.received()[CALLS].results(), vec!["what can be used"; CALLS]);
    let status = stage.host.server_statuses().remove(0);
    assert_eq!(status.state, ServerPhase::Ready);
    let opening = if OLD.has_request_meta() { "server/discover" } else { "initialize" };
    assert_eq!(sent(&stage, opening), 1, "the server was not started again");
}

/// Two large pictures at once: the window is told handles, and fetches the bytes by them.
#[tokio::test]
async fn media_are_told_by_handle_and_never_travel_in_an_event() {
    let folder = tempfile::tempdir().unwrap();
    let data = "iVBORw0KGgoAAAANSUhEUgAA".repeat(40_000);
    let result = json!({"content": [{"type": "image", "data": data, "mimeType": "image/png"}]}).to_string();
    let stage = stage_of(&Script::new(OLD.as_str()).tool("screenshot", "{}", &result), folder.path()).await;
    stage.ready(SERVER).await;
    let model =
        ScriptedModel::start([call([("screenshot", json!({})), ("screenshot", json!({}))]), say(["Done."])])
            .await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    let opened = stage.turn(&conversation, "Take two.").await;
    assert_eq!(opened.calls.len(), 2);
    let piece = &data[..200];
    for event in stage.events() {
        let text = format!("{event:?}");
        assert!(!text.contains(piece) && text.len() < 20_000, "{} bytes: {}", text.len(), &text[..300]);
    }
    let whole = format!("{opened:?}");
    assert!(!whole.contains(piece), "{} bytes", whole.len());
    // They are there for whoever asks.
    for call in opened.calls.values() {
        assert!(stage.host.payload(&call.deliveries[0].handle).await.unwrap().get().contains(&data));
    }
}

#[tokio::test]
async fn a_server_that_is_turned_off_is_not_started_with_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let started = folder.path().join("started");
    let script = format!("echo x >> {}; exec {CHILD} sample-server", started.display());
    let args = vec!["-c".to_owned(), script];
    let setting = Setting::with(vec![Cast { id: SERVER.to_owned(), command: "sh".to_owned(), args }]);
    let starts = || std::fs::read_to_string(&started).unwrap_or_default().lines().count();
    let stage = Stage::open(&setting).await;
    stage.ready(SERVER).await;
    assert_eq!(starts(), 1);
    stage.host.enable_server(SERVER, false).await.unwrap();
    let dir = stage.close().await.unwrap();
    let stage = Stage::reopen(dir.path(), &setting).await;
    let model = ScriptedModel::start([say(["Hello."])]).await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    stage.turn(&conversation, "Hello").await;
    assert_eq!(stage.host.server_statuses()[0].state, ServerPhase::Off);
    assert!(stage.host.wire_lines(Some(SERVER), 0, 10).is_empty());
    within(stage.close()).await;
    assert_eq!(starts(), 1, "only the first host started it");
}

/// A list that is known is not asked for again before each turn.
#[tokio::test]
async fn turns_do_not_ask_for_lists_again() {
    let stage = Stage::open(&Setting::sample(CHILD, &[""; 0])).await;
    stage.ready(SERVER).await;
    let model = ScriptedModel::choosing(|_| Some(say(["Hello."]))).await;
    let before = sent(&stage, "tools/list");
    for _ in 0..3 {
        let conversation = stage.conversation(Mode::Chat, &model).await;
        stage.turn(&conversation, "Hello").await;
        stage.opened(&conversation).await;
    }
    assert_eq!((before, sent(&stage, "tools/list")), (1, 1));
}

/// One conversation, one tool: the model's call opens the View and shows the table, and a script gets its own value of it.
#[tokio::test]
async fn a_view_and_a_script_are_served_beside_each_other() {
    let seed = fresh_seed();
    let stage = Stage::open(&Setting::sample(CHILD, &["--canaries", seed.as_str()])).await;
    stage.ready(SERVER).await;
    let model = model_that_calls("search_customers", json!({"query": "Globex"})).await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    let opened = stage.turn(&conversation, "Search.").await;
    let asked: Vec<String> = the_call(&opened).requested.iter().flatten().map(ToString::to_string).collect();
    assert!(asked.contains(&Selector::ui().to_string()) && asked.contains(&"user/structured".to_owned()));
    let source = "return await tools.sample.search_customers({query: 'Globex'})";
    let (returned, _) = stage.script(&conversation, source).await;
    let returned = returned.unwrap();
    let view = stage.views_receive(&conversation).await;
    let user = stage.user_sees(&conversation).await;
    let all: [(&str, &[u8]); 3] = [("view", &view), ("user", &user), ("script", returned.as_bytes())];
    expect_test::expect![[r#"
        view: ui-structured, uimeta
        user: user-structured
        script: programmatic-structured"#]]
    .assert_eq(&reach(&seed, &all));
}

/// The View of an earlier revision gets the whole result with its `structuredContent`, although the model gets the text alone.
#[tokio::test]
async fn a_view_of_an_earlier_revision_gets_the_structured_content() {
    let seed = fresh_seed();
    let stage =
        Stage::open(&Setting::sample(CHILD, &["--canaries", seed.as_str(), "--only", OLD.as_str()])).await;
    stage.ready(SERVER).await;
    let model = model_that_calls("search_customers", json!({"query": "Globex"})).await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    let opened = stage.turn(&conversation, "Show it.").await;
    let launch = stage.host.open_view(&the_call(&opened).id).await.unwrap();
    let result: Value = launch.result().unwrap().to_value();
    assert!(result["structuredContent"].is_object() && result["content"].is_array(), "{result}");
    let model = model.received()[1].last_results().join("");
    assert!(!model.contains("structuredContent") && !model.is_empty(), "{model}");
}

/// A picture for the user alone costs the model nothing, and whether the model gets it is chosen for the tool.
#[tokio::test]
async fn who_gets_a_picture_is_chosen_for_the_tool() {
    let of = |audience| Selector { audience, format: usher_protocol::model::Format::Content };
    for chosen in [Audience::User, Audience::Assistant] {
        let stage = Stage::open(&Setting::sample(CHILD, &[""; 0])).await;
        stage.ready(SERVER).await;
        let model = model_that_calls("make_images", json!({"prompt": "the sea"})).await;
        let conversation = stage.conversation(Mode::Custom, &model).await;
        let choice = usher_host::conversation::CustomChoice {
            server_id: SERVER.to_owned(),
            tool: "make_images".to_owned(),
            selectors: vec![of(chosen.clone())],
        };
        stage.host.configure_conversation(&conversation, None, None, None, Some(vec![choice])).await.unwrap();
        let opened = stage.turn(&conversation, "Draw.").await;
        assert_eq!(stage.failure(&conversation).await, None);
        assert_eq!(the_call(&opened).requested, Some(vec![of(chosen.clone())]));
        let shown = String::from_utf8(stage.user_sees(&conversation).await).unwrap();
        assert_eq!(shown.contains(r#""type":"image""#), chosen == Audience::User, "{chosen}");
        assert!(!String::from_utf8_lossy(&model.received()[1].body).contains("image_url"), "{chosen}");
    }
}

/// Told by nobody, a server that fails is at fault for itself: the other one goes on.
#[tokio::test]
async fn nothing_of_a_conversation_waits_for_a_server_that_is_silent() {
    let silent = Cast { id: "silent".to_owned(), command: "sleep".to_owned(), args: vec!["600".to_owned()] };
    let mut setting = Setting::sample(CHILD, &[""; 0]);
    setting.servers.insert(0, silent);
    setting.connection.probe_timeout = Duration::from_secs(3_600);
    let stage = Stage::open(&setting).await;
    stage.ready(SERVER).await;
    let model = model_that_calls("search_customers", json!({"query": "Globex"})).await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    let opened = stage.turn(&conversation, "Search.").await;
    assert_eq!((stage.failure(&conversation).await, the_call(&opened).state.word()), (None, "done"));
    let silent = stage.host.server_statuses().into_iter().find(|it| it.id == "silent").unwrap();
    assert_eq!(silent.state, ServerPhase::Starting, "it was not waited for");
    assert!(!stage.events().iter().any(|it| matches!(it, HostEvent::Notice(_))));
}
