//! The contract checker on every switch of the sample server: each defect is caught by the requirement that it breaks, and no other.

use std::collections::{BTreeMap, BTreeSet};

use expect_test::{Expect, expect};
use serde_json::json;
use usher_engine::contract::{Check, Legacy, Wire, pasted};
use usher_host::{
    connection::{ConnectionOptions, PathSource, ServerSpec, StdioSpec},
    contract::{CheckError, CheckOptions, Given, Report, Status, Want, check},
};
use usher_protocol::{RawJson, Revision, Rule};

use super::CHILD;

fn options(newest: Revision) -> CheckOptions {
    let connection =
        ConnectionOptions { newest, path: PathSource::Inherited, ..ConnectionOptions::default() };
    let only = BTreeSet::from(["search_customers".to_owned()]);
    let normal = Some(json!({"query": "Globex"}).into());
    let given = BTreeMap::from([("search_customers".to_owned(), Given { normal, ..Given::default() })]);
    CheckOptions { connection, only, given, ..CheckOptions::default() }
}

fn spec(switches: &[&str]) -> ServerSpec {
    let args = ["sample-server"].iter().chain(switches).map(|it| (*it).to_owned()).collect();
    ServerSpec::Stdio(StdioSpec { command: CHILD.to_owned(), args, ..StdioSpec::default() })
}

async fn checked(switches: &[&str], options: &CheckOptions) -> Report {
    check(&spec(switches), options).await.unwrap()
}

/// The well-behaved server, with every tool that can be called without an effect.
#[tokio::test]
async fn nothing_is_found_of_a_server_without_defects() {
    for newest in [Revision::NEWEST, Revision::NEWEST_WITH_HANDSHAKE] {
        let mut options = options(newest);
        options.only.clear();
        for (tool, args) in
            [("list_events", json!({"rows": 5})), ("slow_report", json!({"seconds": 0, "steps": 1}))]
        {
            let normal = Some(args.into());
            options.given.insert(tool.to_owned(), Given { normal, ..Given::default() });
        }
        let report = checked(&[], &options).await;
        assert_eq!(report.findings().map(|it| format!("{it:?}")).collect::<Vec<_>>(), [] as [String; 0]);
        assert!(!report.is_broken(true));
        let called = report.tools.iter().filter(|it| it.calls > 0).count();
        // Only open_ticket warns.
        assert_eq!((called, report.tools.len()), (6, 7), "{newest}");
    }
}

/// The switches and what each is caught by, with the host's rule where one found it.
async fn caught(cases: &[&[&str]], options: &CheckOptions, expected: Expect) {
    let mut lines = Vec::new();
    for switches in cases {
        let report = checked(switches, options).await;
        let by = |it: &usher_engine::contract::Finding| {
            it.by.map_or_else(|| it.check.to_string(), |by| format!("{} by {by}", it.check))
        };
        let found: BTreeSet<String> = report.findings().map(|it| by(it.1)).collect();
        let found: Vec<String> = found.into_iter().collect();
        lines.push(format!("{} → {}", switches.join(" "), found.join(", ")));
    }
    expected.assert_eq(&lines.join("\n"));
}

/// Switches that are no defects: what they choose is served as well as without them.
const NO_DEFECT: &[&str] = &["--on", "--http", "--conformance-fixtures", "--only", "--delay-ms"];

const ROUTING: &[&[&str]] = &[
    &["--canaries", "seed"],
    &["--no-output-variants"],
    &["--no-assistant-content"],
    &["--duplicate-pair"],
    &["--unnegotiated-audience"],
    &["--unrequested-output"],
    &["--missing-output"],
    &["--duplicate-output"],
    &["--mismatched-pair"],
    &["--violate-assistant"],
    &["--violate-user"],
    &["--violate-programmatic"],
    &["--violate-ui"],
    &["--mirrored-text"],
    &["--empty-outputs"],
    &["--meta-secrets"],
];

const WIRE: &[&[&str]] = &[
    &["--noise"],
    &["--interleaved"],
    &["--malformed-line"],
    &["--invalid-utf8"],
    &["--flood", "100"],
    &["--crash-on-call"],
];

const HANGING: &[&[&str]] = &[&["--hang"]];

/// Only a call that takes its time shows what comes after it was cancelled.
const LATE: &[&[&str]] = &[&["--delay-ms", "400"], &["--late", "--delay-ms", "400"]];

const SILENT: &[&[&str]] = &[&["--discover-silent", "--only", "2025-11-25"]];

const OLD: &[&[&str]] =
    &[&["--discover-empty", "--only", "2025-11-25"], &["--exit-on-unknown", "--only", "2025-11-25"]];

const NO_START: &[&str] = &["--crash-at-start"];

/// A switch that is added to the sample server without saying here what catches it fails this.
#[test]
fn every_switch_of_the_sample_server_is_caught_or_no_defect() {
    let cases = [ROUTING, WIRE, HANGING, LATE, SILENT, OLD, &[NO_START]].concat();
    let caught = cases.iter().filter_map(|it| it.first().copied());
    let known: BTreeSet<&str> = caught.chain(NO_DEFECT.iter().copied()).collect();
    let all = usher_sample_server::Options::switches();
    let all: BTreeSet<&str> = all.iter().map(String::as_str).collect();
    assert_eq!(known, all);
}

#[tokio::test]
async fn each_defect_under_audience_routing_is_caught_by_its_requirement() {
    caught(
        ROUTING,
        &options(Revision::NEWEST),
        expect![[r#"
            --canaries seed → S14 by H26
            --no-output-variants → S01 by H09
            --no-assistant-content → S01 by H07
            --duplicate-pair → S01 by H06
            --unnegotiated-audience → S01 by H08
            --unrequested-output → S04 by H16, S04 by H19
            --missing-output → S04, S04 by H19, S04 by H27
            --duplicate-output → S04 by H19
            --mismatched-pair → S04 by H16, S04 by H19
            --violate-assistant → S07 by H04
            --violate-user → S07 by H04
            --violate-programmatic → S07 by H04
            --violate-ui → S07 by H04
            --mirrored-text → S08 by H19
            --empty-outputs → S04 by H27
            --meta-secrets → S14 by H26"#]],
    )
    .await;
}

#[tokio::test]
async fn each_defect_of_the_wire_is_caught_by_its_requirement() {
    caught(
        WIRE,
        &options(Revision::NEWEST),
        expect![[r#"
            --noise → W1
            --interleaved → W1
            --malformed-line → W1
            --invalid-utf8 → W2
            --flood 100 → W1
            --crash-on-call → W4"#]],
    )
    .await;
    let mut hanging = options(Revision::NEWEST);
    hanging.timeout = std::time::Duration::from_secs(1);
    caught(HANGING, &hanging, expect!["--hang → W3"]).await;
}

/// Under both eras, with a server that stops when it is told to and one that does not.
#[tokio::test]
async fn an_answer_after_its_call_was_cancelled_is_caught() {
    caught(
        LATE,
        &options(Revision::NEWEST),
        expect![[r#"
            --delay-ms 400 → 
            --late --delay-ms 400 → W5"#]],
    )
    .await;
    caught(
        LATE,
        &options(Revision::NEWEST_WITH_HANDSHAKE),
        expect![[r#"
            --delay-ms 400 → 
            --late --delay-ms 400 → W5"#]],
    )
    .await;
    // A server whose calls are fast cannot be told to stop one, and that is no pass.
    let report = checked(&["--late"], &options(Revision::NEWEST)).await;
    let w5 = report.whole.iter().find(|it| it.check.id() == "W5").unwrap();
    assert_eq!(w5.status, Status::NotChecked);
}

/// A server that does not start is not checked at all, and its end is told.
#[tokio::test]
async fn a_server_that_ends_at_its_start_is_reported_as_that() {
    let error = check(&spec(NO_START), &options(Revision::NEWEST)).await.unwrap_err();
    assert!(error.to_string().contains("ended before it answered"), "{error}");
}

#[tokio::test]
async fn the_seven_defects_under_the_handshake() {
    let options = options(Revision::NEWEST_WITH_HANDSHAKE);
    caught(
        &[
            &[],
            &["--missing-output"],
            &["--mismatched-pair"],
            &["--violate-assistant"],
            &["--empty-outputs"],
            &["--meta-secrets"],
        ],
        &options,
        expect![[r#"
             → 
            --missing-output → L1
            --mismatched-pair → L1
            --violate-assistant → L2
            --empty-outputs → L1, L4
            --meta-secrets → "#]],
    )
    .await;
}

#[tokio::test]
async fn servers_of_another_time_are_told_what_they_owe() {
    let mut options = options(Revision::NEWEST);
    options.connection.probe_timeout = std::time::Duration::from_millis(500);
    caught(SILENT, &options, expect!["--discover-silent --only 2025-11-25 → W6"]).await;
    options.connection.probe_timeout = ConnectionOptions::default().probe_timeout;
    caught(
        OLD,
        &options,
        expect![[r#"
            --discover-empty --only 2025-11-25 → W6
            --exit-on-unknown --only 2025-11-25 → W6"#]],
    )
    .await;
    caught(&[&["--only", "2025-11-25"]], &options, expect!["--only 2025-11-25 → "]).await;
}

/// What was found says where, and the bytes that were looked at are kept.
#[tokio::test]
async fn a_finding_points_into_the_bytes_that_came() {
    let report = checked(&["--violate-user"], &options(Revision::NEWEST)).await;
    let (tool, found) = report.findings().next().unwrap();
    assert_eq!((tool, found.check.id()), (Some("search_customers"), "S07"));
    let seen = &report.evidence[usize::try_from(found.evidence.unwrap()).unwrap()];
    let answer: serde_json::Value = serde_json::from_str(&seen.text).unwrap();
    assert_eq!(answer.pointer(found.pointer.as_ref().unwrap()), Some(&json!(42)));
    assert_eq!(seen.arguments.as_ref().unwrap().get(), r#"{"query":"Globex"}"#);
}

/// A check that is stopped reports what it has, and leaves no call under way.
#[tokio::test]
async fn a_check_that_is_stopped_says_so() {
    let mut options = options(Revision::NEWEST);
    let stop = options.stop.clone();
    options.progress = Some(std::sync::Arc::new(move |_| stop.cancel()));
    let report = usher_tests::stage::within(checked(&["--hang"], &options)).await;
    assert!(report.stopped);
    assert_eq!(report.tools.len(), 1);
    assert!(report.findings().next().is_none());
}

#[tokio::test]
async fn a_tool_that_warns_is_not_called_and_that_is_no_pass() {
    let options =
        CheckOptions { only: BTreeSet::from(["open_ticket".to_owned()]), ..options(Revision::NEWEST) };
    let report = checked(&[], &options).await;
    let [tool] = report.tools.as_slice() else { panic!("{:?}", report.tools) };
    assert_eq!(tool.calls, 0);
    assert!(tool.skipped.as_ref().unwrap().contains("readOnlyHint"), "{:?}", tool.skipped);
    let kept: Vec<&str> =
        tool.verdicts.iter().filter(|it| it.status == Status::Kept).map(|it| it.check.id()).collect();
    // Its declaration can be judged without a call.
    assert_eq!(kept, ["S01", "S03", "S11"]);
}

#[test]
fn a_pasted_result_is_judged_without_a_server() {
    let judge = |result: &str, schema: &str| {
        let found = pasted::judge(&RawJson::parse(result).unwrap(), &RawJson::parse(schema).unwrap(), None);
        let (shape, found) = (found.shape, found.judgement);
        let ids: Vec<&str> = found.findings.iter().map(|it| it.check.id()).collect();
        format!("{shape:?} {}", ids.join(" "))
    };
    let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;
    let good = r#"{"content":[{"type":"text","text":"{\"n\": 1.0}"}],"structuredContent":{"n":1}}"#;
    assert_eq!(judge(good, schema), "Legacy ");
    assert_eq!(judge(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{good}}}"#), schema), "Legacy ");
    assert_eq!(judge(r#"{"content":[],"structuredContent":{}}"#, schema), "Legacy L4 L2");
    assert_eq!(
        judge(r#"{"content":[{"type":"text","text":"one"}],"structuredContent":{"n":1}}"#, schema),
        "Legacy L5"
    );
    assert_eq!(judge(r#"{"content":[{"type":"text","text":"one"}]}"#, schema), "Legacy L1");
    assert_eq!(judge(r#"{"n":"1"}"#, schema), "Payload L2");
    let envelope = r#"{"type":"object","properties":{"content":{},"isError":{},"structuredContent":{}}}"#;
    assert_eq!(judge(good, envelope), "Legacy L7");
}

#[test]
fn a_pasted_number_is_quoted_with_all_its_digits() {
    let schema = RawJson::parse(
        r#"{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"n":{"type":"string"}}}"#,
    );
    let result = RawJson::parse(r#"{"n":123456789012345678901234567890}"#).unwrap();
    let found = pasted::judge(&result, &schema.unwrap(), Some(Revision::NEWEST));
    let [problem] = found.judgement.findings[0].problems.as_slice() else { panic!("{found:?}") };
    assert_eq!(problem.pointer, "/n");
    assert_eq!(problem.message, "123456789012345678901234567890 is not of type \"string\"");
    assert_eq!((found.dialect.as_str(), found.notes.len()), ("draft-07", 1));
}

#[tokio::test]
async fn a_name_that_no_tool_has_is_refused_before_any_call() {
    let none = || CheckOptions { only: BTreeSet::new(), given: BTreeMap::new(), ..options(Revision::NEWEST) };
    let misspelt = || "serch_customers".to_owned();
    let given = BTreeMap::from([(misspelt(), Given::default())]);
    for options in [
        CheckOptions { only: BTreeSet::from([misspelt()]), ..none() },
        CheckOptions { given, ..none() },
        CheckOptions { allowed: BTreeSet::from([misspelt()]), ..none() },
    ] {
        let error = check(&spec(&[]), &options).await.unwrap_err();
        let CheckError::NoSuchTool { named, has } = &error else { panic!("{error}") };
        assert_eq!((named.as_slice(), has.len()), ([misspelt()].as_slice(), 7));
        assert!(error.to_string().contains("search_customers, show_dashboard"), "{error}");
    }
    // A list that cannot be read is a finding, and all tools may be allowed without naming one.
    let all = CheckOptions { allowed: BTreeSet::from(["*".to_owned()]), ..options(Revision::NEWEST) };
    assert!(check(&spec(&[]), &all).await.is_ok());
}

#[tokio::test]
async fn a_report_shows_what_was_called_and_what_is_missing() {
    let of =
        |name: &str| CheckOptions { only: BTreeSet::from([name.to_owned()]), ..options(Revision::NEWEST) };
    let report = checked(&[], &of("search_customers")).await;
    let called: Vec<String> = report.tools[0]
        .called
        .iter()
        .map(|it| format!("{}: {}", it.case.name(), it.arguments.get()))
        .collect();
    expect![[r#"
        normal call: {"query":"Globex"}
        empty call: {"query":"usher-check-finds-nothing"}
        failing call: {"query":"Globex","region":"usher-check-finds-nothing"}"#]]
    .assert_eq(&called.join("\n"));
    let report = checked(&[], &of("show_dashboard")).await;
    assert_eq!(report.tools[0].wants, [Want::Empty]);
    let report = checked(&[], &of("open_ticket")).await;
    assert_eq!(
        (report.tools[0].wants.as_slice(), report.tools[0].called.len()),
        ([Want::Allow].as_slice(), 0)
    );
}

fn document() -> String {
    std::fs::read_to_string(usher_tests::tree::root().join("docs/check.md")).unwrap()
}

#[test]
fn the_document_has_every_number() {
    let rules = Rule::ALL.iter().filter(|it| it.id().starts_with('S')).map(|it| Check::Server(*it));
    let legacy = Legacy::ALL.iter().map(|it| Check::Legacy(*it));
    let all = rules.chain(legacy).chain(Wire::ALL.iter().map(|it| Check::Wire(*it)));
    let owed: Vec<String> = all.map(|it| format!("| {} | {} |", it.id(), it.text())).collect();
    let document = document();
    let is_row = |it: &&str| it.starts_with("| S") || it.starts_with("| L") || it.starts_with("| W");
    assert_eq!(document.lines().filter(is_row).collect::<Vec<_>>(), owed);
}

/// The exit code, and what was printed.
async fn run(arguments: &[&str]) -> (Option<i32>, String) {
    let data = tempfile::tempdir().unwrap();
    let ended = tokio::process::Command::new(CHILD)
        .arg("check")
        .args(arguments)
        .env("USHER_DATA_DIR", data.path())
        .env_remove("USHER_LOG")
        .stdin(std::process::Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = usher_tests::stage::within(ended).await.unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[tokio::test]
async fn the_exit_code_says_what_was_found() {
    let one = ["--tool", "search_customers"];
    let server = ["--", CHILD, "sample-server"];
    let (code, out) = run(&[&one[..], &server].concat()).await;
    assert_eq!(code, Some(0), "{out}");
    let folder = tempfile::tempdir().unwrap();
    let junit = folder.path().join("report.xml");
    let options = ["--json", "--junit", junit.to_str().unwrap()];
    let (code, out) = run(&[&one[..], &options, &server, &["--violate-user"]].concat()).await;
    assert_eq!(code, Some(1), "{out}");
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    let broken =
        report["tools"][0]["verdicts"].as_array().unwrap().iter().find(|it| it["status"] == "broken");
    assert_eq!(broken.unwrap()["check"], "S07");
    let found = &broken.unwrap()["findings"][0];
    assert!(found["remedy"].as_str().unwrap().starts_with("Validate each structured output"), "{found}");
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert_eq!(xml.matches("<failure").count(), 1);
    assert!(xml.contains("&#10;at /outputs/") && xml.contains("&#10;→ Validate each"), "{xml}");
    assert!(xml.contains("<property name=\"normal call\""), "{xml}");
    let mut members = BTreeSet::new();
    for it in [&report, &report["tools"][0], &report["tools"][0]["called"][0], &report["portability"][0]] {
        members.extend(it.as_object().unwrap().keys());
    }
    members.extend(broken.unwrap().as_object().unwrap().keys());
    members.extend(found.as_object().unwrap().keys());
    let document = document();
    let untold: Vec<_> = members.into_iter().filter(|it| !document.contains(&format!("`{it}`"))).collect();
    assert_eq!(untold, [] as [&String; 0]);
    assert_eq!(run(&["--args", "nonsense", "--", CHILD, "sample-server"]).await.0, Some(2));
    assert_eq!(run(&["--tool", "no_such_tool", "--", CHILD, "sample-server"]).await.0, Some(2));
    assert_eq!(run(&["--", "/there/is/no/such/program"]).await.0, Some(3));
    // The server that is configured from the first start.
    assert_eq!(run(&["--tool", "search_customers", "Sample"]).await.0, Some(0));
}

/// Whatever happens, CI reads it in the file that it named, and a program on standard output.
#[tokio::test]
async fn there_is_always_a_report_for_ci() {
    let folder = tempfile::tempdir().unwrap();
    let junit = folder.path().join("report.xml");
    let options = ["--json", "--junit", junit.to_str().unwrap()];
    let error_of = |out: &str| {
        let said: serde_json::Value = serde_json::from_str(out).unwrap();
        let xml = std::fs::read_to_string(&junit).unwrap();
        assert!(xml.contains("errors=\"1\"") && xml.contains("<error message=\""), "{xml}");
        said["exit"].as_i64()
    };
    let (code, out) = run(&[&options[..], &["--", "/there/is/no/such/program"]].concat()).await;
    assert_eq!((code, error_of(&out)), (Some(3), Some(3)));
    let misspelt = ["--empty-args", "nosuch={}", "--", CHILD, "sample-server"];
    let (code, out) = run(&[&options[..], &misspelt].concat()).await;
    assert_eq!((code, error_of(&out)), (Some(2), Some(2)));
    assert!(out.contains("search_customers, show_dashboard"), "{out}");

    // One that cannot be written is refused before the server is started, which would be another code.
    let away = folder.path().join("no/such/folder/report.xml");
    let refused = run(&["--junit", away.to_str().unwrap(), "--", "/there/is/no/such/program"]).await;
    assert_eq!(refused, (Some(2), String::new()));

    let (result, schema) = (folder.path().join("result.json"), folder.path().join("schema.json"));
    std::fs::write(&result, r#"{"content":[{"type":"text","text":"one"}],"structuredContent":{"n":"1"}}"#)
        .unwrap();
    std::fs::write(&schema, r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#).unwrap();
    let pasted = ["--result", result.to_str().unwrap(), "--schema", schema.to_str().unwrap()];
    let (code, _) = run(&[&options[..], &pasted].concat()).await;
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert_eq!((code, xml.matches("<failure").count()), (Some(1), 1), "{xml}");
    // What is only recommended does not fail.
    assert!(xml.contains("<system-out>recommended&#10;"), "{xml}");
}

/// A remedy stands once for each requirement of a tool, and each number that a reader has to do with is explained.
#[tokio::test]
async fn a_report_for_people_explains_its_numbers() {
    let one = ["--tool", "search_customers", "--no-ask", "--", CHILD, "sample-server"];
    let (code, out) = run(&[&one[..], &["--duplicate-output"]].concat()).await;
    assert_eq!((code, out.matches("→ Build the outputs").count()), (Some(1), 1), "{out}");
    assert!(out.matches("broken       S04").count() > 1, "{out}");
    assert!(out.contains("\n  S04 Exactly one output per requested selector"), "{out}");
    assert!(out.contains("\n  W5  (should) A request is answered once"), "{out}");
    assert!(out.contains("\n  empty call   {\"query\":\"usher-check-finds-nothing\"}\n"), "{out}");
    let (_, out) = run(&["--tool", "show_dashboard", "--", CHILD, "sample-server"]).await;
    assert!(out.contains("→ --empty-args 'show_dashboard={…}'"), "{out}");
    let (_, out) = run(&["--tool", "open_ticket", "--", CHILD, "sample-server"]).await;
    assert!(out.contains("→ --allow open_ticket"), "{out}");
}

#[cfg(unix)]
#[tokio::test]
async fn an_interrupted_check_reports_what_it_has() {
    use std::time::Duration;
    let folder = tempfile::tempdir().unwrap();
    let (mark, junit) = (folder.path().join("started"), folder.path().join("report.xml"));
    let server = format!(": > '{}'; exec {CHILD} sample-server --hang", mark.display());
    let child = tokio::process::Command::new(CHILD)
        .args(["check", "--junit", junit.to_str().unwrap(), "--", "sh", "-c", &server])
        .env("USHER_DATA_DIR", folder.path())
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id().unwrap()).unwrap());
    let interrupted = async {
        while !mark.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
        child.wait_with_output().await.unwrap()
    };
    let output = usher_tests::stage::within(interrupted).await;
    assert_eq!(output.status.code(), Some(130));
    let xml = std::fs::read_to_string(junit).unwrap();
    assert!(xml.contains("<error message=\""), "{xml}");
}
