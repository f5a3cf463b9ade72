//! Watches the page while Views run in it. On WebKitGTK all Views and the page share one web process: a View that loops or allocates
//! without end takes the page with it, and its stop button too. Then the process is ended and the page loaded again; the conversation
//! is the host's, and the Views wait for the user.
//!
//! The page answers a question by the main thread of its process, and no timer of it, so a hidden window answers as well. A silence is
//! counted in turns of this watch, each of which waits for the window's own thread, so neither a computer that slept nor one that is
//! slow as a whole counts; and only a process that used the processor meanwhile is ended, so a page under a debugger, or one that shows
//! a dialog, is left alone. An answer now and then ends no silence (`silence`), and the last View may have left something behind, so the
//! page is asked once more after it went. Deliberately absent: other systems. WebView2 gives each View a process of its own, and
//! WKWebView has no call that ends one.

mod process;
mod silence;

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tauri::WebviewWindow;
use tokio::{sync::oneshot, time::MissedTickBehavior};
use webkit2gtk::{WebProcessTerminationReason, WebViewExt as _};

use self::{
    process::{Pages, memory_of_computer},
    silence::{Questions, Silence, TURN_MS, Turn},
};
use super::schemes::PAGE_ORIGIN;
use crate::api::{PageLoss, WindowHost};

/// How often the page is asked.
const TURN: Duration = Duration::from_millis(TURN_MS);

/// How much memory of its own the page's process may have while Views run, in bytes; less where the computer has less than twice that.
const MOST_MEMORY: u64 = 2 << 30;

/// How soon after one loss the next is waited with, so that a page that ends at once does not come up without a pause.
const PAUSE: Duration = Duration::from_secs(5);

/// What is known of how the page's processes end.
#[derive(Debug, Default)]
struct Losses {
    /// Why the next one ends, while it is being ended.
    why: Mutex<Option<PageLoss>>,
    count: AtomicU64,
}

impl Losses {
    fn set(&self, why: Option<PageLoss>) {
        *self.why.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    /// A process ended. A reason that was kept is that of an end by the watch, and of no other.
    fn next(&self, by_watch: bool) -> PageLoss {
        self.count.fetch_add(1, Ordering::AcqRel);
        let why = self.why.lock().unwrap_or_else(PoisonError::into_inner).take();
        why.filter(|_| by_watch).unwrap_or(PageLoss::Ended)
    }
}

/// Begins to watch.
///
/// # Errors
/// The window is gone.
pub(super) fn begin<H: WindowHost>(window: &WebviewWindow, host: &Arc<H>) -> tauri::Result<()> {
    let losses = Arc::new(Losses::default());
    window.with_webview({
        let (host, losses, window) = (Arc::clone(host), Arc::clone(&losses), window.clone());
        let last: Mutex<Option<Instant>> = Mutex::new(None);
        move |webview| {
            webview.inner().connect_web_process_terminated(move |_, reason| {
                tracing::warn!(?reason, "the page's process ended");
                host.page_lost(losses.next(reason == WebProcessTerminationReason::TerminatedByApi));
                let before = last.lock().unwrap_or_else(PoisonError::into_inner).replace(Instant::now());
                let is_often = before.is_some_and(|it| it.elapsed() < PAUSE);
                tauri::async_runtime::spawn(load_again(window.clone(), is_often));
            });
        }
    })?;
    tauri::async_runtime::spawn(watch(window.clone(), Arc::clone(host), losses));
    Ok(())
}

async fn load_again(window: WebviewWindow, after_a_pause: bool) {
    if after_a_pause {
        tokio::time::sleep(PAUSE).await;
    }
    if let Err(error) = window.with_webview(|it| it.inner().load_uri(&format!("{PAGE_ORIGIN}/"))) {
        tracing::warn!(%error, "the page could not be loaded again");
    }
}

/// Asks the page again and again while Views run in it, and once more after the last.
async fn watch<H: WindowHost>(window: WebviewWindow, host: Arc<H>, losses: Arc<Losses>) {
    let answered = Arc::new(AtomicU64::new(0));
    let mut known_losses = 0;
    let mut questions = Questions::default();
    let mut silence = Silence::default();
    let mut pages = Pages::default();
    let most_memory = MOST_MEMORY.min(memory_of_computer().unwrap_or(u64::MAX) / 2);
    let end = |why: PageLoss| {
        losses.set(Some(why));
        let ended = window.with_webview(|it| it.inner().terminate_web_process());
        ended.inspect_err(|_| losses.set(None))
    };
    let mut turns = tokio::time::interval(TURN);
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        turns.tick().await;
        let count = losses.count.load(Ordering::Acquire);
        if count != known_losses {
            // What the page that is gone owed, nobody owes.
            answered.fetch_max(questions.forget(), Ordering::AcqRel);
            (known_losses, silence) = (count, Silence::default());
        }
        questions.note_views(host.open_views());
        let heard = answered.load(Ordering::Acquire);
        if questions.are_over(heard) {
            silence = Silence::default();
            continue;
        }
        let used = pages.look();
        let too_much = used.memory.filter(|it| *it > most_memory);
        let is_owed = questions.is_owed(heard);
        let turn = if is_owed { Turn::Silent { busy_ms: used.busy_ms } } else { Turn::Answered };
        let done = if let Some(bytes) = too_much {
            end(PageLoss::Memory { bytes })
        } else if !is_reached(&window).await {
            return;
        } else if silence.is_too_long(turn) {
            end(PageLoss::Silent)
        } else if !is_owed {
            let (answered, question) = (Arc::clone(&answered), questions.ask());
            window.eval_with_callback("0", move |_| {
                answered.fetch_max(question, Ordering::AcqRel);
            })
        } else {
            Ok(())
        };
        if let Err(error) = done {
            tracing::warn!(%error, "the page is not watched any more");
            return;
        }
    }
}

/// Waits until the window's own thread has nothing else to do; `false` when it is gone.
async fn is_reached(window: &WebviewWindow) -> bool {
    let (say, heard) = oneshot::channel();
    window.run_on_main_thread(move || _ = say.send(())).is_ok() && heard.await.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_that_of_the_end_for_which_it_was_kept() {
        let losses = Losses::default();
        losses.set(Some(PageLoss::Silent));
        assert!(matches!(losses.next(true), PageLoss::Silent));
        assert!(matches!(losses.next(true), PageLoss::Ended), "it is said once");
        // It was to be ended, and ended by itself before.
        losses.set(Some(PageLoss::Silent));
        assert!(matches!(losses.next(false), PageLoss::Ended));
        assert!(matches!(losses.next(true), PageLoss::Ended), "it was kept");
        // It could not be ended.
        losses.set(Some(PageLoss::Silent));
        losses.set(None);
        assert!(matches!(losses.next(true), PageLoss::Ended));
        assert_eq!(losses.count.load(Ordering::Acquire), 5);
    }
}
