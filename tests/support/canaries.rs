//! Unique random strings, one for each place, and every form in which one could have travelled.
//!
//! A canary that is found outside its place proves a leak. Deliberately absent: encrypted and compressed forms, which no part of a host
//! makes of a payload.

use std::fmt;

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};

/// How a string stands in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// As it is.
    Plain,
    /// Inside base64, at any of the three alignments, in either alphabet.
    Base64,
    /// Every character as `\u00XX`.
    JsonEscaped,
    /// Every byte as `%XX`.
    PercentEncoded,
    /// Every byte as two hexadecimal digits.
    Hexadecimal,
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "as it is",
            Self::Base64 => "in base64",
            Self::JsonEscaped => "as JSON escapes",
            Self::PercentEncoded => "percent-encoded",
            Self::Hexadecimal => "in hexadecimal",
        })
    }
}

/// A random string that occurs nowhere else.
pub fn fresh_seed() -> String {
    uuid::Uuid::now_v7().simple().to_string()
}

/// The forms in which a string occurs in bytes.
pub fn forms_in(haystack: &[u8], canary: &str) -> Vec<Form> {
    let mut found: Vec<Form> = spellings(canary)
        .into_iter()
        .filter(|(_, spelling)| contains(haystack, spelling))
        .map(|(form, _)| form)
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// How often a string occurs as it is.
pub fn count(haystack: &[u8], canary: &str) -> usize {
    memory_find(haystack, canary.as_bytes()).count()
}

/// The bytes of base64 text.
///
/// # Panics
/// If it is not base64.
pub fn from_base64(text: &str) -> Vec<u8> {
    base64::engine::general_purpose::STANDARD.decode(text).unwrap()
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    memory_find(haystack, needle).next().is_some()
}

fn memory_find<'a>(haystack: &'a [u8], needle: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let first = needle.first().copied();
    haystack
        .iter()
        .enumerate()
        .filter(move |(at, byte)| Some(**byte) == first && haystack[*at..].starts_with(needle))
        .map(|(at, _)| at)
}

fn spellings(canary: &str) -> Vec<(Form, Vec<u8>)> {
    let bytes = canary.as_bytes();
    let each =
        |write: &dyn Fn(u8) -> String| bytes.iter().map(|it| write(*it)).collect::<String>().into_bytes();
    let mut all = vec![
        (Form::Plain, bytes.to_vec()),
        (Form::JsonEscaped, each(&|it| format!("\\u{it:04x}"))),
        (Form::JsonEscaped, each(&|it| format!("\\u{it:04X}"))),
        (Form::PercentEncoded, each(&|it| format!("%{it:02x}"))),
        (Form::PercentEncoded, each(&|it| format!("%{it:02X}"))),
        (Form::Hexadecimal, each(&|it| format!("{it:02x}"))),
        (Form::Hexadecimal, each(&|it| format!("{it:02X}"))),
    ];
    for before in 0..3_usize {
        let shifted: Vec<u8> = std::iter::repeat_n(0, before).chain(bytes.iter().copied()).collect();
        for text in [STANDARD_NO_PAD.encode(&shifted), URL_SAFE_NO_PAD.encode(&shifted)] {
            // Characters that hold bits of a neighbour depend on it and are left out.
            let from = (before * 8).div_ceil(6);
            let to = shifted.len() * 8 / 6;
            all.push((Form::Base64, text.as_bytes()[from..to].to_vec()));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    #[test]
    fn every_form_is_found_and_nothing_else() {
        let canary = format!("canary-{}", fresh_seed());
        for before in ["", "a", "ab", "abc", "{\"text\":\""] {
            let text = format!("{before}{canary}\"}} and more");
            assert_eq!(forms_in(text.as_bytes(), &canary), [Form::Plain]);
            assert_eq!(forms_in(STANDARD.encode(&text).as_bytes(), &canary), [Form::Base64]);
        }
        let escaped: String = canary.bytes().map(|it| format!("\\u{it:04x}")).collect();
        assert_eq!(forms_in(escaped.as_bytes(), &canary), [Form::JsonEscaped]);
        let percent: String = canary.bytes().map(|it| format!("%{it:02X}")).collect();
        assert_eq!(forms_in(percent.as_bytes(), &canary), [Form::PercentEncoded]);
        assert_eq!(forms_in(format!("canary-{}", fresh_seed()).as_bytes(), &canary), []);
        assert_eq!(count(format!("{canary} {canary}").as_bytes(), &canary), 2);
    }
}
