//! The subscribers that are or were behind.

use super::Picture;
use crate::lag::{Behind, SlowSubscriber, SlowSubscribers};
use wirelap_events::{Saturate, TopicId};

/// Subscribers in a snapshot before the end, and at it.
const LISTED: [usize; 2] = [64, 1_024];

impl Picture<'_> {
    /// The subscribers that are or were behind, as they were at the last look.
    pub(super) fn slow_subscribers(&self) -> SlowSubscribers {
        let all = self.accounts.behind.in_order();
        let listed = LISTED[usize::from(self.overdue_at_end.is_some())];
        let mut more = self.accounts.behind.evicted();
        more.grow(all.len().saturating_sub(listed) as u64);
        SlowSubscribers {
            behind: all.iter().filter(|one| one.now.is_some()).count() as u64,
            listed: all.into_iter().take(listed).map(|one| self.slow_subscriber(one)).collect(),
            more,
        }
    }

    fn slow_subscriber(&self, behind: &Behind) -> SlowSubscriber {
        let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
        let seen = self.seen.conversations;
        let topic = |id: TopicId| seen.topic(id).map(text);
        let client = |id: TopicId| seen.client_name(id).map(text);
        SlowSubscriber {
            group: self.accounts.rows.root(behind.group),
            client: behind.client.and_then(client),
            process: behind.pid.map(|pid| self.process_name(pid)),
            address: behind.address,
            topic: behind.topic.and_then(topic),
            now: behind.now,
            most: behind.most,
            most_at: behind.most_at,
        }
    }
}
