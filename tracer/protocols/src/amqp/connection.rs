//! The decoder of one AMQP connection.

use super::client_properties::connection_name;
use super::confirms::Confirms;
use super::consumer;
use super::content::{Continued, OpenContents};
use super::dead_letter::DeadLetter;
use super::frame::{self, AmqpFrameHeader, FrameKind, OPENING};
use super::headers::WayHeaders;
use super::method::{AmqpAcknowledgement, AmqpDelivery, BASIC, Envelope, Method, refusal};
use super::permits::Permits;
use super::queue;
use super::queues::Queues;
use super::recognition;
use super::table;
use super::transactions::Transactions;
use super::unacknowledged::Unacknowledged;
use crate::connection::frame_without_data;
use crate::{
    Connection, Discard, FrameNote, FrameSink, LeftMessages, Pdu, PduLen, Reader, Side, Throttle,
    Withheld,
};
use wirelap_events::{ByteRange, Frame, FrameClass, Size};

/// The decoder of one connection.
#[derive(Debug, Default)]
pub(super) struct AmqpConnection {
    /// The server, once a method has shown which end it is.
    server: Option<Side>,
    /// The messages that each side is sending.
    contents: [OpenContents; 2],
    /// The acknowledgements and requests that the server's deliveries wait for.
    permits: Permits,
    /// Messages that the client has got and not acknowledged.
    unacknowledged: Unacknowledged,
    /// Messages that the client has published in transactions and not committed.
    transactions: Transactions,
    /// Publisher confirms of the server.
    confirms: Confirms,
    /// Queues that were declared.
    queues: Queues,
    /// The server's last word on whether it reads what the client publishes.
    blocked: Blocked,
}

/// State of a server's notice `connection.blocked`, with which it says that it does not read what its client publishes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Blocked {
    #[default]
    No,
    Yes,
    /// The server did not read, and bytes are missing in which it may have said that it reads again.
    Uncertain,
}

impl AmqpConnection {
    /// Ends a block that the server announced before missing bytes, unless it has repeated the notice since.
    fn doubt_blocked(&mut self, side: Side, out: &mut dyn FrameSink) {
        if self.blocked == Blocked::Uncertain && self.server == Some(side) {
            self.blocked = Blocked::No;
            out.note(FrameNote::Throttles(Throttle::Ends));
        }
    }

    fn method(
        &mut self,
        side: Side,
        header: AmqpFrameHeader,
        payload: &[u8],
        range: ByteRange,
        out: &mut dyn FrameSink,
    ) {
        let contents = &mut self.contents[side as usize];
        contents.abort(header.channel);
        let mut reader = Reader::new(payload);
        let numbers = reader.u16_be().zip(reader.u16_be());
        let Some(method) = numbers.and_then(|(class, id)| Method::of(class, id)) else {
            return out.frame(&frame_without_data(range, "method", FrameClass::Opaque));
        };
        self.server = method.server(side).or(self.server);
        if method.is_start_ok() {
            out.client(side, connection_name(reader.peek_rest()).unwrap_or_default());
        }
        let arguments = reader.peek_rest();
        if let Some(server) = self.server {
            self.unacknowledged.take(method, header.channel, arguments, server == side, out);
        }
        if method.answers_get() {
            Permits::answers(header.channel, out);
        }
        if let Some(acknowledgement) = AmqpAcknowledgement::read(method, arguments)
            .filter(|_| self.server == Some(side.other()))
        {
            self.permits.acknowledged(header.channel, acknowledgement, out);
        } else if let Some(acknowledgement) = AmqpAcknowledgement::read(method, arguments) {
            self.confirms.confirm(header.channel, acknowledgement, range, out);
        } else if let Some(delivery) = AmqpDelivery::read(method, arguments) {
            self.permits.delivered(header.channel, delivery, range.end);
        } else if method.is_get() {
            Permits::asks(header.channel, out);
        } else if method.turns_channel() {
            self.permits.end(header.channel);
            self.transactions.end(header.channel, out);
            self.confirms.end(header.channel);
            self.queues.end(header.channel);
        } else if method.is_of_queue() {
            self.queues.take(method, header.channel, arguments, out);
        } else {
            consumer::tell(method, header.channel, arguments, &self.queues, out);
        }
        match method.name {
            "tx.select" => self.transactions.begin(header.channel),
            "tx.commit" => self.transactions.commit(header.channel, out),
            "tx.rollback" => self.transactions.roll_back(header.channel, out),
            "connection.open" => self.queues.open(arguments),
            "connection.close" => self.transactions.end_all(out),
            "basic.return" => out.discards(Discard::Returned),
            "basic.publish" => {
                self.transactions.publish(header.channel, range.start);
                self.confirms.publish(header.channel);
            }
            "confirm.select" => {
                self.confirms.begin(header.channel);
                self.transactions.forget(header.channel);
            }
            "queue.declare" => out.discards(Discard::Beyond(queue::limits(arguments))),
            "connection.blocked" => {
                self.blocked = Blocked::Yes;
                out.note(FrameNote::Throttles(Throttle::Begins));
            }
            "connection.unblocked" => {
                self.blocked = Blocked::No;
                out.note(FrameNote::Throttles(Throttle::Ends));
            }
            // A server cancels a consumer whose queue is gone.
            "basic.cancel" => {
                out.note(FrameNote::Unsubscribes(self.server.map_or(side, Side::other)));
            }
            _ => {}
        }
        if self.server == Some(side) {
            if let Some(why) = refusal(method, arguments) {
                out.note(FrameNote::Refuses(why));
            } else if method.name == "basic.nack" {
                out.note(FrameNote::Refuses(b"basic.nack: the broker did not take a message over"));
            }
        }
        if Envelope::is_before_content(method) {
            let envelope = Envelope::read(method, reader.rest());
            contents.begin(header.channel, range.start, envelope);
        }
        out.frame(&frame_without_data(range, method.name, method.class));
    }

    /// Tells of the message that is complete on a channel what it waits for, or may have waited for, and who gets it.
    fn tell_recipient(&self, side: Side, channel: u16, out: &mut dyn FrameSink) {
        let Some(recipient) = self.contents[side as usize].ends(channel) else { return };
        if let Some(trace) = recipient.trace {
            out.note(FrameNote::TraceContext(trace));
        }
        if recipient.past != 0 {
            out.note(FrameNote::TellsPast(recipient.past));
        }
        if recipient.is_delayed {
            out.note(FrameNote::Withheld(Withheld::ForDelay));
        } else if self.server != Some(side) && self.transactions.is_in_one(channel) {
            out.note(FrameNote::Withheld(Withheld::UntilCommit));
        }
        if self.server == Some(side) {
            Permits::tell(channel, recipient.has_asked, out);
            if recipient.has_expired {
                out.note(FrameNote::Expired);
            }
            if recipient.was_elsewhere {
                out.note(FrameNote::WasRerouted);
            }
            if let Some(consumer) = recipient.consumer {
                out.subscription((channel, consumer));
            }
        }
    }

    /// The header of a message, which is complete with it if it has no body.
    fn header(
        &mut self,
        side: Side,
        header: AmqpFrameHeader,
        payload: &[u8],
        range: ByteRange,
        out: &mut dyn FrameSink,
    ) {
        const NAME: &str = "content-header";
        let contents = &mut self.contents[side as usize];
        let mut reader = Reader::new(payload);
        let class = reader.u16_be();
        let size = reader.skip(2).and_then(|()| reader.u64_be());
        if class.is_some_and(|class| class != BASIC) {
            contents.abort(header.channel);
            return out.frame(&frame_without_data(range, NAME, FrameClass::Opaque));
        }
        let class = class_of(contents.header(header.channel, size));
        if out.takes_trace_contexts()
            && let Some(trace) = table::trace_context(reader)
        {
            contents.is_of_trace(header.channel, trace);
        }
        let headers = WayHeaders::read(reader);
        let past = headers.past();
        if past != 0 {
            contents.tells_past(header.channel, past);
        }
        if self.server == Some(side) {
            if let Some(letter) = DeadLetter::read(&headers) {
                contents.is_dead_letter(header.channel, letter);
            }
            if headers.was_delayed() {
                contents.is_delayed(header.channel, true);
            }
        } else {
            if let Some(kept_for) = queue::expiration(reader) {
                out.discards(Discard::After(kept_for));
            }
            if headers.is_delayed() {
                contents.is_delayed(header.channel, false);
            }
        }
        self.tell_recipient(side, header.channel, out);
        let contents = &mut self.contents[side as usize];
        let data = contents.finish(header.channel, range.end, &[]);
        if let Some(whole) = data.as_ref().filter(|_| self.server != Some(side)) {
            self.confirms.published(header.channel, whole.extent, out);
        }
        out.frame(&Frame { range, name: NAME, class, payload_bytes: 0, data });
    }

    /// A part of a message's body, or all of it.
    fn body(
        &mut self,
        side: Side,
        header: AmqpFrameHeader,
        payload: &[u8],
        range: ByteRange,
        out: &mut dyn FrameSink,
    ) {
        let contents = &mut self.contents[side as usize];
        let len = u64::from(header.size);
        let class = class_of(contents.body(header.channel, payload, len));
        self.tell_recipient(side, header.channel, out);
        let contents = &mut self.contents[side as usize];
        let data = contents.finish(header.channel, range.end, payload);
        if let Some(whole) = data.as_ref().filter(|_| self.server != Some(side)) {
            self.confirms.published(header.channel, whole.extent, out);
        }
        let payload_bytes = if class == FrameClass::Data { len } else { 0 };
        out.frame(&Frame { range, name: "content-body", class, payload_bytes, data });
    }
}

fn class_of(continued: Continued) -> FrameClass {
    match continued {
        Continued::Message | Continued::Torn => FrameClass::Data,
        Continued::Returned => FrameClass::Other,
        Continued::Wrong => FrameClass::Opaque,
    }
}

impl Connection for AmqpConnection {
    fn pdu_len(&self, _: Side, head: &[u8]) -> PduLen {
        frame::pdu_len(head)
    }

    fn resync(&self, _: Side, head: &[u8]) -> bool {
        frame::strict(head).is_some() || head.starts_with(OPENING)
    }

    fn stands_out(&self, head: &[u8]) -> bool {
        recognition::stands_out(head)
    }

    fn held_bytes(&self) -> Size {
        Size::sum(self.contents.iter().map(OpenContents::held_bytes))
            + self.permits.held_bytes()
            + self.unacknowledged.held_bytes()
            + self.queues.held_bytes()
    }

    fn server(&self) -> Option<Side> {
        self.server
    }

    fn left(&self) -> LeftMessages {
        LeftMessages {
            unacknowledged: self.unacknowledged.count(),
            uncommitted: self.transactions.uncommitted(),
        }
    }

    fn pdu(&mut self, side: Side, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        let range = pdu.range;
        self.doubt_blocked(side, out);
        if pdu.bytes.starts_with(OPENING) {
            self.server = Some(side.other());
            self.transactions.note_opening();
            return out.frame(&frame_without_data(range, "protocol-header", FrameClass::Session));
        }
        let header = match AmqpFrameHeader::read(pdu.bytes) {
            Ok(header) if header.ends_well(pdu.bytes) != Some(false) => header,
            _ => return out.frame(&frame_without_data(range, "frame", FrameClass::Opaque)),
        };
        let payload = header.payload(pdu.bytes);
        match header.kind {
            FrameKind::Method => self.method(side, header, payload, range, out),
            FrameKind::Header => self.header(side, header, payload, range, out),
            FrameKind::Body => self.body(side, header, payload, range, out),
            FrameKind::Heartbeat => {
                out.frame(&frame_without_data(range, "heartbeat", FrameClass::KeepAlive));
            }
        }
    }

    fn gap(&mut self, side: Side) {
        self.contents[side as usize].gap();
        self.permits.forget();
        self.unacknowledged.forget();
        self.queues.forget();
        if self.server != Some(side) {
            self.confirms.forget();
        }
        if self.blocked == Blocked::Yes && self.server == Some(side) {
            self.blocked = Blocked::Uncertain;
        }
    }
}
