//! Tests of the segments of a leg and of the one-way latency of a delivery.

use super::*;
use crate::{FlowKey, FlowRange, NetNs, StageTimes, Transport};

fn leg(stages: &[(Stage, u64)], chain: &[(u64, u64)]) -> Leg {
    let mut times = StageTimes::default();
    for &(stage, at) in stages {
        times.set(stage, Nanos(at));
    }
    let any = "127.0.0.1:1".parse().unwrap();
    Leg {
        flow: FlowKey::new(Transport::Tcp, any, any, NetNs(0)),
        from: None,
        to: None,
        sender: None,
        reader: None,
        times,
        chain: chain
            .iter()
            .map(|&(woken, running)| Hop {
                woken: Nanos(woken),
                running: Nanos(running),
                ..Hop::default()
            })
            .collect(),
        before: Vec::new(),
        flow_range: FlowRange::default(),
        circumstances: Circumstances::default(),
    }
}

#[test]
fn a_missing_stage_merges_into_the_next() {
    let leg = leg(&[(Stage::Send, 10), (Stage::Xmit, 30), (Stage::Ready, 45)], &[]);
    let segments = leg.segments();
    assert_eq!(segments.get(Segment::SocketTx), None);
    assert_eq!(segments.get(Segment::Qdisc), Some(Nanos(20)));
    assert_eq!(segments.get(Segment::StackRx), Some(Nanos(15)));
    assert_eq!(segments.sum(), Nanos(35));
}

#[test]
fn a_reader_that_did_not_sleep_was_busy() {
    let segments = leg(&[(Stage::Ready, 10), (Stage::Read, 60)], &[]).segments();
    assert_eq!(segments.get(Segment::Busy), Some(Nanos(50)));
    assert_eq!(segments.sched_gap(), None);
}

#[test]
fn a_wake_chain_is_split_at_every_thread() {
    let stages = [(Stage::Ready, 0), (Stage::Wakeup, 5), (Stage::Running, 40), (Stage::Read, 50)];
    let segments = leg(&stages, &[(5, 12), (20, 40)]).segments();
    assert_eq!(segments.get(Segment::Wakeup), Some(Nanos(5)));
    assert_eq!(segments.get(Segment::RunQueue), Some(Nanos(7 + 20)));
    assert_eq!(segments.get(Segment::Handoff), Some(Nanos(8)));
    let waits = leg(&stages, &[(5, 12), (20, 40)]);
    let waits: Vec<_> = waits.run_queue_waits().map(|(_, wait)| wait.0).collect();
    assert_eq!(waits, [7, 20]);
    assert_eq!(segments.get(Segment::Read), Some(Nanos(10)));
    assert_eq!(segments.sum(), Nanos(50));
    let mut spans = Vec::new();
    let leg = leg(&stages, &[(5, 12), (20, 40)]);
    leg.each_span(&mut |s| spans.push((s.from.0, s.to.0, s.hop.map(|hop| hop.woken.0))));
    let expected = [
        (0, 5, None),
        (5, 12, Some(5)),
        (12, 20, Some(5)),
        (20, 40, Some(20)),
        (40, 40, None),
        (40, 50, None),
    ];
    assert_eq!(spans, expected);
}

#[test]
fn one_way_begins_at_the_first_stage_that_was_seen() {
    let mut delivery = Delivery {
        message: MessageId(1),
        group: GroupId(0),
        stamp: None,
        payload_len: 64,
        topic: None,
        trace: MessageTrace::default(),
        clock_error: Nanos(0),
        legs: [leg(&[(Stage::Xmit, 5), (Stage::Read, 9)], &[])].into_iter().collect(),
        off_cpu: ArrayVec::new(),
    };
    assert_eq!(delivery.one_way(), Some(Nanos(4)));
    delivery.legs[0].times.set(Stage::Publish, Nanos(1));
    assert_eq!(delivery.one_way(), Some(Nanos(8)), "its sender's library kept it");
    delivery.legs[0].times.clear(Stage::Read);
    assert_eq!(delivery.one_way(), None);
}

#[test]
fn legs_and_dwell_telescope() {
    let delivery = Delivery {
        message: MessageId(1),
        group: GroupId(0),
        stamp: None,
        payload_len: 64,
        topic: None,
        trace: MessageTrace::default(),
        clock_error: Nanos(0),
        legs: [
            leg(&[(Stage::Send, 100), (Stage::Read, 150)], &[]),
            leg(&[(Stage::Send, 180), (Stage::Read, 400)], &[]),
        ]
        .into_iter()
        .collect(),
        off_cpu: ArrayVec::new(),
    };
    let sum = delivery.segments().fold(Nanos(0), |sum, (_, s)| sum + s.sum());
    assert_eq!(Some(sum), delivery.one_way());
    assert_eq!(sum, Nanos(300));
}
