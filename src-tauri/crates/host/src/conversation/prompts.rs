//! Prompts: what every connected server offers, and fetching one that the user chose (server/prompts).
//!
//! Deliberately absent: sending. What was fetched is shown first; see `fetched`.

use std::{collections::BTreeMap, sync::Arc};

use serde::Deserialize;
use usher_protocol::{RawJson, common::ContentBlock};

use super::{BroughtKind, Fetched, Host, HostError, servers::Server};
use crate::connection::{Completing, Completion, Connection, Prompt};

/// A prompt and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedPrompt {
    /// The server.
    pub server_id: String,
    /// The server's name.
    pub server_name: String,
    /// The prompt.
    pub prompt: Prompt,
}

/// The prompts of the connected servers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptList {
    /// In the order of the servers, then as each lists them.
    pub prompts: Vec<ListedPrompt>,
    /// The servers that could not list theirs, each with why.
    pub failed: Vec<(String, String)>,
}

impl Host {
    /// The prompts of every connected server. One that fails never costs the others.
    pub async fn list_prompts(&self) -> PromptList {
        let servers = self.server_statuses().into_iter().filter_map(|it| self.server(&it.id));
        let ready: Vec<Arc<Server>> = servers.filter(|it| it.is_ready()).collect();
        let mut list = PromptList::default();
        let asked = ready.iter().map(|server| async move { (server, prompts_of(server).await) });
        for (server, answer) in futures::future::join_all(asked).await {
            match answer {
                Ok(prompts) => list.prompts.extend(prompts.into_iter().map(|prompt| ListedPrompt {
                    server_id: server.id.clone(),
                    server_name: server.name.clone(),
                    prompt,
                })),
                Err(why) => list.failed.push((server.name.clone(), why)),
            }
        }
        list
    }

    /// What a server suggests for an argument of a prompt. A server that suggests nothing is no error.
    ///
    /// # Errors
    /// The server is not connected, or refuses.
    pub async fn complete_prompt_argument(
        &self,
        server_id: &str,
        prompt: &str,
        argument: &str,
        typed: &str,
        others: &BTreeMap<String, String>,
    ) -> Result<Completion, HostError> {
        let (server, connection) = self.connected(server_id)?;
        complete((&server, &connection), Completing::Prompt(prompt), argument, typed, others).await
    }

    /// Fetches a prompt's messages, for the user to read before anything is sent.
    ///
    /// # Errors
    /// The server is not connected, refuses, or answers with something else.
    pub async fn use_prompt(
        &self,
        server_id: &str,
        name: &str,
        arguments: BTreeMap<String, String>,
    ) -> Result<Arc<Fetched>, HostError> {
        let (server, connection) = self.connected(server_id)?;
        let refused = |why: String| {
            HostError::new(
                format!("{} did not give the prompt {name}: {why}.", server.name),
                "Nothing was sent to the model.",
                "Check what you filled in, and try again.",
            )
        };
        let got = connection.get_prompt(name, &arguments).await;
        let raw = got.map_err(|error| refused(server.without_secrets(error).to_string()))?;
        let (description, messages) = messages_of(&raw).map_err(|error| refused(error.to_string()))?;
        let what = BroughtKind::Prompt { name: name.to_owned(), arguments };
        self.shelve(&server, what, description, messages).map_err(|error| refused(error.to_string()))
    }

    /// A server that is there, and its connection.
    pub(super) fn connected(&self, server_id: &str) -> Result<(Arc<Server>, Connection), HostError> {
        let server = self.server(server_id).ok_or_else(|| HostError::unknown("server"))?;
        let (connection, _) = server.connection().map_err(|error| {
            HostError::new(
                format!("{} cannot be asked: {error}.", server.name),
                "Nothing was changed.",
                "Turn the server on, or look at what keeps it from starting.",
            )
        })?;
        Ok((server, connection))
    }
}

async fn prompts_of(server: &Server) -> Result<Vec<Prompt>, String> {
    let (connection, _) = server.connection().map_err(|error| error.to_string())?;
    if !connection.greeting().has_capability("prompts") {
        return Ok(Vec::new());
    }
    connection.list_prompts().await.map_err(|error| server.without_secrets(error).to_string())
}

/// Asks for suggestions, unless the server says that it has none.
pub(super) async fn complete(
    (server, connection): (&Server, &Connection),
    of: Completing<'_>,
    argument: &str,
    typed: &str,
    others: &BTreeMap<String, String>,
) -> Result<Completion, HostError> {
    if !connection.greeting().has_capability("completions") {
        return Ok(Completion::default());
    }
    connection.complete(of, argument, typed, others).await.map_err(|error| {
        HostError::new(
            format!("The server suggests nothing for {argument}: {}.", server.without_secrets(error)),
            "What you typed is as it was.",
            "Go on typing.",
        )
    })
}

/// The description of a prompt and the blocks of each message; the flag says that the message is the assistant's.
type Messages = (Option<String>, Vec<(bool, Vec<ContentBlock>)>);

/// Reads the result of `prompts/get`. A message whose content has no known shape is kept as a block that is shown as it came.
fn messages_of(raw: &RawJson) -> Result<Messages, serde_json::Error> {
    #[derive(Deserialize)]
    struct Wire {
        #[serde(default)]
        description: Option<String>,
        messages: Vec<RawJson>,
    }
    #[derive(Deserialize)]
    struct Message {
        #[serde(default)]
        role: String,
        content: RawJson,
    }
    let wire: Wire = raw.to()?;
    let read = |raw: &RawJson| match raw.to::<Message>() {
        Ok(message) => {
            let list = message.content.to::<Vec<ContentBlock>>();
            let blocks = list.unwrap_or_else(|_| vec![ContentBlock::from_raw(&message.content)]);
            // A role that is no role of the specification does not become the model's.
            (message.role == "assistant", blocks)
        }
        Err(_) => (false, vec![ContentBlock::from_raw(raw)]),
    };
    Ok((wire.description, wire.messages.iter().map(read).collect()))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use usher_protocol::common::BlockKind;

    use super::*;

    fn check(result: &str, expected: Expect) {
        let (_, messages) = messages_of(&RawJson::parse(result).unwrap()).unwrap();
        let kind = |it: &ContentBlock| match it.kind {
            BlockKind::Text(_) => "text",
            BlockKind::Image(_) => "image",
            BlockKind::Audio(_) => "audio",
            BlockKind::Link(_) => "link",
            BlockKind::Embedded(_) => "embedded",
            BlockKind::Unknown(_) => "unknown",
        };
        let line = |(by_assistant, blocks): &(bool, Vec<ContentBlock>)| {
            let kinds: Vec<&str> = blocks.iter().map(kind).collect();
            format!("{} {}", if *by_assistant { "assistant" } else { "user" }, kinds.join("+"))
        };
        expected.assert_eq(&messages.iter().map(line).collect::<Vec<_>>().join("; "));
    }

    #[test]
    fn every_block_of_a_prompt_is_read_in_its_role() {
        check(
            r#"{"messages":[
              {"role":"user","content":{"type":"text","text":"a"}},
              {"role":"assistant","content":{"type":"audio","mimeType":"audio/wav","data":"AAAA"}},
              {"role":"user","content":{"type":"resource_link","uri":"a:b","name":"c"}},
              {"role":"user","content":{"type":"resource","resource":{"uri":"a:b","text":"t"}}},
              {"role":"user","content":{"type":"image","mimeType":"image/png","data":"AAAA"}}]}"#,
            expect!["user text; assistant audio; user link; user embedded; user image"],
        );
    }

    #[test]
    fn what_has_no_known_shape_is_kept_as_it_came() {
        check(
            r#"{"messages":[
              {"role":"system","content":{"type":"text","text":"a"}},
              {"role":"user","content":[{"type":"text","text":"a"},{"type":"hologram"}]},
              {"role":"user","content":"bare"}, {"role":"user"}, 7]}"#,
            expect!["user text; user text+unknown; user unknown; user unknown; user unknown"],
        );
        check(r#"{"messages":[]}"#, expect![""]);
    }

    #[test]
    fn an_answer_without_messages_is_refused() {
        assert!(messages_of(&RawJson::parse(r#"{"resultType":"complete"}"#).unwrap()).is_err());
    }
}
