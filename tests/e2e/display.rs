//! Where a View is shown: in its place, in the whole window and in a box of its own, and how it ends. It is the very same frame all the
//! while, so that what was done in it is still there; `tests/data/views/display.html` counts and keeps what it is told.
//!
//! The View is opened from the record of a call, so that no model is needed.

use std::{fs, path::Path, process::Command, time::Duration};

use serde_json::{Value, json};
use usher_tests::{
    scripted_server::{LINK, Script},
    window::Window,
};

use super::scene::{FRAME, Prepared};

const HTML: &str = include_str!("../data/views/display.html");

/// A window with the View in its frame, counted up to three.
struct Scene {
    window: Window,
    prepared: Prepared,
}

impl Scene {
    async fn open(theme: &str) -> anyhow::Result<Self> {
        let said = r#"{"content":[{"type":"text","text":"counted"}]}"#;
        let script = Script::new("2025-11-25")
            .tool("count", LINK, said)
            .tool("save", r#"{"_meta":{"ui":{"visibility":["app"]}}}"#, said)
            .view(HTML, None);
        let prepared = Prepared::called(&script, theme, "count").await?;
        let window = prepared.window().await?;
        window.resize(1280, 800).await?;
        let scene = Self { window, prepared };
        scene.window.click("[data-testid=view-placeholder] button").await?;
        scene.window.element("[data-testid=view-fullscreen]").await?;
        scene.until_in_view("the View is ready", "return window.ready === true").await?;
        scene
            .in_view("for (const _ of [1, 2, 3]) document.getElementById('more').click(); return count")
            .await?;
        scene.window.run(&format!("document.querySelector('{FRAME}').theVery = 'same'")).await?;
        Ok(scene)
    }

    async fn in_view(&self, script: &str) -> anyhow::Result<Value> {
        self.window.in_view(FRAME, self.window.run(script)).await
    }

    async fn until_in_view(&self, what: &str, script: &str) -> anyhow::Result<()> {
        let holds = self.window.until(what, async || Ok(self.window.run(script).await? == true));
        self.window.in_view(FRAME, holds).await
    }

    /// Asks for a mode as the View, and gives the mode that it was told to have.
    async fn wish(&self, mode: &str) -> anyhow::Result<Value> {
        let begin = format!(
            "window.given = null; ask('ui/request-display-mode', {{ mode: '{mode}' }}).then((it) => (window.given = it.mode))"
        );
        self.in_view(&begin).await?;
        self.until_in_view("the wish is answered", "return window.given !== null").await?;
        self.in_view("return window.given").await
    }

    /// Waits until the page shows the View in a mode and the View knows its mode and its size.
    async fn is_shown(&self, mode: &str) -> anyhow::Result<()> {
        self.window.element(&format!("section.view[data-mode={mode}]")).await?;
        let size = match mode {
            "inline" => {
                "context.containerDimensions.width === innerWidth && context.containerDimensions.maxHeight === 1200"
            }
            _ => {
                "context.containerDimensions.width === innerWidth && context.containerDimensions.height === innerHeight"
            }
        };
        let knows = format!("return context.displayMode === '{mode}' && {size}");
        self.until_in_view(&format!("the View knows that it is {mode}"), &knows).await
    }

    /// The section's box: left, top, width and height.
    async fn rect(&self) -> anyhow::Result<[f64; 4]> {
        let script = "const it = document.querySelector('section.view').getBoundingClientRect(); return [it.left, it.top, it.width, it.height]";
        Ok(serde_json::from_value(self.window.run(script).await?)?)
    }

    /// It is the frame of the beginning, and so is all that was done in it.
    async fn is_the_same(&self) -> anyhow::Result<()> {
        let mark = format!("return document.querySelector('{FRAME}').theVery");
        assert_eq!(self.window.run(&mark).await?, "same", "the frame was made anew");
        assert_eq!(self.in_view("return count").await?, 3, "the View was loaded anew");
        Ok(())
    }

    /// What the View saved, from the record of its calls.
    fn saved(&self) -> anyhow::Result<Vec<String>> {
        let database = rusqlite::Connection::open(self.prepared.folder.path().join("data/usher.db"))?;
        database.busy_timeout(Duration::from_secs(5))?;
        let mut query = database.prepare("SELECT record FROM call WHERE record LIKE '%\"save\"%'")?;
        let rows = query.query_map([], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_view_is_shown_in_the_whole_window_and_in_a_box_as_the_very_same() -> anyhow::Result<()> {
    let scene = Scene::open("light").await?;
    let window = &scene.window;
    scene.is_shown("inline").await?;
    let place = scene.rect().await?;

    // By the View's wish, and back by a key of the window.
    assert_eq!(scene.wish("fullscreen").await?, "fullscreen");
    scene.is_shown("fullscreen").await?;
    let whole: [f64; 2] = serde_json::from_value(window.run("return [innerWidth, innerHeight]").await?)?;
    assert_eq!(scene.rect().await?, [0.0, 0.0, whole[0], whole[1]]);
    let above = "return [[0.5, 0.5], [0.02, 0.6], [0.98, 0.97]].map(([x, y]) => document.elementFromPoint(innerWidth * x, innerHeight * y).dataset.testid)";
    assert_eq!(
        window.run(above).await?,
        json!(["view-frame", "view-frame", "view-frame"]),
        "something lies above it"
    );
    // The driver takes the focus with it when it leaves the View; the way back is in sight all the same.
    let exit = "const it = document.querySelector('[data-testid=view-fullscreen]'); const box = it.getBoundingClientRect(); \
                return [it.textContent.trim(), box.width > 0 && box.top >= 0 && box.right <= innerWidth, document.querySelector('[data-testid=composer-input]').closest('[inert]') !== null]";
    assert_eq!(window.run(exit).await?, json!(["Back to the conversation", true, true]));
    window.screenshot("view-fullscreen-light").await?;
    window.element("[data-testid=view-fullscreen]").await?.send_keys("\u{e00c}").await?;
    scene.is_shown("inline").await?;
    assert_eq!(scene.rect().await?, place, "the conversation jumped");
    assert_eq!(window.run("return document.querySelector('[inert]') === null").await?, true);
    scene.is_the_same().await?;
    // It does not hold the user there.
    assert_eq!(scene.wish("fullscreen").await?, "inline");

    // By the bar, in a box that is moved and resized by keyboard.
    window.click("[data-testid=view-pip]").await?;
    scene.is_shown("pip").await?;
    let boxed = scene.rect().await?;
    assert_eq!([boxed[2], boxed[3]], [400.0, 300.0]);
    window.element("[data-testid=view-move]").await?.send_keys("\u{e012}\u{e013}").await?;
    window.element("[data-testid=view-resize]").await?.send_keys("\u{e014}").await?;
    assert_eq!(scene.rect().await?, [boxed[0] - 16.0, boxed[1] - 16.0, 416.0, 300.0]);
    scene.is_shown("pip").await?;
    window.screenshot("view-pip-light").await?;
    // The conversation scrolls under it.
    let before = scene.rect().await?;
    window.run("document.querySelector('[data-testid=transcript]').scrollTop = 0").await?;
    assert_eq!(scene.rect().await?, before);
    scene.is_the_same().await?;
    // From there into the whole window, and home.
    window.click("[data-testid=view-fullscreen]").await?;
    scene.is_shown("fullscreen").await?;
    window.click("[data-testid=view-fullscreen]").await?;
    scene.is_shown("inline").await?;
    assert_eq!(scene.rect().await?[2..], place[2..]);
    scene.is_the_same().await?;
    scene.window.close().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_view_looks_like_the_window_in_the_dark() -> anyhow::Result<()> {
    let scene = Scene::open("dark").await?;
    assert_eq!(scene.in_view("return context.theme").await?, "dark");
    scene.window.screenshot("view-inline-dark").await?;
    scene.window.click("[data-testid=view-fullscreen]").await?;
    scene.is_shown("fullscreen").await?;
    scene.window.screenshot("view-fullscreen-dark").await?;
    scene.window.click("[data-testid=view-pip]").await?;
    scene.is_shown("pip").await?;
    scene.window.screenshot("view-pip-dark").await?;
    scene.is_the_same().await?;
    scene.window.close().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_view_puts_its_things_away_when_its_conversation_is_left() -> anyhow::Result<()> {
    let scene = Scene::open("system").await?;
    assert_eq!(scene.saved()?, [""; 0]);
    scene.window.click("[data-testid=new-conversation]").await?;
    scene.window.until("the View saved its count", async || Ok(scene.saved()?.len() == 1)).await?;
    let gone = format!("return document.querySelector('{FRAME}') === null");
    scene.window.until("the frame is gone", async || Ok(scene.window.run(&gone).await? == true)).await?;
    let saved = scene.saved()?;
    assert!(saved[0].contains(r#"\"count\":3"#) || saved[0].contains(r#""count":3"#), "{saved:?}");
    scene.window.close().await
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_view_puts_its_things_away_when_the_window_closes() -> anyhow::Result<()> {
    let scene = Scene::open("system").await?;
    let pid = application(&scene.prepared.folder.path().join("data"))?;
    // The system's wish to end is heard as the button of the window is.
    anyhow::ensure!(
        Command::new("kill").args(["-TERM", &pid]).status()?.success(),
        "the application is gone"
    );
    scene.window.until("the View saved its count", async || Ok(scene.saved()?.len() == 1)).await?;
    // One that has ended has no program, also while nobody has asked how.
    let program = Path::new("/proc").join(&pid).join("exe");
    scene.window.until("the application has ended", async || Ok(fs::read_link(&program).is_err())).await?;
    Ok(())
}

/// The process that has a data folder open.
#[cfg(unix)]
fn application(data: &Path) -> anyhow::Result<String> {
    let program = usher_tests::window::binary()?.canonicalize()?;
    for entry in fs::read_dir("/proc")? {
        let place = entry?.path();
        let is_it = fs::read_link(place.join("exe")).is_ok_and(|it| it == program)
            && fs::read(place.join("environ"))
                .is_ok_and(|it| String::from_utf8_lossy(&it).contains(&data.display().to_string()));
        if let Some(pid) = place.file_name().and_then(|it| it.to_str()).filter(|_| is_it) {
            return Ok(pid.to_owned());
        }
    }
    anyhow::bail!("no process has {}", data.display())
}
