use std::time::Duration;

use futures::StreamExt;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use super::*;

/// What the scripted provider does with one connection.
#[derive(Clone)]
enum Act {
    /// Writes it and closes.
    Write(String),
    /// Writes it and stays silent until the other side closes.
    WriteAndHold(String),
}

fn stream_of(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{body}")
}

fn answer(status: &str, fields: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{fields}content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

const HELLO: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"hello\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// Serves one connection for each act and gives the bodies that it received.
async fn provider(acts: Vec<Act>) -> (ModelSpec, JoinHandle<Vec<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap()).parse().unwrap();
    let model = ModelSpec {
        endpoint: Endpoint::Http { base_url, key: Some(Secret::new("sk-canary")) },
        ..spec(false)
    };
    let serve = tokio::spawn(async move {
        let mut bodies = Vec::new();
        for act in acts {
            let (mut socket, _) = listener.accept().await.unwrap();
            bodies.push(receive(&mut socket).await);
            match act {
                Act::Write(text) => socket.write_all(text.as_bytes()).await.unwrap(),
                Act::WriteAndHold(text) => {
                    socket.write_all(text.as_bytes()).await.unwrap();
                    // Ends when the client closes the connection.
                    while socket.read(&mut [0; 256]).await.is_ok_and(|it| it > 0) {}
                }
            }
        }
        bodies
    });
    (model, serve)
}

async fn receive(socket: &mut TcpStream) -> Vec<u8> {
    let mut got = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        let count = socket.read(&mut buffer).await.unwrap();
        got.extend_from_slice(&buffer[..count]);
        let Some(end) = got.windows(4).position(|it| it == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&got[..end]).to_ascii_lowercase();
        let length = head
            .lines()
            .find_map(|it| it.strip_prefix("content-length: "))
            .map_or(0, |it| it.parse().unwrap());
        if got.len() >= end + 4 + length {
            return got.split_off(end + 4);
        }
    }
}

fn client() -> ModelClient {
    ModelClient::new(Patience {
        pause: Duration::from_millis(1),
        stall: Duration::from_secs(20),
        ..Patience::default()
    })
    .unwrap()
}

fn impatient() -> ModelClient {
    ModelClient::new(Patience {
        pause: Duration::from_millis(1),
        stall: Duration::from_millis(200),
        ..Patience::default()
    })
    .unwrap()
}

fn request(model: &ModelSpec) -> Encoded {
    let tools =
        vec![OfferedTool::new("s__one", None, json("{}")), OfferedTool::new("s__two", None, json("{}"))];
    let (turn, _) = Turn::assemble(vec![], [user("u1", "Grüße")], tools);
    encode(&turn, model)
}

struct Sent {
    reply: Reply,
    error: Option<ModelError>,
    attempts: Vec<(Encoded, u32, Option<Outcome>)>,
}

async fn send(client: &ModelClient, model: &ModelSpec) -> Sent {
    let recorder = Arc::new(MemoryRecorder::default());
    let mut reply = Reply::default();
    let begun = client
        .stream(&OpenAiChat, model, &request(model), recorder.clone(), ids(), CancellationToken::new())
        .await;
    let mut error = None;
    match begun {
        Ok(mut events) => {
            while let Some(event) = events.next().await {
                match event {
                    Ok(event) => reply.apply(&event),
                    Err(it) => error = Some(it),
                }
            }
        }
        Err(it) => error = Some(it),
    }
    Sent { reply, error, attempts: recorder.attempts() }
}

#[tokio::test]
async fn exactly_the_recorded_bytes_are_received() {
    let (model, serve) = provider(vec![Act::Write(stream_of(HELLO))]).await;
    let sent = send(&client(), &model).await;
    assert_eq!((sent.reply.text.as_str(), sent.error), ("hello", None));
    let [(recorded, 1, Some(Outcome::Completed))] = &sent.attempts[..] else { panic!("{:?}", sent.attempts) };
    assert_eq!(serve.await.unwrap(), [recorded.body.to_vec()]);
}

#[tokio::test]
async fn a_busy_provider_is_asked_again_with_the_same_bytes() {
    let busy =
        |fields| Act::Write(answer("429 Too Many Requests", fields, r#"{"error":{"message":"slow down"}}"#));
    let (model, serve) =
        provider(vec![busy("retry-after: 0\r\n"), busy(""), Act::Write(stream_of(HELLO))]).await;
    let sent = send(&client(), &model).await;
    assert_eq!((sent.reply.text.as_str(), sent.error), ("hello", None));
    assert_eq!(sent.attempts.iter().map(|it| it.1).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(matches!(
        sent.attempts[0].2,
        Some(Outcome::Retried(ModelError::RateLimited { retry_after_s: Some(0), .. }))
    ));
    let bodies = serve.await.unwrap();
    assert!(bodies.iter().all(|it| *it == sent.attempts[0].0.body), "{bodies:?}");
}

#[tokio::test]
async fn a_wait_that_is_too_long_is_told_and_not_waited() {
    let act = Act::Write(answer("429 Too Many Requests", "retry-after: 3600\r\n", "{}"));
    let (model, _serve) = provider(vec![act]).await;
    let error = send(&client(), &model).await.error.unwrap();
    assert_eq!(error.todo(), "Try again in 3600 seconds.");
}

#[tokio::test]
async fn attempts_are_bounded() {
    let act = Act::Write(answer("503 Service Unavailable", "", "loading"));
    let (model, _serve) = provider(vec![act; 3]).await;
    let sent = send(&client(), &model).await;
    assert_eq!(sent.error, Some(ModelError::Status { status: 503, text: "loading".to_owned() }));
    assert_eq!(sent.attempts.len(), 3);
    assert!(matches!(sent.attempts[2].2, Some(Outcome::Failed(_))));
}

#[tokio::test]
async fn nothing_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap()).parse().unwrap();
    drop(listener);
    let model = ModelSpec { endpoint: Endpoint::Http { base_url, key: None }, ..spec(false) };
    let sent = send(&client(), &model).await;
    assert!(matches!(sent.error, Some(ModelError::Refused { .. })), "{:?}", sent.error);
    assert_eq!(sent.attempts.len(), 3);
}

#[tokio::test]
async fn refusals_say_what_happened_and_keep_the_key() {
    let cases = [
        ("401 Unauthorized", r#"{"error":{"message":"Incorrect API key provided: sk-canary"}}"#),
        ("404 Not Found", r#"{"error":{"message":"model \"m\" not found"}}"#),
        ("400 Bad Request", r#"{"error":{"message":"Invalid schema for 'tools[1].function.parameters'"}}"#),
        ("308 Permanent Redirect", "moved"),
    ];
    let mut told = String::new();
    for (status, body) in cases {
        let (model, serve) =
            provider(vec![Act::Write(answer(status, "location: http://127.0.0.1:9/\r\n", body))]).await;
        let error = send(&client(), &model).await.error.unwrap();
        let Endpoint::Http { base_url, .. } = &model.endpoint else { panic!() };
        told.push_str(
            &format!("{error} | {} | {}\n", error.safe(), error.todo()).replace(base_url.as_str(), "(base)"),
        );
        serve.await.unwrap();
    }
    assert!(!told.contains("sk-canary"));
    expect_test::expect![[r#"
        The provider at (base)/chat/completions did not accept the key (401): Incorrect API key provided: (key) | Your message is saved, and so is every result so far. | Enter the provider's key again in the settings.
        The provider at (base)/chat/completions does not know the model "m" or the address: model "m" not found | Your message is saved, and so is every result so far. | Choose a model that the provider lists (the test button shows them), or add /v1 to the address.
        The provider refused the request (400): Invalid schema for 'tools[1].function.parameters' | Your message is saved, and so is every result so far. | Switch off the tool s__two, or look at its schema in the list of the server's tools.
        The provider answered with status 308: moved | Your message is saved, and so is every result so far. | Correct the address in the settings: it sends requests elsewhere, and Usher does not follow.
    "#]].assert_eq(&told);
}

#[tokio::test]
async fn silence_ends_with_an_error_and_keeps_what_came() {
    let part = "data: {\"choices\":[{\"delta\":{\"content\":\"so far\"}}]}\n\n";
    let (model, serve) = provider(vec![Act::WriteAndHold(stream_of(part))]).await;
    let sent = send(&impatient(), &model).await;
    assert_eq!(sent.reply.text, "so far");
    assert!(matches!(sent.error, Some(ModelError::Stalled { .. })), "{:?}", sent.error);
    // The scripted provider ends only when its connection is closed.
    serve.await.unwrap();
}

#[tokio::test]
async fn a_stream_cut_in_half_an_event_is_an_error() {
    let (model, _serve) = provider(vec![Act::Write(stream_of(
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"cho",
    ))])
    .await;
    let sent = send(&client(), &model).await;
    assert_eq!((sent.reply.text.as_str(), sent.error), ("a", Some(ModelError::Cut { why: None })));
    let promised =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 999\r\n\r\ndata: {\"cho";
    let (model, _serve) = provider(vec![Act::Write(promised.to_owned())]).await;
    let sent = send(&client(), &model).await;
    assert!(matches!(sent.error, Some(ModelError::Cut { why: Some(_) })), "{:?}", sent.error);
}

#[tokio::test]
async fn an_answer_that_is_no_stream_is_read_or_refused() {
    let whole = r#"{"choices":[{"message":{"content":"hello"},"finish_reason":"stop"}]}"#;
    let (model, _serve) =
        provider(vec![Act::Write(answer("200 OK", "content-type: application/json\r\n", whole))]).await;
    assert_eq!(send(&client(), &model).await.reply.text, "hello");
    let (model, _serve) =
        provider(vec![Act::Write(answer("200 OK", "content-type: text/html\r\n", "<html>"))]).await;
    let error = send(&client(), &model).await.error;
    assert!(matches!(error, Some(ModelError::NotUnderstood { .. })), "{error:?}");
}

#[tokio::test]
async fn an_answer_ends_at_done_although_the_connection_stays_open() {
    let (model, serve) = provider(vec![Act::WriteAndHold(stream_of(HELLO))]).await;
    let sent = send(&client(), &model).await;
    assert_eq!((sent.reply.text.as_str(), sent.error), ("hello", None));
    serve.await.unwrap();
}

#[tokio::test]
async fn stopping_and_dropping_close_the_connection_and_are_recorded() {
    let part = stream_of("data: {\"choices\":[{\"delta\":{\"content\":\"so far\"}}]}\n\n");
    let (model, serve) = provider(vec![
        Act::WriteAndHold(part.clone()),
        Act::WriteAndHold(part),
        Act::WriteAndHold(String::new()),
    ])
    .await;
    let (client, recorder) = (client(), Arc::new(MemoryRecorder::default()));
    let (request, stop) = (request(&model), CancellationToken::new());
    let begin = async |stop: CancellationToken| {
        client.stream(&OpenAiChat, &model, &request, recorder.clone(), ids(), stop).await
    };

    let mut events = begin(stop.clone()).await.unwrap();
    assert_eq!(events.next().await, Some(Ok(StreamEvent::Text("so far".to_owned()))));
    stop.cancel();
    assert_eq!(events.next().await, Some(Err(ModelError::Cancelled)));
    assert_eq!(events.next().await, None);
    drop(events);

    let mut events = begin(CancellationToken::new()).await.unwrap();
    events.next().await.unwrap().unwrap();
    drop(events);

    assert!(matches!(begin(stop).await.map(|_| ()), Err(ModelError::Cancelled)));
    let outcomes: Vec<_> = recorder.attempts().into_iter().map(|it| it.2.unwrap()).collect();
    assert_eq!(outcomes[0], Outcome::Failed(ModelError::Cancelled));
    assert_eq!(outcomes[1], Outcome::Dropped);
    assert_eq!(outcomes[2], Outcome::Failed(ModelError::Cancelled));
    serve.abort();
}

#[tokio::test]
async fn what_cannot_be_recorded_is_not_sent() {
    struct Full;
    impl Recorder for Full {
        fn sending(&self, _: &Encoded, _: u32) -> Result<(), String> {
            Err("the disk is full".to_owned())
        }
        fn outcome(&self, _: &Encoded, _: u32, _: &Outcome) {}
    }
    let model = spec(false);
    let begun = client()
        .stream(&OpenAiChat, &model, &request(&model), Arc::new(Full), ids(), CancellationToken::new())
        .await;
    assert_eq!(begun.map(|_| ()), Err(ModelError::NotRecorded { why: "the disk is full".to_owned() }));
}

#[tokio::test]
async fn the_demo_goes_the_same_way() {
    let model = ModelSpec { endpoint: Endpoint::Demo, ..spec(false) };
    let sent = send(&client(), &model).await;
    assert!(sent.reply.text.starts_with("I am the demo model"), "{:?}", sent.reply);
    assert_eq!(sent.reply.finish, Some(Finish::Stop));
    assert!(matches!(&sent.attempts[..], [(_, 1, Some(Outcome::Completed))]));
}

#[test]
fn a_conversation_can_drive_it_from_any_task() {
    fn is_send<T: Send>(_: &T) {}
    let (client, model) = (client(), spec(false));
    let request = request(&model);
    let recorder = Arc::new(MemoryRecorder::default());
    let begun = client.stream(&OpenAiChat, &model, &request, recorder, ids(), CancellationToken::new());
    is_send(&begun);
    assert!(std::mem::size_of_val(&begun) < 16_384, "the future is large: {}", std::mem::size_of_val(&begun));
}

#[tokio::test]
async fn models_are_listed() {
    let (model, _serve) = provider(vec![Act::Write(answer("200 OK", "", r#"{"data":[{"id":"a"}]}"#))]).await;
    assert_eq!(client().models(&model.endpoint).await, Ok(vec!["a".to_owned()]));
}
