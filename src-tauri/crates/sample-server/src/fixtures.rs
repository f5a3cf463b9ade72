//! What the official conformance suite asks a server for: its names and texts are the suite's.

mod asking;
mod blocks;
mod prompts;
mod resources;
mod telling;

use std::sync::{Arc, OnceLock, Weak};

use serde_json::json;
use usher_protocol::{common::ContentBlock, model::Selector};
use usher_server::{AnyTool, Call, DeclarationError, Failure, Server, ToolBuilder};

/// A one-pixel picture.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/// The server that holds the tools, for those that change it.
type Own = Arc<OnceLock<Weak<Server>>>;

/// Gives a server everything that the suite asks for.
pub(crate) fn offer(server: Server) -> Result<Arc<Server>, DeclarationError> {
    let own = Own::default();
    let tools = blocks::all()?.into_iter().chain(telling::all(&own)?).chain(asking::all()?);
    let server = tools
        .fold(server, Server::tool)
        .resources(resources::Fixtures)
        .prompts(prompts::Fixtures)
        .logging()
        .announces_changes();
    let server = Arc::new(server);
    // It is set once, here.
    let _set = own.set(Arc::downgrade(&server));
    Ok(server)
}

/// A tool without arguments that says some text.
fn says<F>(
    name: &str,
    description: &str,
    handler: impl Fn(Call) -> F + Send + Sync + 'static,
) -> Result<Box<dyn AnyTool>, DeclarationError>
where
    F: Future<Output = Result<String, Failure>> + Send + 'static,
{
    text_tool(name, description).handler(handler)
}

fn text_tool(name: &str, description: &str) -> ToolBuilder<String> {
    ToolBuilder::new(name, description)
        .content(Selector::ASSISTANT_CONTENT, |text: &String| vec![ContentBlock::text(text)])
}

/// The schema of a form with one property that must be filled in.
fn one_property(name: &str, kind: &str) -> serde_json::Value {
    json!({"type": "object", "properties": {name: {"type": kind}}, "required": [name]})
}
