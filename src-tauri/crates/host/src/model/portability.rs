//! What providers make of a tool's input schema: which keywords each refuses, drops or only reads, and what would be sent.
//!
//! Facts are from the providers' documentation, the types of their own libraries and public reports; they were not tried against live
//! services, except llama.cpp's. Deliberately absent: requests.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;
use usher_protocol::RawJson;

use super::schema::{AdaptedSchema, ROOT_KEYWORDS, each_schema};

/// Who reads a tool's input schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// OpenAI's Chat format, without `strict`.
    OpenAi,
    /// OpenAI's Chat format with `strict`, which other hosts send.
    OpenAiStrict,
    /// Anthropic's Messages.
    Anthropic,
    /// Gemini's `parametersJsonSchema`.
    Gemini,
    /// llama.cpp, and what is built on it, where it turns a schema into a grammar.
    LlamaCpp,
}

/// What a provider makes of a schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Portability {
    /// The keywords of the schema that are not enforced as they are written, in the order of their names.
    pub keywords: Vec<KeywordFate>,
    /// Why the schema is rewritten before it is sent, for people.
    pub rewrites: Vec<&'static str>,
    /// What is sent, if it differs from what was declared.
    pub sent: Option<RawJson>,
    /// Why the tool cannot be offered at all.
    pub refusal: Option<String>,
}

/// What becomes of a keyword.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct KeywordFate {
    /// The keyword; of those that matter at the root alone, with the words "at the root".
    pub keyword: String,
    /// What becomes of it.
    pub fate: Fate,
}

/// What becomes of a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// The request is refused because of it.
    Refused,
    /// It does not reach the model.
    Dropped,
    /// The model reads it, and nothing enforces it.
    Hint,
}

impl Provider {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::OpenAi, Self::OpenAiStrict, Self::Anthropic, Self::Gemini, Self::LlamaCpp];

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "OpenAI",
            Self::OpenAiStrict => "OpenAI strict",
            Self::Anthropic => "Anthropic",
            Self::Gemini => "Gemini",
            Self::LlamaCpp => "llama.cpp",
        }
    }

    fn fate(self, keyword: &str, value: &Value, at_root: bool) -> Option<Fate> {
        let is_root_union = at_root && ROOT_KEYWORDS.contains(&keyword);
        // Leftovers of drafts before 2020-12.
        let is_old = (keyword.starts_with("exclusive") && value.is_boolean())
            || (keyword == "items" && value.is_array());
        let is_constraint = CONSTRAINTS.contains(&keyword);
        match self {
            Self::OpenAi if is_root_union => Some(Fate::Refused),
            Self::OpenAi => is_constraint.then_some(Fate::Hint),
            Self::OpenAiStrict if is_root_union || STRICT_REFUSES.contains(&keyword) => Some(Fate::Refused),
            Self::OpenAiStrict => None,
            Self::Anthropic if is_old || (is_root_union && keyword.ends_with("Of")) => Some(Fate::Refused),
            Self::Anthropic => is_constraint.then_some(Fate::Hint),
            Self::Gemini if keyword == "$schema" => Some(Fate::Refused),
            Self::Gemini => (!GEMINI_READS.contains(&keyword)).then_some(Fate::Dropped),
            Self::LlamaCpp => GRAMMAR_IGNORES.contains(&keyword).then_some(Fate::Dropped),
        }
    }
}

/// What limits a value beyond its type.
const CONSTRAINTS: [&str; 17] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "patternProperties",
    "not",
    "if",
];

/// Not supported in strict mode (OpenAI, "Structured Outputs", supported schemas).
const STRICT_REFUSES: [&str; 9] = [
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "patternProperties",
    "oneOf",
];

/// What Gemini documents for JSON Schema in place of its own; the rest is ignored.
const GEMINI_READS: [&str; 22] = [
    "$id",
    "$defs",
    "$ref",
    "$anchor",
    "type",
    "format",
    "title",
    "description",
    "enum",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "anyOf",
    "oneOf",
    "properties",
    "additionalProperties",
    "required",
    "propertyOrdering",
    "nullable",
];

/// What the conversion to a grammar leaves out (llama.cpp, "GBNF Guide", JSON Schemas).
const GRAMMAR_IGNORES: [&str; 12] = [
    "uniqueItems",
    "contains",
    "minContains",
    "maxContains",
    "not",
    "patternProperties",
    "if",
    "then",
    "else",
    "multipleOf",
    "dependentSchemas",
    "propertyNames",
];

/// What strict mode demands of every object and this one does not have (OpenAI, "Structured Outputs", supported schemas).
fn strict_demands(object: &serde_json::Map<String, Value>) -> Vec<&'static str> {
    let Some(properties) = object.get("properties").and_then(Value::as_object) else { return Vec::new() };
    let required = object.get("required").and_then(Value::as_array);
    let is_required = |name: &String| required.is_some_and(|it| it.iter().any(|it| it == name));
    let mut lacks = Vec::new();
    if object.get("additionalProperties") != Some(&Value::Bool(false)) {
        lacks.push("additionalProperties that are not false");
    }
    if !properties.keys().all(is_required) {
        lacks.push("properties that are not required");
    }
    lacks
}

/// Tells what each provider makes of a schema.
pub fn portability(schema: &RawJson) -> BTreeMap<Provider, Portability> {
    let tree = schema.to_value();
    let adapted = AdaptedSchema::for_openai(schema);
    let of = |provider: Provider| {
        let mut keywords = BTreeSet::new();
        each_schema(&tree, 0, &mut |object, depth| {
            if provider == Provider::OpenAiStrict {
                let lacks = strict_demands(object).into_iter();
                keywords.extend(lacks.map(|it| KeywordFate { keyword: it.to_owned(), fate: Fate::Refused }));
            }
            for (keyword, value) in object {
                let Some(fate) = provider.fate(keyword, value, depth == 0) else { continue };
                let at_root = depth == 0 && ROOT_KEYWORDS.contains(&keyword.as_str());
                let place = if at_root { " at the root" } else { "" };
                keywords.insert(KeywordFate { keyword: format!("{keyword}{place}"), fate });
            }
        });
        let (rewrites, sent, refusal) = match &adapted {
            Ok(it) if it.rewrites.is_empty() => (Vec::new(), None, None),
            Ok(it) => (it.rewrites.iter().map(|it| it.reason()).collect(), Some(it.sent.clone()), None),
            Err(refusal) => (Vec::new(), None, Some(refusal.to_string())),
        };
        (provider, Portability { keywords: keywords.into_iter().collect(), rewrites, sent, refusal })
    };
    Provider::ALL.into_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_provider_has_its_own_dislikes() {
        let schema = r#"{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"n":{"type":"integer","minimum":1,"multipleOf":2},"pattern":{"type":"string","pattern":"a"}},"oneOf":[{"required":["n"]}]}"#;
        let found = portability(&RawJson::parse(schema).unwrap());
        let line = |it: &KeywordFate| format!("{:?} {}", it.fate, it.keyword);
        let lines = |provider| found[&provider].keywords.iter().map(line).collect::<Vec<_>>();
        assert_eq!(
            lines(Provider::OpenAi),
            ["Hint minimum", "Hint multipleOf", "Refused oneOf at the root", "Hint pattern"]
        );
        assert_eq!(lines(Provider::Gemini), ["Refused $schema", "Dropped multipleOf", "Dropped pattern"]);
        assert_eq!(
            lines(Provider::OpenAiStrict),
            [
                "Refused additionalProperties that are not false",
                "Refused oneOf at the root",
                "Refused properties that are not required"
            ]
        );
        assert_eq!(lines(Provider::LlamaCpp), ["Dropped multipleOf"]);
        // A property that is named like a keyword is none.
        assert_eq!(lines(Provider::Anthropic).iter().filter(|it| it.ends_with("pattern")).count(), 1);
        assert!(found[&Provider::OpenAi].sent.is_some());
    }
}
