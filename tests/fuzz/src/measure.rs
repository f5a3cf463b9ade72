//! What a case was, and what it cost. Memory and time are those of the whole process.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// The largest of everything that was tried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extent {
    /// How deep brackets were nested.
    pub depth: usize,
    /// How long a line was, in bytes.
    pub line: usize,
    /// How many digits a number had.
    pub digits: usize,
    /// How many bytes the case had.
    pub bytes: usize,
}

impl Extent {
    /// That of a case.
    pub fn of(bytes: &[u8]) -> Self {
        let (mut depth, mut deepest, mut digits, mut most) = (0_usize, 0, 0_usize, 0);
        let mut in_string = false;
        let mut escaped = false;
        for &byte in bytes {
            if byte.is_ascii_digit() && !in_string {
                digits += 1;
                most = most.max(digits);
            } else if byte != b'.' {
                digits = 0;
            }
            match byte {
                _ if escaped => escaped = false,
                b'\\' if in_string => escaped = true,
                b'"' => in_string = !in_string,
                b'[' | b'{' if !in_string => {
                    depth += 1;
                    deepest = deepest.max(depth);
                }
                b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
                b'\n' => (depth, in_string) = (0, false),
                _ => {}
            }
        }
        let line = bytes.split(|it| *it == b'\n').map(<[u8]>::len).max().unwrap_or(0);
        Self { depth: deepest, line, digits: most, bytes: bytes.len() }
    }

    /// The larger of each.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            depth: self.depth.max(other.depth),
            line: self.line.max(other.line),
            digits: self.digits.max(other.digits),
            bytes: self.bytes.max(other.bytes),
        }
    }
}

/// How long this process has worked on a processor.
pub fn worked() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// Begins to watch for a new peak of memory.
pub fn forget_peak() {
    // Linux only; elsewhere the peak of the whole run is what is known.
    drop(std::fs::write("/proc/self/clear_refs", "5"));
}

/// The most memory that this process held since the peak was forgotten, in bytes.
pub fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").trim().parse::<usize>().unwrap_or(0) * 1024
}
