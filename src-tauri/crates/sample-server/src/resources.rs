//! The resources: the View, the picture that a link leads to, and a table of regions.

use serde_json::{Value, json};
use usher_protocol::UI_MIME;

use crate::data;

/// The address of the View.
pub(crate) const VIEW_URI: &str = "ui://sample/customers.html";
/// The address that `make_images` links to.
pub(crate) const PICTURE_URI: &str = "sample://art/sunrise.png";
const REGIONS_URI: &str = "sample://reports/regions.csv";

/// The resources of the sales team.
pub(crate) struct Sales;

impl usher_server::Resources for Sales {
    fn list(&self) -> Vec<Value> {
        vec![
            json!({
                "uri": VIEW_URI, "name": "customers.html", "title": "Customers", "mimeType": UI_MIME,
                "description": "The View of search_customers and show_dashboard.",
                "_meta": view_meta(),
            }),
            json!({
                "uri": PICTURE_URI, "name": "sunrise.png", "title": "Sunrise", "mimeType": "image/png",
                "size": data::SUNRISE.len(),
            }),
            json!({
                "uri": REGIONS_URI, "name": "regions.csv", "title": "Customers by region",
                "mimeType": "text/csv",
            }),
        ]
    }

    fn read(&self, uri: &str) -> Option<Vec<Value>> {
        let content = match uri {
            VIEW_URI => json!({"uri": uri, "mimeType": UI_MIME, "text": data::VIEW, "_meta": view_meta()}),
            PICTURE_URI => json!({"uri": uri, "mimeType": "image/png", "blob": data::sunrise_base64()}),
            REGIONS_URI => json!({"uri": uri, "mimeType": "text/csv", "text": regions_csv()}),
            _ => return None,
        };
        Some(vec![content])
    }
}

/// The View needs nothing from the network (MCP Apps 2026-01-26, `UIResourceMeta`).
fn view_meta() -> Value {
    json!({"ui": {"csp": {"connectDomains": [], "resourceDomains": []}, "prefersBorder": true}})
}

fn regions_csv() -> String {
    let rows = data::REGIONS.iter().map(|region| {
        let there: Vec<_> = data::CUSTOMERS.iter().filter(|it| it.region == *region).collect();
        let revenue = data::units(there.iter().map(|it| it.cents()).sum());
        format!("{region},{},{revenue}\n", there.len())
    });
    std::iter::once("region,customers,annual_revenue\n".to_owned()).chain(rows).collect()
}
