//! Field tables (AMQP 0-9-1 §4.2.5.5, with `RabbitMQ`'s types of fields).
//!
//! ```text
//! ( name · type u8 · value )*
//! ```

use crate::Reader;

/// The value of the first field of a table with this name and type; `None` if there is none before a type that is not known.
pub(super) fn find<'a>(table: Reader<'a>, name: &[u8], kind: u8) -> Option<&'a [u8]> {
    find_if(table, name, |found| found == kind).map(|(_, value)| value)
}

/// The number that is the value of the first field of a table with this name, of whatever size; `None` if it is negative.
pub(super) fn find_number(table: Reader<'_>, name: &[u8]) -> Option<u64> {
    let (kind, value) = find_if(table, name, |kind| b"bBsuUIilL".contains(&kind))?;
    let is_negative = b"bsUIlL".contains(&kind) && value.first().is_some_and(|byte| *byte >= 0x80);
    let number = value.iter().fold(0_u64, |number, byte| (number << 8) | u64::from(*byte));
    (!is_negative).then_some(number)
}

fn find_if<'a>(
    mut table: Reader<'a>,
    name: &[u8],
    is_of: impl Fn(u8) -> bool,
) -> Option<(u8, &'a [u8])> {
    loop {
        let len = table.u8()?;
        let found = table.take(len.into())?;
        let (kind, value) = value(&mut table)?;
        if found == name && is_of(kind) {
            return Some((kind, value));
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
