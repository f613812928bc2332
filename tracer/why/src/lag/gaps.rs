//! Messages of a topic that a subscriber did not get, while it got those before and after.
//!
//! ```text
//! published    1 2 3 4 5 6 7 8 9
//! subscriber   1 2 3 4 5 6 7 8 9      it gets all
//! another      1 2 3 4 · 6 · · 9      it got all, and then the broker has dropped 5, 7 and 8
//! ```
//!
//! Members of a group get a share each: what one does not get, another one does. So nobody is said to have missed anything on a topic
//! of which another subscriber gets only a part, or got until it left, unless that one is known to be of a group. Where all that get a part
//! get less than the whole together, they are no group, unless others of it are not seen.

use wirelap_events::{Nanos, Saturate};
use wirelap_figures::ReaderGroup;
use wirelap_limits::lag::{MAX_OVERTAKING, MIN_RUN, ONE_MISSED_OF};

/// Messages that one subscriber got of a topic since it got all of them, or as long as it never did, and those that it missed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gaps {
    /// Messages up to this number were published before it was there.
    from: u64,
    /// Messages in a row, until they are enough.
    run: u8,
    /// There were enough once: since then, it counts.
    was_there: bool,
    group: ReaderGroup,
    got: u64,
    /// Not got: long ago, before the last mark, and since.
    settled: u64,
    before: u64,
    recent: u64,
    mark: Nanos,
    /// Time at which the first message was found to be missing.
    since: Option<Nanos>,
}

/// Messages of a topic that a subscriber has missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GapCount {
    /// Number of messages that the subscriber has missed.
    pub messages: u64,
    /// Number of messages since it got all, those included.
    pub whole: u64,
    /// Time at which the first was found to be missing.
    pub since: Nanos,
    /// True if another subscriber got them.
    pub others_got: bool,
    /// False if the subscriber never got so many in a row that it is there for all of them: it may share them with others that are not seen.
    pub is_sure: bool,
}

impl Gaps {
    /// Counts for a subscriber that gets the messages after this number.
    pub fn after(from: u64) -> Gaps {
        Gaps { from, ..Gaps::default() }
    }

    /// Message `number` comes after `last`, the newest so far.
    pub fn got(&mut self, last: u64, number: u64, at: Nanos) {
        if self.run < MIN_RUN {
            let is_next = number == last.saturating_add(1);
            self.run = if is_next { self.run.saturating_add(1) } else { 0 };
            if self.run == MIN_RUN && !self.was_there {
                let Gaps { from, run, group, .. } = *self;
                *self = Gaps { from, run, group, was_there: true, ..Gaps::default() };
                return;
            }
            if self.was_there {
                return;
            }
        }
        if at >= self.mark + MAX_OVERTAKING {
            self.settled.grow(self.before);
            self.before = std::mem::take(&mut self.recent);
            self.mark = at;
        }
        if number > last {
            let missing = number.saturating_sub(1).saturating_sub(last.max(self.from));
            self.recent.grow(missing);
            if missing > 0 {
                self.since.get_or_insert(at);
            }
        } else if number < last {
            // Another publisher's message overtook it.
            let known = [&mut self.recent, &mut self.before, &mut self.settled];
            if let Some(count) = known.into_iter().find(|count| **count > 0) {
                count.shrink(1);
            }
        }
        self.got.grow(u64::from(number != last));
    }

    /// The number of the message was taken for the next one, which shows nothing of who may get a share.
    pub fn guessed(&mut self) {
        if self.run < MIN_RUN {
            self.run = 0;
        }
    }

    /// The message shows in which group it is read.
    pub fn read_in(&mut self, group: ReaderGroup) {
        if group != ReaderGroup::Unknown {
            self.group = group;
        }
    }

    /// Starts again after message `number`: the subscriber had unsubscribed, so what it did not get
    /// until then was not for it.
    pub fn begin_again(&mut self, number: u64) {
        self.from = number;
        self.run = 0;
    }

    /// Messages up to `number` are not missing, if it did not get them: they could not be sent to it.
    pub fn exclude(&mut self, number: u64) {
        self.from = self.from.max(number);
    }

    /// Messages that it did not get, and that will not come any more.
    pub fn count(&self, now: Nanos) -> u64 {
        let before = if now >= self.mark + MAX_OVERTAKING { self.before } else { 0 };
        let recent =
            if now >= self.mark + MAX_OVERTAKING + MAX_OVERTAKING { self.recent } else { 0 };
        self.settled.saturating_add(before).saturating_add(recent)
    }

    /// True if the subscriber got all messages, but for a few.
    fn gets_all(&self, now: Nanos) -> bool {
        self.run >= MIN_RUN && self.count(now).saturating_mul(ONE_MISSED_OF) <= self.got
    }

    /// True if the subscriber is there for all messages: it got so many in a row, or is known to be in no group.
    fn is_there_for_all(&self) -> bool {
        self.run >= MIN_RUN || !self.was_there && self.group == ReaderGroup::None
    }

    /// The part of the messages that the subscriber got, if it is in no group that is known, and did not get all.
    pub fn part(&self, now: Nanos) -> Option<f64> {
        let missed = self.count(now);
        let is_part = !self.is_in_group() && !self.gets_all(now) && self.got > 0;
        is_part.then(|| self.got as f64 / self.got.saturating_add(missed) as f64)
    }

    /// True if the subscriber is known to be in a group.
    fn is_in_group(&self) -> bool {
        matches!(self.group, ReaderGroup::Named(_))
    }

    /// True if the subscriber has missed some messages, as far as it is there for all of them.
    pub fn has_missed(&self, now: Nanos) -> bool {
        let is_known = self.is_there_for_all() || !self.was_there && self.got >= MIN_RUN.into();
        is_known && self.count(now) > 0
    }

    /// True if the subscriber may be one of a group, each member of which gets a share.
    pub fn may_share(&self, now: Nanos) -> bool {
        !self.is_in_group() && !self.gets_all(now)
    }

    /// Counts the messages that the subscriber has missed of a topic that the `others` get, too; `None` if it is in a group, or if the
    /// comparison proves nothing. Those that get a part may share the topic as a group unless `is_no_group`.
    pub fn missed_beside<'o>(
        &self,
        others: impl Iterator<Item = &'o Gaps>,
        is_no_group: bool,
        now: Nanos,
    ) -> Option<GapCount> {
        let is_sure = self.is_there_for_all();
        if self.is_in_group() || !is_sure && !is_no_group {
            return None;
        }
        // What nobody got may be on its way to the broker.
        let mut nobodys = None::<u64>;
        for other in others.filter(|other| !other.is_in_group()) {
            if !other.gets_all(now) {
                if is_no_group && !other.is_there_for_all() {
                    continue;
                }
                return None;
            }
            let count = other.count(now);
            nobodys = Some(nobodys.map_or(count, |known| known.min(count)));
        }
        if !is_sure && nobodys.is_none() {
            return None;
        }
        let count = self.count(now);
        let messages = count.saturating_sub(nobodys.unwrap_or_default());
        (messages > 0).then_some(GapCount {
            is_sure,
            messages,
            whole: self.got.saturating_add(count),
            since: self.since.unwrap_or(now),
            others_got: nobodys.is_some(),
        })
    }
}
