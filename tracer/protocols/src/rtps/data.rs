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

use super::entity::{EntityId, Guid};
use super::message::RtpsSubmessage;
use super::parameters;
use crate::Reader;

/// The flag for inline `QoS`, in both submessages.
const FLAG_INLINE_QOS: u8 = 0x02;

/// Bytes between the field `octetsToInlineQos` and the end of the sequence number.
const IDS_BYTES: usize = 16;

/// A serialized payload, or some fragments of one.
#[derive(Clone, Copy, Debug)]
pub(super) struct SerializedPayload<'a> {
    /// The captured bytes.
    pub bytes: &'a [u8],
    /// The number of bytes on the wire.
    pub len: u64,
    /// True if the payload starts with an encapsulation header.
    pub encapsulated: bool,
}

/// A whole sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataSample<'a> {
    pub writer: EntityId,
    pub number: u64,
    /// True if the sample has data, and not only the key of a disposed instance or nothing.
    pub is_data: bool,
    pub serialized: SerializedPayload<'a>,
}

/// Consecutive fragments of one sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataFrag<'a> {
    pub writer: EntityId,
    pub number: u64,
    /// True if they are fragments of data, and not of a key.
    pub is_data: bool,
    /// The number of the first fragment, from 0; on the wire it is from 1.
    pub first: u32,
    /// The number of fragments; at least 1.
    pub count: u32,
    /// Bytes of each fragment except the sample's last; at least 1.
    pub part_bytes: u32,
    /// Bytes of the whole sample.
    pub sample_bytes: u32,
    pub serialized: SerializedPayload<'a>,
}

impl DataFrag<'_> {
    /// Start and end of fragments `first..first + count` in the sample, in bytes.
    pub fn span(&self, first: u32, count: u32) -> (u64, u64) {
        let (size, sample) = (u64::from(self.part_bytes), u64::from(self.sample_bytes));
        let start = u64::from(first).saturating_mul(size);
        (start.min(sample), start.saturating_add(u64::from(count).saturating_mul(size)).min(sample))
    }

    /// Returns the number of fragments of the whole sample.
    pub fn fragments_in_sample(&self) -> u32 {
        self.sample_bytes.div_ceil(self.part_bytes)
    }
}

/// The start of `DATA` and `DATA_FRAG`: writer and sequence number.
#[derive(Clone, Copy, Debug)]
pub(super) struct WrittenHeader<'a> {
    pub writer: EntityId,
    number: u64,
    inline_qos_after: usize,
    rest: Reader<'a>,
}

impl<'a> WrittenHeader<'a> {
    /// Reads writer and sequence number; `None` if they are missing or invalid.
    pub fn read(submessage: &RtpsSubmessage<'a>) -> Option<WrittenHeader<'a>> {
        let mut body = submessage.body;
        let _extra_flags = body.array::<2>()?;
        let to_inline_qos = usize::from(submessage.order.u16(&mut body)?);
        let _reader = EntityId::read(&mut body)?;
        let writer = EntityId::read(&mut body)?;
        let number = submessage.order.sequence_number(&mut body)?;
        let inline_qos_after = to_inline_qos.checked_sub(IDS_BYTES)?;
        Some(WrittenHeader { writer, number, inline_qos_after, rest: body })
    }

    /// Reads the rest of a `DATA`.
    pub fn sample(self, submessage: &RtpsSubmessage<'a>) -> Option<DataSample<'a>> {
        const DATA: u8 = 0x04;
        const KEY: u8 = 0x08;
        const NON_STANDARD: u8 = 0x10;
        let mut body = self.rest;
        body.skip(self.inline_qos_after)?;
        let serialized = serialized(submessage, body, NON_STANDARD)?;
        let is_data = submessage.flag(DATA) && !submessage.flag(KEY);
        Some(DataSample { writer: self.writer, number: self.number, is_data, serialized })
    }

    /// The instance of discovery that a `DATA` without data is about, by its key in the inline `QoS` or in the payload.
    pub fn instance(self, submessage: &RtpsSubmessage<'a>) -> Option<Guid> {
        let mut body = self.rest;
        body.skip(self.inline_qos_after)?;
        if submessage.flag(FLAG_INLINE_QOS)
            && let Some(key) = parameters::key_hash(&mut body, submessage.order)
        {
            return Some(key);
        }
        parameters::discovered_key(body.rest())
    }

    /// Reads the rest of a `DATA_FRAG`.
    pub fn fragment(self, submessage: &RtpsSubmessage<'a>) -> Option<DataFrag<'a>> {
        const KEY: u8 = 0x04;
        const NON_STANDARD: u8 = 0x08;
        let (mut body, order) = (self.rest, submessage.order);
        let start = body;
        let first = order.u32(&mut body)?.checked_sub(1)?;
        let count = u32::from(order.u16(&mut body)?);
        let part_bytes = u32::from(order.u16(&mut body)?);
        let sample_bytes = order.u32(&mut body)?;
        body.skip(self.inline_qos_after.checked_sub(body.read_since(&start))?)?;
        let fragment = DataFrag {
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

impl<'a> DataFrag<'a> {
    /// The fragments without the padding after them; `None` if their numbers contradict each other.
    fn checked(mut self) -> Option<DataFrag<'a>> {
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

/// Reads the serialized payload after the inline `QoS`.
fn serialized<'a>(
    submessage: &RtpsSubmessage<'a>,
    mut body: Reader<'a>,
    non_standard: u8,
) -> Option<SerializedPayload<'a>> {
    if submessage.flag(FLAG_INLINE_QOS) {
        parameters::skip(&mut body, submessage.order)?;
    }
    let len = submessage.body_len().checked_sub(body.position() as u64)?;
    let encapsulated = !submessage.flag(non_standard);
    Some(SerializedPayload { bytes: body.rest(), len, encapsulated })
}
