//! What was fetched from a server because the user asked, and waits for what they do with it: a prompt's messages, or a resource.
//!
//! The content is the server's. It stays in memory, where the window shows it, until the user sends or attaches it; only then it becomes
//! part of a conversation, and what was shown is exactly what is kept. Deliberately absent: fetching, which `prompts` and `resources` do.

use std::{
    collections::VecDeque,
    sync::{Arc, PoisonError},
};

use usher_engine::{Consumer, ledger::LedgerEntry, routing::Door};
use usher_protocol::{RawJson, common::ContentBlock};

use super::{
    BroughtKind, BroughtPart, BroughtRecord, Host, HostError, ItemBody, live::Live, lock, outputs::words,
    turn::title_of,
};
use crate::model::ToolChoice;

/// How many wait at most; the oldest go first. A window shows one or two.
const MOST: usize = 16;

/// Something that was fetched.
#[derive(Debug, Clone, PartialEq)]
pub struct Fetched {
    /// Its id.
    pub id: String,
    /// The server.
    pub server_id: String,
    /// The server's name.
    pub server_name: String,
    /// What it is.
    pub what: BroughtKind,
    /// What the server says of it. Untrusted, as all that follows.
    pub description: Option<String>,
    /// Its messages, in order; a resource is one.
    pub parts: Vec<FetchedPart>,
}

/// A message of it.
#[derive(Debug, Clone, PartialEq)]
pub struct FetchedPart {
    /// Whether it is to be read as the model's words.
    pub by_assistant: bool,
    /// Opens its blocks.
    pub handle: String,
    /// Its blocks.
    pub blocks: RawJson,
}

/// What waits.
#[derive(Default)]
pub(super) struct FetchedShelf(VecDeque<Arc<Fetched>>);

impl FetchedShelf {
    /// The blocks that a handle opens.
    pub(super) fn value(&self, handle: &str) -> Option<RawJson> {
        let part = self.0.iter().flat_map(|it| &it.parts).find(|it| it.handle == handle);
        part.map(|it| it.blocks.clone())
    }
}

impl Fetched {
    /// Its size in bytes.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|it| it.blocks.bytes() as u64).sum()
    }

    fn record(&self) -> BroughtRecord {
        let part =
            |it: &FetchedPart| BroughtPart { by_assistant: it.by_assistant, handle: it.handle.clone() };
        BroughtRecord {
            server_id: self.server_id.clone(),
            server_name: self.server_name.clone(),
            what: self.what.clone(),
            messages: self.parts.iter().map(part).collect(),
            bytes: self.bytes(),
        }
    }

    /// What of it is words.
    fn text(&self) -> String {
        let words_of = |it: &FetchedPart| it.blocks.to::<Vec<ContentBlock>>().map(|it| words(&it)).ok();
        self.parts.iter().filter_map(words_of).collect::<Vec<_>>().join("\n\n")
    }
}

impl Host {
    /// Puts something on the shelf; the blocks of each message with its role.
    pub(super) fn shelve(
        &self,
        server: &super::servers::Server,
        what: BroughtKind,
        description: Option<String>,
        messages: Vec<(bool, Vec<ContentBlock>)>,
    ) -> Result<Arc<Fetched>, serde_json::Error> {
        let mut parts = Vec::new();
        for (by_assistant, blocks) in messages {
            parts.push(FetchedPart { by_assistant, handle: self.new_id(), blocks: RawJson::of(&blocks)? });
        }
        let fetched = Arc::new(Fetched {
            id: self.new_id(),
            server_id: server.id.clone(),
            server_name: server.name.clone(),
            what,
            description,
            parts,
        });
        let mut shelf = self.0.fetched.lock().unwrap_or_else(PoisonError::into_inner);
        shelf.0.push_back(Arc::clone(&fetched));
        if shelf.0.len() > MOST {
            shelf.0.pop_front();
        }
        Ok(fetched)
    }

    fn fetched(&self, id: &str) -> Result<Arc<Fetched>, HostError> {
        lock(&self.0.fetched)
            .0
            .iter()
            .find(|it| it.id == id)
            .cloned()
            .ok_or_else(|| HostError::unknown("prompt or resource"))
    }

    /// Forgets what was fetched. Nothing of it was kept.
    pub fn discard_fetched(&self, id: &str) {
        lock(&self.0.fetched).0.retain(|it| it.id != id);
    }

    /// Sends a prompt that the user has seen, and starts a turn: the user's own action, recorded as such (rule H25).
    ///
    /// # Errors
    /// It is not there, a turn runs already, or the disk refuses; then nothing was sent and it still waits.
    pub async fn send_prompt(&self, conversation_id: &str, fetched_id: &str) -> Result<(), HostError> {
        let live = self.live(conversation_id).await?;
        let fetched = self.fetched(fetched_id)?;
        let BroughtKind::Prompt { name, .. } = &fetched.what else {
            return Err(HostError::unknown("prompt"));
        };
        if fetched.parts.is_empty() {
            return Err(HostError::new(
                format!("The prompt {name} has no messages."),
                "Nothing was sent.",
                "Choose another, or write your own message.",
            ));
        }
        // The user chose this name in the list; none of the prompt's own words become a title.
        let title = title_of(&format!("/{name}"));
        let body = ItemBody::Brought(fetched.record());
        let keep = || self.keep_fetched(&live, &fetched, "you read it and sent it");
        self.say(&live, (body, fetched.text()), &title, keep, ToolChoice::Auto).await?;
        self.discard_fetched(fetched_id);
        Ok(())
    }

    /// Attaches a resource that was read: the model has it with the next message. The user's own action, recorded as such (rule H25).
    ///
    /// # Errors
    /// It is not there.
    pub async fn attach_resource(&self, conversation_id: &str, fetched_id: &str) -> Result<(), HostError> {
        let live = self.live(conversation_id).await?;
        let fetched = self.fetched(fetched_id)?;
        if !matches!(fetched.what, BroughtKind::Resource { .. }) {
            return Err(HostError::unknown("resource"));
        }
        self.keep_fetched(&live, &fetched, "you attached it");
        self.add_item(&live, ItemBody::Brought(fetched.record()), String::new()).await?;
        self.discard_fetched(fetched_id);
        Ok(())
    }

    /// Writes what was fetched to the conversation's payloads, and that it goes to the model.
    fn keep_fetched(&self, live: &Live, fetched: &Fetched, action: &str) {
        let what = fetched.record().label();
        for part in &fetched.parts {
            self.keep_value(live, &part.handle, None, None, &what, &part.blocks);
        }
        let entry = LedgerEntry::DoorOpened {
            to: Consumer::Model,
            what,
            bytes: fetched.bytes(),
            door: Door::UserAction(action.to_owned()),
            handle: fetched.parts.first().map(|it| it.handle.clone()),
        };
        self.record(live, None, entry);
    }
}
