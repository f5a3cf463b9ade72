//! A test for each rule that binds a server (S01 to S14). K01 and K05 are tested beside the layer for authors.

use expect_test::expect;
use serde_json::{Value, json};
use usher_protocol::Revision;
use usher_sample_server::Options;

use crate::support::*;

/// Every variant that the server lists, as tool and pair.
async fn variants(has_ui: bool) -> Vec<(String, Vec<String>)> {
    let tools = list(Options::default(), NEWEST, has_ui).await;
    tools.iter().map(|it| (it["name"].as_str().unwrap().to_owned(), pairs(&it["outputVariants"]))).collect()
}

#[tokio::test]
async fn s01_every_tool_declares_the_fallback_and_extensions_only_if_negotiated() {
    for has_ui in [true, false] {
        for (tool, declared) in variants(has_ui).await {
            assert!(declared.contains(&ASSISTANT.to_owned()), "{tool}");
            let mut unique = declared.clone();
            unique.sort();
            unique.dedup();
            assert_eq!(unique.len(), declared.len(), "{tool}");
            let has_view =
                ["search_customers", "show_dashboard", "refresh_dashboard"].contains(&tool.as_str());
            assert_eq!(declared.contains(&UI.to_owned()), has_ui && has_view, "{tool}");
        }
    }
}

#[tokio::test]
async fn s01_an_extension_is_negotiated_only_with_the_mime_type_of_views() {
    let mut params = json!({"_meta": meta(NEWEST, true)});
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"]["extensions"]["io.modelcontextprotocol/ui"] =
        json!({"mimeTypes": ["text/html"]});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params});
    let listed = exchange(Options::default(), &[request]).await;
    assert!(!listed[0].to_string().contains(r#""audience":"io.modelcontextprotocol/ui""#));
}

#[tokio::test]
async fn s02_what_the_assistant_gets_can_be_used_alone() {
    let calls: Vec<_> = tools().iter().map(|(name, arguments)| call(name, arguments, &[ASSISTANT])).collect();
    let requests: Vec<_> = calls.into_iter().map(|it| ("tools/call", it)).collect();
    let results = answers(Options::default(), NEWEST, true, &requests).await;
    let texts: Vec<&str> =
        results.iter().map(|it| payload(it, ASSISTANT)[0]["text"].as_str().unwrap()).collect();
    expect![[r#"
        I found 37 Globex customer records. The three most recently active accounts are Globex Retail, Globex Energy, and Globex Labs. Together they bring 19809153 in revenue a year; open tickets: 29.
        The sales dashboard covers 400 customers. NA: 149 customers, 86417489 in revenue a year; EMEA: 138 customers, 73298196 in revenue a year; APAC: 76 customers, 34021261 in revenue a year; LATAM: 37 customers, 24816169 in revenue a year.
        The sales dashboard covers 138 customers. EMEA: 138 customers, 73298196 in revenue a year.
        I made two pictures (a sunrise over hills and water, PNG, and a moonrise over a lake, WebP, each 480 by 320) for "A sunrise over Puget Sound", with a short chime.
        There were 3 events this month: 0 login, 0 export, 2 invoice, 0 upgrade, 1 api_call, 0 alert. The slowest took 1496 ms.
        Ticket 2922 is open with priority high: The export is slow
        The report is done, in 2 steps over 0 seconds: nothing unusual.
    "#]].assert_eq(&format!("{}\n", texts.join("\n")));
}

#[tokio::test]
async fn s03_structured_variants_have_schemas_of_their_own() {
    for tool in list(Options::default(), NEWEST, true).await {
        let variants = tool["outputVariants"].as_array().unwrap();
        let structured: Vec<_> = variants.iter().filter(|it| it["format"] == "structured").collect();
        for (index, variant) in structured.iter().enumerate() {
            assert!(variant["schema"]["type"].is_string(), "{tool}");
            assert!(structured[..index].iter().all(|it| it["schema"] != variant["schema"]), "{tool}");
        }
        let content = variants.iter().filter(|it| it["format"] == "content");
        assert!(content.into_iter().all(|it| it.get("schema").is_none()), "{tool}");
    }
}

#[tokio::test]
async fn s04_exactly_the_outputs_that_were_requested() {
    let declared = variants(true).await;
    for (name, arguments) in tools() {
        let all = &declared.iter().find(|it| it.0 == name).unwrap().1;
        for subset in 1..1_usize << all.len() {
            let wanted: Vec<&str> =
                all.iter().enumerate().filter(|it| subset >> it.0 & 1 == 1).map(|it| it.1.as_str()).collect();
            let params = call(name, &arguments, &wanted);
            let result = answer(Options::default(), NEWEST, true, "tools/call", params).await;
            assert_eq!(pairs(&result["outputs"]), wanted, "{name}");
            for output in result["outputs"].as_array().unwrap() {
                let field = if output["format"] == "content" { "content" } else { "structuredContent" };
                assert_eq!(output.as_object().unwrap().len(), 3, "{name}");
                assert!(output.get(field).is_some(), "{name}");
            }
        }
    }
}

#[tokio::test]
async fn s05_without_a_selection_the_fallback_alone() {
    for (name, arguments) in tools() {
        let params = json!({"name": name, "arguments": arguments});
        let result = answer(Options::default(), NEWEST, true, "tools/call", params).await;
        assert_eq!(pairs(&result["outputs"]), [ASSISTANT], "{name}");
    }
}

#[tokio::test]
async fn s06_undeclared_selector_is_refused() {
    refuses(true, "make_images", &["user/structured"]).await;
    refuses(true, "search_customers", &[ASSISTANT, "user/content"]).await;
    refuses(true, "search_customers", &["programmatic/content"]).await;
    refuses(true, "search_customers", &["dev.example/charts/structured"]).await;
}

#[tokio::test]
async fn s06_unnegotiated_selector_is_refused() {
    refuses(false, "search_customers", &[UI]).await;
    refuses(false, "refresh_dashboard", &[ASSISTANT, UI]).await;
}

#[tokio::test]
async fn s06_doubled_selector_is_refused() {
    refuses(true, "search_customers", &[ASSISTANT, "user/structured", ASSISTANT]).await;
}

#[tokio::test]
async fn s06_an_empty_selection_is_refused() {
    refuses(true, "search_customers", &[]).await;
}

async fn refuses(has_ui: bool, name: &str, outputs: &[&str]) {
    let params = call(name, &json!({"query": "x", "prompt": "x"}), outputs);
    let error = answer(Options::default(), NEWEST, has_ui, "tools/call", params).await;
    assert_eq!(error["code"], -32602, "{name} {outputs:?}");
    assert!(error.get("outputs").is_none(), "{name} {outputs:?}");
}

#[tokio::test]
async fn s07_each_structured_output_conforms_to_its_own_schema() {
    for tool in list(Options::default(), NEWEST, true).await {
        let name = tool["name"].as_str().unwrap();
        let arguments = &tools().into_iter().find(|it| it.0 == name).unwrap().1;
        let declared = pairs(&tool["outputVariants"]);
        let wanted: Vec<&str> = declared.iter().map(String::as_str).collect();
        let result =
            answer(Options::default(), NEWEST, true, "tools/call", call(name, arguments, &wanted)).await;
        for variant in
            tool["outputVariants"].as_array().unwrap().iter().filter(|it| it["format"] == "structured")
        {
            let pair = &pairs(&json!([variant]))[0];
            assert!(conforms(&variant["schema"], payload(&result, pair)), "{name} {pair}");
        }
    }
}

#[tokio::test]
async fn s08_no_text_mirror_of_a_structured_output() {
    let result = search(Options::default(), &["assistant/structured", "programmatic/structured", UI]).await;
    assert_eq!(pairs(&result["outputs"]), ["assistant/structured", "programmatic/structured", UI]);
    assert!(!result.to_string().contains(r#""type":"text""#));
    assert!(result.get("content").is_none() && result.get("structuredContent").is_none());

    // Where both are requested, the text is a text of its own.
    let both = search(Options::default(), &[ASSISTANT, "assistant/structured"]).await;
    let content = payload(&both, ASSISTANT).as_array().unwrap();
    assert_eq!(content.len(), 1);
    assert!(serde_json::from_str::<Value>(content[0]["text"].as_str().unwrap()).is_err());
}

#[tokio::test]
async fn k02_no_mirror_now_and_the_recommended_one_before() {
    for revision in Revision::ALL {
        let params = json!({"name": "search_customers", "arguments": {"query": "Globex"}});
        let result = answer(Options::default(), revision, true, "tools/call", params).await;
        let content =
            result.get("content").unwrap_or_else(|| payload(&result, ASSISTANT)).as_array().unwrap();
        let mirrors =
            content.iter().filter(|it| it["text"].as_str().is_some_and(|it| it.starts_with('{'))).count();
        assert_eq!(mirrors, usize::from(revision.has_structured_content()), "{revision}");
    }
}

#[tokio::test]
async fn s09_outputs_of_one_call_tell_the_same() {
    let wanted = [ASSISTANT, "assistant/structured", "user/structured", "programmatic/structured", UI];
    let result = search(Options::default(), &wanted).await;
    assert!(payload(&result, ASSISTANT)[0]["text"].as_str().unwrap().contains("37 Globex"));
    assert_eq!(payload(&result, "assistant/structured")["matches"], 37);
    assert_eq!(payload(&result, "user/structured").as_array().unwrap().len(), 37);
    assert_eq!(payload(&result, "programmatic/structured")["total"], 37);
    assert_eq!(payload(&result, UI)["rows"].as_array().unwrap().len(), 37);
    let first = &payload(&result, "user/structured")[0]["name"];
    assert_eq!(payload(&result, "programmatic/structured")["items"][0]["displayName"], *first);
    assert_eq!(payload(&result, UI)["rows"][0]["displayName"], *first);
}

#[tokio::test]
async fn s10_an_error_is_told_to_each_audience_that_was_asked_for() {
    let wanted = [ASSISTANT, "user/content", "user/structured", "programmatic/structured"];
    let params = call("open_ticket", &json!({"subject": "x"}), &wanted);
    let result = answer(Options::default(), NEWEST, true, "tools/call", params).await;
    assert_eq!(result["isError"], true);
    assert_eq!(pairs(&result["outputs"]), wanted);
    let assistant = payload(&result, ASSISTANT)[0]["text"].as_str().unwrap();
    let user = payload(&result, "user/content")[0]["text"].as_str().unwrap();
    expect![[r#"
        No ticket was opened: priority must be one of low, normal, high, urgent. Call open_ticket again with one of them.
        No ticket was opened, because it has no valid priority (low, normal, high, urgent).
        {"error":{"code":"invalid_priority","field":"priority","allowed":["low","normal","high","urgent"]}}
    "#]].assert_eq(&format!("{assistant}\n{user}\n{}\n", payload(&result, "user/structured")));
}

#[tokio::test]
async fn s10_what_no_output_can_tell_is_a_protocol_error() {
    let params = json!({"name": "no_such_tool", "arguments": {}});
    let error = answer(Options::default(), NEWEST, true, "tools/call", params).await;
    assert_eq!(error["code"], -32602);
}

#[tokio::test]
async fn s11_earlier_revisions_list_the_legacy_tool() {
    let newest = list(Options::default(), NEWEST, true).await;
    for revision in EARLIER {
        let tools = list(Options::default(), revision, true).await;
        assert_eq!(tools.len(), newest.len());
        for (tool, new) in tools.iter().zip(&newest) {
            assert!(tool.get("outputVariants").is_none(), "{revision} {tool}");
            let variants = new["outputVariants"].as_array().unwrap();
            let own =
                variants.iter().find(|it| it["audience"] == "assistant" && it["format"] == "structured");
            let expected = own.map(|it| &it["schema"]).filter(|_| revision.has_structured_content());
            assert_eq!(tool.get("outputSchema"), expected, "{revision} {tool}");
        }
        // The projection is there where it can be, so that the comparison above compares something.
        assert_eq!(tools[0].get("outputSchema").is_some(), revision.has_structured_content(), "{revision}");
    }
}

#[tokio::test]
async fn s12_earlier_revisions_get_the_legacy_result() {
    for revision in EARLIER {
        let schema = list(Options::default(), revision, true).await[0].get("outputSchema").cloned();
        let options = Options { canaries: Some("seed".to_owned()), ..Options::default() };
        // A selection under an earlier revision is no signal.
        let params = call("search_customers", &json!({"query": "Globex"}), &["user/structured", UI]);
        let result = answer(options, revision, true, "tools/call", params).await;
        assert!(result.get("outputs").is_none(), "{revision}");
        let content = result["content"].as_array().unwrap();
        assert!(content[0]["text"].as_str().unwrap().starts_with("I found 37 Globex"), "{revision}");
        assert_eq!(
            result.get("structuredContent").is_some(),
            revision.has_structured_content(),
            "{revision}"
        );
        if let Some(structured) = result.get("structuredContent") {
            assert!(conforms(&schema.unwrap(), structured), "{revision}");
            // The mirror that these revisions recommend holds the same data.
            let mirror: Value =
                serde_json::from_str(content.last().unwrap()["text"].as_str().unwrap()).unwrap();
            assert_eq!(mirror, *structured, "{revision}");
        }
        let text = result.to_string();
        for audience in ["user", "programmatic", "ui"] {
            assert!(!text.contains(&format!("canary-{audience}-")), "{revision}: {audience}");
        }
        assert_eq!(result.get("resultType").is_some(), revision.has_result_type(), "{revision}");
    }
}

#[tokio::test]
async fn s12_a_tool_without_structured_data_for_the_assistant_gives_content_alone() {
    for revision in EARLIER {
        let params = json!({"name": "make_images", "arguments": {"prompt": "x"}});
        let result = answer(Options::default(), revision, true, "tools/call", params).await;
        assert_eq!(result["content"].as_array().unwrap().len(), 1, "{revision}");
        assert!(result.get("structuredContent").is_none(), "{revision}");
    }
}

#[tokio::test]
async fn s13_a_revision_that_is_not_spoken_is_refused() {
    // A revision that opens with a handshake is not one that a request can name itself.
    for named in ["2027-01-01", "2025-11-25", "", "x"] {
        let mut params = json!({"_meta": meta(NEWEST, false)});
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(named);
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": params});
        let refused = exchange(Options::default(), &[request]).await;
        assert_eq!(refused[0]["error"]["code"], -32022, "{named}");
        assert_eq!(
            refused[0]["error"]["data"],
            json!({"supported": ["2026-12-01", "2026-07-28"], "requested": named})
        );
    }
}

#[tokio::test]
async fn s13_a_request_says_its_revision_and_capabilities() {
    for missing in ["protocolVersion", "clientCapabilities"] {
        let mut params = json!({"_meta": meta(NEWEST, false)});
        params["_meta"].as_object_mut().unwrap().remove(&format!("io.modelcontextprotocol/{missing}"));
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params});
        let refused = exchange(Options::default(), &[request]).await;
        assert_eq!(refused[0]["error"]["code"], -32602, "{missing}");
        assert!(refused[0]["error"]["message"].as_str().unwrap().contains(missing));
    }
}

#[tokio::test]
async fn s13_each_request_of_a_connection_may_have_its_own_revision() {
    let list = |id: u32, revision| json!({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": {"_meta": meta(revision, false)}});
    let read =
        exchange(Options::default(), &[list(1, NEWEST), list(2, Revision::V2026_07_28), list(3, NEWEST)])
            .await;
    let has: Vec<bool> =
        read.iter().map(|it| it["result"]["tools"][0].get("outputVariants").is_some()).collect();
    assert_eq!(has, [true, false, true]);
}

#[tokio::test]
async fn s13_the_handshake_offers_what_it_has() {
    let mut hello = initialize(Revision::V2025_06_18, false);
    hello["params"]["protocolVersion"] = json!("2024-11-05");
    let read = exchange(Options::default(), &[hello]).await;
    assert_eq!(read[0]["result"]["protocolVersion"], "2025-11-25");
}

#[tokio::test]
async fn s14_meta_follows_the_selection_and_holds_no_data() {
    let with = search(Options::default(), &[ASSISTANT, UI]).await;
    assert_eq!(with["_meta"]["io.modelcontextprotocol/ui"], json!({"datasetVersion": "v18"}));
    let without = search(Options::default(), &[ASSISTANT, "user/structured"]).await;
    let keys: Vec<_> = without["_meta"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["io.modelcontextprotocol/serverInfo"]);
}
