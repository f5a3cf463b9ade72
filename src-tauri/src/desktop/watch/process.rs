//! The processes in which the window's pages run, as the kernel shows them.
//!
//! WebKitGTK does not say which process a page has. There is one while one page is open; another may be there for a while, one that is
//! ending or one that waits for its first page. Such a one neither works nor grows, so of several the page's own is the one that worked
//! most, and the one that is largest. Deliberately absent: what follows from it.

use std::{collections::BTreeMap, fs};

/// The name of such a process, as the kernel cuts it.
const NAME: &str = "WebKitWebProces";

/// How often the list of all processes is read, in turns.
const TURNS_OF_LIST: u32 = 10;

/// The page's process, or those of which one is.
#[derive(Debug, Default)]
pub(super) struct Pages {
    /// What each had used of the processor when it was looked at last, in milliseconds.
    busy_ms: BTreeMap<u32, u64>,
    turn: u32,
}

/// What the page's process used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Use {
    /// Of the processor since it was looked at last, in milliseconds.
    pub busy_ms: Option<u64>,
    /// Of memory that is its own, and what was moved out of it to the disk, in bytes.
    pub memory: Option<u64>,
}

impl Pages {
    /// Looks at them.
    pub(super) fn look(&mut self) -> Use {
        let own = std::process::id();
        let is_page = |it: &Stat| it.name == NAME && it.parent == own && it.runs;
        if self.turn.is_multiple_of(TURNS_OF_LIST) || self.busy_ms.is_empty() {
            let all = fs::read_dir("/proc").into_iter().flatten().flatten();
            for id in all.filter_map(|it| it.file_name().to_str()?.parse().ok()) {
                if let Some(stat) = stat(id).filter(is_page) {
                    self.busy_ms.entry(id).or_insert(stat.busy_ms);
                }
            }
        }
        self.turn = self.turn.wrapping_add(1);
        let found = self.busy_ms.keys().filter_map(|id| Some((*id, stat(*id).filter(is_page)?.busy_ms)));
        let used = self.note(found.collect());
        Use { busy_ms: used, memory: self.busy_ms.keys().filter_map(|id| memory(*id)).max() }
    }

    /// What the one that worked most has used since the last time. Those that are gone are forgotten.
    fn note(&mut self, now: BTreeMap<u32, u64>) -> Option<u64> {
        let used = now.iter().map(|(id, ms)| ms.saturating_sub(self.busy_ms.get(id).copied().unwrap_or(*ms)));
        let most = used.max();
        self.busy_ms = now;
        most
    }
}

/// What a process holds of memory, in bytes.
fn memory(id: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    Some(kilobytes(&status, "RssAnon:")? + kilobytes(&status, "VmSwap:").unwrap_or_default())
}

/// The memory of the computer, in bytes.
pub(super) fn memory_of_computer() -> Option<u64> {
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
    /// It is neither dead nor about to be.
    runs: bool,
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
        runs: !fields.first()?.starts_with(['Z', 'X', 'x']),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_as_the_kernel_writes_it() {
        let line = "25144 (a (b) c) S 25065 1 1 0 -1 4194560 9 0 0 0 250 50 7 7 20 0 30 0 609443";
        let stat = read_stat(line).unwrap();
        assert_eq!((stat.name.as_str(), stat.parent, stat.busy_ms), ("a (b) c", 25_065, 3_000));
        assert!(stat.runs && !read_stat(&line.replace(") S", ") Z")).unwrap().runs);
        assert!(read_stat("25144 (a").is_none() && read_stat("1 (a) S 1").is_none());
        assert_eq!(kilobytes("VmPeak:\t 5 kB\nRssAnon:\t  12 kB\n", "RssAnon:"), Some(12_288));
        assert_eq!(kilobytes("RssAnon:\t12 pages", "RssAnon:"), None);
        // This process is one, and holds something. It has no page.
        assert!(
            super::stat(std::process::id()).is_some() && memory(std::process::id()).is_some_and(|it| it > 0)
        );
        assert_eq!(Pages::default().look(), Use { busy_ms: None, memory: None });
    }

    #[test]
    fn of_several_processes_the_one_that_works_is_the_pages() {
        let mut pages = Pages::default();
        let at = |all: &[(u32, u64)]| all.iter().copied().collect::<BTreeMap<_, _>>();
        // One that was there before anybody looked has used nothing since.
        assert_eq!(pages.note(at(&[(7, 90_000)])), Some(0));
        assert_eq!(pages.note(at(&[(7, 90_500), (9, 40)])), Some(500));
        // The newest waits for a page and does nothing; the page's own goes on.
        assert_eq!(pages.note(at(&[(7, 91_000), (9, 40)])), Some(500));
        // The page's own is gone, and nothing of it counts for the next.
        assert_eq!(pages.note(at(&[(9, 60)])), Some(20));
        assert_eq!(pages.note(at(&[])), None);
    }
}
