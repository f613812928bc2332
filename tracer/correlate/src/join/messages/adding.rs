//! New messages, and new legs of open ones.

use super::super::forwarders::Receiver;
use super::super::index::Added;
use super::super::new_leg::{Joined, NewLeg};
use super::super::open::{LegState, Message};
use super::Messages;
use wirelap_events::{GroupId, Nanos, Saturate, Stamp};
use wirelap_flow::{Direction, LegKey, Node};
use wirelap_limits::deliveries::HOLDS_REMEMBERED;
use wirelap_protocols::MessageRouting;

/// The most legs of a message, alone with its content, that are looked at for a direction.
const FEW_LEGS: u32 = 4;

impl Messages {
    /// Adds a message that begins with a leg. Its forwarder had it when it was found, or at `read`.
    pub(super) fn add_message(&mut self, new: &NewLeg, read: Option<Nanos>) -> (LegKey, Joined) {
        let is_orphan = match new.message.topology {
            MessageRouting::PeerToPeer => false,
            MessageRouting::Brokered if new.is_handed_on() => true,
            MessageRouting::Brokered | MessageRouting::Either => {
                new.passed_on || self.may_have_missed(&new.ends.sender, &new.ends.receiver, new.at)
            }
        };
        if new.message.topology == MessageRouting::Brokered
            && new.reader.toward.is_server()
            && let Some(pid) = new.ends.receiver.pid
        {
            self.forwarders.learn_server(pid);
        }
        self.serial.grow(1);
        let id = self.new_id();
        let index = self.open.insert(Message {
            id,
            serial: self.serial,
            facts: new.message,
            place: None,
            is_place_given: false,
            number: None,
            at: read.map_or(new.at, |read| read.min(new.at)),
            first: usize::MAX,
            last: usize::MAX,
            legs: 0,
            open: 0,
            is_orphan,
            keeps_directions: false,
            overdue: false,
            is_kept: false,
            is_retained: false,
            is_unmatched: false,
        });
        let soon = Nanos(self.limits.hold.0.saturating_mul(HOLDS_REMEMBERED));
        self.queues.soon.push_back((new.at + soon, index, self.serial));
        match self.index.add(new.message.identity, (self.serial, index)) {
            Added::Alone => {
                if let (Some(contents), Some(content)) = (&mut self.contents, new.message.content) {
                    contents.add(content, new.message.identity);
                }
            }
            Added::Second((_, first)) => {
                self.tell_directions(first);
                self.open[index].keeps_directions = true;
            }
            Added::More => self.open[index].keeps_directions = true,
        }
        let key = self.add_leg(index, new, None);
        (key, if is_orphan { Joined::Orphan } else { Joined::New })
    }

    /// Notes how far the receiver of a leg is, whose sender sends copies of its messages to others. If the leg's message seems to be new
    /// and its receiver is `behind`, it may be the copy of one that is forgotten, and tells nothing.
    pub fn note_copying(&mut self, new: &NewLeg, key: LegKey, behind: bool) {
        let message = self.leg(key).filter(|_| new.may_copy).map(|leg| leg.message);
        if let Some(message) = message.and_then(|message| self.open.get(message)) {
            let serial = if behind { 0 } else { message.serial };
            self.copying.note(Receiver::at(&new.ends.sender), new.direction, serial);
        }
    }

    /// Notes a direction in which a sender may send copies of its messages.
    pub fn note_copying_direction(&mut self, sender: &Node, direction: Direction) {
        self.copying.note(Receiver::at(sender), direction, 0);
    }

    /// Forgets directions that are gone.
    pub fn forget_copying_directions(&mut self, is_gone: impl Fn(Direction) -> bool) {
        self.copying.forget(is_gone);
    }

    /// True if the sender of a message may send a copy of it in a direction that `is_hindered`: it has not carried a later one.
    pub(super) fn awaits_copy(
        &self,
        message: &Message,
        is_hindered: impl Fn(Direction) -> bool,
    ) -> bool {
        if message.facts.topology == MessageRouting::Brokered {
            return false;
        }
        let Some(first) = self.legs.get(message.first) else { return false };
        let mut behind = self.copying.not_beyond(Receiver::at(first.sender()), message.serial);
        behind.any(is_hindered)
    }

    /// True if a message that was found at `at` may have come to its sender unseen. A message from a process to itself
    /// goes no further.
    fn may_have_missed(&self, sender: &Node, receiver: &Node, at: Nanos) -> bool {
        let stays_inside = sender.pid.is_some() && sender.pid == receiver.pid;
        !stays_inside && self.forwarders.may_have_missed(sender, at - self.limits.patience)
    }

    /// Before a leg is completed: takes note if it turned out that its message may have come to its sender unseen. Returns the row
    /// that the message was counted in as sent, and its stamp.
    pub fn lose_origin(&mut self, key: LegKey) -> Option<(GroupId, Option<Stamp>)> {
        let leg = self.leg(key).filter(|leg| leg.parent().is_none() && !leg.is_repeated())?;
        let (index, message) = (leg.message, self.open.get(leg.message)?);
        let is_first = !message.is_orphan && message.facts.topology != MessageRouting::PeerToPeer;
        let was_delivered = || self.legs_of(message).any(|leg| self.legs[leg].emitted);
        if !is_first
            || !self.may_have_missed(leg.sender(), leg.receiver(), leg.at)
            || was_delivered()
        {
            return None;
        }
        let message = self.open.get_mut(index)?;
        message.is_orphan = true;
        (!message.facts.repeats).then_some((message.facts.row, message.facts.stamp))
    }

    pub(super) fn add_leg(
        &mut self,
        message: usize,
        new: &NewLeg,
        parent: Option<usize>,
    ) -> LegKey {
        if new.is_from_server()
            && let Some(pid) = new.ends.receiver.pid
        {
            self.forwarders.note_client(pid);
        }
        self.serial.grow(1);
        let serial = self.serial;
        let index = self.legs.insert(LegState::new(message, serial, new));
        if let Some(parent) = parent {
            let position =
                self.legs.get_mut(parent).map(|parent| parent.links.add_child(index, serial));
            let came = self.legs.get(parent).map(|parent| parent.at);
            let leg = &mut self.legs[index];
            (leg.links.parent, leg.links.position) = (parent.into(), position.unwrap_or_default());
            if let Some(present) = new.present.filter(|one| came.is_some_and(|at| at < one.since)) {
                leg.note_presence(present);
            }
        }
        self.unfinished.set(message, true);
        let entry = &mut self.open[message];
        if entry.legs == 0 {
            entry.first = index;
        } else {
            self.legs[entry.last].links.next = index.into();
        }
        entry.last = index;
        entry.legs.grow(1);
        if entry.is_retained {
            self.release_retained(message, new.at);
        }
        let entry = &mut self.open[message];
        entry.facts.topic = entry.facts.topic.or(new.message.topic);
        entry.facts.trace = entry.facts.trace.or(new.message.trace);
        entry.open.grow(1);
        self.waiting.grow(1);
        if entry.keeps_directions {
            self.index.add_direction(new.message.identity, new.way(), (entry.serial, message));
        } else if entry.legs > FEW_LEGS {
            self.index.keep_directions(new.message.identity);
            self.tell_directions(message);
        }
        (index, serial)
    }

    /// Tells the index which directions a message has taken so far.
    fn tell_directions(&mut self, message: usize) {
        let Some(entry) = self.open.get_mut(message) else { return };
        entry.keeps_directions = true;
        let mut next = Some(entry.first);
        while let Some(leg) = next.and_then(|leg| self.legs.get(leg)) {
            self.index.add_direction(entry.facts.identity, leg.way(), (entry.serial, message));
            next = leg.links.next.get();
        }
    }

    /// Adds a leg of the same message in the same direction: its read may be the one that counts.
    pub(super) fn add_again(&mut self, message: usize, new: &NewLeg) -> LegKey {
        let original = self
            .legs_of(&self.open[message])
            .find(|&leg| self.legs[leg].way() == new.way() && !self.legs[leg].is_repeated());
        let parent = original.and_then(|leg| self.legs[leg].parent());
        let key = self.add_leg(message, new, None);
        let leg = &mut self.legs[key.0];
        (leg.links.parent, leg.links.again) = (parent.into(), original.into());
        key
    }
}
