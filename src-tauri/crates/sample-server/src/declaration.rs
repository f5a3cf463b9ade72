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
}

/// A variant with its compiled schema.
pub(crate) struct Variant {
    pub(crate) declared: OutputVariant,
    schema: Option<Validator>,
}

impl Variant {
    /// Checks a payload against this variant's own schema (rule S07).
    ///
    /// # Errors
    /// What the first violation is, and where.
    pub(crate) fn check(&self, value: &RawJson) -> Result<(), String> {
        let Some(schema) = &self.schema else { return Ok(()) };
        let value = value.to_value();
        schema.validate(&value).map_err(|error| format!("{}: {error}", error.instance_path()))
    }
}

/// What a tool declares.
pub(crate) struct Declaration {
    pub(crate) tool: Tool,
    pub(crate) variants: Vec<Variant>,
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
        let tool = || about.name.to_owned();
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
        let tool = Tool {
            name: about.name.to_owned(),
            title: Some(about.title.to_owned()),
            description: Some(about.description.to_owned()),
            input_schema: about.input.into(),
            contract: Contract::Variants(built.iter().map(|it| it.declared.clone()).collect()),
            annotations: about.annotations,
            ui: about.ui,
            raw: Value::Null.into(),
        };
        Ok(Self { tool, variants: built })
    }

    /// The declaration for a client: extension audiences only if they were negotiated (rule S01).
    pub(crate) fn for_client(&self, has_ui: bool) -> Tool {
        let variants = self.variants.iter().map(|it| it.declared.clone());
        let contract =
            Contract::Variants(variants.filter(|it| is_known(&it.selector.audience, has_ui)).collect());
        Tool { contract, ..self.tool.clone() }
    }

    /// The variant that a selector names.
    pub(crate) fn variant(&self, selector: &Selector) -> Option<&Variant> {
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
pub(crate) struct About {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) description: &'static str,
    pub(crate) input: Value,
    pub(crate) annotations: ToolAnnotations,
    pub(crate) ui: Option<UiLink>,
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;

    fn check(variants: Vec<(Selector, Option<Value>)>, expected: Expect) {
        let about = About {
            name: "t",
            title: "T",
            description: "A tool",
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
}
