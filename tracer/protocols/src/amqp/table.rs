//! Field tables (AMQP 0-9-1 §4.2.5.5, with `RabbitMQ`'s types of fields).
//!
//! ```text
//! ( name · type u8 · value )*
//! ```

use crate::Reader;

/// The value of the first field of a table with this name and type; `None` if there is none before a type that is not known.
pub(super) fn find<'a>(mut table: Reader<'a>, name: &[u8], kind: u8) -> Option<&'a [u8]> {
    loop {
        let len = table.u8()?;
        let found = table.take(len.into())?;
        let (found_kind, value) = value(&mut table)?;
        if found == name && found_kind == kind {
            return Some(value);
        }
    }
}

/// The type of the next value, and its bytes without their length; `None` for types that are not known.
pub(super) fn value<'a>(reader: &mut Reader<'a>) -> Option<(u8, &'a [u8])> {
    let kind = reader.u8()?;
    let len = match kind {
        b't' | b'b' | b'B' => 1,
        b's' | b'u' | b'U' => 2,
        b'I' | b'i' | b'f' => 4,
        b'D' => 5,
        b'l' | b'L' | b'd' | b'T' => 8,
        b'V' => 0,
        b'S' | b'A' | b'F' | b'x' => usize::try_from(reader.u32_be()?).ok()?,
        _ => return None,
    };
    Some((kind, reader.take(len)?))
}
