//! The test build as a host under test: a View of our own looks at its host from inside (`tests/data/views/conformance.html`), and the
//! interface of the page changes what is around it, answers what it asks and says what the user and the model have of it.
//!
//! Each check has a name, those of the public catalogue where it has one; `pass` or `FAIL` is printed for each.

use std::{fs, io::Write as _, path::PathBuf, time::Duration};

use serde_json::{Value, json};
use tempfile::TempDir;
use usher_host::conversation::{NewModel, Preferences};
use usher_tests::{
    host_interface::{HostInterface, Report},
    scripted_model::{ScriptedModel, call, say},
    scripted_server::Script,
    stage::{SERVER, Setting, Stage},
    window::{Options, Window},
};

use super::consent::opener;

const HTML: &str = include_str!("../data/views/conformance.html");
const COUNTER: &str = include_str!("../data/views/display.html");
const PAINTER: &str = include_str!("../data/views/painter.html");
const CHILD: &str = env!("CARGO_BIN_EXE_usher-child");
const FRAME: &str = "[data-testid=view-frame]";
const RESULT: &str = r#"{"content":[{"type":"text","text":"shown"}],"structuredContent":{"rows":[1,2]},"_meta":{"example/kept":"yes"}}"#;
const ADDRESS: &str = "https://modelcontextprotocol.io/docs";

/// For two seconds after a first no, a View is refused without a question.
const QUIET: Duration = Duration::from_millis(2100);

/// What is looked at in the View alone.
const INSIDE: [&str; 19] = [
    "lifecycle/initialize-capabilities",
    "lifecycle/nothing-before-initialized",
    "lifecycle/input-before-result",
    "lifecycle/ping",
    "lifecycle/unknown-method",
    "context/initialize-hostcontext",
    "context/standard-styles",
    "context/container-dimensions",
    "tools/proxy-call",
    "tools/list",
    "visibility/app-tool-call-guard",
    "resources/read",
    "resources/read-unknown",
    "resources/list",
    "security/sandbox-distinct-origin",
    "security/sandbox-permissions",
    "security/csp-no-loosening",
    "display/decline-undeclared",
    "dimensions/listen-size-changed",
];

struct Scene {
    window: Window,
    folder: TempDir,
    opened: PathBuf,
    _model: ScriptedModel,
    _opener: TempDir,
}

impl Scene {
    async fn open(allowed: bool) -> anyhow::Result<Self> {
        Self::open_with(allowed, ScriptedModel::start([say(["One."]), say(["Two."]), say(["Three."])]).await)
            .await
    }

    async fn open_with(allowed: bool, model: ScriptedModel) -> anyhow::Result<Self> {
        let folder = TempDir::new()?;
        let data = folder.path().join("data");
        let setting = Setting { allowed, ..Setting::with(vec![server().cast(SERVER, CHILD, folder.path())]) };
        let stage = Stage::open_in(&data, &setting).await;
        stage.ready(SERVER).await;
        stage
            .host
            .save_preferences(Preferences {
                tour_done: true,
                theme: "light".to_owned(),
                ..Preferences::default()
            })
            .await?;
        let scripted = NewModel {
            provider: "scripted".to_owned(),
            base_url: model.base_url(),
            name: "scripted-1".to_owned(),
            context_tokens: Some(131_072),
            ..NewModel::default()
        };
        stage.host.save_model(scripted).await?;
        stage.close().await;
        let (opener, opened, env) = opener()?;
        let window = Window::open_test_build(Options { data_dir: Some(data), env }).await?;
        Ok(Self { window, folder, opened, _model: model, _opener: opener })
    }

    /// Waits until the View has had the host's first answer and has said that it is ready.
    async fn ready(&self) -> anyhow::Result<()> {
        let ready = "return typeof ready !== 'undefined' && ready";
        let wait = self.window.until("the View is ready", async || Ok(self.window.run(ready).await? == true));
        self.window.in_view(FRAME, wait).await
    }

    /// Makes a check of the View and keeps what it found.
    async fn look(&self, report: &mut Report, name: &str, given: Value) -> anyhow::Result<()> {
        let found = self.found(name, given).await?;
        report.keep(name, found);
        Ok(())
    }

    async fn found(&self, name: &str, given: Value) -> anyhow::Result<Result<(), String>> {
        let script = "const [name, given, done] = arguments; look(name, ...given).then(done);";
        let looked =
            async { Ok(self.window.client().execute_async(script, vec![json!(name), given]).await?) };
        let found = self.window.in_view(FRAME, looked).await?;
        Ok(found.as_str().map_or(Ok(()), |why| Err(why.to_owned())))
    }

    /// Lets the View ask what the user has to answer.
    async fn begin(&self, name: &str, method: &str, params: Value) -> anyhow::Result<()> {
        let begun = async {
            let given = vec![json!(name), json!(method), params];
            Ok(self.window.client().execute("begin(...arguments)", given).await?)
        };
        self.window.in_view(FRAME, begun).await.map(drop)
    }

    /// How many rows a query counts in the application's data.
    fn count(&self, query: &str) -> anyhow::Result<i64> {
        let database = rusqlite::Connection::open(self.folder.path().join("data/usher.db"))?;
        database.busy_timeout(Duration::from_secs(5))?;
        Ok(database.query_row(query, [], |row| row.get(0))?)
    }
}

/// A server with a tool for each who may call, and one that does not end.
fn server() -> Script {
    let link = r#"{"_meta":{"ui":{"resourceUri":"ui://conformance/view"}}}"#;
    let page = |uri: &str, html: &str| {
        json!({"contents": [{"uri": uri, "mimeType": "text/html;profile=mcp-app", "text": html}]}).to_string()
    };
    let data = json!({"contents": [{"uri": "ui://conformance/data", "mimeType": "text/plain", "text": "data of the server"}]});
    let listed = json!({"resources": [{"uri": "ui://conformance/data", "name": "data"}]});
    let text = |text: &str| json!({"content": [{"type": "text", "text": text}]}).to_string();
    let mut script = Script::new("2025-11-25")
        .tool("conformance", link, RESULT)
        .tool("slow", link, RESULT)
        .tool("count", r#"{"_meta":{"ui":{"resourceUri":"ui://counter/view"}}}"#, &text("counted"))
        .tool("save", r#"{"_meta":{"ui":{"visibility":["app"]}}}"#, &text("saved"))
        .tool("paint", r#"{"_meta":{"ui":{"resourceUri":"ui://painter/view"}}}"#, &text("painted"))
        .tool("for_the_view", r#"{"_meta":{"ui":{"visibility":["app"]}}}"#, &text("for the View"))
        .tool("for_the_model", r#"{"_meta":{"ui":{"visibility":["model"]}}}"#, &text("for the model"))
        .tool("put_away", r#"{"_meta":{"ui":{"visibility":["app"]}}}"#, &text("put away"))
        .answering("resources/read ui://conformance/view", &page("ui://conformance/view", HTML))
        .answering("resources/read ui://counter/view", &page("ui://counter/view", COUNTER))
        .answering("resources/read ui://painter/view", &page("ui://painter/view", PAINTER))
        .answering("resources/read ui://conformance/data", &data.to_string())
        .answering("resources/list", &listed.to_string());
    script.drips.push("slow".to_owned());
    script
}

fn words(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_view_finds_its_host_as_the_specification_has_it() -> anyhow::Result<()> {
    let scene = Scene::open(true).await?;
    let host = HostInterface::of(&scene.window).await?;
    let mut report = Report::default();

    let input = json!({"from": "the test", "n": 3});
    let frame = host.display_test_app("conformance", &input).await?;
    scene.ready().await?;
    let sandbox: Vec<&str> = frame["sandbox"].as_str().unwrap_or_default().split(' ').collect();
    let is_tight = ["allow-scripts", "allow-same-origin"].iter().all(|it| sandbox.contains(it))
        && sandbox.iter().all(|it| ["allow-scripts", "allow-same-origin", "allow-forms"].contains(it));
    report.holds("security/iframe-sandboxed", is_tight, &frame);
    scene.look(&mut report, "lifecycle/tool-input", json!([input])).await?;
    scene.look(&mut report, "lifecycle/tool-result", json!([serde_json::from_str::<Value>(RESULT)?])).await?;
    scene.look(&mut report, "context/tool-info", json!(["conformance"])).await?;
    for name in INSIDE {
        scene.look(&mut report, name, json!([])).await?;
    }
    surroundings(&scene, host, &mut report).await?;
    words_and_links(&scene, host, &mut report).await?;
    end(&scene, host, &mut report).await?;

    host.reset_environment().await?;
    let left = scene.count("SELECT count(*) FROM conversation")?;
    let shown = host.conversation().await?;
    report.holds(
        "environment/reset",
        left == 1 && shown == json!([]),
        format!("{left} conversations, {shown}"),
    );
    let theme = scene.window.run("return document.documentElement.dataset.theme").await?;
    report.holds("environment/theme-is-back", theme == "light", &theme);

    // Past the capture of the test runner, so that it is seen when all is well.
    writeln!(std::io::stdout(), "\n{}", report.lines())?;
    let (made, failed) = report.counts();
    anyhow::ensure!(failed == 0, "{failed} of {made} checks failed:\n{}", report.lines());
    anyhow::ensure!(made == 46, "{made} checks were made");
    scene.window.close().await
}

/// Changes what is around the View; it hears of it.
async fn surroundings(scene: &Scene, host: HostInterface<'_>, report: &mut Report) -> anyhow::Result<()> {
    host.change_host_context(&json!({"locale": "de-AT", "timeZone": "Asia/Tokyo", "theme": "dark"})).await?;
    let changed = json!([{"theme": "dark", "locale": "de-AT", "timeZone": "Asia/Tokyo"}]);
    scene.look(report, "context/context-changed", changed).await?;
    scene.look(report, "context/theme-has-its-styles", json!(["dark"])).await?;
    host.change_host_context(&json!({"containerDimensions": {"width": 500}})).await?;
    let wide = async {
        scene
            .window
            .until("it is narrower", async || Ok(scene.window.run("return innerWidth").await? == 500))
            .await
    };
    scene.window.in_view(FRAME, wide).await?;
    let told = json!([{"containerDimensions": {"width": 500}}]);
    let found = scene.found("context/context-changed", told).await?;
    report.keep("context/container-dimensions-changed", found);
    let refused = host.change_host_context(&json!({"userAgent": "x"})).await;
    report.holds("environment/unknown-is-refused", refused.is_err(), "it took it");
    Ok(())
}

/// What the View asks of the user, with a no and with a yes, and where its words then are.
async fn words_and_links(scene: &Scene, host: HostInterface<'_>, report: &mut Report) -> anyhow::Result<()> {
    let link = json!({"url": ADDRESS});
    scene.begin("refused", "ui/open-link", link.clone()).await?;
    let asked = host.confirm_action(false).await?;
    report.holds("links/user-is-shown-the-address", asked.contains(ADDRESS), &asked);
    let found = scene.found("answered", json!(["refused", false])).await?;
    report.keep(
        "links/refused",
        found.and_then(|()| if scene.opened.exists() { Err("it was opened".to_owned()) } else { Ok(()) }),
    );
    tokio::time::sleep(QUIET).await;
    scene.begin("opened", "ui/open-link", link).await?;
    host.confirm_action(true).await?;
    let found = scene.found("answered", json!(["opened", true])).await?;
    report.keep("links/answered", found);
    let opened = || fs::read_to_string(&scene.opened).unwrap_or_default();
    scene.window.until("the address is handed over", async || Ok(opened().ends_with('\n'))).await?;
    report.holds("links/open-external", opened() == format!("{ADDRESS}\n"), opened());

    scene.begin("message", "ui/message", json!({"role": "user", "content": words("MARKER-MESSAGE")})).await?;
    let asked = host.confirm_action(true).await?;
    report.holds("messages/consent", asked.contains("MARKER-MESSAGE"), &asked);
    let found = scene.found("answered", json!(["message", true])).await?;
    report.keep("messages/answered", found);
    for (name, text) in [("first", "FIRST-CONTEXT"), ("last", "LAST-CONTEXT")] {
        scene.begin(name, "ui/update-model-context", json!({"content": words(text)})).await?;
        if name == "first" {
            // The yes holds for this View.
            host.confirm_action(true).await?;
        }
        let found = scene.found("answered", json!([name, true])).await?;
        report.keep(&format!("model-context/answered-{name}"), found);
    }
    host.send_message("What does the View say?").await?;
    let shown = host.conversation().await?;
    let said = shown.as_array().into_iter().flatten();
    let roles: Vec<&str> = said.filter_map(|it| it["role"].as_str()).collect();
    let is_placed = roles == ["tool", "view", "view", "user", "assistant"];
    let is_there = shown[1]["text"] == "MARKER-MESSAGE" && shown[2]["text"] == "LAST-CONTEXT";
    report.holds("messages/add-to-conversation", is_placed && is_there, &shown);
    let context = host.conversation_context().await?;
    let (messages, tools) = (context["messages"].to_string(), context["tools"].to_string());
    report.holds("messages/reach-the-model", messages.matches("MARKER-MESSAGE").count() == 1, &messages);
    report.holds("model-context/provide-future-turns", messages.contains("LAST-CONTEXT"), &messages);
    report.holds("model-context/last-wins", !messages.contains("FIRST-CONTEXT"), &messages);
    let is_offered = tools.contains("for_the_model") && tools.contains("conformance");
    report.holds("visibility/app-tool-hidden", is_offered && !tools.contains("for_the_view"), &tools);
    scene.window.screenshot("host-interface").await?;
    let outcome = host.call_tool("for_the_model", &json!({})).await?;
    report.holds("tools/called-by-the-user", outcome["state"] == "done", &outcome);
    Ok(())
}

/// The end of a View by its button, and of a call that does not end by itself.
async fn end(scene: &Scene, host: HostInterface<'_>, report: &mut Report) -> anyhow::Result<()> {
    let put_away = "SELECT count(*) FROM call WHERE record LIKE '%\"put_away\"%'";
    anyhow::ensure!(scene.count(put_away)? == 0, "the View went away too early");
    scene.window.click("section.view button[aria-label='Stop the View']").await?;
    scene.window.element("[data-testid=view-placeholder][data-phase=stopped]").await?;
    let kept = scene.count(put_away)?;
    report.holds("lifecycle/teardown-await", kept == 1, kept);

    host.display_test_app("slow", &json!({})).await?;
    scene.ready().await?;
    scene.window.click("[aria-label='Cancel slow']").await?;
    scene.look(report, "lifecycle/tool-cancelled", json!([])).await?;
    // A report that never says no is worth nothing.
    let found = scene.found("control/false", json!([])).await?;
    report.holds("control/false-is-found", found == Err("as it must be".to_owned()), "it passed");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_call_of_a_view_waits_for_the_user_also_in_the_test_build() -> anyhow::Result<()> {
    let scene = Scene::open(false).await?;
    let host = HostInterface::of(&scene.window).await?;
    // Who starts a View wants it; the View's own calls are another matter.
    host.display_test_app("conformance", &json!({})).await?;
    scene.ready().await?;
    let call = json!({"name": "for_the_view", "arguments": {}});
    for (name, yes) in [("refused", false), ("allowed", true)] {
        scene.begin(name, "tools/call", call.clone()).await?;
        let asked = host.confirm_action(yes).await?;
        assert!(asked.contains("for_the_view"), "{asked}");
        assert_eq!(scene.found("answered", json!([name, yes])).await?, Ok(()));
        tokio::time::sleep(QUIET).await;
    }
    scene.window.close().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_view_is_shown_where_the_driver_wants_it_if_it_may_be() -> anyhow::Result<()> {
    let scene = Scene::open(true).await?;
    let host = HostInterface::of(&scene.window).await?;
    host.display_test_app("count", &json!({})).await?;
    scene.ready().await?;
    for mode in ["fullscreen", "inline", "pip", "fullscreen", "inline"] {
        host.change_host_context(&json!({"displayMode": mode})).await?;
        let knows = format!("return context.displayMode === '{mode}'");
        let what = format!("the View knows that it is {mode}");
        let told = scene.window.until(&what, async || Ok(scene.window.run(&knows).await? == true));
        scene.window.in_view(FRAME, told).await?;
    }
    assert!(host.change_host_context(&json!({"displayMode": "cinema"})).await.is_err());
    // One that declares its place alone.
    host.display_test_app("conformance", &json!({})).await?;
    scene.ready().await?;
    let refused = host.change_host_context(&json!({"displayMode": "pip"})).await.unwrap_err().to_string();
    assert!(refused.contains("does not declare it"), "{refused}");
    scene.window.close().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn the_driver_sees_what_a_view_offers_and_lets_the_model_call_it() -> anyhow::Result<()> {
    let red = call([("paint_it", json!({"color": "red"}))]);
    let scene = Scene::open_with(true, ScriptedModel::start([red, say(["It is red."])]).await).await?;
    let host = HostInterface::of(&scene.window).await?;
    host.display_test_app("paint", &json!({})).await?;
    let offered = async || Ok(host.app_tools().await? != json!([]));
    scene.window.until("the View offers its tools", offered).await?;
    let tools = host.app_tools().await?;
    assert_eq!((&tools[0]["view"], &tools[0]["name"]), (&json!("View of paint, call 1"), &json!("paint_it")));
    host.send_message("Make it red.").await?;
    let asked = host.confirm_action(true).await?;
    assert!(asked.contains("paint_it") && asked.contains("red"), "{asked}");
    let ends = "return window.color === 'red'";
    let painted = scene.window.until("it is red", async || Ok(scene.window.run(ends).await? == true));
    scene.window.in_view(FRAME, painted).await?;
    scene
        .window
        .until("the model has the answer", async || {
            Ok(host.conversation_context().await?["messages"].to_string().contains("it was white"))
        })
        .await?;
    scene.window.close().await
}
