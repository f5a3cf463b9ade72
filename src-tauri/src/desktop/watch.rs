//! Watches the page while Views run in it. On WebKitGTK all Views and the page share one web process: a View that loops or allocates
//! without end takes the page with it, and its stop button too. Then the process is ended and the page loaded again; the conversation
//! is the host's, and the Views wait for the user.
//!
//! The page answers a question by the main thread of its process, and no timer of it, so a hidden window answers as well. A silence is
//! counted in turns of this watch, each of which waits for the window's own thread, so neither a computer that slept nor one that is
//! slow as a whole counts; and only a process that used the processor meanwhile is ended, so a page under a debugger, or one that shows
//! a dialog, is left alone. Deliberately absent: other systems. WebView2 gives each View a process of its own, and WKWebView has no
//! call that ends one.

use std::{
    fs,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use tauri::WebviewWindow;
use tokio::{sync::oneshot, time::MissedTickBehavior};
use webkit2gtk::WebViewExt as _;

use super::schemes::PAGE_ORIGIN;
use crate::api::{PageLoss, WindowHost};

/// How often the page is asked.
const TURN: Duration = Duration::from_millis(500);

/// How many turns the page may owe an answer: ten seconds.
const MOST_SILENT_TURNS: u32 = 20;

/// How long the silent process must have used the processor meanwhile, in milliseconds.
const LEAST_BUSY_MS: u64 = 6_000;

/// How much memory of its own the page's process may have while Views run, in bytes; less where the computer has less than twice that.
const MOST_MEMORY: u64 = 2 << 30;

/// How soon after one loss the next is waited with, so that a page that ends at once does not come up without a pause.
const PAUSE: Duration = Duration::from_secs(5);

/// The name of the page's process, as the kernel cuts it.
const PROCESS_NAME: &str = "WebKitWebProces";

/// Begins to watch.
///
/// # Errors
/// The window is gone.
pub(super) fn begin<H: WindowHost>(window: &WebviewWindow, host: &Arc<H>) -> tauri::Result<()> {
    let loss = Arc::new(Mutex::new(None));
    window.with_webview({
        let (host, loss, window) = (Arc::clone(host), Arc::clone(&loss), window.clone());
        let last: Mutex<Option<Instant>> = Mutex::new(None);
        move |webview| {
            webview.inner().connect_web_process_terminated(move |_, reason| {
                let known = loss.lock().unwrap_or_else(PoisonError::into_inner).take();
                tracing::warn!(?reason, "the page's process ended");
                host.page_lost(known.unwrap_or(PageLoss::Ended));
                let before = last.lock().unwrap_or_else(PoisonError::into_inner).replace(Instant::now());
                let is_often = before.is_some_and(|it| it.elapsed() < PAUSE);
                tauri::async_runtime::spawn(load_again(window.clone(), is_often));
            });
        }
    })?;
    tauri::async_runtime::spawn(watch(window.clone(), Arc::clone(host), loss));
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

/// Asks the page again and again while Views run in it.
async fn watch<H: WindowHost>(window: WebviewWindow, host: Arc<H>, loss: Arc<Mutex<Option<PageLoss>>>) {
    let mut asked = 0;
    let answered = Arc::new(AtomicU64::new(0));
    let mut silence = Silence::default();
    let mut process = Process::default();
    let most_memory = MOST_MEMORY.min(memory_of_computer().unwrap_or(u64::MAX) / 2);
    let end = |why: PageLoss| {
        *loss.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
        window.with_webview(|it| it.inner().terminate_web_process())
    };
    let mut turns = tokio::time::interval(TURN);
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        turns.tick().await;
        if host.open_views() == 0 {
            (asked, silence) = (answered.load(Ordering::Acquire), Silence::default());
            continue;
        }
        process.find();
        let too_much = process.memory().filter(|it| *it > most_memory);
        let done = if let Some(bytes) = too_much {
            end(PageLoss::Memory { bytes })
        } else if !is_reached(&window).await {
            return;
        } else if answered.load(Ordering::Acquire) >= asked {
            silence = Silence::default();
            asked += 1;
            let (answered, question) = (Arc::clone(&answered), asked);
            window.eval_with_callback("0", move |_| {
                answered.fetch_max(question, Ordering::AcqRel);
            })
        } else if silence.is_too_long(process.busy_ms()) {
            end(PageLoss::Silent)
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

/// How long the page has owed an answer.
#[derive(Debug, Default)]
struct Silence {
    turns: u32,
    busy_before_ms: Option<u64>,
}

impl Silence {
    /// Counts a turn without an answer. `busy_ms` is what the page's process has used of the processor, if it can be known.
    fn is_too_long(&mut self, busy_ms: Option<u64>) -> bool {
        self.turns += 1;
        let before = *self.busy_before_ms.get_or_insert(busy_ms.unwrap_or_default());
        self.turns >= MOST_SILENT_TURNS && busy_ms.is_none_or(|it| it.saturating_sub(before) >= LEAST_BUSY_MS)
    }
}

/// The page's process, as the kernel shows it. It is another one after each loss.
#[derive(Debug, Default)]
struct Process {
    id: Option<u32>,
}

impl Process {
    /// Looks for it unless it is known and there.
    fn find(&mut self) {
        let own = std::process::id();
        let is_it = |id: u32| stat(id).is_some_and(|it| it.name == PROCESS_NAME && it.parent == own);
        if self.id.is_some_and(is_it) {
            return;
        }
        let all = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = all.filter_map(|it| it.file_name().to_str()?.parse().ok());
        self.id = ids.filter(|id| is_it(*id)).max();
    }

    /// What it has used of the processor, in milliseconds.
    fn busy_ms(&self) -> Option<u64> {
        stat(self.id?).map(|it| it.busy_ms)
    }

    /// What it holds of memory that is its own, in bytes, and what was moved out of it to the disk.
    fn memory(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id?)).ok()?;
        Some(kilobytes(&status, "RssAnon:")? + kilobytes(&status, "VmSwap:").unwrap_or_default())
    }
}

fn memory_of_computer() -> Option<u64> {
    kilobytes(&fs::read_to_string("/proc/meminfo").ok()?, "MemTotal:")
}

/// A line such as `VmSwap:  12 kB`, in bytes.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|it| it.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1_024)
}

/// What is read of a process in one line.
struct Stat {
    name: String,
    parent: u32,
    busy_ms: u64,
}

fn stat(id: u32) -> Option<Stat> {
    read_stat(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
}

/// Reads `/proc/<id>/stat` (proc(5)): the name stands in parentheses and may hold any character. Times are in hundredths of a second.
fn read_stat(text: &str) -> Option<Stat> {
    let (head, tail) = text.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = tail.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Stat {
        name,
        parent: fields.get(1)?.parse().ok()?,
        busy_ms: number(11)?.saturating_add(number(12)?).saturating_mul(10),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_long_silence_of_a_busy_process_is_too_long() {
        // It loops: all of its time is the processor's.
        let mut looping = Silence::default();
        let ended = (1_u32..).find(|turn| looping.is_too_long(Some(90_000 + u64::from(*turn) * 500)));
        assert_eq!(ended, Some(MOST_SILENT_TURNS));
        // It stands in a debugger, or shows a dialog.
        let mut standing = Silence::default();
        assert!((0..1_000).all(|_| !standing.is_too_long(Some(90_000))));
        // The computer is slow as a whole: it gets a tenth of the processor, and a task of five seconds takes fifty.
        let mut slow = Silence::default();
        assert!((0..100).all(|turn| !slow.is_too_long(Some(turn * 50))));
        // Where nothing is known of the process, the silence alone counts.
        let mut unknown = Silence::default();
        assert_eq!((1..).find(|_| unknown.is_too_long(None)), Some(MOST_SILENT_TURNS));
    }

    #[test]
    fn a_process_is_read_as_the_kernel_writes_it() {
        let line = "25144 (a (b) c) S 25065 1 1 0 -1 4194560 9 0 0 0 250 50 7 7 20 0 30 0 609443";
        let stat = read_stat(line).unwrap();
        assert_eq!((stat.name.as_str(), stat.parent, stat.busy_ms), ("a (b) c", 25_065, 3_000));
        assert!(read_stat("25144 (a").is_none() && read_stat("1 (a) S 1").is_none());
        assert_eq!(kilobytes("VmPeak:\t 5 kB\nRssAnon:\t  12 kB\n", "RssAnon:"), Some(12_288));
        assert_eq!(kilobytes("RssAnon:\t12 pages", "RssAnon:"), None);
        // This process is one, and holds something.
        let own = Process { id: Some(std::process::id()) };
        assert!(own.busy_ms().is_some() && own.memory().is_some_and(|it| it > 0));
    }
}
