//! What a connection tells while it lives: every line, every step, every oddity.
//!
//! The queue is bounded. A server that floods its output costs the oldest interest in lines, never memory: lines that find the queue
//! full are dropped and counted, and the count is told. Deliberately absent: time and sequence numbers, which whoever records gives.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::Notify;
use usher_protocol::Revision;

/// The longest text of a line that an event carries, in bytes; the rest is cut and `bytes` tells the real length.
pub const MAX_LINE_TEXT: usize = 64 * 1024;

/// Something that happened on a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectionEvent {
    /// A message crossed.
    Line {
        /// Which way.
        direction: Direction,
        /// The method, or what the message answers: `tools/call`, `result of tools/call`.
        title: String,
        /// The message, cut to [`MAX_LINE_TEXT`].
        text: String,
        /// Its whole length, in bytes.
        bytes: usize,
    },
    /// A line on stdout that is not a message, skipped.
    Noise {
        /// The line, cut to [`MAX_LINE_TEXT`].
        text: String,
        /// Its whole length, in bytes.
        bytes: usize,
    },
    /// A line on stderr. Not a sign of an error (2025-11-25 basic/transports, "stdio").
    Stderr {
        /// The line, cut.
        text: String,
    },
    /// A message was not as it should be, yet something could be done with it.
    Defect {
        /// What was wrong and what was done, for people.
        text: String,
    },
    /// A step of finding the revision.
    Negotiated(NegotiationStep),
    /// A step of signing in, as a sentence. Nothing in it is secret.
    SignIn {
        /// What happened, for people.
        text: String,
    },
    /// The server's tools are others now.
    ToolsChanged,
    /// The server's prompts are others now.
    PromptsChanged,
    /// The server's resources are others now.
    ResourcesChanged,
    /// A resource that was subscribed to has another content now.
    ResourceUpdated {
        /// Which.
        uri: String,
    },
    /// The server tells what it does (server/utilities/logging).
    Log {
        /// How important it is: one of the words of RFC 5424, as it came.
        level: String,
        /// Which part of the server.
        logger: Option<String>,
        /// What, cut. Untrusted.
        text: String,
    },
    /// So many lines were not told, because they came faster than they were read.
    Dropped {
        /// The number of lines.
        lines: u64,
    },
    /// The server is gone.
    Exited(Exit),
}

/// Which way a message went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the host to the server.
    ToServer,
    /// From the server to the host.
    FromServer,
}

/// A step of finding the revision, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NegotiationStep {
    /// The revision that was offered or settled.
    pub revision: Option<Revision>,
    /// What happened, for people.
    pub text: String,
    /// Whether an earlier revision is used because of it.
    pub fallback: bool,
}

/// How a server ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exit {
    /// `exit status: 1`, `signal: 9 (SIGKILL)`, or what is known instead.
    pub status: String,
    /// The last lines of stderr, oldest first.
    pub stderr: Vec<String>,
    /// Whether the host ended it.
    pub wanted: bool,
}

impl ConnectionEvent {
    /// Lines may be dropped when they come too fast; the rest may not.
    fn is_line(&self) -> bool {
        match self {
            Self::Line { .. }
            | Self::Noise { .. }
            | Self::Stderr { .. }
            | Self::Defect { .. }
            | Self::Log { .. }
            | Self::ResourceUpdated { .. } => true,
            Self::Negotiated(_)
            | Self::SignIn { .. }
            | Self::ToolsChanged
            | Self::PromptsChanged
            | Self::ResourcesChanged
            | Self::Dropped { .. }
            | Self::Exited(_) => false,
        }
    }

    /// Something is other now, whatever it was before.
    fn is_change(&self) -> bool {
        matches!(self, Self::ToolsChanged | Self::PromptsChanged | Self::ResourcesChanged)
    }

    fn weight(&self) -> usize {
        match self {
            // A method's name and a level are as long as a server likes.
            Self::Line { title, text, .. } => title.len() + text.len(),
            Self::Log { level, logger, text } => {
                level.len() + logger.as_ref().map_or(0, String::len) + text.len()
            }
            Self::Noise { text, .. } | Self::Stderr { text } | Self::Defect { text } => text.len(),
            Self::ResourceUpdated { uri } => uri.len(),
            Self::Negotiated(_)
            | Self::SignIn { .. }
            | Self::ToolsChanged
            | Self::PromptsChanged
            | Self::ResourcesChanged
            | Self::Dropped { .. }
            | Self::Exited(_) => 0,
        }
    }
}

/// Cuts text for an event, at a character's border.
pub(super) fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(MAX_LINE_TEXT)].to_owned()
}

const MAX_QUEUED: usize = 4096;
const MAX_QUEUED_BYTES: usize = 8 * 1024 * 1024;

#[derive(Default)]
struct Queue {
    events: VecDeque<ConnectionEvent>,
    bytes: usize,
    dropped: u64,
    senders: usize,
    receiver_gone: bool,
}

impl Queue {
    /// Whether a line of so many bytes is left out. After the first, all are until the gap was told, so that it is told where it is.
    fn leaves_out(&self, weight: usize) -> bool {
        self.events.len() >= MAX_QUEUED || self.bytes + weight > MAX_QUEUED_BYTES || self.dropped > 0
    }
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    arrived: Notify,
}

impl Shared {
    fn with<T>(&self, act: impl FnOnce(&mut Queue) -> T) -> T {
        act(&mut self.queue.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Makes a queue for the events of one connection, or of one server over several.
pub fn events() -> (EventSender, EventReceiver) {
    let shared = Arc::new(Shared::default());
    shared.with(|queue| queue.senders = 1);
    (EventSender(Arc::clone(&shared)), EventReceiver(shared))
}

/// Where a connection tells what happens. Never blocks.
pub struct EventSender(Arc<Shared>);

impl EventSender {
    /// Tells of a line, which is made only if there is room for it: a flood of lines costs no copy of each.
    pub(super) fn line(&self, bytes: usize, make: impl FnOnce() -> ConnectionEvent) {
        let is_left_out = self.0.with(|queue| {
            let is_left_out = queue.leaves_out(bytes.min(MAX_LINE_TEXT));
            queue.dropped += u64::from(is_left_out && !queue.receiver_gone);
            is_left_out || queue.receiver_gone
        });
        if !is_left_out {
            self.tell(make());
        }
    }

    pub(super) fn tell(&self, event: ConnectionEvent) {
        self.0.with(|queue| {
            if queue.receiver_gone {
                return;
            }
            if event.is_line() && queue.leaves_out(event.weight()) {
                queue.dropped += 1;
                return;
            }
            // One is enough until it is read; a server may send thousands.
            if event.is_change() && queue.events.contains(&event) {
                return;
            }
            queue.bytes += event.weight();
            queue.events.push_back(event);
        });
        self.0.arrived.notify_one();
    }

    pub(super) fn step(&self, revision: Option<Revision>, fallback: bool, text: impl Into<String>) {
        self.tell(ConnectionEvent::Negotiated(NegotiationStep { revision, text: text.into(), fallback }));
    }

    pub(super) fn sign_in(&self, text: String) {
        self.tell(ConnectionEvent::SignIn { text });
    }

    pub(super) fn defect(&self, text: impl Into<String>) {
        self.tell(ConnectionEvent::Defect { text: text.into() });
    }
}

impl Clone for EventSender {
    fn clone(&self) -> Self {
        self.0.with(|queue| queue.senders += 1);
        Self(Arc::clone(&self.0))
    }
}

impl Drop for EventSender {
    fn drop(&mut self) {
        self.0.with(|queue| queue.senders -= 1);
        self.0.arrived.notify_one();
    }
}

/// Where the events of a connection are read.
pub struct EventReceiver(Arc<Shared>);

impl EventReceiver {
    /// The next event, or `None` when the connection and everything of it is gone.
    pub async fn next(&mut self) -> Option<ConnectionEvent> {
        loop {
            let arrived = self.0.arrived.notified();
            match self.0.with(Self::pop) {
                (Some(event), _) => return Some(event),
                (None, true) => return None,
                (None, false) => arrived.await,
            }
        }
    }

    /// The next event, if one waits.
    pub fn try_next(&mut self) -> Option<ConnectionEvent> {
        self.0.with(Self::pop).0
    }

    fn pop(queue: &mut Queue) -> (Option<ConnectionEvent>, bool) {
        if let Some(event) = queue.events.pop_front() {
            queue.bytes -= event.weight();
            return (Some(event), false);
        }
        // The gap is told where it is: after what was kept, before what comes next.
        match std::mem::take(&mut queue.dropped) {
            0 => (None, queue.senders == 0),
            lines => (Some(ConnectionEvent::Dropped { lines }), false),
        }
    }
}

impl Drop for EventReceiver {
    fn drop(&mut self) {
        self.0.with(|queue| {
            queue.receiver_gone = true;
            queue.events.clear();
            queue.bytes = 0;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(text: &str) -> ConnectionEvent {
        ConnectionEvent::Noise { text: text.to_owned(), bytes: text.len() }
    }

    #[test]
    fn a_flood_is_counted_not_kept() {
        let (sender, mut receiver) = events();
        for _ in 0..MAX_QUEUED + 10 {
            sender.tell(noise("x"));
        }
        sender.tell(ConnectionEvent::ToolsChanged);
        let mut seen = Vec::new();
        while let Some(event) = receiver.try_next() {
            seen.push(event);
        }
        assert_eq!(seen.len(), MAX_QUEUED + 2);
        assert_eq!(seen[MAX_QUEUED], ConnectionEvent::ToolsChanged);
        assert_eq!(seen[MAX_QUEUED + 1], ConnectionEvent::Dropped { lines: 10 });
        sender.tell(noise("after"));
        assert_eq!(receiver.try_next(), Some(noise("after")));
    }

    #[test]
    fn a_flood_of_long_lines_is_bounded_in_bytes() {
        let (sender, mut receiver) = events();
        for _ in 0..200 {
            sender.tell(noise(&cut(&"é".repeat(MAX_LINE_TEXT))));
        }
        let kept = std::iter::from_fn(|| receiver.try_next()).filter(|it| it.weight() > 0).count();
        assert_eq!(kept, MAX_QUEUED_BYTES / MAX_LINE_TEXT);
    }

    #[test]
    fn a_flood_of_changes_is_told_once() {
        let (sender, mut receiver) = events();
        let changes = [
            ConnectionEvent::ToolsChanged,
            ConnectionEvent::PromptsChanged,
            ConnectionEvent::ResourcesChanged,
        ];
        for _ in 0..10 {
            changes.iter().for_each(|it| sender.tell(it.clone()));
        }
        assert_eq!(std::iter::from_fn(|| receiver.try_next()).collect::<Vec<_>>(), changes);
    }

    #[tokio::test]
    async fn the_end_is_told() {
        let (sender, mut receiver) = events();
        sender.tell(ConnectionEvent::ToolsChanged);
        sender.tell(ConnectionEvent::ToolsChanged);
        drop(sender);
        assert_eq!(receiver.next().await, Some(ConnectionEvent::ToolsChanged));
        assert_eq!(receiver.next().await, None);
    }
}
