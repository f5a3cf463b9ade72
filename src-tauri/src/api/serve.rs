//! Addresses and ranges of the bytes that a window loads without a command: the document of a View, and media of an output.
//!
//! Everything here is pure, and hostile until checked: a View writes addresses too. Deliberately absent: who may ask (the desktop
//! looks at the web view's label), and the content security policy of a View (the host builds it with the document).

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use usher_host::app_view::registry::label_of;

/// The scheme under which each View has an origin of its own, `mcpview://<label>.localhost`.
pub const VIEW_SCHEME: &str = "mcpview";

/// The scheme of media, `usher-media://localhost/<handle>/<index>`.
pub const MEDIA_SCHEME: &str = "usher-media";

/// The longest label or handle that is looked up.
const NAME_LIMIT: usize = 128;

/// Bytes with what a browser must know about them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    /// The status.
    pub status: StatusCode,
    /// Headers such as `content-type` and, for a View, its content security policy.
    pub headers: HeaderMap,
    /// The bytes.
    pub body: Bytes,
}

impl Served {
    /// Bytes of a type that is found in the text of a server, with a neutral type in place of one that no header can carry.
    #[must_use]
    pub fn media(mime_type: &str, body: Bytes) -> Self {
        let mut headers = HeaderMap::new();
        let mime_type = HeaderValue::from_str(mime_type)
            .unwrap_or_else(|_| HeaderValue::from_static("application/octet-stream"));
        headers.insert(header::CONTENT_TYPE, mime_type);
        // A picture may be an SVG with a script. As a picture it runs nothing, and as a document it shall not either.
        let policy = HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; sandbox");
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
        Self { status: StatusCode::OK, headers, body }
    }

    /// The answer to everything that is not there, or not for the one who asks. It says nothing more.
    #[must_use]
    pub fn nothing(status: StatusCode) -> Self {
        Self { status, headers: HeaderMap::new(), body: Bytes::new() }
    }

    /// As an HTTP response that no browser guesses about, keeps, or gives to another origin: there is no
    /// `access-control-allow-origin` unless the bytes bring one.
    #[must_use]
    pub fn into_response(self) -> Response<Bytes> {
        let mut response = Response::new(self.body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        let headers = response.headers_mut();
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

/// The label of the View of which something is asked for, and the path.
///
/// # Errors
/// The status to answer with, when this is no request to a View.
pub fn view_address<B>(request: &Request<B>) -> Result<(&str, &str), StatusCode> {
    if request.method() != Method::GET {
        return Err(StatusCode::METHOD_NOT_ALLOWED);
    }
    let host = request.uri().host().unwrap_or_default();
    match label_of(host) {
        Some(label) if is_name(label) => Ok((label, request.uri().path())),
        _ => Err(StatusCode::NOT_FOUND),
    }
}

/// The handle and the index of the part that is asked for.
///
/// # Errors
/// The status to answer with, when this is not a request for media.
pub fn media_address<B>(request: &Request<B>) -> Result<(String, u32), StatusCode> {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return Err(StatusCode::METHOD_NOT_ALLOWED);
    }
    // Tauri's `convertFileSrc` escapes the slash between the two.
    let path = request.uri().path().replace("%2F", "/");
    let mut segments = path.trim_start_matches('/').split('/');
    match (segments.next(), segments.next().map(str::parse), segments.next()) {
        (Some(handle), Some(Ok(index)), None) if is_name(handle) => Ok((handle.to_owned(), index)),
        _ => Err(StatusCode::NOT_FOUND),
    }
}

/// Cuts the part that a `Range` header asks for (RFC 9110 section 14), so that a player can seek. Several ranges at once, or a unit
/// other than bytes, get the whole; the standard allows it.
#[must_use]
pub fn with_range(mut served: Served, range: Option<&HeaderValue>) -> Served {
    if served.status != StatusCode::OK {
        return served;
    }
    served.headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    let total = served.body.len();
    match range.and_then(|value| value.to_str().ok()).and_then(|value| parse_range(value, total)) {
        None => served,
        Some(None) => {
            served.status = StatusCode::RANGE_NOT_SATISFIABLE;
            served.body = Bytes::new();
            insert_content_range(&mut served.headers, &format!("bytes */{total}"));
            served
        }
        Some(Some((start, end))) => {
            served.status = StatusCode::PARTIAL_CONTENT;
            served.body = served.body.slice(start..end);
            insert_content_range(&mut served.headers, &format!("bytes {start}-{}/{total}", end - 1));
            served
        }
    }
}

/// Whether the name can be a label or a handle: both are made by us, of letters, digits, `-` and `_`.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= NAME_LIMIT
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

fn insert_content_range(headers: &mut HeaderMap, text: &str) {
    if let Ok(value) = HeaderValue::from_str(text) {
        headers.insert(header::CONTENT_RANGE, value);
    }
}

/// `None`: no range that is understood. `Some(None)`: a range outside of the bytes. Otherwise start and end, end exclusive.
#[expect(clippy::option_option, reason = "the three answers of RFC 9110 section 14.2, private to this file")]
fn parse_range(text: &str, total: usize) -> Option<Option<(usize, usize)>> {
    let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
    let range = if first.is_empty() {
        let suffix: usize = last.parse().ok()?;
        (total.saturating_sub(suffix), total)
    } else {
        let start: usize = first.parse().ok()?;
        let end =
            if last.is_empty() { total } else { last.parse::<usize>().ok()?.saturating_add(1).min(total) };
        (start, end)
    };
    Some((range.0 < range.1).then_some(range))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check_range(range: Option<&str>, expected: Expect) {
        let served = Served::media("audio/wav", Bytes::from_static(b"0123456789"));
        let value = range.map(|text| HeaderValue::from_str(text).unwrap());
        let served = with_range(served, value.as_ref());
        let content_range = served.headers.get(header::CONTENT_RANGE).map(|v| v.to_str().unwrap());
        let body = String::from_utf8(served.body.to_vec()).unwrap();
        expected.assert_eq(&format!("{} {content_range:?} {body}", served.status.as_u16()));
    }

    #[test]
    fn ranges_are_cut_as_the_standard_says() {
        check_range(None, expect![[r#"200 None 0123456789"#]]);
        check_range(Some("bytes=0-"), expect![[r#"206 Some("bytes 0-9/10") 0123456789"#]]);
        check_range(Some("bytes=2-4"), expect![[r#"206 Some("bytes 2-4/10") 234"#]]);
        check_range(Some("bytes=8-99"), expect![[r#"206 Some("bytes 8-9/10") 89"#]]);
        check_range(Some("bytes=-3"), expect![[r#"206 Some("bytes 7-9/10") 789"#]]);
        check_range(Some("bytes=-99"), expect![[r#"206 Some("bytes 0-9/10") 0123456789"#]]);
        check_range(Some("bytes=10-"), expect![[r#"416 Some("bytes */10") "#]]);
        check_range(Some("bytes=4-2"), expect![[r#"416 Some("bytes */10") "#]]);
        check_range(Some("bytes=-0"), expect![[r#"416 Some("bytes */10") "#]]);
    }

    #[test]
    fn what_is_not_understood_gets_the_whole() {
        check_range(Some("bytes=0-1,4-5"), expect![[r#"200 None 0123456789"#]]);
        check_range(Some("rows=0-1"), expect![[r#"200 None 0123456789"#]]);
        check_range(Some("bytes=18446744073709551616-"), expect![[r#"200 None 0123456789"#]]);
        check_range(Some("bytes=3-18446744073709551615"), expect![[r#"206 Some("bytes 3-9/10") 3456789"#]]);
    }

    fn get(uri: &str) -> Request<()> {
        Request::get(uri).body(()).unwrap()
    }

    #[test]
    fn a_view_is_named_by_its_label() {
        let address = |uri: &str| {
            let request = get(uri);
            view_address(&request).map(|(label, path)| format!("{label} {path}")).map_err(|it| it.as_u16())
        };
        assert_eq!(address("mcpview://a1-b.localhost/"), Ok("a1-b /".to_owned()));
        assert_eq!(address("mcpview://a1-b.localhost/proxy?x"), Ok("a1-b /proxy".to_owned()));
        // As Windows spells it, and as it reaches the handler there.
        assert_eq!(address("http://mcpview.a1-b.view.localhost/"), Ok("a1-b /".to_owned()));
        assert_eq!(address("mcpview://a1-b.view.localhost/"), Ok("a1-b /".to_owned()));
        for uri in [
            "mcpview://localhost/",
            "mcpview://.localhost/",
            "mcpview://a.b.localhost/",
            "mcpview://a.localhost.example/",
            "mcpview://a/",
        ] {
            assert_eq!(address(uri), Err(404), "{uri}");
        }
        let post = Request::post("mcpview://a.localhost/").body(()).unwrap();
        assert_eq!(view_address(&post), Err(StatusCode::METHOD_NOT_ALLOWED));
    }

    /// The sources of the page's frames: the directive that a file of the configuration has.
    fn frame_sources(config: &str) -> Vec<String> {
        let config: serde_json::Value = serde_json::from_str(config).unwrap();
        let text = config["app"]["security"]["csp"]["default-src"].as_str().unwrap();
        text.split(' ').map(str::to_owned).collect()
    }

    /// Whether a source of a policy covers an origin (Content Security Policy Level 3, section 6.7.2.8): a scheme alone covers all of
    /// its scheme, and a wildcard is the leading labels and nothing else, so that `http://mcpview.*.localhost` covers nothing.
    fn covers(source: &str, origin: &str) -> bool {
        let (scheme, host) = origin.split_once("://").unwrap();
        match source.split_once("://") {
            None => source.strip_suffix(':') == Some(scheme),
            Some((of, pattern)) => {
                let host_fits = match pattern.strip_prefix('*') {
                    Some(ending) => host.strip_suffix(ending).is_some_and(|it| !it.is_empty()),
                    None => host == pattern,
                };
                of == scheme && host_fits
            }
        }
    }

    #[test]
    fn the_page_may_frame_the_origins_of_views_on_each_platform() {
        let label = usher_host::app_view::registry::HostLabel::new(0xa1);
        // On Windows the second file is merged over the first, so that it stands in place of it here.
        for (config, windows, expected) in [
            (include_str!("../../../tauri.conf.json"), false, "mcpview:"),
            (include_str!("../../../tauri.windows.conf.json"), true, "http://*.view.localhost"),
        ] {
            let sources = frame_sources(config);
            assert_eq!(sources, [expected]);
            let origin = label.origin(windows);
            assert!(sources.iter().any(|it| covers(it, &origin)), "{origin} is not covered by {sources:?}");
            // The window's own page and its channels are framed by nobody.
            for other in [
                "tauri://localhost",
                "http://tauri.localhost",
                "http://ipc.localhost",
                "http://usher-media.localhost",
                "http://view.localhost",
                "https://a.example",
                "http://localhost",
            ] {
                assert!(!sources.iter().any(|it| covers(it, other)), "{other} is covered by {sources:?}");
            }
        }
        assert!(!covers("http://mcpview.localhost", &label.origin(true)));
    }

    #[test]
    fn media_is_named_by_handle_and_index() {
        let address = |uri: &str| media_address(&get(uri)).map_err(|status| status.as_u16());
        assert_eq!(address("usher-media://localhost/h1/0"), Ok(("h1".to_owned(), 0)));
        assert_eq!(address("usher-media://localhost/h1%2F12"), Ok(("h1".to_owned(), 12)));
        for uri in [
            "usher-media://localhost/",
            "usher-media://localhost/h1",
            "usher-media://localhost/h1/x",
            "usher-media://localhost/../1",
            "usher-media://localhost/h1/0/1",
        ] {
            assert_eq!(address(uri), Err(404), "{uri}");
        }
    }

    #[test]
    fn a_type_that_no_header_can_carry_becomes_neutral() {
        let served = Served::media("image/png\r\nx: y", Bytes::new());
        assert_eq!(served.headers[header::CONTENT_TYPE], "application/octet-stream");
    }

    #[test]
    fn no_other_origin_may_read_the_bytes() {
        let response = Served::media("image/png", Bytes::new()).into_response();
        assert!(!response.headers().contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN));
        assert_eq!(response.headers()[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
    }
}
