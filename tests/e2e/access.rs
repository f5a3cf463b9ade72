//! What a View gets beyond its own page, in the built window: it starts without, the user is shown every domain in full, and what is allowed
//! is there when it starts again. What its policy stops is told with the declaration that would allow it.
//!
//! No network is needed: the domain has no address, and that the window's proxy says so shows that the request passed every door before
//! it. Through the proxy to a server goes `headless::views_access`.

use std::time::Duration;

use serde_json::{Value, json};
use usher_tests::{
    scripted_server::{LINK, Script},
    window::Window,
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
    let prepared = Prepared::called(&script, theme, "show_map").await?;
    let window = prepared.window().await?;
    window.click("[data-testid=view-placeholder] button").await?;
    Ok((window, prepared))
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
    window
        .until("it is taken back from the open View", async || {
            Ok(window.run(sees).await?.as_str().is_some_and(|it| it.ends_with("0 of 4 allowed")))
        })
        .await?;
    window.close().await
}
