//! What was shown is kept: over a restart, and over a kill in the middle of an answer.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    path::Path,
    process::{Command, Stdio},
    sync::{Arc, Mutex},
};

use expect_test::expect;
use serde_json::json;
use usher_engine::Mode;
use usher_host::{
    conversation::{AnswerState, ApprovalChoice, CallState, HostEvent, ItemBody, NewModel, TurnState},
    store::{Keyring, SecretPlace},
};
use usher_tests::{
    scripted_model::{ScriptedModel, call, say, speak_without_end},
    stage::{SERVER, Setting, Stage, the_call, within},
};

use super::CHILD;

/// A keyring that answers once somebody on the test's only thread lets it.
struct Slow(Mutex<std::sync::mpsc::Receiver<()>>);

impl Keyring for Slow {
    fn name(&self) -> String {
        "the test's keyring".to_owned()
    }

    fn entry(&self, _account: &str) -> Result<Option<String>, String> {
        Ok(None)
    }

    fn keep_entry(&self, _account: &str, _value: Option<&str>) -> Result<(), String> {
        self.0.lock().unwrap().recv().map_err(|error| error.to_string())
    }
}

#[tokio::test]
async fn a_keyring_that_asks_the_person_holds_nobody_else_up() {
    let (go, waits) = std::sync::mpsc::channel();
    let mut setting = Setting::with(Vec::new());
    setting.store.secrets = SecretPlace::Keyring(Arc::new(Slow(Mutex::new(waits))));
    let stage = Stage::open(&setting).await;
    let new = NewModel {
        provider: "p".to_owned(),
        base_url: "http://127.0.0.1:1/v1".to_owned(),
        name: "m".to_owned(),
        key: Some("k".to_owned()),
        ..NewModel::default()
    };
    let person = async { go.send(()).unwrap() };
    let (saved, ()) = tokio::join!(stage.host.save_model(new), person);
    saved.unwrap();
    let kept = stage.host.secrets_kept();
    assert_eq!((kept.in_keyring, kept.trouble), (1, None));
    stage.close().await;
}

#[tokio::test]
async fn a_restart_shows_everything_again() {
    let setting = Setting::sample(CHILD, &[""; 0]);
    let stage = Stage::open(&setting).await;
    stage.ready(SERVER).await;
    let model = ScriptedModel::start([
        say(["Before. "])
            .after(call([("search_customers", json!({"query": "Globex"}))]))
            .ending("tool_calls"),
        call([("make_images", json!({"prompt": "the sea"}))]),
        say(["Here they are."]),
        say(["Still here."]),
    ])
    .await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    let before = stage.turn(&conversation, "Show me everything.").await;
    assert_eq!(stage.failure(&conversation).await, None);
    let view = before.calls.values().find(|it| it.view.is_some()).map(|it| it.id.clone()).unwrap();
    let launch = stage.host.open_view(&view).await.unwrap();
    let seen = stage.user_sees(&conversation).await;
    // The recorded bodies are the very bytes that the model received.
    let received = model.received();
    assert_eq!(before.exchanges.len(), received.len());
    for (exchange, request) in before.exchanges.iter().zip(&received) {
        let recorded = stage.host.exchange_body(&exchange.id).await.unwrap();
        assert_eq!(recorded.body.as_bytes(), request.body);
        // Every byte has a source.
        let mut at = 0;
        for span in &recorded.spans {
            assert_eq!(span.start, at);
            at = span.end;
        }
        assert_eq!(at, request.body.len());
    }
    let before = stage.opened(&conversation).await;
    let dir = stage.close().await.unwrap();

    // Without the server: what was shown does not need it.
    let stage = Stage::reopen(dir.path(), &setting).await;
    stage.host.enable_server(SERVER, false).await.unwrap();
    let listed: Vec<String> = stage.host.conversations().await.unwrap().into_iter().map(|it| it.id).collect();
    assert_eq!(listed, std::slice::from_ref(&conversation));
    let after = stage.opened(&conversation).await;
    assert_eq!(after.items, before.items);
    assert_eq!(after.calls, before.calls);
    assert_eq!(after.ledger, before.ledger);
    assert_eq!(after.exchanges, before.exchanges);
    assert_eq!(stage.user_sees(&conversation).await, seen);
    let again = stage.host.open_view(&view).await.unwrap();
    assert_eq!((again.tool, again.input, again.outcome), (launch.tool, launch.input, launch.outcome));
    let last = stage.host.exchange_body(&after.exchanges[2].id).await.unwrap();
    assert_eq!(last.body.as_bytes(), received[2].body);
    // And it goes on where it was.
    stage.host.enable_server(SERVER, true).await.unwrap();
    within(async {
        while stage.host.server_ready(SERVER).await.is_err() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    stage.turn(&conversation, "Are you there?").await;
    assert_eq!(stage.failure(&conversation).await, None);
    model.assert_orderly();
    let continued = &model.received()[3].json["messages"];
    let earlier = received[2].json["messages"].as_array().unwrap();
    assert_eq!(&continued.as_array().unwrap()[..earlier.len()], earlier, "the history is what it was");
    stage.close().await;
}

#[tokio::test]
async fn a_call_waits_for_the_user_and_does_what_they_say() {
    let setting = Setting { allowed: false, ..Setting::sample(CHILD, &[""; 0]) };
    let stage = Stage::open(&setting).await;
    stage.ready(SERVER).await;
    let query = || json!({"query": "Globex"});
    let model = ScriptedModel::start([
        call([("search_customers", query())]),
        say(["I see."]),
        call([("search_customers", query())]),
        say(["Done."]),
    ])
    .await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    let mut seen = Vec::new();
    for (answer, state) in
        [(ApprovalChoice::Refuse, CallState::Refused), (ApprovalChoice::Once, CallState::Done)]
    {
        stage.host.send_message(&conversation, "Search.", Default::default()).await.unwrap();
        let id = stage
            .told(|event| match event {
                HostEvent::Item { call: Some(call), .. }
                    if matches!(call.state, CallState::AwaitingApproval(_)) && !seen.contains(&call.id) =>
                {
                    Some(call.id.clone())
                }
                _ => None,
            })
            .await;
        let sent = stage.host.wire_lines(Some(SERVER), 0, 10_000);
        assert!(!sent.iter().any(|it| it.title == "tools/call"), "nothing is sent before the answer");
        stage.host.answer_approval(&id, answer).unwrap();
        let opened = stage.ended(&conversation).await;
        assert_eq!(opened.calls[&id].state, state);
        seen.push(id);
    }
    model.assert_orderly();
    assert!(model.received()[1].last_results()[0].contains("did not allow"));
    assert!(model.received()[3].last_results()[0].contains("Globex"));
}

/// Sends a message whose one call waits for the user, and gives the call once it does.
async fn asked(stage: &Stage, conversation: &str, seen: &mut Vec<String>) -> String {
    stage.host.send_message(conversation, "Search.", Default::default()).await.unwrap();
    let id = stage
        .told(|event| match event {
            HostEvent::Item { call: Some(call), .. }
                if matches!(call.state, CallState::AwaitingApproval(_)) && !seen.contains(&call.id) =>
            {
                Some(call.id.clone())
            }
            _ => None,
        })
        .await;
    seen.push(id.clone());
    id
}

#[tokio::test]
async fn what_the_user_always_allows_lasts_and_can_be_withdrawn() {
    let setting = Setting { allowed: false, ..Setting::sample(CHILD, &[""; 0]) };
    let model = ScriptedModel::choosing(|request| {
        let is_first = request.json["messages"].as_array()?.last()?["role"] == "user";
        let query = json!({"query": "Globex"});
        Some(if is_first { call([("search_customers", query)]) } else { say(["Done."]) })
    })
    .await;
    let stage = Stage::open(&setting).await;
    stage.ready(SERVER).await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    let id = asked(&stage, &conversation, &mut Vec::new()).await;
    stage.host.answer_approval(&id, ApprovalChoice::Tool).unwrap();
    stage.ended(&conversation).await;
    let dir = stage.close().await.unwrap();

    let stage = Stage::reopen(dir.path(), &setting).await;
    stage.ready(SERVER).await;
    let opened = stage.turn(&conversation, "Search again.").await;
    assert!(opened.calls.values().all(|it| it.state == CallState::Done), "nobody is asked again");
    stage.host.revoke_approval(SERVER, Some("search_customers".to_owned())).await.unwrap();
    let id = asked(&stage, &conversation, &mut Vec::new()).await;
    stage.host.answer_approval(&id, ApprovalChoice::Never).unwrap();
    stage.ended(&conversation).await;
    let opened = stage.turn(&conversation, "Search once more.").await;
    let refused = opened.calls.values().filter(|it| it.state == CallState::Refused).count();
    assert_eq!(refused, 2, "what is never allowed is not asked for");
    model.assert_orderly();
    stage.close().await;
}

/// How often the host is killed.
const KILLS: u32 = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_in_the_middle_of_an_answer_loses_nothing_that_was_shown() {
    let dir = tempfile::tempdir().unwrap();
    let model = ScriptedModel::choosing(|request| {
        let last = request.json["messages"].as_array()?.last()?["content"].as_str()?.to_owned();
        Some(if last.contains("story") { speak_without_end() } else { say(["I am here."]) })
    })
    .await;
    let mut conversations: Vec<(String, String)> = Vec::new();
    for _ in 0..KILLS {
        // Random: anywhere from the first word to some way into the answer.
        let lines = usize::from(uuid::Uuid::now_v7().as_bytes()[15] % 64) + 1;
        let (dir, url) = (dir.path().to_owned(), model.base_url());
        let killed = tokio::task::spawn_blocking(move || kill_after(&dir, &url, lines)).await.unwrap();
        conversations.push(killed);
    }
    let stage = Stage::reopen(dir.path(), &Setting::with(Vec::new())).await;
    for (conversation, shown) in &conversations {
        let opened = stage.opened(conversation).await;
        let answer = opened.items.iter().find(|it| matches!(it.body, ItemBody::Assistant(_))).unwrap();
        assert!(answer.text.starts_with(shown.as_str()), "{shown:?} was shown, {:?} is kept", answer.text);
        let ItemBody::Assistant(body) = &answer.body else { unreachable!() };
        assert!(matches!(body.state, AnswerState::Broken(_)), "{:?}", body.state);
        stage.turn(conversation, "Are you there?").await;
        assert_eq!(stage.failure(conversation).await, None);
    }
    model.assert_orderly();
    stage.close().await;
}

/// Starts a host, kills it after so many pieces of text were shown, and gives the conversation and everything that was shown.
fn kill_after(dir: &Path, url: &str, lines: usize) -> (String, String) {
    let mut child = Command::new(CHILD)
        .args(["host-to-be-killed", &dir.to_string_lossy(), url, "new"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let (mut conversation, mut shown) = (String::new(), String::new());
    let mut take = |line: &str| {
        if let Some(id) = line.strip_prefix("conversation ") {
            id.clone_into(&mut conversation);
        } else if let Some(text) = line.strip_prefix("shown ") {
            // The last line may have been cut by the kill.
            shown.push_str(&serde_json::from_str::<String>(text).unwrap_or_default());
        }
    };
    for _ in 0..=lines {
        let mut line = String::new();
        assert!(out.read_line(&mut line).unwrap() > 0, "the host ended by itself");
        take(line.trim_end());
    }
    child.kill().unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    rest.lines().for_each(&mut take);
    child.wait().unwrap();
    (conversation, shown)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_a_kill_interrupted_is_shown_as_such_and_has_a_result_in_the_next_request() {
    let dir = tempfile::tempdir().unwrap();
    let model =
        ScriptedModel::start([call([("search_customers", json!({"query": "Globex"}))]), say(["Yes."])]).await;
    let (path, url) = (dir.path().to_owned(), model.base_url());
    let killed = tokio::task::spawn_blocking(move || kill_in_a_call(&path, &url)).await.unwrap();
    let (conversation, id) = killed.split_once(' ').unwrap();

    let stage = Stage::reopen(dir.path(), &Setting::sample(CHILD, &["--hang"])).await;
    let opened = stage.opened(conversation).await;
    let call = the_call(&opened);
    assert_eq!((call.id.as_str(), &call.state), (id, &CallState::Interrupted));
    assert!(call.ended_ms.is_some());
    assert!(matches!(opened.turn, TurnState::Idle), "{:?}", opened.turn);
    stage.ready(SERVER).await;
    stage.turn(conversation, "Are you there?").await;
    assert_eq!(stage.failure(conversation).await, None);
    model.assert_orderly();
    expect!["This call was interrupted before its result was received. Whether it took effect is unknown."]
        .assert_eq(&model.received()[1].results().join("\n"));
    assert_eq!(stage.opened(conversation).await.items.last().unwrap().text, "Yes.");
    stage.close().await;
}

/// Starts a host, kills it while a tool works, and gives the line that it printed: the conversation and the call.
fn kill_in_a_call(dir: &Path, url: &str) -> String {
    let mut child = Command::new(CHILD)
        .args(["host-in-a-call", &dir.to_string_lossy(), url])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    // On Unix this is SIGKILL: the process has no moment left to put anything in order.
    child.kill().unwrap();
    assert!(!child.wait().unwrap().success());
    assert!(!line.is_empty(), "the host ended by itself");
    line.trim_end().to_owned()
}
