use super::*;
use wirelap_events::{CgroupId, Comm, Pid, TaskId, Tid};

const OWN: TaskId = TaskId { pid: Pid(7), tid: Tid(7) };

fn wake(left: u64, woken: u64, running: u64) -> (Nanos, Wake) {
    let task = TaskId { tid: Tid(77), ..TaskId::default() };
    let holder = Holder { task, held: Nanos(running - woken), ..Holder::default() };
    let rest = if left == woken { OffCpuReason::Preempted } else { OffCpuReason::Asleep };
    let (left, woken) = (Some(Nanos(left)), Nanos(woken));
    (Nanos(running), Wake { task: OWN, left, woken, reason: rest, holder, ..Wake::default() })
}

/// A sleep on a lock, which thread `by` of process `pid` ends; 0: a timer.
fn locked(left: u64, woken: u64, running: u64, pid: u32, by: u32) -> (Nanos, Wake) {
    let (at, wake) = wake(left, woken, running);
    let waker = TaskId { pid: Pid(pid), tid: Tid(by) };
    let waker_comm = Comm::from_name("hog");
    (at, Wake { sleep: SleepCall::Lock, waker, waker_comm, from_irq: by == 0, ..wake })
}

fn history(wakes: &[(Nanos, Wake)]) -> ThreadHistory {
    let mut history = ThreadHistory::default();
    for (at, wake) in wakes {
        history.runs(*at, wake);
    }
    history
}

fn between(history: &ThreadHistory, from: u64, to: u64) -> Option<(u64, u64)> {
    history.between(Nanos(from), Nanos(to)).map(|rested| (rested.asleep.0, rested.waited.0))
}

#[test]
fn rests_are_cut_where_the_question_begins_and_ends() {
    // Runs until 100, sleeps until 200, waits until 230, runs until 300, is preempted until 350.
    let history = history(&[wake(100, 200, 230), wake(300, 300, 350)]);
    assert_eq!(between(&history, 100, 230), Some((100, 30)));
    assert_eq!(between(&history, 150, 210), Some((50, 10)));
    assert_eq!(between(&history, 230, 1000), Some((0, 50)));
    assert_eq!(between(&history, 310, 320), Some((0, 10)));
    assert_eq!(between(&history, 360, 900), Some((0, 0)));
    assert_eq!(between(&history, 99, 300), None);
    let rested = history.between(Nanos(100), Nanos(400)).unwrap();
    assert_eq!((rested.preemptions, rested.holder.held), (1, Nanos(80)));
}

/// The kernel did not tell of a switch to it: whether it ran or slept before is not known.
#[test]
fn nothing_is_claimed_of_what_was_missed() {
    let (at, late) = wake(500, 550, 560);
    let history = history(&[wake(100, 200, 230), (at, Wake { missed: true, ..late })]);
    let hidden = |from, to| history.between(Nanos(from), Nanos(to)).map(|rested| rested.hidden.0);
    assert_eq!((between(&history, 240, 500), hidden(240, 500)), (Some((0, 0)), Some(260)));
    assert_eq!((between(&history, 500, 560), hidden(500, 560)), (Some((50, 10)), Some(0)));
    // What was before and after is known.
    assert_eq!((between(&history, 100, 560), hidden(100, 560)), (Some((150, 40)), Some(270)));
    assert_eq!(history.was_awake(Nanos(400)), None);
}

/// The switch to a thread that goes on was not seen; the next one tells of the stop, and when that ended.
#[test]
fn a_stop_is_known_where_the_switch_after_it_was_missed() {
    let ((at, stop), (next_at, next)) = (wake(100, 900, 900), wake(950, 980, 990));
    let stop = Wake { reason: OffCpuReason::Stopped, ..stop };
    let history = history(&[(at, stop), (next_at, Wake { missed: true, ..next })]);
    let rested = history.between(Nanos(100), Nanos(990)).unwrap();
    let sleeps = (rested.stopped.0, rested.asleep.0);
    assert_eq!((sleeps, rested.waited.0, rested.hidden.0), ((800, 830), 10, 50));
}

#[test]
fn what_is_long_past_is_coarse_but_not_forgotten() {
    let mut history = ThreadHistory::default();
    // Of each 100 it sleeps 20, waits 30 and runs 50.
    for round in 0..10_000 {
        let at = round * 100;
        let (at, wake) = wake(at, at + 20, at + 50);
        history.runs(at, &wake);
    }
    assert_eq!(between(&history, 0, 999_950), Some((200_000, 300_000)));
    let (asleep, waited) = between(&history, 499_950, 999_950).unwrap();
    assert!(asleep.abs_diff(100_000) < 100 && waited.abs_diff(150_000) < 100, "{asleep} {waited}");
    // The newest are exact.
    assert_eq!(between(&history, 999_850, 999_935), Some((20, 15)));
    // All waits had the same holder, however far back.
    let rested = history.between(Nanos(0), Nanos(999_950)).unwrap();
    assert!(rested.holder.held.0.abs_diff(300_000) < 100, "{:?}", rested.holder);
}

#[test]
fn a_busy_thread_is_known_exactly_for_as_long_as_its_messages_are_held() {
    let mut history = ThreadHistory::default();
    // Each 100 µs: it sleeps 60, waits 10 and runs 30. Once it waits 10 ms.
    for round in 0..10_000_u64 {
        let at = round * 100_000 + if round > 9_000 { 10_000_000 } else { 0 };
        let wait = if round == 9_000 { 10_010_000 } else { 10_000 };
        let (at, wake) = wake(at, at + 60_000, at + 60_000 + wait);
        history.runs(at, &wake);
    }
    assert!(history.stretches.len() <= MOST);
    // The last message before the long wait, and those in it.
    assert_eq!(between(&history, 899_970_000, 900_000_000), Some((0, 0)));
    assert_eq!(between(&history, 901_000_000, 910_000_000), Some((0, 9_000_000)));
    // One that seldom runs keeps few.
    let mut seldom = ThreadHistory::default();
    for round in 0..1_000_u64 {
        let at = round * 10_000_000;
        let (at, wake) = wake(at, at + 60_000, at + 70_000);
        seldom.runs(at, &wake);
    }
    assert!(seldom.stretches.len() <= KEPT, "{}", seldom.stretches.len());
}

#[test]
fn who_had_the_cpu_never_adds_up_to_more_than_the_wait() {
    let task = |tid| TaskId { tid: Tid(tid), ..TaskId::default() };
    let mut wakes = Vec::new();
    for round in 0..6 {
        let (at, mut wake) = wake(round * 100, round * 100, round * 100 + 60);
        wake.holder = Holder { task: task(70), held: Nanos(30), ..Holder::default() };
        let tid = 71 + u32::try_from(round).unwrap();
        wake.others[0] = Holder { task: task(tid), held: Nanos(20), ..Holder::default() };
        wakes.push((at, wake));
    }
    let history = history(&wakes);
    // Half of the second wait and all of the third.
    let rested = history.between(Nanos(130), Nanos(290)).unwrap();
    assert_eq!((rested.waited, rested.holder.held), (Nanos(90), Nanos(45)));
    assert_eq!(rested.others.map(|other| other.held.0), [20, 10, 0]);
    // Of all, the least are not named.
    let rested = history.between(Nanos(0), Nanos(900)).unwrap();
    let named: u64 = rested.holders().map(|holder| holder.held.0).sum();
    assert_eq!((rested.waited.0, rested.holder.held.0, named), (360, 180, 180 + 3 * 20));
}

#[test]
fn a_wait_for_quota_is_told_from_one_for_a_cpu() {
    let (at, mut wake) = wake(100, 100, 190);
    wake.throttled = Nanos(60);
    wake.cgroup = CgroupId(5);
    wake.holder.held = Nanos(30);
    let history = history(&[(at, wake)]);
    let rested = |from, to| {
        let rested = history.between(Nanos(from), Nanos(to)).unwrap();
        (rested.waited.0, rested.throttled.0, rested.holder.held.0, rested.cgroup.0)
    };
    assert_eq!(rested(100, 500), (90, 60, 30, 5));
    assert_eq!(rested(100, 140), (40, 40, 0, 5));
    assert_eq!(rested(150, 175), (25, 10, 15, 5));
    assert_eq!(rested(160, 190), (30, 0, 30, 0));
}

#[test]
fn a_lock_is_waited_for_until_a_thread_lets_go() {
    let history = history(&[locked(100, 5_000, 5_010, 7, 8)]);
    let rested = history.between(Nanos(1_000), Nanos(9_000)).unwrap();
    assert_eq!((rested.asleep, rested.locked), (Nanos(4_000), Nanos(4_000)));
    assert_eq!((rested.waker.task.tid, rested.waker.comm.as_str()), (Tid(8), "hog"));
    let after = history.between(Nanos(5_000), Nanos(9_000)).unwrap();
    assert_eq!((after.locked, after.waker), (Nanos(0), Holder::NOBODY));
}

#[test]
fn time_limits_on_the_way_to_a_lock_are_waits_for_it() {
    // Python's threads look after 5 ms, and ask for the lock: then it is let go.
    let wakes = [
        locked(1_000_000, 6_000_000, 6_010_000, 0, 0),
        locked(6_030_000, 11_030_000, 11_040_000, 0, 0),
        locked(11_060_000, 11_070_000, 11_080_000, 7, 8),
    ];
    let held_up = history(&wakes);
    let rested = held_up.between(Nanos(1_000_000), Nanos(12_000_000)).unwrap();
    assert_eq!((rested.asleep, rested.locked), (Nanos(10_010_000), Nanos(10_010_000)));
    assert_eq!(rested.waker.task.tid, Tid(8));

    // Once the thread is known that passes the lock on, it has it also when this one finds it free after a time limit.
    let mut found_free = wakes.to_vec();
    found_free.push(locked(12_000_000, 17_000_000, 17_010_000, 0, 0));
    let rested = history(&found_free).between(Nanos(12_000_000), Nanos(18_000_000)).unwrap();
    assert_eq!((rested.locked, rested.waker.task.tid), (Nanos(5_000_000), Tid(8)));
    found_free[3] = locked(1_600_000_000, 1_605_000_000, 1_605_010_000, 0, 0);
    let late = history(&found_free).between(Nanos(1_600_000_000), Nanos(1_605_010_000));
    assert_eq!(late.unwrap().locked, Nanos(0));

    // One that works in between, or that no thread wakes, only looks now and then.
    let works = history(&[wakes[0], locked(8_000_000, 8_010_000, 8_020_000, 7, 8)]);
    let rested = works.between(Nanos(1_000_000), Nanos(12_000_000)).unwrap();
    assert_eq!((rested.asleep, rested.locked), (Nanos(5_010_000), Nanos(10_000)));
    let polls = history(&wakes[..2]);
    assert_eq!(polls.between(Nanos(1_000_000), Nanos(12_000_000)).unwrap().locked, Nanos(0));
}

#[test]
fn a_preemption_on_the_way_to_a_lock_hides_no_sleep_on_it() {
    let wakes = [
        locked(1_000_000, 6_000_000, 6_010_000, 0, 0),
        wake(6_020_000, 6_020_000, 9_020_000),
        locked(9_030_000, 9_040_000, 9_050_000, 7, 8),
    ];
    let rested = history(&wakes).between(Nanos(1_000_000), Nanos(10_000_000)).unwrap();
    assert_eq!((rested.locked, rested.waited), (Nanos(5_010_000), Nanos(3_020_000)));
    assert_eq!((rested.asleep, rested.timed), (rested.locked, Nanos(0)));
    assert_eq!(rested.holder.held, Nanos(3_020_000));
}

#[test]
fn who_has_the_lock_and_the_cpu_keeps_others_waiting_for_the_lock() {
    // Data wakes the thread, which waits 3 ms for a CPU, and then for a lock.
    let rested = |holder: u32, limit: u64| {
        let task = TaskId { pid: Pid(7), tid: Tid(holder) };
        let (at, data) = wake(500_000, 2_000_000, 5_000_000);
        let holder = Holder { task, held: Nanos(3_000_000), ..Holder::default() };
        let wakes = [
            (at, Wake { holder, sleep: SleepCall::Poll, from_irq: true, ..data }),
            locked(5_010_000, limit, limit + 10_000, 0, 0),
            locked(limit + 20_000, limit + 30_000, limit + 40_000, 7, 8),
        ];
        let history = history(&wakes);
        let rested = history.between(Nanos(1_900_000), Nanos(20_000_000)).unwrap();
        assert_eq!(rested.asleep + rested.waited, Nanos(100_000 + 3_030_000 + limit - 5_010_000));
        assert_eq!(rested.polled, Nanos(100_000));
        (rested.locked.0, rested.waited.0, rested.holder.held.0)
    };
    assert_eq!(rested(8, 10_010_000), (8_010_000, 20_000, 20_000));
    assert_eq!(rested(9, 10_010_000), (5_010_000, 3_020_000, 3_000_000), "another has the CPU");
    assert_eq!(rested(8, 5_510_000), (510_000, 3_020_000, 3_000_000), "it may have taken it later");
}

#[test]
fn sleeps_by_timers_count_if_the_last_one_was_such_a_sleep() {
    let poll = |left, woken, sleep| {
        let (at, wake) = wake(left, woken, woken + 10);
        (at, Wake { sleep, from_irq: true, ..wake })
    };
    let history = history(&[
        poll(100, 200, SleepCall::Poll),
        poll(210, 250, SleepCall::TimedPoll),
        poll(260, 280, SleepCall::Poll),
        poll(300, 800, SleepCall::TimedPoll),
        wake(850, 850, 860),
    ]);
    let rested = |from, to| history.between(Nanos(from), Nanos(to)).unwrap();
    let all = rested(100, 900);
    assert_eq!((all.timed_poll, all.polled, all.timed), (Nanos(540), Nanos(660), Nanos(0)));
    assert_eq!(rested(500, 900).timed_poll, Nanos(300));
    // What ends later tells nothing of what came before.
    assert_eq!(rested(100, 700).timed_poll, Nanos(0));
    assert_eq!(rested(810, 900).timed_poll, Nanos(0));
}

/// A loop that gets other data meanwhile waits for what led to its last wakeup.
#[test]
fn sleeps_until_data_came_in_count_if_the_last_one_was_such_a_sleep() {
    let by_data = |last: SleepCall, pid: u32, from_irq: bool| {
        let slept = |left, woken, sleep, from_irq| {
            let (at, wake) = locked(left, woken, woken + 10, pid, 8);
            (at, Wake { sleep, from_irq, ..wake })
        };
        let first = slept(100, 3_000, SleepCall::Poll, true);
        let history = history(&[first, slept(3_100, 5_000, last, from_irq)]);
        history.between(Nanos(100), Nanos(6_000)).unwrap().by_data.0
    };
    assert_eq!(by_data(SleepCall::Poll, 9, true), 2_900 + 1_900);
    assert_eq!(by_data(SleepCall::Call, 9, true), 2_900 + 1_900);
    // Another thread of the process, a timer, and a lock that another process lets go.
    assert_eq!(by_data(SleepCall::Poll, 7, false), 0);
    assert_eq!(by_data(SleepCall::TimedPoll, 9, true), 0);
    assert_eq!(by_data(SleepCall::Lock, 9, false), 0);
}

#[test]
fn another_process_is_waited_for_and_a_thread_that_hands_on_is_not() {
    let of = |sleep, pid, from_irq| {
        let (at, wake) = locked(100, 5_000, 5_010, pid, 8);
        let history = history(&[(at, Wake { sleep, from_irq, ..wake })]);
        history.between(Nanos(100), Nanos(6_000)).unwrap().locked.0
    };
    assert_eq!(of(SleepCall::Call, 9, false), 4_900);
    assert_eq!(of(SleepCall::Lock, 9, false), 4_900);
    assert_eq!(of(SleepCall::Call, 7, false), 0);
    assert_eq!(of(SleepCall::Call, 9, true), 0);
    assert_eq!(of(SleepCall::Timer, 9, false), 0);
    assert_eq!(of(SleepCall::Unknown, 9, false), 0);
}

#[test]
fn who_is_stopped_or_sleeps_by_the_clock_hears_nothing() {
    let of = |rest, sleep| {
        let (at, awake) = wake(100, 5_000, 5_010);
        let history = history(&[(at, Wake { reason: rest, sleep, ..awake })]);
        history.between(Nanos(1_000), Nanos(6_000)).unwrap().deaf.0
    };
    assert_eq!(of(OffCpuReason::Stopped, SleepCall::Unknown), 4_000);
    assert_eq!(of(OffCpuReason::Blocked, SleepCall::Call), 4_000);
    assert_eq!(of(OffCpuReason::Asleep, SleepCall::Timer), 4_000);
    assert_eq!(of(OffCpuReason::Asleep, SleepCall::Call), 0);
}

#[test]
fn who_polls_until_another_process_wakes_it_waits_for_that_one() {
    let of = |sleep, pid, from_irq| {
        let (at, wake) = locked(100, 5_000, 5_010, pid, 8);
        let history = history(&[(at, Wake { sleep, from_irq, ..wake })]);
        let rested = history.between(Nanos(100), Nanos(6_000)).unwrap();
        (rested.polled.0, rested.locked.0)
    };
    assert_eq!(of(SleepCall::Poll, 7, false), (4_900, 0));
    assert_eq!(of(SleepCall::Poll, 9, true), (4_900, 0));
    assert_eq!(of(SleepCall::Poll, 9, false), (0, 4_900));
    assert_eq!(of(SleepCall::Call, 9, true), (0, 0));
}
