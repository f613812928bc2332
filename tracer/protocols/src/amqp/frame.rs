//! Frames (AMQP 0-9-1 §2.3.5, §4.2.3), and the header with which a client opens a connection (§4.2.2).
//!
//! ```text
//! "AMQP" | 0 | 0 | 9 | 1                                  the opening header
//!
//! type u8 | channel u16 | size u32 | payload | 0xCE        a frame; `size` counts the payload
//! 1 method      class u16 | method u16 | arguments
//! 2 header      class u16 | weight u16 = 0 | body size u64 | property flags u16 | properties
//! 3 body        bytes of the message
//! 8 heartbeat   nothing, on channel 0
//! ```

use super::method::{BASIC, Method};
use crate::{PduLen, Reader};

/// The header that a client sends first.
pub(super) const OPENING: &[u8] = b"AMQP\0\0\x09\x01";
/// The octet after every frame.
const FRAME_END: u8 = 0xCE;
/// Bytes before a frame's payload.
pub(super) const HEADER_BYTES: usize = 7;
/// Bytes of a frame that are not payload.
pub(super) const FRAMING_BYTES: u64 = 8;
/// A larger frame is considered invalid. Brokers and clients agree on 128 KiB or a little more.
const PLAUSIBLE_BYTES: u32 = 64 << 20;
/// The shortest content header: no properties.
const SHORTEST_HEADER: u32 = 14;

/// The content of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    Method,
    Header,
    Body,
    Heartbeat,
}

/// The start of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AmqpFrameHeader {
    pub kind: FrameKind,
    pub channel: u16,
    /// Bytes of the payload.
    pub size: u32,
}

impl AmqpFrameHeader {
    /// Reads the header at the front of `head`.
    ///
    /// # Errors
    /// [`PduLen::Need`] if there are too few bytes, [`PduLen::Invalid`] if no frame starts here.
    #[inline]
    pub fn read(head: &[u8]) -> Result<AmqpFrameHeader, PduLen> {
        const NEED: PduLen = PduLen::Need(HEADER_BYTES);
        let mut reader = Reader::new(head);
        let kind = match reader.u8().ok_or(NEED)? {
            1 => FrameKind::Method,
            2 => FrameKind::Header,
            3 => FrameKind::Body,
            8 => FrameKind::Heartbeat,
            _ => return Err(PduLen::Invalid),
        };
        let channel = reader.u16_be().ok_or(NEED)?;
        let size = reader.u32_be().ok_or(NEED)?;
        let fits = match kind {
            FrameKind::Method => size >= 4,
            FrameKind::Header => size >= SHORTEST_HEADER && channel != 0,
            FrameKind::Body => channel != 0,
            FrameKind::Heartbeat => size == 0 && channel == 0,
        };
        if !fits || size > PLAUSIBLE_BYTES {
            return Err(PduLen::Invalid);
        }
        Ok(AmqpFrameHeader { kind, channel, size })
    }

    /// Bytes of the whole frame.
    pub fn frame_len(self) -> u64 {
        u64::from(self.size).saturating_add(FRAMING_BYTES)
    }

    /// The captured bytes of the payload of the frame at the front of `bytes`.
    pub fn payload(self, bytes: &[u8]) -> &[u8] {
        let rest = bytes.get(HEADER_BYTES..).unwrap_or_default();
        usize::try_from(self.size).ok().and_then(|size| rest.get(..size)).unwrap_or(rest)
    }

    /// Tells whether the octet after the payload is the right one; `None` if it was not captured.
    pub fn ends_well(self, bytes: &[u8]) -> Option<bool> {
        let end = usize::try_from(self.size).ok()?.checked_add(HEADER_BYTES)?;
        bytes.get(end).map(|end| *end == FRAME_END)
    }
}

/// The length of the frame, or opening header, at the front of `head`.
pub(super) fn pdu_len(head: &[u8]) -> PduLen {
    if head.first() == OPENING.first() {
        let len = OPENING.len();
        return match head.get(..len) {
            Some(head) if head == OPENING => PduLen::Known(len as u64),
            None if OPENING.starts_with(head) => PduLen::Need(len),
            _ => PduLen::Invalid,
        };
    }
    match AmqpFrameHeader::read(head) {
        Ok(header) if header.ends_well(head) == Some(false) => PduLen::Invalid,
        Ok(header) => PduLen::Known(header.frame_len()),
        Err(why) => why,
    }
}

/// The header of the frame at the front of `head`, if its payload, as far as it was captured, is that of such a frame.
pub(super) fn strict(head: &[u8]) -> Option<AmqpFrameHeader> {
    let header = AmqpFrameHeader::read(head).ok()?;
    let mut payload = Reader::new(header.payload(head));
    let fits = match header.kind {
        FrameKind::Method => match (payload.u16_be(), payload.u16_be()) {
            (Some(class), Some(id)) => Method::of(class, id)
                .is_some_and(|method| (header.channel == 0) == method.is_of_connection()),
            _ => false,
        },
        FrameKind::Header => {
            payload.u16_be() == Some(BASIC) && payload.u16_be().is_none_or(|weight| weight == 0)
        }
        FrameKind::Body => header.size > 0,
        FrameKind::Heartbeat => true,
    };
    (fits && header.ends_well(head) != Some(false)).then_some(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, channel: u16, payload: &[u8]) -> Vec<u8> {
        let size = u32::try_from(payload.len()).unwrap();
        [&[kind][..], &channel.to_be_bytes(), &size.to_be_bytes(), payload, &[FRAME_END]].concat()
    }

    #[test]
    fn frames_are_measured_and_cut_at_every_byte() {
        let ack = frame(1, 3, &[0, 60, 0, 80, 0, 0, 0, 0, 0, 0, 0, 9, 0]);
        let heartbeat = frame(8, 0, b"");
        for bytes in [OPENING, &ack, &heartbeat, &frame(3, 1, b"body")] {
            assert_eq!(pdu_len(bytes), PduLen::Known(bytes.len() as u64), "{bytes:?}");
            for cut in 0..bytes.len() {
                match pdu_len(&bytes[..cut]) {
                    PduLen::Need(need) => assert!(need > cut),
                    known => assert_eq!(known, PduLen::Known(bytes.len() as u64)),
                }
            }
        }
    }

    #[test]
    fn a_wrong_end_or_head_is_no_frame() {
        let mut body = frame(3, 1, b"body");
        *body.last_mut().unwrap() = 0;
        assert_eq!(pdu_len(&body), PduLen::Invalid);
        for wrong in [
            frame(4, 1, b"body"),
            frame(3, 0, b"body"),
            frame(8, 1, b""),
            frame(8, 0, b"x"),
            frame(1, 1, b"abc"),
            frame(2, 1, &[0; 13]),
            b"AMQP\x03\x01\0\0".to_vec(),
            vec![3, 0, 1, 0xFF, 0, 0, 0],
        ] {
            assert_eq!(pdu_len(&wrong), PduLen::Invalid, "{wrong:?}");
        }
    }

    #[test]
    fn strict_frames_have_a_known_method_on_the_right_channel() {
        assert!(strict(&frame(1, 1, &[0, 60, 0, 40, 0, 0, 0, 1, b'k', 0])).is_some());
        assert!(strict(&frame(1, 0, &[0, 60, 0, 40, 0, 0, 0, 1, b'k', 0])).is_none());
        assert!(strict(&frame(1, 0, &[0, 10, 0, 51])).is_some());
        assert!(strict(&frame(1, 1, &[0, 60, 0, 41, 0])).is_none());
        assert!(strict(&frame(2, 1, &[0, 60, 0, 1, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0])).is_none());
    }
}
