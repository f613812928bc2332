//! The decoder of one NATS connection.

use super::acks::Acks;
use super::client_name::client_name;
use super::jetstream::{self, consumer_of_ack};
use super::line::{ControlLine, MessageLine, Operation};
use super::message::{self, MessageBody, is_strict, is_strict_control};
use super::pulls::Pulls;
use super::servers::Servers;
use super::subscriptions::Subscriptions;
use crate::connection::frame_without_data;
use crate::{Connection, Encryption, FrameSink, Pdu, PduLen, Reader, Side};
use wirelap_events::{DecodedMessage, Frame, FrameClass, Offset};

/// The decoder of one connection.
#[derive(Debug, Default)]
pub(super) struct NatsConnection {
    /// What is known if both ends are servers.
    servers: Servers,
    /// The server, once a message has shown which end it is.
    server: Option<Side>,
    /// Whether the conversation was upgraded to TLS.
    is_encrypted: bool,
    /// Number of confirmed acks that wait for their empty answer.
    confirmed_acks: u32,
    /// What the client has subscribed to.
    subscriptions: Subscriptions,
    /// What the client has asked for, and what it has not acknowledged.
    pulls: Pulls,
    acks: Acks,
}

impl NatsConnection {
    /// The class of a message of `JetStream` or the server; `None` for a message of the application.
    fn control_class(
        &mut self,
        kind: Operation,
        message: &MessageLine<'_>,
        parts: &MessageBody<'_>,
    ) -> Option<FrameClass> {
        if let Some(class) = jetstream::class_of_subject(message.subject) {
            let asks = matches!(kind, Operation::Publish { .. })
                && jetstream::is_confirmed_ack(message, parts.payload);
            self.confirmed_acks = self.confirmed_acks.saturating_add(u32::from(asks));
            return Some(class);
        }
        let header = match kind {
            Operation::Deliver { header } => header,
            Operation::Forward => message.header > 0,
            _ => return None,
        };
        if header && parts.payload_len == 0 {
            return jetstream::class_of_status(parts.header);
        }
        if header || !jetstream::is_inbox(message.subject) {
            return None;
        }
        if parts.payload_len == 0 {
            self.confirmed_acks = self.confirmed_acks.checked_sub(1)?;
            return Some(FrameClass::Ack);
        }
        jetstream::class_of_answer(parts.payload, parts.payload_len)
    }

    /// Takes in what a client says of itself, and what it subscribes to.
    fn control(&mut self, side: Side, line: &ControlLine<'_>, out: &mut dyn FrameSink) {
        match line.verb.name {
            "CONNECT" if !self.servers.are_both() => {
                out.client(side, &client_name(line.args).unwrap_or_default());
            }
            "SUB" => {
                if let Some(sid) = Subscriptions::sid(line) {
                    out.subscribes(sid);
                }
                self.subscriptions.subscribe(line);
            }
            "UNSUB" if self.subscriptions.unsubscribe(line) => out.unsubscribes(side),
            _ => {}
        }
    }

    /// Takes in what a client asks for and acknowledges, and what comes of it, by a message that ends before `end`.
    fn permit(
        &mut self,
        (message, end): (&MessageLine<'_>, Offset),
        parts: &MessageBody<'_>,
        class: Option<FrameClass>,
        out: &mut dyn FrameSink,
    ) {
        match (message.sid.is_some(), class) {
            (false, Some(FrameClass::Ack | FrameClass::Other)) => {
                if let Some((consumer, room)) = self.acks.published(message.subject, parts.payload)
                {
                    out.line(consumer);
                    out.makes_room(room.message(), room.full_with());
                }
                if let Some((consumer, ask)) = self.pulls.published(message, parts.payload) {
                    out.line(consumer);
                    out.asks(ask);
                }
            }
            (true, Some(FrameClass::Other)) => self.pulls.ended(message.subject),
            (true, None) => {
                if let Some(reply) = message.reply
                    && let Some(consumer) = consumer_of_ack(reply)
                {
                    self.pulls.delivered(consumer);
                    self.acks.delivered(consumer, reply, end);
                    out.line(consumer);
                }
            }
            _ => {}
        }
    }

    fn message(&mut self, line: &ControlLine<'_>, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        let name = line.verb.name;
        let is_between = self.servers.are_both();
        let message = if is_between { self.servers.read(line) } else { MessageLine::read(line) };
        let parts = message
            .and_then(|message| Some((message, MessageBody::read(line, &message, pdu.bytes)?)));
        let Some((message, parts)) = parts else {
            return out.frame(&frame_without_data(pdu.range, name, FrameClass::Opaque));
        };
        if let Some(sid) = message.sid
            && self.subscriptions.delivered(sid)
            && let Some(server) = self.server
        {
            out.unsubscribes(server.other());
        }
        let inbox = |subject| jetstream::inbox_number(subject).filter(|_| !is_between);
        if let Some(number) = inbox(message.subject) {
            out.replies(number, pdu.range);
        }
        let class = self.control_class(line.verb.kind, &message, &parts);
        if !is_between {
            self.permit((&message, pdu.range.end), &parts, class, out);
        }
        if let Some(class) = class {
            return out.frame(&frame_without_data(pdu.range, name, class));
        }
        if let Some(number) = message.reply.and_then(inbox) {
            out.requests(number, pdu.range);
        }
        let payload_len = parts.payload_len as u64;
        if let Some(sid) = message.sid {
            out.reader_group(self.subscriptions.group_of(sid));
            out.subscription(sid);
        }
        if let Some(subject) = message.deliver_to {
            out.subscription(subject);
        }
        out.frame(&Frame {
            range: pdu.range,
            name,
            class: FrameClass::Data,
            payload_bytes: payload_len,
            data: Some(DecodedMessage {
                extent: pdu.range,
                topic: message.subject,
                payload_len,
                payload: parts.payload,
                key: None,
                duplicate: message.reply.is_some_and(jetstream::is_redelivered),
                retained: jetstream::is_inbox(message.subject)
                    && jetstream::is_stored(parts.header),
            }),
        });
    }
}

/// A TLS record (RFC 8446 §5.1): type 20 to 23, version 3.x, a length.
fn tls_record(head: &[u8]) -> Option<PduLen> {
    let mut reader = Reader::new(head);
    if !(20..=23).contains(&reader.u8()?) {
        return None;
    }
    let Some(version) = reader.u8() else { return Some(PduLen::Need(5)) };
    (version == 3).then_some(())?;
    let len = reader.u8().and_then(|_| reader.u16_be());
    Some(len.map_or(PduLen::Need(5), |len| PduLen::Known(5 + u64::from(len))))
}

impl Connection for NatsConnection {
    fn held_bytes(&self) -> usize {
        let permissions = self.pulls.held_bytes().saturating_add(self.acks.held_bytes());
        self.subscriptions.held_bytes().saturating_add(permissions)
    }

    fn pdu_len(&self, _: Side, head: &[u8]) -> PduLen {
        match ControlLine::read(head) {
            Ok(line) => line.pdu_len().map_or(PduLen::Invalid, PduLen::Known),
            Err(PduLen::Invalid) => tls_record(head).unwrap_or(PduLen::Invalid),
            Err(why) => why,
        }
    }

    fn resync(&self, _: Side, head: &[u8]) -> bool {
        ControlLine::read(head).is_ok_and(|line| is_strict(&line, head))
    }

    fn stands_out(&self, head: &[u8]) -> bool {
        message::stands_out(head)
    }

    fn encryption(&self) -> Option<Encryption> {
        self.is_encrypted.then_some(Encryption::Tls)
    }

    fn server(&self) -> Option<Side> {
        self.server.filter(|_| !self.servers.are_both())
    }

    fn joins_servers(&self) -> bool {
        self.servers.are_both()
    }

    fn pdu(&mut self, side: Side, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        let Ok(line) = ControlLine::read(pdu.bytes) else {
            self.is_encrypted |= tls_record(pdu.bytes).is_some();
            return out.frame(&frame_without_data(pdu.range, "record", FrameClass::Opaque));
        };
        match line.verb.kind {
            Operation::Publish { .. } => self.server = Some(side.other()),
            Operation::Deliver { .. } => self.server = Some(side),
            _ => {}
        }
        self.servers.note(&line);
        match line.verb.kind {
            Operation::Publish { .. } | Operation::Deliver { .. } | Operation::Forward => {
                self.message(&line, pdu, out);
            }
            Operation::Control(class) | Operation::Internal(class) => {
                let is_strict = is_strict_control(&line);
                if is_strict {
                    self.control(side, &line, out);
                }
                let class = if is_strict { class } else { FrameClass::Opaque };
                out.frame(&frame_without_data(pdu.range, line.verb.name, class));
            }
        }
    }

    fn gap(&mut self, _: Side) {
        self.confirmed_acks = 0;
        self.pulls.forget();
        self.acks.forget();
    }
}
