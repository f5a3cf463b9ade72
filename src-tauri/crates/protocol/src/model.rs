//! The revision-free types: a tool and what it can give, a call and what came back.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{RawJson, UI_EXTENSION, common::ContentBlock};

/// The consumer that an output was made for (SEP-3279, "Result audience").
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Audience {
    /// The model.
    Assistant,
    /// The person at the window.
    User,
    /// Program logic that the client controls, such as a script.
    Programmatic,
    /// The audience of an extension, by its identifier. Whether it was negotiated is decided elsewhere (rule H01).
    Extension(String),
}

impl Audience {
    /// The audience of the MCP Apps extension.
    pub fn ui() -> Self {
        Self::Extension(UI_EXTENSION.to_owned())
    }

    /// Its name on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Assistant => "assistant",
            Self::User => "user",
            Self::Programmatic => "programmatic",
            Self::Extension(id) => id,
        }
    }
}

impl From<String> for Audience {
    fn from(text: String) -> Self {
        match text.as_str() {
            "assistant" => Self::Assistant,
            "user" => Self::User,
            "programmatic" => Self::Programmatic,
            _ => Self::Extension(text),
        }
    }
}

impl From<Audience> for String {
    fn from(audience: Audience) -> Self {
        audience.as_str().to_owned()
    }
}

impl fmt::Display for Audience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How an output's payload is encoded (SEP-3279, "Result format").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// An array of content blocks.
    Content,
    /// One JSON value.
    Structured,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Content => "content",
            Self::Structured => "structured",
        })
    }
}

/// An audience and a format: what names a variant in declarations, requests and results.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Selector {
    /// Who it is for.
    pub audience: Audience,
    /// How it is encoded.
    pub format: Format,
}

impl Selector {
    /// The fallback that every tool declares (rule H07).
    pub const ASSISTANT_CONTENT: Self = Self { audience: Audience::Assistant, format: Format::Content };
    /// Structured data for the model.
    pub const ASSISTANT_STRUCTURED: Self = Self { audience: Audience::Assistant, format: Format::Structured };
    /// Content blocks for the user.
    pub const USER_CONTENT: Self = Self { audience: Audience::User, format: Format::Content };
    /// Structured data for the user.
    pub const USER_STRUCTURED: Self = Self { audience: Audience::User, format: Format::Structured };
    /// Structured data for program logic.
    pub const PROGRAMMATIC: Self = Self { audience: Audience::Programmatic, format: Format::Structured };

    /// Structured data for an App View.
    pub fn ui() -> Self {
        Self { audience: Audience::ui(), format: Format::Structured }
    }

    /// Whether the pair is one of the core pairs or may be defined by an extension (rule H03).
    pub fn is_permitted(&self) -> bool {
        match (&self.audience, self.format) {
            (Audience::Programmatic, Format::Content) => false,
            // The MCP Apps extension permits structured only (X2).
            (Audience::Extension(id), Format::Content) => id != UI_EXTENSION,
            (Audience::Assistant | Audience::User | Audience::Programmatic | Audience::Extension(_), _) => {
                true
            }
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.audience, self.format)
    }
}

impl FromStr for Selector {
    type Err = String;

    /// Reads `audience/format`; an extension's identifier may itself hold slashes.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (audience, format) =
            text.rsplit_once('/').ok_or_else(|| format!("{text:?} is not audience/format"))?;
        let format = match format {
            "content" => Format::Content,
            "structured" => Format::Structured,
            _ => return Err(format!("{format:?} is neither content nor structured")),
        };
        Ok(Self { audience: audience.to_owned().into(), format })
    }
}

/// One representation that a tool can give of its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputVariant {
    /// What names it.
    pub selector: Selector,
    /// The JSON Schema of a structured payload, if the tool declares one.
    pub schema: Option<RawJson>,
}

/// What a tool promises about its results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contract {
    /// It declares variants for audiences (2026-12-01 and later).
    Variants(Vec<OutputVariant>),
    /// It has the shape of an earlier revision: `content`, and `structuredContent` that may have a schema.
    Legacy {
        /// `outputSchema`.
        output_schema: Option<RawJson>,
    },
}

/// A tool, whatever the revision that it was listed under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// The name that calls use.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
    /// What it does, in the server's words. Untrusted.
    pub description: Option<String>,
    /// The JSON Schema of its arguments, as it came.
    pub input_schema: RawJson,
    /// What it promises about results.
    pub contract: Contract,
    /// The server's hints about its effects. Untrusted.
    pub annotations: ToolAnnotations,
    /// Its link to an App View, if any.
    pub ui: Option<UiLink>,
    /// The whole declaration as it came.
    pub raw: RawJson,
}

impl Tool {
    /// Whether the model and scripts may know the tool (rule H30).
    pub fn is_visible_to_model(&self) -> bool {
        self.ui.as_ref().is_none_or(|it| it.visible_to_model)
    }

    /// Whether a View of the same server may call the tool.
    pub fn is_visible_to_view(&self) -> bool {
        self.ui.as_ref().is_none_or(|it| it.visible_to_app)
    }

    /// The variant that a selector names, if the tool declares it.
    pub fn variant(&self, selector: &Selector) -> Option<&OutputVariant> {
        match &self.contract {
            Contract::Variants(variants) => variants.iter().find(|it| it.selector == *selector),
            Contract::Legacy { .. } => None,
        }
    }
}

/// Hints of a server about a tool's effects; never a promise (2025-11-25 server/tools, "annotations").
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolAnnotations {
    /// A name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// It does not change anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// It may destroy something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// A second equal call changes nothing more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// It reaches beyond the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

/// A tool's link to an App View (MCP Apps 2026-01-26, `_meta.ui`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UiLink {
    /// The `ui://` resource that holds the View's HTML; absent on a tool that only a View calls.
    pub resource_uri: Option<String>,
    /// `visibility` names `model` (the default).
    pub visible_to_model: bool,
    /// `visibility` names `app` (the default).
    pub visible_to_app: bool,
}

/// What came back from a call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallOutcome {
    /// The tool ran and the operation failed.
    pub is_error: bool,
    /// The payloads.
    pub body: OutcomeBody,
    /// Result-level `_meta`, which has no audience (rule H26).
    pub meta: Option<RawJson>,
    /// The whole result as it came.
    pub raw: RawJson,
}

/// The payloads of a result, in the shape of the revision that was asked.
#[derive(Debug, Clone, PartialEq)]
pub enum OutcomeBody {
    /// Outputs for audiences.
    Outputs {
        /// The outputs that could be read, in the order in which they came.
        parts: Vec<OutputPart>,
        /// Those that could not.
        unreadable: Vec<UnreadablePart>,
    },
    /// The shape of earlier revisions.
    Legacy {
        /// `content`.
        content: Vec<ContentBlock>,
        /// `structuredContent`, any JSON value.
        structured: Option<RawJson>,
    },
}

/// One output of a result.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputPart {
    /// Its audience and format, as the server wrote them.
    pub selector: Selector,
    /// What it holds.
    pub payload: Payload,
    /// The size of the whole output on the wire, in bytes.
    pub bytes: usize,
}

/// What an output holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Payload {
    /// Content blocks.
    Content(Vec<ContentBlock>),
    /// One JSON value.
    Structured(RawJson),
}

/// An output that does not have the shape of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadablePart {
    /// Its place in `outputs`.
    pub index: usize,
    /// It, as it came.
    pub raw: RawJson,
    /// What is wrong with it.
    pub why: String,
}
