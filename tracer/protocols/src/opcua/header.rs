//! The header of a chunk (OPC 10000-6 §6.7.2, §7.1.2).
//!
//! ```text
//! +--------------+-----------+----------+ +---------+-------+----------+---------+ +------+
//! | type, 3 chars| F, C or A | size u32 | | channel | token | sequence | request | | body |
//! +--------------+-----------+----------+ +---------+-------+----------+---------+ +------+
//! ```
//!
//! HEL, ACK, ERR and RHE are always F. The size includes the header. OPN has the security policy in place of the token.

use crate::{PduLen, Reader};

/// Number of bytes of the header that all chunks have.
pub(super) const HEADER_BYTES: usize = 8;

/// Number of bytes before the body of a MSG chunk.
pub(super) const MESSAGE_HEADER_BYTES: u64 = 24;

/// A longer chunk is not recognised. Chunks are limited by the buffers, which have 64 KiB by default and at most a few MiB.
const PLAUSIBLE_BYTES: u32 = 16 << 20;

/// The type of a chunk's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageType {
    Hello,
    Acknowledge,
    Error,
    ReverseHello,
    Open,
    Close,
    Message,
}

impl MessageType {
    const ALL: [MessageType; 7] = [
        MessageType::Message,
        MessageType::Hello,
        MessageType::Acknowledge,
        MessageType::Error,
        MessageType::ReverseHello,
        MessageType::Open,
        MessageType::Close,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            MessageType::Hello => "HEL",
            MessageType::Acknowledge => "ACK",
            MessageType::Error => "ERR",
            MessageType::ReverseHello => "RHE",
            MessageType::Open => "OPN",
            MessageType::Close => "CLO",
            MessageType::Message => "MSG",
        }
    }

    /// The smallest and largest size of a chunk of this type. Strings have at most 4096 bytes (§7.1.2.3).
    const fn sizes(self) -> (u32, u32) {
        match self {
            MessageType::Hello => (32, 32 + 4096),
            MessageType::Acknowledge => (28, 28),
            MessageType::Error => (16, 16 + 4096),
            MessageType::ReverseHello => (16, 16 + 2 * 4096),
            MessageType::Open => (32, u32::MAX),
            MessageType::Close | MessageType::Message => (24, u32::MAX),
        }
    }
}

/// The way in which a chunk ends: as its message's last one, with more to follow, or with an abort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChunkType {
    Final,
    /// More chunks follow.
    More,
    /// The sender aborts the message.
    Abort,
}

/// A chunk's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChunkHeader {
    pub kind: MessageType,
    pub end: ChunkType,
    pub size: u32,
}

impl ChunkHeader {
    pub fn read(head: &[u8]) -> Result<ChunkHeader, PduLen> {
        let mut reader = Reader::new(head);
        let magic = reader.take_up_to(3);
        let kind =
            MessageType::ALL.into_iter().find(|kind| kind.name().as_bytes().starts_with(magic));
        let kind = kind.ok_or(PduLen::Invalid)?;
        let end = match reader.u8() {
            None | Some(b'F') => ChunkType::Final,
            Some(b'C') if kind == MessageType::Message => ChunkType::More,
            Some(b'A') if kind == MessageType::Message => ChunkType::Abort,
            Some(_) => return Err(PduLen::Invalid),
        };
        let size = reader.u32_le().ok_or(PduLen::Need(HEADER_BYTES))?;
        let (least, most) = kind.sizes();
        if (least..=most).contains(&size) {
            Ok(ChunkHeader { kind, end, size })
        } else {
            Err(PduLen::Invalid)
        }
    }

    /// True if a chunk is likely to start with `head`.
    pub fn stands_out(head: &[u8]) -> bool {
        head.first().is_some_and(u8::is_ascii_uppercase)
            && ChunkHeader::read(head).is_ok_and(ChunkHeader::is_plausible)
    }

    /// True if the size is plausible.
    pub fn is_plausible(self) -> bool {
        self.size <= PLAUSIBLE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_headers_of_the_specification_are_accepted() {
        let read = ChunkHeader::read;
        let header = ChunkHeader { kind: MessageType::Message, end: ChunkType::More, size: 0x100 };
        assert_eq!(read(b"MSGC\0\x01\0\0"), Ok(header));
        for wrong in
            [&b"MSGX"[..], b"HELC", b"OPNA", b"M5", b"GET", b"MSGF\x10\0\0\0", b"ACKF\x1d\0\0\0"]
        {
            assert_eq!(read(wrong), Err(PduLen::Invalid), "{}", wrong.escape_ascii());
        }
        for cut in 0..8 {
            assert_eq!(read(&b"HELF\x20\0\0\0"[..cut]), Err(PduLen::Need(8)));
        }
    }
}
