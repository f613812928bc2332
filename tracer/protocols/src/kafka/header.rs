//! Lengths and headers (protocol guide, "Protocol Messages").
//!
//! ```text
//! request   | i32 size | i16 api key | i16 version | i32 correlation id | client id [| tags] | body
//! response  | i32 size | i32 correlation id [| tags] | body
//! ```
//!
//! The size does not include itself. Fields in `[ ]` exist in flexible versions only. The client ID is never compact. A
//! response refers to its request only by the correlation ID.

use super::apis::{Api, ApiCall};
use super::fields::{KafkaFieldError, KafkaFields, KafkaResult, ensure};

/// Number of bytes of the size field.
pub(super) const SIZE_BYTES: u64 = 4;

/// The smallest response has only a correlation ID.
const SMALLEST: u32 = 4;

/// The longest plausible client ID; Kafka itself has no limit.
const LONGEST_CLIENT_ID: usize = 512;

/// Number of bytes of the PDU that starts with `fields`, including its size field.
pub(super) fn pdu_bytes(fields: &mut KafkaFields<'_>) -> KafkaResult<u64> {
    let size = u32::try_from(fields.i32()?).map_err(|_| KafkaFieldError::Malformed)?;
    ensure(size >= SMALLEST)?;
    Ok(u64::from(size) + SIZE_BYTES)
}

/// A request's header.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestHeader<'a> {
    pub call: ApiCall,
    pub api: &'static Api,
    pub correlation_id: i32,
    pub client_id: Option<&'a [u8]>,
}

impl<'a> RequestHeader<'a> {
    /// Reads a header after the size. Values that no client sends are malformed, because the header alone must distinguish
    /// requests from responses.
    pub fn read(fields: &mut KafkaFields<'a>) -> KafkaResult<RequestHeader<'a>> {
        let (key, version) = (fields.i16()?, fields.i16()?);
        let (call, api) = ApiCall::plausible(key, version).ok_or(KafkaFieldError::Malformed)?;
        let correlation_id = fields.i32()?;
        let client_id = fields.plain_string()?;
        ensure(client_id.is_none_or(is_client_id))?;
        let mut body = fields.flexible(call.is_flexible());
        body.tags()?;
        *fields = body;
        Ok(RequestHeader { call, api, correlation_id, client_id })
    }

    /// True if the header has a client ID with a letter or digit, which other bytes rarely look like.
    pub fn is_named(&self) -> bool {
        self.client_id.is_some_and(|id| id.iter().any(u8::is_ascii_alphanumeric))
    }
}

/// True if the bytes are text without control characters.
fn is_client_id(id: &[u8]) -> bool {
    id.len() <= LONGEST_CLIENT_ID
        && std::str::from_utf8(id).is_ok_and(|text| !text.chars().any(char::is_control))
}
