//! With real processes: small shell scripts that speak the handshake.

use super::*;

/// Answers `initialize`, then runs a script for each request, with its identifier in `$id`.
pub(super) fn server(on_request: &str) -> StdioSpec {
    let script = format!(
        r#"
        answer() {{ printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$1"; }}
        while read -r line; do
            id=${{line#*\"id\":}}; id=${{id%%,*}}
            case $line in
                *'"method":"initialize"'*) answer '{{"protocolVersion":"2025-06-18","capabilities":{{}},"serverInfo":{{"name":"sh"}}}}' ;;
                *'"method":"notifications/'*) ;;
                *) {on_request} ;;
            esac
        done"#
    );
    spec("sh", &["-c", &script])
}

pub(super) fn spec(command: &str, args: &[&str]) -> StdioSpec {
    StdioSpec {
        command: command.to_owned(),
        args: args.iter().map(|it| (*it).to_owned()).collect(),
        ..StdioSpec::default()
    }
}

/// The handshake at once: these scripts are old servers.
pub(super) fn old() -> ConnectionOptions {
    ConnectionOptions { newest: Revision::NEWEST_WITH_HANDSHAKE, ..patient() }
}

pub(super) async fn open_child(spec: &StdioSpec) -> (Result<Connection, ConnectError>, EventReceiver) {
    let (sender, receiver) = events();
    (Connection::open(&spec.clone().into(), &old(), sender).await, receiver)
}

pub(super) async fn ask(connection: &Connection) -> serde_json::Value {
    connection.call(&call("t", "{}"), CallOptions::default()).await.expect("answered").to_value()
}

/// Whether a process is gone, or dead and only not yet collected.
fn is_gone(pid: &serde_json::Value) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_none_or(|it| it.trim().is_empty() || it.trim_start().starts_with(['Z', 'X']))
}

#[tokio::test]
async fn a_process_is_spoken_to_and_its_environment_is_set() {
    let spec = StdioSpec {
        env: vec![("CUSTOM".to_owned(), "x y".to_owned())],
        ..server(r#"echo "on stderr" >&2; answer "[\"$PYTHONUTF8\",\"$PYTHONIOENCODING\",\"$CUSTOM\"]""#)
    };
    let (connection, mut events) = open_child(&spec).await;
    let connection = connection.unwrap();
    assert_eq!(ask(&connection).await, json!(["1", "utf-8", "x y"]));
    let exit = connection.close().await;
    assert_eq!((exit.stderr.as_slice(), exit.wanted), (["on stderr".to_owned()].as_slice(), true));
    let events = told(&mut events);
    assert!(events.contains(&ConnectionEvent::Stderr { text: "on stderr".to_owned() }));
    assert!(events.contains(&ConnectionEvent::Exited(exit)));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_a_server_started_ends_with_it() {
    // The grandchild ignores the end of its input and SIGTERM.
    let spec = server(STUBBORN);
    let (connection, _events) = open_child(&spec).await;
    let connection = connection.unwrap();
    let grandchild = ask(&connection).await;
    assert!(!is_gone(&grandchild));
    connection.close().await;
    // It was sent SIGKILL; the system takes it away when it comes to it, and nobody here is its parent.
    let gone = async {
        while !is_gone(&grandchild) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), gone).await.expect("it ends");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn dropping_the_last_clone_ends_the_process() {
    let spec = server(r#"trap '' TERM; answer "$$""#);
    let (connection, mut events) = open_child(&spec).await;
    let connection = connection.unwrap();
    let server = ask(&connection).await;
    drop(connection);
    while let Some(event) = events.next().await {
        if matches!(event, ConnectionEvent::Exited(_)) {
            assert!(is_gone(&server));
            return;
        }
    }
    panic!("not told that it ended");
}

#[tokio::test]
async fn a_command_that_is_missing_names_the_path() {
    let options = ConnectionOptions { path: PathSource::Given("/one:/two".into()), ..old() };
    let (sender, _events) = events();
    let Err(error) = Connection::open(&spec("no-such-tool", &[]).into(), &options, sender).await else {
        panic!("opened")
    };
    expect_test::expect![[r#"
        the command "no-such-tool" was not found. Searched: /one, /two
        Install it, or give the full path of "no-such-tool" in its place. Where it works in a terminal, `which no-such-tool` prints that path."#]]
    .assert_eq(&format!("{error}\n{}", error.todo()));
    let missing = StdioSpec { cwd: Some("/no/such/folder".into()), ..spec("sh", &[]) };
    let (Err(error), _) = open_child(&missing).await else { panic!("opened") };
    assert!(error.to_string().contains("/no/such/folder"));
}

#[tokio::test]
async fn a_path_that_cannot_be_run_is_told_as_it_is_and_not_searched_for() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("handmade.py"), "print()").unwrap();
    let failed = async |command: &str| {
        let spec = StdioSpec { cwd: Some(folder.path().to_owned()), ..spec(command, &[]) };
        let (Err(error), _) = open_child(&spec).await else { panic!("opened") };
        format!("{error}\n{}", error.todo()).replace(folder.path().to_str().unwrap(), "FOLDER")
    };
    expect_test::expect![[r#"
        "FOLDER/./handmade.py" exists, but is no file that you may run
        If it is a program, allow that it is run (on Unix: `chmod +x FOLDER/./handmade.py`). If it is a script, you can also give its interpreter first, such as `python3 FOLDER/./handmade.py`."#]]
    .assert_eq(&failed("./handmade.py").await);
    expect_test::expect![[r#"
        there is no file "FOLDER/bin/x"
        Correct the path. One that is not absolute begins at the folder in which the server runs."#]]
    .assert_eq(&failed("bin/x").await);
}

#[tokio::test]
async fn what_a_program_prints_that_is_no_server_is_shown() {
    let failed = async |script: &str| {
        let (Err(error), _) = open_child(&spec("sh", &["-c", script])).await else { panic!("opened") };
        format!("{error}\n{}", error.todo())
    };
    expect_test::expect![[r#"
        the server ended before it answered (exit status: 0). On standard output, where only messages belong, it printed:
        hello
        �[2Jbye
        Read the lines above: they are the server's own, and no messages of MCP. Check that the command starts an MCP server on stdio."#]]
    .assert_eq(&failed(r"echo hello; printf '\033[2Jbye\n'").await);
    expect_test::expect![[r#"
        the server ended before it answered (exit status: 1). On standard output, where only messages belong, it printed:
        hello
        On stderr its last lines:
        trouble
        Read the lines above: they are the server's own. Often an argument, a key or a package is missing. Then start it again."#]]
    .assert_eq(&failed("echo hello; echo trouble >&2; exit 1").await);
    let silent = failed("exit 4").await;
    assert!(silent.contains("It wrote nothing that says why."), "{silent}");
}

#[tokio::test]
async fn a_program_that_repeats_what_it_reads_is_no_server() {
    let (Err(error), _) = open_child(&spec("cat", &[])).await else { panic!("opened") };
    assert_eq!(error, ConnectError::Echo);
    let sender = events().0;
    let Err(error) = Connection::open(&spec("cat", &[]).into(), &patient(), sender).await else {
        panic!("opened")
    };
    assert_eq!(error, ConnectError::Echo);
}

#[tokio::test]
async fn a_server_that_ends_at_start_shows_its_last_lines() {
    let spec = spec("sh", &["-c", "echo 'API_KEY is missing' >&2; exit 3"]);
    let (Err(error), _) = open_child(&spec).await else { panic!("opened") };
    expect_test::expect![[r#"
        the server ended before it answered (exit status: 3). Its last lines:
        API_KEY is missing"#]]
    .assert_eq(&error.to_string());
}

#[tokio::test]
async fn a_crash_in_a_call_is_told_and_the_server_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("crashed");
    // Crashes at the first call of its first life only.
    let script = format!(
        "if [ -e '{0}' ]; then answer 1; else : > '{0}'; echo oops >&2; kill -9 $$; fi",
        mark.display()
    );
    let (supervisor, _events) = Supervisor::start(server(&script).into(), old(), true);
    let first = supervisor.ready().await.unwrap();
    let error = first.call(&call("t", "{}"), CallOptions::default()).await.unwrap_err();
    expect_test::expect![[r#"
        the server ended while the request was under way (signal: 9 (SIGKILL)). Its last lines:
        oops"#]]
    .assert_eq(&error.to_string());
    let mut state = supervisor.state();
    let again =
        |it: &ServerState| matches!(it, ServerState::Ready { connection } if !connection.is_same(&first));
    let connection = state.wait_for(again).await.unwrap().connection().unwrap().clone();
    assert_eq!(ask(&connection).await, json!(1));
    supervisor.end().await;
}

#[tokio::test]
async fn a_server_is_turned_off_and_on() {
    let (supervisor, _events) = Supervisor::start(server("answer \"$$\"").into(), old(), false);
    let error = supervisor.ready().await.err().unwrap();
    assert_eq!(error.to_string(), "the server is not connected: it is turned off");
    supervisor.enable(true);
    let mut state = supervisor.state();
    let ready = |it: &ServerState| matches!(it, ServerState::Ready { .. });
    let first = state.wait_for(ready).await.unwrap().connection().unwrap().clone();
    let first_process = ask(&first).await;
    supervisor.restart();
    let other =
        |it: &ServerState| matches!(it, ServerState::Ready { connection } if !connection.is_same(&first));
    let second = state.wait_for(other).await.unwrap().connection().unwrap().clone();
    assert_ne!(ask(&second).await, first_process);
    supervisor.enable(false);
    state.wait_for(|it| matches!(it, ServerState::Off)).await.unwrap();
    second.closed().await;
    supervisor.end().await;
}

#[tokio::test]
async fn a_server_that_cannot_start_is_left_alone() {
    let (supervisor, _events) = Supervisor::start(spec("sh", &["-c", "exit 1"]).into(), old(), true);
    assert!(supervisor.ready().await.is_err());
    let state = supervisor.state();
    assert!(matches!(&*state.borrow(), ServerState::Failed { .. }));
}

/// The part of the next test that is killed: a host that has a server open. Only that test runs it.
#[cfg(target_os = "linux")]
#[tokio::test]
#[ignore = "only meant to be started by the next test"]
async fn host_that_is_killed() {
    use std::io::Write;
    let (connection, _events) = open_child(&server(STUBBORN)).await;
    // It stays open: its end would end the server, too.
    let connection = connection.unwrap();
    let pids = ask(&connection).await;
    writeln!(std::io::stderr(), "pids {pids}").unwrap();
    std::future::pending::<()>().await;
}

/// How long a process may take to start or to end. Only a broken product or machine reaches it.
#[cfg(target_os = "linux")]
const LIMIT: Duration = Duration::from_secs(60);

/// Neither the end of its input nor SIGTERM ends it.
#[cfg(target_os = "linux")]
const STUBBORN: &str = r#"(trap '' TERM; while :; do sleep 600; done) >/dev/null 2>&1 & answer "$!""#;

#[cfg(target_os = "linux")]
#[tokio::test]
async fn servers_end_with_a_host_that_is_killed() {
    let mut host = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "connection::tests::child::host_that_is_killed"])
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(host.stderr.take().unwrap()).lines();
    let told = async {
        loop {
            let line = lines.next_line().await.unwrap().expect("the host tells its server's process");
            if let Some(pid) = line.strip_prefix("pids ") {
                break serde_json::from_str::<serde_json::Value>(pid).unwrap();
            }
        }
    };
    let pid = tokio::time::timeout(LIMIT, told).await.expect("the host starts its server");
    assert!(!is_gone(&pid));
    host.start_kill().unwrap();
    host.wait().await.unwrap();
    // It ends after the graces that servers have; this only fails by not ending.
    let ended = async {
        while !is_gone(&pid) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(LIMIT, ended).await.expect("the server ends after its host");
}
