//! The clients of a result, and the connections that it opened.

use super::outcome::{self, done};
use crate::measure::Outcome;
use wirelap_contract::topology::name;
use wirelap_contract::{Role, Topology};
use wirelap_events::{Nanos, Saturate};
use wirelap_report::{Connections, Samples};

/// The clients; `None` for one publisher and one subscriber.
pub fn topology(topology: Topology) -> Option<wirelap_report::Topology> {
    let Topology { publishers, subscribers, topics, connections, subscription, handles } = topology;
    (!topology.is_pair()).then(|| wirelap_report::Topology {
        publishers,
        subscribers,
        topics,
        connections,
        subscription: name(&subscription),
        handles: handles.as_ref().map(name),
    })
}

/// The connections that were opened in all repetitions; `None` if none was to be opened.
pub fn connections(all: &[&Outcome]) -> Option<Connections> {
    let mut sum = Connections::default();
    let mut times = Samples::new();
    for outcome in all {
        let one = outcome::connections(outcome)?;
        sum.wanted.grow(one.wanted);
        sum.opened.grow(one.opened);
        let counted = done(outcome, Role::Connect).and_then(|done| done.rtt.as_ref());
        for &(time, count) in counted.into_iter().flat_map(|rtt| &rtt.times_ns) {
            times.add_many(Nanos(time), count);
        }
    }
    Some(Connections { connect_ns: times.distribution(), ..sum })
}
