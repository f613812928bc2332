//! Writes RTPS messages.

use wirelap_protocols::memory::MAX_NAME_BYTES;

/// The GUID prefix of the participant that writes.
pub const PREFIX: [u8; 12] = [1, 0x10, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
/// A writer of the application.
pub const USER_WRITER: u32 = 0x0000_0b02;
/// The writer that announces participants.
pub const SPDP_WRITER: u32 = 0x0001_00c2;
/// The writer that announces writers.
pub const PUBLICATIONS_WRITER: u32 = 0x0000_03c2;
/// The writer that says that a participant is there.
pub const LIVELINESS_WRITER: u32 = 0x0002_00c2;

/// Flag: inline `QoS` follow.
pub const INLINE_QOS: u8 = 2;
/// Flag: serialized data follow.
pub const DATA: u8 = 4;
/// Flag: a serialized key follows.
pub const KEY: u8 = 8;
/// Flag: what follows is in no standard representation.
pub const NON_STANDARD: u8 = 16;

/// A message that is being written.
#[derive(Clone)]
#[must_use]
pub struct Message {
    /// Bytes that were written so far.
    pub bytes: Vec<u8>,
    little: bool,
}

/// The numbers of a `DATA_FRAG`.
#[derive(Clone, Copy)]
pub struct Cut {
    /// Counts from 1.
    pub first: u32,
    /// Number of fragments in the submessage.
    pub count: u16,
    /// Bytes of each fragment.
    pub each: u16,
    /// Bytes of the whole sample.
    pub sample: u32,
}

impl Message {
    /// A message of the participant [`PREFIX`], in little-endian byte order or not.
    pub fn new(little: bool) -> Message {
        let mut bytes = b"RTPS\x02\x05\x01\x10".to_vec();
        bytes.extend(PREFIX);
        Message { bytes, little }
    }

    fn u16(&self, number: u16) -> [u8; 2] {
        if self.little { number.to_le_bytes() } else { number.to_be_bytes() }
    }

    /// A number in the byte order of the message.
    pub fn u32(&self, number: u32) -> [u8; 4] {
        if self.little { number.to_le_bytes() } else { number.to_be_bytes() }
    }

    /// Any submessage.
    pub fn sub(self, id: u8, flags: u8, body: &[u8]) -> Message {
        let len = u16::try_from(body.len()).unwrap();
        self.sub_of_len(id, flags, len, body)
    }

    /// A submessage that says that it has `len` bytes.
    pub fn sub_of_len(mut self, id: u8, flags: u8, len: u16, body: &[u8]) -> Message {
        self.bytes.extend([id, flags & !1 | u8::from(self.little)]);
        let len = self.u16(len);
        self.bytes.extend(len);
        self.bytes.extend(body);
        self
    }

    /// An `INFO_TS`.
    pub fn info_ts(self) -> Message {
        self.sub(0x09, 0, &[7; 8])
    }

    /// An `INFO_DST`.
    pub fn info_dst(self) -> Message {
        self.sub(0x0e, 0, &[9; 12])
    }

    /// A `HEARTBEAT` of a writer.
    pub fn heartbeat(self, writer: u32) -> Message {
        let mut body = vec![0; 4];
        body.extend(writer.to_be_bytes());
        body.extend([0; 20]);
        self.sub(0x07, 0, &body)
    }

    /// Fields with which `DATA` and `DATA_FRAG` start.
    pub fn written(&self, to_inline_qos: u16, writer: u32, number: u64) -> Vec<u8> {
        let (high, low) = (number >> 32, number & u64::from(u32::MAX));
        let mut body = vec![0; 2];
        body.extend(self.u16(to_inline_qos));
        body.extend([0; 4]);
        body.extend(writer.to_be_bytes());
        body.extend(self.u32(u32::try_from(high).unwrap()));
        body.extend(self.u32(u32::try_from(low).unwrap()));
        body
    }

    /// A `DATA` with `serialized` and its encapsulation header, or a key, as the flags say.
    pub fn data_with(self, flags: u8, writer: u32, number: u64, rest: &[u8]) -> Message {
        let mut body = self.written(16, writer, number);
        body.extend(rest);
        self.sub(0x15, flags, &body)
    }

    /// A `DATA` with serialized data.
    pub fn data(self, writer: u32, number: u64, serialized: &[u8]) -> Message {
        self.data_with(DATA, writer, number, serialized)
    }

    /// A `DATA_FRAG` with a part of a sample.
    pub fn data_frag(self, writer: u32, number: u64, cut: Cut, part: &[u8]) -> Message {
        let mut body = self.written(28, writer, number);
        body.extend(self.u32(cut.first));
        body.extend(self.u16(cut.count));
        body.extend(self.u16(cut.each));
        body.extend(self.u32(cut.sample));
        body.extend(part);
        self.sub(0x16, 0, &body)
    }

    /// One parameter.
    pub fn parameter(&self, id: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = self.u16(id).to_vec();
        bytes.extend(self.u16(u16::try_from(value.len()).unwrap()));
        bytes.extend(value);
        bytes
    }

    /// An `INFO_DST` for this participant.
    pub fn info_dst_of(self, prefix: [u8; 12]) -> Message {
        self.sub(0x0e, 0, &prefix)
    }

    /// The discovery of the participant [`PREFIX`], which gives itself a name.
    pub fn participant(self, name: &str) -> Message {
        let mut text = self.u32(u32::try_from(name.len()).unwrap() + 1).to_vec();
        text.extend(name.as_bytes());
        text.resize(text.len().next_multiple_of(4) + 4, 0);
        let mut serialized = vec![0, if self.little { 3 } else { 2 }, 0, 0];
        serialized.extend(self.parameter(0x0050, &guid(0x0000_01c1)));
        serialized.extend(self.parameter(0x0062, &text));
        serialized.extend(self.parameter(0x0001, &[]));
        self.data(SPDP_WRITER, 1, &serialized)
    }

    /// The discovery of a publication.
    pub fn publication(self, guid: [u8; 16], topic: &str) -> Message {
        assert!(topic.len() <= MAX_NAME_BYTES);
        let mut name = self.u32(u32::try_from(topic.len()).unwrap() + 1).to_vec();
        name.extend(topic.as_bytes());
        name.resize(name.len().next_multiple_of(4) + 4, 0);
        let mut serialized = vec![0, if self.little { 3 } else { 2 }, 0, 0];
        serialized.extend(self.parameter(0x0015, &[2, 5, 0, 0]));
        serialized.extend(self.parameter(0x0005, &name));
        serialized.extend(self.parameter(0x005a, &guid));
        serialized.extend(self.parameter(0x0001, &[]));
        self.data(PUBLICATIONS_WRITER, 1, &serialized)
    }
}

impl Message {
    /// The same discovery of a subscription, of what is that of a publication.
    pub fn reader(mut self) -> Message {
        let writer = PUBLICATIONS_WRITER.to_be_bytes();
        if let Some(at) = self.bytes.windows(4).position(|bytes| bytes == writer) {
            self.bytes[at + 2] = 4;
        }
        self
    }
}

/// A user writer's GUID.
pub fn user_guid() -> [u8; 16] {
    guid(USER_WRITER)
}

/// The GUID of a writer of [`PREFIX`].
pub fn guid(writer: u32) -> [u8; 16] {
    let mut guid = [0; 16];
    guid[..12].copy_from_slice(&PREFIX);
    guid[12..].copy_from_slice(&writer.to_be_bytes());
    guid
}

/// A structure, encapsulated: its first member is no length.
pub fn structure(little: bool, body: &[u8]) -> Vec<u8> {
    let mut serialized = vec![0, u8::from(little), 0, 0];
    serialized.extend(body);
    serialized
}

/// A lone octet sequence, encapsulated.
pub fn sequence(little: bool, octets: &[u8]) -> Vec<u8> {
    let len = u32::try_from(octets.len()).unwrap();
    let len = if little { len.to_le_bytes() } else { len.to_be_bytes() };
    structure(little, &[&len, octets].concat())
}
