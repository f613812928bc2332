//! Whether a result can be used, and why not.

use crate::RunResult;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wirelap_correlate as seen;
use wirelap_correlate::TrustFacts;

/// Whether a result's figures can be used.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
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
    /// What stands before the result's name in a table.
    pub fn mark(self) -> &'static str {
        seen::Reliability::from(self).mark()
    }
}

impl From<seen::Reliability> for Reliability {
    fn from(reliability: seen::Reliability) -> Reliability {
        match reliability {
            seen::Reliability::Good => Reliability::Good,
            seen::Reliability::Reduced => Reliability::Reduced,
            seen::Reliability::Unusable => Reliability::Unusable,
        }
    }
}

impl From<Reliability> for seen::Reliability {
    fn from(reliability: Reliability) -> seen::Reliability {
        match reliability {
            Reliability::Good => seen::Reliability::Good,
            Reliability::Reduced => seen::Reliability::Reduced,
            Reliability::Unusable => seen::Reliability::Unusable,
        }
    }
}

/// Why a result's figures are not simply good.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustReason {
    /// What: `events_lost`, `not_followed`, `unseen` … The guide lists all of them.
    pub kind: String,
    /// What it makes of the result.
    pub verdict: Reliability,
    /// In words, with its numbers.
    pub text: String,
}

/// Packets that the sockets' own numbers prove and that no packet event brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unseen {
    /// At least so many packets: of a hole it is not known how many filled it.
    pub packets: u64,
    /// Exactly so many payload bytes.
    pub bytes: u64,
}

impl Unseen {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Unseen) -> Unseen {
        Unseen {
            packets: self.packets.saturating_add(other.packets),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }
}

impl From<seen::Unseen> for Unseen {
    fn from(unseen: seen::Unseen) -> Unseen {
        Unseen { packets: unseen.packets, bytes: unseen.bytes }
    }
}

impl From<Unseen> for seen::Unseen {
    fn from(unseen: Unseen) -> seen::Unseen {
        seen::Unseen { packets: unseen.packets, bytes: unseen.bytes }
    }
}

impl RunResult {
    /// Fills in the verdict on its trust from its own counts.
    pub fn judge(&mut self) {
        let doubts = if self.untraced { Vec::new() } else { seen::trust::doubts(&self.facts()) };
        self.trust.verdict = seen::trust::reliability(&doubts).into();
        self.trust.reasons = doubts
            .into_iter()
            .map(|doubt| TrustReason {
                kind: doubt.kind.name().to_owned(),
                verdict: doubt.reliability.into(),
                text: doubt.text,
            })
            .collect();
    }

    /// The programs' own counts of messages sent and got: only what `run` started keeps them.
    pub fn own_counts(&self) -> Option<(u64, u64)> {
        (!self.repetitions.is_empty()).then_some((self.messages.sent, self.messages.delivered))
    }

    /// Whether less than half of what was sent was delivered, by the programs' own counts.
    pub fn is_mostly_undelivered(&self) -> bool {
        self.own_counts().is_some_and(|(sent, delivered)| delivered < sent.div_ceil(2))
    }

    fn facts(&self) -> TrustFacts {
        let (messages, trust) = (&self.messages, &self.trust);
        let is_sampled = trust.window_share < seen::trust::WHOLE_TIME;
        let truth = self.ground_truth.clone().unwrap_or_default();
        let parts = &self.overhead.parts_bytes;
        let median = self.latency.one_way_ns.p50;
        let hosts = trust.hosts.iter().map(|host| &host.clock);
        let apart = hosts.chain(&trust.clocks).map(|clock| clock.within_ns);
        TrustFacts {
            is_sampled,
            packets_only: trust.packets_only,
            messages: messages.sent.saturating_add(messages.delivered),
            uncaptured_bytes: trust.uncaptured_bytes,
            deliveries: if is_sampled {
                messages.matched.saturating_add(messages.uncovered)
            } else {
                messages.delivered
            },
            matched: messages.matched,
            own_counts: self.own_counts(),
            events: trust.events,
            events_lost: trust.lost(),
            packets: self.overhead.packets,
            payload_bytes: parts.transported(),
            unseen_sent: trust.unseen_sent.into(),
            unseen_received: trust.unseen_received.into(),
            undecoded_bytes: trust.undecoded_bytes,
            unread_messages: trust.unread_messages,
            evicted: trust.evicted,
            without_send: trust.without_send,
            to_unseen_readers: trust.to_unseen_readers,
            read_twice: trust.read_twice,
            compared: (truth.compared, truth.violations.saturating_add(truth.order_violations)),
            unknown: truth.unknown,
            telescoping_violations: trust.telescoping_violations,
            clocks_ns: apart.max().map(|within| (within, median)),
        }
    }
}
