//! `search_customers`: one search, five outputs, each made for its audience and unlike the others.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use usher_protocol::{RawJson, common::ContentBlock, model::Selector};
use usher_server::{AnyTool, Call, DeclarationError, Failure, ToolBuilder};

use super::{DATASET_VERSION, dataset, note, reads, view};
use crate::data::{CUSTOMERS, Customer, REGIONS, units};

/// How many records a page for programs holds.
const PAGE: usize = 25;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: String,
    #[serde(default)]
    region: Option<String>,
    #[serde(default)]
    cursor: Option<String>,
}

/// The records that match, most recently active first.
pub(super) struct Found {
    query: String,
    region: Option<String>,
    offset: usize,
    pub(super) records: Vec<&'static Customer>,
}

pub(super) fn search_customers() -> Result<Box<dyn AnyTool>, DeclarationError> {
    ToolBuilder::new("search_customers", "Finds customers by a part of their name, optionally in one region, and tells who was active last.")
            .title("Search customers")
            .input(json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "A part of the customer's name; empty for all of them"},
                "region": {"type": "string", "enum": REGIONS, "description": "Only customers of this region"},
                "cursor": {"type": "string", "description": "nextCursor of the page before"}
            },
            "required": ["query"],
            "additionalProperties": false
        }))
            .annotations(reads())
            .view(view(true))
            .meta(dataset)
        .content(Selector::ASSISTANT_CONTENT, |it: &Found| vec![ContentBlock::text(summary(it))])
        .structured(Selector::ASSISTANT_STRUCTURED, compact_schema(), compact)
        .structured(Selector::USER_STRUCTURED, records_schema(), records)
        .structured(Selector::PROGRAMMATIC, page_schema(), page)
        .structured(Selector::ui(), view_schema(), |it| Ok(view_data(&it.query, &it.records).into()))
        .handler(|call: Call| async move { search(&call.arguments::<Arguments>()?) })
}

fn search(arguments: &Arguments) -> Result<Found, Failure> {
    if let Some(region) = arguments.region.as_deref().filter(|it| !REGIONS.contains(it)) {
        return Err(Failure::of(format!(
            "There is no region {region:?}. The regions are {}.",
            REGIONS.join(", ")
        )));
    }
    let offset = match &arguments.cursor {
        None => 0,
        Some(cursor) => cursor
            .strip_prefix("offset:")
            .and_then(|it| it.parse().ok())
            .ok_or_else(|| Failure::of(format!("{cursor:?} is not a cursor of this tool.")))?,
    };
    let query = arguments.query.trim().to_lowercase();
    let records = matching(&query, arguments.region.as_deref());
    Ok(Found { query: arguments.query.trim().to_owned(), region: arguments.region.clone(), offset, records })
}

/// The customers whose name holds the query, most recently active first.
pub(super) fn matching(query: &str, region: Option<&str>) -> Vec<&'static Customer> {
    let is_match =
        |it: &&Customer| it.name.to_lowercase().contains(query) && region.is_none_or(|r| it.region == r);
    let mut records: Vec<_> = CUSTOMERS.iter().filter(is_match).collect();
    records.sort_by(|a, b| b.last_activity.cmp(&a.last_activity).then(a.id.cmp(&b.id)));
    records
}

fn summary(found: &Found) -> String {
    let place = found.region.as_ref().map(|it| format!(" in {it}")).unwrap_or_default();
    let what = if found.query.is_empty() { String::new() } else { format!("{} ", found.query) };
    let names: Vec<&str> = found.records.iter().take(3).map(|it| it.name.as_str()).collect();
    let active = match names.as_slice() {
        [] => return format!("I found no {what}customer records{place}."),
        [one] => format!("It is {one}."),
        [first, second] => format!("They are {first} and {second}."),
        [first, second, third, ..] => {
            format!("The three most recently active accounts are {first}, {second}, and {third}.")
        }
    };
    let revenue = units(found.records.iter().map(|it| it.cents()).sum());
    let tickets: u32 = found.records.iter().map(|it| it.open_tickets).sum();
    let count = found.records.len();
    let (noun, they) = if count == 1 { ("record", "It brings") } else { ("records", "Together they bring") };
    format!(
        "I found {count} {what}customer {noun}{place}. {active} {they} {revenue} in revenue a year; open tickets: {tickets}."
    )
}

fn by_region(records: &[&Customer]) -> BTreeMap<&'static str, (usize, u64)> {
    let count = |region: &'static str| {
        let there = records.iter().filter(|it| it.region == region);
        (region, there.fold((0, 0), |(count, cents), it| (count + 1, cents + it.cents())))
    };
    REGIONS.into_iter().map(count).collect()
}

fn compact(found: &Found) -> Result<RawJson, serde_json::Error> {
    let regions: BTreeMap<_, _> =
        by_region(&found.records).into_iter().map(|(region, it)| (region, it.0)).collect();
    let top: Vec<Value> = found
        .records
        .iter()
        .take(5)
        .map(|it| json!({"name": it.name, "region": it.region, "lastActivity": it.last_activity}))
        .collect();
    let cents = found.records.iter().map(|it| it.cents()).sum();
    RawJson::of(&json!({
        "matches": found.records.len(),
        "byRegion": regions,
        "annualRevenue": units(cents),
        "mostRecentlyActive": top,
        "note": "Names only; ask again with a region to narrow the search.",
    }))
}

fn compact_schema() -> Value {
    json!({
        "type": "object",
        "description": "How many customers match, and who was active last.",
        "properties": {
            "matches": {"type": "integer", "minimum": 0},
            "byRegion": {"type": "object", "additionalProperties": {"type": "integer"}},
            "annualRevenue": {"type": "integer"},
            "mostRecentlyActive": {"type": "array", "maxItems": 5, "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"}, "region": {"enum": REGIONS}, "lastActivity": {"type": "string"}
                },
                "required": ["name", "region", "lastActivity"]
            }},
            "note": note()
        },
        "required": ["matches", "byRegion", "mostRecentlyActive"]
    })
}

/// A row of the table that a person reads.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Record<'a> {
    name: &'a str,
    region: &'a str,
    city: &'a str,
    plan: &'a str,
    annual_revenue: &'a RawJson,
    last_activity: &'a str,
    open_tickets: u32,
    owner: &'a str,
    is_active: bool,
    account_number: u64,
    note: &'a str,
}

fn records(found: &Found) -> Result<RawJson, serde_json::Error> {
    let rows: Vec<Record<'_>> = found
        .records
        .iter()
        .map(|it| Record {
            name: &it.name,
            region: &it.region,
            city: &it.city,
            plan: &it.plan,
            annual_revenue: &it.annual_revenue,
            last_activity: &it.last_activity,
            open_tickets: it.open_tickets,
            owner: &it.owner,
            is_active: it.is_active,
            account_number: it.id,
            note: &it.note,
        })
        .collect();
    RawJson::of(&rows)
}

fn records_schema() -> Value {
    json!({
        "type": "array",
        "title": "Customers",
        "description": "A table of customers for people.",
        "items": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "title": "Customer"},
                "region": {"type": "string", "title": "Region", "enum": REGIONS},
                "city": {"type": "string", "title": "City"},
                "plan": {"type": "string", "title": "Plan", "enum": ["Starter", "Team", "Enterprise"]},
                "annualRevenue": {"type": "number", "title": "Revenue a year"},
                "lastActivity": {"type": "string", "format": "date-time", "title": "Last active"},
                "openTickets": {"type": "integer", "title": "Open tickets"},
                "owner": {"type": "string", "title": "Account owner"},
                "isActive": {"type": "boolean", "title": "Active"},
                "accountNumber": {"type": "integer", "title": "Account number"},
                "note": note()
            },
            "required": ["name", "region", "plan", "annualRevenue", "lastActivity", "accountNumber"]
        }
    })
}

fn page(found: &Found) -> Result<RawJson, serde_json::Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Item<'a> {
        customer_id: &'a str,
        id: u64,
        display_name: &'a str,
        region: &'a str,
        annual_revenue: &'a RawJson,
        last_activity: &'a str,
        provenance: Value,
    }
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Page<'a> {
        items: Vec<Item<'a>>,
        total: usize,
        next_cursor: Option<String>,
        note: &'a str,
    }
    let items: Vec<Item<'_>> = found
        .records
        .iter()
        .enumerate()
        .skip(found.offset)
        .take(PAGE)
        .map(|(row, it)| Item {
            customer_id: &it.customer_id,
            id: it.id,
            display_name: &it.name,
            region: &it.region,
            annual_revenue: &it.annual_revenue,
            last_activity: &it.last_activity,
            provenance: json!({"source": "crm", "dataset": DATASET_VERSION, "row": row}),
        })
        .collect();
    let end = found.offset.saturating_add(items.len());
    let next_cursor = (end < found.records.len()).then(|| format!("offset:{end}"));
    RawJson::of(&Page { items, total: found.records.len(), next_cursor, note: "Ids are stable." })
}

fn page_schema() -> Value {
    json!({
        "type": "object",
        "description": "A page of records for programs.",
        "properties": {
            "items": {"type": "array", "items": {
                "type": "object",
                "properties": {
                    "customerId": {"type": "string", "pattern": "^cust_[0-9]+$"},
                    "id": {"type": "integer"},
                    "displayName": {"type": "string"},
                    "region": {"enum": REGIONS},
                    "annualRevenue": {"type": "number"},
                    "lastActivity": {"type": "string"},
                    "provenance": {
                        "type": "object",
                        "properties": {
                            "source": {"type": "string"}, "dataset": {"type": "string"}, "row": {"type": "integer"}
                        },
                        "required": ["source", "dataset"]
                    }
                },
                "required": ["customerId", "id", "displayName", "provenance"]
            }},
            "total": {"type": "integer"},
            "nextCursor": {"type": ["string", "null"]},
            "note": note()
        },
        "required": ["items", "total", "nextCursor"]
    })
}

/// What the View draws: columns, rows, facets and a series for the chart.
pub(super) fn view_data(title: &str, records: &[&Customer]) -> Value {
    let rows: Vec<Value> = records
        .iter()
        .map(|it| {
            json!({
                "customerId": it.customer_id, "displayName": it.name, "region": it.region, "plan": it.plan,
                "annualRevenue": it.annual_revenue, "lastActivity": it.last_activity,
            })
        })
        .collect();
    let regions = by_region(records);
    let series: Vec<Value> = REGIONS
        .iter()
        .filter_map(|region| regions.get(region).map(|it| (region, it)))
        .map(|(region, (count, cents))| json!({"label": region, "count": count, "revenue": units(*cents)}))
        .collect();
    json!({
        "title": if title.is_empty() { "Customers" } else { title },
        "datasetVersion": DATASET_VERSION,
        "columns": [
            {"key": "displayName", "label": "Customer"},
            {"key": "region", "label": "Region"},
            {"key": "plan", "label": "Plan"},
            {"key": "annualRevenue", "label": "Revenue", "align": "right"},
            {"key": "lastActivity", "label": "Last active"},
        ],
        "rows": rows,
        "facets": {"region": REGIONS, "plan": ["Starter", "Team", "Enterprise"]},
        "series": series,
        "note": "Revenue by region, in whole units.",
    })
}

pub(super) fn view_schema() -> Value {
    json!({
        "type": "object",
        "description": "What the customers View draws.",
        "properties": {
            "title": {"type": "string"},
            "datasetVersion": {"type": "string"},
            "columns": {"type": "array", "items": {
                "type": "object",
                "properties": {"key": {"type": "string"}, "label": {"type": "string"}, "align": {"type": "string"}},
                "required": ["key", "label"]
            }},
            "rows": {"type": "array", "items": {"type": "object", "required": ["customerId", "displayName"]}},
            "facets": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
            "series": {"type": "array", "items": {
                "type": "object",
                "properties": {
                    "label": {"type": "string"}, "count": {"type": "integer"}, "revenue": {"type": "integer"}
                },
                "required": ["label", "count"]
            }},
            "note": note()
        },
        "required": ["datasetVersion", "columns", "rows", "series"]
    })
}
