//! Field tables (AMQP 0-9-1 §4.2.5.5, with `RabbitMQ`'s types of fields).
//!
//! ```text
//! ( name · type u8 · value )*
//! ```

use super::method::short_string;
use crate::Reader;
use wirelap_events::TraceContext;

/// The value of the first field of a table with this name and type; `None` if there is none before a type that is not known.
pub(super) fn find<'a>(table: Reader<'a>, name: &[u8], kind: u8) -> Option<&'a [u8]> {
    find_if(table, name, |found| found == kind).map(|(_, value)| value)
}

/// The number that is the value of the first field of a table with this name, of whatever size; `None` if it is negative.
pub(super) fn find_number(table: Reader<'_>, name: &[u8]) -> Option<u64> {
    let (kind, value) = find_if(table, name, |kind| integer(kind, &[]).is_some())?;
    integer(kind, value).and_then(|number| u64::try_from(number).ok())
}

/// True if a table has a field with this name.
pub(super) fn has(table: Reader<'_>, name: &[u8]) -> bool {
    find_if(table, name, |_| true).is_some()
}

/// The whole number that a value of this type is; `None` for other types.
pub(super) fn integer(kind: u8, value: &[u8]) -> Option<i64> {
    b"bBsUuIilL".contains(&kind).then_some(())?;
    let is_negative = b"bsUIlL".contains(&kind) && value.first().is_some_and(|byte| *byte >= 0x80);
    let start = if is_negative { -1 } else { 0 };
    Some(value.iter().fold(start, |number, byte| (number << 8) | i64::from(*byte)))
}

/// The table with which the rest of a method's arguments begins, as far as it was captured; an empty one where none was.
pub(super) fn arguments<'a>(reader: &mut Reader<'a>) -> Reader<'a> {
    let len = reader.u32_be().and_then(|len| usize::try_from(len).ok());
    len.map_or(Reader::new(&[]), |len| reader.sub_up_to(len))
}

/// The flags of the properties up to the headers (AMQP 0-9-1 §4.2.6.1).
const CONTENT_TYPE: u16 = 1 << 15;
const CONTENT_ENCODING: u16 = 1 << 14;
const HEADERS: u16 = 1 << 13;

/// The headers of a message, of its properties behind the size:
/// `flags u16 · [content type] · [content encoding] · [u32 length · headers] · …`. `None` if it has none.
pub(super) fn headers(mut properties: Reader<'_>) -> Option<Reader<'_>> {
    let flags = properties.u16_be()?;
    if flags & HEADERS == 0 {
        return None;
    }
    for flag in [CONTENT_TYPE, CONTENT_ENCODING] {
        if flags & flag != 0 {
            short_string(&mut properties)?;
        }
    }
    Some(arguments(&mut properties))
}

/// The trace that a message names in the first of its headers that is well-formed: a long string, or bytes, as which some clients write texts.
pub(super) fn trace_context(properties: Reader<'_>) -> Option<TraceContext> {
    let mut table = headers(properties)?;
    loop {
        let len = table.u8()?;
        let name = table.take(len.into())?;
        let (kind, value) = value(&mut table)?;
        if let Some(context) =
            TraceContext::of_header(name, value).filter(|_| b"Sx".contains(&kind))
        {
            return Some(context);
        }
    }
}

fn find_if<'a>(
    mut table: Reader<'a>,
    name: &[u8],
    is_of: impl Fn(u8) -> bool,
) -> Option<(u8, &'a [u8])> {
    loop {
        let (found, kind, value) = field(&mut table)?;
        if found == name && is_of(kind) {
            return Some((kind, value));
        }
    }
}

/// The name, the type and the value of the next field; `None` for types that are not known.
pub(super) fn field<'a>(table: &mut Reader<'a>) -> Option<(&'a [u8], u8, &'a [u8])> {
    let name = short_string(table)?;
    let (kind, value) = value(table)?;
    Some((name, kind, value))
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
