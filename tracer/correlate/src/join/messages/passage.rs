//! The message that a proxy passes on, of several with one content.
//!
//! A proxy forwards the bytes of a connection as they are and in their order, so what is at a place of the one connection was at the
//! same place of the other, however long it was kept:
//!
//! ```text
//!   publisher A ──1──2──3──▶ ┐       ┌ ──1──2──▶ broker
//!                            │ proxy │
//!   publisher B ──1──2──▶    ┘       └ ──1──▶    broker
//! ```
//!
//! Which connections belong together is told by their first bytes, or by a message that waited alone. Where messages waited on
//! several connections, the oldest is taken, and the connections are taken to belong together until that turns out to be wrong.

use super::super::index::{Known, Listed};
use super::super::new_leg::NewLeg;
use super::super::open::LegState;
use super::super::proxied::Belief;
use super::Messages;
use super::matching::{LONGEST_WAY, Passage, SEARCHED};
use wirelap_events::Pid;
use wirelap_flow::Node;
use wirelap_protocols::MessageRouting;

/// Likelihood that a connection is the one on which came what a proxy sends, the likeliest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Likeness {
    /// Both began with the same bytes, and the message is at the same place of both.
    Same,
    Free,
    /// The two began with other bytes, or it is taken for that of another connection.
    Others,
}

impl Messages {
    /// The message that a proxy passes on with a leg. `carried` is the newest of its content that the leg's direction has carried.
    pub(super) fn passage(&self, new: &NewLeg, carried: Option<Listed>) -> Passage {
        if new.message.topology != MessageRouting::Brokered || new.message.identity.exact {
            return Passage::Unknown;
        }
        let known = self.index.known(new.message.identity);
        if known == Known::Nothing || (known != Known::Many && self.proxied.is_empty()) {
            return Passage::Unknown;
        }
        if let Some(source) = self.proxied.source(new.direction) {
            let place = source.place_of(new.extent.start);
            let (later, _) = self.index.after(new.message.identity, carried, |_| true);
            let later = later.take(SEARCHED).filter_map(|index| {
                let leg = self.leg_through(index, new, |leg| leg.direction == source.came)?;
                Some((index, leg))
            });
            let mut first = None;
            for (index, leg) in later {
                if self.legs[leg].extent.start == place {
                    return Passage::Of(index, leg);
                }
                first = first.or(Some((index, leg)));
            }
            let serial = carried.map_or(0, |(serial, _)| serial);
            let mut earlier = self.index.before(new.message.identity, serial).take(SEARCHED);
            let is_it = |leg: &LegState| leg.direction == source.came && leg.extent.start == place;
            let earlier =
                earlier.find_map(|index| Some((index, self.leg_through(index, new, is_it)?)));
            match (earlier, first) {
                (Some((index, leg)), _) => return Passage::Of(index, leg),
                (None, _) if source.belief == Belief::Same => return Passage::Missing,
                // The places differ where a proxy says something of its own, or encrypts.
                (None, Some((index, leg))) if source.belief == Belief::Told => {
                    return Passage::Of(index, leg);
                }
                _ => {}
            }
        }
        let passes_on = || {
            let pid = self.unseen_proxies.process(&new.ends.sender);
            pid.is_some_and(|pid| self.forwarders.is_client(pid))
        };
        if known != Known::Many || !(new.reader.toward.is_server() || passes_on()) {
            return Passage::Unknown;
        }
        let likely = self.likeliest(new, carried);
        likely.map_or(Passage::Unknown, |(_, index, leg)| Passage::Of(index, leg))
    }

    /// The message that waits at a proxy and was on the connection that a new leg's most likely continues; of several, the oldest.
    fn likeliest(&self, new: &NewLeg, carried: Option<Listed>) -> Option<(Likeness, usize, usize)> {
        let (all, _) = self.index.after(new.message.identity, carried, |_| true);
        let waiting = all.take(SEARCHED).flat_map(move |index| {
            let legs = self.legs_through(index, new);
            legs.filter_map(move |leg| Some((self.likeness(&self.legs[leg], new)?, index, leg)))
        });
        // Of those that are equally likely, the first.
        waiting.min_by_key(|&(likeness, ..)| likeness)
    }

    /// True if no other message waits at a proxy that a new leg may bring as well as that of a leg, which `is_same` says to be at the same
    /// place of a connection that began with the same bytes.
    fn is_alone(
        &self,
        chosen: &LegState,
        is_same: bool,
        new: &NewLeg,
        carried: Option<Listed>,
    ) -> bool {
        // Of a connection that was joined in its middle, others may have come before the first that was seen.
        let is_one = |leg: &LegState| {
            leg.direction == chosen.direction && (is_same || chosen.start_up)
                || leg.message == chosen.message
        };
        let is_other = |leg: &LegState| {
            let likeness = self.likeness(leg, new);
            let may_be = likeness.is_some() && (!is_same || likeness == Some(Likeness::Same));
            let has_gone_on = !new.reader.toward.is_server() && leg.links.has_child;
            may_be && !has_gone_on && !is_one(leg)
        };
        let (all, _) = self.index.after(new.message.identity, carried, |_| true);
        !all.take(SEARCHED).any(|index| self.leg_through(index, new, is_other).is_some())
    }

    /// Likelihood that a new leg's connection continues that of a leg; `None` if another one does.
    fn likeness(&self, leg: &LegState, new: &NewLeg) -> Option<Likeness> {
        let elsewhere = self.proxied.goes_elsewhere(leg.direction, new.direction);
        let are_opened = new.opening != 0 && leg.opening != 0;
        // What comes from a server may be for several, but is not where it is a proxy that hands it on.
        let has_gone_on = !new.reader.toward.is_server() && leg.links.has_child;
        match elsewhere {
            Some(Belief::Told | Belief::Same) => None,
            _ if has_gone_on => Some(Likeness::Others),
            _ if are_opened
                && leg.opening == new.opening
                && leg.extent.start == new.extent.start =>
            {
                Some(Likeness::Same)
            }
            None if !are_opened || leg.opening == new.opening => Some(Likeness::Free),
            _ => Some(Likeness::Others),
        }
    }

    /// True if a leg brought its message to who sends a new one. Of a proxy that speaks TCP itself with its clients, that is known, or what is at
    /// the same place of two connections that began with the same bytes is the same.
    pub(super) fn has_brought(&self, leg: &LegState, new: &NewLeg) -> bool {
        if !is_elsewhere(leg, new) && self.leads_to_node(leg, &new.ends.sender) {
            return true;
        }
        unseen_end(leg, new).is_some_and(|(end, pid)| {
            self.unseen_proxies.process(end) == Some(pid)
                || (new.opening != 0
                    && leg.opening == new.opening
                    && leg.extent.start == new.extent.start)
        })
    }

    /// Learns at which address a proxy speaks TCP itself, if it passes on with a new leg what another one brought there.
    pub(super) fn learn_unseen_proxy(&mut self, parent: usize, new: &NewLeg) {
        if new.message.topology == MessageRouting::Brokered
            && let Some((&end, pid)) = unseen_end(&self.legs[parent], new)
            && self.unseen_proxies.process(&end) != Some(pid)
        {
            self.unseen_proxies.learn(&end, pid);
        }
    }

    /// Compares the places of a new leg and of the only one that may have brought its message to a proxy that speaks TCP itself. Connections
    /// that were joined in their middle show by several messages that they belong together. Returns true if that was learned.
    pub(super) fn tells_unseen_proxy(&mut self, new: &NewLeg) -> bool {
        let Known::One((_, message)) = self.index.known(new.message.identity) else { return false };
        let is_brokered = new.message.topology == MessageRouting::Brokered;
        let Some(message) = self.open.get(message).filter(|_| is_brokered) else { return false };
        let found = self.legs_of(message).take(SEARCHED).find_map(|leg| {
            let leg = &self.legs[leg];
            let (&end, pid) = unseen_end(leg, new).filter(|_| !leg.is_repeated())?;
            Some((end, pid, (leg.direction, leg.extent.start)))
        });
        let Some((end, pid, came)) = found else { return false };
        let is_one = self.unseen_proxies.is_continued((new.direction, new.extent.start), came);
        if is_one {
            self.unseen_proxies.learn(&end, pid);
        }
        is_one
    }

    /// True if a leg leads to a proxy of this host that speaks TCP itself.
    pub fn leads_to_unseen_proxy(&self, leg: &LegState) -> bool {
        leg.leads_elsewhere && self.unseen_proxies.is_known(leg.receiver())
    }

    /// True if a proxy that speaks TCP itself was not seen to pass on what a leg brought it: it has it.
    pub fn waits_in_unseen_proxy(&self, leg: &LegState) -> bool {
        !leg.links.has_child && self.leads_to_unseen_proxy(leg)
    }

    /// The first such leg of a message that is wanted.
    fn leg_through(
        &self,
        message: usize,
        new: &NewLeg,
        is_wanted: impl Fn(&LegState) -> bool,
    ) -> Option<usize> {
        self.legs_through(message, new).find(|&leg| is_wanted(&self.legs[leg]))
    }

    /// The legs of a message that brought it to the sender of a new one, which passes it on in the same sense and has not done so.
    fn legs_through(&self, message: usize, new: &NewLeg) -> impl Iterator<Item = usize> {
        let message =
            self.open.get(message).filter(|one| one.facts.topology == new.message.topology);
        message.into_iter().flat_map(move |message| {
            self.legs_of(message).take(SEARCHED).filter(move |&index| {
                let leg = &self.legs[index];
                leg.reader.toward == new.reader.toward
                    && self.has_brought(leg, new)
                    && !leg.is_repeated()
                    && leg.written <= new.written
                    && self.depth(index) < LONGEST_WAY
                    && !self.was_passed_on(message, index, new)
                    && self.may_forward(index, new)
            })
        })
    }

    /// Learns which connection it is that a new leg's continues, if a proxy passes on with it what another leg brought. Returns how
    /// sure that is.
    pub(super) fn learn_passage(
        &mut self,
        new: &NewLeg,
        parent: usize,
        carried: Option<Listed>,
    ) -> Option<Belief> {
        let leg = &self.legs[parent];
        if new.message.topology != MessageRouting::Brokered
            || new.message.identity.exact
            || leg.reader.toward != new.reader.toward
        {
            return None;
        }
        let (came, before, opening) = (leg.direction, leg.extent.start, leg.opening);
        let known = self.proxied.source(new.direction);
        let known = known.filter(|one| one.came == came && one.belief > Belief::Guessed);
        let is_same = new.opening != 0 && new.opening == opening && before == new.extent.start;
        let is_sure = || {
            self.index.known(new.message.identity) != Known::Many
                || self.is_alone(&self.legs[parent], is_same, new, carried)
        };
        let belief = match known {
            Some(source) => source.belief,
            None if !is_sure() => Belief::Guessed,
            None if is_same => Belief::Same,
            None => Belief::Told,
        };
        let is_to_server = new.reader.toward.is_server();
        self.proxied.learn((new.direction, new.extent.start), (came, before), belief, is_to_server);
        Some(belief)
    }
}

/// True if a leg leads to where no socket of this host is, and a new one begins at one.
fn is_elsewhere(leg: &LegState, new: &NewLeg) -> bool {
    leg.leads_elsewhere && leg.receiver().pid.is_none() && new.ends.sender.pid.is_some()
}

/// The end without a socket to which a leg brought a message, or from which a new one does, and the process that it is of if both are legs of
/// one message: a proxy may speak TCP itself with its clients, as `slirp4netns` does over a TUN device. It goes by the address of a server here.
fn unseen_end<'a>(leg: &'a LegState, new: &'a NewLeg) -> Option<(&'a Node, Pid)> {
    if leg.reader.toward != new.reader.toward || leg.direction.serial == new.direction.serial {
        return None;
    }
    let goes_by = |address: &Node, server: &Node| {
        address.pid.is_none() && server.pid.is_some() && address.addr == server.addr
    };
    let (sender, came_to) = (&new.ends.sender, leg.receiver());
    if new.reader.toward.is_server() {
        let pid = sender.pid.filter(|_| is_elsewhere(leg, new))?;
        goes_by(came_to, &new.ends.receiver).then_some((came_to, pid))
    } else {
        goes_by(sender, leg.sender()).then_some((sender, came_to.pid?))
    }
}
