//! Whether the digits of numbers outlive the types that numbers are read into.
//!
//! Deliberately absent: arithmetic. What compares numbers does so as 64-bit integers and doubles, and says so.

use usher_protocol::RawJson;

/// Whether a number in a value has digits that neither a 64-bit integer nor a double keeps.
pub(crate) fn is_rounded(value: &RawJson) -> bool {
    numbers(value.get()).any(|it| !is_kept(it))
}

/// Seventeen digits tell every double apart, so that fewer than sixteen are always kept.
const SAFE_DIGITS: usize = 15;

fn is_kept(number: &str) -> bool {
    let mantissa = number.split(['e', 'E']).next().unwrap_or(number);
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    if digits.trim_start_matches('0').trim_end_matches('0').len() <= SAFE_DIGITS {
        return number.parse::<f64>().is_ok_and(f64::is_finite);
    }
    number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok() || writes_back(number)
}

/// Whether a double writes itself with these very digits.
fn writes_back(number: &str) -> bool {
    number.parse::<f64>().is_ok_and(|it| format!("{it:?}") == number)
}

/// The numbers of a JSON text.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            match bytes[at] {
                b'"' => {
                    at += 1;
                    while at < bytes.len() && bytes[at] != b'"' {
                        at += if bytes[at] == b'\\' { 2 } else { 1 };
                    }
                    at += 1;
                }
                b'-' | b'0'..=b'9' => {
                    let start = at;
                    let part = |it: &u8| matches!(it, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                    at = bytes[at..].iter().position(|it| !part(it)).map_or(bytes.len(), |it| start + it);
                    return text.get(start..at);
                }
                _ => at += 1,
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_neither_an_integer_nor_a_double_keeps_is_told() {
        let rounded = |text: &str| is_rounded(&RawJson::parse(text).unwrap());
        for kept in [
            "18446744073709551615",
            "-9223372036854775808",
            "0.1",
            "1e300",
            r#""\"9999999999999999999999""#,
            "0.30000000000000004",
        ] {
            assert!(!rounded(kept), "{kept}");
        }
        for lost in ["18446744073709551616", "[1,0.1234567890123456789]", "1e999"] {
            assert!(rounded(lost), "{lost}");
        }
    }
}
