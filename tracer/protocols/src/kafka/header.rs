//! Lengths and headers (protocol guide, "Protocol Messages").
//!
//! ```text
//! request   | i32 size | i16 api key | i16 version | i32 correlation id | client id [| tags] | body
//! response  | i32 size | i32 correlation id [| tags] | body
//! ```
//!
//! The size does not count itself. `[ ]`: flexible versions. The client id is never compact. A
//! response does not say what it answers: the correlation id stands for it.

use super::apis::{Api, Call};
use super::fields::{Fault, Fields, Parsed, ensure};

/// Bytes of the size.
pub(super) const SIZE_BYTES: u64 = 4;

/// The smallest response: a correlation id.
const SMALLEST: u32 = 4;

/// The longest client id that is believed to be one; Kafka has no limit of its own.
const LONGEST_CLIENT_ID: usize = 512;

/// Bytes of the PDU that starts with `head`, its size included.
pub(super) fn pdu_bytes(fields: &mut Fields<'_>) -> Parsed<u64> {
    let size = u32::try_from(fields.i32()?).map_err(|_| Fault::Malformed)?;
    ensure(size >= SMALLEST)?;
    Ok(u64::from(size) + SIZE_BYTES)
}

/// A request's header.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestHeader<'a> {
    pub call: Call,
    pub api: &'static Api,
    pub correlation_id: i32,
    pub client_id: Option<&'a [u8]>,
}

impl<'a> RequestHeader<'a> {
    /// Reads it after the size. What no client would send is malformed: a header alone must tell
    /// requests from responses.
    pub fn read(fields: &mut Fields<'a>) -> Parsed<RequestHeader<'a>> {
        let (key, version) = (fields.i16()?, fields.i16()?);
        let (call, api) = Call::plausible(key, version).ok_or(Fault::Malformed)?;
        let correlation_id = fields.i32()?;
        let client_id = fields.plain_string()?;
        ensure(client_id.is_none_or(is_client_id))?;
        let mut body = fields.flexible(call.is_flexible());
        body.tags()?;
        *fields = body;
        Ok(RequestHeader { call, api, correlation_id, client_id })
    }

    /// Whether its client has a name, which hardly any other bytes have.
    pub fn is_named(&self) -> bool {
        self.client_id.is_some_and(|id| id.iter().any(u8::is_ascii_alphanumeric))
    }
}

/// Text on one line.
fn is_client_id(id: &[u8]) -> bool {
    id.len() <= LONGEST_CLIENT_ID
        && std::str::from_utf8(id).is_ok_and(|text| !text.chars().any(char::is_control))
}
