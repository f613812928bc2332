//! Scouting messages, each of which is one datagram.
//!
//! ```text
//! 1 SCOUT                version, zid length (7..4) has zid (3) roles sought (2..0), [zid]
//! 2 HELLO   5: locators  version, zid length (7..4) role (1..0), zid,
//!                        [z64 count, locators: z8 length, bytes]
//! ```
//!
//! The IDs are those of INIT and OPEN; only the complete datagram distinguishes them.
//!
//! Source: zenoh-protocol and zenoh-codec 1.10, `src/scouting` of each.

use super::transport::{TransportMessage, VERSION};
use super::wire::{CursorError, ZenohCursor, ZenohResult, id};

const FLAG_5: u8 = 0x20;
const FLAG_6: u8 = 0x40;

/// Reads a scouting message, up to the datagram's end.
pub fn read(at: &mut ZenohCursor<'_>) -> ZenohResult<TransportMessage> {
    let header = at.u8()?;
    if header & FLAG_6 != 0 || at.u8()? != VERSION {
        return Err(CursorError::Malformed);
    }
    let flags = at.u8()?;
    let message = match id(header) {
        1 if header & FLAG_5 == 0 && flags & 0x08 != 0 => {
            at.zid(flags)?;
            TransportMessage::Scout
        }
        1 if header & FLAG_5 == 0 && flags >> 4 == 0 => TransportMessage::Scout,
        2 if flags & 0x0F < 3 => {
            let zid = at.zid(flags)?;
            if header & FLAG_5 != 0 {
                locators(at)?;
            }
            TransportMessage::Hello { zid }
        }
        _ => return Err(CursorError::Malformed),
    };
    at.exts(header, |_| Ok(()))?;
    if at.is_empty() { Ok(message) } else { Err(CursorError::Malformed) }
}

fn locators(at: &mut ZenohCursor<'_>) -> ZenohResult<()> {
    for _ in 0..at.z64()? {
        let len = at.z64()?;
        at.skip(len)?;
    }
    Ok(())
}
