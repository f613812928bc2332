//! Tests of `off_cpu`.

use super::*;
use wirelap_events::{Circumstances, Cpu, MessageRequest, OffCpuReason, Pid, SocketId, Tid, Wake};
use wirelap_test_support::delivered;

const NETWORK: u32 = 1;
const HANDLER: u32 = 2;

fn task(tid: u32) -> TaskId {
    TaskId { pid: Pid(7), tid: Tid(tid) }
}

/// A sleep of a thread, in milliseconds, and who ended it; an interrupt if nobody did.
fn rest(tid: u32, left: u64, woken: u64, sleep: SleepCall, by: Option<u32>) -> Wake {
    Wake {
        task: task(tid),
        left: Some(Nanos::from_millis(left)),
        woken: Nanos::from_millis(woken),
        sleep,
        waker: task(by.unwrap_or(99)),
        from_irq: by.is_none(),
        ..Wake::default()
    }
}

fn blocked(wake: Wake) -> Wake {
    Wake { reason: OffCpuReason::Blocked, ..wake }
}

/// Times off the CPU of the first of these threads before its wakeup, for a message that was in the socket from 100
/// to 900 ms.
fn before_wakeup(wakes: &[Wake], chain: &[u32]) -> OffCpu {
    let (mut threads, mut processes) = (Threads::new(16), Processes::default());
    for wake in wakes {
        threads.wake(wake.woken, Cpu(0), wake);
        processes.wake(wake.woken, wake);
    }
    let ms = |at: u64| at * 1_000_000;
    let stages = [(Stage::Ready, ms(100)), (Stage::Wakeup, ms(900)), (Stage::Read, ms(901))];
    let mut leg = delivered::leg(&stages);
    leg.reader = chain.last().map(|&tid| task(tid));
    leg.chain = chain.iter().map(|&tid| Hop { task: task(tid), ..Hop::default() }).collect();
    let mut delivery = delivered::delivery(vec![leg]);
    Schedules { threads: &threads, processes: &processes }.fill(&mut delivery);
    delivery.off_cpu_of(0).before_wakeup.unwrap()
}

#[test]
fn a_process_that_speaks_tcp_itself_is_late_only_where_nothing_could_wake_it() {
    let unread = |reason: OffCpuReason, to: Option<SocketId>| {
        let mut threads = Threads::new(16);
        let before = rest(NETWORK, 10, 20, SleepCall::Poll, None);
        let wake = Wake { reason, ..rest(NETWORK, 110, 400, SleepCall::Poll, None) };
        for wake in [before, wake] {
            threads.wake(wake.woken, Cpu(0), &wake);
        }
        let ms = |at: u64| at * 1_000_000;
        let stages = [(Stage::Send, ms(100)), (Stage::Sent, ms(101)), (Stage::Xmit, ms(402))];
        let mut leg = delivered::leg(&stages);
        (leg.reader, leg.to) = (Some(task(NETWORK)), to);
        leg.circumstances.unread = Some((Nanos(ms(101)), Nanos(u64::MAX)));
        let mut delivery = delivered::delivery(vec![leg]);
        let processes = Processes::default();
        Schedules { threads: &threads, processes: &processes }.fill(&mut delivery);
        let unread = &delivery.off_cpu_of(0).unread;
        [unread.asleep, unread.stopped, unread.hidden].map(|time| time.0 / 1_000_000)
    };
    assert_eq!(unread(OffCpuReason::Stopped, None), [290, 290, 0]);
    assert_eq!(unread(OffCpuReason::Asleep, None), [0, 0, 290]);
    assert_eq!(unread(OffCpuReason::Asleep, Some(SocketId(3))), [290, 0, 0]);
}

/// A pool: its threads wait until the network's thread has something for them, and wake it when it is done.
fn pool(handled: Wake) -> OffCpu {
    let wakes = [
        rest(HANDLER, 1, 10, SleepCall::Lock, Some(NETWORK)),
        rest(NETWORK, 11, 20, SleepCall::Poll, Some(HANDLER)),
        // It waited for most of the time, until there was something to do.
        rest(HANDLER, 30, 300, SleepCall::Lock, Some(NETWORK)),
        handled,
        rest(NETWORK, 301, 900, SleepCall::Poll, Some(HANDLER)),
    ];
    before_wakeup(&wakes, &[HANDLER, NETWORK])
}

#[test]
fn nobody_waits_for_himself() {
    let rested = pool(rest(HANDLER, 310, 890, SleepCall::Timer, None));
    assert_eq!((rested.locked, rested.blocked), (Nanos(0), Nanos(0)));
    assert_eq!(rested.asleep, Nanos::from_millis(599));
    assert_eq!(rested.polled, rested.asleep);
}

#[test]
fn who_waits_for_one_that_hands_work_over_and_waits_for_a_disk_waits_for_the_disk() {
    let rested = pool(blocked(rest(HANDLER, 310, 890, SleepCall::Unknown, None)));
    assert_eq!((rested.locked, rested.blocked), (Nanos(0), Nanos::from_millis(580)));
    assert_eq!((rested.blocker.task, rested.polled), (task(HANDLER), Nanos::from_millis(19)));
}

/// A reader sleeps for most of the time, which `last` ends, while another thread of its process waits so: its rests.
fn beside(waiting: Wake, last: Wake) -> OffCpu {
    let first = rest(NETWORK, 11, 20, SleepCall::Poll, None);
    let (mut threads, mut processes) = (Threads::new(16), Processes::default());
    for (wake, ran) in [(first, 20), (waiting, 800), (last, 900)] {
        threads.wake(Nanos::from_millis(ran), Cpu(0), &wake);
        processes.wake(Nanos::from_millis(ran), &wake);
    }
    let schedules = Schedules { threads: &threads, processes: &processes };
    let (from, to) = (Nanos::from_millis(100), Nanos::from_millis(900));
    schedules.followed(task(NETWORK), from, to).unwrap()
}

#[test]
fn who_waits_for_others_elsewhere_waits_for_no_cpu_and_no_quota_of_its_process() {
    let ms = Nanos::from_millis;
    let queued = rest(HANDLER, 310, 400, SleepCall::Lock, Some(NETWORK));
    let throttled = Wake { throttled: ms(400), ..queued };
    let rested = |waiting, last| {
        let rested = beside(waiting, last);
        (rested.asleep, rested.waited, rested.throttled)
    };
    let by_own = rest(NETWORK, 100, 900, SleepCall::Poll, Some(HANDLER));
    assert_eq!(rested(queued, by_own), (ms(400), ms(400), Nanos(0)));
    assert_eq!(rested(throttled, by_own), (ms(400), ms(400), ms(400)));
    for call in [SleepCall::Call, SleepCall::Poll] {
        let by_data = rest(NETWORK, 100, 900, call, None);
        assert_eq!(rested(queued, by_data), (ms(800), Nanos(0), Nanos(0)));
        assert_eq!(rested(throttled, by_data), (ms(800), Nanos(0), Nanos(0)));
    }
}

/// A consumer's thread reads until 20 ms and sleeps until 900 ms, while another one computes; one of the two asks, or acknowledges, at
/// 800 ms: what that one slept meanwhile.
fn slept_by(by: Option<u32>, tell: impl Fn(&mut Circumstances, Option<TaskId>)) -> Nanos {
    let wakes = [
        rest(HANDLER, 1, 15, SleepCall::Lock, Some(NETWORK)),
        rest(NETWORK, 11, 20, SleepCall::Poll, None),
        rest(NETWORK, 21, 900, SleepCall::Poll, None),
    ];
    let (mut threads, processes) = (Threads::new(16), Processes::default());
    for wake in &wakes {
        threads.wake(wake.woken, Cpu(0), wake);
    }
    let ms = |at: u64| at * 1_000_000;
    let first = delivered::leg(&[(Stage::Send, 0), (Stage::Read, ms(100))]);
    let mut second = delivered::leg(&[(Stage::Send, ms(810)), (Stage::Read, ms(950))]);
    second.reader = Some(task(NETWORK));
    tell(&mut second.circumstances, by.map(task));
    let mut delivery = delivered::delivery(vec![first, second]);
    Schedules { threads: &threads, processes: &processes }.fill(&mut delivery);
    delivery.off_cpu_of(1).requester.unwrap().asleep
}

#[test]
fn who_works_before_it_acknowledges_does_not_sleep_as_who_reads_does() {
    let ms = Nanos::from_millis;
    let asks = |seen: &mut Circumstances, by| {
        seen.request = MessageRequest {
            made: Some(ms(800)),
            free_since: Some(ms(100)),
            by,
            ..MessageRequest::default()
        };
    };
    let acknowledges = |seen: &mut Circumstances, by| {
        let (at, own) = (ms(800), ms(700));
        seen.permission.credit = Some(Credit { at, full: own, own, by, ..Credit::default() });
    };
    for by in [None, Some(NETWORK)] {
        assert_eq!([slept_by(by, asks), slept_by(by, acknowledges)], [ms(700); 2]);
    }
    let other = Some(HANDLER);
    assert_eq!([slept_by(other, asks), slept_by(other, acknowledges)], [Nanos(0); 2]);
}

#[test]
fn a_disk_that_another_writes_to_for_itself_is_not_it() {
    let wakes = [
        rest(NETWORK, 11, 20, SleepCall::Poll, None),
        blocked(rest(HANDLER, 310, 890, SleepCall::Unknown, None)),
        rest(NETWORK, 30, 900, SleepCall::Poll, None),
    ];
    let rested = before_wakeup(&wakes, &[NETWORK]);
    assert_eq!((rested.blocked, rested.polled), (Nanos(0), Nanos::from_millis(800)));
}

/// Times off the CPU of a consumer that took 800 ms to ask, after these wakeups.
fn late_request(wakes: &[Wake]) -> Option<OffCpu> {
    request_made(wakes, Nanos::from_millis(50), Nanos(0))
}

/// Times off the CPU of a consumer that asked at 900 ms, after these wakeups; the broker had the message at 100 ms. It might have asked from a
/// moment on, and earlier for a time `between` answers and requests.
fn request_made(wakes: &[Wake], free_since: Nanos, between: Nanos) -> Option<OffCpu> {
    let (mut threads, mut processes) = (Threads::new(16), Processes::default());
    for wake in wakes {
        threads.wake(wake.woken, Cpu(0), wake);
        processes.wake(wake.woken, wake);
    }
    let ms = |at: u64| at * 1_000_000;
    let to_broker = delivered::leg(&[(Stage::Send, ms(99)), (Stage::Read, ms(100))]);
    let mut leg = delivered::leg(&[(Stage::Send, ms(901)), (Stage::Read, ms(902))]);
    leg.reader = Some(task(NETWORK));
    leg.circumstances.request.free_since = Some(free_since);
    leg.circumstances.request.between = between;
    leg.circumstances.request.made = Some(Nanos::from_millis(900));
    let mut delivery = delivered::delivery(vec![to_broker, leg]);
    Schedules { threads: &threads, processes: &processes }.fill(&mut delivery);
    delivery.off_cpu_of(1).requester
}

#[test]
fn who_was_not_seen_to_rest_worked_only_if_the_scheduler_is_observed() {
    assert_eq!(late_request(&[]), None);
    let other = rest(HANDLER, 310, 890, SleepCall::Timer, None);
    assert_eq!(late_request(&[other]), Some(OffCpu::NONE));
    let own = [
        rest(NETWORK, 10, 20, SleepCall::Timer, None),
        rest(NETWORK, 200, 800, SleepCall::Timer, None),
    ];
    let asleep = late_request(&own).map(|rested| rested.asleep);
    assert_eq!(asleep, Some(Nanos::from_millis(600)));
}

/// The thread slept between two requests for 380 ms, and awaited an answer for 300 ms.
#[test]
fn what_a_consumer_slept_before_an_earlier_request_counts() {
    let wakes = [
        rest(NETWORK, 10, 20, SleepCall::Timer, None),
        rest(NETWORK, 120, 500, SleepCall::Timer, None),
        rest(NETWORK, 500, 800, SleepCall::Poll, None),
    ];
    let ms = Nanos::from_millis;
    let asleep = |between| request_made(&wakes, ms(800), between).map(|rested| rested.asleep);
    assert_eq!(asleep(ms(400)), Some(ms(380)));
    assert_eq!(asleep(Nanos(0)), Some(Nanos(0)), "it asked at once");
}
