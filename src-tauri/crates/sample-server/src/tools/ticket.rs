//! `open_ticket`: the tool that fails usefully when something is missing.

use serde::Deserialize;
use serde_json::{Value, json};
use usher_protocol::{
    common::ContentBlock,
    model::{Selector, ToolAnnotations},
};
use usher_server::{AnyTool, Call, DeclarationError, Failure, ToolBuilder};

use super::note;

const PRIORITIES: [&str; 4] = ["low", "normal", "high", "urgent"];

#[derive(Debug, Deserialize)]
struct Arguments {
    subject: String,
    #[serde(default)]
    priority: Option<String>,
}

struct Ticket {
    number: u32,
    subject: String,
    priority: String,
}

pub(super) fn open_ticket() -> Result<Box<dyn AnyTool>, DeclarationError> {
    ToolBuilder::new(
        "open_ticket",
        "Opens a support ticket. It needs a priority, and says which ones there are when that is missing.",
    )
    .title("Open a ticket")
    .input(json!({
        "type": "object",
        "properties": {
            "subject": {"type": "string", "description": "What it is about"},
            "priority": {"type": "string", "description": "How soon somebody must look at it"}
        },
        "required": ["subject"]
    }))
    // It would write to a real ticket system; nothing is kept here.
    .annotations(ToolAnnotations {
        title: None,
        read_only_hint: Some(false),
        destructive_hint: Some(false),
        idempotent_hint: Some(false),
        open_world_hint: Some(false),
    })
    .content(Selector::ASSISTANT_CONTENT, |it: &Ticket| {
        let text = format!("Ticket {} is open with priority {}: {}", it.number, it.priority, it.subject);
        vec![ContentBlock::text(text)]
    })
    .content(Selector::USER_CONTENT, |it| {
        vec![ContentBlock::text(format!("**Ticket {}** · {} · {}", it.number, it.priority, it.subject))]
    })
    .structured(Selector::USER_STRUCTURED, schema("Ticket"), |it| {
        Ok(json!({"number": it.number, "subject": it.subject, "priority": it.priority, "note": "Open"})
            .into())
    })
    .structured(Selector::PROGRAMMATIC, schema("TicketRef"), |it| {
        Ok(json!({"number": it.number, "ref": format!("tick_{}", it.number), "priority": it.priority}).into())
    })
    .handler(|call: Call| async move { open(call.arguments()?) })
}

fn open(arguments: Arguments) -> Result<Ticket, Failure> {
    let known = arguments.priority.filter(|it| PRIORITIES.contains(&it.as_str()));
    let Some(priority) = known else {
        let choices = PRIORITIES.join(", ");
        return Err(Failure::new(
            format!(
                "No ticket was opened: priority must be one of {choices}. Call open_ticket again with one of them."
            ),
            format!("No ticket was opened, because it has no valid priority ({choices})."),
            json!({"error": {"code": "invalid_priority", "field": "priority", "allowed": PRIORITIES}}),
        ));
    };
    // A number that follows from the subject, so that a repeated run says the same.
    let number = arguments
        .subject
        .bytes()
        .fold(4_000_u32, |sum, it| sum.wrapping_mul(31).wrapping_add(it.into()) % 9_000);
    Ok(Ticket { number: 1_000 + number, subject: arguments.subject, priority })
}

fn schema(title: &str) -> Value {
    json!({
        "type": "object",
        "title": title,
        "description": "The ticket that was opened.",
        "properties": {
            "number": {"type": "integer", "title": "Number"},
            "subject": {"type": "string", "title": "Subject"},
            "ref": {"type": "string"},
            "priority": {"enum": PRIORITIES, "title": "Priority"},
            "note": note()
        },
        "required": ["number", "priority"]
    })
}
