use bytes::Bytes;
use expect_test::{Expect, expect};
use futures::{StreamExt, stream};

use super::{super::sse::decode, *};

fn events(chunks: Vec<Bytes>) -> Vec<Result<StreamEvent, ModelError>> {
    let chunks = stream::iter(chunks.into_iter().map(Ok)).boxed();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(decode(chunks, OpenAiChat.decoder(ids())).collect())
}

/// Reads a stream whole, byte by byte and in odd pieces; all must agree. Gives the answer, or the error after what came before.
fn read(text: &str) -> String {
    let whole = events(vec![Bytes::copy_from_slice(text.as_bytes())]);
    for size in [1, 2, 3, 7, 61] {
        let pieces = text.as_bytes().chunks(size).map(Bytes::copy_from_slice).collect();
        assert_eq!(events(pieces), whole, "pieces of {size}");
    }
    let mut reply = Reply::default();
    let mut out = String::new();
    for event in whole {
        match event {
            Ok(event) => {
                if let StreamEvent::Unreadable { head } = &event {
                    out.push_str(&format!("unreadable {head}\n"));
                }
                reply.apply(&event);
            }
            Err(error) => out.push_str(&format!("error {error}\n")),
        }
    }
    out.push_str(&format!(
        "text {:?} reasoning {:?} finish {:?}\n",
        reply.text, reply.reasoning, reply.finish
    ));
    if let Some(usage) = reply.usage {
        out.push_str(&format!("{usage:?}\n"));
    }
    for call in reply.calls() {
        out.push_str(&format!("call {} {} {:?}\n", call.id, call.wire_name, call.arguments));
    }
    out
}

fn check(lines: &[&str], expected: Expect) {
    let text: String = lines.iter().map(|it| format!("data: {it}\n\n")).collect();
    let read_with_lf = read(&text);
    for other in [
        text.replace('\n', "\r\n"),
        text.replace('\n', "\r"),
        format!("\u{feff}{text}"),
        text.replace("data: ", "data:"),
    ] {
        assert_eq!(read(&other), read_with_lf);
    }
    expected.assert_eq(&read_with_lf);
}

#[test]
fn text_reasoning_and_usage() {
    check(
        &[
            r#"{"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":null}}],"unknown":[{}]}"#,
            r#"{"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"Grüße 😅"}},{"index":1,"delta":{"content":"another choice"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":" there"},"finish_reason":null}]}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":5}}}"#,
            "[DONE]",
            r#"{"choices":[{"index":0,"delta":{"content":"after the end"}}]}"#,
        ],
        expect![[r#"
            text "Grüße 😅 there" reasoning "hm" finish Some(Stop)
            Usage { input_tokens: 7, output_tokens: 3, cached_tokens: Some(5) }
        "#]],
    );
}

#[test]
fn several_calls_in_pieces() {
    check(
        &[
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"s__one","arguments":""}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"n\": 12345678901234"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"s__two","arguments":"{"}},{"index":0,"function":{"arguments":"567890}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"arguments":"}"}}]},"finish_reason":"tool_calls"}]}"#,
            "[DONE]",
        ],
        expect![[r#"
            text "" reasoning "" finish Some(ToolCalls)
            call a s__one Object({"n": 12345678901234567890})
            call b s__two Object({})
        "#]],
    );
}

#[test]
fn calls_as_local_servers_send_them() {
    // Whole, without index and id; arguments as an object; a name that is repeated; every index 0; no arguments at all.
    check(
        &[
            r#"{"choices":[{"delta":{"content":null,"tool_calls":[{"function":{"name":"s__one","arguments":"{\"a\":1}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"s__two","arguments":{"b":1.0}}}]}}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
        ],
        expect![[r#"
            text "" reasoning "" finish Some(Stop)
            call generated-1 s__one Object({"a":1})
            call generated-2 s__two Object({"b":1.0})
        "#]],
    );
    check(
        &[
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"s__one","arguments":"{}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"s__two","arguments":"{\"x\""}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"s__two","arguments":":1}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"s__three"}}]},"finish_reason":"tool_calls"}]}"#,
        ],
        expect![[r#"
            text "" reasoning "" finish Some(ToolCalls)
            call a s__one Object({})
            call b s__two Object({"x":1})
            call c s__three Object({})
        "#]],
    );
    // The same id twice, and a name in pieces.
    check(
        &[
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"s__","arguments":""}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"one","arguments":"{}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"a","function":{"name":"s__two","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#,
        ],
        expect![[r#"
            text "" reasoning "" finish Some(ToolCalls)
            call a s__one Object({})
            call generated-1 s__two Object({})
        "#]],
    );
    // A whole message in place of a stream.
    check(
        &[
            r#"{"choices":[{"index":0,"message":{"role":"assistant","content":[{"type":"text","text":"hi"}],"tool_calls":[{"id":"a","type":"function","function":{"name":"s__one","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#,
        ],
        expect![[r#"
            text "hi" reasoning "" finish Some(ToolCalls)
            call a s__one Object({})
        "#]],
    );
}

#[test]
fn what_is_cut_is_never_complete() {
    check(
        &[
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"s__one","arguments":"{}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"s__two","arguments":"{\"city\": \"Paris\""}}]}}]}"#,
            r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#,
        ],
        expect![[r#"
            text "" reasoning "" finish Some(Length)
            call a s__one Object({})
            call b s__two Cut("{\"city\": \"Paris\"")
        "#]],
    );
    check(
        &[
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"s__one","arguments":"{}"}}]}}]}"#,
        ],
        expect![[r#"
            error The answer was cut off before it was complete.
            text "" reasoning "" finish None
            call a s__one Cut("{}")
        "#]],
    );
    expect![[r#"
        unreadable {"choices":[{"delta":{"con
        error The answer was cut off before it was complete.
        text "par" reasoning "" finish None
    "#]]
    .assert_eq(&read(
        "data: {\"choices\":[{\"delta\":{\"content\":\"par\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"con",
    ));
    expect![[r#"
        error The answer was cut off before it was complete.
        text "" reasoning "" finish None
    "#]]
    .assert_eq(&read(""));
}

#[test]
fn an_end_without_its_last_line_is_an_end() {
    expect![[r#"
        text "all" reasoning "" finish Some(Stop)
    "#]]
    .assert_eq(&read("data: {\"choices\":[{\"delta\":{\"content\":\"all\"}}]}\n\ndata: [DONE]"));
}

#[test]
fn errors_in_the_middle_are_told() {
    check(
        &[
            r#"{"choices":[{"delta":{"content":"so far"}}]}"#,
            r#"{"error":{"message":"overloaded","code":503}}"#,
            "[DONE]",
        ],
        expect![[r#"
            error The provider reported an error while it answered: overloaded
            text "so far" reasoning "" finish None
        "#]],
    );
    check(
        &[r#"{"error":"out of memory"}"#],
        expect![[r#"
        error The provider reported an error while it answered: out of memory
        text "" reasoning "" finish None
    "#]],
    );
}

#[test]
fn noise_costs_its_line_and_no_more() {
    let text = ": a comment\nretry: soon\nevent: chunk\nevent: again\nfoo: bar\nno colon\nid: 1\ndata: {\"choices\":[{\"delta\":{\"content\":\"kept\"}}]}\n\n\
                data: not json\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    expect![[r#"
        unreadable int parse error: invalid digit found in string
        unreadable duplicated event line
        unreadable invalid line
        unreadable invalid line
        unreadable not json
        text "kept" reasoning "" finish Some(Stop)
    "#]]
    .assert_eq(&read(text));
    expect![[r#"
        unreadable invalid line
        unreadable invalid line
        error The answer was cut off before it was complete.
        text "" reasoning "" finish None
    "#]]
    .assert_eq(&read("<html>\n<body>data: x</body>"));
    expect![[r#"
        unreadable <html>
        error What answers is not a model endpoint, or not of this format: "<html>"
        text "" reasoning "" finish None
    "#]]
    .assert_eq(&read("data: <html>\n\n"));
}

#[test]
fn text_that_is_not_utf8_costs_its_line() {
    let bytes = b"data: {\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\n";
    let got = events(vec![Bytes::from_static(bytes)]);
    assert!(matches!(&got[0], Ok(StreamEvent::Unreadable { .. })), "{got:?}");
    assert_eq!(got[1..], [Ok(StreamEvent::Text("ok".to_owned())), Ok(StreamEvent::Finished(Finish::Stop))]);
}

#[test]
fn more_calls_than_any_model_needs_are_refused() {
    let text: String = (0..200)
        .map(|it| format!("data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":{it},\"id\":\"c{it}\",\"function\":{{\"name\":\"t\",\"arguments\":\"{{}}\"}}}}]}}}}]}}\n\n"))
        .collect();
    let got = events(vec![text.into()]);
    assert!(matches!(got.last(), Some(Err(ModelError::MidStream { .. }))));
}
