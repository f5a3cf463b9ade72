//! A full and a locked disk: one clear notice, nothing lost, nothing sent that is not recorded, and the conversation goes on.

use std::process::Command;

use expect_test::{Expect, expect};
use usher_tests::disk::{Disk, play};

use super::CHILD;

/// What a process meets that `sh` starts with `$0` as the program and `$1` as its folder.
fn check(mut shell: Command, script: &str, expected: Expect) {
    let dir = tempfile::tempdir().unwrap();
    let output = shell.args(["-c", script, CHILD]).arg(dir.path()).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    expected.assert_eq(&String::from_utf8_lossy(&output.stdout));
}

/// A shell in a mount table of its own, in which everybody is root; none where the system allows that to nobody.
#[cfg(target_os = "linux")]
fn shell_that_mounts() -> Option<Command> {
    let shell = || {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh"]);
        command
    };
    let dir = tempfile::tempdir().unwrap();
    let tried = shell().args(["-c", "mount -t tmpfs tmpfs \"$0\""]).arg(dir.path()).output();
    tried.is_ok_and(|it| it.status.success()).then(shell)
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_once_and_loses_nothing() {
    let Some(shell) = shell_that_mounts() else {
        // The same play runs below under a limit, and the store's own tests fill the database.
        let why = b"not run: this system lets nobody mount a file system of their own\n";
        std::io::Write::write_all(&mut std::io::stderr(), why).unwrap();
        return;
    };
    let script = r#"mount -t tmpfs -o size=4m tmpfs "$1" && exec "$0" host-on-a-disk filled "$1""#;
    check(
        shell,
        script,
        expect![[r#"
        turn: The request could not be recorded, so it was not sent: the disk that holds DIR/usher.db is full. Your message is kept, and so is every result so far. Free some space on that disk. Do not quit Usher before. Then try again.
        message: The disk that holds DIR/usher.db is full. Your message was not sent and is still in the composer. Everything before it is as it was. Free some space on that disk. Do not quit Usher before.
        new conversation: The disk that holds DIR/usher.db is full. What was stored before is untouched; this one change was not made. Free some space on that disk. Do not quit Usher before.
        shown: Look, a heron. | A heron, I see. | Speak. | Before. Meanwhile.
        notice: The disk that holds DIR/usher.db is full. Nothing that you were shown is lost: what was stored is untouched, and what came since waits in memory and is written as soon as that works. Free some space on that disk. Do not quit Usher before.
        at last: Look, a heron. | A heron, I see. | Speak. | Before. Meanwhile. | After. | Keep this. | Here it is.
    "#]],
    );
}

#[cfg(unix)]
#[test]
fn a_disk_that_lets_no_file_grow_is_told_once_and_loses_nothing() {
    let script = r#"trap "" XFSZ && exec "$0" host-on-a-disk limited "$1""#;
    check(
        Command::new("sh"),
        script,
        expect![[r#"
        turn: The request could not be recorded, so it was not sent: DIR/usher.db cannot be written: disk I/O error. Your message is kept, and so is every result so far. Check that the disk is there and that you may write to the folder. Do not quit Usher before. Then try again.
        message: DIR/usher.db cannot be written: disk I/O error. Your message was not sent and is still in the composer. Everything before it is as it was. Check that the disk is there and that you may write to the folder. Do not quit Usher before.
        new conversation: DIR/usher.db cannot be written: disk I/O error. What was stored before is untouched; this one change was not made. Check that the disk is there and that you may write to the folder. Do not quit Usher before.
        shown: Look, a heron. | A heron, I see. | Speak. | Before. Meanwhile.
        notice: DIR/usher.db cannot be written: disk I/O error. Nothing that you were shown is lost: what was stored is untouched, and what came since waits in memory and is written as soon as that works. Check that the disk is there and that you may write to the folder. Do not quit Usher before.
        at last: Look, a heron. | A heron, I see. | Speak. | Before. Meanwhile. | After. | Keep this. | Here it is.
    "#]],
    );
}

#[tokio::test]
async fn a_locked_database_is_told_once_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let met = play(Disk::Locked(None), dir.path()).await;
    expect![[r#"
        turn: The request could not be recorded, so it was not sent: another program holds DIR/usher.db. Your message is kept, and so is every result so far. Close the other program, for example a database browser or a backup. Do not quit Usher before. Then try again.
        message: Another program holds DIR/usher.db. Your message was not sent and is still in the composer. Everything before it is as it was. Close the other program, for example a database browser or a backup. Do not quit Usher before.
        new conversation: Another program holds DIR/usher.db. What was stored before is untouched; this one change was not made. Close the other program, for example a database browser or a backup. Do not quit Usher before.
        shown: Look, a heron. | A heron, I see. | Speak. | Before. Meanwhile.
        notice: Another program holds DIR/usher.db. Nothing that you were shown is lost: what was stored is untouched, and what came since waits in memory and is written as soon as that works. Close the other program, for example a database browser or a backup. Do not quit Usher before.
        at last: Look, a heron. | A heron, I see. | Speak. | Before. Meanwhile. | After. | Keep this. | Here it is.
    "#]].assert_eq(&met);
}
