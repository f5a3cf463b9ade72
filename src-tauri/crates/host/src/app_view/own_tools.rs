//! The tools that a View offers itself (MCP Apps 2026-01-26, "App-Provided Tools"): which of them are taken, and what their answers say.
//!
//! A list is never refused as a whole because of one tool: what is not taken is named with the reason. Deliberately absent: hints about
//! effects, which decide nothing, and a second page of a list.

use std::{sync::Arc, time::Duration};

use serde::Deserialize;
use serde_json::json;
use usher_engine::validation::{Compiled, NotChecked, Verdict};
use usher_protocol::{RawJson, Revision, codec, jsonrpc::ErrorObject, model::Tool};

use super::{bridge, words::Words};

/// How many tools of a View are taken, and how many of all Views a model is offered in one request.
pub const MOST_TOOLS: usize = 50;

/// The largest list that is read, in bytes.
pub const MAX_LIST: usize = 1 << 20;

/// The largest declaration of one tool, in bytes.
const MAX_TOOL: usize = 16 << 10;

/// The longest name of a tool, in bytes.
const LONGEST_NAME: usize = 64;

/// How much of a View's words about a tool is passed on, in characters.
const LONGEST_WORDS: usize = 1_000;

/// How many reasons are named; of more, their number.
const MOST_REASONS: usize = 10;

/// The largest answer to a call that is read, in bytes.
pub const MAX_TOOL_ANSWER: usize = 1 << 20;

/// How many calls of one View's tools may wait for its answers.
pub const MOST_CALLS: usize = 16;

/// How long a View may take to answer a call.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// What of a View's list is taken.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OwnTools {
    /// In the View's order. Names are unique, descriptions cut, schemas compile; `raw` is as it came.
    pub tools: Vec<Arc<Tool>>,
    /// What is not taken, a sentence each.
    pub left_out: Vec<String>,
}

impl OwnTools {
    /// Reads the result of `tools/list` as a View answered it.
    pub fn read(list: &str) -> Self {
        if list.len() > MAX_LIST {
            return Self::none(format!("The list has {} bytes, and {MAX_LIST} are read.", list.len()));
        }
        // A View speaks of tools as MCP did when Views were defined; audiences are a matter of servers.
        let read = RawJson::parse(list).map_err(|error| error.to_string()).and_then(|raw| {
            codec::decode_tools(Revision::V2025_11_25, &raw).map_err(|error| error.to_string())
        });
        let page = match read {
            Ok((page, _)) => page,
            Err(error) => return Self::none(format!("The list cannot be read: {error}.")),
        };
        let mut own = Self::default();
        let mut reasons: Vec<String> =
            page.rejected.iter().map(|it| format!("{}: {}.", shown(&it.name), it.why)).collect();
        let total = page.tools.len();
        for tool in page.tools {
            if own.tools.len() >= MOST_TOOLS {
                reasons.push(format!("{MOST_TOOLS} tools of a View are taken, and it offers {total}."));
                break;
            }
            match own.refusal(&tool) {
                Some(why) => reasons.push(format!("{}: {why}.", shown(&tool.name))),
                None => own.tools.push(Arc::new(in_short(tool))),
            }
        }
        let more = reasons.len().saturating_sub(MOST_REASONS);
        reasons.truncate(MOST_REASONS);
        if more > 0 {
            reasons.push(format!("{more} more are not taken."));
        }
        own.left_out = reasons;
        own
    }

    /// The tool of a name.
    pub fn get(&self, name: &str) -> Option<&Arc<Tool>> {
        self.tools.iter().find(|it| it.name == name)
    }

    fn none(why: String) -> Self {
        Self { tools: Vec::new(), left_out: vec![why] }
    }

    fn refusal(&self, tool: &Tool) -> Option<String> {
        let is_plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '-' | '.');
        if tool.name.is_empty() || tool.name.len() > LONGEST_NAME || !tool.name.chars().all(is_plain) {
            return Some(format!(
                "a name has 1 to {LONGEST_NAME} letters, digits, underscores, hyphens and dots"
            ));
        }
        if self.get(&tool.name).is_some() {
            return Some("there is one of this name already".to_owned());
        }
        if tool.raw.bytes() > MAX_TOOL {
            return Some(format!("its declaration has {} bytes, and {MAX_TOOL} are read", tool.raw.bytes()));
        }
        match Compiled::new(&tool.input_schema).check(&json!({}).into()) {
            Verdict::NotChecked(why @ (NotChecked::Schema(_) | NotChecked::Dialect(_))) => {
                Some(why.to_string())
            }
            Verdict::Fits | Verdict::Violates { .. } | Verdict::NotChecked(_) => None,
        }
    }
}

/// What a View answered to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnAnswer {
    /// Its words and pictures; may be none.
    pub words: Words,
    /// Whether it says that the tool failed.
    pub is_error: bool,
}

impl OwnAnswer {
    /// Reads the result of `tools/call` as a View answered it, as what it says to the model is read.
    ///
    /// # Errors
    /// It is no such result, or says more than a model is given; why, for people.
    pub fn read(result: &RawJson, takes_pictures: bool) -> Result<Self, String> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Wire {
            #[serde(default)]
            is_error: bool,
        }
        if result.bytes() > MAX_TOOL_ANSWER {
            return Err(format!("it has {} bytes, and {MAX_TOOL_ANSWER} are read", result.bytes()));
        }
        if !result.is_object() {
            return Err("it is not an object".to_owned());
        }
        let wire: Wire = result.to().map_err(|error| error.to_string())?;
        let (content, structured) = bridge::halves(result).map_err(said)?;
        let words = Words::of(&content, structured.as_ref(), takes_pictures).map_err(said)?;
        Ok(Self { words, is_error: wire.is_error })
    }
}

fn said(error: ErrorObject) -> String {
    error.message
}

/// A View's words about its tool, on one line and no longer than one reads.
fn in_short(mut tool: Tool) -> Tool {
    let line = |it: String| {
        // Marks that turn the direction of writing make a text look like another.
        let is_between = |it: char| {
            it.is_whitespace()
                || it.is_control()
                || matches!(it, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        let line = it.split(is_between).filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(LONGEST_WORDS) {
            Some((cut, _)) => format!("{}…", &line[..cut]),
            None => line,
        }
    };
    tool.description = tool.description.map(line);
    tool.title = tool.title.map(line);
    tool
}

fn shown(name: &str) -> String {
    format!("{:?}", &name[..name.floor_char_boundary(LONGEST_NAME)])
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::Value;

    use super::*;

    fn read(tools: Value) -> String {
        let own = OwnTools::read(&json!({"tools": tools}).to_string());
        let taken =
            own.tools.iter().map(|it| format!("{}: {}", it.name, it.description.as_deref().unwrap_or("-")));
        taken.chain(own.left_out.iter().map(|it| format!("not {it}"))).collect::<Vec<_>>().join("\n")
    }

    fn tool(name: &str) -> Value {
        json!({"name": name, "inputSchema": {"type": "object"}})
    }

    #[test]
    fn what_is_odd_is_left_out_with_its_reason_and_the_rest_is_taken() {
        let mut wordy = tool("wordy");
        wordy["description"] = "a\n\u{202e}b\u{0}\tc".into();
        let mut broken = tool("broken");
        broken["inputSchema"]["pattern"] = 7.into();
        let mut unknown = tool("dialect");
        unknown["inputSchema"]["$schema"] = "https://example.com/own".into();
        let mut large = tool("large");
        large["x"] = "x".repeat(MAX_TOOL).into();
        let long = "n".repeat(LONGEST_NAME + 1);
        expect![[r#"
            set_color: -
            wordy: a b c
            no_schema: -
            a.b-c: -
            not "set_color": there is one of this name already.
            not "": a name has 1 to 64 letters, digits, underscores, hyphens and dots.
            not "a b": a name has 1 to 64 letters, digits, underscores, hyphens and dots.
            not "größe": a name has 1 to 64 letters, digits, underscores, hyphens and dots.
            not "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn": a name has 1 to 64 letters, digits, underscores, hyphens and dots.
            not "broken": the schema cannot be used: 7 is not of type "string".
            not "dialect": the dialect https://example.com/own is not known.
            not "large": its declaration has 16439 bytes, and 16384 are read."#]].assert_eq(&read(json!([
            tool("set_color"), wordy, tool("set_color"), tool(""), tool("a b"), tool("größe"), tool(&long), broken, unknown, large,
            {"name": "no_schema"}, tool("a.b-c")
        ])));
    }

    #[test]
    fn ten_thousand_tools_are_fifty_and_a_larger_list_is_none() {
        let many: Vec<Value> = (0..10_000).map(|it| tool(&format!("t{it}"))).collect();
        let own = OwnTools::read(&json!({"tools": many}).to_string());
        assert_eq!((own.tools.len(), own.left_out.len()), (MOST_TOOLS, 1));
        assert_eq!(own.left_out[0], "50 tools of a View are taken, and it offers 10000.");
        let bad: Vec<Value> = (0..1_000).map(|it| tool(&format!("t {it}"))).collect();
        let own = OwnTools::read(&json!({"tools": bad}).to_string());
        assert_eq!((own.tools.len(), own.left_out.len()), (0, MOST_REASONS + 1));
        assert_eq!(own.left_out[MOST_REASONS], "990 more are not taken.");
        let large = json!({"tools": [tool("a")], "x": "x".repeat(MAX_LIST)}).to_string();
        assert!(OwnTools::read(&large).tools.is_empty());
        assert!(OwnTools::read(&large).left_out[0].ends_with("bytes, and 1048576 are read."));
        assert!(OwnTools::read("{").left_out[0].starts_with("The list cannot be read: "));
        assert!(OwnTools::read(r#"{"tools":7}"#).tools.is_empty());
    }

    #[test]
    fn a_long_description_is_cut_and_the_declaration_stays_as_it_came() {
        let mut wordy = tool("t");
        wordy["description"] = "é".repeat(LONGEST_WORDS + 5).into();
        let own = OwnTools::read(&json!({"tools": [wordy]}).to_string());
        assert_eq!(own.tools[0].description.as_ref().unwrap().chars().count(), LONGEST_WORDS + 1);
        assert_eq!(own.tools[0].raw.get(), wordy.to_string());
        assert!(own.get("t").is_some() && own.get("T").is_none());
    }

    #[test]
    fn an_answer_is_its_text_and_its_value_and_nothing_else() {
        let answer = |it: Value| OwnAnswer::read(&it.into(), false);
        let text = |it: &str| json!({"type": "text", "text": it});
        let picture = json!({"type": "image", "data": "QUJD", "mimeType": "image/png"});
        let whole = answer(
            json!({"content": [text("a"), picture, text("b")], "structuredContent": {"n": 1}, "isError": true,
            "_meta": {"secret": 1}, "outputs": [{"audience": "assistant", "format": "content", "content": [text("x")]}]}),
        );
        let left_out = Some("1 picture (the model takes none)".to_owned());
        let words = Words { text: "a\nb\n{\"n\":1}".to_owned(), left_out, ..Words::default() };
        assert_eq!(whole, Ok(OwnAnswer { words, is_error: true }));
        assert_eq!(answer(json!({})).unwrap().words, Words::default());
        assert_eq!(answer(json!({"content": []})).unwrap().words, Words::default());
        let lies = json!({"content": [text("a"), picture]}).into();
        let refused = OwnAnswer::read(&lies, true).unwrap_err();
        assert_eq!(refused, "a picture is called image/png and is none");
        for bad in [
            json!([]),
            json!({"content": 7}),
            json!({"content": [{"type": "new"}]}),
            json!({"isError": "no"}),
        ] {
            assert!(answer(bad.clone()).is_err(), "{bad}");
        }
        assert!(
            answer(json!({"content": [text(&"x".repeat(100_001))]})).is_err(),
            "more than a model is given"
        );
        let giant = answer(json!({"content": [text(&"x".repeat(MAX_TOOL_ANSWER))]}));
        assert!(giant.unwrap_err().ends_with("bytes, and 1048576 are read"));
    }
}
