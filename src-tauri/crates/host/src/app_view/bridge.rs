//! What a View asks for, checked by method and by parameters before anything happens.
//!
//! The result is a closed [`ViewRequest`] that the conversation carries out; a method that is not in it does not exist for Views.
//! Deliberately absent: time (milliseconds are passed in), and the user's consent, which the window asks for.

use serde::Deserialize;
use serde_json::json;
use url::Url;
use usher_protocol::{
    RawJson,
    common::{BlockKind, ContentBlock},
    jsonrpc::ErrorObject,
    model::Tool,
};

use super::{
    download::{self, WantedFile},
    projection::is_for_views,
};

/// The largest parameters that are read, in bytes.
pub const MAX_PARAMS: usize = 4 << 20;

/// The longest address, in bytes.
const MAX_ADDRESS: usize = 8 << 10;

/// How many content blocks a message may have.
const MAX_BLOCKS: usize = 32;

/// The MCP Apps error of a host that refuses what it could do.
pub(super) const REFUSED: i64 = -32000;

/// A checked request of a View. All of them concern the View's own server.
#[derive(Debug, Clone, PartialEq)]
pub enum ViewRequest {
    /// `tools/call`. What is requested from the tool is the host's decision, never the View's (rules H14, H30).
    CallTool {
        /// A tool of the View's server that a View may call.
        name: String,
        /// An object.
        arguments: RawJson,
        /// Where progress is reported, if the View wants it.
        progress_token: Option<RawJson>,
    },
    /// `tools/list`, answered with [`super::projection::tools_list`].
    ListTools,
    /// A list of the View's server, all of its pages.
    List(List),
    /// `resources/read`, asked of the View's server whatever the address looks like.
    ReadResource {
        /// The resource.
        uri: String,
    },
    /// `ui/open-link`, for the user to agree to.
    OpenLink {
        /// An http or https address without a user in it, in its normal form.
        url: String,
    },
    /// `ui/message`: what the View says in the user's name, which needs the user's consent (rule H25).
    Message {
        /// At least one block.
        content: Vec<ContentBlock>,
    },
    /// `ui/update-model-context`: replaces what the View told before; empty takes it back.
    UpdateModelContext {
        /// Blocks.
        content: Vec<ContentBlock>,
        /// An object.
        structured: Option<RawJson>,
    },
    /// `ui/download-file`, for the user to agree to.
    Download {
        /// At least one.
        files: Vec<WantedFile>,
    },
    /// `sampling/createMessage`, for the user to agree to.
    Sample {
        /// What a server would ask in the same words.
        params: RawJson,
    },
    /// `ping`.
    Ping,
}

/// A list that a View may have of its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    /// `resources/list`.
    Resources,
    /// `resources/templates/list`.
    ResourceTemplates,
    /// `prompts/list`.
    Prompts,
}

impl List {
    /// The method that asks for it.
    pub fn method(self) -> &'static str {
        match self {
            Self::Resources => "resources/list",
            Self::ResourceTemplates => "resources/templates/list",
            Self::Prompts => "prompts/list",
        }
    }

    /// The member of a page that has the items.
    pub fn member(self) -> &'static str {
        match self {
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }
}

/// Checks what a View sent. `tools` are those of the View's own server, and of no other.
///
/// # Errors
/// The method does not exist for Views (-32601), its parameters are wrong or name what the View may not reach (-32602), or the host
/// does not do it (-32000). The error is the answer to the View.
pub fn check(method: &str, params: Option<&RawJson>, tools: &[Tool]) -> Result<ViewRequest, ErrorObject> {
    if let Some(params) = params {
        if params.bytes() > MAX_PARAMS {
            return Err(invalid(format!(
                "the parameters have {} bytes; {MAX_PARAMS} are read",
                params.bytes()
            )));
        }
        if !params.is_object() && params.get() != "null" {
            return Err(invalid("the parameters are not an object"));
        }
    }
    let empty = RawJson::from(json!({}));
    let params = params.filter(|it| it.is_object()).unwrap_or(&empty);
    match method {
        "tools/call" => call_tool(params, tools),
        "tools/list" => Ok(ViewRequest::ListTools),
        "resources/list" => Ok(ViewRequest::List(List::Resources)),
        "resources/templates/list" => Ok(ViewRequest::List(List::ResourceTemplates)),
        "prompts/list" => Ok(ViewRequest::List(List::Prompts)),
        "resources/read" => read_resource(params),
        "ui/open-link" => open_link(params),
        "ui/message" => message(params),
        "ui/update-model-context" => update_model_context(params),
        "ui/download-file" => download_file(params),
        "sampling/createMessage" => Ok(ViewRequest::Sample { params: params.clone() }),
        "ping" => Ok(ViewRequest::Ping),
        _ => {
            let cut = method.floor_char_boundary(80);
            Err(ErrorObject::new(
                ErrorObject::METHOD_NOT_FOUND,
                format!("Views cannot ask for {:?}", &method[..cut]),
            ))
        }
    }
}

fn call_tool(params: &RawJson, tools: &[Tool]) -> Result<ViewRequest, ErrorObject> {
    #[derive(Deserialize)]
    struct Meta {
        #[serde(rename = "progressToken", default)]
        progress_token: Option<RawJson>,
    }
    #[derive(Deserialize)]
    struct Wire {
        name: String,
        #[serde(default)]
        arguments: Option<RawJson>,
        #[serde(rename = "_meta", default)]
        meta: Option<Meta>,
    }
    let wire: Wire = read(params)?;
    let arguments = wire.arguments.filter(|it| it.get() != "null").unwrap_or_else(|| json!({}).into());
    if !arguments.is_object() {
        return Err(invalid("arguments is not an object"));
    }
    let shown = &wire.name[..wire.name.floor_char_boundary(80)];
    // A tool that exists for the model only is told as one that does not exist: a View has no business to know.
    let Some(tool) = tools.iter().find(|it| it.name == wire.name).filter(|it| it.is_visible_to_view()) else {
        return Err(invalid(format!("the View's server has no tool {shown:?} that a View may call")));
    };
    if !is_for_views(tool) {
        return Err(invalid(format!("the tool {shown:?} declares no output for Views")));
    }
    let progress_token = wire.meta.and_then(|it| it.progress_token).filter(is_token);
    Ok(ViewRequest::CallTool { name: wire.name, arguments, progress_token })
}

fn is_token(token: &RawJson) -> bool {
    let text = token.get();
    token.bytes() <= 256 && text.starts_with(|it: char| it == '"' || it == '-' || it.is_ascii_digit())
}

fn read_resource(params: &RawJson) -> Result<ViewRequest, ErrorObject> {
    #[derive(Deserialize)]
    struct Wire {
        uri: String,
    }
    let wire: Wire = read(params)?;
    if wire.uri.is_empty() || wire.uri.len() > MAX_ADDRESS || wire.uri.chars().any(char::is_control) {
        return Err(invalid("uri is not the address of a resource"));
    }
    Ok(ViewRequest::ReadResource { uri: wire.uri })
}

fn open_link(params: &RawJson) -> Result<ViewRequest, ErrorObject> {
    #[derive(Deserialize)]
    struct Wire {
        url: String,
    }
    let wire: Wire = read(params)?;
    if wire.url.len() > MAX_ADDRESS {
        return Err(invalid("the address is too long"));
    }
    let url =
        Url::parse(&wire.url).map_err(|error| invalid(format!("the address cannot be read: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(invalid("only http and https addresses are opened"));
    }
    // What stands before the @ is often there to look like another host.
    if !url.username().is_empty() || url.password().is_some() {
        return Err(invalid("addresses with a user in them are not opened"));
    }
    Ok(ViewRequest::OpenLink { url: url.into() })
}

fn message(params: &RawJson) -> Result<ViewRequest, ErrorObject> {
    #[derive(Deserialize)]
    struct Wire {
        #[serde(default)]
        role: Option<String>,
        content: RawJson,
    }
    let wire: Wire = read(params)?;
    if wire.role.is_some_and(|it| it != "user") {
        return Err(invalid("a View speaks as \"user\" only"));
    }
    let content = blocks(&wire.content)?;
    if content.is_empty() {
        return Err(invalid("the message is empty"));
    }
    Ok(ViewRequest::Message { content })
}

/// The two halves of what a View says: blocks, and a value. Each may be missing or `null`.
pub(super) fn halves(params: &RawJson) -> Result<(Vec<ContentBlock>, Option<RawJson>), ErrorObject> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Wire {
        #[serde(default)]
        content: Option<RawJson>,
        #[serde(default)]
        structured_content: Option<RawJson>,
    }
    let wire: Wire = read(params)?;
    let said = |it: Option<RawJson>| it.filter(|it| it.get() != "null");
    let content = said(wire.content).map(|it| blocks(&it)).transpose()?;
    Ok((content.unwrap_or_default(), said(wire.structured_content)))
}

fn update_model_context(params: &RawJson) -> Result<ViewRequest, ErrorObject> {
    let (content, structured) = halves(params)?;
    if structured.as_ref().is_some_and(|it| !it.is_object()) {
        return Err(invalid("structuredContent is not an object"));
    }
    Ok(ViewRequest::UpdateModelContext { content, structured })
}

fn download_file(params: &RawJson) -> Result<ViewRequest, ErrorObject> {
    #[derive(Deserialize)]
    struct Wire {
        contents: RawJson,
    }
    let wire: Wire = read(params)?;
    Ok(ViewRequest::Download { files: download::read(&blocks(&wire.contents)?)? })
}

/// Reads content blocks. One bare block, which the specification's text shows, is a list of one.
fn blocks(content: &RawJson) -> Result<Vec<ContentBlock>, ErrorObject> {
    let blocks: Vec<ContentBlock> = if content.is_object() {
        vec![ContentBlock::from_raw(content)]
    } else {
        content.to().map_err(|_| invalid("content is not a list of content blocks"))?
    };
    if blocks.len() > MAX_BLOCKS {
        return Err(invalid(format!("content has more than {MAX_BLOCKS} blocks")));
    }
    if blocks.iter().any(|it| matches!(it.kind, BlockKind::Unknown(_))) {
        return Err(invalid("content has a block of an unknown type or shape"));
    }
    Ok(blocks)
}

fn read<T: for<'de> Deserialize<'de>>(params: &RawJson) -> Result<T, ErrorObject> {
    params.to().map_err(|error| invalid(format!("the parameters are wrong: {error}")))
}

fn invalid(message: impl Into<String>) -> ErrorObject {
    ErrorObject::new(ErrorObject::INVALID_PARAMS, message)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::Value;
    use usher_protocol::{Revision, codec};

    use super::*;

    fn tools(revision: Revision) -> Vec<Tool> {
        let ui = json!({"audience": "io.modelcontextprotocol/ui", "format": "structured"});
        let text = json!({"audience": "assistant", "format": "content"});
        let schema = json!({"type": "object"});
        let list = json!({"tools": [
            {"name": "both", "inputSchema": schema, "outputVariants": [text, ui]},
            {"name": "text-only", "inputSchema": schema, "outputVariants": [text]},
            {"name": "app", "inputSchema": schema, "outputVariants": [text, ui], "_meta": {"ui": {"visibility": ["app"]}}},
            {"name": "model", "inputSchema": schema, "outputVariants": [text, ui], "_meta": {"ui": {"visibility": ["model"]}}}
        ]});
        codec::decode_tools(revision, &list.into()).unwrap().0.tools
    }

    fn line(method: &str, params: &Value) -> String {
        match check(method, Some(&params.into()), &tools(Revision::V2026_12_01)) {
            Ok(request) => format!("{request:?}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn calls_respect_visibility_and_audience() {
        let asked = [
            json!({"name": "both", "arguments": {"a": 1}, "requestedOutputs": [{"audience": "assistant", "format": "content"}], "_meta": {"progressToken": 7, "x": 1}}),
            json!({"name": "app"}),
            json!({"name": "model"}),
            json!({"name": "text-only"}),
            json!({"name": "other-server.tool"}),
            json!({"name": "both", "arguments": [1]}),
            json!({"name": "both", "server": "other", "_meta": {"progressToken": {"a": 1}}}),
            json!({"arguments": {}}),
        ];
        expect![[r#"
            CallTool { name: "both", arguments: {"a":1}, progress_token: Some(7) }
            CallTool { name: "app", arguments: {}, progress_token: None }
            the View's server has no tool "model" that a View may call (-32602)
            the tool "text-only" declares no output for Views (-32602)
            the View's server has no tool "other-server.tool" that a View may call (-32602)
            arguments is not an object (-32602)
            CallTool { name: "both", arguments: {}, progress_token: None }
            the parameters are wrong: missing field `name` at line 1 column 16 (-32602)"#]]
        .assert_eq(&asked.map(|it| line("tools/call", &it)).join("\n"));
        // Under earlier revisions a tool declares nothing for audiences, and the View gets the legacy result (rule H29).
        let legacy = tools(Revision::V2025_11_25);
        assert!(check("tools/call", Some(&json!({"name": "text-only"}).into()), &legacy).is_ok());
        assert!(check("tools/call", Some(&json!({"name": "model"}).into()), &legacy).is_err());
    }

    #[test]
    fn links_go_to_the_web_only() {
        let urls = [
            "https://example.com/a?b#c",
            "HTTP://EXAMPLE.com",
            "javascript:alert(1)",
            " javascript:alert(1)",
            "java\nscript:alert(1)",
            "file:///etc/passwd",
            "data:text/html,x",
            "tauri://localhost",
            "ipc://localhost",
            "mailto:a@b.c",
            "vscode://x",
            "//example.com",
            "https://",
            "https://google.com@evil.example/",
            "https://u:p@evil.example",
            "http:evil.example",
            "smb://x/y",
        ];
        expect![[r#"
            OpenLink { url: "https://example.com/a?b#c" }
            OpenLink { url: "http://example.com/" }
            only http and https addresses are opened (-32602)
            only http and https addresses are opened (-32602)
            only http and https addresses are opened (-32602)
            only http and https addresses are opened (-32602)
            only http and https addresses are opened (-32602)
            only http and https addresses are opened (-32602)
            only http and https addresses are opened (-32602)
            only http and https addresses are opened (-32602)
            only http and https addresses are opened (-32602)
            the address cannot be read: relative URL without a base (-32602)
            the address cannot be read: empty host (-32602)
            addresses with a user in them are not opened (-32602)
            addresses with a user in them are not opened (-32602)
            OpenLink { url: "http://evil.example/" }
            only http and https addresses are opened (-32602)"#]]
        .assert_eq(&urls.map(|it| line("ui/open-link", &json!({"url": it}))).join("\n"));
    }

    #[test]
    fn messages_and_context() {
        let text = json!({"type": "text", "text": "hi"});
        let asked = [
            ("ui/message", json!({"role": "user", "content": [text]})),
            ("ui/message", json!({"role": "user", "content": text})),
            ("ui/message", json!({"role": "assistant", "content": [text]})),
            ("ui/message", json!({"role": "system", "content": [text]})),
            ("ui/message", json!({"role": "user", "content": []})),
            ("ui/message", json!({"role": "user", "content": [{"type": "tool_use"}]})),
            ("ui/message", json!({"role": "user", "content": "hi"})),
            ("ui/update-model-context", json!({})),
            ("ui/update-model-context", json!({"content": text, "structuredContent": {"n": 1}})),
            ("ui/update-model-context", json!({"structuredContent": [1]})),
        ];
        expect![[r#"
            Message { content: [ContentBlock { kind: Text("hi"), annotations: None }] }
            Message { content: [ContentBlock { kind: Text("hi"), annotations: None }] }
            a View speaks as "user" only (-32602)
            a View speaks as "user" only (-32602)
            the message is empty (-32602)
            content has a block of an unknown type or shape (-32602)
            content is not a list of content blocks (-32602)
            UpdateModelContext { content: [], structured: None }
            UpdateModelContext { content: [ContentBlock { kind: Text("hi"), annotations: None }], structured: Some({"n":1}) }
            structuredContent is not an object (-32602)"#]].assert_eq(&asked.map(|(method, params)| line(method, &params)).join("\n"));
    }

    #[test]
    fn the_other_methods() {
        let asked = [
            ("ping", json!({})),
            ("tools/list", json!({"cursor": "x"})),
            ("resources/list", json!({"cursor": "x"})),
            ("resources/templates/list", json!({})),
            ("prompts/list", json!({"cursor": 1})),
            ("resources/read", json!({"uri": "videos://1"})),
            ("resources/read", json!({"uri": "a\u{0}b"})),
            ("ui/request-display-mode", json!({"mode": "fullscreen"})),
            ("ui/download-file", json!({"contents": []})),
            ("notifications/message", json!({"level": "loud", "data": [1]})),
            ("sampling/createMessage", json!({})),
            ("prompts/get", json!({"name": "x"})),
            ("initialize", json!({})),
            ("ui/notifications/sandbox-resource-ready", json!({})),
            ("TOOLS/CALL", json!({})),
        ];
        expect![[r#"
            Ping
            ListTools
            List(Resources)
            List(ResourceTemplates)
            List(Prompts)
            ReadResource { uri: "videos://1" }
            uri is not the address of a resource (-32602)
            Views cannot ask for "ui/request-display-mode" (-32601)
            one to 16 files are saved at once (-32602)
            Views cannot ask for "notifications/message" (-32601)
            Sample { params: {} }
            Views cannot ask for "prompts/get" (-32601)
            Views cannot ask for "initialize" (-32601)
            Views cannot ask for "ui/notifications/sandbox-resource-ready" (-32601)
            Views cannot ask for "TOOLS/CALL" (-32601)"#]]
        .assert_eq(&asked.map(|(method, params)| line(method, &params)).join("\n"));
    }

    #[test]
    fn sizes_are_capped() {
        let params = RawJson::from(json!({"name": "both", "arguments": {"a": "x".repeat(MAX_PARAMS)}}));
        let error = check("tools/call", Some(&params), &tools(Revision::V2026_12_01)).unwrap_err();
        assert_eq!(error.code, ErrorObject::INVALID_PARAMS);
        let many = vec![json!({"type": "text", "text": ""}); 33];
        assert!(check("ui/message", Some(&json!({"content": many}).into()), &[]).is_err());
        let long = format!("https://example.com/{}", "x".repeat(9_000));
        assert!(check("ui/open-link", Some(&json!({"url": long}).into()), &[]).is_err());
        let method = "é".repeat(1_000);
        assert!(check(&method, None, &[]).unwrap_err().message.len() < 200);
        assert!(check("ping", Some(&json!([]).into()), &[]).is_err());
        assert_eq!(check("ping", None, &[]), Ok(ViewRequest::Ping));
    }
}
