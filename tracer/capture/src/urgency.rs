//! A real-time priority for the thread that reads the events, while it has fallen behind.
//!
//! Linux shares a CPU among sessions before it shares it among threads (`kernel/sched/autogroup.c`), so beside programs that
//! take all CPUs this thread may wait for long although it needs little. Events are lost then, because the ring buffer is full.
//! docs/decisions/0062 has the measurements.

use std::time::Duration;

/// With events of this age still in the ring buffer, the reader has fallen behind. The ring buffer of the usual size holds more
/// than half a second.
const BEHIND: Duration = Duration::from_millis(50);

/// The lowest real-time priority.
const PRIORITY: libc::c_int = 1;

/// How the thread is scheduled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Scheduling {
    /// As other programs are.
    #[default]
    Fair,
    /// Before other programs, in turns with threads of the same priority.
    RealTime,
    /// As other programs are, since the kernel refuses anything else.
    Refused,
}

impl Scheduling {
    /// What to change to; `None` for no change.
    fn next(self, behind: Option<Duration>) -> Option<Scheduling> {
        match (self, behind) {
            (Scheduling::Fair, Some(age)) if age >= BEHIND => Some(Scheduling::RealTime),
            (Scheduling::RealTime, None) => Some(Scheduling::Fair),
            _ => None,
        }
    }
}

/// Raises the priority of the calling thread while it has fallen behind. It never stays raised without need: that would take
/// time from the programs that are measured.
#[derive(Debug, Default)]
pub struct Urgency {
    scheduling: Scheduling,
    raised: u64,
}

impl Urgency {
    /// Takes the age of the newest event that was read; `None` if the ring buffer is empty. Must always be called by the thread
    /// that reads.
    pub fn read(&mut self, behind: Option<Duration>) {
        let Some(next) = self.scheduling.next(behind) else { return };
        if set(next) {
            self.raised += u64::from(next == Scheduling::RealTime);
            self.scheduling = next;
        } else {
            self.scheduling = Scheduling::Refused;
        }
    }

    /// How often the priority was raised.
    pub fn raised(&self) -> u64 {
        self.raised
    }
}

/// Changes how the calling thread is scheduled. Returns whether the kernel allowed it: it does with `CAP_SYS_NICE` or within
/// `RLIMIT_RTPRIO` (`kernel/sched/syscalls.c`, `user_check_sched_setscheduler()`).
#[allow(unsafe_code)]
fn set(scheduling: Scheduling) -> bool {
    let (policy, priority) = match scheduling {
        Scheduling::RealTime => (libc::SCHED_RR, PRIORITY),
        Scheduling::Fair | Scheduling::Refused => (libc::SCHED_OTHER, 0),
    };
    // SAFETY: a `sched_param` consists of integers, and of padding in some C libraries: zero is a value of each.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = priority;
    // SAFETY: the thread is the calling one, and the pointer is to a value that lives longer than the call.
    unsafe { libc::pthread_setschedparam(libc::pthread_self(), policy, &raw const parameters) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_raised_when_it_falls_behind_until_it_has_caught_up() {
        let fair = Scheduling::Fair;
        assert_eq!(fair.next(None), None);
        assert_eq!(fair.next(Some(Duration::from_millis(49))), None);
        assert_eq!(fair.next(Some(Duration::from_millis(50))), Some(Scheduling::RealTime));
        // Events that are younger, but more of them than one read takes: it has not caught up yet.
        assert_eq!(Scheduling::RealTime.next(Some(Duration::from_millis(1))), None);
        assert_eq!(Scheduling::RealTime.next(None), Some(Scheduling::Fair));
    }

    #[test]
    fn what_was_refused_once_is_not_tried_again() {
        assert_eq!(Scheduling::Refused.next(Some(Duration::from_secs(1))), None);
        assert_eq!(Scheduling::Refused.next(None), None);
    }

    /// Whether it may raise itself depends on who runs the test; either way it ends as it began.
    #[test]
    fn the_kernel_is_asked_for_no_more_than_this_thread() {
        let mut urgency = Urgency::default();
        urgency.read(Some(BEHIND));
        let status = std::fs::read_to_string("/proc/thread-self/sched").unwrap_or_default();
        let raised = urgency.raised() == 1;
        let policy = status.lines().find(|line| line.starts_with("policy"));
        if let Some(policy) = policy {
            assert_eq!(
                policy.trim_end().ends_with(&libc::SCHED_RR.to_string()),
                raised,
                "{policy}"
            );
        }
        urgency.read(None);
        let is_fair = urgency.scheduling == Scheduling::Fair;
        assert_eq!(is_fair, raised);
    }
}
