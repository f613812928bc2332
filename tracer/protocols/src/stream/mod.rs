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
//! Every byte of the flow ends up in exactly one place: a PDU handed to the decoder (whose frames
//! cover it), [`Stream::undecoded_bytes`], or, until more arrives, [`Stream::pending_bytes`].

mod resync;

use crate::{Connection, FrameSink, Pdu, PduLen, Side};
use wirelap_events::Saturate;
use wirelap_events::{ByteRange, Offset};

/// Bytes kept of a PDU that does not lie in one packet; the rest is counted, not stored.
pub const KEPT_BYTES: usize = 256 * 1024;

/// A longer PDU is taken for a sign that these bytes are no PDU. MQTT's limit, 256 MiB, is the
/// largest of the protocols that have one.
pub const LONGEST_PDU: u64 = 512 << 20;

/// What the buffer may hold on to between PDUs, so that a thousand idle flows stay small.
const IDLE_BYTES: usize = 16 * 1024;

/// One direction of a TCP flow on its way to a decoder.
#[derive(Debug)]
pub struct Stream {
    side: Side,
    /// The next byte that was not looked at; `None` before the first.
    next: Option<Offset>,
    state: State,
    /// The head of the PDU that is open, always a prefix of it.
    buffer: Vec<u8>,
    undecoded: u64,
    /// Bytes that may still be searched for a PDU inside packets, see [`resync`].
    search_left: usize,
    /// That a PDU starts with the first byte is only a guess, which nothing has confirmed yet.
    is_unproven: bool,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// A PDU starts with the buffer's first byte, or with the next byte if the buffer is empty. Its
    /// length is not known before the buffer has `need` bytes.
    Head { need: usize },
    /// Inside a PDU.
    Body {
        range: ByteRange,
        /// Bytes in its middle are missing: nothing more can be added to the prefix.
        cut: bool,
        /// It is only a guess that this is a PDU; what follows it decides.
        guess: bool,
    },
    /// Nobody knows where the next PDU starts.
    Lost,
}

const BETWEEN_PDUS: State = State::Head { need: 1 };

impl Stream {
    /// One direction, sent by `side`. With `mid_stream`, its first byte need not start a PDU.
    pub fn new(side: Side, mid_stream: bool) -> Stream {
        Stream {
            side,
            next: None,
            state: if mid_stream { State::Lost } else { BETWEEN_PDUS },
            buffer: Vec::new(),
            undecoded: 0,
            search_left: resync::SEARCH_BYTES,
            is_unproven: false,
        }
    }

    /// One direction whose first byte most likely starts a PDU: if that is longer than its packet, what follows decides.
    pub fn guessing(side: Side) -> Stream {
        Stream { is_unproven: true, ..Stream::new(side, false) }
    }

    /// Takes the bytes of one packet, in flow order. `at` is the offset of `bytes[0]`; `missing`
    /// payload bytes of that packet, after `bytes`, were not captured.
    ///
    /// Bytes that were there before are skipped; a jump forward is a [`Stream::gap`].
    pub fn feed(
        &mut self,
        at: Offset,
        bytes: &[u8],
        missing: u64,
        conn: &mut dyn Connection,
        out: &mut dyn FrameSink,
    ) {
        let next = self.position(at);
        self.absent(at.0.saturating_sub(next.0), conn, out);
        let old = next.0.saturating_sub(at.0);
        let old_bytes = to_usize(old).min(bytes.len());
        let missing = missing.saturating_sub(old.saturating_sub(old_bytes as u64));
        if let Some((_, new)) = bytes.split_at_checked(old_bytes) {
            self.packet(new, missing, conn, out);
        }
        self.absent(missing, conn, out);
    }

    /// The bytes `[at, at + len)` will never come.
    pub fn gap(
        &mut self,
        at: Offset,
        len: u64,
        conn: &mut dyn Connection,
        out: &mut dyn FrameSink,
    ) {
        let next = self.position(at);
        self.absent(at.plus(len).0.saturating_sub(next.0), conn, out);
    }

    /// Nothing more will come: what is pending counts as undecoded.
    pub fn finish(&mut self, conn: &mut dyn Connection) {
        self.lose(conn);
    }

    /// Bytes that are in no PDU: before the first resync, skipped to find one, or in gaps.
    pub fn undecoded_bytes(&self) -> u64 {
        self.undecoded
    }

    /// Bytes of the PDU that is not complete yet.
    pub fn pending_bytes(&self) -> u64 {
        match (self.state, self.next) {
            (State::Body { range, .. }, Some(next)) => next.0.saturating_sub(range.start.0),
            _ => self.buffer.len() as u64,
        }
    }

    /// Bytes of memory that it holds on to.
    pub fn held_bytes(&self) -> usize {
        self.buffer.capacity()
    }

    /// Whether it is known where PDUs start.
    pub fn is_in_sync(&self) -> bool {
        !matches!(self.state, State::Lost | State::Body { guess: true, .. })
    }

    /// The next byte's offset; the first call says where the flow starts.
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
                State::Head { .. } if self.buffer.is_empty() => self.cut(rest, conn, out),
                State::Head { need } => self.fill_head(need, rest, conn, out),
                State::Body { .. } => self.fill_body(rest, missing, conn, out),
                State::Lost => self.skip(rest),
            };
        }
    }

    /// Cuts one PDU off a packet. Returns what is left of the packet.
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
                self.state = State::Body { range, cut: false, guess };
                rest
            }
            PduLen::Need(need) => {
                self.state = State::Head { need };
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

    /// Adds to a head that was too short to tell the PDU's length.
    fn fill_head<'b>(
        &mut self,
        need: usize,
        rest: &'b [u8],
        conn: &mut dyn Connection,
        out: &mut dyn FrameSink,
    ) -> &'b [u8] {
        let before = self.buffer.len();
        let start = Offset(self.next.unwrap_or_default().0.saturating_sub(before as u64));
        let (head, tail) = split_up_to(rest, need.saturating_sub(before));
        self.buffer.extend_from_slice(head);
        if self.buffer.len() < need {
            self.advance(head.len() as u64);
            return tail;
        }
        match measure(conn, self.side, &self.buffer) {
            PduLen::Known(len) if len >= before as u64 => {
                // Where a shorter PDU could not be told before, the rest is the next one's.
                self.buffer.truncate(to_usize(len));
                let (taken, tail) = split_up_to(rest, self.buffer.len().saturating_sub(before));
                self.advance(taken.len() as u64);
                let range = ByteRange::new(start, len);
                let guess = self.is_unproven && !conn.is_certain(self.side, &self.buffer);
                self.state = State::Body { range, cut: false, guess };
                if self.left_of(range) == 0 {
                    self.deliver(range, conn, out);
                }
                return tail;
            }
            PduLen::Need(need) => {
                self.advance(head.len() as u64);
                self.state = State::Head { need };
            }
            // The head had to be longer than its PDU: what is behind that begins the next.
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

    /// Adds to a PDU of known length.
    fn fill_body<'b>(
        &mut self,
        rest: &'b [u8],
        missing: u64,
        conn: &mut dyn Connection,
        out: &mut dyn FrameSink,
    ) -> &'b [u8] {
        let State::Body { range, cut, guess } = self.state else { return rest };
        let (body, tail) = split_up_to(rest, to_usize(self.left_of(range)));
        if !cut {
            let kept = conn.kept_bytes(self.side);
            let (kept, _) = split_up_to(body, kept.saturating_sub(self.buffer.len()));
            self.buffer.extend_from_slice(kept);
        }
        self.advance(body.len() as u64);
        if self.left_of(range) == 0 {
            let ends_packet = tail.is_empty() && missing == 0;
            if guess && !ends_packet && !self.goes_on(tail, conn) {
                self.lose(conn);
            } else {
                self.deliver(range, conn, out);
            }
        }
        tail
    }

    /// Whether a PDU may start with `tail`, which a packet ends with.
    fn goes_on(&self, tail: &[u8], conn: &dyn Connection) -> bool {
        const TOO_SHORT: usize = 32;
        let is_cut = tail.len() < TOO_SHORT && measure(conn, self.side, tail) != PduLen::Invalid;
        is_cut || conn.resync(self.side, tail)
    }

    fn left_of(&self, range: ByteRange) -> u64 {
        range.end.0.saturating_sub(self.next.unwrap_or_default().0)
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
        self.undecoded.grow(rest.len() as u64);
        self.advance(rest.len() as u64);
        rest.get(rest.len()..).unwrap_or_default()
    }

    /// Moves over `len` bytes that are not there.
    fn absent(&mut self, len: u64, conn: &mut dyn Connection, out: &mut dyn FrameSink) {
        let mut beyond = len;
        if len > 0
            && let State::Body { range, cut, .. } = &mut self.state
        {
            *cut = true;
            let range = *range;
            let inside = self.left_of(range).min(len);
            self.advance(inside);
            beyond = len.saturating_sub(inside);
            if self.left_of(range) > 0 {
                return;
            }
            // A guess that ends exactly where the bytes come back was right.
            if beyond == 0 || self.is_in_sync() {
                self.deliver(range, conn, out);
            }
        }
        if beyond > 0 && self.keep(conn.open_bytes(self.side)) {
            self.absent(beyond, conn, out);
        } else if beyond > 0 {
            self.lose(conn);
            self.undecoded.grow(beyond);
            self.advance(beyond);
        }
    }

    /// Bytes are missing between the pieces of something large, of which so many bytes are left: they
    /// are one piece from here on.
    fn keep(&mut self, open_bytes: u64) -> bool {
        let start = self.next.unwrap_or_default().0.saturating_sub(self.buffer.len() as u64);
        let keeps = open_bytes > 0
            && matches!(self.state, State::Head { .. })
            && start.checked_add(open_bytes).is_some();
        if keeps {
            let range = ByteRange::new(Offset(start), open_bytes);
            self.state = State::Body { range, cut: true, guess: false };
        }
        keeps
    }

    /// Gives up the PDU that is open and waits for a packet that starts with one.
    fn lose(&mut self, conn: &mut dyn Connection) {
        self.undecoded.grow(self.pending_bytes());
        self.empty_buffer();
        if !matches!(self.state, State::Lost) {
            self.state = State::Lost;
            conn.gap(self.side);
        }
    }
}

/// [`Connection::pdu_len`], with what cannot be true made `Invalid`.
fn measure(conn: &dyn Connection, side: Side, head: &[u8]) -> PduLen {
    plausible(conn.pdu_len(side, head), head)
}

/// A length with what cannot be true made `Invalid`.
fn plausible(len: PduLen, head: &[u8]) -> PduLen {
    match len {
        PduLen::Known(0) => PduLen::Invalid,
        PduLen::Known(len) if len > LONGEST_PDU => PduLen::Invalid,
        PduLen::Need(need) if need > KEPT_BYTES => PduLen::Invalid,
        PduLen::Need(need) => PduLen::Need(need.max(head.len().saturating_add(1))),
        known => known,
    }
}

fn split_up_to(bytes: &[u8], n: usize) -> (&[u8], &[u8]) {
    bytes.split_at_checked(n).unwrap_or((bytes, &[]))
}

fn to_usize(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}
