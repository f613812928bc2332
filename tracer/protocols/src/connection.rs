//! The interface of a protocol: how it is recognised, and how a PDU is measured and decoded.

use crate::remedies::Remedies;
use crate::side::Side;
use crate::{FrameSink, KeptFor, Memory, SignatureMatch};
use wirelap_events::{ByteRange, Frame, FrameClass, Size, Transport};

/// Bytes that are kept of a PDU that is spread over several packets; further bytes are counted, not stored.
pub const KEPT_BYTES: usize = 256 * 1024;

/// Certainty that some bytes belong to a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Recognition {
    /// The bytes are not of this protocol.
    No,
    /// There are too few bytes to decide.
    NeedMore,
    /// The bytes may be of this protocol; a known port decides.
    Maybe,
    /// The bytes are of this protocol: they have its magic number, or a whole first PDU of it.
    Yes,
}

/// The way of a protocol's messages from a publisher to a subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageRouting {
    /// Directly to the subscriber, in one leg.
    PeerToPeer,
    /// Always through the server of the conversation, in two legs.
    Brokered,
    /// Directly, or through a process that forwards the message: the captured traffic decides.
    Either,
}

/// Identity that an end of a conversation claims, where messages may go on through several processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Party {
    /// A number for its name, which is the same in all of its conversations.
    pub id: u32,
    /// True if the end says that it passes on what others publish.
    pub is_router: bool,
}

/// The encryption that hides the messages of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// TLS, to which the conversation went over.
    Tls,
    /// The protocol's own.
    Own,
}

/// A protocol, as the registry lists it.
pub trait Protocol: Sync {
    /// The protocol's name in tables, JSON and `--decode PORT=NAME`.
    fn name(&self) -> &'static str;

    /// The transports that the protocol runs on.
    fn transports(&self) -> &'static [Transport];

    /// The protocol's well-known ports, which are a hint only.
    fn ports(&self, transport: Transport) -> &'static [u16];

    /// Tells whether `head` is of this protocol. `head` is a datagram, or the first captured bytes of one direction of a flow:
    /// with `at_start` the flow's first bytes, otherwise bytes from a packet boundary in mid-stream.
    fn recognise(&self, transport: Transport, head: &[u8], at_start: bool) -> Recognition;

    /// Tells whether a PDU of this protocol starts with `head`, at any position of a TCP stream, or is the datagram `head`. This
    /// is called for many positions of a stream that was joined late, so it must reject quickly.
    fn match_signature(&self, _transport: Transport, _head: &[u8]) -> SignatureMatch {
        SignatureMatch::No
    }

    /// True if the first bytes of a connection, for which [`Protocol::recognise`] says yes, have a magic number that no other
    /// protocol has. Without a magic number, the port or later bytes must confirm the protocol.
    fn has_magic(&self) -> bool {
        true
    }

    /// True if `head` is so distinctive a start of a PDU that decoding is tried there although nothing else shows that a
    /// PDU starts there. This is called at every byte of a saturated sender's packets.
    fn stands_out(&self, _head: &[u8]) -> bool {
        false
    }

    /// Returns the way that the protocol's messages take from a publisher to a subscriber.
    fn topology(&self) -> MessageRouting {
        MessageRouting::Either
    }

    /// True if its decoder reports every unsubscription: a client that gets nothing for a time and did not unsubscribe was to get messages.
    fn hears_unsubscriptions(&self) -> bool {
        false
    }

    /// True if an end sends a frame that announces the close before it closes its connection.
    fn announces_close(&self) -> bool {
        false
    }

    /// True if a server closes a client's connection once another one has given the same name.
    fn closes_namesakes(&self) -> bool {
        false
    }

    /// True if a server may pass on what it gets only after a time that its subscribers choose: it is not known before whether a message
    /// ends there.
    fn passes_on_later(&self) -> bool {
        false
    }

    /// True if it is an encryption, whose records are its messages: what is inside is not read.
    fn is_encryption(&self) -> bool {
        false
    }

    /// True if messages may refer to their topic by a number that an earlier frame assigned. If the conversation was joined
    /// late, the topic is not known, and the decoder leaves it empty.
    fn numbers_topics(&self) -> bool {
        false
    }

    /// Returns the part of a topic that remains where a server hands its message on by another exchange or in another protocol;
    /// `None` where it always has the same topic.
    fn routed_topic<'a>(&self, _topic: &'a [u8]) -> Option<&'a [u8]> {
        None
    }

    /// True if a broker keeps a message that nobody reads at the moment for those who read later.
    fn keeps_messages(&self) -> bool {
        false
    }

    /// True if a broker also keeps what was read, in a log that others read later.
    fn is_log(&self) -> bool {
        false
    }

    /// True if a server reads nothing more of a connection until it has answered the request that it read last, even while the client
    /// sends further ones.
    fn answers_in_turn(&self) -> bool {
        false
    }

    /// True if a client says on another connection than the one that it reads on which group it reads in.
    fn names_groups_elsewhere(&self) -> bool {
        false
    }

    /// True if a server has at most one connection at a time of a client's name, so that who comes with it again is the same.
    fn names_clients_uniquely(&self) -> bool {
        false
    }

    /// True if a WebSocket carries each of its PDUs as a message without the length of two bytes that is in front of it over TCP.
    fn omits_length_over_websocket(&self) -> bool {
        false
    }

    /// The domain that a port belongs to, for protocols that compute their ports from a domain. It names the row in place of
    /// a server's address.
    fn domain(&self, _port: u16) -> Option<u32> {
        None
    }

    /// Returns the sentences on what usually helps with the protocol, in its own words.
    fn remedies(&self) -> &'static Remedies {
        &Remedies::GENERAL
    }

    /// An empty store for what conversations of this protocol share; [`Memory::default`] if they share nothing. The caller
    /// that makes decoders keeps one store for all of them.
    fn memory(&self) -> Memory {
        Memory::default()
    }

    /// A decoder for both directions of one conversation that shares nothing with other conversations.
    fn connection(&self, transport: Transport) -> Box<dyn Connection>;

    /// A decoder for both directions of one conversation that shares `memory`, which [`Protocol::memory`] made, with other
    /// conversations.
    fn connection_with(&self, transport: Transport, _memory: &Memory) -> Box<dyn Connection> {
        self.connection(transport)
    }
}

/// The length of the PDU that starts with some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PduLen {
    /// The length is known only with at least this many bytes of the PDU, which are more than there were. If the PDU is
    /// shorter than that, it is decoded only when the next one has started.
    Need(usize),
    /// The PDU has this many bytes, including its header; never 0.
    Known(u64),
    /// No PDU starts with these bytes.
    Invalid,
}

/// One PDU: the bytes of a TCP stream that one length field covers, or a whole UDP datagram.
#[derive(Clone, Copy, Debug)]
pub struct Pdu<'a> {
    /// The PDU's byte range in the flow.
    pub range: ByteRange,
    /// The PDU's first bytes, as many as were captured and kept; all of them if `bytes.len() == range.len()`.
    pub bytes: &'a [u8],
}

impl Pdu<'_> {
    /// True if bytes at the PDU's end are missing.
    pub fn is_truncated(&self) -> bool {
        (self.bytes.len() as u64) < self.range.len()
    }
}

/// A frame without a message.
pub(crate) fn frame_without_data(
    range: ByteRange,
    name: &'static str,
    class: FrameClass,
) -> Frame<'static> {
    Frame { range, name, class, payload_bytes: 0, data: None }
}

/// Messages of a connection of which its end decides what becomes of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftMessages {
    /// Sent to the client, which has not acknowledged them: its server sends them to somebody again.
    pub unacknowledged: u64,
    /// Published by the client in transactions that it has not committed: its server discards them.
    pub uncommitted: u64,
}

/// A decoder for one conversation. It holds the state that both directions need: versions, aliases, incomplete messages.
pub trait Connection: Send {
    /// The length of the PDU that starts with `head`. This is called for TCP only: a datagram is one PDU.
    fn pdu_len(&self, side: Side, head: &[u8]) -> PduLen;

    /// The length of the whole unit that starts with `head`, for protocols whose [`Connection::pdu_len`] returns the parts
    /// of a large unit one by one. The next unit starts after it. This is called only after a gap.
    fn span(&self, side: Side, head: &[u8]) -> PduLen {
        self.pdu_len(side, head)
    }

    /// The remaining bytes of a large unit whose first parts were decoded. If bytes inside the unit are missing, its
    /// remaining bytes become one truncated PDU, and the next PDU starts after it.
    fn open_bytes(&self, _side: Side) -> u64 {
        0
    }

    /// True if a PDU is likely to start with `head`. This is called at packet boundaries after a gap, when nothing else
    /// shows where PDUs start, and is stricter than [`Connection::pdu_len`].
    fn resync(&self, side: Side, head: &[u8]) -> bool {
        matches!(self.pdu_len(side, head), PduLen::Known(_))
    }

    /// True if `head` can only be the start of a PDU, so that it is accepted before the bytes after the PDU are known. This
    /// is called only after a gap.
    fn is_certain(&self, _side: Side, _head: &[u8]) -> bool {
        false
    }

    /// Returns the number of bytes that are kept of a PDU that is spread over several packets.
    fn kept_bytes(&self, _side: Side) -> usize {
        KEPT_BYTES
    }

    /// True if a PDU stands out, as [`Protocol::stands_out`] of this decoder's protocol says.
    fn stands_out(&self, _head: &[u8]) -> bool {
        false
    }

    /// An estimate of the decoder's memory in bytes: tables and incomplete messages, without what every decoder needs.
    fn held_bytes(&self) -> Size {
        Size(0)
    }

    /// Messages of which a part was sent, and the end was not seen yet.
    fn unfinished(&self) -> u64 {
        0
    }

    /// Returns the encryption by which, from now on, no message can be decoded; `None` if there is none.
    fn encryption(&self) -> Option<Encryption> {
        None
    }

    /// Returns for how long the server keeps what comes for its client once the connection is closed, in a session that the client goes on
    /// with later.
    fn keeps_for_client(&self) -> KeptFor {
        KeptFor::Nobody
    }

    /// True if messages are compressed and refer to earlier ones that were not captured, so that they cannot be decoded.
    fn lacks_context(&self) -> bool {
        false
    }

    /// The end that is the server, if the frames so far show it.
    fn server(&self) -> Option<Side> {
        None
    }

    /// Returns the identity that an end claims; `None` if it does not say it, or said it before the conversation was joined.
    fn party(&self, _side: Side) -> Option<Party> {
        None
    }

    /// True if both ends are servers, each of which hands on what it gets to its own clients.
    fn joins_servers(&self) -> bool {
        false
    }

    /// True if who asks for messages is another server, which copies the log.
    fn copies_log(&self) -> bool {
        false
    }

    /// Decodes one PDU and passes its frames to `out`. The frames cover the PDU's range without gaps; bytes that cannot be
    /// decoded are a frame of class `Opaque`.
    fn pdu(&mut self, side: Side, pdu: Pdu<'_>, out: &mut dyn FrameSink);

    /// True if equal content from one sender to several receivers is copies of one message. If each message goes to one
    /// receiver only, as in a work queue, equal contents are different messages.
    fn makes_copies(&self, _from: Side) -> bool {
        true
    }

    /// Messages of which the connection's end decides what becomes of them.
    fn left(&self) -> LeftMessages {
        LeftMessages::default()
    }

    /// Tells the decoder that one end has closed the connection.
    fn closed(&mut self) {}

    /// Tells the decoder that bytes of this direction are missing, so that it drops incomplete messages.
    fn gap(&mut self, side: Side);
}
