//! What is recorded of a View, and what history says of one that cannot come back.

use usher_host::conversation::CallRecord;
use usher_tests::{
    scripted_server::{LINK, Script, document},
    stage::{SERVER, Setting, Stage},
};

use super::CHILD;

const NO_APP: &str = r#"{"contents":[{"uri":"ui://a/b","mimeType":"text/html","text":"<p>hello</p>"}]}"#;

/// A conversation whose calls, made by hand, each have a View that nobody opened yet.
struct Scene {
    stage: Stage,
    setting: Setting,
    conversation: String,
    folder: tempfile::TempDir,
}

impl Scene {
    async fn open(document: &str, calls: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let script = Script::new("2025-11-25")
            .tool("show", LINK, r#"{"content":[]}"#)
            .answering("resources/read ui://a/b", document);
        let setting = Setting::with(vec![script.cast(SERVER, CHILD, folder.path())]);
        let stage = Stage::open_in(&folder.path().join("data"), &setting).await;
        stage.ready(SERVER).await;
        let conversation = stage.host.create_conversation(None, None).await.unwrap().id;
        for _ in 0..calls {
            stage.host.call_tool(&conversation, SERVER, "show", "{}").await.unwrap();
        }
        Self { stage, setting, conversation, folder }
    }

    async fn calls(&self) -> Vec<CallRecord> {
        self.stage.opened(&self.conversation).await.calls.into_values().collect()
    }

    /// The same after a restart, without the server.
    async fn after_it_was_removed(self) -> Self {
        let Self { stage, setting, conversation, folder } = self;
        stage.host.remove_server(SERVER).await.unwrap();
        stage.close().await;
        let setting = Setting { servers: Vec::new(), ..setting };
        let stage = Stage::reopen(&folder.path().join("data"), &setting).await;
        Self { stage, setting, conversation, folder }
    }
}

#[tokio::test]
async fn views_of_one_conversation_share_the_record_of_the_same_page() {
    let scene = Scene::open(&document("<p>hello</p>"), 2).await;
    for call in scene.calls().await {
        scene.stage.host.open_view(&call.id).await.unwrap();
    }
    let pages: Vec<_> = scene.calls().await.into_iter().map(|it| it.view.unwrap().resource_handle).collect();
    assert!(pages[0].is_some());
    assert_eq!(pages[0], pages[1]);
    scene.stage.close().await;
}

#[tokio::test]
async fn a_view_that_was_never_opened_says_so_when_its_server_is_removed() {
    let scene = Scene::open(&document("<p>hello</p>"), 2).await;
    let seen = scene.calls().await[0].id.clone();
    scene.stage.host.open_view(&seen).await.unwrap();
    for call in scene.calls().await {
        assert_eq!(scene.stage.host.why_no_view(&call), None);
    }
    let scene = scene.after_it_was_removed().await;
    for call in scene.calls().await {
        let why = scene.stage.host.why_no_view(&call);
        assert_eq!(why.is_none(), call.id == seen, "{why:?}");
        assert_eq!(scene.stage.host.open_view(&call.id).await.is_ok(), call.id == seen);
        assert!(why.is_none_or(|it| it.contains("its server was removed")), "{why:?}");
    }
    scene.stage.close().await;
}

#[tokio::test]
async fn a_page_that_was_refused_is_not_recorded_but_why_is() {
    let scene = Scene::open(NO_APP, 1).await;
    let call = scene.calls().await.remove(0);
    let refused = scene.stage.host.open_view(&call.id).await.unwrap_err();
    let view = scene.calls().await.remove(0).view.unwrap();
    assert_eq!(view.resource_handle, None);
    let why = view.refused.unwrap();
    assert!(why.contains("text/html"), "{why}");
    assert!(refused.what.contains(&why), "{}", refused.what);
    scene.stage.close().await;
}
