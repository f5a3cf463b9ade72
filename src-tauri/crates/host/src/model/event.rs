//! What a model's answer is made of while it streams, and what it is when it has ended.
//!
//! Deliberately absent: any provider's vocabulary. Decoders translate.

use std::sync::Arc;

use super::{Arguments, ToolCall};

/// A piece of a streamed answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamEvent {
    /// Text to append to the answer.
    Text(String),
    /// Text of the model's reasoning. Kept, never sent back.
    Reasoning(String),
    /// A call begins.
    CallStarted {
        /// Its place among the calls of this answer.
        slot: usize,
        /// Its id, the provider's or a generated one.
        id: String,
        /// The name that the model wrote.
        name: String,
    },
    /// Text to append to a call's arguments.
    CallArguments {
        /// The call's place.
        slot: usize,
        /// The text.
        text: String,
    },
    /// Tokens that the provider counted.
    Usage(Usage),
    /// An event that could not be read and was skipped.
    Unreadable {
        /// Its beginning.
        head: String,
    },
    /// Why the model stopped. Comes once, before the end.
    Finished(Finish),
}

/// Tokens that a provider counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Of the request.
    pub input_tokens: u64,
    /// Of the answer.
    pub output_tokens: u64,
    /// Of the request, those that were read from a cache.
    pub cached_tokens: Option<u64>,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finish {
    /// It had said everything.
    Stop,
    /// It waits for the results of its calls.
    ToolCalls,
    /// It reached its output limit or the end of its context.
    Length,
    /// The provider's filter stopped it.
    Filtered,
    /// A reason that has no name here.
    Other(String),
}

/// An answer, built from its events.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reply {
    /// Its text.
    pub text: String,
    /// The model's reasoning.
    pub reasoning: String,
    /// Why it stopped; absent when it was cut off.
    pub finish: Option<Finish>,
    /// What the provider counted.
    pub usage: Option<Usage>,
    calls: Vec<(String, String, String)>,
}

impl Reply {
    /// Adds an event.
    pub fn apply(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::Text(text) => self.text.push_str(text),
            StreamEvent::Reasoning(text) => self.reasoning.push_str(text),
            // Slots are counted from 0 without gaps; the answer keeps their order.
            StreamEvent::CallStarted { id, name, .. } => {
                self.calls.push((id.clone(), name.clone(), String::new()))
            }
            StreamEvent::CallArguments { slot, text } => {
                if let Some((_, _, arguments)) = self.calls.get_mut(*slot) {
                    arguments.push_str(text);
                }
            }
            StreamEvent::Usage(usage) => self.usage = Some(*usage),
            StreamEvent::Unreadable { .. } => {}
            StreamEvent::Finished(finish) => self.finish = Some(finish.clone()),
        }
    }

    /// What has come of a call's arguments.
    pub fn arguments(&self, slot: usize) -> &str {
        self.calls.get(slot).map_or("", |it| &it.2)
    }

    /// The calls, in order. When the answer was cut off, by its limit or otherwise, the last one is cut too and must not be executed. After
    /// an error none of them is to be executed; they are kept as what the model wrote.
    pub fn calls(&self) -> Vec<ToolCall> {
        let was_cut = matches!(self.finish, None | Some(Finish::Length));
        let last = self.calls.len().saturating_sub(1);
        let call = |(slot, (id, name, arguments)): (usize, &(String, String, String))| ToolCall {
            id: Arc::from(id.as_str()),
            wire_name: Arc::from(name.as_str()),
            arguments: Arguments::read(arguments, !(was_cut && slot == last)),
        };
        self.calls.iter().enumerate().map(call).collect()
    }
}
