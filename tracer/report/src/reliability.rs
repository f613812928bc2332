//! The reliability of a result, and the reasons for it.

use crate::{RunResult, words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wirelap_correlate as correlate;
use wirelap_correlate::snapshot::SERVER_ROLE;
use wirelap_correlate::{FileFacts, Holes, TrustFacts, UncertainCounts};
use wirelap_events::Count;

/// Whether a result's figures can be used.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[schemars(rename = "Reliability")]
#[serde(rename_all = "snake_case")]
pub enum ReportedReliability {
    /// The figures can be used.
    #[default]
    Good,
    /// The figures can be used with care; see the reasons.
    Reduced,
    /// The figures cannot be used.
    Unusable,
}

impl ReportedReliability {
    /// The mark before the result's name in a table.
    pub fn mark(self) -> &'static str {
        correlate::Reliability::from(self).mark()
    }
}

impl From<correlate::Reliability> for ReportedReliability {
    fn from(reliability: correlate::Reliability) -> ReportedReliability {
        match reliability {
            correlate::Reliability::Good => ReportedReliability::Good,
            correlate::Reliability::Reduced => ReportedReliability::Reduced,
            correlate::Reliability::Unusable => ReportedReliability::Unusable,
        }
    }
}

impl From<ReportedReliability> for correlate::Reliability {
    fn from(reliability: ReportedReliability) -> correlate::Reliability {
        match reliability {
            ReportedReliability::Good => correlate::Reliability::Good,
            ReportedReliability::Reduced => correlate::Reliability::Reduced,
            ReportedReliability::Unusable => correlate::Reliability::Unusable,
        }
    }
}

/// A reason why a result's figures are reduced or unusable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustReason {
    /// The kind of reason: `events_lost`, `not_followed`, `unseen` … The guide lists all of them.
    pub kind: String,
    /// Whether this reason makes the result `reduced` or `unusable`.
    pub verdict: ReportedReliability,
    /// The reason as a sentence with its numbers.
    pub text: String,
}

/// Packets that were not captured, although the sockets' sequence numbers prove that they were sent or received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Unseen")]
pub struct ReportedUnseen {
    /// The least possible number of packets: how many packets carried the bytes of one gap is not known.
    pub packets: u64,
    /// The exact number of payload bytes.
    pub bytes: u64,
}

impl ReportedUnseen {
    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: ReportedUnseen) -> ReportedUnseen {
        wirelap_events::fieldwise!(self + other => ReportedUnseen { packets, bytes })
    }
}

impl From<correlate::Unseen> for ReportedUnseen {
    fn from(unseen: correlate::Unseen) -> ReportedUnseen {
        ReportedUnseen { packets: unseen.packets, bytes: unseen.bytes }
    }
}

impl From<ReportedUnseen> for correlate::Unseen {
    fn from(unseen: ReportedUnseen) -> correlate::Unseen {
        correlate::Unseen { packets: unseen.packets, bytes: unseen.bytes }
    }
}

impl RunResult {
    /// Sets `trust.verdict` and `trust.reasons` from the result's own counts.
    pub fn judge(&mut self) {
        let doubts =
            if self.untraced { Vec::new() } else { correlate::trust::doubts(&self.facts()) };
        self.trust.verdict = correlate::trust::reliability(&doubts).into();
        self.trust.reasons = doubts
            .into_iter()
            .map(|doubt| TrustReason {
                kind: doubt.reason.name().to_owned(),
                verdict: doubt.reliability.into(),
                text: words::doubt(&doubt.reason),
            })
            .collect();
    }

    /// Numbers of deliveries that the programs themselves expected and counted; `None` for programs that `run` did not start.
    pub fn own_counts(&self) -> Option<(u64, u64)> {
        (!self.repetitions.is_empty())
            .then_some((self.messages.expected(), self.messages.delivered))
    }

    /// True if less than half of what was sent was delivered, by the programs' own counts.
    pub fn is_mostly_undelivered(&self) -> bool {
        self.own_counts().is_some_and(|(expected, delivered)| delivered < expected.div_ceil(2))
    }

    /// Connections of clients that reach its servers through Unix sockets.
    fn unix_clients(&self) -> u64 {
        let servers = self.processes.iter().filter(|process| process.role == SERVER_ROLE);
        Count::sum(servers.filter_map(|process| Some(process.unix_clients.as_ref()?.connections))).0
    }

    fn facts(&self) -> TrustFacts {
        let (messages, trust) = (&self.messages, &self.trust);
        let is_sampled = trust.window_share < correlate::trust::WHOLE_TIME;
        let truth = self.ground_truth.clone().unwrap_or_default();
        let parts = &self.overhead.parts_bytes;
        let median = self.latency.one_way_ns.p50;
        let seen = self.partial_sight.as_ref();
        let from_elsewhere = seen.map_or(0, |seen| seen.by_receiver);
        // What is seen in part has figures of its own.
        let is_partial = self.view.is_some_and(|view| view.why_no_latency().is_some());
        TrustFacts {
            is_sampled,
            not_traced: trust.not_traced(),
            packets_only: trust.packets_only,
            messages: (Count(messages.sent) + messages.delivered).0,
            deliveries: if is_sampled {
                (Count(messages.matched) + messages.uncovered).0
            } else {
                (Count(messages.delivered) - from_elsewhere).0
            },
            matched: messages.matched,
            own_counts: self.own_counts(),
            events: trust.events,
            events_lost: trust.losses(),
            packets: self.overhead.packets,
            payload_bytes: parts.transported(),
            holes: Holes {
                sent: trust.unseen_sent.into(),
                received: trust.unseen_received.into(),
                uncaptured_bytes: trust.uncaptured_bytes,
                undecoded_bytes: trust.undecoded_bytes,
                unread_packets: trust.unread_packets,
                unread_messages: trust.unread_messages,
                unfinished_messages: trust.unfinished,
                encrypted_connections: trust.encrypted_connections,
            },
            evicted: trust.evicted,
            uncertain: UncertainCounts {
                to_unseen_readers: if is_partial { 0 } else { trust.to_unseen_readers },
                ..trust.uncertain()
            },
            unix_clients: self.unix_clients(),
            compared: (truth.compared, truth.contradicted()),
            unknown: truth.unknown,
            telescoping_violations: trust.telescoping_violations,
            file: FileFacts {
                too_late: trust.too_late_packets,
                split_subflows: trust.split_subflows,
                time_unit_ns: trust.time_unit_ns.map(|unit| (unit, median)),
            },
            clocks_ns: self.latency.clock_error_ns.map(|error| (error.p50, median)),
        }
    }
}
