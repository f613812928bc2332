//! The subscribers that are or were behind.

use super::Picture;
use wirelap_events::{Nanos, Saturate, TopicId};
use wirelap_why::{Lag, Shortfall, SlowSubscriber, SlowSubscribers};

/// Subscribers in a snapshot before the end, and at it.
const MAX_LISTED: [usize; 2] = [64, 1_024];

impl Picture<'_> {
    /// The subscribers that are or were behind, as they were at the last look.
    pub(super) fn slow_subscribers(&self) -> SlowSubscribers {
        let all = self.accounts.shortfalls.slow();
        let listed = MAX_LISTED[usize::from(self.overdue_at_end.is_some())];
        let mut more = self.accounts.shortfalls.evicted();
        more.grow(all.len().saturating_sub(listed) as u64);
        SlowSubscribers {
            behind: all.iter().filter(|(one, _)| one.now.is_some()).count() as u64,
            listed: all.into_iter().take(listed).map(|one| self.slow_subscriber(one)).collect(),
            more,
        }
    }

    fn slow_subscriber(
        &self,
        (one, (most, most_at)): (&Shortfall, (Lag, Nanos)),
    ) -> SlowSubscriber {
        let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let seen = self.seen.conversations;
        let topic = |id: TopicId| seen.topic(id).map(text);
        let client = |id: TopicId| seen.client_name(id).map(text);
        SlowSubscriber {
            group: self.accounts.rows.root(one.group),
            client: one.subscriber.client.and_then(client),
            process: one.subscriber.pid.map(|pid| self.process_name(pid)),
            address: one.subscriber.address,
            topic: one.topic.and_then(topic),
            now: one.now,
            most,
            most_at,
        }
    }
}
