//! GUIDs and entity IDs (DDSI-RTPS 2.5 §9.3.1).

use crate::Reader;

/// A participant: the first 12 bytes of the GUIDs of all its endpoints.
pub type GuidPrefix = [u8; 12];

/// A participant as vendors' tools write it: three numbers of eight hexadecimal digits.
pub(super) fn participant_name(prefix: GuidPrefix) -> String {
    let (numbers, _) = prefix.as_chunks::<4>();
    let numbers: Vec<String> =
        numbers.iter().map(|&number| format!("{:08x}", u32::from_be_bytes(number))).collect();
    numbers.join(":")
}

/// The globally unique ID of an endpoint.
pub(super) type Guid = [u8; 16];

/// The ID of an endpoint within its participant: 3 bytes of key, and the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EntityId(pub [u8; 4]);

/// The purpose of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriterPurpose {
    /// The application's data.
    User,
    /// Participants and their names (SPDP).
    Participants,
    /// Publications and their topics (SEDP).
    Publications,
    /// Subscriptions and their topics (SEDP).
    Subscriptions,
    /// Other discovery, and the built-in services for it.
    Discovery,
    /// Participant messages: assertions of liveliness.
    Liveliness,
    /// A vendor's own purpose.
    Vendor,
}

impl EntityId {
    /// Reads an entity ID, which does not depend on the endianness flag.
    pub fn read(reader: &mut Reader) -> Option<EntityId> {
        reader.array().map(EntityId)
    }

    /// The purpose of the endpoint. The two high bits of the kind distinguish user, built-in and vendor endpoints (Table 9.1);
    /// the IDs of built-in endpoints are fixed (Table 9.2; those with `ff`: DDS Security 1.1 §7.3.7).
    pub fn purpose(self) -> WriterPurpose {
        match self.0 {
            [0x00, 0x01, 0x00, 0xc2] => WriterPurpose::Participants,
            [0x00 | 0xff, 0x00, 0x03, 0xc2] => WriterPurpose::Publications,
            [0x00 | 0xff, 0x00, 0x04, 0xc2] => WriterPurpose::Subscriptions,
            [0x00 | 0xff, 0x02, 0x00, 0xc2] => WriterPurpose::Liveliness,
            [.., kind] if kind & 0xc0 == 0x00 => WriterPurpose::User,
            [.., kind] if kind & 0xc0 == 0xc0 => WriterPurpose::Discovery,
            _ => WriterPurpose::Vendor,
        }
    }

    /// The GUID of this endpoint of a participant.
    pub fn of(self, prefix: GuidPrefix) -> Guid {
        let mut guid = [0; 16];
        let (head, tail) = guid.split_at_mut(prefix.len());
        head.copy_from_slice(&prefix);
        tail.copy_from_slice(&self.0);
        guid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_endpoints_have_known_ids() {
        let purpose = |id: u32| EntityId(id.to_be_bytes()).purpose();
        assert_eq!(purpose(0x0000_0b02), WriterPurpose::User);
        assert_eq!(purpose(0x0000_0003), WriterPurpose::User);
        assert_eq!(purpose(0x0001_00c2), WriterPurpose::Participants);
        assert_eq!(purpose(0x0000_03c2), WriterPurpose::Publications);
        assert_eq!(purpose(0xff00_03c2), WriterPurpose::Publications);
        assert_eq!(purpose(0x0000_04c2), WriterPurpose::Subscriptions);
        assert_eq!(purpose(0x0003_00c3), WriterPurpose::Discovery);
        assert_eq!(purpose(0x0002_00c2), WriterPurpose::Liveliness);
        assert_eq!(purpose(0x0000_0142), WriterPurpose::Vendor);
    }

    #[test]
    fn a_participant_has_a_name_of_three_numbers() {
        let prefix = [1, 0x10, 0xa2, 3, 4, 5, 6, 7, 0, 0, 0, 0xff];
        assert_eq!(participant_name(prefix), "0110a203:04050607:000000ff");
    }

    #[test]
    fn a_guid_is_participant_and_entity() {
        let guid = EntityId([13, 14, 15, 2]).of([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        assert_eq!(guid, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 2]);
    }
}
