//! The NATS client protocol over TCP (docs.nats.io, Reference, "NATS Protocols": Client, Cluster,
//! Leafnode).
//!
//! | module | of the reference |
//! |---|---|
//! | `line` | the control line that starts every operation, and its arguments |
//! | `jetstream` | which subjects and messages are `JetStream`'s own rather than the application's |
//! | `connection` | one conversation |
//!
//! After the upgrade to TLS its records are followed and opaque.

mod connection;
mod jetstream;
mod line;
mod remedies;

use crate::remedies::Remedies;
use crate::{Connection, Look, PduLen, Protocol, Recognition, Sight, Topology};
use line::{Line, Operation};
use wirelap_events::{Class, Transport};

/// NATS, as the registry lists it.
#[derive(Debug)]
pub struct Nats;

/// The registry's entry.
pub static PROTOCOL: Nats = Nats;

impl Protocol for Nats {
    fn name(&self) -> &'static str {
        "nats"
    }

    fn transports(&self) -> &'static [Transport] {
        &[Transport::Tcp]
    }

    fn ports(&self, _: Transport) -> &'static [u16] {
        &[4222]
    }

    fn remedies(&self) -> &'static Remedies {
        &remedies::REMEDIES
    }

    fn recognise(&self, _: Transport, head: &[u8], at_start: bool) -> Recognition {
        match opening(head) {
            Recognition::No if !at_start => middle(head),
            found => found,
        }
    }

    fn stands_out(&self, head: &[u8]) -> bool {
        let is_message = |line: &Line<'_>| {
            matches!(line.verb.kind, Operation::Publish { .. } | Operation::Deliver { .. })
        };
        Line::read(head).is_ok_and(|line| is_message(&line) && connection::is_strict(&line, head))
    }

    fn sight(&self, _: Transport, head: &[u8]) -> Look {
        sight(head)
    }

    fn topology(&self) -> Topology {
        Topology::Brokered
    }

    fn connection(&self, _: Transport) -> Box<dyn Connection> {
        Box::new(connection::Nats::default())
    }
}

/// What each end sends first: the server `INFO`, which it does before it is asked, then the client
/// `CONNECT`; both with a JSON object.
fn opening(head: &[u8]) -> Recognition {
    for verb in [&b"INFO"[..], b"CONNECT"] {
        let (word, rest) = head.split_at_checked(verb.len()).unwrap_or((head, &[]));
        if !verb.get(..word.len()).is_some_and(|verb| verb.eq_ignore_ascii_case(word)) {
            continue;
        }
        let json = rest.trim_ascii_start();
        return match json.first() {
            None => Recognition::NeedMore,
            Some(b'{') if json.len() < rest.len() => Recognition::Yes,
            Some(_) => Recognition::No,
        };
    }
    Recognition::No
}

/// Operations somewhere in mid-stream. The control line of a message has enough structure to be told
/// from other protocols; the short ones could be Redis's `PING`.
fn middle(head: &[u8]) -> Recognition {
    let mut rest = head;
    let mut found = Recognition::Maybe;
    while !rest.is_empty() {
        let line = match Line::read(rest) {
            Ok(line) => line,
            Err(PduLen::Need(_)) if rest.len() == head.len() => return Recognition::NeedMore,
            Err(PduLen::Need(_)) => return found,
            Err(_) => return Recognition::No,
        };
        if !connection::is_strict(&line, rest) {
            return Recognition::No;
        }
        if !matches!(line.verb.kind, Operation::Control(Class::KeepAlive | Class::Ack)) {
            found = Recognition::Yes;
        }
        let len = usize::try_from(line.pdu_len().unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
        rest = rest.split_at_checked(len).map_or(&[], |(_, tail)| tail);
    }
    if head.is_empty() { Recognition::NeedMore } else { found }
}

/// What the operation at the front of `head` tells: each character of its line but what is free in it.
fn sight(head: &[u8]) -> Look {
    const MESSAGE_BITS: u32 = 36;
    const LINE_BITS: u32 = 28;
    const WORD_BITS: u32 = 12;
    let line = match Line::read(head) {
        Ok(line) => line,
        Err(PduLen::Need(_)) if head.len() < LONGEST_SIGHT => return Look::Short,
        Err(_) => return Look::No,
    };
    let Some(len) = line.pdu_len().filter(|_| connection::is_strict(&line, head)) else {
        return Look::No;
    };
    Look::Pdu(match line.verb.kind {
        Operation::Publish { .. } | Operation::Deliver { .. } | Operation::Forward => {
            Sight::new(len, MESSAGE_BITS)
        }
        // `PING` and `+OK` are Redis's too.
        Operation::Control(Class::KeepAlive | Class::Ack) => Sight::new(len, WORD_BITS).weak(),
        Operation::Control(_) | Operation::Internal(_) => Sight::new(len, LINE_BITS),
    })
}

/// A longer line is not waited for.
const LONGEST_SIGHT: usize = 4096;
