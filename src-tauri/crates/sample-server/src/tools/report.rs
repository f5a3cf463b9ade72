//! `slow_report`: a call that takes its time, tells how far it is, and can be cancelled.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use usher_protocol::{common::ContentBlock, model::Selector};
use usher_server::{AnyTool, Call, DeclarationError, Failure, ToolBuilder};

use super::{note, reads};

#[derive(Debug, Deserialize)]
#[serde(default)]
struct Arguments {
    seconds: u32,
    steps: u32,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { seconds: 6, steps: 12 }
    }
}

pub(super) fn slow_report() -> Result<Box<dyn AnyTool>, DeclarationError> {
    let schema = json!({
        "type": "object",
        "properties": {"seconds": {"type": "integer"}, "steps": {"type": "integer"}, "note": note()},
        "required": ["seconds", "steps"]
    });
    ToolBuilder::new("slow_report", "Computes a report slowly, in steps, and tells how far it is.")
        .title("Slow report")
        .input(json!({
            "type": "object",
            "properties": {
                "seconds": {"type": "integer", "minimum": 0, "maximum": 3600, "default": 6},
                "steps": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 12}
            }
        }))
        .annotations(reads())
        .content(Selector::ASSISTANT_CONTENT, |it: &Arguments| {
            let text = format!(
                "The report is done, in {} steps over {} seconds: nothing unusual.",
                it.steps, it.seconds
            );
            vec![ContentBlock::text(text)]
        })
        .structured(Selector::PROGRAMMATIC, schema, |it| {
            Ok(json!({"seconds": it.seconds, "steps": it.steps}).into())
        })
        .handler(compute)
}

async fn compute(call: Call) -> Result<Arguments, Failure> {
    let arguments = call.arguments::<Arguments>()?;
    if arguments.seconds > 3_600 || !(1..=1_000).contains(&arguments.steps) {
        return Err(Failure::of("seconds can be 0 to 3600 and steps 1 to 1000.".to_owned()));
    }
    let pause = Duration::from_secs(arguments.seconds.into()) / arguments.steps;
    for step in 1..=arguments.steps {
        tokio::time::sleep(pause).await;
        call.progress(step, arguments.steps, &format!("step {step} of {}", arguments.steps)).await;
    }
    Ok(arguments)
}
