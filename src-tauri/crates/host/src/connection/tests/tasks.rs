//! Calls that become tasks, and how much a server is to tell.

use serde_json::Value;
use tokio::sync::mpsc;

use super::*;

const STARTED: &str = r#"{"resultType":"task","taskId":"t1","status":"working","createdAt":"2026-08-01T00:00:00Z","lastUpdatedAt":"2026-08-01T00:00:00Z","ttlMs":null,"pollIntervalMs":1}"#;

fn state(rest: &str) -> String {
    format!(
        r#"{{"resultType":"complete","taskId":"t1","createdAt":"","lastUpdatedAt":"","ttlMs":null,"pollIntervalMs":1,{rest}}}"#
    )
}

/// What a call comes to whose server goes on with a task that has these states, and what the server was asked meanwhile.
async fn ends(options: ConnectionOptions, states: &[&str]) -> (Result<RawJson, CallError>, Vec<String>) {
    let states: Vec<String> = states.iter().map(|it| state(it)).collect();
    let (asked, mut all) = mpsc::unbounded_channel();
    let server = script(move |mut far| async move {
        far.greet(&["2026-07-28"]).await;
        let (id, ..) = far.request().await.unwrap();
        far.answer(&id, STARTED).await;
        let mut states = states.into_iter();
        while let Some((id, method, params)) = far.request().await {
            let params = params.to_value();
            asked.send(format!("{method} {} {}", params["taskId"], params["inputResponses"])).unwrap();
            match method.as_str() {
                "tasks/get" => {
                    if let Some(state) = states.next() {
                        far.answer(&id, &state).await;
                    }
                }
                _ => far.answer(&id, r#"{"resultType":"complete"}"#).await,
            }
        }
    });
    let (connection, _events) = open([server], &options).await;
    let connection = connection.unwrap();
    let result = connection.call(&call("t", "{}"), CallOptions::default()).await;
    let mut seen: Vec<String> = Vec::new();
    if matches!(result, Err(CallError::TimedOut { .. })) {
        // What is queued when a connection ends may not be written any more.
        while !seen.last().is_some_and(|it| it.starts_with("tasks/cancel")) {
            seen.push(all.recv().await.unwrap());
        }
    }
    drop(connection);
    while let Some(asked) = all.recv().await {
        seen.push(asked);
    }
    (result, seen)
}

#[tokio::test]
async fn a_task_is_followed_to_its_end_and_its_result_is_the_calls() {
    let (result, asked) = ends(
        patient(),
        &[
            r#""status":"working","statusMessage":"half""#,
            r#""status":"completed","result":{"content":[{"type":"text","text":"1.10"}]}"#,
        ],
    )
    .await;
    assert_eq!(result.unwrap().get(), r#"{"content":[{"type":"text","text":"1.10"}]}"#);
    assert_eq!(asked, [r#"tasks/get "t1" null"#; 2]);
}

#[tokio::test]
async fn how_a_task_ends_is_how_the_call_ends() {
    let check = async |states: &[&str], expected: &str| {
        let (result, _) = ends(patient(), states).await;
        assert_eq!(result.unwrap_err().to_string(), expected);
    };
    check(
        &[r#""status":"failed","error":{"code":-32602,"message":"no such file"}"#],
        "the server refused: no such file (-32602)",
    )
    .await;
    check(
        &[r#""status":"cancelled","statusMessage":"it is late""#],
        "the server cancelled the task: it is late",
    )
    .await;
    check(
        &[r#""status":"completed""#],
        "the server's answer cannot be read: the task has ended without a result",
    )
    .await;
    check(
        &[r#""status":"completed","result":{"resultType":"task","taskId":"t2"}"#],
        "the server's answer cannot be read: the task has ended without an end",
    )
    .await;
    let (result, _) = ends(patient(), &[r#""status":"asleep""#]).await;
    assert!(result.unwrap_err().to_string().contains("unknown variant `asleep`"));
}

#[tokio::test]
async fn what_a_task_asks_is_answered_once() {
    let (questions, mut asked) = mpsc::channel(4);
    let offers = Offers { roots: true, questions: Some(questions), ..Offers::default() };
    tokio::spawn(async move {
        while let Some(question) = asked.recv().await {
            question.answer(Answer::Roots(vec![]));
        }
    });
    let wants = r#""status":"input_required","inputRequests":{"a":{"method":"roots/list"}}"#;
    let done = r#""status":"completed","result":{"content":[]}"#;
    let (result, asked) = ends(ConnectionOptions { offers, ..patient() }, &[wants, wants, done]).await;
    assert!(result.is_ok(), "{result:?}");
    assert_eq!(
        asked,
        [
            r#"tasks/get "t1" null"#,
            r#"tasks/update "t1" {"a":{"roots":[]}}"#,
            r#"tasks/get "t1" null"#,
            r#"tasks/get "t1" null"#
        ]
    );
}

#[tokio::test]
async fn a_task_that_nobody_waits_for_any_more_is_cancelled() {
    let (gone, mut is_gone) = mpsc::channel(1);
    let server = script(move |mut far| async move {
        far.greet(&["2026-07-28"]).await;
        let (id, _, params) = far.request().await.unwrap();
        let meta = &params.to_value()["_meta"]["io.modelcontextprotocol/clientCapabilities"]["extensions"];
        assert_eq!(meta["io.modelcontextprotocol/tasks"], json!({}));
        far.answer(&id, STARTED).await;
        loop {
            let (id, method, params) = far.request().await.unwrap();
            if method == "tasks/cancel" {
                let params = params.to_value();
                assert_eq!(params["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
                gone.send(params["taskId"].clone()).await.unwrap();
                break;
            }
            far.answer(&id, &state(r#""status":"working","statusMessage":"counting""#)).await;
        }
        far.idle().await;
    });
    let (connection, _events) = open([server], &patient()).await;
    let connection = connection.unwrap();
    let (progress, mut reports) = mpsc::channel(4);
    let options = CallOptions { progress: Some(progress), ..CallOptions::default() };
    let cancel = options.cancel.clone();
    let request = call("t", "{}");
    let person = async {
        let mut said = Vec::new();
        while said.len() < 2 {
            said.extend(reports.recv().await.unwrap().message);
        }
        cancel.cancel();
        said
    };
    let (result, said) = tokio::join!(connection.call(&request, options), person);
    assert_eq!(result, Err(CallError::Cancelled));
    assert_eq!(
        said,
        ["The server goes on with this as a task", "The server goes on with this as a task: counting"]
    );
    assert_eq!(is_gone.recv().await.unwrap(), "t1");
}

#[tokio::test]
async fn a_task_has_a_time_of_its_own() {
    let working = r#""status":"working""#;
    let options = ConnectionOptions { task_limit: Duration::from_millis(120), ..patient() };
    let (result, asked) = ends(options, &[working; 40]).await;
    assert!(matches!(result, Err(CallError::TimedOut { .. })), "{result:?}");
    assert_eq!(asked.last().unwrap(), r#"tasks/cancel "t1" null"#);
}

#[tokio::test]
async fn earlier_revisions_know_no_such_tasks() {
    let server = script(|mut far| async move {
        let (id, method, params) = far.request().await.unwrap();
        assert_eq!(method, "initialize");
        assert!(!params.get().contains("tasks"), "{params}");
        far.shake_as(&id, "2025-11-25").await;
        let (id, ..) = far.request().await.unwrap();
        far.answer(&id, STARTED).await;
        far.idle().await;
    });
    let options = ConnectionOptions { newest: Revision::V2025_11_25, ..patient() };
    let (connection, _events) = open([server], &options).await;
    let result = connection.unwrap().call(&call("t", "{}"), CallOptions::default()).await;
    // As it came: that it has no content is the codec's to say.
    assert_eq!(result.unwrap().get(), STARTED);
}

#[tokio::test]
async fn a_server_is_told_once_how_much_to_tell_and_a_later_one_with_each_request() {
    let old = script(|mut far| async move {
        let (id, ..) = far.request().await.unwrap();
        far.answer(&id, r#"{"protocolVersion":"2025-11-25","capabilities":{"logging":{}},"serverInfo":{"name":"far","version":"1"}}"#).await;
        for level in ["warning", "debug"] {
            let (id, method, params) = far.request().await.unwrap();
            assert_eq!((method.as_str(), &params.to_value()["level"]), ("logging/setLevel", &json!(level)));
            far.answer(&id, "{}").await;
        }
        let (id, _, params) = far.request().await.unwrap();
        assert!(!params.get().contains("logLevel"), "{params}");
        far.answer(&id, r#"{"content":[]}"#).await;
        far.idle().await;
    });
    let options = ConnectionOptions {
        newest: Revision::V2025_11_25,
        log_level: Some(LoggingLevel::Warning),
        ..patient()
    };
    let (connection, _events) = open([old], &options).await;
    let connection = connection.unwrap();
    connection.set_log_level(Some(LoggingLevel::Debug)).await.unwrap();
    connection.call(&call("t", "{}"), CallOptions::default()).await.unwrap();

    let modern = script(|mut far| async move {
        far.greet(&["2026-07-28"]).await;
        for level in [json!("warning"), Value::Null, json!("debug")] {
            let (id, method, params) = far.request().await.unwrap();
            assert_eq!(method, "tools/call");
            assert_eq!(params.to_value()["_meta"]["io.modelcontextprotocol/logLevel"], level);
            far.answer(&id, r#"{"resultType":"complete","content":[]}"#).await;
        }
        far.idle().await;
    });
    let options = ConnectionOptions { log_level: Some(LoggingLevel::Warning), ..patient() };
    let (connection, _events) = open([modern], &options).await;
    let connection = connection.unwrap();
    for level in [Some(LoggingLevel::Warning), None, Some(LoggingLevel::Debug)] {
        connection.set_log_level(level).await.unwrap();
        connection.call(&call("t", "{}"), CallOptions::default()).await.unwrap();
    }
}

#[tokio::test]
async fn a_server_that_hears_of_folders_hears_of_their_change() {
    let (questions, _asked) = mpsc::channel(4);
    let offers = Offers { roots: true, questions: Some(questions), ..Offers::default() };
    let old = script(|mut far| async move {
        let (id, _, params) = far.request().await.unwrap();
        assert_eq!(params.to_value()["capabilities"]["roots"], json!({"listChanged": true}));
        far.shake_as(&id, "2025-11-25").await;
        let Some(Message::Notification { method, .. }) = far.read().await else { panic!("not told") };
        assert_eq!(method, "notifications/roots/list_changed");
        let (id, ..) = far.request().await.unwrap();
        far.answer(&id, r#"{"content":[]}"#).await;
        far.idle().await;
    });
    let options = ConnectionOptions { newest: Revision::V2025_11_25, offers, ..patient() };
    let (connection, _events) = open([old], &options).await;
    let connection = connection.unwrap();
    connection.tell_roots_changed();
    connection.call(&call("t", "{}"), CallOptions::default()).await.unwrap();
}
