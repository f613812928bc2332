//! Packets of a datagram (RFC 9000 §17, RFC 9369 §3.2).
//!
//! ```text
//!  long:   | 1 type | version | n, destination id | n, source id | token (Initial) | length | number | payload |
//!             1          4       1   n               1   n                           1…8      1…4
//!  short:  | 0 | destination id | number | payload, to the datagram's end |
//!            1       n             1…4
//! ```

use crate::cursor::Cursor;

/// Bytes of the longest id of a connection.
pub const MAX_ID_LEN: usize = 20;

/// A version of QUIC that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuicVersion {
    V1,
    V2,
}

impl QuicVersion {
    fn of(number: u32) -> Option<QuicVersion> {
        match number {
            1 => Some(QuicVersion::V1),
            0x6B33_43CF => Some(QuicVersion::V2),
            _ => None,
        }
    }
}

/// The kind of a packet, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    Initial,
    /// A packet with text that the client sends before the handshake (0-RTT).
    Early,
    /// A packet with a long header in which there is no text: of the handshake, or a retry.
    OtherLong,
    Short,
}

/// A packet, still protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProtectedPacket<'a> {
    pub kind: PacketKind,
    /// Version of a packet with a long header.
    pub version: QuicVersion,
    /// Id of the connection at the receiver; empty for a short header, which does not say its length.
    pub destination: &'a [u8],
    /// Length of the id of the connection at the sender; `None` for a short header.
    pub source_len: Option<u8>,
    /// All bytes of the packet.
    pub bytes: &'a [u8],
    /// Place of the packet's number; 0 for a short header, which does not say it.
    pub number_at: usize,
}

/// The packets of a datagram, up to the first one that cannot be read. Zeros behind them are none: they make a datagram longer.
pub fn packets(datagram: &[u8]) -> impl Iterator<Item = ProtectedPacket<'_>> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        let packet = read(rest).filter(|_| rest.iter().any(|byte| *byte != 0))?;
        rest = rest.get(packet.bytes.len()..).unwrap_or_default();
        Some(packet)
    })
}

/// The packet that these bytes begin with.
fn read(bytes: &[u8]) -> Option<ProtectedPacket<'_>> {
    let mut rest = Cursor(bytes);
    let first = rest.u8()?;
    if first & 0x80 == 0 {
        return Some(ProtectedPacket {
            kind: PacketKind::Short,
            version: QuicVersion::V1,
            destination: &[],
            source_len: None,
            bytes,
            number_at: 0,
        });
    }
    let version = QuicVersion::of(rest.u32()?)?;
    let id = |rest: &mut Cursor<'_>| rest.u8().filter(|len| usize::from(*len) <= MAX_ID_LEN);
    let destination_len = id(&mut rest)?;
    let destination = rest.take(destination_len.into())?;
    let source_len = id(&mut rest)?;
    rest.take(source_len.into())?;
    // The types of version 2 are those of version 1, one further.
    let number = (first >> 4) & 3;
    let (initial, early, retry) = match version {
        QuicVersion::V1 => (0, 1, 3),
        QuicVersion::V2 => (1, 2, 0),
    };
    let kind = match number {
        number if number == initial => PacketKind::Initial,
        number if number == early => PacketKind::Early,
        _ => PacketKind::OtherLong,
    };
    let source_len = Some(source_len);
    if number == retry {
        return Some(ProtectedPacket {
            kind,
            version,
            destination,
            source_len,
            bytes,
            number_at: bytes.len(),
        });
    }
    if kind == PacketKind::Initial {
        rest.counted()?;
    }
    let len = usize::try_from(rest.varint()?).ok()?;
    let number_at = bytes.len().checked_sub(rest.0.len())?;
    let bytes = bytes.get(..number_at.checked_add(len)?)?;
    Some(ProtectedPacket { kind, version, destination, source_len, bytes, number_at })
}

/// The whole of a number of which the last `len` bytes are sent, if the largest so far is `largest` (RFC 9000 §A.3).
pub fn whole_number(largest: Option<u64>, sent: u64, len: usize) -> u64 {
    let expected = largest.map_or(0, |largest| largest.saturating_add(1));
    let window = window(len);
    let half = window / 2;
    let candidate = (expected & !window.saturating_sub(1)) | sent;
    if candidate.saturating_add(half) <= expected {
        candidate.saturating_add(window)
    } else if candidate > expected.saturating_add(half) && candidate >= window {
        candidate.saturating_sub(window)
    } else {
        candidate
    }
}

/// Count of the numbers whose last `len` bytes are all different.
pub fn window(len: usize) -> u64 {
    match len {
        1 => 1 << 8,
        2 => 1 << 16,
        3 => 1 << 24,
        _ => 1 << 32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_the_one_nearest_to_the_next() {
        assert_eq!(whole_number(Some(0xA82F_30EA), 0x9B32, 2), 0xA82F_9B32, "RFC 9000 §A.3");
        assert_eq!(whole_number(None, 0, 1), 0);
        assert_eq!(whole_number(None, 200, 1), 200);
        assert_eq!(whole_number(Some(254), 1, 1), 257);
        assert_eq!(whole_number(Some(256), 255, 1), 255, "late");
        assert_eq!(whole_number(Some(u64::MAX), 3, 4), u64::MAX, "larger than any, no overflow");
    }

    #[test]
    fn packets_lie_one_behind_the_other() {
        let long = |kind: u8, token: &[u8], len: u8| {
            let head = [&[0xC0 | kind << 4, 0, 0, 0, 1, 2, 7, 7, 0][..], token, &[len]].concat();
            [head, vec![9; len.into()]].concat()
        };
        let datagram = [long(0, &[1, 5], 30), long(2, &[], 25), vec![0x41; 40]].concat();
        let all: Vec<_> = packets(&datagram).collect();
        let kinds = [PacketKind::Initial, PacketKind::OtherLong, PacketKind::Short];
        assert_eq!(all.iter().map(|packet| packet.kind).collect::<Vec<_>>(), kinds);
        assert_eq!(all.iter().map(|packet| packet.bytes.len()).collect::<Vec<_>>(), [42, 35, 40]);
        assert_eq!((all[0].destination, all[0].source_len), (&[7, 7][..], Some(0)));
        assert_eq!(all[0].number_at, 12);
        let padded = [&datagram[..77], &[0; 100]].concat();
        assert_eq!(packets(&padded).count(), 2, "zeros behind the last one");
        // One that is longer than the datagram, and a version that is not known.
        assert_eq!(packets(&datagram[..41]).count(), 0);
        assert_eq!(packets(&[0xC0, 0, 0, 0, 9, 0, 0, 0, 0]).count(), 0);
    }
}
