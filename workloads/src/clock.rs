//! `CLOCK_MONOTONIC`, the clock of the kernel's events.

use rustix::io::Errno;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};
use wirelap_events::Nanos;

const SECOND: u64 = 1_000_000_000;

/// The time now.
pub fn now() -> Nanos {
    let now = clock_gettime(ClockId::Monotonic);
    // Neither is negative on this clock.
    Nanos(now.tv_sec.unsigned_abs() * SECOND + now.tv_nsec.unsigned_abs())
}

/// Sleeps until `at`, or less when a signal comes; not at all if `at` is past.
pub fn sleep_until(at: Nanos) {
    let (Ok(tv_sec), Ok(tv_nsec)) = (i64::try_from(at.0 / SECOND), i64::try_from(at.0 % SECOND))
    else {
        return;
    };
    let slept = clock_nanosleep_absolute(ClockId::Monotonic, &Timespec { tv_sec, tv_nsec });
    debug_assert!(matches!(slept, Ok(()) | Err(Errno::INTR)));
}
