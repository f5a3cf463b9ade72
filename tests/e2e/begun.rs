//! A View that comes up while the model writes its call's arguments, in the window: it draws them as they come (`tests/data/views/draft.html`).

use serde_json::Value;
use usher_engine::Mode;
use usher_tests::{
    scripted_model::{Answer, Gate, ScriptedModel, call_in_parts, say},
    scripted_server::Script,
    window::Window,
};

use super::scene::{FRAME, Prepared};

const HTML: &str = include_str!("../data/views/draft.html");
const DECLARATION: &str = r#"{"_meta":{"ui":{"resourceUri":"ui://a/b"}},
    "inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}"#;

async fn scene(theme: &str, answer: Answer) -> anyhow::Result<(Window, ScriptedModel, Prepared)> {
    let script = Script::new("2025-11-25")
        .tool("draft", DECLARATION, r#"{"content":[{"type":"text","text":"saved"}]}"#)
        .view(HTML, None);
    let model = ScriptedModel::start([answer, say(["Done."])]).await;
    let prepared = Prepared::scripted(&script, theme, async |stage| {
        stage.conversation(Mode::App, &model).await;
        Ok(())
    })
    .await?;
    let window = prepared.window().await?;
    window
        .until("the composer takes the message", async || {
            let composer = window.element("[data-testid=composer-input]").await?;
            Ok(composer.send_keys("Write to Ada").await.is_ok())
        })
        .await?;
    window.click("[data-testid=composer-send]").await?;
    Ok((window, model, prepared))
}

/// Waits until the View says how far it is, and gives the text that it shows then.
async fn shows(window: &Window, state: &str) -> anyhow::Result<String> {
    window.element(FRAME).await?;
    let script = format!("return document.getElementById('state').textContent.startsWith('{state}')");
    let wait = window.until(state, async || Ok(window.run(&script).await? == true));
    window.in_view(FRAME, wait).await?;
    let text = in_view(window, "return document.getElementById('draft').textContent").await?;
    Ok(text.as_str().unwrap_or_default().to_owned())
}

async fn in_view(window: &Window, script: &str) -> anyhow::Result<Value> {
    window.in_view(FRAME, window.run(script)).await
}

/// Waits until the card of the call is in a state.
async fn card(window: &Window, state: &str) -> anyhow::Result<()> {
    window.element(&format!("[data-testid=tool-card][data-state={state}]")).await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_view_draws_what_the_model_writes_as_it_comes() -> anyhow::Result<()> {
    for theme in ["light", "dark"] {
        let [first, second] = [Gate::default(), Gate::default()];
        let parts = [(r#"{"text":"Dear Ada,"#, &first), (r"\nthank you for", &second)];
        let answer = call_in_parts("draft", parts, r#" the numbers."}"#);
        let (window, _model, _prepared) = scene(theme, answer).await?;
        first.reached().await;
        card(&window, "writing").await?;
        window.element(FRAME).await?;
        // The View is up before the rest comes.
        shows(&window, "").await?;
        first.open();
        second.reached().await;
        assert_eq!(shows(&window, "is being written").await?, "Dear Ada,\nthank you for");
        window.screenshot(&format!("view-begun-{theme}")).await?;
        second.open();
        assert_eq!(shows(&window, "saved").await?, "Dear Ada,\nthank you for the numbers.");
        card(&window, "done").await?;
        let told = in_view(&window, "return window.told").await?;
        let told: Vec<String> = serde_json::from_value(told)?;
        let after = told.iter().position(|it| it == "tool-input").unwrap_or_default();
        assert!(after > 0 && told[..after].iter().all(|it| it == "tool-input-partial"), "{told:?}");
        assert_eq!(told[after..], ["tool-input", "tool-result"]);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_call_that_is_stopped_while_it_is_written_says_so_in_its_view() -> anyhow::Result<()> {
    let gate = Gate::default();
    let answer = call_in_parts("draft", [(r#"{"text":"Dear Ada,"#, &gate)], r#" never mind"}"#);
    let (window, _model, _prepared) = scene("light", answer).await?;
    gate.reached().await;
    shows(&window, "").await?;
    window.click("[data-testid=composer-stop]").await?;
    shows(&window, "not saved").await?;
    card(&window, "failed").await?;
    let told = in_view(&window, "return window.told").await?;
    assert_eq!(told.as_array().and_then(|it| it.last()), Some(&Value::from("tool-cancelled")));
    assert!(!told.to_string().contains("\"tool-input\""), "{told}");
    Ok(())
}
