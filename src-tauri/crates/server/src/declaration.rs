//! What a tool declares, checked when it is built: a declaration that breaks rule S01 cannot exist.

use std::collections::BTreeSet;

use jsonschema::Validator;
use serde_json::Value;
use usher_protocol::{
    RawJson,
    model::{Audience, Contract, Format, OutputVariant, Selector, Tool, ToolAnnotations, UiLink},
};

/// Why a tool cannot be declared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeclarationError {
    /// Every tool gives assistant/content (rule S01).
    #[error("{tool} declares no assistant/content, the one output that every tool gives")]
    NoFallback {
        /// The tool.
        tool: String,
    },
    /// A pair stands for one variant (rule S01).
    #[error("{tool} declares {selector} twice")]
    Twice {
        /// The tool.
        tool: String,
        /// The pair.
        selector: Selector,
    },
    /// Core defines five pairs, an extension its own (rule H03).
    #[error("{tool} declares {selector}, a pair that does not exist")]
    Pair {
        /// The tool.
        tool: String,
        /// The pair.
        selector: Selector,
    },
    /// Without a schema nothing can be checked before it is sent (rules S03 and S07).
    #[error("the schema of {selector} of {tool} is not a JSON Schema: {why}")]
    Schema {
        /// The tool.
        tool: String,
        /// The pair.
        selector: Selector,
        /// What is wrong with it.
        why: String,
    },
    /// `x-mcp-header` names a header once, of an argument that is a string, an integer or a boolean.
    #[error(
        "{tool} asks for a header Mcp-Param-{name} that cannot be: names are tokens, each once, of plain arguments"
    )]
    Header {
        /// The tool.
        tool: String,
        /// The header's name.
        name: String,
    },
}

/// A variant with its compiled schema.
pub struct Variant {
    /// What clients see of it.
    pub declared: OutputVariant,
    schema: Option<Validator>,
}

impl Variant {
    /// Checks a payload against this variant's own schema (rule S07).
    ///
    /// # Errors
    /// What the first violation is, and where.
    pub fn check(&self, value: &RawJson) -> Result<(), String> {
        let Some(schema) = &self.schema else { return Ok(()) };
        let value = value.to_value();
        schema.validate(&value).map_err(|error| format!("{}: {error}", error.instance_path()))
    }
}

/// What a tool declares. One that breaks rule S01 cannot be built (rule K01).
pub struct Declaration {
    /// The declaration with all of its variants, whatever the client negotiated.
    pub tool: Tool,
    /// The variants with their compiled schemas.
    pub variants: Vec<Variant>,
    /// The arguments that a client repeats in headers (2026-07-28 basic/transports/streamable-http, `x-mcp-header`).
    pub(crate) headers: Vec<HeaderArgument>,
}

/// An argument that is repeated in a header `Mcp-Param-…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeaderArgument {
    /// The names that lead to it in the arguments.
    pub(crate) path: Vec<String>,
    /// What follows `Mcp-Param-`.
    pub(crate) name: String,
}

impl Declaration {
    /// Builds a declaration.
    ///
    /// # Errors
    /// It would break rule S01 or H03, or a schema is not one.
    pub(crate) fn new(
        about: About,
        variants: Vec<(Selector, Option<Value>)>,
    ) -> Result<Self, DeclarationError> {
        let tool = || about.name.clone();
        let mut seen = BTreeSet::new();
        let mut built = Vec::new();
        for (selector, schema) in variants {
            if !selector.is_permitted() {
                return Err(DeclarationError::Pair { tool: tool(), selector });
            }
            if !seen.insert(selector.clone()) {
                return Err(DeclarationError::Twice { tool: tool(), selector });
            }
            let compiled = schema.as_ref().map(jsonschema::validator_for).transpose().map_err(|error| {
                DeclarationError::Schema { tool: tool(), selector: selector.clone(), why: error.to_string() }
            })?;
            let schema = schema.filter(|_| selector.format == Format::Structured).map(RawJson::from);
            built.push(Variant { declared: OutputVariant { selector, schema }, schema: compiled });
        }
        if !seen.contains(&Selector::ASSISTANT_CONTENT) {
            return Err(DeclarationError::NoFallback { tool: tool() });
        }
        let headers = header_arguments(&about.name, &about.input)?;
        let tool = Tool {
            name: about.name,
            title: about.title,
            description: Some(about.description),
            input_schema: about.input.into(),
            contract: Contract::Variants(built.iter().map(|it| it.declared.clone()).collect()),
            annotations: about.annotations,
            ui: about.ui,
            raw: Value::Null.into(),
        };
        Ok(Self { tool, variants: built, headers })
    }

    /// Whether a client is told of the tool. One for Views alone means nothing to a client without them, which might hand it to its
    /// model (X7); a call by its name is answered all the same.
    pub(crate) fn is_listed(&self, has_ui: bool) -> bool {
        has_ui || self.tool.is_visible_to_model() || !self.tool.is_visible_to_view()
    }

    /// The declaration for a client: extension audiences only if they were negotiated (rule S01).
    pub(crate) fn for_client(&self, has_ui: bool) -> Tool {
        let variants = self.variants.iter().map(|it| it.declared.clone());
        let contract =
            Contract::Variants(variants.filter(|it| is_known(&it.selector.audience, has_ui)).collect());
        Tool { contract, ..self.tool.clone() }
    }

    /// The variant that a selector names.
    pub fn variant(&self, selector: &Selector) -> Option<&Variant> {
        self.variants.iter().find(|it| it.declared.selector == *selector)
    }
}

fn is_known(audience: &Audience, has_ui: bool) -> bool {
    match audience {
        Audience::Assistant | Audience::User | Audience::Programmatic => true,
        Audience::Extension(_) => has_ui && *audience == Audience::ui(),
    }
}

/// What a tool says of itself.
#[derive(Clone)]
pub(crate) struct About {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: String,
    pub(crate) input: Value,
    pub(crate) annotations: ToolAnnotations,
    pub(crate) ui: Option<UiLink>,
}

/// The annotated arguments: each reached by `properties` alone, of a type that a header can hold, and under a name of its own.
fn header_arguments(tool: &str, input: &Value) -> Result<Vec<HeaderArgument>, DeclarationError> {
    let mut found = Vec::new();
    collect_headers(input, &mut Vec::new(), &mut found);
    let mut names = BTreeSet::new();
    for (argument, kind) in &found {
        let is_token = !argument.name.is_empty()
            && argument.name.bytes().all(|it| it.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&it));
        let is_plain = matches!(kind.as_deref(), Some("string" | "integer" | "boolean"));
        if !is_token || !is_plain || !names.insert(argument.name.to_ascii_lowercase()) {
            let (tool, name) = (tool.to_owned(), argument.name.clone());
            return Err(DeclarationError::Header { tool, name });
        }
    }
    Ok(found.into_iter().map(|it| it.0).collect())
}

fn collect_headers(
    schema: &Value,
    path: &mut Vec<String>,
    found: &mut Vec<(HeaderArgument, Option<String>)>,
) {
    for (property, inner) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        path.push(property.clone());
        if let Some(name) = inner.get("x-mcp-header") {
            let name = name.as_str().unwrap_or_default().to_owned();
            let kind = inner.get("type").and_then(Value::as_str).map(str::to_owned);
            found.push((HeaderArgument { path: path.clone(), name }, kind));
        }
        collect_headers(inner, path, found);
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn check(variants: Vec<(Selector, Option<Value>)>, expected: Expect) {
        let about = About {
            name: "t".to_owned(),
            title: None,
            description: "A tool".to_owned(),
            input: json!({"type": "object"}),
            annotations: ToolAnnotations::default(),
            ui: None,
        };
        let built = Declaration::new(about, variants);
        expected.assert_eq(&built.err().map_or_else(|| "it is built".to_owned(), |error| error.to_string()));
    }

    #[test]
    fn k01_a_declaration_that_breaks_s01_cannot_be_built() {
        let fallback = || (Selector::ASSISTANT_CONTENT, None);
        check(vec![fallback()], expect!["it is built"]);
        check(
            vec![(Selector::USER_CONTENT, None)],
            expect!["t declares no assistant/content, the one output that every tool gives"],
        );
        check(vec![fallback(), fallback()], expect!["t declares assistant/content twice"]);
        let pair = Selector { audience: Audience::Programmatic, format: Format::Content };
        check(
            vec![fallback(), (pair, None)],
            expect!["t declares programmatic/content, a pair that does not exist"],
        );
        check(
            vec![fallback(), (Selector::ui(), Some(json!({"type": "nothing"})))],
            expect![[
                r#"the schema of io.modelcontextprotocol/ui/structured of t is not a JSON Schema: "nothing" is not valid under any of the schemas listed in the 'anyOf' keyword"#
            ]],
        );
    }

    #[test]
    fn arguments_in_headers_are_found_and_checked() {
        let input = |name: &str, kind: &str| json!({"properties": {"to": {"properties": {"region": {"type": kind, "x-mcp-header": name}}}}});
        let found = header_arguments("t", &input("Region", "string")).unwrap();
        assert_eq!(
            found,
            [HeaderArgument { path: vec!["to".into(), "region".into()], name: "Region".into() }]
        );
        for (name, kind) in [("", "string"), ("a b", "string"), ("A", "number"), ("A", "array")] {
            assert!(header_arguments("t", &input(name, kind)).is_err(), "{name} {kind}");
        }
        let twice = json!({"properties": {
            "a": {"type": "string", "x-mcp-header": "X"}, "b": {"type": "string", "x-mcp-header": "x"}}});
        assert!(header_arguments("t", &twice).is_err());
    }
}
