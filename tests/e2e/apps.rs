//! The official App servers from npm in the built window, without a network: every View that can start says `initialized`, shows its
//! words, has its requests answered, and is put away; one that cannot is said not to have started.
//!
//! What runs is data: `tests/apps/package.json` pins the servers, and `tests/apps/servers.json` says which tool is called with what and
//! what its View must do. What was seen is kept in `docs/app-compatibility.md`. Deliberately absent: an opinion on how a View looks.

mod app_table;

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use fantoccini::Locator;
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use usher_engine::Mode;
use usher_host::conversation::Preferences;
use usher_tests::{
    peers,
    scripted_model::{ScriptedModel, call, say},
    stage::{Cast, Setting, Stage, add_servers},
    tree,
    window::{Options, Window, colours},
};

use self::app_table::Row;

const FRAME: &str = "[data-testid=view-frame]";

/// How long every server of a generation has to be ready: they all start at once.
const START: Duration = Duration::from_secs(180);

/// How long a View has for one thing that it must do. It is said to be late after eight seconds.
const PATIENCE: Duration = Duration::from_secs(20);

/// A View that draws has at least so many colours: more than its border, a backdrop and one spinner.
const COLOURS: usize = 12;

/// How it is said that a View draws.
const DRAWING: &str = "a drawing";

/// The conversation with one server whose tool has a View.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct App {
    /// Its name; with the version it is the folder under which it is installed.
    server: String,
    versions: Vec<String>,
    /// More arguments of its command. `{folder}` is a folder of this run with a few files.
    #[serde(default)]
    args: Vec<String>,
    tool: String,
    #[serde(default)]
    arguments: serde_json::Map<String, Value>,
    /// Buttons of the View that are pressed, by what stands on them.
    #[serde(default)]
    press: Vec<String>,
    /// What the View asks of the host and is given: methods, and the names of tools that it calls.
    #[serde(default)]
    asks: Vec<String>,
    /// What the View asks and is answered only when something happens, which here does not.
    #[serde(default)]
    waits: Vec<String>,
    /// What the View asks and is refused, or its server fails to do without a network.
    #[serde(default)]
    fails: Vec<String>,
    /// What stands in the View.
    words: Vec<String>,
    /// It draws instead, or as well.
    #[serde(default)]
    draws: bool,
    /// What it loads before it says anything, and cannot without a network.
    needs: Option<String>,
}

/// What crossed between a View and the page so far.
#[derive(Debug, Default, Deserialize)]
struct Crossed {
    /// The requests of the View.
    asks: Vec<Ask>,
    /// When it said `initialized`, in milliseconds since it was opened.
    initialized: Option<u64>,
    /// Its answers to the host: `result`, or the code of an error.
    answers: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Ask {
    /// The method, or the name of the tool.
    name: String,
    /// Empty when it went well, else what it was told. None while it waits.
    answer: Option<String>,
}

impl Crossed {
    fn well(&self, name: &str) -> bool {
        self.asks.iter().any(|it| it.name == name && it.answer.as_deref() == Some(""))
    }

    fn asked(&self, name: &str) -> bool {
        self.asks.iter().any(|it| it.name == name)
    }

    fn badly(&self, name: &str) -> bool {
        self.asks.iter().any(|it| it.name == name && it.answer.as_deref().is_some_and(|it| !it.is_empty()))
    }
}

/// Writes down every message of Views, and keeps the last state of the log that the window shows of them.
const RECORD: &str = r"
    const crossed = (window.crossed = { said: [], log: [] });
    const data = Object.getOwnPropertyDescriptor(MessageEvent.prototype, 'data');
    const heard = new WeakSet();
    Object.defineProperty(MessageEvent.prototype, 'data', { ...data, get() {
      const value = data.get.call(this);
      if (!heard.has(this) && this.source !== window && value?.jsonrpc === '2.0') {
        heard.add(this);
        crossed.said.push(value);
      }
      return value;
    } });
    const look = () => {
      document.querySelector('section.view button.log[aria-expanded=false]')?.click();
      const rows = [...document.querySelectorAll('[data-testid=view-log] li[data-method]')];
      if (rows.length === 0) return;
      crossed.log = rows.map((it) => ({
        direction: it.dataset.direction, method: it.dataset.method,
        at: Number(it.querySelector('.time').textContent), note: it.querySelector('.note')?.textContent ?? '',
      }));
    };
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true });";

const CROSSED: &str = r"
    const { said, log } = window.crossed;
    const asked = said.filter((it) => 'method' in it && 'id' in it && it.method !== 'ui/initialize');
    const row = (direction, method) => log.find((it) => it.direction === direction && it.method === method);
    const answer = (id) => log.find((it) => it.direction === 'out' && it.method.startsWith('answer ' + id + ' to '));
    return JSON.stringify({
      asks: asked.map((it) => ({
        name: it.method === 'tools/call' ? it.params.name : it.method,
        answer: answer(it.id)?.note ?? null,
      })),
      initialized: row('in', 'ui/notifications/initialized')?.at ?? null,
      answers: said.filter((it) => !('method' in it)).map((it) => ('error' in it ? String(it.error.code) : 'result')),
    });";

/// A window with every server of a generation, and a conversation in which the model calls what the user names.
struct Scene {
    window: Window,
    _model: ScriptedModel,
    _folder: TempDir,
}

impl Scene {
    async fn open(apps: &[(App, String)]) -> anyhow::Result<Self> {
        let folder = TempDir::new()?;
        let root = folder.path().canonicalize()?;
        std::fs::write(root.join("page.pdf"), PAGE)?;
        let calls: Vec<(String, String, Value)> =
            apps.iter().map(|(app, _)| (app.server.clone(), app.tool.clone(), app.given(&root))).collect();
        let model = ScriptedModel::choosing(move |request| {
            let last = request.json["messages"].as_array()?.last()?;
            if last["role"] != "user" {
                return Some(say(["That is it."]));
            }
            let text = usher_tests::scripted_model::text_of(&last["content"]);
            let wanted = text.lines().last()?.trim().to_owned();
            let (server, tool, arguments) = calls.iter().find(|it| it.0 == wanted)?;
            // Several servers have a tool of one name.
            Some(call([(format!("{server}__{tool}").as_str(), arguments.clone())]))
        })
        .await;
        let data = root.join("data");
        let stage = Stage::open_in(&data, &Setting::with(Vec::new())).await;
        stage.host.save_preferences(Preferences { tour_done: true, ..Preferences::default() }).await?;
        stage.conversation(Mode::Chat, &model).await;
        stage.close().await;
        add_servers(
            &data,
            &Setting::with(apps.iter().map(|(app, version)| app.cast(version, &root)).collect()),
        )
        .await;
        let window = Window::open_with(Options { data_dir: Some(data), env: Vec::new() }).await?;
        let scene = Self { window, _model: model, _folder: folder };
        scene.ready(apps.len()).await?;
        scene.window.click("[data-testid=conversation-row]").await?;
        scene.window.run(RECORD).await?;
        Ok(scene)
    }

    async fn ready(&self, servers: usize) -> anyhow::Result<()> {
        let count = "return document.querySelectorAll('[data-testid=server-row][data-state=ready]').length";
        let all = self.wait(START, async || Ok(self.window.run(count).await? == json!(servers))).await?;
        let states = "return [...document.querySelectorAll('[data-testid=server-row]')].map((it) => it.textContent + ' ' + it.dataset.state)";
        anyhow::ensure!(all, "not every server came up: {}", self.window.run(states).await?);
        Ok(())
    }

    /// Waits for a condition, and says whether it came.
    async fn wait(
        &self,
        limit: Duration,
        mut condition: impl AsyncFnMut() -> anyhow::Result<bool>,
    ) -> anyhow::Result<bool> {
        let start = Instant::now();
        loop {
            if condition().await? {
                return Ok(true);
            }
            if start.elapsed() > limit {
                return Ok(false);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Looks at something. The driver now and then loses its connection to the web view's own driver, so it is asked again.
    async fn look<T>(&self, look: impl AsyncFn() -> anyhow::Result<T>) -> anyhow::Result<T> {
        for _ in 0..2 {
            if let Ok(seen) = look().await {
                return Ok(seen);
            }
            // It may have lost it in the middle of a frame.
            self.window.client().enter_parent_frame().await.ok();
        }
        look().await
    }

    async fn crossed(&self) -> anyhow::Result<Crossed> {
        let text = self.look(async || self.window.run(CROSSED).await).await?;
        Ok(serde_json::from_str(text.as_str().context("what crossed")?)?)
    }

    /// Has the model call the tool of an App, and waits until its View is there.
    async fn call(&self, app: &App) -> anyhow::Result<()> {
        let window = &self.window;
        window.run("Object.assign(window.crossed, { said: [], log: [] })").await?;
        let typed = async || {
            let composer = window.client().find(Locator::Css("[data-testid=composer-input]")).await?;
            composer.clear().await?;
            Ok(composer.send_keys(&app.server).await?)
        };
        self.look(typed).await?;
        self.look(async || {
            window
                .client()
                .find(Locator::Css("[data-testid=composer-send]"))
                .await?
                .click()
                .await
                .map_err(Into::into)
        })
        .await?;
        window.element(FRAME).await.with_context(|| format!("the View of {} is not opened", app.server))?;
        Ok(())
    }

    /// What stands in the View.
    async fn text(&self) -> anyhow::Result<String> {
        let text = "return document.body?.innerText ?? ''";
        let text = self.look(async || self.window.in_view(FRAME, self.window.run(text)).await).await?;
        Ok(text.as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// Presses a button of the View. Gives whether it has one.
    async fn press(&self, label: &str) -> anyhow::Result<bool> {
        let press = "const button = [...document.querySelectorAll('button')].find((it) => it.innerText.trim() === arguments[0]); \
                     button?.click(); return button !== undefined";
        let press = async { Ok(self.window.client().execute(press, vec![json!(label)]).await? == true) };
        self.window.in_view(FRAME, press).await
    }

    /// Agrees to what a View says, if it asks, and to nothing beyond its own page: there is no network.
    async fn agree(&self) -> anyhow::Result<()> {
        let agree = "for (const id of ['view-access-refuse', 'view-consent-view']) document.querySelector(`[data-testid=${id}]`)?.click()";
        self.look(async || self.window.run(agree).await.map(drop)).await
    }

    /// Stops the View and waits until it is gone.
    async fn stop(&self) -> anyhow::Result<()> {
        let stop = "document.querySelector(\"section.view button[aria-label='Stop the View']:enabled\")?.click(); \
                    return document.querySelector('[data-testid=view-frame]') === null";
        let idle = "return document.querySelector('[data-testid=composer-stop]') === null";
        for (script, what) in [(stop, "the View is gone"), (idle, "the turn has ended")] {
            let came = self.wait(PATIENCE, async || {
                self.look(async || Ok(self.window.run(script).await? == true)).await
            });
            anyhow::ensure!(came.await?, "waited in vain until {what}");
        }
        Ok(())
    }

    /// Plays one App from its call to its end. What was wrong is added to the failures.
    async fn play(&self, app: &App, wrong: &mut Vec<String>) -> anyhow::Result<Row> {
        self.call(app).await?;
        let started = self
            .wait(PATIENCE, async || {
                // One that is late may still start, unless that is not to be expected.
                let gave_up = app.needs.is_some() && self.late().await?.is_some();
                Ok(gave_up || self.crossed().await?.initialized.is_some())
            })
            .await?;
        if let Some(said) = self.late().await? {
            if !said.contains("did not start") {
                wrong.push(format!("the window says of the View: {said}"));
            }
            self.picture(app).await?;
            self.stop().await?;
            return Ok(Row::default());
        }
        if !started {
            wrong.push("it neither starts nor is said to be late".to_owned());
        }
        let missing = self.do_everything(app).await?;
        let crossed = self.crossed().await?;
        if !missing.is_empty() {
            wrong.push(format!(
                "missing: {}; it shows: {}; {crossed:?}",
                missing.join(", "),
                self.text().await?
            ));
        }
        self.picture(app).await?;
        let before = crossed.answers.len();
        self.stop().await?;
        let answer = self.crossed().await?.answers.get(before).cloned();
        if answer.is_none() {
            wrong.push("it does not answer when it is put away".to_owned());
        }
        let expected: Vec<&String> = app.asks.iter().chain(&app.waits).chain(&app.fails).collect();
        let mut unexpected: Vec<&Ask> =
            crossed.asks.iter().filter(|it| !expected.contains(&&it.name)).collect();
        unexpected.dedup_by(|a, b| a.name == b.name);
        if !unexpected.is_empty() {
            wrong.push(format!("it asks what nobody expects: {unexpected:?}"));
        }
        Ok(Row { started: true, missing, answer, initialized: crossed.initialized })
    }

    /// What the window says of a View that does not start.
    async fn late(&self) -> anyhow::Result<Option<String>> {
        let late = "return document.querySelector('[data-testid=view-late]')?.textContent ?? null";
        Ok(self.look(async || self.window.run(late).await).await?.as_str().map(str::to_owned))
    }

    /// Presses what is to be pressed, and waits until the View shows and asks everything. Gives what it does not.
    async fn do_everything(&self, app: &App) -> anyhow::Result<Vec<String>> {
        let mut missing = Vec::new();
        for label in &app.press {
            if !self.wait(PATIENCE, async || self.press(label).await).await? {
                missing.push(format!("the button \"{label}\""));
            }
        }
        let mut open = Vec::new();
        self.wait(PATIENCE, async || {
            self.agree().await?;
            let (text, crossed) = (self.text().await?, self.crossed().await?);
            open.clear();
            open.extend(app.words.iter().filter(|it| !text.contains(*it)).map(|it| format!("\"{it}\"")));
            open.extend(app.asks.iter().filter(|it| !crossed.well(it)).cloned());
            open.extend(
                app.waits.iter().filter(|it| !crossed.asked(it)).map(|it| format!("{it}, which waits")),
            );
            open.extend(app.fails.iter().filter(|it| !crossed.badly(it)).map(|it| format!("{it}, refused")));
            Ok(open.is_empty())
        })
        .await?;
        missing.extend(open);
        if app.draws && !self.wait(PATIENCE, async || self.is_drawn().await).await? {
            missing.push(DRAWING.to_owned());
        }
        Ok(missing)
    }

    /// Whether the View is more than a plain area.
    async fn is_drawn(&self) -> anyhow::Result<bool> {
        let picture = self.look(async || self.window.picture_of(FRAME).await).await?;
        Ok(colours(&picture, COLOURS)? == COLOURS)
    }

    /// Takes a picture, where pictures are wanted.
    async fn picture(&self, app: &App) -> anyhow::Result<()> {
        if std::env::var_os("USHER_SCREENSHOTS").is_some() {
            self.window.screenshot(&format!("app-{}", app.server)).await?;
        }
        Ok(())
    }
}

impl App {
    /// How it is started: in a network namespace of its own, with nothing in it.
    fn cast(&self, version: &str, folder: &Path) -> Cast {
        let mut args = ["--net", "--map-root-user", "--", "node"].map(str::to_owned).to_vec();
        args.push(peers::app_server(&format!("{}-{version}", self.server)));
        args.push("--stdio".to_owned());
        args.extend(self.args.iter().map(|it| it.replace("{folder}", &folder.to_string_lossy())));
        Cast { id: self.server.clone(), command: "unshare".to_owned(), args }
    }

    fn given(&self, folder: &Path) -> Value {
        let text =
            Value::Object(self.arguments.clone()).to_string().replace("{folder}", &folder.to_string_lossy());
        serde_json::from_str(&text).unwrap()
    }
}

/// A document with one empty page.
const PAGE: &str = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n";

/// Plays the Apps of the versions that begin so, and compares what was seen with the document.
async fn play_all(generation: &str) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(tree::root().join("tests/apps/servers.json"))?;
    let all: Vec<App> = serde_json::from_str(&text)?;
    let only = std::env::var("USHER_APPS").unwrap_or_default();
    let apps: Vec<(App, String)> = all
        .into_iter()
        .filter(|it| only.is_empty() || only.split(',').any(|name| it.server == name))
        .filter_map(|it| {
            it.versions
                .clone()
                .into_iter()
                .find(|v| v.starts_with(&format!("{generation}.")))
                .map(|v| (it, v))
        })
        .collect();
    let scene = Scene::open(&apps).await?;
    let mut failures = Vec::new();
    let mut rows = Vec::new();
    for (app, version) in &apps {
        let mut wrong = Vec::new();
        match scene.play(app, &mut wrong).await {
            Ok(row) => {
                if row.started == app.needs.is_some() {
                    wrong.push(
                        if row.started { "it starts, and is said not to" } else { "it did not start" }
                            .to_owned(),
                    );
                }
                rows.push(row.line(app, version));
            }
            Err(error) => {
                wrong.push(format!("{error:#}"));
                // The next one shall not meet it.
                scene.stop().await.ok();
            }
        }
        failures.extend(wrong.into_iter().map(|it| format!("{} {version}: {it}", app.server)));
    }
    scene.window.close().await?;
    if only.is_empty() && rows.len() == apps.len() {
        failures.extend(app_table::compare(generation, &rows)?);
    }
    anyhow::ensure!(failures.is_empty(), "\n{}\n\n{}", failures.join("\n"), rows.join("\n"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window and servers from npm: cargo xtask test --only apps"]
async fn views_of_this_generation() -> anyhow::Result<()> {
    play_all("2.0").await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window and servers from npm: cargo xtask test --only apps"]
async fn views_of_the_generation_before() -> anyhow::Result<()> {
    play_all("1.7").await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window and servers from npm: cargo xtask test --only apps"]
async fn views_of_the_first_stable_sdk() -> anyhow::Result<()> {
    play_all("1.0").await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window and servers from npm: cargo xtask test --only apps"]
async fn views_of_an_sdk_before_the_first_stable_one() -> anyhow::Result<()> {
    play_all("0.4").await
}
