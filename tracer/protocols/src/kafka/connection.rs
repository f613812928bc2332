//! The decoder of one connection: requests in one direction, responses in the other.

use super::apis::{ApiCall, FETCH, METADATA, OFFSET_COMMIT, OFFSET_FETCH, PRODUCE, SHARE_FETCH};
use super::calls::PendingRequests;
use super::commit;
use super::fetch::ConsumerPositions;
use super::fields::{KafkaFieldError, KafkaFields, KafkaResult};
use super::handover;
use super::head::PduHead;
use super::header;
use super::meaning::ConnectionState;
use super::names::RequestNames;
use super::open::OpenPdu;
use super::share;
use super::stored::UnplacedRecords;
use super::survey::{self, Confidence, RecognisedPdu};
use super::throttle;
use super::topic_name::KafkaTopic;
use super::topics::{self, KafkaTopics, TopicPartition};
use super::unpack::DecompressBuffer;
use crate::connection::{KEPT_BYTES, frame_without_data};
use crate::{Connection, FrameNote, FrameSink, Pdu, PduLen, Side, Throttle};
use std::sync::Arc;
use wirelap_events::{ByteRange, FrameClass};

/// PDUs up to this length are decoded as a whole. The records of a longer PDU are decoded as they arrive, so that a response
/// of 50 MB needs little memory.
const WAITED_FOR: u64 = 64 << 10;

/// Bytes that are kept of what can be decoded only as a whole: a compressed batch, and a response to a share group's member.
/// This is twice the default limit of brokers for a batch (`message.max.bytes`).
const WHOLE_BYTES: usize = 2 << 20;

/// The decoder of one connection.
#[derive(Debug, Default)]
pub(super) struct KafkaConnection {
    /// The client, once it is certain which side that is.
    client: Option<Side>,
    calls: PendingRequests,
    topics: Arc<KafkaTopics>,
    positions: ConsumerPositions,
    unpacked: DecompressBuffer,
    unplaced: UnplacedRecords,
    ends: [KafkaSideState; 2],
    /// The last request for a group's offsets, and the group.
    group: Option<(i32, u64)>,
    names: RequestNames,
}

/// The PDU that one side is sending.
#[derive(Debug, Default)]
struct KafkaSideState {
    open: Option<OpenPdu>,
    at: TopicPartition,
}

impl KafkaConnection {
    /// A decoder that shares the names of topics with other conversations.
    pub fn new(topics: Arc<KafkaTopics>) -> KafkaConnection {
        KafkaConnection { topics, ..KafkaConnection::default() }
    }

    /// Reads the head of a PDU of `total` bytes.
    fn head<'a>(
        &self,
        side: Side,
        bytes: &'a [u8],
        total: u64,
        is_all: bool,
    ) -> KafkaResult<PduHead<'a>> {
        let by_client = self.client.map(|client| client == side);
        PduHead::read(bytes, total, is_all, by_client, &self.calls)
    }

    /// Updates the connection's state from a head.
    fn follow(&mut self, side: Side, head: &PduHead<'_>, out: &mut dyn FrameSink) {
        self.calls.saw(head.correlation_id);
        let Some(call) = head.call else { return };
        if head.is_request {
            self.client = Some(side);
            self.calls.asked(head.correlation_id, call, head.wants_response());
            self.names.report(side, head, out);
            self.follow_request(head.correlation_id, call, head.body, out);
            return;
        }
        self.client = Some(side.other());
        self.calls.answered(head.correlation_id);
        if let Some(time) = throttle::of_response(call, head.body) {
            out.note(FrameNote::Throttles(Throttle::For(time)));
        }
        match call.key {
            FETCH | SHARE_FETCH => out.note(FrameNote::Answers),
            PRODUCE => self.unplaced.answered(head.correlation_id, call, head.body, out),
            METADATA => topics::learn(&self.topics, call, head.body),
            OFFSET_FETCH => {
                let topics = &self.topics;
                let asked = self.group.filter(|(id, _)| *id == head.correlation_id);
                let number = |id| topics.number(KafkaTopic::Id(id));
                let group = asked.map(|(_, group)| group);
                handover::learn(&topics.handovers, call, head.body, group, number);
            }
            _ => {}
        }
    }

    fn follow_request(
        &mut self,
        id: i32,
        call: ApiCall,
        body: KafkaFields<'_>,
        out: &mut dyn FrameSink,
    ) {
        match call.key {
            FETCH => {
                if let Some((ask, twice)) = self.positions.asked(id, call, body, &self.topics) {
                    out.note(FrameNote::Asks(ask));
                    for (topic, asks) in self.positions.take_changes() {
                        out.note(FrameNote::AsksForTopic { topic, asks });
                    }
                    if twice > 0 {
                        out.note(FrameNote::ReadTwice(twice));
                    }
                    let [seen, of_group] = self.positions.take_passed_over();
                    for (records, is_same_group) in [(seen, false), (of_group, true)] {
                        if records > 0 {
                            out.note(FrameNote::PassedOver { records, is_same_group });
                        }
                    }
                    let not_kept = self.positions.take_not_kept();
                    if not_kept > 0 {
                        out.note(FrameNote::NotKept(not_kept));
                    }
                }
            }
            SHARE_FETCH => {
                if let Ok(ask) = share::asked(body) {
                    out.note(FrameNote::Asks(ask));
                }
            }
            OFFSET_COMMIT => {
                let number = |id| self.topics.number(KafkaTopic::Id(id));
                commit::learn(&self.topics.handovers, call, body, number);
            }
            OFFSET_FETCH => {
                self.group = handover::asked_for(call, body).map(|group| (id, group));
            }
            _ => {}
        }
    }

    /// Decodes the next bytes of `range`, and opens or closes the side's PDU. Returns how many bytes were decoded.
    fn step(&mut self, side: Side, range: ByteRange, bytes: &[u8], out: &mut dyn FrameSink) -> u64 {
        let (mut open, before) = match self.ends[side as usize].open {
            Some(open) => (open, 0),
            None => match self.begin(side, range, bytes, out) {
                PduStart::Framed(len) => return len,
                PduStart::OpenPdu(open, before) => (open, before),
            },
        };
        let end = &mut self.ends[side as usize];
        let mut state = ConnectionState {
            at: &mut end.at,
            positions: &mut self.positions,
            topics: &self.topics,
            unpacked: &mut self.unpacked,
            awaited: open.awaits_places.then_some((open.id, &mut self.unplaced)),
        };
        let len = open.next_part((range, bytes, before), &mut state, out);
        end.open = (open.left > 0).then_some(open);
        len
    }

    /// Begins a PDU. A PDU without records is one frame.
    fn begin(
        &mut self,
        side: Side,
        range: ByteRange,
        bytes: &[u8],
        out: &mut dyn FrameSink,
    ) -> PduStart {
        let total =
            header::pdu_bytes(&mut KafkaFields::new(bytes, range.len())).unwrap_or(range.len());
        let head = self.head(side, bytes, total, true).ok();
        if let Some(head) = &head {
            self.follow(side, head, out);
            pairs(head, ByteRange::new(range.start, total), out);
            if head.walk.is_some() {
                return PduStart::OpenPdu(
                    OpenPdu::new(head, total),
                    total.saturating_sub(head.body.left()),
                );
            }
        }
        let (name, class) =
            head.map_or(("PDU", FrameClass::Opaque), |head| (head.name, head.class));
        let len = range.len().min(total);
        out.frame(&frame_without_data(ByteRange::new(range.start, len), name, class));
        self.ends[side as usize].open =
            (total > len).then(|| OpenPdu::unread(total.saturating_sub(len)));
        PduStart::Framed(len)
    }
}

/// The beginning of a PDU.
enum PduStart {
    /// A frame of so many bytes.
    Framed(u64),
    /// A PDU with records, and the number of bytes from its start to the first part of its body.
    OpenPdu(OpenPdu, u64),
}

impl Connection for KafkaConnection {
    fn pdu_len(&self, side: Side, head: &[u8]) -> PduLen {
        if let Some(open) = self.ends[side as usize].open {
            return open.pieces_len(head, 0);
        }
        let total = match span(head) {
            Ok(total) => total,
            Err(why) => return why,
        };
        if total <= WAITED_FOR.max(head.len() as u64) {
            return PduLen::Known(total);
        }
        match self.head(side, head, total, false) {
            // What is acquired is said at its end.
            Ok(found) if found.walk.is_some_and(|walk| walk.is_shared()) => PduLen::Known(total),
            Ok(found) => OpenPdu::new(&found, total)
                .pieces_len(head, total.saturating_sub(found.body.left())),
            Err(KafkaFieldError::Short(more)) => PduLen::Need(head.len().saturating_add(more)),
            Err(KafkaFieldError::Malformed) => PduLen::Known(total),
        }
    }

    fn span(&self, _: Side, head: &[u8]) -> PduLen {
        span(head).map_or_else(|why| why, PduLen::Known)
    }

    fn open_bytes(&self, side: Side) -> u64 {
        self.ends[side as usize].open.map_or(0, |open| open.left)
    }

    fn kept_bytes(&self, side: Side) -> usize {
        let open = self.ends[side as usize].open;
        let is_compressed = open.is_some_and(|open| open.is_compressed());
        let may_be_shared = self.client == Some(side.other()) && self.calls.is_awaited(SHARE_FETCH);
        if is_compressed || may_be_shared { WHOLE_BYTES } else { KEPT_BYTES }
    }

    fn is_certain(&self, _: Side, head: &[u8]) -> bool {
        survey::has_records(head)
    }

    fn resync(&self, side: Side, head: &[u8]) -> bool {
        let fits = |found: KafkaResult<RecognisedPdu>| {
            found.is_ok_and(|found| {
                found.evidence >= Confidence::Strong || self.calls.fits(found.correlation_id)
            })
        };
        match self.client {
            Some(client) if client == side => fits(survey::request(head)),
            Some(_) => fits(survey::response(head)) || survey::has_records(head),
            None => {
                fits(survey::request(head))
                    || fits(survey::response(head))
                    || survey::has_records(head)
            }
        }
    }

    fn stands_out(&self, head: &[u8]) -> bool {
        survey::stands_out(head)
    }

    fn pdu(&mut self, side: Side, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        let (mut range, mut bytes) = (pdu.range, pdu.bytes);
        while !range.is_empty() {
            let len = self.step(side, range, bytes, out);
            range.start = range.start.plus(len);
            let read = usize::try_from(len).unwrap_or(usize::MAX);
            bytes = bytes.get(read..).unwrap_or_default();
        }
    }

    fn copies_log(&self) -> bool {
        self.positions.is_replica
    }

    fn closed(&mut self) {
        self.positions.closed(&self.topics);
    }

    fn gap(&mut self, side: Side) {
        self.ends[side as usize].open = None;
        self.positions.gap();
    }
}

/// Reports a Produce request, if it gets a response, or such a response. A Fetch is kept waiting on purpose.
fn pairs(head: &PduHead<'_>, extent: ByteRange, out: &mut dyn FrameSink) {
    if head.call.is_none_or(|call| call.key != PRODUCE) {
        return;
    }
    let number = u64::from(head.correlation_id.cast_unsigned());
    if !head.is_request {
        out.note(FrameNote::Reply { number, extent });
    } else if head.wants_response() {
        out.requests(number, extent);
    }
}

/// Bytes of the PDU that starts with `head`.
fn span(head: &[u8]) -> Result<u64, PduLen> {
    header::pdu_bytes(&mut KafkaFields::new(head, u64::MAX)).map_err(|fault| match fault {
        KafkaFieldError::Short(more) => PduLen::Need(head.len().saturating_add(more)),
        KafkaFieldError::Malformed => PduLen::Invalid,
    })
}
