//! A View that offers a tool of its own, in the window: the model calls it, the user is asked, the View changes before the user, and its
//! answer stands in the very bytes that the model reads. And one that lies: that offers thousands, answers too much, too late or for another
//! (`tests/data/views/painter.html`).

use anyhow::Context as _;
use serde_json::{Value, json};
use tempfile::TempDir;
use usher_host::conversation::Preferences;
use usher_tests::{
    scripted_model::{Answer, ScriptedModel, call, say},
    scripted_server::Script,
    stage::{SERVER, Setting, Stage},
    window::{Options, Window},
};

const HTML: &str = include_str!("../data/views/painter.html");
const CHILD: &str = env!("CARGO_BIN_EXE_usher-child");
const FIRST: &str = "view_1__paint_it";

struct Scene {
    window: Window,
    model: ScriptedModel,
    /// The calls whose Views are open.
    calls: [String; 2],
    _folder: TempDir,
}

impl Scene {
    async fn open(theme: &str, answers: Vec<Answer>) -> anyhow::Result<Self> {
        let folder = TempDir::new()?;
        let document = json!({"contents": [{"uri": "ui://painter/view", "mimeType": "text/html;profile=mcp-app", "text": HTML}]});
        let link = r#"{"_meta":{"ui":{"resourceUri":"ui://painter/view"}}}"#;
        let script = Script::new("2025-11-25")
            .tool("paint", link, r#"{"content":[{"type":"text","text":"painted"}]}"#)
            .answering("resources/read ui://painter/view", &document.to_string());
        let data = folder.path().join("data");
        let stage =
            Stage::open_in(&data, &Setting::with(vec![script.cast(SERVER, CHILD, folder.path())])).await;
        stage.ready(SERVER).await;
        let preferences = Preferences { tour_done: true, theme: theme.to_owned(), ..Preferences::default() };
        stage.host.save_preferences(preferences).await?;
        let model = ScriptedModel::start(answers).await;
        let conversation = stage.conversation(usher_engine::Mode::App, &model).await;
        let mut calls = Vec::new();
        for _ in 0..2 {
            calls.push(stage.host.call_tool(&conversation, SERVER, "paint", "{}").await?.record.id);
        }
        stage.close().await;
        let window = Window::open_with(Options { data_dir: Some(data), env: Vec::new() }).await?;
        window
            .element("[data-testid=server-row][data-state=ready]")
            .await
            .context("the server did not come up")?;
        window.resize(1280, 900).await?;
        let calls = calls.try_into().map_err(|_| anyhow::anyhow!("two calls"))?;
        let scene = Self { window, model, calls, _folder: folder };
        scene.window.click("[data-testid=conversation-row]").await?;
        for at in [0, 1] {
            let button = format!("[data-call='{}'] [data-testid=view-placeholder] button", scene.calls[at]);
            scene.window.click(&button).await?;
            scene.until_in_view(at, "the View is ready", "return window.ready === true").await?;
        }
        scene.offers("5 tools").await?;
        Ok(scene)
    }

    /// Waits until the window says how many tools are in reach.
    async fn offers(&self, count: &str) -> anyhow::Result<()> {
        let said = "return document.querySelector('[data-testid=tools-button]').textContent.trim()";
        self.window
            .until(&format!("{count} are in reach"), async || Ok(self.window.run(said).await? == count))
            .await
    }

    /// What the list of tools says of the first View.
    async fn listed(&self) -> anyhow::Result<String> {
        self.window.element("[data-testid=view-tools]").await?;
        let text =
            self.window.run("return document.querySelector('[data-testid=view-tools]').textContent").await?;
        Ok(text.as_str().unwrap_or_default().to_owned())
    }

    async fn close_list(&self) -> anyhow::Result<()> {
        self.window.click("[data-testid=tools-button]").await?;
        let gone = "return document.querySelector('[data-testid=view-tools]') === null";
        self.window.until("the list is closed", async || Ok(self.window.run(gone).await? == true)).await
    }

    fn frame(&self, at: usize) -> String {
        format!("[data-call='{}'] [data-testid=view-frame]", self.calls[at])
    }

    async fn in_view(&self, at: usize, script: &str) -> anyhow::Result<Value> {
        self.window.in_view(&self.frame(at), self.window.run(script)).await
    }

    async fn until_in_view(&self, at: usize, what: &str, script: &str) -> anyhow::Result<()> {
        let holds = self.window.until(what, async || Ok(self.window.run(script).await? == true));
        self.window.in_view(&self.frame(at), holds).await
    }

    async fn say(&self, text: &str) -> anyhow::Result<()> {
        self.window
            .until("the composer takes the message", async || {
                let composer = self.window.element("[data-testid=composer-input]").await?;
                Ok(composer.send_keys(text).await.is_ok())
            })
            .await?;
        self.window.click("[data-testid=composer-send]").await
    }

    /// Waits until the newest call of the View's tool has ended so, and gives what its card says.
    async fn card(&self, number: usize, state: &str) -> anyhow::Result<String> {
        let cards = "[...document.querySelectorAll('[data-testid=tool-card][data-tool=paint_it]')]";
        let is_so =
            format!("return {cards}.length === {number} && {cards}.at(-1).dataset.state === '{state}'");
        self.window
            .until(&format!("call {number} is {state}"), async || Ok(self.window.run(&is_so).await? == true))
            .await?;
        let text = self.window.run(&format!("return {cards}.at(-1).innerText")).await?;
        Ok(text.as_str().unwrap_or_default().to_owned())
    }
}

fn paint(color: &str) -> Answer {
    call([(FIRST, json!({"color": color}))])
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_views_own_tool_is_called_with_a_yes_and_its_answer_is_in_the_models_bytes() -> anyhow::Result<()> {
    for theme in ["light", "dark"] {
        let scene = Scene::open(theme, vec![paint("red"), say(["It is red now."])]).await?;
        let window = &scene.window;
        window.click("[data-testid=tools-button]").await?;
        let list = scene.listed().await?;
        assert!(list.contains("View of paint, call 1") && list.contains("paint_it"), "{list}");
        window.screenshot(&format!("view-tools-list-{theme}")).await?;
        scene.close_list().await?;

        scene.say("Make it red.").await?;
        window.element("[data-testid=approval-of-view]").await?;
        let question = window.element("[data-question]").await?.text().await?;
        for part in [
            "View of paint, call 1",
            "paint_it",
            "which the model asks for",
            "\"color\": \"red\"",
            "Hints of the View, not checked",
        ] {
            assert!(question.contains(part), "{part}: {question}");
        }
        let beyond = "return ['tool', 'server', 'never'].filter((it) => document.querySelector(`[data-testid=approval-${it}]`) !== null)";
        assert_eq!(window.run(beyond).await?, json!([]), "a yes stands for the conversation at most");
        window.screenshot(&format!("view-tools-question-{theme}")).await?;
        assert_eq!(scene.in_view(0, "return window.color").await?, "white", "not before the yes");
        window.click("[data-testid=approval-once]").await?;
        scene
            .until_in_view(
                0,
                "it is red",
                "return document.getElementById('said').textContent === 'It is red.'",
            )
            .await?;
        assert_eq!(scene.in_view(1, "return window.color").await?, "white", "the other View was not asked");
        scene.card(1, "done").await?;
        let read = scene.model.request(1).await.last_results();
        assert_eq!(
            read,
            [
                "The app that a tool shows to the user says, and the user allowed that you read it:\n\n\nit was white\n{\"color\":\"red\"}"
            ]
        );
        let offered = scene.model.request(0).await.offered();
        assert_eq!(offered, ["sample__paint", FIRST, "view_1__paint", "view_2__paint_it", "view_2__paint"]);
        window.text_in("[data-testid=transcript]", "It is red now.").await?;
        window.screenshot(&format!("view-tools-answered-{theme}")).await?;
        scene.model.assert_orderly();
        scene.window.close().await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_view_that_lies_about_its_tools_reaches_no_model() -> anyhow::Result<()> {
    let answers = vec![paint("red"), paint("green"), say(["Hm."]), paint("blue"), say(["Hm."])];
    let scene = Scene::open("light", answers).await?;
    let window = &scene.window;

    // Ten thousand, and one of them is called like the server's own.
    let many = "window.offer([...window.tools, ...Array.from({ length: 10000 }, (_, at) => ({ name: `t${at}`, inputSchema: { type: 'object' } }))])";
    scene.in_view(0, many).await?;
    scene.offers("53 tools").await?;
    window.click("[data-testid=tools-button]").await?;
    let list = scene.listed().await?;
    assert!(list.contains("Not offered: 50 tools of a View are taken, and it offers 10000."), "{list}");
    scene.close_list().await?;

    // It does not answer; another View answers for it; and it answers when nobody waits any more.
    scene.in_view(0, "window.manner = 'late'").await?;
    scene.say("Make it red.").await?;
    window.click("[data-testid=approval-conversation]").await?;
    scene.until_in_view(0, "the View was called", "return window.color === 'red'").await?;
    let forge = "for (let id = 0; id < 50; id += 1) say({ id, result: words('FORGED') }); return true";
    scene.in_view(1, forge).await?;
    window.click("[data-testid=composer-stop]").await?;
    scene
        .until_in_view(
            0,
            "it heard that nobody waits",
            "return window.heard.includes('notifications/cancelled')",
        )
        .await?;
    scene.card(1, "cancelled").await?;

    // A giant answer, and the conversation goes on.
    scene.in_view(0, "window.manner = 'giant'").await?;
    scene.say("Then green.").await?;
    let card = scene.card(2, "failed").await?;
    assert!(card.contains("The View's answer cannot be read: it has 20000"), "{card}");
    // Larger than a message of a View may be.
    scene.in_view(0, "window.manner = 'huge'").await?;
    scene.say("Then blue.").await?;
    let card = scene.card(3, "failed").await?;
    assert!(card.contains("The message is larger than 4000000 characters"), "{card}");
    let last = scene.model.request(4).await;
    let body = String::from_utf8_lossy(&last.body);
    assert!(
        !body.contains("FORGED") && !body.contains("it was") && body.len() < 100_000,
        "{} bytes",
        body.len()
    );
    assert!(last.offered().len() <= 51, "{:?}", last.offered());
    scene.model.assert_orderly();
    scene.window.close().await
}
