//! Notes of a decoder: what it knows beyond the frames.

use crate::Side;
use crate::queues::{Discard, PutBack, Withheld};
use crate::ros2::RosFact;
use wirelap_events::{ByteRange, GlobalKey, Nanos, Offset, RequestLimits, TraceContext};

/// Numbers for the content of a request that its receiver may hand on to others, which are the same wherever it is handed on; 0
/// for any other request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestContent {
    /// All of it; 0 if a part is not known.
    pub whole: u64,
    /// The part that is known without the start of the conversation; 0 if that tells nothing.
    pub body: u64,
}

impl RequestContent {
    /// True if something is known by which the request is found where it is handed on.
    pub fn is_some(self) -> bool {
        self != RequestContent::default()
    }
}

/// Consecutive fragments of a message that the protocol divides into several datagrams.
///
/// A fragment may be sent more than once. A reader has the message when it has read each fragment once, in whichever
/// datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragments {
    /// The message's key. With [`Fragments::is_global`] the key is the same in every conversation, otherwise it is unique
    /// only in this direction of this conversation.
    pub message: GlobalKey,
    /// True if the message has the same key at every receiver.
    pub is_global: bool,
    /// The number of the first of these fragments, from 0.
    pub first: u32,
    /// Number of fragments here, at least 1.
    pub count: u32,
    /// Number of fragments of the whole message, if that is known.
    pub of: Option<u32>,
    /// Bytes of the whole message's payload, as far as they are known.
    pub payload_len: u64,
    /// Bytes of these fragments' payload that were sent before.
    pub repeated_bytes: u64,
    /// True if the message was complete before, or its first transmission was not captured. In the second case, the time at
    /// which it was sent is not known.
    pub is_late: bool,
    /// The source timestamp in the message: when the sender's library took the message over, in nanoseconds since 1970 by
    /// the sender's wall clock. It is the sender's claim, not an observation.
    pub source_timestamp: Option<u64>,
    /// The participant that the message is for, if it names one. The first 12 bytes of its key's origin are its sender.
    pub reader: Option<[u8; 12]>,
    /// Number of participants that are known to read what is not for one alone; 0 if that is not known.
    pub group_readers: u16,
}

/// The place of a message in a log of its server. It is the same for all that read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LogPlace {
    /// A hash of the log's name, of those of one server.
    pub log: u64,
    /// The message's number in the log.
    pub offset: u64,
}

/// For how long a broker keeps a message for subscribers that are away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeptFor {
    /// Without an end, as far as its publisher says.
    #[default]
    Ever,
    /// Not at all.
    Nobody,
    /// For so long.
    For(Nanos),
}

impl KeptFor {
    /// For so many seconds.
    pub(crate) fn seconds(seconds: u32) -> KeptFor {
        KeptFor::For(Nanos::from_millis(u64::from(seconds).saturating_mul(1_000)))
    }

    /// The time until which it is kept that came at `at`.
    pub fn until(self, at: Nanos) -> Nanos {
        match self {
            KeptFor::Ever => Nanos(u64::MAX),
            KeptFor::Nobody => at,
            KeptFor::For(time) => at + time,
        }
    }
}

/// Participants of a domain whose messages are not seen, or may not be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnseenParties {
    /// Pairs of a writing and a reading participant that hand messages over in shared memory.
    pub pairs: u32,
    /// Participants that have not said yet which addresses they have, because they did so before.
    pub unannounced: u32,
}

impl UnseenParties {
    /// Takes in those of the same domain that others know.
    pub fn add(&mut self, other: UnseenParties) {
        self.pairs = self.pairs.max(other.pairs);
        self.unannounced = self.unannounced.max(other.unannounced);
    }
}

/// The group in which a reader reads a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadIn<'a> {
    /// The reader's group, if there is one, is not known.
    Unknown,
    /// The message is for the reader alone.
    NoGroup,
    /// The message is for one member of this group.
    Group(&'a [u8]),
}

/// Knowledge of a decoder beyond the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameNote<'a> {
    /// The name that the client at an end gives itself; empty if it is not known, or no longer.
    Client {
        /// The client's end.
        side: Side,
        /// The client's name.
        name: &'a [u8],
    },
    /// A second name for a client with this name, at whatever end of whatever conversation.
    ClientTitle {
        /// The client's name.
        name: &'a [u8],
        /// The other name, which several clients may have.
        title: &'a [u8],
    },
    /// The group that the client at an end says it is a member of.
    Member {
        /// The client's end.
        side: Side,
        /// The group's name.
        group: &'a [u8],
    },
    /// The group in which the reader of the next message reads it; `None` if it reads it in no group.
    ReaderGroup(Option<&'a [u8]>),
    /// A program that takes part in the conversation uses this implementation of the protocol.
    Implementation(&'static str),
    /// Participants of the conversation's domain whose messages are not seen, as far as is known.
    Unseen(UnseenParties),
    /// The fragments in the next frame. If that frame completes a message, these fragments completed it.
    Fragments(&'a Fragments),
    /// The next frame requests messages, and the answer may be delayed until there are some.
    Asks(RequestLimits),
    /// The requests of the sender of the next frame ask for messages of this topic no more, or again.
    AsksForTopic {
        /// The topic's [`topic_number`](crate::topic_number).
        topic: u64,
        /// True if they do.
        asks: bool,
    },
    /// The next frame answers the other end's last request for messages on the [`FrameNote::Line`] that was noted, perhaps with none.
    /// Nothing more comes for it.
    Answers,
    /// The consumer or channel of the connection that the next frame is about: a request or acknowledgement of one lets no
    /// message of another pass. 0 if it is not said.
    Line(u64),
    /// The receiver's subscription that the message in the next frame is for: a receiver gets a message once for each.
    /// Never 0.
    Subscription(u32),
    /// The sender of the next frame begins with it a subscription.
    Subscribes {
        /// The number that it has in [`FrameNote::Subscription`].
        number: u32,
        /// A number for the queue that it reads; 0 if there is none, or it is not known.
        queue: u32,
    },
    /// The sender of the next frame, a server, says in it that a queue, which the other end may subscribe to, holds
    /// no message.
    QueueIsEmpty {
        /// The queue's number.
        queue: u32,
        /// True if the queue has the same number on every connection of the server, so that it is known which queue that is.
        is_server_wide: bool,
    },
    /// A server does not pass the message in the next frame on as soon as it has it, or did not.
    Withheld(Withheld),
    /// The message in the next frame lay in another queue of its sender before it came into that of its reader.
    WasRerouted,
    /// The sender of the next frame, a server, gives a subscription that the other end has begun another number.
    Renumbers {
        /// The number that it was begun with.
        begun: u32,
        /// The number that its messages have.
        number: u32,
    },
    /// The reader of the message in the next frame has taken over what it is part of from another member of its group, with the request
    /// that it made so many requests before its last one.
    TakenOver {
        /// 0 for the last request.
        requests_ago: u32,
    },
    /// The next messages belong to a transaction: their reader delivers them only after its commit.
    AwaitsCommit,
    /// The next frame allows to forward messages of the same direction.
    Releases {
        /// Start of the first of them.
        first: Offset,
        /// Start of the last of them.
        message: Offset,
        /// One past the last byte of what its receiver had to confirm before, in the other direction, if that was captured.
        receipt: Option<Offset>,
    },
    /// The next frame acknowledges, or confirms, a message of the other direction while as many as ever were not acknowledged.
    Acknowledges {
        /// One past the last byte of what it answers; `None` if that was not captured.
        message: Option<Offset>,
        /// One past the last byte of the message, in the other direction, with which there were as many as ever.
        full_with: Option<Offset>,
        /// True if it allows its receiver to send more.
        permits_more: bool,
    },
    /// The sender of the next frame says in it for how long it does not read what comes from the receiver of the frame.
    Throttles(Throttle),
    /// The client at this end gets no more of some messages that it got before: it has unsubscribed, or the server has ended its
    /// subscription.
    Unsubscribes(Side),
    /// The previous frame was decompressed. The messages of the next frames were in it, and have no bytes of their own in the flow.
    Unpacked {
        /// The frame's bytes.
        bytes: u64,
        /// Bytes that they were decompressed to.
        decompressed: u64,
    },
    /// The sender of the message in the next frame has it from somebody else: the message itself names another origin.
    PassedOn,
    /// The message in the next frame is marked as retained by its publisher, and not by its sender, a server: it may be sent for the first
    /// time, unless the server had it before its receiver subscribed. This is the number, in [`FrameNote::Subscribes`], of the first subscription
    /// of the receiver that it is for; 0 if it is not known.
    HasPublishersMark(u32),
    /// The message in the next frame lay in a queue of its sender, a server, for as long as that keeps messages nobody takes.
    Expired,
    /// The message in the next frame tells where it was before, or is to be kept for a time. This is a number for all of that: as long as it is what
    /// its publisher has sent, nothing of that happened since.
    TellsPast(u32),
    /// The message in the next frame says that its publisher made it at this time, in nanoseconds since 1970.
    MadeAt(u64),
    /// The message in the next frame is part of this trace of its application. Told only to a sink that
    /// [takes it](crate::FrameSink::takes_trace_contexts).
    TraceContext(TraceContext),
    /// The message in the next frame has this place in its server's log.
    HasPlace(LogPlace),
    /// The broker keeps the message in the next frame for so long for subscribers that are away.
    KeptFor(KeptFor),
    /// The sender of the next frame, a server, goes on with the session that the client had on an earlier connection, with its
    /// subscriptions.
    ResumesSession,
    /// So many messages of the server's log lie between the one in the next frame and what its reader was sent before. The log has them no
    /// more, or they are not for this reader.
    FollowsAfter(u64),
    /// The message in the next frame has this place in its server's log, and is handed out in another form than it was sent in:
    /// nothing else tells which message it is.
    IsAtPlace(LogPlace),
    /// The server will say which place in its log it gives the message in the next frame ([`FrameNote::GivesPlaces`]). The number is greater than those of the
    /// messages before it in this direction.
    AwaitsPlace(u64),
    /// The sender of the next frame, a server, has given successive messages of the other direction successive places.
    GivesPlaces {
        /// The number of the first message in [`FrameNote::AwaitsPlace`].
        first: u64,
        /// Number of messages.
        count: u64,
        /// The place of the first message; `None` if they were not stored.
        place: Option<LogPlace>,
    },
    /// The messages of the next frames are part of a larger unit, and can be used with all bytes before this one.
    UsableAt(Offset),
    /// The payload in the next frame may have started earlier, with zeros.
    UncertainStart,
    /// Messages in the previous frame, according to its header, that cannot be decoded.
    UnreadMessages(u64),
    /// Messages that their reader discards because they belong to an aborted transaction.
    Discarded(u64),
    /// Further messages that were sent to two readers of which one at a time is assigned them: the first may have discarded them, or both
    /// may have processed them.
    ReadTwice(u64),
    /// The sender of the next frame begins to read a log behind the last record that a reader before it was sent: nobody was sent those
    /// between.
    PassedOver {
        /// Number of records.
        records: u64,
        /// The one before is known to be of its group; otherwise, nobody that was seen has read them.
        is_same_group: bool,
    },
    /// The server puts messages back into their queues that a client was sent and has not acknowledged, to send them to somebody again.
    PutBack {
        /// Number of messages, as far as their deliveries were seen.
        messages: u64,
        /// Why the server does so.
        why: PutBack,
    },
    /// Messages that a server of queues discards, or will.
    Discards(Discard),
    /// Messages that a log had no more when the sender of the next frame had asked for them, which goes on behind them.
    NotKept(u64),
    /// Replies that do not reach the application that asked, because its library takes others of the same key in their place.
    Superseded(u64),
    /// The sender of the next frame, a server, refuses something in it, for the reason that it gives in these words.
    Refuses(&'a [u8]),
    /// Messages that their sender gave up when it had sent a part of them: nobody gets them.
    CutShort(u64),
    /// Messages in the previous frame that are encrypted by the protocol itself.
    Encrypted(u64),
    /// Readers get the messages of this sender in the order of their numbers, so that a missing one delays all later ones.
    InOrder {
        /// The sender, which is part of the [`GlobalKey`]s of its messages.
        origin: [u8; 16],
        /// The first message that is still retransmitted.
        first: u64,
    },
    /// A request, which the other end answers with a [`FrameNote::Reply`] of the same number.
    Request {
        /// The number of the request among those that are open.
        number: u64,
        /// The request's bytes, of which some may still have to come.
        extent: ByteRange,
        /// The content of a request that its receiver may hand on to others.
        content: RequestContent,
    },
    /// Nobody replies to the request of the other end with this number, as its server says.
    NoReply(u64),
    /// A fact that discovery tells of the nodes of ROS 2.
    Ros(&'a RosFact),
    /// A reply to a request of the other end.
    Reply {
        /// The number of the request.
        number: u64,
        /// The reply's bytes, of which some may still have to come.
        extent: ByteRange,
    },
}

/// Time for which a server does not read what a client sends, by its own word: for a quota, or because it lacks memory or disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Throttle {
    /// For so long from now on.
    For(Nanos),
    /// Until it says so.
    Begins,
    /// No longer.
    Ends,
}
