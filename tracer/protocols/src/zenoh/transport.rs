//! Transport messages, of which a batch consists.
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
//! 6 FRAGMENT   5: reliable      z64 SN, extensions, then a part of a network message, up to the
//!              6: more          batch's end
//! 7 JOIN       5: secs 6: sizes as INIT, z64 lease, z64 next reliable SN, z64 next best-effort SN
//! ```
//!
//! Source: the Zenoh 1.x protocol as implemented by zenoh-protocol and zenoh-codec 1.10,
//! `src/transport` of each.

use super::message::NetworkMessage;
use super::wire::{CursorError, ExtBody, ZenohCursor, ZenohId, ZenohResult, id};
use wirelap_events::{FrameClass, GlobalKey};

/// The protocol version of Zenoh 1.x.
pub const VERSION: u8 = 9;

const FLAG_5: u8 = 0x20;
const FLAG_6: u8 = 0x40;

/// The role of a router; 1 is a peer, and 2 a client.
const ROUTER: u8 = 0;

/// A lane in which messages are numbered: reliable or not, with one of eight priorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZenohLane(u8);

impl ZenohLane {
    /// The priority of messages without an explicit one: data.
    const DEFAULT_PRIORITY: u8 = 5;

    fn new(reliable: bool, priority: u8) -> ZenohLane {
        ZenohLane(u8::from(reliable) << 3 | priority & 7)
    }

    /// The key of the lane's message with this sequence number.
    pub fn name(self, number: u64) -> GlobalKey {
        let mut origin = [0; 16];
        origin[0] = self.0;
        GlobalKey { origin, seq: number, unique: true }
    }

    /// The lane as a number.
    pub fn index(self) -> u64 {
        self.0.into()
    }
}

/// The options that the two ends negotiate; the acceptor's `InitAck` decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionTerms {
    /// True if batches have a header that says whether they are compressed.
    pub compression: bool,
    /// True if there are no batches, but single network messages with a u32 length over TCP.
    pub low_latency: bool,
    /// True if the first fragment of a message is marked.
    pub markers: bool,
}

/// Identity that an end claims for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZenohIntroduction {
    /// The end's ID.
    pub zid: ZenohId,
    /// True for a router, false for a peer or a client.
    pub is_router: bool,
}

impl ZenohIntroduction {
    /// True if a message that the end sends names another origin, or has a timestamp by the clock of another. Only a router is known not
    /// to publish such messages, and it may reply with what others published long ago.
    pub fn passes_on(self, message: &NetworkMessage<'_>) -> bool {
        let origin = message.key.map(|key| ZenohId(key.origin));
        let named = [origin, message.stamped_by].into_iter().flatten();
        self.is_router && message.is_push && named.into_iter().any(|one| one != self.zid)
    }
}

/// A fragment's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // Facts that do not depend on each other.
pub struct FragmentHeader {
    /// The fragment's lane.
    pub lane: ZenohLane,
    /// The sequence number, consecutive in the lane.
    pub sn: u64,
    /// True if another fragment of the message follows.
    pub more: bool,
    /// True if the fragment is marked as a message's first one.
    pub first: bool,
    /// True if the sender drops the message.
    pub dropped: bool,
    /// No extension is other than those of Zenoh 1.x.
    pub is_known: bool,
}

/// A transport message, read up to the start of its network messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportMessage {
    /// The first two messages that open a session.
    Init {
        /// True if it is from the acceptor.
        ack: bool,
        /// The protocol version.
        version: u8,
        /// The sender.
        sender: ZenohIntroduction,
        /// The offered options; with `ack`, the negotiated ones.
        terms: SessionTerms,
    },
    /// The third and fourth message that open a session.
    Open {
        /// True if it is from the acceptor.
        ack: bool,
    },
    /// Closes a session or a link.
    Close,
    /// Shows that the sender is alive.
    KeepAlive,
    /// The header before network messages.
    Frame {
        /// The lane of the messages.
        lane: ZenohLane,
        /// The sequence number of the messages.
        sn: u64,
    },
    /// The header before a part of a network message.
    Fragment(FragmentHeader),
    /// Announces a multicast session.
    Join {
        /// The protocol version.
        version: u8,
        /// The sender.
        sender: ZenohIntroduction,
    },
    /// Operation, administration and maintenance.
    Oam,
    /// Searches for peers and routers (UDP only).
    Scout,
    /// Answers a Scout (UDP only).
    Hello {
        /// The sender.
        zid: ZenohId,
    },
}

impl TransportMessage {
    /// The name of the message's frame.
    pub fn name(self) -> &'static str {
        match self {
            TransportMessage::Init { ack: false, .. } => "InitSyn",
            TransportMessage::Init { ack: true, .. } => "InitAck",
            TransportMessage::Open { ack: false } => "OpenSyn",
            TransportMessage::Open { ack: true } => "OpenAck",
            TransportMessage::Close => "Close",
            TransportMessage::KeepAlive => "KeepAlive",
            TransportMessage::Frame { .. } => "FRAME",
            TransportMessage::Fragment(_) => "FRAGMENT",
            TransportMessage::Join { .. } => "Join",
            TransportMessage::Oam => "OAM",
            TransportMessage::Scout => "Scout",
            TransportMessage::Hello { .. } => "Hello",
        }
    }

    /// The sender, if the message names it.
    pub fn zid(self) -> Option<ZenohId> {
        match self {
            TransportMessage::Hello { zid } => Some(zid),
            _ => self.sender().map(|sender| sender.zid),
        }
    }

    /// Returns the identity of the sender at its end of a session, if the message says it.
    pub fn sender(self) -> Option<ZenohIntroduction> {
        match self {
            TransportMessage::Init { sender, .. } | TransportMessage::Join { sender, .. } => {
                Some(sender)
            }
            _ => None,
        }
    }

    /// The class of the message's frame.
    pub fn class(self) -> FrameClass {
        match self {
            TransportMessage::Init { .. }
            | TransportMessage::Open { .. }
            | TransportMessage::Close
            | TransportMessage::Join { .. } => FrameClass::Session,
            TransportMessage::KeepAlive => FrameClass::KeepAlive,
            TransportMessage::Frame { .. } | TransportMessage::Fragment(_) => FrameClass::Data,
            TransportMessage::Oam => FrameClass::Other,
            TransportMessage::Scout | TransportMessage::Hello { .. } => FrameClass::Discovery,
        }
    }

    /// Reads a transport message.
    pub fn read(at: &mut ZenohCursor<'_>) -> ZenohResult<TransportMessage> {
        let header = at.u8()?;
        match id(header) {
            0 => oam(at, header),
            1 => init(at, header),
            2 => open(at, header),
            3 => {
                at.u8()?;
                at.exts(header, |_| Ok(()))?;
                Ok(TransportMessage::Close)
            }
            4 => {
                at.exts(header, |_| Ok(()))?;
                Ok(TransportMessage::KeepAlive)
            }
            5 => {
                let sn = at.z64()?;
                let mut priority = ZenohLane::DEFAULT_PRIORITY;
                at.exts(header, |ext| {
                    qos(&mut priority, ext.id, ext.body);
                    Ok(())
                })?;
                Ok(TransportMessage::Frame {
                    lane: ZenohLane::new(header & FLAG_5 != 0, priority),
                    sn,
                })
            }
            6 => fragment(at, header),
            7 => join(at, header),
            _ => Err(CursorError::Malformed),
        }
    }
}

fn qos(priority: &mut u8, ext: u8, body: ExtBody<'_>) {
    if let (1, ExtBody::Z64(value)) = (ext, body) {
        *priority = (value & 7) as u8;
    }
}

fn fragment(at: &mut ZenohCursor<'_>, header: u8) -> ZenohResult<TransportMessage> {
    let sn = at.z64()?;
    let mut priority = ZenohLane::DEFAULT_PRIORITY;
    let (mut first, mut dropped, mut is_known) = (false, false, true);
    at.exts(header, |ext| {
        match (ext.id, ext.body) {
            (1, ExtBody::Z64(_)) => qos(&mut priority, ext.id, ext.body),
            (2, ExtBody::Unit) => first = true,
            (3, ExtBody::Unit) => dropped = true,
            _ => is_known = false,
        }
        Ok(())
    })?;
    let lane = ZenohLane::new(header & FLAG_5 != 0, priority);
    Ok(TransportMessage::Fragment(FragmentHeader {
        lane,
        sn,
        more: header & FLAG_6 != 0,
        first,
        dropped,
        is_known,
    }))
}

/// Reads version, role, zid and sizes of INIT and JOIN. Returns the version, and who the sender is.
fn introduction(at: &mut ZenohCursor<'_>, header: u8) -> ZenohResult<(u8, ZenohIntroduction)> {
    let version = at.u8()?;
    let flags = at.u8()?;
    if flags & 3 == 3 {
        return Err(CursorError::Malformed);
    }
    let sender = ZenohIntroduction { zid: at.zid(flags)?, is_router: flags & 3 == ROUTER };
    if header & FLAG_6 != 0 {
        at.skip(3)?;
    }
    Ok((version, sender))
}

fn cookie(at: &mut ZenohCursor<'_>) -> ZenohResult<()> {
    let len = at.z16()?;
    at.skip(len.into())
}

fn init(at: &mut ZenohCursor<'_>, header: u8) -> ZenohResult<TransportMessage> {
    let ack = header & FLAG_5 != 0;
    let (version, sender) = introduction(at, header)?;
    if ack {
        cookie(at)?;
    }
    let mut terms = SessionTerms::default();
    at.exts(header, |ext| {
        match (ext.id, ext.body) {
            (5, ExtBody::Unit) => terms.low_latency = true,
            (6, ExtBody::Unit) => terms.compression = true,
            (7, ExtBody::Z64(patch)) => terms.markers = patch >= 1,
            _ => {}
        }
        Ok(())
    })?;
    Ok(TransportMessage::Init { ack, version, sender, terms })
}

fn open(at: &mut ZenohCursor<'_>, header: u8) -> ZenohResult<TransportMessage> {
    let ack = header & FLAG_5 != 0;
    at.z64()?;
    at.z64()?;
    if !ack {
        cookie(at)?;
    }
    at.exts(header, |_| Ok(()))?;
    Ok(TransportMessage::Open { ack })
}

fn join(at: &mut ZenohCursor<'_>, header: u8) -> ZenohResult<TransportMessage> {
    let (version, sender) = introduction(at, header)?;
    at.z64()?;
    at.z64()?;
    at.z64()?;
    at.exts(header, |_| Ok(()))?;
    Ok(TransportMessage::Join { version, sender })
}

fn oam(at: &mut ZenohCursor<'_>, header: u8) -> ZenohResult<TransportMessage> {
    read_oam(at, header)?;
    Ok(TransportMessage::Oam)
}

/// Reads the body of an OAM message, which is the same in transport and network messages. Returns its ID.
pub fn read_oam(at: &mut ZenohCursor<'_>, header: u8) -> ZenohResult<u16> {
    let id = at.z16()?;
    at.exts(header, |_| Ok(()))?;
    match header & 0x60 {
        0x00 => {}
        0x20 => drop(at.z64()?),
        0x40 => {
            let len = at.z64()?;
            at.skip(len)?;
        }
        _ => return Err(CursorError::Malformed),
    }
    Ok(id)
}
