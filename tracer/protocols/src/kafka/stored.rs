//! Offsets at which a broker stores the records of Produce requests.
//!
//! ```text
//! ProduceResponse 0-13
//!   [9+ compact]
//!   topics, array of
//!     name | uuid [13+]
//!     partitions, array of
//!       i32 index, i16 error
//!       i64 base offset
//!       i64 append time                         [2+]
//!       i64 log start offset                    [5+]
//!       record errors, array of                 [8+]
//!         i32 index, message, nullable
//!       error message, nullable                 [8+]
//!   i32 throttle time (ms)                      [1+]
//! ```
//!
//! The records of a partition get successive offsets from the base offset on. These are the only identity of records whose
//! producer does not number them: equal ones may come from several producers in the same millisecond.

use super::apis::ApiCall;
use super::fields::{KafkaFields, KafkaResult};
use super::layout::BodyLayout;
use super::topic_name::{KafkaTopic, hash};
use super::topics::TopicPartition;
use crate::{FrameNote, FrameSink, LogPlace};
use std::collections::VecDeque;
use wirelap_events::Saturate;

/// The most partitions in unanswered requests that are remembered; then the first is forgotten. Clients have a handful of
/// requests in flight.
const MAX_UNANSWERED: usize = 1024;

/// The capacity that is kept when no request is unanswered.
const IDLE_CAPACITY: usize = 16;

/// The records of one partition in a request.
#[derive(Clone, Copy, Debug)]
struct SentRecords {
    /// The request's correlation ID.
    request: i32,
    /// The partition as the request names it.
    partition: (u64, i32),
    log: u64,
    /// The numbers of the records.
    first: u64,
    count: u64,
}

/// The records of a connection whose offsets are not known yet.
#[derive(Debug, Default)]
pub(super) struct UnplacedRecords {
    numbered: u64,
    open: VecDeque<SentRecords>,
}

impl UnplacedRecords {
    /// Numbers the next record of the request with this correlation ID.
    pub fn number(&mut self, request: i32, at: &TopicPartition) -> u64 {
        let number = self.numbered;
        self.numbered = number.wrapping_add(1);
        let partition = at.key();
        match self.open.back_mut() {
            Some(last) if (last.request, last.partition) == (request, partition) => {
                last.count.grow(1);
            }
            _ => {
                if self.open.len() >= MAX_UNANSWERED {
                    self.open.pop_front();
                }
                let log = at.log();
                let sent = SentRecords { request, partition, log, first: number, count: 1 };
                self.open.push_back(sent);
            }
        }
        number
    }

    /// Reports the places that the response with this correlation ID has.
    pub fn answered(
        &mut self,
        request: i32,
        call: ApiCall,
        body: KafkaFields<'_>,
        out: &mut dyn FrameSink,
    ) {
        if self.open.is_empty() {
            return;
        }
        // The partitions before a truncated end are kept.
        let _ = read(call, body, |stored| {
            let key = (hash(stored.topic), stored.index);
            let is_its = |sent: &&SentRecords| (sent.request, sent.partition) == (request, key);
            for sent in self.open.iter().filter(is_its) {
                let base = u64::try_from(stored.base_offset).ok().filter(|_| stored.error == 0);
                let place = base.map(|offset| LogPlace { log: sent.log, offset });
                out.note(FrameNote::GivesPlaces { first: sent.first, count: sent.count, place });
            }
        });
        // A broker answers in order, so that what was sent before is not answered any more.
        let answered = self.open.iter().rposition(|sent| sent.request == request);
        self.open.drain(..answered.map_or(0, |last| last.saturating_add(1)));
        if self.open.is_empty() {
            self.open.shrink_to(IDLE_CAPACITY);
        }
    }
}

/// A partition in a response.
pub(super) struct StoredPartition<'a> {
    pub topic: KafkaTopic<'a>,
    pub index: i32,
    pub error: i16,
    pub base_offset: i64,
}

/// Calls `each` with the partitions of a Produce response. Returns the throttle time.
pub(super) fn read<'a>(
    call: ApiCall,
    mut body: KafkaFields<'a>,
    mut each: impl FnMut(StoredPartition<'a>),
) -> KafkaResult<i32> {
    let Some(layout) = BodyLayout::of(call) else { return Ok(0) };
    for _ in 0..body.count()? {
        let topic = layout.topic(&mut body)?;
        for _ in 0..body.count()? {
            let (index, error, base_offset) = (body.i32()?, body.i16()?, body.i64()?);
            body.take(if call.version >= 2 { 8 } else { 0 })?;
            body.take(if call.version >= 5 { 8 } else { 0 })?;
            if call.version >= 8 {
                for _ in 0..body.count()? {
                    body.i32()?;
                    body.string()?;
                    body.tags()?;
                }
                body.string()?;
            }
            body.tags()?;
            each(StoredPartition { topic, index, error, base_offset });
        }
        body.tags()?;
    }
    if call.version >= 1 { body.i32() } else { Ok(0) }
}

#[cfg(test)]
mod tests {
    use super::super::apis::PRODUCE;
    use super::super::topics::KafkaTopics;
    use super::*;
    use crate::FrameNote;
    use wirelap_events::Frame;

    /// A response of a version: partition 3 of topic `t` begins at 590, and partition 4 was refused.
    fn response(version: i16) -> Vec<u8> {
        let is_compact = version >= 9;
        let count = |n: u8| if is_compact { vec![n + 1] } else { vec![0, 0, 0, n] };
        let tags = || if is_compact { vec![0] } else { Vec::new() };
        let partition = |index: u8, error: u8, offset: i64| {
            let mut bytes = vec![0, 0, 0, index, 0, error];
            bytes.extend(offset.to_be_bytes());
            bytes.extend(&[0xFF; 8][..if version >= 2 { 8 } else { 0 }]);
            bytes.extend(&[0; 8][..if version >= 5 { 8 } else { 0 }]);
            if version >= 8 {
                // One record error, and a message.
                bytes.extend(count(1));
                bytes.extend([0; 4]);
                let text: &[u8] = if is_compact { b"\x02x" } else { b"\0\x01x" };
                bytes.extend(text);
                bytes.extend(tags());
                bytes.extend(text);
            }
            bytes.extend(tags());
            bytes
        };
        let topic = match version {
            13.. => vec![7; 16],
            9.. => b"\x02t".to_vec(),
            _ => b"\0\x01t".to_vec(),
        };
        let partitions = [count(2), partition(4, 6, -1), partition(3, 0, 590)].concat();
        let throttle: &[u8] = if version >= 1 { &[0, 0, 0, 9] } else { &[] };
        [count(1), topic, partitions, tags(), throttle.to_vec(), tags()].concat()
    }

    /// Places that the decoder reports.
    #[derive(Default)]
    struct Given(Vec<(u64, u64, Option<u64>)>);

    impl FrameSink for Given {
        fn frame(&mut self, _frame: &Frame<'_>) {}

        fn note(&mut self, note: FrameNote<'_>) {
            if let FrameNote::GivesPlaces { first, count, place } = note {
                self.0.push((first, count, place.map(|place| place.offset)));
            }
        }
    }

    #[test]
    fn every_version_tells_where_records_are_stored() {
        for version in 0..=13 {
            let call = ApiCall { key: PRODUCE, version };
            let topic =
                if version >= 13 { KafkaTopic::Id([7; 16]) } else { KafkaTopic::Name(b"t") };
            let mut at = TopicPartition::default();
            let mut records = UnplacedRecords::default();
            let mut sent = |request, partition| {
                at.follow(Some(topic), Some(partition), &KafkaTopics::default());
                records.number(request, &at)
            };
            let numbers = [sent(1, 3), sent(2, 3), sent(2, 3), sent(2, 4), sent(3, 3)];
            assert_eq!(numbers, [0, 1, 2, 3, 4]);
            let bytes = response(version);
            let body = KafkaFields::new(&bytes, bytes.len() as u64).flexible(call.is_flexible());
            assert_eq!(read(call, body, |_| ()), Ok(if version >= 1 { 9 } else { 0 }), "{version}");
            let mut given = Given::default();
            records.answered(2, call, body, &mut given);
            assert_eq!(given.0, [(3, 1, None), (1, 2, Some(590))], "version {version}");
            // What was sent before it is not answered any more.
            assert_eq!(records.open.len(), 1);
        }
    }

    #[test]
    fn unanswered_requests_are_bounded() {
        let (mut records, at) = (UnplacedRecords::default(), TopicPartition::default());
        (0..5000).for_each(|request| _ = records.number(request, &at));
        assert_eq!(records.open.len(), MAX_UNANSWERED);
    }
}
