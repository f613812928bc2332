//! A row with something to explain.

use wirelap_correlate::snapshot::{
    Cause, HolderShare, Severity, Tail, TailRow, Verdict, VerdictKind, Why, WorstMessage,
};
use wirelap_correlate::{Circumstance, Clause, CpuHolders, Remedy};
use wirelap_events::{
    Comm, Delivery, GroupId, Holder, Hop, Leg, MessageId, Nanos, Pid, Segment, Stage, TaskId, Tid,
};
use wirelap_test_support::delivered;

/// Nothing wrong with so many messages.
pub fn healthy(messages: u64) -> Why {
    Why { messages, ..Why::default() }
}

/// A broker that has to share its CPU.
pub fn contended(messages: u64) -> Why {
    let culprit = task(991);
    let row = |leg, segment, cause, share: f64| TailRow {
        leg,
        segment,
        cause,
        excess_ns: (share * 77_000.0) as i64,
        share,
    };
    Why {
        messages,
        verdicts: vec![
            Verdict {
                process: Some((culprit, Comm::from_name("stress-ng-cpu"))),
                median: Nanos(6_250),
                median_share: 0.13,
                tail: Nanos(71_610),
                tail_share: 0.93,
                evidence: vec![
                    Clause::Often {
                        some: 94,
                        messages: 100,
                        median: Nanos(6_250),
                        most: Nanos(3_200_000),
                    },
                    Clause::CpuHeld {
                        by: CpuHolders::Foreign,
                        named: vec![((Pid(991), Comm::from_name("stress-ng-cpu")), 0.94)],
                        more: None,
                    },
                ],
                remedy: Remedy::Usual(Circumstance::in_segment(Segment::RunQueue)),
                ..verdict(VerdictKind::RunQueueContention, Severity::Problem, Segment::RunQueue)
            },
            Verdict {
                evidence: vec![Clause::CpuIdle],
                ..verdict(VerdictKind::IdleWakeup, Severity::Note, Segment::Wakeup)
            },
        ],
        tails: vec![Tail {
            share: 0.01,
            messages: messages / 100,
            least: Nanos(125_000),
            excess: Nanos(77_000),
            rows: vec![
                row(1, Segment::RunQueue, Cause::Of(VerdictKind::RunQueueContention), 0.93),
                row(2, Segment::BrokerDwell, Cause::Ordinary, 0.09),
                row(2, Segment::Read, Cause::Ordinary, -0.02),
            ],
        }],
        worst: vec![worst(1, 3_415_000), worst(2, 2_800_000)],
        holders: vec![HolderShare {
            task: culprit,
            comm: Comm::from_name("stress-ng-cpu"),
            held: Nanos(1_504_000_000),
            waits: 3_988,
        }],
        ..Why::default()
    }
}

fn task(id: u32) -> TaskId {
    TaskId { pid: Pid(id), tid: Tid(id) }
}

fn verdict(kind: VerdictKind, severity: Severity, segment: Segment) -> Verdict {
    Verdict { leg: Some(1), segment: Some(segment), ..Verdict::new(kind, severity) }
}

fn worst(number: u64, waited: u64) -> WorstMessage {
    let stages = [
        (Stage::Send, 0),
        (Stage::Ready, 10_000),
        (Stage::Wakeup, 12_000),
        (Stage::Running, 12_000 + waited),
        (Stage::Read, 20_000 + waited),
    ];
    let holder = Holder {
        task: task(991),
        comm: Comm::from_name("stress-ng-cpu"),
        held: Nanos(waited - 1_000),
    };
    let hop = Hop {
        task: task(4_021),
        woken: Nanos(12_000),
        running: Nanos(12_000 + waited),
        holder,
        ..Hop::default()
    };
    let leg = Leg {
        flow: delivered::flow(1883, 1883),
        sender: Some(task(4_020)),
        reader: Some(task(4_021)),
        chain: vec![hop],
        ..delivered::leg(&stages)
    };
    let delivery =
        Delivery { message: MessageId(number), group: GroupId(2), ..delivered::delivery([leg]) };
    WorstMessage { one_way: Nanos(20_000 + waited), delivery }
}
