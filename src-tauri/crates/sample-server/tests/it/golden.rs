//! The exact lines of each revision: what is asked and what is answered, kept in a file that a person can read.

use std::fmt::Write as _;

use expect_test::expect_file;
use serde_json::{Value, json};
use usher_protocol::{RawJson, Revision, codec, model::OutcomeBody};
use usher_sample_server::Options;

use crate::support::*;

/// One record only, so that the file can be read.
fn one_customer(outputs: Option<&[&str]>) -> (&'static str, Value) {
    let mut params = call("search_customers", &json!({"query": "Globex Labs"}), outputs.unwrap_or_default());
    if outputs.is_none() {
        params.as_object_mut().unwrap().remove("requestedOutputs");
    }
    ("tools/call", params)
}

fn requests(revision: Revision) -> Vec<(&'static str, Value)> {
    let mut requests = vec![("tools/list", json!({})), ("resources/list", json!({})), one_customer(None)];
    if revision.has_request_meta() {
        requests.insert(0, ("server/discover", json!({})));
    } else {
        requests.insert(0, ("ping", json!({})));
    }
    if revision.has_output_variants() {
        requests.push(one_customer(Some(&["assistant/structured", "user/structured"])));
        requests.push(one_customer(Some(&["programmatic/structured"])));
        requests.push(one_customer(Some(&[ASSISTANT, UI])));
        requests.push(one_customer(Some(&["user/content"])));
    }
    requests.push(("tools/call", json!({"name": "open_ticket", "arguments": {"subject": "x"}})));
    requests.push(("tools/call", json!({"name": "no_such_tool", "arguments": {}})));
    requests.push(("resources/read", json!({"uri": "sample://reports/regions.csv"})));
    requests.push(("resources/read", json!({"uri": "sample://nothing"})));
    requests.push(("prompts/list", json!({})));
    requests
}

async fn transcript(revision: Revision) -> String {
    let asked = requests(revision);
    let answered = answers(Options::default(), revision, true, &asked).await;
    let mut text = String::new();
    if revision.has_handshake() {
        let hello = initialize(revision, true);
        let read = exchange(Options::default(), std::slice::from_ref(&hello)).await;
        writeln!(text, "> {hello}\n{:#}\n", read[0]["result"]).unwrap();
    }
    for ((method, params), answer) in asked.iter().zip(&answered) {
        writeln!(text, "> {method} {params}\n{answer:#}\n").unwrap();
    }
    text
}

#[tokio::test]
async fn lines_of_2025_03_26() {
    expect_file!["../golden/2025-03-26.txt"].assert_eq(&transcript(Revision::V2025_03_26).await);
}

#[tokio::test]
async fn lines_of_2025_06_18() {
    expect_file!["../golden/2025-06-18.txt"].assert_eq(&transcript(Revision::V2025_06_18).await);
}

#[tokio::test]
async fn lines_of_2025_11_25() {
    expect_file!["../golden/2025-11-25.txt"].assert_eq(&transcript(Revision::V2025_11_25).await);
}

#[tokio::test]
async fn lines_of_2026_07_28() {
    expect_file!["../golden/2026-07-28.txt"].assert_eq(&transcript(Revision::V2026_07_28).await);
}

#[tokio::test]
async fn lines_of_2026_12_01() {
    expect_file!["../golden/2026-12-01.txt"].assert_eq(&transcript(Revision::V2026_12_01).await);
}

/// What a client's side of the codec reads is what the server's side wrote, at every revision.
#[tokio::test]
async fn k03_one_handler_serves_every_revision() {
    for revision in Revision::ALL {
        let wanted = [ASSISTANT, "user/structured", UI];
        let params = call("search_customers", &json!({"query": "Globex"}), &wanted);
        let asked = [("tools/list", json!({})), ("tools/call", params)];
        let answered = answers(Options::default(), revision, true, &asked).await;
        let (page, diagnostics) = codec::decode_tools(revision, &RawJson::from(&answered[0])).unwrap();
        assert_eq!((page.tools.len(), page.rejected.len(), diagnostics.len()), (7, 0, 0), "{revision}");
        let (outcome, diagnostics) = codec::decode_outcome(revision, &RawJson::from(&answered[1])).unwrap();
        assert!(diagnostics.is_empty(), "{revision}");
        let parts = match &outcome.body {
            OutcomeBody::Outputs { parts, unreadable } => parts.len() + unreadable.len(),
            OutcomeBody::Legacy { content, structured } => content.len() + usize::from(structured.is_some()),
        };
        let expected = match revision {
            Revision::V2025_03_26 => 1,
            Revision::V2025_06_18 | Revision::V2025_11_25 | Revision::V2026_07_28 | Revision::V2026_12_01 => {
                3
            }
        };
        assert_eq!(parts, expected, "{revision}");
    }
}

/// Big identifiers and decimals keep their digits on the way out.
#[tokio::test]
async fn numbers_keep_their_digits() {
    let mut params = call("search_customers", &json!({"query": "Yarrow Foods"}), &["user/structured"]);
    params["_meta"] = meta(NEWEST, false);
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let (read, ended) = bytes(Options::default(), &[request]).await;
    ended.unwrap();
    let text = String::from_utf8(read).unwrap();
    assert!(text.contains(r#""accountNumber":9007199254740993"#), "{text}");
    assert!(text.contains(r#""annualRevenue":51985.77,"#), "{text}");
}

#[tokio::test]
async fn the_view_and_the_linked_picture_can_be_read() {
    let asked = [
        ("resources/read", json!({"uri": "ui://sample/customers.html"})),
        ("resources/read", json!({"uri": "sample://art/sunrise.png"})),
    ];
    let read = answers(Options::default(), NEWEST, true, &asked).await;
    let view = &read[0]["contents"][0];
    assert_eq!(view["mimeType"], "text/html;profile=mcp-app");
    assert_eq!(view["_meta"]["ui"]["csp"], json!({"connectDomains": [], "resourceDomains": []}));
    let html = view["text"].as_str().unwrap();
    for id in ["view-status", "view-rows", "view-received", "refresh"] {
        assert!(html.contains(&format!("id=\"{id}\"")), "{id}");
    }
    // One self-contained file: nothing in it is fetched. The one address is what it asks the host to open.
    assert!(!html.contains("src=") && !html.contains("url(") && !html.contains("@import"));
    let addresses: Vec<&str> = html.lines().filter(|it| it.contains("https://")).collect();
    assert!(matches!(addresses[..], [one] if one.contains("ui/open-link")), "{addresses:?}");
    assert!(read[1]["contents"][0]["blob"].as_str().unwrap().starts_with("iVBORw0KGgo"));
}

#[tokio::test]
async fn a_picture_maker_gives_what_a_person_sees() {
    let params = call("make_images", &json!({"prompt": "A sunrise over Puget Sound"}), &["user/content"]);
    let result = answer(Options::default(), NEWEST, false, "tools/call", params).await;
    let kinds: Vec<String> = payload(&result, "user/content")
        .as_array()
        .unwrap()
        .iter()
        .map(|it| format!("{} {}", it["type"].as_str().unwrap(), it["mimeType"].as_str().unwrap_or("")))
        .collect();
    assert_eq!(
        kinds,
        [
            "text ",
            "image image/png",
            "image image/webp",
            "audio audio/wav",
            "resource_link image/png",
            "resource "
        ]
    );
}

/// The big one: about nine megabytes for each of the two.
#[tokio::test]
async fn a_hundred_thousand_rows() {
    let mut params = call("list_events", &json!({}), &["user/structured"]);
    params["_meta"] = meta(NEWEST, false);
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let read = first(Options::default(), &[request], 1).await;
    let rows = payload(&read[0]["result"], "user/structured").as_array().unwrap();
    assert_eq!(rows.len(), 100_000);
    assert_eq!(rows[99_999]["id"], 9_007_199_254_940_991_u64);
}

#[tokio::test]
async fn what_is_not_a_message_is_refused_and_costs_nothing() {
    let ping =
        json!({"jsonrpc": "2.0", "id": 5, "method": "tools/list", "params": {"_meta": meta(NEWEST, false)}});
    let lines = ["nonsense".to_owned(), String::new(), "{\"a\":1}".to_owned(), ping.to_string()];
    let (read, ended) = bytes(Options::default(), &lines).await;
    ended.unwrap();
    let text = String::from_utf8(read).unwrap();
    let codes: Vec<Value> =
        text.lines().map(|it| serde_json::from_str::<Value>(it).unwrap()["error"]["code"].clone()).collect();
    assert_eq!(codes, [json!(-32700), json!(-32600), Value::Null]);
}
