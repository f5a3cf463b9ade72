//! Calls that begin while the model writes their arguments: their Views come up and are told what is there, and nothing else happens
//! before the arguments are whole.

use serde_json::{Value, json};
use usher_engine::Mode;
use usher_host::{
    conversation::{ApprovalChoice, CallRecord, CallState, HostEvent, ViewOutcome},
    model::ToolChoice,
};
use usher_tests::{
    scripted_model::{Answer, Gate, ScriptedModel, call_in_parts, say},
    scripted_server::{LINK, Script},
    stage::{SERVER, Setting, Stage, the_call},
};

use super::CHILD;

/// How a View's tool declares that it wants a city.
const WANTS_CITY: &str = r#"{"_meta":{"ui":{"resourceUri":"ui://a/b"}},
    "inputSchema":{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}}"#;

/// A turn in which the model writes a call of the tool `show`, as far as the test lets it.
struct Scene {
    stage: Stage,
    conversation: String,
    _model: ScriptedModel,
    _folder: tempfile::TempDir,
}

impl Scene {
    async fn open(declaration: &str, allowed: bool, answer: Answer) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let script = Script::new("2025-11-25")
            .tool("show", declaration, r#"{"content":[],"structuredContent":{"n":1}}"#)
            .view("<p>hello</p>", None);
        let mut setting = Setting::with(vec![script.cast(SERVER, CHILD, folder.path())]);
        setting.allowed = allowed;
        let stage = Stage::open(&setting).await;
        stage.ready(SERVER).await;
        let model = ScriptedModel::start([answer, say(["Done."])]).await;
        let conversation = stage.conversation(Mode::App, &model).await;
        stage.host.send_message(&conversation, "Show it.", ToolChoice::Auto).await.unwrap();
        Self { stage, conversation, _model: model, _folder: folder }
    }

    /// Waits for a call in a state.
    async fn call(&self, is: impl Fn(&CallState) -> bool) -> CallRecord {
        let found = |event: &HostEvent| match event {
            HostEvent::Item { call: Some(call), .. } if is(&call.state) => Some((**call).clone()),
            _ => None,
        };
        self.stage.told(found).await
    }

    /// What a View is told, in order.
    fn told(&self, view: &str) -> Vec<(String, Value)> {
        let told = |event: HostEvent| match event {
            HostEvent::ViewMessage { view_id, method, params } if view_id == view => {
                let name = method.strip_prefix("ui/notifications/").unwrap_or(&method).to_owned();
                Some((name, serde_json::from_str(&params).unwrap()))
            }
            _ => None,
        };
        self.stage.events().into_iter().filter_map(told).collect()
    }

    async fn hears(&self, view: &str, method: &str) -> String {
        let found = |event: &HostEvent| match event {
            HostEvent::ViewMessage { view_id, method: it, params }
                if view_id == view && it.ends_with(method) =>
            {
                Some(params.clone())
            }
            _ => None,
        };
        self.stage.told(found).await
    }
}

#[tokio::test]
async fn a_view_is_told_what_is_there_while_the_model_writes_and_then_the_whole() {
    let [first, second] = [Gate::default(), Gate::default()];
    let parts = [("{", &first), (r#""city":"Ba"#, &second)];
    let answer = call_in_parts("show", parts, r#"sel","days":12}"#);
    let scene = Scene::open(WANTS_CITY, true, answer).await;
    first.reached().await;
    let call = scene.call(|it| *it == CallState::Writing).await;
    let launch = scene.stage.host.open_view(&call.id).await.unwrap();
    assert_eq!((launch.input, launch.outcome), (None, None));
    first.open();
    second.reached().await;
    assert_eq!(scene.hears(&launch.view_id, "tool-input-partial").await, r#"{"arguments":{"city":"Ba"}}"#);
    assert_eq!(scene.stage.on_the_wire("tools/call"), 0, "nothing is called before the arguments are whole");
    second.open();
    let opened = scene.stage.ended(&scene.conversation).await;
    let call = the_call(&opened);
    assert_eq!((&call.state, call.arguments.get()), (&CallState::Done, r#"{"city":"Basel","days":12}"#));
    assert_eq!(scene.stage.on_the_wire("tools/call"), 1);
    let told = scene.told(&launch.view_id);
    let names: Vec<&str> = told.iter().map(|it| it.0.as_str()).collect();
    assert_eq!(names.first(), Some(&"tool-input-partial"));
    assert_eq!(names[names.len() - 2..], ["tool-input", "tool-result"]);
    assert_eq!(told[names.len() - 2].1, json!({"arguments": {"city": "Basel", "days": 12}}));
    assert!(names[..names.len() - 2].iter().all(|it| *it == "tool-input-partial"), "{names:?}");
}

#[tokio::test]
async fn before_a_yes_no_view_is_told_what_the_model_writes() {
    let [first, second] = [Gate::default(), Gate::default()];
    let parts = [("{", &first), (r#""city":"Ba"#, &second)];
    let answer = call_in_parts("show", parts, r#"sel"}"#);
    let scene = Scene::open(WANTS_CITY, false, answer.after(Answer::new().text(["Let me see."]))).await;
    first.reached().await;
    first.open();
    second.reached().await;
    second.open();
    let call = scene.call(|it| matches!(it, CallState::AwaitingApproval(_))).await;
    assert!(call.view.is_none(), "a View has the arguments");
    assert!(scene.stage.host.open_view(&call.id).await.is_err());
    let was_written = |event: &HostEvent| match event {
        HostEvent::Item { call: Some(call), .. } => call.state == CallState::Writing,
        HostEvent::ViewMessage { .. } => true,
        _ => false,
    };
    assert!(!scene.stage.events().iter().any(was_written));
    scene.stage.host.answer_approval(&call.id, ApprovalChoice::Once).unwrap();
    let opened = scene.stage.ended(&scene.conversation).await;
    assert!(the_call(&opened).view.is_some());
}

#[tokio::test]
async fn a_call_that_is_cut_off_ends_for_its_view_and_is_not_made() {
    for reason in ["length", "tool_calls"] {
        let [first, second] = [Gate::default(), Gate::default()];
        let parts = [("{", &first), (r#""city":"Ba"#, &second)];
        let answer = call_in_parts("show", parts, r#"sel","#).ending(reason);
        let scene = Scene::open(LINK, true, answer).await;
        first.reached().await;
        let call = scene.call(|it| *it == CallState::Writing).await;
        let view = scene.stage.host.open_view(&call.id).await.unwrap().view_id;
        first.open();
        second.open();
        scene.hears(&view, "tool-cancelled").await;
        let opened = scene.stage.ended(&scene.conversation).await;
        assert!(matches!(the_call(&opened).state, CallState::Failed { .. }), "{reason}");
        assert_eq!(scene.stage.on_the_wire("tools/call"), 0, "{reason}");
        assert!(scene.told(&view).iter().all(|it| it.0 != "tool-input"), "{reason}");
        // Nor has a View that is opened later.
        let again = scene.stage.host.open_view(&call.id).await.unwrap();
        assert_eq!(again.input, None, "{reason}");
        assert!(matches!(again.outcome, Some(ViewOutcome::Cancelled(_))), "{reason}");
    }
}

#[tokio::test]
async fn what_is_not_allowed_any_more_is_told_no_further() {
    let [first, second, third] = [(); 3].map(|()| Gate::default());
    let parts = [("{", &first), (r#""city":"Ba"#, &second), ("sel", &third)];
    let scene = Scene::open(WANTS_CITY, true, call_in_parts("show", parts, r#"","days":12}"#)).await;
    first.reached().await;
    let call = scene.call(|it| *it == CallState::Writing).await;
    let view = scene.stage.host.open_view(&call.id).await.unwrap().view_id;
    first.open();
    second.reached().await;
    scene.hears(&view, "tool-input-partial").await;
    scene.stage.host.revoke_approval(SERVER, None).await.unwrap();
    second.open();
    third.reached().await;
    third.open();
    let asking = scene.call(|it| matches!(it, CallState::AwaitingApproval(_))).await;
    assert_eq!(asking.id, call.id);
    assert_eq!(scene.told(&view).len(), 1, "before the yes it hears no more");
    // One that is opened meanwhile is not told either.
    assert_eq!(scene.stage.host.open_view(&call.id).await.unwrap().input, None);
    scene.stage.host.answer_approval(&call.id, ApprovalChoice::Refuse).unwrap();
    scene.stage.ended(&scene.conversation).await;
    let told = scene.told(&view);
    assert_eq!(
        told.iter().map(|it| it.0.as_str()).collect::<Vec<_>>(),
        ["tool-input-partial", "tool-cancelled"]
    );
    assert_eq!(scene.stage.host.open_view(&call.id).await.unwrap().input, None);
}

#[tokio::test]
async fn arguments_that_the_tool_does_not_take_end_for_its_view_too() {
    let gate = Gate::default();
    let scene = Scene::open(WANTS_CITY, true, call_in_parts("show", [("{", &gate)], r#""days":1}"#)).await;
    gate.reached().await;
    let call = scene.call(|it| *it == CallState::Writing).await;
    let view = scene.stage.host.open_view(&call.id).await.unwrap().view_id;
    gate.open();
    let opened = scene.stage.ended(&scene.conversation).await;
    assert!(matches!(the_call(&opened).state, CallState::Failed { .. }));
    let told = scene.told(&view);
    assert_eq!(told.last().map(|it| it.0.as_str()), Some("tool-cancelled"));
    assert!(told.iter().all(|it| it.0 != "tool-input"), "{told:?}");
    assert_eq!(scene.stage.on_the_wire("tools/call"), 0);
}

#[tokio::test]
async fn what_the_user_stops_while_it_is_written_is_not_made() {
    let [first, second] = [Gate::default(), Gate::default()];
    let parts = [("{", &first), (r#""city":"Ba"#, &second)];
    let answer = call_in_parts("show", parts, r#"sel"}"#);
    let scene = Scene::open(WANTS_CITY, true, answer).await;
    first.open();
    second.reached().await;
    let call = scene.call(|it| *it == CallState::Writing).await;
    scene.stage.host.stop_turn(&scene.conversation).await;
    let opened = scene.stage.ended(&scene.conversation).await;
    assert_eq!(the_call(&opened).id, call.id);
    assert!(!the_call(&opened).state.is_open());
    assert_eq!(scene.stage.on_the_wire("tools/call"), 0);
}
