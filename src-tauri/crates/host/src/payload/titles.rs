//! Titles of columns from the schema of the very variant that is shown (rule H04: no other's).

use std::collections::BTreeMap;

use serde_json::Value;
use usher_protocol::RawJson;

/// How many local references are followed to one place.
const HOPS: usize = 8;

/// The titles of the records' properties, by key. `member` names the member that holds the list when the value is an object.
pub(super) fn column_titles(schema: &RawJson, member: Option<&str>) -> BTreeMap<String, String> {
    let root = schema.to_value();
    let find = || {
        let mut at = follow(&root, &root)?;
        if let Some(member) = member {
            at = follow(&root, at.get("properties")?.get(member)?)?;
        }
        let record = follow(&root, at.get("items")?)?;
        let properties = record.get("properties")?.as_object()?;
        let titles = properties.iter().filter_map(|(key, property)| {
            let title = follow(&root, property)?.get("title")?.as_str()?.trim();
            (!title.is_empty()).then(|| (key.clone(), title.to_owned()))
        });
        Some(titles.collect())
    };
    find().unwrap_or_default()
}

/// Follows `$ref` within the document; never elsewhere.
fn follow<'v>(root: &'v Value, at: &'v Value) -> Option<&'v Value> {
    let mut at = at;
    for _ in 0..HOPS {
        match at.get("$ref").and_then(Value::as_str) {
            Some(reference) => at = root.pointer(reference.strip_prefix('#')?)?,
            None => return Some(at),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_found_in_lists_members_and_references() {
        let record =
            r#"{"type":"object","properties":{"id":{"title":"Number"},"name":{"title":" "},"city":{}}}"#;
        let expected = BTreeMap::from([("id".to_owned(), "Number".to_owned())]);
        let list = RawJson::parse(format!(r#"{{"type":"array","items":{record}}}"#)).unwrap();
        assert_eq!(column_titles(&list, None), expected);
        let member = format!(
            r##"{{"properties":{{"rows":{{"items":{{"$ref":"#/$defs/r"}}}}}},"$defs":{{"r":{record}}}}}"##
        );
        assert_eq!(column_titles(&RawJson::parse(member).unwrap(), Some("rows")), expected);
        let endless = RawJson::parse(r##"{"$ref":"#"}"##).unwrap();
        assert_eq!(column_titles(&endless, None), BTreeMap::new());
        assert_eq!(column_titles(&RawJson::parse("true").unwrap(), Some("x")), BTreeMap::new());
    }
}
