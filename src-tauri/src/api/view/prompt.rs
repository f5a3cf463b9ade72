//! Prompts and resources, as the window is told of them.

use usher_host::{
    connection::Completion,
    conversation::{
        BroughtKind, BroughtRecord, Fetched, Host, ListedPrompt, ListedResource, ListedTemplate, PromptList,
        ResourceList,
    },
};

use super::{blocks_of, view};

pub(crate) fn prompts(it: PromptList) -> view::PromptListView {
    let prompt = |it: ListedPrompt| view::PromptView {
        server_id: it.server_id,
        server_name: it.server_name,
        name: it.prompt.name,
        title: it.prompt.title,
        description: it.prompt.description,
        arguments: it
            .prompt
            .arguments
            .into_iter()
            .map(|it| view::PromptArgumentView {
                name: it.name,
                title: it.title,
                description: it.description,
                required: it.required,
            })
            .collect(),
    };
    let failed = |(server, why)| format!("{server} could not list its prompts: {why}.");
    view::PromptListView {
        prompts: it.prompts.into_iter().map(prompt).collect(),
        failed: it.failed.into_iter().map(failed).collect(),
    }
}

pub(crate) fn completion(it: Completion) -> view::CompletionView {
    view::CompletionView { values: it.values, has_more: it.has_more }
}

pub(crate) async fn fetched(host: &Host, it: &Fetched) -> view::FetchedView {
    let mut messages = Vec::new();
    for part in &it.parts {
        messages.push(message(host, part.by_assistant, part.handle.clone()).await);
    }
    view::FetchedView {
        fetched_id: it.id.clone(),
        server_id: it.server_id.clone(),
        server_name: it.server_name.clone(),
        name: name(&it.what),
        description: it.description.clone(),
        bytes: it.bytes(),
        messages,
    }
}

/// An entry of the transcript that a prompt or an attached resource is.
pub(crate) async fn brought(host: &Host, it: BroughtRecord) -> view::ItemKind {
    let mut messages = Vec::new();
    for part in it.messages {
        messages.push(message(host, part.by_assistant, part.handle).await);
    }
    let arguments = match &it.what {
        BroughtKind::Prompt { arguments, .. } => arguments.clone().into_iter().collect(),
        BroughtKind::Resource { .. } => Vec::new(),
    };
    view::ItemKind::Brought {
        prompt: matches!(it.what, BroughtKind::Prompt { .. }),
        name: name(&it.what),
        server_id: it.server_id,
        server_name: it.server_name,
        arguments,
        messages,
        bytes: it.bytes,
    }
}

pub(crate) fn resources(it: ResourceList) -> view::ResourceListView {
    let resource = |it: ListedResource| view::ResourceView {
        name: it.link.title.unwrap_or(it.link.name),
        uri: it.link.uri,
        description: it.link.description,
        mime: it.link.mime,
        size: it.link.size,
        subscribed: it.subscribed,
    };
    let template = |it: ListedTemplate| view::ResourceTemplateView {
        name: it.template.title.unwrap_or(it.template.name),
        template: it.template.uri_template,
        description: it.template.description,
        mime: it.template.mime_type,
        variables: it.variables,
    };
    view::ResourceListView {
        resources: it.resources.into_iter().map(resource).collect(),
        templates: it.templates.into_iter().map(template).collect(),
        can_subscribe: it.can_subscribe,
    }
}

async fn message(host: &Host, by_assistant: bool, handle: String) -> view::BroughtMessageView {
    view::BroughtMessageView { by_assistant, blocks: blocks_of(host, &handle).await, handle }
}

fn name(what: &BroughtKind) -> String {
    match what {
        BroughtKind::Prompt { name, .. } => name.clone(),
        BroughtKind::Resource { uri } => uri.clone(),
    }
}
