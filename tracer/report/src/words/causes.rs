//! The activity of threads, in words.

use wirelap_events::{OffCpuReason, SleepCall, ThreadActivity, Tid};

/// A thread that is on a CPU for less than this part of the time worked in bursts.
const IN_BURSTS: f64 = 0.1;

pub fn busy(tid: Tid, share: f64) -> String {
    let (tid, percent) = (tid.0, share * 100.0);
    if share < IN_BURSTS {
        return format!(
            "thread {tid} was on a CPU at that time, and {percent:.0} % of all the time: it works in bursts"
        );
    }
    format!("thread {tid} was on a CPU {percent:.0} % of the time")
}

/// The reason why a thread was off the CPU.
pub const fn off_cpu(reason: OffCpuReason, sleep: SleepCall) -> &'static str {
    match (reason, sleep) {
        (OffCpuReason::Asleep, SleepCall::Timer) => {
            "the thread slept for a time of its own choice: a sleep, or a wait with a time limit that ran out"
        }
        (OffCpuReason::Asleep, SleepCall::Lock) => {
            "the thread slept on a lock or a condition variable, and no thread was seen to let go"
        }
        (OffCpuReason::Asleep, SleepCall::Poll) => {
            "the thread waited for data of other connections, or for a time (epoll_wait, poll, select)"
        }
        (OffCpuReason::Asleep, SleepCall::TimedPoll) => {
            "the thread waited for data of other connections or for a time (epoll_wait, poll, select), and in the end a timer of its own woke it"
        }
        (OffCpuReason::Stopped, _) => "the thread was stopped (SIGSTOP, or a debugger)",
        (OffCpuReason::Blocked, _) => {
            "the thread was blocked in the kernel without taking signals, as for a disk"
        }
        (OffCpuReason::Asleep, _) => {
            "the thread slept: it waited for something else than this message"
        }
        (OffCpuReason::Preempted, _) => "the thread had been preempted",
    }
}

/// The activity of the process that has messages which ought to have arrived.
pub const fn activity(activity: ThreadActivity) -> &'static str {
    match activity {
        ThreadActivity::Stopped => "its threads are stopped (SIGSTOP, a debugger)",
        ThreadActivity::Blocked => {
            "a thread of it is blocked in the kernel without taking signals, as for a disk"
        }
        ThreadActivity::Asleep => "its threads sleep, though there is something to do",
        ThreadActivity::Runnable => {
            "a thread of it could run, and others have the CPU: the process had next to none of late"
        }
        ThreadActivity::Running => "a thread of it is running, at something else",
    }
}
