use super::*;
use wirelap_events::Pid;

fn task(tid: u32) -> TaskId {
    TaskId { pid: Pid(1), tid: Tid(tid) }
}

fn threads(wakes: &[(u32, u64, u64, Option<u32>)]) -> Threads {
    let mut threads = Threads::new(16);
    for &(tid, woken, running, by) in wakes {
        let wake = Wake {
            task: task(tid),
            woken: Nanos(woken),
            waker: task(by.unwrap_or(99)),
            from_irq: by.is_none(),
            ..Wake::default()
        };
        threads.wake(Nanos(running), Cpu(1), &wake);
    }
    threads
}

fn tids(hops: &[Hop]) -> Vec<u32> {
    hops.iter().map(|hop| hop.task.tid.0).collect()
}

#[test]
fn a_chain_leads_to_the_interrupt() {
    let threads = threads(&[(1, 10, 20, None), (2, 30, 40, Some(1)), (1, 90, 95, None)]);
    let chain = threads.chain(task(2), Nanos(50));
    assert_eq!(tids(&chain), [1, 2]);
    assert!(chain.iter().all(|hop| hop.cpu == Some(Cpu(1))));
    let (wakeup, hops) = set_off(&chain, Nanos(5)).unwrap();
    assert_eq!((wakeup, tids(hops)), (Nanos(10), vec![1, 2]));
}

#[test]
fn a_thread_that_ran_before_the_data_came_was_busy() {
    let threads = threads(&[(1, 10, 20, None)]);
    assert_eq!(set_off(&threads.chain(task(1), Nanos(50)), Nanos(20)), None);
    assert_eq!(set_off(&threads.chain(task(7), Nanos(50)), Nanos(20)), None);
}

#[test]
fn a_thread_woken_for_something_else_only_waits_for_its_cpu() {
    let threads = threads(&[(1, 10, 40, None)]);
    let chain = threads.chain(task(1), Nanos(50));
    assert_eq!(set_off(&chain, Nanos(30)).unwrap().0, Nanos(30));
}

#[test]
fn wakers_before_the_data_are_no_part_of_it() {
    let threads = threads(&[(1, 1, 2, None), (2, 30, 40, Some(1))]);
    let chain = threads.chain(task(2), Nanos(50));
    assert_eq!(tids(set_off(&chain, Nanos(25)).unwrap().1), [2]);
}

#[test]
fn threads_that_wake_each_other_hand_nothing_on() {
    // The reader ran after the data had come, let go of a lock, and had to wait for it again.
    let threads = threads(&[(1, 10, 20, None), (2, 40, 45, Some(1)), (1, 90, 95, Some(2))]);
    let chain = threads.chain(task(1), Nanos(99));
    let (wakeup, hops) = set_off(&chain, Nanos(30)).unwrap();
    assert_eq!((wakeup, tids(hops)), (Nanos(90), vec![1]));
}

#[test]
fn who_naps_with_a_lock_was_not_woken_by_the_data() {
    let threads = threads(&[(1, 60, 65, None), (2, 70, 75, Some(1))]);
    let mut chain = threads.chain(task(2), Nanos(99));
    assert_eq!(tids(set_off(&chain, Nanos(50)).unwrap().1), [1, 2]);
    chain[0].sleep = SleepCall::Timer;
    let (wakeup, hops) = set_off(&chain, Nanos(50)).unwrap();
    assert_eq!((wakeup, tids(hops)), (Nanos(70), vec![2]));
}

#[test]
fn preemptions_are_no_wakeups() {
    let mut threads = threads(&[(1, 10, 20, None)]);
    for (woken, running) in [(30, 40), (50, 80)] {
        let left = Some(Nanos(woken));
        let (woken, rest) = (Nanos(woken), OffCpuReason::Preempted);
        let wake = Wake { task: task(1), woken, left, reason: rest, ..Wake::default() };
        threads.wake(Nanos(running), Cpu(1), &wake);
    }
    assert_eq!(tids(&threads.chain(task(1), Nanos(100))), [1]);
    let all = threads.rested(Tid(1), Nanos(20), Nanos(100)).unwrap();
    assert_eq!((all.waited, all.asleep, all.preemptions), (Nanos(40), Nanos(0), 2));
    // 20..30 and 40..50 of 20..120.
    assert!((threads.busy(Tid(1), Nanos(120)).unwrap().share - 0.2).abs() < 1e-9);
}

#[test]
fn sleep_is_told_from_waits_for_a_cpu_and_for_a_disk() {
    let mut threads = threads(&[(1, 10, 20, None)]);
    for (left, woken, running, reason) in [
        (30, 40, 45, OffCpuReason::Asleep),
        (50, 70, 70, OffCpuReason::Blocked),
        (80, 85, 90, OffCpuReason::Asleep),
    ] {
        let (left, woken) = (Some(Nanos(left)), Nanos(woken));
        let wake = Wake { task: task(1), woken, left, reason, ..Wake::default() };
        threads.wake(Nanos(running), Cpu(1), &wake);
    }
    assert_eq!(threads.slept(Tid(1), Nanos(35), Nanos(100)), Some(Nanos(10)));
    assert_eq!(threads.slept(Tid(1), Nanos(5), Nanos(100)), None, "not followed yet");
    assert_eq!(threads.slept(Tid(2), Nanos(35), Nanos(100)), None);
}

#[test]
fn who_waits_for_a_thread_that_has_no_cpu_waits_for_a_cpu() {
    let mut threads = threads(&[(1, 10, 20, None), (2, 10, 20, None)]);
    // The thread with the lock lost its CPU to another program for most of the time.
    let hog = Holder { task: task(9), held: Nanos(700), ..Holder::default() };
    let lost = Wake {
        task: task(2),
        woken: Nanos(150),
        left: Some(Nanos(150)),
        reason: OffCpuReason::Preempted,
        holder: hog,
        ..Wake::default()
    };
    threads.wake(Nanos(850), Cpu(1), &lost);
    threads.wake(Nanos(1_010), Cpu(1), &let_go(2, 1, 1_000));
    let rested = threads.rested(Tid(1), Nanos(100), Nanos(1_010)).unwrap();
    assert_eq!((rested.locked, rested.asleep), (Nanos(200), Nanos(200)));
    assert_eq!((rested.waited, rested.throttled), (Nanos(710), Nanos(0)));
    assert_eq!((rested.holder.task, rested.holder.held), (task(9), Nanos(700)));
}

/// The wakeup of a thread that has waited since 100 for a lock that `by` lets go.
fn let_go(by: u32, tid: u32, woken: u64) -> Wake {
    Wake {
        task: task(tid),
        woken: Nanos(woken),
        waker: task(by),
        left: Some(Nanos(100)),
        sleep: SleepCall::Lock,
        ..Wake::default()
    }
}

#[test]
fn who_waits_for_a_thread_that_sleeps_by_itself_waits_for_that() {
    for (from_irq, is_timed) in [(true, true), (false, false)] {
        let first = &[1, 2].map(|tid| (tid, 10, 20, None));
        let mut threads = threads(first);
        // The thread with the lock sleeps as Java does, until a timer ends it or another thread does.
        let slept = Wake {
            task: task(2),
            woken: Nanos(900),
            left: Some(Nanos(200)),
            sleep: SleepCall::Lock,
            from_irq,
            waker: if from_irq { TaskId::default() } else { task(3) },
            ..Wake::default()
        };
        threads.wake(Nanos(900), Cpu(0), &slept);
        threads.wake(Nanos(1_000), Cpu(1), &let_go(2, 1, 1_000));
        let rested = threads.rested(Tid(1), Nanos(100), Nanos(1_000)).unwrap();
        assert_eq!((rested.asleep, rested.behind_timer), (Nanos(900), is_timed));
        let parts = if is_timed { (200, 700) } else { (900, 0) };
        assert_eq!((rested.locked.0, rested.blocked.0), parts);
        assert_eq!(rested.blocker.task == task(2), is_timed);
    }
}

#[test]
fn who_waits_for_a_thread_that_waits_for_data_waits_for_no_lock() {
    let first = &[1, 2].map(|tid| (tid, 10, 20, None));
    let mut threads = threads(first);
    // A timer of the program ended its wait, and it hands out what is due then.
    let polled = Wake {
        task: task(2),
        woken: Nanos(900),
        left: Some(Nanos(200)),
        sleep: SleepCall::Poll,
        from_irq: true,
        ..Wake::default()
    };
    threads.wake(Nanos(900), Cpu(0), &polled);
    threads.wake(Nanos(1_000), Cpu(1), &let_go(2, 1, 1_000));
    let rested = threads.rested(Tid(1), Nanos(100), Nanos(1_000)).unwrap();
    assert_eq!((rested.asleep.0, rested.locked.0, rested.polled.0), (900, 200, 700));
}

#[test]
fn who_waits_for_a_thread_that_waits_for_a_disk_waits_for_the_disk() {
    let first = &[1, 2, 3].map(|tid| (tid, 10, 20, None));
    let mut threads = threads(first);
    // The last of three that wait for each other writes something down.
    let written = Wake {
        task: task(3),
        woken: Nanos(800),
        left: Some(Nanos(200)),
        reason: OffCpuReason::Blocked,
        from_irq: true,
        ..Wake::default()
    };
    threads.wake(Nanos(810), Cpu(0), &written);
    for (tid, by, woken) in [(2, 3, 900), (1, 2, 1_000)] {
        threads.wake(Nanos(woken + 10), Cpu(1), &let_go(by, tid, woken));
    }
    let rested = threads.rested(Tid(1), Nanos(100), Nanos(1_010)).unwrap();
    // Each of the two others waited 10 ns for a CPU.
    assert_eq!((rested.asleep, rested.locked), (Nanos(880), Nanos(280)));
    assert_eq!((rested.blocked, rested.waker.task), (Nanos(600), task(2)));
    // It is the last one that is told.
    assert_eq!(rested.blocker.task, task(3));
}

/// A thread asks for a lock by the clock all the time, and the one that has it has no CPU.
#[test]
fn every_wait_for_a_lock_counts_and_not_only_the_longest() {
    let ms = Nanos::from_millis;
    let mut threads = threads(&[(1, 10, 20, None), (2, 10, 20, None)]);
    for n in 0..4 {
        let asks = Wake {
            task: task(1),
            woken: ms(5 * n + 6),
            left: Some(ms(5 * n + 1)),
            sleep: SleepCall::Lock,
            from_irq: true,
            ..Wake::default()
        };
        threads.wake(asks.woken, Cpu(1), &asks);
    }
    let hog = Holder { task: task(9), held: ms(20), ..Holder::default() };
    let lost = Wake {
        task: task(2),
        woken: ms(1),
        left: Some(ms(1)),
        reason: OffCpuReason::Preempted,
        holder: hog,
        ..Wake::default()
    };
    threads.wake(ms(21), Cpu(0), &lost);
    let let_go = Wake { left: Some(ms(21)), woken: ms(22), ..let_go(2, 1, 0) };
    threads.wake(ms(22), Cpu(1), &let_go);
    let rested = threads.rested(Tid(1), ms(1), ms(22)).unwrap();
    assert_eq!((rested.locked, rested.waited, rested.holder.task), (ms(1), ms(20), task(9)));
}

#[test]
fn the_least_recent_threads_are_forgotten() {
    let mut all = threads(&[]);
    for tid in 1..=100 {
        let at = Nanos(u64::from(tid) + 1);
        let woken = Nanos(u64::from(tid));
        let wake = Wake { task: task(tid), woken, from_irq: true, ..Wake::default() };
        all.wake(at, Cpu(0), &wake);
        assert!(!all.chain(task(tid), at).is_empty());
    }
    assert!(all.all.len() <= 17);
}
