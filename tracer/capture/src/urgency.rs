//! A real-time priority for the thread that reads the events, while it has fallen behind.
//!
//! Linux shares a CPU among sessions before it shares it among threads (`kernel/sched/autogroup.c`), so beside programs that
//! take all CPUs this thread may wait for long although it needs little. Events are lost then, because the ring buffer is full.
//! A thread that waits for a CPU cannot raise its own priority, so a second thread watches over it, which has real-time priority
//! always and does nothing but look at a time. docs/results/cost.md has the measurements.

use crate::clock;
use rustix::thread::{Pid, gettid};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use wirelap_events::Nanos;

/// With events of this age still in the ring buffer, the reader has fallen behind. The ring buffer of the usual size holds more
/// than half a second.
const BEHIND: Nanos = Nanos(50_000_000);

/// A reader that has fallen behind has caught up once only events of this age are left.
const CAUGHT_UP: Nanos = Nanos(5_000_000);

/// Time between two looks at the reader.
const EVERY: Duration = Duration::from_millis(20);

/// The lowest real-time priority.
const PRIORITY: libc::c_int = 1;

/// The way in which a thread is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SchedulingClass {
    /// As other programs are.
    Fair,
    /// Before other programs, in turns with threads of the same priority.
    RealTime,
}

impl SchedulingClass {
    /// Returns the scheduling to change to, if all events but those of the last `behind` were read; `None` for no change.
    fn next(self, behind: Nanos) -> Option<SchedulingClass> {
        match self {
            SchedulingClass::Fair if behind >= BEHIND => Some(SchedulingClass::RealTime),
            SchedulingClass::RealTime if behind < CAUGHT_UP => Some(SchedulingClass::Fair),
            _ => None,
        }
    }
}

/// State that the reader and its watchdog share.
#[derive(Debug)]
struct WatchdogState {
    /// All events up to this time were read, in nanoseconds.
    read: AtomicU64,
    raised: AtomicU64,
    ends: AtomicBool,
}

impl WatchdogState {
    /// Changes the reader's priority as needed until the end, or until the kernel refuses it. Only this thread does: a reader
    /// that lowered its own priority would lose the CPU in the middle of that.
    fn watch(&self, reader: Pid) {
        let mut scheduling = SchedulingClass::Fair;
        while !self.ends.load(Ordering::Acquire) {
            let behind = clock::now().0.saturating_sub(self.read.load(Ordering::Relaxed));
            if let Some(next) = scheduling.next(Nanos(behind)) {
                if !schedule(reader, next) {
                    break;
                }
                scheduling = next;
                self.raised
                    .fetch_add(u64::from(next == SchedulingClass::RealTime), Ordering::Relaxed);
            }
            std::thread::park_timeout(EVERY);
        }
        if scheduling == SchedulingClass::RealTime {
            schedule(reader, SchedulingClass::Fair);
        }
    }
}

/// Has the priority of the thread that made it raised while that thread falls behind. It never stays raised without need: that
/// would take time from the programs that are measured. Dropping it ends the watching.
#[derive(Debug)]
pub struct Urgency {
    shared: Arc<WatchdogState>,
    watchdog: Option<JoinHandle<()>>,
}

impl Urgency {
    /// Watches over the calling thread from now on. `begin` is called by the watching thread first; what rights it leaves must
    /// allow a real-time priority. Where the kernel refuses that, nothing is watched.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn watch(begin: impl FnOnce() + Send + 'static) -> io::Result<Urgency> {
        let shared = Arc::new(WatchdogState {
            read: AtomicU64::new(clock::now().0),
            raised: AtomicU64::new(0),
            ends: AtomicBool::new(false),
        });
        let (watched, reader) = (Arc::clone(&shared), gettid());
        let watchdog = std::thread::Builder::new().name("watchdog".into()).spawn(move || {
            begin();
            if schedule(gettid(), SchedulingClass::RealTime) {
                watched.watch(reader);
            }
        })?;
        Ok(Urgency { shared, watchdog: Some(watchdog) })
    }

    /// Takes the time up to which all events were read: now, if the ring buffer is empty. The thread that is watched must tell it
    /// every few milliseconds.
    pub fn read(&self, until: Nanos) {
        self.shared.read.store(until.0, Ordering::Relaxed);
    }

    /// Returns the number of times that the priority was raised.
    pub fn raised(&self) -> u64 {
        self.shared.raised.load(Ordering::Relaxed)
    }
}

impl Drop for Urgency {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Release);
        if let Some(watchdog) = self.watchdog.take() {
            watchdog.thread().unpark();
            let _ = watchdog.join();
        }
    }
}

/// Changes how a thread of this process is scheduled. Returns whether the kernel allowed it: real time it does with
/// `CAP_SYS_NICE` or within `RLIMIT_RTPRIO` (`kernel/sched/syscalls.c`, `user_check_sched_setscheduler()`), the way back always.
#[allow(unsafe_code)]
fn schedule(thread: Pid, scheduling: SchedulingClass) -> bool {
    let (policy, priority) = match scheduling {
        SchedulingClass::RealTime => (libc::SCHED_RR, PRIORITY),
        SchedulingClass::Fair => (libc::SCHED_OTHER, 0),
    };
    // The kernel's struct sched_param. Some C libraries have a longer one, and musl refuses the call.
    let parameters: [libc::c_int; 1] = [priority];
    let thread = thread.as_raw_nonzero().get();
    // SAFETY: the kernel reads one int behind the pointer, which is of a value that lives longer than the call.
    unsafe { libc::syscall(libc::SYS_sched_setscheduler, thread, policy, parameters.as_ptr()) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn is_real_time(thread: Pid) -> bool {
        let name = format!("/proc/self/task/{}/stat", thread.as_raw_nonzero());
        let stat = std::fs::read_to_string(name).expect("a thread of this process");
        // proc_pid_stat(5): field 41, the policy; field 3 follows the name.
        let policy = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(38));
        policy == Some(&libc::SCHED_RR.to_string())
    }

    #[test]
    fn a_thread_is_raised_when_it_falls_behind_until_it_has_caught_up() {
        let (fair, real_time) = (SchedulingClass::Fair, SchedulingClass::RealTime);
        assert_eq!(fair.next(Nanos(49_999_999)), None);
        assert_eq!(fair.next(Nanos(50_000_000)), Some(real_time));
        assert_eq!(real_time.next(Nanos(5_000_000)), None);
        assert_eq!(real_time.next(Nanos(4_999_999)), Some(fair));
    }

    /// Waits until the calling thread, which reads nothing, is raised, or until the kernel has refused that. Returns whether it
    /// is raised.
    fn is_raised(urgency: &Urgency) -> bool {
        let watchdog = urgency.watchdog.as_ref().expect("a watchdog");
        until(|| urgency.raised() > 0 || watchdog.is_finished());
        urgency.raised() > 0
    }

    fn until(mut done: impl FnMut() -> bool) {
        let began = Instant::now();
        while !done() {
            assert!(began.elapsed() < Duration::from_secs(10), "it does not happen");
            std::thread::yield_now();
        }
    }

    /// The right to raise it depends on who runs the test. Either way the thread ends as it began.
    #[test]
    fn the_kernel_is_asked_for_no_more_than_this_thread() {
        let urgency = Urgency::watch(|| {}).expect("a thread");
        let reader = gettid();
        assert_eq!(is_raised(&urgency), is_real_time(reader));
        until(|| {
            urgency.read(clock::now());
            !is_real_time(reader)
        });
    }

    #[test]
    fn a_thread_that_is_no_longer_watched_is_as_it_was() {
        let urgency = Urgency::watch(|| {}).expect("a thread");
        is_raised(&urgency);
        drop(urgency);
        assert!(!is_real_time(gettid()));
    }
}
