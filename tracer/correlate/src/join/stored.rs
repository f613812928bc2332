//! Finds messages by their places in a server's log.

use super::index::Listed;
use rustc_hash::FxHashMap;
use wirelap_protocols::LogPlace;

/// The open messages whose places are known.
#[derive(Debug, Default)]
pub struct StoredMessages(FxHashMap<LogPlace, Listed>);

impl StoredMessages {
    /// The message at a place.
    pub fn get(&self, place: LogPlace) -> Option<Listed> {
        self.0.get(&place).copied()
    }

    /// Adds a message at a place. Two clusters may have logs of one name: the newer message takes the place.
    pub fn add(&mut self, place: LogPlace, message: Listed) {
        self.0.insert(place, message);
    }

    /// Removes a message.
    pub fn remove(&mut self, place: LogPlace, message: Listed) {
        if self.get(place) == Some(message) {
            self.0.remove(&place);
        }
    }
}
