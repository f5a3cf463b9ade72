//! Taking out of the model's context what a door let in.
//!
//! Requests that were sent stay as they were sent; the next one no longer has it. Deliberately absent: opening a door, which stands with
//! whoever opens it.

use usher_engine::{Consumer, ledger::LedgerEntry};

use super::{
    Host, HostError, HostEvent, ItemBody,
    live::{Live, is_of_user},
    lock,
};

impl Host {
    /// Takes out of the model's context what the user or a View put there: the user's own action, recorded as such (H25).
    ///
    /// # Errors
    /// It is not there, or is no such thing.
    pub async fn take_back(&self, conversation_id: &str, item_id: &str) -> Result<(), HostError> {
        let live = self.live(conversation_id).await?;
        if self.close_door(&live, item_id, "you took it back") {
            Ok(())
        } else {
            Err(HostError::unknown("entry"))
        }
    }

    /// Takes an entry that a door let in out of a conversation. Answers whether there is such an entry.
    pub(super) fn close_door(&self, live: &Live, item_id: &str, why: &str) -> bool {
        let closed = live.with(|it| {
            let at = it.items.iter().position(|item| item.id == item_id)?;
            let door = match &it.items[at].body {
                ItemBody::Door(door) => {
                    (door.label.clone(), Some(door.call_id.clone()), door.pictures.clone())
                }
                ItemBody::Brought(brought) if !is_of_user(&it.items[at].body) => {
                    (brought.label(), None, None)
                }
                ItemBody::User
                | ItemBody::Brought(_)
                | ItemBody::Assistant(_)
                | ItemBody::Call { .. }
                | ItemBody::Note => return None,
            };
            it.items.remove(at);
            Some(door)
        });
        let Some((what, call_id, pictures)) = closed else { return false };
        self.keep_writing(self.store().delete_item(item_id.to_owned()));
        // A View may replace what it keeps many times a second, and each time with new pictures.
        if let Some(handle) = pictures {
            lock(&self.0.payloads).forget(&handle);
            self.keep_writing(self.store().delete_payload(handle));
        }
        let entry = LedgerEntry::DoorClosed { from: Consumer::Model, what, why: why.to_owned() };
        self.record(live, call_id.as_deref(), entry);
        self.tell(HostEvent::ItemRemoved { conversation_id: live.id.clone(), item_id: item_id.to_owned() });
        true
    }
}
