//! Which revision and which extensions a request is made under: per request in its `_meta`, or once by the handshake.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};
use usher_protocol::{RawJson, Revision, UI_EXTENSION, UI_MIME, jsonrpc::ErrorObject};

use crate::options::EraQuirks;

/// Whom a request comes from, as far as an answer depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) revision: Revision,
    /// It advertised the MCP Apps extension with the MIME type that Views have here.
    pub(crate) has_ui: bool,
}

/// The revisions that the server speaks, newest first.
#[derive(Debug, Clone)]
pub(crate) struct Spoken(Vec<Revision>);

/// The `_meta` of a request.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct RequestMeta {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion", default)]
    revision: Option<String>,
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities", default)]
    capabilities: Option<Capabilities>,
    #[serde(rename = "progressToken", default)]
    pub(crate) progress_token: Option<RawJson>,
}

#[derive(Debug, Default, Deserialize)]
struct Capabilities {
    #[serde(default)]
    extensions: BTreeMap<String, Value>,
}

impl Capabilities {
    fn has_ui(&self) -> bool {
        self.extensions.get(UI_EXTENSION).is_some_and(|settings| match settings.get("mimeTypes") {
            Some(Value::Array(types)) => types.iter().any(|it| it == UI_MIME),
            Some(_) => false,
            None => settings.is_object(),
        })
    }
}

impl RequestMeta {
    /// Reads it from a request's parameters.
    ///
    /// # Errors
    /// The parameters are not an object, or a field of `_meta` has another type.
    pub(crate) fn read(params: Option<&RawJson>) -> Result<Self, ErrorObject> {
        #[derive(Deserialize)]
        struct Params {
            #[serde(rename = "_meta", default)]
            meta: Option<RequestMeta>,
        }
        let Some(params) = params else { return Ok(Self::default()) };
        let read: Params = params.to().map_err(|error| {
            ErrorObject::new(ErrorObject::INVALID_PARAMS, format!("the parameters cannot be read: {error}"))
        })?;
        Ok(read.meta.unwrap_or_default())
    }

    /// Whether the request says its own revision, as requests since the end of the handshake do.
    pub(crate) fn is_stateless(&self) -> bool {
        self.revision.is_some() || self.capabilities.is_some()
    }
}

impl Spoken {
    pub(crate) fn new(quirks: &EraQuirks) -> Self {
        let is_old = quirks.discover_empty || quirks.discover_silent || quirks.exit_on_unknown;
        let is_spoken = |it: &Revision| match quirks.only.as_slice() {
            [] => !is_old || it.has_handshake(),
            only => only.contains(it),
        };
        Self(Revision::ALL.into_iter().rev().filter(is_spoken).collect())
    }

    /// The revisions that requests name themselves.
    pub(crate) fn stateless(&self) -> Vec<Revision> {
        self.0.iter().copied().filter(|it| it.has_request_meta()).collect()
    }

    /// The client of a request that says its revision and capabilities (2026-07-28 basic, "_meta").
    ///
    /// # Errors
    /// Either is missing, or the revision is not spoken (rule S13).
    pub(crate) fn client(&self, meta: &RequestMeta) -> Result<Client, ErrorObject> {
        let missing = |what: &str| {
            let message = format!("_meta has no io.modelcontextprotocol/{what}, which every request carries");
            ErrorObject::new(ErrorObject::INVALID_PARAMS, message)
        };
        let named = meta.revision.as_deref().ok_or_else(|| missing("protocolVersion"))?;
        let revision =
            self.find(named).filter(|it| it.has_request_meta()).ok_or_else(|| self.refusal(named))?;
        let capabilities = meta.capabilities.as_ref().ok_or_else(|| missing("clientCapabilities"))?;
        Ok(Client { revision, has_ui: capabilities.has_ui() })
    }

    /// Answers `initialize` with the revision that the client asked for, or with the newest one that opens so.
    ///
    /// # Errors
    /// The parameters cannot be read, or no spoken revision has a handshake.
    pub(crate) fn initialize(&self, params: Option<&RawJson>) -> Result<(Client, Value), ErrorObject> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            protocol_version: String,
            #[serde(default)]
            capabilities: Capabilities,
        }
        let unreadable = |why: String| ErrorObject::new(ErrorObject::INVALID_PARAMS, why);
        let params = params.ok_or_else(|| unreadable("initialize has no parameters".to_owned()))?;
        let params: Params =
            params.to().map_err(|error| unreadable(format!("initialize cannot be read: {error}")))?;
        let asked = self.find(&params.protocol_version).filter(|it| it.has_handshake());
        let offered = asked.or_else(|| self.0.iter().copied().find(|it| it.has_handshake()));
        let revision = offered.ok_or_else(|| self.refusal(&params.protocol_version))?;
        let result = json!({
            "protocolVersion": revision,
            "capabilities": capabilities(),
            "serverInfo": server_info(),
            "instructions": INSTRUCTIONS,
        });
        Ok((Client { revision, has_ui: params.capabilities.has_ui() }, result))
    }

    /// The result of `server/discover`, before it is sealed.
    pub(crate) fn discover(&self) -> Value {
        json!({
            "supportedVersions": self.stateless(),
            "capabilities": capabilities(),
            "instructions": INSTRUCTIONS,
        })
    }

    fn find(&self, named: &str) -> Option<Revision> {
        self.0.iter().copied().find(|it| it.as_str() == named)
    }

    fn refusal(&self, requested: &str) -> ErrorObject {
        let message = format!("protocol revision {requested} is not implemented here");
        ErrorObject::new(ErrorObject::UNSUPPORTED_REVISION, message)
            .with_data(json!({"supported": self.stateless(), "requested": requested}))
    }
}

const INSTRUCTIONS: &str =
    "A made-up sales team: customers, tickets, events, and a picture maker. Nothing here is real.";

fn capabilities() -> Value {
    json!({"tools": {}, "resources": {}, "extensions": {UI_EXTENSION: {"mimeTypes": [UI_MIME]}}})
}

fn server_info() -> Value {
    json!({"name": "usher-sample", "title": "Usher sample server", "version": env!("CARGO_PKG_VERSION")})
}

/// `_meta` of a result: who answers, where the revision has that (2026-07-28 basic, "_meta").
pub(crate) fn result_meta(revision: Revision) -> serde_json::Map<String, Value> {
    let mut meta = serde_json::Map::new();
    if revision.has_request_meta() {
        meta.insert("io.modelcontextprotocol/serverInfo".to_owned(), server_info());
    }
    meta
}

/// How long an answer may be kept, and by whom (2026-07-28 server/utilities/caching).
#[derive(Debug, Clone, Copy)]
pub(crate) enum Keep {
    /// It may change between two requests, and differs by the client's capabilities.
    Briefly,
    /// It changes with the server's version only.
    Long,
}

/// Adds to a result what the revision puts on every one of its kind.
pub(crate) fn seal(revision: Revision, mut result: Value, keep: Option<Keep>) -> Value {
    if revision.has_result_type() {
        result["resultType"] = json!("complete");
        let ttl = keep.map(|it| match it {
            Keep::Briefly => 1_000,
            Keep::Long => 3_600_000,
        });
        if let Some(ttl) = ttl {
            result["ttlMs"] = json!(ttl);
            result["cacheScope"] = json!("private");
        }
    }
    let meta = result_meta(revision);
    if !meta.is_empty() {
        result["_meta"] = Value::Object(meta);
    }
    result
}

/// The code for a resource that does not exist: it has one of its own only where there is a handshake (2025-11-25 server/resources).
pub(crate) fn no_such_resource(revision: Revision, uri: &str) -> ErrorObject {
    let code = if revision.has_handshake() { -32002 } else { ErrorObject::INVALID_PARAMS };
    ErrorObject::new(code, format!("there is no resource {uri}")).with_data(json!({"uri": uri}))
}
