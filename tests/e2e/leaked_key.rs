//! A View that has the key with which Tauri knows the messages of its page, as if it had leaked: no command runs, because each message
//! is encrypted by the isolation frame and Rust opens no other. The key comes from the test build, by the tool's input.
//!
//! The doors are tried in the View itself. That they are doors is shown at the end: with the same key and a message of the page that was
//! encrypted, the same View runs a command.

use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};
use usher_tests::{
    canary_server::CanaryServer,
    host_interface::HostInterface,
    scripted_server::{LINK, Script},
    window::{Options, Window},
};

use super::scene::{FRAME, Prepared};

const HTML: &str = include_str!("../data/views/hostile.html");

/// How long a message takes at most that is carried, and more.
const SOON: Duration = Duration::from_secs(1);

/// The commands that are tried leave a trace: a conversation more.
const COMMAND: &str = r#"{"request":{"cmd":"create_conversation","payload":{"mode":null,"model_id":null}}}"#;

/// Forms of a message in which the key could be worth something, beside those of `ipc` in the page.
const MORE: &str = "
    const key = arguments[0], command = JSON.parse(arguments[1]);
    const bytes = [...new TextEncoder().encode(JSON.stringify(command))];
    const nonce = Array(12).fill(0);
    const payloads = [
      command, JSON.stringify(command), [], {}, null, bytes,
      { nonce, payload: bytes, contentType: 'application/json' },
      { nonce: [], payload: [], contentType: 'application/json' },
      { nonce, payload: bytes, contentType: 'application/octet-stream' },
      { nonce: [], payload: [], contentType: 'application/octet-stream' },
      Object.assign([], { nonce: 0 }),
    ];
    let sent = 0;
    const headers = { 'Tauri-Invoke-Key': key, 'Tauri-Callback': '1', 'Tauri-Error': '2' };
    for (const cmd of ['rpc', 'subscribe', 'hostile_probe', 'plugin:__TAURI_CHANNEL__|fetch', 'plugin:event|emit']) {
      for (const payload of payloads) {
        const form = { cmd, callback: 1, error: 2, payload, options: { headers }, __TAURI_INVOKE_KEY__: key };
        window.webkit.messageHandlers.ipc.postMessage(JSON.stringify(form));
        parent.postMessage(form, '*');
        for (let index = 0; index < parent.length; index++) parent[index].postMessage(form, '*');
        sent += 1;
      }
    }
    const form = new FormData();
    form.append('x', '1');
    const bodies = [JSON.stringify(command), '', new Uint8Array(bytes), form];
    const fetched = bodies.map((body) => fetch('ipc://localhost/rpc', { method: 'POST', headers, body, mode: 'no-cors' }).then(() => 'answered', () => 'refused'));
    try { navigator.sendBeacon('ipc://localhost/rpc', JSON.stringify(command)); } catch { sent += 1; }
    const done = arguments[2];
    Promise.all(fetched).then((all) => done({ sent, fetched: all }));";

struct Scene {
    window: Window,
    prepared: Prepared,
    key: String,
    _canary: CanaryServer,
}

impl Scene {
    async fn open() -> anyhow::Result<Self> {
        let canary = CanaryServer::start()?;
        let html = HTML.replace("CANARY_ADDRESS", &canary.address().to_string());
        let ui = json!({"csp": {"connectDomains": ["ipc:", "ipc://localhost", "http://ipc.localhost", "*"]}});
        let script = Script::new("2025-11-25").tool("show", LINK, r#"{"content":[]}"#).view(&html, Some(&ui));
        let prepared = Prepared::scripted(&script, "system", async |_| Ok(())).await?;
        let file = prepared.folder.path().join("key");
        let env = vec![("USHER_TEST_KEY_FILE".to_owned(), file.display().to_string())];
        let window = Window::open_test_build(Options { env, ..prepared.options() }).await?;
        let key = std::fs::read_to_string(file).context("the test build has written no key")?;
        Ok(Self { window, prepared, key, _canary: canary })
    }

    /// Runs a script in the View, which answers by its last argument.
    async fn in_view(&self, script: &str, given: Vec<Value>) -> anyhow::Result<Value> {
        let run = async { Ok(self.window.client().execute_async(script, given).await?) };
        self.window.in_view(FRAME, run).await
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_view_that_has_the_key_of_the_page_runs_no_command() -> anyhow::Result<()> {
    let scene = Scene::open().await?;
    let host = HostInterface::of(&scene.window).await?;
    host.display_test_app("show", &json!({"key": scene.key})).await?;
    // The View has the key from its input, as from a server that found it somewhere.
    let wait = "const done = arguments[0]; const look = () => { \
                  const input = told.find((it) => it.method === 'ui/notifications/tool-input'); \
                  if (input === undefined) setTimeout(look, 20); else done(input.params.arguments.key); }; look();";
    let key = scene.in_view(wait, Vec::new()).await?;
    assert_eq!(key, json!(scene.key));
    assert!(scene.key.len() > 8, "{} is no key", scene.key);
    let begun = scene.prepared.rows("conversation")?;

    let known =
        scene.in_view("const [key, done] = arguments; run(ipc, key).then(done);", vec![key.clone()]).await?;
    assert_eq!(known["handler"], "posted", "{known}");
    let more = scene.in_view(MORE, vec![key.clone(), json!(COMMAND)]).await?;
    assert_eq!(
        (&more["sent"], &more["fetched"]),
        (&json!(56), &json!(["refused", "refused", "refused", "refused"])),
        "{more}"
    );
    tokio::time::sleep(SOON).await;
    assert_eq!(scene.prepared.rows("conversation")?, begun, "a command ran");

    // The page is still heard, by its own way.
    host.change_host_context(&json!({"theme": "dark"})).await?;
    let sealed = sealed(&scene).await?;
    for (name, key, runs) in [("a wrong key", json!("wrong"), 0), ("the key", key, 1)] {
        let form = json!({"cmd": "rpc", "callback": 1, "error": 2, "payload": sealed, "options": {}, "__TAURI_INVOKE_KEY__": key});
        let post = "webkit.messageHandlers.ipc.postMessage(arguments[0]); arguments[1](true);";
        scene.in_view(post, vec![json!(form.to_string())]).await?;
        let ran = || anyhow::Ok(scene.prepared.rows("conversation")? - begun);
        if runs == 0 {
            tokio::time::sleep(SOON).await;
        } else {
            let what = "the door is one: an encrypted message with the key is carried out";
            scene.window.until(what, async || Ok(ran()? == runs)).await?;
        }
        assert_eq!(ran()?, runs, "{name}");
    }
    scene.window.close().await
}

/// A command as the isolation frame encrypts it for the page, caught on its way and not sent. No View can catch it; the test can.
async fn sealed(scene: &Scene) -> anyhow::Result<Value> {
    // By the number of its callback it is told from what the page sends by itself.
    let catch = "const [command, done] = arguments; const send = window.fetch; const callback = 7777777; \
                 window.fetch = (to, how) => { \
                   if (!String(to).includes('ipc://localhost/rpc') || how.headers.get('Tauri-Callback') !== String(callback)) return send(to, how); \
                   window.fetch = send; done(how.body); return new Promise(() => {}); }; \
                 window.__TAURI_INTERNALS__.ipc({ cmd: 'rpc', callback, error: callback + 1, payload: JSON.parse(command), options: {} });";
    let body = scene.window.client().execute_async(catch, vec![json!(COMMAND)]).await?;
    serde_json::from_str(body.as_str().unwrap_or_default()).context("the page sends no encrypted message")
}
