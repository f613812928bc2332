//! The decoder of one NATS connection.

use super::acks::Acks;
use super::batches::{self, BatchPart};
use super::client_name::client_name;
use super::empty_answers::EmptyAnswers;
use super::headers::OwnHeaders;
use super::jetstream::{self, consumer_of_ack};
use super::line::{ControlLine, MessageLine, NatsOperation};
use super::message::{self, MessageBody, is_strict, is_strict_control};
use super::place;
use super::pulls::Pulls;
use super::replies::Replies;
use super::servers::Servers;
use super::subscriptions::NatsSubscriptions;
use crate::connection::frame_without_data;
use crate::{
    Connection, Encryption, FrameNote, FrameSink, Pdu, PduLen, PutBack, RequestContent, Side,
    tls_record,
};
use std::sync::Arc;
use wirelap_events::{DecodedMessage, Frame, FrameClass, Offset, Size};

/// The decoder of one connection.
#[derive(Debug, Default)]
pub(super) struct NatsConnection {
    /// The state of a connection between servers; empty if an end is a client.
    servers: Servers,
    /// The server, once a message has shown which end it is.
    server: Option<Side>,
    /// True if the conversation was upgraded to TLS.
    is_encrypted: bool,
    /// The client's subscriptions.
    subscriptions: NatsSubscriptions,
    /// The client's open requests for messages.
    pulls: Pulls,
    acks: Acks,
    /// Reply subjects on which the client expects answers.
    replies: Replies,
    /// Reply subjects of empty answers, of all connections.
    empty_answers: Arc<EmptyAnswers>,
}

/// True if the server answers a message with an empty one: a confirmed ack, and a part of a batch before the last one.
fn wants_nothing(message: &MessageLine<'_>, payload: &[u8], part: Option<BatchPart>) -> bool {
    message.reply.is_some()
        && (part == Some(BatchPart::Open) || jetstream::is_confirmed_ack(message, payload))
}

/// The text of an error: it is in single quotes.
fn quoted(args: &[u8]) -> &[u8] {
    let text = args.trim_ascii();
    text.strip_prefix(b"'").and_then(|text| text.strip_suffix(b"'")).unwrap_or(text)
}

impl NatsConnection {
    /// A connection that shares with others what it knows of answers.
    pub fn new(empty_answers: Arc<EmptyAnswers>) -> NatsConnection {
        NatsConnection { empty_answers, ..NatsConnection::default() }
    }

    /// The class of a message of `JetStream` or the server; `None` for a message of the application.
    fn control_class(
        &self,
        kind: NatsOperation,
        message: &MessageLine<'_>,
        parts: &MessageBody<'_>,
        part: Option<BatchPart>,
        can_be_answer: bool,
    ) -> Option<FrameClass> {
        if let Some(class) = jetstream::class_of_subject(message.subject) {
            return Some(class);
        }
        if batches::is_fast(message.subject) {
            return Some(FrameClass::Ack);
        }
        if part == Some(BatchPart::Control) {
            return Some(FrameClass::Other);
        }
        let header = match kind {
            NatsOperation::Deliver { header } => header,
            NatsOperation::Forward => message.header > 0,
            _ => return None,
        };
        if header && parts.payload_len == 0 {
            return jetstream::class_of_status(parts.header);
        }
        if parts.payload_len == 0 && self.servers.are_both() {
            return self.empty_answers.has(message.subject).then_some(FrameClass::Ack);
        }
        if header || !can_be_answer {
            return None;
        }
        if parts.payload_len == 0 {
            return self.replies.expects_nothing(message.subject).then_some(FrameClass::Ack);
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
                if let Some(sid) = NatsSubscriptions::sid(line) {
                    out.subscribes(sid);
                }
                self.subscriptions.subscribe(line);
            }
            "-ERR" => out.note(FrameNote::Refuses(quoted(line.args))),
            "UNSUB" if self.subscriptions.unsubscribe(line) => {
                out.note(FrameNote::Unsubscribes(side));
            }
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
                    out.note(FrameNote::Line(consumer));
                    out.permits_more(room.message(), room.full_with());
                }
                if jetstream::is_refusal_of(message.subject, parts.payload) {
                    out.puts_back(1, PutBack::Refused);
                }
                if let Some((consumer, ask)) = self.pulls.published(message, parts.payload) {
                    out.note(FrameNote::Line(consumer));
                    out.note(FrameNote::Asks(ask));
                }
            }
            (true, Some(FrameClass::Other)) => {
                if let Some(consumer) = self.pulls.ended(message.subject) {
                    out.note(FrameNote::Line(consumer));
                    out.note(FrameNote::Answers);
                }
            }
            (true, None) => {
                if let Some(reply) = message.reply
                    && let Some(consumer) = consumer_of_ack(reply)
                {
                    let is_answered = self.pulls.delivered(consumer);
                    let delivered = self.acks.delivered(consumer, reply, end);
                    out.note(FrameNote::Line(consumer));
                    if is_answered {
                        out.note(FrameNote::Answers);
                    }
                    // The older values of a key are removed for newer ones.
                    if delivered.between > 0 && !message.subject.starts_with(b"$KV.") {
                        out.note(FrameNote::FollowsAfter(delivered.between));
                    }
                    out.puts_back(delivered.is_unanswered.into(), PutBack::NotInTime);
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
        let Some((mut message, parts)) = parts else {
            out.frame(&frame_without_data(pdu.range, name, FrameClass::Opaque));
            return out.note(FrameNote::UnreadMessages(1));
        };
        message.subject = jetstream::stored_subject(message.subject);
        if let Some(sid) = message.sid
            && self.subscriptions.delivered(sid)
            && let Some(server) = self.server
        {
            out.note(FrameNote::Unsubscribes(server.other()));
        }
        let inbox = |subject| jetstream::inbox_number(subject).filter(|_| !is_between);
        if let Some(number) = inbox(message.subject) {
            // That nobody is there to answer is no answer.
            let is_reply = !jetstream::is_unanswered(parts.header);
            let reply = FrameNote::Reply { number, extent: pdu.range };
            out.note(if is_reply { reply } else { FrameNote::NoReply(number) });
        }
        let is_expected = message.sid.is_some() && self.replies.expects(message.subject);
        let can_be_answer = is_expected || jetstream::is_inbox(message.subject);
        let headers = OwnHeaders::read(parts.header);
        let part = BatchPart::of(message.reply, &headers);
        let class = self.control_class(line.verb.kind, &message, &parts, part, can_be_answer);
        // The answer to one request can be many stored messages.
        let retained = can_be_answer && headers.is_stored();
        let answered =
            if is_expected && !retained { self.replies.answered(message.subject) } else { None };
        if class == Some(FrameClass::Ack)
            && parts.payload_len > 0
            && let Some(publish) = answered
        {
            out.note(FrameNote::GivesPlaces {
                first: publish,
                count: 1,
                place: place::of_publish(parts.payload),
            });
            if let Some(why) = jetstream::refusal(parts.payload) {
                out.note(FrameNote::Refuses(why));
            }
        }
        let is_own = message.sid.is_none() && !is_between;
        // Of a fast batch the server answers few messages, and with its own subjects.
        let asks = message.reply.filter(|reply| !batches::is_fast(reply));
        let given = asks.filter(|reply| is_own && !reply.starts_with(b"$"));
        let gets_nothing = wants_nothing(&message, parts.payload, part);
        if let Some(reply) = asks.filter(|_| gets_nothing && message.sid.is_none()) {
            self.empty_answers.note(reply);
        }
        let publish = given.map(|reply| self.replies.given(reply, gets_nothing));
        if !is_between {
            self.permit((&message, pdu.range.end), &parts, class, out);
        }
        if let Some(class) = class {
            return out.frame(&frame_without_data(pdu.range, name, class));
        }
        if let Some(number) = asks.and_then(inbox) {
            // A server hands it on with the same reply subject.
            let content = RequestContent { whole: number.max(1), body: 0 };
            out.note(FrameNote::Request { number, extent: pdu.range, content });
        }
        if let Some(publish) = publish.filter(|_| !gets_nothing) {
            out.note(FrameNote::AwaitsPlace(publish));
        }
        if message.sid.is_some() && !retained {
            place::tell(&message, parts.payload_len, &headers, out);
        }
        let payload_len = parts.payload_len as u64;
        if let Some(sid) = message.sid {
            out.reader_group(self.subscriptions.group_of(sid));
            out.subscription(sid);
        }
        if let Some(subject) = message.deliver_to {
            out.subscription(subject);
        }
        out.trace_context(|| parts.trace_context());
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
                retained,
            }),
        });
    }
}

impl Connection for NatsConnection {
    fn held_bytes(&self) -> Size {
        let permissions = self.pulls.held_bytes() + self.acks.held_bytes();
        self.subscriptions.held_bytes() + permissions + self.replies.held_bytes()
    }

    fn pdu_len(&self, _: Side, head: &[u8]) -> PduLen {
        match ControlLine::read(head) {
            Ok(line) => line.pdu_len().map_or(PduLen::Invalid, PduLen::Known),
            Err(PduLen::Invalid) => {
                tls_record::record(head).map_or(PduLen::Invalid, |(_, len)| len)
            }
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
            self.is_encrypted |= tls_record::record(pdu.bytes).is_some();
            return out.frame(&frame_without_data(pdu.range, "record", FrameClass::Opaque));
        };
        match line.verb.kind {
            NatsOperation::Publish { .. } => self.server = Some(side.other()),
            NatsOperation::Deliver { .. } => self.server = Some(side),
            _ => {}
        }
        self.servers.note(&line);
        match line.verb.kind {
            NatsOperation::Publish { .. }
            | NatsOperation::Deliver { .. }
            | NatsOperation::Forward => {
                self.message(&line, pdu, out);
            }
            NatsOperation::Control(class) | NatsOperation::Internal(class) => {
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
        self.pulls.forget();
        self.acks.forget();
    }
}
