//! Transport messages: what a batch is made of.
//!
//! ```text
//! TCP:  | u16 length, little-endian | batch |          UDP: a datagram is a batch
//!
//! batch: [ compression header: 1 byte, if negotiated ] message*
//!
//!          7 6 5   4 3 2 1 0
//!        +-------+-----------+
//! header | flags |    id     |    then the body, then extensions if flag 7 (Z) is set
//!        +-------+-----------+
//!
//! 0 OAM        5,6: encoding    z16 id, extensions, then unit | z64 | z32 length and bytes
//! 1 INIT       5: ack 6: sizes  version, zid length and role, zid, [resolution, u16 batch size], [cookie]
//! 2 OPEN       5: ack 6: secs   z64 lease, z64 first SN, [cookie if no ack]
//! 3 CLOSE      5: session       reason
//! 4 KEEPALIVE
//! 5 FRAME      5: reliable      z64 SN, extensions, then network messages
//! 6 FRAGMENT   5: reliable      z64 SN, extensions, then a piece of a network message, up to the
//!              6: more          batch's end
//! 7 JOIN       5: secs 6: sizes as INIT, z64 lease, z64 next reliable SN, z64 next best-effort SN
//! ```
//!
//! Source: the Zenoh 1.x protocol as implemented by zenoh-protocol and zenoh-codec 1.10,
//! `src/transport` of each.

use super::wire::{Cursor, ExtBody, Parsed, Stop, id};
use wirelap_events::{Class, GlobalKey};

/// The protocol version of Zenoh 1.x.
pub const VERSION: u8 = 9;

const FLAG_5: u8 = 0x20;
const FLAG_6: u8 = 0x40;

/// Messages are numbered per lane: reliable or not, and one of eight priorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane(u8);

impl Lane {
    /// The priority of messages that do not state one: data.
    const DEFAULT_PRIORITY: u8 = 5;

    fn new(reliable: bool, priority: u8) -> Lane {
        Lane(u8::from(reliable) << 3 | priority & 7)
    }

    /// The messages of a lane, which its sequence numbers tell apart.
    pub fn name(self, number: u64) -> GlobalKey {
        let mut origin = [0; 16];
        origin[0] = self.0;
        GlobalKey { origin, seq: number, unique: true }
    }

    /// Its number.
    pub fn index(self) -> u64 {
        self.0.into()
    }
}

/// What the two ends agree on; the acceptor's `InitAck` has the last word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// Batches have a header that tells whether they are compressed.
    pub compression: bool,
    /// No batches: one network message at a time, u32 length over TCP.
    pub low_latency: bool,
    /// The first fragment of a message is marked.
    pub markers: bool,
}

/// A fragment's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Whose turn it is.
    pub lane: Lane,
    /// Sequence number, consecutive in the lane.
    pub sn: u64,
    /// Another fragment of the message follows.
    pub more: bool,
    /// Marked as a message's first.
    pub first: bool,
    /// The sender gives the message up.
    pub dropped: bool,
}

/// A transport message, read up to where network messages start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Opens a session: the first two messages.
    Init {
        /// From the acceptor.
        ack: bool,
        /// Protocol version.
        version: u8,
        /// Offered, or with `ack` agreed.
        terms: Terms,
    },
    /// Opens a session: the third and fourth message.
    Open {
        /// From the acceptor.
        ack: bool,
    },
    /// Closes a session or a link.
    Close,
    /// Says nothing.
    KeepAlive,
    /// Network messages follow.
    Frame {
        /// Their lane.
        lane: Lane,
        /// Their sequence number.
        sn: u64,
    },
    /// A piece of a network message follows.
    Fragment(Fragment),
    /// Announces a multicast session.
    Join {
        /// Protocol version.
        version: u8,
    },
    /// Operation, administration and maintenance.
    Oam,
    /// Asks who is there (UDP only).
    Scout,
    /// Answers (UDP only).
    Hello,
}

impl Message {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Message::Init { ack: false, .. } => "InitSyn",
            Message::Init { ack: true, .. } => "InitAck",
            Message::Open { ack: false } => "OpenSyn",
            Message::Open { ack: true } => "OpenAck",
            Message::Close => "Close",
            Message::KeepAlive => "KeepAlive",
            Message::Frame { .. } => "FRAME",
            Message::Fragment(_) => "FRAGMENT",
            Message::Join { .. } => "Join",
            Message::Oam => "OAM",
            Message::Scout => "Scout",
            Message::Hello => "Hello",
        }
    }

    /// What it is for.
    pub fn class(self) -> Class {
        match self {
            Message::Init { .. } | Message::Open { .. } | Message::Close | Message::Join { .. } => {
                Class::Session
            }
            Message::KeepAlive => Class::KeepAlive,
            Message::Frame { .. } | Message::Fragment(_) => Class::Data,
            Message::Oam => Class::Other,
            Message::Scout | Message::Hello => Class::Discovery,
        }
    }

    /// Reads one.
    pub fn read(at: &mut Cursor<'_>) -> Parsed<Message> {
        let header = at.u8()?;
        match id(header) {
            0 => oam(at, header),
            1 => init(at, header),
            2 => open(at, header),
            3 => {
                at.u8()?;
                at.exts(header, |_| Ok(()))?;
                Ok(Message::Close)
            }
            4 => {
                at.exts(header, |_| Ok(()))?;
                Ok(Message::KeepAlive)
            }
            5 => {
                let sn = at.z64()?;
                let mut priority = Lane::DEFAULT_PRIORITY;
                at.exts(header, |ext| {
                    qos(&mut priority, ext.id, ext.body);
                    Ok(())
                })?;
                Ok(Message::Frame { lane: Lane::new(header & FLAG_5 != 0, priority), sn })
            }
            6 => fragment(at, header),
            7 => join(at, header),
            _ => Err(Stop::Malformed),
        }
    }
}

fn qos(priority: &mut u8, ext: u8, body: ExtBody<'_>) {
    if let (1, ExtBody::Z64(value)) = (ext, body) {
        *priority = (value & 7) as u8;
    }
}

fn fragment(at: &mut Cursor<'_>, header: u8) -> Parsed<Message> {
    let sn = at.z64()?;
    let mut priority = Lane::DEFAULT_PRIORITY;
    let (mut first, mut dropped) = (false, false);
    at.exts(header, |ext| {
        match (ext.id, ext.body) {
            (2, ExtBody::Unit) => first = true,
            (3, ExtBody::Unit) => dropped = true,
            _ => qos(&mut priority, ext.id, ext.body),
        }
        Ok(())
    })?;
    let lane = Lane::new(header & FLAG_5 != 0, priority);
    Ok(Message::Fragment(Fragment { lane, sn, more: header & FLAG_6 != 0, first, dropped }))
}

/// Version, role, zid and sizes, the same in INIT and JOIN. Gives the version.
fn introduction(at: &mut Cursor<'_>, header: u8) -> Parsed<u8> {
    let version = at.u8()?;
    let flags = at.u8()?;
    if flags & 3 == 3 {
        return Err(Stop::Malformed);
    }
    at.zid(flags)?;
    if header & FLAG_6 != 0 {
        at.skip(3)?;
    }
    Ok(version)
}

fn cookie(at: &mut Cursor<'_>) -> Parsed<()> {
    let len = at.z16()?;
    at.skip(len.into())
}

fn init(at: &mut Cursor<'_>, header: u8) -> Parsed<Message> {
    let ack = header & FLAG_5 != 0;
    let version = introduction(at, header)?;
    if ack {
        cookie(at)?;
    }
    let mut terms = Terms::default();
    at.exts(header, |ext| {
        match (ext.id, ext.body) {
            (5, ExtBody::Unit) => terms.low_latency = true,
            (6, ExtBody::Unit) => terms.compression = true,
            (7, ExtBody::Z64(patch)) => terms.markers = patch >= 1,
            _ => {}
        }
        Ok(())
    })?;
    Ok(Message::Init { ack, version, terms })
}

fn open(at: &mut Cursor<'_>, header: u8) -> Parsed<Message> {
    let ack = header & FLAG_5 != 0;
    at.z64()?;
    at.z64()?;
    if !ack {
        cookie(at)?;
    }
    at.exts(header, |_| Ok(()))?;
    Ok(Message::Open { ack })
}

fn join(at: &mut Cursor<'_>, header: u8) -> Parsed<Message> {
    let version = introduction(at, header)?;
    at.z64()?;
    at.z64()?;
    at.z64()?;
    at.exts(header, |_| Ok(()))?;
    Ok(Message::Join { version })
}

fn oam(at: &mut Cursor<'_>, header: u8) -> Parsed<Message> {
    read_oam(at, header)?;
    Ok(Message::Oam)
}

/// The body of an OAM message, the same at both layers. Gives its id.
pub fn read_oam(at: &mut Cursor<'_>, header: u8) -> Parsed<u16> {
    let id = at.z16()?;
    at.exts(header, |_| Ok(()))?;
    match header & 0x60 {
        0x00 => {}
        0x20 => drop(at.z64()?),
        0x40 => {
            let len = at.z64()?;
            at.skip(len)?;
        }
        _ => return Err(Stop::Malformed),
    }
    Ok(id)
}
