//! What a View gets beyond its own page, in the built window: it starts without, the user is shown every domain in full, what is allowed is
//! there when it starts again, and what is taken back ends it. What its policy stops is told with the declaration that would allow it.
//!
//! No network is needed: the domain has no address, and that the window's proxy says so shows that the request passed every door before
//! it. In the test build the domain leads to a server of the test, which sees the request arrive; the server has no certificate that the
//! web view believes, so it hears the greeting of TLS with the domain's name, and no more.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{
    io::AsyncReadExt as _,
    net::{TcpListener, TcpStream},
    time::timeout,
};
use usher_tests::{
    scripted_server::{LINK, Script},
    window::{self, Window},
};

use super::scene::{FRAME, Prepared};

/// A View that says `initialized`, and goes to an address when it is told to.
const HTML: &str = r#"<!doctype html><body style="font: 14px sans-serif"><p id="hello">A map.</p><script>
  window.ended = {};
  async function go(url) {
    try { await fetch(url); window.ended[url] = "came"; } catch (error) { window.ended[url] = error.name; }
  }
  const say = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
  addEventListener("message", (event) => {
    if (event.data.id === 1) say({ method: "ui/notifications/initialized", params: {} });
  });
  say({ id: 1, method: "ui/initialize", params: { protocolVersion: "2026-01-26", appInfo: { name: "map", version: "1" }, appCapabilities: {} } });
</script></body>"#;

async fn open(theme: &str) -> anyhow::Result<(Window, Prepared)> {
    let prepared = prepare(theme).await?;
    let window = prepared.window().await?;
    Ok((show(window).await?, prepared))
}

/// The data of a conversation whose call has the View.
async fn prepare(theme: &str) -> anyhow::Result<Prepared> {
    let ui = json!({
        "csp": {
            "connectDomains": ["https://tiles.usher-test.invalid", "http://ipc.localhost"],
            "resourceDomains": ["*.usher-test.invalid"],
        },
        "permissions": {"geolocation": {}, "clipboardWrite": {}},
    });
    let script = Script::new("2025-11-25")
        .tool("show_map", LINK, r#"{"content":[{"type":"text","text":"shown"}]}"#)
        .view(HTML, Some(&ui));
    Prepared::called(&script, theme, "show_map").await
}

async fn show(window: Window) -> anyhow::Result<Window> {
    window.click("[data-testid=view-placeholder] button").await?;
    Ok(window)
}

/// Lets the View go to an address, and says how that ended there.
async fn go(window: &Window, url: &str) -> anyhow::Result<Value> {
    window
        .in_view(FRAME, async {
            window
                .until("the View is there", async || Ok(window.run("return typeof go").await? == "function"))
                .await?;
            window.run(&format!("delete window.ended['{url}']; go('{url}')")).await?;
            let ended = format!("return window.ended['{url}'] ?? null");
            window.until("the request has ended", async || Ok(!window.run(&ended).await?.is_null())).await?;
            window.run(&ended).await
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_view_starts_without_what_it_declares_and_has_it_once_the_user_allows_it() -> anyhow::Result<()> {
    const TILES: &str = "https://tiles.usher-test.invalid/1.png";
    let (window, _prepared) = open("light").await?;
    let dialog = window.element("[data-testid=view-access]").await?.text().await?;
    for part in [
        "What Views of sample may have",
        "https://tiles.usher-test.invalid",
        "https://*.usher-test.invalid",
        "and every name that ends so",
        "Where this computer is",
        "The clipboard, to write to it",
    ] {
        assert!(dialog.contains(part), "{part}: {dialog}");
    }
    assert!(!dialog.contains("localhost"), "what is never allowed is not asked about: {dialog}");
    window.screenshot("view-access-question").await?;
    // It is open behind the question, without the network.
    assert_eq!(go(&window, TILES).await?, "TypeError");
    assert_eq!(go(&window, "https://elsewhere.usher-test.invalid/").await?, "TypeError");
    let before = window.run("return document.querySelector('[data-testid=view-frame]').dataset.view").await?;
    let allow = "return document.querySelector('[data-testid=view-frame]').getAttribute('allow')";
    assert_eq!(window.run(allow).await?, "");
    tokio::time::sleep(Duration::from_millis(400)).await;
    window.click("[data-testid=view-access-allow]").await?;
    let again = format!(
        "const it = document.querySelector('[data-testid=view-frame]'); return it !== null && it.dataset.view !== {before}"
    );
    window.until("the View has started again", async || Ok(window.run(&again).await? == true)).await?;
    assert_eq!(window.run(allow).await?, "geolocation; clipboard-write");
    // Now the policy lets it pass, and the way to the network finds no address; elsewhere the policy still stops it.
    assert_eq!(go(&window, TILES).await?, "TypeError");
    assert_eq!(go(&window, "https://elsewhere.usher-test.invalid/").await?, "TypeError");
    window.click("section.view button.log").await?;
    window.text_in("[data-testid=view-refused-targets]", "tiles.usher-test.invalid:443").await?;
    window.text_in("[data-testid=view-refused-targets]", "its name has no address").await?;
    window.text_in("[data-testid=view-blocked]", "connect-src https://elsewhere.usher-test.invalid").await?;
    window
        .text_in(
            "[data-testid=view-blocked]",
            r#"_meta.ui.csp.connectDomains: ["https://elsewhere.usher-test.invalid"]"#,
        )
        .await?;
    let blocked = window.element("[data-testid=view-blocked]").await?.text().await?;
    assert!(!blocked.contains("tiles"), "{blocked}");
    window.screenshot("view-access-log").await?;
    window.close().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_no_and_a_taking_back_are_kept_and_shown_at_the_view_and_at_its_server() -> anyhow::Result<()> {
    let (window, _prepared) = open("dark").await?;
    window.element("[data-testid=view-access]").await?;
    window.screenshot("view-access-question-dark").await?;
    tokio::time::sleep(Duration::from_millis(400)).await;
    window.click("[data-testid=view-access-refuse]").await?;
    let gone = "return document.querySelector('[data-testid=view-access]') === null";
    window.until("the question is gone", async || Ok(window.run(gone).await? == true)).await?;
    window.click("section.view button[aria-label='Start the View again']").await?;
    window.element(FRAME).await?;
    window.click("[data-testid=view-access-chip]").await?;
    window.text_in("[data-testid=view-access-list]", "not allowed").await?;
    window.text_in("[data-testid=view-access-list]", "connectDomains: http://ipc.localhost").await?;
    assert_eq!(window.run(gone).await?, true, "it is not asked again");
    window
        .click("[data-testid=view-access-list] button[aria-label='Allow: https://tiles.usher-test.invalid']")
        .await?;
    window.text_in("[data-testid=view-access-list]", "allowed, from its next start on").await?;
    window.screenshot("view-access-chip").await?;
    window.click("[data-testid=view-access-restart]").await?;
    let sees =
        "return document.querySelector('[data-testid=view-access-chip]')?.getAttribute('aria-label') ?? ''";
    window
        .until("one of four is allowed", async || {
            Ok(window.run(sees).await?.as_str().is_some_and(|it| it.ends_with("1 of 4 allowed")))
        })
        .await?;
    window.click("[data-testid=server-row]").await?;
    window.text_in("[data-testid=view-answers]", "https://tiles.usher-test.invalid").await?;
    window.screenshot("view-access-server").await?;
    window
        .click("[data-testid=view-answers] button[aria-label='Take back: https://tiles.usher-test.invalid']")
        .await?;
    window.text_in("[data-testid=view-answers]", "ends at once").await?;
    // The View that had it has ended, and its place says why.
    window.element("[data-testid=view-placeholder][data-phase=stopped]").await?;
    window
        .text_in("[data-testid=view-placeholder]", "https://tiles.usher-test.invalid was taken back")
        .await?;
    window.screenshot("view-access-taken-server").await?;
    window.close().await
}

/// Takes something back at the open View, and waits until the View has ended.
async fn take_back(window: &Window, what: &str) -> anyhow::Result<()> {
    // Its bar stands still once all was said that is said at the start.
    window.text_in("section.view button.log", "5 messages").await?;
    window.click("[data-testid=view-access-chip]").await?;
    window.click(&format!("[data-testid=view-access-list] button[aria-label='Take back: {what}']")).await?;
    window.element("[data-testid=view-placeholder][data-phase=stopped]").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn what_is_taken_back_ends_the_view_that_has_it_and_its_place_says_why() -> anyhow::Result<()> {
    for theme in ["light", "dark"] {
        let (window, _prepared) = open(theme).await?;
        window.element("[data-testid=view-access]").await?;
        tokio::time::sleep(Duration::from_millis(400)).await;
        window.click("[data-testid=view-access-allow]").await?;
        let allowed =
            "return document.querySelector('[data-testid=view-frame]')?.getAttribute('allow') ?? ''";
        window
            .until("it has what was allowed", async || {
                Ok(window.run(allowed).await? == "geolocation; clipboard-write")
            })
            .await?;
        let frame = "return document.querySelector('[data-testid=view-frame]') === null";
        take_back(&window, "Where this computer is").await?;
        assert_eq!(window.run(frame).await?, true, "its frame is still there");
        window.text_in("[data-testid=view-placeholder]", "The place of this computer was taken back").await?;
        window.screenshot(&format!("view-access-taken-{theme}")).await?;
        // The user goes on from there, by keyboard too.
        let focused = "return document.activeElement?.textContent ?? ''";
        window
            .until("the focus is on the button", async || {
                Ok(window.run(focused).await?.as_str().is_some_and(|it| it.trim() == "Start again"))
            })
            .await?;
        window.click("[data-testid=view-placeholder] button").await?;
        window.element(FRAME).await?;
        assert_eq!(window.run(allowed).await?, "clipboard-write");
        window.close().await?;
    }
    Ok(())
}

/// Whether what a client says first is the greeting of TLS, for this name.
fn greets(heard: &[u8], name: &str) -> bool {
    heard.starts_with(&[0x16, 0x03]) && memchr::memmem::find(heard, name.as_bytes()).is_some()
}

/// The next connection, and what it says first.
async fn greeted(server: &TcpListener) -> anyhow::Result<(TcpStream, Vec<u8>)> {
    let (mut stream, _) = timeout(Duration::from_secs(20), server.accept()).await??;
    let mut heard = vec![0; 4_096];
    let count = timeout(Duration::from_secs(20), stream.read(&mut heard)).await??;
    heard.truncate(count);
    Ok((stream, heard))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_request_that_is_granted_reaches_its_server_and_ends_when_it_is_taken_back() -> anyhow::Result<()> {
    const NAME: &str = "tiles.usher-test.invalid";
    const TILES: &str = "https://tiles.usher-test.invalid/1.png";
    let server = TcpListener::bind("127.0.0.1:0").await?;
    let prepared = prepare("light").await?;
    let env = vec![("USHER_TEST_NETWORK".to_owned(), format!("{NAME}={}", server.local_addr()?))];
    let window = show(prepared.window_of(&window::test_build()?, env).await?).await?;
    window.element("[data-testid=view-access]").await?;
    assert_eq!(go(&window, TILES).await?, "TypeError");
    let nobody = timeout(Duration::from_secs(1), server.accept()).await;
    assert!(nobody.is_err(), "somebody came without a grant");
    window.click("[data-testid=view-access-allow]").await?;
    let allowed = "return document.querySelector('[data-testid=view-frame]')?.getAttribute('allow') ?? ''";
    window.until("it has what was allowed", async || Ok(window.run(allowed).await? != "")).await?;
    let asks = async {
        let there = async || Ok(window.run("return typeof go").await? == "function");
        window.until("the View is there", there).await?;
        window.run(&format!("go('{TILES}')")).await
    };
    window.in_view(FRAME, asks).await?;
    let (mut stream, heard) = greeted(&server).await?;
    assert!(greets(&heard, NAME), "{heard:?}");
    // The connection stands, and nobody has answered yet, when the domain is taken back.
    take_back(&window, "https://tiles.usher-test.invalid").await?;
    let rest = timeout(Duration::from_secs(5), stream.read(&mut [0; 64])).await?;
    assert_eq!(rest.unwrap_or_default(), 0, "the connection still stands");
    window.click("[data-testid=view-placeholder] button").await?;
    assert_eq!(go(&window, TILES).await?, "TypeError");
    assert!(timeout(Duration::from_secs(1), server.accept()).await.is_err(), "somebody came after it");
    window.close().await
}
