//! Views that were ended from outside: by the user, because something that they had was taken back, or with their page. They wait for
//! the user then, and their places say why.
//!
//! All Views share the page's one web process on some systems, so one that loops or allocates without end takes the page with it. Who
//! it was cannot be known when several ran. Deliberately absent: finding out that the page is lost; the desktop does.

use super::super::{Host, HostEvent, Notice, NoticeLevel, lock};
use crate::app_view::registry::LiveView;

/// The notice of a page that was lost; the next one replaces it.
const NOTICE: &str = "page-lost";

/// How many Views are named in the notice.
const MOST_NAMED: usize = 5;

/// How the window's page was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageLoss {
    /// It did not answer, and was ended.
    Silent,
    /// It took more memory than it may have, and was ended.
    Memory {
        /// How much it had, in bytes.
        bytes: u64,
    },
    /// Its process ended by itself.
    Ended,
}

impl PageLoss {
    fn words(self) -> String {
        match self {
            Self::Silent => "The window's page stopped answering".to_owned(),
            Self::Memory { bytes } => format!("The window's page took {} MB of memory", bytes / 1_000_000),
            Self::Ended => "The process of the window's page ended".to_owned(),
        }
    }
}

impl Host {
    /// The page was lost with all its Views and is loaded again. They do not start by themselves then; a notice names them.
    pub fn page_lost(&self, loss: PageLoss) {
        let words = loss.words();
        let call_ids: Vec<(String, String)> = {
            let mut views = lock(&self.0.views);
            let ran: Vec<_> =
                views.registry.all().map(|it| (it.conversation_id.clone(), it.call_id.clone())).collect();
            for (_, call_id) in &ran {
                let why = format!("{words} while this View ran, and was loaded again.");
                views.stopped.insert(call_id.clone(), why);
            }
            views.close_all(|_| true);
            ran
        };
        let mut names: Vec<String> =
            call_ids.iter().filter_map(|it| self.name_of_view(&it.0, &it.1)).collect();
        names.sort();
        names.dedup();
        tracing::warn!(?loss, views = names.len(), "the page was lost");
        self.tell(HostEvent::Notice(notice(&words, &names)));
    }

    /// Ends the Views for which `why` has a reason. Nothing of them is answered from now on, and the window takes their frames away.
    pub(in crate::conversation) fn end_views(&self, why: impl Fn(&LiveView) -> Option<String>) {
        let ended: Vec<(LiveView, String)> = {
            let mut views = lock(&self.0.views);
            let ended: Vec<_> = views.registry.all().filter_map(|it| Some((it.clone(), why(it)?))).collect();
            for (view, why) in &ended {
                // What is on the bench is of no call that could be opened again.
                if !views.benches.contains_key(&view.view_id) {
                    views.stopped.insert(view.call_id.clone(), why.clone());
                }
                views.close(&view.view_id);
            }
            ended
        };
        for (LiveView { view_id, conversation_id, call_id, .. }, why) in ended {
            self.tell(HostEvent::ViewEnded { view_id, why });
            if let Some(live) = self.live_map().get(&conversation_id).cloned() {
                self.show_kept(&live, &call_id);
            }
        }
    }

    /// The user ends a View that asks for something.
    pub(in crate::conversation) fn stop_asking_view(&self, view_id: &str) {
        let why = |it: &LiveView| {
            (it.view_id == view_id)
                .then(|| "You stopped this View when it asked you for something.".to_owned())
        };
        self.end_views(why);
    }

    /// Why the View of a call was ended, if it was and nobody started it again.
    pub fn view_stopped(&self, call_id: &str) -> Option<String> {
        lock(&self.0.views).stopped.get(call_id).cloned()
    }

    fn name_of_view(&self, conversation_id: &str, call_id: &str) -> Option<String> {
        let live = self.live_map().get(conversation_id).cloned()?;
        live.with(|it| {
            it.calls
                .get(call_id)
                .map(|call| format!("{} of {}, call {}", call.tool, call.server_name, call.number))
        })
    }
}

fn notice(words: &str, names: &[String]) -> Notice {
    let (ran, todo) = match names {
        [] => (String::new(), "If it happens again, please report it.".to_owned()),
        [one] => (
            format!(" The View {one} ran in it."),
            "It waits until you start it again. If the window stops once more, that View is at fault."
                .to_owned(),
        ),
        [..] => {
            let more = match names.len().saturating_sub(MOST_NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let named = names.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join("; ");
            (
                format!(
                    " These Views ran in it, and which of them was at fault is not known: {named}{more}."
                ),
                "They wait until you start them. Start one after the other to find the one at fault."
                    .to_owned(),
            )
        }
    };
    Notice {
        id: NOTICE.to_owned(),
        level: NoticeLevel::Warning,
        what: format!("{words} and was loaded again.{ran}"),
        safe: "Your conversations are as they were, and so is what stands in the composer.".to_owned(),
        todo,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notice_names_the_views_that_ran() {
        let names: Vec<String> = (1..=7).map(|it| format!("map of Maps, call {it}")).collect();
        let what = |names: &[String]| notice(&PageLoss::Memory { bytes: 2_500_000_000 }.words(), names).what;
        assert_eq!(what(&[]), "The window's page took 2500 MB of memory and was loaded again.");
        assert!(
            what(&names[..1]).ends_with("The View map of Maps, call 1 ran in it."),
            "{}",
            what(&names[..1])
        );
        assert!(what(&names).ends_with("map of Maps, call 5 and 2 more."), "{}", what(&names));
    }
}
