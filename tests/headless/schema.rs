//! Every line that crosses is held against the schema that the specification publishes for its revision: an oracle that nobody here wrote.
//!
//! The files of `fixtures/schema` are the specification's own (MIT). There is none for the newest revision, whose shapes are a proposal.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::{Value, json};
use usher_engine::Mode;
use usher_host::conversation::Channel;
use usher_protocol::Revision;
use usher_tests::{
    scripted_model::{ScriptedModel, call, say},
    stage::{SERVER, Setting, Stage},
};

use super::CHILD;

/// The schema of a revision, if one is published.
fn published(revision: Revision) -> Option<Value> {
    let name = format!("fixtures/schema/{revision}.schema.json");
    let text = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).ok()?;
    Some(serde_json::from_slice(&text).unwrap())
}

/// What is wrong with a value by a definition of a schema. A definition that a revision does not have says nothing.
fn problems(schema: &Value, definition: &str, value: &Value) -> Vec<String> {
    let (key, all) = ["$defs", "definitions"].iter().find_map(|it| Some((*it, schema.get(it)?))).unwrap();
    if all.get(definition).is_none() {
        return Vec::new();
    }
    let mut whole = json!({"$ref": format!("#/{key}/{definition}")});
    whole[key] = all.clone();
    if let Some(dialect) = schema.get("$schema") {
        whole["$schema"] = dialect.clone();
    }
    let validator = jsonschema::validator_for(&whole).unwrap();
    validator.iter_errors(value).map(|it| format!("{definition}{}: {it}", it.instance_path())).collect()
}

#[test]
fn the_oracle_finds_what_is_wrong() {
    for schema in Revision::ALL.into_iter().filter_map(published) {
        assert!(!problems(&schema, "CallToolResult", &json!({"content": 5})).is_empty());
        assert!(!problems(&schema, "ListToolsResult", &json!({"tools": [{"name": "t"}]})).is_empty());
    }
    assert!(Revision::ALL.into_iter().filter_map(published).count() >= 4);
}

/// The definitions of a request or notification, and of its result.
fn definitions(method: &str) -> Option<(&'static str, &'static str)> {
    Some(match method {
        "initialize" => ("InitializeRequest", "InitializeResult"),
        "notifications/initialized" => ("InitializedNotification", ""),
        "notifications/cancelled" => ("CancelledNotification", ""),
        "notifications/progress" => ("ProgressNotification", ""),
        "server/discover" => ("DiscoverRequest", "DiscoverResult"),
        "tools/list" => ("ListToolsRequest", "ListToolsResult"),
        "tools/call" => ("CallToolRequest", "CallToolResult"),
        "resources/read" => ("ReadResourceRequest", "ReadResourceResult"),
        _ => return None,
    })
}

#[tokio::test]
async fn what_crosses_conforms_to_the_published_schema_of_its_revision() {
    for revision in Revision::ALL {
        let Some(schema) = published(revision) else { continue };
        let stage = Stage::open(&Setting::sample(CHILD, &["--only", revision.as_str()])).await;
        stage.ready(SERVER).await;
        let model = ScriptedModel::start([
            call([
                ("search_customers", json!({"query": "Globex"})),
                ("make_images", json!({"prompt": "the sea", "count": 1})),
                ("open_ticket", json!({"subject": "no priority"})),
                ("slow_report", json!({"seconds": 0, "steps": 3})),
                ("list_events", json!({"rows": 10})),
                ("show_dashboard", json!({})),
            ]),
            say(["Done."]),
        ])
        .await;
        let conversation = stage.conversation(Mode::Chat, &model).await;
        let opened = stage.turn(&conversation, "Everything.").await;
        for call in opened.calls.values().filter(|it| it.view.is_some()) {
            stage.host.open_view(&call.id).await.unwrap();
        }
        check(&schema, revision, &stage);
        stage.close().await;
    }
}

fn check(schema: &Value, revision: Revision, stage: &Stage) {
    let mut asked: BTreeMap<String, String> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut checked = BTreeMap::<&str, u32>::new();
    for line in stage.host.wire_lines(Some(SERVER), 0, 10_000) {
        let is_message = matches!(line.channel, Channel::ToServer | Channel::FromServer);
        // A long line is cut for the log.
        let Some(message) = serde_json::from_str::<Value>(&line.text).ok().filter(|_| is_message) else {
            continue;
        };
        let id = message["id"].to_string();
        let (definition, value) = match message["method"].as_str() {
            Some(method) => {
                asked.insert(id, method.to_owned());
                // The probe for newer revisions is not a message of this one.
                let is_probe = method == "server/discover" && !line.text.contains(revision.as_str());
                match definitions(method).filter(|_| !is_probe) {
                    Some((request, _)) => (request, message.clone()),
                    None => continue,
                }
            }
            None if message.get("result").is_some() => match asked.get(&id).and_then(|it| definitions(it)) {
                Some((_, result)) => (result, message["result"].clone()),
                None => continue,
            },
            None => continue,
        };
        *checked.entry(definition).or_default() += 1;
        wrong.extend(problems(schema, definition, &value).into_iter().map(|it| format!("{revision} {it}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked["CallToolResult"] >= 5 && checked["ListToolsResult"] == 1, "{revision} {checked:?}");
}
