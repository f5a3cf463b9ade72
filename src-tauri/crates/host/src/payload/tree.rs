//! A JSON value as a tree that is opened level by level, straight from its text.

use std::{borrow::Cow, collections::HashMap};

use usher_protocol::scan::{
    Child, JsonKind, abridge, children, skip_space, unquote, unquote_start, value_end,
};

/// A pointer with more steps than this is not followed, so that a hostile depth costs little.
const MAX_STEPS: usize = 256;
/// How many children one answer holds at most.
const MAX_CHILDREN: usize = 1_000;
/// How much of a string a line of the tree shows, in characters. The string itself, opened, is whole.
const STRING_TEXT: usize = 2_000;
/// How much of a container a line of the tree shows, in characters.
const NESTED_TEXT: usize = 120;

/// Some children of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonChildren {
    /// The value's pointer.
    pub pointer: String,
    /// What it is.
    pub kind: JsonKind,
    /// How many children it has.
    pub count: usize,
    /// The place of the first child given here.
    pub offset: usize,
    /// The children.
    pub children: Vec<JsonChild>,
    /// The exact text of a scalar (a string without quotes); empty for a container.
    pub text: String,
}

/// A child of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonChild {
    /// Its key, or its place in the array.
    pub key: String,
    /// Its pointer (RFC 6901). Of a key that stands several times in one object the last has the usual pointer; earlier ones end in
    /// `~2` and their number, which no pointer of the RFC contains.
    pub pointer: String,
    /// What it is.
    pub kind: JsonKind,
    /// The exact text of a scalar (a string without quotes, cut when very long), or the start of a container's.
    pub text: String,
    /// How many children it has itself.
    pub count: usize,
}

/// Why a pointer cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// There is nothing there.
    #[error("there is nothing at `{pointer}`")]
    Nothing {
        /// The pointer.
        pointer: String,
    },
    /// It is too deep.
    #[error("this is nested more than {MAX_STEPS} levels deep; save the value as a file to read it")]
    TooDeep,
}

/// The children of the value at a pointer. `text` is one JSON value.
///
/// # Errors
/// There is nothing at the pointer, or it has too many steps.
pub fn json_children(
    text: &str,
    pointer: &str,
    offset: usize,
    limit: usize,
) -> Result<JsonChildren, TreeError> {
    let value = find(text, pointer)?;
    let kind = JsonKind::of(value);
    let limit = limit.min(MAX_CHILDREN);
    let window: Vec<Child> = children(value, 0).skip(offset).take(limit).collect();
    // Only keys that are shown are looked for elsewhere: an object may have millions.
    let mut same: HashMap<Cow<'_, str>, Same> = match kind {
        JsonKind::Object => window.iter().map(|it| (key_of(value, it), Same::default())).collect(),
        _ => HashMap::new(),
    };
    let mut numbers = Vec::with_capacity(window.len());
    let mut count = 0;
    for child in children(value, 0) {
        let place = count;
        count += 1;
        if same.is_empty() {
            continue;
        }
        let found = same.get_mut(&key_of(value, &child));
        let number = found.map_or(0, |it| it.note(place));
        if (offset..offset.saturating_add(limit)).contains(&place) {
            numbers.push(number);
        }
    }
    let mut shown = Vec::with_capacity(window.len());
    for (at, child) in window.into_iter().enumerate() {
        let place = offset + at;
        let key = match kind {
            JsonKind::Object => key_of(value, &child),
            _ => Cow::Owned(place.to_string()),
        };
        let mut pointer = format!("{pointer}/{}", escape(&key));
        if let (Some(same), Some(number)) = (same.get(&key), numbers.get(at))
            && same.last != place
        {
            pointer.push_str(&format!("~2{number}"));
        }
        shown.push(line(key.into_owned(), pointer, value.get(child.value).unwrap_or_default()));
    }
    let text = match kind {
        JsonKind::Object | JsonKind::Array => String::new(),
        JsonKind::String => unquote(value).into_owned(),
        JsonKind::Number | JsonKind::Boolean | JsonKind::Null => value.to_owned(),
    };
    Ok(JsonChildren { pointer: pointer.to_owned(), kind, count, offset, children: shown, text })
}

/// A step of a JSON pointer, escaped (RFC 6901, section 3).
pub(super) fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn line(key: String, pointer: String, text: &str) -> JsonChild {
    let kind = JsonKind::of(text);
    let shown = match kind {
        JsonKind::String => abridge(&unquote_start(text, STRING_TEXT + 1), STRING_TEXT),
        JsonKind::Object | JsonKind::Array => abridge(text, NESTED_TEXT),
        JsonKind::Number | JsonKind::Boolean | JsonKind::Null => text.to_owned(),
    };
    let count = if kind.is_container() { children(text, 0).count() } else { 0 };
    JsonChild { key, pointer, kind, text: shown, count }
}

/// The members of an object that have one key.
#[derive(Default)]
struct Same {
    seen: usize,
    last: usize,
}

impl Same {
    /// Notes a member at a place, and gives its number among them, from one.
    fn note(&mut self, place: usize) -> usize {
        self.seen += 1;
        self.last = place;
        self.seen
    }
}

fn key_of<'t>(text: &'t str, child: &Child) -> Cow<'t, str> {
    unquote(text.get(child.key.clone()).unwrap_or_default())
}

/// The text of the value at a pointer.
fn find<'t>(text: &'t str, pointer: &str) -> Result<&'t str, TreeError> {
    let nothing = || TreeError::Nothing { pointer: pointer.to_owned() };
    let start = skip_space(text.as_bytes(), 0);
    let mut value = text.get(start..value_end(text.as_bytes(), start)).unwrap_or_default();
    if pointer.is_empty() {
        return Ok(value);
    }
    let steps = pointer.strip_prefix('/').ok_or_else(nothing)?;
    for (depth, step) in steps.split('/').enumerate() {
        if depth >= MAX_STEPS {
            return Err(TreeError::TooDeep);
        }
        value = enter(value, step).ok_or_else(nothing)?;
    }
    Ok(value)
}

fn enter<'t>(value: &'t str, step: &str) -> Option<&'t str> {
    let child = match JsonKind::of(value) {
        JsonKind::Array => {
            let canonical =
                step == "0" || (!step.starts_with('0') && step.bytes().all(|byte| byte.is_ascii_digit()));
            if !canonical {
                return None;
            }
            children(value, 0).nth(step.parse().ok()?)?
        }
        JsonKind::Object => {
            let (key, number) = match step.split_once("~2") {
                Some((key, number)) => (key, Some(number.parse::<usize>().ok()?)),
                None => (step, None),
            };
            let key = key.replace("~1", "/").replace("~0", "~");
            let mut same = children(value, 0).filter(|child| key_of(value, child) == key);
            match number {
                Some(number) => same.nth(number.checked_sub(1)?)?,
                None => same.last()?,
            }
        }
        _ => return None,
    };
    value.get(child.value)
}
