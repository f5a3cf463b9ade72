//! The limits that are promised, `docs/limits.md`, are those of the code.

use usher_tests::tree::{root, sources};

#[test]
fn every_limit_is_that_of_the_code() {
    let text = std::fs::read_to_string(root().join("docs/limits.md")).unwrap();
    let endings = [".rs", ".ts", ".js"];
    let sources = sources(&endings);
    let mut wrong = Vec::new();
    let mut rows = 0;
    let names_code = |line: &&str| endings.iter().any(|it| line.contains(&format!("{it}`")));
    for line in text.lines().filter(|it| it.starts_with("| ")).filter(names_code) {
        rows += 1;
        let quoted: Vec<&str> = line.split('`').skip(1).step_by(2).collect();
        let [.., path, name, value] = quoted[..] else {
            wrong.push(format!("{line}: no path, name and value"));
            continue;
        };
        let declares = |line: &str| {
            let begins = [format!("const {name}: "), format!("const {name} = ")];
            begins.iter().any(|it| line.contains(it)) && line.trim_end().ends_with(&format!("= {value};"))
        };
        let files = sources.iter().filter(|it| it.path.ends_with(&format!("/{path}")));
        if !files.into_iter().any(|it| it.text.lines().any(declares)) {
            wrong.push(format!("{path} does not say that {name} is {value}"));
        }
    }
    assert!(rows > 20, "only {rows} rows were read");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
