//! Between the revision-free types and the wire: the only place that branches on a revision's shapes.
//!
//! What a peer wrote wrong is not an error here: the readable rest is returned, with a [`WireDiagnostic`] for each defect.

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use crate::{
    RawJson, Revision, Rule,
    bounded::Bounded,
    common::ContentBlock,
    model::{
        CallOutcome, Contract, Format, OutcomeBody, OutputPart, OutputVariant, Payload, Selector, Tool,
        ToolAnnotations, UiLink, UnreadablePart,
    },
    v2025, v2026_07, v2026_12,
};

/// A defect of what a peer wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireDiagnostic {
    /// The rule that it breaks, if a numbered one.
    pub rule: Option<Rule>,
    /// Where: a JSON pointer into the result.
    pub pointer: String,
    /// What is wrong.
    pub message: String,
    /// The tool whose declaration it is about, if one.
    pub tool: Option<String>,
}

/// A result that cannot be read at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The result does not have the shape that the method's result has.
    #[error("the server's answer does not have the shape of {what}: {why}")]
    Shape {
        /// The name of the type in the specification.
        what: &'static str,
        /// What is wrong.
        why: String,
    },
    /// The result has a `resultType` that the host did not offer to understand (2026-07-28 basic/patterns/mrtr).
    #[error("the server answered with resultType {0:?}, which was not offered")]
    ResultType(String),
}

/// A page of `tools/list`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolPage {
    /// The tools that could be read.
    pub tools: Vec<Tool>,
    /// Those that could not be used, and why. They never cost the others.
    pub rejected: Vec<RejectedTool>,
    /// Where the next page starts.
    pub next_cursor: Option<String>,
}

/// A declaration that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedTool {
    /// Its name, if it has one.
    pub name: String,
    /// The rule that it breaks, if a numbered one.
    pub rule: Option<Rule>,
    /// What is wrong.
    pub why: String,
    /// It, as it came.
    pub raw: RawJson,
}

/// A call, before it has the shape of a revision.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRequest {
    /// The tool's name.
    pub name: String,
    /// Its arguments, an object.
    pub arguments: RawJson,
    /// The outputs to ask for; `None` asks for none and accepts the fallback.
    pub requested: Option<Vec<Selector>>,
}

/// The most tools of a page that are read.
const MOST_TOOLS: usize = 10_000;

/// The most entries of a tool's `visibility` that are read; two are defined.
const MOST_VISIBLE: usize = 100;

/// Reads the result of `tools/list`.
///
/// # Errors
/// The result is not a list of tools, or is of a kind that was not offered.
pub fn decode_tools(
    revision: Revision,
    result: &RawJson,
) -> Result<(ToolPage, Vec<WireDiagnostic>), DecodeError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Wire {
        tools: Bounded<RawJson, MOST_TOOLS>,
        #[serde(default)]
        next_cursor: Option<String>,
    }
    require_complete(revision, result)?;
    let wire: Wire = result.to().map_err(|error| shape("ListToolsResult", &error))?;
    let mut page = ToolPage { next_cursor: wire.next_cursor, ..ToolPage::default() };
    let mut diagnostics = Vec::new();
    tell_left_out(wire.tools.left_out, "/tools", None, &mut diagnostics);
    for (index, raw) in wire.tools.items.iter().enumerate() {
        let pointer = format!("/tools/{index}");
        let before = diagnostics.len();
        let name = match decode_tool(revision, raw, &pointer, &mut diagnostics) {
            Ok(tool) => {
                page.tools.push(tool);
                page.tools.last().map(|it| it.name.clone())
            }
            Err(rejected) => {
                page.rejected.push(rejected);
                page.rejected.last().map(|it| it.name.clone())
            }
        };
        for diagnostic in &mut diagnostics[before..] {
            diagnostic.tool.clone_from(&name);
        }
    }
    Ok((page, diagnostics))
}

/// What a list had beyond what is read is not passed over in silence.
fn tell_left_out(count: usize, pointer: &str, rule: Option<Rule>, diagnostics: &mut Vec<WireDiagnostic>) {
    if count > 0 {
        let message = format!("the list is too long; its last {count} items were not read");
        diagnostics.push(WireDiagnostic { rule, pointer: pointer.to_owned(), message, tool: None });
    }
}

fn decode_tool(
    revision: Revision,
    raw: &RawJson,
    pointer: &str,
    diagnostics: &mut Vec<WireDiagnostic>,
) -> Result<Tool, RejectedTool> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Wire<'t> {
        name: String,
        #[serde(default)]
        title: Option<String>,
        #[serde(default)]
        description: Option<String>,
        #[serde(default)]
        input_schema: Option<RawJson>,
        #[serde(default)]
        output_schema: Option<RawJson>,
        #[serde(borrow, default)]
        output_variants: Option<&'t RawValue>,
        #[serde(borrow, default)]
        annotations: Option<&'t RawValue>,
        #[serde(borrow, rename = "_meta", default)]
        meta: Option<&'t RawValue>,
    }
    let reject =
        |name: &str, rule, why: String| RejectedTool { name: name.to_owned(), rule, why, raw: raw.clone() };
    let wire: Wire<'_> = raw.view().map_err(|error| reject("", None, error.to_string()))?;
    let input_schema = match wire.input_schema {
        Some(schema) if schema.is_object() => schema,
        Some(_) | None => {
            diagnostics.push(WireDiagnostic {
                rule: None,
                pointer: format!("{pointer}/inputSchema"),
                message: format!(
                    "{} has no object as inputSchema; it is called without arguments",
                    wire.name
                ),
                tool: None,
            });
            json!({"type": "object"}).into()
        }
    };
    let contract = if revision.has_output_variants() {
        let Some(variants) = wire.output_variants else {
            let why = format!("{} declares no outputVariants under {revision}", wire.name);
            return Err(reject(&wire.name, Some(Rule::H09), why));
        };
        let variants: v2026_12::Variants = serde_json::from_str(variants.get())
            .map_err(|error| reject(&wire.name, None, format!("outputVariants: {error}")))?;
        Contract::Variants(decode_variants(&variants, &format!("{pointer}/outputVariants"), diagnostics))
    } else {
        // `outputVariants` seen here is not a signal (rule H31), so it is not read.
        Contract::Legacy { output_schema: wire.output_schema }
    };
    let annotations: ToolAnnotations =
        wire.annotations.and_then(|it| serde_json::from_str(it.get()).ok()).unwrap_or_default();
    Ok(Tool {
        ui: decode_ui_link(wire.meta, pointer, diagnostics),
        title: wire.title.or_else(|| annotations.title.clone()),
        name: wire.name,
        description: wire.description,
        input_schema,
        contract,
        annotations,
        raw: raw.clone(),
    })
}

fn decode_variants(
    variants: &v2026_12::Variants,
    pointer: &str,
    diagnostics: &mut Vec<WireDiagnostic>,
) -> Vec<OutputVariant> {
    let mut known = Vec::new();
    tell_left_out(variants.left_out, pointer, Some(Rule::H03), diagnostics);
    for (index, raw) in variants.items.iter().enumerate() {
        match raw.to::<v2026_12::ToolResultVariant>() {
            Ok(wire) => known.push(OutputVariant {
                selector: Selector { audience: wire.audience, format: wire.format },
                schema: wire.schema.filter(|it| it.get() != "null"),
            }),
            Err(error) => diagnostics.push(WireDiagnostic {
                rule: Some(Rule::H03),
                pointer: format!("{pointer}/{index}"),
                message: format!("not a result variant: {error}"),
                tool: None,
            }),
        }
    }
    known
}

/// Reads `_meta.ui`, or the flat form that it replaced; nested wins (MCP Apps 2026-01-26).
fn decode_ui_link(
    meta: Option<&RawValue>,
    pointer: &str,
    diagnostics: &mut Vec<WireDiagnostic>,
) -> Option<UiLink> {
    // Only what is needed is read, each part by itself: one that is wrong does not cost the other.
    #[derive(Deserialize)]
    struct Meta<'t> {
        #[serde(borrow, default)]
        ui: Option<&'t RawValue>,
        #[serde(borrow, rename = "ui/resourceUri", default)]
        flat: Option<&'t RawValue>,
    }
    #[derive(Deserialize, Default)]
    #[serde(rename_all = "camelCase")]
    struct Nested<'t> {
        #[serde(borrow, default)]
        resource_uri: Option<&'t RawValue>,
        #[serde(borrow, default)]
        visibility: Option<&'t RawValue>,
    }
    fn read<'t, T: Deserialize<'t>>(raw: &'t RawValue) -> Option<T> {
        serde_json::from_str(raw.get()).ok()
    }
    let meta: Meta<'_> = read(meta?)?;
    let nested: Nested<'_> = meta.ui.and_then(read).unwrap_or_default();
    let uri: Option<String> = nested.resource_uri.or(meta.flat).and_then(read);
    let uri = uri.as_deref();
    let visibility: Option<Bounded<&RawValue, MOST_VISIBLE>> = nested.visibility.and_then(read);
    if uri.is_none() && visibility.is_none() {
        return None;
    }
    let is_role = |it: &&RawValue, role: &str| read::<String>(it).is_some_and(|it| it == role);
    let names =
        |role: &str| visibility.as_ref().is_none_or(|them| them.items.iter().any(|it| is_role(it, role)));
    let resource_uri = uri.filter(|it| it.starts_with("ui://")).map(str::to_owned);
    if let (Some(uri), None) = (uri, &resource_uri) {
        diagnostics.push(WireDiagnostic {
            rule: None,
            pointer: format!("{pointer}/_meta/ui/resourceUri"),
            message: format!("{uri} is not a ui:// address; the tool has no View"),
            tool: None,
        });
    }
    Some(UiLink { resource_uri, visible_to_model: names("model"), visible_to_app: names("app") })
}

/// Writes the declaration of a tool, with the projections of rule S11 for earlier revisions.
pub fn encode_tool(revision: Revision, tool: &Tool) -> Value {
    let mut wire = Map::new();
    wire.insert("name".to_owned(), json!(tool.name));
    for (key, value) in [("title", &tool.title), ("description", &tool.description)] {
        if let Some(value) = value {
            wire.insert(key.to_owned(), json!(value));
        }
    }
    wire.insert("inputSchema".to_owned(), tool.input_schema.to_value());
    match &tool.contract {
        Contract::Variants(variants) if revision.has_output_variants() => {
            let variants: Vec<Value> = variants.iter().map(encode_variant).collect();
            wire.insert("outputVariants".to_owned(), Value::Array(variants));
        }
        Contract::Variants(_) if revision.has_structured_content() => {
            let projected = tool.variant(&Selector::ASSISTANT_STRUCTURED).and_then(|it| it.schema.as_ref());
            if let Some(schema) = projected {
                wire.insert("outputSchema".to_owned(), schema.to_value());
            }
        }
        Contract::Variants(_) => {}
        Contract::Legacy { output_schema } => {
            if let Some(schema) = output_schema {
                wire.insert("outputSchema".to_owned(), schema.to_value());
            }
        }
    }
    if tool.annotations != ToolAnnotations::default() {
        wire.insert("annotations".to_owned(), json!(tool.annotations));
    }
    if let Some(link) = &tool.ui {
        wire.insert("_meta".to_owned(), json!({"ui": encode_ui_link(link)}));
    }
    Value::Object(wire)
}

fn encode_variant(variant: &OutputVariant) -> Value {
    let mut wire = json!({"audience": variant.selector.audience, "format": variant.selector.format});
    if let Some(schema) = &variant.schema {
        wire["schema"] = schema.to_value();
    }
    wire
}

fn encode_ui_link(link: &UiLink) -> Value {
    let mut wire = Map::new();
    if let Some(uri) = &link.resource_uri {
        wire.insert("resourceUri".to_owned(), json!(uri));
    }
    if !(link.visible_to_model && link.visible_to_app) {
        let seen = [("model", link.visible_to_model), ("app", link.visible_to_app)];
        let seen: Vec<&str> = seen.into_iter().filter(|it| it.1).map(|it| it.0).collect();
        wire.insert("visibility".to_owned(), json!(seen));
    }
    Value::Object(wire)
}

/// Writes the parameters of `tools/call`. `requestedOutputs` is never written for an earlier revision (rule H10).
///
/// # Errors
/// Only if writing JSON fails, which these types do not cause.
pub fn encode_call(revision: Revision, call: &CallRequest) -> Result<RawJson, serde_json::Error> {
    RawJson::of(&v2026_12::CallToolRequestParams {
        name: call.name.clone(),
        arguments: Some(call.arguments.clone()),
        requested_outputs: call
            .requested
            .clone()
            .filter(|_| revision.has_output_variants())
            .map(Bounded::from),
    })
}

/// Reads the parameters of `tools/call`, for a server. `requestedOutputs` is ignored under earlier revisions.
///
/// # Errors
/// The parameters do not name a tool, or a selector is not one.
pub fn decode_call(revision: Revision, params: &RawJson) -> Result<CallRequest, DecodeError> {
    let wire: v2026_12::CallToolRequestParams =
        params.to().map_err(|error| shape("CallToolRequestParams", &error))?;
    Ok(CallRequest {
        name: wire.name,
        arguments: wire.arguments.unwrap_or_else(|| json!({}).into()),
        requested: wire.requested_outputs.filter(|_| revision.has_output_variants()).map(|it| it.items),
    })
}

/// Reads the result of `tools/call`.
///
/// # Errors
/// The result is not one of a call, or is of a kind that was not offered.
pub fn decode_outcome(
    revision: Revision,
    result: &RawJson,
) -> Result<(CallOutcome, Vec<WireDiagnostic>), DecodeError> {
    if revision.has_output_variants() { decode_outputs(result) } else { decode_legacy(revision, result) }
}

fn decode_outputs(result: &RawJson) -> Result<(CallOutcome, Vec<WireDiagnostic>), DecodeError> {
    let wire = result.view::<v2026_12::CallToolResult<&RawValue>>();
    let wire = wire.map_err(|error| other_shape(result, &error))?;
    complete(wire.result_type.as_deref())?;
    let Some(outputs) = wire.outputs else {
        return Err(DecodeError::Shape { what: "CallToolResult", why: "it has no outputs".to_owned() });
    };
    let mut parts = Vec::new();
    let mut unreadable = Vec::new();
    let mut diagnostics = Vec::new();
    tell_left_out(outputs.left_out, "/outputs", Some(Rule::H19), &mut diagnostics);
    for (index, raw) in outputs.items.into_iter().enumerate() {
        match decode_part(result, raw) {
            Ok((part, left_out)) => {
                tell_left_out(left_out, &format!("/outputs/{index}/content"), None, &mut diagnostics);
                parts.push(part);
            }
            Err(why) => unreadable.push(UnreadablePart { index, raw: result.part(raw), why }),
        }
    }
    diagnostics.extend(unreadable.iter().map(|it| WireDiagnostic {
        rule: Some(Rule::H19),
        pointer: format!("/outputs/{}", it.index),
        message: it.why.clone(),
        tool: None,
    }));
    let body = OutcomeBody::Outputs { parts, unreadable };
    Ok((outcome(wire.is_error, body, wire.meta, result), diagnostics))
}

/// Reads an output. Beside it, how many of its blocks were too many.
fn decode_part(result: &RawJson, raw: &RawValue) -> Result<(OutputPart, usize), String> {
    let wire: v2026_12::ToolResultOutput<&RawValue> =
        serde_json::from_str(raw.get()).map_err(|error| format!("not an output: {error}"))?;
    let (payload, left_out) = match (wire.format, wire.content, wire.structured_content) {
        (Format::Content, Some(content), _) => (Payload::Content(content.items), content.left_out),
        (Format::Structured, _, Some(value)) => (Payload::Structured(result.part(value)), 0),
        (Format::Content, None, _) => return Err("a content output has no content".to_owned()),
        (Format::Structured, _, None) => {
            return Err("a structured output has no structuredContent".to_owned());
        }
    };
    let selector = Selector { audience: wire.audience, format: wire.format };
    Ok((OutputPart { selector, payload, bytes: raw.get().len() }, left_out))
}

fn decode_legacy(
    revision: Revision,
    result: &RawJson,
) -> Result<(CallOutcome, Vec<WireDiagnostic>), DecodeError> {
    let wire = result.view::<v2025::CallToolResult<&RawValue>>();
    let other = |error: serde_json::Error| match revision.has_result_type() {
        true => other_shape(result, &error),
        false => shape("CallToolResult", &error),
    };
    let wire = wire.map_err(other)?;
    if revision.has_result_type()
        && let Some(kind) = wire.result_type
    {
        let kind: Option<String> =
            serde_json::from_str(kind.get()).map_err(|error| shape("Result", &error))?;
        complete(kind.as_deref())?;
    }
    let mut diagnostics = Vec::new();
    let mut tell = |pointer: &str, message: String| {
        diagnostics.push(WireDiagnostic { rule: None, pointer: pointer.to_owned(), message, tool: None });
    };
    if wire.content.is_none() && wire.structured_content.is_none() {
        tell("", "the result has neither content nor structuredContent; it is shown as it came".to_owned());
    } else if wire.content.is_none() {
        tell("/content", format!("content is missing, which {revision} requires"));
    }
    let content = wire.content.unwrap_or_else(|| Vec::new().into());
    tell_left_out(content.left_out, "/content", None, &mut diagnostics);
    let structured = wire.structured_content.map(|it| result.part(it));
    let body = OutcomeBody::Legacy { content: content.items, structured };
    Ok((outcome(wire.is_error, body, wire.meta, result), diagnostics))
}

fn outcome(is_error: Option<bool>, body: OutcomeBody, meta: Option<&RawValue>, raw: &RawJson) -> CallOutcome {
    let meta = meta.filter(|it| !matches!(it.get(), "null" | "{}")).map(|it| raw.part(it));
    CallOutcome { is_error: is_error.unwrap_or(false), body, meta, raw: raw.clone() }
}

/// The variants that a call makes a server produce: the selection or its fallback (rule S05), and under earlier revisions those that
/// the legacy shape is projected from (rule S12).
pub fn projected_selectors(revision: Revision, tool: &Tool, requested: Option<&[Selector]>) -> Vec<Selector> {
    match requested.filter(|_| revision.has_output_variants()) {
        Some(requested) => requested.to_vec(),
        None if revision.has_structured_content()
            && tool.variant(&Selector::ASSISTANT_STRUCTURED).is_some() =>
        {
            vec![Selector::ASSISTANT_CONTENT, Selector::ASSISTANT_STRUCTURED]
        }
        None => vec![Selector::ASSISTANT_CONTENT],
    }
}

/// Writes the result of `tools/call` in the shape of the revision. Earlier revisions get what was made for the assistant, with the
/// text mirror of structured content that they recommend (rule S12); nothing made for another audience is written there.
///
/// # Errors
/// Only if writing JSON fails, which these types do not cause.
pub fn encode_result(
    revision: Revision,
    parts: &[OutputPart],
    is_error: bool,
    meta: Option<&RawJson>,
) -> Result<RawJson, serde_json::Error> {
    if revision.has_output_variants() {
        return encode_outputs(parts, is_error, meta);
    }
    let find = |selector: &Selector| parts.iter().find(|it| it.selector == *selector).map(|it| &it.payload);
    let mut content = match find(&Selector::ASSISTANT_CONTENT) {
        Some(Payload::Content(blocks)) => blocks.clone(),
        Some(Payload::Structured(_)) | None => Vec::new(),
    };
    let structured = match find(&Selector::ASSISTANT_STRUCTURED) {
        Some(Payload::Structured(value)) if revision.has_structured_content() => Some(value),
        Some(Payload::Structured(_) | Payload::Content(_)) | None => None,
    };
    content.extend(structured.map(|it| ContentBlock::text(it.get())));
    encode_legacy(revision, &content, structured, is_error, meta)
}

/// Writes a result that has outputs for audiences. Payloads are written as they are, never parsed.
///
/// # Errors
/// Only if writing JSON fails, which these types do not cause.
pub fn encode_outputs(
    parts: &[OutputPart],
    is_error: bool,
    meta: Option<&RawJson>,
) -> Result<RawJson, serde_json::Error> {
    let outputs: Vec<RawJson> = parts.iter().map(encode_part).collect::<Result<_, _>>()?;
    RawJson::of(&v2026_12::CallToolResult {
        result_type: Some(v2026_07::COMPLETE.to_owned()),
        outputs: Some(outputs.into()),
        is_error: is_error.then_some(true),
        meta: meta.cloned(),
    })
}

fn encode_part(part: &OutputPart) -> Result<RawJson, serde_json::Error> {
    let (content, structured_content) = match &part.payload {
        Payload::Content(blocks) => (Some(blocks.clone().into()), None),
        Payload::Structured(value) => (None, Some(value.clone())),
    };
    let Selector { audience, format } = part.selector.clone();
    RawJson::of(&v2026_12::ToolResultOutput { audience, format, content, structured_content })
}

/// Writes a result in the shape of an earlier revision (rule S12).
///
/// # Errors
/// Only if writing JSON fails, which these types do not cause.
pub fn encode_legacy(
    revision: Revision,
    content: &[ContentBlock],
    structured: Option<&RawJson>,
    is_error: bool,
    meta: Option<&RawJson>,
) -> Result<RawJson, serde_json::Error> {
    let body = v2025::CallToolResult {
        result_type: None,
        content: Some(content.to_vec().into()),
        structured_content: structured.filter(|_| revision.has_structured_content()).cloned(),
        is_error: is_error.then_some(true),
        meta: meta.cloned(),
    };
    if !revision.has_result_type() {
        return RawJson::of(&body);
    }
    RawJson::of(&v2026_07::CallToolResult { result_type: v2026_07::COMPLETE, body })
}

/// Refuses a result that is not final: `input_required` and extensions' kinds were not offered (2026-07-28 basic/patterns/mrtr).
fn require_complete(revision: Revision, result: &RawJson) -> Result<(), DecodeError> {
    if !revision.has_result_type() {
        return Ok(());
    }
    let wire: v2026_07::Discriminator = result.to().map_err(|error| shape("Result", &error))?;
    complete(wire.result_type.as_deref())
}

fn complete(result_type: Option<&str>) -> Result<(), DecodeError> {
    match result_type {
        Some(kind) if kind != v2026_07::COMPLETE => Err(DecodeError::ResultType(kind.to_owned())),
        Some(_) | None => Ok(()),
    }
}

/// A result that does not have the shape of a call's: perhaps it is of another kind, which says more.
fn other_shape(result: &RawJson, error: &serde_json::Error) -> DecodeError {
    match result.to::<v2026_07::Discriminator>().map(|it| complete(it.result_type.as_deref())) {
        Ok(Err(kind)) => kind,
        Ok(Ok(())) | Err(_) => shape("CallToolResult", error),
    }
}

fn shape(what: &'static str, error: &serde_json::Error) -> DecodeError {
    DecodeError::Shape { what, why: error.to_string() }
}
