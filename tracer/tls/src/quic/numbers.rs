//! Numbers of one direction's packets, and those that did not come.
//!
//! ```text
//!   came    ├ missing ┤ came ├ missing ┤ came
//!  acknowledged: its receiver has got it, the capture lacks it
//!  refused, between two that are acknowledged: its bytes come again in another packet, or it never was
//! ```

use std::collections::VecDeque;
use wirelap_events::{Nanos, Saturate};

/// Ranges of missing numbers that are remembered. An older one is settled.
const MAX_MISSING: usize = 64;

/// Numbers of packets that did not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MissingNumbers {
    start: u64,
    end: u64,
    since: Nanos,
    /// Their receiver has said that it has not got them.
    is_refused: bool,
}

/// Numbers of one direction's packets.
#[derive(Debug)]
pub struct PacketNumbers {
    /// The next number; `None` if that is not known.
    next: Option<u64>,
    missing: VecDeque<MissingNumbers>,
    /// The largest number that was acknowledged before a packet with one as large came, and since when.
    ahead: Option<(u64, Nanos)>,
    /// Packets that came and were not read: their numbers are missing, too.
    unread: u64,
    /// Packets that their receiver has got, or may have, and that did not come.
    lost: u64,
}

impl Default for PacketNumbers {
    fn default() -> PacketNumbers {
        let next = Some(0);
        PacketNumbers { next, missing: VecDeque::new(), ahead: None, unread: 0, lost: 0 }
    }
}

impl PacketNumbers {
    /// A packet with this number has come.
    pub fn came(&mut self, number: u64, at: Nanos) {
        let next = self.next.unwrap_or(number);
        if number < next {
            return self.settle_range(number..=number, Fate::Came);
        }
        self.next = Some(number.saturating_add(1));
        self.ahead = self.ahead.filter(|(ahead, _)| *ahead > number);
        if number > next {
            // Some count the packets of the handshake, too: those before the first one may never have been.
            let is_refused = next == 0;
            let range = MissingNumbers { start: next, end: number, since: at, is_refused };
            self.missing.push_back(range);
        }
        while self.missing.len() > MAX_MISSING
            && let Some(oldest) = self.missing.pop_front()
        {
            self.settle_one(oldest);
        }
    }

    /// A packet has come that was not read.
    pub fn add_unread(&mut self) {
        self.unread.grow(1);
    }

    /// Their receiver has got packets with these numbers.
    pub fn acknowledged(&mut self, numbers: std::ops::RangeInclusive<u64>, at: Nanos) {
        let last = *numbers.end();
        if self.next.is_some_and(|next| last >= next) {
            let since = self.ahead.map_or(at, |(_, since)| since);
            self.ahead = self.ahead.max(Some((last, since)));
        }
        self.settle_range(numbers, Fate::Acknowledged);
    }

    /// Their receiver has not got packets with these numbers, so far.
    pub fn refused(&mut self, numbers: std::ops::RangeInclusive<u64>) {
        self.settle_range(numbers, Fate::Refused);
    }

    /// The first number that is missing and may yet come.
    pub fn first_missing(&self) -> Option<u64> {
        self.missing.front().map(|first| first.start)
    }

    /// True if something is missing of which it is not known what became of it.
    pub fn is_waiting(&self) -> bool {
        !self.missing.is_empty() || self.ahead.is_some()
    }

    /// Settles what has been missing since before `limit`; all, without a limit.
    pub fn settle(&mut self, limit: Option<Nanos>) {
        let is_old = |since: Nanos| limit.is_none_or(|limit| since < limit);
        while let Some(oldest) = self.missing.pop_front_if(|oldest| is_old(oldest.since)) {
            self.settle_one(oldest);
        }
        if let Some((ahead, _)) = self.ahead.take_if(|(_, since)| is_old(*since)) {
            let next = self.next.unwrap_or(ahead);
            self.lost.grow(ahead.saturating_add(1).saturating_sub(next));
            self.next = Some(ahead.saturating_add(1));
        }
    }

    /// Observation was interrupted: what is missing up to the next packet is no loss.
    pub fn interrupt(&mut self) {
        self.missing.clear();
        (self.next, self.ahead) = (None, None);
    }

    /// Takes the number of packets that were lost since the last call.
    pub fn take_lost(&mut self) -> u64 {
        let excused = self.lost.min(self.unread);
        self.unread = self.unread.saturating_sub(excused);
        std::mem::take(&mut self.lost).saturating_sub(excused)
    }

    fn settle_one(&mut self, range: MissingNumbers) {
        if !range.is_refused {
            self.lost.grow(range.end.saturating_sub(range.start));
        }
    }

    fn settle_range(&mut self, numbers: std::ops::RangeInclusive<u64>, fate: Fate) {
        let (start, end) = (*numbers.start(), numbers.end().saturating_add(1));
        let is_one = |one: &MissingNumbers| one.start < end && start < one.end;
        if !self.missing.iter().any(is_one) {
            return;
        }
        for one in std::mem::take(&mut self.missing) {
            if !is_one(&one) {
                self.missing.push_back(one);
                continue;
            }
            let middle =
                MissingNumbers { start: one.start.max(start), end: one.end.min(end), ..one };
            if one.start < middle.start {
                self.missing.push_back(MissingNumbers { end: middle.start, ..one });
            }
            match fate {
                Fate::Came => {}
                Fate::Acknowledged => self.lost.grow(middle.end.saturating_sub(middle.start)),
                Fate::Refused => {
                    self.missing.push_back(MissingNumbers { is_refused: true, ..middle });
                }
            }
            if middle.end < one.end {
                self.missing.push_back(MissingNumbers { start: middle.end, ..one });
            }
        }
    }
}

/// The fate of packets that were missing.
#[derive(Clone, Copy)]
enum Fate {
    Came,
    Acknowledged,
    Refused,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn came(all: &[u64]) -> PacketNumbers {
        let mut numbers = PacketNumbers::default();
        for (time, number) in (0..).zip(all) {
            numbers.came(*number, Nanos(time));
        }
        numbers
    }

    #[test]
    fn a_number_that_was_acknowledged_and_did_not_come_is_lost() {
        let mut numbers = came(&[0, 1, 5, 2, 9]);
        assert_eq!(numbers.first_missing(), Some(3));
        numbers.acknowledged(3..=6, Nanos(9));
        assert_eq!((numbers.take_lost(), numbers.first_missing()), (3, Some(7)));
    }

    #[test]
    fn a_number_that_nobody_got_is_no_loss() {
        let mut numbers = came(&[0, 4]);
        numbers.acknowledged(4..=4, Nanos(9));
        numbers.refused(1..=3);
        numbers.acknowledged(0..=0, Nanos(9));
        numbers.settle(None);
        assert_eq!((numbers.take_lost(), numbers.is_waiting()), (0, false));
        // It may still turn out to have come.
        let mut numbers = came(&[0, 4]);
        numbers.refused(1..=3);
        numbers.acknowledged(2..=2, Nanos(9));
        assert_eq!(numbers.take_lost(), 1);
    }

    #[test]
    fn without_acknowledgements_it_may_be_lost() {
        let mut numbers = came(&[0, 3, 4, 7]);
        numbers.settle(Some(Nanos(3)));
        assert_eq!((numbers.take_lost(), numbers.first_missing()), (2, Some(5)));
        numbers.settle(None);
        assert_eq!((numbers.take_lost(), numbers.is_waiting()), (2, false));
    }

    #[test]
    fn numbers_before_the_first_are_lost_only_if_they_were_acknowledged() {
        let mut numbers = came(&[4]);
        numbers.acknowledged(2..=4, Nanos(1));
        numbers.settle(None);
        assert_eq!((numbers.take_lost(), numbers.is_waiting()), (2, false));
    }

    #[test]
    fn the_last_packets_may_be_missing() {
        let mut numbers = came(&[0]);
        numbers.acknowledged(0..=3, Nanos(4));
        assert!(numbers.is_waiting());
        numbers.came(1, Nanos(5));
        numbers.settle(None);
        assert_eq!((numbers.take_lost(), numbers.is_waiting()), (2, false));
    }

    #[test]
    fn packets_that_were_not_read_and_pauses_are_no_losses_of_their_own() {
        let mut numbers = came(&[0]);
        numbers.add_unread();
        numbers.came(3, Nanos(1));
        numbers.settle(None);
        assert_eq!(numbers.take_lost(), 1);
        numbers.interrupt();
        numbers.came(500, Nanos(2));
        numbers.settle(None);
        assert_eq!(numbers.take_lost(), 0);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut numbers = came(&(0..1000).map(|n| 2 * n).collect::<Vec<_>>());
        assert_eq!(numbers.missing.len(), MAX_MISSING);
        assert_eq!(numbers.take_lost(), 999 - MAX_MISSING as u64);
    }
}
