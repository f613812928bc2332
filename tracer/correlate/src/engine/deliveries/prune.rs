//! Observations that nobody will ask for any more.

use super::Deliveries;
use crate::join::Assemblies;
use std::collections::VecDeque;
use wirelap_events::{Nanos, Offset};
use wirelap_flow::{AssemblyId, Direction, FlowTable, Marks, UdpMarks};
use wirelap_protocols::stream::Stream;

impl Deliveries {
    /// Forgets the marks that nobody will ask for.
    pub(super) fn prune(&self, direction: Direction, now: Nanos, flows: &mut FlowTable) {
        let patience = now - Nanos(self.config.hold.0.saturating_mul(10));
        let long_ago = now - Nanos(self.config.patience.0.saturating_mul(4));
        let Some(conversation) = flows.get(direction) else {
            return;
        };
        let in_streams = conversation.oldest_in_streams(direction.side);
        let pending = &conversation.flow(direction.side).messages.pending;
        let all = pending.iter().take(if conversation.has_streams() { usize::MAX } else { 1 });
        let first = all.filter_map(|key| self.messages.leg(*key)).map(|leg| leg.extent.start).min();
        let unplaced = self.first_unplaced(direction);
        let Some(flow) = flows.flow_mut(direction) else {
            return;
        };
        let acknowledged = flow.settle_acknowledgements();
        match &mut flow.marks {
            Marks::Tcp(marks) => {
                let next = flow.bytes.next().unwrap_or(Offset(0));
                let open = flow.stream.as_ref().map_or(u64::MAX, Stream::pending_bytes);
                let decoded = Offset(next.0.saturating_sub(open));
                let trips = flow.round_trips.as_ref().and_then(|trips| trips.wants_from());
                let wanted = [first, trips, unplaced, acknowledged].into_iter().flatten().min();
                marks.prune(wanted.map_or(decoded, |wanted| wanted.min(decoded)), long_ago);
            }
            Marks::Udp(marks) => {
                let next = marks.next();
                let first = first.map_or(next, |first| first.min(next));
                let open =
                    begins(&self.assemblies, &mut flow.messages.assembling, marks, direction);
                let first = open.map_or(first, |open| open.min(first));
                // A stream may have ended within a message.
                marks.prune(first, long_ago);
                marks.prune(in_streams.map_or(first, |open| open.min(first)), patience);
            }
        }
    }
}

/// Start of the oldest message in fragments that is open in a direction; forgets those before it that are
/// not.
fn begins(
    assemblies: &Assemblies,
    assembling: &mut VecDeque<AssemblyId>,
    marks: &UdpMarks,
    direction: Direction,
) -> Option<Offset> {
    while let Some(&oldest) = assembling.front() {
        let number = assemblies.get(oldest).and_then(|assembly| assembly.oldest_on(direction));
        if let Some(datagram) = number.and_then(|number| marks.get(number)) {
            return Some(datagram.range.start);
        }
        assembling.pop_front();
    }
    None
}
