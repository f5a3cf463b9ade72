//! The Contract tab on a server that breaks its own schema: what is found, where it stands in the bytes, and a pasted result.

use super::stage::{QUESTION, Stage};

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

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_broken_schema_is_found_from_a_call_and_shown_in_the_bytes() -> anyhow::Result<()> {
    let stage = Stage::open_with(&["--violate-user"]).await?;
    stage.ask("chat", QUESTION).await?;
    stage.allow_once().await?;
    stage.click("[data-testid=tool-card] .toggle").await?;
    stage.click("[data-testid=check-tool]").await?;
    // The tool that was asked for, and nothing else.
    stage.window.element("[data-testid=contract-tool][data-tool=search_customers][data-fate=called]").await?;
    stage.window.element("[data-testid=contract-tool][data-tool=show_dashboard][data-fate=left]").await?;
    stage.window.element("[data-testid=contract-portability]").await?;
    stage.window.screenshot("contract-setup").await?;
    let before = stage.bodies()?.len();
    stage.click("[data-testid=contract-run]").await?;
    stage.window.element("[data-testid=contract-finding][data-rule=S07][data-level=broken]").await?;
    stage.window.screenshot("contract-findings").await?;
    stage.click("[data-testid=contract-finding][data-rule=S07] [data-testid=contract-place]").await?;
    stage.window.text_in("[data-testid=contract-bytes] mark", "42").await?;
    stage.window.screenshot("contract-bytes").await?;
    // A check is between the user and the server: no model is asked.
    assert_eq!(stage.bodies()?.len(), before);
    stage.window.close().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_pasted_number_keeps_its_digits_in_a_small_window() -> anyhow::Result<()> {
    let stage = Stage::open().await?;
    stage.window.resize(800, 600).await?;
    stage.click("[data-testid=toggle-inspector]").await?;
    stage.click("[data-testid=inspector-tab-contract]").await?;
    stage.window.element("[data-testid=contract-tool]").await?;
    stage.window.screenshot("contract-small").await?;
    stage.click("[data-testid=contract-page-pasted]").await?;
    fill(&stage, "pasted-result", r#"{"n": 123456789012345678901234567890}"#).await?;
    fill(&stage, "pasted-schema", r#"{"properties": {"n": {"type": "string"}}}"#).await?;
    stage.click("[data-testid=pasted-validate]").await?;
    stage
        .window
        .text_in("[data-testid=contract-finding]", "123456789012345678901234567890 is not of type")
        .await?;
    stage.window.text_in("[data-testid=pasted-verdict]", "2020-12").await?;
    stage.window.screenshot("contract-pasted").await?;
    stage.window.close().await
}
