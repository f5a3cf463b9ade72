//! What a View is told: its tool's input, how the call ended, how far a call of its own is, and that lists changed.
//!
//! All that crosses is projected here (rules H28, H29).

use serde_json::json;
use usher_engine::{Consumer, routing::Source};
use usher_protocol::{RawJson, UI_EXTENSION, model::Selector};

use super::super::{CallRecord, CallState, Host, HostEvent, lock};
use crate::{
    app_view::{projection, registry::LiveView},
    connection::Progress,
    model::steps,
};

/// The largest value that is given to a View, in bytes. It becomes a tree in the window's one web process.
pub(in crate::conversation) const MAX_ANSWER: usize = 16 << 20;

/// How much of a server's word on progress is passed on, in bytes.
const LONGEST_MESSAGE: usize = 4_096;

/// The longest beginning of an input that is told, in bytes. Each telling is read again from its start, here and in the View.
pub(in crate::conversation) const LONGEST_BEGINNING: usize = 262_144;

/// In how many pieces an input is told at most.
const MOST_PIECES: u32 = 100;

/// How a call ended, for its View: the result, or that none comes (MCP Apps 2026-01-26, "Lifecycle").
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Parameters of `ui/notifications/tool-result`.
    Result(RawJson),
    /// `reason` of `ui/notifications/tool-cancelled`.
    Cancelled(String),
}

impl Outcome {
    /// The notification that tells it: its method and its parameters.
    pub(in crate::conversation) fn message(&self) -> (&'static str, String) {
        match self {
            Self::Result(result) => ("ui/notifications/tool-result", result.get().to_owned()),
            Self::Cancelled(reason) => {
                ("ui/notifications/tool-cancelled", json!({"reason": reason}).to_string())
            }
        }
    }
}

/// Parameters of `ui/notifications/tool-input` and of `tool-input-partial`, with the digits that came.
pub(super) fn input(arguments: &RawJson) -> RawJson {
    let text = format!(r#"{{"arguments":{}}}"#, arguments.get());
    RawJson::parse(text).unwrap_or_else(|_| json!({"arguments": {}}).into())
}

/// Parameters of `ui/notifications/tool-input-partial`, so many of them, as if a model wrote the arguments.
pub(in crate::conversation) fn in_pieces(arguments: &RawJson, count: u32) -> Vec<RawJson> {
    let count = if arguments.bytes() > LONGEST_BEGINNING { 0 } else { count.min(MOST_PIECES) };
    steps(arguments.get(), count).iter().map(input).collect()
}

impl Host {
    /// How a call ended, as its View is told; `None` while it runs.
    pub(super) async fn outcome_for_view(&self, call: &CallRecord) -> Option<Outcome> {
        let cancelled = |reason: &str| Some(Outcome::Cancelled(reason.to_owned()));
        match &call.state {
            CallState::Writing | CallState::AwaitingApproval(_) | CallState::Running(_) => None,
            CallState::Done | CallState::ToolError => match self.view_result(call).await {
                Some(result) if result.bytes() > MAX_ANSWER => {
                    let bytes = result.bytes();
                    cancelled(&format!("The result has {bytes} bytes; a View is given {MAX_ANSWER} at most."))
                }
                Some(result) => Some(Outcome::Result(result)),
                // That it failed is for everybody; why it did was written for others (rules H25, H27).
                None if call.state == CallState::ToolError => {
                    Some(Outcome::Result(projection::error_without_output()))
                }
                None => cancelled("The tool sent nothing for its View."),
            },
            CallState::Failed { .. } => cancelled("The call failed."),
            CallState::Refused => cancelled("The call was not allowed."),
            CallState::Cancelled => cancelled("The call was cancelled."),
            CallState::Interrupted => cancelled("The call was interrupted."),
        }
    }

    /// What the View receives of a call's result: the parts that routing delivered to it, and nothing else (rules H28, H29).
    pub(super) async fn view_result(&self, call: &CallRecord) -> Option<RawJson> {
        let to_view = |source: &Source| {
            call.deliveries.iter().find(|it| it.to == Consumer::View && it.source == *source)
        };
        if let Some(whole) = to_view(&Source::LegacyResult) {
            return self.payload(&whole.handle).await.ok();
        }
        let output = to_view(&Source::Output(Selector::ui()))?;
        let value = self.payload(&output.handle).await.ok()?;
        let meta = match to_view(&Source::ExtensionMeta(UI_EXTENSION.to_owned())) {
            Some(meta) => self.payload(&meta.handle).await.ok(),
            None => None,
        };
        let is_error = call.state == CallState::ToolError;
        let (projected, remarks) = projection::selected_output(&value, is_error, meta.as_ref()).ok()?;
        for remark in remarks {
            self.remark(&call.server_id, "View", remark.text);
        }
        Some(projected)
    }

    /// Tells the open Views of a call what is there of its arguments, while the model writes them.
    pub(in crate::conversation) fn tell_partial_input(&self, call_id: &str, value: &RawJson) {
        self.tell_views(
            |it| it.call_id == call_id,
            "ui/notifications/tool-input-partial",
            input(value).get(),
        );
    }

    /// Tells the Views that came up while the model wrote a call's arguments that these are all.
    pub(in crate::conversation) fn tell_input(&self, call: &CallRecord) {
        let params = input(&call.arguments);
        self.tell_views(|it| it.call_id == call.id, "ui/notifications/tool-input", params.get());
    }

    /// Tells the open Views of a call how it ended.
    pub(in crate::conversation) async fn tell_view(&self, call: &CallRecord) {
        if lock(&self.0.views).registry.all().all(|it| it.call_id != call.id) {
            return;
        }
        let Some(outcome) = self.outcome_for_view(call).await else { return };
        let (method, params) = outcome.message();
        self.tell_views(|it| it.call_id == call.id, method, &params);
    }

    /// Tells a View how far a call of its own is, by the token that it gave.
    pub(in crate::conversation) fn tell_progress(&self, view_id: &str, token: &RawJson, progress: &Progress) {
        let mut params = json!({"progress": progress.progress});
        if let Some(total) = progress.total {
            params["total"] = json!(total);
        }
        if let Some(message) = &progress.message {
            params["message"] = json!(message[..message.floor_char_boundary(LONGEST_MESSAGE)]);
        }
        // The token is given back as it was written; a number of many digits would be another as a tree.
        let params = params.to_string().replacen('{', &format!("{{\"progressToken\":{token},"), 1);
        self.tell_views(|it| it.view_id == view_id, "notifications/progress", &params);
    }

    /// Tells the Views of a server that one of its lists changed. They ask for it if they want it.
    pub(in crate::conversation) fn tell_list_changed(&self, server_id: &str, method: &str) {
        self.tell_views(|it| it.server_id == server_id, method, "{}");
    }

    fn tell_views(&self, which: impl Fn(&LiveView) -> bool, method: &str, params: &str) {
        let ids: Vec<String> = {
            let views = lock(&self.0.views);
            views.registry.all().filter(|it| which(it)).map(|it| it.view_id.clone()).collect()
        };
        for view_id in ids {
            self.tell(HostEvent::ViewMessage {
                view_id,
                method: method.to_owned(),
                params: params.to_owned(),
            });
        }
    }
}
