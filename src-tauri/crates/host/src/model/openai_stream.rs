//! The OpenAI Chat format: how a streamed answer is read.
//!
//! Tolerates what local servers do: `content: null` first, whole arguments in one chunk, arguments as an object, calls without an index
//! or an id, names that are repeated, a whole `message` in place of deltas. Deliberately absent: any guess at calls that a model
//! wrote as text.

use serde::Deserialize;
use usher_protocol::RawJson;

use super::{
    CallIds, Finish, ModelError, StreamDecoder, StreamEvent, Usage,
    error::{said_in, shorten},
};

/// The most calls that one answer may make; more are an error of the model or an attack.
const MAX_CALLS: usize = 128;

/// Reads one answer.
pub(super) struct ChatDecoder {
    ids: CallIds,
    calls: Vec<OpenCall>,
    finish: Option<Finish>,
    done: bool,
    understood: bool,
    unreadable: Option<String>,
}

/// A call that is being streamed.
struct OpenCall {
    index: Option<u64>,
    id: Option<String>,
    name: String,
    /// Whether its start was told; then its name and id are settled.
    told: bool,
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    #[serde(default)]
    usage: Option<WireUsage>,
    #[serde(default)]
    error: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    delta: Option<Delta>,
    /// A whole answer in place of a stream.
    #[serde(default)]
    message: Option<Delta>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    #[serde(default)]
    content: Option<Content>,
    #[serde(default)]
    refusal: Option<String>,
    #[serde(default)]
    reasoning_content: Option<String>,
    #[serde(default)]
    reasoning: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<CallDelta>>,
}

/// Content is a string, and with some providers a list of parts.
#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<ContentPart>),
    Other(serde::de::IgnoredAny),
}

#[derive(Deserialize)]
struct ContentPart {
    #[serde(default)]
    text: Option<String>,
}

#[derive(Deserialize)]
struct CallDelta {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    function: Option<FunctionDelta>,
}

#[derive(Deserialize)]
struct FunctionDelta {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    arguments: Option<RawJson>,
}

#[derive(Deserialize)]
struct WireUsage {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
    #[serde(default)]
    prompt_tokens_details: Option<WireDetails>,
}

#[derive(Deserialize)]
struct WireDetails {
    #[serde(default)]
    cached_tokens: Option<u64>,
}

impl ChatDecoder {
    pub(super) fn new(ids: CallIds) -> Self {
        Self { ids, calls: Vec::new(), finish: None, done: false, understood: false, unreadable: None }
    }

    fn delta(&mut self, delta: Delta, out: &mut Vec<StreamEvent>) -> Result<(), ModelError> {
        for text in [delta.reasoning_content, delta.reasoning]
            .into_iter()
            .flatten()
            .filter(|it| !it.is_empty())
            .take(1)
        {
            out.push(StreamEvent::Reasoning(text));
        }
        let content = match delta.content {
            Some(Content::Text(text)) => text,
            Some(Content::Parts(parts)) => parts.into_iter().filter_map(|it| it.text).collect(),
            Some(Content::Other(_)) | None => String::new(),
        };
        for text in [content, delta.refusal.unwrap_or_default()].into_iter().filter(|it| !it.is_empty()) {
            out.push(StreamEvent::Text(text));
        }
        for call in delta.tool_calls.into_iter().flatten() {
            self.call(call, out)?;
        }
        Ok(())
    }

    fn call(&mut self, delta: CallDelta, out: &mut Vec<StreamEvent>) -> Result<(), ModelError> {
        let id = delta.id.filter(|it| !it.is_empty());
        let (name, arguments) = match delta.function {
            Some(it) => (it.name.filter(|it| !it.is_empty()), it.arguments),
            None => (None, None),
        };
        let slot = self.slot(delta.index, id.as_deref(), name.is_some());
        if slot == self.calls.len() {
            if slot == MAX_CALLS {
                return Err(ModelError::MidStream {
                    text: format!("more than {MAX_CALLS} tool calls in one answer"),
                });
            }
            self.tell(out);
            self.calls.push(OpenCall { index: delta.index, id: None, name: String::new(), told: false });
        }
        let call = &mut self.calls[slot];
        if !call.told {
            call.id = call.id.take().or(id);
            // A name may come in pieces, and some servers repeat all of it with every chunk.
            if let Some(name) = name.filter(|it| *it != call.name) {
                call.name.push_str(&name);
            }
        }
        let text = arguments.as_ref().map(argument_text).unwrap_or_default();
        if !text.is_empty() {
            self.tell(out);
            out.push(StreamEvent::CallArguments { slot, text });
        }
        Ok(())
    }

    /// The call that a delta belongs to; the number of calls when it begins a new one.
    fn slot(&self, index: Option<u64>, id: Option<&str>, has_name: bool) -> usize {
        let by_id = id.and_then(|id| self.calls.iter().rposition(|it| it.id.as_deref() == Some(id)));
        if let Some(slot) = by_id.filter(|slot| index.is_none() || self.calls[*slot].index == index) {
            return slot;
        }
        let latest = match index {
            Some(_) => self.calls.iter().rposition(|it| it.index == index),
            None => self.calls.len().checked_sub(1),
        };
        match latest {
            // Gateways that number every call 0 still give each its id and name.
            Some(slot) if id.is_some() && has_name && self.calls[slot].id.is_some() => {
                if self.calls[slot].id.as_deref() == id { slot } else { self.calls.len() }
            }
            // Without index and id, a name after arguments begins the next call.
            Some(slot) if index.is_none() && id.is_none() && has_name && self.calls[slot].told => {
                self.calls.len()
            }
            Some(slot) => slot,
            None => self.calls.len(),
        }
    }

    /// Tells the start of every call that was not told yet, in order, so that slots have no gaps.
    fn tell(&mut self, out: &mut Vec<StreamEvent>) {
        for slot in 0..self.calls.len() {
            if self.calls[slot].told {
                continue;
            }
            let (before, rest) = self.calls.split_at_mut(slot);
            let Some(call) = rest.first_mut() else { return };
            let taken = |id: &String| before.iter().any(|it| it.id.as_ref() == Some(id));
            let id = call.id.take().filter(|id| !taken(id)).unwrap_or_else(&mut self.ids);
            call.told = true;
            call.id = Some(id.clone());
            out.push(StreamEvent::CallStarted { slot, id, name: call.name.clone() });
        }
    }

    fn close(&mut self, out: &mut Vec<StreamEvent>) {
        self.tell(out);
        if let Some(finish) = self.finish.take() {
            out.push(StreamEvent::Finished(finish));
        }
    }
}

impl StreamDecoder for ChatDecoder {
    fn data(&mut self, data: &str) -> Result<Vec<StreamEvent>, ModelError> {
        let data = data.trim();
        if data == "[DONE]" {
            self.done = true;
            return Ok(Vec::new());
        }
        if data.is_empty() || self.done {
            return Ok(Vec::new());
        }
        let chunk: Chunk = match serde_json::from_str(data) {
            Ok(chunk) => chunk,
            Err(_) => {
                let head = shorten(data, 200);
                self.unreadable.get_or_insert_with(|| head.clone());
                return Ok(vec![StreamEvent::Unreadable { head }]);
            }
        };
        if let Some(error) = chunk.error.filter(|it| !it.is_null()) {
            let text = said_in(&error).unwrap_or_else(|| error.to_string());
            return Err(ModelError::MidStream { text: shorten(&text, 600) });
        }
        let mut out = Vec::new();
        self.understood |= chunk.choices.is_some();
        for choice in chunk.choices.into_iter().flatten().filter(|it| it.index.unwrap_or(0) == 0) {
            if let Some(delta) = choice.delta.or(choice.message) {
                self.delta(delta, &mut out)?;
            }
            if let Some(reason) = choice.finish_reason.filter(|it| !it.is_empty()) {
                self.finish = Some(finish(reason));
            }
        }
        if let Some(usage) = chunk.usage {
            out.push(StreamEvent::Usage(Usage {
                input_tokens: usage.prompt_tokens.unwrap_or(0),
                output_tokens: usage.completion_tokens.unwrap_or(0),
                cached_tokens: usage.prompt_tokens_details.and_then(|it| it.cached_tokens),
            }));
        }
        Ok(out)
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn end(&mut self) -> Result<Vec<StreamEvent>, ModelError> {
        if !self.understood {
            return Err(match self.unreadable.take() {
                Some(head) => ModelError::NotUnderstood { head },
                None => ModelError::Cut { why: None },
            });
        }
        // Some servers end with [DONE] and no reason.
        if self.done && self.finish.is_none() {
            self.finish = Some(if self.calls.is_empty() { Finish::Stop } else { Finish::ToolCalls });
        }
        if self.finish.is_none() {
            return Err(ModelError::Cut { why: None });
        }
        let mut out = Vec::new();
        self.close(&mut out);
        Ok(out)
    }
}

/// Arguments are a string of JSON; some servers send the object itself.
fn argument_text(raw: &RawJson) -> String {
    if raw.get() == "null" {
        String::new()
    } else {
        raw.to::<String>().unwrap_or_else(|_| raw.get().to_owned())
    }
}

fn finish(reason: String) -> Finish {
    match reason.as_str() {
        "stop" => Finish::Stop,
        "tool_calls" | "function_call" => Finish::ToolCalls,
        "length" => Finish::Length,
        "content_filter" => Finish::Filtered,
        _ => Finish::Other(reason),
    }
}
