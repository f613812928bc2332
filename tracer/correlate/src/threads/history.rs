//! What a thread did with its time, as far back as it matters, in a bounded memory.
//!
//! Each time that a thread is given a CPU, the sums of its rests until then are kept. When there is no room
//! left, neighbours among the older ones are put together: the further back, the coarser, and what lies
//! within a coarse stretch is shared out evenly.

use arrayvec::ArrayVec;
use wirelap_events::{Holder, Hop, Nanos, Rest, Rested};

/// Stretches that are kept.
const KEPT: usize = 32;

/// From one time that a thread was given a CPU until the next.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    /// Its end: when the thread was given the CPU again.
    running: Nanos,
    /// When it had left the CPU before, and could have run again; `None` where stretches were put together.
    rest: Option<(Nanos, Nanos)>,
    /// Sums until its end.
    sums: Rested,
    /// Who had the CPU longest during it.
    holder: Holder,
}

/// The last stretches of one thread.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The oldest first.
    stretches: ArrayVec<Stretch, KEPT>,
}

impl History {
    /// The thread was given a CPU.
    pub fn runs(&mut self, hop: &Hop) {
        let left = hop.left.unwrap_or(hop.woken).min(hop.woken);
        let Some(last) = self.stretches.last().copied() else {
            // What came before is not known.
            self.stretches.push(Stretch { running: left, ..Stretch::default() });
            return self.runs(hop);
        };
        let left = left.max(last.running);
        let woken = hop.woken.max(left);
        let Some(waited) = hop.running.since(woken) else { return };
        let preempted = u32::from(hop.rest == Rest::Preempted);
        let sums = Rested {
            asleep: last.sums.asleep + (woken - left),
            waited: last.sums.waited + waited,
            preemptions: last.sums.preemptions.wrapping_add(preempted),
            holder: Holder::default(),
        };
        if self.stretches.is_full() {
            self.put_together();
        }
        let rest = Some((left, woken));
        self.stretches.push(Stretch { running: hop.running, rest, sums, holder: hop.holder });
    }

    /// Every two stretches of the older half become one.
    fn put_together(&mut self) {
        let mut kept = ArrayVec::new();
        // The first is only where all begins.
        kept.push(self.stretches[0]);
        let (old, new) = self.stretches[1..].split_at(KEPT / 2);
        for pair in old.chunks(2) {
            let Some(last) = pair.last() else { continue };
            let longest = pair.iter().map(|stretch| stretch.holder).max_by_key(|h| h.held);
            let rest = if pair.len() == 1 { last.rest } else { None };
            kept.push(Stretch { rest, holder: longest.unwrap_or_default(), ..*last });
        }
        kept.extend(new.iter().copied());
        self.stretches = kept;
    }

    /// How it rested between two moments; `None` if it was not followed at the first of them.
    pub fn between(&self, from: Nanos, to: Nanos) -> Option<Rested> {
        if self.stretches.first()?.running > from {
            return None;
        }
        let (start, end) = (self.sums_at(from), self.sums_at(to));
        let begin = self.stretches.partition_point(|stretch| stretch.running <= from);
        let within = self.stretches[begin..].iter().take_while(|stretch| stretch.begins() < to);
        let holder = within.map(|stretch| stretch.holder).max_by_key(|holder| holder.held);
        Some(Rested {
            asleep: Nanos(end.asleep.0.saturating_sub(start.asleep.0)),
            waited: Nanos(end.waited.0.saturating_sub(start.waited.0)),
            preemptions: end.preemptions.wrapping_sub(start.preemptions),
            holder: holder.unwrap_or_default(),
        })
    }

    fn sums_at(&self, at: Nanos) -> Rested {
        let next = self.stretches.partition_point(|stretch| stretch.running <= at);
        let before = next.checked_sub(1).map(|index| self.stretches[index]).unwrap_or_default();
        let Some(stretch) = self.stretches.get(next) else { return before.sums };
        let (asleep, waited) = if let Some((left, woken)) = stretch.rest {
            (at.min(woken) - left, at - woken)
        } else {
            let part = Part { into: at - before.running, of: stretch.running - before.running };
            let (since, until) = (&before.sums, &stretch.sums);
            (part.share(until.asleep - since.asleep), part.share(until.waited - since.waited))
        };
        Rested {
            asleep: before.sums.asleep + asleep,
            waited: before.sums.waited + waited,
            ..before.sums
        }
    }
}

impl Stretch {
    /// When its rest began, or the stretch if that is not known.
    fn begins(&self) -> Nanos {
        self.rest.map_or(Nanos(0), |(left, _)| left)
    }
}

/// How far into a stretch a moment lies.
struct Part {
    into: Nanos,
    of: Nanos,
}

impl Part {
    fn share(&self, time: Nanos) -> Nanos {
        let share = u128::from(time.0) * u128::from(self.into.0) / u128::from(self.of.0.max(1));
        Nanos(u64::try_from(share).unwrap_or(time.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_events::{TaskId, Tid};

    fn hop(left: u64, woken: u64, running: u64) -> Hop {
        let task = TaskId { tid: Tid(77), ..TaskId::default() };
        let holder = Holder { task, held: Nanos(running - woken), ..Holder::default() };
        let rest = if left == woken { Rest::Preempted } else { Rest::Asleep };
        Hop {
            left: Some(Nanos(left)),
            woken: Nanos(woken),
            running: Nanos(running),
            rest,
            holder,
            ..Hop::default()
        }
    }

    fn between(history: &History, from: u64, to: u64) -> Option<(u64, u64)> {
        history.between(Nanos(from), Nanos(to)).map(|rested| (rested.asleep.0, rested.waited.0))
    }

    #[test]
    fn rests_are_cut_where_the_question_begins_and_ends() {
        let mut history = History::default();
        // Runs until 100, sleeps until 200, waits until 230, runs until 300, is preempted until 350.
        history.runs(&hop(100, 200, 230));
        history.runs(&hop(300, 300, 350));
        assert_eq!(between(&history, 100, 230), Some((100, 30)));
        assert_eq!(between(&history, 150, 210), Some((50, 10)));
        assert_eq!(between(&history, 230, 1000), Some((0, 50)));
        assert_eq!(between(&history, 310, 320), Some((0, 10)));
        assert_eq!(between(&history, 360, 900), Some((0, 0)));
        assert_eq!(between(&history, 99, 300), None);
        let rested = history.between(Nanos(100), Nanos(400)).unwrap();
        assert_eq!((rested.preemptions, rested.holder.held), (1, Nanos(50)));
    }

    #[test]
    fn what_is_long_past_is_coarse_but_not_forgotten() {
        let mut history = History::default();
        // Of each 100 it sleeps 20, waits 30 and runs 50.
        for round in 0..10_000 {
            let at = round * 100;
            history.runs(&hop(at, at + 20, at + 50));
        }
        assert_eq!(between(&history, 0, 999_950), Some((200_000, 300_000)));
        let (asleep, waited) = between(&history, 499_950, 999_950).unwrap();
        assert!(
            asleep.abs_diff(100_000) < 100 && waited.abs_diff(150_000) < 100,
            "{asleep} {waited}"
        );
        // The newest are exact.
        assert_eq!(between(&history, 999_850, 999_935), Some((20, 15)));
    }
}
