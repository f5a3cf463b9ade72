//! Who of the Views may ask the user, when, and what an answer lets through (X5).
//!
//! One question of a View stands in the window at a time, whatever the number of Views. The Views take turns, those of the conversation
//! that the user looks at first, so that a View which asks much delays nobody else. A refusal is final for what its View asked meanwhile,
//! and each one makes the View quiet for longer; a question that is taken back while it is shown counts as one, or a View could show and
//! take back for ever. What is remembered ends with the opening of the View. Deliberately absent: the questions themselves and showing
//! them, and time, which is passed in as milliseconds from any fixed start.

use std::collections::{BTreeMap, BTreeSet};

/// How many questions of one View may wait behind the one that is shown.
pub const MOST_WAITING: usize = 3;

/// After the first, the second and each further refusal in a row a View is refused without a question for so long; in milliseconds.
pub const QUIET_MS: [u64; 3] = [2_000, 60_000, 600_000];

/// What a View asks of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `ui/message`: words in the user's name.
    Message,
    /// The same with pictures, which nobody can agree to unseen.
    MessageWithPictures,
    /// `ui/update-model-context`: words that the View keeps before the model.
    Context,
    /// The same with pictures.
    ContextWithPictures,
    /// `ui/open-link`: an address to open outside.
    Link,
    /// `ui/download-file`: files for the user's disk.
    Files,
    /// `sampling/createMessage`: a question to the model.
    Sample,
}

/// The place of a question in the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

/// What becomes of a question when it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It is answered without the user: yes or no.
    Answered(bool),
    /// It stands in the line.
    InLine(Ticket),
}

/// Where a question stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Behind another one.
    Waits,
    /// It is the one to be shown.
    Shown,
    /// It is answered: yes or no. Also what is not in the line any more is answered: no.
    Answered(bool),
}

/// The one place of a window where the questions of Views stand in line.
#[derive(Debug, Default)]
pub struct Desk {
    /// The one that is shown, and those that wait.
    line: Vec<Entry>,
    shown: Option<Ticket>,
    seats: BTreeMap<String, Seat>,
    /// What was answered with another question, until it is looked at.
    answered: BTreeMap<Ticket, bool>,
    given: u64,
    /// How many questions were shown.
    turns: u64,
    /// The conversation that the user looks at.
    looked_at: Option<String>,
}

#[derive(Debug)]
struct Entry {
    ticket: Ticket,
    view_id: String,
    kind: Kind,
}

/// What one opening of a View was allowed and refused.
#[derive(Debug, Default)]
struct Seat {
    conversation_id: String,
    allowed: BTreeSet<Kind>,
    /// What was refused for good.
    refused: BTreeSet<Kind>,
    /// Refusals since the last yes, and when the last of them was.
    noes: usize,
    refused_ms: u64,
    /// When its last question was shown, counted in questions of all.
    turn: u64,
}

impl Seat {
    fn is_quiet(&self, now_ms: u64) -> bool {
        let quiet = match self.noes.checked_sub(1) {
            None => return false,
            Some(at) => QUIET_MS.get(at).or(QUIET_MS.last()).copied().unwrap_or_default(),
        };
        (self.refused_ms..self.refused_ms.saturating_add(quiet)).contains(&now_ms)
    }

    fn was_refused(&mut self, now_ms: u64) {
        self.noes = self.noes.saturating_add(1);
        self.refused_ms = now_ms;
    }
}

impl Desk {
    /// A View of a conversation is open, and may ask.
    pub fn open(&mut self, view_id: &str, conversation_id: &str) {
        let seat = Seat { conversation_id: conversation_id.to_owned(), ..Seat::default() };
        self.seats.entry(view_id.to_owned()).or_insert(seat);
    }

    /// A View is gone: what it asked is refused, and what it was allowed is forgotten.
    pub fn close(&mut self, view_id: &str) {
        self.seats.remove(view_id);
        self.settle(view_id, |_| Some(false));
        self.show_next();
    }

    /// The user looks at a conversation: questions of its Views are shown before those of others.
    pub fn look_at(&mut self, conversation_id: &str) {
        self.looked_at = Some(conversation_id.to_owned());
    }

    /// A View wants to ask. Answers at once where no question is needed.
    pub fn ask(&mut self, view_id: &str, kind: Kind, now_ms: u64) -> Admission {
        let Some(seat) = self.seats.get(view_id) else { return Admission::Answered(false) };
        if seat.allowed.contains(&kind) {
            return Admission::Answered(true);
        }
        let in_line = self.line.iter().filter(|it| it.view_id == view_id).count();
        if seat.is_quiet(now_ms) || in_line > MOST_WAITING || seat.refused.contains(&kind) {
            return Admission::Answered(false);
        }
        let ticket = Ticket(self.given);
        self.given += 1;
        self.line.push(Entry { ticket, view_id: view_id.to_owned(), kind });
        self.show_next();
        Admission::InLine(ticket)
    }

    /// Whether a View may have the user asked about something that does not stand in this line, such as a call.
    pub fn may_ask(&self, view_id: &str, now_ms: u64) -> bool {
        self.seats.get(view_id).is_some_and(|it| !it.is_quiet(now_ms))
    }

    /// The user said no to something of a View that did not stand in this line, or the View took it back from before the user.
    pub fn was_refused(&mut self, view_id: &str, now_ms: u64) {
        if let Some(seat) = self.seats.get_mut(view_id) {
            seat.was_refused(now_ms);
        }
    }

    /// Where a question stands. One that is answered is forgotten by this.
    pub fn standing(&mut self, ticket: Ticket) -> Standing {
        match self.line.iter().any(|it| it.ticket == ticket) {
            true if self.shown == Some(ticket) => Standing::Shown,
            true => Standing::Waits,
            false => Standing::Answered(self.answered.remove(&ticket).unwrap_or(false)),
        }
    }

    /// The user allows a View to speak without being asked again. No other thing can be allowed in advance: a link or a picture never
    /// stands for another one.
    pub fn allow_messages(&mut self, view_id: &str) {
        if let Some(seat) = self.seats.get_mut(view_id) {
            seat.allowed.insert(Kind::Message);
        }
    }

    /// The user's answer to a question that is shown. With it, others of the same View may be answered.
    pub fn answer(&mut self, ticket: Ticket, is_yes: bool, now_ms: u64) {
        let Some(entry) = self.line.iter().find(|it| it.ticket == ticket) else { return };
        let (view_id, kind) = (entry.view_id.clone(), entry.kind);
        let Some(seat) = self.seats.get_mut(&view_id) else { return };
        if is_yes {
            seat.noes = 0;
            // A View replaces the words that it keeps before the model as often as it likes, so they are asked about once.
            if matches!(kind, Kind::Context | Kind::ContextWithPictures) {
                seat.allowed.insert(Kind::Context);
            }
            let allowed = seat.allowed.clone();
            self.settle(&view_id, |it| (it.ticket == ticket || allowed.contains(&it.kind)).then_some(true));
        } else {
            seat.was_refused(now_ms);
            // What goes on without the user, or costs money, is not asked for again after a no.
            match kind {
                Kind::Context | Kind::ContextWithPictures => {
                    seat.refused.extend([Kind::Context, Kind::ContextWithPictures]);
                }
                Kind::Sample => _ = seat.refused.insert(kind),
                Kind::Message | Kind::MessageWithPictures | Kind::Link | Kind::Files => {}
            }
            self.settle(&view_id, |_| Some(false));
        }
        self.show_next();
    }

    /// Nobody waits for a question any more. From before the user it is not taken back for nothing.
    pub fn withdraw(&mut self, ticket: Ticket, now_ms: u64) {
        if self.shown == Some(ticket)
            && let Some(entry) = self.line.iter().find(|it| it.ticket == ticket)
            && let Some(seat) = self.seats.get_mut(&entry.view_id)
        {
            seat.was_refused(now_ms);
        }
        self.line.retain(|it| it.ticket != ticket);
        self.answered.remove(&ticket);
        self.show_next();
    }

    /// Answers those questions of a View for which `judge` says something; the others go on waiting.
    fn settle(&mut self, view_id: &str, judge: impl Fn(&Entry) -> Option<bool>) {
        let answered = &mut self.answered;
        self.line.retain(|it| {
            let verdict = if it.view_id == view_id { judge(it) } else { None };
            if let Some(verdict) = verdict {
                answered.insert(it.ticket, verdict);
            }
            verdict.is_none()
        });
    }

    /// Shows a question if none is shown: of the conversation that is looked at before others, of the View whose turn was longest ago,
    /// and of those the first.
    fn show_next(&mut self) {
        if self.line.iter().any(|it| self.shown == Some(it.ticket)) {
            return;
        }
        let place = |it: &&Entry| {
            let seat = self.seats.get(&it.view_id);
            let is_elsewhere =
                seat.is_none_or(|it| self.looked_at.as_ref().is_none_or(|at| *at != it.conversation_id));
            (is_elsewhere, seat.map_or(0, |it| it.turn), it.ticket)
        };
        let next = self.line.iter().min_by_key(place).map(|it| (it.ticket, it.view_id.clone()));
        self.shown = next.as_ref().map(|it| it.0);
        if let Some(seat) = next.and_then(|it| self.seats.get_mut(&it.1)) {
            self.turns += 1;
            seat.turn = self.turns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind::*, *};

    /// A desk with a clock and two Views.
    struct Room {
        now: u64,
        desk: Desk,
    }

    impl Room {
        fn new() -> Self {
            let mut desk = Desk::default();
            desk.open("a", "here");
            desk.open("b", "there");
            Self { now: 10_000, desk }
        }

        fn ask(&mut self, view: &str, kind: Kind) -> Admission {
            self.desk.ask(view, kind, self.now)
        }

        /// A question that is not answered at once.
        #[track_caller]
        fn asked(&mut self, view: &str, kind: Kind) -> Ticket {
            match self.ask(view, kind) {
                Admission::InLine(ticket) => ticket,
                Admission::Answered(answer) => panic!("answered {answer} at once"),
            }
        }

        fn answer(&mut self, ticket: Ticket, is_yes: bool) {
            assert_eq!(self.desk.standing(ticket), Standing::Shown, "only what is shown is answered");
            self.desk.answer(ticket, is_yes, self.now);
        }
    }

    const YES: Admission = Admission::Answered(true);
    const NO: Admission = Admission::Answered(false);

    #[test]
    fn a_message_is_asked_about_each_time() {
        let mut room = Room::new();
        let first = room.asked("a", Message);
        room.answer(first, true);
        assert_eq!(room.desk.standing(first), Standing::Answered(true));
        let second = room.asked("a", Message);
        assert_eq!(room.desk.standing(second), Standing::Shown);
    }

    #[test]
    fn a_message_is_not_asked_about_any_more_when_it_is_allowed_for_the_view_and_only_for_it() {
        let mut room = Room::new();
        let (first, waiting) = (room.asked("a", Message), room.asked("a", Message));
        room.desk.allow_messages("a");
        room.answer(first, true);
        assert_eq!(room.desk.standing(first), Standing::Answered(true));
        assert_eq!(room.desk.standing(waiting), Standing::Answered(true));
        assert_eq!(room.ask("a", Message), YES);
        room.asked("a", Context);
        room.asked("b", Message);
        // Another opening of it is asked anew.
        room.desk.close("a");
        room.desk.open("a", "here");
        room.asked("a", Message);
    }

    #[test]
    fn what_a_view_keeps_is_asked_about_once_whatever_the_answer() {
        let mut room = Room::new();
        let first = room.asked("a", Context);
        room.answer(first, true);
        assert_eq!(room.ask("a", Context), YES);
        let other = room.asked("b", Context);
        room.answer(other, false);
        room.now += 60_000;
        assert_eq!(room.ask("b", Context), NO);
        room.asked("b", Message);
        assert_eq!(room.ask("b", ContextWithPictures), NO);
        // A question to the model is refused for good too, but a yes is a yes to that one alone.
        let mut room = Room::new();
        let sample = room.asked("a", Sample);
        room.answer(sample, false);
        room.now += 60_000;
        assert_eq!(room.ask("a", Sample), NO);
        room.asked("b", Sample);
    }

    #[test]
    fn links_files_pictures_and_questions_to_the_model_never_stand_for_others() {
        for kind in [Link, Files, Sample, MessageWithPictures, ContextWithPictures] {
            let mut room = Room::new();
            let (first, second) = (room.asked("a", kind), room.asked("a", kind));
            room.desk.allow_messages("a");
            room.answer(first, true);
            assert_eq!(room.desk.standing(first), Standing::Answered(true));
            assert_eq!(room.desk.standing(second), Standing::Shown, "{kind:?}");
            room.asked("a", kind);
        }
        // After a yes to pictures the words that replace them are not asked about.
        let mut room = Room::new();
        let first = room.asked("a", ContextWithPictures);
        room.answer(first, true);
        assert_eq!(room.ask("a", Context), YES);
    }

    #[test]
    fn a_view_that_spams_gets_one_dialog_three_places_in_the_line_and_one_refusal_for_all() {
        let mut room = Room::new();
        let asked: Vec<Admission> = (0..500).map(|_| room.ask("a", Context)).collect();
        let ticket = |it: &Admission| match it {
            Admission::InLine(ticket) => Some(*ticket),
            Admission::Answered(answer) => {
                assert!(!answer);
                None
            }
        };
        let tickets: Vec<Ticket> = asked.iter().filter_map(ticket).collect();
        assert_eq!(tickets.len(), 1 + MOST_WAITING);
        let standing: Vec<Standing> = tickets.iter().map(|it| room.desk.standing(*it)).collect();
        assert_eq!(standing, [Standing::Shown, Standing::Waits, Standing::Waits, Standing::Waits]);
        room.answer(tickets[0], false);
        for ticket in tickets {
            assert_eq!(room.desk.standing(ticket), Standing::Answered(false));
        }
    }

    #[test]
    fn each_no_in_a_row_makes_a_view_quiet_for_longer_whatever_it_asks_for() {
        let mut room = Room::new();
        for quiet in [2_000, 60_000, 600_000, 600_000] {
            let first = room.asked("a", Message);
            room.answer(first, false);
            room.now += quiet - 1;
            assert_eq!([room.ask("a", Message), room.ask("a", Link)], [NO, NO], "{quiet}");
            assert!(!room.desk.may_ask("a", room.now), "{quiet}");
            room.now += 1;
        }
        // What the user says yes to was wanted, and the next no is the first again.
        let wanted = room.asked("a", Message);
        room.answer(wanted, true);
        let first = room.asked("a", Link);
        room.answer(first, false);
        // A no to a call is one of them, and nothing of it is another View's.
        assert!(room.desk.may_ask("b", room.now));
        room.now += 2_000;
        room.desk.was_refused("a", room.now);
        room.now += 59_999;
        assert_eq!(room.ask("a", Link), NO);
        // A clock that is set back does not make it quiet for longer.
        room.now -= 70_000;
        room.asked("a", Message);
    }

    #[test]
    fn a_question_that_is_taken_back_from_before_the_user_counts_as_refused() {
        let mut room = Room::new();
        let mut shown = 0;
        // For a minute it asks and takes back as quickly as it can.
        for _ in 0..6_000 {
            if let Admission::InLine(ticket) = room.ask("a", Link) {
                shown += usize::from(room.desk.standing(ticket) == Standing::Shown);
                room.desk.withdraw(ticket, room.now);
            }
            room.now += 10;
        }
        assert_eq!(shown, 2, "at once, and after two seconds");
        // One that nobody saw is taken back for nothing.
        let mut room = Room::new();
        let mine = room.asked("b", Message);
        let waits = room.asked("a", Message);
        room.desk.withdraw(waits, room.now);
        assert!(room.desk.may_ask("a", room.now));
        assert_eq!(room.desk.standing(mine), Standing::Shown);
    }

    #[test]
    fn views_take_turns_and_those_that_are_looked_at_come_first() {
        let mut room = Room::new();
        room.desk.open("c", "there");
        let chatty: Vec<Ticket> = (0..4).map(|_| room.asked("a", Link)).collect();
        let (b, c) = (room.asked("b", Link), room.asked("c", Link));
        let mut order = Vec::new();
        for _ in 0..4 {
            let all = [chatty[0], chatty[1], chatty[2], b, c];
            let shown = all.into_iter().find(|it| room.desk.standing(*it) == Standing::Shown).unwrap();
            order.push(shown);
            room.answer(shown, true);
        }
        assert_eq!(order, [chatty[0], b, c, chatty[1]], "not two of one while another waits");
        // What is shown stays, and then what is looked at is first.
        room.desk.look_at("there");
        let (b, c) = (room.asked("b", Link), room.asked("c", Link));
        assert_eq!(room.desk.standing(chatty[2]), Standing::Shown);
        room.answer(chatty[2], true);
        for next in [b, c, chatty[3]] {
            room.answer(next, true);
        }
    }

    #[test]
    fn a_view_that_spams_does_not_take_the_place_of_another_nor_its_answer() {
        let mut room = Room::new();
        let spam: Vec<Ticket> = (0..4).map(|_| room.asked("a", Message)).collect();
        (0..100).for_each(|_| assert_eq!(room.ask("a", Message), NO));
        let mine = room.asked("b", Message);
        assert_eq!(room.desk.standing(mine), Standing::Waits);
        room.answer(spam[0], false);
        assert_eq!(room.desk.standing(mine), Standing::Shown);
        room.answer(mine, true);
        assert_eq!(room.desk.standing(mine), Standing::Answered(true));
    }

    #[test]
    fn a_question_goes_when_the_view_gives_up_or_is_gone() {
        let mut room = Room::new();
        let (first, second) = (room.asked("a", Message), room.asked("a", Message));
        room.desk.withdraw(first, room.now);
        assert_eq!(room.desk.standing(first), Standing::Answered(false));
        assert_eq!(room.desk.standing(second), Standing::Shown);
        room.desk.close("a");
        assert_eq!(room.desk.standing(second), Standing::Answered(false));
        assert_eq!(room.ask("a", Message), NO, "it is gone");
        // An answer that comes too late is an answer to nothing.
        room.desk.answer(second, true, room.now);
        assert_eq!(room.desk.standing(second), Standing::Answered(false));
    }
}
