//! Offsets that a group commits, which tell whose member a consumer is that read before the observation began.
//!
//! ```text
//! OffsetCommitRequest
//!   group, i32 generation [1+], member [1+], i64 retention [2-4], instance [7+]
//!   topics, array of
//!     name | uuid [10+]
//!     partitions, array of
//!       i32 index, i64 offset, i64 time [1], i32 leader epoch [6+], metadata
//! ```

use super::apis::ApiCall;
use super::fields::{KafkaFields, KafkaResult};
use super::handover::Handovers;
use super::topic_name::hash;

/// Notes the offsets in the body of an `OffsetCommit` request. `name` hashes the name of the topic with an ID.
pub(super) fn learn(
    handovers: &Handovers,
    call: ApiCall,
    body: KafkaFields<'_>,
    name: impl Fn([u8; 16]) -> u64,
) {
    // The offsets before a truncated end are kept.
    let _ = read(handovers, call, body, name);
}

fn read(
    handovers: &Handovers,
    call: ApiCall,
    mut fields: KafkaFields<'_>,
    name: impl Fn([u8; 16]) -> u64,
) -> KafkaResult<()> {
    let is_from = |first: i16| call.version >= first;
    let Some(group) = fields.string()?.map(hash) else { return Ok(()) };
    if is_from(1) {
        fields.take(4)?;
        fields.string()?;
    }
    fields.take(if matches!(call.version, 2..=4) { 8 } else { 0 })?;
    if is_from(7) {
        fields.string()?;
    }
    let mut table = handovers.open();
    for _ in 0..fields.count()? {
        let topic =
            if is_from(10) { Some(name(fields.uuid()?)) } else { fields.string()?.map(hash) };
        for _ in 0..fields.count()? {
            let (index, offset) = (fields.i32()?, fields.i64()?);
            fields.take(if call.version == 1 { 8 } else { 0 })?;
            fields.take(if is_from(6) { 4 } else { 0 })?;
            fields.string()?;
            fields.tags()?;
            if let Some(topic) = topic {
                table.commits((topic, index), group, offset);
            }
        }
        fields.tags()?;
    }
    Ok(())
}
