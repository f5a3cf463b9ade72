//! The ledger's pen: gives each fact its place and time, keeps it and tells those who listen, in that order.
//!
//! Deliberately absent: what a fact means (the engine's), and where it is kept: whoever composes this passes that in.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
};

use tokio::sync::broadcast;
use usher_protocol::RawJson;

/// How many facts a slow listener may be behind before it must read the ledger anew.
const BEHIND: usize = 4_096;

/// A fact with its place and time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceEntry {
    /// Its place among all facts, from 1 and without gaps within a run.
    pub seq: i64,
    /// Milliseconds since 1970.
    pub at_ms: i64,
    /// The conversation.
    pub conversation_id: String,
    /// The call, if it is about one.
    pub call_id: Option<String>,
    /// The fact, as JSON.
    pub entry: RawJson,
}

/// Records facts. `K` is what keeping one answers, such as a future that resolves when it is on disk.
pub struct Trace<K> {
    next: Mutex<i64>,
    clock: Box<dyn Fn() -> i64 + Send + Sync>,
    keep: Box<dyn Fn(&TraceEntry) -> K + Send + Sync>,
    listeners: broadcast::Sender<TraceEntry>,
}

impl<K> Trace<K> {
    /// Starts with the seq that the next fact gets. `clock` gives milliseconds since 1970; `keep` must only queue, since it runs under
    /// the lock that gives the order.
    pub fn new(
        next: i64,
        clock: impl Fn() -> i64 + Send + Sync + 'static,
        keep: impl Fn(&TraceEntry) -> K + Send + Sync + 'static,
    ) -> Self {
        let (listeners, _) = broadcast::channel(BEHIND);
        Self { next: Mutex::new(next), clock: Box::new(clock), keep: Box::new(keep), listeners }
    }

    /// Records a fact. Answers it with its place, and what keeping it answered.
    pub fn record(&self, conversation_id: &str, call_id: Option<&str>, entry: RawJson) -> (TraceEntry, K) {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = TraceEntry {
            seq: *next,
            at_ms: (self.clock)(),
            conversation_id: conversation_id.to_owned(),
            call_id: call_id.map(str::to_owned),
            entry,
        };
        *next += 1;
        let kept = (self.keep)(&entry);
        // Nobody listening is fine: the fact is kept.
        let _ = self.listeners.send(entry.clone());
        (entry, kept)
    }

    /// Hears every fact from now on. One who is too far behind is told so and reads the kept ledger.
    pub fn listen(&self) -> broadcast::Receiver<TraceEntry> {
        self.listeners.subscribe()
    }
}

impl<K> fmt::Debug for Trace<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace").field("next", &self.next).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, atomic::AtomicI64, atomic::Ordering};

    use super::*;

    #[test]
    fn facts_are_kept_and_told_in_one_order_from_many_threads() {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let clock = AtomicI64::new(100);
        let into = Arc::clone(&kept);
        let trace = Trace::new(
            7,
            move || clock.fetch_add(1, Ordering::Relaxed),
            move |entry: &TraceEntry| into.lock().unwrap().push(entry.clone()),
        );
        let mut heard = trace.listen();
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    for n in 0..100 {
                        trace.record("c", Some("k"), RawJson::of(&n).unwrap());
                    }
                });
            }
        });
        let kept = kept.lock().unwrap();
        let told: Vec<_> = std::iter::from_fn(|| heard.try_recv().ok()).collect();
        assert_eq!(*kept, told);
        let places: Vec<_> = kept.iter().map(|entry| (entry.seq, entry.at_ms)).collect();
        assert_eq!(places, (0..400).map(|n| (7 + n, 100 + n)).collect::<Vec<_>>());
    }
}
