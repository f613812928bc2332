//! The framing of the plain TCP and UDP workloads.
//!
//! ```text
//! TCP: +-----------------------+------------------------------+
//!      | u32 length, BE        | payload, starts with a Stamp |   length counts the payload only
//!      +-----------------------+------------------------------+
//! UDP: one datagram is one payload
//! ```

use crate::{
    Connection, FrameSink, MessageRouting, Pdu, PduLen, PduSignature, Protocol, Reader,
    Recognition, Side, SignatureMatch,
};
use wirelap_events::stamp::STAMP_BYTES;
use wirelap_events::{DecodedMessage, Frame, FrameClass, Stamp, Transport};

/// The workloads' length-prefixed messages over TCP.
#[derive(Debug)]
pub struct PlainTcp;

/// The workloads' datagrams.
#[derive(Debug)]
pub struct PlainUdp;

/// The registry's entry for `tcp`.
pub static TCP: PlainTcp = PlainTcp;

/// The registry's entry for `udp`.
pub static UDP: PlainUdp = PlainUdp;

const LENGTH_BYTES: usize = 4;

impl Protocol for PlainTcp {
    fn name(&self) -> &'static str {
        "tcp"
    }

    fn transports(&self) -> &'static [Transport] {
        &[Transport::Tcp]
    }

    fn ports(&self, _: Transport) -> &'static [u16] {
        &[]
    }

    fn recognise(&self, _: Transport, head: &[u8], _at_start: bool) -> Recognition {
        let mut reader = Reader::new(head);
        match reader.u32_be() {
            None => Recognition::NeedMore,
            Some(len) if (len as usize) < STAMP_BYTES => Recognition::No,
            Some(_) => recognise_stamp(reader.peek_rest()),
        }
    }

    fn stands_out(&self, head: &[u8]) -> bool {
        head.first() == Some(&0) && self.recognise(Transport::Tcp, head, false) == Recognition::Yes
    }

    fn match_signature(&self, transport: Transport, head: &[u8]) -> SignatureMatch {
        const BITS: u32 = 44;
        let len = Reader::new(head).u32_be().map_or(0, u64::from);
        match self.recognise(transport, head, false) {
            Recognition::NeedMore => SignatureMatch::Short,
            Recognition::Yes => SignatureMatch::Pdu(PduSignature::new(
                len.saturating_add(LENGTH_BYTES as u64),
                BITS,
            )),
            Recognition::No | Recognition::Maybe => SignatureMatch::No,
        }
    }

    fn topology(&self) -> MessageRouting {
        MessageRouting::PeerToPeer
    }

    fn connection(&self, _: Transport) -> Box<dyn Connection> {
        Box::new(PlainConnection { length_bytes: LENGTH_BYTES, name: "MESSAGE" })
    }
}

impl Protocol for PlainUdp {
    fn name(&self) -> &'static str {
        "udp"
    }

    fn transports(&self) -> &'static [Transport] {
        &[Transport::Udp]
    }

    fn ports(&self, _: Transport) -> &'static [u16] {
        &[]
    }

    fn recognise(&self, _: Transport, head: &[u8], _at_start: bool) -> Recognition {
        match recognise_stamp(head) {
            // No further bytes belong to a datagram.
            Recognition::NeedMore => Recognition::No,
            found => found,
        }
    }

    fn topology(&self) -> MessageRouting {
        MessageRouting::PeerToPeer
    }

    fn connection(&self, _: Transport) -> Box<dyn Connection> {
        Box::new(PlainConnection { length_bytes: 0, name: "DATAGRAM" })
    }
}

fn recognise_stamp(payload: &[u8]) -> Recognition {
    let magic = Stamp { stream: 0, seq: 0, reply: false, warmup: false }.encode();
    match (Stamp::decode(payload), magic.iter().zip(payload).take(3).all(|(a, b)| a == b)) {
        (Some(_), _) => Recognition::Yes,
        (None, true) if payload.len() < STAMP_BYTES => Recognition::NeedMore,
        _ => Recognition::No,
    }
}

/// The decoder of both framings, which has no state: there are `length_bytes` bytes before the payload.
struct PlainConnection {
    length_bytes: usize,
    name: &'static str,
}

impl Connection for PlainConnection {
    fn pdu_len(&self, _: Side, head: &[u8]) -> PduLen {
        match Reader::new(head).u32_be() {
            None => PduLen::Need(LENGTH_BYTES),
            Some(len) if (len as usize) < STAMP_BYTES => PduLen::Invalid,
            Some(len) => PduLen::Known(u64::from(len).saturating_add(LENGTH_BYTES as u64)),
        }
    }

    fn resync(&self, _: Side, head: &[u8]) -> bool {
        TCP.recognise(Transport::Tcp, head, false) == Recognition::Yes
    }

    fn stands_out(&self, head: &[u8]) -> bool {
        TCP.stands_out(head)
    }

    fn pdu(&mut self, _: Side, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        let payload = pdu.bytes.get(self.length_bytes..).unwrap_or_default();
        let payload_len = pdu.range.len().saturating_sub(self.length_bytes as u64);
        out.frame(&Frame {
            range: pdu.range,
            name: self.name,
            class: FrameClass::Data,
            payload_bytes: payload_len,
            data: Some(DecodedMessage {
                extent: pdu.range,
                topic: &[],
                payload_len,
                payload,
                key: None,
                duplicate: false,
                retained: false,
            }),
        });
    }

    fn gap(&mut self, _: Side) {}
}
