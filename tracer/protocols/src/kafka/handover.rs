//! Records that are sent to two consumers of a group, because a partition moved from one to the other (rebalance).
//!
//! The consumer that takes a partition over begins at the offset that the group has committed, so records that the previous
//! consumer was sent from there on are sent again. The previous consumer's library discards the records that it still
//! buffers, but records that it had already delivered without a commit are processed twice. Packets do not show which of
//! the two happened, so these records are only counted.
//!
//! Clients request the group's offsets and the records on different connections, which share this table. Groups that read
//! the same partition are independent of each other. A consumer belongs to the group whose `OffsetFetch` response had the
//! offset at which the consumer begins, or which commits what it alone has read.
//!
//! ```text
//! OffsetFetchRequest 0-7
//!   group, …
//! OffsetFetchResponse
//!   i32 throttle time [3+]
//!   groups [8+], array of (or one, without its name)
//!     group
//!     topics, array of
//!       name | uuid [10+]
//!       partitions, array of
//!         i32 index, i64 committed offset, -1: none, i32 leader epoch [5+], metadata, i16 error
//! ```

use super::apis::ApiCall;
use super::fields::{KafkaFields, KafkaResult};
use super::topic_name::hash;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use wirelap_events::Saturate;

/// The hash of a topic's name, and the partition.
pub(super) type PartitionKey = (u64, i32);

/// The most partitions that are remembered; further ones are ignored.
const MAX_PARTITIONS: usize = 4096;
/// The most consumers of a partition that are remembered; then the first is forgotten.
const READERS: usize = 8;
/// The most groups' offsets of a partition that are remembered; then the first is forgotten.
const MAX_OFFSETS: usize = 8;

/// Identifies a consumer by a number for its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConsumerId(u64);

/// A consumer has begun to read a partition that another consumer read before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TakeOver {
    /// The offset after the last record that the other one was sent, if that is a member of its group.
    pub read_before: Option<i64>,
    /// The records behind that one, and before the offset at which it begins: its group had committed no offset, so that it begins where
    /// its settings say (`auto.offset.reset`).
    pub passed_over: u64,
    /// True if the other one is known to be of its group. Otherwise, they are records that no consumer that was seen has read.
    pub is_same_group: bool,
}

/// The table of consumers and groups that connections share.
#[derive(Debug, Default)]
pub(super) struct Handovers(Mutex<HandoverTable>);

impl Handovers {
    /// Locks the table.
    pub fn open(&self) -> MutexGuard<'_, HandoverTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The records that each consumer was sent.
#[derive(Debug, Default)]
pub(super) struct HandoverTable {
    partitions: FxHashMap<PartitionKey, Partition>,
    readers: u64,
    /// Records that were sent twice and are not reported yet.
    found: u64,
}

#[derive(Debug, Default)]
struct Partition {
    /// The groups that requested their offsets, and the offsets in the responses.
    offsets: VecDeque<(u64, i64)>,
    spans: VecDeque<ReadRange>,
}

/// The records of a partition that a consumer was sent.
#[derive(Clone, Copy, Debug)]
struct ReadRange {
    reader: ConsumerId,
    /// `None` if the consumer has no group, or joined it before the observation began.
    group: Option<u64>,
    from: i64,
    /// The offset after the last record.
    to: i64,
    has_left: bool,
    /// Number of these records that the previous consumer was also sent.
    twice: i64,
}

impl HandoverTable {
    /// A new number for a connection's consumer.
    pub fn reader(&mut self) -> ConsumerId {
        self.readers.grow(1);
        ConsumerId(self.readers)
    }

    /// Stores the offset that a group has committed.
    pub fn set_offset(&mut self, key: PartitionKey, group: u64, offset: i64) {
        let Some(partition) = self.partition(key) else { return };
        partition.offsets.retain(|(known, _)| *known != group);
        if partition.offsets.len() == MAX_OFFSETS {
            partition.offsets.pop_front();
        }
        partition.offsets.push_back((group, offset));
    }

    /// A group has committed an offset: a consumer of no known group that alone has been sent the records before it is a member.
    pub fn commits(&mut self, key: PartitionKey, group: u64, offset: i64) {
        let Some(partition) = self.partitions.get_mut(&key) else { return };
        let reads =
            |span: &&mut ReadRange| !span.has_left && (span.from..=span.to).contains(&offset);
        let mut readers = partition.spans.iter_mut().filter(reads);
        if let (Some(span), None) = (readers.next(), readers.next()) {
            span.group = span.group.or(Some(group));
        }
    }

    /// Notes that a consumer begins to read a partition. Returns what it takes over, if others read it before.
    pub fn begins(&mut self, key: PartitionKey, reader: ConsumerId, from: i64) -> Option<TakeOver> {
        let partition = self.partition(key)?;
        let fits = |&&(_, offset): &&(u64, i64)| offset == from || offset < 0;
        let fitting = partition.offsets.iter().rev().find(fits).copied();
        let own = partition.spans.iter().find(|span| span.reader == reader);
        let group = own.and_then(|own| own.group).or(fitting.map(|(group, _)| group));
        partition.spans.retain(|span| span.reader != reader);
        if partition.spans.len() == READERS {
            partition.spans.pop_front();
        }
        let span = ReadRange { reader, group, from, to: from, has_left: false, twice: 0 };
        let before = || partition.spans.iter().filter(|before| before.is_of_member_before(&span));
        let read_before = before().map(|before| before.to).max();
        let is_same_group = before().any(|before| before.group.is_some());
        // What another group reads is nothing to a group.
        let seen = partition.spans.iter().map(|before| before.to).max();
        let last = if is_same_group { read_before } else { seen };
        let has_no_offset = fitting.is_some_and(|(_, committed)| committed < 0);
        let passed_over = last.filter(|_| has_no_offset).map(|last| from.saturating_sub(last));
        let passed_over = passed_over.and_then(|records| u64::try_from(records).ok());
        partition.spans.push_back(span);
        last.map(|_| TakeOver {
            read_before,
            passed_over: passed_over.unwrap_or_default(),
            is_same_group,
        })
    }

    /// Notes that a consumer was sent the records before this offset, and whether it has stopped reading the partition.
    pub fn reaches(&mut self, key: PartitionKey, reader: ConsumerId, to: i64, has_left: bool) {
        let Some(partition) = self.partitions.get_mut(&key) else { return };
        let Some(span) = partition.spans.iter_mut().find(|span| span.reader == reader) else {
            return;
        };
        if to <= span.to && has_left == span.has_left {
            return;
        }
        (span.to, span.has_left) = (span.to.max(to), has_left);
        self.found = self.found.saturating_add(partition.compare());
    }

    /// A topic that was known by its ID alone has a name: what is known of its partition is that of the named one.
    pub fn rename(&mut self, id: PartitionKey, name: PartitionKey) {
        let Some(old) = self.partitions.remove(&id) else { return };
        let Some(partition) = self.partition(name) else { return };
        partition.offsets.extend(old.offsets);
        partition.spans.extend(old.spans);
        partition.offsets.truncate(MAX_OFFSETS);
        partition.spans.truncate(READERS);
    }

    /// The records that were sent twice since the last call.
    pub fn take_found(&mut self) -> u64 {
        std::mem::take(&mut self.found)
    }

    fn partition(&mut self, key: PartitionKey) -> Option<&mut Partition> {
        let has_room = self.partitions.len() < MAX_PARTITIONS || self.partitions.contains_key(&key);
        has_room.then(|| self.partitions.entry(key).or_default())
    }
}

impl Partition {
    /// Returns the number of further records that were sent twice since the last call.
    fn compare(&mut self) -> u64 {
        let mut found: u64 = 0;
        for index in 0..self.spans.len() {
            let Some(after) = self.spans.get(index).copied() else { break };
            let before = self.spans.iter().filter(|before| before.hands_over_to(&after));
            let to = before.map(|before| before.to).max().unwrap_or(after.from);
            let twice = to.min(after.to).saturating_sub(after.from);
            if let (Ok(more), Some(span)) =
                (u64::try_from(twice.saturating_sub(after.twice)), self.spans.get_mut(index))
            {
                found = found.saturating_add(more);
                span.twice = twice.max(after.twice);
            }
        }
        found
    }
}

impl ReadRange {
    /// True if `after` is of another member of the same group, which the group has given the partition since. If a member hangs,
    /// nobody sees that it stops reading.
    fn is_of_member_before(&self, after: &ReadRange) -> bool {
        let is_known = self.group.is_some() && self.group == after.group;
        is_known && self.reader != after.reader || self.hands_over_to(after)
    }

    /// True if `after` took the partition over from this consumer. Only one consumer of a group reads a partition at a time.
    fn hands_over_to(&self, after: &ReadRange) -> bool {
        let is_group = match (self.group, after.group) {
            (Some(before), Some(after)) => before == after,
            // The previous consumer was reading before the observation began, and the group has committed some of its records.
            (None, Some(_)) => self.from < after.from,
            (_, None) => false,
        };
        self.has_left && is_group && self.reader != after.reader && self.from <= after.from
    }
}

/// The group whose offsets a request asks for; in newer versions the response has it.
pub(super) fn asked_for(call: ApiCall, mut body: KafkaFields<'_>) -> Option<u64> {
    (call.version < 8).then(|| body.string().ok().flatten().map(hash)).flatten()
}

/// Stores the offsets in the body of an `OffsetFetch` response. `name` hashes the name of the topic with an ID.
pub(super) fn learn(
    handovers: &Handovers,
    call: ApiCall,
    body: KafkaFields<'_>,
    asked: Option<u64>,
    name: impl Fn([u8; 16]) -> u64,
) {
    let mut answer = OffsetFetchReader { table: handovers.open(), call, name };
    // The offsets before a truncated end are kept.
    let _ = answer.read(body, asked);
}

struct OffsetFetchReader<'t, N> {
    table: MutexGuard<'t, HandoverTable>,
    call: ApiCall,
    name: N,
}

impl<N: Fn([u8; 16]) -> u64> OffsetFetchReader<'_, N> {
    fn read(&mut self, mut fields: KafkaFields<'_>, asked: Option<u64>) -> KafkaResult<()> {
        fields.take(if self.call.version >= 3 { 4 } else { 0 })?;
        if self.call.version < 8 {
            return self.topics(&mut fields, asked);
        }
        for _ in 0..fields.count()? {
            let group = fields.string()?.map(hash);
            self.topics(&mut fields, group)?;
            fields.take(2)?;
            fields.tags()?;
        }
        Ok(())
    }

    fn topics(&mut self, fields: &mut KafkaFields<'_>, group: Option<u64>) -> KafkaResult<()> {
        for _ in 0..fields.count()? {
            let topic = match self.call.version {
                10.. => Some((self.name)(fields.uuid()?)),
                _ => fields.string()?.map(hash),
            };
            for _ in 0..fields.count()? {
                let (index, offset) = (fields.i32()?, fields.i64()?);
                fields.take(if self.call.version >= 5 { 4 } else { 0 })?;
                fields.string()?;
                fields.take(2)?;
                fields.tags()?;
                if let (Some(topic), Some(group)) = (topic, group) {
                    self.table.set_offset((topic, index), group, offset);
                }
            }
            fields.tags()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
