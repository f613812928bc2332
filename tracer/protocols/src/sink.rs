//! Reports of a decoder: frames, and what it knows beyond them.

use crate::Side;
use crate::queues::{Discard, PutBack};
use crate::ros2::RosFact;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use wirelap_events::{ByteRange, Frame, GlobalKey, Nanos, Offset, RequestLimits};

/// The longest name of a client, its title, or a group that is reported, in bytes; longer ones count as not known.
pub const MAX_CLIENT_NAME: usize = 1024;

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

/// Knowledge of a decoder beyond the frames. Each note has a method of [`FrameSink`] that reports it.
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
    /// The fragments in the next frame.
    Fragments(&'a Fragments),
    /// The next frame requests messages.
    Asks(RequestLimits),
    /// The requests of the sender of the next frame ask for messages of this topic no more, or again.
    AsksForTopic {
        /// The topic's [`topic_number`].
        topic: u64,
        /// True if they do.
        asks: bool,
    },
    /// The next frame answers the last request for messages of the other end, perhaps with none.
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
    /// The sender of the next frame, a server, says in it that the queue with this number, which the other end may subscribe to, holds
    /// no message.
    QueueIsEmpty(u32),
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
    /// The next messages are delivered after a commit.
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
    /// The previous frame was decompressed.
    Unpacked {
        /// The frame's bytes.
        bytes: u64,
        /// Bytes that they were decompressed to.
        decompressed: u64,
    },
    /// The sender of the message in the next frame has it from somebody else.
    PassedOn,
    /// The message in the next frame is marked as retained by its publisher, and not by its sender, a server: it may be sent for the first
    /// time.
    HasPublishersMark,
    /// The message in the next frame lay in a queue of its sender, a server, for as long as that keeps messages nobody takes; or of a server
    /// before its sender, a client, which publishes it again.
    Expired,
    /// The message in the next frame says that its publisher made it at this time, in nanoseconds since 1970.
    MadeAt(u64),
    /// The message in the next frame has this place in its server's log.
    HasPlace(LogPlace),
    /// The broker keeps the message in the next frame for so long for subscribers that are away.
    KeptFor(KeptFor),
    /// The sender of the next frame, a server, goes on with the session that the client had on an earlier connection.
    ResumesSession,
    /// So many messages of the server's log lie between the one in the next frame and what its reader was sent before. The log has them no
    /// more, or they are not for this reader.
    FollowsAfter(u64),
    /// The message in the next frame has this place in its server's log, and is handed out in another form than it was sent in:
    /// nothing else tells which message it is.
    IsAtPlace(LogPlace),
    /// The server will say which place in its log it gives the message in the next frame. The number is greater than those of the
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
    /// The messages of the next frames can be used with all bytes before this one.
    UsableAt(Offset),
    /// The payload in the next frame may have started earlier.
    UncertainStart,
    /// Messages in the previous frame that cannot be decoded.
    UnreadMessages(u64),
    /// Messages that their reader discards.
    Discarded(u64),
    /// Messages that were sent to two readers of which one is assigned them.
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
    /// Replies that do not reach the application that asked.
    Superseded(u64),
    /// The sender of the next frame, a server, refuses something in it, for the reason that it gives in these words.
    Refuses(&'a [u8]),
    /// Messages that their sender gave up when it had sent a part of them.
    CutShort(u64),
    /// Messages in the previous frame that are encrypted by the protocol itself.
    Encrypted(u64),
    /// Readers get the messages of this sender in order.
    InOrder {
        /// The sender, as in the keys of its messages.
        origin: [u8; 16],
        /// Messages that it does not send any more, from the first number up to before the second.
        gone: [u64; 2],
    },
    /// A request, which the other end answers.
    Request {
        /// The number of the request among those that are open.
        number: u64,
        /// The request's bytes, of which some may still have to come.
        extent: ByteRange,
        /// A number for the content of a request that its receiver may hand on to others; 0 for any other.
        content: u64,
    },
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

/// Receives the frames that a decoder finds, in the order of the flow's bytes, and what the decoder knows about them.
///
/// A decoder calls the methods of `dyn FrameSink`. All but [`FrameSink::frame`] end in [`FrameSink::note`], so that what passes
/// frames on passes on every note, also those that are added later.
pub trait FrameSink {
    /// Receives one frame.
    fn frame(&mut self, frame: &Frame<'_>);

    /// Receives what the decoder knows beyond the frames.
    fn note(&mut self, note: FrameNote<'_>);
}

impl<F: FnMut(&Frame<'_>)> FrameSink for F {
    fn frame(&mut self, frame: &Frame<'_>) {
        self(frame);
    }

    fn note(&mut self, _note: FrameNote<'_>) {}
}

/// A number for a topic, by its name in messages.
#[inline]
pub fn topic_number(topic: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    topic.hash(&mut hasher);
    hasher.finish()
}

/// The number of a subscription with this name, never 0.
fn subscription_number(name: impl Hash) -> u32 {
    let mut hasher = FxHasher::default();
    name.hash(&mut hasher);
    let folded = hasher.finish() >> u32::BITS;
    u32::try_from(folded).unwrap_or(u32::MAX).max(1)
}

/// A name, if it is not too long to be kept.
fn bounded(name: &[u8]) -> Option<&[u8]> {
    (name.len() <= MAX_CLIENT_NAME).then_some(name)
}

impl dyn FrameSink + '_ {
    /// Reports the name that the client at this end of the conversation gives itself. An empty name, and one that is longer than
    /// [`MAX_CLIENT_NAME`], says that it is not known, also if it was before.
    pub fn client(&mut self, side: Side, name: &[u8]) {
        self.note(FrameNote::Client { side, name: bounded(name).unwrap_or_default() });
    }

    /// Reports that the client with this name is also called `title`, which several clients may be.
    pub fn client_title(&mut self, name: &[u8], title: &[u8]) {
        if let Some(title) = bounded(title).filter(|title| !title.is_empty()) {
            self.note(FrameNote::ClientTitle { name, title });
        }
    }

    /// Reports that the client at this end says that it reads as a member of this group.
    pub fn member(&mut self, side: Side, group: &[u8]) {
        if let Some(group) = bounded(group).filter(|group| !group.is_empty()) {
            self.note(FrameNote::Member { side, group });
        }
    }

    /// Reports in which group the reader of the message in the next frame reads it.
    pub fn reader_group(&mut self, group: ReadIn<'_>) {
        match group {
            ReadIn::Group(name) if !name.is_empty() && bounded(name).is_some() => {
                self.note(FrameNote::ReaderGroup(Some(name)));
            }
            ReadIn::NoGroup => self.note(FrameNote::ReaderGroup(None)),
            ReadIn::Group(_) | ReadIn::Unknown => {}
        }
    }

    /// Reports the fragments in the next frame. If that frame completes a message, these fragments completed it.
    pub fn fragments(&mut self, fragments: &Fragments) {
        self.note(FrameNote::Fragments(fragments));
    }

    /// Reports that the next frame requests messages, and how long the answer may be delayed until there are some.
    pub fn asks(&mut self, ask: RequestLimits) {
        self.note(FrameNote::Asks(ask));
    }

    /// Reports whether the requests for messages of the sender of the next frame are also for this topic from now on, which is given by
    /// its [`topic_number`].
    pub fn asks_for_topic(&mut self, topic: u64, asks: bool) {
        self.note(FrameNote::AsksForTopic { topic, asks });
    }

    /// Reports that the next frame answers the last request for messages of the other end ([`FrameSink::asks`]), perhaps with none.
    pub fn answers(&mut self) {
        self.note(FrameNote::Answers);
    }

    /// Reports the consumer or channel that the next frame is about, where a connection has several: whoever asks or
    /// acknowledges there lets no message of another pass.
    pub fn line(&mut self, line: u64) {
        self.note(FrameNote::Line(line));
    }

    /// Reports which of its receiver's subscriptions the message in the next frame is for. `name` is different for each of
    /// them.
    pub fn subscription(&mut self, name: impl Hash) {
        self.note(FrameNote::Subscription(subscription_number(name)));
    }

    /// Reports that the next frame begins the sender's subscription with this name.
    pub fn subscribes(&mut self, name: impl Hash) {
        self.consumes(name, 0);
    }

    /// Reports that the next frame begins the sender's subscription with this name, which reads the queue with this number.
    pub fn consumes(&mut self, name: impl Hash, queue: u32) {
        self.note(FrameNote::Subscribes { number: subscription_number(name), queue });
    }

    /// Reports that the server says in the next frame that the queue with this number holds no message.
    pub fn queue_is_empty(&mut self, queue: u32) {
        self.note(FrameNote::QueueIsEmpty(queue));
    }

    /// Reports that the message in the next frame lay in another queue of its sender before.
    pub fn was_rerouted(&mut self) {
        self.note(FrameNote::WasRerouted);
    }

    /// Reports that the server names a subscription in the next frame, which began with another name.
    pub fn renames_subscription(&mut self, begun: impl Hash, name: impl Hash) {
        let (begun, number) = (subscription_number(begun), subscription_number(name));
        self.note(FrameNote::Renumbers { begun, number });
    }

    /// Reports that the reader of the message in the next frame has taken over what it is part of (a partition) from another member of its
    /// group, with the request that it made so many requests ([`FrameSink::asks`]) before its last one.
    pub fn taken_over(&mut self, requests_ago: u32) {
        self.note(FrameNote::TakenOver { requests_ago });
    }

    /// Reports that the next messages belong to a transaction: their reader delivers them only after its commit.
    pub fn awaits_commit(&mut self) {
        self.note(FrameNote::AwaitsCommit);
    }

    /// Reports that the next frame allows its receiver to forward the message that begins at `start` of the same direction.
    /// The receiver may have waited for it. The sender had to wait for a confirmation, which ends before `receipt` in the other
    /// direction; `None` if that was not captured.
    pub fn releases(&mut self, message: Offset, receipt: Option<Offset>) {
        self.note(FrameNote::Releases { first: message, message, receipt });
    }

    /// Reports that the next frame allows its receiver to forward the messages of the same direction that begin between `first` and
    /// `last`: they were published in a transaction, which it commits.
    pub fn commits(&mut self, first: Offset, last: Offset) {
        self.note(FrameNote::Releases { first, message: last, receipt: None });
    }

    /// Reports that the next frame acknowledges a message of the other direction, which ends before `message`, while the number
    /// of unacknowledged messages was at its maximum so far: its receiver may have been at the limit and unable to send, since it had
    /// sent what ends before `full_with`. `None` if the message was not captured, so that this number is not known.
    pub fn permits_more(&mut self, message: Option<Offset>, full_with: Option<Offset>) {
        self.note(FrameNote::Acknowledges { message, full_with, permits_more: true });
    }

    /// Reports that the next frame confirms a message of the other direction, which ends before `message`, at such a time,
    /// and that its receiver may send more only after another frame.
    pub fn confirms(&mut self, message: Offset, full_with: Offset) {
        let (message, full_with) = (Some(message), Some(full_with));
        self.note(FrameNote::Acknowledges { message, full_with, permits_more: false });
    }

    /// Reports that the sender of the next frame does not read what comes from its receiver, or reads it again.
    pub fn throttles(&mut self, throttle: Throttle) {
        self.note(FrameNote::Throttles(throttle));
    }

    /// Reports that the client at this end gets no more of some messages that it got before.
    pub fn unsubscribes(&mut self, side: Side) {
        self.note(FrameNote::Unsubscribes(side));
    }

    /// Reports that the previous frame of `bytes` bytes was decompressed to `decompressed` bytes, which contain the messages
    /// of the next frames; these frames have no bytes of their own in the flow.
    pub fn unpacked(&mut self, bytes: u64, decompressed: u64) {
        self.note(FrameNote::Unpacked { bytes, decompressed });
    }

    /// Reports that the sender of the message in the next frame has it from somebody else: the message itself names another origin.
    pub fn passed_on(&mut self) {
        self.note(FrameNote::PassedOn);
    }

    /// Reports that the message in the next frame has its publisher's mark that it is retained, which says nothing of its sender, a server.
    pub fn has_publishers_mark(&mut self) {
        self.note(FrameNote::HasPublishersMark);
    }

    /// Reports that the message in the next frame lay in a queue of a server until its time there was over.
    pub fn expired(&mut self) {
        self.note(FrameNote::Expired);
    }

    /// Reports when the message in the next frame was made, as it says itself, in nanoseconds since 1970.
    pub fn made_at(&mut self, time: u64) {
        self.note(FrameNote::MadeAt(time));
    }

    /// Reports which place the message in the next frame has in its server's log.
    pub fn has_place(&mut self, place: LogPlace) {
        self.note(FrameNote::HasPlace(place));
    }

    /// Reports for how long the message in the next frame is kept for subscribers that are away, if that is not for ever.
    pub fn kept_for(&mut self, kept: KeptFor) {
        self.note(FrameNote::KeptFor(kept));
    }

    /// Reports that the server goes on with the session that the client had on an earlier connection, with its subscriptions.
    pub fn resumes_session(&mut self) {
        self.note(FrameNote::ResumesSession);
    }

    /// Reports how many messages of the server's log lie between the one in the next frame and what its reader was sent before: the log has
    /// them no more, or they are not for this reader.
    pub fn follows_after(&mut self, messages: u64) {
        self.note(FrameNote::FollowsAfter(messages));
    }

    /// Reports which place the message in the next frame has in its server's log, where only the place tells which message it is.
    pub fn is_at_place(&mut self, place: LogPlace) {
        self.note(FrameNote::IsAtPlace(place));
    }

    /// Reports that the receiver of the message in the next frame will say which place in its log it gives it: with
    /// [`FrameSink::gives_places`] and this number, which is greater than those before.
    pub fn awaits_place(&mut self, number: u64) {
        self.note(FrameNote::AwaitsPlace(number));
    }

    /// Reports that `count` messages of the other direction, from the one with the number `first` on, were given successive
    /// places in a log, or were not stored.
    pub fn gives_places(&mut self, first: u64, count: u64, place: Option<LogPlace>) {
        self.note(FrameNote::GivesPlaces { first, count, place });
    }

    /// Reports that the reader can use the messages of the next frames only when it has all bytes before `end`, because they
    /// are part of a larger unit.
    pub fn usable_at(&mut self, end: Offset) {
        self.note(FrameNote::UsableAt(end));
    }

    /// Reports that the payload of the message in the next frame may have started earlier, with zeros.
    pub fn uncertain_start(&mut self) {
        self.note(FrameNote::UncertainStart);
    }

    /// Reports that the previous frame contains this many messages, according to its header, and that they cannot be decoded.
    pub fn unread_messages(&mut self, messages: u64) {
        self.note(FrameNote::UnreadMessages(messages));
    }

    /// Reports messages that their reader discards because they belong to an aborted transaction.
    pub fn discarded(&mut self, messages: u64) {
        self.note(FrameNote::Discarded(messages));
    }

    /// Reports records that no reader was sent, because the sender of the next frame begins to read behind them.
    pub fn passed_over(&mut self, records: u64, is_same_group: bool) {
        self.note(FrameNote::PassedOver { records, is_same_group });
    }

    /// Reports messages that a log had no more when the sender of the next frame had asked for them, which goes on behind them.
    pub fn not_kept(&mut self, messages: u64) {
        self.note(FrameNote::NotKept(messages));
    }

    /// Reports further messages that were sent to two readers although only one reader at a time is assigned them: the first
    /// reader may have discarded them, or both may have processed them.
    pub fn read_twice(&mut self, messages: u64) {
        self.note(FrameNote::ReadTwice(messages));
    }

    /// Reports what a server of queues discards, or will.
    pub fn discards(&mut self, what: Discard) {
        if what.is_any() {
            self.note(FrameNote::Discards(what));
        }
    }

    /// Reports that the server puts messages back into their queues that the client has not acknowledged.
    pub fn puts_back(&mut self, messages: u64, why: PutBack) {
        if messages > 0 {
            self.note(FrameNote::PutBack { messages, why });
        }
    }

    /// Reports replies that do not reach the application that asked, because its library takes others of the same key in their place.
    pub fn superseded(&mut self, replies: u64) {
        self.note(FrameNote::Superseded(replies));
    }

    /// Reports that the sender of the next frame, a server, refuses something in it, and the reason that it gives.
    pub fn refuses(&mut self, why: &[u8]) {
        self.note(FrameNote::Refuses(why));
    }

    /// Reports messages that their sender gave up when it had sent a part of them: nobody gets them.
    pub fn cut_short(&mut self, messages: u64) {
        self.note(FrameNote::CutShort(messages));
    }

    /// Reports that the previous frame has this many messages that are encrypted by the protocol itself.
    pub fn encrypted(&mut self, messages: u64) {
        self.note(FrameNote::Encrypted(messages));
    }

    /// Reports that readers get the messages of this sender, which is part of its [`GlobalKey`]s, in the order of their
    /// numbers, so a missing message delays all later ones, unless it is among those that are `gone`: from the first number up to before
    /// the second.
    pub fn in_order(&mut self, origin: [u8; 16], gone: [u64; 2]) {
        self.note(FrameNote::InOrder { origin, gone });
    }

    /// Reports which implementation of the protocol an end uses.
    pub fn implementation(&mut self, name: &'static str) {
        self.note(FrameNote::Implementation(name));
    }

    /// Reports what is known so far of participants whose messages are not seen.
    pub fn unseen(&mut self, parties: UnseenParties) {
        self.note(FrameNote::Unseen(parties));
    }

    /// Reports what discovery says of the nodes of ROS 2.
    pub fn ros(&mut self, fact: &RosFact) {
        self.note(FrameNote::Ros(fact));
    }

    /// Reports that the bytes of `extent`, of which some may still have to come, are a request. The other end answers it with a
    /// reply of the same number, and no other open request of this direction has that number.
    pub fn requests(&mut self, number: u64, extent: ByteRange) {
        self.note(FrameNote::Request { number, extent, content: 0 });
    }

    /// As [`FrameSink::requests`], of a request that its receiver may hand on to others. `content` is not 0, and the same when it does.
    pub fn requests_handed_on(&mut self, number: u64, extent: ByteRange, content: u64) {
        self.note(FrameNote::Request { number, extent, content });
    }

    /// Reports that the bytes of `extent`, of which some may still have to come, are the reply to the request of the other
    /// direction with this number.
    pub fn replies(&mut self, number: u64, extent: ByteRange) {
        self.note(FrameNote::Reply { number, extent });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names that are reported.
    #[derive(Default)]
    struct Names(Vec<Vec<u8>>);

    impl FrameSink for Names {
        fn frame(&mut self, _frame: &Frame<'_>) {}

        fn note(&mut self, note: FrameNote<'_>) {
            match note {
                FrameNote::Client { name, .. } | FrameNote::ReaderGroup(Some(name)) => {
                    self.0.push(name.to_vec());
                }
                FrameNote::ClientTitle { title, .. } => self.0.push(title.to_vec()),
                FrameNote::Member { group, .. } => self.0.push(group.to_vec()),
                note => panic!("{note:?}"),
            }
        }
    }

    #[test]
    fn names_that_are_too_long_are_not_known() {
        let mut names = Names::default();
        let out: &mut dyn FrameSink = &mut names;
        for len in [0, 5, MAX_CLIENT_NAME, MAX_CLIENT_NAME + 1, 70_000] {
            let name = vec![b'n'; len];
            out.client(Side::A, &name);
            out.client_title(b"n", &name);
            out.member(Side::A, &name);
            out.reader_group(ReadIn::Group(&name));
        }
        let lengths: Vec<usize> = names.0.iter().map(Vec::len).collect();
        let fits = [MAX_CLIENT_NAME; 4];
        assert_eq!(lengths, [&[0, 5, 5, 5, 5][..], &fits, &[0, 0]].concat());
    }
}
