//! RTPS over TCP as Fast DDS sends it: each RTPS message is behind a header of its own, and messages of the transport itself are between
//! them (eProsima Fast DDS 2 and 3, `rtps/transport/tcp/RTCPHeader.h` and `RTCPMessageManager.cpp`).
//!
//! ```text
//! 0...............7...............15..............23..............31
//! +---------------+---------------+---------------+---------------+
//! |      'R'      |      'T'      |      'C'      |      'P'      |
//! +---------------+---------------+---------------+---------------+
//! |          length, this header included (little-endian)         |
//! +---------------+---------------+---------------+---------------+
//! |                     CRC-32; 0: none                           |
//! +---------------+---------------+---------------+---------------+
//! | logical port (little-endian)  |  an RTPS message; with port 0 a message of the transport
//! +---------------+---------------+--- …
//! ```

use super::connection::RtpsConnection;
use super::message::{HEADER_BYTES, recognise as recognise_rtps};
use crate::connection::frame_without_data;
use crate::{
    Connection, FrameSink, Pdu, PduLen, PduSignature, Reader, Recognition, Side, SignatureMatch,
};
use wirelap_events::{ByteRange, FrameClass, Size};

/// Bytes of the header.
const TCP_HEADER_BYTES: usize = 14;

const MAGIC: [u8; 4] = *b"RTCP";

/// The longest message that is believed: Fast DDS sends at most 64 KiB, and a transport's `maxMessageSize` may be more.
const MAX_LEN: u32 = 16 << 20;

/// The header before a message.
#[derive(Clone, Copy, Debug)]
struct TcpHeader {
    len: u32,
    /// 0 for messages of the transport.
    port: u16,
}

impl TcpHeader {
    /// `None` if the bytes are no header, or too few.
    fn read(head: &[u8]) -> Option<TcpHeader> {
        let mut reader = Reader::new(head);
        if reader.array::<4>()? != MAGIC {
            return None;
        }
        let len = reader.u32_le()?;
        reader.skip(4)?;
        let port = reader.u16_le()?;
        let shortest = if port == 0 { 0 } else { HEADER_BYTES };
        let shortest = u32::try_from(TCP_HEADER_BYTES.saturating_add(shortest)).ok()?;
        (shortest..=MAX_LEN).contains(&len).then_some(TcpHeader { len, port })
    }
}

/// True if a connection begins with a header.
pub(super) fn recognise(head: &[u8]) -> Recognition {
    match head.first_chunk() {
        Some(&MAGIC) if head.len() < TCP_HEADER_BYTES => Recognition::NeedMore,
        Some(&MAGIC) if TcpHeader::read(head).is_some() => Recognition::Yes,
        None if MAGIC.starts_with(head) => Recognition::NeedMore,
        _ => Recognition::No,
    }
}

/// True if a message begins here in a stream.
pub(super) fn match_signature(head: &[u8]) -> SignatureMatch {
    const WITH_RTPS: u32 = 64;
    const ALONE: u32 = 32;
    match recognise(head) {
        Recognition::No => return SignatureMatch::No,
        Recognition::NeedMore => return SignatureMatch::Short,
        Recognition::Yes | Recognition::Maybe => {}
    }
    let Some(header) = TcpHeader::read(head) else { return SignatureMatch::No };
    let behind = head.get(TCP_HEADER_BYTES..).unwrap_or_default();
    let bits = match recognise_rtps(behind) {
        _ if header.port == 0 => ALONE,
        Recognition::Yes => WITH_RTPS,
        Recognition::NeedMore => return SignatureMatch::Short,
        Recognition::No | Recognition::Maybe => return SignatureMatch::No,
    };
    SignatureMatch::Pdu(PduSignature::new(header.len.into(), bits))
}

/// Decodes the messages of one TCP connection.
#[derive(Debug)]
pub(super) struct TcpRtpsConnection {
    messages: RtpsConnection,
}

impl TcpRtpsConnection {
    pub fn new(messages: RtpsConnection) -> TcpRtpsConnection {
        TcpRtpsConnection { messages }
    }
}

impl Connection for TcpRtpsConnection {
    fn held_bytes(&self) -> Size {
        self.messages.held_bytes()
    }

    fn pdu_len(&self, _side: Side, head: &[u8]) -> PduLen {
        if head.len() < TCP_HEADER_BYTES {
            return if MAGIC.starts_with(head) || head.starts_with(&MAGIC) {
                PduLen::Need(TCP_HEADER_BYTES)
            } else {
                PduLen::Invalid
            };
        }
        TcpHeader::read(head).map_or(PduLen::Invalid, |header| PduLen::Known(header.len.into()))
    }

    fn pdu(&mut self, side: Side, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        let whole = pdu.range;
        let message = pdu.bytes.get(TCP_HEADER_BYTES..);
        let header = TcpHeader::read(pdu.bytes);
        let (Some(message), Some(header)) = (message, header) else {
            return out.frame(&frame_without_data(whole, "RTCP", FrameClass::Opaque));
        };
        if header.port == 0 {
            // Its requests and answers open ports, and ask whether the other end is there.
            return out.frame(&frame_without_data(whole, "RTCP", FrameClass::Session));
        }
        let own = ByteRange::new(whole.start, TCP_HEADER_BYTES as u64);
        out.frame(&frame_without_data(own, "RTCP", FrameClass::Other));
        let range = ByteRange { start: own.end, end: whole.end };
        self.messages.pdu(side, Pdu { range, bytes: message }, out);
    }

    fn gap(&mut self, side: Side) {
        self.messages.gap(side);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameNote;
    use std::sync::Arc;
    use wirelap_events::Frame;

    fn message(port: u16, inside: &[u8]) -> Vec<u8> {
        let len = u32::try_from(TCP_HEADER_BYTES + inside.len()).unwrap().to_le_bytes();
        [&MAGIC[..], &len, &[0; 4], &port.to_le_bytes(), inside].concat()
    }

    #[test]
    fn a_header_is_recognised_by_its_magic_and_what_it_precedes() {
        let rtps = [&b"RTPS\x02\x03\x01\x0f"[..], &[7; 12]].concat();
        let whole = message(7410, &rtps);
        assert_eq!(recognise(&whole), Recognition::Yes);
        assert_eq!(recognise(&message(0, &[0xd1; 20])), Recognition::Yes);
        for cut in 0..TCP_HEADER_BYTES {
            assert_eq!(recognise(&whole[..cut]), Recognition::NeedMore, "{cut}");
        }
        let SignatureMatch::Pdu(signature) = match_signature(&whole) else { panic!() };
        assert_eq!((signature.len, signature.bits), (34, 64));
        assert_eq!(match_signature(&whole[..16]), SignatureMatch::Short);
        // RTSP, an RTCP without what it says, a length that cannot be.
        for other in [&b"RTSP/1.0 200 OK"[..], &message(7410, &[7; 40]), &message(7410, &[])] {
            assert_eq!(match_signature(other), SignatureMatch::No);
        }
        let mut long = whole;
        long[7] = 0xff;
        assert_eq!(recognise(&long), Recognition::No);
    }

    /// Frames of a stream: their names, and the bytes of those with data.
    #[derive(Default)]
    struct Frames(Vec<(&'static str, u64, u64)>);

    impl FrameSink for Frames {
        fn frame(&mut self, frame: &Frame<'_>) {
            self.0.push((frame.name, frame.range.start.0, frame.range.len()));
        }

        fn note(&mut self, _note: FrameNote<'_>) {}
    }

    #[test]
    fn a_message_in_a_stream_is_what_it_is_in_a_datagram() {
        let data = [&[0, 0, 16, 0][..], &[0; 4], &[0, 0, 2, 3], &[0, 0, 0, 0, 1, 0, 0, 0]].concat();
        let data = [&data[..], &[0, 1, 0, 0], &[7; 12]].concat();
        let len = u16::try_from(data.len()).unwrap().to_le_bytes();
        let rtps = [&b"RTPS\x02\x03\x01\x0f"[..], &[7; 12], &[0x15, 5], &len, &data].concat();
        let control = message(0, &[0xd1; 20]);
        let whole = message(7410, &rtps);
        let mut connection = TcpRtpsConnection::new(RtpsConnection::new(Arc::default()));
        let mut frames = Frames::default();
        let mut at = 0;
        for bytes in [&control, &whole, &whole] {
            let PduLen::Known(len) = connection.pdu_len(Side::A, bytes) else { panic!() };
            assert_eq!(len, bytes.len() as u64);
            let range = ByteRange::new(wirelap_events::Offset(at), len);
            connection.pdu(Side::A, Pdu { range, bytes }, &mut frames);
            at += len;
        }
        let names: Vec<_> = frames.0.iter().map(|(name, ..)| *name).collect();
        assert_eq!(names, ["RTCP", "RTCP", "RTPS", "DATA", "RTCP", "RTPS", "DATA"]);
        // They cover the stream without gaps.
        let mut next = 0;
        for (_, start, len) in frames.0 {
            assert_eq!(start, next);
            next += len;
        }
        assert_eq!(next, at);
    }
}
