//! The head of a PDU: what it is, and where its records will be.

use super::apis::{Api, Call, FETCH, PRODUCE};
use super::calls::Calls;
use super::fields::{Fault, Fields, Parsed};
use super::header::{RequestHeader, SIZE_BYTES};
use super::survey;
use super::walk::{Layout, Walk};
use wirelap_events::Class;

/// The head of a PDU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head<'a> {
    pub is_request: bool,
    /// The name of its frame.
    pub name: &'static str,
    /// What it is for, as far as it has no records.
    pub class: Class,
    pub correlation_id: i32,
    /// `None`: a response to nothing that was seen.
    pub call: Option<Call>,
    /// Behind the header.
    pub body: Fields<'a>,
    /// Reads the body, if it carries records.
    pub walk: Option<Walk>,
}

impl<'a> Head<'a> {
    /// Reads the head of a PDU of `total` bytes, sent by the client or not if that is known. `is_all`: no more of it will be
    /// seen here, so that what is there decides.
    pub fn read(
        bytes: &'a [u8],
        total: u64,
        is_all: bool,
        by_client: Option<bool>,
        calls: &Calls,
    ) -> Parsed<Head<'a>> {
        let mut fields = Fields::new(bytes, total);
        fields.take(SIZE_BYTES)?;
        if by_client == Some(false) {
            return Head::response(fields, is_all, calls);
        }
        let mut body = fields;
        let request = RequestHeader::read(&mut body);
        match request {
            Ok(header) if by_client == Some(true) || header.is_named() => {
                Ok(Head::request(&header, body))
            }
            Err(fault) if by_client == Some(true) => Err(fault),
            Err(Fault::Short(more)) => Err(Fault::Short(more)),
            // A response with a low correlation id looks like a Produce request without a client id. Who is the client
            // is believed for good, so its body has to be one.
            nameless => match (Head::response(fields, is_all, calls)?, nameless) {
                (Head { call: None, .. }, Ok(header)) if is_request(&header, body)? => {
                    Ok(Head::request(&header, body))
                }
                (response, _) => Ok(response),
            },
        }
    }

    fn request(header: &RequestHeader<'a>, body: Fields<'a>) -> Head<'a> {
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

    fn response(mut fields: Fields<'a>, is_all: bool, calls: &Calls) -> Parsed<Head<'a>> {
        let correlation_id = fields.i32()?;
        let call = match calls.of(correlation_id) {
            None => guess_fetch(fields, is_all)?,
            known => known,
        };
        let api = call.and_then(|call| Call::plausible(call.key, call.version));
        let unknown = Head {
            is_request: false,
            name: "Response",
            class: Class::Opaque,
            correlation_id,
            call: None,
            body: fields,
            walk: None,
        };
        let Some((call, api)) = api else { return Ok(unknown) };
        let body = response_body(call, fields)?;
        let layout = if call.key == FETCH { Layout::of(call) } else { None };
        Ok(Head {
            name: api.response,
            class: class_without_records(call, api, layout),
            call: Some(call),
            body,
            walk: layout.map(|layout| Walk::new(layout, body.left())),
            ..unknown
        })
    }

    /// Whether a request is answered: a Produce request is not if it wants no acknowledgement
    /// (`acks=0`).
    pub fn wants_response(&self) -> bool {
        let mut body = self.body;
        let is_produce = self.call.is_some_and(|call| call.key == PRODUCE);
        !is_produce || body.string().and_then(|_| body.i16()) != Ok(0)
    }
}

/// Whether what is behind the header of a request without a client id belongs to one.
fn is_request(header: &RequestHeader<'_>, body: Fields<'_>) -> Parsed<bool> {
    match survey::produces(header.call, body) {
        _ if header.call.key != PRODUCE => Ok(true),
        Err(Fault::Malformed) => Ok(false),
        found => found,
    }
}

fn class_without_records(call: Call, api: &Api, layout: Option<Layout>) -> Class {
    if call.key == FETCH && layout.is_none() { Class::Opaque } else { api.class }
}

/// Moves over the rest of a response's header, behind the correlation id.
fn response_body(call: Call, fields: Fields<'_>) -> Parsed<Fields<'_>> {
    let mut header = fields.flexible(call.has_flexible_response_header());
    header.tags()?;
    Ok(header.flexible(call.is_flexible()))
}

/// Versions whose layouts differ.
const GUESSES: [i16; 6] = [13, 12, 11, 7, 5, 4];

/// The Fetch that a response to an unknown request answers: one of those whose layouts differ, if
/// this leads to records.
pub(super) fn guess_fetch(fields: Fields<'_>, is_all: bool) -> Parsed<Option<Call>> {
    let (mut found, mut short) = (None, None);
    for version in GUESSES {
        let call = Call { key: FETCH, version };
        match leads_to_records(call, fields) {
            Ok(true) => found = found.or(Some(call)),
            // Not more than the right one needs: what is behind its head is another piece.
            Err(Fault::Short(more)) => {
                short = Some(short.map_or(more, |least: usize| least.min(more)));
            }
            Ok(false) | Err(Fault::Malformed) => {}
        }
    }
    // One that may yet turn out to be right comes first: how the packets are cut decides nothing.
    let short = short.filter(|_| !is_all || found.is_none());
    short.map_or(Ok(found), |more| Err(Fault::Short(more)))
}

/// Whether what is here of a response to an unknown request is the beginning of one that leads to records.
pub(super) fn promises_fetch(fields: Fields<'_>) -> bool {
    GUESSES.into_iter().any(|version| {
        let call = Call { key: FETCH, version };
        let (Ok(body), Some(layout)) = (response_body(call, fields), Layout::of(call)) else {
            return false;
        };
        let mut walk = Walk::new(layout, body.left());
        let _ = walk.next(body.peek_up_to(body.left()));
        walk.is_promising()
    })
}

fn leads_to_records(call: Call, fields: Fields<'_>) -> Parsed<bool> {
    let body = response_body(call, fields)?;
    let Some(layout) = Layout::of(call) else { return Ok(false) };
    let mut walk = Walk::new(layout, body.left());
    walk.next(body.peek_up_to(body.left()))?;
    Ok(walk.is_in_batch())
}
