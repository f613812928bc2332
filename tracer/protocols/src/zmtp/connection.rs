//! One ZMTP connection.

use super::command::{self, Socket};
use super::frame::{self, Header};
use super::greeting::{self, Greeting};
use super::message::{Assembly, Part, Pattern};
use crate::{Connection, FrameSink, Pdu, PduLen, Protocol, Side};
use wirelap_events::{ByteRange, Class, Frame};

/// The decoder of one connection.
#[derive(Debug, Default)]
pub(super) struct Zmtp {
    /// Messages are encrypted.
    is_secure: bool,
    /// By side.
    sockets: [Option<Socket>; 2],
    messages: [Assembly; 2],
}

impl Zmtp {
    fn greeting(&mut self, side: Side, greeting: &[u8]) {
        match Greeting::read(greeting) {
            Some(Greeting::Three { is_secure }) => self.is_secure |= is_secure,
            Some(Greeting::Two(socket)) => self.sockets[side as usize] = socket,
            None => {}
        }
    }

    fn command(&mut self, side: Side, body: &[u8], range: ByteRange, out: &mut dyn FrameSink) {
        let (name, class, rest) = command::read(body);
        if name == "READY" && !self.is_secure {
            self.sockets[side as usize] = Socket::from_properties(rest);
        }
        out.frame(&control(name, class, range));
    }

    fn message(&mut self, side: Side, part: Part<'_>, out: &mut dyn FrameSink) {
        let name = if part.has_more { "message-more" } else { "message-last" };
        let is_joined = self.sockets == [None; 2];
        self.is_secure |= is_joined && command::is_encrypted(part.body);
        if self.is_secure {
            return out.frame(&control(name, Class::Opaque, part.range));
        }
        let sender = self.sockets[side as usize];
        let receiver = self.sockets[1_usize.saturating_sub(side as usize)];
        let assembly = &mut self.messages[side as usize];
        if assembly.is_between()
            && let Some(name) = subscription(sender, receiver, &part)
        {
            return out.frame(&control(name, Class::Subscribe, part.range));
        }
        let range = part.range;
        let (payload_bytes, data) = assembly.part(Pattern::of(sender, receiver), part);
        out.frame(&Frame { range, name, class: Class::Data, payload_bytes, data });
    }
}

/// Up to version 3.0 a subscription is a message: 1 or 0, and the first bytes of what is wanted
/// (RFC 23, "The Publish-Subscribe Pattern").
fn subscription(
    sender: Option<Socket>,
    receiver: Option<Socket>,
    part: &Part<'_>,
) -> Option<&'static str> {
    let subscribes = match sender {
        Some(socket) => socket == Socket::Subscriber,
        None => receiver == Some(Socket::Publisher),
    };
    match part.body.first() {
        Some(1) if subscribes && !part.has_more => Some("SUBSCRIBE"),
        Some(0) if subscribes && !part.has_more => Some("CANCEL"),
        _ => None,
    }
}

fn control(name: &'static str, class: Class, range: ByteRange) -> Frame<'static> {
    Frame { range, name, class, payload_bytes: 0, data: None }
}

impl Connection for Zmtp {
    fn pdu_len(&self, _: Side, head: &[u8]) -> PduLen {
        if greeting::starts_with(head) {
            return greeting::pdu_len(head);
        }
        Header::read(head).map_or_else(|why| why, |header| PduLen::Known(header.frame_len()))
    }

    fn resync(&self, _: Side, head: &[u8]) -> bool {
        frame::is_strict(head)
    }

    fn is_encrypted(&self) -> bool {
        self.is_secure
    }

    fn stands_out(&self, head: &[u8]) -> bool {
        Protocol::stands_out(&super::PROTOCOL, head)
    }

    fn pdu(&mut self, side: Side, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        let range = pdu.range;
        if greeting::starts_with(pdu.bytes) {
            self.greeting(side, pdu.bytes);
            return out.frame(&control("greeting", Class::Session, range));
        }
        let Ok(header) = Header::read(pdu.bytes) else {
            return out.frame(&control("frame", Class::Opaque, range));
        };
        let body = pdu.bytes.get(header.bytes..).unwrap_or_default();
        if header.is_command() {
            return self.command(side, body, range, out);
        }
        let part = Part { range, body, len: header.body, has_more: header.has_more() };
        self.message(side, part, out);
    }

    /// Only PUB, XPUB and RADIO send a message to many (RFC 29); all others choose a receiver for each.
    fn makes_copies(&self, from: Side) -> bool {
        match (self.sockets[from as usize], self.sockets[1_usize.saturating_sub(from as usize)]) {
            (Some(sender), _) => sender == Socket::Publisher,
            (None, Some(receiver)) => receiver == Socket::Subscriber,
            (None, None) => true,
        }
    }

    fn gap(&mut self, side: Side) {
        self.messages[side as usize].gap();
    }
}
