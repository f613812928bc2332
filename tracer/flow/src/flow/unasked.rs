//! Topics that a consumer's requests for messages leave out for a time: it still has messages of them, or has paused them.

use rustc_hash::FxHashSet;

/// The most topics of a consumer that are remembered.
const MAX_TOPICS: usize = 4096;

/// Topics by their numbers.
#[derive(Debug, Default)]
pub struct UnaskedTopics(FxHashSet<u64>);

impl UnaskedTopics {
    /// Notes whether requests are for a topic from now on.
    pub fn note(&mut self, topic: u64, asks: bool) {
        if asks {
            self.0.remove(&topic);
        } else if self.0.len() < MAX_TOPICS {
            self.0.insert(topic);
        }
    }

    /// True if the topic is among them.
    pub fn contains(&self, topic: u64) -> bool {
        self.0.contains(&topic)
    }
}
