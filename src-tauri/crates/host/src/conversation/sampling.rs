//! Servers and their Views that ask the model (2025-11-25 client/sampling; later revisions and MCP Apps ask in the same words).
//!
//! The person sees what would be sent before anything is, and what was written before the server has it; both may be refused. The request
//! is recorded as one of its own, and neither it nor its answer is ever part of the conversation. Deliberately absent: tools, pictures
//! and sounds, the context of other servers, and a choice of the model by the server: it is the conversation's.

use std::sync::Arc;

use futures::StreamExt;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use usher_engine::ledger::LedgerEntry;
use usher_protocol::RawJson;

use super::{Asked, CallRecord, CallState, Host, live::Live, lock, questions::Asker};
use crate::{
    app_view::consent::Kind,
    connection::{Answer, Elicited, Question},
    model::{
        AssistantMessage, Door, Encoded, Finish, HistoryItem, ModelSpec, OpenAiChat, Reply, SystemText, Turn,
        UserMessage, Wire, fit,
    },
};

/// How much text a server may send to the model at once, in bytes.
const MOST_BYTES: usize = 256 * 1024;
/// How many messages.
const MOST_MESSAGES: usize = 64;
/// How many tokens the model may write for a server at once; a server that wants more gets so many.
const MOST_TOKENS: u32 = 4_096;
/// How often a server may ask during one call.
const MOST_A_CALL: u32 = 8;

/// What a server wants to send to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleRequest {
    /// The system prompt, in the server's words.
    pub system: Option<String>,
    /// The messages, in order.
    pub messages: Vec<SampleMessage>,
    /// The model that would be asked.
    pub model: String,
    /// Where it is.
    pub url: String,
    /// How many tokens it may write.
    pub max_tokens: u64,
    /// How many bytes would be sent.
    pub bytes: u64,
    /// The tool whose call makes the server ask.
    pub tool: String,
    /// The conversation of that call.
    pub conversation: String,
    /// What of the server's wishes is not followed, in sentences.
    pub remarks: Vec<String>,
    /// The View of the server that asks, if it is one.
    pub by_view: Option<String>,
}

/// A message that a server wants to send to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleMessage {
    /// Whether the model is to take it for its own words.
    pub is_assistant: bool,
    /// Its text.
    pub text: String,
}

/// What a model wrote for a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleAnswer {
    /// The model.
    pub model: String,
    /// Its words.
    pub text: String,
    /// Why it stopped, if that is not that it had said everything.
    pub cut: Option<String>,
    /// The recorded request.
    pub exchange_id: String,
    /// The conversation that has it.
    pub conversation_id: String,
    /// The View of the server that it is for, if it is one.
    pub by_view: Option<String>,
}

/// Who asks the model.
enum By<'a> {
    /// A server, during a call.
    Server(&'a mut Question),
    /// A View of a server: one question at a time, as for all that Views ask.
    View { view_id: &'a str, call: &'a CallRecord },
}

/// The call that makes a server ask, or whose View asks.
struct Behind {
    live: Arc<Live>,
    call_id: String,
    tool: String,
    cancel: CancellationToken,
}

impl Host {
    /// Answers `sampling/createMessage`.
    pub(super) async fn sample(&self, asker: &Asker, params: &RawJson, question: &mut Question) -> Answer {
        let wanted = match Wanted::read(params) {
            Ok(wanted) => wanted,
            Err(why) => return Answer::Unusable { why },
        };
        let Some(behind) = self.call_behind(&asker.id) else {
            return refused("no call of the person waits for this server");
        };
        if let Err(why) = self.count_sample(&behind.call_id) {
            return refused(why);
        }
        self.sample_by(By::Server(question), asker, &behind, &wanted).await
    }

    /// Answers `sampling/createMessage` of a View, which asks on its own. Its server is the one that the person lets ask.
    pub(super) async fn sample_as_view(
        &self,
        (view_id, call): (&str, &CallRecord),
        live: &Arc<Live>,
        params: &RawJson,
        end: &CancellationToken,
    ) -> Answer {
        let wanted = match Wanted::read(params) {
            Ok(wanted) => wanted,
            Err(why) => return Answer::Unusable { why },
        };
        let (call_id, tool) = (call.id.clone(), call.tool.clone());
        let behind = Behind { live: Arc::clone(live), call_id, tool, cancel: end.clone() };
        let asker = Asker { id: call.server_id.clone(), name: format!("the View of {}", call.server_name) };
        self.sample_by(By::View { view_id, call }, &asker, &behind, &wanted).await
    }

    /// Asks the person, then the model, then the person again. `asker` is named in the record.
    async fn sample_by(&self, mut by: By<'_>, asker: &Asker, behind: &Behind, wanted: &Wanted) -> Answer {
        let by_view = match &by {
            By::View { view_id, .. } => Some((*view_id).to_owned()),
            By::Server(_) => None,
        };
        let (spec, encoded, shown) = match self.prepare(wanted, behind).await {
            Ok(prepared) => prepared,
            Err(why) => return Answer::Failed { why },
        };
        let shown = Asked::Sample(Box::new(SampleRequest { by_view: by_view.clone(), ..shown }));
        if !self.may_sample(&mut by, asker, shown, behind).await {
            self.note_refusal(behind, &by, &format!("you did not let {} ask the model", asker.name));
            return refused("the person does not let this server ask the model");
        }
        let answer = match self.write_for(asker, behind, &spec, &encoded, wanted).await {
            Ok(answer) => answer,
            Err(why) => return Answer::Failed { why },
        };
        let result = json!({
            "role": "assistant",
            "content": {"type": "text", "text": answer.0.text},
            "model": answer.0.model,
            "stopReason": answer.1,
        });
        let bytes = answer.0.text.len() as u64;
        let shown = Asked::SampleAnswer(Box::new(SampleAnswer { by_view, ..answer.0 }));
        if !self.may_sample(&mut by, asker, shown, behind).await {
            let what = format!("you did not let {} have what the model wrote", asker.name);
            self.note_refusal(behind, &by, &what);
            return refused("the person does not let this server have the model's answer");
        }
        let fact = LedgerEntry::ServerAnswered { server: asker.name.clone(), bytes };
        self.record(&behind.live, Some(&behind.call_id), fact);
        Answer::Sampled(result.into())
    }

    /// Asks the person.
    async fn may_sample(&self, by: &mut By<'_>, asker: &Asker, asked: Asked, behind: &Behind) -> bool {
        match by {
            By::Server(question) => {
                let elicited = self.pose(asker, asked, None, question, &behind.cancel).await;
                matches!(elicited, Elicited::Accept { .. })
            }
            By::View { view_id, call } => {
                self.consents((*view_id, *call), Kind::Sample, |_| asked, &behind.cancel).await
            }
        }
    }

    /// The call during which a server asks: the latest that runs.
    fn call_behind(&self, server_id: &str) -> Option<Behind> {
        let open: Vec<Arc<Live>> = self.live_map().values().cloned().collect();
        let running = open.into_iter().filter_map(|live| {
            let found = live.with(|state| {
                let runs = |it: &&super::CallRecord| {
                    it.server_id == server_id
                        && matches!(it.state, CallState::Running(_))
                        && state.cancels.contains_key(&it.id)
                };
                let call = state.calls.values().filter(runs).max_by_key(|it| it.started_ms)?;
                let cancel = state.cancels.get(&call.id)?.clone();
                Some((call.started_ms, call.id.clone(), call.tool.clone(), cancel))
            });
            found.map(|(at, call_id, tool, cancel)| (at, Behind { live, call_id, tool, cancel }))
        });
        running.max_by_key(|it| it.0).map(|it| it.1)
    }

    /// A server that was refused during a call is not heard again during it.
    fn count_sample(&self, call_id: &str) -> Result<(), &'static str> {
        let open: Vec<Arc<Live>> = self.live_map().values().cloned().collect();
        let runs = |id: &String| open.iter().any(|live| live.with(|it| it.cancels.contains_key(id)));
        let mut samples = lock(&self.0.samples);
        samples.retain(|id, _| runs(id));
        let count = samples.entry(call_id.to_owned()).or_insert(0);
        if *count == u32::MAX {
            return Err("the person has refused this before");
        }
        if *count >= MOST_A_CALL {
            return Err("this server has asked the model too often during one call");
        }
        *count += 1;
        Ok(())
    }

    fn note_refusal(&self, behind: &Behind, by: &By<'_>, answer: &str) {
        // A View that was refused is not heard again either, which its consent knows.
        if matches!(by, By::Server(_)) {
            lock(&self.0.samples).insert(behind.call_id.clone(), u32::MAX);
        }
        let fact = LedgerEntry::Approved { answer: answer.to_owned() };
        self.record(&behind.live, Some(&behind.call_id), fact);
    }

    /// Writes the request as it would be sent, so that what is allowed is what goes.
    async fn prepare(
        &self,
        wanted: &Wanted,
        behind: &Behind,
    ) -> Result<(ModelSpec, Encoded, SampleRequest), String> {
        let model_id = behind.live.with(|it| it.row.model_id.clone());
        let spec = self.model_spec(&model_id).await.map_err(|error| error.what)?;
        let spec = ModelSpec { max_output_tokens: Some(wanted.max_tokens), ..spec };
        let (turn, fitted) = fit(wanted.turn(), &spec);
        if !fitted.fits || !fitted.cuts.is_empty() {
            return Err("the messages are too long for the model".to_owned());
        }
        let encoded = OpenAiChat.encode(&turn, &spec).map_err(|error| error.to_string())?;
        let shown = SampleRequest {
            system: wanted.system.clone(),
            messages: wanted.messages.clone(),
            model: spec.name.clone(),
            url: encoded.recordable_url(),
            max_tokens: wanted.max_tokens,
            bytes: encoded.body.len() as u64,
            tool: behind.tool.clone(),
            conversation: behind.live.summary().title,
            remarks: wanted.remarks.clone(),
            by_view: None,
        };
        Ok((spec, encoded, shown))
    }

    /// Asks the model. Gives what it wrote, and why it stopped in the words of the specification.
    async fn write_for(
        &self,
        asker: &Asker,
        behind: &Behind,
        spec: &ModelSpec,
        encoded: &Encoded,
        wanted: &Wanted,
    ) -> Result<(SampleAnswer, &'static str), String> {
        // Whoever runs the server learns that it did not work, and nothing of where the model is.
        const FAILED: &str = "the model could not be asked";
        let kept = self.keep_exchange(&behind.live, spec, encoded, Some(&asker.name)).await;
        let record = kept.map_err(|failure| {
            self.remark(&asker.id, "sampling", format!("{} {}", failure.what, failure.todo));
            FAILED.to_owned()
        })?;
        let exchange_id = record.id();
        let host = self.clone();
        let ids = Box::new(move || format!("call_{}", host.new_id().replace('-', "")));
        let begun =
            self.0.client.stream(&OpenAiChat, spec, encoded, record, ids, behind.cancel.clone()).await;
        let failed = |error: crate::model::ModelError| {
            self.remark(&asker.id, "sampling", format!("the model did not answer: {error}"));
            FAILED.to_owned()
        };
        let mut events = begun.map_err(failed)?;
        let mut reply = Reply::default();
        while let Some(event) = events.next().await {
            reply.apply(&event.map_err(failed)?);
        }
        let (text, reason) = wanted.ending(&reply);
        let cut = match reason {
            "endTurn" => None,
            "maxTokens" => Some("it reached the most that it may write".to_owned()),
            "stopSequence" => Some("it came to a word at which the server wants it to stop".to_owned()),
            other => Some(other.to_owned()),
        };
        let conversation_id = behind.live.id.clone();
        let answer =
            SampleAnswer { model: spec.name.clone(), text, cut, exchange_id, conversation_id, by_view: None };
        Ok((answer, reason))
    }
}

fn refused(why: &str) -> Answer {
    Answer::Refused { why: why.to_owned() }
}

/// What a server asks the model for, read and within limits.
#[derive(Debug, PartialEq)]
struct Wanted {
    system: Option<String>,
    messages: Vec<SampleMessage>,
    max_tokens: u64,
    stops: Vec<String>,
    remarks: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params {
    messages: Vec<Message>,
    max_tokens: f64,
    #[serde(default)]
    system_prompt: Option<String>,
    #[serde(default)]
    include_context: Option<String>,
    #[serde(default)]
    temperature: Option<f64>,
    #[serde(default)]
    stop_sequences: Vec<String>,
    #[serde(default)]
    model_preferences: Option<RawJson>,
    #[serde(default)]
    tools: Option<RawJson>,
    #[serde(default)]
    tool_choice: Option<RawJson>,
}

#[derive(Deserialize)]
struct Message {
    role: Role,
    content: Content,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Assistant,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Many(Vec<Block>),
    One(Block),
}

#[derive(Deserialize)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    text: Option<String>,
}

impl Wanted {
    fn read(params: &RawJson) -> Result<Self, String> {
        let read: Params = params.to().map_err(|error| error.to_string())?;
        if read.tools.is_some() || read.tool_choice.is_some() {
            return Err("sampling with tools is not offered".to_owned());
        }
        if read.messages.is_empty() || read.messages.len() > MOST_MESSAGES {
            return Err(format!("one to {MOST_MESSAGES} messages are taken"));
        }
        if read.max_tokens.is_nan() || read.max_tokens < 1.0 {
            return Err("maxTokens must be at least 1".to_owned());
        }
        let messages: Vec<SampleMessage> =
            read.messages.into_iter().map(message).collect::<Result<_, String>>()?;
        let system = read.system_prompt.filter(|it| !it.is_empty());
        let bytes: usize =
            messages.iter().map(|it| it.text.len()).chain(system.iter().map(String::len)).sum();
        if bytes > MOST_BYTES {
            return Err(format!("the messages have {bytes} bytes; {MOST_BYTES} are taken"));
        }
        let max_tokens = whole_tokens(read.max_tokens);
        let mut remarks = Vec::new();
        if read.max_tokens > f64::from(MOST_TOKENS) {
            remarks.push(format!(
                "It wants up to {} tokens; the model may write {MOST_TOKENS}.",
                read.max_tokens
            ));
        }
        if read.include_context.as_deref().is_some_and(|it| it != "none") {
            remarks.push("It wants more of your conversations to be sent along; nothing is.".to_owned());
        }
        if read.temperature.is_some() {
            remarks.push("It wants another temperature; the model keeps its own.".to_owned());
        }
        if read.model_preferences.is_some() {
            remarks.push("It says which models it prefers; the conversation's model is asked.".to_owned());
        }
        Ok(Self { system, messages, max_tokens, stops: read.stop_sequences, remarks })
    }

    fn turn(&self) -> Turn {
        let system = self.system.iter().map(|it| SystemText::Instructions(it.as_str().into())).collect();
        let item_id: Arc<str> = "asked".into();
        let history = self.messages.iter().map(|it| {
            let (item_id, text) = (Arc::clone(&item_id), it.text.as_str().into());
            if it.is_assistant {
                HistoryItem::Assistant(AssistantMessage { item_id, text, calls: Vec::new() })
            } else {
                HistoryItem::User(UserMessage { item_id, door: Door::Typed, text })
            }
        });
        Turn::assemble(system, history, Vec::new()).0
    }

    /// The text up to the first word at which the server wants the model to stop, and why it ended.
    fn ending(&self, reply: &Reply) -> (String, &'static str) {
        let stops = self.stops.iter().filter(|it| !it.is_empty());
        match stops.filter_map(|it| reply.text.find(it.as_str())).min() {
            Some(at) => (reply.text[..at].to_owned(), "stopSequence"),
            None if reply.finish == Some(Finish::Length) => (reply.text.clone(), "maxTokens"),
            None => (reply.text.clone(), "endTurn"),
        }
    }
}

/// Whole tokens within the limit. Servers may write the number as they like; counting needs no lossy cast.
fn whole_tokens(wanted: f64) -> u64 {
    (1..=MOST_TOKENS).rev().find(|it| f64::from(*it) <= wanted).unwrap_or(1).into()
}

fn message(message: Message) -> Result<SampleMessage, String> {
    let blocks = match message.content {
        Content::Many(blocks) => blocks,
        Content::One(block) => vec![block],
    };
    let text = |block: Block| match (block.kind.as_str(), block.text) {
        ("text", Some(text)) => Ok(text),
        ("text", None) => Err("a text block has no text".to_owned()),
        (kind, _) => Err(format!("a block of type {kind:?} cannot be sent to the model; only text can")),
    };
    let texts: Vec<String> = blocks.into_iter().map(text).collect::<Result<_, String>>()?;
    let text = texts.join("\n\n");
    if text.is_empty() {
        return Err("a message is empty".to_owned());
    }
    Ok(SampleMessage { is_assistant: matches!(message.role, Role::Assistant), text })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(params: serde_json::Value) -> Result<Wanted, String> {
        Wanted::read(&params.into())
    }

    #[test]
    fn what_is_asked_is_read_within_limits() {
        let wanted = read(json!({
            "messages": [
                {"role": "user", "content": {"type": "text", "text": "Hello"}},
                {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            ],
            "maxTokens": 1e9, "systemPrompt": "Be brief.", "includeContext": "allServers", "temperature": 1,
            "modelPreferences": {}, "stopSequences": ["", "END"],
        }))
        .unwrap();
        assert_eq!((wanted.max_tokens, wanted.remarks.len()), (4_096, 4));
        assert_eq!(wanted.messages[1], SampleMessage { is_assistant: true, text: "a\n\nb".to_owned() });
        let mut reply = Reply::default();
        "one END two".clone_into(&mut reply.text);
        assert_eq!(wanted.ending(&reply), ("one ".to_owned(), "stopSequence"));
        assert_eq!(read(json!({"messages": [{"role": "user", "content": {"type": "text", "text": "x"}}], "maxTokens": 7.9})).unwrap().max_tokens, 7);
    }

    #[test]
    fn what_cannot_be_sent_as_it_is_is_not_sent() {
        let hello = json!({"role": "user", "content": {"type": "text", "text": "x"}});
        let check = |params: serde_json::Value| read(params).unwrap_err();
        assert_eq!(check(json!({"messages": [], "maxTokens": 5})), "one to 64 messages are taken");
        assert_eq!(check(json!({"messages": [hello], "maxTokens": 0})), "maxTokens must be at least 1");
        assert_eq!(
            check(json!({"messages": [hello], "maxTokens": 5, "tools": []})),
            "sampling with tools is not offered"
        );
        let picture =
            json!({"role": "user", "content": {"type": "image", "data": "", "mimeType": "image/png"}});
        assert_eq!(
            check(json!({"messages": [picture], "maxTokens": 5})),
            "a block of type \"image\" cannot be sent to the model; only text can"
        );
        let long = json!({"role": "user", "content": {"type": "text", "text": "x".repeat(MOST_BYTES + 1)}});
        assert!(check(json!({"messages": [long], "maxTokens": 5})).ends_with("262144 are taken"));
        assert!(
            check(json!({"messages": [{"role": "system", "content": "x"}], "maxTokens": 5}))
                .contains("system")
        );
    }
}
