//! One record ↔ what it says.
//!
//! ```text
//! length (unsigned) | kind (1 byte) | by kind:
//!    0 tick     time
//!    1 note     length of its subject (unsigned) | subject | text
//!   16… event   time | cpu | body; the kind is the body's
//!   80  known   as 16 (a socket), of an earlier file
//! ```
//! Times are differences (signed) from that of the record before, in the first one from the time
//! before the records. Kinds that a reader does not know are left out by it, and so is what follows the last
//! field that it knows.

use crate::wire::{Bytes, Signed, Wire, fields, put_signed, put_unsigned};
use std::ops::Range;
use wirelap_events::{Body, Cpu, Event, Nanos, Packet, PacketId, Portion, SocketId, TaskId};

const TICK: u8 = 0;
const NOTE: u8 = 1;
const WINDOW: u8 = 26;
const QUOTA: u8 = 27;
const STATE: u8 = 28;
const LAST: u8 = STATE;
/// Sockets only.
const KNOWN: u8 = 80;

/// What a recording holds, in the order in which it was taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry<'a> {
    /// Something that was seen.
    Event(Event<'a>),
    /// A socket of an earlier file of the same recording, told again so that each file can be read alone.
    Known(Event<'a>),
    /// Here, whoever took the events had taken in all up to this time. Messages that wait for slower
    /// hooks are completed by these ticks, so a replay that keeps them completes them alike.
    Tick(Nanos),
    /// What the recorder wrote down beside the events.
    Note(Note<'a>),
}

/// What the recorder wrote down: text on a subject. Both are the program's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note<'a> {
    /// What it is about, e.g. `environment`.
    pub subject: &'a str,
    /// What it says, mostly JSON.
    pub text: &'a str,
}

/// A record that was read; payload and text stay where they are, and their place is told.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "one is alive at a time, on the stack; a box would be an allocation for each event"
)]
pub(crate) enum Read {
    /// Its packet's payload, if it is one, is not in it.
    Event {
        event: Event<'static>,
        payload: Range<usize>,
        known: bool,
    },
    Tick(Nanos),
    Note {
        subject: Range<usize>,
        text: Range<usize>,
    },
    /// Of a later version.
    Unknown,
}

/// Puts records one behind the other.
#[derive(Debug, Default)]
pub(crate) struct Records {
    bytes: Vec<u8>,
    /// The time of the first.
    base: Nanos,
    last: Nanos,
    scratch: Vec<u8>,
}

impl Records {
    /// Bytes of all of them.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Moves them behind `out`, after the time that they are told from.
    pub fn move_to(&mut self, out: &mut Vec<u8>) {
        self.base.put(out);
        out.append(&mut self.bytes);
    }

    pub fn tick(&mut self, at: Nanos) {
        self.begin(TICK);
        self.time(at);
        self.end();
    }

    pub fn note(&mut self, note: Note<'_>) {
        if self.bytes.is_empty() {
            // It has no time, and the next one's is told from none.
            (self.base, self.last) = (Nanos(0), Nanos(0));
        }
        self.begin(NOTE);
        put_unsigned(&mut self.scratch, note.subject.len() as u64);
        self.scratch.extend_from_slice(note.subject.as_bytes());
        self.scratch.extend_from_slice(note.text.as_bytes());
        self.end();
    }

    pub fn event(&mut self, event: &Event<'_>, known: bool) {
        self.begin(if known { KNOWN } else { kind_of(&event.body) });
        self.time(event.at);
        event.cpu.put(&mut self.scratch);
        put_body(event, &mut self.scratch);
        self.end();
    }

    fn begin(&mut self, kind: u8) {
        self.scratch.clear();
        self.scratch.push(kind);
    }

    fn time(&mut self, at: Nanos) {
        if self.bytes.is_empty() {
            (self.base, self.last) = (at, at);
        }
        put_signed(&mut self.scratch, at.0.wrapping_sub(self.last.0).cast_signed());
        self.last = at;
    }

    fn end(&mut self) {
        put_unsigned(&mut self.bytes, self.scratch.len() as u64);
        self.bytes.extend_from_slice(&self.scratch);
    }
}

/// Where a reader is in a block's records.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cursor {
    /// Of the next record in the block's bytes.
    pub at: usize,
    /// The time of the last one.
    pub last: Nanos,
}

impl Cursor {
    /// The next record. `Ok(None)` at the end.
    ///
    /// # Errors
    /// It is not one. Nothing behind it can be read if its length is wrong: then the cursor is at the end.
    pub fn next(&mut self, block: &[u8]) -> Result<Option<Read>, Malformed> {
        let mut rest = Bytes(block.get(self.at..).unwrap_or_default());
        if rest.0.is_empty() {
            return Ok(None);
        }
        self.at = block.len();
        let len = rest.unsigned().and_then(|len| usize::try_from(len).ok()).ok_or(Malformed)?;
        let record = rest.take(len).ok_or(Malformed)?;
        self.at = block.len().saturating_sub(rest.0.len());
        self.read(record, self.at.saturating_sub(len)).map(Some)
    }

    /// Reads a record whose first byte is at `start` in its block.
    fn read(&mut self, record: &[u8], start: usize) -> Result<Read, Malformed> {
        let mut from = Bytes(record);
        let [kind] = from.array().ok_or(Malformed)?;
        let end = start.saturating_add(record.len());
        match kind {
            TICK => self.time(&mut from).map(Read::Tick),
            NOTE => note(from, end),
            _ => self.event(kind, from, end),
        }
        .ok_or(Malformed)
    }

    fn time(&mut self, from: &mut Bytes<'_>) -> Option<Nanos> {
        let difference = from.signed()?;
        self.last = Nanos(self.last.0.wrapping_add(difference.cast_unsigned()));
        Some(self.last)
    }

    fn event(&mut self, kind: u8, mut from: Bytes<'_>, end: usize) -> Option<Read> {
        let known = kind == KNOWN;
        if !known && !(16..=LAST).contains(&kind) {
            return Some(Read::Unknown);
        }
        let at = self.time(&mut from)?;
        let cpu = Cpu::take(&mut from)?;
        let body = take_body(if known { 16 } else { kind }, at, &mut from)?;
        let payload = if matches!(body, Body::Packet(_)) {
            let len = usize::try_from(from.unsigned()?).ok()?;
            let start = end.saturating_sub(from.0.len());
            from.take(len)?;
            start..start.saturating_add(len)
        } else {
            0..0
        };
        Some(Read::Event { event: Event { at, cpu, body }, payload, known })
    }
}

/// A record that does not say what its kind should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

fn note(mut from: Bytes<'_>, end: usize) -> Option<Read> {
    let len = usize::try_from(from.unsigned()?).ok()?;
    let start = end.saturating_sub(from.0.len());
    std::str::from_utf8(from.take(len)?).ok()?;
    std::str::from_utf8(from.0).ok()?;
    Some(Read::Note {
        subject: start..start.saturating_add(len),
        text: start.saturating_add(len)..end,
    })
}

fn kind_of(body: &Body<'_>) -> u8 {
    match body {
        Body::Socket(_) => 16,
        Body::Closed(_) => 17,
        Body::Send(_) => 18,
        Body::Read(_) => 19,
        Body::Ready(_) => 20,
        Body::Packet(_) => 21,
        Body::Wake(_) => 22,
        Body::Retransmit(_) => 23,
        Body::Drop(_) => 24,
        Body::Lost(_) => 25,
        Body::Window(_) => WINDOW,
        Body::Quota(_) => QUOTA,
        Body::State(_) => STATE,
    }
}

fn put_body(event: &Event<'_>, out: &mut Vec<u8>) {
    match &event.body {
        Body::Socket(socket) => socket.put(out),
        Body::Closed(socket) => socket.put(out),
        Body::Send(send) => send.put(out),
        Body::Read(read) => read.put(out),
        Body::Ready(ready) => ready.put(out),
        Body::Packet(packet) => put_packet(packet, event.at, out),
        Body::Wake(wake) => wake.put(out),
        Body::Retransmit(retransmit) => retransmit.put(out),
        Body::Drop(drop) => drop.put(out),
        Body::Lost(lost) => lost.put(out),
        Body::Window(open) => open.put(out),
        Body::Quota(quota) => quota.put(out),
        Body::State(state) => state.put(out),
    }
}

/// `None` for one that is not what its kind says.
fn take_body(kind: u8, at: Nanos, from: &mut Bytes<'_>) -> Option<Body<'static>> {
    Some(match kind {
        16 => Body::Socket(Wire::take(from)?),
        17 => Body::Closed(Wire::take(from)?),
        18 => Body::Send(Wire::take(from)?),
        19 => Body::Read(Wire::take(from)?),
        20 => Body::Ready(Wire::take(from)?),
        21 => Body::Packet(take_packet(at, from)?),
        22 => Body::Wake(Wire::take(from)?),
        23 => Body::Retransmit(Wire::take(from)?),
        24 => Body::Drop(Wire::take(from)?),
        25 => Body::Lost(Wire::take(from)?),
        WINDOW => Body::Window(Wire::take(from)?),
        QUOTA => Body::Quota(Wire::take(from)?),
        STATE => Body::State(Wire::take(from)?),
        _ => return None,
    })
}

/// A whole packet; its payload comes last.
fn put_packet(packet: &Packet<'_>, at: Nanos, out: &mut Vec<u8>) {
    packet.hook.put(out);
    packet.flow.put(out);
    packet.netns.put(out);
    packet.device.put(out);
    packet.ip_header.put(out);
    packet.transport_header.put(out);
    packet.payload_len.put(out);
    packet.tcp.put(out);
    Beside::of(packet, at).put(out);
    put_unsigned(out, packet.payload.len() as u64);
    out.extend_from_slice(packet.payload);
}

fn take_packet(at: Nanos, from: &mut Bytes<'_>) -> Option<Packet<'static>> {
    let hook = Wire::take(from)?;
    let flow = Wire::take(from)?;
    let netns = Wire::take(from)?;
    let device = Wire::take(from)?;
    let ip_header = Wire::take(from)?;
    let transport_header = Wire::take(from)?;
    let payload_len = Wire::take(from)?;
    let tcp = Wire::take(from)?;
    let beside = Beside::take(from)?;
    Some(Packet {
        hook,
        flow,
        netns,
        device,
        ip_header,
        transport_header,
        payload_len,
        tcp,
        id: beside.id,
        socket: beside.socket,
        task: beside.task,
        queued: beside.queued(at),
        queue: beside.queue,
        wire_bytes: beside.wire_bytes,
        link_header: beside.link_header,
        segments: beside.segments,
        deferred: beside.deferred,
        portion: beside.portion,
        payload: &[],
    })
}

/// What neither a packet's bytes nor its interface tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Beside {
    pub id: PacketId,
    pub socket: Option<SocketId>,
    pub task: TaskId,
    /// How long before the packet's time.
    pub waited: Option<Signed>,
    pub queue: u16,
    pub wire_bytes: u32,
    pub link_header: u16,
    pub segments: u16,
    pub deferred: bool,
    pub portion: Portion,
}

fields! {
    Beside { id, socket, task, waited, queue, wire_bytes, link_header, segments, deferred, portion }
}

impl Beside {
    pub fn of(packet: &Packet<'_>, at: Nanos) -> Beside {
        let before = |queued: Nanos| Signed(at.0.wrapping_sub(queued.0).cast_signed());
        Beside {
            id: packet.id,
            socket: packet.socket,
            task: packet.task,
            waited: packet.queued.map(before),
            queue: packet.queue,
            wire_bytes: packet.wire_bytes,
            link_header: packet.link_header,
            segments: packet.segments,
            deferred: packet.deferred,
            portion: packet.portion,
        }
    }

    pub fn queued(&self, at: Nanos) -> Option<Nanos> {
        self.waited.map(|waited| Nanos(at.0.wrapping_sub(waited.0.cast_unsigned())))
    }
}
