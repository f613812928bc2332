//! Legs that are found after those that continue them: what a connection brings that was joined in its middle is known only
//! once its protocol is.

use super::super::new_leg::{Joined, NewLeg, Toward};
use super::super::open::{LegState, Link};
use super::Messages;
use crate::ids::LegKey;
use wirelap_protocols::Topology;

impl Messages {
    /// The leg before the first of a message was found after it.
    pub(super) fn adopt(&mut self, message: usize, new: &NewLeg) -> (LegKey, Joined) {
        let later: Vec<usize> = self.legs_of(&self.open[message]).collect();
        let key = self.add_leg(message, new, None);
        for leg in later {
            if self.legs[leg].parent().is_none() {
                let serial = self.legs[leg].serial;
                let position = self.legs[key.0].add_child(leg, serial);
                let orphan = &mut self.legs[leg];
                (orphan.parent, orphan.position) = (key.0.into(), position);
                let toward = orphan.toward;
                if new.topology == Topology::Brokered {
                    self.forwarders.learn_role(&self.legs[key.0], toward);
                }
                if new.topology == Topology::Either || !toward.is_server() {
                    self.forwarders.learn(&self.legs[key.0]);
                }
            }
        }
        self.legs[key.0].has_child = true;
        self.lead(message, key.0);
        let entry = &mut self.open[message];
        if !entry.is_orphan {
            return (key, Joined::Earlier);
        }
        entry.row = new.row;
        // What comes from a server came to it before.
        entry.is_orphan = new.topology == Topology::Brokered && new.is_handed_on();
        (key, if entry.is_orphan { Joined::Orphan } else { Joined::New })
    }

    /// The last leg of a message becomes its first.
    fn lead(&mut self, message: usize, last: usize) {
        let entry = &self.open[message];
        let before = self.legs_of(entry).find(|&leg| self.legs[leg].next == Link::from(last));
        let Some(before) = before else { return };
        let entry = &mut self.open[message];
        let first = std::mem::replace(&mut entry.first, last);
        entry.last = before;
        self.legs[before].next = Link::NONE;
        self.legs[last].next = first.into();
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
            let to_client = leg.parent() == Some(came) && !leg.toward.is_server();
            to_client && leg.written >= written && !leg.is_repeated()
        };
        let legs = self.legs_of(&self.open[message]);
        let early: Vec<usize> =
            legs.filter(|&leg| leg != back && is_early(&self.legs[leg])).collect();
        for leg in early {
            self.forwarders.unlearn_role(&self.legs[came], Toward::Client);
            self.forwarders.learn_role(&self.legs[back], Toward::Client);
            self.legs[came].remove_child(leg, Some(another));
            let serial = self.legs[leg].serial;
            let position = self.legs[back].add_child(leg, serial);
            self.legs[back].has_child = true;
            let early = &mut self.legs[leg];
            (early.parent, early.position) = (back.into(), position);
        }
    }
}
