//! The chapter of the Apps extension's audience, `docs/extension-audience-ui.md`: each of the proposal's eight questions is answered, and
//! each test that holds an answer is there.

use usher_tests::tree::{root, tests};

#[test]
fn every_question_has_an_answer_and_every_answer_its_tests() {
    let text = std::fs::read_to_string(root().join("docs/extension-audience-ui.md")).unwrap();
    let tests = tests();
    let mut wrong = Vec::new();
    for number in 1..=8 {
        let heading = format!("\n## X{number}. ");
        let Some((_, section)) = text.split_once(&heading) else {
            wrong.push(format!("X{number} has no section"));
            continue;
        };
        let section = section.split("\n## ").next().unwrap_or_default();
        if !section.contains("\nHeld by: ") {
            wrong.push(format!("X{number} names no test"));
        }
    }
    let mut named = 0;
    for paragraph in text.split("\n\n").filter(|it| it.starts_with("Held by: ")) {
        let names = paragraph.split('`').skip(1).step_by(2).map(|it| it.replace('\n', " "));
        for name in names {
            named += 1;
            if !tests.contains(&name) {
                wrong.push(format!("{name} is not a test"));
            }
        }
    }
    assert!(named > 50, "only {named} tests were read");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
