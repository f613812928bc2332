//! Whether bytes are Kafka. The protocol has no magic number, so what is asked for is a header whose
//! every field makes sense, and a body, where that can be told, that does too.

use super::apis::{API_VERSIONS, Call, PRODUCE};
use super::fields::{Fault, Fields, Parsed, ensure};
use super::head::{guess_fetch, promises_fetch};
use super::header::{RequestHeader, SIZE_BYTES, pdu_bytes};
use super::topics;
use super::walk::{Layout, Walk};
use crate::{Look, Recognition, Sight as Seen};

/// A longer PDU is not believed without knowing more: the most that a broker accepts by default
/// (`socket.request.max.bytes`), and twice what a consumer asks for (`fetch.max.bytes`).
const PLAUSIBLE_BYTES: u64 = 100 << 20;

/// Clients count from 0 or 1.
const FIRST_CORRELATION_IDS: std::ops::RangeInclusive<i32> = 0..=1000;

/// How good the evidence is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Evidence {
    /// Nothing contradicts.
    Weak,
    /// Hardly anything else looks like it where a PDU may start.
    Strong,
    /// Nor anywhere else, and there are a thousand places in a packet.
    Certain,
}

/// A name of so many characters is none by chance: some in ten pairs of bytes of a topic's id look like one.
const TELLING_NAME: usize = 5;

/// What looks like the start of a PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sight {
    pub total: u64,
    pub correlation_id: i32,
    pub evidence: Evidence,
}

/// The size of a PDU, and what is behind it.
fn sized(head: &[u8]) -> Parsed<(u64, Fields<'_>)> {
    let total = pdu_bytes(&mut Fields::new(head, u64::MAX))?;
    ensure(total <= PLAUSIBLE_BYTES)?;
    let mut fields = Fields::new(head, total);
    fields.take(SIZE_BYTES)?;
    Ok((total, fields))
}

/// A request.
pub(super) fn request(head: &[u8]) -> Parsed<Sight> {
    let (total, mut fields) = sized(head)?;
    let header = RequestHeader::read(&mut fields)?;
    ensure(header.correlation_id >= 0)?;
    let confirmed = match header.call.key {
        API_VERSIONS => api_versions(header.call.version, fields).map(|()| true),
        PRODUCE => produces(header.call, fields),
        _ => Ok(false),
    };
    let name = header.client_id.filter(|_| header.is_named()).map_or(0, <[u8]>::len);
    let evidence = match (confirmed, name) {
        (Err(Fault::Malformed), _) => return Err(Fault::Malformed),
        (Ok(true), _) | (_, TELLING_NAME..) => Evidence::Certain,
        (_, 1..) => Evidence::Strong,
        _ => Evidence::Weak,
    };
    Ok(Sight { total, correlation_id: header.correlation_id, evidence })
}

/// Whether the body of a Produce request is one; `false` where its version is not read.
pub(super) fn produces(call: Call, body: Fields<'_>) -> Parsed<bool> {
    if call.version < 3 {
        return older_produce(body).map(|()| true).or_else(|fault| match fault {
            Fault::Malformed => Ok(false),
            Fault::Short(_) => Err(fault),
        });
    }
    let Some(layout) = Layout::of(call) else { return Ok(false) };
    let mut walk = Walk::new(layout, body.left());
    walk.next(body.peek_up_to(body.left())).map(|_| true)
}

/// The body of a Produce request of the versions before 3, which has no transaction: up to the first topic. Zeros alone
/// look like its header.
fn older_produce(mut fields: Fields<'_>) -> Parsed<()> {
    ensure((-1..=1).contains(&fields.i16()?) && fields.i32()? >= 0)?;
    ensure(fields.count()? > 0 && fields.string()?.is_some_and(topics::is_name))
}

/// The body of an `ApiVersions` request (KIP-511): the client's software and its version.
fn api_versions(version: i16, mut fields: Fields<'_>) -> Parsed<()> {
    if version >= 3 {
        for _ in 0..2 {
            let text = fields.string()?.ok_or(Fault::Malformed)?;
            ensure(text.iter().all(u8::is_ascii_graphic))?;
        }
        if version <= 4 {
            fields.tags()?;
        } else {
            return Ok(());
        }
    }
    ensure(fields.left() == 0)
}

/// A response. Alone, only one with records can be told from anything else.
pub(super) fn response(head: &[u8]) -> Parsed<Sight> {
    let (total, mut fields) = sized(head)?;
    let correlation_id = fields.i32()?;
    let call = guess_fetch(fields, false)?;
    let evidence = if call.is_some() { Evidence::Certain } else { Evidence::Weak };
    Ok(Sight { total, correlation_id, evidence })
}

/// Whether it starts like a Produce request, or a Fetch response, and leads to records: hardly anything else does. Brokers
/// write what comes before the records apart, so that these need not be here yet.
pub(super) fn has_records(head: &[u8]) -> bool {
    let produces = |mut fields: Fields<'_>| {
        let header = RequestHeader::read(&mut fields).ok()?;
        let mut walk = Walk::new(Layout::of(header.call)?, fields.left());
        let _ = walk.next(fields.peek_up_to(fields.left()));
        walk.is_promising().then_some(())
    };
    let Ok((_, mut fields)) = sized(head) else { return false };
    produces(fields).is_some() || fields.i32().is_ok() && promises_fetch(fields)
}

/// Whether a direction whose first bytes are `head` is Kafka.
pub(super) fn recognise(head: &[u8], at_start: bool) -> Recognition {
    let request = request(head);
    match (request, response(head)) {
        (Ok(request), _) if request.evidence >= Evidence::Strong => believed(head, request),
        (_, Ok(response)) if response.evidence >= Evidence::Strong => Recognition::Yes,
        (Ok(request), _) => believed(head, request),
        (Err(Fault::Short(_)), _) | (_, Err(Fault::Short(_))) => Recognition::NeedMore,
        (_, Ok(sight)) if sight.total == head.len() as u64 => {
            let first = FIRST_CORRELATION_IDS.contains(&sight.correlation_id);
            if first || !at_start { Recognition::Maybe } else { Recognition::No }
        }
        _ => Recognition::No,
    }
}

/// A request is believed if nothing but a request comes after it.
fn believed(head: &[u8], sight: Sight) -> Recognition {
    let total = usize::try_from(sight.total).unwrap_or(usize::MAX);
    let tail = head.get(total..).unwrap_or_default();
    let followed = tail.is_empty() || !matches!(request(tail), Err(Fault::Malformed));
    match sight.evidence {
        _ if !followed => Recognition::No,
        Evidence::Strong | Evidence::Certain => Recognition::Yes,
        Evidence::Weak => Recognition::Maybe,
    }
}

/// What the PDU at the front of `head` tells.
pub(super) fn sight(head: &[u8]) -> Look {
    const STRONG_BITS: u32 = 36;
    const NAMELESS_BITS: u32 = 8;
    const RESPONSE_BITS: u32 = 5;
    const ENOUGH: usize = 1024;
    // The high byte of a size of less than 16 MiB; larger ones are rare.
    if head.first().is_some_and(|first| *first > 6) {
        return Look::No;
    }
    let (request, response) = (request(head), response(head));
    for sight in [request, response].into_iter().flatten() {
        if sight.evidence >= Evidence::Strong {
            return Look::Pdu(Seen::new(sight.total, STRONG_BITS));
        }
    }
    match (request, response) {
        (Err(Fault::Short(_)), _) | (_, Err(Fault::Short(_))) if head.len() < ENOUGH => Look::Short,
        // Of a client without a name: small numbers are in many headers.
        (Ok(sight), _) => {
            let number = u64::try_from(sight.correlation_id).unwrap_or(0);
            Look::Pdu(Seen::new(sight.total, NAMELESS_BITS).weak().numbered(0, number))
        }
        // Its correlation id counts up, but so does what others put there.
        (_, Ok(sight)) => Look::Pdu(Seen::new(sight.total, RESPONSE_BITS).weak()),
        _ => Look::No,
    }
}

/// Whether a request of a client with a name, or records, are at the front of `head`.
pub(super) fn stands_out(head: &[u8]) -> bool {
    // Keys and versions of requests are small numbers.
    let is_certain =
        |found: Parsed<Sight>| found.is_ok_and(|found| found.evidence == Evidence::Certain);
    matches!(head, [0..=6, _, _, _, 0, 0..=100, 0, 0..=30, ..]) && is_certain(request(head))
}
