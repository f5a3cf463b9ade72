use expect_test::expect;

use super::*;

fn model(context: u64) -> ModelSpec {
    ModelSpec { context_tokens: Some(context), max_output_tokens: Some(0), ..spec(true) }
}

fn round(number: usize, result: &str) -> Vec<HistoryItem> {
    let id = format!("c{number}");
    vec![
        user(&format!("u{number}"), "next"),
        assistant(&format!("a{number}"), "", vec![call(&id, "s__t", "{}")]),
        HistoryItem::Result(ModelToolResult::script(id, false, result)),
    ]
}

#[test]
fn a_turn_that_fits_is_not_touched() {
    let before = turn(round(1, "short"));
    let (after, fit) = fit(before.clone(), &model(10_000));
    assert_eq!(after, before);
    assert!(fit.fits && fit.cuts.is_empty());
}

#[test]
fn a_huge_result_is_cut_at_a_character_with_a_notice() {
    let text = "ü€😅".repeat(200_000);
    let (after, fit) = fit(turn(round(1, &text)), &model(1_000));
    assert!(fit.fits, "{fit:?}");
    expect![[r#"[Result { call_id: "c1", kept: 749, total: 1800000 }]"#]]
        .assert_eq(&format!("{:?}", fit.cuts));
    let encoded = encode(&after, &model(1_000));
    expect![[r#"ü€😅ü€😅ü€😅ü€😅ü€😅ü€😅ü\n[cut to fit: the first 749 of 1800000 bytes are shown; the user has all of it]"}]}"#]].assert_eq(&body(&encoded)[body(&encoded).len() - 140..]);
}

#[test]
fn the_oldest_results_are_abridged_first() {
    let text = "word ".repeat(150);
    let history = (1..=8).flat_map(|it| round(it, &text)).collect();
    let (after, fit) = fit(turn(history), &model(1_200));
    assert!(fit.fits, "{fit:?}");
    let kept: Vec<_> = fit.cuts.iter().map(|it| format!("{it:?}")).collect();
    expect![[r#"
        Result { call_id: "c1", kept: 400, total: 750 }
        Result { call_id: "c2", kept: 400, total: 750 }
        Result { call_id: "c3", kept: 400, total: 750 }
        Result { call_id: "c4", kept: 400, total: 750 }
        Result { call_id: "c5", kept: 400, total: 750 }
        Result { call_id: "c6", kept: 400, total: 750 }
        Result { call_id: "c7", kept: 400, total: 750 }
        Messages { count: 4 }"#]]
    .assert_eq(&kept.join("\n"));
    encode(&after, &model(1_200));
}

#[test]
fn then_the_oldest_messages_are_left_out_and_the_model_is_told() {
    let history = (1..=60).flat_map(|it| round(it, "word")).collect();
    let (after, fit) = fit(turn(history), &model(600));
    assert!(fit.fits, "{fit:?}");
    expect!["[Messages { count: 90 }]"].assert_eq(&format!("{:?}", fit.cuts));
    let encoded = encode(&after, &model(600));
    let value: serde_json::Value = serde_json::from_slice(&encoded.body).unwrap();
    expect![[r#"{"role":"system","content":"\n\nThe 90 oldest messages of this conversation were left out because they no longer fit."}"#]].assert_eq(&value["messages"][0].to_string());
    assert_eq!(value["messages"][1]["role"], "user");
}

#[test]
fn tools_that_need_more_than_half_are_left_out_by_name() {
    let tools = (0..100)
        .map(|it| OfferedTool::new(format!("s__t{it}"), Some(&"x".repeat(100)), json(r#"{"type":"object"}"#)))
        .collect();
    let (turn, _) = Turn::assemble(vec![], [user("u", "Hi")], tools);
    let (after, fit) = fit(turn, &model(2_000));
    assert!(fit.fits && fit.tool_tokens <= 1_000, "{fit:?}");
    assert_eq!(after.tools().len() + fit.cuts.len(), 100);
    assert!(matches!(&fit.cuts[0], Cut::Tool { wire_name } if &**wire_name == "s__t99"));
}

#[test]
fn the_users_own_words_are_never_cut() {
    let (after, fit) = fit(turn(vec![user("u", &"x".repeat(100_000))]), &model(1_000));
    assert!(!fit.fits);
    assert!(body(&encode(&after, &model(1_000))).contains(&"x".repeat(100_000)));
}

#[test]
fn pictures_beyond_half_of_the_room_are_replaced() {
    let png = r#"{"type":"image","mimeType":"image/png","data":"AAAA"}"#;
    let blocks = format!("[{}]", [png; 5].join(","));
    let history =
        vec![user("u", "x"), assistant("a", "", vec![call("c", "s__t", "{}")]), content("c", false, &blocks)];
    let (after, fit) = fit(turn(history), &model(8_000));
    assert_eq!(fit.cuts.len(), 3);
    let encoded = encode(&after, &model(8_000));
    assert_eq!(body(&encoded).matches("data:image/png;base64,").count(), 2);
    assert_eq!(body(&encoded).matches("3 bytes left out to make room").count(), 3);
}

#[test]
fn what_a_view_keeps_is_counted_and_cut_as_a_result_is() {
    let picture = r#"{"type":"image","mimeType":"image/png","data":"AAAA"}"#;
    let picture = ContentBlock::from_raw(&json(picture));
    let blocks = [vec![ContentBlock::text("word ".repeat(20_000))], vec![picture; 8]].concat();
    let door = Door::ViewContext { call_id: "c1".into() };
    let kept = BroughtMessage::new("i1", door, false, &blocks).unwrap();
    let (after, fit) = fit(turn(vec![HistoryItem::Brought(kept), user("u1", "next")]), &model(10_000));
    assert!(fit.fits, "{fit:?}");
    let pictures = fit.cuts.iter().filter(|it| matches!(it, Cut::Picture { .. })).count();
    let texts = fit.cuts.iter().filter(|it| matches!(it, Cut::Result { .. })).count();
    assert_eq!((pictures, texts), (5, 1));
    let encoded = encode(&after, &model(10_000));
    assert_eq!(body(&encoded).matches("data:image/png").count(), 3);
    assert_eq!(body(&encoded).matches("left out to make room; the user has it").count(), 5);
    assert!(fit.tokens >= 3 * IMAGE_TOKENS);
}

#[test]
fn tokens_are_estimated() {
    assert_eq!(["", "a", "abcde", "漢字", "ab😅"].map(estimate_tokens), [0, 1, 2, 2, 2]);
}
