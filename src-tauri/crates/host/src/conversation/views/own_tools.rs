//! Calling a View for a tool that it offers itself: the page carries the question and the answer.
//!
//! Deliberately absent: who may call, which `view_tools` decides, and what an answer says, which is read as hostile words.

use std::{sync::Arc, time::Duration};

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use usher_engine::validation::{Compiled, Verdict};
use usher_protocol::{RawJson, jsonrpc::ErrorObject, model::Tool};

use super::{
    super::{Host, HostError, HostEvent, call::in_lines, live::Live, lock},
    ViewReply,
};
use crate::app_view::own_tools::{MOST_CALLS, MOST_TOOLS, OwnTools, PATIENCE};

/// A tool of a View, as it was when the model was told of it.
#[derive(Debug, Clone)]
pub(in crate::conversation) struct OwnTool {
    /// The View.
    pub(in crate::conversation) view_id: String,
    /// The call whose View it is.
    pub(in crate::conversation) call_id: String,
    /// That call's number.
    pub(in crate::conversation) number: u32,
    /// Which View, for people: `View of show, call 3`.
    pub(in crate::conversation) label: String,
    /// The tool.
    pub(in crate::conversation) tool: Arc<Tool>,
}

/// Why a View did not answer a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::conversation) enum Unanswered {
    #[error("the View is closed, or rests")]
    Gone,
    #[error("the View offers this tool no more, or declares it otherwise now")]
    Changed,
    #[error("the View has {MOST_CALLS} calls to answer already")]
    Busy,
    #[error("the View did not answer within {} seconds", PATIENCE.as_secs())]
    Late,
    #[error("the call was stopped")]
    Stopped,
}

impl Host {
    /// A View says which tools it offers. Answers what of them is taken.
    ///
    /// # Errors
    /// There is no such View.
    pub async fn set_view_tools(&self, view_id: &str, list: String) -> Result<OwnTools, HostError> {
        // Schemas are compiled, and a View may send many.
        let read = tokio::task::spawn_blocking(move || OwnTools::read(&list)).await;
        let own = read.map_err(|error| HostError::new(format!("The list was not read: {error}."), "", ""))?;
        let mut views = lock(&self.0.views);
        let open = views.open.get_mut(view_id).ok_or_else(|| HostError::unknown("View"))?;
        open.tools.clone_from(&own);
        Ok(own)
    }

    /// The tools that the open Views of a conversation offer, in the order of their calls, and why some are left out. Of a call that is
    /// shown twice the newest View counts. Those on the bench are nobody's but their author's.
    pub(in crate::conversation) fn own_tools(&self, live: &Live) -> (Vec<OwnTool>, Option<String>) {
        let views = lock(&self.0.views);
        let mut found: Vec<OwnTool> = Vec::new();
        for view in views.registry.all().filter(|it| it.conversation_id == live.id) {
            let shown =
                live.with(|it| it.calls.get(&view.call_id).map(|call| (call.number, call.tool.clone())));
            let Some((number, shown)) = shown.filter(|_| !views.benches.contains_key(&view.view_id)) else {
                continue;
            };
            let own = views.open.get(&view.view_id).map(|it| it.tools.tools.as_slice()).unwrap_or_default();
            if own.is_empty()
                || found.iter().any(|it| it.call_id == view.call_id && it.view_id > view.view_id)
            {
                continue;
            }
            found.retain(|it| it.call_id != view.call_id);
            found.extend(own.iter().map(|tool| OwnTool {
                view_id: view.view_id.clone(),
                call_id: view.call_id.clone(),
                number,
                label: format!("View of {shown}, call {number}"),
                tool: Arc::clone(tool),
            }));
        }
        found.sort_by_key(|it| it.number);
        let total = found.len();
        found.truncate(MOST_TOOLS);
        let why = format!("{MOST_TOOLS} tools of open Views are offered, and there are {total}");
        (found, (total > MOST_TOOLS).then_some(why))
    }

    /// Asks a View for a tool that it offers, and waits for its answer as long as that may take.
    pub(in crate::conversation) async fn ask_view(
        &self,
        view_id: &str,
        tool: &Tool,
        arguments: &RawJson,
        cancel: &CancellationToken,
    ) -> Result<ViewReply, Unanswered> {
        let (call, answer) = self.begin_view_call(view_id, tool)?;
        let name = serde_json::Value::from(tool.name.as_str());
        let tell = |params| self.tell(HostEvent::ViewCall { view_id: view_id.to_owned(), call, params });
        tell(Some(format!(r#"{{"name":{name},"arguments":{arguments}}}"#)));
        let end = wait(answer, cancel, PATIENCE).await;
        // An answer that comes from now on is nobody's.
        let given_up =
            lock(&self.0.views).open.get_mut(view_id).and_then(|it| it.calls.remove(&call)).is_some();
        if given_up {
            tell(None);
        }
        end
    }

    fn begin_view_call(
        &self,
        view_id: &str,
        tool: &Tool,
    ) -> Result<(u32, oneshot::Receiver<ViewReply>), Unanswered> {
        let mut views = lock(&self.0.views);
        let call = views.newest_call.wrapping_add(1);
        let open = views.open.get_mut(view_id).ok_or(Unanswered::Gone)?;
        // What the model and the user were told of is what is called.
        if open.tools.get(&tool.name).is_none_or(|it| it.raw != tool.raw) {
            return Err(Unanswered::Changed);
        }
        if open.calls.len() >= MOST_CALLS {
            return Err(Unanswered::Busy);
        }
        let (sender, answer) = oneshot::channel();
        open.calls.insert(call, sender);
        views.newest_call = call;
        Ok((call, answer))
    }

    /// A View answers a call of its tool.
    ///
    /// # Errors
    /// Nobody waits for an answer of this View to this call: it was given up, or it is another View's.
    pub fn answer_view_call(&self, view_id: &str, call: u32, reply: ViewReply) -> Result<(), HostError> {
        let waiting = lock(&self.0.views).open.get_mut(view_id).and_then(|it| it.calls.remove(&call));
        match waiting.map(|it| it.send(reply)) {
            Some(Ok(())) => Ok(()),
            Some(Err(_)) | None => Err(HostError::unknown("call")),
        }
    }

    /// Calls a tool of a View on the bench as its author wants it; no model hears of it.
    ///
    /// # Errors
    /// There is no such View on the bench, it does not offer the tool, or the arguments are none for it.
    pub async fn call_bench_tool(
        &self,
        view_id: &str,
        name: &str,
        arguments: &str,
    ) -> Result<ViewReply, HostError> {
        let refused = |why: String| HostError::new(why, "Nothing was sent to the View.", "Correct it.");
        let tool = {
            let views = lock(&self.0.views);
            let open = views.open.get(view_id).filter(|_| views.benches.contains_key(view_id));
            let open = open.ok_or_else(|| HostError::unknown("View"))?;
            open.tools.get(name).cloned().ok_or_else(|| HostError::unknown("tool"))?
        };
        let arguments = RawJson::parse(arguments.trim())
            .map_err(|error| refused(format!("The arguments are not JSON: {error}.")))?;
        if let Err(problems) = judge(&tool, &arguments) {
            return Err(refused(format!(
                "The arguments do not fit the tool's schema: {}.",
                problems.join("; ")
            )));
        }
        let answer = self.ask_view(view_id, &tool, &arguments, &CancellationToken::new()).await;
        Ok(answer.unwrap_or_else(|why| ViewReply::Error(ErrorObject::new(-32000, why.to_string()))))
    }
}

/// Waits for an answer until nobody wants it any more, the View is gone, or it took too long.
async fn wait(
    answer: oneshot::Receiver<ViewReply>,
    cancel: &CancellationToken,
    patience: Duration,
) -> Result<ViewReply, Unanswered> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Unanswered::Stopped),
        reply = answer => reply.map_err(|_| Unanswered::Gone),
        () = tokio::time::sleep(patience) => Err(Unanswered::Late),
    }
}

/// Whether arguments may be sent to a View: unlike a server it is trusted with nothing that could not be checked.
///
/// # Errors
/// Where they do not fit, and what is wrong there.
pub(in crate::conversation) fn judge(tool: &Tool, arguments: &RawJson) -> Result<(), Vec<String>> {
    if !arguments.is_object() {
        return Err(vec!["/: they are not an object".to_owned()]);
    }
    match Compiled::new(&tool.input_schema).check(arguments) {
        Verdict::Fits => Ok(()),
        Verdict::NotChecked(why) => Err(vec![format!("/: {why}")]),
        Verdict::Violates { problems, .. } => Err(in_lines(&problems)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_view_is_waited_for_until_it_answers_is_gone_is_late_or_nobody_wants_it() {
        let (cancel, long) = (CancellationToken::new(), Duration::from_secs(600));
        let answered = ViewReply::Result(json!({}).into());
        let (sender, answer) = oneshot::channel();
        sender.send(answered.clone()).unwrap();
        assert_eq!(wait(answer, &cancel, long).await, Ok(answered.clone()));
        let (sender, answer) = oneshot::channel();
        drop(sender);
        assert_eq!(wait(answer, &cancel, long).await, Err(Unanswered::Gone));
        let (_open, answer) = oneshot::channel();
        assert_eq!(wait(answer, &cancel, Duration::ZERO).await, Err(Unanswered::Late));
        cancel.cancel();
        let (sender, answer) = oneshot::channel();
        sender.send(answered).unwrap();
        assert_eq!(wait(answer, &cancel, long).await, Err(Unanswered::Stopped), "a late answer is none");
    }

    #[test]
    fn arguments_that_could_not_be_checked_are_not_sent() {
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        let list = json!({"tools": [{"name": "t", "inputSchema": schema}]}).to_string();
        let tool = OwnTools::read(&list).tools.remove(0);
        let said = |it: &str| judge(&tool, &RawJson::parse(it).unwrap());
        assert_eq!(said(r#"{"n":1}"#), Ok(()));
        assert_eq!(said("[]"), Err(vec!["/: they are not an object".to_owned()]));
        assert_eq!(said("{}").unwrap_err().len(), 1);
        assert!(said(r#"{"n":"1"}"#).unwrap_err()[0].starts_with("/n: "));
        let deep = format!(r#"{{"n":1,"x":{}{}}}"#, "[".repeat(500), "]".repeat(500));
        assert!(said(&deep).is_err(), "too deep to be walked");
    }
}
