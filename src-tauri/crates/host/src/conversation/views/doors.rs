//! What a View says in the conversation: never more than the user agreed to, and marked as the View's words (X5).

use std::sync::Arc;

use serde_json::json;
use usher_engine::{Consumer, ledger::LedgerEntry, routing::Door};
use usher_protocol::{RawJson, common::ContentBlock, jsonrpc::ErrorObject, model::Selector};

use super::{
    super::{Asked, CallRecord, DoorKind, DoorRecord, Host, ItemBody, ItemRecord, lock},
    requests::Asking,
};
use crate::app_view::{consent::Kind, words::Words};

/// The newest context of a View that was written, by the number of its request. Held while one is written, so that two that come at
/// once are written one after the other, and the last one stands.
pub(super) type Written = Arc<tokio::sync::Mutex<Option<u32>>>;

impl Host {
    /// `ui/message`: says something in the user's name, if the user lets it. It goes with the user's next message.
    pub(super) async fn say_for_view(
        &self,
        of: &Asking<'_>,
        content: &[ContentBlock],
    ) -> Result<RawJson, ErrorObject> {
        let words = Words::read(content, None)?;
        if !self.may_say(of, Kind::Message, &words).await {
            return Ok(json!({"isError": true}).into());
        }
        let answer = answer(&words);
        self.open_view_door(of, DoorKind::ViewMessage, "a View's message", words.text).await;
        Ok(answer)
    }

    /// `ui/update-model-context`: replaces what the View keeps before the model, if the user lets it. With nothing in it, it is taken
    /// back, which needs no question.
    pub(super) async fn keep_for_view(
        &self,
        of: &Asking<'_>,
        content: &[ContentBlock],
        structured: Option<&RawJson>,
    ) -> Result<RawJson, ErrorObject> {
        let words = match (content, structured) {
            ([], None) => None,
            _ => Some(Words::read(content, structured)?),
        };
        if let Some(words) = &words
            && !self.may_say(of, Kind::Context, words).await
        {
            return Err(ErrorObject::new(-32000, "the user did not allow it"));
        }
        let written = lock(&self.0.views).written.get(of.view_id).cloned();
        // A View that is gone by now writes nothing.
        let Some(written) = written else { return Err(super::requests::gone()) };
        let mut newest = written.lock().await;
        let answer = words.as_ref().map_or_else(|| json!({}).into(), answer);
        // What the View sent later stands for this one, whichever was answered first.
        if newest.is_some_and(|it| it > of.request_id) {
            return Ok(answer);
        }
        *newest = Some(of.request_id);
        self.take_back_context(of);
        if let Some(words) = words {
            let what = "what a View keeps as context";
            self.open_view_door(of, DoorKind::ViewContext, what, words.text).await;
        }
        Ok(answer)
    }

    async fn may_say(&self, of: &Asking<'_>, kind: Kind, words: &Words) -> bool {
        let asked = |view| Asked::ViewWords {
            view,
            is_message: kind == Kind::Message,
            text: words.text.clone(),
            left_out: words.left_out.clone(),
        };
        self.consents((of.view_id, of.call), kind, asked, of.end).await
    }

    /// Takes back what a View kept before: its own, and that of an earlier opening of the same View which is gone.
    fn take_back_context(&self, of: &Asking<'_>) {
        let open: Vec<String> = lock(&self.0.views).registry.all().map(|it| it.view_id.clone()).collect();
        let old: Vec<String> = of.live.with(|it| {
            let is_old = |item: &&ItemRecord| {
                matches!(&item.body, ItemBody::Door(door)
                    if door.kind == DoorKind::ViewContext
                        && door.call_id == of.call.id
                        && door.view_id.as_ref().is_none_or(|it| it == of.view_id || !open.contains(it)))
            };
            it.items.iter().filter(is_old).map(|it| it.id.clone()).collect()
        });
        for item_id in old {
            self.close_door(of.live, &item_id, "the View took it back");
        }
    }

    /// Lets into the model's context what a View says, marked as such (X5): with the next message, never by a turn of its own.
    async fn open_view_door(&self, of: &Asking<'_>, kind: DoorKind, what: &str, text: String) {
        let CallRecord { id, tool, number, .. } = of.call;
        let label = format!("{what}, {tool}, call {number}");
        let bytes = text.len() as u64;
        self.record(
            of.live,
            Some(id),
            LedgerEntry::DoorOpened {
                to: Consumer::Model,
                what: label.clone(),
                bytes,
                door: Door::UserAction("you allowed what the View says, marked as its words".to_owned()),
                handle: None,
            },
        );
        let door = DoorRecord {
            kind,
            call_id: id.clone(),
            view_id: Some(of.view_id.to_owned()),
            selector: Some(Selector::ui()),
            label,
            bytes,
        };
        let _kept = self.add_item(of.live, ItemBody::Door(door), text).await;
    }
}

/// What a View hears after a yes: also what of it was left out.
fn answer(words: &Words) -> RawJson {
    match &words.left_out {
        Some(left_out) => json!({"_meta": {"leftOut": left_out}}).into(),
        None => json!({}).into(),
    }
}
