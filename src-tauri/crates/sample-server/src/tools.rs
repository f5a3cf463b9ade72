//! The tools, one file each.

mod customers;
mod dashboard;
mod events;
mod images;
mod report;
mod ticket;

use serde_json::{Map, Value, json};
use usher_protocol::{
    UI_EXTENSION,
    model::{Selector, ToolAnnotations, UiLink},
};
use usher_server::{AnyTool, DeclarationError};

use crate::resources::VIEW_URI;

/// Names the state of the data; it changes when the committed files do.
pub(crate) const DATASET_VERSION: &str = "v18";

/// The tools whose payloads carry canaries when the options ask for them.
pub(crate) const CANARIED: [&str; 4] =
    ["search_customers", "make_images", "refresh_dashboard", "show_dashboard"];

/// Every tool, in the order of `tools/list`.
///
/// # Errors
/// A declaration breaks rule S01.
pub(crate) fn all() -> Result<Vec<Box<dyn AnyTool>>, DeclarationError> {
    Ok(vec![
        customers::search_customers()?,
        dashboard::show_dashboard()?,
        dashboard::refresh_dashboard()?,
        images::make_images()?,
        events::list_events()?,
        ticket::open_ticket()?,
        report::slow_report()?,
    ])
}

fn view(visible_to_model: bool) -> UiLink {
    UiLink { resource_uri: Some(VIEW_URI.to_owned()), visible_to_model, visible_to_app: true }
}

/// Control data of the View, which the extension lets through; the data itself is in the output (rule S14).
fn dataset(selectors: &[Selector]) -> Map<String, Value> {
    let entry = selectors.contains(&Selector::ui()).then(|| json!({"datasetVersion": DATASET_VERSION}));
    entry.into_iter().map(|it| (UI_EXTENSION.to_owned(), it)).collect()
}

/// A tool that only reads this server's own data.
fn reads() -> ToolAnnotations {
    ToolAnnotations {
        title: None,
        read_only_hint: Some(true),
        destructive_hint: Some(false),
        idempotent_hint: Some(true),
        open_world_hint: Some(false),
    }
}

/// The note that every structured payload may carry.
fn note() -> Value {
    json!({"type": "string", "title": "Note"})
}
