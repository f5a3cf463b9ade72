//! The resources: the View, the picture that a link leads to, a table of regions, and each customer by their id.

use serde_json::{Value, json};
use usher_protocol::UI_MIME;

use crate::data;

/// The address of the View.
pub(crate) const VIEW_URI: &str = "ui://sample/customers.html";
/// The address that `make_images` links to.
pub(crate) const PICTURE_URI: &str = "sample://art/sunrise.png";
pub(crate) const REGIONS_URI: &str = "sample://reports/regions.csv";

/// What the address of a customer begins with; the customer id follows.
const CUSTOMER: &str = "sample://customers/";

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

    fn templates(&self) -> Vec<Value> {
        vec![json!({
            "uriTemplate": format!("{CUSTOMER}{{customer_id}}"), "name": "customer", "title": "A customer",
            "description": "One record, by its customer id.", "mimeType": "application/json",
        })]
    }

    fn complete(&self, _template: &str, argument: &str, typed: &str) -> Vec<String> {
        let ids = data::CUSTOMERS.iter().map(|it| &it.customer_id).filter(|it| it.starts_with(typed));
        if argument == "customer_id" { ids.cloned().collect() } else { Vec::new() }
    }

    fn read(&self, uri: &str) -> Option<Vec<Value>> {
        let content = match uri {
            VIEW_URI => json!({"uri": uri, "mimeType": UI_MIME, "text": data::VIEW, "_meta": view_meta()}),
            PICTURE_URI => json!({"uri": uri, "mimeType": "image/png", "blob": data::sunrise_base64()}),
            REGIONS_URI => json!({"uri": uri, "mimeType": "text/csv", "text": regions_csv()}),
            _ => {
                let id = uri.strip_prefix(CUSTOMER)?;
                let customer = data::CUSTOMERS.iter().find(|it| it.customer_id == id)?;
                let text = serde_json::to_string_pretty(customer).ok()?;
                json!({"uri": uri, "mimeType": "application/json", "text": text})
            }
        };
        Some(vec![content])
    }
}

/// The View needs nothing from the network (MCP Apps 2026-01-26, `UIResourceMeta`).
fn view_meta() -> Value {
    json!({"ui": {"csp": {"connectDomains": [], "resourceDomains": []}, "prefersBorder": true}})
}

pub(crate) fn regions_csv() -> String {
    let rows = data::REGIONS.iter().map(|region| {
        let there: Vec<_> = data::CUSTOMERS.iter().filter(|it| it.region == *region).collect();
        let revenue = data::units(there.iter().map(|it| it.cents()).sum());
        format!("{region},{},{revenue}\n", there.len())
    });
    std::iter::once("region,customers,annual_revenue\n".to_owned()).chain(rows).collect()
}
