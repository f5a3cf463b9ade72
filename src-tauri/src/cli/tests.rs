//! Tests of what the command line writes.

use expect_test::expect;
use usher_protocol::model::Audience;

use super::{
    report::{Part, Report, json_lines},
    terminal::{Paint, clean, head, table, wrap},
};

#[test]
fn each_audience_stands_apart_by_its_word() {
    let part = |audience: Audience, title: &str| Part {
        audience,
        title: title.to_owned(),
        door: None,
        lines: vec!["its own bytes".to_owned()],
    };
    let report = Report {
        call: "search {}".to_owned(),
        about: "mode Chat".to_owned(),
        trouble: None,
        parts: vec![
            part(Audience::Assistant, "received assistant/content, 12 B"),
            part(Audience::User, "see user/structured, as a table"),
            part(Audience::Programmatic, "got programmatic/structured"),
            part(Audience::ui(), "would receive its data"),
        ],
        withheld: vec!["H26: result _meta x, 4 B: metadata of a result has no audience".to_owned()],
        defects: vec![],
    };
    // The first line stands alone so that the indentation is part of what is compared.
    expect![[r#"
        report
          search {}
          mode Chat
          * MODEL  received assistant/content, 12 B
              its own bytes
          * YOU    see user/structured, as a table
              its own bytes
          * SCRIPT got programmatic/structured
              its own bytes
          * VIEW   would receive its data
              its own bytes
          * WITHHELD
              H26: result _meta x, 4 B: metadata of a result has no audience
    "#]]
    .assert_eq(&format!("report\n{}", report.text(Paint::PLAIN)));
}

#[test]
fn hostile_text_cannot_steer_the_terminal() {
    assert_eq!(clean("a\u{1b}[2Jb\u{202e}c\r\nd\te"), "a\u{fffd}[2Jb\u{fffd}c\nd e");
}

#[test]
fn text_is_broken_between_words_and_never_wider_than_asked() {
    for width in 1..20 {
        for line in wrap("one two three-and-a-half  four\n\nfünf \u{4e2d}\u{6587}", width) {
            assert!(line.chars().count() <= width, "{line:?} is wider than {width}");
        }
    }
    assert_eq!(wrap("one two three", 8), ["one two", "three"]);
    assert_eq!(head("a b c d e f", 1, 2), ["a", "b", "… and about 7 B more"]);
}

#[test]
fn a_table_says_which_columns_are_hidden() {
    let heads = [("Name".to_owned(), false), ("Number".to_owned(), true), ("More".to_owned(), false)];
    let rows = [vec!["Globex".to_owned(), "9007199254740993".to_owned(), "x".to_owned()]];
    assert_eq!(
        table(&heads, &rows, 26),
        ["Name              Number", "Globex  9007199254740993", "… and the columns More"]
    );
}

#[test]
fn a_value_is_shown_member_by_member_also_when_it_is_wrapped() {
    let lines = |text: &str| json_lines(&usher_protocol::RawJson::parse(text).unwrap()).join("\n");
    expect![[r#"
        error.code: "invalid_priority"
        error.hint: "Say low, normal or high, and nothing else; this is a text th…
        error.count: 9007199254740993"#]]
    .assert_eq(&lines(
        r#"{"error":{"code":"invalid_priority","hint":"Say low, normal or high, and nothing else; this is a text that is longer than a line","count":9007199254740993}}"#,
    ));
    assert_eq!(lines(r#"{"a":{"b":1}}"#), r#"{"a":{"b":1}}"#);
    assert_eq!(lines("[]"), "[]");
}
