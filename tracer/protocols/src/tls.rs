//! Records of TLS (RFC 8446 §5.1, RFC 5246 §6.2.1) whose text is not read.
//!
//! Each record of application data is a message that one socket sends and another one reads. It may hold several messages
//! of the protocol inside, or a part of one, and nothing in it says what becomes of it at a broker. Records of TLS 1.3 do
//! not tell the end of the handshake: those of the server before the client's first one, and that one, are taken for it, and
//! a server's tickets for application data.
//!
//! Nothing is recognised as this: a port is named with `--decode PORT=tls`.

use crate::connection::frame_without_data;
use crate::foreign::tls_hello;
use crate::tls_record::{
    ALERT, APPLICATION_DATA, CHANGE_CIPHER_SPEC, HANDSHAKE, HEADER, HEARTBEAT, record, strict_len,
};
use crate::{Connection, FrameSink, MessageRouting, Pdu, PduLen, Protocol, Recognition, Side};
use wirelap_events::{DecodedMessage, Frame, FrameClass, Transport};

/// TLS of which no text is read.
#[derive(Debug)]
pub struct TlsRecords;

/// The registry's entry.
pub static PROTOCOL: TlsRecords = TlsRecords;

const CLIENT_HELLO: u8 = 1;

impl Protocol for TlsRecords {
    fn name(&self) -> &'static str {
        "tls"
    }

    fn transports(&self) -> &'static [Transport] {
        &[Transport::Tcp]
    }

    fn ports(&self, _: Transport) -> &'static [u16] {
        &[]
    }

    fn recognise(&self, _: Transport, _: &[u8], _at_start: bool) -> Recognition {
        Recognition::No
    }

    fn topology(&self) -> MessageRouting {
        MessageRouting::PeerToPeer
    }

    fn is_encryption(&self) -> bool {
        true
    }

    fn connection(&self, _: Transport) -> Box<dyn Connection> {
        Box::new(TlsConnection::default())
    }
}

/// The end of the handshake of one conversation, as far as it is seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Handshake {
    /// The handshake was not seen, or its records say what they are.
    #[default]
    Plain,
    /// Its records look like application data until the client has sent one.
    Hidden,
}

/// The decoder of one conversation.
#[derive(Default)]
struct TlsConnection {
    client: Option<Side>,
    handshake: Handshake,
}

impl TlsConnection {
    /// Learns from a hello.
    fn hello(&mut self, side: Side, record: &[u8]) {
        let Some(hello) = tls_hello(record) else { return };
        let is_client = record.get(HEADER) == Some(&CLIENT_HELLO);
        self.client = Some(if is_client { side } else { side.other() });
        if hello.version == Some("1.3") {
            self.handshake = Handshake::Hidden;
        }
    }

    /// True if a record that looks like application data is of the handshake.
    fn is_of_handshake(&mut self, side: Side) -> bool {
        let is_hidden = self.handshake == Handshake::Hidden;
        if is_hidden && self.client == Some(side) {
            self.handshake = Handshake::Plain;
        }
        is_hidden
    }
}

impl Connection for TlsConnection {
    fn pdu_len(&self, _: Side, head: &[u8]) -> PduLen {
        if head.is_empty() {
            return PduLen::Need(HEADER);
        }
        record(head).map_or(PduLen::Invalid, |(_, len)| len)
    }

    fn resync(&self, _: Side, head: &[u8]) -> bool {
        strict_len(head).is_some()
    }

    fn server(&self) -> Option<Side> {
        self.client.map(Side::other)
    }

    fn pdu(&mut self, side: Side, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        let kind = pdu.bytes.first().copied().unwrap_or_default();
        let (name, class) = match kind {
            CHANGE_CIPHER_SPEC => ("ChangeCipherSpec", FrameClass::Session),
            ALERT => ("Alert", FrameClass::Session),
            HANDSHAKE => ("Handshake", FrameClass::Session),
            APPLICATION_DATA if self.is_of_handshake(side) => ("Handshake", FrameClass::Session),
            APPLICATION_DATA => ("ApplicationData", FrameClass::Data),
            HEARTBEAT => ("Heartbeat", FrameClass::KeepAlive),
            _ => ("Record", FrameClass::Opaque),
        };
        if kind == HANDSHAKE {
            self.hello(side, pdu.bytes);
        }
        if class != FrameClass::Data {
            return out.frame(&frame_without_data(pdu.range, name, class));
        }
        let payload_len = pdu.range.len().saturating_sub(HEADER as u64);
        out.frame(&Frame {
            range: pdu.range,
            name,
            class,
            payload_bytes: payload_len,
            data: Some(DecodedMessage {
                extent: pdu.range,
                topic: &[],
                payload_len,
                payload: pdu.bytes.get(HEADER..).unwrap_or_default(),
                key: None,
                duplicate: false,
                retained: false,
            }),
        });
    }

    fn gap(&mut self, _: Side) {}
}

#[cfg(test)]
mod tests;
