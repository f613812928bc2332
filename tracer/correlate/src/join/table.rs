//! The messages that are open, and how a flow's message joins them.

use super::contents::Contents;
use super::index::{Added, Index, Known, Listed};
use super::open::{Joined, LegKey, LegState, Message, Sighting};
use crate::flow::{Identity, Node, Way};
use rustc_hash::{FxHashMap, FxHashSet};
use slab::Slab;
use std::collections::VecDeque;
use std::net::SocketAddr;
use wirelap_events::Saturate;
use wirelap_events::{
    GroupId, Leg, MAX_LEGS, MessageId, Nanos, NetNs, Permit, Pid, Stage, Stamp, Transport,
};
use wirelap_protocols::Topology;

/// Messages of one content that are looked at for one that a flow could continue.
const SEARCHED: usize = 256;

/// Legs of one message that are looked at for the process that forwards it. The first leg is the one
/// that almost always fits.
const SEARCHED_LEGS: usize = 16;

/// The most legs of a message, alone with its content, that are looked at for a way.
const FEW_LEGS: u32 = 4;

/// Processes that are known to forward.
const FORWARDERS: usize = 65_536;

/// Messages that a process has handed on to another server before it is a proxy: a bridge shows that it is a broker by then.
const RELAYED: u32 = 2;

/// The most legs' room that is kept for others.
const SPARE: usize = 1024;

/// Every open message.
#[derive(Debug, Default)]
pub struct Messages {
    pub(super) open: Slab<Message>,
    pub(super) legs: Slab<LegState>,
    pub(super) index: Index,
    pub(super) contents: Contents,
    /// By time of expiry: messages that may be done soon, and those that are given all patience.
    pub(super) soon: VecDeque<(Nanos, usize, u64)>,
    pub(super) late: VecDeque<(Nanos, usize, u64)>,
    forwarding_pids: FxHashSet<Pid>,
    forwarding_addrs: FxHashSet<(SocketAddr, NetNs)>,
    /// Processes that hand on what they get from clients to other clients of theirs: brokers.
    brokers: FxHashSet<Pid>,
    /// Processes that hand on what they get from clients to another server, and how many messages: proxies. A broker
    /// that also does so (a bridge) is a broker.
    relays: FxHashMap<Pid, u32>,
    /// The one that was learned last.
    forwarder: Option<Node>,
    /// Legs whose stages are waited for.
    pub(super) waiting: usize,
    /// Room for legs, used again and again.
    #[expect(clippy::vec_box, reason = "what is kept is the heap's room, not the legs")]
    spare: Vec<Box<Leg>>,
    serial: u64,
    ids: u64,
    limit: usize,
    pub(super) hold: Nanos,
    pub(super) patience: Nanos,
}

enum Relation {
    Child(usize),
    Copy,
    /// The message is an orphan that started where the sighting leads.
    Parent,
}

/// A message whose every leg is delivered is remembered for this many holds, for copies of it.
const HOLDS_REMEMBERED: u64 = 10;

impl Messages {
    pub fn new(limit: usize, hold: Nanos, patience: Nanos) -> Messages {
        Messages { limit, hold, patience, ..Messages::default() }
    }

    pub fn is_full(&self) -> bool {
        self.open.len() >= self.limit || self.legs.len() >= self.limit.saturating_mul(2)
    }

    /// Whether most of the room is taken by what is waited for. What is only remembered makes room.
    pub fn is_pressed(&self) -> bool {
        self.waiting >= (self.limit / 4).saturating_mul(3)
    }

    pub fn leg(&self, key: LegKey) -> Option<&LegState> {
        self.legs.get(key.0).filter(|leg| leg.serial == key.1)
    }

    /// The leg that this one continues.
    pub fn before(&self, key: LegKey) -> Option<&LegState> {
        self.legs.get(self.leg(key)?.parent?)
    }

    /// Messages found before `limit`, and their legs that are not known to be delivered.
    pub fn unfinished(&self, limit: Nanos) -> impl Iterator<Item = (&Message, &LegState)> {
        let old = self.open.iter().filter(move |(_, message)| message.at < limit);
        old.flat_map(move |(index, message)| {
            self.left_of(index).filter_map(move |leg| Some((message, self.legs.get(leg)?)))
        })
    }

    pub fn message(&self, index: usize) -> Option<&Message> {
        self.open.get(index)
    }

    /// Moves a message to the row of its first leg, if that is another one. Returns the row that it
    /// was counted in, if it was.
    pub fn move_to(&mut self, key: LegKey, row: GroupId) -> Option<(GroupId, Option<Stamp>)> {
        let message = self.leg(key)?.message;
        let message = self.open.get_mut(message)?;
        if message.first != key.0 || message.row == row {
            return None;
        }
        let before = std::mem::replace(&mut message.row, row);
        (!message.is_orphan && !message.repeats).then_some((before, message.stamp))
    }

    /// The sender of a leg had to wait until it was allowed to pass the message on.
    pub fn permit(&mut self, key: LegKey, permit: Permit) {
        if let Some(leg) = self.legs.get_mut(key.0).filter(|leg| leg.serial == key.1) {
            leg.permit = Some(permit);
        }
    }

    /// A leg is on another way, or between others, than was known when it was found: two conversations were one.
    pub fn goes(&mut self, key: LegKey, way: Way, sender: Node, receiver: Node) {
        if let Some(leg) = self.legs.get_mut(key.0).filter(|leg| leg.serial == key.1) {
            (leg.way, leg.sender, leg.receiver) = (way, sender, receiver);
        }
    }

    /// Room for a leg, if some is left over from one that is forgotten.
    pub fn spare(&mut self) -> Option<Box<Leg>> {
        self.spare.pop()
    }

    /// A leg is forgotten.
    pub(super) fn forget(&mut self, leg: Option<Box<Leg>>) {
        self.spare.extend(leg.filter(|_| self.spare.len() < SPARE));
    }

    pub fn new_id(&mut self) -> MessageId {
        self.ids.grow(1);
        MessageId(self.ids)
    }

    /// The message that one on `way` is a repetition of, if the identity can tell.
    pub fn repeated(&self, identity: Identity, way: Way) -> Option<usize> {
        let (_, message) = self.carried(identity, way).filter(|_| identity.exact)?;
        Some(message)
    }

    /// The newest message of this identity that has a leg on this way.
    fn carried(&self, identity: Identity, way: Way) -> Option<Listed> {
        match self.index.known(identity) {
            Known::Nothing => None,
            Known::One(only) => {
                let message = self.open.get(only.1)?;
                self.legs_of(message).any(|leg| self.legs[leg].way == way).then_some(only)
            }
            Known::Many => self.index.on_way(identity, way),
        }
    }

    /// Takes a sighting in. `left` tells when its last byte was sent, which is earlier than when it was
    /// found if a hole held it up.
    pub fn sight(
        &mut self,
        mut sighting: Sighting,
        left: impl FnOnce() -> Option<Nanos>,
    ) -> (LegKey, Joined) {
        if let Some(identity) = self.other_identity(&sighting) {
            sighting.identity = identity;
        }
        let carried = self.carried(sighting.identity, sighting.way);
        if let Some((_, message)) = carried.filter(|_| sighting.identity.exact) {
            return (self.add_again(message, &sighting), Joined::Again);
        }
        match self.candidate(&sighting, carried) {
            Some((message, Relation::Child(parent))) => {
                if sighting.topology == Topology::Either || !sighting.to_server {
                    self.learn_forwarder(parent);
                }
                if sighting.topology == Topology::Brokered {
                    self.learn_role(parent, &sighting);
                }
                let is_copy = std::mem::replace(&mut self.legs[parent].has_child, true);
                let joined = if is_copy { Joined::Copy } else { Joined::Leg };
                (self.add_leg(message, &sighting, Some(parent)), joined)
            }
            Some((message, Relation::Copy)) => {
                (self.add_leg(message, &sighting, None), Joined::Copy)
            }
            Some((message, Relation::Parent))
                if sighting.identity.exact
                    || left().unwrap_or(sighting.at) <= self.open[message].at =>
            {
                (self.adopt(message, &sighting), Joined::New)
            }
            Some((_, Relation::Parent)) | None => self.add_message(&sighting),
        }
    }

    /// The identity of a message that is known under a name that the sighting lacks, or lacks the name that it has.
    fn other_identity(&self, sighting: &Sighting) -> Option<Identity> {
        let identity = self.contents.other(sighting.content?, sighting.identity)?;
        let known = Sighting { identity, ..*sighting };
        let carried = self.carried(identity, sighting.way);
        let joins = || self.candidate(&known, carried).is_some();
        ((identity.exact && carried.is_some()) || joins()).then_some(identity)
    }

    /// The message that a sighting belongs to. Of several with the same content, the oldest that is not
    /// stale and that this way has not carried yet, after the last that it has `carried`: messages do not overtake each
    /// other on a way.
    fn candidate(&self, sighting: &Sighting, carried: Option<Listed>) -> Option<(usize, Relation)> {
        let is_stale = |index: usize| {
            self.open.get(index).is_none_or(|message| message.at + self.hold < sighting.at)
        };
        let relation = |index: usize| {
            let relation = self.relation(self.open.get(index)?, sighting)?;
            Some((index, relation))
        };
        let (old, fresh) = self.index.after(sighting.identity, carried, is_stale);
        let mut fresh = fresh.take(SEARCHED);
        fresh.find_map(relation).or_else(|| old.rev().take(SEARCHED).find_map(relation))
    }

    fn relation(&self, message: &Message, sighting: &Sighting) -> Option<Relation> {
        if message.topology != sighting.topology {
            return None;
        }
        if sighting.topology != Topology::PeerToPeer {
            let mut parent = None;
            for index in self.legs_of(message).take(SEARCHED_LEGS) {
                let leg = &self.legs[index];
                let is_echo =
                    leg.way.serial == sighting.way.serial && sighting.topology == Topology::Either;
                if leg.reaches(&sighting.sender)
                    && leg.again.is_none()
                    && !is_echo
                    && self.may_forward(index, sighting)
                    && self.depth(index) < MAX_LEGS
                {
                    // What a proxy has from the server goes on, not what it had from the publisher.
                    let is_from_server = !leg.to_server && !leg.has_child;
                    if is_from_server || parent.is_none() {
                        parent = Some(index);
                    }
                    if sighting.topology != Topology::Brokered
                        || sighting.to_server
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
        let first = &self.legs[message.first];
        if message.is_orphan && first.sender.is(&sighting.receiver) {
            return Some(Relation::Parent);
        }
        let elsewhere = first.way.serial != sighting.way.serial;
        let is_straight = sighting.topology != Topology::Brokered || message.is_orphan;
        let may_copy = sighting.may_copy && is_straight;
        (may_copy && elsewhere && first.sender.is(&sighting.sender)).then_some(Relation::Copy)
    }

    /// Whether the reader of a leg passes messages on to where the sighting leads. One that subscribes
    /// at a broker and publishes there does not, even the same content: it says something of its own.
    fn may_forward(&self, leg: usize, sighting: &Sighting) -> bool {
        if sighting.topology != Topology::Brokered || !sighting.to_server {
            return true;
        }
        let forwards = self.legs[leg].to_server || self.is_forwarder(&sighting.sender);
        forwards && !self.path(leg).any(|leg| leg.receiver.is(&sighting.receiver))
    }

    /// Of a leg that continues another after its first sibling: that sibling, its own place and how many there are.
    pub fn siblings(&self, leg: &LegState) -> Option<(&LegState, u32, u32)> {
        let parent = self.legs.get(leg.parent?)?;
        let first = self.leg(parent.first_child?)?;
        (leg.position > 1).then_some((first, leg.position, parent.children))
    }

    /// How many legs lead here.
    pub fn depth(&self, leg: usize) -> usize {
        self.path(leg).count()
    }

    /// How many legs lead to where this one does.
    pub fn depth_of(&self, leg: &LegState) -> usize {
        leg.parent.map_or(0, |parent| self.depth(parent)).saturating_add(1)
    }

    /// A leg and those before it, backwards.
    pub fn path(&self, leg: usize) -> impl Iterator<Item = &LegState> {
        std::iter::successors(self.legs.get(leg), |leg| self.legs.get(leg.parent?))
    }

    pub(super) fn legs_of(&self, message: &Message) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(Some(message.first), |&leg| self.legs.get(leg)?.next)
    }

    fn add_message(&mut self, sighting: &Sighting) -> (LegKey, Joined) {
        let is_orphan = sighting.topology == Topology::Brokered && !sighting.to_server;
        self.serial.grow(1);
        let id = self.new_id();
        let index = self.open.insert(Message {
            id,
            serial: self.serial,
            identity: sighting.identity,
            content: sighting.content,
            stamp: sighting.stamp,
            payload_len: sighting.payload_len,
            topic: sighting.topic,
            subject: sighting.subject,
            row: sighting.row,
            topology: sighting.topology,
            at: sighting.at,
            first: usize::MAX,
            last: usize::MAX,
            legs: 0,
            open: 0,
            is_orphan,
            keeps_ways: false,
            repeats: sighting.repeats,
            overdue: false,
        });
        let soon = Nanos(self.hold.0.saturating_mul(HOLDS_REMEMBERED));
        self.soon.push_back((sighting.at + soon, index, self.serial));
        match self.index.add(sighting.identity, (self.serial, index)) {
            Added::Alone => {
                if let Some(content) = sighting.content {
                    self.contents.add(content, sighting.identity);
                }
            }
            Added::Second((_, first)) => {
                self.tell_ways(first);
                self.open[index].keeps_ways = true;
            }
            Added::More => self.open[index].keeps_ways = true,
        }
        let key = self.add_leg(index, sighting, None);
        (key, if is_orphan { Joined::Orphan } else { Joined::New })
    }

    fn add_leg(&mut self, message: usize, sighting: &Sighting, parent: Option<usize>) -> LegKey {
        self.serial.grow(1);
        let serial = self.serial;
        let parent_state = parent.and_then(|parent| self.legs.get_mut(parent));
        let position = parent_state.map_or(0, |parent| {
            parent.children.grow(1);
            parent.children
        });
        let index = self.legs.insert(LegState {
            message,
            serial,
            parent,
            next: None,
            again: None,
            way: sighting.way,
            extent: sighting.extent,
            own: sighting.own,
            at: sighting.at,
            asked: sighting.asked,
            room: sighting.room,
            permit: None,
            transport: sighting.transport,
            sender: sighting.sender,
            receiver: sighting.receiver,
            to_server: sighting.to_server,
            has_child: false,
            children: 0,
            first_child: None,
            position,
            start_up: sighting.start_up,
            leg: None,
            whole: false,
            is_remote: false,
            emitted: false,
        });
        if let Some(parent) = parent.and_then(|parent| self.legs.get_mut(parent)) {
            parent.first_child.get_or_insert((index, serial));
        }
        let entry = &mut self.open[message];
        if entry.legs == 0 {
            entry.first = index;
        } else {
            self.legs[entry.last].next = Some(index);
        }
        entry.last = index;
        entry.legs.grow(1);
        entry.topic = entry.topic.or(sighting.topic);
        entry.open.grow(1);
        self.waiting.grow(1);
        if entry.keeps_ways {
            self.index.add_way(sighting.identity, sighting.way, (entry.serial, message));
        } else if entry.legs > FEW_LEGS {
            self.index.keep_ways(sighting.identity);
            self.tell_ways(message);
        }
        (index, serial)
    }

    /// Tells the index which ways a message has gone so far.
    fn tell_ways(&mut self, message: usize) {
        let Some(entry) = self.open.get_mut(message) else { return };
        entry.keeps_ways = true;
        let mut next = Some(entry.first);
        while let Some(leg) = next.and_then(|leg| self.legs.get(leg)) {
            self.index.add_way(entry.identity, leg.way, (entry.serial, message));
            next = leg.next;
        }
    }

    /// The same message on the same way: its read may be the one that counts.
    fn add_again(&mut self, message: usize, sighting: &Sighting) -> LegKey {
        let original = self
            .legs_of(&self.open[message])
            .find(|&leg| self.legs[leg].way == sighting.way && self.legs[leg].again.is_none());
        let parent = original.and_then(|leg| self.legs[leg].parent);
        let key = self.add_leg(message, sighting, None);
        let leg = &mut self.legs[key.0];
        (leg.parent, leg.again) = (parent, original);
        key
    }

    /// The leg before an orphan's was found after it.
    fn adopt(&mut self, message: usize, sighting: &Sighting) -> LegKey {
        let orphans: Vec<usize> = self.legs_of(&self.open[message]).collect();
        let key = self.add_leg(message, sighting, None);
        for leg in orphans {
            if self.legs[leg].parent.is_none() {
                self.legs[leg].parent = Some(key.0);
                self.legs[key.0].children.grow(1);
                self.legs[leg].position = self.legs[key.0].children;
                let first = (leg, self.legs[leg].serial);
                self.legs[key.0].first_child.get_or_insert(first);
            }
        }
        self.legs[key.0].has_child = true;
        let entry = &mut self.open[message];
        entry.is_orphan = false;
        entry.row = sighting.row;
        key
    }

    fn learn_forwarder(&mut self, leg: usize) {
        let LegState { receiver: node, .. } = self.legs[leg];
        if self.forwarder != Some(node) && self.forwarding_addrs.len() < FORWARDERS {
            // Of a process that talks to itself only this socket forwards.
            self.forwarding_pids.extend(node.pid.filter(|_| !self.legs[leg].stays_inside()));
            self.forwarding_addrs.insert((node.addr, node.scope));
            self.forwarder = Some(node);
        }
    }

    /// What the process is that a message goes on from.
    fn learn_role(&mut self, parent: usize, sighting: &Sighting) {
        let Some(leg) = self.legs.get(parent).filter(|leg| !leg.stays_inside()) else { return };
        let Some(pid) = leg.receiver.pid else { return };
        match (leg.to_server, sighting.to_server) {
            (true, false) => {
                if self.brokers.len() < FORWARDERS {
                    self.brokers.insert(pid);
                }
                self.relays.remove(&pid);
            }
            // From a client to a server, or from a server to a client.
            (true, true) | (false, false) => {
                let is_known = self.relays.contains_key(&pid);
                if !self.brokers.contains(&pid) && (is_known || self.relays.len() < FORWARDERS) {
                    let count = self.relays.entry(pid).or_default();
                    *count = count.saturating_add(1);
                }
            }
            (false, true) => {}
        }
    }

    /// Whether a process only hands on to a server what its clients say, and back.
    pub fn is_relay(&self, pid: Pid) -> bool {
        self.relays.get(&pid).is_some_and(|&count| count >= RELAYED)
    }

    /// The way between a client and a proxy, and the way between the proxy and the server, of a leg that goes on at a proxy.
    pub fn relayed(&self, key: LegKey, sighting: &Sighting) -> Option<(Way, Way)> {
        let pid = sighting.sender.pid.filter(|&pid| self.is_relay(pid))?;
        let parent = self.legs.get(self.leg(key)?.parent?)?;
        match (parent.to_server, sighting.to_server) {
            (true, true) if parent.receiver.pid == Some(pid) => Some((parent.way, sighting.way)),
            (false, false) if parent.receiver.pid == Some(pid) => Some((sighting.way, parent.way)),
            _ => None,
        }
    }

    fn is_forwarder(&self, node: &Node) -> bool {
        node.pid.is_some_and(|pid| self.forwarding_pids.contains(&pid))
            || self.forwarding_addrs.contains(&(node.addr, node.scope))
    }

    /// Whether the message goes on from this leg's reader, as far as is known.
    pub fn goes_on(&self, message: &Message, leg: &LegState) -> bool {
        leg.has_child
            || match message.topology {
                Topology::PeerToPeer => false,
                Topology::Brokered => {
                    leg.to_server || leg.receiver.pid.is_some_and(|pid| self.is_relay(pid))
                }
                Topology::Either => self.is_forwarder(&leg.receiver),
            }
    }

    /// Everything that will be known of a leg is known. Calls `deliver` with each leg that now ends a
    /// complete delivery.
    pub fn complete(
        &mut self,
        key: LegKey,
        leg: Box<Leg>,
        whole: bool,
        is_remote: bool,
        deliver: &mut Vec<usize>,
    ) {
        let (mut index, _) = key;
        let has_read = leg.times.get(Stage::Read).is_some();
        let state = &mut self.legs[index];
        let message = state.message;
        state.leg = Some(leg);
        state.whole = whole;
        state.is_remote = is_remote;
        self.open[message].open.shrink(1);
        self.waiting.shrink(1);
        if let Some(original) = self.legs[index].again {
            if !has_read || !self.replace(original, index) {
                return;
            }
            index = original;
        }
        let message = &self.open[message];
        if message.is_orphan {
            return;
        }
        let first = deliver.len();
        if self.legs[index].has_child {
            deliver.extend(self.legs_of(message).filter(|&leg| self.is_ready(message, leg)));
        } else if self.is_ready(message, index) {
            deliver.push(index);
        }
        for &leg in &deliver[first..] {
            self.legs[leg].emitted = true;
        }
    }

    /// The copy was read and the original was not: its stages from the queue on are the message's. Where a
    /// datagram was lost, the time from when it left first until the copy did is loss.
    fn replace(&mut self, original: usize, copy: usize) -> bool {
        let Some(mut leg) = self.legs[copy].leg.clone() else { return false };
        let whole = self.legs[copy].whole;
        let state = &mut self.legs[original];
        let Some(first) = &state.leg else { return false };
        if state.emitted || first.times.get(Stage::Read).is_some() {
            return false;
        }
        if state.transport == Transport::Udp {
            let left = first.times.get(Stage::Queue).or(first.times.get(Stage::Xmit));
            leg.times.clear(Stage::Lost);
            if let Some(left) = left {
                leg.times.set(Stage::Lost, left);
            }
            for stage in [Stage::Publish, Stage::Send, Stage::Sent] {
                leg.times.clear(stage);
                if let Some(at) = first.times.get(stage) {
                    leg.times.set(stage, at);
                }
            }
            leg.before.clone_from(&first.before);
            leg.circumstances.resent = true;
            // It is as whole as its first transmission.
            state.whole = whole && first.times.get(Stage::Send).is_some();
        } else if let Some(send) = first.times.get(Stage::Send) {
            leg.times.set(Stage::Send, send);
            state.whole |= whole;
        }
        leg.sender = first.sender.or(leg.sender);
        state.leg = Some(leg);
        true
    }

    fn is_ready(&self, message: &Message, index: usize) -> bool {
        let leg = &self.legs[index];
        let was_read = leg.was_read();
        was_read
            && !leg.emitted
            && leg.again.is_none()
            && !self.goes_on(message, leg)
            && self.path(index).all(|leg| leg.leg.is_some())
    }
}
