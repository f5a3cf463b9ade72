//! JSON text as a validator walks it: an index of where each value stands, in place of a tree.
//!
//! The index has sixteen bytes a value, whatever the value is, and numbers keep all their digits. Of a key that comes twice the last
//! counts, as it does for whoever reads the text. Deliberately absent: a check that the text is JSON; it is known to be.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
};

use jsonschema::{
    JsonType,
    json::{Array, Json, JsonNumber, Node, NodeIdentity, Object, cmp, unique},
};
use serde_json::{Number, Value};
use usher_protocol::scan::{string_end, unquote, value_end};

/// How deep values may stand in each other. A validator descends with a schema that names itself, and its stack has an end.
pub(super) const DEEPEST: usize = 128;
/// The most values that are indexed; of more the index would be larger than the memory that a check is worth.
pub(super) const MOST_PLACES: usize = 1 << 24;
/// An object with more members than this is found in by a table.
const FEW_MEMBERS: usize = 64;
/// The longest number, in bytes. A validator reads it several times, and as a whole.
const LONGEST_NUMBER: usize = 64 << 10;
/// How much of a value an error quotes, in bytes of its text. Its message is cut again.
const QUOTED: usize = 2_048;

/// The text and its index.
pub(super) struct Text<'t> {
    text: &'t str,
    places: Vec<Place>,
    /// The members of large objects, by the place of the object.
    large: BTreeMap<u32, HashMap<Cow<'t, str>, u32>>,
}

/// Where a value stands.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Where its key stands, with its quote; [`NO_KEY`] for an element or the whole.
    key: u32,
    start: u32,
    end: u32,
    /// The place of what follows it, past all that it holds.
    next: u32,
}

const NO_KEY: u32 = u32::MAX;

/// Why a text has no index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoIndex {
    #[error("its values stand in each other deeper than {DEEPEST}")]
    Deep,
    #[error("it is too long")]
    Long,
    #[error("it holds more than {MOST_PLACES} values")]
    Many,
    #[error("it holds a number of more than {LONGEST_NUMBER} digits")]
    Digits,
}

/// A container whose end is not reached yet.
struct Open {
    place: usize,
    object: bool,
    members: usize,
}

impl<'t> Text<'t> {
    /// Reads where each value stands.
    pub(super) fn index(text: &'t str) -> Result<Self, NoIndex> {
        if u32::try_from(text.len()).is_err() {
            return Err(NoIndex::Long);
        }
        let bytes = text.as_bytes();
        // A guess; growing a large index costs more than the room that it may leave.
        let places = Vec::with_capacity((text.len() / 16).min(MOST_PLACES));
        let mut all = Self { text, places, large: BTreeMap::new() };
        let mut open: Vec<Open> = Vec::new();
        let mut key = NO_KEY;
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' | b',' | b':' => at += 1,
                b'"' if key == NO_KEY && open.last().is_some_and(|it| it.object) => {
                    key = short(at);
                    at = string_end(bytes, at);
                }
                b'}' | b']' => {
                    at += 1;
                    let Some(closed) = open.pop() else { break };
                    all.close(&closed, at);
                }
                _ => {
                    if let Some(container) = open.last_mut() {
                        container.members += 1;
                    }
                    let place = all.places.len();
                    if place >= MOST_PLACES {
                        return Err(NoIndex::Many);
                    }
                    let container = matches!(byte, b'{' | b'[');
                    let end = if container { at + 1 } else { value_end(bytes, at) };
                    if byte != b'"' && end - at > LONGEST_NUMBER {
                        return Err(NoIndex::Digits);
                    }
                    all.places.push(Place { key, start: short(at), end: short(end), next: short(place + 1) });
                    if container {
                        if open.len() >= DEEPEST {
                            return Err(NoIndex::Deep);
                        }
                        open.push(Open { place, object: byte == b'{', members: 0 });
                    }
                    key = NO_KEY;
                    // A byte that starts no value must not hold the walk up.
                    at = end.max(at + 1);
                }
            }
        }
        Ok(all)
    }

    fn close(&mut self, closed: &Open, end: usize) {
        let next = short(self.places.len());
        let Some(place) = self.places.get_mut(closed.place) else { return };
        (place.end, place.next) = (short(end), next);
        if closed.object && closed.members > FEW_MEMBERS {
            let object = short(closed.place);
            let members = Children { text: self, at: object + 1, end: next }.map(|it| (self.key(it), it));
            let members = members.collect();
            self.large.insert(object, members);
        }
    }

    fn place(&self, at: u32) -> Place {
        // Every place that is asked for was given out by this index.
        const NOWHERE: Place = Place { key: NO_KEY, start: 0, end: 0, next: u32::MAX };
        self.places.get(long(at)).copied().unwrap_or(NOWHERE)
    }

    fn slice(&self, place: Place) -> &'t str {
        self.text.get(long(place.start)..long(place.end)).unwrap_or_default()
    }

    fn quoted_key(&self, at: u32) -> &'t str {
        let place = self.place(at);
        let (start, value, bytes) = (long(place.key), long(place.start), self.text.as_bytes());
        // Between a key and its value stands a colon and nothing but space, so a quote right before a colon is the key's last.
        let end = match value.checked_sub(2).and_then(|it| bytes.get(it..value)) {
            Some(b"\":") => value - 1,
            Some(_) | None => string_end(bytes, start),
        };
        self.text.get(start..end).unwrap_or_default()
    }

    /// The first byte of a value, which tells its kind.
    fn first(&self, place: Place) -> Option<u8> {
        self.text.as_bytes().get(long(place.start)).copied()
    }

    fn key(&self, at: u32) -> Cow<'t, str> {
        unquote(self.quoted_key(at))
    }

    /// The digits of the number at a JSON pointer.
    pub(super) fn number_at(&self, pointer: &str) -> Option<&str> {
        let mut node = self.root();
        for token in pointer.split('/').skip(1) {
            let token = token.replace("~1", "/").replace("~0", "~");
            node = match (node.as_array(), node.as_object()) {
                (Some(array), _) => array.elements().nth(token.parse().ok()?)?,
                (None, object) => object?.get(&JsonText::prepare_key(&token))?,
            };
        }
        node.as_number().map(|it| it.0)
    }

    /// The whole value.
    pub(super) fn root(&self) -> TextNode<'_> {
        TextNode::Value { text: self, at: 0 }
    }
}

/// Offsets and places are below 2³², as [`Text::index`] made sure.
fn short(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

fn long(at: u32) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}

/// Lets the validator read [`Text`].
pub(super) struct JsonText;

impl Json for JsonText {
    type Node<'a> = TextNode<'a>;
    type PreparedKey = PreparedKey;
    type StringBuffer = ();
    const KEYS_PER_LOOKUP: usize = 4;
    const ACYCLIC: bool = true;

    fn prepare_key(key: &str) -> PreparedKey {
        PreparedKey { plain: key.to_owned(), quoted: Value::from(key).to_string() }
    }

    fn with_string_node<T>((): &mut (), string: &str, f: impl FnOnce(TextNode<'_>) -> T) -> T {
        f(TextNode::Name(string))
    }
}

/// A key that a schema names, as it is and as it is usually written.
pub(super) struct PreparedKey {
    plain: String,
    quoted: String,
}

/// A value of a [`Text`], or the name of a member.
#[derive(Clone, Copy)]
pub(super) enum TextNode<'a> {
    Value { text: &'a Text<'a>, at: u32 },
    Name(&'a str),
}

impl<'a> TextNode<'a> {
    /// How many values it is: itself and all that it holds.
    pub(super) fn places(&self) -> usize {
        match self {
            Self::Value { text, at } => long(text.place(*at).next.saturating_sub(*at)),
            Self::Name(_) => 1,
        }
    }

    /// The text of a value; none of a name, which stands nowhere.
    pub(super) fn text(&self) -> &'a str {
        match self {
            Self::Value { text, at } => text.slice(text.place(*at)),
            Self::Name(_) => "",
        }
    }

    fn whole(&self) -> Value {
        match self {
            Self::Name(name) => Value::from(*name),
            Self::Value { .. } => {
                let text = self.text();
                // What a tree cannot hold, such as a number beyond floating point, is quoted as it is written.
                serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
            }
        }
    }

    fn container(&self, kind: JsonType) -> Option<TextContainer<'a>> {
        match self {
            Self::Value { text, at } if self.json_type() == kind => Some(TextContainer { text, at: *at }),
            Self::Value { .. } | Self::Name(_) => None,
        }
    }
}

impl<'a> Node<'a, JsonText> for TextNode<'a> {
    type Object = TextContainer<'a>;
    type Array = TextContainer<'a>;
    type Number = TextNumber<'a>;

    fn as_object(&self) -> Option<TextContainer<'a>> {
        self.container(JsonType::Object)
    }

    fn as_array(&self) -> Option<TextContainer<'a>> {
        self.container(JsonType::Array)
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        match self {
            Self::Name(name) => Some(Cow::Borrowed(name)),
            Self::Value { .. } => {
                let text = self.text();
                text.starts_with('"').then(|| unquote(text))
            }
        }
    }

    fn as_number(&self) -> Option<TextNumber<'a>> {
        let text = self.text();
        text.starts_with(|it: char| it == '-' || it.is_ascii_digit()).then_some(TextNumber(text))
    }

    fn as_boolean(&self) -> Option<bool> {
        match self.text() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    fn is_null(&self) -> bool {
        self.text() == "null"
    }

    fn json_type(&self) -> JsonType {
        match self {
            Self::Name(_) => JsonType::String,
            Self::Value { text, at } => match text.first(text.place(*at)) {
                Some(b'{') => JsonType::Object,
                Some(b'[') => JsonType::Array,
                Some(b'"') => JsonType::String,
                Some(b't' | b'f') => JsonType::Boolean,
                Some(b'-' | b'0'..=b'9') => JsonType::Number,
                Some(_) | None => JsonType::Null,
            },
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        match expected {
            Value::Null => self.is_null(),
            Value::Bool(expected) => self.as_boolean() == Some(*expected),
            Value::Number(expected) => {
                self.as_number().is_some_and(|number| cmp::equal_numbers(&number, expected))
            }
            Value::String(expected) => self.as_string().is_some_and(|text| text == expected.as_str()),
            Value::Array(expected) => self.as_array().is_some_and(|list| {
                let mut rest = expected.iter();
                list.elements().all(|it| rest.next().is_some_and(|expected| it.equals_value(expected)))
                    && rest.next().is_none()
            }),
            Value::Object(members) => self.as_object().is_some_and(|object| {
                let count = object.children().count();
                // A member that stands twice is one, which only a tree knows.
                if count > members.len() {
                    return cmp::equal(&self.whole(), expected);
                }
                let is_equal = |(name, expected): (&String, _)| {
                    object.find(name).is_some_and(|it| it.equals_value(expected))
                };
                count == members.len() && members.iter().all(is_equal)
            }),
        }
    }

    /// Asked for where an error quotes the value; one that is long would be cut there and is so here.
    fn to_value(&self) -> Cow<'a, Value> {
        let text = self.text();
        let value = match text.get(..text.floor_char_boundary(QUOTED)) {
            Some(start) if text.len() > QUOTED => Value::from(format!("{start}…")),
            Some(_) | None => self.whole(),
        };
        Cow::Owned(value)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        match self {
            Self::Value { text, at } => Some(NodeIdentity::tagged(text.text.as_ptr().addr(), *at)),
            Self::Name(_) => None,
        }
    }
}

/// An object or an array.
#[derive(Clone, Copy)]
pub(super) struct TextContainer<'a> {
    text: &'a Text<'a>,
    at: u32,
}

impl<'a> TextContainer<'a> {
    fn children(&self) -> Children<'a> {
        Children { text: self.text, at: self.at + 1, end: self.text.place(self.at).next }
    }

    /// The member of this name, of which nothing was prepared.
    fn find(&self, name: &str) -> Option<TextNode<'a>> {
        let found = match self.text.large.get(&self.at) {
            Some(members) => members.get(name).copied(),
            None => self.children().filter(|it| self.text.key(*it) == name).last(),
        };
        found.map(|at| TextNode::Value { text: self.text, at })
    }
}

/// The places of what a container holds.
pub(super) struct Children<'a> {
    text: &'a Text<'a>,
    at: u32,
    end: u32,
}

impl Iterator for Children<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let at = self.at;
        (at < self.end).then(|| {
            self.at = self.text.place(at).next;
            at
        })
    }
}

impl<'a> Object<'a, JsonText> for TextContainer<'a> {
    type Node = TextNode<'a>;
    type MemberName = Cow<'a, str>;
    type MembersIter = Members<'a>;

    fn len(&self) -> usize {
        self.children().count()
    }

    fn get(&self, key: &PreparedKey) -> Option<TextNode<'a>> {
        if self.text.large.contains_key(&self.at) {
            return self.find(&key.plain);
        }
        let is_it = |at: &u32| {
            let start = long(self.text.place(*at).key);
            let rest = self.text.text.get(start..).unwrap_or_default();
            // A key that is written with escapes is another text and may be the same key.
            rest.starts_with(key.quoted.as_str()) || {
                let quoted = self.text.quoted_key(*at);
                quoted.contains('\\') && unquote(quoted) == key.plain.as_str()
            }
        };
        self.children().filter(is_it).last().map(|at| TextNode::Value { text: self.text, at })
    }

    fn members(&self) -> Members<'a> {
        Members(self.children())
    }
}

/// The members of an object.
pub(super) struct Members<'a>(Children<'a>);

impl<'a> Iterator for Members<'a> {
    type Item = (Cow<'a, str>, TextNode<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.0.next()?;
        Some((self.0.text.key(at), TextNode::Value { text: self.0.text, at }))
    }
}

impl<'a> Array<'a, JsonText> for TextContainer<'a> {
    type Node = TextNode<'a>;
    type ElementsIter = Elements<'a>;

    fn len(&self) -> usize {
        self.children().count()
    }

    fn elements(&self) -> Elements<'a> {
        Elements(self.children())
    }

    fn is_unique(&self) -> bool {
        let values: Vec<Value> = self.elements().map(|it| it.whole()).collect();
        unique::is_unique(&values)
    }
}

/// The elements of an array.
pub(super) struct Elements<'a>(Children<'a>);

impl<'a> Iterator for Elements<'a> {
    type Item = TextNode<'a>;

    fn next(&mut self) -> Option<TextNode<'a>> {
        let at = self.0.next()?;
        Some(TextNode::Value { text: self.0.text, at })
    }
}

/// A number as it is written.
pub(super) struct TextNumber<'a>(&'a str);

impl JsonNumber for TextNumber<'_> {
    fn as_u64(&self) -> Option<u64> {
        self.0.parse().ok()
    }

    fn as_i64(&self) -> Option<i64> {
        self.0.parse().ok()
    }

    fn as_f64(&self) -> Option<f64> {
        self.0.parse().ok().filter(|it: &f64| it.is_finite())
    }

    fn as_str(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.0)
    }

    fn to_number(&self) -> Cow<'_, Number> {
        // A number beyond floating point is the largest that it has; this is asked for by errors and comparisons of trees only.
        let beyond = if self.0.starts_with('-') { f64::MIN } else { f64::MAX };
        let number = self.0.parse().ok().or_else(|| Number::from_f64(beyond));
        Cow::Owned(number.unwrap_or_else(|| Number::from(0)))
    }

    fn is_integer(&self) -> bool {
        is_integer(self.0)
    }

    fn is_written_as_integer(&self) -> bool {
        !self.0.contains(['.', 'e', 'E'])
    }
}

/// Whether a number has no fraction, whatever its size and the way in which it is written.
fn is_integer(number: &str) -> bool {
    if !number.contains(['.', 'e', 'E']) {
        return true;
    }
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let whole = whole.trim_start_matches('-');
    if fraction.is_empty() && whole.trim_matches('0').is_empty() {
        return true;
    }
    // An exponent beyond 64 bits moves the point past every digit that a text can have.
    let exponent = exponent.parse().unwrap_or(if exponent.starts_with('-') { i64::MIN } else { i64::MAX });
    let digits = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    match fraction {
        "" => exponent >= -digits(whole.len() - whole.trim_end_matches('0').len()),
        _ => exponent >= digits(fraction.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn valid(schema: &str, text: &str) -> bool {
        let schema: Value = serde_json::from_str(schema).unwrap();
        let validator = jsonschema::options_for::<JsonText>().build(&schema).unwrap();
        let text = Text::index(text).unwrap();
        let node = text.root();
        let valid = validator.is_valid(node);
        assert_eq!(valid, validator.iter_errors(node).next().is_none(), "the two ways disagree");
        valid
    }

    #[test]
    fn the_validator_may_rely_on_it() {
        let document = jsonschema::json::conformance::document();
        for text in [document.to_string(), serde_json::to_string_pretty(&document).unwrap()] {
            let text = Text::index(&text).unwrap();
            jsonschema::json::conformance::assert_conformance::<JsonText>(&text.root());
        }
    }

    #[test]
    fn keys_are_found_however_they_are_written() {
        let schema = r#"{"properties":{"a\"b":{"const":1},"é":{"type":"null"}},"required":["é"]}"#;
        assert!(valid(schema, r#"{"a\u0022b" : 1, "\u00e9":null}"#));
        assert!(!valid(schema, r#"{"a\"b":2,"é":null}"#));
        assert!(!valid(schema, r#"{"x":{"é":null}}"#));
        assert!(valid(r#"{"propertyNames":{"pattern":"^k"}}"#, r#"{"k1":{"z":1},"\u006b2":[]}"#));
    }

    #[test]
    fn the_last_of_two_equal_keys_counts() {
        let members = |count: usize| (0..count).map(|it| format!("\"k{it}\":0,")).collect::<String>();
        for others in [0, FEW_MEMBERS * 2] {
            let text = format!(r#"{{{}"n":"text","n":5}}"#, members(others));
            assert!(valid(r#"{"required":["n"]}"#, &text));
            let number = r#"{"dependentSchemas":{"n":{"properties":{"k0":{"const":0}}}}}"#;
            assert!(valid(number, &text));
            let index = Text::index(&text).unwrap();
            let found = index.root().as_object().unwrap().get(&JsonText::prepare_key("n")).unwrap();
            assert!(found.is_number());
        }
    }

    #[test]
    fn digits_are_exact() {
        let big = r#"{"const":9007199254740993}"#;
        assert!(valid(big, "9007199254740993"));
        assert!(!valid(big, "9007199254740992"));
        assert!(valid(r#"{"type":"integer","minimum":0}"#, "123456789012345678901234567890"));
        assert!(valid(r#"{"type":"number","minimum":5}"#, "1e999999"));
        assert!(!valid(r#"{"type":"number","maximum":5}"#, "1e999999"));
        assert!(valid(r#"{"enum":[1.0]}"#, "1"));
    }

    #[test]
    fn digits_are_found_where_a_pointer_says() {
        let text = Text::index(r#"{"a/b":[{"n":12345678901234567890123},"x",1.10]}"#).unwrap();
        assert_eq!(text.number_at("/a~1b/0/n"), Some("12345678901234567890123"));
        assert_eq!(text.number_at("/a~1b/2"), Some("1.10"));
        assert_eq!(text.number_at("/a~1b/1"), None);
        assert_eq!(text.number_at("/none"), None);
        assert_eq!(Text::index("-7").unwrap().number_at(""), Some("-7"));
    }

    #[test]
    fn an_integer_has_no_fraction() {
        for text in [
            "0",
            "-0.0",
            "1.0",
            "1e2",
            "1.5e1",
            "150e-1",
            "0e-5",
            "1E+400",
            "-2.50e1",
            "1e99999999999999999999",
        ] {
            assert!(is_integer(text), "{text}");
        }
        for text in ["0.5", "15e-1", "1.55e1", "1e-400", "1.5", "1e-99999999999999999999"] {
            assert!(!is_integer(text), "{text}");
        }
    }

    #[test]
    fn equal_elements_are_found_in_any_spelling() {
        assert!(!valid(r#"{"uniqueItems":true}"#, r#"[{"a":1,"b":[]},{"b":[],"a":1.0}]"#));
        assert!(valid(r#"{"uniqueItems":true}"#, r#"["1",1,[1],{"a":1}]"#));
        assert!(valid(r#"{"const":{"a":[1,"x"]}}"#, r#"{"a":[1.0,"\u0078"]}"#));
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(valid(r##"{"items":{"$ref":"#"},"type":"array"}"##, &nested(DEEPEST)));
        assert_eq!(Text::index(&nested(DEEPEST + 1)).err(), Some(NoIndex::Deep));
        assert_eq!(Text::index(&nested(1_000_000)).err(), Some(NoIndex::Deep));
    }

    #[test]
    fn a_number_is_bounded_and_a_text_is_not() {
        assert!(valid(r#"{"type":"integer","minimum":5}"#, &"9".repeat(LONGEST_NUMBER)));
        assert_eq!(Text::index(&"9".repeat(LONGEST_NUMBER + 1)).err(), Some(NoIndex::Digits));
        assert!(valid(r#"{"minLength":5}"#, &format!("\"{}\"", "9".repeat(2 * LONGEST_NUMBER))));
    }

    #[test]
    fn what_is_not_json_ends_the_walk() {
        for text in ["", "{", "[1,", "{\"a", "{\"a\":", "]", "}{", "x y z", "[1 2]", ":,"] {
            if let Ok(index) = Text::index(text) {
                let _walked = index.root().to_value();
            }
        }
    }
}
