//! JSON Schemas as tools declare them, and as nobody should.

use crate::{
    grammar::{number, string, value},
    random::Random,
};

/// Regular expressions that some engines never end, and some that are none.
pub const PATTERNS: [&str; 22] = [
    "(a+)+$",
    "^(a|a)*$",
    "^(a|aa)+$",
    "(?=a)(a+)+b",
    "(a*)*b",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
    "(.*a){20}",
    "(?<=a+)b",
    "\\\\p{L}{1000}",
    "[\\\\s\\\\S]{0,100000}",
    "((a{100}){100}){100}",
    "(",
    "[",
    "\\\\",
    "*",
    "(?!)",
    "\\\\1(a)",
    "(a)\\\\1+$",
    "^[\\\\w.+-]+@[\\\\w-]+\\\\.[\\\\w.]+$",
    "\\\\u{10FFFF}",
    "(?:(?:a?){20}){20}",
    "$^",
];

const REFERENCES: [&str; 16] = [
    "#",
    "#/",
    "#/$defs/a",
    "#/$defs/b",
    "#/definitions/a",
    "#/properties/a",
    "#a",
    "a",
    "other.json",
    "#/$defs/a/properties/b",
    "https://json-schema.org/draft/2020-12/schema",
    "http://127.0.0.1:9/x",
    "file:///etc/passwd",
    "#/%24defs/a",
    "urn:x",
    "",
];

const DIALECTS: [&str; 7] = [
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-03/schema#",
    "x",
];

const TYPES: [&str; 8] = ["object", "array", "string", "number", "integer", "boolean", "null", "file"];

/// A whole schema.
pub fn schema(random: &mut Random) -> String {
    let depth = random.below(5);
    let mut members = keywords(random, depth);
    if random.once_in(3) {
        members.push(format!("\"$schema\":\"{}\"", random.of(&DIALECTS)));
    }
    for name in ["$defs", "definitions"] {
        if random.once_in(2) {
            members.push(format!("\"{name}\":{{\"a\":{},\"b\":{}}}", sub(random, depth), sub(random, depth)));
        }
    }
    format!("{{{}}}", members.join(","))
}

fn sub(random: &mut Random, depth: usize) -> String {
    if random.once_in(12) {
        return (*random.of(&["true", "false", "{}", "null", "1"])).to_owned();
    }
    format!("{{{}}}", keywords(random, depth.saturating_sub(1)).join(","))
}

fn subs(random: &mut Random, depth: usize) -> String {
    let length = if random.once_in(30) { random.length(200) } else { random.below(4) };
    let depth = if length > 6 { 0 } else { depth };
    format!("[{}]", (0..length).map(|_| sub(random, depth)).collect::<Vec<_>>().join(","))
}

fn keywords(random: &mut Random, depth: usize) -> Vec<String> {
    let count = 1 + random.below(5);
    (0..count)
        .map(|_| if depth == 0 || random.once_in(2) { plain(random) } else { nested(random, depth) })
        .collect()
}

fn plain(random: &mut Random) -> String {
    match random.below(16) {
        0 | 1 => format!("\"type\":\"{}\"", random.of(&TYPES)),
        2 => format!("\"type\":[\"{}\",\"{}\"]", random.of(&TYPES), random.of(&TYPES)),
        3 => format!("\"pattern\":\"{}\"", random.of(&PATTERNS)),
        4 => format!("\"enum\":[{},{}]", value(random, 2), value(random, 1)),
        5 => format!("\"const\":{}", value(random, 2)),
        6 => {
            let name =
                random.of(&["multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]);
            format!("\"{name}\":{}", number(random))
        }
        7 => {
            const SIZES: [&str; 8] = [
                "minLength",
                "maxLength",
                "minItems",
                "maxItems",
                "minProperties",
                "maxProperties",
                "minContains",
                "maxContains",
            ];
            format!("\"{}\":{}", random.of(&SIZES), number(random))
        }
        8 => "\"uniqueItems\":true".to_owned(),
        9 => format!("\"required\":[{},\"a\"]", string(random)),
        10 | 11 => {
            let name = random.of(&["$ref", "$ref", "$ref", "$dynamicRef", "$recursiveRef"]);
            format!("\"{name}\":\"{}\"", random.of(&REFERENCES))
        }
        12 => {
            let name = random.of(&["$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "id"]);
            format!(
                "\"{name}\":{}",
                random.of(&["\"a\"", "\"x\"", "\"#a\"", "true", "\"http://a/\"", "\"%\""])
            )
        }
        13 => {
            const FORMATS: [&str; 9] = [
                "date-time",
                "email",
                "uri",
                "regex",
                "idn-hostname",
                "ipv6",
                "uuid",
                "json-pointer",
                "byte",
            ];
            format!("\"format\":\"{}\"", random.of(&FORMATS))
        }
        14 => format!(
            "\"{}\":{}",
            random.of(&["default", "title", "contentEncoding", "examples"]),
            value(random, 2)
        ),
        _ => format!("{}:{}", string(random), value(random, 2)),
    }
}

fn nested(random: &mut Random, depth: usize) -> String {
    const ONE: [&str; 13] = [
        "items",
        "additionalProperties",
        "not",
        "if",
        "then",
        "else",
        "contains",
        "propertyNames",
        "unevaluatedProperties",
        "unevaluatedItems",
        "additionalItems",
        "contentSchema",
        "items",
    ];
    match random.below(6) {
        0 | 1 => {
            let name = random.of(&["properties", "properties", "dependentSchemas", "dependencies"]);
            let names = ["a", "b", "id", "", "__proto__"];
            let members: Vec<String> = (0..random.below(4))
                .map(|_| format!("\"{}\":{}", random.of(&names), sub(random, depth)))
                .collect();
            format!("\"{name}\":{{{}}}", members.join(","))
        }
        2 => format!("\"patternProperties\":{{\"{}\":{}}}", random.of(&PATTERNS), sub(random, depth)),
        3 | 4 => {
            format!("\"{}\":{}", random.of(&["allOf", "anyOf", "oneOf", "prefixItems"]), subs(random, depth))
        }
        _ => format!("\"{}\":{}", random.of(&ONE), sub(random, depth)),
    }
}

/// A value that a schema of these might look at: short keys, strings of the letters that its patterns fear.
pub fn instance(random: &mut Random, depth: usize) -> String {
    let names = ["a", "b", "id", "", "__proto__"];
    match random.below(if depth == 0 { 4 } else { 8 }) {
        0 => format!("\"{}{}\"", "a".repeat(random.length(512)), random.of(&["", "!", "b", "A"])),
        1 => number(random),
        2 => value(random, 1),
        3 => (*random.of(&["null", "true", "[]", "{}", "\"2026-01-01\""])).to_owned(),
        4 | 5 => {
            let items: Vec<String> = (0..random.below(5)).map(|_| instance(random, depth - 1)).collect();
            format!("[{}]", items.join(","))
        }
        _ => {
            let members: Vec<String> = (0..random.below(5))
                .map(|_| format!("\"{}\":{}", random.of(&names), instance(random, depth - 1)))
                .collect();
            format!("{{{}}}", members.join(","))
        }
    }
}
