//! The NATS client protocol over TCP (docs.nats.io, Reference, "NATS Protocols": Client, Cluster,
//! Leafnode).
//!
//! | module | contents |
//! |---|---|
//! | `line` | the control line that starts every operation, and its arguments |
//! | `message` | whether an operation and its payload are valid |
//! | `jetstream` | which subjects and messages are `JetStream`'s own rather than the application's |
//! | `headers` | the headers that are `JetStream`'s |
//! | `client_name` | the name in `CONNECT` |
//! | `subscriptions` | the queue group of each subscription |
//! | `pulls` | what a client asks consumers for |
//! | `place` | the places of messages in streams |
//! | `replies` | the reply subjects that expect an answer |
//! | `empty_answers` | those to which servers answer with nothing |
//! | `batches` | messages that are published together |
//! | `acks` | what consumers have not acknowledged |
//! | `servers` | the line of a message between servers |
//! | `connection` | the decoder of one connection |
//!
//! After the upgrade to TLS, each TLS record is an opaque frame.

mod acks;
mod batches;
mod client_name;
mod connection;
mod empty_answers;
mod headers;
mod jetstream;
mod line;
mod message;
mod place;
mod pulls;
mod remedies;
mod replies;
mod servers;
mod subscriptions;
#[cfg(test)]
mod tests;

use crate::remedies::Remedies;
use crate::{
    Connection, Memory, MessageRouting, PduLen, PduSignature, Protocol, Recognition, SignatureMatch,
};
use empty_answers::EmptyAnswers;
use line::{ControlLine, NatsOperation};
use wirelap_events::{FrameClass, Transport};

/// The protocol NATS.
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
        message::stands_out(head)
    }

    fn routed_topic<'a>(&self, topic: &'a [u8]) -> Option<&'a [u8]> {
        Some(topic)
    }

    fn match_signature(&self, _: Transport, head: &[u8]) -> SignatureMatch {
        match_signature(head)
    }

    fn hears_unsubscriptions(&self) -> bool {
        true
    }

    fn topology(&self) -> MessageRouting {
        MessageRouting::Brokered
    }

    fn memory(&self) -> Memory {
        Memory::of(EmptyAnswers::default())
    }

    fn connection(&self, _: Transport) -> Box<dyn Connection> {
        Box::new(connection::NatsConnection::default())
    }

    fn connection_with(&self, _: Transport, memory: &Memory) -> Box<dyn Connection> {
        let empty_answers = memory.get::<EmptyAnswers>().unwrap_or_default();
        Box::new(connection::NatsConnection::new(empty_answers))
    }
}

/// Tells whether `head` is what an end sends first: `INFO` from the server, then `CONNECT` from the client, each with a JSON
/// object.
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

/// Tells whether `head` is operations in mid-stream. The control line of a message has enough structure to be distinguished from
/// other protocols; short lines could be Redis's `PING`.
fn middle(head: &[u8]) -> Recognition {
    let mut rest = head;
    let mut found = Recognition::Maybe;
    while !rest.is_empty() {
        let line = match ControlLine::read(rest) {
            Ok(line) => line,
            Err(PduLen::Need(_)) if rest.len() == head.len() => return Recognition::NeedMore,
            Err(PduLen::Need(_)) => return found,
            Err(_) => return Recognition::No,
        };
        if !message::is_strict(&line, rest) {
            return Recognition::No;
        }
        if !matches!(
            line.verb.kind,
            NatsOperation::Control(FrameClass::KeepAlive | FrameClass::Ack)
        ) {
            found = Recognition::Yes;
        }
        let len = usize::try_from(line.pdu_len().unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
        rest = rest.split_at_checked(len).map_or(&[], |(_, tail)| tail);
    }
    if head.is_empty() { Recognition::NeedMore } else { found }
}

/// Tells whether an operation starts with `head`. The evidence is the fixed characters of its line.
fn match_signature(head: &[u8]) -> SignatureMatch {
    const MESSAGE_BITS: u32 = 36;
    const LINE_BITS: u32 = 28;
    const WORD_BITS: u32 = 12;
    let line = match ControlLine::read(head) {
        Ok(line) => line,
        Err(PduLen::Need(_)) if head.len() < LONGEST_SIGNATURE => return SignatureMatch::Short,
        Err(_) => return SignatureMatch::No,
    };
    let Some(len) = line.pdu_len().filter(|_| message::is_strict(&line, head)) else {
        return SignatureMatch::No;
    };
    SignatureMatch::Pdu(match line.verb.kind {
        NatsOperation::Publish { .. } | NatsOperation::Deliver { .. } | NatsOperation::Forward => {
            PduSignature::new(len, MESSAGE_BITS)
        }
        // Redis has `PING` and `+OK`, too.
        NatsOperation::Control(FrameClass::KeepAlive | FrameClass::Ack) => {
            PduSignature::new(len, WORD_BITS).weak()
        }
        NatsOperation::Control(_) | NatsOperation::Internal(_) => PduSignature::new(len, LINE_BITS),
    })
}

/// After this many bytes without the end of a line, no operation is recognised.
const LONGEST_SIGNATURE: usize = 4096;
