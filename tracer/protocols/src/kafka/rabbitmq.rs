//! Recognition of commands of `RabbitMQ`'s stream protocol (`PROTOCOL.adoc` of its plugin `rabbitmq_stream`), whose frames begin
//! as Kafka's requests do.
//!
//! ```text
//! Kafka       | u32 size | i16 API key | i16 version | i32 correlation id | string client id | …
//! RabbitMQ    | u32 size | u16 command | u16 version | u32 correlation id | string …
//! ```
//!
//! All commands have version 1. The string is that of a stream, a mechanism or a virtual host, and what comes behind it ends with the
//! frame, which no body of the Kafka request with this key and version does.

use super::fields::{KafkaFieldError, KafkaFields, KafkaResult, ensure};
use super::header::RequestHeader;

/// Fails if the request with this header, whose body is `fields`, is such a command.
pub(super) fn refuse(header: &RequestHeader<'_>, fields: KafkaFields<'_>) -> KafkaResult<()> {
    let is_command = match (header.call.version, header.client_id) {
        (1, Some(name)) if !name.is_empty() => is_command(header.call.key, fields),
        _ => Ok(false),
    };
    ensure(!is_command?)
}

/// True if these are all bytes of a command after its first string.
fn is_command(key: i16, mut fields: KafkaFields<'_>) -> KafkaResult<bool> {
    let read = match key {
        // Delete, Open, Partitions, StreamStats, DeleteSuperStream.
        14 | 21 | 25 | 28 | 30 => Ok(()),
        // QueryPublisherSequence, QueryOffset, Route.
        5 | 11 | 24 => fields.plain_string().map(drop),
        // Create.
        13 => properties(&mut fields),
        // SaslAuthenticate.
        19 => fields.plain_bytes_len().and_then(|len| fields.take(len)).map(drop),
        // CreateSuperStream.
        29 => strings(&mut fields, 1)
            .and_then(|()| strings(&mut fields, 1))
            .and_then(|()| properties(&mut fields)),
        _ => return Ok(false),
    };
    match read {
        Ok(()) => Ok(fields.left() == 0),
        Err(KafkaFieldError::Malformed) => Ok(false),
        Err(short) => Err(short),
    }
}

/// Skips a map of strings.
fn properties(fields: &mut KafkaFields<'_>) -> KafkaResult<()> {
    strings(fields, 2)
}

/// Skips an array of entries of so many strings.
fn strings(fields: &mut KafkaFields<'_>, of: usize) -> KafkaResult<()> {
    let entries = u64::try_from(fields.i32()?).map_err(|_| KafkaFieldError::Malformed)?;
    ensure(entries <= fields.left())?;
    for _ in 0..entries {
        for _ in 0..of {
            fields.plain_string()?;
        }
    }
    Ok(())
}
