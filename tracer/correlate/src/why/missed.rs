//! Messages that a broker did not pass on to one subscriber, while others got them.

use wirelap_events::{Nanos, Pid};

/// Messages that subscribers have missed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissedMessages {
    /// The subscriber that missed most.
    pub most: Option<MissedBy>,
    /// On how many topics of subscribers.
    pub times: u64,
    /// Number of messages in all.
    pub messages: u64,
}

/// Messages that one subscriber has missed of a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissedBy {
    /// The subscriber's process.
    pub pid: Option<Pid>,
    /// The topic, if it is known.
    pub topic: Option<String>,
    /// Number of messages that it missed, of those since it got all.
    pub messages: u64,
    /// Number of messages since it got all.
    pub whole: u64,
    /// Time after the observation's beginning at which the first was found to be missing.
    pub from: Nanos,
    /// Another subscriber got them.
    pub others_got: bool,
}

impl MissedMessages {
    /// Adds what one has missed.
    pub fn count(&mut self, one: MissedBy) {
        let messages = one.messages;
        self.add(MissedMessages { most: Some(one), times: 1, messages });
    }

    /// Adds another's.
    pub fn add(&mut self, other: MissedMessages) {
        self.times = self.times.saturating_add(other.times);
        self.messages = self.messages.saturating_add(other.messages);
        let both = [self.most.take(), other.most].into_iter().flatten();
        self.most = both.max_by_key(|one| (one.others_got, one.messages));
    }
}
