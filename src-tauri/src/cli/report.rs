//! A call and its result, audience by audience: gathered from the host, then written as text.
//!
//! What is shown of each part are its own bytes. Deliberately absent: decisions; the record of the call has them all.

use std::fmt::Write;

use serde_json::Value;
use usher_engine::{
    Consumer,
    routing::{Door, Routing, Source},
};
use usher_host::{
    conversation::{CallRecord, CallState, DeliveryRecord, Host, Shown, SourceKind, Told},
    payload::Cell,
};
use usher_protocol::{
    RawJson,
    common::{BlockKind, ContentBlock, ResourceBody},
    model::{Audience, Format, Payload},
};

use super::terminal::{self, Paint, Tone, WIDTH, clean, clean_line, clip, head, size, wrap};

/// How many rows of a table are shown.
const ROWS: usize = 4;
/// How many lines of a text are shown.
const LINES: usize = 5;
/// The room beside the indentation of a part.
const INNER: usize = WIDTH - 6;

/// A call as it is written.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Report {
    /// The tool and its arguments.
    pub(super) call: String,
    /// Who called, in which mode, under which revision, for which outputs.
    pub(super) about: String,
    /// How it ended, unless well.
    pub(super) trouble: Option<String>,
    /// What was for whom.
    pub(super) parts: Vec<Part>,
    /// What reached nobody, and why.
    pub(super) withheld: Vec<String>,
    /// What the server did wrong.
    pub(super) defects: Vec<String>,
}

/// What there was for an audience.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    /// The audience.
    pub(super) audience: Audience,
    /// What came, how large it is, whether it fits.
    pub(super) title: String,
    /// The local action or policy that let it through, if the contract did not.
    pub(super) door: Option<String>,
    /// Its own bytes, the first of them.
    pub(super) lines: Vec<String>,
}

impl Report {
    /// Gathers what a call's record says and the payloads that it names.
    ///
    /// `exchange` is the request in which the model read the result, if it did: then the model's part is cut from its very bytes.
    pub(super) async fn gather(host: &Host, call: &CallRecord, exchange: Option<&str>) -> Self {
        let mut parts = Vec::new();
        for delivery in &call.deliveries {
            // The extension's own metadata goes with the output and is part of it.
            if !matches!(delivery.source, Source::ExtensionMeta(_)) {
                parts.push(part(host, call, delivery, exchange).await);
            }
        }
        if let Some(part) = told(host, call, exchange).await {
            parts.insert(0, part);
        }
        let withheld = call.withheld.iter().map(|it| {
            let rule = it.rule.map_or_else(String::new, |rule| format!("{}: ", rule.id()));
            format!("{rule}{}, {}: {}", clean_line(&it.what), bytes(it.bytes), clean_line(&it.why))
        });
        let defects = call.defects.iter().map(|it| {
            let rule = it.rule.map_or_else(String::new, |rule| format!("{}: ", rule.id()));
            format!("{rule}{}", clean_line(&it.text))
        });
        Self {
            call: format!("{} {}", clean_line(&call.tool), clean_line(call.arguments.get())),
            about: about(call),
            trouble: trouble(&call.state),
            parts,
            withheld: withheld.collect(),
            defects: defects.collect(),
        }
    }

    /// Adds what a model would get of the result of a call by hand, which no model waits for.
    pub(super) fn add_for_model(&mut self, routing: &Routing) {
        let told =
            routing.notice.map(|it| (format!("would receive no output: {}", it.line()), None, Vec::new()));
        let deliveries = routing.deliveries.iter().map(|it| {
            let title = format!("would receive {}, {}", it.source.name(), size(it.bytes));
            let lines = match &it.payload {
                Payload::Structured(json) => json_lines(json),
                Payload::Content(blocks) => blocks.iter().flat_map(declared_lines).collect(),
            };
            (title, door(&it.door), lines)
        });
        let parts = told.into_iter().chain(deliveries);
        let parts =
            parts.map(|(title, door, lines)| Part { audience: Audience::Assistant, title, door, lines });
        self.parts.splice(0..0, parts);
    }

    /// Writes it.
    pub(super) fn text(&self, paint: Paint) -> String {
        let mut text = String::new();
        for line in wrap(&self.call, WIDTH - 2) {
            let _ = writeln!(text, "  {}", paint.tone(Tone::Strong, &line));
        }
        for line in wrap(&self.about, WIDTH - 2) {
            let _ = writeln!(text, "  {}", paint.tone(Tone::Faint, &line));
        }
        if let Some(trouble) = &self.trouble {
            for line in wrap(trouble, WIDTH - 2) {
                let _ = writeln!(text, "  {}", paint.tone(Tone::Wrong, &line));
            }
        }
        for part in &self.parts {
            text += &part.text(paint);
        }
        for (word, lines) in [("WITHHELD", &self.withheld), ("DEFECT", &self.defects)] {
            if lines.is_empty() {
                continue;
            }
            let _ = writeln!(
                text,
                "  {} {}",
                paint.tone(Tone::Wrong, paint.bullet()),
                paint.tone(Tone::Wrong, word)
            );
            for line in lines.iter().flat_map(|it| wrap(it, INNER)) {
                let _ = writeln!(text, "      {line}");
            }
        }
        text
    }
}

impl Part {
    fn text(&self, paint: Paint) -> String {
        let (word, tone) = terminal::audience(&self.audience);
        let mut text = String::new();
        let word = format!("{word:<6}");
        let title = wrap(&self.title, WIDTH - 12);
        for (at, line) in title.iter().enumerate() {
            let _ = if at == 0 {
                writeln!(text, "  {} {} {line}", paint.tone(tone, paint.bullet()), paint.tone(tone, &word))
            } else {
                writeln!(text, "           {line}")
            };
        }
        for line in self.door.iter().flat_map(|it| wrap(it, INNER)) {
            let _ = writeln!(text, "      {}", paint.tone(Tone::Faint, &line));
        }
        for line in &self.lines {
            let _ = writeln!(text, "      {line}");
        }
        text
    }
}

fn about(call: &CallRecord) -> String {
    let mut about = format!("mode {}", call.mode.name());
    if let Some(revision) = call.revision {
        let _ = write!(about, ", {revision}");
    }
    let names = |them: &[usher_protocol::model::Selector]| {
        them.iter().map(|it| clean_line(&it.to_string())).collect::<Vec<_>>().join(", ")
    };
    match &call.requested {
        Some(requested) => {
            let _ = write!(about, "; asked for {}", names(requested));
        }
        None if call.revision.is_some() => about += "; no selection was sent",
        None => {}
    }
    about
}

fn trouble(state: &CallState) -> Option<String> {
    match state {
        CallState::Done => None,
        CallState::ToolError => Some("The tool says that it failed.".to_owned()),
        CallState::Failed { what, todo } => Some(clean(&format!("{what} {todo}"))),
        CallState::Refused => Some("The call was not allowed.".to_owned()),
        CallState::Cancelled => Some("The call was stopped.".to_owned()),
        CallState::Interrupted => Some("The call was interrupted.".to_owned()),
        CallState::Writing | CallState::AwaitingApproval(_) | CallState::Running(_) => {
            Some("The call has not ended.".to_owned())
        }
    }
}

/// Whom a part is for: the audience that the server named, or else whoever received it.
fn audience(delivery: &DeliveryRecord) -> Audience {
    match (&delivery.source, delivery.to) {
        (Source::Output(selector), _) => selector.audience.clone(),
        (_, Consumer::Model) => Audience::Assistant,
        (_, Consumer::User) => Audience::User,
        (_, Consumer::Script) => Audience::Programmatic,
        (_, Consumer::View) => Audience::ui(),
    }
}

async fn part(host: &Host, call: &CallRecord, delivery: &DeliveryRecord, exchange: Option<&str>) -> Part {
    let verb = match delivery.to {
        Consumer::Model => "received",
        Consumer::User if audience(delivery) == Audience::User => "see",
        Consumer::User => "would receive",
        Consumer::Script => "got",
        Consumer::View => "would receive",
    };
    let mut title = format!(
        "{verb} {}, {}, {}",
        clean_line(&delivery.source.name()),
        delivery.how,
        bytes(delivery.bytes)
    );
    if let Some(verdict) = &delivery.verdict {
        let _ = write!(title, ", {}", clean_line(&verdict.line()));
    }
    let read = match (delivery.to, exchange) {
        (Consumer::Model, Some(exchange)) => read_by_model(host, call, exchange).await,
        (Consumer::Model | Consumer::User | Consumer::Script | Consumer::View, _) => None,
    };
    let lines = match read {
        Some(text) => head(&clean(&text), INNER, LINES),
        None => lines(host, call, delivery).await,
    };
    Part { audience: audience(delivery), title, door: door(&delivery.door), lines }
}

/// What let a part through that the contract did not.
fn door(door: &Door) -> Option<String> {
    match door {
        Door::Contract => None,
        Door::Policy(name) => Some(format!("(policy: {})", clean_line(name))),
        Door::UserAction(name) => Some(format!("(your action: {})", clean_line(name))),
    }
}

/// What the model was told where no output was for it.
async fn told(host: &Host, call: &CallRecord, exchange: Option<&str>) -> Option<Part> {
    let (title, text) = match &call.told {
        Told::Notice(notice) => (format!("received no output: {}", notice.line()), None),
        Told::Script { .. } => {
            let read = read_by_model(host, call, exchange?).await?;
            (format!("received what its script returned and printed, {}", size(read.len())), Some(read))
        }
        // What a View answered is a delivery of its own.
        Told::Nothing | Told::Outputs | Told::ViewAnswer { .. } => return None,
        Told::State
        | Told::BadArguments(_)
        | Told::UnreadableArguments { .. }
        | Told::UnknownTool
        | Told::ProtocolError(_)
        | Told::Malformed => ("was told how the call ended".to_owned(), None),
    };
    let lines = text.map(|it| head(&clean(&it), INNER, LINES)).unwrap_or_default();
    Some(Part { audience: Audience::Assistant, title, door: None, lines })
}

/// What of a request's body came from a call's result: the very bytes, without the escapes of JSON.
async fn read_by_model(host: &Host, call: &CallRecord, exchange: &str) -> Option<String> {
    let sent = host.exchange_body(exchange).await.ok()?;
    let mut text = String::new();
    for span in sent.spans.iter().filter(|it| it.kind == SourceKind::Results && it.item_id == call.item_id) {
        let bytes = sent.body.get(span.start..span.end)?;
        match serde_json::from_str::<String>(&format!("\"{bytes}\"")) {
            Ok(said) => text += &said,
            Err(_) => text += bytes,
        }
    }
    Some(text).filter(|it| !it.is_empty())
}

async fn lines(host: &Host, call: &CallRecord, delivery: &DeliveryRecord) -> Vec<String> {
    let shown =
        call.shown.iter().find(|it| handle(it) == delivery.handle).filter(|_| delivery.to == Consumer::User);
    if let Some(Shown::Table { columns, handle, rows, .. }) = shown {
        let Ok(window) = host.table_window(handle, None, String::new(), 0, ROWS).await else {
            return vec!["(the table cannot be read)".to_owned()];
        };
        let heads: Vec<(String, bool)> =
            columns.iter().map(|it| (clean_line(&it.title), it.numeric)).collect();
        let cells: Vec<Vec<String>> = window.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
        let mut lines = terminal::table(&heads, &cells, INNER);
        if *rows > cells.len() as u64 {
            lines.push(format!("… and {} more rows", rows - cells.len() as u64));
        }
        return lines;
    }
    let is_content = match &delivery.source {
        Source::Output(selector) => selector.format == Format::Content,
        Source::LegacyContent => true,
        Source::LegacyStructured | Source::LegacyResult | Source::ExtensionMeta(_) | Source::ViewAnswer => {
            false
        }
    };
    if is_content {
        return match host.blocks(&delivery.handle).await {
            Ok(blocks) => block_lines(host, &delivery.handle, &blocks).await,
            Err(_) => vec!["(the blocks cannot be read)".to_owned()],
        };
    }
    match host.payload(&delivery.handle).await {
        Ok(json) => json_lines(&json),
        Err(_) => vec!["(the value cannot be read)".to_owned()],
    }
}

fn handle(shown: &Shown) -> &str {
    match shown {
        Shown::Blocks { handle }
        | Shown::Table { handle, .. }
        | Shown::Properties { handle, .. }
        | Shown::Json { handle, .. } => handle,
    }
}

fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Absent => String::new(),
        Cell::Null => "null".to_owned(),
        Cell::Text(text) | Cell::Number(text) | Cell::Nested { text, .. } => clean_line(text),
        Cell::Bool(value) => value.to_string(),
    }
}

/// JSON as it came, in its own digits and order: an object a line for each member, anything else from its start.
pub(super) fn json_lines(json: &RawJson) -> Vec<String> {
    let (within, opened) = only_member(json);
    let members = opened.to::<std::collections::BTreeMap<String, RawJson>>().ok();
    let order: Vec<String> = match opened.to_value() {
        Value::Object(map) => map.keys().cloned().collect(),
        _ => Vec::new(),
    };
    let Some(members) = members.filter(|it| it.len() > 1) else {
        return head(&clean_line(json.get()), INNER, LINES);
    };
    let line = |key: &String| {
        let value = members.get(key).map(RawJson::get).unwrap_or_default();
        let start = &value[..value.floor_char_boundary(4 * INNER)];
        clip(&clean_line(&format!("{within}{key}: {start}")), INNER)
    };
    let mut lines: Vec<String> = order.iter().take(LINES + 1).map(line).collect();
    if order.len() > LINES + 1 {
        let more = order.len() - LINES - 1;
        lines.push(format!("… and {more} more {}", if more == 1 { "member" } else { "members" }));
    }
    lines
}

/// An object whose only member is an object is read as that one, with its name before the names inside.
fn only_member(json: &RawJson) -> (String, RawJson) {
    let members = json.to::<std::collections::BTreeMap<String, RawJson>>().unwrap_or_default();
    match members.into_iter().next().filter(|it| it.1.is_object()) {
        Some((name, value)) if json.to_value().as_object().is_some_and(|it| it.len() == 1) => {
            (format!("{name}."), value)
        }
        _ => (String::new(), json.clone()),
    }
}

async fn block_lines(host: &Host, at: &str, blocks: &[ContentBlock]) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        match &block.kind {
            BlockKind::Text(text) => lines.extend(head(&clean(text), INNER, LINES)),
            BlockKind::Link(it) => {
                lines
                    .push(clip(&format!("link     {} {}", clean_line(&it.name), clean_line(&it.uri)), INNER));
            }
            BlockKind::Embedded(it) if matches!(it.body, ResourceBody::Text(_)) => {
                let length = if let ResourceBody::Text(text) = &it.body { text.len() } else { 0 };
                lines.push(clip(&format!("text     {}, {}", clean_line(&it.uri), size(length)), INNER));
            }
            BlockKind::Image(_) | BlockKind::Audio(_) | BlockKind::Embedded(_) => {
                let word = match &block.kind {
                    BlockKind::Image(_) => "picture",
                    BlockKind::Audio(_) => "sound",
                    _ => "file",
                };
                lines.push(match host.media(at, index).await {
                    Ok((media, bytes, _)) => {
                        format!("{word:<8} {}, {}", clean_line(&media.mime), size(bytes.len()))
                    }
                    Err(error) => clip(&format!("{word:<8} {}", clean_line(&error.what)), INNER),
                });
            }
            BlockKind::Unknown(raw) => lines.push(clip(&clean_line(raw.get()), INNER)),
        }
    }
    lines
}

/// A block by what it says itself; of a picture, a sound or a file that is its type.
fn declared_lines(block: &ContentBlock) -> Vec<String> {
    let line = |word: &str, what: &str| vec![clip(&format!("{word:<8} {}", clean_line(what)), INNER)];
    match &block.kind {
        BlockKind::Text(text) => head(&clean(text), INNER, LINES),
        BlockKind::Link(it) => line("link", &format!("{} {}", it.name, it.uri)),
        BlockKind::Embedded(it) => {
            line(if matches!(it.body, ResourceBody::Text(_)) { "text" } else { "file" }, &it.uri)
        }
        BlockKind::Image(it) => line("picture", &it.mime),
        BlockKind::Audio(it) => line("sound", &it.mime),
        BlockKind::Unknown(raw) => vec![clip(&clean_line(raw.get()), INNER)],
    }
}

pub(super) fn bytes(count: u64) -> String {
    usher_engine::ledger::size(count)
}
