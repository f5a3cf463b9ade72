//! A JSON text of which only the beginning is there: a tool's arguments while a model writes them.
//!
//! Deliberately absent: time, and any reading of values. What is there keeps its digits and the order of its keys.

use usher_protocol::RawJson;

/// The value that a beginning of a JSON text stands for: cut behind the last thing that is certain, and closed. A text in quotes is
/// certain up to where it came; a key, a number or a word that may still become another one is left out. `None` when nothing is
/// certain yet, or when it is no beginning of JSON.
pub fn beginning(text: &str) -> Option<RawJson> {
    let certain = Certain::of(text)?;
    let mut whole = String::with_capacity(certain.end + certain.open.len() + 1);
    whole.push_str(&text[..certain.end]);
    if certain.in_text {
        whole.push('"');
    }
    whole.extend(certain.open.iter().rev().map(|it| *it as char));
    RawJson::parse(whole).ok()
}

/// The beginnings of an object in as many steps, each with more of it than the one before. The whole is none of them.
pub fn steps(text: &str, count: u32) -> Vec<RawJson> {
    let mut found: Vec<RawJson> = Vec::new();
    let whole = beginning(text);
    for step in 1..=count {
        let end = text.len() as u64 * u64::from(step) / (u64::from(count) + 1);
        let end = text.floor_char_boundary(usize::try_from(end).unwrap_or(usize::MAX));
        let Some(value) = beginning(&text[..end]).filter(RawJson::is_object) else { continue };
        if Some(&value) != whole.as_ref() && found.last() != Some(&value) {
            found.push(value);
        }
    }
    found
}

/// How much of a beginning is certain.
struct Certain {
    /// Bytes of it.
    end: usize,
    /// What closes what is open there, the outermost first.
    open: Vec<u8>,
    /// Whether that is in the middle of a text in quotes.
    in_text: bool,
}

impl Certain {
    fn of(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let mut open = Vec::new();
        // What is open at the last certain place is what is open at the end: only a certain place opens or closes anything.
        let mut end = None;
        // In an object a text is a key, until a colon comes.
        let mut is_key = false;
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'{' | b'[' => {
                    open.push(if byte == b'{' { b'}' } else { b']' });
                    is_key = byte == b'{';
                    at += 1;
                    end = Some(at);
                }
                b'}' | b']' => {
                    open.pop();
                    is_key = false;
                    at += 1;
                    end = Some(at);
                }
                b',' => {
                    // A number or a word that stood before it is whole.
                    end = Some(at);
                    is_key = open.last() == Some(&b'}');
                    at += 1;
                }
                b':' => {
                    is_key = false;
                    at += 1;
                }
                b'"' => {
                    let (stop, closed) = text_end(bytes, at + 1);
                    match (closed, is_key) {
                        (true, true) => at = stop,
                        (true, false) => {
                            at = stop;
                            end = Some(at);
                        }
                        (false, true) => break,
                        (false, false) => return Some(Self { end: stop, open, in_text: true }),
                    }
                }
                _ => at += 1,
            }
        }
        end.map(|end| Self { end, open, in_text: false })
    }
}

/// Where a text in quotes ends, and whether it does. One that does not is certain up to there: half an escape is left out, and so is
/// half of a character that is written as two.
fn text_end(bytes: &[u8], start: usize) -> (usize, bool) {
    let mut at = start;
    // Where the first half of such a character began, if it was the last thing.
    let mut half = None;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => return (at + 1, true),
            b'\\' => {
                let length = if bytes.get(at + 1) == Some(&b'u') { 6 } else { 2 };
                let Some(escape) = bytes.get(at..at + length) else { return (half.unwrap_or(at), false) };
                half = is_first_half(escape).then_some(at);
                at += length;
            }
            _ => {
                half = None;
                at += 1;
            }
        }
    }
    (half.unwrap_or(at), false)
}

/// Whether an escape is `\ud800` to `\udbff`, which another one follows.
fn is_first_half(escape: &[u8]) -> bool {
    let digits = escape.get(2..4).and_then(|it| std::str::from_utf8(it).ok());
    digits.is_some_and(|it| matches!(u8::from_str_radix(it, 16), Ok(0xd8..=0xdb)))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const INPUT: &str = r#"{"query": "Globex \"north\" \u00e9\n\ud83d\ude00 é", "limit": 12000000000000000000000, "deep": {"flags": [true, false, null, -1.5e3], "none": {}, "__proto__": {"x": 1}}, "last": "end"}"#;

    /// Whether a value is the beginning of another one: no key, no item and no character that the other does not have.
    fn begins(part: &Value, whole: &Value) -> bool {
        match (part, whole) {
            (Value::String(part), Value::String(whole)) => whole.starts_with(part.as_str()),
            (Value::Array(part), Value::Array(whole)) => {
                part.len() <= whole.len() && part.iter().zip(whole).all(|(part, whole)| begins(part, whole))
            }
            (Value::Object(part), Value::Object(whole)) => {
                part.iter().all(|(key, part)| whole.get(key).is_some_and(|whole| begins(part, whole)))
            }
            _ => part == whole,
        }
    }

    #[test]
    fn every_beginning_is_a_value_that_the_whole_begins_with() {
        let whole: Value = serde_json::from_str(INPUT).unwrap();
        let mut most = 0;
        for end in (1..=INPUT.len()).filter(|it| INPUT.is_char_boundary(*it)) {
            let value = beginning(&INPUT[..end]).unwrap_or_else(|| panic!("nothing of {:?}", &INPUT[..end]));
            assert!(begins(&value.to_value(), &whole), "{:?} became {value}", &INPUT[..end]);
            assert!(value.bytes() + 8 >= most, "{:?} became shorter: {value}", &INPUT[..end]);
            most = most.max(value.bytes());
        }
        assert_eq!(beginning(INPUT).unwrap().get(), INPUT);
    }

    #[test]
    fn what_may_still_become_something_else_is_left_out() {
        let cases = [
            ("", None),
            ("  ", None),
            ("12", None),
            ("{", Some("{}")),
            (r#"{"a"#, Some("{}")),
            (r#"{"a":"#, Some("{}")),
            (r#"{"a": 12"#, Some("{}")),
            (r#"{"a": 12,"#, Some(r#"{"a": 12}"#)),
            (r#"{"a": 12, "b"#, Some(r#"{"a": 12}"#)),
            (r#"{"a": "x\"#, Some(r#"{"a": "x"}"#)),
            (r#"{"a": "x\u00"#, Some(r#"{"a": "x"}"#)),
            (r#"{"a": "x\ud83d"#, Some(r#"{"a": "x"}"#)),
            (r#"{"a": "x\ud83d\ude0"#, Some(r#"{"a": "x"}"#)),
            (r#"{"a": tru"#, Some("{}")),
            (r#"{"a": true"#, Some("{}")),
            (r#"{"a": true}"#, Some(r#"{"a": true}"#)),
            (r#"{"a": [1, 2"#, Some(r#"{"a": [1]}"#)),
            (r#"{"a": ["k", "l"#, Some(r#"{"a": ["k", "l"]}"#)),
            (r#"{"a": [["#, Some(r#"{"a": [[]]}"#)),
            ("{]", None),
            (r#"{"a" "b"#, Some("{}")),
            (r#"{"a": x, "#, None),
        ];
        for (text, value) in cases {
            assert_eq!(beginning(text).as_ref().map(RawJson::get), value, "of {text:?}");
        }
    }

    #[test]
    fn steps_grow_and_end_before_the_whole() {
        let all = steps(INPUT, 8);
        assert!(all.len() > 4, "{all:?}");
        for pair in all.windows(2) {
            assert!(begins(&pair[0].to_value(), &pair[1].to_value()), "{pair:?}");
        }
        assert_ne!(all.last().unwrap().get(), INPUT);
        assert_eq!([steps("{}", 5), steps("[1,2,3]", 5), steps("", 5)], [const { Vec::new() }; 3]);
    }
}
