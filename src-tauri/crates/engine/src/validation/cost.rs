//! How much work a check would be, before it is done.
//!
//! The validator knows no limit: a schema of a few lines can make it visit a small value more often than there is time for, and it lists
//! every problem of a value before it shows the first. So the visits are counted beforehand, by walking the schema and the value together
//! as the validator would at its worst, up to a limit. Deliberately absent: judging the value, and a clock.

use std::collections::HashMap;

use jsonschema::json::{Array as _, Node as _, Object as _};
use serde_json::{Map, Value};

use super::text::TextNode;

/// What looking a member up costs, and what trying a choice does besides the visits in it.
const LOOKUP: usize = 2;
const CHOICE: usize = 8;
/// What finding a remainder costs where the numbers are far apart.
const REMAINDER: usize = 24;

/// How deep keywords may lead to others at the same place of a value; deeper is a circle or as good as one.
const DEEPEST: usize = 256;

/// What a schema is, as far as its cost goes. Counts in every value of it, so that nothing hides in an unknown keyword.
#[derive(Debug, Clone, Default)]
pub(super) struct Extent {
    /// The most visits to one place of a value, if nothing leads to a part of the schema twice.
    most: u64,
    /// How many references it has, which lead to parts again.
    pub(super) references: usize,
    /// How many expressions it has, whose cost is the length of the text.
    pub(super) expressions: usize,
    /// Whether it has keywords whose cost depends on the value in other ways.
    depends: bool,
}

impl Extent {
    /// Of a schema.
    pub(super) fn of(schema: &Value) -> Self {
        let mut extent = Self { most: most_visits(schema), ..Self::default() };
        extent.count(schema);
        extent
    }

    fn count(&mut self, value: &Value) {
        match value {
            Value::Object(map) => {
                for (key, part) in map {
                    match key.as_str() {
                        "$ref" | "$dynamicRef" | "$recursiveRef" => self.references += 1,
                        "pattern" => self.expressions += 1,
                        "patternProperties" => self.expressions += part.as_object().map_or(0, Map::len),
                        "propertyNames" | "format" | "uniqueItems" => self.depends = true,
                        "enum" | "const" => self.depends |= containers(key, part) > 0,
                        _ => {}
                    }
                    self.count(part);
                }
            }
            Value::Array(list) => list.iter().for_each(|it| self.count(it)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// Whether a value is certainly checked within a limit, told without walking.
    pub(super) fn is_within(&self, value: TextNode<'_>, limit: u64) -> bool {
        let is_known = !self.depends && self.references == 0 && self.expressions == 0;
        is_known && self.most.saturating_mul(count(value.places())) <= limit
    }
}

/// The most visits to one place. A member has one of the `properties`, so of those the costliest counts; all else adds up.
fn most_visits(schema: &Value) -> u64 {
    let (here, inside) = visits(schema);
    here.max(inside)
}

/// The visits to the place of a schema, and the most to a place inside.
fn visits(schema: &Value) -> (u64, u64) {
    let Some(keywords) = schema.as_object() else { return (1, 0) };
    let (mut here, mut inside) = (1 + count(keywords.len()), 0);
    for (key, part) in keywords {
        match key.as_str() {
            "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" | "dependentSchemas"
            | "dependencies" => {
                for branch in branches(key, part) {
                    let (more_here, more_inside) = visits(branch);
                    here += more_here + count(choice(key));
                    inside += more_inside;
                }
            }
            "enum" | "required" | "const" => here += count(weight(part)),
            "multipleOf" => here += count(REMAINDER),
            "properties" => {
                inside += count(LOOKUP) + branches(key, part).into_iter().map(most_visits).max().unwrap_or(0);
            }
            "items"
            | "prefixItems"
            | "contains"
            | "additionalItems"
            | "unevaluatedItems"
            | "additionalProperties"
            | "unevaluatedProperties" => {
                inside += branches(key, part).into_iter().map(most_visits).max().unwrap_or(0);
            }
            _ => {}
        }
    }
    (here, inside)
}

/// The schemas that stand in a keyword: one, a list of them, or one for each name.
fn branches<'s>(key: &str, part: &'s Value) -> Vec<&'s Value> {
    match (key, part) {
        ("properties" | "dependentSchemas" | "dependencies", Value::Object(named)) => {
            named.values().collect()
        }
        (_, Value::Array(list)) => list.iter().collect(),
        _ => vec![part],
    }
}

/// Whether checking a value takes no more than so many visits. A schema with references that lead nowhere in it is not known to be cheap.
pub(super) fn is_within(schema: &Value, value: TextNode<'_>, limit: u64) -> bool {
    Walk { root: schema, left: limit, targets: HashMap::new() }.visit(schema, value, 0).is_some()
}

struct Walk<'s> {
    root: &'s Value,
    left: u64,
    targets: HashMap<&'s str, Vec<&'s Value>>,
}

impl<'s> Walk<'s> {
    fn pay(&mut self, cost: usize) -> Option<()> {
        self.left = self.left.checked_sub(u64::try_from(cost).unwrap_or(u64::MAX))?;
        Some(())
    }

    /// `None` when the limit is reached.
    fn visit(&mut self, schema: &'s Value, value: TextNode<'_>, depth: usize) -> Option<()> {
        self.pay(1)?;
        let Some(keywords) = schema.as_object() else { return Some(()) };
        if depth > DEEPEST {
            return None;
        }
        self.pay(keywords.len())?;
        for (key, part) in keywords {
            match key.as_str() {
                "$ref" | "$dynamicRef" | "$recursiveRef" => {
                    let targets = self.targets(part.as_str()?);
                    if targets.is_empty() {
                        return None;
                    }
                    for target in targets {
                        self.visit(target, value, depth + 1)?;
                    }
                }
                "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" | "dependentSchemas"
                | "dependencies" => {
                    for branch in branches(key, part) {
                        self.pay(choice(key))?;
                        self.visit(branch, value, depth + 1)?;
                    }
                }
                // All of these are compared, or named as a problem each.
                "required" => self.pay(weight(part))?,
                "enum" | "const" => self.pay(weight(part) + compared(key, part, value))?,
                "multipleOf" => self.pay(REMAINDER)?,
                "pattern" | "format" => self.pay(16 + 4 * value.text().len())?,
                // A tree is made of the elements, which is many times the index, and they are sorted.
                "uniqueItems" => self.pay(24 * value.places())?,
                _ => self.inside(key, part, value)?,
            }
        }
        Some(())
    }

    /// What a keyword asks of the parts of a value.
    fn inside(&mut self, key: &str, part: &'s Value, value: TextNode<'_>) -> Option<()> {
        if let Some(list) = value.as_array() {
            return match key {
                // `items` was a list of schemas in drafts before 2020-12.
                "items" | "prefixItems" if part.is_array() => {
                    let parts = part.as_array().into_iter().flatten();
                    parts.zip(list.elements()).try_for_each(|(part, it)| self.visit(part, it, 0))
                }
                "items" | "contains" | "additionalItems" | "unevaluatedItems" => {
                    list.elements().try_for_each(|it| self.visit(part, it, 0))
                }
                _ => Some(()),
            };
        }
        let Some(map) = value.as_object() else { return Some(()) };
        match key {
            "properties" => {
                let parts = part.as_object()?;
                map.members().try_for_each(|(name, it)| {
                    self.pay(LOOKUP)?;
                    parts.get(&*name).map_or(Some(()), |part| self.visit(part, it, 0))
                })
            }
            "patternProperties" => {
                let parts = part.as_object()?;
                parts.values().try_for_each(|part| {
                    map.members().try_for_each(|(name, it)| {
                        self.pay(16 + 4 * name.len())?;
                        self.visit(part, it, 0)
                    })
                })
            }
            // A name is a text; no more than an expression looks at it.
            "propertyNames" => {
                map.members().try_for_each(|(name, _)| self.pay(16 + weight(part) + 4 * name.len()))
            }
            "additionalProperties" | "unevaluatedProperties" => {
                map.members().try_for_each(|(_, it)| self.visit(part, it, 0))
            }
            _ => Some(()),
        }
    }

    /// Where a reference may lead: one place, or several where that is decided only while a value is checked.
    fn targets(&mut self, reference: &'s str) -> Vec<&'s Value> {
        let root = self.root;
        let targets = self.targets.entry(reference).or_insert_with(|| {
            match reference.strip_prefix('#').filter(|it| it.is_empty() || it.starts_with('/')) {
                Some(pointer) => root.pointer(pointer).into_iter().collect(),
                None => {
                    let mut found = Vec::new();
                    named(root, reference.trim_start_matches('#'), &mut found);
                    found
                }
            }
        });
        targets.clone()
    }
}

/// The schemas that have a name of their own.
fn named<'s>(schema: &'s Value, name: &str, found: &mut Vec<&'s Value>) {
    match schema {
        Value::Object(map) => {
            let says = |key: &str| {
                map.get(key).and_then(Value::as_str).is_some_and(|it| it.trim_start_matches('#') == name)
            };
            if ["$anchor", "$dynamicAnchor", "$id", "id"].iter().any(|key| says(key)) {
                found.push(schema);
            }
            map.values().for_each(|it| named(it, name, found));
        }
        Value::Array(list) => list.iter().for_each(|it| named(it, name, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn choice(key: &str) -> usize {
    if matches!(key, "anyOf" | "oneOf") { CHOICE } else { 0 }
}

/// How many of the values of an `enum`, or of a `const`, are objects or lists.
fn containers(key: &str, part: &Value) -> usize {
    let is_container = |it: &Value| it.is_object() || it.is_array();
    match (key, part) {
        ("enum", Value::Array(choices)) => choices.iter().filter(|it| is_container(it)).count(),
        _ => usize::from(is_container(part)),
    }
}

/// What comparing a value with each of those costs: it may be taken apart for each, and where a key comes twice a tree is made.
fn compared(key: &str, part: &Value, value: TextNode<'_>) -> usize {
    match value.places() {
        0 | 1 => 0,
        places => containers(key, part).saturating_mul(places).saturating_mul(8),
    }
}

/// How many values stand in a part of a schema.
fn weight(part: &Value) -> usize {
    match part {
        Value::Array(list) => 1 + list.iter().map(weight).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(weight).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::text::Text, *};

    #[track_caller]
    fn walked(schema: &Value, value: &Value, limit: u64) -> bool {
        let value = value.to_string();
        is_within(schema, Text::index(&value).unwrap().root(), limit)
    }

    #[track_caller]
    fn certain(schema: &Value, value: &Value, limit: u64) -> bool {
        let value = value.to_string();
        Extent::of(schema).is_within(Text::index(&value).unwrap().root(), limit)
    }

    fn rows(count: usize) -> Value {
        Value::Array(vec![json!({"id": 1, "name": "x"}); count])
    }

    #[test]
    fn tables_are_cheap() {
        let schema = json!({"type": "array", "items": {"type": "object", "required": ["id"],
            "properties": {"id": {"type": "integer"}, "name": {"type": ["string", "null"]}}}});
        assert!(certain(&schema, &rows(10_000), 1_000_000));
        assert!(walked(&schema, &rows(10_000), 200_000));
        assert!(!walked(&schema, &rows(10_000), 50_000));
        let referring = json!({"items": {"$ref": "#/$defs/row"}, "$defs": {"row": schema["items"]}});
        assert!(!certain(&referring, &rows(1), u64::MAX));
        assert!(walked(&referring, &rows(10_000), 300_000));
    }

    #[test]
    fn what_is_certain_is_never_less_than_what_is_walked() {
        let column = |kind: &str| json!({"type": kind, "enum": [1, 2, 3]});
        let object = json!({"properties": {"id": column("integer"), "name": column("string")},
            "additionalProperties": {"items": {"not": {"const": 7}}}});
        let several = json!({"allOf": [{"items": object}, {"items": {"anyOf": [object, object, true]}}],
            "if": {"contains": object}, "then": {"prefixItems": [object, object]}});
        let value = json!([{"id": 1, "name": 2, "other": [1, [2]]}, {"id": {}}, 3]);
        for schema in [&object, &several] {
            let least = |within: fn(&Value, &Value, u64) -> bool| {
                (0..10_000).find(|limit| within(schema, &value, *limit)).unwrap()
            };
            assert!(least(walked) <= least(certain), "{schema}");
        }
    }

    #[test]
    fn remainders_are_not_cheap() {
        let list = Value::Array(vec![json!(1e308); 1_000]);
        for within in [walked, certain] {
            assert!(within(&json!({"items": {"minimum": 0}}), &list, 10_000));
            assert!(!within(&json!({"items": {"multipleOf": 5e-324}}), &list, 10_000));
        }
    }

    #[test]
    fn objects_are_compared_as_often_as_there_are_choices() {
        let many = |choice: fn(usize) -> Value| json!({"enum": (0..1_000).map(choice).collect::<Vec<_>>()});
        let value = Value::Object((0..100).map(|it| (format!("k{it}"), json!(it))).collect());
        assert!(walked(&many(|it| json!(it)), &value, 10_000));
        assert!(!walked(&many(|it| json!({"a": it})), &value, 10_000));
        assert!(!certain(&many(|it| json!({"a": it})), &value, u64::MAX));
    }

    #[test]
    fn schemas_that_double_or_go_round_are_not() {
        let mut definitions = Map::new();
        for number in 0..40 {
            let next = json!({"$ref": format!("#/$defs/a{}", number + 1)});
            definitions.insert(format!("a{number}"), json!({"allOf": [next, next]}));
        }
        definitions.insert("a40".to_owned(), json!({"type": "null"}));
        let doubling = json!({"$ref": "#/$defs/a0", "$defs": definitions});
        assert!(!walked(&doubling, &json!(1), 1_000_000));
        assert!(!walked(&json!({"$ref": "#"}), &json!(1), u64::MAX));
        // One that goes round through a list ends with the list.
        assert!(walked(&json!({"items": {"$ref": "#"}}), &json!([[[[1]]]]), 100));
    }

    #[test]
    fn names_are_followed_and_what_leads_nowhere_is_not_known_to_be_cheap() {
        let tree = json!({"$dynamicAnchor": "node", "items": {"$dynamicRef": "#node"}});
        assert!(walked(&tree, &json!([[1], [2]]), 100));
        let other = json!({"items": {"$ref": "other"}, "$defs": {"o": {"$id": "other", "type": "null"}}});
        assert!(walked(&other, &json!([1, 2]), 100));
        for reference in ["#a", "other.json", "#/$defs/x%20y", "#/nowhere"] {
            assert!(!walked(&json!({"$ref": reference}), &json!(1), u64::MAX), "{reference}");
        }
    }
}
