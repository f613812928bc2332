//! Threads: their identity, their off-CPU intervals, and which threads had the CPU meanwhile.

use crate::{CgroupId, Nanos, Pid, Tid};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A thread and the process that it belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TaskId {
    /// The process.
    pub pid: Pid,
    /// The thread.
    pub tid: Tid,
}

/// The name of a thread as the kernel keeps it (`task_struct.comm`): 15 bytes and a NUL.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "(u64, u64)", into = "(u64, u64)")]
pub struct Comm(pub [u8; 16]);

/// In two numbers, which take little room where most of a name is empty.
impl From<Comm> for (u64, u64) {
    fn from(Comm(name): Comm) -> (u64, u64) {
        let half = |from: usize| {
            std::array::from_fn(|place| name.get(from.saturating_add(place)).copied().unwrap_or(0))
        };
        (u64::from_le_bytes(half(0)), u64::from_le_bytes(half(8)))
    }
}

impl From<(u64, u64)> for Comm {
    fn from((low, high): (u64, u64)) -> Comm {
        Comm((u128::from(low) | u128::from(high) << 64).to_le_bytes())
    }
}

impl Comm {
    /// The name up to its NUL; `?` when it is not UTF-8.
    pub fn as_str(&self) -> &str {
        let end = self.0.iter().position(|&b| b == 0).unwrap_or(self.0.len());
        std::str::from_utf8(&self.0[..end]).unwrap_or("?")
    }

    /// The name of wirelap's own threads in the waits of other threads.
    pub fn tracer() -> Comm {
        Comm::from_name("wirelap")
    }

    /// A name, cut as the kernel cuts it.
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

/// A thread that slept or was preempted runs again. The event's `at` is the switch to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wake {
    /// The thread.
    pub task: TaskId,
    /// Why the thread had left the CPU.
    pub reason: OffCpuReason,
    /// Time at which the thread had left the CPU (`sched_switch` away from it); `None` if that was not seen.
    pub left: Option<Nanos>,
    /// Time at which the thread was woken (`sched_waking`); for a preempted thread, when it left the CPU.
    pub woken: Nanos,
    /// The thread that was running on the CPU of the wakeup, which is the waker unless `from_irq` is set. For a preempted thread, the
    /// thread that took the CPU.
    pub waker: TaskId,
    /// True if the wakeup came from an interrupt (softirq or timer) and not from the thread `waker`.
    pub from_irq: bool,
    /// True if the thread had run on another CPU before.
    pub migrated: bool,
    /// True if the kernel did not call the probe for a switch to the thread, or its wakeup, since the last event of it: what it
    /// did before `left` is not known. Seen on a virtual machine, about once a second.
    pub missed: bool,
    /// The thread that had the CPU for the longest part of the wait.
    pub holder: Holder,
    /// The other threads that had the CPU, the longest first; unused places are [`Holder::NOBODY`].
    pub others: [Holder; OTHERS],
    /// Time for which still others had the CPU, together. Who had it for what then remains of the wait is not known.
    pub rest: Nanos,
    /// Time, from the beginning of the wait on, for which the thread's cgroup had no CPU quota left.
    pub throttled: Nanos,
    /// The cgroup that had no quota left; 0 if `throttled` is 0.
    pub cgroup: CgroupId,
    /// System call in which the thread slept; unknown if it did not sleep.
    pub sleep: SleepCall,
    /// The name of the waker; empty if it is not known.
    pub waker_comm: Comm,
}

/// Number of further threads that a wait names in addition to the one that had the CPU the longest.
pub const OTHERS: usize = 3;

/// The system call in which a thread slept.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum SleepCall {
    /// The system call is not known.
    #[default]
    Unknown,
    /// `futex`: a lock, a condition variable or a semaphore.
    Lock,
    /// `nanosleep`, `clock_nanosleep`: a fixed time.
    Timer,
    /// Another system call, usually one that waits for data on one socket.
    Call,
    /// `epoll_wait`, `poll`, `select`: data on any of several sockets, or a time limit.
    Poll,
    /// The same calls, where a timer of the thread's own ended the sleep: the call's time limit, or a `timerfd` that it watched.
    TimedPoll,
}

impl SleepCall {
    /// True if data that came in from another process or host ended a sleep in this call; `from_irq` is set if no thread woke the sleeper.
    pub fn ended_by_data(self, from_irq: bool) -> bool {
        from_irq && matches!(self, SleepCall::Call | SleepCall::Poll)
    }
}

/// Why a thread was not running (`task_struct.__state` when it left the CPU).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum OffCpuReason {
    /// The thread waited for something, and a signal would have woken it: `TASK_INTERRUPTIBLE`.
    #[default]
    Asleep,
    /// The thread waited for something that signals do not interrupt, usually a disk: `TASK_UNINTERRUPTIBLE`.
    Blocked,
    /// The thread was stopped, traced, or frozen with its control group: `TASK_STOPPED`, `TASK_TRACED`, `task_struct.frozen`.
    Stopped,
    /// The thread was runnable, and another one got the CPU: `TASK_RUNNING`.
    Preempted,
}

/// The state of a thread when it was read from `/proc/PID/task/TID/stat`, because a thread that does not run causes no event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadState {
    /// The thread.
    pub task: TaskId,
    /// Activity of the thread.
    pub activity: ThreadActivity,
    /// Time for which the threads of its process have had a CPU; `None` if it is not known.
    pub cpu_time: Option<Nanos>,
    /// Time for which the thread could run and has waited for a CPU so far (`/proc/PID/task/TID/schedstat`); `None` if it is not known.
    pub waited: Option<Nanos>,
    /// Time for which the thread has had a CPU so far; known where `waited` is.
    pub ran: Option<Nanos>,
}

/// Activity of a thread. The variants are in ascending order: a process does what its most active thread does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ThreadActivity {
    /// The thread is stopped or traced.
    #[default]
    Stopped,
    /// The thread waits for something, and a signal would wake it.
    Asleep,
    /// The thread waits for something that signals do not interrupt, usually a disk.
    Blocked,
    /// The thread is runnable, and none of its process has a CPU.
    Runnable,
    /// The thread runs, or it is runnable and it is not known whether it has a CPU.
    Running,
}

/// A thread that had a CPU while another thread waited for this CPU. Several threads of one process, if it is not the waiting thread's,
/// are taken together under the name and number of one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The thread; tid 0 is the idle task, which means that the CPU was asleep.
    pub task: TaskId,
    /// The name of the thread.
    pub comm: Comm,
    /// Time for which the thread, or its process, had the CPU during the wait.
    pub held: Nanos,
}

impl Holder {
    /// No thread had the CPU.
    pub const NOBODY: Holder =
        Holder { task: TaskId { pid: Pid(0), tid: Tid(0) }, comm: Comm([0; 16]), held: Nanos(0) };

    /// The thread id that stands for several threads, each of which had the CPU for less than those that are named.
    pub const SEVERAL: Tid = Tid(u32::MAX);

    /// Several threads that are not named had the CPU for so long together.
    pub fn several(held: Nanos) -> Holder {
        Holder { task: TaskId { pid: Pid(0), tid: Holder::SEVERAL }, held, ..Holder::NOBODY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_as_the_kernel_cuts_them() {
        assert_eq!(Comm::from_name("mosquitto").as_str(), "mosquitto");
        assert_eq!(Comm::from_name("a-very-long-process-name").as_str(), "a-very-long-pro");
        assert_eq!(Comm([0xFF; 16]).as_str(), "?");
    }

    #[test]
    fn names_come_out_of_numbers_as_they_went_in() {
        for name in
            [Comm::default(), Comm::tracer(), Comm::from_name("a-very-long-pro"), Comm([0xFF; 16])]
        {
            assert_eq!(Comm::from(<(u64, u64)>::from(name)), name);
        }
    }
}
