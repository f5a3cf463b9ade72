//! Servers end with the host, even when it is killed.
//!
//! A process that is killed cannot clean up. So a small shell waits at the other end of a pipe: it knows the process groups of the
//! servers, and when the pipe closes it ends those that are left. Servers that end when their input closes are gone before. Absent on
//! Windows.

use std::{
    io::Write,
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError},
};

use nix::unistd::Pid;

/// The numbers of living groups come in as `+ 123` and `- 123`; the end of the input is the end of the host. A number is taken off
/// before the system can give it to another group.
const SCRIPT: &str = r#"
trap '' INT TERM HUP
groups=
while read -r what group; do
    if [ "$what" = + ]; then
        groups="$groups $group"
    else
        left=
        for it in $groups; do [ "$it" = "$group" ] || left="$left $it"; done
        groups=$left
    fi
done
[ -n "$groups" ] || exit 0
sleep 2
for it in $groups; do kill -TERM "-$it" 2>/dev/null; done
sleep 1
for it in $groups; do kill -KILL "-$it" 2>/dev/null; done
"#;

static WATCHDOG: Mutex<Option<Child>> = Mutex::new(None);

/// Has a group ended when the host ends.
pub(super) fn add(group: Pid) {
    tell('+', group);
}

/// The group is gone.
pub(super) fn remove(group: Pid) {
    tell('-', group);
}

fn tell(what: char, group: Pid) {
    let mut watchdog = WATCHDOG.lock().unwrap_or_else(PoisonError::into_inner);
    if watchdog.is_none() {
        *watchdog = start();
    }
    let Some(stdin) = watchdog.as_mut().and_then(|it| it.stdin.as_mut()) else { return };
    // Without a watchdog everything works, except that a killed host may leave servers behind.
    if writeln!(stdin, "{what} {group}").is_err() {
        *watchdog = None;
    }
}

fn start() -> Option<Child> {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new("/bin/sh");
    command.args(["-c", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // Its own group, so that what ends the host's group does not end it.
    command.process_group(0).current_dir("/").spawn().ok()
}
