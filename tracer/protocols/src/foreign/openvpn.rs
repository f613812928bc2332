//! `OpenVPN` over TCP (the project's "Network protocol", `ssl_pkt.h`).
//!
//! ```text
//! +------------+-----------------+------------+-------------+-------------------------------+
//! | length u16 | opcode, 5 bits; | session, 8 | n, and n ×  | if n > 0: the other's session | packet u32   control
//! |            | key, 3 bits     |            | packet u32  |                               |
//! +------------+-----------------+------------+-------------+-------------------------------+
//! | length u16 | opcode and key  | peer, 3 (version 2) | packet u32, which counts up        |              data
//! +------------+-----------------+---------------------+------------------------------------+
//! ```

use super::name::ForeignName;
use crate::Reader;

/// Opcodes of data, versions 1 and 2.
const DATA_1: u8 = 6;
const DATA_2: u8 = 9;

/// An acknowledgement has no packet number of its own.
const ACK: u8 = 5;

/// The first packet of a client, versions 2 and 3, and of a server.
const RESETS: [u8; 3] = [7, 10, 8];

/// A packet number of the control channel that is larger is none: it ends within a few hundred.
const FEW: u32 = 1 << 16;

/// One direction. Lengths and opcodes alone are what other protocols send, too (a short ZMTP frame begins with its length in two bytes): in
/// mid-stream, only numbers that count up tell.
#[derive(Debug, Default)]
pub(super) struct Tunnel {
    /// Opcode, key and peer of the last data packet, and its number.
    last: Option<([u8; 4], u32)>,
    /// Session and number of the last packet of the control channel that has one.
    control: Option<([u8; 8], u32)>,
}

/// Content of a packet of the control channel.
struct ControlPacket {
    session: [u8; 8],
    /// Number of the packet; an acknowledgement has none.
    number: Option<u32>,
}

impl Tunnel {
    /// The name, if the last packet that starts in `bytes` tells it. `starts`: these are the flow's first bytes.
    pub fn packet(&mut self, starts: bool, bytes: &[u8], missing: u64) -> Option<ForeignName> {
        let mut rest = bytes;
        let mut tells = false;
        while let Some((len, body)) = rest.split_first_chunk::<2>() {
            let len = usize::from(u16::from_be_bytes(*len));
            let (packet, tail) = body.split_at_checked(len).unwrap_or((body, &[]));
            let is_whole = packet.len() == len;
            if !is_whole && len as u64 > (packet.len() as u64).saturating_add(missing) {
                break;
            }
            tells = self.tells(packet, starts && rest.len() == bytes.len());
            if !tells && self.last.is_none() && self.control.is_none() {
                return None;
            }
            rest = tail;
        }
        tells.then(|| ForeignName { is_encrypted: true, ..ForeignName::of("OpenVPN", None) })
    }

    fn tells(&mut self, packet: &[u8], starts: bool) -> bool {
        let Some(opcode) = packet.first().map(|first| first >> 3) else { return false };
        match opcode {
            DATA_1 | DATA_2 => self.counts(packet, opcode),
            1..=5 | 7 | 8 | 10 => control(packet, opcode)
                .is_some_and(|one| self.goes_on(&one) || (starts && RESETS.contains(&opcode))),
            _ => false,
        }
    }

    /// True if a packet of the control channel is of the same session as the last one, and its number, if it has one, is one more.
    fn goes_on(&mut self, this: &ControlPacket) -> bool {
        let Some(number) = this.number else {
            return self.control.is_some_and(|(session, _)| session == this.session);
        };
        let last = self.control.replace((this.session, number));
        last.is_some_and(|(session, last)| {
            session == this.session && last.checked_add(1) == Some(number)
        })
    }

    /// True if a data packet's number is one more than the last one's.
    fn counts(&mut self, packet: &[u8], opcode: u8) -> bool {
        let mut reader = Reader::new(packet);
        let Some(first) = reader.u8() else { return false };
        let peer = if opcode == DATA_2 { reader.array::<3>() } else { Some([0; 3]) };
        let (Some([a, b, c]), Some(number)) = (peer, reader.u32_be()) else { return false };
        let this = [first, a, b, c];
        let last = self.last.replace((this, number));
        last.is_some_and(|last| last.0 == this && last.1.checked_add(1) == Some(number))
    }
}

/// A packet of the control channel: it has few numbers, all of them small.
fn control(packet: &[u8], opcode: u8) -> Option<ControlPacket> {
    let mut reader = Reader::new(packet);
    reader.skip(1)?;
    let session = reader.array::<8>()?;
    let acknowledged = reader.u8().filter(|count| *count <= 8)?;
    for _ in 0..acknowledged {
        reader.u32_be().filter(|number| *number < FEW)?;
    }
    if acknowledged > 0 {
        reader.skip(8)?;
    }
    let number =
        if opcode == ACK { None } else { Some(reader.u32_be().filter(|number| *number < FEW)?) };
    // What has nothing to count has shown nothing.
    let has_numbers = number.is_some() || acknowledged > 0;
    (has_numbers && session != [0; 8]).then_some(ControlPacket { session, number })
}
