//! What a View would say to the model: exactly what the user is asked about, and what reaches the model after a yes.
//!
//! Text crosses, of resources too; links as one line each; a structured value as its JSON; and pictures, where the model takes them. What
//! else a View sends beside them is counted and named, never dropped in silence. Deliberately absent: sounds and the bytes of resources,
//! which cannot be looked through before they are agreed to.

use serde_json::json;
use usher_protocol::{
    RawJson,
    common::{BlockKind, ContentBlock, ResourceBody},
    jsonrpc::ErrorObject,
};

use super::picture::Picture;

/// Characters that a user can be expected to look through; more are refused.
pub const MOST_CHARACTERS: usize = 100_000;

/// The words of a View, and its pictures.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words {
    /// The very text.
    pub text: String,
    /// What goes after it.
    pub pictures: Vec<Picture>,
    /// What does not cross, for people, such as `2 pictures and 1 sound`.
    pub left_out: Option<String>,
}

impl Words {
    /// Reads them for a model that takes pictures or does not.
    ///
    /// # Errors
    /// There are none, or too many, or a picture is none. The error is the answer to the View.
    pub fn read(
        content: &[ContentBlock],
        structured: Option<&RawJson>,
        takes_pictures: bool,
    ) -> Result<Self, ErrorObject> {
        let words = Self::of(content, structured, takes_pictures)?;
        if words.text.trim().is_empty() && words.pictures.is_empty() {
            return Err(invalid(if takes_pictures {
                "only text and pictures reach the model, and there are none".to_owned()
            } else {
                "only text reaches the model, and there is none".to_owned()
            }));
        }
        Ok(words)
    }

    /// Reads them where there may be none.
    ///
    /// # Errors
    /// There are too many, or a picture is none.
    pub fn of(
        content: &[ContentBlock],
        structured: Option<&RawJson>,
        takes_pictures: bool,
    ) -> Result<Self, ErrorObject> {
        let (mut texts, mut pictures) = (Vec::new(), Vec::new());
        let mut rest = LeftOut { takes_pictures, ..LeftOut::default() };
        for block in content {
            match &block.kind {
                BlockKind::Text(text) => texts.push(text.clone()),
                BlockKind::Link(_) => texts.push(line(block)),
                BlockKind::Embedded(it) => match &it.body {
                    ResourceBody::Text(text) => texts.push(format!("{}\n{text}", it.uri)),
                    ResourceBody::Blob(_) => rest.resources += 1,
                },
                BlockKind::Image(media) if takes_pictures => match Picture::read(media).map_err(invalid)? {
                    Some(picture) => pictures.push(picture),
                    None => rest.pictures += 1,
                },
                BlockKind::Image(_) => rest.pictures += 1,
                BlockKind::Audio(_) => rest.sounds += 1,
                BlockKind::Unknown(_) => rest.others += 1,
            }
        }
        texts.extend(structured.map(|it| it.get().to_owned()));
        texts.retain(|it| !it.is_empty());
        let text = texts.join("\n");
        if text.chars().count() > MOST_CHARACTERS {
            return Err(invalid(format!("more than {MOST_CHARACTERS} characters do not reach the model")));
        }
        Picture::fit(&pictures).map_err(|why| invalid(format!("{why} do not reach the model")))?;
        Ok(Self { text, pictures, left_out: rest.named() })
    }

    /// What a View hears after a yes: also what of it was left out.
    pub fn answer(&self) -> RawJson {
        match &self.left_out {
            Some(left_out) => json!({"_meta": {"leftOut": left_out}}).into(),
            None => json!({}).into(),
        }
    }

    /// The pictures as blocks of content, if there are some.
    pub fn picture_blocks(&self) -> Option<RawJson> {
        let block =
            |it: &Picture| ContentBlock { kind: BlockKind::Image(it.media.clone()), annotations: None };
        let blocks: Vec<ContentBlock> = self.pictures.iter().map(block).collect();
        if blocks.is_empty() { None } else { RawJson::of(&blocks).ok() }
    }

    /// How many bytes cross.
    pub fn bytes(&self) -> usize {
        self.text.len() + self.pictures.iter().map(|it| it.bytes).sum::<usize>()
    }
}

/// How many of each kind do not cross.
#[derive(Default)]
struct LeftOut {
    takes_pictures: bool,
    pictures: usize,
    sounds: usize,
    resources: usize,
    others: usize,
}

impl LeftOut {
    fn named(&self) -> Option<String> {
        let counted = [
            (self.pictures, "picture"),
            (self.sounds, "sound"),
            (self.resources, "resource"),
            (self.others, "part"),
        ];
        let named: Vec<String> = counted
            .iter()
            .filter(|it| it.0 > 0)
            .map(|(count, name)| {
                let why = match (*name, self.takes_pictures) {
                    ("picture", false) => " (the model takes none)",
                    _ => "",
                };
                format!("{count} {name}{}{why}", if *count == 1 { "" } else { "s" })
            })
            .collect();
        match named.split_last()? {
            (last, []) => Some(last.clone()),
            (last, others) => Some(format!("{} and {last}", others.join(", "))),
        }
    }
}

/// A link as one line, as in the result of a tool. It is not followed.
fn line(link: &ContentBlock) -> String {
    let bare = ContentBlock { kind: link.kind.clone(), annotations: None };
    RawJson::of(&bare).map(|it| it.get().to_owned()).unwrap_or_default()
}

fn invalid(message: String) -> ErrorObject {
    ErrorObject::new(ErrorObject::INVALID_PARAMS, message)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const PNG: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

    fn blocks(content: Value) -> Vec<ContentBlock> {
        RawJson::from(content).to().unwrap()
    }

    /// The text, how many pictures, and what is left out.
    fn read(
        content: Value,
        structured: Option<Value>,
        takes: bool,
    ) -> Result<(String, usize, String), String> {
        let words = Words::read(&blocks(content), structured.map(RawJson::from).as_ref(), takes);
        let words = words.map_err(|error| error.message)?;
        Ok((words.text, words.pictures.len(), words.left_out.unwrap_or_default()))
    }

    fn text(it: &str) -> Value {
        json!({"type": "text", "text": it, "annotations": {"priority": 1}})
    }

    fn picture(mime: &str, data: &str) -> Value {
        json!({"type": "image", "data": data, "mimeType": mime, "annotations": {"audience": ["user"]}})
    }

    fn said(text: &str, pictures: usize, left_out: &str) -> Result<(String, usize, String), String> {
        Ok((text.to_owned(), pictures, left_out.to_owned()))
    }

    #[test]
    fn the_words_are_texts_resources_links_and_the_structured_value_and_the_rest_is_named() {
        let sound = json!({"type": "audio", "data": "QUJD", "mimeType": "audio/wav"});
        let link = json!({"type": "resource_link", "uri": "https://a.example/", "name": "a\nb", "x": 1, "_meta": {"y": 2}});
        let resource =
            json!({"type": "resource", "resource": {"uri": "x:1", "text": "words", "mimeType": "text/html"}});
        let bytes =
            json!({"type": "resource", "resource": {"uri": "x:2", "blob": "QUJD", "mimeType": "image/png"}});
        let all = json!([text("a"), resource, bytes, text("b"), text(""), sound, link, sound]);
        assert_eq!(
            read(all, Some(json!({"n": 1})), true),
            said(
                "a\nx:1\nwords\nb\n{\"type\":\"resource_link\",\"uri\":\"https://a.example/\",\"name\":\"a\\nb\"}\n{\"n\":1}",
                0,
                "2 sounds and 1 resource"
            )
        );
        assert_eq!(read(json!([text("a")]), None, true), said("a", 0, ""));
        assert_eq!(
            read(json!([]), Some(json!({"n": 1e2})), false),
            said(r#"{"n":100.0}"#, 0, ""),
            "a structured value stands for itself"
        );
    }

    #[test]
    fn pictures_cross_where_the_model_takes_them_and_are_named_where_it_does_not() {
        let png = || picture("image/png", PNG);
        assert_eq!(read(json!([png(), text("a"), png()]), None, true), said("a", 2, ""));
        assert_eq!(
            read(json!([png(), text("a"), png()]), None, false),
            said("a", 0, "2 pictures (the model takes none)")
        );
        assert_eq!(read(json!([png()]), None, true), said("", 1, ""));
        let none = || Err("only text reaches the model, and there is none".to_owned());
        assert_eq!(read(json!([png()]), None, false), none());
        assert_eq!(read(json!([text(" \n")]), None, false), none());
        let neither = Err("only text and pictures reach the model, and there are none".to_owned());
        assert_eq!(read(json!([picture("image/svg+xml", PNG)]), None, true), neither);
        // What models take none of is named; what lies about itself is refused, with all that stands beside it.
        assert_eq!(
            read(json!([text("a"), picture("text/html", "PGI+")]), None, true),
            said("a", 0, "1 picture")
        );
        let lies = read(json!([text("a"), png(), picture("image/png", "PHN2Zy8+")]), None, true);
        assert_eq!(lies, Err("a picture is called image/png and is none".to_owned()));
        let many = vec![png(); super::super::picture::MOST_PICTURES + 1];
        assert_eq!(
            read(many.into(), None, true),
            Err("more than 8 pictures do not reach the model".to_owned())
        );
    }

    #[test]
    fn of_a_picture_its_type_and_its_bytes_are_kept_and_no_more() {
        let words = Words::read(&blocks(json!([picture("Image/PNG", PNG)])), None, true).unwrap();
        let kept = json!([{"type": "image", "data": PNG, "mimeType": "image/png"}]);
        assert_eq!(words.picture_blocks().unwrap().to_value(), kept);
        assert_eq!(words.bytes(), 70);
        assert_eq!(Words::default().picture_blocks(), None);
    }

    #[test]
    fn more_than_can_be_looked_through_is_refused() {
        let long = |it: usize| json!([{"type": "text", "text": "é".repeat(it)}]);
        assert!(read(long(MOST_CHARACTERS), None, true).is_ok());
        assert!(read(long(MOST_CHARACTERS + 1), None, true).unwrap_err().starts_with("more than 100000"));
    }
}
