//! The decoder of one ZMTP connection.

use super::command::{self, SocketType};
use super::exchanges::Exchanges;
use super::frame::{self, ZmtpFrameHeader};
use super::greeting::{self, Greeting};
use super::message::{MessagePart, MessagePattern, MultipartAssembly};
use crate::connection::frame_without_data;
use crate::{Connection, Encryption, FrameNote, FrameSink, Pdu, PduLen, Side};
use wirelap_events::{ByteRange, Frame, FrameClass};

/// The decoder of one connection.
#[derive(Debug, Default)]
pub(super) struct ZmtpConnection {
    /// True if messages are encrypted.
    is_secure: bool,
    /// The type of each side's socket.
    sockets: [Option<SocketType>; 2],
    messages: [MultipartAssembly; 2],
    exchanges: Exchanges,
}

impl ZmtpConnection {
    fn greeting(&mut self, side: Side, greeting: &[u8], out: &mut dyn FrameSink) {
        match Greeting::read(greeting) {
            Some(Greeting::Three { is_secure }) => self.is_secure |= is_secure,
            Some(Greeting::Two { socket, identity }) => {
                self.sockets[side as usize] = socket;
                out.client(side, identity);
            }
            None => {}
        }
    }

    fn command(&mut self, side: Side, body: &[u8], range: ByteRange, out: &mut dyn FrameSink) {
        let (name, class, rest) = command::read(body);
        if name == "READY" && !self.is_secure {
            self.sockets[side as usize] = SocketType::from_properties(rest);
            out.client(side, command::identity(rest));
        }
        out.frame(&frame_without_data(range, name, class));
        if name == "MESSAGE" {
            self.is_secure = true;
            out.note(FrameNote::Encrypted(1));
        }
    }

    fn message(&mut self, side: Side, part: MessagePart<'_>, out: &mut dyn FrameSink) {
        let name = if part.has_more { "message-more" } else { "message-last" };
        let is_joined = self.sockets == [None; 2];
        self.is_secure |= is_joined && command::is_encrypted(part.body);
        if self.is_secure {
            out.frame(&frame_without_data(part.range, name, FrameClass::Opaque));
            // True if it is only a part of a message is encrypted, too.
            return out.note(FrameNote::Encrypted(1));
        }
        let sender = self.sockets[side as usize];
        let receiver = self.sockets[side.other() as usize];
        let [one, other] = &mut self.messages;
        let (assembly, other) = if side == Side::A { (one, &*other) } else { (other, &*one) };
        let subscribes = match (sender, receiver) {
            (Some(socket), _) => socket == SocketType::Subscriber,
            (None, Some(socket)) => socket == SocketType::Publisher,
            (None, None) => !assembly.has_sent() && other.begins_with(part.body.get(1..)),
        };
        if assembly.is_between()
            && subscribes
            && let Some(name) = subscription(&part)
        {
            return out.frame(&frame_without_data(part.range, name, FrameClass::Subscribe));
        }
        let (range, is_addressed) = (part.range, assembly.is_addressed());
        let (payload_bytes, data) = assembly.part(MessagePattern::of(sender, receiver), part);
        if let Some(message) = &data {
            self.exchanges.message((side, self.sockets), is_addressed, message.extent, out);
        }
        out.frame(&Frame { range, name, class: FrameClass::Data, payload_bytes, data });
    }
}

/// The name of a subscription. Up to version 3.0, a subscription is a message: 1 or 0, then the prefix of the messages to
/// receive (RFC 23, "The Publish-Subscribe Pattern"). If the types of the sockets are not known, it is one from a socket that has sent nothing
/// else, if the other one's message begins with its prefix.
fn subscription(part: &MessagePart<'_>) -> Option<&'static str> {
    match part.body.first() {
        Some(1) if !part.has_more => Some("SUBSCRIBE"),
        Some(0) if !part.has_more => Some("CANCEL"),
        _ => None,
    }
}

impl Connection for ZmtpConnection {
    fn pdu_len(&self, _: Side, head: &[u8]) -> PduLen {
        if greeting::starts_with(head) {
            return greeting::pdu_len(head);
        }
        ZmtpFrameHeader::read(head)
            .map_or_else(|why| why, |header| PduLen::Known(header.frame_len()))
    }

    fn resync(&self, _: Side, head: &[u8]) -> bool {
        frame::is_strict(head)
    }

    fn encryption(&self) -> Option<Encryption> {
        self.is_secure.then_some(Encryption::Own)
    }

    fn stands_out(&self, head: &[u8]) -> bool {
        frame::stands_out(head)
    }

    fn pdu(&mut self, side: Side, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        let range = pdu.range;
        if greeting::starts_with(pdu.bytes) {
            self.greeting(side, pdu.bytes, out);
            return out.frame(&frame_without_data(range, "greeting", FrameClass::Session));
        }
        let Ok(header) = ZmtpFrameHeader::read(pdu.bytes) else {
            return out.frame(&frame_without_data(range, "frame", FrameClass::Opaque));
        };
        let body = pdu.bytes.get(header.bytes..).unwrap_or_default();
        if header.is_command() {
            return self.command(side, body, range, out);
        }
        let part = MessagePart { range, body, len: header.body, has_more: header.has_more() };
        self.message(side, part, out);
    }

    /// Only PUB, XPUB and RADIO send a message to several receivers (RFC 29); the others choose one receiver per message.
    fn makes_copies(&self, from: Side) -> bool {
        match (self.sockets[from as usize], self.sockets[from.other() as usize]) {
            (Some(sender), _) => sender == SocketType::Publisher,
            (None, Some(receiver)) => receiver == SocketType::Subscriber,
            (None, None) => true,
        }
    }

    fn gap(&mut self, side: Side) {
        self.messages[side as usize].gap();
        self.exchanges.gap();
    }
}
