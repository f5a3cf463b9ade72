//! The demo conversation in each mode, with a canary in every variant: each is where it belongs and nowhere else.

use serde_json::{Value, json};
use usher_tests::scripted_server::Script;

use super::{
    scene::{FRAME, Prepared},
    stage::{QUESTION, Stage},
};

/// Canaries that no consumer of a conversation may ever have: metadata without an audience, and the shapes of other audiences' data.
const NOBODYS: [&str; 5] = ["meta", "schema-user", "schema-programmatic", "schema-ui", "schema-assistant"];

/// What must hold after a question in a mode.
struct Expected {
    mode: &'static str,
    model: &'static [&'static str],
    user: &'static [&'static str],
    view: bool,
}

const VARIANTS: [&str; 5] = [
    "assistant-content",
    "assistant-structured",
    "user-structured",
    "programmatic-structured",
    "ui-structured",
];

async fn holds(expected: &Expected) -> anyhow::Result<()> {
    let stage = Stage::open().await?;
    stage.ask(expected.mode, QUESTION).await?;
    stage.allow_once().await?;
    stage.window.screenshot(&format!("mode-{}", expected.mode)).await?;

    for variant in expected.user {
        // Rows of a table come when they are in sight.
        stage.window.text_in("[data-testid=transcript]", &format!("canary-{variant}-{}", stage.seed)).await?;
    }
    let body = stage.bodies()?.pop().unwrap_or_default();
    let body = String::from_utf8(body)?;
    for variant in VARIANTS {
        stage.check("the model's context", &body, variant, expected.model.contains(&variant));
    }
    let document = stage.window.document().await?;
    let transcript = stage.transcript().await?;
    for variant in VARIANTS {
        // The model may repeat what it read: then it is the model's own words that stand in the transcript.
        if !expected.model.contains(&variant) {
            stage.check("the transcript", &transcript, variant, expected.user.contains(&variant));
            stage.check("the window", &document, variant, expected.user.contains(&variant));
        }
    }
    for canary in NOBODYS {
        stage.check("the model's context", &body, canary, false);
        stage.check("the window", &document, canary, false);
    }
    stage.check("the model's context", &body, "uimeta", false);
    stage.check("the window", &document, "uimeta", false);

    if expected.view {
        let view = stage.received_by_view().await?;
        for variant in VARIANTS {
            stage.check("the View", &view, variant, variant == "ui-structured");
        }
        stage.check("the View", &view, "uimeta", true);
        stage.check("the View", &view, "meta", false);
        for audience in ["assistant", "user", "programmatic"] {
            stage.check("the View", &view, &format!("schema-{audience}"), false);
        }
    } else {
        assert_eq!(
            stage
                .window
                .run("return document.querySelectorAll('iframe[data-testid=view-frame]').length")
                .await?,
            0
        );
    }
    stage.window.close().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn chat_shows_the_table_and_the_view_and_tells_the_model_in_words() -> anyhow::Result<()> {
    holds(&Expected { mode: "chat", model: &["assistant-content"], user: &["user-structured"], view: true })
        .await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn data_gives_the_model_structured_data() -> anyhow::Result<()> {
    holds(&Expected {
        mode: "data",
        model: &["assistant-structured"],
        user: &["user-structured"],
        view: true,
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn present_shows_the_user_and_tells_the_model_only_that_it_did() -> anyhow::Result<()> {
    holds(&Expected { mode: "present", model: &[], user: &["user-structured"], view: false }).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn app_gives_the_view_its_data_and_the_user_no_table() -> anyhow::Result<()> {
    holds(&Expected { mode: "app", model: &["assistant-content"], user: &[], view: true }).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn custom_asks_as_in_chat_until_the_user_chooses() -> anyhow::Result<()> {
    holds(&Expected { mode: "custom", model: &["assistant-content"], user: &["user-structured"], view: true })
        .await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn code_lets_the_model_write_a_script_and_read_what_it_returns() -> anyhow::Result<()> {
    let stage = Stage::open().await?;
    stage.ask("code", QUESTION).await?;
    stage.click("[data-testid=approval-once]").await?;
    stage.window.element("[data-testid=tool-card][data-tool=search_customers][data-state=done]").await?;
    stage.window.element("[data-testid=tool-card][data-tool=run_script][data-state=done]").await?;
    stage.settled().await?;
    stage.window.screenshot("mode-code").await?;
    let (body, document) = (String::from_utf8(stage.bodies()?.concat())?, stage.window.document().await?);
    for variant in VARIANTS.iter().filter(|it| **it != "programmatic-structured") {
        stage.check("the model's context", &body, variant, false);
        stage.check("the window", &document, variant, false);
    }
    for canary in ["meta", "uimeta"] {
        stage.check("the model's context", &body, canary, false);
        stage.check("the window", &document, canary, false);
    }
    // What a script returned reached the model by a recorded door, and by no other way.
    stage.click("[data-testid=inspector-tab-routing]").await?;
    let script = "return [...document.querySelectorAll('[data-testid=ledger-row]')].map(e => e.dataset.rule || '').join(' ')";
    stage.window.run("[...document.querySelectorAll('button')].find(e => e.textContent.includes('whole conversation'))?.click()").await?;
    stage
        .window
        .until("the door is in the ledger", async || {
            Ok(stage.window.run(script).await?.as_str().is_some_and(|it| it.contains("H25")))
        })
        .await?;
    stage.window.close().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn code_gives_the_script_its_value_and_nobody_else() -> anyhow::Result<()> {
    let stage = Stage::open().await?;
    stage.ask("chat", QUESTION).await?;
    stage.allow_once().await?;
    let before = stage.bodies()?.len();
    stage.click("[data-testid=inspector-tab-script]").await?;
    stage.window.element("[data-testid=script-editor] .cm-content").await?;
    let source = "return (await tools.Sample.search_customers({query: 'Globex'})).note";
    let write = "const view = document.querySelector('[data-testid=script-editor] .cm-content'); view.focus(); \
                 document.execCommand('selectAll'); return document.execCommand('insertText', false, arguments[0])";
    assert_eq!(stage.window.client().execute(write, vec![source.into()]).await?, true);
    stage.click("[data-testid=script-run]").await?;
    stage.click("[data-testid=approval-once]").await?;
    let canary = format!("canary-programmatic-structured-{}", stage.seed);
    stage.window.text_in("[data-testid=script-output]", &canary).await?;
    let output =
        stage.window.run("return document.querySelector('[data-testid=script-output]').textContent").await?;
    let output = output.as_str().unwrap_or_default();
    for variant in VARIANTS {
        stage.check("the script's value", output, variant, variant == "programmatic-structured");
    }
    let transcript = stage.transcript().await?;
    stage.check("the transcript", &transcript, "programmatic-structured", false);
    // Nothing was sent to a model for the script.
    assert_eq!(stage.bodies()?.len(), before);
    stage.say("thanks").await?;
    stage.settled().await?;
    for body in stage.bodies()? {
        stage.check("the model's context", &String::from_utf8(body)?, "programmatic-structured", false);
    }
    stage.window.close().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn showing_an_output_to_the_model_is_asked_first_and_recorded() -> anyhow::Result<()> {
    let stage = Stage::open().await?;
    stage.ask("present", QUESTION).await?;
    stage.allow_once().await?;
    stage.check(
        "the model's context",
        &String::from_utf8(stage.bodies()?.concat())?,
        "user-structured",
        false,
    );
    stage.click("[data-testid=show-the-model]").await?;
    stage.click("[data-testid=show-the-model-confirm]").await?;
    stage.window.element("[data-testid=item-door]").await?;
    stage.say("what does the table say?").await?;
    stage.settled().await?;
    let body = stage.bodies()?.pop().unwrap_or_default();
    stage.check("the model's context", &String::from_utf8(body)?, "user-structured", true);
    stage.click("[data-testid=inspector-tab-routing]").await?;
    stage.window.element("[data-testid=ledger-row][data-rule=H25]").await?;
    stage.window.close().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn an_output_that_nobody_asked_for_is_named_and_withheld() -> anyhow::Result<()> {
    let stage = Stage::open_with(&["--unrequested-output"]).await?;
    stage.ask("chat", QUESTION).await?;
    stage.allow_once().await?;
    stage.click("[data-testid=inspector-tab-routing]").await?;
    stage.window.element("[data-testid=ledger-row][data-rule=H19]").await?;
    let document = stage.window.document().await?;
    stage.check("the window", &document, "programmatic-structured", false);
    stage.check(
        "the model's context",
        &String::from_utf8(stage.bodies()?.concat())?,
        "programmatic-structured",
        false,
    );
    stage.window.close().await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn a_conversation_is_there_again_after_a_restart() -> anyhow::Result<()> {
    let stage = Stage::open().await?;
    stage.ask("chat", QUESTION).await?;
    stage.allow_once().await?;
    let Stage { window, folder, seed } = stage;
    // The driver kills the application without asking, as a power cut would.
    window.close().await?;
    let stage = Stage { window: Stage::window(&folder).await?, seed, folder };
    stage.click("[data-testid=conversation-row]").await?;
    stage.window.text_in("[data-testid=item-user]", QUESTION).await?;
    let canary = format!("canary-user-structured-{}", stage.seed);
    stage.window.text_in("[data-testid=shown-table] [data-testid=table-cell]", &canary).await?;
    let transcript = stage.transcript().await?;
    stage.check("the transcript", &transcript, "user-structured", true);
    // A View of an earlier run waits for the user, and comes back from what was recorded.
    stage.window.element("[data-testid=view-placeholder]").await?;
    stage.click("[data-testid=view-placeholder] button").await?;
    let view = stage.received_by_view().await?;
    stage.check("the View", &view, "ui-structured", true);
    stage.window.close().await
}

/// A View that keeps every message that it is sent, and calls two tools when it has its result.
const PROBE: &str = r#"<!doctype html><body><p>A probe.</p><script>
  window.told = [];
  const say = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
  addEventListener("message", (event) => {
    told.push(event.data);
    if (event.data.id === 1) say({ method: "ui/notifications/initialized", params: {} });
    if (event.data.method !== "ui/notifications/tool-result") return;
    say({ id: 2, method: "tools/list", params: {} });
    say({ id: 3, method: "tools/call", params: { name: "show", arguments: {} } });
    say({ id: 4, method: "tools/call", params: { name: "broken", arguments: {} } });
    say({ id: 5, method: "tools/call", params: { name: "empty", arguments: {} } });
  });
  say({ id: 1, method: "ui/initialize", params: { protocolVersion: "2026-01-26", appInfo: { name: "probe", version: "1" }, appCapabilities: {} } });
</script></body>"#;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the built window: cargo xtask test --only window"]
async fn nothing_for_others_crosses_to_a_view_by_its_own_calls_or_by_errors() -> anyhow::Result<()> {
    let declared = r#""outputVariants":[{"audience":"assistant","format":"content"},
        {"audience":"user","format":"structured","schema":{"title":"CANARY-1"}},
        {"audience":"programmatic","format":"structured","schema":{"title":"CANARY-2"}},
        {"audience":"io.modelcontextprotocol/ui","format":"structured"}]"#;
    let linked =
        format!(r#"{{{declared},"_meta":{{"ui":{{"resourceUri":"ui://a/b"}},"vendor":"CANARY-3"}}}}"#);
    let others = r#"{"audience":"assistant","format":"content","content":[{"type":"text","text":"CANARY-4"}]},
        {"audience":"user","format":"structured","structuredContent":{"x":"CANARY-5"}},
        {"audience":"programmatic","format":"structured","structuredContent":{"x":"CANARY-6"}},
        {"audience":"com.example/other","format":"structured","structuredContent":{"x":"CANARY-7"}}"#;
    let own = r#"{"audience":"io.modelcontextprotocol/ui","format":"structured","structuredContent":{"x":"MINE"},"more":"CANARY-8"}"#;
    let meta = r#""_meta":{"io.modelcontextprotocol/ui":{"m":"ALSO-MINE"},"io.modelcontextprotocol/ui2":"CANARY-9","ui":"CANARY-10"}"#;
    let plain = format!("{{{declared}}}");
    let discovered = json!({
        "resultType": "complete", "supportedVersions": ["2026-12-01"], "ttlMs": 0, "cacheScope": "private",
        "capabilities": {"tools": {}, "resources": {}, "extensions": {"io.modelcontextprotocol/ui": {}}},
        "serverInfo": {"name": "scripted", "version": "1"},
    });
    let script = Script::new("2026-12-01")
        .answering("server/discover", &discovered.to_string())
        .tool("show", &linked, &format!(r#"{{"resultType":"complete","outputs":[{others},{own}],{meta}}}"#))
        .tool(
            "broken",
            &plain,
            &format!(r#"{{"resultType":"complete","isError":true,"outputs":[{others}],{meta}}}"#),
        )
        .tool("empty", &plain, &format!(r#"{{"resultType":"complete","outputs":[{others}],{meta}}}"#))
        .view(PROBE, None);
    let prepared = Prepared::called(&script, "system", "show").await?;
    let window = prepared.window().await?;
    window.click("[data-testid=view-placeholder] button").await?;
    let answered =
        "return typeof told !== 'undefined' && [2, 3, 4, 5].every((id) => told.some((it) => it.id === id))";
    let told = window
        .in_view(FRAME, async {
            window
                .until("the View has its answers", async || Ok(window.run(answered).await? == true))
                .await?;
            window.run("return told").await
        })
        .await?;
    let whole = told.to_string();
    assert!(!whole.contains("CANARY"), "{whole}");
    let told = told.as_array().cloned().unwrap_or_default();
    let answer = |id: u32| told.iter().find(|it| it["id"] == id).cloned().unwrap_or(Value::Null);
    let mine = json!({"x": "MINE"});
    let pushed = told.iter().find(|it| it["method"] == "ui/notifications/tool-result");
    for result in [&pushed.cloned().unwrap_or(Value::Null)["params"], &answer(3)["result"]] {
        assert_eq!(result["structuredContent"], mine, "{whole}");
        assert_eq!(result["_meta"], json!({"io.modelcontextprotocol/ui": {"m": "ALSO-MINE"}}), "{whole}");
    }
    // A failure is told without anybody's words, and a success without an output for it is an error of the host.
    assert_eq!(
        (&answer(4)["result"]["isError"], &answer(4)["result"]["content"]),
        (&json!(true), &json!([]))
    );
    assert_eq!(answer(5)["error"]["code"], -32000, "{whole}");
    window.close().await
}
