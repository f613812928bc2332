//! Forgetting what is no longer of use.

use crate::Correlator;
use crate::flow::{Conversation, Marks, State, Way};
use crate::ledger::add;
use wirelap_events::{Nanos, Offset};
use wirelap_protocols::stream::Stream;

/// How often what is closed is looked for.
const SWEEP: Nanos = Nanos::from_millis(1_000);

impl Correlator {
    /// Forgets the marks that nobody will ask for.
    pub(crate) fn prune(&mut self, way: Way) {
        let patience = self.now - Nanos(self.config.hold.0.saturating_mul(10));
        let first = self.flows.flow(way).and_then(|flow| flow.pending.front()).copied();
        let first = first.and_then(|key| self.messages.leg(key)).map(|leg| leg.extent.start);
        let Some(flow) = self.flows.flow_mut(way) else { return };
        match &mut flow.marks {
            Marks::Tcp(marks) => {
                let next = flow.bytes.next().unwrap_or(Offset(0));
                let open = flow.stream.as_ref().map_or(u64::MAX, Stream::pending_bytes);
                let decoded = Offset(next.0.saturating_sub(open));
                marks.prune(first.map_or(decoded, |first| first.min(decoded)));
            }
            Marks::Udp(marks) => {
                let next = marks.next();
                marks.prune(first.map_or(next, |first| first.min(next)), patience);
            }
        }
    }

    /// Once a second: forgets what is closed.
    pub(crate) fn sweep(&mut self) {
        if self.now < self.swept + SWEEP {
            return;
        }
        self.swept = self.now;
        let limit = self.now - self.config.patience;
        let is_over = |conversation: &Conversation| {
            conversation.closed && !conversation.active && conversation.seen < limit
        };
        let over: Vec<Way> = self
            .flows
            .iter()
            .filter(|(_, conversation)| is_over(conversation))
            .map(|(way, _)| way)
            .collect();
        for way in over {
            self.forget(way);
        }
        self.sockets.sweep(limit);
    }

    /// Forgets a conversation; what it added up to stays.
    pub(crate) fn forget(&mut self, way: Way) {
        let row = self.row_of(way);
        let Some(gone) = self.flows.remove(way) else { return };
        self.totals.undecoded += gone.undecoded_bytes();
        self.totals.mark_evictions +=
            gone.flows.iter().map(|flow| flow.marks.evicted()).sum::<u64>();
        if matches!(gone.state, State::Decoding(..)) {
            self.totals.uncaptured += gone.uncaptured;
        }
        if let Some(row) = row.and_then(|row| self.rows.get_mut(row)) {
            add(&mut row.past, &gone.ledger.overhead());
        }
    }
}
