//! The decoder of one MQTT connection: frames, version, topic aliases, unacknowledged messages, subscriptions.

use super::aliases::Aliases;
use super::body::{Publish, check, client_id, is_bridge, keeps_session, protocol};
use super::fields::{FieldError, MqttFields};
use super::header::{FixedHeader, PacketType};
use super::held::UnreleasedMessages;
use super::marks::RetainMarks;
use super::packet::{split, strict};
use super::reasons::refusal;
use super::recognition;
use super::session::MqttSession;
use super::subscriptions::MqttSubscriptions;
use super::version::KnownVersion;
use crate::in_flight::InFlight;
use crate::{Connection, FrameNote, FrameSink, KeptFor, Pdu, PduLen, Side, Withheld};
use wirelap_events::{ByteRange, DecodedMessage, Frame, FrameClass, Size};

/// The decoder of one connection.
#[derive(Debug)]
pub(super) struct MqttConnection {
    version: KnownVersion,
    /// The server, once a packet was captured that only a client or only a server sends.
    server: Option<Side>,
    /// Topic aliases by the side that assigns them.
    aliases: [Aliases; 2],
    /// Messages that are not released yet, by the side that sends them.
    held: [UnreleasedMessages; 2],
    /// Messages that are not acknowledged yet, by the side that sends them.
    in_flight: [InFlight; 2],
    /// The client's subscriptions.
    subscriptions: MqttSubscriptions,
    /// The RETAIN flags of the server's messages.
    marks: RetainMarks,
    /// The client's session.
    session: MqttSession,
}

impl MqttConnection {
    pub fn new() -> MqttConnection {
        MqttConnection {
            version: KnownVersion::Nothing,
            server: None,
            aliases: Default::default(),
            held: Default::default(),
            in_flight: Default::default(),
            subscriptions: MqttSubscriptions::default(),
            marks: RetainMarks::default(),
            session: MqttSession::default(),
        }
    }

    fn publish(
        &mut self,
        side: Side,
        header: &FixedHeader,
        fields: MqttFields<'_>,
        range: ByteRange,
        out: &mut dyn FrameSink,
    ) {
        let version = self.version.version_of(header, fields);
        let Ok(publish) = Publish::read(header, version, fields) else {
            out.frame(&control(header, FrameClass::Opaque, range));
            return out.note(FrameNote::UnreadMessages(1));
        };
        if let Some(id) = publish.packet_id {
            out.requests(id.into(), range);
            self.in_flight[side as usize].sent(id.into(), range.end);
            if header.qos() == 2 {
                self.held[side as usize].hold(id, range.start);
            }
        }
        let aliases = &mut self.aliases[side as usize];
        let topic = match publish.alias {
            Some(alias) if publish.topic.is_empty() => aliases.topic(alias),
            Some(alias) => {
                aliases.declare(alias, publish.topic);
                publish.topic
            }
            None => publish.topic,
        };
        let topic = match delayed_topic(topic) {
            None => topic,
            Some(delayed) => {
                out.note(FrameNote::TellsPast(DELAYED));
                if self.server != Some(side) {
                    out.note(FrameNote::Withheld(Withheld::ForDelay));
                }
                delayed
            }
        };
        if self.version == KnownVersion::Nothing {
            out.note(FrameNote::UncertainStart);
        }
        match (publish.packet_id, publish.expiry) {
            (None, _) => out.note(FrameNote::KeptFor(KeptFor::Nobody)),
            (Some(_), Some(seconds)) => {
                out.note(FrameNote::KeptFor(KeptFor::seconds(seconds)));
            }
            (Some(_), None) => {}
        }
        if self.server == Some(side) {
            self.session.gets(header.qos());
            out.reader_group(self.subscriptions.group_of(topic));
            if header.retain()
                && (self.subscriptions.keeps_mark(topic)
                    || self.marks.keeps(topic, publish.payload, publish.payload_len))
            {
                out.has_publishers_mark(self.subscriptions.first_for(topic));
            }
        }
        if publish.subscriptions != 0 {
            out.subscription(publish.subscriptions);
        }
        out.trace_context(|| publish.trace_context());
        let payload_len = publish.payload_len as u64;
        out.frame(&Frame {
            range,
            name: header.name,
            class: header.class,
            payload_bytes: payload_len,
            data: Some(DecodedMessage {
                extent: range,
                topic,
                payload_len,
                payload: publish.payload,
                key: None,
                duplicate: header.dup(),
                retained: header.retain(),
            }),
        });
    }

    /// One end has acknowledged a message of the other. Its first acknowledgement is the reply: of `QoS` 2, the PUBREC.
    fn acknowledged(
        &mut self,
        side: Side,
        kind: PacketType,
        id: u16,
        range: ByteRange,
        out: &mut dyn FrameSink,
    ) {
        if kind != PacketType::Pubcomp {
            out.note(FrameNote::Reply { number: id.into(), extent: range });
        }
        let sender = side.other() as usize;
        if kind == PacketType::Pubrec {
            self.held[sender].received(id, range.end);
            if let Some((message, full_with)) = self.in_flight[sender].confirmed(id.into()) {
                out.confirms(message, full_with);
            }
        } else if let Some(room) = self.in_flight[sender].acknowledged(id.into()) {
            out.permits_more(room.message(), room.full_with());
        }
    }

    fn control(
        &mut self,
        side: Side,
        header: &FixedHeader,
        fields: MqttFields<'_>,
        range: ByteRange,
        out: &mut dyn FrameSink,
    ) {
        if header.kind == PacketType::Connect
            && let Ok(version) = protocol(&mut { fields })
        {
            self.version = KnownVersion::Told(version);
            self.subscriptions.connect(is_bridge(fields));
            if let Ok(name) = client_id(fields) {
                out.client(side, name);
            }
        }
        match header.kind {
            PacketType::Connect
            | PacketType::Subscribe
            | PacketType::Unsubscribe
            | PacketType::Pingreq => {
                self.server = Some(side.other());
            }
            PacketType::Connack
            | PacketType::Suback
            | PacketType::Unsuback
            | PacketType::Pingresp => {
                self.server = Some(side);
            }
            PacketType::Pubrel => {
                if let Ok(id) = { fields }.packet_id() {
                    self.in_flight[side as usize].sent_more(id.into(), range.end);
                    if let Some(held) = self.held[side as usize].release(id) {
                        out.releases(held.start, held.receipt);
                    }
                }
            }
            PacketType::Puback | PacketType::Pubrec | PacketType::Pubcomp => {
                if let Ok(id) = { fields }.packet_id() {
                    self.acknowledged(side, header.kind, id, range, out);
                }
            }
            _ => {}
        }
        let version = self.version.version_of(header, fields);
        match header.kind {
            PacketType::Connack => {
                let has_session = { fields }.u8().map_or(true, |flags| flags & 1 != 0);
                self.subscriptions.accept(has_session);
                if { fields }.u8().is_ok_and(|flags| flags & 1 != 0) {
                    out.note(FrameNote::ResumesSession);
                }
            }
            PacketType::Subscribe | PacketType::Unsubscribe => {
                self.subscriptions.change(header, version, fields, out);
                self.marks.subscribes();
                if header.kind == PacketType::Unsubscribe {
                    out.note(FrameNote::Unsubscribes(side));
                }
            }
            _ => {}
        }
        let class = match check(header, version, fields) {
            Ok(properties) => {
                // A client refuses messages of QoS 1 and 2 by the same packets as a server.
                if self.server == Some(side)
                    && let Some(why) = refusal(header.kind, version, fields)
                {
                    out.note(FrameNote::Refuses(why.as_bytes()));
                }
                if matches!(header.kind, PacketType::Connect | PacketType::Connack) {
                    // Without this property no aliases are allowed (MQTT 5.0 §3.1.2.11.5).
                    let most = properties.topic_alias_maximum.unwrap_or(0);
                    self.aliases[side.other() as usize].allow(most);
                }
                let is_kept = || keeps_session(fields);
                self.session.note(header.kind, version, is_kept, &properties);
                header.class
            }
            Err(FieldError::Short) => header.class,
            Err(FieldError::Malformed) => FrameClass::Opaque,
        };
        out.frame(&control(header, class, range));
    }
}

/// The number of what the topic of a message tells that is to be delayed.
const DELAYED: u32 = 1;

/// The topic to which a server publishes a message after a delay; `None` for any other message (EMQX, "Delayed Publish").
///
/// ```text
/// $delayed/SECONDS/TOPIC
/// ```
fn delayed_topic(topic: &[u8]) -> Option<&[u8]> {
    let mut parts = topic.strip_prefix(b"$delayed/")?.splitn(2, |&byte| byte == b'/');
    let is_time = |seconds: &&[u8]| !seconds.is_empty() && seconds.iter().all(u8::is_ascii_digit);
    parts.next().filter(is_time)?;
    parts.next().filter(|topic| !topic.is_empty())
}

fn control(header: &FixedHeader, class: FrameClass, range: ByteRange) -> Frame<'static> {
    Frame { range, name: header.name, class, payload_bytes: 0, data: None }
}

impl Connection for MqttConnection {
    fn held_bytes(&self) -> Size {
        let client = self.subscriptions.held_bytes() + self.marks.held_bytes();
        Size::sum(self.aliases.iter().map(Aliases::held_bytes)) + client
    }

    fn pdu_len(&self, _: Side, head: &[u8]) -> PduLen {
        FixedHeader::read(head).map_or_else(|why| why, |header| PduLen::Known(header.packet_len()))
    }

    fn resync(&self, _: Side, head: &[u8]) -> bool {
        strict(head, self.version).is_some()
    }

    fn stands_out(&self, head: &[u8]) -> bool {
        recognition::stands_out(head)
    }

    fn pdu(&mut self, side: Side, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        match split(pdu.bytes) {
            Ok((header, fields)) if header.kind == PacketType::Publish => {
                self.publish(side, &header, fields, pdu.range, out);
            }
            Ok((header, fields)) => self.control(side, &header, fields, pdu.range, out),
            Err(_) => out.frame(&Frame {
                range: pdu.range,
                name: "packet",
                class: FrameClass::Opaque,
                payload_bytes: 0,
                data: None,
            }),
        }
    }

    fn server(&self) -> Option<Side> {
        self.server
    }

    fn keeps_for_client(&self) -> KeptFor {
        self.session.keeps()
    }

    fn gap(&mut self, side: Side) {
        self.aliases[side as usize].forget();
        self.held[side as usize].forget();
        // A receipt may be in the gap, and those of other messages have the same numbers.
        self.held[side.other() as usize].forget_receipts();
        self.in_flight.iter_mut().for_each(InFlight::forget);
        self.subscriptions.gap();
        self.marks.subscribes();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameNote;
    use crate::stream::Stream;
    use wirelap_events::Offset;

    /// Messages, with whether they have their publishers' marks, and the number of those that cannot be read.
    #[derive(Default)]
    struct Told {
        messages: Vec<(bool, bool)>,
        has_mark: bool,
        unread: u64,
    }

    impl FrameSink for Told {
        fn frame(&mut self, frame: &Frame<'_>) {
            let has_mark = std::mem::take(&mut self.has_mark);
            self.messages.extend(frame.data.map(|data| (data.retained, has_mark)));
        }

        fn note(&mut self, note: FrameNote<'_>) {
            match note {
                FrameNote::HasPublishersMark(_) => self.has_mark = true,
                FrameNote::UnreadMessages(messages) => self.unread += messages,
                _ => {}
            }
        }
    }

    /// The notes on a conversation in which client (A) and server (B) say this in turn.
    fn told(said: &[(Side, &[u8])]) -> Told {
        let mut connection = MqttConnection::new();
        let mut streams = [Side::A, Side::B].map(|side| (Stream::new(side, false), Offset::START));
        let mut told = Told::default();
        for (side, bytes) in said {
            let (stream, at) = &mut streams[*side as usize];
            stream.feed(*at, bytes, 0, &mut connection, &mut told);
            *at = at.plus(bytes.len() as u64);
        }
        told
    }

    #[test]
    fn a_mark_is_the_publishers_where_the_client_has_asked_for_that() {
        const CONNECT: &[u8] = b"\x10\x0d\0\x04MQTT\x05\x02\0\x3c\0\0\0";
        const BRIDGE: &[u8] = b"\x10\x0d\0\x04MQTT\x84\x02\0\x3c\0\x01a";
        let subscribe = |options: u8| [b"\x82\x07\0\x01\0\0\x01t", &[options][..]].concat();
        let marks = |said: &[&[u8]], published: &[u8]| {
            let mut all: Vec<_> = said.iter().map(|bytes| (Side::A, *bytes)).collect();
            all.push((Side::A, published));
            all.extend([(Side::B, published), (Side::B, b"\x30\x04\0\x01t\0")]);
            told(&all).messages
        };
        let five = b"\x31\x05\0\x01t\0v";
        let plain = [(true, false), (true, false), (false, false)];
        let kept = [(true, false), (true, true), (false, false)];
        assert_eq!(marks(&[CONNECT, &subscribe(0)], five), plain);
        assert_eq!(marks(&[CONNECT, &subscribe(0x08)], five), kept);
        assert_eq!(marks(&[CONNECT, &subscribe(0x08), &subscribe(0)], five), plain);
        assert_eq!(marks(&[BRIDGE], b"\x31\x04\0\x01tv"), kept);
    }

    #[test]
    fn a_message_that_is_to_be_delayed_has_the_topic_that_it_is_delivered_with() {
        let of = |topic: &'static str| delayed_topic(topic.as_bytes());
        assert_eq!(of("$delayed/15/x/y"), Some(&b"x/y"[..]));
        for none in ["$delayed/soon/x", "$delayed/15/", "$delayed/15", "$delayed//x", "delayed/1/x"]
        {
            assert_eq!(of(none), None, "{none}");
        }
    }

    #[test]
    fn a_message_that_cannot_be_read_is_told() {
        // The topic is longer than the packet, and a property does not exist.
        for bytes in [&b"\x30\x03\0\x09t"[..], b"\x30\x06\0\x01t\x02\x7f\0"] {
            let connect: &[u8] = b"\x10\x0d\0\x04MQTT\x05\x02\0\x3c\0\0\0";
            let told = told(&[(Side::A, connect), (Side::A, bytes)]);
            assert_eq!((told.messages.len(), told.unread), (0, 1));
        }
    }

    /// For how long the server keeps what comes for the client, which has said this to connect and was sent a message of this `QoS`.
    fn kept(connect: &[u8], qos: u8) -> KeptFor {
        let mut connection = MqttConnection::new();
        let mut streams = [Side::A, Side::B].map(|side| Stream::new(side, false));
        let mut ends = [Offset::START; 2];
        let is_v5 = connect.get(8) == Some(&5);
        let more = [&[0, 1][..usize::from(2 * qos)], &[0][..usize::from(is_v5)]].concat();
        let len = 3 + u8::try_from(more.len()).unwrap();
        let message = [&[0x30 | qos << 1, len, 0, 1, b't'][..], &more].concat();
        let connack: &[u8] = if is_v5 { &[0x20, 3, 0, 0, 0] } else { &[0x20, 2, 0, 0] };
        for (side, bytes) in [(Side::A, connect), (Side::B, connack), (Side::B, &message)] {
            let (stream, at) = (&mut streams[side as usize], &mut ends[side as usize]);
            stream.feed(*at, bytes, 0, &mut connection, &mut Told::default());
            *at = at.plus(bytes.len() as u64);
        }
        connection.keeps_for_client()
    }

    #[test]
    fn a_session_is_kept_if_the_client_asks_for_it_and_gets_what_is_kept() {
        let v3 = |flags| [&[0x10, 13, 0, 4][..], b"MQTT", &[4, flags, 0, 9, 0, 1, b'c']].concat();
        assert_eq!(kept(&v3(0), 1), KeptFor::Ever);
        assert_eq!(kept(&v3(2), 1), KeptFor::Nobody);
        assert_eq!(kept(&v3(0), 0), KeptFor::Nobody);
        let v5 = |seconds: u32| {
            let head = [&[0x10, 19, 0, 4][..], b"MQTT", &[5, 2, 0, 9, 5, 17]].concat();
            [&head[..], &seconds.to_be_bytes(), &[0, 1, b'c']].concat()
        };
        assert_eq!(kept(&v5(u32::MAX), 1), KeptFor::Ever);
        assert_eq!(kept(&v5(60), 1), KeptFor::seconds(60));
        assert_eq!(kept(&v5(0), 1), KeptFor::Nobody);
    }
}
