//! Notes for the user beside the figures, as codes with their numbers. `wirelap-report` has the words.

use std::net::SocketAddr;
use wirelap_events::{Comm, Nanos, Pid, TraceDetail};
use wirelap_flow::TlsCounts;

/// A note for the user beside the figures of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotNote {
    /// Less than everything was observed.
    LessDetail(TraceDetail),
    /// The events are packets alone, of this host and as they pass: neither sockets nor threads are seen.
    PacketsOnly {
        /// Later IP fragments, which have no ports and are in no figure.
        fragments: u64,
        /// Packets whose headers could not be read, which are in no figure.
        cut: u64,
    },
    /// Events of sockets that never came into view were left out.
    UnknownSockets {
        /// Those events.
        events: u64,
    },
    /// Some reads of UDP sockets took datagrams of which it is not known which they were.
    UnknownDatagrams {
        /// Those reads.
        reads: u64,
    },
    /// Counts of what became of the keys of TLS connections that the caller has.
    TlsKeys(TlsCounts),
    /// `WebSockets` whose compressed messages refer to earlier ones that were not seen.
    UnreadWebSockets {
        /// Those connections.
        connections: u64,
    },
    /// A process has read nothing of what had been sent to it before the observation began.
    UnreadBefore {
        /// The process, and its name.
        reader: (Pid, Comm),
        /// Its connections with such bytes.
        connections: u64,
        /// The peer of the one with the most of them.
        peer: SocketAddr,
        /// All these bytes.
        bytes: u64,
    },
    /// Times of events that contradict others were left out.
    ContradictoryTimes {
        /// Those times.
        times: u64,
    },
}

/// A note for the user beside the figures of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupNote {
    /// The send call was not seen: latencies begin at the first stage that was.
    SendNotSeen {
        /// Those deliveries.
        deliveries: u64,
    },
    /// Legs end at another host, or at a process that a filter leaves out.
    ReaderNotSeen {
        /// Those legs.
        legs: u64,
    },
    /// Legs were in MPTCP connections, at whose sockets no calls are seen: they end at the last packet.
    Subflows {
        /// Those legs.
        legs: u64,
    },
    /// The payload was in shared memory, and only its place travelled.
    SharedMemory {
        /// Legs of such messages.
        legs: u64,
    },
    /// Batches that could not be opened have messages, by their own account.
    UnreadBatches {
        /// Messages on the way to the broker.
        to_broker: u64,
        /// Messages on the way from it.
        from_broker: u64,
    },
    /// Messages were read from a log of which it is not known when they were sent.
    ReadFromLog {
        /// Those messages.
        messages: u64,
    },
    /// Replies crossed that do not reach the application that asked: its library takes others of the same key in their place.
    Superseded {
        /// Those replies.
        replies: u64,
    },
    /// No probe saw the packet of a message, which is known by the sequence numbers of its sockets.
    PacketNotSeen {
        /// Legs of such messages.
        legs: u64,
    },
    /// The DDS domain, as far as the port numbers tell.
    Domain {
        /// The domain's number.
        domain: u32,
    },
    /// Conversations of the row are encrypted: their messages are in no figure.
    Encrypted {
        /// Those conversations.
        conversations: u64,
        /// They are in TLS, which can be read with its keys or from the memory of the programs.
        is_tls: bool,
    },
    /// The messages of the row are records of an encryption, whose text is not read.
    Records,
    /// The user has muted the row, now or before.
    Muted(Muted),
}

/// Times in which a row was muted by the user: nothing was observed of it, and nothing of that time is in its figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Muted {
    /// True if the row is muted now. The figures of a muted row are those of the moment at which it
    /// was muted.
    pub now: bool,
    /// For how long it was muted so far, without the time in which the observation of everything was paused.
    pub time: Nanos,
}
