//! The pictures of the README and of `assets/screenshots`: `cargo xtask screenshots` takes them anew.

use tempfile::TempDir;

use super::stage::{QUESTION, Stage, prepare};

/// Makes a picture the same each time: what moves stands still, and each time that this machine took becomes one that always stands there.
/// It changes the page before it is drawn, and nothing of the product. The bytes of requests and outputs stay as they are.
const STILL: &str = r#"
    const style = document.createElement('style');
    style.textContent = '* { animation: none !important; transition: none !important; caret-color: transparent !important; }';
    document.head.append(style);
    const kept = '[data-testid=context-body], [data-testid=shown-table], [data-testid=item-user]';
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      if (node.parentElement?.closest(kept)) continue;
      const still = node.data
        .replace(/\b\d+(\.\d+)? (ms|s)\b/g, '12 ms')
        .replace(/\b\d{1,2}:\d{2}:\d{2}\b/g, '12:00:00');
      if (still !== node.data) node.data = still;
    }
    document.querySelectorAll('[data-testid=ledger-row] .time').forEach((time, index) => {
      time.textContent = index === 0 ? '0 ms' : String(4 * index);
    });
"#;

async fn picture(stage: &Stage, name: &str) -> anyhow::Result<()> {
    stage.window.run(STILL).await?;
    stage.window.screenshot(name).await.map(drop)
}

async fn pictures(theme: &str) -> anyhow::Result<()> {
    let folder = TempDir::new()?;
    prepare(folder.path().to_owned(), vec!["sample-server".to_owned()], theme).await?;
    let window = Stage::window(&folder).await?;
    let stage = Stage { window, seed: String::new(), folder };
    stage.window.resize(1280, 800).await?;
    stage.ask("chat", QUESTION).await?;
    stage.allow_once().await?;
    stage.window.element("[data-testid=view-frame]").await?;
    stage.received_by_view().await?;
    let top = "document.querySelector('[data-testid=item-user]').scrollIntoView({ block: 'start' })";
    stage.window.run(top).await?;
    stage.window.element("[data-testid=table-cell]").await?;
    picture(&stage, &format!("conversation-{theme}")).await?;
    stage.click("[data-testid=inspector-tab-context]").await?;
    stage.window.element("[data-testid=context-body]").await?;
    picture(&stage, &format!("context-{theme}")).await?;
    stage.click("[data-testid=inspector-tab-routing]").await?;
    stage.ask("chat", "Make images of a sunrise over the bay").await?;
    stage.allow_once().await?;
    stage.window.element("[data-testid=shown-image]").await?;
    picture(&stage, &format!("media-{theme}")).await?;
    stage.window.resize(800, 600).await?;
    picture(&stage, &format!("small-{theme}")).await?;
    stage.window.close().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask screenshots"]
async fn in_the_light_theme() -> anyhow::Result<()> {
    pictures("light").await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask screenshots"]
async fn in_the_dark_theme() -> anyhow::Result<()> {
    pictures("dark").await
}
