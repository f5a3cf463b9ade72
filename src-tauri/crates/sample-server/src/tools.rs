//! The tools, one file each.

mod customers;
mod dashboard;
mod events;
mod images;
mod report;
mod ticket;

use serde_json::{Value, json};
use usher_protocol::model::{ToolAnnotations, UiLink};

use crate::{declaration::DeclarationError, resources::VIEW_URI, tool::AnyTool};

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
