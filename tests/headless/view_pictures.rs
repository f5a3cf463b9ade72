//! Pictures that a View shows to the model: each is seen before it goes, goes once and where its words stand, and only to a model that takes
//! pictures (X5).

use serde_json::{Value, json};
use tempfile::TempDir;
use usher_engine::Mode;
use usher_host::conversation::{
    Asked, Fixture, ItemBody, Launch, NewModel, QuestionAnswer, ViewPicture, ViewPictures, ViewReply,
};
use usher_tests::{
    scripted_model::{ScriptedModel, call, say},
    scripted_server::{LINK, Script, document},
    stage::{SERVER, Setting, Stage},
};

use super::CHILD;

/// A PNG of one pixel, and a GIF of three by two.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
const GIF: &str = "R0lGODdhAwACAIEAAMgeHgAAAAAAAAAAACwAAAAAAwACAAAIBgABCBwYEAA7";

const SAYS: &str = "The app that a tool shows to the user says, and the user allowed that you read it:\n";

const YES: QuestionAnswer = QuestionAnswer::Accept(None);

/// A conversation whose first turn called `show`, which has a View.
struct Scene {
    stage: Stage,
    setting: Setting,
    folder: TempDir,
    model: ScriptedModel,
    conversation: String,
    call: String,
}

impl Scene {
    async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let script = Script::new("2025-11-25")
            .tool("show", LINK, r#"{"content":[]}"#)
            .answering("resources/read ui://a/b", &document("<p>hello</p>"));
        let setting = Setting::with(vec![script.cast(SERVER, CHILD, folder.path())]);
        let stage = Stage::open_in(&folder.path().join("data"), &setting).await;
        stage.ready(SERVER).await;
        let answers =
            [call([("show", json!({}))]), say(["Done."]), say(["One."]), say(["Two."]), say(["Three."])];
        let model = ScriptedModel::start(answers).await;
        let conversation = stage.conversation(Mode::App, &model).await;
        let opened = stage.turn(&conversation, "Please.").await;
        let call = opened.calls.into_keys().next().unwrap();
        Self { stage, setting, folder, model, conversation, call }
    }

    async fn view(&self) -> Launch {
        self.stage.host.open_view(&self.call).await.unwrap()
    }

    async fn answered(&self, view: &str, said: (&str, &Value), answer: QuestionAnswer) -> (ViewReply, Asked) {
        futures::future::join(self.stage.ask(view, said.0, said.1), self.stage.answer(answer)).await
    }

    /// What doors let in: the words, and how many pictures.
    async fn doors(&self) -> Vec<(String, usize)> {
        let mut doors = Vec::new();
        for item in self.stage.opened(&self.conversation).await.items {
            let ItemBody::Door(door) = item.body else { continue };
            let pictures = match door.pictures {
                Some(handle) => self.stage.host.blocks(&handle).await.unwrap().len(),
                None => 0,
            };
            doors.push((item.text, pictures));
        }
        doors
    }

    /// Asks the model, and reads what it was sent since its first answer.
    async fn asked(&self, text: &str) -> Vec<Value> {
        self.stage.turn(&self.conversation, text).await;
        assert_eq!(self.stage.failure(&self.conversation).await, None);
        self.model.assert_orderly();
        let request = self.model.received().pop().unwrap();
        let messages = request.json["messages"].as_array().unwrap().clone();
        let since = messages.iter().position(|it| it["content"] == "Done.").unwrap();
        messages[since + 1..].to_vec()
    }

    /// The model takes pictures from now on, or does not.
    async fn takes_pictures(&self, takes_images: bool) {
        let host = &self.stage.host;
        let entry = host.models().into_iter().find(|it| it.name == "scripted-1").unwrap();
        let model = NewModel {
            id: Some(entry.id),
            provider: entry.provider,
            base_url: entry.base_url,
            name: entry.name,
            context_tokens: entry.context_tokens,
            takes_images,
            ..NewModel::default()
        };
        host.save_model(model).await.unwrap();
    }

    /// How often bytes that a View sent stand in all that the model was ever sent.
    fn seen_by_model(&self, bytes: &str) -> usize {
        let bodies = self.model.received();
        bodies.iter().map(|it| String::from_utf8_lossy(&it.body).matches(bytes).count()).sum()
    }
}

fn text(it: &str) -> Value {
    json!({"type": "text", "text": it})
}

fn picture(mime: &str, data: &str) -> Value {
    json!({"type": "image", "data": data, "mimeType": mime, "annotations": {"audience": ["user"]}, "_meta": {"x": 1}})
}

fn message(blocks: &[Value]) -> Value {
    json!({"role": "user", "content": blocks})
}

fn context(blocks: &[Value]) -> Value {
    json!({"content": blocks})
}

fn words(it: &str) -> Value {
    json!({"type": "text", "text": it})
}

fn image(mime: &str, data: &str) -> Value {
    json!({"type": "image_url", "image_url": {"url": format!("data:{mime};base64,{data}")}})
}

fn typed(it: &str) -> Value {
    json!({"role": "user", "content": it})
}

fn result(value: Value) -> ViewReply {
    ViewReply::Result(value.into())
}

fn shown(asked: Asked) -> (String, Option<ViewPictures>, Option<String>) {
    let Asked::ViewWords { text, pictures, left_out, .. } = asked else { panic!("{asked:?}") };
    (text, pictures, left_out)
}

#[tokio::test]
async fn a_picture_is_seen_before_it_goes_and_goes_once_and_after_a_no_never() {
    let scene = Scene::open().await;
    let host = &scene.stage.host;
    let refused = scene.view().await.view_id;
    let said = message(&[picture("image/gif", GIF), text("REFUSED")]);
    let (reply, asked) = scene.answered(&refused, ("ui/message", &said), QuestionAnswer::Decline).await;
    assert_eq!(reply, result(json!({"isError": true})));
    let handle = shown(asked).1.unwrap().handle;
    assert!(host.media(&handle, 0).await.is_err(), "it was kept nowhere");

    let view = scene.view().await;
    assert!(view.takes_pictures);
    let said = message(&[picture("IMAGE/PNG", PNG), text("Look"), picture("image/gif", GIF)]);
    let looks = async {
        let question = scene.stage.question().await;
        let (words, pictures, left_out) = shown(question.asked);
        let pictures = pictures.unwrap();
        assert_eq!((words.as_str(), left_out), ("Look", None));
        let png = ViewPicture { mime: "image/png".to_owned(), bytes: 70, width: 1, height: 1 };
        let gif = ViewPicture { mime: "image/gif".to_owned(), bytes: 45, width: 3, height: 2 };
        assert_eq!(pictures.pictures, [png, gif]);
        // What the window draws while the question stands is what would go.
        for (index, mime) in [(0, "image/png"), (1, "image/gif")] {
            let (media, bytes, _) = host.media(&pictures.handle, index).await.unwrap();
            assert_eq!((media.mime.as_str(), bytes.len() as u64), (mime, pictures.pictures[index].bytes));
        }
        host.answer_question(&question.id, YES).unwrap();
    };
    let (reply, ()) = futures::future::join(scene.stage.ask(&view.view_id, "ui/message", &said), looks).await;
    assert_eq!(reply, result(json!({})));
    assert_eq!(scene.model.received().len(), 2, "a View begins no turn");
    assert_eq!(scene.doors().await, [("Look".to_owned(), 2)]);

    let of_view = json!({"role": "user", "content": [
        words(&format!("{SAYS}Look")), image("image/png", PNG), image("image/gif", GIF)]});
    assert_eq!(scene.asked("And?").await, [of_view, typed("And?")]);
    assert_eq!((scene.seen_by_model(PNG), scene.seen_by_model(GIF)), (1, 1));
    assert_eq!(scene.seen_by_model("REFUSED"), 0);
    // The Model context tab names each byte of it.
    let opened = scene.stage.opened(&scene.conversation).await;
    let exchange = host.exchange_body(&opened.exchanges.last().unwrap().id).await.unwrap();
    let labels: Vec<&str> = exchange
        .spans
        .iter()
        .filter(|it| [PNG, GIF, "image/png", "Look"].contains(&&exchange.body[it.start..it.end]))
        .map(|it| it.label.as_str())
        .collect();
    let of_picture = "a picture, said by a View";
    assert_eq!(labels, ["said by a View", of_picture, of_picture, of_picture]);
}

#[tokio::test]
async fn the_last_context_stands_with_its_pictures_and_is_the_same_after_a_restart() {
    let scene = Scene::open().await;
    let view = scene.view().await.view_id;
    let context_of = |blocks: &[Value]| context(blocks);
    let first = context_of(&[picture("image/gif", GIF), text("FIRST")]);
    let (reply, asked) = scene.answered(&view, ("ui/update-model-context", &first), YES).await;
    assert_eq!(reply, result(json!({})));
    let old = shown(asked).1.unwrap().handle;
    assert_eq!(scene.doors().await, [("FIRST".to_owned(), 1)]);
    // The yes holds for words that replace it. Another picture is seen before it goes.
    let words_alone = context_of(&[text("SECOND")]);
    assert_eq!(scene.stage.ask(&view, "ui/update-model-context", &words_alone).await, result(json!({})));
    assert_eq!(scene.doors().await, [("SECOND".to_owned(), 0)]);
    assert!(scene.stage.host.media(&old, 0).await.is_err(), "what was replaced is not to be had");
    let second = context_of(&[picture("image/png", PNG)]);
    let (reply, asked) = scene.answered(&view, ("ui/update-model-context", &second), YES).await;
    assert_eq!(reply, result(json!({})));
    let handle = shown(asked).1.unwrap().handle;
    assert_eq!(scene.doors().await, [(String::new(), 1)]);
    let of_view = json!({"role": "user", "content": [words(SAYS), image("image/png", PNG)]});
    assert_eq!(scene.asked("And?").await, [of_view.clone(), typed("And?")]);
    assert_eq!((scene.seen_by_model(PNG), scene.seen_by_model(GIF)), (1, 0));

    let Scene { stage, setting, folder, model, conversation, call } = scene;
    stage.close().await;
    let stage = Stage::reopen(&folder.path().join("data"), &setting).await;
    let scene = Scene { stage, setting, folder, model, conversation, call };
    scene.stage.ready(SERVER).await;
    assert_eq!(scene.doors().await, [(String::new(), 1)]);
    assert!(scene.stage.host.blocks(&old).await.is_err(), "what was replaced is not kept on disk");
    assert_eq!(scene.asked("Still?").await[0], of_view);
    // What the user takes back goes no more, and its picture is gone.
    let items = scene.stage.opened(&scene.conversation).await.items;
    let door = items.into_iter().find(|it| matches!(it.body, ItemBody::Door(_))).unwrap();
    assert!(scene.stage.host.media(&handle, 0).await.is_ok());
    scene.stage.host.take_back(&scene.conversation, &door.id).await.unwrap();
    assert_eq!(scene.asked("Gone?").await[0], typed("And?"));
    assert!(scene.stage.host.media(&handle, 0).await.is_err());
    assert_eq!(scene.seen_by_model(PNG), 2);
}

#[tokio::test]
async fn a_model_that_takes_no_pictures_gets_none_and_the_view_is_told() {
    let scene = Scene::open().await;
    scene.takes_pictures(false).await;
    let view = scene.view().await;
    assert!(!view.takes_pictures);
    let both = message(&[picture("image/png", PNG), text("Look")]);
    let (reply, asked) = scene.answered(&view.view_id, ("ui/message", &both), YES).await;
    assert_eq!(shown(asked), ("Look".to_owned(), None, Some("1 picture (the model takes none)".to_owned())));
    assert_eq!(reply, result(json!({"_meta": {"leftOut": "1 picture (the model takes none)"}})));
    let alone = message(&[picture("image/png", PNG)]);
    let ViewReply::Error(error) = scene.stage.ask(&view.view_id, "ui/message", &alone).await else {
        panic!()
    };
    assert_eq!(
        (error.code, error.message.as_str()),
        (-32602, "only text reaches the model, and there is none")
    );
    assert_eq!(scene.asked("And?").await[0], typed(&format!("{SAYS}Look")));

    // What was let in for another model is named to this one, and comes back with that.
    scene.takes_pictures(true).await;
    let kept = context(&[text("Kept"), picture("image/png", PNG)]);
    scene.answered(&view.view_id, ("ui/update-model-context", &kept), YES).await;
    scene.takes_pictures(false).await;
    let named = "[image image/png 70 bytes not sent: this model does not take it; the user can see it]";
    let messages = scene.asked("Now?").await;
    assert!(messages.contains(&typed(&format!("{SAYS}Kept\n\n{named}"))), "{messages:?}");
    assert_eq!(scene.seen_by_model(PNG), 0);
    scene.takes_pictures(true).await;
    scene.asked("And now?").await;
    assert_eq!(scene.seen_by_model(PNG), 1);
}

#[tokio::test]
async fn what_is_no_picture_is_refused_and_nobody_is_asked() {
    let scene = Scene::open().await;
    let view = scene.view().await.view_id;
    let svg = "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIG9ubG9hZD0iYWxlcnQoMSkiLz4=";
    let html = "PCFkb2N0eXBlIGh0bWw+PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==";
    // A PNG whose header says 60,000 by 60,000.
    let bomb = "iVBORw0KGgoAAAANSUhEUgAA6mAAAOpg";
    let png = picture("image/png", PNG);
    let refused: Vec<(Vec<Value>, &str)> = vec![
        (vec![picture("image/png", svg)], "a picture is called image/png and is none"),
        (vec![picture("image/webp", html)], "a picture is called image/webp and is none"),
        (vec![picture("image/gif", PNG)], "a picture is called image/gif and is none"),
        (vec![picture("image/png", &PNG[1..])], "a picture is no base64"),
        (vec![picture("image/png", &format!("data:image/png;base64,{PNG}"))], "a picture is no base64"),
        (vec![picture("image/svg+xml", svg)], "only text and pictures reach the model"),
        (vec![picture("data:image/png;base64,", PNG)], "only text and pictures reach the model"),
        (vec![picture("text/html", html)], "only text and pictures reach the model"),
        (vec![picture("image/png", bomb)], "more than 16777216 pixels together do not reach the model"),
        (vec![picture("image/png", &"A".repeat(2 << 20))], "a picture has more than 1048576 bytes"),
        (vec![png.clone(); 9], "more than 8 pictures do not reach the model"),
        // One that lies costs the View all that it says with it.
        (vec![text("Look"), png, picture("image/png", svg)], "a picture is called image/png and is none"),
        (vec![json!({"type": "image", "data": PNG})], "unknown type or shape"),
        (vec![json!({"type": "audio", "data": PNG, "mimeType": "audio/wav"})], "only text and pictures"),
    ];
    for (blocks, why) in refused {
        let reply = scene.stage.ask(&view, "ui/update-model-context", &context(&blocks)).await;
        let ViewReply::Error(error) = reply else { panic!("{why}: {reply:?}") };
        assert_eq!(error.code, -32602);
        assert!(error.message.contains(why), "{} is not {why}", error.message);
        assert!(scene.stage.host.questions().is_empty());
    }
    // A hundred million bytes are not even read.
    let giant = scene.view().await.view_id;
    let said = message(&[picture("image/png", &"A".repeat(100 << 20))]);
    let ViewReply::Error(_) = scene.stage.ask(&giant, "ui/message", &said).await else { panic!() };
    assert!(scene.stage.host.questions().is_empty());
    // What stands beside words and is honest about itself is named instead.
    let beside = message(&[text("Look"), picture("image/svg+xml", svg), picture("text/html", html)]);
    let (reply, _) = scene.answered(&view, ("ui/message", &beside), YES).await;
    assert_eq!(reply, result(json!({"_meta": {"leftOut": "2 pictures"}})));
    assert_eq!(scene.asked("And?").await, [typed(&format!("{SAYS}Look")), typed("And?")]);
}

#[tokio::test]
async fn texts_of_resources_and_links_are_words_and_bytes_are_named() {
    let scene = Scene::open().await;
    let view = scene.view().await.view_id;
    let blocks = [
        text("See"),
        json!({"type": "resource", "resource": {"uri": "note:1", "text": "milk", "mimeType": "text/plain"}}),
        json!({"type": "resource_link", "uri": "https://a.example/", "name": "a"}),
        json!({"type": "resource", "resource": {"uri": "b:1", "blob": PNG, "mimeType": "image/png"}}),
    ];
    let (reply, asked) = scene.answered(&view, ("ui/message", &message(&blocks)), YES).await;
    let said =
        "See\nnote:1\nmilk\n{\"type\":\"resource_link\",\"uri\":\"https://a.example/\",\"name\":\"a\"}";
    assert_eq!(shown(asked), (said.to_owned(), None, Some("1 resource".to_owned())));
    assert_eq!(reply, result(json!({"_meta": {"leftOut": "1 resource"}})));
    assert_eq!(scene.asked("And?").await[0], typed(&format!("{SAYS}{said}")));
}

#[tokio::test]
async fn on_the_bench_pictures_pass_the_same_checks_and_go_nowhere() {
    let scene = Scene::open().await;
    let bench =
        scene.stage.host.open_bench(&scene.conversation, SERVER, Fixture::of("show"), 0).await.unwrap();
    assert!(bench.takes_pictures);
    let says = async |blocks: &[Value]| {
        scene.stage.ask(&bench.view_id, "ui/update-model-context", &context(blocks)).await
    };
    assert_eq!(says(&[picture("image/png", PNG)]).await, result(json!({})));
    assert_eq!(says(&[]).await, result(json!({})));
    let ViewReply::Error(error) = says(&[picture("image/png", GIF)]).await else { panic!() };
    assert_eq!(error.code, -32602);
    scene.takes_pictures(false).await;
    let named = says(&[text("a"), picture("image/png", PNG)]).await;
    assert_eq!(named, result(json!({"_meta": {"leftOut": "1 picture (the model takes none)"}})));
    assert!(scene.stage.host.questions().is_empty());
    assert_eq!(scene.doors().await, []);
    assert_eq!(scene.asked("And?").await, [typed("And?")]);
}
