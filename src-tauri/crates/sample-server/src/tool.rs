//! The layer that an author of tools sees: declare the variants, compute once, project what was asked for (rule K05).
//!
//! Deliberately absent: revisions. One handler serves all of them; the codec projects what it made (rule K03).

use std::{future::Future, pin::Pin};

use serde::de::DeserializeOwned;
use serde_json::Value;
use usher_protocol::{
    RawJson,
    common::ContentBlock,
    jsonrpc::ErrorObject,
    model::{Audience, Format, OutputPart, Payload, Selector},
};

use crate::{
    connection::Progress,
    declaration::{About, Declaration, DeclarationError},
};

/// A future that owns what it needs.
pub(crate) type Running<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A call as a handler sees it.
pub(crate) struct Call {
    pub(crate) arguments: RawJson,
    pub(crate) progress: Progress,
}

impl Call {
    /// Reads the arguments. What cannot be read is an error of the tool, so that a model can correct itself.
    pub(crate) fn arguments<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        self.arguments.to().map_err(|error| Failure::of(format!("The arguments cannot be read: {error}.")))
    }
}

/// A failure of the tool, told to each audience in its own words (rule S10).
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    /// For the model: what went wrong and what would work.
    assistant: String,
    /// For the person.
    user: String,
    /// For everything structured.
    details: Value,
}

impl Failure {
    pub(crate) fn of(message: String) -> Self {
        let details = serde_json::json!({"error": {"code": "failed", "message": message}});
        Self { user: message.clone(), assistant: message, details }
    }

    pub(crate) fn new(assistant: String, user: String, details: Value) -> Self {
        Self { assistant, user, details }
    }

    fn payload(&self, selector: &Selector) -> Payload {
        match (selector.format, &selector.audience) {
            (Format::Content, Audience::User) => Payload::Content(vec![ContentBlock::text(&self.user)]),
            (Format::Content, Audience::Assistant | Audience::Programmatic | Audience::Extension(_)) => {
                Payload::Content(vec![ContentBlock::text(&self.assistant)])
            }
            (Format::Structured, _) => Payload::Structured(RawJson::from(&self.details)),
        }
    }
}

/// What a run of a tool made.
pub(crate) struct Ran {
    pub(crate) parts: Vec<OutputPart>,
    pub(crate) is_error: bool,
}

/// A tool, whatever its handler computes.
pub(crate) trait AnyTool: Send + Sync {
    /// What it declares.
    fn declaration(&self) -> &Declaration;

    /// Runs it, and the projections of these selectors only. Each selector must be declared.
    fn run(&self, call: Call, selectors: Vec<Selector>) -> Running<Result<Ran, ErrorObject>>;
}

type Projection<S> = std::sync::Arc<dyn Fn(&S) -> Result<Payload, serde_json::Error> + Send + Sync>;
type Handler<S> = std::sync::Arc<dyn Fn(Call) -> Running<Result<S, Failure>> + Send + Sync>;

/// A tool that is being declared. `S` is what its handler computes, once for all outputs.
pub(crate) struct ToolBuilder<S> {
    about: About,
    variants: Vec<(Selector, Option<Value>, Projection<S>)>,
}

impl<S: Send + Sync + 'static> ToolBuilder<S> {
    pub(crate) fn new(about: About) -> Self {
        Self { about, variants: Vec::new() }
    }

    /// Declares a variant of content blocks.
    pub(crate) fn content(
        mut self,
        selector: Selector,
        project: impl Fn(&S) -> Vec<ContentBlock> + Send + Sync + 'static,
    ) -> Self {
        let project: Projection<S> = std::sync::Arc::new(move |it| Ok(Payload::Content(project(it))));
        self.variants.push((selector, None, project));
        self
    }

    /// Declares a variant of one JSON value, with its own schema.
    pub(crate) fn structured(
        mut self,
        selector: Selector,
        schema: Value,
        project: impl Fn(&S) -> Result<RawJson, serde_json::Error> + Send + Sync + 'static,
    ) -> Self {
        let project: Projection<S> = std::sync::Arc::new(move |it| project(it).map(Payload::Structured));
        self.variants.push((selector, Some(schema), project));
        self
    }

    /// Ends the declaration.
    ///
    /// # Errors
    /// The declaration breaks rule S01.
    pub(crate) fn handler<F>(
        self,
        handler: impl Fn(Call) -> F + Send + Sync + 'static,
    ) -> Result<Box<dyn AnyTool>, DeclarationError>
    where
        F: Future<Output = Result<S, Failure>> + Send + 'static,
    {
        let mut declared = Vec::new();
        let mut projections = Vec::new();
        for (selector, schema, project) in self.variants {
            declared.push((selector.clone(), schema));
            projections.push((selector, project));
        }
        let declaration = std::sync::Arc::new(Declaration::new(self.about, declared)?);
        let handler: Handler<S> = std::sync::Arc::new(move |call| Box::pin(handler(call)));
        Ok(Box::new(BuiltTool { declaration, projections, handler }))
    }
}

struct BuiltTool<S> {
    declaration: std::sync::Arc<Declaration>,
    projections: Vec<(Selector, Projection<S>)>,
    handler: Handler<S>,
}

impl<S: Send + Sync + 'static> AnyTool for BuiltTool<S> {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn run(&self, call: Call, selectors: Vec<Selector>) -> Running<Result<Ran, ErrorObject>> {
        let declaration = self.declaration.clone();
        let handler = self.handler.clone();
        let find = |selector: Selector| {
            let project = self.projections.iter().find(|it| it.0 == selector).map(|it| it.1.clone());
            (selector, project)
        };
        let wanted: Vec<_> = selectors.into_iter().map(find).collect();
        Box::pin(async move {
            match handler(call).await {
                Ok(computed) => project(&declaration, &computed, wanted),
                Err(failure) => {
                    let parts =
                        wanted.into_iter().map(|(selector, _)| part(failure.payload(&selector), selector));
                    Ok(Ran { parts: parts.collect(), is_error: true })
                }
            }
        })
    }
}

/// Runs the projections that were asked for, and checks each structured one against its own schema (rule S07).
fn project<S>(
    declaration: &Declaration,
    computed: &S,
    wanted: Vec<(Selector, Option<Projection<S>>)>,
) -> Result<Ran, ErrorObject> {
    let internal = |message: String| ErrorObject::new(ErrorObject::INTERNAL, message);
    let mut parts = Vec::new();
    for (selector, project) in wanted {
        let undeclared = || internal(format!("{selector} is not declared"));
        let project = project.ok_or_else(undeclared)?;
        let variant = declaration.variant(&selector).ok_or_else(undeclared)?;
        let payload =
            project(computed).map_err(|error| internal(format!("{selector} was not made: {error}")))?;
        if let Payload::Structured(value) = &payload {
            variant
                .check(value)
                .map_err(|why| internal(format!("{selector} broke its own schema: {why}")))?;
        }
        parts.push(part(payload, selector));
    }
    Ok(Ran { parts, is_error: false })
}

/// An output that is about to be sent; its size is known once it is written.
pub(crate) fn part(payload: Payload, selector: Selector) -> OutputPart {
    OutputPart { selector, payload, bytes: 0 }
}
