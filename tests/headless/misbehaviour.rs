//! Every switch of the sample server: a defect is named by exactly its rule, and a broken wire costs its call and nothing else.

use std::time::Duration;

use expect_test::{Expect, expect};
use serde_json::json;
use usher_engine::Mode;
use usher_host::conversation::{Channel, ServerPhase};
use usher_tests::{
    canaries::forms_in,
    scripted_model::{ScriptedModel, call, say},
    stage::{SERVER, Setting, Stage, bodies, ledger, rules, the_call},
};

use super::CHILD;

/// What a call with a switch comes to: its rules, its state and what the model was told, shortened.
async fn outcome(mode: Mode, switches: &[&str]) -> String {
    let stage = Stage::open(&Setting::sample(CHILD, switches)).await;
    stage.ready(SERVER).await;
    let query = json!({"query": "Globex"});
    let model =
        ScriptedModel::start([call([("search_customers", query)]), say(["Done."]), say(["Yes."])]).await;
    let conversation = stage.conversation(mode, &model).await;
    let opened = stage.turn(&conversation, "Search.").await;
    assert_eq!(stage.failure(&conversation).await, None, "{switches:?}");
    // The conversation goes on.
    stage.turn(&conversation, "Are you there?").await;
    assert_eq!(stage.failure(&conversation).await, None, "{switches:?}");
    model.assert_orderly();
    let told = model.received()[1].last_results();
    assert_eq!(told.len(), 1, "{switches:?}: the call has exactly one result");
    let told: String = told[0].chars().take(64).collect();
    let state = the_call(&opened).state.word();
    format!("{} → {} | {state} | {told}", switches.join(" "), rules(&opened).join(" "))
}

#[tokio::test]
async fn each_defect_of_an_output_is_named_by_its_rule() {
    let mut lines = Vec::new();
    for (mode, switch) in [
        (Mode::Chat, "--unrequested-output"),
        (Mode::Chat, "--missing-output"),
        (Mode::Chat, "--duplicate-output"),
        (Mode::Chat, "--mismatched-pair"),
        (Mode::Data, "--violate-assistant"),
        (Mode::Chat, "--violate-user"),
        (Mode::Chat, "--violate-ui"),
        (Mode::Chat, "--mirrored-text"),
        (Mode::Chat, "--empty-outputs"),
        (Mode::Chat, "--meta-secrets"),
    ] {
        lines.push(outcome(mode, &[switch]).await);
    }
    expect![[r#"
        --unrequested-output → H19 | done | I found 37 Globex customer records. The three most recently acti
        --missing-output → H26 H19 | done | I found 37 Globex customer records. The three most recently acti
        --duplicate-output → H19 | done | I found 37 Globex customer records. The three most recently acti
        --mismatched-pair → H19 H26 | done | I found 37 Globex customer records. The three most recently acti
        --violate-assistant → H04 | done | {"matches":37,"byRegion":{"APAC":6,"EMEA":8,"LATAM":6,"NA":17},"
        --violate-user → H04 | done | I found 37 Globex customer records. The three most recently acti
        --violate-ui → H04 | done | I found 37 Globex customer records. The three most recently acti
        --mirrored-text → H19 | done | I found 37 Globex customer records. The three most recently acti
        --empty-outputs → H26 H27 H19 | failed | The tool answered, but its answer was not a valid result, so it 
        --meta-secrets → H26 | done | I found 37 Globex customer records. The three most recently acti"#]]
    .assert_eq(&lines.join("\n"));
}

#[tokio::test]
async fn each_defect_of_a_declaration_is_named_by_its_rule() {
    let mut lines = Vec::new();
    for switch in
        ["--no-output-variants", "--no-assistant-content", "--duplicate-pair", "--unnegotiated-audience"]
    {
        let stage = Stage::open(&Setting::sample(CHILD, &[switch])).await;
        let status = stage.ready(SERVER).await;
        let rejected = status.rejected.iter().map(|it| format!("rejected {:?}", it.rule));
        let marked =
            status.tools.iter().flat_map(|it| &it.defects).map(|it| format!("usable, but {:?}", it.rule));
        let found: Vec<String> = rejected.chain(marked).collect();
        lines.push(format!("{switch} → {}", found.join(", ")));
    }
    expect![[r#"
        --no-output-variants → rejected Some(H09)
        --no-assistant-content → rejected Some(H07)
        --duplicate-pair → rejected Some(H06)
        --unnegotiated-audience → usable, but Some(H08)"#]]
    .assert_eq(&lines.join("\n"));
}

#[tokio::test]
async fn a_broken_wire_costs_its_call_and_nothing_else() {
    let mut lines = Vec::new();
    for switches in [
        &["--noise"][..],
        &["--interleaved"],
        &["--malformed-line"],
        &["--invalid-utf8"],
        &["--flood", "20000"],
        &["--crash-on-call"],
    ] {
        lines.push(outcome(Mode::Chat, switches).await);
    }
    expect![[r#"
        --noise →  | done | I found 37 Globex customer records. The three most recently acti
        --interleaved →  | failed | The call failed: the server could not be reached or refused the 
        --malformed-line →  | failed | The call failed: the server could not be reached or refused the 
        --invalid-utf8 →  | done | ��I found 37 Globex customer records. The three most recently ac
        --flood 20000 →  | done | I found 37 Globex customer records. The three most recently acti
        --crash-on-call →  | failed | The call failed: the server could not be reached or refused the "#]]
    .assert_eq(&lines.join("\n"));
}

/// How a server of another time is met.
async fn negotiated(switches: &[&str], expected: Expect) {
    let mut setting = Setting::sample(CHILD, switches);
    // Only a server that stays silent is waited for; any other has the usual time, also on a busy machine.
    if switches.contains(&"--discover-silent") {
        setting.connection.probe_timeout = Duration::from_millis(500);
    }
    let stage = Stage::open(&setting).await;
    let status = stage.ready(SERVER).await;
    let revision = status.revision.map(|it| it.to_string()).unwrap_or_default();
    expected.assert_eq(&format!("{revision}\n{}", status.negotiation.join("\n")));
    let model =
        ScriptedModel::start([call([("search_customers", json!({"query": "Globex"}))]), say(["Done."])])
            .await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    stage.turn(&conversation, "Search.").await;
    model.assert_orderly();
    assert!(model.received()[1].last_results()[0].contains("Globex"));
}

#[tokio::test]
async fn servers_of_every_era_are_met_and_each_step_is_told() {
    negotiated(
        &[],
        expect![[r#"
        2026-12-01
        Asked server/discover under 2026-12-01.
        usher-sample speaks 2026-12-01."#]],
    )
    .await;
    negotiated(
        &["--only", "2026-07-28"],
        expect![[r#"
        2026-07-28
        Asked server/discover under 2026-12-01.
        The server does not speak 2026-12-01; it speaks 2026-07-28.
        Asked server/discover under 2026-07-28.
        usher-sample speaks 2026-07-28."#]],
    )
    .await;
    negotiated(&["--only", "2025-11-25", "--discover-empty"], expect![[r#"
        2025-11-25
        Asked server/discover under 2026-12-01.
        The answer to server/discover is not one (missing field `supportedVersions` at line 1 column 2); trying the handshake.
        Sent initialize, offering 2025-11-25.
        usher-sample speaks 2025-11-25."#]]).await;
    negotiated(
        &["--only", "2025-06-18", "--discover-silent"],
        expect![[r#"
        2025-06-18
        Asked server/discover under 2026-12-01.
        No answer within 0.5 s; trying the handshake as well.
        Sent initialize, offering 2025-11-25.
        The server answered initialize with 2025-06-18.
        usher-sample speaks 2025-06-18."#]],
    )
    .await;
    negotiated(&["--only", "2025-03-26", "--exit-on-unknown"], expect![[r#"
        2025-03-26
        Asked server/discover under 2026-12-01.
        The server ended when it was asked server/discover (exit status: 70); it is started again with the handshake.
        Sent initialize, offering 2025-11-25.
        The server answered initialize with 2025-03-26.
        usher-sample speaks 2025-03-26."#]]).await;
}

#[tokio::test]
async fn a_server_that_cannot_start_is_told_and_the_conversation_goes_on() {
    for (command, switches) in [(CHILD, &["--crash-at-start"][..]), ("/there/is/no/such/program", &[])] {
        let stage = Stage::open(&Setting::sample(command, switches)).await;
        let (what, todo) = stage
            .told(|event| match event {
                usher_host::conversation::HostEvent::Server(status) => match &status.state {
                    ServerPhase::Failed(what, todo) => Some((what.clone(), todo.clone())),
                    ServerPhase::Off
                    | ServerPhase::Starting
                    | ServerPhase::Ready
                    | ServerPhase::Restarting(_) => None,
                },
                _ => None,
            })
            .await;
        assert!(!what.is_empty() && !todo.is_empty(), "{command}: {what:?} {todo:?}");
        let model = ScriptedModel::start([say(["I have no tools."])]).await;
        let conversation = stage.conversation(Mode::Chat, &model).await;
        stage.turn(&conversation, "Hello").await;
        assert_eq!(stage.failure(&conversation).await, None);
        model.assert_orderly();
    }
}

#[tokio::test]
async fn a_call_that_hangs_is_cancelled_and_its_turn_goes_on() {
    let stage = Stage::open(&Setting::sample(CHILD, &["--hang"])).await;
    stage.ready(SERVER).await;
    let model =
        ScriptedModel::start([call([("search_customers", json!({"query": "Globex"}))]), say(["I see."])])
            .await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    stage.host.send_message(&conversation, "Search.", Default::default()).await.unwrap();
    let call_id = stage.running_call().await;
    stage.host.cancel_call(&call_id);
    let opened = stage.ended(&conversation).await;
    assert_eq!(the_call(&opened).state.word(), "cancelled");
    model.assert_orderly();
    expect!["The user stopped this call before it finished. There is no result."]
        .assert_eq(&model.received()[1].last_results().join("\n"));
    let sent = stage.host.wire_lines(Some(SERVER), 0, 10_000);
    let was_told =
        sent.iter().any(|it| it.channel == Channel::ToServer && it.text.contains("notifications/cancelled"));
    assert!(was_told, "the server is told");
}

#[tokio::test]
async fn a_late_answer_of_a_cancelled_call_reaches_nobody() {
    let seed = usher_tests::canaries::fresh_seed();
    let switches = ["--late", "--delay-ms", "300", "--canaries", seed.as_str()];
    let stage = Stage::open(&Setting::sample(CHILD, &switches)).await;
    stage.ready(SERVER).await;
    let query = || json!({"query": "Globex"});
    let model = ScriptedModel::start([
        call([("search_customers", query())]),
        say(["Stopped."]),
        call([("list_events", json!({"rows": 1}))]),
        say(["Done."]),
    ])
    .await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    stage.host.send_message(&conversation, "Search.", Default::default()).await.unwrap();
    let call_id = stage.running_call().await;
    stage.host.cancel_call(&call_id);
    stage.ended(&conversation).await;
    // By the time that a later call has been answered, the late answer has come.
    stage.turn(&conversation, "Events.").await;
    model.assert_orderly();
    let canary = usher_tests::stage::canary("assistant-content", &seed);
    assert_eq!(forms_in(&bodies(&model), &canary), []);
    let opened = stage.opened(&conversation).await;
    assert!(
        !ledger(&opened).iter().any(|it| it.contains("search_customers to the model")),
        "{:#?}",
        ledger(&opened)
    );
}
