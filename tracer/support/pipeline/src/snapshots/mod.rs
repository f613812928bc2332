//! Snapshots made up for tests and for looking at the screen by hand.

#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "made-up figures")]

mod scheduled;
mod why;

pub use scheduled::scheduled;

use wirelap_correlate::snapshot::{
    Counts, Detail, Framed, Group, GroupNote, HistoryPoint, Operation, OperationCost, Overhead,
    Part, ProbeEvents, ProbeLoss, Process, Rate, Scheduling, SegmentStat, SlowSubscribers,
    Snapshot, SnapshotNote, Summary, TracerCost, TracingBudget, Trust, Why,
};
use wirelap_events::{GroupId, Nanos, Pid, Probe, Segment};

/// A made-up middleware: its name, broker, median latency in ns and segments (leg, segment, weight).
struct Shape {
    middleware: &'static str,
    broker: Option<&'static str>,
    port: u16,
    p50: u64,
    segments: &'static [(u8, Segment, u32)],
}

const DIRECT: &[(u8, Segment, u32)] = &[
    (1, Segment::SocketTx, 18),
    (1, Segment::Qdisc, 3),
    (1, Segment::Wire, 9),
    (1, Segment::StackRx, 12),
    (1, Segment::Wakeup, 14),
    (1, Segment::RunQueue, 31),
    (1, Segment::Read, 13),
];

const BROKERED: &[(u8, Segment, u32)] = &[
    (1, Segment::SocketTx, 8),
    (1, Segment::Wire, 4),
    (1, Segment::StackRx, 5),
    (1, Segment::Wakeup, 6),
    (1, Segment::RunQueue, 13),
    (1, Segment::Read, 6),
    (2, Segment::BrokerDwell, 22),
    (2, Segment::SocketTx, 7),
    (2, Segment::Wire, 4),
    (2, Segment::StackRx, 4),
    (2, Segment::Wakeup, 5),
    (2, Segment::RunQueue, 10),
    (2, Segment::Read, 6),
];

const BUSY: &[(u8, Segment, u32)] = &[
    (1, Segment::Write, 6),
    (1, Segment::SocketTx, 12),
    (1, Segment::Wire, 10),
    (1, Segment::StackRx, 14),
    (1, Segment::Handoff, 13),
    (1, Segment::Busy, 45),
];

const SHAPES: [Shape; 5] = [
    Shape { middleware: "tcp", broker: None, port: 40007, p50: 13_100, segments: DIRECT },
    Shape { middleware: "udp", broker: None, port: 40008, p50: 11_900, segments: DIRECT },
    Shape {
        middleware: "mqtt",
        broker: Some("mosquitto"),
        port: 1883,
        p50: 48_100,
        segments: BROKERED,
    },
    Shape { middleware: "zenoh-p2p", broker: None, port: 7447, p50: 31_400, segments: BUSY },
    Shape { middleware: "dds", broker: None, port: 7411, p50: 38_800, segments: DIRECT },
];

/// Five middlewares after `seconds`, everything followed.
pub fn five(seconds: u64) -> Snapshot {
    let groups = SHAPES.iter().zip(0..).map(|(shape, id)| group(shape, id, seconds)).collect();
    Snapshot {
        at: Nanos::from_millis(1_000 * (seconds + 100)),
        since: Nanos::from_millis(100_000),
        groups,
        united: Vec::new(),
        breakdown: None,
        ros: wirelap_correlate::Ros::default(),
        slow: SlowSubscribers::default(),
        unix_servers: Vec::new(),
        hosts: Vec::new(),
        trust: trust(seconds * 260_000),
        unknown: wirelap_correlate::Unknown::default(),
        notes: Vec::new(),
    }
}

/// Nothing seen, though `events` came.
pub fn empty(events: u64) -> Snapshot {
    Snapshot {
        at: Nanos::from_millis(7_000),
        trust: Trust { window_share: 1.0, coverage: 1.0, ..trust(events) },
        ..Snapshot::default()
    }
}

/// Five middlewares of which much was missed.
pub fn degraded() -> Snapshot {
    let mut snapshot = five(83);
    snapshot.trust.coverage = 0.9724;
    snapshot.trust.events_lost = vec![
        ProbeLoss { probe: Probe::Xmit, count: 1_200 },
        ProbeLoss { probe: Probe::Sched, count: 34 },
    ];
    snapshot.trust.window_share = 0.1;
    snapshot.trust.budget =
        Some(TracingBudget { share: Some(0.01), own: 0.0082, probes: Some(0.0097) });
    snapshot.trust.uncaptured_bytes = 5 << 20;
    snapshot.notes = vec![SnapshotNote::UnknownSockets { events: 12 }];
    let mqtt = &mut snapshot.groups[2];
    mqtt.coverage = 0.931;
    mqtt.messages.uncovered = 11_454;
    mqtt.messages.matched = mqtt.messages.delivered.saturating_sub(11_454);
    mqtt.notes = vec![GroupNote::PacketNotSeen { legs: 3 }];
    let dds = &mut snapshot.groups[4].messages;
    (dds.matched, dds.uncovered) = (0, dds.delivered);
    snapshot.groups[4].one_way = Summary::default();
    snapshot.groups[4].segments.clear();
    snapshot.groups[4].why = Why::default();
    snapshot
}

/// `rows` copies of the five with long and wide names.
pub fn many(rows: u32) -> Snapshot {
    let mut snapshot = five(9);
    let shapes: Vec<Group> = snapshot.groups.clone();
    snapshot.groups = (0..rows)
        .map(|id| {
            let mut group = shapes[id as usize % shapes.len()].clone();
            group.id = GroupId(id);
            group.middleware = match id % 3 {
                0 => format!("{} number {id} with a name that goes on", group.middleware),
                1 => format!("中間件-{id}-メッセージ"),
                _ => format!("{}-{id}", group.middleware),
            };
            group
        })
        .collect();
    snapshot
}

fn group(shape: &Shape, id: u32, seconds: u64) -> Group {
    let rate = 26_000_000.0 / shape.p50 as f64;
    let delivered = (rate * seconds as f64) as u64;
    Group {
        id: GroupId(id),
        middleware: shape.middleware.into(),
        broker: shape.broker.map(Into::into),
        endpoint: Some(([127, 0, 0, 1], shape.port).into()),
        messages: Counts { sent: delivered, delivered, matched: delivered, ..Counts::default() },
        rate: Rate { msg_per_s: rate, payload_bit_per_s: rate * 512.0, error: 0.0 },
        rate_active: Rate { msg_per_s: rate, payload_bit_per_s: rate * 512.0, error: 0.0 },
        rate_now: Rate { msg_per_s: rate * 1.02, payload_bit_per_s: rate * 522.0, error: 0.0 },
        payload_bytes: 64,
        one_way: summary(shape.p50, delivered),
        sched_gap: summary(shape.p50 * 2 / 5, delivered),
        segments: segments(shape, delivered),
        overhead: overhead(delivered, shape.broker.is_some()),
        why: match shape.broker {
            Some(_) => why::contended(delivered),
            None => why::healthy(delivered),
        },
        processes: processes(shape, id),
        history: (0..seconds.min(120)).map(|second| history(shape.p50, rate, second)).collect(),
        coverage: 1.0,
        ..Group::default()
    }
}

fn summary(p50: u64, count: u64) -> Summary {
    let at = |factor: f64| Nanos((p50 as f64 * factor) as u64);
    Summary {
        count,
        min: at(0.7),
        p50: at(1.0),
        p90: at(1.4),
        p99: at(2.6),
        p999: at(9.0),
        max: at(71.0),
    }
}

fn segments(shape: &Shape, count: u64) -> Vec<SegmentStat> {
    let total: u32 = shape.segments.iter().map(|(_, _, weight)| weight).sum();
    let stat = |&(leg, segment, weight): &(u8, Segment, u32)| {
        let share = f64::from(weight) / f64::from(total);
        let p50 = (shape.p50 as f64 * share) as u64;
        SegmentStat {
            leg,
            segment,
            p50: Nanos(p50),
            p99: Nanos(p50 * 3),
            share,
            count,
            error: Nanos(0),
        }
    };
    shape.segments.iter().map(stat).collect()
}

fn overhead(deliveries: u64, brokered: bool) -> Overhead {
    let legs = if brokered { 2 } else { 1 };
    let each = |bytes: u64| bytes * legs * deliveries;
    let mut detail =
        Detail { framed: Framed { frames: each(1), bytes: each(149) }, ..Detail::default() };
    for leg in &mut detail.legs[1..=usize::try_from(legs).unwrap()] {
        for (part, bytes) in [
            (Part::Payload, 64),
            (Part::Header, 14),
            (Part::KeepAlive, 1),
            (Part::Transport, 30),
            (Part::Network, 19),
            (Part::Link, 13),
            (Part::PureAck, 4),
        ] {
            leg[part] = bytes * deliveries;
        }
    }
    for (operation, count, bytes) in [
        (Operation::Open, 1, 32),
        (Operation::Publish, legs * deliveries, each(14)),
        (Operation::KeepAlive, legs * deliveries / 2, each(1)),
    ] {
        detail.operations[operation as usize] = OperationCost { count, bytes };
    }
    Overhead {
        detail,
        payload: each(64),
        protocol: each(14),
        control: each(1),
        opaque: 0,
        transport: each(32),
        network: each(20),
        link: each(14),
        retransmitted: 0,
        deliveries,
        packets: legs * deliveries,
    }
}

fn processes(shape: &Shape, id: u32) -> Vec<Process> {
    let named = |role: &str, comm: &str, pid| Process {
        role: role.into(),
        pid: Pid(pid),
        comm: comm.into(),
        cpu_share: Some(0.21),
        rss_bytes: Some(9 << 20),
        ended: false,
        scheduling: Scheduling {
            run_queue: summary(6_200, 44_864),
            sleeps: 44_864,
            preemptions: 12,
            migrations: 3,
        },
        unix: None,
        ..Process::default()
    };
    let mut processes = vec![named("publisher", "wirelap-workloa", 4_000 + id * 10)];
    processes.extend(shape.broker.map(|broker| named("broker", broker, 4_001 + id * 10)));
    processes.push(Process {
        cpu_share: None,
        rss_bytes: None,
        ended: true,
        ..named("subscriber", "wirelap-workloa", 4_002 + id * 10)
    });
    processes
}

/// A wave, so that the lines have a shape.
fn history(p50: u64, rate: f64, second: u64) -> HistoryPoint {
    let wave = 1.0 + 0.5 * (second as f64 / 5.0).sin();
    let one_way_p50 = Nanos((p50 as f64 * wave) as u64);
    HistoryPoint {
        delivered: (rate / wave) as u64,
        one_way_p50,
        one_way_p99: Nanos(one_way_p50.0 * 3),
    }
}

/// So many events, as many of each probe as messages usually have.
fn reported(events: u64) -> Vec<ProbeEvents> {
    [(Probe::Send, 15), (Probe::Read, 15), (Probe::Xmit, 20), (Probe::Rx, 20), (Probe::Sched, 30)]
        .map(|(probe, share)| ProbeEvents {
            probe,
            events: events / 100 * share,
            filtered: Some(events / 1_000),
        })
        .to_vec()
}

fn trust(events: u64) -> Trust {
    Trust {
        coverage: 1.0,
        events,
        window_share: 1.0,
        reported: reported(events),
        tracer: TracerCost {
            cpu_share: 0.032,
            rss_bytes: 48 << 20,
            ring_bytes: Some(16 << 20),
            cpu_time: Nanos(events.saturating_mul(120)),
            rss_now_bytes: 46 << 20,
        },
        ..Trust::default()
    }
}
