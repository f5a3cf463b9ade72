//! Words as the demo model compares them: without case, endings and the commonest synonyms.
//!
//! Deliberately absent: grammar.

use std::collections::BTreeSet;

/// The words of a text that say something.
#[derive(Debug, Clone, Default)]
pub(super) struct Words(BTreeSet<String>);

/// Words that say nothing about what is wanted.
const EMPTY: &[&str] = &[
    "a", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "by", "can", "could", "do",
    "does", "for", "from", "get", "give", "has", "have", "hello", "hey", "hi", "how", "i", "in", "into",
    "is", "it", "its", "let", "like", "me", "my", "name", "of", "on", "one", "or", "our", "please", "run",
    "some", "thank", "that", "the", "their", "them", "then", "there", "these", "this", "to", "two", "us",
    "use", "want", "was", "we", "were", "what", "which", "who", "will", "with", "would", "you", "your",
    "call",
];

/// Words after which the subject of a request stands.
const BEFORE_SUBJECT: [&str; 8] = ["of", "about", "named", "called", "for", "like", "with", "titled"];

/// Words that say when; they are hardly ever the subject itself.
const TIMES: [&str; 12] = [
    "today",
    "yesterday",
    "day",
    "days",
    "week",
    "weeks",
    "month",
    "months",
    "year",
    "last",
    "lately",
    "recently",
];

/// Words that mean the same to the demo; the first stands for all.
const SYNONYMS: [&[&str]; 7] = [
    &["image", "picture", "photo", "drawing", "illustration"],
    &["make", "draw", "paint", "generate", "create", "open", "new", "write"],
    &["search", "find", "look", "lookup", "query"],
    &["list", "show", "display"],
    &["customer", "client", "account"],
    &["ticket", "issue", "incident"],
    &["event", "log"],
];

impl Words {
    /// The words of a text, a name or an identifier.
    pub(super) fn of(text: &str) -> Self {
        Self(split(text).map(stem).filter(|it| it.len() > 1 && !EMPTY.contains(&it.as_str())).collect())
    }

    /// How many words both have.
    pub(super) fn shared(&self, other: &Self) -> u32 {
        u32::try_from(self.0.intersection(&other.0).count()).unwrap_or(u32::MAX)
    }

    /// How well a message names something: a thing counts 4, and a verb, which many tools share, 2.
    pub(super) fn naming(&self, name: &Self) -> u32 {
        self.0.intersection(&name.0).map(|it| if is_verb(it) { 2 } else { 4 }).sum()
    }

    /// The clauses of a message.
    pub(super) fn clauses(message: &str) -> Vec<&str> {
        let parts =
            message.split(" and ").flat_map(|it| it.split(" then ")).flat_map(|it| it.split([';', '\n']));
        parts
            .map(|it| it.trim_matches(|c: char| c.is_whitespace() || c == ','))
            .filter(|it| !it.is_empty())
            .collect()
    }

    /// What a message is about, best first: quoted text, what follows "of", "about" and the like, or the words that the tool's own
    /// description does not have.
    pub(super) fn subjects(message: &str, about: &Self) -> Vec<String> {
        let mut out: Vec<String> = message
            .split(['"', '“', '”', '„'])
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .filter(|it| !it.trim().is_empty())
            .collect();
        let words: Vec<&str> = message.split_whitespace().collect();
        let bare = |it: &str| it.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let mark = words.iter().position(|it| BEFORE_SUBJECT.contains(&bare(it).as_str()));
        if let Some(rest) = mark.and_then(|at| words.get(at + 1..)).filter(|it| !it.is_empty()) {
            out.push(trim(&rest.join(" ")));
        }
        let is_news = |it: &&&str| {
            let bare = bare(it);
            let says_nothing = EMPTY.contains(&bare.as_str()) || TIMES.contains(&bare.as_str());
            let stem = stem(bare);
            let is_news = !stem.is_empty() && !about.0.contains(&stem) && !EMPTY.contains(&stem.as_str());
            is_news && !says_nothing && !is_verb(&stem)
        };
        let news: Vec<&str> = words.iter().filter(is_news).copied().collect();
        if !news.is_empty() {
            out.push(trim(&news.join(" ")));
        }
        out.retain(|it| !it.is_empty());
        out
    }

    /// The numbers in a message.
    pub(super) fn numbers(message: &str) -> Vec<serde_json::Number> {
        let parts = message.split(|c: char| !c.is_ascii_digit() && c != '.').map(|it| it.trim_matches('.'));
        parts.filter_map(|it| serde_json::from_str(it).ok()).collect()
    }

    /// A text in pieces of about `size` bytes.
    pub(super) fn pieces(text: &str, size: usize) -> impl Iterator<Item = &str> {
        let mut rest = text;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let (piece, tail) = rest.split_at(rest.ceil_char_boundary(size));
            rest = tail;
            Some(piece)
        })
    }
}

fn trim(text: &str) -> String {
    text.trim_matches(|c: char| c.is_whitespace() || ".,;:!?\"“”„'".contains(c)).to_owned()
}

/// Whether the word asks for something to be done, whatever the tool calls it.
fn is_verb(stem: &str) -> bool {
    ["make", "search", "list", "tell", "need", "see", "check"].contains(&stem)
}

/// The words of a text in lower case; identifiers in any style are taken apart.
fn split(text: &str) -> impl Iterator<Item = String> {
    let mut spaced = String::with_capacity(text.len() + 8);
    let mut was_lower = false;
    for c in text.chars() {
        if c.is_uppercase() && was_lower {
            spaced.push(' ');
        }
        was_lower = c.is_lowercase();
        spaced.push(if c.is_alphanumeric() { c } else { ' ' });
    }
    spaced.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().into_iter()
}

/// A word without its commonest English endings, and as the first of its synonyms.
fn stem(word: String) -> String {
    let cut = |ending: &str| word.strip_suffix(ending).filter(|it| it.len() > 2);
    let base = match (cut("ies"), cut("ing"), cut("s")) {
        (Some(it), _, _) => format!("{it}y"),
        (_, Some(it), _) if !SYNONYMS.iter().any(|group| group.contains(&word.as_str())) => it.to_owned(),
        (_, _, Some(it)) if !it.ends_with('s') => it.to_owned(),
        _ => word.clone(),
    };
    let group = SYNONYMS.iter().find(|it| it.contains(&base.as_str()));
    group.and_then(|it| it.first()).map_or(base, |it| (*it).to_owned())
}
