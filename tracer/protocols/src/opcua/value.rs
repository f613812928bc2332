//! Values of variables: Variant (OPC 10000-6 §5.2.2.16) and `DataValue` (§5.2.2.17).
//!
//! ```text
//! Variant    +----------------------+------------+-------------------+--------------+
//!            | type 6 bits, dim, arr| [elements] | value or elements | [dimensions] |
//!            +----------------------+------------+-------------------+--------------+
//! DataValue  +------+-----------+----------+-----------------+-----------------+
//!            | mask | [Variant] | [status] | [source, picos] | [server, picos] |
//!            +------+-----------+----------+-----------------+-----------------+
//! ```
//!
//! The payload is the value's content: a String or `ByteString` without its length, an array's elements without their
//! number, any other value as it is encoded.

use super::fields::{FieldError, OpcuaFields};
use super::node::NodeId;
use wirelap_events::Total;

/// The deepest nesting of values that is read. The specification requires at least 100, but values rarely need more than two, and each
/// level needs stack.
const MAX_DEPTH: u32 = 16;

const ARRAY: u8 = 0x80;
const DIMENSIONS: u8 = 0x40;

/// The position of a value's content in the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ValueContent<'a> {
    pub start: u64,
    pub len: u64,
    /// The captured bytes of the content.
    pub bytes: &'a [u8],
    /// Number of bytes of the `DataValue` after the content; `None` if it is not known before they arrive.
    tail: Option<u64>,
}

impl<'a> ValueContent<'a> {
    fn next(fields: &OpcuaFields<'a>, len: u64) -> Result<ValueContent<'a>, FieldError> {
        fields.ensure(len)?;
        Ok(ValueContent { start: fields.position(), len, bytes: fields.peek(len), tail: None })
    }

    pub fn end(&self) -> u64 {
        self.start.saturating_add(self.len)
    }

    /// The end of the `DataValue`, if its content tells it.
    pub fn value_end(&self) -> Option<u64> {
        self.tail.map(|tail| self.end().saturating_add(tail))
    }
}

/// Reads a `DataValue`. Its content is stored in `found` as soon as its position is known, even if later bytes were not
/// captured.
pub(super) fn data_value<'a>(
    fields: &mut OpcuaFields<'a>,
    found: &mut Option<ValueContent<'a>>,
) -> Result<(), FieldError> {
    let mask = fields.u8()?;
    let tail = data_value_tail(mask);
    if mask & 1 != 0 {
        let has_dimensions = fields.peek(1).first().is_some_and(|kind| kind & DIMENSIONS != 0);
        let result = variant(fields, found, 0);
        if let Some(content) = found {
            content.tail = (!has_dimensions).then_some(tail);
        }
        result?;
    }
    fields.skip(tail)
}

/// Number of bytes of a `DataValue` after its Variant.
fn data_value_tail(mask: u8) -> u64 {
    [(0x02, 4), (0x04, 8), (0x10, 2), (0x08, 8), (0x20, 2)]
        .iter()
        .filter(|(bit, _)| mask & bit != 0)
        .map(|(_, bytes)| bytes)
        .total()
}

fn variant<'a>(
    fields: &mut OpcuaFields<'a>,
    found: &mut Option<ValueContent<'a>>,
    depth: u32,
) -> Result<(), FieldError> {
    let mask = fields.u8()?;
    let kind = mask & 0x3F;
    match (kind, mask & ARRAY != 0) {
        (0, false) => {}
        (0, true) => return Err(FieldError::Malformed),
        (_, false) => scalar(kind, fields, found, depth)?,
        (_, true) => array(kind, fields, found, depth)?,
    }
    if mask & DIMENSIONS != 0 {
        let dimensions = fields.len()?;
        fields.skip(4 * u64::from(dimensions))?;
    }
    Ok(())
}

fn scalar<'a>(
    kind: u8,
    fields: &mut OpcuaFields<'a>,
    found: &mut Option<ValueContent<'a>>,
    depth: u32,
) -> Result<(), FieldError> {
    let len = match (size(kind), kind) {
        (Some(size), _) => size,
        (None, 12 | 15 | 16 | 26..) => fields.len()?.into(),
        (None, _) => {
            let before = *fields;
            element(kind, fields, depth)?;
            *found = Some(ValueContent::next(
                &before,
                fields.position().saturating_sub(before.position()),
            )?);
            return Ok(());
        }
    };
    *found = Some(ValueContent::next(fields, len)?);
    fields.skip(len)
}

fn array<'a>(
    kind: u8,
    fields: &mut OpcuaFields<'a>,
    found: &mut Option<ValueContent<'a>>,
    depth: u32,
) -> Result<(), FieldError> {
    let elements = fields.len()?;
    if let Some(size) = size(kind) {
        let len = size.saturating_mul(u64::from(elements));
        *found = Some(ValueContent::next(fields, len)?);
        return fields.skip(len);
    }
    let before = *fields;
    for _ in 0..elements {
        element(kind, fields, depth)?;
    }
    *found =
        Some(ValueContent::next(&before, fields.position().saturating_sub(before.position()))?);
    Ok(())
}

/// The size of a built-in type, if it is fixed (§5.1.2).
fn size(kind: u8) -> Option<u64> {
    Some(match kind {
        1..=3 => 1,
        4 | 5 => 2,
        6 | 7 | 10 | 19 => 4,
        8 | 9 | 11 | 13 => 8,
        14 => 16,
        _ => return None,
    })
}

/// Skips one value of a built-in type. Each value has at least one byte, so that a loop over elements ends.
fn element(kind: u8, fields: &mut OpcuaFields<'_>, depth: u32) -> Result<(), FieldError> {
    if depth == MAX_DEPTH {
        return Err(FieldError::Malformed);
    }
    if let Some(size) = size(kind) {
        return fields.skip(size);
    }
    match kind {
        17 => NodeId::read(fields).map(drop),
        18 => NodeId::read_expanded(fields).map(drop),
        20 => qualified_name(fields),
        21 => localized_text(fields),
        22 => extension_object(fields),
        23 => {
            let mask = fields.u8()?;
            if mask & 1 != 0 {
                variant(fields, &mut None, depth.saturating_add(1))?;
            }
            fields.skip(data_value_tail(mask))
        }
        24 => variant(fields, &mut None, depth.saturating_add(1)),
        25 => diagnostic_info(fields),
        // Types that are not defined yet are encoded as a ByteString.
        _ => fields.text().map(drop),
    }
}

/// Skips a `QualifiedName` (§5.2.2.13).
pub(super) fn qualified_name(fields: &mut OpcuaFields<'_>) -> Result<(), FieldError> {
    fields.u16()?;
    fields.text().map(drop)
}

/// Skips a `LocalizedText` (§5.2.2.14).
fn localized_text(fields: &mut OpcuaFields<'_>) -> Result<(), FieldError> {
    let mask = fields.u8()?;
    for bit in [1, 2] {
        if mask & bit != 0 {
            fields.text()?;
        }
    }
    Ok(())
}

/// Skips an `ExtensionObject` (§5.2.2.15).
pub(super) fn extension_object(fields: &mut OpcuaFields<'_>) -> Result<(), FieldError> {
    NodeId::read(fields)?;
    if fields.u8()? != 0 {
        fields.text()?;
    }
    Ok(())
}

/// Skips a `DiagnosticInfo` (§5.2.2.12). A nested one is its last field.
pub(super) fn diagnostic_info(fields: &mut OpcuaFields<'_>) -> Result<(), FieldError> {
    loop {
        let mask = fields.u8()?;
        fields.skip(4 * u64::from((mask & 0x0F).count_ones()))?;
        if mask & 0x10 != 0 {
            fields.text()?;
        }
        if mask & 0x20 != 0 {
            fields.u32()?;
        }
        if mask & 0x40 == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The content's place and length, and whether everything was read.
    fn read(bytes: &[u8], total: usize) -> (Option<(u64, u64)>, Result<u64, FieldError>) {
        let mut found = None;
        let mut fields = OpcuaFields::new(bytes, 0, total as u64, 0).unwrap();
        let result = data_value(&mut fields, &mut found);
        (found.map(|found| (found.start, found.len)), result.map(|()| fields.position()))
    }

    #[test]
    fn the_content_is_found_whatever_surrounds_it() {
        for (bytes, content) in [
            (&b"\x01\x0f\x03\0\0\0abc"[..], (6, 3)),
            (b"\x01\x0c\x00\0\0\0", (6, 0)),
            (b"\x01\x0f\xff\xff\xff\xff", (6, 0)),
            (b"\x01\x06abcd", (2, 4)),
            (b"\x01\x0babcdefgh", (2, 8)),
            (b"\x3f\x01\x01ssss--------pp--------pp", (2, 1)),
            (b"\x01\x83\x05\0\0\0abcde", (6, 5)),
            // Two Strings: with their lengths.
            (b"\x01\x8c\x02\0\0\0\x01\0\0\0a\x02\0\0\0bc", (6, 11)),
            // A matrix of bytes, 2 by 2.
            (b"\x01\xc3\x04\0\0\0abcd\x02\0\0\0\x02\0\0\0\x02\0\0\0", (6, 4)),
            // A LocalizedText, an ExtensionObject, a Variant in an array of them.
            (b"\x01\x15\x03\x01\0\0\0d\x01\0\0\0t", (2, 11)),
            (b"\x01\x16\x01\x00\x01\x00\x01\x02\0\0\0zz", (2, 11)),
            (b"\x01\x98\x01\0\0\0\x03\x07", (6, 2)),
        ] {
            let expected = (Some(content), Ok(bytes.len() as u64));
            assert_eq!(read(bytes, bytes.len()), expected, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn no_value_has_no_content() {
        assert_eq!(read(b"\x02ssss", 5), (None, Ok(5)));
        assert_eq!(read(b"\x01\x00", 2), (None, Ok(2)));
    }

    #[test]
    fn a_content_that_is_not_here_has_a_place() {
        assert_eq!(read(b"\x01\x0f\x64\0\0\0abc", 106), (Some((6, 100)), Err(FieldError::Short)));
        assert_eq!(read(b"\x01\x0f\x64\0\0\0abc", 50), (None, Err(FieldError::Malformed)));
        assert_eq!(read(b"\x01\x0f\x64\0", 106), (None, Err(FieldError::Short)));
    }

    #[test]
    fn nesting_has_an_end() {
        let mut deep = vec![0x01];
        deep.extend([0x98, 1, 0, 0, 0].repeat(40));
        assert_eq!(read(&deep, deep.len()), (None, Err(FieldError::Malformed)));
        assert_eq!(
            read(&[0x01, 0x80, 0xFF, 0xFF, 0xFF, 0x7F], 6),
            (None, Err(FieldError::Malformed))
        );
    }
}
