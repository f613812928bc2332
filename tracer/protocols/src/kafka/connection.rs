//! One connection: requests one way, responses the other.

use super::apis::{Api, Call, FETCH, METADATA, PRODUCE};
use super::batch;
use super::calls::Calls;
use super::fields::{Fault, Fields, Read};
use super::header::{self, RequestHeader, SIZE_BYTES};
use super::survey::{self, Evidence, Sight};
use super::topics::{self, TopicPartition, Topics};
use super::walk::{Layout, Piece, Walk};
use crate::{Connection, FrameSink, Pdu, PduLen, Side};
use std::sync::Arc;
use wirelap_events::{ByteRange, Class, Data, Frame};

/// PDUs up to here are waited for; of a longer one the records are taken as they come, so that a
/// response of 50 MB needs no memory and its records are known when they are there.
const WAITED_FOR: u64 = 64 << 10;

/// The decoder of one connection.
#[derive(Debug, Default)]
pub(super) struct Kafka {
    /// Who asks, once that is certain.
    client: Option<Side>,
    calls: Calls,
    topics: Arc<Topics>,
    ends: [End; 2],
}

/// What one side has begun to send.
#[derive(Debug, Default)]
struct End {
    open: Option<Open>,
    at: TopicPartition,
}

/// A PDU of which more is to come.
#[derive(Clone, Copy, Debug)]
struct Open {
    name: &'static str,
    /// What it is for, as far as it has no records.
    class: Class,
    /// Bytes that are left.
    left: u64,
    /// Reads its records; `None`: cannot be read from here on.
    walk: Option<Walk>,
    /// Some of it was data.
    has_data: bool,
}

/// The head of a PDU.
#[derive(Clone, Copy, Debug)]
struct Head<'a> {
    is_request: bool,
    name: &'static str,
    class: Class,
    correlation_id: i32,
    call: Option<Call>,
    /// Behind the header.
    body: Fields<'a>,
    walk: Option<Walk>,
}

impl Kafka {
    /// A connection that shares the names of topics.
    pub fn new(topics: Arc<Topics>) -> Kafka {
        Kafka { topics, ..Kafka::default() }
    }

    /// Reads the head of a PDU of `total` bytes.
    fn head<'a>(&self, side: Side, bytes: &'a [u8], total: u64) -> Read<Head<'a>> {
        let mut fields = Fields::new(bytes, total);
        fields.take(SIZE_BYTES)?;
        if self.client == Some(other(side)) {
            return self.response(fields);
        }
        let mut body = fields;
        let request =
            RequestHeader::read(&mut body).map(|header| (header, request_head(header, body)));
        match request {
            Ok((header, head)) if self.client.is_some() || header.is_named() => Ok(head),
            Err(fault) if self.client.is_some() => Err(fault),
            Err(Fault::Short(more)) => Err(Fault::Short(more)),
            // A response with a low correlation id looks like a Produce request without a client id.
            nameless => {
                let response = self.response(fields)?;
                let is_response = response.call.is_some();
                Ok(nameless.map_or(response, |(_, head)| if is_response { response } else { head }))
            }
        }
    }

    fn response<'a>(&self, mut fields: Fields<'a>) -> Read<Head<'a>> {
        let correlation_id = fields.i32()?;
        let call = match self.calls.of(correlation_id) {
            None => guess_fetch(fields)?,
            known => known,
        };
        let api = call.and_then(|call| Call::plausible(call.key, call.version));
        let Some((call, api)) = api else {
            return Ok(Head {
                is_request: false,
                name: "Response",
                class: Class::Opaque,
                correlation_id,
                call: None,
                body: fields,
                walk: None,
            });
        };
        let body = response_body(call, fields)?;
        let walk = if call.key == FETCH { Layout::of(call) } else { None };
        Ok(Head {
            is_request: false,
            name: api.response,
            class: class_without_records(call, api, walk),
            correlation_id,
            call: Some(call),
            body,
            walk: walk.map(|layout| Walk::new(layout, body.left())),
        })
    }

    /// Takes note of what a head tells.
    fn follow(&mut self, side: Side, head: &Head<'_>) {
        self.calls.saw(head.correlation_id);
        let Some(call) = head.call else { return };
        if head.is_request {
            self.client = Some(side);
            if call.key != PRODUCE || wants_response(head.body) {
                self.calls.asked(head.correlation_id, call);
            }
            return;
        }
        self.client = Some(other(side));
        self.calls.answered(head.correlation_id);
        if call.key == METADATA {
            topics::learn(&self.topics, call, head.body);
        }
    }

    /// Reads on in what one side sends. Returns how many bytes of `range` that was, and opens or
    /// closes its PDU.
    fn step(&mut self, side: Side, range: ByteRange, bytes: &[u8], out: &mut dyn FrameSink) -> u64 {
        let (open, before) = match self.ends[side as usize].open {
            Some(open) => (open, 0),
            None => match self.begin(side, range, bytes, out) {
                Begun::Framed(len) => return len,
                Begun::Open(open, before) => (open, before),
            },
        };
        let tail = bytes.get(to_usize(before)..).unwrap_or_default();
        let end = &mut self.ends[side as usize];
        let (len, open) = piece(&mut end.at, &self.topics, open, (range, before), tail, out);
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
        let head = self.head(side, bytes, total).ok();
        if let Some(head) = &head {
            self.follow(side, head);
        }
        let (name, class) = head.map_or(("PDU", Class::Opaque), |head| (head.name, head.class));
        let walk = head.and_then(|head| head.walk);
        let open = Open { name, class, left: total, walk, has_data: false };
        if let (Some(head), Some(_)) = (head, walk) {
            return Begun::Open(open, total - head.body.left());
        }
        let len = range.len().min(total);
        out.frame(&plain(ByteRange::new(range.start, len), name, class));
        let left = total - len;
        self.ends[side as usize].open = (left > 0).then_some(Open { left, ..open });
        Begun::Framed(len)
    }

    /// The length of the pieces of an open PDU that `bytes` start with, `before` bytes into `head`.
    fn pieces_len(open: Open, head: &[u8], before: u64) -> PduLen {
        let Some(mut walk) = open.walk else { return PduLen::Known(open.left) };
        let mut len = before;
        loop {
            let tail = head.get(to_usize(len)..).unwrap_or_default();
            match walk.next(tail) {
                // One that is not all here comes alone: as much of it is kept as there is room for.
                Ok((_, piece)) if len > before && len + piece > head.len() as u64 => {
                    return PduLen::Known(len);
                }
                Ok((_, piece)) => len += piece,
                Err(Fault::Short(more)) if len == before => return PduLen::Need(head.len() + more),
                Err(Fault::Malformed) if len == before => return PduLen::Known(open.left),
                Err(_) => return PduLen::Known(len),
            }
            if len >= head.len() as u64 || walk.left() == 0 {
                return PduLen::Known(len);
            }
        }
    }
}

/// Bytes of the PDU that starts with `head`.
fn span(head: &[u8]) -> Result<u64, PduLen> {
    header::pdu_bytes(&mut Fields::new(head, u64::MAX)).map_err(|fault| match fault {
        Fault::Short(more) => PduLen::Need(head.len() + more),
        Fault::Malformed => PduLen::Invalid,
    })
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
            return Kafka::pieces_len(open, head, 0);
        }
        let total = match span(head) {
            Ok(total) => total,
            Err(why) => return why,
        };
        if total <= WAITED_FOR.max(head.len() as u64) {
            return PduLen::Known(total);
        }
        match self.head(side, head, total) {
            Ok(found) => {
                let open = Open {
                    name: "",
                    class: found.class,
                    left: total,
                    walk: found.walk,
                    has_data: false,
                };
                Kafka::pieces_len(open, head, total - found.body.left())
            }
            Err(Fault::Short(more)) => PduLen::Need(head.len() + more),
            Err(Fault::Malformed) => PduLen::Known(total),
        }
    }

    fn span(&self, _: Side, head: &[u8]) -> PduLen {
        span(head).map_or_else(|why| why, PduLen::Known)
    }

    fn open_bytes(&self, side: Side) -> u64 {
        self.ends[side as usize].open.map_or(0, |open| open.left)
    }

    fn resync(&self, side: Side, head: &[u8]) -> bool {
        let fits = |found: Read<Sight>| {
            found.is_ok_and(|found| {
                found.evidence == Evidence::Strong || self.calls.fits(found.correlation_id)
            })
        };
        match self.client {
            Some(client) if client == side => fits(survey::request(head)),
            Some(_) => fits(survey::response(head)),
            None => fits(survey::request(head)) || fits(survey::response(head)),
        }
    }

    fn pdu(&mut self, side: Side, pdu: Pdu<'_>, out: &mut dyn FrameSink) {
        let (mut range, mut bytes) = (pdu.range, pdu.bytes);
        while !range.is_empty() {
            let len = self.step(side, range, bytes, out);
            range.start = range.start.plus(len);
            bytes = bytes.get(to_usize(len)..).unwrap_or_default();
        }
    }

    fn gap(&mut self, side: Side) {
        self.ends[side as usize].open = None;
    }
}

/// Hands out the next piece of an open PDU, `before` bytes into `range`. Returns its bytes with those
/// before it.
fn piece(
    at: &mut TopicPartition,
    topics: &Topics,
    mut open: Open,
    (range, before): (ByteRange, u64),
    bytes: &[u8],
    out: &mut dyn FrameSink,
) -> (u64, Open) {
    let next = open.walk.as_mut().map(|walk| walk.next(bytes));
    let Some(Ok((piece, len))) = next else {
        let len = range.len().min(open.left);
        open.walk = None;
        open.left -= len;
        let name = if before == 0 { "PartitionData" } else { open.name };
        out.frame(&plain(ByteRange::new(range.start, len), name, Class::Opaque));
        return (len, open);
    };
    let len = (before + len).min(range.len());
    open.left -= len;
    let range = ByteRange::new(range.start, len);
    match piece {
        Piece::Record(fields) => out.frame(&record(at, fields, range)),
        Piece::Block(block) => {
            let (name, class) = block.frame();
            out.frame(&plain(range, name, class));
        }
        Piece::Between { topic, partition, class } => {
            if let Some(topic) = topic {
                at.set_topic(topic, topics);
            }
            if let Some(index) = partition {
                at.set_partition(index);
            }
            let class = class.map(|class| if at.internal { Class::Other } else { class });
            open.has_data |= class == Some(Class::Data);
            let name = match (before, class) {
                (0, Some(_)) => "RecordBatch",
                (0, None) => "PartitionData",
                _ => open.name,
            };
            let without = if open.has_data { Class::Data } else { open.class };
            out.frame(&plain(range, name, class.unwrap_or(without)));
        }
    }
    (len, open)
}

/// A record's frame.
fn record<'a>(at: &'a TopicPartition, mut fields: Fields<'a>, range: ByteRange) -> Frame<'a> {
    let value = batch::record_bytes(&mut fields).and_then(|_| batch::value(fields));
    let Ok(value) = value else { return plain(range, "Record", Class::Opaque) };
    if at.internal {
        return plain(range, "Record", Class::Other);
    }
    Frame {
        range,
        name: "Record",
        class: Class::Data,
        payload_bytes: value.len,
        data: Some(Data {
            extent: range,
            topic: at.text(),
            payload_len: value.len,
            payload: value.bytes,
            key: None,
            duplicate: false,
            retained: false,
        }),
    }
}

fn request_head<'a>(header: RequestHeader<'a>, body: Fields<'a>) -> Head<'a> {
    let layout = if header.call.key == PRODUCE { Layout::of(header.call) } else { None };
    let class = match header.call.key {
        PRODUCE if layout.is_some() => Class::Other,
        PRODUCE => Class::Opaque,
        _ => header.api.class,
    };
    Head {
        is_request: true,
        name: header.api.request,
        class,
        correlation_id: header.correlation_id,
        call: Some(header.call),
        body,
        walk: layout.map(|layout| Walk::new(layout, body.left())),
    }
}

fn class_without_records(call: Call, api: &Api, layout: Option<Layout>) -> Class {
    if call.key == FETCH && layout.is_none() { Class::Opaque } else { api.class }
}

/// Moves over the rest of a response's header, behind the correlation id.
fn response_body(call: Call, fields: Fields<'_>) -> Read<Fields<'_>> {
    let mut header = fields.flexible(call.has_flexible_response_header());
    header.tags()?;
    Ok(header.flexible(call.is_flexible()))
}

/// The Fetch that a response to an unknown request answers: one of those whose layouts differ, if
/// this leads to records.
pub(super) fn guess_fetch(fields: Fields<'_>) -> Read<Option<Call>> {
    let mut short = None;
    for version in [13, 12, 11, 7, 5, 4] {
        let call = Call { key: FETCH, version };
        match leads_to_records(call, fields) {
            Ok(true) => return Ok(Some(call)),
            // Not more than the right one needs: what is behind its head is another piece.
            Err(Fault::Short(more)) => {
                short = Some(short.map_or(more, |least: usize| least.min(more)))
            }
            Ok(false) | Err(Fault::Malformed) => {}
        }
    }
    short.map_or(Ok(None), |more| Err(Fault::Short(more)))
}

fn leads_to_records(call: Call, fields: Fields<'_>) -> Read<bool> {
    let body = response_body(call, fields)?;
    let Some(layout) = Layout::of(call) else { return Ok(false) };
    let mut walk = Walk::new(layout, body.left());
    let (piece, _) = walk.next(body.peek_up_to(body.left()))?;
    Ok(matches!(piece, Piece::Between { class: Some(Class::Data), .. }))
}

/// Whether a Produce request is answered: not if it wants no acknowledgement (`acks=0`).
fn wants_response(mut body: Fields<'_>) -> bool {
    body.string().and_then(|_| body.i16()) != Ok(0)
}

fn other(side: Side) -> Side {
    match side {
        Side::A => Side::B,
        Side::B => Side::A,
    }
}

fn plain(range: ByteRange, name: &'static str, class: Class) -> Frame<'static> {
    Frame { range, name, class, payload_bytes: 0, data: None }
}

fn to_usize(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}
