//! Any snapshot, whatever its names and numbers.

use proptest::prelude::*;
use wirelap_correlate::snapshot::{
    Breakdown, BreakdownRow, Cause, Counts, Detail, Framed, Group, GroupNote, HistoryPoint,
    HolderShare, Holes, Lag, LagHolder, Muted, MutedExtent, OperationCost, Overdue, Overhead, Part,
    Period, ProbeLoss, Process, Rate, RateSums, Refusal, Refusals, Scheduling, SegmentStat,
    Severity, SlowSubscriber, SlowSubscribers, Snapshot, SnapshotNote, Summary, Tail, TailRow,
    Trust, UncertainCounts, UnixClients, Unknown, UnknownTraffic, Unseen, Verdict, VerdictKind,
    Whereabouts, Why, WorstMessage,
};
use wirelap_correlate::{Circumstance, Clause, CpuHolders, Dimension, ForeignName, Remedy};
use wirelap_events::{
    Circumstances, Comm, Cpu, Delivery, FlowKey, FlowRange, GroupId, Holder, Hop, Leg, MessageId,
    MessageTrace, Nanos, NetNs, Pid, Probe, Segment, Stage, StageTimes, TaskId, Tid, Transport,
};

fn float() -> impl Strategy<Value = f64> {
    prop_oneof![
        -2.0..2.0f64,
        0.0..1e12f64,
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
        Just(f64::MAX),
    ]
}

fn count() -> impl Strategy<Value = u64> {
    // Sums of a few must not overflow: counters of a lifetime are far below.
    prop_oneof![Just(0), 0u64..1000, Just(u64::MAX >> 10)]
}

fn nanos() -> impl Strategy<Value = Nanos> {
    prop_oneof![Just(0), 0u64..1_000_000, any::<u64>()].prop_map(Nanos)
}

prop_compose! {
    fn summary()(count in count(), times in prop::array::uniform6(nanos())) -> Summary {
        let [min, p50, p90, p99, p999, max] = times;
        Summary { count, min, p50, p90, p99, p999, max }
    }
}

prop_compose! {
    fn segment()(
        leg: u8, kind in prop::sample::select(&Segment::ALL[..]), p50 in nanos(), p99 in nanos(),
        share in float(), count in count(),
    ) -> SegmentStat {
        SegmentStat { leg, segment: kind, p50, p99, share, count, error: p50 }
    }
}

prop_compose! {
    fn process()(
        role in ".{0,30}", comm in any::<String>(), pid: u32,
        cpu_share in prop::option::of(float()), rss_bytes in prop::option::of(any::<u64>()),
        run_queue in summary(), switches in prop::array::uniform3(any::<u64>()),
        unix in prop::option::of((any::<String>(), any::<u64>())),
    ) -> Process {
        let [sleeps, preemptions, migrations] = switches;
        let scheduling = Scheduling { run_queue, sleeps, preemptions, migrations };
        let unix = unix.map(|(path, connections)| UnixClients { path, connections });
        Process { role, pid: Pid(pid), comm, cpu_share, rss_bytes, ended: pid % 2 == 0, scheduling, unix, ..Process::default() }
    }
}

prop_compose! {
    fn overhead()(bytes in prop::array::uniform10(count())) -> Overhead {
        let [payload, protocol, control, opaque, transport, network, link, retransmitted, deliveries, packets] = bytes;
        let mut detail = Detail::default();
        for (part, bytes) in Part::ALL.into_iter().zip(bytes.into_iter().cycle()) {
            detail.legs[1][part] = bytes;
            detail.legs[2][part] = payload;
        }
        for (cost, bytes) in detail.operations.iter_mut().zip(bytes) {
            *cost = OperationCost { count: deliveries, bytes };
        }
        detail.framed = Framed { frames: packets, bytes: payload };
        detail.retransmissions = retransmitted;
        Overhead { payload, protocol, control, opaque, transport, network, link, retransmitted, deliveries, packets, detail }
    }
}

prop_compose! {
    fn point()(delivered: u64, one_way_p50 in nanos(), one_way_p99 in nanos()) -> HistoryPoint {
        HistoryPoint { delivered, one_way_p50, one_way_p99 }
    }
}

fn comm() -> impl Strategy<Value = Comm> {
    any::<[u8; 16]>().prop_map(Comm)
}

fn task() -> impl Strategy<Value = TaskId> {
    (any::<u32>(), 0u32..3).prop_map(|(pid, tid)| TaskId { pid: Pid(pid), tid: Tid(tid) })
}

fn kind() -> impl Strategy<Value = VerdictKind> {
    prop::sample::select(&VerdictKind::ALL[..])
}

fn any_segment() -> impl Strategy<Value = Segment> {
    prop::sample::select(&Segment::ALL[..])
}

/// Whatever names and numbers it has.
fn clause() -> impl Strategy<Value = Clause> {
    let named = prop::collection::vec(((any::<u32>().prop_map(Pid), comm()), float()), 0..3);
    prop_oneof![
        (named, prop::option::of((any::<usize>(), float())))
            .prop_map(|(named, more)| Clause::CpuHeld { by: CpuHolders::Foreign, named, more }),
        (count(), count(), nanos(), nanos())
            .prop_map(|(hits, messages, each, most)| Clause::Hits { hits, messages, each, most }),
        float().prop_map(Clause::NotAtWork),
    ]
}

fn remedy() -> impl Strategy<Value = Remedy> {
    let usual = (any_segment(), any::<bool>()).prop_map(|(segment, at_broker)| {
        Remedy::Usual(Circumstance { at_broker, ..Circumstance::in_segment(segment) })
    });
    prop_oneof![usual, Just(Remedy::None), Just(Remedy::CpuLimit(None))]
}

prop_compose! {
    fn verdict()(
        kind in kind(), problem: bool, leg in prop::option::of(any::<u8>()),
        segment in prop::option::of(any_segment()), process in prop::option::of((task(), comm())),
        times in prop::array::uniform2(nanos()), shares in prop::array::uniform2(float()),
        evidence in prop::collection::vec(clause(), 0..4), remedy in remedy(),
        slow_messages in count(), period in prop::option::of((nanos(), prop::option::of(nanos()), any::<u32>())),
        open in prop::option::of((count(), nanos())),
    ) -> Verdict {
        Verdict {
            kind, leg, segment, process, evidence, remedy, culprits: vec![], is_at_proxy: problem,
            severity: if problem { Severity::Problem } else { Severity::Note },
            median: times[0], tail: times[1], median_share: shares[0], tail_share: shares[1],
            slow_messages, slow: times[0], slow_share: shares[1],
            period: period.map(|(began, ended, times)| Period { began, ended, times }),
            open: open.map(|(messages, oldest)| Overdue {
                messages, oldest, place: Whereabouts::Broker, leg: 1, process, activity: None,
                are_seen_there: true, is_for_busy_readers: messages % 2 == 0,
            }),
        }
    }
}

prop_compose! {
    fn tail_row()(
        leg: u8, segment in any_segment(), kind in prop::option::of(kind()), excess_ns: i64, share in float(),
    ) -> TailRow {
        TailRow { leg, segment, cause: kind.map_or(Cause::Ordinary, Cause::Of), excess_ns, share }
    }
}

prop_compose! {
    fn tail()(
        share in float(), messages in count(), least in nanos(), excess in nanos(),
        rows in prop::collection::vec(tail_row(), 0..12),
    ) -> Tail {
        Tail { share, messages, least, excess, rows }
    }
}

prop_compose! {
    fn hop()(task in task(), culprit in task(), comm in comm(), times in prop::array::uniform3(nanos())) -> Hop {
        let [woken, running, held] = times;
        let cpu = (culprit.pid.0 % 2 == 0).then_some(Cpu(u16::try_from(task.pid.0 % 5_000).unwrap()));
        Hop { task, woken, running, cpu, holder: Holder { task: culprit, comm, held }, ..Hop::default() }
    }
}

prop_compose! {
    fn leg()(
        times in prop::collection::vec(prop::option::of(nanos()), Stage::ALL.len()),
        chain in prop::collection::vec(hop(), 0..4), before in prop::collection::vec(hop(), 0..4),
        ends in prop::array::uniform2(any::<std::net::SocketAddr>()),
    ) -> Leg {
        // Time never runs backwards in what the correlator hands out.
        let mut seen: Vec<Nanos> = times.iter().flatten().copied().collect();
        seen.sort_unstable();
        let mut seen = seen.into_iter();
        let mut stages = StageTimes::default();
        for (stage, at) in Stage::ALL.into_iter().zip(times) {
            let at = at.and_then(|_| seen.next());
            if let Some(at) = at {
                stages.set(stage, at);
            }
        }
        Leg {
            flow: FlowKey::new(Transport::Tcp, ends[0], ends[1], NetNs(0)),
            from: None, to: None, sender: ends[0].is_ipv4().then_some(TaskId { pid: Pid(7), tid: Tid(1) }),
            reader: ends[1].is_ipv4().then_some(TaskId { pid: Pid(7), tid: Tid(2) }), times: stages,
            chain: chain.into_iter().collect(), before: before.into_iter().collect(),
            flow_range: FlowRange::default(),
            circumstances: Circumstances::default(),
        }
    }
}

prop_compose! {
    fn worst()(one_way in nanos(), legs in prop::collection::vec(leg(), 1..=4)) -> WorstMessage {
        let delivery = Delivery {
            message: MessageId(one_way.0), group: GroupId(0), stamp: None, payload_len: 64, topic: None, trace: MessageTrace::default(), clock_error: Nanos(0),
            legs: legs.into_iter().collect(), off_cpu: [].into_iter().collect(),
        };
        WorstMessage { delivery, one_way }
    }
}

prop_compose! {
    fn why()(
        messages in count(), verdicts in prop::collection::vec(verdict(), 0..4),
        tails in prop::collection::vec(tail(), 0..3), worst in prop::collection::vec(worst(), 0..4),
        holders in prop::collection::vec((task(), comm(), nanos(), any::<u64>()), 0..4),
    ) -> Why {
        let holder = |(task, comm, held, waits)| HolderShare { task, comm, held, waits };
        let holders = holders.into_iter().map(holder).collect();
        Why { messages, verdicts, tails, worst, holders, ..Why::default() }
    }
}

fn group_note() -> impl Strategy<Value = GroupNote> {
    prop_oneof![
        count().prop_map(|legs| GroupNote::PacketNotSeen { legs }),
        count().prop_map(|replies| GroupNote::Superseded { replies }),
        (count(), count()).prop_map(|(to_broker, from_broker)| GroupNote::UnreadBatches {
            to_broker,
            from_broker,
        }),
        any::<u32>().prop_map(|domain| GroupNote::Domain { domain }),
    ]
}

prop_compose! {
    /// Names of servers and processes are whatever a stranger chose.
    fn traffic()(
        is_named in any::<bool>(), names in prop::array::uniform4(any::<String>()), counts in prop::array::uniform3(count()),
        endpoint in prop::option::of(any::<std::net::SocketAddr>()), flags in prop::array::uniform3(any::<bool>()),
        bit_per_s in float(),
    ) -> UnknownTraffic {
        let [server_name, inside, server, client] = names;
        let protocol = is_named.then(|| ForeignName {
            protocol: "TLS",
            server_name: Some(server_name.into()),
            inside: Some(inside.into()),
            is_encrypted: flags[0],
            ..ForeignName::default()
        });
        let [connections, bytes_to_server, bytes_from_server] = counts;
        UnknownTraffic {
            protocol, endpoint, connections, bytes_to_server, bytes_from_server, bit_per_s,
            is_udp: flags[1], joined_late: flags[2], server: Some(server), clients: vec![client],
            ..UnknownTraffic::default()
        }
    }
}

prop_compose! {
    fn group()(
        id in 0u32..6, middleware in any::<String>(), broker in prop::option::of(".{0,60}"),
        endpoint in prop::option::of(any::<std::net::SocketAddr>()), counts in prop::array::uniform6(count()),
        rates in prop::array::uniform4(float()),
    )(
        one_way in summary(), one_way_error in summary(), sched_gap in summary(), overhead in overhead(), coverage in float(),
        segments in prop::collection::vec(segment(), 0..30),
        processes in prop::collection::vec(process(), 0..4),
        history in prop::collection::vec(point(), 0..130),
        notes in prop::collection::vec(group_note(), 0..3), why in why(),
        fixed in Just((id, middleware, broker, endpoint, counts, rates)),
    ) -> Group {
        let (id, middleware, broker, endpoint, counts, rates) = fixed;
        let [sent, delivered, matched, uncovered, duplicates, warmup] = counts;
        let retained = duplicates / 2;
        let [msg, bit, msg_now, bit_now] = rates;
        Group {
            id: GroupId(id), middleware, broker, endpoint,
            messages: Counts { sent, delivered, matched, uncovered, never_read: warmup / 2, cut: uncovered / 2, unfinished: uncovered, duplicates, retained, warmup },
            rate: Rate { msg_per_s: msg, payload_bit_per_s: bit, error: 0.0 },
            rate_sums: RateSums::default(),
            rate_active: Rate { msg_per_s: msg, payload_bit_per_s: bit, error: 0.0 },
            rate_now: Rate { msg_per_s: msg_now, payload_bit_per_s: bit_now, error: bit },
            payload_bytes: counts[0], one_way, one_way_error, sched_gap, segments, overhead, processes, history,
            coverage, notes, why,
            uncertain: UncertainCounts {
                without_send: retained, to_unseen_readers: delivered, read_twice: uncovered, cut_short: sent, superseded: 0,
                encrypted: uncovered, unseen_pairs: 0, unannounced: 0, nameless: sent, guessed: uncovered,
                perhaps_read: uncovered,
            },
            shared_names: Vec::new(),
            refusals: Refusals { listed: vec![Refusal { reason: "any \u{9b}reason".into(), times: sent }], more: matched },
            partial: None,
            requests: None,
            muted: (duplicates % 3 > 0).then_some(Muted { now: duplicates % 3 == 1, time: Nanos(sent) }),
            holes: Holes {
                sent: Unseen { packets: duplicates, bytes: sent },
                received: Unseen { packets: matched, bytes: delivered },
                uncaptured_bytes: warmup, undecoded_bytes: uncovered, unread_messages: retained, unfinished_messages: retained, unread_packets: sent,
                encrypted_connections: matched,
            },
        }
    }
}

prop_compose! {
    fn by_name()(
        names in prop::collection::vec(prop::option::of(any::<String>()), 2), counts in prop::array::uniform3(count()),
        one_way in summary(),
        muted in prop::sample::select(&[MutedExtent::None, MutedExtent::Part, MutedExtent::Whole][..]),
    ) -> BreakdownRow {
        let [sent, delivered, payload_bytes] = counts;
        let clock_error = one_way.p50;
        BreakdownRow { names, sent, delivered, matched: delivered, payload_bytes, one_way, clock_error, muted }
    }
}

prop_compose! {
    fn slow()(
        names in prop::array::uniform3(prop::option::of(any::<String>())), counts in prop::array::uniform3(count()),
        times in prop::array::uniform2(nanos()), is_now: bool,
    ) -> SlowSubscriber {
        let [unsent, in_network, unread] = counts;
        let [client, process, topic] = names;
        let lag = Lag { unsent, in_network, unread, oldest: times[0], holder: LagHolder::Network };
        SlowSubscriber {
            group: GroupId(0), client, process, address: ([127, 0, 0, 1], 1883).into(), topic,
            now: is_now.then_some(lag), most: lag, most_at: times[1],
        }
    }
}

prop_compose! {
    pub fn snapshot()(
        at in nanos(), since in nanos(), skipped_runs in count(), groups in prop::collection::vec(group(), 0..6),
        coverage in float(), window_share in float(), lost in count(), bytes in count(),
        unknown_sockets in prop::option::of(count()), breakdown in prop::option::of(prop::collection::vec(by_name(), 0..30)),
        slow in prop::collection::vec(slow(), 0..5), traffic in prop::collection::vec(traffic(), 0..7),
    ) -> Snapshot {
        let trust = Trust {
            coverage, window_share, events: bytes, uncaptured_bytes: bytes, undecoded_bytes: lost,
            events_lost: vec![ProbeLoss { probe: Probe::Rx, count: lost }], evicted: bytes,
            unseen_sent: Unseen { packets: lost, bytes }, unseen_received: Unseen { packets: bytes, bytes: lost },
            skipped_runs,
            fragmented_datagrams: skipped_runs,
            late_events: skipped_runs,
            ..Trust::default()
        };
        let notes = unknown_sockets.map(|events| SnapshotNote::UnknownSockets { events });
        let unknown = Unknown {
            rows: traffic,
            other_connections: lost,
            other_bytes: bytes,
            muted_sockets: lost,
        };
        let notes = notes.into_iter().collect();
        let by = [Dimension::Topic, Dimension::Client];
        let breakdown = breakdown.map(|rows| Breakdown {
            by: by.to_vec(),
            since,
            rest: rows.first().cloned().unwrap_or_default(),
            rest_rows: rows.len() as u64,
            rows,
            ..Breakdown::default()
        });
        let slow = SlowSubscribers { behind: slow.len() as u64, more: 3, listed: slow };
        Snapshot { at, since, groups, breakdown, slow, trust, notes, unknown, ..Snapshot::default() }
    }
}
