//! Calls that a server goes on with as a task: the extension `io.modelcontextprotocol/tasks` (SEP-2663).
//!
//! A task is asked for its state until it has ended, no faster than its server wants; what it needs from the person is answered on the
//! way, and its result is the result of the call. A caller that goes away cancels it. Deliberately absent: tasks of 2025-11-25, an
//! experiment of another shape, and taking a task up again after the host was started anew.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::{sync::mpsc, time::Instant};
use tokio_util::sync::CancellationToken;
use usher_protocol::{RawJson, jsonrpc::ErrorObject};

use super::{
    CallError, Connection, Progress,
    rounds::{self, InputRequest, MAX_ROUNDS, Round},
};

/// The name of the extension.
pub(super) const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// How often a server is asked that does not say.
const USUAL_PAUSE: Duration = Duration::from_secs(1);
/// A server that wants to be asked more often is asked so often.
const LEAST_PAUSE: Duration = Duration::from_millis(50);
/// A server that wants to be asked more seldom is asked so often: the person sees that something goes on.
const MOST_PAUSE: Duration = Duration::from_secs(30);

/// A task, as `tools/call` and `tasks/get` describe it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Task {
    task_id: String,
    status: Status,
    #[serde(default)]
    status_message: Option<String>,
    #[serde(default)]
    poll_interval_ms: Option<f64>,
    #[serde(default)]
    input_requests: BTreeMap<String, InputRequest>,
    #[serde(default)]
    result: Option<RawJson>,
    #[serde(default)]
    error: Option<ErrorObject>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Working,
    InputRequired,
    Completed,
    Failed,
    Cancelled,
}

impl Status {
    fn is_end(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::Cancelled => true,
            Self::Working | Self::InputRequired => false,
        }
    }
}

impl Task {
    fn read(text: &RawJson) -> Result<Self, CallError> {
        text.to().map_err(|error| CallError::Unreadable { why: format!("it is no task: {error}") })
    }

    fn pause(&self) -> Duration {
        let wanted = self.poll_interval_ms.filter(|it| it.is_finite() && *it >= 0.0);
        let wanted =
            wanted.map_or(USUAL_PAUSE, |it| Duration::try_from_secs_f64(it / 1000.0).unwrap_or(MOST_PAUSE));
        wanted.clamp(LEAST_PAUSE, MOST_PAUSE)
    }
}

impl Connection {
    /// Whether the extension was offered under this connection's revision.
    pub(super) fn has_tasks(&self) -> bool {
        self.0.options.has_tasks(self.revision())
    }

    /// Follows a task to its end. `limit` is that of the call; a task has its own, and the lesser of what the caller wants and that holds.
    pub(super) async fn follow_task(
        &self,
        started: &RawJson,
        limit: Duration,
        progress: Option<mpsc::Sender<Progress>>,
        cancel: &CancellationToken,
    ) -> Result<RawJson, CallError> {
        let mut task = Task::read(started)?;
        // Whoever set a shorter limit than the usual one wants it for tasks, too.
        let limit = if limit < self.call_limit() { limit } else { self.0.options.task_limit };
        let deadline = Instant::now() + limit;
        let id = task.task_id.clone();
        let params: RawJson = json!({"taskId": id}).into();
        let mut open = OpenTask { connection: self, id: Some(id.clone()) };
        let mut told = Told::default();
        let mut answered = BTreeSet::new();
        let mut updates = 0;
        loop {
            told.tell(progress.as_ref(), &task);
            if task.status == Status::InputRequired
                && self.answer_task(&id, &mut task, &mut answered, deadline, cancel).await?
            {
                updates += 1;
                if updates >= MAX_ROUNDS {
                    return Err(CallError::TooManyRounds { rounds: MAX_ROUNDS });
                }
            }
            // What started it may say that it has ended already; how, only `tasks/get` says.
            if !task.status.is_end() {
                tokio::select! {
                    () = tokio::time::sleep(task.pause()) => {}
                    () = tokio::time::sleep_until(deadline) => {
                        return Err(CallError::TimedOut { seconds: limit.as_secs() });
                    }
                    () = cancel.cancelled() => return Err(CallError::Cancelled),
                    exit = self.closed() => return Err(CallError::Closed { exit }),
                }
            }
            let wait = self.0.options.request_timeout.min(deadline.saturating_duration_since(Instant::now()));
            let state = self.request("tasks/get", params.clone(), wait, None, cancel).await?;
            task = Task::read(&state)?;
            if task.task_id != id {
                return Err(CallError::Unreadable { why: "it is the state of another task".to_owned() });
            }
            if task.status.is_end() {
                open.id = None;
                return end(task);
            }
        }
    }

    /// Answers what a task asks and has not asked before; says whether there was anything.
    async fn answer_task(
        &self,
        id: &str,
        task: &mut Task,
        answered: &mut BTreeSet<String>,
        deadline: Instant,
        cancel: &CancellationToken,
    ) -> Result<bool, CallError> {
        let mut new = std::mem::take(&mut task.input_requests);
        new.retain(|key, _| !answered.contains(key));
        if new.is_empty() {
            return Ok(false);
        }
        let answers = tokio::select! {
            answers = self.answers(&new) => answers?,
            () = tokio::time::sleep_until(deadline) => {
                return Err(CallError::TimedOut { seconds: self.0.options.task_limit.as_secs() });
            }
            () = cancel.cancelled() => return Err(CallError::Cancelled),
            exit = self.closed() => return Err(CallError::Closed { exit }),
        };
        let params = Update { task_id: id, input_responses: &answers };
        let params =
            RawJson::of(&params).map_err(|error| CallError::Unwritable { why: error.to_string() })?;
        self.request("tasks/update", params, self.0.options.request_timeout, None, cancel).await?;
        answered.extend(new.into_keys());
        Ok(true)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Update<'a> {
    task_id: &'a str,
    input_responses: &'a BTreeMap<String, RawJson>,
}

/// What a task that has ended brings.
fn end(task: Task) -> Result<RawJson, CallError> {
    let missing = |what: &str| CallError::Unreadable { why: format!("the task has ended without {what}") };
    match task.status {
        Status::Completed => {
            let result = task.result.ok_or_else(|| missing("a result"))?;
            match rounds::read(&result) {
                Round::Complete => Ok(result),
                Round::InputRequired(_) | Round::Task => Err(missing("an end")),
                Round::Unknown(what) => Err(CallError::Unreadable { why: format!("it is {what}") }),
            }
        }
        Status::Failed => {
            let error = task.error.ok_or_else(|| missing("an error"))?;
            Err(CallError::Server { code: error.code, message: error.message, data: error.data })
        }
        Status::Cancelled => Err(CallError::TaskCancelled { why: task.status_message }),
        Status::Working | Status::InputRequired => Err(missing("an end")),
    }
}

/// What the caller was told of a task last.
#[derive(Default)]
struct Told(Option<(Status, Option<String>)>);

impl Told {
    fn tell(&mut self, progress: Option<&mpsc::Sender<Progress>>, task: &Task) {
        let now = (task.status, task.status_message.clone());
        if self.0.as_ref() == Some(&now) {
            return;
        }
        let word = match task.status {
            Status::Working => "The server goes on with this as a task",
            Status::InputRequired => "The task waits for your answer",
            Status::Completed | Status::Failed | Status::Cancelled => "The task has ended",
        };
        let message = match &task.status_message {
            Some(said) => format!("{word}: {said}"),
            None => word.to_owned(),
        };
        if let Some(progress) = progress {
            // A picture of now; when the reader is slow, the older ones are enough for it.
            let _full = progress.try_send(Progress { progress: 0.0, total: None, message: Some(message) });
        }
        self.0 = Some(now);
    }
}

/// A task that has not ended as far as is known. Cancelled when whoever waits for it goes away.
struct OpenTask<'a> {
    connection: &'a Connection,
    id: Option<String>,
}

impl Drop for OpenTask<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let inner = &self.connection.0;
        if inner.wire.closing().is_cancelled() {
            return;
        }
        let meta = inner.options.request_meta(self.connection.revision());
        inner.wire.request_unheard("tasks/cancel", json!({"_meta": meta, "taskId": id}).into());
    }
}
