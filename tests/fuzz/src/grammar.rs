//! JSON, messages and results that look like those of servers, and go wrong in a place or two.

use crate::random::Random;

/// Numbers at the edges of what readers of JSON hold.
const NUMBERS: [&str; 26] = [
    "0",
    "-0",
    "-0.0",
    "1",
    "-1",
    "0.1",
    "1e0",
    "1E+2",
    "9007199254740991",
    "9007199254740992",
    "9007199254740993",
    "-9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "1e309",
    "1e999999",
    "-1e-999999",
    "5e-324",
    "1e-400",
    "3.14159265358979323846264338327950288",
    "2000000001",
];

/// Numbers that are none.
const NO_NUMBERS: [&str; 9] = ["NaN", "Infinity", "-", "01", "1.", ".5", "+1", "1e", "0x10"];

/// The insides of strings.
const TEXTS: [&str; 30] = [
    "",
    "a",
    "id",
    "😅",
    "\\ud800",
    "\\udc00\\ud800",
    "\\ud83d\\ude05",
    "\\u0000",
    "\u{feff}",
    "\u{202e}",
    "\\n",
    "\\\\",
    "\\\"",
    "\\/",
    "null",
    "__proto__",
    "constructor",
    "ui://a/b",
    "file:///etc/passwd",
    "2026-01-01T00:00:00Z",
    "a/b~c",
    "~0~1",
    "%00",
    "é",
    "e\u{301}",
    "=1+1",
    "<script>",
    "data:text/html,x",
    "assistant",
    "\u{2028}",
];

/// Keys that some reader somewhere knows.
const KEYS: [&str; 60] = [
    "id",
    "method",
    "params",
    "result",
    "error",
    "jsonrpc",
    "code",
    "message",
    "data",
    "tools",
    "name",
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "outputVariants",
    "annotations",
    "_meta",
    "ui",
    "ui/resourceUri",
    "resourceUri",
    "visibility",
    "nextCursor",
    "resultType",
    "outputs",
    "audience",
    "format",
    "schema",
    "content",
    "structuredContent",
    "isError",
    "type",
    "text",
    "mimeType",
    "resource",
    "uri",
    "blob",
    "size",
    "priority",
    "lastModified",
    "progressToken",
    "progress",
    "total",
    "requestId",
    "level",
    "logger",
    "mode",
    "requestedSchema",
    "elicitationId",
    "url",
    "messages",
    "maxTokens",
    "ttlMs",
    "cacheScope",
    "requestState",
    "inputRequests",
    "supportedVersions",
    "protocolVersion",
    "__proto__",
    "constructor",
];

/// A JSON value of any kind.
pub fn value(random: &mut Random, depth: usize) -> String {
    match random.below(if depth == 0 { 6 } else { 10 }) {
        0 => "null".to_owned(),
        1 => (*random.of(&["true", "false"])).to_owned(),
        2 | 3 => number(random),
        4 | 5 => string(random),
        6 | 7 => list(random, depth, value),
        _ => object(random, depth),
    }
}

/// A JSON number, rarely one that is none, or one of many digits.
pub fn number(random: &mut Random) -> String {
    match random.below(40) {
        0 => (*random.of(&NO_NUMBERS)).to_owned(),
        1 => "7".repeat(random.length(4_096) + 1),
        2 => format!("0.{}1", "0".repeat(random.length(4_096))),
        3 => format!("{}e{}", random.below(10), "9".repeat(random.length(64) + 1)),
        4..=9 => random.below(1_000).to_string(),
        _ => (*random.of(&NUMBERS)).to_owned(),
    }
}

/// A JSON string.
pub fn string(random: &mut Random) -> String {
    match random.below(12) {
        0 => format!("\"{}\"", random.of(&TEXTS).repeat(random.length(2_048))),
        1 => format!("\"{}\"", random.of(&KEYS)),
        2 => format!("\"{}", random.of(&TEXTS)),
        _ => format!("\"{}\"", random.of(&TEXTS)),
    }
}

fn key(random: &mut Random) -> String {
    if random.once_in(8) { string(random) } else { format!("\"{}\"", random.of(&KEYS)) }
}

fn list(random: &mut Random, depth: usize, item: fn(&mut Random, usize) -> String) -> String {
    let length = if random.once_in(50) { random.length(1_000) } else { random.below(5) };
    let depth = if length > 8 { 0 } else { depth.saturating_sub(1) };
    let items: Vec<String> = (0..length).map(|_| item(random, depth)).collect();
    format!("[{}]", items.join(","))
}

fn object(random: &mut Random, depth: usize) -> String {
    let length = if random.once_in(50) { random.length(500) } else { random.below(6) };
    let depth = if length > 8 { 0 } else { depth.saturating_sub(1) };
    let members: Vec<String> =
        (0..length).map(|_| format!("{}:{}", key(random), value(random, depth))).collect();
    format!("{{{}}}", members.join(","))
}

/// A member's name, and what makes its value.
type Member<'n> = (&'n str, fn(&mut Random) -> String);

/// An object with members of these names and makers; each may be missing, wrong or there twice.
fn shaped(random: &mut Random, members: &[Member<'_>]) -> String {
    let mut written = Vec::new();
    for (name, make) in members {
        match random.below(24) {
            0 => {}
            1 => written.push(format!("\"{name}\":{}", value(random, 2))),
            2 => {
                written.push(format!("\"{name}\":{}", value(random, 1)));
                written.push(format!("\"{name}\":{}", make(random)));
            }
            3 => written.push(format!("\"{name}\":null")),
            _ => written.push(format!("\"{name}\":{}", make(random))),
        }
    }
    if random.once_in(6) {
        written.push(format!("{}:{}", key(random), value(random, 2)));
    }
    if random.once_in(8) {
        let (one, other) = (random.below(written.len()), random.below(written.len()));
        if !written.is_empty() {
            written.swap(one, other);
        }
    }
    format!("{{{}}}", written.join(","))
}

fn id(random: &mut Random) -> String {
    match random.below(10) {
        0 => value(random, 1),
        1 => format!("\"{}\"", 2_000_000_001 + random.below(6)),
        _ => (2_000_000_001 + random.below(6)).to_string(),
    }
}

fn two(_: &mut Random) -> String {
    "\"2.0\"".to_owned()
}

/// One message of a server.
pub fn message(random: &mut Random) -> String {
    match random.below(8) {
        0..=2 => shaped(random, &[("jsonrpc", two), ("id", id), ("result", result)]),
        3 => shaped(random, &[("jsonrpc", two), ("id", id), ("error", error)]),
        4 => shaped(random, &[("jsonrpc", two), ("method", method), ("params", params)]),
        5 => shaped(random, &[("jsonrpc", two), ("id", id), ("method", method), ("params", params)]),
        6 => format!("[{}]", (0..random.below(6)).map(|_| message(random)).collect::<Vec<_>>().join(",")),
        _ => value(random, 3),
    }
}

fn method(random: &mut Random) -> String {
    const METHODS: [&str; 14] = [
        "ping",
        "roots/list",
        "elicitation/create",
        "sampling/createMessage",
        "notifications/progress",
        "notifications/message",
        "notifications/cancelled",
        "notifications/tools/list_changed",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        "notifications/elicitation/complete",
        "initialize",
        "x",
    ];
    format!("\"{}\"", random.of(&METHODS))
}

fn error(random: &mut Random) -> String {
    shaped(random, &[("code", number), ("message", string), ("data", |it| value(it, 2))])
}

fn params(random: &mut Random) -> String {
    match random.below(4) {
        0 => value(random, 3),
        1 => shaped(
            random,
            &[("progressToken", id), ("progress", number), ("total", number), ("message", string)],
        ),
        2 => shaped(
            random,
            &[
                ("level", string),
                ("logger", string),
                ("data", |it| value(it, 3)),
                ("uri", string),
                ("requestId", id),
            ],
        ),
        _ => shaped(
            random,
            &[
                ("mode", |it| (*it.of(&["\"form\"", "\"url\""])).to_owned()),
                ("message", string),
                ("url", string),
                ("elicitationId", string),
                ("requestedSchema", crate::schema::schema),
                ("messages", |it| list(it, 2, |it, _| shaped(it, &[("role", string), ("content", block)]))),
                ("maxTokens", number),
            ],
        ),
    }
}

/// A result of any method.
pub fn result(random: &mut Random) -> String {
    match random.below(6) {
        0 => value(random, 4),
        1 => tools(random),
        2 | 3 => legacy(random),
        _ => outputs(random),
    }
}

fn kind(random: &mut Random) -> String {
    if random.once_in(6) { string(random) } else { "\"complete\"".to_owned() }
}

/// The result of `tools/list`.
pub fn tools(random: &mut Random) -> String {
    shaped(
        random,
        &[("resultType", kind), ("tools", |it| list(it, 2, |it, _| tool(it))), ("nextCursor", string)],
    )
}

fn tool(random: &mut Random) -> String {
    shaped(
        random,
        &[
            ("name", string),
            ("title", string),
            ("description", string),
            ("inputSchema", crate::schema::schema),
            ("outputSchema", crate::schema::schema),
            ("outputVariants", |it| list(it, 2, |it, _| variant(it))),
            ("annotations", |it| shaped(it, &[("title", string), ("readOnlyHint", |it| value(it, 0))])),
            ("_meta", |it| {
                shaped(
                    it,
                    &[
                        ("ui", |it| {
                            shaped(it, &[("resourceUri", string), ("visibility", |it| list(it, 1, value))])
                        }),
                        ("ui/resourceUri", string),
                    ],
                )
            }),
        ],
    )
}

fn variant(random: &mut Random) -> String {
    shaped(random, &[("audience", audience), ("format", format), ("schema", crate::schema::schema)])
}

fn audience(random: &mut Random) -> String {
    const AUDIENCES: [&str; 6] =
        ["assistant", "user", "programmatic", "io.modelcontextprotocol/ui", "com.example/x", ""];
    format!("\"{}\"", random.of(&AUDIENCES))
}

fn format(random: &mut Random) -> String {
    (*random.of(&["\"content\"", "\"structured\"", "\"other\""])).to_owned()
}

fn flag(random: &mut Random) -> String {
    (*random.of(&["true", "false", "null", "1"])).to_owned()
}

fn outputs(random: &mut Random) -> String {
    shaped(
        random,
        &[
            ("resultType", kind),
            ("outputs", |it| list(it, 2, |it, _| output(it))),
            ("isError", flag),
            ("_meta", |it| value(it, 2)),
        ],
    )
}

fn output(random: &mut Random) -> String {
    shaped(
        random,
        &[
            ("audience", audience),
            ("format", format),
            ("content", blocks),
            ("structuredContent", |it| value(it, 4)),
        ],
    )
}

fn legacy(random: &mut Random) -> String {
    shaped(
        random,
        &[
            ("resultType", kind),
            ("content", blocks),
            ("structuredContent", |it| value(it, 4)),
            ("isError", flag),
            ("_meta", |it| value(it, 2)),
        ],
    )
}

fn blocks(random: &mut Random) -> String {
    list(random, 2, |it, _| block(it))
}

fn block(random: &mut Random) -> String {
    const KINDS: [&str; 7] = ["text", "image", "audio", "resource_link", "resource", "tool_use", ""];
    shaped(
        random,
        &[
            ("type", |it| format!("\"{}\"", it.of(&KINDS))),
            ("text", string),
            ("data", |it| (*it.of(&["\"AAAA\"", "\"A\"", "\"iVBORw0KGgo=\"", "\"\\u0000\""])).to_owned()),
            ("mimeType", string),
            ("uri", string),
            ("name", string),
            ("size", number),
            ("resource", |it| {
                shaped(it, &[("uri", string), ("text", string), ("blob", string), ("mimeType", string)])
            }),
            ("annotations", |it| {
                shaped(it, &[("audience", |it| list(it, 1, |it, _| audience(it))), ("priority", number)])
            }),
        ],
    )
}
