//! Messages that a server hands on with another topic, in another protocol or at another of its addresses.
//!
//! ```text
//!   MQTT  plant/line4 ──▶ :1883 ┐ one broker ┌ :5672 ──▶ AMQP  amq.topic/plant.line4
//!   MQTT  plant/line4 ──▶ one broker ──▶ another broker  site1/plant/line4
//! ```

use super::super::index::Known;
use super::super::new_leg::{NewLeg, Toward};
use super::super::open::{LegState, Message};
use super::Messages;
use super::matching::SEARCHED;
use wirelap_flow::{Direction, Identity, LegKey, Node};
use wirelap_protocols::MessageRouting;

impl Messages {
    /// True if a leg leads to a node, or to another address of the same server.
    pub(super) fn leads_to_node(&self, leg: &LegState, node: &Node) -> bool {
        leg.reaches(node)
            || (!self.translations.is_empty()
                && leg.reader.toward.is_server()
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
        if self.unite_addresses(new, new.message.identity) {
            return Some(new.clone());
        }
        let content = new.message.content.filter(|content| content.subject.is_some())?;
        let identity = self.find_name_at_server(new, content)?;
        (self.came_here(new, identity) || self.unite_addresses(new, identity))
            .then(|| new.with_identity(identity))
    }

    /// True if the sender of a leg to a server is a server itself.
    pub(super) fn is_bridge(&self, new: &NewLeg) -> bool {
        new.message.topology == MessageRouting::Brokered
            && new.ends.sender.pid.is_some_and(|pid| self.forwarders.is_server(pid))
    }

    /// True if a leg brings a message back to a server that had sent it on, on the same topic, from another server: their bridges are a
    /// loop.
    pub fn is_looped(&self, new: &NewLeg, key: LegKey) -> bool {
        let is_same = |leg: &LegState| {
            let message = self.open.get(leg.message);
            message.is_some_and(|message| message.facts.subject == new.message.subject)
        };
        new.reader.toward == Toward::Server
            && self.is_bridge(new)
            && self
                .path(key.0)
                .skip(1)
                .any(|leg| leg.sender().is(&new.ends.receiver) && is_same(leg))
    }

    fn of_identity(&self, identity: Identity) -> impl DoubleEndedIterator<Item = &Message> {
        let (all, _) = self.index.after(identity, None, |_| true);
        all.filter_map(|index| self.open.get(index))
    }

    /// True if a message of an identity came to the sender of a new leg before.
    pub(super) fn came_here(&self, new: &NewLeg, identity: Identity) -> bool {
        self.of_identity(identity).rev().take(SEARCHED).any(|message| {
            message.at <= new.written
                && self.legs_of(message).any(|leg| {
                    let leg = &self.legs[leg];
                    leg.reader.toward.is_server() && self.leads_to_node(leg, &new.ends.sender)
                })
        })
    }

    pub(super) fn is_at_another_address(&self, new: &NewLeg, identity: Identity) -> bool {
        self.at_another_address(new, identity).is_some()
    }

    /// The direction in which a message of an identity came to another port of the sender of a new leg, and that port.
    fn at_another_address(&self, new: &NewLeg, identity: Identity) -> Option<(Direction, Node)> {
        let sender = &new.ends.sender;
        if sender.pid.is_some() || new.message.topology != MessageRouting::Brokered {
            return None;
        }
        self.of_identity(identity).rev().take(SEARCHED).find_map(|message| {
            // A client that has it already may be a proxy that passes it on from its own port.
            let may_be_proxy = |leg: &LegState| {
                !leg.reader.toward.is_server() && leg.receiver().addr.ip() == sender.addr.ip()
            };
            let mut legs = self.legs_of(message).map(|leg| &self.legs[leg]);
            if legs.clone().any(may_be_proxy) {
                return None;
            }
            let leg = legs.find(|leg| {
                let to = leg.receiver();
                leg.reader.toward.is_server()
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
            leg.reader.toward.is_server() && leg.reaches(&sender)
        });
        let is_one = self.translations.note_crossing([node, sender], gets_some, is_unique);
        if is_one {
            self.translations.united = Some([came, new.direction]);
        }
        is_one
    }
}
