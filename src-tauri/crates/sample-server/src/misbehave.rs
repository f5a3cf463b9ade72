//! Every defect that the options can ask for, in one place: what is right is made elsewhere and spoilt here.

use std::time::Duration;

use serde_json::{Map, Value, json};
use usher_protocol::{
    RawJson, UI_EXTENSION,
    common::ContentBlock,
    jsonrpc::Message,
    model::{Audience, Format, OutputPart, Payload, Selector},
};
use usher_server::{Declaration, Frame, Interference, Ran, Turn};

use crate::{
    options::{DeclarationDefects, Options, OutputDefects, WireDefects},
    tools,
};

/// Behaves as the options say.
pub(crate) struct Misbehaviour(pub(crate) Options);

impl Interference for Misbehaviour {
    fn at_start(&self) -> Vec<Frame> {
        noise(&self.0.wire).collect()
    }

    fn on_request(&self, method: &str, is_first: bool) -> Turn {
        let quirks = &self.0.era;
        if is_first && quirks.exit_on_unknown && method != "initialize" {
            return Turn::Crash;
        }
        match method {
            "server/discover" if quirks.discover_silent => Turn::Silence,
            "server/discover" if quirks.discover_empty => Turn::Answer(json!({}).into()),
            _ => Turn::Go,
        }
    }

    fn on_declaration(&self, tool: &str, wire: &mut Value) {
        if let Some(seed) = &self.0.canaries {
            mark_schemas(wire, seed);
        }
        if self.0.on.names(tool) {
            declaration(&self.0.declaration, wire);
        }
    }

    fn on_selection(&self, tool: &Declaration, selected: Vec<Selector>) -> Vec<Selector> {
        if self.0.on.names(&tool.tool.name) { selectors(&self.0.outputs, tool, selected) } else { selected }
    }

    fn on_outputs(&self, tool: &str, ran: &mut Ran, meta: &mut Map<String, Value>) {
        if let Some(seed) = self.0.canaries.as_ref().filter(|_| tools::CANARIED.contains(&tool)) {
            ran.parts.iter_mut().for_each(|it| plant(it, seed));
            mark_meta(meta, seed);
        }
        if self.0.on.names(tool) {
            if self.0.outputs.meta_secrets {
                secrets(meta);
            }
            ran.parts = outputs(&self.0.outputs, std::mem::take(&mut ran.parts));
        }
    }

    fn on_answer(&self, answer: &Message) -> Vec<Frame> {
        frames(&self.0.wire, answer)
    }

    fn delay(&self) -> Duration {
        Duration::from_millis(self.0.wire.delay_ms)
    }

    fn ignores_cancellation(&self) -> bool {
        self.0.wire.late
    }
}

/// An output that is about to be sent; its size is known once it is written.
fn part(payload: Payload, selector: Selector) -> OutputPart {
    OutputPart { selector, payload, bytes: 0 }
}

fn mark_schemas(wire: &mut Value, seed: &str) {
    let variants = wire.get_mut("outputVariants").and_then(Value::as_array_mut);
    for variant in variants.into_iter().flatten() {
        let audience = variant["audience"].as_str().unwrap_or_default().to_owned();
        if let Some(schema) = variant.get_mut("schema").and_then(Value::as_object_mut) {
            let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
            let marked = format!("{description} {}", schema_canary(&audience, seed));
            schema.insert("description".to_owned(), json!(marked.trim()));
        }
    }
}

/// Spoils a declaration on the wire.
fn declaration(defects: &DeclarationDefects, wire: &mut Value) {
    if let Some(variants) = wire.get_mut("outputVariants").and_then(Value::as_array_mut) {
        if defects.no_assistant_content {
            variants.retain(|it| !(it["audience"] == "assistant" && it["format"] == "content"));
        }
        if defects.duplicate_pair {
            variants.extend(variants.last().cloned());
        }
        if defects.unnegotiated_audience {
            let schema = json!({"type": "object"});
            for audience in [UI_EXTENSION, "dev.example/charts"] {
                if !variants.iter().any(|it| it["audience"] == audience) {
                    variants.push(json!({"audience": audience, "format": "structured", "schema": schema}));
                }
            }
        }
    }
    if let Some(wire) = wire.as_object_mut().filter(|_| defects.no_output_variants) {
        wire.shift_remove("outputVariants");
    }
}

/// The variants to produce, with one that nobody asked for.
fn selectors(defects: &OutputDefects, tool: &Declaration, asked: Vec<Selector>) -> Vec<Selector> {
    let extra = tool.variants.iter().map(|it| &it.declared.selector).find(|it| !asked.contains(it));
    let extra = extra.filter(|_| defects.unrequested_output).cloned();
    asked.into_iter().chain(extra).collect()
}

/// Spoils the outputs of a result.
fn outputs(defects: &OutputDefects, mut parts: Vec<OutputPart>) -> Vec<OutputPart> {
    parts.iter_mut().filter(|it| violates(defects, &it.selector)).for_each(break_schema);
    if defects.mirrored_text {
        parts.extend(mirror(&parts));
    }
    if defects.mismatched_pair {
        relabel(&mut parts);
    }
    if defects.duplicate_output {
        parts.extend(parts.first().cloned());
    }
    if defects.missing_output {
        parts.pop();
    }
    if defects.empty_outputs {
        parts.clear();
    }
    parts
}

fn violates(defects: &OutputDefects, selector: &Selector) -> bool {
    match (selector.format, &selector.audience) {
        (
            Format::Content,
            Audience::Assistant | Audience::User | Audience::Programmatic | Audience::Extension(_),
        ) => false,
        (Format::Structured, Audience::Assistant) => defects.violate_assistant,
        (Format::Structured, Audience::User) => defects.violate_user,
        (Format::Structured, Audience::Programmatic) => defects.violate_programmatic,
        (Format::Structured, Audience::Extension(_)) => defects.violate_ui,
    }
}

/// Every structured payload of this server has a text `note`; a number there breaks its schema and nothing else.
fn break_schema(part: &mut OutputPart) {
    if let Payload::Structured(value) = &mut part.payload {
        let mut tree = value.to_value();
        if let Some(object) = note_holder(&mut tree) {
            object.insert("note".to_owned(), json!(42));
        }
        *value = tree.into();
    }
}

/// The object that holds a payload's note: itself, or the first of its records.
fn note_holder(value: &mut Value) -> Option<&mut Map<String, Value>> {
    match value {
        Value::Array(records) => records.first_mut().and_then(Value::as_object_mut),
        Value::Object(object) => Some(object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// The text mirror of a structured output, labelled for a content audience that was not asked.
fn mirror(parts: &[OutputPart]) -> Option<OutputPart> {
    let text = parts.iter().find_map(|it| match &it.payload {
        Payload::Structured(value) => Some(value.get().to_owned()),
        Payload::Content(_) => None,
    })?;
    let free = [Selector::ASSISTANT_CONTENT, Selector::USER_CONTENT]
        .into_iter()
        .find(|free| !parts.iter().any(|it| it.selector == *free))?;
    Some(part(Payload::Content(vec![ContentBlock::text(text)]), free))
}

/// Labels the last output for an audience that was not asked, in the same format.
fn relabel(parts: &mut [OutputPart]) {
    let Some(format) = parts.last().map(|it| it.selector.format) else { return };
    let audiences: &[Audience] = match format {
        Format::Content => &[Audience::Assistant, Audience::User],
        Format::Structured => &[Audience::Assistant, Audience::Programmatic, Audience::User],
    };
    let labels = audiences.iter().map(|it| Selector { audience: it.clone(), format });
    let free = labels.into_iter().find(|free| !parts.iter().any(|it| it.selector == *free));
    if let (Some(last), Some(free)) = (parts.last_mut(), free) {
        last.selector = free;
    }
}

/// What a careless server puts into `_meta`. None of it is a real secret.
fn secrets(meta: &mut Map<String, Value>) {
    meta.insert("apiKey".to_owned(), json!("sk-sample-0f1e2d3c4b5a69788796a5b4c3d2e1f0"));
    meta.insert(
        "dev.usher.sample/session".to_owned(),
        json!({"user": "root", "password": "correct horse battery staple"}),
    );
    meta.insert(
        "internalNotes".to_owned(),
        json!("Globex is about to cancel; do not tell them that we know."),
    );
}

/// Names the place of a canary: `canary-<audience>-<format>-<seed>`, with `ui` for the Apps extension.
fn canary(selector: &Selector, seed: &str) -> String {
    format!("canary-{}-{}-{seed}", short(&selector.audience), selector.format)
}

/// The canary of a variant's schema.
fn schema_canary(audience: &str, seed: &str) -> String {
    format!("canary-schema-{}-{seed}", short(&Audience::from(audience.to_owned())))
}

fn short(audience: &Audience) -> &str {
    match audience {
        Audience::Assistant | Audience::User | Audience::Programmatic => audience.as_str(),
        Audience::Extension(id) if id == UI_EXTENSION => "ui",
        Audience::Extension(id) => id,
    }
}

/// Puts a canary into a payload: a text block of its own, or the note.
fn plant(part: &mut OutputPart, seed: &str) {
    let canary = canary(&part.selector, seed);
    match &mut part.payload {
        Payload::Content(blocks) => blocks.push(ContentBlock::text(format!("Reference: {canary}"))),
        Payload::Structured(value) => {
            let mut tree = value.to_value();
            if let Some(object) = note_holder(&mut tree) {
                let note = object.get("note").and_then(Value::as_str).unwrap_or_default();
                let note = format!("{note} {canary}").trim().to_owned();
                object.insert("note".to_owned(), json!(note));
            }
            *value = RawJson::from(tree);
        }
    }
}

/// The lines of a call's answer.
fn frames(defects: &WireDefects, answer: &Message) -> Vec<Frame> {
    if defects.crash_on_call {
        return vec![Frame::Crash];
    }
    if defects.hang {
        return Vec::new();
    }
    let (mut line, code) = match Frame::of(answer) {
        Frame::Answer { line, code } => (line, code),
        Frame::Line(line) => (line, None),
        Frame::Crash => return vec![Frame::Crash],
    };
    let mut frames = Vec::new();
    frames.extend(noise(defects));
    if let Some(lines) = defects.flood {
        let flood = Frame::Line(vec![b'~'; 1023]);
        frames.extend((0..lines).map(|_| flood.clone()));
    }
    if defects.invalid_utf8 {
        spoil_text(&mut line);
    }
    let middle = line.len() / 2;
    if defects.malformed_line {
        line.truncate(middle);
    }
    if defects.interleaved {
        let rest = line.split_off(line.len() / 2);
        line.extend_from_slice(b"[info] request took 12 ms");
        frames.push(Frame::Line(line));
        line = rest;
    }
    frames.push(Frame::Answer { line, code });
    frames
}

/// What a chatty server prints at its start and between messages.
fn noise(defects: &WireDefects) -> impl Iterator<Item = Frame> {
    let lines = if defects.noise { NOISE } else { "" };
    lines.lines().map(|it| Frame::Line(it.as_bytes().to_vec()))
}

/// Puts two bytes of another encoding into the first text, or else into the first string that follows a colon.
fn spoil_text(line: &mut Vec<u8>) {
    let find =
        |needle: &[u8]| line.windows(needle.len()).position(|it| it == needle).map(|at| at + needle.len());
    if let Some(at) = find(b"\"text\":\"").or_else(|| find(b"\"note\":\"")) {
        line.splice(at..at, [0xB0, 0xA1]);
    }
}

const NOISE: &str = "\
================ sample server ================
2025-06-09 12:00:01 INFO connected to database
┌──────────────┐
│ ready        │
└──────────────┘
{
  \"level\": \"debug\",
  \"message\": \"pretty-printed\"
}
[1, 2, 3]
{\"level\":\"info\",\"message\":\"an object, but not a message\"}
null";

/// Puts canaries into `_meta`: one under a key that nothing defines, one in the entry of the Apps extension.
fn mark_meta(meta: &mut Map<String, Value>, seed: &str) {
    meta.insert("dev.usher.sample/trace".to_owned(), json!(format!("canary-meta-{seed}")));
    let entry = meta.entry(UI_EXTENSION).or_insert_with(|| json!({}));
    entry["note"] = json!(format!("canary-uimeta-{seed}"));
}
