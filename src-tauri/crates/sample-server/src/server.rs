//! What each method answers, for any revision and without a transport.

use serde_json::{Value, json};
use usher_protocol::{
    RawJson, UI_EXTENSION,
    codec::{self, CallRequest, DecodeError},
    jsonrpc::ErrorObject,
    model::{Selector, Tool},
};

use crate::{
    connection::Progress,
    declaration::DeclarationError,
    misbehave,
    negotiation::{self, Client, Keep, Spoken},
    options::Options,
    resources,
    tool::{AnyTool, Call},
    tools,
};

/// The sample server: its tools and how it behaves.
pub struct Server {
    pub(crate) options: Options,
    pub(crate) spoken: Spoken,
    tools: Vec<Box<dyn AnyTool>>,
}

impl Server {
    /// A server that behaves as the options say.
    ///
    /// # Errors
    /// A tool is declared wrongly, which the tests of this crate exclude.
    pub fn new(options: Options) -> Result<Self, DeclarationError> {
        let spoken = Spoken::new(&options.era);
        Ok(Self { options, spoken, tools: tools::all()? })
    }

    /// Answers every method but `initialize` and `tools/call`.
    pub(crate) fn answer(
        &self,
        client: Client,
        method: &str,
        params: &RawJson,
    ) -> Result<RawJson, ErrorObject> {
        let revision = client.revision;
        let (result, keep) = match method {
            "server/discover" if revision.has_request_meta() => (self.spoken.discover(), Some(Keep::Long)),
            "ping" if revision.has_handshake() => (json!({}), None),
            "tools/list" => (self.list(client), Some(Keep::Briefly)),
            "resources/list" => (resources::list(), Some(Keep::Long)),
            "resources/templates/list" => (json!({"resourceTemplates": []}), Some(Keep::Long)),
            "resources/read" => (resources::read(revision, params)?, Some(Keep::Long)),
            _ => {
                let message = format!("there is no method {method} under {revision}");
                return Err(ErrorObject::new(ErrorObject::METHOD_NOT_FOUND, message));
            }
        };
        Ok(negotiation::seal(revision, result, keep).into())
    }

    fn list(&self, client: Client) -> Value {
        let declared = self.tools.iter().map(|it| {
            let tool = it.declaration().for_client(client.has_ui);
            let mut wire = codec::encode_tool(client.revision, &tool);
            if let Some(seed) = &self.options.canaries {
                mark_schemas(&mut wire, seed);
            }
            if self.options.on.names(&tool.name) {
                misbehave::declaration(&self.options.declaration, &mut wire);
            }
            wire
        });
        json!({"tools": declared.collect::<Vec<_>>()})
    }

    /// Answers `tools/call`.
    pub(crate) async fn call(
        &self,
        client: Client,
        params: &RawJson,
        progress: Progress,
    ) -> Result<RawJson, ErrorObject> {
        let invalid = |message: String| ErrorObject::new(ErrorObject::INVALID_PARAMS, message);
        let request =
            codec::decode_call(client.revision, params).map_err(|error: DecodeError| match error {
                DecodeError::Shape { why, .. } => invalid(format!("the call cannot be read: {why}")),
                DecodeError::ResultType(kind) => invalid(kind),
            })?;
        let known = self.tools.iter().find(|it| it.declaration().tool.name == request.name);
        let tool = known.ok_or_else(|| invalid(format!("there is no tool {}", request.name)))?;
        let declared = tool.declaration().for_client(client.has_ui);
        check_selection(&declared, request.requested.as_deref()).map_err(invalid)?;

        let CallRequest { name, arguments, requested } = request;
        let mut selectors = codec::projected_selectors(client.revision, &declared, requested.as_deref());
        let asked_for_view = selectors.contains(&Selector::ui());
        let is_spoilt = self.options.on.names(&name);
        if is_spoilt {
            let all: Vec<_> =
                tool.declaration().variants.iter().map(|it| it.declared.selector.clone()).collect();
            selectors =
                misbehave::selectors(&self.options.outputs, &tool.declaration().tool, &all, selectors);
        }
        let mut ran = tool.run(Call { arguments, progress }, selectors).await?;

        let mut meta = negotiation::result_meta(client.revision);
        if asked_for_view && !ran.is_error {
            // Control data of the View, which the extension lets through; the data itself is in the output (rule S14).
            meta.insert(UI_EXTENSION.to_owned(), json!({"datasetVersion": tools::DATASET_VERSION}));
        }
        if let Some(seed) =
            self.options.canaries.as_ref().filter(|_| tools::CANARIED.contains(&name.as_str()))
        {
            ran.parts.iter_mut().for_each(|it| misbehave::plant(it, seed));
            misbehave::mark_meta(&mut meta, seed);
        }
        if is_spoilt {
            if self.options.outputs.meta_secrets {
                misbehave::secrets(&mut meta);
            }
            ran.parts = misbehave::outputs(&self.options.outputs, ran.parts);
        }
        let meta = (!meta.is_empty()).then(|| RawJson::from(Value::Object(meta)));
        codec::encode_result(client.revision, &ran.parts, ran.is_error, meta.as_ref()).map_err(|error| {
            ErrorObject::new(ErrorObject::INTERNAL, format!("the result was not written: {error}"))
        })
    }
}

/// Refuses a selection that cannot be met exactly; nothing is put in its place (rule S06).
fn check_selection(tool: &Tool, requested: Option<&[Selector]>) -> Result<(), String> {
    let Some(requested) = requested else { return Ok(()) };
    if requested.is_empty() {
        return Err("requestedOutputs is empty; leave it out to get assistant/content".to_owned());
    }
    for (index, selector) in requested.iter().enumerate() {
        if requested[..index].contains(selector) {
            return Err(format!("{selector} is requested twice"));
        }
        if tool.variant(selector).is_none() {
            return Err(format!("{} does not declare {selector} for this client", tool.name));
        }
    }
    Ok(())
}

fn mark_schemas(wire: &mut Value, seed: &str) {
    let variants = wire.get_mut("outputVariants").and_then(Value::as_array_mut);
    for variant in variants.into_iter().flatten() {
        let audience = variant["audience"].as_str().unwrap_or_default().to_owned();
        if let Some(schema) = variant.get_mut("schema").and_then(Value::as_object_mut) {
            let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
            let marked = format!("{description} {}", misbehave::schema_canary(&audience, seed));
            schema.insert("description".to_owned(), json!(marked.trim()));
        }
    }
}
