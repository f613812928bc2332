//! The head of a PDU: its API, and the position of its records.

use super::apis::{Api, ApiCall, FETCH, PRODUCE, SHARE_FETCH};
use super::calls::PendingRequests;
use super::fields::{KafkaFieldError, KafkaFields, KafkaResult};
use super::header::{RequestHeader, SIZE_BYTES};
use super::layout::{self, BodyLayout};
use super::produce::produces;
use super::walk::BodyWalk;
use wirelap_events::FrameClass;

/// The head of a PDU.
#[derive(Clone, Copy, Debug)]
pub(super) struct PduHead<'a> {
    pub is_request: bool,
    /// The name of its frame.
    pub name: &'static str,
    /// The class of its frames without records.
    pub class: FrameClass,
    pub correlation_id: i32,
    /// The client's name in a request; `None` if it gives none.
    pub client_id: Option<&'a [u8]>,
    /// `None` for a response whose request was not captured.
    pub call: Option<ApiCall>,
    /// The bytes after the header.
    pub body: KafkaFields<'a>,
    /// Walks the body, if it can have records.
    pub walk: Option<BodyWalk>,
}

impl<'a> PduHead<'a> {
    /// Reads the head of a PDU of `total` bytes. `by_client` says whether the client sent it, if that is known; `is_all` that
    /// no further bytes of it will be passed, so that these bytes must decide.
    pub fn read(
        bytes: &'a [u8],
        total: u64,
        is_all: bool,
        by_client: Option<bool>,
        calls: &PendingRequests,
    ) -> KafkaResult<PduHead<'a>> {
        let mut fields = KafkaFields::new(bytes, total);
        fields.take(SIZE_BYTES)?;
        if by_client == Some(false) {
            return PduHead::response(fields, is_all, calls);
        }
        let mut body = fields;
        let request = RequestHeader::read(&mut body);
        match request {
            Ok(header) if by_client == Some(true) || header.is_named() => {
                Ok(PduHead::request(&header, body))
            }
            Err(fault) if by_client == Some(true) => Err(fault),
            Err(KafkaFieldError::Short(more)) => Err(KafkaFieldError::Short(more)),
            // A response with a low correlation ID looks like a Produce request without a client ID. The client is never
            // determined again, so the body must be a valid Produce request, too.
            nameless => match (PduHead::response(fields, is_all, calls)?, nameless) {
                (PduHead { call: None, .. }, Ok(header)) if is_request(&header, body)? => {
                    Ok(PduHead::request(&header, body))
                }
                (response, _) => Ok(response),
            },
        }
    }

    fn request(header: &RequestHeader<'a>, body: KafkaFields<'a>) -> PduHead<'a> {
        let layout = if header.call.key == PRODUCE { BodyLayout::of(header.call) } else { None };
        let class = match header.call.key {
            PRODUCE if layout.is_some() => FrameClass::Other,
            PRODUCE => FrameClass::Opaque,
            _ => header.api.class,
        };
        PduHead {
            is_request: true,
            name: header.api.request,
            class,
            correlation_id: header.correlation_id,
            client_id: header.client_id,
            call: Some(header.call),
            body,
            walk: layout.map(|layout| BodyWalk::new(layout, body.left())),
        }
    }

    fn response(
        mut fields: KafkaFields<'a>,
        is_all: bool,
        calls: &PendingRequests,
    ) -> KafkaResult<PduHead<'a>> {
        let correlation_id = fields.i32()?;
        let call = match calls.of(correlation_id) {
            None => guess_fetch(fields, is_all)?,
            known => known,
        };
        let api = call.and_then(|call| ApiCall::plausible(call.key, call.version));
        let unknown = PduHead {
            is_request: false,
            name: "Response",
            class: FrameClass::Opaque,
            correlation_id,
            client_id: None,
            call: None,
            body: fields,
            walk: None,
        };
        let Some((call, api)) = api else { return Ok(unknown) };
        let body = response_body(call, fields)?;
        let layout = if has_fetched(call) { BodyLayout::of(call) } else { None };
        Ok(PduHead {
            name: api.response,
            class: class_without_records(call, api, layout),
            call: Some(call),
            body,
            walk: layout.map(|layout| BodyWalk::new(layout, body.left())),
            ..unknown
        })
    }

    /// True if a request gets a response. A Produce request without acknowledgement (`acks=0`) gets none.
    pub fn wants_response(&self) -> bool {
        let produce = self.call.filter(|call| call.key == PRODUCE);
        produce.is_none_or(|call| layout::acks(call, &mut { self.body }) != Ok(0))
    }
}

/// Tells whether the body of a request without a client ID is valid.
fn is_request(header: &RequestHeader<'_>, body: KafkaFields<'_>) -> KafkaResult<bool> {
    match produces(header.call, body) {
        _ if header.call.key != PRODUCE => Ok(true),
        Err(KafkaFieldError::Malformed) => Ok(false),
        found => found,
    }
}

fn class_without_records(call: ApiCall, api: &Api, layout: Option<BodyLayout>) -> FrameClass {
    if has_fetched(call) && layout.is_none() { FrameClass::Opaque } else { api.class }
}

/// True if the response to a call may have records.
fn has_fetched(call: ApiCall) -> bool {
    matches!(call.key, FETCH | SHARE_FETCH)
}

/// Skips the rest of a response's header, after the correlation ID, and returns its body.
fn response_body(call: ApiCall, fields: KafkaFields<'_>) -> KafkaResult<KafkaFields<'_>> {
    let mut header = fields.flexible(call.has_flexible_response_header());
    header.tags()?;
    Ok(header.flexible(call.is_flexible()))
}

/// Versions of Fetch, one for each different layout.
const GUESSES: [i16; 8] = [13, 12, 11, 7, 5, 4, 1, 0];

/// The Fetch version of a response whose request was not captured: one in whose layout there are records.
pub(super) fn guess_fetch(fields: KafkaFields<'_>, is_all: bool) -> KafkaResult<Option<ApiCall>> {
    let (mut found, mut short) = (None, None);
    for version in GUESSES {
        let call = ApiCall { key: FETCH, version };
        match leads_to_records(call, fields) {
            Ok(true) => found = found.or(Some(call)),
            // The least that any version needs is requested: more could reach into the next part.
            Err(KafkaFieldError::Short(more)) => {
                short = Some(short.map_or(more, |least: usize| least.min(more)));
            }
            Ok(false) | Err(KafkaFieldError::Malformed) => {}
        }
    }
    // A version that needs more bytes is waited for, so that the result does not depend on how packets are cut.
    let short = short.filter(|_| !is_all || found.is_none());
    short.map_or(Ok(found), |more| Err(KafkaFieldError::Short(more)))
}

/// True if the captured bytes of a response whose request was not captured can be the beginning of a Fetch response with
/// records.
pub(super) fn promises_fetch(fields: KafkaFields<'_>) -> bool {
    GUESSES.into_iter().any(|version| {
        let call = ApiCall { key: FETCH, version };
        let (Ok(body), Some(layout)) = (response_body(call, fields), BodyLayout::of(call)) else {
            return false;
        };
        let mut walk = BodyWalk::new(layout, body.left());
        let _ = walk.next(body.peek_up_to(body.left()));
        walk.is_promising()
    })
}

fn leads_to_records(call: ApiCall, fields: KafkaFields<'_>) -> KafkaResult<bool> {
    let body = response_body(call, fields)?;
    let Some(layout) = BodyLayout::of(call) else { return Ok(false) };
    let mut walk = BodyWalk::new(layout, body.left());
    walk.next(body.peek_up_to(body.left()))?;
    Ok(walk.is_in_batch())
}
