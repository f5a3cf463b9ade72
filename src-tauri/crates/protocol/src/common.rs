//! Content blocks, the part of the wire that has the same shape at every revision.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{RawJson, bounded::Bounded};

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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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
    #[serde(default, deserialize_with = "few", skip_serializing_if = "Option::is_none")]
    pub audience: Option<Vec<String>>,
    /// From 0 (least) to 1 (most important).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<f64>,
    /// An ISO 8601 time.
    #[serde(rename = "lastModified", default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}

/// The most roles of a hint that are read; two are defined.
const MOST_ROLES: usize = 16;

fn few<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    Option::<Bounded<String, MOST_ROLES>>::deserialize(deserializer).map(|it| it.map(|it| it.items))
}

impl ContentBlock {
    /// A plain text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self { kind: BlockKind::Text(text.into()), annotations: None }
    }

    /// Its text, if it is a text.
    pub fn as_text(&self) -> Option<&str> {
        match &self.kind {
            BlockKind::Text(text) => Some(text),
            BlockKind::Image(_)
            | BlockKind::Audio(_)
            | BlockKind::Link(_)
            | BlockKind::Embedded(_)
            | BlockKind::Unknown(_) => None,
        }
    }

    /// Reads a block; what does not have the shape of its type is kept as [`BlockKind::Unknown`].
    pub fn from_raw(raw: &RawJson) -> Self {
        let shown: Shown = raw.to().unwrap_or_default();
        let annotations = shown.annotations.and_then(|it| it.to().ok());
        let kind = shown.kind.and_then(|it| it.to::<String>().ok());
        Self { kind: BlockKind::from_raw(kind.as_deref(), raw), annotations }
    }

    /// Whether the block's hint names the user and not the assistant. Meaningful under earlier revisions only (rule H02).
    pub fn is_hinted_user_only(&self) -> bool {
        let audience = self.annotations.as_ref().and_then(|it| it.audience.as_ref());
        audience.is_some_and(|it| it.iter().any(|a| a == "user") && !it.iter().any(|a| a == "assistant"))
    }
}

/// What is read of a block before its type is known. Not a tagged enum: that would first build a tree of every other member, and a
/// peer can make such a tree fill the memory.
#[derive(Deserialize, Default)]
struct Shown {
    #[serde(rename = "type", default)]
    kind: Option<RawJson>,
    #[serde(default)]
    annotations: Option<RawJson>,
}

impl BlockKind {
    fn from_raw(kind: Option<&str>, raw: &RawJson) -> Self {
        #[derive(Deserialize)]
        struct Text {
            text: String,
        }
        #[derive(Deserialize)]
        struct Embedded {
            resource: EmbeddedResource,
        }
        let known = match kind {
            Some("text") => raw.to::<Text>().map(|it| Self::Text(it.text)),
            Some("image") => raw.to().map(Self::Image),
            Some("audio") => raw.to().map(Self::Audio),
            Some("resource_link") => raw.to().map(Self::Link),
            Some("resource") => raw.to::<Embedded>().map(|it| Self::Embedded(it.resource)),
            Some(_) | None => return Self::Unknown(raw.clone()),
        };
        known.unwrap_or_else(|_| Self::Unknown(raw.clone()))
    }
}

/// Not derived, for the reason that [`Shown`] gives.
impl<'de> Deserialize<'de> for EmbeddedResource {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Wire {
            uri: String,
            #[serde(rename = "mimeType", default)]
            mime: Option<String>,
            #[serde(default)]
            text: Option<String>,
            #[serde(default)]
            blob: Option<String>,
        }
        let Wire { uri, mime, text, blob } = Wire::deserialize(deserializer)?;
        let body = match (text, blob) {
            (Some(text), _) => ResourceBody::Text(text),
            (None, Some(blob)) => ResourceBody::Blob(blob),
            (None, None) => return Err(serde::de::Error::missing_field("text")),
        };
        Ok(Self { uri, mime, body })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn kind(text: &str) -> BlockKind {
        ContentBlock::from_raw(&RawJson::parse(text).unwrap()).kind
    }

    #[test]
    fn members_that_nobody_knows_are_not_read() {
        // Trees of these would be thirty times as large as their text.
        let many = format!("[1{}]", ",1".repeat(1_000));
        let text = kind(&format!(r#"{{"x":{many},"type":"text","text":"t"}}"#));
        assert_eq!(text, BlockKind::Text("t".to_owned()));
        let embedded =
            kind(&format!(r#"{{"type":"resource","resource":{{"x":{many},"uri":"a:b","blob":"AA=="}}}}"#));
        let body = ResourceBody::Blob("AA==".to_owned());
        assert_eq!(
            embedded,
            BlockKind::Embedded(EmbeddedResource { uri: "a:b".to_owned(), mime: None, body })
        );
    }

    #[test]
    fn a_block_that_is_not_one_is_kept_raw() {
        for text in [
            "1",
            "{}",
            r#"{"type":1,"text":"t"}"#,
            r#"{"type":"text"}"#,
            r#"{"type":"resource","resource":{"uri":"a:b"}}"#,
            r#"{"type":"other"}"#,
        ] {
            assert_eq!(kind(text), BlockKind::Unknown(RawJson::parse(text).unwrap()), "{text}");
        }
        // A hint that cannot be read costs the hint only.
        let raw = RawJson::parse(r#"{"type":"text","text":"t","annotations":{"priority":"high"}}"#).unwrap();
        assert_eq!(ContentBlock::from_raw(&raw), ContentBlock::text("t"));
    }
}
