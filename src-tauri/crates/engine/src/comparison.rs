//! Whether the two halves of a result of an earlier revision say the same: the text of `content` and `structuredContent`.
//!
//! They may differ (2025-06-18 server/tools, "Structured Content" only recommends the mirror), and a model that reads one half does not
//! know what the other has. So the difference is told. Deliberately absent: a judgement; which half the model reads is the user's policy.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use usher_protocol::{RawJson, common::ContentBlock};

/// The largest half that is compared, in bytes. Comparing costs a tree of each, and it stands between a result and its consumers.
const LARGEST: usize = 256 << 10;

/// How many differences are named.
const MOST_NAMED: usize = 8;

/// How much text may be searched for values, in bytes: the text's length times the number of values.
const MOST_SEARCHED: usize = 16 << 20;

/// From this length on a text is found within other words too, in bytes.
const LONG_WORD: usize = 4;

/// How long a value may be quoted, in characters.
const LONGEST_QUOTE: usize = 60;

/// How the halves of a result differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Comparison {
    /// The text is prose, and does not have every value of `structuredContent`.
    Lossy {
        /// How many values the text does not have.
        more: usize,
        /// How many values there are.
        of: usize,
        /// Some of them, each with its place.
        named: Vec<String>,
    },
    /// The text is JSON, and says something else.
    Differs {
        /// In how many places.
        places: usize,
        /// Some of them, with both values.
        named: Vec<String>,
    },
}

/// Compares the text of `content` with `structuredContent`. `None` if there is nothing to compare, it is too much, or they say the same.
pub fn compare(content: &[ContentBlock], structured: &RawJson) -> Option<Comparison> {
    let texts: Vec<&str> =
        content.iter().filter_map(ContentBlock::as_text).filter(|it| !it.trim().is_empty()).collect();
    let length: usize = texts.iter().map(|it| it.len()).sum();
    if texts.is_empty() || length > LARGEST || structured.bytes() > LARGEST {
        return None;
    }
    if texts.iter().any(|it| it.trim() == structured.get().trim()) {
        return None;
    }
    let data = structured.to_value();
    // Frameworks wrap a value that is no object into one, and give a list item by item.
    let only = data.as_object().filter(|it| it.len() == 1).and_then(|it| it.values().next());
    let items: Option<Vec<Value>> = texts.iter().map(|it| serde_json::from_str(it).ok()).collect();
    let candidates = match items {
        Some(mut items) if items.len() == 1 => {
            let one = items.remove(0);
            if one.is_object() || one.is_array() { vec![one] } else { Vec::new() }
        }
        Some(items) => vec![Value::Array(items)],
        None => {
            texts.iter().filter_map(|it| serde_json::from_str(it).ok()).filter(Value::is_object).collect()
        }
    };
    let best = candidates.iter().map(|it| {
        let mut whole = Differences::default();
        whole.walk(it, &data, &mut String::new());
        let inner = only.map(|only| {
            let mut inner = Differences::default();
            inner.walk(it, only, &mut String::new());
            inner
        });
        inner.filter(|it| it.places < whole.places).unwrap_or(whole)
    });
    if let Some(best) = best.min_by_key(|it| it.places) {
        let Differences { places, named } = best;
        return (places > 0).then_some(Comparison::Differs { places, named });
    }
    lossy(&texts.join("\n"), &data)
}

#[derive(Default)]
struct Differences {
    places: usize,
    named: Vec<String>,
}

impl Differences {
    fn add(&mut self, path: &str, content: Option<&Value>, structured: Option<&Value>) {
        self.places += 1;
        if self.named.len() < MOST_NAMED {
            let say = |it: Option<&Value>| it.map_or_else(|| "nothing".to_owned(), quote);
            let path = place(path);
            self.named.push(format!(
                "{path}: {} in content, {} in structuredContent",
                say(content),
                say(structured)
            ));
        }
    }

    fn walk(&mut self, content: &Value, structured: &Value, path: &mut String) {
        match (content, structured) {
            (Value::Object(a), Value::Object(b)) => {
                for (key, a) in a {
                    self.step(key, path, Some(a), b.get(key));
                }
                for (key, b) in b.iter().filter(|it| !a.contains_key(it.0)) {
                    self.step(key, path, None, Some(b));
                }
            }
            (Value::Array(a), Value::Array(b)) => {
                for index in 0..a.len().max(b.len()) {
                    self.step(&index.to_string(), path, a.get(index), b.get(index));
                }
            }
            (a, b) if same_leaf(a, b) => {}
            (a, b) => self.add(path, Some(a), Some(b)),
        }
    }

    fn step(&mut self, key: &str, path: &mut String, content: Option<&Value>, structured: Option<&Value>) {
        let length = path.len();
        push(path, key);
        match (content, structured) {
            (Some(a), Some(b)) => self.walk(a, b, path),
            (a, b) => self.add(path, a, b),
        }
        path.truncate(length);
    }
}

/// Equality that does not tell 1 from 1.0, as JSON does not, and tells two integers that one double would stand for.
fn same_leaf(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || (a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64()
        }
        (a, b) => a == b,
    }
}

/// Counts the values that a text does not have.
fn lossy(text: &str, data: &Value) -> Option<Comparison> {
    let mut leaves = Vec::new();
    gather(data, &mut String::new(), &mut leaves);
    if leaves.is_empty() || text.len().saturating_mul(leaves.len()) > MOST_SEARCHED {
        return None;
    }
    let of = leaves.len();
    let missing: Vec<&(String, &Value)> = leaves.iter().filter(|it| !says(text, it.1)).collect();
    let named =
        missing.iter().take(MOST_NAMED).map(|it| format!("{}: {}", place(&it.0), quote(it.1))).collect();
    (!missing.is_empty()).then_some(Comparison::Lossy { more: missing.len(), of, named })
}

/// The values that say something: `null`, `true` and `false` are said in too many ways to be looked for, and so is an empty text.
fn gather<'a>(data: &'a Value, path: &mut String, leaves: &mut Vec<(String, &'a Value)>) {
    let length = path.len();
    match data {
        Value::Null | Value::Bool(_) => {}
        Value::String(it) if it.trim().is_empty() => {}
        Value::Number(_) | Value::String(_) => leaves.push((path.clone(), data)),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                push(path, &index.to_string());
                gather(item, path, leaves);
                path.truncate(length);
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                push(path, key);
                gather(value, path, leaves);
                path.truncate(length);
            }
        }
    }
}

fn says(text: &str, leaf: &Value) -> bool {
    // A short value as a word of its own: 5 is not in 25, nor the id "a" in "chats".
    let alone = |word: &str| {
        text.match_indices(word).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + word.len()..].chars().next();
            !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
        })
    };
    match leaf {
        Value::String(it) if it.trim().len() >= LONG_WORD => text.contains(it.trim()),
        Value::String(it) => alone(it.trim()),
        other => alone(&other.to_string()),
    }
}

/// A step of a JSON Pointer (RFC 6901).
fn push(path: &mut String, key: &str) {
    path.push('/');
    path.push_str(&key.replace('~', "~0").replace('/', "~1"));
}

fn place(path: &str) -> &str {
    if path.is_empty() { "the whole" } else { path }
}

fn quote(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(LONGEST_QUOTE) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn check(texts: &[&str], structured: &str, expected: Expect) {
        let raw = json!({"content": texts.iter().map(|it| json!({"type": "text", "text": it})).collect::<Vec<_>>()});
        let blocks: Vec<ContentBlock> = raw["content"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| ContentBlock::from_raw(&RawJson::from(it)))
            .collect();
        let said = match compare(&blocks, &RawJson::parse(structured).unwrap()) {
            None => "nothing to tell".to_owned(),
            Some(Comparison::Lossy { more, of, named }) => {
                format!("{more} of {of} more\n{}", named.join("\n"))
            }
            Some(Comparison::Differs { places, named }) => format!("{places} places\n{}", named.join("\n")),
        };
        expected.assert_eq(&said);
    }

    #[test]
    fn a_text_that_leaves_values_out_is_told_and_a_mirror_is_not() {
        check(
            &["Retrieved 2 chats"],
            r#"{"chats":[{"id":"a","n":25},{"id":"b","n":2}]}"#,
            expect![[r#"
            3 of 4 more
            /chats/0/id: "a"
            /chats/0/n: 25
            /chats/1/id: "b""#]],
        );
        check(
            &["5 and 25, all fine, 12"],
            r#"{"a":5,"b":2,"c":12,"d":null,"e":true,"f":""}"#,
            expect![[r#"
            1 of 3 more
            /b: 2"#]],
        );
        check(&[r#"{ "a": 1.0 }"#], r#"{"a":1}"#, expect!["nothing to tell"]);
        check(&["[1,2]"], r#"{"result":[1,2]}"#, expect!["nothing to tell"]);
        check(
            &[r#"{"id":1}"#, r#"{"id":2}"#],
            r#"{"result":[{"id":1},{"id":2}]}"#,
            expect!["nothing to tell"],
        );
        check(&["hello"], r#"{"result":"hello"}"#, expect!["nothing to tell"]);
        check(&["", " "], r#"{"a":1}"#, expect!["nothing to tell"]);
    }

    #[test]
    fn json_that_says_something_else_is_told_place_by_place() {
        check(
            &[r#"{"id":1915883588174806058,"rows":[1,2,3],"only":"here"}"#],
            r#"{"id":1915883588174806059,"rows":[1,2],"a/b":{"c":true}}"#,
            expect![[r#"
                4 places
                /id: 1915883588174806058 in content, 1915883588174806059 in structuredContent
                /rows/2: 3 in content, nothing in structuredContent
                /only: "here" in content, nothing in structuredContent
                /a~1b: nothing in content, {"c":true} in structuredContent"#]],
        );
        check(
            &[r#"Note."#, r#"{"id":1}"#],
            r#"{"id":2}"#,
            expect![[r#"
            1 places
            /id: 1 in content, 2 in structuredContent"#]],
        );
    }

    #[test]
    fn what_is_large_is_not_compared_and_long_values_are_cut() {
        let long = "x".repeat(LARGEST);
        check(&["short"], &json!({"a": long}).to_string(), expect!["nothing to tell"]);
        check(
            &["short"],
            &json!({"a": "y".repeat(200)}).to_string(),
            expect![[r#"
            1 of 1 more
            /a: "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy…"#]],
        );
    }
}
