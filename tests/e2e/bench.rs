//! The View bench in the built window, with the sample server's App: what is written is drawn, what is wrong is found in its place, the
//! surroundings reach the View, a call ends in each way, the log has the values, and a fixture comes back.

use tempfile::TempDir;

use usher_tests::{
    scripted_server::{LINK, Script, document},
    window::Window,
};

use super::{
    scene::Prepared,
    stage::{Stage, prepare},
};

const FRAME: &str = "[data-testid=bench-stage] [data-testid=view-frame]";
const GOOD: &str = r#"{"title": "Written on the bench", "datasetVersion": "1", "columns": [{"key": "displayName", "label": "Customer"}],
  "rows": [{"customerId": "c1", "displayName": "Edited & Sons"}], "series": []}"#;

/// Types into a field as the page's own input does, at once.
async fn fill(stage: &Stage, testid: &str, text: &str) -> anyhow::Result<()> {
    let css = format!("[data-testid={testid}]");
    stage.window.element(&css).await?;
    let script = format!(
        "const field = document.querySelector('{css}'); field.focus(); field.select(); \
         return document.execCommand('insertText', false, arguments[0])"
    );
    assert_eq!(stage.window.client().execute(&script, vec![text.into()]).await?, true);
    Ok(())
}

/// Chooses in a list of the page.
async fn choose(stage: &Stage, testid: &str, value: &str) -> anyhow::Result<()> {
    let css = format!("[data-testid={testid}]");
    stage.window.element(&css).await?;
    let script = format!(
        "const list = document.querySelector('{css}'); list.value = arguments[0]; \
         list.dispatchEvent(new Event('change', {{bubbles: true}})); return list.value"
    );
    assert_eq!(stage.window.client().execute(&script, vec![value.into()]).await?, value);
    Ok(())
}

/// Starts the View, and waits until it is another one than before: until then its frame and its messages are the old ones.
async fn start(stage: &Stage) -> anyhow::Result<()> {
    let which = "return document.querySelector('[data-testid=bench-stage] [data-testid=view-frame]')?.dataset.view ?? null";
    let before = stage.window.run(which).await?;
    stage.click("[data-testid=bench-start]").await?;
    stage
        .window
        .until("another View is there", async || {
            let now = stage.window.run(which).await?;
            Ok(!now.is_null() && now != before)
        })
        .await
}

/// Waits until the View's page is so.
async fn view_is(stage: &Stage, what: &str, script: &str) -> anyhow::Result<()> {
    let there = stage.window.until(what, async || Ok(stage.window.run(script).await? == true));
    stage.window.in_view(FRAME, there).await
}

/// Waits until the View shows a text.
async fn view_shows(stage: &Stage, text: &str) -> anyhow::Result<()> {
    let quoted = serde_json::to_string(text)?;
    let script = format!("return document.body !== null && document.body.innerText.includes({quoted})");
    view_is(stage, &format!("the View shows {text}"), &script).await
}

async fn open() -> anyhow::Result<Stage> {
    let stage = Stage::open().await?;
    stage.window.resize(1280, 800).await?;
    stage.click("[data-testid=inspector-tab-view]").await?;
    choose(&stage, "bench-tool", "show_dashboard").await?;
    Ok(stage)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn what_is_written_is_drawn_and_what_is_wrong_is_found() -> anyhow::Result<()> {
    let stage = open().await?;
    stage.window.screenshot("bench-narrow").await?;
    stage.click("[data-testid=bench-wide]").await?;
    stage.click("[data-testid=bench-ending-result]").await?;
    fill(&stage, "bench-output", GOOD).await?;
    stage.window.element("[data-testid=bench-output-verdict][data-verdict=fits]").await?;
    start(&stage).await?;
    view_shows(&stage, "Written on the bench").await?;
    view_shows(&stage, "Edited & Sons").await?;
    stage.window.screenshot("bench-light").await?;
    fill(&stage, "bench-output", &GOOD.replace("Written on", "Drawn anew on")).await?;
    start(&stage).await?;
    view_shows(&stage, "Drawn anew on the bench").await?;
    // A look at the wire costs an author neither the View nor its messages.
    let messages = "return document.querySelectorAll('[data-testid=bench-log] [data-method]').length";
    let before = stage.window.run(messages).await?;
    let sized = "window.mark ??= [innerWidth, innerHeight].join(); return window.mark";
    let size = stage.window.in_view(FRAME, stage.window.run(sized)).await?;
    stage.click("[data-testid=inspector-tab-wire]").await?;
    let hidden = "return document.querySelector('[data-testid=bench-tab]').closest('[inert]') !== null";
    stage
        .window
        .until("the bench is put aside", async || Ok(stage.window.run(hidden).await? == true))
        .await?;
    stage.click("[data-testid=inspector-tab-view]").await?;
    view_is(&stage, "it is the same View", &format!("return window.mark === {size}")).await?;
    view_is(&stage, "it has its size", &format!("return [innerWidth, innerHeight].join() === {size}"))
        .await?;
    let after = stage.window.run(messages).await?;
    assert!(after.as_u64() >= before.as_u64(), "{before} messages became {after}");

    fill(&stage, "bench-output", &GOOD.replace(r#""series": []"#, r#""series": [{"label": 1, "count": 2}]"#))
        .await?;
    stage
        .window
        .text_in("[data-testid=bench-output-verdict][data-verdict=violates]", "/series/0/label")
        .await?;
    stage.window.screenshot("bench-violates").await?;
    stage.window.close().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn surroundings_reach_the_view_and_a_call_ends_in_each_way() -> anyhow::Result<()> {
    let stage = open().await?;
    stage.click("[data-testid=bench-wide]").await?;
    start(&stage).await?;
    view_is(
        &stage,
        "the View has its input",
        "return document.getElementById('view-status').dataset.state !== 'starting'",
    )
    .await?;
    for theme in ["dark", "light"] {
        choose(&stage, "bench-theme", theme).await?;
        let script = format!("return document.documentElement.dataset.theme === '{theme}'");
        view_is(&stage, &format!("the View is {theme}"), &script).await?;
    }
    choose(&stage, "bench-theme", "dark").await?;
    choose(&stage, "bench-device", "phone").await?;
    view_is(&stage, "the View is as wide as a phone", "return innerWidth === 390 && innerHeight === 844")
        .await?;
    stage.window.element("[data-testid=bench-insets]").await?;
    let log_in_sight = "return document.querySelector('[data-testid=bench-log] [data-method]').getBoundingClientRect().bottom < innerHeight";
    assert_eq!(stage.window.run(log_in_sight).await?, true, "a tall View pushes no message away");
    stage.window.screenshot("bench-phone").await?;
    // Where the inspector lies over the conversation the bench still has the whole window.
    stage.window.resize(900, 700).await?;
    let whole = "return document.querySelector('[data-testid=bench-tab]')?.getBoundingClientRect().width === innerWidth";
    stage
        .window
        .until("the bench has the narrow window", async || Ok(stage.window.run(whole).await? == true))
        .await?;
    assert_eq!(stage.window.run(log_in_sight).await?, true);
    stage.window.screenshot("bench-phone-900").await?;
    stage.window.resize(1280, 800).await?;
    choose(&stage, "bench-device", "none").await?;

    stage.click("[data-testid=bench-ending-result]").await?;
    fill(&stage, "bench-output", GOOD).await?;
    stage.click("[data-testid=bench-send]").await?;
    view_shows(&stage, "Written on the bench").await?;
    stage.click("[data-testid=bench-ending-error]").await?;
    fill(&stage, "bench-output", "").await?;
    start(&stage).await?;
    stage.window.element("[data-testid=bench-log] [data-method='ui/notifications/tool-result']").await?;
    stage.click("[data-testid=bench-log] [data-method='ui/notifications/tool-result'] button").await?;
    stage.window.text_in("[data-testid=bench-log-value]", "\"isError\": true").await?;
    stage.click("[data-testid=bench-ending-cancelled]").await?;
    fill(&stage, "bench-reason", "Nobody waits any more").await?;
    start(&stage).await?;
    stage.click("[data-testid=bench-log] [data-method='ui/notifications/tool-cancelled'] button").await?;
    stage.window.text_in("[data-testid=bench-log-value]", "Nobody waits any more").await?;
    fill(&stage, "bench-log-filter", "initialize").await?;
    stage
        .window
        .until("the log is filtered", async || {
            let script = "return [...document.querySelectorAll('[data-testid=bench-log] [data-method]')] \
                          .every((it) => it.textContent.includes('initialize') || it.dataset.method.startsWith('answer'))";
            Ok(stage.window.run(script).await? == true)
        })
        .await?;
    stage.window.screenshot("bench-log").await?;
    stage.window.close().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_fixture_comes_back_in_a_small_dark_window() -> anyhow::Result<()> {
    let folder = TempDir::new()?;
    prepare(folder.path().to_owned(), vec!["sample-server".to_owned()], "dark").await?;
    let window = Stage::window(&folder).await?;
    let stage = Stage { window, seed: String::new(), folder };
    stage.window.resize(800, 600).await?;
    stage.click("[data-testid=toggle-inspector]").await?;
    stage.click("[data-testid=inspector-tab-view]").await?;
    choose(&stage, "bench-tool", "show_dashboard").await?;
    stage.click("[data-testid=bench-ending-result]").await?;
    fill(&stage, "bench-output", GOOD).await?;
    fill(&stage, "bench-place", "a dashboard").await?;
    stage.click("[data-testid=bench-save]").await?;
    stage.window.text_in("[data-testid=bench-fixture-said]", "a dashboard.json").await?;
    let kept = std::fs::read_to_string(stage.folder.path().join("bench/a dashboard.json"))?;
    assert!(kept.contains("Written on the bench"), "{kept}");
    fill(&stage, "bench-output", "{}").await?;
    stage.click("[data-testid=bench-open]").await?;
    view_shows(&stage, "Written on the bench").await?;
    stage.window.screenshot("bench-small-dark").await?;
    stage.click("[data-testid=bench-wide]").await?;
    stage.window.screenshot("bench-small-dark-wide").await?;

    stage.window.resize(900, 700).await?;
    choose(&stage, "bench-device", "phone").await?;
    stage.window.run("document.querySelector('[data-testid=bench-part-host]').open = true").await?;
    stage.click("[data-testid=bench-from-fixture]").await?;
    stage.click("[data-testid=bench-answer-more]").await?;
    stage.click("[data-testid=bench-add-fault]").await?;
    stage.window.element("[data-testid=bench-fault]").await?;
    // Nothing that is heard only stands so far below that the window could be scrolled to it.
    let fits = "const all = document.scrollingElement; all.scrollTop = 1000; return all.scrollTop === 0 && all.scrollHeight <= innerHeight";
    assert_eq!(stage.window.run(fits).await?, true, "the window itself scrolls");
    let wide = "const width = (css) => document.querySelector(css).getBoundingClientRect().width; \
                return width('[data-testid=bench-answer] textarea') > width('[data-testid=bench-part-host]') - 80";
    assert_eq!(stage.window.run(wide).await?, true, "an answer has the whole width");
    stage.window.screenshot("bench-dark-900").await?;
    stage.window.close().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_server_starts_again_when_a_file_changes_that_was_chosen_in_the_window() -> anyhow::Result<()> {
    let stage = open().await?;
    let folder = TempDir::new()?;
    let file = folder.path().join("view.js");
    std::fs::write(&file, "one")?;
    // What cannot be watched is said, and the field keeps it.
    fill(&stage, "bench-watch", "view.js").await?;
    let enter = "\u{e007}";
    stage.window.element("[data-testid=bench-watch]").await?.send_keys(enter).await?;
    stage.window.text_in("[data-testid=bench-watch-said]", "is no file and no folder").await?;
    fill(&stage, "bench-watch", &file.display().to_string()).await?;
    stage.window.element("[data-testid=bench-watch]").await?.send_keys(enter).await?;
    stage.window.text_in("[data-testid=bench-watched]", "view.js").await?;
    stage.window.run("document.querySelector('[data-testid=bench-watched]').scrollIntoView()").await?;
    stage.window.screenshot("bench-watched").await?;
    let note = "window.states = []; const row = document.querySelector('[data-testid=server-row]');
                new MutationObserver(() => states.push(row.dataset.state)).observe(row, { attributes: true, attributeFilter: ['data-state'] });";
    stage.window.run(note).await?;
    std::fs::write(&file, "another text")?;
    let again = "return states.some((it) => it !== 'ready') && states.at(-1) === 'ready'";
    stage
        .window
        .until("the server has started again", async || Ok(stage.window.run(again).await? == true))
        .await?;
    stage.window.close().await
}

/// The rows of the log that say what the View's page says: the name, the loudness and the text of each.
async fn page_says(window: &Window) -> anyhow::Result<Vec<[String; 3]>> {
    let rows = "return JSON.stringify([...document.querySelectorAll('[data-testid=bench-log] [data-direction=page]')]
                  .map((it) => [it.dataset.method, it.dataset.level, it.querySelector('.note').textContent]))";
    let rows = window.run(rows).await?;
    Ok(serde_json::from_str(rows.as_str().unwrap_or("[]"))?)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn the_errors_and_the_console_of_a_view_stand_among_its_messages() -> anyhow::Result<()> {
    let script = Script::new("2025-11-25")
        .tool("draw", LINK, r#"{"content":[{"type":"text","text":"drawn"}]}"#)
        .answering("resources/read ui://a/b", &document(include_str!("../data/views/throws.html")));
    let prepared = Prepared::called(&script, "system", "draw").await?;
    let window = prepared.window().await?;
    window.resize(1280, 800).await?;
    window.click("[data-testid=inspector-tab-view]").await?;
    window.click("[data-testid=bench-wide]").await?;
    window.click("[data-testid=bench-start]").await?;
    let has = |rows: &[[String; 3]], method: &str, level: &str, text: &str| {
        rows.iter().any(|[a, b, c]| a == method && b == level && c.contains(text))
    };
    window
        .until("the log has the errors and the console", async || {
            let rows = page_says(&window).await?;
            Ok(has(&rows, "uncaught error", "error", "no rows to draw")
                && has(&rows, "console.warn", "warning", r#"careful {"rows":[1,2]}"#)
                && has(&rows, "unhandled rejection", "error", "nobody waits")
                && has(&rows, "could not be loaded", "error", "missing.js")
                && has(&rows, "console.log", "quiet", "line 7"))
        })
        .await?;
    // A loop that logs is cut short, and neither stops the View nor hides its error.
    let rows = page_says(&window).await?;
    assert_eq!(rows.iter().filter(|[name, ..]| name == "more was left out").count(), 1, "{rows:?}");
    assert!(rows.len() < 120, "{} rows", rows.len());
    window.click("[data-testid=bench-log] [data-method='uncaught error'] button").await?;
    let value = window.element("[data-testid=bench-log-value]").await?.text().await?;
    // The place in the document, and who called whom.
    assert!(value.contains("line 11") && value.contains("draw"), "{value}");
    window.text_in("[data-testid=bench-late-error]", "no rows to draw").await?;
    window.screenshot("bench-errors").await?;
    // In a conversation its console is nobody's, and its first error says why it did not start.
    window.click("[data-testid=bench-wide]").await?;
    window.click("[data-testid=inspector-tab-routing]").await?;
    window.click("[data-testid=view-placeholder] button").await?;
    window.text_in("[data-testid=view-late-error]", "no rows to draw").await?;
    window.screenshot("view-late-error").await?;
    window.close().await
}
