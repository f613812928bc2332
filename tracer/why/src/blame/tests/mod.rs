//! The causes of messages' times.

mod clocks;
mod dwell;
mod forwarders;
mod others;
mod permits;
mod socket;
mod threads;

use super::{BlameSink, BlamedPart, Cause, VerdictKind, blame};
use wirelap_events::{
    CgroupId, Comm, Holder, Hop, Leg, LegOffCpu, Nagle, Nanos, OffCpu, Pid, Segment, Stage, TaskId,
    Tid, TxState,
};
use wirelap_test_support::delivered;

/// Parts that were blamed, in the order of a message's life.
#[derive(Default)]
struct Found(Vec<(usize, Segment, Cause, u64)>);

impl BlameSink for Found {
    fn part(&mut self, part: BlamedPart<'_>) {
        self.0.push((part.leg, part.segment, part.cause, part.time.0));
    }
}

fn of(kind: VerdictKind) -> Cause {
    Cause::Of(kind)
}

/// A leg that passed these stages, in microseconds.
fn leg(stages: &[(Stage, u64)]) -> Leg {
    let stages: Vec<_> = stages.iter().map(|&(stage, at)| (stage, at * 1_000)).collect();
    delivered::leg(&stages)
}

/// A thread's rest, in microseconds.
fn hop(left: u64, woken: u64, running: u64, holder: u32) -> Hop {
    let [left, woken, running] = [left, woken, running].map(|us| Nanos(us * 1_000));
    let task = TaskId { pid: Pid(holder), tid: Tid(holder) };
    let holder = Holder { task, held: running - woken, ..Holder::default() };
    Hop { left: Some(left), woken, running, from_irq: true, holder, ..Hop::default() }
}

fn blamed(legs: Vec<Leg>) -> Vec<(usize, Segment, Cause, u64)> {
    blamed_with(legs, vec![])
}

fn blamed_with(legs: Vec<Leg>, rests: Vec<LegOffCpu>) -> Vec<(usize, Segment, Cause, u64)> {
    let mut delivery = delivered::delivery(legs);
    delivery.off_cpu = rests.into_iter().collect();
    let mut found = Found::default();
    blame(&delivery, &mut found);
    let sum: u64 = found.0.iter().map(|part| part.3).sum();
    let (first, last) = (&delivery.legs[0].times, &delivery.legs[delivery.legs.len() - 1].times);
    let whole = last.seen().next_back().unwrap().1 - first.seen().next().unwrap().1;
    assert_eq!(Nanos(sum), whole, "parts add up to the whole: {:?}", found.0);
    found.0
}

const QUIET: TxState = TxState {
    in_flight: 64,
    unsent: 0,
    window: 65_536,
    mss: 1448,
    cwnd: 10,
    segments_out: 1,
    nagle: Nagle::On,
    send_buffer: 87_040,
    pacing: 0,
    min_rtt: 0,
};

/// Nothing is under way.
const RESTED: TxState = TxState { in_flight: 0, segments_out: 0, cwnd: 100, ..QUIET };

/// 70 ms without quota and 10 ms behind another.
fn throttled() -> OffCpu {
    let mut rested = OffCpu {
        waited: Nanos(80_000_000),
        throttled: Nanos(70_000_000),
        cgroup: CgroupId(4),
        ..OffCpu::NONE
    };
    let task = TaskId { pid: Pid(9), tid: Tid(9) };
    rested.add_holder(&Holder { task, held: Nanos(10_000_000), ..Holder::default() });
    rested
}

/// 5 ms on a lock, and 1 ms otherwise.
fn held_up() -> OffCpu {
    let task = TaskId { pid: Pid(0), tid: Tid(66) };
    let waker = Holder { task, comm: Comm::from_name("hog"), held: Nanos(4_000_000) };
    let (asleep, locked) = (Nanos(6_000_000), Nanos(5_000_000));
    OffCpu { asleep, locked, waker, ..OffCpu::NONE }
}
