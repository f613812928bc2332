//! Scouting messages, each a datagram of its own.
//!
//! ```text
//! 1 SCOUT                version, zid length (7..4) has zid (3) roles sought (2..0), [zid]
//! 2 HELLO   5: locators  version, zid length (7..4) role (1..0), zid,
//!                        [z64 count, locators: z8 length, bytes]
//! ```
//!
//! Their ids are those of INIT and OPEN; only reading all of the datagram tells.
//!
//! Source: zenoh-protocol and zenoh-codec 1.10, `src/scouting` of each.

use super::transport::{Message, VERSION};
use super::wire::{Cursor, Parsed, Stop, id};

const FLAG_5: u8 = 0x20;
const FLAG_6: u8 = 0x40;

/// Reads one, to the datagram's end.
pub fn read(at: &mut Cursor<'_>) -> Parsed<Message> {
    let header = at.u8()?;
    if header & FLAG_6 != 0 || at.u8()? != VERSION {
        return Err(Stop::Malformed);
    }
    let flags = at.u8()?;
    let message = match id(header) {
        1 if header & FLAG_5 == 0 && flags & 0x08 != 0 => {
            at.zid(flags)?;
            Message::Scout
        }
        1 if header & FLAG_5 == 0 && flags >> 4 == 0 => Message::Scout,
        2 if flags & 0x0F < 3 => {
            at.zid(flags)?;
            if header & FLAG_5 != 0 {
                locators(at)?;
            }
            Message::Hello
        }
        _ => return Err(Stop::Malformed),
    };
    at.exts(header, |_| Ok(()))?;
    if at.is_empty() { Ok(message) } else { Err(Stop::Malformed) }
}

fn locators(at: &mut Cursor<'_>) -> Parsed<()> {
    for _ in 0..at.z64()? {
        let len = at.z64()?;
        at.skip(len)?;
    }
    Ok(())
}
