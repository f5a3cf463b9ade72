//! The OpenAI Chat format: how a turn is written. `openai_stream` reads the answer.
//!
//! Tool messages carry text only, because providers ignore or refuse pictures there; pictures follow in one user message
//! after the last tool message. Deliberately absent: base64 as text, and any text that is neither sourced nor in [`HostText`].

use std::sync::Arc;

use http::{HeaderMap, HeaderValue, header};
use url::Url;
use usher_protocol::{RawJson, common::ResourceLink};

use super::{
    BodyWriter, BroughtMessage, CallIds, CallPart, Door, EncodeError, Encoded, Endpoint, HostText, Message,
    MessagePart, Mime, ModelItem, ModelSpec, ModelToolResult, OfferedTool, Origin, Source, SourcedItem,
    StreamDecoder, SystemText, ToolChoice, ToolPart, Turn, UserMessage, Wire,
    host_text::{MediaKind, NotSent},
    openai_stream::ChatDecoder,
    turn::{AnsweredCall, Arguments},
};

/// The largest picture that is sent, in bytes of base64; providers refuse more than about 20 MB.
pub const MAX_IMAGE_BASE64: usize = 20 * 1024 * 1024;

/// The OpenAI Chat format, which local servers speak too.
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenAiChat;

impl Wire for OpenAiChat {
    fn encode(&self, turn: &Turn, model: &ModelSpec) -> Result<Encoded, EncodeError> {
        let url = endpoint_url(&model.endpoint, "chat/completions")?;
        let headers = headers(&model.endpoint)?;
        let mut writer = BodyWriter::default();
        write_body(&mut writer, turn, model);
        let (body, spans) = writer.finish();
        let tools = turn.tools.iter().map(|it| it.wire_name.clone()).collect();
        Ok(Encoded::new(url, headers, body, spans, tools))
    }

    fn decoder(&self, ids: CallIds) -> Box<dyn StreamDecoder> {
        Box::new(ChatDecoder::new(ids))
    }
}

/// The address of a resource of an endpoint, whether or not its base ends in a slash.
pub(super) fn endpoint_url(endpoint: &Endpoint, path: &str) -> Result<Url, EncodeError> {
    let bad = |url: &str| EncodeError::BadAddress { url: url.to_owned() };
    match endpoint {
        Endpoint::Demo => Url::parse("demo:usher").map_err(|_| bad("demo:usher")),
        Endpoint::Http { base_url, .. } => {
            let mut url = base_url.clone();
            if !matches!(url.scheme(), "http" | "https") {
                return Err(bad(base_url.as_str()));
            }
            url.path_segments_mut()
                .map_err(|()| bad(base_url.as_str()))?
                .pop_if_empty()
                .extend(path.split('/'));
            Ok(url)
        }
    }
}

/// The headers of a request. The key is marked sensitive, so that it is neither recorded nor printed.
pub(super) fn headers(endpoint: &Endpoint) -> Result<HeaderMap, EncodeError> {
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
    headers
        .insert(header::USER_AGENT, HeaderValue::from_static(concat!("usher/", env!("CARGO_PKG_VERSION"))));
    match endpoint {
        Endpoint::Http { key: Some(key), .. } => {
            let mut value =
                HeaderValue::try_from(format!("Bearer {}", key.expose())).map_err(|_| EncodeError::BadKey)?;
            value.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, value);
        }
        Endpoint::Http { key: None, .. } | Endpoint::Demo => {}
    }
    Ok(headers)
}

fn write_body(w: &mut BodyWriter, turn: &Turn, model: &ModelSpec) {
    w.envelope("{\"model\":");
    w.string(&Source::Envelope, &model.name);
    w.envelope(",\"stream\":true,\"stream_options\":{\"include_usage\":true}");
    if let Some(limit) = model.max_output_tokens {
        w.envelope(&format!(",\"max_tokens\":{limit}"));
    }
    w.envelope(",\"messages\":[");
    let mut first = true;
    if !turn.system.is_empty() {
        write_system(w, &turn.system);
        first = false;
    }
    for message in &turn.messages {
        if !std::mem::take(&mut first) {
            w.envelope(",");
        }
        match message {
            Message::User(it) => write_user(w, it),
            Message::Brought(it) => write_brought(w, it, model),
            Message::Assistant { item_id, text, calls } => write_assistant(w, item_id, text, calls, model),
        }
    }
    w.envelope("]");
    write_tools(w, &turn.tools, turn.tool_choice);
    w.envelope("}");
}

fn write_system(w: &mut BodyWriter, parts: &[SystemText]) {
    w.envelope("{\"role\":\"system\",\"content\":\"");
    for (index, part) in parts.iter().enumerate() {
        match part {
            SystemText::Host(text) => w.host(text),
            SystemText::Instructions(text) => {
                if index > 0 {
                    w.host(&HostText::ItemSeparator);
                }
                w.escaped(&Source::Instructions, text);
            }
        }
    }
    w.envelope("\"}");
}

fn write_tools(w: &mut BodyWriter, tools: &[OfferedTool], choice: ToolChoice) {
    // An empty list is refused by some providers, and so is a choice without a list.
    if tools.is_empty() {
        return;
    }
    w.envelope(",\"tools\":[");
    for (index, tool) in tools.iter().enumerate() {
        let source = |part| {
            if tool.by_host && part == ToolPart::Name {
                Source::Host(HostText::RunScriptName)
            } else if tool.by_host && part == ToolPart::Schema {
                Source::Host(HostText::RunScriptSchema)
            } else {
                Source::Tool { wire_name: tool.wire_name.clone(), part }
            }
        };
        w.envelope(if index > 0 {
            ",{\"type\":\"function\",\"function\":{\"name\":"
        } else {
            "{\"type\":\"function\",\"function\":{\"name\":"
        });
        w.string(&source(ToolPart::Name), &tool.wire_name);
        if let Some(description) = &tool.description {
            w.envelope(",\"description\":\"");
            if tool.by_host {
                w.host(&HostText::RunScriptDescription);
            }
            if tool.of_view {
                w.host(&HostText::ViewTool);
            }
            w.escaped(&source(ToolPart::Description), description);
            w.envelope("\"");
        }
        w.envelope(",\"parameters\":");
        w.raw(&source(ToolPart::Schema), tool.schema.get());
        w.envelope(",\"strict\":false}}");
    }
    w.envelope(match choice {
        ToolChoice::Auto => "],\"parallel_tool_calls\":true,\"tool_choice\":\"auto\"",
        ToolChoice::Required => "],\"parallel_tool_calls\":true,\"tool_choice\":\"required\"",
        ToolChoice::Forbidden => "],\"tool_choice\":\"none\"",
    });
}

fn write_user(w: &mut BodyWriter, message: &UserMessage) {
    let (item_id, door) = (message.item_id.clone(), message.door.clone());
    w.envelope("{\"role\":\"user\",\"content\":\"");
    if let Some(header) = header_of(&door) {
        w.host(&header);
    }
    w.escaped(&Source::User { item_id, door, part: MessagePart::Words }, &message.text);
    w.envelope("\"}");
}

/// What is said before the words of others that stand in a message of the user, so that they are not taken for the user's.
fn header_of(door: &Door) -> Option<HostText> {
    match door {
        Door::ViewMessage { .. } | Door::ViewContext { .. } => Some(HostText::ViewSays),
        Door::Resource { .. } => Some(HostText::AttachedResource),
        Door::Typed | Door::ShownToModel { .. } | Door::Prompt { .. } => None,
    }
}

/// What a server or a View wrote and the user let in, in the role that it was given. Models take no pictures from themselves.
fn write_brought(w: &mut BodyWriter, message: &BroughtMessage, model: &ModelSpec) {
    let source = |part| Source::User { item_id: message.item_id().clone(), door: message.door.clone(), part };
    let (source, of_picture) = (source(MessagePart::Words), source(MessagePart::Picture));
    let header = header_of(&message.door);
    let items = &message.content.items;
    if message.by_assistant {
        let blind = ModelSpec { takes_images: false, ..model.clone() };
        w.envelope("{\"role\":\"assistant\",\"content\":\"");
        write_items(w, &source, header.as_ref(), items, &blind);
        w.envelope("\"}");
        return;
    }
    w.envelope("{\"role\":\"user\",\"content\":");
    let shown = |item: &SourcedItem| item.keep.is_none() && picture_of(item, model).is_some();
    if !items.iter().any(shown) {
        w.envelope("\"");
        write_items(w, &source, header.as_ref(), items, model);
        w.envelope("\"}");
        return;
    }
    let mut first = true;
    // Words and pictures in the order in which they were written.
    for run in items.chunk_by(|a, b| !shown(a) && !shown(b)) {
        w.envelope(if first { "[" } else { "," });
        match run {
            [one] if shown(one) => {
                if first && let Some(header) = &header {
                    w.envelope("{\"type\":\"text\",\"text\":\"");
                    w.host(header);
                    w.envelope("\"},");
                }
                if let Some((mime, b64)) = picture_of(one, model) {
                    write_picture(w, &of_picture, mime, b64);
                }
            }
            words => {
                w.envelope("{\"type\":\"text\",\"text\":\"");
                write_items(w, &source, header.as_ref().filter(|_| first), words, model);
                w.envelope("\"}");
            }
        }
        first = false;
    }
    w.envelope("]}");
}

fn write_items(
    w: &mut BodyWriter,
    source: &Source,
    header: Option<&HostText>,
    items: &[SourcedItem],
    model: &ModelSpec,
) {
    if let Some(header) = header {
        w.host(header);
    }
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            w.host(&HostText::ItemSeparator);
        }
        write_item(w, |_| source.clone(), item, model);
    }
}

fn picture_of<'a>(item: &'a SourcedItem, model: &ModelSpec) -> Option<(&'a str, &'a str)> {
    picture(&item.content.as_ref().ok()?.0, model)
}

fn write_assistant(
    w: &mut BodyWriter,
    item_id: &Arc<str>,
    text: &str,
    calls: &[AnsweredCall],
    model: &ModelSpec,
) {
    w.envelope("{\"role\":\"assistant\",\"content\":");
    if text.is_empty() {
        w.envelope("null");
    } else {
        w.string(&Source::Assistant { item_id: item_id.clone() }, text);
    }
    for (index, AnsweredCall { call, .. }) in calls.iter().enumerate() {
        let source = |part| Source::Call { call_id: call.id.clone(), part };
        w.envelope(if index == 0 { ",\"tool_calls\":[{\"id\":" } else { ",{\"id\":" });
        w.string(&source(CallPart::Id), &call.id);
        w.envelope(",\"type\":\"function\",\"function\":{\"name\":");
        w.string(&source(CallPart::Name), &call.wire_name);
        w.envelope(",\"arguments\":\"");
        match &call.arguments {
            Arguments::Object(json) => w.escaped(&source(CallPart::Arguments), json.get()),
            // Several servers parse the arguments of earlier calls and refuse the whole request when they are not JSON.
            Arguments::Malformed(_) | Arguments::Cut(_) => w.host(&HostText::NoArguments),
        }
        w.envelope("\"}}");
    }
    w.envelope(if calls.is_empty() { "}" } else { "]}" });
    for AnsweredCall { result, .. } in calls {
        write_result(w, result, model);
    }
    write_images(w, calls, model);
}

fn write_result(w: &mut BodyWriter, result: &ModelToolResult, model: &ModelSpec) {
    w.envelope(",{\"role\":\"tool\",\"tool_call_id\":");
    w.string(&Source::Call { call_id: result.call_id.clone(), part: CallPart::Id }, &result.call_id);
    w.envelope(",\"content\":\"");
    let speaks_for_itself = matches!(result.items.first(), Some(SourcedItem { content: Err(_), .. }));
    if result.is_error && !speaks_for_itself {
        w.host(&HostText::ErrorPrefix);
    }
    for (index, item) in result.items.iter().enumerate() {
        // A list that a host text introduces stands directly after it.
        if index > 0 && !matches!(result.items[index - 1].content, Err(HostText::InvalidArguments)) {
            w.host(&HostText::ItemSeparator);
        }
        write_item(w, |origin| SourcedItem::source(&result.call_id, origin), item, model);
    }
    w.envelope("\"}");
}

fn write_item(
    w: &mut BodyWriter,
    source_of: impl Fn(&Origin) -> Source,
    item: &SourcedItem,
    model: &ModelSpec,
) {
    let (content, origin) = match &item.content {
        Ok(it) => (&it.0, &it.1),
        Err(host) => return w.host(host),
    };
    let source = source_of(origin);
    let text = |w: &mut BodyWriter, text: &str| {
        let (kept, notice) = item.kept(text);
        w.escaped(&source, kept);
        if let Some(notice) = notice {
            w.host(&notice);
        }
    };
    match content {
        ModelItem::Text(it) => text(w, it),
        ModelItem::Json(it) => text(w, it.get()),
        ModelItem::Link(it) => w.escaped(&source, &link_json(it)),
        ModelItem::EmbeddedText { uri, mime, text: body } => {
            w.host(&HostText::ResourceHeader);
            w.escaped(&source, uri);
            if let Some(mime) = mime {
                w.host(&HostText::ResourceType);
                w.escaped(&source, mime);
            }
            w.host(&HostText::ResourceBody);
            text(w, body);
        }
        ModelItem::Unknown { bytes } => w.host(&HostText::UnknownBlock { bytes: *bytes }),
        ModelItem::Image { .. } | ModelItem::Audio { .. } | ModelItem::EmbeddedBlob { .. } => {
            w.host(&stand_in(content, item.keep, model));
        }
    }
}

/// What stands in the tool message for media.
fn stand_in(item: &ModelItem, keep: Option<usize>, model: &ModelSpec) -> HostText {
    let (kind, mime, b64) = match item {
        ModelItem::Image { mime, b64 } => (MediaKind::Image, Some(&**mime), b64),
        ModelItem::Audio { mime, b64 } => (MediaKind::Audio, Some(&**mime), b64),
        ModelItem::EmbeddedBlob { mime, b64, .. } => (MediaKind::Resource, mime.as_deref(), b64),
        ModelItem::Text(_)
        | ModelItem::Json(_)
        | ModelItem::Link(_)
        | ModelItem::EmbeddedText { .. }
        | ModelItem::Unknown { .. } => return HostText::UnknownBlock { bytes: 0 },
    };
    if keep.is_some() {
        return HostText::MediaCut {
            kind,
            mime: Mime::of(mime.unwrap_or_default()),
            bytes: decoded_len(b64),
        };
    }
    not_sent(kind, mime, b64, model).unwrap_or(HostText::ImageFollows)
}

/// The placeholder for media that cannot be sent; none when it can.
fn not_sent(kind: MediaKind, mime: Option<&str>, b64: &str, model: &ModelSpec) -> Option<HostText> {
    let mime = Mime::of(mime.unwrap_or_default());
    let is_picture = mime.as_str().starts_with("image/");
    let why = if kind == MediaKind::Audio || !is_picture || !model.takes_images {
        NotSent::NotTaken
    } else if !matches!(mime.as_str(), "image/png" | "image/jpeg" | "image/gif" | "image/webp") {
        NotSent::TypeNotTaken
    } else if b64.len() > MAX_IMAGE_BASE64 {
        NotSent::TooLarge
    } else if !is_base64(b64) {
        NotSent::NotBase64
    } else {
        return None;
    };
    Some(HostText::MediaNotSent { kind, mime, bytes: decoded_len(b64), why })
}

/// One user message with the pictures of all results of an assistant message, each group headed by its call's id.
fn write_images(w: &mut BodyWriter, calls: &[AnsweredCall], model: &ModelSpec) {
    let mut open = false;
    for AnsweredCall { result, .. } in calls {
        let mut headed = false;
        for item in result.items.iter().filter(|it| it.keep.is_none()) {
            let Ok((content, origin)) = &item.content else { continue };
            let Some((mime, b64)) = picture(content, model) else { continue };
            if !headed {
                w.envelope(if open {
                    ",{\"type\":\"text\",\"text\":\""
                } else {
                    ",{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\""
                });
                w.host(&HostText::ImageHeader);
                w.escaped(
                    &Source::Call { call_id: result.call_id.clone(), part: CallPart::Id },
                    &result.call_id,
                );
                w.envelope("\"}");
                (headed, open) = (true, true);
            }
            w.envelope(",");
            write_picture(w, &SourcedItem::source(&result.call_id, origin), mime, b64);
        }
    }
    if open {
        w.envelope("]}");
    }
}

/// The type and data of an item that is sent as a picture.
pub(super) fn picture<'a>(item: &'a ModelItem, model: &ModelSpec) -> Option<(&'a str, &'a str)> {
    let (kind, mime, b64) = match item {
        ModelItem::Image { mime, b64 } => (MediaKind::Image, &**mime, &**b64),
        ModelItem::EmbeddedBlob { mime: Some(mime), b64, .. } => (MediaKind::Resource, &**mime, &**b64),
        ModelItem::EmbeddedBlob { mime: None, .. }
        | ModelItem::Audio { .. }
        | ModelItem::Text(_)
        | ModelItem::Json(_)
        | ModelItem::Link(_)
        | ModelItem::EmbeddedText { .. }
        | ModelItem::Unknown { .. } => return None,
    };
    not_sent(kind, Some(mime), b64, model).is_none().then_some((mime, b64))
}

fn write_picture(w: &mut BodyWriter, source: &Source, mime: &str, b64: &str) {
    w.envelope("{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:");
    w.escaped(source, Mime::of(mime).as_str());
    w.envelope(";base64,");
    w.escaped(source, b64);
    w.envelope("\"}}");
}

/// A link as one line of JSON.
fn link_json(link: &ResourceLink) -> String {
    #[derive(serde::Serialize)]
    struct Wire<'a> {
        r#type: &'static str,
        #[serde(flatten)]
        link: &'a ResourceLink,
    }
    RawJson::of(&Wire { r#type: "resource_link", link }).map(|it| it.get().to_owned()).unwrap_or_default()
}

/// Whether this is base64 with padding, as the specification of content blocks asks.
fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    text.len().is_multiple_of(4)
        && text.len() - body.len() <= 2
        && !body.is_empty()
        && body.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'+' || it == b'/')
}

fn decoded_len(b64: &str) -> usize {
    b64.trim_end_matches('=').len() * 3 / 4
}
