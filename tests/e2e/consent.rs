//! What the sample server's View asks of the user: words for the model, an address to open, and a file to save. Each is asked in the window, a no
//! lets nothing through and the View learns it, and a yes lets through exactly what was shown.
//!
//! No browser opens: the program that opens addresses is a script of the test, found first in the search path.

use std::{fs, path::PathBuf, time::Duration};

use tempfile::TempDir;
use usher_tests::window::Window;

use super::stage::{QUESTION, Stage};

/// A dialog takes no yes in its first 300 ms, since a click so early was meant for something else.
const SETTLED: Duration = Duration::from_millis(400);

/// For two seconds after a first no, the View is refused without a question.
const QUIET: Duration = Duration::from_millis(2100);

/// What the View says of the customers that it shows; the count stands before it.
const ASKED: &str = "What stands out among the ";
const TOLD: &str = "The dashboard shows ";

/// The window with a View that has its data.
async fn with_view(env: Vec<(String, String)>) -> anyhow::Result<Stage> {
    let stage = Stage::open_in(&[], env).await?;
    stage.ask("chat", QUESTION).await?;
    stage.allow_once().await?;
    stage.received_by_view().await?;
    Ok(stage)
}

/// Presses a button of the View.
async fn press(window: &Window, id: &str) -> anyhow::Result<()> {
    let script = format!("document.getElementById('{id}').click()");
    window.in_view("[data-testid=view-frame]", async { window.run(&script).await.map(drop) }).await
}

/// Waits until the View has its answer, and it begins so.
async fn answered(window: &Window, start: &str) -> anyhow::Result<()> {
    let script = "return document.getElementById('actions-status').textContent";
    let what = format!("the View says \"{start}\"");
    let wait = window.until(&what, async || {
        Ok(window.run(script).await?.as_str().is_some_and(|it| it.starts_with(start)))
    });
    window.in_view("[data-testid=view-frame]", wait).await
}

/// What a dialog says, once it is there.
async fn dialog(window: &Window, testid: &str) -> anyhow::Result<String> {
    Ok(window.element(&format!("[data-testid={testid}]")).await?.text().await?)
}

/// Agrees in a dialog that is there, and waits until it is gone.
async fn agree(window: &Window, testid: &str, button: &str) -> anyhow::Result<()> {
    tokio::time::sleep(SETTLED).await;
    window.click(&format!("[data-testid={button}]")).await?;
    gone(window, testid).await
}

async fn gone(window: &Window, testid: &str) -> anyhow::Result<()> {
    let script = format!("return document.querySelector('[data-testid={testid}]') === null");
    window.until(&format!("{testid} is gone"), async || Ok(window.run(&script).await? == true)).await
}

/// How many doors to the model stand in the transcript.
async fn doors(window: &Window) -> anyhow::Result<u64> {
    let count = "return document.querySelectorAll('[data-testid=item-door]').length";
    Ok(window.run(count).await?.as_u64().unwrap_or_default())
}

/// The next request to the model, after a message of the user.
async fn next_body(stage: &Stage) -> anyhow::Result<String> {
    stage.say("thanks").await?;
    stage.settled().await?;
    Ok(String::from_utf8(stage.bodies()?.pop().unwrap_or_default())?)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn words_of_a_view_reach_the_model_only_after_a_yes() -> anyhow::Result<()> {
    let stage = with_view(Vec::new()).await?;
    let window = &stage.window;

    press(window, "ask-model").await?;
    let shown = dialog(window, "view-consent").await?;
    assert!(shown.contains("Sample") && shown.contains("search_customers"), "{shown}");
    assert!(shown.contains(ASKED), "{shown}");
    window.screenshot("view-consent").await?;
    window.click("[data-testid=view-consent-refuse]").await?;
    gone(window, "view-consent").await?;
    answered(window, "Not allowed.").await?;
    assert_eq!(doors(window).await?, 0);
    let body = next_body(&stage).await?;
    assert!(!body.contains(ASKED), "{body}");

    tokio::time::sleep(QUIET).await;
    press(window, "ask-model").await?;
    let shown = dialog(window, "view-consent").await?;
    assert!(shown.contains(ASKED), "{shown}");
    let sent = stage.bodies()?.len();
    agree(window, "view-consent", "view-consent-once").await?;
    answered(window, "The model reads it").await?;
    window.element("[data-testid=item-door]").await?;
    // The View's words start no turn of their own.
    assert_eq!(stage.bodies()?.len(), sent);
    let body = next_body(&stage).await?;
    assert_eq!(body.matches(ASKED).count(), 1, "{body}");

    // That yes was for once.
    press(window, "ask-model").await?;
    dialog(window, "view-consent").await?;
    window.click("[data-testid=view-consent-refuse]").await?;
    answered(window, "Not allowed").await?;
    assert_eq!(doors(window).await?, 1);
    stage.window.close().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_view_that_asks_can_be_stopped_where_it_asks() -> anyhow::Result<()> {
    let stage = with_view(Vec::new()).await?;
    let window = &stage.window;
    press(window, "ask-model").await?;
    dialog(window, "view-consent").await?;
    window.screenshot("view-consent-stop").await?;
    window.click("[data-testid=view-stop]").await?;
    gone(window, "view-consent").await?;
    window.text_in("[data-testid=view-placeholder]", "You stopped this View").await?;
    window.screenshot("view-stopped-where-it-asked").await?;
    assert_eq!(doors(window).await?, 0);
    window.click("[data-testid=view-placeholder] button").await?;
    stage.received_by_view().await?;
    // Started again it may ask again, and a no is a no as before.
    press(window, "ask-model").await?;
    dialog(window, "view-consent").await?;
    window.click("[data-testid=view-consent-refuse]").await?;
    answered(window, "Not allowed.").await?;
    stage.window.close().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn what_a_view_keeps_before_the_model_is_asked_once_listed_and_taken_back() -> anyhow::Result<()> {
    let stage = with_view(Vec::new()).await?;
    let window = &stage.window;

    press(window, "tell-model").await?;
    let shown = dialog(window, "view-consent").await?;
    assert!(shown.contains("Sample") && shown.contains(TOLD), "{shown}");
    agree(window, "view-consent", "view-consent-view").await?;
    answered(window, "The model knows").await?;
    window.text_in("[data-testid=item-door]", "what a View keeps as context").await?;
    window.click("[data-testid=item-door-show]").await?;
    window.text_in("[data-testid=item-door-words]", TOLD).await?;
    window.screenshot("view-words").await?;
    let body = next_body(&stage).await?;
    assert_eq!(body.matches(TOLD).count(), 1, "{body}");

    // Taking it back needs no question.
    press(window, "tell-model").await?;
    answered(window, "The model is no longer told").await?;
    window.until("the View's context is no longer listed", async || Ok(doors(window).await? == 0)).await?;
    let body = next_body(&stage).await?;
    assert!(!body.contains(TOLD), "{body}");
    stage.window.close().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn context_of_a_view_that_was_refused_is_not_asked_about_again() -> anyhow::Result<()> {
    let stage = with_view(Vec::new()).await?;
    let window = &stage.window;
    press(window, "tell-model").await?;
    dialog(window, "view-consent").await?;
    window.click("[data-testid=view-consent-refuse]").await?;
    answered(window, "Not allowed").await?;
    tokio::time::sleep(QUIET).await;
    press(window, "tell-model").await?;
    answered(window, "Not allowed").await?;
    gone(window, "view-consent").await?;
    assert_eq!(doors(window).await?, 0);
    let body = next_body(&stage).await?;
    assert!(!body.contains(TOLD), "{body}");
    stage.window.close().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_file_of_a_view_is_saved_only_after_a_yes() -> anyhow::Result<()> {
    let folder = TempDir::new()?;
    let place = folder.path().display().to_string();
    let stage = with_view(vec![("USHER_DOWNLOAD_DIR".to_owned(), place.clone())]).await?;
    let window = &stage.window;

    press(window, "save-table").await?;
    let shown = dialog(window, "view-files").await?;
    assert!(shown.contains("customers.csv") && shown.contains(&place) && shown.contains("Sample"), "{shown}");
    window.screenshot("view-files").await?;
    window.click("[data-testid=view-files-refuse]").await?;
    gone(window, "view-files").await?;
    answered(window, "Not allowed.").await?;
    assert_eq!(fs::read_dir(folder.path())?.count(), 0, "nothing is saved after a no");

    tokio::time::sleep(QUIET).await;
    press(window, "save-table").await?;
    dialog(window, "view-files").await?;
    agree(window, "view-files", "view-files-save").await?;
    answered(window, "Saved.").await?;
    let saved = fs::read_to_string(folder.path().join("customers.csv"))?;
    assert!(saved.lines().count() > 1, "{saved}");
    window.text_in("[data-testid=item-note]", "customers.csv").await?;
    stage.window.close().await
}

/// Its folder, the file that it writes, and the environment in which it is found first.
#[cfg(target_os = "linux")]
pub(super) type Opener = (TempDir, PathBuf, Vec<(String, String)>);

/// A folder whose `xdg-open` writes down what it is asked to open.
#[cfg(target_os = "linux")]
pub(super) fn opener() -> anyhow::Result<Opener> {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = TempDir::new()?;
    let opened = folder.path().join("opened");
    let program = folder.path().join("xdg-open");
    fs::write(&program, format!("#!/bin/sh\nprintf '%s\\n' \"$1\" >>'{}'\n", opened.display()))?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700))?;
    let path = std::env::var("PATH")?;
    let env = vec![("PATH".to_owned(), format!("{}:{path}", folder.path().display()))];
    Ok((folder, opened, env))
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn an_address_of_a_view_is_opened_only_after_a_yes() -> anyhow::Result<()> {
    const ADDRESS: &str = "https://modelcontextprotocol.io/docs";
    let (_folder, opened, env) = opener()?;
    let stage = with_view(env).await?;
    let window = &stage.window;

    press(window, "open-docs").await?;
    let shown = dialog(window, "link-dialog").await?;
    assert!(shown.contains("Sample") && shown.contains(ADDRESS), "{shown}");
    window.click("[data-testid=link-cancel]").await?;
    gone(window, "link-dialog").await?;
    answered(window, "Not allowed").await?;
    assert!(!opened.exists(), "nothing is opened after a no");

    tokio::time::sleep(QUIET).await;
    press(window, "open-docs").await?;
    dialog(window, "link-dialog").await?;
    agree(window, "link-dialog", "link-open").await?;
    answered(window, "Opened outside").await?;
    window
        .until("the address was handed over", async || {
            Ok(fs::read_to_string(&opened).is_ok_and(|it| it.ends_with('\n')))
        })
        .await?;
    assert_eq!(fs::read_to_string(&opened)?, format!("{ADDRESS}\n"));
    stage.window.close().await
}
