//! Whether a payload fits the schema of its own variant.
//!
//! A verdict informs and never blocks. Deliberately absent: the network. A reference that leaves the schema is not followed.

mod cost;
mod text;

use std::{collections::BTreeMap, sync::Arc};

use jsonschema::{Draft, PatternOptions, Validator};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use usher_protocol::{RawJson, model::Selector};

use self::text::{JsonText, Text};

/// How many problems are listed; a big table with a wrong column has as many as it has rows.
const MOST_PROBLEMS: usize = 20;
/// The largest schema that is compiled, in bytes.
const LARGEST_SCHEMA: usize = 1 << 20;
/// The largest payload that is checked, in bytes. Above it, the index of the text would cost more memory than the answer is worth.
const LARGEST_PAYLOAD: usize = 64 << 20;
/// The most work that a check may be, in visits of a part of the schema to a part of the value. A million is a few hundredths of a second.
const MOST_VISITS: u64 = 30_000_000;
/// The most work after which problems are looked for: each visit may find one, and all are kept before the first is shown.
const MOST_SEARCHED: u64 = 500_000;
/// How far an expression with look-around may go back. What needs more is not decided.
const MOST_BACKTRACKING: usize = 10_000;
/// The largest expression, compiled, in bytes.
const LARGEST_EXPRESSION: usize = 512 << 10;
/// The most expressions and references of a schema. Each expression is compiled, and each reference is followed with all that led to it.
const MOST_EXPRESSIONS: usize = 500;
const MOST_REFERENCES: usize = 10_000;

/// The outcome of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It fits.
    Fits,
    /// It does not.
    Violates {
        /// Where and what, the first twenty.
        problems: Vec<Problem>,
        /// How many there are beyond those that are listed is not known; whether there are.
        more: bool,
    },
    /// It was not checked.
    NotChecked(NotChecked),
}

/// A place that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// A JSON pointer into the payload.
    pub pointer: String,
    /// What is wrong there.
    pub message: String,
}

/// Why there is no verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum NotChecked {
    /// The variant declares no schema.
    #[error("no schema is declared")]
    NoSchema,
    /// The result is an error, which need not fit the success schema (rule H05).
    #[error("an error need not fit the schema of a success")]
    IsError,
    /// The schema's dialect is not one that is known.
    #[error("the dialect {0} is not known")]
    Dialect(String),
    /// The schema cannot be used.
    #[error("the schema cannot be used: {0}")]
    Schema(String),
    /// The payload is too large or too deep to be walked.
    #[error("the value cannot be checked: {0}")]
    Payload(String),
}

/// Compiled schemas, by what they belong to: a tool of a server and the selector of one variant (rule H04).
#[derive(Debug, Default)]
pub struct SchemaCache {
    compiled: BTreeMap<(String, Selector), Entry>,
}

#[derive(Debug)]
struct Entry {
    schema: RawJson,
    compiled: Compiled,
}

/// A schema that is ready for use, or why it cannot be.
#[derive(Debug, Clone)]
pub struct Compiled(Result<Arc<Ready>, NotChecked>);

#[derive(Debug)]
struct Ready {
    validator: Validator<JsonText>,
    schema: Value,
    extent: cost::Extent,
}

impl SchemaCache {
    /// The compiled schema of one variant of one tool; `owner` names the server and the tool.
    pub fn of(&mut self, owner: &str, selector: &Selector, schema: &RawJson) -> Compiled {
        let key = (owner.to_owned(), selector.clone());
        if let Some(entry) = self.compiled.get(&key)
            && entry.schema == *schema
        {
            return entry.compiled.clone();
        }
        let compiled = Compiled::new(schema);
        self.compiled.insert(key, Entry { schema: schema.clone(), compiled: compiled.clone() });
        compiled
    }
}

impl Compiled {
    /// Compiles a schema by the dialect that its `$schema` names, 2020-12 where it names none (2026-07-28 basic, "JSON Schema").
    pub fn new(schema: &RawJson) -> Self {
        Self(compile(schema).map(Arc::new))
    }

    /// Checks a payload as it is written: no number is rounded before it is looked at.
    pub fn check(&self, payload: &RawJson) -> Verdict {
        let ready = match &self.0 {
            Ok(ready) => ready,
            Err(why) => return Verdict::NotChecked(why.clone()),
        };
        if payload.bytes() > LARGEST_PAYLOAD {
            let why = format!("it has {} bytes, more than {LARGEST_PAYLOAD}", payload.bytes());
            return Verdict::NotChecked(NotChecked::Payload(why));
        }
        let text = match Text::index(payload.get()) {
            Ok(text) => text,
            Err(why) => return Verdict::NotChecked(NotChecked::Payload(why.to_string())),
        };
        let value = text.root();
        if !ready.extent.is_within(value, MOST_VISITS) && !cost::is_within(&ready.schema, value, MOST_VISITS)
        {
            let why = "its schema makes that too much work for a value of this size".to_owned();
            return Verdict::NotChecked(NotChecked::Payload(why));
        }
        // Most values fit, and this remembers what it has seen and keeps nothing.
        if ready.validator.is_valid(value) {
            return Verdict::Fits;
        }
        if !ready.extent.is_within(value, MOST_SEARCHED)
            && !cost::is_within(&ready.schema, value, MOST_SEARCHED)
        {
            let message = "does not fit; where is not looked for in a value of this size".to_owned();
            return Verdict::Violates {
                problems: vec![Problem { pointer: String::new(), message }],
                more: true,
            };
        }
        let mut problems: Vec<Problem> = ready
            .validator
            .iter_errors(value)
            .take(MOST_PROBLEMS + 1)
            .map(|error| {
                let pointer = error.instance_path().to_string();
                // A number that a double cannot hold is quoted with the digits that came.
                let digits = matches!(error.instance().as_ref(), Value::Number(it) if it.is_f64())
                    .then(|| text.number_at(&pointer))
                    .flatten();
                let message = match digits {
                    Some(digits) => error.masked_with(digits.to_owned()).to_string(),
                    None => error.to_string(),
                };
                Problem { pointer, message: brief(&message) }
            })
            .collect();
        let more = problems.len() > MOST_PROBLEMS;
        problems.truncate(MOST_PROBLEMS);
        Verdict::Violates { problems, more }
    }
}

/// A message quotes the value, which may be the whole payload.
fn brief(message: &str) -> String {
    const LONGEST: usize = 200;
    let Some((cut, _)) = message.char_indices().nth(LONGEST) else { return message.to_owned() };
    let tail: String = message.chars().rev().take(80).collect::<Vec<_>>().into_iter().rev().collect();
    format!("{}… {tail}", &message[..cut])
}

fn compile(schema: &RawJson) -> Result<Ready, NotChecked> {
    if schema.bytes() > LARGEST_SCHEMA {
        return Err(NotChecked::Schema(format!(
            "it has {} bytes, more than {LARGEST_SCHEMA}",
            schema.bytes()
        )));
    }
    let value: Value = schema.to().map_err(|error| NotChecked::Schema(error.to_string()))?;
    let draft = dialect(&value)?;
    let extent = cost::Extent::of(&value);
    for (count, most, what) in [
        (extent.expressions, MOST_EXPRESSIONS, "expressions"),
        (extent.references, MOST_REFERENCES, "references"),
    ] {
        if count > most {
            return Err(NotChecked::Schema(format!("it has {count} {what}, more than {most}")));
        }
    }
    let expressions = PatternOptions::fancy_regex()
        .backtrack_limit(MOST_BACKTRACKING)
        .size_limit(LARGEST_EXPRESSION)
        .dfa_size_limit(LARGEST_EXPRESSION);
    let validator = jsonschema::options_for::<JsonText>()
        .with_draft(draft)
        .with_pattern_options(expressions)
        .build(&value)
        .map_err(|error| NotChecked::Schema(brief(&error.to_string())))?;
    Ok(Ready { validator, schema: value, extent })
}

/// The dialect by which a schema is read, for people: its name, and whether the schema says so.
pub fn dialect_name(schema: &RawJson) -> String {
    let tree = schema.to_value();
    let says = tree.get("$schema").is_some();
    match dialect(&tree) {
        Ok(draft) => {
            let name = match draft {
                Draft::Draft4 => "draft-04",
                Draft::Draft6 => "draft-06",
                Draft::Draft7 => "draft-07",
                Draft::Draft201909 => "2019-09",
                _ => "2020-12",
            };
            if says { name.to_owned() } else { format!("{name}, the default where $schema is absent") }
        }
        Err(why) => why.to_string(),
    }
}

fn dialect(schema: &Value) -> Result<Draft, NotChecked> {
    let Some(named) = schema.get("$schema") else { return Ok(Draft::Draft202012) };
    let Some(named) = named.as_str() else { return Err(NotChecked::Dialect(named.to_string())) };
    let plain = named.trim_end_matches('#');
    let plain = plain.strip_prefix("https://").or_else(|| plain.strip_prefix("http://")).unwrap_or(plain);
    match plain {
        "json-schema.org/draft/2020-12/schema" => Ok(Draft::Draft202012),
        "json-schema.org/draft/2019-09/schema" => Ok(Draft::Draft201909),
        "json-schema.org/draft-07/schema" => Ok(Draft::Draft7),
        "json-schema.org/draft-06/schema" => Ok(Draft::Draft6),
        "json-schema.org/draft-04/schema" => Ok(Draft::Draft4),
        _ => Err(NotChecked::Dialect(named.to_owned())),
    }
}

impl Verdict {
    /// The verdict in a few words.
    pub fn line(&self) -> String {
        match self {
            Self::Fits => "fits its schema".to_owned(),
            Self::Violates { problems, .. } => match problems.first() {
                Some(first) if first.pointer.is_empty() => {
                    format!("does not fit its schema: {}", first.message)
                }
                Some(first) => {
                    format!("does not fit its schema at {}: {}", brief(&first.pointer), first.message)
                }
                None => "does not fit its schema".to_owned(),
            },
            Self::NotChecked(why) => format!("not validated: {}", brief(&why.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schema: &str, value: &str) -> Verdict {
        Compiled::new(&RawJson::parse(schema).unwrap()).check(&RawJson::parse(value).unwrap())
    }

    #[test]
    fn a_schema_that_never_ends_is_not_begun() {
        for schema in [
            r##"{"$ref":"#"}"##,
            r##"{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"anyOf":[{"$ref":"#"},{"$ref":"#/$defs/a"}]}}}"##,
            // Two choices at each of many levels.
            r##"{"anyOf":[{"properties":{"a":{"$ref":"#"}},"required":["b"]},{"properties":{"a":{"$ref":"#"}},"required":["c"]}]}"##,
        ] {
            let value = format!("{}1{}", r#"{"a":"#.repeat(100), "}".repeat(100));
            assert!(matches!(check(schema, &value), Verdict::NotChecked(NotChecked::Payload(_))), "{schema}");
        }
    }

    #[test]
    fn a_schema_that_refers_to_itself_through_the_value_is_followed() {
        let schema = r##"{"properties":{"v":{"type":"number"},"of":{"items":{"$ref":"#"}}}}"##;
        assert_eq!(check(schema, r#"{"v":1,"of":[{"v":2}]}"#), Verdict::Fits);
        let Verdict::Violates { problems, more: false } = check(schema, r#"{"v":1,"of":[{"v":"x"}]}"#) else {
            panic!("it does not fit")
        };
        assert_eq!(problems[0].pointer, "/of/0/v");
    }

    #[test]
    fn a_big_table_that_does_not_fit_is_not_searched() {
        let schema = r#"{"items":{"type":"string"}}"#;
        let table = |rows: usize| format!("[1{}]", ",1".repeat(rows));
        let Verdict::Violates { problems, more: true } = check(schema, &table(100_000)) else {
            panic!("too few")
        };
        assert_eq!((problems.len(), problems[0].pointer.as_str()), (MOST_PROBLEMS, "/0"));
        // Each problem of a million would be kept before the first is shown.
        let Verdict::Violates { problems, more: true } = check(schema, &table(1_000_000)) else {
            panic!("too few")
        };
        assert_eq!((problems.len(), problems[0].pointer.as_str()), (1, ""));
    }

    #[test]
    fn objects_and_lists_are_compared_as_json_compares_them() {
        let schema = r#"{"enum":[{"a":1,"b":[true,{"c":"x"}]},[],[1,2]]}"#;
        for value in [
            r#"{"b":[true,{"c":"x"}],"a":1.0}"#,
            r#"{"a":0,"b":[true,{"c":"\u0078"}],"\u0061":1}"#,
            "[ ]",
            "[1,2.0]",
        ] {
            assert_eq!(check(schema, value), Verdict::Fits, "{value}");
        }
        for value in [
            r#"{"a":1}"#,
            r#"{"a":1,"b":[true,{"c":"x"}],"d":1}"#,
            r#"{"a":1,"c":2}"#,
            "[1]",
            "[1,2,3]",
            "{}",
        ] {
            assert!(matches!(check(schema, value), Verdict::Violates { .. }), "{value}");
        }
    }

    #[test]
    fn a_schema_of_endless_expressions_or_references_is_not_begun() {
        let expressions = |count: usize| {
            let all: Vec<String> = (0..count).map(|it| format!("\"a{{1000}}{it}\":{{}}")).collect();
            format!("{{\"patternProperties\":{{{}}}}}", all.join(","))
        };
        let references =
            format!("{{\"allOf\":[{}1]}}", r##"{"$ref":"#/$defs/a"},"##.repeat(MOST_REFERENCES + 1));
        assert_eq!(check(&expressions(20), "{}"), Verdict::Fits);
        for schema in [expressions(MOST_EXPRESSIONS + 1), references] {
            let verdict = check(&schema, "{}");
            assert!(matches!(verdict, Verdict::NotChecked(NotChecked::Schema(_))), "{verdict:?}");
        }
    }

    #[test]
    fn a_verdict_in_a_few_words_has_few() {
        let long = "k".repeat(10_000);
        let schema = format!(r#"{{"properties":{{"{long}":{{"type":"string"}}}}}}"#);
        assert!(check(&schema, &format!(r#"{{"{long}":1}}"#)).line().len() < 1_000);
        assert!(check(&format!(r#"{{"$schema":"{long}"}}"#), "1").line().len() < 1_000);
    }

    #[test]
    fn an_expression_that_goes_back_and_forth_is_given_up() {
        let value = format!("[{}\"\"]", format!("\"{}\",", "a".repeat(40)).repeat(100));
        let verdict = check(r#"{"items":{"pattern":"(?=a)(a+)+b"}}"#, &value);
        assert!(matches!(verdict, Verdict::Violates { .. }), "{verdict:?}");
        let large = check(r#"{"pattern":"((a{1000}){1000}){1000}"}"#, "\"a\"");
        assert!(matches!(large, Verdict::NotChecked(NotChecked::Schema(_))), "{large:?}");
    }
}
