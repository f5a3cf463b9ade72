//! A conversation in which a model called a tool that has a View, of a server that says what a test tells it to say.

use serde_json::{Value, json};
use usher_engine::Mode;
use usher_host::conversation::ViewReply;
use usher_tests::{
    scripted_model::ScriptedModel,
    scripted_server::{LINK, Script},
    stage::{SERVER, Setting, Stage, model_that_calls, the_call},
};

use super::CHILD;

/// The stage after the model's call of the tool `show`.
pub(crate) struct Scene {
    pub(crate) stage: Stage,
    pub(crate) conversation: String,
    pub(crate) call: String,
    _model: ScriptedModel,
    _folder: tempfile::TempDir,
}

impl Scene {
    pub(crate) async fn open(script: Script) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let stage = Stage::open(&Setting::with(vec![script.cast(SERVER, CHILD, folder.path())])).await;
        stage.ready(SERVER).await;
        let model = model_that_calls("show", json!({})).await;
        let conversation = stage.conversation(Mode::App, &model).await;
        let opened = stage.turn(&conversation, "Show it.").await;
        let call = the_call(&opened).id.clone();
        Self { stage, conversation, call, _model: model, _folder: folder }
    }

    /// Opens a View of the call.
    pub(crate) async fn view(&self) -> String {
        self.stage.host.open_view(&self.call).await.unwrap().view_id
    }

    pub(crate) async fn ask(&self, view: &str, method: &str, params: &Value) -> ViewReply {
        self.stage.ask(view, method, params).await
    }

    pub(crate) fn on_the_wire(&self, title: &str) -> usize {
        self.stage.on_the_wire(title)
    }
}

/// A server of an earlier revision with the tool, and without its page.
pub(crate) fn legacy() -> Script {
    Script::new("2025-11-25").tool("show", LINK, r#"{"content":[],"structuredContent":{"n":1}}"#)
}
