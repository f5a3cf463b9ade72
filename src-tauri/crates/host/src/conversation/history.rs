//! What the model reads: the kept entries of a conversation, as a model's history.
//!
//! Only three things become words for the model: what the user and the model wrote, what was delivered to the model, and what a
//! recorded door let in. Everything else of a call's record has no way into this module's result.

use std::{collections::BTreeMap, sync::Arc};

use usher_engine::{Consumer, routing::Notice, routing::Source};
use usher_protocol::{
    RawJson,
    common::ContentBlock,
    model::{Format, Payload, Selector},
};

use super::{
    Answer, BroughtKind, BroughtRecord, CallRecord, CallState, DoorKind, DoorRecord, Host, HostError,
    ItemBody, ItemRecord, SourceKind, SpanRecord, Told, live::Live,
};
use crate::model::{
    Arguments, AssistantMessage, AssistantOutput, BroughtMessage, Door, HistoryItem, HostText, MessagePart,
    ModelToolResult, Origin, Source as Said, Span, ToolCall, UserMessage,
};

impl Host {
    /// The entries of a conversation as a model's history.
    pub(super) async fn history(&self, live: &Arc<Live>) -> Vec<HistoryItem> {
        let (items, calls) = live.with(|it| {
            let of_model = it.calls.iter().filter(|it| it.1.model_call.is_some());
            let calls: BTreeMap<String, CallRecord> =
                of_model.map(|it| (it.0.clone(), it.1.clone())).collect();
            (it.items.clone(), calls)
        });
        let mut history = Vec::new();
        for item in items {
            match &item.body {
                ItemBody::User => history.push(user(&item, Door::Typed)),
                ItemBody::Assistant(answer) => history.push(assistant(&item, answer)),
                ItemBody::Door(door) if door.kind == DoorKind::ShownToModel => {
                    history.push(user(&item, door_of(door)));
                }
                ItemBody::Door(door) => history.extend(self.said_by_view(live, &item, door).await),
                ItemBody::Brought(brought) => history.extend(self.brought(&item.id, brought).await),
                ItemBody::Note => {}
                ItemBody::Call { call_id } => {
                    if let Some(call) = calls.get(call_id).filter(|it| it.model_call.is_some()) {
                        history.push(HistoryItem::Result(self.result_for_model(live, call).await));
                    }
                }
            }
        }
        history
    }

    /// What a View says or keeps as context: its words, then its pictures.
    async fn said_by_view(&self, live: &Live, item: &ItemRecord, door: &DoorRecord) -> Option<HistoryItem> {
        let mut blocks = vec![ContentBlock::text(item.text.as_str())];
        if let Some(handle) = &door.pictures {
            match self.blocks(handle).await {
                Ok(pictures) => blocks.extend(pictures),
                // It was taken back since the entries were read: nothing of it goes.
                Err(_) if live.with(|it| it.items.iter().all(|other| other.id != item.id)) => return None,
                Err(error) => {
                    tracing::warn!(%error, "pictures of a View cannot be read, and its words go without")
                }
            }
        }
        let message = BroughtMessage::new(item.id.as_str(), door_of(door), false, &blocks);
        message.map(HistoryItem::Brought)
    }

    /// The messages of a prompt, or an attached resource.
    async fn brought(&self, item_id: &str, brought: &BroughtRecord) -> Vec<HistoryItem> {
        let server = brought.server_name.as_str().into();
        let door = match &brought.what {
            BroughtKind::Prompt { name, .. } => Door::Prompt { server, name: name.as_str().into() },
            BroughtKind::Resource { uri } => Door::Resource { server, uri: uri.as_str().into() },
        };
        let mut messages = Vec::new();
        for part in &brought.messages {
            let Ok(blocks) = self.blocks(&part.handle).await else { continue };
            let message = BroughtMessage::new(item_id, door.clone(), part.by_assistant, &blocks);
            messages.extend(message.map(HistoryItem::Brought));
        }
        messages
    }

    /// What the model reads of a call. Calls that have ended are read from disk once.
    async fn result_for_model(&self, live: &Live, call: &CallRecord) -> ModelToolResult {
        if let Some(result) = live.with(|it| it.results.get(&call.id).cloned()) {
            return result;
        }
        let result = self.read_result(call).await;
        if !call.state.is_open() {
            live.with(|it| it.results.insert(call.id.clone(), result.clone()));
        }
        result
    }

    async fn read_result(&self, call: &CallRecord) -> ModelToolResult {
        let id = call.model_call.clone().unwrap_or_default();
        let is_error = call.state == CallState::ToolError;
        match &call.told {
            Told::Outputs => {
                let payloads = self.payloads_for_model(call).await;
                let outputs: Vec<AssistantOutput<'_>> =
                    payloads.iter().filter_map(|it| readable(&it.0, &it.1)).collect();
                ModelToolResult::from_outputs(id, is_error, &outputs).0
            }
            Told::Notice(notice) => ModelToolResult::host(id, is_error, notice_text(*notice)),
            Told::State | Told::Nothing => ModelToolResult::host(id, true, state_text(&call.state)),
            Told::BadArguments(problems) => ModelToolResult::invalid_arguments(id, problems),
            Told::UnreadableArguments { cut: true } => {
                ModelToolResult::host(id, true, HostText::CutArguments)
            }
            Told::UnreadableArguments { cut: false } => {
                ModelToolResult::host(id, true, HostText::MalformedArguments)
            }
            Told::UnknownTool => ModelToolResult::host(id, true, HostText::UnknownTool),
            Told::ProtocolError(message) => ModelToolResult::protocol_error(id, message),
            Told::Malformed => ModelToolResult::host(id, true, HostText::MalformedResult),
            Told::Script { handle, failed } => {
                let text =
                    self.payload(handle).await.ok().and_then(|it| it.to::<String>().ok()).unwrap_or_default();
                ModelToolResult::script(id, *failed, &text)
            }
            Told::ViewAnswer { handle, pictures, failed } => {
                let text =
                    self.payload(handle).await.ok().and_then(|it| it.to::<String>().ok()).unwrap_or_default();
                let pictures = match pictures {
                    Some(handle) => {
                        let blocks = self.blocks(handle).await;
                        let unread = |error: &HostError| tracing::warn!(%error, "pictures of a View's answer cannot be read");
                        blocks.inspect_err(unread).unwrap_or_default()
                    }
                    None => Vec::new(),
                };
                ModelToolResult::of_view(id, *failed, &text, &pictures)
            }
        }
    }

    /// What was delivered to the model, and nothing else of the call.
    async fn payloads_for_model(&self, call: &CallRecord) -> Vec<(Source, Payload)> {
        let mut payloads = Vec::new();
        for delivery in call.deliveries.iter().filter(|it| it.to == Consumer::Model) {
            let Ok(raw) = self.payload(&delivery.handle).await else { continue };
            if let Some(payload) = payload_of(&delivery.source, raw) {
                payloads.push((delivery.source.clone(), payload));
            }
        }
        payloads
    }
}

/// Reads a kept payload back.
pub(super) fn payload_of(source: &Source, raw: RawJson) -> Option<Payload> {
    let is_content = match source {
        Source::Output(selector) => selector.format == Format::Content,
        Source::LegacyContent => true,
        Source::LegacyStructured | Source::LegacyResult | Source::ExtensionMeta(_) | Source::ViewAnswer => {
            false
        }
    };
    if is_content { raw.to().ok().map(Payload::Content) } else { Some(Payload::Structured(raw)) }
}

fn readable<'a>(source: &Source, payload: &'a Payload) -> Option<AssistantOutput<'a>> {
    match (source, payload) {
        (Source::Output(selector), payload) => AssistantOutput::select(selector, payload),
        (Source::LegacyContent, Payload::Content(blocks)) => {
            Some(AssistantOutput::legacy_blocks(blocks.iter().enumerate()))
        }
        (Source::LegacyStructured, Payload::Structured(json)) => {
            Some(AssistantOutput::legacy_structured(json))
        }
        (
            Source::LegacyContent
            | Source::LegacyStructured
            | Source::LegacyResult
            | Source::ExtensionMeta(_)
            | Source::ViewAnswer,
            _,
        ) => None,
    }
}

fn notice_text(notice: Notice) -> HostText {
    match notice {
        Notice::ShownToUser | Notice::GivenToView => HostText::ShownToUser,
        Notice::NothingForModel => HostText::EmptyResult,
        Notice::FailedWithoutText => HostText::CallFailed,
    }
}

fn state_text(state: &CallState) -> HostText {
    match state {
        CallState::Refused => HostText::Refused,
        CallState::Cancelled => HostText::Cancelled,
        CallState::Interrupted
        | CallState::Writing
        | CallState::AwaitingApproval(_)
        | CallState::Running(_) => HostText::Interrupted,
        CallState::Failed { .. } | CallState::ToolError => HostText::CallFailed,
        CallState::Done => HostText::EmptyResult,
    }
}

fn user(item: &ItemRecord, door: Door) -> HistoryItem {
    HistoryItem::User(UserMessage { item_id: item.id.as_str().into(), door, text: item.text.as_str().into() })
}

fn assistant(item: &ItemRecord, answer: &Answer) -> HistoryItem {
    let call = |it: &super::ModelCall| ToolCall {
        id: it.id.as_str().into(),
        wire_name: it.wire_name.as_str().into(),
        arguments: Arguments::read(&it.arguments, it.complete),
    };
    HistoryItem::Assistant(AssistantMessage {
        item_id: item.id.as_str().into(),
        text: item.text.as_str().into(),
        calls: answer.calls.iter().map(call).collect(),
    })
}

fn door_of(door: &DoorRecord) -> Door {
    let call_id = door.call_id.as_str().into();
    match door.kind {
        DoorKind::ShownToModel => {
            let selector = door.selector.clone().unwrap_or(Selector::USER_STRUCTURED);
            Door::ShownToModel { call_id, selector }
        }
        DoorKind::ViewMessage => Door::ViewMessage { call_id },
        DoorKind::ViewContext => Door::ViewContext { call_id },
    }
}

/// The spans of a body, for people.
pub(super) fn spans(spans: &[Span], calls: &[CallRecord]) -> Vec<SpanRecord> {
    let tool_of = |id: &str| {
        let call = calls.iter().rev().find(|it| it.model_call.as_deref() == Some(id));
        call.map_or_else(|| "a call".to_owned(), |it| format!("{}, call {}", it.tool, it.number))
    };
    let item_of = |id: &str| {
        calls.iter().rev().find(|it| it.model_call.as_deref() == Some(id)).and_then(|it| it.item_id.clone())
    };
    let describe = |source: &Said| match source {
        Said::Envelope => (SourceKind::Envelope, "the provider's format".to_owned(), None),
        Said::Host(text) => (SourceKind::Host, format!("Usher: {}", text.name()), None),
        Said::Instructions => (SourceKind::Host, "your instructions".to_owned(), None),
        Said::Tool { wire_name, .. } => (SourceKind::Tools, format!("tool {wire_name}"), None),
        Said::User { item_id, door, part } => {
            let (kind, label) = let_in(door);
            let label = match part {
                MessagePart::Words => label,
                MessagePart::Picture => format!("a picture, {label}"),
            };
            (kind, label, Some(item_id.to_string()))
        }
        Said::Assistant { item_id } => {
            (SourceKind::Messages, "the model's own words".to_owned(), Some(item_id.to_string()))
        }
        Said::Call { call_id, .. } => {
            (SourceKind::Messages, format!("the model's call of {}", tool_of(call_id)), item_of(call_id))
        }
        Said::Result { call_id, origin } => (
            SourceKind::Results,
            format!("{} of {}", origin_name(origin), tool_of(call_id)),
            item_of(call_id),
        ),
    };
    spans
        .iter()
        .map(|span| {
            let (kind, label, item_id) = describe(&span.source);
            SpanRecord { start: span.range.start, end: span.range.end, kind, label, item_id }
        })
        .collect()
}

/// How something came into a message of the user, for people.
fn let_in(door: &Door) -> (SourceKind, String) {
    match door {
        Door::Typed => (SourceKind::Messages, "your message".to_owned()),
        Door::ShownToModel { selector, .. } => {
            (SourceKind::Results, format!("{selector}, shown to the model by you"))
        }
        Door::ViewMessage { .. } => (SourceKind::Results, "said by a View".to_owned()),
        Door::ViewContext { .. } => (SourceKind::Results, "kept as context by a View".to_owned()),
        Door::Prompt { server, name } => {
            (SourceKind::Messages, format!("the prompt {name} of {server}, sent by you"))
        }
        Door::Resource { server, uri } => {
            (SourceKind::Results, format!("the resource {uri} of {server}, attached by you"))
        }
    }
}

fn origin_name(origin: &Origin) -> String {
    match origin {
        Origin::AssistantContent { block } => format!("assistant/content, block {block},"),
        Origin::AssistantStructured => "assistant/structured".to_owned(),
        Origin::LegacyContent { block } => format!("content, block {block},"),
        Origin::LegacyStructured => "structuredContent".to_owned(),
        Origin::Script => "what the script returned and printed,".to_owned(),
        Origin::View => "what a View answered,".to_owned(),
        Origin::ArgumentErrors => "what is wrong with the arguments".to_owned(),
        Origin::ProtocolError => "the server's error".to_owned(),
        Origin::Brought { block } => format!("block {block}"),
    }
}
