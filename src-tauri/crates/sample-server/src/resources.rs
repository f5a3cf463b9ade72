//! The resources: the View, the picture that a link leads to, and a table of regions.

use serde::Deserialize;
use serde_json::{Value, json};
use usher_protocol::{RawJson, Revision, UI_MIME, jsonrpc::ErrorObject};

use crate::{data, negotiation};

/// The address of the View.
pub(crate) const VIEW_URI: &str = "ui://sample/customers.html";
/// The address that `make_images` links to.
pub(crate) const PICTURE_URI: &str = "sample://art/sunrise.png";
const REGIONS_URI: &str = "sample://reports/regions.csv";

/// The result of `resources/list`.
pub(crate) fn list() -> Value {
    json!({"resources": [
        {
            "uri": VIEW_URI, "name": "customers.html", "title": "Customers", "mimeType": UI_MIME,
            "description": "The View of search_customers and show_dashboard.",
            "_meta": view_meta(),
        },
        {
            "uri": PICTURE_URI, "name": "sunrise.png", "title": "Sunrise", "mimeType": "image/png",
            "size": data::SUNRISE.len(),
        },
        {"uri": REGIONS_URI, "name": "regions.csv", "title": "Customers by region", "mimeType": "text/csv"},
    ]})
}

/// The View needs nothing from the network (MCP Apps 2026-01-26, `UIResourceMeta`).
fn view_meta() -> Value {
    json!({"ui": {"csp": {"connectDomains": [], "resourceDomains": []}, "prefersBorder": true}})
}

/// The result of `resources/read`.
///
/// # Errors
/// There is no such resource.
pub(crate) fn read(revision: Revision, params: &RawJson) -> Result<Value, ErrorObject> {
    #[derive(Deserialize)]
    struct Params {
        uri: String,
    }
    let Params { uri } = params.to().map_err(|error| {
        ErrorObject::new(ErrorObject::INVALID_PARAMS, format!("no uri can be read: {error}"))
    })?;
    let content = match uri.as_str() {
        VIEW_URI => json!({"uri": uri, "mimeType": UI_MIME, "text": data::VIEW, "_meta": view_meta()}),
        PICTURE_URI => json!({"uri": uri, "mimeType": "image/png", "blob": data::sunrise_base64()}),
        REGIONS_URI => json!({"uri": uri, "mimeType": "text/csv", "text": regions_csv()}),
        _ => return Err(negotiation::no_such_resource(revision, &uri)),
    };
    Ok(json!({"contents": [content]}))
}

fn regions_csv() -> String {
    let rows = data::REGIONS.iter().map(|region| {
        let there: Vec<_> = data::CUSTOMERS.iter().filter(|it| it.region == *region).collect();
        let revenue = data::units(there.iter().map(|it| it.cents()).sum());
        format!("{region},{},{revenue}\n", there.len())
    });
    std::iter::once("region,customers,annual_revenue\n".to_owned()).chain(rows).collect()
}
