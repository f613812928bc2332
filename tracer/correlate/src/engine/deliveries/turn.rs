//! Messages of equal content: which of them a leg carried is decided when it is complete.

use super::{Context, Deliveries};
use crate::flow::FlowTable;
use crate::ids::LegKey;
use crate::join::Habit;
use crate::lag::PairKey;
use crate::marks::Marks;
use wirelap_events::Nanos;
use wirelap_protocols::Protocol;

/// So often the messages of a leg are compared with those that came later, a thousand at a time.
const MOST_ROUNDS: usize = 64;

impl Deliveries {
    /// Before a leg is completed: it may be that of a later message with the same content, if what it was taken for was dropped.
    pub(super) fn settle_turn(&mut self, key: LegKey, c: &mut Context<'_>) {
        if !self.messages.may_be_out_of_turn(key) {
            return;
        }
        let Some(leg) = self.messages.leg(key) else { return };
        let flow = c.conversations.flows().flow(leg.direction);
        // What has no room on the way waits at the server.
        let is_held_up = flow.is_some_and(|flow| {
            flow.closed_window || matches!(&flow.marks, Marks::Tcp(marks) if marks.is_backed_up())
        });
        let Some(message) = self.messages.message(leg.message).filter(|_| !is_held_up) else {
            return;
        };
        let pair: PairKey = (leg.way().id(), message.subject);
        let back = c.conversations.flows().flow(leg.direction.back());
        let subscribed = back.and_then(|back| back.subscribed).unwrap_or(Nanos(u64::MAX));
        let conversation = c.conversations.flows().get(leg.direction);
        let protocol = conversation.and_then(|one| one.protocol());
        // What a queue holds is for whoever reads it later.
        let subscribed =
            if protocol.is_some_and(Protocol::keeps_messages) { Nanos(0) } else { subscribed };
        let habit = c.accounts.lag.pair(pair).map(|pair| {
            // It may be another topic that it has subscribed to since.
            Habit { since: pair.began.min(subscribed), dwell: pair.dwell }
        });
        for _ in 0..MOST_ROUNDS {
            let Some((left_out, last)) = self.messages.settle_turn(key, habit) else { return };
            let Some(leg) = self.messages.leg(last) else { return };
            let number = self.messages.message(leg.message).and_then(|message| message.number);
            if let Some(number) = number {
                let left_out = u64::try_from(left_out).unwrap_or(u64::MAX);
                c.accounts.lag.left_out(pair, (number, left_out), leg.at);
            }
            self.note_releases(key, last, c.conversations.flows());
        }
    }

    /// Notes since when legs of a way, of which these are the first and the last, were allowed to be sent.
    fn note_releases(&mut self, first: LegKey, last: LegKey, flows: &FlowTable) {
        let Some(direction) = self.messages.leg(first).map(|leg| leg.direction) else { return };
        let Some(flow) = flows.flow(direction) else { return };
        self.note_release(first, flows);
        for &key in &flow.pending {
            self.note_release(key, flows);
            if key == last {
                return;
            }
        }
    }
}
