//! One connection: requests one way, responses the other.

use super::apis::{Call, FETCH, METADATA, OFFSET_FETCH};
use super::calls::Calls;
use super::fetch::Positions;
use super::fields::{Fault, Fields, Parsed};
use super::handover;
use super::head::Head;
use super::header;
use super::open::{Beside, Open, plain};
use super::survey::{self, Evidence, Sight};
use super::topics::{self, TopicPartition, Topics};
use super::unpack::Unpacked;
use super::walk::Topic;
use crate::stream::KEPT_BYTES;
use crate::{Connection, FrameSink, Pdu, PduLen, Side};
use std::sync::Arc;
use wirelap_events::{ByteRange, Class};

/// PDUs up to here are waited for; of a longer one the records are taken as they come, so that a
/// response of 50 MB needs no memory and its records are known when they are there.
const WAITED_FOR: u64 = 64 << 10;

/// So much is kept of a batch that is compressed, as nothing can be read of a part: twice the longest that a broker
/// takes unless it is told to take more (`message.max.bytes`).
const COMPRESSED_BYTES: usize = 2 << 20;

/// The decoder of one connection.
#[derive(Debug, Default)]
pub(super) struct Kafka {
    /// Who asks, once that is certain.
    client: Option<Side>,
    calls: Calls,
    topics: Arc<Topics>,
    positions: Positions,
    unpacked: Unpacked,
    ends: [End; 2],
    /// The last request for a group's offsets, and the group.
    group: Option<(i32, u64)>,
}

/// What one side has begun to send.
#[derive(Debug, Default)]
struct End {
    open: Option<Open>,
    at: TopicPartition,
}

impl Kafka {
    /// A connection that shares the names of topics.
    pub fn new(topics: Arc<Topics>) -> Kafka {
        Kafka { topics, ..Kafka::default() }
    }

    /// Reads the head of a PDU of `total` bytes.
    fn head<'a>(&self, side: Side, bytes: &'a [u8], total: u64, is_all: bool) -> Parsed<Head<'a>> {
        let by_client = self.client.map(|client| client == side);
        Head::read(bytes, total, is_all, by_client, &self.calls)
    }

    /// Takes note of what a head tells.
    fn follow(&mut self, side: Side, head: &Head<'_>, out: &mut dyn FrameSink) {
        self.calls.saw(head.correlation_id);
        let Some(call) = head.call else { return };
        if head.is_request {
            self.client = Some(side);
            self.calls.asked(head.correlation_id, call, head.wants_response());
            self.follow_request(head.correlation_id, call, head.body, out);
            return;
        }
        self.client = Some(side.other());
        self.calls.answered(head.correlation_id);
        match call.key {
            METADATA => topics::learn(&self.topics, call, head.body),
            OFFSET_FETCH => {
                let topics = &self.topics;
                let asked = self.group.filter(|(id, _)| *id == head.correlation_id);
                let number = |id| topics.number(Topic::Id(id));
                let group = asked.map(|(_, group)| group);
                handover::learn(&topics.handovers, call, head.body, group, number);
            }
            _ => {}
        }
    }

    fn follow_request(&mut self, id: i32, call: Call, body: Fields<'_>, out: &mut dyn FrameSink) {
        match call.key {
            FETCH => {
                if let Some((ask, twice)) = self.positions.asked(id, call, body, &self.topics) {
                    out.asks(ask);
                    if twice > 0 {
                        out.read_twice(twice);
                    }
                }
            }
            OFFSET_FETCH => {
                self.group = handover::asked_for(call, body).map(|group| (id, group));
            }
            _ => {}
        }
    }

    /// Reads on in what one side sends. Returns how many bytes of `range` that was, and opens or
    /// closes its PDU.
    fn step(&mut self, side: Side, range: ByteRange, bytes: &[u8], out: &mut dyn FrameSink) -> u64 {
        let (mut open, before) = match self.ends[side as usize].open {
            Some(open) => (open, 0),
            None => match self.begin(side, range, bytes, out) {
                Begun::Framed(len) => return len,
                Begun::Open(open, before) => (open, before),
            },
        };
        let end = &mut self.ends[side as usize];
        let mut beside = Beside {
            at: &mut end.at,
            positions: &mut self.positions,
            topics: &self.topics,
            unpacked: &mut self.unpacked,
        };
        let len = open.piece((range, bytes, before), &mut beside, out);
        end.open = (open.left > 0).then_some(open);
        len
    }

    /// Begins a PDU. One that has no records is a frame.
    fn begin(
        &mut self,
        side: Side,
        range: ByteRange,
        bytes: &[u8],
        out: &mut dyn FrameSink,
    ) -> Begun {
        let total = header::pdu_bytes(&mut Fields::new(bytes, range.len())).unwrap_or(range.len());
        let head = self.head(side, bytes, total, true).ok();
        if let Some(head) = &head {
            self.follow(side, head, out);
            if head.walk.is_some() {
                return Begun::Open(Open::new(head, total), total.saturating_sub(head.body.left()));
            }
        }
        let (name, class) = head.map_or(("PDU", Class::Opaque), |head| (head.name, head.class));
        let len = range.len().min(total);
        out.frame(&plain(ByteRange::new(range.start, len), name, class));
        self.ends[side as usize].open =
            (total > len).then(|| Open::unread(total.saturating_sub(len)));
        Begun::Framed(len)
    }
}

/// How a PDU begins.
enum Begun {
    /// With so many bytes, which were framed.
    Framed(u64),
    /// With pieces, so many bytes into it.
    Open(Open, u64),
}

impl Connection for Kafka {
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
            Ok(found) => {
                Open::new(&found, total).pieces_len(head, total.saturating_sub(found.body.left()))
            }
            Err(Fault::Short(more)) => PduLen::Need(head.len().saturating_add(more)),
            Err(Fault::Malformed) => PduLen::Known(total),
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
        if open.is_some_and(|open| open.is_compressed()) { COMPRESSED_BYTES } else { KEPT_BYTES }
    }

    fn is_certain(&self, _: Side, head: &[u8]) -> bool {
        survey::has_records(head)
    }

    fn resync(&self, side: Side, head: &[u8]) -> bool {
        let fits = |found: Parsed<Sight>| {
            found.is_ok_and(|found| {
                found.evidence >= Evidence::Strong || self.calls.fits(found.correlation_id)
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

    fn closed(&mut self) {
        self.positions.closed(&self.topics);
    }

    fn gap(&mut self, side: Side) {
        self.ends[side as usize].open = None;
    }
}

/// Bytes of the PDU that starts with `head`.
fn span(head: &[u8]) -> Result<u64, PduLen> {
    header::pdu_bytes(&mut Fields::new(head, u64::MAX)).map_err(|fault| match fault {
        Fault::Short(more) => PduLen::Need(head.len().saturating_add(more)),
        Fault::Malformed => PduLen::Invalid,
    })
}
