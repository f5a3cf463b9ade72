//! The prompts: two ways to begin a conversation about the customers.

use serde_json::{Value, json};
use usher_server::{Call, Failure, Prompts, Running};

use crate::{
    data,
    resources::{REGIONS_URI, regions_csv},
};

/// The prompts of the sales team.
pub(crate) struct Openers;

impl Prompts for Openers {
    fn list(&self) -> Vec<Value> {
        vec![
            json!({
                "name": "account_review", "title": "Review an account",
                "description": "Looks at the accounts of a customer and says what stands out.",
                "arguments": [
                    {"name": "customer", "description": "A part of the customer's name.", "required": true},
                    {"name": "focus", "description": "What to look at most, such as revenue or tickets."},
                ],
            }),
            json!({
                "name": "region_report", "title": "Report on a region",
                "description": "Brings the table of regions and asks for a short report on one.",
                "arguments": [{"name": "region", "description": "NA, EMEA, APAC or LATAM.", "required": true}],
            }),
        ]
    }

    fn get(&self, name: &str, call: Call) -> Option<Running<Result<Value, Failure>>> {
        let name = name.to_owned();
        let is_known = self.list().iter().any(|it| it["name"] == name);
        is_known.then(|| Box::pin(async move { messages(&name, &call) }) as Running<_>)
    }

    fn complete(&self, _prompt: &str, argument: &str, typed: &str) -> Vec<String> {
        let typed = typed.to_lowercase();
        let known: Vec<String> = match argument {
            "customer" => {
                let mut names: Vec<String> = data::CUSTOMERS
                    .iter()
                    .filter_map(|it| it.name.split_whitespace().next().map(str::to_owned))
                    .collect();
                names.sort();
                names.dedup();
                names
            }
            "region" => data::REGIONS.map(str::to_owned).to_vec(),
            "focus" => ["revenue", "tickets", "activity"].map(str::to_owned).to_vec(),
            _ => Vec::new(),
        };
        known.into_iter().filter(|it| it.to_lowercase().starts_with(&typed)).collect()
    }
}

fn messages(name: &str, call: &Call) -> Result<Value, Failure> {
    let arguments: Value = call.arguments()?;
    let given = |name: &str| {
        arguments[name].as_str().ok_or_else(|| Failure::of(format!("the argument {name} is missing")))
    };
    let user = |content: Value| json!({"role": "user", "content": content});
    let text = |text: String| user(json!({"type": "text", "text": text}));
    let messages = if name == "region_report" {
        let table = json!({"uri": REGIONS_URI, "mimeType": "text/csv", "text": regions_csv()});
        vec![
            user(json!({"type": "resource", "resource": table})),
            text(format!("Write three sentences on the region {} from this table.", given("region")?)),
        ]
    } else {
        let focus = arguments["focus"].as_str().map_or_else(String::new, |it| format!(" Look at {it} most."));
        vec![text(format!(
            "Review the accounts of {}: what stands out, and whom should we call first?{focus}",
            given("customer")?
        ))]
    };
    Ok(json!({"messages": messages}))
}
