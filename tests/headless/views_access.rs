//! What Views get beyond their own pages: nothing that was not allowed, asked once, kept; and what is taken back ends every View that has it.
//! Their only way to the network lets through what a live View was granted, and nothing else.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex},
};

use expect_test::expect;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use usher::egress::{self, Outside};
use usher_host::{
    app_view::access::{Wish, WishKind},
    conversation::{
        Asked, CallState, Fixture, HostEvent, Launch, Policy, QuestionAnswer, QuestionRecord, ServerTrust,
        ViewReply, WishState,
    },
};
use usher_tests::{
    scripted_server::{LINK, Script, document_with},
    stage::{SERVER, Setting, Stage, request_id, within},
};

use super::CHILD;

/// What a View of a map declares.
fn map() -> Value {
    json!({
        "csp": {
            "connectDomains": ["https://api.example.com"],
            "resourceDomains": ["*.tiles.example.com"],
        },
        "permissions": {"geolocation": {}},
    })
}

/// Another server with the same Views.
const OTHER: &str = "other";

/// Two servers with one View each, and the document that they give each time.
struct Scene {
    stage: Stage,
    setting: Setting,
    folder: tempfile::TempDir,
    conversation: String,
}

impl Scene {
    async fn open(documents: &[Value]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let documents: Vec<String> =
            documents.iter().map(|ui| document_with("<p>hello</p>", Some(ui))).collect();
        let documents: Vec<&str> = documents.iter().map(String::as_str).collect();
        let script = Script::new("2025-11-25")
            .tool("show", LINK, r#"{"content":[{"type":"text","text":"shown"}]}"#)
            .answering("resources/read ui://nobody", "{}")
            .method("resources/read", &documents);
        let cast = |server: &str| script.cast(server, CHILD, folder.path());
        let mut setting = Setting::with(vec![cast(SERVER), cast(OTHER)]);
        setting.connection.offers.sampling = true;
        let stage = Stage::open(&setting).await;
        stage.ready(SERVER).await;
        stage.ready(OTHER).await;
        let conversation = stage.host.create_conversation(None, None).await.unwrap().id;
        Self { stage, setting, folder, conversation }
    }

    /// Calls the tool and gives the call.
    async fn call(&self) -> String {
        self.call_of(SERVER).await
    }

    async fn call_of(&self, server: &str) -> String {
        let called = within(self.stage.host.call_tool(&self.conversation, server, "show", "{}")).await;
        called.unwrap().record.id
    }

    async fn view(&self, call: &str) -> Launch {
        self.stage.host.open_view(call).await.unwrap()
    }

    /// The question that waits, once there is one.
    async fn question(&self) -> QuestionRecord {
        within(async {
            loop {
                if let Some(question) = self.stage.host.questions().pop() {
                    return question;
                }
                tokio::task::yield_now().await;
            }
        })
        .await
    }

    fn answer(&self, question: &QuestionRecord, answer: QuestionAnswer) {
        self.stage.host.answer_question(&question.id, answer).unwrap();
    }

    /// What an open View is told next of what it may have, and whether it starts again.
    async fn told(&self, view: &str) -> (Vec<String>, bool) {
        self.stage
            .told(|event| match event {
                HostEvent::ViewAccess { view_id, wishes, starts_again } if view_id == view => {
                    Some((states(wishes), *starts_again))
                }
                _ => None,
            })
            .await
    }

    /// The policy with which an open View's document is served.
    fn policy(&self, launch: &Launch) -> String {
        let host = launch.origin.split_once("://").unwrap().1;
        let served = self.stage.host.view_document("GET", host, "/");
        served.headers.into_iter().find(|it| it.0 == "Content-Security-Policy").unwrap().1
    }

    /// Allows something as if it had been asked.
    async fn allow(&self, kind: WishKind, what: &str) {
        self.set(SERVER, (kind, what), true).await;
    }

    async fn set(&self, server: &str, (kind, what): (WishKind, &str), allowed: bool) {
        let wishes = BTreeSet::from([Wish { kind, what: what.to_owned() }]);
        self.stage.host.set_view_access(server, wishes, allowed).await.unwrap();
    }

    /// Whether a View is open: its page is there, and what it asks is answered.
    async fn lives(&self, launch: &Launch) -> bool {
        let host = &self.stage.host;
        let name = launch.origin.split_once("://").unwrap().1;
        let is_served = host.view_document("GET", name, "/").status == 200;
        let is_heard = host.view_request(&launch.view_id, request_id(), "ping", "").await.is_ok();
        assert_eq!((is_served, host.is_view_open(name)), (is_heard, is_heard), "it is half open");
        is_heard
    }

    /// Why the window is told that a View was ended.
    async fn ended(&self, launch: &Launch) -> String {
        let why = |event: &HostEvent| match event {
            HostEvent::ViewEnded { view_id, why } if *view_id == launch.view_id => Some(why.clone()),
            _ => None,
        };
        self.stage.told(why).await
    }
}

fn states(all: &[(Wish, WishState)]) -> Vec<String> {
    all.iter().map(|(wish, state)| format!("{:?} {} {state:?}", wish.kind, wish.what)).collect()
}

fn wanted(question: &QuestionRecord) -> Vec<String> {
    assert_eq!(question.server_name, SERVER);
    let Asked::ViewAccess { wishes } = &question.asked else { panic!("{:?}", question.asked) };
    wishes.iter().map(|it| format!("{:?} {}", it.kind, it.what)).collect()
}

#[tokio::test]
async fn a_view_starts_with_nothing_and_has_what_the_user_allows_also_after_a_restart() {
    let scene = Scene::open(&[map()]).await;
    let call = scene.call().await;
    let launch = scene.view(&call).await;
    let nothing = r#"{"permissions":{},"csp":{"connectDomains":[],"resourceDomains":[],"frameDomains":[],"baseUriDomains":[]}}"#;
    assert_eq!((launch.capabilities.to_string().as_str(), launch.allow.as_str()), (nothing, ""));
    assert!(scene.policy(&launch).contains("connect-src 'none'"));
    assert!(launch.wishes.iter().all(|it| it.1 == WishState::Open));
    let question = scene.question().await;
    let all =
        ["Connect https://api.example.com", "Resource https://*.tiles.example.com", "Permission geolocation"];
    assert_eq!(wanted(&question), all);
    // Another View of the server does not ask the same beside it.
    let other = scene.view(&call).await;
    tokio::task::yield_now().await;
    assert_eq!(scene.stage.host.questions().len(), 1);
    scene.answer(&question, QuestionAnswer::Accept(None));
    let allowed: Vec<String> = all.iter().map(|it| format!("{it} Allowed")).collect();
    assert_eq!(scene.told(&launch.view_id).await, (allowed, true));
    assert!(scene.policy(&other).contains("connect-src 'none'"), "it changes nothing under an open View");
    assert!(!scene.stage.host.granted_features().geolocation);

    scene.stage.host.close_views();
    let dir = scene.stage.close().await.unwrap();
    let stage = Stage::reopen(dir.path(), &scene.setting).await;
    let scene = Scene { stage, ..scene };
    let launch = scene.view(&call).await;
    assert!(launch.wishes.iter().all(|it| it.1 == WishState::Granted), "{:?}", launch.wishes);
    expect![[r#"{"permissions":{"geolocation":{}},"csp":{"connectDomains":["https://api.example.com"],"resourceDomains":["https://*.tiles.example.com"],"frameDomains":[],"baseUriDomains":[]}}"#]]
        .assert_eq(&launch.capabilities.to_string());
    assert_eq!(launch.allow, "geolocation");
    assert!(scene.policy(&launch).contains("connect-src https://api.example.com;"));
    let features = scene.stage.host.granted_features();
    assert!(features.geolocation && !features.camera);
    tokio::task::yield_now().await;
    assert_eq!(scene.stage.host.questions(), []);
    drop(scene.folder);
}

#[tokio::test]
async fn a_no_is_kept_until_the_declaration_has_something_new() {
    let mut more = map();
    more["csp"]["frameDomains"] = json!(["https://www.example.org"]);
    let scene = Scene::open(&[map(), map(), more]).await;
    let first = scene.view(&scene.call().await).await;
    let question = scene.question().await;
    scene.answer(&question, QuestionAnswer::Decline);
    let (refused, starts_again) = scene.told(&first.view_id).await;
    assert!(refused.iter().all(|it| it.ends_with("Refused")) && refused.len() == 3, "{refused:?}");
    assert!(!starts_again, "nothing new is there to start with");
    let second = scene.view(&scene.call().await).await;
    assert!(second.wishes.iter().all(|it| it.1 == WishState::Refused));
    let third = scene.view(&scene.call().await).await;
    assert_eq!(states(&third.wishes)[2], "Frame https://www.example.org Open");
    let question = scene.question().await;
    assert_eq!(wanted(&question), ["Frame https://www.example.org"], "only what is new");
    scene.answer(&question, QuestionAnswer::Accept(None));
    assert!(scene.told(&third.view_id).await.1);
    let again = scene.view(&scene.call().await).await;
    assert_eq!(
        again.capabilities["csp"],
        json!({"connectDomains": [], "resourceDomains": [], "frameDomains": ["https://www.example.org"], "baseUriDomains": []})
    );
    assert!(scene.stage.host.is_frame_allowed("https", "www.example.org", 443));
    assert!(!scene.stage.host.is_frame_allowed("https", "api.example.com", 443));
    // Forgotten, it is asked as if it had never been.
    scene.stage.host.forget_view_access(SERVER).await.unwrap();
    assert!(!scene.stage.host.is_frame_allowed("https", "www.example.org", 443), "and nobody has it");
    assert!(!scene.lives(&again).await, "also not who had it");
    let anew = scene.view(&scene.call().await).await;
    assert!(anew.wishes.iter().all(|it| it.1 == WishState::Open));
}

#[tokio::test]
async fn a_question_goes_with_its_view_and_an_answer_that_is_none_is_not_kept() {
    let scene = Scene::open(&[map()]).await;
    let call = scene.call().await;
    for _ in 0..2 {
        let launch = scene.view(&call).await;
        let question = scene.question().await;
        scene.stage.host.close_view(&launch.view_id);
        let gone = |event: &HostEvent| {
            matches!(event, HostEvent::QuestionGone(id) if *id == question.id).then_some(())
        };
        scene.stage.told(gone).await;
    }
    let launch = scene.view(&call).await;
    let question = scene.question().await;
    scene.answer(&question, QuestionAnswer::Cancel);
    let access = scene.stage.host.view_access(SERVER);
    assert!(access.allowed.is_empty() && access.refused.is_empty());
    scene.stage.host.close_view(&launch.view_id);
    scene.view(&call).await;
    assert_eq!(wanted(&scene.question().await).len(), 3);
}

#[tokio::test]
async fn what_names_the_program_or_this_machine_is_not_even_asked_about() {
    let hostile = json!({
        "csp": {
            "connectDomains": ["ipc:", "ipc://localhost", "http://ipc.localhost", "https://ipc.localhost", "tauri:", "tauri://localhost",
                "https://127.0.0.1:8080", "https://[::1]", "https://a.localhost", "https://10.0.0.1", "https://169.254.169.254", "*",
                "https://a.example; script-src *", "http://a.example"],
            "frameDomains": ["mcpview:", "https://tauri.localhost"],
        },
        "permissions": {"midi": {}, "camera": false},
    });
    let scene = Scene::open(&[hostile]).await;
    let launch = scene.view(&scene.call().await).await;
    assert_eq!((launch.wishes.len(), launch.rejected.len()), (0, 16));
    let told: Vec<String> =
        launch.rejected.iter().take(5).map(|it| format!("{} {}: {}", it.list, it.entry, it.why)).collect();
    expect![[r#"
        connectDomains ipc:: only https addresses (and wss for connections) are granted
        connectDomains ipc://localhost: only https addresses (and wss for connections) are granted
        connectDomains http://ipc.localhost: only https addresses (and wss for connections) are granted
        connectDomains https://ipc.localhost: addresses of this machine and its network are never granted
        connectDomains tauri:: only https addresses (and wss for connections) are granted"#]]
    .assert_eq(&told.join("\n"));
    tokio::task::yield_now().await;
    assert_eq!(scene.stage.host.questions(), []);
    // Nor can the window allow it by itself.
    for (kind, what) in [
        (WishKind::Connect, "ipc:"),
        (WishKind::Connect, "https://localhost"),
        (WishKind::Permission, "midi"),
    ] {
        let wishes = BTreeSet::from([Wish { kind, what: what.to_owned() }]);
        let error = scene.stage.host.set_view_access(SERVER, wishes.clone(), true).await.unwrap_err();
        assert_eq!(error.safe, "Nothing was changed.");
        // A no to it is listed nowhere, where somebody would be offered to turn it into a yes.
        scene.stage.host.set_view_access(SERVER, wishes, false).await.unwrap();
        assert_eq!(scene.stage.host.view_access(SERVER).refused, BTreeSet::new());
    }
    assert!(scene.stage.host.set_view_access("nobody", BTreeSet::new(), true).await.is_err());
}

#[tokio::test]
async fn what_is_taken_back_ends_every_view_that_has_it_and_no_other() {
    let mut modest = map();
    modest["permissions"] = json!({});
    let scene = Scene::open(&[map(), map(), modest]).await;
    let host = &scene.stage.host;
    scene.allow(WishKind::Connect, "https://api.example.com").await;
    scene.allow(WishKind::Permission, "geolocation").await;
    let call = scene.call().await;
    let has = scene.view(&call).await;
    // Each server gives its first document with its first View; this one has what the other has, and is another server's.
    let geolocation = (WishKind::Permission, "geolocation");
    scene.set(OTHER, geolocation, true).await;
    let others = scene.view(&scene.call_of(OTHER).await).await;
    let also_has = scene.view(&scene.call().await).await;
    let without = scene.view(&scene.call().await).await;
    assert_eq!([&has.allow, &others.allow, &also_has.allow], ["geolocation"; 3]);
    assert_eq!(without.allow, "");
    // A request of it that is open ends with it.
    host.revoke_approval(SERVER, None).await.unwrap();
    let waits = host.view_request(&has.view_id, request_id(), "tools/call", r#"{"name":"show"}"#);
    let takes = async {
        scene
            .stage
            .told(|event| match event {
                HostEvent::Item { call: Some(it), .. } => {
                    matches!(it.state, CallState::AwaitingApproval(_)).then_some(())
                }
                _ => None,
            })
            .await;
        scene.set(SERVER, geolocation, false).await;
    };
    let (reply, ()) = within(futures::future::join(waits, takes)).await;
    assert!(matches!(reply.unwrap(), ViewReply::Error(_)));
    for view in [&has, &also_has] {
        assert!(!scene.lives(view).await);
        expect!["The place of this computer was taken back while this View had it, so the View was ended. It starts again without it."]
            .assert_eq(&scene.ended(view).await);
    }
    assert!(scene.lives(&without).await && scene.lives(&others).await);
    assert!(host.granted_features().geolocation, "the other server's View has it");
    host.close_view(&others.view_id);
    assert!(!host.granted_features().geolocation);
    // Its place says why, until it is started again, without it.
    assert!(host.view_stopped(&call).unwrap().contains("was taken back"));
    let again = scene.view(&call).await;
    assert_eq!((again.allow.as_str(), host.view_stopped(&call)), ("", None));
    assert!(scene.policy(&again).contains("https://api.example.com"), "what was not taken back is there");
    // To forget all answers takes back all that was allowed.
    host.forget_view_access(SERVER).await.unwrap();
    assert!(!scene.lives(&again).await && !scene.lives(&without).await);
}

#[tokio::test]
async fn a_relaxed_view_on_the_bench_ends_as_well() {
    let scene = Scene::open(&[map()]).await;
    let host = &scene.stage.host;
    let relaxed = Fixture { csp: Policy::Relaxed, ..Fixture::of("show") };
    let view = host.open_bench(&scene.conversation, SERVER, relaxed, 0).await.unwrap();
    assert!(scene.policy(&view).contains("https://api.example.com"));
    // Of what it does not have it loses nothing.
    scene.set(SERVER, (WishKind::Permission, "geolocation"), false).await;
    assert!(scene.lives(&view).await);
    scene.set(SERVER, (WishKind::Connect, "https://api.example.com"), false).await;
    assert!(!scene.lives(&view).await);
    assert!(scene.ended(&view).await.starts_with("https://api.example.com was taken back"));
}

#[tokio::test]
async fn the_right_to_ask_the_model_ends_the_views_that_were_told_of_it() {
    let scene = Scene::open(&[json!({})]).await;
    let host = &scene.stage.host;
    let before = scene.view(&scene.call().await).await;
    host.set_server_trust(SERVER, ServerTrust { asks_model: true, ..ServerTrust::default() }).await.unwrap();
    scene.stage.ready(SERVER).await;
    let may = scene.view(&scene.call().await).await;
    let other = scene.view(&scene.call_of(OTHER).await).await;
    assert_eq!([before.can_sample, may.can_sample, other.can_sample], [false, true, false]);
    host.set_server_trust(SERVER, ServerTrust::default()).await.unwrap();
    assert!(!scene.lives(&may).await);
    assert!(scene.lives(&before).await && scene.lives(&other).await);
    assert!(scene.ended(&may).await.starts_with("Asking the model was taken back"));
}

/// A network in which every address leads to one server of the test.
struct Fake {
    names: BTreeMap<&'static str, Vec<IpAddr>>,
    far: SocketAddr,
    gone_to: Arc<Mutex<Vec<SocketAddr>>>,
}

impl Outside for Fake {
    async fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let found = self.names.get(host).ok_or_else(|| io::Error::other("no such name"))?;
        Ok(found.iter().map(|it| SocketAddr::new(*it, port)).collect())
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        self.gone_to.lock().unwrap().push(address);
        TcpStream::connect(self.far).await
    }
}

/// A scene with a proxy, and a server at the other end that says everything back.
struct Network {
    scene: Scene,
    proxy: SocketAddr,
    gone_to: Arc<Mutex<Vec<SocketAddr>>>,
}

impl Network {
    async fn open() -> Self {
        let scene = Scene::open(&[json!({"csp": {
            "connectDomains": ["https://api.example.com", "wss://live.example.com:8443"],
            "resourceDomains": ["*.cdn.example.com"],
        }})])
        .await;
        scene.allow(WishKind::Connect, "https://api.example.com").await;
        scene.allow(WishKind::Connect, "wss://live.example.com:8443").await;
        scene.allow(WishKind::Resource, "https://*.cdn.example.com").await;
        scene.set(OTHER, (WishKind::Connect, "https://api.example.com"), true).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let far = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut read, mut write) = stream.split();
                    tokio::io::copy(&mut read, &mut write).await
                });
            }
        });
        let address = |it: &str| it.parse::<IpAddr>().unwrap();
        let names = BTreeMap::from([
            ("api.example.com", vec![address("93.184.216.34")]),
            ("live.example.com", vec![address("2606:2800:220:1::1")]),
            ("other.example.com", vec![address("93.184.216.35")]),
            ("loop.cdn.example.com", vec![address("127.0.0.1"), address("::1")]),
            (
                "router.cdn.example.com",
                vec![address("192.168.1.1"), address("fe80::1"), address("::ffff:10.0.0.1")],
            ),
            ("meta.cdn.example.com", vec![address("169.254.169.254")]),
            ("both.cdn.example.com", vec![address("127.0.0.1"), address("93.184.216.36")]),
            ("nowhere.cdn.example.com", vec![]),
        ]);
        let gone_to = Arc::new(Mutex::new(Vec::new()));
        let outside = Fake { names, far, gone_to: Arc::clone(&gone_to) };
        let proxy = egress::start(scene.stage.host.clone(), outside).await.unwrap();
        Self { scene, proxy, gone_to }
    }

    /// Sends a head, and gives the connection and the first line of the answer, which is empty if there was none.
    async fn send(&self, head: &str) -> (TcpStream, String) {
        let mut stream = TcpStream::connect(self.proxy).await.unwrap();
        let mut answer = Vec::new();
        if stream.write_all(head.as_bytes()).await.is_ok() {
            let mut byte = [0];
            while !answer.ends_with(b"\r\n\r\n")
                && within(stream.read(&mut byte)).await.is_ok_and(|it| it == 1)
            {
                answer.push(byte[0]);
            }
        }
        let answer = String::from_utf8(answer).unwrap();
        (stream, answer.lines().next().unwrap_or_default().to_owned())
    }

    async fn ask(&self, target: &str) -> (TcpStream, String) {
        self.send(&format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n")).await
    }

    fn gone_to(&self) -> Vec<String> {
        self.gone_to.lock().unwrap().drain(..).map(|it| it.to_string()).collect()
    }
}

const WELCOME: &str = "HTTP/1.1 200 Connection established";
const REFUSAL: &str = "HTTP/1.1 403 Forbidden";

/// Whether a tunnel carries bytes there and back.
async fn carries(stream: &mut TcpStream) -> bool {
    let mut heard = [0; 5];
    stream.write_all(b"hello").await.is_ok()
        && within(stream.read_exact(&mut heard)).await.is_ok()
        && heard == *b"hello"
}

#[tokio::test]
async fn the_way_out_is_open_for_what_a_live_view_was_granted_and_no_longer() {
    let network = Network::open().await;
    let scene = &network.scene;
    assert_eq!(network.ask("api.example.com:443").await.1, REFUSAL, "no View is open");
    let call = scene.call().await;
    let views = [scene.view(&call).await, scene.view(&call).await];
    let (mut api, said) = network.ask("api.example.com:443").await;
    assert_eq!((said.as_str(), carries(&mut api).await), (WELCOME, true));
    let (mut live, said) = network.ask("live.example.com:8443").await;
    assert_eq!((said.as_str(), carries(&mut live).await), (WELCOME, true));
    assert_eq!(network.gone_to(), ["93.184.216.34:443", "[2606:2800:220:1::1]:8443"]);
    // The other View has it too.
    scene.stage.host.close_view(&views[0].view_id);
    assert!(carries(&mut api).await);
    // Taken back, the View that has it ends, and with it what only it had.
    let other = scene.view(&scene.call_of(OTHER).await).await;
    scene.set(SERVER, (WishKind::Connect, "https://api.example.com"), false).await;
    assert!(!scene.lives(&views[1]).await && scene.lives(&other).await);
    assert_eq!(within(live.read(&mut [0; 8])).await.unwrap_or_default(), 0, "the tunnel is still open");
    assert_eq!(network.ask("live.example.com:8443").await.1, REFUSAL);
    // Whose a tunnel is nobody knows, so none that stood stays; who still may opens a new one.
    assert_eq!(within(api.read(&mut [0; 8])).await.unwrap_or_default(), 0, "the tunnel is still open");
    let (mut api, said) = network.ask("api.example.com:443").await;
    assert_eq!((said.as_str(), carries(&mut api).await), (WELCOME, true));
    // Started again, it is without; and with the other View the way is closed.
    let again = scene.view(&call).await;
    assert!(!scene.policy(&again).contains("api.example.com"));
    scene.stage.host.close_view(&other.view_id);
    assert_eq!(within(api.read(&mut [0; 8])).await.unwrap_or_default(), 0, "the tunnel is still open");
    assert_eq!(network.ask("api.example.com:443").await.1, REFUSAL);
}

#[tokio::test]
async fn whatever_else_is_asked_of_the_way_out_is_refused_and_told() {
    let network = Network::open().await;
    let scene = &network.scene;
    scene.view(&scene.call().await).await;
    for target in [
        "api.example.com:80",
        "api.example.com:22",
        "api.example.com:8443",
        "live.example.com:443",
        "cdn.example.com:443",
        "other.example.com:443",
        "localhost:443",
        "ipc.localhost:443",
        "127.0.0.1:443",
        // Granted names that lead where nobody may go.
        "loop.cdn.example.com:443",
        "router.cdn.example.com:443",
        "meta.cdn.example.com:443",
        "nowhere.cdn.example.com:443",
        "unknown.cdn.example.com:443",
    ] {
        assert_eq!(network.ask(target).await.1, REFUSAL, "{target}");
    }
    let plain = "GET http://api.example.com/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n";
    assert_eq!(network.send(plain).await.1, REFUSAL);
    for head in [
        "CONNECT api.example.com:443 HTTP/1.1\r\n\r\nCONNECT other.example.com:443 HTTP/1.1\r\n\r\n",
        "CONNECT api.example.com:443 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "CONNECT api.example.com:443 HTTP/1.1\r\nContent-Length: 7\r\n\r\n",
        "CONNECT api.example.com:443\0.evil HTTP/1.1\r\n\r\n",
        "CONNECT api.example.com:443 HTTP/1.1\n\n\r\n\r\n",
        "CONNECT user@api.example.com:443 HTTP/1.1\r\n\r\n",
        "CONNECT [::1]:443 HTTP/1.1\r\n\r\n",
    ] {
        assert_eq!(network.send(head).await.1, REFUSAL, "{head:?}");
    }
    assert_eq!(network.gone_to(), [""; 0], "somebody was gone to");
    // Of the addresses of a name only the public ones are gone to.
    assert_eq!(network.ask("both.cdn.example.com:443").await.1, WELCOME);
    assert_eq!(network.gone_to(), ["93.184.216.36:443"]);
    let told: Vec<String> = scene
        .stage
        .host
        .refused_targets()
        .iter()
        .map(|it| format!("{}:{} {}× {}", it.target.host, it.target.port, it.times, it.why))
        .collect();
    expect![[r#"
        api.example.com:22 1× no open View was granted it
        api.example.com:8443 1× no open View was granted it
        live.example.com:443 1× no open View was granted it
        cdn.example.com:443 1× no open View was granted it
        other.example.com:443 1× no open View was granted it
        localhost:443 1× it leads to this machine or its network
        ipc.localhost:443 1× it leads to this machine or its network
        127.0.0.1:443 1× it leads to this machine or its network
        loop.cdn.example.com:443 1× it leads to this machine or its network
        router.cdn.example.com:443 1× it leads to this machine or its network
        meta.cdn.example.com:443 1× it leads to this machine or its network
        nowhere.cdn.example.com:443 1× its name has no address
        unknown.cdn.example.com:443 1× its name has no address
        api.example.com:80 2× only encrypted connections pass"#]]
    .assert_eq(&told.join("\n"));
}

#[tokio::test]
async fn views_of_one_server_cannot_take_the_way_out_from_those_of_another() {
    let network = Network::open().await;
    let scene = &network.scene;
    scene.view(&scene.call().await).await;
    let mut open = Vec::new();
    for n in 0..32 {
        // To any of its hosts: it has one share for all of them.
        let target = if n % 2 == 0 { "api.example.com:443" } else { "both.cdn.example.com:443" };
        let (stream, said) = network.ask(target).await;
        assert_eq!(said, WELCOME, "{n}");
        open.push(stream);
    }
    assert_eq!(network.ask("live.example.com:8443").await.1, REFUSAL);
    // What found no room is listed as what was refused is.
    let told = scene.stage.host.refused_targets();
    let told: Vec<String> = told.iter().map(|it| format!("{}: {}", it.target.host, it.why)).collect();
    assert_eq!(told, ["live.example.com: Views of its server have as many connections as they may"]);
    assert_eq!(network.ask("api.example.com:443").await.1, REFUSAL, "nobody else was granted it");
    scene.view(&scene.call_of(OTHER).await).await;
    let (mut others, said) = network.ask("api.example.com:443").await;
    assert_eq!((said.as_str(), carries(&mut others).await), (WELCOME, true));
    assert!(carries(&mut open[0]).await, "and those of the first go on");
    open.pop();
    let again = async {
        while network.ask("live.example.com:8443").await.1 != WELCOME {
            tokio::task::yield_now().await;
        }
    };
    within(again).await;
}

#[tokio::test]
async fn connections_that_say_nothing_hold_nobody_up_for_long_and_none_is_closed_unread() {
    let network = Network::open().await;
    network.scene.view(&network.scene.call().await).await;
    let mut silent = Vec::new();
    for _ in 0..63 {
        silent.push(TcpStream::connect(network.proxy).await.unwrap());
    }
    assert_eq!(network.ask("api.example.com:443").await.1, WELCOME);
    // Without room the next waits for it, and is read then.
    silent.push(TcpStream::connect(network.proxy).await.unwrap());
    let asks = network.ask("api.example.com:443");
    let frees = async {
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        silent.pop();
    };
    let ((_, said), ()) = within(futures::future::join(asks, frees)).await;
    assert_eq!(said, WELCOME);
}
