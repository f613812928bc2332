//! What a protocol must be able to say.

use crate::stream::KEPT_BYTES;
use crate::{Look, Memory};
use wirelap_events::{ByteRange, Frame, GlobalKey, Offset, RequestLimits, Transport};

/// One of the two ends of a conversation. Which of them is the client is for the protocol to find
/// out; a flow joined in mid-stream does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The end that opened the conversation, or, joined in mid-stream, the one seen sending first.
    A,
    /// The other one.
    B,
}

impl Side {
    /// The end at the other side.
    #[must_use]
    pub fn other(self) -> Side {
        match self {
            Side::A => Side::B,
            Side::B => Side::A,
        }
    }
}

/// How sure a protocol is that some bytes are its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Recognition {
    /// They are not.
    No,
    /// Too few bytes to tell.
    NeedMore,
    /// They could be; a known port decides.
    Maybe,
    /// They are: a magic number or a full first PDU says so.
    Yes,
}

/// How a protocol's messages travel from a publisher to a subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// Straight to the subscriber: one leg.
    PeerToPeer,
    /// Always through the server of the conversation: two legs.
    Brokered,
    /// Straight, or through a process that sends the message again: what is seen decides.
    Either,
}

/// A protocol, as the registry lists it.
pub trait Protocol: Sync {
    /// Its name in tables, JSON and `--decode PORT=NAME`.
    fn name(&self) -> &'static str;

    /// The transports that it runs on.
    fn transports(&self) -> &'static [Transport];

    /// Ports that hint at it.
    fn ports(&self, transport: Transport) -> &'static [u16];

    /// Whether `head`, the first bytes seen of one direction of a flow (or a datagram), is this
    /// protocol. `at_start` tells that the flow was seen from its first byte; otherwise `head` begins
    /// at a packet boundary somewhere in mid-stream.
    fn recognise(&self, transport: Transport, head: &[u8], at_start: bool) -> Recognition;

    /// What of it starts with `head`, somewhere in a TCP stream, or is the datagram `head`. Asked at many places of a
    /// stream that was joined late, so it is quick to say no.
    fn sight(&self, _transport: Transport, _head: &[u8]) -> Look {
        Look::No
    }

    /// Whether a connection's first bytes, where [`Protocol::recognise`] says yes, are nobody else's: a magic number. Without
    /// one, the port or what follows must say the same.
    fn greets(&self) -> bool {
        true
    }

    /// Whether `head` is so much like the start of a PDU that it is tried although nothing else says that one starts there:
    /// asked at every byte of a saturated sender's packets.
    fn stands_out(&self, _head: &[u8]) -> bool {
        false
    }

    /// How its messages travel.
    fn topology(&self) -> Topology {
        Topology::Either
    }

    /// Whether who leaves says so before it closes its connection.
    fn says_goodbye(&self) -> bool {
        false
    }

    /// Whether its messages may name their topic by a number that was given to it before: joined late, the topic is
    /// not known, and the decoder leaves it empty.
    fn numbers_topics(&self) -> bool {
        false
    }

    /// The domain that a port belongs to, for protocols that compute their ports from one: it names
    /// the row in place of a server's address.
    fn domain(&self, _port: u16) -> Option<u32> {
        None
    }

    /// An empty store for what its conversations tell each other; [`Memory::default`] if they have
    /// nothing to tell. Whoever opens decoders keeps one for all of them.
    fn memory(&self) -> Memory {
        Memory::default()
    }

    /// A decoder for one conversation, both directions, that knows of no other one.
    fn connection(&self, transport: Transport) -> Box<dyn Connection>;

    /// A decoder for one conversation that learns from, and tells, all others with the same `memory`,
    /// which is one that [`Protocol::memory`] made.
    fn connection_with(&self, transport: Transport, _memory: &Memory) -> Box<dyn Connection> {
        self.connection(transport)
    }
}

/// How long the PDU at the head of a direction's bytes is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PduLen {
    /// At least this many bytes of it must be seen to tell; more than there were. Asking for
    /// more than it has delays it until the next one starts.
    Need(usize),
    /// This many bytes, header included; never 0.
    Known(u64),
    /// These bytes cannot start a PDU.
    Invalid,
}

/// One PDU: a frame of a TCP stream as its length field cuts it, or a whole UDP datagram.
#[derive(Clone, Copy, Debug)]
pub struct Pdu<'a> {
    /// Where it lies in the flow.
    pub range: ByteRange,
    /// Its first bytes, as many as were captured and kept; all of it when `bytes.len() == range.len()`.
    pub bytes: &'a [u8],
}

impl Pdu<'_> {
    /// Whether its end is missing.
    pub fn is_truncated(&self) -> bool {
        (self.bytes.len() as u64) < self.range.len()
    }
}

/// Some fragments of a message that its protocol cuts into datagrams.
///
/// Every fragment is one, sent for the first time or again: a reader has the message once it has taken a
/// datagram with each of them, whichever that was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragments {
    /// The message. Where [`Fragments::is_global`] says so it is its name on every conversation, else on
    /// this direction of this one.
    pub message: GlobalKey,
    /// The same message has this name at every receiver.
    pub is_global: bool,
    /// The number of the first of these, from 0.
    pub first: u32,
    /// How many there are, at least 1.
    pub count: u32,
    /// How many the whole message has, once something has told.
    pub of: Option<u32>,
    /// Bytes of the whole message's payload, as far as is known.
    pub payload_len: u64,
    /// Bytes of payload here that were seen before.
    pub repeated_bytes: u64,
    /// The message was seen whole before, or was first sent when nothing of it was seen: if nothing is known
    /// of it, when it was sent is not known either.
    pub is_late: bool,
    /// When the sender's library was given the message, as the message itself says: nanoseconds of the sender's wall
    /// clock (since 1970). A claim, not an observation.
    pub given: Option<u64>,
}

/// Takes the frames that a decoder finds, in the order of the flow's bytes.
pub trait FrameSink {
    /// Takes one frame.
    fn frame(&mut self, frame: &Frame<'_>);

    /// Takes what fragments are in the frame that comes next. If that one completes a message, these are
    /// the fragments that completed it.
    fn fragments(&mut self, _fragments: &Fragments) {}

    /// The frame that follows asks for messages, and says how long it may be kept waiting for them.
    fn asks(&mut self, _ask: RequestLimits) {}

    /// The messages that follow are a transaction's, and are handed to their reader once that is committed.
    fn awaits_commit(&mut self) {}

    /// The frame that follows lets its receiver pass on the message that begins at `start` of the same direction; it may
    /// have waited for that.
    fn releases(&mut self, _start: Offset) {}

    /// The frame that follows acknowledges a message of the other direction, of which as many were unacknowledged as ever:
    /// until now its receiver may have been allowed to send no more.
    fn makes_room(&mut self) {}

    /// The frame before has so many bytes, and became so many when it was opened: the messages that follow, in frames
    /// without bytes, are in there.
    fn unpacked(&mut self, _bytes: u64, _opened: u64) {}

    /// The messages in the frames that follow can be used only when all bytes before `end` are there: their reader takes
    /// them as a part of something larger.
    fn usable_at(&mut self, _end: Offset) {}

    /// The payload of the message in the frame that comes next may have started earlier, with zeros.
    fn uncertain_start(&mut self) {}

    /// The frame before has so many messages by its own account, and they cannot be read.
    fn unread_messages(&mut self, _messages: u64) {}

    /// So many messages were there that their reader throws away: of a transaction that was aborted.
    fn thrown_away(&mut self, _messages: u64) {}

    /// So many more messages were sent to two readers of which only one at a time is given any: the first of them may have
    /// thrown them away, or both may have handled them.
    fn read_twice(&mut self, _messages: u64) {}

    /// Takes note that the messages of this sender, which its [`GlobalKey`]s name, are handed to their
    /// readers in the order of their numbers: what is missing holds up what was sent after it. Nothing before
    /// number `first` is sent again any more.
    fn in_order(&mut self, _origin: [u8; 16], _first: u64) {}
}

impl<F: FnMut(&Frame<'_>)> FrameSink for F {
    fn frame(&mut self, frame: &Frame<'_>) {
        self(frame);
    }
}

/// A decoder for one conversation. Holds what the two directions tell each other: versions, aliases,
/// open fragments.
pub trait Connection: Send {
    /// The length of the PDU that starts with `head`. Only asked of TCP; a datagram is a PDU.
    fn pdu_len(&self, side: Side, head: &[u8]) -> PduLen;

    /// The length of all that starts with `head`, where [`Connection::pdu_len`] hands out something
    /// large piece by piece: what comes behind it starts anew. Only asked after a gap.
    fn span(&self, side: Side, head: &[u8]) -> PduLen {
        self.pdu_len(side, head)
    }

    /// Bytes that are left of something large whose first pieces were read. When bytes are missed in
    /// there, the next PDU starts behind it; it itself ends with one PDU that lacks them.
    fn open_bytes(&self, _side: Side) -> u64 {
        0
    }

    /// Whether a PDU is likely to start with `head`: asked at packet boundaries after a gap, when
    /// nothing else tells where PDUs start. Stricter than [`Connection::pdu_len`].
    fn resync(&self, side: Side, head: &[u8]) -> bool {
        matches!(self.pdu_len(side, head), PduLen::Known(_))
    }

    /// Whether `head` cannot be anything but the start of a PDU, however long that is: it is not waited for what comes
    /// behind it. Only asked after a gap.
    fn is_certain(&self, _side: Side, _head: &[u8]) -> bool {
        false
    }

    /// How many bytes are kept of a PDU that does not lie in one packet.
    fn kept_bytes(&self, _side: Side) -> usize {
        KEPT_BYTES
    }

    /// [`Protocol::stands_out`], of its protocol.
    fn stands_out(&self, _head: &[u8]) -> bool {
        false
    }

    /// Bytes of memory that it holds on to: tables, and what waits for more. Roughly, and without what is always there.
    fn held_bytes(&self) -> usize {
        0
    }

    /// Whether messages are encrypted from here on, so that none is found.
    fn is_encrypted(&self) -> bool {
        false
    }

    /// The end that serves, if its frames have told.
    fn server(&self) -> Option<Side> {
        None
    }

    /// Reads one PDU and hands its frames to `out`. The frames cover the PDU's whole range, end to
    /// end; what cannot be read is a frame of class `Opaque`.
    fn pdu(&mut self, side: Side, pdu: Pdu<'_>, out: &mut dyn FrameSink);

    /// Whether the same content, from the same sender to somebody else too, is a copy of one message. Where each
    /// message goes to one receiver, as in a queue of work, it is another message.
    fn makes_copies(&self, _from: Side) -> bool {
        true
    }

    /// An end of it is gone.
    fn closed(&mut self) {}

    /// Bytes of this direction were missed: forget what depended on them (open fragments).
    fn gap(&mut self, side: Side);
}
