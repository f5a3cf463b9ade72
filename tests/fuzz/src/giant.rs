//! Shapes that break readers when they are large: one thing repeated until the case is as long as wanted.

use crate::{SEPARATOR, Target, schema::PATTERNS};

/// A shape: what it is, and what it looks like at about this many bytes.
pub type Giant = (&'static str, fn(usize) -> Vec<u8>);

/// The shapes for a target.
pub fn giants(target: Target) -> &'static [Giant] {
    match target {
        Target::Decoder => &DECODER,
        Target::Codec => &CODEC,
        Target::Validator => &VALIDATOR,
        Target::Payload => &PAYLOAD,
    }
}

fn repeated(before: &str, part: &str, after: &str, size: usize) -> Vec<u8> {
    let times = size.saturating_sub(before.len() + after.len()) / part.len().max(1);
    let mut all = Vec::with_capacity(size + before.len() + part.len() + after.len());
    all.extend_from_slice(before.as_bytes());
    for _ in 0..times.max(1) {
        all.extend_from_slice(part.as_bytes());
    }
    all.extend_from_slice(after.as_bytes());
    all
}

/// As `repeated`, with the number of the part in place of each `#`.
fn counted(before: &str, part: &str, after: &str, size: usize) -> Vec<u8> {
    let mut all = Vec::with_capacity(size + before.len() + part.len() + after.len() + 16);
    all.extend_from_slice(before.as_bytes());
    let mut count = 0_u64;
    while count == 0 || all.len() + part.len() + after.len() < size {
        if count > 0 {
            all.push(b',');
        }
        all.extend_from_slice(part.replace('#', &count.to_string()).as_bytes());
        count += 1;
    }
    all.extend_from_slice(after.as_bytes());
    all
}

fn nested(before: &str, open: &str, middle: &str, close: &str, after: &str, size: usize) -> Vec<u8> {
    let levels = (size.saturating_sub(before.len() + after.len()) / (open.len() + close.len()).max(1)).max(1);
    let text = [before, &open.repeat(levels), middle, &close.repeat(levels), after].concat();
    text.into_bytes()
}

fn pair(schema: Vec<u8>, value: Vec<u8>) -> Vec<u8> {
    [schema, vec![SEPARATOR], value].concat()
}

fn bytes(schema: &str) -> Vec<u8> {
    schema.as_bytes().to_vec()
}

const ANSWER: &str = "{\"jsonrpc\":\"2.0\",\"id\":2000000001,\"result\":";

static DECODER: [Giant; 39] = [
    ("an identifier that is a big list", |n| {
        repeated("{\"jsonrpc\":\"2.0\",\"id\":[1", ",1", "],\"result\":1}\n", n)
    }),
    ("progress with a big list", |n| {
        repeated(
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":2000000001,\"x\":[1",
            ",1",
            "],\"progress\":1}}\n",
            n,
        )
    }),
    ("a question with a big list", |n| {
        repeated(
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sampling/createMessage\",\"params\":{\"messages\":[1",
            ",1",
            "],\"maxTokens\":1}}\n",
            n,
        )
    }),
    ("brackets never closed", |n| repeated("", "[", "", n)),
    ("objects never closed", |n| repeated("", "{\"a\":", "", n)),
    ("nested lists", |n| nested("", "[", "", "]", "\n", n)),
    ("an answer nested in lists", |n| nested(ANSWER, "[", "1", "]", "}\n", n)),
    ("an answer nested in objects", |n| nested(ANSWER, "{\"a\":", "1", "}", "}\n", n)),
    ("an error whose data is nested", |n| {
        nested(
            "{\"jsonrpc\":\"2.0\",\"id\":2000000001,\"error\":{\"code\":1,\"message\":\"x\",\"data\":",
            "[",
            "1",
            "]",
            "}}\n",
            n,
        )
    }),
    ("a member nested beside the message", |n| {
        nested("{\"jsonrpc\":\"2.0\",\"x\":", "[", "1", "]", ",\"id\":2000000001,\"result\":1}\n", n)
    }),
    ("an identifier that is nested", |n| {
        nested("{\"jsonrpc\":\"2.0\",\"id\":", "[", "1", "]", ",\"result\":1}\n", n)
    }),
    ("a broken message full of identifiers", |n| repeated("{\"jsonrpc\":\"2.0\",", "\"id\":1,", "x", n)),
    ("a broken message full of text identifiers", |n| {
        repeated("{\"jsonrpc\":\"2.0\",", "\"id\":\"a\",", "x", n)
    }),
    ("a broken message of quotes", |n| repeated("{\"jsonrpc\":", "\"", "", n)),
    ("a broken message of backslashes", |n| repeated("{\"jsonrpc\" \"id\":\"", "\\", "", n)),
    ("an identifier after spaces, many times", |n| {
        repeated("{\"jsonrpc\" ", "\"id\"                                            ", "", n)
    }),
    ("one broken identifier of digits", |n| repeated("{\"jsonrpc\" \"id\":", "1", "", n)),
    ("a batch of numbers", |n| repeated("[1", ",1", "]\n", n)),
    ("a batch of empty objects", |n| repeated("[{}", ",{}", "]\n", n)),
    ("a batch of notifications", |n| counted("[", "{\"jsonrpc\":\"2.0\",\"method\":\"x\"}", "]\n", n)),
    ("a batch of pings", |n| counted("[", "{\"jsonrpc\":\"2.0\",\"id\":#,\"method\":\"ping\"}", "]\n", n)),
    ("a batch with a big list in it", |n| {
        repeated("[{\"jsonrpc\":\"2.0\",\"method\":\"x\"},[1", ",1", "]]\n", n)
    }),
    ("a batch of nested lists", |n| nested("[", "[", "1", "]", "]\n", n)),
    ("pings on lines", |n| {
        repeated("", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n", "", n.min(FLOOD))
    }),
    ("questions on lines", |n| {
        repeated(
            "",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\",\"params\":{\"message\":\"m\",\"requestedSchema\":{}}}\n",
            "",
            n.min(FLOOD),
        )
    }),
    ("changes of lists", |n| {
        repeated(
            "",
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/prompts/list_changed\"}\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n",
            "",
            n.min(FLOOD),
        )
    }),
    ("changes of resources", |n| {
        repeated(
            "",
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/list_changed\"}\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":\"a\"}}\n",
            "",
            n.min(FLOOD),
        )
    }),
    ("log messages", |n| {
        repeated(
            "",
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"x\"}}\n",
            "",
            n.min(FLOOD),
        )
    }),
    ("answers to nothing", |n| {
        repeated("", "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n", "", n.min(FLOOD))
    }),
    ("empty lines", |n| repeated("", "\n", "", n.min(FLOOD))),
    ("short lines of noise", |n| repeated("", "x\n", "", n.min(FLOOD))),
    ("one line of spaces", |n| repeated("", " ", "\n", n)),
    ("one line of byte order marks", |n| repeated("", "\u{feff}", "{}\n", n)),
    ("one string", |n| repeated(&format!("{ANSWER}\""), "x", "\"}\n", n)),
    ("one string of escapes", |n| repeated(&format!("{ANSWER}\""), "\\ud800", "\"}\n", n)),
    ("one number", |n| repeated(ANSWER, "9", "}\n", n)),
    ("bytes that are not UTF-8", |n| vec![0xff; n]),
    ("an answer with bytes that are not UTF-8", |n| {
        [ANSWER.as_bytes(), b"\"", &vec![0xc3; n], b"\"}\n"].concat()
    }),
    ("the same member again and again", |n| repeated("{\"jsonrpc\":\"2.0\"", ",\"a\":1", "}\n", n)),
];

/// The forms of server-sent events, for a decoder that is told to read a body.
pub static EVENTS: [Giant; 9] = [
    ("one event of one line", |n| repeated("data: \"", "x", "\"\n\n", n)),
    ("one event of many lines", |n| repeated("", "data:\n", "\n", n.min(FLOOD))),
    ("many events", |n| repeated("", "data:1\n\n", "", n.min(FLOOD))),
    ("an event that never ends", |n| repeated("data:", "x", "", n)),
    ("many identifiers", |n| repeated("", "id:1\n", "\n", n.min(FLOOD))),
    ("comments", |n| repeated("", ":\n", "\n", n.min(FLOOD))),
    ("ends of lines", |n| repeated("", "\r\n", "\n", n.min(FLOOD))),
    ("events of answers", |n| {
        repeated("", "data: {\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}\n\n", "", n.min(FLOOD))
    }),
    ("event bytes that are not UTF-8", |n| [b"data:".as_slice(), &vec![0xff; n], b"\n\n"].concat()),
];

static CODEC: [Giant; 30] = [
    ("tools that are numbers", |n| repeated("{\"tools\":[1", ",1", "]}", n)),
    ("tools that are empty", |n| repeated("{\"tools\":[{}", ",{}", "]}", n)),
    ("tools of a name", |n| counted("{\"tools\":[", "{\"name\":\"t#\"}", "]}", n)),
    ("tools of the same name", |n| repeated("{\"tools\":[{\"name\":\"\"}", ",{\"name\":\"\"}", "]}", n)),
    ("tools with variants", |n| {
        counted(
            "{\"tools\":[",
            "{\"name\":\"t#\",\"inputSchema\":{},\"outputVariants\":[{\"audience\":\"assistant\",\"format\":\"content\"}]}",
            "]}",
            n,
        )
    }),
    ("variants that are numbers", |n| {
        repeated("{\"tools\":[{\"name\":\"t\",\"inputSchema\":{},\"outputVariants\":[1", ",1", "]}]}", n)
    }),
    ("variants for strangers", |n| {
        counted(
            "{\"tools\":[{\"name\":\"t\",\"inputSchema\":{},\"outputVariants\":[",
            "{\"audience\":\"a/#\",\"format\":\"content\"}",
            "]}]}",
            n,
        )
    }),
    ("a tool whose _meta is a big list", |n| {
        repeated("{\"tools\":[{\"name\":\"t\",\"_meta\":[1", ",1", "]}]}", n)
    }),
    ("a tool whose _meta is nested", |n| {
        nested("{\"tools\":[{\"name\":\"t\",\"_meta\":", "[", "1", "]", "}]}", n)
    }),
    ("visible to many", |n| {
        repeated("{\"tools\":[{\"name\":\"t\",\"_meta\":{\"ui\":{\"visibility\":[1", ",1", "]}}}]}", n)
    }),
    ("annotations that are a big object", |n| {
        counted("{\"tools\":[{\"name\":\"t\",\"annotations\":{", "\"a#\":1", "}}]}", n)
    }),
    ("a schema that is nested", |n| {
        nested("{\"tools\":[{\"name\":\"t\",\"inputSchema\":", "{\"a\":", "1", "}", "}]}", n)
    }),
    ("a long name", |n| repeated("{\"tools\":[{\"name\":\"", "x", "\"}]}", n)),
    ("a long kind of result", |n| repeated("{\"resultType\":\"", "x", "\"}", n)),
    ("blocks that are numbers", |n| repeated("{\"content\":[1", ",1", "]}", n)),
    ("blocks that are empty", |n| repeated("{\"content\":[{}", ",{}", "]}", n)),
    ("blocks of text", |n| {
        repeated(
            "{\"content\":[{\"type\":\"text\",\"text\":\"\"}",
            ",{\"type\":\"text\",\"text\":\"\"}",
            "]}",
            n,
        )
    }),
    ("a block whose annotations are many", |n| {
        repeated(
            "{\"content\":[{\"type\":\"text\",\"text\":\"\",\"annotations\":{\"audience\":[\"\"",
            ",\"\"",
            "]}}]}",
            n,
        )
    }),
    ("a block with a big list", |n| {
        repeated("{\"content\":[{\"x\":[1", ",1", "],\"type\":\"text\",\"text\":\"\"}]}", n)
    }),
    ("a resource with a big list", |n| {
        repeated(
            "{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"a\",\"x\":[1",
            ",1",
            "],\"text\":\"\"}}]}",
            n,
        )
    }),
    ("a block that is nested", |n| {
        nested("{\"content\":[{\"type\":\"text\",\"x\":", "[", "1", "]", ",\"text\":\"\"}]}", n)
    }),
    ("outputs that are numbers", |n| repeated("{\"outputs\":[1", ",1", "]}", n)),
    ("outputs of one kind", |n| {
        repeated(
            "{\"outputs\":[1",
            ",{\"audience\":\"user\",\"format\":\"structured\",\"structuredContent\":1}",
            "]}",
            n,
        )
    }),
    ("a big structured value", |n| {
        repeated(
            "{\"outputs\":[{\"audience\":\"user\",\"format\":\"structured\",\"structuredContent\":[1",
            ",1",
            "]}],\"content\":[],\"structuredContent\":1}",
            n,
        )
    }),
    ("a nested structured value", |n| {
        nested("{\"content\":[],\"structuredContent\":", "[", "1", "]", "}", n)
    }),
    ("blocks of an output that are numbers", |n| {
        repeated(
            "{\"outputs\":[{\"audience\":\"user\",\"format\":\"content\",\"content\":[1",
            ",1",
            "]}]}",
            n,
        )
    }),
    ("_meta of a result that is a big list", |n| repeated("{\"content\":[],\"_meta\":[1", ",1", "]}", n)),
    ("requested outputs", |n| {
        repeated(
            "{\"name\":\"t\",\"requestedOutputs\":[{\"audience\":\"user\",\"format\":\"content\"}",
            ",{\"audience\":\"user\",\"format\":\"content\"}",
            "]}",
            n,
        )
    }),
    ("one picture", |n| {
        repeated(
            "{\"content\":[{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"",
            "AAAA",
            "\"}]}",
            n,
        )
    }),
    ("the same member again and again", |n| repeated("{\"content\":[]", ",\"a\":1", "}", n)),
];

/// The most bytes of many short messages. Each is taken by itself, and the reader gives way between them, so what is judged is the cost
/// of one; sixty-four mebibytes of them would judge the patience of the machine.
const FLOOD: usize = 8 << 20;

/// The most that is put into a schema here: what is larger is refused unread.
const SCHEMA: usize = 1 << 20;

/// The largest schema that is adapted for a provider.
const OFFERED: usize = 256 << 10;

static VALIDATOR: [Giant; 40] = [
    ("many properties", |n| {
        pair(
            counted("{\"type\":\"object\",\"properties\":{", "\"a#\":{}", "}}", n.min(OFFERED)),
            bytes("{\"a1\":1}"),
        )
    }),
    ("many members of a schema", |n| {
        pair(counted("{\"type\":\"object\",", "\"a#\":{}", "}", n.min(OFFERED)), bytes("{}"))
    }),
    ("a union of objects", |n| {
        pair(
            counted(
                "{\"oneOf\":[",
                "{\"type\":\"object\",\"properties\":{\"a#\":{},\"same\":{\"const\":#}}}",
                "]}",
                n.min(OFFERED),
            ),
            bytes("{}"),
        )
    }),
    ("a union of objects with the same property, and what each requires", |n| {
        pair(
            counted(
                "{\"allOf\":[",
                "{\"properties\":{\"a\":{\"const\":#}},\"required\":[\"a#\"]}",
                "]}",
                n.min(OFFERED),
            ),
            bytes("{}"),
        )
    }),
    ("a nested schema", |n| {
        pair(nested("", "{\"items\":", "{}", "}", "", n.min(SCHEMA)), nested("", "[", "", "]", "", 4_096))
    }),
    ("a schema and a value of 120 levels", |_| {
        pair(nested("", "{\"items\":", "{}", "}", "", 10 * 120), nested("", "[", "", "]", "", 240))
    }),
    ("a nested value", |n| pair(bytes("{\"items\":{\"$ref\":\"#\"}}"), nested("", "[", "", "]", "", n))),
    ("a long chain of references", |n| {
        pair(
            counted(
                "{\"$ref\":\"#/$defs/a0\",\"$defs\":{",
                "\"a#\":{\"$ref\":\"#/$defs/a#1\"}",
                "}}",
                n.min(SCHEMA),
            ),
            bytes("1"),
        )
    }),
    ("a chain of references", |n| pair(chain(n.min(SCHEMA), "{\"$ref\":\"#/$defs/a#\"}"), bytes("1"))),
    ("a chain of references through allOf", |n| {
        pair(chain(n.min(SCHEMA), "{\"allOf\":[{\"$ref\":\"#/$defs/a#\"}]}"), bytes("1"))
    }),
    ("a chain of references through items", |n| {
        pair(chain(n.min(SCHEMA), "{\"items\":{\"$ref\":\"#/$defs/a#\"}}"), bytes("[[[[1]]]]"))
    }),
    ("a chain that doubles", |n| {
        pair(
            chain(n.min(4_096), "{\"allOf\":[{\"$ref\":\"#/$defs/a#\"},{\"$ref\":\"#/$defs/a#\"}]}"),
            bytes("[1]"),
        )
    }),
    ("a chain that doubles over a scalar", |n| {
        pair(
            chain(n.min(4_096), "{\"allOf\":[{\"$ref\":\"#/$defs/a#\"},{\"$ref\":\"#/$defs/a#\"}]}"),
            bytes("1"),
        )
    }),
    ("a chain of choices that doubles", |n| {
        pair(
            chain(n.min(4_096), "{\"anyOf\":[{\"$ref\":\"#/$defs/a#\"},{\"$ref\":\"#/$defs/a#\"}]}"),
            bytes("[1]"),
        )
    }),
    ("a chain of exact choices that doubles over a scalar", |n| {
        pair(
            chain(n.min(4_096), "{\"oneOf\":[{\"$ref\":\"#/$defs/a#\"},{\"$ref\":\"#/$defs/a#\"}]}"),
            bytes("\"x\""),
        )
    }),
    ("a recursion that doubles", |_| {
        pair(
            bytes(
                "{\"anyOf\":[{\"properties\":{\"a\":{\"$ref\":\"#\"}},\"required\":[\"b\"]},{\"properties\":{\"a\":{\"$ref\":\"#\"}},\"required\":[\"c\"]}]}",
            ),
            nested("", "{\"a\":", "1", "}", "", 120 * 6),
        )
    }),
    ("a recursion through every property", |_| {
        pair(
            bytes(
                "{\"allOf\":[{\"additionalProperties\":{\"$ref\":\"#\"}},{\"patternProperties\":{\"\":{\"$ref\":\"#\"}}}],\"maxProperties\":0}",
            ),
            nested("", "{\"a\":", "1", "}", "", 120 * 6),
        )
    }),
    ("unevaluated properties, recursive", |_| {
        pair(
            bytes(
                "{\"anyOf\":[{\"properties\":{\"a\":{\"$ref\":\"#\"}}},{\"additionalProperties\":{\"$ref\":\"#\"}}],\"unevaluatedProperties\":false}",
            ),
            nested("", "{\"a\":", "1", "}", "", 120 * 6),
        )
    }),
    ("a schema that is itself", |_| pair(bytes("{\"$ref\":\"#\"}"), bytes("{\"a\":[1]}"))),
    ("a schema that is all of itself", |_| {
        pair(bytes("{\"allOf\":[{\"$ref\":\"#\"},{\"not\":{\"$ref\":\"#\"}}]}"), bytes("{\"a\":[1]}"))
    }),
    ("a schema that is dynamically itself", |_| {
        pair(
            bytes(
                "{\"$dynamicAnchor\":\"a\",\"allOf\":[{\"$dynamicRef\":\"#a\"}],\"unevaluatedProperties\":{\"$dynamicRef\":\"#a\"}}",
            ),
            bytes("{\"a\":{\"a\":[1]}}"),
        )
    }),
    ("a schema that is itself by an old reference", |_| {
        pair(bytes("{\"$schema\":\"http://json-schema.org/draft-07/schema#\",\"$ref\":\"#\"}"), bytes("1"))
    }),
    ("patterns over long strings", |n| {
        pair(
            patterns(),
            [b"[".as_slice(), &bytes("\""), &vec![b'a'; (n / 4).max(1)], &bytes("!\""), b"]"].concat(),
        )
    }),
    ("patterns over many strings", |n| {
        pair(
            patterns(),
            repeated("[\"\"", ",\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\"", "]", n),
        )
    }),
    ("a pattern that looks ahead over many strings", |n| {
        pair(
            bytes("{\"items\":{\"pattern\":\"(?=a)(a+)+b\"}}"),
            counted("[", "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa#\"", "]", n),
        )
    }),
    ("many large patterns", |n| {
        pair(
            counted("{\"anyOf\":[", "{\"pattern\":\"\\\\p{L}{1000}#\"}", "]}", n.min(SCHEMA)),
            bytes("\"aaaa\""),
        )
    }),
    ("many patterns of keys", |n| {
        pair(
            counted("{\"patternProperties\":{", "\"a{1000}#\":{}", "}}", n.min(SCHEMA)),
            bytes("{\"aaaa\":1}"),
        )
    }),
    ("a big enum", |n| {
        pair(
            counted("{\"items\":{\"enum\":[", "\"#\"", "]}}", n.min(SCHEMA)),
            repeated("[\"x\"", ",\"x\"", "]", n.min(1 << 22)),
        )
    }),
    ("a big enum of objects", |n| {
        pair(
            counted("{\"items\":{\"enum\":[", "{\"a\":#}", "]}}", n.min(SCHEMA)),
            repeated("[{\"a\":-1}", ",{\"a\":-1}", "]", n.min(1 << 22)),
        )
    }),
    ("many choices over many items", |n| {
        pair(
            counted("{\"items\":{\"anyOf\":[", "{\"const\":#}", "]}}", n.min(SCHEMA)),
            repeated("[-1", ",-1", "]", n),
        )
    }),
    ("many properties over many items", |n| {
        pair(
            counted("{\"items\":{\"properties\":{", "\"a#\":{\"type\":\"string\"}", "}}}", n.min(SCHEMA)),
            repeated("[{\"a1\":\"\"}", ",{\"a1\":\"\"}", "]", n),
        )
    }),
    ("many that are required, over many items", |n| {
        pair(
            counted("{\"items\":{\"required\":[", "\"a#\"", "]}}", n.min(SCHEMA)),
            repeated("[{}", ",{}", "]", n),
        )
    }),
    ("unique numbers", |n| pair(bytes("{\"uniqueItems\":true}"), counted("[", "#", "]", n))),
    ("unique texts", |n| pair(bytes("{\"uniqueItems\":true}"), counted("[", "\"#\"", "]", n))),
    ("unique objects", |n| pair(bytes("{\"uniqueItems\":true}"), counted("[", "{\"a\":#}", "]", n))),
    ("unique lists in lists", |n| {
        pair(bytes("{\"items\":{\"uniqueItems\":true}}"), counted("[", "[#,{},[],#]", "]", n))
    }),
    ("unique items of both kinds", |n| {
        pair(bytes("{\"uniqueItems\":true}"), counted("[", "[{\"a\":#},1.0,\"#\"]", "]", n))
    }),
    ("multiples of next to nothing", |n| {
        pair(bytes("{\"items\":{\"multipleOf\":5e-324}}"), repeated("[1e308", ",1e308", "]", n))
    }),
    ("a multiple of a number of many digits", |n| {
        pair(
            [bytes("{\"multipleOf\":0."), vec![b'0'; n.min(SCHEMA / 2)], bytes("1}")].concat(),
            bytes("1e308"),
        )
    }),
    ("a number of many digits", |n| {
        pair(bytes("{\"type\":\"integer\",\"maximum\":1,\"multipleOf\":3}"), vec![b'9'; n])
    }),
];

/// Definitions that each lead to the next; `#` is its number.
fn chain(size: usize, link: &str) -> Vec<u8> {
    let mut all = String::from("{\"$ref\":\"#/$defs/a0\",\"$defs\":{");
    let mut count = 0_u64;
    while all.len() + link.len() + 64 < size.max(128) {
        let next = count + 1;
        all.push_str(&format!("\"a{count}\":{},", link.replace("a#", &format!("a{next}"))));
        count = next;
    }
    all.push_str(&format!("\"a{count}\":{{\"type\":\"null\"}}}}}}"));
    all.into_bytes()
}

fn patterns() -> Vec<u8> {
    let all: Vec<String> = PATTERNS
        .iter()
        // Those that are no expressions would end the whole schema.
        .filter(|it| {
            !matches!(
                **it,
                "(" | "["
                    | "\\\\"
                    | "*"
                    | "(?<=a+)b"
                    | "\\\\u{10FFFF}"
                    | "((a{100}){100}){100}"
                    | "[\\\\s\\\\S]{0,100000}"
            )
        })
        .map(|it| format!("{{\"pattern\":\"{it}\"}}"))
        .collect();
    format!("{{\"items\":{{\"allOf\":[{}]}}}}", all.join(",")).into_bytes()
}

static PAYLOAD: [Giant; 20] = [
    ("nested lists", |n| nested("", "[", "", "]", "", n)),
    ("nested objects", |n| nested("", "{\"a\":", "1", "}", "", n)),
    ("rows without cells", |n| repeated("[{}", ",{}", "]", n)),
    ("rows of one cell", |n| repeated("[{\"a\":1}", ",{\"a\":1}", "]", n)),
    ("rows of texts", |n| counted("[", "{\"name\":\"row #\",\"n\":#}", "]", n)),
    ("rows, each with a column of its own", |n| counted("[", "{\"a#\":1}", "]", n)),
    ("one row of many columns", |n| counted("[{", "\"a#\":1", "}]", n)),
    ("one row with the same column", |n| repeated("[{\"a\":1", ",\"a\":1", "}]", n)),
    ("one row with its last column again and again", |n| {
        [counted("[{", "\"a#\":1", ",", 4_800), repeated("\"a400\":1", ",\"a400\":1", "}]", n)].concat()
    }),
    ("one row with a column that is spelt again and again", |n| {
        counted("[{", "\"\\u0061#\":1,\"a#\":2", "}]", n)
    }),
    ("a list of numbers", |n| counted("[", "#", "]", n)),
    ("rows and numbers", |n| repeated("[{}", ",{},1", "]", n)),
    ("one long text", |n| repeated("[{\"a\":\"", "x", "\"}]", n)),
    ("one long text of escapes", |n| repeated("[{\"a\":\"", "\\ud800", "\"}]", n)),
    ("one long number", |n| repeated("[{\"a\":", "9", "},{\"a\":1}]", n)),
    ("texts with a long start in common", |n| {
        let start = "1a".repeat((n / 64).max(1));
        counted("[", &format!("{{\"a\":\"{start}#\"}}"), "]", n)
    }),
    ("numbers of long exponents", |n| counted("[", "{\"a\":1e99999999999999999999999999999999#}", "]", n)),
    ("one object of many keys", |n| counted("{", "\"a#\":1", "}", n)),
    ("one object of the same key", |n| repeated("{\"a\":1", ",\"a\":1", "}", n)),
    ("base64", |n| repeated("[{\"a\":\"data:image/png;base64,", "AAAA", "\"}]", n)),
];
