//! How much a View may ask for at once.
//!
//! Deliberately absent: a clock. Milliseconds from any fixed start are passed in.

use usher_protocol::jsonrpc::ErrorObject;

use super::bridge::REFUSED;

/// What a request costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// It reaches the server.
    Server,
    /// It may ask the user something or change the conversation.
    Person,
    /// It is only noted.
    Note,
}

impl Lane {
    /// What a request costs, by its method alone, so that it is counted before anything of it is read. What does not exist for Views
    /// costs as much as a note.
    pub fn of(method: &str) -> Self {
        match method {
            "tools/call"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
            | "prompts/list" => Self::Server,
            "ui/open-link" | "ui/message" | "ui/download-file" | "sampling/createMessage" => Self::Person,
            _ => Self::Note,
        }
    }
}

/// Whether a request may go on now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// At once.
    Now,
    /// After so many milliseconds: a View that polls without a pause is slowed down, not broken.
    After(u64),
    /// Not at all; the View asked for far more than it gets.
    Refused,
}

impl Admission {
    /// The answer to a refused request.
    pub fn refusal() -> ErrorObject {
        ErrorObject::new(REFUSED, "the View asks for too much at once; try again later")
    }
}

/// The rates of one View and its open requests. A bucket holds `burst` tokens and gains one every `interval_ms`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limiter {
    server: Bucket,
    person: Bucket,
    note: Bucket,
    weight: Bucket,
    open: usize,
}

/// How many requests to the server may be open at once.
const MAX_OPEN: usize = 16;

/// How far ahead of its rate a View may get before it is refused.
const MAX_WAIT_MS: u64 = 5_000;

/// Parameters that may come at once, in pieces of 64 KiB, and the milliseconds after which one more may.
const WEIGHT_BURST: u64 = 256;
const WEIGHT_INTERVAL_MS: u64 = 10;
const WEIGHT_SHIFT: u32 = 16;

impl Limiter {
    /// Counts a request at a time in milliseconds from any fixed start. A request of [`Lane::Server`] that is not refused is open
    /// until [`Limiter::finish`]. `bytes` is the size of its parameters, which are not read before.
    pub fn admit(&mut self, lane: Lane, bytes: usize, now_ms: u64) -> Admission {
        let (bucket, interval_ms, burst, longest_wait) = match lane {
            Lane::Server => (&mut self.server, 50, 40, MAX_WAIT_MS),
            Lane::Person => (&mut self.person, 2_000, 3, 0),
            Lane::Note => (&mut self.note, 20, 100, 0),
        };
        if lane == Lane::Server && self.open >= MAX_OPEN {
            return Admission::Refused;
        }
        let pieces = u64::try_from(bytes >> WEIGHT_SHIFT).unwrap_or(u64::MAX);
        if pieces > 0
            && self.weight.take(
                now_ms,
                pieces.saturating_mul(WEIGHT_INTERVAL_MS),
                WEIGHT_BURST * WEIGHT_INTERVAL_MS,
                0,
            ) == Admission::Refused
        {
            return Admission::Refused;
        }
        let admission = bucket.take(now_ms, interval_ms, interval_ms * burst, longest_wait);
        if lane == Lane::Server && admission != Admission::Refused {
            self.open += 1;
        }
        admission
    }

    /// A request to the server was answered.
    pub fn finish(&mut self) {
        self.open = self.open.saturating_sub(1);
    }
}

/// A token bucket, kept as the time at which it would be full again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Bucket {
    full_at_ms: u64,
}

impl Bucket {
    /// Takes what is worth `cost_ms` of filling from a bucket that fills in `full_ms`.
    fn take(&mut self, now_ms: u64, cost_ms: u64, full_ms: u64, longest_wait: u64) -> Admission {
        let full_at = self.full_at_ms.max(now_ms).saturating_add(cost_ms);
        let wait = full_at.saturating_sub(now_ms).saturating_sub(full_ms);
        if wait > longest_wait {
            return Admission::Refused;
        }
        self.full_at_ms = full_at;
        if wait == 0 { Admission::Now } else { Admission::After(wait) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_that_polls_without_a_pause_is_slowed_down_then_refused() {
        let mut limiter = Limiter::default();
        let mut answers = Vec::new();
        for _ in 0..200 {
            answers.push(limiter.admit(Lane::Server, 0, 1_000));
            limiter.finish();
        }
        assert!(answers[..40].iter().all(|it| *it == Admission::Now));
        assert_eq!(answers[40], Admission::After(50));
        assert_eq!(answers[139], Admission::After(5_000));
        assert_eq!(answers[140], Admission::Refused);
        // Refusals cost nothing: two seconds later there is room for forty more.
        assert_eq!(limiter.admit(Lane::Server, 0, 3_000), Admission::After(3_050));
        assert_eq!(limiter.admit(Lane::Server, 0, 60_000), Admission::Now);
        // A clock that goes back grants nothing.
        assert_eq!(limiter.admit(Lane::Person, 0, 60_000), Admission::Now);
    }

    #[test]
    fn open_requests_and_questions_are_few() {
        let mut limiter = Limiter::default();
        for _ in 0..16 {
            assert_eq!(limiter.admit(Lane::Server, 0, 0), Admission::Now);
        }
        assert_eq!(limiter.admit(Lane::Server, 0, 0), Admission::Refused);
        limiter.finish();
        assert_eq!(limiter.admit(Lane::Server, 0, 0), Admission::Now);
        let person: Vec<Admission> = (0..4).map(|_| limiter.admit(Lane::Person, 0, 0)).collect();
        assert_eq!(person, [Admission::Now, Admission::Now, Admission::Now, Admission::Refused]);
        assert_eq!(limiter.admit(Lane::Person, 0, 2_000), Admission::Now);
    }

    #[test]
    fn a_request_costs_what_its_parameters_weigh_before_they_are_read() {
        let mut limiter = Limiter::default();
        let four = 4 << 20;
        let came: Vec<Admission> = (0..5).map(|_| limiter.admit(Lane::Note, four, 0)).collect();
        assert_eq!(came[..4], [Admission::Now; 4]);
        assert_eq!(came[4], Admission::Refused);
        assert_eq!(limiter.admit(Lane::Note, 100, 0), Admission::Now, "a small one costs nothing");
        assert_eq!(limiter.admit(Lane::Note, four, 640), Admission::Now);
    }
}
