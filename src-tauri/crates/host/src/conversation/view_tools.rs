//! The model calls a tool that a View offers itself: the user is asked, the View answers, and its words reach the model as its words.
//!
//! What crosses is what the View answers to a call that the user allowed; its server's output for Views never does (rules H26, X5).
//! Deliberately absent: hints of a View about its tools, which the window shows and nothing here reads.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use usher_engine::{
    Consumer, Origin,
    ledger::LedgerEntry,
    routing::{Door, Source},
};
use usher_protocol::RawJson;

use super::{
    CallOrder, CallRecord, CallState, DeliveryRecord, Host, ModelCall, Shown, Told, ViewReply,
    call::{Stop, bad_arguments, cancelled, sentence},
    live::Live,
    views::{OwnTool, Unanswered, judge},
};
use crate::app_view::own_tools::OwnAnswer;

/// Why the model reads what a View answered.
const DOOR: &str =
    "what a View answers to a call that you allowed is read by the model, marked as the View's words";

impl Host {
    /// Makes one call of the model to a View.
    pub(super) async fn run_view_tool(
        &self,
        live: &Arc<Live>,
        call: &ModelCall,
        of: &OwnTool,
        arguments: RawJson,
        cancel: &CancellationToken,
    ) {
        let order = CallOrder {
            server_id: String::new(),
            tool: of.tool.name.clone(),
            arguments,
            origin: Origin::Model,
            model_call: Some(call.id.clone()),
            cancel: cancel.child_token(),
            reports_to: None,
        };
        let mut record = self.begin_record(live, &order, of.label.clone(), of.tool.title.clone()).await;
        record.of_view = Some(of.call_id.clone());
        live.with(|it| it.cancels.insert(record.id.clone(), order.cancel.clone()));
        let end = self.attempt_view_tool(live, &order, &mut record, of).await;
        live.with(|it| it.cancels.remove(&record.id));
        match end {
            Ok((raw, answer)) => self.hear_view(live, &mut record, &raw, &answer),
            Err(stop) => {
                (record.state, record.told) = (stop.state, stop.told);
                self.record(live, Some(&record.id), stop.entry);
            }
        }
        record.ended_ms = Some(self.now_ms());
        self.keep_call(live, &record).await;
    }

    async fn attempt_view_tool(
        &self,
        live: &Live,
        order: &CallOrder,
        record: &mut CallRecord,
        of: &OwnTool,
    ) -> Result<(RawJson, OwnAnswer), Box<Stop>> {
        let bytes = order.arguments.bytes() as u64;
        let asked = LedgerEntry::ViewAsked { view: of.label.clone(), tool: order.tool.clone(), bytes };
        self.record(live, Some(&record.id), asked);
        judge(&of.tool, &order.arguments).map_err(|problems| bad_arguments(&of.tool, problems))?;
        // What was allowed for a tool of a server says nothing of a View's tool with its name.
        let standing = CallOrder { server_id: format!("view/{}", of.call_id), ..order.clone() };
        self.approve(live, &standing, record, &of.tool).await?;
        self.keep_call(live, record).await;
        let reply = self.ask_view(&of.view_id, &of.tool, &order.arguments, &order.cancel).await;
        let raw = match reply {
            Ok(ViewReply::Result(raw)) => raw,
            Ok(ViewReply::Error(error)) => {
                return Err(failed(format!("The View answered with an error: {error}."), Told::Malformed));
            }
            Err(Unanswered::Stopped) => return Err(cancelled()),
            Err(why) => return Err(failed(sentence(&why.to_string()), Told::State)),
        };
        let answer = OwnAnswer::read(&raw, self.takes_pictures(&live.id));
        let answer = answer
            .map_err(|why| failed(format!("The View's answer cannot be read: {why}."), Told::Malformed))?;
        Ok((raw, answer))
    }

    /// Keeps what a View answered: whole for the user, its words and pictures for the model.
    fn hear_view(&self, live: &Live, record: &mut CallRecord, raw: &RawJson, answer: &OwnAnswer) {
        let said = &answer.words;
        let words = RawJson::of(&said.text).unwrap_or_else(|_| serde_json::Value::Null.into());
        let keep = |label: &str, value: &RawJson| self.keep_payload(live, &record.id, None, label, value);
        let whole = keep("the whole answer of the View", raw);
        let handle = keep("what the View answered", &words);
        let pictures = said.picture_blocks().map(|it| keep("the pictures of the View's answer", &it));
        let how = match &said.left_out {
            Some(left_out) => format!("as the View's words, without {left_out}"),
            None => "as the View's words".to_owned(),
        };
        let parts = [
            (Consumer::User, raw.bytes(), "you see what a View answers", "whole".to_owned(), &whole),
            (Consumer::Model, said.bytes(), DOOR, how, &handle),
        ];
        for (to, bytes, door, how, handle) in parts {
            let delivered = DeliveryRecord {
                to,
                source: Source::ViewAnswer,
                bytes: bytes as u64,
                door: Door::Policy(door.to_owned()),
                verdict: None,
                how,
                handle: handle.clone(),
            };
            self.note_delivery(live, record, delivered);
        }
        let drawn = pictures.iter().map(|it| Shown::Blocks { handle: it.clone() });
        record.shown = drawn.chain([Shown::Json { handle: whole, bytes: raw.bytes() as u64 }]).collect();
        record.state = if answer.is_error { CallState::ToolError } else { CallState::Done };
        record.told = Told::ViewAnswer { handle, pictures, failed: answer.is_error };
    }
}

fn failed(what: String, told: Told) -> Box<Stop> {
    let todo = "Nothing of it reached the model. Look at the View, and ask again.".to_owned();
    let entry = LedgerEntry::Failed { what: what.clone() };
    Box::new(Stop { state: CallState::Failed { what, todo }, told, heard: None, entry })
}
