//! The configured servers: added, changed, chosen a revision for, taken over from other programs, signed in at; and where their secrets
//! are and are not.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use expect_test::expect;
use usher_engine::Mode;
use usher_host::conversation::{
    Asked, CallState, Host, HostEvent, ListChoice, ListSource, QuestionAnswer, ServerPhase, StoredLaunch,
    StoredPair, StoredSpec, Surroundings,
};
use usher_protocol::{Revision, Rule};
use usher_tests::{
    authorized::{self, Authorized},
    canaries::{forms_in, fresh_seed},
    scripted_model::{self, ScriptedModel, say},
    stage::{Setting, Stage, bodies, within},
};

use super::{CHILD, http::Served};

/// Nothing but what a test says is around.
fn around(home: &Path, env: &[(&str, &str)]) -> Surroundings {
    let env: BTreeMap<String, String> = env.iter().map(|it| (it.0.to_owned(), it.1.to_owned())).collect();
    Surroundings {
        home: Some(home.to_owned()),
        config: Some(home.join(".config")),
        env: Arc::new(move || env.clone()),
        ..Surroundings::default()
    }
}

fn empty() -> Setting {
    Setting::with(Vec::new())
}

/// The sample server, started by a shell that first does something with its variables.
fn shell(first: &str, env: Vec<StoredPair>) -> StoredSpec {
    let script = format!("{first}; exec '{CHILD}' sample-server");
    StoredSpec::of(StoredLaunch::Stdio {
        command: "sh".to_owned(),
        args: vec!["-c".to_owned(), script],
        env,
        cwd: None,
    })
}

/// Waits until a server cannot be used, and says why.
async fn failed(stage: &Stage, id: &str) -> (String, String) {
    stage
        .told(|event| match event {
            HostEvent::Server(status) if status.id == id => match &status.state {
                ServerPhase::Failed(what, todo) => Some((what.clone(), todo.clone())),
                _ => None,
            },
            _ => None,
        })
        .await
}

/// Calls a tool as the person does.
async fn call(stage: &Stage, id: &str, tool: &str, arguments: &str) -> CallState {
    let host = &stage.host;
    let conversation = host.create_conversation(Some(Mode::Chat), None).await.unwrap().id;
    // The call waits for a yes unless the server is allowed; the test's answer is that of a person who was asked.
    let asked = stage.told(|event| match event {
        HostEvent::Item { call: Some(call), .. } => match &call.state {
            CallState::AwaitingApproval(_) => Some(call.id.clone()),
            _ => None,
        },
        _ => None,
    });
    let called = host.call_tool(&conversation, id, tool, arguments);
    tokio::pin!(asked, called);
    let end = tokio::select! {
        end = &mut called => end,
        asked = &mut asked => {
            host.answer_approval(&asked, usher_host::conversation::ApprovalChoice::Server).unwrap();
            called.await
        }
    };
    end.unwrap().record.state
}

#[tokio::test]
async fn a_server_over_http_is_added_called_and_is_there_after_a_restart() {
    let served = Served::start(&[]).await;
    let stage = Stage::open(&empty()).await;
    let id = stage.host.save_server(None, "Remote".to_owned(), StoredSpec::http(&served.url)).await.unwrap();
    let status = stage.ready(&id).await;
    assert_eq!(status.revision, Some(Revision::NEWEST));
    let state = call(&stage, &id, "search_customers", r#"{"query":"Globex"}"#).await;
    assert!(matches!(state, CallState::Done), "{state:?}");
    stage.host.pin_revision(&id, Some(Revision::V2025_06_18)).await.unwrap();
    assert_eq!(stage.ready(&id).await.revision, Some(Revision::V2025_06_18));
    stage.host.enable_server(&id, false).await.unwrap();

    let dir = stage.close().await.unwrap();
    let stage = Stage::reopen(dir.path(), &empty()).await;
    let all = stage.host.server_statuses();
    let [status] = all.as_slice() else { panic!("one server, not {}", all.len()) };
    assert_eq!((status.name.as_str(), status.enabled, &status.state), ("Remote", false, &ServerPhase::Off));
    assert_eq!(status.spec.pinned, Some(Revision::V2025_06_18));
    stage.host.enable_server(&id, true).await.unwrap();
    let status = stage.ready(&id).await;
    expect![[r"
        2025-06-18 was chosen for this server; no other is tried.
        Sent initialize, offering 2025-06-18.
        usher-sample speaks 2025-06-18."]]
    .assert_eq(&status.negotiation.join("\n"));
    // Changed to another name and to negotiate again; what is not changed stays.
    let spec = StoredSpec { pinned: None, ..status.spec };
    stage.host.save_server(Some(id.clone()), "Elsewhere".to_owned(), spec).await.unwrap();
    let status = stage.ready(&id).await;
    assert_eq!((status.name.as_str(), status.revision), ("Elsewhere", Some(Revision::NEWEST)));
    stage.close().await;
}

#[tokio::test]
async fn h09_the_earlier_revision_is_offered_and_pinning_it_makes_the_tool_usable() {
    let stage = Stage::open(&empty()).await;
    let args = ["sample-server", "--no-output-variants"].map(str::to_owned).to_vec();
    let id = stage.host.save_server(None, "Sample".to_owned(), StoredSpec::stdio(CHILD, args)).await.unwrap();
    let status = stage.ready(&id).await;
    assert_eq!(status.rejected[0].rule, Some(Rule::H09));
    assert!(!status.tools.iter().any(|it| it.tool.name == "search_customers"));
    // Offered, not given: the connection still speaks the newest.
    assert_eq!(
        (status.revision, status.offers_earlier),
        (Some(Revision::NEWEST), Some(Revision::V2026_07_28))
    );
    stage.host.pin_revision(&id, status.offers_earlier).await.unwrap();
    let status = stage.ready(&id).await;
    assert_eq!((status.revision, status.offers_earlier), (Some(Revision::V2026_07_28), None));
    let state = call(&stage, &id, "search_customers", r#"{"query":"Globex"}"#).await;
    assert!(matches!(state, CallState::Done), "{state:?}");
    stage.close().await;
}

#[tokio::test]
async fn secrets_reach_the_server_and_nothing_else() {
    let seed = format!("canary-{}", fresh_seed());
    let (env, header, input) = (format!("{seed}-env"), format!("{seed}-header"), format!("{seed}-input"));
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let stage = Stage::open(&empty()).await;
    // A server that prints its key is no reason to show it.
    let first =
        format!("printf '%s' \"$THE_VALUE\" > '{}'; echo \"my key is $THE_VALUE\" >&2", trace.display());
    let spec = shell(&first, vec![StoredPair::secret("THE_VALUE", &env), StoredPair::plain("LEVEL", "3")]);
    let local = stage.host.save_server(None, "Local".to_owned(), spec.clone()).await.unwrap();
    stage.ready(&local).await;
    assert_eq!(std::fs::read_to_string(&trace).unwrap(), env, "it got what it needs");

    let served = Served::start(&[]).await;
    let mut remote = StoredSpec::http(&served.url);
    let headers = vec![StoredPair::plain("X-Api-Key", &header)];
    remote.launch = StoredLaunch::Http { url: served.url.clone(), headers };
    let remote = stage.host.save_server(None, "Remote".to_owned(), remote).await.unwrap();
    stage.ready(&remote).await;
    let stored = stage.host.server_spec(&remote).unwrap().1;
    assert!(stored.launch.pairs()[0].secret, "what is called a key is kept as one, whatever was said");

    let list = format!(
        r#"{{"inputs": [{{"id": "key", "password": true}}],
            "servers": {{"Listed": {{"command": "sh", "args": ["-c", "exec '{CHILD}' sample-server"], "env": {{"IT": "${{input:key}}"}}}}}}}}"#
    );
    let source = ListSource::Text(list);
    let chosen = [ListChoice { key: "Listed".to_owned(), name: "Listed".to_owned(), enabled: true }];
    let answers = BTreeMap::from([("key".to_owned(), input.clone())]);
    let digest = stage.host.review_list(&source).await.unwrap().digest;
    let ids = stage.host.import_servers(&source, &digest, &chosen, &answers).await.unwrap();
    stage.ready(&ids[0]).await;
    let broken = StoredSpec { pinned: Some(Revision::V2025_03_26), ..spec };
    let trial = stage.host.test_server(Some(&local), "Local", &broken).await;

    // Its words come another way than its answers, and may come later.
    let said =
        || stage.host.wire_lines(Some(&local), 0, 10_000).iter().any(|it| it.text.contains("my key is"));
    within(async {
        while !said() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    // Nowhere in what is shown, told or exported.
    let mut shown = format!("{:?}\n{trial:?}\n{:?}\n", stage.host.server_statuses(), stage.events());
    shown += &format!("{:?}\n{:?}\n", stage.host.export_servers(), stage.host.secrets_kept());
    for line in stage.host.wire_lines(None, 0, 100_000) {
        shown += &format!("{} {}\n", line.title, line.text);
    }
    assert!(shown.contains("my key is [secret]"), "the server did print it");
    for secret in [&env, &header, &input] {
        assert_eq!(forms_in(shown.as_bytes(), secret), [], "{secret} is shown");
    }
    // Nowhere on disk but in the file for secrets.
    let dir = stage.close().await.unwrap();
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let path = entry.unwrap().path();
        let Ok(bytes) = std::fs::read(&path) else { continue };
        let is_place = path.file_name().is_some_and(|it| it == "secrets.json");
        for secret in [&env, &header, &input] {
            assert_eq!(!forms_in(&bytes, secret).is_empty(), is_place, "{secret} in {}", path.display());
        }
    }

    // They are there after a restart, go when the server goes, and are kept by a form that does not know them.
    let stage = Stage::reopen(dir.path(), &empty()).await;
    std::fs::remove_file(&trace).unwrap();
    let (name, spec) = stage.host.server_spec(&local).unwrap();
    stage.host.save_server(Some(local.clone()), name, spec).await.unwrap();
    stage.ready(&local).await;
    assert_eq!(std::fs::read_to_string(&trace).unwrap(), env);
    for id in [&local, &remote, &ids[0]] {
        stage.host.remove_server(id).await.unwrap();
    }
    let left = std::fs::read(dir.path().join("secrets.json")).unwrap();
    assert_eq!(forms_in(&left, &seed), []);
    stage.close().await;
}

#[tokio::test]
async fn what_a_server_says_before_it_crashes_is_for_the_person_alone_and_has_no_secret() {
    let secret = format!("canary-{}", fresh_seed());
    let stage = Stage::open(&empty()).await;
    let script =
        format!("echo \"last words with $THE_VALUE\" >&2; exec '{CHILD}' sample-server --crash-on-call");
    let spec = StoredSpec::of(StoredLaunch::Stdio {
        command: "sh".to_owned(),
        args: vec!["-c".to_owned(), script],
        env: vec![StoredPair::secret("THE_VALUE", &secret)],
        cwd: None,
    });
    let id = stage.host.save_server(None, "local".to_owned(), spec).await.unwrap();
    stage.ready(&id).await;
    let state = call(&stage, &id, "search_customers", r#"{"query":"Globex"}"#).await;
    let CallState::Failed { what, .. } = &state else { panic!("{state:?}") };
    assert!(what.contains("last words with [secret]"), "the person reads it: {what}");
    let again = async |crashes: u32| {
        let restarting = |event: &HostEvent| match event {
            HostEvent::Server(it) if it.state == ServerPhase::Restarting(crashes) => Some(()),
            _ => None,
        };
        stage.told(restarting).await;
        stage.ready(&id).await;
    };

    again(1).await;
    let query = serde_json::json!({"query": "Globex"});
    let model =
        ScriptedModel::start([scripted_model::call([("search_customers", query)]), say(["Done."])]).await;
    let conversation = stage.conversation(Mode::Chat, &model).await;
    stage.turn(&conversation, "Search.").await;
    expect![[r#"
        The call failed: the server could not be reached or refused the request. There is no result.

        the server ended while the request was under way (exit status: 70)"#]]
    .assert_eq(&model.received()[1].last_results().join("\n"));
    again(2).await;
    let (returned, printed) =
        stage.script(&conversation, r#"return await tools.local.search_customers({query: "Globex"})"#).await;
    expect!["ToolError: local.search_customers: The server ended while the request was under way (exit status: 70). (line 1)"].assert_eq(&returned.clone().unwrap_err());
    let received = [bodies(&model), format!("{returned:?}{printed:?}").into_bytes()].concat();
    assert!(!String::from_utf8_lossy(&received).contains("last words"), "stderr is for people");
    let opened = stage.opened(&conversation).await;
    let shown = format!("{:?}{:?}{:?}", stage.events(), opened.calls, opened.ledger);
    assert_eq!(forms_in(shown.as_bytes(), &secret), []);
    let dir = stage.close().await.unwrap();
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let path = entry.unwrap().path();
        let Ok(bytes) = std::fs::read(&path) else { continue };
        let is_place = path.file_name().is_some_and(|it| it == "secrets.json");
        assert_eq!(!forms_in(&bytes, &secret).is_empty(), is_place, "{}", path.display());
    }
}

#[tokio::test]
async fn what_is_missing_is_named_and_nothing_is_started() {
    let home = tempfile::tempdir().unwrap();
    let trace = home.path().join("it-ran");
    let setting = Setting { surroundings: around(home.path(), &[]), ..empty() };
    let stage = Stage::open(&setting).await;
    let first = format!("touch '{}'", trace.display());
    let spec = shell(&first, vec![StoredPair::plain("TOKEN", "${env:NOT_SET}")]);
    let id = stage.host.save_server(None, "Needy".to_owned(), spec).await.unwrap();
    let (what, todo) = failed(&stage, &id).await;
    assert_eq!(what, "Needy was not started: the variable NOT_SET is not set");
    assert_eq!(
        todo,
        "Set NOT_SET where Usher is started, or write the value itself in place of the placeholder."
    );
    assert!(!trace.exists(), "it was started all the same");
    let spec = shell(&first, vec![StoredPair::plain("TOKEN", "${input:key}")]);
    let trial = stage.host.test_server(None, "Needy", &spec).await;
    assert_eq!(
        (trial.ok, trial.what.as_str(), trial.safe.as_str()),
        (false, "Needy was not started: \"key\" has not been filled in.", "Nothing was started.")
    );
    assert!(!trace.exists());
    let dir = stage.close().await.unwrap();
    // Where it is set, it starts.
    let setting = Setting { surroundings: around(home.path(), &[("NOT_SET", "now it is")]), ..empty() };
    let stage = Stage::reopen(dir.path(), &setting).await;
    stage.ready(&id).await;
    assert!(trace.exists());
    stage.close().await;
}

#[tokio::test]
async fn a_trial_tells_what_it_found_and_changes_nothing() {
    let stage = Stage::open(&empty()).await;
    let spec = StoredSpec::stdio(CHILD, vec!["sample-server".to_owned()]);
    let trial = stage.host.test_server(None, "Sample", &spec).await;
    assert!(trial.ok, "{trial:?}");
    assert_eq!(trial.revision, Some(Revision::NEWEST));
    assert!(trial.tools > 3 && trial.what.starts_with("usher-sample "), "{trial:?}");
    assert!(trial.steps.last().unwrap().ends_with("speaks 2026-12-01."), "{:?}", trial.steps);
    let broken = StoredSpec::stdio("sh", vec!["-c".to_owned(), "echo 'no key' >&2; exit 3".to_owned()]);
    let trial = stage.host.test_server(None, "Broken", &broken).await;
    assert!(
        !trial.ok && trial.what.contains("exit code 3") || trial.what.contains("exit status: 3"),
        "{trial:?}"
    );
    assert!(trial.stderr_tail.iter().any(|it| it == "no key"), "{trial:?}");
    assert_eq!(stage.host.server_statuses().len(), 0);
    stage.close().await;
}

/// Lists as four programs write them, each in its place.
fn lists(home: &Path) -> Vec<(&'static str, String)> {
    let server = format!(r#""command": "{CHILD}", "args": ["sample-server"]"#);
    vec![
        (
            ".config/Claude/claude_desktop_config.json",
            format!(r#"{{"mcpServers": {{"claude": {{{server}}}}}}}"#),
        ),
        (
            ".cursor/mcp.json",
            format!(
                r#"{{"mcpServers": {{"cursor": {{"command": "'{CHILD}' sample-server", "env": {{"LEVEL": "${{env:LEVEL}}"}}}}}}}}"#
            ),
        ),
        (
            ".config/Code/User/mcp.json",
            format!(
                r#"{{ // The team's.
                "inputs": [{{"type": "promptString", "id": "key", "description": "The key", "password": true}}],
                "servers": {{"code": {{"type": "stdio", {server}, "env": {{"API_KEY": "${{input:key}}"}}}},}}, }}"#
            ),
        ),
        (
            "project/.mcp.json",
            format!(
                r#"{{"mcpServers": {{"project": {{{server}, "cwd": "{}"}}, "off": {{"command": "x", "disabled": true}}}}}}"#,
                home.display()
            ),
        ),
    ]
}

#[tokio::test]
async fn lists_of_four_programs_are_found_reviewed_and_run() {
    let home = tempfile::tempdir().unwrap();
    for (path, text) in lists(home.path()) {
        let path = home.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let mut surroundings = around(home.path(), &[]);
    surroundings.project = Some(home.path().join("project"));
    let setting = Setting { surroundings, ..empty() };
    let stage = Stage::open(&setting).await;
    let mut seen = String::new();
    let mut all = Vec::new();
    for known in stage.host.known_lists().await {
        assert_eq!(known.problem, None);
        let source = ListSource::File(known.path.clone());
        let review = stage.host.review_list(&source).await.unwrap();
        seen += &format!("{}: {}\n", known.program.name(), known.servers);
        for server in &review.servers {
            let runs = server.runs.replace(CHILD, "CHILD");
            seen += &format!(
                "  {} {} runs {runs}, missing {:?}, {:?}\n",
                server.name, server.enabled, server.missing, server.remarks
            );
        }
        for (input, used_by) in &review.inputs {
            seen += &format!("  input {} for {used_by:?}\n", input.description);
        }
        let choice = |it: &usher_host::conversation::ReviewedServer| ListChoice {
            key: it.name.clone(),
            name: it.name.clone(),
            enabled: it.enabled,
        };
        let chosen: Vec<ListChoice> = review.servers.iter().map(choice).collect();
        all.push((source, chosen, review.digest));
    }
    expect![[r#"
        Claude Desktop: 1
          claude true runs CHILD sample-server, missing [], []
        Cursor: 1
          cursor true runs CHILD sample-server, missing ["LEVEL"], ["its command is a whole line, split as a shell would; no shell runs"]
        VS Code: 1
          code true runs CHILD sample-server, missing [], []
          input The key for ["code"]
        this folder: 2
          project true runs CHILD sample-server, missing [], []
          off false runs x, missing [], []
    "#]]
    .assert_eq(&seen);
    assert_eq!(stage.host.server_statuses().len(), 0, "a review keeps nothing");

    let answers = BTreeMap::from([("key".to_owned(), "k1".to_owned())]);
    let mut ids = Vec::new();
    for (source, chosen, digest) in &all {
        ids.extend(stage.host.import_servers(source, digest, chosen, &answers).await.unwrap());
    }
    for id in [&ids[0], &ids[2], &ids[3]] {
        stage.ready(id).await;
    }
    assert_eq!(failed(&stage, &ids[1]).await.0, "cursor was not started: the variable LEVEL is not set");
    let off = stage.host.server_statuses().into_iter().find(|it| it.id == ids[4]).unwrap();
    assert_eq!((off.enabled, off.state), (false, ServerPhase::Off));

    // The same again: every name is taken, and nothing is kept twice.
    let review = stage.host.review_list(&all[0].0).await.unwrap();
    assert!(review.servers[0].taken);
    let again = stage.host.import_servers(&all[0].0, &review.digest, &all[0].1, &answers).await.unwrap_err();
    assert_eq!(again.what, "There is a server named claude already.");
    // What the person said yes to is what they saw.
    let ListSource::File(path) = &all[0].0 else { panic!("it is a file") };
    let changed = std::fs::read_to_string(path).unwrap().replace("claude", "another");
    std::fs::write(path, changed).unwrap();
    let chosen = [ListChoice { key: "another".to_owned(), name: "another".to_owned(), enabled: true }];
    let other = stage.host.import_servers(&all[0].0, &review.digest, &chosen, &answers).await.unwrap_err();
    assert_eq!(
        (other.what, other.todo.as_str()),
        (format!("{} changed since it was shown.", path.display()), "Review it again.")
    );
    assert_eq!(stage.host.server_statuses().len(), 5);
    stage.close().await;
}

#[tokio::test]
async fn a_review_shows_no_secret_and_an_export_has_none() {
    let stage = Stage::open(&empty()).await;
    let list = r#"{"mcpServers": {
        "a": {"command": "npx", "args": ["-y", "x", "--api-key=CANARY", "--token", "CANARY"], "env": {"MY_TOKEN": "CANARY", "LEVEL": "3"}},
        "b": {"url": "https://me:CANARY@a.test/mcp?key=CANARY", "headers": {"Authorization": "Bearer CANARY", "X-Team": "a"}}
    }}"#;
    let source = ListSource::Text(list.to_owned());
    let review = stage.host.review_list(&source).await.unwrap();
    let runs: Vec<&str> = review.servers.iter().map(|it| it.runs.as_str()).collect();
    assert_eq!(
        runs,
        ["npx -y x --api-key=[secret] --token [secret]", "https://me:[secret]@a.test/mcp?key=[secret]"]
    );
    let choice = |key: &str| ListChoice { key: key.to_owned(), name: key.to_owned(), enabled: false };
    let chosen = [choice("a"), choice("b")];
    stage.host.import_servers(&source, &review.digest, &chosen, &BTreeMap::new()).await.unwrap();
    let (text, remarks) = stage.host.export_servers();
    assert!(!text.contains("CANARY"), "{text}");
    expect![[r#"
        a: MY_TOKEN is a placeholder instead of the secret
        b: Authorization is a placeholder instead of the secret
        a: an argument is a placeholder instead of what looks like a secret
        b: the address is a placeholder instead of what looks like a secret"#]]
    .assert_eq(&remarks.join("\n"));
    let read = stage.host.review_list(&ListSource::Text(text)).await.unwrap();
    assert_eq!(read.servers.len(), 2, "what is written can be read again");
    let bad = stage.host.review_list(&ListSource::Text("servers:".to_owned())).await.unwrap_err();
    assert!(bad.what.contains("it is not JSON"), "{bad}");
    stage.close().await;
}

/// Says yes or no to the next question about an address, and answers what was asked.
async fn answer(stage: &Stage, seen: &mut usize, answer: QuestionAnswer) -> (String, String) {
    let mut count = 0;
    let skip = *seen;
    let (id, asked) = stage
        .told(|event| match event {
            HostEvent::Question(question) => {
                count += 1;
                (count > skip).then(|| (question.id.clone(), question.asked.clone()))
            }
            _ => None,
        })
        .await;
    *seen += 1;
    stage.host.answer_question(&id, answer).unwrap();
    match asked {
        Asked::Url { message, url, .. } => (message, url),
        Asked::Form { .. } | Asked::Sample(_) | Asked::SampleAnswer(_) | Asked::ViewAccess { .. } => {
            panic!("it asks for an address")
        }
    }
}

#[tokio::test]
async fn a_server_that_wants_to_know_who_asks_is_signed_in_at() {
    let place = Authorized::open().await;
    let opened: Arc<Mutex<Vec<String>>> = Arc::default();
    let told = Arc::clone(&opened);
    let mut setting = empty();
    setting.surroundings.open = Arc::new(move |url| {
        told.lock().unwrap().push(url.to_owned());
        authorized::browse(url);
        Ok(())
    });
    let stage = Stage::open(&setting).await;
    let mut seen = 0;
    let id = stage.host.save_server(None, "Private".to_owned(), StoredSpec::http(place.url())).await.unwrap();
    // A no opens nothing, and the server says what to do.
    answer(&stage, &mut seen, QuestionAnswer::Decline).await;
    failed(&stage, &id).await;
    assert_eq!(opened.lock().unwrap().len(), 0);
    // A yes opens the very address that was shown.
    stage.host.sign_in(&id).await.unwrap();
    let (message, url) = answer(&stage, &mut seen, QuestionAnswer::Accept(None)).await;
    assert_eq!(
        message,
        format!("{} wants to know who you are. You would sign in at {}.", place.url(), place.issuer())
    );
    let status = stage.ready(&id).await;
    assert_eq!(*opened.lock().unwrap(), [url]);
    assert_eq!(status.sign_in.unwrap().signed_in_at, Some(place.issuer()));
    let state = call(&stage, &id, "who_am_i", "{}").await;
    assert!(matches!(state, CallState::Done), "{state:?}");
    assert_eq!(place.calls(), 1);
    let visits = place.visits().len();

    // The next run is signed in still. A trial uses that, and changes nothing.
    let dir = stage.close().await.unwrap();
    let stage = Stage::reopen(dir.path(), &setting).await;
    stage.ready(&id).await;
    let trial = stage.host.test_stored_server(&id).await.unwrap();
    assert!(trial.ok, "{trial:?}");
    assert_eq!((place.visits().len(), opened.lock().unwrap().len()), (visits, 1), "nobody was asked again");
    // Many refresh tokens are good once, so what a trial renewed is what the server goes on with.
    place.revoke();
    let trial = stage.host.test_stored_server(&id).await.unwrap();
    assert!(trial.ok, "{trial:?}");
    let state = call(&stage, &id, "who_am_i", "{}").await;
    assert!(matches!(state, CallState::Done), "{state:?}");
    assert_eq!(place.visits().len(), visits + 1, "it was renewed once for both");
    let mut shown = format!("{:?}{:?}{trial:?}", stage.events(), stage.host.server_statuses());
    stage.host.wire_lines(None, 0, 100_000).iter().for_each(|it| shown += &it.text);
    assert!(!shown.contains(authorized::SECRET), "a credential is shown");

    // Signed out, it is left alone until somebody signs in again.
    stage.host.sign_out(&id).await.unwrap();
    assert_eq!(failed(&stage, &id).await.0, "You are signed out of Private");
    let secrets = std::fs::read_to_string(dir.path().join("secrets.json")).unwrap();
    assert!(!secrets.contains(authorized::SECRET), "what was handed out is forgotten");
    stage.host.sign_in(&id).await.unwrap();
    let mut seen = 0;
    answer(&stage, &mut seen, QuestionAnswer::Accept(None)).await;
    stage.ready(&id).await;
    place.revoke();
    stage.host.enable_server(&id, false).await.unwrap();
    within(stage.host.shut_down()).await;

    // It goes with its server, also when that was never started in this run.
    let kept = || std::fs::read_to_string(dir.path().join("secrets.json")).unwrap();
    assert!(kept().contains(authorized::SECRET));
    let stage = Stage::reopen(dir.path(), &setting).await;
    stage.host.remove_server(&id).await.unwrap();
    assert!(!kept().contains(authorized::SECRET), "what was handed out outlives its server");
    within(stage.host.shut_down()).await;
}

#[tokio::test]
async fn an_address_that_is_opened_holds_up_no_other_question() {
    let place = Authorized::open().await;
    let host: Arc<Mutex<Option<Host>>> = Arc::default();
    let (around, mut setting) = (Arc::clone(&host), empty());
    setting.surroundings.open = Arc::new(move |_| {
        let host = around.lock().unwrap().take().unwrap();
        // Whoever looks at the questions meanwhile sees them.
        let (saw, seen) = std::sync::mpsc::channel();
        std::thread::spawn(move || saw.send(host.questions().len()));
        seen.recv_timeout(Duration::from_secs(20)).map(drop).map_err(|error| error.to_string())
    });
    let stage = Stage::open(&setting).await;
    *host.lock().unwrap() = Some(stage.host.clone());
    stage.host.save_server(None, "Private".to_owned(), StoredSpec::http(place.url())).await.unwrap();
    answer(&stage, &mut 0, QuestionAnswer::Accept(None)).await;
    stage.close().await;
}

#[tokio::test]
async fn what_is_said_for_an_input_is_hidden_only_if_it_is_a_secret() {
    let stage = Stage::open(&empty()).await;
    let list = format!(
        r#"{{"inputs": [{{"id": "key", "password": true}}, {{"id": "quick", "password": false}}],
            "servers": {{"Listed": {{"command": "sh", "env": {{"IT": "${{input:key}}", "QUICK": "${{input:quick}}"}},
              "args": ["-c", "echo \"$IT, quick is $QUICK\" >&2; exec '{CHILD}' sample-server"]}}}}}}"#
    );
    let source = ListSource::Text(list);
    let digest = stage.host.review_list(&source).await.unwrap().digest;
    let chosen = [ListChoice { key: "Listed".to_owned(), name: "Listed".to_owned(), enabled: true }];
    let answers = [("key", "k-secret-1"), ("quick", "true")];
    let answers = answers.map(|it| (it.0.to_owned(), it.1.to_owned())).into();
    let ids = stage.host.import_servers(&source, &digest, &chosen, &answers).await.unwrap();
    stage.ready(&ids[0]).await;
    within(async {
        loop {
            let lines = stage.host.wire_lines(Some(&ids[0]), 0, 10_000);
            if let Some(line) = lines.iter().find(|it| it.text.contains("quick is")) {
                assert_eq!(line.text, "[secret], quick is true");
                return;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    stage.close().await;
}
