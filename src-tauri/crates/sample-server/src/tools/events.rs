//! `list_events`: the big one, about nine megabytes for each structured output.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use usher_protocol::{RawJson, common::ContentBlock, model::Selector};
use usher_server::{AnyTool, Call, DeclarationError, Failure, ToolBuilder};

use super::{note, reads};

const KINDS: [&str; 6] = ["login", "export", "invoice", "upgrade", "api_call", "alert"];
const MOST: u32 = 1_000_000;

#[derive(Debug, Deserialize)]
#[serde(default)]
struct Arguments {
    rows: u32,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { rows: 100_000 }
    }
}

/// The event of a row. Everything follows from the row's number.
struct Event {
    row: u32,
    mixed: u64,
}

impl Event {
    fn new(row: u32) -> Self {
        // The finaliser of splitmix64: neighbours come out unlike each other.
        let mut mixed = (u64::from(row) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        Self { row, mixed: mixed ^ (mixed >> 27) }
    }

    fn kind(&self) -> &'static str {
        let at = usize::try_from(self.mixed % 6).unwrap_or(0);
        KINDS.get(at).copied().unwrap_or("login")
    }

    /// One event every 25 seconds or so, through a month.
    fn time(&self) -> String {
        let seconds = u64::from(self.row) * 25 % (30 * 86_400);
        let (day, rest) = (1 + seconds / 86_400, seconds % 86_400);
        format!("2026-11-{day:02}T{:02}:{:02}:{:02}Z", rest / 3_600, rest / 60 % 60, rest % 60)
    }

    fn customer(&self) -> u64 {
        1_042 + 7 * (self.mixed / 6 % 400)
    }

    fn milliseconds(&self) -> u64 {
        3 + self.mixed / 2_400 % 1_800
    }

    fn id(&self) -> u64 {
        9_007_199_254_740_993 + 2 * u64::from(self.row)
    }
}

pub(super) fn list_events() -> Result<Box<dyn AnyTool>, DeclarationError> {
    ToolBuilder::new(
        "list_events",
        "Lists the events of the month, a hundred thousand of them unless asked for fewer.",
    )
    .title("List events")
    .input(json!({
        "type": "object",
        "properties": {"rows": {"type": "integer", "minimum": 0, "maximum": MOST, "default": 100_000}}
    }))
    .annotations(reads())
    .content(Selector::ASSISTANT_CONTENT, |it: &Arguments| vec![ContentBlock::text(summary(it.rows))])
    .structured(Selector::USER_STRUCTURED, table_schema(), |it| table(it.rows))
    .structured(Selector::PROGRAMMATIC, log_schema(), |it| log(it.rows))
    .handler(|call: Call| async move {
        let arguments = call.arguments::<Arguments>()?;
        if arguments.rows > MOST {
            return Err(Failure::of(format!("rows is {}; at most {MOST} can be listed.", arguments.rows)));
        }
        Ok(arguments)
    })
}

fn summary(rows: u32) -> String {
    let mut counts = [0_u32; KINDS.len()];
    let mut slowest = 0;
    for event in (0..rows).map(Event::new) {
        if let Some(count) = KINDS.iter().position(|it| *it == event.kind()).and_then(|at| counts.get_mut(at))
        {
            *count += 1;
        }
        slowest = slowest.max(event.milliseconds());
    }
    let kinds: Vec<String> =
        KINDS.iter().zip(counts).map(|(kind, count)| format!("{count} {kind}")).collect();
    format!("There were {rows} events this month: {}. The slowest took {slowest} ms.", kinds.join(", "))
}

fn table(rows: u32) -> Result<RawJson, serde_json::Error> {
    #[derive(Serialize)]
    struct Row {
        id: u64,
        time: String,
        kind: &'static str,
        customer: String,
        ms: u64,
    }
    let row = |it: Event| Row {
        id: it.id(),
        time: it.time(),
        kind: it.kind(),
        customer: format!("cust_{}", it.customer()),
        ms: it.milliseconds(),
    };
    RawJson::of(&(0..rows).map(Event::new).map(row).collect::<Vec<_>>())
}

fn table_schema() -> Value {
    json!({
        "type": "array",
        "title": "Events",
        "description": "A table of events for people.",
        "items": {
            "type": "object",
            "properties": {
                "id": {"type": "integer", "title": "Id"},
                "time": {"type": "string", "format": "date-time", "title": "Time"},
                "kind": {"enum": KINDS, "title": "Kind"},
                "customer": {"type": "string", "title": "Customer"},
                "ms": {"type": "integer", "title": "Took (ms)"},
                "note": note()
            },
            "required": ["id", "time", "kind"]
        }
    })
}

fn log(rows: u32) -> Result<RawJson, serde_json::Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Entry {
        event_id: u64,
        at: String,
        kind: &'static str,
        customer_id: String,
        ms: u64,
    }
    #[derive(Serialize)]
    struct Log {
        events: Vec<Entry>,
        total: u32,
    }
    let entry = |it: Event| Entry {
        event_id: it.id(),
        at: it.time(),
        kind: it.kind(),
        customer_id: format!("cust_{}", it.customer()),
        ms: it.milliseconds(),
    };
    RawJson::of(&Log { events: (0..rows).map(Event::new).map(entry).collect(), total: rows })
}

fn log_schema() -> Value {
    json!({
        "type": "object",
        "description": "The events of the month for programs.",
        "properties": {
            "events": {"type": "array", "items": {
                "type": "object",
                "properties": {
                    "eventId": {"type": "integer"},
                    "at": {"type": "string"},
                    "kind": {"enum": KINDS},
                    "customerId": {"type": "string"},
                    "ms": {"type": "integer"}
                },
                "required": ["eventId", "at", "kind", "customerId"]
            }},
            "total": {"type": "integer"},
            "note": note()
        },
        "required": ["events", "total"]
    })
}
