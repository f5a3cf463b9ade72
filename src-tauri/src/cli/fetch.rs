//! `usher prompts` and `usher resources`: what a server has beside its tools, and one of them fetched.
//!
//! Nothing that is fetched here reaches a model. Deliberately absent: sending a prompt, which needs somebody who reads it first.

use std::{collections::BTreeMap, fmt::Write};

use clap::Args;
use serde_json::{Value, json};
use usher_host::conversation::{Fetched, HostError, PromptList, ResourceList};
use usher_protocol::common::{BlockKind, ContentBlock, ResourceBody};

use super::{
    Global,
    given::GivenServer,
    session::{Approval, Exit, Failure, Session},
    terminal::{Paint, Tone, WIDTH, clean, clean_line, out, size, wrap},
    tools::open,
};

/// List a server's prompts, or fetch one and show its messages
#[derive(Debug, Args)]
#[command(
    override_usage = "usher prompts SERVER [NAME --args JSON]\n       usher prompts [NAME --args JSON] -- CMD [ARG]..."
)]
pub(super) struct PromptOptions {
    /// A configured server, and a prompt; after -- CMD only the prompt
    #[arg(value_name = "SERVER [NAME]", num_args = 0..=2)]
    words: Vec<String>,
    /// The prompt's arguments, an object of texts
    #[arg(long, value_name = "JSON")]
    args: Option<String>,
    /// Write JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    given: GivenServer,
}

/// List a server's resources and templates, or read one
#[derive(Debug, Args)]
#[command(override_usage = "usher resources SERVER [URI]\n       usher resources [URI] -- CMD [ARG]...")]
pub(super) struct ResourceOptions {
    /// A configured server, and an address; after -- CMD only the address
    #[arg(value_name = "SERVER [URI]", num_args = 0..=2)]
    words: Vec<String>,
    /// Write JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    given: GivenServer,
}

/// Lists prompts or fetches one. A refusal of the server makes the exit code 1.
pub(super) async fn prompts(options: PromptOptions, global: &Global) -> Result<Exit, Failure> {
    let (server, name) = split(&options.words, &options.given)?;
    let arguments = arguments(options.args.as_deref())?;
    let (mut session, id) = open(server, &options.given, global, Approval::Ask).await?;
    let text = match session.ready(&id).await {
        Err(failure) => Err(failure),
        Ok(_) => {
            let host = session.host.clone();
            let work = async {
                match name {
                    None => listed_prompts(&host.list_prompts().await, &id, options.json),
                    Some(name) => {
                        let fetched = host.use_prompt(&id, name, arguments).await?;
                        Ok(shown(&fetched, options.json))
                    }
                }
            };
            ended(&mut session, work).await
        }
    };
    session.close().await;
    out(&text?);
    Ok(Exit::Fine)
}

/// Lists resources or reads one. A refusal of the server makes the exit code 1.
pub(super) async fn resources(options: ResourceOptions, global: &Global) -> Result<Exit, Failure> {
    let (server, uri) = split(&options.words, &options.given)?;
    let (mut session, id) = open(server, &options.given, global, Approval::Ask).await?;
    let text = match session.ready(&id).await {
        Err(failure) => Err(failure),
        Ok(_) => {
            let host = session.host.clone();
            let work = async {
                match uri {
                    None => Ok(listed_resources(&host.list_resources(&id).await?, options.json)),
                    Some(uri) => {
                        let fetched = host.read_server_resource(&id, uri).await?;
                        Ok(shown(&fetched, options.json))
                    }
                }
            };
            ended(&mut session, work).await
        }
    };
    session.close().await;
    out(&text?);
    Ok(Exit::Fine)
}

async fn ended(
    session: &mut Session,
    work: impl Future<Output = Result<String, Failure>>,
) -> Result<String, Failure> {
    session.follow(work, |_| {}, |_| {}).await?
}

/// The server and what of it is meant. With a command in place no server is named.
fn split<'a>(
    words: &'a [String],
    given: &GivenServer,
) -> Result<(Option<&'a str>, Option<&'a str>), Failure> {
    match (words, given.is_none()) {
        ([server], true) => Ok((Some(server), None)),
        ([server, one], true) => Ok((Some(server), Some(one))),
        ([], false) => Ok((None, None)),
        ([one], false) => Ok((None, Some(one))),
        ([], true) => {
            Err(Failure::usage("Name a configured server, or give --url URL or a command after --."))
        }
        _ => Err(Failure::usage("A server is named, or given by --url or a command after --, not both.")),
    }
}

fn arguments(json: Option<&str>) -> Result<BTreeMap<String, String>, Failure> {
    let Some(json) = json else { return Ok(BTreeMap::new()) };
    serde_json::from_str(json).map_err(|error| {
        Failure::usage(format!(
            "--args takes an object whose values are texts, such as {{\"name\": \"text\"}}: {error}."
        ))
    })
}

fn listed_prompts(list: &PromptList, server_id: &str, as_json: bool) -> Result<String, Failure> {
    if let Some((name, why)) = list.failed.first() {
        let error = HostError { what: format!("{name}: {why}."), safe: String::new(), todo: String::new() };
        return Err(error.into());
    }
    let own = list.prompts.iter().filter(|it| it.server_id == server_id).map(|it| &it.prompt);
    if as_json {
        let all: Vec<Value> = own
            .map(|it| {
                let arguments: Vec<Value> = it
                    .arguments
                    .iter()
                    .map(|it| json!({"name": it.name, "description": it.description, "required": it.required}))
                    .collect();
                json!({"name": it.name, "title": it.title, "description": it.description, "arguments": arguments})
            })
            .collect();
        return Ok(format!("{}\n", json!({"prompts": all})));
    }
    let paint = Paint::of_stdout(false);
    let mut text = String::new();
    for prompt in own {
        let _ = writeln!(text, "{}", paint.tone(Tone::Strong, &clean_line(&prompt.name)));
        describe(&mut text, prompt.description.as_deref(), 2);
        for argument in &prompt.arguments {
            let need = if argument.required { "required" } else { "optional" };
            let _ = writeln!(text, "  {}  {need}", clean_line(&argument.name));
            describe(&mut text, argument.description.as_deref(), 4);
        }
    }
    Ok(if text.is_empty() { "It has no prompts.\n".to_owned() } else { text })
}

fn listed_resources(list: &ResourceList, as_json: bool) -> String {
    if as_json {
        let resources: Vec<Value> = list.resources.iter().map(|it| json!(it.link)).collect();
        let templates: Vec<Value> = list
            .templates
            .iter()
            .map(|it| json!({"uriTemplate": it.template.uri_template, "name": it.template.name, "variables": it.variables}))
            .collect();
        return format!("{}\n", json!({"resources": resources, "resourceTemplates": templates}));
    }
    let paint = Paint::of_stdout(false);
    let mut text = String::new();
    for listed in &list.resources {
        let link = &listed.link;
        let _ = writeln!(text, "{}", paint.tone(Tone::Strong, &clean_line(&link.uri)));
        let name = clean_line(link.title.as_deref().unwrap_or(&link.name));
        let mime = clean_line(link.mime.as_deref().unwrap_or_default());
        let _ = writeln!(text, "  {}", format!("{name}  {mime}").trim());
        describe(&mut text, link.description.as_deref(), 2);
    }
    for listed in &list.templates {
        let address = clean_line(&listed.template.uri_template);
        let _ = writeln!(text, "{}  to be filled in", paint.tone(Tone::Strong, &address));
        describe(&mut text, listed.template.description.as_deref(), 2);
    }
    if text.is_empty() { "It has no resources.\n".to_owned() } else { text }
}

fn describe(text: &mut String, words: Option<&str>, indent: usize) {
    for line in words.iter().flat_map(|it| wrap(&clean_line(it), WIDTH - indent)) {
        let _ = writeln!(text, "{:indent$}{line}", "");
    }
}

fn shown(fetched: &Fetched, as_json: bool) -> String {
    if as_json {
        let part = |it: &usher_host::conversation::FetchedPart| {
            let role = if it.by_assistant { "assistant" } else { "user" };
            json!({"role": role, "blocks": it.blocks.to_value()})
        };
        let parts: Vec<Value> = fetched.parts.iter().map(part).collect();
        return format!("{}\n", json!({"server": fetched.server_name, "messages": parts}));
    }
    let mut text = String::new();
    for part in &fetched.parts {
        if fetched.parts.len() > 1 || part.by_assistant {
            let _ = writeln!(text, "[{}]", if part.by_assistant { "assistant" } else { "user" });
        }
        for block in part.blocks.to::<Vec<ContentBlock>>().unwrap_or_default() {
            let _ = writeln!(text, "{}", line_of(&block).trim_end());
        }
    }
    text
}

fn line_of(block: &ContentBlock) -> String {
    match &block.kind {
        BlockKind::Text(text) => clean(text),
        BlockKind::Image(it) => {
            format!("[picture {}, {}]", clean_line(&it.mime), size(it.data.len() / 4 * 3))
        }
        BlockKind::Audio(it) => format!("[sound {}, {}]", clean_line(&it.mime), size(it.data.len() / 4 * 3)),
        BlockKind::Link(it) => format!("[link {} {}]", clean_line(&it.name), clean_line(&it.uri)),
        BlockKind::Embedded(it) => match &it.body {
            ResourceBody::Text(text) => clean(text),
            ResourceBody::Blob(data) => {
                let mime = clean_line(it.mime.as_deref().unwrap_or_default());
                format!("[{} {mime}, {}]", clean_line(&it.uri), size(data.len() / 4 * 3))
            }
        },
        BlockKind::Unknown(raw) => clean_line(raw.get()),
    }
}
