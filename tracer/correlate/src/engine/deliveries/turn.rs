//! Messages of equal content: which of them a leg carried is decided when it is complete.

use super::circumstances::had_since;
use super::{Context, Deliveries};
use crate::join::{Habit, LegState};
use wirelap_events::Nanos;
use wirelap_flow::{FlowTable, LegKey, Marks};
use wirelap_protocols::Protocol;
use wirelap_why::PairKey;

/// So often the messages of a leg are compared with those that came later, a thousand at a time.
const MOST_ROUNDS: usize = 64;

impl Deliveries {
    /// Before a leg is completed: it may be that of a later message with the same content, if what it was taken for was dropped.
    pub(super) fn settle_turn(&mut self, key: LegKey, c: &mut Context<'_>) {
        if !self.messages.may_be_out_of_turn(key) {
            return;
        }
        let Some(leg) = self.messages.leg(key) else { return };
        let Some(message) = self.messages.message(leg.message) else { return };
        let pair: PairKey = (leg.way().id(), message.facts.subject);
        let Some(conversation) = c.conversations.flows().get(leg.direction) else { return };
        let flow = conversation.flow(leg.direction.side);
        // What a queue holds, or has no room on the way, is for whoever reads it later.
        let is_backed_up = matches!(&flow.marks, Marks::Tcp(marks) if marks.is_backed_up());
        let keeps = conversation.protocol().is_some_and(Protocol::keeps_messages);
        let subscribed = if keeps || flow.reader_pauses.closed_window || is_backed_up {
            Nanos(0)
        } else {
            let back = conversation.flow(leg.direction.back().side);
            if back.control().subscribed > Nanos(0) {
                back.control().subscribed
            } else {
                Nanos(u64::MAX)
            }
        };
        let habit = c.accounts.lag.pair(pair).map(|pair| {
            // It may be another topic that it has subscribed to since.
            Habit { since: pair.began.min(subscribed), dwell: pair.dwell }
        });
        for _ in 0..MOST_ROUNDS {
            let before = self.number_of(key);
            let flows = c.conversations.flows();
            let is_timed = |leg: &LegState, newest: &LegState| is_timed(leg, newest, flows);
            let Some((left_out, last)) = self.messages.settle_turn(key, habit, &is_timed) else {
                return;
            };
            let Some(at) = self.messages.leg(last).map(|leg| leg.at) else { return };
            if let (Some(before), Some(after), Some(last)) =
                (before, self.number_of(key), self.number_of(last))
            {
                let left_out = u64::try_from(left_out).unwrap_or(u64::MAX);
                c.accounts.lag.left_out(pair, (before, after), (last, left_out), at);
            }
            self.note_releases(key, last, c.conversations.flows());
        }
    }

    /// The number of a leg's message among those of its topic.
    fn number_of(&self, key: LegKey) -> Option<u64> {
        self.messages.message(self.messages.leg(key)?.message)?.number
    }

    /// Notes since when legs of a way, of which these are the first and the last, were allowed to be sent.
    fn note_releases(&mut self, first: LegKey, last: LegKey, flows: &FlowTable) {
        let Some(direction) = self.messages.leg(first).map(|leg| leg.direction) else { return };
        let Some(flow) = flows.flow(direction) else { return };
        self.note_release(first, flows);
        for &key in &flow.messages.pending {
            self.note_release(key, flows);
            if key == last {
                return;
            }
        }
    }
}

/// True if a thread that led to a leg's send was woken by a timer after its process had read what another leg brought: it has not sent
/// that. `None` if no thread was seen to wake since that was found.
fn is_timed(leg: &LegState, newest: &LegState, flows: &FlowTable) -> Option<bool> {
    let read = had_since(newest, flows)?;
    let path = flows.flow(leg.direction)?.marks.path(leg.extent, 0);
    let is_seen = path.sending.iter().any(|hop| hop.woken >= newest.at);
    is_seen.then(|| path.sending.iter().any(|hop| hop.from_irq && hop.woken > read))
}
