//! The scenarios of `usher conformance`: the sample server and the product's own host pass all fifteen, and each scenario fails a server
//! and a client that do wrong what it is about.

use std::{
    collections::{BTreeMap, HashSet},
    process::Stdio,
    sync::{Arc, Mutex},
    time::Duration,
};

use expect_test::expect;
use serde_json::{Map, Value, json};
use usher_conformance::{
    Outcome, Scenario, ScenarioResult, Status,
    client::{self, Over},
    server,
};
use usher_host::connection::{ConnectionOptions, HttpSpec, PathSource, ServerSpec, StdioSpec};
use usher_protocol::{
    RawJson, Revision,
    common::ContentBlock,
    jsonrpc::{ErrorObject, Id, Message},
    model::{OutputPart, Payload, Selector, UiLink},
};
use usher_server::{Frame, Interference, Ran, Server, ToolBuilder, Turn, http};

use super::CHILD;

fn options() -> server::Options {
    let given = [
        ("search_customers", json!({"query": "Globex"})),
        ("list_events", json!({"rows": 3})),
        ("slow_report", json!({"seconds": 0, "steps": 1})),
    ];
    server::Options {
        connection: ConnectionOptions { path: PathSource::Inherited, ..ConnectionOptions::default() },
        given: given.into_iter().map(|(tool, args)| (tool.to_owned(), RawJson::from(args))).collect(),
        ..server::Options::default()
    }
}

/// For servers that have other tools than the sample server.
fn without_arguments() -> server::Options {
    server::Options { given: BTreeMap::new(), ..options() }
}

fn sample(switches: &[&str]) -> ServerSpec {
    let args = ["sample-server"].iter().chain(switches).map(|it| (*it).to_owned()).collect();
    StdioSpec { command: CHILD.to_owned(), args, ..StdioSpec::default() }.into()
}

/// The scenarios that did not pass, each with the requirements that it names.
fn not_passed(results: &[ScenarioResult]) -> String {
    let line = |it: &ScenarioResult| {
        let failed = it.checks.iter().filter(|it| it.status == Status::Failure);
        let mut names: Vec<&str> = failed.map(|it| it.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let why = it.skipped.as_deref().unwrap_or_default();
        format!("{} {:?} {}{why}", it.scenario.id(), it.outcome(), names.join(" "))
    };
    let bad = results.iter().filter(|it| it.outcome() != Outcome::Passed);
    bad.map(|it| line(it).trim().to_owned()).collect::<Vec<_>>().join("\n")
}

/// The requirements that the document names for a scenario and no check is named after. `column` is that of the table.
fn not_measured(results: &[ScenarioResult], column: usize) -> Vec<String> {
    let document = include_str!("../../docs/conformance.md");
    let rows = document.lines().filter(|it| it.starts_with("| `sep-3279-"));
    let rows: Vec<Vec<&str>> = rows.map(|it| it.split('|').map(str::trim).collect()).collect();
    assert_eq!(rows.len(), Scenario::ALL.len());
    let missing = |it: &ScenarioResult| {
        let row = rows.iter().find(|row| row[1].trim_matches('`') == it.scenario.name()).unwrap();
        let named =
            row[column].split_whitespace().filter(|rule| it.checks.iter().all(|it| it.name != **rule));
        named.map(|rule| format!("{} {rule}", it.scenario.id())).collect::<Vec<_>>()
    };
    results.iter().flat_map(missing).collect()
}

#[tokio::test]
async fn the_sample_server_passes_over_standard_input_and_over_http() {
    let results = server::measure(&sample(&[]), &options()).await.unwrap();
    assert_eq!((not_passed(&results), results.len()), (String::new(), 15));
    assert_eq!(not_measured(&results, 3), [] as [&str; 0]);

    let mut child = tokio::process::Command::new(CHILD)
        .args(["sample-server", "--http"])
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines =
        tokio::io::AsyncBufReadExt::lines(tokio::io::BufReader::new(child.stderr.take().unwrap()));
    let said = lines.next_line().await.unwrap().unwrap();
    let url = said.split_whitespace().next_back().unwrap().to_owned();
    let results = server::measure(&HttpSpec { url, ..HttpSpec::default() }.into(), &options()).await.unwrap();
    assert_eq!((not_passed(&results), results.len()), (String::new(), 15));
    child.kill().await.unwrap();
}

#[tokio::test]
async fn what_does_not_apply_is_skipped_and_no_pass() {
    let old = server::measure(&sample(&["--only", "2025-11-25"]), &options()).await.unwrap();
    assert!(old.iter().all(|it| it.outcome() == Outcome::Skipped && it.checks.is_empty()));
    let mut options = options();
    options.only = ["make_images".to_owned()].into();
    options.given.insert("make_images".to_owned(), json!({"prompt": "the sea"}).into());
    let results = server::measure(&sample(&["--only", "2026-12-01"]), &options).await.unwrap();
    expect![[r#"
        P02 Skipped no tool declares programmatic/structured
        P03 Skipped no tool declares assistant/structured
        P05 Skipped no tool declares user/structured
        P06 Skipped no tool for models declares an output for a View, or the extension was not negotiated
        P08 Skipped no tool for Views only declares an output for a View
        P09 Skipped no tool is for Views only
        P11 Skipped no tool declares structured data
        P12 Skipped the server speaks no earlier revision
        P13 Skipped the server speaks no earlier revision"#]]
    .assert_eq(&not_passed(&results));
}

#[tokio::test]
async fn a_mistyped_tool_is_no_pass() {
    let told = async |options: server::Options| {
        let measured = server::measure(&sample(&["--only", "2026-12-01"]), &options).await;
        let error = measured.map(|it| not_passed(&it)).unwrap_err().to_string();
        error.split_inclusive('.').next().unwrap().to_owned()
    };
    let only = server::Options { only: ["serch".to_owned()].into(), ..options() };
    let given = BTreeMap::from([("mak_images".to_owned(), json!({}).into())]);
    let allowed = ["*".to_owned(), "delete_al".to_owned()].into();
    expect![[r#"
        There is no tool "serch" on this server.
        There is no tool "delete_al", "mak_images" on this server."#]]
    .assert_eq(&format!(
        "{}\n{}",
        told(only).await,
        told(server::Options { given, allowed, ..options() }).await
    ));
}

#[tokio::test]
async fn each_switch_of_the_sample_server_fails_its_scenario() {
    let mut options = options();
    options.only = ["search_customers".to_owned()].into();
    let mut lines = Vec::new();
    for switch in [
        "--no-assistant-content",
        "--duplicate-pair",
        "--unnegotiated-audience",
        "--no-output-variants",
        "--violate-assistant",
        "--violate-user",
        "--violate-programmatic",
        "--violate-ui",
        "--unrequested-output",
        "--mirrored-text",
        "--meta-secrets",
    ] {
        let results = server::measure(&sample(&[switch, "--only", "2026-12-01"]), &options).await.unwrap();
        let failed = results.into_iter().filter(|it| it.outcome() == Outcome::Failed).collect::<Vec<_>>();
        lines.push(format!("{switch} → {}", not_passed(&failed)));
    }
    expect![[r#"
        --no-assistant-content → P07 Failed S01
        --duplicate-pair → P07 Failed S01
        --unnegotiated-audience → P07 Failed S01
        --no-output-variants → P14 Failed S01
        --violate-assistant → P11 Failed S07
        --violate-user → P11 Failed S07
        --violate-programmatic → P11 Failed S07
        --violate-ui → P11 Failed S07
        --unrequested-output → P15 Failed S04 S05
        --mirrored-text → P15 Failed S08
        --meta-secrets → P15 Failed S14"#]]
    .assert_eq(&lines.join("\n"));
}

/// What a server does wrong in one scenario.
struct Wrong(Scenario);

impl Interference for Wrong {
    fn on_declaration(&self, _tool: &str, wire: &mut Value) {
        match (self.0, wire.get_mut("outputVariants").and_then(Value::as_array_mut)) {
            (Scenario::P07, Some(variants)) => {
                variants.retain(|it| it["format"] != "content" || it["audience"] != "assistant")
            }
            (Scenario::P14, Some(_)) => drop(wire.as_object_mut().unwrap().shift_remove("outputVariants")),
            (Scenario::P13, None) => {
                wire["outputSchema"] = json!({"type": "object", "required": ["another"]})
            }
            _ => {}
        }
    }

    fn on_outputs(&self, tool: &str, ran: &mut Ran, meta: &mut Map<String, Value>) {
        let sent: Vec<Selector> = ran.parts.iter().map(|it| it.selector.clone()).collect();
        let is = |selectors: &[Selector]| sent == selectors;
        let (content, ui) = (Selector::ASSISTANT_CONTENT, Selector::ui());
        let loses = match self.0 {
            Scenario::P01 => tool == "report" && is(&[content]),
            Scenario::P02 => is(&[Selector::PROGRAMMATIC]),
            Scenario::P03 => is(&[Selector::ASSISTANT_STRUCTURED]),
            Scenario::P04 => is(&[Selector::USER_CONTENT]),
            Scenario::P05 => is(&[Selector::USER_STRUCTURED]),
            Scenario::P06 => is(&[content, ui]),
            Scenario::P08 => tool == "refresh" && is(&[ui]),
            Scenario::P09 => tool == "refresh" && is(&[content]),
            _ => false,
        };
        if loses {
            ran.parts.pop();
        }
        if self.0 == Scenario::P11 {
            for part in ran.parts.iter_mut().filter(|it| it.selector == Selector::PROGRAMMATIC) {
                part.payload = Payload::Structured(json!({"rows": "none"}).into());
            }
        }
        if self.0 == Scenario::P15 && is(&[Selector::PROGRAMMATIC]) {
            let payload = Payload::Content(vec![ContentBlock::text("{\"rows\":1}")]);
            ran.parts.push(OutputPart { selector: Selector::ASSISTANT_CONTENT, payload, bytes: 0 });
            meta.insert("password".to_owned(), json!("hunter2"));
        }
    }

    fn on_answer(&self, answer: &Message) -> Vec<Frame> {
        let mut answer = answer.clone();
        if let (Scenario::P12, Message::Response { result, .. }) = (self.0, &mut answer) {
            let mut value = result.to_value();
            if value.get("outputs").is_none() {
                value["outputs"] = json!([]);
            }
            *result = value.into();
        }
        if let (Scenario::P10, Message::Error { id: Some(id), .. }) = (self.0, &answer) {
            let content = json!([{"type": "text", "text": "It was put right."}]);
            let outputs = json!([{"audience": "assistant", "format": "content", "content": content}]);
            let result = json!({"resultType": "complete", "outputs": outputs}).into();
            answer = Message::Response { id: id.clone(), result };
        }
        vec![Frame::of(&answer)]
    }
}

/// A server that refuses some calls, or lets them fail.
struct Withholds {
    /// Which, by their revision, where they name it, and their selection.
    is_meant: fn(&str, &Value) -> bool,
    lets_fail: bool,
    meant: Mutex<HashSet<Id>>,
}

impl Interference for Withholds {
    fn on_message(&self, message: &Message) {
        let Message::Request { id, method, params: Some(params) } = message else { return };
        let params = params.to_value();
        let revision = params["_meta"]["io.modelcontextprotocol/protocolVersion"].as_str();
        if method == "tools/call"
            && (self.is_meant)(revision.unwrap_or_default(), &params["requestedOutputs"])
        {
            self.meant.lock().unwrap().insert(id.clone());
        }
    }

    fn on_answer(&self, answer: &Message) -> Vec<Frame> {
        let Message::Response { id, result } = answer else { return vec![Frame::of(answer)] };
        if !self.meant.lock().unwrap().remove(id) {
            return vec![Frame::of(answer)];
        }
        let id = id.clone();
        let mut failed = result.to_value();
        failed["isError"] = json!(true);
        vec![Frame::of(&if self.lets_fail {
            Message::Response { id, result: failed.into() }
        } else {
            Message::Error { id: Some(id), error: ErrorObject::new(ErrorObject::INTERNAL, "not that") }
        })]
    }
}

/// A server whose tools cannot be listed.
struct Unlisted;

impl Interference for Unlisted {
    fn on_request(&self, method: &str, _is_first: bool) -> Turn {
        match method {
            "tools/list" => Turn::Answer(json!({"resultType": "complete", "tools": "all of them"}).into()),
            _ => Turn::Go,
        }
    }
}

/// A small server that declares everything, and is wrong in something if that is given.
async fn small(wrong: Option<impl Interference + 'static>) -> (ServerSpec, tokio::task::JoinHandle<()>) {
    let tool = |name: &str, visible_to_model: bool| {
        let schema = |rows: &str| json!({"type": "object", "properties": {"rows": {"type": rows}}, "required": ["rows"]});
        let rows = |_: &u32| Ok(json!({"rows": 1}).into());
        let words = |rows: &u32| vec![ContentBlock::text(format!("There is {rows} row in the report."))];
        let uri = Some("ui://small/view".to_owned());
        ToolBuilder::<u32>::new(name, "Reports.")
            .content(Selector::ASSISTANT_CONTENT, words)
            .structured(Selector::ASSISTANT_STRUCTURED, schema("integer"), rows)
            .content(Selector::USER_CONTENT, words)
            .structured(Selector::USER_STRUCTURED, schema("number"), rows)
            .structured(Selector::PROGRAMMATIC, schema("number"), rows)
            .structured(Selector::ui(), schema("integer"), rows)
            .view(UiLink { resource_uri: uri, visible_to_model, visible_to_app: true })
            .handler(|_| async { Ok(1) })
            .unwrap()
    };
    // P01 spoils what the earliest revision would be made of.
    let revisions = [Revision::V2025_11_25, Revision::V2026_07_28, Revision::V2026_12_01];
    let server = Server::new("small", "1")
        .revisions(&revisions)
        .tool(tool("report", true))
        .tool(tool("refresh", false));
    let server = match wrong {
        Some(wrong) => server.interfered(wrong),
        None => server,
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let options = http::HttpOptions::default();
    let url = http::url(listener.local_addr().unwrap(), &options);
    let task = tokio::spawn(async move { http::serve(Arc::new(server), listener, options).await.unwrap() });
    (HttpSpec { url, ..HttpSpec::default() }.into(), task)
}

#[tokio::test]
async fn each_scenario_fails_a_server_that_is_wrong_in_it_and_no_other_does() {
    let mut lines = Vec::new();
    for wrong in std::iter::once(None).chain(Scenario::ALL.iter().copied().map(Some)) {
        let (spec, task) = small(wrong.map(Wrong)).await;
        let results = server::measure(&spec, &without_arguments()).await.unwrap();
        let name = wrong.map_or("nothing", Scenario::id);
        // Where no declaration can be used, the other scenarios have nothing to look at.
        let failed: Vec<_> = results.into_iter().filter(|it| it.outcome() == Outcome::Failed).collect();
        lines.push(format!("{name} → {}", not_passed(&failed).replace('\n', " · ")));
        task.abort();
    }
    expect![[r#"
        nothing → 
        P01 → P01 Failed S04 S05
        P02 → P02 Failed S04
        P03 → P03 Failed S04
        P04 → P04 Failed S04
        P05 → P05 Failed S04
        P06 → P06 Failed S04
        P07 → P07 Failed S01
        P08 → P08 Failed S04
        P09 → P09 Failed S05
        P10 → P10 Failed S06
        P11 → P11 Failed S07
        P12 → P12 Failed S12
        P13 → P13 Failed S12
        P14 → P14 Failed S01
        P15 → P15 Failed S08 S14"#]]
    .assert_eq(&lines.join("\n"));
}

#[tokio::test]
async fn a_call_that_fails_because_of_how_it_is_asked_fails_the_scenario() {
    type Meant = fn(&str, &Value) -> bool;
    let unselected: Meant = |revision, requested| revision == "2026-12-01" && requested.is_null();
    let for_user: Meant = |_, requested| *requested == json!([{"audience": "user", "format": "content"}]);
    let earlier: Meant = |revision, _| revision != "2026-12-01";
    let always: Meant = |_, _| true;
    let mut lines = Vec::new();
    for (name, lets_fail, is_meant) in [
        ("refuses calls without a selection", false, unselected),
        ("lets calls without a selection fail", true, unselected),
        ("refuses user/content", false, for_user),
        ("lets calls for user/content fail", true, for_user),
        ("refuses calls under earlier revisions", false, earlier),
        ("lets calls under earlier revisions fail", true, earlier),
        ("lets every call fail", true, always),
    ] {
        let (spec, task) = small(Some(Withholds { is_meant, lets_fail, meant: Mutex::default() })).await;
        let results = server::measure(&spec, &without_arguments()).await.unwrap();
        let failed: Vec<_> = results.into_iter().filter(|it| it.outcome() == Outcome::Failed).collect();
        lines.push(format!("{name} → {}", not_passed(&failed).replace('\n', " · ")));
        task.abort();
    }
    // What fails however it is asked may have been given the wrong arguments.
    expect![[r#"
        refuses calls without a selection → P01 Failed S05 · P09 Failed S05
        lets calls without a selection fail → P01 Failed S05 · P09 Failed S05
        refuses user/content → P04 Failed S04
        lets calls for user/content fail → P04 Failed S04
        refuses calls under earlier revisions → P12 Failed answered · P13 Failed answered
        lets calls under earlier revisions fail → P12 Failed answered · P13 Failed answered
        lets every call fail → "#]]
    .assert_eq(&lines.join("\n"));
}

#[tokio::test]
async fn a_server_whose_tools_cannot_be_listed_fails() {
    let (spec, task) = small(Some(Unlisted)).await;
    let results = server::measure(&spec, &options()).await.unwrap();
    let failed = |it: &ScenarioResult| it.outcome() == Outcome::Failed && it.checks[0].name == "listed";
    assert!(results.iter().all(failed), "{}", not_passed(&results));
    task.abort();
}

fn client(command: &[&str], scenarios: &[Scenario], over: Over) -> Client {
    let scratch = tempfile::tempdir().unwrap();
    let options = client::Options {
        command: command.iter().map(|it| (*it).to_owned()).collect(),
        scenarios: scenarios.to_vec(),
        timeout: Duration::from_secs(120),
        over,
        seed: usher_tests::canaries::fresh_seed(),
        scratch: scratch.path().to_owned(),
    };
    Client { options, _scratch: scratch }
}

/// A client that is to be measured, and a folder for its reports.
struct Client {
    options: client::Options,
    _scratch: tempfile::TempDir,
}

fn by_lines() -> Over {
    Over::Stdio([CHILD, "conformance", "bridge"].map(str::to_owned).to_vec())
}

async fn measured(client: &Client) -> Vec<ScenarioResult> {
    client::measure(&client.options).await.unwrap().into_iter().map(|it| it.result).collect()
}

#[tokio::test]
async fn the_host_passes_as_a_client() {
    let host = env!("CARGO_BIN_EXE_usher-conformance-client");
    let results = measured(&client(&[host], Scenario::ALL, by_lines())).await;
    assert_eq!((not_passed(&results), results.len()), (String::new(), 15));
    let warned: Vec<&str> =
        results.iter().filter(|it| it.count(Status::Warning) > 0).map(|it| it.scenario.id()).collect();
    assert_eq!(warned, [] as [&str; 0]);
}

#[tokio::test]
async fn a_tiny_client_passes_over_http_and_by_lines() {
    for over in [Over::Http, by_lines()] {
        let results = measured(&client(&[CHILD, "tiny-client"], Scenario::ALL, over)).await;
        assert_eq!((not_passed(&results), results.len()), (String::new(), 15));
        assert_eq!(not_measured(&results, 5), [] as [&str; 0]);
    }
}

#[tokio::test]
async fn each_scenario_fails_a_client_that_is_wrong_in_it() {
    let mut lines = Vec::new();
    for scenario in Scenario::ALL {
        // In every other scenario this client is the right one of the test above.
        let options = client(&[CHILD, "tiny-client", scenario.id()], &[*scenario], Over::Http);
        lines.push(not_passed(&measured(&options).await));
    }
    expect![[r#"
        P01 Failed H25 H28 requested-outputs
        P02 Failed H23
        P03 Failed H25 delivered requested-outputs
        P04 Failed H22
        P05 Failed H22 delivered
        P06 Failed H28
        P07 Failed H07 H25
        P08 Failed H25 H30 delivered
        P09 Failed H28 H30
        P10 Failed H11 H12 called ended requested-outputs
        P11 Failed H04 H34
        P12 Failed H10 requested-outputs
        P13 Failed H31
        P14 Failed H09 H25
        P15 Failed H19"#]]
    .assert_eq(&lines.join("\n"));
}

#[tokio::test]
async fn a_client_that_says_nothing_or_declines_is_no_pass() {
    let silent = client(&[CHILD, "tiny-client", "quiet"], &[Scenario::P06], Over::Http);
    let results = measured(&silent).await;
    expect!["P06 Skipped the client reported no deliveries, so routing was not measured"]
        .assert_eq(&not_passed(&results));
    let unsaid = client(&[CHILD, "tiny-client", "unsaid"], &[Scenario::P11], Over::Http);
    expect!["P11 Skipped the client did not say which payloads fit their schemas"]
        .assert_eq(&not_passed(&measured(&unsaid).await));
    let declining =
        client(&["sh", "-c", "echo '{\"skipped\": \"no Views here\"}'"], &[Scenario::P06], Over::Http);
    expect!["P06 Skipped the client declined: no Views here"]
        .assert_eq(&not_passed(&measured(&declining).await));
}

#[tokio::test]
async fn a_client_that_ends_before_it_calls_anything_is_no_pass_where_a_tool_must_not_be_called() {
    let scenarios = [Scenario::P07, Scenario::P10, Scenario::P14];
    let results = measured(&client(&[CHILD, "tiny-client", "crash"], &scenarios, Over::Http)).await;
    expect![[r#"
        P07 Failed called ended
        P10 Failed called ended
        P14 Failed called ended"#]]
    .assert_eq(&not_passed(&results));
}

#[tokio::test]
async fn what_is_written_is_what_the_official_suite_writes() {
    let folder = tempfile::tempdir().unwrap();
    let options = client(&[CHILD, "tiny-client", "P01"], &[Scenario::P01], Over::Http);
    for it in client::measure(&options.options).await.unwrap() {
        client::write(&it, folder.path(), "2026-12-01T00:00:00Z").unwrap();
    }
    let folder = folder.path().join(Scenario::P01.name());
    let checks = std::fs::read_to_string(folder.join("checks.json")).unwrap();
    let checks: Vec<BTreeMap<String, Value>> = serde_json::from_str(&checks).unwrap();
    assert!(checks.iter().any(|it| it["status"] == "FAILURE" && it["errorMessage"].is_string()));
    for check in &checks {
        for member in ["id", "name", "description", "timestamp", "specReferences"] {
            assert!(check.contains_key(member), "{member} in {check:?}");
        }
        assert!(check["specReferences"][0]["url"].as_str().unwrap().starts_with("https://"));
    }
    assert!(std::fs::read_to_string(folder.join("stdout.txt")).unwrap().contains("consumer"));
}

/// What the document shows of a request is what a server takes, and its client is a client.
#[tokio::test]
async fn the_request_of_the_document_is_answered() {
    let document = include_str!("../../docs/conformance.md");
    let shown = document.split_once("```http\n").unwrap().1.split_once("```").unwrap().0;
    let (head, body) = shown.split_once("\n\n").unwrap();
    let (spec, task) = small(None::<Wrong>).await;
    let ServerSpec::Http(HttpSpec { url, .. }) = spec else { panic!("{spec:?}") };
    let mut request = reqwest::Client::new().post(url).body(body.to_owned());
    for line in head.lines().skip(1).filter(|it| !it.starts_with("Host:")) {
        let (name, value) = line.split_once(": ").unwrap();
        request = request.header(name, value);
    }
    let text = request.send().await.unwrap().text().await.unwrap();
    let event = text.lines().filter_map(|it| it.strip_prefix("data:")).rfind(|it| !it.trim().is_empty());
    let answer: Value = serde_json::from_str(event.unwrap_or(&text)).unwrap();
    let outputs = answer["result"]["outputs"].as_array().unwrap_or_else(|| panic!("{answer}"));
    let audiences: Vec<&Value> = outputs.iter().map(|it| &it["audience"]).collect();
    assert_eq!(audiences, ["assistant", "io.modelcontextprotocol/ui"]);
    task.abort();
}

#[tokio::test]
async fn a_selection_that_cannot_be_read_is_told_as_that() {
    let options = client(&[CHILD, "tiny-client", "texts"], &[Scenario::P01], Over::Http);
    let results = measured(&options).await;
    let failed = results[0].checks.iter().find(|it| it.name == "requested-outputs").unwrap();
    expect![[r#"report: expected assistant/content, or no selection, sent requestedOutputs that cannot be read: what stands at /0 is not an object such as {"audience": "assistant", "format": "content"}: "assistant/content""#]]
        .assert_eq(failed.error_message.as_deref().unwrap());
    assert_eq!(failed.details.as_ref().unwrap()["sent"], json!([["assistant/content"]]));
    let ended = client(&["sh", "-c", "exit 1"], &[Scenario::P01], Over::Http);
    let said = measured(&ended).await[0].checks[0].error_message.clone().unwrap();
    assert!(said.ends_with("exit status: 1"), "{said}");
}

/// Findings of the same words are told apart by what was asked for.
#[tokio::test]
async fn a_finding_of_a_server_names_the_selection() {
    let mut options = options();
    options.only = ["search_customers".to_owned()].into();
    let results = server::measure(&sample(&["--duplicate-output"]), &options).await.unwrap();
    let said: Vec<&str> =
        results.iter().flat_map(|it| &it.checks).filter_map(|it| it.error_message.as_deref()).collect();
    let different: HashSet<&str> = said.iter().copied().collect();
    assert_eq!((said.len() > 1, different.len()), (true, said.len()), "{said:#?}");
    assert!(said.iter().any(|it| it.starts_with("search_customers (no selection): ")), "{said:#?}");
}
