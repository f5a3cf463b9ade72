//! The layer that an author of tools sees: declare the variants, compute once, project what was asked for (rule K05).
//!
//! A tool of an earlier revision moves here in this order (rule K04): its `content` is [`ToolBuilder::content`] for the assistant; its
//! `structuredContent`, if it is fit for a model, is [`ToolBuilder::structured`] for the assistant, with the old `outputSchema`; programs
//! and Views get variants of their own, with schemas of their own, where the tool really makes data for them. Nothing is derived.
//!
//! Deliberately absent: revisions. One handler serves all of them; the codec projects what it made (rule K03).

use std::{future::Future, pin::Pin, sync::Arc};

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::Serialize;
use serde_json::{Map, Value, json};
use usher_protocol::{
    RawJson,
    common::ContentBlock,
    jsonrpc::ErrorObject,
    model::{Audience, Format, OutputPart, Payload, Selector, ToolAnnotations, UiLink},
};

use crate::{
    context::Call,
    declaration::{About, Declaration, DeclarationError},
};

/// A future that owns what it needs.
pub type Running<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Why a handler has no result.
#[derive(Debug, Clone)]
pub struct Failure(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Told(Told),
    Refused(ErrorObject),
    Asks(Value),
}

/// A failure of the tool, told to each audience in its own words (rule S10).
#[derive(Debug, Clone)]
struct Told {
    /// For the model: what went wrong and what would work.
    assistant: String,
    /// For the person.
    user: String,
    /// For everything structured.
    details: Value,
}

impl Failure {
    /// A failure that everybody is told in the same words.
    pub fn of(message: impl Into<String>) -> Self {
        let message = message.into();
        let details = json!({"error": {"code": "failed", "message": message}});
        Self(Kind::Told(Told { user: message.clone(), assistant: message, details }))
    }

    /// A failure in words for the model, words for the person, and details for everything structured.
    pub fn new(assistant: String, user: String, details: Value) -> Self {
        Self(Kind::Told(Told { assistant, user, details }))
    }

    /// An error of the protocol instead of a result.
    pub fn refused(error: ErrorObject) -> Self {
        Self(Kind::Refused(error))
    }

    pub(crate) fn asks(result: Value) -> Self {
        Self(Kind::Asks(result))
    }

    #[cfg(test)]
    pub(crate) fn into_asked(self) -> Value {
        match self.0 {
            Kind::Asks(result) => result,
            Kind::Told(_) | Kind::Refused(_) => Value::Null,
        }
    }

    /// The failure of a request whose result has no place for errors.
    pub(crate) fn into_result(self) -> Result<Value, ErrorObject> {
        match self.0 {
            Kind::Told(it) => Err(ErrorObject::new(ErrorObject::INVALID_PARAMS, it.assistant)),
            Kind::Refused(error) => Err(error),
            Kind::Asks(result) => Ok(result),
        }
    }
}

impl Told {
    fn payload(&self, selector: &Selector) -> Payload {
        match (selector.format, &selector.audience) {
            (Format::Content, Audience::User) => Payload::Content(vec![ContentBlock::text(&self.user)]),
            (Format::Content, Audience::Assistant | Audience::Programmatic | Audience::Extension(_)) => {
                Payload::Content(vec![ContentBlock::text(&self.assistant)])
            }
            (
                Format::Structured,
                Audience::Assistant | Audience::User | Audience::Programmatic | Audience::Extension(_),
            ) => Payload::Structured(RawJson::from(&self.details)),
        }
    }
}

/// What a run of a tool made.
pub struct Ran {
    /// One output for each selector.
    pub parts: Vec<OutputPart>,
    /// The operation failed.
    pub is_error: bool,
    /// Result-level `_meta`, beside who answers.
    pub meta: Map<String, Value>,
}

/// What became of a call.
pub enum Made {
    /// It ran.
    Outputs(Ran),
    /// It needs answers of the client first: the whole result that says so.
    Questions(Value),
}

/// A tool, whatever its handler computes.
pub trait AnyTool: Send + Sync {
    /// What it declares.
    fn declaration(&self) -> &Declaration;

    /// The same tool as clients of earlier revisions meet it, if that is another one ([`ToolBuilder::structured_before`]).
    fn earlier(&self) -> Option<&dyn AnyTool> {
        None
    }

    /// Runs it, and the projections of these selectors only (rule K05). Each selector must be declared.
    fn run(&self, call: Call, selectors: Vec<Selector>) -> Running<Result<Made, ErrorObject>>;
}

type Projection<S> = Arc<dyn Fn(&S) -> Result<Payload, serde_json::Error> + Send + Sync>;
type Meta = Arc<dyn Fn(&[Selector]) -> Map<String, Value> + Send + Sync>;
type Handler<S> = Arc<dyn Fn(Call) -> Running<Result<S, Failure>> + Send + Sync>;

/// A tool that is being declared. `S` is what its handler computes, once for all outputs.
pub struct ToolBuilder<S> {
    about: About,
    variants: Vec<(Selector, Option<Value>, Projection<S>)>,
    before: Option<(Value, Projection<S>)>,
    meta: Meta,
}

impl<S: Send + Sync + 'static> ToolBuilder<S> {
    /// A tool of this name, with what it does in words for a model. It takes no arguments until it says which.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        let about = About {
            name: name.into(),
            title: None,
            description: description.into(),
            input: json!({"type": "object"}),
            annotations: ToolAnnotations::default(),
            ui: None,
        };
        Self { about, variants: Vec::new(), before: None, meta: Arc::new(|_| Map::new()) }
    }

    /// A name for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.about.title = Some(title.into());
        self
    }

    /// The JSON Schema of its arguments, an object.
    #[must_use]
    pub fn input(mut self, schema: Value) -> Self {
        self.about.input = schema;
        self
    }

    /// Its arguments, by their type.
    #[must_use]
    pub fn input_of<A: JsonSchema>(self) -> Self {
        self.input(schema_of::<A>())
    }

    /// Hints about its effects.
    #[must_use]
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.about.annotations = annotations;
        self
    }

    /// The App View that shows its results (MCP Apps 2026-01-26).
    #[must_use]
    pub fn view(mut self, link: UiLink) -> Self {
        self.about.ui = Some(link);
        self
    }

    /// What a success adds to the result's `_meta` for these selectors. Data of an audience belongs into its output (rule S14).
    #[must_use]
    pub fn meta(mut self, meta: impl Fn(&[Selector]) -> Map<String, Value> + Send + Sync + 'static) -> Self {
        self.meta = Arc::new(meta);
        self
    }

    /// Declares a variant of content blocks.
    #[must_use]
    pub fn content(
        mut self,
        selector: Selector,
        project: impl Fn(&S) -> Vec<ContentBlock> + Send + Sync + 'static,
    ) -> Self {
        let project: Projection<S> = Arc::new(move |it| Ok(Payload::Content(project(it))));
        self.variants.push((selector, None, project));
        self
    }

    /// Declares a variant of one JSON value, with its own schema.
    #[must_use]
    pub fn structured(
        mut self,
        selector: Selector,
        schema: Value,
        project: impl Fn(&S) -> Result<RawJson, serde_json::Error> + Send + Sync + 'static,
    ) -> Self {
        let project: Projection<S> = Arc::new(move |it| project(it).map(Payload::Structured));
        self.variants.push((selector, Some(schema), project));
        self
    }

    /// Declares a variant of one JSON value, whose type gives the schema.
    #[must_use]
    pub fn structured_of<T: JsonSchema + Serialize>(
        self,
        selector: Selector,
        project: impl Fn(&S) -> T + Send + Sync + 'static,
    ) -> Self {
        self.structured(selector, schema_of::<T>(), move |it| RawJson::of(&project(it)))
    }

    /// Keeps what the tool gave as `structuredContent` before it declared variants, with its `outputSchema`: clients of earlier
    /// revisions get it instead of `assistant/structured`, and nobody else gets it. It is for tools whose Views of that time read it;
    /// their model may read it too, so it is never a way to hand data to a View alone (rule K04).
    #[must_use]
    pub fn structured_before(
        mut self,
        schema: Value,
        project: impl Fn(&S) -> Result<RawJson, serde_json::Error> + Send + Sync + 'static,
    ) -> Self {
        self.before = Some((schema, Arc::new(move |it| project(it).map(Payload::Structured))));
        self
    }

    /// Ends the declaration.
    ///
    /// # Errors
    /// The declaration breaks rule S01, or a schema is not one.
    pub fn handler<F>(
        self,
        handler: impl Fn(Call) -> F + Send + Sync + 'static,
    ) -> Result<Box<dyn AnyTool>, DeclarationError>
    where
        F: Future<Output = Result<S, Failure>> + Send + 'static,
    {
        let handler: Handler<S> = Arc::new(move |call| Box::pin(handler(call)));
        let built = |variants: Vec<(Selector, Option<Value>, Projection<S>)>| {
            let mut declared = Vec::new();
            let mut projections = Vec::new();
            for (selector, schema, project) in variants {
                declared.push((selector.clone(), schema));
                projections.push((selector, project));
            }
            let declaration = Arc::new(Declaration::new(self.about.clone(), declared)?);
            let (meta, handler) = (self.meta.clone(), handler.clone());
            Ok(BuiltTool { declaration, projections, meta, handler, earlier: None })
        };
        let earlier = self.before.map(|(schema, project)| {
            let others = self.variants.iter().filter(|it| it.0 != Selector::ASSISTANT_STRUCTURED).cloned();
            built(others.chain([(Selector::ASSISTANT_STRUCTURED, Some(schema), project)]).collect())
        });
        let earlier = earlier.transpose()?.map(Box::new);
        Ok(Box::new(BuiltTool { earlier, ..built(self.variants)? }))
    }
}

struct BuiltTool<S> {
    declaration: Arc<Declaration>,
    projections: Vec<(Selector, Projection<S>)>,
    meta: Meta,
    handler: Handler<S>,
    earlier: Option<Box<Self>>,
}

impl<S: Send + Sync + 'static> AnyTool for BuiltTool<S> {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn earlier(&self) -> Option<&dyn AnyTool> {
        self.earlier.as_deref().map(|it| it as &dyn AnyTool)
    }

    fn run(&self, call: Call, selectors: Vec<Selector>) -> Running<Result<Made, ErrorObject>> {
        let meta = (self.meta)(&selectors);
        let declaration = self.declaration.clone();
        let handler = self.handler.clone();
        let find = |selector: Selector| {
            let project = self.projections.iter().find(|it| it.0 == selector).map(|it| it.1.clone());
            (selector, project)
        };
        let wanted: Vec<_> = selectors.into_iter().map(find).collect();
        Box::pin(async move {
            match handler(call).await {
                Ok(computed) => project(&declaration, &computed, wanted, meta).map(Made::Outputs),
                Err(Failure(Kind::Told(told))) => {
                    let parts =
                        wanted.into_iter().map(|(selector, _)| part(told.payload(&selector), selector));
                    Ok(Made::Outputs(Ran { parts: parts.collect(), is_error: true, meta: Map::new() }))
                }
                Err(Failure(Kind::Refused(error))) => Err(error),
                Err(Failure(Kind::Asks(result))) => Ok(Made::Questions(result)),
            }
        })
    }
}

/// The schema of a type. Its dialect is the one that goes without saying (2025-11-25 basic, "JSON Schema Usage"), and models' providers
/// refuse a `$schema`.
fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|it| it.meta_schema = None);
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// Runs the projections that were asked for, and checks each structured one against its own schema (rule S07).
fn project<S>(
    declaration: &Declaration,
    computed: &S,
    wanted: Vec<(Selector, Option<Projection<S>>)>,
    meta: Map<String, Value>,
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
    Ok(Ran { parts, is_error: false, meta })
}

/// An output that is about to be sent; its size is known once it is written.
fn part(payload: Payload, selector: Selector) -> OutputPart {
    OutputPart { selector, payload, bytes: 0 }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use super::*;

    fn call() -> Call {
        Call::detached(&json!({}))
    }

    fn ran(made: Result<Made, ErrorObject>) -> Ran {
        match made {
            Ok(Made::Outputs(ran)) => ran,
            Ok(Made::Questions(it)) => panic!("{it}"),
            Err(error) => panic!("{error}"),
        }
    }

    fn text(_: &u32) -> Vec<ContentBlock> {
        vec![ContentBlock::text("fine")]
    }

    #[derive(Default)]
    struct Counts {
        computed: AtomicU32,
        cheap: AtomicU32,
        expensive: AtomicU32,
    }

    fn counting(counts: &Arc<Counts>) -> Box<dyn AnyTool> {
        let (cheap, expensive, computed) = (counts.clone(), counts.clone(), counts.clone());
        ToolBuilder::new("t", "A tool")
            .content(Selector::ASSISTANT_CONTENT, move |it| {
                cheap.cheap.fetch_add(1, Relaxed);
                text(it)
            })
            .structured(Selector::PROGRAMMATIC, json!({"type": "integer"}), move |it| {
                expensive.expensive.fetch_add(1, Relaxed);
                RawJson::of(it)
            })
            .handler(move |_| {
                let computed = computed.clone();
                async move { Ok(computed.computed.fetch_add(1, Relaxed)) }
            })
            .unwrap()
    }

    #[tokio::test]
    async fn k05_one_computation_and_the_projections_that_were_asked_for() {
        let counts = Arc::new(Counts::default());
        let tool = counting(&counts);
        let ran = ran(tool.run(call(), vec![Selector::ASSISTANT_CONTENT]).await);
        assert_eq!(ran.parts.len(), 1);
        let seen = || [&counts.computed, &counts.cheap, &counts.expensive].map(|it| it.load(Relaxed));
        assert_eq!(seen(), [1, 1, 0]);
        tool.run(call(), vec![Selector::PROGRAMMATIC, Selector::ASSISTANT_CONTENT]).await.unwrap();
        assert_eq!(seen(), [2, 2, 1]);
    }

    #[tokio::test]
    async fn k04_one_schema_is_assumed_for_no_other_audience() {
        // What a tool with `content` and one `outputSchema` becomes, and nothing more.
        let moved = ToolBuilder::new("t", "A tool")
            .content(Selector::ASSISTANT_CONTENT, text)
            .structured(Selector::ASSISTANT_STRUCTURED, json!({"type": "integer"}), RawJson::of)
            .handler(|_| async { Ok(42) })
            .unwrap();
        let declared = moved.declaration().for_client(true);
        let variants: Vec<String> =
            moved.declaration().variants.iter().map(|it| it.declared.selector.to_string()).collect();
        assert_eq!(variants, ["assistant/content", "assistant/structured"]);
        for other in [Selector::USER_STRUCTURED, Selector::PROGRAMMATIC, Selector::ui()] {
            assert!(declared.variant(&other).is_none(), "{other}");
            // Not even for want of a better one is the assistant's data given to another audience.
            let Err(refused) = moved.run(call(), vec![other.clone()]).await else {
                panic!("{other} was made")
            };
            assert!(refused.message.contains("is not declared"), "{}", refused.message);
        }
    }

    #[tokio::test]
    async fn s07_a_payload_that_breaks_its_schema_is_not_sent() {
        let tool = ToolBuilder::new("t", "A tool")
            .content(Selector::ASSISTANT_CONTENT, text)
            .structured(Selector::PROGRAMMATIC, json!({"type": "string"}), RawJson::of)
            .handler(|_| async { Ok(42) })
            .unwrap();
        let both = vec![Selector::ASSISTANT_CONTENT, Selector::PROGRAMMATIC];
        let error = tool.run(call(), both).await.err().unwrap();
        assert_eq!(error.code, ErrorObject::INTERNAL);
        assert!(error.message.contains("programmatic/structured broke its own schema"), "{}", error.message);
        // Another variant of the same result is not concerned.
        assert!(tool.run(call(), vec![Selector::ASSISTANT_CONTENT]).await.is_ok());
    }

    #[test]
    fn the_schema_of_a_type_names_no_dialect() {
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "only its schema is of interest")]
        struct Place {
            city: String,
        }
        let schema = schema_of::<Place>();
        assert_eq!(schema["properties"]["city"]["type"], "string");
        assert_eq!(schema.get("$schema"), None);
    }

    #[tokio::test]
    async fn s10_a_failure_is_projected_for_the_selectors_without_their_schemas() {
        let tool = ToolBuilder::<u32>::new("t", "A tool")
            .content(Selector::ASSISTANT_CONTENT, text)
            .structured(Selector::PROGRAMMATIC, json!({"type": "integer"}), RawJson::of)
            .handler(|_| async { Err(Failure::of("no".to_owned())) })
            .unwrap();
        let ran = ran(tool.run(call(), vec![Selector::PROGRAMMATIC]).await);
        assert!(ran.is_error);
        assert_eq!(ran.parts.len(), 1);
    }
}
