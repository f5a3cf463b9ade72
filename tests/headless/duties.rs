//! What a client owes a server beside its calls, through the whole host: questions and their answers, words of the model and the person's
//! consent, folders, tasks, and calls without an end.

use std::{sync::Arc, time::Duration};

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use usher_engine::Mode;
use usher_host::{
    connection::{LoggingLevel, Offers},
    conversation::{
        Asked, CallEnd, Channel, HostEvent, QuestionAnswer, QuestionRecord, ServerTrust, TurnState,
    },
};
use usher_tests::{
    scripted_model::{ScriptedModel, say},
    scripted_server::Script,
    stage::{SERVER, Setting, Stage, ledger, the_call, within},
};

use super::CHILD;

/// One revision of each era.
const ERAS: [&str; 2] = ["2025-11-25", "2026-07-28"];

const FORM: &str = r#"{"message":"Which region?","requestedSchema":{"type":"object","required":["region"],"properties":{"region":{"type":"string","maxLength":3},"days":{"type":"integer"}}}}"#;
const ADDRESS: &str =
    r#"{"mode":"url","message":"Sign in","url":"https://example.com.evil.test/in","elicitationId":"e"}"#;
const SAMPLE: &str = r#"{"systemPrompt":"Be brief.","maxTokens":50,"messages":[{"role":"user","content":{"type":"text","text":"Name \"it\": canary-asked"}},{"role":"assistant","content":{"type":"text","text":"Hm"}}]}"#;

/// A host whose person can be asked for everything, with a server that says what it is told to say.
struct Scene {
    stage: Stage,
    _folder: tempfile::TempDir,
    seen: std::sync::Mutex<Vec<String>>,
}

impl Scene {
    async fn of(script: Script) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut setting = Setting::with(vec![script.cast(SERVER, CHILD, folder.path())]);
        setting.connection.offers =
            Offers { forms: true, urls: true, sampling: true, roots: true, questions: None };
        setting.connection.call_limit = Duration::from_secs(100);
        setting.surroundings.open = Arc::new(|_| Ok(()));
        Self::set(folder, &setting).await
    }

    async fn set(folder: tempfile::TempDir, setting: &Setting) -> Self {
        let stage = Stage::open(setting).await;
        stage.ready(SERVER).await;
        Self { stage, _folder: folder, seen: std::sync::Mutex::default() }
    }

    async fn trusting(script: Script, trust: ServerTrust) -> Self {
        let scene = Self::of(script).await;
        scene.stage.host.set_server_trust(SERVER, trust).await.unwrap();
        scene.stage.ready(SERVER).await;
        scene
    }

    async fn conversation(&self, model: &ScriptedModel) -> String {
        self.stage.conversation(Mode::Chat, model).await
    }

    /// The next question that was not seen before.
    async fn question(&self) -> QuestionRecord {
        let found = self
            .stage
            .told(|event| match event {
                HostEvent::Question(it) if !self.seen.lock().unwrap().contains(&it.id) => Some(it.clone()),
                _ => None,
            })
            .await;
        self.seen.lock().unwrap().push(found.id.clone());
        assert_eq!((found.server_id.as_str(), found.server_name.as_str()), (SERVER, SERVER));
        *found
    }

    fn answer(&self, question: &QuestionRecord, answer: QuestionAnswer) {
        self.stage.host.answer_question(&question.id, answer).unwrap();
    }

    async fn call(&self, conversation: &str, tool: &str) -> CallEnd {
        within(self.stage.host.call_tool(conversation, SERVER, tool, "{}")).await.unwrap()
    }

    /// What the server says that it was told, and what went over the wire as an answer.
    fn told(&self, end: &CallEnd) -> Value {
        assert_eq!(end.record.state.word(), "done", "{:?}", end.record.state);
        let outcome = end.outcome.as_ref().unwrap().raw.to_value();
        serde_json::from_str(outcome["content"][0]["text"].as_str().unwrap()).unwrap()
    }

    fn sent(&self, part: &str) -> usize {
        let lines = self.stage.host.wire_lines(Some(SERVER), 0, 10_000);
        lines.iter().filter(|it| it.channel == Channel::ToServer && it.text.contains(part)).count()
    }
}

#[tokio::test]
async fn a_form_and_an_address_go_to_the_person_and_the_answer_to_the_server() {
    for era in ERAS {
        let script = Script::new(era)
            .asking("form", &[("elicitation/create", FORM)])
            .asking("url", &[("elicitation/create", ADDRESS)]);
        let scene = Scene::of(script).await;
        let model = ScriptedModel::start([]).await;
        let conversation = scene.conversation(&model).await;
        let run = async |tool: &str, answer: QuestionAnswer| {
            let person = async {
                let question = scene.question().await;
                match (&question.asked, tool) {
                    (Asked::Form { message, fields }, "form") => {
                        assert_eq!((message.as_str(), fields.len()), ("Which region?", 2));
                    }
                    (Asked::Url { url, host, .. }, "url") => assert_eq!(
                        (url.as_str(), host.as_str()),
                        ("https://example.com.evil.test/in", "example.com.evil.test")
                    ),
                    (other, tool) => panic!("{tool}: {other:?}"),
                }
                // What does not fit what the server wants is not sent, and can be corrected.
                if let (Asked::Form { .. }, QuestionAnswer::Accept(_)) = (&question.asked, &answer) {
                    let wrong = QuestionAnswer::Accept(Some(r#"{"region":"Europe"}"#.to_owned()));
                    assert!(scene.stage.host.answer_question(&question.id, wrong).is_err());
                }
                scene.answer(&question, answer);
                assert!(scene.stage.host.answer_question(&question.id, QuestionAnswer::Decline).is_err());
            };
            let (end, ()) = tokio::join!(scene.call(&conversation, tool), person);
            scene.told(&end)["q1"].to_string()
        };
        let filled = r#"{"region":"eu","days":2}"#.to_owned();
        assert_eq!(
            run("form", QuestionAnswer::Accept(Some(filled))).await,
            r#"{"action":"accept","content":{"region":"eu","days":2}}"#
        );
        assert_eq!(run("form", QuestionAnswer::Decline).await, r#"{"action":"decline"}"#);
        assert_eq!(run("form", QuestionAnswer::Cancel).await, r#"{"action":"cancel"}"#);
        assert_eq!(run("url", QuestionAnswer::Accept(None)).await, r#"{"action":"accept"}"#);
        assert_eq!(run("url", QuestionAnswer::Decline).await, r#"{"action":"decline"}"#);
        assert!(scene.stage.host.questions().is_empty());
    }
}

#[tokio::test]
async fn a_question_goes_away_with_the_call_that_it_belongs_to() {
    let scene = Scene::of(Script::new("2026-07-28").asking("form", &[("elicitation/create", FORM)])).await;
    let model = ScriptedModel::start([]).await;
    let conversation = scene.conversation(&model).await;
    let person = async {
        let question = scene.question().await;
        let call_id = scene.stage.running_call().await;
        scene.stage.host.cancel_call(&call_id);
        scene
            .stage
            .told(|event| matches!(event, HostEvent::QuestionGone(id) if *id == question.id).then_some(()))
            .await;
    };
    let (end, ()) = tokio::join!(scene.call(&conversation, "form"), person);
    assert_eq!(end.record.state.word(), "cancelled");
}

#[tokio::test]
async fn folders_are_told_only_if_they_were_chosen_and_their_change_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_string_lossy().into_owned();
    for era in ERAS {
        let script = || Script::new(era).asking("where", &[("roots/list", "{}")]);
        let model = ScriptedModel::start([]).await;
        let closed = Scene::of(script()).await;
        let conversation = closed.conversation(&model).await;
        let end = closed.call(&conversation, "where").await;
        assert_eq!(closed.sent("\"roots\""), 0);
        match era {
            "2025-11-25" => assert_eq!(
                closed.told(&end)["q1"],
                json!({"code": -32601, "message": "roots/list is not offered"})
            ),
            _ => assert_eq!(end.record.state.word(), "failed"),
        }

        let roots = vec![path.clone()];
        let open = Scene::trusting(script(), ServerTrust { roots, ..ServerTrust::default() }).await;
        let conversation = open.conversation(&model).await;
        let name = folder.path().file_name().unwrap().to_string_lossy();
        let told = open.told(&open.call(&conversation, "where").await);
        assert_eq!(told["q1"], json!({"roots": [{"uri": format!("file://{path}"), "name": name}]}));
        assert!(open.sent("\"roots\"") > 0);
        let inner = folder.path().join("inner");
        std::fs::create_dir_all(&inner).unwrap();
        let roots = vec![path.clone(), inner.to_string_lossy().into_owned()];
        open.stage
            .host
            .set_server_trust(SERVER, ServerTrust { roots, ..ServerTrust::default() })
            .await
            .unwrap();
        let told = open.told(&open.call(&conversation, "where").await);
        assert_eq!(told["q1"]["roots"].as_array().unwrap().len(), 2);
        let changes = open.sent("notifications/roots/list_changed");
        assert_eq!(changes, usize::from(era == "2025-11-25"), "{era}");
    }
}

fn lets_ask() -> ServerTrust {
    ServerTrust { asks_model: true, ..ServerTrust::default() }
}

fn asks_model(era: &str) -> Script {
    Script::new(era).asking("think", &[("sampling/createMessage", SAMPLE)])
}

#[tokio::test]
async fn nobody_asks_the_model_who_was_not_let() {
    for era in ERAS {
        let scene = Scene::of(asks_model(era)).await;
        let model = ScriptedModel::start([]).await;
        let conversation = scene.conversation(&model).await;
        let end = scene.call(&conversation, "think").await;
        if era == "2025-11-25" {
            assert_eq!(scene.told(&end)["q1"]["code"], -32601);
        } else {
            assert_eq!(end.record.state.word(), "failed");
        }
        assert_eq!(scene.sent("\"sampling\""), 0);
        assert!(model.received().is_empty());
    }
}

#[tokio::test]
async fn the_model_is_asked_when_the_person_allows_it_and_its_answer_goes_back_when_they_do() {
    for era in ERAS {
        let scene = Scene::trusting(asks_model(era), lets_ask()).await;
        let model = ScriptedModel::start([say(["canary", "-answered"]), say(["Hello."])]).await;
        let conversation = scene.conversation(&model).await;
        let person = async {
            let question = scene.question().await;
            let Asked::Sample(shown) = &question.asked else { panic!("{:?}", question.asked) };
            assert_eq!(shown.system.as_deref(), Some("Be brief."));
            let texts: Vec<_> = shown.messages.iter().map(|it| (it.is_assistant, it.text.as_str())).collect();
            assert_eq!(texts, [(false, "Name \"it\": canary-asked"), (true, "Hm")]);
            assert_eq!((shown.max_tokens, shown.tool.as_str()), (50, "think"));
            assert!(model.received().is_empty(), "nothing is sent before the person allows it");
            scene.answer(&question, QuestionAnswer::Accept(None));
            let question = scene.question().await;
            let Asked::SampleAnswer(answer) = &question.asked else { panic!("{:?}", question.asked) };
            assert_eq!(answer.text, "canary-answered");
            // It is an exchange of its own, whose very bytes can be read.
            let body = scene.stage.host.exchange_body(&answer.exchange_id).await.unwrap();
            assert_eq!(body.exchange.asked_by.as_deref(), Some(SERVER));
            assert_eq!(body.body.as_bytes(), model.received()[0].body);
            assert_eq!(shown.bytes, body.body.len() as u64);
            assert_eq!(scene.sent("canary-answered"), 0, "nothing goes back before the person allows it");
            scene.answer(&question, QuestionAnswer::Accept(None));
        };
        let (end, ()) = tokio::join!(scene.call(&conversation, "think"), person);
        assert_eq!(
            scene.told(&end)["q1"],
            json!({"role": "assistant", "content": {"type": "text", "text": "canary-answered"}, "model": "scripted-1", "stopReason": "endTurn"})
        );
        let sent = &model.received()[0].json;
        assert_eq!(
            sent["messages"],
            json!([
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Name \"it\": canary-asked"},
                {"role": "assistant", "content": "Hm"},
            ])
        );
        assert_eq!((&sent["max_tokens"], sent.get("tools")), (&json!(50), None));
        // None of it is part of the conversation.
        let opened = scene.stage.turn(&conversation, "Hi").await;
        let next = String::from_utf8(model.received()[1].body.clone()).unwrap();
        assert!(!next.contains("canary-asked") && !next.contains("canary-answered"), "{next}");
        let asked: Vec<_> = opened.exchanges.iter().map(|it| it.asked_by.as_deref()).collect();
        assert_eq!(asked, [Some(SERVER), None]);
        let facts: Vec<String> =
            ledger(&opened).into_iter().filter(|it| it.contains("allowed by you")).collect();
        assert_eq!(
            facts,
            [
                "sample asked the model, allowed by you; outside the conversation",
                "what the model wrote for sample went to it, allowed by you"
            ]
        );
    }
}

async fn refuses(
    answers: &[QuestionAnswer],
    models: Vec<usher_tests::scripted_model::Answer>,
    expected: Expect,
) {
    let twice = &[("sampling/createMessage", SAMPLE), ("sampling/createMessage", SAMPLE)];
    let script = Script::new("2025-11-25").asking("think", twice);
    let scene = Scene::trusting(script, lets_ask()).await;
    let model = ScriptedModel::start(models).await;
    let conversation = scene.conversation(&model).await;
    let person = async {
        for answer in answers {
            let question = scene.question().await;
            scene.answer(&question, answer.clone());
        }
    };
    let (end, ()) = tokio::join!(scene.call(&conversation, "think"), person);
    let told = scene.told(&end);
    let opened = scene.stage.opened(&conversation).await;
    let said: Vec<String> = ledger(&opened).into_iter().filter(|it| it.starts_with("you did")).collect();
    expected.assert_eq(&format!("{}\n{}\n{}", told["q1"], told["q2"], said.join("\n")));
    assert_eq!(scene.sent("canary-answered"), 0);
}

#[tokio::test]
async fn who_was_refused_once_is_not_heard_again_during_the_call() {
    refuses(
        &[QuestionAnswer::Decline],
        vec![],
        expect![[r#"
            {"code":-1,"message":"the person does not let this server ask the model"}
            {"code":-1,"message":"the person has refused this before"}
            you did not let sample ask the model"#]],
    )
    .await;
    refuses(
        &[QuestionAnswer::Accept(None), QuestionAnswer::Cancel],
        vec![say(["canary-answered"])],
        expect![[r#"
            {"code":-1,"message":"the person does not let this server have the model's answer"}
            {"code":-1,"message":"the person has refused this before"}
            you did not let sample have what the model wrote"#]],
    )
    .await;
}

const STARTED: &str =
    r#"{"resultType":"task","taskId":"t1","status":"working","ttlMs":null,"pollIntervalMs":1}"#;

#[tokio::test]
async fn a_call_that_becomes_a_task_shows_how_it_stands_and_is_routed_when_it_has_ended() {
    let script = Script::new("2026-07-28").tool("count", "{}", STARTED).method(
        "tasks/get",
        &[
            r#"{"resultType":"complete","taskId":"t1","status":"working","statusMessage":"half","pollIntervalMs":1}"#,
            r#"{"resultType":"complete","taskId":"t1","status":"completed","result":{"content":[{"type":"text","text":"42"}]}}"#,
        ],
    );
    let scene = Scene::of(script).await;
    let model =
        ScriptedModel::start([usher_tests::scripted_model::call([("count", json!({}))]), say(["It is 42."])])
            .await;
    let conversation = scene.conversation(&model).await;
    let opened = scene.stage.turn(&conversation, "Count.").await;
    model.assert_orderly();
    assert_eq!(the_call(&opened).state.word(), "done");
    assert_eq!(model.received()[1].last_results(), ["42"]);
    let said: Vec<String> = scene
        .stage
        .events()
        .into_iter()
        .filter_map(|event| match event {
            HostEvent::Item { call: Some(call), .. } => match call.state {
                usher_host::conversation::CallState::Running(Some(it)) => it.message,
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert_eq!(
        said,
        ["The server goes on with this as a task", "The server goes on with this as a task: half"]
    );
}

#[tokio::test]
async fn stopping_a_call_that_became_a_task_cancels_the_task() {
    let script = Script::new("2026-07-28")
        .tool("count", "{}", STARTED)
        .method("tasks/get", &[r#"{"taskId":"t1","status":"working","pollIntervalMs":1}"#])
        .method("tasks/cancel", &["{}"]);
    let scene = Scene::of(script).await;
    let model = ScriptedModel::start([]).await;
    let conversation = scene.conversation(&model).await;
    let person = async {
        let call_id = scene.stage.running_call().await;
        within(async {
            while scene.sent("tasks/get") < 2 {
                tokio::task::yield_now().await;
            }
        })
        .await;
        scene.stage.host.cancel_call(&call_id);
    };
    let (end, ()) = tokio::join!(scene.call(&conversation, "count"), person);
    assert_eq!(end.record.state.word(), "cancelled");
    within(async {
        while scene.sent("\"tasks/cancel\"") == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// Progress makes a call no longer than it may be, and stopping one tells the server (B65, B76).
#[tokio::test]
async fn progress_without_end_does_not_keep_a_call_for_ever() {
    for era in ERAS {
        let folder = tempfile::tempdir().unwrap();
        let script = Script::new(era).dripping("drip");
        let mut setting = Setting::with(vec![script.cast(SERVER, CHILD, folder.path())]);
        setting.connection.call_limit = Duration::from_secs(1);
        let scene = Scene::set(folder, &setting).await;
        let model = ScriptedModel::start([]).await;
        let conversation = scene.conversation(&model).await;
        let end = scene.call(&conversation, "drip").await;
        let usher_host::conversation::CallState::Failed { what, .. } = &end.record.state else {
            panic!("{:?}", end.record.state)
        };
        assert_eq!(what, "The server did not answer within 1 s; the request was cancelled.");
        assert_eq!(scene.sent("notifications/cancelled"), 1);
        let shown = scene.stage.events().iter().any(|event| {
            matches!(event, HostEvent::Item { call: Some(call), .. }
                if matches!(&call.state, usher_host::conversation::CallState::Running(Some(it)) if it.done >= 1.0))
        });
        assert!(shown, "progress is shown");
        // The turn is free.
        assert!(matches!(scene.stage.opened(&conversation).await.turn, TurnState::Idle));
    }
}

#[tokio::test]
async fn a_server_that_was_told_to_tell_is_started_again_to_be_silent() {
    let greeting = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},
        "serverInfo":{"name":"scripted","version":"1"}}"#;
    let script =
        Script::new("2025-11-25").answering("initialize", greeting).answering("logging/setLevel", "{}");
    let scene = Scene::of(script).await;
    for log_level in [Some(LoggingLevel::Notice), None] {
        let trust = ServerTrust { log_level, ..ServerTrust::default() };
        scene.stage.host.set_server_trust(SERVER, trust).await.unwrap();
    }
    within(async {
        while scene.sent(r#""method":"initialize""#) < 2 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    scene.stage.ready(SERVER).await;
    assert_eq!(scene.sent("logging/setLevel"), 1);
}

#[tokio::test]
async fn how_much_a_server_tells_is_chosen_for_each_and_kept() {
    let script = Script::new("2026-07-28").tool("say", "{}", r#"{"content":[]}"#);
    let scene = Scene::of(script).await;
    let model = ScriptedModel::start([]).await;
    let conversation = scene.conversation(&model).await;
    scene.call(&conversation, "say").await;
    assert_eq!(scene.sent("logLevel"), 0);
    let trust = ServerTrust { log_level: Some(LoggingLevel::Notice), ..ServerTrust::default() };
    scene.stage.host.set_server_trust(SERVER, trust.clone()).await.unwrap();
    scene.call(&conversation, "say").await;
    assert_eq!(scene.sent(r#""io.modelcontextprotocol/logLevel":"notice""#), 1);
    let unknown = scene.stage.host.set_server_trust("nobody", trust.clone()).await.unwrap_err();
    assert_eq!(unknown.what, "That server is not there any more.");
    let Scene { stage, .. } = scene;
    stage.host.shut_down().await;
    let stage = Stage::reopen(stage.dir(), &Setting::with(Vec::new())).await;
    assert_eq!(stage.host.server_trust(SERVER), trust);
    stage.host.remove_server(SERVER).await.unwrap();
    assert_eq!(stage.host.server_trust(SERVER), ServerTrust::default());
}
