//! Messages that are open, and their legs.

use super::kept::{KeptLeg, PacketLeg};
use super::leg::nothing;
use super::new_leg::{LegReader, MessageFacts, NewLeg, Permissions, Presence};
use std::sync::Arc;
use wirelap_events::{
    ByteRange, FlowKey, FlowRange, GroupId, Leg, MessageId, Nanos, Offset, Release, Saturate,
    TopicId, Transport,
};
use wirelap_flow::{Direction, FlowEnds, LegKey, Node, Way};
use wirelap_protocols::{KeptFor, LogPlace};

/// A place in the table of legs, or none. It takes four bytes: there are many legs, and each refers to several others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link(u32);

impl Link {
    /// No place.
    pub const NONE: Link = Link(u32::MAX);

    pub fn get(self) -> Option<usize> {
        (self != Link::NONE).then_some(self.0 as usize)
    }
}

impl From<usize> for Link {
    fn from(place: usize) -> Link {
        // Tables have far fewer places.
        Link(u32::try_from(place).unwrap_or(u32::MAX))
    }
}

impl From<Option<usize>> for Link {
    fn from(place: Option<usize>) -> Link {
        place.map_or(Link::NONE, Link::from)
    }
}

/// The place of a leg among those of its message.
#[derive(Clone, Copy, Debug)]
pub struct LegLinks {
    pub(super) parent: Link,
    pub(super) next: Link,
    /// The leg that this one repeats.
    pub(super) again: Link,
    /// Legs that continue it, in the order in which they were found.
    pub(super) children: u32,
    /// The first of them, and its serial number.
    first_child: (Link, u64),
    /// The leg's own place among those that continue the leg before it: 1 for the first.
    pub(super) position: u32,
    pub has_child: bool,
}

impl LegLinks {
    const NONE: LegLinks = LegLinks {
        parent: Link::NONE,
        next: Link::NONE,
        again: Link::NONE,
        children: 0,
        first_child: (Link::NONE, 0),
        position: 0,
        has_child: false,
    };

    /// Adds a leg that continues this one. Returns its place among those that do.
    pub(super) fn add_child(&mut self, leg: usize, serial: u64) -> u32 {
        self.children.grow(1);
        if self.first_child.0 == Link::NONE {
            self.first_child = (leg.into(), serial);
        }
        self.children
    }

    /// Removes a leg that does not continue this one, as was thought; `another` may.
    pub(super) fn remove_child(&mut self, leg: usize, another: Option<(usize, u64)>) {
        self.children.shrink(1);
        if self.first_child.0 == Link::from(leg) {
            let none = (Link::NONE, 0);
            self.first_child = another.map_or(none, |(leg, serial)| (leg.into(), serial));
        }
    }

    /// The first leg that continues it.
    pub(super) fn first_child(&self) -> Option<LegKey> {
        Some((self.first_child.0.get()?, self.first_child.1))
    }
}

/// One leg of an open message. Tens of thousands are remembered, so it is small.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // Facts that do not depend on each other.
pub struct LegState {
    pub message: usize,
    pub(super) serial: u64,
    pub links: LegLinks,
    pub direction: Direction,
    /// From its first byte to the last that its reader must have to use it.
    pub extent: ByteRange,
    /// The end of its own bytes.
    own_end: Offset,
    /// Time at which it was found.
    pub at: Nanos,
    /// Time at which its sender wrote its first byte, or else when it was found.
    pub written: Nanos,
    permissions: Option<Box<Permissions>>,
    pub transport: Transport,
    pub ends: Arc<FlowEnds>,
    pub reader: LegReader,
    /// The name of the client that it leads to, if no other client of its server has it.
    pub(super) client: Option<TopicId>,
    pub start_up: bool,
    /// True if its reader need not acknowledge it: it is kept for nobody.
    pub is_unconfirmed: bool,
    /// A number for the first bytes of its connection, from which its offsets count; 0 if they were not seen.
    pub(super) opening: u32,
    /// True if it is not known which connection of a proxy the leg continues.
    pub is_guessed: bool,
    /// Its stages, once nothing more is expected.
    pub leg: KeptLeg,
    /// Every stage that this kernel shows at its two ends was seen.
    pub whole: bool,
    /// True if its reader is on another host.
    pub is_remote: bool,
    /// True if its reader was known to be no socket of this host when it was found.
    pub(super) leads_elsewhere: bool,
    pub emitted: bool,
}

/// One open message.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // Facts that do not depend on each other.
pub struct Message {
    pub id: MessageId,
    pub(super) serial: u64,
    pub facts: MessageFacts,
    /// The place in its server's log, once that is known.
    pub(super) place: Option<LogPlace>,
    /// True if its server has said that it is there, not only a reader's message.
    pub(super) is_place_given: bool,
    /// The number among the messages of its topic, 1 for the first; `None` if they are not counted.
    pub number: Option<u64>,
    /// Time at which it was found first, or at which it had come to whoever passes it on, if that
    /// was earlier.
    pub at: Nanos,
    pub(super) first: usize,
    pub(super) last: usize,
    pub(super) legs: u32,
    pub(super) open: u32,
    pub(super) is_orphan: bool,
    /// The index keeps its directions.
    pub(super) keeps_directions: bool,
    pub(super) overdue: bool,
    /// True if it is kept for a subscriber that is behind.
    pub(super) is_kept: bool,
    /// Its time has come, and it is kept for who reads the log later.
    pub is_retained: bool,
    /// True if the message counts as passed on to nobody.
    pub(super) is_unmatched: bool,
}

impl Message {
    /// True if the message is kept for who reads its server's log later, and nobody has got it.
    pub fn is_kept_for_nobody(&self) -> bool {
        self.is_retained && self.is_unmatched
    }

    /// True if the message of a leg lay at its server, or in a queue, until its time there was over. What it tells as it told it when it was published
    /// was before that, and what its publisher delays tells it no more, or otherwise.
    pub fn has_expired(&self, leg: &Permissions) -> bool {
        if self.is_orphan {
            return leg.has_expired;
        }
        (leg.has_expired || self.facts.is_delayed()) && self.facts.past != leg.past
    }
}

/// Counts of messages that are given up, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leftover {
    /// Read by a subscriber, but not joined.
    pub unjoined: u64,
    /// Those of them that were delayed by their publisher's wish: what was sent of them is no loss.
    pub delayed: u64,
    /// Read by a subscriber, from a sender on another host.
    pub from_elsewhere: u64,
    /// Never seen to be read.
    pub unread: u64,
    /// Datagrams that were never seen to be read: what a stream carries is late, not lost.
    pub lost: u64,
    /// Read by a broker, and passed on to nobody.
    pub swallowed: u64,
}

/// A message that is no longer kept.
#[derive(Clone, Copy, Debug)]
pub struct GivenUp {
    pub row: GroupId,
    /// A number for its topic.
    pub subject: u64,
    /// Time at which it was found first.
    pub at: Nanos,
    pub payload_len: u64,
    /// The time until which its broker keeps it for subscribers that are away.
    pub kept_until: Nanos,
    /// Some of its legs were not complete.
    pub was_open: bool,
    pub left: Leftover,
}

impl LegState {
    pub fn way(&self) -> Way {
        Way { direction: self.direction, subscription: self.reader.subscription }
    }

    /// The leg of a message that was found. It is the last of its message, and nothing is known of it yet but `new`.
    pub(super) fn new(message: usize, serial: u64, new: &NewLeg) -> LegState {
        let permissions = new.permissions;
        LegState {
            message,
            serial,
            links: LegLinks::NONE,
            direction: new.direction,
            extent: new.extent,
            own_end: new.own.end,
            at: new.at,
            written: new.written,
            permissions: (permissions != Permissions::default()).then(|| Box::new(permissions)),
            transport: new.transport,
            ends: Arc::clone(&new.ends),
            reader: new.reader,
            client: new.client.map(|client| client.name),
            start_up: new.start_up,
            is_unconfirmed: new.message.kept_for == KeptFor::Nobody,
            opening: new.opening,
            is_guessed: false,
            leg: KeptLeg::Open,
            whole: false,
            is_remote: false,
            leads_elsewhere: new.leads_elsewhere,
            emitted: false,
        }
    }

    /// The end that sends it.
    pub fn sender(&self) -> &Node {
        &self.ends.sender
    }

    /// The end that gets it.
    pub fn receiver(&self) -> &Node {
        &self.ends.receiver
    }

    /// The message's own bytes.
    pub fn own(&self) -> ByteRange {
        ByteRange { start: self.extent.start, end: self.own_end }
    }

    /// The leg before it.
    pub fn parent(&self) -> Option<usize> {
        self.links.parent.get()
    }

    /// True if its sender needed a permission to send it.
    pub fn has_permissions(&self) -> bool {
        self.permissions.is_some()
    }

    /// The addresses of its flow.
    pub fn flow(&self) -> FlowKey {
        self.ends.flow
    }

    /// True if these are the addresses that its ends were looked up by.
    pub fn is_between(&self, flow: &FlowKey) -> bool {
        self.ends.flow == *flow
    }

    /// The permissions that its sender needed to send it; empty for most legs.
    pub fn permissions(&self) -> Permissions {
        self.permissions.as_deref().copied().unwrap_or_default()
    }

    /// The sender had to wait until it was allowed to pass the message on.
    pub(super) fn release(&mut self, release: Release) {
        self.permissions.get_or_insert_default().release = Some(release);
    }

    /// Notes that its receiver connected or subscribed only after its sender had the message.
    pub(super) fn note_presence(&mut self, present: Presence) {
        let permissions = self.permissions.get_or_insert_default();
        permissions.ready = Some(present.ready);
        permissions.sender_was_gone = present.has_returned;
        permissions.is_handed_over = present.is_handed_over;
    }

    /// Sets the leg that this one continues in place of another one: that came to its sender at `came`, and what is known of the
    /// first one's way does not hold.
    pub(super) fn continue_from(&mut self, parent: usize, position: u32, came: Nanos) {
        (self.links.parent, self.links.position) = (parent.into(), position);
        if let Some(permissions) = &mut self.permissions {
            permissions.release = None;
            if permissions.ready.is_some_and(|ready| came >= ready) {
                permissions.ready = None;
                (permissions.sender_was_gone, permissions.is_handed_over) = (false, false);
            }
        }
    }

    /// From a process to itself.
    pub fn stays_inside(&self) -> bool {
        self.sender().pid.is_some() && self.sender().pid == self.receiver().pid
    }

    /// True if the message of this leg is at hand for `node`: the same process, and where that is the sender's too, the
    /// same socket's address.
    pub fn reaches(&self, node: &Node) -> bool {
        if self.stays_inside() {
            self.receiver().addr == node.addr && self.receiver().scope == node.scope
        } else {
            self.receiver().is(node)
        }
    }

    /// True if it repeats another leg.
    pub fn is_repeated(&self) -> bool {
        self.links.again != Link::NONE
    }

    /// The flow and the range of the message's own bytes.
    pub fn flow_range(&self) -> FlowRange {
        FlowRange { flow: self.direction.id(), range: self.own() }
    }

    /// Makes `place` what is known of it. Returns false while more is expected, and when it was handed out.
    pub fn put(&self, place: &mut Leg) -> bool {
        self.leg.put(&self.ends, self.flow_range(), place)
    }

    /// Everything that is known of it, once nothing more is expected.
    pub fn known(&self) -> Option<Leg> {
        let mut leg = nothing(self.ends.flow);
        self.put(&mut leg).then_some(leg)
    }

    /// The flow's addresses, the leg's bytes and what packets tell of it, once nothing more is expected and if nothing else is
    /// known.
    pub fn packets(&self) -> Option<(FlowKey, FlowRange, PacketLeg)> {
        let KeptLeg::Packets(leg) = self.leg else { return None };
        Some((self.ends.flow, self.flow_range(), leg))
    }

    /// Nothing more is expected of it. Returns a box that it does not need.
    pub(super) fn keep(&mut self, leg: Box<Leg>) -> Option<Box<Leg>> {
        let (kept, spare) = KeptLeg::of(leg, &self.ends, self.flow_range());
        self.leg = kept;
        spare
    }

    /// A delivery was handed out with it. If it ended with it, and nothing went on from it by then, its stages are asked for no more;
    /// those of the legs before it are, if the message goes on to others later. What allowed its sender to send it is among its
    /// circumstances by now. Returns a box that it does not need.
    pub(super) fn note_handed_out(&mut self, is_end: bool) -> Option<Box<Leg>> {
        self.permissions = None;
        let is_over = is_end && !self.links.has_child;
        if is_over { self.leg.hand_out() } else { self.leg.compact(&self.ends) }
    }

    /// True if it is known when the leg was read.
    pub fn was_read(&self) -> bool {
        self.leg.was_read()
    }

    /// True if no delivery was handed out with the leg, and none will be with another leg that goes on from it, as far as is
    /// known.
    pub(super) fn is_left(&self) -> bool {
        !(self.emitted || self.is_repeated() || self.links.has_child || self.is_remote)
    }
}
