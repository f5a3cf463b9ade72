//! What a model may read of a tool's result.
//!
//! [`ModelToolResult`] is the only type from which an encoder writes a result. Deliberately absent, because they have no
//! representation here: user, programmatic and View outputs, result `_meta` and block annotations (rules H22, H23, H26, H28).

use std::sync::Arc;

use usher_protocol::{
    RawJson,
    common::{BlockKind, ContentBlock, ResourceBody, ResourceLink},
    model::{Audience, Format, OutputPart, Payload, Selector},
};

use super::{HostText, Origin, Source, budget::floor_boundary};

/// One thing that a model may read.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelItem {
    /// Text.
    Text(Arc<str>),
    /// One JSON value, kept as text.
    Json(RawJson),
    /// A picture, base64.
    Image {
        /// As declared.
        mime: Arc<str>,
        /// Its bytes.
        b64: Arc<str>,
    },
    /// A sound, base64.
    Audio {
        /// As declared.
        mime: Arc<str>,
        /// Its bytes.
        b64: Arc<str>,
    },
    /// A link to a resource. It is never fetched.
    Link(Box<ResourceLink>),
    /// The text of an embedded resource.
    EmbeddedText {
        /// Its address.
        uri: Arc<str>,
        /// Its type.
        mime: Option<Arc<str>>,
        /// Its text.
        text: Arc<str>,
    },
    /// The bytes of an embedded resource, base64.
    EmbeddedBlob {
        /// Its address.
        uri: Arc<str>,
        /// Its type.
        mime: Option<Arc<str>>,
        /// Its bytes.
        b64: Arc<str>,
    },
    /// A block whose type is unknown; only its size is told.
    Unknown {
        /// Its size in bytes.
        bytes: usize,
    },
}

/// An item, where it comes from, and how much of it is sent.
#[derive(Debug, Clone, PartialEq)]
pub struct SourcedItem {
    /// What it is; `Err` is a text of the host.
    pub(super) content: Result<(ModelItem, Origin), HostText>,
    /// How many bytes of its text are kept; absent when all are. For media any value means that it is left out.
    pub(super) keep: Option<usize>,
}

/// The result of one call, as the model may read it.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelToolResult {
    pub(super) call_id: Arc<str>,
    pub(super) is_error: bool,
    pub(super) items: Vec<SourcedItem>,
}

/// An output that was made for the model, or that local policy gives to it under an earlier revision.
///
/// There is no constructor for any other audience: what is for others cannot be turned into a result.
#[derive(Debug, Clone)]
pub struct AssistantOutput<'a>(Inner<'a>);

#[derive(Debug, Clone)]
enum Inner<'a> {
    Blocks { blocks: Vec<(usize, &'a ContentBlock)>, legacy: bool },
    Structured { json: &'a RawJson, legacy: bool },
}

/// Something that was decided while a result was turned into items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemNote {
    /// A text block repeats the structured output and was left out: a model that reads both pays twice and may take them for two results.
    Deduplicated {
        /// Its place in the content.
        block: usize,
        /// Its size in bytes.
        bytes: usize,
    },
}

impl<'a> AssistantOutput<'a> {
    /// Takes an output whose audience is `assistant` (rule H21); anything else gives none.
    pub fn of(part: &'a OutputPart) -> Option<Self> {
        Self::select(&part.selector, &part.payload)
    }

    /// As [`Self::of`], from a selector and a payload. None as well when the payload has not the selector's format.
    pub fn select(selector: &Selector, payload: &'a Payload) -> Option<Self> {
        if selector.audience != Audience::Assistant {
            return None;
        }
        match (selector.format, payload) {
            (Format::Content, Payload::Content(blocks)) => {
                Some(Self(Inner::Blocks { blocks: blocks.iter().enumerate().collect(), legacy: false }))
            }
            (Format::Structured, Payload::Structured(json)) => {
                Some(Self(Inner::Structured { json, legacy: false }))
            }
            (Format::Content, Payload::Structured(_)) | (Format::Structured, Payload::Content(_)) => None,
        }
    }

    /// Takes blocks of `content` with their places, as the policy for earlier revisions chose them.
    pub fn legacy_blocks(blocks: impl IntoIterator<Item = (usize, &'a ContentBlock)>) -> Self {
        Self(Inner::Blocks { blocks: blocks.into_iter().collect(), legacy: true })
    }

    /// Takes `structuredContent`, where the policy for earlier revisions chose it.
    pub fn legacy_structured(json: &'a RawJson) -> Self {
        Self(Inner::Structured { json, legacy: true })
    }
}

impl ModelToolResult {
    /// Turns assistant outputs into what the model reads. Without anything readable the model is told so.
    pub fn from_outputs(
        call_id: impl Into<Arc<str>>,
        is_error: bool,
        outputs: &[AssistantOutput<'_>],
    ) -> (Self, Vec<ItemNote>) {
        let structured: Vec<(serde_json::Value, Vec<&str>)> = outputs
            .iter()
            .filter_map(|it| match &it.0 {
                Inner::Structured { json, .. } => Some((json.to().ok()?, long_numbers(json.get()))),
                Inner::Blocks { .. } => None,
            })
            .collect();
        let mut items = Vec::new();
        let mut notes = Vec::new();
        for output in outputs {
            match &output.0 {
                Inner::Structured { json, legacy } => {
                    let origin = if *legacy { Origin::LegacyStructured } else { Origin::AssistantStructured };
                    items.push(SourcedItem::new(ModelItem::Json((*json).clone()), origin));
                }
                Inner::Blocks { blocks, legacy } => {
                    for &(block, content) in blocks {
                        if let Some(bytes) = repeats(content, &structured) {
                            notes.push(ItemNote::Deduplicated { block, bytes });
                            continue;
                        }
                        let origin = if *legacy {
                            Origin::LegacyContent { block }
                        } else {
                            Origin::AssistantContent { block }
                        };
                        items.extend(item_of(content).map(|item| SourcedItem::new(item, origin)));
                    }
                }
            }
        }
        if items.is_empty() {
            items.push(SourcedItem::host(HostText::EmptyResult));
        }
        (Self { call_id: call_id.into(), is_error, items }, notes)
    }

    /// A result that only the host speaks in: refused, cancelled, shown to the user and the like.
    pub fn host(call_id: impl Into<Arc<str>>, is_error: bool, text: HostText) -> Self {
        Self { call_id: call_id.into(), is_error, items: vec![SourcedItem::host(text)] }
    }

    /// The result of a call whose arguments do not fit the tool's own schema; `problems` are JSON pointers and what is wrong there.
    pub fn invalid_arguments(call_id: impl Into<Arc<str>>, problems: &[String]) -> Self {
        let list = SourcedItem::new(ModelItem::Text(problems.join("\n").into()), Origin::ArgumentErrors);
        Self {
            call_id: call_id.into(),
            is_error: true,
            items: vec![SourcedItem::host(HostText::InvalidArguments), list],
        }
    }

    /// The result of a call that the server answered with a protocol error.
    pub fn protocol_error(call_id: impl Into<Arc<str>>, message: &str) -> Self {
        let message = SourcedItem::new(ModelItem::Text(message.into()), Origin::ProtocolError);
        Self {
            call_id: call_id.into(),
            is_error: true,
            items: vec![SourcedItem::host(HostText::CallFailed), message],
        }
    }

    /// What a script returned and printed, the only part of its work that reaches the model.
    pub fn script(call_id: impl Into<Arc<str>>, is_error: bool, text: &str) -> Self {
        let item = if text.is_empty() {
            SourcedItem::host(HostText::EmptyResult)
        } else {
            SourcedItem::new(ModelItem::Text(text.into()), Origin::Script)
        };
        Self { call_id: call_id.into(), is_error, items: vec![item] }
    }

    /// What a View answered to a call of its own tool, words before pictures, marked as the View's (X5).
    pub fn of_view(
        call_id: impl Into<Arc<str>>,
        is_error: bool,
        text: &str,
        pictures: &[ContentBlock],
    ) -> Self {
        let words = std::iter::once(ContentBlock::text(text)).filter(|_| !text.is_empty());
        let said = words.chain(pictures.iter().cloned());
        let said = said.filter_map(|it| Some(SourcedItem::new(item_of(&it)?, Origin::View)));
        let mut items: Vec<SourcedItem> = said.collect();
        items.insert(
            0,
            SourcedItem::host(if items.is_empty() { HostText::EmptyResult } else { HostText::ViewSays }),
        );
        Self { call_id: call_id.into(), is_error, items }
    }

    /// What a server wrote and the user let in; `item_id` stands in the place of a call's id. Without anything readable there is none.
    pub(super) fn brought(item_id: Arc<str>, blocks: &[ContentBlock]) -> Option<Self> {
        let item = |(block, it)| Some(SourcedItem::new(item_of(it)?, Origin::Brought { block }));
        let items: Vec<SourcedItem> = blocks.iter().enumerate().filter_map(item).collect();
        (!items.is_empty()).then_some(Self { call_id: item_id, is_error: false, items })
    }

    /// The id of the call that it answers.
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    /// Whether it says that the tool failed.
    pub fn is_error(&self) -> bool {
        self.is_error
    }

    /// Its items, in order, without the host's texts.
    pub fn items(&self) -> impl Iterator<Item = (&ModelItem, &Origin)> {
        self.items.iter().filter_map(|it| it.content.as_ref().ok().map(|(item, origin)| (item, origin)))
    }
}

impl SourcedItem {
    pub(super) fn new(item: ModelItem, origin: Origin) -> Self {
        Self { content: Ok((item, origin)), keep: None }
    }

    pub(super) fn host(text: HostText) -> Self {
        Self { content: Err(text), keep: None }
    }

    /// The kept slice of a text, and the notice that follows it when something was cut.
    pub(super) fn kept<'a>(&self, text: &'a str) -> (&'a str, Option<HostText>) {
        match self.keep {
            Some(keep) if keep < text.len() => {
                let kept = &text[..floor_boundary(text, keep)];
                (kept, Some(HostText::BudgetCut { kept: kept.len(), total: text.len() }))
            }
            _ => (text, None),
        }
    }

    /// Its source inside the result of a call.
    pub(super) fn source(call_id: &Arc<str>, origin: &Origin) -> Source {
        Source::Result { call_id: call_id.clone(), origin: origin.clone() }
    }
}

fn item_of(block: &ContentBlock) -> Option<ModelItem> {
    Some(match &block.kind {
        BlockKind::Text(text) if text.is_empty() => return None,
        BlockKind::Text(text) => ModelItem::Text(text.as_str().into()),
        BlockKind::Image(it) => {
            ModelItem::Image { mime: it.mime.as_str().into(), b64: it.data.as_str().into() }
        }
        BlockKind::Audio(it) => {
            ModelItem::Audio { mime: it.mime.as_str().into(), b64: it.data.as_str().into() }
        }
        BlockKind::Link(it) => ModelItem::Link(Box::new(it.clone())),
        BlockKind::Embedded(it) => {
            let uri = it.uri.as_str().into();
            let mime = it.mime.as_deref().map(Into::into);
            match &it.body {
                ResourceBody::Text(text) => ModelItem::EmbeddedText { uri, mime, text: text.as_str().into() },
                ResourceBody::Blob(b64) => ModelItem::EmbeddedBlob { uri, mime, b64: b64.as_str().into() },
            }
        }
        BlockKind::Unknown(raw) => ModelItem::Unknown { bytes: raw.bytes() },
    })
}

/// The size of a text block that holds the same JSON value as a structured output that is sent too.
fn repeats(block: &ContentBlock, structured: &[(serde_json::Value, Vec<&str>)]) -> Option<usize> {
    let BlockKind::Text(text) = &block.kind else { return None };
    if structured.is_empty() || !text.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    let numbers = long_numbers(text);
    structured.iter().any(|(json, exact)| *json == value && *exact == numbers).then_some(text.len())
}

/// The runs of digits that a double may not hold, sorted; two such numbers can differ although they are equal once parsed.
fn long_numbers(json: &str) -> Vec<&str> {
    let mut runs: Vec<&str> = json.split(|c: char| !c.is_ascii_digit()).filter(|it| it.len() > 15).collect();
    runs.sort_unstable();
    runs
}
