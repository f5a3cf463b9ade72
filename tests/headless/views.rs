//! Views that want more than their own: what they ask for is refused, what they are handed is theirs, and nothing that they do hangs.

use expect_test::expect;
use serde_json::{Value, json};
use usher_engine::{Mode, ledger::LedgerEntry};
use usher_host::conversation::{
    ApprovalChoice, Asked, CallState, HostEvent, ItemBody, Opened, QuestionAnswer, ViewReply,
};
use usher_tests::{
    canaries::fresh_seed,
    scripted_model::{ScriptedModel, call, say, text_of},
    scripted_server::Script,
    stage::{Cast, SERVER, Setting, Stage, bodies, reach, request_id, the_call, within},
};

use super::CHILD;

/// An open View of the dashboard.
struct Scene {
    stage: Stage,
    conversation: String,
    opened: Opened,
    view: String,
    seed: String,
    /// Its call and its first answer are given; it has one more.
    model: ScriptedModel,
}

impl Scene {
    async fn open(others: Vec<Cast>, switches: &[&str]) -> Self {
        let seed = fresh_seed();
        let all: Vec<&str> = ["--canaries", &seed].into_iter().chain(switches.iter().copied()).collect();
        let mut setting = Setting::sample(CHILD, &all);
        setting.servers.extend(others);
        let stage = Stage::open(&setting).await;
        for server in &setting.servers {
            stage.ready(&server.id).await;
        }
        let answers = [call([("show_dashboard", json!({}))]), say(["Done."]), say(["I see."])];
        let model = ScriptedModel::start(answers).await;
        let conversation = stage.conversation(Mode::App, &model).await;
        let opened = stage.turn(&conversation, "Please.").await;
        model.assert_orderly();
        let view = stage.host.open_view(&the_call(&opened).id).await.unwrap().view_id;
        Self { stage, conversation, opened, view, seed, model }
    }

    async fn ask(&self, method: &str, params: &Value) -> ViewReply {
        within(self.stage.host.view_request(&self.view, request_id(), method, &params.to_string()))
            .await
            .unwrap()
    }

    /// Asks, and the user answers with a yes to what is shown.
    async fn agreed(&self, method: &str, params: &Value) -> (ViewReply, Asked) {
        futures::future::join(self.ask(method, params), self.stage.answer(QuestionAnswer::Accept(None))).await
    }

    /// The error, by its code and its first words.
    async fn refused(&self, method: &str, params: &Value) -> String {
        match self.ask(method, params).await {
            ViewReply::Error(error) => {
                format!("{method}: {} {}", error.code, error.message.chars().take(70).collect::<String>())
            }
            ViewReply::Result(result) => format!("{method}: allowed! {result}"),
        }
    }

    fn calls_on_the_wire(&self, server: &str) -> usize {
        let lines = self.stage.host.wire_lines(Some(server), 0, 10_000);
        lines.iter().filter(|it| it.title == "tools/call").count()
    }
}

#[tokio::test]
async fn a_view_that_asks_for_what_is_not_its_own_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let declaration = r#"{"outputVariants":[{"audience":"assistant","format":"content"}]}"#;
    let other = Script::new("2026-12-01").tool("secret", declaration, r#"{"outputs":[]}"#);
    let mut scene = Scene::open(vec![other.cast("other", CHILD, folder.path())], &[]).await;
    let before = scene.calls_on_the_wire(SERVER);
    let mut lines = Vec::new();
    for (method, params) in [
        ("tools/call", json!({"name": "open_ticket", "arguments": {}})),
        ("tools/call", json!({"name": "secret", "arguments": {}})),
        ("tools/call", json!({"name": "other.secret"})),
        ("tools/call", json!({"name": "refresh_dashboard", "arguments": [1]})),
        ("tools/call", json!({})),
        ("initialize", json!({})),
        ("sampling/createMessage", json!({})),
        ("ui/open-link", json!({"url": "javascript:alert(1)"})),
        ("ui/open-link", json!({"url": "file:///etc/passwd"})),
        ("ui/open-link", json!({"url": "https://good.example@evil.example/"})),
        ("resources/read", json!({"uri": ""})),
        ("resources/read", json!({"uri": "file:///etc/passwd"})),
        ("ui/message", json!({"role": "assistant", "content": []})),
    ] {
        // What is refused counts too, and of what asks the user only three may come at once; so each has a View of its own.
        if method.starts_with("ui/") {
            scene.view = scene.stage.host.open_view(&the_call(&scene.opened).id).await.unwrap().view_id;
        }
        lines.push(scene.refused(method, &params).await);
    }
    expect![[r#"
        tools/call: -32602 the tool "open_ticket" declares no output for Views
        tools/call: -32602 the View's server has no tool "secret" that a View may call
        tools/call: -32602 the View's server has no tool "other.secret" that a View may call
        tools/call: -32602 arguments is not an object
        tools/call: -32602 the parameters are wrong: missing field `name` at line 1 column 2
        initialize: -32601 Views cannot ask for "initialize"
        sampling/createMessage: -32601 the user does not let this server ask the model
        ui/open-link: -32602 only http and https addresses are opened
        ui/open-link: -32602 only http and https addresses are opened
        ui/open-link: -32602 addresses with a user in them are not opened
        resources/read: -32602 uri is not the address of a resource
        resources/read: -32602 the server refused: there is no resource file:///etc/passwd (-32602)
        ui/message: -32602 a View speaks as "user" only"#]]
    .assert_eq(&lines.join("\n"));
    assert_eq!(scene.calls_on_the_wire(SERVER), before, "nothing of this reached the server");
    assert_eq!(scene.calls_on_the_wire("other"), 0, "nor another one");
    let asked = scene.stage.host.wire_lines(Some("other"), 0, 10_000);
    assert!(
        !asked.iter().any(|it| it.title == "resources/read"),
        "a resource is asked of its own server only"
    );
    // The View itself still works.
    assert!(matches!(scene.ask("ping", &json!({})).await, ViewReply::Result(_)));
}

#[tokio::test]
async fn giant_and_broken_parameters_and_floods_are_answered() {
    let scene = Scene::open(Vec::new(), &[]).await;
    let giant = json!({"name": "refresh_dashboard", "arguments": {"x": "y".repeat(5 << 20)}});
    expect!["tools/call: -32602 the parameters have 5242929 bytes; 4194304 are read"]
        .assert_eq(&scene.refused("tools/call", &giant).await);
    for broken in ["{", "[1,2]", "\"text\"", "1e999", "\u{0}", "{\"a\":"] {
        let reply = within(scene.stage.host.view_request(&scene.view, request_id(), "tools/call", broken))
            .await
            .unwrap();
        assert!(matches!(reply, ViewReply::Error(_)), "{broken:?}: {reply:?}");
    }
    let deep = format!(
        "{{\"name\":\"refresh_dashboard\",\"arguments\":{}1{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let reply =
        within(scene.stage.host.view_request(&scene.view, request_id(), "tools/call", &deep)).await.unwrap();
    assert!(matches!(reply, ViewReply::Error(_)), "{reply:?}");
    assert!(scene.refused(&"m".repeat(1 << 20), &json!({})).await.len() < (1 << 20) + 400);
    // More pings at once than a View gets: some are refused, each is answered.
    let params = json!({});
    let replies = futures::future::join_all((0..500).map(|_| scene.ask("ping", &params))).await;
    let refused = replies.iter().filter(|it| matches!(it, ViewReply::Error(_))).count();
    assert!(refused > 0 && refused < 500, "{refused} of 500");
    let calls = json!({"name": "refresh_dashboard", "arguments": {}});
    let replies = futures::future::join_all((0..60).map(|_| scene.ask("tools/call", &calls))).await;
    let refused = replies.iter().filter(|it| matches!(it, ViewReply::Error(_))).count();
    assert!(refused > 0 && refused < 60, "{refused} of 60");
}

#[tokio::test]
async fn a_view_is_handed_its_own_output_and_nothing_else() {
    let scene = Scene::open(Vec::new(), &["--meta-secrets", "--unrequested-output"]).await;
    let launch = scene.stage.host.open_view(&the_call(&scene.opened).id).await.unwrap();
    let result = launch.result().unwrap();
    let crossed = [
        ("tool", launch.tool.get()),
        ("input", launch.input.as_ref().unwrap().get()),
        ("result", result.get()),
    ];
    let crossed: Vec<(&str, &[u8])> = crossed.iter().map(|it| (it.0, it.1.as_bytes())).collect();
    expect![[r#"
        tool: nothing
        input: nothing
        result: ui-structured, uimeta"#]]
    .assert_eq(&reach(&scene.seed, &crossed));
    assert!(!result.get().contains("apiKey"), "{result}");
    let reply = scene.ask("tools/call", &json!({"name": "refresh_dashboard", "arguments": {}})).await;
    let ViewReply::Result(own) = reply else { panic!("{reply:?}") };
    expect!["its call: ui-structured, uimeta"]
        .assert_eq(&reach(&scene.seed, &[("its call", own.get().as_bytes())]));
    assert!(!own.get().contains("apiKey"), "{own}");
}

#[tokio::test]
async fn x5_what_a_view_says_reaches_the_model_only_through_a_recorded_door() {
    let scene = Scene::open(Vec::new(), &[]).await;
    let text = |it: &str| json!([{"type": "text", "text": it}]);
    // What the View was handed is not the model's, whatever the View does with it on its own side.
    expect!["model: assistant-content"].assert_eq(&reach(&scene.seed, &[("model", &bodies(&scene.model))]));
    let mut shown = Vec::new();
    for (method, params, is_asked) in [
        ("ui/update-model-context", json!({"content": text("FIRST-CONTEXT")}), true),
        // What a View keeps is asked about once; it may replace it.
        (
            "ui/update-model-context",
            json!({"content": text("SECOND-CONTEXT"), "structuredContent": {"picked": 7}}),
            false,
        ),
        ("ui/message", json!({"role": "user", "content": text("A-WISH")}), true),
    ] {
        let reply = if is_asked {
            let (reply, asked) = scene.agreed(method, &params).await;
            let Asked::ViewWords { view, is_message, text, pictures: None, left_out: None } = asked else {
                panic!("{asked:?}")
            };
            shown.push(format!("{}: {is_message} {text}", view.tool));
            reply
        } else {
            scene.ask(method, &params).await
        };
        assert_eq!(reply, ViewReply::Result(json!({}).into()), "{method}");
    }
    assert_eq!(shown, ["show_dashboard: false FIRST-CONTEXT", "show_dashboard: true A-WISH"]);
    assert_eq!(scene.model.received().len(), 2, "a View begins no turn");
    let opened = scene.stage.turn(&scene.conversation, "What does it show?").await;
    assert_eq!(scene.stage.failure(&scene.conversation).await, None);
    scene.model.assert_orderly();
    let received = String::from_utf8(scene.model.received()[2].body.clone()).unwrap();
    let has = ["FIRST-CONTEXT", "SECOND-CONTEXT", "picked", "A-WISH"].map(|it| received.contains(it));
    assert_eq!(has, [false, true, true, true], "the last context stands for all before it");
    let doors: Vec<String> = opened
        .ledger
        .iter()
        .filter(|it| matches!(it.entry, LedgerEntry::DoorOpened { .. }))
        .map(|it| it.entry.line().text)
        .collect();
    expect![[r#"
        what a View keeps as context, show_dashboard, call 1 to the model
        what a View keeps as context, show_dashboard, call 1 to the model
        a View's message, show_dashboard, call 1 to the model"#]]
    .assert_eq(&doors.join("\n"));
    let request = &scene.model.received()[2];
    let messages = request.json["messages"].as_array().unwrap();
    let texts: Vec<String> = messages.iter().map(|it| text_of(&it["content"])).collect();
    let since = texts.iter().position(|it| it == "Done.").unwrap();
    expect![[r#"
        Done.
        The app that a tool shows to the user says, and the user allowed that you read it:
        SECOND-CONTEXT
        {"picked":7}
        The app that a tool shows to the user says, and the user allowed that you read it:
        A-WISH
        What does it show?"#]]
    .assert_eq(&texts[since..].join("\n"));
}

#[tokio::test]
async fn x5_what_a_view_put_into_the_context_can_be_taken_back_by_the_user_and_by_the_view() {
    let scene = Scene::open(Vec::new(), &[]).await;
    let host = &scene.stage.host;
    let context = |it: &str| json!({"content": [{"type": "text", "text": it}]});
    let shown = async || {
        let opened = host.open_conversation(&scene.conversation).await.unwrap();
        let doors = opened.items.into_iter().filter(|it| matches!(it.body, ItemBody::Door(_)));
        doors.map(|it| (it.id, it.text)).collect::<Vec<_>>()
    };
    scene.agreed("ui/update-model-context", &context("FIRST")).await;
    scene.agreed("ui/message", &json!({"role": "user", "content": context("WISH")["content"]})).await;
    scene.ask("ui/update-model-context", &context("SECOND")).await;
    let [(wish, _), (second, text)] = <[_; 2]>::try_from(shown().await).unwrap();
    assert_eq!(text, "SECOND", "the last context stands for the one before");
    host.take_back(&scene.conversation, &wish).await.unwrap();
    scene
        .stage
        .told(|event| {
            matches!(event, HostEvent::ItemRemoved { item_id, .. } if *item_id == wish).then_some(())
        })
        .await;
    scene.ask("ui/update-model-context", &json!({"content": []})).await;
    scene
        .stage
        .told(|event| {
            matches!(event, HostEvent::ItemRemoved { item_id, .. } if *item_id == second).then_some(())
        })
        .await;
    assert_eq!(shown().await, []);
    assert!(host.take_back(&scene.conversation, &wish).await.is_err(), "it is gone already");
    let opened = scene.stage.turn(&scene.conversation, "And now?").await;
    let received = String::from_utf8(scene.model.received()[2].body.clone()).unwrap();
    assert!(!["FIRST", "SECOND", "WISH"].iter().any(|it| received.contains(it)), "{received}");
    let closed = opened.ledger.iter().filter(|it| matches!(it.entry, LedgerEntry::DoorClosed { .. }));
    expect![[r#"
        what a View keeps as context, show_dashboard, call 1 taken back from the model: the View took it back
        a View's message, show_dashboard, call 1 taken back from the model: you took it back
        what a View keeps as context, show_dashboard, call 1 taken back from the model: the View took it back"#]]
    .assert_eq(&closed.map(|it| { let line = it.entry.line(); format!("{}: {}", line.text, line.reasons.join(", ")) }).collect::<Vec<_>>().join("\n"));
    // What the user wrote is no door.
    let typed = opened.items.iter().find(|it| it.body == ItemBody::User).unwrap();
    assert!(host.take_back(&scene.conversation, &typed.id).await.is_err());
}

#[tokio::test]
async fn a_views_call_waits_for_the_user_and_ends_with_the_view() {
    let mut scene = Scene::open(Vec::new(), &[]).await;
    scene.stage.host.revoke_approval(SERVER, None).await.unwrap();
    let params = json!({"name": "refresh_dashboard", "arguments": {}});
    let mut seen: Vec<String> = Vec::new();
    for (answer, closes) in
        [(ApprovalChoice::Once, false), (ApprovalChoice::Refuse, false), (ApprovalChoice::Once, true)]
    {
        let before = scene.calls_on_the_wire(SERVER);
        let user = async {
            let id = scene
                .stage
                .told(|event| match event {
                    HostEvent::Item { call: Some(call), .. }
                        if matches!(call.state, CallState::AwaitingApproval(_))
                            && !seen.contains(&call.id) =>
                    {
                        Some(call.id.clone())
                    }
                    _ => None,
                })
                .await;
            assert_eq!(scene.calls_on_the_wire(SERVER), before, "nothing is sent before the answer");
            if closes {
                scene.stage.host.close_view(&scene.view);
            }
            // A yes that comes after the View went is a yes to nothing.
            let answered = scene.stage.host.answer_approval(&id, answer);
            assert!(closes || answered.is_ok());
            id
        };
        let (reply, id) = futures::future::join(scene.ask("tools/call", &params), user).await;
        seen.push(id.clone());
        let state = scene.stage.opened(&scene.conversation).await.calls[&id].state.clone();
        if closes {
            assert!(matches!(reply, ViewReply::Error(_)), "{reply:?}");
            assert_eq!(state, CallState::Cancelled);
            assert_eq!(scene.calls_on_the_wire(SERVER), before);
        } else if answer == ApprovalChoice::Refuse {
            assert!(matches!(reply, ViewReply::Error(_)), "{reply:?}");
            assert_eq!(state, CallState::Refused);
            // It is quiet for a while now; another opening of it may ask.
            scene.view = scene.stage.host.open_view(&the_call(&scene.opened).id).await.unwrap().view_id;
        } else {
            assert!(matches!(reply, ViewReply::Result(_)), "{reply:?}");
            assert_eq!(state, CallState::Done);
        }
    }
    // A View that is gone is told so, and ends with the host.
    assert!(scene.stage.host.view_request(&scene.view, request_id(), "ping", "").await.is_err());
    within(scene.stage.close()).await;
}
