//! Servers in the window: one is added by its address, tested, pinned and edited; a list of another program is reviewed before
//! anything of it runs; the list is exported. A secret that was typed once is nowhere in the window again.

use std::{fs, path::Path, process::Stdio};

use anyhow::Context as _;
use fantoccini::{Locator, key::Key};
use serde_json::json;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, ChildStderr, Command},
};
use usher_tests::{stage::within, window::Window};

use super::stage::Stage;

/// The sample server over HTTP, at a port of its own. It ends with the test.
struct Served {
    url: String,
    _child: Child,
    // A server that nobody listens to may fail when it speaks.
    _stderr: BufReader<ChildStderr>,
}

impl Served {
    async fn start() -> anyhow::Result<Self> {
        let mut child = Command::new(usher_tests::window::binary()?)
            .args(["sample-server", "--http"])
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut stderr = BufReader::new(child.stderr.take().context("its stderr is piped")?);
        let mut line = String::new();
        within(stderr.read_line(&mut line)).await?;
        let url = line.trim().rsplit(' ').next().unwrap_or_default().to_owned();
        anyhow::ensure!(url.starts_with("http://127.0.0.1:"), "the sample server said {line:?}");
        Ok(Self { url, _child: child, _stderr: stderr })
    }
}

/// A picture in each theme.
async fn pictures(window: &Window, name: &str) -> anyhow::Result<()> {
    for theme in ["light", "dark"] {
        window.run(&format!("document.documentElement.dataset.theme = '{theme}'")).await?;
        window.screenshot(&format!("servers-{name}-{theme}")).await?;
    }
    Ok(())
}

/// Types into a field, key by key.
async fn type_into(window: &Window, css: &str, text: &str) -> anyhow::Result<()> {
    window.element(css).await?.send_keys(text).await.with_context(|| format!("typing into {css}"))
}

/// Puts a long text into a field, as a paste would.
async fn fill(window: &Window, css: &str, text: &str) -> anyhow::Result<()> {
    window.element(css).await?;
    let script = "const field = document.querySelector(arguments[0]); field.focus(); field.value = arguments[1]; \
                  field.dispatchEvent(new Event('input', { bubbles: true }))";
    window.client().execute(script, vec![json!(css), json!(text)]).await?;
    Ok(())
}

/// Chooses from the menu beside the list of servers.
async fn choose(window: &Window, item: &str) -> anyhow::Result<()> {
    window.click("[aria-label='More for servers']").await?;
    window.element("[role=menuitem]").await?;
    let path = format!("//*[@role='menuitem'][contains(., '{item}')]");
    window.client().find(Locator::XPath(&path)).await?.click().await?;
    Ok(())
}

/// Presses Esc where the focus is, and waits until the dialog is gone.
async fn escape(window: &Window, testid: &str) -> anyhow::Result<()> {
    window.client().active_element().await?.send_keys(&char::from(Key::Escape).to_string()).await?;
    gone(window, testid).await
}

async fn gone(window: &Window, testid: &str) -> anyhow::Result<()> {
    let script = format!("return document.querySelector('[data-testid={testid}]') === null");
    window.until(&format!("{testid} is gone"), async || Ok(window.run(&script).await? == true)).await
}

/// Waits until the row of a server has a state.
async fn row(window: &Window, name: &str, state: &str) -> anyhow::Result<()> {
    let script = "return [...document.querySelectorAll(`[data-testid=server-row][data-state=${arguments[1]}]`)] \
                  .some(row => row.querySelector('.truncate').textContent === arguments[0])";
    window
        .until(&format!("{name} is {state}"), async || {
            Ok(window.client().execute(script, vec![json!(name), json!(state)]).await? == true)
        })
        .await
}

/// Opens the dialog of a server.
async fn open_row(window: &Window, name: &str) -> anyhow::Result<()> {
    let path = format!("//button[@data-testid='server-row'][contains(., '{name}')]");
    window.client().find(Locator::XPath(&path)).await?.click().await?;
    window.element("[data-testid=server-dialog]").await?;
    Ok(())
}

/// A home folder in which Cursor keeps a list, with a program that leaves a trace when it runs.
fn home(trace: &Path) -> anyhow::Result<TempDir> {
    let home = TempDir::new()?;
    fs::create_dir_all(home.path().join(".cursor"))?;
    let list = json!({"mcpServers": {"traces": {"command": "touch", "args": [trace]}}});
    fs::write(home.path().join(".cursor/mcp.json"), list.to_string())?;
    Ok(home)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_server_is_tested_added_pinned_and_edited_and_its_secret_is_never_shown() -> anyhow::Result<()> {
    let served = Served::start().await?;
    let stage = Stage::open().await?;
    let (window, secret) = (&stage.window, format!("hush-{}", stage.seed));
    window.resize(1280, 800).await?;

    window.click("[data-testid=add-server]").await?;
    window.element("#server-command").await?;
    pictures(window, "form").await?;
    window.click("[data-testid=kind-http]").await?;
    // What is missing is said at its field, and nothing is tried.
    window.click("[data-testid=server-test]").await?;
    window.element("#server-url[aria-invalid=true]").await?;
    type_into(window, "#server-url", &served.url).await?;
    window.click("[data-testid=add-header]").await?;
    type_into(window, "[data-testid=headers] [data-name]", "X-Api-Key").await?;
    type_into(window, "[data-testid=headers] input[type=password]", &secret).await?;
    type_into(window, "#server-name", "Remote").await?;
    window.click("[data-testid=server-test]").await?;
    window.element("[data-testid=test-result][data-ok=true]").await?;
    window.text_in("[data-testid=test-result]", "2026-12-01").await?;
    pictures(window, "tested").await?;
    let rows = "return document.querySelectorAll('[data-testid=server-row]').length";
    assert_eq!(window.run(rows).await?, 1, "a test adds nothing");

    window.click("[data-testid=server-save]").await?;
    gone(window, "server-form").await?;
    row(window, "Remote", "ready").await?;
    open_row(window, "Remote").await?;
    window.text_in("[data-testid=server-dialog]", "search_customers").await?;
    window.text_in("[data-testid=server-dialog]", "speaks 2026-12-01").await?;
    pictures(window, "remote").await?;

    window.click("[data-testid=server-revision]").await?;
    window.click("[data-testid='server-revision-2025-06-18']").await?;
    window.text_in("[data-testid=server-dialog]", "speaks 2025-06-18").await?;
    row(window, "Remote", "ready").await?;
    pictures(window, "pinned").await?;

    window.click("[data-testid=server-edit]").await?;
    window.element("[data-testid=headers] input[placeholder^=kept]").await?;
    pictures(window, "edit").await?;
    window.click("[data-testid=server-save]").await?;
    gone(window, "server-form").await?;
    row(window, "Remote", "ready").await?;
    escape(window, "server-dialog").await?;

    choose(window, "Export").await?;
    window.text_in("[data-testid=export-text]", &served.url).await?;
    pictures(window, "export").await?;
    let document = window.document().await?;
    assert!(!document.contains(&secret), "the secret is in the window again");
    escape(window, "export-dialog").await?;
    stage.window.close().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_list_is_reviewed_before_anything_of_it_runs() -> anyhow::Result<()> {
    let folder = TempDir::new()?;
    let trace = folder.path().join("it-ran");
    let home = home(&trace)?;
    let environment = [("HOME", home.path().to_owned()), ("XDG_CONFIG_HOME", home.path().join(".config"))];
    let environment = environment.map(|(name, path)| (name.to_owned(), path.display().to_string()));
    let stage = Stage::open_in(&[], environment.to_vec()).await?;
    let window = &stage.window;
    window.resize(1280, 800).await?;

    choose(window, "Import").await?;
    window.text_in("[data-testid=import-known]", "Cursor").await?;
    pictures(window, "import").await?;
    fill(window, "[data-testid=import-text]", "servers:").await?;
    window.click("[data-testid=import-review]").await?;
    window.element("[data-testid=import-dialog] [role=alert]").await?;

    let list = json!({
        "inputs": [{"type": "promptString", "id": "key", "description": "Key of the tracker", "password": true}],
        "servers": {
            "traces": {"command": "touch", "args": [trace]},
            "Sample": {"command": "npx", "args": ["-y", "a server"], "env": {"LEVEL": "3"}},
            "tracker": {"url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "Bearer ${input:key}", "X-Team": "${env:NOT_SET_HERE}"}},
            "half": {},
        },
    });
    fill(window, "[data-testid=import-text]", &format!("// What the team uses.\n{list:#}")).await?;
    window.click("[data-testid=import-review]").await?;
    window.element("[data-testid=import-entry][data-key=tracker]").await?;
    window.text_in("[data-testid=import-runs]", &trace.display().to_string()).await?;
    window.text_in("[data-testid=import-entry][data-key=tracker]", "NOT_SET_HERE").await?;
    window.text_in("[data-testid=import-entry][data-key=Sample]", "is here already").await?;
    window.text_in("[data-testid=import-skipped]", "half").await?;
    pictures(window, "review").await?;
    window.resize(800, 600).await?;
    pictures(window, "review-small").await?;
    window.resize(1280, 800).await?;
    type_into(window, "[data-testid=import-inputs] input[type=password]", "k1").await?;
    window.text_in("[data-testid=import-confirm]", "Import 2 servers").await?;
    window.click("[data-testid=import-confirm]").await?;
    gone(window, "import-dialog").await?;
    row(window, "traces", "off").await?;
    row(window, "tracker", "off").await?;
    assert!(!trace.exists(), "what was imported ran without a yes");
    pictures(window, "imported").await?;

    // The yes is in the window too: turned on, it runs.
    open_row(window, "traces").await?;
    window.client().find(Locator::XPath("//button[normalize-space()='Turn on']")).await?.click().await?;
    window.until("what was turned on has run", async || Ok(trace.exists())).await?;
    pictures(window, "turned-on").await?;
    stage.window.close().await
}
