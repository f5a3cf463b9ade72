//! The pictures of the README and of `assets/screenshots`: `cargo xtask screenshots` takes them anew.

use tempfile::TempDir;

use super::stage::{QUESTION, Stage, prepare};

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
    stage.window.screenshot(&format!("conversation-{theme}")).await?;
    stage.click("[data-testid=inspector-tab-context]").await?;
    stage.window.element("[data-testid=context-body]").await?;
    stage.window.screenshot(&format!("context-{theme}")).await?;
    stage.click("[data-testid=inspector-tab-routing]").await?;
    stage.ask("chat", "Make images of a sunrise over the bay").await?;
    stage.allow_once().await?;
    stage.window.element("[data-testid=shown-image]").await?;
    stage.window.screenshot(&format!("media-{theme}")).await?;
    stage.window.resize(800, 600).await?;
    stage.window.screenshot(&format!("small-{theme}")).await?;
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
