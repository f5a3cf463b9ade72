//! An MCP server at `/mcp` and two authorization servers, `/one` and `/two`, at one port of this computer, in this process.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard},
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
};

/// How the place behaves, and what it saw.
pub(super) struct Script {
    /// The authorization server that the MCP server names.
    pub(super) issuer: &'static str,
    pub(super) methods: Value,
    /// Sent as `iss` instead of the truth.
    pub(super) iss: Option<&'static str>,
    pub(super) expires_in: u64,
    /// Whether the tokens that are handed out let nobody in.
    pub(super) worthless: bool,
    /// Whether there are refresh tokens.
    pub(super) renewable: bool,
    /// Who is known, per authorization server.
    pub(super) clients: BTreeSet<(String, String)>,
    /// Whether the token endpoints know nobody.
    pub(super) amnesia: bool,
    /// Which tokens are good, and the scopes that they are good for.
    pub(super) tokens: BTreeMap<String, String>,
    pub(super) refresh_tokens: BTreeSet<String>,
    /// What `tools/call` needs.
    pub(super) needed: &'static str,
    /// What an authorization server grants at most.
    pub(super) grants: Option<&'static str>,
    /// Whether `tools/call` fails and repeats what it was sent.
    pub(super) parrot: bool,
    /// Every request to an authorization server: `POST /one/token` and its parameters.
    pub(super) seen: Vec<(String, Value)>,
    issued: u32,
}

pub(super) struct Place {
    pub(super) origin: String,
    script: Mutex<Script>,
    /// How often the MCP server refused.
    pub(super) refusals: watch::Sender<u32>,
}

struct Request {
    method: String,
    target: url::Url,
    bearer: Option<String>,
    body: String,
}

struct Response {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Response {
    fn json(status: u16, body: &Value) -> Self {
        let headers = vec![("Content-Type", "application/json".to_owned())];
        Self { status, headers, body: body.to_string() }
    }

    fn with(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }
}

impl Place {
    pub(super) async fn open() -> Arc<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let script = Script {
            issuer: "one",
            methods: json!(["S256"]),
            iss: None,
            expires_in: 3600,
            worthless: false,
            renewable: true,
            clients: BTreeSet::new(),
            amnesia: false,
            tokens: BTreeMap::new(),
            refresh_tokens: BTreeSet::new(),
            needed: "",
            grants: None,
            parrot: false,
            seen: Vec::new(),
            issued: 0,
        };
        let place = Arc::new(Self {
            origin: format!("http://{}", listener.local_addr().unwrap()),
            script: Mutex::new(script),
            refusals: watch::Sender::new(0),
        });
        let open = Arc::downgrade(&place);
        tokio::spawn(async move {
            while let (Ok((stream, _)), Some(place)) = (listener.accept().await, open.upgrade()) {
                tokio::spawn(async move { place.hear(stream).await });
            }
        });
        place
    }

    pub(super) fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap()
    }

    pub(super) fn server(&self) -> String {
        format!("{}/mcp", self.origin)
    }

    pub(super) fn issuer(&self, name: &str) -> String {
        format!("{}/{name}", self.origin)
    }

    /// The requests to an endpoint, such as `POST /one/token`.
    pub(super) fn seen(&self, what: &str) -> Vec<Value> {
        self.script()
            .seen
            .iter()
            .filter(|(it, _)| it == what)
            .map(|(_, parameters)| parameters.clone())
            .collect()
    }

    async fn hear(&self, mut stream: TcpStream) -> Option<()> {
        let request = read(&mut stream, &self.origin).await?;
        let Response { status, headers, body } = self.answer(&request);
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let text = format!(
            "HTTP/1.1 {status} -\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(text.as_bytes()).await.ok()
    }

    fn answer(&self, request: &Request) -> Response {
        let path = request.target.path();
        if path == "/mcp" {
            return self.mcp(request);
        }
        let mut script = self.script();
        if path == "/.well-known/oauth-protected-resource/mcp" {
            let issuer = self.issuer(script.issuer);
            return Response::json(
                200,
                &json!({"resource": self.server(), "authorization_servers": [issuer]}),
            );
        }
        if let Some(name) = path.strip_prefix("/.well-known/oauth-authorization-server/") {
            let issuer = self.issuer(name);
            return Response::json(
                200,
                &json!({
                    "issuer": issuer,
                    "authorization_endpoint": format!("{issuer}/authorize"),
                    "token_endpoint": format!("{issuer}/token"),
                    "registration_endpoint": format!("{issuer}/register"),
                    "code_challenge_methods_supported": script.methods,
                    "authorization_response_iss_parameter_supported": true,
                }),
            );
        }
        let (Some(name), parameters) = (path.split('/').nth(1), parameters(request)) else {
            return Response::json(404, &json!({}));
        };
        script.seen.push((format!("{} {path}", request.method), parameters.clone()));
        script.issued += 1;
        let number = script.issued;
        match path.rsplit('/').next() {
            Some("register") => {
                let id = format!("client-{name}-{number}");
                script.clients.insert((name.to_owned(), id.clone()));
                let uris = parameters["redirect_uris"].clone();
                let secret = format!("SECRET-client-{name}-{number}");
                Response::json(201, &json!({"client_id": id, "client_secret": secret, "redirect_uris": uris}))
            }
            Some("authorize") => {
                let mut back = url::Url::parse(parameters["redirect_uri"].as_str().unwrap()).unwrap();
                let iss = script.iss.map_or_else(|| self.issuer(name), str::to_owned);
                let scope = parameters["scope"].as_str().unwrap_or_default();
                back.query_pairs_mut()
                    .append_pair("code", &format!("SECRET-code {scope}"))
                    .append_pair("state", parameters["state"].as_str().unwrap())
                    .append_pair("iss", &iss);
                Response::json(302, &json!({})).with("Location", back.to_string())
            }
            Some("token") => script.token(name, &parameters, number),
            _ => Response::json(404, &json!({})),
        }
    }

    fn mcp(&self, request: &Request) -> Response {
        let script = self.script();
        let metadata = format!("{}/.well-known/oauth-protected-resource/mcp", self.origin);
        let scopes = request.bearer.as_ref().and_then(|it| script.tokens.get(it)).cloned();
        let Some(scopes) = scopes else {
            self.refusals.send_modify(|it| *it += 1);
            return Response::json(401, &json!({}))
                .with("WWW-Authenticate", "Basic realm=\"other\"".to_owned())
                .with("WWW-Authenticate", format!("Bearer resource_metadata=\"{metadata}\""));
        };
        let Ok(message) = serde_json::from_str::<Value>(&request.body) else {
            return Response::json(405, &json!({}));
        };
        let result = match message["method"].as_str() {
            Some("server/discover") => json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                "ttlMs": 0, "cacheScope": "private",
            }),
            Some("tools/list") => {
                json!({"resultType": "complete", "tools": [], "ttlMs": 0, "cacheScope": "private"})
            }
            Some("tools/call") if script.parrot => {
                let text = format!("what is {:?} to me?", request.bearer);
                return Response { status: 500, headers: Vec::new(), body: text };
            }
            Some("tools/call")
                if !script.needed.split(' ').all(|it| scopes.split(' ').any(|has| has == it)) =>
            {
                return Response::json(403, &json!({})).with(
                    "WWW-Authenticate",
                    format!(
                        "Bearer error=\"insufficient_scope\", scope=\"{}\", resource_metadata=\"{metadata}\"",
                        script.needed
                    ),
                );
            }
            Some("tools/call") => json!({"resultType": "complete", "content": []}),
            _ => return Response::json(202, &json!({})),
        };
        Response::json(200, &json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
    }
}

impl Script {
    fn token(&mut self, name: &str, parameters: &Value, number: u32) -> Response {
        let client = parameters["client_id"].as_str().unwrap_or_default().to_owned();
        if self.amnesia || !self.clients.contains(&(name.to_owned(), client)) {
            let said = format!("who is {}?", parameters["client_secret"]);
            return Response::json(401, &json!({"error": "invalid_client", "error_description": said}));
        }
        let asked = match parameters["grant_type"].as_str() {
            Some("refresh_token") => {
                let given = parameters["refresh_token"].as_str().unwrap_or_default();
                if !self.refresh_tokens.remove(given) {
                    let said = format!("{given} is not good");
                    return Response::json(
                        400,
                        &json!({"error": "invalid_grant", "error_description": said}),
                    );
                }
                String::new()
            }
            _ => parameters["code"].as_str().unwrap_or_default().replace("SECRET-code ", ""),
        };
        let granted = self.grants.map_or(asked, str::to_owned);
        let (access, refresh) = (format!("SECRET-access-{number}"), format!("SECRET-refresh-{number}"));
        if !self.worthless {
            self.tokens.insert(access.clone(), granted.clone());
        }
        let mut answer =
            json!({"access_token": access, "token_type": "Bearer", "expires_in": self.expires_in});
        if self.renewable {
            self.refresh_tokens.insert(refresh.clone());
            answer["refresh_token"] = refresh.into();
        }
        if self.grants.is_some() {
            answer["scope"] = granted.into();
        }
        Response::json(200, &answer)
    }
}

/// The query, the form or the JSON of a request; the client's name also if it stands in the header.
fn parameters(request: &Request) -> Value {
    if let Ok(value) = serde_json::from_str(&request.body) {
        return value;
    }
    let text =
        if request.body.is_empty() { request.target.query().unwrap_or_default() } else { &request.body };
    let pairs = url::form_urlencoded::parse(text.as_bytes());
    Value::Object(pairs.map(|(name, value)| (name.into_owned(), value.into_owned().into())).collect())
}

async fn read(stream: &mut TcpStream, origin: &str) -> Option<Request> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let header = |wanted: &str| {
                head.lines()
                    .filter_map(|it| it.split_once(": "))
                    .find(|it| it.0.eq_ignore_ascii_case(wanted))
                    .map(|it| it.1)
            };
            if body.len() >= header("content-length").map_or(0, |it| it.parse().unwrap()) {
                let mut words = head.split(' ');
                let (method, target) = (words.next()?.to_owned(), words.next()?);
                let authorization = header("authorization").unwrap_or_default();
                let mut body = body.to_owned();
                if let Some(basic) = authorization.strip_prefix("Basic ") {
                    use base64::Engine as _;
                    let decoded = base64::engine::general_purpose::STANDARD.decode(basic).unwrap();
                    let decoded = String::from_utf8(decoded).unwrap();
                    let (id, secret) = decoded.split_once(':').unwrap();
                    body = format!("{body}&client_id={id}&client_secret={secret}");
                }
                return Some(Request {
                    method,
                    target: url::Url::parse(&format!("{origin}{target}")).ok()?,
                    bearer: authorization.strip_prefix("Bearer ").map(str::to_owned),
                    body,
                });
            }
        }
        let read = stream.read(&mut chunk).await.ok()?;
        if read == 0 {
            return None;
        }
        bytes.extend_from_slice(&chunk[..read]);
    }
}
