use super::*;
use wirelap_events::{
    CgroupId, Circumstances, Comm, FlowKey, FlowRange, GroupId, MessageId, Nagle, NetNs, Permit,
    Pid, RequestLimits, Sleep, StageTimes, TaskId, Tid, Transport,
};

/// What was blamed, in the order of a message's life.
#[derive(Default)]
struct Found(Vec<(usize, Segment, Cause, u64)>);

impl Parts for Found {
    fn part(
        &mut self,
        leg: usize,
        segment: Segment,
        cause: Cause,
        time: Nanos,
        _: Option<&Holder>,
    ) {
        self.0.push((leg, segment, cause, time.0));
    }
}

fn of(kind: VerdictKind) -> Cause {
    Cause::Of(kind)
}

fn leg(stages: &[(Stage, u64)]) -> Leg {
    let mut times = StageTimes::default();
    for &(stage, at) in stages {
        times.set(stage, Nanos(at * 1_000));
    }
    let any = "127.0.0.1:1".parse().unwrap();
    Leg {
        flow: FlowKey::new(Transport::Tcp, any, any, NetNs(0)),
        from: None,
        to: None,
        sender: None,
        reader: None,
        times,
        chain: [].into_iter().collect(),
        before: [].into_iter().collect(),
        flow_range: FlowRange::default(),
        circumstances: Circumstances::default(),
    }
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
    let delivery = Delivery {
        message: MessageId(1),
        group: GroupId(0),
        stamp: None,
        payload_len: 64,
        topic: None,
        legs: legs.into_iter().collect(),
        off_cpu: rests.into_iter().collect(),
    };
    let mut found = Found::default();
    blame(&delivery, &mut found);
    let sum: u64 = found.0.iter().map(|part| part.3).sum();
    let (first, last) = (&delivery.legs[0].times, &delivery.legs[delivery.legs.len() - 1].times);
    let whole = last.seen().next_back().unwrap().1 - first.seen().next().unwrap().1;
    assert_eq!(Nanos(sum), whole, "parts add up to the whole: {:?}", found.0);
    found.0
}

/// A send that waited 40 ms in its socket, in these circumstances.
fn held_of(tx: TxState, len: u32, acked: bool) -> Cause {
    let mut leg = leg(&[(Stage::Send, 0), (Stage::Sent, 0), (Stage::Queue, 40_000)]);
    leg.circumstances.tx = Some(tx);
    leg.circumstances.send_len = len;
    leg.circumstances.acked = acked.then_some(Nanos(39_990_000));
    blamed(vec![leg])[0].2
}

fn held(tx: TxState, acked: bool) -> Cause {
    held_of(tx, 64, acked)
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
};

/// Nothing is under way.
const RESTED: TxState = TxState { in_flight: 0, segments_out: 0, cwnd: 100, ..QUIET };

#[test]
fn nagle_needs_an_ack_that_set_it_free() {
    assert_eq!(held(QUIET, true), of(VerdictKind::NagleDelayedAck));
    assert_eq!(held(QUIET, false), Cause::Ordinary);
    assert_eq!(held(TxState { nagle: Nagle::Off, ..QUIET }, true), Cause::Ordinary);
    assert_eq!(held(TxState { in_flight: 0, segments_out: 0, ..QUIET }, true), Cause::Ordinary);
    assert_eq!(held(TxState { unsent: 1448 - 64, ..QUIET }, true), Cause::Ordinary);
    assert_eq!(held(TxState { nagle: Nagle::Corked, ..QUIET }, false), of(VerdictKind::Corked));
}

#[test]
fn windows_come_before_nagle() {
    assert_eq!(held(TxState { window: 100, ..QUIET }, true), of(VerdictKind::ReceiveWindow));
    assert_eq!(held(TxState { window: 100, ..QUIET }, false), of(VerdictKind::ReceiveWindow));
    assert_eq!(
        held(TxState { segments_out: 10, ..QUIET }, false),
        of(VerdictKind::CongestionWindow)
    );
    assert_eq!(held(TxState { window: 128, ..QUIET }, true), of(VerdictKind::NagleDelayedAck));
    let full = TxState { segments_out: 10, ..QUIET };
    assert_eq!(held(full, true), of(VerdictKind::CongestionWindow));
    assert_eq!(held(TxState { segments_out: 9, ..full }, true), of(VerdictKind::NagleDelayedAck));
    // 100 KB wait behind ten segments; the receiver would take 50 KB more.
    let both = TxState { unsent: 100_000, in_flight: 14_480, ..full };
    assert_eq!(held(both, true), of(VerdictKind::CongestionWindow));
    assert_eq!(
        held(TxState { window: 15_000, segments_out: 9, ..both }, true),
        of(VerdictKind::ReceiveWindow)
    );
}

#[test]
fn a_send_larger_than_the_buffer_waits_for_acks() {
    let narrow = TxState { send_buffer: 4_608, ..RESTED };
    assert_eq!(held_of(narrow, 4_609, true), of(VerdictKind::SendBuffer));
    assert_eq!(held_of(narrow, 4_608, true), Cause::Ordinary);
    assert_eq!(held_of(narrow, 4_609, false), Cause::Ordinary);
    // Recordings of earlier versions do not tell.
    assert_eq!(held_of(TxState { send_buffer: 0, ..RESTED }, 4_609, true), Cause::Ordinary);
}

#[test]
fn what_the_rate_accounts_for_is_paced() {
    // 10,000 B in 40 ms.
    let paced = TxState { pacing: 250_000, ..RESTED };
    assert_eq!(held_of(paced, 10_000, false), of(VerdictKind::Pacing));
    assert_eq!(
        held_of(TxState { pacing: 500_000, ..RESTED }, 10_000, true),
        of(VerdictKind::Pacing)
    );
    assert_eq!(held_of(TxState { pacing: 600_000, ..RESTED }, 10_000, true), Cause::Ordinary);
}

#[test]
fn a_connection_that_has_rested_begins_with_ten_segments() {
    assert_eq!(held_of(RESTED, 11 * 1448, true), of(VerdictKind::CongestionWindow));
    assert_eq!(held_of(RESTED, 10 * 1448, true), Cause::Ordinary);
    assert_eq!(held_of(RESTED, 11 * 1448, false), Cause::Ordinary);
    let busy = TxState { in_flight: 1, ..RESTED };
    assert_eq!(held_of(busy, 11 * 1448 + 1, true), of(VerdictKind::NagleDelayedAck));
}

#[test]
fn what_was_sent_again_was_lost() {
    let mut leg = leg(&[(Stage::Sent, 0), (Stage::Queue, 200_000), (Stage::Rx, 200_010)]);
    leg.circumstances.resent = true;
    assert_eq!(blamed(vec![leg])[0].2, of(VerdictKind::Retransmission));
}

#[test]
fn what_is_before_the_first_transmission_is_not_lost() {
    let stages = [(Stage::Sent, 0), (Stage::Lost, 40_000), (Stage::Queue, 240_000)];
    let mut leg = leg(&stages);
    leg.circumstances = Circumstances {
        tx: Some(QUIET),
        send_len: 64,
        acked: Some(Nanos(39_990_000)),
        resent: true,
        ..Circumstances::default()
    };
    let expected = [
        (0, Segment::SocketTx, of(VerdictKind::NagleDelayedAck), 40_000_000),
        (0, Segment::Loss, of(VerdictKind::Retransmission), 200_000_000),
    ];
    assert_eq!(blamed(vec![leg.clone()]), expected);
    // For three quarters of it, earlier bytes were missing.
    leg.circumstances.loss_in_socket = Nanos(30_000_000);
    let parts = blamed(vec![leg]);
    assert_eq!(parts[0], (0, Segment::SocketTx, of(VerdictKind::Retransmission), 30_000_000));
    assert_eq!(parts[1], (0, Segment::SocketTx, of(VerdictKind::NagleDelayedAck), 10_000_000));
}

#[test]
fn a_window_that_a_loss_made_small_is_the_losss() {
    let full = TxState { segments_out: 10, ..QUIET };
    let mut leg = leg(&[(Stage::Sent, 0), (Stage::Queue, 40_000)]);
    leg.circumstances = Circumstances {
        tx: Some(full),
        send_len: 64,
        acked: Some(Nanos(39_990_000)),
        ..Circumstances::default()
    };
    assert_eq!(blamed(vec![leg.clone()])[0].2, of(VerdictKind::CongestionWindow));
    leg.circumstances.shrunk_by_loss = true;
    assert_eq!(blamed(vec![leg])[0].2, of(VerdictKind::Retransmission));
}

/// A request that is on its way again keeps a broker waiting that would have answered.
#[test]
fn a_request_that_was_lost_is_the_networks() {
    let before = leg(&[(Stage::Send, 0), (Stage::Read, 10)]);
    let mut after = leg(&[(Stage::Send, 300_010), (Stage::Read, 300_020)]);
    after.circumstances.requested = Some(Nanos(290_010_000));
    after.circumstances.missing = Some((Nanos(90_010_000), Nanos(290_010_000)));
    let parts = blamed(vec![before, after]);
    let dwell: Vec<_> = parts.iter().filter(|part| part.1 == Segment::BrokerDwell).collect();
    assert_eq!(dwell[0], &(1, Segment::BrokerDwell, of(VerdictKind::Retransmission), 200_000_000));
    assert_eq!(dwell[1], &(1, Segment::BrokerDwell, of(VerdictKind::FetchWait), 90_000_000));
}

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

/// 5 ms on a lock, and 1 ms otherwise.
fn held_up() -> OffCpu {
    let task = TaskId { pid: Pid(0), tid: Tid(66) };
    let waker = Holder { task, comm: Comm::from_name("hog"), held: Nanos(4_000_000) };
    let (asleep, locked) = (Nanos(6_000_000), Nanos(5_000_000));
    OffCpu { asleep, locked, waker, ..OffCpu::NONE }
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
fn a_broker_that_has_the_message_and_sleeps_on_a_lock_does_not_work() {
    let own = TaskId { pid: Pid(3), tid: Tid(3) };
    let dwell = |sleep, read_by: TaskId| {
        let mut first = leg(&[(Stage::Send, 0), (Stage::Read, 100)]);
        first.reader = Some(read_by);
        let mut second = leg(&[(Stage::Send, 6_200), (Stage::Read, 6_300)]);
        // The thread that let go ran before the message came.
        second.before.push(hop(10, 20, 30, 0));
        second.before.push(Hop { task: own, sleep, ..hop(150, 6_150, 6_160, 0) });
        let rests = LegOffCpu { dwell: Some(held_up()), ..LegOffCpu::NONE };
        let parts = blamed_with(vec![first, second], vec![LegOffCpu::NONE, rests]);
        let locked = parts.into_iter().filter(|part| part.2 == of(VerdictKind::LockWait));
        locked.map(|part| part.3).sum::<u64>()
    };
    assert_eq!(dwell(Sleep::Lock, own), 5_000_000);
    // Another thread than the one that read it was handed it.
    assert_eq!(dwell(Sleep::Lock, TaskId { pid: Pid(3), tid: Tid(4) }), 0);
    assert_eq!(dwell(Sleep::Call, own), 0);
}

/// A broker that read at 100 µs and sent at 1100 µs.
fn dwell(edit: impl FnOnce(&mut Leg)) -> Vec<(Cause, u64)> {
    dwell_of(1, edit)
}

/// A broker that took so many times as long.
fn dwell_of(times: u64, edit: impl FnOnce(&mut Leg)) -> Vec<(Cause, u64)> {
    let mut second = leg(&[(Stage::Send, 1_100 * times), (Stage::Read, 1_200 * times)]);
    edit(&mut second);
    let parts = blamed(vec![leg(&[(Stage::Send, 0), (Stage::Read, 100 * times)]), second]);
    let dwell = parts.into_iter().filter(|part| part.1 == Segment::BrokerDwell);
    dwell
        .map(|(leg, _, cause, time)| {
            assert_eq!(leg, 1);
            (cause, time / 1_000 / times)
        })
        .collect()
}

#[test]
fn a_dwell_without_a_rest_is_work() {
    let work = dwell(|leg| leg.before.push(hop(0, 50, 60, 0)));
    assert_eq!(work, [(of(VerdictKind::BrokerCpuBound), 1_000)]);
    // Of a thread that nothing is known of, nothing is said.
    assert_eq!(dwell(|_| {}), [(Cause::Ordinary, 1_000)]);
}

#[test]
fn a_broker_that_sleeps_with_a_message_is_stalled() {
    let asleep = dwell(|leg| leg.before.push(hop(200, 900, 1_000, 5)));
    let expected = [
        (of(VerdictKind::BrokerCpuBound), 100),
        (of(VerdictKind::BrokerStalled), 700),
        (of(VerdictKind::RunQueueContention), 100),
        (of(VerdictKind::BrokerCpuBound), 100),
    ];
    assert_eq!(asleep, expected);
}

#[test]
fn threads_that_wake_each_other_pass_it_on() {
    let passed = dwell(|leg| {
        leg.before.push(hop(0, 90, 95, 0));
        leg.before.push(Hop { from_irq: false, ..hop(50, 400, 420, 0) });
    });
    let expected = [
        (of(VerdictKind::BrokerCpuBound), 300),
        (of(VerdictKind::IdleWakeup), 20),
        (of(VerdictKind::BrokerCpuBound), 680),
    ];
    assert_eq!(passed, expected);
}

#[test]
fn a_broker_that_is_not_asked_waits() {
    let late = dwell(|leg| leg.circumstances.requested = Some(Nanos(900_000)));
    assert_eq!(late[0], (of(VerdictKind::FetchWait), 800));
    let pending = dwell(|leg| {
        leg.circumstances.requested = Some(Nanos(50_000));
        leg.before.push(hop(100, 1_050, 1_060, 0));
    });
    assert_eq!(pending[0], (of(VerdictKind::FetchWait), 950));
}

/// It was stopped, perhaps. A publisher that does so writes late, by its own choice.
#[test]
fn a_broker_that_sleeps_between_two_writes_is_stalled() {
    let mut late = leg(&[(Stage::Send, 1_000), (Stage::Sent, 90_000), (Stage::Queue, 90_002)]);
    late.circumstances.tx = Some(RESTED);
    let asleep = OffCpu { asleep: Nanos(80_000_000), ..OffCpu::NONE };
    let rests = LegOffCpu { writing: asleep, ..LegOffCpu::NONE };
    let first = leg(&[(Stage::Send, 0), (Stage::Read, 100)]);
    let parts = blamed_with(vec![first, late.clone()], vec![LegOffCpu::NONE, rests]);
    assert!(
        parts.contains(&(1, Segment::Write, of(VerdictKind::BrokerStalled), 80_000_000)),
        "{parts:?}"
    );
    let parts = blamed_with(vec![late], vec![rests]);
    assert_eq!(parts[0], (0, Segment::Write, of(VerdictKind::LateWrite), 89_000_000));
}

#[test]
fn a_broker_that_sleeps_for_a_time_of_its_own_choice_waits_for_no_request() {
    let slept = |sleep| {
        let parts = dwell_of(10, |leg| {
            leg.circumstances.requested = Some(Nanos(50_000));
            leg.before.push(Hop { sleep, ..hop(1_000, 10_500, 10_600, 0) });
        });
        parts[0].0
    };
    assert_eq!(slept(Sleep::Call), of(VerdictKind::FetchWait));
    assert_eq!(slept(Sleep::Timer), of(VerdictKind::BrokerStalled));
}

/// As a server of OPC UA, whose publishing interval is its own affair.
#[test]
fn who_is_asked_without_a_limit_may_sleep_until_something_comes() {
    let sleeps = |deaf: u64, ask| {
        let mut second = leg(&[(Stage::Send, 9_100), (Stage::Read, 9_200)]);
        second.circumstances.requested = Some(Nanos(50_000));
        second.circumstances.request_limits = ask;
        let deaf = Nanos::from_millis(deaf);
        let rested = OffCpu { asleep: Nanos::from_millis(8), deaf, ..OffCpu::NONE };
        let rests = LegOffCpu { sender: Some(rested), ..LegOffCpu::NONE };
        let first = leg(&[(Stage::Send, 0), (Stage::Read, 100)]);
        let parts = blamed_with(vec![first, second], vec![LegOffCpu::NONE, rests]);
        let of_kind = |kind| parts.iter().filter(move |part| part.2 == of(kind));
        [VerdictKind::FetchWait, VerdictKind::BrokerStalled]
            .map(|kind| of_kind(kind).map(|part| part.3).sum::<u64>())
    };
    assert_eq!(sleeps(0, None), [8_000_000, 0]);
    assert_eq!(sleeps(5, None), [3_000_000, 5_000_000]);
    let ask = Some(RequestLimits { longest: Nanos::from_millis(500), least_bytes: 1 });
    assert_eq!(sleeps(0, ask), [0, 8_000_000]);
}

#[test]
fn a_broker_waits_until_the_publisher_lets_the_message_go() {
    let permit = |given: u64, read: u64| {
        let (given, read) = (Nanos(given * 1000), Nanos(read * 1000));
        Some(Permit { given, waited: Nanos(0), read, resent: false, after_loss: false })
    };
    let slept = |permit| {
        dwell(move |leg: &mut Leg| {
            leg.before.push(hop(200, 900, 900, 0));
            leg.circumstances.permit = permit;
        })
    };
    let of_time = |parts: &[(Cause, u64)], kind| -> u64 {
        parts.iter().filter(|part| part.0 == of(kind)).map(|part| part.1).sum()
    };
    let late = slept(permit(850, 900));
    assert_eq!(of_time(&late, VerdictKind::ReleaseWait), 750, "{late:?}");
    assert_eq!(of_time(&late, VerdictKind::BrokerStalled), 0, "{late:?}");
    // It came soon, and the broker did not read it for long.
    let unread = slept(permit(210, 900));
    assert_eq!(of_time(&unread, VerdictKind::ReleaseWait), 110, "{unread:?}");
    assert_eq!(of_time(&unread, VerdictKind::BrokerStalled), 690, "{unread:?}");
    // It came only after the message was passed on.
    let needless = slept(permit(2_000, 2_100));
    assert_eq!(of_time(&needless, VerdictKind::ReleaseWait), 0, "{needless:?}");
    let lost = slept(permit(300, 900).map(|permit| Permit { resent: true, ..permit }));
    assert_eq!(of_time(&lost, VerdictKind::ReleaseWait), 200, "{lost:?}");
    assert_eq!(of_time(&lost, VerdictKind::Retransmission), 600, "{lost:?}");
}

/// A broker that was asked at 50 µs, read at 1 ms, slept from 2 to 9 ms and sent at 11 ms: what it is blamed for, in
/// units of 10 µs.
fn asked_for(least_bytes: u64, longest: Nanos, filled: Option<u64>) -> Vec<(Cause, u64)> {
    dwell_of(10, |leg| {
        leg.before.push(hop(2_000, 9_000, 10_000, 5));
        let seen = &mut leg.circumstances;
        seen.requested = Some(Nanos(50_000));
        seen.request_limits = Some(RequestLimits { longest, least_bytes });
        seen.filled = filled.map(|us| Nanos(us * 10_000));
    })
}

#[test]
fn a_broker_waits_as_long_as_the_request_lets_it() {
    let long = Nanos::from_millis(500);
    let work = (of(VerdictKind::BrokerCpuBound), 100);
    let after = [(of(VerdictKind::RunQueueContention), 100), work];
    // The time was over, or nearly.
    assert_eq!(
        asked_for(9_999, Nanos::from_millis(10), None),
        [(of(VerdictKind::FetchWait), 1_000)]
    );
    assert_eq!(asked_for(1, Nanos::from_millis(10), None), [(of(VerdictKind::FetchWait), 1_000)]);
    assert_eq!(
        asked_for(9_999, Nanos::from_millis(12), Some(200)),
        [(of(VerdictKind::FetchWait), 1_000)]
    );
    // There was enough at 6 ms: the broker slept on.
    let [wait, slept] = [(of(VerdictKind::FetchWait), 500), (of(VerdictKind::BrokerStalled), 300)];
    assert_eq!(asked_for(9_999, long, Some(600)), [&[wait, slept], &after[..]].concat());
    // There was enough all the time.
    let slept = (of(VerdictKind::BrokerStalled), 700);
    assert_eq!(asked_for(1, long, None), [&[work, slept], &after[..]].concat());
    // Nobody saw when there was enough.
    let wait = (of(VerdictKind::FetchWait), 700);
    assert_eq!(asked_for(9_999, long, None), [&[work, wait], &after[..]].concat());
}

/// As one of several brokers, whose others copy each message before it is handed out.
#[test]
fn a_broker_that_is_asked_may_sleep_for_a_moment() {
    let parts = dwell(|leg| {
        leg.before.push(hop(200, 900, 1_000, 5));
        leg.circumstances.requested = Some(Nanos(50_000));
        leg.circumstances.request_limits =
            Some(RequestLimits { longest: Nanos::from_millis(500), least_bytes: 1 });
    });
    assert!(!parts.iter().any(|part| part.0 == of(VerdictKind::BrokerStalled)), "{parts:?}");
}

#[test]
fn a_broker_that_is_much_too_late_did_not_wait_for_the_time_to_be_over() {
    // Due at 100 µs, and 15 ms late.
    let mut second = leg(&[(Stage::Send, 15_100), (Stage::Read, 15_200)]);
    second.before.push(hop(200, 15_000, 15_100, 0));
    second.circumstances.requested = Some(Nanos(50_000));
    second.circumstances.request_limits =
        Some(RequestLimits { longest: Nanos(50_000), least_bytes: 1 });
    let parts = blamed(vec![leg(&[(Stage::Send, 0), (Stage::Read, 100)]), second]);
    let stalled: Vec<_> =
        parts.iter().filter(|part| part.2 == of(VerdictKind::BrokerStalled)).collect();
    assert_eq!(stalled, [&(1, Segment::BrokerDwell, of(VerdictKind::BrokerStalled), 14_800_000)]);
}

#[test]
fn a_socket_that_may_not_add_to_a_full_qdisc_waits_for_it() {
    let stages = [(Stage::Sent, 0), (Stage::Queue, 40_000), (Stage::Xmit, 42_000)];
    let mut held = leg(&stages);
    held.circumstances.send_len = 64;
    held.circumstances.tx = Some(TxState { window: 100, ..QUIET });
    held.circumstances.acked = Some(Nanos(39_990_000));
    let parts = blamed(vec![held.clone()]);
    assert!(parts.iter().all(|part| part.2 == of(VerdictKind::QdiscQueueing)), "{parts:?}");
    held.times.set(Stage::Xmit, Nanos(40_100_000));
    assert_eq!(blamed(vec![held])[0].2, of(VerdictKind::ReceiveWindow));
}

#[test]
fn a_sender_of_datagrams_that_has_no_cpu_between_them_waits_for_one() {
    let mut parts = leg(&[(Stage::Send, 0), (Stage::Sent, 9_000), (Stage::Queue, 9_002)]);
    parts.flow.transport = Transport::Udp;
    let mut waited = OffCpu { waited: Nanos(7_000_000), ..OffCpu::NONE };
    waited.add_holder(&hop(0, 0, 7_000, 5).holder);
    let blamed = blamed_with(vec![parts], vec![LegOffCpu { writing: waited, ..LegOffCpu::NONE }]);
    assert_eq!(blamed[0], (0, Segment::Write, of(VerdictKind::RunQueueContention), 7_000_000));
    assert_eq!(blamed[1], (0, Segment::Write, Cause::Ordinary, 2_000_000));
}

#[test]
fn a_write_in_parts_is_told_by_what_the_socket_held() {
    let write = |tx: TxState| {
        let mut leg = leg(&[(Stage::Send, 0), (Stage::Sent, 90_000), (Stage::Queue, 90_002)]);
        leg.circumstances.tx = Some(tx);
        blamed(vec![leg])[0].2
    };
    let empty = TxState { in_flight: 0, segments_out: 0, ..QUIET };
    assert_eq!(write(empty), of(VerdictKind::LateWrite));
    assert_eq!(write(QUIET), Cause::Ordinary);
    assert_eq!(write(TxState { unsent: 9_000, ..QUIET }), of(VerdictKind::SendBuffer));
    assert_eq!(write(TxState { window: 500, ..QUIET }), of(VerdictKind::ReceiveWindow));
}

/// Its sender holds a message back until an acknowledgement comes.
fn held_in_socket(tx: TxState) -> Leg {
    let mut leg = leg(&[(Stage::Send, 0), (Stage::Sent, 0), (Stage::Queue, 90_000)]);
    leg.circumstances = Circumstances {
        tx: Some(tx),
        send_len: 64,
        acked: Some(Nanos(89_990_000)),
        unread_until: Some(Nanos(80_000_000)),
        ..Circumstances::default()
    };
    leg
}

#[test]
fn what_waits_for_a_reader_without_quota_waits_for_quota() {
    let full = TxState { segments_out: 10, ..QUIET };
    for (tx, kind) in [(QUIET, VerdictKind::NagleDelayedAck), (full, VerdictKind::CongestionWindow)]
    {
        let rests = LegOffCpu { unread: throttled(), ..LegOffCpu::NONE };
        let parts = blamed_with(vec![held_in_socket(tx)], vec![rests]);
        let expected = [
            (0, Segment::SocketTx, of(VerdictKind::CpuThrottled), 70_000_000),
            (0, Segment::SocketTx, of(VerdictKind::RunQueueContention), 10_000_000),
            (0, Segment::SocketTx, of(kind), 10_000_000),
        ];
        assert_eq!(parts, expected);
        // A reader that sleeps and reads nothing is stalled.
        let asleep = OffCpu { asleep: Nanos(60_000_000), ..OffCpu::NONE };
        let rests = LegOffCpu { unread: asleep, ..LegOffCpu::NONE };
        let parts = blamed_with(vec![held_in_socket(tx)], vec![rests]);
        let stalled = (0, Segment::SocketTx, of(VerdictKind::ClientStalled), 60_000_000);
        assert_eq!(parts[0], stalled, "{parts:?}");
    }
}

#[test]
fn a_message_that_leaves_without_an_acknowledgement_was_held_back_all_the_same() {
    let mut leg = held_in_socket(TxState { unsent: 60_000, ..QUIET });
    leg.circumstances.acked = None;
    assert_eq!(blamed(vec![leg.clone()])[0].2, Cause::Ordinary);
    leg.circumstances.whole_segment = true;
    assert_eq!(blamed(vec![leg])[0].2, of(VerdictKind::NagleDelayedAck));
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

#[test]
fn a_library_that_waits_for_what_was_lost_is_the_networks() {
    let stages = [(Stage::Publish, 0), (Stage::Send, 300_000), (Stage::Queue, 300_010)];
    let mut leg = leg(&stages);
    leg.circumstances.missing = Some((Nanos(100_000_000), Nanos(290_000_000)));
    let found = blamed(vec![leg]);
    assert_eq!(found[0], (0, Segment::ClientTx, of(VerdictKind::Retransmission), 190_000_000));
    assert_eq!(found[1], (0, Segment::ClientTx, Cause::Ordinary, 110_000_000));
}

/// A broker that read at 100 µs was asked at 900 µs by a consumer that could have asked at 300 µs.
#[test]
fn a_consumer_that_asks_late_is_late_by_itself() {
    let asked_late = |asker: Option<OffCpu>| {
        let first = leg(&[(Stage::Send, 0), (Stage::Read, 100)]);
        let mut second = leg(&[(Stage::Send, 1_100), (Stage::Read, 1_200)]);
        second.circumstances.requested = Some(Nanos(900_000));
        second.circumstances.free_since = Some(Nanos(300_000));
        let parts = blamed_with(
            vec![first, second],
            vec![LegOffCpu::NONE, LegOffCpu { requester: asker, ..LegOffCpu::NONE }],
        );
        let dwell = parts.into_iter().filter(|part| part.1 == Segment::BrokerDwell);
        dwell.map(|(_, _, cause, time)| (cause, time / 1_000)).take(4).collect::<Vec<_>>()
    };
    let waits = (of(VerdictKind::FetchWait), 200);
    let asleep = OffCpu { asleep: Nanos(600_000), ..OffCpu::NONE };
    assert_eq!(asked_late(Some(asleep))[..2], [waits, (of(VerdictKind::ClientStalled), 600)]);
    assert_eq!(asked_late(Some(OffCpu::NONE))[..2], [waits, (of(VerdictKind::ReaderBusy), 600)]);
    let mixed = OffCpu { asleep: Nanos(100_000), waited: Nanos(300_000), ..OffCpu::NONE };
    let parts = [
        waits,
        (of(VerdictKind::ClientStalled), 100),
        (of(VerdictKind::FetchWait), 300),
        (of(VerdictKind::ReaderBusy), 200),
    ];
    assert_eq!(asked_late(Some(mixed)), parts);
    // What it did is not known.
    assert_eq!(asked_late(None)[..2], [waits, (of(VerdictKind::FetchWait), 600)]);
}

#[test]
fn a_transactions_messages_wait_for_its_end() {
    let parts = |awaits_commit| {
        dwell_of(10, |leg| {
            leg.before.push(hop(2_000, 9_000, 10_000, 5));
            leg.circumstances.requested = Some(Nanos(50_000));
            leg.circumstances.request_limits =
                Some(RequestLimits { longest: Nanos::from_millis(500), least_bytes: 1 });
            leg.circumstances.awaits_commit = awaits_commit;
        })
    };
    assert_eq!(parts(true)[0], (of(VerdictKind::FetchWait), 800));
    assert!(parts(false).contains(&(of(VerdictKind::BrokerStalled), 700)));
}
