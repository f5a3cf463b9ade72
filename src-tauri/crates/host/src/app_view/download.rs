//! The files that a View would have saved (MCP Apps 2026-01-26, `ui/download-file`): counted, for the user to be asked about.
//!
//! Deliberately absent: names that are safe on a disk, reading and writing, which the conversation does, and the web: a link is read from
//! the View's own server, after the user's yes, or not at all.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use usher_protocol::{
    RawJson,
    common::{BlockKind, ContentBlock, EmbeddedResource, ResourceBody},
    jsonrpc::ErrorObject,
};

/// How many files a View may have saved at once.
pub const MOST_FILES: usize = 16;

/// How many bytes they may have together.
pub const MOST_BYTES: usize = 64 << 20;

/// A file that a View would have saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedFile {
    /// Its address; the last part is its name.
    pub uri: String,
    /// Where its bytes are.
    pub body: FileBody,
}

/// Where the bytes of a file are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileBody {
    /// Here.
    Here(Vec<u8>),
    /// At the View's own server, to be read by its address.
    AtServer,
}

/// Reads what `ui/download-file` names.
///
/// # Errors
/// There are none or too many, or one is no resource or cannot be read. The error is the answer to the View.
pub fn read(contents: &[ContentBlock]) -> Result<Vec<WantedFile>, ErrorObject> {
    if contents.is_empty() || contents.len() > MOST_FILES {
        return Err(invalid(format!("one to {MOST_FILES} files are saved at once")));
    }
    let files: Vec<WantedFile> = contents.iter().map(file).collect::<Result<_, ErrorObject>>()?;
    let bytes = files.iter().map(|it| match &it.body {
        FileBody::Here(bytes) => bytes.len(),
        FileBody::AtServer => 0,
    });
    fits(bytes.sum())?;
    Ok(files)
}

/// Whether so many bytes may be saved at once.
///
/// # Errors
/// They are too many. The error is the answer to the View.
pub fn fits(bytes: usize) -> Result<(), ErrorObject> {
    if bytes > MOST_BYTES {
        return Err(invalid(format!("the files have {bytes} bytes; {MOST_BYTES} are saved at once")));
    }
    Ok(())
}

fn file(block: &ContentBlock) -> Result<WantedFile, ErrorObject> {
    match &block.kind {
        BlockKind::Embedded(EmbeddedResource { uri, body, .. }) => {
            let bytes = match body {
                ResourceBody::Text(text) => text.clone().into_bytes(),
                ResourceBody::Blob(blob) => decoded(blob).map_err(invalid)?,
            };
            Ok(WantedFile { uri: uri.clone(), body: FileBody::Here(bytes) })
        }
        BlockKind::Link(link) => Ok(WantedFile { uri: link.uri.clone(), body: FileBody::AtServer }),
        BlockKind::Text(_) | BlockKind::Image(_) | BlockKind::Audio(_) | BlockKind::Unknown(_) => {
            Err(invalid("only resources and links to resources are saved".to_owned()))
        }
    }
}

/// The bytes of a resource in the answer to `resources/read`: those of this address, or the only ones.
///
/// # Errors
/// It has none, or they cannot be read. Says why.
pub fn bytes_of(uri: &str, answer: &RawJson) -> Result<Vec<u8>, String> {
    let page: BTreeMap<String, RawJson> = answer.to().map_err(|error| error.to_string())?;
    let contents: Vec<BTreeMap<String, RawJson>> =
        page.get("contents").and_then(|it| it.to().ok()).unwrap_or_default();
    let text = |content: &BTreeMap<String, RawJson>, key: &str| content.get(key)?.to::<String>().ok();
    let named = contents.iter().find(|it| text(it, "uri").as_deref() == Some(uri));
    let only = || contents.first().filter(|_| contents.len() == 1);
    let content = named.or_else(only).ok_or_else(|| format!("the server has nothing at {uri}"))?;
    match (text(content, "text"), text(content, "blob")) {
        (Some(text), _) => Ok(text.into_bytes()),
        (None, Some(blob)) => decoded(&blob),
        (None, None) => Err(format!("what the server has at {uri} is neither text nor bytes")),
    }
}

fn decoded(blob: &str) -> Result<Vec<u8>, String> {
    STANDARD.decode(blob).map_err(|error| format!("a file is no base64: {error}"))
}

fn invalid(message: String) -> ErrorObject {
    ErrorObject::new(ErrorObject::INVALID_PARAMS, message)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn wanted(contents: Value) -> Result<Vec<WantedFile>, String> {
        let contents: Vec<ContentBlock> = RawJson::from(contents).to().unwrap();
        read(&contents).map_err(|it| it.message)
    }

    fn embedded(uri: &str, body: Value) -> Value {
        let mut resource = body;
        resource["uri"] = json!(uri);
        json!({"type": "resource", "resource": resource})
    }

    #[test]
    fn files_are_read_and_links_are_left_to_the_views_server() {
        let files = wanted(json!([
            embedded("file:///a/report.csv", json!({"text": "é,1"})),
            embedded("x:2", json!({"blob": "AAEC", "mimeType": "image/png"})),
            {"type": "resource_link", "uri": "https://a.example/x", "name": "x"},
        ]));
        let here = |bytes: &[u8]| FileBody::Here(bytes.to_vec());
        let bodies: Vec<FileBody> = files.unwrap().into_iter().map(|it| it.body).collect();
        assert_eq!(bodies, [here("é,1".as_bytes()), here(&[0, 1, 2]), FileBody::AtServer]);
    }

    #[test]
    fn what_is_no_file_or_too_much_is_refused() {
        let text = json!({"type": "text", "text": "a"});
        let small = embedded("x:1", json!({"text": "a"}));
        let refused = [
            json!([]),
            json!(vec![small.clone(); MOST_FILES + 1]),
            json!([small, text]),
            json!([embedded("x:1", json!({"blob": "not base64!"}))]),
            json!([embedded("x:1", json!({}))]),
        ];
        for contents in refused {
            assert!(wanted(contents.clone()).is_err(), "{contents}");
        }
        let large = "x".repeat(MOST_BYTES / 2);
        let file = embedded("x:1", json!({"text": large}));
        assert!(wanted(json!([file, file])).is_ok());
        assert!(wanted(json!([file, file, small])).unwrap_err().contains("67108864 are saved"));
    }

    #[test]
    fn an_answer_of_the_server_has_the_bytes_of_the_address() {
        let read = |answer: Value| bytes_of("x:1", &answer.into());
        let other = json!({"uri": "x:2", "text": "two"});
        let this = json!({"uri": "x:1", "blob": "AAEC"});
        assert_eq!(read(json!({"contents": [other, this]})), Ok(vec![0, 1, 2]));
        assert_eq!(read(json!({"contents": [other]})), Ok(b"two".to_vec()));
        assert!(read(json!({"contents": [other, other]})).is_err());
        for nothing in [json!({}), json!([]), json!({"contents": []}), json!({"contents": [{"uri": "x:1"}]})]
        {
            assert!(read(nothing.clone()).is_err(), "{nothing}");
        }
    }
}
