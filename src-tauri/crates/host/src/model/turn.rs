//! A conversation as a model is asked to continue it.
//!
//! A [`Turn`] keeps each call together with its one result, so that a call without a result, or with two, cannot be encoded.
//! [`Turn::assemble`] makes one from stored items and reports what it had to repair. Deliberately absent: requested outputs and every
//! other piece of routing, which models never see (rule H14).

use std::{collections::BTreeSet, sync::Arc};

use usher_protocol::{RawJson, common::ContentBlock};

use super::{Door, HostText, ModelToolResult};

/// What a request to a model is made from.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    pub(super) system: Vec<SystemText>,
    pub(super) messages: Vec<Message>,
    pub(super) tools: Vec<OfferedTool>,
    pub(super) tool_choice: ToolChoice,
}

/// A part of the system message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SystemText {
    /// The host's words.
    Host(HostText),
    /// Instructions that the user keeps for the conversation.
    Instructions(Arc<str>),
}

/// Whether the model must call a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Auto,
    /// It must call one.
    Required,
    /// It must call none.
    Forbidden,
}

/// A tool as it is offered to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferedTool {
    /// The name on the wire, from [`super::ToolNames`].
    pub wire_name: Arc<str>,
    /// The description, in the server's words. Untrusted.
    pub description: Option<Arc<str>>,
    /// The schema that is sent, from [`super::AdaptedSchema`].
    pub schema: RawJson,
    pub(super) by_host: bool,
    /// Whether a View offers it, which is said before its description.
    pub(super) of_view: bool,
}

/// A stored item of a conversation, in the order in which it happened.
#[derive(Debug, Clone, PartialEq)]
pub enum HistoryItem {
    /// Words of the user, or what a door let in.
    User(UserMessage),
    /// What the model wrote.
    Assistant(AssistantMessage),
    /// The result of a call.
    Result(ModelToolResult),
    /// What another wrote and the user let in: a message of a prompt, a resource, or what a View says.
    Brought(BroughtMessage),
}

/// A message that a server or a View wrote and the user let in.
#[derive(Debug, Clone, PartialEq)]
pub struct BroughtMessage {
    /// How it came into the conversation.
    pub(super) door: Door,
    /// Whether it is to be read as the model's own earlier words (a prompt may have such messages).
    pub(super) by_assistant: bool,
    /// What it holds, kept as a result is, so that the same budget holds for it. Its call's id is that of the stored item.
    pub(super) content: ModelToolResult,
}

impl BroughtMessage {
    /// Takes the blocks of a message; none when there is nothing to read in them.
    pub fn new(
        item_id: impl Into<Arc<str>>,
        door: Door,
        by_assistant: bool,
        blocks: &[ContentBlock],
    ) -> Option<Self> {
        let content = ModelToolResult::brought(item_id.into(), blocks)?;
        Some(Self { door, by_assistant, content })
    }

    pub(super) fn item_id(&self) -> &Arc<str> {
        &self.content.call_id
    }
}

/// A user message.
#[derive(Debug, Clone, PartialEq)]
pub struct UserMessage {
    /// The stored item's id.
    pub item_id: Arc<str>,
    /// How it came into the conversation.
    pub door: Door,
    /// Its text.
    pub text: Arc<str>,
}

/// A message of the model, as stored.
#[derive(Debug, Clone, PartialEq)]
pub struct AssistantMessage {
    /// The stored item's id.
    pub item_id: Arc<str>,
    /// Its text.
    pub text: Arc<str>,
    /// The calls that it made, in order.
    pub calls: Vec<ToolCall>,
}

/// A call that the model made.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// Its id on the wire.
    pub id: Arc<str>,
    /// The name that the model used.
    pub wire_name: Arc<str>,
    /// Its arguments.
    pub arguments: Arguments,
}

/// The arguments of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arguments {
    /// One JSON object. No arguments at all are the empty object.
    Object(RawJson),
    /// Not one JSON object; must not be executed.
    Malformed(Arc<str>),
    /// Cut off by the output limit, the end of the stream or the user; must not be executed.
    Cut(Arc<str>),
}

/// A message of a turn.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Message {
    User(UserMessage),
    Brought(BroughtMessage),
    Assistant { item_id: Arc<str>, text: Arc<str>, calls: Vec<AnsweredCall> },
}

/// A call and its one result.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AnsweredCall {
    pub(super) call: ToolCall,
    pub(super) result: ModelToolResult,
}

/// Something that was repaired so that the conversation can be sent. Each is to be shown to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repair {
    /// A call had no result; the model is told that it was interrupted.
    Unanswered {
        /// The call's id.
        call_id: Arc<str>,
    },
    /// A result answered no call and was left out.
    Orphan {
        /// The id that it names.
        call_id: Arc<str>,
    },
    /// A second result of one call was left out.
    Duplicate {
        /// The call's id.
        call_id: Arc<str>,
    },
    /// Two calls of one message had the same id; the second is sent under a new one.
    Renamed {
        /// The id that both had.
        call_id: Arc<str>,
        /// The id under which the second is sent.
        sent_as: Arc<str>,
    },
    /// A message of the model held nothing and was left out.
    Empty {
        /// The item's id.
        item_id: Arc<str>,
    },
}

impl Arguments {
    /// Reads what a model wrote. Nothing at all, or `null`, is the empty object; `complete` says whether the model finished it.
    pub fn read(text: &str, complete: bool) -> Self {
        let trimmed = text.trim();
        if !complete {
            return Self::Cut(text.into());
        }
        if trimmed.is_empty() || trimmed == "null" {
            return RawJson::parse("{}").map_or_else(|_| Self::Malformed(text.into()), Self::Object);
        }
        match RawJson::parse(trimmed) {
            Ok(json) if json.is_object() => Self::Object(json),
            _ => Self::Malformed(text.into()),
        }
    }

    /// What the model wrote.
    pub fn text(&self) -> &str {
        match self {
            Self::Object(json) => json.get(),
            Self::Malformed(text) | Self::Cut(text) => text,
        }
    }
}

impl OfferedTool {
    /// A tool of a server.
    pub fn new(wire_name: impl Into<Arc<str>>, description: Option<&str>, schema: RawJson) -> Self {
        let description = description.filter(|it| !it.is_empty()).map(Into::into);
        Self { wire_name: wire_name.into(), description, schema, by_host: false, of_view: false }
    }

    /// A tool that a View offers itself; the description is the View's.
    pub fn of_view(wire_name: impl Into<Arc<str>>, description: &str, schema: RawJson) -> Self {
        Self { of_view: true, ..Self::new(wire_name, Some(description), schema) }
    }

    /// The host's own tool that runs scripts, with the typed interface `api` (ARCHITECTURE.md, "Scripts").
    pub fn run_script(api: &str) -> Self {
        let schema =
            RawJson::parse(HostText::RunScriptSchema.text()).unwrap_or_else(|_| serde_json::json!({}).into());
        Self {
            wire_name: HostText::RunScriptName.text().into(),
            description: Some(api.into()),
            schema,
            by_host: true,
            of_view: false,
        }
    }
}

impl Turn {
    /// Makes a turn of stored items, giving every call exactly one result.
    ///
    /// A result belongs to the latest call of its id that has none yet. Items that a call waited past are sent after its result.
    pub fn assemble(
        system: Vec<SystemText>,
        history: impl IntoIterator<Item = HistoryItem>,
        tools: Vec<OfferedTool>,
    ) -> (Self, Vec<Repair>) {
        let mut open = Vec::new();
        let mut repairs = Vec::new();
        for item in history {
            match item {
                HistoryItem::User(it) => open.push(Open::User(it)),
                HistoryItem::Brought(it) => open.push(Open::Brought(it)),
                HistoryItem::Assistant(it) => {
                    let calls = it.calls.into_iter().map(|call| (call, None)).collect();
                    open.push(Open::Assistant { item_id: it.item_id, text: it.text, calls });
                }
                HistoryItem::Result(result) => repairs.extend(place(&mut open, result)),
            }
        }
        let messages = open.into_iter().filter_map(|it| it.close(&mut repairs)).collect();
        (Self { system, messages, tools, tool_choice: ToolChoice::Auto }, repairs)
    }

    /// The same turn with another choice.
    #[must_use]
    pub fn with_tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = choice;
        self
    }

    /// The tools that it offers.
    pub fn tools(&self) -> &[OfferedTool] {
        &self.tools
    }

    /// Every result that it carries, in order.
    pub fn results(&self) -> impl Iterator<Item = &ModelToolResult> {
        self.messages
            .iter()
            .flat_map(|message| match message {
                Message::User(_) | Message::Brought(_) => [].iter(),
                Message::Assistant { calls, .. } => calls.iter(),
            })
            .map(|it| &it.result)
    }
}

/// A message whose calls may still wait for results.
enum Open {
    User(UserMessage),
    Brought(BroughtMessage),
    Assistant { item_id: Arc<str>, text: Arc<str>, calls: Vec<(ToolCall, Option<ModelToolResult>)> },
}

impl Open {
    fn close(self, repairs: &mut Vec<Repair>) -> Option<Message> {
        let (item_id, text, calls) = match self {
            Self::User(it) => return Some(Message::User(it)),
            Self::Brought(it) => return Some(Message::Brought(it)),
            Self::Assistant { item_id, text, calls } => (item_id, text, calls),
        };
        if text.is_empty() && calls.is_empty() {
            repairs.push(Repair::Empty { item_id });
            return None;
        }
        let mut taken = BTreeSet::new();
        let calls =
            calls.into_iter().map(|(call, result)| answer(call, result, &mut taken, repairs)).collect();
        Some(Message::Assistant { item_id, text, calls })
    }
}

fn answer(
    mut call: ToolCall,
    result: Option<ModelToolResult>,
    taken: &mut BTreeSet<Arc<str>>,
    repairs: &mut Vec<Repair>,
) -> AnsweredCall {
    let mut result = result.unwrap_or_else(|| {
        repairs.push(Repair::Unanswered { call_id: call.id.clone() });
        ModelToolResult::host(call.id.clone(), true, HostText::Interrupted)
    });
    let mut number = 2u32;
    let original = call.id.clone();
    while !taken.insert(call.id.clone()) {
        call.id = format!("{original}-{number}").into();
        number += 1;
    }
    if call.id != original {
        repairs.push(Repair::Renamed { call_id: original, sent_as: call.id.clone() });
        result.call_id = call.id.clone();
    }
    AnsweredCall { call, result }
}

/// Gives a result to the latest message that has an unanswered call of its id, there to the first such call.
fn place(open: &mut [Open], result: ModelToolResult) -> Option<Repair> {
    let mut answered = false;
    for message in open.iter_mut().rev() {
        let Open::Assistant { calls, .. } = message else { continue };
        for (_, slot) in calls.iter_mut().filter(|(call, _)| call.id == result.call_id) {
            if slot.is_none() {
                *slot = Some(result);
                return None;
            }
            answered = true;
        }
        // An id may come again in a later turn; a result after it belongs there and not to an old call.
        if answered {
            return Some(Repair::Duplicate { call_id: result.call_id });
        }
    }
    Some(Repair::Orphan { call_id: result.call_id })
}
