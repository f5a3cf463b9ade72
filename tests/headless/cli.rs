//! The program as a terminal starts it: what it prints, and what its exit code says.
//!
//! Nothing here can wait for a person: standard input is empty, and a program that does not end is ended and fails its test.

use std::{path::Path, process::Stdio, time::Duration};

use expect_test::{Expect, expect};
use serde_json::Value;
use tempfile::TempDir;
use usher_host::conversation::NewModel;
use usher_tests::{
    scripted_model::{self, Answer, ScriptedModel},
    scripted_server::Script,
    stage::{Setting, Stage},
};

use super::CHILD;

/// How long one run may take. Only a program that hangs reaches it.
const LIMIT: Duration = Duration::from_secs(120);

/// What a run came to.
pub(super) struct Run {
    pub(super) code: Option<i32>,
    pub(super) out: String,
    pub(super) err: String,
}

/// Runs the program with a data folder of its own.
pub(super) async fn usher<S: AsRef<str>>(data: &Path, arguments: &[S]) -> Run {
    let child = tokio::process::Command::new(CHILD)
        .args(arguments.iter().map(AsRef::as_ref))
        .env("USHER_DATA_DIR", data)
        .env("USHER_SECRETS", "file")
        .env_remove("USHER_LOG")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let shown = || arguments.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(" ");
    let ended = tokio::time::timeout(LIMIT, child.wait_with_output()).await;
    let output = ended.unwrap_or_else(|_| panic!("usher {} does not end", shown())).unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// Calls a tool of the sample server with these switches.
async fn call(tool: &str, args: &str, options: &[&str], switches: &[&str]) -> Run {
    let data = tempfile::tempdir().unwrap();
    let mut line = vec!["call", tool, "--args", args];
    line.extend(options);
    // The program knows itself by its name, wherever it lies.
    line.extend(["--", "usher", "sample-server"]);
    line.extend(switches);
    usher(data.path(), &line).await
}

#[tokio::test]
async fn the_demonstration_shows_every_audience_and_what_was_withheld() {
    let data = tempfile::tempdir().unwrap();
    let run = usher(data.path(), &["demo", "--plain"]).await;
    assert_eq!(run.code, Some(0), "{}\n{}", run.out, run.err);
    for word in ["MODEL ", "YOU ", "VIEW ", "SCRIPT ", "WITHHELD", "DEFECT"] {
        assert!(run.out.contains(&format!("* {word}")), "{word} is missing:\n{}", run.out);
    }
    let mut rules: Vec<&str> = run
        .out
        .split("* WITHHELD\n")
        .nth(1)
        .and_then(|it| it.split("* DEFECT").next())
        .unwrap()
        .lines()
        .filter_map(|it| it.trim_start().split_once(": "))
        .map(|it| it.0)
        .filter(|it| it.len() == 3 && it.starts_with('H'))
        .collect();
    rules.dedup();
    assert_eq!(rules, ["H19", "H26"]);
    assert!(!run.out.contains('\u{1b}'), "plain has no colours");
    assert!(run.out.contains("Every step worked."), "{}", run.out);
    // The demonstration keeps its data to itself.
    assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_call_that_worked_exits_with_0() {
    let run = call("search_customers", r#"{"query":"Globex Labs"}"#, &["--yes"], &[]).await;
    assert_eq!(run.code, Some(0), "{}\n{}", run.out, run.err);
    assert!(run.out.contains("MODEL  would receive assistant/content"), "{}", run.out);
    assert!(run.out.contains("YOU    see user/structured, as a table"), "{}", run.out);
}

#[tokio::test]
async fn a_tool_that_fails_and_a_server_that_breaks_its_contract_exit_with_1() {
    let query = r#"{"query":"Globex Labs"}"#;
    for (tool, args, switches, said) in [
        ("open_ticket", r#"{"subject":"x","priority":"whenever"}"#, &[][..], "The tool says that it failed."),
        ("search_customers", query, &["--missing-output"], "was asked for and did not come"),
        ("search_customers", query, &["--violate-user"], "does not fit its"),
        ("search_customers", query, &["--no-assistant-content"], "H07"),
        ("search_customers", query, &["--crash-on-call"], ""),
    ] {
        let run = call(tool, args, &["--yes"], switches).await;
        assert_eq!(run.code, Some(1), "{tool} {switches:?}: {}\n{}", run.out, run.err);
        let all = format!("{}{}", run.out, run.err);
        assert!(all.contains(said), "{tool} {switches:?}: {all}");
    }
}

#[tokio::test]
async fn what_cannot_be_carried_out_as_it_was_given_exits_with_2() {
    let data = tempfile::tempdir().unwrap();
    for line in [
        &["call"][..],
        &["call", "search_customers"],
        &["call", "sample", "search_customers", "--", CHILD, "sample-server"],
        &["call", "search_customers", "--args", "3", "--yes", "--", CHILD, "sample-server"],
        &["call", "search_customers", "--args", "{", "--yes", "--", CHILD, "sample-server"],
        &["call", "search_customers", "--mode", "custom", "--yes", "--", CHILD, "sample-server"],
        &["call", "search_customers", "--ask", "user", "--yes", "--", CHILD, "sample-server"],
        // Asks for an output that the tool does not declare.
        &["call", "search_customers", "--ask", "user/content", "--yes", "--", CHILD, "sample-server"],
        &["call", "nope", "--yes", "--", CHILD, "sample-server"],
        // Nobody is there who could allow the call.
        &["call", "search_customers", "--args", r#"{"query":"x"}"#, "--", CHILD, "sample-server"],
        &["tools"],
        &["no-such-command"],
    ] {
        let run = usher(data.path(), line).await;
        assert_eq!(run.code, Some(2), "{line:?}: {}\n{}", run.out, run.err);
        assert!(!run.err.trim().is_empty() || !run.out.trim().is_empty(), "{line:?} says nothing");
    }
}

#[tokio::test]
async fn a_server_that_is_not_reached_exits_with_3() {
    let data = tempfile::tempdir().unwrap();
    let missing = "/there/is/no/such/program";
    for line in [
        &["call", "x", "--yes", "--", missing][..],
        &["tools", "--", missing],
        &["call", "x", "--yes", "--", CHILD, "sample-server", "--crash-at-start"],
    ] {
        let run = usher(data.path(), line).await;
        assert_eq!(run.code, Some(3), "{line:?}: {}\n{}", run.out, run.err);
        assert_eq!(run.out, "", "{line:?}");
        assert!(!run.err.trim().is_empty(), "{line:?}");
    }
    let run = usher(data.path(), &["tools", "--", missing]).await;
    assert_eq!(
        run.err,
        format!(
            "program: there is no file {missing:?}\nCorrect the path. One that is not absolute begins at the folder in which the server runs.\n"
        )
    );
    // Nobody listens there; what the library thinks of it is not for the terminal.
    let run = usher(data.path(), &["tools", "--url", "http://127.0.0.1:1/mcp"]).await;
    assert_eq!(run.code, Some(3), "{}", run.err);
    assert!(!run.err.contains("rmcp"), "{}", run.err);
}

#[tokio::test]
async fn with_json_a_failure_is_an_answer_too() {
    let data = tempfile::tempdir().unwrap();
    for (line, code) in [
        (&["call", "nope", "--json", "--yes", "--", CHILD, "sample-server"][..], 2),
        (&["prompts", "--json", "--", "/there/is/no/such/program"], 3),
        (&["call", "x", "--json", "--yes", "--", CHILD, "sample-server", "--crash-at-start"], 3),
    ] {
        let run = usher(data.path(), line).await;
        assert_eq!(run.code, Some(code), "{line:?}: {}", run.err);
        let answer: Value = serde_json::from_str(&run.out).unwrap();
        assert_eq!(answer["exit"], code, "{line:?}");
        assert_eq!(answer["error"].as_str().unwrap().trim(), run.err.trim(), "{line:?}");
    }
    // A word of the server is none of Usher's.
    let run = usher(data.path(), &["tools", "--", "/no/such/program", "--json"]).await;
    assert_eq!((run.code, run.out.as_str()), (Some(3), ""));
}

#[tokio::test]
async fn what_is_wrong_with_arguments_and_outputs_is_told_with_its_place_and_name() {
    let run = call("search_customers", r#"{"query":"#, &["--yes"], &[]).await;
    assert!(run.err.contains("--args is not a JSON object: ") && run.err.contains("column 9"), "{}", run.err);
    let run = call("search_customers", "[]", &["--yes"], &[]).await;
    assert!(run.err.contains("it is JSON of another kind"), "{}", run.err);
    let query = r#"{"query":"x"}"#;
    let run = call("search_customers", query, &["--ask", "user/content", "--yes"], &[]).await;
    assert!(run.out.contains("search_customers does not declare user/content."), "{}", run.out);
    let run = call("search_customers", query, &["--timing", "--repeat", "2", "--yes"], &[]).await;
    assert!(run.out.contains("ping: not timed; it is sent between calls (--repeat)"), "{}", run.out);
}

#[tokio::test]
async fn json_keeps_the_digits_of_every_number() {
    let (data, folder): (TempDir, TempDir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let declaration = r#"{"outputVariants":[
        {"audience":"assistant","format":"content"},
        {"audience":"programmatic","format":"structured","schema":{"type":"object"}}]}"#;
    let result = r#"{"resultType":"complete","isError":false,"outputs":[
        {"audience":"programmatic","format":"structured","structuredContent":{"id":9007199254740993,"rate":1.10,"z":1,"a":2}}]}"#;
    let script = Script::new("2026-12-01").tool("read", declaration, result);
    let server = script.cast("scripted", CHILD, folder.path());
    let mut line = vec!["call", "read", "--yes", "--ask", "programmatic/structured", "--json", "--"];
    line.push(&server.command);
    line.extend(server.args.iter().map(String::as_str));
    let run = usher(data.path(), &line).await;
    assert_eq!(run.code, Some(0), "{}\n{}", run.out, run.err);
    assert!(run.out.contains(r#"{"id":9007199254740993,"rate":1.10,"z":1,"a":2}"#), "{}", run.out);
    assert_eq!(run.out.lines().count(), 1, "one call is one line");
    let read: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(read["requested"], serde_json::json!(["programmatic/structured"]));
    assert_eq!(read["state"], "done");
}

#[tokio::test]
async fn what_is_withheld_is_told_and_not_printed() {
    let seed = usher_tests::canaries::fresh_seed();
    let switches = ["--unrequested-output", "--meta-secrets", "--canaries", seed.as_str()];
    let options = ["--yes", "--ask", "user/structured", "--json"];
    let run = call("search_customers", r#"{"query":"Globex Labs"}"#, &options, &switches).await;
    assert_eq!(run.code, Some(1), "{}\n{}", run.out, run.err);
    let user = usher_tests::stage::reach(&seed, &[("printed", run.out.as_bytes())]);
    expect!["printed: user-structured"].assert_eq(&user);
    let read: Value = serde_json::from_str(&run.out).unwrap();
    assert!(!read["withheld"].as_array().unwrap().is_empty(), "{read}");
}

/// A call by hand of a tool that answers as before audiences: text and data.
async fn call_legacy(options: &[&str]) -> Run {
    let (data, folder): (TempDir, TempDir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let result =
        r#"{"content":[{"type":"text","text":"4021 is open."}],"structuredContent":{"id":4021,"open":true}}"#;
    let server = Script::new("2025-11-25").tool("read", "{}", result).cast("scripted", CHILD, folder.path());
    let mut line = vec!["call", "read", "--yes"];
    line.extend(options);
    line.extend(["--", &server.command]);
    line.extend(server.args.iter().map(String::as_str));
    usher(data.path(), &line).await
}

#[tokio::test]
async fn a_result_of_an_earlier_revision_is_shown_for_the_model_and_for_you() {
    for (mode, expected) in [
        (
            "chat",
            expect![[r#"
                report
                  read {}
                  mode Chat, 2025-11-25; no selection was sent
                  ● MODEL  would receive content, 40 B
                      (policy: earlier revision: content)
                      4021 is open.
                  ● YOU    see structuredContent, as properties, 23 B, not validated: no schema
                           is declared
                      (policy: earlier revision: structuredContent is shown to you)
                      id: 4021
                      open: true
                  ● YOU    see content, in the transcript, 40 B
                      (policy: earlier revision: content is shown to you)
                      4021 is open.
            "#]],
        ),
        (
            "data",
            expect![[r#"
                report
                  read {}
                  mode Data, 2025-11-25; no selection was sent
                  ● MODEL  would receive structuredContent, 23 B
                      (policy: earlier revision: structuredContent in place of text; media stay)
                      id: 4021
                      open: true
                  ● YOU    see structuredContent, as properties, 23 B, not validated: no schema
                           is declared
                      (policy: earlier revision: structuredContent is shown to you)
                      id: 4021
                      open: true
                  ● YOU    see content, in the transcript, 40 B
                      (policy: earlier revision: content is shown to you)
                      4021 is open.
            "#]],
        ),
        (
            "present",
            expect![[r#"
                report
                  read {}
                  mode Present, 2025-11-25; no selection was sent
                  ● MODEL  would receive no output: the model is told that the output was shown
                           to you
                  ● YOU    see structuredContent, as properties, 23 B, not validated: no schema
                           is declared
                      (policy: earlier revision: structuredContent is shown to you)
                      id: 4021
                      open: true
                  ● YOU    see content, in the transcript, 40 B
                      (policy: earlier revision: content is shown to you)
                      4021 is open.
            "#]],
        ),
    ] {
        let run = call_legacy(&["--mode", mode]).await;
        assert_eq!(run.code, Some(0), "{mode}: {}\n{}", run.out, run.err);
        // The first line stands alone so that the indentation is part of what is compared.
        expected.assert_eq(&format!("report\n{}", run.out));
    }
    let run = call_legacy(&["--json"]).await;
    let read: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(read["forModel"]["deliveries"][0]["payload"][0]["text"], "4021 is open.", "{read}");
    assert_eq!(read["deliveries"].as_array().unwrap().len(), 2, "{read}");
}

/// A data folder whose one server is a scripted one and whose model is at this address, and the folder of the script.
async fn with_model(script: &Script, base_url: &str) -> (TempDir, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut setting = Setting::with(vec![script.cast("scripted", CHILD, folder.path())]);
    setting.allowed = false;
    let stage = Stage::open(&setting).await;
    let model = NewModel {
        provider: "scripted".to_owned(),
        base_url: base_url.to_owned(),
        name: "scripted-1".to_owned(),
        context_tokens: Some(131_072),
        ..NewModel::default()
    };
    stage.host.save_model(model).await.unwrap();
    (stage.close().await.unwrap(), folder)
}

#[tokio::test]
async fn a_chat_ends_as_its_turns_and_its_calls_do() {
    let result = |text: &str, is_error: bool| {
        format!(
            r#"{{"resultType":"complete","isError":{is_error},"outputs":[
            {{"audience":"assistant","format":"content","content":[{{"type":"text","text":"{text}"}}]}}]}}"#
        )
    };
    let declaration = r#"{"outputVariants":[{"audience":"assistant","format":"content"}]}"#;
    let script = Script::new("2026-12-01")
        .tool("works", declaration, &result("fine", false))
        .tool("fails", declaration, &result("no", true))
        .tool("gives_nothing", declaration, r#"{"resultType":"complete","outputs":[]}"#);
    let calls = |tool: &'static str| {
        vec![scripted_model::call([(tool, serde_json::json!({}))]), scripted_model::say(["So."])]
    };
    let none: &[&str] = &[];
    let yes: &[&str] = &["--yes"];
    for (answers, options, code) in [
        (calls("works"), yes, 0),
        (calls("fails"), yes, 1),
        (calls("gives_nothing"), yes, 1),
        // What the model does wrong is neither the server's fault nor the tool's.
        (vec![scripted_model::call_unknown("nope"), scripted_model::say(["So."])], yes, 0),
        // Nobody is there who could allow the call.
        (calls("works"), none, 2),
        (vec![scripted_model::refuse(500, "{}")], none, 1),
        (vec![scripted_model::half_event("So")], none, 1),
    ] {
        let shown = format!("{answers:?}");
        let model = ScriptedModel::start(answers.into_iter().collect::<Vec<Answer>>()).await;
        let (data, cast) = with_model(&script, &model.base_url()).await;
        let mut line = vec!["chat", "Do it", "--model", "scripted-1"];
        line.extend(options);
        let run = usher(data.path(), &line).await;
        assert_eq!(run.code, Some(code), "{shown}: {}\n{}", run.out, run.err);
        drop(cast);
    }
}

#[tokio::test]
async fn a_chat_whose_model_or_server_is_not_reached_exits_with_3() {
    // The address of a listener that is gone: nothing answers there.
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (data, _cast) = with_model(&Script::new("2026-12-01"), &format!("http://{gone}/v1")).await;
    let run = usher(data.path(), &["chat", "Do it", "--model", "scripted-1"]).await;
    assert_eq!(run.code, Some(3), "{}\n{}", run.out, run.err);
    assert!(run.err.contains("the connection was refused"), "{}", run.err);
    let run = usher(data.path(), &["chat", "Do it", "--", "/there/is/no/such/program"]).await;
    assert_eq!(run.code, Some(3), "{}\n{}", run.out, run.err);
}

#[tokio::test]
async fn a_chat_that_cannot_be_carried_out_as_it_was_given_exits_with_2() {
    let data = tempfile::tempdir().unwrap();
    for line in
        [&["chat"][..], &["chat", " "], &["chat", "x", "--model", "nope"], &["chat", "x", "--mode", "custom"]]
    {
        let run = usher(data.path(), line).await;
        assert_eq!(run.code, Some(2), "{line:?}: {}\n{}", run.out, run.err);
        assert!(!run.err.trim().is_empty(), "{line:?} says nothing");
    }
}

/// A command ends with its message; nobody can quit it before or after.
#[tokio::test]
async fn a_data_folder_that_cannot_be_used_is_told_as_it_is() {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("file");
    std::fs::write(&file, "not a folder").unwrap();
    let run = usher(&file.join("below"), &["servers"]).await;
    assert_ne!(run.code, Some(0));
    assert!(run.err.contains("Nothing was changed.") && run.err.contains("below"), "{}", run.err);
    assert!(!run.err.contains("quit"), "{}", run.err);
}

#[tokio::test]
async fn what_servers_suggests_is_a_command_that_there_is() {
    let stage = Stage::open(&Setting::with(Vec::new())).await;
    let data = stage.close().await.unwrap();
    let run = usher(data.path(), &["servers"]).await;
    assert_eq!(run.code, Some(0), "{}\n{}", run.out, run.err);
    expect![[r#"
        No server is configured. Add one with `usher servers add NAME -- COMMAND`, or see what one
        offers with `usher tools -- COMMAND`.
    "#]]
    .assert_eq(&run.out);
    let run = usher(data.path(), &["tools", "--", CHILD, "sample-server"]).await;
    assert_eq!(run.code, Some(0), "{}\n{}", run.out, run.err);
}

async fn listed(switches: &[&str], code: i32, expected: Expect) {
    let data = tempfile::tempdir().unwrap();
    let mut line = vec!["tools", "--", CHILD, "sample-server"];
    line.extend(switches);
    let run = usher(data.path(), &line).await;
    assert_eq!(run.code, Some(code), "{}\n{}", run.out, run.err);
    let head: Vec<&str> = run.out.lines().take(10).map(str::trim_end).collect();
    expected.assert_eq(&head.join("\n"));
}

#[tokio::test]
async fn tools_lists_what_there_is_for_whom() {
    listed(
        &[],
        0,
        expect![[r#"
        usher-sample 0.1.0  2026-12-01

          search_customers
            Finds customers by a part of their name, optionally in one region, and tells
            who was active last.
            ● MODEL  assistant/content
            ● MODEL  assistant/structured, with a schema
            ● YOU    user/structured, with a schema
            ● SCRIPT programmatic/structured, with a schema
            ● VIEW   io.modelcontextprotocol/ui/structured, with a schema"#]],
    )
    .await;
    listed(
        &["--only", "2025-11-25"],
        0,
        expect![[r#"
        usher-sample 0.1.0  2025-11-25

          search_customers
            Finds customers by a part of their name, optionally in one region, and tells
            who was active last.
            declared as in earlier revisions, with an outputSchema; local policy routes its results

          show_dashboard
            Opens the sales dashboard: every customer, with revenue by region.
            declared as in earlier revisions, without an outputSchema; local policy routes its results"#]],
    )
    .await;
}

#[cfg(unix)]
#[tokio::test]
async fn an_interruption_ends_a_command_that_waits_for_a_silent_server() {
    let data = tempfile::tempdir().unwrap();
    let mark = data.path().join("started");
    let server = format!(": > '{}'; exec sleep 1000", mark.display());
    let child = tokio::process::Command::new(CHILD)
        .args(["tools", "--", "sh", "-c", &server])
        .env("USHER_DATA_DIR", data.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
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
    let output = tokio::time::timeout(Duration::from_secs(60), interrupted).await.expect("it ends");
    assert_eq!(output.status.code(), Some(130));
    assert!(String::from_utf8_lossy(&output.stderr).ends_with("Stopped.\n"));
}
