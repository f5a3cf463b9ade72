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
            json!({"extensions": {
                "io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]},
                "io.modelcontextprotocol/tasks": {},
            }})
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
        far.answer(&id, r#"{"tools":[{"name":"b","inputSchema":{"type":"object"},"outputVariants":[]}]}"#)
            .await;
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

#[tokio::test]
async fn an_error_keeps_its_code_and_data() {
    let far = script(|mut far| async move {
        far.greet(NEWEST).await;
        let (id, _, _) = far.request().await.unwrap();
        far.refuse(&id, r#"{"code":-32602,"message":"no such selector","data":{"n":9007199254740993}}"#)
            .await;
        far.idle().await;
    });
    let (connection, _events) = open([far], &patient()).await;
    let error = connection.unwrap().call(&call("t", "{}"), CallOptions::default()).await.unwrap_err();
    let data = Some(RawJson::parse(r#"{"n":9007199254740993}"#).unwrap());
    assert_eq!(error, CallError::Server { code: -32602, message: "no such selector".to_owned(), data });
}

#[tokio::test]
async fn noise_is_skipped_and_shown() {
    let far = script(|mut far| async move {
        far.write("╔══ Welcome ══╗").await;
        far.write("2025-06-09 12:00 INFO started").await;
        far.greet(NEWEST).await;
        let (id, _, _) = far.request().await.unwrap();
        for line in ["{", "  \"level\": \"info\"", "}", "", "[1]", "{\"level\":30}"] {
            far.write(line).await;
        }
        far.write(r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}"#).await;
        far.answer(&id, r#"{"ok":1}"#).await;
        far.idle().await;
    });
    let (connection, mut events) = open([far], &patient()).await;
    let connection = connection.unwrap();
    let raw = connection.call(&call("t", "{}"), CallOptions::default()).await.unwrap();
    assert_eq!(raw.get(), r#"{"ok":1}"#);
    assert_eq!(connection.noise_lines(), 7);
    let noise: Vec<String> = told(&mut events)
        .into_iter()
        .filter_map(|it| if let ConnectionEvent::Noise { text, .. } = it { Some(text) } else { None })
        .collect();
    expect![[r#"
        ╔══ Welcome ══╗
        2025-06-09 12:00 INFO started
        {
          "level": "info"
        }
        [1]
        {"level":30}"#]]
    .assert_eq(&noise.join("\n"));
}

#[tokio::test]
async fn invalid_utf8_is_read_with_a_defect() {
    let far = script(|mut far| async move {
        far.greet(NEWEST).await;
        let (_, _, _) = far.request().await.unwrap();
        far.write(b"{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"text\":\"\xb0\xa1 ok\"}}").await;
        far.idle().await;
    });
    let (connection, mut events) = open([far], &patient()).await;
    let raw = connection.unwrap().call(&call("t", "{}"), CallOptions::default()).await.unwrap();
    assert_eq!(raw.get(), "{\"text\":\"\u{fffd}\u{fffd} ok\"}");
    let defects: Vec<_> =
        told(&mut events).into_iter().filter(|it| matches!(it, ConnectionEvent::Defect { .. })).collect();
    let text = "A line of 50 bytes is not UTF-8; what could not be read became U+FFFD.".to_owned();
    assert_eq!(defects, [ConnectionEvent::Defect { text }]);
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_fails_its_request_only() {
    let far = script(|mut far| async move {
        far.greet(NEWEST).await;
        let (first, _, _) = far.request().await.unwrap();
        let (_, _, _) = far.request().await.unwrap();
        far.write(r#"{"jsonrpc":"2.0","id":1,"result":{"text":"cut off"#).await;
        far.answer(&first, r#"{"ok":1}"#).await;
        far.idle().await;
    });
    let (connection, _events) = open([far], &patient()).await;
    let connection = connection.unwrap();
    let (first, second) = (call("first", "{}"), call("second", "{}"));
    let (first, second) = tokio::join!(
        connection.call(&first, CallOptions::default()),
        connection.call(&second, CallOptions::default())
    );
    assert_eq!(first.unwrap().get(), r#"{"ok":1}"#);
    assert!(matches!(second, Err(CallError::Unreadable { .. })), "{second:?}");
}

#[tokio::test]
async fn answers_that_cross_reach_their_own_calls() {
    let far = script(|mut far| async move {
        far.greet(NEWEST).await;
        let mut asked = Vec::new();
        for _ in 0..50 {
            let (id, _, params) = far.request().await.unwrap();
            asked.push((id, params.to_value()["arguments"]["n"].clone()));
        }
        for (id, n) in asked.into_iter().rev() {
            far.answer(&id, &format!("{{\"echo\":{n}}}")).await;
        }
        far.idle().await;
    });
    let (connection, _events) = open([far], &patient()).await;
    let connection = connection.unwrap();
    // The same tool each time, so that nothing but the identifier tells them apart.
    let calls = (0..50).map(|n| {
        let connection = connection.clone();
        async move {
            let raw = connection.call(&call("same", &format!("{{\"n\":{n}}}")), CallOptions::default()).await;
            assert_eq!(raw.unwrap().get(), format!("{{\"echo\":{n}}}"));
        }
    });
    futures::future::join_all(calls).await;
}

#[tokio::test]
async fn a_batch_is_split_and_progress_reaches_its_call() {
    let far = script(|mut far| async move {
        far.greet(NEWEST).await;
        let (_, _, params) = far.request().await.unwrap();
        let token = params.to_value()["_meta"]["progressToken"].clone();
        for (n, token) in [(1, &token), (2, &json!(77)), (3, &token)] {
            far.write(format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{n},"total":3,"message":"step"}}}}"#)).await;
        }
        far.write(r#"[{"jsonrpc":"2.0","method":"notifications/tools/list_changed"},{"jsonrpc":"2.0","id":"0","result":{"ok":1}}]"#).await;
        far.idle().await;
    });
    let (connection, mut events) = open([far], &patient()).await;
    let (sender, mut progress) = mpsc::channel(10);
    let options = CallOptions { progress: Some(sender), ..CallOptions::default() };
    connection.unwrap().call(&call("t", "{}"), options).await.unwrap();
    let report = |progress| Progress { progress, total: Some(3.0), message: Some("step".to_owned()) };
    assert_eq!(progress.recv().await, Some(report(1.0)));
    assert_eq!(progress.recv().await, Some(report(3.0)));
    assert_eq!(progress.recv().await, None);
    assert!(told(&mut events).contains(&ConnectionEvent::ToolsChanged));
}

/// Reads a call, waits until the host cancels it, answers it late, and answers the next in time.
fn cancelled() -> (Script, oneshot::Receiver<()>) {
    let (sender, asked) = oneshot::channel();
    let far = script(move |mut far| async move {
        far.greet(NEWEST).await;
        let (id, _, _) = far.request().await.unwrap();
        sender.send(()).unwrap();
        let Some(Message::Notification { method, params }) = far.read().await else {
            panic!("no notification")
        };
        assert_eq!(method, "notifications/cancelled");
        assert_eq!(params.unwrap().to_value()["requestId"], json!(id));
        far.answer(&id, r#"{"late":true}"#).await;
        let (id, _, _) = far.request().await.unwrap();
        far.answer(&id, r#"{"late":false}"#).await;
        far.idle().await;
    });
    (far, asked)
}

async fn next_call_is_answered(connection: &Connection, mut events: EventReceiver) {
    let raw = connection.call(&call("next", "{}"), CallOptions::default()).await;
    assert_eq!(raw.expect("answered").get(), r#"{"late":false}"#);
    let late = "An answer came for a request that is not under way (late or twice); ignored.".to_owned();
    assert!(told(&mut events).contains(&ConnectionEvent::Defect { text: late }));
}

#[tokio::test]
async fn cancelling_tells_the_server_and_a_late_answer_is_ignored() {
    let (far, asked) = cancelled();
    let (connection, events) = open([far], &patient()).await;
    let connection = connection.unwrap();
    let options = CallOptions::default();
    let cancel = options.cancel.clone();
    let request = call("t", "{}");
    let (result, ()) = tokio::join!(connection.call(&request, options), async {
        asked.await.unwrap();
        cancel.cancel();
    });
    assert_eq!(result, Err(CallError::Cancelled));
    next_call_is_answered(&connection, events).await;
}

#[tokio::test]
async fn dropping_the_future_cancels_too() {
    let (far, asked) = cancelled();
    let (connection, events) = open([far], &patient()).await;
    let connection = connection.unwrap();
    let request = call("t", "{}");
    tokio::select! {
        _ = connection.call(&request, CallOptions::default()) => panic!("answered"),
        asked = asked => asked.unwrap(),
    }
    next_call_is_answered(&connection, events).await;
}

#[tokio::test]
async fn a_timeout_cancels_too() {
    let (far, _asked) = cancelled();
    let (connection, events) = open([far], &patient()).await;
    let connection = connection.unwrap();
    let options = CallOptions { timeout: Some(Duration::from_millis(20)), ..CallOptions::default() };
    let result = connection.call(&call("t", "{}"), options).await;
    assert_eq!(result, Err(CallError::TimedOut { seconds: 0 }));
    next_call_is_answered(&connection, events).await;
}

/// A server that reports progress for ever is not waited for for ever.
#[tokio::test]
async fn progress_does_not_extend_the_limit_of_a_call() {
    let far = script(|mut far| async move {
        far.greet(NEWEST).await;
        let (_, _, params) = far.request().await.unwrap();
        let token = params.to_value()["_meta"]["progressToken"].clone();
        for number in 0_u64.. {
            let params = json!({"progressToken": token, "progress": number});
            let line = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
            if far.out.write_all(format!("{line}\n").as_bytes()).await.is_err() {
                return;
            }
        }
    });
    let options = ConnectionOptions { call_limit: Duration::from_millis(50), ..patient() };
    let (connection, _events) = open([far], &options).await;
    let (progress, mut told) = tokio::sync::mpsc::channel(1);
    // Whoever listens to the progress does so until the end.
    tokio::spawn(async move { while told.recv().await.is_some() {} });
    let options = CallOptions { progress: Some(progress), ..CallOptions::default() };
    let result = connection.unwrap().call(&call("t", "{}"), options).await;
    assert_eq!(result, Err(CallError::TimedOut { seconds: 0 }));
}

/// A call may take longer than anything else that a server is asked.
#[tokio::test]
async fn a_call_is_not_ended_by_the_limit_of_other_requests() {
    let far = script(|mut far| async move {
        far.greet(NEWEST).await;
        let (id, _, _) = far.request().await.unwrap();
        far.answer(&id, r#"{"late":true}"#).await;
        far.idle().await;
    });
    let options = ConnectionOptions { request_timeout: Duration::ZERO, ..patient() };
    let (connection, _events) = open([far], &options).await;
    let connection = connection.unwrap();
    let raw = connection.call(&call("t", "{}"), CallOptions::default()).await.unwrap();
    assert_eq!(raw.get(), r#"{"late":true}"#);
    assert!(connection.list_tools().await.is_err(), "other requests have no time at all here");
}

#[tokio::test]
async fn calls_that_are_under_way_when_the_stream_ends_fail() {
    let far = script(|mut far| async move {
        far.greet(NEWEST).await;
        let _asked = far.request().await;
    });
    let (connection, _events) = open([far], &patient()).await;
    let connection = connection.unwrap();
    let result = connection.call(&call("t", "{}"), CallOptions::default()).await;
    assert!(matches!(result, Err(CallError::Closed { .. })), "{result:?}");
    let result = connection.call(&call("t", "{}"), CallOptions::default()).await;
    assert!(matches!(result, Err(CallError::Closed { .. })), "{result:?}");
}

#[tokio::test]
async fn a_ping_is_answered_and_all_else_refused() {
    let far = script(|mut far| async move {
        far.greet(NEWEST).await;
        far.write(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#).await;
        far.write(r#"{"jsonrpc":"2.0","id":0,"method":"sampling/createMessage","params":{}}"#).await;
        let answers = [far.read().await.unwrap().to_line(), far.read().await.unwrap().to_line()];
        assert_eq!(answers[0], r#"{"jsonrpc":"2.0","id":"p","result":{}}"#);
        assert_eq!(
            answers[1],
            r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"sampling/createMessage is not offered"}}"#
        );
        let (id, _, _) = far.request().await.unwrap();
        far.answer(&id, "{}").await;
        far.idle().await;
    });
    let (connection, _events) = open([far], &patient()).await;
    connection.unwrap().call(&call("t", "{}"), CallOptions::default()).await.unwrap();
}

#[tokio::test]
async fn a_result_of_nine_megabytes_arrives_whole() {
    let big = format!(r#"{{"data":"{}"}}"#, "x".repeat(9 << 20));
    let sent = big.clone();
    let far = script(move |mut far| async move {
        far.greet(NEWEST).await;
        let (id, _, _) = far.request().await.unwrap();
        far.answer(&id, &sent).await;
        far.idle().await;
    });
    let (connection, mut events) = open([far], &patient()).await;
    let raw = connection.unwrap().call(&call("t", "{}"), CallOptions::default()).await.unwrap();
    assert_eq!(raw.get(), big);
    let longest = told(&mut events)
        .iter()
        .filter_map(|it| {
            if let ConnectionEvent::Line { text, bytes, .. } = it { Some((text.len(), *bytes)) } else { None }
        })
        .max();
    assert_eq!(longest.map(|it| it.0), Some(MAX_LINE_TEXT));
}

#[tokio::test]
async fn a_server_that_tells_of_its_tools_is_listened_to() {
    let far = script(|mut far| async move {
        let (id, _, _) = far.request().await.unwrap();
        let tools = r#"{"supportedVersions":["2026-12-01"],"capabilities":{"tools":{"listChanged":true}}}"#;
        far.answer(&id, tools).await;
        let (id, method, params) = far.request().await.unwrap();
        assert_eq!(method, "subscriptions/listen");
        let params = params.to_value();
        assert_eq!(params["notifications"], json!({"toolsListChanged": true}));
        assert_eq!(params["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-12-01");
        let id = json!(id);
        far.write(format!(r#"{{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#)).await;
        far.idle().await;
    });
    let (connection, mut events) = open([far], &patient()).await;
    let _open = connection.unwrap();
    while let Some(event) = events.next().await {
        if event == ConnectionEvent::ToolsChanged {
            return;
        }
    }
    panic!("not told");
}

#[tokio::test]
async fn a_request_can_be_repeated_under_an_earlier_revision() {
    let far = script(|mut far| async move {
        far.greet(&["2025-11-25", "2026-07-28", "2026-12-01"]).await;
        let (id, _, params) = far.request().await.unwrap();
        assert_eq!(params.to_value()["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        far.answer(&id, r#"{"tools":[{"name":"old","inputSchema":{"type":"object"}}]}"#).await;
        far.idle().await;
    });
    let (connection, _events) = open([far], &patient()).await;
    let connection = connection.unwrap();
    assert!(connection.under(Revision::V2025_11_25).is_none());
    let earlier = connection.under(Revision::V2026_07_28).unwrap();
    let (page, _) = earlier.list_tools().await.unwrap();
    assert_eq!((page.tools.len(), page.rejected.len()), (1, 0));
}
