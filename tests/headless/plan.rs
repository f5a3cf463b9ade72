//! The fifteen cases of the proposal's own test plan, end to end: a real process serves, a scripted model asks, and what each consumer
//! received is read where it reads it.

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use usher_engine::{Consumer, Mode, ledger::LedgerEntry, validation::Verdict};
use usher_host::{
    connection::{CallError, CallOptions, Connection, ConnectionOptions, PathSource, StdioSpec, events},
    conversation::{Channel, CustomChoice, Opened, ViewReply},
};
use usher_protocol::{
    Revision,
    codec::{CallRequest, decode_outcome},
    model::{OutcomeBody, Selector},
};
use usher_tests::{
    canaries::fresh_seed,
    scripted_model::{ScriptedModel, call, say},
    scripted_server::Script,
    stage::{
        SERVER, Setting, Stage, bodies, canary, ledger, model_that_calls, reach, request_id, rules, the_call,
        within,
    },
};

use super::CHILD;

/// A conversation in which the model called one tool, with everything that was received.
struct Scene {
    stage: Stage,
    model: ScriptedModel,
    conversation: String,
    opened: Opened,
    seed: String,
}

impl Scene {
    async fn play(mode: Mode, tool: &'static str, arguments: Value, switches: &[&str]) -> Self {
        Self::play_with(mode, tool, arguments, switches, Vec::new()).await
    }

    async fn play_with(
        mode: Mode,
        tool: &'static str,
        arguments: Value,
        switches: &[&str],
        custom: Vec<CustomChoice>,
    ) -> Self {
        let seed = fresh_seed();
        let canaries = ["--canaries", seed.as_str()];
        let all: Vec<&str> = canaries.iter().chain(switches).copied().collect();
        let stage = Stage::open(&Setting::sample(CHILD, &all)).await;
        stage.ready(SERVER).await;
        let model = model_that_calls(tool, arguments).await;
        let conversation = stage.conversation(mode, &model).await;
        if !custom.is_empty() {
            stage.host.configure_conversation(&conversation, None, None, None, Some(custom)).await.unwrap();
        }
        let opened = stage.turn(&conversation, "Please.").await;
        assert_eq!(stage.failure(&conversation).await, None);
        model.assert_orderly();
        Self { stage, model, conversation, opened, seed }
    }

    /// What was asked for and who received which canary.
    async fn check(&self, expected: Expect) {
        let asked = the_call(&self.opened).requested.as_ref().map_or_else(
            || "no selection".to_owned(),
            |it| it.iter().map(ToString::to_string).collect::<Vec<_>>().join(" + "),
        );
        let user = self.stage.user_sees(&self.conversation).await;
        let view = self.stage.views_receive(&self.conversation).await;
        let consumers: [(&str, &[u8]); 3] =
            [("model", &bodies(&self.model)), ("user", &user), ("view", &view)];
        let rules = rules(&self.opened).join(" ");
        expected.assert_eq(&format!("asked: {asked}\n{}\nrules: {rules}", reach(&self.seed, &consumers)));
    }
}

fn customers() -> Value {
    json!({"query": "Globex"})
}

fn choose(tool: &str, selectors: &[Selector]) -> Vec<CustomChoice> {
    vec![CustomChoice { server_id: SERVER.to_owned(), tool: tool.to_owned(), selectors: selectors.to_vec() }]
}

/// A connection to the sample server, below everything that selects and routes.
async fn connection(switches: &[&str], options: ConnectionOptions) -> Connection {
    let args = std::iter::once("sample-server").chain(switches.iter().copied()).map(str::to_owned).collect();
    let spec = StdioSpec { command: CHILD.to_owned(), args, ..StdioSpec::default() }.into();
    let options = ConnectionOptions { path: PathSource::Inherited, ..options };
    let (sender, receiver) = events();
    drop(receiver);
    within(Connection::open(&spec, &options, sender)).await.unwrap()
}

fn request(tool: &str, arguments: Value, requested: Option<&[Selector]>) -> CallRequest {
    CallRequest {
        name: tool.to_owned(),
        arguments: arguments.into(),
        requested: requested.map(<[_]>::to_vec),
    }
}

#[tokio::test]
async fn p01_a_conversational_call_gives_the_model_its_content() {
    let scene = Scene::play_with(
        Mode::Custom,
        "search_customers",
        customers(),
        &[],
        choose("search_customers", &[Selector::ASSISTANT_CONTENT]),
    )
    .await;
    scene
        .check(expect![[r#"
        asked: assistant/content
        model: assistant-content
        user: nothing
        view: nothing
        rules: H26"#]])
        .await;
    // The model's tool message is the very text that the server made for it.
    let result = &scene.model.received()[1].last_results()[0];
    assert!(result.contains(&canary("assistant-content", &scene.seed)), "{result}");
}

#[tokio::test]
async fn p02_a_script_receives_the_programmatic_output_and_the_model_what_it_returns() {
    let seed = fresh_seed();
    let stage = Stage::open(&Setting::sample(CHILD, &["--canaries", &seed])).await;
    stage.ready(SERVER).await;
    let code = "const page = await tools.sample.search_customers({query: 'Globex'}); return Object.keys(page).length;";
    let model = ScriptedModel::start([call([("run_script", json!({"code": code}))]), say(["Done."])]).await;
    let conversation = stage.conversation(Mode::Code, &model).await;
    let opened = stage.turn(&conversation, "Count them.").await;
    model.assert_orderly();
    assert_eq!(stage.failure(&conversation).await, None);
    assert_eq!(model.received()[0].offered(), ["run_script"]);
    let keys: u32 = model.received()[1].last_results()[0].parse().unwrap();
    assert!(keys > 0);
    let asked: Vec<String> = opened
        .calls
        .values()
        .filter_map(|it| it.requested.as_ref())
        .flatten()
        .map(ToString::to_string)
        .collect();
    assert_eq!(asked, ["programmatic/structured"]);

    // The user's own script receives the same value, digits and all.
    let (returned, _) =
        stage.script(&conversation, "return await tools.sample.search_customers({query: 'Globex'})").await;
    let user = stage.user_sees(&conversation).await;
    let view = stage.views_receive(&conversation).await;
    let consumers: [(&str, &[u8]); 4] = [
        ("model", &bodies(&model)),
        ("user", &user),
        ("script", returned.as_ref().unwrap().as_bytes()),
        ("view", &view),
    ];
    expect![[r#"
        model: nothing
        user: nothing
        script: programmatic-structured
        view: nothing"#]]
    .assert_eq(&reach(&seed, &consumers));
}

#[tokio::test]
async fn h15_a_schema_that_the_model_plans_with_is_the_one_that_will_be_requested() {
    let seed = fresh_seed();
    let stage = Stage::open(&Setting::sample(CHILD, &["--canaries", &seed])).await;
    stage.ready(SERVER).await;
    for (mode, is_code) in [(Mode::Chat, false), (Mode::Data, false), (Mode::Code, true)] {
        let model = ScriptedModel::start([say(["Hello."])]).await;
        let conversation = stage.conversation(mode, &model).await;
        stage.turn(&conversation, "Hello").await;
        model.assert_orderly();
        let body = String::from_utf8(bodies(&model)).unwrap();
        // Names of fields that stand in one schema only: of the script's variant, the model's, and the user's.
        assert_eq!(body.contains("provenance"), is_code, "{body}");
        for other in ["mostRecentlyActive", "accountNumber"] {
            assert!(!body.contains(other), "{other} in {body}");
        }
        let types = stage.host.script_types(&conversation).await.unwrap();
        assert!(types.contains("provenance") && !types.contains("accountNumber"), "{types}");
    }
}

#[tokio::test]
async fn h25_what_the_user_was_shown_reaches_the_model_only_when_they_show_it() {
    let seed = fresh_seed();
    let stage = Stage::open(&Setting::sample(CHILD, &["--canaries", &seed])).await;
    stage.ready(SERVER).await;
    let answers =
        [call([("search_customers", customers())]), say(["Done."]), say(["I see."]), say(["I do."])];
    let model = ScriptedModel::start(answers).await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    let opened = stage.turn(&conversation, "Search.").await;
    let handle_of = |to: Consumer| {
        the_call(&opened).deliveries.iter().find(|it| it.to == to).map(|it| it.handle.clone()).unwrap()
    };
    stage.turn(&conversation, "What do you know?").await;
    let reached = |request: usize| reach(&seed, &[("model", &model.received()[request].body)]);
    assert_eq!(reached(2), "model: assistant-content", "nobody showed it anything yet");

    // What the user was not shown is not theirs to hand on.
    assert!(stage.host.show_the_model(&conversation, &handle_of(Consumer::View)).await.is_err());
    assert!(stage.host.show_the_model(&conversation, "no such handle").await.is_err());
    stage.host.show_the_model(&conversation, &handle_of(Consumer::User)).await.unwrap();
    assert_eq!(model.received().len(), 3, "showing is no turn of its own");
    let opened = stage.turn(&conversation, "And now?").await;
    assert_eq!(stage.failure(&conversation).await, None);
    model.assert_orderly();
    assert_eq!(reached(3), "model: assistant-content, user-structured");
    let doors: Vec<String> = opened
        .ledger
        .iter()
        .filter(|it| matches!(it.entry, LedgerEntry::DoorOpened { .. }))
        .map(|it| it.entry.line().text)
        .collect();
    expect!["user/structured of search_customers, call 1 to the model"].assert_eq(&doors.join("\n"));
}

#[tokio::test]
async fn h32_a_refused_selection_is_told_and_nothing_else_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let declared = r#"{"outputVariants":[{"audience":"assistant","format":"content"},
        {"audience":"assistant","format":"structured","schema":{"type":"object"}}]}"#;
    let script =
        Script::new(Revision::NEWEST.as_str()).refusing("search", declared, -32602, "no such selector");
    let stage = Stage::open(&Setting::with(vec![script.cast(SERVER, CHILD, folder.path())])).await;
    stage.ready(SERVER).await;
    let model = model_that_calls("search", json!({})).await;
    let conversation = stage.conversation(Mode::Data, &model).await;
    let opened = stage.turn(&conversation, "Search.").await;
    model.assert_orderly();
    let calls = stage.host.wire_lines(Some(SERVER), 0, 1_000);
    assert_eq!(
        calls.iter().filter(|it| it.title == "tools/call").count(),
        1,
        "it is not tried with another selection"
    );
    expect![[r#"
        sample / search asked for 1 of 2 variants in mode Data: assistant/structured
        allowed: you allowed this server
        the server refused the call: no such selector [H32]
        The call failed: the server could not be reached or refused the request. There is no result.

        no such selector"#]]
    .assert_eq(&format!("{}\n{}", ledger(&opened).join("\n"), model.received()[1].last_results().join("\n")));
}

#[tokio::test]
async fn p03_a_data_call_gives_the_model_structured_data() {
    let scene = Scene::play_with(
        Mode::Custom,
        "search_customers",
        customers(),
        &[],
        choose("search_customers", &[Selector::ASSISTANT_STRUCTURED]),
    )
    .await;
    scene
        .check(expect![[r#"
        asked: assistant/structured
        model: assistant-structured
        user: nothing
        view: nothing
        rules: H26"#]])
        .await;
    let result = &scene.model.received()[1].last_results()[0];
    assert!(serde_json::from_str::<Value>(result).is_ok(), "the model reads the JSON alone: {result}");
}

#[tokio::test]
async fn p04_media_for_the_user_are_shown_and_cost_the_model_nothing() {
    let scene = Scene::play(Mode::Chat, "make_images", json!({"prompt": "the sea"}), &[]).await;
    scene
        .check(expect![[r#"
        asked: assistant/content + user/content
        model: assistant-content
        user: user-content
        view: nothing
        rules: H26"#]])
        .await;
    let handle = the_call(&scene.opened)
        .deliveries
        .iter()
        .find(|it| it.source == usher_engine::routing::Source::Output(Selector::USER_CONTENT))
        .map(|it| it.handle.clone())
        .unwrap();
    let mut pictures = Vec::new();
    for index in 0..scene.stage.host.blocks(&handle).await.unwrap().len() {
        if let Ok((media, bytes, _)) = scene.stage.host.media(&handle, index).await {
            pictures.push(format!("{} {}", media.mime, bytes.len() > 1000));
        }
    }
    expect![[r#"
        image/png true
        image/webp true
        audio/wav true
        text/markdown false"#]]
    .assert_eq(&pictures.join("\n"));
    assert!(bodies(&scene.model).len() < 64 * 1024, "no picture travelled to the model");
}

#[tokio::test]
async fn p05_a_table_for_the_user_is_shown_and_the_model_is_told_so() {
    let scene = Scene::play(Mode::Present, "search_customers", customers(), &[]).await;
    scene
        .check(expect![[r#"
        asked: user/structured
        model: nothing
        user: user-structured
        view: nothing
        rules: H26"#]])
        .await;
    expect!["The output was shown to the user. It is not repeated here."]
        .assert_eq(&scene.model.received()[1].last_results().join("\n"));
    let how: Vec<&str> = the_call(&scene.opened).deliveries.iter().map(|it| it.how.as_str()).collect();
    expect!["as a table, 37 rows"].assert_eq(&how.join("\n"));
}

#[tokio::test]
async fn p06_an_apps_call_gives_the_model_prose_and_the_view_its_data() {
    let scene = Scene::play(Mode::App, "show_dashboard", json!({}), &[]).await;
    scene
        .check(expect![[r#"
        asked: assistant/content + io.modelcontextprotocol/ui/structured
        model: assistant-content
        user: nothing
        view: ui-structured, uimeta
        rules: H26"#]])
        .await;
}

#[tokio::test]
async fn p07_a_declaration_without_assistant_content_is_rejected() {
    let stage = Stage::open(&Setting::sample(CHILD, &["--no-assistant-content"])).await;
    let status = stage.ready(SERVER).await;
    let rejected: Vec<String> =
        status.rejected.iter().map(|it| format!("{} {:?}", it.name, it.rule)).collect();
    assert_eq!(rejected, ["search_customers Some(H07)"]);
    let model = ScriptedModel::start([say(["Hello."])]).await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    stage.turn(&conversation, "Hello").await;
    model.assert_orderly();
    let offered = model.received()[0].offered();
    assert!(!offered.is_empty() && !offered.iter().any(|it| it.contains("search_customers")), "{offered:?}");
}

/// A conversation with an open View of the dashboard.
async fn dashboard() -> (Scene, String) {
    let scene = Scene::play(Mode::App, "show_dashboard", json!({}), &[]).await;
    let launch = scene.stage.host.open_view(&the_call(&scene.opened).id).await.unwrap();
    (scene, launch.view_id)
}

#[tokio::test]
async fn p08_a_view_calls_an_app_only_tool_and_receives_its_own_output() {
    let (scene, view) = dashboard().await;
    let offered = scene.model.received()[0].offered();
    assert!(!offered.iter().any(|it| it.contains("refresh_dashboard")), "{offered:?}");
    let params = json!({"name": "refresh_dashboard", "arguments": {}}).to_string();
    let reply =
        within(scene.stage.host.view_request(&view, request_id(), "tools/call", &params)).await.unwrap();
    let ViewReply::Result(result) = reply else { panic!("{reply:?}") };
    expect!["view: ui-structured, uimeta"]
        .assert_eq(&reach(&scene.seed, &[("view", result.get().as_bytes())]));
    let opened = scene.stage.opened(&scene.conversation).await;
    let asked: Vec<String> = opened
        .calls
        .values()
        .filter(|it| it.tool == "refresh_dashboard")
        .map(|it| format!("{:?} {:?}", it.origin, it.requested.as_ref().map(|it| it[0].to_string())))
        .collect();
    expect![[r#"View Some("io.modelcontextprotocol/ui/structured")"#]].assert_eq(&asked.join("\n"));
    // Neither the model nor a script may call it.
    let (refused, _) =
        scene.stage.script(&scene.conversation, "return await tools.sample.refresh_dashboard({})").await;
    assert!(refused.is_err(), "{refused:?}");
}

#[tokio::test]
async fn p09_an_app_only_tool_without_a_selection_gives_assistant_content() {
    let seed = fresh_seed();
    let connection = connection(&["--canaries", &seed], ConnectionOptions::default()).await;
    let raw = connection
        .call(&request("refresh_dashboard", json!({}), None), CallOptions::default())
        .await
        .unwrap();
    let (outcome, _) = decode_outcome(connection.revision(), &raw).unwrap();
    let OutcomeBody::Outputs { parts, .. } = outcome.body else { panic!("{raw}") };
    let selectors: Vec<String> = parts.iter().map(|it| it.selector.to_string()).collect();
    assert_eq!(selectors, ["assistant/content"]);
    connection.close().await;
}

#[tokio::test]
async fn p10_undeclared_and_unnegotiated_selectors_are_rejected() {
    let without_ui = ConnectionOptions { ui_extension: false, ..ConnectionOptions::default() };
    for (options, selector) in
        [(ConnectionOptions::default(), Selector::USER_CONTENT), (without_ui, Selector::ui())]
    {
        let connection = connection(&[], options).await;
        let asked = [Selector::ASSISTANT_CONTENT, selector];
        let call = request("search_customers", customers(), Some(&asked));
        let refused = connection.call(&call, CallOptions::default()).await;
        assert!(matches!(&refused, Err(CallError::Server { code: -32602, .. })), "{refused:?}");
        connection.close().await;
    }
    // The host does not send such a selection, whatever was chosen: the tool is not offered, and the choice is told.
    let stage = Stage::open(&Setting::sample(CHILD, &[""; 0])).await;
    stage.ready(SERVER).await;
    let model = ScriptedModel::start([say(["Hello."])]).await;
    let conversation = stage.conversation(Mode::Custom, &model).await;
    let custom = choose("search_customers", &[Selector::ASSISTANT_CONTENT, Selector::USER_CONTENT]);
    stage.host.configure_conversation(&conversation, None, None, None, Some(custom)).await.unwrap();
    stage.turn(&conversation, "Hello").await;
    model.assert_orderly();
    assert!(!model.received()[0].offered().iter().any(|it| it.contains("search_customers")));
    let previews = stage.host.preview_selection(&conversation).await.unwrap();
    let told =
        previews.into_iter().find(|it| it.tool.name == "search_customers").unwrap().selection.unwrap_err();
    expect!["Some(H11) search_customers does not declare user/content"]
        .assert_eq(&format!("{:?} {}", told.rule, told.text));
}

/// The payloads that do not fit the schema of their own variant, and where.
fn broken_schemas(opened: &Opened) -> String {
    let mut found = Vec::new();
    for row in &opened.ledger {
        if let LedgerEntry::Validated { source, verdict: Verdict::Violates { problems, .. } } = &row.entry {
            found.extend(problems.iter().map(|it| format!("{}: {}", source.name(), it.pointer)));
        }
    }
    found.join(" ")
}

#[tokio::test]
async fn p11_programmatic_and_app_schemas_are_validated_independently() {
    let asked = [Selector::ASSISTANT_CONTENT, Selector::ui()];
    for (switch, broken) in
        [("--violate-ui", "io.modelcontextprotocol/ui/structured: /note"), ("--violate-programmatic", "")]
    {
        let choice = choose("search_customers", &asked);
        let scene = Scene::play_with(Mode::Custom, "search_customers", customers(), &[switch], choice).await;
        assert_eq!(broken_schemas(&scene.opened), broken, "{switch}");
    }
    for (switch, broken) in
        [("--violate-programmatic", "programmatic/structured: /note"), ("--violate-ui", "")]
    {
        let stage = Stage::open(&Setting::sample(CHILD, &[switch])).await;
        stage.ready(SERVER).await;
        let model = ScriptedModel::start([]).await;
        let conversation = stage.conversation(Mode::Chat, &model).await;
        let (returned, _) = stage
            .script(&conversation, "return await tools.sample.search_customers({query: 'Globex'})")
            .await;
        assert!(returned.is_ok(), "a violation is told, and the value still delivered: {returned:?}");
        let opened = stage.opened(&conversation).await;
        assert_eq!(broken_schemas(&opened), broken, "{switch}");
    }
}

#[tokio::test]
async fn p12_no_selection_is_sent_under_earlier_revisions() {
    for revision in Revision::ALL.into_iter().filter(|it| !it.has_output_variants()) {
        let scene =
            Scene::play(Mode::Chat, "search_customers", customers(), &["--only", revision.as_str()]).await;
        assert_eq!(the_call(&scene.opened).revision, Some(revision));
        let sent: Vec<String> = scene
            .stage
            .host
            .wire_lines(Some(SERVER), 0, 10_000)
            .into_iter()
            .filter(|it| it.channel == Channel::ToServer)
            .map(|it| it.text)
            .collect();
        assert!(sent.iter().any(|it| it.contains("tools/call")), "{revision}: {sent:?}");
        assert!(!sent.iter().any(|it| it.contains("requestedOutputs")), "{revision}");
    }
}

#[tokio::test]
async fn p13_declarations_and_results_are_projected_to_each_revision() {
    let mut lines = Vec::new();
    for revision in Revision::ALL {
        let seed = fresh_seed();
        let options = ConnectionOptions { newest: revision, ..ConnectionOptions::default() };
        let connection = connection(&["--canaries", &seed, "--only", revision.as_str()], options).await;
        assert_eq!(connection.revision(), revision);
        let (page, defects) = connection.list_tools().await.unwrap();
        assert_eq!(defects, []);
        let tool = page.tools.iter().find(|it| it.name == "search_customers").unwrap();
        let raw =
            connection.call(&request("search_customers", customers(), None), CallOptions::default()).await;
        let crossed: [(&str, &[u8]); 2] =
            [("declared", tool.raw.get().as_bytes()), ("received", raw.as_ref().unwrap().get().as_bytes())];
        lines.push(format!("{revision}\n{}", reach(&seed, &crossed)));
        connection.close().await;
    }
    expect![[r#"
        2025-03-26
        declared: nothing
        received: assistant-content, meta, uimeta
        2025-06-18
        declared: nothing
        received: assistant-content, assistant-structured, meta, uimeta
        2025-11-25
        declared: nothing
        received: assistant-content, assistant-structured, meta, uimeta
        2026-07-28
        declared: nothing
        received: assistant-content, assistant-structured, meta, uimeta
        2026-12-01
        declared: schema-assistant, schema-user, schema-programmatic
        received: assistant-content, meta, uimeta"#]]
    .assert_eq(&lines.join("\n"));
}

#[tokio::test]
async fn p14_a_tool_without_variants_is_rejected_under_2026_12_01() {
    let stage = Stage::open(&Setting::sample(CHILD, &["--no-output-variants"])).await;
    let status = stage.ready(SERVER).await;
    assert_eq!(status.revision, Some(Revision::NEWEST));
    let rejected: Vec<String> =
        status.rejected.iter().map(|it| format!("{} {:?}", it.name, it.rule)).collect();
    assert_eq!(rejected, ["search_customers Some(H09)"]);
    assert!(status.tools.iter().any(|it| it.tool.name == "make_images"), "the others stay");
}

#[tokio::test]
async fn p15_unrequested_outputs_and_metadata_reach_nobody() {
    let switches = ["--unrequested-output", "--meta-secrets", "--mirrored-text"];
    for (mode, expected) in [
        (
            Mode::Chat,
            expect![[r#"
            asked: assistant/content + user/structured + io.modelcontextprotocol/ui/structured
            model: assistant-content
            user: user-structured
            view: ui-structured, uimeta
            rules: H19 H26"#]],
        ),
        (
            Mode::Data,
            expect![[r#"
            asked: assistant/structured + user/structured + io.modelcontextprotocol/ui/structured
            model: assistant-structured
            user: user-structured
            view: ui-structured, uimeta
            rules: H19 H26"#]],
        ),
        (
            Mode::Present,
            expect![[r#"
            asked: user/structured
            model: nothing
            user: user-structured
            view: nothing
            rules: H19 H26"#]],
        ),
        (
            Mode::App,
            expect![[r#"
            asked: assistant/content + io.modelcontextprotocol/ui/structured
            model: assistant-content
            user: nothing
            view: ui-structured, uimeta
            rules: H19 H26"#]],
        ),
    ] {
        let scene = Scene::play(mode, "search_customers", customers(), &switches).await;
        scene.check(expected).await;
        let view = scene.stage.views_receive(&scene.conversation).await;
        for (who, bytes) in [("model", bodies(&scene.model)), ("view", view)] {
            for secret in ["sk-sample-0f1e2d3c4b5a69788796a5b4c3d2e1f0", "correct horse battery staple"] {
                assert_eq!(usher_tests::canaries::forms_in(&bytes, secret), [], "{who} received {secret}");
            }
        }
    }
}
