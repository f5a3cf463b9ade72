//! What a tool may be called with when nobody says so: only what its own declaration offers, and nothing of a tool that warns.

use serde_json::{Map, Value, json};
use usher_protocol::{RawJson, model::Tool};

use crate::validation::{Compiled, Verdict};

/// The deepest nesting that is filled in.
const MAX_DEPTH: usize = 12;

/// A text that no record is named by.
const NOTHING: &str = "usher-check-finds-nothing";

/// Words in a name that say that something outside is changed. Each is a whole word of the name.
const WARNING_WORDS: [&str; 165] = [
    "accept",
    "activate",
    "add",
    "alter",
    "append",
    "apply",
    "approve",
    "archive",
    "assign",
    "attach",
    "authorize",
    "ban",
    "block",
    "book",
    "broadcast",
    "buy",
    "cancel",
    "charge",
    "clear",
    "click",
    "close",
    "commit",
    "confirm",
    "connect",
    "copy",
    "create",
    "deactivate",
    "decline",
    "decrement",
    "delete",
    "demote",
    "deny",
    "deploy",
    "destroy",
    "detach",
    "disable",
    "disconnect",
    "dismiss",
    "dispatch",
    "donate",
    "drop",
    "edit",
    "eject",
    "emit",
    "enable",
    "enqueue",
    "erase",
    "evict",
    "exec",
    "execute",
    "flush",
    "fork",
    "freeze",
    "fulfil",
    "fulfill",
    "grant",
    "halt",
    "import",
    "increment",
    "insert",
    "install",
    "invalidate",
    "invite",
    "invoke",
    "join",
    "kill",
    "launch",
    "lock",
    "merge",
    "mint",
    "modify",
    "move",
    "mute",
    "notify",
    "order",
    "overwrite",
    "patch",
    "pause",
    "pay",
    "persist",
    "post",
    "press",
    "promote",
    "provision",
    "publish",
    "purge",
    "push",
    "put",
    "quit",
    "rebase",
    "reboot",
    "recover",
    "redeem",
    "refund",
    "register",
    "reject",
    "reload",
    "remove",
    "rename",
    "reopen",
    "reorder",
    "repair",
    "replace",
    "reply",
    "resend",
    "reserve",
    "reset",
    "resize",
    "respond",
    "restart",
    "restore",
    "resume",
    "retry",
    "revert",
    "revoke",
    "rollback",
    "rotate",
    "run",
    "save",
    "sell",
    "send",
    "set",
    "shutdown",
    "sign",
    "spawn",
    "spend",
    "start",
    "stop",
    "store",
    "submit",
    "subscribe",
    "suspend",
    "swap",
    "sync",
    "synchronize",
    "terminate",
    "toggle",
    "trade",
    "transfer",
    "trash",
    "trigger",
    "truncate",
    "tweet",
    "unassign",
    "unban",
    "unblock",
    "undo",
    "unfollow",
    "uninstall",
    "unlink",
    "unlock",
    "unmute",
    "unpin",
    "unpublish",
    "unregister",
    "unsubscribe",
    "untag",
    "update",
    "upgrade",
    "upload",
    "upsert",
    "vote",
    "wipe",
    "withdraw",
    "write",
];

/// Why a tool is not called unasked, if it warns by its annotations or its name.
pub fn warning(tool: &Tool) -> Option<String> {
    let hints = &tool.annotations;
    if hints.destructive_hint == Some(true) {
        return Some("its annotations say that it may destroy something (destructiveHint)".to_owned());
    }
    if hints.read_only_hint == Some(false) {
        return Some("its annotations say that it changes something (readOnlyHint is false)".to_owned());
    }
    let words = words(&tool.name);
    let word = WARNING_WORDS.iter().find(|it| words.iter().any(|word| word == *it))?;
    Some(format!("its name says {word:?}"))
}

/// The words of a name, whatever joins them: `get-sum`, `get_sum`, `getSum`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && before.is_lowercase()) {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words
}

/// Arguments cannot be made from the declaration alone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place} {why}")]
pub struct NoArguments {
    /// Which argument.
    pub place: String,
    /// What its schema lacks.
    pub why: String,
}

/// Arguments for a call that gives something: examples, defaults, constants and enumerations first, then the smallest value that the
/// schema allows. A free text is made up only for a tool that says that it changes nothing.
///
/// # Errors
/// A required argument has no such value.
pub fn normal(tool: &Tool) -> Result<RawJson, NoArguments> {
    let root = tool.input_schema.to_value();
    let free_text = tool.annotations.read_only_hint == Some(true);
    let value = Maker { root: &root, free_text }.value(&root, "the arguments", 0)?;
    let value = RawJson::from(if value.is_object() { value } else { json!({}) });
    match Compiled::new(&tool.input_schema).check(&value) {
        Verdict::Fits | Verdict::NotChecked(_) => Ok(value),
        Verdict::Violates { problems, .. } => Err(NoArguments {
            place: "the input schema".to_owned(),
            why: format!("is not met by what it offers ({})", problems.first().map_or("", |it| &it.message)),
        }),
    }
}

/// Arguments that fit the schema and find nothing, made from those that do: a free text that names no record, or a count of zero.
pub fn empty(tool: &Tool, normal: &RawJson) -> Option<RawJson> {
    let root = tool.input_schema.to_value();
    let mut arguments: Map<String, Value> = normal.to().ok()?;
    let properties = root.get("properties")?.as_object()?;
    let free = properties
        .iter()
        .find(|(name, schema)| is_free_text(schema) && arguments.get(*name).is_some_and(Value::is_string));
    match free {
        Some((name, _)) => arguments.insert(name.clone(), json!(NOTHING)),
        None => {
            let (name, _) = properties.iter().find(|(name, schema)| counts(name, schema))?;
            arguments.insert(name.clone(), json!(0))
        }
    };
    let arguments = RawJson::from(Value::Object(arguments));
    let fits = Compiled::new(&tool.input_schema).check(&arguments) == Verdict::Fits;
    fits.then_some(arguments)
}

/// Arguments that do not fit the schema, so that the call should fail: a value that an enumeration does not have, a value of another type,
/// or a required one that is missing.
pub fn failing(tool: &Tool, normal: &RawJson) -> Option<RawJson> {
    let root = tool.input_schema.to_value();
    let mut arguments: Map<String, Value> = normal.to().ok()?;
    let none = Map::new();
    let properties = root.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let required = |name: &str| {
        root.get("required").and_then(Value::as_array).is_some_and(|it| it.iter().any(|it| it == name))
    };
    if let Some((name, _)) = properties.iter().find(|(_, it)| it.get("enum").is_some()) {
        arguments.insert(name.clone(), json!(NOTHING));
    } else if let Some((name, _)) = properties.iter().find(|(name, _)| required(name)) {
        arguments.shift_remove(name);
    } else if let Some((name, schema)) = properties.iter().find(|(_, it)| it.get("type").is_some()) {
        let wrong = if schema["type"] == "string" { json!(7) } else { json!(NOTHING) };
        arguments.insert(name.clone(), wrong);
    } else {
        return None;
    }
    let arguments = RawJson::from(Value::Object(arguments));
    let violates = matches!(Compiled::new(&tool.input_schema).check(&arguments), Verdict::Violates { .. });
    violates.then_some(arguments)
}

/// Whether arguments fit a tool's input schema, as far as that can be told.
pub fn fits(tool: &Tool, arguments: &RawJson) -> bool {
    !matches!(Compiled::new(&tool.input_schema).check(arguments), Verdict::Violates { .. })
}

fn is_free_text(schema: &Value) -> bool {
    const GIVEN: [&str; 4] = ["enum", "const", "format", "pattern"];
    schema["type"] == "string" && !GIVEN.iter().any(|it| schema.get(it).is_some())
}

/// Whether a number says how much is to come, and may be zero.
fn counts(name: &str, schema: &Value) -> bool {
    const WORDS: [&str; 8] = ["count", "limit", "rows", "size", "max", "top", "first", "n"];
    let zero = schema.get("minimum").and_then(Value::as_f64) == Some(0.0);
    zero && schema["type"] == "integer" && words(name).iter().any(|it| WORDS.contains(&it.as_str()))
}

struct Maker<'a> {
    root: &'a Value,
    free_text: bool,
}

impl Maker<'_> {
    fn value(&self, schema: &Value, place: &str, depth: usize) -> Result<Value, NoArguments> {
        let fail = |why: &str| Err(NoArguments { place: place.to_owned(), why: why.to_owned() });
        if depth > MAX_DEPTH {
            return fail("is nested too deeply");
        }
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            let target = reference.strip_prefix('#').and_then(|it| self.root.pointer(it));
            return match target {
                Some(target) => self.value(target, place, depth + 1),
                None => fail("refers to what is not in the schema"),
            };
        }
        let first = |key: &str| schema.get(key).and_then(Value::as_array).and_then(|it| it.first());
        if let Some(offered) = first("examples")
            .or_else(|| schema.get("default").filter(|it| !it.is_null()))
            .or_else(|| schema.get("const"))
            .or_else(|| first("enum"))
        {
            return Ok(offered.clone());
        }
        if schema.get("type").is_none()
            && let Some(branch) = first("anyOf").or_else(|| first("oneOf")).or_else(|| first("allOf"))
        {
            return self.value(branch, place, depth + 1);
        }
        let kind = match schema.get("type") {
            Some(Value::Array(kinds)) => kinds.iter().find(|it| *it != "null").and_then(Value::as_str),
            Some(kind) => kind.as_str(),
            None if schema.get("properties").is_some() || depth == 0 => Some("object"),
            None => None,
        };
        match kind {
            Some("object") => self.object(schema, depth),
            Some("array") => self.array(schema, place, depth),
            Some("boolean") => Ok(json!(false)),
            Some("integer") => Ok(number(schema, true)),
            Some("number") => Ok(number(schema, false)),
            Some("null") => Ok(Value::Null),
            Some("string") => self.text(schema, place),
            Some(_) | None => fail("may be anything"),
        }
    }

    fn object(&self, schema: &Value, depth: usize) -> Result<Value, NoArguments> {
        let mut made = Map::new();
        let required = schema.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            let property = &schema["properties"][name];
            made.insert(name.to_owned(), self.value(property, &format!("{name:?}"), depth + 1)?);
        }
        Ok(Value::Object(made))
    }

    fn array(&self, schema: &Value, place: &str, depth: usize) -> Result<Value, NoArguments> {
        let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0);
        let mut items = Vec::new();
        for _ in 0..least.min(16) {
            items.push(self.value(&schema["items"], place, depth + 1)?);
        }
        Ok(Value::Array(items))
    }

    fn text(&self, schema: &Value, place: &str) -> Result<Value, NoArguments> {
        let fail = |why: &str| Err(NoArguments { place: place.to_owned(), why: why.to_owned() });
        match schema.get("format").and_then(Value::as_str) {
            Some("date-time") => return Ok(json!("2026-01-01T00:00:00Z")),
            Some("date") => return Ok(json!("2026-01-01")),
            Some("time") => return Ok(json!("00:00:00Z")),
            _ => {}
        }
        if schema.get("pattern").is_some() {
            return fail("has a pattern and no example");
        }
        if schema.get("format").is_some() || !self.free_text {
            return fail("is a text without an example, a default or an enumeration");
        }
        let least = schema.get("minLength").and_then(Value::as_u64).unwrap_or(1).clamp(1, 1_000);
        Ok(json!("a".repeat(usize::try_from(least).unwrap_or(1))))
    }
}

/// One, or the number next to it that is allowed.
fn number(schema: &Value, whole: bool) -> Value {
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    let least = bound("minimum").or_else(|| bound("exclusiveMinimum").map(|it| it + 1.0));
    let most = bound("maximum").or_else(|| bound("exclusiveMaximum").map(|it| it - 1.0));
    // Bounds that contradict each other are met by no number, which the check of the whole tells.
    let value = least.map_or(1.0, |it| it.max(1.0));
    let value = most.map_or(value, |it| value.min(it));
    let limit = 9_007_199_254_740_992.0;
    if whole && value.abs() < limit {
        // A whole number below 2^53 is written without a fraction.
        serde_json::from_str(&format!("{:.0}", value.ceil())).unwrap_or(json!(1))
    } else {
        json!(value)
    }
}

#[cfg(test)]
mod tests {
    use usher_protocol::model::{Contract, ToolAnnotations};

    use super::*;

    fn tool(name: &str, schema: Value, read_only: Option<bool>) -> Tool {
        Tool {
            name: name.to_owned(),
            title: None,
            description: None,
            input_schema: schema.into(),
            contract: Contract::Legacy { output_schema: None },
            annotations: ToolAnnotations { read_only_hint: read_only, ..ToolAnnotations::default() },
            ui: None,
            raw: json!({}).into(),
        }
    }

    #[test]
    fn whole_words_of_a_name_warn() {
        for name in [
            "delete_file",
            "sendMail",
            "payment-PAY",
            "write",
            "terminate_instance",
            "rebootHost",
            "wipe-disk",
            "upsert_row",
            "replyToThread",
            "grant_role",
            "ban_user",
            "withdraw",
            "toggle_light",
            "unsubscribe",
        ] {
            assert!(warning(&tool(name, json!({}), None)).is_some(), "{name}");
        }
        for name in ["list_settings", "get_payments", "undeleted", "search_orders"] {
            assert_eq!(warning(&tool(name, json!({}), None)), None, "{name}");
        }
        assert!(warning(&tool("look", json!({}), Some(false))).is_some());
    }

    #[test]
    fn what_the_schema_offers_comes_first_and_texts_are_not_guessed() {
        let schema = json!({
            "type": "object",
            "properties": {
                "a": {"type": "string", "examples": ["x"]}, "b": {"enum": ["p", "q"]}, "c": {"const": 3},
                "d": {"$ref": "#/$defs/D"}, "e": {"type": "integer", "minimum": 5}, "f": {"type": "string"}
            },
            "required": ["a", "b", "c", "d", "e"],
            "$defs": {"D": {"type": "boolean", "default": true}}
        });
        let made = normal(&tool("look", schema.clone(), None)).unwrap();
        assert_eq!(made.get(), r#"{"a":"x","b":"p","c":3,"d":true,"e":5}"#);
        let needs_text =
            json!({"type": "object", "properties": {"f": {"type": "string"}}, "required": ["f"]});
        assert!(normal(&tool("look", needs_text.clone(), None)).is_err());
        let reads = tool("look", needs_text, Some(true));
        let made = normal(&reads).unwrap();
        assert_eq!(made.get(), r#"{"f":"a"}"#);
        assert_eq!(empty(&reads, &made).unwrap().get(), r#"{"f":"usher-check-finds-nothing"}"#);
        assert_eq!(failing(&reads, &made).unwrap().get(), "{}");
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let schema = json!({"$ref": "#"});
        assert!(normal(&tool("look", schema, Some(true))).is_err());
    }
}
