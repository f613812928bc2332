//! Entries ↔ bytes.

use super::coder::{BitDecoder, BitEncoder};
use super::model::{Head, Model, SUBJECT_BITS};
use super::values::Values;
use crate::record::{Note, RecordBlock, RecordBuffer, body, kind};
use crate::wire::{Bytes, WireWriter, put_unsigned};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use wirelap_events::{Body, Event, Nanos, Packet, SendKind, tcp_flags};

/// The most bytes of records that are unpacked at once.
const MAX_RECORDS: usize = 64 << 20;

/// Entries → bytes.
#[derive(Debug, Default)]
pub struct RecordPacker {
    model: Model,
    coder: BitEncoder,
    /// Number of entries since the last block.
    count: u64,
    /// Number of events among them.
    events: u32,
    /// Number of the next block, 0 for the first that can be read without others.
    number: u32,
}

impl RecordPacker {
    /// Bytes of all entries since the last block, nearly.
    pub fn len(&self) -> usize {
        self.coder.bytes.len().saturating_add(self.coder.literals.len())
    }

    /// True if there are no entries since the last block.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Number of events since the last block.
    pub fn events(&self) -> u32 {
        self.events
    }

    /// Forgets what was learnt, and what was not moved out: who has not read the blocks before can read the next ones.
    pub fn begin_again(&mut self) {
        *self = RecordPacker::default();
    }

    /// Packs an event.
    pub fn event(&mut self, event: &Event<'_>) {
        self.events = self.events.saturating_add(1);
        let kind = body::kind(&event.body);
        let subject = subject(kind, &event.body);
        let mut values = self.begin(Head { cpu: event.cpu, kind, subject, at: event.at });
        body::put(event, &mut values);
        values.expect(event);
    }

    /// Packs that all events up to this time have been taken.
    pub fn tick(&mut self, at: Nanos) {
        self.begin(Head { kind: kind::TICK, at, subject: 0, ..self.model.heads.last() });
    }

    /// Packs a note.
    pub fn note(&mut self, note: Note<'_>) {
        let mut values =
            self.begin(Head { kind: kind::NOTE, subject: 0, ..self.model.heads.last() });
        values.text(note.subject.as_bytes());
        values.text(note.text.as_bytes());
    }

    fn begin(&mut self, head: Head) -> Values<'_, BitEncoder> {
        self.count = self.count.saturating_add(1);
        let head = self.model.heads.code(&mut self.coder, &head);
        Values::new(&mut self.model, &mut self.coder, head)
    }

    /// Moves all entries behind `out`, as one block.
    pub fn move_to(&mut self, out: &mut Vec<u8>) {
        self.coder.end();
        out.extend_from_slice(&self.events.to_le_bytes());
        out.extend_from_slice(&self.number.to_le_bytes());
        put_unsigned(out, self.count);
        put_unsigned(out, self.coder.literals.len() as u64);
        out.append(&mut self.coder.literals);
        out.append(&mut self.coder.bytes);
        (self.count, self.events) = (0, 0);
        self.number = next(self.number);
    }
}

/// The number of the block after this one. 0 is that of a beginning alone.
fn next(number: u32) -> u32 {
    number.wrapping_add(1).max(1)
}

/// The content of a block.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one at a time, and nearly always the large one")]
pub enum Unpacked {
    /// Its entries.
    Records(RecordBlock),
    /// The block cannot be read without one before it that did not come.
    Unreadable {
        /// Number of events in it; 0 as long as no block could be read.
        events: u64,
    },
}

/// Bytes → entries, given the blocks that a [`RecordPacker`] has made, in their order. Where some are missing, it goes on where the packer
/// begins again.
#[derive(Debug, Default)]
pub struct RecordUnpacker {
    model: Model,
    /// Number of the next block; `None` until one comes that can be read without others.
    next: Option<u32>,
    /// A block has been read.
    has_begun: bool,
    records: RecordBuffer,
    text: Vec<u8>,
    other: Vec<u8>,
}

impl RecordUnpacker {
    /// The entries of a block; `None` if no packer has made it. Nothing behind it can be read then.
    pub fn unpack(&mut self, block: &[u8]) -> Option<Unpacked> {
        let (events, rest) = block.split_first_chunk()?;
        let (number, rest) = rest.split_first_chunk()?;
        let number = u32::from_le_bytes(*number);
        if number == 0 {
            (self.model, self.next) = (Model::default(), Some(0));
        }
        if self.next != Some(number) {
            self.next = None;
            let events = if self.has_begun { u32::from_le_bytes(*events).into() } else { 0 };
            return Some(Unpacked::Unreadable { events });
        }
        let mut from = Bytes(rest);
        let count = from.unsigned()?;
        let literals = usize::try_from(from.unsigned()?).ok()?;
        let literals = from.take(literals)?;
        let mut coder = BitDecoder::new(from.0, literals);
        for _ in 0..count {
            self.entry(&mut coder)?;
            if coder.is_overrun() || self.records.len() > MAX_RECORDS {
                return None;
            }
        }
        let mut bytes = Vec::new();
        self.records.move_to(&mut bytes);
        (self.next, self.has_begun) = (Some(next(number)), true);
        Some(Unpacked::Records(RecordBlock::new(bytes)))
    }

    fn entry(&mut self, coder: &mut BitDecoder<'_>) -> Option<()> {
        let head = self.model.heads.code(coder, &Head::default());
        let mut values = Values::new(&mut self.model, coder, head);
        self.text.clear();
        match head.kind {
            kind::TICK => self.records.tick(head.at),
            kind::NOTE => {
                self.other.clear();
                values.read_text(&mut self.text)?;
                values.read_text(&mut self.other)?;
                let [subject, text] =
                    [&self.text, &self.other].map(|text| str::from_utf8(text).ok());
                self.records.note(Note { subject: subject?, text: text? });
            }
            kind => {
                let body = body::take(kind, head.at, &mut values)?;
                if matches!(body, Body::Packet(_)) {
                    values.read_text(&mut self.text)?;
                }
                let mut event: Event<'_> = Event { at: head.at, cpu: head.cpu, body };
                values.expect(&event);
                if let Body::Packet(packet) = &mut event.body {
                    packet.payload = &self.text;
                }
                self.records.event(&event, false);
            }
        }
        Some(())
    }
}

impl<C> Values<'_, C> {
    /// Expects the sequence number behind the bytes of an event.
    fn expect(&mut self, event: &Event<'_>) {
        let (start, len) = match event.body {
            Body::Packet(Packet { tcp: Some(tcp), payload_len, .. }) => {
                let counted = tcp.flags & (tcp_flags::SYN | tcp_flags::FIN) != 0;
                (tcp.seq, payload_len.wrapping_add(counted.into()))
            }
            Body::Send(send) => match send.kind {
                SendKind::Stream { start, len, .. } => (start, len),
                SendKind::Datagram { .. } => return,
            },
            _ => return,
        };
        self.model.anywhere.sequences.push(start.0.wrapping_add(len).into());
    }
}

/// A number for the flow, socket or thread that an event is about.
fn subject(kind: u8, body: &Body<'_>) -> usize {
    let mut hash = FxHasher::default();
    kind.hash(&mut hash);
    match body {
        Body::Packet(packet) => (packet.hook, packet.flow).hash(&mut hash),
        Body::Send(send) => send.socket.hash(&mut hash),
        Body::Read(read) => read.socket.hash(&mut hash),
        Body::Ready(ready) => ready.socket.hash(&mut hash),
        Body::Retransmit(retransmit) => retransmit.socket.hash(&mut hash),
        Body::Wake(wake) => wake.task.hash(&mut hash),
        Body::State(state) => state.task.hash(&mut hash),
        Body::Drop(drop) => drop.flow.hash(&mut hash),
        _ => {}
    }
    usize::try_from(hash.finish() >> (64 - SUBJECT_BITS)).unwrap_or_default()
}
