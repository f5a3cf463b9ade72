//! Being told of changes under revisions where this must be asked for (2026-07-28 basic/patterns/subscriptions).
//!
//! One `subscriptions/listen` is open at a time. When what is listened to changes it is asked anew, and when a stream breaks it is
//! asked again. Deliberately absent: what is done with the news, which comes as the connection's events.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::sync::watch;

use super::{
    Connection,
    opening::Greeting,
    wire::{Reply, Wire},
};

/// How often in a row a stream that ends at once is asked for again.
const MAX_RETRIES: u32 = 5;
/// A stream that lived so long has its end forgiven.
const LONG_LIFE: Duration = Duration::from_secs(30);

/// What a connection wants to be told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Filter {
    /// Kinds of lists.
    lists: BTreeSet<&'static str>,
    /// Single resources.
    pub(super) resources: BTreeSet<String>,
}

impl Filter {
    /// The lists of which a server says that it tells.
    fn of(greeting: &Greeting) -> Self {
        let capabilities = greeting.capabilities.to_value();
        let tells = |it: &&str| capabilities[*it]["listChanged"] == true;
        Self {
            lists: ["tools", "prompts", "resources"].into_iter().filter(tells).collect(),
            resources: BTreeSet::new(),
        }
    }

    fn is_empty(&self) -> bool {
        self.lists.is_empty() && self.resources.is_empty()
    }

    fn on_the_wire(&self) -> Value {
        let mut filter = serde_json::Map::new();
        for list in &self.lists {
            filter.insert(format!("{list}ListChanged"), true.into());
        }
        if !self.resources.is_empty() {
            filter.insert("resourceSubscriptions".to_owned(), json!(self.resources));
        }
        Value::Object(filter)
    }
}

/// Starts to listen. What is wanted can be changed through the sender; the end of the connection ends it.
pub(super) fn listen(wire: &Arc<Wire>, greeting: &Greeting, meta: Value) -> watch::Sender<Filter> {
    let (wanted, changes) = watch::channel(Filter::of(greeting));
    tokio::spawn(keep_listening(Arc::clone(wire), meta, changes));
    wanted
}

async fn keep_listening(wire: Arc<Wire>, meta: Value, mut wanted: watch::Receiver<Filter>) {
    let closing = wire.closing().clone();
    let mut retries = 0;
    loop {
        let filter = wanted.borrow_and_update().clone();
        if filter.is_empty() {
            tokio::select! {
                changed = wanted.changed() => if changed.is_err() { return },
                () = closing.cancelled() => return,
            }
            continue;
        }
        let params = json!({"_meta": meta, "notifications": filter.on_the_wire()});
        let (id, answer) = wire.request("subscriptions/listen", params.into()).await;
        let born = tokio::time::Instant::now();
        tokio::select! {
            answer = answer => match answer {
                // The server ended it in good order, or does not know it; either way it said so.
                Ok(Reply::Result(_) | Reply::Error(_) | Reply::Unreadable(_)) => {
                    tokio::select! {
                        changed = wanted.changed() => if changed.is_err() { return },
                        () = closing.cancelled() => return,
                    }
                }
                Ok(Reply::Failed(failure)) => {
                    retries = if born.elapsed() >= LONG_LIFE { 0 } else { retries + 1 };
                    if retries > MAX_RETRIES {
                        wire.defect(format!("The server does not keep the stream of its news open ({failure})."));
                        return;
                    }
                    tokio::select! {
                        () = tokio::time::sleep(Duration::from_millis(250) * 2_u32.pow(retries)) => {}
                        () = closing.cancelled() => return,
                    }
                }
                Err(_) => return,
            },
            changed = wanted.changed() => {
                wire.abandon(id, "something else is wanted now");
                if changed.is_err() {
                    return;
                }
            }
        }
    }
}

impl Connection {
    /// Changes what the connection wants to be told.
    pub(super) fn listen_to(&self, change: impl FnOnce(&mut Filter) -> bool) {
        if let Some(wanted) = &self.0.wanted {
            wanted.send_if_modified(change);
        }
    }
}
