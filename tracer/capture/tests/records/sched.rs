//! Threads that wait for a CPU, and quotas of CPU time.

use crate::support::{Record, TASK};
use wirelap_ebpf::layout::{self as l, wl_head, wl_task};
use wirelap_events::{Body, CgroupId, Nanos, OffCpuReason, Pid, SleepCall, TaskId, Tid};

#[test]
fn a_wakeup() {
    use l::wl_wake as f;
    let mut record = Record::new(l::WL_WAKE, f::SIZE);
    record.put(wl_head::FLAGS, &[u8::try_from(l::WL_FROM_IRQ).unwrap()]);
    record.task(f::TASK).u32(f::WAKER + wl_task::PID, 1).u32(f::WAKER + wl_task::TID, 2);
    record.u64(f::WOKEN, 1_000).u64(f::LEFT, 900).u64(f::HELD, 200);
    record.u32(f::HOLDER + wl_task::PID, 30).u32(f::HOLDER + wl_task::TID, 33);
    record.put(f::HOLDER_COMM, b"rustc");
    let Body::Wake(wake) = record.body() else { panic!() };
    assert_eq!((wake.task, wake.woken, wake.from_irq), (TASK, Nanos(1_000), true));
    assert_eq!((wake.left, wake.migrated), (Some(Nanos(900)), false));
    assert_eq!(wake.waker, TaskId { pid: Pid(1), tid: Tid(2) });
    let holder = TaskId { pid: Pid(30), tid: Tid(33) };
    assert_eq!((wake.holder.task, wake.holder.held), (holder, Nanos(200)));
    assert_eq!(wake.holder.comm.as_str(), "rustc");

    record.u64(f::HELD, 0u64.wrapping_sub(5));
    let Body::Wake(wake) = record.body() else { panic!() };
    assert_eq!(wake.holder.held, Nanos(0));

    for (call, sleep) in [
        (libc::SYS_futex, SleepCall::Lock),
        (libc::SYS_clock_nanosleep, SleepCall::Timer),
        (libc::SYS_epoll_pwait, SleepCall::Poll),
        (libc::SYS_ppoll, SleepCall::Poll),
        (libc::SYS_read, SleepCall::Call),
        (0xFFFF_FFFF, SleepCall::Unknown),
    ] {
        record.u32(f::CALL, u32::try_from(call).unwrap());
        let Body::Wake(wake) = record.body() else { panic!() };
        assert_eq!(wake.sleep, sleep);
    }

    // A timer's interrupt ends a wait for data; of other sleeps, that tells nothing.
    record.put(wl_head::FLAGS, &[u8::try_from(l::WL_FROM_IRQ | l::WL_HARD_IRQ).unwrap()]);
    for (call, sleep) in
        [(libc::SYS_ppoll, SleepCall::TimedPoll), (libc::SYS_futex, SleepCall::Lock)]
    {
        record.u32(f::CALL, u32::try_from(call).unwrap());
        let Body::Wake(wake) = record.body() else { panic!() };
        assert_eq!(wake.sleep, sleep);
    }

    record.put(wl_head::FLAGS, &[u8::try_from(l::WL_MIGRATED).unwrap()]).u64(f::LEFT, 0);
    for (number, rest) in [
        (l::WL_OFF_CPU_ASLEEP, OffCpuReason::Asleep),
        (l::WL_OFF_CPU_BLOCKED, OffCpuReason::Blocked),
        (l::WL_OFF_CPU_STOPPED, OffCpuReason::Stopped),
        (l::WL_OFF_CPU_PREEMPTED, OffCpuReason::Preempted),
    ] {
        record.u32(f::OFF_CPU, number);
        let Body::Wake(wake) = record.body() else { panic!() };
        assert_eq!((wake.reason, wake.left), (rest, None));
        assert_eq!((wake.from_irq, wake.migrated, wake.missed), (false, true, false));
    }
    record.put(wl_head::FLAGS, &[u8::try_from(l::WL_MISSED).unwrap()]);
    let Body::Wake(wake) = record.body() else { panic!() };
    assert!(wake.missed && !wake.migrated);
}

#[test]
fn who_shared_a_wait_and_how_much_of_it_was_throttled() {
    use l::wl_share as share;
    use l::wl_wake as f;
    let mut record = Record::new(l::WL_WAKE_SHARED, l::wl_wake_shared::SIZE);
    record.task(f::TASK).u64(f::WOKEN, 234);
    record.u32(f::OFF_CPU, l::WL_OFF_CPU_PREEMPTED);
    record.u64(f::THROTTLED, 300).u64(f::CGROUP, 77).u64(f::HELD, 400);
    let others = l::wl_wake_shared::OTHERS;
    for (index, held) in [200, 101, 100].into_iter().enumerate() {
        let at = others + index * share::SIZE;
        record.u32(at + share::TASK + wl_task::TID, 5).u64(at + share::HELD, held);
        record.put(at + share::COMM, b"kworker");
    }
    let Body::Wake(wake) = record.body() else { panic!() };
    assert_eq!((wake.throttled, wake.cgroup), (Nanos(300), CgroupId(77)));
    assert_eq!(wake.holder.held, Nanos(400));
    // 1,000 - 300 - 400 leaves 300: 200, and what does not fit into the rest is no time.
    assert_eq!(wake.others.map(|other| other.held.0), [200, 0, 0]);
    assert_eq!(wake.others[0].comm.as_str(), "kworker");

    // A thread that goes on on another CPU did not wait for those who had that one.
    record.put(wl_head::FLAGS, &[u8::try_from(l::WL_MIGRATED).unwrap()]);
    record.u32(f::WAKER + wl_task::TID, 9).put(f::WAKER_COMM, b"hog");
    let Body::Wake(wake) = record.body() else { panic!() };
    assert_eq!((wake.holder.task.tid, wake.holder.held), (Tid(9), Nanos(700)));
    assert_eq!(wake.holder.comm.as_str(), "hog");
    assert_eq!(wake.others[0].held, Nanos(0));
}

#[test]
fn a_process_that_ended() {
    use l::wl_ended as f;
    let mut record = Record::new(l::WL_ENDED, f::SIZE);
    record.task(f::TASK).u32(f::STATUS, 9).u32(f::OUT_OF_MEMORY, 1);
    let Body::Ended(end) = record.body() else { panic!() };
    assert_eq!((end.signal(), end.out_of_memory), (Some(9), true));
    assert_ne!(end.task.pid.0, 0);
}

#[test]
fn a_quota_that_was_used_up() {
    use l::wl_quota as f;
    let mut record = Record::new(l::WL_QUOTA, f::SIZE);
    record.task(f::TASK).u64(f::CGROUP, 4711).u64(f::QUOTA, 20_000_000).u64(f::PERIOD, 100_000_000);
    record.u32(f::PERIODS, 30).u32(f::THROTTLED_PERIODS, 29).u64(f::THROTTLED, 7);
    record.put(f::NAME, b"app.scope").put(f::PARENT, b"pod.slice");
    for (level, hierarchy, name) in
        [(1, 0, "/app.scope"), (2, 3, "/pod.slice/app.scope"), (3, 0, "pod.slice/app.scope")]
    {
        record.u32(f::LEVEL, level).u32(f::HIERARCHY, hierarchy);
        let Body::Quota(quota) = record.body() else { panic!() };
        assert_eq!((quota.name.as_str(), quota.is_v2), (name, hierarchy == 0));
        assert_eq!((quota.quota, quota.period), (Nanos(20_000_000), Nanos(100_000_000)));
        assert_eq!((quota.periods, quota.throttled_periods, quota.throttled), (30, 29, Nanos(7)));
    }
}
