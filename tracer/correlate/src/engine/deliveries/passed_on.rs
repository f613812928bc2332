//! Messages that go on from who had them: what their flow, their request and their topic remember of it.

use super::circumstances::had_since;
use super::{Context, Deliveries};
use crate::join::{Joined, NewLeg};
use crate::rows::PassedOn;
use wirelap_flow::{Flow, FlowTable, LegKey, PassedMessage};

impl Deliveries {
    /// Notes when the messages were there that a request is answered with.
    pub(super) fn note_answer(&self, new: &NewLeg, key: LegKey, flows: &mut FlowTable) {
        let Some(asked) = new.permissions.asked else { return };
        let Some(before) = self.messages.path(key.0).nth(1) else {
            return;
        };
        let read = had_since(before, flows);
        let flow = flows.flow_mut(new.direction.back());
        if let (Some(read), Some(control)) = (read, flow.and_then(Flow::known_control_mut)) {
            control.note_answer_source(asked, read);
        }
    }

    /// Notes that what the leg before brought goes on.
    pub(super) fn note_forwarded(&self, key: LegKey, joined: Joined, flows: &mut FlowTable) {
        if joined != Joined::Leg {
            return;
        }
        let Some(leg) = self.messages.leg(key) else { return };
        let Some(before) = self.messages.before(key) else { return };
        let read = had_since(before, flows).unwrap_or(leg.written);
        let message = PassedMessage { at: before.at, read, passed_on: leg.written };
        let by = Some(leg.direction);
        if let Some(flow) = flows.flow_mut(before.direction) {
            flow.messages.note_forwarded(message, by);
        }
    }

    /// Notes to whom a message is passed on in a sampling window: what was sent before it and is not passed on by then is lost.
    pub(super) fn note_passed_in_window(&self, key: LegKey, joined: Joined, c: &mut Context<'_>) {
        if !matches!(joined, Joined::Leg | Joined::Copy) || !c.coverage.pauses().has_paused() {
            return;
        }
        let Some(leg) = self.messages.leg(key) else { return };
        let Some(message) = self.messages.message(leg.message) else { return };
        // The way of a copy may be known from its broker on only.
        let Some(first) = self.messages.path(key.0).skip(1).last() else { return };
        let (subject, at, publisher) = (message.facts.subject, message.at, first.direction);
        let Some(row) = c.accounts.rows.get_mut(message.facts.row) else { return };
        let pauses = row.pauses(c.coverage.pauses());
        let is_whole = !pauses.is_between(at, leg.at) && leg.permissions().asked.is_none();
        if let Some(window) = pauses.windows().at(at).filter(|_| is_whole) {
            let passed_on = PassedOn { subject, at, publisher, window };
            row.readers.note_passed_on(&passed_on, leg.direction);
        }
    }
}

/// Notes where the answer to a request ends. What came to its sender before observation began, or between two windows, is one as well.
pub fn note_answer_end(new: &NewLeg, flows: &mut FlowTable) {
    if let Some(asked) = new.permissions.asked
        && let Some(control) =
            flows.flow_mut(new.direction.back()).and_then(Flow::known_control_mut)
    {
        control.extend_answer(asked, new.extent.end);
    }
}
