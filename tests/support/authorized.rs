//! A server over HTTP that wants to know who asks, the authorization server that says so, and a browser: all in this process.
//!
//! Deliberately absent: the product's own OAuth, and every trick of hostile servers, which the connection's own tests play.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard},
};

use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt as _, net::TcpListener};

use crate::http::{HttpRequest, read_request};

/// The place, and what it saw.
pub struct Authorized {
    origin: String,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// Which tokens are good.
    tokens: BTreeSet<String>,
    /// The paths of the requests to the authorization server.
    visits: Vec<String>,
    /// What was called.
    calls: u32,
    issued: u32,
}

/// What every secret of the place begins with.
pub const SECRET: &str = "SECRET-of-the-place";

impl Authorized {
    /// Opens the place at a free port.
    ///
    /// # Panics
    /// If there is none.
    pub async fn open() -> Arc<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let place = Arc::new(Self { origin, seen: Mutex::default() });
        let served = Arc::clone(&place);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let place = Arc::clone(&served);
                tokio::spawn(async move {
                    let request = read_request(&mut stream).await.ok()?;
                    let (status, headers, body) = place.answer(&request);
                    let body = body.to_string();
                    let text = format!(
                        "HTTP/1.1 {status} -\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}",
                        body.len()
                    );
                    stream.write_all(text.as_bytes()).await.ok()
                });
            }
        });
        place
    }

    /// The server's address.
    pub fn url(&self) -> String {
        format!("{}/mcp", self.origin)
    }

    /// The authorization server.
    pub fn issuer(&self) -> String {
        format!("{}/as", self.origin)
    }

    /// What the authorization server was asked for.
    pub fn visits(&self) -> Vec<String> {
        self.seen().visits.clone()
    }

    /// How often a tool was called.
    pub fn calls(&self) -> u32 {
        self.seen().calls
    }

    /// No token is good any more.
    pub fn revoke(&self) {
        self.seen().tokens.clear();
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }

    fn answer(&self, request: &HttpRequest) -> (u16, String, Value) {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let fine = |body: Value| (200, String::new(), body);
        if path == "/mcp" {
            return self.mcp(request);
        }
        if path == "/.well-known/oauth-protected-resource/mcp" {
            return fine(json!({"resource": self.url(), "authorization_servers": [self.issuer()]}));
        }
        if path == "/.well-known/oauth-authorization-server/as" {
            let issuer = self.issuer();
            return fine(json!({
                "issuer": issuer,
                "authorization_endpoint": format!("{issuer}/authorize"),
                "token_endpoint": format!("{issuer}/token"),
                "registration_endpoint": format!("{issuer}/register"),
                "code_challenge_methods_supported": ["S256"],
            }));
        }
        let mut seen = self.seen();
        seen.visits.push(path.to_owned());
        seen.issued += 1;
        let number = seen.issued;
        match path {
            "/as/register" => {
                let asked: Value = serde_json::from_slice(&request.body).unwrap_or_default();
                (201, String::new(), json!({"client_id": "usher", "redirect_uris": asked["redirect_uris"]}))
            }
            "/as/authorize" => {
                let parameter = |name: &str| {
                    let pairs = query.split('&').filter_map(|it| it.split_once('='));
                    let found = pairs.filter(|it| it.0 == name).map(|it| it.1).next();
                    found.unwrap_or_default().to_owned()
                };
                let back = unescaped(&parameter("redirect_uri"));
                let state = parameter("state");
                let location = format!("location: {back}?code={SECRET}-code-{number}&state={state}\r\n");
                (302, location, json!({}))
            }
            "/as/token" => {
                let token = format!("{SECRET}-access-{number}");
                seen.tokens.insert(token.clone());
                let refresh = format!("{SECRET}-refresh-{number}");
                fine(
                    json!({"access_token": token, "token_type": "Bearer", "expires_in": 3600, "refresh_token": refresh}),
                )
            }
            _ => (404, String::new(), json!({})),
        }
    }

    fn mcp(&self, request: &HttpRequest) -> (u16, String, Value) {
        let mut seen = self.seen();
        let token = request.header("authorization").and_then(|it| it.strip_prefix("Bearer "));
        if !token.is_some_and(|it| seen.tokens.contains(it)) {
            let metadata = format!("{}/.well-known/oauth-protected-resource/mcp", self.origin);
            let challenge = format!("www-authenticate: Bearer resource_metadata=\"{metadata}\"\r\n");
            return (401, challenge, json!({}));
        }
        let Ok(message) = serde_json::from_slice::<Value>(&request.body) else {
            return (405, String::new(), json!({}));
        };
        let result = match message["method"].as_str() {
            Some("server/discover") => json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                "ttlMs": 0, "cacheScope": "private",
            }),
            Some("tools/list") => json!({
                "resultType": "complete", "tools": [{"name": "who_am_i", "inputSchema": {"type": "object"}}],
                "ttlMs": 0, "cacheScope": "private",
            }),
            Some("tools/call") => {
                seen.calls += 1;
                json!({"resultType": "complete", "content": [{"type": "text", "text": "You are Ada."}]})
            }
            _ => return (202, String::new(), json!({})),
        };
        (200, String::new(), json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
    }
}

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let code: Vec<u8> = rest.by_ref().take(2).collect();
            let code = String::from_utf8(code).unwrap();
            bytes.push(u8::from_str_radix(&code, 16).unwrap());
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// A browser in front of which somebody agrees to everything. It must be opened inside a runtime.
pub fn browse(url: &str) {
    let url = url.to_owned();
    tokio::spawn(async move {
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        let answer = client.get(url).send().await.unwrap();
        let place = answer.headers()["location"].to_str().unwrap().to_owned();
        client.get(place).send().await.unwrap();
    });
}
