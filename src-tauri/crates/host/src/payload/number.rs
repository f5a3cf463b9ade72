//! Comparing numbers by their texts, so that 9007199254740993 and 9007199254740992 differ and 1e400 is finite.

use std::cmp::Ordering;

/// A JSON number as sign, magnitude and digits. Exact for exponents of up to 38 digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decimal {
    negative: bool,
    /// The power of ten just above the first digit that is not zero: 0.05 has -1, 12 has 2.
    magnitude: i128,
    /// From the first to the last digit that is not zero; empty for zero.
    digits: Box<[u8]>,
}

impl Decimal {
    /// Reads a JSON number. Other text gives zero.
    pub(super) fn of(text: &str) -> Self {
        let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = || whole.bytes().chain(fraction.bytes());
        let leading = all().take_while(|&digit| digit == b'0').count();
        let mut digits: Vec<u8> = all().skip(leading).filter(u8::is_ascii_digit).collect();
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        if digits.is_empty() {
            return Self { negative: false, magnitude: 0, digits: Box::default() };
        }
        let place = i128::try_from(whole.len()).unwrap_or(i128::MAX) - i128::try_from(leading).unwrap_or(0);
        Self { negative, magnitude: place.saturating_add(exponent_of(exponent)), digits: digits.into() }
    }
}

fn exponent_of(text: &str) -> i128 {
    let digits = text.trim_start_matches('+');
    // Beyond 38 digits only the sign is left of it.
    digits.parse().unwrap_or(if digits.starts_with('-') { i128::MIN } else { i128::MAX })
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |number: &Self| match (number.digits.is_empty(), number.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        sign(self).cmp(&sign(other)).then_with(|| {
            // Digits compare as text because both start with one that is not zero and end with one.
            let size = self.magnitude.cmp(&other.magnitude).then_with(|| self.digits.cmp(&other.digits));
            if self.negative { size.reverse() } else { size }
        })
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Compares texts as people do: runs of digits by their value, the rest by character. A total order.
pub(super) fn natural(left: &str, right: &str) -> Ordering {
    let same = common(left, right);
    let (mut left, mut right) = (left.get(same..).unwrap_or_default(), right.get(same..).unwrap_or_default());
    loop {
        match (digits(left), digits(right)) {
            (Some((a, rest_a)), Some((b, rest_b))) => {
                let order = a.len().cmp(&b.len()).then_with(|| a.cmp(b));
                if order.is_ne() {
                    return order;
                }
                (left, right) = (rest_a, rest_b);
            }
            _ => {
                let (mut a, mut b) = (left.chars(), right.chars());
                match (a.next(), b.next()) {
                    (None, None) => return Ordering::Equal,
                    (None, Some(_)) => return Ordering::Less,
                    (Some(_), None) => return Ordering::Greater,
                    (Some(x), Some(y)) if x != y => return x.cmp(&y),
                    _ => (left, right) = (a.as_str(), b.as_str()),
                }
            }
        }
    }
}

/// How much two texts have in common from their start, up to a run of digits or a character that is not whole. Texts of many kilobytes
/// are passed over in steps.
fn common(left: &str, right: &str) -> usize {
    const STEP: usize = 64;
    let (a, b) = (left.as_bytes(), right.as_bytes());
    let steps = a.chunks_exact(STEP).zip(b.chunks_exact(STEP)).take_while(|(a, b)| a == b).count();
    let mut same = steps * STEP;
    same += a.iter().zip(b).skip(same).take_while(|(a, b)| a == b).count();
    while same > 0 && a[same - 1].is_ascii_digit() {
        same -= 1;
    }
    // Not cut within a character of either.
    while !(left.is_char_boundary(same) && right.is_char_boundary(same)) {
        same -= 1;
    }
    same
}

/// The run of ASCII digits at the start, without leading zeros, and the rest; `None` if there is none.
fn digits(text: &str) -> Option<(&str, &str)> {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    let (run, rest) = text.split_at_checked(length)?;
    (length > 0).then(|| (run.trim_start_matches('0'), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_ordered_exactly() {
        let ascending = [
            "-1e400",
            "-7108510333361982070",
            "-9007199254740993",
            "-9007199254740992",
            "-0.5",
            "-1e-400",
            "0",
            "1e-400",
            "0.05",
            "0.1",
            "0.10000000000000000000001",
            "1",
            "9.5",
            "12",
            "9007199254740991",
            "9007199254740992",
            "9007199254740993",
            "7795506888185572399",
            "55309298709016489000",
            "1e400",
            "1.1e400",
            "1E+401",
            "1e99999999999999999999999999999999999999999999",
        ];
        for (index, left) in ascending.iter().enumerate() {
            for (place, right) in ascending.iter().enumerate() {
                assert_eq!(Decimal::of(left).cmp(&Decimal::of(right)), index.cmp(&place), "{left} {right}");
            }
        }
    }

    #[test]
    fn the_same_value_is_equal_in_any_spelling() {
        for (left, right) in
            [("0.1", "0.10"), ("1e2", "100"), ("-0", "0.000e7"), ("1200e-2", "12"), ("0.0012", "12E-4")]
        {
            assert_eq!(Decimal::of(left), Decimal::of(right), "{left} {right}");
        }
    }

    #[test]
    fn text_is_ordered_naturally() {
        let mut texts = ["row 10", "row 9", "row 1", "a", "b2", "b10", "", "2", "10", "row 09a", "ä"];
        texts.sort_by(|left, right| natural(left, right));
        assert_eq!(texts, ["", "2", "10", "a", "b2", "b10", "row 1", "row 9", "row 09a", "row 10", "ä"]);
        assert_eq!(natural("x007", "x7"), Ordering::Equal);
        // What they have in common ends within a number, or within a character.
        let long = "é1a".repeat(100);
        for (less, more) in [("9", "10"), ("19", "110"), ("1", "1b"), ("é", "è"), ("", "0"), ("a09", "a9b")]
        {
            let (less, more) = if less == "é" { (more, less) } else { (less, more) };
            assert_eq!(natural(&format!("{long}{less}"), &format!("{long}{more}")), Ordering::Less, "{less}");
            assert_eq!(natural(less, more), Ordering::Less, "{less} alone");
        }
    }
}
