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
    let taken = usher(&data, &["servers", "import", file, "--all", "--off", "--yes"]).await;
    assert!(
        fine(&taken).ends_with("Taken over: one, two.\n") && !taken.out.contains("CANARY"),
        "{}",
        taken.out
    );
    let listed = usher(&data, &["servers"]).await;
    assert!(fine(&listed).contains("one  off\n") && listed.out.contains("two  off\n"), "{}", listed.out);
    let unknown = usher(&data, &["servers", "import", file, "three"]).await;
    assert_eq!((unknown.code, unknown.err.trim()), (Some(2), "The list names no server \"three\"."));
}

/// A long path, as it is broken into lines.
fn wrapped(path: &str) -> String {
    let width = 76;
    let lines: Vec<&str> = path.as_bytes().chunks(width).map(|it| std::str::from_utf8(it).unwrap()).collect();
    lines.join("\n    ")
}
