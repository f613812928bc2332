//! The counts that decide how far a row can be trusted.

use super::super::snapshot::{Group, Trust};
use crate::bytes::Unseen;
use crate::limits::trust::WHOLE_TIME;
use wirelap_events::EventLosses;

/// The counts that decide.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TrustFacts {
    /// Windows of time were observed, on purpose.
    pub is_sampled: bool,
    /// The events are packets, and no sockets.
    pub packets_only: bool,
    /// Messages found: sent or delivered.
    pub messages: u64,
    /// Payload bytes that were not captured.
    pub uncaptured_bytes: u64,
    /// Deliveries that were to be followed.
    pub deliveries: u64,
    /// Those that were.
    pub matched: u64,
    /// Messages sent and got, where the programs themselves count.
    pub own_counts: Option<(u64, u64)>,
    /// Events taken in.
    pub events: u64,
    /// Events lost.
    pub events_lost: EventLosses,
    /// Packets seen.
    pub packets: u64,
    /// Payload bytes in them.
    pub payload_bytes: u64,
    /// Packets that were not seen where they were sent.
    pub unseen_sent: Unseen,
    /// Packets that were not seen where they were received.
    pub unseen_received: Unseen,
    /// Bytes whose frames could not be found.
    pub undecoded_bytes: u64,
    /// Messages in batches that could not be opened.
    pub unread_messages: u64,
    /// Flows and messages given up to keep memory bounded.
    pub evicted: u64,
    /// Matched deliveries whose send call was not seen.
    pub without_send: u64,
    /// Legs whose reader cannot be seen here.
    pub to_unseen_readers: u64,
    /// Messages that two readers of a group were sent.
    pub read_twice: u64,
    /// Messages that their sender gave up when it had sent a part of them.
    pub cut_short: u64,
    /// Messages of which a part was sent, and the end was not seen.
    pub unfinished: u64,
    /// Messages that are encrypted by their protocol.
    pub encrypted: u64,
    /// Pairs of participants that hand messages over where they are not seen.
    pub unseen_pairs: u32,
    /// Participants of which it is not known if they hand messages over where they are not seen.
    pub unannounced: u32,
    /// Connections of clients that reach the row's servers through Unix sockets.
    pub unix_clients: u64,
    /// Messages that may be counted again behind a router or broker.
    pub nameless: u64,
    /// Deliveries of which it is not known which of several equal messages they brought.
    pub guessed: u64,
    /// Messages compared with the programs' own records, and those that contradict them.
    pub compared: (u64, u64),
    /// Deliveries that the trace saw and the programs did not get.
    pub unknown: u64,
    /// Messages whose segments do not add up.
    pub telescoping_violations: u64,
    /// Packets of a file that came too late in it to be sorted into the order of their times.
    pub too_late: u64,
    /// Directions of subflows of Multipath TCP of which it is not known where in their connection their bytes belong.
    pub split_subflows: u64,
    /// The unit of a file's times, if it is longer than a microsecond, and the median latency, in nanoseconds.
    pub time_unit_ns: Option<(u64, u64)>,
    /// Possible error of the offset of two hosts' clocks, and the median latency, in nanoseconds.
    pub clocks_ns: Option<(u64, u64)>,
}

impl TrustFacts {
    /// The counts of a row of a snapshot.
    pub fn of(group: &Group, trust: &Trust) -> TrustFacts {
        let messages = group.messages;
        let from_elsewhere = group.partial.as_ref().map_or(0, |partial| partial.by_receiver);
        let overhead = &group.overhead;
        TrustFacts {
            is_sampled: trust.window_share < WHOLE_TIME,
            packets_only: trust.packets_only,
            messages: messages.sent.saturating_add(messages.delivered),
            uncaptured_bytes: group.holes.uncaptured_bytes,
            deliveries: messages.delivered.saturating_sub(from_elsewhere),
            matched: messages.matched,
            events: trust.events,
            events_lost: trust.losses(),
            packets: overhead.packets,
            payload_bytes: [overhead.payload, overhead.protocol, overhead.control, overhead.opaque]
                .into_iter()
                .fold(0, u64::saturating_add),
            unseen_sent: group.holes.sent,
            unseen_received: group.holes.received,
            undecoded_bytes: group.holes.undecoded_bytes,
            unread_messages: group.holes.unread_messages,
            evicted: trust.evicted,
            without_send: group.without_send,
            // What is seen in part has figures of its own.
            to_unseen_readers: if group.partial_view().is_some() {
                0
            } else {
                group.to_unseen_readers
            },
            read_twice: group.read_twice,
            cut_short: group.cut_short,
            unfinished: group.holes.unfinished_messages,
            encrypted: group.encrypted,
            unseen_pairs: group.unseen_pairs,
            unannounced: group.unannounced,
            unix_clients: group.unix_clients(),
            nameless: group.nameless,
            guessed: group.guessed,
            ..TrustFacts::default()
        }
    }
}
