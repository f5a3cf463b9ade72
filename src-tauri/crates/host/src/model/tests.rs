//! The parts of the model module together: bodies, streams, sending, fitting.

mod bodies;
mod fitting;
mod sending;
mod streams;

use std::sync::Arc;

use usher_protocol::{RawJson, common::ContentBlock};

use super::*;

fn spec(takes_images: bool) -> ModelSpec {
    ModelSpec {
        name: "m".to_owned(),
        endpoint: Endpoint::Http { base_url: "http://127.0.0.1:9/v1".parse().unwrap(), key: None },
        takes_images,
        context_tokens: None,
        max_output_tokens: None,
    }
}

fn ids() -> CallIds {
    let mut next = 0;
    Box::new(move || {
        next += 1;
        format!("generated-{next}")
    })
}

fn user(id: &str, text: &str) -> HistoryItem {
    HistoryItem::User(UserMessage { item_id: id.into(), door: Door::Typed, text: text.into() })
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.into(), wire_name: name.into(), arguments: Arguments::read(arguments, true) }
}

fn assistant(id: &str, text: &str, calls: Vec<ToolCall>) -> HistoryItem {
    HistoryItem::Assistant(AssistantMessage { item_id: id.into(), text: text.into(), calls })
}

/// A result made of content blocks, written as JSON.
fn content(call_id: &str, is_error: bool, blocks: &str) -> HistoryItem {
    let blocks: Vec<ContentBlock> = serde_json::from_str(blocks).unwrap();
    let output = AssistantOutput::legacy_blocks(blocks.iter().enumerate());
    HistoryItem::Result(ModelToolResult::from_outputs(call_id, is_error, &[output]).0)
}

fn turn(history: Vec<HistoryItem>) -> Turn {
    let (turn, repairs) = Turn::assemble(vec![], history, vec![]);
    assert_eq!(repairs, []);
    turn
}

fn encode(turn: &Turn, model: &ModelSpec) -> Encoded {
    let encoded = OpenAiChat.encode(turn, model).unwrap();
    assert_tiles(&encoded);
    serde_json::from_slice::<serde_json::Value>(&encoded.body).unwrap();
    encoded
}

/// The spans cover each byte of the body exactly once, in order.
fn assert_tiles(encoded: &Encoded) {
    let mut at = 0;
    for span in &encoded.spans {
        assert_eq!(span.range.start, at);
        assert!(span.range.end > at);
        at = span.range.end;
    }
    assert_eq!(at, encoded.body.len());
}

fn body(encoded: &Encoded) -> &str {
    std::str::from_utf8(&encoded.body).unwrap()
}

/// One span a line: where it comes from, and what it is.
fn spans(encoded: &Encoded) -> String {
    let line = |it: &Span| format!("{:<44} {}\n", it.source.label(), &body(encoded)[it.range.clone()]);
    encoded.spans.iter().map(line).collect()
}

fn json(text: &str) -> RawJson {
    RawJson::parse(text).unwrap()
}

fn arc(text: &str) -> Arc<str> {
    text.into()
}
