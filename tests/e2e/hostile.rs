//! A View that tries everything, in the built window: commands of the program, the page around it, other addresses, other servers, the
//! storage of another View, and floods. `tests/data/views/hostile.html` has the attempts; here is what may come of them.
//!
//! The View is opened from the record of a call, so that no model is needed.

use std::{io::Write as _, net::TcpStream, path::Path, time::Duration};

use serde_json::{Value, json};
use usher_tests::{
    canary_server::CanaryServer,
    lookups::Lookups,
    scripted_server::{LINK, Script},
    window::{self, Window},
};

use super::scene::{FRAME, Prepared};

const HTML: &str = include_str!("../data/views/hostile.html");

/// A window with the hostile View in its frame.
struct Scene {
    window: Window,
    canary: CanaryServer,
    prepared: Prepared,
}

impl Scene {
    async fn open() -> anyhow::Result<Self> {
        Self::open_program(&window::binary()?).await
    }

    /// The same in an application that another program starts.
    async fn open_program(program: &Path) -> anyhow::Result<Self> {
        let canary = CanaryServer::start()?;
        let html = HTML.replace("CANARY_ADDRESS", &canary.address().to_string());
        // What the server declares is hostile too: addresses of the program and of this computer, and words that would end a policy.
        let declared = json!({
            "connectDomains": ["ipc:", "http://ipc.localhost", "ipc://localhost", "tauri://localhost", "*", "mcpview:",
                "https://x.example; script-src *", "https://x.example\nX: y", format!("http://{}", canary.address()), "http://localhost", "http://*.localhost",
                "*.localhost", "http://[::1]:80", "asset:", "isolation-x://localhost", "data:"],
            "resourceDomains": ["*", "blob:", "https:", format!("http://{}", canary.address())],
            "frameDomains": ["*", "tauri://localhost", format!("http://{}", canary.address())],
            "baseUriDomains": ["*", format!("http://{}", canary.address())],
        });
        let permissions = json!({"camera": {}, "microphone": {}, "geolocation": {}, "clipboardWrite": {}});
        let ui = json!({"csp": declared, "permissions": permissions});
        let hidden = r#"{"_meta":{"ui":{"visibility":["model"]}}}"#;
        let script = Script::new("2025-11-25")
            .tool("show", LINK, r#"{"content":[{"type":"text","text":"shown"}]}"#)
            .tool("for_the_model", hidden, r#"{"content":[{"type":"text","text":"SECRET-OF-THE-MODEL"}]}"#)
            .view(&html, Some(&ui));
        let prepared = Prepared::called(&script, "system", "show").await?;
        let window = prepared.window_of(program, Vec::new()).await?;
        let scene = Self { window, canary, prepared };
        scene.start().await?;
        // Of all that it declares only features could be allowed. It gets none.
        let asked = scene.window.element("[data-testid=view-access]").await?.text().await?;
        anyhow::ensure!(asked.contains("The camera") && !asked.contains("://"), "{asked}");
        scene.window.click("[data-testid=view-access-refuse]").await?;
        let gone = "return document.querySelector('[data-testid=view-access]') === null";
        let refused = async || Ok(scene.window.run(gone).await? == true);
        scene.window.until("the question is gone", refused).await?;
        Ok(scene)
    }

    /// Starts the View and waits until it has said `initialized`.
    async fn start(&self) -> anyhow::Result<()> {
        self.window.click("[data-testid=view-placeholder] button").await?;
        let told = "return typeof told !== 'undefined' && told.some((it) => it.method === 'ui/notifications/tool-result')";
        let ready =
            self.window.until("the View has its result", async || Ok(self.window.run(told).await? == true));
        self.window.in_view(FRAME, ready).await
    }

    /// Runs a group of attempts in the View and gives what came of each.
    async fn run(&self, attempts: &str) -> anyhow::Result<Value> {
        let begin =
            format!("window.done = null; {attempts}.then((all) => {{ window.done = JSON.stringify(all); }})");
        self.window
            .in_view(FRAME, async {
                self.window.run(&begin).await?;
                self.window
                    .until("the attempts are over", async || {
                        Ok(self.window.run("return window.done !== null").await? == true)
                    })
                    .await?;
                let all = self.window.run("return window.done").await?;
                Ok(serde_json::from_str(all.as_str().unwrap_or_default())?)
            })
            .await
    }

    /// The window still answers, and the page is still the page.
    async fn is_well(&self) -> anyhow::Result<()> {
        let at = self.window.run("return location.href").await?;
        anyhow::ensure!(at == "tauri://localhost" || at == "tauri://localhost/", "the window is at {at}");
        anyhow::ensure!(self.prepared.rows("conversation")? == 1, "a command ran");
        Ok(())
    }
}

/// Asserts that each attempt ended in one of some ways.
#[track_caller]
fn ended(all: &Value, ways: &[&str]) {
    let all = all.as_object().unwrap();
    assert!(!all.is_empty(), "nothing was tried");
    let wrong: Vec<String> = all
        .iter()
        .filter(|it| !ways.iter().any(|way| it.1.as_str().is_some_and(|said| said.starts_with(way))))
        .map(|it| format!("{}: {}", it.0, it.1))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn no_command_runs_and_no_message_of_a_view_is_taken_for_the_programs_own() -> anyhow::Result<()> {
    let scene = Scene::open().await?;
    // Whatever the page sends to the program goes through here.
    let watch = "window.seen = []; const send = window.fetch; \
                 window.fetch = (...given) => { window.seen.push(String(given[0])); return send(...given); }";
    scene.window.run(watch).await?;
    let probes = async |name: &str| {
        let seen = "return window.seen.filter((it) => it.includes(arguments[0])).length";
        anyhow::Ok(scene.window.client().execute(seen, vec![json!(name)]).await?.as_u64().unwrap_or(u64::MAX))
    };
    for key in ["'x'", "''", "undefined"] {
        let all = scene.run(&format!("run(ipc, {key})")).await?;
        assert_eq!(all["globals"], "none");
        assert!(all["fetched"].as_str().is_some_and(|it| it.starts_with("threw")), "{all}");
        assert!(all["assets"].as_str().is_some_and(|it| it.starts_with("threw")), "{all}");
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    scene.is_well().await?;
    assert_eq!(probes("hostile_probe").await?, 0, "a View's message was carried to the program");
    // What the page itself sends is seen, so that the look means something.
    scene.window.click("[data-testid=new-conversation]").await?;
    scene
        .window
        .until("the page's own command is seen", async || Ok(probes("ipc://localhost/rpc").await? > 0))
        .await?;
    scene.window.close().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn the_page_around_a_view_cannot_be_read_left_or_replaced() -> anyhow::Result<()> {
    let scene = Scene::open().await?;
    let all = scene.run("run(dom)").await?;
    assert_eq!(all["frameElement"], "null");
    ended(&all, &["threw SecurityError", "null", "alone"]);
    // Each is tried; what counts is that nothing came of it.
    scene.run("run(navigation)").await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    scene.is_well().await?;
    assert_eq!(scene.canary.heard(), [""; 0]);
    let windows = scene.window.client().windows().await?.len();
    assert_eq!(windows, 1, "a window was opened");
    // The View is still there: not even it was led away.
    scene.window.in_view(FRAME, async { scene.window.run("return results").await.map(drop) }).await?;
    scene.window.close().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn nothing_of_a_view_reaches_another_address() -> anyhow::Result<()> {
    let scene = Scene::open().await?;
    let all = scene.run("run(network)").await?;
    for (name, ends) in [
        ("fetch", "threw TypeError"),
        ("xhr", "refused"),
        ("socket", "threw SecurityError"),
        ("image", "refused"),
        ("script", "refused"),
        ("proxyFetch", "threw TypeError"),
        ("proxyImage", "refused"),
        ("base", "stayed"),
        ("rtc", "undefined"),
    ] {
        assert!(all[name].as_str().is_some_and(|it| it.starts_with(ends)), "{name}: {all}");
    }
    for name in ["camera", "place", "clipboard", "serviceWorker", "module"] {
        let said = all[name].as_str().unwrap_or_default();
        assert!(
            said.starts_with("threw") || said.starts_with("refused") || said == "nothing came",
            "{name}: {said}"
        );
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    // Leaving its own page is the last thing that a View can do.
    scene
        .window
        .in_view(FRAME, async {
            let away = format!(
                "location.href = '{}/self?data=1'",
                format_args!("http://{}", scene.canary.address())
            );
            scene.window.run(&away).await.map(drop)
        })
        .await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    scene.is_well().await?;
    assert_eq!(scene.canary.heard(), [""; 0], "somebody came");
    // It hears who comes.
    TcpStream::connect(scene.canary.address())?.write_all(b"control")?;
    scene.window.until("the canary hears", async || Ok(scene.canary.heard() == ["control"])).await?;
    scene.window.close().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn no_name_is_looked_up_for_a_view_but_by_a_hint_that_the_engine_always_follows() -> anyhow::Result<()>
{
    let lookups = Lookups::listen()?;
    let scene = Scene::open_program(&lookups.around(&window::binary()?)?).await?;
    assert!(lookups.count()? > 0, "look-ups are not heard");
    // A name says as much as an address does, to whoever answers for it.
    scene.run("run(names)").await?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(lookups.count()?, 0, "a name was looked up");
    // ARCHITECTURE names this one among what WebKitGTK does not do. When it is not heard any more, that has changed.
    // The first of them are dropped while it finds out how the network is reached.
    let hint = "return hint(document, 'dns-prefetch')";
    scene
        .window
        .until("a hint is followed", async || {
            scene.window.in_view(FRAME, async { scene.window.run(hint).await.map(drop) }).await?;
            Ok(lookups.count()? > 0)
        })
        .await?;
    scene.window.close().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_view_has_its_own_server_and_its_own_storage_and_no_more() -> anyhow::Result<()> {
    let scene = Scene::open().await?;
    let all = scene.run("run(server)").await?;
    ended(&all, &["error", "nothing came", "result"]);
    for name in ["modelOnly", "otherServer", "script", "sampling", "proto", "constructor", "sandbox"] {
        let said = all[name].as_str().unwrap_or_default();
        assert!(said.starts_with("error") || said == "nothing came", "{name}: {said}");
    }
    let told = "return JSON.stringify(told)";
    let keep = "localStorage.setItem('left', 'behind'); return localStorage.length";
    let (told, kept) = scene
        .window
        .in_view(FRAME, async { Ok((scene.window.run(told).await?, scene.window.run(keep).await?)) })
        .await?;
    assert!(!told.as_str().unwrap_or_default().contains("SECRET-OF-THE-MODEL"), "{told}");
    assert_eq!(kept, 1);
    assert_eq!(scene.window.run("return 'polluted' in {}").await?, false, "the page's objects were changed");
    // Started again it is another View, at another origin.
    scene.window.click("section.view button[aria-label='Stop the View']").await?;
    scene.window.element("[data-testid=view-placeholder][data-phase=stopped]").await?;
    scene.start().await?;
    let found = "return [localStorage.length, document.cookie]";
    let found = scene.window.in_view(FRAME, async { scene.window.run(found).await }).await?;
    assert_eq!(found, json!([0, ""]));
    scene.is_well().await?;
    scene.window.close().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_flood_of_a_view_is_survived_and_the_view_can_be_stopped() -> anyhow::Result<()> {
    let scene = Scene::open().await?;
    // It goes up and down, for as long as it is heard; in the end it has the height that it asked for.
    let high = "return document.querySelector('.frame').getBoundingClientRect().height";
    let high = async || anyhow::Ok(scene.window.run(high).await?.as_f64().unwrap_or_default());
    let begun = high().await?;
    scene.window.in_view(FRAME, async { scene.window.run("return swing()").await.map(drop) }).await?;
    scene.window.until("the View is as high as a View may be", async || Ok(high().await? == 1200.0)).await?;
    assert!(begun < 1200.0, "it was so high before");
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(high().await?, 1200.0, "it does not come to rest");
    scene.window.in_view(FRAME, async { scene.window.run("return flood()").await.map(drop) }).await?;
    scene.is_well().await?;
    scene.window.click("section.view button[aria-label='Stop the View']").await?;
    scene.window.element("[data-testid=view-placeholder][data-phase=stopped]").await?;
    // The conversation goes on.
    scene.window.element("[data-testid=composer-input]").await?;
    scene.window.close().await
}
