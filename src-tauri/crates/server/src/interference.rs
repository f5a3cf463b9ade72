//! A way into what a server writes, for servers that test clients. A server for people never needs it.

use std::time::Duration;

use serde_json::{Map, Value};
use usher_protocol::{RawJson, jsonrpc::Message, model::Selector};

use crate::{connection::Frame, declaration::Declaration, tool::Ran};

/// What becomes of a request before it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// It is answered as it should be.
    Go,
    /// It is never answered.
    Silence,
    /// It is answered so.
    Answer(RawJson),
    /// The process ends.
    Crash,
}

/// Changes what is right before it leaves. Each method leaves it right unless it is overridden.
pub trait Interference: Send + Sync {
    /// What is said unasked when a connection begins.
    fn at_start(&self) -> Vec<Frame> {
        Vec::new()
    }

    /// Whatever a client says, before it is acted on.
    fn on_message(&self, _message: &Message) {}

    /// Before a request is read. `is_first` holds for the first message of a connection.
    fn on_request(&self, _method: &str, _is_first: bool) -> Turn {
        Turn::Go
    }

    /// A declaration in the shape in which `tools/list` has it.
    fn on_declaration(&self, _tool: &str, _wire: &mut Value) {}

    /// The selectors of a call, which were checked.
    fn on_selection(&self, _tool: &Declaration, selectors: Vec<Selector>) -> Vec<Selector> {
        selectors
    }

    /// The outputs of a call, and the result's `_meta`.
    fn on_outputs(&self, _tool: &str, _ran: &mut Ran, _meta: &mut Map<String, Value>) {}

    /// The answer to a call, as it is framed. A call without frames stays unanswered until it is cancelled.
    fn on_answer(&self, answer: &Message) -> Vec<Frame> {
        vec![Frame::of(answer)]
    }

    /// How long the answer to a call is held back.
    fn delay(&self) -> Duration {
        Duration::ZERO
    }

    /// Whether calls go on after they were cancelled.
    fn ignores_cancellation(&self) -> bool {
        false
    }
}

/// Nothing is changed.
pub(crate) struct None;

impl Interference for None {}
