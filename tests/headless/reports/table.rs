//! The table of the public reports, `docs/public-reports.md`: each case has a row, and each test that a row names is there.

use usher_tests::tree::{root, tests};

/// The cases. Numbers that are missing were never given.
const CASES: [&str; 60] = [
    "B01", "B02", "B03", "B04", "B06", "B08", "B09", "B10", "B11", "B13", "B15", "B16", "B17", "B18", "B20",
    "B22", "B24", "B25", "B27", "B28", "B29", "B30", "B32", "B34", "B36", "B37", "B38", "B39", "B41", "B42",
    "B43", "B44", "B46", "B47", "B49", "B51", "B52", "B54", "B55", "B56", "B57", "B58", "B60", "B61", "B62",
    "B63", "B65", "B67", "B69", "B70", "B72", "B73", "B74", "B76", "B77", "B78", "B80", "B81", "B83", "B84",
];

#[test]
fn every_public_report_has_a_row_with_a_test_that_exists_or_a_reason() {
    let text = std::fs::read_to_string(root().join("docs/public-reports.md")).unwrap();
    let tests = tests();
    let mut wrong = Vec::new();
    let mut rows = Vec::new();
    for line in text.lines().filter(|it| it.starts_with("| B")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [id, happened, here, proof] = cells[..] else {
            wrong.push(format!("{line}: not four cells"));
            continue;
        };
        rows.push(id);
        if happened.is_empty() || here.is_empty() {
            wrong.push(format!("{id} says nothing"));
        }
        let named: Vec<&str> = proof.split('`').skip(1).step_by(2).collect();
        if named.is_empty() && !proof.starts_with("Does not apply:") {
            wrong.push(format!("{id} names neither a test nor a reason"));
        }
        for name in named.iter().filter(|it| !tests.contains(**it)) {
            wrong.push(format!("{id} names {name}, which is not a test"));
        }
    }
    for id in CASES.iter().filter(|id| rows.iter().filter(|it| it == id).count() != 1) {
        wrong.push(format!("{id} has not one row"));
    }
    wrong.extend(rows.iter().filter(|it| !CASES.contains(it)).map(|it| format!("{it} is not a case")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
