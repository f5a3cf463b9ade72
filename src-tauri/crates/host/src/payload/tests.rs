//! Tables and trees, as the window asks for them.

use usher_protocol::RawJson;

use super::*;

fn json(text: &str) -> RawJson {
    RawJson::parse(text).expect("the test's own text is JSON")
}

fn table(text: &str) -> TableIndex {
    match classify(&json(text), None) {
        Shape::Table(table) => *table,
        other => panic!("{text} is {other:?}"),
    }
}

fn shape(text: &str) -> &'static str {
    match classify(&json(text), None) {
        Shape::Table(_) => "table",
        Shape::Properties => "properties",
        Shape::Json => "json",
    }
}

fn by(column: &str, descending: bool) -> Sort {
    Sort { column: column.into(), descending }
}

fn column_texts(rows: &TableRows, column: usize) -> Vec<String> {
    rows.rows
        .iter()
        .map(|cells| match &cells[column] {
            Cell::Absent => "absent".to_owned(),
            Cell::Null => "null".to_owned(),
            Cell::Bool(value) => value.to_string(),
            Cell::Text(text) | Cell::Number(text) | Cell::Nested { text, .. } => text.clone(),
        })
        .collect()
}

#[test]
fn shapes() {
    for (text, expected) in [
        (r#"[{"a":1}]"#, "table"),
        (r#"[{"a":1},2,{}]"#, "table"),
        (r#"[{"a":1},2]"#, "json"),
        ("[]", "json"),
        ("[1,2]", "json"),
        ("[[{}]]", "json"),
        ("{}", "properties"),
        (r#"{"a":{"b":1}}"#, "properties"),
        (r#"{"rows":[{"a":1},{"a":2}],"total":2}"#, "table"),
        (r#"{"rows":[]}"#, "properties"),
        (r#"{"rows":[{"a":1}],"other":[{"a":1}]}"#, "properties"),
        (r#"{"rows":[{"a":1}],"more":{}}"#, "properties"),
        (
            r#"{"customer":"a long text that matters more than the list beside it","tags":[{"a":1}]}"#,
            "properties",
        ),
        (
            r#"{"id":1,"a":2,"b":3,"c":4,"d":5,"orders":[{"number":1,"sum":2},{"number":3,"sum":4}]}"#,
            "properties",
        ),
        ("\"text\"", "json"),
        ("12", "json"),
        ("null", "json"),
    ] {
        assert_eq!(shape(text), expected, "{text}");
    }
    let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    assert_eq!(shape(&deep), "json");
    assert_eq!(shape(&format!(r#"{{"a":{deep}}}"#)), "properties");
    assert_eq!(shape(&format!(r#"[{{"a":{deep}}}]"#)), "table");
}

#[test]
fn cells_are_exact() {
    let table = table(
        r#"[{"id":9007199254740993,"big":1e400,"d":0.10,"n":null,"t":"a\n\u00e9😅","o":{"k":[1.0]},"b":true},
            {"d":"x","id":55309298709016489}]"#,
    );
    let keys: Vec<_> = table.columns().iter().map(|column| (column.key.as_str(), column.numeric)).collect();
    let expected =
        [("id", true), ("big", true), ("d", false), ("n", false), ("t", false), ("o", false), ("b", false)];
    assert_eq!(keys, expected);
    let rows = table.window(None, "", 0, 10);
    assert_eq!((rows.matching, rows.total, rows.offset), (2, 2, 0));
    assert_eq!(
        rows.rows[0],
        [
            Cell::Number("9007199254740993".into()),
            Cell::Number("1e400".into()),
            Cell::Number("0.10".into()),
            Cell::Null,
            Cell::Text("a\né😅".into()),
            Cell::Nested { text: r#"{"k":[1.0]}"#.into(), pointer: "/0/o".into() },
            Cell::Bool(true),
        ]
    );
    assert_eq!(rows.rows[1][0], Cell::Number("55309298709016489".into()));
    assert_eq!(rows.rows[1][1], Cell::Absent);
}

#[test]
fn a_list_in_an_object_keeps_its_place_its_neighbours_and_its_titles() {
    let value = json(r#"{"total":9007199254740993,"a/b":[{"x":{"y":1}},{"x":2}]}"#);
    let schema = json(r#"{"properties":{"a/b":{"items":{"properties":{"x":{"title":"The X"}}}}}}"#);
    let Shape::Table(table) = classify(&value, Some(&schema)) else { panic!("a table") };
    assert_eq!(table.pointer(), "/a~1b");
    assert_eq!(table.beside(), [("total".to_owned(), "9007199254740993".to_owned())]);
    assert_eq!(table.columns()[0].title, "The X");
    let rows = table.window(None, "", 0, 1);
    assert_eq!(rows.rows[0][0], Cell::Nested { text: r#"{"y":1}"#.into(), pointer: "/a~1b/0/x".into() });
    assert_eq!(json_children(value.get(), "/a~1b/0/x", 0, 9).unwrap().count, 1);
}

#[test]
fn sorting_is_exact_stable_and_leaves_what_is_missing_at_the_end() {
    let table = table(
        r#"[{"n":9007199254740993,"k":"a"},{"n":9007199254740992,"k":"b"},{"k":"c"},{"n":1e400,"k":"d"},{"n":0.1,"k":"e"},
            {"n":null,"k":"f"},{"n":0.10,"k":"g"},{"n":-3,"k":"h"},{"n":"7","k":"i"},{"n":"12","k":"j"},{"n":true,"k":"k"}]"#,
    );
    let order = |descending| column_texts(&table.window(Some(&by("n", descending)), "", 0, 99), 1).concat();
    assert_eq!(order(false), "hegbadijkcf");
    assert_eq!(order(true), "kjidabeghcf");
    assert_eq!(column_texts(&table.window(Some(&by("none", false)), "", 0, 2), 1), ["a", "b"]);
    let names =
        super::tests::table(r#"[{"a":"Row 10"},{"a":"row 9"},{"a":"Äpfel"},{"a":"row 1"},{"a":"ROW 2"}]"#);
    let sorted = names.window(Some(&by("a", false)), "", 0, 9);
    assert_eq!(column_texts(&sorted, 0), ["row 1", "ROW 2", "row 9", "Row 10", "Äpfel"]);
}

#[test]
fn filtering_looks_at_what_is_visible() {
    let table = table(
        r#"[{"key":"Müller \"x\"","n":9007199254740993},{"key":"SCHMIDT","o":{"deep":"Mü"}},{"key":null}]"#,
    );
    let find = |filter: &str| table.window(None, filter, 0, 9).matching;
    assert_eq!(find("müll"), 1);
    assert_eq!(find("MÜ"), 2);
    assert_eq!(find("schmidt "), 1);
    assert_eq!(find("40993"), 1);
    assert_eq!(find("\"x\""), 1);
    assert_eq!(find("key"), 0, "keys are not cells");
    assert_eq!(find("null"), 0);
    assert_eq!(find("\\u"), 0);
    assert_eq!(find(""), 3);
}

#[test]
fn a_window_into_many_rows() {
    let mut text = String::from("[");
    for n in 0..20_000_u64 {
        let comma = if n == 0 { "" } else { "," };
        text.push_str(&format!(
            r#"{comma}{{"id":{},"name":"Customer {n}","odd":{}}}"#,
            9_007_199_254_740_993 + n,
            n % 2 == 1
        ));
    }
    text.push(']');
    let table = table(&text);
    assert_eq!(table.len(), 20_000);
    let rows = table.window(Some(&by("id", true)), "true", 5, 2);
    assert_eq!((rows.matching, rows.total, rows.rows.len()), (10_000, 20_000, 2));
    assert_eq!(column_texts(&rows, 1), ["Customer 19989", "Customer 19987"]);
    assert_eq!(table.window(None, "", 19_999, 10).rows.len(), 1);
    assert_eq!(table.window(None, "", 20_000, 10).rows.len(), 0);
    assert_eq!(table.window(None, "", 0, usize::MAX).rows.len(), 1_000);
    // The order is made once: the very same one is used again.
    let order = table.order(Some(&by("id", true)), "true");
    assert!(std::sync::Arc::ptr_eq(&order, &table.order(Some(&by("id", true)), " TRUE")));
}

#[test]
fn odd_records() {
    let table = table(r#"[{"a":1,"a":2},3,{"":4,"\u0061":5},[6],{"b/~":[7]}]"#);
    let keys: Vec<_> =
        table.columns().iter().map(|column| (column.key.as_str(), column.title.as_str())).collect();
    assert_eq!(keys, [("a", "a"), ("", "(value)"), ("", ""), ("b/~", "b/~")]);
    let rows = table.window(None, "", 0, 9).rows;
    let number = |text: &str| Cell::Number(text.into());
    let nested = |text: &str, pointer: &str| Cell::Nested { text: text.into(), pointer: pointer.into() };
    assert_eq!(rows[0], [number("2"), Cell::Absent, Cell::Absent, Cell::Absent]);
    assert_eq!(rows[1], [Cell::Absent, number("3"), Cell::Absent, Cell::Absent]);
    assert_eq!(rows[2], [number("5"), Cell::Absent, number("4"), Cell::Absent]);
    assert_eq!(rows[3], [Cell::Absent, nested("[6]", "/3"), Cell::Absent, Cell::Absent]);
    assert_eq!(rows[4], [Cell::Absent, Cell::Absent, Cell::Absent, nested("[7]", "/4/b~1~0")]);
}

#[test]
fn a_new_key_in_every_record_does_not_multiply() {
    let records: Vec<_> = (0..2_000).map(|n| format!(r#"{{"k{n}":{n}}}"#)).collect();
    let table = table(&format!("[{}]", records.join(",")));
    assert_eq!(table.columns().len(), 500);
    assert_eq!(table.columns_left_out(), 1_500);
    assert!(table.to_json(None, "").contains(r#"{"k1999":1999}"#));
}

#[test]
fn a_very_long_text_is_opened_in_the_inspector() {
    let long = "ü".repeat(5_000);
    let value = format!(r#"[{{"t":"{long}"}}]"#);
    let table = table(&value);
    let Cell::Nested { text, pointer } = table.window(None, "", 0, 1).rows[0][0].clone() else {
        panic!("abridged")
    };
    assert_eq!(text.chars().count(), 2_001);
    assert_eq!(json_children(&value, &pointer, 0, 1).unwrap().text, long);
    assert!(table.to_csv(None, "").contains(&long));
}

#[test]
fn exports() {
    let table = table(
        r#"[{"=id":9007199254740993,"t":"=1+1","n":-5,"q":"a,\"b\"\n"},{"t":"-x","n":1e400,"q":" pad"},{"t":"@a","n":null,"q":[1,2]},
            {"t":"plain é","n":"+4"}]"#,
    );
    let csv = [
        "'=id,t,n,q\r\n",
        "9007199254740993,'=1+1,-5,\"a,\"\"b\"\"\n\"\r\n",
        ",'-x,1e400,\" pad\"\r\n",
        ",'@a,,\"[1,2]\"\r\n",
        ",plain é,'+4,\r\n",
    ];
    assert_eq!(table.to_csv(None, ""), csv.concat());
    let expected = "[\n{\"t\":\"@a\",\"n\":null,\"q\":[1,2]}\n]\n";
    assert_eq!(table.to_json(Some(&by("t", false)), "@A"), expected);
    assert_eq!(table.to_json(None, "nothing has this"), "[\n]\n");
    json(&table.to_json(None, ""));
}

#[test]
fn a_tree_is_opened_level_by_level() {
    let text = r#" { "a/b" : {"~":[1e400, "x\u00e9", {}, [1,2]]}, "n": 0.10, "s":"", "t":true, "z":null } "#;
    let root = json_children(text, "", 0, 99).unwrap();
    assert_eq!((root.kind, root.count), (JsonKind::Object, 5));
    let lines: Vec<_> =
        root.children.iter().map(|c| (c.key.as_str(), c.kind.name(), c.text.as_str(), c.count)).collect();
    assert_eq!(
        lines,
        [
            ("a/b", "object", r#"{"~":[1e400, "x\u00e9", {}, [1,2]]}"#, 1),
            ("n", "number", "0.10", 0),
            ("s", "string", "", 0),
            ("t", "boolean", "true", 0),
            ("z", "null", "null", 0)
        ]
    );
    assert_eq!(root.children[0].pointer, "/a~1b");
    let list = json_children(text, "/a~1b/~0", 1, 2).unwrap();
    assert_eq!((list.count, list.offset, list.children.len()), (4, 1, 2));
    assert_eq!(list.children[0].pointer, "/a~1b/~0/1");
    assert_eq!(list.children[0].text, "xé");
    assert_eq!(json_children(text, "/a~1b/~0/0", 0, 9).unwrap().text, "1e400");
    assert_eq!(json_children(text, "/a~1b/~0/3/1", 0, 9).unwrap().text, "2");
    for nothing in
        ["/none", "/a~1b/~0/4", "/a~1b/~0/01", "/a~1b/~0/-", "/n/0", "x", "/a~1b/~0/99999999999999999999999"]
    {
        assert!(matches!(json_children(text, nothing, 0, 9), Err(TreeError::Nothing { .. })), "{nothing}");
    }
}

#[test]
fn a_key_that_stands_twice_is_shown_twice() {
    let text = r#"{"a":1,"b":0,"\u0061":{"c":2},"a":3}"#;
    let root = json_children(text, "", 0, 9).unwrap();
    let pointers: Vec<_> = root.children.iter().map(|child| child.pointer.as_str()).collect();
    assert_eq!(pointers, ["/a~21", "/b", "/a~22", "/a"]);
    assert_eq!(json_children(text, "/a", 0, 9).unwrap().text, "3");
    assert_eq!(json_children(text, "/a~21", 0, 9).unwrap().text, "1");
    assert_eq!(json_children(text, "/a~22/c", 0, 9).unwrap().text, "2");
    let later = json_children(text, "", 2, 1).unwrap();
    assert_eq!(later.children[0].pointer, "/a~22");
}

#[test]
fn a_million_levels_are_opened_to_a_bound() {
    let text = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    assert_eq!(json_children(&text, "", 0, 9).unwrap().children[0].count, 1);
    assert_eq!(json_children(&text, &"/0".repeat(3), 0, 9).unwrap().count, 1);
    assert_eq!(json_children(&text, &"/0".repeat(1_000), 0, 9), Err(TreeError::TooDeep));
}
