//! Number of clients of a run, and their topics.

use crate::DistributionSummary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wirelap_events::human::{counted, exact};

/// How many clients a result had, and on which topics.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Topology {
    /// Publishers, each with a connection of its own unless `handles` is `shared`. They send in turn.
    pub publishers: u32,
    /// Subscribers, each with a connection of its own.
    pub subscribers: u32,
    /// Topics; publisher p publishes on topic p modulo this number.
    pub topics: u32,
    /// Connections that were opened and sent no messages.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub connections: u32,
    /// The topics of a subscriber: `own`, subscriber s has topic s modulo the number of topics; `all`; or `shared`, each message
    /// goes to one of the subscribers.
    pub subscription: String,
    /// Whether publishers in threads of their own had a connection each (`own`) or one behind a mutex (`shared`); absent if one
    /// thread published for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handles: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Topology {
    /// The clients in a few words: `1,000 publishers · 5 subscribers that share 1,000 topics`.
    pub fn in_words(&self) -> String {
        if self.connections > 0 {
            return counted(self.connections.into(), "connection");
        }
        let publishers = counted(self.publishers.into(), "publisher");
        let publishers = match self.handles.as_deref() {
            Some("shared") => format!("{publishers} that share a connection"),
            Some(_) => format!("{publishers} in threads of their own"),
            None => publishers,
        };
        let subscribers = counted(self.subscribers.into(), "subscriber");
        let topics = counted(self.topics.into(), "topic");
        let subscribers = match self.subscription.as_str() {
            "shared" => format!("{subscribers} that share {topics}"),
            "all" if self.topics > 1 => {
                format!("{subscribers} of all {} topics", exact(self.topics.into()))
            }
            _ => format!("{subscribers} · {topics}"),
        };
        format!("{publishers} · {subscribers}")
    }
}

/// Connections that a run opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Connections {
    /// Connections that were to be opened, in all repetitions.
    pub wanted: u64,
    /// Connections that were opened.
    pub opened: u64,
    /// From the time at which a connection was to be opened until the broker had accepted it, by the client's clock.
    pub connect_ns: DistributionSummary,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_told_in_words() {
        let of = |publishers, subscribers, topics, subscription: &str| {
            let subscription = subscription.to_owned();
            Topology { publishers, subscribers, topics, subscription, ..Topology::default() }
        };
        let cases = [
            (of(1000, 1000, 1000, "own"), "1,000 publishers · 1,000 subscribers · 1,000 topics"),
            (of(1, 1000, 1, "own"), "1 publisher · 1,000 subscribers · 1 topic"),
            (of(5, 1000, 5, "all"), "5 publishers · 1,000 subscribers of all 5 topics"),
            (
                of(1000, 5, 1000, "shared"),
                "1,000 publishers · 5 subscribers that share 1,000 topics",
            ),
        ];
        for (topology, expected) in cases {
            assert_eq!(topology.in_words(), expected);
        }
    }
}
