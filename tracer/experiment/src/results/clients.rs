//! The clients of a result, and the connections that it opened.

use super::merged::merged;
use super::outcome::done;
use crate::measure::Outcome;
use wirelap_contract::topology::name;
use wirelap_contract::{Role, WorkloadTopology};
use wirelap_events::{Nanos, Saturate};
use wirelap_report::{Connections, Repetition, Samples};

/// The clients; `None` for one publisher and one subscriber.
pub fn topology(topology: WorkloadTopology) -> Option<wirelap_report::Topology> {
    let WorkloadTopology { publishers, subscribers, topics, connections, subscription, handles } =
        topology;
    (!topology.is_pair()).then(|| wirelap_report::Topology {
        publishers,
        subscribers,
        topics,
        connections,
        subscription: name(&subscription),
        handles: handles.as_ref().map(name),
    })
}

/// The connections that a trial opened; `None` if it was to open none, or if it is not known how many were opened.
pub fn connections(outcome: &Outcome) -> Option<Connections> {
    let wanted = outcome.trial.workloads.topology.connections;
    let opened = done(outcome, Role::Connect).and_then(|done| done.sent)?;
    outcome.trial.connects().then(|| Connections {
        wanted: wanted.into(),
        opened,
        connect_ns: times(outcome).distribution(),
    })
}

/// Returns the times that the connections took which a trial opened.
pub fn times(outcome: &Outcome) -> Samples {
    let mut times = Samples::new();
    let counted = done(outcome, Role::Connect).and_then(|done| done.rtt.as_ref());
    for &(time, count) in counted.into_iter().flat_map(|rtt| &rtt.times_ns) {
        times.add_many(Nanos(time), count);
    }
    times
}

/// The connections that were opened in all repetitions; `None` if no repetition has any.
pub fn pooled(all: &[&Repetition]) -> Option<Connections> {
    let mut sum = Connections::default();
    let mut each = all.iter().filter_map(|one| one.connections).peekable();
    each.peek()?;
    for one in each {
        sum.wanted.grow(one.wanted);
        sum.opened.grow(one.opened);
    }
    let own = |one: &Repetition| one.connections.map(|one| one.connect_ns);
    let connect_ns = merged(all, own, |of| of.connect_ns.as_ref());
    Some(Connections { connect_ns, ..sum })
}
