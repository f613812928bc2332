//! The layouts of bodies with records.
//!
//! ```text
//! ProduceRequest 0-13                          FetchResponse 0-18
//!   [9+ compact]                                 [12+ compact]
//!   transactional id, nullable   [3+]            i32 throttle time                  [1+]
//!   i16 acks                                     i16 error, i32 session id          [7+]
//!   i32 timeout                                  topics, array of
//!   topics, array of                               name | uuid [13+: KIP-516]
//!     name | uuid [13+: KIP-516]                   partitions, array of
//!     partitions, array of                           i32 index, i16 error
//!       i32 index                                    i64 high watermark
//!       records, as bytes                            i64 last stable offset         [4+]
//!                                                    i64 log start offset           [5+]
//!                                                    aborted transactions, array of (i64, i64) [4+]
//!                                                    i32 preferred read replica     [11+]
//!                                                    records, as bytes
//! ```
//!
//! The layout of a `ShareFetch` response is in `share`.

use super::apis::{ApiCall, FETCH, PRODUCE, SHARE_FETCH};
use super::fields::{KafkaFieldError, KafkaFields, KafkaResult, ensure};
use super::share;
use super::topic_name::{KafkaTopic, is_name};

/// Plausible error codes (protocol guide, "Error Codes"), with room for future ones.
const ERRORS: std::ops::RangeInclusive<i16> = -1..=255;

/// The error of a partition of which the consumer asked for an offset that the log has no more, or not yet.
const OFFSET_OUT_OF_RANGE: i16 = 1;

/// The fields of a partition before its records.
pub(super) struct PartitionHead<'a> {
    pub index: i32,
    /// The array of its aborted transactions.
    pub aborted: Option<KafkaFields<'a>>,
    /// True if the log does not have the offset that the consumer asked for.
    pub is_out_of_range: bool,
}

/// The layout of a body, which depends on API and version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BodyLayout {
    pub call: ApiCall,
    /// True if topics are given by their IDs.
    ids: bool,
}

impl BodyLayout {
    /// The layout of this call's body with records; `None` if there is none, or the version is not known.
    pub fn of(call: ApiCall) -> Option<BodyLayout> {
        let known = match call.key {
            PRODUCE => 0..=13,
            FETCH => 0..=18,
            SHARE_FETCH => share::VERSIONS,
            _ => return None,
        };
        let ids = call.version >= 13 || call.key == SHARE_FETCH;
        known.contains(&call.version).then_some(BodyLayout { call, ids })
    }

    /// True if it is that of a response to a share group's member.
    pub fn is_shared(self) -> bool {
        self.call.key == SHARE_FETCH
    }

    /// Skips the fields before the array of topics.
    pub fn start(self, fields: &mut KafkaFields<'_>) -> KafkaResult<()> {
        if self.is_shared() {
            return share::start(self.call.version, fields);
        }
        if self.call.key == PRODUCE {
            let acks = acks(self.call, fields)?;
            ensure((-1..=1).contains(&acks))?;
            return fields.take(4).map(drop);
        }
        ensure(self.call.version == 0 || fields.i32()? >= 0)?;
        if self.call.version >= 7 {
            ensure(ERRORS.contains(&fields.i16()?) && fields.i32()? >= 0)?;
        }
        Ok(())
    }

    pub fn topic<'a>(self, fields: &mut KafkaFields<'a>) -> KafkaResult<KafkaTopic<'a>> {
        if self.ids {
            let id = fields.uuid()?;
            ensure(id != [0; 16])?;
            return Ok(KafkaTopic::Id(id));
        }
        let name = fields.string()?.ok_or(KafkaFieldError::Malformed)?;
        ensure(is_name(name))?;
        Ok(KafkaTopic::Name(name))
    }

    /// Skips a partition up to its records.
    pub fn partition<'a>(self, fields: &mut KafkaFields<'a>) -> KafkaResult<PartitionHead<'a>> {
        let index = fields.i32()?;
        ensure(index >= 0)?;
        let (mut aborted, mut is_out_of_range) = (None, false);
        if self.is_shared() {
            share::partition(fields)?;
        } else if self.call.key == FETCH {
            let error = fields.i16()?;
            ensure(ERRORS.contains(&error))?;
            is_out_of_range = error == OFFSET_OUT_OF_RANGE;
            let offsets = match self.call.version {
                0..=3 => 1,
                4 => 2,
                _ => 3,
            };
            for _ in 0..offsets {
                ensure(fields.i64()? >= -1)?;
            }
            if self.call.version >= 4 {
                aborted = Some(*fields);
                for _ in 0..fields.count()? {
                    fields.take(16)?;
                    fields.tags()?;
                }
            }
            if self.call.version >= 11 {
                fields.take(4)?;
            }
        }
        Ok(PartitionHead { index, aborted, is_out_of_range })
    }
}

/// Reads how many acknowledgements a Produce request asks for, and what stands before them.
pub(super) fn acks(call: ApiCall, fields: &mut KafkaFields<'_>) -> KafkaResult<i16> {
    if call.version >= 3 {
        fields.string()?;
    }
    fields.i16()
}
