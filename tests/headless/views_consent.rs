//! What Views ask of the user: one question at a time, nothing without a yes, and exactly what was shown after it (X5).

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use usher_engine::{Mode, ledger::LedgerEntry};
use usher_host::conversation::{
    Asked, HostEvent, ItemBody, QuestionAnswer, ServerTrust, Surroundings, ViewFile, ViewFileBody, ViewReply,
};
use usher_tests::{
    scripted_model::{ScriptedModel, call, say},
    stage::{SERVER, Setting, Stage, request_id, the_call, within},
};

use super::{CHILD, scene::legacy};

/// A conversation with a call that has Views, and the addresses that were opened.
struct Scene {
    stage: Stage,
    conversation: String,
    call: String,
    opened: Arc<Mutex<Vec<String>>>,
    downloads: tempfile::TempDir,
    model: ScriptedModel,
}

impl Scene {
    async fn open() -> Self {
        let opened: Arc<Mutex<Vec<String>>> = Arc::default();
        let opens = Arc::clone(&opened);
        let open = move |url: &str| {
            if url.contains("broken") {
                return Err("no browser".to_owned());
            }
            opens.lock().unwrap().push(url.to_owned());
            Ok(())
        };
        let downloads = tempfile::tempdir().unwrap();
        let surroundings = Surroundings {
            open: Arc::new(open),
            downloads: Some(downloads.path().to_owned()),
            ..Surroundings::default()
        };
        let mut setting = Setting { surroundings, ..Setting::sample::<&str>(CHILD, &[]) };
        setting.connection.offers.sampling = true;
        let stage = Stage::open(&setting).await;
        stage.ready(SERVER).await;
        let answers = [call([("show_dashboard", json!({}))]), say(["Done."]), say(["I see."])];
        let model = ScriptedModel::start(answers).await;
        let conversation = stage.conversation(Mode::App, &model).await;
        let call = the_call(&stage.turn(&conversation, "Please.").await).id.clone();
        Self { stage, conversation, call, opened, downloads, model }
    }

    async fn view(&self) -> String {
        self.stage.host.open_view(&self.call).await.unwrap().view_id
    }

    async fn ask(&self, view: &str, method: &str, params: &Value) -> ViewReply {
        self.ask_as(view, request_id(), method, params).await
    }

    async fn ask_as(&self, view: &str, id: u32, method: &str, params: &Value) -> ViewReply {
        within(self.stage.host.view_request(view, id, method, &params.to_string())).await.unwrap()
    }

    async fn answered(
        &self,
        view: &str,
        (method, params): (&str, &Value),
        answer: QuestionAnswer,
    ) -> (ViewReply, Asked) {
        futures::future::join(self.ask(view, method, params), self.stage.answer(answer)).await
    }

    /// The texts that doors let in.
    async fn doors(&self) -> Vec<String> {
        let items = self.stage.opened(&self.conversation).await.items;
        items.into_iter().filter(|it| matches!(it.body, ItemBody::Door(_))).map(|it| it.text).collect()
    }

    /// The files that were saved, by their names.
    fn saved(&self) -> Vec<(String, Vec<u8>)> {
        let files = std::fs::read_dir(self.downloads.path()).unwrap();
        let mut files: Vec<(String, Vec<u8>)> = files
            .map(|it| it.unwrap())
            .map(|it| (it.file_name().into_string().unwrap(), std::fs::read(it.path()).unwrap()))
            .collect();
        files.sort();
        files
    }

    /// How often a method was sent to the server.
    fn sent_to_server(&self, method: &str) -> usize {
        let words = format!("\"{method}\"");
        let lines = self.stage.host.wire_lines(None, 0, 100_000);
        lines.iter().filter(|it| it.text.contains(&words)).count()
    }

    fn opened(&self) -> Vec<String> {
        self.opened.lock().unwrap().clone()
    }
}

const YES: QuestionAnswer = QuestionAnswer::Accept(None);

fn message(text: &str) -> Value {
    json!({"role": "user", "content": [{"type": "text", "text": text}]})
}

fn context(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

fn result(value: Value) -> ViewReply {
    ViewReply::Result(value.into())
}

#[tokio::test]
async fn a_no_lets_nothing_through_and_is_told_in_the_way_of_each_request() {
    let scene = Scene::open().await;
    for answer in [QuestionAnswer::Decline, QuestionAnswer::Cancel] {
        for (method, params) in [
            ("ui/message", message("REFUSED")),
            ("ui/update-model-context", context("REFUSED")),
            ("ui/open-link", json!({"url": "https://refused.example/"})),
        ] {
            // Each of its own: after a no it is quiet for a while.
            let view = scene.view().await;
            let (reply, _) = scene.answered(&view, (method, &params), answer.clone()).await;
            match method {
                "ui/update-model-context" => {
                    let ViewReply::Error(error) = reply else { panic!("{reply:?}") };
                    assert_eq!((error.code, error.message.as_str()), (-32000, "the user did not allow it"));
                }
                _ => assert_eq!(reply, result(json!({"isError": true}))),
            }
            // At once again: no question, and the same answer.
            let again = scene.ask(&view, method, &params).await;
            assert_eq!(matches!(again, ViewReply::Error(_)), method == "ui/update-model-context");
            scene.stage.host.close_view(&view);
        }
    }
    assert_eq!((scene.doors().await, scene.opened()), (Vec::new(), Vec::new()));
    let opened = scene.stage.turn(&scene.conversation, "And now?").await;
    assert!(!opened.ledger.iter().any(|it| matches!(it.entry, LedgerEntry::DoorOpened { .. })));
    assert!(!String::from_utf8_lossy(&scene.model.received()[2].body).contains("REFUSED"));
}

#[tokio::test]
async fn an_address_is_shown_as_it_would_be_opened_and_the_yes_opens_it() {
    let scene = Scene::open().await;
    let view = scene.view().await;
    let url = json!({"url": "HTTPS://ex\u{e4}mple.com/a b"});
    let (reply, asked) = scene.answered(&view, ("ui/open-link", &url), YES).await;
    let Asked::ViewLink { view: from, url, host } = asked else { panic!("{asked:?}") };
    assert_eq!((from.view_id, from.tool.as_str()), (view.clone(), "show_dashboard"));
    assert_eq!((url.as_str(), host.as_str()), ("https://xn--exmple-cua.com/a%20b", "xn--exmple-cua.com"));
    assert_eq!(reply, result(json!({})));
    assert_eq!(scene.opened(), [url]);
    // A yes to an address is a yes to no other, and none that cannot be opened is told as opened.
    let broken = json!({"url": "https://broken.example/"});
    let tries = async {
        let question = scene.stage.question().await;
        let host = &scene.stage.host;
        assert!(host.answer_question(&question.id, QuestionAnswer::AcceptForView).is_err());
        let error = host.answer_question(&question.id, YES).unwrap_err();
        assert!(error.what.contains("no browser"), "{error}");
        assert_eq!(host.questions().len(), 1, "it still waits");
        host.answer_question(&question.id, QuestionAnswer::Decline).unwrap();
    };
    let (reply, ()) = futures::future::join(scene.ask(&view, "ui/open-link", &broken), tries).await;
    assert_eq!(reply, result(json!({"isError": true})));
    assert_eq!(scene.opened().len(), 1);
}

#[tokio::test]
async fn one_question_stands_in_the_window_and_messages_may_be_allowed_for_a_view() {
    let scene = Scene::open().await;
    let (a, b) = (scene.view().await, scene.view().await);
    let asks = async {
        let all = [("one", &a), ("two", &a), ("three", &b)];
        let asks = all.map(async |(text, view)| scene.ask(view, "ui/message", &message(text)).await);
        futures::future::join_all(asks).await
    };
    let answers = async {
        let mut shown = Vec::new();
        // The yes for the View is a yes to what it asked meanwhile, and to nothing of another one.
        for answer in [QuestionAnswer::AcceptForView, YES] {
            let Asked::ViewWords { view, text, .. } = scene.stage.answer(answer).await else { panic!() };
            shown.push((view.view_id, text));
        }
        shown
    };
    let (replies, shown) = futures::future::join(asks, answers).await;
    assert_eq!(replies, [result(json!({})), result(json!({})), result(json!({}))]);
    assert_eq!(shown.len(), 2);
    assert_eq!(shown.iter().filter(|it| it.0 == a).count(), 1);
    assert!(shown.contains(&(b.clone(), "three".to_owned())), "{shown:?}");
    let mut doors = scene.doors().await;
    doors.sort();
    assert_eq!(doors, ["one", "three", "two"]);
}

#[tokio::test]
async fn a_view_that_gives_up_or_goes_takes_its_question_back() {
    let scene = Scene::open().await;
    let host = &scene.stage.host;
    for closes in [false, true] {
        let (view, id) = (scene.view().await, request_id());
        let gone = async {
            let question = scene.stage.question().await;
            if closes {
                host.close_view(&view);
            } else {
                host.cancel_view_request(&view, id);
            }
            question
        };
        let params = message("NOBODY-WAITS");
        let (reply, question) =
            futures::future::join(scene.ask_as(&view, id, "ui/message", &params), gone).await;
        assert_eq!(reply, result(json!({"isError": true})));
        assert!(host.questions().is_empty());
        // A yes that comes then is a yes to nothing.
        assert!(host.answer_question(&question.id, YES).is_err());
        // What another View asks is shown; who took it back may not show the next at once, whatever it is.
        if !closes {
            let other = scene.view().await;
            let (reply, _) = scene.answered(&other, ("ui/message", &message("LATER")), YES).await;
            assert_eq!(reply, result(json!({})));
            for (method, params) in
                [("ui/message", params), ("ui/open-link", json!({"url": "https://a.example/"}))]
            {
                assert_eq!(scene.ask(&view, method, &params).await, result(json!({"isError": true})));
            }
            host.revoke_approval(SERVER, None).await.unwrap();
            let call = json!({"name": "refresh_dashboard", "arguments": {}});
            let ViewReply::Error(error) = scene.ask(&view, "tools/call", &call).await else { panic!() };
            assert!(error.message.contains("may ask again later"), "{}", error.message);
            assert!(host.questions().is_empty());
        }
    }
    assert_eq!(scene.doors().await, ["LATER"]);
}

#[tokio::test]
async fn what_does_not_reach_the_model_is_named_to_the_user_and_to_the_view() {
    let scene = Scene::open().await;
    let view = scene.view().await;
    let sound = json!({"type": "audio", "data": "QUJD", "mimeType": "audio/wav"});
    let bytes = json!({"type": "resource", "resource": {"uri": "x:1", "blob": "QUJD"}});
    let both = json!({"role": "user", "content": [sound, {"type": "text", "text": "Look"}, bytes, sound]});
    let (reply, asked) = scene.answered(&view, ("ui/message", &both), YES).await;
    let Asked::ViewWords { text, left_out, .. } = asked else { panic!("{asked:?}") };
    assert_eq!((text.as_str(), left_out.as_deref()), ("Look", Some("2 sounds and 1 resource")));
    assert_eq!(reply, result(json!({"_meta": {"leftOut": "2 sounds and 1 resource"}})));
    assert_eq!(scene.doors().await, ["Look"]);
    // Without words there is nothing to ask about.
    let silent = json!({"role": "user", "content": [sound]});
    let ViewReply::Error(error) = scene.ask(&view, "ui/message", &silent).await else { panic!() };
    assert_eq!(error.code, -32602);
    assert!(scene.stage.host.questions().is_empty());
}

#[tokio::test]
async fn each_view_keeps_its_own_context_and_a_new_opening_takes_the_place_of_one_that_is_gone() {
    let scene = Scene::open().await;
    let (a, b) = (scene.view().await, scene.view().await);
    for (view, text) in [(&a, "OF-A"), (&b, "OF-B")] {
        scene.answered(view, ("ui/update-model-context", &context(text)), YES).await;
    }
    assert_eq!(scene.doors().await, ["OF-A", "OF-B"]);
    scene.ask(&a, "ui/update-model-context", &context("OF-A-AGAIN")).await;
    assert_eq!(scene.doors().await, ["OF-B", "OF-A-AGAIN"]);
    scene.stage.host.close_view(&a);
    // It stays until the user or the View's next opening takes it back.
    assert_eq!(scene.doors().await, ["OF-B", "OF-A-AGAIN"]);
    let again = scene.view().await;
    scene.answered(&again, ("ui/update-model-context", &context("OF-THE-NEXT")), YES).await;
    assert_eq!(scene.doors().await, ["OF-B", "OF-THE-NEXT"]);
    scene.ask(&b, "ui/update-model-context", &json!({})).await;
    assert_eq!(scene.doors().await, ["OF-THE-NEXT"]);
}

#[tokio::test]
async fn the_last_context_stands_whichever_was_answered_last() {
    let scene = Scene::open().await;
    let view = scene.view().await;
    let (older, newer) = (request_id(), request_id());
    let (first, taken_back) = (context("TOO-LATE"), json!({"content": []}));
    let asks = scene.ask_as(&view, older, "ui/update-model-context", &first);
    let user = async {
        let question = scene.stage.question().await;
        let reply = scene.ask_as(&view, newer, "ui/update-model-context", &taken_back).await;
        assert_eq!(reply, result(json!({})), "taking back needs no question");
        scene.stage.host.answer_question(&question.id, YES).unwrap();
    };
    let (reply, ()) = futures::future::join(asks, user).await;
    assert_eq!(reply, result(json!({})));
    assert_eq!(scene.doors().await, [""; 0]);
}

#[tokio::test]
async fn a_view_that_asks_can_be_stopped_where_it_asks() {
    let scene = Scene::open().await;
    let host = &scene.stage.host;
    let (view, other) = (scene.view().await, scene.view().await);
    for (method, params) in [
        ("ui/message", message("STOPPED")),
        ("ui/open-link", json!({"url": "https://a.example/"})),
        ("ui/download-file", json!({"contents": [resource("x:/a", json!({"text": "a"}))]})),
    ] {
        let view = scene.view().await;
        let waits = message("WAITS-BEHIND");
        let asks =
            futures::future::join(scene.ask(&view, method, &params), scene.ask(&view, "ui/message", &waits));
        let ((reply, behind), _) =
            futures::future::join(asks, scene.stage.answer(QuestionAnswer::StopView)).await;
        assert_eq!([reply, behind], [result(json!({"isError": true})), result(json!({"isError": true}))]);
        let why = |event: &HostEvent| match event {
            HostEvent::ViewEnded { view_id, why } if *view_id == view => Some(why.clone()),
            _ => None,
        };
        assert_eq!(scene.stage.told(why).await, "You stopped this View when it asked you for something.");
        assert!(host.view_request(&view, request_id(), "ping", "").await.is_err());
        assert!(host.questions().is_empty());
    }
    // Others go on, and what no View asks stops none.
    for view in [&view, &other] {
        assert_eq!(scene.ask(view, "ping", &json!({})).await, result(json!({})));
    }
    assert_eq!((scene.doors().await, scene.opened(), scene.saved()), (Vec::new(), Vec::new(), Vec::new()));
}

#[tokio::test]
async fn what_a_view_says_is_sent_by_the_user_also_without_a_word_of_their_own() {
    let scene = Scene::open().await;
    let view = scene.view().await;
    let words = json!({"role": "user", "content": [{"type": "text", "text": "CANARY-SAID"}]});
    scene.answered(&view, ("ui/message", &words), YES).await;
    let before = scene.model.received().len();
    assert_eq!(before, 2, "nothing is sent by the yes itself");
    scene.stage.host.retry_turn(&scene.conversation).await.unwrap();
    let opened = scene.stage.ended(&scene.conversation).await;
    let sent = scene.model.received();
    assert_eq!(sent.len(), 3);
    let last = sent[2].json["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(last.contains("CANARY-SAID") && last.contains("The app that a tool shows"), "{last}");
    assert!(opened.items.iter().any(|it| it.text == "I see."));
}

fn resource(uri: &str, body: Value) -> Value {
    let mut resource = body;
    resource["uri"] = json!(uri);
    json!({"type": "resource", "resource": resource})
}

#[tokio::test]
async fn files_are_saved_as_they_were_shown_after_a_yes_and_nothing_is_written_over() {
    let scene = Scene::open().await;
    let view = scene.view().await;
    let table = "sample://reports/regions.csv".to_owned();
    let contents = json!({"contents": [
        resource("file:///a/../../etc/%2e%2e%2freport.csv", json!({"text": "a,b"})),
        resource("x:/Report.csv", json!({"blob": "AAEC"})),
        {"type": "resource_link", "uri": table, "name": "../page"},
    ]});
    let reads = || scene.sent_to_server("resources/read");
    let before = reads();
    let asks = ("ui/download-file", &contents);
    let user = async {
        let question = scene.stage.question().await;
        assert_eq!(reads(), before, "nothing is read before the user agreed");
        scene.stage.host.answer_question(&question.id, YES).unwrap();
        question.asked
    };
    let (reply, asked) = futures::future::join(scene.ask(&view, asks.0, asks.1), user).await;
    assert_eq!(reads(), before + 1);
    let Asked::ViewFiles { view: from, files, folder } = asked else { panic!("{asked:?}") };
    assert_eq!((from.view_id, folder), (view.clone(), scene.downloads.path().display().to_string()));
    // The names are shown that they get, and no two are one on any disk.
    let file = |name: &str, body| ViewFile { name: name.to_owned(), body };
    let sent = |name: &str| file(name, ViewFileBody::Sent(3));
    assert_eq!(files[..2], [sent("report.csv"), sent("Report (2).csv")]);
    assert_eq!(files[2], file("regions.csv", ViewFileBody::AtServer(table)));
    assert_eq!(reply, result(json!({})));
    let saved = scene.saved();
    let bytes = |name: &str| &saved.iter().find(|it| it.0 == name).unwrap().1[..];
    assert_eq!((bytes("report.csv"), bytes("Report (2).csv")), (&b"a,b"[..], &[0, 1, 2][..]));
    assert!(bytes("regions.csv").starts_with(b"region,customers"), "what the server has there");
    assert_eq!(saved.len(), 3);
    // The conversation tells of it, and the model does not hear of it.
    let items = scene.stage.opened(&scene.conversation).await.items;
    assert!(items.iter().any(|it| it.body == ItemBody::Note && it.text.contains("Report (2).csv")));
    // Asked again, what is there stays as it is.
    let again = json!({"contents": [resource("x:/report.csv", json!({"text": "other"}))]});
    scene.answered(&view, ("ui/download-file", &again), YES).await;
    let saved = scene.saved();
    assert_eq!(saved.iter().find(|it| it.0 == "report.csv").unwrap().1, b"a,b");
    assert_eq!(saved.len(), 4);
    // A no writes nothing and reads nothing.
    let (reply, _) = scene.answered(&view, asks, QuestionAnswer::Decline).await;
    assert_eq!(reply, result(json!({"isError": true})));
    assert_eq!((scene.saved(), reads()), (saved.clone(), before + 1));
    // What cannot be read is told to both, and the rest is saved.
    let other = scene.view().await;
    let gone = json!({"contents": [
        {"type": "resource_link", "uri": "file:///etc/passwd", "name": "p"},
        resource("x:/beside.txt", json!({"text": "b"})),
    ]});
    let (reply, _) = scene.answered(&other, ("ui/download-file", &gone), YES).await;
    assert_eq!(reply, result(json!({"isError": true})));
    let names: Vec<String> = scene.saved().into_iter().map(|it| it.0).collect();
    assert!(names.contains(&"beside.txt".to_owned()) && !names.contains(&"passwd".to_owned()), "{names:?}");
    let items = scene.stage.opened(&scene.conversation).await.items;
    assert!(items.iter().any(|it| it.text.contains("could not save passwd")), "{items:?}");
}

#[tokio::test]
async fn a_view_has_files_of_one_request_saved_at_a_time_and_none_once_it_is_gone() {
    let scene = Scene::open().await;
    let view = scene.view().await;
    let one = json!({"contents": [resource("x:/one.txt", json!({"text": "1"}))]});
    let user = async {
        let question = scene.stage.question().await;
        // While one waits for the user or is saved, the next is not even asked about.
        for _ in 0..2 {
            let ViewReply::Error(error) = scene.ask(&view, "ui/download-file", &one).await else { panic!() };
            assert!(error.message.contains("not saved yet"), "{}", error.message);
        }
        assert_eq!(scene.stage.host.questions().len(), 1);
        scene.stage.host.close_view(&view);
        assert!(scene.stage.host.answer_question(&question.id, YES).is_err() || scene.saved().is_empty());
    };
    let (reply, ()) = futures::future::join(scene.ask(&view, "ui/download-file", &one), user).await;
    assert_eq!(reply, result(json!({"isError": true})));
    assert_eq!(scene.saved(), []);
}

#[tokio::test]
async fn four_files_are_read_for_all_views_at_once_and_the_fifth_waits_for_room() {
    let [folder, downloads] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let script = legacy().view("<p>hello</p>", None).silent("resources/read ui://a/never");
    let mut setting = Setting::with(vec![script.cast(SERVER, CHILD, folder.path())]);
    setting.surroundings.downloads = Some(downloads.path().to_owned());
    let stage = Stage::open(&setting).await;
    stage.ready(SERVER).await;
    let conversation = stage.host.create_conversation(None, None).await.unwrap().id;
    let call = stage.host.call_tool(&conversation, SERVER, "show", "{}").await.unwrap().record.id;
    let link = json!({"contents": [{"type": "resource_link", "uri": "ui://a/never", "name": "never"}]});
    let mut views = Vec::new();
    for _ in 0..5 {
        views.push(stage.host.open_view(&call).await.unwrap().view_id);
    }
    let before = stage.on_the_wire("resources/read");
    let reads = || stage.on_the_wire("resources/read") - before;
    let until = async |count: usize| {
        let there = async {
            while reads() < count {
                tokio::task::yield_now().await;
            }
        };
        within(there).await;
    };
    let asks = futures::future::join_all(views.iter().map(|it| stage.ask(it, "ui/download-file", &link)));
    let user = async {
        for _ in 0..5 {
            stage.answer(YES).await;
        }
        until(4).await;
        // Whatever the fifth would have sent was sent before this.
        for _ in 0..3 {
            stage.host.call_tool(&conversation, SERVER, "show", "{}").await.unwrap();
        }
        assert_eq!(reads(), 4);
        stage.host.close_view(&views[0]);
        until(5).await;
        views.iter().for_each(|it| stage.host.close_view(it));
    };
    let (replies, ()) = futures::future::join(asks, user).await;
    assert!(replies.iter().all(|it| *it != result(json!({}))), "{replies:?}");
    assert_eq!(std::fs::read_dir(downloads.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_view_asks_the_model_where_its_server_may_and_the_user_sees_all_of_it() {
    let scene = Scene::open().await;
    let host = &scene.stage.host;
    let params = json!({"maxTokens": 50, "messages": [{"role": "user", "content": {"type": "text", "text": "CANARY-ASKED"}}]});
    let asks = ("sampling/createMessage", &params);
    let launch = host.open_view(&scene.call).await.unwrap();
    assert!(!launch.can_sample);
    let ViewReply::Error(error) = scene.ask(&launch.view_id, asks.0, asks.1).await else { panic!() };
    assert_eq!(error.code, -32601, "the user did not turn it on");
    let trust = ServerTrust { asks_model: true, ..ServerTrust::default() };
    host.set_server_trust(SERVER, trust).await.unwrap();
    scene.stage.ready(SERVER).await;
    let launch = host.open_view(&scene.call).await.unwrap();
    assert!(launch.can_sample);
    let person = async {
        let Asked::Sample(shown) = scene.stage.answer(YES).await else { panic!() };
        assert_eq!(shown.by_view.as_ref(), Some(&launch.view_id));
        assert_eq!(shown.messages[0].text, "CANARY-ASKED");
        let question = scene
            .stage
            .told(|_| host.questions().into_iter().find(|it| matches!(it.asked, Asked::SampleAnswer(_))))
            .await;
        let Asked::SampleAnswer(answer) = &question.asked else { panic!() };
        assert_eq!((answer.by_view.as_ref(), answer.text.as_str()), (Some(&launch.view_id), "I see."));
        let exchange = host.exchange_body(&answer.exchange_id).await.unwrap().exchange;
        assert_eq!(exchange.asked_by.as_deref(), Some("the View of sample"));
        host.answer_question(&question.id, YES).unwrap();
    };
    let (reply, ()) = futures::future::join(scene.ask(&launch.view_id, asks.0, asks.1), person).await;
    assert_eq!(
        reply,
        result(
            json!({"role": "assistant", "content": {"type": "text", "text": "I see."}, "model": "scripted-1", "stopReason": "endTurn"})
        )
    );
    let sent = scene.model.received()[2].json["messages"].clone();
    assert_eq!(
        sent,
        json!([{"role": "user", "content": "CANARY-ASKED"}]),
        "nothing of the conversation goes along"
    );
    // A no is final for this opening, and costs nothing.
    let (reply, _) = scene.answered(&launch.view_id, asks, QuestionAnswer::Decline).await;
    let ViewReply::Error(error) = reply else { panic!("{reply:?}") };
    assert_eq!(error.code, -1);
    assert_eq!(scene.model.received().len(), 3);
    let facts = scene.stage.opened(&scene.conversation).await.ledger;
    let facts: Vec<String> = facts.iter().map(|it| it.entry.line().text).collect();
    assert!(
        facts.iter().any(|it| it == "what the model wrote for the View of sample went to it, allowed by you")
    );
    assert!(facts.iter().any(|it| it == "you did not let the View of sample ask the model"), "{facts:#?}");
}
