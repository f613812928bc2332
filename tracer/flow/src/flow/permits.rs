//! Times in which a receiver had messages that it had not acknowledged, while its sender may have waited
//! for that.
//!
//! ```text
//! sender    ─ message ┐                    ┌ sends more ─▶
//! receiver            └ had │ acknowledges ┘
//!                           └── its own ───┘ is not: that is the acknowledgement's way
//! ```
//!
//! The sender waits from the message on with which as many as ever are not acknowledged, until an acknowledgement arrives. At other
//! times it may send.

use std::collections::VecDeque;
use wirelap_events::{Credit, Nanos, Offset, TaskId};
use wirelap_limits::causes::NOTICEABLE_TIME;

/// Consumers or channels of a connection that are remembered.
const LINES: usize = 64;

/// The most spans that are kept of each; the oldest are added up.
const SPANS: usize = 64;

/// Acknowledgements that are remembered until they arrive, of each.
const ON_THE_WAY: usize = 64;

/// The times that an acknowledgement tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// The receiver had the message at the first time, and sent the acknowledgement at the second.
    Within(Nanos, Nanos),
    /// The message was not seen, or one of the two; the acknowledgement was, at this time.
    By(Nanos),
}

/// An acknowledgement, or a confirmation before it.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledgement {
    /// Time at which it was seen.
    pub at: Nanos,
    /// One past its last byte.
    pub end: Offset,
    /// Since when as many messages as ever were not acknowledged; `None` if that is not known.
    pub full: Option<Nanos>,
    /// The times that it tells of.
    pub answered: Answered,
    /// The thread that wrote it, if that was seen.
    pub by: Option<TaskId>,
}

/// The consumers or channels of one connection.
#[derive(Debug, Default)]
pub struct Permits(Vec<LinePermits>);

/// The acknowledgements of one consumer or channel.
#[derive(Debug, Default)]
struct LinePermits {
    line: u64,
    /// The last acknowledgement that let its sender send more again.
    last: Option<LastAcknowledgement>,
    /// Time at which any acknowledgement was seen last.
    heard: Nanos,
    /// The thread that wrote the last acknowledgement of which that was seen.
    by: Option<TaskId>,
    /// Before, it is not known how long it took itself, unless there is a span.
    unknown_until: Nanos,
    /// Times in which the receiver had messages that it had not acknowledged.
    spans: Spans,
    /// Times in which the sender might send no more.
    full: Spans,
    /// Since when that was so before acknowledgements that have not arrived yet, when these were seen, and their ends.
    on_the_way: VecDeque<(Nanos, Nanos, Offset)>,
}

/// An acknowledgement that let its sender send more again.
#[derive(Clone, Copy, Debug)]
struct LastAcknowledgement {
    /// Time at which it was seen.
    at: Nanos,
    /// One past its last byte.
    end: Offset,
    /// Time at which it arrived, once that is noted.
    there: Option<Nanos>,
}

/// Spans in order, and apart from each other.
#[derive(Debug, Default)]
struct Spans(VecDeque<Span>);

/// A span of time in which it had messages that it had not acknowledged.
#[derive(Clone, Copy, Debug)]
struct Span {
    from: Nanos,
    to: Nanos,
    /// Time for which the receiver had some: less than the whole where spans were added up.
    held: Nanos,
}

impl Permits {
    /// Adds what acknowledgements ended that have arrived by now. Returns the end of the first one that has not.
    pub fn settle(&mut self, arrived: impl Fn(Offset) -> Option<Nanos>) -> Option<Offset> {
        for one in &mut self.0 {
            one.settle(&arrived);
        }
        let on_the_way = self.0.iter().filter_map(|one| one.on_the_way.front());
        on_the_way.map(|&(_, _, end)| end).min()
    }

    /// The last time that an acknowledgement arrived that let the sender send more of a consumer or channel, or was seen where its arrival
    /// was not.
    pub fn last_of(&self, line: u64, arrived: impl Fn(Offset) -> Option<Nanos>) -> Option<Nanos> {
        let last = self.of(line)?.last?;
        let there = last.there.or_else(|| arrived(last.end));
        Some(there.map_or(last.at, |there| there.max(last.at)))
    }

    /// The last time that it might send more of any.
    pub fn last(&self) -> Option<Nanos> {
        self.0.iter().filter_map(|one| Some(one.last?.at)).max()
    }

    /// The last time that any of them acknowledged something, whether or not that let the sender send more.
    pub fn heard(&self) -> Option<Nanos> {
        self.0.iter().map(|one| one.heard).max()
    }

    /// An acknowledgement was seen; `permits_more` if the sender may send more from then on. `arrived` says when bytes of its direction
    /// arrived at the sender.
    pub fn acknowledged(
        &mut self,
        line: u64,
        seen: &Acknowledgement,
        permits_more: bool,
        arrived: impl Fn(Offset) -> Option<Nanos>,
    ) {
        let known = self.0.iter().position(|one| one.line == line);
        let index = known.unwrap_or_else(|| {
            if self.0.len() >= LINES {
                self.0.remove(0);
            }
            self.0.push(LinePermits { line, ..LinePermits::default() });
            self.0.len().saturating_sub(1)
        });
        let Some(one) = self.0.get_mut(index) else { return };
        match seen.answered {
            // Before, others were not acknowledged, and its sender might send all the same.
            Answered::Within(had, sent) => one.spans.add(had.max(seen.full.unwrap_or(had)), sent),
            Answered::By(at) => one.unknown_until = one.unknown_until.max(at),
        }
        one.by = seen.by.or(one.by);
        one.heard = one.heard.max(seen.at);
        if permits_more {
            let last = one.last.map(|last| last.at);
            let since = seen.full.or(last).unwrap_or_default();
            one.on_the_way.push_back((since, seen.at, seen.end));
            one.last = Some(LastAcknowledgement { at: seen.at, end: seen.end, there: None });
        }
        one.settle(arrived);
    }

    /// The parts of the time from when the sender `had` a message until the acknowledgement at `at`: the
    /// receiver's own, the unknown, and the time in which no more might be sent.
    pub fn credit(
        &self,
        line: u64,
        (had, at): (Nanos, Nanos),
        arrived: impl Fn(Offset) -> Option<Nanos>,
    ) -> Credit {
        let Some(one) = self.of(line) else { return Credit { at, ..Credit::default() } };
        let had = had.min(at);
        let until = one.unknown_until.clamp(had, at);
        let (mut own, mut known) = (Nanos(0), Nanos(0));
        // Most messages wait for less time than is remembered: the last spans come first.
        for span in one.spans.0.iter().rev().take_while(|span| span.to > had) {
            own += span.within(had, at);
            known += span.within(had, until);
        }
        Credit {
            at,
            full: one.full_within(had, at, arrived),
            own,
            unknown: until - had - known.min(until - had),
            by: one.by,
        }
    }

    /// For how long, between two moments, the sender might send no more of some consumer or channel: of that for which it was the
    /// longest.
    pub fn full_within(
        &self,
        from: Nanos,
        to: Nanos,
        arrived: impl Fn(Offset) -> Option<Nanos>,
    ) -> Nanos {
        let each = self.0.iter().map(|one| one.full_within(from, to, &arrived));
        each.max().unwrap_or_default()
    }

    fn of(&self, line: u64) -> Option<&LinePermits> {
        self.0.iter().find(|one| one.line == line)
    }
}

impl LinePermits {
    /// Adds what acknowledgements ended that have arrived, or of which too many have not.
    fn settle(&mut self, arrived: impl Fn(Offset) -> Option<Nanos>) {
        while let Some(&(since, at, end)) = self.on_the_way.front() {
            let there = arrived(end);
            if there.is_none() && self.on_the_way.len() < ON_THE_WAY {
                break;
            }
            self.on_the_way.pop_front();
            if let Some(last) = self.last.as_mut().filter(|last| last.end == end) {
                last.there = there;
            }
            self.full.add(since, there.unwrap_or(at).max(at));
        }
    }

    fn full_within(
        &self,
        from: Nanos,
        to: Nanos,
        arrived: impl Fn(Offset) -> Option<Nanos>,
    ) -> Nanos {
        let mut sum = self.full.within(from, to);
        // What is on its way comes after what has arrived.
        let mut begin = from.max(self.full.0.back().map_or(Nanos(0), |last| last.to));
        for &(since, at, end) in &self.on_the_way {
            let end = arrived(end).unwrap_or(at).max(at).min(to);
            let since = since.max(begin).min(end);
            sum += end - since;
            begin = begin.max(end);
        }
        sum
    }
}

impl Spans {
    /// Length of the spans between two moments.
    fn within(&self, from: Nanos, to: Nanos) -> Nanos {
        let since = self.0.iter().rev().take_while(|span| span.to > from);
        let each = since.map(|span| span.within(from, to));
        each.fold(Nanos(0), |sum, held| sum + held)
    }

    /// Adds a span from one moment to another.
    fn add(&mut self, from: Nanos, to: Nanos) {
        if from >= to {
            return;
        }
        let mut span = Span { from, to, held: to - from };
        while let Some(last) = self.0.back().filter(|last| span.from <= last.to + NOTICEABLE_TIME) {
            let (begin, end) = (last.from.min(span.from), last.to.max(span.to));
            let between = last.held + (end - begin) - (last.to - last.from);
            span = Span { from: begin, to: end, held: between.min(end - begin) };
            self.0.pop_back();
        }
        if self.0.len() >= SPANS
            && let Some(oldest) = self.0.pop_front()
            && let Some(next) = self.0.front_mut()
        {
            (next.from, next.held) = (oldest.from, oldest.held + next.held);
        }
        self.0.push_back(span);
    }
}

impl Span {
    /// Time within two moments for which the receiver had some.
    fn within(&self, from: Nanos, to: Nanos) -> Nanos {
        let end = self.to.min(to);
        let time = end - self.from.max(from).min(end);
        time.share(self.held, self.to - self.from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::Tid;

    fn ms(ms: u64) -> Nanos {
        Nanos::from_millis(ms)
    }

    /// Acknowledgements that permit more, each for a message that it had since the first time, in milliseconds.
    fn permits(answered: &[(u64, u64)]) -> Permits {
        let mut permits = Permits::default();
        for &(had, sent) in answered {
            acknowledged(&mut permits, 1, (None, sent), Answered::Within(ms(had), ms(sent)), true);
        }
        permits
    }

    /// An acknowledgement at a time, and since when no more might be sent. It takes no time to arrive.
    fn acknowledged(
        permits: &mut Permits,
        line: u64,
        (full, at): (Option<u64>, u64),
        answered: Answered,
        permits_more: bool,
    ) {
        let (at, end, full, by) = (ms(at), Offset(at), full.map(ms), None);
        let seen = Acknowledgement { at, end, full, answered, by };
        permits.acknowledged(line, &seen, permits_more, |_| Some(at));
    }

    /// The receiver's own time and the unknown time, in milliseconds.
    fn credit(permits: &Permits, had: u64, at: u64) -> (u64, u64) {
        let credit = permits.credit(1, (ms(had), ms(at)), |_| None);
        let in_ms = |time: Nanos| time.0 / 1_000_000;
        (in_ms(credit.own), in_ms(credit.unknown))
    }

    #[test]
    fn a_stop_is_the_receivers_though_it_was_fast_after_that() {
        // It was stopped with five messages, acknowledged them at once, and then one each 20 ms on a slow line.
        let permits = permits(&[(10, 900), (11, 901), (12, 901), (920, 921), (940, 941)]);
        assert_eq!(permits.last_of(1, |_| None), Some(ms(941)));
        assert_eq!(credit(&permits, 100, 941), (801 + 2, 0));
        assert_eq!(credit(&permits, 905, 941), (2, 0));
        assert_eq!(credit(&permits, 902, 919), (0, 0));
    }

    #[test]
    fn what_was_not_seen_is_not_known() {
        let mut permits = permits(&[(10, 20)]);
        acknowledged(&mut permits, 1, (None, 50), Answered::By(ms(50)), true);
        assert_eq!(credit(&permits, 0, 100), (10, 40));
        assert_eq!(permits.last_of(2, |_| None), None);
    }

    /// The first of two answers to a message permits no more.
    #[test]
    fn what_makes_no_room_counts_as_time() {
        let mut permits = permits(&[(0, 1)]);
        acknowledged(&mut permits, 1, (None, 30), Answered::Within(ms(10), ms(30)), false);
        assert_eq!((permits.last_of(1, |_| None), permits.last()), (Some(ms(1)), Some(ms(1))));
        assert_eq!(credit(&permits, 5, 60), (20, 0));
    }

    /// As many as ever were unacknowledged for 25 of 1,000 ms: twice 10 ms and the 5 ms of an acknowledgement's
    /// way.
    #[test]
    fn a_sender_waits_only_while_as_many_as_ever_are_not_acknowledged() {
        let mut permits = Permits::default();
        let answered = |had, sent| Answered::Within(ms(had), ms(sent));
        acknowledged(&mut permits, 1, (Some(100), 110), answered(50, 110), true);
        let seen = Acknowledgement {
            at: ms(910),
            end: Offset(910),
            full: Some(ms(900)),
            answered: answered(905, 910),
            by: None,
        };
        permits.acknowledged(1, &seen, true, |_| None);
        let credit = permits.credit(1, (ms(0), ms(1_000)), |_| Some(ms(915)));
        assert_eq!((credit.full, credit.own), (ms(25), ms(15)));
        assert_eq!(permits.full_within(ms(105), ms(912), |_| Some(ms(915))), ms(17));
        assert_eq!(permits.full_within(ms(200), ms(800), |_| None), ms(0));
    }

    /// What is noted of an acknowledgement holds when its arrival is forgotten.
    #[test]
    fn an_arrival_that_was_noted_is_not_asked_for_again() {
        let mut permits = Permits::default();
        let answered = Answered::Within(ms(5), ms(10));
        let seen =
            Acknowledgement { at: ms(10), end: Offset(10), full: Some(ms(2)), answered, by: None };
        permits.acknowledged(1, &seen, true, |_| None);
        assert_eq!(permits.settle(|_| None), Some(Offset(10)));
        assert_eq!(permits.last_of(1, |_| Some(ms(90))), Some(ms(90)));
        assert_eq!(permits.settle(|_| Some(ms(12))), None);
        let read = |_| Some(ms(90));
        assert_eq!(permits.last_of(1, read), Some(ms(12)));
        assert_eq!(permits.credit(1, (ms(0), ms(100)), read).full, ms(10));
    }

    #[test]
    fn who_wrote_the_last_acknowledgement_is_known() {
        let mut permits = Permits::default();
        let by = |tid| Some(TaskId { tid: Tid(tid), ..TaskId::default() });
        for (at, by) in [(10, by(1)), (20, by(2)), (30, None)] {
            let answered = Answered::By(ms(at));
            let seen = Acknowledgement { at: ms(at), end: Offset(at), full: None, answered, by };
            permits.acknowledged(1, &seen, true, |_| None);
        }
        assert_eq!(permits.credit(1, (ms(0), ms(30)), |_| None).by, by(2));
    }

    #[test]
    fn memory_is_bounded_and_nothing_is_forgotten() {
        let all: Vec<_> = (0..1_000).map(|n| (n * 10, n * 10 + 5)).collect();
        let permits = permits(&all);
        assert_eq!(permits.0[0].spans.0.len(), SPANS);
        assert_eq!(credit(&permits, 0, 10_000).0, 5_000);
        let half = credit(&permits, 0, 5_000).0;
        assert!((2_490..=2_510).contains(&half), "{half}");
        let mut many = Permits::default();
        for line in 0..1_000 {
            acknowledged(&mut many, line, (None, 1), Answered::By(ms(1)), true);
        }
        assert_eq!(many.0.len(), LINES);
    }
}
