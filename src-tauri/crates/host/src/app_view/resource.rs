//! The HTML of a View, from the result of `resources/read` (MCP Apps 2026-01-26, "UI Resource Format").
//!
//! Deliberately absent: any change to the HTML. It is served as it came, or not at all.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value;
use usher_engine::Defect;
use usher_protocol::{RawJson, UI_MIME};

/// The largest HTML that is served, in bytes. Official Views are up to 4.3 MB.
pub const MAX_HTML: usize = 16 << 20;

/// What a server gave for a View.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewResource {
    /// The document.
    pub html: String,
    /// What it asks for.
    pub meta: ResourceMeta,
}

/// `_meta.ui` of a UI resource. `domain` is not read: every View has an origin of its own here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceMeta {
    /// The domains that it declares, unchecked.
    pub csp: DeclaredCsp,
    /// The features that it asks for.
    pub permissions: Permissions,
    /// Whether it wants a border; `None` leaves it to the host.
    pub prefers_border: Option<bool>,
}

/// `_meta.ui.csp`, as the server wrote it. Untrusted; see [`super::csp::grant`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredCsp {
    /// `connectDomains`.
    pub connect: Vec<String>,
    /// `resourceDomains`.
    pub resource: Vec<String>,
    /// `frameDomains`.
    pub frame: Vec<String>,
    /// `baseUriDomains`.
    pub base_uri: Vec<String>,
}

/// `_meta.ui.permissions`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Permissions {
    /// `camera`.
    pub camera: bool,
    /// `microphone`.
    pub microphone: bool,
    /// `geolocation`.
    pub geolocation: bool,
    /// `clipboardWrite`.
    pub clipboard_write: bool,
}

impl Permissions {
    /// Every feature that a View can ask for.
    pub const ALL: Self = Self { camera: true, microphone: true, geolocation: true, clipboard_write: true };

    /// The features of both.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            camera: self.camera || other.camera,
            microphone: self.microphone || other.microphone,
            geolocation: self.geolocation || other.geolocation,
            clipboard_write: self.clipboard_write || other.clipboard_write,
        }
    }
}

/// Why there is no View.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResourceError {
    /// The answer is not that of `resources/read`.
    #[error("The server's answer for {uri} is not a resource ({why}). The tool's result is not affected.")]
    Shape {
        /// The resource.
        uri: String,
        /// What is wrong.
        why: String,
    },
    /// A View is exactly one document.
    #[error(
        "The server gave {count} contents for {uri}; a View is exactly one. The tool's result is not affected."
    )]
    Count {
        /// The resource.
        uri: String,
        /// How many came.
        count: usize,
    },
    /// The content is not declared as the HTML of an App.
    #[error("The server gave {uri} as {found}; a View must be {UI_MIME}. The tool's result is not affected.")]
    Mime {
        /// The resource.
        uri: String,
        /// What the server declares.
        found: String,
    },
    /// Neither `text` nor `blob`, or a `blob` that cannot be read.
    #[error("The HTML of {uri} cannot be read: {why}. The tool's result is not affected.")]
    Body {
        /// The resource.
        uri: String,
        /// What is wrong.
        why: String,
    },
    /// More than [`MAX_HTML`].
    #[error(
        "The HTML of {uri} has {bytes} bytes; Usher shows Views of up to {MAX_HTML}. The tool's result is not affected."
    )]
    TooLarge {
        /// The resource.
        uri: String,
        /// Its size, or that of its base64.
        bytes: usize,
    },
}

/// Reads a View from the raw result of `resources/read`. `listed_meta` is `_meta` of the resource's entry in `resources/list`, which
/// counts where the content itself has no `_meta.ui`.
///
/// # Errors
/// There is no document that may be shown.
pub fn read(
    uri: &str,
    result: &RawJson,
    listed_meta: Option<&RawJson>,
) -> Result<(ViewResource, Vec<Defect>), ResourceError> {
    #[derive(Deserialize)]
    struct Wire {
        contents: Vec<RawJson>,
    }
    #[derive(Deserialize)]
    struct Content {
        #[serde(default)]
        uri: Option<String>,
        #[serde(rename = "mimeType", default)]
        mime: Option<String>,
        #[serde(default)]
        text: Option<String>,
        #[serde(default)]
        blob: Option<String>,
        #[serde(rename = "_meta", default)]
        meta: Option<Value>,
        #[serde(rename = "meta", default)]
        python_meta: Option<Value>,
    }
    let shape =
        |error: serde_json::Error| ResourceError::Shape { uri: uri.to_owned(), why: error.to_string() };
    let wire: Wire = result.to().map_err(shape)?;
    let [content] = wire.contents.as_slice() else {
        return Err(ResourceError::Count { uri: uri.to_owned(), count: wire.contents.len() });
    };
    let content: Content = content.to().map_err(shape)?;
    if content.mime.as_deref() != Some(UI_MIME) {
        let found = content.mime.map_or_else(|| "no type".to_owned(), |it| format!("{it:?}"));
        return Err(ResourceError::Mime { uri: uri.to_owned(), found });
    }
    let mut defects = Vec::new();
    if content.uri.as_deref().is_some_and(|it| it != uri) {
        defects.push(defect(format!("the content of {uri} names another resource")));
    }
    if content.text.is_some() && content.blob.is_some() {
        defects.push(defect(format!("the content of {uri} has both text and blob; text is used")));
    }
    let html = body(uri, content.text, content.blob)?;
    let listed = listed_meta.map(RawJson::to_value);
    let mut ui = content.meta.as_ref().and_then(|it| it.get("ui"));
    if ui.is_none() {
        ui = content.python_meta.as_ref().and_then(|it| it.get("ui"));
        if ui.is_some() {
            defects
                .push(defect(format!("the content of {uri} spells _meta as meta; it is read all the same")));
        }
    }
    let meta = meta(uri, ui.or_else(|| listed.as_ref().and_then(|it| it.get("ui"))), &mut defects);
    Ok((ViewResource { html, meta }, defects))
}

/// Whether the content says of itself what its View asks for; if not, its entry in `resources/list` may.
pub fn says_ui(result: &RawJson) -> bool {
    #[derive(Deserialize, Default)]
    struct Meta {
        #[serde(default)]
        ui: Option<IgnoredAny>,
    }
    #[derive(Deserialize)]
    struct Content {
        #[serde(rename = "_meta", default)]
        meta: Option<Meta>,
        #[serde(rename = "meta", default)]
        python_meta: Option<Meta>,
    }
    #[derive(Deserialize)]
    struct Wire {
        contents: Vec<Content>,
    }
    let Some(content) = result.to::<Wire>().ok().and_then(|it| it.contents.into_iter().next()) else {
        return false;
    };
    [content.meta, content.python_meta].into_iter().flatten().any(|it| it.ui.is_some())
}

/// `_meta` of a resource's entry in the pages of `resources/list`.
pub fn listed_meta(uri: &str, pages: &[RawJson]) -> Option<RawJson> {
    #[derive(Deserialize)]
    struct Page {
        #[serde(default)]
        resources: Vec<RawJson>,
    }
    #[derive(Deserialize)]
    struct Entry {
        uri: String,
        #[serde(rename = "_meta", default)]
        meta: Option<RawJson>,
    }
    let entries = pages.iter().filter_map(|it| it.to::<Page>().ok()).flat_map(|it| it.resources);
    let mut known = entries.filter_map(|it| it.to::<Entry>().ok());
    known.find(|it| it.uri == uri)?.meta
}

fn body(uri: &str, text: Option<String>, blob: Option<String>) -> Result<String, ResourceError> {
    let too_large = |bytes| ResourceError::TooLarge { uri: uri.to_owned(), bytes };
    let unreadable = |why: String| ResourceError::Body { uri: uri.to_owned(), why };
    let html = match (text, blob) {
        (Some(text), _) => text,
        (None, Some(blob)) => {
            // Base64 is a third larger than what it holds.
            if blob.len() / 4 > MAX_HTML / 3 + 1 {
                return Err(too_large(blob.len()));
            }
            let bytes = STANDARD.decode(blob.as_bytes()).map_err(|it| {
                unreadable(format!("its blob is not base64 ({})", it.to_string().trim_end_matches('.')))
            })?;
            String::from_utf8(bytes).map_err(|it| unreadable(format!("its blob is not UTF-8, {it}")))?
        }
        (None, None) => return Err(unreadable("it has neither text nor blob".to_owned())),
    };
    if html.len() > MAX_HTML {
        return Err(too_large(html.len()));
    }
    Ok(html)
}

fn meta(uri: &str, ui: Option<&Value>, defects: &mut Vec<Defect>) -> ResourceMeta {
    let Some(ui) = ui else { return ResourceMeta::default() };
    if !ui.is_object() {
        defects.push(defect(format!("_meta.ui of {uri} is not an object; it is ignored")));
        return ResourceMeta::default();
    }
    let csp = ui.get("csp").filter(|it| !it.is_null());
    if csp.is_some_and(|it| !it.is_object()) {
        defects.push(defect(format!("_meta.ui.csp of {uri} is not an object; nothing is granted")));
    }
    let mut list = |name: &str| domains(uri, name, csp.and_then(|it| it.get(name)), defects);
    let csp = DeclaredCsp {
        connect: list("connectDomains"),
        resource: list("resourceDomains"),
        frame: list("frameDomains"),
        base_uri: list("baseUriDomains"),
    };
    // A feature is asked for by an object; `true` is common and means the same.
    let asks = |name: &str| {
        let value = ui.get("permissions").and_then(|it| it.get(name));
        value.is_some_and(|it| it.is_object() || *it == Value::Bool(true))
    };
    ResourceMeta {
        csp,
        permissions: Permissions {
            camera: asks("camera"),
            microphone: asks("microphone"),
            geolocation: asks("geolocation"),
            clipboard_write: asks("clipboardWrite"),
        },
        prefers_border: ui.get("prefersBorder").and_then(Value::as_bool),
    }
}

fn domains(uri: &str, name: &str, value: Option<&Value>, defects: &mut Vec<Defect>) -> Vec<String> {
    let Some(value) = value.filter(|it| !it.is_null()) else { return Vec::new() };
    let Some(entries) = value.as_array() else {
        defects.push(defect(format!("_meta.ui.csp.{name} of {uri} is not a list; nothing is granted")));
        return Vec::new();
    };
    let known: Vec<String> = entries.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    if known.len() < entries.len() {
        defects.push(defect(format!(
            "_meta.ui.csp.{name} of {uri} has entries that are not text; they are ignored"
        )));
    }
    known
}

fn defect(text: String) -> Defect {
    Defect { rule: None, text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const URI: &str = "ui://demo/view";

    fn read_json(content: &Value) -> Result<(ViewResource, Vec<Defect>), ResourceError> {
        read(URI, &json!({"contents": [content]}).into(), None)
    }

    #[test]
    fn text_and_blob_are_read() {
        let (view, defects) =
            read_json(&json!({"uri": URI, "mimeType": UI_MIME, "text": "<p>é</p>"})).unwrap();
        assert_eq!((view.html.as_str(), defects.len()), ("<p>é</p>", 0));
        let blob = STANDARD.encode("<p>é</p>");
        let (view, _) = read_json(&json!({"uri": URI, "mimeType": UI_MIME, "blob": blob})).unwrap();
        assert_eq!(view.html, "<p>é</p>");
    }

    #[test]
    fn what_is_no_view_is_refused_for_people() {
        let html = json!({"uri": URI, "mimeType": UI_MIME, "text": ""});
        let result =
            |contents: Value| read(URI, &json!({"contents": contents}).into(), None).unwrap_err().to_string();
        let expected = expect_test::expect![[r#"
            The server gave 0 contents for ui://demo/view; a View is exactly one. The tool's result is not affected.
            The server gave 2 contents for ui://demo/view; a View is exactly one. The tool's result is not affected.
            The server gave ui://demo/view as no type; a View must be text/html;profile=mcp-app. The tool's result is not affected.
            The server gave ui://demo/view as "text/html"; a View must be text/html;profile=mcp-app. The tool's result is not affected.
            The HTML of ui://demo/view cannot be read: it has neither text nor blob. The tool's result is not affected.
            The HTML of ui://demo/view cannot be read: its blob is not base64 (Invalid symbol 33, offset 0). The tool's result is not affected.
            The HTML of ui://demo/view cannot be read: its blob is not UTF-8, invalid utf-8 sequence of 1 bytes from index 0. The tool's result is not affected."#]];
        let all = [
            json!([]),
            json!([html, html]),
            json!([{"text": "x"}]),
            json!([{"mimeType": "text/html", "text": "x"}]),
            json!([{"mimeType": UI_MIME}]),
            json!([{"mimeType": UI_MIME, "blob": "!!!!"}]),
            json!([{"mimeType": UI_MIME, "blob": STANDARD.encode([0xff, 0xfe])}]),
        ];
        expected.assert_eq(&all.map(result).join("\n"));
        assert!(matches!(read(URI, &json!([1]).into(), None), Err(ResourceError::Shape { .. })));
    }

    #[test]
    fn a_huge_document_is_refused() {
        let text = "x".repeat(MAX_HTML + 1);
        let error = read_json(&json!({"mimeType": UI_MIME, "text": text})).unwrap_err();
        assert!(matches!(error, ResourceError::TooLarge { .. }));
        let blob = "A".repeat((MAX_HTML + 3) / 3 * 4 + 16);
        let error = read_json(&json!({"mimeType": UI_MIME, "blob": blob})).unwrap_err();
        assert!(matches!(error, ResourceError::TooLarge { .. }));
    }

    #[test]
    fn the_content_wins_over_the_listing() {
        let listed: RawJson =
            json!({"ui": {"csp": {"connectDomains": ["https://listed.example"]}, "prefersBorder": true}})
                .into();
        let result = |meta: Value| {
            let result = json!({"contents": [{"mimeType": UI_MIME, "text": "", "_meta": meta}]}).into();
            read(URI, &result, Some(&listed)).unwrap().0.meta
        };
        assert_eq!(result(json!({})).csp.connect, ["https://listed.example"]);
        let own = result(
            json!({"ui": {"csp": {"connectDomains": ["https://own.example"]}, "domain": "x", "permissions": {"camera": {}, "microphone": true, "geolocation": false}}}),
        );
        assert_eq!(own.csp.connect, ["https://own.example"]);
        assert_eq!(own.prefers_border, None);
        assert_eq!(own.permissions, Permissions { camera: true, microphone: true, ..Permissions::default() });
    }

    #[test]
    fn malformed_wishes_grant_nothing_and_say_so() {
        let meta = json!({"ui": {"csp": {"connectDomains": "https://a.example", "frameDomains": [1, "https://b.example"]}, "permissions": "all"}});
        let (view, defects) = read_json(&json!({"mimeType": UI_MIME, "text": "", "_meta": meta})).unwrap();
        assert_eq!(
            view.meta.csp,
            DeclaredCsp { frame: vec!["https://b.example".to_owned()], ..DeclaredCsp::default() }
        );
        assert_eq!(view.meta.permissions, Permissions::default());
        assert_eq!(defects.len(), 2);
    }
}
