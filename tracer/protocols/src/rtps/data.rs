//! `DATA` and `DATA_FRAG` (DDSI-RTPS 2.5 §9.4.5.3, §9.4.5.4).
//!
//! ```text
//! 0...2...........7...............15.............23...............31
//! +---------------+---------------+---------------+---------------+
//! |          extra flags          |     octets to inline QoS      |
//! +---------------+---------------+---------------+---------------+
//! |                           reader id                           |
//! +---------------------------------------------------------------+
//! |                           writer id                           |
//! +---------------------------------------------------------------+
//! |                    writer sequence number                     |
//! |                           (8 bytes)                           |
//! +---------------------------------------------------------------+  ← DATA_FRAG only
//! |                     starting fragment number                  |
//! +---------------+---------------+---------------+---------------+
//! |    fragments in submessage    |         fragment size         |
//! +---------------+---------------+---------------+---------------+
//! |                          sample size                          |
//! +---------------------------------------------------------------+  ← both, where "inline QoS" starts
//! |                  inline QoS (if Q is set)                     |
//! +---------------------------------------------------------------+
//! |                      serialized payload                       |
//! +---------------------------------------------------------------+
//! ```

use super::entity::EntityId;
use super::message::Submessage;
use super::parameters;
use crate::Reader;

/// Inline `QoS` is there, in both submessages.
const FLAG_INLINE_QOS: u8 = 0x02;

/// Bytes between the field `octetsToInlineQos` and the end of the sequence number.
const IDS_BYTES: usize = 16;

/// A part of a submessage's body: a serialized payload or some of its fragments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Serialized<'a> {
    /// Its captured bytes.
    pub bytes: &'a [u8],
    /// Its bytes on the wire.
    pub len: u64,
    /// It starts with an encapsulation header.
    pub encapsulated: bool,
}

/// A whole sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample<'a> {
    pub writer: EntityId,
    pub number: u64,
    /// It has data, rather than nothing or only the key of an instance that is disposed of.
    pub is_data: bool,
    pub serialized: Serialized<'a>,
}

/// Successive fragments of one sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fragment<'a> {
    pub writer: EntityId,
    pub number: u64,
    /// They are of a sample's data, rather than of a key.
    pub is_data: bool,
    /// The first one; counts from 0, other than on the wire.
    pub first: u32,
    /// How many there are; at least 1.
    pub count: u32,
    /// Bytes of each fragment but the sample's last; at least 1.
    pub part_bytes: u32,
    /// Bytes of the whole sample.
    pub sample_bytes: u32,
    pub serialized: Serialized<'a>,
}

impl Fragment<'_> {
    /// The bytes of the sample that fragments `first..first + count` of it take.
    pub fn span(&self, first: u32, count: u32) -> (u64, u64) {
        let (size, sample) = (u64::from(self.part_bytes), u64::from(self.sample_bytes));
        let start = u64::from(first).saturating_mul(size);
        (start.min(sample), start.saturating_add(u64::from(count).saturating_mul(size)).min(sample))
    }

    /// How many fragments the whole sample has.
    pub fn fragments_in_sample(&self) -> u32 {
        self.sample_bytes.div_ceil(self.part_bytes)
    }
}

/// What `DATA` and `DATA_FRAG` start with: by whom, and which.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written<'a> {
    pub writer: EntityId,
    number: u64,
    inline_qos_after: usize,
    rest: Reader<'a>,
}

impl<'a> Written<'a> {
    /// Reads as far as writer and sequence number; `None` if these cannot be read.
    pub fn read(submessage: &Submessage<'a>) -> Option<Written<'a>> {
        let mut body = submessage.body;
        let _extra_flags = body.array::<2>()?;
        let to_inline_qos = usize::from(submessage.order.u16(&mut body)?);
        let _reader = EntityId::read(&mut body)?;
        let writer = EntityId::read(&mut body)?;
        let number = submessage.order.sequence_number(&mut body)?;
        let inline_qos_after = to_inline_qos.checked_sub(IDS_BYTES)?;
        Some(Written { writer, number, inline_qos_after, rest: body })
    }

    /// The rest of a `DATA`.
    pub fn sample(self, submessage: &Submessage<'a>) -> Option<Sample<'a>> {
        const DATA: u8 = 0x04;
        const KEY: u8 = 0x08;
        const NON_STANDARD: u8 = 0x10;
        let mut body = self.rest;
        body.skip(self.inline_qos_after)?;
        let serialized = serialized(submessage, body, NON_STANDARD)?;
        let is_data = submessage.flag(DATA) && !submessage.flag(KEY);
        Some(Sample { writer: self.writer, number: self.number, is_data, serialized })
    }

    /// The rest of a `DATA_FRAG`.
    pub fn fragment(self, submessage: &Submessage<'a>) -> Option<Fragment<'a>> {
        const KEY: u8 = 0x04;
        const NON_STANDARD: u8 = 0x08;
        let (mut body, order) = (self.rest, submessage.order);
        let start = body.position();
        let first = order.u32(&mut body)?.checked_sub(1)?;
        let count = u32::from(order.u16(&mut body)?);
        let part_bytes = u32::from(order.u16(&mut body)?);
        let sample_bytes = order.u32(&mut body)?;
        body.skip(self.inline_qos_after.checked_sub(body.position().saturating_sub(start))?)?;
        let fragment = Fragment {
            writer: self.writer,
            number: self.number,
            is_data: !submessage.flag(KEY),
            first,
            count,
            part_bytes,
            sample_bytes,
            serialized: serialized(submessage, body, NON_STANDARD)?,
        };
        fragment.checked()
    }
}

impl<'a> Fragment<'a> {
    /// The fragment, without padding after it, if its numbers agree with each other.
    fn checked(mut self) -> Option<Fragment<'a>> {
        if self.count == 0 || self.part_bytes == 0 {
            return None;
        }
        let last = self.first.checked_add(self.count)?;
        let (start, end) = self.span(self.first, self.count);
        if last > self.fragments_in_sample() || self.serialized.len < end.saturating_sub(start) {
            return None;
        }
        self.serialized.len = end.saturating_sub(start);
        let captured =
            usize::try_from(end.saturating_sub(start)).ok()?.min(self.serialized.bytes.len());
        self.serialized.bytes = Reader::new(self.serialized.bytes).take(captured)?;
        Some(self)
    }
}

/// What follows the inline `QoS`.
fn serialized<'a>(
    submessage: &Submessage<'a>,
    mut body: Reader<'a>,
    non_standard: u8,
) -> Option<Serialized<'a>> {
    if submessage.flag(FLAG_INLINE_QOS) {
        parameters::skip(&mut body, submessage.order)?;
    }
    let len = submessage.body_len().checked_sub(body.position() as u64)?;
    let encapsulated = !submessage.flag(non_standard);
    Some(Serialized { bytes: body.rest(), len, encapsulated })
}
