//! A real language model under llama.cpp, through the application's own adapter: a streamed call of a tool, its result, and a streamed
//! answer. The structure is asserted, never the wording: the model is small, and says what it likes.

use std::{
    collections::BTreeSet,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::Duration,
};

use usher_engine::Mode;
use usher_host::{
    conversation::{AnswerState, HostEvent, ItemBody, NewModel, TurnState},
    model::ToolChoice,
};
use usher_tests::{
    canaries::fresh_seed,
    invariants, peers,
    scripted_server::Script,
    stage::{SERVER, Setting, Stage, within},
};

use crate::headless::CHILD;

/// How long the model may take to load. Only a broken machine reaches it.
const LOADING: Duration = Duration::from_secs(180);

/// The model's server; ends with the test.
struct Llama {
    process: Child,
    base_url: String,
}

impl Llama {
    fn start() -> Self {
        let (python, weights) = peers::llama();
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
        let mut process = Command::new(python)
            .arg(here.join("llama_server.py"))
            .arg(weights)
            .arg(here.join("hermes.jinja"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        // From here on it ends with the test, also when it never says where it is.
        let mut llama = Self { process, base_url: String::new() };
        let (sender, said) = mpsc::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            // A test that gave up does not listen any more.
            let _ = output.read_line(&mut line).map(|_| sender.send(line));
        });
        let address = said
            .recv_timeout(LOADING)
            .unwrap_or_else(|error| panic!("the model's server did not say where it is: {error}"));
        assert!(address.starts_with("http://"), "the model's server did not start: {address:?}");
        llama.base_url = format!("{}/v1", address.trim());
        llama
    }
}

impl Drop for Llama {
    fn drop(&mut self) {
        // Closing its input would end it too, but not in the middle of an answer.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_model_calls_a_tool_and_answers() {
    let llama = tokio::task::spawn_blocking(Llama::start).await.unwrap();
    let seed = fresh_seed();
    let folder = tempfile::tempdir().unwrap();
    let declaration = r#"{"description":"The weather in a city","inputSchema":{"type":"object",
        "properties":{"city":{"type":"string","description":"The city"}},"required":["city"]},
        "outputVariants":[{"audience":"assistant","format":"content"},{"audience":"user","format":"structured"}]}"#;
    let result = format!(
        r#"{{"resultType":"complete","outputs":[
            {{"audience":"assistant","format":"content","content":[{{"type":"text","text":"Light rain, 12 degrees. canary-assistant-{seed}"}}]}},
            {{"audience":"user","format":"structured","structuredContent":{{"rain":true,"note":"canary-user-{seed}"}}}}]}}"#
    );
    let newest = usher_protocol::Revision::NEWEST;
    let script = Script::new(newest.as_str()).tool("get_weather", declaration, &result);
    let mut setting = Setting::with(vec![script.cast(SERVER, CHILD, folder.path())]);
    setting.patience.stall = Duration::from_secs(110);
    let stage = Stage::open(&setting).await;
    stage.ready(SERVER).await;
    let entry = stage
        .host
        .save_model(NewModel {
            provider: "llama.cpp".to_owned(),
            base_url: llama.base_url.clone(),
            name: "smollm2".to_owned(),
            context_tokens: Some(4096),
            ..NewModel::default()
        })
        .await
        .unwrap();
    let conversation = stage.host.create_conversation(Some(Mode::Chat), Some(entry.id)).await.unwrap().id;
    let question = "What is the weather in Paris?";
    stage.host.send_message(&conversation, question, ToolChoice::Required).await.unwrap();
    // Whatever a small model does after its second answer is its own matter.
    within(stage.told({
        let mut ended = BTreeSet::new();
        move |event| match event {
            HostEvent::Item { item, .. } => match &item.body {
                ItemBody::Assistant(answer) if answer.state != AnswerState::Streaming => {
                    ended.insert(item.id.clone());
                    (ended.len() >= 2).then_some(())
                }
                ItemBody::Assistant(_)
                | ItemBody::User
                | ItemBody::Call { .. }
                | ItemBody::Door(_)
                | ItemBody::Brought(_)
                | ItemBody::Note => None,
            },
            HostEvent::Turn { turn: TurnState::Failed(why), .. } => panic!("{why:?}"),
            _ => None,
        }
    }))
    .await;
    stage.host.stop_turn(&conversation).await;
    let opened = stage.ended(&conversation).await;

    let answers: Vec<_> = opened
        .items
        .iter()
        .filter_map(|it| match &it.body {
            ItemBody::Assistant(answer) => Some((it.text.clone(), answer.clone())),
            ItemBody::User
            | ItemBody::Call { .. }
            | ItemBody::Door(_)
            | ItemBody::Brought(_)
            | ItemBody::Note => None,
        })
        .collect();
    let (_, first) = &answers[0];
    assert!(matches!(first.state, AnswerState::Done | AnswerState::CutShort), "{first:?}");
    assert!(!first.calls.is_empty(), "the model was made to call a tool: {first:?}");
    for call in &first.calls {
        assert!(call.wire_name.ends_with("get_weather"), "only offered tools are called: {call:?}");
    }
    // Each call was made with arguments that fit, or was refused and told so.
    let made = opened.calls.values().filter(|it| it.state.word() == "done").count();
    for call in opened.calls.values() {
        assert!(!call.state.is_open(), "{call:?}");
        if call.state.word() == "done" {
            assert!(call.arguments.to_value()["city"].is_string(), "{call:?}");
        }
    }
    assert!(made > 0, "at least one call could be made: {:?}", first.calls);

    // What the model was sent is recorded, orderly, and holds what was made for it and nothing else.
    let bodies: Vec<String> = {
        let mut all = Vec::new();
        for exchange in &opened.exchanges {
            all.push(stage.host.exchange_body(&exchange.id).await.unwrap().body);
        }
        all
    };
    for body in &bodies {
        assert_eq!(invariants::violations(body.as_bytes()), Vec::<String>::new());
        assert!(!body.contains(&format!("canary-user-{seed}")));
    }
    assert!(bodies[1].contains(&format!("canary-assistant-{seed}")));
    let streamed = stage.events().iter().filter(|it| matches!(it, HostEvent::Text { .. })).count();
    let (words, second) = &answers[1];
    assert!(!words.is_empty() || !second.calls.is_empty(), "the model answered: {second:?}");
    assert!(words.is_empty() || streamed > 1, "its words came one after the other");
    stage.close().await;
}
