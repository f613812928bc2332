//! Waits of threads on their way to a message.

use super::super::{Cause, VerdictKind};
use super::{RESTED, blamed, blamed_with, held_up, hop, leg, of, throttled};
use wirelap_events::{
    Holder, Hop, Leg, LegOffCpu, Nanos, OffCpu, Pid, ReplicaWait, Segment, SleepCall, Stage,
    TaskId, Tid,
};

#[test]
fn a_wait_is_told_by_who_had_the_cpu() {
    let stages = [(Stage::Ready, 0), (Stage::Wakeup, 2), (Stage::Running, 52), (Stage::Read, 60)];
    for (holder, cause) in [(0, VerdictKind::IdleWakeup), (77, VerdictKind::RunQueueContention)] {
        let mut leg = leg(&stages);
        leg.chain.push(hop(0, 2, 52, holder));
        let parts = blamed(vec![leg]);
        assert!(parts.contains(&(0, Segment::RunQueue, of(cause), 50_000)), "{parts:?}");
    }
}

#[test]
fn a_reader_asleep_elsewhere_is_stalled_and_one_at_work_is_busy() {
    let stages =
        [(Stage::Ready, 0), (Stage::Wakeup, 900), (Stage::Running, 902), (Stage::Read, 903)];
    let mut leg = leg(&stages);
    leg.chain.push(hop(300, 900, 902, 0));
    let holder = hop(300, 900, 902, 77).holder;
    let (asleep, waited) = (Nanos(500_000), Nanos(300_000));
    let holder = Holder { held: waited, ..holder };
    let rested = OffCpu { asleep, waited, holder, preemptions: 2, ..OffCpu::NONE };
    let rests = LegOffCpu { before_wakeup: Some(rested), ..LegOffCpu::NONE };
    let parts = blamed_with(vec![leg.clone()], vec![rests]);
    let wakeup = |kind, time| (0, Segment::Wakeup, of(kind), time);
    assert!(parts.contains(&wakeup(VerdictKind::ClientStalled, 500_000)), "{parts:?}");
    assert!(parts.contains(&wakeup(VerdictKind::RunQueueContention, 300_000)), "{parts:?}");
    assert!(parts.contains(&wakeup(VerdictKind::ReaderBusy, 100_000)), "{parts:?}");
    // Of a thread that was not followed only its last rest is known.
    let parts = blamed(vec![leg]);
    assert!(parts.contains(&wakeup(VerdictKind::ClientStalled, 600_000)), "{parts:?}");
    assert!(parts.contains(&(0, Segment::Wakeup, Cause::Ordinary, 300_000)), "{parts:?}");
}

#[test]
fn a_broker_that_leaves_a_publisher_unread_by_its_own_word_is_not_stalled() {
    let stages =
        [(Stage::Ready, 0), (Stage::Wakeup, 900), (Stage::Running, 902), (Stage::Read, 903)];
    let mut first = leg(&stages);
    first.chain.push(hop(0, 900, 902, 0));
    first.circumstances.permission.throttled = Nanos(800_000);
    let second = leg(&[(Stage::Send, 910), (Stage::Read, 920)]);
    let asleep = OffCpu { asleep: Nanos(900_000), locked: Nanos(900_000), ..OffCpu::NONE };
    let rests = LegOffCpu { before_wakeup: Some(asleep), ..LegOffCpu::NONE };
    for rests in [vec![], vec![rests]] {
        let parts = blamed_with(vec![first.clone(), second.clone()], rests);
        let wakeup = |kind| {
            let of_kind =
                parts.iter().filter(|part| part.1 == Segment::Wakeup && part.2 == of(kind));
            of_kind.map(|part| part.3).sum::<u64>()
        };
        assert_eq!(wakeup(VerdictKind::ClientThrottled), 800_000, "{parts:?}");
        let others = wakeup(VerdictKind::BrokerStalled) + wakeup(VerdictKind::LockWait);
        assert!(others <= 100_000, "{parts:?}");
    }
}

#[test]
fn a_broker_that_watches_others_holds_its_client_back() {
    let stages =
        [(Stage::Ready, 0), (Stage::Wakeup, 900), (Stage::Running, 902), (Stage::Read, 903)];
    let mut first = leg(&stages);
    first.chain.push(Hop { sleep: SleepCall::Poll, ..hop(100, 900, 902, 0) });
    let second = leg(&[(Stage::Send, 910), (Stage::Read, 920)]);
    let asleep = OffCpu { asleep: Nanos(850_000), polled: Nanos(600_000), ..OffCpu::NONE };
    let rests = LegOffCpu { before_wakeup: Some(asleep), ..LegOffCpu::NONE };
    let parts = blamed_with(vec![first.clone(), second.clone()], vec![rests]);
    let wakeup = |kind, time| (0, Segment::Wakeup, of(kind), time);
    assert!(parts.contains(&wakeup(VerdictKind::Backpressure, 600_000)), "{parts:?}");
    assert!(parts.contains(&wakeup(VerdictKind::BrokerStalled, 250_000)), "{parts:?}");
    // Of a thread that was not followed only its last rest is known.
    let parts = blamed(vec![first.clone(), second]);
    assert!(parts.contains(&wakeup(VerdictKind::Backpressure, 800_000)), "{parts:?}");
    // A client that does so reads too late, whatever it waits for.
    let parts = blamed_with(vec![first], vec![rests]);
    assert!(parts.contains(&wakeup(VerdictKind::ClientStalled, 850_000)), "{parts:?}");
}

#[test]
fn a_broker_that_answers_in_turn_is_not_known_to_hold_its_client_back() {
    let stages =
        [(Stage::Ready, 0), (Stage::Wakeup, 900), (Stage::Running, 902), (Stage::Read, 903)];
    let mut first = leg(&stages);
    first.circumstances.permission.answers_in_turn = true;
    first.chain.push(Hop { sleep: SleepCall::Poll, ..hop(100, 900, 902, 0) });
    let second = leg(&[(Stage::Send, 910), (Stage::Read, 920)]);
    let blocker = Holder { task: TaskId { pid: Pid(9), tid: Tid(10) }, ..Holder::default() };
    let polled = OffCpu { asleep: Nanos(850_000), polled: Nanos(850_000), ..OffCpu::NONE };
    let wakeup = |cause, time| (0, Segment::Wakeup, cause, time);
    let parts_of = |first: &Leg, rested| {
        let rests = LegOffCpu { before_wakeup: Some(rested), ..LegOffCpu::NONE };
        blamed_with(vec![first.clone(), second.clone()], vec![rests])
    };
    let parts = parts_of(&first, polled);
    assert!(parts.contains(&wakeup(Cause::Ordinary, 850_000)), "{parts:?}");
    // The request before it waits for a disk.
    let parts = parts_of(&first, OffCpu { blocked: Nanos(600_000), blocker, ..polled });
    assert!(parts.contains(&wakeup(of(VerdictKind::BrokerStalled), 600_000)), "{parts:?}");
    assert!(parts.contains(&wakeup(Cause::Ordinary, 250_000)), "{parts:?}");
    // It is handled by a thread of its own.
    first.reader = Some(TaskId { pid: Pid(9), tid: Tid(8) });
    let rested =
        OffCpu { asleep: Nanos(850_000), locked: Nanos(850_000), waker: blocker, ..OffCpu::NONE };
    let parts = parts_of(&first, rested);
    assert!(parts.contains(&wakeup(of(VerdictKind::BrokerCpuBound), 850_000)), "{parts:?}");
}

/// The thread that reads a connection slept with a message of it, and another one of the broker waited for data of all.
#[test]
fn a_broker_that_sleeps_with_an_earlier_message_leaves_the_next_one_unread() {
    let stages =
        [(Stage::Ready, 0), (Stage::Wakeup, 900), (Stage::Running, 902), (Stage::Read, 903)];
    let mut first = leg(&stages);
    first.circumstances.permission.at_earlier = Nanos(800_000);
    first.chain.push(Hop { sleep: SleepCall::Poll, ..hop(100, 900, 902, 0) });
    let second = leg(&[(Stage::Send, 910), (Stage::Read, 920)]);
    let polled = OffCpu { asleep: Nanos(850_000), polled: Nanos(850_000), ..OffCpu::NONE };
    let rests = LegOffCpu { before_wakeup: Some(polled), ..LegOffCpu::NONE };
    let wakeup = |kind, time| (0, Segment::Wakeup, of(kind), time);
    let parts = blamed_with(vec![first.clone(), second.clone()], vec![rests]);
    assert!(parts.contains(&wakeup(VerdictKind::BrokerStalled, 800_000)), "{parts:?}");
    assert!(parts.contains(&wakeup(VerdictKind::Backpressure, 50_000)), "{parts:?}");
    first.circumstances.permission.at_earlier = Nanos(100_000);
    let parts = blamed_with(vec![first, second], vec![rests]);
    assert!(parts.contains(&wakeup(VerdictKind::Backpressure, 850_000)), "{parts:?}");
}

/// A follower asked for nothing for 700 µs: meanwhile its leader answers no producer, and hands nothing out.
#[test]
fn a_copy_that_is_not_made_holds_up_what_its_leader_has() {
    let task = |pid| TaskId { pid: Pid(pid), tid: Tid(pid) };
    let replica = Some(ReplicaWait { time: Nanos(700_000), server: Some(task(5)) });
    let mut first =
        leg(&[(Stage::Send, 0), (Stage::Ready, 10), (Stage::Wakeup, 910), (Stage::Read, 920)]);
    first.circumstances.permission.answers_in_turn = true;
    first.circumstances.permission.replica = replica;
    first.chain.push(hop(5, 910, 912, 0));
    let mut second = leg(&[(Stage::Send, 1_820), (Stage::Read, 1_830)]);
    second.circumstances.permission.replica = replica;
    let parts = blamed(vec![first, second]);
    let waited = |leg, segment| (leg, segment, of(VerdictKind::FetchWait), 700_000);
    assert!(parts.contains(&waited(0, Segment::Wakeup)), "{parts:?}");
    assert!(parts.contains(&waited(1, Segment::BrokerDwell)), "{parts:?}");
}

/// A proxy read a part of a message, passed that on at 700 µs, and the rest 300 µs later. It slept until others had something, and does not read
/// this connection, for its own reasons.
#[test]
fn the_end_of_a_message_that_is_left_unread_while_its_beginning_goes_on_is_no_work() {
    let first = leg(&[(Stage::Send, 0), (Stage::Ready, 100)]);
    let mut second = leg(&[(Stage::Send, 700), (Stage::Sent, 1_000), (Stage::Read, 1_010)]);
    second.before.push(hop(400, 690, 695, 0));
    second.circumstances.socket.tx = Some(RESTED);
    let slept =
        |us: u64| OffCpu { asleep: Nanos(us * 1_000), polled: Nanos(us * 1_000), ..OffCpu::NONE };
    let rests = LegOffCpu { dwell: Some(slept(590)), writing: slept(290), ..LegOffCpu::NONE };
    let parts = blamed_with(vec![first, second], vec![LegOffCpu::NONE, rests]);
    let unread = |time| (0, Segment::Wakeup, of(VerdictKind::Backpressure), time);
    assert!(parts.contains(&unread(590_000)), "{parts:?}");
    assert!(parts.contains(&(1, Segment::BrokerDwell, of(VerdictKind::BrokerCpuBound), 10_000)));
}

#[test]
fn a_preempted_reader_was_not_busy() {
    let leg = leg(&[(Stage::Ready, 0), (Stage::Read, 500)]);
    let holder = Holder {
        task: TaskId { pid: Pid(9), tid: Tid(9) },
        held: Nanos(400_000),
        ..Holder::default()
    };
    let reader = OffCpu { waited: Nanos(400_000), holder, ..OffCpu::NONE };
    let parts = blamed_with(vec![leg], vec![LegOffCpu { reader: Some(reader), ..LegOffCpu::NONE }]);
    assert!(parts.contains(&(0, Segment::Busy, of(VerdictKind::RunQueueContention), 400_000)));
    assert!(parts.contains(&(0, Segment::Busy, of(VerdictKind::ReaderBusy), 100_000)));
}

#[test]
fn a_thread_without_quota_is_neither_busy_nor_crowded_out() {
    let waits = |segment| {
        [
            (0, segment, of(VerdictKind::CpuThrottled), 70_000_000),
            (0, segment, of(VerdictKind::RunQueueContention), 10_000_000),
        ]
    };
    let busy = leg(&[(Stage::Ready, 0), (Stage::Read, 81_000)]);
    let rests = LegOffCpu { reader: Some(throttled()), ..LegOffCpu::NONE };
    let parts = blamed_with(vec![busy], vec![rests]);
    assert!(waits(Segment::Busy).iter().all(|part| parts.contains(part)), "{parts:?}");
    // One that was woken while its group had none.
    let stages =
        [(Stage::Ready, 0), (Stage::Wakeup, 2), (Stage::Running, 80_002), (Stage::Read, 80_005)];
    let mut asleep = leg(&stages);
    asleep.chain.push(hop(0, 2, 80_002, 0));
    let rests = LegOffCpu { chain: throttled(), ..LegOffCpu::NONE };
    let parts = blamed_with(vec![asleep], vec![rests]);
    assert!(waits(Segment::RunQueue).iter().all(|part| parts.contains(part)), "{parts:?}");
}

#[test]
fn a_reader_on_a_lock_waits_for_who_has_it() {
    let stages =
        [(Stage::Ready, 0), (Stage::Wakeup, 6_000), (Stage::Running, 6_002), (Stage::Read, 6_003)];
    let mut leg = leg(&stages);
    leg.chain.push(hop(5_990, 6_000, 6_002, 0));
    let rests = LegOffCpu { before_wakeup: Some(held_up()), ..LegOffCpu::NONE };
    let parts = blamed_with(vec![leg.clone()], vec![rests]);
    assert!(
        parts.contains(&(0, Segment::Wakeup, of(VerdictKind::LockWait), 5_000_000)),
        "{parts:?}"
    );
    assert!(parts.contains(&(0, Segment::Wakeup, of(VerdictKind::ClientStalled), 1_000_000)));
    // A short one is a part of every program's life.
    let short = OffCpu { locked: Nanos(150_000), ..held_up() };
    let parts =
        blamed_with(vec![leg], vec![LegOffCpu { before_wakeup: Some(short), ..LegOffCpu::NONE }]);
    assert!(parts.contains(&(0, Segment::Wakeup, of(VerdictKind::ClientStalled), 6_000_000)));
}

#[test]
fn who_waits_for_a_thread_that_waits_for_a_disk_is_stalled() {
    let stages =
        [(Stage::Ready, 0), (Stage::Wakeup, 6_000), (Stage::Running, 6_002), (Stage::Read, 6_003)];
    let mut first = leg(&stages);
    first.chain.push(hop(5_990, 6_000, 6_002, 0));
    let second = leg(&[(Stage::Send, 6_010), (Stage::Read, 6_020)]);
    let blocked = Nanos(4_000_000);
    let blocker = Holder { task: TaskId { pid: Pid(0), tid: Tid(67) }, ..Holder::default() };
    let rested = OffCpu { locked: held_up().locked - blocked, blocked, blocker, ..held_up() };
    let rests = LegOffCpu { before_wakeup: Some(rested), ..LegOffCpu::NONE };
    let parts = blamed_with(vec![first, second], vec![rests]);
    let wakeup = |kind, time| (0, Segment::Wakeup, of(kind), time);
    assert!(parts.contains(&wakeup(VerdictKind::LockWait, 1_000_000)), "{parts:?}");
    assert!(parts.contains(&wakeup(VerdictKind::BrokerStalled, 4_000_000)), "{parts:?}");
}

#[test]
fn a_thread_without_quota_that_has_to_wake_the_next_is_throttled() {
    let stages =
        [(Stage::Ready, 0), (Stage::Wakeup, 2), (Stage::Running, 80_010), (Stage::Read, 80_020)];
    let mut leg = leg(&stages);
    leg.chain.push(hop(0, 2, 4, 0));
    leg.chain.push(hop(0, 80_006, 80_010, 0));
    let rests = LegOffCpu { handoff: throttled(), ..LegOffCpu::NONE };
    let parts = blamed_with(vec![leg.clone()], vec![rests]);
    let handoff = |kind, time| (0, Segment::Handoff, of(kind), time);
    assert!(parts.contains(&handoff(VerdictKind::CpuThrottled, 70_000_000)), "{parts:?}");
    assert!(parts.contains(&handoff(VerdictKind::RunQueueContention, 10_000_000)), "{parts:?}");
    // A broker does the same between read and send.
    let mut first = self::leg(&[(Stage::Send, 0), (Stage::Read, 1)]);
    first.reader = Some(TaskId { pid: Pid(3), tid: Tid(3) });
    let mut second = self::leg(&[(Stage::Send, 80_020), (Stage::Read, 80_030)]);
    second.before = leg.chain;
    second.before[0].running = Nanos(900);
    let rests = LegOffCpu { handoff_before: throttled(), ..LegOffCpu::NONE };
    let parts = blamed_with(vec![first, second], vec![LegOffCpu::NONE, rests]);
    let dwell = (1, Segment::BrokerDwell, of(VerdictKind::CpuThrottled), 70_000_000);
    assert!(parts.contains(&dwell), "{parts:?}");
}
