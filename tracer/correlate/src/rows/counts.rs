//! Messages by what became of them.

use std::ops::AddAssign;
use wirelap_events::Saturate;

/// Messages by what became of them. `delivered ≥ matched`; with fan-out, both may be above `sent`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages published: seen on their first leg (warm-up left out). One that goes to a hundred
    /// subscribers is one.
    pub sent: u64,
    /// Deliveries seen: last legs that were read. A message to a hundred subscribers has a hundred.
    pub delivered: u64,
    /// Deliveries with every leg from first send to last read.
    pub matched: u64,
    /// Deliveries that could not be joined with their sends: a gap, a truncation, an attach in mid-stream.
    pub uncovered: u64,
    /// Times that a message was sent to somebody here and not seen to be read.
    pub never_read: u64,
    /// Deliveries without all legs that a pause of the observation may have cut, or its beginning: they were read shortly after one, or were on
    /// their way when one began. They are not in `uncovered`.
    pub cut: u64,
    /// Sends whose messages were on their way when observation paused; not in `never_read`.
    pub unfinished: u64,
    /// Copies that the protocol marks as duplicates, or that repeat a stamp.
    pub duplicates: u64,
    /// Messages that the broker had stored, handed to a subscriber that came later; not in the figures
    /// above.
    pub retained: u64,
    /// Messages of the warm-up, not in the figures above.
    pub warmup: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.sent.grow(other.sent);
        self.delivered.grow(other.delivered);
        self.matched.grow(other.matched);
        self.uncovered.grow(other.uncovered);
        self.never_read.grow(other.never_read);
        self.cut.grow(other.cut);
        self.unfinished.grow(other.unfinished);
        self.duplicates.grow(other.duplicates);
        self.retained.grow(other.retained);
        self.warmup.grow(other.warmup);
    }
}

impl Counts {
    /// The share of deliveries that were followed from end to end, of those that could be: `elsewhere` began on another host. 1 if
    /// there are none.
    pub fn coverage(&self, elsewhere: u64) -> f64 {
        let whole = self.delivered.saturating_sub(self.cut).saturating_sub(elsewhere);
        if whole == 0 { 1.0 } else { self.matched as f64 / whole as f64 }
    }

    /// The count of deliveries that were not followed, by whether a pause may have cut them.
    pub(crate) fn of_unfollowed(&mut self, may_be_cut: bool) -> &mut u64 {
        if may_be_cut { &mut self.cut } else { &mut self.uncovered }
    }

    /// The count that a message adds to when it is first seen.
    pub(crate) fn of_sent(&mut self, is_warmup: bool) -> &mut u64 {
        if is_warmup { &mut self.warmup } else { &mut self.sent }
    }
}
