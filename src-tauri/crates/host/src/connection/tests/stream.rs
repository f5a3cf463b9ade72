//! Over streams in memory.

use expect_test::expect;
use usher_protocol::{codec::decode_outcome, model::Selector};

use super::*;

const NEWEST: &[&str] = &["2026-12-01", "2026-07-28"];

#[tokio::test]
async fn results_are_the_very_text() {
    let result = r#"{"resultType":"complete","outputs":[{"audience":"programmatic","format":"structured","structuredContent":{"z":9007199254740993,"a":1.10,"e":1E400,"big":123456789012345678901234567890}}],"isError":true,"_meta":{"k":0.1000}}"#;
    let far = script(move |mut far| async move {
        far.greet(NEWEST).await;
        let (id, method, params) = far.request().await.unwrap();
        assert_eq!(method, "tools/call");
        let sent = params.get().split_once(r#","name":"t""#).unwrap().1;
        assert_eq!(
            sent,
            r#","arguments":{"n":9007199254740993,"f":1.10,"big":123456789012345678901234567890},"requestedOutputs":[{"audience":"programmatic","format":"structured"}]}"#
        );
        let meta = params.to_value()["_meta"].clone();
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-12-01");
        assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "usher");
        assert_eq!(
            meta["io.modelcontextprotocol/clientCapabilities"],
            json!({"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}})
        );
        far.answer(&id, result).await;
        far.idle().await;
    });
    let (connection, _events) = open([far], &patient()).await;
    let connection = connection.unwrap();
    let mut request = call("t", r#"{"n":9007199254740993,"f":1.10,"big":123456789012345678901234567890}"#);
    request.requested = Some(vec![Selector::PROGRAMMATIC]);
    let raw = connection.call(&request, CallOptions::default()).await.unwrap();
    assert_eq!(raw.get(), result);
    let (outcome, defects) = decode_outcome(connection.revision(), &raw).unwrap();
    assert!(outcome.is_error);
    assert_eq!(defects, []);
}

#[tokio::test]
async fn every_page_of_tools_is_read_and_variants_are_kept() {
    let far = script(|mut far| async move {
        far.greet(NEWEST).await;
        let (id, _, _) = far.request().await.unwrap();
        far.answer(&id, r#"{"tools":[{"name":"a","inputSchema":{"type":"object"},"outputVariants":[{"audience":"assistant","format":"content"}]},{"name":"old","inputSchema":{"type":"object"}}],"nextCursor":"2"}"#).await;
        let (id, method, params) = far.request().await.unwrap();
        assert_eq!((method.as_str(), &params.to_value()["cursor"]), ("tools/list", &json!("2")));
        far.answer(&id, r#"{"tools":[{"name":"b","inputSchema":{"type":"object"},"outputVariants":[]}]}"#).await;
        far.idle().await;
    });
    let (connection, _events) = open([far], &patient()).await;
    let (page, defects) = connection.unwrap().list_tools().await.unwrap();
    let names: Vec<&str> = page.tools.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(page.tools[0].variant(&Selector::ASSISTANT_CONTENT).is_some());
    assert_eq!(page.rejected[0].name, "old");
    assert_eq!(defects, []);
}

#[tokio::test]
async fn a_list_that_never_ends_is_given_up() {
    let far = script(|mut far| async move {
        far.greet(NEWEST).await;
        while let Some((id, _, _)) = far.request().await {
            far.answer(&id, r#"{"tools":[],"nextCursor":"again"}"#).await;
        }
    });
    let (connection, _events) = open([far], &patient()).await;
    assert_eq!(connection.unwrap().list_tools().await.unwrap_err(), CallError::Endless { pages: 2 });
}

#[tokio::test]
async fn an_earlier_revision_that_the_server_names_is_used() {
    let far = script(|mut far| async move {
        far.greet(&["2026-07-28", "2025-11-25"]).await;
        far.idle().await;
    });
    let (connection, _events) = open([far], &patient()).await;
    expect![[r"
        Asked server/discover under 2026-12-01.
        The server does not speak 2026-12-01; it speaks 2026-07-28, 2025-11-25.
        Asked server/discover under 2026-07-28.
        far speaks 2026-07-28."]]
    .assert_eq(&steps(&connection.unwrap()));
}
