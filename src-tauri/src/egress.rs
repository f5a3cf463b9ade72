//! The one way of the web view to the network: a proxy on the loopback address.
//!
//! The page itself needs no network, for Rust talks to servers and models. A content security policy does not stop every request (a
//! `preconnect` of a View escapes it), so all of the web view's traffic is sent here. A tunnel is opened for what a live View was
//! granted; everything else is answered with 403. Names are looked up here, and an address of this machine or its network is not gone
//! to, whatever its name is. Custom schemes do not pass a proxy. Deliberately absent: what is granted, which the host knows, and any
//! look into a tunnel.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout},
};
use usher_host::{
    app_view::{
        address::is_public,
        egress::{self, Head, NoPassage, Target},
    },
    conversation::{Host, Tunnel},
};

/// How many connections are asked at once where they want to go. Further ones wait; a web view says it at once. How many may be open
/// afterwards, each server's Views have a share of, which the host counts.
const MOST_ASKED: usize = 64;

/// How long the head of a request may take.
const HEAD_LIMIT: Duration = Duration::from_secs(5);

/// How long the other end may take to answer, at each of its addresses, and its name to be looked up.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// How many addresses of a name are tried.
const MOST_ADDRESSES: usize = 4;

/// After how long without a byte in either direction a tunnel ends.
const IDLE_LIMIT: Duration = Duration::from_secs(300);

/// The whole answer to whatever does not pass.
const REFUSAL: &[u8] = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

const WELCOME: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// How the network is reached.
pub trait Outside: Send + Sync + 'static {
    /// The addresses of a name.
    fn addresses(&self, host: &str, port: u16) -> impl Future<Output = io::Result<Vec<SocketAddr>>> + Send;

    /// Connects to an address.
    fn connect(&self, address: SocketAddr) -> impl Future<Output = io::Result<TcpStream>> + Send;
}

/// The system's own network.
#[derive(Debug, Clone, Copy)]
pub struct System;

impl Outside for System {
    async fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        Ok(tokio::net::lookup_host((host, port)).await?.collect())
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        TcpStream::connect(address).await
    }
}

/// Starts the proxy and gives its address. It ends with the runtime.
///
/// # Errors
/// When no port of the loopback address can be had.
pub async fn start<O: Outside>(host: Host, outside: O) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let outside = Arc::new(outside);
    let room = Arc::new(Semaphore::new(MOST_ASKED));
    tokio::spawn(async move {
        // A connection waits unread until there is room, and none is closed for want of it. The room is closed by nobody.
        while let Ok(place) = Arc::clone(&room).acquire_owned().await {
            // An error of one connection does not end the proxy; a refused connection is as good as a refusal.
            let Ok((near, _)) = listener.accept().await else {
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            };
            let (host, outside) = (host.clone(), Arc::clone(&outside));
            tokio::spawn(async move { serve(near, &host, outside.as_ref(), place).await });
        }
    });
    Ok(address)
}

async fn serve<O: Outside>(mut near: TcpStream, host: &Host, outside: &O, place: OwnedSemaphorePermit) {
    let head = timeout(HEAD_LIMIT, head(&mut near)).await;
    drop(place);
    let refused = match head {
        Ok(Head::Tunnel(target)) => match open(host, outside, &target).await {
            Ok((tunnel, far)) => return relay(near, far, &tunnel).await,
            Err(why) => Some((target, why)),
        },
        Ok(Head::Refused(why, target)) => target.map(|it| (it, why)),
        Ok(Head::Partial) | Err(_) => None,
    };
    if let Some((target, why)) = refused {
        tracing::debug!(host = target.host, port = target.port, %why, "a request of the web view did not pass");
        host.note_refused(target, why);
    }
    let _told = timeout(HEAD_LIMIT, async {
        near.write_all(REFUSAL).await?;
        near.shutdown().await
    })
    .await;
}

/// Reads the head of a request, to its end or as far as it can be one.
async fn head(near: &mut TcpStream) -> Head {
    let mut bytes = Vec::new();
    loop {
        let mut part = [0_u8; 1024];
        match near.read(&mut part).await {
            Ok(0) | Err(_) => return Head::Partial,
            Ok(count) => bytes.extend_from_slice(part.get(..count).unwrap_or_default()),
        }
        match egress::read(&bytes) {
            Head::Partial => {}
            head @ (Head::Tunnel(_) | Head::Refused(..)) => return head,
        }
    }
}

async fn open<O: Outside>(
    host: &Host,
    outside: &O,
    target: &Target,
) -> Result<(Tunnel, TcpStream), NoPassage> {
    let tunnel = host.open_tunnel(target)?;
    let found = timeout(CONNECT_LIMIT, outside.addresses(&target.host, target.port)).await;
    let found = found.ok().and_then(Result::ok).filter(|it| !it.is_empty()).ok_or(NoPassage::NoAddress)?;
    // Only the addresses that were looked at are gone to, so that a name cannot lead elsewhere in between.
    let public: Vec<SocketAddr> = found.into_iter().filter(|it| is_public(it.ip())).collect();
    if public.is_empty() {
        return Err(NoPassage::Local);
    }
    for address in public.into_iter().take(MOST_ADDRESSES) {
        let connected = tokio::select! {
            connected = timeout(CONNECT_LIMIT, outside.connect(address)) => connected,
            () = tunnel.ended() => return Err(NoPassage::NotGranted),
        };
        if let Ok(Ok(far)) = connected {
            return Ok((tunnel, far));
        }
    }
    Err(NoPassage::Unreachable)
}

/// Carries bytes both ways until both ends are done or one fails, nothing comes any more, or nobody is granted the target.
async fn relay(mut near: TcpStream, mut far: TcpStream, tunnel: &Tunnel) {
    if near.write_all(WELCOME).await.is_err() {
        return;
    }
    let last = Mutex::new(Instant::now());
    let (near_read, near_write) = near.split();
    let (far_read, far_write) = far.split();
    // One direction that fails ends the other: a side that is gone must not hold its place until the silence is too long.
    let both =
        async { tokio::try_join!(carry(near_read, far_write, &last), carry(far_read, near_write, &last)) };
    tokio::select! {
        _ = both => {}
        () = idle(&last) => {}
        () = tunnel.ended() => {}
    }
}

async fn carry(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    last: &Mutex<Instant>,
) -> io::Result<()> {
    let mut bytes = vec![0_u8; 16 << 10];
    loop {
        let count = from.read(&mut bytes).await?;
        if count == 0 {
            return to.shutdown().await;
        }
        to.write_all(bytes.get(..count).unwrap_or_default()).await?;
        *last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

/// Ends when nothing was carried for so long.
async fn idle(last: &Mutex<Instant>) {
    loop {
        let end = *last.lock().unwrap_or_else(PoisonError::into_inner) + IDLE_LIMIT;
        if Instant::now() >= end {
            return;
        }
        tokio::time::sleep_until(end).await;
    }
}
