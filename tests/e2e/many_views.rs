//! Twenty Views in one conversation: those that are long out of sight are put to rest, keep their place, and come back by themselves.
//!
//! What that costs is measured, and written into `docs/app-compatibility.md` when `UPDATE_EXPECT` is set. Deliberately absent: a bound on
//! memory, which is the web view's to give back when it likes.

use std::time::{Duration, Instant};

use serde_json::json;
use usher_engine::Mode;
use usher_tests::{
    scripted_model::{ScriptedModel, call, say},
    tree,
    window::Window,
};

use super::scene::Prepared;

const VIEWS: usize = 20;

/// As many run before any is put to rest; `MOST_RUNNING` in `ui/src/components/view/crowd.ts`.
const MOST_RUNNING: u64 = 8;

/// What is counted in the page.
const FRAMES: &str = "return document.querySelectorAll('[data-testid=view-frame]').length";
const DONE: &str = "return document.querySelectorAll('[data-testid=tool-card][data-state=done]').length";

/// The window with a conversation whose model calls for twenty Views at once.
struct Scene {
    window: Window,
    _model: ScriptedModel,
    _prepared: Prepared,
}

impl Scene {
    async fn open() -> anyhow::Result<Self> {
        let calls = (0..VIEWS)
            .map(|n| ("search_customers", json!({"query": if n % 2 == 0 { "Globex" } else { "a" }})));
        let model = ScriptedModel::start([call(calls), say(["There they are."])]).await;
        let prepared = Prepared::sample("system", async |stage| {
            stage.conversation(Mode::Chat, &model).await;
            Ok(())
        })
        .await?;
        let window = prepared.window().await?;
        window.element("[data-testid=composer-input]").await?;
        Ok(Self { window, _model: model, _prepared: prepared })
    }

    async fn count(&self, script: &str) -> anyhow::Result<u64> {
        Ok(self.window.run(script).await?.as_u64().unwrap_or_default())
    }

    /// Has the model call, and waits until every call is done.
    async fn ask(&self) -> anyhow::Result<()> {
        self.window
            .until("the composer takes the message", async || {
                let composer = self.window.element("[data-testid=composer-input]").await?;
                Ok(composer.send_keys("Show them all.").await.is_ok())
            })
            .await?;
        self.window.click("[data-testid=composer-send]").await?;
        self.window.until("every call is done", async || Ok(self.count(DONE).await? == 20)).await
    }

    /// Brings a View into sight, and waits until it runs. Gives how long that took.
    async fn look_at(&self, n: usize) -> anyhow::Result<Duration> {
        let start = Instant::now();
        let look = "const view = document.querySelectorAll('section.view')[arguments[0]]; \
                    view?.scrollIntoView({ block: 'center', behavior: 'instant' }); \
                    return view?.querySelector('.frame:not(.waiting) [data-testid=view-frame]') != null";
        self.window
            .until(&format!("View {n} runs when it is looked at"), async || {
                Ok(self.window.client().execute(look, vec![json!(n)]).await? == true)
            })
            .await?;
        Ok(start.elapsed())
    }

    /// What a View says that it received.
    async fn received(&self, n: usize) -> anyhow::Result<()> {
        let mark = "document.querySelectorAll('section.view')[arguments[0]].querySelector('iframe').dataset.looked = 'yes'";
        self.window.client().execute(mark, vec![json!(n)]).await?;
        let received = "return document.querySelector('#view-received')?.textContent ?? ''";
        let whole = self.window.until("it has its result again", async || {
            Ok(self.window.run(received).await?.as_str().is_some_and(|it| it.contains("Globex")))
        });
        self.window.in_view("[data-looked=yes]", whole).await
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn of_twenty_views_those_out_of_sight_rest_and_come_back() -> anyhow::Result<()> {
    let scene = Scene::open().await?;
    let mut figures = vec![("before the first View", scene.window.memory()?, 0)];
    scene.ask().await?;
    let mut slowest = Duration::ZERO;
    for n in (0..VIEWS).rev() {
        slowest = slowest.max(scene.look_at(n).await?);
    }
    figures.push(("all twenty were looked at", scene.window.memory()?, scene.count(FRAMES).await?));
    let height = "return document.querySelector('[data-testid=transcript]').scrollHeight";
    let tall = scene.count(height).await?;
    scene.window.screenshot("many-views").await?;

    // They were all seen a moment ago. Now only the first is.
    scene
        .window
        .until("only some still run", async || Ok(scene.count(FRAMES).await? <= MOST_RUNNING))
        .await?;
    figures.push(("those out of sight are at rest", scene.window.memory()?, scene.count(FRAMES).await?));
    let resting = scene
        .count(
            "return document.querySelectorAll('[data-testid=view-placeholder][data-phase=resting]').length",
        )
        .await?;
    assert_eq!(resting + scene.count(FRAMES).await?, 20, "a View is neither running nor at rest");
    assert!(tall.abs_diff(scene.count(height).await?) <= 4, "the conversation moved under the reader");
    scene.window.screenshot("many-views-at-rest").await?;

    let back = scene.look_at(VIEWS - 2).await?;
    scene.received(VIEWS - 2).await?;
    write(&figures, slowest, back)?;
    scene.window.close().await
}

/// Writes the figures into the document, where that is asked for.
fn write(figures: &[(&str, u64, u64)], slowest: Duration, back: Duration) -> anyhow::Result<()> {
    if std::env::var_os("UPDATE_EXPECT").is_none() {
        return Ok(());
    }
    let rows: Vec<String> = figures
        .iter()
        .map(|(when, bytes, frames)| format!("| {when} | {frames} | {} MiB |\n", bytes / (1024 * 1024)))
        .collect();
    let table = format!("| When | Views that run | Memory |\n| --- | --- | --- |\n{}", rows.concat());
    let times = format!(
        "The slowest View ran {:.1} s after it was looked at for the first time; one at rest was back after {:.1} s.",
        slowest.as_secs_f64(),
        back.as_secs_f64()
    );
    tree::write_between("docs/app-compatibility.md", "many views", &format!("{table}\n{times}"))
}
