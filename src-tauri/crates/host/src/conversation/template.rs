//! URI templates (RFC 6570): the names that one has, and the address that values make of it.
//!
//! Deliberately absent: lists and maps as values, which a form of texts does not have, and prefixes of more than four digits.

use std::collections::BTreeMap;

/// The variables of a template in the order of their first mention.
pub(super) fn variables(template: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for part in parts(template).into_iter().flatten() {
        if let Part::Expression { variables, .. } = part {
            for (name, _) in variables {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
    }
    names
}

/// The address that a template has with some values; what has no value is left out. None for what is no template.
pub(super) fn expand(template: &str, values: &BTreeMap<String, String>) -> Option<String> {
    let mut address = String::new();
    for part in parts(template)? {
        match part {
            Part::Literal(text) => encode(&mut address, text, true),
            Part::Expression { operator, variables } => {
                write_expression(&mut address, operator, &variables, values);
            }
        }
    }
    Some(address)
}

enum Part<'a> {
    Literal(&'a str),
    Expression { operator: Operator, variables: Vec<(String, Option<usize>)> },
}

/// How an expression is written (RFC 6570, appendix A).
#[derive(Clone, Copy)]
struct Operator {
    first: &'static str,
    between: &'static str,
    named: bool,
    if_empty: &'static str,
    reserved: bool,
}

fn operator_of(sign: Option<char>) -> Option<(Operator, bool)> {
    let plain = Operator { first: "", between: ",", named: false, if_empty: "", reserved: false };
    let operator = match sign? {
        '+' => Operator { reserved: true, ..plain },
        '#' => Operator { first: "#", reserved: true, ..plain },
        '.' => Operator { first: ".", between: ".", ..plain },
        '/' => Operator { first: "/", between: "/", ..plain },
        ';' => Operator { first: ";", between: ";", named: true, ..plain },
        '?' => Operator { first: "?", between: "&", named: true, if_empty: "=", ..plain },
        '&' => Operator { first: "&", between: "&", named: true, if_empty: "=", ..plain },
        _ => return Some((plain, false)),
    };
    Some((operator, true))
}

fn parts(template: &str) -> Option<Vec<Part<'_>>> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        let (literal, after) = rest.split_at(open);
        parts.push(Part::Literal(literal));
        let (inside, after) = after[1..].split_once('}')?;
        let (operator, signed) = operator_of(inside.chars().next())?;
        let list = if signed { &inside[1..] } else { inside };
        let variables: Option<Vec<(String, Option<usize>)>> = list.split(',').map(variable).collect();
        parts.push(Part::Expression { operator, variables: variables? });
        rest = after;
    }
    if rest.contains('}') {
        return None;
    }
    parts.push(Part::Literal(rest));
    Some(parts)
}

/// A name, and how many characters of its value are written.
fn variable(text: &str) -> Option<(String, Option<usize>)> {
    let text = text.strip_suffix('*').unwrap_or(text);
    let (name, prefix) = match text.split_once(':') {
        Some((name, digits)) if digits.len() <= 4 => (name, Some(digits.parse().ok()?)),
        Some(_) => return None,
        None => (text, None),
    };
    let legal = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '%' | '-');
    (!name.is_empty() && name.chars().all(legal)).then(|| (name.to_owned(), prefix))
}

fn write_expression(
    address: &mut String,
    operator: Operator,
    variables: &[(String, Option<usize>)],
    values: &BTreeMap<String, String>,
) {
    let mut first = true;
    for (name, prefix) in variables {
        let Some(value) = values.get(name).filter(|it| !it.is_empty() || operator.named) else { continue };
        address.push_str(if std::mem::take(&mut first) { operator.first } else { operator.between });
        let cut = prefix.and_then(|n| value.char_indices().nth(n)).map_or(value.len(), |it| it.0);
        let value = &value[..cut];
        if operator.named {
            encode(address, name, true);
            address.push_str(if value.is_empty() { operator.if_empty } else { "=" });
        }
        encode(address, value, operator.reserved);
    }
}

/// Writes what may stand in an address, and the rest as the octets of its UTF-8. Reserved characters may stand where `reserved` says so.
fn encode(address: &mut String, text: &str, reserved: bool) {
    use std::fmt::Write as _;
    for byte in text.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if plain || (reserved && b":/?#[]@!$&'()*+,;=%".contains(&byte)) {
            address.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(address, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, expected: &str) {
        let values =
            [("var", "value"), ("hello", "Hello World!"), ("path", "/foo/bar"), ("x", "1024"), ("y", "768")];
        let values = values.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        assert_eq!(expand(template, &values).as_deref(), Some(expected), "{template}");
    }

    /// The examples of RFC 6570, section 1.2.
    #[test]
    fn the_examples_of_the_standard() {
        check("{var}", "value");
        check("{hello}", "Hello%20World%21");
        check("{+path}/here", "/foo/bar/here");
        check("here?ref={+path}", "here?ref=/foo/bar");
        check("X{#hello}", "X#Hello%20World!");
        check("map?{x,y}", "map?1024,768");
        check("{+x,hello,y}", "1024,Hello%20World!,768");
        check("{#path:6}/here", "#/foo/b/here");
        check("X{.x,y}", "X.1024.768");
        check("{/var,x}/here", "/value/1024/here");
        check("{;x,y,empty}", ";x=1024;y=768");
        check("{?x,y}", "?x=1024&y=768");
        check("?fixed=yes{&x}", "?fixed=yes&x=1024");
        check("{var:3}", "val");
        check("{missing}x", "x");
    }

    #[test]
    fn variables_are_named_once_in_their_order() {
        assert_eq!(variables("a://{owner}/{repo}{?ref,owner}"), ["owner", "repo", "ref"]);
        assert_eq!(variables("a://plain"), [""; 0]);
    }

    #[test]
    fn what_is_no_template_has_no_address() {
        for bad in ["{", "a}", "{}", "{a b}", "{a:12345}", "{a:x}", "{?}"] {
            assert_eq!(expand(bad, &BTreeMap::new()), None, "{bad}");
            assert!(variables(bad).is_empty(), "{bad}");
        }
    }
}
