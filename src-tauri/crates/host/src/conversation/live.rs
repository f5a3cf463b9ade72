//! A conversation that is open: its entries, its calls, and what of them is on disk.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use serde::{Deserialize, Serialize};
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;
use usher_engine::{Consumer, Mode, ledger::LedgerEntry};
use usher_protocol::model::Selector;

use super::{
    AnswerState, ApprovalChoice, BroughtKind, BroughtRecord, CallRecord, CallState, DoorRecord,
    ExchangeRecord, Host, HostError, HostEvent, ItemBody, ItemRecord, LedgerRecord, Summary, Told, TurnState,
    event::Share, lock, models::DEMO_MODEL,
};
use crate::{
    model::ModelToolResult,
    store::{CallRow, ConversationRow, ExchangeRow, ItemRow, LedgerRow, SearchHit},
};

/// What a tool is asked for in Custom mode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CustomChoice {
    /// The server.
    pub server_id: String,
    /// The tool.
    pub tool: String,
    /// What is asked for.
    pub selectors: Vec<Selector>,
}

/// A conversation with all that it shows.
#[derive(Debug, Clone)]
pub struct Opened {
    /// Its summary.
    pub summary: Summary,
    /// Its entries.
    pub items: Vec<ItemRecord>,
    /// Its calls, by id.
    pub calls: BTreeMap<String, CallRecord>,
    /// Where its turn stands.
    pub turn: TurnState,
    /// Its facts.
    pub ledger: Vec<LedgerRecord>,
    /// Its requests to models.
    pub exchanges: Vec<ExchangeRecord>,
    /// What was not whole and has been repaired, in sentences.
    pub repairs: Vec<String>,
    /// What tools are asked for in Custom mode.
    pub custom: Vec<CustomChoice>,
}

/// An open conversation.
pub(super) struct Live {
    pub(super) id: String,
    state: Mutex<State>,
    turn: watch::Sender<TurnState>,
}

pub(super) struct State {
    pub(super) row: ConversationRow,
    pub(super) mode: Mode,
    pub(super) custom: Vec<CustomChoice>,
    pub(super) items: Vec<ItemRecord>,
    pub(super) calls: BTreeMap<String, CallRecord>,
    pub(super) ledger: Vec<LedgerRecord>,
    pub(super) exchanges: Vec<ExchangeRecord>,
    pub(super) repairs: Vec<String>,
    /// Places and numbers are given out here, so that what happens at once gets different ones.
    next_seq: i64,
    next_number: u32,
    /// What the model reads of calls, so that a turn does not read the disk for each.
    pub(super) results: BTreeMap<String, ModelToolResult>,
    /// Calls that wait for the user.
    pub(super) questions: BTreeMap<String, oneshot::Sender<ApprovalChoice>>,
    /// Ends the turn, and single calls.
    pub(super) cancel: Option<CancellationToken>,
    pub(super) cancels: BTreeMap<String, CancellationToken>,
}

impl Live {
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut lock(&self.state))
    }

    pub(super) fn turn(&self) -> TurnState {
        self.turn.borrow().clone()
    }

    pub(super) fn stop(&self) {
        let cancel = self.with(|it| it.cancel.clone());
        if let Some(cancel) = cancel {
            cancel.cancel();
        }
    }

    /// Waits until no turn runs.
    pub(super) async fn settled(&self) {
        let mut turn = self.turn.subscribe();
        let idle = |it: &TurnState| matches!(it, TurnState::Idle | TurnState::Failed(_));
        let _ = tokio::time::timeout(std::time::Duration::from_secs(3), turn.wait_for(idle)).await;
    }

    pub(super) fn mode(&self) -> Mode {
        self.with(|it| it.mode)
    }

    /// Bytes of results that routing kept out of the model's context.
    pub(super) fn kept_out_bytes(&self) -> u64 {
        self.with(|it| {
            let of = |call: &CallRecord| {
                let delivered =
                    call.deliveries.iter().filter(|it| it.to != Consumer::Model).map(|it| it.bytes);
                delivered.chain(call.withheld.iter().map(|it| it.bytes)).sum::<u64>()
            };
            it.calls.values().map(of).sum()
        })
    }
}

impl Host {
    /// Starts a conversation.
    ///
    /// # Errors
    /// The disk refuses.
    pub async fn create_conversation(
        &self,
        mode: Option<Mode>,
        model_id: Option<String>,
    ) -> Result<Summary, HostError> {
        let now = self.now_ms();
        let row = ConversationRow {
            id: self.new_id(),
            title: "New conversation".to_owned(),
            created_ms: now,
            updated_ms: now,
            mode: mode_word(mode.unwrap_or(Mode::Chat)),
            model_id: model_id.unwrap_or_else(|| self.default_model()),
            custom: "[]".to_owned(),
            by_command: self.0.options.by_command,
        };
        self.store().refusing().create_conversation(row.clone()).await?;
        let live = self.enliven(row, State::empty);
        let summary = live.summary();
        self.tell(HostEvent::Conversation(summary.clone()));
        Ok(summary)
    }

    fn enliven(&self, row: ConversationRow, make: impl FnOnce(ConversationRow) -> State) -> Arc<Live> {
        let mut map = self.live_map();
        let id = row.id.clone();
        let made = || {
            Arc::new(Live {
                id: id.clone(),
                state: Mutex::new(make(row)),
                turn: watch::Sender::new(TurnState::Idle),
            })
        };
        Arc::clone(map.entry(id.clone()).or_insert_with(made))
    }

    /// The open conversation, read from disk if need be.
    pub(super) async fn live(&self, id: &str) -> Result<Arc<Live>, HostError> {
        let open = self.live_map().get(id).cloned();
        if let Some(live) = open {
            return Ok(live);
        }
        let store = self.store();
        let row = store.conversation(id).await?.ok_or_else(|| HostError::unknown("conversation"))?;
        let items = store.items(id).await?;
        let calls = store.calls(id).await?;
        let ledger = store.ledger(id).await?;
        let exchanges = store.exchanges(id).await?;
        Ok(self.enliven(row, |row| {
            let mut state = State::empty(row);
            state.items = items.into_iter().filter_map(item_of).collect();
            state.calls = calls.into_iter().filter_map(call_of).map(|it| (it.id.clone(), it)).collect();
            state.ledger = ledger.into_iter().filter_map(ledger_of).collect();
            state.exchanges = exchanges.into_iter().map(exchange_of).collect();
            state.next_seq = state.items.iter().map(|it| it.seq).max().unwrap_or_default() + 1;
            state.next_number = state.calls.values().map(|it| it.number).max().unwrap_or_default() + 1;
            state
        }))
    }

    /// Opens a conversation with all that it shows.
    ///
    /// # Errors
    /// It is not there, or the disk cannot be read.
    pub async fn open_conversation(&self, id: &str) -> Result<Opened, HostError> {
        let live = self.live(id).await?;
        let (turn, summary) = (live.turn(), live.summary());
        Ok(live.with(|it| Opened {
            summary,
            items: it.items.clone(),
            calls: it.calls.clone(),
            turn,
            ledger: it.ledger.clone(),
            exchanges: it.exchanges.clone(),
            repairs: it.repairs.clone(),
            custom: it.custom.clone(),
        }))
    }

    /// Every conversation, newest first.
    ///
    /// # Errors
    /// The disk cannot be read.
    pub async fn conversations(&self) -> Result<Vec<Summary>, HostError> {
        let heads = self.store().conversations().await?;
        let live = self.live_map().clone();
        Ok(heads
            .into_iter()
            .map(|head| match live.get(&head.row.id) {
                Some(live) => live.summary(),
                None => Summary {
                    mode: mode_of(&head.row.mode),
                    id: head.row.id,
                    title: head.row.title,
                    updated_ms: head.row.updated_ms,
                    message_count: head.message_count,
                    model_id: head.row.model_id,
                    by_command: head.row.by_command,
                    busy: false,
                },
            })
            .collect())
    }

    /// Finds titles, messages and answers that contain every word. What tools returned is not searched, whoever it was for.
    ///
    /// # Errors
    /// The disk cannot be read.
    pub async fn search(&self, query: &str) -> Result<Vec<SearchHit>, HostError> {
        const MOST_HITS: u32 = 50;
        Ok(self.store().search(query, MOST_HITS).await?)
    }

    /// Changes a conversation's title, mode, model or custom choices.
    ///
    /// # Errors
    /// It is not there, or the disk refuses.
    pub async fn configure_conversation(
        &self,
        id: &str,
        title: Option<String>,
        mode: Option<Mode>,
        model_id: Option<String>,
        custom: Option<Vec<CustomChoice>>,
    ) -> Result<Summary, HostError> {
        let live = self.live(id).await?;
        let row = live.with(|it| {
            let mut row = it.row.clone();
            if let Some(title) = title {
                row.title = title;
            }
            if let Some(mode) = mode {
                row.mode = mode_word(mode);
            }
            if let Some(model_id) = model_id {
                row.model_id = model_id;
            }
            if let Some(custom) = &custom {
                row.custom = serde_json::to_string(custom).unwrap_or_default();
            }
            row
        });
        self.store().refusing().update_conversation(row.clone()).await?;
        live.with(|it| {
            it.mode = mode_of(&row.mode);
            it.custom = custom.unwrap_or_else(|| std::mem::take(&mut it.custom));
            it.row = row;
        });
        let summary = live.summary();
        self.tell(HostEvent::Conversation(summary.clone()));
        Ok(summary)
    }

    /// Deletes a conversation and everything recorded for it.
    ///
    /// # Errors
    /// The disk refuses.
    pub async fn delete_conversation(&self, id: &str) -> Result<(), HostError> {
        self.close_views_of(id);
        let live = self.live_map().remove(id);
        if let Some(live) = live {
            live.stop();
            live.settled().await;
        }
        self.store().delete_conversation(id).await?;
        self.forget_payloads();
        self.tell(HostEvent::ConversationRemoved(id.to_owned()));
        Ok(())
    }

    /// Marks what an earlier run left unfinished: the application ended in the middle.
    pub(super) async fn settle_unfinished(&self) -> Result<(), HostError> {
        let unfinished = self.store().unfinished().await?;
        for row in unfinished.items {
            if let Some(ItemRecord { body: ItemBody::Assistant(mut answer), .. }) = item_of(row.clone()) {
                answer.state =
                    AnswerState::Broken("Usher ended while this was written; what came is kept.".to_owned());
                let body = serde_json::to_string(&ItemBody::Assistant(answer)).unwrap_or_default();
                self.store().close_item(row.id, body).await?;
            }
        }
        for row in unfinished.calls {
            if let Some(mut call) = call_of(row) {
                // What the model was still writing is no call of its answer.
                if call.state == CallState::Writing {
                    call.model_call = None;
                }
                call.state = CallState::Interrupted;
                call.ended_ms = Some(self.now_ms());
                call.told = if call.model_call.is_some() { Told::State } else { Told::Nothing };
                self.store().put_call(call_row(&call)).await?;
            }
        }
        Ok(())
    }

    pub(super) fn set_turn(&self, live: &Live, turn: TurnState) {
        live.turn.send_replace(turn.clone());
        self.tell(HostEvent::Turn { conversation_id: live.id.clone(), turn });
        self.tell(HostEvent::Conversation(live.summary()));
    }

    /// Ends a turn: whoever waits for its end finds its state, and whoever is told may start the next one.
    pub(super) fn end_turn(&self, live: &Live, turn: TurnState) {
        live.turn.send_replace(turn.clone());
        live.with(|it| it.cancel = None);
        self.set_turn(live, turn);
    }

    /// Writes an entry to disk, then shows it.
    pub(super) async fn add_item(
        &self,
        live: &Live,
        body: ItemBody,
        text: String,
    ) -> Result<ItemRecord, HostError> {
        let item = self.new_item(live, body, text);
        let streaming = matches!(&item.body, ItemBody::Assistant(it) if it.state == AnswerState::Streaming);
        // A user's words that could not be kept stay in the composer; anything else is kept in memory until the disk takes it.
        let by_user = is_of_user(&item.body);
        let store = if by_user { self.store().refusing() } else { self.store().clone() };
        let written = store.put_item(item_row(&live.id, &item, streaming)).await;
        match written {
            Err(error) if by_user => return Err(error.into()),
            Err(_) | Ok(()) => {}
        }
        live.with(|it| {
            it.items.push(item.clone());
            it.items.sort_by_key(|it| it.seq);
        });
        self.show_item(live, &item);
        Ok(item)
    }

    fn new_item(&self, live: &Live, body: ItemBody, text: String) -> ItemRecord {
        let seq = live.with(|it| {
            it.next_seq += 1;
            it.next_seq - 1
        });
        ItemRecord { id: self.new_id(), seq, at_ms: self.now_ms(), body, text }
    }

    pub(super) fn show_item(&self, live: &Live, item: &ItemRecord) {
        let call = match &item.body {
            ItemBody::Call { call_id } => live.with(|it| it.calls.get(call_id).cloned()).map(Box::new),
            ItemBody::User
            | ItemBody::Assistant(_)
            | ItemBody::Door(_)
            | ItemBody::Brought(_)
            | ItemBody::Note => None,
        };
        self.tell(HostEvent::Item { conversation_id: live.id.clone(), item: item.clone(), call });
    }

    /// Writes an answer's end to disk, then shows it.
    pub(super) async fn close_answer(
        &self,
        live: &Live,
        item_id: &str,
        change: impl FnOnce(&mut super::Answer),
    ) {
        let changed = live.with(|it| {
            let item = it.items.iter_mut().find(|it| it.id == item_id)?;
            if let ItemBody::Assistant(answer) = &mut item.body {
                change(answer);
            }
            Some(item.clone())
        });
        let Some(item) = changed else { return };
        let body = serde_json::to_string(&item.body).unwrap_or_default();
        self.patiently(self.store().close_item(item_id, body).await);
        self.show_item(live, &item);
    }

    /// Writes text to disk, then shows it.
    pub(super) async fn append_text(&self, live: &Live, item_id: &str, text: &str) {
        self.patiently(self.store().append_text(item_id, text).await);
        let offset = live.with(|it| {
            let item = it.items.iter_mut().rev().find(|it| it.id == item_id)?;
            let offset = item.text.encode_utf16().count();
            item.text.push_str(text);
            Some(offset)
        });
        self.tell(HostEvent::Text {
            conversation_id: live.id.clone(),
            item_id: item_id.to_owned(),
            offset: offset.unwrap_or_default(),
            text: text.to_owned(),
        });
    }

    /// Keeps a call's record, in the conversation and on disk, and shows it.
    pub(super) async fn keep_call(&self, live: &Live, call: &CallRecord) {
        // Queued under the lock: the disk sees the records of a call in the order in which the conversation did.
        let written = live.with(|it| {
            let call = it.put_call(call.clone());
            self.store().put_call(call_row(call))
        });
        self.patiently(written.await);
        self.show_kept(live, &call.id);
    }

    /// Shows a call's record without writing it: for progress, which is worth nothing after a restart.
    pub(super) fn show_call(&self, live: &Live, call: &CallRecord) {
        live.with(|it| {
            it.put_call(call.clone());
        });
        self.show_kept(live, &call.id);
    }

    /// Changes the record of a call in place, whatever else happens to the call meanwhile.
    pub(super) async fn change_call(&self, live: &Live, call_id: &str, change: impl FnOnce(&mut CallRecord)) {
        let written = live.with(|it| {
            let call = it.calls.get_mut(call_id)?;
            change(call);
            Some(self.store().put_call(call_row(call)))
        });
        if let Some(written) = written {
            self.patiently(written.await);
            self.show_kept(live, call_id);
        }
    }

    /// Shows a call as it is kept: what is shown of it changed, and its record did not.
    pub(super) fn show_kept(&self, live: &Live, call_id: &str) {
        let item = live.with(|it| {
            let item_id = it.calls.get(call_id)?.item_id.clone()?;
            // It is mostly one of the last.
            it.items.iter().rfind(|item| item.id == item_id).cloned()
        });
        if let Some(item) = item {
            self.show_item(live, &item);
        }
    }

    /// Records a fact.
    pub(super) fn record(&self, live: &Live, call_id: Option<&str>, entry: LedgerEntry) {
        let row = {
            let mut next = lock(&self.0.ledger_seq);
            let seq = *next;
            *next += 1;
            LedgerRecord { seq, at_ms: self.now_ms(), call_id: call_id.map(str::to_owned), entry }
        };
        let stored = LedgerRow {
            seq: row.seq,
            at_ms: row.at_ms,
            conversation_id: live.id.clone(),
            call_id: row.call_id.clone(),
            entry: serde_json::to_string(&row.entry).unwrap_or_default(),
        };
        self.keep_writing(self.store().append_ledger(vec![stored]));
        live.with(|it| it.ledger.push(row.clone()));
        self.tell(HostEvent::Ledger { conversation_id: live.id.clone(), row });
    }

    /// The store keeps what the disk refused and says so by its health; the conversation goes on.
    pub(super) fn patiently(&self, written: Result<(), crate::store::StoreError>) {
        if let Err(error) = written {
            tracing::warn!(%error, "a write waits");
        }
    }

    pub(super) fn default_model(&self) -> String {
        self.models().last().map_or_else(|| DEMO_MODEL.to_owned(), |it| it.id.clone())
    }
}

impl Live {
    pub(super) fn summary(&self) -> Summary {
        let busy = !matches!(self.turn(), TurnState::Idle | TurnState::Failed(_));
        self.with(|it| Summary {
            id: self.id.clone(),
            title: it.row.title.clone(),
            updated_ms: it.row.updated_ms,
            message_count: u32::try_from(it.items.iter().filter(|it| is_message(&it.body)).count())
                .unwrap_or(u32::MAX),
            mode: it.mode,
            model_id: it.row.model_id.clone(),
            by_command: it.row.by_command,
            busy,
        })
    }
}

impl State {
    /// A number for a call.
    pub(super) fn number(&mut self) -> u32 {
        self.next_number = self.next_number.saturating_add(1);
        self.next_number - 1
    }

    /// Puts a record in the place of the one before. What was added in place meanwhile stays: the document of its View, and what the user
    /// asked to read.
    fn put_call(&mut self, mut call: CallRecord) -> &CallRecord {
        if let Some(before) = self.calls.get(&call.id) {
            if let (Some(view), Some(old)) = (&mut call.view, &before.view)
                && view.resource_handle.is_none()
                && view.resource_uri == old.resource_uri
            {
                view.resource_handle.clone_from(&old.resource_handle);
                view.listed_handle.clone_from(&old.listed_handle);
                view.refused.clone_from(&old.refused);
            }
            let more: Vec<_> = before.shown.iter().filter(|it| !call.shown.contains(it)).cloned().collect();
            call.shown.extend(more);
        }
        let id = call.id.clone();
        self.calls.entry(id).insert_entry(call).into_mut()
    }

    fn empty(row: ConversationRow) -> Self {
        Self {
            mode: mode_of(&row.mode),
            custom: serde_json::from_str(&row.custom).unwrap_or_default(),
            row,
            items: Vec::new(),
            calls: BTreeMap::new(),
            ledger: Vec::new(),
            exchanges: Vec::new(),
            repairs: Vec::new(),
            next_seq: 1,
            next_number: 1,
            results: BTreeMap::new(),
            questions: BTreeMap::new(),
            cancel: None,
            cancels: BTreeMap::new(),
        }
    }
}

fn is_message(body: &ItemBody) -> bool {
    matches!(body, ItemBody::Assistant(_)) || is_of_user(body)
}

/// Whether it is what the user said: typed, or a prompt that they chose and sent.
pub(super) fn is_of_user(body: &ItemBody) -> bool {
    match body {
        ItemBody::User => true,
        ItemBody::Brought(it) => matches!(it.what, BroughtKind::Prompt { .. }),
        ItemBody::Assistant(_) | ItemBody::Call { .. } | ItemBody::Door(_) | ItemBody::Note => false,
    }
}

fn mode_word(mode: Mode) -> String {
    serde_json::to_value(mode).ok().and_then(|it| it.as_str().map(str::to_owned)).unwrap_or_default()
}

fn mode_of(word: &str) -> Mode {
    serde_json::from_value(word.into()).unwrap_or(Mode::Chat)
}

pub(super) fn item_row(conversation_id: &str, item: &ItemRecord, streaming: bool) -> ItemRow {
    let kind = match &item.body {
        body if is_of_user(body) => "user",
        ItemBody::User => "user",
        ItemBody::Assistant(_) => "assistant",
        ItemBody::Call { .. } => "call",
        ItemBody::Door(DoorRecord { .. }) => "door",
        // What a server has is not found by a search, as results are not.
        ItemBody::Brought(BroughtRecord { .. }) => "brought",
        ItemBody::Note => "note",
    };
    ItemRow {
        id: item.id.clone(),
        conversation_id: conversation_id.to_owned(),
        seq: item.seq,
        at_ms: item.at_ms,
        kind: kind.to_owned(),
        streaming,
        body: serde_json::to_string(&item.body).unwrap_or_default(),
        text: item.text.clone(),
    }
}

fn item_of(row: ItemRow) -> Option<ItemRecord> {
    let body = serde_json::from_str(&row.body).ok()?;
    Some(ItemRecord { id: row.id, seq: row.seq, at_ms: row.at_ms, body, text: row.text })
}

fn call_row(call: &CallRecord) -> CallRow {
    CallRow {
        id: call.id.clone(),
        conversation_id: call.conversation_id.clone(),
        item_id: call.item_id.clone(),
        number: call.number.into(),
        running: call.state.is_open(),
        state: call.state.word().to_owned(),
        record: serde_json::to_string(call).unwrap_or_default(),
    }
}

fn call_of(row: CallRow) -> Option<CallRecord> {
    serde_json::from_str(&row.record).ok()
}

fn ledger_of(row: LedgerRow) -> Option<LedgerRecord> {
    let entry = serde_json::from_str(&row.entry).ok()?;
    Some(LedgerRecord { seq: row.seq, at_ms: row.at_ms, call_id: row.call_id, entry })
}

/// What is stored of a request beside its body.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct StoredShare {
    pub(super) measure: super::Measure,
    pub(super) share: Vec<Share>,
    pub(super) spans: Vec<super::SpanRecord>,
    /// The server that asked the model, if one did.
    #[serde(default)]
    pub(super) asked_by: Option<String>,
}

pub(super) fn exchange_of(row: ExchangeRow) -> ExchangeRecord {
    let stored: StoredShare = serde_json::from_str(&row.spans).unwrap_or_default();
    ExchangeRecord {
        id: row.id,
        at_ms: row.at_ms,
        model: row.model,
        url: row.url,
        bytes: u64::try_from(row.size).unwrap_or_default(),
        sha256: row.sha256,
        attempts: u32::try_from(row.attempts).unwrap_or_default(),
        outcome: row.outcome,
        measure: stored.measure,
        share: stored.share,
        asked_by: stored.asked_by,
    }
}
