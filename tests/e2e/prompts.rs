//! Prompts as slash commands and resources, in the window: what the user read goes to the model, exactly and only that.

use super::stage::Stage;

/// What a row of the table of regions begins with; it stands in no tool's declaration.
const HEADER: &str = "region,customers,annual_revenue";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_prompt_is_chosen_filled_in_read_and_sent() -> anyhow::Result<()> {
    let stage = Stage::open().await?;
    let window = &stage.window;
    window.element("[data-testid=composer-input]").await?.send_keys("/acc").await?;
    window.element("[data-testid=prompt-option][data-prompt=account_review]").await?;
    window.screenshot("prompt-list").await?;
    window.element("[data-testid=composer-input]").await?.send_keys("\u{e007}").await?;
    window.element("[data-testid=prompt-argument-customer]").await?.send_keys("Glo").await?;
    // The first suggestions are for nothing typed; those for what was typed follow.
    let first = "return document.querySelector('[data-testid=suggestion]')?.textContent ?? ''";
    let narrowed = async || Ok(window.run(first).await?.as_str().is_some_and(|it| it.contains("Globex")));
    window.until("the suggestions follow what was typed", narrowed).await?;
    window.screenshot("prompt-arguments").await?;
    window.click("[data-testid=suggestion]").await?;
    window.click("[data-testid=prompt-fetch]").await?;
    let words = "Review the accounts of Globex: what stands out, and whom should we call first?";
    window.text_in("[data-testid=prompt-preview]", words).await?;
    window.screenshot("prompt-preview").await?;
    assert!(stage.bodies()?.is_empty(), "nothing is sent before the user says so");
    window.click("[data-testid=prompt-send]").await?;
    window.text_in("[data-testid=item-prompt]", words).await?;
    window.until("the prompt was sent", async || Ok(!stage.bodies()?.is_empty())).await?;
    let body: serde_json::Value = serde_json::from_slice(&stage.bodies()?[0])?;
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert_eq!(messages[1], serde_json::json!({"role": "user", "content": words}));
    window.screenshot("prompt-sent").await?;
    stage.window.close().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_resource_reaches_the_model_only_when_it_is_attached() -> anyhow::Result<()> {
    let stage = Stage::open().await?;
    let window = &stage.window;
    let open = async || {
        window.click("[data-testid=server-row]").await?;
        window.click("[data-testid=server-resources]").await?;
        window.click("[data-testid=resource-row][data-uri='sample://reports/regions.csv']").await?;
        window.text_in("[data-testid=resource-content]", HEADER).await
    };
    open().await?;
    window.screenshot("resource-open").await?;
    window.click("[data-testid=resources] [aria-label=Close]").await?;
    stage.say("Hello").await?;
    stage.settled().await?;
    let last =
        |bodies: Vec<Vec<u8>>| String::from_utf8_lossy(bodies.last().map_or(&[], Vec::as_slice)).into_owned();
    assert!(!last(stage.bodies()?).contains(HEADER), "it was looked at and not attached");

    open().await?;
    window.click("[data-testid=resource-attach]").await?;
    window.element("[data-testid=resource-attached]").await?;
    window.click("[data-testid=resources] [aria-label=Close]").await?;
    window.element("[data-testid=item-attachment]").await?;
    stage.say("And now?").await?;
    stage.settled().await?;
    assert_eq!(last(stage.bodies()?).matches(HEADER).count(), 1);
    window.screenshot("resource-attached").await?;
    stage.window.close().await
}
