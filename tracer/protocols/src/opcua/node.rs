//! Identifiers of nodes (OPC 10000-6 §5.2.2.9), and their text (§5.3.1.10).

use super::fields::{FieldError, OpcuaFields};

/// The longest string or opaque identifier, in characters (OPC 10000-3 §8.2.4).
const MAX_ID_BYTES: usize = 4096;

/// The bits of an `ExpandedNodeId`'s first byte.
const HAS_URI: u8 = 0x80;
const HAS_SERVER: u8 = 0x40;

/// A node's identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeId<'a> {
    pub namespace: u16,
    pub id: NodeIdentifier<'a>,
}

/// Identifier of a node in its namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeIdentifier<'a> {
    Number(u32),
    Text(&'a [u8]),
    Guid([u8; 16]),
    Opaque(&'a [u8]),
}

impl<'a> NodeId<'a> {
    pub fn read(fields: &mut OpcuaFields<'a>) -> Result<NodeId<'a>, FieldError> {
        let kind = fields.u8()?;
        NodeId::of_kind(kind, fields)
    }

    /// An `ExpandedNodeId`, without its namespace URI and server (§5.2.2.10).
    pub fn read_expanded(fields: &mut OpcuaFields<'a>) -> Result<NodeId<'a>, FieldError> {
        let kind = fields.u8()?;
        let node = NodeId::of_kind(kind & !(HAS_URI | HAS_SERVER), fields)?;
        if kind & HAS_URI != 0 {
            fields.text()?;
        }
        if kind & HAS_SERVER != 0 {
            fields.u32()?;
        }
        Ok(node)
    }

    fn of_kind(kind: u8, fields: &mut OpcuaFields<'a>) -> Result<NodeId<'a>, FieldError> {
        let namespace = match kind {
            0 => 0,
            1 => fields.u8()?.into(),
            2..=5 => fields.u16()?,
            _ => return Err(FieldError::Malformed),
        };
        let id = match kind {
            0 => NodeIdentifier::Number(fields.u8()?.into()),
            1 => NodeIdentifier::Number(fields.u16()?.into()),
            2 => NodeIdentifier::Number(fields.u32()?),
            3 => NodeIdentifier::Text(fields.text()?),
            4 => NodeIdentifier::Guid(fields.guid()?),
            _ => NodeIdentifier::Opaque(fields.text()?),
        };
        Ok(NodeId { namespace, id })
    }

    /// The number of a node of the specification's own namespace.
    pub fn standard(&self) -> Option<u32> {
        match *self {
            NodeId { namespace: 0, id: NodeIdentifier::Number(number) } => Some(number),
            _ => None,
        }
    }

    /// Appends the text, such as `ns=1;s=the.answer`; namespace 0 is left out.
    pub fn write(&self, out: &mut Vec<u8>) {
        if self.namespace != 0 {
            out.extend_from_slice(b"ns=");
            write_number(self.namespace.into(), out);
            out.push(b';');
        }
        match self.id {
            NodeIdentifier::Number(number) => {
                out.extend_from_slice(b"i=");
                write_number(number, out);
            }
            NodeIdentifier::Text(text) => {
                out.extend_from_slice(b"s=");
                out.extend_from_slice(text.get(..MAX_ID_BYTES).unwrap_or(text));
            }
            NodeIdentifier::Guid(guid) => write_guid(guid, out),
            NodeIdentifier::Opaque(bytes) => {
                out.extend_from_slice(b"b=");
                write_base64(bytes.get(..MAX_ID_BYTES).unwrap_or(bytes), out);
            }
        }
    }
}

/// Appends a number in decimal. This is faster than the standard library's formatting, which would take most of the time of
/// decoding a value.
fn write_number(mut number: u32, out: &mut Vec<u8>) {
    let start = out.len();
    loop {
        out.push(b'0'.saturating_add((number % 10) as u8));
        number /= 10;
        if number == 0 {
            break;
        }
    }
    if let Some(digits) = out.get_mut(start..) {
        digits.reverse();
    }
}

/// Appends a GUID. Its first three groups are little-endian numbers (§5.2.2.6).
fn write_guid(guid: [u8; 16], out: &mut Vec<u8>) {
    const ORDER: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    out.extend_from_slice(b"g=");
    for (place, index) in ORDER.into_iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        let digit = |value: u8| b"0123456789abcdef"[usize::from(value & 0x0F)];
        out.extend([digit(guid[index] >> 4), digit(guid[index])]);
    }
}

/// Appends bytes as base64 (RFC 4648 §4).
fn write_base64(bytes: &[u8], out: &mut Vec<u8>) {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for group in bytes.chunks(3) {
        let byte = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for (digit, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            let value = (bits >> shift) & 0x3F;
            let padding = digit > group.len();
            out.push(if padding { b'=' } else { ALPHABET[value as usize] });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> Result<String, FieldError> {
        let mut fields = OpcuaFields::new(bytes, 0, bytes.len() as u64, 0)?;
        let node = NodeId::read(&mut fields)?;
        let mut out = Vec::new();
        node.write(&mut out);
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn every_encoding_has_its_text() {
        assert_eq!(text(&[0, 85]).unwrap(), "i=85");
        assert_eq!(text(&[1, 5, 0, 0]).unwrap(), "ns=5;i=0");
        assert_eq!(text(&[1, 5, 1, 4]).unwrap(), "ns=5;i=1025");
        assert_eq!(text(&[2, 0, 1, 0x40, 0xE2, 1, 0]).unwrap(), "ns=256;i=123456");
        assert_eq!(text(b"\x03\x01\0\x0a\0\0\0the.answer").unwrap(), "ns=1;s=the.answer");
        assert_eq!(text(b"\x05\x02\0\x04\0\0\0\x00\xffab").unwrap(), "ns=2;b=AP9hYg==");
        // The example of §5.2.2.6.
        let guid = b"\x04\x01\0\x91\x2b\x96\x72\x75\xfa\xe6\x4a\x8d\x28\xb4\x04\xdc\x7d\xaf\x63";
        assert_eq!(text(guid).unwrap(), "ns=1;g=72962b91-fa75-4ae6-8d28-b404dc7daf63");
    }

    #[test]
    fn an_invalid_identifier_is_not_a_truncated_one() {
        assert_eq!(text(&[6, 0, 0]), Err(FieldError::Malformed));
        assert_eq!(text(&[3, 1, 0, 9, 0, 0, 0, b'x']), Err(FieldError::Malformed));
        let cut = OpcuaFields::new(&[3, 1, 0, 9, 0, 0, 0, b'x'], 0, 16, 0);
        assert_eq!(NodeId::read(&mut cut.unwrap()), Err(FieldError::Short));
    }
}
