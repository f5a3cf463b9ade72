//! `show_dashboard`, which opens the View on all customers, and `refresh_dashboard`, which only a View calls.

use serde::Deserialize;
use serde_json::json;
use usher_protocol::{common::ContentBlock, model::Selector};
use usher_server::{AnyTool, Call, DeclarationError, Failure, ToolBuilder};

use super::{
    customers::{matching, view_data, view_schema},
    dataset, reads, view,
};
use crate::data::{Customer, REGIONS, units};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Arguments {
    region: Option<String>,
}

pub(super) fn show_dashboard() -> Result<Box<dyn AnyTool>, DeclarationError> {
    let about = "Opens the sales dashboard: every customer, with revenue by region.";
    build(ToolBuilder::new("show_dashboard", about).title("Show the dashboard").view(view(true)))
}

pub(super) fn refresh_dashboard() -> Result<Box<dyn AnyTool>, DeclarationError> {
    let about = "Reads the dashboard's data again. Called by the View's Refresh button.";
    build(ToolBuilder::new("refresh_dashboard", about).title("Refresh the dashboard").view(view(false)))
}

fn input() -> serde_json::Value {
    json!({
        "type": "object",
        "properties": {"region": {"type": "string", "enum": REGIONS, "description": "Only this region"}},
        "additionalProperties": false
    })
}

/// What both of them compute.
type Customers = Vec<&'static Customer>;

fn build(tool: ToolBuilder<Customers>) -> Result<Box<dyn AnyTool>, DeclarationError> {
    tool.input(input())
        .annotations(reads())
        .meta(dataset)
        .content(Selector::ASSISTANT_CONTENT, |it: &Customers| vec![ContentBlock::text(summary(it))])
        .structured(Selector::ui(), view_schema(), |it| Ok(view_data("Sales dashboard", it).into()))
        .handler(|call: Call| async move {
            let region = call.arguments::<Arguments>()?.region;
            match region.as_deref().filter(|it| !REGIONS.contains(it)) {
                Some(unknown) => Err(Failure::of(format!("There is no region {unknown:?}."))),
                None => Ok(matching("", region.as_deref())),
            }
        })
}

fn summary(records: &[&Customer]) -> String {
    let regions = REGIONS.into_iter().filter_map(|region| {
        let there: Vec<_> = records.iter().filter(|it| it.region == region).collect();
        let revenue = units(there.iter().map(|it| it.cents()).sum());
        (!there.is_empty())
            .then(|| format!("{region}: {} customers, {revenue} in revenue a year", there.len()))
    });
    let regions: Vec<String> = regions.collect();
    format!("The sales dashboard covers {} customers. {}.", records.len(), regions.join("; "))
}
