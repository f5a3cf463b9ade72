//! `usher servers` as a terminal starts it: the list is changed and another program's list is taken over, and secrets stay unseen.

use expect_test::expect;

use super::{
    CHILD,
    cli::{Run, usher},
    http::Served,
};

fn fine(run: &Run) -> &str {
    assert_eq!(run.code, Some(0), "{}\n{}", run.out, run.err);
    &run.out
}

#[tokio::test]
async fn a_server_is_added_pinned_tried_and_removed() {
    let data = tempfile::tempdir().unwrap();
    let served = Served::start(&[]).await;
    let data = data.path();
    fine(&usher(data, &["servers", "remove", "Sample"]).await);
    let add = ["servers", "add", "Remote", "--url", &served.url, "--header", "X-Api-Key: CANARY"];
    let added = usher(data, &add).await;
    assert_eq!(fine(&added), "Added Remote. Try it with `usher tools Remote`.\n");
    assert!(added.err.contains("Secrets are kept in") && added.err.contains("secrets.json"), "{}", added.err);
    let tried = usher(data, &["servers", "test", "Remote"]).await;
    assert!(
        fine(&tried).contains("usher-sample") && tried.out.contains("speaks 2026-12-01"),
        "{}",
        tried.out
    );
    fine(&usher(data, &["servers", "pin", "Remote", "2025-06-18"]).await);
    let listed = usher(data, &["servers"]).await;
    assert!(fine(&listed).starts_with("Remote  connected, 2025-06-18, "), "{}", listed.out);
    let unknown = usher(data, &["servers", "pin", "Remote", "2020-01-01"]).await;
    assert_eq!(unknown.code, Some(2), "{}", unknown.err);
    fine(&usher(data, &["servers", "pin", "Remote", "auto"]).await);
    fine(&usher(data, &["tools", "Remote"]).await);
    let args = r#"{"query":"Globex"}"#;
    fine(&usher(data, &["call", "Remote", "search_customers", "--args", args, "--yes"]).await);
    // Without being kept, too.
    fine(&usher(data, &["call", "search_customers", "--args", args, "--yes", "--url", &served.url]).await);
    fine(&usher(data, &["tools", "--url", &served.url]).await);
    let checked = usher(data, &["check", "Remote", "--tool", "search_customers", "--no-ask"]).await;
    assert_eq!(checked.code, Some(0), "{}\n{}", checked.out, checked.err);
    fine(&usher(data, &["servers", "disable", "Remote"]).await);
    let off = usher(data, &["tools", "Remote"]).await;
    assert_eq!(off.code, Some(3));
    assert!(off.err.contains("usher servers enable Remote"), "{}", off.err);
    let exported = usher(data, &["servers", "export"]).await;
    assert!(
        fine(&exported).contains("${env:X_API_KEY}") && !exported.out.contains("CANARY"),
        "{}",
        exported.out
    );
    let database = std::fs::read(data.join("usher.db")).unwrap();
    assert!(!String::from_utf8_lossy(&database).contains("CANARY"));
    fine(&usher(data, &["servers", "remove", "Remote"]).await);
    assert!(!std::fs::read_to_string(data.join("secrets.json")).unwrap().contains("CANARY"));
}

#[tokio::test]
async fn a_list_is_shown_before_it_is_taken_over() {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("list.json");
    let list = format!(
        r#"{{"mcpServers": {{
            "one": {{"command": "'{CHILD}' sample-server", "env": {{"THE_KEY": "CANARY", "LEVEL": "${{env:USHER_TEST_LEVEL}}"}}}},
            "two": {{"command": "x", "disabled": true}}, "bad": {{}}
        }}}}"#
    );
    std::fs::write(&file, list).unwrap();
    let file = file.to_str().unwrap();
    let data = data.path().join("data");
    let reviewed = usher(&data, &["servers", "import", file, "--dry-run"]).await;
    expect![[r#"
        one
            CHILD sample-server
            with THE_KEY=[secret]
            with LEVEL=${env:USHER_TEST_LEVEL}
          its command is a whole line, split as a shell would; no shell runs
          not set here: USHER_TEST_LEVEL
        two  (turned off in the list)
            x
        bad  cannot be used: it has neither a command nor a url
        Would be taken over: one. Nothing was kept.
    "#]]
    .assert_eq(&fine(&reviewed).replace(&wrapped(CHILD), "CHILD"));
    let unasked = usher(&data, &["servers", "import", file]).await;
    assert_eq!(unasked.code, Some(2), "nobody can be asked here");
    let taken = usher(&data, &["servers", "import", file, "--all", "--yes"]).await;
    let told = "Taken over: one, two.\nWhat is turned off starts only after `usher servers enable NAME`.\n";
    assert!(fine(&taken).ends_with(told) && !taken.out.contains("CANARY"), "{}", taken.out);
    let listed = usher(&data, &["servers"]).await;
    assert!(fine(&listed).contains("one  off\n") && listed.out.contains("two  off\n"), "{}", listed.out);
    let unknown = usher(&data, &["servers", "import", file, "three"]).await;
    assert_eq!((unknown.code, unknown.err.trim()), (Some(2), "The list names no server \"three\"."));
}

#[tokio::test]
async fn a_command_that_names_one_server_starts_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let (data, mark) = (folder.path().join("data"), folder.path().join("started"));
    let script = format!("touch '{}'", mark.display());
    fine(&usher(&data, &["servers", "add", "Other", "--", "sh", "-c", &script]).await);
    let list = folder.path().join("list.json");
    let imported = serde_json::json!({"mcpServers": {"taken": {"command": "sh", "args": ["-c", &script]}}});
    std::fs::write(&list, imported.to_string()).unwrap();
    fine(&usher(&data, &["servers", "import", list.to_str().unwrap(), "--yes"]).await);
    fine(&usher(&data, &["tools", "Sample"]).await);
    fine(&usher(&data, &["prompts", "Sample"]).await);
    fine(&usher(&data, &["resources", "Sample"]).await);
    let args = r#"{"query":"Globex"}"#;
    fine(&usher(&data, &["call", "Sample", "search_customers", "--args", args, "--yes"]).await);
    assert!(!mark.exists(), "a server that was not named was started");
    fine(&usher(&data, &["servers", "disable", "Other"]).await);
    // What was imported is off until somebody turns it on.
    fine(&usher(&data, &["servers"]).await);
    assert!(!mark.exists(), "a server that was imported was started");
    fine(&usher(&data, &["servers", "enable", "Other"]).await);
    assert_eq!(usher(&data, &["servers"]).await.code, Some(3), "the one that is on is started, and ends");
    assert!(mark.exists());
}

#[tokio::test]
async fn an_import_whose_inputs_are_not_said_keeps_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path().join("data"), folder.path().join("list.json"));
    let list = r#"{
        "inputs": [
            {"id": "key", "type": "promptString", "description": "The key", "password": true},
            {"id": "level", "type": "pickString", "description": "How much", "options": ["low", "high"], "default": "low"}
        ],
        "servers": {
            "needs": {"command": "x", "args": ["${input:level}"], "env": {"A_KEY": "${input:key}"}},
            "takes": {"command": "y", "args": ["${input:level}"]}
        }
    }"#;
    std::fs::write(&file, list).unwrap();
    let import = async |options: &[&str]| {
        let line = [&["servers", "import", file.to_str().unwrap()], options].concat();
        usher(&data, &line).await
    };
    let refused = import(&["--yes"]).await;
    assert_eq!(refused.code, Some(2), "{}", refused.out);
    assert_eq!(
        refused.err,
        "Nothing was kept: give --input-env key=VARIABLE, or name only the servers that need none of it.\n"
    );
    expect![[r#"
        needs
            x ${input:level}
            with A_KEY=${input:key}
          needs --input-env key=VARIABLE: The key
          takes --input level=VALUE: How much (one of low, high; otherwise "low")
        takes
            y ${input:level}
          takes --input level=VALUE: How much (one of low, high; otherwise "low")
    "#]]
    .assert_eq(&refused.out);
    assert!(!usher(&data, &["servers"]).await.out.contains("needs"));
    fine(&import(&["takes", "--yes"]).await);
    fine(&import(&["needs", "--input", "key=CANARY", "--yes"]).await);
    let listed = usher(&data, &["servers"]).await;
    assert!(fine(&listed).contains("needs  off\n") && listed.out.contains("takes  off\n"), "{}", listed.out);
}

#[cfg(unix)]
#[tokio::test]
async fn a_server_is_added_so_that_it_starts_from_any_folder_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    std::os::unix::fs::symlink(CHILD, folder.path().join("notes")).unwrap();
    let cwd = folder.path().to_str().unwrap();
    let add = ["servers", "add", "Notes", "--cwd", cwd, "--", "./notes", "sample-server"];
    fine(&usher(&data, &add).await);
    let listed = usher(&data, &["servers", "export"]).await;
    let whole = folder.path().join("notes");
    assert!(fine(&listed).contains(whole.to_str().unwrap()), "{}", listed.out);
    fine(&usher(&data, &["tools", "Notes"]).await);
    // A file that is written as it is seen from here is found from any folder, too. The tests run in their own folder.
    let near = usher(&data, &["servers", "add", "Near", "--off", "--", "python", "-u", "main.rs"]).await;
    fine(&near);
    assert!(near.err.contains("where main.rs is; --cwd chooses another folder."), "{}", near.err);
    let here = std::env::current_dir().unwrap();
    let listed = usher(&data, &["servers", "export"]).await;
    assert!(fine(&listed).contains(here.to_str().unwrap()), "{}", listed.out);
    for (line, said) in [
        (&["servers", "add", "Notes", "--", "x"][..], "There is a server named Notes already."),
        (&["servers", "add", "x", "--", "npx -y foo"], "Write the words of a command apart: -- npx -y foo"),
        (&["servers", "add", "y", "--", ""], "its first word is empty"),
        (&["servers", "add", "z", "--header", "A: b", "--", "x"], "cannot be used with"),
        (&["tools", "--header", "A: b", "--", CHILD, "sample-server"], "cannot be used with"),
        (&["servers", "add", "z", "--revision", "2025-99", "--", "x"], "2025-06-18, "),
        (&["servers", "import", "--from", "emacs"], "It knows those of claude-desktop, "),
    ] {
        let run = usher(&data, line).await;
        assert_eq!(run.code, Some(2), "{line:?}: {}{}", run.out, run.err);
        assert!(run.err.contains(said), "{line:?}: {}", run.err);
    }
    let list = folder.path().join("list.json");
    std::fs::write(&list, "[]").unwrap();
    let run = usher(&data, &["servers", "import", list.to_str().unwrap()]).await;
    assert!(run.err.contains("it is JSON, but a list and no object"), "{}", run.err);
}

/// A long path, as it is broken into lines.
fn wrapped(path: &str) -> String {
    let width = 76;
    let lines: Vec<&str> = path.as_bytes().chunks(width).map(|it| std::str::from_utf8(it).unwrap()).collect();
    lines.join("\n    ")
}
