//! A View that shows its drawing to the model, in the window: the user sees it before it goes, the transcript has it afterwards, and its bytes
//! are in the request once; one that the window cannot draw is not agreed to (`tests/data/views/easel.html`).

use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use usher_host::conversation::Preferences;
use usher_tests::{
    scripted_model::{ScriptedModel, say},
    scripted_server::{LINK, Script, document},
    stage::{SERVER, Setting, Stage},
    window::{Options, Window},
};

use super::scene::FRAME;

const HTML: &str = include_str!("../data/views/easel.html");
const CHILD: &str = env!("CARGO_BIN_EXE_usher-child");

/// A dialog takes no yes in its first 300 ms after all of it could be seen.
const SETTLED: Duration = Duration::from_millis(400);

/// A window with the View, and the model of its conversation.
struct Scene {
    window: Window,
    model: ScriptedModel,
    _folder: TempDir,
}

impl Scene {
    async fn open(theme: &str) -> anyhow::Result<Self> {
        let folder = TempDir::new()?;
        let script = Script::new("2025-11-25")
            .tool("draw", LINK, r#"{"content":[]}"#)
            .answering("resources/read ui://a/b", &document(HTML));
        let setting = Setting::with(vec![script.cast(SERVER, CHILD, folder.path())]);
        let data = folder.path().join("data");
        let stage = Stage::open_in(&data, &setting).await;
        stage.ready(SERVER).await;
        let preferences = Preferences { tour_done: true, theme: theme.to_owned(), ..Preferences::default() };
        stage.host.save_preferences(preferences).await?;
        let model = ScriptedModel::start([say(["I see."]), say(["I still see."])]).await;
        let conversation = stage.conversation(usher_engine::Mode::App, &model).await;
        stage.host.call_tool(&conversation, SERVER, "draw", "{}").await?;
        stage.close().await;
        let window = Window::open_with(Options { data_dir: Some(data), env: Vec::new() }).await?;
        window.element("[data-testid=server-row][data-state=ready]").await?;
        window.resize(1280, 900).await?;
        window.click("[data-testid=conversation-row]").await?;
        window.click("[data-testid=view-placeholder] button").await?;
        let scene = Self { window, model, _folder: folder };
        scene.until_in_view("the View is ready", "return window.ready === true").await?;
        Ok(scene)
    }

    async fn in_view(&self, script: &str) -> anyhow::Result<Value> {
        self.window.in_view(FRAME, self.window.run(script)).await
    }

    async fn until_in_view(&self, what: &str, script: &str) -> anyhow::Result<()> {
        let holds = self.window.until(what, async || Ok(self.window.run(script).await? == true));
        self.window.in_view(FRAME, holds).await
    }

    async fn until(&self, what: &str, script: &str) -> anyhow::Result<()> {
        self.window.until(what, async || Ok(self.window.run(script).await? == true)).await
    }

    /// Waits until the picture in the dialog is drawn, and gives its size.
    async fn seen(&self) -> anyhow::Result<Value> {
        let image = "document.querySelector('[data-testid=view-consent-pictures] img')";
        self.until("the picture is drawn", &format!("return ({image} || {{}}).naturalWidth > 0")).await?;
        self.window.run(&format!("return [{image}.naturalWidth, {image}.naturalHeight]")).await
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_drawing_of_a_view_is_seen_before_it_goes_to_the_model() -> anyhow::Result<()> {
    for theme in ["light", "dark"] {
        let scene = Scene::open(theme).await?;
        let window = &scene.window;
        let can = scene.in_view("return window.can.message").await?;
        assert_eq!(can, json!({"text": {}, "image": {}, "resource": {}, "resourceLink": {}}));
        let drawing = scene.in_view("return window.drawing").await?;
        let drawing = drawing.as_str().unwrap_or_default();

        scene.in_view("window.show('ui/message', 'What do you see?')").await?;
        assert_eq!(scene.seen().await?, json!([320, 200]));
        let dialog = window.element("[data-testid=view-consent]").await?.text().await?;
        assert!(dialog.contains("What do you see?") && dialog.contains("320 × 200"), "{dialog}");
        window.screenshot(&format!("view-picture-{theme}")).await?;
        window.click("[data-testid=view-consent-pictures] button").await?;
        window.screenshot(&format!("view-picture-each-pixel-{theme}")).await?;
        tokio::time::sleep(SETTLED).await;
        window.click("[data-testid=view-consent-once]").await?;
        scene.until_in_view("the View has its answer", "return window.answer !== null").await?;
        assert_eq!(scene.in_view("return window.answer").await?, json!({}));

        window.click("[data-testid=item-door-show]").await?;
        let drawn = "return (document.querySelector('[data-testid=item-door-pictures] img') || {}).naturalWidth === 320";
        scene.until("the transcript has it", drawn).await?;
        window.screenshot(&format!("view-picture-said-{theme}")).await?;

        window.element("[data-testid=composer-input]").await?.send_keys("And?").await?;
        window.click("[data-testid=composer-send]").await?;
        let sent = String::from_utf8(scene.model.request(0).await.body)?;
        assert_eq!(sent.matches(&format!("data:image/png;base64,{drawing}")).count(), 1);
        scene.model.assert_orderly();
        scene.window.close().await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_picture_that_cannot_be_drawn_is_not_agreed_to() -> anyhow::Result<()> {
    let scene = Scene::open("light").await?;
    let window = &scene.window;
    // It begins as a picture does, and is none after that.
    let spoilt = "btoa(atob(window.drawing).slice(0, 33) + 'x'.repeat(400))";
    scene.in_view(&format!("window.show('ui/update-model-context', '', {spoilt})")).await?;
    window.text_in("[data-testid=view-consent-pictures]", "cannot be drawn").await?;
    window.screenshot("view-picture-broken").await?;
    let off = "return document.querySelector('[data-testid=view-consent-view]').disabled";
    assert_eq!(window.run(off).await?, true);
    window.click("[data-testid=view-consent-refuse]").await?;
    scene
        .until_in_view("the View is refused", "return window.answer && window.answer.error.code === -32000")
        .await?;
    scene.window.close().await
}
