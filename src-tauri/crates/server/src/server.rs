//! What a server offers, and what each method answers, for any revision and without a transport.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::broadcast;
use usher_protocol::{
    RawJson, Revision, UI_EXTENSION, UI_MIME,
    codec::{self, CallRequest, DecodeError},
    jsonrpc::ErrorObject,
    model::{Audience, Selector, Tool},
};

use crate::{
    change::Change,
    context::{Call, Context},
    declaration::Declaration,
    interference::{self, Interference},
    negotiation::{self, Client, Introduction, Keep, Spoken},
    seal::Seal,
    tool::{AnyTool, Failure, Made, Running},
};

/// What clients can read. The values have the shapes of the specification, which are the same at every revision.
pub trait Resources: Send + Sync {
    /// Every `Resource`.
    fn list(&self) -> Vec<Value>;

    /// Every `ResourceTemplate`.
    fn templates(&self) -> Vec<Value> {
        Vec::new()
    }

    /// The `contents` of the resource at this address, if there is one.
    fn read(&self, uri: &str) -> Option<Vec<Value>>;

    /// The values that an argument of a template may have, best first.
    fn complete(&self, _template: &str, _argument: &str, _typed: &str) -> Vec<String> {
        Vec::new()
    }
}

/// What people can start a conversation with. The values have the shapes of the specification.
pub trait Prompts: Send + Sync {
    /// Every `Prompt`.
    fn list(&self) -> Vec<Value>;

    /// The `GetPromptResult` of the prompt of this name, if there is one. Its arguments are the call's.
    fn get(&self, name: &str, call: Call) -> Option<Running<Result<Value, Failure>>>;

    /// The values that an argument of a prompt may have, best first.
    fn complete(&self, _prompt: &str, _argument: &str, _typed: &str) -> Vec<String> {
        Vec::new()
    }
}

/// The most values that a completion has (2025-11-25 server/utilities/completion).
const MOST_COMPLETIONS: usize = 100;

/// How many changes a client may be behind before it misses some.
const CHANGES: usize = 64;

/// A server: its tools, its resources and prompts, and the revisions that it speaks.
pub struct Server {
    introduction: Introduction,
    tools: Vec<Box<dyn AnyTool>>,
    resources: Option<Box<dyn Resources>>,
    prompts: Option<Box<dyn Prompts>>,
    spoken: Spoken,
    logs: bool,
    changes: Option<broadcast::Sender<Change>>,
    seal: Seal,
    interference: Box<dyn Interference>,
}

impl Server {
    /// A server that offers nothing yet and speaks every revision.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        let info = json!({"name": name.into(), "version": version.into()});
        Self {
            introduction: Introduction { info, capabilities: json!({}), instructions: None },
            tools: Vec::new(),
            resources: None,
            prompts: None,
            spoken: Spoken::new(&Revision::ALL),
            logs: false,
            changes: None,
            seal: Seal::fresh(),
            interference: Box::new(interference::None),
        }
    }

    /// A name for people.
    #[must_use]
    pub fn title(mut self, title: &str) -> Self {
        let info = &mut self.introduction.info;
        *info = json!({"name": info["name"], "title": title, "version": info["version"]});
        self
    }

    /// What the server is for and how its tools go together, in words for a model.
    #[must_use]
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.introduction.instructions = Some(instructions.into());
        self
    }

    /// Adds a tool. The order is that of `tools/list`.
    #[must_use]
    pub fn tool(mut self, tool: Box<dyn AnyTool>) -> Self {
        self.tools.push(tool);
        self.introduce()
    }

    /// Gives it resources.
    #[must_use]
    pub fn resources(mut self, resources: impl Resources + 'static) -> Self {
        self.resources = Some(Box::new(resources));
        self.introduce()
    }

    /// Gives it prompts.
    #[must_use]
    pub fn prompts(mut self, prompts: impl Prompts + 'static) -> Self {
        self.prompts = Some(Box::new(prompts));
        self.introduce()
    }

    /// Lets handlers log to clients.
    #[must_use]
    pub fn logging(mut self) -> Self {
        self.logs = true;
        self.introduce()
    }

    /// Promises to tell clients what changes, by [`Self::changed`].
    #[must_use]
    pub fn announces_changes(mut self) -> Self {
        self.changes = Some(broadcast::Sender::new(CHANGES));
        self.introduce()
    }

    /// Speaks these revisions only.
    #[must_use]
    pub fn revisions(mut self, revisions: &[Revision]) -> Self {
        self.spoken = Spoken::new(revisions);
        self
    }

    /// Signs the state of requests that need answers with this key, so that another process can take up where this one was. Without it
    /// the key is made up at the start.
    #[must_use]
    pub fn state_key(mut self, key: &[u8; 32]) -> Self {
        self.seal = Seal::new(key);
        self
    }

    /// Changes what is right before it leaves, to test clients.
    #[must_use]
    pub fn interfered(mut self, interference: impl Interference + 'static) -> Self {
        self.interference = Box::new(interference);
        self
    }

    /// Tells the clients that want to know. Does nothing unless the server promised to.
    pub fn changed(&self, change: Change) {
        if let Some(changes) = &self.changes {
            // Without clients there is nobody to tell.
            let _ = changes.send(change);
        }
    }

    /// States what the server can do, which follows from what it was given.
    fn introduce(mut self) -> Self {
        let is_telling = self.changes.is_some();
        let list = |subscribe: bool| {
            let mut it = Map::new();
            if is_telling {
                it.insert("listChanged".to_owned(), json!(true));
                if subscribe {
                    it.insert("subscribe".to_owned(), json!(true));
                }
            }
            Value::Object(it)
        };
        let mut all = Map::new();
        if !self.tools.is_empty() {
            all.insert("tools".to_owned(), list(false));
        }
        if self.resources.is_some() {
            all.insert("resources".to_owned(), list(true));
        }
        if self.prompts.is_some() {
            all.insert("prompts".to_owned(), list(false));
        }
        if self.prompts.is_some() || self.resources.as_ref().is_some_and(|it| !it.templates().is_empty()) {
            all.insert("completions".to_owned(), json!({}));
        }
        if self.logs {
            all.insert("logging".to_owned(), json!({}));
        }
        let has_views = |it: &dyn AnyTool| {
            let declaration = it.declaration();
            declaration.tool.ui.is_some()
                || declaration.variants.iter().any(|it| it.declared.selector.audience == Audience::ui())
        };
        if self.tools.iter().any(|it| has_views(it.as_ref())) {
            all.insert("extensions".to_owned(), json!({UI_EXTENSION: {"mimeTypes": [UI_MIME]}}));
        }
        self.introduction.capabilities = Value::Object(all);
        self
    }

    pub(crate) fn spoken(&self) -> &Spoken {
        &self.spoken
    }

    pub(crate) fn introduction(&self) -> &Introduction {
        &self.introduction
    }

    pub(crate) fn seal(&self) -> &Seal {
        &self.seal
    }

    pub(crate) fn interference(&self) -> &dyn Interference {
        self.interference.as_ref()
    }

    pub(crate) fn logs(&self) -> bool {
        self.logs
    }

    pub(crate) fn has_prompts(&self) -> bool {
        self.prompts.is_some()
    }

    pub(crate) fn has_resources(&self) -> bool {
        self.resources.is_some()
    }

    /// What changes from now on, if the server promised to tell.
    pub(crate) fn changes(&self) -> Option<broadcast::Receiver<Change>> {
        self.changes.as_ref().map(broadcast::Sender::subscribe)
    }

    /// What a tool declares.
    pub(crate) fn declaration(&self, tool: &str) -> Option<&Declaration> {
        self.tools.iter().map(|it| it.declaration()).find(|it| it.tool.name == tool)
    }

    /// Answers every method but `initialize` and those that a handler answers.
    pub(crate) fn answer(
        &self,
        client: Client,
        method: &str,
        params: &RawJson,
    ) -> Result<RawJson, ErrorObject> {
        let revision = client.revision;
        let resources = self.resources.as_deref();
        let (result, keep) = match (method, resources, &self.prompts) {
            ("server/discover", _, _) if revision.has_request_meta() => {
                (self.spoken.discover(&self.introduction), Some(Keep::Long))
            }
            ("ping", _, _) if revision.has_handshake() => (json!({}), None),
            ("tools/list", _, _) => (self.list(client), Some(Keep::Briefly)),
            ("resources/list", Some(it), _) => (json!({"resources": it.list()}), Some(self.keep())),
            ("resources/templates/list", Some(it), _) => {
                (json!({"resourceTemplates": it.templates()}), Some(self.keep()))
            }
            ("resources/read", Some(it), _) => (read(it, revision, params)?, Some(self.keep())),
            ("prompts/list", _, Some(it)) => (json!({"prompts": it.list()}), Some(self.keep())),
            ("completion/complete", _, _) if self.introduction.capabilities.get("completions").is_some() => {
                (self.complete(params)?, None)
            }
            _ => {
                let message = format!("there is no method {method} under {revision}");
                return Err(ErrorObject::new(ErrorObject::METHOD_NOT_FOUND, message));
            }
        };
        Ok(self.introduction.seal(revision, result, keep).into())
    }

    /// What may change is kept briefly.
    fn keep(&self) -> Keep {
        if self.changes.is_some() { Keep::Briefly } else { Keep::Long }
    }

    fn list(&self, client: Client) -> Value {
        let met = self.tools.iter().map(|it| met_under(it.as_ref(), client.revision));
        let listed = met.filter(|it| it.declaration().is_listed(client.has_ui));
        let declared = listed.map(|it| {
            let tool = it.declaration().for_client(client.has_ui);
            let mut wire = codec::encode_tool(client.revision, &tool);
            self.interference.on_declaration(&tool.name, &mut wire);
            wire
        });
        json!({"tools": declared.collect::<Vec<_>>()})
    }

    fn complete(&self, params: &RawJson) -> Result<Value, ErrorObject> {
        #[derive(Deserialize)]
        #[serde(tag = "type")]
        enum Reference {
            #[serde(rename = "ref/prompt")]
            Prompt { name: String },
            #[serde(rename = "ref/resource")]
            Resource { uri: String },
        }
        #[derive(Deserialize)]
        struct Argument {
            name: String,
            value: String,
        }
        #[derive(Deserialize)]
        struct Params {
            #[serde(rename = "ref")]
            reference: Reference,
            argument: Argument,
        }
        let Params { reference, argument: Argument { name, value } } = params
            .to()
            .map_err(|error| invalid(format!("what is to be completed cannot be read: {error}")))?;
        let values = match (reference, &self.prompts, &self.resources) {
            (Reference::Prompt { name: prompt }, Some(prompts), _) => {
                prompts.complete(&prompt, &name, &value)
            }
            (Reference::Resource { uri }, _, Some(resources)) => resources.complete(&uri, &name, &value),
            (Reference::Prompt { .. } | Reference::Resource { .. }, _, _) => Vec::new(),
        };
        let shown: Vec<_> = values.iter().take(MOST_COMPLETIONS).collect();
        let has_more = values.len() > shown.len();
        Ok(json!({"completion": {"values": shown, "total": values.len(), "hasMore": has_more}}))
    }

    /// Answers `prompts/get`.
    pub(crate) async fn prompt(
        &self,
        client: Client,
        params: &RawJson,
        context: Context,
    ) -> Result<RawJson, ErrorObject> {
        #[derive(Deserialize)]
        struct Params {
            name: String,
            #[serde(default)]
            arguments: Option<RawJson>,
        }
        let Params { name, arguments } =
            params.to().map_err(|error| invalid(format!("the prompt cannot be read: {error}")))?;
        let call = Call::new(arguments.unwrap_or_else(|| json!({}).into()), context);
        let made = self.prompts.as_ref().and_then(|it| it.get(&name, call));
        let made = made.ok_or_else(|| invalid(format!("there is no prompt {name}")))?.await;
        let result = made.or_else(Failure::into_result)?;
        Ok(self.introduction.seal(client.revision, result, None).into())
    }

    /// Answers `tools/call`.
    pub(crate) async fn call(
        &self,
        client: Client,
        params: &RawJson,
        context: Context,
    ) -> Result<RawJson, ErrorObject> {
        let request =
            codec::decode_call(client.revision, params).map_err(|error: DecodeError| match error {
                DecodeError::Shape { why, .. } => invalid(format!("the call cannot be read: {why}")),
                DecodeError::ResultType(kind) => invalid(kind),
            })?;
        let known = self.tools.iter().find(|it| it.declaration().tool.name == request.name);
        let tool = known.ok_or_else(|| invalid(format!("there is no tool {}", request.name)))?;
        let tool = met_under(tool.as_ref(), client.revision);
        let declared = tool.declaration().for_client(client.has_ui);
        check_selection(&declared, request.requested.as_deref()).map_err(invalid)?;

        let CallRequest { name, arguments, requested } = request;
        let selectors = codec::projected_selectors(client.revision, &declared, requested.as_deref());
        let selectors = self.interference.on_selection(tool.declaration(), selectors);
        let mut ran = match tool.run(Call::new(arguments, context), selectors).await? {
            Made::Outputs(ran) => ran,
            Made::Questions(result) => {
                return Ok(self.introduction.seal(client.revision, result, None).into());
            }
        };
        let mut meta = self.introduction.result_meta(client.revision);
        meta.append(&mut ran.meta);
        self.interference.on_outputs(&name, &mut ran, &mut meta);
        let meta = (!meta.is_empty()).then(|| RawJson::from(Value::Object(meta)));
        codec::encode_result(client.revision, &ran.parts, ran.is_error, meta.as_ref()).map_err(|error| {
            ErrorObject::new(ErrorObject::INTERNAL, format!("the result was not written: {error}"))
        })
    }
}

/// The tool that a client of a revision meets.
fn met_under(tool: &dyn AnyTool, revision: Revision) -> &dyn AnyTool {
    let earlier = if revision.has_output_variants() { None } else { tool.earlier() };
    earlier.unwrap_or(tool)
}

fn invalid(message: String) -> ErrorObject {
    ErrorObject::new(ErrorObject::INVALID_PARAMS, message)
}

fn read(resources: &dyn Resources, revision: Revision, params: &RawJson) -> Result<Value, ErrorObject> {
    #[derive(Deserialize)]
    struct Params {
        uri: String,
    }
    let Params { uri } = params.to().map_err(|error| invalid(format!("no uri can be read: {error}")))?;
    let contents = resources.read(&uri).ok_or_else(|| negotiation::no_such_resource(revision, &uri))?;
    Ok(json!({"contents": contents}))
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
