//! Models: what they may read, how a request is written and an answer read, and the one door through which requests leave.
//!
//! A conversation drives it so: collect [`HistoryItem`]s, [`Turn::assemble`] them (which repairs), [`fit`] the turn to the model's
//! context, [`Wire::encode`] it, hand the [`Encoded`] to [`ModelClient::stream`], and build a [`Reply`] of the events.
//! Everything but [`ModelClient`] is pure. Deliberately absent: audiences other than the assistant's (they have no representation in
//! [`ModelToolResult`]), storage (a [`Recorder`] is passed in), and clocks and ids (passed in).

mod budget;
mod demo;
mod demo_script;
mod demo_words;
mod error;
mod event;
mod host_text;
mod item;
mod listing;
mod names;
mod openai;
mod openai_stream;
mod partial;
mod portability;
mod raw_object;
mod schema;
mod send;
mod source;
mod sse;
#[cfg(test)]
mod tests;
mod turn;
mod wire;

pub use budget::{ASSUMED_CONTEXT_TOKENS, Cut, Fit, IMAGE_TOKENS, estimate_tokens, fit};
pub use error::ModelError;
pub use event::{Finish, Reply, StreamEvent, Usage};
pub use host_text::{HostText, MediaKind, Mime, NotSent};
pub use item::{AssistantOutput, ItemNote, ModelItem, ModelToolResult, SourcedItem};
pub use listing::LocalModels;
pub use names::{MAX_WIRE_NAME, ToolNames, ToolRef, is_legal};
pub use openai::{MAX_IMAGE_BASE64, OpenAiChat};
pub use partial::{beginning, steps};
pub use portability::{Fate, KeywordFate, Portability, Provider, portability};
pub use schema::{AdaptedSchema, MAX_SCHEMA_BYTES, Rewrite, SchemaRefusal};
pub use send::{MemoryRecorder, ModelClient, Outcome, Patience, Recorder};
pub use source::{BodyWriter, CallPart, Door, MessagePart, Origin, Source, Span, ToolPart};
pub use turn::{
    Arguments, AssistantMessage, BroughtMessage, HistoryItem, OfferedTool, Repair, SystemText, ToolCall,
    ToolChoice, Turn, UserMessage,
};
pub use wire::{CallIds, EncodeError, Encoded, Endpoint, ModelSpec, Secret, StreamDecoder, Wire};

use turn::Message;
