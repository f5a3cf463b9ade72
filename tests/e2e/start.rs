//! The window opens on an empty data folder and draws.

use usher_tests::window::{Window, colours};

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn the_window_opens_and_draws() -> anyhow::Result<()> {
    let window = Window::open().await?;
    assert_eq!(window.client().title().await?, "Usher");
    window
        .until("the page is mounted", async || {
            Ok(window.run("return document.getElementById('app').childElementCount > 0").await? == true)
        })
        .await?;
    // The page is mounted before it is painted.
    window
        .until("the window is not blank", async || Ok(colours(&window.screenshot("start").await?, 8)? > 2))
        .await?;
    window.close().await
}
