//! The messages of which spans are made, chosen once it is known what became of them.

use rustc_hash::FxHashMap;
use wirelap_correlate::Nondelivery;
use wirelap_events::{GroupId, Nanos, Saturate};
use wirelap_history::{Bins, KeptMessage};

/// The most rows that are told apart; the correlator has fewer.
const ROWS: usize = 1_024;
/// The most messages of all rows that are kept for being slow. A message takes some 12 KiB.
const SLOWEST: usize = 512;

/// Why a message was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// One of the slowest of its row in an interval.
    Slowest,
    /// One of the share of all.
    Share,
    /// A message that was lost, not read, or under way at the end.
    Undelivered,
}

/// A message that was chosen.
#[derive(Clone, Debug)]
pub struct ChosenMessage {
    /// The message.
    pub message: KeptMessage,
    /// Why it was chosen.
    pub choice: Choice,
    /// Why it was not seen to be delivered; `None` if it was, or in part.
    pub nondelivery: Option<Nondelivery>,
}

/// One of the slowest messages of a row.
#[derive(Debug)]
struct SlowMessage {
    one_way: Nanos,
    /// The message, unless it is sent for another reason already.
    message: Option<KeptMessage>,
}

/// A row in an interval.
#[derive(Debug, Default)]
struct RowInterval {
    one_way: Bins,
    slowest: Vec<SlowMessage>,
    /// The least latency among them.
    least: Nanos,
}

/// The latencies of rows, and the slowest messages of an interval.
#[derive(Debug, Default)]
pub struct RowIntervals {
    rows: FxHashMap<GroupId, RowInterval>,
    /// Number of messages that are kept.
    kept: usize,
}

impl RowIntervals {
    /// Adds a latency of a row, with its message if it is one of the `most` slowest, and is not sent already.
    pub fn add(
        &mut self,
        group: GroupId,
        one_way: Nanos,
        most: usize,
        message: impl FnOnce() -> Option<KeptMessage>,
    ) {
        if self.rows.len() >= ROWS && !self.rows.contains_key(&group) {
            return;
        }
        let rows = self.rows.len().max(1);
        let row = self.rows.entry(group).or_default();
        row.one_way.add(one_way.0);
        let quota = most.min(SLOWEST.checked_div(rows).unwrap_or(0).max(1));
        if row.slowest.len() < quota && self.kept < SLOWEST {
            row.slowest.push(SlowMessage { one_way, message: message() });
            self.kept.grow(1);
        } else if one_way > row.least
            && let Some(fastest) = row.slowest.iter_mut().min_by_key(|slow| slow.one_way)
        {
            *fastest = SlowMessage { one_way, message: message() };
        } else {
            return;
        }
        row.least = row.slowest.iter().map(|slow| slow.one_way).min().unwrap_or_default();
    }

    /// Takes the latencies since the last time.
    pub fn take_latencies(&mut self, mut add: impl FnMut(GroupId, &Bins)) {
        for (&group, row) in self.rows.iter_mut().filter(|(_, row)| row.one_way.count() > 0) {
            add(group, &std::mem::take(&mut row.one_way));
        }
    }

    /// Takes the slowest messages, and begins another interval.
    pub fn take_slowest(&mut self) -> impl Iterator<Item = ChosenMessage> + '_ {
        self.kept = 0;
        let slowest = self.rows.values_mut().flat_map(|row| {
            row.least = Nanos(0);
            std::mem::take(&mut row.slowest)
        });
        let choice = Choice::Slowest;
        let messages = slowest.filter_map(|slow| slow.message);
        messages.map(move |message| ChosenMessage { message, choice, nondelivery: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::kept;

    fn slowest_of(times: &[u64], most: usize) -> Vec<u64> {
        let mut rows = RowIntervals::default();
        for (number, &time) in (0..).zip(times) {
            let message = || Some(kept(number, time));
            rows.add(GroupId(0), Nanos(time), most, message);
        }
        let mut all: Vec<u64> =
            rows.take_slowest().map(|chosen| chosen.message.one_way.unwrap().0).collect();
        assert_eq!(rows.take_slowest().count(), 0, "the next interval has its own");
        all.sort_unstable();
        all
    }

    #[test]
    fn the_slowest_of_an_interval_are_exactly_those() {
        assert_eq!(slowest_of(&[5, 9, 1, 7, 3, 8, 2], 3), [7, 8, 9]);
        assert_eq!(slowest_of(&[1, 2, 3, 4, 5], 2), [4, 5]);
        assert_eq!(slowest_of(&[4, 4], 5), [4, 4]);
        assert_eq!(slowest_of(&[5, 9], 0), [] as [u64; 0]);
    }

    #[test]
    fn what_is_sent_already_is_one_of_the_slowest_and_is_not_sent_again() {
        let mut rows = RowIntervals::default();
        for time in [5, 9, 7] {
            rows.add(GroupId(0), Nanos(time), 2, || (time != 9).then(|| kept(time, time)));
        }
        let all: Vec<_> = rows.take_slowest().map(|chosen| chosen.message.one_way).collect();
        assert_eq!(all, [Some(Nanos(7))]);
    }

    #[test]
    fn no_number_of_rows_takes_more_memory() {
        let mut rows = RowIntervals::default();
        for group in 0..5_000 {
            for time in 1..4 {
                rows.add(GroupId(group), Nanos(time), 100, || Some(kept(u64::from(group), time)));
            }
        }
        let mut latencies = 0;
        rows.take_latencies(|_, bins| latencies += bins.count());
        assert_eq!(latencies, 3 * ROWS as u64);
        let kept = rows.take_slowest().count();
        assert!(kept == SLOWEST, "{kept}");
    }
}
