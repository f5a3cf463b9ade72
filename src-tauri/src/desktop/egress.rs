//! The network that the web view sees: a proxy on the loopback address that refuses everything.
//!
//! The page needs no network, for Rust talks to servers and models. A content security policy does not stop every request (a
//! `preconnect` of a View escapes it), so all of the web view's traffic is sent here and ends here. Custom schemes do not pass a
//! proxy. Deliberately absent: letting through the domains that a View declares; they fail closed.

use std::net::{Ipv4Addr, SocketAddr};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

/// The whole answer to any request.
const REFUSAL: &[u8] = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// Starts the proxy and gives its address.
///
/// # Errors
/// When no port of the loopback address can be had.
pub(super) async fn deny_all() -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        // An error of one connection does not end the proxy; a refused connection is as good as a refusal.
        loop {
            if let Ok((stream, _)) = listener.accept().await {
                tracing::debug!("a request of the web view to the network was refused");
                refuse(stream).await;
            } else {
                tokio::task::yield_now().await;
            }
        }
    });
    Ok(address)
}

/// Reads what is there, which may name the target, and refuses without looking at it.
async fn refuse(mut stream: TcpStream) {
    let mut request = [0_u8; 1024];
    let limit = std::time::Duration::from_millis(200);
    if let Ok(Ok(_)) = tokio::time::timeout(limit, stream.read(&mut request)).await {
        drop(stream.write_all(REFUSAL).await);
        drop(stream.shutdown().await);
    }
}
