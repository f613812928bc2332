//! Places in a server's log, which become known when a message is read, or when its server acknowledges it.

use super::unplaced::{MAX_UNPLACED, Unplaced};
use super::{Context, Deliveries};
use std::collections::VecDeque;
use wirelap_events::{Nanos, Offset};
use wirelap_flow::{Direction, FlowTable, Found, FoundPlace, LegKey};

impl Deliveries {
    /// Puts a message off that is known by its place alone, while it is not known what is there.
    pub(super) fn put_off(
        &mut self,
        at: Nanos,
        direction: Direction,
        found: Found,
    ) -> Option<Found> {
        match found.place {
            FoundPlace::Only(place) if !self.messages.is_stored(place) => {
                self.unplaced.push_back(Unplaced { at, direction, found });
                None
            }
            _ => Some(found),
        }
    }

    /// Start of the first message of a direction that was put off.
    pub(super) fn first_unplaced(&self, direction: Direction) -> Option<Offset> {
        let first = self.unplaced.iter().find(|one| one.direction == direction);
        first.map(|one| one.found.extent.start)
    }

    /// Takes in the messages that were put off and whose places are known now, or have not become known.
    pub(super) fn take_placed(&mut self, all: bool, c: &mut Context<'_>) {
        if self.unplaced.is_empty() {
            return;
        }
        let since = c.coverage.now();
        let mut waiting: VecDeque<Unplaced> = std::mem::take(&mut self.unplaced);
        let surplus = waiting.len().saturating_sub(MAX_UNPLACED);
        for (index, one) in std::mem::take(&mut waiting).into_iter().enumerate() {
            let is_known = one.found.place.known().is_none_or(|at| self.messages.is_stored(at));
            if all || is_known || index < surplus || one.at + self.hold() <= since {
                self.take_message(one.at, one.direction, &one.found, c);
                c.conversations.activate(one.direction);
            } else {
                waiting.push_back(one);
            }
        }
        self.unplaced = waiting;
    }

    /// Notes the place of a message that was found, or that it waits for one.
    pub(super) fn note_place(&mut self, found: &Found, key: LegKey, flows: &mut FlowTable) {
        match found.place {
            FoundPlace::Unknown => {}
            FoundPlace::At(place) | FoundPlace::Only(place) => self.messages.set_place(key, place),
            FoundPlace::Awaited(number) => {
                let direction = self.messages.leg(key).map(|leg| leg.direction);
                if let Some(flow) = direction.and_then(|direction| flows.flow_mut(direction)) {
                    flow.messages.awaited_places.get_or_insert_default().push(number, key);
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
        let mut refused = Vec::new();
        for given in all.drain(..) {
            let to_server = Direction { side: given.side, ..direction }.back();
            let flow = c.conversations.flows_mut().flow_mut(to_server);
            if let Some(awaited) = flow.and_then(|flow| flow.messages.awaited_places.as_mut()) {
                awaited.take(&given, |leg, place| match place {
                    Some(place) => self.messages.give_place(leg, place),
                    None => refused.extend(self.messages.leg(leg).map(|leg| leg.message)),
                });
            }
            refused.drain(..).for_each(|index| self.refuse(index, c));
        }
        c.conversations.found_mut().given_places = all;
    }

    /// The server has not taken a message: nobody is sent it.
    fn refuse(&mut self, index: usize, c: &mut Context<'_>) {
        let Some(message) = self.messages.message(index) else { return };
        // A producer sends it again to a log that has not taken it; a message that is repeated may have been taken before.
        if message.facts.is_logged || self.messages.left_of(index).count() != 1 {
            return;
        }
        if message.number.is_some() {
            let row = c.accounts.rows.root(message.facts.row);
            c.accounts.lag.refused((row, message.facts.subject));
        }
        self.give_up(index, c.coverage.pauses(), c.accounts);
    }
}
