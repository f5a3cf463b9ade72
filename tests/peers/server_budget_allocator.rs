//! `@modelcontextprotocol/server-budget-allocator`: a tool with an App View of an earlier revision.

use serde_json::{Value, json};
use usher_engine::routing::Source;

use super::{Turn, stage};

#[tokio::test]
async fn the_view_receives_the_whole_result_and_the_model_its_text() {
    let stage = stage("@modelcontextprotocol/server-budget-allocator", &["--stdio"]).await;
    let turn = Turn::play(stage, vec![("get-budget-data", json!({}))]).await;
    assert_eq!(turn.not_done(), Vec::<String>::new());
    assert_eq!(turn.complaints(), Vec::<String>::new());
    assert!(!turn.told("get-budget-data").is_empty());
    let call = turn.call("get-budget-data");
    assert!(call.deliveries.iter().any(|it| it.source == Source::LegacyResult), "{:?}", call.deliveries);
    // Its View starts in an origin of its own, with its document and the result as it came (rule H29).
    let launch = turn.stage.host.open_view(&call.id).await.unwrap();
    let result: Value = serde_json::from_str(launch.result().unwrap().get()).unwrap();
    assert!(result["structuredContent"].is_object() && result["content"].is_array(), "{result}");
    let host = launch.url.split("://").nth(1).unwrap().split('/').next().unwrap();
    let served = turn.stage.host.view_document("GET", host, "/");
    assert_eq!(served.status, 200);
    assert!(served.body.contains("<html"), "the View's own document is served");
}
