//! Words of `broker_stalled`.

use super::VerdictWords;
use wirelap_events::OffCpuReason;

pub const WORDS: VerdictWords = VerdictWords {
    title: "broker stalled off the CPU",
    short: "broker stalled",
    means: "the broker slept, was blocked or stopped while it held the message",
    evidence: "the off-CPU interval of its thread between read and send, and its reason; while it lasts, the state of its threads",
    helps: "stopped: who stopped it; blocked: its storage (`fsync`); asleep: its locks, its timers",
    remedy: |circumstance| by_rest(circumstance.rest),
    ..VerdictWords::USUAL
};

const fn by_rest(rest: Option<OffCpuReason>) -> &'static str {
    match rest {
        Some(OffCpuReason::Stopped) => {
            "find who stops the broker (SIGSTOP, a debugger, the cgroup freezer, a snapshot of the machine); `kill -CONT` lets it go on"
        }
        Some(OffCpuReason::Blocked) => {
            "look at what the broker's thread waits for in the kernel, mostly its disk (persistence, log flush, its own memory that is read again; `iostat`, /proc/PID/stack)"
        }
        Some(OffCpuReason::Asleep) => {
            "find what the broker's thread slept for (`strace -f -T`, `offcputime`): a timer, another thread, a lock"
        }
        Some(OffCpuReason::Preempted) | None => {
            "find what kept the broker's thread (`strace -f -T`, `offcputime`)"
        }
    }
}
