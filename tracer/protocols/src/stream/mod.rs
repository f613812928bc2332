//! Cuts one direction of a TCP flow into PDUs.
//!
//! ```text
//!             packet                packet            packet, cut by the snap length
//! |-------------------------|---------------|-------------------·················|
//! | PDU | PDU |      PDU            |  PDU  |   PDU · · · · ·   |       ?        |
//!   borrowed          in the buffer            delivered with      lost: resync at the
//!   from the packet                            its captured head   next packet
//! ```
//!
//! Every byte of the flow is counted exactly once: in a PDU passed to the decoder (whose frames cover it), in
//! [`Stream::undecoded_bytes`] or, until more bytes arrive, in [`Stream::pending_bytes`].

mod plausible;
mod resync;
mod way_back;

use crate::{Connection, FrameSink, Pdu, PduLen, Side};
use plausible::{measure, to_usize};
use wirelap_events::Size;
use wirelap_events::{ByteRange, Count, Offset};

/// The buffer's capacity between PDUs, so that a thousand idle flows need little memory.
const IDLE_BYTES: usize = 16 * 1024;

/// Number of bytes that are searched for a PDU inside packets before only packet starts are tried; renewed by every resync. It
/// bounds the cost of a flow that is not of the expected protocol.
const SEARCH_BYTES: usize = 1 << 20;

/// One direction of a TCP flow, cut into PDUs for a decoder.
#[derive(Debug)]
pub struct Stream {
    side: Side,
    /// The offset of the next byte; `None` before the first.
    next: Option<Offset>,
    state: StreamState,
    /// The first bytes of the incomplete PDU.
    buffer: Vec<u8>,
    undecoded: Count,
    /// Number of bytes that may still be searched for a PDU inside packets, see [`SEARCH_BYTES`].
    search_left: usize,
    /// True while it is an unconfirmed guess that a PDU starts with the first byte.
    is_unproven: bool,
}

#[derive(Clone, Copy, Debug)]
enum StreamState {
    /// A PDU starts with the buffer's first byte, or with the next byte if the buffer is empty. Its
    /// length is not known before the buffer has `need` bytes.
    Head { need: usize },
    /// Inside a PDU.
    Body {
        range: ByteRange,
        /// True if bytes in the PDU's middle are missing, so that the buffer cannot grow.
        cut: bool,
        /// True while it is a guess that this is a PDU; the bytes after it decide.
        guess: bool,
    },
    /// The start of the next PDU is not known.
    Lost,
}

const BETWEEN_PDUS: StreamState = StreamState::Head { need: 1 };

impl Stream {
    /// The direction that `side` sends. With `mid_stream`, its first byte need not start a PDU.
    pub fn new(side: Side, mid_stream: bool) -> Stream {
        Stream {
            side,
            next: None,
            state: if mid_stream { StreamState::Lost } else { BETWEEN_PDUS },
            buffer: Vec::new(),
            undecoded: Count(0),
            search_left: SEARCH_BYTES,
            is_unproven: false,
        }
    }

    /// A direction whose first byte most likely starts a PDU. If that PDU is longer than its packet, the bytes after it
    /// decide.
    pub fn guessing(side: Side) -> Stream {
        Stream { is_unproven: true, ..Stream::new(side, false) }
    }

    /// Adds the bytes of one packet, in flow order. `at` is the offset of `bytes[0]`; `missing` is the number of the packet's
    /// payload bytes after `bytes` that were not captured.
    ///
    /// Bytes that were added before are skipped; a jump forward is a [`Stream::gap`].
    pub fn feed(
        &mut self,
        at: Offset,
        bytes: &[u8],
        missing: u64,
        conn: &mut dyn Connection,
        out: &mut dyn FrameSink,
    ) {
        let next = self.position(at);
        self.absent(at - next, conn, out);
        let old = next - at;
        let old_bytes = to_usize(old).min(bytes.len());
        let missing = missing.saturating_sub(old.saturating_sub(old_bytes as u64));
        if let Some((_, new)) = bytes.split_at_checked(old_bytes) {
            self.packet(new, missing, conn, out);
        }
        self.absent(missing, conn, out);
    }

    /// Adds a gap: the bytes `[at, at + len)` will never arrive.
    pub fn gap(
        &mut self,
        at: Offset,
        len: u64,
        conn: &mut dyn Connection,
        out: &mut dyn FrameSink,
    ) {
        let next = self.position(at);
        self.absent(at + len - next, conn, out);
    }

    /// Ends the stream: pending bytes count as undecoded.
    pub fn finish(&mut self, conn: &mut dyn Connection) {
        self.lose(conn);
    }

    /// Bytes that are in no PDU: before the first PDU that was found, skipped during a search, or in gaps.
    pub fn undecoded_bytes(&self) -> u64 {
        self.undecoded.0
    }

    /// Bytes of the incomplete PDU.
    pub fn pending_bytes(&self) -> u64 {
        match (self.state, self.next) {
            (StreamState::Body { range, .. }, Some(next)) => next - range.start,
            _ => self.buffer.len() as u64,
        }
    }

    /// The first byte of the incomplete PDU; `None` between PDUs.
    pub fn open_from(&self) -> Option<Offset> {
        let pending = self.pending_bytes();
        self.next.filter(|_| pending > 0).map(|next| Offset(next.0.saturating_sub(pending)))
    }

    /// Bytes of memory that the stream uses.
    pub fn held_bytes(&self) -> Size {
        Size(self.buffer.capacity())
    }

    /// True if the starts of PDUs are known.
    pub fn is_in_sync(&self) -> bool {
        !matches!(self.state, StreamState::Lost | StreamState::Body { guess: true, .. })
    }

    /// The next byte's offset; the first call sets where the flow starts.
    fn position(&mut self, at: Offset) -> Offset {
        *self.next.get_or_insert(at)
    }

    fn advance(&mut self, n: u64) {
        self.next = self.next.map(|next| next.plus(n));
    }

    fn packet(
        &mut self,
        bytes: &[u8],
        missing: u64,
        conn: &mut dyn Connection,
        out: &mut dyn FrameSink,
    ) {
        let mut rest = bytes;
        if !self.is_in_sync() {
            rest = self.seek(rest, missing, conn);
        }
        while !rest.is_empty() {
            rest = match self.state {
                StreamState::Head { .. } if self.buffer.is_empty() => self.cut(rest, conn, out),
                StreamState::Head { need } => self.fill_head(need, rest, conn, out),
                StreamState::Body { .. } => self.fill_body(rest, missing, conn, out),
                StreamState::Lost => self.skip(rest),
            };
        }
    }

    /// Cuts one PDU off a packet. Returns the packet's remaining bytes.
    fn cut<'b>(
        &mut self,
        rest: &'b [u8],
        conn: &mut dyn Connection,
        out: &mut dyn FrameSink,
    ) -> &'b [u8] {
        let start = self.next.unwrap_or_default();
        match measure(conn, self.side, rest) {
            PduLen::Known(len) if start.0.checked_add(len).is_some() => {
                let range = ByteRange::new(start, len);
                if let Some((bytes, tail)) = rest.split_at_checked(to_usize(len)) {
                    conn.pdu(self.side, Pdu { range, bytes }, out);
                    self.advance(len);
                    self.is_unproven = false;
                    return tail;
                }
                let guess = self.is_unproven && !conn.is_certain(self.side, rest);
                self.state = StreamState::Body { range, cut: false, guess };
                rest
            }
            PduLen::Need(need) => {
                self.state = StreamState::Head { need };
                self.buffer.extend_from_slice(rest);
                self.advance(rest.len() as u64);
                &[]
            }
            // A PDU that ends past the last offset has no range.
            PduLen::Known(_) | PduLen::Invalid => {
                self.lose(conn);
                rest
            }
        }
    }

    /// Adds bytes to a head that was too short for the PDU's length.
    fn fill_head<'b>(
        &mut self,
        need: usize,
        rest: &'b [u8],
        conn: &mut dyn Connection,
        out: &mut dyn FrameSink,
    ) -> &'b [u8] {
        let before = self.buffer.len();
        let start = self.next.unwrap_or_default() - before as u64;
        let (head, tail) = split_up_to(rest, need.saturating_sub(before));
        self.buffer.extend_from_slice(head);
        if self.buffer.len() < need {
            self.advance(head.len() as u64);
            return tail;
        }
        match measure(conn, self.side, &self.buffer) {
            PduLen::Known(len) if len >= before as u64 => {
                // If the PDU is shorter than what was needed to measure it, the bytes after it are the next PDU's.
                self.buffer.truncate(to_usize(len));
                let (taken, tail) = split_up_to(rest, self.buffer.len().saturating_sub(before));
                self.advance(taken.len() as u64);
                let range = ByteRange::new(start, len);
                let guess = self.is_unproven && !conn.is_certain(self.side, &self.buffer);
                self.state = StreamState::Body { range, cut: false, guess };
                if self.left_of(range) == 0 {
                    self.deliver(range, conn, out);
                }
                return tail;
            }
            PduLen::Need(need) => {
                self.advance(head.len() as u64);
                self.state = StreamState::Head { need };
            }
            // More bytes were needed to measure the PDU than it has: the bytes after it are the next PDU's.
            PduLen::Known(len) if start.0.checked_add(len).is_some() => {
                let kept = std::mem::take(&mut self.buffer);
                let (bytes, more) = split_up_to(&kept, to_usize(len));
                let range = ByteRange::new(start, len);
                conn.pdu(self.side, Pdu { range, bytes }, out);
                (self.state, self.is_unproven) = (BETWEEN_PDUS, false);
                self.next = Some(range.end);
                self.packet(more, 0, conn, out);
            }
            PduLen::Known(_) | PduLen::Invalid => {
                self.advance(head.len() as u64);
                self.lose(conn);
            }
        }
        tail
    }

    /// Adds bytes to a PDU of known length.
    fn fill_body<'b>(
        &mut self,
        rest: &'b [u8],
        missing: u64,
        conn: &mut dyn Connection,
        out: &mut dyn FrameSink,
    ) -> &'b [u8] {
        let StreamState::Body { range, cut, guess } = self.state else { return rest };
        let (body, tail) = split_up_to(rest, to_usize(self.left_of(range)));
        if !cut {
            let kept = conn.kept_bytes(self.side);
            let (kept, _) = split_up_to(body, kept.saturating_sub(self.buffer.len()));
            self.buffer.extend_from_slice(kept);
        }
        self.advance(body.len() as u64);
        if self.left_of(range) == 0 {
            let ends_packet = tail.is_empty() && missing == 0;
            if guess && !ends_packet && !self.starts_pdu(tail, conn) {
                self.lose(conn);
            } else {
                self.deliver(range, conn, out);
            }
        }
        tail
    }

    /// True if a PDU may start with `tail`, the last bytes of a packet.
    fn starts_pdu(&self, tail: &[u8], conn: &dyn Connection) -> bool {
        const TOO_SHORT: usize = 32;
        let is_cut = tail.len() < TOO_SHORT && measure(conn, self.side, tail) != PduLen::Invalid;
        is_cut || conn.resync(self.side, tail)
    }

    fn left_of(&self, range: ByteRange) -> u64 {
        range.end - self.next.unwrap_or_default()
    }

    fn deliver(&mut self, range: ByteRange, conn: &mut dyn Connection, out: &mut dyn FrameSink) {
        conn.pdu(self.side, Pdu { range, bytes: &self.buffer }, out);
        self.empty_buffer();
        self.is_unproven = false;
        self.state = BETWEEN_PDUS;
    }

    fn empty_buffer(&mut self) {
        self.buffer.clear();
        self.buffer.shrink_to(IDLE_BYTES);
    }

    fn skip<'b>(&mut self, rest: &'b [u8]) -> &'b [u8] {
        self.undecoded += rest.len() as u64;
        self.advance(rest.len() as u64);
        rest.get(rest.len()..).unwrap_or_default()
    }

    /// Moves over `len` missing bytes.
    fn absent(&mut self, len: u64, conn: &mut dyn Connection, out: &mut dyn FrameSink) {
        let mut beyond = len;
        if len > 0
            && let StreamState::Body { range, cut, .. } = &mut self.state
        {
            *cut = true;
            let range = *range;
            let inside = self.left_of(range).min(len);
            self.advance(inside);
            beyond = len.saturating_sub(inside);
            if self.left_of(range) > 0 {
                return;
            }
            // A guessed PDU that ends exactly where the captured bytes continue is confirmed.
            if beyond == 0 || self.is_in_sync() {
                self.deliver(range, conn, out);
            }
        }
        if beyond > 0 && self.keep(conn.open_bytes(self.side)) {
            self.absent(beyond, conn, out);
        } else if beyond > 0 {
            self.lose(conn);
            self.undecoded += beyond;
            self.advance(beyond);
        }
    }

    /// Handles missing bytes between the parts of a large unit that has `open_bytes` left: these become one PDU. Returns
    /// whether there is such a unit.
    fn keep(&mut self, open_bytes: u64) -> bool {
        let start = self.next.unwrap_or_default() - self.buffer.len() as u64;
        let keeps = open_bytes > 0
            && matches!(self.state, StreamState::Head { .. })
            && start.0.checked_add(open_bytes).is_some();
        if keeps {
            let range = ByteRange::new(start, open_bytes);
            self.state = StreamState::Body { range, cut: true, guess: false };
        }
        keeps
    }

    /// Drops the incomplete PDU and waits for a packet that starts with a PDU.
    fn lose(&mut self, conn: &mut dyn Connection) {
        self.undecoded += self.pending_bytes();
        self.empty_buffer();
        if !matches!(self.state, StreamState::Lost) {
            self.state = StreamState::Lost;
            conn.gap(self.side);
        }
    }
}

fn split_up_to(bytes: &[u8], n: usize) -> (&[u8], &[u8]) {
    bytes.split_at_checked(n).unwrap_or((bytes, &[]))
}
