//! The little of HTTP/1.1 that a scripted server needs: a request read whole, an answer written in chunks.

use std::io;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// A request as it came.
#[derive(Debug, Clone)]
pub struct HttpRequest {
    /// Its method.
    pub method: String,
    /// Its path.
    pub path: String,
    /// Its headers; names in lower case.
    pub headers: Vec<(String, String)>,
    /// The very bytes of its body.
    pub body: Vec<u8>,
}

impl HttpRequest {
    /// The value of a header; the name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|it| it.0 == name).map(|it| it.1.as_str())
    }
}

/// Reads a request whose body has a length.
///
/// # Errors
/// The connection ends before the request does, or the request is not one.
pub async fn read_request(stream: &mut TcpStream) -> io::Result<HttpRequest> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let mut lines = head.lines();
    let mut first = lines.next().unwrap_or_default().split(' ');
    let (method, path) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
    let headers: Vec<(String, String)> = lines
        .filter_map(|it| it.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let mut request = HttpRequest {
        method: method.to_owned(),
        path: path.to_owned(),
        headers,
        body: bytes.split_off(head_end + 4),
    };
    let length: usize = request.header("content-length").and_then(|it| it.parse().ok()).unwrap_or_default();
    while request.body.len() < length {
        if stream.read_buf(&mut request.body).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(request)
}

/// Writes an answer whole.
///
/// # Errors
/// The other side is gone.
pub async fn write_whole(
    stream: &mut TcpStream,
    status: u16,
    content_type: &str,
    body: &[u8],
) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status} Scripted\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body).await?;
    stream.flush().await
}

/// Begins an answer of server-sent events.
///
/// # Errors
/// The other side is gone.
pub async fn begin_events(stream: &mut TcpStream) -> io::Result<()> {
    stream
        .write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n",
        )
        .await?;
    stream.flush().await
}

/// Writes bytes as one chunk.
///
/// # Errors
/// The other side is gone.
pub async fn write_chunk(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(format!("{:x}\r\n", bytes.len()).as_bytes()).await?;
    stream.write_all(bytes).await?;
    stream.write_all(b"\r\n").await?;
    stream.flush().await
}

/// Ends an answer that was written in chunks.
///
/// # Errors
/// The other side is gone.
pub async fn end_chunks(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(b"0\r\n\r\n").await?;
    stream.shutdown().await
}

/// Waits until the other side has gone.
pub async fn gone(stream: &mut TcpStream) {
    let mut rest = [0; 1024];
    while !matches!(stream.read(&mut rest).await, Ok(0) | Err(_)) {}
}
