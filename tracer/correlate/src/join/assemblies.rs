//! Messages that their protocol cuts into datagrams: which fragments each reader has taken.
//!
//! ```text
//!             fragment   1     2     3     4          2
//!   sent as datagrams   [1]   [2]   [3]   [4]   …    [5]  sent again
//!   taken by a reader    ✓     ✗     ✓     ✓          ✓   now it has the message
//! ```
//!
//! What was sent, or seen as a packet, decides nothing: a full receive buffer, a packet filter or a network
//! between may lose any of it. A reader has the message when it has taken its last missing fragment.

mod ends;

use super::addresses::Addresses;
use super::assembly::{Assembly, Carrier, Taker};
use super::order::DeliveryOrder;
use super::sent::Sent;
use super::source_time::kept_since;
use rustc_hash::FxHashMap;
use slab::Slab;
use std::collections::VecDeque;
use wirelap_events::{GlobalKey, Nanos, Saturate, SocketId};
use wirelap_flow::{AssemblyId, Direction, LegKey, Sending, Threads};
use wirelap_protocols::Fragments;

/// Messages in fragments that are followed at once; beyond, the one that has begun first is given up.
const MAX_OPEN: usize = 65_536;

/// Datagrams of all of them together; beyond, the one that has begun first is given up.
const MAX_CARRIERS: usize = 262_144;

/// Words of the bits that say which fragments readers have, of all of them together (64 MiB); beyond, the one that has begun
/// first is given up.
const MAX_WORDS: usize = 8 << 20;

/// Memory of messages that are gone, kept for others, and how many datagrams each may hold.
const SPARE: usize = 1024;
const SPARE_CARRIERS: usize = 64;

/// Senders in directions whose order is remembered; beyond, those of whom nothing is under way go.
const MAX_ORDERS: usize = 65_536;

/// Words of senders that wait for reads.
const MAX_SKIPS: usize = 1_024;

/// Every message in fragments that is open.
#[derive(Debug, Default)]
pub struct Assemblies {
    open: Slab<Assembly>,
    by_direction: FxHashMap<(Direction, GlobalKey), usize>,
    orders: Slab<DeliveryOrder>,
    by_sender: FxHashMap<(Direction, [u8; 16]), usize>,
    /// Messages that were sent to a multicast group: what is sent again goes to single readers.
    multicast: FxHashMap<GlobalKey, usize>,
    addresses: Addresses,
    /// Messages to be looked at once slower layers had time to report, and since when.
    due: VecDeque<(Nanos, AssemblyId)>,
    /// By the time at which something of each was known to happen.
    idle: VecDeque<(Nanos, AssemblyId)>,
    carriers: usize,
    words: usize,
    serial: u64,
    spare: Vec<Assembly>,
    /// Messages that were sent, whether they are still open or not.
    sent: Sent,
    /// By time.
    skips: VecDeque<Skip>,
    /// From the events' clock to the wall clock, in nanoseconds.
    wall: Option<i64>,
}

/// Word of a sender at `at` that it sends nothing before `first` again, while it is not known what a reader took.
#[derive(Debug)]
struct Skip {
    of: (Direction, [u8; 16]),
    first: u64,
    at: Nanos,
}

impl Assemblies {
    /// Nothing seen yet. `wall` leads from the events' clock to the wall clock, in nanoseconds.
    pub fn new(wall: Option<i64>) -> Assemblies {
        Assemblies { wall, ..Assemblies::default() }
    }

    pub fn get(&self, id: AssemblyId) -> Option<&Assembly> {
        self.open.get(id.0).filter(|assembly| assembly.serial == id.1)
    }

    pub fn get_mut(&mut self, id: AssemblyId) -> Option<&mut Assembly> {
        self.open.get_mut(id.0).filter(|assembly| assembly.serial == id.1)
    }

    pub fn find(&self, direction: Direction, message: GlobalKey) -> Option<AssemblyId> {
        let index = *self.by_direction.get(&(direction, message))?;
        Some((index, self.open.get(index)?.serial))
    }

    /// A datagram was sent that carries these fragments. `lost` is how many events were lost so far.
    pub fn carry(
        &mut self,
        (direction, number): (Direction, u64),
        fragments: &Fragments,
        is_multicast: bool,
        at: Nanos,
        lost: u64,
    ) -> AssemblyId {
        let known = self.by_direction.get(&(direction, fragments.message)).copied();
        let repaired = || {
            let may = fragments.is_global && !is_multicast;
            self.multicast.get(&fragments.message).copied().filter(|_| may)
        };
        let index = known.or_else(repaired);
        let index = index.unwrap_or_else(|| {
            let is_known = fragments.is_global && self.sent.again(fragments.message);
            let elsewhere =
                if is_known { self.at_other_address(direction, fragments) } else { None };
            elsewhere.unwrap_or_else(|| {
                self.begin(direction, fragments, is_multicast, (at, lost), is_known)
            })
        });
        let assembly = &mut self.open[index];
        assembly.of = assembly.of.or(fragments.of);
        assembly.payload_len = assembly.payload_len.max(fragments.payload_len);
        assembly.touched = assembly.touched.max(at);
        if assembly.carriers.is_empty() {
            let given = fragments.source_timestamp.zip(self.wall);
            assembly.given = given.and_then(|(at, wall)| at.checked_sub_signed(wall)).map(Nanos);
        }
        let carrier = Carrier { direction, number, first: fragments.first, count: fragments.count };
        let follows = |last: &Carrier| {
            (last.direction, last.number) == (direction, number)
                && last.first.checked_add(last.count) == Some(carrier.first)
        };
        if let Some(last) = assembly.carriers.last_mut().filter(|last| follows(last)) {
            last.count = last.count.saturating_add(carrier.count);
        } else {
            assembly.carriers.push(carrier);
            self.carriers.grow(1);
        }
        (index, assembly.serial)
    }

    /// The call that sent a datagram is known. If that is the first of a message, it tells what to make of when the
    /// message says that the sender's library was given it.
    pub fn sent(
        &mut self,
        id: AssemblyId,
        (direction, number): (Direction, u64),
        by: Sending,
        threads: &Threads,
    ) {
        let Some(assembly) = self.open.get_mut(id.0).filter(|found| found.serial == id.1) else {
            return;
        };
        let is_first = assembly
            .carriers
            .first()
            .is_some_and(|first| (first.direction, first.number) == (direction, number));
        if let Some(given) = assembly.given.filter(|_| is_first && !assembly.is_late)
            && let Some(entered) = by.entered
            && let Some(order) = self.orders.get_mut(assembly.order)
        {
            assembly.kept_since =
                kept_since(&mut order.claims, threads, by.task.tid, given, entered);
        }
    }

    fn begin(
        &mut self,
        direction: Direction,
        fragments: &Fragments,
        is_multicast: bool,
        (at, lost): (Nanos, u64),
        is_known: bool,
    ) -> usize {
        self.serial.grow(1);
        let mut assembly = self.spare.pop().unwrap_or_else(|| Assembly::new(direction, fragments));
        assembly.start(self.serial, direction, fragments, (at, lost));
        assembly.is_known = is_known;
        assembly.order = self.order_of(direction, fragments.message.origin);
        let index = self.open.insert(assembly);
        self.note_reader(self.open[index].order, direction, fragments);
        // What came before anyone looked is waited for by nobody who is known.
        if !fragments.is_late
            && let Some(order) = self.orders.get_mut(self.open[index].order)
        {
            order.begin(fragments.message.seq, (index, self.serial));
        }
        self.by_direction.insert((direction, fragments.message), index);
        if is_multicast && fragments.is_global {
            self.multicast.insert(fragments.message, index);
        }
        self.idle.push_back((at, (index, self.serial)));
        index
    }

    /// The open message that these fragments are of, if they are sent to another address of its reader.
    fn at_other_address(&mut self, direction: Direction, fragments: &Fragments) -> Option<usize> {
        let (reader, sender) = (fragments.reader?, sender(fragments));
        let others = self.addresses.between(sender, reader).iter();
        let mut others = others.filter(|&&other| other != direction);
        let message = fragments.message;
        let index = others.find_map(|&other| self.by_direction.get(&(other, message)).copied())?;
        self.addresses.note(sender, reader, direction);
        self.by_direction.insert((direction, message), index);
        Some(index)
    }

    /// Notes where the reader of a sender's messages is, if they are for one.
    fn note_reader(&mut self, order: usize, direction: Direction, fragments: &Fragments) {
        let Some(reader) = fragments.reader else { return };
        if let Some(order) = self.orders.get_mut(order)
            && order.reader.replace(reader) != Some(reader)
        {
            self.addresses.note(sender(fragments), reader, direction);
        }
    }

    /// The one to give up because there are too many.
    pub fn surplus(&mut self) -> Option<AssemblyId> {
        let is_full =
            self.open.len() > MAX_OPEN || self.carriers > MAX_CARRIERS || self.words > MAX_WORDS;
        let (_, oldest) = *self.idle.front().filter(|_| is_full)?;
        self.idle.pop_front();
        Some(oldest)
    }

    /// The message was found: its leg is to be looked at soon, whoever has taken something.
    pub fn found(&mut self, id: AssemblyId, leg: LegKey, on: Direction, at: Nanos) {
        if let Some(assembly) = self.get_mut(id) {
            assembly.found(leg, on);
            self.due.push_back((at, id));
        }
    }

    fn order_of(&mut self, direction: Direction, origin: [u8; 16]) -> usize {
        if let Some(&index) = self.by_sender.get(&(direction, origin)) {
            return index;
        }
        if self.orders.len() >= MAX_ORDERS {
            let orders = &mut self.orders;
            self.by_sender.retain(|_, index| {
                let is_idle = orders.get(*index).is_none_or(DeliveryOrder::is_idle);
                if is_idle {
                    orders.try_remove(*index);
                }
                !is_idle
            });
        }
        let index = self.orders.insert(DeliveryOrder::default());
        self.by_sender.insert((direction, origin), index);
        index
    }

    /// Readers get what this sender sends in this direction in the order of its numbers, and nothing before `first`
    /// is sent again. What has not come by then never does, unless one of its readers is `unresolved`: it is not known yet what that took.
    pub fn keep_order(
        &mut self,
        (direction, origin): (Direction, [u8; 16]),
        first: u64,
        at: Nanos,
        unresolved: &[SocketId],
    ) {
        let index = self.order_of(direction, origin);
        let Some(order) = self.orders.get_mut(index) else { return };
        order.is_kept = true;
        if !unresolved.iter().any(|&socket| order.is_taken_by(socket)) {
            return self.skip((direction, origin), first, at);
        }
        if self.skips.len() >= MAX_SKIPS {
            self.skip_next(Nanos(u64::MAX));
        }
        self.skips.push_back(Skip { of: (direction, origin), first, at });
    }

    /// Skips the fragments that had not come before `limit`: all reads before it are known, so they
    /// never come.
    pub fn skip_until(&mut self, limit: Nanos) {
        while self.skip_next(limit) {}
    }

    /// Skips the oldest of these fragments; false if there is none before `limit`.
    fn skip_next(&mut self, limit: Nanos) -> bool {
        if self.skips.front().is_none_or(|skip| skip.at >= limit) {
            return false;
        }
        if let Some(Skip { of, first, at }) = self.skips.pop_front() {
            self.skip(of, first, at);
        }
        true
    }

    fn skip(&mut self, of: (Direction, [u8; 16]), first: u64, at: Nanos) {
        if let Some(&index) = self.by_sender.get(&of)
            && self.orders.get_mut(index).is_some_and(|order| order.skip(first))
        {
            self.free(index, at, Some(at));
        }
    }

    /// A reader has taken a datagram that has these fragments of a message.
    pub fn take(&mut self, id: AssemblyId, carrier: Carrier, by: Taker) {
        let Some(assembly) = self.open.get_mut(id.0).filter(|found| found.serial == id.1) else {
            return;
        };
        assembly.touched = assembly.touched.max(by.at);
        let before = assembly.words();
        let is_whole = assembly.take(carrier, by);
        self.words.grow(assembly.words().saturating_sub(before));
        let (order, number) = (assembly.order, assembly.message.seq);
        let Some(order) = self.orders.get_mut(order) else { return };
        if carrier.direction == assembly.direction {
            order.see(by);
        }
        if !is_whole {
            return;
        }
        if order.have_all(assembly) {
            order.end(id);
        }
        order.lost = by.lost;
        for index in 0..self.open[id.0].readers.len() {
            let reader = &self.open[id.0].readers[index];
            let socket = reader.socket;
            if reader.last.is_none_or(|last| last.number != carrier.number) || reader.got.is_some()
            {
                continue;
            }
            if order.holds(&self.open, number, socket) {
                order.hold(number, id, socket);
                continue;
            }
            let got = self.open[id.0].readers[index].last;
            self.open[id.0].readers[index].got = got;
            self.due.push_back((by.at, id));
            while let Some((held, socket)) = order.next_free(&self.open) {
                if let Some(held_back) = self.open.get_mut(held.0).filter(|a| a.serial == held.1) {
                    held_back.get(socket, got.map(|last| (by.at, last)));
                    self.due.push_back((by.at, held));
                }
            }
        }
    }

    /// Times from and until which messages of this message's sender were lost and not yet there,
    /// the last time.
    pub fn missing(&self, of: &Assembly) -> Option<(Nanos, Nanos)> {
        self.orders.get(of.order)?.missing()
    }

    /// This message, first sent at `lost`, came at `there`.
    pub fn note_missing(&mut self, id: AssemblyId, lost: Nanos, there: Nanos) {
        let order = self.get(id).map(|assembly| assembly.order);
        if let Some(order) = order.and_then(|index| self.orders.get_mut(index)) {
            order.note_missing(lost, there);
        }
    }

    /// Gives up a message: what was held for it is held no longer, and it is not known when its
    /// readers got that.
    fn release_held(&mut self, id: AssemblyId, at: Nanos) {
        let Some(index) = self.get(id).map(|assembly| assembly.order) else { return };
        let Some(order) = self.orders.get_mut(index) else { return };
        order.end(id);
        self.free(index, at, None);
    }

    /// Marks messages that are held for nothing any more as got at an unknown time, unless their reader had them only after `since`,
    /// from when on nothing was waited for.
    fn free(&mut self, order: usize, at: Nanos, since: Option<Nanos>) {
        let Some(order) = self.orders.get_mut(order) else { return };
        while let Some((held, socket)) = order.next_free(&self.open) {
            if let Some(held_back) = self.open.get_mut(held.0).filter(|a| a.serial == held.1) {
                held_back.get_since(socket, since);
                self.due.push_back((at, held));
            }
        }
    }

    /// Marks a message that was held for something that never came as got by its readers, at an unknown
    /// time. True if any of them did.
    pub fn get_all(&mut self, id: AssemblyId) -> bool {
        let Some(assembly) = self.get_mut(id) else { return false };
        for reader in assembly.readers.iter_mut().filter(|reader| reader.got.is_none()) {
            reader.got = reader.last;
            reader.is_unsure = true;
        }
        assembly.readers.iter().any(|reader| reader.got.is_some() && !reader.told)
    }

    /// True if this message was sent before in another direction, to a group.
    pub fn is_known_elsewhere(&self, direction: Direction, message: GlobalKey) -> bool {
        let first = self.multicast.get(&message).and_then(|index| self.open.get(*index));
        first.is_some_and(|first| first.direction != direction)
    }

    /// True if this message was sent before in some direction, however long ago.
    pub fn was_sent(&self, direction: Direction, message: GlobalKey) -> bool {
        self.find(direction, message)
            .and_then(|id| self.get(id))
            .is_some_and(|found| found.is_known)
    }
}

/// The participant that sends a message.
fn sender(fragments: &Fragments) -> [u8; 12] {
    fragments.message.origin.first_chunk().copied().unwrap_or_default()
}
