//! Packets that are kept back until it is known what became of their messages.
//!
//! ```text
//! encoder ──blocks──▶ bytes … | packet | … | packet | … ──▶ ready
//!                                 ▲ by flow and bytes
//!                     passages ───┘
//! ```
//! Blocks leave in the order in which they came. A packet that carries something waits until it is old, or the room
//! is used up: a message may be complete, and still find a reader. Its block then gets more options than it came with, and is
//! otherwise what it was.

use crate::block::{ByteOrder, option};
use crate::message::{Beside, MORE, Passage};
use rustc_hash::FxHashMap;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use wirelap_events::Saturate;
use wirelap_events::{ByteRange, FlowId, FlowRange, MAX_LEGS, MessageId, Nanos, Offset};

/// Bytes that are released at once.
const CHUNK: usize = 1 << 20;

/// Messages that one packet tells of.
const TOLD: usize = 1_000;

/// Passages that are looked at behind the last one that a packet has bytes of: there may be a longer one, which ends later
/// and began before.
const SEARCHED: usize = 64;

/// What a tree takes for a passage beyond its own size: places that are free, on the average, and the key.
const SLACK: usize = size_of::<Passage>() / 3 + 16;

/// Bytes of a packet that is held, and of a passage.
const HELD_BYTES: usize = size_of::<Held>() + size_of::<u64>();
const PASSAGE_BYTES: usize = size_of::<Passage>() + SLACK;

/// Passages of a flow that are not worth looking through.
const FEW: usize = 64;

/// How long and how much is kept back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// A packet waits for so long.
    pub time: Nanos,
    /// Bytes of memory.
    pub bytes: usize,
}

/// A packet's block among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownPacket {
    /// Where it begins and ends in the bytes that come with it.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// Where in the block more options have their place.
    pub options: usize,
    /// The block's byte order.
    pub order: ByteOrder,
    /// Its number among all that Wireshark lists, from 1.
    pub frame: u64,
    /// When it was seen.
    pub at: Nanos,
    /// The device's queue, if that is known.
    pub queue: Option<u16>,
}

#[derive(Debug)]
struct Held {
    packet: ShownPacket,
    /// Of its first byte, among all bytes that ever came.
    start: u64,
    stretch: Option<FlowRange>,
}

impl Held {
    fn end(&self) -> u64 {
        self.start.saturating_add(self.packet.end.saturating_sub(self.packet.start) as u64)
    }
}

/// What is held of one flow.
#[derive(Debug, Default)]
struct Flow {
    /// Numbers of its packets.
    packets: VecDeque<u64>,
    /// By where they end.
    passages: BTreeMap<(Offset, MessageId), Passage>,
    /// When there are so many of them, those that no packet is left of are forgotten.
    full: usize,
}

impl Flow {
    /// The passages that have bytes of a packet.
    fn in_packet(&self, packet: ByteRange) -> impl Iterator<Item = &Passage> {
        let from = (packet.start.plus(1), MessageId(0));
        let mut misses = 0;
        let behind = self.passages.range(from..).map(|(_, passage)| passage);
        let near = behind.take_while(move |passage| {
            misses.grow(usize::from(passage.stretch.range.start >= packet.end));
            misses <= SEARCHED
        });
        near.filter(move |passage| passage.stretch.range.overlaps(packet))
    }
}

/// What could be released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    /// All that may go.
    All,
    /// All up to the end of a file; there is more behind it.
    File,
    /// As much as is written at once; there is more.
    Chunk,
}

/// Keeps blocks back.
#[derive(Debug)]
pub struct PendingPackets {
    limits: Limits,
    bytes: VecDeque<u8>,
    /// Of the first of them, among all that ever came.
    base: u64,
    packets: VecDeque<Held>,
    /// Packets that were released.
    passed: u64,
    flows: FxHashMap<FlowId, Flow>,
    passages: usize,
    /// Where files end.
    ends: VecDeque<u64>,
    /// The newest time that came.
    now: Nanos,
    /// What was released.
    pub ready: Vec<u8>,
    /// Bytes that packets were given on top of their own.
    pub added: u64,
    scratch: Scratch,
}

/// Reused from packet to packet.
#[derive(Debug, Default)]
struct Scratch {
    text: String,
    value: Vec<u8>,
    /// What stands in a block behind the options that it gets.
    behind: Vec<u8>,
}

impl PendingPackets {
    /// Nothing yet.
    pub fn new(limits: Limits) -> PendingPackets {
        PendingPackets {
            limits,
            bytes: VecDeque::new(),
            base: 0,
            packets: VecDeque::new(),
            passed: 0,
            flows: FxHashMap::default(),
            passages: 0,
            ends: VecDeque::new(),
            now: Nanos(0),
            ready: Vec::new(),
            added: 0,
            scratch: Scratch::default(),
        }
    }

    /// Blocks that were encoded until `now`, and the packet among them if there is one.
    pub fn push(&mut self, blocks: &[u8], shown: Option<ShownPacket>, now: Nanos) {
        self.now = self.now.max(now);
        let start = self.end();
        self.bytes.extend(blocks);
        if let Some(packet) = shown {
            let start = start.saturating_add(packet.start as u64);
            self.packets.push_back(Held { packet, start, stretch: None });
        }
    }

    /// What the newest packet carries.
    pub fn carries(&mut self, stretch: FlowRange) {
        let number = self.passed.saturating_add(self.packets.len() as u64);
        if let Some(held) = self.packets.back_mut()
            && held.stretch.is_none()
        {
            held.stretch = Some(stretch);
            self.flows.entry(stretch.flow).or_default().packets.push_back(number.saturating_sub(1));
        }
    }

    /// A file ends here.
    pub fn end_file(&mut self) {
        self.ends.push_back(self.end());
    }

    /// What became of a message: one passage a leg, in order. Takes all of them.
    pub fn message(&mut self, passages: &mut Vec<Passage>) {
        let mut frames = [0; MAX_LEGS];
        for (frame, passage) in frames.iter_mut().zip(&*passages) {
            *frame = self.frame(passage.stretch).unwrap_or(0);
        }
        for passage in passages.drain(..) {
            self.passage(Passage { frames, ..passage });
        }
    }

    fn passage(&mut self, passage: Passage) {
        let Some(flow) = self.flows.get_mut(&passage.stretch.flow) else { return };
        match flow.passages.entry((passage.stretch.range.end, passage.message)) {
            Entry::Occupied(mut known) => known.get_mut().merge(passage),
            Entry::Vacant(new) => {
                new.insert(passage);
                self.passages.grow(1);
            }
        }
    }

    /// The packet that has the last byte.
    fn frame(&self, stretch: FlowRange) -> Option<u64> {
        let flow = self.flows.get(&stretch.flow)?;
        let last = stretch.range.last();
        let of = |number: &u64| self.held(*number).and_then(|held| held.stretch);
        // What was sent again is out of order: then another packet is found, or none.
        let after = flow
            .packets
            .partition_point(|number| of(number).is_some_and(|s| s.range.start <= last));
        let number = flow.packets.get(after.checked_sub(1)?)?;
        let holds = of(number).is_some_and(|stretch| stretch.range.contains(last));
        self.held(*number).filter(|_| holds).map(|held| held.packet.frame)
    }

    fn held(&self, number: u64) -> Option<&Held> {
        self.packets.get(usize::try_from(number.checked_sub(self.passed)?).ok()?)
    }

    /// Moves to `ready` what has waited long enough, or all; up to the end of a file at most.
    pub fn release(&mut self, all: bool) -> Released {
        loop {
            let end = self.ends.front().copied();
            let next = self.packets.front().map_or(self.end(), |held| held.start);
            let upto = end.map_or(next, |end| end.min(next));
            self.copy(upto);
            if end == Some(upto) {
                self.ends.pop_front();
                return Released::File;
            }
            // What the newest carries is not known yet.
            let is_newest = self.packets.len() < 2;
            let Some(held) = self.packets.front() else { return Released::All };
            let is_old = held.packet.at + self.limits.time <= self.now;
            let may_go = held.stretch.is_none() || is_old || self.size() > self.limits.bytes;
            if !all && (is_newest || !may_go) {
                return Released::All;
            }
            self.release_packet();
            if self.ready.len() >= CHUNK {
                return Released::Chunk;
            }
        }
    }

    /// Bytes of memory that are in use; rings that have grown may keep twice of theirs.
    fn size(&self) -> usize {
        self.bytes
            .len()
            .saturating_add(self.packets.len().saturating_mul(HELD_BYTES))
            .saturating_add(self.passages.saturating_mul(PASSAGE_BYTES))
    }

    /// The place behind the last byte that came.
    fn end(&self) -> u64 {
        self.base.saturating_add(self.bytes.len() as u64)
    }

    /// Releases bytes as they are.
    fn copy(&mut self, upto: u64) {
        let count = usize::try_from(upto.saturating_sub(self.base)).unwrap_or(usize::MAX);
        let count = count.min(self.bytes.len());
        let (front, back) = self.bytes.as_slices();
        let of_front = count.min(front.len());
        self.ready.extend_from_slice(&front[..of_front]);
        self.ready.extend_from_slice(&back[..count.saturating_sub(of_front)]);
        self.bytes.drain(..count);
        self.base.grow(count as u64);
    }

    fn release_packet(&mut self) {
        let Some(held) = self.packets.pop_front() else { return };
        self.passed.grow(1);
        let start = self.ready.len();
        self.copy(held.end());
        let Some(stretch) = held.stretch else { return };
        if let Some(flow) = self.flows.get_mut(&stretch.flow) {
            flow.packets.pop_front();
        }
        self.tell(stretch, held.packet, start);
        self.forget(stretch.flow);
    }

    /// Says in the packet at the end of `ready` what became of its messages.
    fn tell(&mut self, stretch: FlowRange, packet: ShownPacket, start: usize) {
        let Some(flow) = self.flows.get(&stretch.flow) else { return };
        let mut told = flow.in_packet(stretch.range).map(|passage| Beside {
            passage,
            carried: stretch.range,
            queue: packet.queue,
        });
        if let Some(first) = told.next() {
            let mut block = Block::reopen(&mut self.ready, start, packet, &mut self.scratch);
            let mut count = 1;
            block.message(&first);
            for beside in told {
                if count < TOLD {
                    block.message(&beside);
                }
                count.grow(1);
            }
            if let Some(more) = count.checked_sub(TOLD).filter(|&more| more > 0) {
                block.comment(&format!("and {more}{MORE}"));
            }
            self.added.grow(block.close());
        }
    }

    /// Forgets the passages that no packet is left of.
    fn forget(&mut self, of: FlowId) {
        let Some(flow) = self.flows.get(&of) else { return };
        if flow.packets.is_empty() {
            self.passages.shrink(flow.passages.len());
            self.flows.remove(&of);
            return;
        }
        if flow.passages.len() < flow.full.max(FEW) {
            return;
        }
        // Not that of the next packet: what is sent again comes later.
        let starts = flow.packets.iter().filter_map(|&number| self.held(number)?.stretch);
        let start = starts.map(|stretch| stretch.range.start).min().unwrap_or_default();
        let Some(flow) = self.flows.get_mut(&of) else { return };
        let rest = flow.passages.split_off(&(start.plus(1), MessageId(0)));
        self.passages.shrink(flow.passages.len());
        flow.passages = rest;
        // Those that are of no use take room from packets, so there must not be many.
        flow.full = flow.passages.len().saturating_add(flow.passages.len() / 8).saturating_add(FEW);
    }
}

/// A block that gets more options.
struct Block<'a> {
    bytes: &'a mut Vec<u8>,
    start: usize,
    len: usize,
    order: ByteOrder,
    scratch: &'a mut Scratch,
}

impl<'a> Block<'a> {
    /// `bytes[start..]` is this packet's block.
    fn reopen(
        bytes: &'a mut Vec<u8>,
        start: usize,
        packet: ShownPacket,
        scratch: &'a mut Scratch,
    ) -> Block<'a> {
        let (len, place) =
            (bytes.len().saturating_sub(start), start.saturating_add(packet.options));
        scratch.behind.clear();
        // All but the block's length.
        scratch.behind.extend_from_slice(&bytes[place..bytes.len().saturating_sub(4)]);
        bytes.truncate(place);
        Block { bytes, start, len, order: packet.order, scratch }
    }

    fn message(&mut self, beside: &Beside<'_>) {
        let Scratch { text, value, .. } = &mut *self.scratch;
        text.clear();
        // A string takes everything.
        let _ = write!(text, "{beside}");
        put_option(self.bytes, self.order, option::COMMENT, text.as_bytes());
        value.clear();
        beside.option(self.order, value);
        put_option(self.bytes, self.order, option::CUSTOM, value);
    }

    fn comment(&mut self, text: &str) {
        put_option(self.bytes, self.order, option::COMMENT, text.as_bytes());
    }

    /// Ends the options and the block. Returns how much longer it has become.
    fn close(self) -> u64 {
        if self.scratch.behind.is_empty() {
            self.bytes.extend([0; 4]);
        } else {
            self.bytes.extend_from_slice(&self.scratch.behind);
        }
        let len = self.bytes.len().saturating_add(4).saturating_sub(self.start);
        let word = self.order.word(u32::try_from(len).unwrap_or(u32::MAX));
        self.bytes.extend(word);
        self.bytes[self.start.saturating_add(4)..self.start.saturating_add(8)]
            .copy_from_slice(&word);
        len.saturating_sub(self.len) as u64
    }
}

fn put_option(bytes: &mut Vec<u8>, order: ByteOrder, number: u16, value: &[u8]) {
    let len = u16::try_from(value.len()).unwrap_or(u16::MAX);
    bytes.extend(order.half(number));
    bytes.extend(order.half(len));
    bytes.extend_from_slice(&value[..usize::from(len)]);
    let padding = usize::from(len).next_multiple_of(4).saturating_sub(usize::from(len));
    bytes.extend([0; 4].iter().take(padding));
}
