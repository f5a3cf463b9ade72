//! The View bench: a View gets what its author wrote as its server's revision would bring it, what it asks passes the usual checks, and
//! the host is as slow and as wrong as a fixture says.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use usher_engine::validation::Verdict;
use usher_host::conversation::{
    Answerer, Ending, Failing, Fault, Fixture, HostEvent, ItemBody, News, ViewOutcome, ViewReply,
};
use usher_protocol::RawJson;
use usher_tests::{
    scripted_server::{LINK, Script},
    stage::{SERVER, Setting, Stage, request_id, within},
};

use super::{CHILD, cli::usher};

fn legacy(html: &str) -> Script {
    Script::new("2025-11-25")
        .tool("show", LINK, r#"{"content":[],"structuredContent":{"from":"the server"}}"#)
        .tool("hidden", r#"{"_meta":{"ui":{"visibility":["model"]}}}"#, r#"{"content":[]}"#)
        .view(html, None)
}

/// A server, and a conversation for the calls of a View.
struct Scene {
    stage: Stage,
    conversation: String,
    folder: tempfile::TempDir,
}

impl Scene {
    async fn open(script: Script) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let setting = Setting::with(vec![script.cast(SERVER, CHILD, folder.path())]);
        Self::of(setting, folder).await
    }

    async fn sample() -> Self {
        Self::of(Setting::sample::<&str>(CHILD, &[]), tempfile::tempdir().unwrap()).await
    }

    async fn of(setting: Setting, folder: tempfile::TempDir) -> Self {
        let stage = Stage::open(&setting).await;
        stage.ready(SERVER).await;
        let conversation = stage.host.create_conversation(None, None).await.unwrap().id;
        Self { stage, conversation, folder }
    }

    async fn view(&self, fixture: Fixture) -> (String, Option<ViewOutcome>) {
        let launch = self.stage.host.open_bench(&self.conversation, SERVER, fixture, 0).await.unwrap();
        (launch.view_id, launch.outcome)
    }

    async fn ask(&self, view: &str, method: &str, params: &Value) -> Result<Value, (i64, String)> {
        match self.stage.ask(view, method, params).await {
            ViewReply::Result(result) => Ok(result.to_value()),
            ViewReply::Error(error) => Err((error.code, error.message)),
        }
    }
}

fn result(value: Value) -> Ending {
    Ending::Result(RawJson::from(value))
}

#[tokio::test]
async fn under_the_newest_revision_a_view_gets_its_own_output_and_a_wrong_one_is_found() {
    let scene = Scene::sample().await;
    let host = &scene.stage.host;
    let good = json!({"datasetVersion": "1", "columns": [], "rows": [], "series": []});
    let fixture = |ending: Ending| Fixture { outcome: ending, ..Fixture::of("show_dashboard") };
    let (_, outcome) = scene.view(fixture(result(good.clone()))).await;
    let Some(ViewOutcome::Result(told)) = outcome else { panic!("there is a result") };
    assert_eq!(
        told.to_value(),
        json!({"audience": "io.modelcontextprotocol/ui", "format": "structured", "content": [], "structuredContent": good})
    );
    let verdict = host.judge_bench(SERVER, fixture(result(good.clone()))).await.unwrap();
    assert_eq!((verdict.input, verdict.output), (Verdict::Fits, Verdict::Fits));
    let mut wrong = good.clone();
    wrong["series"] = json!([{"label": 1, "count": 2}]);
    let verdict = host.judge_bench(SERVER, fixture(result(wrong))).await.unwrap();
    let Verdict::Violates { problems, .. } = verdict.output else { panic!("it does not fit") };
    assert_eq!(problems[0].pointer, "/series/0/label");
    let (_, outcome) = scene.view(fixture(Ending::Cancelled("enough".to_owned()))).await;
    assert_eq!(outcome, Some(ViewOutcome::Cancelled("enough".to_owned())));
    // A tool without a View has no place on the bench, nor has one that is not there.
    for tool in ["open_ticket", "nothing"] {
        assert!(host.open_bench(&scene.conversation, SERVER, Fixture::of(tool), 0).await.is_err());
    }
}

#[tokio::test]
async fn what_a_view_asks_on_the_bench_passes_the_usual_checks_and_reaches_its_server() {
    let scene = Scene::open(legacy("<p>one</p>")).await;
    let (view, outcome) = scene.view(Fixture::of("show")).await;
    assert_eq!(outcome, None, "the call has not ended");
    let answer = scene.ask(&view, "tools/call", &json!({"name": "show", "arguments": {}})).await.unwrap();
    assert_eq!(answer["structuredContent"], json!({"from": "the server"}));
    assert_eq!(scene.stage.on_the_wire("tools/call"), 1);
    assert_eq!(scene.ask(&view, "tools/call", &json!({"name": "hidden"})).await.unwrap_err().0, -32602);
    assert_eq!(scene.ask(&view, "initialize", &json!({})).await.unwrap_err().0, -32601);
    assert_eq!(scene.ask(&view, "ui/open-link", &json!({"url": "file:///x"})).await.unwrap_err().0, -32602);
    // What it would say is answered, and nothing of it is in the conversation.
    let words = json!({"role": "user", "content": [{"type": "text", "text": "CANARY"}]});
    assert_eq!(scene.ask(&view, "ui/message", &words).await, Ok(json!({})));
    assert_eq!(scene.ask(&view, "ui/update-model-context", &words).await, Ok(json!({})));
    assert_eq!(
        scene.ask(&view, "ui/open-link", &json!({"url": "https://example.com/"})).await,
        Ok(json!({}))
    );
    let opened = scene.stage.opened(&scene.conversation).await;
    let is_door = |it: &usher_host::conversation::ItemRecord| matches!(it.body, ItemBody::Door(_));
    assert!(!opened.items.iter().any(is_door));
    scene.stage.host.close_view(&view);
    let host = &scene.stage.host;
    assert!(host.view_request(&view, request_id(), "ping", "{}").await.is_err());
    assert!(host.change_bench(&view, Fixture::of("show")).is_err());
}

#[tokio::test]
async fn the_host_is_slow_and_fails_as_the_fixture_says_and_answers_from_it() {
    let scene = Scene::open(legacy("<p>one</p>")).await;
    let (view, _) = scene.view(Fixture::of("show")).await;
    let call = json!({"name": "show", "arguments": {}});
    let fault = |method: &str, delay_ms: u32, fail: Option<Failing>| Fault {
        method: method.to_owned(),
        delay_ms,
        fail,
    };
    let failing = Failing { code: -32001, message: "no such luck".to_owned() };
    let faults = vec![fault("tools/call", 0, Some(failing)), fault("resources/read", 300, None)];
    let host = &scene.stage.host;
    host.change_bench(&view, Fixture { faults, ..Fixture::of("show") }).unwrap();
    assert_eq!(scene.ask(&view, "tools/call", &call).await, Err((-32001, "no such luck".to_owned())));
    let began = Instant::now();
    scene.ask(&view, "resources/read", &json!({"uri": "ui://a/b"})).await.unwrap();
    assert!(began.elapsed() >= Duration::from_millis(300));
    // One that gives up does not wait for what is held back.
    let slow = vec![fault("*", 600_000, None)];
    host.change_bench(&view, Fixture { faults: slow, ..Fixture::of("show") }).unwrap();
    let id = request_id();
    let given_up = async {
        tokio::task::yield_now().await;
        host.cancel_view_request(&view, id);
    };
    let (reply, ()) = tokio::join!(within(host.view_request(&view, id, "ping", "{}")), given_up);
    assert!(matches!(reply, Ok(ViewReply::Error(_))), "{reply:?}");

    let answers =
        [("show".to_owned(), json!({"content": [], "structuredContent": {"from": "the fixture"}}).into())];
    let fixture = Fixture { calls: Answerer::Fixture, answers: answers.into(), ..Fixture::of("show") };
    host.change_bench(&view, fixture.clone()).unwrap();
    let answer = scene.ask(&view, "tools/call", &call).await.unwrap();
    assert_eq!(answer["structuredContent"], json!({"from": "the fixture"}));
    host.change_bench(&view, Fixture { answers: [].into(), ..fixture }).unwrap();
    assert!(
        scene.ask(&view, "tools/call", &call).await.unwrap_err().1.contains("has no answer for \"show\"")
    );
    assert_eq!(scene.stage.on_the_wire("tools/call"), 0, "none of them reached the server");
}

#[tokio::test]
async fn a_view_that_waits_is_told_how_its_call_ended() {
    let scene = Scene::open(legacy("<p>one</p>")).await;
    let (view, _) = scene.view(Fixture::of("show")).await;
    let host = &scene.stage.host;
    assert!(host.end_bench_call(&view, Fixture::of("show")).is_err(), "nothing says how");
    let whole = json!({"content": [], "structuredContent": {"n": 1}});
    let error = Ending::Error(Some(whole.into()));
    host.end_bench_call(&view, Fixture { outcome: error, ..Fixture::of("show") }).unwrap();
    let told = scene
        .stage
        .told(|event| match event {
            HostEvent::ViewMessage { view_id, method, params } if *view_id == view => {
                Some((method.clone(), params.clone()))
            }
            _ => None,
        })
        .await;
    assert_eq!(told.0, "ui/notifications/tool-result");
    let params: Value = serde_json::from_str(&told.1).unwrap();
    assert_eq!(params, json!({"content": [], "structuredContent": {"n": 1}, "isError": true}));
}

#[tokio::test]
async fn an_input_comes_in_pieces_as_if_a_model_wrote_it() {
    let scene = Scene::sample().await;
    let mut fixture = Fixture::of("show_dashboard");
    fixture.input = RawJson::parse(r#"{"region":"EMEA","n":12345678901234567890}"#).unwrap();
    let open = |pieces| scene.stage.host.open_bench(&scene.conversation, SERVER, fixture.clone(), pieces);
    let launch = open(6).await.unwrap();
    let pieces: Vec<&str> = launch.pieces.iter().map(RawJson::get).collect();
    assert_eq!(
        pieces,
        [r#"{"arguments":{}}"#, r#"{"arguments":{"region":"E"}}"#, r#"{"arguments":{"region":"EMEA"}}"#]
    );
    assert_eq!(launch.input.unwrap().get(), r#"{"arguments":{"region":"EMEA","n":12345678901234567890}}"#);
    assert_eq!(open(0).await.unwrap().pieces, Vec::<RawJson>::new());
}

#[tokio::test]
async fn a_changed_document_is_seen_after_the_server_was_started_again_for_a_changed_file() {
    let scene = Scene::open(legacy("<p>one</p>")).await;
    let host = &scene.stage.host;
    let (view, _) = scene.view(Fixture::of("show")).await;
    assert_eq!(host.bench_news(&view).await, News::Same);
    // The script is the file that the server is made of.
    let file = scene.folder.path().join(format!("{SERVER}.json"));
    assert!(host.watch_for_bench(SERVER, vec![PathBuf::from("relative")]).is_err());
    assert!(host.watch_for_bench(SERVER, vec![scene.folder.path().join("none")]).is_err());
    host.watch_for_bench(SERVER, vec![file]).unwrap();
    tokio::time::sleep(Duration::from_millis(700)).await;
    let _changed = legacy("<p>another</p>").cast(SERVER, CHILD, scene.folder.path());
    let seen = async {
        loop {
            if let News::Changed { file } = host.bench_news(&view).await {
                break file;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    assert_eq!(within(seen).await, Some(format!("{SERVER}.json")));
    let (again, _) = scene.view(Fixture::of("show")).await;
    assert_eq!(host.bench_news(&again).await, News::Same);
    host.watch_for_bench(SERVER, Vec::new()).unwrap();
}

#[tokio::test]
async fn a_fixture_is_saved_and_opened_again() {
    let scene = Scene::open(legacy("<p>one</p>")).await;
    let host = &scene.stage.host;
    let fixture = Fixture {
        input: RawJson::parse(r#"{"n": 12345678901234567890.10}"#).unwrap(),
        outcome: result(json!({"content": []})),
        ..Fixture::of("show")
    };
    let (path, _) = host.save_fixture("dark phone", &fixture).await.unwrap();
    assert_eq!(path, scene.stage.dir().join("bench/dark phone.json"));
    assert_eq!(host.bench_fixtures().await, ["dark phone"]);
    assert_eq!(host.open_fixture("dark phone").await.unwrap(), fixture);
    assert_eq!(host.open_fixture(&path.display().to_string()).await.unwrap(), fixture);
    assert!(host.open_fixture("../usher").await.is_err());
    assert!(host.open_fixture("none").await.is_err());
}

#[tokio::test]
async fn a_fixture_outlives_a_passing_folder_and_a_path_begins_where_usher_was_started() {
    let [kept, work] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let mut setting = Setting::sample::<&str>(CHILD, &[]);
    setting.surroundings.fixtures = Some(kept.path().join("bench"));
    setting.surroundings.started_in = Some(work.path().to_owned());
    let scene = Scene::of(setting, tempfile::tempdir().unwrap()).await;
    let host = &scene.stage.host;
    let fixture = Fixture::of("show_dashboard");
    let (path, _) = host.save_fixture("dark phone", &fixture).await.unwrap();
    assert_eq!(path, kept.path().join("bench/dark phone.json"));
    let (path, _) = host.save_fixture("./one.json", &fixture).await.unwrap();
    assert_eq!(path, work.path().join("one.json"));
    assert_eq!(host.open_fixture("./one.json").await.unwrap(), fixture);
    assert!(host.open_fixture("one.json").await.is_err(), "a name is not a path");
    std::fs::write(work.path().join("view.html"), "<p>one</p>").unwrap();
    host.watch_for_bench(SERVER, vec!["view.html".into()]).unwrap();
    assert!(host.watch_for_bench(SERVER, vec!["none.html".into()]).is_err());
}

#[tokio::test]
async fn a_build_without_a_window_says_so_and_what_is_wrong_comes_first() {
    let data = tempfile::tempdir().unwrap();
    let run = usher(data.path(), &["view", "show_dashboard", "--", "usher", "sample-server"]).await;
    assert_eq!((run.code, run.out.as_str()), (Some(2), ""));
    assert!(run.err.contains("has no window") && run.err.contains("--features desktop"), "{}", run.err);
    let fixture = data.path().join("other.json");
    std::fs::write(&fixture, r#"{"usherViewFixture": 1, "tool": "another"}"#).unwrap();
    let fixture = fixture.display().to_string();
    let run = usher(data.path(), &["view", "Sample", "show_dashboard", "--fixture", &fixture]).await;
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("a fixture of the tool \"another\""), "{}", run.err);
}
