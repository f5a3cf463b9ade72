//! Requests to a model: each is on disk, byte for byte, before it is sent.
//!
//! Deliberately absent: what a request is made of, and what becomes of its answer.

use std::sync::{Arc, Mutex};

use usher_engine::ledger::LedgerEntry;

use super::{
    CallRecord, ExchangeRecord, Host, HostEvent, Measure, Share, SourceKind, SpanRecord, TurnFailure,
    history,
    live::{Live, StoredShare, exchange_of},
    lock,
};
use crate::{
    model::{Encoded, ModelError, ModelSpec, Outcome, Recorder},
    store::{ExchangeOutcome, ExchangeRow, StoreError},
};

/// How the parts of a request begin that a server wrote.
const ASKED_BY: &str = "asked by ";

impl Host {
    /// Writes the request to disk before it is sent. What cannot be written is not sent: nobody could prove later what the model was
    /// told.
    pub(super) async fn keep_exchange(
        &self,
        live: &Arc<Live>,
        spec: &ModelSpec,
        encoded: &Encoded,
        asked_by: Option<&str>,
    ) -> Result<Arc<Kept>, TurnFailure> {
        let calls: Vec<CallRecord> =
            live.with(|it| it.calls.values().filter(|it| it.model_call.is_some()).cloned().collect());
        let mut spans = history::spans(&encoded.spans, &calls);
        if let Some(server) = asked_by {
            spans.iter_mut().for_each(|it| of_server(it, server));
        }
        let text = String::from_utf8_lossy(&encoded.body);
        let stored = StoredShare {
            measure: Measure {
                tokens: crate::model::estimate_tokens(&text),
                context_tokens: spec.context_tokens,
                kept_out_bytes: if asked_by.is_some() { 0 } else { live.kept_out_bytes() },
            },
            share: share_of(&spans),
            spans,
            asked_by: asked_by.map(str::to_owned),
        };
        let row = ExchangeRow {
            id: self.new_id(),
            conversation_id: live.id.clone(),
            at_ms: self.now_ms(),
            model: spec.name.clone(),
            url: encoded.url.to_string(),
            headers: serde_json::to_string(&encoded.recordable_headers()).unwrap_or_default(),
            sha256: encoded.sha256.clone(),
            attempts: 0,
            outcome: "sent".to_owned(),
            usage: None,
            spans: serde_json::to_string(&stored).unwrap_or_default(),
            size: i64::try_from(encoded.body.len()).unwrap_or(i64::MAX),
        };
        // Refused and not kept for later: the same turn is tried again by the user, and its request is made anew then.
        self.store()
            .refusing()
            .put_exchange(row.clone(), encoded.body.clone())
            .await
            .map_err(not_recorded)?;
        let (exchange, bytes, sha256) = (row.id.clone(), encoded.body.len() as u64, row.sha256.clone());
        let tokens = stored.measure.tokens;
        let fact = match asked_by {
            None => LedgerEntry::Sent { exchange, bytes, sha256, tokens },
            Some(server) => {
                LedgerEntry::ServerAsked { server: server.to_owned(), exchange, bytes, sha256, tokens }
            }
        };
        self.record(live, None, fact);
        let exchange = exchange_of(row);
        live.with(|it| it.exchanges.push(exchange.clone()));
        let kept = Kept { host: self.clone(), live: Arc::clone(live), exchange: Mutex::new(exchange) };
        kept.show();
        Ok(Arc::new(kept))
    }
}

/// A request that is kept; notes how its attempts end.
pub(super) struct Kept {
    host: Host,
    live: Arc<Live>,
    exchange: Mutex<ExchangeRecord>,
}

impl Kept {
    /// The id of the request.
    pub(super) fn id(&self) -> String {
        lock(&self.exchange).id.clone()
    }

    fn show(&self) {
        let exchange = lock(&self.exchange).clone();
        self.live.with(|it| {
            if let Some(old) = it.exchanges.iter_mut().find(|it| it.id == exchange.id) {
                *old = exchange.clone();
            }
        });
        let conversation_id = self.live.id.clone();
        self.host.tell(HostEvent::Exchange { conversation_id, exchange: Box::new(exchange) });
    }
}

impl Recorder for Kept {
    fn sending(&self, _request: &Encoded, attempt: u32) -> Result<(), String> {
        // The bytes are on disk already: the same ones serve every attempt.
        lock(&self.exchange).attempts = attempt;
        self.show();
        Ok(())
    }

    fn outcome(&self, _request: &Encoded, attempt: u32, outcome: &Outcome) {
        let text = match outcome {
            Outcome::Completed => "answered".to_owned(),
            Outcome::Retried(error) => format!("tried again: {error}"),
            Outcome::Failed(error) => error.to_string(),
            Outcome::Dropped => "stopped".to_owned(),
        };
        let id = {
            let mut exchange = lock(&self.exchange);
            exchange.outcome.clone_from(&text);
            exchange.id.clone()
        };
        let end = ExchangeOutcome { attempts: attempt.into(), outcome: text, usage: None };
        self.host.keep_writing(self.host.store().finish_exchange(id, end));
        self.show();
    }
}

/// Ends a turn whose request the disk refuses.
fn not_recorded(error: StoreError) -> TurnFailure {
    let todo = format!("{} Then try again.", error.todo());
    TurnFailure { todo, ..TurnFailure::of_model(&ModelError::NotRecorded { why: error.to_string() }) }
}

/// In a request that a server asks for, every word that is not of the format is the server's.
fn of_server(span: &mut SpanRecord, server: &str) {
    match span.kind {
        SourceKind::Envelope => {}
        SourceKind::Host | SourceKind::Tools | SourceKind::Messages | SourceKind::Results => {
            span.kind = SourceKind::Messages;
            span.label = format!("{ASKED_BY}{server}");
            span.item_id = None;
        }
    }
}

fn share_of(spans: &[SpanRecord]) -> Vec<Share> {
    let mut share: Vec<Share> = Vec::new();
    for span in spans {
        let bytes = (span.end - span.start) as u64;
        let label = match span.kind {
            SourceKind::Results => span.label.clone(),
            SourceKind::Envelope => "format".to_owned(),
            SourceKind::Host => "system".to_owned(),
            SourceKind::Tools => "tools".to_owned(),
            SourceKind::Messages if span.label.starts_with(ASKED_BY) => span.label.clone(),
            SourceKind::Messages => "messages".to_owned(),
        };
        match share.iter_mut().find(|it| it.kind == span.kind && it.label == label) {
            Some(known) => known.bytes += bytes,
            None => share.push(Share { kind: span.kind, label, bytes }),
        }
    }
    share
}
