//! Content blocks, the part of the wire that has the same shape at every revision.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::RawJson;

/// One block of a `content` array, with its annotations.
///
/// A block whose type is unknown, or whose fields do not have the specified shape, is kept raw: one bad block never loses the others.
#[derive(Debug, Clone, PartialEq)]
pub struct ContentBlock {
    /// What the block holds.
    pub kind: BlockKind,
    /// Hints of the block. They never decide an audience under [`crate::Revision::has_output_variants`] (rule H02).
    pub annotations: Option<Annotations>,
}

/// What a content block holds.
#[derive(Debug, Clone, PartialEq)]
pub enum BlockKind {
    /// Text, often Markdown.
    Text(String),
    /// A picture.
    Image(Media),
    /// A sound.
    Audio(Media),
    /// A link to a resource that is read on demand only.
    Link(ResourceLink),
    /// A resource that travels with the result.
    Embedded(EmbeddedResource),
    /// A type that is unknown, or known but malformed, as it came.
    Unknown(RawJson),
}

/// Base64 bytes with their type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// Base64 as it came; not checked here.
    pub data: String,
    /// The MIME type that the server declares.
    #[serde(rename = "mimeType")]
    pub mime: String,
}

/// A link to a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLink {
    /// Where it can be read.
    pub uri: String,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its MIME type.
    #[serde(rename = "mimeType", default, skip_serializing_if = "Option::is_none")]
    pub mime: Option<String>,
    /// Its size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// A resource that travels with the result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmbeddedResource {
    /// Where it comes from.
    pub uri: String,
    /// Its MIME type.
    #[serde(rename = "mimeType", default, skip_serializing_if = "Option::is_none")]
    pub mime: Option<String>,
    /// Its text or its bytes.
    #[serde(flatten)]
    pub body: ResourceBody,
}

/// The body of a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ResourceBody {
    /// Text.
    #[serde(rename = "text")]
    Text(String),
    /// Base64 bytes.
    #[serde(rename = "blob")]
    Blob(String),
}

/// Hints on a block.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Annotations {
    /// Roles that the block is meant for: `user`, `assistant`. A hint of one block; see rule H02.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audience: Option<Vec<String>>,
    /// From 0 (least) to 1 (most important).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<f64>,
    /// An ISO 8601 time.
    #[serde(rename = "lastModified", default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

impl ContentBlock {
    /// A plain text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self { kind: BlockKind::Text(text.into()), annotations: None }
    }

    /// Reads a block; what does not have the shape of its type is kept as [`BlockKind::Unknown`].
    pub fn from_raw(raw: &RawJson) -> Self {
        #[derive(Deserialize)]
        struct Wire {
            #[serde(default)]
            annotations: Option<Annotations>,
        }
        let annotations = raw.to::<Wire>().ok().and_then(|it| it.annotations);
        Self { kind: BlockKind::from_raw(raw), annotations }
    }

    /// Whether the block's hint names the user and not the assistant. Meaningful under earlier revisions only (rule H02).
    pub fn is_hinted_user_only(&self) -> bool {
        let audience = self.annotations.as_ref().and_then(|it| it.audience.as_ref());
        audience.is_some_and(|it| it.iter().any(|a| a == "user") && !it.iter().any(|a| a == "assistant"))
    }
}

impl BlockKind {
    fn from_raw(raw: &RawJson) -> Self {
        #[derive(Deserialize)]
        #[serde(tag = "type", rename_all = "snake_case")]
        enum Wire {
            Text { text: String },
            Image(Media),
            Audio(Media),
            ResourceLink(ResourceLink),
            Resource { resource: EmbeddedResource },
        }
        match raw.to::<Wire>() {
            Ok(Wire::Text { text }) => Self::Text(text),
            Ok(Wire::Image(it)) => Self::Image(it),
            Ok(Wire::Audio(it)) => Self::Audio(it),
            Ok(Wire::ResourceLink(it)) => Self::Link(it),
            Ok(Wire::Resource { resource }) => Self::Embedded(resource),
            Err(_) => Self::Unknown(raw.clone()),
        }
    }
}

impl<'de> Deserialize<'de> for ContentBlock {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        RawJson::deserialize(deserializer).map(|raw| Self::from_raw(&raw))
    }
}

impl Serialize for ContentBlock {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(tag = "type", rename_all = "snake_case")]
        enum Wire<'a> {
            Text { text: &'a str },
            Image(&'a Media),
            Audio(&'a Media),
            ResourceLink(&'a ResourceLink),
            Resource { resource: &'a EmbeddedResource },
        }
        #[derive(Serialize)]
        struct Block<'a> {
            #[serde(flatten)]
            kind: Wire<'a>,
            #[serde(skip_serializing_if = "Option::is_none")]
            annotations: Option<&'a Annotations>,
        }
        let kind = match &self.kind {
            BlockKind::Text(text) => Wire::Text { text },
            BlockKind::Image(it) => Wire::Image(it),
            BlockKind::Audio(it) => Wire::Audio(it),
            BlockKind::Link(it) => Wire::ResourceLink(it),
            BlockKind::Embedded(resource) => Wire::Resource { resource },
            BlockKind::Unknown(raw) => return raw.serialize(serializer),
        };
        Block { kind, annotations: self.annotations.as_ref() }.serialize(serializer)
    }
}

/// An open JSON object, in the order of its keys.
pub type Object = Map<String, Value>;
