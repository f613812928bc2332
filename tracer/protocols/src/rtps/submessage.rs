//! The kinds of submessages and what each is for.

use super::data::{Fragment, Sample, Written};
use super::entity::{EntityId, Purpose};
use super::message::Submessage;
use wirelap_events::Class;

/// The kind of a submessage (DDSI-RTPS 2.5 §9.4.5.1.1, DDS Security 1.1 §7.3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
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

impl Kind {
    pub fn from_id(id: u8) -> Kind {
        match id {
            0x00 => Kind::HeaderExtension,
            0x01 => Kind::Pad,
            0x06 => Kind::AckNack,
            0x07 => Kind::Heartbeat,
            0x08 => Kind::Gap,
            0x09 => Kind::InfoTs,
            0x0c => Kind::InfoSrc,
            0x0d => Kind::InfoReplyIp4,
            0x0e => Kind::InfoDst,
            0x0f => Kind::InfoReply,
            0x12 => Kind::NackFrag,
            0x13 => Kind::HeartbeatFrag,
            0x15 => Kind::Data,
            0x16 => Kind::DataFrag,
            0x30 => Kind::SecBody,
            0x31 => Kind::SecPrefix,
            0x32 => Kind::SecPostfix,
            0x33 => Kind::SrtpsPrefix,
            0x34 => Kind::SrtpsPostfix,
            0x80.. => Kind::Vendor,
            _ => Kind::Reserved,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Kind::HeaderExtension => "RTPS_HE",
            Kind::Pad => "PAD",
            Kind::AckNack => "ACKNACK",
            Kind::Heartbeat => "HEARTBEAT",
            Kind::Gap => "GAP",
            Kind::InfoTs => "INFO_TS",
            Kind::InfoSrc => "INFO_SRC",
            Kind::InfoReplyIp4 => "INFO_REPLY_IP4",
            Kind::InfoDst => "INFO_DST",
            Kind::InfoReply => "INFO_REPLY",
            Kind::NackFrag => "NACK_FRAG",
            Kind::HeartbeatFrag => "HEARTBEAT_FRAG",
            Kind::Data => "DATA",
            Kind::DataFrag => "DATA_FRAG",
            Kind::SecBody => "SEC_BODY",
            Kind::SecPrefix => "SEC_PREFIX",
            Kind::SecPostfix => "SEC_POSTFIX",
            Kind::SrtpsPrefix => "SRTPS_PREFIX",
            Kind::SrtpsPostfix => "SRTPS_POSTFIX",
            Kind::Reserved => "RESERVED",
            Kind::Vendor => "VENDOR",
        }
    }

    /// Whether a body of no bytes is one, and does not stand for "to the end of the message".
    pub fn may_be_empty(self) -> bool {
        matches!(self, Kind::Pad | Kind::InfoTs)
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
            Kind::HeaderExtension
            | Kind::Pad
            | Kind::InfoTs
            | Kind::InfoSrc
            | Kind::InfoReplyIp4
            | Kind::InfoDst
            | Kind::InfoReply => Content::Framing,
            Kind::AckNack | Kind::Heartbeat | Kind::Gap | Kind::NackFrag | Kind::HeartbeatFrag => {
                Content::Control(acknowledgement(submessage))
            }
            Kind::Data => Content::data(submessage),
            Kind::DataFrag => Content::data_frag(submessage),
            Kind::SecBody
            | Kind::SecPrefix
            | Kind::SecPostfix
            | Kind::SrtpsPrefix
            | Kind::SrtpsPostfix => Content::Control(Class::Opaque),
            Kind::Reserved | Kind::Vendor => Content::Control(Class::Other),
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
