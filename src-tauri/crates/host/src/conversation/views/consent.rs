//! What Views ask of the user: one question at a time, the Views in turn, shown as any other, and waited for here (X5).
//!
//! A View that gives up or goes takes its question back. Deliberately absent: the rules of asking, which are [`Desk`]'s, and what a yes
//! lets through.

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::super::{Asked, CallRecord, Host, ViewAsker, lock, questions::Asker};
use crate::{
    app_view::consent::{Admission, Desk, Kind, Standing, Ticket},
    connection::Elicited,
};

/// The line in which the questions of Views stand, and who hears that it moved.
#[derive(Default)]
pub(super) struct Line {
    pub(super) desk: Desk,
    moved: watch::Sender<()>,
}

impl Line {
    pub(super) fn close(&mut self, view_id: &str) {
        self.desk.close(view_id);
        self.moved.send_replace(());
    }
}

/// A question in the line; it leaves the line with whoever waits for it.
struct Place {
    host: Host,
    ticket: Ticket,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut views = lock(&self.host.0.views);
        views.consent.desk.withdraw(self.ticket, self.host.clock_ms());
        views.consent.moved.send_replace(());
    }
}

impl Host {
    /// Whether the user lets a View do something. `asked` says it with all that the user must know; what is done after a yes is exactly
    /// that. A View that does not wait any more has a no.
    pub(in crate::conversation) async fn consents(
        &self,
        (view_id, call): (&str, &CallRecord),
        kind: Kind,
        asked: impl FnOnce(ViewAsker) -> Asked,
        end: &CancellationToken,
    ) -> bool {
        let (ticket, mut moved) = {
            let mut views = lock(&self.0.views);
            let now = self.clock_ms();
            match views.consent.desk.ask(view_id, kind, now) {
                Admission::Answered(answer) => return answer && !end.is_cancelled(),
                Admission::InLine(ticket) => (ticket, views.consent.moved.subscribe()),
            }
        };
        let place = Place { host: self.clone(), ticket };
        let asker = Asker { id: call.server_id.clone(), name: call.server_name.clone() };
        let asked = asked(ViewAsker { view_id: view_id.to_owned(), tool: call.tool.clone() });
        let asking = async {
            loop {
                let standing = lock(&self.0.views).consent.desk.standing(ticket);
                match standing {
                    Standing::Answered(answer) => return answer,
                    Standing::Shown => break,
                    // The line cannot go before the host does.
                    Standing::Waits => _ = moved.changed().await,
                }
            }
            let is_yes = matches!(self.ask_person(&asker, asked).await, Elicited::Accept { .. });
            let mut views = lock(&self.0.views);
            let now = self.clock_ms();
            views.consent.desk.answer(ticket, is_yes, now);
            views.consent.moved.send_replace(());
            is_yes
        };
        let answer = tokio::select! {
            biased;
            () = end.cancelled() => false,
            answer = asking => answer,
        };
        drop(place);
        answer
    }

    /// The user lets a View speak without being asked again, until it is closed.
    pub(in crate::conversation) fn allow_messages_of(&self, view_id: &str) {
        lock(&self.0.views).consent.desk.allow_messages(view_id);
    }

    /// The user looks at a conversation; what its Views ask is shown before what others ask.
    pub fn look_at_conversation(&self, conversation_id: &str) {
        lock(&self.0.views).consent.desk.look_at(conversation_id);
    }

    pub(super) fn clock_ms(&self) -> u64 {
        u64::try_from(self.now_ms()).unwrap_or_default()
    }
}
