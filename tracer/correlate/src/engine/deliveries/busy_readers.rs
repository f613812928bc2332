//! Readers that leave messages unread, and topics of which a broker may keep messages for them.

use crate::rows::Rows;
use rustc_hash::FxHashSet;
use wirelap_events::{FlowId, GroupId};
use wirelap_flow::Direction;

/// A row and the number of one of its topics, 0 if that is not known.
pub type RowTopic = (GroupId, u64);

/// Readers in whose sockets messages lie unread.
#[derive(Default)]
pub struct BusyReaders {
    connections: FxHashSet<FlowId>,
    topics: FxHashSet<RowTopic>,
}

impl BusyReaders {
    /// Notes that a message of a topic lies unread at the end of a direction.
    pub fn note(&mut self, (row, topic): RowTopic, direction: Direction) {
        self.connections.insert(direction.id());
        // A message of a topic that is not known may be for any of them.
        self.topics.extend([(row, topic), (row, 0)]);
    }

    /// True if one of these readers gets a topic, as far as is known.
    pub fn include_those_of(&self, (row, topic): RowTopic, rows: &Rows) -> bool {
        let get_earlier = || {
            let row = rows.get(row);
            let mut readers = row.into_iter().flat_map(|row| row.readers.connections(topic));
            readers.any(|direction| self.connections.contains(&direction.id()))
        };
        self.topics.contains(&(row, topic)) || !self.topics.is_empty() && get_earlier()
    }
}
