//! What a client owes a server beside its calls.

use serde_json::Value;
use tokio::sync::mpsc;

use super::*;

/// Whoever sits in front of the host: what is offered, and where the questions come.
fn offers() -> (ConnectionOptions, mpsc::Receiver<Question>) {
    let (questions, asked) = mpsc::channel(4);
    let offers = Offers { forms: true, urls: true, questions: Some(questions), ..Offers::default() };
    (ConnectionOptions { offers, repeat_after: Duration::from_millis(1), ..patient() }, asked)
}

fn accept(content: Value) -> Answer {
    Answer::Elicited(Elicited::Accept { content: Some(content) })
}

const FORM: &str = r#"{"mode":"form","message":"Which region?","requestedSchema":{"type":"object","properties":{"region":{"type":"string"}}}}"#;

#[tokio::test]
async fn a_question_in_return_is_answered_and_the_request_repeated() {
    let (options, mut asked) = offers();
    let server = script(|mut far| async move {
        far.greet(&["2026-07-28"]).await;
        let (first, _, params) = far.request().await.unwrap();
        let offered =
            &params.to_value()["_meta"]["io.modelcontextprotocol/clientCapabilities"]["elicitation"];
        assert_eq!(*offered, json!({"form": {}, "url": {}}));
        far.answer(&first, &format!(r#"{{"resultType":"input_required","inputRequests":{{"q":{{"method":"elicitation/create","params":{FORM}}}}},"requestState":"s\/1"}}"#)).await;
        let (second, _, params) = far.request().await.unwrap();
        assert_ne!(first, second);
        assert!(params.get().contains(r#""inputResponses":{"q":{"action":"accept","content":{"region":"eu"}}},"requestState":"s\/1""#), "{params}");
        far.answer(&second, r#"{"resultType":"complete","content":[]}"#).await;
        far.read().await;
    });
    let (connection, _events) = open([server], &options).await;
    let connection = connection.unwrap();
    let person = async {
        let question = asked.recv().await.unwrap();
        assert!(matches!(&question.ask, Ask::Form { message, .. } if message == "Which region?"));
        question.answer(accept(json!({"region": "eu"})));
    };
    let request = call("t", "{}");
    let (result, ()) = tokio::join!(connection.call(&request, CallOptions::default()), person);
    assert_eq!(result.unwrap().get(), r#"{"resultType":"complete","content":[]}"#);
}

#[tokio::test]
async fn a_server_that_always_wants_more_is_given_up() {
    let (options, mut asked) = offers();
    let server = script(|mut far| async move {
        far.greet(&["2026-07-28"]).await;
        while let Some((id, ..)) = far.request().await {
            far.answer(&id, r#"{"resultType":"input_required","requestState":"again"}"#).await;
        }
    });
    let (connection, _events) = open([server], &options).await;
    let connection = connection.unwrap();
    let error = connection.call(&call("t", "{}"), CallOptions::default()).await.unwrap_err();
    assert_eq!(error, CallError::TooManyRounds { rounds: 16 });
    assert!(asked.try_recv().is_err());
}

#[tokio::test]
async fn what_was_not_offered_is_refused_and_the_call_says_so() {
    let server = script(|mut far| async move {
        far.greet(&["2026-07-28"]).await;
        let (id, ..) = far.request().await.unwrap();
        far.answer(&id, r#"{"resultType":"input_required","inputRequests":{"s":{"method":"sampling/createMessage","params":{}}}}"#).await;
        far.read().await;
    });
    let (connection, _events) = open([server], &offers().0).await;
    let connection = connection.unwrap();
    let error = connection.call(&call("t", "{}"), CallOptions::default()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server wanted sampling/createMessage before it goes on: sampling/createMessage is not offered"
    );
}

#[tokio::test]
async fn a_kind_of_result_that_was_not_offered_is_no_result() {
    let server = script(|mut far| async move {
        far.greet(&["2026-07-28"]).await;
        let (id, ..) = far.request().await.unwrap();
        far.answer(&id, r#"{"resultType":"task","content":[]}"#).await;
        far.read().await;
    });
    let (connection, _events) =
        open([server], &ConnectionOptions { tasks_extension: false, ..patient() }).await;
    let connection = connection.unwrap();
    let error = connection.call(&call("t", "{}"), CallOptions::default()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server's answer cannot be read: it is a task, which nobody offered to follow for tools/call"
    );
}

#[tokio::test]
async fn a_server_of_the_handshake_era_asks_by_itself() {
    let (options, mut asked) = offers();
    let options = ConnectionOptions { newest: Revision::V2025_11_25, ..options };
    let (answered, mut answers) = mpsc::channel(4);
    let (seen, is_seen) = oneshot::channel();
    let server = script(move |mut far| async move {
        far.shake("2025-11-25").await;
        far.write(format!(r#"{{"jsonrpc":"2.0","id":"a","method":"elicitation/create","params":{FORM}}}"#))
            .await;
        answered.send(far.read().await).await.unwrap();
        far.write(r#"{"jsonrpc":"2.0","id":"b","method":"roots/list"}"#).await;
        answered.send(far.read().await).await.unwrap();
        far.write(format!(r#"{{"jsonrpc":"2.0","id":"c","method":"elicitation/create","params":{FORM}}}"#))
            .await;
        is_seen.await.unwrap();
        far.write(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c"}}"#).await;
        far.read().await;
    });
    let (_connection, _events) = open([server], &options).await;
    let _connection = _connection.unwrap();
    asked.recv().await.unwrap().answer(accept(json!({"region": "eu"})));
    let Some(Some(Message::Response { id, result })) = answers.recv().await else { panic!("not answered") };
    assert_eq!(id, Id::Text("a".to_owned()));
    assert_eq!(result.get(), r#"{"action":"accept","content":{"region":"eu"}}"#);
    let Some(Some(Message::Error { error, .. })) = answers.recv().await else { panic!("not refused") };
    assert_eq!(error.to_string(), "roots/list is not offered (-32601)");
    // A question that the server takes back goes away in front of the person.
    let mut taken_back = asked.recv().await.unwrap();
    seen.send(()).unwrap();
    taken_back.withdrawn().await;
}

const VISIT_FIRST: &str = r#"{"code":-32042,"message":"sign in","data":{"elicitations":[{"mode":"url","elicitationId":"e1","url":"https://example.com/in","message":"Sign in first"}]}}"#;

#[tokio::test]
async fn an_address_that_must_be_visited_first_is_asked_for() {
    let (options, mut asked) = offers();
    let options = ConnectionOptions { newest: Revision::V2025_11_25, ..options };
    let server = script(|mut far| async move {
        far.shake("2025-11-25").await;
        // This one never says that the person was there.
        for _ in 0..3 {
            let (id, ..) = far.request().await.unwrap();
            far.refuse(&id, VISIT_FIRST).await;
        }
        let (id, ..) = far.request().await.unwrap();
        far.answer(&id, r#"{"content":[]}"#).await;
        far.read().await;
    });
    let (connection, _events) = open([server], &options).await;
    let connection = connection.unwrap();
    let person = async {
        let question = asked.recv().await.unwrap();
        let Ask::Url { url, id, .. } = &question.ask else { panic!("{:?}", question.ask) };
        assert_eq!((url.as_str(), id.as_deref()), ("https://example.com/in", Some("e1")));
        question.answer(Answer::Elicited(Elicited::Accept { content: None }));
    };
    let request = call("t", "{}");
    let (result, ()) = tokio::join!(connection.call(&request, CallOptions::default()), person);
    assert!(result.is_ok());
    assert!(asked.try_recv().is_err(), "nobody is sent to the same place twice");
}

#[tokio::test]
async fn a_visit_is_waited_for_until_the_server_says_that_it_is_done() {
    let (options, mut asked) = offers();
    let long = Duration::from_hours(1);
    let options = ConnectionOptions { newest: Revision::V2025_11_25, repeat_after: long, ..options };
    let (agreed, has_agreed) = oneshot::channel();
    let (waits, is_waiting) = oneshot::channel();
    let server = script(|mut far| async move {
        far.shake("2025-11-25").await;
        let (id, ..) = far.request().await.unwrap();
        far.refuse(&id, VISIT_FIRST).await;
        has_agreed.await.unwrap();
        for done in ["other", "e1"] {
            let params = format!(r#"{{"elicitationId":"{done}"}}"#);
            far.write(format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{params}}}"#
            ))
            .await;
        }
        let (id, ..) = far.request().await.unwrap();
        far.answer(&id, r#"{"content":[]}"#).await;
        let (id, ..) = far.request().await.unwrap();
        far.refuse(&id, VISIT_FIRST).await;
        is_waiting.await.unwrap();
    });
    let (connection, _events) = open([server], &options).await;
    let connection = connection.unwrap();
    let request = call("t", "{}");
    let person = async {
        let question = asked.recv().await.unwrap();
        question.answer(Answer::Elicited(Elicited::Accept { content: None }));
        agreed.send(()).unwrap();
    };
    let (result, ()) = tokio::join!(connection.call(&request, CallOptions::default()), person);
    assert!(result.is_ok());
    // The wait ends with the server as well.
    let person = async {
        let question = asked.recv().await.unwrap();
        question.answer(Answer::Elicited(Elicited::Accept { content: None }));
        waits.send(()).unwrap();
    };
    let (result, ()) = tokio::join!(connection.call(&request, CallOptions::default()), person);
    assert!(matches!(result, Err(CallError::Closed { .. })), "{result:?}");
}

#[tokio::test]
async fn whoever_waits_for_a_server_that_is_not_ready_may_stop() {
    let (options, _asked) = offers();
    let options = ConnectionOptions { repeat_after: Duration::from_hours(1), ..options };
    let (refused, is_refused) = oneshot::channel();
    let server = script(|mut far| async move {
        far.greet(&["2026-07-28"]).await;
        let (id, ..) = far.request().await.unwrap();
        far.answer(&id, r#"{"resultType":"input_required","requestState":"later"}"#).await;
        refused.send(()).unwrap();
        assert!(far.request().await.is_none(), "it was asked again at once");
    });
    let (connection, _events) = open([server], &options).await;
    let connection = connection.unwrap();
    let cancel = CancellationToken::new();
    let stopping = async {
        is_refused.await.unwrap();
        cancel.cancel();
    };
    let (request, given) =
        (call("t", "{}"), CallOptions { cancel: cancel.clone(), ..CallOptions::default() });
    let (result, ()) = tokio::join!(connection.call(&request, given), stopping);
    assert_eq!(result.unwrap_err(), CallError::Cancelled);
}

#[tokio::test]
async fn prompts_are_listed_filled_in_and_completed() {
    let server = script(|mut far| async move {
        far.greet(&["2026-07-28"]).await;
        let (id, method, _) = far.request().await.unwrap();
        assert_eq!(method, "prompts/list");
        far.answer(&id, r#"{"resultType":"complete","ttlMs":0,"prompts":[{"name":"review","arguments":[{"name":"file","required":true}]},{"title":"no name"}]}"#).await;
        let (id, method, params) = far.request().await.unwrap();
        assert_eq!(
            (method.as_str(), &params.to_value()["arguments"]),
            ("prompts/get", &json!({"file": "a.rs"}))
        );
        far.answer(&id, r#"{"resultType":"complete","messages":[]}"#).await;
        let (id, _, params) = far.request().await.unwrap();
        let params = params.to_value();
        assert_eq!(params["ref"], json!({"type": "ref/prompt", "name": "review"}));
        assert_eq!(params["argument"], json!({"name": "file", "value": "a"}));
        far.answer(
            &id,
            r#"{"resultType":"complete","completion":{"values":["a.rs","ab.rs"],"hasMore":true}}"#,
        )
        .await;
        far.read().await;
    });
    let (connection, _events) = open([server], &patient()).await;
    let connection = connection.unwrap();
    let prompts = connection.list_prompts().await.unwrap();
    assert_eq!((prompts.len(), prompts[0].arguments[0].required), (1, true));
    let arguments = std::collections::BTreeMap::from([("file".to_owned(), "a.rs".to_owned())]);
    connection.get_prompt("review", &arguments).await.unwrap();
    let none = std::collections::BTreeMap::new();
    let suggested = connection.complete(Completing::Prompt("review"), "file", "a", &none).await.unwrap();
    assert_eq!(
        suggested,
        Completion { values: vec!["a.rs".to_owned(), "ab.rs".to_owned()], total: None, has_more: true }
    );
}

#[tokio::test]
async fn an_answer_is_used_again_until_the_server_says_otherwise() {
    let server = script(|mut far| async move {
        far.greet(&["2026-07-28"]).await;
        for name in ["one", "two"] {
            let (id, ..) = far.request().await.unwrap();
            far.answer(&id, &format!(r#"{{"resultType":"complete","ttlMs":60000,"cacheScope":"private","prompts":[{{"name":"{name}"}}]}}"#)).await;
            let (id, method, _) = far.request().await.unwrap();
            assert_eq!(method, "resources/templates/list");
            far.write(r#"{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}"#).await;
            far.answer(
                &id,
                r#"{"resultType":"complete","resourceTemplates":[{"uriTemplate":"a:{x}","name":"x"}]}"#,
            )
            .await;
        }
        far.read().await;
    });
    let (connection, _events) = open([server], &patient()).await;
    let connection = connection.unwrap();
    let first = connection.list_prompts().await.unwrap();
    assert_eq!(connection.list_prompts().await.unwrap(), first);
    assert_eq!(connection.list_resource_templates().await.unwrap()[0].uri_template, "a:{x}");
    let second = connection.list_prompts().await.unwrap();
    assert_eq!((first[0].name.as_str(), second[0].name.as_str()), ("one", "two"));
    connection.list_resource_templates().await.unwrap();
}

#[tokio::test]
async fn a_resource_is_subscribed_to_under_every_revision() {
    let modern = script(|mut far| async move {
        far.greet(&["2026-07-28"]).await;
        let (id, method, params) = far.request().await.unwrap();
        assert_eq!(method, "subscriptions/listen");
        assert_eq!(params.to_value()["notifications"], json!({"resourceSubscriptions": ["a:1"]}));
        far.write(r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:1"}}"#)
            .await;
        let Some(Message::Notification { method, params }) = far.read().await else { panic!("not ended") };
        assert_eq!(
            (method.as_str(), params.unwrap().to_value()["requestId"].clone()),
            ("notifications/cancelled", json!(id))
        );
        far.read().await;
    });
    let (connection, mut told) = open([modern], &patient()).await;
    let connection = connection.unwrap();
    connection.subscribe("a:1").await.unwrap();
    while let Some(event) = told.next().await {
        if event == (ConnectionEvent::ResourceUpdated { uri: "a:1".to_owned() }) {
            break;
        }
    }
    connection.unsubscribe("a:1").await.unwrap();

    let old = script(|mut far| async move {
        far.shake("2025-11-25").await;
        for wanted in ["resources/subscribe", "resources/unsubscribe"] {
            let (id, method, params) = far.request().await.unwrap();
            assert_eq!((method.as_str(), &params.to_value()["uri"]), (wanted, &json!("a:1")));
            far.answer(&id, "{}").await;
        }
        far.read().await;
    });
    let options = ConnectionOptions { newest: Revision::V2025_11_25, ..patient() };
    let (connection, _events) = open([old], &options).await;
    let connection = connection.unwrap();
    connection.subscribe("a:1").await.unwrap();
    connection.unsubscribe("a:1").await.unwrap();
}
