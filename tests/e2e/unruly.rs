//! Views that take the window with them, or try to: one that floods is stopped from its own header or by itself, and one that loops or
//! allocates without end is ended with its page, which comes back with the conversation as it was.
//!
//! All Views and the page share one web process on WebKitGTK, and the driver's session ends with it. So a page that is lost is looked at
//! from outside: its process and the database. What the window shows then is shown by the tests of the parts (`ViewFrame.test.ts`,
//! `kept.test.ts`, `headless::views_unruly`).

use std::{fs, future::Future, time::Duration};

use anyhow::Context as _;
use fantoccini::error::CmdError;
use serde_json::{Value, json};
use usher_engine::Mode;
use usher_tests::{
    scripted_model::{ScriptedModel, call, say},
    scripted_server::{LINK, Script},
    window::Window,
};

use super::scene::{FRAME, Prepared};

const HTML: &str = include_str!("../data/views/unruly.html");
const DRAFT: &str = "half a sentence";

/// How long the application may take until a page that hangs is back: ten seconds of silence, and a busy machine.
const BACK: Duration = Duration::from_secs(120);

/// A window in which a model has just shown two Views.
struct Scene {
    window: Window,
    prepared: Prepared,
    _model: ScriptedModel,
}

impl Scene {
    async fn open() -> anyhow::Result<Self> {
        let script = Script::new("2025-11-25")
            .tool("show", LINK, r#"{"content":[{"type":"text","text":"shown"}]}"#)
            .view(HTML, None);
        let answers = [
            call([("show", json!({})), ("show", json!({}))]),
            say(["Both are shown."]),
            say(["Still here."]),
        ];
        let model = ScriptedModel::start(answers).await;
        let prepared = Prepared::scripted(&script, "system", async |stage| {
            stage.conversation(Mode::App, &model).await;
            Ok(())
        })
        .await?;
        let scene = Self { window: prepared.window().await?, prepared, _model: model };
        scene.say("Show both.").await?;
        scene.frames(2).await?;
        scene.started().await?;
        Ok(scene)
    }

    async fn say(&self, text: &str) -> anyhow::Result<()> {
        let composer = self.window.element("[data-testid=composer-input]").await?;
        composer.send_keys(text).await?;
        Ok(composer.send_keys("\u{e007}").await?)
    }

    async fn frames(&self, count: usize) -> anyhow::Result<()> {
        let found = "return document.querySelectorAll('[data-testid=view-frame]').length";
        let what = format!("there are {count} Views");
        self.window.until(&what, async || Ok(self.window.run(found).await? == json!(count))).await
    }

    /// Waits until the first View has its result.
    async fn started(&self) -> anyhow::Result<()> {
        let started = "return typeof started !== 'undefined' && started";
        let wait =
            self.window.until("the View has started", async || Ok(self.window.run(started).await? == true));
        self.window.in_view(FRAME, wait).await
    }

    async fn in_view(&self, script: &str) -> anyhow::Result<Value> {
        self.window.in_view(FRAME, self.window.run(&format!("return {script}"))).await
    }

    /// Tells the first View to begin with something.
    async fn begin(&self, what: &str) -> anyhow::Result<()> {
        anyhow::ensure!(self.in_view(what).await? == "begun", "{what} did not begin");
        Ok(())
    }

    /// Writes into the composer and sends nothing.
    async fn draft(&self) -> anyhow::Result<()> {
        let composer = self.window.element("[data-testid=composer-input]").await?;
        composer.send_keys(DRAFT).await?;
        // It is kept a moment after the last letter.
        let is_kept = "return (sessionStorage.getItem('usher.page') ?? '').includes(arguments[0])";
        self.window
            .until("the draft is kept", async || {
                Ok(self.window.client().execute(is_kept, vec![json!(DRAFT)]).await? == true)
            })
            .await
    }

    /// The process that the page and all Views share, seen from outside.
    fn web_process(&self) -> Option<u32> {
        let marker = format!("USHER_DATA_DIR={}", self.prepared.folder.path().join("data").display());
        let mut ids =
            fs::read_dir("/proc").ok()?.flatten().filter_map(|it| it.file_name().to_str()?.parse().ok());
        ids.find(|id: &u32| {
            let read = |name: &str| fs::read(format!("/proc/{id}/{name}")).unwrap_or_default();
            read("comm").starts_with(b"WebKitWebProces")
                && read("environ").split(|it| *it == 0).any(|it| it == marker.as_bytes())
        })
    }

    /// The page is lost with both Views: its process is another one, and stays. The driver's session goes with the process, so from
    /// here on everything is seen from outside, or in the window that opens on the same data after this one.
    async fn is_lost(&self, begin: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
        self.draft().await?;
        let (items, process) =
            (self.prepared.rows("item")?, self.web_process().context("there is no web process")?);
        begin.await?;
        let next = within(async {
            loop {
                match self.web_process().filter(|it| *it != process) {
                    Some(next) => return next,
                    None => tokio::time::sleep(Duration::from_millis(200)).await,
                }
            }
        })
        .await
        .context("the web process was not ended, or none came after it")?;
        // No View starts by itself in the page that comes: it would do the same again.
        tokio::time::sleep(Duration::from_secs(15)).await;
        anyhow::ensure!(self.web_process() == Some(next), "the page that came was lost again");
        anyhow::ensure!(self.prepared.rows("item")? == items, "an entry was lost or came twice");
        Ok(())
    }

    /// The conversation goes on in another window.
    async fn goes_on(self) -> anyhow::Result<()> {
        let Self { window, prepared, _model } = self;
        drop(window);
        let scene = Self { window: prepared.window().await?, prepared, _model };
        scene.window.text_in("[data-testid=transcript]", "Both are shown.").await?;
        scene.window.text_in("[data-testid=view-placeholder]", "earlier session").await?;
        scene.say("Are you there?").await?;
        scene.window.text_in("[data-testid=transcript]", "Still here.").await?;
        scene.window.click("[data-testid=view-placeholder] button").await?;
        scene.frames(1).await?;
        scene.started().await?;
        scene.window.close().await
    }
}

async fn within<T>(work: impl Future<Output = T>) -> anyhow::Result<T> {
    Ok(tokio::time::timeout(BACK, work).await?)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_view_that_loops_is_ended_with_its_page_and_the_conversation_comes_back() -> anyhow::Result<()> {
    let scene = Scene::open().await?;
    scene.is_lost(scene.begin("loop()")).await?;
    scene.goes_on().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_view_that_loops_and_answers_now_and_then_is_ended_too() -> anyhow::Result<()> {
    let scene = Scene::open().await?;
    scene.is_lost(scene.begin("pulse()")).await?;
    scene.goes_on().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_view_that_allocates_without_end_is_ended_with_its_page_and_the_conversation_comes_back()
-> anyhow::Result<()> {
    let scene = Scene::open().await?;
    scene.is_lost(scene.begin("allocate()")).await?;
    scene.goes_on().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_page_whose_process_dies_comes_back() -> anyhow::Result<()> {
    let scene = Scene::open().await?;
    let kill = async {
        let process = i32::try_from(scene.web_process().context("there is no web process")?)?;
        let process = nix::unistd::Pid::from_raw(process);
        Ok(nix::sys::signal::kill(process, nix::sys::signal::Signal::SIGKILL)?)
    };
    scene.is_lost(kill).await?;
    scene.goes_on().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_view_that_is_only_busy_or_only_talks_is_left_alone_and_stops_by_its_button() -> anyhow::Result<()>
{
    let scene = Scene::open().await?;
    let process = scene.web_process();
    // Five seconds of work in one piece is much, and not too much.
    let busy = "soon(() => { const end = Date.now() + 5000; while (Date.now() < end); })";
    scene.begin(busy).await?;
    scene.begin("chatter()").await?;
    tokio::time::sleep(Duration::from_secs(15)).await;
    assert_eq!(scene.web_process(), process, "the page was ended");
    scene.window.click("section.view button[aria-label='Stop the View']").await?;
    scene.window.element("[data-testid=view-placeholder][data-phase=stopped]").await?;
    scene.frames(1).await?;
    scene.window.close().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_view_that_floods_leaves_the_window_usable_and_is_stopped_with_words() -> anyhow::Result<()> {
    let scene = Scene::open().await?;
    let process = scene.web_process();
    scene.begin("flood()").await?;
    scene.window.text_in("[data-testid=view-placeholder]", "far more messages than can be heard").await?;
    scene.frames(1).await?;
    // The window was usable all the while, and the other View still is.
    scene.say("Are you there?").await?;
    scene.window.text_in("[data-testid=transcript]", "Still here.").await?;
    scene.started().await?;
    assert_eq!(scene.web_process(), process, "the page was ended");
    scene.window.close().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_view_that_floods_the_window_past_its_page_is_stopped_too() -> anyhow::Result<()> {
    let scene = Scene::open().await?;
    let process = scene.web_process();
    for flood in ["floodTop()", "floodDeep()", "floodOpaque()", "floodGone()"] {
        scene.begin(flood).await?;
        scene
            .window
            .text_in("[data-testid=view-placeholder]", "far more messages than can be heard")
            .await
            .context(flood)?;
        // It alone was.
        scene.frames(1).await?;
        scene.window.click("[data-testid=view-placeholder] button").await?;
        scene.frames(2).await?;
        scene.started().await?;
    }
    assert_eq!(scene.web_process(), process, "the page was ended");
    scene.window.close().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_view_that_takes_the_keyboard_while_the_user_writes_gets_none_of_it() -> anyhow::Result<()> {
    let scene = Scene::open().await?;
    let composer = scene.window.element("[data-testid=composer-input]").await?;
    composer.click().await?;
    scene.begin("steal(3, 100)").await?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let is_back = "return document.activeElement === document.querySelector('[data-testid=composer-input]')";
    scene
        .window
        .until("the composer has the keyboard", async || Ok(scene.window.run(is_back).await? == true))
        .await?;
    for letter in "secret words".chars() {
        type_letter(&scene.window, letter).await?;
        tokio::time::sleep(Duration::from_millis(80)).await;
    }
    let written =
        scene.window.run("return document.querySelector('[data-testid=composer-input]').value").await?;
    assert_eq!(written, "secret words");
    assert_eq!(scene.in_view("document.getElementById('trap').value").await?, "");
    scene.window.close().await
}

/// A key as the user presses it: it goes wherever the focus is.
async fn type_letter(window: &Window, letter: char) -> Result<(), CmdError> {
    use fantoccini::actions::{InputSource as _, KeyAction, KeyActions};
    let keys = KeyActions::new("keys".to_owned())
        .then(KeyAction::Down { value: letter })
        .then(KeyAction::Up { value: letter });
    window.client().perform_actions(keys).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn the_windows_page_never_becomes_a_view() -> anyhow::Result<()> {
    let scene = Scene::open().await?;
    let address = "return document.querySelector('[data-testid=view-frame]').src";
    let address = scene.window.run(address).await?.as_str().unwrap_or_default().to_owned();
    anyhow::ensure!(address.starts_with("mcpview://"), "{address}");
    // The page leads itself where no View can lead it.
    let leave = "window.isOld = true; setTimeout((to) => location.assign(to), 200, arguments[0])";
    let is_back = "return window.isOld === undefined && document.querySelector('[data-testid=composer-input]') !== null";
    scene.window.client().execute(leave, vec![json!(address)]).await?;
    scene.window.until("the page is back", async || Ok(scene.window.run(is_back).await? == true)).await?;
    // The Views of the page before are gone, and with them their addresses: nobody goes there.
    scene.window.client().execute(leave, vec![json!(address)]).await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let is_still = "return window.isOld === true && location.href.startsWith('tauri://localhost')";
    assert_eq!(scene.window.run(is_still).await?, true);
    scene.window.close().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn two_views_that_run_at_once_share_nothing_and_cannot_speak_for_each_other() -> anyhow::Result<()> {
    let scene = Scene::open().await?;
    let ids =
        "return [...document.querySelectorAll('[data-testid=view-frame]')].map((it) => it.dataset.view)";
    let ids: Vec<String> = serde_json::from_value(scene.window.run(ids).await?)?;
    let [one, two] = &ids[..] else { anyhow::bail!("{ids:?}") };
    let frame = |id: &str| format!("iframe[data-view='{id}']");
    let leave = "localStorage.setItem('left', 'x'); indexedDB.open('left'); document.cookie = 'left=x';
                 window.heard = []; for (const name of ['a', 'b']) new BroadcastChannel(name).onmessage = (it) => heard.push(it.data);
                 addEventListener('message', (it) => { if (it.source !== parent) heard.push(it.data); }); return 'left'";
    scene.window.in_view(&frame(one), scene.window.run(leave)).await?;
    // It says things to the page and to the other View in the other's name, from itself and from a frame of its own.
    let forge = "for (const name of ['a', 'b']) new BroadcastChannel(name).postMessage('from the other');
                 const child = document.body.appendChild(document.createElement('iframe'));
                 const say = { jsonrpc: '2.0', id: 'forged', method: 'ui/notifications/request-teardown', params: {} };
                 for (const from of [window, child.contentWindow]) {
                   for (let index = 0; index < parent.length; index++) {
                     if (parent[index] !== window) from.eval('(to, what) => to.postMessage(what, \"*\")')(parent[index], say);
                   }
                 }
                 child.contentWindow.eval('(to, what) => to.postMessage(what, \"*\")')(parent, say);
                 dispatchEvent(new MessageEvent('message', { data: say, source: parent, origin: 'tauri://localhost' }));
                 return [localStorage.length, document.cookie, (await indexedDB.databases()).length]";
    let forge = forge.replace("return [", "return (async () => [").replace(".length]", ".length])()");
    let found = scene.window.in_view(&frame(two), scene.window.run(&forge)).await?;
    assert_eq!(found, json!([0, "", 0]));
    // One that is being stopped keeps its frame for a second.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    // The one that was spoken to heard only what any page may say to any, and none was stopped by it.
    let said = "return heard.filter((it) => typeof it === 'string')";
    let heard = scene.window.in_view(&frame(one), scene.window.run(said)).await?;
    assert_eq!(heard, json!([]), "a channel reached over");
    scene.frames(2).await?;
    scene.window.close().await
}
