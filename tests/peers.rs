//! Tests against programs that nobody here wrote: servers from npm over stdio, and a real language model.
//!
//! They fail when the programs are not installed, and never pass by doing nothing. What they assert is structure and routing; the words
//! of a foreign program are its own.

mod llama;
mod server_budget_allocator;
mod server_everything;
mod server_filesystem;

use serde_json::Value;
use usher_engine::Mode;
use usher_host::conversation::{CallRecord, Opened};
use usher_tests::{
    peers::node_server,
    scripted_model::{ScriptedModel, call, say},
    stage::{Cast, SERVER, Setting, Stage},
};

/// A host with one server from npm.
async fn stage(package: &str, arguments: &[&str]) -> Stage {
    let (command, entry) = node_server(package);
    let args = std::iter::once(entry.as_str()).chain(arguments.iter().copied()).map(str::to_owned).collect();
    let stage = Stage::open(&Setting::with(vec![Cast { id: SERVER.to_owned(), command, args }])).await;
    let status = stage.ready(SERVER).await;
    assert_eq!(status.rejected, [], "{package}: every declaration can be used");
    stage
}

/// A turn in which the model makes all these calls at once.
struct Turn {
    stage: Stage,
    model: ScriptedModel,
    conversation: String,
    opened: Opened,
    tools: Vec<&'static str>,
}

impl Turn {
    async fn play(stage: Stage, calls: Vec<(&'static str, Value)>) -> Self {
        let tools = calls.iter().map(|it| it.0).collect();
        let model = ScriptedModel::start([call(calls), say(["Done."])]).await;
        let conversation = stage.conversation(Mode::Chat, &model).await;
        let opened = stage.turn(&conversation, "Call them.").await;
        assert_eq!(stage.failure(&conversation).await, None);
        model.assert_orderly();
        Self { stage, model, conversation, opened, tools }
    }

    /// What the model read of the call of a tool.
    fn told(&self, tool: &str) -> String {
        let slot = self.tools.iter().position(|it| *it == tool).unwrap();
        self.model.received()[1].last_results()[slot].clone()
    }

    fn call(&self, tool: &str) -> &CallRecord {
        self.opened.calls.values().find(|it| it.tool == tool).unwrap()
    }

    /// What the user is shown.
    async fn seen(&self) -> String {
        String::from_utf8_lossy(&self.stage.user_sees(&self.conversation).await).into_owned()
    }

    /// The tools whose calls did not end well, and how.
    fn not_done(&self) -> Vec<String> {
        let calls = self.opened.calls.values().filter(|it| it.state.word() != "done");
        calls.map(|it| format!("{}: {:?}", it.tool, it.state)).collect()
    }

    /// The tools whose structured data do not fit their own schema, and the defects of results.
    fn complaints(&self) -> Vec<String> {
        let rows = usher_tests::stage::ledger(&self.opened);
        rows.into_iter().filter(|it| it.contains("does not fit") || it.contains("defect")).collect()
    }
}

/// The tools that a server lists and the model is not offered, and the other way round.
fn offered(turn: &Turn) -> Vec<String> {
    let mut names: Vec<String> = turn.model.received()[0]
        .offered()
        .into_iter()
        .map(|it| it.split_once("__").map_or(it.clone(), |it| it.1.to_owned()))
        .collect();
    names.sort();
    names
}
