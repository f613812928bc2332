//! Threads: who they are, how long they rested and who had the CPU meanwhile.

use crate::{CgroupId, Nanos, Pid, Tid};
use std::fmt;

/// A thread and the process that it belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TaskId {
    /// The process.
    pub pid: Pid,
    /// The thread.
    pub tid: Tid,
}

/// A task's name as the kernel keeps it (`task_struct.comm`): 15 bytes and a NUL.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Comm(pub [u8; 16]);

impl Comm {
    /// The name up to its NUL; `?` when it is not UTF-8.
    pub fn as_str(&self) -> &str {
        let end = self.0.iter().position(|&b| b == 0).unwrap_or(self.0.len());
        std::str::from_utf8(&self.0[..end]).unwrap_or("?")
    }

    /// The name of wirelap's own threads in others' waits.
    pub fn tracer() -> Comm {
        Comm::from_name("wirelap")
    }

    /// A name cut to what the kernel would keep.
    pub fn from_name(name: &str) -> Comm {
        let mut comm = [0; 16];
        for (to, from) in comm.iter_mut().take(15).zip(name.bytes()) {
            *to = from;
        }
        Comm(comm)
    }
}

impl fmt::Debug for Comm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

/// A thread that slept or was preempted runs again. `at` is the switch to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wake {
    /// The thread.
    pub task: TaskId,
    /// Why it had left the CPU.
    pub rest: OffCpuReason,
    /// When it had left the CPU (`sched_switch` away from it); `None` if that was not seen.
    pub left: Option<Nanos>,
    /// When it was woken (`sched_waking`); of one that was preempted: when it left the CPU.
    pub woken: Nanos,
    /// The thread that was running where the wakeup came from: the waker, unless `from_irq`. Of one that
    /// was preempted: the thread that took the CPU.
    pub waker: TaskId,
    /// The wakeup came from an interrupt (softirq or timer), not from the waker's own doing.
    pub from_irq: bool,
    /// It had run on another CPU before.
    pub migrated: bool,
    /// Who had the CPU the longest of its wait.
    pub holder: Holder,
    /// Who else had it, the longest first; unused places are [`Holder::NOBODY`]. What all of them leave of
    /// the wait is not known.
    pub others: [Holder; OTHERS],
    /// How much of its wait, from the beginning on, its cgroup had no CPU quota left.
    pub throttled: Nanos,
    /// The cgroup that had none left; 0 if `throttled` is.
    pub cgroup: CgroupId,
    /// What it slept on, if it slept.
    pub sleep: Sleep,
    /// The waker's name; empty if it is not known.
    pub waker_comm: Comm,
}

/// Threads that a wait names beside the one that had the CPU the longest.
pub const OTHERS: usize = 3;

/// The system call in which a thread slept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sleep {
    /// It is not known.
    #[default]
    Unknown,
    /// `futex`: a lock, a condition variable or a semaphore.
    Lock,
    /// `nanosleep`, `clock_nanosleep`: a time of its own choice.
    Timer,
    /// Another one: a wait for data, mostly.
    Call,
}

/// Why a thread was not running (`task_struct.__state` when it left the CPU).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OffCpuReason {
    /// It waited for something, and a signal would have woken it: `TASK_INTERRUPTIBLE`.
    #[default]
    Asleep,
    /// It waited for something that takes no signal, a disk mostly: `TASK_UNINTERRUPTIBLE`.
    Blocked,
    /// It was stopped or traced: `TASK_STOPPED`, `TASK_TRACED`.
    Stopped,
    /// It could have gone on, and another was given the CPU: `TASK_RUNNING`.
    Preempted,
}

/// What a thread was doing when it was looked at (`/proc/PID/task/TID/stat`): of one that does not run, no event tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadState {
    /// The thread.
    pub task: TaskId,
    /// What it was doing.
    pub doing: Doing,
}

/// What a thread is doing. In this order: what the most active thread of a process does is what the process does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Doing {
    /// It is stopped or traced.
    #[default]
    Stopped,
    /// It waits for something, and a signal would wake it.
    Asleep,
    /// It waits for something that takes no signal, a disk mostly.
    Blocked,
    /// It runs, or could run.
    Running,
}

/// The thread that had a CPU for most of the time in which another waited for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holder {
    /// The thread; tid 0 is the idle task: the CPU was asleep.
    pub task: TaskId,
    /// Its name.
    pub comm: Comm,
    /// How much of the wait it had the CPU.
    pub held: Nanos,
}

impl Holder {
    /// Nobody had it.
    pub const NOBODY: Holder =
        Holder { task: TaskId { pid: Pid(0), tid: Tid(0) }, comm: Comm([0; 16]), held: Nanos(0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comm_is_cut_like_the_kernel_cuts_it() {
        assert_eq!(Comm::from_name("mosquitto").as_str(), "mosquitto");
        assert_eq!(Comm::from_name("a-very-long-process-name").as_str(), "a-very-long-pro");
        assert_eq!(Comm([0xFF; 16]).as_str(), "?");
    }
}
