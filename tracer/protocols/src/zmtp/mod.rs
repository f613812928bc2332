//! ZMTP 3.0 and 3.1 over TCP (`ZeroMQ` RFC 23 and 37), and 2.0 (RFC 15) as libzmq still speaks it to
//! old peers.
//!
//! | module | of the specification |
//! |---|---|
//! | `greeting` | the greeting: signature, version, mechanism |
//! | `frame` | the frames that follow: flags and length |
//! | `command` | commands, and the socket types in `READY` |
//! | `message` | messages of several parts: topic, envelope, payload |
//! | `connection` | one conversation |
//!
//! With the mechanisms CURVE and GSSAPI messages are encrypted: their frames are opaque.

mod command;
mod connection;
mod frame;
mod greeting;
mod message;
mod remedies;

use crate::remedies::Remedies;
use crate::{Connection, Look, PduLen, Protocol, Recognition, Sight, Topology};
use frame::Header;
use wirelap_events::Saturate;
use wirelap_events::Transport;

/// ZMTP, as the registry lists it.
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

    /// None is registered: applications choose.
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
        // A length of eight bytes has at least five zeros.
        matches!(head, [2 | 3, 0, 0, 0, 0, 0, ..]) && frame::strict(head).is_some()
    }

    fn sight(&self, _: Transport, head: &[u8]) -> Look {
        sight(head)
    }

    /// Straight, or through a proxy (XSUB and XPUB, ROUTER and DEALER, PULL and PUSH).
    fn topology(&self) -> Topology {
        Topology::Either
    }

    fn connection(&self, _: Transport) -> Box<dyn Connection> {
        Box::new(connection::Zmtp::default())
    }
}

/// So many frames, to the packet's very end, are no coincidence.
const ENOUGH_FRAMES: usize = 4;

/// So many frames are none either, whatever comes after them.
const MANY_FRAMES: usize = 8;

/// Frames somewhere in mid-stream. A frame of a message is little more than its length, so only a
/// command that is known by its name, or many frames in a row, tell for sure.
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

impl Header {
    /// What follows a frame; `None` when its end was not captured.
    fn after<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let len = usize::try_from(self.frame_len()).ok()?;
        bytes.split_at_checked(len).map(|(_, tail)| tail)
    }
}

/// What the frame at the front of `head` tells: little but its length, unless that has eight bytes or it is a command.
fn sight(head: &[u8]) -> Look {
    const COMMAND_BITS: u32 = 40;
    const LONG_BITS: u32 = 30;
    const SHORT_BITS: u32 = 6;
    let header = match Header::read(head) {
        Ok(header) => header,
        Err(PduLen::Need(_)) => return Look::Short,
        Err(_) => return Look::No,
    };
    if header.is_command() && head.len() < header.bytes.saturating_add(8) && header.body >= 8 {
        return Look::Short;
    }
    let Some(header) = frame::strict(head) else { return Look::No };
    let bits = match header.bytes {
        _ if header.is_command() => COMMAND_BITS,
        2 => SHORT_BITS,
        _ => LONG_BITS,
    };
    let sight = Sight::new(header.frame_len(), bits);
    // A message ends some time: bytes that are all the same have no end.
    Look::Pdu(if header.has_more() && header.bytes == 2 { sight.weak() } else { sight })
}
