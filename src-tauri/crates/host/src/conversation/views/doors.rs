//! What a View says in the conversation, in words and pictures: never more than the user agreed to, and marked as the View's (X5).

use std::sync::Arc;

use serde_json::json;
use usher_engine::{Consumer, ledger::LedgerEntry, routing::Door};
use usher_protocol::{RawJson, common::ContentBlock, jsonrpc::ErrorObject, model::Selector};

use super::{
    super::{
        Asked, CallRecord, DoorKind, DoorRecord, Host, ItemBody, ItemRecord, ViewPicture, ViewPictures, lock,
    },
    requests::Asking,
};
use crate::app_view::{consent::Kind, picture::Picture, words::Words};

/// The newest context of a View that was written, by the number of its request. Held while one is written, so that two that come at
/// once are written one after the other, and the last one stands.
pub(super) type Written = Arc<tokio::sync::Mutex<Option<u32>>>;

/// What a View says, and the handle that opens its pictures: to the user who is asked, and to whoever reads the conversation later.
struct Said {
    words: Words,
    pictures: Option<(String, RawJson)>,
}

impl Said {
    fn shown(&self) -> Option<ViewPictures> {
        let (handle, blocks) = self.pictures.clone()?;
        Some(ViewPictures { handle, blocks, pictures: self.words.pictures.iter().map(shown).collect() })
    }
}

fn shown(picture: &Picture) -> ViewPicture {
    ViewPicture {
        mime: picture.media.mime.clone(),
        bytes: picture.bytes as u64,
        width: picture.width,
        height: picture.height,
    }
}

impl Host {
    /// `ui/message`: says something in the user's name, if the user lets it. It goes with the user's next message.
    pub(super) async fn say_for_view(
        &self,
        of: &Asking<'_>,
        content: &[ContentBlock],
    ) -> Result<RawJson, ErrorObject> {
        let said = self.said(of, content, None)?;
        if !self.may_say(of, DoorKind::ViewMessage, &said).await {
            return Ok(json!({"isError": true}).into());
        }
        let answer = said.words.answer();
        self.open_view_door(of, DoorKind::ViewMessage, "a View's message", said).await;
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
        let said = match (content, structured) {
            ([], None) => None,
            _ => Some(self.said(of, content, structured)?),
        };
        if let Some(said) = &said
            && !self.may_say(of, DoorKind::ViewContext, said).await
        {
            return Err(ErrorObject::new(-32000, "the user did not allow it"));
        }
        let written = lock(&self.0.views).written.get(of.view_id).cloned();
        // A View that is gone by now writes nothing.
        let Some(written) = written else { return Err(super::requests::gone()) };
        let mut newest = written.lock().await;
        let answer = said.as_ref().map_or_else(|| json!({}).into(), |it| it.words.answer());
        // What the View sent later stands for this one, whichever was answered first.
        if newest.is_some_and(|it| it > of.request_id) {
            return Ok(answer);
        }
        *newest = Some(of.request_id);
        self.take_back_context(of);
        if let Some(said) = said {
            let what = "what a View keeps as context";
            self.open_view_door(of, DoorKind::ViewContext, what, said).await;
        }
        Ok(answer)
    }

    /// Reads what a View says for the model that is chosen now.
    fn said(
        &self,
        of: &Asking<'_>,
        content: &[ContentBlock],
        structured: Option<&RawJson>,
    ) -> Result<Said, ErrorObject> {
        let words = Words::read(content, structured, self.takes_pictures(&of.live.id))?;
        let pictures = words.picture_blocks().map(|blocks| (self.new_id(), blocks));
        Ok(Said { words, pictures })
    }

    async fn may_say(&self, of: &Asking<'_>, door: DoorKind, said: &Said) -> bool {
        let words = &said.words;
        let is_message = door == DoorKind::ViewMessage;
        let kind = match (is_message, said.pictures.is_some()) {
            (true, false) => Kind::Message,
            (true, true) => Kind::MessageWithPictures,
            (false, false) => Kind::Context,
            (false, true) => Kind::ContextWithPictures,
        };
        let asked = |view| Asked::ViewWords {
            view,
            is_message,
            text: words.text.clone(),
            pictures: said.shown(),
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
    async fn open_view_door(&self, of: &Asking<'_>, kind: DoorKind, what: &str, said: Said) {
        let CallRecord { id, tool, number, .. } = of.call;
        let label = format!("{what}, {tool}, call {number}");
        let bytes = said.words.bytes() as u64;
        let pictures = said.pictures.map(|(handle, blocks)| {
            // The very pictures that were shown, under the same handle.
            self.keep_value(of.live, &handle, Some(id), None, &format!("the pictures of {label}"), &blocks);
            handle
        });
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
            pictures,
        };
        let _kept = self.add_item(of.live, ItemBody::Door(door), said.words.text).await;
    }
}
