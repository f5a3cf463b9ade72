//! Calls that begin while the model still writes their arguments, so that their Views come up meanwhile and are told what is there
//! (MCP Apps 2026-01-26, `ui/notifications/tool-input-partial`).
//!
//! Only a call that asks nothing of the user begins so early: before a yes its arguments are told to nobody. What a View is told of them is
//! a beginning and nothing is done with it; the call is made, or is not, when they are whole.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;
use usher_engine::Origin;
use usher_protocol::{RawJson, model::Tool};

use super::{
    CallOrder, CallRecord, CallState, Host, approval::Standing, live::Live, turn::Offer,
    views::LONGEST_BEGINNING,
};
use crate::model::{AdaptedSchema, Reply, StreamEvent, beginning};

/// How long at least between two tellings.
const PACE: Duration = Duration::from_millis(100);

/// The calls of one answer that have begun, by their place among its calls.
#[derive(Default)]
pub(super) struct BegunCalls(BTreeMap<usize, Begun>);

struct Begun {
    call: CallRecord,
    schema: AdaptedSchema,
    /// How much of the text was looked at, in bytes.
    seen: usize,
    told: RawJson,
    told_at: Option<Instant>,
}

impl BegunCalls {
    /// The call in a place, for whoever goes on with it.
    pub(super) fn take(&mut self, slot: usize) -> Option<CallRecord> {
        self.0.remove(&slot).map(|it| it.call)
    }
}

impl Host {
    /// Begins a call if its View may come up now.
    pub(super) async fn begin_early(
        &self,
        live: &Live,
        offer: &Offer,
        begun: &mut BegunCalls,
        event: &StreamEvent,
    ) {
        let StreamEvent::CallStarted { slot, id, name } = event else { return };
        let Some((it, schema)) = offer.of_server(name) else { return };
        let shows = self.view_uri(&it.tool, Origin::Model, it.selection.requested.as_deref()).is_some();
        if !shows || !self.is_allowed(&live.id, &it.server_id, &it.tool) {
            return;
        }
        let order = CallOrder {
            server_id: it.server_id.clone(),
            tool: it.tool.name.clone(),
            arguments: serde_json::json!({}).into(),
            origin: Origin::Model,
            model_call: Some(id.clone()),
            cancel: CancellationToken::new(),
            reports_to: None,
        };
        let mut call = self.new_call(live, &order);
        call.state = CallState::Writing;
        call.revision = Some(it.selection.revision);
        call.requested.clone_from(&it.selection.requested);
        self.record_view(live, &mut call, &it.tool);
        if let Some(view) = &mut call.view {
            view.waits_for_input = true;
        }
        self.show_begun(live, &mut call).await;
        let (schema, told) = (schema.clone(), call.arguments.clone());
        begun.0.insert(*slot, Begun { call, schema, seen: 0, told, told_at: None });
    }

    /// Tells the Views of calls that have begun what is there of their arguments.
    pub(super) fn tell_beginnings(&self, begun: &mut BegunCalls, reply: &Reply) {
        for (slot, it) in &mut begun.0 {
            let text = reply.arguments(*slot);
            let is_due = it.told_at.is_none_or(|at| at.elapsed() >= PACE);
            if !is_due || text.len() == it.seen || text.len() > LONGEST_BEGINNING {
                continue;
            }
            it.seen = text.len();
            let value = beginning(text).map(|value| it.schema.unwrap_arguments(&value));
            let Some(value) = value.filter(|value| value.is_object() && *value != it.told) else { continue };
            // What was allowed when it began may be taken back, and its tool may have become another.
            if self.is_still_allowed(&it.call) {
                self.tell_partial_input(&it.call.id, &value);
                (it.told, it.told_at) = (value, Some(Instant::now()));
            }
        }
    }

    fn is_still_allowed(&self, call: &CallRecord) -> bool {
        let tool = self.server(&call.server_id).and_then(|it| it.tool(&call.tool));
        tool.is_some_and(|tool| self.is_allowed(&call.conversation_id, &call.server_id, &tool))
    }

    fn is_allowed(&self, conversation_id: &str, server_id: &str, tool: &Tool) -> bool {
        matches!(self.standing(conversation_id, server_id, tool), Standing::Allowed(_))
    }
}
