//! The state of one conversation.

use super::compressed::UnpackBuffer;
use super::fragments::FragmentBuffer;
use super::keys::KeyExprs;
use super::queries::OpenQueries;
use super::transport::{SessionTerms, VERSION, ZenohIntroduction};
use super::wire::{ZenohCursor, ZenohResult, id};
use crate::Side;

/// The state of one side: key expressions and incomplete messages.
#[derive(Debug, Default)]
pub struct ZenohSide {
    /// The key expressions that it has declared.
    pub keys: KeyExprs,
    /// The side's incomplete messages.
    pub fragments: FragmentBuffer,
    /// The side's open queries.
    pub queries: OpenQueries,
    /// The identity that the side claims, if the start was captured.
    pub who: Option<ZenohIntroduction>,
    /// True if the side has sent its Open, after which the negotiated options apply.
    opened: bool,
}

/// A Zenoh conversation.
#[derive(Debug)]
pub struct ZenohSession {
    /// True if the conversation is over TCP.
    pub stream: bool,
    /// The state of each side.
    pub sides: [ZenohSide; 2],
    /// The negotiated options, if the start was captured.
    pub terms: Option<SessionTerms>,
    /// The buffer for decompressed batches.
    pub unpacked: UnpackBuffer,
    scratch: Vec<u8>,
}

/// The index of a side in [`ZenohSession::sides`].
pub fn index(side: Side) -> usize {
    match side {
        Side::A => 0,
        Side::B => 1,
    }
}

impl ZenohSession {
    /// A conversation over TCP (`stream`) or UDP.
    pub fn new(stream: bool) -> ZenohSession {
        ZenohSession {
            stream,
            sides: [ZenohSide::default(), ZenohSide::default()],
            terms: None,
            unpacked: UnpackBuffer::default(),
            scratch: Vec::new(),
        }
    }

    /// Number of bytes of the length at the start of the batch `head`.
    ///
    /// Low-latency sessions have four, but a side may close with a length of two bytes; read as four bytes, this would be
    /// an impossibly long message. No batch begins with two zeros, so that four bytes are recognised even if the start of the
    /// session was not captured.
    pub fn prefix(&self, side: Side, head: &[u8]) -> usize {
        let opened = self.sides[index(side)].opened;
        match (self.stream, self.terms) {
            (false, _) => 0,
            (true, Some(terms)) if terms.low_latency && opened && head.len() < 4 => 4,
            (true, Some(terms)) if !terms.low_latency || !opened => 2,
            (true, _) if matches!(head, [_, _, 0, 0, ..] | [_, _, 0]) => 4,
            (true, _) => 2,
        }
    }

    /// The state of the sender and of the receiver.
    pub fn ends(&mut self, sender: Side) -> (&mut ZenohSide, &mut ZenohSide, &mut Vec<u8>) {
        let [a, b] = &mut self.sides;
        match sender {
            Side::A => (a, b, &mut self.scratch),
            Side::B => (b, a, &mut self.scratch),
        }
    }

    /// Handles an INIT: the session starts anew.
    pub fn init(&mut self, ack: bool, terms: SessionTerms) {
        if ack {
            self.terms = Some(terms);
        } else {
            self.terms = None;
        }
        for end in &mut self.sides {
            end.keys.clear();
            end.queries.clear();
            end.fragments.begin(ack && terms.markers);
            end.opened = false;
        }
    }

    /// Handles an OPEN.
    pub fn open(&mut self, side: Side, ack: bool) {
        self.sides[index(side)].opened = true;
        if ack {
            self.sides.iter_mut().for_each(|end| end.opened = true);
        }
    }

    /// Skips the compression header, if there is one, and returns whether the batch is compressed.
    ///
    /// The header is one byte, 0 or 1. Only two messages start with such a byte: an OAM, which is not sent, and an
    /// `InitSyn`, in which the version follows, which is no valid LZ4 block. So the header is recognised even if the start
    /// of the session was not captured.
    pub fn is_compressed(&self, at: &mut ZenohCursor<'_>) -> ZenohResult<bool> {
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
