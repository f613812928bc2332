//! Decodes the records of the scheduler: threads that run again, and CPU quotas that were used up.

use super::malformed::Malformed;
use super::record::RecordBytes;
use arrayvec::ArrayString;
use wirelap_ebpf::layout::{self as l, wl_head};
use wirelap_events::{
    CGROUP_NAME, CgroupId, Comm, Holder, Nanos, OffCpuReason, ProcessEnd, Quota, SleepCall, Wake,
};

/// The longest time that the thread that preempted another one counts as the holder of its CPU, if the preempted thread runs again
/// on another CPU: who had the first CPU after that is not known.
const SLICE: Nanos = Nanos::from_millis(3);

/// Reads a `struct wl_wake`.
pub(super) fn wake(r: RecordBytes<'_>) -> Result<Wake, Malformed> {
    use l::wl_wake as f;
    let rest = match r.u32(f::OFF_CPU) {
        l::WL_OFF_CPU_ASLEEP => OffCpuReason::Asleep,
        l::WL_OFF_CPU_BLOCKED => OffCpuReason::Blocked,
        l::WL_OFF_CPU_STOPPED => OffCpuReason::Stopped,
        l::WL_OFF_CPU_PREEMPTED => OffCpuReason::Preempted,
        value => return Err(r.impossible("rest", value)),
    };
    let wait = Nanos(r.u64(wl_head::AT)) - Nanos(r.u64(f::WOKEN));
    let throttled = Nanos(r.u64(f::THROTTLED)).min(wait);
    let mut wake = Wake {
        task: r.task(f::TASK),
        reason: rest,
        left: r.time(f::LEFT),
        woken: Nanos(r.u64(f::WOKEN)),
        waker: r.task(f::WAKER),
        from_irq: r.flag(l::WL_FROM_IRQ),
        migrated: r.flag(l::WL_MIGRATED),
        missed: r.flag(l::WL_MISSED),
        holder: Holder {
            task: r.task(f::HOLDER),
            comm: Comm(r.bytes(f::HOLDER_COMM)),
            held: held(r.u64(f::HELD), wait - throttled),
        },
        throttled,
        cgroup: CgroupId(r.u64(f::CGROUP)),
        sleep: sleep(rest, r.u32(f::CALL), r.flag(l::WL_HARD_IRQ)),
        waker_comm: Comm(r.bytes(f::WAKER_COMM)),
        ..Wake::default()
    };
    if rest == OffCpuReason::Preempted && wake.migrated {
        // The thread waited for its first CPU, so the holder of the CPU that it runs on now does not count.
        let held = (wait - throttled).min(SLICE);
        wake.holder = Holder { task: wake.waker, comm: wake.waker_comm, held };
    }
    Ok(wake)
}

/// Reads a `struct wl_wake_shared`.
pub(super) fn shared(r: RecordBytes<'_>) -> Result<Wake, Malformed> {
    use l::wl_share as f;
    let mut wake = wake(r)?;
    if wake.reason == OffCpuReason::Preempted && wake.migrated {
        return Ok(wake);
    }
    let wait = Nanos(r.u64(wl_head::AT)) - wake.woken;
    let mut left = wait - wake.throttled - wake.holder.held;
    for (index, other) in wake.others.iter_mut().enumerate() {
        let at = l::wl_wake_shared::OTHERS + index * f::SIZE;
        let held = held(r.u64(at + f::HELD), left);
        if held == Nanos(0) {
            break;
        }
        left -= held;
        *other = Holder { task: r.task(at + f::TASK), comm: Comm(r.bytes(at + f::COMM)), held };
    }
    wake.rest = held(r.u64(l::wl_wake_shared::REST), left);
    Ok(wake)
}

/// A time that a holder had the CPU; 0 if it is longer than what is left of the wait, because then it is not valid.
fn held(time: u64, left: Nanos) -> Nanos {
    Some(Nanos(time)).filter(|&held| held <= left).unwrap_or_default()
}

/// Returns the kind of call in which a thread slept. `call` is the number of a system call on this machine. Data comes with
/// softirqs: only timers end a wait for data from within a hardirq.
fn sleep(rest: OffCpuReason, call: u32, from_hard_irq: bool) -> SleepCall {
    /// `futex_waitv`, on every architecture (`include/uapi/asm-generic/unistd.h`).
    const FUTEX_WAITV: libc::c_long = 449;
    if rest == OffCpuReason::Preempted || call == u32::MAX {
        return SleepCall::Unknown;
    }
    match libc::c_long::from(call) {
        libc::SYS_futex | FUTEX_WAITV => SleepCall::Lock,
        libc::SYS_nanosleep | libc::SYS_clock_nanosleep => SleepCall::Timer,
        call if polls(call) && from_hard_irq => SleepCall::TimedPoll,
        call if polls(call) => SleepCall::Poll,
        _ => SleepCall::Call,
    }
}

/// True if a system call waits for any of several sockets.
fn polls(call: libc::c_long) -> bool {
    /// `epoll_pwait2`, on every architecture (`include/uapi/asm-generic/unistd.h`).
    const EPOLL_PWAIT2: libc::c_long = 441;
    // Later architectures have only the newer calls.
    #[cfg(target_arch = "x86_64")]
    if matches!(call, libc::SYS_epoll_wait | libc::SYS_poll | libc::SYS_select) {
        return true;
    }
    matches!(call, libc::SYS_epoll_pwait | EPOLL_PWAIT2 | libc::SYS_ppoll | libc::SYS_pselect6)
}

/// Reads a `struct wl_ended`.
pub(super) fn ended(r: RecordBytes<'_>) -> ProcessEnd {
    use l::wl_ended as f;
    ProcessEnd {
        task: r.task(f::TASK),
        status: r.u32(f::STATUS),
        out_of_memory: r.u32(f::OUT_OF_MEMORY) != 0,
    }
}

/// Reads a `struct wl_quota`.
pub(super) fn quota(r: RecordBytes<'_>) -> Quota {
    use l::wl_quota as f;
    Quota {
        cgroup: CgroupId(r.u64(f::CGROUP)),
        task: r.task(f::TASK),
        name: name(r.u32(f::LEVEL), r.bytes(f::PARENT), r.bytes(f::NAME)),
        is_v2: r.u32(f::HIERARCHY) == 0,
        quota: Nanos(r.u64(f::QUOTA)),
        period: Nanos(r.u64(f::PERIOD)),
        periods: r.u32(f::PERIODS),
        throttled_periods: r.u32(f::THROTTLED_PERIODS),
        throttled: Nanos(r.u64(f::THROTTLED)),
    }
}

/// The last two directories of a cgroup's path, with a `/` before them if these are all.
fn name(level: u32, parent: [u8; 96], own: [u8; 96]) -> ArrayString<CGROUP_NAME> {
    let text = |bytes: &[u8; 96]| {
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    };
    let mut name = ArrayString::new();
    let mut put = |part: &str| {
        // Two names of 95 bytes fit, so nothing is ever left out.
        let _ = name.try_push_str(part);
    };
    if level <= 2 {
        put("/");
    }
    if level > 1 {
        put(&text(&parent));
        put("/");
    }
    put(&text(&own));
    name
}
