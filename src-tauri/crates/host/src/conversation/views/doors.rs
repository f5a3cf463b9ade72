//! What a View says in the conversation: never more than the user agreed to, and marked as the View's words (X5).

use std::sync::Arc;

use usher_engine::{Consumer, ledger::LedgerEntry, routing::Door};
use usher_protocol::{common::ContentBlock, model::Selector};

use super::super::{CallRecord, DoorKind, DoorRecord, Host, ItemBody, ItemRecord, live::Live};

impl Host {
    /// Lets into the model's context what a View says, marked as such (X5): with the next message, never by a turn of its own. The
    /// last context of a View replaces the one before.
    pub(super) async fn open_view_door(
        &self,
        live: &Arc<Live>,
        call: &CallRecord,
        kind: DoorKind,
        what: &str,
        text: String,
    ) {
        if kind == DoorKind::ViewContext {
            let old = live.with(|it| {
                let is_old = |item: &&ItemRecord| {
                    matches!(&item.body, ItemBody::Door(door) if door.kind == kind && door.call_id == call.id)
                };
                it.items.iter().find(is_old).map(|it| it.id.clone())
            });
            if let Some(old) = old {
                self.close_door(live, &old, "the View took it back");
            }
            if text.is_empty() {
                return;
            }
        }
        let label = format!("{what}, {}, call {}", call.tool, call.number);
        let bytes = text.len() as u64;
        self.record(
            live,
            Some(&call.id),
            LedgerEntry::DoorOpened {
                to: Consumer::Model,
                what: label.clone(),
                bytes,
                door: Door::UserAction("you allowed what the View says, marked as its words".to_owned()),
                handle: None,
            },
        );
        let door =
            DoorRecord { kind, call_id: call.id.clone(), selector: Some(Selector::ui()), label, bytes };
        let _kept = self.add_item(live, ItemBody::Door(door), text).await;
    }
}

/// The text of some blocks.
pub(super) fn words(blocks: &[ContentBlock]) -> String {
    blocks.iter().filter_map(ContentBlock::as_text).collect::<Vec<_>>().join("\n")
}
