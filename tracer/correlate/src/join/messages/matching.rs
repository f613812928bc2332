//! Matching: finds the open message that a found one belongs to.

use super::super::forwarders::Receiver;
use super::super::index::{Known, Listed};
use super::super::new_leg::{Joined, NewLeg};
use super::super::open::{LegState, Message};
use super::super::proxied::Belief;
use super::Messages;
use wirelap_events::Nanos;
use wirelap_flow::{Identity, LegKey, Way};
use wirelap_protocols::MessageRouting;
use wirelap_why::TakesAll;

/// Messages of one content that are looked at for one that a flow could continue.
pub(super) const SEARCHED: usize = 256;

/// Legs of one message that are looked at for the process that forwards it. The first leg is the one
/// that almost always fits.
const SEARCHED_LEGS: usize = 16;

/// Legs that a message takes at most: through a broker, and through several proxies before and behind it.
pub const LONGEST_WAY: usize = 64;

pub(super) enum Relation {
    Child(usize),
    Copy,
    /// The message started where the new leg leads.
    Parent,
}

/// The message that a proxy sends with a leg.
#[derive(Clone, Copy, Debug)]
pub(super) enum Passage {
    /// This message, which a leg brought.
    Of(usize, usize),
    /// A message that was not seen when it came.
    Missing,
    /// The leg's sender is no proxy, as far as is known, or nothing waits there.
    Unknown,
}

impl Messages {
    /// The message that one on this way is a repetition of, if the identity can tell.
    pub fn repeated(&self, identity: Identity, way: Way) -> Option<usize> {
        let (_, message) = self.carried(identity, way).filter(|_| identity.exact)?;
        Some(message)
    }

    /// The newest message of this identity that has a leg on this way.
    pub(super) fn carried(&self, identity: Identity, way: Way) -> Option<Listed> {
        match self.index.known(identity) {
            Known::Nothing => None,
            Known::One(only) => {
                let message = self.open.get(only.1)?;
                self.legs_of(message).any(|leg| self.legs[leg].way() == way).then_some(only)
            }
            Known::Many => self.index.on_direction(identity, way),
        }
    }

    /// Takes a new leg in. `left` tells when its last byte was sent, which is earlier than when it was
    /// found if a hole held it up. `read` is when its receiver had it, if that is known already. `takes_all` tells whether
    /// its receiver gets every message of its topic.
    pub fn join(
        &mut self,
        new: &NewLeg,
        left: impl FnOnce() -> Option<Nanos>,
        read: Option<Nanos>,
        takes_all: &dyn Fn() -> TakesAll,
    ) -> (LegKey, Joined) {
        let stored = self.stored_at(new);
        let renamed = self.stored_identity(new, stored);
        let renamed = renamed.map(|identity| new.with_identity(identity));
        let new = renamed.as_ref().unwrap_or(new);
        let carried = self.carried(new.message.identity, new.way());
        if let Some((_, message)) = carried.filter(|_| new.message.identity.exact) {
            return (self.add_again(message, new), Joined::Again);
        }
        if let Some(message) = stored.filter(|&message| self.has_carried(message, new)) {
            return (self.add_again(message, new), Joined::Again);
        }
        let stored = stored.and_then(|message| self.related(message, new));
        let mut found = stored.or_else(|| self.candidate(new, carried, takes_all));
        if found.is_none() && carried.is_none() && self.tells_unseen_proxy(new) {
            found = self.candidate(new, carried, takes_all);
        }
        let other;
        let (mut new, mut carried) = (new, carried);
        if found.is_none()
            && carried.is_none()
            && (new.is_from_server() || self.is_bridge(new))
            && let Some(translated) = self.translated(new)
        {
            other = translated;
            new = &other;
            carried = self.carried(new.message.identity, new.way());
            if let Some((_, message)) = carried.filter(|_| new.message.identity.exact) {
                return (self.add_again(message, new), Joined::Again);
            }
            // What proxies pass on keeps its topic.
            found = self.candidate_after(Passage::Unknown, new, carried, takes_all);
        }
        match found.or_else(|| self.read_from_replica(new)) {
            Some((message, Relation::Child(parent))) => {
                if new.message.topology == MessageRouting::Either || !new.reader.toward.is_server()
                {
                    self.forwarders.learn(&self.legs[parent]);
                }
                if new.message.topology == MessageRouting::Brokered
                    && !self.may_have_come_back(parent, new)
                {
                    self.forwarders.learn_role(&self.legs[parent], new.reader.toward);
                }
                self.learn_unseen_proxy(parent, new);
                let belief = self.learn_passage(new, parent, carried);
                let is_copy = std::mem::replace(&mut self.legs[parent].links.has_child, true);
                let joined = if is_copy { Joined::Copy } else { Joined::Leg };
                let key = self.add_leg(message, new, Some(parent));
                self.legs[key.0].is_guessed = belief == Some(Belief::Guessed);
                if new.message.topology == MessageRouting::Brokered
                    && !new.reader.toward.is_server()
                {
                    self.take_over(message, key.0);
                }
                self.append_later(new, key, left);
                (key, joined)
            }
            Some((message, Relation::Copy)) => (self.add_leg(message, new, None), Joined::Copy),
            Some((_, Relation::Parent)) => {
                match self.orphan_of(new, carried, left().unwrap_or(new.at)) {
                    Some(message) => self.adopt(message, new),
                    None => self.add_message(new, read),
                }
            }
            None => {
                self.proxied.note_unseen_arrival(new.direction);
                self.add_message(new, read)
            }
        }
    }

    /// True if a process that seems to hand on to a client what another one sent it lately got bytes of which it is not known yet what
    /// they are: the message may have come back to it in these, from a server that it is a proxy of.
    fn may_have_come_back(&self, parent: usize, new: &NewLeg) -> bool {
        let since = new.at - self.limits.patience;
        new.is_from_server()
            && self.legs[parent].reader.toward.is_server()
            && self.forwarders.has_got_unknown(Receiver::at(&new.ends.sender), since)
    }

    /// The message that a new leg led to: the first one of its content that was found after the leg's last byte had `left`.
    fn orphan_of(&self, new: &NewLeg, carried: Option<Listed>, left: Nanos) -> Option<usize> {
        let (_, all) = self.index.after(new.message.identity, carried, |_| false);
        all.take(SEARCHED).find(|&index| {
            self.open.get(index).is_some_and(|message| {
                message.facts.topology == new.message.topology
                    && self.leads_to(new, message)
                    && (new.message.identity.exact || left <= message.at)
            })
        })
    }

    /// True if a message started where the new leg leads: an orphan, or one that was written there later, where it could go
    /// on. A connection that is joined in its middle may be recognised later than the one on which what came on it goes on.
    pub(super) fn leads_to(&self, new: &NewLeg, message: &Message) -> bool {
        let first = &self.legs[message.first];
        let goes_on = || {
            let passes_on = match new.message.topology {
                MessageRouting::PeerToPeer => false,
                MessageRouting::Brokered => {
                    new.reader.toward.is_server() && first.reader.toward.is_server()
                }
                MessageRouting::Either => first.direction.serial != new.direction.serial,
            };
            passes_on
                && new.written < first.written
                && !new.message.repeats
                && !message.facts.repeats
        };
        first.sender().is(&new.ends.receiver) && (message.is_orphan || goes_on())
    }

    /// True if a message that begins here had come to its forwarder so long before it was found (the connection was joined in its
    /// middle, and what is spoken on it had to be recognised first) that whatever was sent of it is no longer waiting for it. A
    /// later message with the same content must not be taken for it.
    pub fn is_past(&self, new: &NewLeg, read: Option<Nanos>) -> bool {
        let goes_on = || match new.message.topology {
            MessageRouting::PeerToPeer => false,
            MessageRouting::Brokered => new.reader.toward.is_server(),
            MessageRouting::Either => self.forwarders.forwards(&new.ends.receiver),
        };
        read.is_some_and(|read| read + self.limits.patience < new.at)
            && !new.message.identity.exact
            && goes_on()
            && !self.forwarders.forwards(&new.ends.sender)
    }

    /// The message that a new leg belongs to. Of several with the same content, it is one that this direction has not carried yet,
    /// after the last that it has `carried`: messages do not overtake each other in a direction. What a server sends to a reader
    /// that gets everything is the oldest of them; see [`in_turn`](super::in_turn) for those that never come. Elsewhere it is
    /// the oldest that is not stale.
    pub(super) fn candidate(
        &self,
        new: &NewLeg,
        carried: Option<Listed>,
        takes_all: &dyn Fn() -> TakesAll,
    ) -> Option<(usize, Relation)> {
        self.candidate_after(self.passage(new, carried), new, carried, takes_all)
    }

    /// The message that a new leg belongs to, where it is known what a proxy sends with the leg.
    fn candidate_after(
        &self,
        passage: Passage,
        new: &NewLeg,
        carried: Option<Listed>,
        takes_all: &dyn Fn() -> TakesAll,
    ) -> Option<(usize, Relation)> {
        let carried = self.not_in_queue(new).max(carried);
        let at = |index: usize| self.came_at(index, new);
        let is_stale = |index: usize| at(index) + self.limits.hold < new.written;
        let relation = |index: usize| self.related(index, new);
        let is_child = |found: &(usize, Relation)| matches!(found.1, Relation::Child(_));
        if let Passage::Of(message, leg) = passage {
            return Some((message, Relation::Child(leg)));
        }
        // What is known to have come on another connection is that one's.
        let is_missing = matches!(passage, Passage::Missing);
        let relation = |index| relation(index).filter(|found| !(is_missing && is_child(found)));
        let next = self.next_in_order(new, carried).or_else(|| self.next_in_log(new, carried));
        if let Some(next) = next.and_then(relation) {
            return Some(next);
        }
        let (mut old, fresh) = self.index.after(new.message.identity, carried, is_stale);
        let is_new = |found: &(usize, Relation)| {
            let message = self.open.get(found.0);
            message.is_some_and(|message| self.leg_on(message, new.way()).is_none())
        };
        // What proxies kept may come to a server in another order than it was sent.
        let early = carried.filter(|_| !self.proxied.is_empty());
        let early = early.and_then(|carried| self.overtaken(new, carried)).and_then(relation);
        let early = early.filter(|(_, relation)| {
            matches!(relation, Relation::Child(parent) if !self.was_left_out(*parent, new))
        });
        let in_turn = |found: (usize, Relation)| match &early {
            Some((message, Relation::Child(parent)))
                if self.came_before(*message, found.0, new) =>
            {
                (*message, Relation::Child(*parent))
            }
            _ => found,
        };
        let mut all =
            old.clone().take(SEARCHED).filter_map(relation).filter(is_child).filter(is_new);
        if new.message.topology == MessageRouting::Brokered
            && let Some((message, Relation::Child(parent))) = all.next()
        {
            let is_next = match takes_all() {
                TakesAll::No => false,
                TakesAll::Perhaps => !self.was_left_out(parent, new),
                TakesAll::Yes => true,
            };
            if is_next {
                return Some(in_turn((message, Relation::Child(parent))));
            }
        }
        let (mut other, mut later) = (None, None);
        for (index, found) in fresh.take(SEARCHED).filter_map(relation) {
            match found {
                Relation::Child(_) if at(index) <= new.written => {
                    return Some(in_turn((index, found)));
                }
                Relation::Child(_) => _ = later.get_or_insert((index, found)),
                _ => _ = other.get_or_insert((index, found)),
            }
        }
        // It was written before those that came later.
        let found =
            other.or_else(|| old.by_ref().rev().take(SEARCHED).find_map(relation)).or(later);
        found.or_else(|| self.overtaken(new, carried?).and_then(relation).filter(is_child))
    }

    /// The last message with the content of a new leg that had come to its sender when the queue that it is delivered from held nothing. A message
    /// that comes into queues later than to the server may be in it, and what came before that is not told apart from it.
    fn not_in_queue(&self, new: &NewLeg) -> Option<Listed> {
        let is_from_queue = new.queue_was_empty > Nanos(0) && !new.message.identity.exact;
        if !is_from_queue || !new.is_from_server() {
            return None;
        }
        let identity = new.message.identity;
        let is_withheld = |index: usize| {
            self.open.get(index).is_some_and(|message| message.facts.withheld.is_some())
        };
        let came_before =
            |index: usize| !is_withheld(index) && self.came_at(index, new) < new.queue_was_empty;
        let last = self.index.last_of(identity, came_before)?;
        let may_hold = self.index.before(identity, last.0).take(SEARCHED).any(is_withheld);
        (!may_hold).then_some(last)
    }

    /// Time at which a message came to the server that a new leg is from, and else to anybody: proxies may have kept it before.
    fn came_at(&self, message: usize, new: &NewLeg) -> Nanos {
        let Some(message) = self.open.get(message) else { return Nanos(0) };
        let came = new.is_from_server().then(|| self.came(message, &new.ends.sender)).flatten();
        let later = came.filter(|&(leg, _)| leg != message.first);
        // It may have been found late.
        later.map_or(message.at, |(leg, _)| self.legs[leg].written)
    }

    /// The message of its topic that a reader which is behind gets next, if its content is that of a new leg.
    fn next_in_order(&self, new: &NewLeg, carried: Option<Listed>) -> Option<usize> {
        let number = new.next_number?;
        let (mut all, _) = self.index.after(new.message.identity, carried, |_| true);
        let is_next = |message: &Message| {
            message.number == Some(number) && message.facts.subject == new.message.subject
        };
        all.by_ref().take(SEARCHED).find(|&index| self.open.get(index).is_some_and(is_next))
    }

    /// A message, and how a new leg is related to it.
    pub(super) fn related(&self, message: usize, new: &NewLeg) -> Option<(usize, Relation)> {
        Some((message, self.relation(self.open.get(message)?, new)?))
    }

    /// True if a leg goes from a process that was seen to pass on what a server sends it, or got its message last: then the leg before
    /// it may be behind many others.
    fn hands_through(&self, message: &Message, new: &NewLeg) -> bool {
        let sender = &new.ends.sender;
        let last = &self.legs[message.last];
        new.is_from_server()
            && (sender.pid.is_some_and(|pid| self.forwarders.hands_through(pid))
                || (!last.reader.toward.is_server() && last.reaches(sender)))
    }

    /// True if others got what a leg brought long before a new leg was written, and its receiver perhaps only gets a share.
    fn was_left_out(&self, parent: usize, new: &NewLeg) -> bool {
        let first = self.legs.get(parent).and_then(|parent| self.leg(parent.links.first_child()?));
        first.is_some_and(|first| {
            first.direction != new.direction && first.written + self.limits.hold < new.written
        })
    }

    /// True if a proxy or a bridge has passed a leg on to where a new one leads: it does that once.
    pub(super) fn was_passed_on(&self, message: &Message, parent: usize, new: &NewLeg) -> bool {
        new.message.topology == MessageRouting::Brokered
            && new.reader.toward.is_server()
            && self.legs[parent].links.has_child
            && self.legs_of(message).take(SEARCHED_LEGS).any(|leg| {
                let leg = &self.legs[leg];
                leg.parent() == Some(parent)
                    && leg.reader.toward.is_server()
                    && leg.receiver().is(&new.ends.receiver)
                    && !leg.is_repeated()
            })
    }

    fn relation(&self, message: &Message, new: &NewLeg) -> Option<Relation> {
        if message.facts.topology != new.message.topology || !may_be_at(message, new) {
            return None;
        }
        if new.message.topology != MessageRouting::PeerToPeer {
            let mut parent = None;
            for (place, index) in self.legs_of(message).enumerate().take(SEARCHED) {
                if place == SEARCHED_LEGS && !self.hands_through(message, new) {
                    break;
                }
                let leg = &self.legs[index];
                let is_echo = leg.direction.serial == new.direction.serial
                    && new.message.topology == MessageRouting::Either;
                if self.has_brought(leg, new)
                    && !leg.is_repeated()
                    && !is_echo
                    && self.may_forward(index, new)
                    && self.depth(index) < LONGEST_WAY
                    && !self.was_passed_on(message, index, new)
                {
                    // What a proxy has from the server goes on, not what it had from the publisher.
                    let is_from_server = !leg.reader.toward.is_server() && !leg.links.has_child;
                    if is_from_server || parent.is_none() {
                        parent = Some(index);
                    }
                    if new.message.topology != MessageRouting::Brokered
                        || new.reader.toward.is_server()
                        || is_from_server
                    {
                        break;
                    }
                }
            }
            if let Some(parent) = parent {
                return Some(Relation::Child(parent));
            }
        }
        if self.leads_to(new, message) {
            return Some(Relation::Parent);
        }
        let first = &self.legs[message.first];
        let elsewhere = first.direction.serial != new.direction.serial;
        let is_straight = new.message.topology != MessageRouting::Brokered || message.is_orphan;
        let may_copy = new.may_copy && is_straight;
        (may_copy && elsewhere && first.sender().is(&new.ends.sender)).then_some(Relation::Copy)
    }

    /// True if the reader of a leg passes messages on to where the new leg leads. One that subscribes
    /// at a broker and publishes there does not, even the same content: it says something of its own.
    pub(super) fn may_forward(&self, leg: usize, new: &NewLeg) -> bool {
        if new.message.topology != MessageRouting::Brokered || !new.reader.toward.is_server() {
            return true;
        }
        let forwards =
            self.legs[leg].reader.toward.is_server() || self.forwarders.forwards(&new.ends.sender);
        // The same address is another server's where no socket of this host is.
        let is_at = |leg: &LegState| !leg.leads_elsewhere && leg.receiver().is(&new.ends.receiver);
        forwards && !self.path(leg).any(is_at)
    }
}

/// True if a message may be that of a new leg, as far as their places tell.
fn may_be_at(message: &Message, new: &NewLeg) -> bool {
    // A server may copy one log to another.
    message.place.zip(new.place).is_none_or(|(a, b)| a.log != b.log || a == b)
}
