//! The JSON of what the figures of a result stand on: coverage, losses, the cost of tracing, the workloads' own records.

use crate::reliability::{ReportedReliability, ReportedUnseen, TrustReason};
use crate::{ClockOffset, HostClock};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use wirelap_correlate::UncertainCounts;
use wirelap_events::{Count, EventLosses, TraceDetail};

// A field for each member of the JSON.
/// How far the figures can be trusted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Trust")]
pub struct ReportedTrust {
    /// Whether the figures can be used: `good`, `reduced` or `unusable`.
    #[serde(default)]
    pub verdict: ReportedReliability,
    /// Why the verdict is not `good`, the most serious reason first; empty if it is.
    #[serde(default)]
    pub reasons: Vec<TrustReason>,
    /// Matched over delivered, 0..=1; 1 if nothing was delivered. When sampling, only deliveries in traced windows count.
    pub coverage: f64,
    /// Lost events by probe; probes that lost none are listed with 0.
    pub events_lost: BTreeMap<String, u64>,
    /// Those of the lost events that did not meet a full ring buffer: runs of probes that the kernel skipped because the probe ran
    /// already on that CPU, for processes that are traced or not.
    #[serde(default)]
    pub skipped_runs: u64,
    /// Those of the lost events that a capture of another program itself counts as missing (pcapng's `epb_dropcount`, `isb_ifdrop` and
    /// `isb_osdrop`).
    #[serde(default, skip_serializing_if = "crate::run::is_zero")]
    pub stated_losses: u64,
    /// Those of the lost events that are datagrams in IP fragments of which a part was not captured, or whose parts overlap.
    #[serde(default)]
    pub fragmented_datagrams: u64,
    /// Those of the lost events that came too late from other hosts to be put in order.
    #[serde(default, skip_serializing_if = "crate::run::is_zero")]
    pub late_events: u64,
    /// Events received from the probes.
    pub events: u64,
    /// Payload bytes on the wire that were not captured.
    pub uncaptured_bytes: u64,
    /// Bytes in which no frame was found.
    pub undecoded_bytes: u64,
    /// Messages in batches that could not be decoded (their headers say how many). They are not in any other count.
    #[serde(default)]
    pub unread_messages: u64,
    /// Packets of QUIC that could not be read with the keys, or were acknowledged and are not in the capture. Messages in them are not
    /// counted.
    #[serde(default, skip_serializing_if = "crate::run::is_zero")]
    pub unread_packets: u64,
    /// Packets that were not captured when sent, by the sockets' sequence numbers. Messages in them are not counted.
    #[serde(default)]
    pub unseen_sent: ReportedUnseen,
    /// Packets that were not captured when received, by the sockets' sequence numbers.
    #[serde(default)]
    pub unseen_received: ReportedUnseen,
    /// Legs whose reader is on another host or excluded by a filter: whether it has read them is not known.
    #[serde(default)]
    pub to_unseen_readers: u64,
    /// Messages that were sent to two consumers of a group because a partition moved from one to the other. Which of them
    /// handled a message is not known, and both deliveries are counted.
    #[serde(default)]
    pub read_twice: u64,
    /// Messages that their sender gave up when it had sent a part of them. They are not in any other count.
    #[serde(default)]
    pub cut_short: u64,
    /// Messages of which a part was sent, and the end was not seen. They are not in any other count.
    #[serde(default)]
    pub unfinished: u64,
    /// Messages that are encrypted by their protocol. They are not in any other count.
    #[serde(default)]
    pub encrypted: u64,
    /// Encrypted connections of the server that were not read. Messages in them are not in any count.
    #[serde(default, skip_serializing_if = "crate::run::is_zero")]
    pub encrypted_connections: u64,
    /// Pairs of a writing and a reading participant on one host that hand messages over in shared memory (DDS), as discovery says:
    /// these are not seen, and in no count.
    #[serde(default)]
    pub unseen_pairs: u32,
    /// Participants (DDS) that had announced themselves before the observation began: if they use shared memory is not known.
    #[serde(default)]
    pub unannounced: u32,
    /// Messages whose topic is a number of which it was not seen what it stands for, and whose payload does not tell which they are:
    /// behind a router or broker they may be counted a second time.
    #[serde(default)]
    pub nameless: u64,
    /// Deliveries of which it is not known which of several equal messages they brought: their number is right, their times may be
    /// those of each other.
    #[serde(default)]
    pub guessed: u64,
    /// Messages that were not seen to be read, while of as many reads of UDP sockets it is not known which datagrams they took: they
    /// may have been delivered.
    #[serde(default)]
    pub perhaps_read: u64,
    /// Matched deliveries whose send call was not traced: their latency begins at a later stage.
    #[serde(default)]
    pub without_send: u64,
    /// Flows and messages that were evicted to limit the memory used.
    pub evicted: u64,
    /// Share of the time during which events were reported; below 1 when sampling.
    pub window_share: f64,
    /// Messages whose segments do not add up exactly to their one-way latency: always 0.
    pub telescoping_violations: u64,
    /// What the tracer itself used.
    pub tracer: ReportedTracerCost,
    /// The clock offset between two hosts; absent for captures of one host, or of more than two (see `hosts`).
    #[serde(default)]
    pub clocks: Option<ClockOffset>,
    /// The clock offsets of all hosts but the first; empty for captures of one host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostClock>,
    /// Packets of a capture that come so late in the file that they could not be sorted into the order of their times.
    #[serde(default, skip_serializing_if = "crate::run::is_zero")]
    pub too_late_packets: u64,
    /// Directions of Multipath TCP's subflows in a capture of which it is not known where in their connection their bytes belong.
    #[serde(default, skip_serializing_if = "crate::run::is_zero")]
    pub split_subflows: u64,
    /// The unit that all times of a capture are multiples of, in nanoseconds; absent if it is a microsecond or less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_unit_ns: Option<u64>,
    /// Whether the figures are of packets alone (a capture of another program, or `live --packets-only`): no system calls, no threads, and
    /// the timestamps of packets.
    #[serde(default)]
    pub packets_only: bool,
    /// How much of a message's way was observed.
    #[serde(default)]
    pub detail: ObservedDetail,
    /// What tracing may cost, if it adapts to that (`--budget`, or as far as wirelap keeps up); absent if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<ReportedTracingBudget>,
}

/// What tracing may cost, and what it cost in the last period (about a second, or two windows).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TracingBudget")]
pub struct ReportedTracingBudget {
    /// The share of a core, and of the traced programs' CPU time, that may be spent (`--budget`); absent if a part of the time is left
    /// out only because wirelap did not keep up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// CPU time of wirelap's own process, as a share of one core.
    pub own_share: f64,
    /// CPU time in the probes, as a share of the traced programs' CPU time; absent if it was not measured, which needs `CAP_SYS_ADMIN`
    /// at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes_share: Option<f64>,
}

impl From<wirelap_correlate::TracingBudget> for ReportedTracingBudget {
    fn from(budget: wirelap_correlate::TracingBudget) -> ReportedTracingBudget {
        let wirelap_correlate::TracingBudget { share, own, probes } = budget;
        ReportedTracingBudget { share, own_share: own, probes_share: probes }
    }
}

/// How much of a message's way was observed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ObservedDetail {
    /// Sends and reads: no bytes on the wire, and one segment from send to read.
    Ends,
    /// Also the packets, but neither when sockets are ready nor the scheduler.
    Path,
    /// Everything.
    #[default]
    Full,
}

impl ObservedDetail {
    /// The name, as on the command line.
    pub fn name(self) -> &'static str {
        match self {
            ObservedDetail::Ends => TraceDetail::Ends.name(),
            ObservedDetail::Path => TraceDetail::Path.name(),
            ObservedDetail::Full => TraceDetail::Full.name(),
        }
    }
}

impl From<TraceDetail> for ObservedDetail {
    fn from(detail: TraceDetail) -> ObservedDetail {
        match detail {
            TraceDetail::Ends => ObservedDetail::Ends,
            TraceDetail::Path => ObservedDetail::Path,
            TraceDetail::Full => ObservedDetail::Full,
        }
    }
}

impl ReportedTrust {
    /// The share of the time that was left out because wirelap did not keep up.
    pub fn not_traced(&self) -> f64 {
        let is_by_itself = self.budget.is_some_and(|budget| budget.share.is_none());
        if is_by_itself { 1.0 - self.window_share } else { 0.0 }
    }

    /// The counts of messages that are not followed, or of which it is not certain which they are.
    pub fn uncertain(&self) -> UncertainCounts {
        UncertainCounts {
            without_send: self.without_send,
            to_unseen_readers: self.to_unseen_readers,
            read_twice: self.read_twice,
            cut_short: self.cut_short,
            superseded: 0,
            encrypted: self.encrypted,
            unseen_pairs: self.unseen_pairs,
            unannounced: self.unannounced,
            nameless: self.nameless,
            guessed: self.guessed,
            perhaps_read: self.perhaps_read,
        }
    }

    /// Sets these counts, except that of superseded replies, which is a note of the result.
    #[must_use]
    pub fn with_uncertain(self, counts: UncertainCounts) -> ReportedTrust {
        ReportedTrust {
            without_send: counts.without_send,
            to_unseen_readers: counts.to_unseen_readers,
            read_twice: counts.read_twice,
            cut_short: counts.cut_short,
            encrypted: counts.encrypted,
            unseen_pairs: counts.unseen_pairs,
            unannounced: counts.unannounced,
            nameless: counts.nameless,
            guessed: counts.guessed,
            perhaps_read: counts.perhaps_read,
            ..self
        }
    }

    /// The largest possible error of times between hosts, in nanoseconds: first if the minimum delay is the same in both
    /// directions, second in any case. `None` for one host.
    pub fn between_hosts(&self) -> Option<(u64, u64)> {
        let clocks = self.hosts.iter().map(|host| &host.clock).chain(&self.clocks);
        clocks
            .map(|clock| (clock.within_ns, clock.at_most_ns))
            .reduce(|a, b| (a.0.max(b.0), a.1.max(b.1)))
    }

    /// Lost events of all probes.
    pub fn lost(&self) -> u64 {
        Count::sum(self.events_lost.values().copied()).0
    }

    /// The same, with their cause.
    pub fn losses(&self) -> EventLosses {
        EventLosses {
            events: self.lost(),
            skipped: self.skipped_runs,
            stated: self.stated_losses,
            fragmented: self.fragmented_datagrams,
            late: self.late_events,
        }
    }
}

/// What the tracer itself used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TracerCost")]
pub struct ReportedTracerCost {
    /// CPU time over wall time of wirelap's own process, 1.0 = one core.
    pub cpu_share: f64,
    /// Resident memory of wirelap's own process, with the ring buffer.
    pub rss_bytes: u64,
    /// The size of the ring buffer; absent for files that others captured, and in reports of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring_bytes: Option<u64>,
    /// How much tracing slowed down the traced processes; absent if that was not measured (`--measure-cost false`,
    /// back-to-back runs, programs that `run` did not start, messages that take milliseconds).
    #[serde(default)]
    pub slowdown: Option<Slowdown>,
    /// Why that was tried and is not known.
    #[serde(default)]
    pub slowdown_unknown: Option<CostUnknown>,
}

/// Why it is not known how much tracing slowed down the traced processes, although it was to be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CostUnknown {
    /// Messages take milliseconds, in which microseconds are not seen.
    SlowMessages,
    /// Too few turns had messages enough.
    FewTurns,
    /// A process ended, or the probes could not be attached again.
    Stopped,
}

/// How much tracing slowed down the traced processes: they ran in turns, alternately with and without probes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Slowdown {
    /// Publish to deliver with the probes attached, as the workloads recorded it: median of the turns' medians.
    pub traced_p50_ns: u64,
    /// Publish to deliver with the probes detached: median of the turns' medians.
    pub untraced_p50_ns: u64,
    /// Traced over untraced for each pair of neighbouring turns: median of the pairs.
    pub ratio: f64,
    /// Lower end of the ratio's 95 % confidence interval, bootstrapped from the pairs.
    pub ratio_low: f64,
    /// Upper end of the ratio's 95 % confidence interval.
    pub ratio_high: f64,
    /// Turns with enough messages, with and without probes.
    pub turns: u32,
    /// Messages in these turns.
    pub messages: u64,
    /// What the probes of less detail add, beginning with the fewest; absent where there were too few turns with them. All
    /// probes add `untraced_p50_ns` times `ratio` less one.
    #[serde(default)]
    pub ends: Option<AddedTime>,
    /// The same with those at packets, too.
    #[serde(default)]
    pub path: Option<AddedTime>,
}

/// What some probes add to a message's time, with its 95 % confidence interval, bootstrapped from pairs of neighbouring turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AddedTime {
    /// Nanoseconds of a message's median, publish to deliver; below 0 where it was faster with these probes.
    pub added_ns: f64,
    /// Lower end of the interval.
    pub low_ns: f64,
    /// Upper end of the interval.
    pub high_ns: f64,
}

impl Slowdown {
    /// True if messages were faster with probes than without: the turns differed in something else than the probes, for instance in the
    /// CPUs that the threads ran on, and what the probes add cannot be told.
    pub fn is_contradictory(&self) -> bool {
        self.ratio_high < 1.0
    }

    /// The time that all probes add to a message.
    pub fn added(&self) -> AddedTime {
        let added = |ratio: f64| (ratio - 1.0) * self.untraced_p50_ns as f64;
        AddedTime {
            added_ns: added(self.ratio),
            low_ns: added(self.ratio_low),
            high_ns: added(self.ratio_high),
        }
    }
}

/// The comparison of the trace with the workloads' own records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GroundTruth {
    /// Messages that publishers recorded as published.
    pub published: u64,
    /// Messages that subscribers recorded as received.
    pub delivered: u64,
    /// Matched messages of which both ends have a record.
    pub compared: u64,
    /// Compared messages whose one-way latency on the wire is longer than publish to deliver.
    pub violations: u64,
    /// Compared messages that were sent before they were published, or delivered before they were read.
    pub order_violations: u64,
    /// Compared messages whose first send was seen of another process than the one that published them: what was before it was
    /// not seen. 0 in files of older versions.
    #[serde(default)]
    pub other_senders: u64,
    /// Messages that the trace shows as delivered and the subscriber did not receive: always 0.
    pub unknown: u64,
    /// By how much the worst violation is longer, in nanoseconds.
    pub worst_violation_ns: u64,
}

impl GroundTruth {
    /// Compared messages on which the records contradict the trace.
    pub fn contradicted(&self) -> u64 {
        Count::sum([self.violations, self.order_violations, self.other_senders]).0
    }
}
