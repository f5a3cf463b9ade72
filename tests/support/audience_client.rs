//! The product's host as the client under test of the scenarios of `usher conformance`: a real conversation with a scripted model, and
//! what each consumer received, read where that consumer reads it.
//!
//! Deliberately absent: knowledge of what is expected. It does what the context says, with the host's own modes and doors.

use std::io::Write as _;

use serde::Deserialize;
use serde_json::{Value, json};
use usher_engine::{Consumer, Mode, validation::Verdict};
use usher_host::conversation::{CustomChoice, Opened, Preferences, ViewReply};
use usher_protocol::model::Selector;

use crate::{
    scripted_model::{ScriptedModel, call, say},
    stage::{Cast, SERVER, Setting, Stage, bodies, request_id, within},
};

/// What `MCP_CONFORMANCE_CONTEXT` holds.
#[derive(Debug, Deserialize)]
struct Context {
    calls: Vec<Planned>,
}

/// A call that is to be made.
#[derive(Debug, Deserialize)]
struct Planned {
    tool: String,
    arguments: Value,
    caller: String,
    outputs: Option<Vec<String>>,
}

impl Planned {
    fn selectors(&self) -> Vec<Selector> {
        self.outputs.iter().flatten().map(|it| it.parse().unwrap()).collect()
    }
}

/// Does what the environment says.
///
/// # Panics
/// If it cannot; the scenario sees that the client did not end well.
pub async fn run() {
    let context: Context = serde_json::from_str(&std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap()).unwrap();
    let stage = Stage::open(&Setting::with(vec![cast()])).await;
    stage.ready(SERVER).await;
    let mut opened_view = None;
    for planned in &context.calls {
        match planned.caller.as_str() {
            "model" => opened_view = by_model(&stage, planned).await.or(opened_view),
            "program" => by_script(&stage, planned).await,
            "view" => by_view(&stage, planned, opened_view.as_deref().unwrap()).await,
            "host" => by_hand(&stage, planned).await,
            other => panic!("who is {other}?"),
        }
    }
    within(stage.host.shut_down()).await;
}

/// The server that the environment names.
fn cast() -> Cast {
    let command = std::env::var("MCP_CONFORMANCE_SERVER_COMMAND").unwrap();
    let command: Vec<String> = serde_json::from_str(&command).unwrap();
    let (command, args) = command.split_first().unwrap();
    Cast { id: SERVER.to_owned(), command: command.clone(), args: args.to_vec() }
}

/// The model calls; answers the call whose View is open.
async fn by_model(stage: &Stage, planned: &Planned) -> Option<String> {
    let answers =
        [call([(planned.tool.as_str(), planned.arguments.clone())]), say(["Done."]), say(["Done."])];
    let model = ScriptedModel::start(answers).await;
    let conversation = stage.conversation(Mode::Custom, &model).await;
    let choice = CustomChoice {
        server_id: SERVER.to_owned(),
        tool: planned.tool.clone(),
        selectors: planned.selectors(),
    };
    stage.host.configure_conversation(&conversation, None, None, None, Some(vec![choice])).await.unwrap();
    let opened = stage.turn(&conversation, "Please.").await;
    tell(stage, &conversation, &opened).await;
    report("assistant", &bodies(&model));
    opened.calls.values().find(|it| it.view.is_some()).map(|it| it.id.clone())
}

async fn by_script(stage: &Stage, planned: &Planned) {
    let model = ScriptedModel::start([]).await;
    let conversation = stage.conversation(Mode::Code, &model).await;
    let code = format!("return await tools.{SERVER}.{}({})", planned.tool, planned.arguments);
    let (returned, _) = stage.script(&conversation, &code).await;
    report("programmatic", returned.unwrap_or_default().as_bytes());
    let opened = stage.opened(&conversation).await;
    tell(stage, &conversation, &opened).await;
    report("assistant", &bodies(&model));
}

async fn by_view(stage: &Stage, planned: &Planned, call_id: &str) {
    let launch = stage.host.open_view(call_id).await.unwrap();
    let params = json!({"name": planned.tool, "arguments": planned.arguments}).to_string();
    match within(stage.host.view_request(&launch.view_id, request_id(), "tools/call", &params)).await.unwrap()
    {
        ViewReply::Result(result) => report("view", result.get().as_bytes()),
        other => panic!("{other:?}"),
    }
}

/// The user calls by hand, and wants no more than what every tool gives.
async fn by_hand(stage: &Stage, planned: &Planned) {
    let preferences = Preferences { omit_fallback_selection: true, ..stage.host.preferences() };
    stage.host.save_preferences(preferences).await.unwrap();
    let model = ScriptedModel::start([]).await;
    let conversation = stage.conversation(Mode::Custom, &model).await;
    let choice = CustomChoice {
        server_id: SERVER.to_owned(),
        tool: planned.tool.clone(),
        selectors: vec![Selector::ASSISTANT_CONTENT],
    };
    stage.host.configure_conversation(&conversation, None, None, None, Some(vec![choice])).await.unwrap();
    let arguments = planned.arguments.to_string();
    within(stage.host.call_tool(&conversation, SERVER, &planned.tool, &arguments)).await.unwrap();
    let opened = stage.opened(&conversation).await;
    tell(stage, &conversation, &opened).await;
}

/// What the user and the Views of a conversation received, and what the record says of each delivery.
async fn tell(stage: &Stage, conversation: &str, opened: &Opened) {
    report("user", &stage.user_sees(conversation).await);
    report("view", &stage.views_receive(conversation).await);
    for delivery in opened.calls.values().flat_map(|it| &it.deliveries) {
        let consumer = match delivery.to {
            Consumer::Model => "assistant",
            Consumer::User => "user",
            Consumer::Script => "programmatic",
            Consumer::View => "view",
        };
        let payload = stage.host.payload(&delivery.handle).await.unwrap();
        let valid = match &delivery.verdict {
            Some(Verdict::Fits) => Some(true),
            Some(Verdict::Violates { .. }) => Some(false),
            Some(Verdict::NotChecked(_)) | None => None,
        };
        print(&json!({"consumer": consumer, "data": payload.get(), "valid": valid}));
    }
}

fn report(consumer: &str, bytes: &[u8]) {
    if !bytes.is_empty() {
        print(&json!({"consumer": consumer, "data": String::from_utf8_lossy(bytes)}));
    }
}

fn print(line: &Value) {
    let mut out = std::io::stdout();
    writeln!(out, "{line}").unwrap();
}
