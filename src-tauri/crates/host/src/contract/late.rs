//! What comes after a call was cancelled (W5).
//!
//! An answer that crosses the cancellation on its way is nobody's defect, so only a call that is slow enough to be surely under way shows
//! it, and it is asked for as advice: the specification lets a server finish what it cannot stop. Deliberately absent: HTTP, where a
//! call is cancelled by closing its stream and nothing can come on it.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use usher_engine::contract::{Case, Check, Level, Wire};
use usher_protocol::{RawJson, codec::CallRequest, model::Tool};

use super::run::Run;
use crate::connection::{CallOptions, ServerSpec};

/// The shortest call that is surely under way when it is cancelled.
const SLOW: Duration = Duration::from_millis(300);

/// The longest call that is worth another.
const TOO_SLOW: Duration = Duration::from_secs(10);

/// How often it is looked whether an answer came.
const LOOK: Duration = Duration::from_millis(20);

impl Run<'_> {
    /// Makes a call again that took its time, cancels it early, and waits until its answer would have come. Once for each server.
    pub(super) async fn cancel_one(&mut self, tool: &Tool, arguments: &RawJson, took: Duration) {
        let ServerSpec::Stdio(_) = self.spec else { return };
        if self.is_cancel_tried || took < SLOW || took > TOO_SLOW || self.options.stop.is_cancelled() {
            return;
        }
        self.is_cancel_tried = true;
        self.calls += 1;
        let w5 = Check::Wire(Wire::W5);
        let before = self.connection.oddities().unasked;
        let request = CallRequest { name: tool.name.clone(), arguments: arguments.clone(), requested: None };
        let cancel = self.options.stop.child_token();
        let options =
            CallOptions { progress: None, cancel: cancel.clone(), timeout: Some(self.options.timeout) };
        let connection = self.connection.clone();
        let start = Instant::now();
        let early = async {
            sleep(took / 4).await;
            cancel.cancel();
        };
        let (answer, ()) = tokio::join!(connection.call(&request, options), early);
        if answer.is_ok() {
            // This time it was fast; nothing was cancelled.
            return;
        }
        self.whole.look(w5);
        let until = start + took * 2 + SLOW;
        let came = async {
            while self.connection.oddities().unasked == before {
                sleep(LOOK).await;
            }
        };
        if timeout(until.saturating_duration_since(Instant::now()), came).await.is_ok() {
            let text = format!(
                "{}: an answer came for a call that was cancelled after a quarter of its time",
                tool.name
            );
            self.late += 1;
            self.whole.find(w5, Level::Advice, Case::Process, None, text);
        }
    }
}
