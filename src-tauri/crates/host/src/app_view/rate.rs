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
    open: usize,
}

/// How many requests to the server may be open at once.
const MAX_OPEN: usize = 16;

/// How far ahead of its rate a View may get before it is refused.
const MAX_WAIT_MS: u64 = 5_000;

impl Limiter {
    /// Counts a request at a time in milliseconds from any fixed start. A request of [`Lane::Server`] that is not refused is open
    /// until [`Limiter::finish`].
    pub fn admit(&mut self, lane: Lane, now_ms: u64) -> Admission {
        let (bucket, interval_ms, burst, longest_wait) = match lane {
            Lane::Server => (&mut self.server, 50, 40, MAX_WAIT_MS),
            Lane::Person => (&mut self.person, 2_000, 3, 0),
            Lane::Note => (&mut self.note, 20, 100, 0),
        };
        if lane == Lane::Server && self.open >= MAX_OPEN {
            return Admission::Refused;
        }
        let admission = bucket.take(now_ms, interval_ms, burst, longest_wait);
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
    fn take(&mut self, now_ms: u64, interval_ms: u64, burst: u64, longest_wait: u64) -> Admission {
        let full_at = self.full_at_ms.max(now_ms).saturating_add(interval_ms);
        let wait = full_at.saturating_sub(now_ms).saturating_sub(interval_ms.saturating_mul(burst));
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
            answers.push(limiter.admit(Lane::Server, 1_000));
            limiter.finish();
        }
        assert!(answers[..40].iter().all(|it| *it == Admission::Now));
        assert_eq!(answers[40], Admission::After(50));
        assert_eq!(answers[139], Admission::After(5_000));
        assert_eq!(answers[140], Admission::Refused);
        // Refusals cost nothing: two seconds later there is room for forty more.
        assert_eq!(limiter.admit(Lane::Server, 3_000), Admission::After(3_050));
        assert_eq!(limiter.admit(Lane::Server, 60_000), Admission::Now);
        // A clock that goes back grants nothing.
        assert_eq!(limiter.admit(Lane::Person, 60_000), Admission::Now);
    }

    #[test]
    fn open_requests_and_questions_are_few() {
        let mut limiter = Limiter::default();
        for _ in 0..16 {
            assert_eq!(limiter.admit(Lane::Server, 0), Admission::Now);
        }
        assert_eq!(limiter.admit(Lane::Server, 0), Admission::Refused);
        limiter.finish();
        assert_eq!(limiter.admit(Lane::Server, 0), Admission::Now);
        let person: Vec<Admission> = (0..4).map(|_| limiter.admit(Lane::Person, 0)).collect();
        assert_eq!(person, [Admission::Now, Admission::Now, Admission::Now, Admission::Refused]);
        assert_eq!(limiter.admit(Lane::Person, 2_000), Admission::Now);
    }
}
