//! The decoder of one NATS connection.

use super::acks::Acks;
use super::client_name::client_name;
use super::jetstream::{self, consumer_of_ack};
use super::line::{ControlLine, MessageLine, NatsOperation};
use super::message::{self, MessageBody, is_strict, is_strict_control};
use super::place;
use super::pulls::Pulls;
use super::replies::Replies;
use super::servers::Servers;
use super::subscriptions::NatsSubscriptions;
use crate::connection::frame_without_data;
use crate::{Connection, Encryption, FrameNote, FrameSink, Pdu, PduLen, Reader, Side};
use wirelap_events::{DecodedMessage, Frame, FrameClass, Offset, Size, SmallCount};

/// The decoder of one connection.
#[derive(Debug, Default)]
pub(super) struct NatsConnection {
    /// The state of a connection between servers; empty if an end is a client.
    servers: Servers,
    /// The server, once a message has shown which end it is.
    server: Option<Side>,
    /// True if the conversation was upgraded to TLS.
    is_encrypted: bool,
    /// Number of confirmed acks that wait for their empty answer.
    confirmed_acks: SmallCount,
    /// The client's subscriptions.
    subscriptions: NatsSubscriptions,
    /// The client's open requests for messages.
    pulls: Pulls,
    acks: Acks,
    /// Reply subjects on which the client expects answers.
    replies: Replies,
}

/// The text of an error: it is in single quotes.
fn quoted(args: &[u8]) -> &[u8] {
    let text = args.trim_ascii();
    text.strip_prefix(b"'").and_then(|text| text.strip_suffix(b"'")).unwrap_or(text)
}

impl NatsConnection {
    /// The class of a message of `JetStream` or the server; `None` for a message of the application.
    fn control_class(
        &mut self,
        kind: NatsOperation,
        message: &MessageLine<'_>,
        parts: &MessageBody<'_>,
        can_be_answer: bool,
    ) -> Option<FrameClass> {
        if let Some(class) = jetstream::class_of_subject(message.subject) {
            let asks = matches!(kind, NatsOperation::Publish { .. })
                && jetstream::is_confirmed_ack(message, parts.payload);
            self.confirmed_acks += u32::from(asks);
            return Some(class);
        }
        let header = match kind {
            NatsOperation::Deliver { header } => header,
            NatsOperation::Forward => message.header > 0,
            _ => return None,
        };
        if header && parts.payload_len == 0 {
            return jetstream::class_of_status(parts.header);
        }
        if header || !can_be_answer {
            return None;
        }
        if parts.payload_len == 0 {
            self.confirmed_acks = SmallCount(self.confirmed_acks.0.checked_sub(1)?);
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
                if let Some((consumer, ask)) = self.pulls.published(message, parts.payload) {
                    out.note(FrameNote::Line(consumer));
                    out.note(FrameNote::Asks(ask));
                }
            }
            (true, Some(FrameClass::Other)) => self.pulls.ended(message.subject),
            (true, None) => {
                if let Some(reply) = message.reply
                    && let Some(consumer) = consumer_of_ack(reply)
                {
                    self.pulls.delivered(consumer);
                    let between = self.acks.delivered(consumer, reply, end);
                    out.note(FrameNote::Line(consumer));
                    // The older values of a key are removed for newer ones.
                    if between > 0 && !message.subject.starts_with(b"$KV.") {
                        out.note(FrameNote::FollowsAfter(between));
                    }
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
            out.note(FrameNote::Unsubscribes(server.other()));
        }
        let inbox = |subject| jetstream::inbox_number(subject).filter(|_| !is_between);
        if let Some(number) = inbox(message.subject) {
            out.note(FrameNote::Reply { number, extent: pdu.range });
        }
        let is_expected = message.sid.is_some() && self.replies.expects(message.subject);
        let can_be_answer = is_expected || jetstream::is_inbox(message.subject);
        let class = self.control_class(line.verb.kind, &message, &parts, can_be_answer);
        // The answer to one request can be many stored messages.
        let retained = can_be_answer && jetstream::is_stored(parts.header);
        let answered =
            if is_expected && !retained { self.replies.answered(message.subject) } else { None };
        if class == Some(FrameClass::Ack)
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
        let asks = message
            .reply
            .filter(|reply| message.sid.is_none() && !is_between && !reply.starts_with(b"$"));
        let publish = asks.map(|reply| self.replies.given(reply));
        if !is_between {
            self.permit((&message, pdu.range.end), &parts, class, out);
        }
        if let Some(class) = class {
            return out.frame(&frame_without_data(pdu.range, name, class));
        }
        if let Some(number) = message.reply.and_then(inbox) {
            // A server hands it on with the same reply subject.
            out.note(FrameNote::Request { number, extent: pdu.range, content: number.max(1) });
        }
        if let Some(publish) = publish {
            out.note(FrameNote::AwaitsPlace(publish));
        }
        if message.sid.is_some() && !retained {
            place::tell(&message, &parts, out);
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
                retained,
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
    fn held_bytes(&self) -> Size {
        let permissions = self.pulls.held_bytes() + self.acks.held_bytes();
        self.subscriptions.held_bytes() + permissions + self.replies.held_bytes()
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
        self.confirmed_acks = SmallCount(0);
        self.pulls.forget();
        self.acks.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameNote;
    use crate::stream::Stream;

    /// The class of each message with its verb, and whether it is retained.
    #[derive(Default)]
    struct Classes(Vec<(&'static str, FrameClass, bool)>);

    impl FrameSink for Classes {
        fn frame(&mut self, frame: &Frame<'_>) {
            let retained = frame.data.as_ref().is_some_and(|data| data.retained);
            self.0.push((frame.name, frame.class, retained));
        }

        fn note(&mut self, _note: FrameNote<'_>) {}
    }

    /// The frames of a conversation in which the client (A) and the server (B) say this in turn.
    fn frames(said: &[(Side, &str)]) -> Vec<(&'static str, FrameClass, bool)> {
        let mut connection = NatsConnection::default();
        let mut streams = [Side::A, Side::B].map(|side| (Stream::new(side, false), Offset::START));
        let mut classes = Classes::default();
        for (side, text) in said {
            let (stream, at) = &mut streams[*side as usize];
            stream.feed(*at, text.as_bytes(), 0, &mut connection, &mut classes);
            *at = at.plus(text.len() as u64);
        }
        classes.0
    }

    const INFO: (Side, &str) = (Side::B, "INFO {\"server_id\":\"N\"}\r\n");
    const CONNECT: (Side, &str) = (Side::A, "CONNECT {\"verbose\":false}\r\n");

    /// The classes of what comes to `me.box.a` after a client has published `first`.
    fn answers(first: &str, come: &[&str]) -> Vec<(FrameClass, bool)> {
        let mut said = vec![INFO, CONNECT, (Side::A, "SUB me.box.* 1\r\n"), (Side::A, first)];
        said.extend(come.iter().map(|text| (Side::B, *text)));
        frames(&said).into_iter().skip(4).map(|(_, class, retained)| (class, retained)).collect()
    }

    #[test]
    fn the_ack_of_a_publish_is_an_answer_whatever_its_subject() {
        let ack = "MSG me.box.a 1 23\r\n{\"stream\":\"ST\",\"seq\":1}\r\n";
        let publish = "PUB orders me.box.a 2\r\nhi\r\n";
        let (once, data) = ((FrameClass::Ack, false), (FrameClass::Data, false));
        assert_eq!(answers(publish, &[ack, ack]), [once, data], "one answer is expected");
        let twice = [publish, publish].concat();
        assert_eq!(answers(&twice, &[ack, ack])[1..], [once, once]);
        let other = "PUB orders me.box.b 2\r\nhi\r\n";
        assert_eq!(answers(other, &[ack]), [data], "nobody has given this subject");
        let reply = "MSG me.box.a 1 2\r\nhi\r\n";
        assert_eq!(answers(publish, &[reply]), [data], "an application's reply");
    }

    #[test]
    fn other_answers_of_jetstream_are_known_by_the_reply_subject() {
        let api = "MSG me.box.a 1 50\r\n{\"type\":\"io.nats.jetstream.api.v1.x_response\"    }\r\n";
        let create = "PUB $JS.API.STREAM.CREATE.S me.box.a 2\r\n{}\r\n";
        assert_eq!(answers(create, &[api]), [(FrameClass::Other, false)]);
        let confirmed = "PUB $JS.ACK.S.C.1.2.3.4.5 me.box.a 4\r\n+ACK\r\n";
        let empty = "MSG me.box.a 1 0\r\n\r\n";
        assert_eq!(answers(confirmed, &[empty]), [(FrameClass::Ack, false)]);
        let get = "PUB $JS.API.DIRECT.GET.S me.box.a 12\r\n{\"batch\": 2}\r\n";
        let stored =
            "HMSG me.box.a 1 46 48\r\nNATS/1.0\r\nNats-Stream: S\r\nNats-Sequence: 7\r\n\r\nhi\r\n";
        let all = answers(get, &[stored, stored]);
        assert!(all.iter().all(|found| *found == (FrameClass::Data, true)), "{all:?}");
    }
}
