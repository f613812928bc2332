//! The decoder of one RTPS conversation.

use super::data::{DataFrag, DataSample};
use super::entity::{GuidPrefix, participant_name};
use super::fragments::{FragmentOutcome, MAX_FRAGMENTS, OpenSamples, SampleKey};
use super::message::{HEADER_BYTES, RtpsMessage, RtpsStep, RtpsSubmessage};
use super::parameters::{self, DiscoveredEndpoint};
use super::participants::Participants;
use super::payload::ApplicationBytes;
use super::submessage::{SubmessageContent, heartbeat, report_unread, timestamp};
use super::submessage_kind::SubmessageKind;
use super::topics::WriterTopics;
use super::vendor::{self, VendorId};
use super::writers::{RtpsWriter, Writers};
use crate::connection::frame_without_data;
use crate::ros2::{self, DISCOVERY_TOPIC, DdsEndpoint, RosFact};
use crate::{Connection, Fragments, FrameNote, FrameSink, Pdu, PduLen, Reader, Side};
use std::sync::Arc;
use wirelap_events::{ByteRange, DecodedMessage, Frame, FrameClass, GlobalKey, Size};

/// The frame name of the part of a datagram that was not captured.
const TRUNCATED: &str = "TRUNCATED";

/// The frame name of the part of a datagram that is no submessage, and of a datagram that is not RTPS.
const MALFORMED: &str = "MALFORMED";

/// Decodes the datagrams between two sockets.
///
/// A gap does not change the state: other datagrams can be decoded without a lost one, and its fragments may be
/// retransmitted later. Incomplete samples are evicted when others need their space.
#[derive(Debug)]
pub struct RtpsConnection {
    topics: Arc<WriterTopics>,
    writers: Writers,
    open: OpenSamples,
    participants: Participants,
    /// Vendors of the implementations that send at each end.
    vendors: [Option<VendorId>; 2],
}

impl RtpsConnection {
    /// A decoder that shares the topics of writers with all decoders that have the same `topics`.
    pub fn new(topics: Arc<WriterTopics>) -> RtpsConnection {
        RtpsConnection {
            topics,
            writers: Writers::default(),
            open: OpenSamples::default(),
            participants: Participants::default(),
            vendors: [None; 2],
        }
    }
}

impl Connection for RtpsConnection {
    fn held_bytes(&self) -> Size {
        self.open.held_bytes()
    }

    fn pdu_len(&self, _side: Side, _head: &[u8]) -> PduLen {
        PduLen::Invalid
    }

    fn pdu(&mut self, side: Side, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        if pdu.range.is_empty() {
            return;
        }
        let Some(message) = RtpsMessage::read(pdu.bytes, pdu.range.len()) else {
            let name = if pdu.is_truncated() { TRUNCATED } else { MALFORMED };
            return out.frame(&frame_without_data(pdu.range, name, FrameClass::Opaque));
        };
        self.participants.at(side, message.prefix, out);
        if self.vendors[side as usize] != Some(message.vendor) {
            self.vendors[side as usize] = Some(message.vendor);
            out.note(FrameNote::Implementation(vendor::implementation(message.vendor)));
            let memory = &self.topics.shared_memory;
            if vendor::shares_memory_by_default(message.vendor) && memory.speaks(message.prefix) {
                out.note(FrameNote::Unseen(memory.unseen(message.prefix)));
            }
        }
        let header = ByteRange::new(pdu.range.start, HEADER_BYTES as u64);
        let (class, framed) = FramingClasses::new(message);
        out.frame(&frame_without_data(header, "RTPS", class));
        let mut datagram = RtpsDatagram {
            range: pdu.range,
            side,
            prefix: message.prefix,
            reader: self.participants.alone_at(side.other()),
            source_timestamp: None,
            framed,
        };
        for step in message.steps() {
            match step {
                RtpsStep::Submessage(submessage) => {
                    self.submessage(&mut datagram, &submessage, out);
                }
                RtpsStep::Truncated { at } => {
                    out.frame(&frame_without_data(
                        datagram.from(at),
                        TRUNCATED,
                        FrameClass::Opaque,
                    ));
                }
                RtpsStep::Malformed { at } => {
                    out.frame(&frame_without_data(
                        datagram.from(at),
                        MALFORMED,
                        FrameClass::Opaque,
                    ));
                }
            }
        }
    }

    fn gap(&mut self, _side: Side) {}
}

impl RtpsConnection {
    fn submessage(
        &mut self,
        datagram: &mut RtpsDatagram,
        submessage: &RtpsSubmessage,
        out: &mut dyn FrameSink,
    ) {
        let range = datagram.range_of(submessage);
        let mut frame = frame_without_data(range, submessage.kind.name(), FrameClass::Other);
        match SubmessageContent::of(submessage) {
            SubmessageContent::Framing => {
                match submessage.kind {
                    SubmessageKind::InfoSrc => {
                        datagram.prefix = source(submessage).unwrap_or(datagram.prefix);
                        datagram.source_timestamp = None;
                    }
                    SubmessageKind::InfoDst => {
                        let prefix = { submessage.body }.array();
                        datagram.reader = prefix.filter(|prefix| *prefix != GuidPrefix::default());
                        self.participants.addressed(datagram.side.other(), prefix, out);
                    }
                    SubmessageKind::InfoTs => datagram.source_timestamp = timestamp(submessage),
                    _ => {}
                }
                frame.class = datagram.framed.class_after(submessage);
            }
            SubmessageContent::Control(class) => {
                frame.class = class;
                // HEARTBEATs are sent to reliable readers only, which deliver samples in order.
                if class == FrameClass::Ack
                    && submessage.kind == SubmessageKind::Heartbeat
                    && let Some((writer, first)) = heartbeat(submessage)
                {
                    out.note(FrameNote::InOrder { origin: writer.of(datagram.prefix), first });
                }
            }
            SubmessageContent::Participant(sample) => {
                frame.class = FrameClass::Discovery;
                introduce(&sample, out);
                self.note_shared_memory(&sample, None, out);
            }
            SubmessageContent::Publication(sample) => {
                frame.class = FrameClass::Discovery;
                self.endpoint(&sample, true, out);
            }
            SubmessageContent::Subscription(sample) => {
                frame.class = FrameClass::Discovery;
                self.endpoint(&sample, false, out);
            }
            SubmessageContent::Gone(guid) => {
                frame.class = FrameClass::Discovery;
                self.topics.forget_reader(guid);
            }
            SubmessageContent::Sample(sample) => return self.sample(datagram, &sample, frame, out),
            SubmessageContent::Fragment(fragment) => {
                return self.fragment(datagram, &fragment, frame, out);
            }
        }
        out.frame(&frame);
        report_unread(submessage, frame.class, out);
        if submessage.kind == SubmessageKind::SecBody {
            out.note(FrameNote::Encrypted(1));
        }
    }

    /// Learns the topic of a writer, and what it or a reader is in ROS 2.
    fn endpoint(&self, sample: &DataSample, writes: bool, out: &mut dyn FrameSink) {
        let Some(found) = parameters::endpoint(sample.serialized.bytes) else { return };
        self.topics.learn(found.guid, found.topic, writes);
        self.note_shared_memory(sample, Some((found, writes)), out);
        if let Some(endpoint) = DdsEndpoint::new(found.topic, found.type_name, writes) {
            out.note(FrameNote::Ros(&RosFact::Endpoint(found.guid, endpoint)));
        }
    }

    /// Learns who has addresses in shared memory, and reports what is not seen because of it.
    fn note_shared_memory(
        &self,
        sample: &DataSample,
        endpoint: Option<(DiscoveredEndpoint<'_>, bool)>,
        out: &mut dyn FrameSink,
    ) {
        let memory = &self.topics.shared_memory;
        // An endpoint that names no address of its own has those of its participant.
        let announced = parameters::announcement(sample.serialized.bytes)
            .filter(|announced| announced.host.is_some() || endpoint.is_none());
        let mut is_news = announced.is_some_and(|announced| memory.announce(&announced));
        let mut participant = announced.map(|announced| announced.participant);
        if let Some((endpoint, writes)) = endpoint {
            is_news |= memory.endpoint(endpoint.guid, endpoint.topic, writes);
            participant = endpoint.guid.first_chunk().copied();
        }
        if let Some(participant) = participant.filter(|_| is_news) {
            out.note(FrameNote::Unseen(memory.unseen(participant)));
        }
    }

    fn sample(
        &mut self,
        datagram: &RtpsDatagram,
        sample: &DataSample,
        frame: Frame<'static>,
        out: &mut dyn FrameSink,
    ) {
        let mut frame: Frame = frame;
        let serialized = sample.serialized;
        let guid = sample.writer.of(datagram.prefix);
        let writer = self.writers.of(guid);
        let application = if serialized.encapsulated {
            ApplicationBytes::find(serialized.bytes, serialized.len, &mut writer.shape)
        } else {
            Some(ApplicationBytes::everything(serialized.len))
        };
        let Some(application) = application else {
            frame.class = FrameClass::Opaque;
            out.frame(&frame);
            return out.note(FrameNote::UnreadMessages(1));
        };
        let duplicate = writer.has_seen(sample.number);
        let is_late = duplicate || writer.is_past(sample.number);
        writer.begin(sample.number);
        writer.see(sample.number);
        let message = GlobalKey { origin: guid, seq: sample.number, unique: true };
        let group_readers = datagram.group_readers(writer, &self.topics);
        out.note(FrameNote::Fragments(&Fragments {
            message,
            is_global: true,
            first: 0,
            count: 1,
            of: Some(1),
            payload_len: application.len,
            repeated_bytes: 0,
            is_late,
            source_timestamp: datagram.source_timestamp,
            reader: datagram.reader,
            group_readers,
        }));
        let topic = writer.topic(&self.topics);
        if topic == DISCOVERY_TOPIC
            && let Some(nodes) = ros2::nodes(serialized.bytes)
        {
            for node in nodes {
                out.note(FrameNote::Ros(&RosFact::Node(node)));
            }
        }
        frame.class = FrameClass::Data;
        frame.payload_bytes = application.len;
        frame.data = Some(DecodedMessage {
            extent: frame.range,
            topic,
            payload_len: application.len,
            payload: application_bytes(serialized.bytes, application),
            key: Some(message),
            duplicate,
            retained: false,
        });
        out.frame(&frame);
    }

    fn fragment(
        &mut self,
        datagram: &RtpsDatagram,
        fragment: &DataFrag,
        frame: Frame<'static>,
        out: &mut dyn FrameSink,
    ) {
        let mut frame: Frame = frame;
        frame.class = FrameClass::Data;
        let guid = fragment.writer.of(datagram.prefix);
        let writer = self.writers.of(guid);
        let number = fragment.number;
        let follows = writer.begin(number);
        let mut carried = carried(fragment, GlobalKey { origin: guid, seq: number, unique: true });
        carried.source_timestamp = datagram.source_timestamp;
        carried.reader = datagram.reader;
        carried.group_readers = datagram.group_readers(writer, &self.topics);
        // Fragments of a complete sample are retransmissions to another reader and have no new payload.
        if writer.has_seen(number) {
            carried.is_late = true;
            if fragment.fragments_in_sample() <= MAX_FRAGMENTS {
                out.note(FrameNote::Fragments(&carried));
            }
            return out.frame(&frame);
        }
        carried.is_late = !follows && fragment.first > 0;
        let key = SampleKey { side: datagram.side, guid, number };
        match self.open.add(key, fragment, frame.range, &mut writer.shape) {
            FragmentOutcome::Untracked { payload_bytes } => frame.payload_bytes = payload_bytes,
            FragmentOutcome::Headless => {
                out.note(FrameNote::Fragments(&carried));
                frame.class = FrameClass::Opaque;
            }
            FragmentOutcome::Part { payload_bytes } => {
                carried.repeated_bytes = if payload_bytes > 0 { 0 } else { carried.repeated_bytes };
                out.note(FrameNote::Fragments(&carried));
                frame.payload_bytes = payload_bytes;
            }
            FragmentOutcome::Whole { payload_bytes, sample } => {
                writer.see(number);
                carried.repeated_bytes = 0;
                carried.payload_len = sample.payload_len;
                out.note(FrameNote::Fragments(&carried));
                frame.payload_bytes = payload_bytes;
                frame.data = Some(DecodedMessage {
                    extent: sample.extent,
                    topic: writer.topic(&self.topics),
                    payload_len: sample.payload_len,
                    payload: sample.payload,
                    key: Some(carried.message),
                    duplicate: false,
                    retained: false,
                });
                return out.frame(&frame);
            }
        }
        out.frame(&frame);
    }
}

/// The fragments in a submessage, with all of their payload counted as repeated.
fn carried(fragment: &DataFrag, message: GlobalKey) -> Fragments {
    let everything = ApplicationBytes::everything(fragment.sample_bytes.into());
    let (start, end) = fragment.span(fragment.first, fragment.count);
    Fragments {
        message,
        is_global: true,
        first: fragment.first,
        count: fragment.count,
        of: Some(fragment.fragments_in_sample()),
        payload_len: everything.len,
        repeated_bytes: everything.within(start, end),
        is_late: false,
        source_timestamp: None,
        reader: None,
        group_readers: 0,
    }
}

/// A datagram, with what its earlier submessages say about the later ones.
struct RtpsDatagram<'a> {
    range: ByteRange,
    side: Side,
    /// The participant that sent the following submessages.
    prefix: GuidPrefix,
    /// The participant that the following submessages are for, if not for all.
    reader: Option<GuidPrefix>,
    /// The source timestamp of the following samples.
    source_timestamp: Option<u64>,
    framed: FramingClasses<'a>,
}

impl RtpsDatagram<'_> {
    fn from(&self, at: u64) -> ByteRange {
        ByteRange { start: self.range.start.plus(at), end: self.range.end }
    }

    /// Returns the number of participants that are known to read a sample that is not for one alone.
    fn group_readers(&self, writer: &mut RtpsWriter, topics: &WriterTopics) -> u16 {
        if self.reader.is_some() { 0 } else { writer.readers(topics) }
    }

    fn range_of(&self, submessage: &RtpsSubmessage) -> ByteRange {
        ByteRange::new(self.range.start.plus(submessage.at), submessage.len)
    }
}

/// Finds the class of framing submessages, which is that of the next submessage that is not framing. The result is
/// remembered, so that a datagram is walked only once.
struct FramingClasses<'a> {
    message: RtpsMessage<'a>,
    /// `class` is valid for framing before this position in the datagram.
    until: u64,
    class: FrameClass,
}

impl<'a> FramingClasses<'a> {
    /// The class of the whole message, which is data if it has any data, or else that of its first submessage; and the class
    /// of framing at its start.
    fn new(message: RtpsMessage<'a>) -> (FrameClass, FramingClasses<'a>) {
        let mut classes = classes(&message, HEADER_BYTES as u64);
        let (until, class) = classes.next().unwrap_or((message.len, FrameClass::Other));
        let is_data =
            class == FrameClass::Data || classes.any(|(_, class)| class == FrameClass::Data);
        let whole = if is_data { FrameClass::Data } else { class };
        (whole, FramingClasses { message, until, class })
    }

    /// The class of the first submessage after this one that is not framing.
    fn class_after(&mut self, submessage: &RtpsSubmessage) -> FrameClass {
        let from = submessage.at.saturating_add(submessage.len);
        if from > self.until {
            let next = classes(&self.message, from).next();
            (self.until, self.class) = next.unwrap_or((self.message.len, FrameClass::Other));
        }
        self.class
    }
}

/// The positions of the submessages that are not framing, from a position on, and the class of framing before each. If a
/// submessage is opaque, its framing is of class other, because the framing itself can be decoded.
fn classes(message: &RtpsMessage, from: u64) -> impl Iterator<Item = (u64, FrameClass)> {
    message.steps_from(from).filter_map(|step| {
        let RtpsStep::Submessage(submessage) = step else { return None };
        let class = match SubmessageContent::of(&submessage).class()? {
            FrameClass::Opaque => FrameClass::Other,
            class => class,
        };
        Some((submessage.at, class))
    })
}

/// Reports the name that a participant gives itself.
fn introduce(sample: &DataSample, out: &mut dyn FrameSink) {
    let Some((guid, name)) = parameters::participant_and_name(sample.serialized.bytes) else {
        return;
    };
    if let Some(&prefix) = guid.first_chunk() {
        out.client_title(participant_name(prefix).as_bytes(), name);
    }
}

/// The participant in an `INFO_SRC` (§9.4.5.10), after 4 unused bytes, version and vendor.
fn source(submessage: &RtpsSubmessage) -> Option<GuidPrefix> {
    let mut body: Reader = submessage.body;
    body.skip(8)?;
    body.array()
}

fn application_bytes(serialized: &[u8], application: ApplicationBytes) -> &[u8] {
    let index = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let mut reader = Reader::new(serialized);
    reader.take_up_to(index(application.skip));
    reader.take_up_to(index(application.len))
}
