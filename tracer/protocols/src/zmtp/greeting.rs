//! The greeting, which each end sends first (RFC 23, "Greeting"; RFC 15 for version 2).
//!
//! ```text
//!        signature             version      mechanism        as-server   filler
//! +----+-------------+----+-------+-------+----------------+-----------+----------+
//! | FF | 8 × padding | 7F | major | minor | 20 × ASCII, 0s |   0 or 1  |  31 × 0  |   3.x: 64 bytes
//! +----+-------------+----+-------+-------+----------------+-----------+----------+
//! | FF | 8 × padding | 7F | major | socket type | 00 | length | identity |           2.0
//! +----+-------------+----+-------+-------------+----+--------+----------+
//! ```
//!
//! libzmq sends 3 as major version to peers of version 2, too, and continues in their version. The byte after the next one
//! shows the version: it is a letter or 0.

use super::command::SocketType;
use crate::{PduLen, Reader, Recognition};

const FIRST: u8 = 0xFF;
const LAST: u8 = 0x7F;
const SIGNATURE_BYTES: usize = 10;
const GREETING_BYTES: u64 = 64;
const MECHANISM_BYTES: usize = 20;

/// Number of bytes that show the version of a greeting.
const VERSION_BYTES: usize = 13;

/// True if `head` starts like a greeting; no frame starts with this byte.
pub(super) fn starts_with(head: &[u8]) -> bool {
    head.first() == Some(&FIRST)
}

/// Tells whether this is a greeting. The padding has no meaning, but libraries leave it 0 except for the last byte; if it is not 0,
/// version and mechanism must be valid, too.
pub(super) fn recognise(head: &[u8]) -> Recognition {
    let mut reader = Reader::new(head);
    let Some(first) = reader.u8() else { return Recognition::NeedMore };
    if first != FIRST {
        return Recognition::No;
    }
    let Some(padding) = reader.array::<8>() else { return Recognition::NeedMore };
    match reader.u8() {
        None => return Recognition::NeedMore,
        Some(LAST) => {}
        Some(_) => return Recognition::No,
    }
    if padding.iter().take(7).all(|&b| b == 0) {
        return Recognition::Yes;
    }
    match (reader.u8(), reader.u8(), reader.u8()) {
        (Some(3), Some(0 | 1), Some(b'A'..=b'Z')) => Recognition::Yes,
        (Some(_), Some(_), Some(_)) => Recognition::No,
        _ => Recognition::NeedMore,
    }
}

/// The length of the greeting at the front of `head`.
pub(super) fn pdu_len(head: &[u8]) -> PduLen {
    let mut reader = Reader::new(head);
    let (Some(()), last) = (reader.skip(SIGNATURE_BYTES - 1), reader.u8()) else {
        return PduLen::Need(SIGNATURE_BYTES);
    };
    match last {
        None => return PduLen::Need(SIGNATURE_BYTES),
        Some(LAST) => {}
        Some(_) => return PduLen::Invalid,
    }
    let (Some(major), Some(_), Some(next)) = (reader.u8(), reader.u8(), reader.u8()) else {
        return PduLen::Need(VERSION_BYTES);
    };
    match (major, next) {
        (3.., b'A'..=b'Z') => PduLen::Known(GREETING_BYTES),
        (1.., 0) => reader.u8().map_or(PduLen::Need(VERSION_BYTES + 1), |identity| {
            PduLen::Known(
                (VERSION_BYTES as u64).saturating_add(1).saturating_add(u64::from(identity)),
            )
        }),
        _ => PduLen::Invalid,
    }
}

/// Content of a greeting: it says how the messages after it are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Greeting<'a> {
    /// Version 3: socket type and identity are in `READY`, unless `READY` is encrypted.
    Three { is_secure: bool },
    /// Version 2.
    Two { socket: Option<SocketType>, identity: &'a [u8] },
}

impl<'a> Greeting<'a> {
    /// Reads a greeting; `None` if too little of it was captured.
    pub fn read(greeting: &'a [u8]) -> Option<Greeting<'a>> {
        let mut reader = Reader::new(greeting);
        reader.skip(SIGNATURE_BYTES + 1)?;
        let next = reader.u8()?;
        if reader.peek()? == 0 {
            reader.skip(1)?;
            let identity = reader.u8().and_then(|len| reader.take(len.into())).unwrap_or_default();
            return Some(Greeting::Two { socket: SocketType::from_number(next), identity });
        }
        let mechanism = reader.take(MECHANISM_BYTES)?;
        let is_secure = !(mechanism.starts_with(b"NULL\0") || mechanism.starts_with(b"PLAIN\0"));
        Some(Greeting::Three { is_secure })
    }
}
