//! Makes a turn fit a model's context, so that no result can break a chat.
//!
//! The estimate: four ASCII characters are a token, every other character is one, a picture is 1,600, a message or tool adds 8. It errs
//! on the large side for all but dense code. What is cut stays whole for the user and for scripts; the model gets an honest notice in its
//! place ([`HostText::BudgetCut`]). Deliberately absent: cutting the user's own words, and any summary by a model.

use std::sync::Arc;

use super::{
    HostText, Message, ModelItem, ModelSpec, ModelToolResult, SourcedItem, SystemText, Turn, openai::picture,
    turn::AnsweredCall,
};

/// The context that is assumed, in tokens, of a model whose context size is neither known nor set.
pub const ASSUMED_CONTEXT_TOKENS: u64 = 32_768;

/// What a picture is taken to cost, in tokens.
pub const IMAGE_TOKENS: u64 = 1_600;

/// What is left of an old result when room is short, in tokens.
const ABRIDGED_TOKENS: u64 = 100;

/// What a message, a call or a tool costs beyond its texts, in tokens.
const FRAME_TOKENS: u64 = 8;

/// What was done to make a turn fit. The cuts are to be recorded and shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fit {
    /// Estimated tokens of the request.
    pub tokens: u64,
    /// Estimated tokens of the tool declarations in it.
    pub tool_tokens: u64,
    /// Tokens that a request may have: the context less what the answer needs.
    pub room: u64,
    /// Whether it fits. When it does not, the user's own words are too long.
    pub fits: bool,
    /// What was cut, in the order in which it was.
    pub cuts: Vec<Cut>,
}

/// Something that was cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cut {
    /// A text in a result.
    Result {
        /// The call.
        call_id: Arc<str>,
        /// Bytes that are sent.
        kept: usize,
        /// Bytes that there are.
        total: usize,
    },
    /// A picture in a result.
    Picture {
        /// The call.
        call_id: Arc<str>,
    },
    /// A tool that is not offered, because the declarations need more than half of the room.
    Tool {
        /// Its name on the wire.
        wire_name: Arc<str>,
    },
    /// The oldest messages.
    Messages {
        /// How many.
        count: usize,
    },
}

/// Estimated tokens of a text.
pub fn estimate_tokens(text: &str) -> u64 {
    let other = text.chars().filter(|it| !it.is_ascii()).count();
    let ascii = text.bytes().filter(u8::is_ascii).count();
    tokens(ascii.div_ceil(4) + other)
}

/// Makes a turn fit.
///
/// Results larger than a quarter of the room are cut; then, while the whole is too large, the oldest results are abridged, the oldest
/// messages are left out up to the last user message, and the results after it are abridged.
pub fn fit(mut turn: Turn, model: &ModelSpec) -> (Turn, Fit) {
    let context = model.context_tokens.unwrap_or(ASSUMED_CONTEXT_TOKENS);
    let room = context
        .saturating_sub(model.max_output_tokens.unwrap_or_else(|| (context / 4).min(4_096)).min(context / 2));
    let mut cuts = Vec::new();
    limit_tools(&mut turn, room / 2, &mut cuts);
    for result in turn.messages.iter_mut().flat_map(results_mut) {
        limit_result(result, room / 4, room / 2, model, &mut cuts);
    }
    let last_user = last_asked(&turn.messages);
    abridge(&mut turn, 0..last_user, room, model, &mut cuts);
    omit(&mut turn, last_user, room, model, &mut cuts);
    let end = turn.messages.len();
    abridge(&mut turn, 0..end, room, model, &mut cuts);
    let tokens = turn_tokens(&turn, model);
    let fit = Fit {
        tokens,
        tool_tokens: tools_tokens(&turn),
        room,
        fits: tokens <= room,
        cuts: last_of_each(cuts),
    };
    (turn, fit)
}

/// The largest character boundary that is not beyond `at`.
pub(super) fn floor_boundary(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at)
}

fn limit_tools(turn: &mut Turn, limit: u64, cuts: &mut Vec<Cut>) {
    let mut total = tools_tokens(turn);
    while total > limit {
        let Some(tool) = turn.tools.pop() else { return };
        total -= tool_tokens(&tool);
        cuts.push(Cut::Tool { wire_name: tool.wire_name });
    }
}

/// Cuts a result's texts to `texts` tokens in all, and its pictures to `pictures`.
fn limit_result(
    result: &mut ModelToolResult,
    mut texts: u64,
    mut pictures: u64,
    model: &ModelSpec,
    cuts: &mut Vec<Cut>,
) {
    for item in &mut result.items {
        let Ok((content, _)) = &item.content else { continue };
        if item.keep.is_none() && picture(content, model).is_some() {
            match pictures.checked_sub(IMAGE_TOKENS) {
                Some(rest) => pictures = rest,
                None => {
                    item.keep = Some(0);
                    cuts.push(Cut::Picture { call_id: result.call_id.clone() });
                }
            }
            continue;
        }
        let Some(text) = text_of(content) else { continue };
        let kept = item.kept(text).0;
        let (end, cost) = prefix(kept, texts);
        texts -= cost;
        if end < kept.len() {
            cuts.push(Cut::Result { call_id: result.call_id.clone(), kept: end, total: text.len() });
            item.keep = Some(end);
        }
    }
}

/// Abridges the results of some messages, oldest first, until the turn fits.
fn abridge(
    turn: &mut Turn,
    range: std::ops::Range<usize>,
    room: u64,
    model: &ModelSpec,
    cuts: &mut Vec<Cut>,
) {
    let mut total = turn_tokens(turn, model);
    let messages = turn.messages.get_mut(range).unwrap_or_default();
    for result in messages.iter_mut().flat_map(results_mut) {
        if total <= room {
            return;
        }
        total -= result_tokens(result, model);
        limit_result(result, ABRIDGED_TOKENS, 0, model, cuts);
        total += result_tokens(result, model);
    }
}

/// Leaves out the oldest messages before `end` until the turn fits, and says so in the system message.
fn omit(turn: &mut Turn, end: usize, room: u64, model: &ModelSpec, cuts: &mut Vec<Cut>) {
    let mut total = turn_tokens(turn, model);
    let mut count = 0;
    while count < end && total + FRAME_TOKENS * 4 > room {
        total -= message_tokens(&turn.messages[count], model);
        count += 1;
    }
    if count == 0 || turn_tokens(turn, model) <= room {
        return;
    }
    // An answer whose question is gone confuses more than it helps; a conversation begins with the user.
    while count < end && matches!(turn.messages[count], Message::Assistant { .. }) {
        count += 1;
    }
    turn.messages.drain(..count);
    turn.system.push(SystemText::Host(HostText::EarlierOmitted { messages: count }));
    cuts.push(Cut::Messages { count });
}

/// When a text was cut twice, only the second is true.
fn last_of_each(cuts: Vec<Cut>) -> Vec<Cut> {
    let mut out: Vec<Cut> = Vec::new();
    for cut in cuts {
        if let Cut::Result { call_id, total, .. } = &cut {
            out.retain(
                |it| !matches!(it, Cut::Result { call_id: c, total: t, .. } if c == call_id && t == total),
            );
        }
        out.push(cut);
    }
    out
}

fn results_mut(message: &mut Message) -> Vec<&mut ModelToolResult> {
    match message {
        Message::User(_) => Vec::new(),
        Message::Brought(it) => vec![&mut it.content],
        Message::Assistant { calls, .. } => calls.iter_mut().map(|it| &mut it.result).collect(),
    }
}

/// Where what the user asked last begins: with what they let in directly before it.
fn last_asked(messages: &[Message]) -> usize {
    let is_asked = |it: &Message| matches!(it, Message::User(_) | Message::Brought(_));
    let Some(mut at) = messages.iter().rposition(is_asked) else { return 0 };
    while at > 0 && matches!(messages[at - 1], Message::Brought(_)) {
        at -= 1;
    }
    at
}

fn text_of(item: &ModelItem) -> Option<&str> {
    match item {
        ModelItem::Text(text) | ModelItem::EmbeddedText { text, .. } => Some(text),
        ModelItem::Json(json) => Some(json.get()),
        ModelItem::Image { .. }
        | ModelItem::Audio { .. }
        | ModelItem::Link(_)
        | ModelItem::EmbeddedBlob { .. }
        | ModelItem::Unknown { .. } => None,
    }
}

/// How many bytes of a text fit into a number of tokens, and what they cost.
fn prefix(text: &str, limit: u64) -> (usize, u64) {
    let quarter = |ascii: u64, other: u64| ascii.div_ceil(4) + other;
    let (mut ascii, mut other) = (0, 0);
    for (at, char) in text.char_indices() {
        let next = if char.is_ascii() { (ascii + 1, other) } else { (ascii, other + 1) };
        if quarter(next.0, next.1) > limit {
            return (at, quarter(ascii, other));
        }
        (ascii, other) = next;
    }
    (text.len(), quarter(ascii, other))
}

fn turn_tokens(turn: &Turn, model: &ModelSpec) -> u64 {
    let system = turn.system.iter().map(|it| match it {
        SystemText::Host(text) => estimate_tokens(&text.text()),
        SystemText::Instructions(text) => estimate_tokens(text),
    });
    let messages = turn.messages.iter().map(|it| message_tokens(it, model));
    FRAME_TOKENS + system.sum::<u64>() + messages.sum::<u64>() + tools_tokens(turn)
}

fn tools_tokens(turn: &Turn) -> u64 {
    turn.tools.iter().map(tool_tokens).sum()
}

fn tool_tokens(tool: &super::OfferedTool) -> u64 {
    let description = tool.description.as_deref().map_or(0, estimate_tokens);
    FRAME_TOKENS + estimate_tokens(&tool.wire_name) + description + estimate_tokens(tool.schema.get())
}

fn message_tokens(message: &Message, model: &ModelSpec) -> u64 {
    match message {
        Message::User(it) => FRAME_TOKENS + estimate_tokens(&it.text),
        // The header of an attached resource is counted for all.
        Message::Brought(it) => FRAME_TOKENS * 4 + result_tokens(&it.content, model),
        Message::Assistant { text, calls, .. } => {
            let call = |it: &AnsweredCall| {
                let name = estimate_tokens(&it.call.wire_name) + estimate_tokens(it.call.arguments.text());
                FRAME_TOKENS + name + result_tokens(&it.result, model)
            };
            FRAME_TOKENS + estimate_tokens(text) + calls.iter().map(call).sum::<u64>()
        }
    }
}

fn result_tokens(result: &ModelToolResult, model: &ModelSpec) -> u64 {
    FRAME_TOKENS + result.items.iter().map(|it| item_tokens(it, model)).sum::<u64>()
}

fn item_tokens(item: &SourcedItem, model: &ModelSpec) -> u64 {
    // What a placeholder, a notice or a link costs.
    const NOTE: u64 = 32;
    match &item.content {
        Err(host) => estimate_tokens(&host.text()),
        Ok((ModelItem::Link(link), _)) => {
            NOTE + estimate_tokens(&link.uri) + link.description.as_deref().map_or(0, estimate_tokens)
        }
        Ok((content, _)) => match text_of(content) {
            Some(text) => {
                let (kept, notice) = item.kept(text);
                estimate_tokens(kept) + if notice.is_some() { NOTE } else { 0 }
            }
            None if item.keep.is_none() && picture(content, model).is_some() => NOTE + IMAGE_TOKENS,
            None => NOTE,
        },
    }
}

fn tokens(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
