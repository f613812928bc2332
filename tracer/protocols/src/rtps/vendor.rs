//! Implementation that sends a message: the vendor ID in its header (DDSI-RTPS 2.5 §8.3.3.1.3; the OMG keeps the list,
//! <https://www.dds-foundation.org/dds-rtps-vendor-and-product-ids/>).

/// RTI Connext DDS.
pub(super) const CONNEXT: &str = "RTI Connext DDS";
/// Eclipse Cyclone DDS.
pub(super) const CYCLONE_DDS: &str = "Cyclone DDS";
/// eProsima Fast DDS.
pub(super) const FAST_DDS: &str = "Fast DDS";
/// `OpenDDS`.
pub(super) const OPEN_DDS: &str = "OpenDDS";

/// The vendor ID of a message.
pub(super) type VendorId = [u8; 2];

/// True if participants of an implementation hand samples over in shared memory on one host unless they are told not to: Fast DDS since
/// version 2.0 and Connext have it among their built-in transports.
pub(super) const fn shares_memory_by_default(vendor: VendorId) -> bool {
    matches!(vendor, [1, 0x01 | 0x0f])
}

/// An implementation by its vendor ID; one without a name here has no settings that are known.
pub(super) const fn implementation(vendor: VendorId) -> &'static str {
    match vendor {
        [1, 0x01 | 0x0a] => CONNEXT,
        [1, 0x03] => OPEN_DDS,
        [1, 0x0f] => FAST_DDS,
        [1, 0x10] => CYCLONE_DDS,
        _ => "another implementation",
    }
}
