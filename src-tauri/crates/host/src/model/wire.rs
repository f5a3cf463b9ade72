//! What a provider's format must offer, and what a request is sent with.
//!
//! Deliberately absent: input and output. A wire turns a [`Turn`] into bytes and bytes into events; sending is [`super::ModelClient`]'s.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use http::{HeaderMap, header};
use sha2::{Digest, Sha256};
use url::Url;

use super::{ModelError, Span, StreamEvent, Turn};

/// A provider's format.
pub trait Wire: Send + Sync {
    /// Writes a request. Pure: the same turn gives the same bytes.
    ///
    /// # Errors
    /// The endpoint's address or key cannot be used.
    fn encode(&self, turn: &Turn, model: &ModelSpec) -> Result<Encoded, EncodeError>;

    /// A decoder for the answer to one request. `ids` names calls to which the provider gave no id.
    fn decoder(&self, ids: CallIds) -> Box<dyn StreamDecoder>;
}

/// Gives a fresh id each time, unique in the conversation.
pub type CallIds = Box<dyn FnMut() -> String + Send>;

/// Reads the events of one answer.
pub trait StreamDecoder: Send {
    /// Reads the data of one server-sent event.
    ///
    /// # Errors
    /// The provider reports an error.
    fn data(&mut self, data: &str) -> Result<Vec<StreamEvent>, ModelError>;

    /// Whether the answer is complete, although the connection may stay open.
    fn is_done(&self) -> bool;

    /// The stream ended, or the answer is complete.
    ///
    /// # Errors
    /// It ended before the answer was complete.
    fn end(&mut self) -> Result<Vec<StreamEvent>, ModelError>;
}

/// A model and where it is reached.
#[derive(Debug, Clone)]
pub struct ModelSpec {
    /// Its name on the wire.
    pub name: String,
    /// Where it is reached.
    pub endpoint: Endpoint,
    /// Whether it takes pictures.
    pub takes_images: bool,
    /// Its context size in tokens, known or set; see [`super::ASSUMED_CONTEXT_TOKENS`].
    pub context_tokens: Option<u64>,
    /// The most that it may write, in tokens; absent to leave it to the provider.
    pub max_output_tokens: Option<u64>,
}

/// Where a model is reached.
#[derive(Debug, Clone)]
pub enum Endpoint {
    /// An HTTP endpoint of the OpenAI Chat format.
    Http {
        /// The address before `/chat/completions`, such as `http://127.0.0.1:11434/v1`.
        base_url: Url,
        /// Its key.
        key: Option<Secret>,
    },
    /// The demo in this process, which matches words to tools and knows nothing.
    Demo,
}

/// A key. It has no serialisation and does not print itself.
#[derive(Clone)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Keeps a key.
    pub fn new(text: &str) -> Self {
        Self(text.trim().into())
    }

    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A request, written once. Exactly these bytes are recorded and sent, at every attempt.
#[derive(Debug, Clone)]
pub struct Encoded {
    /// Where it goes.
    pub url: Url,
    /// Its headers. Keys stand only here and are marked sensitive; see [`Self::recordable_headers`].
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
    /// The source of every byte of the body; the spans tile it.
    pub spans: Vec<Span>,
    /// The SHA-256 of the body, in hexadecimal.
    pub sha256: String,
    /// The names of the offered tools in their order, so that a provider's "tools\[3\]" can be named.
    pub tools: Vec<Arc<str>>,
}

/// A request cannot be written.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum EncodeError {
    /// The key holds characters that a header cannot.
    #[error(
        "The key of this provider holds characters that cannot be sent. Nothing was sent. Enter the key again in the settings."
    )]
    BadKey,
    /// The address cannot have a path.
    #[error("The address {url} cannot be used for a model. Nothing was sent. Correct it in the settings.")]
    BadAddress {
        /// The address.
        url: String,
    },
}

impl Encoded {
    pub(super) fn new(
        url: Url,
        headers: HeaderMap,
        body: Bytes,
        spans: Vec<Span>,
        tools: Vec<Arc<str>>,
    ) -> Self {
        let sha256 = hex(&Sha256::digest(&body));
        Self { url, headers, body, spans, sha256, tools }
    }

    /// The address as it may be stored and shown: without credentials and without a query, which may hold a key.
    pub fn recordable_url(&self) -> String {
        shown(&self.url)
    }

    /// The headers that may be stored and shown, by an allow-list.
    pub fn recordable_headers(&self) -> Vec<(String, String)> {
        const ALLOWED: [header::HeaderName; 3] = [header::ACCEPT, header::CONTENT_TYPE, header::USER_AGENT];
        let shown = |name: &header::HeaderName| {
            let value = self.headers.get(name)?;
            (!value.is_sensitive()).then(|| Some((name.to_string(), value.to_str().ok()?.to_owned())))?
        };
        ALLOWED.iter().filter_map(shown).collect()
    }
}

/// An address for people: without credentials and without a query, which may hold a key.
pub(super) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // These fail only where there is nothing to take away.
    let _ = url.set_password(None);
    let _ = url.set_username("");
    url.set_query(None);
    url.to_string()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    use fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        // Writing to a string cannot fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}
