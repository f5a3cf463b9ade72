//! The mock server: made with the server crate, spoilt through the one door that it has for that, and with a record of what was sent.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value, json};
use usher_protocol::{
    RawJson, UI_EXTENSION, UI_MIME,
    common::{BlockKind, ContentBlock, Media},
    jsonrpc::Message,
    model::{Audience, Format, OutputPart, Payload, Selector, ToolAnnotations, UiLink},
};
use usher_server::{AnyTool, DeclarationError, Frame, Interference, Ran, Resources, Server, ToolBuilder};

use crate::plan::{Kind, MockTool, Situation, Spoil, canary, stranger};

/// The View's address.
const VIEW_URI: &str = "ui://conformance/view";

/// A one-pixel picture.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/// What the client sent: a method and its parameters.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) method: String,
    pub(crate) params: Value,
}

/// Everything that was sent to a mock server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Record(Arc<Mutex<Vec<Sent>>>);

impl Record {
    pub(crate) fn all(&self) -> Vec<Sent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The server of a situation.
///
/// # Errors
/// A declaration breaks rule S01, which is a defect of the plan.
pub(crate) fn server(
    situation: &Situation,
    seed: &str,
    record: Record,
) -> Result<Arc<Server>, DeclarationError> {
    let mut server = Server::new("usher-conformance", env!("CARGO_PKG_VERSION"))
        .revisions(&situation.revisions)
        .resources(Views);
    for tool in &situation.tools {
        server = server.tool(build(tool, seed)?);
    }
    let tap = Tap { spoil: situation.spoil, seed: seed.to_owned(), record };
    Ok(Arc::new(server.interfered(tap)))
}

fn build(tool: &MockTool, seed: &str) -> Result<Box<dyn AnyTool>, DeclarationError> {
    let about = "Gives the same report in a form for each audience.";
    let reads = ToolAnnotations {
        read_only_hint: Some(true),
        destructive_hint: Some(false),
        ..ToolAnnotations::default()
    };
    let mut builder = ToolBuilder::<()>::new(tool.name, about)
        .input(json!({"type": "object", "properties": {"topic": {"type": "string"}}}))
        .annotations(reads);
    for selector in &tool.variants {
        let canary = canary(tool.name, &Kind::Output(selector.clone()), seed);
        builder = match selector.format {
            Format::Content => builder.content(selector.clone(), {
                let selector = selector.clone();
                move |()| blocks(&selector, &canary)
            }),
            Format::Structured => builder.structured(selector.clone(), schema(&selector.audience), {
                let selector = selector.clone();
                move |()| Ok(value(&selector.audience, &canary).into())
            }),
        };
    }
    if tool.variants.contains(&Selector::ui()) {
        builder = builder.view(UiLink {
            resource_uri: Some(VIEW_URI.to_owned()),
            visible_to_model: !tool.for_view_only,
            visible_to_app: true,
        });
    }
    builder.handler(|_call| async { Ok(()) })
}

fn blocks(selector: &Selector, canary: &str) -> Vec<ContentBlock> {
    let mut blocks = vec![ContentBlock::text(format!("The report is done: {canary}."))];
    if selector.audience == Audience::User {
        let picture = || Media { data: PIXEL.to_owned(), mime: "image/png".to_owned() };
        let block = |_| ContentBlock { kind: BlockKind::Image(picture()), annotations: None };
        blocks.extend((0..2).map(block));
    }
    blocks
}

/// A payload that fits the schema of its own audience and of no other.
fn value(audience: &Audience, canary: &str) -> Value {
    match audience {
        Audience::Assistant => json!({"answer": canary, "total": 2}),
        Audience::User => json!([{"name": canary, "amount": 1}, {"name": "another", "amount": 2}]),
        Audience::Programmatic => json!({"rows": [{"key": canary, "amount": 1}]}),
        Audience::Extension(_) => json!({"rows": 1, "caption": canary}),
    }
}

fn schema(audience: &Audience) -> Value {
    let text = json!({"type": "string"});
    let number = json!({"type": "integer"});
    let object = |fields: Value, required: &[&str]| json!({"type": "object", "properties": fields, "required": required});
    match audience {
        Audience::Assistant => object(json!({"answer": text, "total": number}), &["answer", "total"]),
        Audience::User => {
            let row = object(json!({"name": text, "amount": number}), &["name", "amount"]);
            json!({"type": "array", "title": "Report", "items": row})
        }
        Audience::Programmatic => {
            let row = object(json!({"key": text, "amount": number}), &["key", "amount"]);
            object(json!({"rows": {"type": "array", "items": row}}), &["rows"])
        }
        Audience::Extension(_) => object(json!({"rows": number, "caption": text}), &["rows"]),
    }
}

/// Records what comes, and spoils what goes.
struct Tap {
    spoil: Spoil,
    seed: String,
    record: Record,
}

impl Tap {
    fn payload(&self, tool: &str, selector: &Selector) -> OutputPart {
        let canary = canary(tool, &Kind::Output(selector.clone()), &self.seed);
        let payload = match selector.format {
            Format::Content => Payload::Content(blocks(selector, &canary)),
            Format::Structured => Payload::Structured(value(&selector.audience, &canary).into()),
        };
        OutputPart { selector: selector.clone(), payload, bytes: 0 }
    }
}

impl Interference for Tap {
    fn on_message(&self, message: &Message) {
        let (Message::Request { method, params, .. } | Message::Notification { method, params }) = message
        else {
            return;
        };
        let params = params.as_ref().map(RawJson::to_value).unwrap_or_default();
        let sent = Sent { method: method.clone(), params };
        self.record.0.lock().unwrap_or_else(PoisonError::into_inner).push(sent);
    }

    fn on_declaration(&self, tool: &str, wire: &mut Value) {
        // The others are without defect.
        if tool != "report" {
            return;
        }
        let variants = wire.get_mut("outputVariants").and_then(Value::as_array_mut);
        match (self.spoil, variants) {
            (Spoil::NoFallback, Some(variants)) => {
                variants.retain(|it| !(it["audience"] == "assistant" && it["format"] == "content"));
            }
            (Spoil::NoVariants, Some(_)) => {
                if let Some(wire) = wire.as_object_mut() {
                    wire.shift_remove("outputVariants");
                }
            }
            (Spoil::Stranger, Some(variants)) => variants.push(declared(&stranger())),
            (Spoil::Lure, None) => {
                let all = [Selector::ASSISTANT_CONTENT, Selector::USER_STRUCTURED];
                wire["outputVariants"] = all.iter().map(declared).collect();
            }
            (
                Spoil::Nothing
                | Spoil::NoFallback
                | Spoil::NoVariants
                | Spoil::Stranger
                | Spoil::Unrequested
                | Spoil::Swapped
                | Spoil::Lure,
                _,
            ) => {}
        }
    }

    fn on_outputs(&self, tool: &str, ran: &mut Ran, meta: &mut Map<String, Value>) {
        if self.spoil == Spoil::Unrequested {
            for selector in crate::plan::all_variants() {
                if !ran.parts.iter().any(|it| it.selector == selector) {
                    ran.parts.push(self.payload(tool, &selector));
                }
            }
            meta.insert("apiKey".to_owned(), json!(canary(tool, &Kind::Meta, &self.seed)));
            let state = json!({"state": canary(tool, &Kind::UiMeta, &self.seed)});
            meta.insert(UI_EXTENSION.to_owned(), state);
        }
        if self.spoil == Spoil::Swapped && tool == "swapped" {
            for part in ran.parts.iter_mut().filter(|it| it.selector == Selector::ui()) {
                let canary = canary(tool, &Kind::Output(Selector::ui()), &self.seed);
                let foreign = value(&Audience::Programmatic, &canary);
                part.payload = Payload::Structured(foreign.into());
            }
        }
    }

    fn on_answer(&self, answer: &Message) -> Vec<Frame> {
        let Message::Response { id, result } = answer else { return vec![Frame::of(answer)] };
        if self.spoil != Spoil::Lure {
            return vec![Frame::of(answer)];
        }
        let mut result = result.to_value();
        let canary = canary("report", &Kind::Lure, &self.seed);
        result["outputs"] = json!([
            {"audience": "user", "format": "structured", "structuredContent": [{"name": canary, "amount": 1}]},
            {"audience": "assistant", "format": "content", "content": [{"type": "text", "text": canary}]},
        ]);
        vec![Frame::of(&Message::Response { id: id.clone(), result: result.into() })]
    }
}

/// A variant as a declaration has it.
fn declared(selector: &Selector) -> Value {
    match selector.format {
        Format::Content => json!({"audience": selector.audience, "format": "content"}),
        Format::Structured => {
            json!({"audience": selector.audience, "format": "structured", "schema": schema(&selector.audience)})
        }
    }
}

/// The View's document.
struct Views;

impl Resources for Views {
    fn list(&self) -> Vec<Value> {
        vec![json!({"uri": VIEW_URI, "name": "view", "mimeType": UI_MIME})]
    }

    fn read(&self, uri: &str) -> Option<Vec<Value>> {
        let text = "<!doctype html><title>Report</title><p>A report.</p>";
        (uri == VIEW_URI).then(|| vec![json!({"uri": uri, "mimeType": UI_MIME, "text": text})])
    }
}
