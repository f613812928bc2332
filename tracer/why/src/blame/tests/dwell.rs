//! Causes between a broker's read and its send.

use super::super::{Cause, VerdictKind};
use super::{QUIET, RESTED, blamed, blamed_with, held_up, hop, leg, of};
use wirelap_events::{
    Credit, EarlierBytes, Hop, Leg, LegOffCpu, LinkQueue, Nanos, OffCpu, Pid, Release,
    RequestLimits, Segment, SleepCall, Stage, TaskId, Tid, TxState,
};

/// A request that is on its way again keeps a broker waiting that would have answered.
#[test]
fn a_request_that_was_lost_is_the_networks() {
    let before = leg(&[(Stage::Send, 0), (Stage::Read, 10)]);
    let mut after = leg(&[(Stage::Send, 300_010), (Stage::Read, 300_020)]);
    after.circumstances.request.made = Some(Nanos(290_010_000));
    after.circumstances.loss.missing = Some((Nanos(90_010_000), Nanos(290_010_000)));
    let parts = blamed(vec![before, after]);
    let dwell: Vec<_> = parts.iter().filter(|part| part.1 == Segment::BrokerDwell).collect();
    assert_eq!(dwell[0], &(1, Segment::BrokerDwell, of(VerdictKind::Retransmission), 200_000_000));
    assert_eq!(dwell[1], &(1, Segment::BrokerDwell, of(VerdictKind::FetchWait), 90_000_000));
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
    assert_eq!(dwell(SleepCall::Lock, own), 5_000_000);
    // Another thread than the one that read it was handed it.
    assert_eq!(dwell(SleepCall::Lock, TaskId { pid: Pid(3), tid: Tid(4) }), 0);
    assert_eq!(dwell(SleepCall::Call, own), 0);
}

/// A broker that read at 100 µs and sent at 1100 µs.
pub(super) fn dwell(edit: impl FnOnce(&mut Leg)) -> Vec<(Cause, u64)> {
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
    let late = dwell(|leg| leg.circumstances.request.made = Some(Nanos(900_000)));
    assert_eq!(late[0], (of(VerdictKind::FetchWait), 800));
    let pending = dwell(|leg| {
        leg.circumstances.request.made = Some(Nanos(50_000));
        leg.before.push(hop(100, 1_050, 1_060, 0));
    });
    assert_eq!(pending[0], (of(VerdictKind::FetchWait), 950));
}

/// A late second write of a broker means that it is stalled, perhaps stopped. A publisher's late
/// write is its own choice.
#[test]
fn a_broker_that_sleeps_between_two_writes_is_stalled() {
    let mut late = leg(&[(Stage::Send, 1_000), (Stage::Sent, 90_000), (Stage::Queue, 90_002)]);
    late.circumstances.socket.tx = Some(RESTED);
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
            leg.circumstances.request.made = Some(Nanos(50_000));
            leg.before.push(Hop { sleep, ..hop(1_000, 10_500, 10_600, 0) });
        });
        parts[0].0
    };
    assert_eq!(slept(SleepCall::Call), of(VerdictKind::FetchWait));
    assert_eq!(slept(SleepCall::Timer), of(VerdictKind::BrokerStalled));
}

/// As a server of OPC UA, whose publishing interval is its own affair.
#[test]
fn who_is_asked_without_a_limit_may_sleep_until_something_comes() {
    let sleeps = |deaf: u64, ask| {
        let mut second = leg(&[(Stage::Send, 9_100), (Stage::Read, 9_200)]);
        second.circumstances.request.made = Some(Nanos(50_000));
        second.circumstances.request.limits = ask;
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
    let release = |sent: u64, read: u64| {
        let (sent, read) = (Nanos(sent * 1000), Nanos(read * 1000));
        let (left, arrived, waited) = (sent, sent, Nanos(0));
        let (nagle, resent, recovery, receipt) = (false, false, None, None);
        Some(Release { sent, left, arrived, read, waited, nagle, resent, recovery, receipt })
    };
    let slept = |release| {
        dwell(move |leg: &mut Leg| {
            leg.before.push(hop(200, 900, 900, 0));
            leg.circumstances.permission.release = release;
        })
    };
    let of_time = |parts: &[(Cause, u64)], kind| -> u64 {
        parts.iter().filter(|part| part.0 == of(kind)).map(|part| part.1).sum()
    };
    let late = slept(release(850, 900));
    assert_eq!(of_time(&late, VerdictKind::ReleaseWait), 750, "{late:?}");
    assert_eq!(of_time(&late, VerdictKind::BrokerStalled), 0, "{late:?}");
    // It came soon, and the broker did not read it for long.
    let unread = slept(release(210, 900));
    assert_eq!(of_time(&unread, VerdictKind::ReleaseWait), 110, "{unread:?}");
    assert_eq!(of_time(&unread, VerdictKind::BrokerStalled), 690, "{unread:?}");
    // It came only after the message was passed on.
    let needless = slept(release(2_000, 2_100));
    assert_eq!(of_time(&needless, VerdictKind::ReleaseWait), 0, "{needless:?}");
    let arrived = |release: Release| Release { arrived: Nanos(850_000), ..release };
    let lost = slept(release(300, 900).map(|release| Release { resent: true, ..arrived(release) }));
    assert_eq!(of_time(&lost, VerdictKind::ReleaseWait), 200, "{lost:?}");
    assert_eq!(of_time(&lost, VerdictKind::Retransmission), 550, "{lost:?}");
    // It is in the publisher's socket for long, or under way.
    let left = |release: Release| Release { left: Nanos(800_000), ..arrived(release) };
    for release in [release(300, 900).map(left), release(300, 900).map(arrived)] {
        let held = slept(release);
        assert_eq!(of_time(&held, VerdictKind::ReleaseWait), 750, "{held:?}");
        assert_eq!(of_time(&held, VerdictKind::BrokerStalled), 0, "{held:?}");
    }
}

#[test]
fn a_broker_keeps_messages_for_a_subscriber_that_is_away() {
    let away = dwell(|leg: &mut Leg| {
        leg.before.push(hop(200, 900, 900, 0));
        leg.circumstances.subscription.ready = Some(Nanos(800_000));
    });
    let of_time =
        |kind| -> u64 { away.iter().filter(|part| part.0 == of(kind)).map(|part| part.1).sum() };
    assert_eq!(of_time(VerdictKind::SubscriberAway), 700, "{away:?}");
    assert_eq!(of_time(VerdictKind::BrokerStalled), 0, "{away:?}");
}

#[test]
fn a_broker_that_does_not_read_its_consumer_is_not_stalled() {
    let throttled = dwell(|leg: &mut Leg| {
        leg.before.push(hop(200, 900, 900, 0));
        leg.circumstances.request.made = Some(Nanos(50_000));
        leg.circumstances.request.limits =
            Some(RequestLimits { longest: Nanos::from_millis(500), least_bytes: 1 });
        leg.circumstances.permission.requests_unread = Some((Nanos(300_000), Nanos(800_000)));
    });
    let of_time = |kind| -> u64 {
        throttled.iter().filter(|part| part.0 == of(kind)).map(|part| part.1).sum()
    };
    assert_eq!(of_time(VerdictKind::ClientThrottled), 500, "{throttled:?}");
    assert_eq!(of_time(VerdictKind::BrokerStalled), 0, "{throttled:?}");
}

/// A broker that lacks memory says so just after it had read the message.
#[test]
fn a_broker_that_does_not_read_its_publisher_may_keep_what_it_had_read() {
    let kept = |edit: fn(&mut Leg)| {
        let all = dwell(|leg: &mut Leg| {
            leg.before.push(hop(120, 900, 905, 0));
            leg.circumstances.permission.publisher_unread = Some((Nanos(102_000), Nanos(890_000)));
            edit(leg);
        });
        let of_time =
            |kind| -> u64 { all.iter().filter(|part| part.0 == of(kind)).map(|part| part.1).sum() };
        [VerdictKind::ClientThrottled, VerdictKind::BrokerStalled, VerdictKind::FetchWait]
            .map(of_time)
    };
    assert_eq!(kept(|_| ()), [788, 0, 0]);
    // What the consumer had not made room for is its own matter.
    let [throttled, stalled, waited] = kept(|leg| {
        leg.circumstances.permission.credit =
            Some(Credit { at: Nanos(600_000), full: Nanos(600_000), ..Credit::default() });
    });
    assert_eq!((throttled, stalled, waited), (290, 0, 500));
    // One that is asked has nothing to do with the publisher's quota.
    assert_eq!(kept(|leg| leg.circumstances.request.made = Some(Nanos(50_000)))[0], 0);
}

/// A broker that was asked at 50 µs, read at 1 ms, slept from 2 to 9 ms and sent at 11 ms: what it is blamed for, in
/// units of 10 µs.
fn asked_for(least_bytes: u64, longest: Nanos, filled: Option<u64>) -> Vec<(Cause, u64)> {
    dwell_of(10, |leg| {
        leg.before.push(hop(2_000, 9_000, 10_000, 5));
        let seen = &mut leg.circumstances;
        seen.request.made = Some(Nanos(50_000));
        seen.request.limits = Some(RequestLimits { longest, least_bytes });
        seen.request.filled = filled.map(|us| Nanos(us * 10_000));
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
        leg.circumstances.request.made = Some(Nanos(50_000));
        leg.circumstances.request.limits =
            Some(RequestLimits { longest: Nanos::from_millis(500), least_bytes: 1 });
    });
    assert!(!parts.iter().any(|part| part.0 == of(VerdictKind::BrokerStalled)), "{parts:?}");
}

#[test]
fn a_broker_that_is_much_too_late_did_not_wait_for_the_time_to_be_over() {
    // Due at 100 µs, and 15 ms late.
    let mut second = leg(&[(Stage::Send, 15_100), (Stage::Read, 15_200)]);
    second.before.push(hop(200, 15_000, 15_100, 0));
    second.circumstances.request.made = Some(Nanos(50_000));
    second.circumstances.request.limits =
        Some(RequestLimits { longest: Nanos(50_000), least_bytes: 1 });
    let parts = blamed(vec![leg(&[(Stage::Send, 0), (Stage::Read, 100)]), second]);
    let stalled: Vec<_> =
        parts.iter().filter(|part| part.2 == of(VerdictKind::BrokerStalled)).collect();
    assert_eq!(stalled, [&(1, Segment::BrokerDwell, of(VerdictKind::BrokerStalled), 14_800_000)]);
}

/// A broker that read at 100 µs was asked at 900 µs by a consumer that could have asked at 300 µs.
#[test]
fn a_consumer_that_asks_late_is_late_by_itself() {
    let asked_late = |asker: Option<OffCpu>| {
        let first = leg(&[(Stage::Send, 0), (Stage::Read, 100)]);
        let mut second = leg(&[(Stage::Send, 1_100), (Stage::Read, 1_200)]);
        second.circumstances.request.made = Some(Nanos(900_000));
        second.circumstances.request.free_since = Some(Nanos(300_000));
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
            leg.circumstances.request.made = Some(Nanos(50_000));
            leg.circumstances.request.limits =
                Some(RequestLimits { longest: Nanos::from_millis(500), least_bytes: 1 });
            leg.circumstances.request.awaits_commit = awaits_commit;
        })
    };
    assert_eq!(parts(true)[0], (of(VerdictKind::FetchWait), 800));
    assert!(parts(false).contains(&(of(VerdictKind::BrokerStalled), 700)));
}

#[test]
fn a_message_that_expired_in_its_queue_waited_for_that() {
    let parts = |has_expired| {
        dwell_of(10, |leg| {
            leg.before.push(hop(2_000, 9_000, 10_000, 5));
            leg.circumstances.subscription.has_expired = has_expired;
        })
    };
    assert_eq!(parts(true)[0], (of(VerdictKind::FetchWait), 800));
    assert!(parts(false).contains(&(of(VerdictKind::BrokerStalled), 700)));
}

/// A broker that read at 10 ms, slept until 109 ms and sent at 110 ms, with 60 ms of earlier bytes: in units of 100 µs.
fn kept_behind(tx: TxState, since_ms: u64, edit: impl FnOnce(&mut Leg)) -> Vec<(Cause, u64)> {
    let (since, time) = (Nanos::from_millis(since_ms), Nanos::from_millis(60));
    dwell_of(100, |leg| {
        leg.circumstances.socket.behind =
            Some(EarlierBytes { since, time, tx, send_len: 64, no_room: false });
        leg.before.push(hop(10_000, 109_000, 110_000, 5));
        edit(leg);
    })
}

#[test]
fn what_waits_behind_earlier_bytes_is_not_the_brokers() {
    let after = [(of(VerdictKind::BrokerStalled), 390), (of(VerdictKind::RunQueueContention), 10)];
    let small = TxState { window: 64, ..QUIET };
    for (tx, cause) in [
        (small, of(VerdictKind::ReceiveWindow)),
        (TxState { segments_out: 10, ..QUIET }, of(VerdictKind::CongestionWindow)),
        (TxState { unsent: 1_448, ..RESTED }, of(VerdictKind::SendBuffer)),
        (RESTED, Cause::Ordinary),
    ] {
        for since in [10, 40] {
            let told = kept_behind(tx, since, |_| {});
            assert_eq!(told, [&[(cause, 600)], &after[..]].concat(), "since {since} ms");
        }
    }
    // What keeps a small write may be set free by the next.
    assert_eq!(kept_behind(QUIET, 10, |_| {})[0], (of(VerdictKind::BrokerStalled), 990));
    // There was room when they were sent, and then none.
    let closed = kept_behind(QUIET, 10, |leg| {
        let behind = leg.circumstances.socket.behind.as_mut();
        behind.unwrap().no_room = true;
    });
    assert_eq!(closed[0], (of(VerdictKind::ReceiveWindow), 600));
    let lost = kept_behind(small, 10, |leg| {
        leg.circumstances.loss.missing = Some((Nanos::from_millis(20), Nanos::from_millis(50)));
    });
    let halves = [(of(VerdictKind::Retransmission), 300), (of(VerdictKind::ReceiveWindow), 300)];
    assert_eq!(lost[..2], halves);
}

#[test]
fn what_waits_behind_bytes_in_a_queue_on_the_path_waits_for_the_link() {
    let small = TxState { window: 64, ..QUIET };
    let told = kept_behind(small, 10, |leg| {
        let (from, to) = (Nanos::from_millis(30), Nanos::from_millis(200));
        let (longest, least, rate) = (Nanos::from_millis(40), Nanos::from_millis(1), 125_000);
        leg.circumstances.path.queue = Some(LinkQueue { from, to, longest, least, rate });
    });
    let parts = [(of(VerdictKind::BottleneckLink), 400), (of(VerdictKind::ReceiveWindow), 200)];
    assert_eq!(told[..2], parts);
}

#[test]
fn what_waits_for_the_queue_of_the_device_waits_there_too() {
    let congested = TxState { segments_out: 10, ..QUIET };
    let mut queued = leg(&[
        (Stage::Send, 110_000),
        (Stage::Queue, 110_000),
        (Stage::Xmit, 112_000),
        (Stage::Read, 120_000),
    ]);
    let (since, time) = (Nanos::from_millis(10), Nanos::from_millis(60));
    queued.circumstances.socket.behind =
        Some(EarlierBytes { since, time, tx: congested, send_len: 64, no_room: false });
    let parts = blamed(vec![leg(&[(Stage::Send, 0), (Stage::Read, 10_000)]), queued]);
    let in_queue = (1, Segment::BrokerDwell, of(VerdictKind::QdiscQueueing), 60_000_000);
    assert!(parts.contains(&in_queue), "{parts:?}");
}
