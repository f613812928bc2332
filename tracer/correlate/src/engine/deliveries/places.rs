//! Places in a server's log, which become known when a message is read, or when its server acknowledges it.

use super::{Context, Deliveries};
use crate::flow::{FlowTable, Found, FoundPlace};
use crate::ids::{Direction, LegKey};

impl Deliveries {
    /// Notes the place of a message that was found, or that it waits for one.
    pub(super) fn note_place(&mut self, found: &Found, key: LegKey, flows: &mut FlowTable) {
        match found.place {
            FoundPlace::Unknown => {}
            FoundPlace::At(place) => self.messages.set_place(key, place),
            FoundPlace::Awaited(number) => {
                let direction = self.messages.leg(key).map(|leg| leg.direction);
                if let Some(flow) = direction.and_then(|direction| flows.flow_mut(direction)) {
                    flow.awaited_places.get_or_insert_default().push(number, key);
                }
            }
        }
    }

    /// Takes in which places servers have given to messages.
    pub(super) fn note_given_places(&mut self, direction: Direction, c: &mut Context<'_>) {
        if c.conversations.found_mut().given_places.is_empty() {
            return;
        }
        let mut all = std::mem::take(&mut c.conversations.found_mut().given_places);
        for given in all.drain(..) {
            let to_server = Direction { side: given.side, ..direction }.back();
            let flow = c.conversations.flows_mut().flow_mut(to_server);
            if let Some(awaited) = flow.and_then(|flow| flow.awaited_places.as_mut()) {
                awaited.take(&given, |leg, place| self.messages.set_place(leg, place));
            }
        }
        c.conversations.found_mut().given_places = all;
    }
}
