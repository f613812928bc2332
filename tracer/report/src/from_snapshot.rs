//! Conversions from the correlator's [`Snapshot`].

use crate::container;
use crate::run::RUN_SCHEMA;
use crate::why::{ReportedWhy, host};
use crate::words;
use crate::{
    Environment, Latency, MessageCounts, ObservedHost, Pacing, ReportedBreakdown,
    ReportedContainer, ReportedLocalRequests, ReportedMuted, ReportedNetworkNamespace,
    ReportedPartial, ReportedProcess, ReportedScheduling, ReportedSlowSubscribers,
    ReportedTracerCost, ReportedTrust, ReportedUnixClients, Ros2, RunKind, RunReport, RunResult,
    Scenario, SeenFrom, SegmentRow, Throughput,
};
use wirelap_correlate::{
    Counts, Group, Process as TracedProcess, Rate, Scheduling as TracedScheduling, SegmentStat,
    Snapshot, Trust as SnapshotTrust,
};
use wirelap_events::Saturate;
use wirelap_events::{Nanos, Probe};

/// A snapshot as a report of a live run, with all its rows as results.
pub fn run_report(snapshot: &Snapshot) -> RunReport {
    RunReport {
        schema: RUN_SCHEMA.to_owned(),
        partial: false,
        incomplete: None,
        machine_key: None,
        environment: Environment::default(),
        scenario: Scenario {
            name: None,
            settings: std::collections::BTreeMap::default(),
            kind: RunKind::Live,
            pacing: Pacing::Foreign,
            middlewares: vec![],
            payload_bytes: vec![],
            rate_msg_per_s: None,
            rates_msg_per_s: vec![],
            messages: None,
            duration_s: Some((snapshot.at - snapshot.since).as_secs_f64()),
            warmup: 0,
            repeat: 1,
            topology: None,
            ab: None,
            pin: vec![],
            links: None,
            order: vec![],
        },
        results: results(snapshot),
        hooks: vec![],
        skipped: vec![],
        notes: words::snapshot_notes(snapshot),
        saturation_msg_per_s: vec![],
        slow_subscribers: ReportedSlowSubscribers::of(snapshot),
        breakdown: ReportedBreakdown::of(snapshot),
        unknown: (&snapshot.unknown).into(),
        hosts: snapshot.hosts.iter().map(ObservedHost::from).collect(),
        ros2: Ros2::of(&snapshot.ros),
    }
}

/// Every row of a snapshot as a result, with the messages that the trace itself counted.
pub fn results(snapshot: &Snapshot) -> Vec<RunResult> {
    snapshot.groups.iter().map(|group| result(group, &snapshot.trust)).collect()
}

/// A row of a snapshot as a result.
pub fn result(group: &Group, trust: &SnapshotTrust) -> RunResult {
    let processes: Vec<_> = group.processes.iter().map(ReportedProcess::from).collect();
    let mut result = RunResult {
        middleware: group.middleware.clone(),
        broker: group.broker.clone(),
        payload_bytes: group.payload_bytes,
        messages: group.messages.into(),
        throughput: group.rate.into(),
        latency: Latency {
            one_way_ns: group.one_way.into(),
            clock_error_ns: (group.one_way_error.count > 0).then(|| group.one_way_error.into()),
            ..Latency::default()
        },
        view: SeenFrom::of(group)
            .map(|view| if trust.packets_only { SeenFrom::Capture } else { view }),
        partial_sight: group.partial.as_deref().map(ReportedPartial::from),
        requests: group.requests.as_deref().and_then(ReportedLocalRequests::of),
        segments: group.segments.iter().map(SegmentRow::from).collect(),
        sched_gap_ns: group.sched_gap.into(),
        overhead: (&group.overhead).into(),
        why: ReportedWhy::of(&group.why, &processes),
        processes,
        trust: ReportedTrust {
            coverage: group.coverage,
            uncaptured_bytes: group.holes.uncaptured_bytes,
            undecoded_bytes: group.holes.undecoded_bytes,
            unread_messages: group.holes.unread_messages,
            unread_packets: group.holes.unread_packets,
            unseen_sent: group.holes.sent.into(),
            unseen_received: group.holes.received.into(),
            unfinished: group.holes.unfinished_messages,
            encrypted_connections: group.holes.encrypted_connections,
            ..ReportedTrust::from(trust).with_uncertain(group.uncertain)
        },
        muted: group.muted.map(ReportedMuted::from),
        notes: words::group_notes(group),
        ..RunResult::default()
    };
    result.judge();
    result
}

impl From<Counts> for MessageCounts {
    fn from(counts: Counts) -> MessageCounts {
        MessageCounts {
            sent: counts.sent,
            delivered: counts.delivered,
            expected: None,
            matched: counts.matched,
            uncovered: counts.uncovered,
            never_read: counts.never_read,
            cut: counts.cut,
            unfinished: counts.unfinished,
            duplicates: counts.duplicates,
            retained: counts.retained,
            warmup: counts.warmup,
        }
    }
}

impl From<Rate> for Throughput {
    fn from(rate: Rate) -> Throughput {
        Throughput {
            msg_per_s: rate.msg_per_s,
            payload_bit_per_s: rate.payload_bit_per_s,
            relative_error: (rate.error > 0.0).then(|| rate.error.min(1.0)),
        }
    }
}

impl From<&SegmentStat> for SegmentRow {
    fn from(stat: &SegmentStat) -> SegmentRow {
        SegmentRow {
            leg: stat.leg,
            segment: stat.segment.name().to_owned(),
            p50_ns: stat.p50.0,
            p99_ns: stat.p99.0,
            share: stat.share,
            total_ns: None,
            count: stat.count,
            clock_error_ns: (stat.error > Nanos(0)).then_some(stat.error.0),
        }
    }
}

impl From<&TracedProcess> for ReportedProcess {
    fn from(process: &TracedProcess) -> ReportedProcess {
        ReportedProcess {
            role: process.role.clone(),
            pid: process.pid.number(),
            host: host(process.pid),
            name: process.comm.clone(),
            cpu_share: process.cpu_share,
            rss_bytes: process.rss_bytes,
            scheduling: ReportedScheduling::of(process.scheduling),
            container: process.place.container().map(ReportedContainer::from),
            container_unknown: container::unknown(&process.place),
            network_namespace: process.namespace.as_ref().map(ReportedNetworkNamespace::from),
            unix_clients: process.unix.clone().map(ReportedUnixClients::from),
        }
    }
}

impl From<wirelap_correlate::UnixClients> for ReportedUnixClients {
    fn from(clients: wirelap_correlate::UnixClients) -> ReportedUnixClients {
        let wirelap_correlate::UnixClients { path, connections } = clients;
        ReportedUnixClients { path, connections }
    }
}

impl ReportedScheduling {
    /// The scheduling of a process; `None` if no context switch was traced.
    pub fn of(seen: TracedScheduling) -> Option<ReportedScheduling> {
        (seen != TracedScheduling::default()).then(|| ReportedScheduling {
            run_queue_ns: seen.run_queue.into(),
            sleeps: seen.sleeps,
            preemptions: seen.preemptions,
            migrations: seen.migrations,
        })
    }
}

impl From<&SnapshotTrust> for ReportedTrust {
    fn from(trust: &SnapshotTrust) -> ReportedTrust {
        let mut events_lost: std::collections::BTreeMap<String, u64> =
            Probe::ALL.into_iter().map(|probe| (probe.name().to_owned(), 0)).collect();
        for loss in &trust.events_lost {
            events_lost.entry(loss.probe.name().to_owned()).or_default().grow(loss.count);
        }
        ReportedTrust {
            coverage: trust.coverage,
            packets_only: trust.packets_only,
            events_lost,
            skipped_runs: trust.skipped_runs,
            stated_losses: trust.stated_losses,
            fragmented_datagrams: trust.fragmented_datagrams,
            late_events: trust.late_events,
            events: trust.events,
            uncaptured_bytes: trust.uncaptured_bytes,
            undecoded_bytes: trust.undecoded_bytes,
            unread_messages: trust.unread_messages,
            unread_packets: trust.unread_packets,
            unseen_sent: trust.unseen_sent.into(),
            unseen_received: trust.unseen_received.into(),
            evicted: trust.evicted,
            window_share: trust.window_share,
            telescoping_violations: 0,
            tracer: ReportedTracerCost {
                cpu_share: trust.tracer.cpu_share,
                rss_bytes: trust.tracer.rss_bytes,
                ring_bytes: trust.tracer.ring_bytes,
                slowdown: None,
                slowdown_unknown: None,
            },
            clocks: None,
            detail: trust.detail.into(),
            budget: trust.budget.map(Into::into),
            ..ReportedTrust::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wirelap_correlate::{Overhead as Ledger, ProbeLoss};

    fn snapshot() -> Snapshot {
        let ledger = Ledger {
            payload: 1280,
            protocol: 200,
            control: 20,
            transport: 640,
            network: 400,
            link: 280,
            deliveries: 10,
            packets: 20,
            ..Ledger::default()
        };
        Snapshot {
            groups: vec![Group {
                middleware: "mqtt".into(),
                broker: Some("mosquitto".into()),
                messages: Counts { sent: 10, delivered: 10, matched: 9, ..Counts::default() },
                overhead: ledger,
                coverage: 0.9,
                ..Group::default()
            }],
            trust: SnapshotTrust {
                events_lost: vec![ProbeLoss { probe: Probe::Rx, count: 3 }],
                window_share: 1.0,
                ..SnapshotTrust::default()
            },
            ..Snapshot::default()
        }
    }

    #[test]
    fn bytes_add_up_to_the_devices() {
        let overhead = &results(&snapshot())[0].overhead;
        let sum = overhead.per_message_bytes.total() * overhead.deliveries as f64;
        assert!((sum - overhead.total_bytes as f64).abs() < 1e-6);
        assert!((overhead.ratio - 2820.0 / 1280.0).abs() < 1e-12);
    }

    #[test]
    fn every_probe_is_listed_and_losses_are_kept() {
        let trust = &results(&snapshot())[0].trust;
        assert_eq!(trust.events_lost.len(), Probe::ALL.len());
        assert_eq!((trust.events_lost["rx"], trust.lost()), (3, 3));
        assert!((trust.coverage - 0.9).abs() < 1e-12);
    }
}
