//! The decoder of one conversation.

use super::data::{Fragment, Sample};
use super::entity::GuidPrefix;
use super::fragments::{Added, Key, MAX_FRAGMENTS, OpenSamples};
use super::message::{HEADER_BYTES, Message, Step, Submessage};
use super::parameters;
use super::payload::Application;
use super::submessage::{Content, SubmessageKind, heartbeat, timestamp};
use super::topics::Topics;
use super::writers::Writers;
use crate::{Connection, Fragments, FrameSink, Pdu, PduLen, Reader, Side};
use std::sync::Arc;
use wirelap_events::{ByteRange, Class, Data, Frame, GlobalKey};

/// The name of the rest of a datagram that was not captured.
const TRUNCATED: &str = "TRUNCATED";

/// The name of the rest of a datagram that is no submessage, or of one that is no RTPS.
const MALFORMED: &str = "MALFORMED";

/// Decodes the datagrams between two sockets.
///
/// A lost datagram makes no other one unreadable, and its fragments may be repaired later: a gap
/// forgets nothing, and what stays incomplete makes room when others need it.
#[derive(Debug)]
pub struct RtpsConnection {
    topics: Arc<Topics>,
    writers: Writers,
    open: OpenSamples,
}

impl RtpsConnection {
    /// A decoder that shares what it learns with all that have the same `topics`.
    pub fn new(topics: Arc<Topics>) -> RtpsConnection {
        RtpsConnection { topics, writers: Writers::default(), open: OpenSamples::default() }
    }
}

impl Connection for RtpsConnection {
    fn held_bytes(&self) -> usize {
        self.open.held_bytes()
    }

    fn pdu_len(&self, _side: Side, _head: &[u8]) -> PduLen {
        PduLen::Invalid
    }

    fn pdu(&mut self, side: Side, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        if pdu.range.is_empty() {
            return;
        }
        let Some(message) = Message::read(pdu.bytes, pdu.range.len()) else {
            let name = if pdu.is_truncated() { TRUNCATED } else { MALFORMED };
            return out.frame(&plain(pdu.range, name, Class::Opaque));
        };
        let header = ByteRange::new(pdu.range.start, HEADER_BYTES as u64);
        let (class, framed) = Framed::new(message);
        out.frame(&plain(header, "RTPS", class));
        let mut datagram =
            Datagram { range: pdu.range, side, prefix: message.prefix, given: None, framed };
        for step in message.steps() {
            match step {
                Step::Submessage(submessage) => self.submessage(&mut datagram, &submessage, out),
                Step::Truncated { at } => {
                    out.frame(&plain(datagram.from(at), TRUNCATED, Class::Opaque));
                }
                Step::Malformed { at } => {
                    out.frame(&plain(datagram.from(at), MALFORMED, Class::Opaque));
                }
            }
        }
    }

    fn gap(&mut self, _side: Side) {}
}

impl RtpsConnection {
    fn submessage(
        &mut self,
        datagram: &mut Datagram,
        submessage: &Submessage,
        out: &mut dyn FrameSink,
    ) {
        let range = datagram.range_of(submessage);
        let mut frame = plain(range, submessage.kind.name(), Class::Other);
        match Content::of(submessage) {
            Content::Framing => {
                match submessage.kind {
                    SubmessageKind::InfoSrc => {
                        datagram.prefix = source(submessage).unwrap_or(datagram.prefix);
                        datagram.given = None;
                    }
                    SubmessageKind::InfoTs => datagram.given = timestamp(submessage),
                    _ => {}
                }
                frame.class = datagram.framed.class_after(submessage);
            }
            Content::Control(class) => {
                frame.class = class;
                // Only reliable readers are told what there is.
                if class == Class::Ack
                    && submessage.kind == SubmessageKind::Heartbeat
                    && let Some((writer, first)) = heartbeat(submessage)
                {
                    out.in_order(writer.of(datagram.prefix), first);
                }
            }
            Content::Publication(sample) => {
                frame.class = Class::Discovery;
                self.publication(&sample);
            }
            Content::Sample(sample) => return self.sample(datagram, &sample, frame, out),
            Content::Fragment(fragment) => return self.fragment(datagram, &fragment, frame, out),
        }
        out.frame(&frame);
    }

    fn publication(&self, sample: &Sample) {
        if let Some((guid, topic)) = parameters::endpoint_and_topic(sample.serialized.bytes) {
            self.topics.learn(guid, topic);
        }
    }

    fn sample(
        &mut self,
        datagram: &Datagram,
        sample: &Sample,
        frame: Frame<'static>,
        out: &mut dyn FrameSink,
    ) {
        let mut frame: Frame = frame;
        let serialized = sample.serialized;
        let guid = sample.writer.of(datagram.prefix);
        let writer = self.writers.of(guid);
        let application = if serialized.encapsulated {
            Application::find(serialized.bytes, serialized.len, &mut writer.shape)
        } else {
            Some(Application::everything(serialized.len))
        };
        let Some(application) = application else {
            frame.class = Class::Opaque;
            return out.frame(&frame);
        };
        let duplicate = writer.has_seen(sample.number);
        let is_late = duplicate || writer.is_past(sample.number);
        writer.begin(sample.number);
        writer.see(sample.number);
        let message = GlobalKey { origin: guid, seq: sample.number, unique: true };
        out.fragments(&Fragments {
            message,
            is_global: true,
            first: 0,
            count: 1,
            of: Some(1),
            payload_len: application.len,
            repeated_bytes: 0,
            is_late,
            given: datagram.given,
        });
        frame.class = Class::Data;
        frame.payload_bytes = application.len;
        frame.data = Some(Data {
            extent: frame.range,
            topic: writer.topic(&self.topics),
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
        datagram: &Datagram,
        fragment: &Fragment,
        frame: Frame<'static>,
        out: &mut dyn FrameSink,
    ) {
        let mut frame: Frame = frame;
        frame.class = Class::Data;
        let guid = fragment.writer.of(datagram.prefix);
        let writer = self.writers.of(guid);
        let number = fragment.number;
        let follows = writer.begin(number);
        let mut carried = carried(fragment, GlobalKey { origin: guid, seq: number, unique: true });
        carried.given = datagram.given;
        // Fragments of a complete sample repair it at some reader: they bring no new payload.
        if writer.has_seen(number) {
            carried.is_late = true;
            if fragment.fragments_in_sample() <= MAX_FRAGMENTS {
                out.fragments(&carried);
            }
            return out.frame(&frame);
        }
        carried.is_late = !follows && fragment.first > 0;
        let key = Key { side: datagram.side, guid, number };
        match self.open.add(key, fragment, frame.range, &mut writer.shape) {
            Added::Untracked { payload_bytes } => frame.payload_bytes = payload_bytes,
            Added::Headless => {
                out.fragments(&carried);
                frame.class = Class::Opaque;
            }
            Added::Part { payload_bytes } => {
                carried.repeated_bytes = if payload_bytes > 0 { 0 } else { carried.repeated_bytes };
                out.fragments(&carried);
                frame.payload_bytes = payload_bytes;
            }
            Added::Whole { payload_bytes, sample } => {
                writer.see(number);
                carried.repeated_bytes = 0;
                carried.payload_len = sample.payload_len;
                out.fragments(&carried);
                frame.payload_bytes = payload_bytes;
                frame.data = Some(Data {
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

/// What a submessage has of the sample of this name, all of it repeated.
fn carried(fragment: &Fragment, message: GlobalKey) -> Fragments {
    let everything = Application::everything(fragment.sample_bytes.into());
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
        given: None,
    }
}

/// Where a submessage stands.
struct Datagram<'a> {
    range: ByteRange,
    side: Side,
    /// The participant that the submessages from here on are from.
    prefix: GuidPrefix,
    /// The source timestamp of the samples from here on.
    given: Option<u64>,
    framed: Framed<'a>,
}

impl Datagram<'_> {
    fn from(&self, at: u64) -> ByteRange {
        ByteRange { start: self.range.start.plus(at), end: self.range.end }
    }

    fn range_of(&self, submessage: &Submessage) -> ByteRange {
        ByteRange::new(self.range.start.plus(submessage.at), submessage.len)
    }
}

/// Looks ahead for what framing frames. Remembers what it found, so that a datagram is walked once
/// whatever is in it.
struct Framed<'a> {
    message: Message<'a>,
    /// `class` holds for framing before this position in the datagram.
    until: u64,
    class: Class,
}

impl<'a> Framed<'a> {
    /// What the whole message is for, data if it has any, or else what its first submessage is for;
    /// and a look ahead to that one.
    fn new(message: Message<'a>) -> (Class, Framed<'a>) {
        let mut classes = classes(&message, HEADER_BYTES as u64);
        let (until, class) = classes.next().unwrap_or((message.len, Class::Other));
        let is_data = class == Class::Data || classes.any(|(_, class)| class == Class::Data);
        let whole = if is_data { Class::Data } else { class };
        (whole, Framed { message, until, class })
    }

    /// The class of the first submessage after this one that is no framing.
    fn class_after(&mut self, submessage: &Submessage) -> Class {
        let from = submessage.at.saturating_add(submessage.len);
        if from > self.until {
            let next = classes(&self.message, from).next();
            (self.until, self.class) = next.unwrap_or((self.message.len, Class::Other));
        }
        self.class
    }
}

/// Where, from a position on, the submessages that are no framing are, and what framing of them is
/// for. It can be read even if what it frames cannot.
fn classes(message: &Message, from: u64) -> impl Iterator<Item = (u64, Class)> {
    message.steps_from(from).filter_map(|step| {
        let Step::Submessage(submessage) = step else { return None };
        let class = match Content::of(&submessage).class()? {
            Class::Opaque => Class::Other,
            class => class,
        };
        Some((submessage.at, class))
    })
}

/// The participant that an `INFO_SRC` names (§9.4.5.10): after 4 unused bytes, version and vendor.
fn source(submessage: &Submessage) -> Option<GuidPrefix> {
    let mut body: Reader = submessage.body;
    body.skip(8)?;
    body.array()
}

fn application_bytes(serialized: &[u8], application: Application) -> &[u8] {
    let index = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let mut reader = Reader::new(serialized);
    reader.take_up_to(index(application.skip));
    reader.take_up_to(index(application.len))
}

fn plain(range: ByteRange, name: &'static str, class: Class) -> Frame<'static> {
    Frame { range, name, class, payload_bytes: 0, data: None }
}
