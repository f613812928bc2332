//! A message that a decoder found in a flow, and what it is known by.

use super::places::FoundPlace;
use rustc_hash::FxHasher;
use std::fmt;
use std::hash::{Hash, Hasher};
use wirelap_events::{ByteRange, GlobalKey, MessageTrace, Offset, Stamp, TopicId};
use wirelap_figures::ReaderGroup;
use wirelap_protocols::{Fragments, KeptFor, Side, Withheld};

/// A message that a decoder found in a flow.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // Properties of a message that do not depend on each other.
pub struct Found {
    /// The sending end.
    pub side: Side,
    /// The bytes of the message in the flow.
    pub extent: ByteRange,
    /// The identity by which its legs are joined.
    pub identity: Identity,
    /// The digest by which it is found where its identity may not be certain.
    pub content: Option<Content>,
    /// The stamp of a workload in its payload.
    pub stamp: Option<Stamp>,
    /// Length of the payload in bytes.
    pub payload_len: u64,
    /// The protocol says that it may be sent again.
    pub duplicate: bool,
    /// The protocol says that it is to be stored, or was.
    pub retained: bool,
    /// The number of its reader's subscription, where it is its publisher that says so and not its sender; 0 if it is not known.
    pub publishers_mark: Option<u32>,
    /// True if its sender has it from somebody else, as the message itself tells.
    pub passed_on: bool,
    /// True if it lay in a queue of its sender until its time there was over.
    pub has_expired: bool,
    /// A number for what it tells of queues and exchanges that it was in before; 0 for nothing.
    pub past: u32,
    /// True if it lay in another queue of its sender before it came into that of its reader.
    pub was_rerouted: bool,
    /// Why its server does not pass it on at once, or did not.
    pub withheld: Option<Withheld>,
    /// True if its payload is in shared memory.
    pub shared: bool,
    /// The reader, as far as the frame tells.
    pub reader: FoundReader,
    /// No packet of it was seen: its neighbours tell of it.
    pub framed: bool,
    /// The topic, as far as it is known.
    pub topic: FoundTopic,
    /// The name among messages in fragments, if it is one of them.
    pub assembly: Option<GlobalKey>,
    /// Bytes of its payload on the wire: less than it has, where it is compressed.
    pub wire_payload: u64,
    /// The end of the bytes that must be there too before its reader can use it.
    pub usable_at: Option<Offset>,
    /// The time at which its publisher made it, as it says itself, in nanoseconds since 1970.
    pub made_at: Option<u64>,
    /// Facts by which its trace is told.
    pub trace: MessageTrace,
    /// The place in its server's log, where equal messages are told apart by that.
    pub place: FoundPlace,
    /// Number of messages of the log between it and what its reader was sent before.
    pub follows_after: u64,
    /// Time for which its broker keeps it for subscribers that are away.
    pub kept_for: KeptFor,
}

impl Found {
    /// A message of which nothing more is known.
    pub fn new(side: Side, extent: ByteRange, identity: Identity, payload_len: u64) -> Found {
        Found {
            side,
            extent,
            identity,
            content: None,
            stamp: None,
            payload_len,
            duplicate: false,
            retained: false,
            publishers_mark: None,
            passed_on: false,
            has_expired: false,
            past: 0,
            was_rerouted: false,
            withheld: None,
            shared: false,
            reader: FoundReader::default(),
            framed: false,
            topic: FoundTopic::default(),
            assembly: None,
            wire_payload: payload_len,
            usable_at: None,
            made_at: None,
            trace: MessageTrace::default(),
            place: FoundPlace::Unknown,
            follows_after: 0,
            kept_for: KeptFor::Ever,
        }
    }
}

/// The topic of a message.
#[derive(Clone, Debug, Default)]
pub struct FoundTopic {
    /// The topic's name, if names are kept.
    pub id: Option<TopicId>,
    /// A number for it; messages of one topic have the same.
    pub subject: u64,
    /// The hash that the identities of stamped messages of the topic begin with.
    pub hash: TopicHash,
    /// True if it is a number that nothing tells the meaning of, and the message has too little payload to be known by.
    pub is_nameless: bool,
}

/// The reader of a message, as far as the message tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FoundReader {
    /// The consumer or channel of its connection, where there are several.
    pub line: u64,
    /// The number of its subscription; 0 if that is not told.
    pub subscription: u32,
    /// Number of requests before its last one at which it took over what the message is part of from another member of its group.
    pub taken_over: Option<u32>,
    /// The group in which it reads.
    pub group: ReaderGroup,
}

/// Fragments of a message that a decoder found in a frame.
#[derive(Clone, Copy, Debug)]
pub struct FoundFragments {
    /// The sending end.
    pub side: Side,
    /// Start of the frame.
    pub at: Offset,
    /// The fragments, and of how many they are.
    pub fragments: Fragments,
}

/// The beginning of a stamped message's identity: its topic.
#[derive(Clone, Default)]
pub struct TopicHash(FxHasher);

impl TopicHash {
    /// Starts the hash of a topic.
    pub fn new(topic: &[u8]) -> TopicHash {
        let mut hasher = FxHasher::default();
        topic.hash(&mut hasher);
        TopicHash(hasher)
    }

    /// The identity of a message of this topic.
    pub fn identity(&self, stamp: Stamp) -> Identity {
        let mut hasher = self.0.clone();
        stamp.hash(&mut hasher);
        Identity { hash: hasher.finish(), exact: true }
    }
}

impl PartialEq for TopicHash {
    fn eq(&self, other: &TopicHash) -> bool {
        self.0.finish() == other.0.finish()
    }
}

impl fmt::Debug for TopicHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TopicHash({:x})", self.0.finish())
    }
}

/// A digest by which a message is found where its identity is not certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    /// A digest of its content, without its topic and the zeros in front.
    pub hash: u64,
    /// The topic, if that is known here, as far as servers keep it that hand messages on in several protocols.
    pub subject: Option<u64>,
    /// True if it is long enough to be rarely the same by chance.
    pub is_telling: bool,
    /// True if its topic, or where its payload starts, is not known here.
    pub is_unsure: bool,
}

/// The identity of a message, which is the same on every flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Hash of the words or bytes that identify the message.
    pub hash: u64,
    /// True if two messages with this identity are one: not so for a digest of the content.
    pub exact: bool,
}
