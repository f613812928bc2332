//! Forgetting what is no longer of use.

use super::correlator::Correlator;
use crate::flow::Conversation;
use crate::ids::{AssemblyId, Way};
use crate::join::Assemblies;
use crate::marks::{Marks, UdpMarks};
use std::collections::VecDeque;
use wirelap_events::{Nanos, Offset, SocketId};
use wirelap_protocols::stream::Stream;

/// How often what is closed is looked at.
const SWEEP: Nanos = Nanos::from_millis(1_000);

impl Correlator {
    /// Forgets the marks that nobody will ask for.
    pub(crate) fn prune(&mut self, way: Way) {
        let patience = self.now - Nanos(self.config.hold.0.saturating_mul(10));
        let long_ago = self.now - Nanos(self.config.patience.0.saturating_mul(4));
        let first = self.flows.flow(way).and_then(|flow| flow.pending.front()).copied();
        let first = first.and_then(|key| self.messages.leg(key)).map(|leg| leg.extent.start);
        let Some(flow) = self.flows.flow_mut(way) else { return };
        match &mut flow.marks {
            Marks::Tcp(marks) => {
                let next = flow.bytes.next().unwrap_or(Offset(0));
                let open = flow.stream.as_ref().map_or(u64::MAX, Stream::pending_bytes);
                let decoded = Offset(next.0.saturating_sub(open));
                marks.prune(first.map_or(decoded, |first| first.min(decoded)), long_ago);
            }
            Marks::Udp(marks) => {
                let next = marks.next();
                let first = first.map_or(next, |first| first.min(next));
                let open = begins(&self.assemblies, &mut flow.assembling, marks, way);
                marks.prune(open.map_or(first, |open| open.min(first)), patience);
            }
        }
    }

    /// Once a second: forgets what is closed, and frees what idle conversations do not need. Its cost does
    /// not grow with the conversations that are open.
    pub(crate) fn sweep(&mut self) {
        if self.now < self.swept + SWEEP {
            return;
        }
        self.swept = self.now;
        for _ in 0..self.closing.len() {
            let Some(way) = self.closing.pop_front() else { break };
            let Some(conversation) = self.flows.get(way) else { continue };
            if self.is_over(conversation) {
                self.forget(way);
            } else {
                self.closing.push_back(way);
            }
        }
        self.sockets.sweep(self.now - self.config.patience);
        self.flows.shrink_some(self.now - self.config.patience);
    }

    /// Whether nothing more is expected of a conversation that ends: soon after both of its sockets
    /// are gone; the other end of one alone may still have to read.
    fn is_over(&self, conversation: &Conversation) -> bool {
        let flow = &conversation.flows[0];
        let is_gone =
            |id: SocketId| self.sockets.get(id).is_none_or(|entry| entry.closed.is_some());
        let are_gone = [flow.sender, flow.receiver].into_iter().flatten().all(is_gone);
        let rest = if are_gone { self.config.hold } else { self.config.patience };
        !conversation.active && conversation.seen + rest < self.now
    }

    /// Forgets a conversation; what it added up to stays.
    pub(crate) fn forget(&mut self, way: Way) {
        let row = self.row_of(way);
        self.keep_unknown(way);
        let Some(mut gone) = self.flows.remove(way) else { return };
        self.totals.hide(gone.take_hidden());
        match row.and_then(|row| self.rows.get_mut(row)) {
            Some(row) => {
                gone.ledger.add_to(&mut row.past);
                row.past_holes += gone.holes();
            }
            None => {
                if let Some(server) = gone.probed_server() {
                    self.probe_connections.keep(server, &gone.ledger);
                }
            }
        }
    }
}

/// Where the oldest message in fragments begins on a way that is open. Forgets the others before it.
fn begins(
    assemblies: &Assemblies,
    assembling: &mut VecDeque<AssemblyId>,
    marks: &UdpMarks,
    way: Way,
) -> Option<Offset> {
    while let Some(&oldest) = assembling.front() {
        let number = assemblies.get(oldest).and_then(|assembly| assembly.oldest_on(way));
        if let Some(datagram) = number.and_then(|number| marks.get(number)) {
            return Some(datagram.range.start);
        }
        assembling.pop_front();
    }
    None
}
