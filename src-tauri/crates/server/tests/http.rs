//! What only the carrier decides: a client that breaks off or cancels, and one whose batch says more than waits for it.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::{Notify, oneshot},
    task::JoinHandle,
};
use usher_server::{
    AnyTool, Call, Server, ToolBuilder, http,
    protocol::{Revision, common::ContentBlock, model::Selector},
};

/// Tells when it is dropped.
struct Dropped(Option<oneshot::Sender<()>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.take().unwrap().send(()).unwrap();
    }
}

#[tokio::test]
async fn a_client_that_closes_its_stream_cancels_the_call() {
    let (tell, told) = oneshot::channel();
    let tell = Mutex::new(Some(tell));
    let endless = ToolBuilder::new("endless", "Never ends")
        .content(Selector::ASSISTANT_CONTENT, |(): &()| vec![ContentBlock::text("never")])
        .handler(move |call: Call| {
            let dropped = Dropped(tell.lock().unwrap().take());
            async move {
                call.progress(1, 2, "on the way").await;
                std::future::pending::<()>().await;
                drop(dropped);
                Ok(())
            }
        })
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = Arc::new(Server::new("t", "1").tool(endless));
    let served = tokio::spawn(http::serve(server, listener, http::HttpOptions::default()));
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "endless", "arguments": {}, "_meta": {
            "progressToken": 1,
            "io.modelcontextprotocol/protocolVersion": Revision::NEWEST,
            "io.modelcontextprotocol/clientCapabilities": {}}}})
    .to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         mcp-protocol-version: {}\r\nmcp-method: tools/call\r\nmcp-name: endless\r\n\r\n",
        body.len(),
        Revision::NEWEST
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body.as_bytes()).await.unwrap();
    let mut read = Vec::new();
    while !String::from_utf8_lossy(&read).contains("on the way") {
        assert_ne!(stream.read_buf(&mut read).await.unwrap(), 0, "{}", String::from_utf8_lossy(&read));
    }
    drop(stream);
    told.await.unwrap();
    served.abort();
}

async fn served(
    tool: Box<dyn AnyTool>,
) -> (SocketAddr, JoinHandle<Result<(), usher_server::stdio::ServeError>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = Arc::new(Server::new("t", "1").tool(tool));
    (address, tokio::spawn(http::serve(server, listener, http::HttpOptions::default())))
}

/// Posts a text on a connection of its own, and gives the whole answer once the server has ended it.
async fn post(address: SocketAddr, session: &str, body: &Value) -> String {
    let body = body.to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n{session}\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all((head + &body).as_bytes()).await.unwrap();
    let mut read = String::new();
    let ended = tokio::time::timeout(Duration::from_secs(20), stream.read_to_string(&mut read)).await;
    let ended = ended.map(Result::unwrap);
    assert!(ended.is_ok(), "the answer never ends: {read}");
    read
}

/// The header of a session that was just opened.
async fn session(address: SocketAddr, revision: Revision) -> String {
    let params = json!({"protocolVersion": revision, "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"}});
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let opened = post(address, "", &body).await;
    let id = opened.lines().find(|it| it.starts_with("mcp-session-id: ")).unwrap();
    format!("{id}\r\n")
}

#[tokio::test]
async fn a_call_of_a_session_that_is_cancelled_ends_its_request() {
    let began = Arc::new(Notify::new());
    let tell = began.clone();
    let endless = ToolBuilder::new("endless", "Never ends")
        .content(Selector::ASSISTANT_CONTENT, |(): &()| vec![ContentBlock::text("never")])
        .handler(move |_: Call| {
            tell.notify_one();
            std::future::pending()
        })
        .unwrap();
    let (address, served) = served(endless).await;
    let session = session(address, Revision::V2025_11_25).await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "endless", "arguments": {}}});
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    let (answer, cancelled) = tokio::join!(post(address, &session, &call), async {
        began.notified().await;
        post(address, &session, &cancel).await
    });
    assert!(cancelled.starts_with("HTTP/1.1 202"), "{cancelled}");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("text/event-stream") && !answer.contains("data:"), "{answer}");
    served.abort();
}

#[tokio::test]
async fn a_batch_may_say_more_than_waits_for_a_client() {
    let talkative = ToolBuilder::new("talkative", "Says much")
        .content(Selector::ASSISTANT_CONTENT, |(): &()| vec![ContentBlock::text("done")])
        .handler(|call: Call| async move {
            for done in 0..200 {
                call.progress(done, 200, "on the way").await;
            }
            Ok(())
        })
        .unwrap();
    let (address, served) = served(talkative).await;
    let session = session(address, Revision::V2025_03_26).await;
    let call = json!({"jsonrpc": "2.0", "id": 0, "method": "tools/call",
        "params": {"name": "talkative", "arguments": {}, "_meta": {"progressToken": 1}}});
    let pings = (1..1000).map(|id| json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
    let batch: Value = std::iter::once(call).chain(pings).collect();
    let answer = post(address, &session, &batch).await;
    assert_eq!(answer.matches("on the way").count(), 200);
    assert_eq!(answer.matches("\"result\"").count(), 1000);
    served.abort();
}
