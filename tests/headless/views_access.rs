//! What Views get beyond their own pages: nothing that was not allowed, asked once, kept, taken back at once; and that their only way to the
//! network lets through what a live View was granted, and nothing else.

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
    conversation::{Asked, HostEvent, Launch, QuestionAnswer, QuestionRecord, WishState},
};
use usher_tests::{
    scripted_server::{LINK, Script, document_with},
    stage::{SERVER, Setting, Stage, within},
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

/// A server with one View, and the document that it gives each time.
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
        let setting = Setting::with(vec![script.cast(SERVER, CHILD, folder.path())]);
        let stage = Stage::open(&setting).await;
        stage.ready(SERVER).await;
        let conversation = stage.host.create_conversation(None, None).await.unwrap().id;
        Self { stage, setting, folder, conversation }
    }

    /// Calls the tool and gives the call.
    async fn call(&self) -> String {
        let called = within(self.stage.host.call_tool(&self.conversation, SERVER, "show", "{}")).await;
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
        let wishes = BTreeSet::from([Wish { kind, what: what.to_owned() }]);
        self.stage.host.set_view_access(SERVER, wishes, true).await.unwrap();
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
        let error = scene.stage.host.set_view_access(SERVER, wishes, true).await.unwrap_err();
        assert_eq!(error.safe, "Nothing was changed.");
    }
    assert!(scene.stage.host.set_view_access("nobody", BTreeSet::new(), true).await.is_err());
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
    // Taken back, it ends under an open View, and the rest goes on.
    let wish = Wish { kind: WishKind::Connect, what: "https://api.example.com".to_owned() };
    scene.stage.host.set_view_access(SERVER, BTreeSet::from([wish]), false).await.unwrap();
    assert_eq!(within(api.read(&mut [0; 8])).await.unwrap_or_default(), 0, "the tunnel is still open");
    assert_eq!(network.ask("api.example.com:443").await.1, REFUSAL);
    assert!(!scene.policy(&views[1]).contains("api.example.com"));
    assert!(carries(&mut live).await);
    scene.stage.host.close_view(&views[1].view_id);
    assert_eq!(within(live.read(&mut [0; 8])).await.unwrap_or_default(), 0, "the tunnel is still open");
    assert_eq!(network.ask("live.example.com:8443").await.1, REFUSAL);
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
async fn so_many_connections_are_open_and_no_more() {
    let network = Network::open().await;
    let scene = &network.scene;
    scene.view(&scene.call().await).await;
    let mut open = Vec::new();
    // Those that only ask count too: nobody gets in by being slow.
    let slow = TcpStream::connect(network.proxy).await.unwrap();
    for _ in 0..63 {
        let (stream, said) = network.ask("api.example.com:443").await;
        assert_eq!(said, WELCOME);
        open.push(stream);
    }
    assert_eq!(network.ask("api.example.com:443").await.1, "", "it is closed unread");
    assert!(carries(&mut open[0]).await, "the others go on");
    drop(open.pop());
    drop(slow);
    let again = async {
        while network.ask("api.example.com:443").await.1 != WELCOME {
            tokio::task::yield_now().await;
        }
    };
    within(again).await;
}
