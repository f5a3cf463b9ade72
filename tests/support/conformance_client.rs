//! The command that the official conformance suite runs: the host's own connection, in automatic negotiation, does what a scenario
//! asks for; and the whole host, for the scenarios of `usher conformance`.
//!
//! The suite gives the server's address as the last argument, and the scenario in `MCP_CONFORMANCE_SCENARIO`. Deliberately absent:
//! knowledge of the answers; whatever passes here passes in the product.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::{Context as _, bail};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use usher_host::connection::{
    Answer, Ask, Authorization, AuthorizationSettings, Browser, CallOptions, Connection, ConnectionOptions,
    CredentialKeeper, Elicited, GivenClient, HttpSpec, Offers, Question, Redirect, SecretText, Visit,
    Visited, events,
};
use usher_protocol::codec::CallRequest;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let url = std::env::args().next_back().context("the address of the server is missing")?;
    let scenario =
        std::env::var("MCP_CONFORMANCE_SCENARIO").context("MCP_CONFORMANCE_SCENARIO is not set")?;
    if scenario.starts_with("sep-3279-") {
        usher_tests::audience_client::run().await;
        return Ok(());
    }
    let context: Value = std::env::var("MCP_CONFORMANCE_CONTEXT")
        .ok()
        .and_then(|it| serde_json::from_str(&it).ok())
        .unwrap_or_default();
    let (sender, mut told) = events();
    tokio::spawn(async move {
        while let Some(event) = told.next().await {
            say(&format!("{event:?}"));
        }
    });
    let authorization = Authorization::new(
        &url,
        signing_in(&scenario, &context),
        Arc::new(Remembered::default()),
        Arc::new(Headless(reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build()?)),
    )?;
    let spec = HttpSpec { url, ..HttpSpec::default() }.into();
    let (questions, asked) = mpsc::channel(4);
    tokio::spawn(answer(asked));
    let offers = Offers { forms: true, urls: true, questions: Some(questions), ..Offers::default() };
    let authorization = Some(authorization);
    let options = ConnectionOptions { offers, authorization, ..ConnectionOptions::default() };
    let server = Connection::open(&spec, &options, sender).await?;
    act(&server, &scenario, &context).await?;
    server.close().await;
    Ok(())
}

/// The suite keeps what is written here beside its results.
fn say(line: &str) {
    drop(std::io::Write::write_all(&mut std::io::stderr(), format!("{line}\n").as_bytes()));
}

/// Who the suite takes the host for.
fn signing_in(scenario: &str, context: &Value) -> AuthorizationSettings {
    let client = context["client_id"].as_str().map(|client_id| GivenClient {
        client_id: client_id.to_owned(),
        client_secret: context["client_secret"].as_str().map(SecretText::new),
        issuer: None,
    });
    // The suite's metadata document names this address, at which nobody listens.
    let redirect = match scenario {
        "auth/basic-cimd" => Redirect::Elsewhere("http://localhost:3000/callback".to_owned()),
        _ => Redirect::AnyPort,
    };
    AuthorizationSettings {
        client,
        client_metadata_url: Some("https://conformance-test.local/client-metadata.json".to_owned()),
        redirect,
        ..AuthorizationSettings::default()
    }
}

#[derive(Default)]
struct Remembered(Mutex<BTreeMap<String, String>>);

impl CredentialKeeper for Remembered {
    fn credential(&self, name: &str) -> Result<Option<String>, String> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned())
    }

    fn keep_credential(&self, name: &str, value: Option<&str>) -> Result<(), String> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match value {
            Some(value) => all.insert(name.to_owned(), value.to_owned()),
            None => all.remove(name),
        };
        Ok(())
    }
}

/// A browser in front of which somebody agrees to everything.
struct Headless(reqwest::Client);

impl Browser for Headless {
    fn may_open<'a>(&'a self, visit: &'a Visit) -> BoxFuture<'a, bool> {
        say(&format!("{visit:?}"));
        Box::pin(async { true })
    }

    fn open_browser<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Visited, String>> {
        Box::pin(async move {
            let response = self.0.get(url).send().await.map_err(|error| error.to_string())?;
            let place = response.headers().get("location").and_then(|it| it.to_str().ok());
            let place = place.ok_or_else(|| format!("no redirect, but {}", response.status()))?.to_owned();
            if !place.starts_with("http://127.0.0.1:") {
                return Ok(Visited::RedirectedTo(place));
            }
            self.0.get(&place).send().await.map_err(|error| error.to_string())?;
            Ok(Visited::Outside)
        })
    }
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
    say(&format!("{name}: {result}"));
    Ok(())
}
