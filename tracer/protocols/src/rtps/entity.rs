//! Who writes: GUIDs and entity ids (DDSI-RTPS 2.5 §9.3.1).

use crate::Reader;

/// A participant: the first 12 bytes of the GUIDs of all its endpoints.
pub type GuidPrefix = [u8; 12];

/// An endpoint, unique in the world.
pub(super) type Guid = [u8; 16];

/// An endpoint within its participant: 3 bytes of key and the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EntityId(pub [u8; 4]);

/// What an endpoint is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The application's data.
    User,
    /// Publications and their topics (SEDP).
    Publications,
    /// Any other discovery, and the services that go with it.
    Discovery,
    /// Participant messages: assertions of liveliness.
    Liveliness,
    /// A vendor's own business.
    Vendor,
}

impl EntityId {
    /// The next entity id; not affected by the endianness flag.
    pub fn read(reader: &mut Reader) -> Option<EntityId> {
        reader.array().map(EntityId)
    }

    /// What the endpoint is for. The two high bits of the kind tell whose it is (Table 9.1), and the
    /// ids of the built-in ones are fixed (Table 9.2; the `ff` ones: DDS Security 1.1 §7.3.7).
    pub fn purpose(self) -> Purpose {
        match self.0 {
            [0x00 | 0xff, 0x00, 0x03, 0xc2] => Purpose::Publications,
            [0x00 | 0xff, 0x02, 0x00, 0xc2] => Purpose::Liveliness,
            [.., kind] if kind & 0xc0 == 0x00 => Purpose::User,
            [.., kind] if kind & 0xc0 == 0xc0 => Purpose::Discovery,
            _ => Purpose::Vendor,
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
    fn built_in_endpoints_are_told_by_their_ids() {
        let purpose = |id: u32| EntityId(id.to_be_bytes()).purpose();
        assert_eq!(purpose(0x0000_0b02), Purpose::User);
        assert_eq!(purpose(0x0000_0003), Purpose::User);
        assert_eq!(purpose(0x0001_00c2), Purpose::Discovery);
        assert_eq!(purpose(0x0000_03c2), Purpose::Publications);
        assert_eq!(purpose(0xff00_03c2), Purpose::Publications);
        assert_eq!(purpose(0x0000_04c2), Purpose::Discovery);
        assert_eq!(purpose(0x0003_00c3), Purpose::Discovery);
        assert_eq!(purpose(0x0002_00c2), Purpose::Liveliness);
        assert_eq!(purpose(0x0000_0142), Purpose::Vendor);
    }

    #[test]
    fn a_guid_is_participant_and_entity() {
        let guid = EntityId([13, 14, 15, 2]).of([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        assert_eq!(guid, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 2]);
    }
}
