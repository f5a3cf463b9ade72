//! Each switch makes its defect, on the tool that is named and on no other.

use serde_json::{Value, json};
use usher_protocol::Revision;
use usher_sample_server::{DeclarationDefects, EraQuirks, Options, OutputDefects, ServeError, WireDefects};

use crate::support::*;

async fn declared(declaration: DeclarationDefects, has_ui: bool) -> Vec<Value> {
    let tools = list(Options { declaration, ..Options::default() }, NEWEST, has_ui).await;
    let right = list(Options::default(), NEWEST, has_ui).await;
    assert_eq!(tools[1..], right[1..], "only the named tool is wrong");
    assert_ne!(tools[0], right[0]);
    tools
}

#[tokio::test]
async fn no_output_variants() {
    let tools = declared(DeclarationDefects { no_output_variants: true, ..Default::default() }, true).await;
    assert!(tools[0].get("outputVariants").is_none());
}

#[tokio::test]
async fn no_assistant_content() {
    let tools = declared(DeclarationDefects { no_assistant_content: true, ..Default::default() }, true).await;
    assert!(!pairs(&tools[0]["outputVariants"]).contains(&ASSISTANT.to_owned()));
}

#[tokio::test]
async fn duplicate_pair() {
    let tools = declared(DeclarationDefects { duplicate_pair: true, ..Default::default() }, true).await;
    let pairs = pairs(&tools[0]["outputVariants"]);
    assert_eq!(pairs.iter().filter(|it| *it == UI).count(), 2);
}

#[tokio::test]
async fn unnegotiated_audience() {
    let tools =
        declared(DeclarationDefects { unnegotiated_audience: true, ..Default::default() }, false).await;
    let pairs = pairs(&tools[0]["outputVariants"]);
    assert!(pairs.contains(&UI.to_owned()) && pairs.contains(&"dev.example/charts/structured".to_owned()));
}

#[tokio::test]
async fn defects_follow_the_named_tool() {
    let declaration = DeclarationDefects { no_output_variants: true, ..Default::default() };
    let options =
        |on: &str| Options { on: on.into(), declaration: declaration.clone(), ..Options::default() };
    let missing = |tools: Vec<Value>| tools.iter().filter(|it| it.get("outputVariants").is_none()).count();
    assert_eq!(missing(list(options("make_images"), NEWEST, true).await), 1);
    assert_eq!(missing(list(options("*"), NEWEST, true).await), tools().len());
}

async fn spoilt(outputs: OutputDefects, wanted: &[&str]) -> Value {
    search(Options { outputs, ..Options::default() }, wanted).await
}

#[tokio::test]
async fn unrequested_output() {
    let result = spoilt(OutputDefects { unrequested_output: true, ..Default::default() }, &[ASSISTANT]).await;
    assert_eq!(pairs(&result["outputs"]), [ASSISTANT, "assistant/structured"]);
}

#[tokio::test]
async fn missing_output() {
    let result = spoilt(OutputDefects { missing_output: true, ..Default::default() }, &[ASSISTANT, UI]).await;
    assert_eq!(pairs(&result["outputs"]), [ASSISTANT]);
}

#[tokio::test]
async fn duplicate_output() {
    let result =
        spoilt(OutputDefects { duplicate_output: true, ..Default::default() }, &[ASSISTANT, UI]).await;
    assert_eq!(pairs(&result["outputs"]), [ASSISTANT, UI, ASSISTANT]);
}

#[tokio::test]
async fn mismatched_pair() {
    let defects = OutputDefects { mismatched_pair: true, ..Default::default() };
    let result = spoilt(defects, &[ASSISTANT, "user/structured"]).await;
    // The person's table, labelled for the model.
    assert_eq!(pairs(&result["outputs"]), [ASSISTANT, "assistant/structured"]);
    assert_eq!(payload(&result, "assistant/structured").as_array().unwrap().len(), 37);
}

#[tokio::test]
async fn schema_violations_stay_in_their_variant() {
    let all = ["assistant/structured", "user/structured", "programmatic/structured", UI];
    let tool = list(Options::default(), NEWEST, true).await.remove(0);
    let defects = [
        OutputDefects { violate_assistant: true, ..Default::default() },
        OutputDefects { violate_user: true, ..Default::default() },
        OutputDefects { violate_programmatic: true, ..Default::default() },
        OutputDefects { violate_ui: true, ..Default::default() },
    ];
    for (broken, defects) in all.iter().zip(defects) {
        let result = spoilt(defects, &all).await;
        for variant in
            tool["outputVariants"].as_array().unwrap().iter().filter(|it| it["format"] == "structured")
        {
            let pair = &pairs(&json!([variant]))[0];
            assert_eq!(
                conforms(&variant["schema"], payload(&result, pair)),
                pair != broken,
                "{broken}: {pair}"
            );
        }
    }
}

#[tokio::test]
async fn a_violation_reaches_the_legacy_output_schema() {
    let outputs = OutputDefects { violate_assistant: true, ..Default::default() };
    let options = Options { outputs, ..Options::default() };
    let schema = list(options.clone(), Revision::V2025_06_18, false).await[0]["outputSchema"].clone();
    let params = json!({"name": "search_customers", "arguments": {"query": "Globex"}});
    let result = answer(options, Revision::V2025_06_18, false, "tools/call", params).await;
    assert!(!conforms(&schema, &result["structuredContent"]));
}

#[tokio::test]
async fn mirrored_text() {
    let defects = OutputDefects { mirrored_text: true, ..Default::default() };
    let result = spoilt(defects, &["programmatic/structured"]).await;
    assert_eq!(pairs(&result["outputs"]), ["programmatic/structured", ASSISTANT]);
    let text = payload(&result, ASSISTANT)[0]["text"].as_str().unwrap();
    let mirror: Value = serde_json::from_str(text).unwrap();
    assert_eq!(mirror, *payload(&result, "programmatic/structured"));
}

#[tokio::test]
async fn empty_outputs() {
    let result = spoilt(OutputDefects { empty_outputs: true, ..Default::default() }, &[ASSISTANT]).await;
    assert_eq!(result["outputs"], json!([]));
    assert!(result.get("isError").is_none());
}

#[tokio::test]
async fn meta_secrets() {
    let result = spoilt(OutputDefects { meta_secrets: true, ..Default::default() }, &[ASSISTANT]).await;
    assert!(result["_meta"]["apiKey"].as_str().unwrap().starts_with("sk-sample-"));
}

#[tokio::test]
async fn canaries_name_their_place() {
    let options = || Options { canaries: Some("k7".to_owned()), ..Options::default() };
    let all = [ASSISTANT, "assistant/structured", "user/structured", "programmatic/structured", UI];
    let result = search(options(), &all).await;
    for pair in all {
        let own = format!("canary-{}-k7", pair.replace("io.modelcontextprotocol/", "").replace('/', "-"));
        let output = payload(&result, pair).to_string();
        assert_eq!(output.matches("canary-").count(), 1, "{pair}: {output}");
        assert!(output.contains(&own), "{pair}");
    }
    let meta = result["_meta"].to_string();
    assert!(meta.contains("canary-meta-k7"));
    assert_eq!(result["_meta"]["io.modelcontextprotocol/ui"]["note"], "canary-uimeta-k7");

    let tools = list(options(), NEWEST, true).await;
    for audience in ["assistant", "user", "programmatic", "ui"] {
        assert!(tools[0].to_string().contains(&format!("canary-schema-{audience}-k7")));
    }
    for (name, arguments) in tools_with_canaries() {
        let listed = tools.iter().find(|it| it["name"] == name).unwrap();
        let wanted = pairs(&listed["outputVariants"]);
        let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
        let result = answer(options(), NEWEST, true, "tools/call", call(name, &arguments, &wanted)).await;
        for pair in wanted {
            assert_eq!(payload(&result, pair).to_string().matches("canary-").count(), 1, "{name} {pair}");
        }
    }
}

fn tools_with_canaries() -> Vec<(&'static str, Value)> {
    let mut with = tools();
    with.retain(|it| {
        ["search_customers", "make_images", "refresh_dashboard", "show_dashboard"].contains(&it.0)
    });
    with
}

fn search_message(id: u32) -> Value {
    let mut params = call("search_customers", &json!({"query": "Globex"}), &[ASSISTANT]);
    params["_meta"] = meta(NEWEST, true);
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

fn slow_message(id: u32, seconds: u32, steps: u32) -> Value {
    let mut meta = meta(NEWEST, false);
    meta["progressToken"] = json!("p");
    let arguments = json!({"seconds": seconds, "steps": steps});
    let params = json!({"name": "slow_report", "arguments": arguments, "_meta": meta});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

fn cancel_message(id: u32) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
}

async fn lines(wire: WireDefects) -> Vec<u8> {
    let options = Options { wire, ..Options::default() };
    let (read, ended) = bytes(options, &[search_message(1).to_string()]).await;
    ended.unwrap();
    read
}

#[tokio::test]
async fn malformed_line() {
    let text =
        String::from_utf8(lines(WireDefects { malformed_line: true, ..Default::default() }).await).unwrap();
    assert_eq!(text.lines().count(), 1);
    assert!(serde_json::from_str::<Value>(&text).is_err());
}

#[tokio::test]
async fn noise() {
    let text = String::from_utf8(lines(WireDefects { noise: true, ..Default::default() }).await).unwrap();
    let (last, before) =
        text.lines().collect::<Vec<_>>().split_last().map(|it| (*it.0, it.1.to_vec())).unwrap();
    assert_eq!(serde_json::from_str::<Value>(last).unwrap()["id"], 1);
    assert!(before.len() > 5 && before.iter().all(|it| !it.contains("jsonrpc")));
    // Once when it starts, and once before the answer.
    assert_eq!(before.iter().filter(|it| it.contains("sample server")).count(), 2);
}

#[tokio::test]
async fn interleaved() {
    let text =
        String::from_utf8(lines(WireDefects { interleaved: true, ..Default::default() }).await).unwrap();
    assert_eq!(text.lines().count(), 2);
    assert!(text.lines().next().unwrap().ends_with("[info] request took 12 ms"));
    assert!(text.lines().all(|it| serde_json::from_str::<Value>(it).is_err()));
}

#[tokio::test]
async fn invalid_utf8() {
    let read = lines(WireDefects { invalid_utf8: true, ..Default::default() }).await;
    assert!(std::str::from_utf8(&read).is_err());
    // Read leniently, it is still the answer.
    let message: Value = serde_json::from_str(&String::from_utf8_lossy(&read)).unwrap();
    assert!(payload(&message["result"], ASSISTANT)[0]["text"].as_str().unwrap().contains("37 Globex"));
}

#[tokio::test]
async fn flood() {
    let text = String::from_utf8(lines(WireDefects { flood: Some(50), ..Default::default() }).await).unwrap();
    assert_eq!(text.lines().count(), 51);
    assert!(text.len() > 50 * 1024);
}

#[tokio::test]
async fn hang_answers_other_requests_only() {
    let options = Options { wire: WireDefects { hang: true, ..Default::default() }, ..Options::default() };
    let listing =
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {"_meta": meta(NEWEST, true)}});
    let read = exchange(options, &[search_message(1), listing]).await;
    assert_eq!(read.iter().map(|it| it["id"].clone()).collect::<Vec<_>>(), [json!(2)]);
}

#[tokio::test]
async fn crash_on_call() {
    let options =
        Options { wire: WireDefects { crash_on_call: true, ..Default::default() }, ..Options::default() };
    let (read, ended) = bytes(options, &[search_message(1).to_string()]).await;
    assert!(matches!(ended, Err(ServeError::Served(usher_server::ServeError::Crash))));
    assert!(read.is_empty());
}

#[tokio::test]
async fn crash_at_start() {
    let options =
        Options { wire: WireDefects { crash_at_start: true, ..Default::default() }, ..Options::default() };
    let (read, ended) = bytes(options, &[search_message(1).to_string()]).await;
    assert!(matches!(ended, Err(ServeError::Served(usher_server::ServeError::Crash))));
    assert!(read.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_is_not_answered() {
    let read =
        first(Options::default(), &[slow_message(1, 10, 1), cancel_message(1), search_message(2)], 1).await;
    assert_eq!(read[0]["id"], 2);
}

#[tokio::test(start_paused = true)]
async fn late_answers_a_cancelled_call() {
    let options = Options { wire: WireDefects { late: true, ..Default::default() }, ..Options::default() };
    let read = first(options, &[slow_message(1, 10, 1), cancel_message(1), search_message(2)], 3).await;
    assert_eq!(read[0]["id"], 2);
    assert_eq!(read[1]["method"], "notifications/progress");
    assert_eq!(read[2]["id"], 1);
}

#[tokio::test(start_paused = true)]
async fn delay_holds_the_answer_back() {
    let options =
        Options { wire: WireDefects { delay_ms: 90_000, ..Default::default() }, ..Options::default() };
    let start = tokio::time::Instant::now();
    first(options, &[search_message(1)], 1).await;
    assert_eq!(start.elapsed().as_secs(), 90);
}

#[tokio::test(start_paused = true)]
async fn progress_is_told_to_the_token_and_calls_do_not_wait_for_each_other() {
    let read = first(Options::default(), &[slow_message(1, 10, 3), slow_message(2, 0, 1)], 6).await;
    let told = |it: &Value| it["params"]["progress"].as_u64();
    let ids: Vec<_> = read.iter().map(|it| it["id"].as_u64()).collect();
    assert_eq!(read.iter().filter_map(told).collect::<Vec<_>>(), [1, 1, 2, 3]);
    assert!(read.iter().filter(|it| told(it).is_some()).all(|it| it["params"]["progressToken"] == "p"));
    assert_eq!(ids.into_iter().flatten().collect::<Vec<_>>(), [2, 1]);
}

fn probe() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta(NEWEST, true)}})
}

fn era(era: EraQuirks) -> Options {
    Options { era, ..Options::default() }
}

#[tokio::test]
async fn only_one_revision() {
    let read =
        exchange(era(EraQuirks { only: vec![Revision::V2026_07_28], ..Default::default() }), &[probe()])
            .await;
    assert_eq!(read[0]["error"]["code"], -32022);
    assert_eq!(read[0]["error"]["data"]["supported"], json!(["2026-07-28"]));
}

#[tokio::test]
async fn only_the_handshake() {
    let old = || era(EraQuirks { only: vec![Revision::V2025_06_18], ..Default::default() });
    let hello = initialize(Revision::V2025_11_25, false);
    let read = exchange(old(), &[probe(), hello]).await;
    assert_eq!(read[0]["error"]["code"], -32601);
    assert_eq!(read[1]["result"]["protocolVersion"], "2025-06-18");
}

#[tokio::test]
async fn discover_empty() {
    let read = exchange(era(EraQuirks { discover_empty: true, ..Default::default() }), &[probe()]).await;
    assert_eq!(read, [json!({"jsonrpc": "2.0", "id": 1, "result": {}})]);
}

#[tokio::test]
async fn discover_silent() {
    let options = era(EraQuirks { discover_silent: true, ..Default::default() });
    let read = exchange(options, &[probe(), initialize(Revision::V2025_11_25, false)]).await;
    assert_eq!(read.len(), 1);
    assert_eq!(read[0]["result"]["protocolVersion"], "2025-11-25");
}

#[tokio::test]
async fn exit_on_unknown() {
    let options = || era(EraQuirks { exit_on_unknown: true, ..Default::default() });
    let (read, ended) = bytes(options(), &[probe().to_string()]).await;
    assert!(read.is_empty() && matches!(ended, Err(ServeError::Served(usher_server::ServeError::Crash))));
    let read = exchange(options(), &[initialize(Revision::V2025_11_25, false)]).await;
    assert_eq!(read[0]["result"]["protocolVersion"], "2025-11-25");
}
