//! What a View is told and when: how its call ended, how far its own calls are, which lists changed; and that what it gives up ends.

use expect_test::expect;
use serde_json::json;
use usher_engine::{Mode, selection::Consumers};
use usher_host::conversation::{CallState, Channel, HostEvent, ViewOutcome, ViewReply};
use usher_protocol::Revision;
use usher_tests::{
    scripted_server::{LINK, Script, document},
    stage::{SERVER, Setting, Stage, model_that_calls, request_id, within},
};

use super::{
    CHILD,
    scene::{Scene, legacy},
};

/// A server that knows the extension.
const DISCOVERED: &str = r#"{"resultType":"complete","supportedVersions":["2026-12-01"],"ttlMs":0,"cacheScope":"private",
    "capabilities":{"tools":{},"resources":{},"extensions":{"io.modelcontextprotocol/ui":{}}},
    "serverInfo":{"name":"scripted","version":"1"}}"#;

#[tokio::test]
async fn what_a_view_gives_up_is_cancelled_at_its_server_and_progress_has_its_own_token() {
    let scene = Scene::open(legacy().view("<p>hello</p>", None).dripping("slow")).await;
    let view = scene.view().await;
    let host = &scene.stage.host;
    let id = request_id();
    let params = r#"{"name":"slow","_meta":{"progressToken":9007199254740993}}"#;
    let give_up = async {
        let told = scene
            .stage
            .told(|event| match event {
                HostEvent::ViewMessage { view_id, method, params } if *view_id == view => {
                    Some((method.clone(), params.clone()))
                }
                _ => None,
            })
            .await;
        assert_eq!(told.0, "notifications/progress");
        assert!(told.1.starts_with(r#"{"progressToken":9007199254740993,"#), "{}", told.1);
        // The id of an open request is not another's.
        let twice = host.view_request(&view, id, "ping", "").await.unwrap();
        assert!(matches!(twice, ViewReply::Error(_)), "{twice:?}");
        host.cancel_view_request("another", id);
        host.cancel_view_request(&view, id);
    };
    let (reply, ()) =
        futures::future::join(within(host.view_request(&view, id, "tools/call", params)), give_up).await;
    assert!(matches!(reply.unwrap(), ViewReply::Error(_)));
    let calls = scene.stage.opened(&scene.conversation).await.calls;
    let own = calls.values().find(|it| it.tool == "slow").unwrap();
    assert_eq!(own.state, CallState::Cancelled);
    assert_eq!(scene.on_the_wire("notifications/cancelled"), 1);
    assert!(matches!(scene.ask(&view, "ping", &json!({})).await, ViewReply::Result(_)));
}

#[tokio::test]
async fn a_reading_that_a_view_gives_up_is_cancelled_at_its_server() {
    let script = legacy().view("<p>hello</p>", None).silent("resources/read ui://a/never");
    let scene = Scene::open(script).await;
    let view = scene.view().await;
    let (host, id) = (&scene.stage.host, request_id());
    let asked = scene.on_the_wire("resources/read");
    let read = within(host.view_request(&view, id, "resources/read", r#"{"uri":"ui://a/never"}"#));
    let give_up = async {
        while scene.on_the_wire("resources/read") == asked {
            tokio::task::yield_now().await;
        }
        host.cancel_view_request(&view, id);
    };
    let (reply, ()) = futures::future::join(read, give_up).await;
    assert!(matches!(reply.unwrap(), ViewReply::Error(_)));
    within(async {
        while scene.on_the_wire("notifications/cancelled") == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn every_view_of_a_call_is_told_how_it_ended_and_goes_with_its_page_or_its_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let mut script = Script::new("2025-11-25").view("<p>hello</p>", None);
    script = script.dripping("show");
    // The tool that never answers has a View.
    script.tools.clear();
    let tool = format!(r#"{{"name":"show","inputSchema":{{"type":"object"}},{}"#, &LINK[1..]);
    script.tools.push(serde_json::value::RawValue::from_string(tool).unwrap());
    let stage = Stage::open(&Setting::with(vec![script.cast(SERVER, CHILD, folder.path())])).await;
    stage.ready(SERVER).await;
    let model = model_that_calls("show", json!({})).await;
    let conversation = stage.conversation(Mode::App, &model).await;
    let host = &stage.host;
    let during = async {
        let call = stage.running_call().await;
        let launches = [host.open_view(&call).await.unwrap(), host.open_view(&call).await.unwrap()];
        assert!(launches.iter().all(|it| it.outcome.is_none()), "it runs");
        host.cancel_call(&call);
        let mut told = Vec::new();
        while told.len() < 2 {
            let next = stage.told(|event| match event {
                HostEvent::ViewMessage { view_id, method, params }
                    if method == "ui/notifications/tool-cancelled" && !told.contains(view_id) =>
                {
                    assert_eq!(params, r#"{"reason":"The call was cancelled."}"#);
                    Some(view_id.clone())
                }
                _ => None,
            });
            told.push(next.await);
        }
        (call, launches.map(|it| it.view_id))
    };
    let (_, (call, views)) = futures::future::join(stage.turn(&conversation, "Show it."), during).await;
    // One that is opened afterwards finds out at once.
    let late = host.open_view(&call).await.unwrap();
    assert_eq!(late.outcome, Some(ViewOutcome::Cancelled("The call was cancelled.".to_owned())));
    host.close_views();
    for view in &views {
        assert!(host.view_request(view, request_id(), "ping", "").await.is_err());
    }
    let again = host.open_view(&call).await.unwrap();
    host.delete_conversation(&conversation).await.unwrap();
    assert!(host.view_request(&again.view_id, request_id(), "ping", "").await.is_err());
    let at = again.url.trim_start_matches("mcpview://").trim_end_matches('/').to_owned();
    assert_eq!(host.view_document("GET", &at, "/").status, 404);
}

#[tokio::test]
async fn a_document_that_is_none_is_not_recorded_and_the_list_speaks_where_it_is_silent() {
    let bad = r#"{"contents":[{"uri":"ui://a/b","mimeType":"text/plain","text":"not yet"}]}"#;
    let listed = r#"{"resources":[{"uri":"ui://a/b","name":"b","_meta":{"ui":{"prefersBorder":false}}}]}"#;
    let scene = Scene::open(
        legacy()
            .method("resources/read", &[bad, &document("<p>hello</p>")])
            .method("resources/list", &[listed]),
    )
    .await;
    let error = scene.stage.host.open_view(&scene.call).await.unwrap_err();
    assert!(error.what.contains("text/plain"), "{}", error.what);
    let launch = scene.stage.host.open_view(&scene.call).await.unwrap();
    assert!(!launch.prefers_border, "what the list says counts");
    // From the record: nothing is asked of the server again, and the list still counts.
    let reads = scene.on_the_wire("resources/read");
    assert!(!scene.stage.host.open_view(&scene.call).await.unwrap().prefers_border);
    assert_eq!(scene.on_the_wire("resources/read"), reads);
}

#[tokio::test]
async fn a_view_has_every_list_of_its_server_whole() {
    let scene = Scene::open(
        legacy()
            .view("<p>hello</p>", None)
            .answering("resources/list", r#"{"resources":[{"uri":"x:1","name":"one"}]}"#)
            .method(
                "resources/templates/list",
                &[
                    r#"{"resourceTemplates":[{"uriTemplate":"x:{n}","name":"n"}],"nextCursor":"2"}"#,
                    r#"{"resourceTemplates":[{"uriTemplate":"y:{n}","name":"y"}]}"#,
                ],
            )
            .answering("prompts/list", r#"{"prompts":[{"name":"hello"}],"_meta":{"secret":1}}"#),
    )
    .await;
    let view = scene.view().await;
    let mut lists = Vec::new();
    for method in ["resources/list", "resources/templates/list", "prompts/list"] {
        match scene.ask(&view, method, &json!({})).await {
            ViewReply::Result(list) => lists.push(list.get().to_owned()),
            ViewReply::Error(error) => panic!("{method}: {error}"),
        }
    }
    assert_eq!(
        lists,
        [
            r#"{"resources":[{"uri":"x:1","name":"one"}]}"#,
            r#"{"resourceTemplates":[{"uriTemplate":"x:{n}","name":"n"},{"uriTemplate":"y:{n}","name":"y"}]}"#,
            r#"{"prompts":[{"name":"hello"}]}"#
        ]
    );
}

#[tokio::test]
async fn a_view_is_told_when_a_list_of_its_server_changed() {
    const CHANGES: [&str; 3] = [
        "notifications/tools/list_changed",
        "notifications/resources/list_changed",
        "notifications/prompts/list_changed",
    ];
    let script = legacy().view("<p>hello</p>", None);
    let scene =
        Scene::open(script.tool("change", "{}", r#"{"content":[]}"#).telling("change", &CHANGES)).await;
    let view = scene.view().await;
    let told = async {
        let mut told = Vec::new();
        while told.len() < CHANGES.len() {
            let next = scene.stage.told(|event| match event {
                HostEvent::ViewMessage { view_id, method, params }
                    if *view_id == view && params == "{}" && !told.contains(method) =>
                {
                    Some(method.clone())
                }
                _ => None,
            });
            told.push(next.await);
        }
        told.sort();
        told
    };
    let call = json!({"name": "change"});
    let (reply, told) = futures::future::join(scene.ask(&view, "tools/call", &call), told).await;
    assert!(matches!(reply, ViewReply::Result(_)), "{reply:?}");
    let mut all = CHANGES.map(str::to_owned);
    all.sort();
    assert_eq!(told, all);
}

#[tokio::test]
async fn what_a_view_gives_up_before_it_comes_is_not_begun() {
    let scene = Scene::open(legacy().view("<p>hello</p>", None)).await;
    let view = scene.view().await;
    let (before, id) = (scene.on_the_wire("tools/call"), request_id() + 1_000_000);
    scene.stage.host.cancel_view_request(&view, id);
    let reply = within(scene.stage.host.view_request(&view, id, "tools/call", r#"{"name":"show"}"#)).await;
    assert!(matches!(reply.unwrap(), ViewReply::Error(_)));
    assert_eq!(scene.on_the_wire("tools/call"), before);
    // An id that was used is not given up in advance.
    scene.stage.host.cancel_view_request(&view, id);
    let reply = within(scene.stage.host.view_request(&view, id, "ping", "")).await.unwrap();
    assert!(matches!(reply, ViewReply::Result(_)), "{reply:?}");
}

/// A call of 2026-12-01 that brings nothing for the View ends for it all the same, and nothing takes the output's place (H27).
#[tokio::test]
async fn a_call_without_an_output_for_the_view_ends_for_it_too() {
    let declaration = format!(
        r#"{{"outputVariants":[{{"audience":"assistant","format":"content"}},{{"audience":"io.modelcontextprotocol/ui","format":"structured"}}],{}"#,
        &LINK[1..]
    );
    let for_model =
        r#"{"audience":"assistant","format":"content","content":[{"type":"text","text":"CANARY"}]}"#;
    for (is_error, expected) in [
        (false, ViewOutcome::Cancelled("The tool sent nothing for its View.".to_owned())),
        (
            true,
            ViewOutcome::Result(
                json!({"audience": "io.modelcontextprotocol/ui", "format": "structured", "content": [], "isError": true})
                    .into(),
            ),
        ),
    ] {
        let result = format!(r#"{{"resultType":"complete","isError":{is_error},"outputs":[{for_model}]}}"#);
        let script = Script::new("2026-12-01")
            .answering("server/discover", DISCOVERED)
            .tool("show", &declaration, &result);
        let scene = Scene::open(script.view("<p>hello</p>", None)).await;
        let launch = scene.stage.host.open_view(&scene.call).await.unwrap();
        assert_eq!(launch.outcome, Some(expected));
        // The same from the View's own call.
        let reply = scene.ask(&launch.view_id, "tools/call", &json!({"name": "show"})).await;
        assert_eq!(matches!(reply, ViewReply::Result(_)), is_error, "{reply:?}");
        assert!(!format!("{reply:?}").contains("CANARY"));
    }
}

/// What the View of a tool is handed for `result`, by the model's call and by its own.
async fn handed(revision: Revision, declaration: &str, result: &str) -> [String; 2] {
    let script = Script::new(&revision.to_string()).tool("show", declaration, result);
    let discovered = DISCOVERED.replace("2026-12-01", &revision.to_string());
    let script = script.answering("server/discover", &discovered).view("<p>hello</p>", None);
    let scene = Scene::open(script).await;
    let launch = scene.stage.host.open_view(&scene.call).await.unwrap();
    let pushed = launch.result().unwrap().get().to_owned();
    match scene.ask(&launch.view_id, "tools/call", &json!({"name": "show"})).await {
        ViewReply::Result(own) => [pushed, own.get().to_owned()],
        ViewReply::Error(error) => panic!("{revision}: {error}"),
    }
}

/// The protocol version decides, and not what a result looks like: under each earlier one the View has the whole result as it came, in
/// which something that looks like outputs is no signal (H29); from 2026-12-01 on it has its own output alone (H28).
#[tokio::test]
async fn h28_h29_each_revision_decides_what_a_view_is_handed() {
    let outputs = r#""outputs":[
        {"audience":"assistant","format":"content","content":[{"type":"text","text":"CANARY-A"}]},
        {"audience":"user","format":"structured","structuredContent":{"for":"CANARY-U"}},
        {"audience":"programmatic","format":"structured","structuredContent":{"for":"CANARY-P"}},
        {"audience":"io.modelcontextprotocol/ui","format":"structured","structuredContent":{"n":9007199254740993}}]"#;
    let meta = r#""_meta":{"io.modelcontextprotocol/ui":{"m":1},"other":"CANARY-M"}"#;
    let text = r#""content":[{"type":"text","text":"for all"}]"#;
    for revision in Revision::ALL {
        let complete = if revision.has_result_type() { r#""resultType":"complete","# } else { "" };
        if revision.has_output_variants() {
            let declaration = format!(
                r#"{{"outputVariants":[{{"audience":"assistant","format":"content"}},{{"audience":"user","format":"structured"}},
                {{"audience":"programmatic","format":"structured"}},{{"audience":"io.modelcontextprotocol/ui","format":"structured"}}],{}"#,
                &LINK[1..]
            );
            let result = format!("{{{complete}{outputs},{meta}}}");
            for own in handed(revision, &declaration, &result).await {
                expect![[r#"{"audience":"io.modelcontextprotocol/ui","format":"structured","content":[],"structuredContent":{"n":9007199254740993},"_meta":{"io.modelcontextprotocol/ui":{"m":1}}}"#]]
                    .assert_eq(&own);
            }
        } else {
            let result = format!(
                "{{{complete}{text},\"structuredContent\":{{\"n\":9007199254740993}},{meta},{outputs}}}"
            );
            let came = result.replace('\n', " ");
            let declaration =
                format!(r#"{{"outputVariants":[{{"audience":"user","format":"structured"}}],{}"#, &LINK[1..]);
            for whole in handed(revision, &declaration, &result).await {
                assert_eq!(whole, came, "{revision}");
            }
        }
    }
}

/// A refusal of the View's own server keeps its code, and says whose it is; what stands beside it does not cross. The host's own
/// refusals carry no such mark.
#[tokio::test]
async fn the_code_of_a_servers_error_reaches_the_view_and_is_told_from_the_hosts() {
    let script = legacy().refusing("broken", "{}", -32099, "no such region");
    let scene = Scene::open(script.view("<p>hello</p>", None)).await;
    let view = scene.view().await;
    let mut told = Vec::new();
    for (method, params) in [
        ("tools/call", json!({"name": "broken"})),
        ("resources/read", json!({"uri": "x:none"})),
        ("tools/call", json!({"name": "none"})),
        ("tools/none", json!({})),
    ] {
        match scene.ask(&view, method, &params).await {
            ViewReply::Error(it) => told.push((it.code, it.data.map(|it| it.get().to_owned()), it.message)),
            ViewReply::Result(result) => panic!("{method}: {result}"),
        }
    }
    let server = Some(r#"{"from":"server"}"#.to_owned());
    assert_eq!((told[0].0, &told[0].1), (-32099, &server));
    assert!(told[0].2.contains("no such region"), "{}", told[0].2);
    assert_eq!(&told[1].1, &server, "{told:?}");
    assert_eq!((told[2].0, &told[2].1), (-32602, &None));
    assert_eq!((told[3].0, &told[3].1), (-32601, &None));
}

/// The flat form of the link, of older servers, opens a View by itself; where both stand, the nested one counts.
#[tokio::test]
async fn x4_the_flat_link_opens_a_view_by_itself() {
    for link in [
        r#"{"_meta":{"ui/resourceUri":"ui://a/b"}}"#,
        r#"{"_meta":{"ui":{"resourceUri":"ui://a/b"},"ui/resourceUri":"ui://a/other"}}"#,
    ] {
        let script = Script::new("2025-11-25").tool("show", link, r#"{"content":[]}"#);
        let scene = Scene::open(script.view("<p>flat</p>", None)).await;
        let launch = scene.stage.host.open_view(&scene.call).await.unwrap();
        let at = launch.origin.trim_start_matches("mcpview://").to_owned();
        assert_eq!(scene.stage.host.view_document("GET", &at, "/").status, 200, "{link}");
    }
    // A link that leads to no View of a server opens none.
    let script = Script::new("2025-11-25").tool(
        "show",
        r#"{"_meta":{"ui/resourceUri":"https://a.example/"}}"#,
        r#"{"content":[]}"#,
    );
    let scene = Scene::open(script.view("<p>flat</p>", None)).await;
    assert!(scene.stage.host.open_view(&scene.call).await.is_err());
}

/// Where no View can be shown, as in a terminal, the extension is neither advertised nor negotiated, and nothing is asked for Views.
#[tokio::test]
async fn x7_without_a_frame_for_views_none_is_advertised() {
    for (consumers, expected) in [(Consumers::WINDOW, true), (Consumers::TERMINAL, false)] {
        for revision in [Revision::V2025_11_25, Revision::NEWEST] {
            let mut setting = Setting::sample::<&str>(CHILD, &[]);
            setting.consumers = consumers;
            setting.connection.newest = revision;
            let stage = Stage::open(&setting).await;
            let status = stage.ready(SERVER).await;
            let lines = stage.host.wire_lines(Some(SERVER), 0, 10_000);
            let sent: Vec<&str> = lines
                .iter()
                .filter(|it| it.channel == Channel::ToServer)
                .map(|it| it.text.as_str())
                .collect();
            let named = sent.iter().any(|it| it.contains("io.modelcontextprotocol/ui"));
            assert!(!sent.is_empty());
            assert_eq!(named, expected, "{revision}: {sent:?}");
            let lists = |name: &str| status.tools.iter().any(|it| it.tool.name == name);
            assert_eq!((lists("show_dashboard"), lists("refresh_dashboard")), (true, expected), "{revision}");
        }
    }
}

/// What is mended so that a View can start, and what its SDK may not take, is said to whoever builds the server.
#[tokio::test]
async fn what_a_view_is_told_otherwise_is_remarked_on_the_wire() {
    let declaration = r#"{"inputSchema":{"properties":{}},"outputVariants":[{"audience":"assistant","format":"content"},
        {"audience":"io.modelcontextprotocol/ui","format":"structured"}],"_meta":{"ui":{"resourceUri":"ui://a/b"}}}"#;
    let result = r#"{"resultType":"complete","outputs":[{"audience":"assistant","format":"content","content":[]},
        {"audience":"io.modelcontextprotocol/ui","format":"structured","structuredContent":[1]}]}"#;
    let script = Script::new("2026-12-01").answering("server/discover", DISCOVERED);
    let scene = Scene::open(script.tool("show", declaration, result).view("<p>hello</p>", None)).await;
    scene.view().await;
    let lines = scene.stage.host.wire_lines(Some(SERVER), 0, 10_000);
    let remarks: Vec<&str> = lines
        .iter()
        .filter(|it| it.channel == Channel::Host && it.title == "View")
        .map(|it| it.text.as_str())
        .collect();
    assert!(remarks.iter().any(|it| it.contains("inputSchema of show")), "{remarks:?}");
    assert!(remarks.iter().any(|it| it.contains("object") && !it.contains("inputSchema")), "{remarks:?}");
}
