//! The degree to which a row's figures can be trusted, and the reasons why not further.

use strum::IntoStaticStr;
use wirelap_events::{EventLosses, Nanos};

/// The degree to which a row's figures can be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Reliability {
    /// As they stand.
    #[default]
    Good,
    /// With the reasons in mind.
    Reduced,
    /// Not at all.
    Unusable,
}

impl Reliability {
    /// The name in tables and JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The mark before the row's name in a table; empty for a good one.
    pub const fn mark(self) -> &'static str {
        match self {
            Reliability::Good => "",
            Reliability::Reduced => "! ",
            Reliability::Unusable => "✗ ",
        }
    }
}

/// Why a row's figures are not simply good, with the numbers that it stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum DoubtReason {
    /// Probes have lost events.
    EventsLost {
        /// Events lost.
        lost: EventLosses,
        /// All events.
        events: u64,
        /// Counts are of the trace, and so too low; otherwise they are the programs' own.
        counts_are_traced: bool,
    },
    /// Flows or messages were given up to keep memory bounded.
    GivenUp {
        /// Flows and messages.
        entries: u64,
    },
    /// Deliveries were not followed from the first send to the last read.
    NotFollowed {
        /// Deliveries that were followed.
        followed: u64,
        /// All deliveries.
        deliveries: u64,
    },
    /// Readers are on another host, or left out by a filter.
    ReaderNotSeen {
        /// Legs to them.
        legs: u64,
    },
    /// Two readers of a group were sent the same messages.
    ReadTwice {
        /// Those messages.
        messages: u64,
    },
    /// Senders gave messages up when they had sent a part of them.
    CutShort {
        /// Those messages.
        messages: u64,
    },
    /// No message was complete, and some were under way.
    Unfinished {
        /// Those messages.
        messages: u64,
    },
    /// Messages are encrypted by their protocol.
    Encrypted {
        /// Those messages.
        messages: u64,
    },
    /// Connections of the server, which passes the messages on, are encrypted and were not read.
    EncryptedConnections {
        /// Those connections.
        connections: u64,
    },
    /// Participants hand messages over in shared memory, where they are not seen.
    SharedMemory {
        /// Pairs of a writing and a reading participant.
        pairs: u32,
    },
    /// Clients reach the servers through Unix sockets, where nothing is seen.
    UnixClients {
        /// Their connections.
        connections: u64,
    },
    /// No message was seen, and participants were there before that may hand messages over in shared memory.
    Unannounced {
        /// Those participants.
        participants: u32,
    },
    /// Messages have neither a name nor payload to be known by.
    Nameless {
        /// Those messages.
        messages: u64,
    },
    /// Deliveries of which it is not known which of several equal messages they brought.
    Guessed {
        /// Deliveries of which it is not.
        deliveries: u64,
    },
    /// Messages were not seen to be read, and it is not known which datagrams some reads took.
    PerhapsRead {
        /// Those messages, at most.
        messages: u64,
    },
    /// Latencies begin after the send call.
    SendNotSeen {
        /// Deliveries with such a latency.
        deliveries: u64,
    },
    /// More was followed than the programs delivered.
    TooMany {
        /// Deliveries that were followed.
        followed: u64,
        /// Deliveries that the programs counted.
        counted: u64,
    },
    /// Packets passed that no probe saw, by the sequence numbers of the sockets.
    #[strum(serialize = "unseen")]
    UnseenPackets {
        /// At least so many packets.
        packets: u64,
        /// Bytes that were not seen when sent.
        sent_bytes: u64,
        /// Bytes that were not seen when received.
        received_bytes: u64,
    },
    /// Packets were acknowledged that are not in the capture.
    #[strum(serialize = "unseen")]
    UncapturedPackets {
        /// At least so many packets.
        packets: u64,
        /// Their payload bytes.
        bytes: u64,
    },
    /// Payload was not captured, and no message was found in the rest.
    Uncaptured {
        /// Payload bytes that were not captured.
        bytes: u64,
    },
    /// Packets of QUIC could not be read with the keys, or are not in the capture.
    UnreadPackets {
        /// At least so many packets.
        packets: u64,
    },
    /// Messages were in batches that could not be opened.
    Unread {
        /// Those messages.
        messages: u64,
    },
    /// Bytes were in no frame that was found.
    Undecoded {
        /// Those bytes.
        undecoded: u64,
        /// All bytes.
        bytes: u64,
    },
    /// The programs' own records contradict the trace.
    Contradicted {
        /// Messages on which they do.
        messages: u64,
        /// Messages that were compared.
        compared: u64,
    },
    /// The trace has deliveries that the subscriber did not get.
    #[strum(serialize = "contradicted")]
    UnknownDeliveries {
        /// Those deliveries.
        deliveries: u64,
    },
    /// Segments do not add up to the latency.
    NotTelescoping {
        /// Messages whose segments do not.
        messages: u64,
    },
    /// The clocks of two hosts differ by too much.
    Clocks {
        /// By how much they may differ.
        apart: Nanos,
        /// The median latency.
        median: Nanos,
    },
    /// Packets of a file are out of the order of their times, by too much to be sorted.
    Unsorted {
        /// Those packets.
        packets: u64,
    },
    /// Subflows of Multipath TCP carry bytes whose place in their connections is not known.
    #[strum(serialize = "multipath")]
    SplitSubflows {
        /// Directions of subflows.
        directions: u64,
    },
    /// The times of a file are coarse beside the latencies.
    CoarseTimes {
        /// The unit that all its times are multiples of.
        unit: Nanos,
        /// The median latency.
        median: Nanos,
    },
    /// A part of the time was not traced, which nobody has asked for.
    NotTraced {
        /// Thousandths of the time.
        thousandths: u64,
    },
    /// The programs did not get what was sent. The figures are right, and of the rest.
    Undelivered {
        /// Deliveries that did not take place, by the programs' own counts.
        missing: u64,
        /// Deliveries that are due: one to each subscriber of each message.
        due: u64,
    },
}

impl DoubtReason {
    /// The name in JSON.
    pub fn name(&self) -> &'static str {
        self.into()
    }
}

/// A reason, and what it makes of the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// Why.
    pub reason: DoubtReason,
    /// The reliability that this doubt alone leaves the row.
    pub reliability: Reliability,
}

/// The gravest of them.
pub fn reliability(doubts: &[Doubt]) -> Reliability {
    doubts.iter().map(|doubt| doubt.reliability).max().unwrap_or_default()
}
