//! Check of whether bytes are a packet.

use super::body::{MqttVersion, check};
use super::fields::MqttFields;
use super::header::FixedHeader;
use super::version::KnownVersion;
use crate::PduLen;

/// After a gap, a longer packet is considered invalid; the usual limits of brokers are far lower.
const PLAUSIBLE_BYTES: u32 = 64 << 20;

/// A packet's header, and its fields as far as they were captured.
pub(super) fn split(bytes: &[u8]) -> Result<(FixedHeader, MqttFields<'_>), PduLen> {
    let header = FixedHeader::read(bytes)?;
    let captured = bytes.get(header.bytes..).unwrap_or_default();
    Ok((header, MqttFields::new(captured, header.remaining as usize)))
}

/// The header of the packet at the front of `head`, if every captured field of the packet is valid in a version that
/// `known` allows.
pub(super) fn strict(head: &[u8], known: KnownVersion) -> Option<FixedHeader> {
    let (header, fields) = split(head).ok()?;
    let fine = |version| check(&header, version, fields).is_ok();
    let fine = match known {
        KnownVersion::Told(version) => fine(version),
        _ => fine(MqttVersion::V3) || fine(MqttVersion::V5),
    };
    (fine && header.remaining <= PLAUSIBLE_BYTES).then_some(header)
}
