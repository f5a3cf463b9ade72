//! What a desktop asks of whoever starts processes: found where it lies, seen through to its end, never started unasked.

use super::{child::*, *};

/// A folder whose name has a space, a letter outside of ASCII and a quote.
fn odd_folder(parent: &tempfile::TempDir) -> std::path::PathBuf {
    let folder = parent.path().join("My tööls' bin");
    std::fs::create_dir(&folder).unwrap();
    folder
}

/// A program, written by another process: see `search_path`'s tests for why.
fn program(file: &std::path::Path, text: &str) {
    let written = std::process::Command::new("sh")
        .args(["-c", r#"printf %s "$2" > "$1" && chmod 755 "$1""#, "sh"])
        .args([file.as_os_str(), text.as_ref()])
        .status();
    assert!(written.unwrap().success());
}

fn text(file: &std::path::Path) -> String {
    std::fs::read_to_string(file).unwrap_or_default()
}

#[tokio::test]
async fn a_server_that_is_turned_off_is_never_started() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("started");
    let server = spec("sh", &["-c", ": > \"$1\"; cat", "sh", mark.to_str().unwrap()]);
    let (supervisor, _events) = Supervisor::start(server.into(), old(), false);
    assert!(supervisor.ready().await.is_err());
    supervisor.restart();
    assert!(supervisor.ready().await.is_err());
    supervisor.end().await;
    assert!(!mark.exists(), "a server was started that is turned off");
}

#[tokio::test]
async fn its_input_is_closed_before_a_server_is_told_to_end() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let server = server("answer 1");
    // What it does when its input ends, and when it is told to end by a signal.
    let script = format!(
        "trap 'echo term >> \"{0}\"; exit 1' TERM\n{1}\necho closed >> '{0}'",
        log.display(),
        server.args[1]
    );
    let (connection, _events) = open_child(&spec("sh", &["-c", &script])).await;
    let exit = connection.unwrap().close().await;
    assert_eq!(
        (text(&log).as_str(), exit.status.as_str(), exit.wanted),
        ("closed\n", "exit status: 0", true)
    );
}

#[tokio::test]
async fn a_script_finds_the_interpreter_that_lies_beside_it() {
    // `npx` by its absolute path, whose first line asks `env` for a `node` that only its own folder has.
    let parent = tempfile::tempdir().unwrap();
    let folder = odd_folder(&parent);
    program(
        &folder.join("usher-test-node"),
        &format!("#!/bin/sh\n{}", server("answer \"\\\"$0\\\"\"").args[1]),
    );
    let npx = folder.join("npx");
    program(&npx, "#!/usr/bin/env usher-test-node\n");
    let (connection, _events) = open_child(&spec(npx.to_str().unwrap(), &[])).await;
    let connection = connection.unwrap();
    ask(&connection).await;
    connection.close().await;
}

#[tokio::test]
async fn arguments_reach_a_server_as_they_are() {
    const ODD: [&str; 9] = ["", " ", "a b", "$HOME", "`id`", "\"; exit 1; \"", "%PATH%", "&& exit", "ä\n😅"];
    let mut spec = server(r#"answer "$said""#);
    // Each argument in brackets, as a JSON string of its bytes in octal, so that nothing is lost.
    let said = r#"said=; for it; do said="$said[$(printf %s "$it" | od -An -vto1 | tr -d ' \n')]"; done; said="\"$said\""; "#;
    spec.args[1].insert_str(0, said);
    spec.args.push("sh".to_owned());
    spec.args.extend(ODD.map(str::to_owned));
    let (connection, _events) = open_child(&spec).await;
    let connection = connection.unwrap();
    let octal = |text: &str| text.bytes().map(|it| format!("{it:03o}")).collect::<String>();
    let expected: String = ODD.iter().map(|it| format!("[{}]", octal(it))).collect();
    assert_eq!(ask(&connection).await, json!(expected));
    connection.close().await;
}

#[tokio::test]
async fn a_server_s_own_path_is_searched_and_given_to_it() {
    let parent = tempfile::tempdir().unwrap();
    let folder = odd_folder(&parent);
    program(
        &folder.join("usher-test-tool"),
        &format!("#!/bin/sh\n{}", server("answer \"\\\"$PATH\\\"\"").args[1]),
    );
    // Empty parts of a path would be the folder in which a server happens to run; they are left out.
    let path = format!(":/nowhere::{}:/usr/bin:/bin:/usr/bin:", folder.display());
    let spec = StdioSpec { env: vec![("PATH".to_owned(), path)], ..spec("usher-test-tool", &[]) };
    let (connection, _events) = open_child(&spec).await;
    let connection = connection.unwrap();
    assert_eq!(ask(&connection).await, json!(format!("{}:/nowhere:/usr/bin:/bin", folder.display())));
    connection.close().await;
}

#[tokio::test]
async fn an_environment_is_utf_8_and_a_server_may_say_otherwise() {
    let mine = StdioSpec {
        env: vec![("PYTHONIOENCODING".to_owned(), "latin-1".to_owned())],
        ..server(r#"answer "[\"$PYTHONUTF8\",\"$PYTHONIOENCODING\",\"$(locale charmap 2>/dev/null)\"]""#)
    };
    let (connection, _events) = open_child(&mine).await;
    let connection = connection.unwrap();
    let told = ask(&connection).await;
    assert_eq!((&told[0], &told[1]), (&json!("1"), &json!("latin-1")));
    connection.close().await;
}
