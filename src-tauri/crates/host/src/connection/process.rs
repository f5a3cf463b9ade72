//! A server's process: how it is started, watched and ended with everything that it started.
//!
//! On Unix the server leads a process group of its own, and the whole group is ended with it: closing its input, then SIGTERM, then
//! SIGKILL (2025-11-25 basic/lifecycle, "Shutdown"). Deliberately absent: restarting, which is the supervisor's.

use std::{
    collections::VecDeque,
    path::Path,
    process::Stdio,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::BufReader,
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    sync::watch,
};
use tokio_util::sync::CancellationToken;

use super::{
    error::ConnectError,
    event::{ConnectionEvent, EventSender, Exit, cut},
    line::read_line,
    search_path::{SearchPath, find_command},
    spec::StdioSpec,
};

/// How many lines of stderr are kept.
const KEPT_STDERR: usize = 500;
/// The longest line of stderr that is kept, in bytes.
const MAX_STDERR_LINE: usize = 8 * 1024;
/// How long a server may take to end after its input was closed.
const AFTER_CLOSE: Duration = Duration::from_secs(2);
/// How long its group may take to end after SIGTERM.
const AFTER_TERM: Duration = Duration::from_secs(1);
/// How long the system may take to end it after SIGKILL.
const AFTER_KILL: Duration = Duration::from_millis(500);

/// The last lines that a server wrote to stderr.
#[derive(Clone, Default)]
pub(super) struct StderrTail(Arc<Mutex<VecDeque<String>>>);

impl StderrTail {
    fn push(&self, line: String) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == KEPT_STDERR {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    pub(super) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// A server's process that runs, or ran.
pub(super) struct Process {
    exit: watch::Receiver<Option<Exit>>,
    stderr: StderrTail,
    closing: CancellationToken,
    wanted: Arc<AtomicBool>,
}

impl Drop for Process {
    fn drop(&mut self) {
        self.wanted();
        self.closing.cancel();
    }
}

impl Process {
    /// Starts a server. It is ended when `closing` is cancelled, and cancels `closing` when it ends by itself.
    pub(super) fn start(
        spec: &StdioSpec,
        path: &SearchPath,
        events: EventSender,
        closing: CancellationToken,
    ) -> Result<(Self, ChildStdout, ChildStdin), ConnectError> {
        let (mut command, program) = command(spec, path)?;
        let mut child = command
            .spawn()
            .map_err(|error| ConnectError::NotStarted { command: program.clone(), why: error.to_string() })?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(ConnectError::NotStarted {
                command: program,
                why: "its streams are missing".to_owned(),
            });
        };
        let tail = StderrTail::default();
        let (told, exit) = watch::channel(None);
        let reading = tokio::spawn(read_stderr(stderr, tail.clone(), events.clone()));
        let wanted = Arc::new(AtomicBool::new(false));
        tokio::spawn(watch_process(Watch {
            group: Group::of(&child),
            child,
            closing: closing.clone(),
            wanted: Arc::clone(&wanted),
            reading,
            tail: tail.clone(),
            told,
            events,
        }));
        Ok((Self { exit, stderr: tail, closing, wanted }, stdout, stdin))
    }

    /// Notes that the host ends it, so that its end is no surprise.
    pub(super) fn wanted(&self) {
        self.wanted.store(true, Ordering::Relaxed);
    }

    pub(super) fn stderr(&self) -> Vec<String> {
        self.stderr.lines()
    }

    /// Waits until the process and its group are gone.
    pub(super) async fn ended(&self) -> Exit {
        let mut exit = self.exit.clone();
        match exit.wait_for(Option::is_some).await {
            Ok(exit) => exit.clone().unwrap_or_default(),
            Err(_) => Exit { status: "unknown".to_owned(), stderr: self.stderr(), wanted: false },
        }
    }
}

fn command(spec: &StdioSpec, path: &SearchPath) -> Result<(Command, String), ConnectError> {
    if let Some(folder) = &spec.cwd
        && !folder.is_dir()
    {
        return Err(ConnectError::NoFolder { folder: folder.display().to_string() });
    }
    let own_path = spec.env.iter().find(|it| it.0 == "PATH").map(|it| SearchPath::from_text(&it.1));
    let path = own_path.as_ref().unwrap_or(path);
    let program = find_command(&spec.command, path, spec.cwd.as_deref()).ok_or_else(|| {
        ConnectError::CommandNotFound { command: spec.command.clone(), path: path.folders() }
    })?;
    // A script that starts with `env node` finds the node beside it.
    let beside = program.parent().filter(|it| it.is_absolute());
    let mut command = Command::new(&program);
    command
        .args(&spec.args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    // Servers in Python would otherwise write in the encoding of the system.
    command.env("PYTHONUTF8", "1").env("PYTHONIOENCODING", "utf-8");
    if ["LC_ALL", "LC_CTYPE", "LANG"].iter().all(|name| std::env::var_os(name).is_none()) {
        command.env("LANG", if cfg!(target_os = "macos") { "en_US.UTF-8" } else { "C.UTF-8" });
    }
    command.envs(spec.env.iter().map(|it| (&it.0, &it.1)));
    command.env("PATH", path.with_first(beside));
    if let Some(folder) = &spec.cwd {
        command.current_dir(folder);
    }
    detach(&mut command);
    let program = program.display().to_string();
    Ok((command, program))
}

/// Gives a command a process group of its own, and no console window.
pub(super) fn detach(command: &mut Command) {
    #[cfg(unix)]
    command.process_group(0);
    #[cfg(windows)]
    command.creation_flags(0x0800_0000);
    #[cfg(not(any(unix, windows)))]
    let _ = command;
}

async fn read_stderr(stderr: ChildStderr, tail: StderrTail, events: EventSender) {
    let mut reader = BufReader::new(stderr);
    while let Ok(Some(line)) = read_line(&mut reader, MAX_STDERR_LINE).await {
        let text = cut(&String::from_utf8_lossy(&line.bytes[..line.bytes.len().min(MAX_STDERR_LINE)]));
        tail.push(text.clone());
        events.tell(ConnectionEvent::Stderr { text });
    }
}

struct Watch {
    child: Child,
    group: Group,
    closing: CancellationToken,
    wanted: Arc<AtomicBool>,
    reading: tokio::task::JoinHandle<()>,
    tail: StderrTail,
    told: watch::Sender<Option<Exit>>,
    events: EventSender,
}

async fn watch_process(mut watch: Watch) {
    let by_itself = tokio::select! {
        status = watch.child.wait() => Some(status),
        () = watch.closing.cancelled() => None,
    };
    let status = match by_itself {
        Some(status) => status,
        None => match tokio::time::timeout(AFTER_CLOSE, watch.child.wait()).await {
            Ok(status) => status,
            Err(_) => {
                watch.group.terminate();
                if let Ok(status) = tokio::time::timeout(AFTER_TERM, watch.child.wait()).await {
                    status
                } else {
                    watch.group.kill();
                    let _already_dead = watch.child.start_kill();
                    watch.child.wait().await
                }
            }
        },
    };
    // What the server started outlives it unless it is told.
    watch.group.end().await;
    // Whatever was written before the end is read, unless a stranger holds the stream open.
    let _late = tokio::time::timeout(Duration::from_millis(500), &mut watch.reading).await;
    watch.reading.abort();
    let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
    let exit = Exit { status, stderr: watch.tail.lines(), wanted: watch.wanted.load(Ordering::Relaxed) };
    watch.events.tell(ConnectionEvent::Exited(exit.clone()));
    let _nobody = watch.told.send(Some(exit));
    // Its last lines on stdout are read first; then everyone is told.
    tokio::select! {
        () = tokio::time::sleep(Duration::from_millis(500)) => {}
        () = watch.closing.cancelled() => {}
    }
    watch.closing.cancel();
}

/// The process group that a server leads.
struct Group {
    #[cfg(unix)]
    leader: Option<nix::unistd::Pid>,
    #[cfg(not(unix))]
    leader: Option<u32>,
}

#[cfg(unix)]
impl Group {
    fn of(child: &Child) -> Self {
        let leader = child.id().and_then(|it| i32::try_from(it).ok()).map(nix::unistd::Pid::from_raw);
        leader.into_iter().for_each(super::watchdog::add);
        Self { leader }
    }

    fn signal(&self, signal: Option<nix::sys::signal::Signal>) -> bool {
        self.leader.is_some_and(|it| nix::sys::signal::killpg(it, signal).is_ok())
    }

    fn terminate(&self) {
        self.signal(Some(nix::sys::signal::Signal::SIGTERM));
    }

    fn kill(&self) {
        self.signal(Some(nix::sys::signal::Signal::SIGKILL));
    }

    async fn gone_within(&self, limit: Duration) {
        let step = Duration::from_millis(10);
        let mut waited = Duration::ZERO;
        while self.signal(None) && waited < limit {
            tokio::time::sleep(step).await;
            waited += step;
        }
    }

    /// Ends what is left of the group after its leader is gone.
    async fn end(&mut self) {
        self.terminate();
        self.gone_within(AFTER_TERM).await;
        self.kill();
        // The system takes a moment to end what was killed.
        self.gone_within(AFTER_KILL).await;
        // The number may be given to others from now on.
        self.leader.take().into_iter().for_each(super::watchdog::remove);
    }
}

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        // The runtime ended before the server did.
        self.kill();
        self.leader.take().into_iter().for_each(super::watchdog::remove);
    }
}

#[cfg(not(unix))]
impl Group {
    fn of(child: &Child) -> Self {
        Self { leader: child.id() }
    }

    fn terminate(&self) {
        self.kill();
    }

    fn kill(&self) {
        if let Some(leader) = self.leader {
            let mut command = std::process::Command::new("taskkill");
            command.args(["/T", "/F", "/PID", &leader.to_string()]);
            #[cfg(windows)]
            std::os::windows::process::CommandExt::creation_flags(&mut command, 0x0800_0000);
            let _gone = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        }
    }

    async fn end(&mut self) {
        self.leader = None;
    }
}

/// Whether a file may be run.
pub(super) fn is_program(file: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    }
    #[cfg(not(unix))]
    {
        file.is_file()
    }
}
