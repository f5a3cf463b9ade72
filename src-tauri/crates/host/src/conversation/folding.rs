//! Calls that Views made long ago: one line of the ledger stands for them, so that a View that polls for hours keeps a conversation small
//! in memory, on disk and in the window.
//!
//! Deliberately absent: calls that stand in the transcript, because the user was asked about them. They stay whole.

use std::collections::{BTreeMap, BTreeSet};

use usher_engine::{Consumer, Origin, ledger::LedgerEntry};

use super::{
    CallRecord, CallState, Host, HostEvent, LedgerRecord,
    live::{Live, State},
};
use crate::store::LedgerRow;

/// How many calls of Views are kept whole in a conversation.
const KEPT: usize = 64;

/// How many are folded at once, so that it is done seldom.
const FOLDED_AT_ONCE: usize = 64;

/// What a fold took away, and the lines that stand for it.
struct Folded {
    call_ids: Vec<String>,
    lines: Vec<LedgerRecord>,
}

impl Host {
    /// Folds the oldest calls of Views, if there are too many.
    pub(super) fn fold_view_calls(&self, live: &Live) {
        let Some(folded) = live.with(State::fold_view_calls) else { return };
        let rows = folded.lines.iter().map(|it| LedgerRow {
            seq: it.seq,
            at_ms: it.at_ms,
            conversation_id: live.id.clone(),
            call_id: None,
            entry: serde_json::to_string(&it.entry).unwrap_or_default(),
        });
        self.keep_writing(self.store().fold_calls(folded.call_ids.clone(), rows.collect()));
        self.tell(HostEvent::LedgerFolded {
            conversation_id: live.id.clone(),
            call_ids: folded.call_ids,
            rows: folded.lines,
        });
    }
}

impl State {
    fn fold_view_calls(&mut self) -> Option<Folded> {
        let is_foldable =
            |it: &&CallRecord| it.origin == Origin::View && it.item_id.is_none() && !it.state.is_open();
        let mut old: Vec<&CallRecord> = self.calls.values().filter(is_foldable).collect();
        if old.len() < KEPT + FOLDED_AT_ONCE {
            return None;
        }
        old.sort_by_key(|it| it.number);
        old.truncate(old.len() - KEPT);
        let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
        for call in &old {
            let sum = sums.entry(format!("{} / {}", call.server_name, call.tool)).or_default();
            sum.calls += 1;
            sum.failed += u64::from(call.state != CallState::Done);
            sum.bytes +=
                call.deliveries.iter().filter(|it| it.to == Consumer::View).map(|it| it.bytes).sum::<u64>();
            sum.at_ms = sum.at_ms.max(call.started_ms);
            let first = self.ledger.iter().find(|it| it.call_id.as_ref() == Some(&call.id)).map(|it| it.seq);
            sum.seq = sum.seq.or(first);
        }
        let call_ids: BTreeSet<String> = old.iter().map(|it| it.id.clone()).collect();
        self.calls.retain(|id, _| !call_ids.contains(id));
        self.ledger.retain(|it| it.call_id.as_ref().is_none_or(|id| !call_ids.contains(id)));
        let lines: Vec<LedgerRecord> =
            sums.into_iter().filter_map(|(tool, sum)| self.add_to_line(tool, &sum)).collect();
        self.ledger.sort_by_key(|it| it.seq);
        Some(Folded { call_ids: call_ids.into_iter().collect(), lines })
    }

    /// Adds to the line of a tool, or begins it where the first of its folded calls stood.
    fn add_to_line(&mut self, name: String, more: &Sum) -> Option<LedgerRecord> {
        for row in &mut self.ledger {
            if let LedgerEntry::ViewCalls { tool, calls, failed, bytes } = &mut row.entry
                && *tool == name
            {
                (*calls, *failed, *bytes) = (*calls + more.calls, *failed + more.failed, *bytes + more.bytes);
                row.at_ms = more.at_ms;
                return Some(row.clone());
            }
        }
        let entry =
            LedgerEntry::ViewCalls { tool: name, calls: more.calls, failed: more.failed, bytes: more.bytes };
        let row = LedgerRecord { seq: more.seq?, at_ms: more.at_ms, call_id: None, entry };
        self.ledger.push(row.clone());
        Some(row)
    }
}

/// What is said of some calls of one tool.
#[derive(Default)]
struct Sum {
    calls: u64,
    failed: u64,
    bytes: u64,
    at_ms: i64,
    seq: Option<i64>,
}
