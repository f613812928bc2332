//! Check of whether a frame starts with some bytes, in a direction that was joined late or has a gap.
//!
//! Two bytes of header are too little: the payload has to start like a PDU of the carried protocol, or frames have to follow
//! each other up to the end of a packet, whatever is in them. Where a compressed text refers to bytes that were not captured,
//! nothing is known of it: then a whole frame is asked for.

use super::frame::{WebSocketHeader, unmask};
use super::layer::{Carried, WebSocket};
use super::{handshake, inflate};
use crate::{PduLen, Protocol, Side, SignatureMatch, registry};
use wirelap_events::Transport;

/// Bytes of a payload that are looked at to see whether a PDU starts there.
const PEEKED: usize = 256;

/// So many frames in a row need no further proof.
const MANY_FRAMES: usize = 8;

impl WebSocket {
    /// True if a frame starts with `head`, as far as its payload or the frames after it show that.
    pub(super) fn has_frame(&self, side: Side, head: &[u8]) -> bool {
        self.has_start(Some(side), head)
            || (self.may_send(side, head) && WebSocketHeader::read(head).is_ok() && chains(head))
    }

    /// True if `side` masks its frames as the one that starts with `head`, as far as is known: clients do, and servers do not.
    fn may_send(&self, side: Side, head: &[u8]) -> bool {
        let is_masked = head.get(1).is_some_and(|second| second & 0x80 != 0);
        self.client.is_none_or(|client| is_masked == (side == client))
    }

    /// True if a PDU of the carried protocol starts in a frame that starts with `head`.
    pub(super) fn has_start(&self, side: Option<Side>, head: &[u8]) -> bool {
        if handshake::may_start(head) {
            return matches!(handshake::len(head), PduLen::Known(_))
                && handshake::read(head).is_some();
        }
        let Ok(header) = WebSocketHeader::read(head) else { return false };
        if side.is_some_and(|side| !self.may_send(side, head)) {
            return false;
        }
        if header.control().is_some() {
            return side.is_some();
        }
        // Some send the header by itself: a packet of nothing else is a guess until the frame's end.
        if head.len() == header.bytes && header.payload > 0 {
            return side.is_some() && header.opcode != 0 && header.is_final;
        }
        let mut peeked = [0; PEEKED];
        let payload = head.get(header.bytes..).unwrap_or_default();
        let len = usize::try_from(header.payload).unwrap_or(PEEKED).min(payload.len()).min(PEEKED);
        let Some((peeked, payload)) = peeked.get_mut(..len).zip(payload.get(..len)) else {
            return false;
        };
        peeked.copy_from_slice(payload);
        unmask(header.key.unwrap_or_default(), 0, peeked);
        if header.opcode == 0 || (header.is_compressed && !header.is_final) {
            return false;
        }
        let mut text = [0; PEEKED];
        let peeked = if header.is_compressed {
            let is_whole = header.frame_len() <= head.len() as u64;
            match self.peek_inflated(side, peeked, &mut text) {
                Some(text) => text,
                // Nothing is known of a text that refers to others. A whole frame that can be one is taken to be one.
                None => return is_whole && may_be_compressed(side, peeked),
            }
        } else {
            &*peeked
        };
        match (&self.carried, side) {
            (Some(carried), Some(side)) => carried.starts_pdu(side, peeked, header.payload),
            (Some(carried), None) => carried.connection.stands_out(peeked),
            (None, Some(_)) => {
                any(|one| {
                    matches!(one.match_signature(Transport::Tcp, peeked),
                    SignatureMatch::Pdu(sight) if sight.len <= header.payload || header.is_compressed)
                }) || is_message(peeked, header.payload)
            }
            (None, None) => any(|one| one.stands_out(peeked)),
        }
    }

    /// True if `head` starts with a long frame in which a PDU starts. The length of such a frame has eight bytes, of which the
    /// first three are zero: with a PDU behind it, that is no coincidence.
    pub(super) fn is_long(&self, side: Side, head: &[u8]) -> bool {
        let is_long =
            |header: WebSocketHeader| header.payload > u16::MAX.into() && head.len() > header.bytes;
        WebSocketHeader::read(head).is_ok_and(is_long) && self.has_start(Some(side), head)
    }

    /// True if `head` starts with a frame whose payload, which is not compressed, starts like a PDU.
    pub(super) fn has_message(&self, side: Side, head: &[u8]) -> bool {
        let has_payload =
            |header: WebSocketHeader| head.len() > header.bytes && !header.is_compressed;
        WebSocketHeader::read(head)
            .is_ok_and(|header| header.control().is_none() && has_payload(header))
            && self.has_start(Some(side), head)
    }

    /// The first bytes of the text of a compressed message, if it refers to nothing before it.
    fn peek_inflated<'t>(
        &self,
        side: Option<Side>,
        packed: &[u8],
        text: &'t mut [u8],
    ) -> Option<&'t [u8]> {
        let side = side?;
        packed.first().filter(|first| inflate::may_start(**first))?;
        let len = inflate::peek(packed, text)?;
        let text = text.get(..len).filter(|text| !text.is_empty())?;
        let is_start = match &self.carried {
            Some(carried) => carried.connection.resync(side, text),
            None => any(|one| {
                matches!(one.match_signature(Transport::Tcp, text), SignatureMatch::Pdu(_))
            }),
        };
        is_start.then_some(text)
    }
}

/// True if frames that are not compressed follow each other from the first of `bytes` up to the last one. The last frame may go
/// on after them, if a whole one is before it. All have a mask or none has, and the parts of a message follow each other
/// (RFC 6455 §5.4). A frame without payload shows little, and none is sent in place of data.
fn chains(bytes: &[u8]) -> bool {
    let (mut rest, mut frames, mut is_open) = (bytes, 0_usize, false);
    let mut is_masked = None;
    while !rest.is_empty() && frames < MANY_FRAMES {
        let header = match WebSocketHeader::read(rest) {
            Ok(header) => header,
            Err(why) => return frames > 0 && why != PduLen::Invalid,
        };
        let is_control = header.control().is_some();
        let continues = header.opcode == 0;
        let is_strange = (!is_control && (header.payload == 0 || continues != is_open))
            || header.is_compressed
            || is_masked.is_some_and(|is_masked| is_masked != header.key.is_some());
        if is_strange {
            return false;
        }
        is_masked = Some(header.key.is_some());
        is_open = if is_control { is_open } else { !header.is_final };
        let len = usize::try_from(header.frame_len()).unwrap_or(usize::MAX);
        let Some(tail) = rest.get(len..) else { return frames > 0 };
        (rest, frames) = (tail, frames.saturating_add(1));
    }
    frames > 0
}

impl Carried {
    /// True if a PDU starts with `peeked`, the first bytes of a message of `len` bytes.
    fn starts_pdu(&self, side: Side, peeked: &[u8], len: u64) -> bool {
        let Some(len) = u16::try_from(len).ok().filter(|_| self.omits_length) else {
            return !self.omits_length && self.connection.resync(side, peeked);
        };
        self.connection.resync(side, &[&len.to_le_bytes()[..], peeked].concat())
    }
}

/// True if `peeked`, the first bytes of a message of `len` bytes, are a PDU of a protocol of which each message is one.
fn is_message(peeked: &[u8], len: u64) -> bool {
    let is_whole = peeked.len() as u64 == len;
    let mut protocols = registry().iter().filter(|one| one.omits_length_over_websocket());
    is_whole
        && protocols.any(|one| {
            matches!(one.match_signature(Transport::Udp, peeked), SignatureMatch::Pdu(_))
        })
}

/// True if a compressed message may start with this payload, of which the text is not known.
fn may_be_compressed(side: Option<Side>, payload: &[u8]) -> bool {
    const SHORTEST: usize = 3;
    let starts = payload.first().is_some_and(|first| inflate::may_start(*first));
    side.is_some() && starts && payload.len() >= SHORTEST
}

fn any(is: impl Fn(&dyn Protocol) -> bool) -> bool {
    registry().iter().any(|one| one.transports().contains(&Transport::Tcp) && is(*one))
}
