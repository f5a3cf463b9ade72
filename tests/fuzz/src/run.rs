//! Lets a target read a case. Whatever the case is, this returns; a panic is a finding.

use std::sync::OnceLock;

use bytes::Bytes;
use tokio::runtime::Runtime;
use usher_engine::validation::{Compiled, Verdict};
use usher_host::{
    connection::hostile::{Body, take_body, take_output},
    model::{AdaptedSchema, portability},
    payload::{Shape, Sort, classify, decode_base64, identify, json_children},
};
use usher_protocol::{
    RawJson, Revision,
    codec::{
        decode_call, decode_outcome, decode_tools, encode_call, encode_legacy, encode_outputs, encode_result,
        encode_tool,
    },
    jsonrpc::Message,
    model::{Contract, OutcomeBody, Tool},
};

use crate::{SEPARATOR, Target, random::Random};

/// A case of more bytes is read in one way, and a smaller one in all.
const LARGE: usize = 1 << 16;

/// Reads a case.
pub fn run(target: Target, bytes: Vec<u8>) {
    match target {
        Target::Decoder => decoder(bytes),
        Target::Codec => codec(bytes),
        Target::Validator => validator(&bytes),
        Target::Payload => payload(bytes),
    }
}

fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let built = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        built.unwrap_or_else(|error| panic!("no runtime: {error}"))
    })
}

fn decoder(bytes: Vec<u8>) {
    // The pieces depend on the case alone, so that it can be repeated.
    let mut random =
        Random::new(u64::try_from(bytes.len()).unwrap_or(0) ^ u64::from(bytes.first().copied().unwrap_or(0)));
    let least = bytes.len() / 4_096;
    let lengths: Vec<usize> = (0..8).map(|_| least + random.length(1 << 16) + 1).collect();
    let bytes = Bytes::from(bytes);
    let ways = if bytes.len() > LARGE { 1 + random.below(4) } else { 15 };
    runtime().block_on(async {
        if ways & 1 != 0 {
            take_output(bytes.clone(), lengths.clone(), true).await;
        }
        if ways & 2 != 0 && ways != 3 {
            // A server that never reads.
            take_output(bytes.clone(), lengths.clone(), false).await;
        }
        if ways & 4 != 0 || ways == 3 {
            take_body(http(), bytes.clone(), lengths.clone(), Body::Events).await;
        }
        if ways & 8 != 0 {
            take_body(http(), bytes, lengths, Body::Json).await;
        }
    });
}

fn http() -> &'static reqwest::Client {
    static HTTP: OnceLock<reqwest::Client> = OnceLock::new();
    HTTP.get_or_init(reqwest::Client::new)
}

const REVISIONS: [Revision; 5] = [
    Revision::V2025_03_26,
    Revision::V2025_06_18,
    Revision::V2025_11_25,
    Revision::V2026_07_28,
    Revision::V2026_12_01,
];

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// What is drawn for a case depends on it alone, so that it can be repeated: on its length and its start.
fn drawn(text: &str) -> Random {
    Random::new(
        text.bytes().take(1 << 10).fold(count(text.len()), |sum, it| sum.rotate_left(5) ^ u64::from(it)),
    )
}

fn codec(bytes: Vec<u8>) {
    let text = text(bytes);
    // A large one is read once, as the product reads it: as a message, or as one result under one revision. Its time would otherwise
    // be that of many readings.
    let is_large = text.len() > LARGE;
    let mut random = drawn(&text);
    let (any, one) = (random.below(4), random.below(REVISIONS.len()));
    // What looks like a result is read as that result.
    let act = match text.get(..6) {
        Some("{\"tool") => 1,
        Some("{\"cont" | "{\"outp" | "{\"resu") => 2,
        _ => any,
    };
    let is_read_as = |it: usize| !is_large || act == it;
    if is_read_as(0)
        && let Ok(message) = Message::parse(&text)
        && !text.contains(['\n', '\r'])
    {
        let line = message.to_line();
        assert_eq!(
            Message::parse(&line).ok(),
            Some(message),
            "a message that was written is read as another"
        );
    }
    let Ok(raw) = RawJson::parse(text) else { return };
    let revisions = if is_large { &REVISIONS[one..=one] } else { &REVISIONS[..] };
    for &revision in revisions {
        if is_read_as(1)
            && let Ok((page, _)) = decode_tools(revision, &raw)
        {
            for tool in page.tools.iter().take(100) {
                for other in [Revision::V2025_11_25, Revision::V2026_12_01] {
                    encode_tool(other, tool);
                }
            }
        }
        if is_read_as(2)
            && let Ok((outcome, _)) = decode_outcome(revision, &raw)
        {
            let meta = outcome.meta.as_ref();
            match &outcome.body {
                OutcomeBody::Outputs { parts, .. } => {
                    encode_outputs(parts, outcome.is_error, meta).unwrap_or_else(|it| panic!("{it}"));
                    encode_result(Revision::V2025_11_25, parts, outcome.is_error, meta)
                        .unwrap_or_else(|it| panic!("{it}"));
                }
                OutcomeBody::Legacy { content, structured } => {
                    encode_legacy(revision, content, structured.as_ref(), outcome.is_error, meta)
                        .unwrap_or_else(|it| panic!("{it}"));
                }
            }
        }
        if is_read_as(3)
            && let Ok(call) = decode_call(revision, &raw)
        {
            encode_call(revision, &call).unwrap_or_else(|it| panic!("{it}"));
        }
    }
}

fn validator(bytes: &[u8]) {
    let mut parts = bytes.splitn(2, |it| *it == SEPARATOR);
    let schema = text(parts.next().unwrap_or_default().to_vec());
    let value = text(parts.next().unwrap_or_default().to_vec());
    let (Ok(schema), Ok(value)) = (RawJson::parse(schema), RawJson::parse(value)) else { return };
    let compiled = Compiled::new(&schema);
    let verdict = compiled.check(&value);
    assert!(verdict.line().len() < 4_096, "a verdict in a few words has many");
    if let Verdict::Violates { problems, .. } = &verdict {
        assert!(!problems.is_empty(), "nothing is wrong with what does not fit");
        assert!(problems.iter().all(|it| it.message.len() < 4_096), "a problem is as long as the value");
    }
    if let Ok(adapted) = AdaptedSchema::for_openai(&schema) {
        adapted.unwrap_arguments(&value);
    }
    portability(&schema);
    let tool = Tool {
        name: "t".to_owned(),
        title: None,
        description: None,
        input_schema: schema,
        contract: Contract::Legacy { output_schema: None },
        annotations: usher_protocol::model::ToolAnnotations::default(),
        ui: None,
        raw: RawJson::from(serde_json::Value::Null),
    };
    use usher_engine::contract::arguments;
    if let Ok(normal) = arguments::normal(&tool) {
        arguments::empty(&tool, &normal);
        arguments::failing(&tool, &normal);
    }
}

fn payload(bytes: Vec<u8>) {
    let Ok(raw) = RawJson::parse(text(bytes)) else { return };
    // Each is something that a person asks for by itself; of a large value one is done.
    let one = drawn(raw.get()).below(5);
    let is_asked = |act: usize| raw.bytes() <= LARGE || act == one;
    if (raw.bytes() <= LARGE || one != 4)
        && let Shape::Table(table) = classify(&raw, None)
    {
        table.window(None, "", 0, 100);
        if is_asked(0) {
            table.window(None, "a", 3, 10);
        }
        for column in table.columns().iter().take(if raw.bytes() > LARGE { 1 } else { 2 }) {
            for descending in [false, true].into_iter().filter(|it| is_asked(1 + usize::from(*it))) {
                let sort = Sort { column: column.key.clone(), descending };
                let rows = table.window(Some(&sort), "", 0, 10);
                assert_eq!(rows.matching, table.len(), "sorting loses rows");
            }
        }
        if raw.bytes() <= 1 << 22 && is_asked(3) {
            table.to_csv(None, "");
            RawJson::parse(table.to_json(None, "")).unwrap_or_else(|it| panic!("an export is no JSON: {it}"));
        }
    }
    if !is_asked(4) {
        return;
    }
    let mut pointer = String::new();
    for _ in 0..if raw.bytes() > LARGE { 1 } else { 3 } {
        let Ok(children) = json_children(raw.get(), &pointer, 0, 50) else { break };
        let Some(child) = children.children.last() else { break };
        pointer.clone_from(&child.pointer);
        assert!(
            json_children(raw.get(), &pointer, 0, 1).is_ok(),
            "a child that is told of cannot be opened: {pointer:?}"
        );
    }
    let inner = raw.get().trim_matches('"');
    if let Ok(bytes) = decode_base64(inner, 1 << 20) {
        identify(&bytes, Some("image/png"));
    }
}
