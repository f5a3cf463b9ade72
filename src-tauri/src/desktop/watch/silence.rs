//! Whether a page has owed answers for too long: in one piece, or in so many pieces that it is as good as one.
//!
//! Pure. Deliberately absent: time. A turn is counted when the watch had one, so neither a computer that slept nor one that is slow as a
//! whole counts.

use std::collections::VecDeque;

/// How many turns in a row the page may owe an answer: ten seconds.
pub(super) const MOST_SILENT_TURNS: usize = 20;

/// How long the silent process must have used the processor meanwhile, in milliseconds.
const LEAST_BUSY_MS: u64 = 6_000;

/// How many turns are looked back on: a minute.
pub(super) const REMEMBERED_TURNS: usize = 120;

/// How many of them may be silent, in a row or not. A page that draws one picture in two seconds stays below.
pub(super) const MOST_SILENT_OF_REMEMBERED: usize = 96;

/// How much of a silent turn the process must have used the processor on the average, in milliseconds, where it answers now and then.
const LEAST_BUSY_MS_OF_TURN: u64 = 300;

/// How long a turn is, in milliseconds. So much counts where nothing is known of the process.
pub(super) const TURN_MS: u64 = 500;

/// What came of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Nothing is owed.
    Answered,
    /// An answer is owed. `busy_ms` is what the page's process has used of the processor in this turn, if it can be known.
    Silent { busy_ms: Option<u64> },
}

/// The last turns, oldest first.
#[derive(Debug, Default)]
pub(super) struct Silence {
    /// For a silent turn, what the process used of the processor.
    turns: VecDeque<Option<u64>>,
}

impl Silence {
    /// Counts a turn and says whether the page is beyond help now.
    pub(super) fn is_too_long(&mut self, turn: Turn) -> bool {
        if self.turns.len() == REMEMBERED_TURNS {
            self.turns.pop_front();
        }
        self.turns.push_back(match turn {
            Turn::Answered => None,
            Turn::Silent { busy_ms } => Some(busy_ms.unwrap_or(TURN_MS)),
        });
        let silent = self.turns.iter().flatten().count();
        let in_a_row = self.turns.iter().rev().take_while(|it| it.is_some()).count();
        let busy_ms: u64 = self.turns.iter().flatten().sum();
        let of_turns = u64::try_from(silent).unwrap_or(u64::MAX).saturating_mul(LEAST_BUSY_MS_OF_TURN);
        (in_a_row >= MOST_SILENT_TURNS && busy_ms >= LEAST_BUSY_MS)
            || (silent >= MOST_SILENT_OF_REMEMBERED && busy_ms >= of_turns)
    }
}

/// The questions to the page: those that were asked, and after which answer nobody needs to ask.
#[derive(Debug)]
pub(super) struct Questions {
    asked: u64,
    /// The last one, once no View is open.
    last: Option<u64>,
}

impl Default for Questions {
    /// Nothing is to be asked.
    fn default() -> Self {
        Self { asked: 0, last: Some(0) }
    }
}

impl Questions {
    /// How many Views are open now. When the last has gone, one more question is to be asked: what it left behind may still run.
    pub(super) fn note_views(&mut self, open: usize) {
        self.last = if open > 0 { None } else { self.last.or(Some(self.asked + 1)) };
    }

    /// Whether nothing needs to be asked, when so many were answered.
    pub(super) fn are_over(&self, answered: u64) -> bool {
        self.last.is_some_and(|it| answered >= it)
    }

    /// Whether one is open.
    pub(super) fn is_owed(&self, answered: u64) -> bool {
        answered < self.asked
    }

    /// Asks the next one and gives its number.
    pub(super) fn ask(&mut self) -> u64 {
        self.asked += 1;
        self.asked
    }

    /// The page is another one: what was asked is answered, and the next starts with no View. Gives how many were asked.
    pub(super) fn forget(&mut self) -> u64 {
        self.last = Some(0);
        self.asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUSY: Turn = Turn::Silent { busy_ms: Some(TURN_MS) };
    const IDLE: Turn = Turn::Silent { busy_ms: Some(2) };

    /// After how many turns of what goes on and on the page is ended.
    fn ends(pattern: &[Turn]) -> Option<usize> {
        let mut silence = Silence::default();
        let at = pattern.iter().cycle().take(5_000).position(|turn| silence.is_too_long(*turn));
        at.map(|it| it + 1)
    }

    #[test]
    fn only_a_long_silence_of_a_busy_process_is_too_long() {
        assert_eq!(ends(&[Turn::Answered]), None);
        // It loops: all of its time is the processor's.
        assert_eq!(ends(&[BUSY]), Some(MOST_SILENT_TURNS));
        // It stands in a debugger, or shows a dialog, for however long.
        assert_eq!(ends(&[IDLE]), None);
        // The computer is slow as a whole: it gets a tenth of the processor, and a task of five seconds takes fifty.
        let slow = Turn::Silent { busy_ms: Some(50) };
        assert_eq!(ends(&[[slow; 100].as_slice(), &[Turn::Answered; 20]].concat()), None);
        assert_eq!(ends(&[slow]), Some(REMEMBERED_TURNS));
        // Where nothing is known of the process, the silence alone counts.
        assert_eq!(ends(&[Turn::Silent { busy_ms: None }]), Some(MOST_SILENT_TURNS));
    }

    #[test]
    fn answers_now_and_then_do_not_make_a_silence_shorter() {
        // Nine seconds of loop, one answer, and so on.
        let pulse = |turns: usize| [vec![BUSY; turns], vec![Turn::Answered]].concat();
        assert_eq!(ends(&pulse(18)), Some(MOST_SILENT_OF_REMEMBERED + 5));
        assert!(ends(&pulse(5)).is_some());
        // Two seconds of work between two answers are slow, and can be lived with; so is a long start.
        assert_eq!(ends(&pulse(3)), None);
        assert_eq!(ends(&[[BUSY; 19].as_slice(), &[Turn::Answered; 30]].concat()), None);
        // Behind a dialog one does not work.
        assert_eq!(ends(&[[IDLE; 18].as_slice(), &[Turn::Answered]].concat()), None);
    }

    #[test]
    fn the_page_is_asked_once_more_after_the_last_view_went() {
        let mut questions = Questions::default();
        questions.note_views(0);
        assert!(questions.are_over(0), "no View was open yet");
        questions.note_views(2);
        assert!(!questions.are_over(0) && !questions.is_owed(0));
        assert_eq!(questions.ask(), 1);
        // It was answered while Views ran. The last goes, and leaves a loop behind.
        questions.note_views(0);
        assert!(!questions.are_over(1) && !questions.is_owed(1));
        assert_eq!(questions.ask(), 2);
        for _ in 0..3 {
            questions.note_views(0);
            assert!(!questions.are_over(1) && questions.is_owed(1));
        }
        assert!(questions.are_over(2));
        // A question that was open as the last one went is not that one.
        questions.note_views(1);
        assert_eq!(questions.ask(), 3);
        questions.note_views(0);
        assert!(questions.is_owed(2) && !questions.are_over(3));
        // With the page goes what it owes.
        assert_eq!(questions.forget(), 3);
        assert!(questions.are_over(3) && !questions.is_owed(3));
    }

    #[test]
    fn what_is_long_past_is_forgotten() {
        let mut silence = Silence::default();
        for _ in 0..10 {
            let pattern = [[BUSY; 19].as_slice(), &[Turn::Answered; 60]].concat();
            assert!(pattern.iter().all(|turn| !silence.is_too_long(*turn)));
        }
        assert_eq!(silence.turns.len(), REMEMBERED_TURNS);
    }
}
