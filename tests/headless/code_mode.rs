//! Code mode: the model reads what its script returns and prints, and the door through which it does is in the ledger.

use expect_test::expect;
use serde_json::json;
use usher_engine::Mode;
use usher_tests::{
    canaries::{forms_in, fresh_seed},
    scripted_model::{ScriptedModel, call, say},
    stage::{SERVER, Setting, Stage, bodies, canary, ledger, reach},
};

use super::CHILD;

/// What the model is told of a script, where the canaries are, and the lines of the ledger that let something through to the model.
async fn played(code: &str) -> (String, String, Vec<String>) {
    let seed = fresh_seed();
    let stage = Stage::open(&Setting::sample(CHILD, &["--canaries", &seed])).await;
    stage.ready(SERVER).await;
    let model = ScriptedModel::start([call([("run_script", json!({"code": code}))]), say(["Done."])]).await;
    let conversation = stage.conversation(Mode::Code, &model).await;
    let opened = stage.turn(&conversation, "Look.").await;
    assert_eq!(stage.failure(&conversation).await, None);
    model.assert_orderly();
    // Other audiences' data never reach the model through a script, whatever it does.
    for place in ["user-structured", "user-content", "ui-structured", "meta", "uimeta"] {
        assert_eq!(forms_in(&bodies(&model), &canary(place, &seed)), [], "{place}");
    }
    let told = model.received()[1].last_results().join("\n");
    let reached = reach(&seed, &[("model", &bodies(&model))]);
    let doors = ledger(&opened).into_iter().filter(|it| it.contains("the script returned")).collect();
    (told, reached, doors)
}

#[tokio::test]
async fn what_a_script_of_the_model_does_not_return_stays_in_it() {
    let (told, reached, doors) = played(
        "const page = await tools.sample.search_customers({query: 'Globex'}); console.log('seen', page.total); return page.items.length;",
    )
    .await;
    expect![[r#"
        seen 37
        25"#]]
    .assert_eq(&told);
    expect!["model: nothing"].assert_eq(&reached);
    expect!["what the script returned and printed to the model [H25]"].assert_eq(&doors.join("\n"));
}

#[tokio::test]
async fn what_a_script_of_the_model_returns_goes_through_a_recorded_door() {
    let (_, reached, doors) = played("return await tools.sample.search_customers({query: 'Globex'});").await;
    expect!["model: programmatic-structured"].assert_eq(&reached);
    assert_eq!(doors.len(), 1, "{doors:?}");
    assert!(doors[0].contains("H25"), "{doors:?}");
}

#[tokio::test]
async fn a_script_of_the_model_that_fails_is_told_and_the_conversation_goes_on() {
    let (told, reached, _) =
        played("await tools.sample.search_customers({query: 'Globex'}); throw new Error('no such luck');")
            .await;
    assert!(told.contains("no such luck"), "{told}");
    expect!["model: nothing"].assert_eq(&reached);
}
