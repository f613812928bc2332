//! The counts that decide how far a row can be trusted.

use super::super::snapshot::{Group, Trust};
use wirelap_events::EventLosses;
use wirelap_figures::UncertainCounts;
use wirelap_flow::Holes;
use wirelap_limits::trust::WHOLE_TIME;

/// Counts of a file of packets that decide.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FileFacts {
    /// Packets that came too late in it to be sorted into the order of their times.
    pub too_late: u64,
    /// Directions of subflows of Multipath TCP of which it is not known where in their connection their bytes belong.
    pub split_subflows: u64,
    /// The unit of its times, if that is longer than a microsecond, and the median latency, in nanoseconds.
    pub time_unit_ns: Option<(u64, u64)>,
}

/// The counts that decide.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TrustFacts {
    /// Windows of time were observed, on purpose.
    pub is_sampled: bool,
    /// The share of the time that was left out because wirelap did not keep up.
    pub not_traced: f64,
    /// The events are packets, and no sockets.
    pub packets_only: bool,
    /// Messages found: sent or delivered.
    pub messages: u64,
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
    /// The parts of the traffic that are not known.
    pub holes: Holes,
    /// Flows and messages given up to keep memory bounded.
    pub evicted: u64,
    /// Messages that are not followed, or of which it is not certain which they are.
    pub uncertain: UncertainCounts,
    /// Connections of clients that reach the row's servers through Unix sockets.
    pub unix_clients: u64,
    /// Messages compared with the programs' own records, and those that contradict them.
    pub compared: (u64, u64),
    /// Deliveries that the trace saw and the programs did not get.
    pub unknown: u64,
    /// Messages whose segments do not add up.
    pub telescoping_violations: u64,
    /// Doubts about a file.
    pub file: FileFacts,
    /// Largest error of the median latency because of two hosts' clocks, and the median latency, in nanoseconds; `None` on one host.
    pub clocks_ns: Option<(u64, u64)>,
}

impl TrustFacts {
    /// The counts of a row of a snapshot.
    pub fn of(group: &Group, trust: &Trust) -> TrustFacts {
        let messages = group.messages;
        let from_elsewhere = group.partial.as_ref().map_or(0, |partial| partial.by_receiver);
        let overhead = &group.overhead;
        let mut uncertain = group.uncertain;
        // Messages seen in part have figures of its own.
        if group.partial_view().is_some() {
            uncertain.to_unseen_readers = 0;
        }
        TrustFacts {
            is_sampled: trust.window_share < WHOLE_TIME,
            not_traced: trust.not_traced(),
            packets_only: trust.packets_only,
            messages: messages.sent.saturating_add(messages.delivered),
            deliveries: messages.delivered.saturating_sub(from_elsewhere),
            matched: messages.matched,
            events: trust.events,
            events_lost: trust.losses(),
            packets: overhead.packets,
            payload_bytes: [overhead.payload, overhead.protocol, overhead.control, overhead.opaque]
                .into_iter()
                .fold(0, u64::saturating_add),
            holes: group.holes,
            evicted: trust.evicted,
            uncertain,
            unix_clients: group.unix_clients(),
            clocks_ns: (group.one_way_error.count > 0)
                .then_some((group.one_way_error.p50.0, group.one_way.p50.0)),
            ..TrustFacts::default()
        }
    }
}
