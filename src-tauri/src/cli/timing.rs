//! `usher call --repeat N --timing`: what a call costs, from the request to its routed and validated deliveries.
//!
//! Every call is a whole one: it is recorded, shown and kept like any other. Its time ends where its deliveries are routed and
//! validated, so that it can be compared with clients that keep nothing.

use std::time::{Duration, Instant};

use serde::Serialize;
use usher_host::conversation::CallEnd;
use usher_protocol::Revision;

/// What some calls of a tool over one connection cost.
#[derive(Debug, Serialize)]
pub(super) struct Timing {
    /// How many calls were timed.
    calls: usize,
    /// The median time of a call, in milliseconds.
    median_ms: f64,
    /// The time that 95 of 100 calls do not exceed, in milliseconds.
    p95_ms: f64,
    /// The size of the last result on the wire, in bytes.
    bytes: usize,
    /// The most memory that the program held at once, in MiB; `null` where the system does not say.
    peak_rss_mb: Option<f64>,
    /// The memory that it held before the first call, in MiB.
    idle_rss_mb: Option<f64>,
    /// The median time of a `ping` over the same connection, in milliseconds; `null` under revisions that have none.
    ping_ms: Option<f64>,
}

/// Collects what calls cost.
#[derive(Debug)]
pub(super) struct Stopwatch {
    idle: Option<f64>,
    calls: Vec<Duration>,
    pings: Vec<Duration>,
    bytes: usize,
}

impl Stopwatch {
    /// Notes how much memory is held before the first call.
    pub(super) fn new() -> Self {
        Self { idle: memory("VmRSS:"), calls: Vec::new(), pings: Vec::new(), bytes: 0 }
    }

    /// Takes note of a call that brought a result.
    pub(super) fn take(&mut self, end: &CallEnd) {
        self.calls.extend(end.routed_in);
        self.bytes = end.outcome.as_ref().map_or(0, |it| it.raw.bytes());
    }

    /// Takes note of a `ping` that was sent at `sent` and is answered now.
    pub(super) fn take_ping(&mut self, sent: Instant) {
        self.pings.push(sent.elapsed());
    }

    /// The figures. `None` if no call brought a result.
    pub(super) fn read(mut self) -> Option<Timing> {
        Some(Timing {
            calls: self.calls.len(),
            median_ms: rounded(quantile(&mut self.calls, 50)?),
            p95_ms: rounded(quantile(&mut self.calls, 95)?),
            bytes: self.bytes,
            peak_rss_mb: memory("VmHWM:").map(rounded),
            idle_rss_mb: self.idle.map(rounded),
            ping_ms: quantile(&mut self.pings, 50).map(rounded),
        })
    }
}

impl Timing {
    /// The figures for people.
    pub(super) fn text(&self) -> String {
        let memory = |value: Option<f64>| {
            value.map_or_else(|| "not known on this system".to_owned(), |it| format!("{it:.1} MiB"))
        };
        let ping = self.ping_ms.map_or_else(
            || {
                let last = Revision::NEWEST_WITH_HANDSHAKE;
                format!("not timed; it is sent between calls (--repeat), and later revisions than {last} have none")
            },
            |it| format!("{it:.3} ms"),
        );
        format!(
            "{} calls: median {:.3} ms, 95 % within {:.3} ms, {} bytes a result\nmemory: at most {}, before the first call {}\nping: {}\n",
            self.calls,
            self.median_ms,
            self.p95_ms,
            self.bytes,
            memory(self.peak_rss_mb),
            memory(self.idle_rss_mb),
            ping,
        )
    }
}

/// The smallest time that `percent` of the times do not exceed, in milliseconds.
fn quantile(times: &mut [Duration], percent: usize) -> Option<f64> {
    times.sort();
    let place = (times.len() * percent).div_ceil(100).max(1) - 1;
    times.get(place).map(|it| it.as_secs_f64() * 1_000.0)
}

/// Without the digits that only binary fractions have: a clock that counts nanoseconds has no more than these.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// A line of the kernel's account of this process, in MiB.
#[cfg(target_os = "linux")]
fn memory(line: &str) -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kib = status.lines().find_map(|it| it.strip_prefix(line))?;
    let kib: f64 = kib.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib / 1_024.0)
}

#[cfg(not(target_os = "linux"))]
fn memory(_line: &str) -> Option<f64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_digits_of_the_clock() {
        let mut watch = Stopwatch { idle: None, calls: vec![], pings: vec![], bytes: 3 };
        watch.calls.push(Duration::from_nanos(14_417_336));
        watch.calls.push(Duration::from_nanos(14_417_336));
        let timing = watch.read().unwrap();
        let json = serde_json::to_value(&timing).unwrap();
        assert_eq!(
            (json["median_ms"].to_string(), json["ping_ms"].to_string()),
            ("14.417336".into(), "null".into())
        );
        assert!(timing.text().contains("ping: not timed; it is sent between calls"), "{}", timing.text());
        assert_eq!(rounded(14.417335999999999).to_string(), "14.417336");
    }

    #[test]
    fn a_quantile_is_one_of_the_times() {
        let times = |all: &[u64]| all.iter().map(|it| Duration::from_millis(*it)).collect::<Vec<_>>();
        assert_eq!(quantile(&mut times(&[5, 1, 3]), 50), Some(3.0));
        assert_eq!(quantile(&mut times(&[4, 1, 3, 2]), 50), Some(2.0));
        assert_eq!(quantile(&mut times(&[7]), 95), Some(7.0));
        assert_eq!(quantile(&mut (1..=100).map(Duration::from_millis).collect::<Vec<_>>(), 95), Some(95.0));
        assert_eq!(quantile(&mut [], 50), None);
    }
}
