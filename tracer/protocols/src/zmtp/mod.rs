//! ZMTP 3.0 and 3.1 over TCP (`ZeroMQ` RFC 23 and 37), and 2.0 (RFC 15), which libzmq still uses with old peers.
//!
//! | module | contents |
//! |---|---|
//! | `greeting` | the greeting: signature, version, mechanism |
//! | `frame` | the frames that follow: flags and length |
//! | `command` | commands, and the socket types in `READY` |
//! | `message` | messages of several parts: topic, envelope, payload |
//! | `exchanges` | requests of REQ sockets, and to REP sockets, and their replies |
//! | `connection` | the decoder of one connection |
//!
//! With the mechanisms CURVE and GSSAPI, messages are encrypted, and their frames are opaque.

mod command;
mod connection;
mod exchanges;
mod frame;
mod greeting;
mod message;
mod remedies;

use crate::remedies::Remedies;
use crate::{
    Connection, MessageRouting, PduLen, PduSignature, Protocol, Recognition, SignatureMatch,
};
use frame::ZmtpFrameHeader;
use wirelap_events::Saturate;
use wirelap_events::Transport;

/// The protocol ZMTP.
#[derive(Debug)]
pub struct Zmtp;

/// The registry's entry.
pub static PROTOCOL: Zmtp = Zmtp;

impl Protocol for Zmtp {
    fn name(&self) -> &'static str {
        "zmtp"
    }

    fn transports(&self) -> &'static [Transport] {
        &[Transport::Tcp]
    }

    /// No port is registered: applications choose their ports.
    fn ports(&self, _: Transport) -> &'static [u16] {
        &[]
    }

    fn remedies(&self) -> &'static Remedies {
        &remedies::REMEDIES
    }

    fn recognise(&self, _: Transport, head: &[u8], at_start: bool) -> Recognition {
        match greeting::recognise(head) {
            Recognition::No if !at_start => middle(head),
            found => found,
        }
    }

    fn stands_out(&self, head: &[u8]) -> bool {
        frame::stands_out(head)
    }

    fn match_signature(&self, _: Transport, head: &[u8]) -> SignatureMatch {
        match_signature(head)
    }

    /// Messages go directly or through a proxy (XSUB and XPUB, ROUTER and DEALER, PULL and PUSH).
    fn topology(&self) -> MessageRouting {
        MessageRouting::Either
    }

    fn connection(&self, _: Transport) -> Box<dyn Connection> {
        Box::new(connection::ZmtpConnection::default())
    }
}

/// This many frames that end exactly with the packet are no coincidence.
const ENOUGH_FRAMES: usize = 4;

/// This many frames are no coincidence, whatever comes after them.
const MANY_FRAMES: usize = 8;

/// Tells whether `head` is frames in mid-stream. A message's frame has little more than a length, so only a known command or many
/// frames in a row are certain.
fn middle(head: &[u8]) -> Recognition {
    let mut rest = head;
    let mut frames = 0;
    while frames < MANY_FRAMES {
        let Some(header) = frame::strict(rest) else { return Recognition::No };
        let Some(tail) = header.after(rest) else { return Recognition::No };
        if header.is_command() {
            return Recognition::Yes;
        }
        frames.grow(1);
        rest = tail;
        match rest {
            [] if frames >= ENOUGH_FRAMES => return Recognition::Yes,
            [] => return Recognition::Maybe,
            _ => {}
        }
    }
    Recognition::Yes
}

impl ZmtpFrameHeader {
    /// The bytes after a frame; `None` if its end was not captured.
    fn after<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let len = usize::try_from(self.frame_len()).ok()?;
        bytes.split_at_checked(len).map(|(_, tail)| tail)
    }
}

/// Tells whether a frame starts with `head`. The evidence is little more than the length, unless the length has eight bytes or the
/// frame is a command.
fn match_signature(head: &[u8]) -> SignatureMatch {
    const COMMAND_BITS: u32 = 40;
    const LONG_BITS: u32 = 30;
    const SHORT_BITS: u32 = 6;
    let header = match ZmtpFrameHeader::read(head) {
        Ok(header) => header,
        Err(PduLen::Need(_)) => return SignatureMatch::Short,
        Err(_) => return SignatureMatch::No,
    };
    if header.is_command() && head.len() < header.bytes.saturating_add(8) && header.body >= 8 {
        return SignatureMatch::Short;
    }
    let Some(header) = frame::strict(head) else { return SignatureMatch::No };
    let bits = match header.bytes {
        _ if header.is_command() => COMMAND_BITS,
        2 => SHORT_BITS,
        _ => LONG_BITS,
    };
    let sight = PduSignature::new(header.frame_len(), bits);
    // Short parts with MORE are weak evidence: a run of equal bytes looks like an endless message.
    SignatureMatch::Pdu(if header.has_more() && header.bytes == 2 { sight.weak() } else { sight })
}
