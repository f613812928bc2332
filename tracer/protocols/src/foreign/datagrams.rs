//! Protocols over UDP: QUIC (RFC 9000 §17.2), DTLS (RFC 6347 §4.1), DNS (RFC 1035 §4.1), STUN (RFC 8489 §5), `NetBIOS` names
//! (RFC 1002 §4.2).

use super::name::ForeignName;
use crate::Reader;

/// The name of a datagram that only one protocol sends.
pub fn datagram(bytes: &[u8]) -> Option<ForeignName> {
    if let Some(version) = quic(bytes) {
        return Some(ForeignName { is_encrypted: true, ..ForeignName::of("QUIC", Some(version)) });
    }
    if let Some(version) = dtls(bytes) {
        return Some(ForeignName { is_encrypted: true, ..ForeignName::of("DTLS", Some(version)) });
    }
    if is_stun(bytes) {
        return Some(ForeignName::of("STUN", None));
    }
    if is_netbios(bytes) {
        return Some(ForeignName::of("NetBIOS", None));
    }
    is_dns(bytes).then(|| ForeignName::of("DNS", None))
}

/// A long header: version, and connection ids of at most 20 bytes.
fn quic(bytes: &[u8]) -> Option<&'static str> {
    let mut reader = Reader::new(bytes);
    let first = reader.u8()?;
    let version = match reader.u32_be()? {
        1 => "1",
        0x6B33_43CF => "2",
        _ => return None,
    };
    let destination = reader.u8()?;
    reader.skip(destination.into())?;
    let source = reader.u8()?;
    (first & 0xC0 == 0xC0 && destination <= 20 && source <= 20).then_some(version)
}

/// A datagram of records: type, version, epoch u16, number u48, length u16.
fn dtls(bytes: &[u8]) -> Option<&'static str> {
    let mut reader = Reader::new(bytes);
    let mut found = None;
    while !reader.peek_rest().is_empty() {
        let kind = reader.u8()?;
        let version = match reader.u16_be()? {
            0xFEFF => "1.0",
            0xFEFD => "1.2",
            _ => return None,
        };
        reader.skip(8)?;
        let len = reader.u16_be()?;
        (20..=25).contains(&kind).then_some(())?;
        reader.skip(len.into())?;
        found = Some(version);
    }
    found
}

/// The magic cookie, and a length that is the datagram's.
fn is_stun(bytes: &[u8]) -> bool {
    let mut reader = Reader::new(bytes);
    matches!((reader.u16_be(), reader.u16_be(), reader.u32_be()), (Some(kind), Some(len), Some(0x2112_A442))
        if kind >> 14 == 0 && usize::from(len) + 20 == bytes.len())
}

/// One question of labels, class 1, and no more records than fit.
pub(super) fn is_dns(bytes: &[u8]) -> bool {
    let mut reader = Reader::new(bytes);
    let header = (|| {
        reader.skip(2)?;
        Some((reader.u16_be()?, reader.u16_be()?, reader.u16_be()?, reader.u32_be()?))
    })();
    // A query or an answer of the usual kind, with its reserved bit clear.
    let Some((flags, 1, answers, _)) = header else { return false };
    if flags & 0x7840 != 0 || answers > 512 {
        return false;
    }
    for _ in 0..128 {
        match reader.u8() {
            Some(0) => {
                let (Some(_kind), Some(class)) = (reader.u16_be(), reader.u16_be()) else {
                    return false;
                };
                return class & 0x7FFF == 1;
            }
            Some(len @ 1..=63) => {
                let label = reader.take(len.into()).unwrap_or_default();
                if label.is_empty() || !label.iter().all(u8::is_ascii_graphic) {
                    return false;
                }
            }
            _ => return false,
        }
    }
    false
}

/// A header as that of DNS, and a name of 32 letters, each of which is half an octet (RFC 1001 §14.1).
fn is_netbios(bytes: &[u8]) -> bool {
    const NAME_BYTES: u8 = 32;
    let mut reader = Reader::new(bytes);
    let name = (|| {
        reader.skip(12)?;
        (reader.u8()? == NAME_BYTES).then(|| reader.take(NAME_BYTES.into()))?
    })();
    name.is_some_and(|name| name.iter().all(|letter| (b'A'..=b'P').contains(letter)))
}
