//! Messages that a server hands on with another topic, in another protocol or at another of its addresses.
//!
//! ```text
//!   MQTT  plant/line4 ──▶ :1883 ┐ one broker ┌ :5672 ──▶ AMQP  amq.topic/plant.line4
//!   MQTT  plant/line4 ──▶ one broker ──▶ another broker  site1/plant/line4
//! ```

use super::super::forwarders::Receiver;
use super::super::index::Known;
use super::super::new_leg::NewLeg;
use super::super::open::{LegState, Message};
use super::Messages;
use super::matching::SEARCHED;
use crate::flow::{Content, Identity};
use crate::ids::{Direction, Node};
use wirelap_events::Saturate;
use wirelap_protocols::MessageRouting;

impl Messages {
    /// True if a leg leads to a node, or to another address of the same server.
    pub(super) fn leads_to_node(&self, leg: &LegState, node: &Node) -> bool {
        leg.reaches(node)
            || (!self.translations.is_empty()
                && leg.toward.is_server()
                && node.pid.is_none()
                && leg.receiver().pid.is_none()
                && self.translations.are_one(leg.receiver(), node))
    }

    /// Two directions to or from addresses of one server, if that was found since it was asked last.
    pub fn take_united(&mut self) -> Option<[Direction; 2]> {
        self.translations.united.take()
    }

    /// A leg from a server that no message was found for, by the name that its message has where it came to that server.
    pub(super) fn translated(&mut self, new: &NewLeg) -> Option<NewLeg> {
        if self.unite_addresses(new, new.identity) {
            return Some(new.clone());
        }
        let content = new.content.filter(|content| content.subject.is_some())?;
        if self.contents.is_none() && self.has_another_name(new, content) {
            self.keep_contents();
        }
        let identity = self.same_topic(new, content);
        let identity = identity.or_else(|| self.renamed(new, content))?;
        (self.came_here(new, identity) || self.unite_addresses(new, identity))
            .then(|| NewLeg { identity, ..new.clone() })
    }

    /// The one identity that a leg's message may have where it came to the leg's sender with the same topic, as another protocol has it.
    fn same_topic(&self, new: &NewLeg, content: Content) -> Option<Identity> {
        let all = self.contents.as_ref()?.translated(content, new.identity);
        let mut came = all.filter(|&identity| {
            self.came_here(new, identity) || self.is_at_another_address(new, identity)
        });
        came.next().filter(|_| came.next().is_none())
    }

    /// The one identity that a leg's message may have where it came to the leg's sender with another topic: a bridge that puts a prefix
    /// before topics, a server that maps subjects. Until that is known of the two topics, no other message may have its content.
    fn renamed(&mut self, new: &NewLeg, content: Content) -> Option<Identity> {
        let (server, to) = (Receiver::at(&new.ends.sender), content.subject?);
        let known = self.translations.renamed_from(server, to);
        let all = self.contents.as_ref()?.renamed(content, new.identity);
        let mut came = all.filter(|&(identity, from)| {
            known.is_none_or(|known| known == from) && self.came_here(new, identity)
        });
        let (identity, from) = came.next().filter(|_| came.next().is_none())?;
        drop(came);
        if known.is_none() {
            let is_unique = matches!(self.index.known(identity), Known::One(_));
            if !is_unique || !content.is_telling {
                return None;
            }
            self.translations.renamed(server, from, to);
        }
        Some(identity)
    }

    /// True if the sender of a leg to a server is a server itself.
    pub(super) fn is_bridge(&self, new: &NewLeg) -> bool {
        new.topology == MessageRouting::Brokered
            && new.ends.sender.pid.is_some_and(|pid| self.forwarders.is_server(pid))
    }

    /// True if a message that is open has the content of a new leg and another topic. Looked at for the first, second, fourth, eighth
    /// … of those that nothing is found for.
    fn has_another_name(&mut self, new: &NewLeg, content: Content) -> bool {
        self.translations.orphans.grow(1);
        self.translations.orphans.is_power_of_two()
            && self.open.iter().any(|(_, message)| {
                message.content.is_some_and(|other| other.hash == content.hash)
                    && message.identity != new.identity
            })
    }

    fn of_identity(&self, identity: Identity) -> impl DoubleEndedIterator<Item = &Message> {
        let (all, _) = self.index.after(identity, None, |_| true);
        all.filter_map(|index| self.open.get(index))
    }

    /// True if a message of an identity came to the sender of a new leg before.
    fn came_here(&self, new: &NewLeg, identity: Identity) -> bool {
        self.of_identity(identity).rev().take(SEARCHED).any(|message| {
            message.at <= new.written
                && self.legs_of(message).any(|leg| {
                    let leg = &self.legs[leg];
                    leg.toward.is_server() && self.leads_to_node(leg, &new.ends.sender)
                })
        })
    }

    fn is_at_another_address(&self, new: &NewLeg, identity: Identity) -> bool {
        self.at_another_address(new, identity).is_some()
    }

    /// The direction in which a message of an identity came to another port of the sender of a new leg, and that port.
    fn at_another_address(&self, new: &NewLeg, identity: Identity) -> Option<(Direction, Node)> {
        let sender = &new.ends.sender;
        if sender.pid.is_some() || new.topology != MessageRouting::Brokered {
            return None;
        }
        self.of_identity(identity).rev().take(SEARCHED).find_map(|message| {
            // A client that has it already may be a proxy that passes it on from its own port.
            let may_be_proxy = |leg: &LegState| {
                !leg.toward.is_server() && leg.receiver().addr.ip() == sender.addr.ip()
            };
            let mut legs = self.legs_of(message).map(|leg| &self.legs[leg]);
            if legs.clone().any(may_be_proxy) {
                return None;
            }
            let leg = legs.find(|leg| {
                let to = leg.receiver();
                leg.toward.is_server()
                    && to.pid.is_none()
                    && (to.addr.ip(), to.scope) == (sender.addr.ip(), sender.scope)
                    && to.addr.port() != sender.addr.port()
                    && leg.written <= new.written
            })?;
            Some((leg.direction, *leg.receiver()))
        })
    }

    /// Takes the sender of a new leg for the server at another port that a message of an identity went to, if no messages go to its
    /// own one, or this was seen several times.
    fn unite_addresses(&mut self, new: &NewLeg, identity: Identity) -> bool {
        let Some((came, node)) = self.at_another_address(new, identity) else { return false };
        let sender = new.ends.sender;
        let is_unique = matches!(self.index.known(identity), Known::One(_));
        let gets_some = self.open.iter().any(|(_, message)| {
            let leg = &self.legs[message.first];
            leg.toward.is_server() && leg.reaches(&sender)
        });
        let is_one = self.translations.crossed([node, sender], gets_some, is_unique);
        if is_one {
            self.translations.united = Some([came, new.direction]);
        }
        is_one
    }
}
