//! What a View would say to the model, in words: exactly what the user is asked about, and what reaches the model after a yes.
//!
//! Text crosses, and a structured value as its JSON. What else a View sends beside them is counted and named, never dropped in silence.
//! Deliberately absent: pictures and sounds, which would have to be shown to be agreed to.

use usher_protocol::{
    RawJson,
    common::{BlockKind, ContentBlock},
    jsonrpc::ErrorObject,
};

/// Characters that a user can be expected to look through; more are refused.
pub const MOST_CHARACTERS: usize = 100_000;

/// The words of a View.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// The very text.
    pub text: String,
    /// What does not cross, for people, such as `2 pictures and 1 link`.
    pub left_out: Option<String>,
}

impl Words {
    /// Reads them.
    ///
    /// # Errors
    /// There are none, or too many. The error is the answer to the View.
    pub fn read(content: &[ContentBlock], structured: Option<&RawJson>) -> Result<Self, ErrorObject> {
        let words = Self::of(content, structured)?;
        if words.text.trim().is_empty() {
            return Err(invalid("only text reaches the model, and there is none".to_owned()));
        }
        Ok(words)
    }

    /// Reads them where there may be none.
    ///
    /// # Errors
    /// There are too many.
    pub fn of(content: &[ContentBlock], structured: Option<&RawJson>) -> Result<Self, ErrorObject> {
        let texts = content.iter().filter_map(ContentBlock::as_text);
        let all: Vec<&str> = texts.chain(structured.map(RawJson::get)).filter(|it| !it.is_empty()).collect();
        let text = all.join("\n");
        if text.chars().count() > MOST_CHARACTERS {
            return Err(invalid(format!("more than {MOST_CHARACTERS} characters do not reach the model")));
        }
        Ok(Self { text, left_out: left_out(content) })
    }
}

fn left_out(content: &[ContentBlock]) -> Option<String> {
    let (mut pictures, mut sounds, mut links, mut resources, mut others) = (0, 0, 0, 0, 0);
    for block in content {
        match block.kind {
            BlockKind::Text(_) => {}
            BlockKind::Image(_) => pictures += 1,
            BlockKind::Audio(_) => sounds += 1,
            BlockKind::Link(_) => links += 1,
            BlockKind::Embedded(_) => resources += 1,
            BlockKind::Unknown(_) => others += 1,
        }
    }
    let counted: [(usize, &str); 5] = [
        (pictures, "picture"),
        (sounds, "sound"),
        (links, "link"),
        (resources, "resource"),
        (others, "part"),
    ];
    let named: Vec<String> = counted
        .iter()
        .filter(|it| it.0 > 0)
        .map(|(count, name)| format!("{count} {name}{}", if *count == 1 { "" } else { "s" }))
        .collect();
    match named.split_last()? {
        (last, []) => Some(last.clone()),
        (last, others) => Some(format!("{} and {last}", others.join(", "))),
    }
}

fn invalid(message: String) -> ErrorObject {
    ErrorObject::new(ErrorObject::INVALID_PARAMS, message)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(content: Value, structured: Option<Value>) -> Result<(String, Option<String>), String> {
        let content: Vec<ContentBlock> = RawJson::from(content).to().unwrap();
        let words = Words::read(&content, structured.map(RawJson::from).as_ref());
        words.map(|it| (it.text, it.left_out)).map_err(|error| error.message)
    }

    #[test]
    fn the_words_are_the_text_and_the_structured_value_and_the_rest_is_named() {
        let picture = json!({"type": "image", "data": "QUJD", "mimeType": "image/png"});
        let sound = json!({"type": "audio", "data": "QUJD", "mimeType": "audio/wav"});
        let link = json!({"type": "resource_link", "uri": "https://a.example/", "name": "a"});
        let resource = json!({"type": "resource", "resource": {"uri": "x:1", "text": "no"}});
        let text = |it: &str| json!({"type": "text", "text": it, "annotations": {"priority": 1}});
        assert_eq!(
            read(json!([text("a"), resource, text("b"), text("")]), Some(json!({"n": 1}))),
            Ok(("a\nb\n{\"n\":1}".to_owned(), Some("1 resource".to_owned())))
        );
        assert_eq!(read(json!([text("a")]), None), Ok(("a".to_owned(), None)));
        assert_eq!(
            read(json!([picture, text("a"), picture, sound, link]), None).unwrap().1.unwrap(),
            "2 pictures, 1 sound and 1 link"
        );
        let none = Err("only text reaches the model, and there is none".to_owned());
        assert_eq!(read(json!([picture]), None), none);
        assert_eq!(read(json!([text(" \n")]), None), none);
        assert_eq!(
            read(json!([]), Some(json!({"n": 1e2}))).unwrap().0,
            r#"{"n":100.0}"#,
            "a structured value stands for itself"
        );
    }

    #[test]
    fn more_than_can_be_looked_through_is_refused() {
        let text = |it: usize| json!([{"type": "text", "text": "é".repeat(it)}]);
        assert!(read(text(MOST_CHARACTERS), None).is_ok());
        assert!(read(text(MOST_CHARACTERS + 1), None).unwrap_err().starts_with("more than 100000"));
    }
}
