//! The sample server over HTTP: what comes out is what comes out over standard output, and strangers stay outside.

use expect_test::{Expect, expect};
use reqwest::{
    Client, StatusCode,
    header::{CONTENT_TYPE, HOST, ORIGIN},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, ChildStderr, Command},
};
use usher_host::connection::{
    CallError, CallOptions, Connection, ConnectionOptions, HttpSpec, PathSource, Progress, ServerSpec,
    StdioSpec, events,
};
use usher_protocol::{
    Revision,
    codec::{CallRequest, decode_outcome},
    model::{OutcomeBody, Selector},
};
use usher_tests::stage::within;

use super::CHILD;

/// A sample server at a port of its own, which ends with the test.
pub(super) struct Served {
    pub(super) url: String,
    _child: Child,
    // A server that nobody listens to may fail when it speaks.
    _stderr: BufReader<ChildStderr>,
}

impl Served {
    pub(super) async fn start(switches: &[&str]) -> Self {
        let mut child = Command::new(CHILD)
            .args(["sample-server", "--http"])
            .args(switches)
            .stdin(std::process::Stdio::null())
            .stderr(std::process::Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        within(stderr.read_line(&mut line)).await.unwrap();
        let url = line.trim().rsplit(' ').next().unwrap().to_owned();
        assert!(url.starts_with("http://127.0.0.1:"), "{line}");
        Self { url, _child: child, _stderr: stderr }
    }

    fn spec(&self) -> ServerSpec {
        HttpSpec { url: self.url.clone(), ..HttpSpec::default() }.into()
    }

    async fn open(&self, options: ConnectionOptions) -> Connection {
        open(&self.spec(), options).await
    }

    /// A request as a program or a page sends it.
    fn post(&self, body: &Value) -> reqwest::RequestBuilder {
        Client::new()
            .post(&self.url)
            .header(CONTENT_TYPE, "application/json")
            .header("accept", "application/json, text/event-stream")
            .body(body.to_string())
    }
}

async fn open(spec: &ServerSpec, options: ConnectionOptions) -> Connection {
    let options = ConnectionOptions { path: PathSource::Inherited, ..options };
    let (sender, receiver) = events();
    drop(receiver);
    within(Connection::open(spec, &options, sender)).await.unwrap()
}

fn stdio(switches: &[&str]) -> ServerSpec {
    let args = std::iter::once("sample-server").chain(switches.iter().copied()).map(str::to_owned).collect();
    StdioSpec { command: CHILD.to_owned(), args, ..StdioSpec::default() }.into()
}

fn request(tool: &str, arguments: Value, requested: Option<&[Selector]>) -> CallRequest {
    CallRequest {
        name: tool.to_owned(),
        arguments: arguments.into(),
        requested: requested.map(<[_]>::to_vec),
    }
}

/// The calls of the proposal's test plan, below everything that selects and routes.
fn calls() -> Vec<CallRequest> {
    let search =
        |requested: Option<&[Selector]>| request("search_customers", json!({"query": "Globex"}), requested);
    vec![
        // P01, P02, P03, P05, P06
        search(Some(&[Selector::ASSISTANT_CONTENT])),
        search(Some(&[Selector::PROGRAMMATIC])),
        search(Some(&[Selector::ASSISTANT_STRUCTURED])),
        search(Some(&[Selector::ASSISTANT_CONTENT, Selector::USER_STRUCTURED])),
        search(Some(&[Selector::ASSISTANT_CONTENT, Selector::ui()])),
        // P04
        request("make_images", json!({"prompt": "the sea"}), Some(&[Selector::USER_CONTENT])),
        // P08, P09
        request("refresh_dashboard", json!({}), Some(&[Selector::ui()])),
        request("refresh_dashboard", json!({}), None),
        // P10
        search(Some(&[Selector::USER_CONTENT])),
        search(Some(&[Selector::PROGRAMMATIC, Selector::PROGRAMMATIC])),
        // An error that helps, and one of the protocol.
        request("open_ticket", json!({"subject": "x"}), None),
        request("no_such_tool", json!({}), None),
    ]
}

/// Everything that a server says to a client: its tools, what it refused of them, and what each call became.
async fn said(connection: &Connection) -> Vec<String> {
    let (page, defects) = connection.list_tools().await.unwrap();
    let mut said: Vec<String> = page.tools.iter().map(|it| it.raw.to_string()).collect();
    said.extend(page.rejected.iter().map(|it| format!("rejected {} {:?}", it.name, it.rule)));
    said.extend(defects.iter().map(|it| it.message.clone()));
    for call in calls() {
        said.push(match within(connection.call(&call, CallOptions::default())).await {
            Ok(raw) => raw.to_string(),
            Err(CallError::Server { code, message, .. }) => format!("{code} {message}"),
            Err(other) => panic!("{other}"),
        });
    }
    said
}

/// P01 to P15, as far as a server has a part in them: declarations, selections, projections and refusals are the same to the byte.
#[tokio::test]
async fn the_plan_has_the_same_outcome_over_both_transports() {
    for revision in Revision::ALL {
        let only = ["--canaries", "k", "--only", revision.as_str()];
        let options = ConnectionOptions { newest: revision, ..ConnectionOptions::default() };
        let served = Served::start(&only).await;
        let over_http = served.open(options.clone()).await;
        let over_stdio = open(&stdio(&only), options).await;
        assert_eq!((over_http.revision(), over_stdio.revision()), (revision, revision));
        let (left, right) = (said(&over_http).await, said(&over_stdio).await);
        assert_eq!(left, right, "{revision}");
        assert!(left.iter().any(|it| it.contains("Globex")), "{revision}");
        over_http.close().await;
        over_stdio.close().await;
    }
}

/// P07, P11, P14 and P15: what is wrong with a server is as wrong over HTTP.
#[tokio::test]
async fn defects_have_the_same_outcome_over_both_transports() {
    for switches in [
        ["--no-assistant-content"].as_slice(),
        &["--violate-programmatic"],
        &["--violate-ui"],
        &["--no-output-variants"],
        &["--unrequested-output", "--meta-secrets"],
    ] {
        let served = Served::start(switches).await;
        let over_http = served.open(ConnectionOptions::default()).await;
        let over_stdio = open(&stdio(switches), ConnectionOptions::default()).await;
        assert_eq!(said(&over_http).await, said(&over_stdio).await, "{switches:?}");
        over_http.close().await;
        over_stdio.close().await;
    }
}

#[tokio::test]
async fn servers_of_the_handshake_are_found_over_http() {
    for (switches, revision) in [
        (["--only", "2025-11-25"].as_slice(), Revision::V2025_11_25),
        (&["--only", "2025-03-26"], Revision::V2025_03_26),
        (&["--discover-empty"], Revision::V2025_11_25),
        (&["--only", "2026-07-28"], Revision::V2026_07_28),
        (&[], Revision::NEWEST),
    ] {
        let served = Served::start(switches).await;
        let connection = served.open(ConnectionOptions::default()).await;
        assert_eq!(connection.revision(), revision, "{switches:?}");
        let call = request("search_customers", json!({"query": "Globex"}), None);
        let raw = within(connection.call(&call, CallOptions::default())).await.unwrap();
        let (outcome, _) = decode_outcome(revision, &raw).unwrap();
        assert!(
            !outcome.is_error
                && !matches!(outcome.body, OutcomeBody::Outputs { ref parts, .. } if parts.is_empty())
        );
        connection.close().await;
    }
}

#[tokio::test]
async fn progress_comes_before_the_answer() {
    for revision in [Revision::V2025_06_18, Revision::NEWEST] {
        let served = Served::start(&["--only", revision.as_str()]).await;
        let connection = served.open(ConnectionOptions::default()).await;
        let (tell, mut told) = tokio::sync::mpsc::channel::<Progress>(16);
        let options = CallOptions { progress: Some(tell), ..CallOptions::default() };
        let call = request("slow_report", json!({"seconds": 0, "steps": 3}), None);
        within(connection.call(&call, options)).await.unwrap();
        let mut messages = Vec::new();
        while let Ok(progress) = told.try_recv() {
            messages.extend(progress.message);
        }
        assert_eq!(messages, ["step 1 of 3", "step 2 of 3", "step 3 of 3"], "{revision}");
        connection.close().await;
    }
}

/// The `_meta` of a request that says its own revision.
fn discover() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": Revision::NEWEST,
        "io.modelcontextprotocol/clientCapabilities": {}}}})
}

/// A page that had its name point to this machine, or that simply knows the port.
#[tokio::test]
async fn pages_of_other_places_are_refused() {
    let served = Served::start(&[]).await;
    let right = |host: Option<&str>, origin: Option<&str>| {
        let mut request = served
            .post(&discover())
            .header("mcp-protocol-version", Revision::NEWEST.as_str())
            .header("mcp-method", "server/discover");
        if let Some(host) = host {
            request = request.header(HOST, host);
        }
        if let Some(origin) = origin {
            request = request.header(ORIGIN, origin);
        }
        request.send()
    };
    for (host, origin, expected) in [
        (None, None, StatusCode::OK),
        (None, Some("http://localhost:5173"), StatusCode::OK),
        (Some("rebound.example"), None, StatusCode::FORBIDDEN),
        (Some("rebound.example"), Some("http://rebound.example"), StatusCode::FORBIDDEN),
        (None, Some("https://evil.example"), StatusCode::FORBIDDEN),
        (None, Some("null"), StatusCode::FORBIDDEN),
    ] {
        let answer = right(host, origin).await.unwrap();
        assert_eq!(answer.status(), expected, "{host:?} {origin:?}");
        let text = answer.text().await.unwrap();
        assert_eq!(text.contains("supportedVersions"), expected == StatusCode::OK, "{text}");
    }
    // What a page can send without asking first: a form.
    let form = served.post(&discover()).header(CONTENT_TYPE, "text/plain");
    let form = form.build().unwrap();
    let mut plain = reqwest::Request::new(reqwest::Method::POST, form.url().clone());
    plain.headers_mut().insert(CONTENT_TYPE, "text/plain".parse().unwrap());
    *plain.body_mut() = Some(discover().to_string().into());
    let refused = Client::new().execute(plain).await.unwrap();
    assert_eq!(refused.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
}

/// The status and the error of what is asked wrongly.
#[tokio::test]
async fn what_is_asked_wrongly_has_a_status_and_a_code() {
    let served = Served::start(&[]).await;
    let mut lines = Vec::new();
    let mut note = async |name: &str, request: reqwest::RequestBuilder| {
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let body: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap_or_default();
        lines.push(format!("{name}: {status} {}", body["error"]["code"]));
    };
    let newest = Revision::NEWEST.as_str();
    let with = |body: &Value, version: &str, method: &str| {
        served.post(body).header("mcp-protocol-version", version).header("mcp-method", method)
    };
    let asked = |method: &str| {
        let mut body = discover();
        body["method"] = json!(method);
        body
    };
    let mut unknown = discover();
    unknown["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2027-01-01");
    note("no headers", served.post(&discover())).await;
    note("another method", with(&discover(), newest, "tools/list")).await;
    note("another revision", with(&discover(), "2026-07-28", "server/discover")).await;
    note("an unknown revision", with(&unknown, "2027-01-01", "server/discover")).await;
    note("no meta", served.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}))).await;
    note("an unknown method", with(&asked("x/y"), newest, "x/y")).await;
    note("a method of the handshake", with(&asked("ping"), newest, "ping")).await;
    note("not JSON", served.post(&Value::Null).body("{")).await;
    note("a batch", served.post(&json!([discover()]))).await;
    note("an answer", served.post(&json!({"jsonrpc": "2.0", "id": 1, "result": {}}))).await;
    note("a notification", served.post(&json!({"jsonrpc": "2.0", "method": "notifications/x"}))).await;
    note("an unknown session", served.post(&discover()).header("mcp-session-id", "x")).await;
    note("GET", Client::new().get(&served.url)).await;
    note("DELETE", Client::new().delete(&served.url)).await;
    note("another path", Client::new().get(format!("{}/x", served.url))).await;
    let long = "x".repeat(17 << 20);
    note("a long body", served.post(&Value::Null).body(long)).await;
    check(
        &lines,
        expect![[r#"
        no headers: 400 -32020
        another method: 400 -32020
        another revision: 400 -32020
        an unknown revision: 400 -32022
        no meta: 400 -32602
        an unknown method: 404 -32601
        a method of the handshake: 404 -32601
        not JSON: 400 -32700
        a batch: 400 -32700
        an answer: 400 -32600
        a notification: 202 null
        an unknown session: 404 -32600
        GET: 405 null
        DELETE: 405 null
        another path: 404 null
        a long body: 413 -32600"#]],
    );
}

fn check(lines: &[String], expected: Expect) {
    expected.assert_eq(&lines.join("\n"));
}

/// The events of a stream that were read so far, until one holds the text.
async fn until(stream: &mut reqwest::Response, text: &str) -> String {
    let mut read = String::new();
    while !read.contains(text) {
        let chunk = within(stream.chunk()).await.unwrap();
        read.push_str(&String::from_utf8_lossy(&chunk.unwrap_or_else(|| panic!("{read}"))));
    }
    read
}

#[tokio::test]
async fn a_session_ends_and_a_broken_stream_is_taken_up_again() {
    let served = Served::start(&[]).await;
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let opened = served.post(&hello).send().await.unwrap();
    let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let slow = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "slow_report", "arguments": {"seconds": 1, "steps": 4}, "_meta": {"progressToken": "p"}}});
    let mut stream = served.post(&slow).header("mcp-session-id", &session).send().await.unwrap();
    assert_eq!(stream.headers()[CONTENT_TYPE], "text/event-stream");
    let read = until(&mut stream, "step 2 of 4").await;
    let last = read.lines().filter_map(|it| it.strip_prefix("id: ")).next_back().unwrap().to_owned();
    drop(stream);
    let resumed = Client::new().get(&served.url).header("mcp-session-id", &session);
    let mut resumed = resumed.header("last-event-id", &last).send().await.unwrap();
    let rest = until(&mut resumed, "The report is done").await;
    assert!(!rest.contains("step 1 of 4") && rest.contains("step 4 of 4"), "{rest}");
    let delete = Client::new().delete(&served.url).header("mcp-session-id", &session).send().await.unwrap();
    assert_eq!(delete.status(), StatusCode::NO_CONTENT);
    let gone = served.post(&slow).header("mcp-session-id", &session).send().await.unwrap();
    assert_eq!(gone.status(), StatusCode::NOT_FOUND);
}

/// A server that was started again knows no session of before: the next call has a new one, and nobody is told of a failure.
#[tokio::test]
async fn a_call_survives_a_server_that_forgot_its_session() {
    let mut served = Served::start(&["--only", "2025-11-25"]).await;
    let connection = served.open(ConnectionOptions::default()).await;
    let search = request("search_customers", json!({"query": "Globex"}), None);
    let first = within(connection.call(&search, CallOptions::default())).await.unwrap();
    let address = served.url.trim_start_matches("http://").split('/').next().unwrap().to_owned();
    served._child.kill().await.unwrap();
    let _again = Served::start(&[address.as_str(), "--only", "2025-11-25"]).await;
    let second = within(connection.call(&search, CallOptions::default())).await.unwrap();
    assert_eq!(first.get(), second.get());
    connection.close().await;
}

#[tokio::test]
async fn who_listens_is_told_what_it_asked_for() {
    let served = Served::start(&["--conformance-fixtures"]).await;
    let meta = discover()["params"]["_meta"].clone();
    let send = |id: &str, method: &str, mut params: Value| {
        params["_meta"] = meta.clone();
        let name = params["name"].as_str().map(str::to_owned);
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let request = served.post(&body).header("mcp-protocol-version", Revision::NEWEST.as_str());
        let request = request.header("mcp-method", method);
        name.iter().fold(request, |it, name| it.header("mcp-name", name)).send()
    };
    let wanted = json!({"notifications": {"promptsListChanged": true}});
    let mut stream = send("listen", "subscriptions/listen", wanted).await.unwrap();
    let first = until(&mut stream, "\n\n").await;
    assert!(first.contains("notifications/subscriptions/acknowledged"), "{first}");
    for tool in ["test_trigger_tool_change", "test_trigger_prompt_change"] {
        send("call", "tools/call", json!({"name": tool, "arguments": {}})).await.unwrap();
    }
    let told = until(&mut stream, "list_changed").await;
    expect![[r#"
        data: {"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"listen"}}}

    "#]]
    .assert_eq(&told);
}
