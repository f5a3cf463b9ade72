//! What can go wrong on the way: bytes, tokens and whole parts that are changed, doubled, cut and moved.

use crate::{LARGEST, random::Random};

/// Bytes and tokens that readers of JSON and of text stumble over.
const TOKENS: [&[u8]; 28] = [
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\n",
    b"\r\n",
    b"\r",
    b"\0",
    b"null",
    b"\xff",
    b"\xc3\x28",
    b"\xed\xa0\x80",
    b"\xf0\x9f\x98",
    b"\xef\xbb\xbf",
    b"\xc0\x80",
    b"\\ud800",
    b"1e999999",
    b"-",
    b"\x1b[31m",
    b"\xe2\x80\xa8",
    b"__proto__",
    b"data:",
    b"\n\n",
    b"\"id\":2000000002,",
];

/// Changes a case in a few places.
pub fn mutate(random: &mut Random, bytes: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..=random.below(4) {
        once(random, bytes, other);
        if bytes.len() > LARGEST {
            bytes.truncate(LARGEST);
        }
    }
}

fn once(random: &mut Random, bytes: &mut Vec<u8>, other: &[u8]) {
    let at = random.below(bytes.len() + 1);
    let length = random.length(bytes.len().saturating_sub(at).max(1)).min(bytes.len() - at);
    match random.below(10) {
        0 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        1 => drop(bytes.drain(at..at + length)),
        2 => bytes.truncate(at),
        3 => {
            let part = bytes[at..at + length].to_vec();
            let place = random.below(bytes.len() + 1);
            bytes.splice(place..place, part);
        }
        4 => {
            let part = bytes[at..at + length.min(64)].repeat(1 + random.length(64));
            bytes.splice(at..at, part);
        }
        5 => {
            let from = random.below(other.len() + 1);
            let to = from + random.length(other.len().saturating_sub(from).max(1)).min(other.len() - from);
            bytes.splice(at..at, other[from..to].iter().copied());
        }
        6 => {
            // A digit more, or the place of a number.
            if let Some(digit) = bytes[at..].iter().position(u8::is_ascii_digit) {
                let number = crate::grammar::number(random);
                bytes.splice(at + digit..=at + digit, number.into_bytes());
            }
        }
        7 => {
            let levels = random.length(1_024);
            let open: &[u8] = if random.once_in(2) { b"[" } else { b"{\"a\":" };
            bytes.splice(at..at, open.repeat(levels));
        }
        _ => {
            let token = *random.of(&TOKENS);
            bytes.splice(at..at, token.iter().copied());
        }
    }
}
