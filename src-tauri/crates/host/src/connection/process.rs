//! A server's process: how it is started, watched and ended with everything that it started.
//!
//! Its whole [`ProcessTree`] is ended with it: first its input is closed, then it is told to end, then it is killed (2025-11-25
//! basic/lifecycle, "Shutdown"). Deliberately absent: restarting, which is the supervisor's; and putting a command line together, which
//! no shell reads. On Windows a `.cmd` or `.bat` file is read by the command interpreter all the same: the standard library escapes its
//! arguments, and refuses those that it cannot escape, as an error of the start.

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
    process::{ChildStderr, ChildStdin, ChildStdout, Command},
    sync::watch,
};
use tokio_util::sync::CancellationToken;

use super::{
    error::ConnectError,
    event::{ConnectionEvent, EventSender, Exit, cut},
    line::read_line,
    process_tree::{ProcessTree, Streams},
    search_path::{SearchPath, file_of, find_command},
    spec::StdioSpec,
};

/// How many lines of stderr are kept.
const KEPT_STDERR: usize = 500;
/// The longest line of stderr that is kept, in bytes.
const MAX_STDERR_LINE: usize = 8 * 1024;
/// How long a server may take to end after its input was closed.
const AFTER_CLOSE: Duration = Duration::from_secs(2);
/// How long it may take to end after it was told to.
const AFTER_TERM: Duration = Duration::from_secs(1);

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
        let (command, program) = command(spec, path)?;
        let mut tree = ProcessTree::start(command)
            .map_err(|error| ConnectError::NotStarted { command: program.clone(), why: error.to_string() })?;
        let Streams { stdin: Some(stdin), stdout: Some(stdout), stderr: Some(stderr) } = tree.streams()
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
            tree,
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
    // Windows does not tell names apart by case, and calls it `Path`.
    let is_path = |name: &str| if cfg!(windows) { name.eq_ignore_ascii_case("PATH") } else { name == "PATH" };
    let own_path = spec.env.iter().rev().find(|it| is_path(&it.0)).map(|it| SearchPath::from_text(&it.1));
    let path = own_path.as_ref().unwrap_or(path);
    let program = find_command(&spec.command, path, spec.cwd.as_deref()).ok_or_else(|| {
        // A path is looked for nowhere else, so that no list of folders explains why it cannot be run.
        match file_of(&spec.command, spec.cwd.as_deref()) {
            Some(file) if file.exists() => ConnectError::NotAProgram { file: file.display().to_string() },
            Some(file) => ConnectError::NoFile { file: file.display().to_string() },
            None => ConnectError::CommandNotFound { command: spec.command.clone(), path: path.folders() },
        }
    })?;
    // A script that starts with `env node` finds the node beside it.
    let beside = program.parent().filter(|it| it.is_absolute());
    let mut command = Command::new(&program);
    command.args(&spec.args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
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
    let program = program.display().to_string();
    Ok((command, program))
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
    tree: ProcessTree,
    closing: CancellationToken,
    wanted: Arc<AtomicBool>,
    reading: tokio::task::JoinHandle<()>,
    tail: StderrTail,
    told: watch::Sender<Option<Exit>>,
    events: EventSender,
}

async fn watch_process(mut watch: Watch) {
    let by_itself = tokio::select! {
        status = watch.tree.first_ended() => Some(status),
        () = watch.closing.cancelled() => None,
    };
    let status = match by_itself {
        Some(status) => status,
        None => match tokio::time::timeout(AFTER_CLOSE, watch.tree.first_ended()).await {
            Ok(status) => status,
            Err(_) => {
                watch.tree.terminate();
                if let Ok(status) = tokio::time::timeout(AFTER_TERM, watch.tree.first_ended()).await {
                    status
                } else {
                    watch.tree.kill();
                    watch.tree.first_ended().await
                }
            }
        },
    };
    // What the server started outlives it unless it is told.
    watch.tree.end().await;
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

/// Whether a file may be run.
pub(super) fn is_program(file: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    }
    #[cfg(not(unix))]
    {
        // The aliases of applications from the store are links that only the system follows.
        file.is_file() || file.symlink_metadata().is_ok_and(|it| it.is_symlink())
    }
}
