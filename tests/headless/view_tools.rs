//! Tools that a View offers itself: the model is told of them, the user is asked, the View answers, and its words reach the model as its
//! words and in no other way (H26, X5). The page is played by the test.

use expect_test::expect;
use serde_json::{Value, json};
use tempfile::TempDir;
use usher_engine::{Consumer, Mode, routing::Source};
use usher_host::conversation::{
    ApprovalChoice, CallRecord, CallState, Fixture, HostEvent, Shown, Told, ViewReply,
};
use usher_protocol::RawJson;
use usher_tests::{
    scripted_model::{Answer, Gate, ScriptedModel, call, say, text_of},
    scripted_server::Script,
    stage::{SERVER, Setting, Stage, ledger, within},
};

use super::CHILD;

const LINK: &str = r#"{"_meta":{"ui":{"resourceUri":"ui://a/b"}}}"#;
const DOCUMENT: &str =
    r#"{"contents":[{"uri":"ui://a/b","mimeType":"text/html;profile=mcp-app","text":"<p>hello</p>"}]}"#;
/// What a server's own output for its View says, which no model may read.
const FOR_VIEW: &str = "for-the-view-alone";

/// What stands before the words of a View.
const SAYS: &str = "The app that a tool shows to the user says, and the user allowed that you read it:\n";

/// The name of the View's tool towards the model: the View is that of call 1.
const SET: &str = "view_1__set_color";

/// A conversation whose first turn called `show`, with its View open.
struct Scene {
    stage: Stage,
    conversation: String,
    shown: String,
    view: String,
    model: ScriptedModel,
    setting: Setting,
    folder: TempDir,
}

impl Scene {
    /// The model answers the first turn by calling `show`, and later ones so.
    async fn open(later: Vec<Answer>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let result =
            format!(r#"{{"content":[{{"type":"text","text":"shown"}}],"_meta":{{"x":"{FOR_VIEW}"}}}}"#);
        // The server has a tool of the same name.
        let script = Script::new("2025-11-25")
            .tool("show", LINK, &result)
            .tool("set_color", "{}", r#"{"content":[{"type":"text","text":"the server's colour"}]}"#)
            .answering("resources/read ui://a/b", DOCUMENT);
        let setting = Setting::with(vec![script.cast(SERVER, CHILD, folder.path())]);
        let stage = Stage::open_in(&folder.path().join("data"), &setting).await;
        stage.ready(SERVER).await;
        let mut answers = vec![call([("show", json!({}))]), say(["Shown."])];
        answers.extend(later);
        let model = ScriptedModel::start(answers).await;
        let conversation = stage.conversation(Mode::App, &model).await;
        let opened = stage.turn(&conversation, "Show it.").await;
        let shown = opened.calls.values().next().unwrap().id.clone();
        let view = stage.host.open_view(&shown).await.unwrap().view_id;
        Self { stage, conversation, shown, view, model, setting, folder }
    }

    async fn offer(&self, tools: Value) -> Vec<String> {
        let list = json!({"tools": tools}).to_string();
        self.stage.host.set_view_tools(&self.view, list).await.unwrap().left_out
    }

    async fn send(&self, text: &str) {
        let host = &self.stage.host;
        host.send_message(&self.conversation, text, usher_host::model::ToolChoice::Auto).await.unwrap();
    }

    /// The call of the View's tool that waits for the user, once it does.
    async fn asked(&self) -> CallRecord {
        self.asked_after("").await
    }

    /// The same, for a call that was begun later than another.
    async fn asked_after(&self, call_id: &str) -> CallRecord {
        let calls = self.stage.opened(&self.conversation).await.calls;
        let last = calls.get(call_id).map_or(0, |it| it.number);
        self.stage
            .told(|event| match event {
                HostEvent::Item { call: Some(call), .. }
                    if call.number > last
                        && call.of_view.is_some()
                        && matches!(call.state, CallState::AwaitingApproval(_)) =>
                {
                    Some((**call).clone())
                }
                _ => None,
            })
            .await
    }

    /// What the page is told to ask the View, once it is: the call's number and its parameters.
    async fn called(&self) -> (u32, String) {
        self.called_after(0).await
    }

    /// The same, for the call that follows so many others.
    async fn called_after(&self, others: usize) -> (u32, String) {
        let mut seen = 0;
        self.stage
            .told(|event| match event {
                HostEvent::ViewCall { view_id, call, params: Some(params) } if *view_id == self.view => {
                    seen += 1;
                    (seen > others).then(|| (*call, params.clone()))
                }
                _ => None,
            })
            .await
    }

    async fn given_up(&self, call: u32) {
        self.stage
            .told(|event| match event {
                HostEvent::ViewCall { call: ended, params: None, .. } => (*ended == call).then_some(()),
                _ => None,
            })
            .await;
    }

    /// The newest call of the View's tool, as it stands.
    async fn record(&self) -> CallRecord {
        let calls = self.stage.opened(&self.conversation).await.calls;
        let mut own: Vec<CallRecord> = calls.into_values().filter(|it| it.tool == "set_color").collect();
        own.sort_by_key(|it| it.number);
        own.pop().unwrap()
    }

    async fn ended(&self) -> CallRecord {
        self.stage.ended(&self.conversation).await;
        self.record().await
    }

    fn reply(&self, call: u32, result: &Value) -> bool {
        let reply = ViewReply::Result(result.clone().into());
        self.stage.host.answer_view_call(&self.view, call, reply).is_ok()
    }
}

fn set_color() -> Value {
    json!([{"name": "set_color", "description": "Sets the colour.",
        "inputSchema": {"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]},
        "annotations": {"readOnlyHint": true}}])
}

fn text(it: &str) -> Value {
    json!({"content": [{"type": "text", "text": it}]})
}

fn red() -> Answer {
    call([(SET, json!({"color": "red"}))])
}

#[tokio::test]
async fn x5_the_model_calls_a_views_own_tool_and_reads_its_answer_as_the_views_words() {
    let scene = Scene::open(vec![red(), say(["It is red."]), say(["Still."])]).await;
    assert_eq!(scene.offer(set_color()).await, [""; 0]);
    scene.model.forbid(FOR_VIEW, "a View's output reaches the model by nobody's call");
    scene.send("Make it red.").await;
    // Although the server's tools are all allowed, and the View hints that it only reads.
    let asked = scene.asked().await;
    assert_eq!(
        (asked.server_name.as_str(), asked.of_view.as_ref()),
        ("View of show, call 1", Some(&scene.shown))
    );
    assert!(
        scene.stage.events().iter().all(|it| !matches!(it, HostEvent::ViewCall { .. })),
        "not before the yes"
    );
    scene.stage.host.answer_approval(&asked.id, ApprovalChoice::Once).unwrap();
    let (number, params) = scene.called().await;
    assert_eq!(params, r#"{"name":"set_color","arguments":{"color":"red"}}"#);
    let answer = json!({"content": [{"type": "text", "text": "was blue"}, {"type": "audio", "data": "QUJD", "mimeType": "audio/wav"}],
        "structuredContent": {"color": "red"}, "_meta": {"hidden": FOR_VIEW}});
    assert!(scene.reply(number, &answer));
    let record = scene.ended().await;
    assert_eq!(record.state, CallState::Done);
    let crossed: Vec<(Consumer, &Source, &str)> =
        record.deliveries.iter().map(|it| (it.to, &it.source, it.how.as_str())).collect();
    assert_eq!(
        crossed,
        [
            (Consumer::User, &Source::ViewAnswer, "whole"),
            (Consumer::Model, &Source::ViewAnswer, "as the View's words, without 1 sound"),
        ]
    );
    // The whole answer is the user's to see, and goes to the model by no other way.
    let whole = &record.deliveries[0].handle;
    assert!(scene.stage.host.show_the_model(&scene.conversation, whole).await.is_err());
    let sent = scene.model.request(3).await;
    assert_eq!(sent.last_results(), [format!("{SAYS}\n\nwas blue\n{{\"color\":\"red\"}}")]);
    let facts = ledger(&scene.stage.opened(&scene.conversation).await);
    expect![[r#"
        the View of show, call 1 is called for its own tool set_color
        you allowed this call
        what the View answered to you, whole
        what the View answered to the model, as the View's words, without 1 sound
    "#]]
    .assert_eq(
        &facts
            .iter()
            .skip_while(|it| !it.contains("own tool"))
            .map(|it| format!("{it}\n"))
            .collect::<String>(),
    );

    // After a restart the call and its answer are there without the View, and the model is offered its tool no more.
    let Scene { stage, conversation, model, setting, folder, .. } = scene;
    stage.close().await;
    let stage = Stage::reopen(&folder.path().join("data"), &setting).await;
    stage.ready(SERVER).await;
    let opened = stage.turn(&conversation, "And now?").await;
    let again = opened.calls.values().find(|it| it.of_view.is_some()).unwrap();
    assert_eq!(again.deliveries, record.deliveries);
    let last = model.request(4).await;
    assert_eq!(last.results().last().unwrap(), &sent.last_results()[0]);
    assert!(!last.offered().contains(&SET.to_owned()), "{:?}", last.offered());
    model.assert_orderly();
}

#[tokio::test]
async fn pictures_of_a_views_answer_follow_it_to_a_model_that_takes_them() {
    let scene = Scene::open(vec![red(), say(["Seen."]), red(), say(["Lies."])]).await;
    scene.offer(set_color()).await;
    let answers = async |last: &str, others: usize, answer: &Value| {
        scene.send("Make it red.").await;
        let asked = scene.asked_after(last).await;
        scene.stage.host.answer_approval(&asked.id, ApprovalChoice::Once).unwrap();
        assert!(scene.reply(scene.called_after(others).await.0, answer));
        scene.ended().await
    };
    let png =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
    let picture = |data: &str| json!({"type": "image", "data": data, "mimeType": "image/png"});
    let record = answers("", 0, &json!({"content": [picture(png), {"type": "text", "text": "it is"}]})).await;
    assert_eq!(record.state, CallState::Done);
    assert!(matches!(record.shown[..], [Shown::Blocks { .. }, Shown::Json { .. }]), "{:?}", record.shown);
    let sent = scene.model.request(3).await;
    let [.., result, follows] = sent.json["messages"].as_array().unwrap().as_slice() else { panic!() };
    assert_eq!(
        (result["role"].as_str(), text_of(&result["content"])),
        (Some("tool"), format!("{SAYS}\n\nit is\n\n[an image of this result is in the next message]"))
    );
    assert_eq!(follows["role"], "user");
    let url = format!("data:image/png;base64,{png}");
    assert_eq!(follows["content"][1], json!({"type": "image_url", "image_url": {"url": url}}));
    assert_eq!(String::from_utf8_lossy(&sent.body).matches(png).count(), 1);
    // One that is none costs the whole answer.
    let record = answers(&record.id, 1, &json!({"content": [picture("PHN2Zy8+")]})).await;
    let CallState::Failed { what, .. } = record.state else { panic!("{:?}", record.state) };
    assert!(what.contains("a picture is called image/png and is none"), "{what}");
    assert!(!String::from_utf8_lossy(&scene.model.request(5).await.body).contains("PHN2Zy8+"));
}

#[tokio::test]
async fn a_view_that_offers_thousands_offers_fifty_and_none_of_them_is_a_servers() {
    let scene = Scene::open(vec![say(["Hm."]), say(["Hm."]), say(["Hm."]), say(["Hm."])]).await;
    let mut many = set_color().as_array().unwrap().clone();
    many.extend((0..9_999).map(|it| json!({"name": format!("t{it}"), "inputSchema": {"type": "object"}})));
    assert_eq!(scene.offer(Value::Array(many)).await, ["50 tools of a View are taken, and it offers 10000."]);
    scene.send("What can you do?").await;
    let offered = {
        scene.stage.ended(&scene.conversation).await;
        scene.model.request(2).await
    };
    let names = offered.offered();
    assert_eq!(names.iter().filter(|it| it.starts_with("view_1__")).count(), 50);
    assert!(names.contains(&"sample__set_color".to_owned()) && names.contains(&SET.to_owned()), "{names:?}");
    let tool = |name: &str| {
        let all = offered.json["tools"].as_array().unwrap();
        all.iter().find(|it| it["function"]["name"] == name).unwrap()["function"].clone()
    };
    assert_eq!(
        tool(SET)["description"],
        "A tool of an app that is open before the user, who is asked before it runs. In the app's own words:\nView of show, call 1: Sets the colour."
    );
    // Another conversation has none of them.
    let other = scene.stage.conversation(Mode::App, &scene.model).await;
    scene.stage.turn(&other, "And here?").await;
    assert!(scene.model.request(3).await.offered().iter().all(|it| !it.starts_with("view_")));
    // In Code mode there is the script alone.
    scene
        .stage
        .host
        .configure_conversation(&scene.conversation, None, Some(Mode::Code), None, None)
        .await
        .unwrap();
    scene.stage.turn(&scene.conversation, "In code?").await;
    assert_eq!(scene.model.request(4).await.offered(), ["run_script"]);
    scene
        .stage
        .host
        .configure_conversation(&scene.conversation, None, Some(Mode::App), None, None)
        .await
        .unwrap();
    // Nor has it, once the View is gone.
    scene.stage.host.close_view(&scene.view);
    scene.stage.turn(&scene.conversation, "And now?").await;
    assert!(scene.model.request(5).await.offered().iter().all(|it| !it.starts_with("view_")));
    assert!(scene.stage.host.set_view_tools(&scene.view, r#"{"tools":[]}"#.to_owned()).await.is_err());
}

#[tokio::test]
async fn an_answer_of_another_view_is_nobodys_and_a_giant_one_is_not_read() {
    let scene = Scene::open(vec![red(), say(["Hm."]), red(), say(["Hm."]), red(), say(["Hm."])]).await;
    let host = &scene.stage.host;
    let second = host.call_tool(&scene.conversation, SERVER, "show", "{}").await.unwrap().record.id;
    let other = host.open_view(&second).await.unwrap().view_id;
    scene.offer(set_color()).await;
    for (round, bad) in
        [text(&"x".repeat(1 << 20)), text(&"é".repeat(100_001)), json!({"content": 7})].iter().enumerate()
    {
        scene.send("Red.").await;
        if round == 0 {
            host.answer_approval(&scene.asked().await.id, ApprovalChoice::Server).unwrap();
        }
        let (number, _) = scene.called_after(round).await;
        let forged = ViewReply::Result(text("forged").into());
        assert!(host.answer_view_call(&other, number, forged.clone()).is_err(), "it is another View's");
        assert!(host.answer_view_call("nobody", number, forged.clone()).is_err());
        assert!(host.answer_view_call(&scene.view, number + 1, forged).is_err(), "nobody asked that");
        assert!(scene.reply(number, bad));
        assert!(!scene.reply(number, &text("again")), "a call has one answer");
        let record = scene.ended().await;
        assert_eq!(record.told, Told::Malformed);
        assert!(
            matches!(&record.state, CallState::Failed { what, .. } if what.starts_with("The View's answer cannot be read: "))
        );
        assert!(record.deliveries.is_empty());
    }
    let all = scene.model.received().into_iter().map(|it| it.body.len()).max().unwrap();
    assert!(all < 100_000, "{all} bytes");
}

#[tokio::test]
async fn what_is_stopped_refused_or_closed_is_not_answered_any_more() {
    let scene = Scene::open(vec![red(), red(), say(["Hm."]), red(), say(["Hm."])]).await;
    let host = &scene.stage.host;
    scene.offer(set_color()).await;
    // Stopped while the View works.
    scene.send("Red.").await;
    host.answer_approval(&scene.asked().await.id, ApprovalChoice::Once).unwrap();
    let (number, _) = scene.called().await;
    host.stop_turn(&scene.conversation).await;
    scene.given_up(number).await;
    assert!(!scene.reply(number, &text("too late")));
    let record = scene.ended().await;
    assert_eq!((&record.state, record.deliveries.len()), (&CallState::Cancelled, 0));
    // Refused, for ever, which is for this time: the View is of this conversation alone.
    scene.send("Red.").await;
    let asked = scene.asked_after(&record.id).await;
    host.answer_approval(&asked.id, ApprovalChoice::Never).unwrap();
    assert_eq!(scene.ended().await.state, CallState::Refused);
    assert_eq!(host.approval_of(SERVER, "set_color"), usher_host::conversation::ApprovalRule::AllowServer);
    // Closed while it works.
    scene.send("Red.").await;
    let again = scene.asked_after(&asked.id).await;
    host.answer_approval(&again.id, ApprovalChoice::Once).unwrap();
    let (next, _) = scene.called_after(1).await;
    host.close_view(&scene.view);
    assert!(!scene.reply(next, &text("from beyond")));
    let record = scene.ended().await;
    assert!(
        matches!(&record.state, CallState::Failed { what, .. } if what == "The View is closed, or rests."),
        "{:?}",
        record.state
    );
}

#[tokio::test]
async fn what_does_not_fit_the_schema_or_was_declared_anew_does_not_reach_the_view() {
    let gate = Gate::default();
    let wrong = call([(SET, json!({"color": 7}))]);
    let held = red().after(Answer::new().gate(&gate));
    let scene = Scene::open(vec![wrong, say(["Hm."]), held, say(["Hm."])]).await;
    scene.offer(set_color()).await;
    scene.send("Seven.").await;
    let record = scene.ended().await;
    assert!(matches!(&record.told, Told::BadArguments(problems) if problems[0].starts_with("/color: ")));
    // Between the offer and the call the View gives its tool another meaning.
    scene.send("Red.").await;
    gate.reached().await;
    let mut changed = set_color();
    changed[0]["description"] = "Deletes everything.".into();
    scene.offer(changed).await;
    gate.open();
    let asked = scene.asked().await;
    scene.stage.host.answer_approval(&asked.id, ApprovalChoice::Once).unwrap();
    let record = scene.ended().await;
    assert!(
        matches!(&record.state, CallState::Failed { what, .. } if what.starts_with("The View offers this tool no more")),
        "{:?}",
        record.state
    );
    assert!(scene.stage.events().iter().all(|it| !matches!(it, HostEvent::ViewCall { .. })));
}

#[tokio::test]
async fn a_view_on_the_bench_is_called_by_its_author_alone() {
    let scene = Scene::open(vec![say(["Hm."])]).await;
    let host = &scene.stage.host;
    let launch = host.open_bench(&scene.conversation, SERVER, Fixture::of("show"), 0).await.unwrap();
    let bench = launch.view_id;
    host.set_view_tools(&bench, json!({"tools": set_color()}).to_string()).await.unwrap();
    scene.stage.turn(&scene.conversation, "What can you do?").await;
    assert!(scene.model.request(2).await.offered().iter().all(|it| !it.starts_with("view_")));
    let refused = [("set_color", "{"), ("set_color", r#"{"color":7}"#), ("show", "{}")];
    for (tool, arguments) in refused {
        assert!(host.call_bench_tool(&bench, tool, arguments).await.is_err(), "{tool} {arguments}");
    }
    // Views of the conversation are called by the model, with the user's yes.
    scene.offer(set_color()).await;
    assert!(host.call_bench_tool(&scene.view, "set_color", r#"{"color":"red"}"#).await.is_err());
    let answers = async {
        let number = scene
            .stage
            .told(|event| match event {
                HostEvent::ViewCall { view_id, call, params: Some(_) } if *view_id == bench => Some(*call),
                _ => None,
            })
            .await;
        host.answer_view_call(&bench, number, ViewReply::Result(text("done").into())).unwrap();
    };
    let asked = within(host.call_bench_tool(&bench, "set_color", r#" {"color":"red"} "#));
    let (reply, ()) = futures::future::join(asked, answers).await;
    assert_eq!(reply.unwrap(), ViewReply::Result(RawJson::from(text("done"))));
    assert_eq!(scene.stage.opened(&scene.conversation).await.calls.len(), 1, "no call of it is recorded");
}
