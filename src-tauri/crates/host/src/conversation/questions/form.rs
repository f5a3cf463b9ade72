//! Forms: a flat JSON Schema becomes fields (client/elicitation, "Requested Schema").
//!
//! Deliberately absent: nested values, which the specification does not allow.

use serde_json::{Map, Value};
use usher_protocol::RawJson;

/// How many fields a form may have. A server does not decide how long somebody reads.
const MAX_FIELDS: usize = 60;

/// Something to fill in.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name on the wire.
    pub name: String,
    /// Its name for people. Untrusted, as all that follows.
    pub title: String,
    /// What it is.
    pub description: Option<String>,
    /// Whether it must be filled in.
    pub required: bool,
    /// What kind of value.
    pub kind: FieldKind,
    /// What it holds before anybody touches it.
    pub default: Option<Value>,
}

/// What kind of value a field takes.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldKind {
    /// Text.
    Text {
        /// `email`, `uri`, `date` or `date-time`.
        format: Option<String>,
        /// How many characters at least.
        min: Option<u64>,
        /// How many at most.
        max: Option<u64>,
    },
    /// A number.
    Number {
        /// Whether it is whole.
        whole: bool,
        /// The least, as it was written.
        min: Option<String>,
        /// The greatest, as it was written.
        max: Option<String>,
    },
    /// Yes or no.
    Switch,
    /// One of several.
    One(Vec<Choice>),
    /// Any of several.
    Many(Vec<Choice>),
}

/// Something to choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// What is sent.
    pub value: String,
    /// What is shown.
    pub title: String,
}

/// Reads a form.
///
/// # Errors
/// It has a field that is none of those that a form may have; says which.
pub(super) fn read(schema: &RawJson) -> Result<Vec<Field>, String> {
    let schema: Map<String, Value> =
        schema.to().map_err(|error| format!("the form is no object: {error}"))?;
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let Some(Value::Object(properties)) = schema.get("properties") else {
        return Err("the form has no properties".to_owned());
    };
    if properties.len() > MAX_FIELDS {
        return Err(format!("the form has more than {MAX_FIELDS} fields"));
    }
    let field = |(name, field): (&String, &Value)| {
        let text = |key: &str| field.get(key).and_then(Value::as_str).map(str::to_owned);
        Ok(Field {
            kind: kind(field).map_err(|why| format!("the field {name:?} {why}"))?,
            title: text("title").filter(|it| !it.trim().is_empty()).unwrap_or_else(|| name.clone()),
            description: text("description"),
            required: required.contains(&name.as_str()),
            default: field.get("default").filter(|it| !it.is_null()).cloned(),
            name: name.clone(),
        })
    };
    properties.iter().map(field).collect()
}

fn kind(field: &Value) -> Result<FieldKind, String> {
    match field.get("type").and_then(Value::as_str) {
        Some("string") => Ok(choices(field).map_or_else(
            || FieldKind::Text {
                format: field.get("format").and_then(Value::as_str).map(str::to_owned),
                min: field.get("minLength").and_then(Value::as_u64),
                max: field.get("maxLength").and_then(Value::as_u64),
            },
            FieldKind::One,
        )),
        Some(number @ ("number" | "integer")) => {
            let limit = |key: &str| field.get(key).filter(|it| it.is_number()).map(Value::to_string);
            Ok(FieldKind::Number { whole: number == "integer", min: limit("minimum"), max: limit("maximum") })
        }
        Some("boolean") => Ok(FieldKind::Switch),
        Some("array") => field
            .get("items")
            .and_then(choices)
            .map(FieldKind::Many)
            .ok_or_else(|| "is a list of something that cannot be chosen".to_owned()),
        Some(other) => Err(format!("has the type {other:?}, which a form may not have")),
        None => Err("has no type".to_owned()),
    }
}

/// The choices in any of the ways in which they are written: titled or not, new or old.
fn choices(field: &Value) -> Option<Vec<Choice>> {
    let titled = field.get("oneOf").or_else(|| field.get("anyOf")).and_then(Value::as_array);
    if let Some(titled) = titled {
        let choice = |it: &Value| {
            let value = it.get("const")?.as_str()?.to_owned();
            let title = it.get("title").and_then(Value::as_str).unwrap_or(&value).to_owned();
            Some(Choice { value, title })
        };
        return titled.iter().map(choice).collect();
    }
    let values = field.get("enum").and_then(Value::as_array)?;
    let names = field.get("enumNames").and_then(Value::as_array);
    let choice = |(at, it): (usize, &Value)| {
        let value = it.as_str()?.to_owned();
        let title = names.and_then(|it| it.get(at)?.as_str()).unwrap_or(&value).to_owned();
        Some(Choice { value, title })
    };
    values.iter().enumerate().map(choice).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_of_field() {
        let fields = read(
            &json!({"type": "object", "required": ["mail"], "properties": {
                "mail": {"type": "string", "format": "email", "title": "E-mail", "maxLength": 80},
                "age": {"type": "integer", "minimum": 0, "default": 18},
                "news": {"type": "boolean", "default": false},
                "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l"}]},
                "old": {"type": "string", "enum": ["a", "b"], "enumNames": ["Alpha"]},
                "tags": {"type": "array", "items": {"type": "string", "enum": ["x"]}},
            }})
            .into(),
        )
        .unwrap();
        let choice = |value: &str, title: &str| Choice { value: value.to_owned(), title: title.to_owned() };
        let kinds: Vec<_> = fields.iter().map(|it| it.kind.clone()).collect();
        assert_eq!(
            kinds,
            [
                FieldKind::Text { format: Some("email".to_owned()), min: None, max: Some(80) },
                FieldKind::Number { whole: true, min: Some("0".to_owned()), max: None },
                FieldKind::Switch,
                FieldKind::One(vec![choice("s", "Small"), choice("l", "l")]),
                FieldKind::One(vec![choice("a", "Alpha"), choice("b", "b")]),
                FieldKind::Many(vec![choice("x", "x")]),
            ]
        );
        assert_eq!((fields[0].required, fields[0].title.as_str()), (true, "E-mail"));
        assert_eq!((fields[1].required, &fields[1].default), (false, &Some(json!(18))));
    }

    #[test]
    fn what_a_form_may_not_have() {
        let check = |property: Value| read(&json!({"properties": {"f": property}}).into()).unwrap_err();
        assert_eq!(
            check(json!({"type": "object"})),
            r#"the field "f" has the type "object", which a form may not have"#
        );
        assert_eq!(
            check(json!({"type": "array", "items": {"type": "object"}})),
            r#"the field "f" is a list of something that cannot be chosen"#
        );
        assert_eq!(check(json!({})), r#"the field "f" has no type"#);
        assert!(read(&json!([]).into()).is_err());
        let many: Map<String, Value> = (0..61).map(|n| (n.to_string(), json!({"type": "boolean"}))).collect();
        assert!(read(&json!({"properties": many}).into()).is_err());
    }
}
