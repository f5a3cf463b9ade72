//! Where the browser comes back to: a port of this computer that lives as long as the sign-in (RFC 8252, section 7.3).
//!
//! Anything may knock: other pages, other programs, the browser's own look for an icon. Only a redirect that carries the state of this
//! sign-in counts; the rest is answered and changes nothing. Deliberately absent: what the answer is worth.

use std::{net::Ipv4Addr, time::Duration};

use futures::{StreamExt as _, stream::FuturesUnordered};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use url::Url;

const PATH: &str = "/callback";
/// How much of a request is read, in bytes.
const MAX_HEAD: usize = 16 * 1024;
/// How long a request may take to say what it wants.
const MAX_TIME: Duration = Duration::from_secs(10);
/// How many are heard at once.
const MAX_VISITORS: usize = 32;

/// What a redirect brought (RFC 6749, section 4.1.2; RFC 9207).
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Redirected {
    pub(super) answer: RedirectAnswer,
    /// Who says so.
    pub(super) issuer: Option<String>,
}

#[derive(Clone, PartialEq, Eq)]
pub(super) enum RedirectAnswer {
    Code(String),
    Error { code: String, said: String },
}

impl Redirected {
    /// Reads an address that the browser was sent to, if it is of the sign-in with this state.
    pub(super) fn read(url: &Url, state: &str) -> Option<Self> {
        let one = |wanted: &str| {
            let mut all = url.query_pairs().filter(|(name, _)| name == wanted);
            let first = all.next();
            // A parameter that comes twice could be read in two ways.
            if all.next().is_some() { Err(()) } else { Ok(first.map(|(_, value)| value.into_owned())) }
        };
        if one("state").ok()?? != state {
            return None;
        }
        let (code, error) = (one("code").ok()?, one("error").ok()?);
        let answer = match (code, error) {
            (Some(code), None) => RedirectAnswer::Code(code),
            (_, Some(code)) => {
                RedirectAnswer::Error { code, said: one("error_description").ok()?.unwrap_or_default() }
            }
            (None, None) => return None,
        };
        Some(Self { answer, issuer: one("iss").ok()? })
    }
}

/// An open port.
pub(super) struct WayBack {
    listener: TcpListener,
    port: u16,
}

impl WayBack {
    /// Opens a port; this one, if it is given.
    pub(super) async fn open(port: Option<u16>) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0))).await?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port })
    }

    /// The redirect URI that leads here.
    pub(super) fn uri(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// The port of a redirect URI that led here once.
    pub(super) fn port_of(uri: &str) -> Option<u16> {
        let url = Url::parse(uri).ok()?;
        (url.host_str() == Some("127.0.0.1") && url.path() == PATH).then(|| url.port()).flatten()
    }

    /// Answers whoever comes, until one brings what the sign-in with this state waits for.
    pub(super) async fn redirected(&self, state: &str) -> Redirected {
        let mut visitors = FuturesUnordered::new();
        loop {
            tokio::select! {
                Some(brought) = visitors.next() => if let Some(redirected) = brought {
                    return redirected;
                },
                arrived = self.listener.accept(), if visitors.len() < MAX_VISITORS => match arrived {
                    Ok((stream, _)) => visitors.push(self.hear(stream, state)),
                    // Out of file descriptors, or the visitor left at once; not a reason to give the sign-in up.
                    Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                },
            }
        }
    }

    async fn hear(&self, mut stream: TcpStream, state: &str) -> Option<Redirected> {
        let target = tokio::time::timeout(MAX_TIME, target(&mut stream)).await.ok()??;
        let url = Url::parse(&format!("http://127.0.0.1:{}{target}", self.port)).ok()?;
        let (status, text, redirected) = if url.path() == PATH {
            match Redirected::read(&url, state) {
                Some(it) if matches!(it.answer, RedirectAnswer::Code(_)) => {
                    ("200 OK", "Usher has your sign-in. You can close this page.", Some(it))
                }
                Some(it) => ("200 OK", "The sign-in was refused. Usher says more.", Some(it)),
                None => (
                    "400 Bad Request",
                    "Usher waits for no such sign-in. Nothing was changed. You can close this page.",
                    None,
                ),
            }
        } else {
            ("404 Not Found", "There is nothing here.", None)
        };
        let _left = tokio::time::timeout(MAX_TIME, answer(&mut stream, status, text)).await;
        redirected
    }
}

/// What a GET request asks for. Nothing of the rest of its head counts.
async fn target(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut chunk = [0; 2048];
    while !head.windows(4).any(|it| it == b"\r\n\r\n") {
        let read = stream.read(&mut chunk).await.ok()?;
        if read == 0 || head.len() + read > MAX_HEAD {
            return None;
        }
        head.extend_from_slice(&chunk[..read]);
    }
    let line = head.split(|it| *it == b'\r').next()?;
    let mut words = str::from_utf8(line).ok()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    (method == "GET" && target.starts_with('/')).then(|| target.to_owned())
}

/// The page holds nothing of what was asked, asks for nothing, and is not kept.
async fn answer(stream: &mut TcpStream, status: &str, text: &str) -> std::io::Result<()> {
    let page = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Usher</title><p style=\"font:1.1rem system-ui;margin:20vh auto;max-width:30rem;text-align:center\">{text}</p></html>"
    );
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\nContent-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'\r\nConnection: close\r\n\r\n",
        page.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(page.as_bytes()).await?;
    stream.shutdown().await
}
