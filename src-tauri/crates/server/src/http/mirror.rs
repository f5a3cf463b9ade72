//! Headers that repeat what the body says, for those on the way who do not read bodies: what they say must be true
//! (2026-07-28 basic/transports/streamable-http).

use base64::{Engine, engine::general_purpose::STANDARD};
use http::HeaderMap;
use serde_json::Value;
use usher_protocol::{RawJson, jsonrpc::ErrorObject};

use super::HEADER_MISMATCH;
use crate::{declaration::HeaderArgument, negotiation::RequestMeta};

/// The header that names the revision.
pub(super) const REVISION: &str = "mcp-protocol-version";

/// The value of a header, if it is there once and is text.
pub(super) fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    let mut all = headers.get_all(name).iter();
    let value = all.next()?.to_str().ok()?.trim().to_owned();
    all.next().is_none().then_some(value)
}

/// Checks that the header names the revision that the body names.
pub(super) fn revision(headers: &HeaderMap, meta: &RequestMeta) -> Result<(), ErrorObject> {
    let named = header(headers, REVISION);
    if named.as_deref() == meta.named_revision() { Ok(()) } else { Err(mismatch("MCP-Protocol-Version")) }
}

/// Checks every header of a request that stands alone.
///
/// # Errors
/// One is missing or says something else.
pub(super) fn check<'a>(
    headers: &HeaderMap,
    meta: &RequestMeta,
    method: &str,
    params: Option<&RawJson>,
    declared: impl Fn(&str) -> Option<&'a [HeaderArgument]>,
) -> Result<(), ErrorObject> {
    revision(headers, meta)?;
    if header(headers, "mcp-method").as_deref() != Some(method) {
        return Err(mismatch("Mcp-Method"));
    }
    let named_by = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ => return Ok(()),
    };
    let params = params.map(RawJson::to_value).unwrap_or_default();
    let Some(name) = params.get(named_by).and_then(Value::as_str) else {
        // The method says what is missing.
        return Ok(());
    };
    if header(headers, "mcp-name").and_then(|it| decode(&it)).as_deref() != Some(name) {
        return Err(mismatch("Mcp-Name"));
    }
    if method != "tools/call" {
        return Ok(());
    }
    for argument in declared(name).unwrap_or_default() {
        let value = argument.path.iter().try_fold(&params["arguments"], |it, key| it.get(key));
        let expected = match value {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(other) => Some(other.to_string()),
        };
        let title = format!("Mcp-Param-{}", argument.name);
        let given = header(headers, &title).map(|it| decode(&it));
        let is_there = headers.contains_key(title.as_str());
        let agrees = match (expected, given) {
            (None, None) => !is_there,
            (Some(expected), Some(Some(given))) => expected == given,
            (Some(_), None | Some(None)) | (None, Some(_)) => false,
        };
        if !agrees {
            return Err(mismatch(&title));
        }
    }
    Ok(())
}

/// What a header's value stands for: itself, or what is encoded between `=?base64?` and `?=`.
fn decode(value: &str) -> Option<String> {
    let Some(encoded) = value.strip_prefix("=?base64?").and_then(|it| it.strip_suffix("?=")) else {
        return Some(value.to_owned());
    };
    String::from_utf8(STANDARD.decode(encoded).ok()?).ok()
}

fn mismatch(name: &str) -> ErrorObject {
    ErrorObject::new(HEADER_MISMATCH, format!("the header {name} does not say what the body says"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const VERSION: &str = "2026-12-01";

    /// Whether a call of `t` with these arguments agrees with its headers.
    fn agrees(arguments: &Value, given: &[(&str, &str)]) -> bool {
        let params = json!({
            "name": "t", "arguments": arguments,
            "_meta": {"io.modelcontextprotocol/protocolVersion": VERSION}
        });
        let params = RawJson::from(params);
        let meta = RequestMeta::read(Some(&params)).unwrap();
        let mut headers = HeaderMap::new();
        for (name, value) in given {
            headers.append(name.parse::<http::HeaderName>().unwrap(), value.parse().unwrap());
        }
        let declared = [HeaderArgument { path: vec!["to".into(), "region".into()], name: "Region".into() }];
        let checked = check(&headers, &meta, "tools/call", Some(&params), |_| Some(&declared));
        assert!(checked.as_ref().err().is_none_or(|it| it.code == HEADER_MISMATCH));
        checked.is_ok()
    }

    #[test]
    fn headers_say_what_the_body_says() {
        let right = [(REVISION, VERSION), ("mcp-method", "tools/call"), ("mcp-name", "t")];
        assert!(agrees(&json!({}), &right));
        for at in 0..right.len() {
            let mut wrong = right;
            wrong[at].1 = "other";
            assert!(!agrees(&json!({}), &wrong));
            let missing: Vec<_> = right.iter().enumerate().filter(|it| it.0 != at).map(|it| *it.1).collect();
            assert!(!agrees(&json!({}), &missing));
            let twice: Vec<_> = right.iter().chain([&right[at]]).copied().collect();
            assert!(!agrees(&json!({}), &twice));
        }
    }

    #[test]
    fn arguments_are_repeated_as_they_are() {
        let region = |value: Value| json!({"to": {"region": value}});
        for (arguments, given, expected) in [
            (region(json!("eu")), Some("eu"), true),
            (region(json!("eu")), Some("us"), false),
            (region(json!("eu")), None, false),
            (region(json!("für")), Some("=?base64?ZsO8cg==?="), true),
            (region(json!("für")), Some("=?base64?ZsO8cg?="), false),
            (region(json!("für")), Some("=?base64?!!!?="), false),
            (region(json!("=?base64?x")), Some("=?base64?x"), true),
            (region(json!(42)), Some("42"), true),
            (region(json!(true)), Some("true"), true),
            (region(Value::Null), None, true),
            (region(Value::Null), Some("null"), false),
            (json!({}), None, true),
            (json!({}), Some("eu"), false),
        ] {
            let mut all = vec![(REVISION, VERSION), ("mcp-method", "tools/call"), ("mcp-name", "t")];
            all.extend(given.map(|it| ("mcp-param-region", it)));
            assert_eq!(agrees(&arguments, &all), expected, "{arguments} {given:?}");
        }
    }
}
