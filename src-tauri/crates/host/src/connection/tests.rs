//! Tests of whole connections: over streams in memory with a scripted server, and over real processes.

#[cfg(unix)]
mod care;
#[cfg(unix)]
mod child;
mod duties;
mod opening;
mod stream;
mod tasks;

use std::{collections::VecDeque, time::Duration};

use futures::future::BoxFuture;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use usher_protocol::jsonrpc::{Id, Message};

use super::*;

/// The server's side of a stream.
struct Far {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    out: WriteHalf<DuplexStream>,
}

impl Far {
    /// The next message of the host, or `None` when it is gone.
    async fn read(&mut self) -> Option<Message> {
        let line = self.lines.next_line().await.ok()??;
        // Every test that reads also proves that a message is one line.
        Some(Message::parse(&line).expect("the host writes messages"))
    }

    /// The next request, past notifications.
    async fn request(&mut self) -> Option<(Id, String, RawJson)> {
        loop {
            if let Message::Request { id, method, params } = self.read().await? {
                return Some((id, method, params.unwrap_or_else(|| json!({}).into())));
            }
        }
    }

    /// Writes bytes, with a line's end. A host that is gone is no failure of the script.
    async fn write(&mut self, line: impl AsRef<[u8]>) {
        let _gone = self.out.write_all(&[line.as_ref(), b"\n"].concat()).await;
    }

    async fn answer(&mut self, id: &Id, result: &str) {
        let id = serde_json::to_string(id).unwrap();
        self.write(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)).await;
    }

    async fn refuse(&mut self, id: &Id, error: &str) {
        let id = serde_json::to_string(id).unwrap();
        self.write(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)).await;
    }

    /// Answers `server/discover` with these revisions, and expects to be asked nothing else first.
    async fn greet(&mut self, revisions: &[&str]) {
        let (id, method, params) = self.request().await.unwrap();
        assert_eq!(method, "server/discover");
        let asked = params.to_value()["_meta"]["io.modelcontextprotocol/protocolVersion"].clone();
        let supported = serde_json::to_string(revisions).unwrap();
        if revisions.iter().any(|it| asked == *it) {
            self.answer(&id, &format!(r#"{{"resultType":"complete","supportedVersions":{supported},"capabilities":{{"tools":{{}}}},"ttlMs":0,"cacheScope":"private","_meta":{{"io.modelcontextprotocol/serverInfo":{{"name":"far","version":"1"}}}}}}"#)).await;
        } else {
            self.refuse(&id, &format!(r#"{{"code":-32022,"message":"no","data":{{"supported":{supported},"requested":{asked}}}}}"#)).await;
            Box::pin(self.greet(revisions)).await;
        }
    }

    /// Answers `initialize` with a revision.
    async fn shake(&mut self, revision: &str) {
        let (id, method, _) = self.request().await.unwrap();
        assert_eq!(method, "initialize");
        self.shake_as(&id, revision).await;
    }

    async fn shake_as(&mut self, id: &Id, revision: &str) {
        self.answer(id, &format!(r#"{{"protocolVersion":"{revision}","capabilities":{{}},"serverInfo":{{"name":"far","version":"1"}}}}"#)).await;
        let Some(Message::Notification { method, .. }) = self.read().await else { panic!("not initialized") };
        assert_eq!(method, "notifications/initialized");
    }

    /// Keeps the stream open until the host closes it.
    async fn idle(mut self) {
        while self.read().await.is_some() {}
    }
}

type Script = Box<dyn FnOnce(Far) -> BoxFuture<'static, ()> + Send>;

fn script<F: Future<Output = ()> + Send + 'static>(script: impl FnOnce(Far) -> F + Send + 'static) -> Script {
    Box::new(move |far| Box::pin(script(far)))
}

/// Starts a scripted server for each attempt.
struct Scripted {
    scripts: VecDeque<Script>,
    events: EventSender,
    offers: Offers,
}

impl Opener for Scripted {
    type Link = Link;

    async fn open(&mut self) -> Result<Link, ConnectError> {
        let script = self.scripts.pop_front().expect("the host starts the server no more often than planned");
        let (near, far) = tokio::io::duplex(16 * 1024);
        let (reader, writer) = tokio::io::split(far);
        tokio::spawn(script(Far { lines: BufReader::new(reader).lines(), out: writer }));
        let (reader, writer) = tokio::io::split(near);
        let (wire, answered) =
            Wire::start(reader, writer, self.events.clone(), self.offers.clone(), CancellationToken::new());
        Ok(Link { wire, answered, process: None, mirrors: None })
    }
}

/// Opens a connection to scripted servers, one for each attempt.
async fn open(
    scripts: impl IntoIterator<Item = Script>,
    options: &ConnectionOptions,
) -> (Result<Connection, ConnectError>, EventReceiver) {
    let (events, receiver) = events();
    let mut opener = Scripted {
        scripts: scripts.into_iter().collect(),
        events: events.clone(),
        offers: options.offers.clone(),
    };
    let connection = Connection::open_through(&mut opener, options, &events).await;
    assert!(opener.scripts.is_empty(), "the host starts the server as often as planned");
    (connection, receiver)
}

/// Everything told so far.
fn told(receiver: &mut EventReceiver) -> Vec<ConnectionEvent> {
    std::iter::from_fn(|| receiver.try_next()).collect()
}

fn steps(connection: &Connection) -> String {
    connection.greeting().steps.join("\n")
}

fn call(name: &str, arguments: &str) -> CallRequest {
    CallRequest { name: name.to_owned(), arguments: RawJson::parse(arguments).unwrap(), requested: None }
}

/// Long where it must not run out, so that no test depends on the time.
fn patient() -> ConnectionOptions {
    ConnectionOptions {
        probe_timeout: Duration::from_secs(600),
        path: PathSource::Inherited,
        ..ConnectionOptions::default()
    }
}
