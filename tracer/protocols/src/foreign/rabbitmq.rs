//! `RabbitMQ`'s stream protocol (`PROTOCOL.adoc` of its plugin `rabbitmq_stream`).
//!
//! ```text
//! opening    | u32 size | u16 command 17 | u16 version 1 | u32 correlation id | u32 count | (string, string) …
//! answer     … command 0x8011 … correlation id | u16 code | u32 count | …
//! ```

use super::name::ForeignName;
use crate::Reader;

const NAME: &str = "RabbitMQ streams";

/// The command with which both ends name their properties, and the bit that marks an answer.
const PEER_PROPERTIES: u16 = 17;
const ANSWER: u16 = 0x8000;

/// Recognises the frame that an end sends first: its properties, which fill the frame.
pub(super) fn properties(head: &[u8]) -> Option<ForeignName> {
    is_properties(head)?.then(|| ForeignName::of(NAME, None))
}

fn is_properties(head: &[u8]) -> Option<bool> {
    let mut reader = Reader::new(head);
    let size = usize::try_from(reader.u32_be()?).ok()?;
    let mut frame = Reader::new(reader.take(size)?);
    let (command, version, _) = (frame.u16_be()?, frame.u16_be()?, frame.u32_be()?);
    if command & !ANSWER != PEER_PROPERTIES || version != 1 {
        return Some(false);
    }
    if command & ANSWER != 0 {
        frame.u16_be()?;
    }
    let count = frame.u32_be()?;
    for _ in 0..count.checked_mul(2)? {
        let len = frame.u16_be()?;
        std::str::from_utf8(frame.take(usize::from(len))?).ok()?;
    }
    Some(count > 0 && frame.remaining() == 0)
}
