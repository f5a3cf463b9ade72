//! A process together with everything that it starts.
//!
//! On Unix it leads a process group of its own, and the whole group is ended with it; should the host be killed, a watchdog ends the
//! group. On Windows it lives in a Job Object that ends all of it when the last handle closes, which the system does when the host
//! ends in whatever way; and it has no console window. Deliberately absent: when to end it, and what the process is for.

use std::{io, process::ExitStatus};

use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};

pub(super) use platform::ProcessTree;

/// The pipes of a process.
pub(super) struct Streams {
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: Option<ChildStdout>,
    pub(super) stderr: Option<ChildStderr>,
}

#[cfg(unix)]
mod platform {
    use std::time::Duration;

    use nix::{
        sys::signal::{Signal, killpg},
        unistd::Pid,
    };
    use tokio::process::Child;

    use super::{ChildStdout, Command, ExitStatus, Streams, io};
    use crate::connection::watchdog;

    /// How long a group may take to end after SIGTERM.
    const AFTER_TERM: Duration = Duration::from_secs(1);
    /// How long the system may take to end it after SIGKILL.
    const AFTER_KILL: Duration = Duration::from_millis(500);

    /// See the module.
    pub(in crate::connection) struct ProcessTree {
        child: Child,
        leader: Option<Pid>,
    }

    impl ProcessTree {
        /// Starts a process and makes it the first of a tree.
        pub(in crate::connection) fn start(mut command: Command) -> io::Result<Self> {
            let child = command.process_group(0).kill_on_drop(true).spawn()?;
            let leader = child.id().and_then(|it| i32::try_from(it).ok()).map(Pid::from_raw);
            leader.into_iter().for_each(watchdog::add);
            Ok(Self { child, leader })
        }

        /// Takes its pipes; there is one of each.
        pub(in crate::connection) fn streams(&mut self) -> Streams {
            let child = &mut self.child;
            let stdout = child.stdout.take();
            stdout.as_ref().into_iter().for_each(widen);
            Streams { stdin: child.stdin.take(), stdout, stderr: child.stderr.take() }
        }

        /// Waits until its first process ends. What that one started may still run.
        pub(in crate::connection) async fn first_ended(&mut self) -> io::Result<ExitStatus> {
            self.child.wait().await
        }

        /// Asks all of it to end.
        pub(in crate::connection) fn terminate(&mut self) {
            self.signal(Some(Signal::SIGTERM));
        }

        /// Ends all of it.
        pub(in crate::connection) fn kill(&mut self) {
            self.signal(Some(Signal::SIGKILL));
            let _already_dead = self.child.start_kill();
        }

        /// Ends what is left of it after its first process ended.
        pub(in crate::connection) async fn end(&mut self) {
            self.terminate();
            self.gone_within(AFTER_TERM).await;
            self.signal(Some(Signal::SIGKILL));
            // The system takes a moment to end what was killed.
            self.gone_within(AFTER_KILL).await;
            self.forget();
        }

        /// Leaves what its first process started to itself.
        pub(in crate::connection) fn forget(&mut self) {
            // The number may be given to others from now on.
            self.leader.take().into_iter().for_each(watchdog::remove);
        }

        fn signal(&self, signal: Option<Signal>) -> bool {
            self.leader.is_some_and(|it| killpg(it, signal).is_ok())
        }

        async fn gone_within(&self, limit: Duration) {
            let step = Duration::from_millis(10);
            let mut waited = Duration::ZERO;
            while self.signal(None) && waited < limit {
                tokio::time::sleep(step).await;
                waited += step;
            }
        }
    }

    /// Lets a server write a large answer at once: with the 64 KiB that Linux gives a pipe, both sides wait for each other at every
    /// piece of it. A refusal costs time and nothing else.
    #[cfg(target_os = "linux")]
    fn widen(pipe: &ChildStdout) {
        use nix::fcntl::{FcntlArg, fcntl};

        /// What any user may ask for unless the system says otherwise.
        const WIDE: i32 = 1 << 20;
        let _refused = fcntl(pipe, FcntlArg::F_SETPIPE_SZ(WIDE));
    }

    #[cfg(not(target_os = "linux"))]
    fn widen(_: &ChildStdout) {}

    impl Drop for ProcessTree {
        fn drop(&mut self) {
            // Whoever waited for it gave up, or the runtime ended before it did.
            self.signal(Some(Signal::SIGKILL));
            self.forget();
        }
    }
}

#[cfg(windows)]
mod platform {
    use process_wrap::tokio::{ChildWrapper, CommandWrap, CreationFlags, JobObject, KillOnDrop};
    use windows::Win32::System::Threading::CREATE_NO_WINDOW;

    use super::{Command, ExitStatus, Streams, io};

    /// See the module.
    pub(in crate::connection) struct ProcessTree {
        child: Box<dyn ChildWrapper>,
    }

    impl ProcessTree {
        /// Starts a process and makes it the first of a tree. It is in the job before its first instruction runs.
        pub(in crate::connection) fn start(command: Command) -> io::Result<Self> {
            // `KillOnDrop` is also what makes the job end everything when its handle closes. The flags go through the wrapper, because
            // the job sets the command's own anew.
            let mut command = CommandWrap::from(command);
            command.wrap(KillOnDrop).wrap(CreationFlags(CREATE_NO_WINDOW)).wrap(JobObject);
            Ok(Self { child: command.spawn()? })
        }

        /// Takes its pipes; there is one of each.
        pub(in crate::connection) fn streams(&mut self) -> Streams {
            Streams {
                stdin: self.child.stdin().take(),
                stdout: self.child.stdout().take(),
                stderr: self.child.stderr().take(),
            }
        }

        /// Waits until its first process ends. What that one started may still run.
        pub(in crate::connection) async fn first_ended(&mut self) -> io::Result<ExitStatus> {
            // The job's own wait is for all of its processes.
            self.child.inner_mut().wait().await
        }

        /// Ends all of it: a process without a console can be told nothing else.
        pub(in crate::connection) fn terminate(&mut self) {
            self.kill();
        }

        /// Ends all of it.
        pub(in crate::connection) fn kill(&mut self) {
            let _already_dead = self.child.start_kill();
        }

        /// Ends what is left of it after its first process ended.
        pub(in crate::connection) async fn end(&mut self) {
            self.kill();
        }

        /// Here nothing is left to itself; only shells of Unix are asked for a path.
        pub(in crate::connection) fn forget(&mut self) {}
    }
}
