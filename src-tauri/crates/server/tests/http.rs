//! What only the carrier decides: a client that breaks off.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::sync::{Arc, Mutex};

use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::oneshot,
};
use usher_server::{
    Call, Server, ToolBuilder, http,
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
