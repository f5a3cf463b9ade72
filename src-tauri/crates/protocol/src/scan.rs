//! Walking JSON text without building it. The text is known to be JSON; if it were not, the walk would end early and never panic.

use std::{borrow::Cow, ops::Range};

/// What a JSON value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonKind {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
    /// `"…"`
    String,
    /// A number.
    Number,
    /// `true` or `false`
    Boolean,
    /// `null`
    Null,
}

impl JsonKind {
    /// Its name in JSON Schema and in the window.
    pub fn name(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Null => "null",
        }
    }

    /// The kind of the value that a text is, told by its first character.
    pub fn of(text: &str) -> Self {
        match text.as_bytes().first() {
            Some(b'{') => Self::Object,
            Some(b'[') => Self::Array,
            Some(b'"') => Self::String,
            Some(b't' | b'f') => Self::Boolean,
            Some(b'-' | b'0'..=b'9') => Self::Number,
            _ => Self::Null,
        }
    }

    /// Whether it has children.
    pub fn is_container(self) -> bool {
        matches!(self, Self::Object | Self::Array)
    }
}

/// A child of a container: where its parts stand in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child {
    /// The key with its quotes; empty in an array.
    pub key: Range<usize>,
    /// The value.
    pub value: Range<usize>,
}

/// The children of the container that starts at `start`; none for a scalar.
pub fn children(text: &str, start: usize) -> Children<'_> {
    let bytes = text.as_bytes();
    let at = skip_space(bytes, start);
    match bytes.get(at) {
        Some(b'{') => Children { bytes, at: at + 1, object: true },
        Some(b'[') => Children { bytes, at: at + 1, object: false },
        _ => Children { bytes, at: bytes.len(), object: false },
    }
}

/// The children of a container, one after the other; see [`children`].
#[derive(Debug, Clone)]
pub struct Children<'t> {
    bytes: &'t [u8],
    at: usize,
    object: bool,
}

impl Iterator for Children<'_> {
    type Item = Child;

    fn next(&mut self) -> Option<Child> {
        let mut at = skip_space(self.bytes, self.at);
        if self.bytes.get(at) == Some(&b',') {
            at = skip_space(self.bytes, at + 1);
        }
        if matches!(self.bytes.get(at), None | Some(b']' | b'}')) {
            self.at = self.bytes.len();
            return None;
        }
        let mut key = at..at;
        if self.object {
            key.end = value_end(self.bytes, at);
            // The colon and the space around it.
            at = skip_space(self.bytes, skip_space(self.bytes, key.end) + 1);
        }
        let end = value_end(self.bytes, at);
        if end <= at {
            self.at = self.bytes.len();
            return None;
        }
        self.at = end;
        Some(Child { key, value: at..end })
    }
}

/// Where the value that starts at `at` ends. Containers are skipped by counting, not by recursion.
pub fn value_end(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at) {
        Some(b'"') => string_end(bytes, at),
        Some(b'{' | b'[') => {
            let mut depth = 0_usize;
            let mut at = at;
            while let Some(&byte) = bytes.get(at) {
                match byte {
                    b'"' => {
                        at = string_end(bytes, at);
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => {
                        depth -= 1;
                        if depth == 0 {
                            return at + 1;
                        }
                    }
                    _ => {}
                }
                at += 1;
            }
            bytes.len()
        }
        _ => {
            let rest = bytes.get(at..).unwrap_or_default();
            let length = rest
                .iter()
                .position(|byte| matches!(byte, b',' | b']' | b'}' | b':' | b' ' | b'\t' | b'\n' | b'\r'));
            at + length.unwrap_or(rest.len())
        }
    }
}

/// Where the string that opens at `quote` ends: the place after its closing quote.
pub fn string_end(bytes: &[u8], quote: usize) -> usize {
    /// How many words are looked at before the search for long strings pays.
    const SHORT: usize = 4;
    let mut at = quote + 1;
    let mut words = 0;
    while words < SHORT
        && let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk)
    {
        match first_of(*word, b'"', b'\\') {
            None => at += WORD,
            Some(place) if word.get(place) == Some(&b'"') => return at + place + 1,
            Some(place) => at += place + 2,
        }
        words += 1;
    }
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        match memchr::memchr2(b'"', b'\\', rest) {
            None => return bytes.len(),
            Some(place) if rest.get(place) == Some(&b'"') => return at + place + 1,
            Some(place) => at += place + 2,
        }
    }
}

/// The bytes that are looked at together.
const WORD: usize = 8;

/// Where the first of two bytes stands in a word. Most strings are short; a loop over their bytes would guess wrong at the end of each.
fn first_of(word: [u8; WORD], one: u8, other: u8) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([1; WORD]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; WORD]);
    let word = u64::from_le_bytes(word);
    // The high bit of each byte that is zero, and of no byte before the first such.
    let zeros = |it: u64| it.wrapping_sub(ONES) & !it & HIGH;
    let found = zeros(word ^ (ONES * u64::from(one))) | zeros(word ^ (ONES * u64::from(other)));
    usize::try_from(found.trailing_zeros()).ok().map(|bit| bit / 8).filter(|it| *it < WORD)
}

/// The first place from `at` on that is no white space.
pub fn skip_space(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count()
}

/// A string without quotes and escapes. Half of a surrogate pair has no character; it becomes U+FFFD.
pub fn unquote(quoted: &str) -> Cow<'_, str> {
    let inner = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(quoted);
    if !inner.contains('\\') {
        return Cow::Borrowed(inner);
    }
    Cow::Owned(serde_json::from_str(quoted).unwrap_or_else(|_| unescape_loosely(inner)))
}

/// The start of a string as [`unquote`] gives it: at least so many characters, if it has them. The rest is not read.
pub fn unquote_start(quoted: &str, characters: usize) -> Cow<'_, str> {
    let bytes = quoted.as_bytes();
    let mut at = 1;
    // Half of a surrogate pair is half a character. Between the halves the cut is behind all that was asked for, or behind enough.
    for _ in 0..2 * characters {
        at += match (bytes.get(at), bytes.get(at + 1)) {
            (Some(b'\\'), Some(b'u')) => 6,
            (Some(b'\\'), _) => 2,
            (Some(..0xc0), _) => 1,
            (Some(0xc0..0xe0), _) => 2,
            (Some(0xe0..0xf0), _) => 3,
            (Some(0xf0..), _) => 4,
            (None, _) => break,
        };
    }
    match quoted.get(..at) {
        Some(start) if at + 1 < quoted.len() => Cow::Owned(unquote(&format!("{start}\"")).into_owned()),
        Some(_) | None => unquote(quoted),
    }
}

fn unescape_loosely(inner: &str) -> String {
    let mut out = String::with_capacity(inner.len());
    let mut units: Vec<u16> = Vec::new();
    let mut rest = inner;
    while !rest.is_empty() {
        if let Some(hex) = rest.strip_prefix("\\u").and_then(|escape| escape.get(..4)) {
            units.push(u16::from_str_radix(hex, 16).unwrap_or(0xfffd));
            rest = rest.get(6..).unwrap_or_default();
            continue;
        }
        out.push_str(&String::from_utf16_lossy(&units));
        units.clear();
        if let Some(escape) = rest.strip_prefix('\\') {
            let escaped = escape.chars().next().unwrap_or('\\');
            out.push(match escaped {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'b' => '\u{8}',
                'f' => '\u{c}',
                other => other,
            });
            rest = escape.get(escaped.len_utf8()..).unwrap_or_default();
        } else {
            let (run, further) = rest.split_at(rest.find('\\').unwrap_or(rest.len()));
            out.push_str(run);
            rest = further;
        }
    }
    out.push_str(&String::from_utf16_lossy(&units));
    out
}

/// The start of a text, at most `limit` characters, with a mark where it was cut.
pub fn abridge(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((cut, _)) => format!("{}…", text.get(..cut).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<(String, &str)> {
        children(text, 0).map(|child| (unquote(&text[child.key]).into_owned(), &text[child.value])).collect()
    }

    #[test]
    fn children_are_the_exact_texts() {
        let text = r#" { "a" : 1e400 , "b\"}\u0041":[1, "]"], "" : {"x":{}},"c":null} "#;
        let expected = [("a", "1e400"), ("b\"}A", r#"[1, "]"]"#), ("", r#"{"x":{}}"#), ("c", "null")];
        assert_eq!(parts(text), expected.map(|(key, value)| (key.to_owned(), value)));
        assert_eq!(parts("[ ]"), []);
        assert_eq!(parts("{}"), []);
        assert_eq!(
            parts("[[],{} , -0.10]").iter().map(|part| part.1).collect::<Vec<_>>(),
            ["[]", "{}", "-0.10"]
        );
        assert_eq!(parts("12"), []);
    }

    #[test]
    fn a_string_ends_where_reading_byte_by_byte_says() {
        fn slowly(bytes: &[u8]) -> usize {
            let mut at = 1;
            while let Some(&byte) = bytes.get(at) {
                match byte {
                    b'"' => return at + 1,
                    b'\\' => at += 2,
                    _ => at += 1,
                }
            }
            bytes.len()
        }
        // Neighbours of the two bytes that are looked for, and of those with the high bit, which a sum could carry into.
        let fillers = *b"a!#[]\x00\x01\x7f\xa2\xdc\xff";
        for length in 0..70_usize {
            for (first, second) in [(b'"', b'"'), (b'\\', b'"'), (b'\\', b'\\'), (b'"', b'\\')] {
                for gap in [1, 2, 3, 7, 8, 9, 31, 33] {
                    let mut bytes = vec![b'"'];
                    bytes.extend((0..length).map(|it| fillers[it % fillers.len()]));
                    bytes.push(first);
                    bytes.extend((1..gap).map(|it| fillers[(it + length) % fillers.len()]));
                    bytes.extend([second, b',', b'"']);
                    assert_eq!(string_end(&bytes, 0), slowly(&bytes), "{bytes:?}");
                    bytes.truncate(1 + length + 1);
                    assert_eq!(string_end(&bytes, 0), slowly(&bytes), "{bytes:?}");
                }
            }
        }
    }

    #[test]
    fn half_pairs_are_replaced_and_whole_ones_kept() {
        assert_eq!(unquote(r#""\ud83d\ude05""#), "😅");
        assert_eq!(unquote(r#""a\ud83dz\n\ud83d\ude05""#), "a\u{fffd}z\n😅");
        assert_eq!(unquote(r#""plain""#), "plain");
    }

    #[test]
    fn a_start_is_the_start_of_the_whole() {
        let pair = r"\ud83d\ude05";
        for text in [
            r#""plain and long enough""#.to_owned(),
            format!("\"{}\"", pair.repeat(9)),
            format!("\"x{}\"", r"\ud800\n\\\u0041é😅".repeat(9)),
            r#""""#.to_owned(),
            r#""ab"#.to_owned(),
            r#""\"#.to_owned(),
        ] {
            let whole: Vec<char> = unquote(&text).chars().collect();
            for count in 0..20 {
                let start: Vec<char> = unquote_start(&text, count).chars().take(count).collect();
                assert_eq!(start, whole[..count.min(whole.len())], "{text} {count}");
            }
        }
        let long = format!("\"{}\"", "a".repeat(1_000));
        assert!(unquote_start(&long, 10).len() < 30);
    }

    #[test]
    fn text_that_is_not_json_ends_the_walk() {
        for text in ["{", "[", "{\"a", "{\"a\"", "{\"a\":", "[1", "[,", "{\"a\":}", "", "]", "[1 2", "{:}"] {
            assert!(children(text, 0).count() <= 2, "{text}");
        }
    }

    #[test]
    fn a_million_levels_are_no_recursion() {
        let text = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
        assert_eq!(children(&text, 0).count(), 1);
    }
}
