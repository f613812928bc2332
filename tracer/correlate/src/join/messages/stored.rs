//! Messages that are known by their place in a server's log.
//!
//! A publisher does not know the place when it sends: its server tells it afterwards. Readers see the place of each message. Equal
//! messages of several publishers are told apart by it.

use super::super::index::{Known, Listed};
use super::super::new_leg::{NewLeg, Toward};
use super::Messages;
use super::matching::{Relation, SEARCHED};
use wirelap_flow::{Direction, Identity, LegKey};
use wirelap_protocols::LogPlace;

impl Messages {
    /// Notes which place the message of a leg has.
    pub fn set_place(&mut self, key: LegKey, place: LogPlace) {
        let Some(index) = self.leg(key).map(|leg| leg.message) else { return };
        let Some(message) = self.open.get_mut(index).filter(|one| one.place.is_none()) else {
            return;
        };
        message.place = Some(place);
        self.stored.add(place, (message.serial, index));
    }

    /// True if a server has said which message is at a place.
    pub fn is_stored(&self, place: LogPlace) -> bool {
        let message = self.stored.get(place).and_then(|(_, index)| self.open.get(index));
        message.is_some_and(|message| message.is_place_given)
    }

    /// Notes which place its server has given the message of a leg.
    pub fn give_place(&mut self, key: LegKey, place: LogPlace) {
        self.set_place(key, place);
        let index = self.leg(key).map(|leg| leg.message);
        if let Some(message) = index.and_then(|index| self.open.get_mut(index)) {
            message.is_place_given = message.place == Some(place);
        }
    }

    /// The message at the place of a new leg, if its server has it.
    pub(super) fn stored_at(&self, new: &NewLeg) -> Option<usize> {
        let index = self.at_place(new)?;
        if self.has_carried(index, new) {
            // Others than logs say themselves what they send again.
            return new.message.is_logged.then_some(index);
        }
        // Another server may have a log of the same name.
        self.related(index, new).is_some().then_some(index)
    }

    /// The message at the place of a new leg.
    fn at_place(&self, new: &NewLeg) -> Option<usize> {
        let (_, index) = self.stored.get(new.place?)?;
        let message = self.open.get(index)?;
        // What only a reader told may be of another log with the same name.
        let is_told =
            || message.facts.identity == new.message.identity && !self.has_carried(index, new);
        let is_alike = new.is_by_place || message.facts.payload_len == new.message.payload_len;
        (is_alike && (message.is_place_given || is_told())).then_some(index)
    }

    /// The message of a leg from a server that had it from another server of its cluster, unseen: a Kafka consumer may read from any
    /// replica (KIP-392).
    pub(super) fn read_from_replica(&self, new: &NewLeg) -> Option<(usize, Relation)> {
        if !new.message.is_logged || new.reader.toward != Toward::Client {
            return None;
        }
        let exact = || match self.index.known(new.message.identity) {
            Known::One((_, index)) if new.message.identity.exact => Some(index),
            _ => None,
        };
        let index = self.at_place(new).or_else(exact)?;
        let message = self.open.get(index)?;
        let is_sent = !message.is_orphan && message.facts.topology == new.message.topology;
        let is_same = message.facts.identity == new.message.identity && message.at <= new.written;
        (is_sent && is_same).then_some((index, Relation::Child(message.first)))
    }

    /// The directions of a leg and of the one before it, if its sender had the message from where that led to, unseen.
    pub fn replicated(&self, key: LegKey, new: &NewLeg) -> Option<(Direction, Direction)> {
        let parent = self
            .before(key)
            .filter(|_| new.message.is_logged && new.reader.toward == Toward::Client)?;
        (!parent.reaches(&new.ends.sender)).then_some((new.direction, parent.direction))
    }

    /// The identity of the message at the place of a new leg, if that is another one: a server may store a message in another form.
    pub(super) fn stored_identity(&self, new: &NewLeg, stored: Option<usize>) -> Option<Identity> {
        let identity = self.open.get(stored?)?.facts.identity;
        (identity != new.message.identity).then_some(identity)
    }

    /// True if a message has a leg on the way of a new one.
    pub(super) fn has_carried(&self, message: usize, new: &NewLeg) -> bool {
        let message = self.open.get(message);
        message.is_some_and(|message| {
            self.legs_of(message).any(|leg| self.legs[leg].way() == new.way())
        })
    }

    /// The message that a new leg of a log continues if no place of such messages is known: the oldest that its direction has not
    /// carried after the last that it has, as a log has one order for all.
    pub(super) fn next_in_log(&self, new: &NewLeg, carried: Option<Listed>) -> Option<usize> {
        new.place?;
        carried?;
        let (_, all) = self.index.after(new.message.identity, carried, |_| false);
        let mut all = all.take(SEARCHED);
        all.find(|&index| self.open.get(index).is_some_and(|message| message.place.is_none()))
    }
}
