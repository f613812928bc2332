//! The names that clients gave themselves.

use rustc_hash::FxHashMap;
use wirelap_events::{FlowId, TopicId};

/// Connections whose clients have a name, both ends counted.
const MAX_NAMED: usize = 262_144;

/// The names that clients gave themselves, by what they send. They are kept before anybody asks for rows by client: most clients say
/// their name only once.
#[derive(Debug, Default)]
pub struct ClientNames(FxHashMap<FlowId, TopicId>);

impl ClientNames {
    /// A client gives itself a name.
    pub fn name(&mut self, flow: FlowId, client: TopicId) {
        if self.0.len() < MAX_NAMED || self.0.contains_key(&flow) {
            self.0.insert(flow, client);
        }
    }

    /// The name of who sends on this flow.
    pub fn of(&self, flow: FlowId) -> Option<TopicId> {
        self.0.get(&flow).copied()
    }

    /// A conversation is forgotten.
    pub fn forget(&mut self, serial: u64) {
        let first = serial << 1;
        self.0.remove(&FlowId(first));
        self.0.remove(&FlowId(first | 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_goes_with_its_connection() {
        let mut names = ClientNames::default();
        names.name(FlowId(2), TopicId(5));
        names.name(FlowId(5), TopicId(6));
        assert_eq!((names.of(FlowId(2)), names.of(FlowId(3))), (Some(TopicId(5)), None));
        names.forget(1);
        assert_eq!((names.of(FlowId(2)), names.of(FlowId(5))), (None, Some(TopicId(6))));
    }
}
