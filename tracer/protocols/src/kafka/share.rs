//! Share groups (KIP-932): the members of a group read the same partitions, and the broker assigns each record to one of them.
//!
//! ```text
//! ShareFetchRequest 0-2                        ShareFetchResponse 0-2
//!   group, member                                i32 throttle time, i16 error, message, nullable
//!   i32 session epoch                            [version 1] i32 acquisition lock timeout (ms)
//!   i32 max wait (ms), i32 min bytes             topics, array of
//!   …                                              uuid
//!                                                  partitions, array of
//!                                                    i32 index, i16 error, message, nullable
//!                                                    i16 acknowledge error, message, nullable
//!                                                    i32 leader, i32 leader epoch, tags
//!                                                    records, as bytes
//!                                                    acquired records, array of
//!                                                      i64 first offset, i64 last offset, i16 delivery count
//!                                                nodes, array of (i32 id, host, i32 port, rack, nullable)
//! ```
//!
//! The broker sends whole batches, also several times, and the member gets only the acquired records of them. The delivery
//! count is above 1 for records that a member was given before and did not accept. They are after the records, so that a response is
//! decoded only when it has arrived completely.

use super::fields::{KafkaFields, KafkaResult, ensure};
use super::status::RecordStatus;
use wirelap_events::{Nanos, RequestLimits};

/// Version 0 is that of Kafka 4.0, which had share groups for early access.
pub(super) const VERSIONS: std::ops::RangeInclusive<i16> = 0..=2;

/// The most ranges of acquired records of a partition that are stored. A response has 500 records by default.
const MAX_RANGES: u32 = 4096;

/// The limits in the body of a request.
pub(super) fn asked(mut body: KafkaFields<'_>) -> KafkaResult<RequestLimits> {
    body.string()?;
    body.string()?;
    body.take(4)?;
    let wait = u64::try_from(body.i32()?).unwrap_or(0);
    let least_bytes = u64::try_from(body.i32()?).unwrap_or(0);
    Ok(RequestLimits { longest: Nanos::from_millis(wait), least_bytes })
}

/// Skips the fields before the array of topics.
pub(super) fn start(version: i16, fields: &mut KafkaFields<'_>) -> KafkaResult<()> {
    ensure(fields.i32()? >= 0)?;
    fields.take(2)?;
    fields.string()?;
    fields.take(if version == 0 { 0 } else { 4 }).map(drop)
}

/// Skips the fields of a partition between its index and its records.
pub(super) fn partition(fields: &mut KafkaFields<'_>) -> KafkaResult<()> {
    for _ in 0..2 {
        fields.take(2)?;
        fields.string()?;
    }
    fields.take(8)?;
    fields.tags()
}

/// The array of acquired records behind the records that start with `fields`, if it was captured.
pub(super) fn acquired_after_records(mut fields: KafkaFields<'_>) -> Option<KafkaFields<'_>> {
    let records = fields.length().ok()?.unwrap_or(0);
    fields.take(records.into()).ok()?;
    skip_acquired(&mut { fields }).is_ok().then_some(fields)
}

/// Skips the array of acquired records.
pub(super) fn skip_acquired(fields: &mut KafkaFields<'_>) -> KafkaResult<()> {
    for _ in 0..fields.count()? {
        range(fields)?;
    }
    Ok(())
}

/// Skips the fields after the array of topics.
pub(super) fn end(fields: &mut KafkaFields<'_>) -> KafkaResult<()> {
    for _ in 0..fields.count()? {
        fields.take(4)?;
        fields.string()?;
        fields.take(4)?;
        fields.string()?;
        fields.tags()?;
    }
    Ok(())
}

fn range(fields: &mut KafkaFields<'_>) -> KafkaResult<AcquiredRange> {
    let range =
        AcquiredRange { first: fields.i64()?, last: fields.i64()?, deliveries: fields.i16()? };
    fields.tags()?;
    Ok(range)
}

/// Records that are the member's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AcquiredRange {
    first: i64,
    last: i64,
    /// Number of times that they were given to a member, with this time.
    deliveries: i16,
}

/// Knowledge of which records of a partition are the reader's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum KnownRecords {
    /// All are, as the reader is in no share group.
    #[default]
    All,
    /// Those in the ranges are.
    Ranges,
    /// Nothing: they were not captured.
    Nothing,
}

/// The records of a partition that are the reader's.
#[derive(Debug, Default)]
pub(super) struct AcquiredRecords {
    known: KnownRecords,
    ranges: Vec<AcquiredRange>,
}

impl AcquiredRecords {
    /// Stores the ranges of a partition; `None` if they were not captured.
    pub fn set(&mut self, array: Option<KafkaFields<'_>>) {
        self.ranges.clear();
        let counted = array.and_then(|mut array| Some((array.count().ok()?, array)));
        let Some((count, mut array)) = counted.filter(|(count, _)| *count <= MAX_RANGES) else {
            self.known = KnownRecords::Nothing;
            return;
        };
        self.ranges.extend((0..count).map_while(|_| range(&mut array).ok()));
        self.known = KnownRecords::Ranges;
    }

    /// Notes that the records are of a response to who is in no share group.
    pub fn set_all(&mut self) {
        self.known = KnownRecords::All;
    }

    /// True if it is not known which records are the reader's.
    pub fn is_unknown(&self) -> bool {
        self.known == KnownRecords::Nothing
    }

    /// Returns the meaning for a member of the record with this offset; `None` if the reader is in no share group.
    pub fn status(&self, offset: i64) -> Option<RecordStatus> {
        if self.known == KnownRecords::All {
            return None;
        }
        let mut ranges = self.ranges.iter();
        let range = ranges.find(|range| (range.first..=range.last).contains(&offset));
        Some(match range {
            None => RecordStatus::Skipped,
            Some(range) if range.deliveries > 1 => RecordStatus::Again,
            Some(_) => RecordStatus::Message,
        })
    }
}
