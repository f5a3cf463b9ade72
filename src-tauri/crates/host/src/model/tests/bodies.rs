use expect_test::expect;
use usher_protocol::model::{Audience, Format, OutputPart, Payload, Selector};

use super::*;

/// The smallest PNG.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn part(audience: Audience, format: Format, payload: Payload) -> OutputPart {
    OutputPart { selector: Selector { audience, format }, payload, bytes: 0 }
}

#[test]
fn a_small_request_to_the_byte() {
    let tool = OfferedTool::new(
        "s__add",
        Some("Adds \"two\" numbers."),
        json(r#"{"type": "object","properties":{"b":{"maximum":1e2},"a":{}}}"#),
    );
    let (turn, repairs) = Turn::assemble(
        vec![SystemText::Instructions("Be brief.".into())],
        [user("u1", "1+1?\n")],
        vec![tool],
    );
    assert_eq!(repairs, []);
    let encoded = encode(&turn, &spec(false));
    expect![[r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"1+1?\n"}],"tools":[{"type":"function","function":{"name":"s__add","description":"Adds \"two\" numbers.","parameters":{"type": "object","properties":{"b":{"maximum":1e2},"a":{}}},"strict":false}}],"parallel_tool_calls":true,"tool_choice":"auto"}"#]].assert_eq(body(&encoded));
    expect!["d81733e3126bb1b216ebff76d99ff210c64aa1e6d05bb6c16bb27a44cefbe83d"].assert_eq(&encoded.sha256);
    expect![[r#"
        format                                       {"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":"
        your instructions                            Be brief.
        format                                       "},{"role":"user","content":"
        your message                                 1+1?\n
        format                                       "}],"tools":[{"type":"function","function":{"name":"
        tool s__add: name                            s__add
        format                                       ","description":"
        tool s__add: description                     Adds \"two\" numbers.
        format                                       ","parameters":
        tool s__add: schema                          {"type": "object","properties":{"b":{"maximum":1e2},"a":{}}}
        format                                       ,"strict":false}}],"parallel_tool_calls":true,"tool_choice":"auto"}
    "#]].assert_eq(&spans(&encoded));
    expect!["http://127.0.0.1:9/v1/chat/completions"].assert_eq(encoded.url.as_str());
}

#[test]
fn parallel_calls_of_one_tool_keep_their_results_apart() {
    let history = vec![
        user("u1", "both"),
        assistant(
            "a1",
            "",
            vec![call("c1", "s__echo", r#"{"n": 9007199254740993.10}"#), call("c2", "s__echo", "")],
        ),
        content("c2", false, r#"[{"type":"text","text":"second"}]"#),
        content(
            "c1",
            true,
            r#"[{"type":"text","text":"first"},{"type":"text","text":""},{"type":"text","text":"more"}]"#,
        ),
    ];
    expect![[r#"
        format                                       {"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"
        your message                                 both
        format                                       "},{"role":"assistant","content":null,"tool_calls":[{"id":"
        call c1: id                                  c1
        format                                       ","type":"function","function":{"name":"
        call c1: name                                s__echo
        format                                       ","arguments":"
        call c1: arguments                           {\"n\": 9007199254740993.10}
        format                                       "}},{"id":"
        call c2: id                                  c2
        format                                       ","type":"function","function":{"name":"
        call c2: name                                s__echo
        format                                       ","arguments":"
        call c2: arguments                           {}
        format                                       "}}]},{"role":"tool","tool_call_id":"
        call c1: id                                  c1
        format                                       ","content":"
        error prefix                                 The tool reported an error:\n
        call c1: content, block 0, by policy         first
        separator                                    \n\n
        call c1: content, block 2, by policy         more
        format                                       "},{"role":"tool","tool_call_id":"
        call c2: id                                  c2
        format                                       ","content":"
        call c2: content, block 0, by policy         second
        format                                       "}]}
    "#]].assert_eq(&spans(&encode(&turn(history), &spec(false))));
}

#[test]
fn pictures_follow_in_one_user_message_after_the_last_tool_message() {
    let image = format!(
        r#"[{{"type":"text","text":"seen"}},{{"type":"image","mimeType":"image/png","data":"{PNG}"}}]"#
    );
    let history = vec![
        user("u1", "both"),
        assistant("a1", "", vec![call("c1", "s__shot", "{}"), call("c2", "s__shot", "{}")]),
        content("c1", false, &image),
        content("c2", false, &image),
    ];
    let encoded = encode(&turn(history.clone()), &spec(true));
    expect![[r#"
        format                                       {"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"
        your message                                 both
        format                                       "},{"role":"assistant","content":null,"tool_calls":[{"id":"
        call c1: id                                  c1
        format                                       ","type":"function","function":{"name":"
        call c1: name                                s__shot
        format                                       ","arguments":"
        call c1: arguments                           {}
        format                                       "}},{"id":"
        call c2: id                                  c2
        format                                       ","type":"function","function":{"name":"
        call c2: name                                s__shot
        format                                       ","arguments":"
        call c2: arguments                           {}
        format                                       "}}]},{"role":"tool","tool_call_id":"
        call c1: id                                  c1
        format                                       ","content":"
        call c1: content, block 0, by policy         seen
        separator                                    \n\n
        placeholder: image follows                   [an image of this result is in the next message]
        format                                       "},{"role":"tool","tool_call_id":"
        call c2: id                                  c2
        format                                       ","content":"
        call c2: content, block 0, by policy         seen
        separator                                    \n\n
        placeholder: image follows                   [an image of this result is in the next message]
        format                                       "},{"role":"user","content":[{"type":"text","text":"
        header: images                               Images from the result of tool call 
        call c1: id                                  c1
        format                                       "},{"type":"image_url","image_url":{"url":"data:
        call c1: content, block 1, by policy         image/png
        format                                       ;base64,
        call c1: content, block 1, by policy         (png)
        format                                       "}},{"type":"text","text":"
        header: images                               Images from the result of tool call 
        call c2: id                                  c2
        format                                       "},{"type":"image_url","image_url":{"url":"data:
        call c2: content, block 1, by policy         image/png
        format                                       ;base64,
        call c2: content, block 1, by policy         (png)
        format                                       "}}]}]}
    "#]].assert_eq(&spans(&encoded).replace(PNG, "(png)"));
    assert_eq!(body(&encoded).matches(PNG).count(), 2);

    let encoded = encode(&turn(history), &spec(false));
    assert_eq!(body(&encoded).matches(&PNG[..20]).count(), 0);
    assert!(
        body(&encoded).contains(
            "[image image/png 70 bytes not sent: this model does not take it; the user can see it]"
        )
    );
}

#[test]
fn every_kind_of_block_has_its_form_and_base64_is_never_text() {
    let blocks = format!(
        r#"[{{"type":"audio","mimeType":"audio/wav; x=\"y\"","data":"{PNG}"}},
            {{"type":"image","mimeType":"image/svg+xml","data":"{PNG}"}},
            {{"type":"image","mimeType":"image/png","data":"not base64!"}},
            {{"type":"resource_link","uri":"file:///a","name":"a","size":3}},
            {{"type":"resource","resource":{{"uri":"file:///b","mimeType":"text/plain","text":"body"}}}},
            {{"type":"resource","resource":{{"uri":"file:///c","mimeType":"application/pdf","blob":"{PNG}"}}}},
            {{"type":"resource","resource":{{"uri":"file:///d","mimeType":"image/png","blob":"{PNG}"}}}},
            {{"type":"hologram","data":"{PNG}"}}]"#
    );
    let history = vec![
        user("u1", "x"),
        assistant("a1", "", vec![call("c1", "s__t", "{}")]),
        content("c1", false, &blocks),
    ];
    let encoded = encode(&turn(history), &spec(true));
    expect![[r#"
        format                                       {"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"
        your message                                 x
        format                                       "},{"role":"assistant","content":null,"tool_calls":[{"id":"
        call c1: id                                  c1
        format                                       ","type":"function","function":{"name":"
        call c1: name                                s__t
        format                                       ","arguments":"
        call c1: arguments                           {}
        format                                       "}}]},{"role":"tool","tool_call_id":"
        call c1: id                                  c1
        format                                       ","content":"
        placeholder: media not sent                  [audio audio/wav 70 bytes not sent: this model does not take it; the user can see it]
        separator                                    \n\n
        placeholder: media not sent                  [image image/svg+xml 70 bytes not sent: this model does not take this type; the user can see it]
        separator                                    \n\n
        placeholder: media not sent                  [image image/png 8 bytes not sent: its data cannot be read; the user can see it]
        separator                                    \n\n
        call c1: content, block 3, by policy         {\"type\":\"resource_link\",\"uri\":\"file:///a\",\"name\":\"a\",\"size\":3}
        separator                                    \n\n
        header: resource                             Resource 
        call c1: content, block 4, by policy         file:///b
        header: resource                              of type 
        call c1: content, block 4, by policy         text/plain
        header: resource                             :\n
        call c1: content, block 4, by policy         body
        separator                                    \n\n
        placeholder: media not sent                  [resource application/pdf 70 bytes not sent: this model does not take it; the user can see it]
        separator                                    \n\n
        placeholder: image follows                   [an image of this result is in the next message]
        separator                                    \n\n
        placeholder: unknown block                   [a block of unknown type, 125 bytes, not sent]
        format                                       "},{"role":"user","content":[{"type":"text","text":"
        header: images                               Images from the result of tool call 
        call c1: id                                  c1
        format                                       "},{"type":"image_url","image_url":{"url":"data:
        call c1: content, block 6, by policy         image/png
        format                                       ;base64,
        call c1: content, block 6, by policy         (png)
        format                                       "}}]}]}
    "#]].assert_eq(&spans(&encoded).replace(PNG, "(png)"));
    let value: serde_json::Value = serde_json::from_slice(&encoded.body).unwrap();
    assert!(!value["messages"][2]["content"].as_str().unwrap().contains(&PNG[..20]));
}

#[test]
fn only_assistant_outputs_can_become_results() {
    let payload = Payload::Structured(json(r#"{"secret":1}"#));
    for audience in [Audience::User, Audience::Programmatic, Audience::ui()] {
        assert!(AssistantOutput::of(&part(audience, Format::Structured, payload.clone())).is_none());
    }
    assert!(AssistantOutput::of(&part(Audience::Assistant, Format::Content, payload)).is_none());
}

#[test]
fn a_text_that_repeats_the_structured_output_is_sent_once() {
    let text = r#"[{"type":"text","text":"{\"b\": 2, \"a\": [1]}"},{"type":"text","text":"a remark"}]"#;
    let content =
        part(Audience::Assistant, Format::Content, Payload::Content(serde_json::from_str(text).unwrap()));
    let structured =
        part(Audience::Assistant, Format::Structured, Payload::Structured(json(r#"{"a":[1],"b":2}"#)));
    let outputs: Vec<_> = [&content, &structured].into_iter().filter_map(AssistantOutput::of).collect();
    let (result, notes) = ModelToolResult::from_outputs("c", false, &outputs);
    assert_eq!(notes, [ItemNote::Deduplicated { block: 0, bytes: 18 }]);
    let items: Vec<_> = result.items().map(|(item, _)| item.clone()).collect();
    assert_eq!(items, [ModelItem::Text("a remark".into()), ModelItem::Json(json(r#"{"a":[1],"b":2}"#))]);
}

#[test]
fn numbers_that_differ_beyond_a_double_are_not_the_same() {
    let text = r#"[{"type":"text","text":"{\"id\":98765432109876543211}"}]"#;
    let content =
        part(Audience::Assistant, Format::Content, Payload::Content(serde_json::from_str(text).unwrap()));
    let structured = part(
        Audience::Assistant,
        Format::Structured,
        Payload::Structured(json(r#"{"id":98765432109876543210}"#)),
    );
    let outputs: Vec<_> = [&content, &structured].into_iter().filter_map(AssistantOutput::of).collect();
    let (result, notes) = ModelToolResult::from_outputs("c", false, &outputs);
    assert_eq!((result.items().count(), notes), (2, vec![]));
}

#[test]
fn results_of_the_host_are_its_own_words() {
    let result = |id: &str, it: ModelToolResult| (call(id, "s__t", "{}"), HistoryItem::Result(it));
    let (calls, results): (Vec<_>, Vec<_>) = [
        result("c1", ModelToolResult::host("c1", false, HostText::ShownToUser)),
        result("c2", ModelToolResult::host("c2", true, HostText::Refused)),
        result("c3", ModelToolResult::invalid_arguments("c3", &["/a: not a number".to_owned()])),
        result("c4", ModelToolResult::protocol_error("c4", "no \"such\" thing")),
        result("c5", ModelToolResult::from_outputs("c5", false, &[]).0),
        result("c6", ModelToolResult::script("c6", false, "42")),
    ]
    .into_iter()
    .unzip();
    let history = [user("u1", "x"), assistant("a1", "", calls)].into_iter().chain(results).collect();
    let value: serde_json::Value =
        serde_json::from_slice(&encode(&turn(history), &spec(false)).body).unwrap();
    let texts: String = (2..8).map(|it| format!("{}\n", value["messages"][it]["content"])).collect();
    expect![[r#"
        "The output was shown to the user. It is not repeated here."
        "The user did not allow this call. It was not made."
        "The arguments do not fit the tool's input schema, so the tool was not called:\n/a: not a number"
        "The call failed: the server could not be reached or refused the request. There is no result.\n\nno \"such\" thing"
        "The tool finished and returned nothing."
        "42"
    "#]].assert_eq(&texts);
}

#[test]
fn arguments_that_are_no_object_are_not_sent_back() {
    let cut = ToolCall { arguments: Arguments::read(r#"{"city": "Paris"#, false), ..call("c1", "s__t", "") };
    let history = vec![
        user("u1", "x"),
        assistant("a1", "", vec![cut, call("c2", "s__t", "[1]")]),
        HistoryItem::Result(ModelToolResult::host("c1", true, HostText::CutArguments)),
        HistoryItem::Result(ModelToolResult::host("c2", true, HostText::MalformedArguments)),
    ];
    let encoded = encode(&turn(history), &spec(false));
    assert!(!body(&encoded).contains("Paris"));
    assert_eq!(encoded.spans.iter().filter(|it| it.source == Source::Host(HostText::NoArguments)).count(), 2);
}

#[test]
fn a_broken_conversation_is_repaired_and_says_so() {
    let history = vec![
        content("c0", false, r#"[{"type":"text","text":"nobody asked"}]"#),
        user("u1", "x"),
        assistant(
            "a1",
            "",
            vec![call("c1", "s__t", "{}"), call("c1", "s__t", "{}"), call("c2", "s__t", "{}")],
        ),
        content("c1", false, r#"[{"type":"text","text":"one"}]"#),
        user("u2", "typed while it ran"),
        content("c1", false, r#"[{"type":"text","text":"two"}]"#),
        content("c1", false, r#"[{"type":"text","text":"three"}]"#),
        assistant("a2", "", vec![]),
        // A provider counted from the start again.
        assistant("a3", "", vec![call("c1", "s__t", "{}")]),
        content("c1", false, r#"[{"type":"text","text":"later"}]"#),
    ];
    let (turn, repairs) = Turn::assemble(vec![], history, vec![]);
    expect![[r#"
        Orphan { call_id: "c0" }
        Duplicate { call_id: "c1" }
        Renamed { call_id: "c1", sent_as: "c1-2" }
        Unanswered { call_id: "c2" }
        Empty { item_id: "a2" }
    "#]]
    .assert_eq(&repairs.iter().map(|it| format!("{it:?}\n")).collect::<String>());
    let value: serde_json::Value = serde_json::from_slice(&encode(&turn, &spec(false)).body).unwrap();
    let line = |it: &serde_json::Value| format!("{} {} {}\n", it["role"], it["tool_call_id"], it["content"]);
    expect![[r#"
        "user" null "x"
        "assistant" null null
        "tool" "c1" "one"
        "tool" "c1-2" "two"
        "tool" "c2" "This call was interrupted before its result was received. Whether it took effect is unknown."
        "user" null "typed while it ran"
        "assistant" null null
        "tool" "c1" "later"
    "#]].assert_eq(&value["messages"].as_array().unwrap().iter().map(line).collect::<String>());
}

#[test]
fn what_is_shown_to_the_model_is_named() {
    let door = Door::ShownToModel { call_id: "c1".into(), selector: Selector::USER_STRUCTURED };
    let shown = UserMessage { item_id: "u1".into(), door, text: "[1]".into() };
    let turn = turn(vec![HistoryItem::User(shown)]);
    expect![[r#"
        format                                       {"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"
        shown to the model: user/structured of call c1 [1]
        format                                       "}]}
    "#]].assert_eq(&spans(&encode(&turn, &spec(true))));
}

#[test]
fn the_words_and_pictures_of_a_view_are_not_taken_for_the_users() {
    let picture = ContentBlock::from_raw(&json(&format!(
        r#"{{"type":"image","mimeType":"image/png","data":"{PNG}"}}"#
    )));
    let said = |door, blocks: &[ContentBlock]| {
        HistoryItem::Brought(BroughtMessage::new("u1", door, false, blocks).unwrap())
    };
    let context = || Door::ViewContext { call_id: "c1".into() };
    let message = || Door::ViewMessage { call_id: "c1".into() };
    let words = ContentBlock::text("Pay now.");
    let turn = turn(vec![
        said(context(), std::slice::from_ref(&words)),
        said(message(), &[words, picture.clone()]),
        said(context(), &[picture]),
        user("u2", "Pay now."),
    ]);
    expect![[r#"
        format                                       {"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"
        header: words of a View                      The app that a tool shows to the user says, and the user allowed that you read it:\n
        context of the View of call c1               Pay now.
        format                                       "},{"role":"user","content":[{"type":"text","text":"
        header: words of a View                      The app that a tool shows to the user says, and the user allowed that you read it:\n
        message of the View of call c1               Pay now.
        format                                       "},{"type":"image_url","image_url":{"url":"data:
        picture, message of the View of call c1      image/png
        format                                       ;base64,
        picture, message of the View of call c1      (png)
        format                                       "}}]},{"role":"user","content":[{"type":"text","text":"
        header: words of a View                      The app that a tool shows to the user says, and the user allowed that you read it:\n
        format                                       "},{"type":"image_url","image_url":{"url":"data:
        picture, context of the View of call c1      image/png
        format                                       ;base64,
        picture, context of the View of call c1      (png)
        format                                       "}}]},{"role":"user","content":"
        your message                                 Pay now.
        format                                       "}]}
    "#]].assert_eq(&spans(&encode(&turn, &spec(true))).replace(PNG, "(png)"));
    expect![[r#"
        format                                       {"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"
        header: words of a View                      The app that a tool shows to the user says, and the user allowed that you read it:\n
        context of the View of call c1               Pay now.
        format                                       "},{"role":"user","content":"
        header: words of a View                      The app that a tool shows to the user says, and the user allowed that you read it:\n
        message of the View of call c1               Pay now.
        separator                                    \n\n
        placeholder: media not sent                  [image image/png 70 bytes not sent: this model does not take it; the user can see it]
        format                                       "},{"role":"user","content":"
        header: words of a View                      The app that a tool shows to the user says, and the user allowed that you read it:\n
        placeholder: media not sent                  [image image/png 70 bytes not sent: this model does not take it; the user can see it]
        format                                       "},{"role":"user","content":"
        your message                                 Pay now.
        format                                       "}]}
    "#]].assert_eq(&spans(&encode(&turn, &spec(false))));
}

#[test]
fn a_view_answers_a_call_with_words_and_pictures() {
    let picture = ContentBlock::from_raw(&json(&format!(
        r#"{{"type":"image","mimeType":"image/png","data":"{PNG}"}}"#
    )));
    let answers = |result| {
        turn(vec![assistant("a1", "", vec![call("c1", "view__t", "{}")]), HistoryItem::Result(result)])
    };
    let both = answers(ModelToolResult::of_view("c1", false, "Red.", std::slice::from_ref(&picture)));
    expect![[r#"
        format                                       {"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"
        call c1: id                                  c1
        format                                       ","type":"function","function":{"name":"
        call c1: name                                view__t
        format                                       ","arguments":"
        call c1: arguments                           {}
        format                                       "}}]},{"role":"tool","tool_call_id":"
        call c1: id                                  c1
        format                                       ","content":"
        header: words of a View                      The app that a tool shows to the user says, and the user allowed that you read it:\n
        separator                                    \n\n
        call c1: what a View answered                Red.
        separator                                    \n\n
        placeholder: image follows                   [an image of this result is in the next message]
        format                                       "},{"role":"user","content":[{"type":"text","text":"
        header: images                               Images from the result of tool call 
        call c1: id                                  c1
        format                                       "},{"type":"image_url","image_url":{"url":"data:
        call c1: what a View answered                image/png
        format                                       ;base64,
        call c1: what a View answered                (png)
        format                                       "}}]}]}
    "#]].assert_eq(&spans(&encode(&both, &spec(true))).replace(PNG, "(png)"));
    let silent = answers(ModelToolResult::of_view("c1", false, "", &[]));
    assert!(body(&encode(&silent, &spec(true))).contains("The tool finished and returned nothing."));
}

#[test]
fn a_key_stands_only_in_a_header_that_is_not_recorded() {
    let key = Secret::new(" sk-canary\n");
    let model = ModelSpec {
        endpoint: Endpoint::Http { base_url: "https://x.test/v1/".parse().unwrap(), key: Some(key) },
        ..spec(false)
    };
    let encoded = encode(&turn(vec![user("u1", "x")]), &model);
    assert_eq!(encoded.url.as_str(), "https://x.test/v1/chat/completions");
    assert_eq!(encoded.headers["authorization"], "Bearer sk-canary");
    assert!(!format!("{encoded:?} {model:?} {:?}", encoded.recordable_headers()).contains("sk-canary"));
}

#[test]
fn span_sources_reproduce_their_texts() {
    let texts = ["plain", "q\"uo\\te\n\u{1}", "😅 ü 漢字", "</script>\u{2028}"];
    for text in texts {
        let result = ModelToolResult::script("c1", false, text);
        let history = vec![
            user("u1", text),
            assistant("a1", text, vec![call("c1", "s__t", "{}")]),
            HistoryItem::Result(result),
        ];
        let encoded = encode(&turn(history), &spec(false));
        let sources = [
            Source::User { item_id: arc("u1"), door: Door::Typed, part: MessagePart::Words },
            Source::Assistant { item_id: arc("a1") },
            Source::Result { call_id: arc("c1"), origin: Origin::Script },
        ];
        for source in sources {
            let slices: String = encoded
                .spans
                .iter()
                .filter(|it| it.source == source)
                .map(|it| &body(&encoded)[it.range.clone()])
                .collect();
            assert_eq!(serde_json::from_str::<String>(&format!("\"{slices}\"")).unwrap(), text);
        }
    }
}
