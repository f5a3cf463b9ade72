//! Names of servers and tools as JavaScript properties.

use std::collections::{BTreeMap, BTreeSet};

/// The identifiers for a list of names, in its order. A name that is an identifier keeps itself; no two are equal.
pub(super) fn identifiers<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Vec<String> {
    // Names as they are come first, so that another name's identifier never hides them.
    let mut taken: BTreeSet<String> = names.clone().map(str::to_owned).collect();
    let mut seen: BTreeMap<&str, String> = BTreeMap::new();
    names
        .map(|name| {
            if let Some(known) = seen.get(name) {
                return known.clone();
            }
            let plain = identifier(name);
            let mut candidate = plain.clone();
            let mut count = 2;
            while candidate != name && taken.contains(&candidate) {
                candidate = format!("{plain}_{count}");
                count += 1;
            }
            taken.insert(candidate.clone());
            seen.insert(name, candidate.clone());
            candidate
        })
        .collect()
}

fn identifier(name: &str) -> String {
    let mut text: String = name
        .chars()
        .map(|it| if it.is_ascii_alphanumeric() || matches!(it, '_' | '$') { it } else { '_' })
        .collect();
    if text.starts_with(|it: char| it.is_ascii_digit()) || text.is_empty() {
        text.insert(0, '_');
    }
    // A word that the language keeps is fine as a property, but not as a variable that destructuring makes.
    if RESERVED.contains(&text.as_str()) {
        text.push('_');
    }
    text
}

const RESERVED: &[&str] = &[
    "arguments",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "eval",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "new",
    "null",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "static",
    "super",
    "switch",
    "then",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "var",
    "void",
    "while",
    "with",
    "yield",
    "__proto__",
    "constructor",
    "prototype",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_gets_an_identifier_of_its_own() {
        let names = [
            "get_weather",
            "get-weather",
            "get.weather",
            "2fast",
            "",
            "é",
            "class",
            "get_weather_2",
            "a b",
            "a_b",
        ];
        assert_eq!(
            identifiers(names.into_iter()),
            [
                "get_weather",
                "get_weather_3",
                "get_weather_4",
                "_2fast",
                "_",
                "__2",
                "class_",
                "get_weather_2",
                "a_b_2",
                "a_b"
            ]
        );
    }
}
