//! The kinds of submessages and what each is for.

use super::data::{Fragment, Sample, Written};
use super::entity::{EntityId, Purpose};
use super::message::Submessage;
use wirelap_events::Class;

/// The kind of a submessage (DDSI-RTPS 2.5 §9.4.5.1.1, DDS Security 1.1 §7.3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SubmessageKind {
    HeaderExtension,
    Pad,
    AckNack,
    Heartbeat,
    Gap,
    InfoTs,
    InfoSrc,
    InfoReplyIp4,
    InfoDst,
    InfoReply,
    NackFrag,
    HeartbeatFrag,
    Data,
    DataFrag,
    SecBody,
    SecPrefix,
    SecPostfix,
    SrtpsPrefix,
    SrtpsPostfix,
    /// For later versions of the protocol to define.
    Reserved,
    /// 0x80 and up: for vendors.
    Vendor,
}

impl SubmessageKind {
    pub fn from_id(id: u8) -> SubmessageKind {
        match id {
            0x00 => SubmessageKind::HeaderExtension,
            0x01 => SubmessageKind::Pad,
            0x06 => SubmessageKind::AckNack,
            0x07 => SubmessageKind::Heartbeat,
            0x08 => SubmessageKind::Gap,
            0x09 => SubmessageKind::InfoTs,
            0x0c => SubmessageKind::InfoSrc,
            0x0d => SubmessageKind::InfoReplyIp4,
            0x0e => SubmessageKind::InfoDst,
            0x0f => SubmessageKind::InfoReply,
            0x12 => SubmessageKind::NackFrag,
            0x13 => SubmessageKind::HeartbeatFrag,
            0x15 => SubmessageKind::Data,
            0x16 => SubmessageKind::DataFrag,
            0x30 => SubmessageKind::SecBody,
            0x31 => SubmessageKind::SecPrefix,
            0x32 => SubmessageKind::SecPostfix,
            0x33 => SubmessageKind::SrtpsPrefix,
            0x34 => SubmessageKind::SrtpsPostfix,
            0x80.. => SubmessageKind::Vendor,
            _ => SubmessageKind::Reserved,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            SubmessageKind::HeaderExtension => "RTPS_HE",
            SubmessageKind::Pad => "PAD",
            SubmessageKind::AckNack => "ACKNACK",
            SubmessageKind::Heartbeat => "HEARTBEAT",
            SubmessageKind::Gap => "GAP",
            SubmessageKind::InfoTs => "INFO_TS",
            SubmessageKind::InfoSrc => "INFO_SRC",
            SubmessageKind::InfoReplyIp4 => "INFO_REPLY_IP4",
            SubmessageKind::InfoDst => "INFO_DST",
            SubmessageKind::InfoReply => "INFO_REPLY",
            SubmessageKind::NackFrag => "NACK_FRAG",
            SubmessageKind::HeartbeatFrag => "HEARTBEAT_FRAG",
            SubmessageKind::Data => "DATA",
            SubmessageKind::DataFrag => "DATA_FRAG",
            SubmessageKind::SecBody => "SEC_BODY",
            SubmessageKind::SecPrefix => "SEC_PREFIX",
            SubmessageKind::SecPostfix => "SEC_POSTFIX",
            SubmessageKind::SrtpsPrefix => "SRTPS_PREFIX",
            SubmessageKind::SrtpsPostfix => "SRTPS_POSTFIX",
            SubmessageKind::Reserved => "RESERVED",
            SubmessageKind::Vendor => "VENDOR",
        }
    }

    /// Whether a body of no bytes is one, and does not stand for "to the end of the message".
    pub fn may_be_empty(self) -> bool {
        matches!(self, SubmessageKind::Pad | SubmessageKind::InfoTs)
    }
}

/// What a submessage is for, and the data in it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content<'a> {
    /// Sets the scene for the submessages after it.
    Framing,
    /// A sample of the application, whole.
    Sample(Sample<'a>),
    /// Some fragments of one.
    Fragment(Fragment<'a>),
    /// What a publication is about (SEDP).
    Publication(Sample<'a>),
    /// Anything that carries no application data.
    Control(Class),
}

impl<'a> Content<'a> {
    pub fn of(submessage: &Submessage<'a>) -> Content<'a> {
        match submessage.kind {
            SubmessageKind::HeaderExtension
            | SubmessageKind::Pad
            | SubmessageKind::InfoTs
            | SubmessageKind::InfoSrc
            | SubmessageKind::InfoReplyIp4
            | SubmessageKind::InfoDst
            | SubmessageKind::InfoReply => Content::Framing,
            SubmessageKind::AckNack
            | SubmessageKind::Heartbeat
            | SubmessageKind::Gap
            | SubmessageKind::NackFrag
            | SubmessageKind::HeartbeatFrag => Content::Control(acknowledgement(submessage)),
            SubmessageKind::Data => Content::data(submessage),
            SubmessageKind::DataFrag => Content::data_frag(submessage),
            SubmessageKind::SecBody
            | SubmessageKind::SecPrefix
            | SubmessageKind::SecPostfix
            | SubmessageKind::SrtpsPrefix
            | SubmessageKind::SrtpsPostfix => Content::Control(Class::Opaque),
            SubmessageKind::Reserved | SubmessageKind::Vendor => Content::Control(Class::Other),
        }
    }

    /// Its row in the overhead ledger; `None` for framing, which goes with what it frames.
    pub fn class(&self) -> Option<Class> {
        match self {
            Content::Framing => None,
            Content::Sample(_) | Content::Fragment(_) => Some(Class::Data),
            Content::Publication(_) => Some(Class::Discovery),
            Content::Control(class) => Some(*class),
        }
    }

    fn data(submessage: &Submessage<'a>) -> Content<'a> {
        let Some(written) = Written::read(submessage) else {
            return Content::Control(Class::Opaque);
        };
        match written.writer.purpose() {
            Purpose::User => match written.sample(submessage) {
                Some(sample) if sample.is_data => Content::Sample(sample),
                Some(_) => Content::Control(Class::Other),
                None => Content::Control(Class::Opaque),
            },
            Purpose::Publications => match written.sample(submessage) {
                Some(sample) if sample.is_data => Content::Publication(sample),
                _ => Content::Control(Class::Discovery),
            },
            purpose => Content::Control(class_of(purpose)),
        }
    }

    fn data_frag(submessage: &Submessage<'a>) -> Content<'a> {
        let Some(written) = Written::read(submessage) else {
            return Content::Control(Class::Opaque);
        };
        match written.writer.purpose() {
            Purpose::User => match written.fragment(submessage) {
                Some(fragment) if fragment.is_data => Content::Fragment(fragment),
                Some(_) => Content::Control(Class::Other),
                None => Content::Control(Class::Opaque),
            },
            purpose => Content::Control(class_of(purpose)),
        }
    }
}

/// The class of what a writer that is not the application's sends as data.
fn class_of(purpose: Purpose) -> Class {
    match purpose {
        Purpose::User => Class::Data,
        Purpose::Publications | Purpose::Discovery => Class::Discovery,
        Purpose::Liveliness => Class::KeepAlive,
        Purpose::Vendor => Class::Other,
    }
}

/// The writer of a submessage of the reliable protocol.
pub(super) fn writer_of(submessage: &Submessage) -> Option<EntityId> {
    let mut body = submessage.body;
    let _reader = EntityId::read(&mut body)?;
    EntityId::read(&mut body)
}

/// The writer of a `HEARTBEAT`, and the first sample that it still has (§9.4.5.7).
pub(super) fn heartbeat(submessage: &Submessage) -> Option<(EntityId, u64)> {
    let mut body = submessage.body;
    let _reader = EntityId::read(&mut body)?;
    let writer = EntityId::read(&mut body)?;
    Some((writer, submessage.order.sequence_number(&mut body)?))
}

/// The source timestamp of the samples after an `INFO_TS`, in nanoseconds since 1970 (§9.4.5.11, §9.3.2.2): seconds and a
/// fraction of 2^32. `None` where it says that they have none.
pub(super) fn timestamp(submessage: &Submessage) -> Option<u64> {
    const INVALIDATE: u8 = 0x02;
    const NONE: [(u32, u32); 2] = [(u32::MAX, u32::MAX), (0x7fff_ffff, u32::MAX)];
    let mut body = submessage.body;
    let seconds = submessage.order.u32(&mut body)?;
    let fraction = submessage.order.u32(&mut body)?;
    let is_one = !submessage.flag(INVALIDATE) && !NONE.contains(&(seconds, fraction));
    let below = u64::from(fraction).saturating_mul(1_000_000_000).saturating_add(1 << 31) >> 32;
    is_one.then(|| u64::from(seconds).saturating_mul(1_000_000_000).saturating_add(below))
}

/// The class of a submessage of the reliable protocol: all five start with reader and writer.
fn acknowledgement(submessage: &Submessage) -> Class {
    match writer_of(submessage).map(EntityId::purpose) {
        None => Class::Opaque,
        Some(Purpose::User) => Class::Ack,
        Some(Purpose::Vendor) => Class::Other,
        Some(Purpose::Publications | Purpose::Discovery | Purpose::Liveliness) => Class::Discovery,
    }
}
