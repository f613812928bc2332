//! Legs that are found after those that continue them: what a connection brings that was joined in its middle is known only
//! once its protocol is.

use super::super::new_leg::{Joined, NewLeg, Toward};
use super::super::open::{LegState, Link};
use super::Messages;
use super::matching::SEARCHED;
use wirelap_events::{GroupId, Nanos, Saturate, Stamp};
use wirelap_flow::LegKey;
use wirelap_protocols::MessageRouting;

impl Messages {
    /// The leg before the first of a message was found after it.
    pub(super) fn adopt(&mut self, message: usize, new: &NewLeg) -> (LegKey, Joined) {
        let later: Vec<usize> = self.legs_of(&self.open[message]).collect();
        let key = self.add_leg(message, new, None);
        for leg in later {
            if self.legs[leg].parent().is_none() {
                self.put_behind(leg, key);
            }
        }
        self.legs[key.0].links.has_child = true;
        self.lead(message, key.0);
        let entry = &mut self.open[message];
        entry.facts.trace = new.message.trace.or(entry.facts.trace);
        entry.facts.past = new.message.past;
        if !entry.is_orphan {
            return (key, Joined::Earlier);
        }
        entry.facts.row = new.message.row;
        // What comes from a server came to it before.
        entry.is_orphan = new.message.topology == MessageRouting::Brokered && new.is_handed_on();
        (key, if entry.is_orphan { Joined::Orphan } else { Joined::New })
    }

    /// Joins two messages that are one, where a new leg was found after legs on both sides of it: those legs of the later part are
    /// put behind it. `left` tells when its last byte was sent.
    pub(super) fn append_later(
        &mut self,
        new: &NewLeg,
        key: LegKey,
        left: impl FnOnce() -> Option<Nanos>,
    ) {
        let (all, _) = self.index.after(new.message.identity, None, |_| true);
        if new.message.topology == MessageRouting::PeerToPeer || all.clone().nth(1).is_none() {
            return;
        }
        let Some(left) = left().filter(|&left| left < new.at) else { return };
        let Some(message) = self.leg(key).map(|leg| leg.message) else { return };
        let later = all.take(SEARCHED).find(|&index| {
            self.open.get(index).is_some_and(|later| {
                index != message
                    && later.facts.topology == new.message.topology
                    && later.at >= left
                    && !later.is_retained
                    && self.leads_to(new, later)
                    && self.leg_on(later, new.way()).is_none()
            })
        });
        if let Some(later) = later {
            self.append(later, message, key);
        }
    }

    /// The legs of one message are those of another one, and begin behind a leg of that.
    fn append(&mut self, from: usize, to: usize, behind: LegKey) {
        let legs: Vec<usize> = self.legs_of(&self.open[from]).collect();
        let gone = self.open.remove(from);
        let entry = (gone.serial, from);
        for &leg in &legs {
            self.index.remove_direction(gone.facts.identity, self.legs[leg].way(), entry);
        }
        self.index.remove(gone.facts.identity, entry);
        self.unfinished.set(from, false);
        self.kept.shrink(usize::from(gone.is_kept));
        for leg in legs {
            if self.legs[leg].parent().is_none() && !self.legs[leg].is_repeated() {
                self.put_behind(leg, behind);
            }
            self.link(leg, to);
            self.tell_direction(leg);
        }
        self.legs[behind.0].links.has_child = true;
        if let Some(place) = gone.place {
            self.stored.remove(place, entry);
            self.set_place(behind, place);
        }
        let message = &mut self.open[to];
        message.facts.topic = message.facts.topic.or(gone.facts.topic);
        message.facts.trace = message.facts.trace.or(gone.facts.trace);
        message.number = gone.number.or(message.number);
        self.note_finished(to);
        if !gone.is_orphan && !gone.facts.repeats {
            self.merged = Some((gone.facts.row, gone.facts.stamp));
        }
    }

    /// The row in which a message was counted as sent that has turned out to be a part of another one, and its stamp, if that was found
    /// since it was asked last.
    pub fn take_merged(&mut self) -> Option<(GroupId, Option<Stamp>)> {
        self.merged.take()
    }

    /// A leg that a message was thought to begin with goes on from another leg, which was found later.
    fn put_behind(&mut self, leg: usize, before: LegKey) {
        let serial = self.legs[leg].serial;
        let position = self.legs[before.0].links.add_child(leg, serial);
        let later = &mut self.legs[leg];
        (later.links.parent, later.links.position) = (before.0.into(), position);
        let toward = later.reader.toward;
        let topology = self.open[self.legs[before.0].message].facts.topology;
        if topology == MessageRouting::Brokered {
            self.forwarders.learn_role(&self.legs[before.0], toward);
        }
        if topology == MessageRouting::Either || !toward.is_server() {
            self.forwarders.learn(&self.legs[before.0]);
        }
    }

    /// The last leg of a message becomes its first.
    fn lead(&mut self, message: usize, last: usize) {
        let entry = &self.open[message];
        let before = self.legs_of(entry).find(|&leg| self.legs[leg].links.next == Link::from(last));
        let Some(before) = before else { return };
        let entry = &mut self.open[message];
        let first = std::mem::replace(&mut entry.first, last);
        entry.last = before;
        self.legs[before].links.next = Link::NONE;
        self.legs[last].links.next = first.into();
    }

    /// Puts legs to clients that were found early behind the leg on which a server brought the message back: a process
    /// that had handed it there hands on to its clients what comes back.
    pub(super) fn take_over(&mut self, message: usize, back: usize) {
        let node = *self.legs[back].receiver();
        // The leg on which the process had it before, and the one on which it handed it on.
        let (mut handed, mut next) = (back, self.legs[back].parent());
        let came = loop {
            let Some(leg) = next else { return };
            if self.legs[leg].reaches(&node) {
                break leg;
            }
            (handed, next) = (leg, self.legs[leg].parent());
        };
        let another = (handed, self.legs[handed].serial);
        let written = self.legs[back].written;
        let is_early = |leg: &LegState| {
            let to_client = leg.parent() == Some(came) && !leg.reader.toward.is_server();
            to_client && leg.written >= written && !leg.is_repeated()
        };
        let legs = self.legs_of(&self.open[message]);
        let early: Vec<usize> =
            legs.filter(|&leg| leg != back && is_early(&self.legs[leg])).collect();
        for leg in early {
            self.forwarders.unlearn_role(&self.legs[came], Toward::Client);
            self.forwarders.learn_role(&self.legs[back], Toward::Client);
            self.legs[came].links.remove_child(leg, Some(another));
            let serial = self.legs[leg].serial;
            let position = self.legs[back].links.add_child(leg, serial);
            self.legs[back].links.has_child = true;
            let early = &mut self.legs[leg];
            (early.links.parent, early.links.position) = (back.into(), position);
        }
    }
}
