//! What every chunk starts with (OPC 10000-6 §6.7.2, §7.1.2).
//!
//! ```text
//! +--------------+-----------+----------+ +---------+-------+----------+---------+ +------+
//! | type, 3 chars| F, C or A | size u32 | | channel | token | sequence | request | | body |
//! +--------------+-----------+----------+ +---------+-------+----------+---------+ +------+
//!   of HEL, ACK, ERR, RHE: F; the size counts all      OPN has a policy for the token
//! ```

use crate::{PduLen, Reader};

/// Bytes of a header.
pub(super) const HEADER_BYTES: usize = 8;

/// Bytes before a MSG's body.
pub(super) const MESSAGE_HEADER_BYTES: u64 = 24;

/// A longer chunk is not believed where nothing else tells that it is one. Buffers, which bound
/// chunks, are 64 KiB by default, and at most a few MiB.
const PLAUSIBLE_BYTES: u32 = 16 << 20;

/// What a chunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Hello,
    Acknowledge,
    Error,
    ReverseHello,
    Open,
    Close,
    Message,
}

impl Kind {
    const ALL: [Kind; 7] = [
        Kind::Message,
        Kind::Hello,
        Kind::Acknowledge,
        Kind::Error,
        Kind::ReverseHello,
        Kind::Open,
        Kind::Close,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Kind::Hello => "HEL",
            Kind::Acknowledge => "ACK",
            Kind::Error => "ERR",
            Kind::ReverseHello => "RHE",
            Kind::Open => "OPN",
            Kind::Close => "CLO",
            Kind::Message => "MSG",
        }
    }

    /// The sizes that a chunk of this kind can have. Strings are at most 4096 bytes (§7.1.2.3).
    const fn sizes(self) -> (u32, u32) {
        match self {
            Kind::Hello => (32, 32 + 4096),
            Kind::Acknowledge => (28, 28),
            Kind::Error => (16, 16 + 4096),
            Kind::ReverseHello => (16, 16 + 2 * 4096),
            Kind::Open => (32, u32::MAX),
            Kind::Close | Kind::Message => (24, u32::MAX),
        }
    }
}

/// Whether a message goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Final,
    /// More chunks follow.
    More,
    /// The message is given up.
    Abort,
}

/// A chunk's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub kind: Kind,
    pub end: End,
    pub size: u32,
}

impl Header {
    pub fn read(head: &[u8]) -> Result<Header, PduLen> {
        let mut reader = Reader::new(head);
        let magic = reader.take_up_to(3);
        let kind = Kind::ALL.into_iter().find(|kind| kind.name().as_bytes().starts_with(magic));
        let kind = kind.ok_or(PduLen::Invalid)?;
        let end = match reader.u8() {
            None | Some(b'F') => End::Final,
            Some(b'C') if kind == Kind::Message => End::More,
            Some(b'A') if kind == Kind::Message => End::Abort,
            Some(_) => return Err(PduLen::Invalid),
        };
        let size = reader.u32_le().ok_or(PduLen::Need(HEADER_BYTES))?;
        let (least, most) = kind.sizes();
        if (least..=most).contains(&size) {
            Ok(Header { kind, end, size })
        } else {
            Err(PduLen::Invalid)
        }
    }

    /// Whether a chunk is likely to start here.
    pub fn is_plausible(self) -> bool {
        self.size <= PLAUSIBLE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_specification_has_is_a_header() {
        let read = Header::read;
        let header = Header { kind: Kind::Message, end: End::More, size: 0x100 };
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
