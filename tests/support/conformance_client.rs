//! The command that the official conformance suite runs: the host's own connection, in automatic negotiation, does what a scenario
//! asks for.
//!
//! The suite gives the server's address as the last argument, and the scenario in `MCP_CONFORMANCE_SCENARIO`. Deliberately absent:
//! knowledge of the answers; whatever passes here passes in the product.

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use usher_host::connection::{
    Answer, Ask, CallOptions, Connection, ConnectionOptions, Elicited, HttpSpec, Offers, Question, events,
};
use usher_protocol::codec::CallRequest;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let url = std::env::args().next_back().context("the address of the server is missing")?;
    let scenario =
        std::env::var("MCP_CONFORMANCE_SCENARIO").context("MCP_CONFORMANCE_SCENARIO is not set")?;
    let context: Value = std::env::var("MCP_CONFORMANCE_CONTEXT")
        .ok()
        .and_then(|it| serde_json::from_str(&it).ok())
        .unwrap_or_default();
    let (sender, mut told) = events();
    tokio::spawn(async move {
        while let Some(event) = told.next().await {
            eprintln!("{event:?}");
        }
    });
    let spec = HttpSpec { url, ..HttpSpec::default() }.into();
    let (questions, asked) = mpsc::channel(4);
    tokio::spawn(answer(asked));
    let offers = Offers { forms: true, urls: true, questions: Some(questions), ..Offers::default() };
    let server =
        Connection::open(&spec, &ConnectionOptions { offers, ..ConnectionOptions::default() }, sender)
            .await?;
    act(&server, &scenario, &context).await?;
    server.close().await;
    Ok(())
}

/// A person who agrees to everything and changes nothing in a form.
async fn answer(mut asked: mpsc::Receiver<Question>) {
    while let Some(question) = asked.recv().await {
        let elicited = match &question.ask {
            Ask::Form { schema, .. } => Elicited::Accept { content: Some(prefilled(&schema.to_value())) },
            Ask::Url { .. } | Ask::Sample { .. } | Ask::Roots => Elicited::Decline,
        };
        question.answer(Answer::Elicited(elicited));
    }
}

/// What a form holds before anybody touches it, and where it holds nothing, the least that is valid.
fn prefilled(schema: &Value) -> Value {
    let fields = schema["properties"].as_object().into_iter().flatten();
    let filled = fields.map(|(name, field)| {
        let value = match (field.get("default"), field["type"].as_str()) {
            (Some(given), _) => given.clone(),
            (None, Some("boolean")) => json!(true),
            (None, Some("number" | "integer")) => json!(field["minimum"].as_i64().unwrap_or(1)),
            (None, Some("array")) => json!([]),
            (None, _) => field["enum"].get(0).cloned().unwrap_or_else(|| json!("text")),
        };
        (name.clone(), value)
    });
    Value::Object(filled.collect())
}

async fn act(server: &Connection, scenario: &str, context: &Value) -> anyhow::Result<()> {
    let (page, _) = server.list_tools().await?;
    let has = |name: &str| page.tools.iter().any(|it| it.name == name);
    match scenario {
        "initialize" | "request-metadata" | "json-schema-ref-no-deref" => {}
        "tools_call" => call(server, "add_numbers", json!({"a": 5, "b": 3})).await?,
        "sse-retry" => call(server, "test_reconnection", json!({})).await?,
        "http-custom-headers" => {
            for planned in context["toolCalls"].as_array().context("no toolCalls")? {
                let name = planned["name"].as_str().context("a call without a name")?;
                call(server, name, planned["arguments"].clone()).await?;
            }
        }
        "json-schema-2020-12-preservation" => {
            let tool =
                page.tools.iter().find(|it| it.name == "json_schema_2020_12_tool").context("no such tool")?;
            let arguments = usher_protocol::RawJson::parse(format!("{{\"schema\":{}}}", tool.input_schema))?;
            call(server, "json_schema_echo", arguments).await?;
        }
        _ if scenario.starts_with("http-") || scenario.starts_with("auth/") => {
            for tool in &page.tools {
                call(server, &tool.name, json!({})).await?;
            }
        }
        _ if has("test_client_elicitation_defaults") => {
            call(server, "test_client_elicitation_defaults", json!({})).await?;
        }
        "sep-2322-client-request-state" => {
            for tool in page.tools.iter().filter(|it| it.name.starts_with("test_mrtr_")) {
                call(server, &tool.name, json!({})).await?;
            }
        }
        _ => bail!("the scenario {scenario} is not known here"),
    }
    Ok(())
}

async fn call(
    server: &Connection,
    name: &str,
    arguments: impl Into<usher_protocol::RawJson>,
) -> anyhow::Result<()> {
    let request = CallRequest { name: name.to_owned(), arguments: arguments.into(), requested: None };
    let result = server.call(&request, CallOptions::default()).await?;
    eprintln!("{name}: {result}");
    Ok(())
}
