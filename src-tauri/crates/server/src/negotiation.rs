//! Which revision and which extensions a request is made under: per request in its `_meta`, or once by the handshake.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use usher_protocol::{RawJson, Revision, UI_EXTENSION, UI_MIME, jsonrpc::ErrorObject};

use crate::{ask::Capability, context::Level};

/// Whom a request comes from, as far as an answer depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) revision: Revision,
    /// It advertised the MCP Apps extension with the MIME type that Views have here.
    pub(crate) has_ui: bool,
    /// What it can be asked for.
    pub(crate) offers: Offers,
}

/// What a client can be asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Offers {
    elicitation: bool,
    sampling: bool,
    roots: bool,
}

impl Offers {
    pub(crate) fn has(self, capability: Capability) -> bool {
        match capability {
            Capability::Elicitation => self.elicitation,
            Capability::Sampling => self.sampling,
            Capability::Roots => self.roots,
        }
    }
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
    #[serde(rename = "io.modelcontextprotocol/logLevel", default)]
    pub(crate) log_level: Option<Level>,
    #[serde(rename = "progressToken", default)]
    pub(crate) progress_token: Option<RawJson>,
}

#[derive(Debug, Default, Deserialize)]
struct Capabilities {
    #[serde(default)]
    extensions: BTreeMap<String, Value>,
    #[serde(default)]
    elicitation: Option<Value>,
    #[serde(default)]
    sampling: Option<Value>,
    #[serde(default)]
    roots: Option<Value>,
}

impl Capabilities {
    fn offers(&self) -> Offers {
        // An empty object means forms; one that names other modes only cannot be asked with a form.
        let has_forms =
            |it: &Value| it.as_object().is_some_and(|it| it.is_empty() || it.contains_key("form"));
        Offers {
            elicitation: self.elicitation.as_ref().is_some_and(has_forms),
            sampling: self.sampling.is_some(),
            roots: self.roots.is_some(),
        }
    }

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

    /// The revision that the request names.
    pub(crate) fn named_revision(&self) -> Option<&str> {
        self.revision.as_deref()
    }

    /// Whether the request says its own revision, as requests since the end of the handshake do.
    pub(crate) fn is_stateless(&self) -> bool {
        self.revision.is_some() || self.capabilities.is_some()
    }
}

impl Spoken {
    pub(crate) fn new(spoken: &[Revision]) -> Self {
        Self(Revision::ALL.into_iter().rev().filter(|it| spoken.contains(it)).collect())
    }

    /// The revisions that requests name themselves.
    pub(crate) fn stateless(&self) -> Vec<Revision> {
        self.0.iter().copied().filter(|it| it.has_request_meta()).collect()
    }

    /// Whether no request names its revision here, as on servers that know the handshake alone.
    pub(crate) fn is_old(&self) -> bool {
        !self.0.iter().any(|it| it.has_request_meta())
    }

    /// Whether a header of a request within a session may name this revision.
    pub(crate) fn is_handshake(&self, named: &str) -> bool {
        self.find(named).is_some_and(Revision::has_handshake)
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
        Ok(Client { revision, has_ui: capabilities.has_ui(), offers: capabilities.offers() })
    }

    /// Answers `initialize` with the revision that the client asked for, or with the newest one that opens so.
    ///
    /// # Errors
    /// The parameters cannot be read, or no spoken revision has a handshake.
    pub(crate) fn initialize(
        &self,
        params: Option<&RawJson>,
        introduction: &Introduction,
    ) -> Result<(Client, Value), ErrorObject> {
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
        let mut result = json!({
            "protocolVersion": revision,
            "capabilities": introduction.capabilities,
            "serverInfo": introduction.info,
        });
        introduction.instruct(&mut result);
        let (has_ui, offers) = (params.capabilities.has_ui(), params.capabilities.offers());
        Ok((Client { revision, has_ui, offers }, result))
    }

    /// The result of `server/discover`, before it is sealed.
    pub(crate) fn discover(&self, introduction: &Introduction) -> Value {
        let mut result =
            json!({"supportedVersions": self.stateless(), "capabilities": introduction.capabilities});
        introduction.instruct(&mut result);
        result
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

/// How a server introduces itself.
pub(crate) struct Introduction {
    pub(crate) info: Value,
    pub(crate) capabilities: Value,
    pub(crate) instructions: Option<String>,
}

impl Introduction {
    fn instruct(&self, result: &mut Value) {
        if let Some(instructions) = &self.instructions {
            result["instructions"] = json!(instructions);
        }
    }

    /// `_meta` of a result: who answers, where the revision has that (2026-07-28 basic, "_meta").
    pub(crate) fn result_meta(&self, revision: Revision) -> Map<String, Value> {
        let mut meta = Map::new();
        if revision.has_request_meta() {
            meta.insert("io.modelcontextprotocol/serverInfo".to_owned(), self.info.clone());
        }
        meta
    }

    /// Adds to a result what the revision puts on every one of its kind.
    pub(crate) fn seal(&self, revision: Revision, mut result: Value, keep: Option<Keep>) -> Value {
        if revision.has_result_type() {
            if result.get("resultType").is_none() {
                result["resultType"] = json!("complete");
            }
            let ttl = keep.map(|it| match it {
                Keep::Briefly => 1_000,
                Keep::Long => 3_600_000,
            });
            if let Some(ttl) = ttl {
                result["ttlMs"] = json!(ttl);
                result["cacheScope"] = json!("private");
            }
        }
        let meta = self.result_meta(revision);
        if !meta.is_empty() {
            result["_meta"] = Value::Object(meta);
        }
        result
    }
}

/// How long an answer may be kept, and by whom (2026-07-28 server/utilities/caching).
#[derive(Debug, Clone, Copy)]
pub(crate) enum Keep {
    /// It may change between two requests, and differs by the client's capabilities.
    Briefly,
    /// It changes with the server's version only.
    Long,
}

/// The code for a resource that does not exist: it has one of its own only where there is a handshake (2025-11-25 server/resources).
pub(crate) fn no_such_resource(revision: Revision, uri: &str) -> ErrorObject {
    let code = if revision.has_handshake() { -32002 } else { ErrorObject::INVALID_PARAMS };
    ErrorObject::new(code, format!("there is no resource {uri}")).with_data(json!({"uri": uri}))
}
