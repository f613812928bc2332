//! Fetch requests, and how far a consumer has read each partition.
//!
//! ```text
//! FetchRequest 0-18
//!   i32 replica id [-14]
//!   i32 max wait (ms), i32 min bytes, i32 max bytes [3+], i8 isolation level [4+]
//!   i32 session id, i32 session epoch           [7+]
//!   topics, array of
//!     name | uuid [13+]
//!     partitions, array of
//!       i32 index, i32 leader epoch [9+], i64 fetch offset, i32 last epoch [12+]
//!       i64 log start offset [5+], i32 max bytes
//!   forgotten topics [7+], rack [11+]
//!   tags: 1 replica state (i32 replica id, i64 epoch) [15+]
//! ```
//!
//! Later requests of a session (KIP-227, with an epoch above 0) name only the partitions that have changed, including those
//! whose offset has moved. Partitions that are no longer read are among the forgotten topics.

use super::apis::ApiCall;
use super::fields::{KafkaFields, KafkaResult};
use super::handover::{ConsumerId, HandoverTable, PartitionKey};
use super::layout::BodyLayout;
use super::status::RecordStatus;
use super::topic_name::{KafkaTopic, hash};
use super::topics::{KafkaTopics, TopicPartition};
use rustc_hash::FxHashMap;
use wirelap_events::Saturate;
use wirelap_events::{Nanos, RequestLimits};

/// The most partitions of a connection that are remembered; all records fetched from further ones count as messages.
const PARTITIONS: usize = 4096;

/// Messages of requests further back than this one had long been fetched otherwise.
const TAKEN_OVER: u32 = 64;

/// Position of a consumer in one partition.
#[derive(Clone, Copy, Debug, Default)]
struct ConsumerPosition {
    /// The requested offset. The broker sends whole batches, and the consumer discards the records before this offset.
    wanted: i64,
    /// The correlation ID of the request with `wanted`.
    since: i32,
    /// The offset that was requested before: if bytes arrive late, an older response may come after the request.
    before: i64,
    /// The offset after the last record that was sent to the consumer.
    next: i64,
    /// The partition's key in the table that connections share.
    place: PartitionKey,
    /// The number of the topic and partition.
    topic: u64,
    /// True if the consumer still reads the partition.
    is_read: bool,
    /// The number of the request with which it began to read.
    begun: u32,
    /// False if requests were missed since the last one that named the partition.
    is_current: bool,
    /// The offset that the consumer had asked for when the log did not have it.
    out_of_range: Option<i64>,
    /// The number of the request that took it over from another member of the consumer's group.
    taken_over: Option<u32>,
}

/// Positions of a consumer in its partitions.
#[derive(Debug, Default)]
pub(super) struct ConsumerPositions {
    all: FxHashMap<(u64, i32), ConsumerPosition>,
    /// The number of partitions that the consumer still reads.
    read: usize,
    /// The number of requests so far, and which of them took partitions over the last time.
    requests: u32,
    taken_over: Option<u32>,
    reader: Option<ConsumerId>,
    /// Partitions that it has left out since the last request or asks for again, by the number of the topic and partition.
    changes: Vec<(u64, bool)>,
    /// Records that no consumer was sent since the last call of [`ConsumerPositions::take_passed_over`]: behind those of others, and behind
    /// those of another member of its group.
    passed_over: [u64; 2],
    /// Records that the log had no more when the consumer asked for them, since the last call of [`ConsumerPositions::take_not_kept`].
    not_kept: u64,
    /// Names a partition.
    name: TopicPartition,
    /// True if the reader is another broker, which replicates the partitions.
    pub is_replica: bool,
    /// True if the consumer reads committed records only (KIP-98).
    pub is_committed: bool,
}

impl ConsumerPositions {
    /// Updates the positions from the body of the Fetch request with this correlation ID. Returns how long the broker may
    /// delay the response, and how many further records were sent to two consumers of a group.
    pub fn asked(
        &mut self,
        id: i32,
        call: ApiCall,
        body: KafkaFields<'_>,
        topics: &KafkaTopics,
    ) -> Option<(RequestLimits, u64)> {
        let mut fields = body;
        let FetchPreamble { ask, is_replica, is_committed, is_full } =
            head(call, &mut fields).ok()?;
        // A connection is one reader's: a later request that was captured in part is the same reader's.
        let is_first = self.reader.is_none();
        self.is_replica |= is_replica || is_first && is_of_replica(call, fields) == Ok(true);
        self.is_committed = is_committed;
        self.requests = self.requests.wrapping_add(1);
        let mut table = topics.handovers.open();
        let reader = *self.reader.get_or_insert_with(|| table.reader());
        let asking = FetchRequest { id, call, reader, topics };
        // The partitions before a truncated end are kept.
        if self.topics(&asking, &mut table, &mut fields) == Ok(NamedPartitions::Fewer) && is_full {
            self.leave(reader, &mut table, |position| position.since != id);
        }
        // A member that gave all its partitions up, and got some of them back with those of others, waited for the same rebalance.
        if self.taken_over == Some(self.requests) {
            let begun = |position: &&mut ConsumerPosition| position.begun == self.requests;
            self.all.values_mut().filter(begun).for_each(|position| {
                position.taken_over = self.taken_over;
            });
        }
        Some((ask, table.take_found()))
    }

    /// The consumer's connection is closed: it reads no partition any more.
    pub fn closed(&mut self, topics: &KafkaTopics) {
        if let Some(reader) = self.reader {
            self.leave(reader, &mut topics.handovers.open(), |_| true);
        }
    }

    fn leave(
        &mut self,
        reader: ConsumerId,
        table: &mut HandoverTable,
        which: impl Fn(&ConsumerPosition) -> bool,
    ) {
        for position in self.all.values_mut().filter(|one| one.is_read && which(one)) {
            position.is_read = false;
            self.changes.push((position.topic, false));
            self.read = self.read.saturating_sub(1);
            table.reaches(position.place, reader, position.next, true);
        }
    }

    /// Takes out which partitions the requests left out, or asked for again, since the last call.
    pub fn take_changes(&mut self) -> std::vec::Drain<'_, (u64, bool)> {
        self.changes.drain(..)
    }

    /// Takes out how many records it left between those of the consumer before it and its first: of an unknown consumer, and of another
    /// member of its group.
    pub fn take_passed_over(&mut self) -> [u64; 2] {
        std::mem::take(&mut self.passed_over)
    }

    /// Requests were missed.
    pub fn gap(&mut self) {
        for position in self.all.values_mut() {
            (position.is_current, position.out_of_range) = (false, None);
        }
    }

    /// Takes out how many records the log had no more when it asked for them: those between the offset that it got none for and the one at
    /// which it went on.
    pub fn take_not_kept(&mut self) -> u64 {
        std::mem::take(&mut self.not_kept)
    }

    /// The log does not have the offset of a partition that the request with this correlation ID is for. Returns true for a consumer.
    pub fn is_out_of_range(&mut self, id: i32, place: (u64, i32)) -> bool {
        if let Some(position) = self.all.get_mut(&place).filter(|one| one.is_current) {
            let is_older = position.since.wrapping_sub(id) > 0;
            position.out_of_range = Some(if is_older { position.before } else { position.wanted });
        }
        !self.is_replica
    }

    fn topics(
        &mut self,
        asking: &FetchRequest<'_>,
        table: &mut HandoverTable,
        fields: &mut KafkaFields<'_>,
    ) -> KafkaResult<NamedPartitions> {
        let call = asking.call;
        let Some(layout) = BodyLayout::of(call) else { return Ok(NamedPartitions::All) };
        let mut named = 0;
        for _ in 0..fields.count()? {
            let topic = layout.topic(fields)?;
            for _ in 0..fields.count()? {
                let (index, offset) = partition(call, fields)?;
                self.wants(asking, table, (topic, index), offset);
                named.grow(1);
            }
            fields.tags()?;
        }
        if call.version >= 7 {
            for _ in 0..fields.count()? {
                let topic = hash(layout.topic(fields)?);
                for _ in 0..fields.count()? {
                    let place = (topic, fields.i32()?);
                    if let Some(position) = self.all.get_mut(&place).filter(|one| one.is_read) {
                        position.is_read = false;
                        self.changes.push((position.topic, false));
                        self.read = self.read.saturating_sub(1);
                        table.reaches(position.place, asking.reader, position.next, true);
                    }
                }
                fields.tags()?;
            }
        }
        if call.version >= 11 {
            fields.string()?;
        }
        self.is_replica |= has_replica_state(call, fields)?;
        Ok(if named < self.read { NamedPartitions::Fewer } else { NamedPartitions::All })
    }

    fn wants(
        &mut self,
        asking: &FetchRequest<'_>,
        table: &mut HandoverTable,
        (topic, index): (KafkaTopic<'_>, i32),
        offset: i64,
    ) {
        let place = (hash(topic), index);
        if self.all.len() >= PARTITIONS && !self.all.contains_key(&place) {
            return;
        }
        let position = self.all.entry(place).or_default();
        (position.before, position.wanted, position.since) = (position.wanted, offset, asking.id);
        position.is_current = true;
        if self.is_replica {
            return;
        }
        // A log that has lost its end has the consumer go back.
        let skipped = position.out_of_range.filter(|&asked| asked != offset).and_then(|asked| {
            position.out_of_range = None;
            u64::try_from(offset.saturating_sub(asked)).ok()
        });
        self.not_kept.grow(skipped.unwrap_or_default());
        // The name of a topic that is given by an ID may have become known since, by which other members know it.
        let key = (asking.topics.number(topic), index);
        if let KafkaTopic::Id(id) = topic
            && key.0 != hash(id)
        {
            table.rename((hash(id), index), key);
        }
        if position.is_read {
            position.place = key;
            table.reaches(position.place, asking.reader, position.next, false);
            return;
        }
        position.is_read = true;
        if position.topic == 0 {
            self.name.follow(Some(topic), Some(index), asking.topics);
            position.topic = self.name.log();
        } else {
            self.changes.push((position.topic, true));
        }
        (position.begun, position.taken_over) = (self.requests, None);
        position.place = key;
        self.read.grow(1);
        let taken = table.begins(position.place, asking.reader, offset);
        if let Some(taken) = taken.filter(|taken| taken.passed_over > 0 && skipped.is_none()) {
            self.passed_over[usize::from(taken.is_same_group)].grow(taken.passed_over);
        }
        if taken.is_some_and(|taken| taken.read_before.is_some()) {
            self.taken_over = Some(self.requests);
        }
    }

    /// Notes a record in the response to the request with this correlation ID, and says what it means for the consumer.
    pub fn sent(&mut self, id: i32, place: (u64, i32), offset: i64) -> RecordStatus {
        let Some(position) = self.all.get_mut(&place) else { return RecordStatus::Message };
        let is_older = position.since.wrapping_sub(id) > 0;
        if offset < if is_older { position.before } else { position.wanted } {
            return RecordStatus::Skipped;
        }
        if offset < position.next {
            return RecordStatus::Again;
        }
        position.next = offset.saturating_add(1);
        // Records that the other member was sent and did not commit, too: they are sent again for that.
        let requests_ago = position.taken_over.map(|then| self.requests.wrapping_sub(then));
        match requests_ago.filter(|&requests| requests < TAKEN_OVER) {
            Some(requests_ago) => RecordStatus::TakenOver { requests_ago },
            None => RecordStatus::Message,
        }
    }
}

/// A Fetch request and its consumer.
struct FetchRequest<'a> {
    id: i32,
    call: ApiCall,
    reader: ConsumerId,
    topics: &'a KafkaTopics,
}

/// The partitions that a request names: all that its consumer reads, or fewer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NamedPartitions {
    All,
    Fewer,
}

/// The fields of a Fetch request before the topics.
struct FetchPreamble {
    ask: RequestLimits,
    is_replica: bool,
    is_committed: bool,
    /// True if partitions that the request does not name are no longer read; within a session they still are.
    is_full: bool,
}

fn head(call: ApiCall, fields: &mut KafkaFields<'_>) -> KafkaResult<FetchPreamble> {
    let replica = if call.version <= 14 { fields.i32()? } else { -1 };
    let wait = u64::try_from(fields.i32()?).unwrap_or(0);
    let least = u64::try_from(fields.i32()?).unwrap_or(0);
    fields.take(if call.version >= 3 { 4 } else { 0 })?;
    let is_committed = call.version >= 4 && fields.u8()? == 1;
    let mut is_full = true;
    if call.version >= 7 {
        fields.take(4)?;
        is_full = fields.i32()? <= 0;
    }
    let longest = Nanos::from_millis(wait);
    let ask = RequestLimits { longest, least_bytes: least };
    Ok(FetchPreamble { ask, is_replica: replica >= 0, is_committed, is_full })
}

/// Reads whether the request is another broker's, from its topics on: newer versions say that behind them.
fn is_of_replica(call: ApiCall, mut fields: KafkaFields<'_>) -> KafkaResult<bool> {
    let Some(layout) = BodyLayout::of(call).filter(|_| call.version >= 15) else {
        return Ok(false);
    };
    for _ in 0..fields.count()? {
        layout.topic(&mut fields)?;
        for _ in 0..fields.count()? {
            partition(call, &mut fields)?;
        }
        fields.tags()?;
    }
    for _ in 0..fields.count()? {
        layout.topic(&mut fields)?;
        for _ in 0..fields.count()? {
            fields.i32()?;
        }
        fields.tags()?;
    }
    fields.string()?;
    has_replica_state(call, &mut fields)
}

/// Reads the tags at the end of a request: the replica's state.
fn has_replica_state(call: ApiCall, fields: &mut KafkaFields<'_>) -> KafkaResult<bool> {
    let mut is_replica = false;
    if call.version >= 15 {
        fields.each_tag(|tag, value| {
            is_replica |= tag == 1 && value.i32().is_ok_and(|id| id >= 0);
        })?;
    }
    Ok(is_replica)
}

/// A partition's index and the requested offset.
fn partition(call: ApiCall, fields: &mut KafkaFields<'_>) -> KafkaResult<(i32, i64)> {
    let index = fields.i32()?;
    fields.take(if call.version >= 9 { 4 } else { 0 })?;
    let offset = fields.i64()?;
    fields.take(if call.version >= 12 { 4 } else { 0 })?;
    fields.take(if call.version >= 5 { 12 } else { 4 })?;
    fields.tags()?;
    Ok((index, offset))
}

#[cfg(test)]
mod tests {
    use super::super::apis::FETCH;
    use super::*;

    const TOPIC: [u8; 16] = [7; 16];

    /// A Fetch request of version 17 for records of partition 0 from 185 on, as a broker or a consumer sends it first.
    fn request(replica: Option<i32>) -> Vec<u8> {
        let mut body = [500_i32, 1, 1 << 20].map(i32::to_be_bytes).concat();
        body.push(0);
        body.extend([0_i32, 0].map(i32::to_be_bytes).concat());
        body.push(2);
        body.extend(TOPIC);
        body.push(2);
        body.extend([0_i32, -1].map(i32::to_be_bytes).concat());
        body.extend(185_i64.to_be_bytes());
        body.extend((-1_i32).to_be_bytes());
        body.extend(0_i64.to_be_bytes());
        body.extend((1_i32 << 20).to_be_bytes());
        body.extend([0, 0, 1, 1]);
        match replica {
            Some(id) => {
                body.extend([1, 1, 13]);
                body.extend(id.to_be_bytes());
                body.extend([0; 9]);
            }
            None => body.push(0),
        }
        body
    }

    /// Returns the records that a reader passes over that asks for 185 and later ones, where a member of a group without an offset was
    /// sent 100.
    fn passed_over(replica: Option<i32>) -> ([u64; 2], bool) {
        let topics = KafkaTopics::default();
        let place = (topics.number(KafkaTopic::Id(TOPIC)), 0);
        {
            let mut table = topics.handovers.open();
            table.set_offset(place, 9, -1);
            let member = table.reader();
            table.begins(place, member, 0);
            table.reaches(place, member, 100, false);
        }
        let body = request(replica);
        let call = ApiCall { key: FETCH, version: 17 };
        let mut positions = ConsumerPositions::default();
        let fields = KafkaFields::new(&body, body.len() as u64).flexible(true);
        positions.asked(1, call, fields, &topics).unwrap();
        (positions.take_passed_over(), positions.is_replica)
    }

    #[test]
    fn a_broker_that_copies_a_partition_takes_nothing_over() {
        assert_eq!(passed_over(None), ([0, 85], false), "a member passes 85 over");
        assert_eq!(passed_over(Some(3)), ([0, 0], true));
    }
}
