//! `@modelcontextprotocol/server-everything`: every kind of content, annotations, structured data and progress.

use expect_test::expect;
use serde_json::json;

use super::{Turn, offered, stage};

#[tokio::test]
async fn every_tool_is_called_and_its_result_routed() {
    let stage = stage("@modelcontextprotocol/server-everything", &["stdio"]).await;
    let turn = Turn::play(
        stage,
        vec![
            ("echo", json!({"message": "hello, 世界"})),
            ("get-annotated-message", json!({"messageType": "error", "includeImage": true})),
            ("get-env", json!({})),
            ("get-resource-links", json!({"count": 2})),
            ("get-resource-reference", json!({"resourceType": "Text", "resourceId": 1})),
            ("get-structured-content", json!({"location": "Chicago"})),
            ("get-sum", json!({"a": 17, "b": 25})),
            ("get-tiny-image", json!({})),
            ("toggle-simulated-logging", json!({})),
            ("toggle-subscriber-updates", json!({})),
            ("trigger-long-running-operation", json!({"duration": 1, "steps": 4})),
        ],
    )
    .await;
    // One tool fetches from the network and one is a task, whose extension is not offered; both are listed all the same.
    expect![[r#"
        echo
        get-annotated-message
        get-env
        get-resource-links
        get-resource-reference
        get-structured-content
        get-sum
        get-tiny-image
        gzip-file-as-resource
        simulate-research-query
        toggle-simulated-logging
        toggle-subscriber-updates
        trigger-long-running-operation"#]]
    .assert_eq(&offered(&turn).join("\n"));
    assert_eq!(turn.not_done(), Vec::<String>::new());
    assert_eq!(turn.complaints(), Vec::<String>::new());

    assert!(turn.told("echo").contains("hello, 世界"));
    assert!(turn.told("get-sum").contains("42"));
    // Text and structured data say the same; the model reads it once.
    let weather = turn.told("get-structured-content");
    assert_eq!(weather.matches("temperature").count(), 1, "{weather}");
    // A picture never travels as text, and the user sees it.
    let picture = turn.told("get-tiny-image");
    assert!(picture.len() < 1_000 && picture.contains("image"), "{picture}");
    // A block annotated for the user alone stays with the user.
    let annotated = turn.told("get-annotated-message");
    assert!(annotated.contains("Error"), "{annotated}");
    let seen = turn.seen().await;
    assert!(seen.contains("\"image/png\""), "the user sees the pictures");
    assert!(turn.call("get-resource-links").shown.len() == 1);
    let body = String::from_utf8(turn.model.received()[1].body.clone()).unwrap();
    assert!(body.contains("image_url"), "a model that takes pictures receives them as pictures");
}
