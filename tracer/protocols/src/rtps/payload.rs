//! The position of the application's bytes in a serialized payload.
//!
//! ```text
//! +---------------+---------------+---------------+-----------+---+
//! |      encapsulation id     |E| |       options             | P |  E: little-endian, P: padding bytes
//! +---------------+---------------+---------------+-----------+---+
//! |  length of a lone octet sequence, if the body is one          |
//! +---------------------------------------------------------------+
//! |  application payload …                     … then P bytes     |
//! +---------------------------------------------------------------+
//! ```
//!
//! The encapsulation header counts as protocol bytes (DDSI-RTPS 2.5 §10; padding: DDS-XTypes 1.3 §7.6.3.1.2), and so does a
//! length at the start of the body that equals the remaining bytes: the body is then one `sequence<octet>` or a string, and
//! the application's bytes are its elements. In the delimited encodings of XCDR2 there may be two such lengths, that of the
//! object and that of the sequence.
//!
//! Only the bytes show this, and the first member of a structure may equal the number of bytes after it by chance. A writer
//! has one type, so one sample that starts with another number decides for all later ones, see [`PayloadShape`].

use super::byte_order::SubmessageByteOrder;
use crate::Reader;

/// Number of bytes of the encapsulation header.
const ENCAPSULATION_BYTES: u64 = 4;

/// Number of bytes of a length.
const LENGTH_BYTES: u64 = 4;

/// The alignment of a payload; there are fewer padding bytes than this.
const ALIGNMENT: u64 = 4;

/// Shape of a writer's type, as its samples show it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PayloadShape {
    /// All samples so far can be a single sequence.
    #[default]
    Unsettled,
    /// A sample was not a single sequence.
    Structure,
}

/// The position of the application's bytes in a serialized payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApplicationBytes {
    /// Number of bytes before them.
    pub skip: u64,
    /// Number of the application's bytes.
    pub len: u64,
}

impl ApplicationBytes {
    /// All of `total` bytes, for a payload whose start is not known.
    pub(super) fn everything(total: u64) -> ApplicationBytes {
        ApplicationBytes { skip: 0, len: total }
    }

    /// Finds the application's bytes in a serialized payload of `total` bytes that starts with `head`, from a writer whose
    /// payloads have this `shape`. `None` if too little of the head was captured.
    pub fn find(head: &[u8], total: u64, shape: &mut PayloadShape) -> Option<ApplicationBytes> {
        let Some(body) = total.checked_sub(ENCAPSULATION_BYTES) else {
            return Some(ApplicationBytes::everything(total));
        };
        let mut reader = Reader::new(head);
        let [id, kind, _, options] = reader.array()?;
        let padding = u64::from(options & 3).min(body);
        let whole =
            ApplicationBytes { skip: ENCAPSULATION_BYTES, len: body.saturating_sub(padding) };
        if *shape == PayloadShape::Structure {
            return Some(whole);
        }
        let order =
            if kind & 1 == 1 { SubmessageByteOrder::Little } else { SubmessageByteOrder::Big };
        let mut found = whole;
        for _ in 0..lengths(id, kind) {
            let Some(rest) = found.len.checked_sub(LENGTH_BYTES) else { break };
            let length = u64::from(order.u32(&mut reader)?);
            if !is_lone(length, rest, padding) {
                break;
            }
            found = ApplicationBytes { skip: found.skip.saturating_add(LENGTH_BYTES), len: length };
        }
        if found == whole {
            *shape = PayloadShape::Structure;
        }
        Some(found)
    }

    /// Returns the number of the serialized bytes `start..end` that are the application's.
    pub(super) fn within(self, start: u64, end: u64) -> u64 {
        end.min(self.skip.saturating_add(self.len)).saturating_sub(start.max(self.skip))
    }
}

/// Number of lengths that may be at the start of a body. `D_CDR2` has two identifiers: one from DDS-XTypes 1.3 Table 60, one from
/// DDSI-RTPS 2.5 Table 10.3.
fn lengths(id: u8, kind: u8) -> usize {
    match (id, kind) {
        (0, 0x08 | 0x09 | 0x14 | 0x15) => 2,
        _ => 1,
    }
}

/// True if `length` covers the `rest` of the body. Undeclared padding is allowed, because some senders do not declare it.
fn is_lone(length: u64, rest: u64, padding: u64) -> bool {
    let undeclared = if padding == 0 { ALIGNMENT - 1 } else { 0 };
    rest.checked_sub(length).is_some_and(|left| left <= undeclared)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(head: &[u8], total: u64) -> Option<(u64, u64)> {
        find_as(head, total, &mut PayloadShape::default())
    }

    fn find_as(head: &[u8], total: u64, shape: &mut PayloadShape) -> Option<(u64, u64)> {
        ApplicationBytes::find(head, total, shape).map(|found| (found.skip, found.len))
    }

    #[test]
    fn one_sample_settles_a_writers_shape() {
        let mut shape = PayloadShape::default();
        let (like_a_sequence, unlike) = ([0, 1, 0, 0, 12, 0, 0, 0], [0, 1, 0, 0, 99, 0, 0, 0]);
        assert_eq!(find_as(&like_a_sequence, 20, &mut shape), Some((8, 12)));
        assert_eq!(shape, PayloadShape::Unsettled);
        assert_eq!(find_as(&unlike, 20, &mut shape), Some((4, 16)));
        assert_eq!(shape, PayloadShape::Structure);
        assert_eq!(find_as(&like_a_sequence, 20, &mut shape), Some((4, 16)));
    }

    #[test]
    fn a_structure_starts_after_the_encapsulation_header() {
        assert_eq!(find(&[0, 1, 0, 0, 1, 0, 0, 0, 9, 9, 9, 9, 9], 64), Some((4, 60)));
        assert_eq!(find(&[0, 1, 0, 3, 1, 0, 0, 0, 9, 9, 9, 9, 9], 64), Some((4, 57)));
        assert_eq!(find(&[0, 1, 0, 0, 7], 5), Some((4, 1)));
    }

    #[test]
    fn a_lone_sequence_starts_after_its_length() {
        assert_eq!(find(&[0, 1, 0, 0, 8, 0, 0, 0], 16), Some((8, 8)));
        assert_eq!(find(&[0, 0, 0, 0, 0, 0, 0, 8], 16), Some((8, 8)));
        // Padded by two, declared or not.
        assert_eq!(find(&[0, 1, 0, 2, 6, 0, 0, 0], 16), Some((8, 6)));
        assert_eq!(find(&[0, 1, 0, 0, 6, 0, 0, 0], 16), Some((8, 6)));
        // Too far from the end to be padding.
        assert_eq!(find(&[0, 1, 0, 0, 4, 0, 0, 0], 16), Some((4, 12)));
        assert_eq!(find(&[0, 1, 0, 1, 6, 0, 0, 0], 16), Some((4, 11)));
        assert_eq!(find(&[0, 1, 0, 0, 0, 0, 0, 0], 8), Some((8, 0)));
    }

    #[test]
    fn a_delimited_object_may_hold_a_lone_sequence() {
        assert_eq!(find(&[0, 9, 0, 0, 12, 0, 0, 0, 8, 0, 0, 0], 20), Some((12, 8)));
        assert_eq!(find(&[0, 0x15, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0], 20), Some((8, 12)));
        // Plain CDR has one length only.
        assert_eq!(find(&[0, 1, 0, 0, 12, 0, 0, 0, 8, 0, 0, 0], 20), Some((8, 12)));
    }

    #[test]
    fn too_little_captured_is_not_too_little_sent() {
        assert_eq!(find(&[0, 1, 0], 3), Some((0, 3)));
        assert_eq!(find(&[0, 1, 0], 16), None);
        assert_eq!(find(&[0, 1, 0, 0, 8, 0, 0], 16), None);
        assert_eq!(find(&[0, 1, 0, 0], 4), Some((4, 0)));
        assert_eq!(find(&[], 0), Some((0, 0)));
    }

    #[test]
    fn ranges_are_clipped_to_the_application() {
        let found = ApplicationBytes { skip: 8, len: 10 };
        assert_eq!((found.within(0, 12), found.within(12, 30), found.within(30, 40)), (4, 6, 0));
    }
}
