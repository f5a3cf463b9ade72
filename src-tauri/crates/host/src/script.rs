//! Scripts: JavaScript on a thread of its own, which reaches servers only through the calls that the host answers.
//!
//! A run talks in a closed set of events and takes two commands: an answer to a call, and stop. Which tools exist for a script, what is
//! requested from them (rule H15) and who approves a call are decided by the conversation; app-only tools are never handed in (rule H30).
//! A script sees no selector and cannot set one (rule H14). Only what a script returns or prints leaves it (rule H23).
//!
//! Deliberately absent: files, the network, modules, timers other than `sleep`, and objects of the host: values cross as JSON text.

mod names;
mod runtime;
#[cfg(test)]
mod tests;
mod types;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc as sync_mpsc,
    },
    time::Duration,
};

use tokio::sync::mpsc;
use usher_protocol::RawJson;

pub use types::types;

/// The tools that a script may call, by server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScriptApi {
    /// The servers, in the order in which they are declared.
    pub servers: Vec<ScriptServer>,
}

/// A server as a script sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptServer {
    /// Its name, which is a property of `tools`; a name that is no identifier also gets one that is.
    pub slug: String,
    /// Its tools.
    pub tools: Vec<ScriptTool>,
}

/// A tool as a script sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptTool {
    /// The name that calls use.
    pub name: String,
    /// What it does, in the server's words. Untrusted.
    pub doc: String,
    /// The JSON Schema of its arguments.
    pub input_schema: RawJson,
    /// The JSON Schema of the variant that will be requested, and of no other (rule H15).
    pub output_schema: Option<RawJson>,
}

/// What a run may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The heap of the script, in bytes; also the sum of what it passes to calls.
    pub memory: usize,
    /// How long it may run and sleep. Time in which it only waits for answers does not count, since the user may be asked meanwhile.
    pub time: Duration,
    /// What it may print and return, in bytes.
    pub output: usize,
    /// The depth of its stack, in bytes.
    pub stack: usize,
    /// How many calls it may make.
    pub calls: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: 64 << 20,
            time: Duration::from_secs(30),
            output: 1 << 20,
            stack: 512 << 10,
            calls: 200,
        }
    }
}

/// How serious a printed line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// `console.log` and `console.table`.
    Log,
    /// `console.info`.
    Info,
    /// `console.warn`.
    Warn,
    /// `console.error`.
    Error,
}

impl LogLevel {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// Why a run was ended before its own end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StopReason {
    /// Somebody stopped it.
    #[error("The script was stopped.")]
    Asked,
    /// [`Limits::time`].
    #[error("The script was stopped because it ran longer than it may.")]
    Time,
    /// [`Limits::memory`].
    #[error("The script was stopped because it needed more memory than it may.")]
    Memory,
    /// [`Limits::output`].
    #[error("The script was stopped because it printed or returned more than it may.")]
    Output,
    /// [`Limits::calls`].
    #[error("The script was stopped because it made more calls than it may.")]
    Calls,
}

impl StopReason {
    /// Why it was stopped, with the limit that it reached.
    pub fn told(self, limits: &Limits) -> String {
        let mebibytes = |bytes: usize| format!("{} MiB", bytes >> 20);
        let why = match self {
            Self::Asked => return self.to_string(),
            Self::Time => format!(
                "it ran for more than {} seconds (waiting for answers does not count)",
                limits.time.as_secs()
            ),
            Self::Memory => format!("it needed more than {} of memory", mebibytes(limits.memory)),
            Self::Output => format!("it printed or returned more than {}", mebibytes(limits.output)),
            Self::Calls => format!("it made more than {} calls", limits.calls),
        };
        format!("The script was stopped because {why}.")
    }
}

/// What a run tells. Exactly one of `Returned`, `Failed` and `Stopped` comes, and it is the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptEvent {
    /// It printed a line.
    Log {
        /// How serious it is.
        level: LogLevel,
        /// The formatted text.
        text: String,
    },
    /// It calls a tool and waits for [`ScriptRun::answer`].
    Call {
        /// Names the call within the run.
        id: u64,
        /// [`ScriptServer::slug`].
        server: String,
        /// [`ScriptTool::name`].
        tool: String,
        /// An object.
        arguments: RawJson,
    },
    /// It ended with a value; `null` where it returned nothing.
    Returned {
        /// The value.
        json: RawJson,
    },
    /// It ended with an error of its own.
    Failed {
        /// What happened, with the line of the script where known.
        message: String,
    },
    /// It was ended.
    Stopped {
        /// Why.
        why: StopReason,
    },
}

/// A script that runs. Dropping it stops the script.
#[derive(Debug)]
pub struct ScriptRun {
    commands: sync_mpsc::Sender<Command>,
    stop: Arc<AtomicBool>,
}

#[derive(Debug)]
enum Command {
    Answer { id: u64, answer: Result<RawJson, String> },
    Stop,
}

impl ScriptRun {
    /// Starts a script on a thread of its own. It is the body of an async function: `await` and `return` work at its top.
    pub fn start(
        source: String,
        api: ScriptApi,
        limits: Limits,
        events: mpsc::UnboundedSender<ScriptEvent>,
    ) -> Self {
        let (commands, inbox) = sync_mpsc::channel();
        let stop = Arc::new(AtomicBool::new(false));
        let thread_events = events.clone();
        let thread_stop = Arc::clone(&stop);
        // The engine checks its own limit; the rest is room for the frames of the host beneath it.
        let spawned = std::thread::Builder::new()
            .name("script".to_owned())
            .stack_size(limits.stack.saturating_mul(2).saturating_add(2 << 20))
            .spawn(move || runtime::run(&source, &api, limits, &thread_events, inbox, thread_stop));
        if let Err(error) = spawned {
            let message = format!("The script could not start: {error}. Nothing ran; try again.");
            // Nobody listens any more: then nobody misses it.
            let _ = events.send(ScriptEvent::Failed { message });
        }
        Self { commands, stop }
    }

    /// Answers a call with its value, or with what went wrong. An answer to a call that is not open is ignored.
    pub fn answer(&self, call_id: u64, answer: Result<RawJson, String>) {
        // The run may have ended meanwhile: the answer is then of no use.
        let _ = self.commands.send(Command::Answer { id: call_id, answer });
    }

    /// Ends the script wherever it is, also inside an infinite loop.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.commands.send(Command::Stop);
    }
}

impl Drop for ScriptRun {
    fn drop(&mut self) {
        self.stop();
    }
}
