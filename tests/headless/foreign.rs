//! Programs that are no servers, and servers that leave something behind: told once, ended whole, in nobody's way.

#![cfg(unix)]

use std::time::Duration;

use usher_engine::Mode;
use usher_host::conversation::{HostEvent, ServerPhase};
use usher_tests::{
    scripted_model::{ScriptedModel, say},
    stage::{Cast, SERVER, Setting, Stage, within},
};

use super::CHILD;

fn shell(script: &str) -> Setting {
    let args = vec!["-c".to_owned(), script.to_owned()];
    let mut setting = Setting::with(vec![Cast { id: SERVER.to_owned(), command: "sh".to_owned(), args }]);
    setting.connection.probe_timeout = Duration::from_millis(300);
    setting.connection.handshake_timeout = Duration::from_millis(700);
    setting
}

#[tokio::test]
async fn a_program_that_is_no_server_is_told_and_holds_nothing_up() {
    for script in [
        "exec sleep 600",
        "exec cat",
        "exec yes",
        "exec true",
        "head -c 300000 /dev/urandom; exec sleep 600",
        "echo 'boom: no licence' >&2; exit 3",
    ] {
        let stage = Stage::open(&shell(script)).await;
        // The turn does not wait for a server that is not there yet.
        let model = ScriptedModel::start([say(["Here I am."])]).await;
        let conversation = stage.conversation(Mode::Chat, &model).await;
        stage.turn(&conversation, "Hello").await;
        assert_eq!(stage.failure(&conversation).await, None, "{script}");
        model.assert_orderly();
        let (what, todo) = stage
            .told(|event| match event {
                HostEvent::Server(status) => match &status.state {
                    ServerPhase::Failed(what, todo) => Some((what.clone(), todo.clone())),
                    ServerPhase::Off
                    | ServerPhase::Starting
                    | ServerPhase::Ready
                    | ServerPhase::Restarting(_) => None,
                },
                _ => None,
            })
            .await;
        assert!(what.len() > 10 && todo.len() > 10, "{script}: {what:?} {todo:?}");
        assert!(!script.contains("boom") || what.contains("boom"), "what it said last is told: {what}");
        within(stage.close()).await;
    }
}

#[tokio::test]
async fn what_a_server_started_ends_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let pid_file = folder.path().join("pid");
    let script = format!("sleep 600 & echo $! > {}; exec {CHILD} sample-server", pid_file.display());
    let stage = Stage::open(&shell(&script)).await;
    stage.ready(SERVER).await;
    let pid = std::fs::read_to_string(&pid_file).unwrap().trim().parse().unwrap();
    let is_alive = || nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None).is_ok();
    assert!(is_alive());
    within(stage.close()).await;
    // Its parent is gone too, so whoever adopts it must have time to bury it.
    within(async {
        while is_alive() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
