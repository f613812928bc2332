//! The way back after a gap.
//!
//! Senders that are not saturated start a PDU with a packet, so a packet's first byte is tried first.
//! It is believed when the PDUs from there on run exactly to the packet's end, or one is followed by
//! the start of another. A PDU that is longer than the packet is followed as a guess until its end
//! shows what comes after it; a packet that convinces by itself overrides it, so that a wrong guess
//! costs little. A saturated sender's packets start anywhere: for those, a bounded number of bytes is
//! searched for two PDUs in a row, or for the start of a long one that stands out.

use super::{BETWEEN_PDUS, State, Stream, plausible, to_usize};
use crate::{Connection, PduLen, Side};
use wirelap_events::ByteRange;
use wirelap_events::Saturate;

/// Bytes that are searched inside packets before only packet starts are tried; renewed by every
/// resync. It bounds the cost of a flow that is not what it seems.
pub(super) const SEARCH_BYTES: usize = 1 << 20;

/// A chain of so many PDUs needs no further proof.
const LONG_CHAIN: usize = 8;

/// What a stretch of bytes looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// PDUs, the first one included this many whole ones.
    Chain(usize),
    /// The head of a PDU of this length, with nothing yet that confirms it.
    Head(u64),
    /// Something else.
    Other,
}

impl Stream {
    /// Looks for a PDU in a packet. Returns the packet from that PDU on, or all of it.
    pub(super) fn seek<'b>(
        &mut self,
        bytes: &'b [u8],
        missing: u64,
        conn: &mut dyn Connection,
    ) -> &'b [u8] {
        match judge(conn, self.side, bytes, missing) {
            Verdict::Chain(_) => {
                self.lock(conn);
                bytes
            }
            _ if !matches!(self.state, State::Lost) => bytes,
            Verdict::Head(_) if conn.is_certain(self.side, bytes) => {
                self.lock(conn);
                bytes
            }
            Verdict::Head(len) => {
                let range = ByteRange::new(self.next.unwrap_or_default(), len);
                self.state = State::Body { range, cut: false, guess: true };
                bytes
            }
            Verdict::Other => self.search(bytes, missing, conn),
        }
    }

    fn search<'b>(&mut self, bytes: &'b [u8], missing: u64, conn: &mut dyn Connection) -> &'b [u8] {
        let tries = bytes.len().min(self.search_left);
        self.search_left.shrink(tries);
        for at in 1..tries {
            let Some((before, tail)) = bytes.split_at_checked(at) else { break };
            match judge(conn, self.side, tail, missing) {
                Verdict::Chain(whole) if whole >= 2 || conn.stands_out(tail) => {
                    self.skip(before);
                    self.lock(conn);
                    return tail;
                }
                // One that is longer than the packet: its own end has to confirm it.
                Verdict::Head(len) if conn.stands_out(tail) => {
                    self.skip(before);
                    let range = ByteRange::new(self.next.unwrap_or_default(), len);
                    self.state = State::Body { range, cut: false, guess: true };
                    return tail;
                }
                _ => {}
            }
        }
        bytes
    }

    /// The next byte starts a PDU, for sure.
    fn lock(&mut self, conn: &mut dyn Connection) {
        self.lose(conn);
        self.state = BETWEEN_PDUS;
        self.is_unproven = false;
        self.search_left = SEARCH_BYTES;
    }
}

/// Judges `bytes`, after which `missing` bytes of the same packet were not captured.
fn judge(conn: &dyn Connection, side: Side, bytes: &[u8], missing: u64) -> Verdict {
    let mut rest = bytes;
    let mut whole = 0;
    while !rest.is_empty() && whole < LONG_CHAIN {
        let len = plausible(conn.span(side, rest), rest);
        if !conn.resync(side, rest) {
            // A PDU's first few bytes at the end of a chain contradict nothing.
            let is_cut = match len {
                PduLen::Need(_) => true,
                PduLen::Known(len) => len > rest.len() as u64,
                PduLen::Invalid => false,
            };
            return if is_cut && whole >= 2 { Verdict::Chain(whole) } else { Verdict::Other };
        }
        let PduLen::Known(len) = len else { return Verdict::Other };
        match rest.split_at_checked(to_usize(len)) {
            Some((_, tail)) => rest = tail,
            None if len == (rest.len() as u64).saturating_add(missing) || whole > 0 => {
                return Verdict::Chain(whole.saturating_add(1));
            }
            None => return Verdict::Head(len),
        }
        whole.grow(1);
    }
    // Without the packet's end, one PDU alone is no proof.
    if whole >= 2 || (whole == 1 && missing == 0) { Verdict::Chain(whole) } else { Verdict::Other }
}
