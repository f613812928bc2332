//! The messages that are open, and how a flow's message joins them.

mod adding;
mod completion;
mod expiry;
mod in_turn;
mod late;
mod matching;
mod names;
mod passage;
mod retained;
mod sent_again;
mod stored;
mod translated;

pub use matching::LONGEST_WAY;

use super::contents::Contents;
use super::copying::CopyingSenders;
use super::forwarders::{Forwarders, Receiver};
use super::handed_out::HandedOut;
use super::index::Index;
use super::marked::MarkedPlaces;
use super::new_leg::{NewLeg, Toward};
use super::open::{LegState, Message};
use super::proxied::ProxiedDirections;
use super::stored::StoredMessages;
use super::translations::Translations;
use super::turn::Turn;
use super::unseen_proxies::UnseenProxies;
use slab::Slab;
use std::collections::VecDeque;
use std::sync::Arc;
use wirelap_events::{GroupId, Leg, MessageId, Nanos, Pid, Release, Saturate, Stamp};
use wirelap_flow::{Direction, FlowEnds, LegKey, Node};
use wirelap_protocols::MessageRouting;

/// The most boxes of legs that are kept for others.
const SPARE: usize = 1024;

/// Every open message.
#[derive(Debug, Default)]
pub struct Messages {
    open: Slab<Message>,
    legs: Slab<LegState>,
    index: Index,
    /// `None` while every message is sure of its name: then none has that of another.
    contents: Option<Contents>,
    stored: StoredMessages,
    /// Messages with legs that no delivery was handed out with.
    unfinished: MarkedPlaces,
    queues: ExpiryQueues,
    /// Messages that had counted as passed on to nobody, and were read since the last look.
    read_late: u64,
    forwarders: Forwarders,
    /// Connections of proxies that belong together.
    proxied: ProxiedDirections,
    /// Proxies that speak TCP themselves with their clients.
    unseen_proxies: UnseenProxies,
    /// Rows in which messages were counted as sent that have turned out to be others since the last look.
    merged: Option<(GroupId, Option<Stamp>)>,
    /// Messages that are kept for subscribers that are behind.
    kept: usize,
    /// Legs whose stages are waited for.
    waiting: usize,
    /// Boxes for legs, used again and again.
    #[expect(clippy::vec_box, reason = "boxes are kept to be used again, not the legs")]
    spare: Vec<Box<Leg>>,
    /// Servers that hand messages on by other names, as far as they are known.
    translations: Translations,
    /// Contents that were delivered, and whose messages are forgotten.
    handed_out: HandedOut,
    /// Senders of copies, and how far each of their receivers is.
    copying: CopyingSenders,
    /// Memory to compare messages of equal content, used again and again.
    turn: Turn,
    serial: u64,
    ids: u64,
    limits: JoinLimits,
}

/// Messages by their place or time, each with its serial number.
#[derive(Debug, Default)]
struct ExpiryQueues {
    /// By time of expiry: messages that may be done soon.
    soon: VecDeque<(Nanos, usize, u64)>,
    /// By time of expiry: messages that are given all patience.
    late: VecDeque<(Nanos, usize, u64)>,
    /// Messages that are kept for who reads a log later, the first of them first.
    retained: VecDeque<(usize, u64)>,
}

/// Limits of what is remembered, and for how long.
#[derive(Clone, Copy, Debug, Default)]
struct JoinLimits {
    /// The most messages.
    messages: usize,
    /// Time that slower hooks get to report.
    hold: Nanos,
    /// Time that a message may take.
    patience: Nanos,
}

impl Messages {
    pub fn new(limit: usize, hold: Nanos, patience: Nanos) -> Messages {
        let limits = JoinLimits { messages: limit, hold, patience };
        Messages { limits, ..Messages::default() }
    }

    pub fn is_full(&self) -> bool {
        self.is_short_of(0)
    }

    /// True if there is no room for so many messages.
    fn is_short_of(&self, messages: usize) -> bool {
        let room = self.limits.messages.saturating_sub(messages);
        self.open.len() >= room || self.legs.len() >= room.saturating_mul(2)
    }

    /// True if most of the room is taken by what is waited for. Messages that are only remembered
    /// do not count: they make room.
    pub fn is_pressed(&self) -> bool {
        self.waiting >= (self.limits.messages / 4).saturating_mul(3)
    }

    /// True if there is too little room for the messages of one more event, which can carry thousands.
    pub fn is_nearly_full(&self) -> bool {
        self.is_short_of(self.limits.messages / 16)
    }

    pub fn leg(&self, key: LegKey) -> Option<&LegState> {
        self.legs.get(key.0).filter(|leg| leg.serial == key.1)
    }

    /// The leg at a place.
    pub fn leg_at(&self, place: usize) -> Option<&LegState> {
        self.legs.get(place)
    }

    /// The leg that this one continues.
    pub fn before(&self, key: LegKey) -> Option<&LegState> {
        self.legs.get(self.leg(key)?.parent()?)
    }

    /// Messages found before `limit`, and their legs that are not known to be delivered.
    pub fn unfinished(&self, limit: Nanos) -> impl Iterator<Item = (&Message, &LegState)> {
        let unfinished = self.unfinished.iter();
        let all = unfinished.filter_map(|index| Some((index, self.open.get(index)?)));
        all.filter(move |(_, message)| message.at < limit).flat_map(move |(index, message)| {
            self.left_of(index).filter_map(move |leg| Some((message, self.legs.get(leg)?)))
        })
    }

    pub fn message(&self, index: usize) -> Option<&Message> {
        self.open.get(index)
    }

    /// The messages of rows.
    pub fn of_rows(&self, is_one: impl Fn(GroupId) -> bool) -> Vec<usize> {
        let its = self.open.iter().filter(|(_, message)| is_one(message.facts.row));
        its.map(|(index, _)| index).collect()
    }

    /// Sets the number of a leg's message among those of its topic.
    pub fn set_number(&mut self, key: LegKey, number: Option<u64>) {
        let message = self.leg(key).map(|leg| leg.message);
        if let Some(message) = message.and_then(|message| self.open.get_mut(message)) {
            message.number = number;
        }
    }

    /// Moves a message to the row of its first leg, if that is another one. Returns the row that it
    /// was counted in, if it was.
    pub fn move_to(&mut self, key: LegKey, row: GroupId) -> Option<(GroupId, Option<Stamp>)> {
        let message = self.leg(key)?.message;
        let message = self.open.get_mut(message)?;
        if message.first != key.0 || message.facts.row == row {
            return None;
        }
        let before = std::mem::replace(&mut message.facts.row, row);
        (!message.is_orphan && !message.facts.repeats).then_some((before, message.facts.stamp))
    }

    /// The sender of a leg had to wait until it was allowed to pass the message on.
    pub fn release(&mut self, key: LegKey, release: Release) {
        if let Some(leg) = self.legs.get_mut(key.0).filter(|leg| leg.serial == key.1) {
            leg.release(release);
        }
    }

    /// A leg is in another direction, or between others, than was known when it was found: two conversations were one.
    pub fn change_direction(&mut self, key: LegKey, direction: Direction, ends: &Arc<FlowEnds>) {
        if let Some(leg) = self.legs.get_mut(key.0).filter(|leg| leg.serial == key.1) {
            (leg.direction, leg.ends) = (direction, Arc::clone(ends));
        }
    }

    /// A box for a leg, if one is left over from one that is forgotten.
    pub fn spare(&mut self) -> Option<Box<Leg>> {
        self.spare.pop()
    }

    /// A delivery was handed out that ends with a leg.
    pub fn note_handed_out(&mut self, end: usize) {
        let mut next = Some(end);
        while let Some(place) = next
            && let Some(leg) = self.legs.get_mut(place)
        {
            next = leg.parent();
            let spare = leg.note_handed_out(place == end);
            self.forget(spare);
        }
    }

    /// A leg is forgotten.
    fn forget(&mut self, leg: Option<Box<Leg>>) {
        self.spare.extend(leg.filter(|_| self.spare.len() < SPARE));
    }

    pub fn new_id(&mut self) -> MessageId {
        self.ids.grow(1);
        MessageId(self.ids)
    }

    /// Returns, for a leg that continues another after its first sibling, that sibling, the leg's own place and how
    /// many there are.
    pub fn siblings(&self, leg: &LegState) -> Option<(&LegState, u32, u32)> {
        if leg.links.position <= 1 {
            return None;
        }
        let parent = self.legs.get(leg.parent()?)?;
        let first = self.leg(parent.links.first_child()?)?;
        Some((first, leg.links.position, parent.links.children))
    }

    /// Number of legs from the sender of the message to here, this one included.
    pub fn depth(&self, leg: usize) -> usize {
        self.path(leg).count()
    }

    /// Number of legs from the sender of the message to where this one leads.
    pub fn depth_of(&self, leg: &LegState) -> usize {
        leg.parent().map_or(0, |parent| self.depth(parent)).saturating_add(1)
    }

    /// A leg and those before it, backwards.
    pub fn path(&self, leg: usize) -> impl Iterator<Item = &LegState> + Clone {
        std::iter::successors(self.legs.get(leg), |leg| self.legs.get(leg.parent()?))
    }

    fn legs_of(&self, message: &Message) -> impl Iterator<Item = usize> + Clone + '_ {
        std::iter::successors(Some(message.first), |&leg| self.legs.get(leg)?.links.next.get())
    }

    /// Somebody has got bytes that no packet event brought, or that could not be decoded.
    pub fn note_missed(&mut self, receiver: Receiver, at: Nanos) {
        self.forwarders.note_missed(receiver, at);
    }

    /// Somebody has got bytes of which it is not known yet what they are.
    pub fn note_unknown(&mut self, receiver: Receiver, at: Nanos) {
        self.forwarders.note_unknown(receiver, at);
    }

    /// True if the message of a new leg is one that some process passes on, as far as is known.
    pub fn is_passed_on(&self, new: &NewLeg) -> bool {
        match new.message.topology {
            MessageRouting::PeerToPeer => false,
            MessageRouting::Brokered => true,
            MessageRouting::Either => [&new.ends.sender, &new.ends.receiver]
                .into_iter()
                .any(|end| self.forwarders.forwards(end)),
        }
    }

    /// True if a process only hands on to a server what its clients say, and back.
    pub fn is_relay(&self, pid: Pid) -> bool {
        self.forwarders.is_relay(pid)
    }

    /// True if a node is a proxy of this host that speaks TCP itself.
    pub fn is_unseen_proxy(&self, node: &Node) -> bool {
        self.unseen_proxies.is_known(node)
    }

    /// The direction between a client and a proxy, and the direction between the proxy and the server, of a leg that goes on at a proxy.
    pub fn relayed(&self, key: LegKey, new: &NewLeg) -> Option<(Direction, Direction)> {
        let pid = new.ends.sender.pid.filter(|&pid| self.is_relay(pid))?;
        let parent = self.legs.get(self.leg(key)?.parent()?)?;
        match (parent.reader.toward, new.reader.toward) {
            (Toward::Server, Toward::Server) if parent.receiver().pid == Some(pid) => {
                Some((parent.direction, new.direction))
            }
            (Toward::Client, Toward::Client) if parent.receiver().pid == Some(pid) => {
                Some((new.direction, parent.direction))
            }
            _ => None,
        }
    }

    /// True if it is not known yet whether a process passes messages on.
    pub fn is_undecided(&self, node: &Node) -> bool {
        self.forwarders.is_undecided(node)
    }

    /// True if a leg of a message that may go straight or through somebody leads to a process that others have subscribed at, and of which it is not
    /// known whether it passes on what it gets.
    pub fn may_be_at_forwarder(&self, leg: &LegState) -> bool {
        let may_go_on = || {
            let message = self.open.get(leg.message);
            message.is_some_and(|message| message.facts.topology == MessageRouting::Either)
        };
        self.forwarders.has_subscribers(leg.receiver())
            && self.forwarders.is_undecided(leg.receiver())
            && !leg.stays_inside()
            && may_go_on()
    }

    /// The directions on which a message comes to a process and goes on from it, of a new leg that goes on at one that is no broker.
    pub fn passed_on(&self, key: LegKey, new: &NewLeg) -> Option<(Direction, Direction)> {
        let is_either = new.message.topology == MessageRouting::Either;
        let parent = self.legs.get(self.leg(key).filter(|_| is_either)?.parent()?)?;
        Some((new.direction, parent.direction))
    }

    /// True if a leg leads from a server to a process that is one for others, and of which it is not known yet whether it is a proxy.
    pub fn may_be_at_proxy(&self, leg: &LegState) -> bool {
        let is_brokered = || {
            let message = self.open.get(leg.message);
            message.is_some_and(|message| message.facts.topology == MessageRouting::Brokered)
        };
        leg.reader.toward == Toward::Client
            && !leg.stays_inside()
            && leg.receiver().pid.is_some_and(|pid| self.forwarders.may_be_relay(pid))
            && is_brokered()
    }

    /// The message of a leg was not passed on for as long as that may take.
    pub fn note_sink(&mut self, key: LegKey) {
        if let Some(node) = self.leg(key).map(|leg| *leg.receiver()) {
            self.forwarders.note_sink(&node);
        }
    }

    /// Somebody has subscribed at a process.
    pub fn note_subscriber(&mut self, node: &Node) {
        self.forwarders.note_subscriber(node);
    }

    /// True if the message goes on from this leg's reader, as far as is known.
    pub fn goes_on(&self, message: &Message, leg: &LegState) -> bool {
        leg.links.has_child
            || match message.facts.topology {
                MessageRouting::PeerToPeer => false,
                MessageRouting::Brokered => {
                    leg.reader.toward.is_server()
                        || leg.receiver().pid.is_some_and(|pid| self.is_relay(pid))
                }
                MessageRouting::Either => self.forwarders.forwards(leg.receiver()),
            }
    }
}
