//! Messages that came while a subscriber with a session was away, and that it is not sent when it comes back.
//!
//! ```text
//! published                 1 2 3 4 5 6 7 8 9
//! sent, first connection    1 2 3 4
//! sent, next connection             5 6     9      its broker kept the session, and not 7 and 8
//! ```
//!
//! A broker may send it what is published now before what it kept: what seemed lost until then is taken off again.
//!
//! Messages that are not kept for anybody (`QoS` 0) are left out, and those count as expired whose time was over.

use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use wirelap_events::{GroupId, Nanos, Saturate, TopicId};
use wirelap_protocols::KeptFor;

/// Runs of messages of a topic that are remembered.
const MAX_RUNS: usize = 64;

/// Sessions of subscribers that are away.
const MAX_SESSIONS: usize = 16_384;

/// Messages that came while a subscriber was away and that it is not sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AwayLoss {
    /// Their number.
    pub messages: u64,
    /// Number of those whose time was over.
    pub expired: u64,
}

/// A topic of a subscriber that has come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResumedTopic {
    /// The number of the last message that it was sent before.
    pub sent: u64,
    /// The number of the last message that came while it was away.
    pub until: u64,
}

/// What a message that a subscriber gets tells of those that came while it was away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AwayCount {
    /// Those before it that are missing.
    pub lost: AwayLoss,
    /// The message itself, if it was missing before a later one.
    pub late: AwayLoss,
    /// Where its topic goes on, if the subscriber has just come back.
    pub resumed: Option<ResumedTopic>,
}

impl ResumedTopic {
    /// True if a message that comes after message `sent` came while the subscriber was away, and was missing until now.
    pub(super) fn is_late(self, number: u64, sent: u64) -> bool {
        number > self.sent && number <= sent.min(self.until)
    }
}

/// Successive messages that are kept for the same time.
#[derive(Clone, Copy, Debug)]
struct PassingRun {
    first: u64,
    last: u64,
    /// Time for which each is kept; `None` if they are not kept at all.
    lasts: Option<Nanos>,
}

/// Runs of messages of a topic that are not kept for ever.
#[derive(Debug, Default)]
pub(super) struct PassingRuns {
    runs: VecDeque<PassingRun>,
    /// The number of the last message of a run that is not remembered any more.
    forgotten: u64,
}

impl PassingRuns {
    /// Message `number` is kept for so long.
    pub fn add(&mut self, number: u64, kept: KeptFor) {
        let lasts = match kept {
            KeptFor::Ever => return,
            KeptFor::Nobody => None,
            KeptFor::For(time) => Some(time),
        };
        if let Some(run) = self.runs.back_mut()
            && run.last.checked_add(1) == Some(number)
            && run.lasts == lasts
        {
            run.last = number;
            return;
        }
        if self.runs.len() >= MAX_RUNS {
            self.forgotten = self.runs.pop_front().map_or(0, |run| run.last);
        }
        self.runs.push_back(PassingRun { first: number, last: number, lasts });
    }

    /// The messages from one number to another that are missing at `now`. `published_by` is a time at which a message had been published.
    pub fn missing(
        &self,
        from: u64,
        to: u64,
        now: Nanos,
        published_by: impl Fn(u64) -> Option<Nanos>,
    ) -> AwayLoss {
        let from = from.max(self.forgotten.saturating_add(1));
        if from > to {
            return AwayLoss::default();
        }
        let count =
            |first: u64, last: u64| last.min(to).saturating_add(1).saturating_sub(first.max(from));
        let mut lost = AwayLoss { messages: count(from, to), expired: 0 };
        for run in &self.runs {
            let Some(lasts) = run.lasts else {
                lost.messages.shrink(count(run.first, run.last));
                continue;
            };
            let has_expired = |number| published_by(number).is_some_and(|at| at + lasts <= now);
            // Of messages that are kept for the same time, the older ones expire first.
            let (mut first, mut end) = (run.first.max(from), run.last.min(to).saturating_add(1));
            let begin = first;
            while first < end {
                let middle = first.midpoint(end);
                if has_expired(middle) {
                    first = middle.saturating_add(1);
                } else {
                    end = middle;
                }
            }
            lost.expired.grow(first.saturating_sub(begin));
        }
        lost
    }
}

/// A topic of a row, and a client that has a session.
type SessionKey = ((GroupId, u64), TopicId);

/// Clients that are away and have sessions, by topic and name, and the last message of the topic that each was sent.
#[derive(Debug, Default)]
pub(super) struct Sessions(FxHashMap<SessionKey, u64>);

impl Sessions {
    /// A client is gone that was sent the messages of a topic up to this one.
    pub fn leave(&mut self, topic: (GroupId, u64), client: TopicId, sent: u64) {
        if self.0.len() < MAX_SESSIONS || self.0.contains_key(&(topic, client)) {
            self.0.insert((topic, client), sent);
        }
    }

    /// The client comes back.
    pub fn take(&mut self, topic: (GroupId, u64), client: TopicId) -> Option<u64> {
        self.0.remove(&(topic, client))
    }

    /// Forgets those of rows, or of topics that have other numbers from now on.
    pub fn retain(&mut self, is_kept: impl Fn((GroupId, u64)) -> bool) {
        self.0.retain(|(topic, _), _| is_kept(*topic));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_kept_for_ever_is_told_apart() {
        let mut runs = PassingRuns::default();
        let second = |n: u64| Nanos::from_millis(n * 1_000);
        for number in 1..=40 {
            let kept = match number {
                1..=10 => KeptFor::Ever,
                11..=20 => KeptFor::Nobody,
                21..=30 => KeptFor::For(second(5)),
                _ => KeptFor::For(second(500)),
            };
            runs.add(number, kept);
        }
        let missing = |from, to| {
            let lost = runs.missing(from, to, second(30), |number| Some(second(number)));
            (lost.messages, lost.expired)
        };
        assert_eq!(missing(1, 10), (10, 0));
        // Those up to the twenty-fifth were published five seconds ago.
        assert_eq!(missing(1, 40), (30, 5));
        assert_eq!(missing(15, 24), (4, 4));
        assert_eq!(missing(31, 40), (10, 0), "their time is not over");
        for number in (41..400).step_by(2) {
            runs.add(number, KeptFor::Nobody);
        }
        assert_eq!(runs.runs.len(), MAX_RUNS);
        let lost = runs.missing(1, 40, second(900), |number| Some(second(number)));
        assert_eq!(lost.messages, 0, "it is not known any more");
    }
}
