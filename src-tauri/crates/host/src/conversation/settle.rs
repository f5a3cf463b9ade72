//! A result that was read and routed: its parts are checked, kept and handed over, and each step leaves its fact in the ledger.

use bytes::Bytes;
use usher_engine::{
    Consumer, Origin,
    comparison::compare,
    ledger::{Half, LedgerEntry},
    routing::{Delivery, Routing, Source, payload_json},
    validation::{Compiled, NotChecked, Verdict},
};
use usher_protocol::{
    RawJson,
    model::{CallOutcome, Contract, OutcomeBody, Payload, Selector, Tool},
};

use super::{
    CallRecord, DeliveryRecord, Host, Shown, Told, WithheldRecord, call::Landed, live::Live, lock,
    servers::Server,
};
use crate::store::{NewPayload, PayloadRow};

/// The most bytes that are checked on a thread that answers others: less than half a millisecond.
const SMALL: usize = 128 << 10;

impl Host {
    /// Checks each structured part against the schema of its own variant, off the threads that answer the window.
    pub(super) async fn validate(
        &self,
        server: &Server,
        tool: &Tool,
        outcome: &CallOutcome,
        routing: &Routing,
    ) -> Vec<Option<Verdict>> {
        let owner = format!("{}/{}", server.id, tool.name);
        let mut jobs: Vec<(Source, Compiled, RawJson)> = Vec::new();
        let mut verdicts: Vec<Option<Verdict>> = Vec::new();
        for delivery in &routing.deliveries {
            let Payload::Structured(value) = &delivery.payload else {
                verdicts.push(None);
                continue;
            };
            let (selector, schema) = match (&delivery.source, &tool.contract) {
                (Source::Output(selector), _) => {
                    (selector.clone(), tool.variant(selector).and_then(|it| it.schema.as_ref()))
                }
                (Source::LegacyStructured, Contract::Legacy { output_schema }) => {
                    (Selector::ASSISTANT_STRUCTURED, output_schema.as_ref())
                }
                (
                    Source::LegacyStructured
                    | Source::ExtensionMeta(_)
                    | Source::LegacyContent
                    | Source::LegacyResult
                    | Source::ViewAnswer,
                    _,
                ) => {
                    verdicts.push(None);
                    continue;
                }
            };
            let Some(schema) = schema else {
                verdicts.push(Some(Verdict::NotChecked(NotChecked::NoSchema)));
                continue;
            };
            if outcome.is_error {
                verdicts.push(Some(Verdict::NotChecked(NotChecked::IsError)));
                continue;
            }
            let compiled = lock(&self.0.schemas).of(&owner, &selector, schema);
            verdicts.push(None);
            // The same value for two consumers is checked once.
            if !jobs.iter().any(|it| it.0 == delivery.source) {
                jobs.push((delivery.source.clone(), compiled, value.clone()));
            }
        }
        let bytes: usize = jobs.iter().map(|it| it.2.bytes()).sum();
        let check = move || {
            jobs.into_iter()
                .map(|(source, compiled, value)| (source, compiled.check(&value)))
                .collect::<Vec<_>>()
        };
        // A small value is checked before another thread would have taken it over.
        let checked = if bytes <= SMALL {
            check()
        } else {
            tokio::task::spawn_blocking(check).await.unwrap_or_default()
        };
        for (source, verdict) in checked {
            for (index, delivery) in routing.deliveries.iter().enumerate() {
                if delivery.source == source {
                    verdicts[index] = Some(verdict.clone());
                }
            }
        }
        verdicts
    }

    /// Writes down where everything went and hands it over.
    pub(super) async fn settle(&self, live: &Live, call: &mut CallRecord, landed: &Landed) -> Vec<Payload> {
        let mut kept: Vec<(Source, RawJson, String)> = Vec::new();
        let mut validated: Vec<Source> = Vec::new();
        for (delivery, verdict) in landed.routing.deliveries.iter().zip(&landed.verdicts) {
            let raw = payload_json(&delivery.payload);
            let known = kept.iter().find(|it| it.0 == delivery.source && it.1 == raw).map(|it| it.2.clone());
            let handle = known.unwrap_or_else(|| {
                let label = format!("{} of {}", delivery.source.name(), call.tool);
                let handle = self.keep_payload(live, &call.id, delivery.source.selector(), &label, &raw);
                kept.push((delivery.source.clone(), raw.clone(), handle.clone()));
                handle
            });
            if let Some(verdict) = verdict.clone().filter(|_| !validated.contains(&delivery.source)) {
                validated.push(delivery.source.clone());
                let source = delivery.source.clone();
                self.record(live, Some(&call.id), LedgerEntry::Validated { source, verdict });
            }
            let shown = if delivery.to == Consumer::User {
                Some(self.present(&landed.tool, delivery, &raw, &handle).await)
            } else {
                None
            };
            self.deliver(live, call, delivery, verdict.clone(), shown, handle);
        }
        for part in &landed.routing.withheld {
            let label = format!("{} of {}, withheld", part.what, call.tool);
            let handle = self.keep_payload(live, &call.id, part.selector.as_ref(), &label, &part.raw);
            let bytes = part.raw.bytes() as u64;
            call.withheld.push(WithheldRecord {
                selector: part.selector.clone(),
                what: part.what.clone(),
                bytes,
                rule: part.rule,
                why: part.why.clone(),
                handle: handle.clone(),
            });
            self.record(
                live,
                Some(&call.id),
                LedgerEntry::Withheld {
                    selector: part.selector.clone(),
                    what: part.what.clone(),
                    bytes,
                    rule: part.rule,
                    why: part.why.clone(),
                    handle: Some(handle),
                },
            );
        }
        for defect in &landed.routing.defects {
            self.record(live, Some(&call.id), LedgerEntry::Defect(defect.clone()));
            call.defects.push(defect.clone());
        }
        self.compare(live, call, landed).await;
        call.told = match landed.routing.notice {
            Some(notice) => {
                self.record(live, Some(&call.id), LedgerEntry::Noticed { notice });
                Told::Notice(notice)
            }
            None => Told::Outputs,
        };
        landed.routing.deliveries.iter().map(|it| it.payload.clone()).collect()
    }

    /// Tells where the two halves of a result of an earlier revision say different things, because a model reads one of them only.
    async fn compare(&self, live: &Live, call: &CallRecord, landed: &Landed) {
        let OutcomeBody::Legacy { content, structured: Some(structured) } = &landed.outcome.body else {
            return;
        };
        // An error need not repeat itself, and a script or a View has its half by definition.
        if landed.outcome.is_error || !matches!(call.origin, Origin::Model | Origin::User) {
            return;
        }
        let (content, structured) = (content.clone(), structured.clone());
        let compared = tokio::task::spawn_blocking(move || compare(&content, &structured)).await;
        let Ok(Some(comparison)) = compared else { return };
        let read = landed.routing.deliveries.iter().filter(|it| it.to == Consumer::Model);
        let read = read.fold(None, |found, it| match it.source {
            Source::LegacyStructured => Some(Half::Structured),
            Source::LegacyContent => found.or(Some(Half::Content)),
            Source::Output(_) | Source::ExtensionMeta(_) | Source::LegacyResult | Source::ViewAnswer => found,
        });
        self.record(live, Some(&call.id), LedgerEntry::Compared { comparison, read });
    }

    fn deliver(
        &self,
        live: &Live,
        call: &mut CallRecord,
        delivery: &Delivery,
        verdict: Option<Verdict>,
        shown: Option<Shown>,
        handle: String,
    ) {
        let how = shown.as_ref().map_or_else(|| how_received(delivery), how_shown);
        call.shown.extend(shown);
        let delivered = DeliveryRecord {
            to: delivery.to,
            source: delivery.source.clone(),
            bytes: delivery.bytes as u64,
            door: delivery.door.clone(),
            verdict,
            how,
            handle,
        };
        self.note_delivery(live, call, delivered);
    }

    /// Writes down that a consumer has something of a call.
    pub(super) fn note_delivery(&self, live: &Live, call: &mut CallRecord, delivered: DeliveryRecord) {
        let entry = LedgerEntry::Delivered {
            to: delivered.to,
            source: delivered.source.clone(),
            bytes: delivered.bytes,
            door: delivered.door.clone(),
            how: delivered.how.clone(),
            handle: Some(delivered.handle.clone()),
        };
        self.record(live, Some(&call.id), entry);
        call.deliveries.push(delivered);
    }

    /// Keeps a payload on disk and answers its handle.
    pub(super) fn keep_payload(
        &self,
        live: &Live,
        call_id: &str,
        selector: Option<&Selector>,
        label: &str,
        raw: &RawJson,
    ) -> String {
        let handle = self.new_id();
        self.keep_value(live, &handle, Some(call_id), selector, label, raw);
        handle
    }

    /// Writes a value under a handle that is given.
    pub(super) fn keep_value(
        &self,
        live: &Live,
        handle: &str,
        call_id: Option<&str>,
        selector: Option<&Selector>,
        label: &str,
        raw: &RawJson,
    ) {
        let row = PayloadRow {
            handle: handle.to_owned(),
            conversation_id: live.id.clone(),
            call_id: call_id.map(str::to_owned),
            audience: selector.map(|it| it.audience.to_string()).unwrap_or_default(),
            format: selector.map(|it| it.format.to_string()).unwrap_or_default(),
            mime: "application/json".to_owned(),
            label: label.to_owned(),
            created_ms: self.now_ms(),
            size: i64::try_from(raw.bytes()).unwrap_or(i64::MAX),
        };
        lock(&self.0.payloads).put(handle, raw.clone());
        let bytes = Bytes::from_owner(Shared(raw.clone()));
        self.keep_writing(self.store().put_payload(NewPayload { row, bytes }));
    }
}

/// Lets the disk's writer read the one copy of a value.
struct Shared(RawJson);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        self.0.get().as_bytes()
    }
}

fn how_received(delivery: &Delivery) -> String {
    match &delivery.payload {
        Payload::Content(blocks) if blocks.len() == 1 => "one block".to_owned(),
        Payload::Content(blocks) => format!("{} blocks", blocks.len()),
        Payload::Structured(_) => "as JSON".to_owned(),
    }
}

fn how_shown(shown: &Shown) -> String {
    match shown {
        Shown::Blocks { .. } => "in the transcript".to_owned(),
        Shown::Table { rows: 1, .. } => "as a table, 1 row".to_owned(),
        Shown::Table { rows, .. } => format!("as a table, {rows} rows"),
        Shown::Properties { .. } => "as properties".to_owned(),
        Shown::Json { .. } => "as JSON".to_owned(),
    }
}
