//! One conversation: batches in, frames out.

use super::batch::Batch;
use super::fragments::Fragments;
use super::keys::Keys;
use super::survey;
use super::transport::{Terms, VERSION};
use super::wire::{Cursor, Parsed, id};
use crate::{Connection, FrameSink, Pdu, PduLen, Side};
use wirelap_events::Total;

/// What one end declared and has not finished.
#[derive(Debug, Default)]
pub struct End {
    /// The numbers it uses for key expressions.
    pub keys: Keys,
    /// Its messages in parts.
    pub fragments: Fragments,
    /// It has sent its Open: what follows is as agreed.
    opened: bool,
}

/// A Zenoh conversation.
#[derive(Debug)]
pub struct Session {
    /// Over TCP.
    pub stream: bool,
    ends: [End; 2],
    /// Agreed at the start, if that was seen.
    terms: Option<Terms>,
    scratch: Vec<u8>,
}

fn index(side: Side) -> usize {
    match side {
        Side::A => 0,
        Side::B => 1,
    }
}

impl Session {
    /// A conversation over TCP (`stream`) or UDP.
    pub fn new(stream: bool) -> Session {
        Session { stream, ends: [End::default(), End::default()], terms: None, scratch: Vec::new() }
    }

    /// Bytes of the length that the batch at `head` starts with.
    ///
    /// Low latency has four, except that a side may close as if it had not been agreed: two bytes,
    /// which as the lower half of four would make a message longer than there can be.
    fn prefix(&self, side: Side, head: &[u8]) -> usize {
        let low_latency = self.terms.is_some_and(|terms| terms.low_latency);
        match (self.stream, low_latency && self.ends[index(side)].opened) {
            (false, _) => 0,
            (true, true) if matches!(head, [_, _, 0, 0, ..]) || head.len() < 4 => 4,
            (true, _) => 2,
        }
    }

    /// The sender's end and the receiver's.
    pub fn ends(&mut self, sender: Side) -> (&mut End, &mut End, &mut Vec<u8>) {
        let [a, b] = &mut self.ends;
        match sender {
            Side::A => (a, b, &mut self.scratch),
            Side::B => (b, a, &mut self.scratch),
        }
    }

    /// An INIT was seen: everything starts anew.
    pub fn init(&mut self, ack: bool, terms: Terms) {
        if ack {
            self.terms = Some(terms);
        } else {
            self.terms = None;
        }
        for end in &mut self.ends {
            end.keys.clear();
            end.fragments.begin(ack && terms.markers);
            end.opened = false;
        }
    }

    /// An OPEN was seen.
    pub fn open(&mut self, side: Side, ack: bool) {
        self.ends[index(side)].opened = true;
        if ack {
            self.ends.iter_mut().for_each(|end| end.opened = true);
        }
    }

    /// Whether the batch that follows is compressed; moves over the header that says so.
    ///
    /// The header is one byte, 0 or 1. No message starts like that but an OAM, which is not sent,
    /// and an `InitSyn`, which goes on with the version, as no LZ4 block can. So it is told from a
    /// message even when the start was not seen.
    pub fn is_compressed(&self, at: &mut Cursor<'_>) -> Parsed<bool> {
        let agreed = self.terms.map(|terms| terms.compression);
        let mut next = *at;
        let header = next.u8()?;
        if header > 1 || agreed == Some(false) {
            return Ok(false);
        }
        match (header, next.peek()) {
            (1, Ok(VERSION)) => return Ok(false),
            (0, Ok(first)) if agreed.is_none() && !(3..=7).contains(&id(first)) => {
                return Ok(false);
            }
            _ => {}
        }
        *at = next;
        Ok(header == 1)
    }
}

impl Connection for Session {
    fn held_bytes(&self) -> usize {
        self.ends
            .iter()
            .map(|end| end.keys.held_bytes().saturating_add(end.fragments.held_bytes()))
            .total()
    }

    fn pdu_len(&self, side: Side, head: &[u8]) -> PduLen {
        let prefix = self.prefix(side, head);
        let len = match (prefix, head) {
            (2, &[a, b, ..]) => u32::from(u16::from_le_bytes([a, b])),
            (4, &[a, b, c, d, ..]) => u32::from_le_bytes([a, b, c, d]),
            _ => return PduLen::Need(prefix.max(2)),
        };
        let first = head.get(prefix).copied().map_or(0, id);
        let possible =
            if prefix == 2 { first <= 7 } else { first >= 0x19 || matches!(first, 3 | 4) };
        match len {
            0 => PduLen::Invalid,
            _ if head.len() > prefix && !possible => PduLen::Invalid,
            len => PduLen::Known(u64::from(len).saturating_add(prefix as u64)),
        }
    }

    fn resync(&self, side: Side, head: &[u8]) -> bool {
        if self.prefix(side, head) != 2 {
            return matches!(self.pdu_len(side, head), PduLen::Known(_));
        }
        survey::resync(head, self.terms.is_some_and(|terms| terms.compression))
    }

    fn pdu(&mut self, side: Side, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        let prefix = self.prefix(side, pdu.bytes) as u64;
        Batch::new(self, side, out).read(pdu, prefix);
    }

    fn gap(&mut self, side: Side) {
        self.ends[index(side)].fragments.gap();
    }
}
