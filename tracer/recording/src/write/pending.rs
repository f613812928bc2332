//! Packets that wait until it is known what became of their messages.
//!
//! ```text
//! encoder ──blocks──▶ bytes … | packet | … | packet | … ──▶ ready
//!                                 ▲ by flow and bytes
//!              legs of messages ──┘
//! ```
//! Blocks leave in the order in which they came. A packet that carries something waits until it is old, or the room
//! is used up: a message may be complete, and still find a reader. Its block then gets more options than it came with, and is
//! otherwise what it was.

use super::annotated::{Scratch, annotate};
use super::flow::PendingFlow;
use super::shown::ShownPacket;
use crate::message::MessageLeg;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use wirelap_events::{Count, FlowId, FlowRange, MAX_LEGS, Nanos, Size};

/// Bytes that are released at once.
const CHUNK: usize = 1 << 20;

/// Bytes that a tree takes for a leg beyond the leg's size: places that are free, on the average, and the key.
const SLACK: usize = size_of::<MessageLeg>() / 3 + 16;

/// Bytes of memory that a packet takes, and a leg.
const PACKET_BYTES: usize = size_of::<PendingPacket>() + size_of::<u64>();
const LEG_BYTES: usize = size_of::<MessageLeg>() + SLACK;

/// Limits of what is kept back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingLimits {
    /// Time that a packet waits.
    pub time: Nanos,
    /// Bytes of memory.
    pub bytes: usize,
}

#[derive(Debug)]
struct PendingPacket {
    packet: ShownPacket,
    /// Offset of the packet's first byte among all bytes that ever came.
    start: Count,
    /// Bytes of the flow that the packet carries, if they are known.
    carried: Option<FlowRange>,
}

impl PendingPacket {
    fn end(&self) -> Count {
        self.start + (self.packet.start..self.packet.end).len() as u64
    }
}

/// Extent of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReleaseExtent {
    /// All that may go.
    All,
    /// All up to the end of a file; there is more behind it.
    File,
    /// As much as is written at once; there is more.
    Chunk,
}

/// Blocks that are kept back.
#[derive(Debug)]
pub struct PendingPackets {
    limits: PendingLimits,
    bytes: VecDeque<u8>,
    /// Offset of the first of the bytes among all that ever came.
    base: Count,
    packets: VecDeque<PendingPacket>,
    /// Packets that were released.
    passed: Count,
    flows: FxHashMap<FlowId, PendingFlow>,
    /// Legs of all flows.
    legs: Size,
    /// Offsets at which files end.
    ends: VecDeque<Count>,
    /// The newest time that came.
    now: Nanos,
    /// Bytes that were released.
    pub ready: Vec<u8>,
    /// Bytes that packets were given on top of their own.
    pub added: Count,
    scratch: Scratch,
}

impl PendingPackets {
    /// Nothing waits yet.
    pub fn new(limits: PendingLimits) -> PendingPackets {
        PendingPackets {
            limits,
            bytes: VecDeque::new(),
            base: Count(0),
            packets: VecDeque::new(),
            passed: Count(0),
            flows: FxHashMap::default(),
            legs: Size(0),
            ends: VecDeque::new(),
            now: Nanos(0),
            ready: Vec::new(),
            added: Count(0),
            scratch: Scratch::default(),
        }
    }

    /// Blocks that were encoded until `now`, and the packet among them if there is one.
    pub fn push(&mut self, blocks: &[u8], shown: Option<ShownPacket>, now: Nanos) {
        self.now = self.now.max(now);
        let start = self.end();
        self.bytes.extend(blocks);
        if let Some(packet) = shown {
            let start = start + packet.start as u64;
            self.packets.push_back(PendingPacket { packet, start, carried: None });
        }
    }

    /// The newest packet carries these bytes.
    pub fn carries(&mut self, carried: FlowRange) {
        let number = self.passed + self.packets.len() as u64 - 1;
        if let Some(newest) = self.packets.back_mut()
            && newest.carried.is_none()
        {
            newest.carried = Some(carried);
            self.flows.entry(carried.flow).or_default().packets.push_back(number.0);
        }
    }

    /// A file ends here.
    pub fn end_file(&mut self) {
        self.ends.push_back(self.end());
    }

    /// Takes all legs of a message, in order.
    pub fn message(&mut self, legs: &mut Vec<MessageLeg>) {
        let mut frames = [0; MAX_LEGS];
        for (frame, leg) in frames.iter_mut().zip(&*legs) {
            *frame = self.frame(leg.range).unwrap_or(0);
        }
        for leg in legs.drain(..) {
            if let Some(flow) = self.flows.get_mut(&leg.range.flow) {
                let is_new = flow.add(MessageLeg { frames, ..leg });
                self.legs += usize::from(is_new);
            }
        }
    }

    /// The number of the packet that has the last byte.
    fn frame(&self, range: FlowRange) -> Option<u64> {
        let flow = self.flows.get(&range.flow)?;
        let last = range.range.last();
        let carried = |number: &u64| self.packet(*number).and_then(|packet| packet.carried);
        // Packets that were sent again are out of order: then another packet is found, or none.
        let after = flow
            .packets
            .partition_point(|number| carried(number).is_some_and(|c| c.range.start <= last));
        let number = flow.packets.get(after.checked_sub(1)?)?;
        let has_last = carried(number).is_some_and(|carried| carried.range.contains(last));
        self.packet(*number).filter(|_| has_last).map(|packet| packet.packet.frame)
    }

    /// The packet with this number, from 0, among all that ever came.
    fn packet(&self, number: u64) -> Option<&PendingPacket> {
        self.packets.get(usize::try_from(number.checked_sub(self.passed.0)?).ok()?)
    }

    /// Moves to `ready` what has waited long enough, or all; up to the end of a file at most.
    pub fn release(&mut self, all: bool) -> ReleaseExtent {
        loop {
            let end = self.ends.front().copied();
            let next = self.packets.front().map_or(self.end(), |packet| packet.start);
            let upto = end.map_or(next, |end| end.min(next));
            self.copy(upto);
            if end == Some(upto) {
                self.ends.pop_front();
                return ReleaseExtent::File;
            }
            // What the newest packet carries is not known yet.
            let is_newest = self.packets.len() < 2;
            let Some(oldest) = self.packets.front() else { return ReleaseExtent::All };
            let is_old = oldest.packet.at + self.limits.time <= self.now;
            let may_go = oldest.carried.is_none() || is_old || self.size() > self.limits.bytes;
            if !all && (is_newest || !may_go) {
                return ReleaseExtent::All;
            }
            self.release_packet();
            if self.ready.len() >= CHUNK {
                return ReleaseExtent::Chunk;
            }
        }
    }

    /// Bytes of memory that are in use; rings that have grown may keep twice of theirs.
    fn size(&self) -> usize {
        let packets = Size(PACKET_BYTES) * self.packets.len();
        (packets + self.legs * LEG_BYTES + self.bytes.len()).0
    }

    /// The place behind the last byte that came.
    fn end(&self) -> Count {
        self.base + self.bytes.len() as u64
    }

    /// Releases bytes as they are.
    fn copy(&mut self, upto: Count) {
        let count = usize::try_from((upto - self.base).0).unwrap_or(usize::MAX);
        let count = count.min(self.bytes.len());
        let (front, back) = self.bytes.as_slices();
        let of_front = count.min(front.len());
        self.ready.extend_from_slice(&front[..of_front]);
        self.ready.extend_from_slice(&back[..count.saturating_sub(of_front)]);
        self.bytes.drain(..count);
        self.base += count as u64;
    }

    fn release_packet(&mut self) {
        let Some(released) = self.packets.pop_front() else { return };
        self.passed += 1;
        let start = self.ready.len();
        self.copy(released.end());
        let Some(carried) = released.carried else { return };
        if let Some(flow) = self.flows.get_mut(&carried.flow) {
            flow.packets.pop_front();
            let legs = flow.in_packet(carried.range);
            let (ready, scratch) = (&mut self.ready, &mut self.scratch);
            let added = annotate(ready, start, released.packet, carried.range, legs, scratch);
            self.added += added;
        }
        self.forget(carried.flow);
    }

    /// Forgets the legs of a flow that no packet is left of.
    fn forget(&mut self, of: FlowId) {
        let Some(flow) = self.flows.get(&of) else { return };
        if flow.packets.is_empty() {
            self.legs -= flow.legs();
            self.flows.remove(&of);
            return;
        }
        if !flow.is_full() {
            return;
        }
        // Not the start of the next packet: one that is sent again comes later, and starts before.
        let carried = flow.packets.iter().filter_map(|&number| self.packet(number)?.carried);
        let start = carried.map(|carried| carried.range.start).min().unwrap_or_default();
        if let Some(flow) = self.flows.get_mut(&of) {
            self.legs -= flow.forget_before(start);
        }
    }
}
