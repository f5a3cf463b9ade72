//! Tells the system's allocator to give large pieces of memory back at once.
//!
//! The allocator of glibc learns: once a piece of some megabytes was freed, it keeps the next ones for later. A host that reads a
//! result of ten megabytes now and then would hold several of them for as long as it runs. Deliberately absent: another allocator, and
//! other systems, whose own give such pieces back.

/// From this size on, in bytes, a piece has pages of its own, which the system has back when it is freed.
pub const LARGE: usize = 1 << 20;

/// How much of what smaller pieces leave free at the heap's end is kept for the next, in bytes. With the first setting the second no
/// longer follows by itself, and its default gives back and takes again at every result of a hundred kilobytes.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const SPARE: usize = 4 << 20;

/// Gives pieces from [`LARGE`] on back at once, for as long as the process runs. Answers whether the system took that.
pub fn give_large_pieces_back() -> bool {
    by_threshold()
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the setting is a function of the C library, which no crate wraps")]
fn by_threshold() -> bool {
    let (Ok(large), Ok(spare)) = (libc::c_int::try_from(LARGE), libc::c_int::try_from(SPARE)) else {
        return false;
    };
    // SAFETY: `mallopt` takes two numbers, may be called at any time and from any thread, and refuses what it does not know.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, large) == 1 && libc::mallopt(libc::M_TRIM_THRESHOLD, spare) == 1
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn by_threshold() -> bool {
    false
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;

    /// What the process holds, in bytes.
    fn held() -> usize {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|it| it.strip_prefix("VmRSS:")).unwrap_or_default();
        line.trim().trim_end_matches("kB").trim().parse::<usize>().unwrap_or(0) * 1_024
    }

    #[test]
    fn what_was_freed_is_the_systems_again() {
        assert!(give_large_pieces_back());
        let before = held();
        assert!(before > 0);
        // The first teaches an allocator that learns; a small piece behind each would keep the heap from shrinking.
        let mut small = Vec::new();
        for _ in 0..4 {
            let large: Vec<Vec<u8>> = (0..4).map(|_| vec![1; 8 * LARGE]).collect();
            small.push(vec![1_u8; 4_096]);
            assert!(held() > before + 31 * LARGE, "it is not held at all");
            drop(large);
            small.push(vec![1_u8; 4_096]);
        }
        assert!(held() < before + 8 * LARGE, "{} MiB are kept", (held() - before) / LARGE);
    }
}
