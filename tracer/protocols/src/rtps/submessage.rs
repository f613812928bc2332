//! Contents of submessages.

use super::data::{DataFrag, DataSample, WrittenHeader};
use super::entity::{EntityId, Guid, WriterPurpose};
use super::message::RtpsSubmessage;
use super::submessage_kind::SubmessageKind;
use crate::{FrameNote, FrameSink};
use wirelap_events::FrameClass;

/// The most samples that a batch of RTI Connext is believed to have: a datagram has no more bytes.
const MOST_BATCHED: u32 = 1 << 16;

/// The content of a submessage.
#[derive(Clone, Copy, Debug)]
pub(super) enum SubmessageContent<'a> {
    /// Nothing but information for the submessages after it.
    Framing,
    /// A complete sample of the application.
    Sample(DataSample<'a>),
    /// Fragments of a sample of the application.
    Fragment(DataFrag<'a>),
    /// The description of a participant (SPDP).
    Participant(DataSample<'a>),
    /// The description of a publication (SEDP).
    Publication(DataSample<'a>),
    /// The description of a subscription (SEDP).
    Subscription(DataSample<'a>),
    /// A participant or reader that is gone (its instance was disposed of or unregistered).
    Gone(Guid),
    /// Anything else without application data.
    Control(FrameClass),
}

impl<'a> SubmessageContent<'a> {
    pub fn of(submessage: &RtpsSubmessage<'a>) -> SubmessageContent<'a> {
        match submessage.kind {
            SubmessageKind::HeaderExtension
            | SubmessageKind::Pad
            | SubmessageKind::InfoTs
            | SubmessageKind::InfoSrc
            | SubmessageKind::InfoReplyIp4
            | SubmessageKind::InfoDst
            | SubmessageKind::InfoReply => SubmessageContent::Framing,
            SubmessageKind::AckNack
            | SubmessageKind::Heartbeat
            | SubmessageKind::Gap
            | SubmessageKind::NackFrag
            | SubmessageKind::HeartbeatFrag => {
                SubmessageContent::Control(acknowledgement(submessage))
            }
            SubmessageKind::Data => SubmessageContent::data(submessage),
            SubmessageKind::DataFrag => SubmessageContent::data_frag(submessage),
            SubmessageKind::DataSession
            | SubmessageKind::DataBatch
            | SubmessageKind::SecBody
            | SubmessageKind::SecPrefix
            | SubmessageKind::SecPostfix
            | SubmessageKind::SrtpsPrefix
            | SubmessageKind::SrtpsPostfix => SubmessageContent::Control(FrameClass::Opaque),
            SubmessageKind::Reserved | SubmessageKind::Vendor => {
                SubmessageContent::Control(FrameClass::Other)
            }
        }
    }

    /// The class of its frame; `None` for framing, which has the class of the next submessage.
    pub fn class(&self) -> Option<FrameClass> {
        match self {
            SubmessageContent::Framing => None,
            SubmessageContent::Sample(_) | SubmessageContent::Fragment(_) => Some(FrameClass::Data),
            SubmessageContent::Participant(_)
            | SubmessageContent::Publication(_)
            | SubmessageContent::Subscription(_)
            | SubmessageContent::Gone(_) => Some(FrameClass::Discovery),
            SubmessageContent::Control(class) => Some(*class),
        }
    }

    fn data(submessage: &RtpsSubmessage<'a>) -> SubmessageContent<'a> {
        let Some(written) = WrittenHeader::read(submessage) else {
            return SubmessageContent::Control(FrameClass::Opaque);
        };
        match written.writer.purpose() {
            WriterPurpose::User => match written.sample(submessage) {
                Some(sample) if sample.is_data => SubmessageContent::Sample(sample),
                Some(_) => SubmessageContent::Control(FrameClass::Other),
                None => SubmessageContent::Control(FrameClass::Opaque),
            },
            WriterPurpose::Participants => match written.sample(submessage) {
                Some(sample) if sample.is_data => SubmessageContent::Participant(sample),
                _ => gone(written, submessage),
            },
            WriterPurpose::Publications => match written.sample(submessage) {
                Some(sample) if sample.is_data => SubmessageContent::Publication(sample),
                _ => SubmessageContent::Control(FrameClass::Discovery),
            },
            WriterPurpose::Subscriptions => match written.sample(submessage) {
                Some(sample) if sample.is_data => SubmessageContent::Subscription(sample),
                _ => gone(written, submessage),
            },
            purpose => SubmessageContent::Control(class_of(purpose)),
        }
    }

    fn data_frag(submessage: &RtpsSubmessage<'a>) -> SubmessageContent<'a> {
        let Some(written) = WrittenHeader::read(submessage) else {
            return SubmessageContent::Control(FrameClass::Opaque);
        };
        match written.writer.purpose() {
            WriterPurpose::User => match written.fragment(submessage) {
                Some(fragment) if fragment.is_data => SubmessageContent::Fragment(fragment),
                Some(_) => SubmessageContent::Control(FrameClass::Other),
                None => SubmessageContent::Control(FrameClass::Opaque),
            },
            purpose => SubmessageContent::Control(class_of(purpose)),
        }
    }
}

/// Returns the instance that discovery says is gone; a control submessage if it is not named.
fn gone<'a>(written: WrittenHeader<'a>, submessage: &RtpsSubmessage<'a>) -> SubmessageContent<'a> {
    let gone = written.instance(submessage).map(SubmessageContent::Gone);
    gone.unwrap_or(SubmessageContent::Control(FrameClass::Discovery))
}

/// The class of data from a writer with this purpose.
fn class_of(purpose: WriterPurpose) -> FrameClass {
    match purpose {
        WriterPurpose::User => FrameClass::Data,
        WriterPurpose::Participants
        | WriterPurpose::Publications
        | WriterPurpose::Subscriptions
        | WriterPurpose::Discovery => FrameClass::Discovery,
        WriterPurpose::Liveliness => FrameClass::KeepAlive,
        WriterPurpose::Vendor => FrameClass::Other,
    }
}

/// The writer of a submessage of the reliable protocol.
pub(super) fn writer_of(submessage: &RtpsSubmessage) -> Option<EntityId> {
    let mut body = submessage.body;
    let _reader = EntityId::read(&mut body)?;
    EntityId::read(&mut body)
}

/// Reports samples of the application in a submessage of this class that is not decoded. Two are RTI Connext DDS's own, known by
/// Wireshark's dissector:
///
/// ```text
/// DATA_SESSION  extra flags u16 · octets to inline QoS u16 · reader id · writer id · …
/// DATA_BATCH    the same · batch number u64 · first sample's number u64 · offset to the last u32 · samples u32 · …
/// ```
pub(super) fn report_unread(
    submessage: &RtpsSubmessage,
    class: FrameClass,
    out: &mut dyn FrameSink,
) {
    let mut body = submessage.body;
    match submessage.kind {
        SubmessageKind::Data if class != FrameClass::Opaque => {}
        SubmessageKind::Data | SubmessageKind::DataSession => {
            out.note(FrameNote::UnreadMessages(1));
        }
        SubmessageKind::DataBatch => {
            let samples = body.skip(32).and_then(|()| submessage.order.u32(&mut body));
            let samples = samples.filter(|&samples| samples <= MOST_BATCHED).unwrap_or(1);
            out.note(FrameNote::UnreadMessages(samples.into()));
        }
        _ => {}
    }
}

/// The writer of a `HEARTBEAT`, and the number of the first sample that it still has (§9.4.5.7).
pub(super) fn heartbeat(submessage: &RtpsSubmessage) -> Option<(EntityId, u64)> {
    let mut body = submessage.body;
    let _reader = EntityId::read(&mut body)?;
    let writer = EntityId::read(&mut body)?;
    Some((writer, submessage.order.sequence_number(&mut body)?))
}

/// The source timestamp of the samples after an `INFO_TS`, in nanoseconds since 1970 (§9.4.5.11, §9.3.2.2): seconds and a
/// fraction of 2^32. `None` if it says that they have none.
pub(super) fn timestamp(submessage: &RtpsSubmessage) -> Option<u64> {
    const INVALIDATE: u8 = 0x02;
    const NONE: [(u32, u32); 2] = [(u32::MAX, u32::MAX), (0x7fff_ffff, u32::MAX)];
    let mut body = submessage.body;
    let seconds = submessage.order.u32(&mut body)?;
    let fraction = submessage.order.u32(&mut body)?;
    let is_one = !submessage.flag(INVALIDATE) && !NONE.contains(&(seconds, fraction));
    let below = u64::from(fraction).saturating_mul(1_000_000_000).saturating_add(1 << 31) >> 32;
    is_one.then(|| u64::from(seconds).saturating_mul(1_000_000_000).saturating_add(below))
}

/// The class of a submessage of the reliable protocol. All five kinds start with reader and writer.
fn acknowledgement(submessage: &RtpsSubmessage) -> FrameClass {
    match writer_of(submessage).map(EntityId::purpose) {
        None => FrameClass::Opaque,
        Some(WriterPurpose::User) => FrameClass::Ack,
        Some(WriterPurpose::Vendor) => FrameClass::Other,
        Some(
            WriterPurpose::Participants
            | WriterPurpose::Publications
            | WriterPurpose::Subscriptions
            | WriterPurpose::Discovery
            | WriterPurpose::Liveliness,
        ) => FrameClass::Discovery,
    }
}
