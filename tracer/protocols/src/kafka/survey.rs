//! Recognition of Kafka by its bytes. The protocol has no magic number, so every field of the header must be plausible, and the body
//! as well if its API is known.

use super::apis::{API_VERSIONS, PRODUCE, SASL_HANDSHAKE};
use super::fields::{KafkaFieldError, KafkaFields, KafkaResult, ensure};
use super::head::{guess_fetch, promises_fetch};
use super::header::{RequestHeader, SIZE_BYTES, pdu_bytes};
use super::layout::BodyLayout;
use super::produce::produces;
use super::rabbitmq;
use super::walk::BodyWalk;
use crate::{PduSignature, Recognition, SignatureMatch};

/// A longer PDU is considered invalid: this is the most that a broker accepts by default (`socket.request.max.bytes`), and
/// twice what a consumer requests by default (`fetch.max.bytes`).
const PLAUSIBLE_BYTES: u64 = 100 << 20;

/// Correlation IDs at the start of a connection; clients count from 0 or 1.
const FIRST_CORRELATION_IDS: std::ops::RangeInclusive<i32> = 0..=1000;

/// Certainty that bytes are Kafka.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Confidence {
    /// The bytes do not contradict Kafka.
    Weak,
    /// Other bytes at the start of a packet rarely look like this.
    Strong,
    /// Other bytes at any position of a packet rarely look like this.
    Certain,
}

/// A client ID of this many characters is no coincidence; shorter ones occur in the bytes of topic IDs.
const TELLING_NAME: usize = 5;

/// Bytes that look like the start of a PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecognisedPdu {
    pub total: u64,
    pub correlation_id: i32,
    pub evidence: Confidence,
}

/// The size of a PDU, and the bytes after it.
fn sized(head: &[u8]) -> KafkaResult<(u64, KafkaFields<'_>)> {
    let total = pdu_bytes(&mut KafkaFields::new(head, u64::MAX))?;
    ensure(total <= PLAUSIBLE_BYTES)?;
    let mut fields = KafkaFields::new(head, total);
    fields.take(SIZE_BYTES)?;
    Ok((total, fields))
}

/// Recognises a request.
pub(super) fn request(head: &[u8]) -> KafkaResult<RecognisedPdu> {
    let (total, mut fields) = sized(head)?;
    let header = RequestHeader::read(&mut fields)?;
    ensure(header.correlation_id >= 0)?;
    rabbitmq::refuse(&header, fields)?;
    let confirmed = match header.call.key {
        SASL_HANDSHAKE => sasl_handshake(fields).map(|()| true),
        API_VERSIONS => api_versions(header.call.version, fields).map(|()| true),
        PRODUCE => produces(header.call, fields),
        _ => Ok(false),
    };
    let name = header.client_id.filter(|_| header.is_named()).map_or(0, <[u8]>::len);
    let evidence = match (confirmed, name) {
        (Err(KafkaFieldError::Malformed), _) => return Err(KafkaFieldError::Malformed),
        (Ok(true), _) | (_, TELLING_NAME..) => Confidence::Certain,
        (_, 1..) => Confidence::Strong,
        _ => Confidence::Weak,
    };
    Ok(RecognisedPdu { total, correlation_id: header.correlation_id, evidence })
}

/// Checks the body of an `ApiVersions` request (KIP-511): the client's software and its version.
fn api_versions(version: i16, mut fields: KafkaFields<'_>) -> KafkaResult<()> {
    if version >= 3 {
        for _ in 0..2 {
            let text = fields.string()?.ok_or(KafkaFieldError::Malformed)?;
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

/// Checks the body of a `SaslHandshake` request: the name of a mechanism (RFC 4422 §3.1).
fn sasl_handshake(mut fields: KafkaFields<'_>) -> KafkaResult<()> {
    let mechanism = fields.string()?.ok_or(KafkaFieldError::Malformed)?;
    let is_allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
    ensure(!mechanism.is_empty() && mechanism.iter().all(is_allowed) && fields.left() == 0)
}

/// Recognises a response. Without its request, only a response with records is distinctive.
pub(super) fn response(head: &[u8]) -> KafkaResult<RecognisedPdu> {
    let (total, mut fields) = sized(head)?;
    let correlation_id = fields.i32()?;
    // Clients count from 0 up.
    ensure(correlation_id >= 0)?;
    let call = guess_fetch(fields, false)?;
    let evidence = if call.is_some() { Confidence::Certain } else { Confidence::Weak };
    Ok(RecognisedPdu { total, correlation_id, evidence })
}

/// True if `head` starts like a Produce request or a Fetch response with records, which other bytes rarely do. Brokers write
/// the bytes before the records separately, so the records need not be in `head`.
pub(super) fn has_records(head: &[u8]) -> bool {
    let produces = |mut fields: KafkaFields<'_>| {
        let header = RequestHeader::read(&mut fields).ok()?;
        let mut walk = BodyWalk::new(BodyLayout::of(header.call)?, fields.left());
        let _ = walk.next(fields.peek_up_to(fields.left()));
        walk.is_promising().then_some(())
    };
    let Ok((_, mut fields)) = sized(head) else { return false };
    produces(fields).is_some() || fields.i32().is_ok() && promises_fetch(fields)
}

/// Tells whether a direction whose first bytes are `head` is Kafka.
pub(super) fn recognise(head: &[u8], at_start: bool) -> Recognition {
    let request = request(head);
    match (request, response(head)) {
        (Ok(request), _) if request.evidence >= Confidence::Strong => believed(head, request),
        (_, Ok(response)) if response.evidence >= Confidence::Strong => Recognition::Yes,
        (Ok(request), _) => believed(head, request),
        (Err(KafkaFieldError::Short(_)), _) | (_, Err(KafkaFieldError::Short(_))) => {
            Recognition::NeedMore
        }
        (_, Ok(found)) if found.total == head.len() as u64 => {
            let first = FIRST_CORRELATION_IDS.contains(&found.correlation_id);
            if first || !at_start { Recognition::Maybe } else { Recognition::No }
        }
        _ => Recognition::No,
    }
}

/// Tells whether a request is accepted: the bytes after it must be a request, too.
fn believed(head: &[u8], found: RecognisedPdu) -> Recognition {
    let total = usize::try_from(found.total).unwrap_or(usize::MAX);
    let tail = head.get(total..).unwrap_or_default();
    let followed = tail.is_empty() || !matches!(request(tail), Err(KafkaFieldError::Malformed));
    match found.evidence {
        _ if !followed => Recognition::No,
        Confidence::Strong | Confidence::Certain => Recognition::Yes,
        Confidence::Weak => Recognition::Maybe,
    }
}

/// Tells whether a PDU starts with `head`.
pub(super) fn match_signature(head: &[u8]) -> SignatureMatch {
    const STRONG_BITS: u32 = 36;
    const NAMELESS_BITS: u32 = 8;
    const RESPONSE_BITS: u32 = 5;
    const ENOUGH: usize = 1024;
    // PDUs of more than 112 MiB are rejected at once.
    if head.first().is_some_and(|first| *first > 6) {
        return SignatureMatch::No;
    }
    let (request, response) = (request(head), response(head));
    for found in [request, response].into_iter().flatten() {
        if found.evidence >= Confidence::Strong {
            return SignatureMatch::Pdu(PduSignature::new(found.total, STRONG_BITS));
        }
    }
    match (request, response) {
        (Err(KafkaFieldError::Short(_)), _) | (_, Err(KafkaFieldError::Short(_)))
            if head.len() < ENOUGH =>
        {
            SignatureMatch::Short
        }
        // A request without a client ID has only small numbers, which many other headers have, too.
        (Ok(found), _) => {
            let number = u64::try_from(found.correlation_id).unwrap_or(0);
            SignatureMatch::Pdu(
                PduSignature::new(found.total, NAMELESS_BITS).weak().numbered(0, number),
            )
        }
        // The correlation ID of a response counts up, but so do numbers of other protocols at this position.
        (_, Ok(found)) => SignatureMatch::Pdu(PduSignature::new(found.total, RESPONSE_BITS).weak()),
        _ => SignatureMatch::No,
    }
}

/// True if a request with a client ID or with records starts with `head`.
pub(super) fn stands_out(head: &[u8]) -> bool {
    // API keys and versions are small numbers, so that most bytes are rejected at once.
    let is_certain = |found: KafkaResult<RecognisedPdu>| {
        found.is_ok_and(|found| found.evidence == Confidence::Certain)
    };
    matches!(head, [0..=6, _, _, _, 0, 0..=100, 0, 0..=30, ..]) && is_certain(request(head))
}
