//! Makes the input schemas of tools such that a provider accepts them.
//!
//! One schema that a provider dislikes makes it refuse the whole request, so each is checked on its own and, where that is
//! needed, rewritten with a recorded reason. A model's arguments are still to be checked against the original. Text that is not
//! rewritten keeps its exact digits and key order. Deliberately absent: silent changes, and repairs that guess a meaning.

use serde_json::Value;
use usher_protocol::RawJson;

use super::raw_object::{RawObject, raw};

/// The largest schema that is offered, in bytes.
pub const MAX_SCHEMA_BYTES: usize = 256 * 1024;

/// The deepest nesting that is looked at; a deeper schema is refused.
const MAX_DEPTH: usize = 48;

/// Keywords that providers refuse at the root.
pub(super) const ROOT_KEYWORDS: [&str; 5] = ["oneOf", "anyOf", "allOf", "enum", "not"];

/// An input schema as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdaptedSchema {
    /// What is sent.
    pub sent: RawJson,
    /// What was changed and why; empty when nothing was.
    pub rewrites: Vec<Rewrite>,
    wraps: bool,
}

/// A change to a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rewrite {
    /// `type` or `properties` were added at the root.
    Completed,
    /// A root keyword that only adds conditions on the declared properties was dropped.
    DroppedCondition,
    /// A root union of objects was made one object.
    MergedUnion,
    /// The schema was put under the property `input`.
    Wrapped,
    /// An array without `items` was given an empty one.
    CompletedItems,
}

/// Why a tool cannot be offered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaRefusal {
    /// It is not an object, as every revision demands.
    #[error("its input schema is not a JSON object")]
    NotAnObject,
    /// It is too large.
    #[error("its input schema has {bytes} bytes, more than {MAX_SCHEMA_BYTES}")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// It is nested too deeply.
    #[error("its input schema is nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    /// A keyword has a value that no provider accepts.
    #[error("its input schema is not valid at {pointer}: {problem}")]
    Invalid {
        /// Where, as a JSON pointer.
        pointer: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// It would have to be wrapped, which would break its own references.
    #[error("its input schema would have to be wrapped, which its reference {reference} does not survive")]
    Unwrappable {
        /// The reference.
        reference: String,
    },
}

impl Rewrite {
    /// Why, for people.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Completed => "Providers want an object with `properties` at the root.",
            Self::DroppedCondition => {
                "Providers refuse oneOf, anyOf, allOf and not at the root; this one only adds conditions, which are still checked before the call."
            }
            Self::MergedUnion => {
                "Providers refuse a union at the root; its objects were merged, and the original is still checked before the call."
            }
            Self::Wrapped => {
                "Providers want an object at the root; the value goes under `input` and is taken out again before the call."
            }
            Self::CompletedItems => "Providers refuse an array without `items`.",
        }
    }
}

impl AdaptedSchema {
    /// Adapts a schema to the OpenAI rules, which local servers accept too.
    ///
    /// # Errors
    /// It cannot be made legal; the tool is to be left out, visibly.
    pub fn for_openai(original: &RawJson) -> Result<Self, SchemaRefusal> {
        if original.bytes() > MAX_SCHEMA_BYTES {
            return Err(SchemaRefusal::TooLarge { bytes: original.bytes() });
        }
        let value: Value = original.to().map_err(|_| SchemaRefusal::TooDeep)?;
        if !value.is_object() {
            return Err(SchemaRefusal::NotAnObject);
        }
        check(&value, &mut String::new(), 0)?;
        let mut rewrites = Vec::new();
        let completed = complete_items(original, 0, &mut rewrites);
        let root = RawObject::of(&completed).ok_or(SchemaRefusal::NotAnObject)?;
        let (sent, wraps) = match adapt_root(root, &mut rewrites) {
            Some(root) if rewrites.is_empty() => {
                drop(root);
                (original.clone(), false)
            }
            Some(root) => (root.to_json(), false),
            None => {
                rewrites.retain(|it| *it == Rewrite::CompletedItems);
                rewrites.push(Rewrite::Wrapped);
                (wrap(&completed, &value)?, true)
            }
        };
        rewrites.sort_unstable();
        rewrites.dedup();
        Ok(Self { sent, rewrites, wraps })
    }

    /// The arguments for the call, from those that the model wrote to fit [`Self::sent`].
    pub fn unwrap_arguments(&self, arguments: &RawJson) -> RawJson {
        if !self.wraps {
            return arguments.clone();
        }
        // A model that ignored the wrapping wrote the value itself; then that is what it meant.
        RawObject::of(arguments).and_then(|it| it.get("input").cloned()).unwrap_or_else(|| arguments.clone())
    }
}

fn list(items: &[RawJson]) -> String {
    format!("[{}]", items.iter().map(RawJson::get).collect::<Vec<_>>().join(","))
}

/// Makes the root legal without wrapping; none when that cannot be done.
fn adapt_root(mut root: RawObject, rewrites: &mut Vec<Rewrite>) -> Option<RawObject> {
    if root.get("$ref").is_some() || root.get("enum").is_some() || root.get("const").is_some() {
        return None;
    }
    match root.get("type").map(RawJson::to_value) {
        None => {
            let unions = ["oneOf", "anyOf", "allOf"].iter().any(|it| root.get(it).is_some());
            // Without a type and without anything that speaks of objects, any value would do.
            if root.get("properties").is_none()
                && !unions
                && root.0.iter().any(|(key, _)| !is_annotation(key))
            {
                return None;
            }
        }
        Some(Value::String(it)) if it == "object" => {}
        Some(Value::Array(types)) if types.iter().any(|it| it == "object") => {
            rewrites.push(Rewrite::Completed)
        }
        Some(_) => return None,
    }
    for keyword in ROOT_KEYWORDS {
        let Some(union) = root.remove(keyword) else { continue };
        if keyword == "not" || is_condition(&union, &root) {
            rewrites.push(Rewrite::DroppedCondition);
        } else {
            merge(&mut root, &union, keyword == "allOf")?;
            rewrites.push(Rewrite::MergedUnion);
        }
    }
    if root.get("type").is_none_or(|it| it.get() != "\"object\"") {
        root.set("type", raw("\"object\"".to_owned()));
        rewrites.push(Rewrite::Completed);
    }
    if root.get("properties").is_none() {
        root.set("properties", raw("{}".to_owned()));
        rewrites.push(Rewrite::Completed);
    }
    Some(root)
}

fn is_annotation(key: &str) -> bool {
    matches!(
        key,
        "$schema"
            | "$id"
            | "$comment"
            | "title"
            | "description"
            | "additionalProperties"
            | "required"
            | "$defs"
            | "definitions"
            | "default"
            | "examples"
            | "not"
    )
}

/// Whether each branch only demands declared properties, so that dropping the union loses nothing that a model must know.
fn is_condition(union: &RawJson, root: &RawObject) -> bool {
    let branches: Vec<RawObject> = union.to().unwrap_or_default();
    let only_required = |it: &RawObject| {
        it.0.iter()
            .all(|(key, _)| matches!(key.as_str(), "required" | "type" | "title" | "description" | "not"))
    };
    root.get("properties").is_some() && !branches.is_empty() && branches.iter().all(only_required)
}

/// The most branches that are merged: each property is looked up among all that came before. A longer union is wrapped.
const MOST_MERGED: usize = 200;

/// Merges a union of objects into the root: all properties; required is what every branch requires, or with `all` what any does.
fn merge(root: &mut RawObject, union: &RawJson, all: bool) -> Option<()> {
    let branches: Vec<RawObject> = union.to().ok()?;
    if branches.len() > MOST_MERGED {
        return None;
    }
    let mut properties: RawObject = root.get("properties").and_then(RawObject::of).unwrap_or_default();
    let mut required: Vec<String> = root.get("required").and_then(|it| it.to().ok()).unwrap_or_default();
    let mut common: Option<Vec<String>> = None;
    let mut is_closed = true;
    for branch in &branches {
        let is_object = branch
            .get("type")
            .map_or(branch.get("properties").is_some() || branch.get("required").is_some(), |it| {
                it.get() == "\"object\""
            });
        let nested = ROOT_KEYWORDS.iter().chain(&["$ref", "const", "if"]).any(|it| branch.get(it).is_some());
        if !is_object || nested {
            return None;
        }
        for (key, schema) in branch.get("properties").and_then(RawObject::of).unwrap_or_default().0 {
            let merged = match properties.get(&key) {
                Some(old) if *old != schema => either(old, &schema),
                _ => schema,
            };
            properties.set(&key, merged);
        }
        is_closed &= branch.get("additionalProperties").is_some_and(|it| it.get() == "false");
        let own: Vec<String> = branch.get("required").and_then(|it| it.to().ok()).unwrap_or_default();
        common = Some(match common {
            None => own,
            Some(known) if all => known.into_iter().chain(own).collect(),
            Some(known) => known.into_iter().filter(|it| own.contains(it)).collect(),
        });
    }
    for name in common? {
        if !required.contains(&name) {
            required.push(name);
        }
    }
    root.set("properties", properties.to_json());
    if !required.is_empty() {
        root.set("required", RawJson::of(&required).ok()?);
    }
    if is_closed && root.get("additionalProperties").is_none() {
        root.set("additionalProperties", raw("false".to_owned()));
    }
    Some(())
}

/// A property that two branches describe differently fits either.
fn either(old: &RawJson, new: &RawJson) -> RawJson {
    let known: Option<Vec<RawJson>> = RawObject::of(old)
        .filter(|it| it.0.len() == 1)
        .and_then(|it| it.get("anyOf").and_then(|list| list.to().ok()));
    let mut options = known.unwrap_or_else(|| vec![old.clone()]);
    if !options.contains(new) {
        options.push(new.clone());
    }
    raw(format!("{{\"anyOf\":{}}}", list(&options)))
}

/// Puts a schema under `input`. Its definitions move to the new root, where its references look for them.
fn wrap(original: &RawJson, value: &Value) -> Result<RawJson, SchemaRefusal> {
    let mut inner = RawObject::of(original).ok_or(SchemaRefusal::NotAnObject)?;
    let mut lost = None;
    find_lost_reference(value, &mut lost);
    if let Some(reference) = lost {
        return Err(SchemaRefusal::Unwrappable { reference });
    }
    let mut outer = RawObject::default();
    let definitions: Vec<_> = ["$schema", "$defs", "definitions"]
        .into_iter()
        .filter_map(|key| Some((key, inner.remove(key)?)))
        .collect();
    outer.set("type", raw("\"object\"".to_owned()));
    outer.set("properties", raw(format!("{{\"input\":{}}}", inner.to_json())));
    outer.set("required", raw("[\"input\"]".to_owned()));
    for (key, value) in definitions {
        outer.set(key, value);
    }
    Ok(outer.to_json())
}

fn find_lost_reference(value: &Value, lost: &mut Option<String>) {
    match value {
        Value::Object(map) => {
            if let Some(reference) = map.get("$ref").and_then(Value::as_str)
                && reference.starts_with('#')
                && !reference.starts_with("#/$defs/")
                && !reference.starts_with("#/definitions/")
            {
                lost.get_or_insert_with(|| reference.to_owned());
            }
            map.values().for_each(|it| find_lost_reference(it, lost));
        }
        Value::Array(list) => list.iter().for_each(|it| find_lost_reference(it, lost)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The keywords that hold one schema, several by name, or a list.
const ONE: [&str; 9] = [
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedProperties",
];
const NAMED: [&str; 5] = ["properties", "$defs", "definitions", "patternProperties", "dependentSchemas"];
const LISTED: [&str; 4] = ["oneOf", "anyOf", "allOf", "prefixItems"];

/// Finds what no provider accepts.
fn check(schema: &Value, pointer: &mut String, depth: usize) -> Result<(), SchemaRefusal> {
    if depth > MAX_DEPTH {
        return Err(SchemaRefusal::TooDeep);
    }
    let map = match schema {
        Value::Bool(_) => return Ok(()),
        Value::Object(map) => map,
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err(invalid(pointer, "", "a schema is an object or a boolean"));
        }
    };
    for (key, value) in map {
        let problem = match key.as_str() {
            "type" if !is_type(value) => "the type is not one of JSON Schema's",
            "required" if !is_strings(value) => "required is not a list of names",
            "enum" if !value.is_array() => "enum is not a list",
            key if NAMED.contains(&key) && !value.is_object() => "it is not an object of schemas",
            key if LISTED.contains(&key) && value.as_array().is_none_or(Vec::is_empty) => {
                "it is not a list of schemas"
            }
            "$ref" if !value.is_string() => "the reference is not text",
            _ => "",
        };
        if !problem.is_empty() {
            return Err(invalid(pointer, key, problem));
        }
        let length = pointer.len();
        pointer.push('/');
        pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
        check_children(key, value, pointer, depth)?;
        pointer.truncate(length);
    }
    Ok(())
}

fn check_children(key: &str, value: &Value, pointer: &mut String, depth: usize) -> Result<(), SchemaRefusal> {
    let length = pointer.len();
    match value {
        Value::Object(map) if NAMED.contains(&key) => {
            for (name, schema) in map {
                pointer.push('/');
                pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
                check(schema, pointer, depth + 1)?;
                pointer.truncate(length);
            }
        }
        // `items` was a list of schemas in drafts before 2020-12.
        Value::Array(list) if LISTED.contains(&key) || key == "items" => {
            for (index, schema) in list.iter().enumerate() {
                pointer.push_str(&format!("/{index}"));
                check(schema, pointer, depth + 1)?;
                pointer.truncate(length);
            }
        }
        other if ONE.contains(&key) => check(other, pointer, depth + 1)?,
        _ => {}
    }
    Ok(())
}

/// Visits a schema and those in it, with their depth.
pub(super) fn each_schema(
    schema: &Value,
    depth: usize,
    visit: &mut dyn FnMut(&serde_json::Map<String, Value>, usize),
) {
    let Some(map) = schema.as_object().filter(|_| depth <= MAX_DEPTH) else { return };
    visit(map, depth);
    for (key, value) in map {
        match value {
            Value::Object(named) if NAMED.contains(&key.as_str()) => {
                named.values().for_each(|it| each_schema(it, depth + 1, visit));
            }
            Value::Array(list) if LISTED.contains(&key.as_str()) || key == "items" => {
                list.iter().for_each(|it| each_schema(it, depth + 1, visit));
            }
            other if ONE.contains(&key.as_str()) => each_schema(other, depth + 1, visit),
            _ => {}
        }
    }
}

fn invalid(pointer: &str, key: &str, problem: &'static str) -> SchemaRefusal {
    let pointer = if key.is_empty() { pointer.to_owned() } else { format!("{pointer}/{key}") };
    SchemaRefusal::Invalid { pointer: if pointer.is_empty() { "/".to_owned() } else { pointer }, problem }
}

fn is_type(value: &Value) -> bool {
    let known = |it: &Value| {
        matches!(it.as_str(), Some("object" | "array" | "string" | "number" | "integer" | "boolean" | "null"))
    };
    known(value) || value.as_array().is_some_and(|it| !it.is_empty() && it.iter().all(known))
}

fn is_strings(value: &Value) -> bool {
    value.as_array().is_some_and(|it| it.iter().all(Value::is_string))
}

/// Gives arrays without `items` an empty one. Text that needs no change is returned as it is.
fn complete_items(schema: &RawJson, depth: usize, rewrites: &mut Vec<Rewrite>) -> RawJson {
    // Most schemas have no array that lacks items; those are not taken apart.
    if depth > MAX_DEPTH || !schema.get().contains("array") {
        return schema.clone();
    }
    let Some(mut object) = RawObject::of(schema) else { return schema.clone() };
    let mut changed = false;
    for (key, value) in &mut object.0 {
        let new = if ONE.contains(&key.as_str()) {
            complete_items(value, depth + 1, rewrites)
        } else if NAMED.contains(&key.as_str()) {
            let Some(mut named) = RawObject::of(value) else { continue };
            let before = rewrites.len();
            for (_, schema) in &mut named.0 {
                *schema = complete_items(schema, depth + 1, rewrites);
            }
            if rewrites.len() == before { value.clone() } else { named.to_json() }
        } else if LISTED.contains(&key.as_str()) {
            let Ok(items) = value.to::<Vec<RawJson>>() else { continue };
            let new: Vec<_> = items.iter().map(|it| complete_items(it, depth + 1, rewrites)).collect();
            if new == items { value.clone() } else { raw(list(&new)) }
        } else {
            continue;
        };
        changed |= new != *value;
        *value = new;
    }
    let is_array = object.get("type").map(RawJson::to_value).is_some_and(|it| {
        it == "array" || it.as_array().is_some_and(|types| types.iter().any(|it| it == "array"))
    });
    if is_array && object.get("items").is_none() && object.get("prefixItems").is_none() {
        object.set("items", raw("{}".to_owned()));
        rewrites.push(Rewrite::CompletedItems);
        changed = true;
    }
    if changed { object.to_json() } else { schema.clone() }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(schema: &str, expected: Expect) {
        let text = match AdaptedSchema::for_openai(&RawJson::parse(schema).unwrap()) {
            Ok(it) => format!("{:?}\n{}\n", it.rewrites, it.sent),
            Err(refusal) => format!("{refusal}\n"),
        };
        expected.assert_eq(&text);
    }

    #[test]
    fn a_legal_schema_is_sent_as_it_came() {
        check(
            r##"{ "type":"object", "properties":{"z":{"type":"array" ,"items":{"maximum":9007199254740993.10}},"a":{"$ref":"#/$defs/A"}}, "$defs":{"A":{}} }"##,
            expect![[r##"
                []
                { "type":"object", "properties":{"z":{"type":"array" ,"items":{"maximum":9007199254740993.10}},"a":{"$ref":"#/$defs/A"}}, "$defs":{"A":{}} }
            "##]],
        );
    }

    #[test]
    fn the_root_is_made_an_object_with_properties() {
        check(
            "{}",
            expect![[r#"
            [Completed]
            {"type":"object","properties":{}}
        "#]],
        );
        check(
            r#"{"type":"object"}"#,
            expect![[r#"
            [Completed]
            {"type":"object","properties":{}}
        "#]],
        );
        check(
            r#"{"type":["object","null"],"properties":{"a":{}}}"#,
            expect![[r#"
            [Completed]
            {"type":"object","properties":{"a":{}}}
        "#]],
        );
    }

    #[test]
    fn root_conditions_are_dropped() {
        check(
            r#"{"type":"object","properties":{"a":{},"b":{}},"oneOf":[{"required":["a"]},{"required":["b"]}],"not":{"required":["a","b"]}}"#,
            expect![[r#"
                [DroppedCondition]
                {"type":"object","properties":{"a":{},"b":{}}}
            "#]],
        );
    }

    #[test]
    fn root_unions_of_objects_are_merged() {
        check(
            r#"{"anyOf":[{"type":"object","properties":{"kind":{"const":"a"},"n":{"minimum":1.0}},"required":["kind","n"]},
                {"type":"object","properties":{"kind":{"const":"b"}},"required":["kind"]}]}"#,
            expect![[r#"
                [Completed, MergedUnion]
                {"properties":{"kind":{"anyOf":[{"const":"a"},{"const":"b"}]},"n":{"minimum":1.0}},"required":["kind"],"type":"object"}
            "#]],
        );
        check(
            r#"{"type":"object","properties":{"x":{}},"required":["x"],"allOf":[{"properties":{"a":{}},"required":["a"]},{"properties":{"b":{}},"required":["b"]}]}"#,
            expect![[r#"
                [MergedUnion]
                {"type":"object","properties":{"x":{},"a":{},"b":{}},"required":["x","a","b"]}
            "#]],
        );
    }

    #[test]
    fn everything_else_is_wrapped_with_its_definitions() {
        check(
            r#"{"type":"string"}"#,
            expect![[r#"
            [Wrapped]
            {"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}
        "#]],
        );
        check(
            r##"{"$ref":"#/$defs/A","$defs":{"A":{"type":"object"}}}"##,
            expect![[r##"
            [Wrapped]
            {"type":"object","properties":{"input":{"$ref":"#/$defs/A"}},"required":["input"],"$defs":{"A":{"type":"object"}}}
        "##]],
        );
        check(
            r##"{"oneOf":[{"$ref":"#/$defs/A"},{"type":"null"}],"$defs":{"A":{"type":"object"}}}"##,
            expect![[r##"
            [Wrapped]
            {"type":"object","properties":{"input":{"oneOf":[{"$ref":"#/$defs/A"},{"type":"null"}]}},"required":["input"],"$defs":{"A":{"type":"object"}}}
        "##]],
        );
        check(
            r##"{"anyOf":[{"$ref":"#"},{"type":"null"}]}"##,
            expect![[r#"
            its input schema would have to be wrapped, which its reference # does not survive
        "#]],
        );
    }

    #[test]
    fn arrays_are_given_items() {
        check(
            r#"{"type":"object","properties":{"tags":{"type":"array"},"m":{"type":["null","array"]},"ok":{"type":"array","items":{"type":"integer","maximum":1e2}}}}"#,
            expect![[r#"
                [CompletedItems]
                {"type":"object","properties":{"tags":{"type":"array","items":{}},"m":{"type":["null","array"],"items":{}},"ok":{"type":"array","items":{"type":"integer","maximum":1e2}}}}
            "#]],
        );
    }

    #[test]
    fn what_no_provider_accepts_is_refused_with_its_place() {
        check(
            "true",
            expect![[r#"
            its input schema is not a JSON object
        "#]],
        );
        check(
            r#"{"type":"object","properties":[]}"#,
            expect![[r#"
            its input schema is not valid at /properties: it is not an object of schemas
        "#]],
        );
        check(
            r#"{"type":"object","properties":{"a/b":{"type":"strng"}}}"#,
            expect![[r#"
            its input schema is not valid at /properties/a~1b/type: the type is not one of JSON Schema's
        "#]],
        );
        check(
            r#"{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},3]}}}"#,
            expect![[r#"
            its input schema is not valid at /properties/a/anyOf/1: a schema is an object or a boolean
        "#]],
        );
        let deep = format!("{}{{}}{}", r#"{"items":"#.repeat(60), "}".repeat(60));
        check(
            &deep,
            expect![[r#"
            its input schema is nested more than 48 levels deep
        "#]],
        );
        let deeper = format!("{}{{}}{}", r#"{"items":"#.repeat(5000), "}".repeat(5000));
        check(
            &deeper,
            expect![[r#"
            its input schema is nested more than 48 levels deep
        "#]],
        );
    }

    #[test]
    fn wrapped_arguments_are_unwrapped() {
        let schema = AdaptedSchema::for_openai(&RawJson::parse(r#"{"type":"string"}"#).unwrap()).unwrap();
        let unwrapped = |text: &str| schema.unwrap_arguments(&RawJson::parse(text).unwrap()).get().to_owned();
        assert_eq!(unwrapped(r#"{"input": 12345678901234567890123}"#), "12345678901234567890123");
        assert_eq!(unwrapped(r#"{"other":1}"#), r#"{"other":1}"#);
    }
}
